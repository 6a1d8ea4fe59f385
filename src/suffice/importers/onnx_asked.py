"""ONNX as a black box: a file with several inputs (input_ids, attention_mask, ...) run with its
tokenizer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import MissingExtra, ModelError
from suffice.importers.onnx_data import read_model
from suffice.importers.splicing import Splicer
from suffice.importers.transformer import UNLIMITED, alike, splitting
from suffice.model.blackbox import MASK, BlackBox
from suffice.model.labels import Names, plain_labels
from suffice.model.network import Floats
from suffice.model.odds import LOGITS

WHY = "a file with several inputs is run by onnxruntime"
KINDS: dict[str, type[np.generic]] = {
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
}  # what onnxruntime calls them


def from_file(
    file: Path, tokenizer: Any, labels: Names | None, cache: str | Path | None
) -> BlackBox:
    """The file as a function from texts to scores, by way of a tokenizer that gives what the inputs
    are named.
    """
    if tokenizer is None or labels is None or isinstance(labels, Mapping):
        raise ModelError(
            "An ONNX file says neither its tokenizer nor its labels: give both, tokenizer and "
            "labels=."
        )
    model = read_model(_onnx(), file)
    session = _session(model.SerializeToString())
    inputs = _inputs(session)
    given = list(tokenizer(["a text"]))
    missing = [name for name in inputs if name not in given]
    if missing:
        raise ModelError(
            f"The file takes {', '.join(inputs)}, and the tokenizer gives {', '.join(given)}: "
            f"{missing[0]} is missing."
        )
    limit = int(getattr(tokenizer, "model_max_length", UNLIMITED))
    notes = (
        (f"Texts are cut after {limit} tokens, as the tokenizer says.",)
        if limit < UNLIMITED
        else ()
    )
    return BlackBox(
        function=_predictor(session, tokenizer, inputs, limit if notes else None),
        labels=plain_labels(labels),
        name=file.name,
        digest=_digest(
            file.read_bytes(), model, tokenizer, plain_labels(labels), limit if notes else None
        ),
        mask=getattr(tokenizer, "mask_token", None) or MASK,
        cache=cache,
        notes=(f"Asked as a function, not laid open as a network: {WHY}.", *notes),
        meta={
            "import": {"from": "onnx", "way": "asked as a function", "why": WHY},
            **_said(session),
        },
    )


def _onnx() -> Any:
    try:
        import onnx
    except ImportError as error:  # onnxruntime alone would read whatever other file the file names
        raise MissingExtra("onnx", "onnx") from error
    return onnx


def _session(data: bytes) -> Any:
    """onnxruntime on what was read: it is given no name of a file, and nothing is left to look up
    in another.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise ModelError(
            "An ONNX file is run by the package onnxruntime: pip install onnxruntime"
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # of onnxruntime
        raise ModelError(
            f"onnxruntime cannot run the file: {' '.join(str(error).split())[:300]}"
        ) from error


def _inputs(session: Any) -> dict[str, type[np.generic]]:
    """The names of the inputs, and the kind of numbers that each declares."""
    found = {one.name: KINDS.get(one.type) for one in session.get_inputs()}
    for one in session.get_inputs():
        if found[one.name] is None:
            raise ModelError(
                f"The input {one.name} takes {one.type}, and numbers of words are whole or "
                "real numbers."
            )
    return {name: kind for name, kind in found.items() if kind is not None}


def _said(session: Any) -> dict[str, str]:
    """What the scores are, where the file names them."""
    return {"scores": LOGITS} if session.get_outputs()[0].name == LOGITS else {}


def _predictor(
    session: Any, tokenizer: Any, inputs: Mapping[str, type[np.generic]], limit: int | None
) -> Callable[[list[str]], Floats]:
    """Texts to scores; only texts of equally many tokens share a batch."""
    code = Splicer(tokenizer, limit)

    def predict(texts: list[str]) -> Floats:
        coded = code(texts)
        rows: list[Floats | None] = [None] * len(texts)
        for places in alike([len(ids) for ids in coded["input_ids"]]):
            fed = {
                name: np.array([coded[name][i] for i in places], dtype=kind)
                for name, kind in inputs.items()
            }
            for place, row in zip(places, session.run(None, fed)[0], strict=True):
                rows[place] = row
        return np.array(rows, dtype=np.float64)

    return predict


def _digest(
    data: bytes, model: Any, tokenizer: Any, labels: Sequence[str], limit: int | None
) -> str:
    """Over the file, the numbers that may lie beside it, the labels, and how texts are cut."""
    sha = hashlib.sha256(json.dumps(["onnx", list(labels), limit]).encode())
    sha.update(data)
    for tensor in model.graph.initializer:
        sha.update(tensor.raw_data)
    sha.update(splitting(tokenizer).encode())
    return sha.hexdigest()

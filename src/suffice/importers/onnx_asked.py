"""ONNX as a black box: a file with several inputs (input_ids, attention_mask, ...) run with its tokenizer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import ModelError
from suffice.importers.splicing import Splicer
from suffice.importers.transformer import UNLIMITED, alike, splitting
from suffice.model.blackbox import MASK, BlackBox
from suffice.model.labels import Names, plain_labels
from suffice.model.network import Floats
from suffice.model.odds import LOGITS

WHY = "a file with several inputs is run by onnxruntime"


def from_file(file: Path, tokenizer: Any, labels: Names | None, cache: str | Path | None) -> BlackBox:
    """The file as a function from texts to scores, by way of a tokenizer that gives what the inputs are named."""
    if tokenizer is None or labels is None or isinstance(labels, Mapping):
        raise ModelError("An ONNX file says neither its tokenizer nor its labels: give both, tokenizer and labels=.")
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ModelError(f"The file {str(file)!r} cannot be read: {error.strerror}.") from error
    session = _session(data)
    inputs, given = [one.name for one in session.get_inputs()], list(tokenizer(["a text"]))
    missing = [name for name in inputs if name not in given]
    if missing:
        raise ModelError(
            f"The file takes {', '.join(inputs)}, and the tokenizer gives {', '.join(given)}: {missing[0]} is missing."
        )
    limit = int(getattr(tokenizer, "model_max_length", UNLIMITED))
    notes = (f"Texts are cut after {limit} tokens, as the tokenizer says.",) if limit < UNLIMITED else ()
    return BlackBox(
        function=_predictor(session, tokenizer, inputs, limit if notes else None),
        labels=plain_labels(labels),
        name=file.name,
        digest=_digest(data, tokenizer, plain_labels(labels), limit if notes else None),
        mask=getattr(tokenizer, "mask_token", None) or MASK,
        cache=cache,
        notes=(f"Asked as a function, not laid open as a network: {WHY}.", *notes),
        meta={"import": {"from": "onnx", "way": "asked as a function", "why": WHY}, **_said(session)},
    )


def _session(data: bytes) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise ModelError("An ONNX file is run by the package onnxruntime: pip install onnxruntime") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # of onnxruntime
        raise ModelError(f"onnxruntime cannot run the file: {' '.join(str(error).split())[:300]}") from error


def _said(session: Any) -> dict[str, str]:
    """What the scores are, where the file names them."""
    return {"scores": LOGITS} if session.get_outputs()[0].name == LOGITS else {}


def _predictor(session: Any, tokenizer: Any, inputs: Sequence[str], limit: int | None) -> Callable[[list[str]], Floats]:
    """Texts to scores; only texts of equally many tokens share a batch."""
    code = Splicer(tokenizer, limit)

    def predict(texts: list[str]) -> Floats:
        coded = code(texts)
        rows: list[Floats | None] = [None] * len(texts)
        for places in alike([len(ids) for ids in coded["input_ids"]]):
            fed = {name: np.array([coded[name][i] for i in places], dtype=np.int64) for name in inputs}
            for place, row in zip(places, session.run(None, fed)[0], strict=True):
                rows[place] = row
        return np.array(rows, dtype=np.float64)

    return predict


def _digest(data: bytes, tokenizer: Any, labels: Sequence[str], limit: int | None) -> str:
    sha = hashlib.sha256(json.dumps(["onnx", list(labels), limit]).encode())
    sha.update(data)
    sha.update(splitting(tokenizer).encode())
    return sha.hexdigest()

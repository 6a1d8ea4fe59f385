"""from_keras: a Sequential or Functional model, in memory or in a file, as a classifier.

A model in memory is compared with Keras' own answers. A file is read with h5py and never opened by
Keras, which would build whatever a stranger's file declares: it is compared with plain NumPy
versions of the layers (`keras_forward`), and meta["import"] says so.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import ModelError
from suffice.importers.assemble import Given, assemble
from suffice.importers.assemble import given as given_by
from suffice.importers.keras_file import Call, Layer, Model, live_model, read_model
from suffice.importers.keras_forward import forward
from suffice.importers.keras_rules import (
    ENDINGS,
    RULES,
    Lowering,
    activated,
    added,
    name_of,
    present,
    rule_of,
    same,
    without_padding,
)
from suffice.importers.values import Value, Values
from suffice.importers.walk import Computation, Operation, walk
from suffice.model.classifier import Classifier
from suffice.model.network import Floats, Ints

NOTE = (
    "a file is not opened by Keras, which would build whatever it declares (to compare with "
    "Keras itself, load the "
    "file there and give the model to sf.from_keras)"
)
MASKED = ("GlobalAveragePooling1D", "Softmax")  # these work otherwise where a mask reaches them


def from_keras(
    model: Any,
    vocabulary: Sequence[str] | Mapping[str, int],
    labels: Sequence[Any],
    length: int | None = None,
    pad: str = "<PAD>",
    unknown: str = "<UNK>",
    tokenizer: Any = None,
    embedding: ArrayLike | None = None,
) -> Classifier:
    """A classifier that computes what a Keras model (live, or a .keras or .h5 file) computes,
    compared with it.

    The model takes (n, length) word numbers, places in `vocabulary`; or, where `embedding` (V, d)
    is given, vectors (n, length, d). `length` may be left out where the model says it. A last
    softmax or sigmoid is left away, as it keeps the order of the scores; a single output z becomes
    the scores [0, z].
    """
    path = Path(model) if isinstance(model, str | Path) else None
    if path is None and not hasattr(model, "to_json"):
        raise ModelError(
            f"from_keras takes a Keras model or the name of a .keras or .h5 file, not {model!r}."
        )
    read = live_model(model) if path is None else read_model(path)
    known = given_by(
        vocabulary, labels, _length(read, length, embedding), pad, unknown, tokenizer, embedding
    )
    masked = embedding is None and _means_present(read)
    _refuse(read, masked)
    walked = walk(_program(read, masked), known.length, len(known.vocabulary), known.embedding)
    if path is None:
        return assemble(walked, known, _predicted(model, known), "the Keras model", ["keras"])
    return assemble(
        walked,
        known,
        _own(read, known, masked),
        path.name,
        ["h5py"],
        "plain NumPy versions of its layers",
        NOTE,
    )


def _length(model: Model, length: int | None, embedding: ArrayLike | None) -> Any:
    own = model.shape[0] if len(model.shape) == (1 if embedding is None else 2) else None
    if length is not None and own is not None and length != own:
        raise ModelError(
            f"The model takes texts of {own} words, but length={length} was given: leave it out."
        )
    if length is None and own is None:
        raise ModelError(
            "The model takes texts of any length: say with length= how many words a text has."
        )
    return own if length is None else length


def _means_present(model: Model) -> bool:
    """Whether all words go through embeddings that mask padding, straight into means over the words
    present.
    """

    def into_means(name: str) -> bool:
        users = [call for call in model.calls if name in call.inputs]
        return bool(users) and all(
            call.layer.kind == "GlobalAveragePooling1D"
            or (RULES.get(call.layer.kind) is same and into_means(call.name))
            for call in users
        )

    first = [call for call in model.calls if model.given in call.inputs]
    masks = all(
        call.layer.kind == "Embedding" and call.layer.config.get("mask_zero") for call in first
    )
    return bool(first) and masks and all(into_means(call.name) for call in first)


def _refuse(model: Model, means_present: bool) -> None:
    """What looks like a layer that is known but computes something else."""
    masking = [call.layer.place for call in model.calls if call.layer.config.get("mask_zero")]
    for layer in (call.layer for call in model.calls):
        where = f"{layer.kind} (the layer {layer.place})"
        if (
            masking
            and layer.kind in MASKED
            and not (means_present and layer.kind == "GlobalAveragePooling1D")
        ):
            raise ModelError(
                f"The layer {masking[0]} has mask_zero=True, so that {where} divides by a "
                "number that depends on the "
                "text, which is known here only straight behind the embedding: train with "
                "mask_zero=False."
            )
        if not re.fullmatch(
            "|float32|float64|u?int32|u?int64", _precision(layer.config.get("dtype"))
        ):
            raise ModelError(
                f"{where} computes in half precision or less, too coarse to compare with: use "
                "float32."
            )
        if name_of(layer.config.get("activation")) == "hard_sigmoid" and model.version.startswith(
            "2."
        ):
            raise ModelError(
                f"{where} has Keras 2's hard_sigmoid, which Keras 3 draws otherwise: save it "
                "with Keras 3."
            )


def _precision(dtype: Any) -> str:
    """The name of a dtype or of Keras' policy for it; "" where a layer does not say."""
    match dtype:
        case {"config": {"name": str(name)}} | {"config": {"mode": str(name)}} | str(name):
            return name
        case _:
            return ""


# --- the original ---


def _predicted(model: Any, given: Given) -> Callable[[Ints], Floats]:
    def answers(rows: Ints) -> Floats:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.asarray(model.predict_on_batch(_fed(rows, given)))
        return found.reshape(len(rows), -1)

    return answers


def _own(model: Model, given: Given, masked: bool) -> Callable[[Ints], Floats]:
    return lambda rows: forward(model, _fed(rows, given), masked)


def _fed(rows: Ints, given: Given) -> Any:
    return rows if given.embedding is None else given.embedding[rows].astype(np.float32)


# --- the layers as operators; a batch axis of size 1 comes first ---


def _program(model: Model, masked: bool) -> Computation:
    """With means over the words present, these are sums, and padding adds nothing to them (see
    masked.py).
    """
    nodes = [node for call in model.calls for node in _nodes(call, masked, model.given)]
    return Computation(nodes, {}, model.given, model.answer)


def _nodes(call: Call, masked: bool, words: str) -> list[Operation]:
    """A layer, and its activation as an operator of its own, so that the last one can
    be left away.
    """
    layer = call.layer
    activation = call.layer.config.get("activation")
    if masked and layer.kind == "Embedding":
        return [_node(call.name, layer, layer.kind, call.inputs, without_padding, "")]
    if masked and layer.kind in MASKED:
        return _mean(call, words)
    if activation is None or layer.kind == "Activation":
        ending = name_of(activation) if layer.kind == "Activation" else layer.kind
        return [_node(call.name, layer, layer.kind, call.inputs, rule_of(layer), ending)]
    before = f"{call.name} before its activation"
    return [
        _node(before, layer, layer.kind, call.inputs, rule_of(layer), ""),
        _node(
            call.name,
            layer,
            f"the activation of {layer.kind}",
            (before,),
            activated,
            name_of(activation),
        ),
    ]


def _mean(call: Call, words: str) -> list[Operation]:
    """A mean over the words that are present: their sum, how many they are, and the one divided by
    the other.
    """
    layer = call.layer
    summed = f"{call.name}:sum"
    there = f"{call.name}:words"
    total = _node(summed, layer, layer.kind, call.inputs, added, "")
    count = replace(_node(there, layer, layer.kind, (words,), present, ""), takes_words=True)
    return [total, count, replace(total, name=call.name, uses=(summed, there), role="divide")]


def _node(
    name: str, layer: Layer, what: str, uses: tuple[str, ...], rule: Lowering, ending: str
) -> Operation:
    def lower(values: Values) -> Value:
        return rule(layer, [values[use] for use in uses])

    return Operation(
        name=name,
        operator=what,
        place=f"the layer {layer.place}",
        uses=tuple(dict.fromkeys(uses)),
        lower=lower,
        compute=lower,  # never called: every value depends on the text
        takes_words=layer.kind == "Embedding",
        ending=ENDINGS.get(ending, ""),
        axis=int(layer.config.get("axis", -1)) if layer.kind == "Softmax" else -1,
    )

"""Adapters: the words that LIME, SHAP and Anchors name, as positions in our text.

None of these packages is imported: their result objects are read. An explainer may cut a text into
other pieces than we do, so pieces are matched by where they stand in the string: a word counts as
named when it overlaps a named piece. A piece that no word of ours overlaps is refused rather than
dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from suffice.errors import InputError
from suffice.model.text import Text
from suffice.verbs.question import shortened


class Weighed(NamedTuple):
    """A stretch of the string, and how much it speaks for the label."""

    start: int
    end: int
    weight: float


def words_of(given: Any, text: Text, label: str, labels: Sequence[str]) -> Sequence[str | int]:
    """Named and positions as they are; the result of a known explainer as positions."""
    reader = {"lime": from_lime, "shap": from_shap, "anchor": from_anchor}.get(
        type(given).__module__.split(".")[0]
    )
    if reader is not None:
        return reader(given, text, label, labels)
    if isinstance(given, str) or not isinstance(given, Iterable):
        shown = shortened(repr(given))
        raise InputError(
            f"Give a list of words or positions, or a result of LIME, SHAP or Anchors, not {shown}."
        )
    return list(given)


def from_lime(
    result: Any, text: Text, label: str, labels: Sequence[str], top: int | None = None
) -> tuple[int, ...]:
    """The words to which a `lime.explanation.Explanation` of a text gives weight for the label, the
    `top` of them.
    """
    source = getattr(result.domain_mapper, "indexed_string", None)
    if source is None:
        raise InputError("This LIME explanation is not one of a text.")
    _same(source.raw_string(), text, "LIME")
    sign, chosen = _lime_label(result, label, labels)
    pieces = [
        Weighed(int(start), int(start) + len(source.word(feature)), sign * float(weight))
        for feature, weight in result.local_exp[chosen]
        for start in source.string_position(feature)
    ]
    return _positions(pieces, text, top)


def _lime_label(result: Any, label: str, labels: Sequence[str]) -> tuple[float, int]:
    """Which label's weights to read, and with which sign: of two labels, one's weights are the
    other's negated.
    """
    names = [str(name) for name in result.class_names or ()]
    place = names.index(label) if label in names else list(labels).index(label)
    known = list(result.local_exp)
    if place in known:
        return 1.0, place
    if len(labels) == 2 and len(known) == 1:
        return -1.0, known[0]
    raise InputError(
        f"LIME explained other labels than {label!r}: call explain_instance(..., labels=[{place}])."
    )


def from_shap(
    result: Any, text: Text, label: str, labels: Sequence[str], top: int | None = None
) -> tuple[int, ...]:
    """The words to which a `shap.Explanation` of a text gives weight for the label, the `top` of
    them.
    """
    data = result.data
    values = np.asarray(result.values)
    if len(data) == 1 and not isinstance(data[0], str):  # a batch of one text
        data = data[0]
        values = np.asarray(values[0])
    tokens = [str(token) for token in data]
    if len(values) != len(tokens):
        raise InputError(
            "This SHAP explanation is not one of a single text: give explanation[i] for text i."
        )
    weights = _shap_weights(values, result.output_names, label, labels)
    _same("".join(tokens), text, "SHAP")
    pieces = []
    start = 0
    for token, weight in zip(tokens, weights, strict=True):
        kept = token.strip()
        begin = start + token.find(kept)
        pieces.append(Weighed(begin, begin + len(kept), weight))
        start += len(token)
    return _positions([piece for piece in pieces if piece.end > piece.start], text, top)


def _shap_weights(values: Any, names: Any, label: str, labels: Sequence[str]) -> list[float]:
    """The column of the label; a single column is that of the second of two labels, as in
    scikit-learn.
    """
    place = list(labels).index(label)
    if values.ndim == 2:
        listed = [] if names is None or isinstance(names, str) else [str(name) for name in names]
        column = listed.index(label) if label in listed else place
        if column >= values.shape[1]:
            raise InputError(
                f"SHAP explained {values.shape[1]} outputs; there is none for the label {label!r}."
            )
        return [float(value) for value in values[:, column]]
    if isinstance(names, str) and names in labels:
        if names != label and len(labels) != 2:
            raise InputError(
                f"SHAP explained the label {names!r}, not {label!r}: give the values of that "
                "output."
            )
        return [float(value) if names == label else -float(value) for value in values]
    if len(labels) != 2:
        raise InputError(
            f"SHAP explained one output; with {len(labels)} labels give explanation[..., {place}]."
        )
    return [float(value) if place == 1 else -float(value) for value in values]


def from_anchor(result: Any, text: Text, label: str, labels: Sequence[str]) -> tuple[int, ...]:
    """The words of an `anchor.anchor_explanation.AnchorExplanation` of a text."""
    found = result.exp_map
    if result.type != "text" or "positions" not in found:
        raise InputError("This anchor is not one of a text.")
    _same(found["instance"], text, "Anchors")
    names = result.names()
    starts = found["positions"]
    return _positions(
        [Weighed(int(a), int(a) + len(str(n)), 1.0) for n, a in zip(names, starts, strict=True)],
        text,
        None,
    )


def _same(theirs: str, text: Text, who: str) -> None:
    if theirs != text.source:
        raise InputError(
            f"{who} explained another text, {theirs[:60]!r}, not {text.source[:60]!r}."
        )


def _positions(pieces: Sequence[Weighed], text: Text, top: int | None) -> tuple[int, ...]:
    """The words that overlap pieces of positive weight, the heaviest `top` of them."""
    weights: dict[int, float] = {}
    for piece in pieces:
        if piece.weight > 0:
            for position in _overlapped(piece, text):
                weights[position] = weights.get(position, 0.0) + piece.weight
    ranked = sorted(weights, key=lambda i: (-weights[i], i))
    return tuple(sorted(ranked[:top]))


def _overlapped(piece: Weighed, text: Text) -> list[int]:
    hits = [
        word.position for word in text.words if word.start < piece.end and piece.start < word.end
    ]
    if not hits:
        shown = text.source[piece.start : piece.end]
        seen = len(text.words)
        raise InputError(
            f"The explainer names {shown!r} at character {piece.start}, which is none of the "
            f"{seen} words that the "
            "classifier reads."
        )
    return hits

"""Single texts: the one that is explained, and those at which a rival is not behind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .question import Question
from .rationals import Vector
from .reading import Places, array, fields, need, number, places


def has_label(asked: Question) -> None:
    scores = asked.model.scores(asked.own)
    need(scores[asked.label] == max(scores), "the text's label differs")


def counterexample(data: Any, asked: Question, allowed: Places) -> None:
    """A text that changes allowed words only, at which a rival is not behind the label."""
    how = "shares" if "shares" in data else "vectors"
    changed, given, rival = fields(data, f"changed {how} rival")
    scores = asked.model.scores(point(changed, given, asked, allowed, how))
    need(scores[asked.label] <= scores[asked.rivals[rival]], "the label keeps its lead at this point")


def point(changed: Any, given: Any, asked: Question, allowed: Places, how: str = "vectors") -> list[Vector]:
    """The text with other vectors, each in its word's set: as they are, or as means of a hull's corners."""
    where, vectors, size = sorted(places(changed, allowed)), list(asked.own), len(asked.own[0])
    need(len(where) <= asked.at_most, "too many words are changed")
    need(how == "vectors" or asked.kind == "knn-hull", "only hulls have shares")
    numbers = array(given, len(where) * size) if how == "vectors" else ()
    rows = [numbers[n * size : (n + 1) * size] for n in range(len(where))] if how == "vectors" else given
    for place, row in zip(where, rows, strict=True):
        vectors[place] = row if how == "vectors" else mean(row, asked.words[place].points.values())
        need(how == "shares" or asked.words[place].holds(vectors[place]), "a vector is not in its word's set")
    return vectors


def mean(given: Any, corners: Iterable[Vector]) -> Vector:
    """Corners in these shares, which are divided by their sum."""
    shares = [number(share, 0) for share in given]
    sums = [sum(s * v for s, v in zip(shares, side, strict=True)) for side in zip(*corners, strict=True)]
    return tuple(value / sum(shares) for value in sums)

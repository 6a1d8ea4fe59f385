"""Perturbation sets: what a user chooses, and the region that it makes of a classifier and a text.

A Perturbation is an open set: any object with `around` and `to_dict`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import InputError
from suffice.model.classifier import Classifier
from suffice.model.text import Text
from suffice.sets.neighbours import neighbours
from suffice.sets.regions import Ball, Box, Choice, Hull, Region


class Perturbation(Protocol):
    """Anything that can say what the words of a text may become."""

    def around(self, classifier: Classifier, text: Text) -> Region:
        """The region of a text."""

    def to_dict(self) -> dict[str, Any]:
        """The perturbation as plain data, for results and certificates."""


@dataclass(frozen=True)
class EpsilonBall:
    """Every embedding within `eps` of the word's own, in the p-norm (p = 1, 2 or inf)."""

    eps: float
    p: float = math.inf

    def __post_init__(self) -> None:
        if not (isinstance(self.eps, (int, float)) and math.isfinite(self.eps) and self.eps >= 0):
            raise InputError(f"The radius eps must be a number of at least 0, not {self.eps!r}.")
        if self.p not in (1, 2, math.inf):
            raise InputError(f"The norm must be 1, 2 or inf, not {self.p!r}.")

    def around(self, classifier: Classifier, text: Text) -> Region:
        return Ball(classifier.embed(text), float(self.eps), float(self.p))

    def to_dict(self) -> dict[str, Any]:
        norm = "inf" if self.p == math.inf else int(self.p)
        return {"kind": "epsilon-ball", "eps": float(self.eps), "p": norm}


@dataclass(frozen=True)
class KNNBox:
    """The smallest box around a word and its k nearest words (Euclidean distance)."""

    k: int

    def __post_init__(self) -> None:
        _check_k(self.k)

    def around(self, classifier: Classifier, text: Text) -> Region:
        points, names = neighbours(classifier, text, self.k)
        return Box(classifier.embed(text), points.min(1), points.max(1), names)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "knn-box", "k": self.k}


@dataclass(frozen=True)
class KNNHull:
    """The convex hull of a word and its k nearest words (Euclidean distance)."""

    k: int

    def __post_init__(self) -> None:
        _check_k(self.k)

    def around(self, classifier: Classifier, text: Text) -> Region:
        points, names = neighbours(classifier, text, self.k)
        return Hull(classifier.embed(text), points, names)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "knn-hull", "k": self.k}


@dataclass(frozen=True)
class WordSwap:
    """Each word or one of its listed substitutes, as real words (not the space between them)."""

    swaps: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        if not isinstance(self.swaps, Mapping):
            raise InputError("WordSwap takes a mapping from a word to a list of words.")
        for word, others in self.swaps.items():
            listed = isinstance(others, Sequence) and not isinstance(others, str)
            if not listed or not all(isinstance(other, str) for other in (word, *others)):
                raise InputError(f"The substitutes of {word!r} must be a list of words, not {others!r}.")
        # texts are read in lower case: what is listed for Good holds for good too, unless good has a list
        lower = {word.lower(): others for word, others in self.swaps.items()}
        object.__setattr__(self, "swaps", {**lower, **self.swaps})

    def around(self, classifier: Classifier, text: Text) -> Region:
        return _choices(classifier, text, [self._options(token) for token in text.tokens])

    def _options(self, token: str) -> Sequence[str]:
        return self.swaps.get(token, self.swaps.get(token.lower(), ()))

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "word-swap",
            "swaps": {str(word): [str(other) for other in others] for word, others in sorted(self.swaps.items())},
        }


@dataclass(frozen=True)
class Deletion:
    """Each word, or padding in its place (the other words do not move up)."""

    def around(self, classifier: Classifier, text: Text) -> Region:
        return _choices(classifier, text, [(classifier.pad,)] * len(text))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "deletion"}


@dataclass(frozen=True, eq=False)
class Boxes:
    """An explicit box for every position: `lower` and `upper` are (length, dimension) arrays."""

    lower: ArrayLike
    upper: ArrayLike

    def around(self, classifier: Classifier, text: Text) -> Region:
        center = classifier.embed(text)
        try:
            lower, upper = np.asarray(self.lower, dtype=np.float64), np.asarray(self.upper, dtype=np.float64)
        except (ValueError, TypeError) as error:
            raise InputError(f"Boxes must be two arrays of numbers of shape {center.shape}.") from error
        if lower.shape != center.shape or upper.shape != center.shape:
            raise InputError(f"Boxes must be two arrays of shape {center.shape}, not {lower.shape} and {upper.shape}.")
        if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            raise InputError("Boxes must hold finite numbers only.")
        outside = ~((lower <= center) & (center <= upper)).all(-1)
        if outside.any():
            raise InputError(f"The box at position {int(outside.argmax())} does not contain the word's own point.")
        return Box(center, lower, upper)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "boxes",
            "lower": np.asarray(self.lower).tolist(),
            "upper": np.asarray(self.upper).tolist(),
        }


def from_dict(data: Mapping[str, Any]) -> Perturbation:
    """The perturbation that `to_dict` described."""
    match data:
        case {"kind": "epsilon-ball", "eps": eps, "p": p}:
            return EpsilonBall(eps, math.inf if p == "inf" else p)
        case {"kind": "knn-box", "k": k}:
            return KNNBox(k)
        case {"kind": "knn-hull", "k": k}:
            return KNNHull(k)
        case {"kind": "word-swap", "swaps": swaps}:
            return WordSwap(swaps)
        case {"kind": "deletion"}:
            return Deletion()
        case {"kind": "boxes", "lower": lower, "upper": upper}:
            return Boxes(lower, upper)
        case _:
            raise InputError(f"{data!r} does not describe a perturbation set.")


def _choices(classifier: Classifier, text: Text, options: Sequence[Sequence[str]]) -> Choice:
    """A Choice of the word itself and its options; missing options repeat the word's own point."""
    names = tuple(
        (word, *dict.fromkeys(o for o in extra if o != word)) for word, extra in zip(text.tokens, options, strict=True)
    )
    most = max(map(len, names))
    rows = [
        [own, *(classifier.index_of(name) for name in group[1:])]
        for own, group in zip(text.indices, names, strict=True)
    ]
    padded = np.array([row + row[:1] * (most - len(row)) for row in classifier.each_once(rows)], dtype=np.int64)
    return Choice(classifier.embed(text), classifier.table[padded], names)


def _check_k(k: object) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise InputError(f"k must be a whole number of at least 0, not {k!r}.")

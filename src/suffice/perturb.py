"""Perturbation sets: what each word may become, as a Region that answers support, membership and sampling.

A Perturbation (open set: any object with `around` and `to_dict`) looks at a classifier and a text and makes a
Region (closed set: Box, Ball, Hull or Choice). All that bounds need of a region is its support function,
the least value of a linear form over each word's set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from suffice.classifier import Classifier
from suffice.errors import InputError
from suffice.network import Bools, Floats, Ints
from suffice.text import Text

Names: TypeAlias = tuple[tuple[str, ...], ...]

ROUND = 2.0**-53
# Nearest words are remembered for so many words, and only so few of each: 16 MB at most.
REMEMBERED, FEW = 20_000, 100

# --- regions: one set per position, all arrays (length, dimension) ---


@dataclass(frozen=True, eq=False)
class Box:
    """Each coordinate between `lower` and `upper`."""

    center: Floats
    lower: Floats
    upper: Floats
    names: Names = ()

    def support(self, rows: Floats) -> Floats:
        """Least value of rows·v over each position's set: (..., length, dimension) to (..., length)."""
        return np.asarray(np.where(rows > 0, rows * self.lower, rows * self.upper).sum(-1))

    def minimiser(self, rows: Floats) -> Floats:
        """A point of each position's set where the support is attained."""
        return np.where(rows > 0, self.lower, self.upper)

    def contains(self, points: Floats) -> Bools:
        """Whether each vector is in its position's set: (..., length, dimension) to (..., length)."""
        return np.asarray(((self.lower <= points) & (points <= self.upper)).all(-1))

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        spread = rng.random((count, *self.center.shape))
        return np.clip(self.lower + spread * (self.upper - self.lower), self.lower, self.upper)

    def movable(self) -> Bools:
        """The positions whose set holds more than the word's own point."""
        return np.asarray((self.lower < self.upper).any(-1))

    @cached_property
    def spread(self) -> tuple[Floats, Floats]:
        """The displacement of the box's middle from the word, and its radius, rounded outwards."""
        middle = (self.lower / 2 + self.upper / 2) - self.center
        reach = np.maximum(self.upper - self.center - middle, middle - (self.lower - self.center))
        return middle, np.where(self.lower < self.upper, np.nextafter(reach * (1 + 4 * ROUND), np.inf), 0.0)


@dataclass(frozen=True, eq=False)
class Ball:
    """Every vector within `radius` of the word in the p-norm, p = 1, 2 or infinity."""

    center: Floats
    radius: float
    p: float

    names: Names = ()

    def support(self, rows: Floats) -> Floats:
        return np.asarray((rows * self.center).sum(-1) - self.radius * _norm(rows, _dual(self.p)))

    def minimiser(self, rows: Floats) -> Floats:
        # a hair inside, so that rounding cannot put a counterexample outside the ball
        return _moved(self.center, -self.radius * (1 - 1e-12) * _direction(rows, self.p))

    def contains(self, points: Floats) -> Bools:
        """By floats where they are sure, in exact arithmetic where they are not."""
        size = np.asarray(_norm(points - self.center, self.p))
        inside = size <= self.radius * (1 - 1e-13)
        for place in zip(*np.nonzero(~inside & (size <= self.radius * (1 + 1e-9))), strict=True):
            inside[place] = _within(points[place], self.center[place[-1]], Fraction(self.radius), self.p)
        return inside

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        noise = rng.standard_normal((count, *self.center.shape))
        if self.p == 1:
            noise *= rng.exponential(size=noise.shape)
        size = _norm(noise, self.p)[..., None]
        inside = rng.random((*noise.shape[:-1], 1)) ** (1 / noise.shape[-1]) * self.radius * (1 - 1e-12)
        return _moved(self.center, noise / size * inside)

    def movable(self) -> Bools:
        return np.full(len(self.center), self.radius > 0)

    @cached_property
    def spread(self) -> tuple[Floats, Floats]:
        """The same as for a box: the middle is the word, the radius the same everywhere."""
        return np.zeros_like(self.center), np.full_like(self.center, self.radius)


@dataclass(frozen=True, eq=False)
class Corners:
    """What Hull and Choice share: the least value of a linear form is at one of `points` (length, m, dimension)."""

    center: Floats
    points: Floats
    names: Names = ()

    def support(self, rows: Floats) -> Floats:
        return np.asarray(self._values(rows).min(-1))

    def minimiser(self, rows: Floats) -> Floats:
        best = self._values(rows).argmin(-1)
        return np.asarray(self.points[np.arange(len(self.center)), best])

    def movable(self) -> Bools:
        return np.asarray((self.points != self.points[:, :1]).any((-1, -2)))

    def _values(self, rows: Floats) -> Floats:
        return np.asarray(np.matmul(self.points, rows[..., None])[..., 0])

    def _is_corner(self, points: Floats) -> Bools:
        return np.asarray((self.points == points[..., None, :]).all(-1).any(-1))


class Hull(Corners):
    """The convex hull of the points at each position."""

    def contains(self, points: Floats) -> Bools:
        """Exact for the corners; for a mixture, up to 1e-9 by a small linear program."""
        inside = self._is_corner(points)
        for place in zip(*np.nonzero(~inside), strict=True):
            inside[place] = _mixture(self.points[place[-1]], points[place]) is not None
        return inside

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        shares = rng.dirichlet(np.full(self.points.shape[1], 0.5), (count, len(self.center)))
        return np.asarray(np.einsum("nlm,lmd->nld", shares, self.points))


class Choice(Corners):
    """Exactly one of the finitely many points at each position; `names` are their words."""

    def contains(self, points: Floats) -> Bools:
        return self._is_corner(points)

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        picked = rng.integers(self.points.shape[1], size=(count, len(self.center)))
        return np.asarray(self.points[np.arange(len(self.center)), picked])


Region: TypeAlias = Box | Ball | Hull | Choice


# --- perturbations: what a user chooses ---


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


def neighbours(classifier: Classifier, text: Text, k: int) -> tuple[Floats, Names]:
    """At each position the word's own point and its k nearest words: points (length, k + 1, d) and names."""
    if classifier.reader.once:
        raise InputError(
            "For this classifier a word counts once, however often it occurs: nearest words may be words of the text. "
            "Use WordSwap or Deletion, or EpsilonBall for vectors that need not be words."
        )
    table, lookup = classifier.table, classifier.lookup
    special = [lookup[classifier.pad], lookup[classifier.unknown]]
    if k > len(table) - 3:
        raise InputError(f"k = {k} is more than the {max(len(table) - 3, 0)} other words of the vocabulary.")
    nearest = {index: _remembered(classifier, index, special, k) for index in set(text.indices)}
    rows = np.array([[index, *nearest[index]] for index in text.indices], dtype=np.int64)
    return table[rows], tuple(tuple(classifier.vocabulary[j] for j in row[1:]) for row in rows)


def _remembered(classifier: Classifier, index: int, special: list[int], k: int) -> Ints:
    """The k nearest words, from memory if they are few; the memory is bounded, since a server may run for long."""
    known = classifier.nearest
    found = known.get((index, k))
    if found is None:
        found = _nearest(classifier.columns, index, special, k)
        if len(known) >= REMEMBERED:
            known.clear()
        if k <= FEW:
            known[index, k] = found
    return found


def _nearest(columns: Floats, index: int, special: list[int], k: int) -> Ints:
    """Squared distances are summed coordinate by coordinate, ties go to the lower index: the same anywhere."""
    distance = np.zeros(columns.shape[1])
    for column in columns:
        distance += (column - column[index]) ** 2
    distance[[index, *special]] = np.inf
    if k == 0:
        return np.zeros(0, dtype=np.int64)
    some = distance[:: 1 + len(distance) // (100 * k)]  # the k nearest of all are no farther than those of a sample
    near = np.flatnonzero(distance <= np.partition(some, k - 1)[k - 1])
    return near[np.argsort(distance[near], kind="stable")[:k]]


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


def _dual(p: float) -> float:
    return {1.0: math.inf, 2.0: 2.0, math.inf: 1.0}[p]


def _norm(rows: Floats, q: float) -> Floats:
    return np.asarray(np.linalg.norm(rows, ord=q, axis=-1))


def _direction(rows: Floats, p: float) -> Floats:
    """The unit vector of the p-norm along which rows·v grows fastest."""
    if p == math.inf:
        return np.sign(rows)
    if p == 2:
        return rows / np.maximum(_norm(rows, 2), 1e-300)[..., None]
    largest = np.abs(rows).argmax(-1)[..., None]
    return np.where(np.arange(rows.shape[-1]) == largest, np.sign(rows), 0.0)


def _moved(center: Floats, by: Floats) -> Floats:
    """center + by, each coordinate rounded towards the center."""
    return np.nextafter(center + by, center)


def _within(v: Floats, x: Floats, radius: Fraction, p: float) -> bool:
    """|v - x| <= radius in exact arithmetic."""
    if not np.isfinite(v).all():
        return False
    gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(v.tolist(), x.tolist(), strict=True)]
    if p == math.inf:
        return max(gaps) <= radius
    return sum(gaps) <= radius if p == 1 else sum(g * g for g in gaps) <= radius**2


def _mixture(points: Floats, v: Floats) -> Floats | None:
    """Shares of `points` that mix to v up to 1e-9, or None."""
    from scipy.optimize import linprog  # takes long to import and is rarely needed

    if not np.isfinite(v).all():
        return None
    scale = np.abs(points).max() or 1.0
    matrix = np.vstack([points.T / scale, np.ones(len(points))])
    # least total misfit, so that a point on the border is not lost to the solver's own tolerance
    slack = np.hstack([matrix, np.eye(len(matrix)), -np.eye(len(matrix))])
    cost = np.r_[np.zeros(len(points)), np.ones(2 * len(matrix))]
    found = linprog(cost, A_eq=slack, b_eq=np.r_[v / scale, 1.0], method="highs")
    return np.asarray(found.x[: len(points)]) if found.status == 0 and found.fun <= 1e-9 else None

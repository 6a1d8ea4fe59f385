"""Perturbation sets: what each word of the text may become, from the header and the classifier
alone.

Method: perturbation sets (theory, section 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from suffice.model.classifier import Classifier
from suffice.model.network import Bools, Floats
from suffice.model.tokenizers import Pattern
from suffice.proof.check.header import Header
from suffice.proof.check.limits import (
    EXACT_INTEGERS,
    Limit,
    need,
    read_fields,
    read_integer,
    read_table,
)
from suffice.proof.check.tolerances import ROUGH_DISTANCE, TINY_SQUARE

MAX_POINTS = 2 * 10**7  # numbers in the points of all sets together
SAMPLE = 64  # times as many words as are wanted tell how far these can be
REMEMBERED = 10**6  # nearest words of a classifier
NEAREST: WeakKeyDictionary[Classifier, dict[tuple[int, int], list[int]]] = WeakKeyDictionary()
SQUARES: WeakKeyDictionary[Classifier, tuple[Floats, float]] = WeakKeyDictionary()
CHOICES = (
    "word-swap",
    "deletion",
    "mask",
    "removal-or-swap",
)  # sets of real words, each choice a point


@dataclass(frozen=True, eq=False)
class Sets:
    """One set per position, around `center` (length, dimension), the vectors of the text's own
    words.

    `low` and `high` are the smallest box known to hold each set; positions that are no features
    have their own vector only. `points` (length, m, dimension), for hulls and choices, are the
    corners or the choices, of which the first is the word's own vector. Balls have a `radius` and a
    `norm`; boxes are `low` and `high` themselves.
    """

    kind: str
    center: Floats
    low: Floats
    high: Floats
    points: Floats | None = None
    radius: float = 0.0
    norm: float = np.inf
    at_most: int | None = None

    def contains(self, place: int, vector: Floats) -> bool:
        """Whether a vector is in the set of a word, compared as real numbers; of a hull: whether it
        is a corner.
        """
        if self.points is not None:
            return bool((self.points[place] == vector).all(-1).any())
        if self.kind != "epsilon-ball":
            return bool(((self.low[place] <= vector) & (vector <= self.high[place])).all())
        pairs = zip(vector.tolist(), self.center[place].tolist(), strict=True)
        gaps = [abs(Fraction(a) - Fraction(b)) for a, b in pairs]
        if self.norm == np.inf:
            return max(gaps) <= Fraction(self.radius)
        if self.norm == 1:
            return sum(gaps) <= Fraction(self.radius)
        return sum(gap**2 for gap in gaps) <= Fraction(self.radius) ** 2


def read_sets(header: Header, classifier: Classifier, limit: Limit) -> Sets:
    """The sets that the header's perturbation makes of its text."""
    data = dict(header.perturbation)
    at_most = (
        read_integer(data.pop("at_most"), 1, EXACT_INTEGERS, "at_most")
        if "at_most" in data
        else None
    )
    own = [
        classifier.lookup.get(token, classifier.lookup[classifier.unknown])
        for token in header.tokens
    ]
    center = classifier.table[own]
    kind = data.get("kind")
    if kind == "epsilon-ball":
        found = _ball(data, center)
    elif kind == "boxes":
        found = _boxes(data, center)
    else:
        points = _points(_rows(kind, data, header, classifier, own, limit), classifier)
        found = Sets(
            str(kind), center, points.min(1), points.max(1), None if kind == "knn-box" else points
        )
    low, high = (
        np.where(header.features[:, None], side, center) for side in (found.low, found.high)
    )
    return replace(found, low=low, high=high, at_most=at_most)


def _ball(data: Any, center: Floats) -> Sets:
    _, eps, p = read_fields(data, "kind eps p", "a ball")
    need(type(p) in (int, float, str) and p in (1, 2, "inf"), "p must be 1, 2 or inf")
    radius = float(read_table([[eps]], (1, 1), "eps", 0.0)[0, 0])
    # a sum is off by half a step at most, so that the next double is outside
    low = np.nextafter(center - radius, -np.inf)
    high = np.nextafter(center + radius, np.inf)
    return Sets("epsilon-ball", center, low, high, radius=radius, norm=float(p))


def _boxes(data: Any, center: Floats) -> Sets:
    _, *sides = read_fields(data, "kind lower upper", "boxes")
    low, high = (read_table(side, center.shape, "a side of boxes") for side in sides)
    need(((low <= center) & (center <= high)).all(), "a box misses the word's own vector")
    return Sets("boxes", center, low, high)


def _points(rows: list[list[int]], classifier: Classifier) -> Floats:
    """The vectors (length, m, dimension) of words; the own word again where there are fewer."""
    most = max(map(len, rows))
    need(
        len(rows) * most * classifier.table.shape[1] <= MAX_POINTS, "the sets have too many points"
    )
    return np.asarray(classifier.table[[row + row[:1] * (most - len(row)) for row in rows]])


def _rows(
    kind: Any, data: Any, header: Header, classifier: Classifier, own: list[int], limit: Limit
) -> list[list[int]]:
    """For each position the word itself and its neighbours or substitutes, as places in the
    vocabulary.
    """
    if kind in ("knn-box", "knn-hull"):
        need(
            not classifier.reader.once,
            "words count once for this classifier: nearest words may be words of the text",
        )
        k = read_integer(
            read_fields(data, "kind k", "the set")[1], 0, len(classifier.vocabulary) - 2, "k"
        )
        near = {place: _remembered(classifier, place, k, limit) for place in sorted(set(own))}
        return [
            [i, *near[i]] if feature else [i]
            for i, feature in zip(own, header.features, strict=True)
        ]
    need(kind in CHOICES, "the format knows no such perturbation set")
    anywhere, swaps = _options(kind, data, classifier)
    rows = []
    for token, place in zip(header.tokens, own, strict=True):
        listed = dict.fromkeys([*anywhere, *swaps.get(token, swaps.get(token.lower(), []))])
        rows.append([place, *(_place(classifier, word) for word in listed if word != token)])
    if classifier.reader.once:
        _each_once(rows, {classifier.lookup[classifier.pad], classifier.lookup[classifier.unknown]})
    return rows


def _options(
    kind: str, data: Any, classifier: Classifier
) -> tuple[list[str], dict[str, list[str]]]:
    """What any word may become, and what only some may, by word."""
    if kind == "deletion":
        read_fields(data, "kind", "deletion")
        return [classifier.pad], {}
    if kind == "mask":
        token = read_fields(data, "kind token", "a mask")[1]
        need(token is None or type(token) is str, "the mask must be a word or null")
        return [token or classifier.unknown], {}
    swaps = _swaps(read_fields(data, "kind swaps", "the set")[1])
    return [classifier.pad] if kind == "removal-or-swap" else [], swaps


def _swaps(data: Any) -> dict[str, list[str]]:
    right = type(data) is dict and all(
        type(v) is list and {*map(type, v)} <= {str} for v in data.values()
    )
    need(right, "swaps must be lists of words")
    return data  # type: ignore[no-any-return]


def _place(classifier: Classifier, word: str) -> int:
    """A substitute's place in the vocabulary, as the classifier would read it in a text."""
    unknown = classifier.lookup[classifier.unknown]
    if word in classifier.lookup:
        return classifier.lookup[word]
    if not isinstance(classifier.reader, Pattern):
        return classifier.lookup.get(word.lower(), unknown)
    made = [token for token, _, _ in classifier.reader(word)]
    need(
        len(made) <= 1,
        f"the substitute {word[:80]!r} is read as {len(made)} words, but takes the place of one",
    )
    return classifier.lookup.get(made[0], unknown) if made else unknown


def _each_once(rows: Sequence[Sequence[int]], silent: set[int]) -> None:
    """A word that counts once may be a choice at one position only: the network would count it
    twice.
    """
    seen: dict[int, int] = {}
    for position, row in enumerate(rows):
        for place in set(row) - silent:
            first = seen.setdefault(place, position)
            need(
                first == position,
                f"a word that counts once could stand at positions {first} and {position}",
            )


def _remembered(classifier: Classifier, place: int, k: int, limit: Limit) -> list[int]:
    """The k nearest words, worked out once: texts share words, and the table of a classifier cannot
    change.
    """
    limit.check_time()
    known = NEAREST.setdefault(classifier, {})
    if (place, k) not in known:
        if len(known) * k >= REMEMBERED:
            known.clear()
        known[place, k] = _nearest(classifier, place, k)
    return known[place, k]


def _nearest(classifier: Classifier, place: int, k: int) -> list[int]:
    """The k words nearest to one, by the rule of the format: coordinates in order, ties to the
    first.

    |w|² - |w - v|² = 2 w·v - |v|² is the larger the nearer v is. Words for which it is smaller than
    for enough others, by more than rounding adds up to, are none of them; the rule decides among
    the rest.
    """
    columns, (squares, rough) = classifier.columns, _squares(classifier)
    special = {place, classifier.lookup[classifier.pad], classifier.lookup[classifier.unknown]}
    close = 2 * columns[:, place] @ columns - squares
    # the k nearest are among these, whichever of them are special
    count = min(k + len(special), len(close))
    # so many of all are no farther than of a part
    some = close[:: max(1, len(close) // (SAMPLE * count))]
    near = np.flatnonzero(close >= np.partition(some, -count)[-count] - rough)
    near = near[close[near] >= np.partition(close[near], -count)[-count] - rough]
    words = np.array([word for word in near.tolist() if word not in special], dtype=np.int64)
    distance = np.zeros(len(words))
    for axis in columns:
        gap = axis[words] - axis[place]
        distance += gap * gap
    return [int(i) for i in words[np.argsort(distance, kind="stable")[:k]]]


def _squares(classifier: Classifier) -> tuple[Floats, float]:
    """The squared lengths of all words' vectors, and more than rounding adds up to, worked out
    once.
    """
    if classifier not in SQUARES:
        squares = np.asarray((classifier.columns**2).sum(0))
        SQUARES[classifier] = (
            squares,
            ROUGH_DISTANCE * len(classifier.columns) * (float(squares.max()) + TINY_SQUARE),
        )
    return SQUARES[classifier]


def movable(sets: Sets, features: Bools) -> Bools:
    """The features whose set holds more than the word's own vector."""
    return features & (sets.low < sets.high).any(-1)

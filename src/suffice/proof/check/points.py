"""Single inputs: that they lie in their sets, and the exact sign of the margin at them.

Method: forward error analysis, exact integers where that leaves doubt (theory, section 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from suffice.model.network import Bools, Floats, Step
from suffice.proof.certificate import numbers
from suffice.proof.check.inputs import VariedInputs
from suffice.proof.check.limits import Limit, need, read_fields, read_positions, read_table
from suffice.proof.check.network import NetworkBounds
from suffice.proof.check.sets import Sets

# times as many numbers as have moved must an input have, for their weights to be looked up
SPARSE_FACTOR = 8
MAX_EXACT = 200  # margins worked out in whole numbers


@dataclass(frozen=True, eq=False)
class Point:
    """An input, as doubles or, where it is a mixture of a hull's corners, fractions; and the words
    that it changes.
    """

    vectors: Any
    changed: Bools


def read_point(
    data: Any, sets: Sets, allowed: Bools, more: str = "", mixtures: bool = True
) -> Point:
    """The text with other vectors at some of the `allowed` words, each in its word's set, and not
    more than allowed.
    """
    mixed = mixtures and type(data) is dict and "shares" in data
    names = f"changed {'shares' if mixed else 'vectors'} {more}"
    where, given, *_ = read_fields(data, names, "a point")
    changed = read_positions(where, allowed, "changed")
    need(
        sets.at_most is None or changed.sum() <= sets.at_most,
        "more words are changed than may change at once",
    )
    if mixed:
        return Point(_mixture(given, sets, changed), changed)
    vectors = sets.center.copy()
    vectors[changed] = numbers(given, vectors[changed].size).reshape(-1, vectors.shape[1])
    for place in np.flatnonzero(changed):
        need(sets.contains(int(place), vectors[place]), "a vector is not in its word's set")
    return Point(vectors, changed)


def _mixture(given: Any, sets: Sets, changed: Bools) -> Any:
    """Exact weighted means of corners: non-negative weights with a sum above zero, so inside the
    hull.
    """
    need(sets.kind == "knn-hull", "only points of a hull can be given by shares")
    assert sets.points is not None
    places = np.flatnonzero(changed).tolist()
    shares = read_table(given, (len(places), sets.points.shape[1]), "shares", 0.0)
    vectors = sets.center.astype(object)
    for place, row in zip(places, shares.tolist(), strict=True):
        weights = [Fraction(share) for share in row]
        need(sum(weights) > 0, "shares must not all be zero")
        corners = sets.points[place].tolist()
        for axis in range(vectors.shape[1]):
            mean = sum(
                (w * Fraction(c[axis]) for w, c in zip(weights, corners, strict=True)), Fraction(0)
            )
            vectors[place, axis] = mean / sum(weights)
    return vectors


class PointMargins:
    """The sign of the margin at points: in doubles or by intervals where they tell, else in whole
    numbers.
    """

    def __init__(
        self, network: NetworkBounds, label: int, limit: Limit, inputs: VariedInputs
    ) -> None:
        self.network = network
        self.label = label
        self.limit = limit
        self.inputs = inputs
        self.exact = 0
        self.signs: dict[tuple[int, bytes], int] = {}  # word trees show a point more than once

    def sign(self, vectors: Any, rival: int) -> int:
        """The sign at an input whose vectors are in their sets."""
        if vectors.dtype == object:
            return self._sign_exactly(vectors, rival)
        key = rival, vectors.tobytes()
        if key not in self.signs:
            self.signs[key] = self._sign_in_doubles(vectors, rival) or self._sign_exactly(
                vectors, rival
            )
        return self.signs[key]

    def _sign_in_doubles(self, vectors: Any, rival: int) -> int:
        """The sign of the margin in doubles, 0 where rounding could have changed it."""
        if any(step.curves for step in self.network.steps):
            return 0
        first = self._first_sums(vectors)
        score_errors = self.network.score_errors
        scores = self.network.scores_in_doubles(
            vectors[None], None if first is None else first[None]
        )[0]
        margin = scores[self.label] - scores[rival]
        certain = abs(margin) > (score_errors[self.label] + score_errors[rival]) * (
            1 + self.network.error_rate
        )
        return int(np.sign(margin)) if certain else 0

    def _first_sums(self, vectors: Floats) -> Floats | None:
        """What the first step makes of an input without its bias, where less than all of it has to
        be worked out.
        """
        contributions = self.inputs.contributions(self.network.steps[0])
        known = (
            None if contributions is None else self.inputs.first_step_values(contributions, vectors)
        )
        if known is not None or (columns := self.network.step_tables.columns) is None:
            return known
        change = (vectors - self.inputs.sets.center).ravel()
        changed = np.flatnonzero(change)
        return (
            None
            if SPARSE_FACTOR * len(changed) > len(change)
            else self._text_sums + columns[:, changed] @ change[changed]
        )

    @cached_property
    def _text_sums(self) -> Floats:
        return np.asarray(self.network.steps[0].weight @ self.inputs.sets.center.ravel())

    def _sign_exactly(self, vectors: Any, rival: int) -> int:
        """Intervals around the point: a fraction lies between the doubles next to the one nearest
        to it.
        """
        flat = np.ravel(vectors).astype(np.float64)
        known = self.network.intervals(np.nextafter(flat, -np.inf), np.nextafter(flat, np.inf))[-1]
        if known.lower[self.label] > known.upper[rival]:
            return 1
        if known.upper[self.label] < known.lower[rival]:
            return -1
        curved = any(step.curves for step in self.network.steps)
        need(not curved, "the margin at this point is too close to zero for smooth curves")
        self.exact += 1
        need(self.exact <= MAX_EXACT, f"more than {MAX_EXACT} margins would need exact arithmetic")
        scores = exact_scores(self.network.steps, np.ravel(vectors).tolist(), self.limit)
        return (scores[self.label] > scores[rival]) - (scores[self.label] < scores[rival])


def exact_scores(
    steps: Sequence[Step], values: Sequence[float | Fraction], limit: Limit
) -> list[int]:
    """All scores times one positive number: every double is a fraction, and a common denominator
    changes no sign.
    """
    numerators, denominator = over_one_denominator(values)
    for step in steps:
        rows, columns, weights = _contributing(
            step.weight, np.array([value != 0 for value in numerators])
        )
        factors, under = over_one_denominator([*weights.tolist(), *step.bias.tolist()])
        sums = [bias * denominator for bias in factors[len(rows) :]]
        for row, column, factor in zip(rows.tolist(), columns.tolist(), factors, strict=False):
            if not column % 1024:
                limit.check_time()
            sums[row] += factor * numerators[column]
        numerators = [
            0 if relu and total < 0 else total
            for total, relu in zip(sums, step.relu.tolist(), strict=True)
        ]
        for group in step.maxima:
            largest = max(sums[unit] for unit in group)
            for unit in group:
                numerators[unit] = 0
            numerators[group[0]] = largest
        denominator *= under
    return numerators


def _contributing(weight: Any, used: Bools) -> tuple[Any, Any, Any]:
    """Rows, columns and weights of what adds something: neither the weight nor its
    input is zero.
    """
    if isinstance(weight, np.ndarray):
        rows, columns = np.nonzero(weight)
        weights = weight[rows, columns]
    else:
        listed = weight.tocoo()
        rows = listed.row
        columns = listed.col
        weights = listed.data
    kept = used[columns]
    return rows[kept], columns[kept], weights[kept]


def over_one_denominator(values: Sequence[float | Fraction]) -> tuple[list[int], int]:
    """Numerators over a denominator that all share."""
    ratios = [value.as_integer_ratio() for value in values]
    common = math.lcm(*(below for _, below in ratios))
    return [above * (common // below) for above, below in ratios], common

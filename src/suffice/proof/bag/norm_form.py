"""NormForm: the margin of a bag of words as N + b|v|, and lines and directions in place of its
root.

Method: lines of the norm (theory, section 10).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from suffice.model.bag import Bag
from suffice.model.network import Floats
from suffice.proof.bag import tolerances
from suffice.proof.bag.subproblems import LatticeLike, TextSubproblem, need


def lost(count: int, size: float) -> float:
    """What a sum of so many terms, each rounded a few times, may be off by, if their sizes sum to
    this.
    """
    return tolerances.ROUNDING * (count + tolerances.ROUNDED_STEPS) * size


def value_of(bag: Bag, column: int, count: float) -> float:
    """What a feature is where it counts so much."""
    return float(bag.scale[column]) * term_of(bag, count)


def term_of(bag: Bag, count: float) -> float:
    """The same before it is scaled."""
    match bag.tf:
        case "count":
            return float(count)
        case "log":
            return 1.0 + math.log(count) if count > 0 else 0.0
        case "once":
            return 1.0 if count else 0.0


@dataclass(eq=False)
class NormForm:
    """N + b|v| for weights and a bias."""

    bag: Bag
    weight: Floats
    bias: float
    owner: LatticeLike

    def __post_init__(self) -> None:
        words = self.owner.words
        full_texts = self.owner.texts_of(
            TextSubproblem(
                tuple(tuple(range(len(word))) for word in words), (0,) * len(words), None
            )
        )
        ends = {*full_texts.least, *full_texts.most}
        counts = {
            c: max(abs(full_texts.least.get(c, 0.0)), abs(full_texts.most.get(c, 0.0)))
            for c in ends
        }
        self.magnitude = float(
            sum(abs(self.weight[c]) * abs(self.value(c, n)) for c, n in counts.items())
        )
        self.tolerance = tolerances.ROUNDING_SHARE * (
            self.magnitude * tolerances.FORM_WEIGHT + abs(self.bias) + tolerances.TINY
        )

    def value(self, column: int, count: float) -> float:
        return value_of(self.bag, column, count)

    def form_value(self, counts: Mapping[int, float]) -> float:
        values = {column: self.value(column, count) for column, count in counts.items()}
        total = sum(float(self.weight[column]) * value for column, value in values.items())
        match self.bag.norm:
            case None:
                return total + self.bias
            case "l1":
                norm = sum(map(abs, values.values()))
            case "l2":
                norm = math.sqrt(sum(value * value for value in values.values()))
        return total + self.bias * norm if norm else self.bias

    def surely(self, counts: Mapping[int, float]) -> float:
        """What the form of these counts is at least, whatever was lost in rounding."""
        values = {column: self.value(column, count) for column, count in counts.items()}
        length = (
            math.sqrt(sum(value * value for value in values.values()))
            if self.bag.norm == "l2"
            else 0.0
        )
        size = abs(self.bias) * (1.0 + length) + sum(
            self.part_size(c, 0.0, 0.0, n) for c, n in counts.items()
        )
        return self.form_value(counts) - lost(len(counts), size)

    def feature_term(
        self, column: int, norm_slope: float, root_weight: float = 0.0
    ) -> Callable[[float], float]:
        """What one feature adds for each count, with a line or a direction in the place of the
        root.
        """
        weight = float(self.weight[column]) + root_weight

        def term(count: float) -> float:
            value = self.value(column, count)
            return (
                weight * value
                + norm_slope * value * value
                + (self.bias * abs(value) if self.bag.norm == "l1" else 0.0)
            )

        return term

    def part_size(self, column: int, slope: float, turn: float, count: float) -> float:
        """How large all that one feature adds can be, where it counts so much at most."""
        value = abs(self.value(column, abs(count)))
        rooted = abs(self.bias) if self.bag.norm == "l1" else 0.0
        return (abs(float(self.weight[column])) + abs(turn) + abs(slope) * value + rooted) * value

    def tangent(self, slope: Any) -> tuple[float, float]:
        """Slope and constant of a line below b|v|, b < 0; without the norm l2 there is none."""
        if self.bag.norm != "l2":
            return 0.0, self.bias if self.bag.norm is None else 0.0
        need(type(slope) is float and slope < 0, "the slope of a tangent must be below zero")
        root = 0.5 * self.bias / slope
        return slope, 0.5 * self.bias * root

    def direction(self, vector: Mapping[int, float]) -> dict[int, float]:
        """Weights below b|v|, b > 0, as |v| is at least u v / |u|; none without the norm l2, and
        where b < 0.
        """
        largest = max(map(abs, vector.values()), default=0.0)
        if self.bag.norm != "l2" or self.bias <= 0 or not largest:
            return {}
        # squares of very small numbers would be lost
        parts = {column: value / largest for column, value in vector.items()}
        size = math.sqrt(sum(part * part for part in parts.values()))
        return {column: self.bias * part / size for column, part in parts.items()}

    def chord(self, low: float, high: float) -> tuple[float, float]:
        if high <= 0:
            return 0.0, 0.0
        slope = self.bias / (math.sqrt(low) + math.sqrt(high))
        return slope, self.bias * math.sqrt(low) - slope * low

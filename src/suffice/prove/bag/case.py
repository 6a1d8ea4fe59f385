"""Case: all texts of a layout that a bound is about, and what can be said of their margins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.bag.ranges import Ranges, few_changes, ranges
from suffice.prove.layout import Layout

ROUNDING = 1e-9  # of all that is added up: far more than doubles lose in sums of up to a million terms


@dataclass(frozen=True, eq=False)
class Case:
    """All texts of `allowed` choices, at most `at_most` of them other than `reference`: is w v/|v| + b above zero?

    With `exactly` only those with just so many others.
    """

    layout: Layout
    weight: Floats  # (features,)
    bias: float
    reference: Ints  # (words,) choices
    allowed: Bools  # (choices,)
    at_most: int | None
    exactly: bool = False

    def holds(self, chosen: Ints) -> bool:
        """Whether a text changes as many words as it may."""
        if self.at_most is None:
            return True
        changed = int((chosen != self.reference).sum())
        return changed == self.at_most if self.exactly else changed <= self.at_most

    @cached_property
    def scale(self) -> float:
        """How large all that is added up can be."""
        high = self.everything.most
        terms = np.abs(self.weight) * np.abs(self.layout.values(high))
        return float(terms.sum()) + abs(self.bias) * (1.0 + float(np.sqrt((self.layout.values(high) ** 2).sum())))

    @cached_property
    def size(self) -> float:
        """The same without the bias, whatever words become."""
        every = ranges(self.layout, np.ones(len(self.allowed), dtype=bool))
        return float((np.abs(self.weight) * np.abs(self.layout.values(every.largest))).sum())

    @cached_property
    def everything(self) -> Ranges:
        return self.ranges(self.allowed)

    def ranges(self, allowed: Bools) -> Ranges:
        """How often each feature may count in the texts of these choices."""
        found = ranges(self.layout, allowed)
        return found if self.at_most is None else found.inside(self._changed)

    @cached_property
    def _changed(self) -> Ranges:
        """How often it may count in texts that change no more words than may change."""
        assert self.at_most is not None
        return few_changes(self.layout, self.reference, self.at_most)

    @cached_property
    def tolerance(self) -> float:
        """Forms within this of zero decide nothing."""
        return ROUNDING * (self.scale + 1e-30)

    def form(self, counts: Floats) -> tuple[float, float]:
        """N + b sqrt(S), which has the margin's sign, and the margin."""
        values = self.layout.values(counts)
        total = float(self.weight @ values)
        match self.layout.bag.norm:
            case None:
                return total + self.bias, total + self.bias
            case "l1":
                size = float(np.abs(values).sum())
            case "l2":
                size = float(np.sqrt((values * values).sum()))
        if size == 0.0:
            return self.bias, self.bias
        return total + self.bias * size, total / size + self.bias


def turned(case: Case) -> Case:
    """The same texts, and whether every one of them has a margin below zero."""
    return replace(case, weight=-case.weight, bias=-case.bias)


# --- what is found ---


@dataclass(frozen=True, eq=False)
class Stretch:
    """A proof for the texts whose S lies between `low` and `high`: the bound with this slope of S and these slopes."""

    low: float
    high: float
    slope: float
    slopes: Floats
    toll: float | None = None  # what a change costs where a path is limited in them; None: counted exactly


@dataclass(frozen=True, eq=False)
class Holds:
    """Every allowed text has a margin above zero: a leaf with lines, or a split of texts."""

    lines: tuple[Stretch, ...] = ()
    split: tuple[int, ...] = ()  # choices of one word that the first branch keeps; the second keeps the others
    counted: tuple[int, float] | None = None  # or a feature, and how often it counts at most in the first branch
    branches: tuple[Holds, ...] = ()


@dataclass(frozen=True, eq=False)
class Fails:
    """This text has a margin at or below zero (as computed here; it is still to be run)."""

    chosen: Ints
    margin: float


@dataclass(frozen=True)
class Open:
    """Neither was shown; `chosen` is a text that is too close to call, where there is one."""

    reason: str
    chosen: Ints | None = None
    margin: float = np.nan


Found = Holds | Fails | Open

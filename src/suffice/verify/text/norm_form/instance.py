"""TextInstance: the texts a bound is about and one linear form over their features; its verdicts.

Method: sign of the margin as the sign of N + b sqrt(S) (theory, section 10).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.settings import DEFAULT, NormForm
from suffice.verify import tolerances
from suffice.verify.text.lattice import OptionLattice
from suffice.verify.text.norm_form.count_ranges import (
    CountRanges,
    count_ranges,
    ranges_within_changes,
)


@dataclass(frozen=True, eq=False)
class TextInstance:
    """All texts of `allowed` choices, at most `at_most` of them other than `reference`: is w v/|v|
    + b above zero?

    With `exactly` only those with just so many others.
    """

    lattice: OptionLattice
    weight: Floats  # (features,)
    bias: float
    reference: Ints  # (words,) choices
    allowed: Bools  # (choices,)
    at_most: int | None
    exactly: bool = False
    settings: NormForm = DEFAULT.norm_form

    def within_limit(self, chosen: Ints) -> bool:
        """Whether a text keeps to the limit on changes."""
        if self.at_most is None:
            return True
        changed = int((chosen != self.reference).sum())
        return changed == self.at_most if self.exactly else changed <= self.at_most

    @cached_property
    def magnitude(self) -> float:
        """An upper bound of the absolute sum of all terms of the norm form over the
        allowed texts.
        """
        most_counts = self.full_ranges.most
        terms = np.abs(self.weight) * np.abs(self.lattice.values(most_counts))
        return float(terms.sum()) + abs(self.bias) * (
            1.0 + float(np.sqrt((self.lattice.values(most_counts) ** 2).sum()))
        )

    @cached_property
    def weight_magnitude(self) -> float:
        """The same without the bias, over all choices of the lattice."""
        any_ranges = count_ranges(self.lattice, np.ones(len(self.allowed), dtype=bool))
        return float(
            (np.abs(self.weight) * np.abs(self.lattice.values(any_ranges.largest_count))).sum()
        )

    @cached_property
    def full_ranges(self) -> CountRanges:
        return self.count_ranges(self.allowed)

    def count_ranges(self, allowed: Bools) -> CountRanges:
        """How often each feature may count in the texts of these choices."""
        every = count_ranges(self.lattice, allowed)
        return every if self.at_most is None else every.intersection(self._ranges_within_changes)

    @cached_property
    def _ranges_within_changes(self) -> CountRanges:
        """How often it may count in texts that change no more words than may change."""
        assert self.at_most is not None
        return ranges_within_changes(self.lattice, self.reference, self.at_most)

    @cached_property
    def tolerance(self) -> float:
        """Forms within this of zero decide nothing."""
        return tolerances.FORM_SHARE * (self.magnitude + tolerances.TINY)

    def form_and_margin(self, counts: Floats) -> tuple[float, float]:
        """N + b sqrt(S), which has the margin's sign, and the margin."""
        values = self.lattice.values(counts)
        total = float(self.weight @ values)
        match self.lattice.bag.norm:
            case None:
                return total + self.bias, total + self.bias
            case "l1":
                norm = float(np.abs(values).sum())
            case "l2":
                norm = float(np.sqrt((values * values).sum()))
        if norm == 0.0:
            return self.bias, self.bias
        return total + self.bias * norm, total / norm + self.bias


def negated(instance: TextInstance) -> TextInstance:
    """The same texts, and whether every one of them has a margin below zero."""
    return replace(instance, weight=-instance.weight, bias=-instance.bias)


# --- what is found ---


@dataclass(frozen=True, eq=False)
class NormSegment:
    """A proof for the texts with `low` <= S <= `high`: a line in S and one in the counts of each
    feature.

    `norm_slope` is the slope of b sqrt(S)'s lower line, `feature_slopes` (features,) those of h_f
    (NaN: none needed).
    """

    low: float
    high: float
    norm_slope: float
    feature_slopes: Floats
    # Lagrange multiplier of the number of changes; None: changes are counted exactly
    multiplier: float | None = None


@dataclass(frozen=True, eq=False)
class InstanceProved:
    """A proof that every allowed text has a margin above zero: a leaf with segments, or a split of
    the texts.
    """

    segments: tuple[NormSegment, ...] = ()
    split_choices: tuple[
        int, ...
    ] = ()  # choices of one word that the first branch keeps; the second keeps the others
    # or a feature, and how often it counts at most in the first branch
    split_count: tuple[int, float] | None = None
    branches: tuple[InstanceProved, ...] = ()


@dataclass(frozen=True, eq=False)
class InstanceRefuted:
    """A text with a margin at or below zero, as computed here in doubles: it is still to be run."""

    chosen: Ints
    margin: float


@dataclass(frozen=True)
class InstanceUnknown:
    """Neither was shown; `chosen` is a text that is too close to call, where there is one."""

    reason: str
    chosen: Ints | None = None
    margin: float = np.nan


InstanceVerdict = InstanceProved | InstanceRefuted | InstanceUnknown

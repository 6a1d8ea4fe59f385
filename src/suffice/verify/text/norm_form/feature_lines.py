"""FeatureLines: what each feature adds to the norm form at each of its counts, and lines below
that.

Method: lower lines of separable functions, improved like multipliers (theory, section 10).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from suffice.model.bag import term
from suffice.model.network import Bools, Floats, Ints
from suffice.verify import tolerances
from suffice.verify.text.norm_form.count_ranges import CountRanges
from suffice.verify.text.norm_form.instance import TextInstance


class FeatureLines:
    """The counts (variable, steps) of features whose count can vary, and what they add; the others
    are constant.

    `count_limits` restricts the texts to those that count so; features that it restricts are
    `restricted`.
    """

    def __init__(
        self, instance: TextInstance, allowed: Bools, count_limits: CountRanges | None
    ) -> None:
        self.instance = instance
        self.lattice = instance.lattice
        self.allowed = allowed
        self.full_ranges = instance.count_ranges(allowed)
        self.ranges = (
            self.full_ranges
            if count_limits is None
            else self.full_ranges.intersection(count_limits)
        )
        least = self.ranges.least
        most = self.ranges.most
        # texts may count otherwise
        self.restricted = (least > self.full_ranges.least) | (most < self.full_ranges.most)
        self.variable = np.flatnonzero((most > least) | self.restricted)
        steps = int((most - least).max(initial=0.0))
        self.counts = least[self.variable, None] + np.arange(steps + 1)
        self.inside = self.counts <= most[self.variable, None]
        self.last_index = self.inside.sum(1) - 1
        self._variable_terms()
        self._fixed_terms()

    def _variable_terms(self) -> None:
        values = self.lattice.scale[self.variable, None] * term(self.lattice.bag.tf, self.counts)
        self.square_terms = values * values
        self.linear_terms = self.instance.weight[self.variable, None] * values
        if self.lattice.bag.norm == "l1":
            self.linear_terms = self.linear_terms + self.instance.bias * np.abs(values)

    def _fixed_terms(self) -> None:
        fixed = np.setdiff1d(np.arange(len(self.ranges.least)), self.variable)
        values = (self.lattice.scale * term(self.lattice.bag.tf, self.ranges.least))[fixed]
        self.fixed_linear = float(self.instance.weight[fixed] @ values)
        self.fixed_squares = float((values**2).sum())
        if self.lattice.bag.norm == "l1":
            self.fixed_linear += self.instance.bias * float(np.abs(values).sum())

    @property
    def infeasible(self) -> bool:
        """Whether there is no text that counts so."""
        return bool((self.ranges.least > self.ranges.most).any())

    @cached_property
    def norm_range(self) -> tuple[float, float]:
        """The least and most S = |v|^2 of these texts."""
        low = (
            np.where(self.inside, self.square_terms, np.inf).min(1).sum()
            if len(self.variable)
            else 0.0
        )
        high = (
            np.where(self.inside, self.square_terms, 0.0).max(1).sum()
            if len(self.variable)
            else 0.0
        )
        return self.fixed_squares + float(low), min(
            self.fixed_squares + float(high), self._largest_squared_norm()
        )

    def _largest_squared_norm(self) -> float:
        """The most S, word by word: an occurrence of a feature adds no more than the most that one
        of them can.
        """
        lattice = self.lattice
        allowed = self.allowed
        most = np.maximum(self.ranges.most, -self.ranges.least)
        largest = most if lattice.bag.tf == "count" else term(lattice.bag.tf, most) ** 2
        each = lattice.scale**2 * largest
        if lattice.trellis is not None:
            return lattice.trellis.largest_sum(allowed, each) * tolerances.ROUND_UP
        by_choice = np.where(allowed, abs(lattice.option_counts) @ each, 0.0)
        total = float(np.maximum.reduceat(by_choice, lattice.first).sum())
        if lattice.pairs:
            pair_by_word = np.zeros(lattice.word_count)
            live = allowed[lattice.pairs.earlier] & allowed[lattice.pairs.later]
            np.maximum.at(
                pair_by_word,
                lattice.word_of[lattice.pairs.later[live]],
                each[lattice.pairs.feature[live]],
            )
            total += float(pair_by_word.sum())
        return total * tolerances.ROUND_UP

    # --- with a line of some slope in S in the place of the root ---

    def table(self, norm_slope: float) -> Floats:
        """What each count of each feature adds; infinite beyond the range."""
        return np.where(self.inside, self.linear_terms + norm_slope * self.square_terms, np.inf)

    def fixed_sum(self, norm_slope: float) -> float:
        """What the others add."""
        return self.fixed_linear + norm_slope * self.fixed_squares

    def scattered(self, values: Floats, others: float) -> Floats:
        """Values of the features that may count differently, among all of them."""
        every = np.full(len(self.lattice.columns), others)
        every[self.variable] = values
        return every

    def count_index(self, counts: Floats) -> Ints:
        """Where the counts of a text stand in the table; the nearest where it counts otherwise."""
        index = np.rint(counts[self.variable] - self.ranges.least[self.variable]).astype(np.int64)
        return np.clip(index, 0, self.last_index)

    # --- slopes of lines below ---

    def first_slopes(self, table: Floats, inherited: Floats) -> Floats:
        """From one end to the other where no line below is higher in between, else what was
        `given`.
        """
        inherited = inherited[self.variable]
        rows = np.arange(len(table))
        chord = (
            (table[rows, self.last_index] - table[:, 0]) / np.maximum(self.last_index, 1)
            if len(table)
            else np.zeros(0)
        )
        above_chord = table - table[:, :1] - chord[:, None] * (self.counts - self.counts[:, :1])
        chord_is_best = (
            above_chord.min(1, initial=0.0) >= -tolerances.LINE_GAP * self.instance.magnitude
        )
        return self._clamped(
            table,
            np.where(
                np.isnan(inherited) | (chord_is_best & ~self.restricted[self.variable]),
                chord,
                inherited,
            ),
        )

    def next_slopes(
        self, table: Floats, slopes: Floats, counts: Floats, shortfall: float
    ) -> Floats:
        """Slopes under which a text with these counts costs more, where so much is lacking."""
        balanced = self._balanced_slopes(table, slopes, self.count_index(counts))
        return self._clamped(table, balanced + self._count_correction(counts, shortfall))

    def _balanced_slopes(self, table: Floats, slopes: Floats, index: Ints) -> Floats:
        """Slopes moved towards those at which the minimiser's counts minimise their feature's term
        too.
        """
        rows = np.arange(len(table))
        last = self.last_index
        here = table[rows, index]
        up = np.where(index < last, table[rows, np.minimum(index + 1, last)] - here, np.inf)
        down = np.where(index > 0, here - table[rows, np.maximum(index - 1, 0)], -np.inf)
        convex = down <= up
        wanted = np.where(convex, np.clip(slopes, down, np.maximum(up, down)), slopes)
        return np.asarray(slopes + self.instance.settings.slope_step * (wanted - slopes))

    def _count_correction(self, counts: Floats, shortfall: float) -> Floats:
        """Changes of slopes: a text pays what is lacking for features that it counts too often or
        too rarely.
        """
        beyond = (counts - np.clip(counts, self.ranges.least, self.ranges.most))[self.variable]
        outside = np.flatnonzero(beyond)
        changes = np.zeros(len(beyond))
        changes[outside] = shortfall / len(outside) / beyond[outside] if len(outside) else 0.0
        return changes

    def _clamped(self, table: Floats, slopes: Floats) -> Floats:
        """Slopes of features that texts are split by, no farther beyond their steps than a checker
        takes them.
        """
        rows = np.flatnonzero(self.restricted[self.variable])
        if not len(rows):
            return slopes
        inside = self.inside[rows, 1:]
        steps = np.diff(np.where(self.inside, table, 0.0)[rows], axis=1)
        low = np.where(inside.any(1), np.where(inside, steps, np.inf).min(1, initial=np.inf), 0.0)
        high = np.where(
            inside.any(1), np.where(inside, steps, -np.inf).max(1, initial=-np.inf), 0.0
        )
        margin = (
            tolerances.SLOPE_MARGIN
            * self.instance.weight_magnitude
            / np.maximum(1.0, self.full_ranges.largest_count)
        )[self.variable[rows]]
        clamped = slopes.copy()
        clamped[rows] = np.clip(clamped[rows], low - margin, high + margin)
        return clamped

"""Features: what each feature adds to the form with every count that it may have, and slopes of lines below that."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from suffice.model.bag import term
from suffice.model.network import Bools, Floats, Ints
from suffice.prove.bag.case import Case
from suffice.prove.bag.ranges import Ranges

REACH = 0.0999  # of all that is added up: how far a slope goes beyond its steps, a little less than a checker takes


class Features:
    """The counts (wide, steps) of features that may count differently, and what these add; all others stand still.

    `within` narrows the texts to those that count so; features that it narrows are `split`.
    """

    def __init__(self, case: Case, allowed: Bools, within: Ranges | None) -> None:
        self.case, self.layout, self.allowed = case, case.layout, allowed
        self.whole = case.ranges(allowed)
        self.ranges = self.whole if within is None else self.whole.inside(within)
        least, most = self.ranges.least, self.ranges.most
        self.split = (least > self.whole.least) | (most < self.whole.most)  # texts may count otherwise
        self.wide = np.flatnonzero((most > least) | self.split)
        steps = int((most - least).max(initial=0.0))
        self.counts = least[self.wide, None] + np.arange(steps + 1)
        self.inside = self.counts <= most[self.wide, None]
        self.last = self.inside.sum(1) - 1
        self._wide_terms()
        self._still_terms()

    def _wide_terms(self) -> None:
        values = self.layout.scale[self.wide, None] * term(self.layout.bag.tf, self.counts)
        self.squares = values * values
        self.linear = self.case.weight[self.wide, None] * values
        if self.layout.bag.norm == "l1":
            self.linear = self.linear + self.case.bias * np.abs(values)

    def _still_terms(self) -> None:
        still = np.setdiff1d(np.arange(len(self.ranges.least)), self.wide)
        values = (self.layout.scale * term(self.layout.bag.tf, self.ranges.least))[still]
        self.still_linear = float(self.case.weight[still] @ values)
        self.still_squares = float((values**2).sum())
        if self.layout.bag.norm == "l1":
            self.still_linear += self.case.bias * float(np.abs(values).sum())

    @property
    def none(self) -> bool:
        """Whether there is no text that counts so."""
        return bool((self.ranges.least > self.ranges.most).any())

    @cached_property
    def span(self) -> tuple[float, float]:
        """Least and most S."""
        low = np.where(self.inside, self.squares, np.inf).min(1).sum() if len(self.wide) else 0.0
        high = np.where(self.inside, self.squares, 0.0).max(1).sum() if len(self.wide) else 0.0
        return self.still_squares + float(low), min(self.still_squares + float(high), self._room())

    def _room(self) -> float:
        """The most S, word by word: an occurrence of a feature adds no more than the most that one of them can."""
        layout, allowed, most = self.layout, self.allowed, np.maximum(self.ranges.most, -self.ranges.least)
        largest = most if layout.bag.tf == "count" else term(layout.bag.tf, most) ** 2
        each = layout.scale**2 * largest
        if layout.chain is not None:
            return layout.chain.largest(allowed, each) * (1.0 + 1e-12)
        alone = np.where(allowed, abs(layout.inner) @ each, 0.0)
        total = float(np.maximum.reduceat(alone, layout.first).sum())
        if layout.pairs:
            met = np.zeros(layout.size)
            live = allowed[layout.pairs.earlier] & allowed[layout.pairs.later]
            np.maximum.at(met, layout.slot[layout.pairs.later[live]], each[layout.pairs.feature[live]])
            total += float(met.sum())
        return total * (1.0 + 1e-12)

    # --- with a line of some slope in S in the place of the root ---

    def table(self, slope: float) -> Floats:
        """What each count of each feature adds; infinite beyond the range."""
        return np.where(self.inside, self.linear + slope * self.squares, np.inf)

    def still(self, slope: float) -> float:
        """What the others add."""
        return self.still_linear + slope * self.still_squares

    def everywhere(self, values: Floats, others: float) -> Floats:
        """Values of the features that may count differently, among all of them."""
        found = np.full(len(self.layout.columns), others)
        found[self.wide] = values
        return found

    def places(self, counts: Floats) -> Ints:
        """Where the counts of a text stand in the table; the nearest where it counts otherwise."""
        at = np.rint(counts[self.wide] - self.ranges.least[self.wide]).astype(np.int64)
        return np.clip(at, 0, self.last)

    # --- slopes of lines below ---

    def first_slopes(self, table: Floats, given: Floats) -> Floats:
        """From one end to the other where no line below is higher in between, else what was `given`."""
        given, rows = given[self.wide], np.arange(len(table))
        chord = (table[rows, self.last] - table[:, 0]) / np.maximum(self.last, 1) if len(table) else np.zeros(0)
        over = table - table[:, :1] - chord[:, None] * (self.counts - self.counts[:, :1])
        arched = over.min(1, initial=0.0) >= -1e-12 * self.case.scale
        return self._capped(table, np.where(np.isnan(given) | (arched & ~self.split[self.wide]), chord, given))

    def next_slopes(self, table: Floats, slopes: Floats, counts: Floats, lacking: float) -> Floats:
        """Slopes under which a text with these counts costs more, where so much is lacking."""
        mended = self._mended(table, slopes, self.places(counts))
        return self._capped(table, mended + self._pull(counts, lacking))

    def _mended(self, table: Floats, slopes: Floats, at: Ints) -> Floats:
        """Slopes that make the counts of the cheapest text cheapest for their feature too, halfway."""
        rows, last = np.arange(len(table)), self.last
        here = table[rows, at]
        up = np.where(at < last, table[rows, np.minimum(at + 1, last)] - here, np.inf)
        down = np.where(at > 0, here - table[rows, np.maximum(at - 1, 0)], -np.inf)
        convex = down <= up
        wanted = np.where(convex, np.clip(slopes, down, np.maximum(up, down)), slopes)
        return np.asarray(slopes + 0.6 * (wanted - slopes))

    def _pull(self, counts: Floats, lacking: float) -> Floats:
        """Changes of slopes: a text pays what is lacking for features that it counts too often or too rarely."""
        beyond = (counts - np.clip(counts, self.ranges.least, self.ranges.most))[self.wide]
        off = np.flatnonzero(beyond)
        found = np.zeros(len(beyond))
        found[off] = lacking / len(off) / beyond[off] if len(off) else 0.0
        return found

    def _capped(self, table: Floats, slopes: Floats) -> Floats:
        """Slopes of features that texts are split by, no farther beyond their steps than a checker takes them."""
        rows = np.flatnonzero(self.split[self.wide])
        if not len(rows):
            return slopes
        inside = self.inside[rows, 1:]
        steps = np.diff(np.where(self.inside, table, 0.0)[rows], axis=1)
        low = np.where(inside.any(1), np.where(inside, steps, np.inf).min(1, initial=np.inf), 0.0)
        high = np.where(inside.any(1), np.where(inside, steps, -np.inf).max(1, initial=-np.inf), 0.0)
        reach = (REACH * self.case.size / np.maximum(1.0, self.whole.largest))[self.wide[rows]]
        found = slopes.copy()
        found[rows] = np.clip(found[rows], low - reach, high + reach)
        return found

"""The cheapest text where neighbours count: a shortest path through the choices that are not empty."""

from __future__ import annotations

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.layout import Layout


def cheapest_path(layout: Layout, cost: Floats, prices: Floats, allowed: Bools) -> tuple[float, Ints]:
    """The least sum of the choices' costs and of the prices of the pairs that meet, and the choices.

    A place is the last choice that is not empty, 0 before the first one. What vanishes is free of cost, or its cost is
    added where it vanishes.
    """
    walk = _Walk(layout, cost, prices[layout.pairs.feature] * layout.pairs.sign)
    gone = _vanishing(layout, np.where(allowed, cost, np.inf))
    lasting = [choice if choice >= 0 else None for choice in gone.tolist()]
    live = (allowed & ~layout.empty).tolist()
    ends = layout.ends.tolist()
    for word, empty in enumerate(lasting):
        walk.at(ends[word], [c for c in range(ends[word], ends[word + 1]) if live[c]], empty)
    return walk.end(gone)


def counted_path(
    layout: Layout, cost: Floats, prices: Floats, allowed: Bools, reference: Ints, limit: int, exactly: bool
) -> tuple[float, Ints]:
    """The same, with at most (or exactly) so many choices other than the reference: places are kept by that number.

    Infinite where no text changes so many.
    """
    walk = _Count(layout, cost, prices[layout.pairs.feature] * layout.pairs.sign, reference, limit)
    gone = _vanishing(layout, np.where(allowed, cost, np.inf))
    live = allowed & ~layout.empty
    for word, empty in enumerate(gone.tolist()):
        start, end = int(layout.ends[word]), int(layout.ends[word + 1])
        walk.at(start, start + np.flatnonzero(live[start:end]), empty)
    return walk.end(gone, exactly)


def meeting(layout: Layout, paid: Floats, low: int, start: int, end: int) -> Floats:
    """What the choices of a word pay for standing after each earlier one from `low` on, 0 being the start."""
    first, last = layout.pairs.start[start], layout.pairs.start[end]
    meet = np.zeros((start + 1 - low, end - start))
    earlier = layout.pairs.earlier[first:last] + 1 - low
    near = earlier >= 0
    meet[earlier[near], layout.pairs.later[first:last][near] - start] = paid[first:last][near]
    return meet


def _vanishing(layout: Layout, priced: Floats) -> Ints:
    """The cheapest empty choice of each word, the first of equals, or -1."""
    priced = np.where(layout.empty, priced, np.inf)
    least = np.minimum.reduceat(priced, layout.first)
    hits = np.flatnonzero((priced == least[layout.slot]) & np.isfinite(priced))
    found = np.full(layout.size, -1, dtype=np.int64)
    found[layout.slot[hits][::-1]] = hits[::-1]
    return found


class _Walk:
    """Values are kept without what has vanished since: `passed` is the sum of that, the same for all places."""

    def __init__(self, layout: Layout, cost: Floats, pair_prices: Floats) -> None:
        self.layout, self.pair_prices = layout, pair_prices
        self.cost = cost.tolist()
        self.value = np.full(len(cost) + 1, np.inf)
        self.back = [0] * (len(cost) + 1)
        self.value[0] = 0.0
        self.base, self.passed = 0, 0.0
        self.least, self.where = 0.0, 0  # the cheapest place so far

    def at(self, start: int, choices: list[int], empty: int | None) -> None:
        """One word: arrive at its choices, and let it vanish or not."""
        new = [(choice, *self._arrive(choice, start + 1)) for choice in choices]
        if empty is None:
            self.value[self.base : start + 1] = np.inf
            self.base, self.least = start + 1, np.inf
        else:
            self.passed += self.cost[empty]
        shift = 0.0 if empty is None else self.cost[empty]
        for choice, value, before in new:
            kept = value - shift  # it did not vanish
            self.value[choice + 1], self.back[choice + 1] = kept, before
            if kept < self.least:
                self.least, self.where = kept, choice + 1

    def _arrive(self, choice: int, end: int) -> tuple[float, int]:
        first, last = self.layout.pairs.start[choice], self.layout.pairs.start[choice + 1]
        best, where = self.least, self.where
        if first < last:
            places = self.layout.pairs.earlier[first:last] + 1
            met = self.value[places] + self.pair_prices[first:last]
            at = int(met.argmin())
            if best < met[at] and where > 0 and places[min(int(places.searchsorted(where)), len(places) - 1)] == where:
                every = self.value[self.base : end].copy()  # the cheapest place is dearer to meet
                live = places >= self.base
                every[places[live] - self.base] = met[live]
                where = self.base + int(every.argmin())
                best = float(every[where - self.base])
            elif met[at] <= best:
                best, where = float(met[at]), int(places[at])
        return best + self.cost[choice], where

    def end(self, gone: Ints) -> tuple[float, Ints]:
        chosen = gone.copy()
        place = self.where
        while place:
            chosen[self.layout.slot[place - 1]] = place - 1
            place = self.back[place]
        return self.least + self.passed, chosen


class _Count:
    """Values by place and by how many words have changed; a place is out of reach once too many vanished after it."""

    def __init__(self, layout: Layout, cost: Floats, paid: Floats, reference: Ints, limit: int) -> None:
        self.layout, self.cost, self.paid = layout, cost, paid
        self.moved = reference[layout.slot] != np.arange(len(cost))
        self.value = np.full((len(cost) + 1, limit + 1), np.inf)
        self.back = np.zeros((len(cost) + 1, limit + 1), dtype=np.int64)
        self.value[0, 0] = 0.0
        self.low = 0

    def at(self, start: int, choices: Ints, empty: int) -> None:
        """One word: arrive at its choices, and let it vanish or not."""
        if len(choices):
            end = int(choices[-1]) + 1
            met = meeting(self.layout, self.paid, self.low, start, end)[:, choices - start]
            ways = self.value[self.low : start + 1, None] + met[:, :, None]
            arrived, before = ways.min(0) + self.cost[choices, None], self.low + ways.argmin(0)
            changed = self.moved[choices]
            self.value[choices[~changed] + 1], self.back[choices[~changed] + 1] = arrived[~changed], before[~changed]
            self.value[choices[changed] + 1, 1:] = arrived[changed, :-1]
            self.back[choices[changed] + 1, 1:] = before[changed, :-1]
        self._vanish(start + 1, empty)

    def _vanish(self, end: int, empty: int) -> None:
        """What stood before goes on with one word less, where it can."""
        before = self.value[self.low : end]
        if empty < 0:
            before[:] = np.inf
        elif self.moved[empty]:
            before[:, 1:], before[:, 0] = before[:, :-1] + self.cost[empty], np.inf
        else:
            before += self.cost[empty]
        reached = np.isfinite(before).any(1)
        self.low += int(reached.argmax()) if reached.any() else len(before)

    def end(self, gone: Ints, exactly: bool) -> tuple[float, Ints]:
        chosen, last = gone.copy(), self.value[self.low :]
        if exactly:
            last = last[:, -1:]
        if not np.isfinite(last).any():
            return np.inf, chosen
        row, column = np.unravel_index(int(last.argmin()), last.shape)
        place, layer = self.low + int(row), self.value.shape[1] - last.shape[1] + int(column)
        lost = np.concatenate([[0], np.cumsum(np.where(gone >= 0, self.moved[gone], False))])  # changes that vanish
        after = len(gone)
        while place:
            word = int(self.layout.slot[place - 1])
            chosen[word] = place - 1
            layer -= int(lost[after] - lost[word + 1])
            place, layer, after = int(self.back[place, layer]), layer - int(self.moved[place - 1]), word
        return float(last[row, column]), chosen

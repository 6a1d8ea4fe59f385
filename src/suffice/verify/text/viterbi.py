"""Shortest paths through an option lattice whose neighbours count: Viterbi with sparse exceptions.

A state is the last choice that is not empty. Leaving it for a later choice costs nothing but for
the pairs that are features, so arriving costs the best value so far or that of one of its pairs.

Method: Viterbi (theory, section 9).
"""

from __future__ import annotations

import numpy as np

from suffice import work
from suffice.model.network import Bools, Floats, Ints
from suffice.verify.text.lattice import OptionLattice


def shortest_path(
    lattice: OptionLattice, cost: Floats, prices: Floats, allowed: Bools
) -> tuple[float, Ints]:
    """The least sum of the choices' costs and of the prices of adjacent pairs, and the choices.

    A place is a state: the last choice that is not empty plus one, 0 before the first one.
    """
    work.count("trellis_passes")
    search = _Viterbi(lattice, cost, prices[lattice.pairs.feature] * lattice.pairs.sign)
    removals = _cheapest_removals(lattice, np.where(allowed, cost, np.inf))
    removal_by_word = [choice if choice >= 0 else None for choice in removals.tolist()]
    usable = (allowed & ~lattice.empty).tolist()
    ends = lattice.offsets.tolist()
    for word, removal in enumerate(removal_by_word):
        search.advance(
            ends[word], [c for c in range(ends[word], ends[word + 1]) if usable[c]], removal
        )
    return search.finish(removals)


def shortest_path_within(
    lattice: OptionLattice,
    cost: Floats,
    prices: Floats,
    allowed: Bools,
    reference: Ints,
    limit: int,
    exactly: bool,
) -> tuple[float, Ints]:
    """The same, with at most (or exactly) so many choices other than the reference: places are kept
    by that number.

    Infinite where no text changes so many.
    """
    work.count("trellis_passes")
    search = _CountingViterbi(
        lattice, cost, prices[lattice.pairs.feature] * lattice.pairs.sign, reference, limit
    )
    removals = _cheapest_removals(lattice, np.where(allowed, cost, np.inf))
    usable = allowed & ~lattice.empty
    for word, removal in enumerate(removals.tolist()):
        start = int(lattice.offsets[word])
        end = int(lattice.offsets[word + 1])
        search.advance(start, start + np.flatnonzero(usable[start:end]), removal)
    return search.finish(removals, exactly)


def transition_costs(
    lattice: OptionLattice, pair_costs: Floats, first_live: int, start: int, end: int
) -> Floats:
    """What the choices of a word pay for standing after each earlier one from `low` on, 0 being the
    start.
    """
    first = lattice.pairs.start_of_later[start]
    last = lattice.pairs.start_of_later[end]
    costs = np.zeros((start + 1 - first_live, end - start))
    earlier = lattice.pairs.earlier[first:last] + 1 - first_live
    in_reach = earlier >= 0
    costs[earlier[in_reach], lattice.pairs.later[first:last][in_reach] - start] = pair_costs[
        first:last
    ][in_reach]
    return costs


def _cheapest_removals(lattice: OptionLattice, choice_costs: Floats) -> Ints:
    """The cheapest empty choice of each word, the first of equals, or -1."""
    choice_costs = np.where(lattice.empty, choice_costs, np.inf)
    least = np.minimum.reduceat(choice_costs, lattice.first)
    hits = np.flatnonzero((choice_costs == least[lattice.word_of]) & np.isfinite(choice_costs))
    removals = np.full(lattice.word_count, -1, dtype=np.int64)
    removals[lattice.word_of[hits][::-1]] = hits[::-1]
    return removals


class _Viterbi:
    """Values by place, less `removed_cost`: the cost of the words removed so far, the same for all
    places.
    """

    def __init__(self, lattice: OptionLattice, cost: Floats, pair_prices: Floats) -> None:
        self.lattice = lattice
        self.pair_prices = pair_prices
        self.cost = cost.tolist()
        self.value = np.full(len(cost) + 1, np.inf)
        self.back = [0] * (len(cost) + 1)
        self.value[0] = 0.0
        self.first_live = 0
        self.removed_cost = 0.0
        # the least value so far and its place
        self.best_value = 0.0
        self.best_place = 0

    def advance(self, start: int, choices: list[int], removal: int | None) -> None:
        """One word: arrive at its choices, and let it vanish or not."""
        arrivals = [(choice, *self._arrival(choice, start + 1)) for choice in choices]
        if removal is None:
            self.value[self.first_live : start + 1] = np.inf
            self.first_live = start + 1
            self.best_value = np.inf
        else:
            self.removed_cost += self.cost[removal]
        shift = 0.0 if removal is None else self.cost[removal]
        for choice, value, before in arrivals:
            kept = value - shift  # it did not vanish
            self.value[choice + 1] = kept
            self.back[choice + 1] = before
            if kept < self.best_value:
                self.best_value = kept
                self.best_place = choice + 1

    def _arrival(self, choice: int, end: int) -> tuple[float, int]:
        first = self.lattice.pairs.start_of_later[choice]
        last = self.lattice.pairs.start_of_later[choice + 1]
        best = self.best_value
        best_place = self.best_place
        if first < last:
            places = self.lattice.pairs.earlier[first:last] + 1
            paired = self.value[places] + self.pair_prices[first:last]
            cheapest_pair = int(paired.argmin())
            if (
                best < paired[cheapest_pair]
                and best_place > 0
                and places[min(int(places.searchsorted(best_place)), len(places) - 1)] == best_place
            ):
                values = self.value[
                    self.first_live : end
                ].copy()  # the cheapest place is dearer to meet
                in_reach = places >= self.first_live
                values[places[in_reach] - self.first_live] = paired[in_reach]
                best_place = self.first_live + int(values.argmin())
                best = float(values[best_place - self.first_live])
            elif paired[cheapest_pair] <= best:
                best = float(paired[cheapest_pair])
                best_place = int(places[cheapest_pair])
        return best + self.cost[choice], best_place

    def finish(self, removals: Ints) -> tuple[float, Ints]:
        chosen = removals.copy()
        place = self.best_place
        while place:
            chosen[self.lattice.word_of[place - 1]] = place - 1
            place = self.back[place]
        return self.best_value + self.removed_cost, chosen


class _CountingViterbi:
    """Values by place and number of changed words; a place is dropped once too many were removed
    after it.
    """

    def __init__(
        self, lattice: OptionLattice, cost: Floats, pair_costs: Floats, reference: Ints, limit: int
    ) -> None:
        self.lattice = lattice
        self.cost = cost
        self.pair_costs = pair_costs
        self.moved = reference[lattice.word_of] != np.arange(len(cost))
        self.value = np.full((len(cost) + 1, limit + 1), np.inf)
        self.back = np.zeros((len(cost) + 1, limit + 1), dtype=np.int64)
        self.value[0, 0] = 0.0
        self.first_live = 0

    def advance(self, start: int, choices: Ints, removal: int) -> None:
        """One word: arrive at its choices, and let it vanish or not."""
        if len(choices):
            end = int(choices[-1]) + 1
            transitions = transition_costs(
                self.lattice, self.pair_costs, self.first_live, start, end
            )[:, choices - start]
            ways = self.value[self.first_live : start + 1, None] + transitions[:, :, None]
            arrived = ways.min(0) + self.cost[choices, None]
            before = self.first_live + ways.argmin(0)
            changed = self.moved[choices]
            self.value[choices[~changed] + 1], self.back[choices[~changed] + 1] = (
                arrived[~changed],
                before[~changed],
            )
            self.value[choices[changed] + 1, 1:] = arrived[changed, :-1]
            self.back[choices[changed] + 1, 1:] = before[changed, :-1]
        self._remove(start + 1, removal)

    def _remove(self, end: int, removal: int) -> None:
        """What stood before goes on with one word less, where it can."""
        before = self.value[self.first_live : end]
        if removal < 0:
            before[:] = np.inf
        elif self.moved[removal]:
            before[:, 1:] = before[:, :-1] + self.cost[removal]
            before[:, 0] = np.inf
        else:
            before += self.cost[removal]
        reached = np.isfinite(before).any(1)
        self.first_live += int(reached.argmax()) if reached.any() else len(before)

    def finish(self, removals: Ints, exactly: bool) -> tuple[float, Ints]:
        chosen = removals.copy()
        last = self.value[self.first_live :]
        if exactly:
            last = last[:, -1:]
        if not np.isfinite(last).any():
            return np.inf, chosen
        row, column = np.unravel_index(int(last.argmin()), last.shape)
        place = self.first_live + int(row)
        layer = self.value.shape[1] - last.shape[1] + int(column)
        removed_changes = np.concatenate(
            [[0], np.cumsum(np.where(removals >= 0, self.moved[removals], False))]
        )  # changes that vanish
        after = len(removals)
        while place:
            word = int(self.lattice.word_of[place - 1])
            chosen[word] = place - 1
            layer -= int(removed_changes[after] - removed_changes[word + 1])
            place, layer, after = (
                int(self.back[place, layer]),
                layer - int(self.moved[place - 1]),
                word,
            )
        return float(last[row, column]), chosen

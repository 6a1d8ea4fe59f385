"""The knapsack of a budget: which words to take where each has a gain and a cost.

Method: Dantzig's fractional knapsack, and reduced-cost fixing in it (theory, section 6, Lemma 7).
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.settings import Branching
from suffice.verify.nets.input_sets.chunks import mask_of_lowest, quantised, sum_of_lowest
from suffice.verify.nets.input_sets.shared_rows import SharedRows


class Knapsack:
    """Which `optional` words (n, length) to take when each has a gain (at most 0) and a cost
    (length,).

    `budget` (n,) limits the cost of what is taken; the last word may be taken in part."""

    optional: Bools
    costs: Floats
    budget: Floats

    @cached_property
    def equal_costs(self) -> bool:
        return bool((self.costs == self.costs[0]).all())

    def knapsack_min(self, gains: Floats, shared: SharedRows | None = None) -> Floats:
        """The least sum (n, r) of gains (n, r, length) within the budget: the fractional knapsack's
        value.

        Gains of `shared` rows are those of the words that each row sees.
        """
        gains = np.minimum(gains, 0.0) * self._affordable_mask(shared)
        if self.equal_costs:  # equal costs: just the lowest few, without an argsort
            return sum_of_lowest(gains, self._affordable_count)
        costs = (
            self.costs
            if shared is None
            else np.broadcast_to(shared.gathered(self.costs), gains.shape[1:])
        )
        order, fractions = self._greedy_order(gains, np.where(costs > 0, costs, 1.0))
        return np.asarray((np.take_along_axis(gains, order, -1) * fractions).sum(-1))

    def knapsack_argmin(self, gains: Floats) -> Floats:
        """The fractional knapsack's solution (n, length) in [0, 1] for gains (n, length)."""
        gains = quantised(np.minimum(gains, 0.0)[:, None] * self.affordable[:, None])
        if self.equal_costs:
            return mask_of_lowest(gains[:, 0], self._affordable_count)
        order, fractions = self._greedy_order(gains, self.costs)
        found = np.zeros_like(gains)
        np.put_along_axis(found, order, fractions, axis=-1)
        return np.asarray(found[:, 0] * (gains[:, 0] < 0))

    def forced(self, gains: Floats, gap: float) -> Ints:
        """The words of a single set without which the least sum of gains (length,) would rise by
        more than `gap`.

        Largest reduced costs first. The first word that the budget cannot buy whole sets the rate,
        gain per cost, at which the others would be replaced.
        """
        rate = np.where(self.affordable[0], np.minimum(gains, 0.0), 0.0) / self.costs
        order = np.argsort(rate, kind="stable")
        taken_whole = np.cumsum(self.costs[order]) <= self.budget[0]
        replacement_rate = rate[order[~taken_whole]].min(initial=0.0)
        increase = np.where(taken_whole, (replacement_rate - rate[order]) * self.costs[order], 0.0)
        return order[np.argsort(-increase, kind="stable")[: np.count_nonzero(increase > gap)]]

    @cached_property
    def affordable(self) -> Bools:
        """The words (n, length) that can still be taken."""
        return np.asarray(self.optional & (self.costs <= self.budget[:, None]))

    def _affordable_mask(self, shared: SharedRows | None) -> Floats:
        """The words that can still be taken, as ones, in the shape of gains."""
        return (
            self.affordable[:, None].astype(np.float64)
            if shared is None
            else shared.gathered(self.affordable)
        )

    @cached_property
    def _affordable_count(self) -> Floats:
        return np.asarray(np.floor(self.budget / self.costs[0]))

    def _greedy_order(self, gains: Floats, costs: Floats) -> tuple[Ints, Floats]:
        """The order in which words are taken, best gain for cost first, and the fraction taken of
        each."""
        order = np.argsort(gains / costs, axis=-1, kind="stable")
        ordered = np.take_along_axis(np.broadcast_to(costs, gains.shape), order, -1)
        spent_before = np.cumsum(ordered, axis=-1) - ordered
        return order, np.clip((self.budget[:, None, None] - spent_before) / ordered, 0.0, 1.0)


def few_enough(bits: float, open_relus: int, settings: Branching) -> bool:
    """Whether trying all combinations of words, of which there are 2**bits, promises more than
    splitting so many relus.
    """
    return bits <= settings.word_bits_per_relu * open_relus


def log2_affordable_subsets(words: Bools, budget: float, costs: Floats) -> float:
    """About log2 of how many sets of these words the budget buys, as if all cost what the cheapest
    does."""
    count = int(words.sum())
    most = int(budget // costs[words].min(initial=np.inf))
    return math.log2(max(1, math.comb(count, min(most, count))))

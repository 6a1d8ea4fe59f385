"""Budgeted: which words to take where each has a gain and a cost, and the budget is limited."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.inputs.numbers import lowest, lowest_sum, steady
from suffice.prove.inputs.shared import Shared

TINY = 1e-300  # a gain below this is none


class Budgeted:
    """Which of the `open` words (n, length) to take when each has a gain, a cost, and the budget (n,) is limited."""

    open: Bools
    cost: Floats
    budget: Floats

    @cached_property
    def uniform(self) -> bool:
        return bool((self.cost == self.cost[0]).all())

    def least(self, gains: Floats, shared: Shared | None = None) -> Floats:
        """The least sum of gains (n, r, length) that the budget buys: a fractional knapsack.

        Gains of `shared` rows are those of the words that each row sees.
        """
        gains = np.minimum(gains, 0.0) * self._marks(shared)
        if self.uniform:  # equal costs: just the lowest few, without an argsort
            return lowest_sum(gains, self._count)
        cost = self.cost if shared is None else np.broadcast_to(shared.seen(self.cost), gains.shape[1:])
        order, taken = self._knapsack(gains, np.where(cost > 0, cost, 1.0))
        return np.asarray((np.take_along_axis(gains, order, -1) * taken).sum(-1))

    def bought(self, gains: Floats) -> Floats:
        """Which words (n, length) that takes, the last one perhaps in part, for gains (n, length)."""
        gains = steady(np.minimum(gains, 0.0)[:, None] * self.buyable[:, None])
        if self.uniform:
            return lowest(gains[:, 0], self._count)
        order, taken = self._knapsack(gains, self.cost)
        share = np.zeros_like(gains)
        np.put_along_axis(share, order, taken, axis=-1)
        return np.asarray(share[:, 0] * (gains[:, 0] < 0))

    def needed(self, gains: Floats, room: float) -> Ints:
        """The words of a single set without which the least sum of gains (length,) would rise by more than `room`.

        Those come first that it needs most. The first word that the budget cannot buy whole sets the price at which the
        others would be replaced.
        """
        rate = np.where(self.buyable[0], np.minimum(gains, 0.0), 0.0) / self.cost
        order = np.argsort(rate, kind="stable")
        bought = np.cumsum(self.cost[order]) <= self.budget[0]
        price = rate[order[~bought]].min(initial=0.0)
        rise = np.where(bought, (price - rate[order]) * self.cost[order], 0.0)
        return order[np.argsort(-rise, kind="stable")[: np.count_nonzero(rise > room)]]

    @cached_property
    def buyable(self) -> Bools:
        """The words (n, length) that can still be taken."""
        return np.asarray(self.open & (self.cost <= self.budget[:, None]))

    def _marks(self, shared: Shared | None) -> Floats:
        """The words that can still be taken, as ones, in the shape of gains."""
        return self.buyable[:, None].astype(np.float64) if shared is None else shared.seen(self.buyable)

    @cached_property
    def _count(self) -> Floats:
        return np.asarray(np.floor(self.budget / self.cost[0]))

    def _knapsack(self, gains: Floats, costs: Floats) -> tuple[Ints, Floats]:
        """The order in which words are taken, best value for cost first, and the share taken of each."""
        order = np.argsort(gains / costs, axis=-1, kind="stable")
        cost = np.take_along_axis(np.broadcast_to(costs, gains.shape), order, -1)
        before = np.cumsum(cost, axis=-1) - cost
        return order, np.clip((self.budget[:, None, None] - before) / cost, 0.0, 1.0)


def ways(words: Bools, budget: float, cost: Floats) -> float:
    """The logarithm of how many sets of these words the budget buys, about."""
    count, bought = int(words.sum()), int(budget // cost[words].min(initial=np.inf))
    return math.log2(max(1, math.comb(count, min(bought, count))))

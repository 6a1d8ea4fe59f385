"""Turning: the cheapest change that flips the label of a black box; sets of words are asked in the order of cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice

from suffice.model.text import Change
from suffice.prove.asked import Flip, OutOfBudget
from suffice.search.asking import Asking, Turning
from suffice.search.covers import bits, price
from suffice.search.greedy import attack

PART = 512  # changes written at a time


def cheapest_turn(asking: Asking, rival: int | None = None) -> Turning:
    """Ask the sets of words in the order of their cost: the first that flips is the cheapest."""
    hunt = _Turn(asking, rival)
    try:
        return hunt.run()
    except OutOfBudget as spent:
        return hunt.ended(str(spent))
    except KeyboardInterrupt:
        return hunt.ended("interrupted")


class _Turn:
    def __init__(self, asking: Asking, rival: int | None) -> None:
        self.asking, self.asked, self.rival = asking, asking.asked, rival
        self.best: Flip | None = None
        self.lower, self.doubt = 0, math.inf

    def run(self) -> Turning:
        base = self.asked.margins([()], self.rival)
        if base[0] <= 0:
            return Turning("optimal", self.asked.flip((), self.rival), 0)
        if math.isnan(base[0]):
            return Turning("unknown", None, 0, "the text itself is too close to call")
        self._better(attack(self.asked, bits(self.asked.movable), self.rival))
        sets = by_cost(bits(self.asked.movable), self.asking.costs, self.asked.limit)
        changes = ((cost, change) for cost, words in sets for change in self.asked.changes(words))
        while part := list(islice(changes, PART)):
            self.lower = part[0][0]
            if self.lower >= self.upper:
                return self.ended("")
            self._ask([(cost, change) for cost, change in part if cost < self.upper])
        self.lower = int(min(self.upper, 10**18))
        return self.ended("")

    @property
    def upper(self) -> float:
        return math.inf if self.best is None else price(self.best.mask, self.asking.costs)

    def _ask(self, part: Sequence[tuple[int, Change]]) -> None:
        margins = self.asked.margins([change for _, change in part], self.rival)
        for (cost, change), margin in zip(part, margins, strict=True):
            if math.isnan(margin):
                self.doubt = min(self.doubt, cost)
            elif margin <= 0 and cost < self.upper:
                self._better(self.asked.flip(change, self.rival))

    def _better(self, flip: Flip | None) -> None:
        if flip is not None and price(flip.mask, self.asking.costs) < self.upper:
            self.best = flip
            self.asking.best = flip.mask
            self.asking.lower = self.lower
            self.asking.report()

    def ended(self, reason: str) -> Turning:
        upper, lower = self.upper, int(min(self.lower, self.doubt))
        close = "a text is too close to call" if self.doubt < upper and not reason else ""
        if self.best is not None:
            sure = not reason and self.doubt >= upper
            return Turning("optimal" if sure else "found", self.best, int(upper) if sure else lower, reason or close)
        return Turning("unknown" if reason or close else "none", None, lower, reason or close)


def by_cost(words: Sequence[int], costs: Sequence[int], limit: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Every set of one to `limit` words with its cost, the cheapest first."""
    order = sorted(words, key=lambda i: (costs[i], i))
    heap: list[tuple[int, tuple[int, ...]]] = [(costs[order[0]], (0,))] if order and limit > 0 else []
    while heap:
        cost, places = heappop(heap)
        yield cost, tuple(sorted(order[i] for i in places))
        last = places[-1] + 1
        if last < len(order):
            step = costs[order[last]]
            heappush(heap, (cost + step - costs[order[places[-1]]], (*places[:-1], last)))
            if len(places) < limit:
                heappush(heap, (cost + step, (*places, last)))

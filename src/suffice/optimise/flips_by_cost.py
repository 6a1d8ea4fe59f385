"""The cheapest change that flips the label of a black box: sets of words in the order of their
cost.

Method: enumeration by cost (theory, section 12).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice

from suffice.model.text import Change
from suffice.optimise.cost import NO_BOUND
from suffice.optimise.greedy_flip import greedy_attack
from suffice.optimise.min_cost_hitting_set import bits, mask_cost
from suffice.optimise.query_search import FlipResult, QuerySearch
from suffice.settings import RESOURCES
from suffice.verify.queries import ObservedFlip, OutOfBudget


def cheapest_flip_by_cost(query_search: QuerySearch, rival: int | None = None) -> FlipResult:
    """Ask the sets of words in the order of their cost: the first that flips is the cheapest."""
    search = _CostOrderSearch(query_search, rival)
    try:
        return search.run()
    except OutOfBudget as spent:
        return search.result(str(spent))
    except KeyboardInterrupt:
        return search.result("interrupted")


class _CostOrderSearch:
    def __init__(self, search: QuerySearch, rival: int | None) -> None:
        self.search = search
        self.session = search.session
        self.rival = rival
        self.best: ObservedFlip | None = None
        self.lower = 0
        self.doubt_cost = math.inf

    def run(self) -> FlipResult:
        own_margin = self.session.margins([()], self.rival)
        if own_margin[0] <= 0:
            return FlipResult("optimal", self.session.observed_flip((), self.rival), 0)
        if math.isnan(own_margin[0]):
            return FlipResult("unknown", None, 0, "the text itself is too close to call")
        self._improve(greedy_attack(self.session, bits(self.session.movable), self.rival))
        sets = sets_by_cost(
            bits(self.session.movable), self.search.costs, self.session.most_changes
        )
        changes = ((cost, change) for cost, words in sets for change in self.session.changes(words))
        while chunk := list(islice(changes, RESOURCES.changes_at_once)):
            self.lower = chunk[0][0]
            if self.lower >= self.upper:
                return self.result("")
            self._ask([(cost, change) for cost, change in chunk if cost < self.upper])
        self.lower = int(min(self.upper, NO_BOUND))
        return self.result("")

    @property
    def upper(self) -> float:
        return math.inf if self.best is None else mask_cost(self.best.mask, self.search.costs)

    def _ask(self, chunk: Sequence[tuple[int, Change]]) -> None:
        margins = self.session.margins([change for _, change in chunk], self.rival)
        for (cost, change), margin in zip(chunk, margins, strict=True):
            if math.isnan(margin):
                self.doubt_cost = min(self.doubt_cost, cost)
            elif margin <= 0 and cost < self.upper:
                self._improve(self.session.observed_flip(change, self.rival))

    def _improve(self, flip: ObservedFlip | None) -> None:
        if flip is not None and mask_cost(flip.mask, self.search.costs) < self.upper:
            self.best = flip
            self.search.best = flip.mask
            self.search.lower = self.lower
            self.search.report()

    def result(self, reason: str) -> FlipResult:
        upper = self.upper
        lower = int(min(self.lower, self.doubt_cost))
        close = "a text is too close to call" if self.doubt_cost < upper and not reason else ""
        if self.best is not None:
            proved = not reason and self.doubt_cost >= upper
            return FlipResult(
                "optimal" if proved else "found",
                self.best,
                int(upper) if proved else lower,
                reason or close,
            )
        return FlipResult("unknown" if reason or close else "none", None, lower, reason or close)


def sets_by_cost(
    words: Sequence[int], costs: Sequence[int], limit: int
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Every set of one to `limit` words with its cost, the cheapest first."""
    order = sorted(words, key=lambda i: (costs[i], i))
    heap: list[tuple[int, tuple[int, ...]]] = (
        [(costs[order[0]], (0,))] if order and limit > 0 else []
    )
    while heap:
        cost, places = heappop(heap)
        yield cost, tuple(sorted(order[i] for i in places))
        last = places[-1] + 1
        if last < len(order):
            step = costs[order[last]]
            heappush(heap, (cost + step - costs[order[places[-1]]], (*places[:-1], last)))
            if len(places) < limit:
                heappush(heap, (cost + step, (*places, last)))

"""The search: candidates are the cheapest sets by the rules; each is proved, or teaches more of them."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.model.network import Floats
from suffice.prove.asked import Flip
from suffice.prove.ceiling import fits
from suffice.search.covers import price
from suffice.search.opened.ceilings import lift_bounds
from suffice.search.opened.known import Known
from suffice.search.opened.rules import cheapest_kept
from suffice.search.opened.shares import relax

PATIENCE = 0.2  # seconds for the next candidate, at first
SHORT = 60  # words up to which candidates alone are quick


@dataclass(eq=False)
class Opened(Known):
    """The cheapest set of words that is enough."""

    def start(self) -> None:
        """Does the text itself keep its label clearly, and is everything that may be held enough?"""
        base = self.asked.margins([()])
        if base[0] <= 0:
            self.flips.append(self.asked.flip(()))
        self._doubt([()], base)
        if base[0] > 0:
            flip = self.decide(self.everything)
            if flip is not None:  # of excluded words only
                self.flips.append(flip)

    def _search(self) -> str:
        """Candidates are cheapest by the rules, or nearly so while the solver is slow; each is proved or teaches."""
        patience, neighbours = PATIENCE, self.lessons.neighbours
        if self.best is not None and neighbours and fits(self.worst.whole(self.worst.order[0]), self.costs):
            lift_bounds(self)
        if self.closed():
            return ""
        if neighbours and self.asked.movable.bit_count() > SHORT:
            relax(self)
        while True:
            held = self.next_candidate(patience)
            if self.doubts and held is None:
                return "" if self.closed() else self.closeness()
            if held is None and self.best is not None:
                self.lower = price(self.best, self.costs)
            if held is None or self.closed():
                return ""
            self.report()
            patience = PATIENCE if self._news(held) else 2.0 * patience

    def _news(self, held: int) -> bool:
        """Whether looking at a candidate brought anything new."""
        known = self.proof(held)
        if known is not None:
            self.keep(held, known)
            return False
        flip = self._look(held)
        if flip is not None:
            self.flips.append(flip)
        return True

    def next_candidate(self, patience: float) -> int | None:
        """A set cheaper than the best one that keeps every rule, the cheapest if that is found in time.

        None where there is none.
        """
        sure = self.sure()
        rules = [*sure, *map(self.clause, self.doubts)]
        below = None if self.best is None else price(self.best, self.costs)
        found = None
        while found is None:
            found, lower = self._solved(rules, patience, below)
            bound = self._solved(sure, patience, below)[1] if self.doubts else lower
            self.lower = max(self.lower, bound or 0)
            if lower is None:
                return None
            patience *= 2.0
        return found

    def _solved(
        self, rules: list[tuple[Floats, float]], patience: float, below: int | None
    ) -> tuple[int | None, int | None]:
        self.asked.meter.look()
        seconds = min(patience, self.asked.meter.budget.left)
        return cheapest_kept(rules, self.costs, self.include, self.exclude, seconds, below)

    def _look(self, held: int) -> Flip | None:
        flip = self.decide(held)
        if flip is not None and len(self.flips) % 4 == 0:  # some explanation in the meantime, and more rules
            self.greedy(held)
        return flip

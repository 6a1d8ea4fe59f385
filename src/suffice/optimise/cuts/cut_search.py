"""CutSearch: candidates of the master problem are proved by their worst case, or give further cuts.

Method: cutting planes (theory, section 8).
"""

from __future__ import annotations

from dataclasses import dataclass

from suffice.model.network import Floats
from suffice.optimise.cuts.cut import solve_master
from suffice.optimise.cuts.lp_loop import raise_by_lp
from suffice.optimise.cuts.majorant_bounds import raise_by_majorants
from suffice.optimise.cuts.pool import CutPool
from suffice.optimise.min_cost_hitting_set import mask_cost
from suffice.verify.queries import ObservedFlip
from suffice.verify.text.majorants import is_affordable


@dataclass(eq=False)
class CutSearch(CutPool):
    """The cheapest set of words that is enough."""

    def start(self) -> None:
        """Does the text itself keep its label clearly, and is everything that may be
        held enough?
        """
        base = self.session.margins([()])
        if base[0] <= 0:
            self.flips.append(self.session.observed_flip(()))
        self._record_doubts([()], base)
        if base[0] > 0:
            flip = self.decide(self.everything)
            if flip is not None:  # of excluded words only
                self.flips.append(flip)

    def _search(self) -> str:
        """Candidates are cheapest by the cuts, or nearly so while the solver needs many nodes; each
        is proved or teaches.
        """
        nodes = self.settings.master_nodes
        uses_neighbours = self.separator.uses_neighbours
        if (
            self.best is not None
            and uses_neighbours
            and is_affordable(
                self.worst_case.full_instance(self.worst_case.rival_order[0]), self.costs
            )
        ):
            raise_by_majorants(self)
        if self.gap_closed():
            return ""
        if uses_neighbours and self.session.movable.bit_count() > self.settings.lp_from_words:
            raise_by_lp(self)
        while True:
            held = self.next_candidate(nodes)
            if self.doubtful_sets and held is None:
                return "" if self.gap_closed() else self.doubt_reason()
            if held is None and self.best is not None:
                self.lower = mask_cost(self.best, self.costs)
            if held is None or self.gap_closed():
                return ""
            self.report()
            nodes = self.settings.master_nodes if self._decide_candidate(held) else 2 * nodes

    def _decide_candidate(self, held: int) -> bool:
        """Whether looking at a candidate brought anything new."""
        proof = self.proof(held)
        if proof is not None:
            self.record_proof(held, proof)
            return False
        flip = self._examine(held)
        if flip is not None:
            self.flips.append(flip)
        return True

    def next_candidate(self, nodes: int) -> int | None:
        """A set cheaper than the best one that keeps every cut, the cheapest if so many nodes are
        enough to find it.

        None where there is none.
        """
        valid = self.valid_cuts()
        cuts = [*valid, *map(self.clause, self.doubtful_sets)]
        below = None if self.best is None else mask_cost(self.best, self.costs)
        found = None
        while found is None:
            found, lower = self._solve_master(cuts, nodes, below)
            bound = self._solve_master(valid, nodes, below)[1] if self.doubtful_sets else lower
            self.lower = max(self.lower, bound or 0)
            if lower is None:
                return None
            nodes *= 2
        return found

    def _solve_master(
        self, cuts: list[tuple[Floats, float]], nodes: int, below: int | None
    ) -> tuple[int | None, int | None]:
        self.session.meter.check_time()
        seconds = self.session.meter.budget.seconds_left
        return solve_master(cuts, self.costs, self.include, self.exclude, nodes, seconds, below)

    def _examine(self, held: int) -> ObservedFlip | None:
        flip = self.decide(held)
        if (
            flip is not None and len(self.flips) % self.settings.grow_every == 0
        ):  # some explanation in the meantime, and more rules
            self.grow_sufficient(held)
        return flip

"""The flip that changes the fewest words, proved by worst cases with a limit on changes.

Method: counted shortest paths (theory, sections 9 and 10).
"""

from __future__ import annotations

from dataclasses import replace

from suffice.optimise.cost import NO_BOUND
from suffice.optimise.cuts.pool import CutPool
from suffice.optimise.cuts.shrink_attack import shrink_attack
from suffice.optimise.query_search import FlipResult
from suffice.verify.queries import ObservedFlip, OutOfBudget
from suffice.verify.text.norm_form import InstanceUnknown
from suffice.verify.text.worst_case import SetProved


def fewest_changes(search: CutPool, rival: int | None = None) -> FlipResult:
    """The flip that changes the fewest words, where all words cost the same: proved by worst cases
    with a limit.
    """
    session = search.session
    unit = search.costs[0]
    best: ObservedFlip | None = None
    try:
        own_margin = session.margins([()], rival)
        if own_margin[0] <= 0:
            return FlipResult("optimal", session.observed_flip((), rival), 0)
        limit = session.most_changes
        while True:
            verdict = search.worst_case.decide_changes(limit, rival, search.checked_budget())
            if isinstance(verdict, InstanceUnknown):
                return _flip_result(best, unit, verdict.reason)
            if isinstance(verdict, SetProved):
                result = (
                    FlipResult("none", None, NO_BOUND)
                    if best is None
                    else _flip_result(best, unit, "")
                )
                return replace(result, proof=(limit, verdict))
            flip = search.observed(
                shrink_attack(search.worst_case, verdict), rival
            ) or search.observed(verdict.chosen, rival)
            if flip is None:
                return _flip_result(best, unit, "a text is too close to call")
            best = flip
            limit = len(flip.change) - 1
            search.lower = unit
            search.best = flip.mask
            search.report()
            if limit == 0:
                return _flip_result(best, unit, "")
    except OutOfBudget as spent:
        return _flip_result(best, unit, str(spent))
    except KeyboardInterrupt:
        return _flip_result(best, unit, "interrupted")


def _flip_result(best: ObservedFlip | None, unit: int, reason: str) -> FlipResult:
    if best is None:
        return FlipResult("unknown", None, unit, reason)
    cost = unit * len(best.change)
    return FlipResult("found", best, unit, reason) if reason else FlipResult("optimal", best, cost)

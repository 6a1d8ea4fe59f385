"""The flip that changes the fewest words, proved by worst cases with a limit."""

from __future__ import annotations

from dataclasses import replace

from suffice.prove.asked import Flip, OutOfBudget
from suffice.prove.bag import Open
from suffice.prove.worst import Enough
from suffice.search.asking import Turning
from suffice.search.opened.failing import smaller
from suffice.search.opened.known import Known


def fewest_changes(search: Known, rival: int | None = None) -> Turning:
    """The flip that changes the fewest words, where all words cost the same: proved by worst cases with a limit."""
    asked, unit = search.asked, search.costs[0]
    best: Flip | None = None
    try:
        base = asked.margins([()], rival)
        if base[0] <= 0:
            return Turning("optimal", asked.flip((), rival), 0)
        limit = asked.limit
        while True:
            found = search.worst.within(limit, rival, search.budget())
            if isinstance(found, Open):
                return _turning(best, unit, found.reason)
            if isinstance(found, Enough):
                ended = Turning("none", None, 10**18) if best is None else _turning(best, unit, "")
                return replace(ended, proof=(limit, found))
            flip = search.run(smaller(search.worst, found), rival) or search.run(found.chosen, rival)
            if flip is None:
                return _turning(best, unit, "a text is too close to call")
            best, limit = flip, len(flip.change) - 1
            search.lower, search.best = unit, flip.mask
            search.report()
            if limit == 0:
                return _turning(best, unit, "")
    except OutOfBudget as spent:
        return _turning(best, unit, str(spent))
    except KeyboardInterrupt:
        return _turning(best, unit, "interrupted")


def _turning(best: Flip | None, unit: int, reason: str) -> Turning:
    if best is None:
        return Turning("unknown", None, unit, reason)
    cost = unit * len(best.change)
    return Turning("found", best, unit, reason) if reason else Turning("optimal", best, cost)

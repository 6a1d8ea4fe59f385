"""Both bounds by lines above and below the margin, where what a word adds hangs on its neighbours."""

from __future__ import annotations

from itertools import chain

from suffice.prove.ceiling import Lift, Split, Tree, Wanted
from suffice.search.covers import mask_of
from suffice.search.opened.known import Known
from suffice.search.opened.shares import RELAXED

LIFTS, MIXED, SPLITS = 4, 6, 30  # ceilings one by one, mixtures of them in a row, and splits of the sets


def lift_bounds(search: Known) -> None:
    """Both bounds by lines above and below the margin: the best set of every cost, at once."""
    wanted = Wanted(search.costs, search.mask(search.include), search.mask(search.exclude))
    lifts = {rival: Lift(search.worst.whole(rival), wanted) for rival in search.worst.order}
    floors: dict[int, list[int]] = {}
    seem: list[int] = []
    for _ in range(LIFTS):
        for rival, lift in lifts.items():
            found, words = lift.above(search.upper)
            if found.lower > search.lower:
                search.lower, search.ceiling = found.lower, (rival, found)
            search.try_out(words)
            floors[rival] = lift.below(search.upper) or floors.get(rival, [])
            seem = sorted({*chain.from_iterable(floors.values())})  # enough against every rival seen so far
            search.try_out(seem)
            search.budget()
            if search.closed():
                return
    search.greedy(mask_of(seem) | search.include)  # something is to be proved before time goes into the lower bound
    search.trim(0.8 * search.budget().left)
    until = (1.0 - RELAXED) * search.budget().left if len(lifts) > 1 else 0.0  # rules are about all rivals at once
    for rival, lift in lifts.items():
        while lift.lower == search.lower and _raised(search, rival, lift, until) and not search.closed():
            pass


def _raised(search: Known, rival: int, lift: Lift, until: float) -> bool:
    """Raise the lower bound by one, by mixtures of ceilings for parts of the sets of words."""
    below = search.lower + 1
    found = _mixed(search, lift, below, [SPLITS], until)
    if found is not None:
        search.lower, search.ceiling = below, (rival, found)
        lift.lower = below
    return found is not None


def _mixed(search: Known, lift: Lift, below: int, left: list[int], until: float) -> Tree | None:
    """Ceilings for all sets that cost less than this; None where they are not found, or a set is enough."""
    for _ in range(MIXED):
        if search.budget().left < until:
            return None
        found, words = lift.mixed(below)
        if words is None:
            return found
        search.try_out(words)
        if search.closed():
            return None
    halves = lift.halves() if left[0] > 0 else None
    if halves is None:
        return None
    left[0] -= 1
    word, with_it, without = halves
    held = _mixed(search, with_it, below, left, until)
    out = None if held is None else _mixed(search, without, below, left, until)
    return None if held is None or out is None else Split(word, held, out)

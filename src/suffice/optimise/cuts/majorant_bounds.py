"""Both bounds by majorants and minorants of the margin, where a word's effect depends on
neighbours.

Method: Lagrangian dual over majorants (theory, section 8).
"""

from __future__ import annotations

from itertools import chain

from suffice.optimise.cuts.lp_loop import LP_SHARE
from suffice.optimise.cuts.pool import CutPool
from suffice.optimise.min_cost_hitting_set import mask_of
from suffice.verify.text.majorants import (
    MajorantGenerator,
    MajorantSplit,
    MajorantTree,
    SetConstraints,
)

SINGLE_ROUNDS, MIX_ROUNDS, MOST_SPLITS = (
    4,
    6,
    30,
)  # ceilings one by one, mixtures of them in a row, and splits of the sets


def raise_by_majorants(search: CutPool) -> None:
    """Both bounds by lines above and below the margin: the best set of every cost, at once."""
    constraints = SetConstraints(
        search.costs, search.mask(search.include), search.mask(search.exclude)
    )
    generators = {
        rival: MajorantGenerator(search.worst_case.full_instance(rival), constraints)
        for rival in search.worst_case.rival_order
    }
    minorant_sets: dict[int, list[int]] = {}
    seemingly_sufficient: list[int] = []
    for _ in range(SINGLE_ROUNDS):
        for rival, generator in generators.items():
            mix, words = generator.add_majorant(search.upper)
            if mix.lower > search.lower:
                search.lower = mix.lower
                search.majorants = (rival, mix)
            search.try_set(words)
            minorant_sets[rival] = generator.cheapest_by_minorant(
                search.upper
            ) or minorant_sets.get(rival, [])
            # enough against every rival seen so far
            seemingly_sufficient = sorted({*chain.from_iterable(minorant_sets.values())})
            search.try_set(seemingly_sufficient)
            search.checked_budget()
            if search.gap_closed():
                return
    # something is to be proved before time goes into the lower bound
    search.grow_sufficient(mask_of(seemingly_sufficient) | search.include)
    search.delete_words(0.8 * search.checked_budget().seconds_left)
    until = (
        (1.0 - LP_SHARE) * search.checked_budget().seconds_left if len(generators) > 1 else 0.0
    )  # rules are about all rivals at once
    for rival, generator in generators.items():
        while (
            generator.lower == search.lower
            and _raise_lower(search, rival, generator, until)
            and not search.gap_closed()
        ):
            pass


def _raise_lower(search: CutPool, rival: int, generator: MajorantGenerator, until: float) -> bool:
    """Raise the lower bound by one, by mixtures of ceilings for parts of the sets of words."""
    below = search.lower + 1
    tree = _mixes_below(search, generator, below, [MOST_SPLITS], until)
    if tree is not None:
        search.lower = below
        search.majorants = (rival, tree)
        generator.lower = below
    return tree is not None


def _mixes_below(
    search: CutPool, generator: MajorantGenerator, below: int, splits_left: list[int], until: float
) -> MajorantTree | None:
    """Ceilings for all sets that cost less than this; None where they are not found, or a set is
    enough.
    """
    for _ in range(MIX_ROUNDS):
        if search.checked_budget().seconds_left < until:
            return None
        mix, words = generator.best_mix(below)
        if words is None:
            return mix
        search.try_set(words)
        if search.gap_closed():
            return None
    halves = generator.split() if splits_left[0] > 0 else None
    if halves is None:
        return None
    splits_left[0] -= 1
    word, holding, excluding = halves
    held = _mixes_below(search, holding, below, splits_left, until)
    out = None if held is None else _mixes_below(search, excluding, below, splits_left, until)
    return None if held is None or out is None else MajorantSplit(word, held, out)

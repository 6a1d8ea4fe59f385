"""Both bounds by majorants and minorants of the margin, where a word's effect depends on
neighbours.

Method: Lagrangian dual over majorants (theory, section 8).
"""

from __future__ import annotations

from itertools import chain

from suffice.optimise.cuts.pool import CutPool
from suffice.optimise.min_cost_hitting_set import mask_of
from suffice.verify.text.majorants import (
    MajorantGenerator,
    MajorantSplit,
    MajorantTree,
    SetConstraints,
)


def raise_by_majorants(search: CutPool) -> None:
    """Both bounds by lines above and below the margin: the best set of every cost, at once."""
    constraints = SetConstraints(
        search.costs, search.mask(search.include), search.mask(search.exclude)
    )
    settings = search.session.settings.majorants
    generators = {
        rival: MajorantGenerator(search.worst_case.full_instance(rival), constraints, settings)
        for rival in search.worst_case.rival_order
    }
    minorant_sets: dict[int, list[int]] = {}
    seemingly_sufficient: list[int] = []
    for _ in range(settings.rounds):
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
    search.delete_words()
    for rival, generator in generators.items():
        while (
            generator.lower == search.lower
            and _raise_lower(search, rival, generator)
            and not search.gap_closed()
        ):
            pass


def _raise_lower(search: CutPool, rival: int, generator: MajorantGenerator) -> bool:
    """Raise the lower bound by one, by mixtures of ceilings for parts of the sets of words."""
    below = search.lower + 1
    tree = _mixes_below(search, generator, below, [generator.settings.most_splits])
    if tree is not None:
        search.lower = below
        search.majorants = (rival, tree)
        generator.lower = below
    return tree is not None


def _mixes_below(
    search: CutPool, generator: MajorantGenerator, below: int, splits_left: list[int]
) -> MajorantTree | None:
    """Ceilings for all sets that cost less than this; None where they are not found, or a set is
    enough.
    """
    for _ in range(generator.settings.rounds):
        search.checked_budget()
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
    held = _mixes_below(search, holding, below, splits_left)
    out = None if held is None else _mixes_below(search, excluding, below, splits_left)
    return None if held is None or out is None else MajorantSplit(word, held, out)

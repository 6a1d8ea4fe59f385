"""The LP loop: the lower bound is raised by cuts that the master's fractional solution violates.

Method: Kelley's cutting planes (theory, section 8).
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.optimise.cuts.cut import Cut, solve_master_lp
from suffice.optimise.cuts.pool import CutPool
from suffice.optimise.min_cost_hitting_set import mask_of
from suffice.verify import tolerances
from suffice.verify.text.worst_case import SetProved, SetRefuted

FailingTexts: TypeAlias = dict[tuple[int, ...], SetRefuted]  # texts that fail, by their choices


def raise_by_lp(search: CutPool) -> None:
    """Raise the lower bound by cuts that fractions of words violate, as long as some do and it
    rises.
    """
    settings = search.settings
    rng = np.random.default_rng(search.seed)
    failing = FailingTexts()
    search.grow_sufficient(search.include)
    point = np.zeros(len(search.costs))
    idle_rounds = 0
    last_bound = 0.0
    for _ in range(settings.lp_rounds):
        if idle_rounds >= settings.lp_idle_rounds:
            break
        search.checked_budget()
        solution = solve_master_lp(
            search.valid_cuts(), search.costs, search.include, search.exclude
        )
        if solution is None:
            return
        point = solution
        bound = float(point @ search.separator.costs)
        idle_rounds, last_bound = (
            (0, bound) if bound > last_bound + tolerances.SOLVER else (idle_rounds + 1, last_bound)
        )
        search.lower = max(search.lower, math.ceil(bound - tolerances.SOLVER * max(1.0, bound)))
        if search.gap_closed():
            return
        cuts = _separated(search, point, failing, rng)
        if not cuts:
            break
        search.cuts += cuts
        search.report()
    search.grow_sufficient(mask_of(np.flatnonzero(point > 0.5).tolist()) | search.include)
    search.delete_words()


def _separated(
    search: CutPool, point: Floats, failing: FailingTexts, rng: np.random.Generator
) -> list[Cut]:
    """Rules that shares of words break: by texts that fail where shares are rounded, by known ones,
    by chance.
    """
    settings = search.settings
    for threshold in settings.rounding:
        cuts = _cuts_of_set(search, point, point > threshold, failing)
        if cuts:
            return cuts
    first = search.worst_case.lattice.first
    for refuted in reversed(list(failing.values())[-settings.reused_texts :]):
        rounded = SetRefuted(refuted.rival, np.where(point > 0.5, first, refuted.chosen))
        cuts += search.separator.separating(rounded, refuted.chosen, point)
        if len(cuts) >= settings.cuts_per_round:
            return cuts
    for _ in range(0 if cuts else settings.cuts_per_round):
        cuts += _cuts_of_set(search, point, rng.random(len(point)) < point, failing)
    return cuts


def _cuts_of_set(search: CutPool, point: Floats, words: Bools, failing: FailingTexts) -> list[Cut]:
    """Rules by the text that fails with these words held; where none does they are kept
    as enough.
    """
    held = mask_of(np.flatnonzero(words).tolist()) | search.include
    verdict = search.decide_quickly(held)
    if isinstance(verdict, SetProved):
        search.record_proof(held, verdict)
    if not isinstance(verdict, SetRefuted):
        return []
    verdict = search.worst_case.with_features(verdict, search.mask(held))
    extension, _ = search.separator.worst_extension(verdict)
    failing.setdefault(tuple(extension.tolist()), SetRefuted(verdict.rival, extension))
    return list(search.separator.separating(verdict, extension, point))

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
from suffice.verify.text.worst_case import CUT_SPLITS, SetProved, SetRefuted

LP_SHARE = 0.5  # share of the time that is left, at most
IDLE_ROUNDS, LEAST_RISE = (
    20,
    0.02,
    # rounds without a rise of the bound by at least so much (in cost units), after which the loop
    # ends
)
ROUNDING_THRESHOLDS = (
    0.5,
    0.35,
    0.65,
    0.2,
    0.8,
)  # fractions above which words are held, to find a failing text
RECENT_TEXTS, ENOUGH_CUTS, RANDOM_SETS = (
    40,
    5,
    6,
)  # failing texts reused, cuts that are enough for a round, random roundings

FailingTexts: TypeAlias = dict[tuple[int, ...], SetRefuted]  # texts that fail, by their choices


def raise_by_lp(search: CutPool) -> None:
    """Raise the lower bound by rules that shares of words break, as long as some do and there is
    time.
    """
    budget = search.checked_budget()
    rng = np.random.default_rng(search.seed)
    start = budget.seconds_left
    failing = FailingTexts()
    search.grow_sufficient(search.include)
    point = np.zeros(len(search.costs))
    idle_rounds = 0
    last_bound = 0.0
    while idle_rounds < IDLE_ROUNDS and budget.seconds_left >= (1.0 - LP_SHARE) * start:
        solution = solve_master_lp(
            search.valid_cuts(), search.costs, search.include, search.exclude
        )
        if solution is None:
            return
        point = solution
        bound = float(point @ search.separator.costs)
        idle_rounds, last_bound = (
            (0, bound) if bound > last_bound + LEAST_RISE else (idle_rounds + 1, last_bound)
        )
        search.lower = max(search.lower, math.ceil(bound - 1e-6 * max(1.0, bound)))
        if search.gap_closed():
            return
        cuts = _separated(search, point, failing, rng)
        if not cuts:
            break
        search.cuts += cuts
        search.report()
    search.grow_sufficient(mask_of(np.flatnonzero(point > 0.5).tolist()) | search.include)
    search.delete_words(0.8 * budget.seconds_left)


def _separated(
    search: CutPool, point: Floats, failing: FailingTexts, rng: np.random.Generator
) -> list[Cut]:
    """Rules that shares of words break: by texts that fail where shares are rounded, by known ones,
    by chance.
    """
    for threshold in ROUNDING_THRESHOLDS:
        cuts = _cuts_of_set(search, point, point > threshold, failing)
        if cuts:
            return cuts
    first = search.worst_case.lattice.first
    for refuted in reversed(list(failing.values())[-RECENT_TEXTS:]):
        rounded = SetRefuted(refuted.rival, np.where(point > 0.5, first, refuted.chosen))
        cuts += search.separator.separating(rounded, refuted.chosen, point)
        if len(cuts) >= ENOUGH_CUTS:
            return cuts
    for _ in range(0 if cuts else RANDOM_SETS):
        cuts += _cuts_of_set(search, point, rng.random(len(point)) < point, failing)
    return cuts


def _cuts_of_set(search: CutPool, point: Floats, words: Bools, failing: FailingTexts) -> list[Cut]:
    """Rules by the text that fails with these words held; where none does they are kept
    as enough.
    """
    held = mask_of(np.flatnonzero(words).tolist()) | search.include
    verdict = search.worst_case.decide_set(search.mask(held), search.checked_budget(), CUT_SPLITS)
    if isinstance(verdict, SetProved):
        search.record_proof(held, verdict)
    if not isinstance(verdict, SetRefuted):
        return []
    verdict = search.worst_case.with_features(verdict, search.mask(held))
    extension, _ = search.separator.worst_extension(verdict)
    failing.setdefault(tuple(extension.tolist()), SetRefuted(verdict.rival, extension))
    return list(search.separator.separating(verdict, extension, point))

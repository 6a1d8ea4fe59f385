"""A higher lower bound by rules that shares of words break."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.prove.worst import EASY, Enough, Failing
from suffice.search.covers import mask_of
from suffice.search.opened.known import Known
from suffice.search.opened.rules import Rule, relaxed

RELAXED = 0.5  # of the time, at most
IDLE, RISE = 20, 0.02  # rounds after which shares of words are left, where the bound rises by less
ROUNDED = (0.5, 0.35, 0.65, 0.2, 0.8)  # shares above which words are held, to see what fails
KNOWN, ENOUGH, CHANCES = 40, 5, 6  # failing texts that are looked at again, new rules that are enough, random sets

Fails: TypeAlias = dict[tuple[int, ...], Failing]  # texts that fail, by their choices


def relax(search: Known) -> None:
    """Raise the lower bound by rules that shares of words break, as long as some do and there is time."""
    budget, rng = search.budget(), np.random.default_rng(search.seed)
    start, fails = budget.left, Fails()
    search.greedy(search.include)
    shares, idle, risen = np.zeros(len(search.costs)), 0, 0.0
    while idle < IDLE and budget.left >= (1.0 - RELAXED) * start:
        found = relaxed(search.sure(), search.costs, search.include, search.exclude)
        if found is None:
            return
        shares = found
        bound = float(shares @ search.lessons.costs)
        idle, risen = (0, bound) if bound > risen + RISE else (idle + 1, risen)
        search.lower = max(search.lower, math.ceil(bound - 1e-6 * max(1.0, bound)))
        if search.closed():
            return
        made = _broken(search, shares, fails, rng)
        if not made:
            break
        search.rules += made
        search.report()
    search.greedy(mask_of(np.flatnonzero(shares > 0.5).tolist()) | search.include)
    search.trim(0.8 * budget.left)


def _broken(search: Known, shares: Floats, fails: Fails, rng: np.random.Generator) -> list[Rule]:
    """Rules that shares of words break: by texts that fail where shares are rounded, by known ones, by chance."""
    for cut in ROUNDED:
        made = _failing(search, shares, shares > cut, fails)
        if made:
            return made
    first = search.worst.layout.first
    for found in reversed(list(fails.values())[-KNOWN:]):
        text = Failing(found.rival, np.where(shares > 0.5, first, found.chosen))
        made += search.lessons.against(text, found.chosen, shares)
        if len(made) >= ENOUGH:
            return made
    for _ in range(0 if made else CHANCES):
        made += _failing(search, shares, rng.random(len(shares)) < shares, fails)
    return made


def _failing(search: Known, shares: Floats, words: Bools, fails: Fails) -> list[Rule]:
    """Rules by the text that fails with these words held; where none does they are kept as enough."""
    held = mask_of(np.flatnonzero(words).tolist()) | search.include
    found = search.worst.ask(search.mask(held), search.budget(), EASY)
    if isinstance(found, Enough):
        search.keep(held, found)
    if not isinstance(found, Failing):
        return []
    found = search.worst.sharper(found, search.mask(held))
    full, _ = search.lessons.worse(found)
    fails.setdefault(tuple(full.tolist()), Failing(found.rival, full))
    return list(search.lessons.against(found, full, shares))

"""Greedy: flips of a black box by changing the word that lowers the margin most, made as small as they go."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from suffice.model.text import Change
from suffice.prove.asked import Asked, Flip

PATIENCE = 2  # steps of an attack without progress


def attack(asked: Asked, free: Sequence[int], rival: int | None = None) -> Flip | None:
    """Change the word that lowers the margin most, again and again; what flips is made as small as it goes."""
    current: Change = ()
    lowest, idle = math.inf, 0
    for _ in range(min(asked.limit, len(free))):
        trials = list(_further(asked, current, free))
        margins = asked.margins(trials, rival)
        if np.isnan(margins).all():
            return None
        best = int(np.nanargmin(margins))
        if margins[best] <= 0:
            return shrink(asked, trials[best], rival)
        idle = 0 if margins[best] < lowest else idle + 1
        if idle >= PATIENCE:
            return _leap(asked, free, rival)
        current, lowest = trials[best], min(lowest, float(margins[best]))
    return None


def _leap(asked: Asked, free: Sequence[int], rival: int | None) -> Flip | None:
    """Change all words at once, where that is allowed: it helps where single changes show nothing."""
    if asked.limit < len(free):
        return None
    change = tuple((word, asked.options[word][0]) for word in free)
    return shrink(asked, change, rival) if asked.margins([change], rival)[0] <= 0 else None


def _further(asked: Asked, current: Change, free: Sequence[int]) -> Iterator[Change]:
    changed = {i for i, _ in current}
    for word in free:
        if word not in changed:
            for new in asked.options[word]:
                yield tuple(sorted((*current, (word, new))))


def shrink(asked: Asked, change: Change, rival: int | None = None) -> Flip:
    """Put words back as long as the label stays flipped."""
    while len(change) > 1:
        trials = [change[:i] + change[i + 1 :] for i in range(len(change))]
        margins = asked.margins(trials, rival)
        flips = [i for i in range(len(trials)) if margins[i] <= 0]
        if not flips:
            break
        change = trials[min(flips, key=lambda i: margins[i])]
    return asked.flip(change, rival)

"""Greedy flips of a black box: change the word that lowers the margin most, then put words back.

Method: greedy attack and deletion (theory, section 12).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from suffice.model.text import Change
from suffice.verify.queries import ObservedFlip, QuerySession


def greedy_attack(
    session: QuerySession, free: Sequence[int], rival: int | None = None
) -> ObservedFlip | None:
    """Change the word that lowers the margin most, again and again; what flips is made as small as
    it goes.
    """
    current: Change = ()
    lowest = math.inf
    idle_steps = 0
    for _ in range(min(session.most_changes, len(free))):
        trials = list(_one_more(session, current, free))
        margins = session.margins(trials, rival)
        if np.isnan(margins).all():
            return None
        best = int(np.nanargmin(margins))
        if margins[best] <= 0:
            return shrink_flip(session, trials[best], rival)
        idle_steps = 0 if margins[best] < lowest else idle_steps + 1
        if idle_steps >= session.settings.queries.idle_steps:
            return _change_all(session, free, rival)
        current = trials[best]
        lowest = min(lowest, float(margins[best]))
    return None


def _change_all(
    session: QuerySession, free: Sequence[int], rival: int | None
) -> ObservedFlip | None:
    """Change all words at once, where that is allowed: it helps where single changes
    show nothing.
    """
    if session.most_changes < len(free):
        return None
    change = tuple((word, session.options[word][0]) for word in free)
    return shrink_flip(session, change, rival) if session.margins([change], rival)[0] <= 0 else None


def _one_more(session: QuerySession, current: Change, free: Sequence[int]) -> Iterator[Change]:
    changed = {i for i, _ in current}
    for word in free:
        if word not in changed:
            for new in session.options[word]:
                yield tuple(sorted((*current, (word, new))))


def shrink_flip(session: QuerySession, change: Change, rival: int | None = None) -> ObservedFlip:
    """Put words back as long as the label stays flipped."""
    while len(change) > 1:
        trials = [change[:i] + change[i + 1 :] for i in range(len(change))]
        margins = session.margins(trials, rival)
        flips = [i for i in range(len(trials)) if margins[i] <= 0]
        if not flips:
            break
        change = trials[min(flips, key=lambda i: margins[i])]
    return session.observed_flip(change, rival)

"""Failing texts made small: words are put back as long as the text fails."""

from __future__ import annotations

import numpy as np

from suffice.model.network import Ints
from suffice.prove.worst import Failing, Worst


def smaller(worst: Worst, found: Failing) -> Ints:
    """Put words back as long as the text fails, the harmless ones first."""
    first, chosen = worst.layout.first, found.chosen
    moved = np.flatnonzero(chosen != first)
    push = worst.pushes(found.rival, chosen)[first[moved]]  # what putting back takes from the fall: negative
    order = moved[np.argsort(-push)]
    low, high = 0, len(order)  # how many are put back: `low` surely can be
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _still(worst, found, order[:middle]) else (low, middle)
    back = list(order[:low])
    for word in order[low : low + 24]:
        if len(back) + 1 < len(order) and _still(worst, found, [*back, word]):
            back.append(word)
    return _without(worst, chosen, back)


def _still(worst: Worst, found: Failing, back: Ints | list[int]) -> bool:
    return worst.form(found.rival, _without(worst, found.chosen, back)) <= -slack(worst, found.rival)


def slack(worst: Worst, rival: int) -> float:
    """How far above zero a form must stay, so that its sign is that of the real one."""
    return 2.0 * worst.tolerance(rival)


def _without(worst: Worst, chosen: Ints, back: Ints | list[int]) -> Ints:
    found = chosen.copy()
    where = np.asarray(back, dtype=np.int64)
    found[where] = worst.layout.first[where]
    return found

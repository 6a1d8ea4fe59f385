"""Failing texts shrunk: words are put back as long as the text fails.

Method: deletion from counterexamples (theory, section 7).
"""

from __future__ import annotations

import numpy as np

from suffice.model.network import Ints
from suffice.verify import tolerances
from suffice.verify.text.worst_case import SetRefuted, WorstCase


def shrink_attack(worst_case: WorstCase, refuted: SetRefuted) -> Ints:
    """Put words back as long as the text fails, the harmless ones first."""
    first = worst_case.lattice.first
    chosen = refuted.chosen
    changed = np.flatnonzero(chosen != first)
    # what putting back takes from the fall: negative
    drops = worst_case.estimated_drops(refuted.rival, chosen)[first[changed]]
    order = changed[np.argsort(-drops)]
    # how many are put back: `low` surely can be
    low = 0
    high = len(order)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if _still_fails(worst_case, refuted, order[:middle]) else (low, middle)
        )
    restored = list(order[:low])
    for word in order[low : low + worst_case.settings.shrink_tries]:
        if len(restored) + 1 < len(order) and _still_fails(worst_case, refuted, [*restored, word]):
            restored.append(word)
    return _put_back(worst_case, chosen, restored)


def _still_fails(worst_case: WorstCase, refuted: SetRefuted, restored: Ints | list[int]) -> bool:
    return worst_case.form_value(
        refuted.rival, _put_back(worst_case, refuted.chosen, restored)
    ) <= -form_slack(worst_case, refuted.rival)


def form_slack(worst_case: WorstCase, rival: int) -> float:
    """How far above zero a form must stay, so that its sign is that of the real one."""
    return tolerances.FORM_FACTOR * worst_case.tolerance(rival)


def _put_back(worst_case: WorstCase, chosen: Ints, restored: Ints | list[int]) -> Ints:
    text = chosen.copy()
    where = np.asarray(restored, dtype=np.int64)
    text[where] = worst_case.lattice.first[where]
    return text

"""Hitting: whether words that cost so little hit every flip that is given, by branching."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def hittable(
    sets: Sequence[int], costs: Sequence[int], out: int, left: int, look: Callable[[], None] = lambda: None
) -> bool:
    """Whether words that cost less than `left` in all, none of them in `out`, hit all sets; `look` may stop it."""
    look()
    if left <= 0:
        return False
    if not sets:
        return True
    first = min(sets, key=lambda one: (one & ~out).bit_count())
    if _apart(sets, costs, out) >= left:
        return False
    for word in [i for i in range(len(costs)) if (first & ~out) >> i & 1]:
        if hittable([one for one in sets if not one >> word & 1], costs, out, left - costs[word], look):
            return True
        out |= 1 << word
    return False


def _apart(sets: Sequence[int], costs: Sequence[int], out: int) -> int:
    """What sets that share no word cost together: each needs a word of its own."""
    total, seen = 0, 0
    for one in sorted(sets, key=lambda one: (one & ~out).bit_count()):
        inside = one & ~out
        if not inside & seen:
            total += min((cost for i, cost in enumerate(costs) if inside >> i & 1), default=10**18)
            seen |= inside
    return total

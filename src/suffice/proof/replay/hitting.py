"""Whether words that cost less than a limit hit every flip that is given, by branching.

Method: hitting sets with a bound by disjoint sets (theory, section 7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


def can_be_hit(
    sets: Sequence[int],
    costs: Sequence[int],
    out: int,
    cost_limit: int,
    check_time: Callable[[], None] = lambda: None,
) -> bool:
    """Whether words that cost less than `left` in all, none of them in `out`, hit all sets; `look`
    may stop it.
    """
    check_time()
    if cost_limit <= 0:
        return False
    if not sets:
        return True
    first = min(sets, key=lambda mask: (mask & ~out).bit_count())
    if _disjoint_cost(sets, costs, out) >= cost_limit:
        return False
    for word in [i for i in range(len(costs)) if (first & ~out) >> i & 1]:
        if can_be_hit(
            [mask for mask in sets if not mask >> word & 1],
            costs,
            out,
            cost_limit - costs[word],
            check_time,
        ):
            return True
        out |= 1 << word
    return False


def _disjoint_cost(sets: Sequence[int], costs: Sequence[int], out: int) -> int:
    """What sets that share no word cost together: each needs a word of its own."""
    total = 0
    seen = 0
    for one in sorted(sets, key=lambda one: (one & ~out).bit_count()):
        inside = one & ~out
        if not inside & seen:
            total += min((cost for i, cost in enumerate(costs) if inside >> i & 1), default=10**18)
            seen |= inside
    return total

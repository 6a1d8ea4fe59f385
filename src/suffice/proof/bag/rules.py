"""Shows that no cheaper set of words keeps all rules: linear programs propose, fractions decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from suffice.model.network import Floats

MOST_NODES = 400  # of the search for a cheaper set


def none_below(
    rules: Sequence[tuple[Floats, float]],
    costs: Sequence[int],
    include: int,
    exclude: int,
    lower: int,
    look: Callable[[], None] = lambda: None,
) -> int:
    """The largest cost, up to `lower`, below which surely no set keeps all rules; `look` may stop it."""
    return none_below_by(rules, costs, include, exclude, lower, look)[0]


def none_below_by(
    rules: Sequence[tuple[Floats, float]],
    costs: Sequence[int],
    include: int,
    exclude: int,
    lower: int,
    look: Callable[[], None] = lambda: None,
) -> tuple[int, set[int]]:
    """The same, and the rules that it follows from.

    Linear programs propose multipliers of the rules; what these prove is worked out in fractions.
    """
    low = tuple(include >> i & 1 for i in range(len(costs)))
    high = tuple(1 - (exclude >> i & 1) for i in range(len(costs)))
    table = _Table(rules, costs)
    waiting, nodes, open_bounds = [(low, high)], 0, []
    while waiting:
        look()
        lows, highs = waiting.pop()
        nodes += 1
        bound, split = table.bound(lows, highs)
        if bound >= lower:
            continue
        if split is None or nodes > MOST_NODES:
            open_bounds.append(bound)
            continue
        waiting += [(_put(lows, split, value), _put(highs, split, value)) for value in (0, 1)]
    return min([lower, *open_bounds]), table.used


def _put(values: tuple[int, ...], place: int, value: int) -> tuple[int, ...]:
    return (*values[:place], value, *values[place + 1 :])


class _Table:
    def __init__(self, rules: Sequence[tuple[Floats, float]], costs: Sequence[int]) -> None:
        self.rows = np.array([weights for weights, _ in rules]).reshape(len(rules), len(costs))
        self.least = np.array([least for _, least in rules])
        self.costs = np.array(costs, dtype=np.float64)
        self.unit = math.gcd(*costs)
        self.used: set[int] = set()

    def bound(self, low: tuple[int, ...], high: tuple[int, ...]) -> tuple[int, int | None]:
        """What every set between `low` and `high` that keeps the rules costs at least, and a word to split."""
        from scipy.optimize import linprog

        fixed = int(self.costs @ np.array(low))
        if not len(self.rows):
            return fixed, None
        found = linprog(self.costs, A_ub=-self.rows, b_ub=-self.least, bounds=list(zip(low, high, strict=True)))
        if found.status == 2:
            return (10**18, None) if self._impossible(low, high) else (fixed, _open(low, high))
        if found.status != 0:
            return fixed, _open(low, high)
        bound = max(self._dual(np.maximum(-found.ineqlin.marginals, 0.0), low, high), fixed)
        away = np.abs(found.x - np.round(found.x))
        split = int(away.argmax()) if away.max() > 1e-6 else _open(low, high)
        return bound, split

    def _impossible(self, low: tuple[int, ...], high: tuple[int, ...]) -> bool:
        """Whether one rule alone cannot be kept: all that helps is held."""
        most = np.where(self.rows > 0, self.rows * np.array(high), self.rows * np.array(low)).sum(1)
        lacking = np.flatnonzero(most < self.least - 1e-9 * np.abs(self.rows).sum(1)).tolist()
        self.used |= set(lacking[:1])
        return bool(lacking)

    def _dual(self, multipliers: Floats, low: tuple[int, ...], high: tuple[int, ...]) -> int:
        """Sum of multipliers times rules, in fractions: a bound whatever the multipliers are."""
        active = [int(k) for k in np.flatnonzero(multipliers > 1e-12)]
        self.used |= set(active)
        exact = {k: Fraction(float(multipliers[k])) for k in active}
        total = sum((exact[k] * Fraction(float(self.least[k])) for k in active), Fraction(0))
        for i, cost in enumerate(self.costs.tolist()):
            left = Fraction(int(cost)) - sum((exact[k] * Fraction(float(self.rows[k, i])) for k in active), Fraction(0))
            total += min(left * low[i], left * high[i])
        return math.ceil((total - Fraction(1, 10**7)) / self.unit) * self.unit


def _open(low: tuple[int, ...], high: tuple[int, ...]) -> int | None:
    return next((i for i, (a, b) in enumerate(zip(low, high, strict=True)) if a < b), None)

"""Shows that no cheaper set of words keeps all cuts: linear programs propose, fractions decide.

Method: dual bound in exact arithmetic, branch and bound (theory, section 8, Lemma 10).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from suffice.model.network import Floats
from suffice.proof.bag import tolerances


def proved_lower_bound(
    cuts: Sequence[tuple[Floats, float]],
    costs: Sequence[int],
    include: int,
    exclude: int,
    lower: int,
    check_time: Callable[[], None] = lambda: None,
) -> int:
    """The largest cost, up to `lower`, below which surely no set keeps all rules; `look` may stop
    it.
    """
    return proved_lower_bound_with_cuts(cuts, costs, include, exclude, lower, check_time)[0]


def proved_lower_bound_with_cuts(
    cuts: Sequence[tuple[Floats, float]],
    costs: Sequence[int],
    include: int,
    exclude: int,
    lower: int,
    check_time: Callable[[], None] = lambda: None,
) -> tuple[int, set[int]]:
    """The same, and the rules that it follows from.

    Linear programs propose multipliers of the rules; what these prove is worked out in fractions.
    """
    low = tuple(include >> i & 1 for i in range(len(costs)))
    high = tuple(1 - (exclude >> i & 1) for i in range(len(costs)))
    table = _CutTable(cuts, costs)
    queue = [(low, high)]
    nodes = 0
    open_bounds = []
    while queue:
        check_time()
        lows, highs = queue.pop()
        nodes += 1
        bound, split = table.bound(lows, highs)
        if bound >= lower:
            continue
        if split is None or nodes > tolerances.MOST_NODES:
            open_bounds.append(bound)
            continue
        queue += [(_put(lows, split, value), _put(highs, split, value)) for value in (0, 1)]
    return min([lower, *open_bounds]), table.used


def _put(values: tuple[int, ...], place: int, value: int) -> tuple[int, ...]:
    return (*values[:place], value, *values[place + 1 :])


class _CutTable:
    def __init__(self, cuts: Sequence[tuple[Floats, float]], costs: Sequence[int]) -> None:
        self.rows = np.array([weights for weights, _ in cuts]).reshape(len(cuts), len(costs))
        self.thresholds = np.array([threshold for _, threshold in cuts])
        self.costs = np.array(costs, dtype=np.float64)
        self.unit = math.gcd(*costs)
        self.used: set[int] = set()

    def bound(self, low: tuple[int, ...], high: tuple[int, ...]) -> tuple[int, int | None]:
        """What every set between `low` and `high` that keeps the rules costs at least, and a word
        to split.
        """
        from scipy.optimize import linprog

        fixed = int(self.costs @ np.array(low))
        if not len(self.rows):
            return fixed, None
        solution = linprog(
            self.costs,
            A_ub=-self.rows,
            b_ub=-self.thresholds,
            bounds=list(zip(low, high, strict=True)),
        )
        if solution.status == 2:
            return (
                (tolerances.NO_BOUND, None)
                if self._infeasible(low, high)
                else (fixed, _first_unfixed(low, high))
            )
        if solution.status != 0:
            return fixed, _first_unfixed(low, high)
        bound = max(
            self._dual_bound(np.maximum(-solution.ineqlin.marginals, 0.0), low, high), fixed
        )
        fractionality = np.abs(solution.x - np.round(solution.x))
        split = (
            int(fractionality.argmax())
            if fractionality.max() > tolerances.INTEGRAL
            else _first_unfixed(low, high)
        )
        return bound, split

    def _infeasible(self, low: tuple[int, ...], high: tuple[int, ...]) -> bool:
        """Whether one rule alone cannot be kept: all that helps is held."""
        most = np.where(self.rows > 0, self.rows * np.array(high), self.rows * np.array(low)).sum(1)
        room = tolerances.INFEASIBLE * np.abs(self.rows).sum(1)
        lacking = np.flatnonzero(most < self.thresholds - room).tolist()
        self.used |= set(lacking[:1])
        return bool(lacking)

    def _dual_bound(self, multipliers: Floats, low: tuple[int, ...], high: tuple[int, ...]) -> int:
        """Sum of multipliers times rules, in fractions: a bound whatever the multipliers are."""
        active = [int(k) for k in np.flatnonzero(multipliers > tolerances.ACTIVE)]
        self.used |= set(active)
        exact = {k: Fraction(float(multipliers[k])) for k in active}
        total = sum((exact[k] * Fraction(float(self.thresholds[k])) for k in active), Fraction(0))
        for i, cost in enumerate(self.costs.tolist()):
            reduced_cost = Fraction(int(cost)) - sum(
                (exact[k] * Fraction(float(self.rows[k, i])) for k in active), Fraction(0)
            )
            total += min(reduced_cost * low[i], reduced_cost * high[i])
        return math.ceil((total - tolerances.ROUNDED_OFF) / self.unit) * self.unit


def _first_unfixed(low: tuple[int, ...], high: tuple[int, ...]) -> int | None:
    return next((i for i, (a, b) in enumerate(zip(low, high, strict=True)) if a < b), None)

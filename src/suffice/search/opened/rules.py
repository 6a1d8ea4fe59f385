"""Rules that every explanation keeps, and the cheapest sets of words that keep them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.asked import OutOfBudget
from suffice.prove.bag import Holds, Stretch
from suffice.search.covers import mask_of, price


@dataclass(frozen=True, eq=False)
class Rule:
    """The weights of every explanation's words sum to `least` or more.

    Either by gains: the text `chosen` fails against the rival. Or by counting, with a proof: it fails whichever
    least - 1 of the words of weight 1 are put back.
    """

    weights: Floats
    least: float
    rival: int
    chosen: Ints
    proof: Holds | None = None
    lines: tuple[Stretch, ...] = ()
    size: float = 1.0  # what the form lacks

    def broken(self, held: Bools) -> bool:
        return float(self.weights[held].sum()) < self.least


def relaxed(rules: list[tuple[Floats, float]], costs: Sequence[int], include: int, exclude: int) -> Floats | None:
    """The cheapest shares of words that weigh enough by every rule; None where there are none."""
    from scipy.optimize import linprog

    count, prices = len(costs), np.array(costs, dtype=np.float64)
    ends = [(float(include >> i & 1), float(not exclude >> i & 1)) for i in range(count)]
    if not rules:
        return np.array([low for low, _ in ends])
    rows, least = np.array([w for w, _ in rules]), np.array([n for _, n in rules])
    found = linprog(prices, A_ub=-rows, b_ub=-least, bounds=ends)
    return np.asarray(found.x) if found.status == 0 else None


def cheapest_kept(
    rules: list[tuple[Floats, float]],
    costs: Sequence[int],
    include: int,
    exclude: int,
    seconds: float,
    below: int | None,
) -> tuple[int | None, int | None]:
    """A set whose words weigh enough by every rule (the cheapest, if there is time), and what any such set costs.

    With `below`, sets that cost as much are of no interest. No set: None where none was found in time; no bound either
    where there is none.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    count = len(costs)
    low = np.array([include >> i & 1 for i in range(count)], dtype=np.float64)
    high = np.array([1 - (exclude >> i & 1) for i in range(count)], dtype=np.float64)
    if any(float((np.maximum(weights, 0.0) * high).sum()) < least for weights, least in rules):
        return None, None
    if not rules:
        return include, price(include, costs)
    prices = np.array(costs, dtype=np.float64)
    rows, least = np.array([w for w, _ in rules]), np.array([n for _, n in rules])
    limits = [LinearConstraint(rows, least, np.inf)]
    if below is not None:
        limits.append(LinearConstraint(prices[None], -np.inf, below - 0.5))
    found = milp(
        prices,
        integrality=np.ones(count),
        bounds=Bounds(low, high),
        constraints=limits,
        options={"time_limit": max(seconds, 0.02), "mip_rel_gap": 0.0},
    )
    return _set_and_bound(found, costs)


def _set_and_bound(found: Any, costs: Sequence[int]) -> tuple[int | None, int | None]:
    """What a solver found: a set of words, and what any set costs at least."""
    if found.status == 2:
        return None, None
    if found.status not in (0, 1):
        raise OutOfBudget(f"the solver stopped: {found.message}")
    bound = 0.0 if found.mip_dual_bound is None or not np.isfinite(found.mip_dual_bound) else found.mip_dual_bound
    lower = math.ceil(bound - 1e-6 * max(1.0, abs(bound)))
    if found.x is None:
        return None, lower
    held = mask_of(np.flatnonzero(found.x > 0.5).tolist())
    return held, min(lower, price(held, costs))

"""Cut: a linear inequality that every sufficient set keeps; the master problem over cuts.

Method: cutting planes (theory, section 8, Lemmas 9 and 10).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice import work
from suffice.model.network import Bools, Floats, Ints
from suffice.optimise.min_cost_hitting_set import mask_cost, mask_of
from suffice.settings import RESOURCES
from suffice.verify import tolerances
from suffice.verify.queries import OutOfBudget
from suffice.verify.text.norm_form import InstanceProved, NormSegment


@dataclass(frozen=True, eq=False)
class Cut:
    """The weights of every explanation's words sum to `least` or more.

    Either by gains: the text `chosen` fails against the rival. Or by counting, with a proof: it
    fails whichever least - 1 of the words of weight 1 are put back.
    """

    weights: Floats
    threshold: float
    rival: int
    chosen: Ints
    proof: InstanceProved | None = None
    segments: tuple[NormSegment, ...] = ()
    # the threshold in units of the form: weights times this are the Lagrangian ones
    form_scale: float = 1.0

    def is_violated(self, held: Bools) -> bool:
        return float(self.weights[held].sum()) < self.threshold


def solve_master_lp(
    cuts: list[tuple[Floats, float]], costs: Sequence[int], include: int, exclude: int
) -> Floats | None:
    """The master problem's linear relaxation: the cheapest fractions of words that keep every cut;
    None: infeasible.
    """
    from scipy.optimize import linprog

    count = len(costs)
    costs_array = np.array(costs, dtype=np.float64)
    bounds = [(float(include >> i & 1), float(not exclude >> i & 1)) for i in range(count)]
    if not cuts:
        return np.array([low for low, _ in bounds])
    rows = np.array([w for w, _ in cuts])
    thresholds = np.array([n for _, n in cuts])
    work.count("linear_programs")
    solution = linprog(costs_array, A_ub=-rows, b_ub=-thresholds, bounds=bounds)
    return np.asarray(solution.x) if solution.status == 0 else None


def solve_master(
    cuts: list[tuple[Floats, float]],
    costs: Sequence[int],
    include: int,
    exclude: int,
    nodes: int,
    seconds: float,
    below: int | None,
) -> tuple[int | None, int | None]:
    """The master problem: a set that keeps every cut (the cheapest, if `nodes` of the solver's tree
    are enough), and a lower bound on its cost.

    With `below`, only sets that cost less are of interest. No set: none was found so far; no bound
    either: there is none.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    count = len(costs)
    low = np.array([include >> i & 1 for i in range(count)], dtype=np.float64)
    high = np.array([1 - (exclude >> i & 1) for i in range(count)], dtype=np.float64)
    if any(
        float((np.maximum(weights, 0.0) * high).sum()) < thresholds for weights, thresholds in cuts
    ):
        return None, None
    if not cuts:
        return include, mask_cost(include, costs)
    costs_array = np.array(costs, dtype=np.float64)
    rows = np.array([w for w, _ in cuts])
    thresholds = np.array([n for _, n in cuts])
    limits = [LinearConstraint(rows, thresholds, np.inf)]
    if below is not None:
        limits.append(LinearConstraint(costs_array[None], -np.inf, below - 0.5))
    work.count("master_solves")
    solution = milp(
        costs_array,
        integrality=np.ones(count),
        bounds=Bounds(low, high),
        constraints=limits,
        options={
            "node_limit": nodes,
            "time_limit": max(seconds, RESOURCES.solver_seconds),
            "mip_rel_gap": 0.0,
        },
    )
    return _set_and_bound(solution, nodes, costs)


def _set_and_bound(
    solution: Any, nodes: int, costs: Sequence[int]
) -> tuple[int | None, int | None]:
    """What a solver found: a set of words, and what any set costs at least."""
    if solution.status == 2:
        return None, None
    # SciPy has no status for the limit on nodes
    nodes_spent = solution.status == 4 and (solution.mip_node_count or 0) >= nodes
    if solution.status not in (0, 1) and not nodes_spent:
        raise OutOfBudget(f"the solver stopped: {solution.message}")
    bound = (
        0.0
        if solution.mip_dual_bound is None or not np.isfinite(solution.mip_dual_bound)
        else solution.mip_dual_bound
    )
    lower = math.ceil(bound - tolerances.SOLVER * max(1.0, abs(bound)))
    if solution.x is None:
        return None, lower
    held = mask_of(np.flatnonzero(solution.x > 0.5).tolist())
    return held, min(lower, mask_cost(held, costs))

"""Stronger roots before anything is split: refined intermediate bounds, and tuple fixing.

Method: refinement of single units (theory, section 2), reduced-cost fixing of tuples (section 4).
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial

import numpy as np

from suffice.model.network import Floats
from suffice.settings import RESOURCES
from suffice.verify.contract import OutOfTime
from suffice.verify.nets.branch.batching import shared_step_bounds
from suffice.verify.nets.branch.branch_run import BranchRun, only_maxima
from suffice.verify.nets.branch.loop import BranchingStrategy, evaluate
from suffice.verify.nets.branch.planes import attack_around, region_of
from suffice.verify.nets.branch.subproblem import Subproblem
from suffice.verify.nets.crown import BoundBatch, intermediate_bounds, margin_rows
from suffice.verify.nets.crown.max_planes import MaxPlanes
from suffice.verify.nets.crown.refine_intermediate import refinable, refined_bounds
from suffice.verify.nets.input_sets import Free
from suffice.verify.nets.joint_maxpool.tuple_fixing import prove_by_fixing


def refine_roots(strategy: BranchingStrategy) -> None:
    """In a wide network, refine intermediate bounds of later steps at every open root, and bound it
    again."""
    run = strategy.run
    if (
        not refinable(run.prepared)
        or run.planes is None
        or run.planes.share_count <= run.settings.planes.refined_from_shares
    ):
        return
    for root in _open_roots(run):
        if not isinstance(root.inputs, Free) or run.budget.exhausted or root.dual is None:
            continue
        run.query_of(root).frontier.remove(root)
        rows = margin_rows(run.prepared, np.array([root.rival]), run.sign)
        root.refinement = refined_bounds(run.prepared, root.inputs, rows, run.budget)
        root.step_bounds = ()
        root.split_scores = None
        root.input_row = None
        evaluate(strategy, [root])


def fix_tuples(run: BranchRun) -> None:
    """Where there are only maxima over boxes, fix tuples of winners at every open root."""
    planes = run.planes
    if (
        not isinstance(planes, MaxPlanes)
        or not only_maxima(run.prepared)
        or len(planes.units) < run.settings.branching.small_round
    ):
        return
    for root in _open_roots(run):
        ascended = root.dual is not None and root.dual.plane_shares is not None
        if ascended and isinstance(root.inputs, Free) and not run.is_answered(root):
            with contextlib.suppress(OutOfTime):
                _fix_tuples_at(run, root, planes)


def _open_roots(run: BranchRun) -> list[Subproblem]:
    return [subproblem for query in run.queries for subproblem in query.frontier]


def _fix_tuples_at(run: BranchRun, root: Subproblem, planes: MaxPlanes) -> None:
    """Close the root, answer its query, or leave it as it was."""
    rows = margin_rows(run.prepared, np.array([root.rival]), run.sign)
    bounds = intermediate_bounds(
        run.prepared,
        root.inputs,
        None,
        partial(shared_step_bounds, run, [root], root.inputs),
        run.budget,
    )
    batch = BoundBatch(root.inputs, bounds, rows, None, planes)
    region = region_of(run, root, batch, planes)
    if region.plane_problem.upper.weights.size > RESOURCES.joint_weights:
        return

    def attack_at(scaled_points: Floats) -> bool:
        attack_around(run, [root], region.to_inputs(scaled_points))
        return run.is_answered(root)

    assert root.dual is not None
    # half of the time left, as other roots and splits follow, and half of that if it may be in vain
    time_fraction = 0.5 * (0.5 if run.budget.give_up_early else 1.0)
    limited = replace(
        run.budget, seconds=run.budget.elapsed + time_fraction * run.budget.seconds_left
    )
    root.proof = prove_by_fixing(run.prepared, batch, root.dual, region, limited, attack_at)
    if root.proof is not None:
        root.closed = True
        run.query_of(root).frontier.remove(root)

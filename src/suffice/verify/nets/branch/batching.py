"""What subproblems of one batch share, and the dual that they inherit from their parents.

Method: intermediate bounds by batches, warm starts of alpha and beta (theory, sections 2 and 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from suffice.model.network import Floats
from suffice.verify.nets.branch.branch_run import BranchRun
from suffice.verify.nets.branch.subproblem import InputSet, Subproblem
from suffice.verify.nets.crown import Dual, IntermediateBounds, initial_dual, step_bounds
from suffice.verify.nets.crown.max_planes import MaxPlanes
from suffice.verify.nets.crown.relu_planes import ReluPlanes
from suffice.verify.nets.input_sets import Interval


def joined_inputs(subproblems: Sequence[Subproblem]) -> InputSet:
    """Their input sets as one batch."""
    first, *others = [subproblem.inputs for subproblem in subproblems]
    return first.join(others)  # type: ignore[arg-type]


def shared_step_bounds(
    run: BranchRun,
    subproblems: list[Subproblem],
    inputs: InputSet,
    step_index: int,
    intermediate: IntermediateBounds,
) -> Interval:
    """The intervals of a step: the same for all subproblems of an input set with equal splits in
    the steps before."""
    units = run.prepared.slices[step_index]
    unbounded = [i for i, each in enumerate(subproblems) if len(each.step_bounds) == step_index]
    keys = [
        (id(subproblems[i].inputs), subproblems[i].signs[: units.start].tobytes())
        for i in unbounded
    ]
    if unbounded:
        first_of_key = dict(zip(keys, unbounded, strict=True))
        if len(first_of_key) < len(subproblems):
            rows = np.array(list(first_of_key.values()))
            inputs = inputs.take(rows)
            intermediate = intermediate.take(rows)
        lower, upper = step_bounds(run.prepared, inputs, intermediate, step_index, run.budget)
        interval_of_key = {
            key: (lower[row : row + 1], upper[row : row + 1])
            for row, key in enumerate(first_of_key)
        }
        for i, key in zip(unbounded, keys, strict=True):
            subproblems[i].step_bounds = (*subproblems[i].step_bounds, interval_of_key[key])
    intervals = [
        subproblem.step_bounds[step_index]
        if subproblem.refinement is None
        else subproblem.refinement.intersected(subproblem.step_bounds[step_index], units)
        for subproblem in subproblems
    ]
    return np.concatenate([low for low, _ in intervals]), np.concatenate(
        [high for _, high in intervals]
    )


def inherited_dual(
    subproblems: list[Subproblem], bounds: IntermediateBounds, planes: ReluPlanes | MaxPlanes | None
) -> Dual:
    """Each subproblem's dual from its parent, or the initial one at a root; shares of planes begin
    as chords."""
    dual = initial_dual(bounds)
    if planes is not None:
        dual = replace(dual, plane_shares=_initial_shares(subproblems, bounds, planes))
    for i, subproblem in enumerate(subproblems):
        if subproblem.dual is not None:
            dual.alpha[i], dual.beta[i] = subproblem.dual.alpha[0], subproblem.dual.beta[0]
            if dual.plane_shares is not None and subproblem.dual.plane_shares is not None:
                dual.plane_shares[i] = subproblem.dual.plane_shares[0]
    return dual


def _initial_shares(
    subproblems: list[Subproblem], bounds: IntermediateBounds, planes: ReluPlanes | MaxPlanes
) -> Floats:
    """Initial shares of planes; zeros where all inherit theirs, as initial ones take long over
    maxima."""
    if isinstance(planes, ReluPlanes):
        return planes.chord_shares(bounds.upper_slope)
    if all(
        subproblem.dual is not None and subproblem.dual.plane_shares is not None
        for subproblem in subproblems
    ):
        return np.zeros((len(subproblems), *planes.weight_range.shape), dtype=np.float32)
    return planes.initial_shares(bounds.upper_slope[:, planes.candidates])

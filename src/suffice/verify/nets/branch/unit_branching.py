"""Branch and bound on units, and on words where that promises more; the dual is optimised.

Method: alpha- and beta-CROWN with upper planes once a query is hard (theory, sections 2, 3 and 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from suffice.model.network import Bools, Ints
from suffice.verify.nets.branch.batching import inherited_dual, joined_inputs, shared_step_bounds
from suffice.verify.nets.branch.branch_run import BranchRun, only_maxima
from suffice.verify.nets.branch.evaluate import conclude, enumerate_inputs
from suffice.verify.nets.branch.planes import bound_by_planes
from suffice.verify.nets.branch.root import fix_tuples, refine_roots
from suffice.verify.nets.branch.split import split_subproblem
from suffice.verify.nets.branch.subproblem import Subproblem, close
from suffice.verify.nets.crown import (
    BackwardPass,
    BoundBatch,
    Dual,
    backward_bound,
    canonical_dual,
    dual_ascent,
    intermediate_bounds,
    margin_rows,
)
from suffice.verify.nets.crown.max_planes import MaxPlanes
from suffice.verify.nets.input_sets import Free


@dataclass(eq=False)
class UnitBranching:
    """One backward pass closes most subproblems; the others take an ascent, and are then split."""

    run: BranchRun

    def bound(self, subproblems: list[Subproblem]) -> None:
        _bound(self.run, subproblems)

    def strengthen_roots(self) -> None:
        refine_roots(self)
        fix_tuples(self.run)

    def split(self, subproblem: Subproblem, depth: int) -> list[Subproblem]:
        return split_subproblem(self.run.prepared, subproblem, depth)


def _bound(run: BranchRun, subproblems: list[Subproblem]) -> None:
    inputs = joined_inputs(subproblems)
    stacked = np.stack([each.signs for each in subproblems])
    signs = stacked if stacked.any() else None
    bounds = intermediate_bounds(
        run.prepared,
        inputs,
        signs,
        partial(shared_step_bounds, run, subproblems, inputs),
        run.budget,
    )
    rows = margin_rows(run.prepared, np.array([each.rival for each in subproblems]), run.sign)
    planes = run.planes if any(_takes_planes(run, part) for part in subproblems) else None
    batch = BoundBatch(inputs, bounds, rows, signs, planes)
    dual = inherited_dual(subproblems, bounds, planes)
    backward = backward_bound(run.prepared, batch, dual)
    unproved = _close_proved(run, subproblems, batch, dual, backward)
    if len(unproved) == len(subproblems):
        _strengthen(run, subproblems, batch, dual, backward)
    elif len(unproved):
        _strengthen(
            run,
            [subproblems[i] for i in unproved],
            batch.take(unproved),
            dual.take(unproved),
            backward.take(unproved),
        )


def _close_proved(
    run: BranchRun,
    subproblems: list[Subproblem],
    batch: BoundBatch,
    dual: Dual,
    backward: BackwardPass,
) -> Ints:
    """Close what the first pass proves, enumerate what has few inputs, and give the places of what
    is left."""
    values = np.where(batch.bounds.infeasible, np.inf, backward.bound)
    canonical = canonical_dual(run.prepared, batch.bounds, dual) if (values > 0).any() else dual
    for i, subproblem in enumerate(subproblems):
        subproblem.bound = float(values[i])
        if subproblem.bound > 0 and not subproblem.ancestor_closed:
            close(subproblem, canonical, backward, batch.planes, i)
        subproblem.step_bounds = subproblem.step_bounds if subproblem.children is None else ()
    unclosed = [
        i
        for i, subproblem in enumerate(subproblems)
        if subproblem.children is None and not subproblem.ancestor_closed
    ]
    for i in unclosed:
        run.query_of(subproblems[i]).bounded += 1
    return np.array(
        [i for i in unclosed if values[i] <= 0 and not enumerate_inputs(run, subproblems[i])],
        dtype=np.int64,
    )


def _takes_planes(run: BranchRun, subproblem: Subproblem) -> bool:
    """Whether to take upper planes: of relus once a query has proved hard, of maxima once the
    parent did."""
    settings = run.settings.planes
    bounded = run.query_of(subproblem).bounded
    if subproblem.refinement is not None:
        return True
    if isinstance(run.planes, MaxPlanes):
        return subproblem.dual is not None and subproblem.dual.plane_shares is not None
    if run.budget.late_planes:
        return bounded >= 2 * settings.after
    is_wide = run.planes is not None and len(run.planes.units) > settings.after
    return bounded >= (min(settings.after, settings.after_if_wide) if is_wide else settings.after)


def _strengthen(
    run: BranchRun,
    subproblems: list[Subproblem],
    batch: BoundBatch,
    dual: Dual,
    backward: BackwardPass,
) -> None:
    """Ascend on slopes and multipliers, and where these do not close it, on planes of maxima."""
    if not isinstance(batch.planes, MaxPlanes) or not only_maxima(run.prepared):
        backward, dual = dual_ascent(
            run.prepared,
            batch,
            dual,
            backward,
            _ascent_steps(run, subproblems[0], batch),
            run.budget,
        )
    if isinstance(run.planes, MaxPlanes):
        for alike in _grouped_alike(subproblems, backward.bound <= 0):
            bound_by_planes(
                run,
                [subproblems[i] for i in alike],
                batch.take(alike),
                dual.take(alike),
                backward.take(alike),
                run.planes,
            )
        proved = np.flatnonzero(backward.bound > 0)
        subproblems = [subproblems[i] for i in proved]
        batch = batch.take(proved)
        dual = dual.take(proved)
        backward = backward.take(proved)
    if subproblems:
        conclude(run, subproblems, batch, dual, backward)


def _ascent_steps(run: BranchRun, first: Subproblem, batch: BoundBatch) -> int:
    """How many steps of ascent: more with upper planes, and most at a refined root."""
    settings = run.settings.ascent
    without_planes = first.dual is not None and first.dual.plane_shares is None
    if first.refinement is not None and first.branched_on is None and without_planes:
        return 2 * settings.refining_iterations
    min_steps, max_steps = settings.iterations
    # a deep network gains more by them than by splits
    steps: int = min(max_steps, max(min_steps, 2 ** len(run.prepared.steps)))
    return steps if batch.planes is None else max(steps, settings.refining_iterations // 2)


def _grouped_alike(subproblems: list[Subproblem], chosen: Bools) -> list[Ints]:
    """The places of chosen subproblems, those with the same words free, or of one query,
    together."""
    places_of_key: dict[bytes | int, list[int]] = {}
    for i in np.flatnonzero(chosen):
        inputs = subproblems[i].inputs
        key = inputs.free.tobytes() if isinstance(inputs, Free) else subproblems[i].query
        places_of_key.setdefault(key, []).append(int(i))
    return [np.array(places) for places in places_of_key.values()]

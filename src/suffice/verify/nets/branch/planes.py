"""Subproblems whose maxima take upper planes of their own, found by smoothed dual ascent.

Method: smoothed, annealed ascent on upper planes (theory, section 3).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.verify.nets.attack import margins, pgd, pgd_applies
from suffice.verify.nets.branch.branch_run import BranchRun, units_taking_upper
from suffice.verify.nets.branch.evaluate import conclude
from suffice.verify.nets.branch.point_tests import movable_words
from suffice.verify.nets.branch.subproblem import Subproblem
from suffice.verify.nets.crown import BackwardPass, BoundBatch, Dual, backward_bound, chosen_lines
from suffice.verify.nets.crown.max_planes import MaxPlanes
from suffice.verify.nets.crown.plane_ascent import (
    NormalisedRegion,
    PlaneAscentBounds,
    ascend_planes,
)
from suffice.verify.nets.crown.restoration_ascent import (
    NormalisedRestorations,
    ascend_restoration_planes,
)
from suffice.verify.nets.input_sets import Free, Restorations


def bound_by_planes(
    run: BranchRun,
    subproblems: list[Subproblem],
    batch: BoundBatch,
    dual: Dual,
    backward: BackwardPass,
    planes: MaxPlanes,
) -> None:
    """Ascend on upper planes of maxima, which these subproblems and their children have from here
    on."""
    settings = run.settings.plane_ascent
    annealing = settings.inherited
    if batch.planes is None:
        batch = replace(batch, planes=planes)
        slopes = chosen_lines(run.prepared, batch.bounds, dual)[1]
        dual = replace(dual, plane_shares=planes.initial_shares(slopes[:, planes.candidates]))
        backward = backward_bound(run.prepared, batch, dual)
        annealing = settings.first
    if isinstance(batch.inputs, Restorations):
        restorations = _restorations_of(run, subproblems[0], batch, planes)
        ascended = ascend_restoration_planes(
            run.prepared, batch, dual, backward, restorations, annealing, run.budget
        )
        for subproblem, scores in zip(subproblems, ascended.word_scores, strict=True):
            subproblem.branch_word = int(scores.argmax()) if scores.any() else None
        conclude(
            run,
            subproblems,
            batch,
            ascended.dual,
            ascended.backward_pass,
            np.zeros_like(ascended.backward_pass.unit_coefficients),
        )
        return
    region = region_of(run, subproblems[0], batch, planes)
    result = ascend_planes(run.prepared, batch, dual, backward, region, annealing, run.budget)
    unfinished = (result.backward_pass.bound <= 0) & result.beyond_splits
    if len(unfinished_at := np.flatnonzero(unfinished)):
        _ascend_again(
            run,
            [subproblems[i] for i in unfinished_at],
            batch.take(unfinished_at),
            result.take(unfinished_at),
            region,
        )
        finished = np.flatnonzero(~unfinished)
        subproblems = [subproblems[i] for i in finished]
        batch = batch.take(finished)
        result = result.take(finished)
    if subproblems:
        _attack_and_conclude(run, subproblems, batch, result)


def _ascend_again(
    run: BranchRun,
    subproblems: list[Subproblem],
    batch: BoundBatch,
    result: PlaneAscentBounds,
    region: NormalisedRegion,
) -> None:
    """A longer ascent where no split would help, as the lower lines of maxima have not
    converged."""
    result = ascend_planes(
        run.prepared,
        batch,
        result.dual,
        result.backward_pass,
        region,
        run.settings.plane_ascent.further,
        run.budget,
    )
    _attack_and_conclude(run, subproblems, batch, result)


def _attack_and_conclude(
    run: BranchRun, subproblems: list[Subproblem], batch: BoundBatch, result: PlaneAscentBounds
) -> None:
    attack_around(run, subproblems, result.points)
    conclude(run, subproblems, batch, result.dual, result.backward_pass, result.branching_scores)


def attack_around(run: BranchRun, subproblems: list[Subproblem], points: Floats) -> None:
    """Test these points, and those that PGD reaches from the ones with the lowest margins."""
    problem = run.prepared.problem
    settings = run.settings.attacks
    rivals = np.array([subproblem.rival for subproblem in subproblems])
    run.test_points(subproblems, points)
    if pgd_applies(problem) and not run.is_answered(subproblems[0]):
        lowest = np.argsort(margins(problem, points, rivals), kind="stable")[: settings.starts]
        free = np.concatenate([movable_words(subproblems[i].inputs) for i in lowest])
        run.test_points(
            [subproblems[i] for i in lowest],
            pgd(problem, free, points[lowest], rivals[lowest], settings.pgd_steps // 2).point,
        )


# --- where planes ascend ---


def region_of(
    run: BranchRun, subproblem: Subproblem, batch: BoundBatch, planes: MaxPlanes
) -> NormalisedRegion:
    """The normalised region of this set of free words, made once in a run."""
    assert isinstance(subproblem.inputs, Free)
    key = subproblem.inputs.free.tobytes()
    if key not in run.regions:
        with_lower_line, contenders = _lower_line_maxima(run, batch)
        run.regions[key] = NormalisedRegion.of(
            run.settings,
            run.prepared.steps[0],
            planes,
            with_lower_line,
            subproblem.inputs.free[0],
            contenders,
        )
    return run.regions[key]


def _restorations_of(
    run: BranchRun, subproblem: Subproblem, batch: BoundBatch, planes: MaxPlanes
) -> NormalisedRestorations:
    """The restorations of this query's perturbed text as an ascent needs them, made once in a
    run."""
    if subproblem.query not in run.restorations:
        root = run.query_of(subproblem).roots[0]
        assert isinstance(root.inputs, Restorations)
        with_lower_line, contenders = _lower_line_maxima(run, batch)
        run.restorations[subproblem.query] = NormalisedRestorations.of(
            run.settings,
            run.prepared.steps[0],
            planes,
            with_lower_line,
            root.inputs,
            contenders,
        )
    return run.restorations[subproblem.query]


def _lower_line_maxima(run: BranchRun, batch: BoundBatch) -> tuple[Ints, Bools]:
    """The maxima of the first step that may take a lower line, and a mask of its contending
    units."""
    first_step = run.prepared.steps[0]
    assert first_step.groups is not None
    assert batch.bounds.contenders is not None
    with_lower_line = np.isin(
        first_step.groups.leaders,
        units_taking_upper(run.prepared, -run.sign, first_step.groups.leaders),
    )
    return np.flatnonzero(with_lower_line), np.asarray(
        batch.bounds.contenders[:, : len(first_step.bias)].any(0)
    )

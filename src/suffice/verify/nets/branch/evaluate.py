"""What becomes of bounded subproblems: closed, attacked, reopened, or solved as leaves.

Method: BaBSR scores with the gap at the relaxed minimiser added (theory, section 5).
"""

from __future__ import annotations

import numpy as np

from suffice.model.network import Floats
from suffice.verify.contract import Refuted, Unknown
from suffice.verify.exact import confirm
from suffice.verify.nets.branch.branch_run import BranchRun, only_maxima
from suffice.verify.nets.branch.subproblem import Subproblem, close
from suffice.verify.nets.crown import (
    BackwardPass,
    BoundBatch,
    Dual,
    IntermediateBounds,
    backward_bound,
    branching_scores,
    canonical_dual,
    margin_rows,
    room,
)
from suffice.verify.nets.crown.relu_planes import ReluPlanes
from suffice.verify.nets.enumeration import enumerable
from suffice.verify.nets.leaf_lp import solve_leaf_lp
from suffice.verify.tolerances import MIN_SPLIT_SCORE


def conclude(
    run: BranchRun,
    subproblems: list[Subproblem],
    batch: BoundBatch,
    dual: Dual,
    backward: BackwardPass,
    first_scores: Floats | None = None,
) -> None:
    """Close what is proved; attack the rest, and reopen it with split scores (`first_scores`: of
    the first step)."""
    run.test_points(subproblems, batch.inputs.minimiser(backward.input_coefficients))
    scores = _split_scores(run, batch, dual, backward, first_scores)
    canonical = (
        canonical_dual(run.prepared, batch.bounds, dual) if (backward.bound > 0).any() else dual
    )
    for i, subproblem in enumerate(subproblems):
        subproblem.bound = float(backward.bound[i])
        subproblem.dual = dual.take(slice(i, i + 1))
        if subproblem.bound > 0:
            close(subproblem, canonical, backward, batch.planes, i)
        else:
            subproblem.split_scores = scores[i]
            subproblem.input_row = backward.input_coefficients[i]
            if _tight(subproblem):
                subproblem.split_scores = room(
                    run.prepared, batch.take(np.array([i])), backward.take(np.array([i]))
                )[0]
            _reopen(run, subproblem, batch.bounds, i)


def _tight(part: Subproblem) -> bool:
    """Whether nothing is given away where its bound is attained: lines that are not the best may be
    so all the same.
    """
    assert part.split_scores is not None
    assert part.input_row is not None
    return (
        not part.split_scores.any()
        and part.inputs.branching_word(part.input_row, any_word=True) is None
    )


def _split_scores(
    run: BranchRun,
    batch: BoundBatch,
    dual: Dual,
    backward: BackwardPass,
    first_scores: Floats | None,
) -> Floats:
    """Branching scores (n, units): negative coefficient times the chord's intercept, plus a part of
    the gap."""
    if first_scores is not None and not np.isfinite(first_scores).all():  # beyond single precision
        first_scores = None
    settings = run.settings.branching
    bounds = batch.bounds
    maxima_known = first_scores is not None and only_maxima(run.prepared)
    gaps = (
        np.zeros_like(backward.unit_coefficients)
        if maxima_known
        else branching_scores(run.prepared, batch, backward, dual)
    )
    if first_scores is not None:
        pooled = np.flatnonzero(run.prepared.steps[0].pooled)
        gaps[:, pooled] = first_scores[:, pooled]
    scores = np.where(
        bounds.unstable,
        np.abs(np.minimum(backward.unit_coefficients, 0.0)) * bounds.upper_intercept,
        settings.gap_weight * gaps,
    )
    if isinstance(batch.planes, ReluPlanes):  # planes give away far less than chords do
        scores[:, batch.planes.units] = gaps[:, batch.planes.units]
    scores = scores + settings.gap_share * gaps + MIN_SPLIT_SCORE
    return np.where(bounds.splittable(run.prepared), scores, gaps)


def _reopen(run: BranchRun, subproblem: Subproblem, bounds: IntermediateBounds, item: int) -> None:
    """Put an open subproblem back on the frontier, or solve it as a leaf when nothing is left to
    split."""
    query = run.query_of(subproblem)
    assert subproblem.split_scores is not None
    assert subproblem.input_row is not None
    if query.answer is not None:
        return
    if (
        subproblem.split_scores.any()
        or subproblem.inputs.branching_word(subproblem.input_row, any_word=True) is not None
    ):
        query.frontier.append(subproblem)
    elif (
        not _solve_leaf(run, subproblem, bounds.take(slice(item, item + 1)))
        and query.answer is None
    ):
        query.unsplittable += 1
        if query.unsplittable == run.settings.branching.small_round:
            query.answer = Unknown(run.unsplittable_reason)


def _solve_leaf(run: BranchRun, subproblem: Subproblem, bounds: IntermediateBounds) -> bool:
    """All relus are linear here: better multipliers or a flip decide it. False when neither
    does."""
    inputs = subproblem.inputs.as_free
    if inputs is None or not inputs.free.any() or run.prepared.curved is not None:
        # a single point that the rounding error leaves open stays open, as do smooth curves
        return False
    solution = solve_leaf_lp(run.prepared, inputs, bounds, subproblem.signs, subproblem.rival)
    if solution is None:
        return False
    dual, point, shares = solution
    rows = margin_rows(run.prepared, np.array([subproblem.rival]), run.sign)
    backward = backward_bound(
        run.prepared, BoundBatch(inputs, bounds, rows, subproblem.signs[None]), dual
    )
    if backward.bound[0] > 0:
        subproblem.bound = float(backward.bound[0])
        close(subproblem, canonical_dual(run.prepared, bounds, dual), backward, None, 0)
        return True
    if point is None:
        return False
    mixed = None if shares is None else shares[None]
    witness = confirm(run.prepared.problem, point[None], inputs.free, mixed)[0]
    if witness is not None:
        run.query_of(subproblem).answer = Refuted(witness)
    return witness is not None


def enumerate_inputs(run: BranchRun, subproblem: Subproblem) -> bool:
    """Where few inputs are left, run all of them: the subproblem is closed, or its query
    answered."""
    inputs = (
        None
        if subproblem.not_enumerable or run.is_answered(subproblem)
        else enumerable(run.prepared, subproblem.inputs)
    )
    if inputs is None:
        subproblem.not_enumerable = True
        return run.is_answered(subproblem)
    margins = run.sign * inputs.margins(subproblem.rival, run.budget)
    if (margins > inputs.error(subproblem.rival)).all():
        subproblem.bound = float(margins.min())
        subproblem.proof = inputs.tree
        subproblem.closed = True
        return True
    lowest = np.argsort(margins, kind="stable")[: run.settings.attacks.starts]
    run.test_points([subproblem] * len(lowest), inputs.points(lowest))
    return run.is_answered(subproblem)

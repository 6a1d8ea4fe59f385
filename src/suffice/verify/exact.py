"""Scores that rounding cannot spoil: the forward pass with an error bound, and exact integers.

Method: forward error analysis after Higham, then exact rational arithmetic (theory, section 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from suffice.model.curves import CURVES, FUZZ, Curve
from suffice.model.network import Bools, Floats, Network
from suffice.model.step import Ints, is_sparse
from suffice.sets.regions import Hull
from suffice.settings import RESOURCES
from suffice.verify.contract import Problem, Witness
from suffice.verify.nets.crown import prepared_original
from suffice.verify.tolerances import (
    ERROR_FACTOR,
    FORWARD_FACTOR,
    FORWARD_TERMS,
    MIXTURE_ROUNDING,
    UNDERFLOW_ERROR,
    UNIT_ROUNDOFF,
    WIDENING,
)


def scores_with_error(
    network: Network, points: Floats, input_error: float = 0.0
) -> tuple[Floats, Floats]:
    """Scores (n, classes) of inputs and how far each can be from the real-number network's.

    `input_error` bounds how far the inputs themselves may be from the points that are meant.
    """
    values = points.reshape(len(points), network.inputs)
    error = np.full(values.shape, input_error)
    for step in network.steps:
        gamma = FORWARD_FACTOR * (step.weight.shape[1] + FORWARD_TERMS) * UNIT_ROUNDOFF
        magnitude = step.magnified(np.abs(values)) + np.abs(step.bias)
        carried_error = step.magnified(error) if error.any() else 0.0
        error = carried_error * (1 + gamma) + gamma * magnitude + UNDERFLOW_ERROR
        z = step.apply(values)
        values = step.activate(z)
        for name, units in step.curves:
            error[:, units] = _curve_error(
                CURVES[name], z[:, units], values[:, units], error[:, units]
            )
        if (
            step.groups is not None
        ):  # the largest is off by no more than the candidate that is off most
            step.groups.put(step.groups.highest(error[:, step.groups.units]), error)
    return values, error


def _curve_error(curve: Curve, z: Floats, values: Floats, error: Floats) -> Floats:
    return error * curve.steep(z - error, z + error) * (1 + UNIT_ROUNDOFF) + FUZZ * (
        1 + np.abs(z) + np.abs(values)
    )


def exact_scores(network: Network, point: Floats) -> list[Fraction]:
    """Scores of one input in exact rational arithmetic (integers scaled by powers of two); none for
    smooth curves.
    """
    if network.curved:
        raise ValueError("a network with smooth curves has no exact scores")
    values, scale = _scaled_integers(point.ravel())
    for step in network.steps:
        product, weight_scale = _product(step.weight, values)
        bias, bias_scale = _scaled_integers(step.bias)
        total = weight_scale + scale
        shift = max(bias_scale, total)
        sums = product * (1 << (shift - total)) + bias * (1 << (shift - bias_scale))
        values = np.where(step.relu & (sums < 0), 0, sums)
        for group in step.maxima:
            values[group], values[group[0]] = 0, max(sums[group])
        scale = shift
    return [Fraction(int(v), 1 << scale) for v in values]


def _product(
    weight: Floats, values: np.typing.NDArray[np.object_]
) -> tuple[np.typing.NDArray[np.object_], int]:
    """weight @ values in integers, and the exponent that the weight's integers have."""
    entries = _nonzero_entries(weight)
    nonzero = (values != 0)[entries[1]]  # places without a word are zeros, often most of them
    rows, columns, values_there = (part[nonzero] for part in entries)
    integers, scale = _scaled_integers(values_there)
    sums = np.zeros(weight.shape[0], dtype=object)
    np.add.at(sums, rows, integers * values[columns])
    return sums, scale


def _nonzero_entries(weight: Floats) -> tuple[Ints, Ints, Floats]:
    """The rows, columns and values of what is not zero."""
    if is_sparse(weight):
        coordinates: Any = weight.tocoo()  # type: ignore[attr-defined]
        return coordinates.row, coordinates.col, coordinates.data
    rows, columns = weight.nonzero()
    return rows, columns, weight[rows, columns]


def has_exact_scores(network: Network) -> bool:
    """Whether exact scores exist and take no longer than a moment."""
    return not network.curved and network.weights <= RESOURCES.exact_weights


def predicted_class(network: Network, point: Floats) -> int:
    """The class with the highest score in real arithmetic; of equal ones the first."""
    scores, error = scores_with_error(network, point[None])
    best = int(scores[0].argmax())
    close = scores[0] + error[0] >= scores[0, best] - error[0, best]
    if not np.isfinite(scores).all() or close.sum() == 1 or not has_exact_scores(network):
        return best
    exact = exact_scores(network, point)
    return exact.index(max(exact))


def _scaled_integers(array: Floats) -> tuple[np.typing.NDArray[np.object_], int]:
    """Python integers n and one exponent e with array = n / 2**e, exactly."""
    ratios = [value.as_integer_ratio() for value in array.ravel().tolist()]
    scale = max((bottom.bit_length() - 1 for _, bottom in ratios), default=0)
    integers = np.empty(len(ratios), dtype=object)
    integers[:] = [top << (scale - bottom.bit_length() + 1) for top, bottom in ratios]
    return integers.reshape(array.shape), scale


def confirm(
    problem: Problem,
    points: Floats,
    free: Bools,
    shares: Floats | None = None,
    target_rivals: Sequence[int] | None = None,
) -> list[Witness | None]:
    """For each point a Witness, if it changes no more than it may, lies in the region and does not
    keep the label.

    It may change free words only, and as many as may change at once. Floats decide where the error
    bound lets them, exact arithmetic where it does not (there is none for smooth curves, and for
    very large networks); a tie does not keep the label. `shares` give points of a hull as mixtures
    of corners, which then need not be representable. `target_rivals` are the rivals (by their place
    in `problem.rivals`) that count; all when None.
    """
    if not len(points):
        return []
    if problem.one_hot is not None:
        return _confirm_one_hot(problem, points, free, target_rivals)
    changed = (points != problem.center).any(-1)
    mixed = isinstance(problem.region, Hull) and shares is not None
    rivals = [
        problem.rivals[i]
        for i in (range(len(problem.rivals)) if target_rivals is None else target_rivals)
    ]
    margins, error = _margins_with_slack(problem, points, rivals, mixed)
    allowed = _allowed(problem, points, free, changed, in_region=shares is not None)
    found: list[Witness | None] = [None] * len(points)
    for i in np.flatnonzero(allowed & (margins - error <= 0).any(-1)):
        winner = _certain_rival(margins[i], error[i])
        if winner is None and not mixed and has_exact_scores(problem.full_network):
            winner = _exact_rival(problem, points[i], rivals)
        if winner is not None:
            positions = tuple(int(j) for j in np.flatnonzero(changed[i]))
            mixture = None if shares is None else _mixture(shares[i], changed[i])
            found[i] = Witness(
                points[i], positions, rivals[winner], float(margins[i, winner]), mixture
            )
    return found


def _allowed(
    problem: Problem, points: Floats, free: Bools, changed: Bools, in_region: bool
) -> Bools:
    """Which points (n,) are finite, in the region (taken for granted if `in_region`) and change
    what they may."""
    inside = np.ones_like(changed) if in_region else problem.region.contains(points)
    changes_allowed = ~(changed & ~(free & inside)).any(-1)
    return np.asarray(
        np.isfinite(points).all((-1, -2))
        & changes_allowed
        & (changed.sum(-1) <= problem.max_changes)
    )


def _margins_with_slack(
    problem: Problem, points: Floats, rivals: Sequence[int], mixed: bool
) -> tuple[Floats, Floats]:
    """Margins (n, rivals) of points, and how far floats may be off; `mixed` points are mixtures of
    a hull's corners.
    """
    input_error = 0.0
    if mixed:
        assert isinstance(problem.region, Hull)
        input_error = (
            MIXTURE_ROUNDING * float(np.abs(points).max()) * problem.region.points.shape[1]
        )
    scores, score_errors = scores_with_error(problem.full_network, points, input_error)
    margin_error = (score_errors[:, [problem.label]] + score_errors[:, rivals]) * (1 + WIDENING)
    return scores[:, [problem.label]] - scores[:, rivals], margin_error


def _certain_rival(margins: Floats, error: Floats) -> int | None:
    """The place of the rival that leads most, among those whose error bound is below their lead;
    else None."""
    certain = margins + error <= 0
    return int(np.where(certain, margins, np.inf).argmin()) if certain.any() else None


def _confirm_one_hot(
    problem: Problem, points: Floats, free: Bools, target_rivals: Sequence[int] | None
) -> list[Witness | None]:
    """The same in one-hot coordinates, whose sums are the original's within its error bound.

    Where that leaves it open, the decoded input is run through the original network.
    """
    one_hot = problem.one_hot
    assert one_hot is not None
    changed = (points != problem.center).any(-1)
    allowed = (
        problem.region.contains(points).all(-1)
        & ~(changed & ~free).any(-1)
        & (changed.sum(-1) <= problem.max_changes)
    )
    rival_places = list(range(len(problem.rivals)) if target_rivals is None else target_rivals)
    margins = problem.margins(points)[:, rival_places]
    error = ERROR_FACTOR * prepared_original(one_hot.original).margin_error[rival_places]
    found: list[Witness | None] = [None] * len(points)
    for i in np.flatnonzero(allowed & (margins - error <= 0).any(-1)):
        best = int((margins[i] + error).argmin())
        if margins[i, best] + error[best] <= 0:
            positions = tuple(int(j) for j in np.flatnonzero(changed[i]))
            found[i] = Witness(
                points[i], positions, problem.rivals[rival_places[best]], float(margins[i, best])
            )
        else:
            witness = confirm(
                one_hot.original,
                one_hot.decode(points[i : i + 1]),
                free[i : i + 1],
                target_rivals=target_rivals,
            )[0]
            found[i] = None if witness is None else replace(witness, point=points[i])
    return found


def _mixture(shares: Floats, changed: Bools) -> Floats:
    """The shares (length, corners) of a point: words that stay as they are have all of the first
    corner.
    """
    return np.where(changed[:, None], shares, np.arange(shares.shape[1]) == 0)


def _exact_rival(problem: Problem, point: Floats, rivals: Sequence[int]) -> int | None:
    """The place of a rival that reaches the label in exact arithmetic, if any does."""
    scores = exact_scores(problem.full_network, point)
    gaps = [scores[problem.label] - scores[j] for j in rivals]
    best = min(range(len(gaps)), key=gaps.__getitem__)
    return best if gaps[best] <= 0 else None

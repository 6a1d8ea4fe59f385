"""Scores that rounding cannot spoil: the forward pass with an error bound, and exactly in integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from suffice.model.curves import CURVES, FUZZ, Curve
from suffice.model.network import Bools, Floats, Network
from suffice.model.step import Ints, is_sparse
from suffice.prove.bounds import form_of_source
from suffice.prove.verdict import Problem, Witness
from suffice.sets.regions import Hull

ROUND = 2.0**-53
LARGE = 3_000_000  # weights beyond which a single input would take many seconds in exact arithmetic
APART = 4  # times what a margin can be off by that it must be away from zero to count in other coordinates
UNDERFLOW = 2.0**-1022  # more than all that a sum of products can lose below the smallest normal number


def scores_with_error(network: Network, points: Floats, input_error: float = 0.0) -> tuple[Floats, Floats]:
    """Scores (n, classes) of inputs and how far each can be from the real-number network's.

    `input_error` bounds how far the inputs themselves may be from the points that are meant.
    """
    values = points.reshape(len(points), network.inputs)
    error = np.full(values.shape, input_error)
    for step in network.steps:
        gamma = 2 * (step.weight.shape[1] + 4) * ROUND
        size = step.magnified(np.abs(values)) + np.abs(step.bias)
        carried = step.magnified(error) if error.any() else 0.0
        error = carried * (1 + gamma) + gamma * size + UNDERFLOW
        z = step.apply(values)
        values = step.activate(z)
        for name, units in step.curves:
            error[:, units] = _curve_error(CURVES[name], z[:, units], values[:, units], error[:, units])
        if step.groups is not None:  # the largest is off by no more than the candidate that is off most
            step.groups.put(step.groups.highest(error[:, step.groups.units]), error)
    return values, error


def _curve_error(curve: Curve, z: Floats, values: Floats, error: Floats) -> Floats:
    return error * curve.steep(z - error, z + error) * (1 + ROUND) + FUZZ * (1 + np.abs(z) + np.abs(values))


def exact_scores(network: Network, point: Floats) -> list[Fraction]:
    """Scores of one input in exact rational arithmetic (integers scaled by powers of two); none for smooth curves."""
    if network.curved:
        raise ValueError("a network with smooth curves has no exact scores")
    values, scale = _integers(point.ravel())
    for step in network.steps:
        product, weight_scale = _product(step.weight, values)
        bias, bias_scale = _integers(step.bias)
        total = weight_scale + scale
        shift = max(bias_scale, total)
        sums = product * (1 << (shift - total)) + bias * (1 << (shift - bias_scale))
        values = np.where(step.relu & (sums < 0), 0, sums)
        for group in step.maxima:
            values[group], values[group[0]] = 0, max(sums[group])
        scale = shift
    return [Fraction(int(v), 1 << scale) for v in values]


def _product(weight: Floats, values: np.typing.NDArray[np.object_]) -> tuple[np.typing.NDArray[np.object_], int]:
    """weight @ values in integers, and the exponent that the weight's integers have."""
    entries = _entries(weight)
    counted = (values != 0)[entries[1]]  # places without a word are zeros, often most of them
    rows, columns, stored = (part[counted] for part in entries)
    whole, scale = _integers(stored)
    sums = np.zeros(weight.shape[0], dtype=object)
    np.add.at(sums, rows, whole * values[columns])
    return sums, scale


def _entries(weight: Floats) -> tuple[Ints, Ints, Floats]:
    """The rows, columns and values of what is not zero."""
    if is_sparse(weight):
        listed: Any = weight.tocoo()  # type: ignore[attr-defined]
        return listed.row, listed.col, listed.data
    rows, columns = weight.nonzero()
    return rows, columns, weight[rows, columns]


def exactly(network: Network) -> bool:
    """Whether exact scores exist and take no longer than a moment."""
    return not network.curved and network.weights <= LARGE


def predicted(network: Network, point: Floats) -> int:
    """The class with the highest score in real arithmetic; of equal ones the first."""
    scores, error = scores_with_error(network, point[None])
    best = int(scores[0].argmax())
    close = scores[0] + error[0] >= scores[0, best] - error[0, best]
    if not np.isfinite(scores).all() or close.sum() == 1 or not exactly(network):
        return best
    exact = exact_scores(network, point)
    return exact.index(max(exact))


def _integers(array: Floats) -> tuple[np.typing.NDArray[np.object_], int]:
    """Python integers n and one exponent e with array = n / 2**e, exactly."""
    ratios = [value.as_integer_ratio() for value in array.ravel().tolist()]
    scale = max((bottom.bit_length() - 1 for _, bottom in ratios), default=0)
    whole = np.empty(len(ratios), dtype=object)
    whole[:] = [top << (scale - bottom.bit_length() + 1) for top, bottom in ratios]
    return whole.reshape(array.shape), scale


def confirm(
    problem: Problem,
    points: Floats,
    free: Bools,
    shares: Floats | None = None,
    aims: Sequence[int] | None = None,
) -> list[Witness | None]:
    """For each point a Witness, if it changes no more than it may, lies in the region and does not keep the label.

    It may change free words only, and as many as may change at once. Floats decide where the error bound lets them,
    exact arithmetic where it does not (there is none for smooth curves, and for very large networks); a tie does not
    keep the label. `shares` give points of a hull as mixtures of corners, which then need not be representable. `aims`
    are the rivals (by their place in `problem.rivals`) that count; all when None.
    """
    if not len(points):
        return []
    if problem.source is not None:
        return _confirm_at_source(problem, points, free, aims)
    changed = (points != problem.center).any(-1)
    mixed = isinstance(problem.region, Hull) and shares is not None
    rivals = [problem.rivals[i] for i in (range(len(problem.rivals)) if aims is None else aims)]
    margins, slack = _margins_with_slack(problem, points, rivals, mixed)
    sound = _allowed(problem, points, free, changed, members=shares is not None)
    found: list[Witness | None] = [None] * len(points)
    for i in np.flatnonzero(sound & (margins - slack <= 0).any(-1)):
        winner = _sure_rival(margins[i], slack[i])
        if winner is None and not mixed and exactly(problem.real):
            winner = _exact_rival(problem, points[i], rivals)
        if winner is not None:
            positions = tuple(int(j) for j in np.flatnonzero(changed[i]))
            mixture = None if shares is None else _mixture(shares[i], changed[i])
            found[i] = Witness(points[i], positions, rivals[winner], float(margins[i, winner]), mixture)
    return found


def _allowed(problem: Problem, points: Floats, free: Bools, changed: Bools, members: bool) -> Bools:
    """Which points (n,) are finite, in the region (unless they are `members` anyway) and change what they may."""
    inside = np.ones_like(changed) if members else problem.region.contains(points)
    within = ~(changed & ~(free & inside)).any(-1)
    return np.asarray(np.isfinite(points).all((-1, -2)) & within & (changed.sum(-1) <= problem.limit))


def _margins_with_slack(problem: Problem, points: Floats, rivals: Sequence[int], mixed: bool) -> tuple[Floats, Floats]:
    """Margins (n, rivals) of points, and how far floats may be off; `mixed` points are mixtures of a hull's corners."""
    doubt = 0.0
    if mixed:
        assert isinstance(problem.region, Hull)
        doubt = 64 * ROUND * float(np.abs(points).max()) * problem.region.points.shape[1]
    scores, error = scores_with_error(problem.real, points, doubt)
    slack = (error[:, [problem.label]] + error[:, rivals]) * (1 + 1e-9)
    return scores[:, [problem.label]] - scores[:, rivals], slack


def _sure_rival(margins: Floats, slack: Floats) -> int | None:
    """The place of the rival that leads most of those that reach the label for sure."""
    sure = margins + slack <= 0
    return int(np.where(sure, margins, np.inf).argmin()) if sure.any() else None


def _confirm_at_source(
    problem: Problem, points: Floats, free: Bools, aims: Sequence[int] | None
) -> list[Witness | None]:
    """The same for coordinates of choices, whose sums are the original's within what it can be off by.

    Where that leaves it open, the input that a point stands for is run through the original network.
    """
    source = problem.source
    assert source is not None
    changed = (points != problem.center).any(-1)
    sound = problem.region.contains(points).all(-1) & ~(changed & ~free).any(-1) & (changed.sum(-1) <= problem.limit)
    places = list(range(len(problem.rivals)) if aims is None else aims)
    margins, doubt = problem.margins(points)[:, places], APART * form_of_source(source.problem).off[places]
    found: list[Witness | None] = [None] * len(points)
    for i in np.flatnonzero(sound & (margins - doubt <= 0).any(-1)):
        best = int((margins[i] + doubt).argmin())
        if margins[i, best] + doubt[best] <= 0:
            positions = tuple(int(j) for j in np.flatnonzero(changed[i]))
            found[i] = Witness(points[i], positions, problem.rivals[places[best]], float(margins[i, best]))
        else:
            real = confirm(source.problem, source.lift(points[i : i + 1]), free[i : i + 1], aims=aims)[0]
            found[i] = None if real is None else replace(real, point=points[i])
    return found


def _mixture(shares: Floats, changed: Bools) -> Floats:
    """The shares (length, corners) of a point: words that stay as they are have all of the first corner."""
    return np.where(changed[:, None], shares, np.arange(shares.shape[1]) == 0)


def _exact_rival(problem: Problem, point: Floats, rivals: Sequence[int]) -> int | None:
    """The place of a rival that reaches the label in exact arithmetic, if any does."""
    scores = exact_scores(problem.real, point)
    gaps = [scores[problem.label] - scores[j] for j in rivals]
    best = min(range(len(gaps)), key=gaps.__getitem__)
    return best if gaps[best] <= 0 else None

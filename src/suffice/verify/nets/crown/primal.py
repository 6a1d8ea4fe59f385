"""The primal side of a backward bound: the point where it is attained, and the gap at every unit.

The gaps, weighted by the coefficients of the row, are the scores of the units that a search may
split on.

Method: relaxed minimiser (theory, section 2); branching scores after BaBSR (theory, section 5).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Groups
from suffice.verify.nets.crown.backward import BackwardPass, BoundBatch, replaced_units
from suffice.verify.nets.crown.dual import Dual, steps_with_maxima
from suffice.verify.nets.crown.max_planes import MaxPlanes
from suffice.verify.nets.crown.prepared import PreparedProblem


@dataclass(frozen=True, eq=False)
class PrimalPoint:
    """The point where each bound is attained, run through the relaxed network: all arrays (n,
    units).

    `pre_activations` and `activations` are before and after the lines of each unit; `plane_terms`
    (n, m, k) is what one whole share of each part of the input adds there to the planes of the
    first step.
    """

    pre_activations: Floats
    activations: Floats
    plane_terms: Floats | None = None


def relaxed_forward(
    prepared: PreparedProblem, batch: BoundBatch, backward_pass: BackwardPass, dual: Dual
) -> PrimalPoint:
    """The minimiser of each item run through the relaxed network, along the lines of its pass."""
    bounds, takes_lower, (lower_slope, upper_slope, upper_intercept) = (
        batch.bounds,
        backward_pass.unit_coefficients > 0,
        backward_pass.lines,
    )
    slope = np.where(takes_lower, lower_slope, upper_slope)
    intercept = np.where(
        takes_lower,
        0.0 if bounds.lower_intercept is None else bounds.lower_intercept,
        upper_intercept,
    )
    points = batch.inputs.minimiser(backward_pass.input_coefficients)
    activations = points.reshape(len(slope), -1)
    plane_terms = None
    pre_activations = np.empty_like(slope)
    all_activations = np.empty_like(slope)
    for step, columns in zip(prepared.steps, prepared.slices, strict=True):
        pre_activations[:, columns] = step.apply(activations)
        activations = slope[:, columns] * pre_activations[:, columns] + intercept[:, columns]
        if (
            columns.start == 0
            and backward_pass.planes_taken is not None
            and batch.planes is not None
            and dual.plane_shares is not None
        ):
            plane_terms = batch.planes.terms_at(points)
            plane_units = batch.planes.units
            plane_values = (
                np.einsum("nmk,nmk->nm", dual.plane_shares, plane_terms)
                + backward_pass.planes_taken.offsets
            )
            if isinstance(batch.planes, MaxPlanes):
                plane_values += batch.planes.base_value(points)
            replaced, taken = replaced_units(
                batch.planes, backward_pass.planes_taken.coefficients < 0
            )
            activations[:, replaced] = np.where(taken, 0.0, activations[:, replaced])
            activations[:, plane_units] = np.where(
                backward_pass.planes_taken.coefficients < 0,
                plane_values,
                activations[:, plane_units],
            )
        if step.groups is not None:
            step.groups.put(step.groups.total(activations[:, step.groups.units]), activations)
        all_activations[:, columns] = activations
    return PrimalPoint(pre_activations, all_activations, plane_terms)


def branching_scores(
    prepared: PreparedProblem, batch: BoundBatch, backward_pass: BackwardPass, dual: Dual
) -> Floats:
    """Branching scores (n, units): |coefficient| times the gap between line and unit at the relaxed
    minimiser.

    Of a maximum, the score stands at the candidate to split on. Units that no split can improve
    have 0.
    """
    primal = relaxed_forward(prepared, batch, backward_pass, dual)
    exact = np.maximum(primal.pre_activations, 0.0)
    for step, columns in zip(prepared.steps, prepared.slices, strict=True):
        if step.curves or step.maxima:
            exact[:, columns] = step.activate(primal.pre_activations[:, columns])
    gaps = np.abs(backward_pass.unit_coefficients * (primal.activations - exact))
    scores = np.where(batch.bounds.splittable(prepared), gaps, 0.0)
    for step_index, groups, candidate_units, likely_winner in _to_split(
        prepared, batch, backward_pass
    ):
        leaders = prepared.slices[step_index].start + groups.leaders
        scores[:, candidate_units] = np.where(likely_winner, gaps[:, leaders][:, groups.group], 0.0)
    return scores


def room(form: PreparedProblem, batch: BoundBatch, found: BackwardPass) -> Floats:
    """How much lines above open maxima could give away at most, at the candidates to split on (n,
    units).
    """
    result = np.zeros_like(found.unit_coefficients)
    for place, groups, at, top in _to_split(form, batch, found):
        range_ = batch.bounds.candidates(form, place)
        leaders = form.slices[place].start + groups.leaders
        widest = (range_.upper - range_.lower) * np.abs(found.unit_coefficients[:, leaders])[
            :, groups.group
        ]
        result[:, at] = np.where(top, widest, 0.0)
    return result


def _to_split(
    form: PreparedProblem, batch: BoundBatch, found: BackwardPass
) -> Iterator[tuple[int, Groups, Ints, Bools]]:
    """For the maxima of each step: where its candidates are, and which is the highest of an open
    line above.

    Splits bring the line above closer; below, shares are as good as it gets.
    """
    for place, groups, at in steps_with_maxima(form):
        range_ = batch.bounds.candidates(form, place)
        top = groups.winners(np.where(range_.contenders, range_.upper, -np.inf))
        leaders = form.slices[place].start + groups.leaders
        open_ = (found.unit_coefficients[:, leaders] < 0) & ~range_.decided
        yield place, groups, at, top & open_[:, groups.group]

"""Refinement of intermediate bounds: single hidden units bounded with slopes and planes of their
own, at the root.

Intermediate bounds come from one pass with the relaxation's own lines, and in wide networks that is
what makes the bound of the margin loose. Here the units that matter, those whose upper line the
margin takes, are bounded as if each were a margin. What is found holds everywhere below the root,
and a proof states it, with its evidence, before its tree.

Method: alpha-CROWN for chosen intermediate bounds (theory, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from suffice.model.network import Floats, Ints, Step
from suffice.verify.contract import Budget
from suffice.verify.nets.crown import (
    BoundBatch,
    IntermediateBounds,
    PreparedProblem,
    SpecRows,
    backward_bound,
    canonical_dual,
    dual_ascent,
    initial_dual,
    intermediate_bounds,
    step_bounds,
    written_planes,
)
from suffice.verify.nets.crown.relu_planes import ReluPlanes
from suffice.verify.nets.input_sets import Free, Interval, Restorations
from suffice.verify.proof_tree import Leaf, UnitBound


@dataclass(frozen=True, eq=False)
class RefinedBounds:
    """Bounds of all hidden units (units,), infinite where nothing better is known, and the proofs
    of the finite ones."""

    lower: Floats
    upper: Floats
    proofs: tuple[UnitBound, ...] = ()

    @staticmethod
    def unrefined(count: int) -> RefinedBounds:
        return RefinedBounds(np.full(count, -np.inf), np.full(count, np.inf))

    def intersected(self, bounds: Interval, columns: slice) -> Interval:
        """Bounds (n, units) of a step, intersected with the refined ones."""
        lower, upper = bounds
        return np.maximum(lower, self.lower[columns]), np.minimum(upper, self.upper[columns])

    def with_proof(self, proof: UnitBound) -> RefinedBounds:
        """With one more proved bound."""
        side = self.lower if proof.sign > 0 else self.upper
        side = np.where(np.arange(len(side)) == proof.unit, proof.value, side)
        proofs = (*self.proofs, proof)
        return (
            RefinedBounds(side, self.upper, proofs)
            if proof.sign > 0
            else RefinedBounds(self.lower, side, proofs)
        )


def refinable(prepared: PreparedProblem) -> bool:
    """Whether the network has relus only, in several hidden steps: then bounds of the later ones
    can be refined."""
    return len(prepared.steps) > 1 and prepared.curved is None and prepared.pooled is None


def refined_bounds(
    prepared: PreparedProblem, inputs: Free | Restorations, rows: SpecRows, budget: Budget
) -> RefinedBounds:
    """Refined bounds, over one input set, of the unstable units whose upper lines the margin's rows
    take."""
    refined = RefinedBounds.unrefined(prepared.unit_count)
    for step_index in range(1, len(prepared.steps)):
        bounds = intermediate_with(refined, prepared, inputs, budget)
        coefficients = backward_bound(
            prepared, BoundBatch(inputs, bounds, rows), None
        ).unit_coefficients[0]
        for unit in _units_by_gap(prepared, bounds, coefficients, step_index):
            refined = _refine_unit(prepared, inputs, bounds, step_index, int(unit), refined, budget)
    return refined


def intermediate_with(
    refined: RefinedBounds, prepared: PreparedProblem, inputs: Free | Restorations, budget: Budget
) -> IntermediateBounds:
    """Intermediate bounds, intersected with the refined ones."""

    def shortcut(step_index: int, earlier: IntermediateBounds) -> Interval:
        return refined.intersected(
            step_bounds(prepared, inputs, earlier, step_index, budget), prepared.slices[step_index]
        )

    return intermediate_bounds(prepared, inputs, shortcut=shortcut, budget=budget)


def _units_by_gap(
    prepared: PreparedProblem, bounds: IntermediateBounds, coefficients: Floats, step_index: int
) -> Ints:
    """The unstable units of a step with negative coefficients, those first whose upper lines cost
    most."""
    columns = prepared.slices[step_index]
    gaps = np.where(
        bounds.unstable[0, columns],
        np.minimum(coefficients[columns], 0.0) * bounds.upper_intercept[0, columns],
        0.0,
    )
    order = np.argsort(gaps, kind="stable")
    return np.asarray(columns.start + order[: np.count_nonzero(gaps)])


def _refine_unit(
    prepared: PreparedProblem,
    inputs: Free | Restorations,
    bounds: IntermediateBounds,
    step_index: int,
    unit: int,
    refined: RefinedBounds,
    budget: Budget,
) -> RefinedBounds:
    """With better bounds of one unit: first of the side closer to zero, as it may make the unit
    stable."""
    lower = bounds.lower[0, unit]
    upper = bounds.upper[0, unit]
    for sign in (1, -1) if upper > -lower else (-1, 1):
        if budget.exhausted or refined.lower[unit] >= 0 or refined.upper[unit] <= 0:
            break
        proof = _prove_bound(prepared, inputs, bounds, step_index, unit, sign, budget)
        if sign * proof.value > sign * (lower if sign > 0 else upper):
            refined = refined.with_proof(proof)
    return refined


def _prove_bound(
    prepared: PreparedProblem,
    inputs: Free | Restorations,
    bounds: IntermediateBounds,
    step_index: int,
    unit: int,
    sign: int,
    budget: Budget,
) -> UnitBound:
    """The best bound found of a unit from below (sign 1) or from above (-1), less the rounding
    error of its own sum."""
    row_index = unit - prepared.slices[step_index].start
    truncated = _truncated(prepared, step_index)
    row = sign * _weight_row(prepared.steps[step_index], row_index)
    magnitude = prepared.magnitude[step_index][[row_index]]
    planes = _first_step_planes(truncated, inputs, bounds, row[0])
    rows = SpecRows(row, sign * prepared.steps[step_index].bias[[row_index]], magnitude)
    batch = BoundBatch(inputs, _first_units(bounds, truncated.unit_count), rows, None, planes)
    dual = initial_dual(batch.bounds)
    if planes is not None:
        dual = replace(dual, plane_shares=planes.chord_shares(bounds.upper_slope))
    backward_pass, dual = dual_ascent(
        truncated,
        batch,
        dual,
        backward_bound(truncated, batch, dual),
        prepared.settings.ascent.refining_iterations,
        budget,
    )
    alpha = np.zeros(prepared.unit_count)
    alpha[: truncated.unit_count] = canonical_dual(truncated, batch.bounds, dual).alpha[0]
    leaf = Leaf(
        alpha, np.zeros(prepared.unit_count), written_planes(planes, dual, backward_pass, 0)
    )
    return UnitBound(
        unit, sign, float(sign * (backward_pass.bound[0] - prepared.gamma * magnitude[0])), leaf
    )


def _truncated(prepared: PreparedProblem, step_index: int) -> PreparedProblem:
    """The problem cut off before a step, whose units are the margins."""
    magnitude = prepared.magnitude[:step_index]
    interval = prepared.interval[:step_index]
    error_magnitude = prepared.error_magnitude[:step_index]
    return replace(
        prepared,
        steps=prepared.steps[:step_index],
        magnitude=magnitude,
        interval=interval,
        error_magnitude=error_magnitude,
    )


def _weight_row(step: Step, unit: int) -> Floats:
    row = step.weight[[unit]]
    return np.asarray(row.toarray() if hasattr(row, "toarray") else row)


def _first_units(bounds: IntermediateBounds, count: int) -> IntermediateBounds:
    """The bounds of the first `count` units."""
    floats = (
        bounds.lower,
        bounds.upper,
        bounds.lower_slope,
        bounds.upper_slope,
        bounds.upper_intercept,
    )
    lower, upper, lower_slope, upper_slope, upper_intercept = (array[:, :count] for array in floats)
    return IntermediateBounds(
        lower, upper, lower_slope, upper_slope, upper_intercept, bounds.unstable[:, :count]
    )


def _first_step_planes(
    truncated: PreparedProblem, inputs: Free | Restorations, bounds: IntermediateBounds, row: Floats
) -> ReluPlanes | None:
    """Planes of the unstable relus of the first step; with one step before it, of those the row
    takes from above."""
    units = np.flatnonzero(bounds.unstable[0, truncated.slices[0]])
    if len(truncated.steps) == 1:
        units = units[row[units] < 0]
    return ReluPlanes.of(truncated.steps[0], units, inputs, truncated.problem.region)

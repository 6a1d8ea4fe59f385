"""Backward bounds: one row per item carried back to the input, through lines that a dual may
choose.

Method: CROWN with slopes alpha, split multipliers beta and upper planes (theory, sections 2 and 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice import work
from suffice.model.network import Bools, Floats, Ints
from suffice.verify.nets.crown.dual import Dual, RelaxationLines, chosen_lines
from suffice.verify.nets.crown.intermediate import times_weight
from suffice.verify.nets.crown.max_planes import MaxPlanes
from suffice.verify.nets.crown.prepared import PreparedProblem
from suffice.verify.nets.crown.relaxation import IntermediateBounds, Signs
from suffice.verify.nets.crown.relu_planes import PlaneOffsets, PlanesTaken, ReluPlanes
from suffice.verify.nets.input_sets import Free, InputSets, Restorations
from suffice.verify.proof_tree import PlaneShares
from suffice.verify.tolerances import PLANE_ROUNDING_FACTOR


@dataclass(frozen=True, eq=False)
class SpecRows:
    """One linear form per item over the last hidden step, to be bounded from below (a specification
    row).

    `coefficients` (n, units of that step), `constant` (n,), and `magnitude` (n,), by which the
    rounding error of the form itself is measured.
    """

    coefficients: Floats
    constant: Floats
    magnitude: Floats

    def take(self, index: Ints | slice) -> SpecRows:
        return SpecRows(self.coefficients[index], self.constant[index], self.magnitude[index])


def margin_rows(prepared: PreparedProblem, rivals: Ints, sign: float = 1.0) -> SpecRows:
    """The margin against each item's rival (an index into `problem.rivals`), or its negative."""
    return SpecRows(
        sign * prepared.margin.dense()[rivals],
        sign * prepared.margin.bias[rivals],
        prepared.margin_magnitude[rivals],
    )


@dataclass(frozen=True, eq=False)
class BoundBatch:
    """Rows to be bounded, each over its input set and through its intermediate bounds; `signs` are
    the splits.

    Where there are `planes`, and the dual has shares of them, they stand for the upper lines of the
    first step.
    """

    inputs: InputSets
    bounds: IntermediateBounds
    rows: SpecRows
    signs: Signs | None = None
    planes: ReluPlanes | MaxPlanes | None = None

    def take(self, index: Ints | slice) -> BoundBatch:
        signs = None if self.signs is None else self.signs[index]
        return BoundBatch(
            self.inputs.take(index),
            self.bounds.take(index),
            self.rows.take(index),
            signs,
            self.planes,
        )

    @cached_property
    def plane_offsets(self) -> PlaneOffsets:
        """The offsets of the planes over the input sets of the batch."""
        assert self.planes is not None
        assert isinstance(self.inputs, Free | Restorations)
        if isinstance(self.planes, ReluPlanes):
            return self.planes.offsets_over(self.inputs)
        candidate_units = self.planes.candidates
        signs = None if self.signs is None else self.signs[:, candidate_units].astype(np.float64)
        contenders = self.planes.possible_winners(
            self.bounds.lower[:, candidate_units], self.bounds.upper[:, candidate_units], signs
        )
        return self.planes.offsets_over(self.inputs, contenders)

    @cached_property
    def plane_allowed(self) -> Bools:
        """Where a plane (n, m) may stand for a line: at unstable relus, and at maxima with several
        contenders."""
        assert self.planes is not None
        if isinstance(self.planes, ReluPlanes):
            return np.asarray(self.bounds.unstable[:, self.planes.units])
        assert self.bounds.contenders is not None
        contenders = self.bounds.contenders[:, self.planes.candidates].astype(np.float64)
        return np.asarray(self.planes.groups.total(contenders) > 1)


@dataclass(frozen=True, eq=False)
class BackwardPass:
    """One backward pass: the bound (n,) of each item and the rows that led to it.

    `unit_coefficients` (n, units) are the coefficients over every hidden unit, `input_coefficients`
    (n, length, dimension) those over the input; `lines` are the lines that were used, and
    `planes_taken` the planes.
    """

    bound: Floats
    unit_coefficients: Floats
    input_coefficients: Floats
    lines: RelaxationLines
    planes_taken: PlanesTaken | None = None

    def take(self, index: Ints | slice) -> BackwardPass:
        planes_taken, (lower_slope, upper_slope, upper_intercept) = (
            None if self.planes_taken is None else self.planes_taken.take(index),
            self.lines,
        )
        lines = lower_slope[index], upper_slope[index], upper_intercept[index]
        return BackwardPass(
            self.bound[index],
            self.unit_coefficients[index],
            self.input_coefficients[index],
            lines,
            planes_taken,
        )


def backward_bound(prepared: PreparedProblem, batch: BoundBatch, dual: Dual | None) -> BackwardPass:
    """Sound lower bound (n,) of one row per item over its input set.

    Without a `dual` the lines are the relaxation's own. It may hold anything finite: slopes are
    used on unstable units only and clipped to [0, 1], multipliers on split units only and clipped
    to >= 0.
    """
    work.count("backward_passes", len(batch.inputs))
    bounds = batch.bounds
    coefficients = batch.rows.coefficients
    constant = batch.rows.constant - prepared.gamma * batch.rows.magnitude
    lines = (
        (bounds.lower_slope, bounds.upper_slope, bounds.upper_intercept)
        if dual is None
        else chosen_lines(prepared, bounds, dual)
    )
    multiplier = None if dual is None else _multipliers(prepared, batch, dual)
    planes_taken: PlanesTaken | None = None
    unit_coefficients = np.empty_like(bounds.lower_slope)
    for k in range(len(prepared.steps) - 1, -1, -1):
        step = prepared.steps[k]
        columns = prepared.slices[k]
        coefficients = step.spread(coefficients)
        unit_coefficients[:, columns] = coefficients
        absolute = np.abs(coefficients)
        if k == 0 and dual is not None and dual.plane_shares is not None:
            planes_taken = _take_planes(batch, coefficients, dual.plane_shares)
            coefficients, absolute = _left_to_lines(coefficients, absolute, batch, planes_taken)
        coefficients, constant = _through_relaxation(
            coefficients, constant, columns, lines, bounds.lower_intercept
        )
        if multiplier is not None:
            coefficients = coefficients - multiplier[:, columns]
            absolute = absolute + np.abs(multiplier[:, columns])
        constant = constant - absolute @ prepared.error_rate[k] + coefficients @ step.bias
        coefficients = times_weight(coefficients, step)
    if (
        planes_taken is not None
        and dual is not None
        and dual.plane_shares is not None
        and batch.planes is not None
    ):
        coefficients, constant = _with_planes(
            coefficients, constant, planes_taken, batch.planes, dual.plane_shares
        )
    input_coefficients = coefficients.reshape(-1, *prepared.shape)
    anchor = batch.inputs.anchor.reshape(len(batch.inputs.anchor), -1)
    constant = (
        constant
        + _row_dots(coefficients, anchor)
        + batch.inputs.min_shift(input_coefficients[:, None])[:, 0]
    )
    return BackwardPass(
        np.where(np.isfinite(constant), constant, -np.inf),
        unit_coefficients,
        input_coefficients,
        lines,
        planes_taken,
    )


def _through_relaxation(
    coefficients: Floats,
    constant: Floats,
    columns: slice,
    lines: RelaxationLines,
    lower_intercept: Floats | None,
) -> tuple[Floats, Floats]:
    """The row over the pre-activations of a step's units, and the constant with the lines'
    intercepts."""
    lower_slope, upper_slope, upper_intercept = lines
    negative = np.minimum(coefficients, 0.0)
    constant = constant + _row_dots(negative, upper_intercept[:, columns])
    positive = coefficients - negative
    if lower_intercept is not None:
        constant = constant + _row_dots(positive, lower_intercept[:, columns])
    positive *= lower_slope[:, columns]
    negative *= upper_slope[:, columns]
    return np.add(positive, negative, out=positive), constant


def _with_planes(
    coefficients: Floats,
    constant: Floats,
    planes_taken: PlanesTaken,
    planes: ReluPlanes | MaxPlanes,
    shares: Floats,
) -> tuple[Floats, Floats]:
    """The row over the input, and the constant, with what the planes add to both."""
    constant = constant + _row_dots(planes_taken.coefficients, planes_taken.offsets)
    coefficients = coefficients + planes.to_input_coefficients(
        planes_taken.coefficients[..., None] * shares
    )
    if isinstance(planes, MaxPlanes):
        coefficients = coefficients + planes_taken.coefficients @ planes.least_weight
    return coefficients, constant


def written_planes(
    planes: ReluPlanes | MaxPlanes | None, dual: Dual, backward_pass: BackwardPass, item: int
) -> PlaneShares | None:
    """The planes that an item of a pass took, as a proof writes them."""
    if planes is None or dual.plane_shares is None or backward_pass.planes_taken is None:
        return None
    shares_by_unit = {
        int(planes.units[i]): dual.plane_shares[item, i]
        for i in np.flatnonzero(backward_pass.planes_taken.coefficients[item])
    }
    if isinstance(planes, MaxPlanes):
        return PlaneShares(planes.per, shares_by_unit)
    written = {unit: planes.written_shares(share) for unit, share in shares_by_unit.items()}
    return PlaneShares(planes.per, written, planes.words if planes.per == "number" else None)


def _take_planes(batch: BoundBatch, coefficients: Floats, shares: Floats) -> PlanesTaken:
    """The planes, for those coefficients of the first step (n, units) that are negative at a unit
    that may have one."""
    assert batch.planes is not None
    units = batch.planes.units
    replaced = np.where(batch.plane_allowed, np.minimum(coefficients[:, units], 0.0), 0.0)
    return PlanesTaken(replaced, *batch.plane_offsets.offsets(shares))


def _left_to_lines(
    coefficients: Floats, absolute: Floats, batch: BoundBatch, planes_taken: PlanesTaken
) -> tuple[Floats, Floats]:
    """What is left to the other lines; coefficients that planes take count three times for
    rounding."""
    assert batch.planes is not None
    coefficients = coefficients.copy()
    absolute = absolute.copy()
    units, replaced = replaced_units(batch.planes, planes_taken.coefficients)
    coefficients[:, units] -= replaced
    absolute[:, units] -= (PLANE_ROUNDING_FACTOR - 1) * replaced
    return coefficients, absolute


def replaced_units(planes: ReluPlanes | MaxPlanes, values: Floats | Bools) -> tuple[Ints, Floats]:
    """The units that planes stand for, all candidates of a maximum, and for each the value (n, m)
    of its plane."""
    if isinstance(planes, ReluPlanes):
        return planes.units, np.asarray(values)
    return planes.candidates, np.asarray(values[:, planes.maximum])


def _multipliers(prepared: PreparedProblem, batch: BoundBatch, dual: Dual) -> Floats | None:
    """beta·sign of the units that are split at zero; who wins a maximum has none."""
    if batch.signs is None:
        return None
    multiplier: Floats = np.maximum(dual.beta, 0.0) * batch.signs
    return multiplier if prepared.pooled is None else np.where(prepared.pooled, 0.0, multiplier)


def _row_dots(left: Floats, right: Floats) -> Floats:
    """Row by row, the scalar product; `right` may have a single row for all."""
    return np.asarray(np.einsum("nu,nu->n", left, right))

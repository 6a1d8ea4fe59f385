"""Smoothed, annealed ascent on upper planes and lower weights of maxima, over restorations of an
attacked text.

The primal variables are how far each word is restored, in [0, 1], and a Lagrange multiplier stands
for the budget. The rest is as in `plane_ascent`. Rows of planes have one number per word here, what
restoring it adds to the plane; proofs have one for each number of the input, of which that is all
that counts.

Single precision, and nothing is proved here: `backward.backward_bound` bounds the planes that were
found anew.

Method: Nesterov smoothing with annealed temperature (theory, section 3) over restorations (theory,
section 6).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.model.step import Groups
from suffice.settings import Annealing, Settings
from suffice.verify.contract import Budget
from suffice.verify.nets.crown import (
    BackwardPass,
    BoundBatch,
    Dual,
    PreparedProblem,
    backward_bound,
    max_lines,
)
from suffice.verify.nets.crown.max_planes import MaxPlanes
from suffice.verify.nets.crown.plane_ascent import (
    SINGLE_EPSILON,
    Adam,
    DualValue,
    LinearPieces,
    PlaneProblem,
    as_single,
    ascend,
    clamp_,
    raised_log_weights,
    with_lower_weights,
)
from suffice.verify.nets.input_sets import Restorations
from suffice.verify.tolerances import ROW_SHARE_DENOMINATOR

# words are restored from 0 to 1, while numbers of a box move from -1 to 1
UNIT_RADIUS = np.float32(0.5)


@dataclass(frozen=True, eq=False)
class NormalisedRestorations:
    """One attacked text: how far word i is restored is r_i in [0, 1], x = attacked + r·restoring.

    `plane_problem` has the maxima in these coordinates: a candidate's weights (length,) are what
    restoring each word adds to it. `cost` (length,) is what restoring it takes of the budget.
    """

    planes: MaxPlanes
    plane_problem: PlaneProblem
    attacked: Floats
    restoring: Floats
    cost: Floats

    @staticmethod
    def of(
        settings: Settings,
        step: Step,
        planes: MaxPlanes,
        lower_maxima: Ints,
        inputs: Restorations,
        contenders: Bools,
    ) -> NormalisedRestorations:
        """From the attacked text of the first of these inputs, with the contenders (units,)."""
        assert step.groups is not None
        attacked = inputs.perturbed[0]
        restoring = inputs.restoring_shift[0]
        groups = step.groups
        upper_kept = contenders[planes.candidates]
        lower_kept = np.isin(groups.group, lower_maxima) & contenders[groups.units]
        upper = _linear_pieces(
            step, planes.candidates[upper_kept], planes.maximum[upper_kept], attacked, restoring
        )
        lower = _linear_pieces(
            step, groups.units[lower_kept], groups.group[lower_kept], attacked, restoring
        )
        return NormalisedRestorations(
            planes,
            PlaneProblem.of(settings, upper, lower),
            attacked,
            restoring,
            as_single(inputs.costs),
        )

    @cached_property
    def row_scale(self) -> np.float32:
        """The mean absolute weight of candidates: what steps and smoothing are measured by."""
        return np.float32(np.abs(self.plane_problem.upper.weights).mean() + SINGLE_EPSILON)

    # --- rows of planes over words, and shares of numbers ---

    @cached_property
    def _row_ends(self) -> tuple[Floats, Floats]:
        """What restoring each word adds at least and at most (maxima, length) to a plane of the
        proof."""
        planes = self.planes
        shape = (len(self.planes.units), *self.restoring.shape)
        ends = (
            planes.least_weight.reshape(shape) * self.restoring,
            (planes.least_weight + planes.weight_range).reshape(shape) * self.restoring,
        )
        return np.minimum(*ends).sum(-1), np.maximum(*ends).sum(-1)

    def shares_of_rows(self, plane_rows: Floats) -> Floats:
        """Rows (n, maxima, length) as shares (n, maxima, inputs) that certificates hold."""
        lowest, highest = self._row_ends
        fraction = np.clip(
            (plane_rows - lowest) / np.where(highest > lowest, highest - lowest, 1.0), 0.0, 1.0
        )[..., None]
        shares = np.where(self.restoring > 0, fraction, 1.0 - fraction).reshape(
            *plane_rows.shape[:2], -1
        )
        return as_single(np.rint(shares * ROW_SHARE_DENOMINATOR) / ROW_SHARE_DENOMINATOR)

    def rows_of_shares(self, shares: Floats) -> Floats:
        plane_rows = self.planes.plane_rows(shares).reshape(
            *shares.shape[:2], *self.restoring.shape
        )
        return as_single(np.einsum("nmld,ld->nml", plane_rows, self.restoring))


def _linear_pieces(
    step: Step, units: Ints, maximum: Ints, attacked: Floats, restoring: Floats
) -> LinearPieces:
    weight = step.weight[units]
    dense = weight if isinstance(weight, np.ndarray) else np.asarray(weight.toarray())
    pieces_by_maximum = (
        np.split(np.arange(len(units)), np.flatnonzero(np.diff(maximum)) + 1) if len(units) else []
    )
    word_terms = np.einsum("pld,ld->pl", dense.reshape(len(units), *attacked.shape), restoring)
    return LinearPieces(
        units,
        Groups(pieces_by_maximum, len(units)),
        as_single(word_terms),
        as_single(dense @ attacked.ravel() + step.bias[units]),
    )


@dataclass(frozen=True, eq=False)
class RestorationStart:
    """Subproblems: restored fractions within `radius` of `middle` (n, length), at a cost of at most
    `cost_left` (n,).

    The rest is as in `plane_ascent.AscentStart`.
    """

    middle: Floats
    radius: Floats
    cost_left: Floats
    contenders: Bools
    upper_coefficients: Floats
    lower_coefficients: Floats
    other_constant: Floats


class RestorationAscent:
    """Smoothed ascent over restorations: subproblems, planes, lower weights, the budget's
    multiplier, moments of Adam."""

    def __init__(
        self,
        region: NormalisedRestorations,
        start: RestorationStart,
        plane_rows: Floats,
        log_weights: Floats,
    ) -> None:
        self.region = region
        self.plane_problem = region.plane_problem
        self.start = start
        self.plane_rows = plane_rows
        self.log_weights = log_weights
        self.support_radius = start.radius[:, self.plane_problem.support]
        self.middle_values = (
            self.plane_problem.upper.constants + start.middle @ self.plane_problem.upper.weights.T
        )  # values of candidates with words halfway restored
        self.budget_multiplier: Floats = np.zeros((len(plane_rows), 1), dtype=np.float32)
        self.budget_multiplier = self._initial_multiplier(-self.evaluate().residual_row)
        undecided = self.plane_problem.upper.groups.total(start.contenders.astype(np.float32)) > 1
        # of planes that are free: several contenders
        self.free_coefficients = np.where(undecided, start.upper_coefficients, np.float32(0.0))
        settings = region.plane_problem.settings
        self.settings = settings.plane_ascent
        self.plane_adam = Adam(settings.ascent.adam_decays)
        self.weight_adam = Adam(settings.ascent.adam_decays)
        self.multiplier_adam = Adam(settings.ascent.adam_decays)

    def run(self, annealing: Annealing, budget: Budget) -> tuple[Floats, Floats, Floats]:
        """The planes and weights of the best bounds, and what planes lose by each word (n, length)
        in the end."""
        value, best_rows, best_weights = ascend(self, annealing, budget)
        return (
            best_rows,
            best_weights,
            self._word_scores(value, np.float32(annealing.temperature[1])),
        )

    def evaluate(self) -> DualValue:
        start, (upper, lower) = self.start, (self.plane_problem.upper, self.plane_problem.lower)
        lower_weights = lower.softmax(self.log_weights)
        lower_terms = lower_weights * lower.per_piece(start.lower_coefficients)
        residual_row = (
            lower_terms @ lower.weights
            - np.einsum("nm,nml->nl", start.upper_coefficients, self.plane_rows)
            + self.budget_multiplier * self.region.cost
        )
        residuals, extra = self.plane_problem.residuals(self.plane_rows)
        row_range = np.matmul(np.abs(self.plane_rows), start.radius[..., None]) - np.matmul(
            self.plane_rows, start.middle[..., None]
        )
        required_offsets = (
            self.middle_values
            + upper.per_piece(row_range[..., 0])
            + np.einsum("nps,nps->np", extra, self.support_radius)
        )
        offsets = upper.groups.highest(
            np.where(start.contenders, required_offsets, -np.float32(np.inf))
        )
        bound = (
            start.other_constant
            + lower_terms @ lower.constants
            - (start.upper_coefficients * offsets).sum(-1)
            - self.budget_multiplier[:, 0] * start.cost_left
        )
        return DualValue(
            bound + (residual_row * start.middle - np.abs(residual_row) * start.radius).sum(-1),
            residual_row,
            lower_weights,
            residuals,
            required_offsets,
            offsets,
        )

    def _initial_multiplier(self, gains: Floats) -> Floats:
        """The gain per cost (n, 1) of the best word beyond the budget, when words are bought in
        order of it."""
        start = self.start
        cost = self.region.cost
        gains = np.where(start.radius > 0, gains / cost, np.float32(0.0))
        order = np.argsort(-gains, axis=-1, kind="stable")
        affordable = (
            np.cumsum(cost[order], axis=-1)
            <= (start.cost_left - (start.middle - start.radius) @ cost)[:, None]
        )
        unaffordable_gains = np.where(
            affordable, np.float32(0.0), np.take_along_axis(gains, order, -1)
        )
        return np.asarray(np.maximum(unaffordable_gains.max(-1, keepdims=True), np.float32(0.0)))

    def _soft_minimiser(self, value: DualValue, temperature: np.float32) -> tuple[Floats, Floats]:
        """The restored fractions where the smoothed bound is attained (n, length), and the
        candidates' win weights."""
        start = self.start
        width = temperature * self.region.row_scale / np.float32(self.settings.row_divisors[1])
        minimiser = start.middle - start.radius * clamp_(value.residual_row / width, 1)
        return minimiser, self.plane_problem.win_weights(
            value, start.contenders, UNIT_RADIUS * temperature
        )

    def advance(self, value: DualValue, temperature: np.float32, rate: np.float32) -> None:
        region = self.region
        start = self.start
        lower = self.plane_problem.lower
        minimiser, win_weights = self._soft_minimiser(value, temperature)
        gradient = self.plane_problem.soft_contacts(
            self.plane_rows, value.residuals, win_weights, temperature
        )
        gradient *= start.radius[:, None]
        gradient += (start.middle - minimiser)[:, None]
        gradient *= self.free_coefficients[..., None]
        self.plane_rows = self.plane_problem.projected(
            self.plane_rows, self.plane_adam.update(gradient, rate)
        )
        self.log_weights = raised_log_weights(
            self.log_weights,
            lower,
            value.lower_weights,
            start.lower_coefficients,
            minimiser,
            self.weight_adam,
            np.float32(self.settings.weight_rate_ratio) * rate,
        )
        overspent = (minimiser @ region.cost - start.cost_left)[:, None]
        self.budget_multiplier = np.maximum(
            self.budget_multiplier
            + np.float32(self.settings.multiplier_rate)
            * region.row_scale
            * self.multiplier_adam.update(overspent, rate),
            np.float32(0.0),
        )

    def _word_scores(self, value: DualValue, temperature: np.float32) -> Floats:
        minimiser, win_weights = self._soft_minimiser(value, temperature)
        weights = win_weights * self.plane_problem.upper.per_piece(self.free_coefficients)
        distance = np.minimum(
            minimiser - self.start.middle + self.start.radius,
            self.start.middle + self.start.radius - minimiser,
        )
        residuals = (
            self.plane_problem.upper.weights
            - self.plane_rows[:, self.plane_problem.upper.groups.group]
        )
        return np.asarray(np.einsum("np,npl->nl", weights, np.abs(residuals)) * distance)


@dataclass(frozen=True, eq=False)
class RestorationAscentBounds:
    """Better bounds with their duals, and what planes lose by each word (n, length), a score to
    split on."""

    backward_pass: BackwardPass
    dual: Dual
    word_scores: Floats


def ascend_restoration_planes(
    prepared: PreparedProblem,
    batch: BoundBatch,
    dual: Dual,
    backward_pass: BackwardPass,
    region: NormalisedRestorations,
    annealing: Annealing,
    budget: Budget,
) -> RestorationAscentBounds:
    """For subproblems about one attacked text."""
    with np.errstate(over="ignore", invalid="ignore"):
        start, plane_rows, log_weights = _restoration_start(
            prepared, batch, dual, backward_pass, region, annealing.min_weight
        )
        plane_rows, lower_weights, word_scores = RestorationAscent(
            region, start, plane_rows, log_weights
        ).run(annealing, budget)
    new_dual = replace(
        dual,
        alpha=with_lower_weights(prepared, region.plane_problem.lower, dual.alpha, lower_weights),
        plane_shares=region.shares_of_rows(plane_rows),
    )
    new_pass = backward_bound(prepared, batch, new_dual)
    better = new_pass.bound > backward_pass.bound
    if not better.all():
        new_dual = dual.replaced_where(better, new_dual)
        new_pass = backward_bound(prepared, batch, new_dual)
    return RestorationAscentBounds(new_pass, new_dual, word_scores)


def _restoration_start(
    prepared: PreparedProblem,
    batch: BoundBatch,
    dual: Dual,
    backward_pass: BackwardPass,
    region: NormalisedRestorations,
    min_weight: float,
) -> tuple[RestorationStart, Floats, Floats]:
    groups = prepared.steps[0].groups
    lower = region.plane_problem.lower
    inputs = batch.inputs
    assert groups is not None
    assert dual.plane_shares is not None
    assert batch.bounds.contenders is not None
    assert isinstance(inputs, Restorations)
    lower_weights = np.zeros((len(backward_pass.unit_coefficients), len(groups.owner)))
    lower_weights[:, groups.units] = max_lines.lower_weights(groups, dual.alpha[:, groups.units])
    changed = (region.restoring != 0).any(-1)
    restored = changed & (inputs.perturbed == inputs.center).all(-1)  # restored already
    radius = np.where(inputs.affordable & changed, UNIT_RADIUS, 0.0)
    start = RestorationStart(
        middle=as_single(restored + radius),
        radius=as_single(radius),
        cost_left=as_single(inputs.budget + restored @ inputs.costs),
        contenders=batch.bounds.contenders[:, region.plane_problem.upper.units],
        upper_coefficients=as_single(
            np.maximum(-backward_pass.unit_coefficients[:, region.planes.units], 0.0)
        ),
        lower_coefficients=as_single(
            np.maximum(backward_pass.unit_coefficients[:, lower.units[lower.groups.starts]], 0.0)
        ),
        other_constant=as_single(batch.rows.constant),
    )
    log_weights = np.log(
        np.maximum(as_single(lower_weights[:, lower.units]), np.float32(min_weight))
    )
    return (
        start,
        np.clip(region.rows_of_shares(dual.plane_shares), *region.plane_problem.weight_ends),
        log_weights,
    )

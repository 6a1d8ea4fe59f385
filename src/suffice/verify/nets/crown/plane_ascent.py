"""Smoothed, annealed ascent on upper planes and lower weights of maxima, over boxes, for many
subproblems at once.

In coordinates y in which every number of the input moves within [-1, 1], the dual value is a
constant, less
|r|_1 of the residual row r, less the offsets of the planes, each the largest of b_p + |w_p - a|_1
over its candidates p. It is concave, but at its best most of r is zero and many candidates tie, so
that supergradient steps zigzag. So |·| becomes Huber's function and the maximum log-sum-exp, at a
temperature that falls geometrically over the iterations (Adam steps). The smoothed minimiser is a
good guess of the worst input and of who wins there: attacks start from it, and splits are chosen by
it.

Single precision, and nothing is proved here: `backward.backward_bound` bounds the planes that were
found anew.

Method: Nesterov smoothing with annealed temperature (theory, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import scipy  # its subpackages load on first use

from suffice import work
from suffice.model.network import Bools, Floats, Ints, Step
from suffice.model.step import Groups
from suffice.sets.regions import Ball, Box
from suffice.settings import Annealing, Settings
from suffice.verify.contract import Budget
from suffice.verify.nets.attack import bounding_sides
from suffice.verify.nets.crown import (
    BackwardPass,
    BoundBatch,
    Dual,
    PreparedProblem,
    backward_bound,
    max_lines,
)
from suffice.verify.nets.crown.max_planes import MaxPlanes, supports
from suffice.verify.tolerances import EPSILON, GOAL_FRACTION, MIN_LOG_WEIGHT, ROW_SHARE_DENOMINATOR

SINGLE_EPSILON = np.float32(EPSILON)


def clamp_(values: Floats, limit: float | np.float32) -> Floats:
    """The values, written over, clipped to [-limit, limit]."""
    np.maximum(values, -limit, out=values)
    return np.minimum(values, limit, out=values)


def as_single(values: Floats) -> Floats:
    """Values in single precision."""
    return cast(Floats, np.asarray(values, dtype=np.float32))


# --- the problem in normalised coordinates ---


@dataclass(frozen=True, eq=False)
class LinearPieces:
    """Candidates of some maxima as linear pieces w·y + b: weights (p, numbers), and constants (p,),
    their values at y = 0."""

    units: Ints
    groups: Groups
    weights: Floats
    constants: Floats

    @staticmethod
    def of(step: Step, units: Ints, maximum: Ints, middle: Floats, radius: Floats) -> LinearPieces:
        """For numbers (inputs,) that move by `radius` around `middle`; those that do not move are
        left out."""
        weight = step.weight[units]
        weights = weight if isinstance(weight, np.ndarray) else np.asarray(weight.toarray())
        pieces_by_maximum = (
            np.split(np.arange(len(units)), np.flatnonzero(np.diff(maximum)) + 1)
            if len(units)
            else []
        )
        constants = weights @ middle + step.bias[units]
        scaled_weights = (weights * radius)[:, radius > 0]
        return LinearPieces(
            units,
            Groups(pieces_by_maximum, len(units)),
            as_single(scaled_weights),
            as_single(constants),
        )

    def restricted(self, kept: Ints) -> LinearPieces:
        """The same with these candidates alone, at least one of each maximum."""
        pieces_by_maximum = np.split(
            np.arange(len(kept)), np.flatnonzero(np.diff(self.groups.group[kept])) + 1
        )
        return LinearPieces(
            self.units[kept],
            Groups(pieces_by_maximum, len(kept)),
            self.weights[kept],
            self.constants[kept],
        )

    def per_piece(self, values: Floats) -> Floats:
        """Values of maxima (n, maxima), for each candidate (n, candidates)."""
        return values.take(self.groups.group, axis=1)

    def softmax(self, values: Floats) -> Floats:
        """Weights (n, candidates) that add up to one in each maximum, by their logarithms, up to a
        constant."""
        return self.normalised(np.exp(values - self.per_piece(self.groups.highest(values))))

    def normalised(self, values: Floats) -> Floats:
        """Weights (n, candidates) that add up to one in each maximum, in proportion to
        the values.
        """
        return np.asarray(values / self.per_piece(self.groups.total(values)))

    @cached_property
    def largest_weight(self) -> Floats:
        """The largest absolute weight (maxima, numbers) of a candidate."""
        return np.asarray(np.maximum.reduceat(np.abs(self.weights), self.groups.starts))


@dataclass(frozen=True, eq=False)
class PlaneProblem:
    """Maxima that take upper planes (`upper`), and those that take weighted means of candidates
    (`lower`).

    `weight_ends` are the least and the largest weight (maxima, numbers) of the upper candidates:
    planes stay between them. `max_variation` (maxima,) is the largest |w_p|_1 of a candidate.
    `settings` are how ascents on it go.
    """

    settings: Settings
    upper: LinearPieces
    lower: LinearPieces
    weight_ends: tuple[Floats, Floats]
    max_variation: Floats

    @staticmethod
    def of(settings: Settings, upper: LinearPieces, lower: LinearPieces) -> PlaneProblem:
        starts = upper.groups.starts
        weight_ends = (
            np.minimum.reduceat(upper.weights, starts),
            np.maximum.reduceat(upper.weights, starts),
        )
        return PlaneProblem(
            settings,
            upper,
            lower,
            weight_ends,
            np.asarray(upper.groups.highest(np.abs(upper.weights).sum(-1)) + SINGLE_EPSILON),
        )

    def restricted(self, kept: Ints) -> PlaneProblem:
        """The same with some of the upper candidates."""
        return replace(self, upper=self.upper.restricted(kept))

    @cached_property
    def weight_range(self) -> Floats:
        return np.asarray(self.weight_ends[1] - self.weight_ends[0])

    @cached_property
    def inverse_range(self) -> Floats:
        """1 / the largest weight range (maxima, 1) of a number."""
        largest = self.weight_range.max(-1, initial=0.0, keepdims=True)
        return np.asarray(1 / (largest + SINGLE_EPSILON))

    @cached_property
    def inverse_range_each(self) -> Floats:
        """The same for each candidate (candidates, 1)."""
        return np.asarray(self.inverse_range[self.upper.groups.group])

    @cached_property
    def inverse_variation_each(self) -> Floats:
        """1 / (max_variation times the candidates' temperature ratio), for each candidate
        (candidates,).
        """
        ratio = np.float32(self.settings.plane_ascent.candidate_temperature_ratio)
        return np.asarray(1 / (ratio * self.max_variation[self.upper.groups.group]))

    @cached_property
    def support(self) -> Ints:
        """The numbers (candidates, s) that each candidate has weights for."""
        return supports(self.upper.weights)

    @cached_property
    def support_weights(self) -> Floats:
        return np.take_along_axis(self.upper.weights, self.support, 1)

    @cached_property
    def support_places(self) -> Ints:
        """Where the numbers that candidates see stand in the rows of all planes."""
        return np.asarray(
            self.upper.groups.group[:, None] * self.upper.weights.shape[1] + self.support
        )

    @cached_property
    def scatter_matrix(self) -> Any:
        """Adds up values on the candidates' numbers, in the rows of all planes: a sparse matrix of
        ones."""
        places = self.support_places.ravel()
        shape = len(self.upper.groups.starts) * self.upper.weights.shape[1], len(places)
        ones = np.ones(len(places), dtype=np.float32)
        return scipy.sparse.csr_array((ones, (places, np.arange(len(places)))), shape)

    def residuals(self, plane_rows: Floats) -> tuple[Floats, Floats]:
        """The residuals w_p - a of candidates and their planes' rows, on the numbers that
        candidates see.

        And |w_p - a| - |a| there: both (n, candidates, s).
        """
        row_on_support = np.take(
            plane_rows.reshape(len(plane_rows), -1), self.support_places, axis=1
        )
        residuals = self.support_weights - row_on_support
        extra = np.abs(residuals)
        extra -= np.abs(row_on_support, out=row_on_support)
        return residuals, extra

    def projected(self, plane_rows: Floats, moved: Floats) -> Floats:
        """The rows of planes after a move, given as fractions of the weight ranges, projected
        between the weight ends."""
        moved *= self.weight_range
        moved += plane_rows
        np.maximum(moved, self.weight_ends[0], out=moved)
        return np.minimum(moved, self.weight_ends[1], out=moved)

    def soft_contacts(
        self, plane_rows: Floats, residuals: Floats, win_weights: Floats, temperature: np.float32
    ) -> Floats:
        """Where the smoothed offsets of planes are attained (n, maxima, numbers): each number in
        [-1, 1].

        The mean over candidates, by their win weights, of Huber's clipped residuals.
        """
        count = len(plane_rows)
        plane_part = clamp_(plane_rows * (-self.inverse_range / temperature), 1)
        candidate_part = clamp_(residuals * (self.inverse_range_each / temperature), 1)
        candidate_part -= np.take(plane_part.reshape(count, -1), self.support_places, axis=1)
        candidate_part *= win_weights[..., None]
        return np.asarray(
            plane_part
            + (self.scatter_matrix @ candidate_part.reshape(count, -1).T).T.reshape(
                plane_part.shape
            )
        )

    def win_weights(self, value: DualValue, contenders: Bools, temperature: np.float32) -> Floats:
        """The softmax weights (n, candidates) of contenders in the smoothed offsets of their
        planes."""
        exponents = value.required_offsets - self.upper.per_piece(value.offsets)
        exponents *= self.inverse_variation_each / temperature
        np.copyto(exponents, -np.float32(np.inf), where=~contenders)
        return self.upper.normalised(np.exp(exponents, out=exponents))


@dataclass(frozen=True, eq=False)
class NormalisedRegion:
    """One set of free words in coordinates y in [-1, 1]: x = middle + radius·y, both (inputs,).

    `plane_problem` has the maxima in these coordinates.
    """

    planes: MaxPlanes
    plane_problem: PlaneProblem
    middle: Floats
    radius: Floats

    @staticmethod
    def of(
        settings: Settings,
        step: Step,
        planes: MaxPlanes,
        lower_maxima: Ints,
        free: Bools,
        contenders: Bools,
    ) -> NormalisedRegion:
        """While words (length,) are free, with the contenders (units,); `lower_maxima` are the
        indices of maxima."""
        assert step.groups is not None
        assert isinstance(planes.region, Box | Ball)
        shift, radius = (
            np.where(free[:, None], side, 0.0).ravel() for side in planes.region.spread
        )
        middle = planes.region.center.ravel() + shift
        upper_kept = contenders[planes.candidates]
        lower_kept = np.isin(step.groups.group, lower_maxima) & contenders[step.groups.units]
        upper = LinearPieces.of(
            step, planes.candidates[upper_kept], planes.maximum[upper_kept], middle, radius
        )
        lower = LinearPieces.of(
            step, step.groups.units[lower_kept], step.groups.group[lower_kept], middle, radius
        )
        return NormalisedRegion(planes, PlaneProblem.of(settings, upper, lower), middle, radius)

    def restricted(self, kept: Ints) -> NormalisedRegion:
        """The same with some of the upper candidates."""
        return replace(self, plane_problem=self.plane_problem.restricted(kept))

    @cached_property
    def moving(self) -> Ints:
        return np.flatnonzero(self.radius > 0)

    def to_inputs(self, normalised: Floats) -> Floats:
        """Inputs (n, length, dimension) from numbers (n, moving) in [-1, 1]."""
        points = np.repeat(self.middle[None], len(normalised), axis=0)
        points[:, self.moving] += normalised * self.radius[self.moving]
        return np.clip(
            points.reshape(len(normalised), *self.planes.region.center.shape),
            *bounding_sides(self.planes.region),
        )

    # --- rows of planes, in these coordinates, and as shares ---

    def rows_of_shares(self, shares: Floats) -> Floats:
        return as_single((self.planes.plane_rows(shares) * self.radius)[..., self.moving])

    def shares_of_rows(self, plane_rows: Floats) -> Floats:
        """Shares (n, maxima, inputs) of these rows, as certificates hold them; numbers that do not
        move have none."""
        shares = np.zeros((*plane_rows.shape[:2], len(self.radius)))
        base = self.planes.least_weight[:, self.moving]
        span = self.planes.weight_range[:, self.moving]
        fraction = (plane_rows / self.radius[self.moving] - base) / np.where(span > 0, span, 1.0)
        shares[..., self.moving] = np.clip(fraction, 0.0, 1.0)
        return as_single(np.rint(shares * ROW_SHARE_DENOMINATOR) / ROW_SHARE_DENOMINATOR)


# --- smoothed ascent ---


@dataclass(frozen=True, eq=False)
class AscentStart:
    """Subproblems of an ascent: rows of planes (n, maxima, numbers), logarithms of lower weights,
    contenders.

    `upper_coefficients` and `lower_coefficients` (n, maxima), at least 0, are the absolute
    coefficients of the maxima that take planes and of those that take lower weights; `other_row`
    (n, numbers) and `other_constant` (n,) are what else there is in residual row and bound.
    """

    plane_rows: Floats
    log_weights: Floats
    contenders: Bools
    upper_coefficients: Floats
    lower_coefficients: Floats
    other_row: Floats
    other_constant: Floats


@dataclass(frozen=True, eq=False)
class AscentResult:
    """The best planes and lower weights that an ascent found, and its smoothed minimiser.

    `minimiser` (n, numbers) guesses where the margin is least, `win_weights` (n, candidates) who
    wins there, and `relaxation_gap` (n, maxima) is what the planes give away there.
    """

    plane_rows: Floats
    lower_weights: Floats
    minimiser: Floats
    win_weights: Floats
    relaxation_gap: Floats


@dataclass(frozen=True, eq=False)
class DualValue:
    """The dual value: bounds (n,), their residual rows (n, numbers), lower weights, and what the
    offsets are made of.

    `residuals` (n, candidates, s) are w_p - a, `required_offsets` (n, candidates) what each
    candidate requires of its plane's offset, and `offsets` (n, maxima) the largest of these.
    """

    bound: Floats
    residual_row: Floats
    lower_weights: Floats
    residuals: Floats
    required_offsets: Floats
    offsets: Floats

    @staticmethod
    def of(
        plane_problem: PlaneProblem, start: AscentStart, plane_rows: Floats, lower_weights: Floats
    ) -> DualValue:
        upper = plane_problem.upper
        lower = plane_problem.lower
        lower_terms = lower_weights * lower.per_piece(start.lower_coefficients)
        residual_row = (
            start.other_row
            + lower_terms @ lower.weights
            - np.einsum("nm,nmk->nk", start.upper_coefficients, plane_rows)
        )
        residuals, extra = plane_problem.residuals(plane_rows)
        required_offsets = (
            upper.constants
            + upper.per_piece(np.abs(plane_rows).sum(-1))
            + extra @ np.ones(extra.shape[-1], dtype=np.float32)
        )
        offsets = upper.groups.highest(
            np.where(start.contenders, required_offsets, -np.float32(np.inf))
        )
        bound = (
            start.other_constant
            + lower_terms @ lower.constants
            - np.abs(residual_row).sum(-1)
            - (start.upper_coefficients * offsets).sum(-1)
        )
        return DualValue(bound, residual_row, lower_weights, residuals, required_offsets, offsets)


class HasBound(Protocol):
    """A dual value: its bounds (n,) and the lower weights that they come from."""

    @property
    def bound(self) -> Floats: ...
    @property
    def lower_weights(self) -> Floats: ...


ValueT = TypeVar("ValueT", bound=HasBound)


class SmoothedAscent(Protocol[ValueT]):
    """A smoothed ascent: the planes it has come to, their dual value, and a step along the smoothed
    bound."""

    plane_rows: Floats

    def evaluate(self) -> ValueT: ...
    def advance(self, value: ValueT, temperature: np.float32, rate: np.float32) -> None: ...


def ascend(
    ascent: SmoothedAscent[ValueT], annealing: Annealing, budget: Budget
) -> tuple[ValueT, Floats, Floats]:
    """The last dual value of an ascent, and the planes and weights of the best bound of each
    subproblem on the way."""
    value = ascent.evaluate()
    best = value.bound
    best_rows = ascent.plane_rows.copy()
    best_weights = value.lower_weights.copy()
    enough = np.float32(GOAL_FRACTION) * np.abs(best)
    for iteration in range(annealing.iterations):
        if (best > enough).all() or budget.exhausted:
            break
        work.count("ascent_steps", len(best))
        temperature, rate = annealing.at(iteration)
        ascent.advance(value, np.float32(temperature), np.float32(rate))
        value = ascent.evaluate()
        better = value.bound > best
        best = np.where(better, value.bound, best)
        best_rows[better], best_weights[better] = (
            ascent.plane_rows[better],
            value.lower_weights[better],
        )
    return value, best_rows, best_weights


class PlaneAscent:
    """Smoothed ascent over boxes: its subproblems, its current planes and lower weights, and the
    moments of Adam."""

    def __init__(self, plane_problem: PlaneProblem, start: AscentStart) -> None:
        self.plane_problem = plane_problem
        self.start = start
        self.plane_rows = with_decided_rows(plane_problem, start)
        self.log_weights = start.log_weights
        undecided = plane_problem.upper.groups.total(start.contenders.astype(np.float32)) > 1
        # of planes that are free: several contenders
        self.free_coefficients = np.where(undecided, start.upper_coefficients, np.float32(0.0))
        self.row_scale = _row_scale(plane_problem, start)
        self.plane_adam = Adam(plane_problem.settings.ascent.adam_decays)
        self.weight_adam = Adam(plane_problem.settings.ascent.adam_decays)

    def run(self, annealing: Annealing, budget: Budget) -> AscentResult:
        """The planes and weights of the best bounds on the way, and the smoothed minimiser at the
        end."""
        value, best_rows, best_weights = ascend(self, annealing, budget)
        minimiser, win_weights = self._soft_minimiser(value, np.float32(annealing.temperature[1]))
        return AscentResult(
            best_rows, best_weights, minimiser, win_weights, self._relaxation_gap(value, minimiser)
        )

    def evaluate(self) -> DualValue:
        return DualValue.of(
            self.plane_problem,
            self.start,
            self.plane_rows,
            self.plane_problem.lower.softmax(self.log_weights),
        )

    def _soft_minimiser(self, value: DualValue, temperature: np.float32) -> tuple[Floats, Floats]:
        """Where the smoothed bound is attained (n, numbers), and the candidates' win weights (n,
        candidates)."""
        return clamp_(
            -value.residual_row / (temperature * self.row_scale), 1
        ), self.plane_problem.win_weights(value, self.start.contenders, temperature)

    def advance(self, value: DualValue, temperature: np.float32, rate: np.float32) -> None:
        plane_problem = self.plane_problem
        minimiser, win_weights = self._soft_minimiser(value, temperature)
        gradient = plane_problem.soft_contacts(
            self.plane_rows, value.residuals, win_weights, temperature
        )
        gradient -= minimiser[:, None]
        gradient *= self.free_coefficients[..., None]
        self.plane_rows = plane_problem.projected(
            self.plane_rows, self.plane_adam.update(gradient, rate)
        )
        self.log_weights = raised_log_weights(
            self.log_weights,
            plane_problem.lower,
            value.lower_weights,
            self.start.lower_coefficients,
            minimiser,
            self.weight_adam,
            np.float32(plane_problem.settings.plane_ascent.weight_rate_ratio) * rate,
        )

    def _relaxation_gap(self, value: DualValue, minimiser: Floats) -> Floats:
        """What the planes give away (n, maxima) at the minimiser, times their coefficients."""
        upper = self.plane_problem.upper
        piece_values = np.where(
            self.start.contenders,
            minimiser @ upper.weights.T + upper.constants,
            -np.float32(np.inf),
        )
        plane_values = np.einsum("nmk,nk->nm", self.plane_rows, minimiser) + value.offsets
        gap = np.maximum(plane_values - upper.groups.highest(piece_values), SINGLE_EPSILON)
        return np.asarray(self.free_coefficients * gap)


class Adam:
    """Adam for one array in single precision."""

    def __init__(self, decays: tuple[float, float]) -> None:
        self.decay, self.square_decay = map(np.float32, decays)
        self.iteration = 0
        self.first_moment: Floats | np.float32 = np.float32(0.0)
        self.second_moment: Floats | np.float32 = np.float32(0.0)

    def update(self, gradient: Floats, rate: np.float32) -> Floats:
        self.iteration += 1
        self.first_moment *= self.decay
        self.first_moment = self.first_moment + (1 - self.decay) * gradient
        self.second_moment *= self.square_decay
        self.second_moment = self.second_moment + (1 - self.square_decay) * gradient * gradient
        root_mean_square = np.sqrt(self.second_moment)
        root_mean_square *= 1 / np.sqrt(1 - self.square_decay**self.iteration)
        root_mean_square += SINGLE_EPSILON
        move = np.divide(self.first_moment, root_mean_square, out=root_mean_square)
        move *= rate / (1 - self.decay**self.iteration)
        return move


def raised_log_weights(
    log_weights: Floats,
    lower: LinearPieces,
    lower_weights: Floats,
    lower_coefficients: Floats,
    minimiser: Floats,
    adam: Adam,
    rate: np.float32,
) -> Floats:
    """Logarithms of lower weights after an Adam step towards the candidates that are larger at the
    minimiser."""
    gain = lower.per_piece(lower_coefficients) * (lower.constants + minimiser @ lower.weights.T)
    gradient = lower_weights * (gain - lower.per_piece(lower.groups.total(lower_weights * gain)))
    raised = adam.update(gradient, rate)
    raised += log_weights
    clamp_(raised, np.float32(-MIN_LOG_WEIGHT))
    raised -= lower.per_piece(lower.groups.highest(raised))
    return raised


def with_decided_rows(plane_problem: PlaneProblem, start: AscentStart) -> Floats:
    """The planes' rows; where one contender is left, that contender's weights."""
    groups = plane_problem.upper.groups
    plane_rows = start.plane_rows.copy()
    decided = (groups.total(start.contenders.astype(np.float32)) == 1)[
        :, groups.group
    ] & start.contenders
    item, candidate = np.nonzero(decided)
    plane_rows[item, groups.group[candidate]] = plane_problem.upper.weights[candidate]
    return plane_rows


def _row_scale(plane_problem: PlaneProblem, start: AscentStart) -> Floats:
    """How large numbers of residual rows usually are (n, 1), whatever the planes."""
    square = (
        start.upper_coefficients**2 @ plane_problem.upper.largest_weight**2
        + start.lower_coefficients**2 @ plane_problem.lower.largest_weight**2
    )
    divisor = np.float32(plane_problem.settings.plane_ascent.row_divisors[0])
    return np.asarray(
        np.sqrt(square).sum(-1, keepdims=True) / (divisor * max(1, square.shape[1]))
        + SINGLE_EPSILON
    )


# --- from backward bounds and back ---


@dataclass(frozen=True, eq=False)
class PlaneAscentBounds:
    """Better bounds with their duals; points where margins may be least; and branching scores.

    `branching_scores` (n, units) is what the plane of each maximum of the first step gives away, at
    the candidate to split on.
    """

    backward_pass: BackwardPass
    dual: Dual
    points: Floats
    branching_scores: Floats

    @property
    def beyond_splits(self) -> Bools:
        """Items (n,) that all splits together could not lift above zero: better lower
        weights must.
        """
        return np.asarray(self.branching_scores.sum(-1) < -self.backward_pass.bound)

    def take(self, index: Ints) -> PlaneAscentBounds:
        return PlaneAscentBounds(
            self.backward_pass.take(index),
            self.dual.take(index),
            self.points[index],
            self.branching_scores[index],
        )


def ascend_planes(
    prepared: PreparedProblem,
    batch: BoundBatch,
    dual: Dual,
    backward_pass: BackwardPass,
    normalised: NormalisedRegion,
    annealing: Annealing,
    budget: Budget,
) -> PlaneAscentBounds:
    """For subproblems over one set of free words."""
    # Products of singles may flag numbers that are in no array; whatever comes out is bounded again
    # in doubles.
    with np.errstate(over="ignore", invalid="ignore"):
        start = ascent_start(prepared, batch, dual, backward_pass, normalised, annealing.min_weight)
        if not annealing.keeps_all:
            normalised, start = _near_winners(normalised, start)
        result = PlaneAscent(normalised.plane_problem, start).run(annealing, budget)
    new_dual = replace(
        dual,
        alpha=with_lower_weights(
            prepared, normalised.plane_problem.lower, dual.alpha, result.lower_weights
        ),
        plane_shares=normalised.shares_of_rows(result.plane_rows),
    )
    new_pass = backward_bound(prepared, batch, new_dual)
    better = new_pass.bound > backward_pass.bound
    if not better.all():
        new_dual = dual.replaced_where(better, new_dual)
        new_pass = backward_bound(prepared, batch, new_dual)
    return PlaneAscentBounds(
        new_pass,
        new_dual,
        normalised.to_inputs(result.minimiser),
        _branching_scores(prepared, normalised, result),
    )


def ascent_start(
    prepared: PreparedProblem,
    batch: BoundBatch,
    dual: Dual,
    backward_pass: BackwardPass,
    normalised: NormalisedRegion,
    min_weight: float,
) -> AscentStart:
    """The subproblems in normalised coordinates; what the ascent does not change goes into
    other_row and other_constant; lower weights start at `min_weight` or higher."""
    groups = prepared.steps[0].groups
    lower = normalised.plane_problem.lower
    assert groups is not None
    assert dual.plane_shares is not None
    assert batch.bounds.contenders is not None
    lower_weights = np.zeros((len(backward_pass.unit_coefficients), len(groups.owner)))
    lower_weights[:, groups.units] = max_lines.lower_weights(groups, dual.alpha[:, groups.units])
    lower_weights = as_single(lower_weights[:, lower.units])
    lower_coefficients = as_single(
        np.maximum(backward_pass.unit_coefficients[:, lower.units[lower.groups.starts]], 0.0)
    )
    upper_coefficients = as_single(
        np.maximum(-backward_pass.unit_coefficients[:, normalised.planes.units], 0.0)
    )
    log_weights = np.log(np.maximum(lower_weights, np.float32(min_weight)))
    input_row = as_single(
        (backward_pass.input_coefficients.reshape(len(lower_coefficients), -1) * normalised.radius)[
            :, normalised.moving
        ]
    )
    start = AscentStart(
        plane_rows=normalised.rows_of_shares(dual.plane_shares),
        log_weights=log_weights,
        contenders=batch.bounds.contenders[:, normalised.plane_problem.upper.units],
        upper_coefficients=upper_coefficients,
        lower_coefficients=lower_coefficients,
        other_row=np.zeros_like(input_row),
        other_constant=as_single(np.zeros(len(input_row))),
    )
    own_value = DualValue.of(
        normalised.plane_problem,
        start,
        with_decided_rows(normalised.plane_problem, start),
        lower_weights,
    )
    other_row = input_row - own_value.residual_row
    row_difference = np.abs(input_row).sum(-1) - np.abs(own_value.residual_row).sum(-1)
    return replace(
        start,
        other_row=other_row,
        other_constant=as_single(backward_pass.bound - own_value.bound + row_difference),
    )


def _near_winners(
    normalised: NormalisedRegion, start: AscentStart
) -> tuple[NormalisedRegion, AscentStart]:
    """Without the candidates far below their planes: where planes change a little, these hardly
    ever count."""
    upper = normalised.plane_problem.upper
    value = DualValue.of(
        normalised.plane_problem,
        start,
        with_decided_rows(normalised.plane_problem, start),
        normalised.plane_problem.lower.softmax(start.log_weights),
    )
    fraction = np.float32(normalised.plane_problem.settings.plane_ascent.near_winner_fraction)
    near = value.required_offsets >= upper.per_piece(
        value.offsets - fraction * normalised.plane_problem.max_variation
    )
    kept = np.flatnonzero((near & start.contenders).any(0))
    return normalised.restricted(kept), replace(start, contenders=start.contenders[:, kept])


def with_lower_weights(
    prepared: PreparedProblem, lower: LinearPieces, alpha: Floats, lower_weights: Floats
) -> Floats:
    """The slopes alpha with these lower weights; the first candidate of a maximum has what the
    others leave."""
    groups = prepared.steps[0].groups
    assert groups is not None
    new_alpha = alpha.copy()
    not_leading = np.isin(groups.owner, groups.owner[lower.units])
    not_leading[groups.leaders] = False
    units = np.flatnonzero(not_leading)
    all_weights = np.zeros((len(alpha), len(groups.owner)))
    all_weights[:, lower.units] = lower_weights
    new_alpha[:, units] = all_weights[:, units]
    return new_alpha


def _branching_scores(
    prepared: PreparedProblem, normalised: NormalisedRegion, result: AscentResult
) -> Floats:
    scores = np.zeros((len(result.relaxation_gap), len(prepared.steps[0].bias)))
    groups = normalised.plane_problem.upper.groups
    scores[:, normalised.plane_problem.upper.units] = np.where(
        groups.winners(result.win_weights),
        normalised.plane_problem.upper.per_piece(result.relaxation_gap),
        0.0,
    )
    return scores

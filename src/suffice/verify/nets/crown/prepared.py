"""A problem prepared for backward bounds: its steps, its margin rows, and what rounding can take.

All that depends on the problem alone, not on a subproblem, is computed here once: magnitudes,
interval bounds, the units that intervals leave undecided, and the sizes of chunks.

Method: a-priori rounding errors after Higham (theory, section 2).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.settings import RESOURCES, Settings
from suffice.verify.contract import OneHotCoordinates, Problem
from suffice.verify.nets.crown.magnitudes import bounding_box, magnitudes
from suffice.verify.nets.input_sets import Interval, SharedRows
from suffice.verify.tolerances import (
    GAMMA_FACTOR,
    GAMMA_FACTOR_WITH_MAXIMA,
    GAMMA_TERMS,
    OVERFLOW_LIMIT,
    UNDERFLOW_CUSHION,
    UNIT_ROUNDOFF,
)


@dataclass(frozen=True, eq=False)
class PreparedProblem:
    """A Problem prepared for bounds: hidden steps, margin rows, and the magnitudes that rounding
    errors are measured by.

    `magnitude[k]` (units of step k) bounds |W_k| |h| + |b_k| over everything free (at smooth curves
    times their steepness, plus their values, since lines around them have such slopes and
    intercepts); `interval[k]` bounds the pre-activations of step k over everything free;
    `error_magnitude[k]` is the magnitude, with that of candidates that are left out of a maximum
    added at its first one. All hold for questions about features only, which `require_features`
    makes sure of.
    """

    problem: Problem
    steps: tuple[Step, ...]
    margin: Step
    magnitude: tuple[Floats, ...]
    margin_magnitude: Floats
    interval: tuple[Interval, ...]
    gamma: float
    error_magnitude: tuple[Floats, ...]
    full: PreparedProblem | None = None  # the problem with all units, where this one has only some
    # the indices of its hidden units among those of the full problem
    kept_units: Ints | None = None

    @staticmethod
    def of(problem: Problem) -> PreparedProblem:
        if problem.one_hot is not None:
            return _prepared_reduction(problem, problem.one_hot)
        *hidden, last = problem.network.steps
        rivals = list(problem.rivals)
        weight = last.dense()
        margin = Step(
            weight[problem.label] - weight[rivals],
            last.bias[problem.label] - last.bias[rivals],
            np.zeros(len(rivals), dtype=bool),
        )
        step_magnitudes, intervals, last_magnitude = magnitudes(hidden, bounding_box(problem))
        weight_magnitude = np.abs(weight[problem.label]) + np.abs(weight[rivals])
        bias_magnitude = np.abs(last.bias[problem.label]) + np.abs(last.bias[rivals])
        terms = max(sum(step.weight.shape) for step in problem.network.steps) + GAMMA_TERMS
        has_maxima = any(step.maxima for step in hidden)
        gamma = (GAMMA_FACTOR_WITH_MAXIMA if has_maxima else GAMMA_FACTOR) * terms * UNIT_ROUNDOFF
        return PreparedProblem(
            problem,
            tuple(hidden),
            margin,
            step_magnitudes,
            weight_magnitude @ last_magnitude + bias_magnitude + UNDERFLOW_CUSHION,
            intervals,
            gamma,
            step_magnitudes,
        )

    def require_features(self, moved: Bools) -> None:
        """Raise ValueError where words move (n, length) that are no features: bounds do not hold
        there."""
        if (moved & ~self.problem.features).any():
            raise ValueError("only features can be free")

    @cached_property
    def finite(self) -> bool:
        """False when the network can overflow over the region: then no bound may be believed."""
        largest_weights = [
            abs(step.weight).max() for step in (*self.steps, self.margin) if step.weight.size
        ]
        largest_magnitudes = [
            size.max(initial=0.0) for size in (self.margin_magnitude, *self.magnitude)
        ]
        return bool(np.max([*largest_weights, *largest_magnitudes]) <= OVERFLOW_LIMIT)

    @property
    def settings(self) -> Settings:
        return self.problem.settings

    @property
    def shape(self) -> tuple[int, ...]:
        return self.problem.center.shape

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where each step's units are when all hidden units stand in one row."""
        ends = np.cumsum([0, *(len(step.bias) for step in self.steps)]).tolist()
        return tuple(slice(a, b) for a, b in itertools.pairwise(ends))

    @cached_property
    def intermediate_work(self) -> int:
        """Multiplications that the intermediate bounds of all hidden units take for one input set,
        roughly."""
        nonzeros = [_nonzeros(step) for step in self.steps]
        row_counts = [2 * int(step.bent.sum()) for step in self.steps]
        return 1 + sum(
            count * sum(nonzeros[:step_index]) for step_index, count in enumerate(row_counts)
        )

    @cached_property
    def subproblem_work(self) -> int:
        """Multiplications that a subproblem takes, roughly: these bounds, and some passes through
        the network."""
        without_maxima, with_maxima = self.settings.branching.passes
        passes = with_maxima if self.pooled is not None else without_maxima
        return self.intermediate_work + passes * sum(_nonzeros(step) for step in self.steps)

    @cached_property
    def batch_limit(self) -> int:
        """How many input sets can be bounded at once, so that what is kept of each fits a chunk of
        memory."""
        return max(1, RESOURCES.chunk_numbers // (self.unit_count + self.problem.network.inputs))

    @cached_property
    def first_chunks(self) -> tuple[tuple[Ints, SharedRows], ...]:
        """The undecided units of the first step in chunks, each with its rows over the input."""
        units = self.undecided_units[0]
        row_nonzeros = max(1, _nonzeros(self.steps[0]) // max(1, len(self.steps[0].bias)))
        # each row stands there with its negative
        chunks = _chunks(units, RESOURCES.chunk_numbers // (2 * row_nonzeros))
        return tuple(
            (chunk, SharedRows(self.steps[0], chunk, self.problem.region)) for chunk in chunks
        )

    @cached_property
    def later_chunks(self) -> tuple[list[Ints], ...]:
        """By later step, its undecided units in chunks small enough that the clock is looked at
        often."""
        return tuple(self._chunks_of(step_index) for step_index in range(1, len(self.steps)))

    def _chunks_of(self, step_index: int) -> list[Ints]:
        widest = max(
            self.problem.network.inputs, *(len(step.bias) for step in self.steps[:step_index])
        )
        work = sum(_nonzeros(step) for step in self.steps[:step_index])
        return _chunks(
            self.undecided_units[step_index],
            min(RESOURCES.chunk_numbers // (2 * widest), RESOURCES.chunk_work // (2 * work + 1)),
        )

    @cached_property
    def bound_constants(self) -> tuple[Floats, ...]:
        """By step, what is added to bounds of z and of -z (2, units): the bias, less the rounding
        error."""
        errors = [self.gamma * magnitude for magnitude in self.magnitude]
        return tuple(
            np.stack([step.bias - error, -step.bias - error])
            for step, error in zip(self.steps, errors, strict=True)
        )

    @cached_property
    def error_rate(self) -> tuple[Floats, ...]:
        """By step (units,), the rounding error of a bound for each unit of a coefficient's absolute
        value."""
        return tuple(self.gamma * magnitude for magnitude in self.error_magnitude)

    @cached_property
    def curved(self) -> Bools | None:
        """The hidden units with smooth curves (units,), if there are any."""
        found = (
            np.concatenate([step.curved for step in self.steps])
            if self.steps
            else np.zeros(0, dtype=bool)
        )
        return found if found.any() else None

    @cached_property
    def undecided_units(self) -> tuple[Ints, ...]:
        """By step, the units whose relaxation interval bounds leave open: their bounds are worth
        improving.

        The others need no better bounds. They could still show that splits contradict each other,
        but the checker does not look at them, so such a proof would be rejected.
        """
        pairs = zip(self.steps, self.interval, strict=True)
        return tuple(
            np.flatnonzero(_undecided(step, lower, upper)) for step, (lower, upper) in pairs
        )

    @cached_property
    def default_bounds(self) -> tuple[Interval, ...]:
        """By step, interval bounds of its units over everything; [0, inf] for units that are passed
        on as they are."""
        pairs = zip(self.steps, self.interval, strict=True)
        return tuple(
            (np.where(step.bent, lower, 0.0), np.where(step.bent, upper, np.inf))
            for step, (lower, upper) in pairs
        )

    @cached_property
    def pooled(self) -> Bools | None:
        """The hidden units that are candidates of maxima (units,), if there are any."""
        found = (
            np.concatenate([step.pooled for step in self.steps])
            if self.steps
            else np.zeros(0, dtype=bool)
        )
        return found if found.any() else None

    @cached_property
    def margin_error(self) -> Floats:
        """How far the margin (rivals,) computed in doubles can be from the real one."""
        error = np.zeros(self.problem.network.inputs)
        for step, magnitude in zip(self.steps, self.error_magnitude, strict=True):
            carried = step.magnified(error) if error.any() else 0.0
            error = carried * (1 + self.gamma) + self.gamma * magnitude
            for group in step.maxima:
                error[group[0]] = error[group].max()
        weight = np.abs(self.problem.network.steps[-1].dense())
        rows = weight[self.problem.label] + weight[list(self.problem.rivals)]
        return np.asarray((rows @ error) * (1 + self.gamma) + self.gamma * self.margin_magnitude)

    @cached_property
    def unit_count(self) -> int:
        """How many hidden units there are in all."""
        return sum(len(step.bias) for step in self.steps)


@lru_cache(maxsize=1)
def prepared_original(problem: Problem) -> PreparedProblem:
    """The prepared problem that many reduced ones stand for, one after the other."""
    return PreparedProblem.of(problem)


def _prepared_reduction(problem: Problem, reduction: OneHotCoordinates) -> PreparedProblem:
    """A reduced problem prepared with the magnitudes of the original, so that rounding is measured
    as there.

    So bounds are those that a reader of the original network gets, within what is taken off them.
    """
    original = prepared_original(reduction.original)
    kept_units = reduction.kept_units
    (lower, upper), *later = original.interval
    hidden = problem.network.steps[:-1]
    magnitude = (original.magnitude[0][kept_units], *original.magnitude[1:])
    interval = ((lower[kept_units], upper[kept_units]), *later)
    first_error_magnitude = error_magnitudes(original.steps[0], original.magnitude[0], kept_units)
    margin = (
        original.margin
        if len(hidden) > 1
        else replace(original.margin, weight=original.margin.weight[:, kept_units])
    )
    return PreparedProblem(
        problem,
        hidden,
        margin,
        magnitude,
        original.margin_magnitude,
        interval,
        original.gamma,
        (first_error_magnitude, *magnitude[1:]),
    )


def error_magnitudes(step: Step, magnitude: Floats, kept_units: Ints) -> Floats:
    """Magnitudes of the kept units; those of dropped candidates are added at the first one of their
    maximum."""
    dropped = magnitude.copy()
    dropped[kept_units] = 0.0
    owner = np.arange(len(dropped)) if step.groups is None else step.groups.owner
    return np.asarray((magnitude + np.bincount(owner, dropped, len(dropped)))[kept_units])


def _undecided(step: Step, lower: Floats, upper: Floats) -> Bools:
    """The units (units,) whose bounds matter: curves, relus that can switch, candidates that can
    win."""
    undecided = step.curved | step.relu & (lower < 0) & (upper > 0)
    if step.groups is not None:
        units = step.groups.units
        groups = step.groups
        undecided[units] = upper[units] >= groups.highest(lower[units])[groups.group]
    return undecided


def _chunks(units: Ints, size: int) -> list[Ints]:
    length = max(1, size)
    return [units[i : i + length] for i in range(0, len(units), length)]


def _nonzeros(step: Step) -> int:
    """How many stored weights a product with the step's matrix multiplies by."""
    weight = step.weight
    return int(weight.nnz) if hasattr(weight, "nnz") else int(weight.size)

"""Intermediate bounds: lower and upper bounds of the pre-activations of every hidden unit.

The rows of each step, and their negatives, are carried back through the lines of the steps before
it, in chunks that fit the cache, and intersected with interval bounds.

Method: CROWN for intermediate layers (theory, section 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from suffice import work
from suffice.model.network import Floats, Ints, Step
from suffice.settings import RESOURCES
from suffice.verify.contract import Budget
from suffice.verify.nets.crown.prepared import PreparedProblem
from suffice.verify.nets.crown.relaxation import IntermediateBounds, Signs, relax_step
from suffice.verify.nets.input_sets import InputSets, Interval


def intermediate_bounds(
    prepared: PreparedProblem,
    inputs: InputSets,
    signs: Signs | None = None,
    shortcut: Callable[[int, IntermediateBounds], Interval | None] | None = None,
    budget: Budget | None = None,
) -> IntermediateBounds:
    """Bounds of every hidden unit, step by step; `signs` (n, units) are the splits (+1, -1, 0).

    `shortcut` gives the bounds of a step, from those of the steps before it, where the caller has a
    quicker way to them: splits of a step do not change its bounds. Raises OutOfTime when the budget
    is spent on the way.
    """
    bounds = IntermediateBounds.blank(len(inputs), prepared)
    for step_index, columns in enumerate(prepared.slices):
        given = None if shortcut is None else shortcut(step_index, bounds)
        lower, upper = given or step_bounds(prepared, inputs, bounds, step_index, budget)
        own_signs = None if signs is None else signs[:, columns]
        if own_signs is not None:
            lower, upper = _clamped_at_splits(prepared, lower, upper, step_index, own_signs)
        bounds.lower[:, columns] = lower
        bounds.upper[:, columns] = upper
        relax_step(bounds, prepared, step_index, own_signs)
    return bounds


def _clamped_at_splits(
    prepared: PreparedProblem, lower: Floats, upper: Floats, step_index: int, signs: Signs
) -> Interval:
    """Bounds of a step's units, clamped at zero where they are split; who wins a maximum is no such
    split."""
    at_zero = (
        signs if prepared.pooled is None else np.where(prepared.steps[step_index].pooled, 0, signs)
    )
    lower = np.where(at_zero > 0, np.maximum(lower, 0.0), lower)
    return lower, np.where(at_zero < 0, np.minimum(upper, 0.0), upper)


def step_bounds(
    prepared: PreparedProblem,
    inputs: InputSets,
    bounds: IntermediateBounds,
    step_index: int,
    budget: Budget | None = None,
) -> Interval:
    """Bounds of one step's units from the lines of the steps before it, intersected with interval
    bounds."""
    work.count("intermediate_bounds", len(inputs))
    interval_lower, interval_upper = prepared.interval[step_index]
    lower, upper = (
        np.repeat(side[None], len(inputs), 0) for side in prepared.default_bounds[step_index]
    )
    for units, lower_bounds in (
        _first_step_rows(prepared, inputs)
        if step_index == 0
        else _later_step_rows(prepared, inputs, bounds, step_index, budget)
    ):
        if budget is not None:
            budget.check_time()
        lower_bounds += prepared.bound_constants[step_index][:, units].ravel()
        lower_bounds = (
            lower_bounds
            if np.isfinite(lower_bounds).all()
            else np.where(np.isfinite(lower_bounds), lower_bounds, -np.inf)
        )
        lower[:, units] = np.maximum(lower_bounds[:, : len(units)], interval_lower[units])
        upper[:, units] = np.minimum(-lower_bounds[:, len(units) :], interval_upper[units])
    return lower, upper


def _first_step_rows(prepared: PreparedProblem, inputs: InputSets) -> Iterator[tuple[Ints, Floats]]:
    """Lower bounds (n, r) of the first step's rows and of their negatives, chunk by chunk, without
    the bias."""
    for units, shared in prepared.first_chunks:
        lower_bounds = shared.values_at(inputs.anchor) + np.zeros((len(inputs), 1))
        chunk = max(1, RESOURCES.chunk_numbers // (len(shared) * shared.max_seen))
        for i in range(0, len(inputs), chunk):
            lower_bounds[i : i + chunk] += inputs.take(slice(i, i + chunk)).shared_min_shift(shared)
        yield units, lower_bounds


def _later_step_rows(
    prepared: PreparedProblem,
    inputs: InputSets,
    bounds: IntermediateBounds,
    step_index: int,
    budget: Budget | None,
) -> Iterator[tuple[Ints, Floats]]:
    """The same for a later step: its rows are carried back through the lines of the steps before
    it."""
    for units in prepared.later_chunks[step_index - 1]:
        weight = prepared.steps[step_index].weight[units]
        rows = weight.toarray() if hasattr(weight, "toarray") else weight
        rows = np.concatenate([rows, -rows])
        chunk = max(1, RESOURCES.backward_numbers // (len(rows) * prepared.problem.network.inputs))
        if len(inputs) <= chunk:
            yield units, _carried_back(prepared, inputs, bounds, step_index, rows)
            continue
        lower_bounds = np.empty((len(inputs), len(rows)))
        for i in range(0, len(inputs), chunk):
            if budget is not None:
                budget.check_time()
            items = slice(i, i + chunk)
            lower_bounds[items] = _carried_back(
                prepared, inputs.take(items), bounds.take(items), step_index, rows
            )
        yield units, lower_bounds


def _carried_back(
    prepared: PreparedProblem,
    inputs: InputSets,
    bounds: IntermediateBounds,
    step_index: int,
    rows: Floats,
) -> Floats:
    coefficients = np.broadcast_to(rows, (len(inputs), *rows.shape))
    constant = np.zeros(coefficients.shape[:2])
    for k in range(step_index - 1, -1, -1):
        step = prepared.steps[k]
        columns = prepared.slices[k]
        coefficients = step.spread(coefficients)
        constant -= np.abs(coefficients) @ prepared.error_rate[k]
        negative = np.minimum(coefficients, 0.0)
        constant += np.matmul(negative, bounds.upper_intercept[:, columns, None])[..., 0]
        if bounds.lower_intercept is not None:
            constant += np.matmul(
                coefficients - negative, bounds.lower_intercept[:, columns, None]
            )[..., 0]
        positive = coefficients - negative
        positive *= bounds.lower_slope[:, None, columns]
        negative *= bounds.upper_slope[:, None, columns]
        coefficients = np.add(positive, negative, out=positive)
        constant += coefficients @ step.bias
        coefficients = times_weight(coefficients, step) if k else coefficients
    return constant + inputs.min_through(prepared.steps[0], coefficients)


def times_weight(rows: Floats, step: Step) -> Floats:
    flat = rows.reshape(-1, rows.shape[-1])
    return np.asarray(flat @ step.weight).reshape(*rows.shape[:-1], -1)

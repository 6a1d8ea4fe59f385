"""Bounds of the hidden units: their rows carried back through the lines of the steps before them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from suffice.model.network import Floats, Ints, Step
from suffice.prove.bounds.form import Form
from suffice.prove.bounds.lines import Hidden, Signs, draw
from suffice.prove.inputs import PIECE, Inputs, Interval
from suffice.prove.verdict import Budget

# Rows of this many numbers (chunk × rows × inputs) still fit the cache; larger batches are slower.
CHUNK_NUMBERS = 200_000


def hidden(
    form: Form,
    inputs: Inputs,
    signs: Signs | None = None,
    known: Callable[[int, Hidden], Interval | None] | None = None,
    budget: Budget | None = None,
) -> Hidden:
    """Bounds of every hidden unit, step by step; `signs` (n, units) are the splits (+1, -1, 0).

    `known` gives the bounds of a step, from the lines of those before it, where the caller has a quicker way to them:
    splits of a step do not change its bounds. Raises OutOfTime when the budget is spent on the way.
    """
    found = Hidden.blank(len(inputs), form)
    for place, part in enumerate(form.slices):
        given = None if known is None else known(place, found)
        lower, upper = given or step_bounds(form, inputs, found, place, budget)
        mine = None if signs is None else signs[:, part]
        if mine is not None:
            lower, upper = _cut(form, lower, upper, place, mine)
        found.lower[:, part], found.upper[:, part] = lower, upper
        draw(found, form, place, mine)
    return found


def _cut(form: Form, lower: Floats, upper: Floats, place: int, signs: Signs) -> Interval:
    """Bounds of a step's units, cut at zero where they are split; who wins a maximum is no such split."""
    at_zero = signs if form.pooled is None else np.where(form.steps[place].pooled, 0, signs)
    lower = np.where(at_zero > 0, np.maximum(lower, 0.0), lower)
    return lower, np.where(at_zero < 0, np.minimum(upper, 0.0), upper)


def step_bounds(form: Form, inputs: Inputs, found: Hidden, place: int, budget: Budget | None = None) -> Interval:
    """Bounds of one step's units from the lines of the steps before it; intervals have settled some of them."""
    least, most = form.reach[place]
    lower, upper = (np.repeat(side[None], len(inputs), 0) for side in form.outer[place])
    for units, below in _first_rows(form, inputs) if place == 0 else _later_rows(form, inputs, found, place, budget):
        if budget is not None:
            budget.look()
        below += form.constants[place][:, units].ravel()
        below = below if np.isfinite(below).all() else np.where(np.isfinite(below), below, -np.inf)
        lower[:, units] = np.maximum(below[:, : len(units)], least[units])
        upper[:, units] = np.minimum(-below[:, len(units) :], most[units])
    return lower, upper


def _first_rows(form: Form, inputs: Inputs) -> Iterator[tuple[Ints, Floats]]:
    """Lower bounds (n, r) of the first step's rows and of their negatives, piece by piece, without the bias."""
    for units, shared in form.first:
        found = shared.at(inputs.anchor) + np.zeros((len(inputs), 1))
        many = max(1, PIECE // (len(shared) * shared.width))
        for i in range(0, len(inputs), many):
            found[i : i + many] += inputs.take(slice(i, i + many)).shared_fall(shared)
        yield units, found


def _later_rows(
    form: Form, inputs: Inputs, found: Hidden, place: int, budget: Budget | None
) -> Iterator[tuple[Ints, Floats]]:
    """The same for a later step: its rows are carried back through the lines of the steps before it."""
    for units in form.pieces[place - 1]:
        weight = form.steps[place].weight[units]
        rows = weight.toarray() if hasattr(weight, "toarray") else weight
        rows = np.concatenate([rows, -rows])
        chunk = max(1, CHUNK_NUMBERS // (len(rows) * form.problem.network.inputs))
        if len(inputs) <= chunk:
            yield units, _backward(form, inputs, found, place, rows)
            continue
        below = np.empty((len(inputs), len(rows)))
        for i in range(0, len(inputs), chunk):
            if budget is not None:
                budget.look()
            part = slice(i, i + chunk)
            below[part] = _backward(form, inputs.take(part), found.take(part), place, rows)
        yield units, below


def _backward(form: Form, inputs: Inputs, found: Hidden, place: int, rows: Floats) -> Floats:
    over = np.broadcast_to(rows, (len(inputs), *rows.shape))
    total = np.zeros(over.shape[:2])
    for k in range(place - 1, -1, -1):
        step, part = form.steps[k], form.slices[k]
        over = step.spread(over)
        total -= np.abs(over) @ form.tax[k]
        negative = np.minimum(over, 0.0)
        total += np.matmul(negative, found.shift[:, part, None])[..., 0]
        if found.floor is not None:
            total += np.matmul(over - negative, found.floor[:, part, None])[..., 0]
        positive = over - negative
        positive *= found.low[:, None, part]
        negative *= found.up[:, None, part]
        over = np.add(positive, negative, out=positive)
        total += over @ step.bias
        over = times(over, step) if k else over
    return total + inputs.through(form.steps[0], over)


def times(rows: Floats, step: Step) -> Floats:
    flat = rows.reshape(-1, rows.shape[-1])
    return np.asarray(flat @ step.weight).reshape(*rows.shape[:-1], -1)

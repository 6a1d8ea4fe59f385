"""Linear bounds of the margin over sets of inputs, for many sets at once (backward bounds, CROWN).

A row of coefficients over the margin is carried back through the network. At each relu it is replaced by the
relu's lower line where the coefficient is positive (slope alpha, free in [0, 1] for an unstable unit) and by
its upper chord where it is negative; a unit that a proof has split on also gets a multiplier beta >= 0 (sign s:
the row becomes A - beta s). At the input the set's own support function gives the least value.

Every bound that leaves this module is already lowered by an a-priori bound of the rounding error, so
"bound > 0" holds for the real-number network. The argument: replacing a row A by the floats computed for A @ W
changes A·z by at most gamma(n) |A| |W| |h|, and |h| is bounded once per problem over the largest region.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np

from suffice.network import Bools, Floats, Ints, Step
from suffice.perturb import Ball, Box, Choice, Hull, Region
from suffice.verdict import Problem

ROUND = 2.0**-53
# Rows of this many numbers (chunk × rows × inputs) still fit the cache; larger batches are slower.
CHUNK_NUMBERS = 400_000

Interval: TypeAlias = tuple[Floats, Floats]


# --- the problem, compiled ---


@dataclass(frozen=True, eq=False)
class Form:
    """A Problem prepared for bounds: hidden steps, margin rows, and how large everything can get.

    `size[k]` bounds |W_k| |h| + |b_k| over everything free, which is what rounding errors are measured by;
    `reach[k]` bounds the pre-activations of step k over everything free.
    """

    problem: Problem
    steps: tuple[Step, ...]
    margin: Step
    size: tuple[Floats, ...]
    margin_size: Floats
    reach: tuple[Interval, ...]
    gamma: float

    @staticmethod
    def of(problem: Problem) -> Form:
        *hidden, last = problem.network.steps
        rivals = list(problem.rivals)
        weight = last.dense()
        rows = Step(
            weight[problem.label] - weight[rivals],
            last.bias[problem.label] - last.bias[rivals],
            np.zeros(len(rivals), dtype=bool),
        )
        sizes, reach, top = _magnitudes(hidden, _bounding_box(problem.region))
        largest = np.abs(weight[problem.label]) + np.abs(weight[rivals])
        constant = np.abs(last.bias[problem.label]) + np.abs(last.bias[rivals])
        terms = max(sum(step.weight.shape) for step in problem.network.steps) + 32
        gamma = 8 * terms * ROUND
        return Form(problem, tuple(hidden), rows, sizes, largest @ top + constant, reach, gamma)

    @property
    def finite(self) -> bool:
        """False when the network can overflow over the region: then nothing here may be believed."""
        return bool(np.isfinite(self.margin_size).all() and all(np.isfinite(s).all() for s in self.size))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.problem.center.shape


def _bounding_box(region: Region) -> Interval:
    match region:
        case Box(lower=lower, upper=upper):
            return lower, upper
        case Ball(center=center, radius=radius):
            wide = radius * (1 + 1e-12)
            return center - wide, center + wide
        case Hull(points=points) | Choice(points=points):
            return points.min(1), points.max(1)


def _magnitudes(
    steps: Sequence[Step], box: Interval
) -> tuple[tuple[Floats, ...], tuple[Interval, ...], Floats]:
    """Sizes and interval bounds of every step over `box`, widened well beyond rounding."""
    lower, upper = (side.ravel() for side in box)
    sizes, reach = [], []
    top = np.maximum(np.abs(lower), np.abs(upper))
    for step in steps:
        middle, radius = (lower + upper) / 2, (upper - lower) / 2
        size = (step.magnitude() @ top + np.abs(step.bias)) * (1 + 1e-9)
        z, spread = step.apply(middle[None])[0], step.magnitude() @ radius + size * 1e-9
        lower, upper = z - spread, z + spread
        sizes.append(size)
        reach.append((lower, upper))
        lower, upper = step.activate(lower), step.activate(upper)
        top = np.maximum(np.abs(lower), np.abs(upper))
    return tuple(sizes), tuple(reach), top


# --- input sets ---


class Inputs(Protocol):
    """A batch of input sets: an anchor point each, and how far a linear form can fall from it."""

    @property
    def anchor(self) -> Floats:
        """(n or 1, length, dimension)."""

    def fall(self, rows: Floats) -> Floats:
        """Least value of rows·(v - anchor): rows (n, r, length, dimension) to (n, r)."""

    def shared_fall(self, rows: Floats) -> Floats:
        """The same for rows (r, length, dimension) that all sets of the batch share."""

    def minimiser(self, rows: Floats) -> Floats:
        """Points (n, length, dimension) where the fall of rows (n, length, dimension) is attained."""

    def take(self, index: Ints | slice) -> Inputs:
        """The batch of the chosen sets."""

    def __len__(self) -> int: ...


@dataclass(frozen=True, eq=False)
class Free:
    """The words that `free` (n, length) marks range over their sets; the others are substituted, not boxed.

    `allowed` (n, length, m) narrows a Choice region further, when a proof branches on words.
    """

    region: Region
    free: Bools
    allowed: Bools | None = None

    @property
    def anchor(self) -> Floats:
        return self.region.center[None]

    def __len__(self) -> int:
        return len(self.free)

    def take(self, index: Ints | slice) -> Free:
        allowed = None if self.allowed is None else self.allowed[index]
        return replace(self, free=self.free[index], allowed=allowed)

    def fall(self, rows: Floats) -> Floats:
        match self.region:
            case Box() | Ball(p=np.inf):
                middle, radius = _middle(self.region)
                free = self.free[:, :, None]
                down = np.matmul(rows.reshape(*rows.shape[:2], -1), _column(middle * free))
                down -= np.matmul(np.abs(rows).reshape(*rows.shape[:2], -1), _column(radius * free))
                return np.asarray(down[..., 0])
            case _:
                return np.asarray((self._per_word(rows) * self.free[:, None]).sum(-1))

    def shared_fall(self, rows: Floats) -> Floats:
        if self.allowed is not None:
            return self.fall(np.broadcast_to(rows, (len(self), *rows.shape)))
        return self.free @ self._per_word(rows[None])[0].T

    def minimiser(self, rows: Floats) -> Floats:
        if self.allowed is None:
            best = self.region.minimiser(rows)
        else:
            points = _points(self.region)
            chosen = self._choices(rows[:, None])[:, 0].argmin(-1)
            best = points[np.arange(points.shape[0]), chosen]
        return np.where(self.free[:, :, None], best, self.region.center)

    def _per_word(self, rows: Floats) -> Floats:
        """The fall at each word if it is free: (n, r, length, dimension) to (n, r, length)."""
        match self.region:
            case Box() | Ball(p=np.inf):
                middle, radius = _middle(self.region)
                return np.asarray((rows * middle - np.abs(rows) * radius).sum(-1))
            case Ball(radius=radius, p=p):
                return np.asarray(-radius * np.linalg.norm(rows, ord=2 if p == 2 else np.inf, axis=-1))
            case Hull() | Choice():
                return np.asarray(self._choices(rows).min(-1))

    def _choices(self, rows: Floats) -> Floats:
        """rows·(point - center) for every allowed point: (n, r, length, m)."""
        points = _points(self.region) - self.region.center[:, None]
        n, r, length, dimension = rows.shape
        flat = rows.reshape(n * r, length, dimension).transpose(1, 0, 2)
        values = np.matmul(flat, points.transpose(0, 2, 1)).transpose(1, 0, 2).reshape(n, r, length, -1)
        return values if self.allowed is None else np.where(self.allowed[:, None], values, np.inf)


@dataclass(frozen=True, eq=False)
class Restored:
    """The perturbed text `start` with any words of `open` put back to the original, at a cost of at most `budget`.

    Inputs are start + r (center - start) for r in [0, 1] per word with cost·r <= budget: the fractional
    knapsack gives the least value of a linear form.
    """

    center: Floats
    start: Floats
    open: Bools
    cost: Floats
    budget: Floats

    @property
    def anchor(self) -> Floats:
        return self.start

    def __len__(self) -> int:
        return len(self.start)

    def take(self, index: Ints | slice) -> Restored:
        return replace(self, start=self.start[index], open=self.open[index], budget=self.budget[index])

    def fall(self, rows: Floats) -> Floats:
        back = (self.center - self.start)[:, None]
        return self._knapsack(np.einsum("brld,brld->brl", rows, np.broadcast_to(back, rows.shape)))[0]

    def shared_fall(self, rows: Floats) -> Floats:
        gains = np.einsum("rld,bld->brl", rows, self.center - self.start)
        return self._knapsack(gains)[0]

    def minimiser(self, rows: Floats) -> Floats:
        share = self.shares(rows)
        return self.start + share[:, :, None] * (self.center - self.start)

    def shares(self, rows: Floats) -> Floats:
        """Which words (n, length) the worst restoration puts back, the last one perhaps in part."""
        gains = np.einsum("bld,bld->bl", rows, self.center - self.start)[:, None]
        order, taken = self._knapsack(gains)[1:]
        share = np.zeros_like(gains)
        np.put_along_axis(share, order, taken, axis=-1)
        return np.asarray(share[:, 0])

    def _knapsack(self, gains: Floats) -> tuple[Floats, Ints, Floats]:
        """Cheapest way down: least sum, the order in which words are taken, and the share taken of each."""
        budget = self.budget[:, None, None]
        usable = self.open & (self.cost <= self.budget[:, None])
        gains = np.where(usable[:, None], np.minimum(gains, 0.0), 0.0)
        order = np.argsort(gains / self.cost, axis=-1, kind="stable")
        cost = self.cost[order]
        before = np.cumsum(cost, axis=-1) - cost
        taken = np.clip((budget - before) / cost, 0.0, 1.0)
        return (np.take_along_axis(gains, order, -1) * taken).sum(-1), order, taken


def _points(region: Region) -> Floats:
    assert isinstance(region, Hull | Choice)
    return region.points


def _middle(region: Box | Ball) -> Interval:
    """A box as displacement of its middle from the word and radius, the radius rounded outwards."""
    if isinstance(region, Ball):
        return np.zeros_like(region.center), np.full_like(region.center, region.radius)
    middle = (region.lower / 2 + region.upper / 2) - region.center
    reach = np.maximum(region.upper - region.center - middle, middle - (region.lower - region.center))
    return middle, np.where(region.lower < region.upper, np.nextafter(reach * (1 + 4 * ROUND), np.inf), 0.0)


def _column(values: Floats) -> Floats:
    return values.reshape(len(values), -1, 1)


# --- relaxations ---


@dataclass(frozen=True, eq=False)
class Relaxation:
    """For one step and a batch: lower line low·z, upper line up·z + shift; `loose` marks the unstable units."""

    low: Floats
    up: Floats
    shift: Floats
    loose: Bools

    def take(self, index: Ints | slice) -> Relaxation:
        return Relaxation(self.low[index], self.up[index], self.shift[index], self.loose[index])


def relax(lower: Floats, upper: Floats) -> Relaxation:
    """Lines around relu over [lower, upper], valid in real arithmetic whatever the rounding here."""
    loose = (lower < 0) & (upper > 0)
    active = (lower >= 0).astype(float)
    with np.errstate(invalid="ignore", over="ignore"):
        slope = np.where(loose, upper / np.where(loose, upper - lower, 1.0), active)
        # the chord must be at least 0 at `lower` and at least `upper` at `upper`
        shift = np.maximum(-slope * lower, upper * (1 - slope)) + 8 * ROUND * upper
    shift = np.where(loose, shift, 0.0)
    low = np.where(loose, (upper > -lower).astype(float), active)
    return Relaxation(low, slope, shift, loose)


def _through(rows: Floats, relaxation: Relaxation) -> tuple[Floats, Floats]:
    """Rows over relu(z) to rows over z and a constant: (n, r, units) to (n, r, units) and (n, r)."""
    negative = np.minimum(rows, 0.0)
    constant = np.matmul(negative, relaxation.shift[:, :, None])[..., 0]
    over = (rows - negative) * relaxation.low[:, None] + negative * relaxation.up[:, None]
    return over, constant


def _times(rows: Floats, step: Step) -> Floats:
    flat = rows.reshape(-1, rows.shape[-1])
    return np.asarray(flat @ step.weight).reshape(*rows.shape[:-1], -1)


# --- bounds of the hidden units ---


@dataclass(frozen=True, eq=False)
class Hidden:
    """Bounds of all hidden pre-activations for a batch of input sets, and the relaxations they allow.

    Units without relu are given as [0, inf], which makes their relaxation the identity.
    """

    bounds: tuple[Interval, ...]
    relaxations: tuple[Relaxation, ...]

    def take(self, index: Ints | slice) -> Hidden:
        return Hidden(
            tuple((lower[index], upper[index]) for lower, upper in self.bounds),
            tuple(relaxation.take(index) for relaxation in self.relaxations),
        )


Signs: TypeAlias = tuple[np.typing.NDArray[np.int8], ...]


def hidden(form: Form, inputs: Inputs, signs: Signs | None = None) -> Hidden:
    """Bounds of every hidden unit, step by step; `signs` (n, units) per step are the splits (+1, -1, 0)."""
    bounds: list[Interval] = []
    relaxations: list[Relaxation] = []
    for place in range(len(form.steps)):
        lower, upper = _unit_bounds(form, inputs, relaxations, place)
        if signs is not None:
            lower = np.where(signs[place] > 0, np.maximum(lower, 0.0), lower)
            upper = np.where(signs[place] < 0, np.minimum(upper, 0.0), upper)
        bounds.append((lower, upper))
        relaxations.append(relax(lower, upper))
    return Hidden(tuple(bounds), tuple(relaxations))


def _unit_bounds(form: Form, inputs: Inputs, relaxations: Sequence[Relaxation], place: int) -> Interval:
    step, (least, most) = form.steps[place], form.reach[place]
    units = np.flatnonzero(step.relu)
    weight = step.weight[units]
    rows = weight.toarray() if hasattr(weight, "toarray") else weight
    both = np.concatenate([rows, -rows])
    bias = np.concatenate([step.bias[units], -step.bias[units]])
    error = form.gamma * form.size[place][units]
    below = _rows_bound(form, inputs, relaxations, place, both, bias) - np.concatenate([error, error])
    lower = np.zeros((len(inputs), len(step.bias)))
    upper = np.full_like(lower, np.inf)
    lower[:, units] = np.maximum(below[:, : len(units)], least[units])
    upper[:, units] = np.minimum(-below[:, len(units) :], most[units])
    return lower, upper


def _rows_bound(
    form: Form, inputs: Inputs, relaxations: Sequence[Relaxation], place: int, rows: Floats, bias: Floats
) -> Floats:
    """Lower bounds (n, r) of rows·h + bias, h being what step `place` receives, for every set of the batch."""
    if place == 0:
        shaped = rows.reshape(len(rows), *form.shape)
        anchored = np.asarray(inputs.anchor.reshape(len(inputs.anchor), -1) @ rows.T) + bias
        return anchored + inputs.shared_fall(shaped)
    chunk = max(1, CHUNK_NUMBERS // (len(rows) * form.problem.network.inputs))
    parts = [
        _backward(form, inputs.take(part), [r.take(part) for r in relaxations], place, rows)
        for part in (slice(i, i + chunk) for i in range(0, len(inputs), chunk))
    ]
    return np.concatenate(parts) + bias


def _backward(
    form: Form, inputs: Inputs, relaxations: Sequence[Relaxation], place: int, rows: Floats
) -> Floats:
    over = np.broadcast_to(rows, (len(inputs), *rows.shape))
    total = np.zeros(over.shape[:2])
    for k in range(place - 1, -1, -1):
        step = form.steps[k]
        total -= form.gamma * (np.abs(over) @ form.size[k])
        over, constant = _through(over, relaxations[k])
        total += constant + over @ step.bias
        over = _times(over, step)
    anchor = inputs.anchor.reshape(len(inputs.anchor), -1, 1)
    total += np.matmul(over, anchor)[..., 0]
    return total + inputs.fall(over.reshape(*over.shape[:2], *form.shape))


# --- bounds of the margin, with slopes and multipliers that can be optimised ---


@dataclass(frozen=True, eq=False)
class Dual:
    """What a proof may choose per item and step: lower slopes alpha and split multipliers beta, both (n, units)."""

    alpha: tuple[Floats, ...]
    beta: tuple[Floats, ...]

    def take(self, index: Ints | slice) -> Dual:
        return Dual(tuple(a[index] for a in self.alpha), tuple(b[index] for b in self.beta))


def plain(bounds: Hidden) -> Dual:
    """The dual that every search starts from: the relaxation's own slopes, no multipliers."""
    return Dual(
        tuple(r.low.copy() for r in bounds.relaxations),
        tuple(np.zeros_like(r.low) for r in bounds.relaxations),
    )


@dataclass(frozen=True, eq=False)
class Pass:
    """One backward pass: the bound of each item, the rows over each step's relu, and over the input."""

    bound: Floats
    over: tuple[Floats, ...]
    inputs: Floats


def margin_bound(
    form: Form,
    inputs: Inputs,
    bounds: Hidden,
    rows: tuple[Floats, Floats, Floats],
    dual: Dual,
    signs: Signs | None,
) -> Pass:
    """Sound lower bound (n,) of one row per item over its input set.

    `rows` is (coefficients, constant, size) as `margin_rows` gives; `dual` may hold anything: slopes are used
    on unstable units only and clipped to [0, 1], multipliers on split units only and clipped to >= 0.
    """
    over, total, size = rows
    total = total - form.gamma * size
    seen: list[Floats] = []
    for k in range(len(form.steps) - 1, -1, -1):
        step, relaxation = form.steps[k], bounds.relaxations[k]
        seen.append(over)
        error = np.abs(over)
        negative = np.minimum(over, 0.0)
        low = np.where(relaxation.loose, np.clip(dual.alpha[k], 0.0, 1.0), relaxation.low)
        total = total + (negative * relaxation.shift).sum(-1)
        over = (over - negative) * low + negative * relaxation.up
        if signs is not None:
            multiplier = np.maximum(dual.beta[k], 0.0) * signs[k]
            over = over - multiplier
            error = error + np.abs(multiplier)
        total = total - form.gamma * (error @ form.size[k]) + over @ step.bias
        over = _times(over, step)
    shaped = over.reshape(-1, *form.shape)
    total = total + (shaped * inputs.anchor).sum((-1, -2)) + inputs.fall(shaped[:, None])[:, 0]
    return Pass(np.where(np.isnan(total), -np.inf, total), tuple(reversed(seen)), shaped)


def margin_rows(form: Form, rivals: Ints, sign: float = 1.0) -> tuple[Floats, Floats, Floats]:
    """Rows over the last hidden step for each item's rival (an index into `problem.rivals`)."""
    return sign * form.margin.dense()[rivals], sign * form.margin.bias[rivals], form.margin_size[rivals]


def dual_step(
    form: Form, bounds: Hidden, found: Pass, dual: Dual, signs: Signs | None, point: Floats
) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Gradients of the bound by alpha and by beta: the minimiser, run forward through the relaxed network."""
    values = point.reshape(len(point), -1)
    slopes, multipliers = [], []
    for k, (step, relaxation) in enumerate(zip(form.steps, bounds.relaxations, strict=True)):
        z = step.apply(values)
        over = found.over[k]
        slopes.append(np.where(relaxation.loose & (over > 0), over * z, 0.0))
        multipliers.append(np.zeros_like(z) if signs is None else -signs[k] * z)
        low = np.where(relaxation.loose, dual.alpha[k], relaxation.low)
        values = np.where(over > 0, low * z, relaxation.up * z + relaxation.shift)
    return tuple(slopes), tuple(multipliers)


def optimise(
    form: Form,
    inputs: Inputs,
    bounds: Hidden,
    rows: tuple[Floats, Floats, Floats],
    dual: Dual,
    signs: Signs | None,
    iterations: int,
    rate: float = 0.25,
) -> tuple[Pass, Dual]:
    """Projected Adam ascent on slopes and multipliers; keeps the best pass and dual of each item."""
    best, kept = margin_bound(form, inputs, bounds, rows, dual, signs), dual
    found = best
    moments = [[np.zeros_like(a), np.zeros_like(a)] for a in (*dual.alpha, *dual.beta)]
    layers = len(form.steps)
    for t in range(1, iterations + 1):
        point = inputs.minimiser(found.inputs)
        slopes, multipliers = dual_step(form, bounds, found, dual, signs, point)
        moved = []
        for value, gradient, moment in zip(
            (*dual.alpha, *dual.beta), (*slopes, *multipliers), moments, strict=True
        ):
            moment[0] = 0.9 * moment[0] + 0.1 * gradient
            moment[1] = 0.99 * moment[1] + 0.01 * gradient**2
            step = (moment[0] / (1 - 0.9**t)) / (np.sqrt(moment[1] / (1 - 0.99**t)) + 1e-12)
            moved.append(value + rate * 0.97**t * step)
        dual = Dual(
            tuple(np.clip(a, 0.0, 1.0) for a in moved[:layers]),
            tuple(np.maximum(b, 0.0) for b in moved[layers:]),
        )
        found = margin_bound(form, inputs, bounds, rows, dual, signs)
        best, kept = _keep_better(best, kept, found, dual)
        if (best.bound > 0).all():
            break
    return best, kept


def _keep_better(old: Pass, old_dual: Dual, new: Pass, new_dual: Dual) -> tuple[Pass, Dual]:
    better = new.bound > old.bound
    column = better[:, None]

    def pick(a: Floats, b: Floats) -> Floats:
        return np.where(column.reshape(column.shape[0], *[1] * (a.ndim - 1)), b, a)

    merged = Pass(
        np.maximum(old.bound, new.bound),
        tuple(pick(a, b) for a, b in zip(old.over, new.over, strict=True)),
        pick(old.inputs, new.inputs),
    )
    dual = Dual(
        tuple(pick(a, b) for a, b in zip(old_dual.alpha, new_dual.alpha, strict=True)),
        tuple(pick(a, b) for a, b in zip(old_dual.beta, new_dual.beta, strict=True)),
    )
    return merged, dual

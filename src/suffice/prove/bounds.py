"""Linear bounds of the margin over sets of inputs, for many sets at once (backward bounds, CROWN).

A row of coefficients over the margin is carried back through the network. At each relu it is replaced by the
relu's lower line where the coefficient is positive (slope alpha, free in [0, 1] for an unstable unit) and by
its upper chord where it is negative; at a smooth curve by the lines of `tangents`, and at a maximum by those of
`maxima`, which go through all its candidates. A unit that a proof has split on also gets a multiplier beta >= 0 (sign
s: the row becomes A - beta s), unless the split is on who wins a maximum. At the input the set's own support function
gives the least value.

Every bound that leaves this module is already lowered by an a-priori bound of the rounding error, so
"bound > 0" holds for the real-number network. The argument: replacing a row A by the floats computed for A @ W
changes A·z by at most gamma(n) |A| |W| |h|, and |h| is bounded once per problem over the largest region.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.model.curves import CURVES
from suffice.model.network import Bools, Floats, Ints, Step
from suffice.model.step import Groups
from suffice.prove import maxima
from suffice.prove.inputs import PIECE, Free, Inputs, Interval, Restored, Shared
from suffice.prove.peaks import Peaks
from suffice.prove.tangents import lines
from suffice.prove.tilts import PACE, Drift, Range, Tilted, Tilts
from suffice.prove.tree import Above
from suffice.prove.verdict import Budget, Problem, Source
from suffice.sets.regions import Ball, Box, Choice, Hull, Region

ROUND = 2.0**-53
# Products of numbers up to LARGE that underflow lose less than TINY times the rounding error in all.
LARGE, TINY = 1e100, 1e-100
# Bounds as far below zero as above it, and those that touch zero, which whole numbers often have, get the same lines
# by every reader, however it rounds: a share of their distance, and a share of the size of what is added up.
LEAN, NEAR = 1 + 2.0**-20, 2.0**-32
# Rows of this many numbers (chunk × rows × inputs) still fit the cache; larger batches are slower.
CHUNK_NUMBERS = 200_000
PASSES, POOLED = 16, 128  # through the network for a subproblem, and what it takes where there are maxima
PIECE_WORK = 10**8  # multiplications between two looks at the clock


# --- the problem, compiled ---


@dataclass(frozen=True, eq=False)
class Form:
    """A Problem prepared for bounds: hidden steps, margin rows, and how large everything can get.

    `size[k]` bounds |W_k| |h| + |b_k| over everything free, which is what rounding errors are measured by (at smooth
    curves times their steepness, plus their values, since lines around them have such slopes and intercepts);
    `reach[k]` bounds the pre-activations of step k over everything free; `toll[k]` is the size, with that of candidates
    that are left out of a maximum at its first one. All hold for questions about features only,
    which `about` makes sure of.
    """

    problem: Problem
    steps: tuple[Step, ...]
    margin: Step
    size: tuple[Floats, ...]
    margin_size: Floats
    reach: tuple[Interval, ...]
    gamma: float
    toll: tuple[Floats, ...]
    whole: Form | None = None  # the form with all units, where this one has only some
    kept: Ints | None = None  # and the places of its hidden units among all of them

    @staticmethod
    def of(problem: Problem) -> Form:
        if problem.source is not None:
            return _in_coordinates(problem, problem.source)
        *hidden, last = problem.network.steps
        rivals = list(problem.rivals)
        weight = last.dense()
        rows = Step(
            weight[problem.label] - weight[rivals],
            last.bias[problem.label] - last.bias[rivals],
            np.zeros(len(rivals), dtype=bool),
        )
        sizes, reach, top = _magnitudes(hidden, _bounding_box(problem))
        largest = np.abs(weight[problem.label]) + np.abs(weight[rivals])
        constant = np.abs(last.bias[problem.label]) + np.abs(last.bias[rivals])
        terms = max(sum(step.weight.shape) for step in problem.network.steps) + 32
        gamma = (12 if any(step.maxima for step in hidden) else 8) * terms * ROUND
        return Form(problem, tuple(hidden), rows, sizes, largest @ top + constant + TINY, reach, gamma, sizes)

    def about(self, moved: Bools) -> None:
        """Refuse a question in which words move (n, length) that are no features: bounds do not hold there."""
        if (moved & ~self.problem.features).any():
            raise ValueError("only features can be free")

    @cached_property
    def finite(self) -> bool:
        """False when the network can overflow over the region: then nothing here may be believed."""
        weights = [abs(step.weight).max() for step in (*self.steps, self.margin) if step.weight.size]
        sizes = [size.max(initial=0.0) for size in (self.margin_size, *self.size)]
        return bool(np.max([*weights, *sizes]) <= LARGE)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.problem.center.shape

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where each step's units are when all hidden units stand in one row."""
        ends = np.cumsum([0, *(len(step.bias) for step in self.steps)]).tolist()
        return tuple(slice(a, b) for a, b in itertools.pairwise(ends))

    @cached_property
    def work(self) -> int:
        """Multiplications that the bounds of all hidden units take for one input set, roughly."""
        sizes = [_stored(step) for step in self.steps]
        rows = [2 * int(step.bent.sum()) for step in self.steps]
        return 1 + sum(count * sum(sizes[:place]) for place, count in enumerate(rows))

    @cached_property
    def effort(self) -> int:
        """Multiplications that a subproblem takes, roughly: these bounds, and some passes through the network."""
        passes = POOLED if self.pooled is not None else PASSES
        return self.work + passes * sum(_stored(step) for step in self.steps)

    @cached_property
    def together(self) -> int:
        """How many input sets can be worked on at once, so that what is kept of each fits a piece of memory."""
        return max(1, PIECE // (self.units + self.problem.network.inputs))

    @cached_property
    def first(self) -> tuple[tuple[Ints, Shared], ...]:
        """The unsettled units of the first step in pieces, each with its rows over the input."""
        units = self.unsettled[0]
        widest = max(1, _stored(self.steps[0]) // max(1, len(self.steps[0].bias)))
        parts = _split(units, PIECE // (2 * widest))
        return tuple((some, Shared(self.steps[0], some, self.problem.region)) for some in parts)

    @cached_property
    def pieces(self) -> tuple[list[Ints], ...]:
        """By later step, its unsettled units in pieces, so that carrying the rows of one back is quickly done."""
        return tuple(self._pieces(place) for place in range(1, len(self.steps)))

    def _pieces(self, place: int) -> list[Ints]:
        widest = max(self.problem.network.inputs, *(len(step.bias) for step in self.steps[:place]))
        work = sum(_stored(step) for step in self.steps[:place])
        return _split(self.unsettled[place], min(PIECE // (2 * widest), PIECE_WORK // (2 * work + 1)))

    @cached_property
    def constants(self) -> tuple[Floats, ...]:
        """By step, what is added to bounds of z and of -z (2, units): the bias, less what rounding can take."""
        errors = [self.gamma * size for size in self.size]
        return tuple(np.stack([s.bias - off, -s.bias - off]) for s, off in zip(self.steps, errors, strict=True))

    @cached_property
    def tax(self) -> tuple[Floats, ...]:
        """By step, what rounding can take from a bound for each unit of a coefficient (units,)."""
        return tuple(self.gamma * toll for toll in self.toll)

    @cached_property
    def curved(self) -> Bools | None:
        """The hidden units with smooth curves (units,), if there are any."""
        found = np.concatenate([step.curved for step in self.steps]) if self.steps else np.zeros(0, dtype=bool)
        return found if found.any() else None

    @cached_property
    def unsettled(self) -> tuple[Ints, ...]:
        """At each step the units whose shape plain intervals leave open.

        The others need no better bounds. They could still show that splits contradict each other, but the checker does
        not look at them, so such a proof would be rejected.
        """
        pairs = zip(self.steps, self.reach, strict=True)
        return tuple(np.flatnonzero(_unsettled(step, low, high)) for step, (low, high) in pairs)

    @cached_property
    def outer(self) -> tuple[Interval, ...]:
        """By step, bounds of its units over everything; units that are passed on as they are count as [0, inf]."""
        pairs = zip(self.steps, self.reach, strict=True)
        return tuple((np.where(step.bent, low, 0.0), np.where(step.bent, high, np.inf)) for step, (low, high) in pairs)

    @cached_property
    def pooled(self) -> Bools | None:
        """The hidden units that are candidates of maxima (units,), if there are any."""
        found = np.concatenate([step.pooled for step in self.steps]) if self.steps else np.zeros(0, dtype=bool)
        return found if found.any() else None

    @cached_property
    def off(self) -> Floats:
        """How far a margin (rivals,) that is run in doubles can be from the real one."""
        wrong = np.zeros(self.problem.network.inputs)
        for step, size in zip(self.steps, self.toll, strict=True):
            carried = step.magnified(wrong) if wrong.any() else 0.0
            wrong = carried * (1 + self.gamma) + self.gamma * size
            for group in step.maxima:
                wrong[group[0]] = wrong[group].max()
        weight = np.abs(self.problem.network.steps[-1].dense())
        rows = weight[self.problem.label] + weight[list(self.problem.rivals)]
        return np.asarray((rows @ wrong) * (1 + self.gamma) + self.gamma * self.margin_size)

    @cached_property
    def units(self) -> int:
        """How many hidden units there are in all."""
        return sum(len(step.bias) for step in self.steps)


@lru_cache(maxsize=1)
def form_of_source(problem: Problem) -> Form:
    """The form of a problem that many smaller ones stand for, one after the other."""
    return Form.of(problem)


def _in_coordinates(problem: Problem, stands_for: Source) -> Form:
    """The form of a problem that stands for another: what rounding is measured by is that of the original.

    So bounds are those that a reader of the original network gets, within what is taken off them.
    """
    source, kept = form_of_source(stands_for.problem), stands_for.kept
    (low, high), *later = source.reach
    hidden = problem.network.steps[:-1]
    size, reach = (source.size[0][kept], *source.size[1:]), ((low[kept], high[kept]), *later)
    toll = tolls(source.steps[0], source.size[0], kept)
    taken = source.margin if len(hidden) > 1 else replace(source.margin, weight=source.margin.weight[:, kept])
    return Form(problem, hidden, taken, size, source.margin_size, reach, source.gamma, (toll, *size[1:]))


def tolls(step: Step, size: Floats, kept: Ints) -> Floats:
    """Sizes of the units that are kept, with those of candidates that are not at the first of their maximum."""
    lost = size.copy()
    lost[kept] = 0.0
    owner = np.arange(len(lost)) if step.groups is None else step.groups.owner
    return np.asarray((size + np.bincount(owner, lost, len(lost)))[kept])


def _unsettled(step: Step, low: Floats, high: Floats) -> Bools:
    """The units whose bounds matter: curves, relus that can switch, candidates that can win."""
    found = step.curved | step.relu & (low < 0) & (high > 0)
    if step.groups is not None:
        units, groups = step.groups.units, step.groups
        found[units] = high[units] >= groups.highest(low[units])[groups.group]
    return found


def _split(units: Ints, size: int) -> list[Ints]:
    step = max(1, size)
    return [units[i : i + step] for i in range(0, len(units), step)]


def _stored(step: Step) -> int:
    """How many weights a product with the step's matrix multiplies by."""
    weight = step.weight
    return int(weight.nnz) if hasattr(weight, "nnz") else int(weight.size)


def _bounding_box(problem: Problem) -> Interval:
    """The smallest box around everything that can be asked about: words that are no features stay where they are."""
    lower, upper = outer_sides(problem.region)
    features = problem.features[:, None]
    return np.where(features, lower, problem.center), np.where(features, upper, problem.center)


def outer_sides(region: Region) -> Interval:
    """The least and the largest value of every number of the input, a hair outside of a ball."""
    match region:
        case Box(lower=lower, upper=upper):
            return lower, upper
        case Ball(center=center, radius=radius):
            wide = radius * (1 + 1e-12)
            return center - wide, center + wide
        case Hull(points=points) | Choice(points=points):
            return points.min(1), points.max(1)


def _magnitudes(steps: Sequence[Step], box: Interval) -> tuple[tuple[Floats, ...], tuple[Interval, ...], Floats]:
    """Sizes and interval bounds of every step over `box`, widened well beyond rounding."""
    lower, upper = (side.ravel() for side in box)
    sizes, reach = [], []
    top = np.maximum(np.abs(lower), np.abs(upper))
    for step in steps:
        middle, radius = (lower + upper) / 2, (upper - lower) / 2
        total, moved = step.magnified(np.stack([top, radius]))
        size = (total + np.abs(step.bias)) * (1 + 1e-9) + TINY
        z, spread = step.apply(middle[None])[0], moved + size * 1e-9
        lower, upper = z - spread, z + spread
        reach.append((lower, upper))
        least, most = step.range(lower, upper)
        top = np.maximum(np.abs(least), np.abs(most))
        for name, units in step.curves:
            size[units] = size[units] * (1 + CURVES[name].steep(lower[units], upper[units])) + top[units] + 1
        sizes.append(size)
        lower, upper = least, most
    return tuple(sizes), tuple(reach), top


# --- bounds of the hidden units ---


@dataclass(frozen=True, eq=False)
class Hidden:
    """For a batch of input sets, bounds of all hidden units in one row (n, units) and the lines they allow.

    relu(z) lies above low·z and below up·z + shift; `loose` marks the unstable units, whose `low` may be any
    slope in [0, 1]. Units without relu are given as [0, inf], which makes both lines the identity. A smooth curve
    lies above low·z + floor; there is no `floor` where there are no curves. `live` marks the candidates of maxima that
    may still win, and `start` has the slopes and the choice of lines to start from; there are none where there are no
    maxima. The `shift` of a maximum is at its first candidate.
    """

    lower: Floats
    upper: Floats
    low: Floats
    up: Floats
    shift: Floats
    loose: Bools
    floor: Floats | None = None
    live: Bools | None = None
    start: Floats | None = None

    def take(self, index: Ints | slice) -> Hidden:
        return Hidden(
            self.lower[index],
            self.upper[index],
            self.low[index],
            self.up[index],
            self.shift[index],
            self.loose[index],
            None if self.floor is None else self.floor[index],
            None if self.live is None else self.live[index],
            None if self.start is None else self.start[index],
        )

    @staticmethod
    def blank(count: int, form: Form) -> Hidden:
        """Arrays to be filled in, step by step."""
        shape = (count, form.units)
        lower, upper, low, up, shift = np.zeros((5, *shape))
        floor = None if form.curved is None else np.zeros(shape)
        loose, pools = np.zeros(shape, dtype=bool), form.pooled is not None
        live, start = (np.zeros(shape, dtype=bool), np.zeros(shape)) if pools else (None, None)
        return Hidden(lower, upper, low, up, shift, loose, floor, live, start)

    def candidates(self, form: Form, place: int) -> maxima.Candidates:
        """The candidates of the maxima of one step, once all bounds are known."""
        if place not in self._candidates:
            groups = form.steps[place].groups
            assert groups is not None
            assert self.live is not None
            at = form.slices[place].start + groups.units
            near = NEAR * form.size[place][groups.units]
            lower, upper, live = self.lower[:, at], self.upper[:, at], self.live[:, at]
            self._candidates[place] = maxima.Candidates(groups, lower, upper, live, near)
        return self._candidates[place]

    @cached_property
    def _candidates(self) -> dict[int, maxima.Candidates]:
        return {}

    def crossing(self, form: Form) -> Bools:
        """The units that a split at zero would tell something about."""
        if form.curved is None:
            return self.loose
        return self.loose | (form.curved & (self.lower < 0) & (self.upper > 0))

    @property
    def contradicted(self) -> Bools:
        """Items whose splits cannot all hold: some unit's lower bound is above its upper bound."""
        return np.asarray((self.lower > self.upper).any(-1))


Signs: TypeAlias = NDArray[np.int8]
Slopes: TypeAlias = tuple[Floats, Floats, Floats]  # below and above every unit (n, units), and the constants above


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
        if signs is not None:
            cut = signs[:, part]
            if form.pooled is not None:
                cut = np.where(form.steps[place].pooled, 0, cut)
            lower = np.where(cut > 0, np.maximum(lower, 0.0), lower)
            upper = np.where(cut < 0, np.minimum(upper, 0.0), upper)
        found.lower[:, part], found.upper[:, part] = lower, upper
        if form.pooled is None or not form.steps[place].pooled.all():
            _relax(found, part, NEAR * form.size[place], None if signs is None else signs[:, part])
        _relax_curves(found, part, form.steps[place])
        _relax_maxima(found, form, place, None if signs is None else signs[:, part])
    return found


def _relax(found: Hidden, part: slice, near: Floats, signs: Signs | None) -> None:
    """Fill in the lines around relu over [lower, upper], valid in real arithmetic whatever the rounding here.

    The line above is flat where `upper` is `near` zero, has the slope one where `lower` is, and is the chord elsewhere.
    Where a unit is split, one of them is on the right side of zero already.
    """
    lower, upper = found.lower[:, part], found.upper[:, part]
    flat = upper <= near if signs is None else (upper <= near) & (signs <= 0)
    straight = ~flat & (lower >= -near)
    bent = ~(flat | straight)
    high, deep = np.where(bent, upper, 1.0), np.where(bent, lower, 0.0)
    slope = np.where(bent, high / (high - deep), straight)
    # the chord must be at least 0 at `lower` and at least `upper` at `upper`
    chord = np.maximum(-slope * deep, high * (1 - slope)) + 8 * ROUND * high
    rise = np.maximum(np.where(flat, upper, -lower), 0.0)
    found.loose[:, part] = (lower < 0) & (upper > 0)
    found.up[:, part] = slope
    found.shift[:, part] = np.where(bent, chord, rise)
    found.low[:, part] = np.where(bent, high > -deep * LEAN, straight)


def _relax_curves(found: Hidden, part: slice, step: Step) -> None:
    """The same for the smooth units, whose lines are not for anybody to choose."""
    for name, units in step.curves:
        at = part.start + units
        assert found.floor is not None
        found.low[:, at], found.floor[:, at], found.up[:, at], found.shift[:, at] = lines(
            CURVES[name], found.lower[:, at], found.upper[:, at]
        )
        found.loose[:, at] = False


def _relax_maxima(found: Hidden, form: Form, place: int, signs: Signs | None) -> None:
    """The same for maxima: who may win, and the lines that every search starts from."""
    groups, part = form.steps[place].groups, form.slices[place]
    if found.start is not None:
        found.start[:, part] = found.low[:, part]
    if groups is None:
        return
    assert found.live is not None
    assert found.start is not None
    at = form.slices[place].start + groups.units
    mine = None if signs is None else signs[:, groups.units].astype(np.float64)
    near = NEAR * form.size[place][groups.units]
    range_, nobody = maxima.narrowed(groups, found.lower[:, at], found.upper[:, at], mine, near)
    choice = maxima.start(range_)
    low, up, shift = maxima.lines(range_, choice)
    found.live[:, at], found.low[:, at], found.up[:, at] = range_.live, low, up
    found.start[:, at] = choice.astype(np.float32)  # as certificates hold them
    found.shift[:, at], found.loose[:, at] = 0.0, False
    found.shift[:, form.slices[place].start + groups.leaders] = shift
    found.lower[:, at] += np.where(nobody, found.upper[:, at] - found.lower[:, at] + 1, 0.0)  # a contradiction


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
        over = _times(over, step) if k else over
    return total + inputs.through(form.steps[0], over)


def _times(rows: Floats, step: Step) -> Floats:
    flat = rows.reshape(-1, rows.shape[-1])
    return np.asarray(flat @ step.weight).reshape(*rows.shape[:-1], -1)


# --- bounds of the margin, with slopes and multipliers that can be optimised ---


@dataclass(frozen=True, eq=False)
class Dual:
    """What a proof may choose: lower slopes alpha and split multipliers beta, both (n, units).

    And shares (n, m, k) of the lines above first relus, where those are tilted.
    """

    alpha: Floats
    beta: Floats
    share: Floats | None = None

    def take(self, index: Ints | slice) -> Dual:
        return Dual(self.alpha[index], self.beta[index], None if self.share is None else self.share[index])

    def pick(self, wins: Bools, new: Dual) -> Dual:
        """The new dual for the items that win, this one for the others."""
        column, share = wins[:, None], self.share
        if share is not None and new.share is not None:
            share = np.where(wins[:, None, None], new.share, share)
        return Dual(np.where(column, new.alpha, self.alpha), np.where(column, new.beta, self.beta), share)


def plain(bounds: Hidden) -> Dual:
    """The dual that every search starts from: the relaxation's own slopes, no multipliers."""
    start = bounds.low if bounds.start is None else bounds.start
    return Dual(start.copy(), np.zeros_like(bounds.low))


def settled(form: Form, bounds: Hidden, dual: Dual) -> Dual:
    """The dual as it is written down: with the slopes that were used where there was nothing to choose.

    A reader with slightly other bounds may find that there is, or the other way round: it uses what is written.
    """
    alpha = np.where(bounds.loose, np.clip(dual.alpha, 0.0, 1.0), bounds.low)
    if form.curved is not None:
        alpha = np.where(form.curved, 0.0, alpha)
    for place, _, at in _pools(form):
        alpha[:, at] = maxima.settled(bounds.candidates(form, place), dual.alpha[:, at])
    return Dual(alpha, dual.beta, dual.share)


@dataclass(frozen=True, eq=False)
class MarginRows:
    """One linear form per item over the last hidden step, to be bounded from below: coefficients, constant, size."""

    over: Floats
    constant: Floats
    size: Floats

    def take(self, index: Ints | slice) -> MarginRows:
        return MarginRows(self.over[index], self.constant[index], self.size[index])


def margin_rows(form: Form, rivals: Ints, sign: float = 1.0) -> MarginRows:
    """The margin against each item's rival (an index into `problem.rivals`), or its negative."""
    return MarginRows(sign * form.margin.dense()[rivals], sign * form.margin.bias[rivals], form.margin_size[rivals])


@dataclass(frozen=True, eq=False)
class Items:
    """Rows to be bounded, each over its input set and through the lines around its relus; `signs` are the splits.

    Lines above first relus, or first maxima, are tilted where there are `tilts` and the dual has shares.
    """

    inputs: Inputs
    bounds: Hidden
    rows: MarginRows
    signs: Signs | None = None
    tilts: Tilts | Peaks | None = None

    def take(self, index: Ints | slice) -> Items:
        signs = None if self.signs is None else self.signs[index]
        return Items(self.inputs.take(index), self.bounds.take(index), self.rows.take(index), signs, self.tilts)

    @cached_property
    def range(self) -> Range:
        """What parts of the input can add to the units whose lines are tilted."""
        assert self.tilts is not None
        assert isinstance(self.inputs, Free | Restored)
        if isinstance(self.tilts, Tilts):
            return self.tilts.range(self.inputs)
        at = self.tilts.members
        signs = None if self.signs is None else self.signs[:, at].astype(np.float64)
        live = self.tilts.may_win(self.bounds.lower[:, at], self.bounds.upper[:, at], signs)
        return self.tilts.range(self.inputs, live)

    @cached_property
    def tiltable(self) -> Bools:
        """Where a line (n, m) may be tilted: at open relus, and at maxima that several candidates may reach."""
        assert self.tilts is not None
        if isinstance(self.tilts, Tilts):
            return np.asarray(self.bounds.loose[:, self.tilts.units])
        assert self.bounds.live is not None
        live = self.bounds.live[:, self.tilts.members].astype(np.float64)
        return np.asarray(self.tilts.groups.total(live) > 1)


@dataclass(frozen=True, eq=False)
class Pass:
    """One backward pass: the bound of each item, the rows over every relu (n, units) and over the input, the lines."""

    bound: Floats
    over: Floats
    inputs: Floats
    lines: Slopes
    tilted: Tilted | None = None

    def take(self, index: Ints | slice) -> Pass:
        tilted, (low, up, shift) = None if self.tilted is None else self.tilted.take(index), self.lines
        lines_ = low[index], up[index], shift[index]
        return Pass(self.bound[index], self.over[index], self.inputs[index], lines_, tilted)


def margin_bound(form: Form, batch: Items, dual: Dual | None) -> Pass:
    """Sound lower bound (n,) of one row per item over its input set.

    Without a `dual` the lines are the relaxation's own. It may hold anything finite: slopes are used on unstable units
    only and clipped to [0, 1], multipliers on split units only and clipped to >= 0.
    """
    bounds, over, total = batch.bounds, batch.rows.over, batch.rows.constant - form.gamma * batch.rows.size
    low, up, shift = (bounds.low, bounds.up, bounds.shift) if dual is None else chosen_lines(form, bounds, dual)
    multiplier = None if dual is None else _multipliers(form, batch, dual)
    tilted: Tilted | None = None
    seen = np.empty_like(low)
    for k in range(len(form.steps) - 1, -1, -1):
        step, part = form.steps[k], form.slices[k]
        over = step.spread(over)
        seen[:, part] = over
        error = np.abs(over)
        if k == 0 and dual is not None and dual.share is not None:
            tilted = _tilted(batch, over, dual.share)
            over, error = _without(over, error, batch, tilted)
        negative = np.minimum(over, 0.0)
        total = total + _dots(negative, shift[:, part])
        positive = over - negative
        if bounds.floor is not None:
            total = total + _dots(positive, bounds.floor[:, part])
        positive *= low[:, part]
        negative *= up[:, part]
        over = np.add(positive, negative, out=positive)
        if multiplier is not None:
            over = over - multiplier[:, part]
            error = error + np.abs(multiplier[:, part])
        total = total - error @ form.tax[k] + over @ step.bias
        over = _times(over, step)
    if tilted is not None and dual is not None and dual.share is not None and batch.tilts is not None:
        total = total + _dots(tilted.over, tilted.top)
        over = over + batch.tilts.back(tilted.over[..., None] * dual.share)
        if isinstance(batch.tilts, Peaks):
            over = over + tilted.over @ batch.tilts.base
    shaped = over.reshape(-1, *form.shape)
    anchor = batch.inputs.anchor.reshape(len(batch.inputs.anchor), -1)
    total = total + _dots(over, anchor) + batch.inputs.fall(shaped[:, None])[:, 0]
    return Pass(np.where(np.isfinite(total), total, -np.inf), seen, shaped, (low, up, shift), tilted)


def lines_above(tilts: Tilts | Peaks | None, dual: Dual, found: Pass, item: int) -> Above | None:
    """The tilted lines that an item of a pass took, as a proof writes them."""
    if tilts is None or dual.share is None or found.tilted is None:
        return None
    used = {int(tilts.units[i]): dual.share[item, i] for i in np.flatnonzero(found.tilted.over[item])}
    if isinstance(tilts, Peaks):
        return Above(tilts.per, used)
    shares = {unit: tilts.written(share) for unit, share in used.items()}
    return Above(tilts.per, shares, tilts.words if tilts.per == "number" else None)


def _tilted(batch: Items, over: Floats, share: Floats) -> Tilted:
    """The tilted lines, for those coefficients of the first step (n, units) that take a line above an open unit."""
    assert batch.tilts is not None
    units = batch.tilts.units
    replaced = np.where(batch.tiltable, np.minimum(over[:, units], 0.0), 0.0)
    return Tilted(replaced, *batch.range.top(share))


def _without(over: Floats, error: Floats, batch: Items, tilted: Tilted) -> tuple[Floats, Floats]:
    """What is left to the other lines; what rounding is measured by counts three times where lines are tilted."""
    assert batch.tilts is not None
    over, error = over.copy(), error.copy()
    units, each = _taking(batch.tilts, tilted.over)
    over[:, units] -= each
    error[:, units] -= 2 * each
    return over, error


def _taking(tilts: Tilts | Peaks, values: Floats | Bools) -> tuple[Ints, Floats]:
    """The units that tilted lines stand for, all candidates of a maximum, and for each the value (n, m) of its line."""
    if isinstance(tilts, Tilts):
        return tilts.units, np.asarray(values)
    return tilts.members, np.asarray(values[:, tilts.owner])


def chosen_lines(form: Form, bounds: Hidden, dual: Dual) -> Slopes:
    """The slopes below and above every unit, and the constants above, that a dual chooses."""
    low = np.where(bounds.loose, np.minimum(np.maximum(dual.alpha, 0.0), 1.0), bounds.low)
    if form.pooled is None:
        return low, bounds.up, bounds.shift
    up, shift = bounds.up.copy(), bounds.shift.copy()
    for place, groups, at in _pools(form):
        leaders = form.slices[place].start + groups.leaders
        low[:, at], up[:, at], shift[:, leaders] = maxima.lines(bounds.candidates(form, place), dual.alpha[:, at])
    return low, up, shift


def _pools(form: Form) -> Iterator[tuple[int, Groups, Ints]]:
    """The steps with maxima: their places, their groups, and where the candidates are among all units."""
    for place, step in enumerate(form.steps):
        if step.groups is not None:
            yield place, step.groups, form.slices[place].start + step.groups.units


def _multipliers(form: Form, batch: Items, dual: Dual) -> Floats | None:
    """beta·sign of the units that are split at zero; who wins a maximum has none."""
    if batch.signs is None:
        return None
    multiplier: Floats = np.maximum(dual.beta, 0.0) * batch.signs
    return multiplier if form.pooled is None else np.where(form.pooled, 0.0, multiplier)


def _dots(left: Floats, right: Floats) -> Floats:
    """Row by row, the scalar product; `right` may have a single row for all."""
    return np.asarray(np.einsum("nu,nu->n", left, right))


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Where each bound is attained, carried forward through the lines: before and after every relu (n, units).

    `added` is what each part of the input adds there to the units whose lines are tilted.
    """

    z: Floats
    values: Floats
    added: Floats | None = None


def forward(form: Form, batch: Items, found: Pass, dual: Dual) -> Relaxed:
    """The minimiser of each item run through the relaxed network, along the lines of its pass."""
    bounds, lower, (low, up, shift) = batch.bounds, found.over > 0, found.lines
    slope = np.where(lower, low, up)
    offset = np.where(lower, 0.0 if bounds.floor is None else bounds.floor, shift)
    points = batch.inputs.minimiser(found.inputs)
    values, added = points.reshape(len(slope), -1), None
    z, relaxed = np.empty_like(slope), np.empty_like(slope)
    for step, part in zip(form.steps, form.slices, strict=True):
        z[:, part] = step.apply(values)
        values = slope[:, part] * z[:, part] + offset[:, part]
        if part.start == 0 and found.tilted is not None and batch.tilts is not None and dual.share is not None:
            added, units = batch.tilts.at(points), batch.tilts.units
            above = np.einsum("nmk,nmk->nm", dual.share, added) + found.tilted.top
            if isinstance(batch.tilts, Peaks):
                above += batch.tilts.fixed(points)
            all_, taken = _taking(batch.tilts, found.tilted.over < 0)
            values[:, all_] = np.where(taken, 0.0, values[:, all_])
            values[:, units] = np.where(found.tilted.over < 0, above, values[:, units])
        if step.groups is not None:
            step.groups.put(step.groups.total(values[:, step.groups.units]), values)
        relaxed[:, part] = values
    return Relaxed(z, relaxed, added)


def losses(form: Form, batch: Items, found: Pass, dual: Dual) -> Floats:
    """How much the relaxation of each relu (n, units) gives away; of a maximum, at the candidate to split on."""
    reached = forward(form, batch, found, dual)
    real = np.maximum(reached.z, 0.0)
    for step, part in zip(form.steps, form.slices, strict=True):
        if step.curves or step.maxima:
            real[:, part] = step.activate(reached.z[:, part])
    lost = np.abs(found.over * (reached.values - real))
    result = np.where(batch.bounds.crossing(form), lost, 0.0)
    for place, groups, at in _pools(form):
        range_ = batch.bounds.candidates(form, place)
        upper = np.where(range_.live, range_.upper, -np.inf)
        top = groups.winners(upper)
        leaders = form.slices[place].start + groups.leaders
        # splits bring the line above closer; below, shares are as good as it gets
        open_ = (found.over[:, leaders] < 0) & ~range_.settled
        result[:, at] = np.where(top, np.where(open_, lost[:, leaders], 0.0)[:, groups.group], 0.0)
    return result


class Ascent:
    """Adam for one array, with values kept in float32 so that a certificate can hold them exactly."""

    def __init__(self, rate: float, most: float) -> None:
        self.rate, self.most, self.turn = rate, most, 0
        self.first: Floats | float = 0.0
        self.second: Floats | float = 0.0

    def step(self, value: Floats, gradient: Floats) -> Floats:
        """The value moved along its gradient and clipped to [0, most]."""
        self.turn += 1
        rate = self.rate * 0.97**self.turn * math.sqrt(1 - 0.99**self.turn) / (1 - 0.9**self.turn)
        self.first = 0.9 * self.first + 0.1 * gradient
        self.second = 0.99 * self.second + 0.01 * gradient * gradient
        moved = value + rate * self.first / (np.sqrt(self.second) + 1e-12)
        return np.asarray(np.minimum(np.maximum(moved, 0.0), self.most).astype(np.float32), dtype=np.float64)


def optimise(
    form: Form, batch: Items, dual: Dual, found: Pass, iterations: int, budget: Budget | None = None, pace: float = PACE
) -> tuple[Pass, Dual]:
    """Projected ascent on slopes and multipliers, from a first pass; the best dual of each item and its pass.

    `pace` is that of shares: less of it where they are good already.
    """
    best, kept = found.bound, dual
    slope, multiplier = Ascent(0.25, 1.0), Ascent(0.25, np.inf)
    shares = None if batch.tilts is None else Drift(batch.range.width, pace)
    for _ in range(iterations):
        if (best > 0).all() or (budget is not None and budget.spent):
            break
        reached = forward(form, batch, found, dual)
        z = reached.z
        gradient = np.where(batch.bounds.loose, np.maximum(found.over, 0.0) * z, 0.0)
        fade = 0.97 if isinstance(batch.tilts, Peaks) else 0.9
        alpha = _better_maxima(form, batch, found, dual, z, gradient, slope, 3 * pace * fade ** (slope.turn + 1))
        beta = dual.beta if batch.signs is None else multiplier.step(dual.beta, -batch.signs * z)
        share = dual.share
        if shares is not None and share is not None and found.tilted is not None and reached.added is not None:
            share = shares.step(share, found.tilted, reached.added)
        dual = Dual(alpha, beta, share)
        found = margin_bound(form, batch, dual)
        kept = kept.pick(found.bound > best, dual)
        best = np.maximum(best, found.bound)
    if (found.bound < best).any():
        found = margin_bound(form, batch, kept)
    return found, kept


def _better_maxima(
    form: Form, batch: Items, found: Pass, dual: Dual, z: Floats, gradient: Floats, slope: Ascent, part: float
) -> Floats:
    """The slopes moved along their gradient; of maxima, theta is, and shares move towards the winner."""
    for place, groups, at in _pools(form):
        leaders = form.slices[place].start + groups.leaders
        rise = maxima.slope_of_level(batch.bounds.candidates(form, place), dual.alpha[:, at], z[:, at])
        gradient[:, leaders] = np.minimum(found.over[:, leaders], 0.0) * rise
    alpha = slope.step(dual.alpha, gradient)
    for _, groups, at in _pools(form):
        share = maxima.shares(groups, dual.alpha[:, at])
        share += part * (groups.winners(z[:, at]) - share)
        others = groups.units != groups.leaders[groups.group]
        moved = np.where(found.over[:, at] > 0, share.astype(np.float32), dual.alpha[:, at])
        alpha[:, at[others]] = moved[:, others]
    return alpha

"""Sieve: who may win the maxima of a network where its label would be lost, sifted by lines above bundles of maxima.

Let the margin be b + Σ A_m max_m, each maximum over sums z_p of the first step and so of the input x, which moves
within a box: x = middle + radius·y with every number of y between -1 and 1. Take an input at which it is not above
zero, and for each maximum with A_m < 0 a unit that reaches it there. For the others, max_m >= Σ w_p z_p for weights
that add up to one. A bundle is some of the maxima with A_m < 0; for the choice c of the units that reach them, the
weighted sum of -A_m max_m over the bundle is f_c·y + g_c at the input. For any row a it is at most a·y + reach(c),
where reach(c) = g_c + |f_c - a|, the sum over numbers. With `top` the largest reach of the choices that are left to
each bundle, and r·y + level what the others leave once all rows a are taken off,

    0 >= margin >= level - |r| - (reaches of the choices made) = base + (how far these are below their tops),

base = level - |r| - Σ tops. So a choice is dropped if it alone is further below its top than -base, and choices of
several bundles are joined only if they are not so together. With the choice c itself in the place of its bundle's line,
margin >= level - (the other tops) - g_c - |r + a - f_c|, and where that is above zero c is dropped as well. An input
as above has choices that are never dropped: where a bundle has none left, there is no such input.

*Rounding.* All of these are sums of doubles whose terms are within S: what the margin's form has in `network`, where
each maximum counts |A_m| times the sizes of its units, three times for A_m < 0, and three times the rows a. No term
goes through more than (n_in + n_out + 16) additions and products, those of a dropped or joined choice through twice as
many, so all that is compared is off by less than G·S (G as in `network`), which is added to what may be left. (Middle
and radius are off by a rounding of the input's numbers, which is a rounding of these terms.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.proof.certificate import numbers
from suffice.proof.check import maxima
from suffice.proof.check.inputs import Ranging
from suffice.proof.check.reading import HUGE, Limit, mask, need, whole
from suffice.proof.check.sets import Sets

MOST = 2**20  # choices of all bundles together
CELLS = 2**17  # numbers worked on at a time
MANY, TABLE = 2**12, 2**22  # choices from which on sums of their halves are worked out once; numbers of these
ROUND = 2.0**-53

Weighted: TypeAlias = tuple[Floats, Floats]  # values of units in the middle, and their rows, times their weights


@dataclass(frozen=True, eq=False)
class Bundle:
    """Some maxima, by their first units, and the choices (n, maxima) of units that may reach them.

    `short` (n,) is how far each choice is below the top.
    """

    firsts: tuple[int, ...]
    choices: Ints
    short: Floats

    def only(self, kept: Bools) -> Bundle:
        return replace(self, choices=self.choices[kept], short=self.short[kept])

    def split(self, unit: int, first: int) -> tuple[Bundle, Bundle]:
        if first not in self.firsts:
            return self, self
        mine = self.choices[:, self.firsts.index(first)] == unit
        return self.only(~mine), self.only(mine)


@dataclass(frozen=True, eq=False)
class Left:
    """What is left after some stages: bundles, and how far choices may be below their tops in all."""

    bundles: tuple[Bundle, ...]
    room: float

    @property
    def nobody(self) -> bool:
        """Whether there is no input at which the label would be lost."""
        return not all(len(bundle.short) for bundle in self.bundles)

    @property
    def names(self) -> dict[int, int]:
        """What bundles are called at the next stage, and their places: at first by units, later by places."""
        first = np.isinf(self.room)
        return {bundle.firsts[0] if first else place: place for place, bundle in enumerate(self.bundles)}

    @property
    def bytes(self) -> int:
        return sum(bundle.choices.nbytes + bundle.short.nbytes for bundle in self.bundles)

    def split(self, unit: int, first: int) -> tuple[Left, Left]:
        """Where another unit reaches the maximum with this first unit, and where this one does."""
        sides = [[bundle.split(unit, first)[side] for bundle in self.bundles] for side in (0, 1)]
        return replace(self, bundles=tuple(sides[0])), replace(self, bundles=tuple(sides[1]))


@dataclass(frozen=True, eq=False)
class Box:
    """The first step's units over a box: `rows` (units, numbers that move) times their radius, `own` in its middle.

    `words` (length,) are those that move, and `radius` is that of their numbers.
    """

    words: Bools
    rows: Floats
    own: Floats
    radius: Floats

    @staticmethod
    def of(step: Step, sets: Sets, state: Any) -> Box:
        """What the first step makes of a state: the middle and the radius of each number of the input."""
        need(isinstance(state, Ranging) and sets.points is None, "there is nothing to sieve over such sets")
        assert isinstance(state, Ranging)
        need(not state.opened.any(), "there is nothing to sieve where words are paid for")
        words = state.allowed[:, 0]
        numbers_ = np.repeat(words, sets.center.shape[1])
        middle = np.where(words[:, None], sets.low / 2 + sets.high / 2, sets.center).ravel()
        radius = (sets.high / 2 - sets.low / 2).ravel()[numbers_] * (1 + 4 * ROUND)
        moving = step.weight[:, np.flatnonzero(numbers_)]  # of a sparse weight these alone become an ordinary array
        rows = moving if isinstance(moving, np.ndarray) else moving.toarray()
        return Box(words, rows * radius, step.weight @ middle + step.bias, radius)


@dataclass(frozen=True, eq=False)
class Margin:
    """The margin's weights (maxima,) and constant, the step's maxima, and what rounding is measured by."""

    weights: Floats
    constant: float
    pools: maxima.Pools
    live: Bools  # (maxima, most): the units that may reach each maximum
    low: Floats  # (maxima, most): weights of units below each maximum, which add up to one
    size: float
    gamma: float

    @property
    def first(self) -> Left:
        """A bundle for each maximum that takes a line above, with all units that may reach it."""
        bundles = []
        for place in np.flatnonzero(self.weights < 0).tolist():
            units = self.pools.units[place][self.live[place] & self.pools.real[place]]
            bundles.append(Bundle((int(self.pools.units[place, 0]),), units[:, None], np.zeros(len(units))))
        return Left(tuple(bundles), np.inf)


@dataclass(frozen=True, eq=False)
class Stage:
    """What a line says: who is bundled, and the row (bundles, numbers that move) of the line above each bundle."""

    groups: tuple[tuple[int, ...], ...]
    rows: Floats

    @staticmethod
    def read(groups: Any, words: Any, rows: Any, before: Left, margin: Margin, box: Box, dimension: int) -> Stage:
        need(type(groups) is list and all(type(group) is list for group in groups), "bundles must be lists")
        names = before.names
        listed = [
            [whole(one, 0, len(margin.pools.owner), "each part of a bundle") for one in group] for group in groups
        ]
        flat = [one for group in listed for one in group]
        need(all(listed) and sorted(flat) == sorted(names), "bundles must have every part once")
        some = mask(words, np.ones_like(box.words), "the words of rows")
        values = numbers(rows, len(groups) * int(some.sum()) * dimension).reshape(len(groups), -1)
        need(np.isfinite(values).all() and (np.abs(values) <= HUGE).all(), "a row is beyond what can be checked")
        found = np.zeros((len(groups), len(some) * dimension))
        found[:, np.repeat(some, dimension)] = values
        moving = found[:, np.repeat(box.words, dimension)]
        return Stage(tuple(tuple(names[one] for one in group) for group in listed), moving * box.radius)


def sieved(before: Left, stage: Stage, margin: Margin, box: Box, limit: Limit) -> Left:
    """What a stage leaves of what was left before it."""
    if before.nobody:
        return before
    bundles = [_joined([before.bundles[i] for i in group], before.room, limit) for group in stage.groups]
    need(sum(len(bundle.short) for bundle in bundles) <= MOST, "more choices are left than can be looked at")
    size = margin.size + 3 * float(np.abs(stage.rows).sum())
    level, row = _others(margin, box)
    row, error = row - stage.rows.sum(0), margin.gamma * size
    need(np.isfinite(error) and size <= HUGE, "the margin is beyond what can be checked")
    weighted = _weighted(margin, box)
    reaches = [_reach(bundle.choices, line, weighted, limit) for bundle, line in zip(bundles, stage.rows, strict=True)]
    base = level - float(np.abs(row).sum())
    tops = [float(reach.max(initial=-np.inf)) for reach in reaches]
    kept = []
    for i, (bundle, reach) in enumerate(zip(bundles, reaches, strict=True)):
        others = sum(top for j, top in enumerate(tops) if j != i)
        near = ~(base - others - reach > error)  # what is not a number drops nobody
        alone = others + _reach(bundle.choices[near], row + stage.rows[i], weighted, limit)
        near[near] = ~(level - alone > error)
        kept.append(near)
    if not all(some.any() for some in kept):
        return Left(tuple(bundle.only(some) for bundle, some in zip(bundles, kept, strict=True)), 0.0)
    return _measured(bundles, kept, reaches, base, error)


def _measured(bundles: list[Bundle], kept: list[Bools], reaches: list[Floats], base: float, error: float) -> Left:
    """The choices that are left, by how far they are below the tops of those that are left."""
    left = [reach[some] for reach, some in zip(reaches, kept, strict=True)]
    tops = [float(reach.max()) for reach in left]
    measured = [
        Bundle(bundle.firsts, bundle.choices[some], top - reach)
        for bundle, some, top, reach in zip(bundles, kept, tops, left, strict=True)
    ]
    return Left(tuple(measured), error - (base - sum(tops)))


def _joined(parts: list[Bundle], room: float, limit: Limit) -> Bundle:
    """Choices of all parts that are not too far below their tops together."""
    found, *others = parts
    for other in others:
        limit.look()
        order = np.argsort(other.short, kind="stable")
        most = room - found.short + 4 * ROUND * (abs(room) + found.short)
        count = np.searchsorted(other.short[order], most, side="right")
        need(count.sum() <= MOST, "more choices are left than can be looked at")
        first = np.repeat(np.arange(len(count)), count)
        second = order[np.arange(len(first)) - np.repeat(np.cumsum(count) - count, count)]
        choices = np.concatenate([found.choices[first], other.choices[second]], axis=1)
        found = Bundle(found.firsts + other.firsts, choices, found.short[first] + other.short[second])
    return found


def _others(margin: Margin, box: Box) -> tuple[float, Floats]:
    """What the maxima that take lines below leave: a level, and a row over the numbers that move."""
    share = np.where(margin.pools.real, np.maximum(margin.weights, 0.0)[:, None] * margin.low, 0.0)
    units = margin.pools.units
    level = margin.constant + float((share * box.own[units]).sum())
    weights = np.bincount(units.ravel(), share.ravel(), len(box.own))
    return level, weights @ box.rows


def _weighted(margin: Margin, box: Box) -> Weighted:
    """The units' values in the middle, and their rows, times what their maxima take off the margin."""
    weights = np.zeros(len(box.own))
    weights[margin.pools.units] = -margin.weights[:, None]
    return weights * box.own, weights[:, None] * box.rows


def _reach(choices: Ints, line: Floats, weighted: Weighted, limit: Limit) -> Floats:
    """What each choice asks of the constant of a line (n,), piece by piece."""
    found, parts = np.empty(len(choices)), _parts(choices, weighted)
    many = max(1, CELLS // max(1, len(line)))
    for start in range(0, len(found), many):
        limit.look()
        mine = slice(start, start + many)
        away, own = -line, np.zeros(1)
        for which, (values, rows) in parts:
            away, own = away + rows[which[mine]], own + values[which[mine]]
        found[mine] = own + np.abs(away).sum(-1)
    return found


def _parts(choices: Ints, weighted: Weighted) -> list[tuple[Ints, Weighted]]:
    """What choices are made of: which of some sums each has. Their halves repeat far more often than choices do."""
    columns = [(column, weighted) for column in choices.T]
    if len(columns) < 4 or len(choices) < MANY:
        return columns
    middle = (len(columns) + 1) // 2
    halves = [_half(half, weighted) for half in (choices[:, :middle], choices[:, middle:])]
    return columns if any(half is None for half in halves) else [half for half in halves if half is not None]


def _half(units: Ints, weighted: Weighted) -> tuple[Ints, Weighted] | None:
    """Different rows of units, and their sums; None where they are too many."""
    own, rows = weighted
    first, which = np.arange(len(units)), units[:, 0]
    for column in units.T[1:]:  # two or more; different ones have numbers below their count or that of units
        _, first, which = np.unique(which * len(own) + column, return_index=True, return_inverse=True)
    if len(first) * rows.shape[1] > TABLE:
        return None
    different, values, sums = units[first], np.zeros(len(first)), np.zeros((len(first), rows.shape[1]))
    for column in different.T:
        values, sums = values + own[column], sums + rows[column]
    return which, (values, sums)

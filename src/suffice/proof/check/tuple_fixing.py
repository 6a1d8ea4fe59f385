"""Tuple fixing: who may win the maxima where the label would be lost, fixed by planes above groups.

Let the margin be b + Σ A_m max_m, each maximum over sums z_p of the first step and so of the input
x, which moves within a box: x = middle + radius·y with every number of y between -1 and 1. Take an
input at which it is not above zero, and for each maximum with A_m < 0 a unit that reaches it there.
For the others, max_m >= Σ w_p z_p for weights that add up to one. A group is some of the maxima
with A_m < 0; for the tuple t of the units that reach them, the weighted sum of -A_m max_m over the
group is f_t·y + g_t at the input. For any row a it is at most a·y + o_t, where o_t = g_t + |f_t -
a|, the sum over numbers. With O the largest offset o_t of the tuples that are left to each group,
and r·y + level what the others leave once all rows a are taken off,

    0 >= margin >= level - |r| - (offsets of the tuples) = base + (their reduced costs O - o_t),

base = level - |r| - Σ O. So a tuple is fixed out if its reduced cost alone exceeds -base, and
tuples of several groups are joined only if their reduced costs together do not. With the tuple t
itself in the place of its group's plane, margin >= level - (the other O) - g_t - |r + a - f_t|, and
where that is above zero t is fixed out as well. An input as above has tuples that are never fixed
out: where a group has none left, there is no such input.

*Rounding.* All of these are sums of doubles whose terms are within S: what the margin's form has in
`network`, where each maximum counts |A_m| times the sizes of its units, three times for A_m < 0,
and three times the rows a. No term goes through more than (n_in + n_out + 16) additions and
products, those of a fixed or joined tuple through twice as many, so all that is compared is off by
less than G·S (G as in `network`), which is added to what may be left. (Middle and radius are off by
a rounding of the input's numbers, which is a rounding of these terms.)

Method: reduced-cost fixing of tuples (theory, section 4, Lemma 5).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.proof.certificate import numbers
from suffice.proof.check import max_lines
from suffice.proof.check.inputs import VariedState
from suffice.proof.check.limits import HUGE, Limit, need, read_integer, read_positions
from suffice.proof.check.sets import Sets
from suffice.proof.check.tolerances import FEW_ROUNDINGS

MOST_TUPLES = 2**20  # choices of all bundles together
CHUNK_NUMBERS = 2**17  # numbers worked on at a time
MANY_TUPLES, MOST_HALF_SUMS = (
    2**12,
    2**22,
)  # choices from which on sums of their halves are worked out once; numbers of these

# values of units in the middle, and their rows, times their weights
WeightedUnits: TypeAlias = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class TupleGroup:
    """Some maxima, by their first units, and tuples (n, maxima) of units that may reach them.

    `reduced_cost` (n,) is how far each tuple's offset is below the group's largest.
    """

    firsts: tuple[int, ...]
    tuples: Ints
    reduced_cost: Floats

    def restricted(self, kept: Bools) -> TupleGroup:
        return replace(self, tuples=self.tuples[kept], reduced_cost=self.reduced_cost[kept])

    def split(self, unit: int, first: int) -> tuple[TupleGroup, TupleGroup]:
        if first not in self.firsts:
            return self, self
        mine = self.tuples[:, self.firsts.index(first)] == unit
        return self.restricted(~mine), self.restricted(mine)


@dataclass(frozen=True, eq=False)
class TupleState:
    """What some stages leave: groups with their tuples, and the gap that reduced costs together
    must not exceed.
    """

    tuple_groups: tuple[TupleGroup, ...]
    gap: float

    @property
    def infeasible(self) -> bool:
        """Whether there is no input at which the label would be lost."""
        return not all(len(group.reduced_cost) for group in self.tuple_groups)

    @property
    def names(self) -> dict[int, int]:
        """What bundles are called at the next stage, and their places: at first by units, later by
        places.
        """
        first = np.isinf(self.gap)
        return {
            group.firsts[0] if first else place: place
            for place, group in enumerate(self.tuple_groups)
        }

    @property
    def bytes(self) -> int:
        return sum(group.tuples.nbytes + group.reduced_cost.nbytes for group in self.tuple_groups)

    def split(self, unit: int, first: int) -> tuple[TupleState, TupleState]:
        """Where another unit reaches the maximum with this first unit, and where this one does."""
        sides = [[group.split(unit, first)[side] for group in self.tuple_groups] for side in (0, 1)]
        return replace(self, tuple_groups=tuple(sides[0])), replace(
            self, tuple_groups=tuple(sides[1])
        )


@dataclass(frozen=True, eq=False)
class NormalisedBox:
    """The first step's units over a box: `rows` (units, numbers that move) times their radius,
    `own` in its middle.

    `words` (length,) are those that move, and `radius` is that of their numbers.
    """

    words: Bools
    rows: Floats
    middle_values: Floats
    radius: Floats

    @staticmethod
    def of(step: Step, sets: Sets, state: Any) -> NormalisedBox:
        """What the first step makes of a state: the middle and the radius of each number of the
        input.
        """
        need(
            isinstance(state, VariedState) and sets.points is None,
            "there is nothing to sieve over such sets",
        )
        assert isinstance(state, VariedState)
        need(not state.optional.any(), "there is nothing to sieve where words are paid for")
        words = state.allowed[:, 0]
        numbers_ = np.repeat(words, sets.center.shape[1])
        middle = np.where(words[:, None], sets.low / 2 + sets.high / 2, sets.center).ravel()
        radius = (sets.high / 2 - sets.low / 2).ravel()[numbers_] * (1 + FEW_ROUNDINGS)
        # of a sparse weight these alone become an ordinary array
        moving = step.weight[:, np.flatnonzero(numbers_)]
        rows = moving if isinstance(moving, np.ndarray) else moving.toarray()
        return NormalisedBox(words, rows * radius, step.weight @ middle + step.bias, radius)


@dataclass(frozen=True, eq=False)
class MarginOverMaxima:
    """The margin's weights (maxima,) and constant, the step's maxima, and what rounding is measured
    by.
    """

    weights: Floats
    constant: float
    max_groups: max_lines.MaxGroups
    contenders: Bools  # (maxima, most): the units that may reach each maximum
    lower_weights: (
        Floats  # (maxima, most): weights of units below each maximum, which add up to one
    )
    magnitude: float
    error_rate: float

    @property
    def initial_state(self) -> TupleState:
        """A bundle for each maximum that takes a line above, with all units that may reach it."""
        bundles = []
        for place in np.flatnonzero(self.weights < 0).tolist():
            units = self.max_groups.units[place][
                self.contenders[place] & self.max_groups.present[place]
            ]
            bundles.append(
                TupleGroup(
                    (int(self.max_groups.units[place, 0]),), units[:, None], np.zeros(len(units))
                )
            )
        return TupleState(tuple(bundles), np.inf)


@dataclass(frozen=True, eq=False)
class FixingStage:
    """What a line says: which groups are joined, and the row (groups, numbers that move) of the
    plane above each.
    """

    groups: tuple[tuple[int, ...], ...]
    planes: Floats

    @staticmethod
    def read(
        groups: Any,
        words: Any,
        rows: Any,
        before: TupleState,
        margin: MarginOverMaxima,
        box: NormalisedBox,
        dimension: int,
    ) -> FixingStage:
        need(
            type(groups) is list and all(type(group) is list for group in groups),
            "bundles must be lists",
        )
        names = before.names
        listed = [
            [
                read_integer(one, 0, len(margin.max_groups.first_unit), "each part of a bundle")
                for one in group
            ]
            for group in groups
        ]
        flat = [one for group in listed for one in group]
        need(all(listed) and sorted(flat) == sorted(names), "bundles must have every part once")
        some = read_positions(words, np.ones_like(box.words), "the words of rows")
        values = numbers(rows, len(groups) * int(some.sum()) * dimension).reshape(len(groups), -1)
        need(
            np.isfinite(values).all() and (np.abs(values) <= HUGE).all(),
            "a row is beyond what can be checked",
        )
        found = np.zeros((len(groups), len(some) * dimension))
        found[:, np.repeat(some, dimension)] = values
        moving = found[:, np.repeat(box.words, dimension)]
        return FixingStage(
            tuple(tuple(names[one] for one in group) for group in listed), moving * box.radius
        )


def fix_tuples(
    before: TupleState,
    stage: FixingStage,
    margin: MarginOverMaxima,
    box: NormalisedBox,
    limit: Limit,
) -> TupleState:
    """What a stage leaves of what was left before it."""
    if before.infeasible:
        return before
    tuple_groups = [
        _join([before.tuple_groups[i] for i in group], before.gap, limit) for group in stage.groups
    ]
    need(
        sum(len(tuple_group.reduced_cost) for tuple_group in tuple_groups) <= MOST_TUPLES,
        "more choices are left than can be looked at",
    )
    magnitude = margin.magnitude + 3 * float(np.abs(stage.planes).sum())
    level, residual_row = _other_terms(margin, box)
    residual_row = residual_row - stage.planes.sum(0)
    error = margin.error_rate * magnitude
    need(np.isfinite(error) and magnitude <= HUGE, "the margin is beyond what can be checked")
    weighted = _weighted_units(margin, box)
    offsets = [
        _required_offsets(tuple_group.tuples, plane, weighted, limit)
        for tuple_group, plane in zip(tuple_groups, stage.planes, strict=True)
    ]
    base = level - float(np.abs(residual_row).sum())
    largest_offsets = [float(offset.max(initial=-np.inf)) for offset in offsets]
    survivors = []
    for i, (tuple_group, offset) in enumerate(zip(tuple_groups, offsets, strict=True)):
        others = sum(largest for j, largest in enumerate(largest_offsets) if j != i)
        surviving = ~(base - others - offset > error)  # what is not a number drops nobody
        alone = others + _required_offsets(
            tuple_group.tuples[surviving], residual_row + stage.planes[i], weighted, limit
        )
        surviving[surviving] = ~(level - alone > error)
        survivors.append(surviving)
    if not all(marks.any() for marks in survivors):
        return TupleState(
            tuple(
                tuple_group.restricted(marks)
                for tuple_group, marks in zip(tuple_groups, survivors, strict=True)
            ),
            0.0,
        )
    return _with_reduced_costs(tuple_groups, survivors, offsets, base, error)


def _with_reduced_costs(
    tuple_groups: list[TupleGroup],
    survivors: list[Bools],
    offsets: list[Floats],
    base: float,
    error: float,
) -> TupleState:
    """The choices that are left, by how far they are below the tops of those that are left."""
    offsets_left = [offset[marks] for offset, marks in zip(offsets, survivors, strict=True)]
    largest_offsets = [float(offset.max()) for offset in offsets_left]
    measured = [
        TupleGroup(group.firsts, group.tuples[marks], largest - offset)
        for group, marks, largest, offset in zip(
            tuple_groups, survivors, largest_offsets, offsets_left, strict=True
        )
    ]
    return TupleState(tuple(measured), error - (base - sum(largest_offsets)))


def _join(parts: list[TupleGroup], gap: float, limit: Limit) -> TupleGroup:
    """Choices of all parts that are not too far below their tops together."""
    joined, *others = parts
    for other in others:
        limit.check_time()
        order = np.argsort(other.reduced_cost, kind="stable")
        gap_left = gap - joined.reduced_cost + FEW_ROUNDINGS * (abs(gap) + joined.reduced_cost)
        count = np.searchsorted(other.reduced_cost[order], gap_left, side="right")
        need(count.sum() <= MOST_TUPLES, "more choices are left than can be looked at")
        first = np.repeat(np.arange(len(count)), count)
        second = order[np.arange(len(first)) - np.repeat(np.cumsum(count) - count, count)]
        choices = np.concatenate([joined.tuples[first], other.tuples[second]], axis=1)
        joined = TupleGroup(
            joined.firsts + other.firsts,
            choices,
            joined.reduced_cost[first] + other.reduced_cost[second],
        )
    return joined


def _other_terms(margin: MarginOverMaxima, box: NormalisedBox) -> tuple[float, Floats]:
    """What the maxima that take lines below leave: a level, and a row over the numbers
    that move.
    """
    share = np.where(
        margin.max_groups.present,
        np.maximum(margin.weights, 0.0)[:, None] * margin.lower_weights,
        0.0,
    )
    units = margin.max_groups.units
    level = margin.constant + float((share * box.middle_values[units]).sum())
    weights = np.bincount(units.ravel(), share.ravel(), len(box.middle_values))
    return level, weights @ box.rows


def _weighted_units(margin: MarginOverMaxima, box: NormalisedBox) -> WeightedUnits:
    """The units' values in the middle, and their rows, times what their maxima take off
    the margin.
    """
    weights = np.zeros(len(box.middle_values))
    weights[margin.max_groups.units] = -margin.weights[:, None]
    return weights * box.middle_values, weights[:, None] * box.rows


def _required_offsets(tuples: Ints, plane: Floats, weighted: WeightedUnits, limit: Limit) -> Floats:
    """What each choice asks of the constant of a line (n,), piece by piece."""
    found = np.empty(len(tuples))
    parts = _summands(tuples, weighted)
    chunk_size = max(1, CHUNK_NUMBERS // max(1, len(plane)))
    for start in range(0, len(found), chunk_size):
        limit.check_time()
        chunk = slice(start, start + chunk_size)
        row = -plane
        value = np.zeros(1)
        for which, (values, rows) in parts:
            row = row + rows[which[chunk]]
            value = value + values[which[chunk]]
        found[chunk] = value + np.abs(row).sum(-1)
    return found


def _summands(choices: Ints, weighted: WeightedUnits) -> list[tuple[Ints, WeightedUnits]]:
    """What choices are made of: which of some sums each has. Their halves repeat far more often
    than choices do.
    """
    columns = [(column, weighted) for column in choices.T]
    if len(columns) < 4 or len(choices) < MANY_TUPLES:
        return columns
    middle = (len(columns) + 1) // 2
    halves = [_half_sums(half, weighted) for half in (choices[:, :middle], choices[:, middle:])]
    return (
        columns
        if any(half is None for half in halves)
        else [half for half in halves if half is not None]
    )


def _half_sums(units: Ints, weighted: WeightedUnits) -> tuple[Ints, WeightedUnits] | None:
    """Different rows of units, and their sums; None where they are too many."""
    own, rows = weighted
    first = np.arange(len(units))
    which = units[:, 0]
    for column in units.T[
        1:
    ]:  # two or more; different ones have numbers below their count or that of units
        _, first, which = np.unique(
            which * len(own) + column, return_index=True, return_inverse=True
        )
    if len(first) * rows.shape[1] > MOST_HALF_SUMS:
        return None
    different = units[first]
    values = np.zeros(len(first))
    sums = np.zeros((len(first), rows.shape[1]))
    for column in different.T:
        values = values + own[column]
        sums = sums + rows[column]
    return which, (values, sums)

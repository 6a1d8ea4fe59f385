"""Inputs: over which texts a proof tree speaks, how picks cut them up, and the least value of a form over them.

There are two kinds of input set. `Varied`: words of the text leave their own vectors, within their sets, all of them
or as many as a budget pays for. `Restored`: words of an attacked text go back to their own vectors, as many as a
budget pays for. A node of a proof tree has a state of its input set, which its picks have narrowed.

*Why least values hold.* A form A·x is a sum over words. At an input of the set, each word adds its own A·own and, if it
is changed, A·(v - own), which is at least its gain. Words that are free of charge are changed or not: the sum of their
least values bounds them. Of the others, those that are changed cost no more together than what is left, and are no more
than may change: their gains add up to no less than the best fractional choice for the cost, and than the lowest
gains of so many words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
import scipy  # its subpackages load on first use

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.proof.check.reading import fields, need, whole
from suffice.proof.check.sets import CHOICES, Sets

LARGE = 10**6  # weights of a first step from which on what points add is worked out once
FEW = 2  # times as many numbers as a word has points must a vector have, for that to be worth it
WIDEST = 2**24  # numbers of that


@dataclass(frozen=True, eq=False)
class Ranging:
    """A state of Varied.

    `allowed` (length, m) marks the choices or corners that are left to each word; where a set has no points
    (length, 1), whether the word may move at all. `opened` words have to be paid for from `left` before they leave
    their own vector, and no more than `count` of them may (None: any number).
    """

    allowed: Bools
    opened: Bools
    left: int
    count: int | None

    @property
    def bytes(self) -> int:
        return self.allowed.nbytes + self.opened.nbytes


@dataclass(frozen=True, eq=False)
class Restoring:
    """A state of Restored: the attacked text, which words are back, which may still come back, what may be spent."""

    start: Floats
    back: Bools
    opened: Bools
    left: int

    @property
    def bytes(self) -> int:
        return self.back.nbytes + self.opened.nbytes


State: TypeAlias = Ranging | Restoring


class Varied:
    """Words of the text range over their sets; with `costs` (one per position), only as many as can be paid for."""

    def __init__(self, sets: Sets, costs: Ints | None = None) -> None:
        self.sets, self.costs = sets, costs

    def begin(self, free: Bools, budget: int = 0, count: int | None = None) -> Ranging:
        """These words are free, or open if there are costs; the others have their first point, which is their own."""
        opened = free.copy() if self.costs is not None else np.zeros_like(free)
        return Ranging(free[:, None] | self._own, opened, budget, count)

    @property
    def _own(self) -> Bools:
        """What is left to a word that stays as it is: its first point; no movement where there are no points."""
        points = self.sets.points
        return np.zeros(1, dtype=bool) if points is None else np.arange(points.shape[1]) == 0

    def pick(self, line: Any, state: State) -> tuple[Ranging, Ranging]:
        """The two sides of a pick: they cover the state between them, and each is smaller than it."""
        assert isinstance(state, Ranging)
        return self._choose(line, state) if "chosen" in line else self._pay(line, state)

    def _choose(self, line: Any, state: Ranging) -> tuple[Ranging, Ranging]:
        """Any input has one of the listed choices at the word, or one of the others."""
        place, chosen = fields(line, "pick chosen", "a pick")
        need(self.sets.kind in CHOICES and type(chosen) is list, "there must be choices to pick from")
        word = whole(place, 0, len(state.allowed), "the picked word")
        state = self._all_paid(state) if state.opened[word] else state
        listed = np.zeros(state.allowed.shape[1], dtype=bool)
        listed[[whole(choice, 0, len(listed), "a choice") for choice in chosen]] = True
        mine = state.allowed[word]
        need((mine & listed).any() and (mine & ~listed).any(), "a pick must leave choices on both sides")
        first, second = state.allowed.copy(), state.allowed.copy()
        first[word] &= listed
        second[word] &= ~listed
        return replace(state, allowed=first), replace(state, allowed=second)

    def _all_paid(self, state: Ranging) -> Ranging:
        """Where the budget covers all open words together, it limits nothing: none of them is open."""
        assert self.costs is not None
        enough = self.costs[state.opened].sum() <= state.left
        enough &= state.count is None or state.opened.sum() <= state.count
        need(enough, "an open word has to be paid for before its choices are picked")
        return replace(state, opened=np.zeros_like(state.opened))

    def _pay(self, line: Any, state: Ranging) -> tuple[Ranging, Ranging]:
        """In any input the word has its own vector, or it is changed, paid for and counted."""
        word = whole(fields(line, "pick", "a pick")[0], 0, len(state.opened), "the picked word")
        need(self.costs is not None and state.opened[word], "only an open word can be paid for")
        assert self.costs is not None
        rest, count = state.left - int(self.costs[word]), None if state.count is None else state.count - 1
        need(rest >= 0 and (count is None or count >= 0), "nothing is left to pay for this word")
        opened, fixed = state.opened.copy(), state.allowed.copy()
        opened[word], fixed[word] = False, self._own
        return Ranging(state.allowed, opened, rest, count), replace(state, allowed=fixed, opened=opened)

    @cached_property
    def _same(self) -> Ints:
        """For every point of every word (length, m) the first one that is equal to it."""
        assert self.sets.points is not None
        return np.stack([(mine[:, None] == mine).all(-1).argmax(-1) for mine in self.sets.points])

    def only(self, state: State) -> Floats | None:
        """The input of a state that has a single one: every word has one point left, or cannot be paid for."""
        points = self.sets.points
        assert isinstance(state, Ranging)
        if points is None or self.sets.kind not in CHOICES:
            return None
        stays, words = np.zeros_like(state.opened), np.arange(len(points))
        if self.costs is not None:
            stays = state.opened & ((self.costs > state.left) | (state.count == 0))
        chosen = np.where(stays, 0, state.allowed.argmax(-1))
        others = state.allowed & (self._same != self._same[words, chosen][:, None])
        return None if (others.any(-1) & ~stays).any() else np.asarray(points[words, chosen])

    def least(self, rows: Floats, states: Sequence[State]) -> Floats:
        """Lower bounds (n, r) of rows (n or 1, r, inputs) over n states."""
        ranging = [state for state in states if isinstance(state, Ranging)]
        if self.costs is None:
            return self._of_all(rows, ranging)
        gains = self._gains(rows, np.stack([state.allowed for state in ranging]))
        return np.asarray(rows @ self.sets.center.ravel() + self._changed(gains, ranging))

    def _changed(self, gains: Floats, states: Sequence[Ranging]) -> Floats:
        """The least sums (n, r) of gains (n, r, length): of all words that need not be paid for, and what is bought."""
        opened = np.stack([state.opened for state in states])
        return np.asarray(np.where(opened[:, None], 0.0, gains).sum(-1) + self.bought(gains, states))

    def bought(self, gains: Floats, states: Sequence[Ranging]) -> Floats:
        """The least sums (n, r) of gains (n or 1, r, length) of open words that what is left buys."""
        assert self.costs is not None
        opened, left = np.stack([state.opened for state in states]), np.array([state.left for state in states])
        mine = np.minimum(gains, 0.0) * (opened & (self.costs <= left[:, None]))[:, None]
        paid = knapsack(mine, self.costs, left)
        if any(state.count is not None for state in states):  # of a flip: then all of them have one
            counts = np.array([len(opened[0]) if state.count is None else state.count for state in states])
            paid = np.maximum(paid, knapsack(mine, np.ones_like(self.costs), counts))
        return paid

    def _of_all(self, rows: Floats, states: Sequence[Ranging]) -> Floats:
        """Every word has its least value: without a budget nothing ties them together."""
        sets = self.sets
        if sets.points is not None:
            return self.least_of(self._values(rows), states)
        different, which = apart(states)
        free = np.stack([state.allowed for state in different])
        free = free if len(free) == 1 else free[which]
        if sets.norm == np.inf:
            low, high = (np.where(free, side, sets.center).reshape(len(free), -1, 1) for side in (sets.low, sets.high))
            return np.asarray((np.maximum(rows, 0.0) @ low + np.minimum(rows, 0.0) @ high)[..., 0])
        reach = (self._norms(rows) * (sets.radius * free[:, None, :, 0])).sum(-1)
        return np.asarray(rows @ sets.center.ravel() - reach)

    def table(self, step: Step) -> Floats | None:
        """What every point of every word adds to each unit of a first step that is large or all maxima.

        (length, m, units). None where there are no points, and where rows are as quickly worked out.
        """
        points = self.sets.points
        if points is None or points[..., 0].size * len(step.bias) > WIDEST:
            return None
        small = step.weight.size < LARGE or FEW * points.shape[1] > points.shape[2]
        if small and sum(map(len, step.maxima)) < len(step.bias):
            return None
        if id(step) not in self._tables:
            self._tables[id(step)] = np.ascontiguousarray(_products(step, points))
        return self._tables[id(step)]

    def at(self, table: Floats, vectors: Floats) -> Floats | None:
        """What the words of one input add (units,), where each vector is one of its word's points."""
        points, words = self.sets.points, np.arange(len(table))
        assert points is not None
        chosen = (points == vectors[:, None]).all(-1).argmax(-1)
        if (points[words, chosen] != vectors).any():
            return None
        moved = np.flatnonzero(chosen)
        return np.asarray(self._own_sums(table) + table[moved, chosen[moved]].sum(0) - table[moved, 0].sum(0))

    def _own_sums(self, table: Floats) -> Floats:
        if id(table) not in self._tables:
            self._tables[id(table)] = table[:, 0].sum(0)
        return self._tables[id(table)]

    @cached_property
    def _ends(self) -> dict[tuple[int, bytes], tuple[Floats, Floats]]:
        """The least and the most that a word adds while it has certain points left."""
        return {}

    @cached_property
    def _tables(self) -> dict[int, Floats]:
        return {}

    def sums(self, table: Floats, states: Sequence[State]) -> tuple[Floats, Floats]:
        """The least and the largest sums (n, units) of what words add, each word at one of its points."""
        known = self._ends
        if len(known) * table.shape[2] > WIDEST:
            known.clear()
        low, high = np.zeros((2, len(states), table.shape[2]))
        for place, state in enumerate(states):
            assert isinstance(state, Ranging)
            for word, left in enumerate(self.unpaid(state)):
                key = word, left.tobytes()
                if key not in known:
                    known[key] = table[word, left].min(0), table[word, left].max(0)
                low[place] += known[key][0]
                high[place] += known[key][1]
            if state.opened.any():
                falls, rises = ((side.T)[None] for side in self.gains(table))
                low[place] += self.bought(falls, [state])[0]
                high[place] -= self.bought(rises, [state])[0]
        return low, high

    def unpaid(self, state: Ranging) -> Bools:
        """The choices (length, m) that are left to words while nothing is bought."""
        return np.where(state.opened[:, None], self._own, state.allowed)

    @staticmethod
    def gains(table: Floats) -> tuple[Floats, Floats]:
        """How far the points of each word (length, units) can lower units, and how far they can lower their negatives.

        An open word has all its points left.
        """
        return table.min(1) - table[:, 0], table[:, 0] - table.max(1)

    def least_of(self, values: Floats, states: Sequence[State]) -> Floats:
        """Lower bounds (n, r) of rows of which every point of every word has a value: (n or 1, r, length, m)."""
        different, which = apart(ranging := [state for state in states if isinstance(state, Ranging)])
        left = np.stack([state.allowed for state in different])[which]
        least = np.where(left[:, None], values, np.inf).min(-1)
        if self.costs is None:
            return np.asarray(least.sum(-1))
        own = values[..., 0]
        return np.asarray(own.sum(-1) + self._changed(least - own, ranging))

    def _gains(self, rows: Floats, allowed: Bools) -> Floats:
        """How far each word (n, r, length) can lower the rows when it leaves its own vector."""
        sets = self.sets
        shaped = rows.reshape(*rows.shape[:2], *sets.center.shape)
        if sets.points is not None:
            values = np.where(allowed[:, None], self._values(rows), np.inf).min(-1)
            return np.asarray(values - (shaped * sets.center).sum(-1))
        if sets.norm == np.inf:
            moved = np.maximum(shaped, 0.0) * sets.low + np.minimum(shaped, 0.0) * sets.high
            return np.asarray((moved - shaped * sets.center).sum(-1) * allowed[:, None, :, 0])
        return np.asarray(-sets.radius * self._norms(rows) * allowed[:, None, :, 0])

    def _values(self, rows: Floats) -> Floats:
        """Rows times every point: (n or 1, r, length, m)."""
        assert self.sets.points is not None
        shaped = rows.reshape(-1, *self.sets.center.shape).transpose(1, 0, 2)
        values = np.matmul(shaped, self.sets.points.transpose(0, 2, 1)).transpose(1, 0, 2)
        return np.asarray(values.reshape(*rows.shape[:2], *self.sets.points.shape[:2]))

    def _norms(self, rows: Floats) -> Floats:
        """The dual norms of each word's part: the largest entry for 1-norm balls, else the Euclidean norm, scaled."""
        size = np.abs(rows.reshape(*rows.shape[:2], *self.sets.center.shape))
        largest = size.max(-1)
        if self.sets.norm == 1:
            return np.asarray(largest)
        share = size / np.where(largest > 0, largest, 1.0)[..., None]
        return np.asarray(largest * np.sqrt((share**2).sum(-1)))


def _products(step: Step, points: Floats) -> Floats:
    """The step's weights times the points (length, m, dimension) of each word: (length, m, units)."""
    length, count, size = points.shape
    if isinstance(step.weight, np.ndarray):
        return np.asarray(points @ step.weight.reshape(-1, length, size).transpose(1, 2, 0))
    # points side by side: a matrix (inputs, length·m) in which each word meets its own points only
    kind = step.weight.indices.dtype  # places of another kind would have to be copied
    columns = np.arange(length, dtype=kind).repeat(size)[:, None] * count + np.arange(count, dtype=kind)
    starts, entries = np.arange(0, length * size * count + 1, count, dtype=kind), points.transpose(0, 2, 1).ravel()
    apart = scipy.sparse.csr_array((entries, columns.ravel(), starts), shape=(length * size, length * count))
    return np.asarray((step.weight @ apart).toarray().T.reshape(length, count, -1))


class Restored:
    """An attacked text of which open words may be put back, at a cost."""

    def __init__(self, center: Floats, costs: Ints) -> None:
        self.center, self.unit = center, int(np.gcd.reduce(costs))
        self.costs = costs // self.unit

    def begin(self, start: Floats, opened: Bools, budget: int) -> Restoring:
        """Costs are whole multiples of their common divisor, so what is left over of the budget buys nothing."""
        return Restoring(start, np.zeros_like(opened), opened, budget // self.unit)

    def pick(self, line: Any, state: State) -> tuple[Restoring, Restoring]:
        """In any restoration the word is back, and paid for, or it is not."""
        assert isinstance(state, Restoring)
        word = whole(fields(line, "pick", "a pick")[0], 0, len(state.opened), "the picked word")
        rest = state.left - int(self.costs[word])
        need(state.opened[word] and rest >= 0, "only an open word that can be paid for can be picked")
        opened, back = state.opened.copy(), state.back.copy()
        opened[word], back[word] = False, True
        return Restoring(state.start, back, opened, rest), Restoring(state.start, state.back, opened, state.left)

    def table(self, step: Step) -> None:
        """Nothing is worked out ahead: texts that are restored differ from each other."""

    def only(self, state: State) -> Floats | None:
        """The input of a state in which nothing that can still be paid for comes back."""
        assert isinstance(state, Restoring)
        payable = state.opened & (self.costs <= state.left)  # none of these is back yet
        if (state.start[payable] != self.center[payable]).any():
            return None
        return np.where(state.back[:, None], self.center, state.start)

    def least(self, rows: Floats, states: Sequence[State]) -> Floats:
        """Lower bounds (n, r) of rows (n or 1, r, inputs) over n states."""
        different, which = apart([state for state in states if isinstance(state, Restoring)])
        back, opened = np.stack([state.back for state in different]), np.stack([state.opened for state in different])
        start = np.where(back[..., None], self.center, np.stack([state.start for state in different]))[which]
        left = np.array([state.left for state in different])[which]
        shaped = rows.reshape(*rows.shape[:2], *self.center.shape)
        gains = np.einsum("nrld,nld->nrl", shaped, self.center - start)
        bought = opened[which] & (self.costs <= left[:, None])
        total = np.matmul(rows, start.reshape(len(start), -1, 1))[..., 0]
        return np.asarray(total + knapsack(np.minimum(gains, 0.0) * bought[:, None], self.costs, left))


InputSet: TypeAlias = Varied | Restored
Some = TypeVar("Some", bound=State)


def apart(states: Sequence[Some]) -> tuple[list[Some], list[int]]:
    """The different states, and which of them each is: leaves below the same picks share one."""
    different = {id(state): state for state in states}
    places = {key: place for place, key in enumerate(different)}
    return list(different.values()), [places[id(state)] for state in states]


def knapsack(gains: Floats, costs: Ints, left: Ints) -> Floats:
    """The least sum (n, r) of gains (n, r, length), none above zero, for a total cost of at most `left` (n,).

    Words are taken whole in order of their gain per cost, the last one in part: no choice of whole words has less.
    """
    if (costs == 1).all():
        return np.asarray((np.sort(gains) * (np.arange(len(costs)) < left[:, None, None])).sum(-1))
    order = np.argsort(gains / costs)
    room = left[:, None, None] - np.cumsum(costs[order], -1) + costs[order]
    taken = np.clip(room / costs[order], 0.0, 1.0)
    return np.asarray((np.take_along_axis(gains, order, -1) * taken).sum(-1))

"""Input sets: which inputs a proof tree is about, how picks split them, least values over them.

There are two kinds. `VariedInputs`: words of the text leave their own vectors, within their sets,
all of them or as many as a budget pays for. `Restorations`: words of a perturbed text go back to
their own vectors, as many as a budget pays for. A node of a proof tree has a state of its input
set, which its picks have narrowed.

*Why least values hold.* A form A·x is a sum over words. At an input of the set, each word adds its
own A·own and, if it is changed, A·(v - own), which is at least its gain. Words that are free of
charge are changed or not: the sum of their least values bounds them. Of the others, those that are
changed cost no more together than what is left, and are no more than may change: their gains add up
to no less than the best fractional choice for the cost, and than the lowest gains of so many words.

Method: support functions, fractional knapsack (theory, sections 1 and 6, Lemma 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
import scipy  # its subpackages load on first use

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.proof.check.limits import need, read_fields, read_integer
from suffice.proof.check.sets import CHOICES, Sets

LARGE_WEIGHT = 10**6  # weights of a first step from which on what points add is worked out once
# times as many numbers as a word has points must a vector have, for that to be worth it
DIMENSION_FACTOR = 2
MOST_TABLE_NUMBERS = 2**24  # numbers of that


@dataclass(frozen=True, eq=False)
class VariedState:
    """A state of VariedInputs.

    `allowed` (length, m) marks the choices or corners that are left to each word; where a set has
    no points (length, 1), whether the word may move at all. `optional` words have to be paid for
    from `budget_left` before they leave their own vector, and no more than `changes_left` of them
    may (None: any number).
    """

    allowed: Bools
    optional: Bools
    budget_left: int
    changes_left: int | None

    @property
    def bytes(self) -> int:
        return self.allowed.nbytes + self.optional.nbytes


@dataclass(frozen=True, eq=False)
class RestorationState:
    """A state of Restorations: the perturbed text, the words restored, those that still may be, the
    budget left.
    """

    perturbed: Floats
    restored: Bools
    optional: Bools
    budget_left: int

    @property
    def bytes(self) -> int:
        return self.restored.nbytes + self.optional.nbytes


InputState: TypeAlias = VariedState | RestorationState


class VariedInputs:
    """Words of the text range over their sets; with `costs` (one per position), only as many as can
    be paid for.
    """

    def __init__(self, sets: Sets, costs: Ints | None = None) -> None:
        self.sets = sets
        self.costs = costs

    def initial_state(
        self, free: Bools, budget: int = 0, max_changes: int | None = None
    ) -> VariedState:
        """These words are free, or open if there are costs; the others have their first point,
        which is their own.
        """
        optional = free.copy() if self.costs is not None else np.zeros_like(free)
        return VariedState(free[:, None] | self._own_choice, optional, budget, max_changes)

    @property
    def _own_choice(self) -> Bools:
        """What is left to a word that stays as it is: its first point; no movement where there are
        no points.
        """
        points = self.sets.points
        return np.zeros(1, dtype=bool) if points is None else np.arange(points.shape[1]) == 0

    def pick(self, line: Any, state: InputState) -> tuple[VariedState, VariedState]:
        """The two sides of a pick: they cover the state between them, and each is
        smaller than it.
        """
        assert isinstance(state, VariedState)
        return (
            self._split_choices(line, state) if "chosen" in line else self._split_paid(line, state)
        )

    def _split_choices(self, line: Any, state: VariedState) -> tuple[VariedState, VariedState]:
        """Any input has one of the listed choices at the word, or one of the others."""
        place, chosen = read_fields(line, "pick chosen", "a pick")
        need(
            self.sets.kind in CHOICES and type(chosen) is list, "there must be choices to pick from"
        )
        word = read_integer(place, 0, len(state.allowed), "the picked word")
        state = self._without_budget(state) if state.optional[word] else state
        listed = np.zeros(state.allowed.shape[1], dtype=bool)
        listed[[read_integer(choice, 0, len(listed), "a choice") for choice in chosen]] = True
        own = state.allowed[word]
        need(
            (own & listed).any() and (own & ~listed).any(),
            "a pick must leave choices on both sides",
        )
        first = state.allowed.copy()
        second = state.allowed.copy()
        first[word] &= listed
        second[word] &= ~listed
        return replace(state, allowed=first), replace(state, allowed=second)

    def _without_budget(self, state: VariedState) -> VariedState:
        """Where the budget covers all open words together, it limits nothing: none of
        them is open.
        """
        assert self.costs is not None
        enough = self.costs[state.optional].sum() <= state.budget_left
        enough &= state.changes_left is None or state.optional.sum() <= state.changes_left
        need(enough, "an open word has to be paid for before its choices are picked")
        return replace(state, optional=np.zeros_like(state.optional))

    def _split_paid(self, line: Any, state: VariedState) -> tuple[VariedState, VariedState]:
        """In any input the word has its own vector, or it is changed, paid for and counted."""
        word = read_integer(
            read_fields(line, "pick", "a pick")[0], 0, len(state.optional), "the picked word"
        )
        need(self.costs is not None and state.optional[word], "only an open word can be paid for")
        assert self.costs is not None
        rest_budget = state.budget_left - int(self.costs[word])
        changes_left = None if state.changes_left is None else state.changes_left - 1
        need(
            rest_budget >= 0 and (changes_left is None or changes_left >= 0),
            "nothing is left to pay for this word",
        )
        optional = state.optional.copy()
        unchanged = state.allowed.copy()
        optional[word] = False
        unchanged[word] = self._own_choice
        return VariedState(state.allowed, optional, rest_budget, changes_left), replace(
            state, allowed=unchanged, optional=optional
        )

    @cached_property
    def _first_equal(self) -> Ints:
        """For every point of every word (length, m) the first one that is equal to it."""
        assert self.sets.points is not None
        return np.stack([(mine[:, None] == mine).all(-1).argmax(-1) for mine in self.sets.points])

    def single_input(self, state: InputState) -> Floats | None:
        """The input of a state that has a single one: every word has one point left, or cannot be
        paid for.
        """
        points = self.sets.points
        assert isinstance(state, VariedState)
        if points is None or self.sets.kind not in CHOICES:
            return None
        unchanged = np.zeros_like(state.optional)
        words = np.arange(len(points))
        if self.costs is not None:
            unchanged = state.optional & (
                (self.costs > state.budget_left) | (state.changes_left == 0)
            )
        chosen = np.where(unchanged, 0, state.allowed.argmax(-1))
        others = state.allowed & (self._first_equal != self._first_equal[words, chosen][:, None])
        return None if (others.any(-1) & ~unchanged).any() else np.asarray(points[words, chosen])

    def least_values(self, rows: Floats, states: Sequence[InputState]) -> Floats:
        """Lower bounds (n, r) of rows (n or 1, r, inputs) over n states."""
        ranging = [state for state in states if isinstance(state, VariedState)]
        if self.costs is None:
            return self._least_without_budget(rows, ranging)
        gains = self._word_gains(rows, np.stack([state.allowed for state in ranging]))
        return np.asarray(rows @ self.sets.center.ravel() + self._least_changes(gains, ranging))

    def _least_changes(self, gains: Floats, states: Sequence[VariedState]) -> Floats:
        """The least sums (n, r) of gains (n, r, length): of all words that need not be paid for,
        and what is bought.
        """
        optional = np.stack([state.optional for state in states])
        return np.asarray(
            np.where(optional[:, None], 0.0, gains).sum(-1) + self.knapsack_values(gains, states)
        )

    def knapsack_values(self, gains: Floats, states: Sequence[VariedState]) -> Floats:
        """The least sums (n, r) of gains (n or 1, r, length) of open words that what is
        left buys.
        """
        assert self.costs is not None
        optional = np.stack([state.optional for state in states])
        budget_left = np.array([state.budget_left for state in states])
        affordable = (
            np.minimum(gains, 0.0) * (optional & (self.costs <= budget_left[:, None]))[:, None]
        )
        least = knapsack_min(affordable, self.costs, budget_left)
        if any(
            state.changes_left is not None for state in states
        ):  # of a flip: then all of them have one
            counts = np.array(
                [
                    len(optional[0]) if state.changes_left is None else state.changes_left
                    for state in states
                ]
            )
            least = np.maximum(least, knapsack_min(affordable, np.ones_like(self.costs), counts))
        return least

    def _least_without_budget(self, rows: Floats, states: Sequence[VariedState]) -> Floats:
        """Every word has its least value: without a budget nothing ties them together."""
        sets = self.sets
        if sets.points is not None:
            return self.least_over_points(self._point_values(rows), states)
        different, which = distinct_states(states)
        free = np.stack([state.allowed for state in different])
        free = free if len(free) == 1 else free[which]
        if sets.norm == np.inf:
            low, high = (
                np.where(free, side, sets.center).reshape(len(free), -1, 1)
                for side in (sets.low, sets.high)
            )
            return np.asarray((np.maximum(rows, 0.0) @ low + np.minimum(rows, 0.0) @ high)[..., 0])
        radii = (self._dual_norms(rows) * (sets.radius * free[:, None, :, 0])).sum(-1)
        return np.asarray(rows @ sets.center.ravel() - radii)

    def contributions(self, step: Step) -> Floats | None:
        """What every point of every word adds to each unit of a first step that is large or all
        maxima.

        (length, m, units). None where there are no points, and where rows are as quickly worked
        out.
        """
        points = self.sets.points
        if points is None or points[..., 0].size * len(step.bias) > MOST_TABLE_NUMBERS:
            return None
        small = (
            step.weight.size < LARGE_WEIGHT or DIMENSION_FACTOR * points.shape[1] > points.shape[2]
        )
        if small and sum(map(len, step.maxima)) < len(step.bias):
            return None
        if id(step) not in self._contribution_cache:
            self._contribution_cache[id(step)] = np.ascontiguousarray(_point_products(step, points))
        return self._contribution_cache[id(step)]

    def first_step_values(self, contributions: Floats, vectors: Floats) -> Floats | None:
        """What the words of one input add (units,), where each vector is one of its
        word's points.
        """
        points = self.sets.points
        words = np.arange(len(contributions))
        assert points is not None
        chosen = (points == vectors[:, None]).all(-1).argmax(-1)
        if (points[words, chosen] != vectors).any():
            return None
        changed = np.flatnonzero(chosen)
        return np.asarray(
            self._text_values(contributions)
            + contributions[changed, chosen[changed]].sum(0)
            - contributions[changed, 0].sum(0)
        )

    def _text_values(self, contributions: Floats) -> Floats:
        if id(contributions) not in self._contribution_cache:
            self._contribution_cache[id(contributions)] = contributions[:, 0].sum(0)
        return self._contribution_cache[id(contributions)]

    @cached_property
    def _range_cache(self) -> dict[tuple[int, bytes], tuple[Floats, Floats]]:
        """The least and the most that a word adds while it has certain points left."""
        return {}

    @cached_property
    def _contribution_cache(self) -> dict[int, Floats]:
        return {}

    def contribution_ranges(
        self, contributions: Floats, states: Sequence[InputState]
    ) -> tuple[Floats, Floats]:
        """The least and the largest sums (n, units) of what words add, each word at one of its
        points.
        """
        cache = self._range_cache
        if len(cache) * contributions.shape[2] > MOST_TABLE_NUMBERS:
            cache.clear()
        low, high = np.zeros((2, len(states), contributions.shape[2]))
        for place, state in enumerate(states):
            assert isinstance(state, VariedState)
            for word, allowed in enumerate(self.choices_unpaid(state)):
                key = word, allowed.tobytes()
                if key not in cache:
                    cache[key] = (
                        contributions[word, allowed].min(0),
                        contributions[word, allowed].max(0),
                    )
                low[place] += cache[key][0]
                high[place] += cache[key][1]
            if state.optional.any():
                falls, rises = ((side.T)[None] for side in self.point_gains(contributions))
                low[place] += self.knapsack_values(falls, [state])[0]
                high[place] -= self.knapsack_values(rises, [state])[0]
        return low, high

    def choices_unpaid(self, state: VariedState) -> Bools:
        """The choices (length, m) that are left to words while nothing is bought."""
        return np.where(state.optional[:, None], self._own_choice, state.allowed)

    @staticmethod
    def point_gains(contributions: Floats) -> tuple[Floats, Floats]:
        """How far the points of each word (length, units) can lower units, and how far they can
        lower their negatives.

        An open word has all its points left.
        """
        return contributions.min(1) - contributions[:, 0], contributions[:, 0] - contributions.max(
            1
        )

    def least_over_points(self, values: Floats, states: Sequence[InputState]) -> Floats:
        """Lower bounds (n, r) of rows of which every point of every word has a value: (n or 1, r,
        length, m).
        """
        distinct, which = distinct_states(
            ranging := [state for state in states if isinstance(state, VariedState)]
        )
        allowed = np.stack([state.allowed for state in distinct])[which]
        least = np.where(allowed[:, None], values, np.inf).min(-1)
        if self.costs is None:
            return np.asarray(least.sum(-1))
        own = values[..., 0]
        return np.asarray(own.sum(-1) + self._least_changes(least - own, ranging))

    def _word_gains(self, rows: Floats, allowed: Bools) -> Floats:
        """How far each word (n, r, length) can lower the rows when it leaves its own vector."""
        sets = self.sets
        shaped = rows.reshape(*rows.shape[:2], *sets.center.shape)
        if sets.points is not None:
            values = np.where(allowed[:, None], self._point_values(rows), np.inf).min(-1)
            return np.asarray(values - (shaped * sets.center).sum(-1))
        if sets.norm == np.inf:
            moved = np.maximum(shaped, 0.0) * sets.low + np.minimum(shaped, 0.0) * sets.high
            return np.asarray((moved - shaped * sets.center).sum(-1) * allowed[:, None, :, 0])
        return np.asarray(-sets.radius * self._dual_norms(rows) * allowed[:, None, :, 0])

    def _point_values(self, rows: Floats) -> Floats:
        """Rows times every point: (n or 1, r, length, m)."""
        assert self.sets.points is not None
        shaped = rows.reshape(-1, *self.sets.center.shape).transpose(1, 0, 2)
        values = np.matmul(shaped, self.sets.points.transpose(0, 2, 1)).transpose(1, 0, 2)
        return np.asarray(values.reshape(*rows.shape[:2], *self.sets.points.shape[:2]))

    def _dual_norms(self, rows: Floats) -> Floats:
        """The dual norms of each word's part: the largest entry for 1-norm balls, else the
        Euclidean norm, scaled.
        """
        size = np.abs(rows.reshape(*rows.shape[:2], *self.sets.center.shape))
        largest = size.max(-1)
        if self.sets.norm == 1:
            return np.asarray(largest)
        share = size / np.where(largest > 0, largest, 1.0)[..., None]
        return np.asarray(largest * np.sqrt((share**2).sum(-1)))


def _point_products(step: Step, points: Floats) -> Floats:
    """The step's weights times the points (length, m, dimension) of each word: (length,
    m, units).
    """
    length, count, size = points.shape
    if isinstance(step.weight, np.ndarray):
        return np.asarray(points @ step.weight.reshape(-1, length, size).transpose(1, 2, 0))
    # points side by side: a matrix (inputs, length·m) in which each word meets its own points only
    kind = step.weight.indices.dtype  # places of another kind would have to be copied
    columns = np.arange(length, dtype=kind).repeat(size)[:, None] * count + np.arange(
        count, dtype=kind
    )
    starts = np.arange(0, length * size * count + 1, count, dtype=kind)
    entries = points.transpose(0, 2, 1).ravel()
    apart = scipy.sparse.csr_array(
        (entries, columns.ravel(), starts), shape=(length * size, length * count)
    )
    return np.asarray((step.weight @ apart).toarray().T.reshape(length, count, -1))


class Restorations:
    """An attacked text of which open words may be put back, at a cost."""

    def __init__(self, center: Floats, costs: Ints) -> None:
        self.center = center
        self.unit = int(np.gcd.reduce(costs))
        self.costs = costs // self.unit

    def initial_state(self, perturbed: Floats, optional: Bools, budget: int) -> RestorationState:
        """Costs are whole multiples of their common divisor, so what is left over of the budget
        buys nothing.
        """
        return RestorationState(perturbed, np.zeros_like(optional), optional, budget // self.unit)

    def pick(self, line: Any, state: InputState) -> tuple[RestorationState, RestorationState]:
        """In any restoration the word is back, and paid for, or it is not."""
        assert isinstance(state, RestorationState)
        word = read_integer(
            read_fields(line, "pick", "a pick")[0], 0, len(state.optional), "the picked word"
        )
        rest_budget = state.budget_left - int(self.costs[word])
        need(
            state.optional[word] and rest_budget >= 0,
            "only an open word that can be paid for can be picked",
        )
        optional = state.optional.copy()
        restored = state.restored.copy()
        optional[word] = False
        restored[word] = True
        return RestorationState(state.perturbed, restored, optional, rest_budget), RestorationState(
            state.perturbed, state.restored, optional, state.budget_left
        )

    def contributions(self, step: Step) -> None:
        """Nothing is worked out ahead: texts that are restored differ from each other."""

    def single_input(self, state: InputState) -> Floats | None:
        """The input of a state in which nothing that can still be paid for comes back."""
        assert isinstance(state, RestorationState)
        payable = state.optional & (self.costs <= state.budget_left)  # none of these is back yet
        if (state.perturbed[payable] != self.center[payable]).any():
            return None
        return np.where(state.restored[:, None], self.center, state.perturbed)

    def least_values(self, rows: Floats, states: Sequence[InputState]) -> Floats:
        """Lower bounds (n, r) of rows (n or 1, r, inputs) over n states."""
        distinct, which = distinct_states(
            [state for state in states if isinstance(state, RestorationState)]
        )
        restored = np.stack([state.restored for state in distinct])
        optional = np.stack([state.optional for state in distinct])
        perturbed = np.where(
            restored[..., None], self.center, np.stack([state.perturbed for state in distinct])
        )[which]
        budget_left = np.array([state.budget_left for state in distinct])[which]
        shaped = rows.reshape(*rows.shape[:2], *self.center.shape)
        gains = np.einsum("nrld,nld->nrl", shaped, self.center - perturbed)
        affordable = optional[which] & (self.costs <= budget_left[:, None])
        total = np.matmul(rows, perturbed.reshape(len(perturbed), -1, 1))[..., 0]
        return np.asarray(
            total
            + knapsack_min(np.minimum(gains, 0.0) * affordable[:, None], self.costs, budget_left)
        )


InputSet: TypeAlias = VariedInputs | Restorations
Some = TypeVar("Some", bound=InputState)


def distinct_states(states: Sequence[Some]) -> tuple[list[Some], list[int]]:
    """The different states, and which of them each is: leaves below the same picks share one."""
    distinct = {id(state): state for state in states}
    places = {key: place for place, key in enumerate(distinct)}
    return list(distinct.values()), [places[id(state)] for state in states]


def knapsack_min(gains: Floats, costs: Ints, budget: Ints) -> Floats:
    """The least sum (n, r) of gains (n, r, length), none above zero, for a total cost of at most
    `left` (n,).

    Words are taken whole in order of their gain per cost, the last one in part: no choice of whole
    words has less.
    """
    if (costs == 1).all():
        return np.asarray(
            (np.sort(gains) * (np.arange(len(costs)) < budget[:, None, None])).sum(-1)
        )
    order = np.argsort(gains / costs)
    budget_left = budget[:, None, None] - np.cumsum(costs[order], -1) + costs[order]
    taken = np.clip(budget_left / costs[order], 0.0, 1.0)
    return np.asarray((np.take_along_axis(gains, order, -1) * taken).sum(-1))

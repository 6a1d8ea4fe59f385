"""Margins as maxima of sums: a pooled network in one-hot coordinates, word by word.

Each unit of the first step is a sum over the few words that it sees, so that texts with another
word are tried by adding what its option adds: attacks are cheap, and counterexamples are shrunk by
undoing changes.

Method: one-hot options, attacked by coordinate descent (theory, section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice import work
from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Groups
from suffice.verify.contract import OneHotCoordinates, Problem, Witness
from suffice.verify.exact import confirm
from suffice.verify.nets.crown import PreparedProblem
from suffice.verify.tolerances import ERROR_FACTOR, TIE_TOLERANCE, ZERO_TOLERANCE


def is_max_of_sums(problem: Problem) -> bool:
    """Whether the problem is one of maxima over sums of options, then scores."""
    first, *rest = problem.network.steps
    return (
        len(rest) == 1
        and bool(first.maxima)
        and bool(first.pooled.all())
        and problem.one_hot is not None
    )


@dataclass(frozen=True, eq=False)
class MaxOfSums:
    """What each option of each word adds to each unit, and what the maxima over the units are
    worth.

    An *option* is one of a word's distinct vectors; the first one of each word is its own.
    `contributions` (options, units) is what it adds, `word_of_option` its word, as a place of
    `positions`, which can move, and `region_options` the region's options that it stands for.
    `weights` (rivals, maxima) and `constants` (rivals,) make margins of maxima, which are at least
    `floor`; no margin counts that is closer to zero than `error` (rivals,). An *assignment* has an
    option for each word. Changed words cost no more than `max_cost` in all, by `costs` (length,).
    """

    problem: Problem
    base: Floats
    group_starts: Ints
    floor: Floats
    weights: Floats
    constants: Floats
    error: Floats
    positions: Ints
    contributions: Floats
    word_of_option: Ints
    region_options: tuple[tuple[int, ...], ...]
    costs: Floats
    max_cost: float
    target_rivals: tuple[int, ...] | None = None  # the only rivals, where some do not count

    @staticmethod
    def of(prepared: PreparedProblem) -> MaxOfSums:
        """For any change of no more words than the problem's limit."""
        problem = prepared.problem
        first = prepared.steps[0]
        groups = first.groups
        one_hot = problem.one_hot
        assert groups is not None
        assert one_hot is not None
        positions = np.flatnonzero(problem.features & problem.region.movable())
        options = [
            (place, region_options)
            for place, word in enumerate(positions)
            for region_options in _distinct_options(problem, int(word))
        ]
        contributions = [
            one_hot.contributions[groups.units, positions[place], region_options[0]]
            for place, region_options in options
        ]
        magnitudes = (
            np.abs(prepared.margin.weight)[:, groups.owner] @ prepared.error_magnitude[0]
            + prepared.margin_magnitude
        )
        return MaxOfSums(
            problem=problem,
            base=first.bias[groups.units],
            group_starts=groups.starts,
            floor=np.full(len(groups.starts), -np.inf),
            weights=prepared.margin.weight[:, groups.leaders],
            constants=prepared.margin.bias,
            error=ERROR_FACTOR * prepared.gamma * magnitudes
            + _tie_error(prepared, groups, one_hot),
            positions=positions,
            contributions=np.array(contributions).reshape(-1, len(groups.units)),
            word_of_option=np.array([place for place, _ in options], dtype=np.int64),
            region_options=tuple(region_options for _, region_options in options),
            costs=np.ones(len(problem.features)),
            max_cost=float(problem.max_changes),
        )

    def with_costs(self, costs: Floats, max_cost: float, rivals: Sequence[int]) -> MaxOfSums:
        """For changes worth at most `max_cost`, by the costs of words (length,), that lift one of
        these rivals."""
        targets = list(rivals)
        return replace(
            self,
            weights=self.weights[targets],
            constants=self.constants[targets],
            error=self.error[targets],
            costs=costs.astype(np.float64),
            max_cost=float(max_cost),
            target_rivals=tuple(targets),
        )

    def restricted_to(self, free: Bools) -> MaxOfSums:
        """Without the units that cannot win while only free words (length,) move."""
        free_words = free[self.positions].astype(np.float64)
        low, high = (self.base + free_words @ word_range for word_range in self._word_ranges)
        lower_limit = np.maximum(group_maxima(low, self.group_starts), self.floor)
        active = high > lower_limit[self.group_of_unit]
        floor = np.maximum(
            group_maxima(np.where(active, -np.inf, low), self.group_starts), self.floor
        )
        starts, maxima_left = groups_left(self.group_of_unit[active])
        decided = np.setdiff1d(np.arange(len(lower_limit)), maxima_left)
        return replace(
            self,
            base=self.base[active],
            group_starts=starts,
            floor=floor[maxima_left],
            weights=self.weights[:, maxima_left],
            constants=self.constants + self.weights[:, decided] @ lower_limit[decided],
            contributions=self.contributions[:, active],
        )

    @cached_property
    def _word_ranges(self) -> tuple[Floats, Floats]:
        """The least and the most that each word adds: (words, units)."""
        return np.minimum.reduceat(self.contributions, self.own_options), np.maximum.reduceat(
            self.contributions, self.own_options
        )

    @cached_property
    def word_costs(self) -> Floats:
        """What changing each word (words,) costs."""
        return np.asarray(self.costs[self.positions])

    @cached_property
    def own_options(self) -> Ints:
        """The text itself: the first option of each word."""
        return np.searchsorted(self.word_of_option, np.arange(len(self.positions)))

    @cached_property
    def group_of_unit(self) -> Ints:
        """The maximum of each unit."""
        return np.repeat(
            np.arange(len(self.group_starts)), np.diff([*self.group_starts, len(self.base)])
        )

    def one_hot_points(self, assignments: Sequence[Ints]) -> Floats:
        """Assignments in one-hot coordinates: (n, length, options)."""
        found = np.zeros((len(assignments), *self.problem.center.shape))
        for place, assignment in enumerate(assignments):
            for word in np.flatnonzero(assignment != self.own_options):
                found[place, self.positions[word], self.region_options[assignment[word]][0]] = 1.0
        return found

    def options_of(self, point: Floats) -> Ints:
        """The assignment of a one-hot point."""
        assignment = self.own_options.copy()
        for place in np.flatnonzero(point[self.positions].any(-1)):
            option = int(point[self.positions[place]].argmax())
            assignment[place] = next(
                i
                for i in np.flatnonzero(self.word_of_option == place)
                if option in self.region_options[i]
            )
        return assignment

    def sums(self, assignment: Ints) -> Floats:
        return np.asarray(self.base + self.contributions[assignment].sum(0))

    def margins(self, sums: Floats) -> Floats:
        """The margins (n, rivals) of sums (n, units)."""
        return np.asarray(
            np.maximum(group_maxima(sums, self.group_starts), self.floor) @ self.weights.T
            + self.constants
        )

    def coordinate_descent(self, assignment: Ints, allowed_options: Bools) -> tuple[Ints, float]:
        """Coordinate descent within allowed options: change a word at a time while the lowest
        margin falls."""
        work.count("attack_descents")
        rows = np.flatnonzero(allowed_options)
        sums = self.sums(assignment)
        word_of_row = self.word_of_option[rows]
        lowest = float(self.margins(sums[None]).min())
        single_changes = sums + (
            self.contributions[rows] - self.contributions[assignment[word_of_row]]
        )  # each with one word changed
        while len(rows) and lowest > -self.error.max():
            found = np.where(
                self._affordable(assignment, rows), self.margins(single_changes).min(-1), np.inf
            )
            best = int(found.argmin())
            if found[best] >= lowest:
                break
            change = (
                self.contributions[rows[best]] - self.contributions[assignment[word_of_row[best]]]
            )
            lowest = float(found[best])
            assignment = _with_option(assignment, int(word_of_row[best]), int(rows[best]))
            single_changes[word_of_row != word_of_row[best]] += change
        return assignment, lowest

    def _affordable(self, assignment: Ints, rows: Ints) -> Bools:
        """Which options can be paid for beside the changes of an assignment."""
        is_changed = assignment != self.own_options
        word_of_row = self.word_of_option[rows]
        return np.asarray(
            is_changed[word_of_row]
            | (self.word_costs[word_of_row] <= self.max_cost - self.word_costs[is_changed].sum())
        )

    def with_changes_undone(self, assignment: Ints) -> Ints:
        """The assignment with changes undone while a rival stays ahead, always the one that leaves
        it furthest ahead."""
        while len(changed := np.flatnonzero(assignment != self.own_options)):
            worst_margins = (
                self.margins(self.sums(assignment) - self.contributions[assignment[changed]])
                + self.error
            ).min(-1)
            best = int(worst_margins.argmin())
            if worst_margins[best] > 0:
                break
            assignment = _with_option(
                assignment, int(changed[best]), int(self.own_options[changed[best]])
            )
        return assignment

    def attack(self, free: Bools, starts: Sequence[Ints] = ()) -> Ints | None:
        """An assignment that changes free words (length,) only and has a margin of at most zero, if
        one is found."""
        free_words = free[self.positions]
        assignment, lowest = self.coordinate_descent(
            self.own_options, free_words[self.word_of_option]
        )
        if lowest <= 0 or not starts:
            return assignment if lowest <= 0 else None
        candidates = np.where(free_words, np.stack(starts), self.own_options)
        candidates = candidates[(candidates != self.own_options) @ self.word_costs <= self.max_cost]
        candidate_margins = self.margins(self.base + self.contributions[candidates].sum(1)).min(-1)
        most = self.problem.settings.attacks.rivals
        for place in np.argsort(candidate_margins, kind="stable")[:most]:
            assignment, lowest = self.coordinate_descent(
                candidates[place], free_words[self.word_of_option]
            )
            if lowest <= 0:
                return assignment
        return None

    def witness(self, assignment: Ints) -> Witness | None:
        """The assignment as a counterexample, if it really is one."""
        return confirm(
            self.problem,
            self.one_hot_points([assignment]),
            self.problem.features[None],
            target_rivals=self.target_rivals,
        )[0]


def _tie_error(prepared: PreparedProblem, groups: Groups, one_hot: OneHotCoordinates) -> Floats:
    """What checkers may lose (rivals,) because they take bounds that are close to each other as
    equal."""
    lower, upper = (
        groups.highest((prepared.steps[0].bias + side.sum(-1))[groups.units])
        for side in one_hot.word_ranges
    )
    near = ZERO_TOLERANCE * groups.highest(prepared.magnitude[0][groups.units])
    return np.asarray(
        2
        * np.abs(prepared.margin.weight[:, groups.leaders])
        @ (TIE_TOLERANCE * (upper - lower) + near)
    )


def group_maxima(values: Floats, starts: Ints) -> Floats:
    """The largest of each group (..., groups) of values (..., units)."""
    return np.maximum.reduceat(values, starts, axis=-1) if len(starts) else values[..., :0]


def groups_left(group_of_unit: Ints) -> tuple[Ints, Ints]:
    """Of units that are left, given the group of each: where groups start, and which groups these
    are."""
    starts = np.flatnonzero(np.diff(group_of_unit, prepend=-1))
    return starts, group_of_unit[starts]


def _distinct_options(problem: Problem, word: int) -> list[tuple[int, ...]]:
    """The region's options of a word, those of equal vectors together, its own first."""
    one_hot = problem.one_hot
    assert one_hot is not None
    points = one_hot.original.region.points[word]  # type: ignore[union-attr]
    first_equal = (points[:, None] == points).all(-1).argmax(-1)
    found = [
        tuple(np.flatnonzero(first_equal == representative).tolist())
        for representative in np.unique(first_equal)
    ]
    own = (points == one_hot.original.center[word]).all(-1)
    return sorted(found, key=lambda options: not own[options[0]])


def _with_option(assignment: Ints, word: int, option: int) -> Ints:
    found = assignment.copy()
    found[word] = option
    return found

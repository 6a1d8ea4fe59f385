"""Tuple fixing: a question over maxima of the input decided by who can win them where the label is
lost.

Groups of maxima (`tuple_groups`) get better planes, lose the tuples that these fix out, and are
joined as long as that helps; what is left is split on who wins one of the maxima, and both sides go
on from where they are. The proof holds the planes and the joins; its reader does the fixing, and
sees that in the end no tuple is left.

Method: reduced-cost fixing of tuples, with splits on winners (theory, section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from suffice import work
from suffice.model.network import Bools, Floats
from suffice.settings import RESOURCES, Annealing, JointMaxpool
from suffice.verify.contract import Budget
from suffice.verify.nets.crown import BoundBatch, Dual, PreparedProblem, backward_bound
from suffice.verify.nets.crown.plane_ascent import (
    NormalisedRegion,
    as_single,
    ascent_start,
    with_decided_rows,
    with_lower_weights,
)
from suffice.verify.nets.enumeration import CLOSED_LEAF
from suffice.verify.nets.joint_maxpool.tuple_groups import (
    Join,
    PrimalGuess,
    TupleGroup,
    TupleState,
    apply_joins,
    ascend_group_planes,
    best_joins,
)
from suffice.verify.proof_tree import FixingStage, Split, Tree, TupleFixing


def prove_by_fixing(
    prepared: PreparedProblem,
    batch: BoundBatch,
    dual: Dual,
    normalised: NormalisedRegion,
    budget: Budget,
    is_answer: Callable[[Floats], bool],
) -> Tree | None:
    """The proof of an item without splits, as far as the budget's subproblems go.

    `is_answer` says of a point, as numbers in [-1, 1], whether it answers the question: there is no
    proof then.
    """
    settings = prepared.settings.joint_maxpool
    _, max_tuples = RESOURCES.group_tuples
    task = FixingTask(
        prepared,
        normalised,
        dual.alpha,
        min(max_tuples, settings.tuples_per_subproblem * budget.subproblems),
        budget,
        is_answer,
    )
    # Products of singles may flag numbers that are in no array; what is no number leads to no
    # proof.
    with np.errstate(over="ignore", invalid="ignore"):
        return _FixingRun(task, 1 + budget.subproblems // subproblems_per_node(settings)).close(
            _singleton_groups(prepared, batch, dual, normalised), first=True
        )


def subproblems_per_node(settings: JointMaxpool) -> int:
    """How many subproblems of a budget a node counts as: it takes as long as half of the tuples
    that are joined further.
    """
    return max(1, settings.joined_up_to // (2 * settings.tuples_per_subproblem))


@dataclass(frozen=True, eq=False)
class FixingTask:
    """What stays the same in a run: problem, coordinates, slopes alpha, tuple limit, budget, and
    the test of points."""

    prepared: PreparedProblem
    normalised: NormalisedRegion
    alpha: Floats
    max_tuples: int
    budget: Budget
    is_answer: Callable[[Floats], bool]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.prepared.problem.center.shape

    @property
    def max_group_tuples(self) -> int:
        """How many tuples one group may have."""
        tuples, _ = RESOURCES.group_tuples
        return min(tuples, RESOURCES.group_numbers // max(1, len(self.normalised.moving)))

    def stage(self, state: TupleState) -> FixingStage:
        alpha = with_lower_weights(
            self.prepared, state.lower, self.alpha, state.lower.softmax(state.log_weights)
        )[0]
        rows = np.zeros((len(state.tuple_groups), len(self.normalised.radius)))
        moving = self.normalised.moving
        rows[:, moving] = (
            np.stack([group.plane_row for group in state.tuple_groups])
            / self.normalised.radius[moving]
        )
        return FixingStage(
            alpha,
            tuple(group.joined_from for group in state.tuple_groups),
            as_single(rows).reshape(-1, *self.shape),
        )


class _FixingRun:
    """One run of fixing and splitting: the stages of the node it is at, and how many nodes it may
    still look at.

    It is `stopped` once a point has answered the question, or there are too many tuples.
    """

    def __init__(self, task: FixingTask, nodes_left: int) -> None:
        self.task = task
        self.settings = task.prepared.settings.joint_maxpool
        self.nodes_left = nodes_left
        self.stopped = False
        self.stages: list[FixingStage] = []
        self.last_written: TupleState | None = None
        self.guess: PrimalGuess | None = None

    def close(self, state: TupleState, first: bool = False) -> Tree | None:
        """The proof of what is left, or None."""
        if state.empty:
            return CLOSED_LEAF
        if self.nodes_left == 0 or self.stopped or self.task.budget.exhausted:
            return None
        self.nodes_left = self.nodes_left - 1
        work.count("fixing_states")
        self.stages = []
        self.last_written = None
        self.guess = None
        state = self._first_joins(state) if first else self._ascend_later(state)
        state = self._further_joins(state)
        stages = self.stages
        tree = CLOSED_LEAF if state.empty else self._split(state)
        for stage in reversed(stages):
            tree = None if tree is None else TupleFixing(stage, tree)
        return tree

    def _first_joins(self, state: TupleState) -> TupleState:
        """Joined in pairs, then in fours, with ascents between."""
        settings = self.settings
        active = settings.active_tuples
        rounds_of_pairs, rounds_of_fours, _ = settings.rounds
        # estimates cost the square of the sample for each pair of groups, of which there are most
        # at first
        for sample, active_count, annealing, rounds in (
            (active // 16, 2 * active, settings.pairs, rounds_of_pairs),
            (active // 4, active, settings.fours, rounds_of_fours),
        ):
            joins = [] if state.empty else best_joins(state, self.task.max_group_tuples, sample)
            self.stopped |= sum(join.tuple_count for join in joins) > self.task.max_tuples
            if not joins or self.stopped:
                break
            state = self._ascend(self._apply_joins(state, joins), annealing, active_count, rounds)
            self.stopped |= self._answered_by_guess(state)
        return state

    def _further_joins(self, state: TupleState) -> TupleState:
        """Joined further while there are few enough tuples that this is quick."""
        settings = self.settings
        sample = settings.active_tuples // 4
        while (
            not state.empty
            and not self.stopped
            and not self.task.budget.exhausted
            and state.tuple_count <= settings.joined_up_to
            and (joins := best_joins(state, self.task.max_group_tuples, sample))
        ):
            state = self._ascend_later(self._apply_joins(state, joins))
        return state

    def _ascend_later(self, state: TupleState) -> TupleState:
        settings = self.settings
        return self._ascend(state, settings.later, settings.active_tuples, settings.rounds[-1])

    def _apply_joins(self, state: TupleState, joins: Sequence[Join]) -> TupleState:
        """Joined under planes that the proof has."""
        return apply_joins(
            state if state is self.last_written else self._write(state, state), joins
        )

    def _answered_by_guess(self, state: TupleState) -> bool:
        """Whether the guessed minimiser answers the question."""
        return (
            self.guess is not None and not state.empty and self.task.is_answer(self.guess.minimiser)
        )

    def _ascend(
        self, state: TupleState, annealing: Annealing, active_count: int, rounds: int
    ) -> TupleState:
        """Tuples fixed and planes improved, in rounds."""
        for _ in range(rounds):
            state = self._fix(state)
            if state.empty or self.task.budget.exhausted:
                return state
            state, self.guess = ascend_group_planes(
                state, annealing, active_count, self.task.budget
            )
        return self._fix(state)

    def _fix(self, state: TupleState) -> TupleState:
        """Tuples fixed out; where these are few, they stay, as a stage of the proof costs more than
        they do."""
        fixed = state.fixed()
        kept_fraction = state.settings.presolve.kept_fraction
        return (
            self._write(state, fixed)
            if fixed.empty or fixed.tuple_count < kept_fraction * state.tuple_count
            else state
        )

    def _write(self, state: TupleState, fixed: TupleState) -> TupleState:
        self.stages.append(self.task.stage(state))
        self.last_written = fixed.rebased()
        return self.last_written

    def _split(self, state: TupleState) -> Tree | None:
        """A split on who wins one of the maxima: another candidate, and this one."""
        self.stopped |= self._answered_by_guess(state)
        choice = (
            None
            if self.guess is None or self.stopped
            else self.guess.branching_choice(self.settings.split_groups)
        )
        if choice is None:
            return None
        other, this = state.split(*choice)
        other_tree = self.close(other)
        tree = None
        if other_tree is not None:
            tree = self.close(this)
        unit = int(self.task.normalised.plane_problem.upper.units[choice[1]])
        return None if other_tree is None or tree is None else Split(unit, (other_tree, tree))


def _singleton_groups(
    prepared: PreparedProblem, batch: BoundBatch, dual: Dual, normalised: NormalisedRegion
) -> TupleState:
    """Every maximum that takes a plane as a group of its own, with its contenders as tuples."""
    plane_problem = normalised.plane_problem
    contenders = _possible_winners(prepared, batch, normalised)
    start = ascent_start(
        prepared,
        batch,
        dual,
        backward_bound(prepared, batch, dual),
        normalised,
        prepared.settings.joint_maxpool.pairs.min_weight,
    )
    plane_rows = with_decided_rows(plane_problem, start)[0]
    groups = []
    for index, candidates in enumerate(
        np.split(np.arange(len(plane_problem.upper.units)), plane_problem.upper.groups.starts[1:])
    ):
        kept = candidates[contenders[plane_problem.upper.units[candidates]]]
        coefficient = start.upper_coefficients[0, index]
        constants = coefficient * plane_problem.upper.constants[kept]
        weights = coefficient * plane_problem.upper.weights[kept]
        magnitude = float((np.abs(constants) + np.abs(weights).sum(-1)).max(initial=0.0))
        if coefficient > 0:
            leader = int(normalised.planes.units[index])
            # the index in the full problem
            name = leader if prepared.kept_units is None else int(prepared.kept_units[leader])
            groups.append(
                TupleGroup.of(
                    (name,),
                    (index,),
                    kept[:, None],
                    weights,
                    constants,
                    coefficient * plane_rows[index],
                    magnitude,
                )
            )
    return TupleState(
        prepared.settings,
        tuple(groups),
        plane_problem.lower,
        start.log_weights,
        start.lower_coefficients,
        as_single(batch.rows.constant),
    )


def _possible_winners(
    prepared: PreparedProblem, batch: BoundBatch, normalised: NormalisedRegion
) -> Bools:
    """The units (units,) that some reader may let win, however it rounds."""
    possible = np.zeros(prepared.unit_count, dtype=bool)
    candidates = normalised.planes.candidates
    lower = batch.bounds.lower[:, candidates]
    upper = batch.bounds.upper[:, candidates]
    possible[candidates] = normalised.planes.possible_winners(lower, upper, None)[0]
    return possible

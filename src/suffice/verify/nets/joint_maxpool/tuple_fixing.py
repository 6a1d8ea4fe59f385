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
from suffice.verify.contract import Budget
from suffice.verify.nets.crown import BoundBatch, Dual, PreparedProblem, backward_bound
from suffice.verify.nets.crown.plane_ascent import (
    Annealing,
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

PAIRS_ANNEALING = Annealing(100, (0.006, 0.0006), (0.03, 0.002))
FOURS_ANNEALING = Annealing(80, (0.004, 0.0005), (0.015, 0.0015))
FURTHER_ANNEALING = Annealing(50, (0.003, 0.0005), (0.01, 0.0015))
PAIR_JOIN_SAMPLE, ACTIVE_TUPLES, FIRST_ACTIVE_TUPLES = (
    6,
    100,
    200,
)  # tuples per group: that joins of pairs are chosen by, of an active set, and of the first ones
MIN_START_WEIGHT = 1e-5  # lower weights start at this or higher
FURTHER_JOIN_TUPLES = 60_000  # tuples in all up to which groups of four are joined further
SPLIT_GROUPS = 3  # groups with the largest gaps: one of their maxima is split on
MAX_TUPLES, TUPLES_PER_SUBPROBLEM = (
    400_000,
    1500,
)  # tuples of all joins of a round: at most, and per subproblem of the budget
SUBPROBLEMS_PER_NODE = 20  # subproblems of the budget that one node takes as long as
GROUP_LIMITS = 100_000, 5 * 10**6  # tuples of one group, and numbers in their weights
# fraction of the tuples: where no more are left, fixing is written as a stage of the proof
WRITTEN_FRACTION = 0.75
MAX_FURTHER_JOINS = 3  # times that groups of four are joined further, at most


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
    task = FixingTask(
        prepared,
        normalised,
        dual.alpha,
        min(MAX_TUPLES, TUPLES_PER_SUBPROBLEM * budget.subproblems),
        budget,
        is_answer,
    )
    # Products of singles may flag numbers that are in no array; what is no number leads to no
    # proof.
    with np.errstate(over="ignore", invalid="ignore"):
        return _FixingRun(task, 1 + budget.subproblems // SUBPROBLEMS_PER_NODE).close(
            _singleton_groups(prepared, batch, dual, normalised), first=True
        )


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
        choices, numbers = GROUP_LIMITS
        return min(choices, numbers // max(1, len(self.normalised.moving)))

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
        state = (
            self._first_joins(state)
            if first
            else self._ascend(state, FURTHER_ANNEALING, ACTIVE_TUPLES, 2)
        )
        state = self._further_joins(state)
        stages = self.stages
        tree = CLOSED_LEAF if state.empty else self._split(state)
        for stage in reversed(stages):
            tree = None if tree is None else TupleFixing(stage, tree)
        return tree

    def _first_joins(self, state: TupleState) -> TupleState:
        """Joined in pairs, then in fours, with ascents between."""
        for sample, active_count, annealing, rounds in (
            (PAIR_JOIN_SAMPLE, FIRST_ACTIVE_TUPLES, PAIRS_ANNEALING, 1),
            (ACTIVE_TUPLES // 4, ACTIVE_TUPLES, FOURS_ANNEALING, 3),
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
        for _ in range(MAX_FURTHER_JOINS):
            is_small = (
                not state.empty and not self.stopped and state.tuple_count <= FURTHER_JOIN_TUPLES
            )
            joins = (
                best_joins(state, self.task.max_group_tuples, ACTIVE_TUPLES // 4)
                if is_small
                else []
            )
            if not joins:
                break
            state = self._ascend(
                self._apply_joins(state, joins), FURTHER_ANNEALING, ACTIVE_TUPLES, 2
            )
        return state

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
        return (
            self._write(state, fixed)
            if fixed.empty or fixed.tuple_count < WRITTEN_FRACTION * state.tuple_count
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
            else self.guess.branching_choice(SPLIT_GROUPS)
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
        prepared, batch, dual, backward_bound(prepared, batch, dual), normalised, MIN_START_WEIGHT
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

"""Branch and bound on words alone, with one backward pass of plain lines per subproblem.

In one-hot coordinates a pass costs so little that splitting another word goes further than better
slopes do.

Method: branch and bound on options (theory, section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.model.network import Floats, Ints
from suffice.sets.regions import Choice
from suffice.settings import RESOURCES
from suffice.verify.contract import Budget, Unknown
from suffice.verify.nets.branch.batching import joined_inputs
from suffice.verify.nets.branch.branch_run import BranchRun
from suffice.verify.nets.branch.evaluate import enumerate_inputs
from suffice.verify.nets.branch.split import split_word
from suffice.verify.nets.branch.subproblem import InputSet, PointTest, Subproblem
from suffice.verify.nets.crown import (
    BoundBatch,
    PreparedProblem,
    backward_bound,
    intermediate_bounds,
    margin_rows,
)
from suffice.verify.nets.enumeration import CLOSED_LEAF
from suffice.verify.nets.input_sets import Free, Interval, Restorations
from suffice.verify.nets.presolve.one_hot import OptionSums, without_dominated


@dataclass(eq=False)
class WordBranching:
    """Bounds by plain lines, with the first step's ranges worked out option by option."""

    run: BranchRun
    sums: OptionSums
    rounds: int = 0

    @staticmethod
    def of(
        prepared: PreparedProblem,
        inputs: InputSet,
        rivals: Sequence[Sequence[int]],
        sign: float,
        point_test: PointTest,
        budget: Budget,
    ) -> WordBranching:
        run = BranchRun.of(
            _without_dominated(prepared, inputs), inputs, rivals, sign, point_test, budget
        )
        run.batch_size = min(run.batch_size, RESOURCES.word_batch)
        assert run.prepared.problem.one_hot is not None
        return WordBranching(
            run, OptionSums(run.prepared.problem.one_hot, run.prepared.steps[0].bias)
        )

    def bound(self, subproblems: list[Subproblem]) -> None:
        run = self.run
        inputs = joined_inputs(subproblems)
        first_bounds = self._first_step_bounds(inputs)
        bounds = intermediate_bounds(
            run.prepared, inputs, None, lambda place, _: None if place else first_bounds, run.budget
        )
        rows = margin_rows(run.prepared, np.array([each.rival for each in subproblems]), run.sign)
        backward = backward_bound(run.prepared, BoundBatch(inputs, bounds, rows), None)
        for subproblem, bound, row in zip(
            subproblems, backward.bound, backward.input_coefficients, strict=True
        ):
            run.query_of(subproblem).bounded += 1
            subproblem.bound = float(bound)
            subproblem.input_row = row
            if subproblem.bound > 0:
                subproblem.proof = CLOSED_LEAF
                subproblem.closed = True
                subproblem.input_row = None
        unproved = np.flatnonzero(backward.bound <= 0)
        if len(unproved):
            self._attack(
                [subproblems[i] for i in unproved],
                inputs.take(unproved).minimiser(backward.input_coefficients[unproved]),
            )

    def strengthen_roots(self) -> None:
        pass

    def split(self, subproblem: Subproblem, depth: int) -> list[Subproblem]:
        assert subproblem.branch_word is not None
        children = split_word(subproblem, subproblem.branch_word)
        subproblem.input_row = None
        return list(children)

    def _first_step_bounds(self, inputs: InputSet) -> Interval | None:
        """Bounds of the first step's units; None with a budget, of which the sums do not know."""
        if not isinstance(inputs, Free):
            return None
        assert inputs.allowed is not None
        prepared, (outer_lower, outer_upper) = self.run.prepared, self.run.prepared.interval[0]
        lower, upper = self.sums.bounds(inputs.free, inputs.allowed)
        error = prepared.gamma * prepared.magnitude[0]
        bent = prepared.steps[0].bent
        lower = np.maximum(lower - error, outer_lower)
        upper = np.minimum(upper + error, outer_upper)
        return np.where(bent, lower, 0.0), np.where(bent, upper, np.inf)

    def _attack(self, subproblems: list[Subproblem], points: Floats) -> None:
        """Try the points where bounds are attained; what is not refuted is kept open."""
        self.run.test_points(subproblems, points)
        self._coordinate_descent(subproblems[0], points[0])
        for subproblem in subproblems:
            self._reopen(subproblem)

    def _coordinate_descent(self, subproblem: Subproblem, point: Floats) -> None:
        """In the first rounds, coordinate descent: change one word at a time as long as the margin
        falls."""
        run = self.run
        self.rounds += 1
        if (
            self.rounds > run.settings.attacks.descent_rounds
            or not isinstance(subproblem.inputs, Free)
            or run.is_answered(subproblem)
        ):
            return
        words = np.flatnonzero(subproblem.inputs.free[0])
        lowest = np.inf
        while True:
            run.budget.check_time()
            trials = _single_changes(run.prepared, point, words)
            margins = run.sign * run.prepared.problem.margins(trials)[:, subproblem.rival]
            if margins.min(initial=np.inf) >= lowest:
                break
            best = int(margins.argmin())
            lowest = float(margins[best])
            point = trials[best]
        run.test_points([subproblem], point[None])

    def _reopen(self, subproblem: Subproblem) -> None:
        """Put it back on the frontier; where no word is left to split, the input itself may be far
        enough from zero."""
        query = self.run.query_of(subproblem)
        assert subproblem.input_row is not None
        if query.answer is not None:
            return
        if (
            word := subproblem.inputs.branching_word(subproblem.input_row, any_word=True)
        ) is not None:
            subproblem.branch_word = word
            query.frontier.append(subproblem)
        elif not enumerate_inputs(self.run, subproblem):
            query.answer = Unknown(self.run.unsplittable_reason)


def _single_changes(prepared: PreparedProblem, point: Floats, words: Ints) -> Floats:
    """The point with each option of each of these words in turn."""
    region = prepared.problem.region
    assert isinstance(region, Choice)
    options = region.points.shape[1]
    variants = np.repeat(point[None], len(words) * options, axis=0)
    changed_words = np.repeat(words, options)
    variants[np.arange(len(changed_words)), changed_words] = region.points[words].reshape(
        len(changed_words), -1
    )
    return variants


def _without_dominated(prepared: PreparedProblem, inputs: InputSet) -> PreparedProblem:
    """The prepared problem without candidates that cannot win while only these words move."""
    movable = (
        prepared.problem.features
        if isinstance(inputs, Restorations)
        else np.asarray(inputs.movable.any(0))
    )
    return PreparedProblem.of(without_dominated(prepared.problem, movable))

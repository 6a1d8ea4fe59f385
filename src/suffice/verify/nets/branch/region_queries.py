"""Region queries: do words suffice, do restorations keep the rival ahead, do changes flip?

Method: one branch and bound over free, budgeted and restored words (theory, sections 5 and 6).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.sets.regions import Ball, Box, Choice
from suffice.verify.contract import Budget, Proved, Refuted, Unknown, Verdict
from suffice.verify.nets.branch.branch_run import BranchRun
from suffice.verify.nets.branch.loop import answer_queries
from suffice.verify.nets.branch.point_tests import flip_test, undo_test
from suffice.verify.nets.branch.subproblem import UndoneBy
from suffice.verify.nets.branch.unit_branching import UnitBranching
from suffice.verify.nets.branch.word_branching import WordBranching
from suffice.verify.nets.crown import PreparedProblem, enclosing_box
from suffice.verify.nets.input_sets import Free, Restorations, WithinBudget
from suffice.verify.nets.presolve.dominated import restricted_to_box


def decide(prepared: PreparedProblem, free: Bools, budget: Budget) -> list[Verdict]:
    """Do the words that are not free suffice? A verdict for each row of `free` (n, length)."""
    prepared.require_features(free)
    prepared = _restricted_to(prepared, np.asarray(free.any(0)))
    rivals = [list(range(len(prepared.problem.rivals)))] * len(free)
    arguments = (
        prepared,
        input_sets_of(prepared, free, splittable=True),
        rivals,
        1.0,
        flip_test(prepared),
        budget,
    )
    strategy = (
        UnitBranching(BranchRun.of(*arguments))
        if prepared.problem.one_hot is None
        else WordBranching.of(*arguments)
    )
    return [answer for answer in answer_queries(strategy) if not isinstance(answer, UndoneBy)]


def decide_restorations(
    prepared: PreparedProblem, inputs: Restorations, rivals: Ints, budget: Budget
) -> list[Proved | UndoneBy | Unknown]:
    """Does every affordable restoration leave the rival ahead? Proved, a set that does not, or
    Unknown.
    """
    assert prepared.problem.one_hot is None, (
        "proofs with numbers of units are about the original alone"
    )
    prepared.require_features((inputs.perturbed != inputs.center).any(-1))
    prepared = restricted_to_box(
        prepared,
        np.minimum(inputs.perturbed.min(0), inputs.center),
        np.maximum(inputs.perturbed.max(0), inputs.center),
    )
    run = BranchRun.of(
        prepared, inputs, [[int(j)] for j in rivals], -1.0, undo_test(prepared), budget
    )
    return [
        answer for answer in answer_queries(UnitBranching(run)) if not isinstance(answer, Refuted)
    ]


def decide_flips(
    prepared: PreparedProblem,
    optional: Bools,
    costs: Floats,
    max_cost: float,
    rivals: Sequence[int],
    budget: Budget,
) -> Verdict:
    """Can changing words worth at most `max_cost` lift one of the rivals to the
    label? Refuted shows how.

    A limit on how many words change at once is one of cost too if words cost the same.
    """
    assert prepared.problem.one_hot is None, (
        "proofs with numbers of units are about the original alone"
    )
    prepared.require_features(optional)
    equal_costs = (costs == costs[0]).all()
    change_limit = float(prepared.problem.max_changes)
    budgets = np.array(
        [min(float(max_cost), costs[0] * change_limit) if equal_costs else float(max_cost)]
    )
    max_changes = (
        None if equal_costs or change_limit >= optional.sum() else np.array([change_limit])
    )
    none_free = np.zeros((1, len(optional)), dtype=bool)
    inputs = WithinBudget(
        prepared.problem.region,
        none_free,
        optional[None],
        costs,
        budgets,
        _all_options(prepared, 1),
        max_changes,
    )
    run = BranchRun.of(prepared, inputs, [list(rivals)], 1.0, flip_test(prepared, rivals), budget)
    answer = answer_queries(UnitBranching(run))[0]
    assert not isinstance(answer, UndoneBy)
    return answer


def _restricted_to(prepared: PreparedProblem, free: Bools) -> PreparedProblem:
    """The prepared problem for queries in which only these words (length,) move."""
    region = prepared.problem.region
    if not isinstance(region, Box | Ball):
        return prepared
    lower, upper = (np.where(free[:, None], side, region.center) for side in enclosing_box(region))
    return restricted_to_box(prepared, lower, upper)


def input_sets_of(
    prepared: PreparedProblem, free: Bools, splittable: bool = False
) -> Free | WithinBudget:
    """The input sets of queries about rows of `free`; with a limit on changes, which words change
    is decided too."""
    problem = prepared.problem
    allowed = _all_options(prepared, len(free)) if splittable else None
    if free.sum(-1).max(initial=0) <= problem.max_changes:
        return Free(problem.region, free, allowed)
    change_limits = np.full(len(free), float(problem.max_changes))
    return WithinBudget(
        problem.region, np.zeros_like(free), free, np.ones(free.shape[1]), change_limits, allowed
    )


def _all_options(prepared: PreparedProblem, count: int) -> Bools | None:
    """All options allowed (count, length, options), where the region has finitely many; else
    None."""
    if not isinstance(prepared.problem.region, Choice):
        return None
    return np.ones((count, *prepared.problem.region.points.shape[:2]), dtype=bool)

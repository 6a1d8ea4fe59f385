"""The loop: the worst subproblems of each query are split and bounded, until all is decided.

Method: branch and bound, worst bound first, many queries in one batch (theory, section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from suffice import work
from suffice.settings import Branching
from suffice.verify.contract import OutOfTime, Proved, Unknown
from suffice.verify.nets.branch.branch_run import BranchRun
from suffice.verify.nets.branch.subproblem import Answer, RegionQuery, Subproblem, proof_tree
from suffice.verify.nets.presolve.dominated import postsolve_tree


class BranchingStrategy(Protocol):
    """How the subproblems of a run are bounded, and on what they are split."""

    run: BranchRun

    def bound(self, subproblems: list[Subproblem]) -> None:
        """Bound fresh subproblems, attack them, and close those that are proved."""

    def strengthen_roots(self) -> None:
        """Strengthen the bounds of open roots, before anything is split."""

    def split(self, subproblem: Subproblem, depth: int) -> list[Subproblem]:
        """The children of a subproblem, split on up to `depth` units at once."""


def answer_queries(strategy: BranchingStrategy) -> list[Answer]:
    """The answers to the queries of a run."""
    run = strategy.run
    if not run.prepared.finite:
        return [Unknown("the network can overflow over this region")] * len(run.queries)
    evaluate(strategy, [root for query in run.queries for root in query.roots])
    strategy.strengthen_roots()
    while batch := _worst_first(run):
        depth = 1 if run.regions else _split_depth(len(batch), run.settings.branching)
        evaluate(
            strategy, [child for subproblem in batch for child in strategy.split(subproblem, depth)]
        )
    return [_answer_of(run, query) for query in run.queries]


def evaluate(strategy: BranchingStrategy, subproblems: Sequence[Subproblem]) -> None:
    """Bound, attack and close fresh subproblems; what time does not allow stays open."""
    run = strategy.run
    run.capacity -= len(subproblems)
    for start in range(0, len(subproblems), run.batch_size):
        batch = [
            candidate
            for candidate in subproblems[start : start + run.batch_size]
            if not (run.is_answered(candidate) or candidate.ancestor_closed)
        ]
        try:
            run.budget.check_time()
            if batch:
                strategy.bound(batch)
                work.count("subproblems", len(batch))
        except OutOfTime:
            for subproblem in batch:
                if subproblem.children is None:
                    run.query_of(subproblem).frontier.append(subproblem)


def _answer_of(run: BranchRun, query: RegionQuery) -> Answer:
    if query.answer is not None:
        return query.answer
    if query.frontier and not query.bounded:
        return Unknown("time ran out before the first bound was known")
    if query.frontier:
        worst = min(subproblem.bound for subproblem in query.frontier)
        memory_note = "" if run.capacity > 0 else ", and more would not fit into memory"
        return Unknown(
            f"undecided after {query.bounded} subproblems: the best bound is "
            f"{worst:.3g}{memory_note}"
        )
    if query.unsplittable:
        return Unknown(run.unsplittable_reason)
    return Proved(tuple(postsolve_tree(run.prepared, proof_tree(root)) for root in query.roots))


# --- what to split next ---


def _worst_first(run: BranchRun) -> list[Subproblem]:
    """The subproblems to split next: the lowest bounds of every undecided query within its
    limit."""
    if run.budget.exhausted or run.capacity <= 0:
        return []
    unanswered = [
        candidate
        for candidate in run.queries
        if candidate.answer is None
        and candidate.frontier
        and candidate.bounded < run.budget.subproblems
    ]
    promising = [query for query in unanswered if not _given_up(run, query)]
    most = run.settings.branching.max_per_query
    quota = max(1, min(most, run.batch_size // max(1, len(promising))))
    batch: list[Subproblem] = []
    for query in promising[: run.batch_size]:
        query.frontier.sort(key=lambda subproblem: subproblem.bound)
        batch += query.frontier[:quota]
        del query.frontier[:quota]
    return batch


def _given_up(run: BranchRun, query: RegionQuery) -> bool:
    return len(query.frontier) > run.budget.max_open or (
        run.budget.give_up_early and _without_progress(run, query)
    )


def _without_progress(run: BranchRun, query: RegionQuery) -> bool:
    """Whether the bound stays below zero even if each doubling of subproblems gains far more than
    so far."""
    ratio, expected_gain = run.settings.branching.patience
    count = max(1, query.bounded)
    worst = min(subproblem.bound for subproblem in query.frontier)
    if query.first_look is None:
        query.first_look = count, worst
    first_count, first_worst = query.first_look
    if count < ratio * first_count or not np.isfinite(first_worst):
        return False
    gain = (worst - first_worst) / np.log2(count / first_count)
    return bool(worst + expected_gain * gain * np.log2(run.budget.subproblems / count) < 0)


def _split_depth(round_size: int, settings: Branching) -> int:
    """On how many units to split each subproblem of a round: a small batch costs as much as a
    larger one.
    """
    small = settings.small_round
    return max(1, int(np.log2(small / round_size)) if round_size < small else 1)

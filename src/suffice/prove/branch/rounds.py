"""Rounds: the hardest subproblems of each question are split, and their parts are bounded, until all is decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from suffice.prove.branch.run import FEW, Run
from suffice.prove.branch.subproblem import Answer, Question, Subproblem, proof_of
from suffice.prove.lean import told
from suffice.prove.verdict import OutOfTime, Proved, Unknown

PER_QUESTION = 48  # subproblems of one question in a round, so that a hard one does not starve the others
HOPE, MORE = 24, 3.0  # times as many subproblems tell whether there is hope, if each doubling gains that much more


class Branching(Protocol):
    """How the subproblems of a run are bounded, and on what they are split."""

    run: Run

    def bound(self, parts: list[Subproblem]) -> None:
        """Bound fresh subproblems, attack them, and close those that are proved."""

    def look_again(self) -> None:
        """What else may settle the roots that are open, before anything is split."""

    def split(self, part: Subproblem, depth: int) -> list[Subproblem]:
        """The parts of a subproblem, split on up to `depth` units at once."""


def answers(way: Branching) -> list[Answer]:
    """The answers to the questions of a run."""
    run = way.run
    if not run.form.finite:
        return [Unknown("the network can overflow over this region")] * len(run.questions)
    evaluate(way, [root for question in run.questions for root in question.roots])
    way.look_again()
    while batch := _hardest(run):
        depth = 1 if run.grounds else _at_once(len(batch))
        evaluate(way, [half for part in batch for half in way.split(part, depth)])
    return [_answer(run, question) for question in run.questions]


def evaluate(way: Branching, parts: Sequence[Subproblem]) -> None:
    """Bound, attack and close fresh subproblems; what time does not allow stays open."""
    run = way.run
    run.room -= len(parts)
    for start in range(0, len(parts), run.batch):
        some = [p for p in parts[start : start + run.batch] if not (run.answered(p) or p.covered)]
        try:
            run.budget.look()
            if some:
                way.bound(some)
        except OutOfTime:
            for part in some:
                if part.halves is None:
                    run.question_of(part).open.append(part)


def _answer(run: Run, question: Question) -> Answer:
    if question.answer is not None:
        return question.answer
    if question.open and not question.spent:
        return Unknown("time ran out before the first bound was known")
    if question.open:
        worst = min(part.bound for part in question.open)
        why = "" if run.room > 0 else ", and more would not fit into memory"
        return Unknown(f"undecided after {question.spent} subproblems: the best bound is {worst:.3g}{why}")
    if question.stuck:
        return Unknown(run.why_stuck)
    return Proved(tuple(told(run.form, proof_of(root)) for root in question.roots))


# --- what to split next ---


def _hardest(run: Run) -> list[Subproblem]:
    """The subproblems to split next: the lowest bounds of every undecided question within its budget."""
    if run.budget.spent or run.room <= 0:
        return []
    within = [q for q in run.questions if q.answer is None and q.open and q.spent < run.budget.subproblems]
    live = [question for question in within if not _given_up(run, question)]
    share = max(1, min(PER_QUESTION, run.batch // max(1, len(live))))
    batch: list[Subproblem] = []
    for question in live[: run.batch]:
        question.open.sort(key=lambda part: part.bound)
        batch += question.open[:share]
        del question.open[:share]
    return batch


def _given_up(run: Run, question: Question) -> bool:
    return len(question.open) > run.budget.crowd or (run.budget.promising and _hopeless(run, question))


def _hopeless(run: Run, question: Question) -> bool:
    """Whether its bound would stay below zero though every doubling of subproblems did far more than so far."""
    spent, worst = max(1, question.spent), min(part.bound for part in question.open)
    if question.first is None:
        question.first = spent, worst
    before, lowest = question.first
    if spent < HOPE * before or not np.isfinite(lowest):
        return False
    gain = (worst - lowest) / np.log2(spent / before)
    return bool(worst + MORE * gain * np.log2(run.budget.subproblems / spent) < 0)


def _at_once(batch: int) -> int:
    """On how many units to split each subproblem of a round: a small batch costs as much as a larger one."""
    return max(1, int(np.log2(FEW / batch)) if batch < FEW else 1)

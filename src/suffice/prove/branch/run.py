"""One run of branch and bound over a batch of questions: what all of its parts share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from suffice.model.network import Floats, Ints
from suffice.prove.bounds import NEAR, Form
from suffice.prove.branch.subproblem import InputSet, Judge, Question, Subproblem, root_of
from suffice.prove.climb import Ground
from suffice.prove.climb_back import Way
from suffice.prove.inputs import Restored
from suffice.prove.peaks import Peaks
from suffice.prove.tilts import Tilts
from suffice.prove.verdict import Budget

BATCH = 256  # subproblems per round, if they are small
WORK = 2 * 10**8  # multiplications per round: it should take a fraction of a second, as time is looked at in between
MEMORY = 10**9  # bytes that the subproblems of a run may take in all
SHARES = 400_000  # of lines above maxima that are worked on together: more take longer and far more memory
FEW = 16  # below this many subproblems in a round, each is split on several units at once


@dataclass(eq=False)
class Run:
    """Questions about one form, against rivals of which `sign` times the margin must stay above zero.

    `batch` is how many subproblems are worked on together, and `room` how many more fit into memory.
    """

    form: Form
    sign: float
    judge: Judge
    budget: Budget
    questions: list[Question]
    tilts: Tilts | Peaks | None
    batch: int
    room: int
    grounds: dict[bytes, Ground] = field(default_factory=dict)  # by the words that are free
    ways: dict[int, Way] = field(default_factory=dict)  # by question

    @staticmethod
    def of(
        form: Form, inputs: InputSet, rivals: Sequence[Sequence[int]], sign: float, judge: Judge, budget: Budget
    ) -> Run:
        questions = [
            Question([root_of(q, rival, inputs.take(slice(q, q + 1)), form.units) for rival in mine])
            for q, mine in enumerate(rivals)
        ]
        tilts = _tilts(form, sign, inputs) if form.steps else None
        batch = min(form.together, max(4, min(BATCH, WORK // form.work)))
        if isinstance(tilts, Peaks):
            batch = min(batch, max(FEW, SHARES // tilts.size))
        return Run(form, sign, judge, budget, questions, tilts, batch, _room(form, tilts))

    @property
    def why_stuck(self) -> str:
        if self.form.curved is not None:
            return "bounds of smooth activations leave it open, and no complete answer exists for them"
        return "the margin is too close to zero to be decided"

    def question_of(self, part: Subproblem) -> Question:
        return self.questions[part.question]

    def answered(self, part: Subproblem) -> bool:
        return self.question_of(part).answer is not None

    def attempt(self, parts: Sequence[Subproblem], points: Floats) -> None:
        """Run the points where the bounds are attained through the real network: one may answer the question."""
        margins = self.form.problem.margins(points)[np.arange(len(parts)), [part.rival for part in parts]]
        for part, answer in zip(parts, self.judge([p.inputs for p in parts], points, margins), strict=True):
            question = self.question_of(part)
            if question.answer is None:
                question.answer = answer


def _room(form: Form, tilts: Tilts | Peaks | None) -> int:
    """How many subproblems fit into memory."""
    shares = 0 if tilts is None else 4 * tilts.size
    return MEMORY // (56 * form.units + 16 * form.problem.center.size + shares + 1500)


def _tilts(form: Form, sign: float, inputs: InputSet) -> Tilts | Peaks | None:
    """What may be tilted: lines above relus of the first step, or above its maxima."""
    first, region = form.steps[0], form.problem.region
    if first.groups is None:
        return Tilts.of(first, taking_above(form, sign, form.unsettled[0]), inputs, region)
    if isinstance(inputs, Restored) and not only_maxima(form):
        return None
    some = np.flatnonzero(np.isin(first.groups.leaders, taking_above(form, sign, first.groups.leaders)))
    whole = first if form.whole is None else form.whole.steps[0]
    return Peaks.of(first, some, NEAR * form.size[0], inputs, region, whole)


def only_maxima(form: Form) -> bool:
    """Whether there is nothing but maxima of the input to choose lines for."""
    return len(form.steps) == 1 and bool(form.steps[0].pooled.all())


def taking_above(form: Form, sign: float, units: Ints) -> Ints:
    """Those units of the first step that may take a line above: with one hidden step that is known."""
    if len(form.steps) > 1:
        return units
    return np.asarray(units[(sign * form.margin.dense()[:, units] < 0).any(0)])

"""Branch and bound on words alone, with one pass of plain bounds for each subproblem.

In coordinates of choices a pass costs so little that deciding on another word goes further than better slopes do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.model.network import Floats, Ints
from suffice.prove.bounds import Form, Items, hidden, margin_bound, margin_rows
from suffice.prove.branch.run import Run
from suffice.prove.branch.settle import run_all
from suffice.prove.branch.split import split_word
from suffice.prove.branch.subproblem import InputSet, Judge, Subproblem
from suffice.prove.branch.together import joined
from suffice.prove.choices import Sums, narrowed
from suffice.prove.inputs import Free, Interval, Restored
from suffice.prove.runs import CLOSED
from suffice.prove.verdict import Budget, Unknown
from suffice.sets.regions import Choice

TOGETHER = 32  # subproblems per round: more do not fit the cache
DESCENTS = 6  # rounds in which the best point is made better


@dataclass(eq=False)
class OnWords:
    """Bounds are those of plain lines, with the first step's sums worked out word by word."""

    run: Run
    sums: Sums
    rounds: int = 0

    @staticmethod
    def of(
        form: Form, inputs: InputSet, rivals: Sequence[Sequence[int]], sign: float, judge: Judge, budget: Budget
    ) -> OnWords:
        run = Run.of(_fewer_units(form, inputs), inputs, rivals, sign, judge, budget)
        run.batch = min(run.batch, TOGETHER)
        assert run.form.problem.source is not None
        return OnWords(run, Sums(run.form.problem.source, run.form.steps[0].bias))

    def bound(self, parts: list[Subproblem]) -> None:
        run, inputs = self.run, joined(parts)
        first = self._first_step(inputs)
        bounds = hidden(run.form, inputs, None, lambda place, _: None if place else first, run.budget)
        rows = margin_rows(run.form, np.array([p.rival for p in parts]), run.sign)
        found = margin_bound(run.form, Items(inputs, bounds, rows), None)
        for part, bound, row in zip(parts, found.bound, found.inputs, strict=True):
            run.question_of(part).spent += 1
            part.bound, part.row = float(bound), row
            if part.bound > 0:
                part.tree, part.closed, part.row = CLOSED, True, None
        left = np.flatnonzero(found.bound <= 0)
        if len(left):
            self._attack([parts[i] for i in left], inputs.take(left).minimiser(found.inputs[left]))

    def look_again(self) -> None:
        pass

    def split(self, part: Subproblem, depth: int) -> list[Subproblem]:
        assert part.word is not None
        halves = split_word(part, part.word)
        part.row = None
        return list(halves)

    def _first_step(self, inputs: InputSet) -> Interval | None:
        """Bounds of the first step's units; None where words are bought, which the sums do not know of."""
        if not isinstance(inputs, Free):
            return None
        assert inputs.allowed is not None
        form, (least, most) = self.run.form, self.run.form.reach[0]
        lower, upper = self.sums.over(inputs.free, inputs.allowed)
        error, bent = form.gamma * form.size[0], form.steps[0].bent
        lower, upper = np.maximum(lower - error, least), np.minimum(upper + error, most)
        return np.where(bent, lower, 0.0), np.where(bent, upper, np.inf)

    def _attack(self, parts: list[Subproblem], points: Floats) -> None:
        """Try the points where bounds are attained; what is not refuted is kept open."""
        self.run.attempt(parts, points)
        self._descend(parts[0], points[0])
        for part in parts:
            self._keep(part)

    def _descend(self, part: Subproblem, point: Floats) -> None:
        """In the first rounds: change one word at a time of the best point as long as the margin falls."""
        run = self.run
        self.rounds += 1
        if self.rounds > DESCENTS or not isinstance(part.inputs, Free) or run.answered(part):
            return
        words, least = np.flatnonzero(part.inputs.free[0]), np.inf
        while True:
            run.budget.look()
            trials = _with_one_changed(run.form, point, words)
            margins = run.sign * run.form.problem.margins(trials)[:, part.rival]
            if margins.min(initial=np.inf) >= least:
                break
            best = int(margins.argmin())
            least, point = float(margins[best]), trials[best]
        run.attempt([part], point[None])

    def _keep(self, part: Subproblem) -> None:
        """Put it back; where no word is left to decide on, the input itself may be far enough from zero."""
        question = self.run.question_of(part)
        assert part.row is not None
        if question.answer is not None:
            return
        if (word := part.inputs.word(part.row, any_word=True)) is not None:
            part.word = word
            question.open.append(part)
        elif not run_all(self.run, part):
            question.answer = Unknown(self.run.why_stuck)


def _with_one_changed(form: Form, point: Floats, words: Ints) -> Floats:
    """The point with each choice of each of these words in turn."""
    region = form.problem.region
    assert isinstance(region, Choice)
    choices = region.points.shape[1]
    trials, at = np.repeat(point[None], len(words) * choices, axis=0), np.repeat(words, choices)
    trials[np.arange(len(at)), at] = region.points[words].reshape(len(at), -1)
    return trials


def _fewer_units(form: Form, inputs: InputSet) -> Form:
    """The form without the candidates that cannot win while only these words move."""
    moving = form.problem.features if isinstance(inputs, Restored) else np.asarray(inputs.words.any(0))
    return Form.of(narrowed(form.problem, moving))

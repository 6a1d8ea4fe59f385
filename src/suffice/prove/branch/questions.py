"""What can be asked: whether words suffice, whether restorations leave the rival ahead, whether changes flip."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.bounds import Form, outer_sides
from suffice.prove.branch.judges import flips, undone
from suffice.prove.branch.rounds import answers
from suffice.prove.branch.run import Run
from suffice.prove.branch.subproblem import Restorable
from suffice.prove.branch.units import OnUnits
from suffice.prove.branch.words import OnWords
from suffice.prove.inputs import Free, Freed, Restored
from suffice.prove.lean import within
from suffice.prove.verdict import Budget, Proved, Refuted, Unknown, Verdict
from suffice.sets.regions import Ball, Box, Choice


def decide(form: Form, free: Bools, budget: Budget) -> list[Verdict]:
    """Do the words that are not free suffice? A verdict for each row of `free` (n, length)."""
    form.about(free)
    form = _over(form, np.asarray(free.any(0)))
    rivals = [list(range(len(form.problem.rivals)))] * len(free)
    asked = form, sets_of_free(form, free, choosable=True), rivals, 1.0, flips(form), budget
    way = OnUnits(Run.of(*asked)) if form.problem.source is None else OnWords.of(*asked)
    return [answer for answer in answers(way) if not isinstance(answer, Restorable)]


def decide_restorations(
    form: Form, inputs: Restored, rivals: Ints, budget: Budget
) -> list[Proved | Restorable | Unknown]:
    """Does every affordable restoration leave the rival ahead? Proved, a set that does not, or Unknown."""
    assert form.problem.source is None, "proofs with numbers of units are about the original alone"
    form.about((inputs.start != inputs.center).any(-1))
    form = within(form, np.minimum(inputs.start.min(0), inputs.center), np.maximum(inputs.start.max(0), inputs.center))
    run = Run.of(form, inputs, [[int(j)] for j in rivals], -1.0, undone(form), budget)
    return [answer for answer in answers(OnUnits(run)) if not isinstance(answer, Refuted)]


def decide_flips(
    form: Form, opened: Bools, cost: Floats, limit: float, rivals: Sequence[int], budget: Budget
) -> Verdict:
    """Can changing words worth at most `limit` lift one of the rivals to the label? Refuted shows how.

    A limit on how many words change at once is one of cost too if words cost the same.
    """
    assert form.problem.source is None, "proofs with numbers of units are about the original alone"
    form.about(opened)
    equal, most = (cost == cost[0]).all(), float(form.problem.limit)
    worth = np.array([min(float(limit), cost[0] * most) if equal else float(limit)])
    count = None if equal or most >= opened.sum() else np.array([most])
    nobody = np.zeros((1, len(opened)), dtype=bool)
    inputs = Freed(form.problem.region, nobody, opened[None], cost, worth, _every_choice(form, 1), count)
    run = Run.of(form, inputs, [list(rivals)], 1.0, flips(form, rivals), budget)
    answer = answers(OnUnits(run))[0]
    assert not isinstance(answer, Restorable)
    return answer


def _over(form: Form, free: Bools) -> Form:
    """The form for questions in which only these words (length,) move."""
    region = form.problem.region
    if not isinstance(region, Box | Ball):
        return form
    lower, upper = (np.where(free[:, None], side, region.center) for side in outer_sides(region))
    return within(form, lower, upper)


def sets_of_free(form: Form, free: Bools, choosable: bool = False) -> Free | Freed:
    """What the question about each row of `free` ranges over; with a limit on changes, who changes is a choice too."""
    problem, allowed = form.problem, _every_choice(form, len(free)) if choosable else None
    if free.sum(-1).max(initial=0) <= problem.limit:
        return Free(problem.region, free, allowed)
    most = np.full(len(free), float(problem.limit))
    return Freed(problem.region, np.zeros_like(free), free, np.ones(free.shape[1]), most, allowed)


def _every_choice(form: Form, count: int) -> Bools | None:
    """Every choice allowed, where the region is one of choices and a proof may branch on them."""
    if not isinstance(form.problem.region, Choice):
        return None
    return np.ones((count, *form.problem.region.points.shape[:2]), dtype=bool)

"""Subproblems whose lines above maxima get rows of their own, and climb."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.attack import margins, slide, slides
from suffice.prove.bounds import Dual, Items, Pass, chosen_lines, margin_bound
from suffice.prove.branch.judges import words_of
from suffice.prove.branch.run import Run, taking_above
from suffice.prove.branch.settle import conclude
from suffice.prove.branch.subproblem import Subproblem
from suffice.prove.climb import Climbed, Ground, Pace, climbed
from suffice.prove.climb_back import Way, climbed_back
from suffice.prove.inputs import Free, Restored
from suffice.prove.peaks import Peaks

CLIMB, SOME = Pace(100, (0.033, 0.0009), (0.09, 0.0035)), 0.02  # where they begin, and what each candidate has then
CLIMB_ON, LITTLE = Pace(40, (0.006, 0.0009), (0.04, 0.0035)), 1e-5  # and after that
CLIMB_LONG = Pace(100, (0.004, 0.0003), (0.03, 0.001))  # where that is not enough
AROUND, AROUND_STEPS = 4, 20  # points that small steps lead away from, and how many


def climb(run: Run, parts: list[Subproblem], batch: Items, dual: Dual, found: Pass, peaks: Peaks) -> None:
    """Lines above maxima have rows of their own from here on, and those of the parts of these subproblems."""
    pace, least = CLIMB_ON, LITTLE
    if batch.tilts is None:
        batch = replace(batch, tilts=peaks)
        slopes = chosen_lines(run.form, batch.bounds, dual)[1]
        dual = replace(dual, share=peaks.start(slopes[:, peaks.members]))
        found, pace, least = margin_bound(run.form, batch, dual), CLIMB, SOME
    if isinstance(batch.inputs, Restored):
        way = _way(run, parts[0], batch, peaks)
        back = climbed_back(run.form, batch, dual, found, way, pace, least, run.budget)
        for part, loss in zip(parts, back.loss, strict=True):
            part.word = int(loss.argmax()) if loss.any() else None
        conclude(run, parts, batch, back.dual, back.found, np.zeros_like(back.found.over))
        return
    ground = ground_of(run, parts[0], batch, peaks)
    result = climbed(run.form, batch, dual, found, ground, pace, least, run.budget)
    unfinished = (result.found.bound <= 0) & result.unfinished
    if len(low := np.flatnonzero(unfinished)):
        _climb_again(run, [parts[i] for i in low], batch.take(low), result.take(low), ground)
        high = np.flatnonzero(~unfinished)
        parts, batch, result = [parts[i] for i in high], batch.take(high), result.take(high)
    if parts:
        _attempt_and_conclude(run, parts, batch, result)


def _climb_again(run: Run, parts: list[Subproblem], batch: Items, result: Climbed, ground: Ground) -> None:
    """Where no split would do, as lines below maxima are not good enough yet."""
    result = climbed(run.form, batch, result.dual, result.found, ground, CLIMB_LONG, LITTLE, run.budget)
    _attempt_and_conclude(run, parts, batch, result)


def _attempt_and_conclude(run: Run, parts: list[Subproblem], batch: Items, result: Climbed) -> None:
    attempt_around(run, parts, result.points)
    conclude(run, parts, batch, result.dual, result.found, result.loss)


def attempt_around(run: Run, parts: list[Subproblem], points: Floats) -> None:
    """Try these points, and what small steps from the lowest of them lead to."""
    problem, rivals = run.form.problem, np.array([part.rival for part in parts])
    run.attempt(parts, points)
    if slides(problem) and not run.answered(parts[0]):
        low = np.argsort(margins(problem, points, rivals), kind="stable")[:AROUND]
        free = np.concatenate([words_of(parts[i].inputs) for i in low])
        run.attempt([parts[i] for i in low], slide(problem, free, points[low], rivals[low], AROUND_STEPS).point)


# --- where they climb ---


def ground_of(run: Run, part: Subproblem, batch: Items, peaks: Peaks) -> Ground:
    """Where subproblems of this set of free words climb."""
    assert isinstance(part.inputs, Free)
    key = part.inputs.free.tobytes()
    if key not in run.grounds:
        below, live = _maxima_below(run, batch)
        run.grounds[key] = Ground.of(run.form.steps[0], peaks, below, part.inputs.free[0], live)
    return run.grounds[key]


def _way(run: Run, part: Subproblem, batch: Items, peaks: Peaks) -> Way:
    """Where subproblems about this attacked text climb."""
    if part.question not in run.ways:
        root = run.question_of(part).roots[0]
        assert isinstance(root.inputs, Restored)
        below, live = _maxima_below(run, batch)
        run.ways[part.question] = Way.of(run.form.steps[0], peaks, below, root.inputs, live)
    return run.ways[part.question]


def _maxima_below(run: Run, batch: Items) -> tuple[Ints, Bools]:
    """The maxima of the first step that may take a line below, and its units that may win one."""
    first = run.form.steps[0]
    assert first.groups is not None
    assert batch.bounds.live is not None
    below = np.isin(first.groups.leaders, taking_above(run.form, -run.sign, first.groups.leaders))
    return np.flatnonzero(below), np.asarray(batch.bounds.live[:, : len(first.bias)].any(0))

"""Alone: how far one word, changed alone, can move the margin: exact where it may become finitely
many words.

Over finite sets every option is run. Over boxes, balls and hulls there are too many, and the
prover's bounds say how far the margin can fall at most; how far it can rise is not looked for. A
number here is a bound or the thing itself, never an estimate. Nothing of it is in the certificate.
"""

from __future__ import annotations

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.sets.regions import Choice
from suffice.settings import RESOURCES
from suffice.verbs.details import Alone
from suffice.verify.contract import Problem
from suffice.verify.nets.branch import input_sets_of
from suffice.verify.nets.crown import (
    BoundBatch,
    PreparedProblem,
    backward_bound,
    initial_dual,
    intermediate_bounds,
    margin_rows,
)
from suffice.verify.queries import QuerySession


def single_word_effects(problem: Problem) -> dict[int, Alone]:
    """What each feature can do that may change at all."""
    words = np.flatnonzero(problem.region.movable() & problem.features)
    if not len(words):
        return {}
    margin = float(_margins(problem, problem.center[None])[0])
    if isinstance(problem.region, Choice):
        return {int(i): _exact(margin, _options(problem, problem.region, int(i))) for i in words}
    pairs = zip(
        words, _bounds(problem, np.eye(len(problem.features), dtype=bool)[words]), strict=True
    )
    return {int(i): Alone(margin, float(low), None, 0) for i, low in pairs if np.isfinite(low)}


def single_word_effects_asked(session: QuerySession) -> dict[int, Alone]:
    """The same for a black box, of the words whose every option has been run already: nothing more
    is asked.
    """
    return {
        i: found
        for i, words in enumerate(session.options)
        if words and (found := _asked(session, i, words)) is not None
    }


def _asked(session: QuerySession, position: int, words: tuple[str, ...]) -> Alone | None:
    changes = [(), *(((position, word),) for word in words)]
    texts = [session.write(change) for change in changes]
    if session.blackbox.answers.missing(texts):
        return None
    rows = session.blackbox.scores(texts)
    margins = rows[:, session.label] - np.delete(rows, session.label, axis=1).max(1)
    return _exact(float(margins[0]), margins[1:])


def _exact(margin: float, options: Floats) -> Alone:
    lowest = min(margin, float(options.min()))
    highest = max(margin, float(options.max()))
    return Alone(margin, lowest, highest, len(options))


def _options(problem: Problem, region: Choice, position: int) -> Floats:
    """The margin with each other word in the place of this one."""
    names = len(region.names[position]) if region.names else region.points.shape[1]
    points = np.repeat(problem.center[None], max(1, names - 1), axis=0)
    points[:, position] = (
        region.points[position, 1:names] if names > 1 else problem.center[position]
    )
    return _margins(problem, points)


def _margins(problem: Problem, points: Floats) -> Floats:
    size = max(1, RESOURCES.numbers_at_once // max(1, problem.center.size))
    parts = [problem.margins(points[i : i + size]).min(-1) for i in range(0, len(points), size)]
    return np.concatenate(parts)


def _bounds(problem: Problem, free: Bools) -> Floats:
    """A sound lower bound of the margin with each row of words free: the least over all rivals."""
    form = PreparedProblem.of(problem)
    count = len(problem.rivals)
    form.require_features(free)
    if not form.finite:
        return np.full(len(free), -np.inf)
    size = max(1, form.batch_limit // count)
    return np.concatenate(
        [_bound(form, free[i : i + size], count) for i in range(0, len(free), size)]
    )


def _bound(form: PreparedProblem, free: Bools, count: int) -> Floats:
    inputs = input_sets_of(form, free)
    bounds = intermediate_bounds(form, inputs)
    items = np.repeat(np.arange(len(free)), count)
    rivals = np.tile(np.arange(count), len(free))
    spread = bounds.take(items)
    found = backward_bound(
        form,
        BoundBatch(inputs.take(items), spread, margin_rows(form, rivals)),
        initial_dual(spread),
    )
    return np.asarray(found.bound.reshape(-1, count).min(-1))

"""Why: for each word what it may become, and for each word of the set the change that its absence
would allow.

If a word is taken out of an explanation that has nothing to spare, some change of the free words
and of it flips the label. These counterexamples are for people, so each is made sparse: as few
changed words as easily found. A word whose change alone flips the label is in every explanation:
only such words are called needed.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.sets.regions import Choice, Region
from suffice.settings import RESOURCES
from suffice.verbs.alone import single_word_effects as strengths_of
from suffice.verbs.details import Change, Detail
from suffice.verbs.question import Question
from suffice.verbs.swapped import with_swap_proofs
from suffice.verbs.typed import typeable
from suffice.verify.contract import Budget, Problem, Refuted, Witness
from suffice.verify.exact import confirm
from suffice.verify.nets.attack import Attacker
from suffice.verify.queries import Meter
from suffice.verify.solvers import bounds_oracle_for

SHOWN = 8  # options named per word


def details(question: Question, held: Bools) -> tuple[Detail, ...]:
    """What is known about each feature."""
    problem = question.problem
    words = held & question.features & ~question.included
    alone = flips(
        problem, _each(words) | (question.excluded & question.features), np.flatnonzero(words)
    )
    found = counterexamples(problem, held & problem.features, skip=alone) | alone
    found = {place: _typed(question, held, place, witness) for place, witness in found.items()}
    strengths = strengths_of(problem)
    places = np.flatnonzero(problem.features).tolist()
    known = [_detail(question, place, found.get(place), needed=place in alone) for place in places]
    known = [replace(detail, alone=strengths.get(detail.position)) for detail in known]
    return with_swap_proofs(
        question, np.flatnonzero(held).tolist(), known, Meter(Budget(RESOURCES.detail_seconds))
    )


def _typed(question: Question, held: Bools, place: int, known: Witness) -> Witness:
    """A flip with this word free as well that a person can type, where one is found."""
    free = question.problem.features & ~held
    free[place] = True
    return typeable(question, known, free, changed=[place])


def needed_words(question: Question) -> set[int]:
    """The words that every explanation must hold: those asked for, and those whose change alone
    flips the label.
    """
    words = question.features & ~question.included & ~question.excluded
    alone = flips(
        question.problem,
        _each(words) | (question.excluded & question.features),
        np.flatnonzero(words),
    )
    return {int(i) for i in np.flatnonzero(question.included)} | alone.keys()


def _each(words: Bools) -> Bools:
    """A row for each of some words, with that word alone."""
    return np.eye(len(words), dtype=bool)[words]


def flips(problem: Problem, free: Bools, words: Ints) -> dict[int, Witness]:
    """For each row of free words, named by one of them, a flip of the label where an attack finds
    one (no mere tie).
    """
    if not len(words):
        return {}
    attempt = Attacker.of(problem).attack(free, restarts=problem.settings.answers.restarts)
    hits = np.flatnonzero(attempt.margin <= 0)
    points = _sparse(problem, attempt.point[hits])
    found = zip(words[hits], confirm(problem, points, free[hits]), strict=True)
    return {
        int(word): witness for word, witness in found if witness is not None and witness.positions
    }


def options(region: Region, position: int) -> tuple[str, ...]:
    """The other words that a word's set is made of, nearest first; none for balls and
    given boxes.
    """
    if not region.names:
        return ()
    names = region.names[position]
    return names[1:] if isinstance(region, Choice) else names


def counterexamples(problem: Problem, held: Bools, skip: Container[int] = ()) -> dict[int, Witness]:
    """For each held word, a flip of the label with that word free as well, where one is found."""
    words = np.array([i for i in np.flatnonzero(held) if int(i) not in skip], dtype=np.int64)
    free = np.repeat((problem.features & ~held)[None], len(words), axis=0)
    free[np.arange(len(words)), words] = True
    found = flips(problem, free, words)
    missed = ~np.isin(words, list(found))
    return found | _searched(problem, free[missed], words[missed])


def _searched(problem: Problem, free: Bools, words: Ints) -> dict[int, Witness]:
    """The same by a short complete search: a set with nothing to spare has flips that attacks may
    miss.
    """
    if not len(words):
        return {}
    answers = bounds_oracle_for(problem).ask(free, Budget(RESOURCES.detail_seconds))
    hits = [(i, answer.witness) for i, answer in enumerate(answers) if isinstance(answer, Refuted)]
    points = _sparse(problem, np.array([witness.point for _, witness in hits]))
    sparse = confirm(problem, points, free[[i for i, _ in hits]])
    return {
        int(words[i]): fewer or witness for (i, witness), fewer in zip(hits, sparse, strict=True)
    }


def _sparse(problem: Problem, points: Floats) -> Floats:
    """Put back as many changed words as keep each flip, those that matter least first."""
    size = max(1, RESOURCES.numbers_at_once // max(1, problem.center.size * len(problem.center)))
    parts = [_sparse_part(problem, points[i : i + size]) for i in range(0, len(points), size)]
    return np.concatenate(parts) if parts else points


def _sparse_part(problem: Problem, points: Floats) -> Floats:
    for _ in range(problem.settings.answers.sparse_rounds):
        trials = _restored(points, problem.center, _importance(problem, points))
        flat = trials.reshape(-1, *problem.center.shape)
        flips = (problem.margins(flat).min(-1) < 0).reshape(trials.shape[:2])
        most = flips.shape[1] - 1 - flips[:, ::-1].argmax(1)
        better = np.where(flips.any(1)[:, None, None], trials[np.arange(len(points)), most], points)
        if (better == points).all():
            return better
        points = better
    return points


def _importance(problem: Problem, points: Floats) -> Floats:
    """By how much the margin rises when one word of a point is put back (n, length)."""
    length = len(problem.center)
    one = np.eye(length, dtype=bool)[None, :, :, None]
    single = np.where(one, problem.center, points[:, None]).reshape(-1, *problem.center.shape)
    return np.asarray(problem.margins(single).min(-1).reshape(len(points), length))


def _restored(points: Floats, center: Floats, importance: Floats) -> Floats:
    """For each point, the versions with the 1, 2, 3... least important words put back."""
    rank = np.argsort(np.argsort(importance, axis=1, kind="stable"), axis=1)
    back = rank[:, None, :] <= np.arange(len(center))[None, :, None]
    return np.where(back[..., None], center, points[:, None])


def _detail(question: Question, position: int, flip: Witness | None, needed: bool) -> Detail:
    pad = question.classifier.pad
    names = tuple(
        "" if name == pad else name for name in options(question.problem.region, position)
    )
    change = _change(question.witness(flip))
    return Detail(position, names[:SHOWN], max(0, len(names) - SHOWN), change, needed)


def _change(witness: Witness | None) -> Change | None:
    if witness is None:
        return None
    seen = witness
    return Change(
        seen.label, seen.margin, seen.positions, seen.words, seen.real, seen.text, seen.blanked
    )

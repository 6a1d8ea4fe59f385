"""Another look at the roots that are open, before anything is split: narrower hidden bounds, and sieves."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial

import numpy as np

from suffice.model.network import Floats
from suffice.prove.bounds import Items, hidden, margin_rows
from suffice.prove.branch.climbing import attempt_around, ground_of
from suffice.prove.branch.rounds import Branching, evaluate
from suffice.prove.branch.run import Run, only_maxima
from suffice.prove.branch.subproblem import Subproblem
from suffice.prove.branch.together import known_bounds
from suffice.prove.inputs import Free
from suffice.prove.narrow import narrowed, worth_it
from suffice.prove.peaks import Peaks
from suffice.prove.sieve import sifted
from suffice.prove.verdict import OutOfTime

WIDE = 8_000  # shares of tilted lines from which on bounds of later steps' units are narrowed too
MAXIMA = 16  # with lines above, from which on splits on single ones are too many
WEIGHTS = 5 * 10**5  # of candidates, up to which it pays to look at several maxima at once


def narrow(way: Branching) -> None:
    """In a wide network, better bounds of the later steps' units for every root that is open, and another look."""
    run = way.run
    if not worth_it(run.form) or run.tilts is None or run.tilts.size <= WIDE:
        return
    for root in _open_roots(run):
        if not isinstance(root.inputs, Free) or run.budget.spent or root.dual is None:
            continue
        run.question_of(root).open.remove(root)
        rows = margin_rows(run.form, np.array([root.rival]), run.sign)
        root.narrow = narrowed(run.form, root.inputs, rows, run.budget)
        root.steps, root.loss, root.row = (), None, None
        evaluate(way, [root])


def sieve(run: Run) -> None:
    """Where there is nothing but maxima of numbers that move on their own, look at several of them at once."""
    peaks = run.tilts
    if not isinstance(peaks, Peaks) or not only_maxima(run.form) or len(peaks.units) < MAXIMA:
        return
    for root in _open_roots(run):
        climbed = root.dual is not None and root.dual.share is not None
        if climbed and isinstance(root.inputs, Free) and not run.answered(root):
            with contextlib.suppress(OutOfTime):
                _sift(run, root, peaks)


def _open_roots(run: Run) -> list[Subproblem]:
    return [part for question in run.questions for part in question.open]


def _sift(run: Run, root: Subproblem, peaks: Peaks) -> None:
    """A root is closed, its question answered, or left as it was."""
    rows = margin_rows(run.form, np.array([root.rival]), run.sign)
    bounds = hidden(run.form, root.inputs, None, partial(known_bounds, run, [root], root.inputs), run.budget)
    batch = Items(root.inputs, bounds, rows, None, peaks)
    ground = ground_of(run, root, batch, peaks)
    if ground.land.above.rows.size > WEIGHTS:
        return

    def tried(at: Floats) -> bool:
        attempt_around(run, [root], ground.points(at))
        return run.answered(root)

    assert root.dual is not None
    share = 0.25 if run.budget.promising else 0.5  # of the time: others are asked about as well, and splits follow
    limit = replace(run.budget, seconds=run.budget.elapsed + share * run.budget.left)
    root.tree = sifted(run.form, batch, root.dual, ground, limit, tried)
    if root.tree is not None:
        root.closed = True
        run.question_of(root).open.remove(root)

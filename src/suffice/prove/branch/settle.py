"""What becomes of subproblems that were bounded: closed, attacked, kept, or settled as nothing is left to split."""

from __future__ import annotations

import numpy as np

from suffice.model.network import Floats
from suffice.prove.bounds import (
    Dual,
    Hidden,
    Items,
    Pass,
    losses,
    margin_bound,
    margin_rows,
    room,
    settled,
)
from suffice.prove.branch.run import Run, only_maxima
from suffice.prove.branch.subproblem import Subproblem, close
from suffice.prove.exact import confirm
from suffice.prove.program import leaf_program
from suffice.prove.runs import few
from suffice.prove.tilts import Tilts
from suffice.prove.verdict import Refuted, Unknown

STUCK = 16  # subproblems at zero that a question may have before it is given up: another may hold a flip
TRIED = 4  # of inputs that were all run, those that may answer the question


def conclude(
    run: Run, parts: list[Subproblem], batch: Items, dual: Dual, found: Pass, first: Floats | None = None
) -> None:
    """Close what is proved; attack the rest, and keep it with what to split it on (`first`: in the first step)."""
    run.attempt(parts, batch.inputs.minimiser(found.inputs))
    score = _scores(run, batch, dual, found, first)
    closing = settled(run.form, batch.bounds, dual) if (found.bound > 0).any() else dual
    for i, part in enumerate(parts):
        part.bound, part.dual = float(found.bound[i]), dual.take(slice(i, i + 1))
        if part.bound > 0:
            close(part, closing, found, batch.tilts, i)
        else:
            part.loss, part.row = score[i], found.inputs[i]
            if _tight(part):
                part.loss = room(run.form, batch.take(np.array([i])), found.take(np.array([i])))[0]
            _keep(run, part, batch.bounds, i)


def _tight(part: Subproblem) -> bool:
    """Whether nothing is given away where its bound is attained: lines that are not the best may be so all the same."""
    assert part.loss is not None
    assert part.row is not None
    return not part.loss.any() and part.inputs.word(part.row, any_word=True) is None


def _scores(run: Run, batch: Items, dual: Dual, found: Pass, first: Floats | None) -> Floats:
    """How much a split on each unit (n, units) promises; of maxima of the first step `first` knows it, if given."""
    if first is not None and not np.isfinite(first).all():  # beyond what a climb's single precision can tell
        first = None
    bounds, known = batch.bounds, first is not None and only_maxima(run.form)
    loss = np.zeros_like(found.over) if known else losses(run.form, batch, found, dual)
    if first is not None:
        pooled = np.flatnonzero(run.form.steps[0].pooled)
        loss[:, pooled] = first[:, pooled]
    chord = np.where(bounds.loose, np.abs(np.minimum(found.over, 0.0)) * bounds.shift, 9 * loss)
    if isinstance(batch.tilts, Tilts):  # such lines give away far less than chords do
        chord[:, batch.tilts.units] = loss[:, batch.tilts.units]
    return np.where(bounds.crossing(run.form), chord + 0.1 * loss + 1e-12, loss)


def _keep(run: Run, part: Subproblem, bounds: Hidden, item: int) -> None:
    """Put an open subproblem back, or settle it when nothing is left to split."""
    question = run.question_of(part)
    assert part.loss is not None
    assert part.row is not None
    if question.answer is not None:
        return
    if part.loss.any() or part.inputs.word(part.row, any_word=True) is not None:
        question.open.append(part)
    elif not _finish(run, part, bounds.take(slice(item, item + 1))) and question.answer is None:
        question.stuck += 1
        if question.stuck == STUCK:
            question.answer = Unknown(run.why_stuck)


def _finish(run: Run, part: Subproblem, bounds: Hidden) -> bool:
    """All relus are linear here: better multipliers, or a flip, settle it. False when neither does."""
    inputs = part.inputs.decided
    if inputs is None or not inputs.free.any() or run.form.curved is not None:
        return False  # a single point that the rounding error leaves open stays open, as do smooth curves
    solved = leaf_program(run.form, inputs, bounds, part.signs, part.rival)
    if solved is None:
        return False
    dual, point, shares = solved
    rows = margin_rows(run.form, np.array([part.rival]), run.sign)
    found = margin_bound(run.form, Items(inputs, bounds, rows, part.signs[None]), dual)
    if found.bound[0] > 0:
        part.bound = float(found.bound[0])
        close(part, settled(run.form, bounds, dual), found, None, 0)
        return True
    if point is None:
        return False
    mixed = None if shares is None else shares[None]
    witness = confirm(run.form.problem, point[None], inputs.free, mixed)[0]
    if witness is not None:
        run.question_of(part).answer = Refuted(witness)
    return witness is not None


def run_all(run: Run, part: Subproblem) -> bool:
    """Where few inputs are left, run all of them: the part is closed, or its question answered."""
    runs = None if part.many or run.answered(part) else few(run.form, part.inputs)
    if runs is None:
        part.many = True
        return run.answered(part)
    margins = run.sign * runs.margins(part.rival, run.budget)
    if (margins > runs.error(part.rival)).all():
        part.bound, part.tree, part.closed = float(margins.min()), runs.tree, True
        return True
    lowest = np.argsort(margins, kind="stable")[:TRIED]
    run.attempt([part] * len(lowest), runs.points(lowest))
    return run.answered(part)

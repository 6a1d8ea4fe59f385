"""Branch and bound on units, and on words where that promises more: slopes and multipliers are optimised."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from suffice.model.network import Bools, Ints
from suffice.prove.bounds import Dual, Items, Pass, hidden, margin_bound, margin_rows, optimise, settled
from suffice.prove.branch.climbing import climb
from suffice.prove.branch.roots import narrow, sieve
from suffice.prove.branch.run import Run, only_maxima
from suffice.prove.branch.settle import conclude, run_all
from suffice.prove.branch.split import parts_of
from suffice.prove.branch.subproblem import Subproblem, close
from suffice.prove.branch.together import inherited, joined, known_bounds
from suffice.prove.inputs import Free
from suffice.prove.peaks import Peaks
from suffice.prove.tilts import PACE

STEPS = 4, 64  # of slope and multiplier ascent per subproblem, at least and at most
TILTED_STEPS = 12  # of ascent, at least, where lines above are tilted
ROOT_STEPS = 48  # of ascent at a root whose hidden bounds were narrowed
SLOW = 0.04  # the pace of shares of lines above maxima
HARD = 64  # subproblems of a question after which lines above first relus are tilted too
LATE = 128  # of one that is to be asked plainly
MANY, SOON = 64, 4  # of these relus, from which on that is worth while sooner


@dataclass(eq=False)
class OnUnits:
    """One pass closes most subproblems; what is left is worth more work, and then split."""

    run: Run

    def bound(self, parts: list[Subproblem]) -> None:
        _bound(self.run, parts)

    def look_again(self) -> None:
        narrow(self)
        sieve(self.run)

    def split(self, part: Subproblem, depth: int) -> list[Subproblem]:
        return parts_of(self.run.form, part, depth)


def _bound(run: Run, parts: list[Subproblem]) -> None:
    inputs, stacked = joined(parts), np.stack([p.signs for p in parts])
    signs = stacked if stacked.any() else None
    bounds = hidden(run.form, inputs, signs, partial(known_bounds, run, parts, inputs), run.budget)
    rows = margin_rows(run.form, np.array([p.rival for p in parts]), run.sign)
    tilts = run.tilts if any(_tilts_now(run, part) for part in parts) else None
    batch, dual = Items(inputs, bounds, rows, signs, tilts), inherited(parts, bounds, tilts)
    found = margin_bound(run.form, batch, dual)
    left = _left_open(run, parts, batch, dual, found)
    if len(left) == len(parts):
        _work_on(run, parts, batch, dual, found)
    elif len(left):
        _work_on(run, [parts[i] for i in left], batch.take(left), dual.take(left), found.take(left))


def _left_open(run: Run, parts: list[Subproblem], batch: Items, dual: Dual, found: Pass) -> Ints:
    """Close what the first pass has proved, or what has few inputs, which are all run: the places of what is left."""
    known = np.where(batch.bounds.contradicted, np.inf, found.bound)
    closing = settled(run.form, batch.bounds, dual) if (known > 0).any() else dual
    for i, part in enumerate(parts):
        part.bound = float(known[i])
        if part.bound > 0 and not part.covered:
            close(part, closing, found, batch.tilts, i)
        part.steps = part.steps if part.halves is None else ()
    fresh = [i for i, part in enumerate(parts) if part.halves is None and not part.covered]
    for i in fresh:
        run.question_of(parts[i]).spent += 1
    return np.array([i for i in fresh if known[i] <= 0 and not run_all(run, parts[i])], dtype=np.int64)


def _tilts_now(run: Run, part: Subproblem) -> bool:
    """Lines above relus are tilted once a question has turned out to be hard, those above maxima once they were."""
    spent = run.question_of(part).spent
    if part.narrow is not None:
        return True
    if isinstance(run.tilts, Peaks):
        return part.dual is not None and part.dual.share is not None
    if run.budget.plain:
        return spent >= LATE
    many = run.tilts is not None and len(run.tilts.units) > MANY
    return spent >= (min(HARD, SOON) if many else HARD)


def _work_on(run: Run, parts: list[Subproblem], batch: Items, dual: Dual, found: Pass) -> None:
    """Better slopes and multipliers, and where these do not do, other lines around maxima."""
    if not isinstance(batch.tilts, Peaks) or not only_maxima(run.form):
        pace = SLOW if isinstance(batch.tilts, Peaks) else PACE
        found, dual = optimise(run.form, batch, dual, found, _ascent(run, parts[0], batch), run.budget, pace)
    if isinstance(run.tilts, Peaks):
        for some in _alike(parts, found.bound <= 0):
            climb(run, [parts[i] for i in some], batch.take(some), dual.take(some), found.take(some), run.tilts)
        done = np.flatnonzero(found.bound > 0)
        parts, batch, dual, found = [parts[i] for i in done], batch.take(done), dual.take(done), found.take(done)
    if parts:
        conclude(run, parts, batch, dual, found)


def _ascent(run: Run, first: Subproblem, batch: Items) -> int:
    """How many steps: more with tilted lines, and most at a root whose hidden bounds were narrowed."""
    fresh = first.dual is not None and first.dual.share is None
    if first.narrow is not None and first.cut is None and fresh:
        return ROOT_STEPS
    least, most = STEPS
    steps: int = min(most, max(least, 2 ** len(run.form.steps)))  # a deep network gains more by them than by splits
    return steps if batch.tilts is None else max(steps, TILTED_STEPS)


def _alike(parts: list[Subproblem], chosen: Bools) -> list[Ints]:
    """The places of chosen subproblems, those with the same words free, or of one question, together."""
    found: dict[bytes | int, list[int]] = {}
    for i in np.flatnonzero(chosen):
        inputs = parts[i].inputs
        key = inputs.free.tobytes() if isinstance(inputs, Free) else parts[i].question
        found.setdefault(key, []).append(int(i))
    return [np.array(places) for places in found.values()]

"""What subproblems that are bounded together share, and what they begin with from those they are parts of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from suffice.model.network import Floats
from suffice.prove.bounds import Dual, Hidden, plain, step_bounds
from suffice.prove.branch.run import Run
from suffice.prove.branch.subproblem import InputSet, Subproblem
from suffice.prove.inputs import Interval
from suffice.prove.peaks import Peaks
from suffice.prove.tilts import Tilts


def joined(parts: Sequence[Subproblem]) -> InputSet:
    """Their input sets as one batch."""
    first, *rest = [part.inputs for part in parts]
    return first.join(rest)  # type: ignore[arg-type]


def known_bounds(run: Run, parts: list[Subproblem], inputs: InputSet, place: int, found: Hidden) -> Interval:
    """The bounds of a step: the same for all parts of an input set that are split alike in the steps before it."""
    units, fresh = run.form.slices[place], [i for i, part in enumerate(parts) if len(part.steps) == place]
    keys = [(id(parts[i].inputs), parts[i].signs[: units.start].tobytes()) for i in fresh]
    if fresh:
        different = dict(zip(keys, fresh, strict=True))
        if len(different) < len(parts):
            rows = np.array(list(different.values()))
            inputs, found = inputs.take(rows), found.take(rows)
        lower, upper = step_bounds(run.form, inputs, found, place, run.budget)
        mine = {key: (lower[row : row + 1], upper[row : row + 1]) for row, key in enumerate(different)}
        for i, key in zip(fresh, keys, strict=True):
            parts[i].steps = (*parts[i].steps, mine[key])
    sides = [p.steps[place] if p.narrow is None else p.narrow.cut(p.steps[place], units) for p in parts]
    return np.concatenate([low for low, _ in sides]), np.concatenate([high for _, high in sides])


def inherited(parts: list[Subproblem], bounds: Hidden, tilts: Tilts | Peaks | None) -> Dual:
    """Each subproblem's dual from the one it is a part of, or the plain one at a root; shares begin as chords."""
    base = plain(bounds)
    if tilts is not None:
        base = replace(base, share=_first_shares(parts, bounds, tilts))
    for i, part in enumerate(parts):
        if part.dual is not None:
            base.alpha[i], base.beta[i] = part.dual.alpha[0], part.dual.beta[0]
            if base.share is not None and part.dual.share is not None:
                base.share[i] = part.dual.share[0]
    return base


def _first_shares(parts: list[Subproblem], bounds: Hidden, tilts: Tilts | Peaks) -> Floats:
    """Shares as they begin; none where all have theirs from what they are half of, as these take long over maxima."""
    if isinstance(tilts, Tilts):
        return tilts.chords(bounds.up)
    if all(part.dual is not None and part.dual.share is not None for part in parts):
        return np.zeros((len(parts), *tilts.span.shape), dtype=np.float32)
    return tilts.start(bounds.up[:, tilts.members])

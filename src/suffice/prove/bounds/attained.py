"""Where a bound is attained: its minimiser carried forward, and what the lines give away on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Groups
from suffice.prove.bounds.dual import Dual, pools
from suffice.prove.bounds.form import Form
from suffice.prove.bounds.margin import Items, Pass, taking
from suffice.prove.peaks import Peaks


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Where each bound is attained, carried forward through the lines: before and after every relu (n, units).

    `added` is what each part of the input adds there to the units whose lines are tilted.
    """

    z: Floats
    values: Floats
    added: Floats | None = None


def forward(form: Form, batch: Items, found: Pass, dual: Dual) -> Relaxed:
    """The minimiser of each item run through the relaxed network, along the lines of its pass."""
    bounds, lower, (low, up, shift) = batch.bounds, found.over > 0, found.lines
    slope = np.where(lower, low, up)
    offset = np.where(lower, 0.0 if bounds.floor is None else bounds.floor, shift)
    points = batch.inputs.minimiser(found.inputs)
    values, added = points.reshape(len(slope), -1), None
    z, relaxed = np.empty_like(slope), np.empty_like(slope)
    for step, part in zip(form.steps, form.slices, strict=True):
        z[:, part] = step.apply(values)
        values = slope[:, part] * z[:, part] + offset[:, part]
        if part.start == 0 and found.tilted is not None and batch.tilts is not None and dual.share is not None:
            added, units = batch.tilts.at(points), batch.tilts.units
            above = np.einsum("nmk,nmk->nm", dual.share, added) + found.tilted.top
            if isinstance(batch.tilts, Peaks):
                above += batch.tilts.fixed(points)
            all_, taken = taking(batch.tilts, found.tilted.over < 0)
            values[:, all_] = np.where(taken, 0.0, values[:, all_])
            values[:, units] = np.where(found.tilted.over < 0, above, values[:, units])
        if step.groups is not None:
            step.groups.put(step.groups.total(values[:, step.groups.units]), values)
        relaxed[:, part] = values
    return Relaxed(z, relaxed, added)


def losses(form: Form, batch: Items, found: Pass, dual: Dual) -> Floats:
    """How much the relaxation of each relu (n, units) gives away; of a maximum, at the candidate to split on."""
    reached = forward(form, batch, found, dual)
    real = np.maximum(reached.z, 0.0)
    for step, part in zip(form.steps, form.slices, strict=True):
        if step.curves or step.maxima:
            real[:, part] = step.activate(reached.z[:, part])
    lost = np.abs(found.over * (reached.values - real))
    result = np.where(batch.bounds.crossing(form), lost, 0.0)
    for place, groups, at, top in _to_split(form, batch, found):
        leaders = form.slices[place].start + groups.leaders
        result[:, at] = np.where(top, lost[:, leaders][:, groups.group], 0.0)
    return result


def room(form: Form, batch: Items, found: Pass) -> Floats:
    """How much lines above open maxima could give away at most, at the candidates to split on (n, units)."""
    result = np.zeros_like(found.over)
    for place, groups, at, top in _to_split(form, batch, found):
        range_, leaders = batch.bounds.candidates(form, place), form.slices[place].start + groups.leaders
        widest = (range_.upper - range_.lower) * np.abs(found.over[:, leaders])[:, groups.group]
        result[:, at] = np.where(top, widest, 0.0)
    return result


def _to_split(form: Form, batch: Items, found: Pass) -> Iterator[tuple[int, Groups, Ints, Bools]]:
    """For the maxima of each step: where its candidates are, and which is the highest of an open line above.

    Splits bring the line above closer; below, shares are as good as it gets.
    """
    for place, groups, at in pools(form):
        range_ = batch.bounds.candidates(form, place)
        top = groups.winners(np.where(range_.live, range_.upper, -np.inf))
        leaders = form.slices[place].start + groups.leaders
        open_ = (found.over[:, leaders] < 0) & ~range_.settled
        yield place, groups, at, top & open_[:, groups.group]

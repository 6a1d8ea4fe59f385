"""Narrow: better bounds of single hidden units, each with slopes and tilted lines of its own, at a question's root.

Bounds of hidden units come from one pass with the relaxation's own lines, and in wide networks that is what makes the
bound of the margin loose. Here the units that matter, those whose line above the margin takes, are bounded as if each
were a margin. What is found holds everywhere below the root, and a proof states it before its tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from suffice.model.network import Floats, Ints, Step
from suffice.prove.bounds import (
    Form,
    Hidden,
    Items,
    MarginRows,
    hidden,
    lines_above,
    margin_bound,
    optimise,
    plain,
    settled,
    step_bounds,
)
from suffice.prove.inputs import Free, Interval, Restored
from suffice.prove.tilts import Tilts
from suffice.prove.tree import Bounded, Leaf
from suffice.prove.verdict import Budget

STEPS = 24  # of ascent for each bound


@dataclass(frozen=True, eq=False)
class Narrow:
    """Bounds of all hidden units (units,), infinite where nothing better is known, and the proofs of the others."""

    least: Floats
    most: Floats
    proofs: tuple[Bounded, ...] = ()

    @staticmethod
    def nothing(units: int) -> Narrow:
        return Narrow(np.full(units, -np.inf), np.full(units, np.inf))

    def cut(self, bounds: Interval, part: slice) -> Interval:
        """Bounds (n, units) of a step, narrowed."""
        lower, upper = bounds
        return np.maximum(lower, self.least[part]), np.minimum(upper, self.most[part])

    def joined(self, proof: Bounded) -> Narrow:
        """With one more bound."""
        side = self.least if proof.sign > 0 else self.most
        side = np.where(np.arange(len(side)) == proof.unit, proof.value, side)
        proofs = (*self.proofs, proof)
        return Narrow(side, self.most, proofs) if proof.sign > 0 else Narrow(self.least, side, proofs)


def worth_it(form: Form) -> bool:
    """Whether the network has relus only, in several hidden steps, so that bounds of the later ones can be narrowed."""
    return len(form.steps) > 1 and form.curved is None and form.pooled is None


def narrowed(form: Form, inputs: Free | Restored, rows: MarginRows, budget: Budget) -> Narrow:
    """Bounds, over one input set, of the open units whose lines above the margin's rows take."""
    found = Narrow.nothing(form.units)
    for place in range(1, len(form.steps)):
        bounds = bounds_with(found, form, inputs, budget)
        over = margin_bound(form, Items(inputs, bounds, rows), None).over[0]
        for unit in _taking_lines_above(form, bounds, over, place):
            found = _with_unit(form, inputs, bounds, place, int(unit), found, budget)
    return found


def bounds_with(narrow: Narrow, form: Form, inputs: Free | Restored, budget: Budget) -> Hidden:
    """Bounds of the hidden units with those that are known to be narrower."""

    def known(place: int, before: Hidden) -> Interval:
        return narrow.cut(step_bounds(form, inputs, before, place, budget), form.slices[place])

    return hidden(form, inputs, known=known, budget=budget)


def _taking_lines_above(form: Form, bounds: Hidden, over: Floats, place: int) -> Ints:
    """The open units of a step with coefficients below zero, those first that lose most by their lines."""
    part = form.slices[place]
    lost = np.where(bounds.loose[0, part], np.minimum(over[part], 0.0) * bounds.shift[0, part], 0.0)
    order = np.argsort(lost, kind="stable")
    return np.asarray(part.start + order[: np.count_nonzero(lost)])


def _with_unit(
    form: Form, inputs: Free | Restored, bounds: Hidden, place: int, unit: int, narrow: Narrow, budget: Budget
) -> Narrow:
    """With better bounds of one unit: first of the side that is closer to zero, as it may settle the unit."""
    low, high = bounds.lower[0, unit], bounds.upper[0, unit]
    for sign in (1, -1) if high > -low else (-1, 1):
        if budget.spent or narrow.least[unit] >= 0 or narrow.most[unit] <= 0:
            break
        proof = _bounded(form, inputs, bounds, place, unit, sign, budget)
        if sign * proof.value > sign * (low if sign > 0 else high):
            narrow = narrow.joined(proof)
    return narrow


def _bounded(
    form: Form, inputs: Free | Restored, bounds: Hidden, place: int, unit: int, sign: int, budget: Budget
) -> Bounded:
    """The best bound found of a unit from below (sign 1) or from above (-1), less what its reader may round."""
    own, before = unit - form.slices[place].start, _before(form, place)
    row, size = sign * _row(form.steps[place], own), form.size[place][[own]]
    tilts = _tilts(before, inputs, bounds, row[0])
    rows = MarginRows(row, sign * form.steps[place].bias[[own]], size)
    batch = Items(inputs, _first(bounds, before.units), rows, None, tilts)
    dual = plain(batch.bounds)
    if tilts is not None:
        dual = replace(dual, share=tilts.chords(bounds.up))
    found, dual = optimise(before, batch, dual, margin_bound(before, batch, dual), STEPS, budget)
    alpha = np.zeros(form.units)
    alpha[: before.units] = settled(before, batch.bounds, dual).alpha[0]
    leaf = Leaf(alpha, np.zeros(form.units), lines_above(tilts, dual, found, 0))
    return Bounded(unit, sign, float(sign * (found.bound[0] - form.gamma * size[0])), leaf)


def _before(form: Form, place: int) -> Form:
    """The form of the steps before one, whose units are the margins."""
    size, reach, toll = form.size[:place], form.reach[:place], form.toll[:place]
    return replace(form, steps=form.steps[:place], size=size, reach=reach, toll=toll)


def _row(step: Step, unit: int) -> Floats:
    row = step.weight[[unit]]
    return np.asarray(row.toarray() if hasattr(row, "toarray") else row)


def _first(bounds: Hidden, units: int) -> Hidden:
    """The bounds of the first units."""
    floats = (bounds.lower, bounds.upper, bounds.low, bounds.up, bounds.shift)
    lower, upper, low, up, shift = (side[:, :units] for side in floats)
    return Hidden(lower, upper, low, up, shift, bounds.loose[:, :units])


def _tilts(before: Form, inputs: Free | Restored, bounds: Hidden, row: Floats) -> Tilts | None:
    """What may be tilted: lines above open relus of the first step, where it is known those that take such lines."""
    units = np.flatnonzero(bounds.loose[0, before.slices[0]])
    if len(before.steps) == 1:
        units = units[row[units] < 0]
    return Tilts.of(before.steps[0], units, inputs, before.problem.region)

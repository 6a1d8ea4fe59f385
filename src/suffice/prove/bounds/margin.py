"""Bounds of the margin: one row per item carried back to the input, through lines that a proof may choose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.bounds.backward import times
from suffice.prove.bounds.dual import Dual, Slopes, chosen_lines
from suffice.prove.bounds.form import Form
from suffice.prove.bounds.lines import Hidden, Signs
from suffice.prove.inputs import Free, Inputs, Restored
from suffice.prove.peaks import Peaks
from suffice.prove.tilts import Range, Tilted, Tilts
from suffice.prove.tree import Above


@dataclass(frozen=True, eq=False)
class MarginRows:
    """One linear form per item over the last hidden step, to be bounded from below: coefficients, constant, size."""

    over: Floats
    constant: Floats
    size: Floats

    def take(self, index: Ints | slice) -> MarginRows:
        return MarginRows(self.over[index], self.constant[index], self.size[index])


def margin_rows(form: Form, rivals: Ints, sign: float = 1.0) -> MarginRows:
    """The margin against each item's rival (an index into `problem.rivals`), or its negative."""
    return MarginRows(sign * form.margin.dense()[rivals], sign * form.margin.bias[rivals], form.margin_size[rivals])


@dataclass(frozen=True, eq=False)
class Items:
    """Rows to be bounded, each over its input set and through the lines around its relus; `signs` are the splits.

    Lines above first relus, or first maxima, are tilted where there are `tilts` and the dual has shares.
    """

    inputs: Inputs
    bounds: Hidden
    rows: MarginRows
    signs: Signs | None = None
    tilts: Tilts | Peaks | None = None

    def take(self, index: Ints | slice) -> Items:
        signs = None if self.signs is None else self.signs[index]
        return Items(self.inputs.take(index), self.bounds.take(index), self.rows.take(index), signs, self.tilts)

    @cached_property
    def range(self) -> Range:
        """What parts of the input can add to the units whose lines are tilted."""
        assert self.tilts is not None
        assert isinstance(self.inputs, Free | Restored)
        if isinstance(self.tilts, Tilts):
            return self.tilts.range(self.inputs)
        at = self.tilts.members
        signs = None if self.signs is None else self.signs[:, at].astype(np.float64)
        live = self.tilts.may_win(self.bounds.lower[:, at], self.bounds.upper[:, at], signs)
        return self.tilts.range(self.inputs, live)

    @cached_property
    def tiltable(self) -> Bools:
        """Where a line (n, m) may be tilted: at open relus, and at maxima that several candidates may reach."""
        assert self.tilts is not None
        if isinstance(self.tilts, Tilts):
            return np.asarray(self.bounds.loose[:, self.tilts.units])
        assert self.bounds.live is not None
        live = self.bounds.live[:, self.tilts.members].astype(np.float64)
        return np.asarray(self.tilts.groups.total(live) > 1)


@dataclass(frozen=True, eq=False)
class Pass:
    """One backward pass: the bound of each item, the rows over every relu (n, units) and over the input, the lines."""

    bound: Floats
    over: Floats
    inputs: Floats
    lines: Slopes
    tilted: Tilted | None = None

    def take(self, index: Ints | slice) -> Pass:
        tilted, (low, up, shift) = None if self.tilted is None else self.tilted.take(index), self.lines
        lines_ = low[index], up[index], shift[index]
        return Pass(self.bound[index], self.over[index], self.inputs[index], lines_, tilted)


def margin_bound(form: Form, batch: Items, dual: Dual | None) -> Pass:
    """Sound lower bound (n,) of one row per item over its input set.

    Without a `dual` the lines are the relaxation's own. It may hold anything finite: slopes are used on unstable units
    only and clipped to [0, 1], multipliers on split units only and clipped to >= 0.
    """
    bounds, over, total = batch.bounds, batch.rows.over, batch.rows.constant - form.gamma * batch.rows.size
    lines = (bounds.low, bounds.up, bounds.shift) if dual is None else chosen_lines(form, bounds, dual)
    multiplier = None if dual is None else _multipliers(form, batch, dual)
    tilted: Tilted | None = None
    seen = np.empty_like(bounds.low)
    for k in range(len(form.steps) - 1, -1, -1):
        step, part = form.steps[k], form.slices[k]
        over = step.spread(over)
        seen[:, part] = over
        error = np.abs(over)
        if k == 0 and dual is not None and dual.share is not None:
            tilted = _tilted(batch, over, dual.share)
            over, error = _without(over, error, batch, tilted)
        over, total = _through_lines(over, total, part, lines, bounds.floor)
        if multiplier is not None:
            over = over - multiplier[:, part]
            error = error + np.abs(multiplier[:, part])
        total = total - error @ form.tax[k] + over @ step.bias
        over = times(over, step)
    if tilted is not None and dual is not None and dual.share is not None and batch.tilts is not None:
        over, total = _with_tilted(over, total, tilted, batch.tilts, dual.share)
    shaped = over.reshape(-1, *form.shape)
    anchor = batch.inputs.anchor.reshape(len(batch.inputs.anchor), -1)
    total = total + _dots(over, anchor) + batch.inputs.fall(shaped[:, None])[:, 0]
    return Pass(np.where(np.isfinite(total), total, -np.inf), seen, shaped, lines, tilted)


def _through_lines(
    over: Floats, total: Floats, part: slice, lines: Slopes, floor: Floats | None
) -> tuple[Floats, Floats]:
    """Coefficients of one step's units as those of what these are made of, and the constant with that of the lines."""
    low, up, shift = lines
    negative = np.minimum(over, 0.0)
    total = total + _dots(negative, shift[:, part])
    positive = over - negative
    if floor is not None:
        total = total + _dots(positive, floor[:, part])
    positive *= low[:, part]
    negative *= up[:, part]
    return np.add(positive, negative, out=positive), total


def _with_tilted(
    over: Floats, total: Floats, tilted: Tilted, tilts: Tilts | Peaks, share: Floats
) -> tuple[Floats, Floats]:
    """The row over the input, and the constant, with what the tilted lines have of both."""
    total = total + _dots(tilted.over, tilted.top)
    over = over + tilts.back(tilted.over[..., None] * share)
    if isinstance(tilts, Peaks):
        over = over + tilted.over @ tilts.base
    return over, total


def lines_above(tilts: Tilts | Peaks | None, dual: Dual, found: Pass, item: int) -> Above | None:
    """The tilted lines that an item of a pass took, as a proof writes them."""
    if tilts is None or dual.share is None or found.tilted is None:
        return None
    used = {int(tilts.units[i]): dual.share[item, i] for i in np.flatnonzero(found.tilted.over[item])}
    if isinstance(tilts, Peaks):
        return Above(tilts.per, used)
    shares = {unit: tilts.written(share) for unit, share in used.items()}
    return Above(tilts.per, shares, tilts.words if tilts.per == "number" else None)


def _tilted(batch: Items, over: Floats, share: Floats) -> Tilted:
    """The tilted lines, for those coefficients of the first step (n, units) that take a line above an open unit."""
    assert batch.tilts is not None
    units = batch.tilts.units
    replaced = np.where(batch.tiltable, np.minimum(over[:, units], 0.0), 0.0)
    return Tilted(replaced, *batch.range.top(share))


def _without(over: Floats, error: Floats, batch: Items, tilted: Tilted) -> tuple[Floats, Floats]:
    """What is left to the other lines; what rounding is measured by counts three times where lines are tilted."""
    assert batch.tilts is not None
    over, error = over.copy(), error.copy()
    units, each = taking(batch.tilts, tilted.over)
    over[:, units] -= each
    error[:, units] -= 2 * each
    return over, error


def taking(tilts: Tilts | Peaks, values: Floats | Bools) -> tuple[Ints, Floats]:
    """The units that tilted lines stand for, all candidates of a maximum, and for each the value (n, m) of its line."""
    if isinstance(tilts, Tilts):
        return tilts.units, np.asarray(values)
    return tilts.members, np.asarray(values[:, tilts.owner])


def _multipliers(form: Form, batch: Items, dual: Dual) -> Floats | None:
    """beta·sign of the units that are split at zero; who wins a maximum has none."""
    if batch.signs is None:
        return None
    multiplier: Floats = np.maximum(dual.beta, 0.0) * batch.signs
    return multiplier if form.pooled is None else np.where(form.pooled, 0.0, multiplier)


def _dots(left: Floats, right: Floats) -> Floats:
    """Row by row, the scalar product; `right` may have a single row for all."""
    return np.asarray(np.einsum("nu,nu->n", left, right))

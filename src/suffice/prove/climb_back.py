"""Climbing back: better lines around maxima of the first step while words of an attacked text may be put back.

What varies is how far each word is put back, between 0 and 1, and a price for each unit of cost stands for the budget.
As in `climb`, steps follow a smoothed bound. Lines above have one number for each word here, what putting it back adds
to them; proofs have one for each number of the input, of which that is all that counts.

Nothing is proved here: the bound of what was found is worked out by `bounds.margin_bound`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.model.step import Groups
from suffice.prove import maxima
from suffice.prove.bounds import Dual, Form, Items, Pass, margin_bound
from suffice.prove.climb import FINE, TINY, Land, Pace, Side, Steps, View, held, highest, risen, single, with_shares
from suffice.prove.inputs import Restored
from suffice.prove.peaks import Peaks
from suffice.prove.verdict import Budget

PART = np.float32(16.0)  # times as much as what words usually add to candidates: what smoothing is measured by
DEAR = np.float32(64.0)  # times as much, the price moves by
HALF = np.float32(0.5)  # as words are put back from 0 to 1, and numbers of the input move from -1 to 1


@dataclass(frozen=True, eq=False)
class Way:
    """One attacked text: its land, where what putting each word back adds to a candidate is its row."""

    peaks: Peaks
    land: Land
    start: Floats
    back: Floats
    cost: Floats

    @staticmethod
    def of(step: Step, peaks: Peaks, below: Ints, inputs: Restored, live: Bools) -> Way:
        """From the text of the first of these inputs, with the candidates (units,) that may win."""
        assert step.groups is not None
        start, back, groups = inputs.start[0], inputs.back[0], step.groups
        mine, theirs = live[peaks.members], np.isin(groups.group, below) & live[groups.units]
        high = _side(step, peaks.members[mine], peaks.owner[mine], start, back)
        low = _side(step, groups.units[theirs], groups.group[theirs], start, back)
        return Way(peaks, Land.of(high, low), start, back, single(inputs.cost))

    @cached_property
    def scale(self) -> np.float32:
        """What the numbers of rows are measured by."""
        return np.float32(np.abs(self.land.above.rows).mean() + TINY)

    # --- rows over words, and shares of numbers ---

    @cached_property
    def _sides(self) -> tuple[Floats, Floats]:
        """What putting each word back adds at least and at most (maxima, length) to a line of the proof."""
        peaks, shape = self.peaks, (len(self.peaks.units), *self.back.shape)
        ends = (peaks.base.reshape(shape) * self.back, (peaks.base + peaks.span).reshape(shape) * self.back)
        return np.minimum(*ends).sum(-1), np.maximum(*ends).sum(-1)

    def shares(self, rows: Floats) -> Floats:
        """Rows (n, maxima, length) as shares (n, maxima, inputs) that certificates hold."""
        low, high = self._sides
        up = np.clip((rows - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)[..., None]
        found = np.where(self.back > 0, up, 1.0 - up).reshape(*rows.shape[:2], -1)
        return single(np.rint(found * FINE) / FINE)

    def rows(self, share: Floats) -> Floats:
        lean = self.peaks.lean(share).reshape(*share.shape[:2], *self.back.shape)
        return single(np.einsum("nmld,ld->nml", lean, self.back))


def _side(step: Step, units: Ints, owner: Ints, start: Floats, back: Floats) -> Side:
    weight = step.weight[units]
    dense = weight if isinstance(weight, np.ndarray) else np.asarray(weight.toarray())
    parts = np.split(np.arange(len(units)), np.flatnonzero(np.diff(owner)) + 1) if len(units) else []
    adds = np.einsum("pld,ld->pl", dense.reshape(len(units), *start.shape), back)
    return Side(units, Groups(parts, len(units)), single(adds), single(dense @ start.ravel() + step.bias[units]))


@dataclass(frozen=True, eq=False)
class Parts:
    """Subproblems: how far words are put back, `radius` around `middle` (n, length), for a cost `left` (n,) in all.

    The rest is as in `climb.Start`.
    """

    middle: Floats
    radius: Floats
    left: Floats
    live: Bools
    push: Floats
    pull: Floats
    constant: Floats


class ClimbBack:
    """One climb: where the subproblems are, and how they got there."""

    def __init__(self, way: Way, parts: Parts, rows: Floats, logs: Floats) -> None:
        self.way, self.land, self.parts, self.rows, self.logs = way, way.land, parts, rows, logs
        self.radius = parts.radius[:, self.land.seen]
        self.own = self.land.above.own + parts.middle @ self.land.above.rows.T  # candidates with words halfway back
        self.price: Floats = np.zeros((len(rows), 1), dtype=np.float32)
        self.price = self._first_price(-self.view().row)
        several = self.land.above.groups.total(parts.live.astype(np.float32)) > 1
        self.push = np.where(several, parts.push, np.float32(0.0))  # of lines that can be chosen
        self.forward, self.upward, self.dearer = Steps(), Steps(), Steps()

    def run(self, pace: Pace, budget: Budget) -> tuple[Floats, Floats, Floats]:
        """The rows and shares of the best bounds, and what lines lose by each word (n, length) in the end."""
        view, rows, shares = highest(self, pace, budget)
        return rows, shares, self._loss(view, np.float32(pace.smooth[1]))

    def view(self) -> View:
        parts, (above, below) = self.parts, (self.land.above, self.land.below)
        shares = below.softly(self.logs)
        weighted = shares * below.each(parts.pull)
        row = weighted @ below.rows - np.einsum("nm,nml->nl", parts.push, self.rows) + self.price * self.way.cost
        away, more = self.land.away(self.rows)
        idle = np.matmul(np.abs(self.rows), parts.radius[..., None]) - np.matmul(self.rows, parts.middle[..., None])
        reach = self.own + above.each(idle[..., 0]) + np.einsum("nps,nps->np", more, self.radius)
        top = above.groups.highest(np.where(parts.live, reach, -np.float32(np.inf)))
        bound = parts.constant + weighted @ below.own - (parts.push * top).sum(-1) - self.price[:, 0] * parts.left
        return View(bound + (row * parts.middle - np.abs(row) * parts.radius).sum(-1), row, shares, away, reach, top)

    def _first_price(self, gains: Floats) -> Floats:
        """The gain (n, 1) of the first word that cannot be paid for, those with the largest gains being put back."""
        parts, cost = self.parts, self.way.cost
        gains = np.where(parts.radius > 0, gains / cost, np.float32(0.0))
        order = np.argsort(-gains, axis=-1, kind="stable")
        paid = np.cumsum(cost[order], axis=-1) <= (parts.left - (parts.middle - parts.radius) @ cost)[:, None]
        beyond = np.where(paid, np.float32(0.0), np.take_along_axis(gains, order, -1))
        return np.asarray(np.maximum(beyond.max(-1, keepdims=True), np.float32(0.0)))

    def _guess(self, view: View, smooth: np.float32) -> tuple[Floats, Floats]:
        """How far words are put back where the bound is attained (n, length), and how far each candidate wins there."""
        parts = self.parts
        at = parts.middle - parts.radius * held(view.row / (smooth * PART * self.way.scale), 1)
        return at, self.land.wins(view, parts.live, HALF * smooth)

    def step(self, view: View, smooth: np.float32, rate: np.float32) -> None:
        way, parts, below = self.way, self.parts, self.land.below
        at, wins = self._guess(view, smooth)
        moved = self.land.touched(self.rows, view.away, wins, smooth)
        moved *= parts.radius[:, None]
        moved += (parts.middle - at)[:, None]
        moved *= self.push[..., None]
        self.rows = self.land.moved(self.rows, self.forward.step(moved, rate))
        self.logs = risen(self.logs, below, view.shares, parts.pull, at, self.upward, rate)
        spent = (at @ way.cost - parts.left)[:, None]
        self.price = np.maximum(self.price + DEAR * way.scale * self.dearer.step(spent, rate), np.float32(0.0))

    def _loss(self, view: View, smooth: np.float32) -> Floats:
        at, wins = self._guess(view, smooth)
        weights = wins * self.land.above.each(self.push)
        apart = np.minimum(at - self.parts.middle + self.parts.radius, self.parts.middle + self.parts.radius - at)
        away = self.land.above.rows - self.rows[:, self.land.above.groups.group]
        return np.asarray(np.einsum("np,npl->nl", weights, np.abs(away)) * apart)


@dataclass(frozen=True, eq=False)
class ClimbedBack:
    """Better bounds and the duals they are those of, and what lines lose by each word (n, length)."""

    found: Pass
    dual: Dual
    loss: Floats


def climbed_back(
    form: Form, batch: Items, dual: Dual, found: Pass, way: Way, pace: Pace, least: float, budget: Budget
) -> ClimbedBack:
    """For subproblems about one attacked text; no share below begins lower than `least`."""
    with np.errstate(over="ignore", invalid="ignore"):
        parts, rows, logs = _started(form, batch, dual, found, way, least)
        rows, shares, loss = ClimbBack(way, parts, rows, logs).run(pace, budget)
    new = replace(dual, alpha=with_shares(form, way.land.below, dual.alpha, shares), share=way.shares(rows))
    after = margin_bound(form, batch, new)
    wins = after.bound > found.bound
    if not wins.all():
        new = dual.pick(wins, new)
        after = margin_bound(form, batch, new)
    return ClimbedBack(after, new, loss)


def _started(form: Form, batch: Items, dual: Dual, found: Pass, way: Way, least: float) -> tuple[Parts, Floats, Floats]:
    groups, below, inputs = form.steps[0].groups, way.land.below, batch.inputs
    assert groups is not None
    assert dual.share is not None
    assert batch.bounds.live is not None
    assert isinstance(inputs, Restored)
    shares = np.zeros((len(found.over), len(groups.owner)))
    shares[:, groups.units] = maxima.shares(groups, dual.alpha[:, groups.units])
    moved = (way.back != 0).any(-1)
    gone = moved & (inputs.start == inputs.center).all(-1)  # put back already
    radius = np.where(inputs.buyable & moved, 0.5, 0.0)
    parts = Parts(
        middle=single(gone + radius),
        radius=single(radius),
        left=single(inputs.budget + gone @ inputs.cost),
        live=batch.bounds.live[:, way.land.above.units],
        push=single(np.maximum(-found.over[:, way.peaks.units], 0.0)),
        pull=single(np.maximum(found.over[:, below.units[below.groups.starts]], 0.0)),
        constant=single(batch.rows.constant),
    )
    logs = np.log(np.maximum(single(shares[:, below.units]), np.float32(least)))
    return parts, np.clip(way.rows(dual.share), *way.land.ends), logs

"""Peaks: lines above maxima of the first step, whose rows are chosen number by number.

The largest of w_p·x + b_p is at most a·x + c for any row a, if c is the largest value that (w_p - a)·x + b_p has over
the input set for any candidate p, and every set knows that. Such a line can be right at many corners where a level and
chords, as in `maxima`, are far off: the best row gives all that can be said of one maximum alone. Each number of a lies
between the least and the largest weight that a candidate has there; how far up is a share, chosen by the proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.model.step import Groups
from suffice.prove import maxima
from suffice.prove.inputs import Free, Freed, Restored
from suffice.prove.tilts import MOST, rounded
from suffice.sets.regions import Ball, Box, Region

CELLS = 4_000_000  # weights of candidates that are kept dense


@dataclass(frozen=True, eq=False)
class Peaks:
    """Maxima of the first step that may take such lines: `units` (m,) give them, `members` (p,) are their candidates.

    `owner` (p,) is the place of each candidate's maximum, `rows` (p, inputs) are the candidates' weights.
    """

    units: Ints
    members: Ints
    owner: Ints
    rows: Floats
    bias: Floats
    near: Floats
    base: Floats  # the least weight (m, inputs) that a candidate has
    span: Floats  # from there to the largest
    columns: Ints  # the numbers (p, s) that each candidate sees; others fill up the rest
    region: Region

    per = "number"

    @staticmethod
    def of(
        step: Step, some: Ints, near: Floats, inputs: Free | Freed | Restored, region: Region, whole: Step
    ) -> Peaks | None:
        """For some of the maxima; None where neither numbers nor words move on their own, or they are too many.

        Shares are measured by all candidates, those of the `whole` step, which a reader looks at.
        """
        boxes = isinstance(region, Box) or (isinstance(region, Ball) and region.p == np.inf)
        alone = isinstance(inputs, Restored) or (isinstance(inputs, Free) and boxes)
        if step.groups is None or not len(some) or not alone:
            return None
        chosen = np.isin(step.groups.group, some)
        members, owner = step.groups.units[chosen], np.searchsorted(some, step.groups.group[chosen])
        if len(some) * region.center.size > MOST or len(members) * region.center.size > CELLS:
            return None
        rows, (base, top) = _dense(step.weight[members]), _ends(whole, some)
        units, bias = step.groups.leaders[some], step.bias[members]
        return Peaks(units, members, owner, rows, bias, near[members], base, top - base, seen(rows), region)

    def among(self, kept: Ints) -> Peaks:
        """The same without the other candidates, of which at least one of each maximum is kept."""
        return replace(
            self,
            members=self.members[kept],
            owner=self.owner[kept],
            rows=self.rows[kept],
            bias=self.bias[kept],
            near=self.near[kept],
            columns=self.columns[kept],
        )

    @property
    def size(self) -> int:
        """How many shares there are."""
        return int(self.span.size)

    @cached_property
    def groups(self) -> Groups:
        return Groups(
            np.split(np.arange(len(self.members)), np.flatnonzero(np.diff(self.owner)) + 1), len(self.members)
        )

    def at(self, points: Floats) -> Floats:
        """What a whole share of each number adds to the line (n, m, inputs)."""
        return np.asarray(self.span * points.reshape(len(points), 1, -1))

    def fixed(self, points: Floats) -> Floats:
        """What the line has (n, m) where no number has a share."""
        return np.asarray(points.reshape(len(points), -1) @ self.base.T)

    def back(self, weights: Floats) -> Floats:
        """Weights (n, m, inputs) of what shares add, as rows (n, inputs) over the input."""
        return np.asarray(np.einsum("nmk,mk->nk", weights, self.span))

    def start(self, slopes: Floats) -> Floats:
        """The shares (n, m, inputs) of a line that rises with its candidates at these slopes (n, p), or nearly."""
        rows = np.stack([np.add.reduceat(one[:, None] * self.rows, self.groups.starts) for one in slopes])
        return rounded(np.clip((rows - self.base) / np.where(self.span > 0, self.span, 1.0), 0.0, 1.0))

    def may_win(self, lower: Floats, upper: Floats, signs: Floats | None) -> Bools:
        """Candidates (n, p) between these bounds that a reader may count, however it rounds."""
        return maxima.narrowed(self.groups, lower - self.near, upper + self.near, signs, self.near)[0].live

    def range(self, inputs: Free | Restored, live: Bools) -> Roaming | Going:
        kept = np.flatnonzero(live.any(0))
        peaks, live = self.among(kept), live[:, kept]
        if isinstance(inputs, Restored):
            return Going(peaks, inputs, live)
        assert isinstance(self.region, Box | Ball)
        middle, radius = (side * inputs.free[..., None] for side in self.region.spread)
        shape = len(inputs.free), -1
        return Roaming(peaks, (self.region.center + middle).reshape(shape), radius.reshape(shape), live)

    def lean(self, share: Floats) -> Floats:
        """The rows (n, m, inputs) of the lines."""
        return np.asarray(self.base + share * self.span)

    def best(self, values: Floats, live: Bools) -> tuple[Floats, Ints]:
        """The largest of the candidates that may win (n, m), and who that is."""
        values = np.where(live, values, -np.inf)
        who = self.groups.best(values)
        return np.take_along_axis(values, who, axis=1), who


@dataclass(frozen=True, eq=False)
class Roaming:
    """Numbers of the input that move independently, within `radius` (n, inputs) of `middle`."""

    peaks: Peaks
    middle: Floats
    radius: Floats
    live: Bools

    def top(self, share: Floats) -> tuple[Floats, Floats]:
        """The constants c (n, m), and what a whole share of each number adds where they are attained."""
        peaks, lean = self.peaks, self.peaks.lean(share)
        rest = np.einsum("nmk,nk->nm", np.abs(lean), self.radius) - np.einsum("nmk,nk->nm", lean, self.middle)
        here = np.take(lean.reshape(len(lean), -1), self._places, axis=1)
        more = np.einsum("nps,nps->np", np.abs(self._weights - here) - np.abs(here), self._reach)
        most, who = peaks.best(self._own + more, self.live)
        side = np.sign(peaks.rows[who] - lean)
        touched = self.middle[:, None] + side * self.radius[:, None]
        return most + rest, peaks.span * touched

    @property
    def width(self) -> Floats:
        return np.asarray(self.peaks.span * 2 * self.radius[:, None])

    @cached_property
    def _places(self) -> Ints:
        """Where the numbers that candidates see (p, s) are in the rows of all maxima."""
        return np.asarray(self.peaks.owner[:, None] * self.peaks.rows.shape[1] + self.peaks.columns)

    @cached_property
    def _weights(self) -> Floats:
        return np.take_along_axis(self.peaks.rows, self.peaks.columns, 1)

    @cached_property
    def _reach(self) -> Floats:
        return np.take(self.radius, self.peaks.columns, axis=1)

    @cached_property
    def _own(self) -> Floats:
        """The candidates (n, p) in the middle."""
        return np.asarray(self.middle @ self.peaks.rows.T + self.peaks.bias)


@dataclass(frozen=True, eq=False)
class Going:
    """Words of an attacked text, as many as a budget pays for, go back."""

    peaks: Peaks
    inputs: Restored
    live: Bools

    def top(self, share: Floats) -> tuple[Floats, Floats]:
        """The constants c (n, m), and what a whole share of each number adds where they are attained."""
        peaks, inputs, count = self.peaks, self.inputs, len(share)
        away = peaks.lean(share)[:, peaks.owner] - peaks.rows
        gains = np.einsum("npld,nld->npl", away.reshape(*away.shape[:2], *inputs.back.shape[1:]), inputs.back)
        own = peaks.bias - np.einsum("npk,nk->np", away, inputs.start.reshape(count, -1))
        most, who = peaks.best(own - inputs.least(gains), self.live)
        mine = np.take_along_axis(gains, who[..., None], 1)
        each = inputs.take(np.repeat(np.arange(count), mine.shape[1]))
        taken = each.bought(mine.reshape(-1, mine.shape[-1])).reshape(*mine.shape, 1)
        touched = inputs.start[:, None] + taken * inputs.back[:, None]
        return most, peaks.span * touched.reshape(count, -1, peaks.span.shape[1])

    @property
    def width(self) -> Floats:
        return np.asarray(self.peaks.span * np.abs(self.inputs.back).reshape(len(self.live), 1, -1))


def _dense(weight: Any) -> Floats:
    return weight if isinstance(weight, np.ndarray) else np.asarray(weight.toarray())


def _ends(step: Step, some: Ints) -> tuple[Floats, Floats]:
    """The least and the largest weights (m, inputs) of the candidates of some maxima."""
    weights = [_dense(step.weight[step.maxima[place]]) for place in some]
    return np.stack([rows.min(0) for rows in weights]), np.stack([rows.max(0) for rows in weights])


def seen(rows: Floats) -> Ints:
    """The numbers (p, s) that each row has a weight for, first ones first, and others where there are fewer."""
    there = rows != 0
    return np.argsort(~there, axis=1, kind="stable")[:, : max(1, int(there.sum(1).max()))]

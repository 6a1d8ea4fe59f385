"""Climbing: better lines around maxima of the first step, for many subproblems of one question at once.

Numbers of the input move within boxes. In coordinates in which all of them move between -1 and 1, a bound is a
constant, minus the size |r| of what is left of its row, minus the constants of the lines above maxima, each the largest
of b_p + |w_p - a| over its candidates p. Steps along its own slopes zigzag: at the best lines most of r is zero, and
many candidates are equally large. So steps follow a smoothed bound, in which what is close to zero counts in part and
candidates count the more the larger they are, and which comes closer to the real one on the way. What that leaves is
also a good guess of where the margin is least and of who wins there: it says what to split on.

Numbers are of single precision here, and nothing is proved: the bound of what was found is worked out by
`bounds.margin_bound`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import scipy  # its subpackages load on first use

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.model.step import Groups
from suffice.prove import maxima
from suffice.prove.attack import sides
from suffice.prove.bounds import Dual, Form, Items, Pass, margin_bound
from suffice.prove.peaks import Peaks, seen
from suffice.prove.verdict import Budget
from suffice.sets.regions import Ball, Box

QUICK = np.float32(5.0)  # times as fast as rows, the logarithms of shares move
FLAT = np.float32(1.7)  # times as much as what numbers are smoothed by, candidates are
PART = np.float32(6.0)  # of the usual size of a row's numbers: what smoothing is measured by
DECAY, SPREAD = np.float32(0.9), np.float32(0.99)  # of the mean slope and of its mean square
FRESH = 0.01  # shares below that begin higher than this belong to rows that are not good yet
LOWEST = np.float32(-12.0)  # logarithm of a share
SURE = np.float32(0.01)  # of the first bound: how far above zero is far enough, as rows are rounded later
TINY = np.float32(1e-12)
CLOSE = np.float32(0.5)  # of how far candidates move: those further below the largest are left out where rows are good
FINE = 2048  # shares of rows are whole multiples of this part of one


@dataclass(frozen=True)
class Pace:
    """How many steps, what they are smoothed by and how far they go, at first and in the end."""

    steps: int
    smooth: tuple[float, float]
    rate: tuple[float, float]

    def at(self, turn: int) -> tuple[np.float32, np.float32]:
        way = turn / max(1, self.steps)
        smooth, rate = (first * (last / first) ** way for first, last in (self.smooth, self.rate))
        return np.float32(smooth), np.float32(rate)


def held(values: Floats, size: float | np.float32) -> Floats:
    """The values, which are written over, between -size and size."""
    np.maximum(values, -size, out=values)
    return np.minimum(values, size, out=values)


def single(values: Floats) -> Floats:
    """Values in single precision."""
    return cast(Floats, np.asarray(values, dtype=np.float32))


# --- where one climbs ---


@dataclass(frozen=True, eq=False)
class Side:
    """Candidates of some maxima, group by group: their weights, and their values where every number is at 0."""

    units: Ints
    groups: Groups
    rows: Floats
    own: Floats

    @staticmethod
    def of(step: Step, units: Ints, owner: Ints, middle: Floats, radius: Floats) -> Side:
        """For numbers (inputs,) that move by `radius` around `middle`; those that do not move are left out."""
        weight = step.weight[units]
        rows = weight if isinstance(weight, np.ndarray) else np.asarray(weight.toarray())
        parts = np.split(np.arange(len(units)), np.flatnonzero(np.diff(owner)) + 1) if len(units) else []
        own, scaled = rows @ middle + step.bias[units], (rows * radius)[:, radius > 0]
        return Side(units, Groups(parts, len(units)), single(scaled), single(own))

    def among(self, kept: Ints) -> Side:
        """The same without the other candidates, of which at least one of each maximum is kept."""
        parts = np.split(np.arange(len(kept)), np.flatnonzero(np.diff(self.groups.group[kept])) + 1)
        return Side(self.units[kept], Groups(parts, len(kept)), self.rows[kept], self.own[kept])

    def each(self, values: Floats) -> Floats:
        """What is known of maxima (n, maxima), for each candidate."""
        return values.take(self.groups.group, axis=1)

    def softly(self, values: Floats) -> Floats:
        """Shares (n, candidates) that add up to one in each maximum, by their logarithms, up to a constant."""
        return self.evenly(np.exp(values - self.each(self.groups.highest(values))))

    def evenly(self, values: Floats) -> Floats:
        """Shares (n, candidates) that add up to one in each maximum, by what they are in proportion."""
        return np.asarray(values / self.each(self.groups.total(values)))

    @cached_property
    def size(self) -> Floats:
        """The largest weight (maxima, numbers) of a candidate, up or down."""
        return np.asarray(np.maximum.reduceat(np.abs(self.rows), self.groups.starts))


@dataclass(frozen=True, eq=False)
class Land:
    """Maxima that may take lines above, and some that may take shares of candidates.

    `ends` are the least and the largest weight (maxima, numbers) that a candidate above has, and `width` (maxima,) is
    how far the candidate that moves furthest moves.
    """

    above: Side
    below: Side
    ends: tuple[Floats, Floats]
    width: Floats

    @staticmethod
    def of(above: Side, below: Side) -> Land:
        starts = above.groups.starts
        ends = np.minimum.reduceat(above.rows, starts), np.maximum.reduceat(above.rows, starts)
        return Land(above, below, ends, np.asarray(above.groups.highest(np.abs(above.rows).sum(-1)) + TINY))

    def among(self, kept: Ints) -> Land:
        """The same with some of the candidates above."""
        return replace(self, above=self.above.among(kept))

    @cached_property
    def span(self) -> Floats:
        return np.asarray(self.ends[1] - self.ends[0])

    @cached_property
    def narrow(self) -> Floats:
        """One by the largest span (maxima, 1) of a number."""
        return np.asarray(1 / (self.span.max(-1, initial=0.0, keepdims=True) + TINY))

    @cached_property
    def narrow_each(self) -> Floats:
        """The same for each candidate (candidates, 1)."""
        return np.asarray(self.narrow[self.above.groups.group])

    @cached_property
    def flat_each(self) -> Floats:
        """One by how far the candidate that moves furthest moves, for each candidate (candidates,)."""
        return np.asarray(1 / (FLAT * self.width[self.above.groups.group]))

    @cached_property
    def seen(self) -> Ints:
        """The numbers (candidates, s) that each candidate sees."""
        return seen(self.above.rows)

    @cached_property
    def weights(self) -> Floats:
        return np.take_along_axis(self.above.rows, self.seen, 1)

    @cached_property
    def places(self) -> Ints:
        """Where the numbers that candidates see are in the rows of all maxima."""
        return np.asarray(self.above.groups.group[:, None] * self.above.rows.shape[1] + self.seen)

    @cached_property
    def gathered(self) -> Any:
        """Adds up what candidates see, number by number, in the rows of all maxima: a sparse matrix of ones."""
        places = self.places.ravel()
        shape = len(self.above.groups.starts) * self.above.rows.shape[1], len(places)
        ones = np.ones(len(places), dtype=np.float32)
        return scipy.sparse.csr_array((ones, (places, np.arange(len(places)))), shape)

    def away(self, rows: Floats) -> tuple[Floats, Floats]:
        """How far the weights of candidates are from their lines' rows (n, maxima, numbers), where they see numbers.

        And how much larger that is than it would be if they did not see them: both (n, candidates, s).
        """
        here = np.take(rows.reshape(len(rows), -1), self.places, axis=1)
        away = self.weights - here
        more = np.abs(away)
        more -= np.abs(here, out=here)
        return away, more

    def moved(self, rows: Floats, by: Floats) -> Floats:
        """The rows, by shares of how far their numbers may go, which are written over."""
        by *= self.span
        by += rows
        np.maximum(by, self.ends[0], out=by)
        return np.minimum(by, self.ends[1], out=by)

    def touched(self, rows: Floats, away: Floats, wins: Floats, smooth: np.float32) -> Floats:
        """Where constants of lines are attained (n, maxima, numbers): a mean over the candidates that ask for them.

        Of how far each number moves, from -1 to 1.
        """
        count = len(rows)
        found = held(rows * (-self.narrow / smooth), 1)
        seen = held(away * (self.narrow_each / smooth), 1)
        seen -= np.take(found.reshape(count, -1), self.places, axis=1)
        seen *= wins[..., None]
        return np.asarray(found + (self.gathered @ seen.reshape(count, -1).T).T.reshape(found.shape))

    def wins(self, view: View, live: Bools, smooth: np.float32) -> Floats:
        """How far each candidate that may win (n, candidates) does so, where candidates ask for constants of lines."""
        behind = view.reach - self.above.each(view.top)
        behind *= self.flat_each / smooth
        np.copyto(behind, -np.float32(np.inf), where=~live)
        return self.above.evenly(np.exp(behind, out=behind))


@dataclass(frozen=True, eq=False)
class Ground:
    """One set of free words: the land in coordinates in which `middle` and `radius` (inputs,) say how numbers move."""

    peaks: Peaks
    land: Land
    middle: Floats
    radius: Floats

    @staticmethod
    def of(step: Step, peaks: Peaks, below: Ints, free: Bools, live: Bools) -> Ground:
        """While words (length,) are free, with the candidates (units,) that may win; `below` are places of maxima."""
        assert step.groups is not None
        assert isinstance(peaks.region, Box | Ball)
        move, radius = (np.where(free[:, None], side, 0.0).ravel() for side in peaks.region.spread)
        middle = peaks.region.center.ravel() + move
        mine, theirs = live[peaks.members], np.isin(step.groups.group, below) & live[step.groups.units]
        high = Side.of(step, peaks.members[mine], peaks.owner[mine], middle, radius)
        low = Side.of(step, step.groups.units[theirs], step.groups.group[theirs], middle, radius)
        return Ground(peaks, Land.of(high, low), middle, radius)

    def among(self, kept: Ints) -> Ground:
        """The same with some of the candidates above."""
        return replace(self, land=self.land.among(kept))

    @cached_property
    def moving(self) -> Ints:
        return np.flatnonzero(self.radius > 0)

    def points(self, at: Floats) -> Floats:
        """Points of the input, from numbers (n, moving) between -1 and 1."""
        found = np.repeat(self.middle[None], len(at), axis=0)
        found[:, self.moving] += at * self.radius[self.moving]
        return np.clip(found.reshape(len(at), *self.peaks.region.center.shape), *sides(self.peaks.region))

    # --- rows of lines above, in these coordinates, and as shares ---

    def rows(self, share: Floats) -> Floats:
        return single((self.peaks.lean(share) * self.radius)[..., self.moving])

    def shares(self, rows: Floats) -> Floats:
        """As certificates hold them; numbers that do not move have none."""
        found = np.zeros((*rows.shape[:2], len(self.radius)))
        base, span = self.peaks.base[:, self.moving], self.peaks.span[:, self.moving]
        up = (rows / self.radius[self.moving] - base) / np.where(span > 0, span, 1.0)
        found[..., self.moving] = np.clip(up, 0.0, 1.0)
        return single(np.rint(found * FINE) / FINE)


# --- climbing ---


@dataclass(frozen=True, eq=False)
class Start:
    """Subproblems: rows of lines above (n, maxima, numbers), logarithms of shares below, and who may win above.

    `push` and `pull` (n, maxima) are what maxima above and below are weighted with, both at least 0; `rest` (n,
    numbers) and `constant` (n,) are what else there is in row and bound.
    """

    rows: Floats
    logs: Floats
    live: Bools
    push: Floats
    pull: Floats
    rest: Floats
    constant: Floats


@dataclass(frozen=True, eq=False)
class Summit:
    """What a climb found: rows, shares below, and guesses at where the margin is least (n, numbers) and who wins there.

    `loss` (n, maxima) is what the lines above give away there.
    """

    rows: Floats
    shares: Floats
    at: Floats
    wins: Floats
    loss: Floats


@dataclass(frozen=True, eq=False)
class View:
    """Bounds (n,) and their rows (n, numbers); the shares below, and what the lines above are made of.

    `away` (n, candidates, s) is how far the weights of candidates are from their line's, `reach` (n, candidates) what
    each of them asks of its line's constant, and `top` (n, maxima) the largest of that.
    """

    bound: Floats
    row: Floats
    shares: Floats
    away: Floats
    reach: Floats
    top: Floats

    @staticmethod
    def of(land: Land, start: Start, rows: Floats, shares: Floats) -> View:
        above, below = land.above, land.below
        weighted = shares * below.each(start.pull)
        row = start.rest + weighted @ below.rows - np.einsum("nm,nmk->nk", start.push, rows)
        away, more = land.away(rows)
        reach = above.own + above.each(np.abs(rows).sum(-1)) + more @ np.ones(more.shape[-1], dtype=np.float32)
        top = above.groups.highest(np.where(start.live, reach, -np.float32(np.inf)))
        bound = start.constant + weighted @ below.own - np.abs(row).sum(-1) - (start.push * top).sum(-1)
        return View(bound, row, shares, away, reach, top)


class Seen(Protocol):
    """What bounds are where a climb is, and the shares that they come from."""

    @property
    def bound(self) -> Floats: ...
    @property
    def shares(self) -> Floats: ...


Sight = TypeVar("Sight", bound=Seen)


class Climbing(Protocol[Sight]):
    """A climb: the rows it has come to, the view from there, and a step along smoothed bounds."""

    rows: Floats

    def view(self) -> Sight: ...
    def step(self, view: Sight, smooth: np.float32, rate: np.float32) -> None: ...


def highest(climb: Climbing[Sight], pace: Pace, budget: Budget) -> tuple[Sight, Floats, Floats]:
    """The last view of a climb, and the rows and shares that gave the best bound of each subproblem on the way."""
    view = climb.view()
    best, rows, shares = view.bound, climb.rows.copy(), view.shares.copy()
    goal = SURE * np.abs(best)
    for turn in range(pace.steps):
        if (best > goal).all() or budget.spent:
            break
        climb.step(view, *pace.at(turn))
        view = climb.view()
        better = view.bound > best
        best = np.where(better, view.bound, best)
        rows[better], shares[better] = climb.rows[better], view.shares[better]
    return view, rows, shares


class Climb:
    """One climb: where the subproblems are, and how they got there."""

    def __init__(self, land: Land, start: Start) -> None:
        self.land, self.start = land, start
        self.rows, self.logs = with_settled(land, start), start.logs
        several = land.above.groups.total(start.live.astype(np.float32)) > 1
        self.push = np.where(several, start.push, np.float32(0.0))  # of lines that can be chosen
        self.scale = _scale(land, start)
        self.forward, self.upward = Steps(), Steps()

    def run(self, pace: Pace, budget: Budget) -> Summit:
        """Steps along the smoothed bounds; what gave the best bound of each subproblem on the way."""
        view, rows, shares = highest(self, pace, budget)
        at, wins = self._guess(view, np.float32(pace.smooth[1]))
        return Summit(rows, shares, at, wins, self._loss(view, at))

    def view(self) -> View:
        return View.of(self.land, self.start, self.rows, self.land.below.softly(self.logs))

    def _guess(self, view: View, smooth: np.float32) -> tuple[Floats, Floats]:
        """Where the margin is least (n, numbers), and how far each candidate wins there (n, candidates)."""
        return held(-view.row / (smooth * self.scale), 1), self.land.wins(view, self.start.live, smooth)

    def step(self, view: View, smooth: np.float32, rate: np.float32) -> None:
        land = self.land
        at, wins = self._guess(view, smooth)
        touched = land.touched(self.rows, view.away, wins, smooth)
        touched -= at[:, None]
        touched *= self.push[..., None]
        self.rows = land.moved(self.rows, self.forward.step(touched, rate))
        self.logs = risen(self.logs, land.below, view.shares, self.start.pull, at, self.upward, rate)

    def _loss(self, view: View, at: Floats) -> Floats:
        """What the lines above give away (n, maxima) where the margin is least."""
        above = self.land.above
        values = np.where(self.start.live, at @ above.rows.T + above.own, -np.float32(np.inf))
        line = np.einsum("nmk,nk->nm", self.rows, at) + view.top
        lost = np.maximum(line - above.groups.highest(values), TINY)
        return np.asarray(self.push * lost)


class Steps:
    """Adam for one array."""

    def __init__(self) -> None:
        self.turn = 0
        self.first: Floats | np.float32 = np.float32(0.0)
        self.second: Floats | np.float32 = np.float32(0.0)

    def step(self, slope: Floats, rate: np.float32) -> Floats:
        self.turn += 1
        self.first *= DECAY
        self.first = self.first + (1 - DECAY) * slope
        self.second *= SPREAD
        self.second = self.second + (1 - SPREAD) * slope * slope
        wide = np.sqrt(self.second)
        wide *= 1 / np.sqrt(1 - SPREAD**self.turn)
        wide += TINY
        found = np.divide(self.first, wide, out=wide)
        found *= rate / (1 - DECAY**self.turn)
        return found


def risen(
    logs: Floats, below: Side, shares: Floats, pull: Floats, at: Floats, steps: Steps, rate: np.float32
) -> Floats:
    """The logarithms of shares after a step towards the candidates that are larger where numbers are `at`."""
    gain = below.each(pull) * (below.own + at @ below.rows.T)
    rise = shares * (gain - below.each(below.groups.total(shares * gain)))
    found = steps.step(rise, QUICK * rate)
    found += logs
    held(found, -LOWEST)
    found -= below.each(below.groups.highest(found))
    return found


def with_settled(land: Land, start: Start) -> Floats:
    """The rows, which are those of the candidate where one is left."""
    groups, rows = land.above.groups, start.rows.copy()
    alone = (groups.total(start.live.astype(np.float32)) == 1)[:, groups.group] & start.live
    item, candidate = np.nonzero(alone)
    rows[item, groups.group[candidate]] = land.above.rows[candidate]
    return rows


def _scale(land: Land, start: Start) -> Floats:
    """How large numbers of rows usually are (n, 1), whatever the lines."""
    square = start.push**2 @ land.above.size**2 + start.pull**2 @ land.below.size**2
    return np.asarray(np.sqrt(square).sum(-1, keepdims=True) / (PART * max(1, square.shape[1])) + TINY)


# --- from bounds and back ---


@dataclass(frozen=True, eq=False)
class Climbed:
    """Better bounds and the duals they are those of; points where margins may be least; and what splits may bring.

    `loss` (n, units) is what the line above each maximum of the first step gives away, at the candidate to split on.
    """

    found: Pass
    dual: Dual
    points: Floats
    loss: Floats

    @property
    def unfinished(self) -> Bools:
        """Where all splits together could not lift the bound above zero: better lines below must."""
        return np.asarray(self.loss.sum(-1) < -self.found.bound)

    def take(self, index: Ints) -> Climbed:
        return Climbed(self.found.take(index), self.dual.take(index), self.points[index], self.loss[index])


def climbed(
    form: Form, batch: Items, dual: Dual, found: Pass, ground: Ground, pace: Pace, least: float, budget: Budget
) -> Climbed:
    """For subproblems over one set of free words; no share below begins lower than `least`."""
    # Products of singles may flag numbers that are in no array; whatever comes out is bounded again in doubles.
    with np.errstate(over="ignore", invalid="ignore"):
        start = started(form, batch, dual, found, ground, least)
        if least < FRESH:
            ground, start = _close(ground, start)
        summit = Climb(ground.land, start).run(pace, budget)
    new = replace(
        dual, alpha=with_shares(form, ground.land.below, dual.alpha, summit.shares), share=ground.shares(summit.rows)
    )
    after = margin_bound(form, batch, new)
    wins = after.bound > found.bound
    if not wins.all():
        new = dual.pick(wins, new)
        after = margin_bound(form, batch, new)
    return Climbed(after, new, ground.points(summit.at), _loss(form, ground, summit))


def started(form: Form, batch: Items, dual: Dual, found: Pass, ground: Ground, least: float) -> Start:
    """The subproblems as climbers see them; what is not theirs to change is what is left of row and bound."""
    groups, below = form.steps[0].groups, ground.land.below
    assert groups is not None
    assert dual.share is not None
    assert batch.bounds.live is not None
    shares = np.zeros((len(found.over), len(groups.owner)))
    shares[:, groups.units] = maxima.shares(groups, dual.alpha[:, groups.units])
    shares = single(shares[:, below.units])
    pull = single(np.maximum(found.over[:, below.units[below.groups.starts]], 0.0))
    push = single(np.maximum(-found.over[:, ground.peaks.units], 0.0))
    logs = np.log(np.maximum(shares, np.float32(least)))
    row = single((found.inputs.reshape(len(pull), -1) * ground.radius)[:, ground.moving])
    start = Start(
        rows=ground.rows(dual.share),
        logs=logs,
        live=batch.bounds.live[:, ground.land.above.units],
        push=push,
        pull=pull,
        rest=np.zeros_like(row),
        constant=single(np.zeros(len(row))),
    )
    alone = View.of(ground.land, start, with_settled(ground.land, start), shares)
    rest, size = row - alone.row, np.abs(row).sum(-1) - np.abs(alone.row).sum(-1)
    return replace(start, rest=rest, constant=single(found.bound - alone.bound + size))


def _close(ground: Ground, start: Start) -> tuple[Ground, Start]:
    """Without the candidates that are far below their lines: while rows change a little, these hardly ever count."""
    above = ground.land.above
    view = View.of(ground.land, start, with_settled(ground.land, start), ground.land.below.softly(start.logs))
    near = view.reach >= above.each(view.top - CLOSE * ground.land.width)
    kept = np.flatnonzero((near & start.live).any(0))
    return ground.among(kept), replace(start, live=start.live[:, kept])


def with_shares(form: Form, below: Side, alpha: Floats, shares: Floats) -> Floats:
    """The slopes with these shares below; the first candidate of a maximum has what the others leave."""
    groups = form.steps[0].groups
    assert groups is not None
    found = alpha.copy()
    mine = np.isin(groups.owner, groups.owner[below.units])
    mine[groups.leaders] = False
    units = np.flatnonzero(mine)
    every = np.zeros((len(alpha), len(groups.owner)))
    every[:, below.units] = shares
    found[:, units] = every[:, units]
    return found


def _loss(form: Form, ground: Ground, summit: Summit) -> Floats:
    found = np.zeros((len(summit.loss), len(form.steps[0].bias)))
    groups = ground.land.above.groups
    found[:, ground.land.above.units] = np.where(groups.winners(summit.wins), ground.land.above.each(summit.loss), 0.0)
    return found

"""Bundles: several maxima of the first step at once, by who wins each of them where the label would be lost.

Lines above single maxima leave room: each touches its maximum where it likes best, and no input need be in all of these
places. The weighted sum of several maxima is the largest, over who wins each of them, of a linear form; one line above
all of these forms is lower than the lines above the maxima added up. A bound then is a constant minus the size of what
is left of its row, minus the largest `reach` of each bundle's choices of winners, as in `climb`. Where an input has a
choice whose reach is lower, the margin is higher by that shortfall: choices that would lift it above zero are not those
of an input at which the label is lost. They are sifted out; with those that are left, lines are lower, and bundles can
be joined to larger ones.

All numbers of the input move between -1 and 1 here. They are singles, and `slack` is more than rounding can do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Groups
from suffice.prove.climb import Climb, Land, Pace, Side, Start, single
from suffice.prove.verdict import Budget

PIECE = 2048  # choices whose reach is worked out at a time: they stay in the cache
ROUNDING = 2.0**-22  # four times what one rounding of a single changes
MOST_NEAR = 6  # times as many choices as a climb looks at anew are kept from climbs before
MOSTLY = 0.7  # of choices: where more are left, all are kept
LEAST_SHARE = np.float32(1e-6)  # below which no share below a maximum begins


@dataclass(frozen=True, eq=False)
class Bundle:
    """Some maxima, and the choices of who wins each of them that are left.

    `winners` (n, maxima) are candidates; `rows` (n, numbers) and `own` (n,) are their weighted sums; `row`
    (numbers,) is that of the line above, and `reach` (n,) what each choice asks of its constant. `parts` are the places
    of the bundles that it was when a proof was last written, `size` is how large a sum can be, and `near` are the
    choices that climbs looked at.
    """

    parts: tuple[int, ...]
    maxima: tuple[int, ...]
    winners: Ints
    rows: Floats
    own: Floats
    row: Floats
    reach: Floats
    size: float
    near: Ints

    @staticmethod
    def of(
        parts: tuple[int, ...],
        maxima: tuple[int, ...],
        winners: Ints,
        rows: Floats,
        own: Floats,
        row: Floats,
        size: float,
    ) -> Bundle:
        reach = own + _sizes(rows, row)
        return Bundle(parts, maxima, winners, rows, own, row, reach, size, np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.own)

    def under(self, row: Floats) -> Bundle:
        """With another line above."""
        return replace(self, row=row, reach=self.own + _sizes(self.rows, row))

    @cached_property
    def top(self) -> float:
        return float(self.reach.max(initial=-np.inf))

    @cached_property
    def short(self) -> Floats:
        """How far each choice stays below the line's constant (n,)."""
        return np.asarray(np.float32(self.top) - self.reach)

    def only(self, kept: Bools) -> Bundle:
        """With these choices alone."""
        if kept.all():
            return self
        places = np.cumsum(kept) - 1
        return replace(
            self,
            winners=self.winners[kept],
            rows=self.rows[kept],
            own=self.own[kept],
            reach=self.reach[kept],
            near=places[self.near[kept[self.near]]],
        )

    def mostly(self, kept: Bools) -> Bundle:
        """With these choices alone, where they are so few that it is worth while to take the others out."""
        return self if kept.sum() > MOSTLY * len(self) else self.only(kept)

    def nearest(self, count: int) -> Ints:
        """The choices of the largest reach, as many as that."""
        if len(self) <= count:
            return np.arange(len(self))
        return np.argpartition(-self.reach, count)[:count]


def _sizes(rows: Floats, row: Floats) -> Floats:
    """|rows - row|, number by number added up (n,), piece by piece."""
    found, ones = single(np.zeros(len(rows))), np.ones(rows.shape[1], dtype=np.float32)
    room = np.empty((min(PIECE, len(rows)), rows.shape[1]), dtype=np.float32)
    for start in range(0, len(rows), PIECE):
        piece = rows[start : start + PIECE]
        away = np.subtract(piece, row, out=room[: len(piece)])
        found[start : start + PIECE] = np.abs(away, out=away) @ ones
    return found


@dataclass(frozen=True, eq=False)
class Sieve:
    """Bundles of all maxima that take lines above, and logarithms of shares below the others.

    `pull` (1, maxima) is what the others are weighted with, and `constant` (1,) what else there is in the bound.
    """

    bundles: tuple[Bundle, ...]
    below: Side
    logs: Floats
    pull: Floats
    constant: Floats

    @cached_property
    def _weights(self) -> Floats:
        return self.below.softly(self.logs) * self.below.each(self.pull)

    @cached_property
    def row(self) -> Floats:
        """What is left of the row (numbers,) once all lines are taken off."""
        lines = np.sum([bundle.row for bundle in self.bundles], axis=0)
        return np.asarray((self._weights @ self.below.rows)[0] - lines)

    @cached_property
    def level(self) -> float:
        """The bound without row and lines above."""
        return float(self.constant[0] + (self._weights @ self.below.own)[0])

    @cached_property
    def tops(self) -> float:
        return sum(bundle.top for bundle in self.bundles)

    @cached_property
    def bound(self) -> float:
        return self.level - self.tops - float(np.abs(self.row).sum())

    @cached_property
    def slack(self) -> float:
        """What is above zero by that is so however it is rounded."""
        below = self.below.groups.highest(np.abs(self.below.own) + np.abs(self.below.rows).sum(-1))
        size = abs(float(self.constant[0])) + float(self.pull[0] @ below)
        lines = sum(bundle.size + float(np.abs(bundle.row).sum()) for bundle in self.bundles)
        return float(self.below.rows.shape[1] + 40) * ROUNDING * (size + 2 * lines)

    @property
    def empty(self) -> bool:
        """Whether no input is left at which the label is lost."""
        return not all(map(len, self.bundles))

    @property
    def count(self) -> int:
        return sum(map(len, self.bundles))

    @property
    def room(self) -> float:
        """How much choices may stay below their lines in all."""
        return self.slack - self.bound

    def sifted(self) -> Sieve:
        """Without the choices that would lift the margin above zero."""
        return replace(self, bundles=tuple(map(self._sifted, self.bundles)))

    def _sifted(self, bundle: Bundle) -> Bundle:
        left = bundle.mostly(~(bundle.short > self.room))  # what is not a number is no reason
        level, row = np.float32(self.level - self.tops + bundle.top), self.row + bundle.row
        alone = level - left.own - _sizes(left.rows, row)
        return left.mostly(~(left.short > self.room) & ~(alone > self.slack))

    def split(self, maximum: int, candidate: int) -> tuple[Sieve, Sieve]:
        """Where another candidate wins the maximum, and where this one does."""
        place = next(i for i, bundle in enumerate(self.bundles) if maximum in bundle.maxima)
        mine = self.bundles[place]
        wins = mine.winners[:, mine.maxima.index(maximum)] == candidate
        return self._with(place, mine.only(~wins)), self._with(place, mine.only(wins))

    def _with(self, place: int, bundle: Bundle) -> Sieve:
        return replace(self, bundles=(*self.bundles[:place], bundle, *self.bundles[place + 1 :]))

    def written(self) -> Sieve:
        """After a proof was written of it: from now on parts are these bundles."""
        return replace(self, bundles=tuple(replace(one, parts=(i,)) for i, one in enumerate(self.bundles)))


# --- joining ---


@dataclass(frozen=True, eq=False)
class Match:
    """Two bundles, and for each choice of the first how many of the second fit it, in the order of what these lack."""

    places: tuple[int, int]
    counts: Ints

    @property
    def size(self) -> int:
        return int(self.counts.sum())


def matches(sieve: Sieve, most: int, look: int) -> list[Match]:
    """Pairs of bundles, each in one at most, that lower the lines most and have no more than `most` choices.

    What a pair gains is guessed by the `look` choices of either with the largest reach.
    """
    gains, left, found = _gains(sieve, look), set(range(len(sieve.bundles))), list[Match]()
    for place in np.argsort(-gains, axis=None, kind="stable").tolist():
        i, j = divmod(place, len(gains))
        if i > j and i in left and j in left:
            pair = Match((i, j), _fitting(sieve.bundles[i], sieve.bundles[j], sieve.room))
            if pair.size <= most:
                found.append(pair)
                left -= {i, j}
    return found


def _fitting(one: Bundle, other: Bundle, room: float) -> Ints:
    """For each choice, how many of the other bundle stay below their lines by no more than there is room for."""
    return np.searchsorted(np.sort(other.short), np.float32(room) - one.short, side="right")


def joined(sieve: Sieve, pairs: Sequence[Match]) -> Sieve:
    """With these bundles joined."""
    taken = {place for pair in pairs for place in pair.places}
    alone = (bundle for place, bundle in enumerate(sieve.bundles) if place not in taken)
    return replace(sieve, bundles=(*alone, *(_pair(sieve, pair) for pair in pairs)))


def _pair(sieve: Sieve, pair: Match) -> Bundle:
    """The choices of both that fit each other."""
    one, other = (sieve.bundles[place] for place in pair.places)
    count, order = pair.counts, np.argsort(other.short, kind="stable")
    first = np.repeat(np.arange(len(count)), count)
    second = order[np.arange(len(first)) - np.repeat(np.cumsum(count) - count, count)]
    return Bundle.of(
        parts=one.parts + other.parts,
        maxima=one.maxima + other.maxima,
        winners=np.concatenate([one.winners[first], other.winners[second]], axis=1),
        rows=one.rows[first] + other.rows[second],
        own=one.own[first] + other.own[second],
        row=one.row + other.row,
        size=one.size + other.size,
    )


def _gains(sieve: Sieve, look: int) -> Floats:
    """By how much lines of pairs (i, j), i > j, are lower than their lines added up."""
    nearest = [bundle.nearest(look) for bundle in sieve.bundles]
    away = [bundle.rows[some] - bundle.row for bundle, some in zip(sieve.bundles, nearest, strict=True)]
    own = [bundle.own[some] for bundle, some in zip(sieve.bundles, nearest, strict=True)]
    found = np.full((len(away), len(away)), -np.inf)
    for i, j in _pairs(len(away)):
        reach = own[i][:, None] + own[j] + np.abs(away[i][:, None] + away[j]).sum(-1)
        found[i, j] = sieve.bundles[i].top + sieve.bundles[j].top - float(reach.max())
    return found


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in range(count) for j in range(i))


# --- climbing ---


@dataclass(frozen=True, eq=False)
class Guess:
    """Where the margin is least (1, numbers); what each bundle's line gives away there, and how far choices win it."""

    at: Floats
    loss: Floats
    maxima: tuple[tuple[int, ...], ...]
    winners: tuple[Ints, ...]
    wins: tuple[Floats, ...]

    def split(self, worst: int) -> tuple[int, int] | None:
        """The maximum, of the bundles that give away most, and the candidate that wins it about half of the time."""
        found: list[tuple[float, int, int]] = []
        for place in np.argsort(-self.loss, kind="stable")[:worst].tolist():
            for column, maximum in enumerate(self.maxima[place]):
                who, inverse = np.unique(self.winners[place][:, column], return_inverse=True)
                share = np.bincount(inverse, self.wins[place])
                best = int(share.argmax())
                if len(who) > 1:
                    found.append((float(self.loss[place] * share[best] * (1 - share[best])), maximum, int(who[best])))
        return max(found)[1:] if found else None


def higher(sieve: Sieve, pace: Pace, look: int, budget: Budget) -> tuple[Sieve, Guess]:
    """Better lines, as steps along smoothed bounds find them with the choices that count most; a guess by them.

    Where others turn out to count, nothing changes but that the next climb looks at them too.
    """
    sieve = replace(sieve, bundles=tuple(_nearer(bundle, look) for bundle in sieve.bundles))
    land = _land(sieve)
    summit = Climb(land, _start(sieve)).run(pace, budget)
    winners = tuple(bundle.winners[bundle.near] for bundle in sieve.bundles)
    wins = tuple(np.split(summit.wins[0], land.above.groups.starts[1:]))
    guess = Guess(summit.at, summit.loss[0], tuple(bundle.maxima for bundle in sieve.bundles), winners, wins)
    bundles = tuple(bundle.under(row) for bundle, row in zip(sieve.bundles, summit.rows[0], strict=True))
    new = replace(sieve, bundles=bundles, logs=np.log(np.maximum(summit.shares, LEAST_SHARE)))
    if new.bound > sieve.bound:
        return new, guess
    more = [np.union1d(old.near, tried.nearest(look)) for old, tried in zip(sieve.bundles, bundles, strict=True)]
    pairs = zip(sieve.bundles, more, strict=True)
    return replace(sieve, bundles=tuple(replace(bundle, near=near) for bundle, near in pairs)), guess


def _nearer(bundle: Bundle, look: int) -> Bundle:
    nearest = bundle.nearest(look)
    fresh = len(bundle.near) > MOST_NEAR * look
    return replace(bundle, near=nearest if fresh else np.union1d(bundle.near, nearest))


def _land(sieve: Sieve) -> Land:
    """The choices that a climb looks at as candidates, the bundles as maxima."""
    rows = np.concatenate([bundle.rows[bundle.near] for bundle in sieve.bundles])
    own = np.concatenate([bundle.own[bundle.near] for bundle in sieve.bundles])
    ends = np.cumsum([len(bundle.near) for bundle in sieve.bundles])
    parts = np.split(np.arange(len(own)), ends[:-1])
    return Land.of(Side(np.arange(len(own)), Groups(parts, len(own)), rows, own), sieve.below)


def _start(sieve: Sieve) -> Start:
    return Start(
        rows=np.stack([bundle.row for bundle in sieve.bundles])[None],
        logs=sieve.logs,
        live=np.ones((1, sum(len(bundle.near) for bundle in sieve.bundles)), dtype=bool),
        push=single(np.ones((1, len(sieve.bundles)))),
        pull=sieve.pull,
        rest=np.zeros_like(sieve.bundles[0].row)[None],
        constant=sieve.constant,
    )

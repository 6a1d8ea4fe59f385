"""Input sets: what ranges over what in a question, as batches that give the least value of linear forms.

`Free` words range over their sets. `Restored` words of a perturbed text go back to the original, at a limited
cost. `Freed` words leave the original, at a limited cost. Bounds need only the anchor point of a set and how
far a linear form can fall from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self, TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.sets.regions import Ball, Box, Choice, Hull, Region

Interval: TypeAlias = tuple[Floats, Floats]


class Inputs(Protocol):
    """A batch of input sets: an anchor point each, and how far a linear form can fall from it."""

    @property
    def anchor(self) -> Floats:
        """(n or 1, length, dimension)."""

    def fall(self, rows: Floats) -> Floats:
        """Least value of rows·(v - anchor): rows (n, r, length, dimension) to (n, r)."""

    def shared_fall(self, rows: Floats) -> Floats:
        """The same for rows (r, length, dimension) that all sets of the batch share."""

    def minimiser(self, rows: Floats) -> Floats:
        """Points (n, length, dimension) where the fall of rows (n, length, dimension) is attained."""

    def take(self, index: Ints | slice) -> Self:
        """The batch of the chosen sets."""

    def __len__(self) -> int: ...


@dataclass(frozen=True, eq=False)
class Free:
    """The words that `free` (n, length) marks range over their sets; the others are substituted, not boxed.

    `allowed` (n, length, m) narrows a Choice region further, when a proof branches on words.
    """

    region: Region
    free: Bools
    allowed: Bools | None = None

    @property
    def anchor(self) -> Floats:
        return self.region.center[None]

    def __len__(self) -> int:
        return len(self.free)

    def join(self, others: Sequence[Free]) -> Free:
        """This batch and the others' as one."""
        parts = (self, *others)
        narrowed = [part.allowed for part in parts if part.allowed is not None]
        allowed = np.concatenate(narrowed) if narrowed else None
        return replace(self, free=np.concatenate([part.free for part in parts]), allowed=allowed)

    def take(self, index: Ints | slice) -> Free:
        allowed = None if self.allowed is None else self.allowed[index]
        return replace(self, free=self.free[index], allowed=allowed)

    def fall(self, rows: Floats) -> Floats:
        match self.region:
            case Box() | Ball(p=np.inf):
                middle, radius = self.region.spread
                free = self.free[:, :, None]
                down = np.matmul(rows.reshape(*rows.shape[:2], -1), _column(middle * free))
                down -= np.matmul(np.abs(rows).reshape(*rows.shape[:2], -1), _column(radius * free))
                return np.asarray(down[..., 0])
            case _:
                return np.asarray((self.per_word(rows) * self.free[:, None]).sum(-1))

    def shared_fall(self, rows: Floats) -> Floats:
        if self.allowed is not None:
            return self.fall(np.broadcast_to(rows, (len(self), *rows.shape)))
        return np.asarray(self.free @ self.per_word(rows[None])[0].T)

    def minimiser(self, rows: Floats) -> Floats:
        if self.allowed is None:
            best = self.region.minimiser(rows)
        else:
            points = _points(self.region)
            chosen = self._choices(rows[:, None])[:, 0].argmin(-1)
            best = points[np.arange(points.shape[0]), chosen]
        return np.where(self.free[:, :, None], best, self.region.center)

    def per_word(self, rows: Floats) -> Floats:
        """The fall at each word if it is free: (n, r, length, dimension) to (n, r, length)."""
        match self.region:
            case Box() | Ball(p=np.inf):
                middle, radius = self.region.spread
                return np.asarray((rows * middle - np.abs(rows) * radius).sum(-1))
            case Ball(radius=radius, p=p):
                return np.asarray(-radius * np.linalg.norm(rows, ord=2 if p == 2 else np.inf, axis=-1))
            case Hull() | Choice():
                return np.asarray(self._choices(rows).min(-1))

    def _choices(self, rows: Floats) -> Floats:
        """rows·(point - center) for every allowed point: (n, r, length, m)."""
        points = _points(self.region) - self.region.center[:, None]
        n, r, length, dimension = rows.shape
        flat = rows.reshape(n * r, length, dimension).transpose(1, 0, 2)
        values = np.matmul(flat, points.transpose(0, 2, 1)).transpose(1, 0, 2).reshape(n, r, length, -1)
        return values if self.allowed is None else np.where(self.allowed[:, None], values, np.inf)


class Budgeted:
    """Which of the `open` words (n, length) to take when each has a gain, a cost, and the budget (n,) is limited."""

    open: Bools
    cost: Floats
    budget: Floats

    @cached_property
    def uniform(self) -> bool:
        return bool((self.cost == self.cost[0]).all())

    def least(self, gains: Floats) -> Floats:
        """The least sum of gains (n, r, length) that the budget buys: a fractional knapsack."""
        gains = self._usable(gains)
        if self.uniform:  # equal costs: just the lowest few, without an argsort
            lowest = np.sort(gains, axis=-1)
            return np.asarray((lowest * (np.arange(gains.shape[-1]) < self._count[:, None, None])).sum(-1))
        order, taken = self._knapsack(gains)
        return np.asarray((np.take_along_axis(gains, order, -1) * taken).sum(-1))

    def bought(self, gains: Floats) -> Floats:
        """Which words (n, length) that takes, the last one perhaps in part, for gains (n, length)."""
        gains = self._usable(gains[:, None])
        if self.uniform:
            return self._lowest(gains[:, 0])
        order, taken = self._knapsack(gains)
        share = np.zeros_like(gains)
        np.put_along_axis(share, order, taken, axis=-1)
        return np.asarray(share[:, 0] * (gains[:, 0] < 0))

    def needed(self, gains: Floats, room: float) -> Ints:
        """The words of a single set without which the least sum of gains (length,) would rise by more than `room`.

        Those come first that it needs most. The first word that the budget cannot buy whole sets the price at which the
        others would be replaced.
        """
        rate = np.where(self._buyable[0], np.minimum(gains, 0.0), 0.0) / self.cost
        order = np.argsort(rate, kind="stable")
        bought = np.cumsum(self.cost[order]) <= self.budget[0]
        price = rate[order[~bought]].min(initial=0.0)
        rise = np.where(bought, (price - rate[order]) * self.cost[order], 0.0)
        return order[np.argsort(-rise, kind="stable")[: np.count_nonzero(rise > room)]]

    def _lowest(self, gains: Floats) -> Floats:
        """The words with the lowest gains, as many as can be paid; of equal ones the first."""
        order, taken = np.argsort(gains, axis=-1, kind="stable"), np.zeros(gains.shape)
        taken[np.arange(len(gains))[:, None], order] = np.arange(gains.shape[-1]) < self._count[:, None]
        return taken * (gains < 0)

    @cached_property
    def _count(self) -> Floats:
        return np.asarray(np.floor(self.budget / self.cost[0]))

    @cached_property
    def _buyable(self) -> Bools:
        return np.asarray(self.open & (self.cost <= self.budget[:, None]))

    def _usable(self, gains: Floats) -> Floats:
        """Zero for words that cannot be taken and for those that one would not want to take."""
        return np.minimum(gains, 0.0) * self._buyable[:, None]

    def _knapsack(self, gains: Floats) -> tuple[Ints, Floats]:
        """The order in which words are taken, best value for cost first, and the share taken of each."""
        order = np.argsort(gains / self.cost, axis=-1, kind="stable")
        cost = self.cost[order]
        before = np.cumsum(cost, axis=-1) - cost
        return order, np.clip((self.budget[:, None, None] - before) / cost, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Restored(Budgeted):
    """The perturbed text `start` with any words of `open` put back to the original, at a cost of at most `budget`.

    Inputs are start + r (center - start) for r in [0, 1] per word with cost·r <= budget.
    """

    center: Floats
    start: Floats
    open: Bools
    cost: Floats
    budget: Floats

    @property
    def anchor(self) -> Floats:
        return self.start

    def __len__(self) -> int:
        return len(self.start)

    def join(self, others: Sequence[Restored]) -> Restored:
        """This batch and the others' as one."""
        parts = (self, *others)
        return replace(
            self,
            start=np.concatenate([part.start for part in parts]),
            open=np.concatenate([part.open for part in parts]),
            budget=np.concatenate([part.budget for part in parts]),
        )

    def take(self, index: Ints | slice) -> Restored:
        return replace(self, start=self.start[index], open=self.open[index], budget=self.budget[index])

    @cached_property
    def back(self) -> Floats:
        """What restoring each word adds: (n, length, dimension)."""
        return self.center - self.start

    def fall(self, rows: Floats) -> Floats:
        gains = np.matmul(rows.transpose(0, 2, 1, 3), self.back[..., None])[..., 0]
        return self.least(gains.transpose(0, 2, 1))

    def shared_fall(self, rows: Floats) -> Floats:
        back = self.back.transpose(1, 2, 0)
        return self.least(np.matmul(rows.transpose(1, 0, 2), back).transpose(2, 1, 0))

    def gains(self, rows: Floats) -> Floats:
        """How far restoring each word (n, length) moves rows (n, length, dimension)."""
        return np.asarray(np.einsum("bld,bld->bl", rows, self.back))

    def minimiser(self, rows: Floats) -> Floats:
        return self.start + self.bought(self.gains(rows))[:, :, None] * self.back


@dataclass(frozen=True, eq=False)
class Freed(Budgeted):
    """The original text with the words of `free`, and any of `open` worth at most `budget`, ranging over their sets."""

    region: Region
    free: Bools
    open: Bools
    cost: Floats
    budget: Floats

    @property
    def anchor(self) -> Floats:
        return self.region.center[None]

    @property
    def all_free(self) -> Free:
        """The same words as if every one of them were free."""
        return Free(self.region, self.free | self.open)

    def __len__(self) -> int:
        return len(self.free)

    def join(self, others: Sequence[Freed]) -> Freed:
        """This batch and the others' as one."""
        parts = (self, *others)
        return replace(
            self,
            free=np.concatenate([part.free for part in parts]),
            open=np.concatenate([part.open for part in parts]),
            budget=np.concatenate([part.budget for part in parts]),
        )

    def take(self, index: Ints | slice) -> Freed:
        return replace(self, free=self.free[index], open=self.open[index], budget=self.budget[index])

    def fall(self, rows: Floats) -> Floats:
        falls = self.all_free.per_word(rows)
        return np.asarray((falls * self.free[:, None]).sum(-1) + self.least(falls))

    def shared_fall(self, rows: Floats) -> Floats:
        falls = np.broadcast_to(self.all_free.per_word(rows[None]), (len(self), len(rows), self.free.shape[1]))
        return np.asarray((falls * self.free[:, None]).sum(-1) + self.least(falls))

    def gains(self, rows: Floats) -> Floats:
        """How far freeing each word (n, length) can move rows (n, length, dimension) down."""
        return self.all_free.per_word(rows[:, None])[:, 0]

    def minimiser(self, rows: Floats) -> Floats:
        """Words that the budget buys only in part stay as they are: the point is always an allowed one."""
        whole = self.bought(self.gains(rows)) == 1.0
        return replace(self.all_free, free=self.free | whole).minimiser(rows)


def _points(region: Region) -> Floats:
    assert isinstance(region, Hull | Choice)
    return region.points


def _column(values: Floats) -> Floats:
    return values.reshape(len(values), -1, 1)

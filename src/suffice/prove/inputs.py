"""Input sets: what ranges over what in a question, as batches that give the least value of linear forms.

`Free` words range over their sets. `Freed` words leave the original, at a limited cost. `Restored` words of a perturbed
text go back to the original, at a limited cost. Bounds need only the anchor point of a set and how far a linear form
can fall from it; a proof also needs to know on which word to split a set, and into what.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self, TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Step, is_sparse
from suffice.sets.regions import Ball, Box, Choice, Hull, Region

Interval: TypeAlias = tuple[Floats, Floats]
Chosen: TypeAlias = tuple[int, ...] | None  # the choices of a word in the first half of a split; None: it is bought

PIECE = 2_000_000  # numbers that a piece of work holds at once, so that memory is bounded and time looked at
STEADY = 30  # binary digits that count where numbers set an order


def steady(values: Floats) -> Floats:
    """Values (n, ...) rounded to nine digits of the largest of each row, so that no order hangs on the last bit."""
    size = np.abs(values).max(axis=tuple(range(1, values.ndim)), initial=0.0, keepdims=True)
    scale = np.ldexp(1.0, np.frexp(size)[1] - STEADY)
    found: Floats = values / scale
    np.rint(found, out=found)
    found *= scale
    return found


def pieces(count: int, each: int) -> Iterator[slice]:
    """0..count in slices whose items, `each` numbers large, fit a piece of work."""
    step = max(1, PIECE // max(1, each))
    return (slice(i, min(i + step, count)) for i in range(0, count, step))


class Shared:
    """Rows W and -W over the input that all sets of a batch share; what each word can take from them is kept.

    Rows of a convolution see few words each: `slots` (rows, s) are the words that each of them sees, and everything is
    worked out for those only.
    """

    def __init__(self, step: Step, units: Ints, region: Region) -> None:
        self.weight, self.region = step.weight[units], region
        windowed = is_sparse(step.weight) or _windowed(self.dense)
        self.blocks = [_among(units, *block) for block in step.by_word(len(region.center))] if windowed else []
        self.slots = self._slots() if windowed else None

    def __len__(self) -> int:
        return 2 * int(self.weight.shape[0])

    @property
    def width(self) -> int:
        """How many words a row sees at the most."""
        return len(self.region.center) if self.slots is None else int(self.slots.shape[1])

    def _slots(self) -> Ints:
        """The words that each row sees, in order; what is left over is filled with the first word."""
        seen = np.zeros((self.weight.shape[0], len(self.blocks)), dtype=bool)
        for word, (rows, _) in enumerate(self.blocks):
            seen[rows, word] = True
        order = np.argsort(~seen, axis=1, kind="stable")[:, : max(1, int(seen.sum(1).max(initial=0)))]
        return np.where(np.take_along_axis(seen, order, 1), order, -1)

    def at(self, points: Floats) -> Floats:
        """The values (n, r) of the rows at points (n, length, dimension)."""
        values = np.asarray((self.weight @ points.reshape(len(points), -1).T).T)
        return np.concatenate([values, -values], axis=1)

    def seen(self, marks: Floats | Bools) -> Floats:
        """What each row's words have of something that is known by word (..., length): (..., 1 or r, s)."""
        if self.slots is None:
            return np.asarray(marks[..., None, :])
        found = np.where(self.slots < 0, 0, marks[..., self.slots])
        return np.concatenate([found, found], axis=-2)

    def products(self, moves: Floats) -> Floats:
        """rows·move for moves (length, dimension, k) of each word: (r, s, k)."""
        if self.slots is None:
            found = np.matmul(self.dense.transpose(1, 0, 2), moves).transpose(1, 0, 2)
            return np.concatenate([found, -found])
        found = np.zeros((len(self.slots), self.width, moves.shape[-1]))
        for word, (rows, block) in enumerate(self.blocks):
            found[rows, self._places[word]] = block @ moves[word]
        return np.concatenate([found, -found])

    @cached_property
    def _places(self) -> list[Ints]:
        """For each word, which of the words that they see it is to the rows that see it."""
        assert self.slots is not None
        return [(self.slots[rows] == word).argmax(1) for word, (rows, _) in enumerate(self.blocks)]

    @property
    def dense(self) -> Floats:
        """A dense weight as (rows, length, dimension)."""
        return self.weight.reshape(-1, *self.region.center.shape)

    @cached_property
    def falls(self) -> Floats:
        """How far each word alone can move each row down: (r, s)."""
        if self.slots is None:
            return np.concatenate([falls(self.region, side) for side in (self.dense, -self.dense)])
        found = np.zeros((2, len(self.slots), self.width))
        for word, (rows, block) in enumerate(self.blocks):
            place = self._places[word]
            found[0, rows, place], found[1, rows, place] = (word_falls(self.region, word, x) for x in (block, -block))
        return found.reshape(-1, self.width)

    @cached_property
    def choices(self) -> Floats:
        """rows·(point - center) for every point of every word: (r, s, m)."""
        return self.products((_points(self.region) - self.region.center[:, None]).transpose(0, 2, 1))


def _windowed(weight: Floats) -> bool:
    """Whether no row of a dense weight (rows, length, dimension) sees more than half of the words."""
    return bool(2 * np.count_nonzero(weight.any(-1), axis=1).max(initial=0) <= weight.shape[1])


def _among(units: Ints, rows: Ints, block: Floats) -> tuple[Ints, Floats]:
    """The rows of a block that are some of the units (in order), counted among those."""
    places = np.searchsorted(units, rows)
    there = units[np.minimum(places, len(units) - 1)] == rows
    return places[there], block[there]


class Inputs(Protocol):
    """A batch of input sets: an anchor point each, and how far a linear form can fall from it."""

    @property
    def anchor(self) -> Floats:
        """(n or 1, length, dimension)."""

    def fall(self, rows: Floats) -> Floats:
        """Least value of rows·(v - anchor): rows (n, r, length, dimension) to (n, r)."""

    def shared_fall(self, shared: Shared) -> Floats:
        """The same for rows that all sets of the batch share."""

    def through(self, step: Step, rows: Floats) -> Floats:
        """Least value (n, r) of rows (n, r, units) over what a step makes of the inputs, without its bias."""

    def minimiser(self, rows: Floats) -> Floats:
        """Points (n, length, dimension) where the fall of rows (n, length, dimension) is attained."""

    def take(self, index: Ints | slice) -> Self:
        """The batch of the chosen sets."""

    def join(self, others: Sequence[Self]) -> Self:
        """This batch and the others' as one."""

    def __len__(self) -> int: ...

    # --- for a single set, given the row (length, dimension) of the bound that does not hold ---

    def word(self, row: Floats, any_word: bool = False) -> int | None:
        """The word to decide on that moves the row most; None if none moves it, unless any undecided one will do."""

    def few(self, row: Floats, relus: int) -> bool:
        """Whether deciding on words promises more than splitting that many relus."""

    def sure(self, row: Floats, room: float) -> Ints:
        """Words that the set cannot do without if the row is to fall by more than the bound can spare."""

    def halves(self, position: int, row: Floats) -> tuple[Chosen, Self, Self]:
        """The set split on a word: what the first half has of it, and both halves."""

    @property
    def decided(self) -> Free | None:
        """The same set as plain free words, once no other decision is left; None while one is."""


@dataclass(frozen=True, eq=False)
class Free:
    """The words that `free` (n, length) marks range over their sets; the others are substituted, not boxed.

    `allowed` (n, length, m) narrows a Choice region further, when a proof branches on words.
    """

    region: Region
    free: Bools
    allowed: Bools | None = None

    @property
    def words(self) -> Bools:
        """The words (n, length) that can move."""
        return self.free

    @property
    def anchor(self) -> Floats:
        return self.region.center[None]

    def __len__(self) -> int:
        return len(self.free)

    def join(self, others: Sequence[Free]) -> Free:
        parts = (self, *others)
        return Free(self.region, np.concatenate([part.free for part in parts]), _allowed(parts))

    def take(self, index: Ints | slice) -> Free:
        return Free(self.region, self.free[index], None if self.allowed is None else self.allowed[index])

    def fall(self, rows: Floats) -> Floats:
        match self.region:
            case Box() | Ball(p=np.inf):
                flat, (middle, radius) = rows.reshape(*rows.shape[:2], -1), self._spread
                down = np.matmul(flat, middle)
                down -= np.matmul(np.abs(flat), radius)
                return np.asarray(down[..., 0])
            case _:
                return np.asarray((falls(self.region, rows, self.allowed) * self.free[:, None]).sum(-1))

    @cached_property
    def _spread(self) -> Interval:
        """The middle and the radius of what each number moves by, zero where it does not: columns (n, inputs, 1)."""
        assert isinstance(self.region, Box | Ball)
        middle, radius = (side * self.free[:, :, None] for side in self.region.spread)
        return middle.reshape(len(self), -1, 1), radius.reshape(len(self), -1, 1)

    def shared_fall(self, shared: Shared) -> Floats:
        if self.allowed is None and shared.slots is None:
            return np.asarray(self.free @ shared.falls.T)
        gains = shared.falls[None] if self.allowed is None else shared_falls(shared, self.allowed)
        return np.asarray((gains * shared.seen(self.free)).sum(-1))

    def through(self, step: Step, rows: Floats) -> Floats:
        if not isinstance(self.region, Box) or not isinstance(step.weight, np.ndarray):
            return by_input(self, step, rows)
        words, (middle, radius) = np.flatnonzero(self.free.any(0)), self._spread
        at = (self.region.center.ravel() + middle[..., 0]) @ step.weight.T
        moving = step.weight.reshape(-1, *self.region.center.shape)[:, words].reshape(len(step.bias), -1)
        over = (rows.reshape(-1, rows.shape[-1]) @ moving).reshape(*rows.shape[:2], -1)
        np.abs(over, out=over)
        reach = radius.reshape(len(self), *self.region.center.shape)[:, words].reshape(len(self), -1, 1)
        return np.asarray((np.matmul(rows, at[..., None]) - np.matmul(over, reach))[..., 0])

    def minimiser(self, rows: Floats) -> Floats:
        if self.allowed is None:
            best = self.region.minimiser(rows)
        else:
            points = _points(self.region)
            chosen = _choices(self.region, rows[:, None], self.allowed)[:, 0].argmin(-1)
            best = points[np.arange(points.shape[0]), chosen]
        return np.where(self.free[:, :, None], best, self.region.center)

    def word(self, row: Floats, any_word: bool = False) -> int | None:
        if self.allowed is None:
            return None
        values, allowed = _values(self.region, row), self.allowed[0]
        spread = np.where(allowed, values, -np.inf).max(-1) - np.where(allowed, values, np.inf).min(-1)
        return _largest(spread, self.free[0] & (allowed.sum(-1) > 1), at_least=0.0)

    def few(self, row: Floats, relus: int) -> bool:
        """Few enough combinations of choices that trying them beats splitting relus."""
        if self.allowed is None:
            return False
        counts = self.allowed[0][self.free[0]].sum(-1)
        return float(np.log2(np.maximum(counts, 1)).sum()) <= max(6.0, relus / 4)

    def sure(self, row: Floats, room: float) -> Ints:
        return np.zeros(0, dtype=np.int64)

    def halves(self, position: int, row: Floats) -> tuple[Chosen, Free, Free]:
        """The half of the word's choices with the lower values, against the others."""
        chosen, *sides = _split_choices(self.region, self.allowed, position, row)
        first, second = (replace(self, allowed=side) for side in sides)
        return chosen, first, second

    @property
    def decided(self) -> Free:
        return self


class Budgeted:
    """Which of the `open` words (n, length) to take when each has a gain, a cost, and the budget (n,) is limited."""

    open: Bools
    cost: Floats
    budget: Floats

    @cached_property
    def uniform(self) -> bool:
        return bool((self.cost == self.cost[0]).all())

    def least(self, gains: Floats, shared: Shared | None = None) -> Floats:
        """The least sum of gains (n, r, length) that the budget buys: a fractional knapsack.

        Gains of `shared` rows are those of the words that each row sees.
        """
        gains = np.minimum(gains, 0.0) * self._marks(shared)
        if self.uniform:  # equal costs: just the lowest few, without an argsort
            return _lowest_sum(gains, self._count)
        cost = self.cost if shared is None else np.broadcast_to(shared.seen(self.cost), gains.shape[1:])
        order, taken = self._knapsack(gains, np.where(cost > 0, cost, 1.0))
        return np.asarray((np.take_along_axis(gains, order, -1) * taken).sum(-1))

    def bought(self, gains: Floats) -> Floats:
        """Which words (n, length) that takes, the last one perhaps in part, for gains (n, length)."""
        gains = steady(np.minimum(gains, 0.0)[:, None] * self.buyable[:, None])
        if self.uniform:
            return _lowest(gains[:, 0], self._count)
        order, taken = self._knapsack(gains, self.cost)
        share = np.zeros_like(gains)
        np.put_along_axis(share, order, taken, axis=-1)
        return np.asarray(share[:, 0] * (gains[:, 0] < 0))

    def needed(self, gains: Floats, room: float) -> Ints:
        """The words of a single set without which the least sum of gains (length,) would rise by more than `room`.

        Those come first that it needs most. The first word that the budget cannot buy whole sets the price at which the
        others would be replaced.
        """
        rate = np.where(self.buyable[0], np.minimum(gains, 0.0), 0.0) / self.cost
        order = np.argsort(rate, kind="stable")
        bought = np.cumsum(self.cost[order]) <= self.budget[0]
        price = rate[order[~bought]].min(initial=0.0)
        rise = np.where(bought, (price - rate[order]) * self.cost[order], 0.0)
        return order[np.argsort(-rise, kind="stable")[: np.count_nonzero(rise > room)]]

    @cached_property
    def buyable(self) -> Bools:
        """The words (n, length) that can still be taken."""
        return np.asarray(self.open & (self.cost <= self.budget[:, None]))

    def _marks(self, shared: Shared | None) -> Floats:
        """The words that can still be taken, as ones, in the shape of gains."""
        return self.buyable[:, None].astype(np.float64) if shared is None else shared.seen(self.buyable)

    @cached_property
    def _count(self) -> Floats:
        return np.asarray(np.floor(self.budget / self.cost[0]))

    def _knapsack(self, gains: Floats, costs: Floats) -> tuple[Ints, Floats]:
        """The order in which words are taken, best value for cost first, and the share taken of each."""
        order = np.argsort(gains / costs, axis=-1, kind="stable")
        cost = np.take_along_axis(np.broadcast_to(costs, gains.shape), order, -1)
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
        parts = (self, *others)
        start = np.concatenate([part.start for part in parts])
        opened = np.concatenate([part.open for part in parts])
        return Restored(self.center, start, opened, self.cost, np.concatenate([part.budget for part in parts]))

    def take(self, index: Ints | slice) -> Restored:
        return Restored(self.center, self.start[index], self.open[index], self.cost, self.budget[index])

    @cached_property
    def back(self) -> Floats:
        """What restoring each word adds: (n, length, dimension)."""
        return self.center - self.start

    def fall(self, rows: Floats) -> Floats:
        gains = np.matmul(rows.transpose(0, 2, 1, 3), self.back[..., None])[..., 0]
        return self.least(gains.transpose(0, 2, 1))

    def shared_fall(self, shared: Shared) -> Floats:
        return self.least(shared.products(self.back.transpose(1, 2, 0)).transpose(2, 0, 1), shared)

    def through(self, step: Step, rows: Floats) -> Floats:
        if not isinstance(step.weight, np.ndarray):
            return by_input(self, step, rows)
        weight = step.weight.reshape(-1, *self.center.shape).transpose(1, 0, 2)
        adds = np.matmul(weight, self.back.transpose(1, 2, 0)).transpose(2, 1, 0)  # of each word: (n, units, length)
        at = self.start.reshape(len(self), -1) @ step.weight.T
        return np.asarray(np.matmul(rows, at[..., None])[..., 0] + self.least(np.matmul(rows, adds)))

    def gains(self, rows: Floats) -> Floats:
        """How far restoring each word (n, length) moves rows (n, length, dimension)."""
        return np.asarray(np.einsum("bld,bld->bl", rows, self.back))

    def minimiser(self, rows: Floats) -> Floats:
        return self.start + self.bought(self.gains(rows))[:, :, None] * self.back

    def word(self, row: Floats, any_word: bool = False) -> int | None:
        return _largest(-self.gains(row[None])[0], self.buyable[0], at_least=-np.inf if any_word else TINY)

    def few(self, row: Floats, relus: int) -> bool:
        """Few enough ways to spend the budget on words that matter that trying them beats splitting relus."""
        words = self.buyable[0] & (self.gains(row[None])[0] < 0)
        return _ways(words, self.budget[0], self.cost) <= relus / 4

    def sure(self, row: Floats, room: float) -> Ints:
        return self.needed(self.gains(row[None])[0], room)

    def halves(self, position: int, row: Floats) -> tuple[Chosen, Restored, Restored]:
        """The word restored, and paid for, against not restored."""
        opened, back, left = self.open.copy(), self.start.copy(), self.budget - self.cost[position]
        opened[:, position], back[:, position] = False, self.center[position]
        taken = Restored(self.center, back, opened, self.cost, left)
        return None, taken, Restored(self.center, self.start, opened, self.cost, self.budget)

    @property
    def decided(self) -> None:
        return None


@dataclass(frozen=True, eq=False)
class Freed(Budgeted):
    """The original text with the words of `free`, and any of `open` worth at most `budget`, ranging over their sets.

    `allowed` narrows a Choice region, as for `Free`; with a `count` (n,), no more than so many of `open` move.
    """

    region: Region
    free: Bools
    open: Bools
    cost: Floats
    budget: Floats
    allowed: Bools | None = None
    count: Floats | None = None

    @property
    def words(self) -> Bools:
        """The words (n, length) that can move."""
        return self.free | self.open

    @property
    def anchor(self) -> Floats:
        return self.region.center[None]

    def __len__(self) -> int:
        return len(self.free)

    def join(self, others: Sequence[Freed]) -> Freed:
        parts = (self, *others)
        return replace(
            self,
            free=np.concatenate([part.free for part in parts]),
            open=np.concatenate([part.open for part in parts]),
            budget=np.concatenate([part.budget for part in parts]),
            allowed=_allowed(parts),
            count=None if self.count is None else np.concatenate([_counts(part) for part in parts]),
        )

    def take(self, index: Ints | slice) -> Freed:
        return replace(
            self,
            free=self.free[index],
            open=self.open[index],
            budget=self.budget[index],
            allowed=None if self.allowed is None else self.allowed[index],
            count=None if self.count is None else self.count[index],
        )

    @cached_property
    def buyable(self) -> Bools:
        paid = np.asarray(self.open & (self.cost <= self.budget[:, None]))
        return paid if self.count is None else paid & (self.count[:, None] > 0)

    def least(self, gains: Floats, shared: Shared | None = None) -> Floats:
        """What the budget buys, or what so many words can do: neither is more than both allow."""
        paid = super().least(gains, shared)
        if self.count is None:
            return paid
        return np.maximum(paid, _lowest_sum(np.minimum(gains, 0.0) * self._marks(shared), self.count))

    def fall(self, rows: Floats) -> Floats:
        return self._total(falls(self.region, rows, self.allowed))

    def shared_fall(self, shared: Shared) -> Floats:
        if self.allowed is not None:
            return self._total(shared_falls(shared, self.allowed), shared)
        return self._total(np.broadcast_to(shared.falls, (len(self), *shared.falls.shape)), shared)

    def _total(self, gains: Floats, shared: Shared | None = None) -> Floats:
        """The words that are free anyway, and the best of the others."""
        free = self.free[:, None] if shared is None else shared.seen(self.free)
        return np.asarray((gains * free).sum(-1) + self.least(gains, shared))

    def through(self, step: Step, rows: Floats) -> Floats:
        return by_input(self, step, rows)

    def gains(self, rows: Floats) -> Floats:
        """How far freeing each word (n, length) can move rows (n, length, dimension) down."""
        return falls(self.region, rows[:, None], self.allowed)[:, 0]

    def minimiser(self, rows: Floats) -> Floats:
        """Words that the budget buys only in part stay as they are: the point is always an allowed one."""
        gains = self.gains(rows)
        whole = self.bought(gains) == 1.0
        if self.count is not None:
            whole = _lowest(np.where(whole, gains, 0.0), self.count) == 1.0
        return Free(self.region, self.free | whole, self.allowed).minimiser(rows)

    def word(self, row: Floats, any_word: bool = False) -> int | None:
        """First who changes at all; what those become who do is decided after that."""
        word = _largest(-self.gains(row[None])[0], self.buyable[0], at_least=-np.inf if any_word else TINY)
        return self._plain.word(row, any_word) if word is None and not self.buyable.any() else word

    def few(self, row: Floats, relus: int) -> bool:
        """Few enough ways to say who changes that trying them beats splitting relus; then what those become."""
        if not self.buyable.any():
            return self._plain.few(row, relus)
        words = self.buyable[0] & (self.gains(row[None])[0] < 0)
        return _ways(words, self.budget[0], self.cost) <= relus / 4

    def sure(self, row: Floats, room: float) -> Ints:
        words = self.needed(self.gains(row[None])[0], room)
        return words if self.count is None else words[: int(self.count[0])]

    def halves(self, position: int, row: Floats) -> tuple[Chosen, Freed, Freed]:
        """The word free, and paid for, against fixed; or the choices of one that is free already."""
        if self.free[0, position]:
            chosen, *sides = _split_choices(self.region, self.allowed, position, row)
            first, second = (replace(self, allowed=side) for side in sides)
            return chosen, first, second
        mark = np.arange(self.free.shape[1]) == position
        rest = replace(self, open=self.open & ~mark)
        count = None if self.count is None else self.count - 1
        paid = replace(rest, free=self.free | mark, budget=self.budget - self.cost[position], count=count)
        return None, paid, rest

    @property
    def decided(self) -> Free | None:
        return None if self.buyable.any() else self._plain

    @property
    def _plain(self) -> Free:
        return Free(self.region, self.free, self.allowed)


TINY = 1e-300  # a gain below this is none


# --- how far words can move rows ---


def by_input(inputs: Inputs, step: Step, rows: Floats) -> Floats:
    """The least value of rows over a step's units by what they are over the input."""
    over = np.asarray(rows.reshape(-1, rows.shape[-1]) @ step.weight).reshape(*rows.shape[:2], -1)
    anchor = inputs.anchor
    found = np.matmul(over, anchor.reshape(len(anchor), -1, 1))[..., 0]
    return np.asarray(found + inputs.fall(over.reshape(*over.shape[:2], *anchor.shape[1:])))


def falls(region: Region, rows: Floats, allowed: Bools | None = None) -> Floats:
    """How far each word, if it is free, can move rows (..., length, dimension) down: (..., length)."""
    match region:
        case Box() | Ball(p=np.inf):
            middle, radius = region.spread
            down = np.einsum("...ld,ld->...l", np.abs(rows), radius)
            return np.asarray(np.einsum("...ld,ld->...l", rows, middle) - down)
        case Ball(radius=radius, p=p):
            return np.asarray(-radius * np.linalg.norm(rows, ord=2 if p == 2 else np.inf, axis=-1))
        case Hull() | Choice():
            shaped = rows if rows.ndim == 4 else rows[None]
            found = _choices(region, shaped, allowed).min(-1)
            return np.asarray(found if rows.ndim == 4 else found[0])


def _ways(words: Bools, budget: float, cost: Floats) -> float:
    """The logarithm of how many sets of these words the budget buys, about."""
    count, bought = int(words.sum()), int(budget // cost[words].min(initial=np.inf))
    return math.log2(max(1, math.comb(count, min(bought, count))))


def word_falls(region: Region, word: int, rows: Floats) -> Floats:
    """How far one word, if it is free, can move rows (r, dimension) down: (r,)."""
    match region:
        case Box() | Ball(p=np.inf):
            middle, radius = (side[word] for side in region.spread)
            return np.asarray(rows @ middle - np.abs(rows) @ radius)
        case Ball(radius=radius, p=p):
            return np.asarray(-radius * np.linalg.norm(rows, ord=2 if p == 2 else np.inf, axis=-1))
        case Hull() | Choice():
            return np.asarray((rows @ (region.points[word] - region.center[word]).T).min(-1))


def shared_falls(shared: Shared, allowed: Bools) -> Floats:
    """The same for shared rows and choices that differ from set to set: (n, r, length)."""
    values = shared.choices
    found = np.empty((len(allowed), *values.shape[:2]))
    for some in pieces(len(allowed), values.size):
        marks = np.moveaxis(allowed[some].astype(np.float64), -1, 1)
        mine = np.moveaxis(shared.seen(marks), 1, -1) > 0  # (n, 1 or r, s, m)
        found[some] = np.where(mine, values, np.inf).min(-1)
    return np.where(np.isfinite(found), found, 0.0)  # of a word that is not there nothing is allowed


def _choices(region: Region, rows: Floats, allowed: Bools | None) -> Floats:
    """rows·(point - center) for rows (n, r, length, dimension) and every allowed point: (n, r, length, m)."""
    points = _points(region) - region.center[:, None]
    n, r, length, dimension = rows.shape
    flat = rows.reshape(n * r, length, dimension).transpose(1, 0, 2)
    values = np.matmul(flat, points.transpose(0, 2, 1)).transpose(1, 0, 2).reshape(n, r, length, -1)
    return values if allowed is None else np.where(allowed[:, None], values, np.inf)


def _values(region: Region, row: Floats) -> Floats:
    """row·v for every choice v of every word."""
    return np.asarray(np.einsum("lmd,ld->lm", _points(region), row))


def _split_choices(region: Region, allowed: Bools | None, position: int, row: Floats) -> tuple[Chosen, Bools, Bools]:
    """The half of a word's choices with the lower values, and what is allowed with these and with the others."""
    assert allowed is not None
    options = np.flatnonzero(allowed[0, position])
    order = options[np.argsort(steady(_values(region, row)[position, options][None])[0], kind="stable")]
    chosen = np.isin(np.arange(allowed.shape[-1]), order[: max(1, len(order) // 2)])
    others = (np.arange(allowed.shape[1]) != position)[:, None]
    first, second = (allowed & (others | keep)[None] for keep in (chosen, ~chosen))
    return tuple(int(i) for i in np.flatnonzero(chosen)), first, second


def _allowed(parts: Sequence[Free] | Sequence[Freed]) -> Bools | None:
    narrowed = [part.allowed for part in parts if part.allowed is not None]
    return np.concatenate(narrowed) if narrowed else None


def _counts(part: Freed) -> Floats:
    assert part.count is not None
    return part.count


def _points(region: Region) -> Floats:
    assert isinstance(region, Hull | Choice)
    return region.points


# --- the largest and the lowest of some ---


def _largest(values: Floats, among: Bools, at_least: float) -> int | None:
    """The first of the words with the largest value, if that is large enough."""
    ranked = np.where(among, steady(values[None])[0], -np.inf)
    best = int(ranked.argmax())
    return best if among[best] and values[best] >= at_least else None


def _lowest_sum(gains: Floats, count: Floats) -> Floats:
    """The sum of the `count` (n,) lowest gains (n, r, length), none of which is above zero."""
    if count.min(initial=np.inf) >= gains.shape[-1]:
        return np.asarray(gains.sum(-1))
    chosen = np.arange(gains.shape[-1]) < count[:, None, None]
    return np.asarray((np.sort(gains, axis=-1) * chosen).sum(-1))


def _lowest(gains: Floats, count: Floats) -> Floats:
    """The `count` (n,) words with the lowest gains (n, length), as ones; of equal ones the first, and none at zero."""
    order, taken = np.argsort(gains, axis=-1, kind="stable"), np.zeros(gains.shape)
    taken[np.arange(len(gains))[:, None], order] = np.arange(gains.shape[-1]) < count[:, None]
    return taken * (gains < 0)

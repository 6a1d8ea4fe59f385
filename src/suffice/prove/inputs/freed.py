"""Freed: words that leave the original, at a limited cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Step
from suffice.prove.inputs.budgeted import TINY, Budgeted, ways
from suffice.prove.inputs.free import Free, joined
from suffice.prove.inputs.moves import Chosen, by_input, falls, split_choices
from suffice.prove.inputs.numbers import largest, lowest, lowest_sum
from suffice.prove.inputs.shared import Shared, shared_falls
from suffice.sets.regions import Region


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
            allowed=joined([part.allowed for part in parts]),
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
        return np.maximum(paid, lowest_sum(np.minimum(gains, 0.0) * self._marks(shared), self.count))

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
            whole = lowest(np.where(whole, gains, 0.0), self.count) == 1.0
        return Free(self.region, self.free | whole, self.allowed).minimiser(rows)

    def word(self, row: Floats, any_word: bool = False) -> int | None:
        """First who changes at all; what those become who do is decided after that."""
        word = largest(-self.gains(row[None])[0], self.buyable[0], at_least=-np.inf if any_word else TINY)
        return self._plain.word(row, any_word) if word is None and not self.buyable.any() else word

    def few(self, row: Floats, relus: int) -> bool:
        """Few enough ways to say who changes that trying them beats splitting relus; then what those become."""
        if not self.buyable.any():
            return self._plain.few(row, relus)
        words = self.buyable[0] & (self.gains(row[None])[0] < 0)
        return ways(words, self.budget[0], self.cost) <= relus / 4

    def sure(self, row: Floats, room: float) -> Ints:
        words = self.needed(self.gains(row[None])[0], room)
        return words if self.count is None else words[: int(self.count[0])]

    def halves(self, position: int, row: Floats) -> tuple[Chosen, Freed, Freed]:
        """The word free, and paid for, against fixed; or the choices of one that is free already."""
        if self.free[0, position]:
            chosen, *sides = split_choices(self.region, self.allowed, position, row)
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


def _counts(part: Freed) -> Floats:
    assert part.count is not None
    return part.count

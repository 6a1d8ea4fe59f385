"""Free: words that range over their sets, all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Step
from suffice.prove.inputs.moves import Chosen, by_input, choices, falls, points_of, split_choices, values
from suffice.prove.inputs.numbers import largest
from suffice.prove.inputs.shared import Shared, shared_falls
from suffice.sets.regions import Ball, Box, Region

Interval: TypeAlias = tuple[Floats, Floats]


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
        return Free(
            self.region, np.concatenate([part.free for part in parts]), joined([part.allowed for part in parts])
        )

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
            points = points_of(self.region)
            chosen = choices(self.region, rows[:, None], self.allowed)[:, 0].argmin(-1)
            best = points[np.arange(points.shape[0]), chosen]
        return np.where(self.free[:, :, None], best, self.region.center)

    def word(self, row: Floats, any_word: bool = False) -> int | None:
        if self.allowed is None:
            return None
        found, allowed = values(self.region, row), self.allowed[0]
        spread = np.where(allowed, found, -np.inf).max(-1) - np.where(allowed, found, np.inf).min(-1)
        return largest(spread, self.free[0] & (allowed.sum(-1) > 1), at_least=0.0)

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
        chosen, *sides = split_choices(self.region, self.allowed, position, row)
        first, second = (replace(self, allowed=side) for side in sides)
        return chosen, first, second

    @property
    def decided(self) -> Free:
        return self


def joined(parts: Sequence[Bools | None]) -> Bools | None:
    """What is allowed in the sets of several batches, as one; None where nothing is narrowed."""
    narrowed = [part for part in parts if part is not None]
    return np.concatenate(narrowed) if narrowed else None

"""Free words: they range over their sets, all of them at once.

Method: support functions of boxes, balls, hulls and finite sets (theory, section 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Step
from suffice.sets.regions import Ball, Box, Region
from suffice.settings import Branching
from suffice.verify.nets.input_sets.chunks import first_largest
from suffice.verify.nets.input_sets.knapsack import few_enough
from suffice.verify.nets.input_sets.moves import (
    ChosenOptions,
    min_via_input,
    option_points,
    option_shifts,
    option_values,
    split_options,
    word_min_shifts,
)
from suffice.verify.nets.input_sets.shared_rows import SharedRows, shared_word_min_shifts

Interval: TypeAlias = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Free:
    """The words that `free` (n, length) marks range over their sets; the others are substituted,
    not boxed.

    `allowed` (n, length, options) restricts a Choice region further, when a proof branches on
    words.
    """

    region: Region
    free: Bools
    allowed: Bools | None = None

    @property
    def movable(self) -> Bools:
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
            self.region,
            np.concatenate([part.free for part in parts]),
            joined_options([part.allowed for part in parts]),
        )

    def take(self, index: Ints | slice) -> Free:
        return Free(
            self.region, self.free[index], None if self.allowed is None else self.allowed[index]
        )

    def min_shift(self, rows: Floats) -> Floats:
        match self.region:
            case Box() | Ball(p=np.inf):
                flat, (middle, radius) = rows.reshape(*rows.shape[:2], -1), self._spread
                found = np.matmul(flat, middle)
                found -= np.matmul(np.abs(flat), radius)
                return np.asarray(found[..., 0])
            case _:
                return np.asarray(
                    (word_min_shifts(self.region, rows, self.allowed) * self.free[:, None]).sum(-1)
                )

    @cached_property
    def _spread(self) -> Interval:
        """The middle and the radius of what each number moves by, zero where it does not: columns
        (n, inputs, 1).
        """
        assert isinstance(self.region, Box | Ball)
        middle, radius = (side * self.free[:, :, None] for side in self.region.spread)
        return middle.reshape(len(self), -1, 1), radius.reshape(len(self), -1, 1)

    def shared_min_shift(self, shared: SharedRows) -> Floats:
        if self.allowed is None and shared.seen_words is None:
            return np.asarray(self.free @ shared.word_min_shifts.T)
        shifts = (
            shared.word_min_shifts[None]
            if self.allowed is None
            else shared_word_min_shifts(shared, self.allowed)
        )
        return np.asarray((shifts * shared.gathered(self.free)).sum(-1))

    def min_through(self, step: Step, rows: Floats) -> Floats:
        if not isinstance(self.region, Box) or not isinstance(step.weight, np.ndarray):
            return min_via_input(self, step, rows)
        words, (middle, radius) = np.flatnonzero(self.free.any(0)), self._spread
        middle_values = (self.region.center.ravel() + middle[..., 0]) @ step.weight.T
        word_weights = step.weight.reshape(-1, *self.region.center.shape)[:, words].reshape(
            len(step.bias), -1
        )
        effects = (rows.reshape(-1, rows.shape[-1]) @ word_weights).reshape(*rows.shape[:2], -1)
        np.abs(effects, out=effects)
        radii = radius.reshape(len(self), *self.region.center.shape)[:, words].reshape(
            len(self), -1, 1
        )
        return np.asarray(
            (np.matmul(rows, middle_values[..., None]) - np.matmul(effects, radii))[..., 0]
        )

    def minimiser(self, rows: Floats) -> Floats:
        if self.allowed is None:
            best = self.region.minimiser(rows)
        else:
            points = option_points(self.region)
            chosen = option_shifts(self.region, rows[:, None], self.allowed)[:, 0].argmin(-1)
            best = points[np.arange(points.shape[0]), chosen]
        return np.where(self.free[:, :, None], best, self.region.center)

    def branching_word(self, row: Floats, any_word: bool = False) -> int | None:
        if self.allowed is None:
            return None
        row_values = option_values(self.region, row)
        allowed = self.allowed[0]
        spread = np.where(allowed, row_values, -np.inf).max(-1) - np.where(
            allowed, row_values, np.inf
        ).min(-1)
        return first_largest(spread, self.free[0] & (allowed.sum(-1) > 1), at_least=0.0)

    def prefers_word_branching(self, row: Floats, open_relus: int, settings: Branching) -> bool:
        """Few enough combinations of options that trying them beats splitting relus."""
        if self.allowed is None:
            return False
        option_counts = self.allowed[0][self.free[0]].sum(-1)
        bits = float(np.log2(np.maximum(option_counts, 1)).sum())
        return few_enough(bits, open_relus, settings)

    def forced_words(self, row: Floats, gap: float) -> Ints:
        return np.zeros(0, dtype=np.int64)

    def split_on_word(self, position: int, row: Floats) -> tuple[ChosenOptions, Free, Free]:
        """The half of the word's options with the lower values, against the others."""
        chosen, *allowed_halves = split_options(self.region, self.allowed, position, row)
        first, second = (replace(self, allowed=allowed) for allowed in allowed_halves)
        return chosen, first, second

    @property
    def as_free(self) -> Free:
        return self


def joined_options(parts: Sequence[Bools | None]) -> Bools | None:
    """What is allowed in the sets of several batches, as one; None where nothing is restricted."""
    restricted = [part for part in parts if part is not None]
    return np.concatenate(restricted) if restricted else None

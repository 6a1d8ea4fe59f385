"""Restored: words of a perturbed text that go back to the original, at a limited cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Step
from suffice.prove.inputs.budgeted import TINY, Budgeted, ways
from suffice.prove.inputs.moves import Chosen, by_input
from suffice.prove.inputs.numbers import largest
from suffice.prove.inputs.shared import Shared


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
        return largest(-self.gains(row[None])[0], self.buyable[0], at_least=-np.inf if any_word else TINY)

    def few(self, row: Floats, relus: int) -> bool:
        """Few enough ways to spend the budget on words that matter that trying them beats splitting relus."""
        words = self.buyable[0] & (self.gains(row[None])[0] < 0)
        return ways(words, self.budget[0], self.cost) <= relus / 4

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

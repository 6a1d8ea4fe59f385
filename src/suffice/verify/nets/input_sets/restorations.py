"""Restorations: words of a perturbed text that go back to the original at a limited cost.

Method: the restoration lemma's inputs, relaxed by the fractional knapsack (theory, section 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Step
from suffice.settings import Branching
from suffice.verify.nets.input_sets.chunks import first_largest
from suffice.verify.nets.input_sets.knapsack import (
    Knapsack,
    few_enough,
    log2_affordable_subsets,
)
from suffice.verify.nets.input_sets.moves import ChosenOptions, min_via_input
from suffice.verify.nets.input_sets.shared_rows import SharedRows
from suffice.verify.tolerances import SMALLEST


@dataclass(frozen=True, eq=False)
class Restorations(Knapsack):
    """A `perturbed` text with any `optional` words put back to the original, at a cost of at most
    `budget` (n,).

    Inputs are perturbed + r (center - perturbed) for r in [0, 1] per word with costs·r <= budget.
    """

    center: Floats
    perturbed: Floats
    optional: Bools
    costs: Floats
    budget: Floats

    @property
    def anchor(self) -> Floats:
        return self.perturbed

    def __len__(self) -> int:
        return len(self.perturbed)

    def join(self, others: Sequence[Restorations]) -> Restorations:
        parts = (self, *others)
        perturbed = np.concatenate([part.perturbed for part in parts])
        optional = np.concatenate([part.optional for part in parts])
        return Restorations(
            self.center,
            perturbed,
            optional,
            self.costs,
            np.concatenate([part.budget for part in parts]),
        )

    def take(self, index: Ints | slice) -> Restorations:
        return Restorations(
            self.center, self.perturbed[index], self.optional[index], self.costs, self.budget[index]
        )

    @cached_property
    def restoring_shift(self) -> Floats:
        """What restoring each word adds: (n, length, dimension)."""
        return self.center - self.perturbed

    def min_shift(self, rows: Floats) -> Floats:
        gains = np.matmul(rows.transpose(0, 2, 1, 3), self.restoring_shift[..., None])[..., 0]
        return self.knapsack_min(gains.transpose(0, 2, 1))

    def shared_min_shift(self, shared: SharedRows) -> Floats:
        return self.knapsack_min(
            shared.word_products(self.restoring_shift.transpose(1, 2, 0)).transpose(2, 0, 1), shared
        )

    def min_through(self, step: Step, rows: Floats) -> Floats:
        if not isinstance(step.weight, np.ndarray):
            return min_via_input(self, step, rows)
        weight = step.weight.reshape(-1, *self.center.shape).transpose(1, 0, 2)
        # of each word: (n, units, length)
        word_shifts = np.matmul(weight, self.restoring_shift.transpose(1, 2, 0)).transpose(2, 1, 0)
        perturbed_values = self.perturbed.reshape(len(self), -1) @ step.weight.T
        return np.asarray(
            np.matmul(rows, perturbed_values[..., None])[..., 0]
            + self.knapsack_min(np.matmul(rows, word_shifts))
        )

    def word_gains(self, rows: Floats) -> Floats:
        """How far restoring each word (n, length) moves rows (n, length, dimension)."""
        return np.asarray(np.einsum("bld,bld->bl", rows, self.restoring_shift))

    def minimiser(self, rows: Floats) -> Floats:
        return (
            self.perturbed
            + self.knapsack_argmin(self.word_gains(rows))[:, :, None] * self.restoring_shift
        )

    def branching_word(self, row: Floats, any_word: bool = False) -> int | None:
        return first_largest(
            -self.word_gains(row[None])[0],
            self.affordable[0],
            at_least=-np.inf if any_word else SMALLEST,
        )

    def prefers_word_branching(self, row: Floats, open_relus: int, settings: Branching) -> bool:
        """Few enough ways to spend the budget on words that matter that trying them beats splitting
        relus.
        """
        words = self.affordable[0] & (self.word_gains(row[None])[0] < 0)
        bits = log2_affordable_subsets(words, self.budget[0], self.costs)
        return few_enough(bits, open_relus, settings)

    def forced_words(self, row: Floats, gap: float) -> Ints:
        return self.forced(self.word_gains(row[None])[0], gap)

    def split_on_word(
        self, position: int, row: Floats
    ) -> tuple[ChosenOptions, Restorations, Restorations]:
        """The word restored, and paid for, against not restored."""
        optional = self.optional.copy()
        perturbed = self.perturbed.copy()
        budget_left = self.budget - self.costs[position]
        optional[:, position], perturbed[:, position] = False, self.center[position]
        restored = Restorations(self.center, perturbed, optional, self.costs, budget_left)
        return (
            None,
            restored,
            Restorations(self.center, self.perturbed, optional, self.costs, self.budget),
        )

    @property
    def as_free(self) -> None:
        return None

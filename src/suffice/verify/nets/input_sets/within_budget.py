"""Within a budget: words that leave the original at a limited cost, or few at a time.

Method: the fractional knapsack over words that leave the text (theory, section 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Step
from suffice.sets.regions import Region
from suffice.settings import Branching
from suffice.verify.nets.input_sets.chunks import first_largest, mask_of_lowest, sum_of_lowest
from suffice.verify.nets.input_sets.free import Free, joined_options
from suffice.verify.nets.input_sets.knapsack import (
    Knapsack,
    few_enough,
    log2_affordable_subsets,
)
from suffice.verify.nets.input_sets.moves import (
    ChosenOptions,
    min_via_input,
    split_options,
    word_min_shifts,
)
from suffice.verify.nets.input_sets.shared_rows import SharedRows, shared_word_min_shifts
from suffice.verify.tolerances import SMALLEST


@dataclass(frozen=True, eq=False)
class WithinBudget(Knapsack):
    """The text with `free` words, and `optional` ones worth at most `budget` (n,), ranging over
    their sets.

    `allowed` restricts a Choice region, as for `Free`; with `max_changes` (n,), no more than so
    many optional words move.
    """

    region: Region
    free: Bools
    optional: Bools
    costs: Floats
    budget: Floats
    allowed: Bools | None = None
    max_changes: Floats | None = None

    @property
    def movable(self) -> Bools:
        """The words (n, length) that can move."""
        return self.free | self.optional

    @property
    def anchor(self) -> Floats:
        return self.region.center[None]

    def __len__(self) -> int:
        return len(self.free)

    def join(self, others: Sequence[WithinBudget]) -> WithinBudget:
        parts = (self, *others)
        return replace(
            self,
            free=np.concatenate([part.free for part in parts]),
            optional=np.concatenate([part.optional for part in parts]),
            budget=np.concatenate([part.budget for part in parts]),
            allowed=joined_options([part.allowed for part in parts]),
            max_changes=None
            if self.max_changes is None
            else np.concatenate([_max_changes_of(part) for part in parts]),
        )

    def take(self, index: Ints | slice) -> WithinBudget:
        return replace(
            self,
            free=self.free[index],
            optional=self.optional[index],
            budget=self.budget[index],
            allowed=None if self.allowed is None else self.allowed[index],
            max_changes=None if self.max_changes is None else self.max_changes[index],
        )

    @cached_property
    def affordable(self) -> Bools:
        within_budget = np.asarray(self.optional & (self.costs <= self.budget[:, None]))
        return (
            within_budget
            if self.max_changes is None
            else within_budget & (self.max_changes[:, None] > 0)
        )

    def knapsack_min(self, gains: Floats, shared: SharedRows | None = None) -> Floats:
        """The larger of the bounds by the budget alone and by the number of changes alone; both are
        valid."""
        within_budget = super().knapsack_min(gains, shared)
        if self.max_changes is None:
            return within_budget
        return np.maximum(
            within_budget,
            sum_of_lowest(np.minimum(gains, 0.0) * self._affordable_mask(shared), self.max_changes),
        )

    def min_shift(self, rows: Floats) -> Floats:
        return self._total_min_shift(word_min_shifts(self.region, rows, self.allowed))

    def shared_min_shift(self, shared: SharedRows) -> Floats:
        if self.allowed is not None:
            return self._total_min_shift(shared_word_min_shifts(shared, self.allowed), shared)
        return self._total_min_shift(
            np.broadcast_to(shared.word_min_shifts, (len(self), *shared.word_min_shifts.shape)),
            shared,
        )

    def _total_min_shift(self, gains: Floats, shared: SharedRows | None = None) -> Floats:
        """The words that are free anyway, and the best of the others."""
        free = self.free[:, None] if shared is None else shared.gathered(self.free)
        return np.asarray((gains * free).sum(-1) + self.knapsack_min(gains, shared))

    def min_through(self, step: Step, rows: Floats) -> Floats:
        return min_via_input(self, step, rows)

    def word_gains(self, rows: Floats) -> Floats:
        """How far freeing each word can lower rows (n, length, dimension): (n, length), at most
        0."""
        return word_min_shifts(self.region, rows[:, None], self.allowed)[:, 0]

    def minimiser(self, rows: Floats) -> Floats:
        """Words that the knapsack takes only in part stay as they are: the point is always an
        allowed one."""
        gains = self.word_gains(rows)
        whole = self.knapsack_argmin(gains) == 1.0
        if self.max_changes is not None:
            whole = mask_of_lowest(np.where(whole, gains, 0.0), self.max_changes) == 1.0
        return Free(self.region, self.free | whole, self.allowed).minimiser(rows)

    def branching_word(self, row: Floats, any_word: bool = False) -> int | None:
        """First which words change at all; what they become is decided after that."""
        word = first_largest(
            -self.word_gains(row[None])[0],
            self.affordable[0],
            at_least=-np.inf if any_word else SMALLEST,
        )
        return (
            self._free_alone.branching_word(row, any_word)
            if word is None and not self.affordable.any()
            else word
        )

    def prefers_word_branching(self, row: Floats, open_relus: int, settings: Branching) -> bool:
        """Few enough sets of changed words that trying them beats splitting relus; then what they
        become."""
        if not self.affordable.any():
            return self._free_alone.prefers_word_branching(row, open_relus, settings)
        words = self.affordable[0] & (self.word_gains(row[None])[0] < 0)
        bits = log2_affordable_subsets(words, self.budget[0], self.costs)
        return few_enough(bits, open_relus, settings)

    def forced_words(self, row: Floats, gap: float) -> Ints:
        words = self.forced(self.word_gains(row[None])[0], gap)
        return words if self.max_changes is None else words[: int(self.max_changes[0])]

    def split_on_word(
        self, position: int, row: Floats
    ) -> tuple[ChosenOptions, WithinBudget, WithinBudget]:
        """The word free, and paid for, against fixed; or the options of one that is free
        already."""
        if self.free[0, position]:
            chosen, *allowed_halves = split_options(self.region, self.allowed, position, row)
            first, second = (replace(self, allowed=allowed) for allowed in allowed_halves)
            return chosen, first, second
        mark = np.arange(self.free.shape[1]) == position
        without = replace(self, optional=self.optional & ~mark)
        max_changes = None if self.max_changes is None else self.max_changes - 1
        taken = replace(
            without,
            free=self.free | mark,
            budget=self.budget - self.costs[position],
            max_changes=max_changes,
        )
        return None, taken, without

    @property
    def as_free(self) -> Free | None:
        return None if self.affordable.any() else self._free_alone

    @property
    def _free_alone(self) -> Free:
        return Free(self.region, self.free, self.allowed)


def _max_changes_of(part: WithinBudget) -> Floats:
    assert part.max_changes is not None
    return part.max_changes

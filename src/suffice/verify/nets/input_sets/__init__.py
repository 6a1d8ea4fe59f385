"""Input sets: what ranges over what in a query, as batches that give least values of linear forms.

`Free` words range over their sets. With `WithinBudget`, words leave the original at a limited cost;
with `Restorations`, words of a perturbed text go back to the original at a limited cost. Bounds
need of a set only its anchor point and its support function there, the least shift of a linear
form; a proof also needs to know on which word to split a set, and into what.

Method: support functions (theory, section 1), the fractional knapsack of a budget (section 6, Lemma
7).

Read in this order: chunks.py, moves.py and shared_rows.py (how far words shift linear forms),
knapsack.py (which words a budget buys), and one module for each kind of set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

from suffice.model.network import Floats, Ints
from suffice.model.step import Step
from suffice.settings import Branching
from suffice.verify.nets.input_sets.chunks import chunk_slices, quantised
from suffice.verify.nets.input_sets.free import Free, Interval
from suffice.verify.nets.input_sets.moves import ChosenOptions, SupportFunction, word_min_shifts
from suffice.verify.nets.input_sets.restorations import Restorations
from suffice.verify.nets.input_sets.shared_rows import SharedRows
from suffice.verify.nets.input_sets.within_budget import WithinBudget

__all__ = [
    "ChosenOptions",
    "Free",
    "InputSets",
    "Interval",
    "Restorations",
    "SharedRows",
    "WithinBudget",
    "chunk_slices",
    "quantised",
    "word_min_shifts",
]


class InputSets(SupportFunction, Protocol):
    """A batch of input sets: anchors, support functions at them, and how to split a set."""

    def shared_min_shift(self, shared: SharedRows) -> Floats:
        """`min_shift` for rows that all sets of the batch share: (n, r)."""

    def min_through(self, step: Step, rows: Floats) -> Floats:
        """Least value (n, r) of rows (n, r, units) over what a step makes of the inputs, without
        its bias.
        """

    def minimiser(self, rows: Floats) -> Floats:
        """Points (n, length, dimension) of the sets that attain `min_shift` of rows (n, length,
        dimension), or nearly with a budget."""

    def take(self, index: Ints | slice) -> Self:
        """The batch of the chosen sets."""

    def join(self, others: Sequence[Self]) -> Self:
        """This batch and the others' as one."""

    def __len__(self) -> int: ...

    # --- for a single set, given the row (length, dimension) of the bound that does not hold ---

    def branching_word(self, row: Floats, any_word: bool = False) -> int | None:
        """The undecided word that moves the row most; None if none moves it, unless any undecided
        one will do."""

    def prefers_word_branching(self, row: Floats, open_relus: int, settings: Branching) -> bool:
        """Whether splitting words promises more than splitting that many open relus."""

    def forced_words(self, row: Floats, gap: float) -> Ints:
        """Words without which the bound would rise by more than `gap`: reduced-cost fixing in the
        knapsack."""

    def split_on_word(self, position: int, row: Floats) -> tuple[ChosenOptions, Self, Self]:
        """The set split on a word: the options of the first child, and both children."""

    @property
    def as_free(self) -> Free | None:
        """The same set as plain free words, once no other decision is left; None while one is."""

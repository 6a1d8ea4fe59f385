"""Input sets: what ranges over what in a question, as batches that give the least value of linear forms.

`Free` words range over their sets. `Freed` words leave the original, at a limited cost. `Restored` words of a perturbed
text go back to the original, at a limited cost. Bounds need only the anchor point of a set and how far a linear form
can fall from it; a proof also needs to know on which word to split a set, and into what.

Read in this order: numbers.py, moves.py and shared.py (how far words can move linear forms), budgeted.py (which words a
budget buys), and one module for each kind of set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

from suffice.model.network import Floats, Ints
from suffice.model.step import Step
from suffice.prove.inputs.free import Free, Interval
from suffice.prove.inputs.freed import Freed
from suffice.prove.inputs.moves import Chosen, Falling, falls
from suffice.prove.inputs.numbers import PIECE, pieces, steady
from suffice.prove.inputs.restored import Restored
from suffice.prove.inputs.shared import Shared

__all__ = [
    "PIECE",
    "Chosen",
    "Free",
    "Freed",
    "Inputs",
    "Interval",
    "Restored",
    "Shared",
    "falls",
    "pieces",
    "steady",
]


class Inputs(Falling, Protocol):
    """A batch of input sets: an anchor point each, how far a linear form can fall from it, and where to split it."""

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

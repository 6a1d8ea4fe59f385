"""Regions: the inputs that a leaf speaks about, as boxes of numbers, or the reason why they are
none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from suffice.model.network import Floats, Ints
from suffice.proof.check.inputs import RestorationState, VariedInputs, VariedState
from suffice.proof.check.sets import CHOICES, Sets

MOST_BOXES = 64  # of one question: tools look at each of them


class Unwritten(Exception):
    """A question that ONNX and VNN-LIB have no plain words for; the message says why."""


@dataclass(frozen=True, eq=False)
class NumberRange:
    """All numbers between `low` and `high`, one after the other."""

    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Becomes:
    """One thing that a word may become: a box of vectors, and whether that has to be paid for."""

    low: Floats
    high: Floats
    paid: bool = False


@dataclass(frozen=True, eq=False)
class Start:
    """A text that is half made: what was chosen for its first words, and what is left of budget and
    count.
    """

    chosen: tuple[Becomes, ...]
    left: int
    count: int

    def then(self, step: Becomes, price: int) -> Start:
        return Start((*self.chosen, step), self.left - price * step.paid, self.count - step.paid)


NumberRanges: TypeAlias = tuple[NumberRange, ...]


def boxes_of(inputs: VariedInputs, state: VariedState) -> NumberRanges:
    """Boxes that hold, together, just the inputs of a state: texts one by one where words have
    choices.
    """
    prices = np.ones(len(state.optional), dtype=np.int64) if inputs.costs is None else inputs.costs
    starts = [
        Start(
            (), state.budget_left, len(prices) if state.changes_left is None else state.changes_left
        )
    ]
    free = _all_can_be_paid(inputs.sets, state, prices)
    for place, price in enumerate(prices.tolist()):
        options = _options(inputs.sets, state, place, paid=bool(state.optional[place]) and not free)
        made = [start.then(option, price) for start in starts for option in options]
        starts = [start for start in made if start.left >= 0 and start.count >= 0]
        if len(starts) > MOST_BOXES:
            what = (
                "texts are"
                if inputs.sets.kind in CHOICES
                else "ways to choose the changed words are"
            )
            raise Unwritten(f"more than {MOST_BOXES} {what} left here")
    return tuple(NumberRange(_joined(start, "low"), _joined(start, "high")) for start in starts)


def _joined(start: Start, side: str) -> Floats:
    return np.concatenate([getattr(one, side) for one in start.chosen])


def _all_can_be_paid(sets: Sets, state: VariedState, prices: Ints) -> bool:
    """Whether budget and count leave nothing out: then open words are simply free."""
    moving = state.optional & (sets.low < sets.high).any(-1)
    return int(prices[moving].sum()) <= state.budget_left and (
        state.changes_left is None or int(moving.sum()) <= state.changes_left
    )


def _options(sets: Sets, state: VariedState, place: int, paid: bool) -> list[Becomes]:
    """What a word may become; one that has to be paid for may also stay as it is, for nothing."""
    own = sets.center[place]
    allowed = state.allowed[place]
    stays = Becomes(own, own)
    if sets.kind in CHOICES:
        assert sets.points is not None
        vectors = {vector.tobytes(): vector for vector in sets.points[place][allowed]}
        return [_choice(vector, own, paid) for vector in vectors.values()]
    if not allowed[-1] or (sets.low[place] == sets.high[place]).all():
        return [stays]
    _need_a_box(sets)
    return [*([stays] if paid else []), Becomes(sets.low[place], sets.high[place], paid)]


def _choice(vector: Floats, own: Floats, paid: bool) -> Becomes:
    return Becomes(vector, vector, paid and bool((vector != own).any()))


def _need_a_box(sets: Sets) -> None:
    if sets.kind == "knn-hull":
        raise Unwritten("a hull of words is no box, and VNN-LIB tools take boxes of inputs only")
    if sets.norm != np.inf:
        raise Unwritten(
            f"a ball of the {sets.norm:g}-norm is no box, and VNN-LIB tools take boxes of "
            "inputs only"
        )


def shares_of(state: RestorationState, costs: Ints, words: Ints) -> tuple[NumberRange, int]:
    """How far each attacked word is back, from 0 to 1, and what all of them may cost together.

    Between 0 and 1 lie no texts, but the bound of a leaf holds there too: it takes the last word in
    part.
    """
    back = state.restored[words]
    can = (state.optional & (costs <= state.budget_left))[words]
    spent = int(costs[words][back].sum())
    return NumberRange(
        back.astype(np.float64), (back | can).astype(np.float64)
    ), state.budget_left + spent

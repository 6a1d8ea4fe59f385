"""Shared: rows over the input that all sets of a batch have in common."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Step, is_sparse
from suffice.prove.inputs.moves import falls, points_of, word_falls
from suffice.prove.inputs.numbers import pieces
from suffice.sets.regions import Region


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
        return self.products((points_of(self.region) - self.region.center[:, None]).transpose(0, 2, 1))


def _windowed(weight: Floats) -> bool:
    """Whether no row of a dense weight (rows, length, dimension) sees more than half of the words."""
    return bool(2 * np.count_nonzero(weight.any(-1), axis=1).max(initial=0) <= weight.shape[1])


def _among(units: Ints, rows: Ints, block: Floats) -> tuple[Ints, Floats]:
    """The rows of a block that are some of the units (in order), counted among those."""
    places = np.searchsorted(units, rows)
    there = units[np.minimum(places, len(units) - 1)] == rows
    return places[there], block[there]


def shared_falls(shared: Shared, allowed: Bools) -> Floats:
    """The same for shared rows and choices that differ from set to set: (n, r, length)."""
    values = shared.choices
    found = np.empty((len(allowed), *values.shape[:2]))
    for some in pieces(len(allowed), values.size):
        marks = np.moveaxis(allowed[some].astype(np.float64), -1, 1)
        mine = np.moveaxis(shared.seen(marks), 1, -1) > 0  # (n, 1 or r, s, m)
        found[some] = np.where(mine, values, np.inf).min(-1)
    return np.where(np.isfinite(found), found, 0.0)  # of a word that is not there nothing is allowed

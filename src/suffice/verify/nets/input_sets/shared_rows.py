"""Rows over the input that all sets of a batch share, so that shifts by word are kept.

Method: support functions by word, with the sparsity of convolutions (theory, sections 1 and 2).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Step, is_sparse
from suffice.sets.regions import Region
from suffice.verify.nets.input_sets.chunks import chunk_slices
from suffice.verify.nets.input_sets.moves import min_shifts_of_word, option_points, word_min_shifts


class SharedRows:
    """Rows W and -W over the input that all sets of a batch share; their shifts by each word are
    kept.

    Rows of a convolution see few words each: `seen_words` (rows, s) are the words that each of them
    sees, and everything is worked out for those only.
    """

    def __init__(self, step: Step, units: Ints, region: Region) -> None:
        self.weight = step.weight[units]
        self.region = region
        windowed = is_sparse(step.weight) or _sees_few_words(self.dense_rows)
        self.word_blocks = (
            [_restricted_block(units, *block) for block in step.by_word(len(region.center))]
            if windowed
            else []
        )
        self.seen_words = self._list_seen_words() if windowed else None

    def __len__(self) -> int:
        return 2 * int(self.weight.shape[0])

    @property
    def max_seen(self) -> int:
        """How many words a row sees at the most."""
        return len(self.region.center) if self.seen_words is None else int(self.seen_words.shape[1])

    def _list_seen_words(self) -> Ints:
        """The words that each row sees, in order; what is left over is filled with the
        first word.
        """
        seen = np.zeros((self.weight.shape[0], len(self.word_blocks)), dtype=bool)
        for word, (rows, _) in enumerate(self.word_blocks):
            seen[rows, word] = True
        order = np.argsort(~seen, axis=1, kind="stable")[
            :, : max(1, int(seen.sum(1).max(initial=0)))
        ]
        return np.where(np.take_along_axis(seen, order, 1), order, -1)

    def values_at(self, points: Floats) -> Floats:
        """The values (n, r) of the rows at points (n, length, dimension)."""
        values = np.asarray((self.weight @ points.reshape(len(points), -1).T).T)
        return np.concatenate([values, -values], axis=1)

    def gathered(self, by_word: Floats | Bools) -> Floats:
        """Values by word (..., length) gathered at the words that each row sees: (..., 1 or r,
        s)."""
        if self.seen_words is None:
            return np.asarray(by_word[..., None, :])
        found = np.where(self.seen_words < 0, 0, by_word[..., self.seen_words])
        return np.concatenate([found, found], axis=-2)

    def word_products(self, shifts: Floats) -> Floats:
        """rows·move for moves (length, dimension, k) of each word: (r, s, k)."""
        if self.seen_words is None:
            found = np.matmul(self.dense_rows.transpose(1, 0, 2), shifts).transpose(1, 0, 2)
            return np.concatenate([found, -found])
        found = np.zeros((len(self.seen_words), self.max_seen, shifts.shape[-1]))
        for word, (rows, block) in enumerate(self.word_blocks):
            found[rows, self._slots_of_words[word]] = block @ shifts[word]
        return np.concatenate([found, -found])

    @cached_property
    def _slots_of_words(self) -> list[Ints]:
        """For each word, its slot in each of the rows that see it."""
        assert self.seen_words is not None
        return [
            (self.seen_words[rows] == word).argmax(1)
            for word, (rows, _) in enumerate(self.word_blocks)
        ]

    @property
    def dense_rows(self) -> Floats:
        """A dense weight as (rows, length, dimension)."""
        return self.weight.reshape(-1, *self.region.center.shape)

    @cached_property
    def word_min_shifts(self) -> Floats:
        """The least shift of each row by each word alone: (r, s), at most 0."""
        if self.seen_words is None:
            return np.concatenate(
                [word_min_shifts(self.region, side) for side in (self.dense_rows, -self.dense_rows)]
            )
        found = np.zeros((2, len(self.seen_words), self.max_seen))
        for word, (rows, block) in enumerate(self.word_blocks):
            slots = self._slots_of_words[word]
            found[0, rows, slots], found[1, rows, slots] = (
                min_shifts_of_word(self.region, word, signed_block)
                for signed_block in (block, -block)
            )
        return found.reshape(-1, self.max_seen)

    @cached_property
    def option_shifts(self) -> Floats:
        """rows·(point - center) for every point of every word: (r, s, m)."""
        return self.word_products(
            (option_points(self.region) - self.region.center[:, None]).transpose(0, 2, 1)
        )


def _sees_few_words(weight: Floats) -> bool:
    """Whether no row of a dense weight (rows, length, dimension) sees more than half of
    the words.
    """
    return bool(2 * np.count_nonzero(weight.any(-1), axis=1).max(initial=0) <= weight.shape[1])


def _restricted_block(units: Ints, rows: Ints, block: Floats) -> tuple[Ints, Floats]:
    """The rows of a block that are some of the units (in order), counted among those."""
    places = np.searchsorted(units, rows)
    present = units[np.minimum(places, len(units) - 1)] == rows
    return places[present], block[present]


def shared_word_min_shifts(shared: SharedRows, allowed: Bools) -> Floats:
    """Least shifts of shared rows by word, with allowed options that differ from set to set: (n, r,
    s)."""
    shifts = shared.option_shifts
    found = np.empty((len(allowed), *shifts.shape[:2]))
    for chunk in chunk_slices(len(allowed), shifts.size):
        masks = np.moveaxis(allowed[chunk].astype(np.float64), -1, 1)
        seen_allowed = np.moveaxis(shared.gathered(masks), 1, -1) > 0  # (n, 1 or r, s, m)
        found[chunk] = np.where(seen_allowed, shifts, np.inf).min(-1)
    # of a word that is not there nothing is allowed
    return np.where(np.isfinite(found), found, 0.0)

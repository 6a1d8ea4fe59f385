"""A bag of words: what a fitted scikit-learn pipeline does with a text, so that its worst case can
be computed.

Tokens are counted (single ones, pairs of neighbours, ...), each count c becomes scale * tf(c), the
vector is divided by its norm, and the scores are linear in it. A vector of zeros stays as it is, as
in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import scipy  # its subpackages load on first use

from suffice.model.network import Floats, Ints
from suffice.model.streams import Stream
from suffice.model.trees import Trees

Tokens: TypeAlias = tuple[str, ...]
Count: TypeAlias = Literal["count", "log", "once"]
Norm: TypeAlias = Literal["l2", "l1"] | None


@dataclass(frozen=True, eq=False)
class Bag:
    """A lowered pipeline. `column` gives a feature's place and sign, or None where the pipeline
    does not know it.
    """

    # of a string: prepared, cut into tokens, stop words gone
    tokens: Callable[[str], Sequence[str]]
    separates: Callable[[str], bool]  # whether a character ends every token on both of its sides
    orders: tuple[int, int]  # the shortest and longest n-gram
    column: Callable[[str], tuple[int, float] | None]
    scale: Floats  # (features,): idf, or 1
    tf: Count
    norm: Norm
    rows: Floats  # (classes, features)
    bias: Floats  # (classes,)
    examples: tuple[str, ...] = ()  # some words that it knows
    curved: bool = False  # the pipeline's own scores are a curve of these: only signs are the same
    trees: Trees | None = None  # what decides in the place of `rows`
    # the program's own model in the place of `rows`
    model: Callable[[scipy.sparse.csr_matrix], Floats] | None = None
    streams: tuple[
        Stream, ...
    ] = ()  # where features reach over words: then `tokens` are the features of a whole text

    def features(self, tokens: Sequence[str]) -> dict[int, float]:
        """The counts of a list of tokens, by column."""
        found: dict[int, float] = {}
        for gram in grams(tokens, self.orders):
            place = self.column(gram)
            if place is not None:
                found[place[0]] = found.get(place[0], 0.0) + place[1]
        return found

    def scores(self, tokens: Sequence[str]) -> Floats:
        """The scores of a list of tokens, worked out here (scikit-learn's own are what counts).

        Not numbers where trees stand so close to a threshold that the program's own rounding
        decides.
        """
        found = self.features(tokens)
        where = np.array(list(found), dtype=np.int64)
        counts = np.array(list(found.values()), dtype=np.float64)
        values = self.scale[where] * term(self.tf, counts)
        size = norm(self.norm, values)
        values = values / size if size > 0 else values
        if self.trees is not None:
            return self.trees.scores(dict(zip(where.tolist(), values.tolist(), strict=True)))
        if self.model is not None:
            row = scipy.sparse.csr_matrix(
                (values, (np.zeros_like(where), where)), shape=(1, len(self.scale))
            )
            return np.asarray(self.model(row)[0])
        return np.asarray(self.rows[:, where] @ values + self.bias)

    @property
    def bounded(self) -> bool:
        """Whether the worst case can be bounded: weights of single tokens and of pairs. Else there
        are tables.
        """
        return self.trees is None and self.model is None and self.most <= 2

    @cached_property
    def most(self) -> int:
        """The most tokens that stand in one feature."""
        return self.orders[1]


def grams(tokens: Sequence[str], orders: tuple[int, int]) -> list[str]:
    """All runs of tokens of the given lengths, written as scikit-learn writes them."""
    return [
        " ".join(tokens[i : i + size])
        for size in range(orders[0], orders[1] + 1)
        for i in range(len(tokens) - size + 1)
    ]


def term(kind: Count, counts: Floats) -> Floats:
    """What a count counts: itself, one plus its logarithm, or once."""
    match kind:
        case "count":
            return counts
        case "log":
            return np.asarray(np.where(counts > 0, 1.0 + np.log(np.maximum(counts, 1.0)), 0.0))
        case "once":
            return np.asarray(counts != 0, dtype=np.float64)


def norm(kind: Norm, values: Floats) -> float:
    """The length that values are divided by."""
    match kind:
        case "l2":
            return float(np.sqrt((values * values).sum()))
        case "l1":
            return float(np.abs(values).sum())
        case None:
            return 1.0


__all__ = ["Bag", "Count", "Floats", "Ints", "Norm", "Tokens", "grams", "norm", "term"]

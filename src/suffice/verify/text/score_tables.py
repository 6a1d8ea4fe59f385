"""Scores of all allowed texts of a short text, as rows of features, for models that are only run.

The tokens of all texts are written into one matrix, runs of neighbours are looked up together, and
the model is given the rows: far more texts in a second than strings. What is too close to zero for
that is left to be run as a string.

Method: enumeration (theory, section 11).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
import scipy  # its subpackages load on first use

from suffice import work
from suffice.model.bag import term
from suffice.model.network import Bools, Floats, Ints
from suffice.settings import RESOURCES
from suffice.verify import tolerances
from suffice.verify.contract import Budget
from suffice.verify.text.lattice import OptionLattice
from suffice.verify.text.tree_ensembles import (
    TableProved,
    TableRefuted,
    TableUnknown,
    decide_table,
)


@dataclass(eq=False)
class TextScores:
    """The scores (texts, classes) of all that one text may become; its lattice has no
    neighbours.
    """

    lattice: OptionLattice
    budget: Budget = field(default_factory=Budget)

    @cached_property
    def axes(self) -> tuple[int, ...]:
        return tuple(np.flatnonzero(np.diff(self.lattice.offsets) > 1).tolist())

    @cached_property
    def all_choices(self) -> list[list[int]]:
        ends = self.lattice.offsets.tolist()
        return [list(range(ends[i], ends[i + 1])) for i in range(self.lattice.word_count)]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(self.all_choices[word]) for word in self.axes)

    @property
    def fits(self) -> bool:
        runs = sum(len(self.tokens) ** order for order in range(1, self.lattice.bag.most + 1))
        return math.prod(self.shape) <= RESOURCES.table_entries and runs <= RESOURCES.token_runs

    @cached_property
    def token_numbers(self) -> list[list[int]]:
        """The tokens of each choice, as numbers."""
        number = {token: k for k, token in enumerate(self.tokens)}
        return [[number[token] for token in tokens] for tokens in self._token_lists]

    @cached_property
    def _token_lists(self) -> list[tuple[str, ...]]:
        pieces = [piece for group in self.lattice.words for piece in group]
        return [tuple(self.lattice.bag.tokens(piece)) if piece else () for piece in pieces]

    @cached_property
    def tokens(self) -> list[str]:
        return sorted({token for tokens in self._token_lists for token in tokens})

    @cached_property
    def known_runs(self) -> tuple[Ints, Ints, Floats]:
        """Every known run of tokens as a number, in order, with its column and sign."""
        bag = self.lattice.bag
        found = []
        for order in range(bag.orders[0], bag.orders[1] + 1):
            for run in product(range(len(self.tokens)), repeat=order):
                place = bag.column(" ".join(self.tokens[k] for k in run))
                if place is not None:
                    found.append((self._run_code(run), *place))
        found.sort()
        codes, columns = (np.array([row[k] for row in found], dtype=np.int64) for k in (0, 1))
        return codes, columns, np.array([row[2] for row in found], dtype=np.float64)

    def _run_code(self, run: tuple[int, ...]) -> int:
        code = 0
        for token in run:
            code = code * (len(self.tokens) + 1) + token + 1
        return code

    @cached_property
    def scores(self) -> Floats:
        """(texts, classes), the texts in the order of their choices, the last word's first."""
        return np.concatenate([self._chunk_scores(chunk) for chunk in self.chunks()])

    def chunks(self) -> Iterator[Ints]:
        """All texts as choices, so many at a time."""
        total = math.prod(self.shape)
        size = RESOURCES.rows_at_once
        for start in range(0, total, size):
            self.budget.check_time()
            numbers = np.arange(start, min(start + size, total))
            work.count("table_entries", len(numbers))
            chosen = np.repeat(self.lattice.first[None], len(numbers), axis=0)
            for word, place in zip(
                self.axes, np.unravel_index(numbers, self.shape) if self.axes else (), strict=True
            ):
                chosen[:, word] += place
            yield chosen

    def _chunk_scores(self, chosen: Ints) -> Floats:
        bag = self.lattice.bag
        counts = self._counts(self._packed(chosen))
        counts.data = bag.scale[counts.indices] * term(bag.tf, counts.data)
        if bag.norm is not None:
            row = np.repeat(np.arange(len(chosen)), np.diff(counts.indptr))
            added = np.abs(counts.data) if bag.norm == "l1" else counts.data**2
            size = np.bincount(row, added, minlength=len(chosen))
            size = size if bag.norm == "l1" else np.sqrt(size)
            counts.data /= np.where(size > 0, size, 1.0)[row]
        assert bag.model is not None
        return bag.model(counts)

    def _packed(self, chosen: Ints) -> Ints:
        """The tokens of each text one after the other, -1 behind the last one."""
        width = max(map(len, self.token_numbers), default=1) or 1
        table = np.full((len(self.token_numbers), width), -1)
        for choice, tokens in enumerate(self.token_numbers):
            table[choice, : len(tokens)] = tokens
        spread = table[chosen].reshape(len(chosen), -1)
        return np.take_along_axis(spread, np.argsort(spread < 0, axis=1, kind="stable"), axis=1)

    def _counts(self, packed: Ints) -> scipy.sparse.csr_matrix:
        """The runs of tokens that each text has, counted by column."""
        low, high = self.lattice.bag.orders
        shape = (len(packed), len(self.lattice.bag.scale))
        orders = range(low, min(high, packed.shape[1]) + 1)
        if not orders or not len(
            self.known_runs[0]
        ):  # texts are shorter than every run, or no run is known
            return scipy.sparse.csr_matrix(shape, dtype=np.float64)
        found = [self._runs_of(order, packed) for order in orders]
        rows, columns, signs = (np.concatenate(side) for side in zip(*found, strict=True))
        return scipy.sparse.coo_matrix((signs, (rows, columns)), shape=shape).tocsr()

    def _runs_of(self, order: int, packed: Ints) -> tuple[Ints, Ints, Floats]:
        """The known runs of so many tokens: whose they are, their columns and their signs."""
        codes, columns, signs = self.known_runs
        width = packed.shape[1] - order + 1
        code = np.zeros((len(packed), width), dtype=packed.dtype)
        complete = np.ones((len(packed), width), dtype=bool)
        for k in range(order):
            token = packed[:, k : k + width]
            code = code * (len(self.tokens) + 1) + token + 1
            complete &= token >= 0
        index = np.minimum(np.searchsorted(codes, code), len(codes) - 1)
        row, position = np.nonzero(complete & (codes[index] == code))
        return row, columns[index[row, position]], signs[index[row, position]]


@dataclass(eq=False)
class ScoreTable:
    """The margins of all texts against one rival, with one axis per word that may change."""

    texts: TextScores
    label: int
    rival: int
    at_most: int | None

    @property
    def fits(self) -> bool:
        return self.texts.fits

    @property
    def tolerance(self) -> float:
        return tolerances.MODEL_MARGIN

    @cached_property
    def table(self) -> Floats:
        lead = self.texts.scores[:, self.label] - self.texts.scores[:, self.rival]
        lead = np.where(np.abs(lead) <= tolerances.MODEL_MARGIN, -np.inf, lead).reshape(
            self.texts.shape
        )
        return (
            lead
            if self.at_most is None
            else np.where(self._changed() <= self.at_most, lead, np.inf)
        )

    def _changed(self) -> Ints:
        total = np.zeros(self.texts.shape, dtype=np.int64)
        for axis, size in enumerate(self.texts.shape):
            is_changed = np.arange(size) > 0
            total += is_changed.reshape([size if k == axis else 1 for k in range(total.ndim)])
        return total

    def margin(self, chosen: Ints) -> float:
        """The lead of one text; -inf where rounding would decide."""
        first = self.texts.lattice.first
        return float(self.table[tuple(int(chosen[word] - first[word]) for word in self.texts.axes)])

    def decide(self, held: Bools, budget: Budget) -> TableProved | TableRefuted | TableUnknown:
        """Whether every allowed text that keeps the words of `held` keeps the label against the
        rival.
        """
        self.texts.budget = budget
        axes = self.texts.axes
        allowed = [
            some[:1] if held[word] else some for word, some in enumerate(self.texts.all_choices)
        ]
        part = self.table[tuple(0 if held[word] else slice(None) for word in axes)]
        return decide_table(
            allowed, tuple(word for word in axes if not held[word]), part, tolerances.TREE_MARGIN
        )

"""Values: what the operators of a foreign network give, as far as it depends on the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.model.graph import Block, Tensor
from suffice.model.network import Bools, Floats, Ints

# a NumPy array where nothing depends on the text, else one of the classes here, or Tensor
Value: TypeAlias = Any
Values: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True)
class Unavailable:
    """Why a value cannot be had; it is only said if the scores need the value."""

    reason: str


@dataclass(frozen=True, eq=False)
class Codes:
    """A number for each position that depends on its word alone, such as its index:
    codes[w] for w.
    """

    places: Ints  # which position stands where
    codes: NDArray[Any]  # (V,)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.places.shape


@dataclass(frozen=True, eq=False)
class Count(Codes):
    """A number that depends on how many words of a text are counted, and on nothing else.

    It is codes[n] where n of the words at `positions` are among those that `counted` (V,) marks.
    All `places` are 0: there is one such number for a text.
    """

    positions: Ints
    counted: Bools

    def alike(self, other: Count) -> bool:
        """Whether both always have the same value."""
        pairs = (
            (self.codes, other.codes),
            (self.positions, other.positions),
            (self.counted, other.counted),
        )
        return all(np.array_equal(*pair) for pair in pairs)


@dataclass(frozen=True, eq=False)
class Lookup:
    """Entries of the rows of `table` (V, d) that the words have: e stands for column e % d at e //
    d.
    """

    entries: Ints
    table: Floats

    @property
    def shape(self) -> tuple[int, ...]:
        return self.entries.shape

    @property
    def width(self) -> int:
        return int(self.table.shape[1])

    @property
    def places(self) -> Ints:
        """Which position stands where."""
        return self.entries // self.width


@dataclass(frozen=True, eq=False)
class Quotient:
    """`value` divided by a count, as a mean over words is: only `value` itself is worked with."""

    value: Value
    by: Count

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape  # type: ignore[no-any-return]


@dataclass(eq=False)
class Entrance:
    """Where vectors of words enter the network: every table that is looked up, side by side.

    `still` are the tables that only say which word it is, as a mask does. `held` are blocks of what
    was divided by a count before anything else was done with it.
    """

    tables: list[Floats] = field(default_factory=list)
    start: Tensor | None = None
    still: set[int] = field(default_factory=set)
    held: set[Block] = field(default_factory=set)

    def enter(self, lookup: Lookup) -> Tensor | Unavailable:
        """The looked-up vectors as columns of the embedded text; too early while the columns are
        still counted.
        """
        number = self._number(lookup.table)
        if number is None:
            self.tables.append(lookup.table)
        if self.start is None or number is None:
            return Unavailable("")
        before = sum(table.shape[1] for table in self.tables[:number])
        columns = before + lookup.entries % lookup.width
        return self.start.pick(lookup.places * self.start.shape[1] + columns)

    def enter_codes(self, codes: Codes) -> Tensor | Unavailable:
        """A number of each word as a column of its own, which no change of vectors may move."""
        lookup = Lookup(codes.places, np.asarray(codes.codes, dtype=np.float64)[:, None])
        found = self.enter(lookup)
        number = self._number(lookup.table)
        assert number is not None
        self.still.add(number)
        return found

    def columns(self) -> tuple[int, ...]:
        """The columns of the embedding that only say which word it is."""
        ends = np.cumsum([0, *(table.shape[1] for table in self.tables)])
        return tuple(
            int(column) for i in sorted(self.still) for column in range(ends[i], ends[i + 1])
        )

    def _number(self, table: Floats) -> int | None:
        return next(
            (i for i, known in enumerate(self.tables) if np.array_equal(known, table)), None
        )


def is_constant(value: Value) -> bool:
    if isinstance(value, tuple | list):
        return all(is_constant(part) for part in value)
    return not isinstance(value, Tensor | Codes | Lookup | Quotient | Unavailable)

"""A model: its words, and its network as units that are numbered over all steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .rationals import ZERO, Row, Span, Vector
from .reading import Places


@dataclass(frozen=True, eq=False)
class Model:
    """Units are numbered over all steps, from 0, and the numbers of the input end at -1.

    Of a unit z = rows[unit]·h + bias[unit], h being what the step before gives. `home` has, of a unit of a maximum, all
    units of it: the first gives the largest z, the others 0.
    """

    head: dict[str, Any]
    lookup: dict[str, int]
    table: list[tuple[float, ...]]
    steps: list[range]
    rows: Sequence[Row]
    bias: Vector
    relu: Places
    home: Mapping[int, list[int]]

    def place(self, word: str) -> int:
        return self.lookup.get(word, self.lookup[self.head["unknown"]])

    def give(self, unit: int, sums: Row) -> Fraction:
        group = self.home.get(unit)
        if group is None:
            return max(sums[unit], ZERO) if unit in self.relu else sums[unit]
        return max(sums[other] for other in group) if unit == group[0] else ZERO

    def intervals(self, ends: Sequence[Span]) -> dict[int, Span]:
        """Bounds of each unit's z, from those of the input's numbers on; at a single input both are its value."""
        low, high = ({n - len(ends): end[side] for n, end in enumerate(ends)} for side in (0, 1))
        least, most = dict[int, Fraction](), dict[int, Fraction]()
        for step in self.steps:
            for unit in step:
                sides = [sorted((f * low[j], f * high[j])) for j, f in self.rows[unit].items()]
                least[unit] = sum((a for a, _ in sides), self.bias[unit])
                most[unit] = sum((b for _, b in sides), self.bias[unit])
            for unit in step:
                low[unit], high[unit] = self.give(unit, least), self.give(unit, most)
        return {unit: (least[unit], most[unit]) for unit in least}

    def scores(self, vectors: Iterable[Vector]) -> list[Fraction]:
        found = self.intervals([(value, value) for vector in vectors for value in vector])
        return [found[unit][0] for unit in self.steps[-1]]

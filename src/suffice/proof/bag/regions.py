"""What is read of a bound, and the texts that it is about: the choices that are left of each word."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from suffice.errors import Rejected
from suffice.model.bag import Bag
from suffice.proof.bag.chain import Ways

LINE = "low high slope toll slopes"

Place = tuple[int, int]  # a word and one of its choices


def need(condition: Any, reason: str) -> None:
    if not condition:
        raise Rejected(0, reason)


def number(value: Any) -> float:
    """A finite number; a string that spells one is none."""
    right = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    need(right, f"{str(value)[:40]!r} is not a finite number")
    return float(value)


def fields(data: Any, *kinds: str) -> None:
    """An object has exactly the keys of one of the kinds."""
    right = isinstance(data, Mapping) and any(data.keys() == set(names.split()) for names in kinds)
    need(right, f"there must be exactly these: {' or '.join(kinds)}")


def read(lines: Any) -> list[Mapping[str, Any]]:
    """Lines of a bound, all of finite numbers, whether they are looked at or not."""
    for line in lines:
        fields(line, LINE)
        numbers = [line["low"], line["high"], line["slope"], *line["slopes"].values()]
        for value in [*numbers, *([] if line["toll"] is None else [line["toll"]])]:
            number(value)
    return list(lines)


@dataclass(frozen=True)
class Choice:
    """One thing that may stand at a word: how it is written, its tokens, and what they count."""

    written: str
    tokens: tuple[str, ...]
    counts: Mapping[int, float]


@dataclass(frozen=True, eq=False)
class Region:
    """The choices of each word that are left, which one is unchanged, how many may change, and what a choice costs.

    With `exactly` just so many change. `counts` has the least and the most that some features count in the texts that
    are meant.
    """

    allowed: tuple[tuple[int, ...], ...]
    reference: tuple[int, ...]
    limit: int | None
    extra: Mapping[Place, float] = field(default_factory=dict)
    counts: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    exactly: bool = False

    def holds(self, changed: int) -> bool:
        """Whether a text may change so many words."""
        return self.limit is None or changed == self.limit or (changed < self.limit and not self.exactly)


class Counts(Protocol):
    """The least and the most that each feature counts in the texts of a region."""

    least: dict[int, float]
    most: dict[int, float]


class Laid(Protocol):
    """A text before a bag: the choices of its words, and what these make of each other where they meet."""

    @property
    def bag(self) -> Bag: ...

    @property
    def words(self) -> Sequence[Sequence[Choice]]: ...

    @property
    def paired(self) -> Mapping[tuple[str, str], tuple[int, float]]: ...

    @property
    def ways(self) -> Ways | None: ...

    @property
    def look(self) -> Callable[[], None]: ...

    def walk(self, region: Region) -> Counts: ...


def counted(region: Region, node: Mapping[str, Any]) -> list[Region]:
    """Texts in which a feature counts so much at most, and those in which it counts more: counts are whole numbers."""
    column, most = node["column"], number(node["most"])
    need(type(column) is int and most == math.floor(most), "a split must be of a column, at a whole number")
    low, high = region.counts.get(column, (-math.inf, math.inf))
    few, many = (low, min(high, most)), (max(low, most + 1.0), high)
    return [replace(region, counts={**region.counts, column: ends}) for ends in (few, many)]

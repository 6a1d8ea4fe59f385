"""What a bound's line says, and the subset of texts it is about: the choices left of each word.

Method: checking (theory, sections 10 and 13).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from suffice.errors import Rejected
from suffice.model.bag import Bag
from suffice.proof.bag.trellis import Trellis

SEGMENT_KEYS = "low high slope toll slopes"

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


def read_segments(segments: Any) -> list[Mapping[str, Any]]:
    """Lines of a bound, all of finite numbers, whether they are looked at or not."""
    for segment in segments:
        fields(segment, SEGMENT_KEYS)
        numbers = [segment["low"], segment["high"], segment["slope"], *segment["slopes"].values()]
        for value in [*numbers, *([] if segment["toll"] is None else [segment["toll"]])]:
            number(value)
    return list(segments)


@dataclass(frozen=True)
class Choice:
    """One thing that may stand at a word: how it is written, its tokens, and what they count."""

    written: str
    tokens: tuple[str, ...]
    counts: Mapping[int, float]


@dataclass(frozen=True, eq=False)
class TextSubproblem:
    """The choices of each word that are left, which one is unchanged, how many may change, and what
    a choice costs.

    With `exactly` just so many change. `counts` has the least and the most that some features count
    in the texts that are meant.
    """

    allowed: tuple[tuple[int, ...], ...]
    reference: tuple[int, ...]
    at_most: int | None
    choice_costs: Mapping[Place, float] = field(default_factory=dict)
    count_limits: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    exactly: bool = False

    def within_limit(self, changed: int) -> bool:
        """Whether a text may change so many words."""
        return (
            self.at_most is None
            or changed == self.at_most
            or (changed < self.at_most and not self.exactly)
        )


class CountRanges(Protocol):
    """The least and the most that each feature counts in the texts of a region."""

    least: dict[int, float]
    most: dict[int, float]


class LatticeLike(Protocol):
    """A text before a bag: the choices of its words, and what these make of each other where they
    meet.
    """

    @property
    def bag(self) -> Bag: ...

    @property
    def words(self) -> Sequence[Sequence[Choice]]: ...

    @property
    def pair_features(self) -> Mapping[tuple[str, str], tuple[int, float]]: ...

    @property
    def trellis(self) -> Trellis | None: ...

    @property
    def check_time(self) -> Callable[[], None]: ...

    def texts_of(self, subproblem: TextSubproblem) -> CountRanges: ...


def split_by_count(subproblem: TextSubproblem, node: Mapping[str, Any]) -> list[TextSubproblem]:
    """Texts in which a feature counts so much at most, and those in which it counts more: counts
    are whole numbers.
    """
    column = node["column"]
    most = number(node["most"])
    need(
        type(column) is int and most == math.floor(most),
        "a split must be of a column, at a whole number",
    )
    low, high = subproblem.count_limits.get(column, (-math.inf, math.inf))
    fewer = (low, min(high, most))
    more = (max(low, most + 1.0), high)
    return [
        replace(subproblem, count_limits={**subproblem.count_limits, column: ends})
        for ends in (fewer, more)
    ]

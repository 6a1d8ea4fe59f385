"""The proof tree: leaves that bounds close, splits on a unit, picks of a word, bounds of units, and sieves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from suffice.model.network import Floats, Ints


@dataclass(frozen=True, eq=False)
class Above:
    """By unit, the shares of its weights in the row of the line above it: one per "word", or per "number".

    Where `words` are given, they are of these words' numbers, and those of the others are zero.
    """

    per: str
    shares: Mapping[int, Floats]
    words: Ints | None = None


@dataclass(frozen=True, eq=False)
class Leaf:
    """A closed subproblem: the slopes and multipliers (units,) that prove it; no slopes at a single input.

    `above` has what tilts the lines above relus of the first step, where they are.
    """

    alpha: Floats | None
    beta: Floats
    above: Above | None = None


@dataclass(frozen=True, eq=False)
class Split:
    """A relu unit (counted over all hidden units) taken as negative in the first branch, positive in the second."""

    unit: int
    branches: tuple[Tree, Tree]


@dataclass(frozen=True, eq=False)
class Pick:
    """A word: its allowed choices are `chosen` in the first branch and the rest in the second.

    Where words are bought with a budget, `chosen` is None: the word is bought (restored, or free to change) in the
    first branch, and not in the second.
    """

    position: int
    chosen: tuple[int, ...] | None
    branches: tuple[Tree, Tree]


@dataclass(frozen=True, eq=False)
class Bounded:
    """A unit's pre-activation is at least `value` (sign 1) or at most (-1), by what a leaf chooses."""

    unit: int
    sign: int
    value: float
    leaf: Leaf


@dataclass(frozen=True, eq=False)
class Stated:
    """A bound of a unit that is proved here and used everywhere below."""

    bound: Bounded
    rest: Tree


@dataclass(frozen=True, eq=False)
class Stage:
    """Lines above bundles of maxima: `rows` (bundles, length, dimension), slopes `alpha` (units,) below others.

    `bundles` are places of maxima at the first stage on the way to a leaf, then those of the bundles before.
    """

    alpha: Floats
    bundles: tuple[tuple[int, ...], ...]
    rows: Floats


@dataclass(frozen=True, eq=False)
class Sieved:
    """Of the choices of who wins the maxima, those that these lines leave are the only ones everywhere below."""

    stage: Stage
    rest: Tree


Tree: TypeAlias = Leaf | Split | Pick | Stated | Sieved

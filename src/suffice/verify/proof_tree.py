"""Proof trees: leaves that bounds close, splits on units, picks of words, lemmas, tuple fixing.

A tree proves its root because the branches of each node cover everything and each leaf holds.

Method: alpha and beta of CROWN bounds, planes and tuples as evidence (theory, sections 2 to 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from suffice.model.network import Floats, Ints


@dataclass(frozen=True, eq=False)
class PlaneShares:
    """By unit, the shares in [0, 1] that make its upper plane: one `per` "word", or per "number" of
    the input.

    Where `words` are given, they are of these words' numbers, and the shares of the others are
    zero.
    """

    per: str
    shares: Mapping[int, Floats]
    words: Ints | None = None


@dataclass(frozen=True, eq=False)
class Leaf:
    """A closed subproblem: the slopes and multipliers (units,) that prove it; no slopes at a single
    input.

    `upper_planes` has the upper planes of the first step, where they replace chords.
    """

    alpha: Floats | None
    beta: Floats
    upper_planes: PlaneShares | None = None


@dataclass(frozen=True, eq=False)
class Split:
    """A relu unit (counted over all hidden units) taken as negative in the first branch, positive
    in the second.
    """

    unit: int
    branches: tuple[Tree, Tree]


@dataclass(frozen=True, eq=False)
class Pick:
    """A word: its allowed choices are `chosen` in the first branch and the rest in the second.

    Where words are paid for with a budget, `chosen` is None: the word is paid for (restored, or
    free to change) in the first branch, and stays as it is in the second.
    """

    position: int
    chosen: tuple[int, ...] | None
    branches: tuple[Tree, Tree]


@dataclass(frozen=True, eq=False)
class UnitBound:
    """A unit's pre-activation is at least `value` (sign 1) or at most (-1), by what a
    leaf chooses.
    """

    unit: int
    sign: int
    value: float
    leaf: Leaf


@dataclass(frozen=True, eq=False)
class Lemma:
    """A bound of a unit with its proof, which holds in all of the tree `rest`."""

    bound: UnitBound
    rest: Tree


@dataclass(frozen=True, eq=False)
class FixingStage:
    """Upper planes `planes` (groups, length, dimension) of groups of maxima, lower slopes `alpha`
    (units,).

    `groups` says what each group joins: first units of maxima at the first stage on the way to a
    leaf, then places among the groups before.
    """

    alpha: Floats
    groups: tuple[tuple[int, ...], ...]
    planes: Floats


@dataclass(frozen=True, eq=False)
class TupleFixing:
    """In the tree `rest`, only the tuples of winners that `stage` does not fix out are left."""

    stage: FixingStage
    rest: Tree


Tree: TypeAlias = Leaf | Split | Pick | Lemma | TupleFixing

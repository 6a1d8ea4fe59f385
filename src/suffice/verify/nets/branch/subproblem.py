"""Subproblems: parts of one query against one rival, and the proof that closed ones make.

Method: a branch-and-bound tree whose leaves are dual certificates (theory, section 5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.verify.contract import Verdict
from suffice.verify.nets.crown import BackwardPass, Dual, Signs, written_planes
from suffice.verify.nets.crown.max_planes import MaxPlanes
from suffice.verify.nets.crown.refine_intermediate import RefinedBounds
from suffice.verify.nets.crown.relu_planes import ReluPlanes
from suffice.verify.nets.input_sets import ChosenOptions, Free, Interval, Restorations, WithinBudget
from suffice.verify.proof_tree import Leaf, Lemma, Pick, PlaneShares, Split, Tree

InputSet: TypeAlias = Free | WithinBudget | Restorations


@dataclass(frozen=True, eq=False)
class UndoneBy:
    """Restoring `words` (a mask) is affordable and undoes the attack: the rival is not ahead any
    more.
    """

    words: Bools


Answer: TypeAlias = Verdict | UndoneBy
# Of one point (n, length, dimension) for each input set, where its bound is attained, and of its
# margin against the query's rival: the answers that these points give, None for the others.
PointTest: TypeAlias = Callable[[Sequence[InputSet], Floats, Floats], Sequence[Answer | None]]


@dataclass(eq=False)
class Subproblem:
    """A part of one query against one rival, on its way to being closed or split."""

    query: int
    rival: int
    inputs: InputSet
    signs: Signs
    bound: float
    step_bounds: tuple[
        Interval, ...
    ] = ()  # intervals of the first steps, as far as known, before clamping at splits
    dual: Dual | None = None
    split_scores: Floats | None = None
    input_row: Floats | None = None  # coefficients of the bound over the input (length, dimension)
    branch_word: int | None = None  # to split on, where that is known
    # the unit, or the word and its options, that it was split on
    branched_on: int | tuple[int, ChosenOptions] | None = None
    children: tuple[Subproblem, Subproblem] | None = None
    unbounded_parent: Subproblem | None = None  # its parent, if split before it was bounded
    upper_planes: PlaneShares | None = None  # the planes that close it
    refinement: RefinedBounds | None = None  # refined intermediate bounds everywhere below the root
    proof: Tree | None = None  # the proof, where all its inputs were run
    not_enumerable: bool = False  # its inputs are known to be too many for that
    closed: bool = False

    @property
    def ancestor_closed(self) -> bool:
        """Whether an ancestor is closed, so that it need not be."""
        return self.unbounded_parent is not None and (
            self.unbounded_parent.closed or self.unbounded_parent.ancestor_closed
        )


@dataclass(eq=False)
class RegionQuery:
    """A set of inputs that is asked about: its open subproblems (`frontier`), and its answer once
    there is one.

    `bounded` counts its subproblems, `unsplittable` those at zero with nothing left to split."""

    roots: list[Subproblem]
    frontier: list[Subproblem] = field(default_factory=list)
    bounded: int = 0
    unsplittable: int = 0
    # subproblems and the lowest bound when it was first split
    first_look: tuple[int, float] | None = None
    answer: Answer | None = None


def root_subproblem(query: int, rival: int, inputs: InputSet, units: int) -> Subproblem:
    """The whole of a query against one rival."""
    return Subproblem(query, rival, inputs, np.zeros(units, dtype=np.int8), -np.inf)


def close(
    subproblem: Subproblem,
    dual: Dual,
    backward: BackwardPass,
    planes: ReluPlanes | MaxPlanes | None,
    item: int,
) -> None:
    """Keep what the proof needs of one item of a batch, and nothing else."""
    place = slice(item, item + 1)
    subproblem.dual = Dual(dual.alpha[place].copy(), dual.beta[place].copy())
    subproblem.closed = True
    subproblem.upper_planes = written_planes(planes, dual, backward, item)
    subproblem.split_scores = None
    subproblem.input_row = None
    subproblem.step_bounds = ()
    subproblem.children = None


def proof_tree(root: Subproblem) -> Tree:
    """The proof of a root, below the lemmas that refine its intermediate bounds."""
    tree = _subtree(root)
    for bound in reversed(() if root.refinement is None else root.refinement.proofs):
        tree = Lemma(bound, tree)
    return tree


def _subtree(subproblem: Subproblem) -> Tree:
    if subproblem.proof is not None:
        return subproblem.proof
    if subproblem.children is None:
        assert subproblem.closed
        assert subproblem.dual is not None
        return Leaf(subproblem.dual.alpha[0], subproblem.dual.beta[0], subproblem.upper_planes)
    branches = (_subtree(subproblem.children[0]), _subtree(subproblem.children[1]))
    match subproblem.branched_on:
        case int(unit):
            return Split(unit, branches)
        case (position, chosen):
            return Pick(position, chosen, branches)
        case _:
            raise AssertionError("a subproblem with halves was split on something")

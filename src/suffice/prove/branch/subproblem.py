"""Subproblems: parts of one question against one rival, and the proof that closed ones make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.prove.bounds import Dual, Pass, Signs, lines_above
from suffice.prove.inputs import Chosen, Free, Freed, Interval, Restored
from suffice.prove.narrow import Narrow
from suffice.prove.peaks import Peaks
from suffice.prove.tilts import Tilts
from suffice.prove.tree import Above, Leaf, Pick, Split, Stated, Tree
from suffice.prove.verdict import Verdict

InputSet: TypeAlias = Free | Freed | Restored


@dataclass(frozen=True, eq=False)
class Restorable:
    """A set of words (a mask) that, put back, undoes the attack at an affordable cost."""

    words: Bools


Answer: TypeAlias = Verdict | Restorable
# Says of points where bounds are attained, (n, length, dimension), one for each set, and of their margins against the
# rival asked about, which of them answer their question.
Judge: TypeAlias = Callable[[Sequence[InputSet], Floats, Floats], Sequence[Answer | None]]


@dataclass(eq=False)
class Subproblem:
    """A part of one question against one rival, on its way to being closed or split."""

    question: int
    rival: int
    inputs: InputSet
    signs: Signs
    bound: float
    steps: tuple[Interval, ...] = ()  # bounds of the first steps, as far as they are known, before splits cut them
    dual: Dual | None = None
    loss: Floats | None = None
    row: Floats | None = None  # of the bound, over the input
    word: int | None = None  # to be decided on, where that is known
    cut: int | tuple[int, Chosen] | None = None  # the unit, or the word and its choices, that it was split on
    halves: tuple[Subproblem, Subproblem] | None = None
    over: Subproblem | None = None  # what it is half of, where that was split before it was bounded
    above: Above | None = None  # the tilted lines that close it
    narrow: Narrow | None = None  # what is known of hidden units everywhere below the root
    tree: Tree | None = None  # the proof, where all its inputs were run
    many: bool = False  # inputs, known to be too many for that
    closed: bool = False

    @property
    def covered(self) -> bool:
        """Whether a part that it belongs to is closed, so that it need not be."""
        return self.over is not None and (self.over.closed or self.over.covered)


@dataclass(eq=False)
class Question:
    """A set of inputs that is asked about: its subproblems that are open, and its answer once there is one."""

    roots: list[Subproblem]
    open: list[Subproblem] = field(default_factory=list)
    spent: int = 0
    stuck: int = 0
    first: tuple[int, float] | None = None  # subproblems and the lowest bound when it was first split
    answer: Answer | None = None


def root_of(question: int, rival: int, inputs: InputSet, units: int) -> Subproblem:
    """The whole of a question against one rival."""
    return Subproblem(question, rival, inputs, np.zeros(units, dtype=np.int8), -np.inf)


def close(part: Subproblem, dual: Dual, found: Pass, tilts: Tilts | Peaks | None, item: int) -> None:
    """Keep what the proof needs of it, an item of what was bounded together, and nothing else."""
    mine = slice(item, item + 1)
    part.dual, part.closed = Dual(dual.alpha[mine].copy(), dual.beta[mine].copy()), True
    part.above = lines_above(tilts, dual, found, item)
    part.loss, part.row, part.steps, part.halves = None, None, (), None


def proof_of(root: Subproblem) -> Tree:
    """The proof of a root, after what it states of hidden units."""
    tree = _tree(root)
    for bound in reversed(() if root.narrow is None else root.narrow.proofs):
        tree = Stated(bound, tree)
    return tree


def _tree(part: Subproblem) -> Tree:
    if part.tree is not None:
        return part.tree
    if part.halves is None:
        assert part.closed
        assert part.dual is not None
        return Leaf(part.dual.alpha[0], part.dual.beta[0], part.above)
    branches = (_tree(part.halves[0]), _tree(part.halves[1]))
    match part.cut:
        case int(unit):
            return Split(unit, branches)
        case (position, chosen):
            return Pick(position, chosen, branches)
        case _:
            raise AssertionError("a subproblem with halves was split on something")

"""Node: a node of the word tree, the evidence that closes it, and the frontier of the open ones.

Method: word tree (theory, section 7).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.optimise.restoration import Restoration
from suffice.verify.contract import Proved, Witness


@dataclass(frozen=True)
class ByCost:
    """Closed: the held words already cost as much as a known explanation."""


@dataclass(frozen=True, eq=False)
class ByAttack:
    """Closed: changing only the out words flips the label."""

    witness: Witness


@dataclass(frozen=True, eq=False)
class ByRestoration:
    """Closed: a restoration-proof attack leaves nothing affordable."""

    evidence: Restoration


@dataclass(frozen=True, eq=False)
class ByProof:
    """Closed: the held words alone are an explanation (one of all the optimal ones)."""

    proof: Proved


CostOf: TypeAlias = Callable[[Bools], int]
Reason: TypeAlias = ByCost | ByAttack | ByRestoration | ByProof


@dataclass(eq=False)
class Node:
    """Words held (length,), words out, a lower bound on what explanations below cost, and how it
    was closed or split.
    """

    held: Bools
    out: Bools
    lower: int
    attacks: tuple[
        Floats, ...
    ] = ()  # perturbed texts that flip the label though the held words are fixed
    candidate: Bools | None = None  # words that undo the best of them: perhaps an explanation
    refuted: tuple[
        Bools, ...
    ] = ()  # such sets that are no explanations: no good attack is undone by them
    reason: Reason | None = None
    partial: Restoration | None = None  # what raised `lower`, where the node could not be closed
    word: int | None = None
    undecided: bool = False  # a first question left open whether the held words suffice
    necessary_fixed: bool = False  # necessary words were searched and held
    children: tuple[Node, Node] | None = None  # with the word held, with the word out

    @property
    def resolved(self) -> bool:
        """Closed, or split into children that stand for it."""
        return self.reason is not None or self.children is not None

    @property
    def open_words(self) -> Bools:
        return ~(self.held | self.out)

    @property
    def first_open(self) -> int | None:
        """The first open word."""
        return int(np.flatnonzero(self.open_words)[0]) if self.open_words.any() else None

    def close(self, reason: Reason) -> None:
        """Nothing below is left to look at; what it was looked at with is not kept."""
        self.reason = reason
        self.attacks = ()
        self.candidate = None
        self.refuted = ()

    @property
    def closed(self) -> bool:
        """Closed for good: no set that fits here is an explanation of interest."""
        return isinstance(self.reason, ByCost | ByAttack | ByRestoration)

    def proved_cost(self, cost_of: CostOf) -> int:
        """What every explanation that fits here costs at least, by its held words or by what raised
        its bound.
        """
        held_cost = cost_of(self.held)
        return held_cost if self.partial is None else held_cost + self.partial.budget + 1


def provable_bound(root: Node, cost_of: CostOf, most: int) -> tuple[int, Node] | None:
    """The highest lower bound, up to `most`, that the tree proves with what its open nodes have,
    and a closed tree that proves it.

    None where that is no more than what the words asked for cost.
    """
    order = list[Node]()
    queue = [root]
    while queue:
        order.append(node := queue.pop())
        queue += node.children or ()
    bounds: dict[int, float] = {}
    for node in reversed(order):  # children first
        below = math.inf if node.closed else node.proved_cost(cost_of)
        if node.children is not None:
            below = max(
                node.proved_cost(cost_of), min(bounds[id(child)] for child in node.children)
            )
        bounds[id(node)] = below
    lower = int(min(most, bounds[id(root)]))
    return (
        None
        if lower <= cost_of(root.held) and not root.resolved
        else (lower, _closed_tree(order, cost_of, lower))
    )


def _closed_tree(order: Sequence[Node], cost_of: CostOf, lower: int) -> Node:
    """The tree with every open node closed by what proves that much of it; a node comes before its
    children.
    """
    made: dict[int, Node] = {}
    for node in reversed(order):
        if node.closed:
            made[id(node)] = node
        elif cost_of(node.held) >= lower:
            made[id(node)] = replace(node, children=None, reason=ByCost())
        elif node.partial is not None and node.proved_cost(cost_of) >= lower:
            made[id(node)] = replace(node, children=None, reason=ByRestoration(node.partial))
        elif node.children is not None:
            held, out = node.children
            made[id(node)] = replace(node, children=(made[id(held)], made[id(out)]))
        else:
            made[id(node)] = node
    return made[id(order[0])]


@dataclass(eq=False)
class Frontier:
    """The open nodes: those that wait, the lowest bound first, those in hand, and those that are
    stuck.

    Of equal bounds, doubted nodes come last: a cheap proof of another set often closes them by
    their cost.
    """

    root: Node
    unresolved: list[Node] = field(default_factory=list)
    _waiting: list[tuple[int, bool, int, int, Node]] = field(default_factory=list)
    _in_hand: list[Node] = field(default_factory=list)
    _pushed: int = 0

    @property
    def empty(self) -> bool:
        """Whether no node waits."""
        return not self._waiting

    @property
    def done(self) -> bool:
        """Whether every node is closed, so that the tree proves something."""
        return self.empty and all(node.resolved for node in (*self.unresolved, *self._in_hand))

    @property
    def lower(self) -> int | None:
        """The lowest bound of an open node; None when none is open."""
        if not self._pushed:
            return self.root.lower
        held_back = [node.lower for node in (*self.unresolved, *self._in_hand) if not node.resolved]
        return min([*(entry[0] for entry in self._waiting), *held_back], default=None)

    def push(self, node: Node) -> None:
        self._pushed += 1
        decided = int(node.held.sum() + node.out.sum())
        heapq.heappush(self._waiting, (node.lower, node.undecided, -decided, self._pushed, node))

    def take(self, count: int) -> list[Node]:
        """The nodes with the lowest bounds, all doubted or none, which are in hand from now on."""
        # in hand before they leave the heap: the lower bound must hold whenever we are interrupted
        found = [entry[-1] for entry in heapq.nsmallest(count, self._waiting)]
        self._in_hand = list(takewhile(lambda node: node.undecided == found[0].undecided, found))
        for _ in self._in_hand:
            heapq.heappop(self._waiting)
        return self._in_hand

    def drop(self, closed: Callable[[Node], bool]) -> None:
        """Let go of the nodes that are closed."""
        self._waiting = [entry for entry in self._waiting if not closed(entry[-1])]
        heapq.heapify(self._waiting)

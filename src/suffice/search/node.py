"""Node: a place in the tree over words, what closed it, and the frontier of those that are still open."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.prove.verdict import Proved, Witness
from suffice.search.restoration import Restoration


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


Reason: TypeAlias = ByCost | ByAttack | ByRestoration | ByProof


@dataclass(eq=False)
class Node:
    """Words held, words out, a proved lower bound, and how the node was closed or split."""

    held: Bools
    out: Bools
    lower: int
    starts: tuple[Floats, ...] = ()  # perturbed texts that flip the label though the held words are fixed
    candidate: Bools | None = None  # words that undo the best of them: perhaps an explanation
    refuted: tuple[Bools, ...] = ()  # such sets that are no explanations: no good attack is undone by them
    reason: Reason | None = None
    partial: Restoration | None = None  # what raised `lower`, where the node could not be closed
    word: int | None = None
    children: tuple[Node, Node] | None = None  # with the word held, with the word out

    @property
    def settled(self) -> bool:
        """Closed, or split into children that stand for it."""
        return self.reason is not None or self.children is not None

    @property
    def open(self) -> Bools:
        return ~(self.held | self.out)

    @property
    def any_word(self) -> int | None:
        """The first open word."""
        return int(np.flatnonzero(self.open)[0]) if self.open.any() else None

    def close(self, reason: Reason) -> None:
        """Nothing below is left to look at; what it was looked at with is not kept."""
        self.reason, self.starts, self.candidate, self.refuted = reason, (), None, ()

    @property
    def evidence(self) -> Node | None:
        """A tree that proves a lower bound: this one if all of it is closed, else what raised its bound, else None."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.children is not None:
                waiting += node.children
            elif not isinstance(node.reason, ByCost | ByAttack | ByRestoration):
                partial = self.partial
                return None if partial is None else replace(self, children=None, reason=ByRestoration(partial))
        return self


@dataclass(eq=False)
class Frontier:
    """The open nodes: those that wait, the lowest bound first, those in hand, and those that are stuck."""

    root: Node
    stuck: list[Node] = field(default_factory=list)
    _waiting: list[tuple[int, int, int, Node]] = field(default_factory=list)
    _in_hand: list[Node] = field(default_factory=list)
    _pushed: int = 0

    @property
    def empty(self) -> bool:
        """Whether no node waits."""
        return not self._waiting

    @property
    def done(self) -> bool:
        """Whether every node is closed, so that the tree proves something."""
        return self.empty and all(node.settled for node in (*self.stuck, *self._in_hand))

    @property
    def lower(self) -> int | None:
        """The lowest bound of an open node; None when none is open."""
        if not self._pushed:
            return self.root.lower
        held_back = [node.lower for node in (*self.stuck, *self._in_hand) if not node.settled]
        return min([*(entry[0] for entry in self._waiting), *held_back], default=None)

    def push(self, node: Node) -> None:
        self._pushed += 1
        decided = int(node.held.sum() + node.out.sum())
        heapq.heappush(self._waiting, (node.lower, -decided, self._pushed, node))

    def take(self, count: int) -> list[Node]:
        """The nodes with the lowest bounds, which are in hand from now on."""
        # in hand before they leave the heap: the lower bound must hold whenever we are interrupted
        self._in_hand = [entry[3] for entry in heapq.nsmallest(count, self._waiting)]
        for _ in self._in_hand:
            heapq.heappop(self._waiting)
        return self._in_hand

    def drop(self, closed: Callable[[Node], bool]) -> None:
        """Let go of the nodes that are closed."""
        self._waiting = [entry for entry in self._waiting if not closed(entry[3])]
        heapq.heapify(self._waiting)

"""The worst case of trees over a bag of words: all allowed texts at once, as a table with one axis for each word.

What a feature counts is an array over the words that can hold it; the texts of the table are sent down each tree
together, and all trees are added. Without a norm a tree depends on a few words only. Where the table of all words would
be too large, trees are added in groups of words that fit: the sum of the groups' least values is a bound, and where it
does not decide the choices of one word are split. A text that is closer to a threshold than rounding is left to be run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from suffice.model.bag import term
from suffice.model.network import Bools, Floats, Ints
from suffice.model.trees import LEAF, Trees
from suffice.prove.layout import Layout
from suffice.prove.verdict import Budget

ENTRIES = 2**18  # of one table
NODES = 20_000
ROUNDING = 1e-9  # margins within this are run
FEW = 2000  # of them

Node = int | tuple[int, int, "Node", "Node"]  # a leaf, or: feature, node, left, right


@dataclass(frozen=True, eq=False)
class Stands:
    """Every allowed text keeps the label: tables over groups of words, or a split of one word into all its choices.

    `unclear` texts were too close to work out; they are to be run.
    """

    groups: tuple[tuple[int, ...], ...] = ()
    word: int | None = None
    branches: tuple[Stands, ...] = ()
    unclear: tuple[Ints, ...] = ()

    def close(self) -> Iterator[Ints]:
        yield from self.unclear
        for branch in self.branches:
            yield from branch.close()


@dataclass(frozen=True, eq=False)
class Falls:
    """This text does not keep the label, as far as it is worked out here."""

    chosen: Ints


@dataclass(frozen=True)
class Stuck:
    reason: str


@dataclass(eq=False)
class Grove:
    """The trees as one layout sees them, and one rival."""

    layout: Layout
    label: int
    rival: int
    at_most: int | None
    nodes: list[Node] = field(init=False)
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        self.nodes = [self._pruned(int(root)) for root in self.trees.roots]

    @property
    def trees(self) -> Trees:
        assert self.layout.bag.trees is not None
        return self.layout.bag.trees

    @property
    def close(self) -> float:
        """Leads within this of zero are run: the difference of two scores, each as far off as it may be."""
        return ROUNDING + 2.0 * self.trees.rounding

    @cached_property
    def lead(self) -> Floats:
        """What each leaf adds to the label's lead."""
        return np.asarray(self.trees.value[:, self.label] - self.trees.value[:, self.rival])

    @cached_property
    def place(self) -> dict[int, int]:
        return {int(column): f for f, column in enumerate(self.layout.columns)}

    def _pruned(self, node: int) -> Node:
        """A tree without the tests of features that cannot occur here."""
        trees = self.trees
        while (column := int(trees.column[node])) != LEAF and column not in self.place:
            node = int(trees.left[node] if trees.threshold[node] >= 0.0 else trees.right[node])
        if column == LEAF:
            return node
        left, right = self._pruned(int(trees.left[node])), self._pruned(int(trees.right[node]))
        return (self.place[column], node, left, right)

    @cached_property
    def counted(self) -> list[dict[int, float]]:
        """By feature, the choices that hold it and how often."""
        table = self.layout.inner.tocoo()
        found: list[dict[int, float]] = [{} for _ in self.layout.columns]
        for choice, feature, count in zip(table.row.tolist(), table.col.tolist(), table.data.tolist(), strict=True):
            found[feature][choice] = count
        return found

    @cached_property
    def holders(self) -> list[frozenset[int]]:
        """The words that can hold each feature."""
        return [frozenset(int(self.layout.slot[choice]) for choice in held) for held in self.counted]

    @cached_property
    def scopes(self) -> list[frozenset[int]]:
        """The words that each tree depends on."""
        if not self.apart:
            return [frozenset(range(self.layout.size))] * len(self.nodes)
        return [frozenset().union(*(self.holders[f] for f in _features(node))) for node in self.nodes]

    def margin(self, chosen: Ints) -> float:
        """The lead of one text; -inf where rounding would decide."""
        if self.whole is not None:
            axes, table = self.whole
            return float(table[tuple(int(chosen[word] - self.layout.first[word]) for word in axes)])
        return float(Table(self, [[int(choice)] for choice in chosen], ()).added(range(len(self.nodes))))

    def decide(self, held: Bools, budget: Budget) -> Stands | Falls | Stuck:
        """Whether every allowed text that keeps the words of `held` keeps the label against the rival."""
        self.budget = budget
        allowed = [some[:1] if held[word] else some for word, some in enumerate(self.everything)]
        if self.whole is None:
            return _Hunt(self).run(allowed)
        axes, table = self.whole
        part = table[tuple(0 if held[word] else slice(None) for word in axes)]
        return decided(allowed, tuple(word for word in axes if not held[word]), part, self.close)

    @property
    def everything(self) -> list[list[int]]:
        ends = self.layout.ends.tolist()
        return [list(range(ends[i], ends[i + 1])) for i in range(self.layout.size)]

    @property
    def fits(self) -> bool:
        """Whether all texts could be worked out in a while: a guess, by how many there are."""
        return _entries(frozenset().union(*self.scopes), self.everything) <= ENTRIES * (256 if self.apart else 4)

    @property
    def apart(self) -> bool:
        """Whether a tree depends on the few words only that hold what it tests."""
        return self.layout.bag.norm is None and self.layout.bag.most == 1

    @cached_property
    def whole(self) -> tuple[tuple[int, ...], Floats] | None:
        """The table of all texts, where it is small enough."""
        groups = grouped(self, self.everything)
        if groups is None or len(groups) > 1:
            return None
        ((axes, trees),) = groups.items()
        return axes, Table(self, _narrow(self.everything, axes), axes).least(trees)


def _features(node: Node) -> set[int]:
    found, waiting = set(), [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple):
            found.add(one[0])
            waiting += one[2:]
    return found


class Table:
    """The texts of some choices, with an axis for each word of `axes`; the others have one choice."""

    def __init__(self, grove: Grove, allowed: Sequence[Sequence[int]], axes: Sequence[int]) -> None:
        self.grove, self.layout, self.axes = grove, grove.layout, tuple(axes)
        self.allowed = [np.array(some, dtype=np.int64) for some in allowed]
        self.values: dict[tuple[int, tuple[int, ...]], Floats] = {}

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(self.allowed[word]) for word in self.axes)

    def along(self, word: int, values: Any) -> Any:
        """Numbers of one word's choices along its axis."""
        if word not in self.axes:
            return values[0]
        shape = [1] * len(self.axes)
        shape[self.axes.index(word)] = len(values)
        return values.reshape(shape)

    def count(self, feature: int) -> Floats:
        """How often a feature counts in each of the texts."""
        layout = self.layout
        total: Floats = np.zeros((1,) * len(self.axes))
        held = self.grove.counted[feature]
        for word in self.grove.holders[feature]:
            total = total + self.along(word, np.array([held.get(int(c), 0.0) for c in self.allowed[word]]))
        for place in self.meeting.get(feature, ()):
            total = total + layout.pairs.sign[place] * self._met(place)
        return total

    @cached_property
    def meeting(self) -> dict[int, list[int]]:
        """The pairs that can meet here, by feature."""
        found: dict[int, list[int]] = {}
        pairs, slot = self.layout.pairs, self.layout.slot
        for place, (a, b) in enumerate(zip(pairs.earlier.tolist(), pairs.later.tolist(), strict=True)):
            if a in self.allowed[slot[a]] and b in self.allowed[slot[b]]:
                found.setdefault(int(pairs.feature[place]), []).append(place)
        return found

    def _met(self, place: int) -> Floats:
        """Where the two choices stand and all between them has vanished."""
        layout = self.layout
        a, b = int(layout.pairs.earlier[place]), int(layout.pairs.later[place])
        first, last = int(layout.slot[a]), int(layout.slot[b])
        found = self.along(first, self.allowed[first] == a) & self.along(last, self.allowed[last] == b)
        for word in range(first + 1, last):
            found = found & self.along(word, layout.empty[self.allowed[word]])
        return np.asarray(found, dtype=np.float64)

    @cached_property
    def size(self) -> Floats:
        """The norm; 1 where there is nothing."""
        total: Floats = np.zeros((1,) * len(self.axes))
        for feature in range(len(self.layout.columns)):
            value = self._raw(feature)
            total = total + (value * value if self.layout.bag.norm == "l2" else np.abs(value))
        total = np.sqrt(total) if self.layout.bag.norm == "l2" else total
        return np.where(total > 0, total, 1.0)

    def _raw(self, feature: int) -> Floats:
        return np.asarray(self.layout.scale[feature] * term(self.layout.bag.tf, self.count(feature)))

    def value(self, feature: int) -> Floats:
        raw = self._raw(feature)
        return raw if self.layout.bag.norm is None else raw / self.size

    def tree(self, number: int) -> Floats:
        """What a tree adds to the lead, with axes for the words it depends on; -inf where rounding would decide."""
        words = self.grove.scopes[number]
        shape = tuple(size if word in words else 1 for word, size in zip(self.axes, self.shape, strict=True))
        found, rows = np.zeros(math.prod(shape)), np.arange(math.prod(shape))
        waiting = [(self.grove.nodes[number], rows)]
        while waiting:
            node, rows = waiting.pop()
            if not isinstance(node, tuple):
                found[rows] = self.grove.lead[node]
                continue
            feature, where, left, right = node
            goes, near = self.grove.trees.left_of(self.flat(feature, shape)[rows], where)
            found[rows[near]] = -np.inf
            sides = ((left, rows[goes & ~near]), (right, rows[~goes & ~near]))
            waiting += [(side, some) for side, some in sides if len(some)]
        return found.reshape(shape)

    def flat(self, feature: int, shape: tuple[int, ...]) -> Floats:
        """The values of a feature, a number for each text of such a table."""
        if (feature, shape) not in self.values:
            self.values[feature, shape] = np.broadcast_to(self.value(feature), shape).ravel()
        return self.values[feature, shape]

    def added(self, trees: Sequence[int]) -> Floats:
        """The lead of every text, as far as these trees go; -inf where rounding would decide."""
        lead = float(self.grove.trees.bias[self.grove.label] - self.grove.trees.bias[self.grove.rival])
        total = np.full(self.shape, lead)
        for tree in trees:
            self.grove.budget.look()
            total += self.tree(tree)
        return total

    def changed(self) -> Ints:
        """How many words other than the original stand there, all words counted."""
        total = np.zeros((1,) * len(self.axes), dtype=np.int64)
        for word, some in enumerate(self.allowed):
            total = total + self.along(word, some != self.layout.first[word]).astype(np.int64)
        return total

    def least(self, trees: Sequence[int]) -> Floats:
        """`added`, infinite where too many words change."""
        found = self.added(trees)
        limit = self.grove.at_most
        return found if limit is None else np.where(self.changed() <= limit, found, np.inf)


class _Hunt:
    def __init__(self, grove: Grove) -> None:
        self.grove, self.left = grove, NODES

    def run(self, allowed: list[list[int]]) -> Stands | Falls | Stuck:
        self.left -= 1
        if self.left < 0:
            return Stuck("too many words had to be split")
        if self._beyond(allowed):
            return Stands()
        groups = grouped(self.grove, allowed)
        if groups is not None:
            found = self._tables(allowed, groups)
            if found is not None:
                return found
        return self._split(allowed, self._word(allowed, groups))

    def _beyond(self, allowed: list[list[int]]) -> bool:
        """Whether more words are changed already than may be."""
        limit, first = self.grove.at_most, self.grove.layout.first
        return limit is not None and sum(first[word] not in some for word, some in enumerate(allowed)) > limit

    def _tables(
        self, allowed: list[list[int]], groups: dict[tuple[int, ...], list[int]]
    ) -> Stands | Falls | Stuck | None:
        """The tables decide, or a text falls that they point at; None where neither."""
        shared = float(self.grove.trees.bias[self.grove.label] - self.grove.trees.bias[self.grove.rival])
        total, chosen, table = shared, np.array([some[0] for some in allowed]), np.zeros(0)
        for axes, trees in groups.items():
            table = Table(self.grove, _narrow(allowed, axes), axes).least(trees)
            if len(groups) == 1:
                return decided(allowed, axes, table, self.grove.close)
            total += float(table.min()) - shared
            _put(chosen, allowed, axes, np.unravel_index(int(table.argmin()), table.shape))
        if total > self.grove.close:
            return Stands(tuple(groups))
        limit = self.grove.at_most
        few = limit is None or int((chosen != self.grove.layout.first).sum()) <= limit
        return Falls(chosen) if few and -np.inf < self.grove.margin(chosen) < -self.grove.close else None

    def _word(self, allowed: list[list[int]], groups: dict[tuple[int, ...], list[int]] | None) -> int:
        """The open word that most trees depend on, or most groups."""
        scopes = self.grove.scopes if groups is None else [frozenset(axes) for axes in groups]
        open_words = [word for word, some in enumerate(allowed) if len(some) > 1]
        return max(open_words, key=lambda word: (sum(word in scope for scope in scopes), -word))

    def _split(self, allowed: list[list[int]], word: int) -> Stands | Falls | Stuck:
        branches = []
        for choice in allowed[word]:
            found = self.run([*allowed[:word], [choice], *allowed[word + 1 :]])
            if not isinstance(found, Stands):
                return found
            branches.append(found)
        return Stands(word=word, branches=tuple(branches))


def decided(
    allowed: list[list[int]], axes: tuple[int, ...], table: Floats, rounding: float = ROUNDING
) -> Stands | Falls | Stuck:
    """One table of all texts: each is above zero, or too close and to be run; or one falls."""
    chosen = np.array([some[0] for some in allowed])
    if table.min() > rounding:
        return Stands((axes,))
    falls = np.where(np.isneginf(table), np.inf, table)
    if falls.min() < -rounding:
        _put(chosen, allowed, axes, np.unravel_index(int(falls.argmin()), table.shape))
        return Falls(chosen)
    close = np.argwhere(table <= rounding)
    if len(close) > FEW:
        return Stuck(f"{len(close)} texts are too close to a threshold to be worked out")
    texts = [chosen.copy() for _ in close]
    for text, where in zip(texts, close, strict=True):
        _put(text, allowed, axes, where)
    return Stands((axes,), unclear=tuple(texts))


def _put(chosen: Ints, allowed: list[list[int]], axes: Sequence[int], where: Sequence[Any] | Ints) -> None:
    for axis, place in zip(axes, where, strict=True):
        chosen[axis] = allowed[axis][int(place)]


def _narrow(allowed: list[list[int]], axes: Sequence[int]) -> list[list[int]]:
    """The words of a table as they may be; the others do not matter to its trees and keep one choice."""
    return [some if word in axes else some[:1] for word, some in enumerate(allowed)]


def grouped(grove: Grove, allowed: list[list[int]]) -> dict[tuple[int, ...], list[int]] | None:
    """Trees by the words of a table that serves them; one table for all where it fits, None where one does not fit."""
    open_words = {word for word, some in enumerate(allowed) if len(some) > 1}
    scopes = [scope & open_words for scope in grove.scopes]
    every = frozenset().union(*scopes)
    if _entries(every, allowed) <= ENTRIES:
        return {tuple(sorted(every)): list(range(len(scopes)))}
    groups: list[tuple[frozenset[int], list[int]]] = []
    for tree in sorted(range(len(scopes)), key=lambda t: -len(scopes[t])):
        if _entries(scopes[tree], allowed) > ENTRIES:
            return None
        for k, (words, trees) in enumerate(groups):
            if _entries(words | scopes[tree], allowed) <= ENTRIES:
                groups[k] = (words | scopes[tree], [*trees, tree])
                break
        else:
            groups.append((scopes[tree], [tree]))
    return {tuple(sorted(words)): trees for words, trees in groups}


def _entries(words: frozenset[int], allowed: list[list[int]]) -> int:
    return math.prod(len(allowed[word]) for word in words)

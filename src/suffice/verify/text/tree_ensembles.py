"""TreeEnsemble: the least margin of trees over a bag of words, by tables with one axis for each
word.

What a feature counts is an array over the words that can hold it; the texts of a table are sent
down each tree together, and all trees are added. Without a norm a tree depends on a few words
only. Where the table of all words would be too large, trees are put into buckets whose words fit
one table: the sum of the buckets' least values is a bound, and where it does not decide, one word
is split into its choices. A text that is closer to a threshold than rounding is left to be run.

Method: mini-buckets, branch and bound (theory, section 11).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from suffice import work
from suffice.model.bag import term
from suffice.model.network import Bools, Floats, Ints
from suffice.model.trees import LEAF, Trees
from suffice.settings import DEFAULT, RESOURCES, Queries
from suffice.verify import tolerances
from suffice.verify.contract import Budget
from suffice.verify.text.lattice import OptionLattice

# a leaf, or: feature, node, left, right
PrunedNode = int | tuple[int, int, "PrunedNode", "PrunedNode"]


@dataclass(frozen=True, eq=False)
class TableProved:
    """Every allowed text keeps the label: tables over buckets of words, or a split of one word into
    its choices.

    `unclear` texts were too close to zero or to a threshold to be computed; they are still to be
    run.
    """

    buckets: tuple[tuple[int, ...], ...] = ()
    word: int | None = None
    branches: tuple[TableProved, ...] = ()
    unclear: tuple[Ints, ...] = ()

    def all_unclear(self) -> Iterator[Ints]:
        yield from self.unclear
        for branch in self.branches:
            yield from branch.all_unclear()


@dataclass(frozen=True, eq=False)
class TableRefuted:
    """A text that does not keep the label, as computed here: it is still to be run."""

    chosen: Ints


@dataclass(frozen=True)
class TableUnknown:
    reason: str


@dataclass(eq=False)
class TreeEnsemble:
    """The trees of a bag over one lattice, against one rival."""

    lattice: OptionLattice
    label: int
    rival: int
    at_most: int | None
    roots: list[PrunedNode] = field(init=False)
    budget: Budget = field(default_factory=Budget)
    settings: Queries = DEFAULT.queries

    def __post_init__(self) -> None:
        self.roots = [self._pruned(int(root)) for root in self.trees.roots]

    @property
    def trees(self) -> Trees:
        assert self.lattice.bag.trees is not None
        return self.lattice.bag.trees

    @property
    def tolerance(self) -> float:
        """Margins within this of zero are run: the difference of two scores, each as far off as it
        may be.
        """
        return tolerances.TREE_MARGIN + 2.0 * self.trees.rounding

    @cached_property
    def leaf_margins(self) -> Floats:
        """(leaves,) What each leaf adds to the margin."""
        return np.asarray(self.trees.value[:, self.label] - self.trees.value[:, self.rival])

    @cached_property
    def feature_of(self) -> dict[int, int]:
        return {int(column): f for f, column in enumerate(self.lattice.columns)}

    def _pruned(self, node: int) -> PrunedNode:
        """A tree without the tests of features that cannot occur here."""
        trees = self.trees
        while (column := int(trees.column[node])) != LEAF and column not in self.feature_of:
            node = int(trees.left[node] if trees.threshold[node] >= 0.0 else trees.right[node])
        if column == LEAF:
            return node
        left = self._pruned(int(trees.left[node]))
        right = self._pruned(int(trees.right[node]))
        return (self.feature_of[column], node, left, right)

    @cached_property
    def counts_by_feature(self) -> list[dict[int, float]]:
        """By feature, the choices that hold it and how often."""
        table = self.lattice.option_counts.tocoo()
        found: list[dict[int, float]] = [{} for _ in self.lattice.columns]
        for choice, feature, count in zip(
            table.row.tolist(), table.col.tolist(), table.data.tolist(), strict=True
        ):
            found[feature][choice] = count
        return found

    @cached_property
    def holders(self) -> list[frozenset[int]]:
        """The words that can hold each feature."""
        return [
            frozenset(int(self.lattice.word_of[choice]) for choice in counts)
            for counts in self.counts_by_feature
        ]

    @cached_property
    def scopes(self) -> list[frozenset[int]]:
        """The words that each tree depends on."""
        if not self.is_local:
            return [frozenset(range(self.lattice.word_count))] * len(self.roots)
        return [
            frozenset().union(*(self.holders[f] for f in _features(node))) for node in self.roots
        ]

    def margin(self, chosen: Ints) -> float:
        """The lead of one text; -inf where rounding would decide."""
        if self.full_table is not None:
            axes, table = self.full_table
            return float(
                table[tuple(int(chosen[word] - self.lattice.first[word]) for word in axes)]
            )
        return float(
            OptionTable(self, [[int(choice)] for choice in chosen], ()).margins(
                range(len(self.roots))
            )
        )

    def decide(self, held: Bools, budget: Budget) -> TableProved | TableRefuted | TableUnknown:
        """Whether every allowed text that keeps the words of `held` keeps the label against the
        rival.
        """
        self.budget = budget
        allowed = [
            choices[:1] if held[word] else choices for word, choices in enumerate(self.all_choices)
        ]
        if self.full_table is None:
            return _TableBranching(self).run(allowed)
        axes, table = self.full_table
        restricted = table[tuple(0 if held[word] else slice(None) for word in axes)]
        return decide_table(
            allowed, tuple(word for word in axes if not held[word]), restricted, self.tolerance
        )

    @property
    def all_choices(self) -> list[list[int]]:
        ends = self.lattice.offsets.tolist()
        return [list(range(ends[i], ends[i + 1])) for i in range(self.lattice.word_count)]

    @property
    def fits(self) -> bool:
        """Whether all texts could be worked out in a while: a guess, by how many there are."""
        tables = self.settings.full_tables * (self.settings.local_speed if self.is_local else 1)
        every = _entries(frozenset().union(*self.scopes), self.all_choices)
        return every <= tables * RESOURCES.table_entries

    @property
    def is_local(self) -> bool:
        """Whether a tree depends on the few words only that hold what it tests."""
        return self.lattice.bag.norm is None and self.lattice.bag.most == 1

    @cached_property
    def full_table(self) -> tuple[tuple[int, ...], Floats] | None:
        """The table of all texts, where it is small enough."""
        buckets = bucketed(self, self.all_choices)
        if buckets is None or len(buckets) > 1:
            return None
        ((axes, trees),) = buckets.items()
        return axes, OptionTable(self, _restricted(self.all_choices, axes), axes).allowed_margins(
            trees
        )


def _features(node: PrunedNode) -> set[int]:
    found = set()
    queue = [node]
    while queue:
        current = queue.pop()
        if isinstance(current, tuple):
            found.add(current[0])
            queue += current[2:]
    return found


class OptionTable:
    """The texts of some choices, with an axis for each word of `axes`; the others have
    one choice.
    """

    def __init__(
        self, ensemble: TreeEnsemble, allowed: Sequence[Sequence[int]], axes: Sequence[int]
    ) -> None:
        self.ensemble = ensemble
        self.lattice = ensemble.lattice
        self.axes = tuple(axes)
        self.allowed = [np.array(choices, dtype=np.int64) for choices in allowed]
        self.flat_cache: dict[tuple[int, tuple[int, ...]], Floats] = {}

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(self.allowed[word]) for word in self.axes)

    def on_axis(self, word: int, values: Any) -> Any:
        """Numbers of one word's choices along its axis."""
        if word not in self.axes:
            return values[0]
        shape = [1] * len(self.axes)
        shape[self.axes.index(word)] = len(values)
        return values.reshape(shape)

    def feature_counts(self, feature: int) -> Floats:
        """How often a feature counts in each of the texts."""
        lattice = self.lattice
        total: Floats = np.zeros((1,) * len(self.axes))
        counts = self.ensemble.counts_by_feature[feature]
        for word in self.ensemble.holders[feature]:
            total = total + self.on_axis(
                word, np.array([counts.get(int(choice), 0.0) for choice in self.allowed[word]])
            )
        for place in self.live_pairs.get(feature, ()):
            total = total + lattice.pairs.sign[place] * self._pair_present(place)
        return total

    @cached_property
    def live_pairs(self) -> dict[int, list[int]]:
        """The pairs that can meet here, by feature."""
        found: dict[int, list[int]] = {}
        pairs = self.lattice.pairs
        slot = self.lattice.word_of
        for place, (a, b) in enumerate(
            zip(pairs.earlier.tolist(), pairs.later.tolist(), strict=True)
        ):
            if a in self.allowed[slot[a]] and b in self.allowed[slot[b]]:
                found.setdefault(int(pairs.feature[place]), []).append(place)
        return found

    def _pair_present(self, place: int) -> Floats:
        """Where the two choices stand and all between them has vanished."""
        lattice = self.lattice
        a = int(lattice.pairs.earlier[place])
        b = int(lattice.pairs.later[place])
        first = int(lattice.word_of[a])
        last = int(lattice.word_of[b])
        found = self.on_axis(first, self.allowed[first] == a) & self.on_axis(
            last, self.allowed[last] == b
        )
        for word in range(first + 1, last):
            found = found & self.on_axis(word, lattice.empty[self.allowed[word]])
        return np.asarray(found, dtype=np.float64)

    @cached_property
    def norm(self) -> Floats:
        """The norm; 1 where there is nothing."""
        total: Floats = np.zeros((1,) * len(self.axes))
        for feature in range(len(self.lattice.columns)):
            value = self._raw_value(feature)
            total = total + (value * value if self.lattice.bag.norm == "l2" else np.abs(value))
        total = np.sqrt(total) if self.lattice.bag.norm == "l2" else total
        return np.where(total > 0, total, 1.0)

    def _raw_value(self, feature: int) -> Floats:
        return np.asarray(
            self.lattice.scale[feature] * term(self.lattice.bag.tf, self.feature_counts(feature))
        )

    def value(self, feature: int) -> Floats:
        raw = self._raw_value(feature)
        return raw if self.lattice.bag.norm is None else raw / self.norm

    def tree_margins(self, number: int) -> Floats:
        """What a tree adds to the lead, with axes for the words it depends on; -inf where rounding
        would decide.
        """
        words = self.ensemble.scopes[number]
        shape = tuple(
            size if word in words else 1 for word, size in zip(self.axes, self.shape, strict=True)
        )
        margins = np.zeros(math.prod(shape))
        work.count("table_entries", len(margins))
        rows = np.arange(math.prod(shape))
        queue = [(self.ensemble.roots[number], rows)]
        while queue:
            node, rows = queue.pop()
            if not isinstance(node, tuple):
                margins[rows] = self.ensemble.leaf_margins[node]
                continue
            feature, where, left, right = node
            goes_left, unclear = self.ensemble.trees.left_of(
                self.flat_values(feature, shape)[rows], where
            )
            margins[rows[unclear]] = -np.inf
            sides = ((left, rows[goes_left & ~unclear]), (right, rows[~goes_left & ~unclear]))
            queue += [(side, reached) for side, reached in sides if len(reached)]
        return margins.reshape(shape)

    def flat_values(self, feature: int, shape: tuple[int, ...]) -> Floats:
        """The values of a feature, a number for each text of such a table."""
        if (feature, shape) not in self.flat_cache:
            self.flat_cache[feature, shape] = np.broadcast_to(self.value(feature), shape).ravel()
        return self.flat_cache[feature, shape]

    def margins(self, trees: Sequence[int]) -> Floats:
        """The lead of every text, as far as these trees go; -inf where rounding would decide."""
        bias = float(
            self.ensemble.trees.bias[self.ensemble.label]
            - self.ensemble.trees.bias[self.ensemble.rival]
        )
        total = np.full(self.shape, bias)
        for tree in trees:
            self.ensemble.budget.check_time()
            total += self.tree_margins(tree)
        return total

    def change_counts(self) -> Ints:
        """How many words other than the original stand there, all words counted."""
        total = np.zeros((1,) * len(self.axes), dtype=np.int64)
        for word, choices in enumerate(self.allowed):
            total = total + self.on_axis(word, choices != self.lattice.first[word]).astype(np.int64)
        return total

    def allowed_margins(self, trees: Sequence[int]) -> Floats:
        """`added`, infinite where too many words change."""
        margins = self.margins(trees)
        limit = self.ensemble.at_most
        return (
            margins if limit is None else np.where(self.change_counts() <= limit, margins, np.inf)
        )


class _TableBranching:
    def __init__(self, ensemble: TreeEnsemble) -> None:
        self.ensemble = ensemble
        self.splits_left = RESOURCES.most_nodes

    def run(self, allowed: list[list[int]]) -> TableProved | TableRefuted | TableUnknown:
        self.splits_left -= 1
        if self.splits_left < 0:
            return TableUnknown("too many words had to be split")
        if self._exceeds_limit(allowed):
            return TableProved()
        buckets = bucketed(self.ensemble, allowed)
        if buckets is not None:
            verdict = self._bounded(allowed, buckets)
            if verdict is not None:
                return verdict
        return self._split(allowed, self._branching_word(allowed, buckets))

    def _exceeds_limit(self, allowed: list[list[int]]) -> bool:
        """Whether more words are changed already than may be."""
        limit = self.ensemble.at_most
        first = self.ensemble.lattice.first
        return (
            limit is not None
            and sum(first[word] not in choices for word, choices in enumerate(allowed)) > limit
        )

    def _bounded(
        self, allowed: list[list[int]], buckets: dict[tuple[int, ...], list[int]]
    ) -> TableProved | TableRefuted | TableUnknown | None:
        """The tables decide, or a text falls that they point at; None where neither."""
        bias = float(
            self.ensemble.trees.bias[self.ensemble.label]
            - self.ensemble.trees.bias[self.ensemble.rival]
        )
        total = bias
        chosen = np.array([choices[0] for choices in allowed])
        table = np.zeros(0)
        for axes, trees in buckets.items():
            table = OptionTable(self.ensemble, _restricted(allowed, axes), axes).allowed_margins(
                trees
            )
            if len(buckets) == 1:
                return decide_table(allowed, axes, table, self.ensemble.tolerance)
            total += float(table.min()) - bias
            _set_choices(chosen, allowed, axes, np.unravel_index(int(table.argmin()), table.shape))
        if total > self.ensemble.tolerance:
            return TableProved(tuple(buckets))
        limit = self.ensemble.at_most
        within_limit = limit is None or int((chosen != self.ensemble.lattice.first).sum()) <= limit
        return (
            TableRefuted(chosen)
            if within_limit and -np.inf < self.ensemble.margin(chosen) < -self.ensemble.tolerance
            else None
        )

    def _branching_word(
        self, allowed: list[list[int]], buckets: dict[tuple[int, ...], list[int]] | None
    ) -> int:
        """The open word that most trees depend on, or most groups."""
        scopes = self.ensemble.scopes if buckets is None else [frozenset(axes) for axes in buckets]
        open_words = [word for word, choices in enumerate(allowed) if len(choices) > 1]
        return max(open_words, key=lambda word: (sum(word in scope for scope in scopes), -word))

    def _split(
        self, allowed: list[list[int]], word: int
    ) -> TableProved | TableRefuted | TableUnknown:
        branches = []
        for choice in allowed[word]:
            verdict = self.run([*allowed[:word], [choice], *allowed[word + 1 :]])
            if not isinstance(verdict, TableProved):
                return verdict
            branches.append(verdict)
        return TableProved(word=word, branches=tuple(branches))


def decide_table(
    allowed: list[list[int]], axes: tuple[int, ...], table: Floats, tolerance: float
) -> TableProved | TableRefuted | TableUnknown:
    """One table of all texts: each is above zero, or too close and to be run; or one falls."""
    chosen = np.array([choices[0] for choices in allowed])
    if table.min() > tolerance:
        return TableProved((axes,))
    negative = np.where(np.isneginf(table), np.inf, table)
    if negative.min() < -tolerance:
        _set_choices(chosen, allowed, axes, np.unravel_index(int(negative.argmin()), table.shape))
        return TableRefuted(chosen)
    unclear = np.argwhere(table <= tolerance)
    if len(unclear) > RESOURCES.unclear_texts:
        return TableUnknown(f"{len(unclear)} texts are too close to a threshold to be worked out")
    texts = [chosen.copy() for _ in unclear]
    for text, place in zip(texts, unclear, strict=True):
        _set_choices(text, allowed, axes, place)
    return TableProved((axes,), unclear=tuple(texts))


def _set_choices(
    chosen: Ints, allowed: list[list[int]], axes: Sequence[int], position: Sequence[Any] | Ints
) -> None:
    for axis, place in zip(axes, position, strict=True):
        chosen[axis] = allowed[axis][int(place)]


def _restricted(allowed: list[list[int]], axes: Sequence[int]) -> list[list[int]]:
    """The words of a table as they may be; the others do not matter to its trees and keep one
    choice.
    """
    return [choices if word in axes else choices[:1] for word, choices in enumerate(allowed)]


def bucketed(
    ensemble: TreeEnsemble, allowed: list[list[int]]
) -> dict[tuple[int, ...], list[int]] | None:
    """Trees by the words of a table that serves them; one table for all where it fits, None where
    one does not fit.
    """
    open_words = {word for word, choices in enumerate(allowed) if len(choices) > 1}
    scopes = [scope & open_words for scope in ensemble.scopes]
    all_words = frozenset().union(*scopes)
    if _entries(all_words, allowed) <= RESOURCES.table_entries:
        return {tuple(sorted(all_words)): list(range(len(scopes)))}
    buckets: list[tuple[frozenset[int], list[int]]] = []
    for tree in sorted(range(len(scopes)), key=lambda t: -len(scopes[t])):
        if _entries(scopes[tree], allowed) > RESOURCES.table_entries:
            return None
        for k, (words, trees) in enumerate(buckets):
            if _entries(words | scopes[tree], allowed) <= RESOURCES.table_entries:
                buckets[k] = (words | scopes[tree], [*trees, tree])
                break
        else:
            buckets.append((scopes[tree], [tree]))
    return {tuple(sorted(words)): trees for words, trees in buckets}


def _entries(words: frozenset[int], allowed: list[list[int]]) -> int:
    return math.prod(len(allowed[word]) for word in words)

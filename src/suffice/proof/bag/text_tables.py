"""Checks tables of texts: each text is written out as a row of features, judged by trees or the
model.

Written apart from the prover. A proof is a tree of splits, each of one word into all its choices; a
leaf names buckets of words, and every decision tree must depend on open words of one bucket only
(with a norm, or where neighbours count, on all open words); a model that is run depends on all. The
rows of a bucket are all choices of its words; the least sum of each bucket's rows, added up, is
below the margin of any text. *Rounding.* A row that comes closer to a threshold than 1e-6 of it, or
whose margin is close to zero, is not trusted: it is run as a string, or the proof is rejected.

Method: mini-buckets over option tables (theory, section 11).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
import scipy  # its subpackages load on first use

from suffice.errors import Rejected
from suffice.model.network import Bools, Floats, Ints
from suffice.model.trees import LEAF, Trees
from suffice.proof.bag.check import BagCheck
from suffice.proof.bag.tolerances import (
    CHUNK,
    MOST_ROWS,
    MOST_RUNS,
    MOST_UNCLEAR,
    NEAR_ZERO,
)

Allowed = list[list[int]]  # the choices of each word
# the margins of changed texts, as the program says
RunChanges = Callable[[Sequence[Mapping[int, str]]], Floats]


def _require(condition: Any, reason: str) -> None:
    if not condition:
        raise Rejected(0, reason)


@dataclass(eq=False)
class TableCheck:
    """One text before one set of trees."""

    bag: BagCheck
    run_changes: RunChanges

    def __post_init__(self) -> None:
        self.trees = self.bag.bag.trees
        self.tolerance = NEAR_ZERO[self.trees is not None] + (
            0.0 if self.trees is None else 2.0 * self.trees.rounding
        )
        self.token_number = {
            t: k
            for k, t in enumerate(sorted({t for w in self.bag.words for c in w for t in c.tokens}))
        }
        self.known_runs = {
            order: self._known_runs(order) for order in range(1, self.bag.bag.orders[1] + 1)
        }
        self.columns = sorted(
            {int(c) for places, _ in self.known_runs.values() for c in np.unique(places) if c >= 0}
        )
        self.pruned_node = (
            np.zeros(0, dtype=np.int64) if self.trees is None else self._pruned_nodes(self.trees)
        )

    def _known_runs(self, order: int) -> tuple[Ints, Floats]:
        """By the numbers of so many tokens in a row, the column and sign of the feature that they
        are, or -1.
        """
        size = len(self.token_number)
        _require((size + 1) ** order <= MOST_RUNS, "there are too many runs of tokens to look up")
        places = np.full((size + 1,) * order, -1)
        signs = np.zeros((size + 1,) * order)
        if order >= self.bag.bag.orders[0]:
            for run in product(self.token_number, repeat=order):
                self.bag.check_time()
                found = self.bag.bag.column(" ".join(run))
                if found is not None:
                    at = tuple(self.token_number[token] for token in run)
                    places[at], signs[at] = found
        return places, signs

    def _pruned_nodes(self, trees: Trees) -> Ints:
        """For each node the first one below it whose feature can occur here: all other features are
        zero.
        """
        absent = (trees.column != LEAF) & ~np.isin(trees.column, self.columns)
        ahead = np.where(trees.threshold >= 0.0, trees.left, trees.right)
        pruned_node = np.where(absent, ahead, np.arange(len(absent)))
        while (pruned_node[pruned_node] != pruned_node).any():
            pruned_node = pruned_node[pruned_node]
        return pruned_node

    def require_sufficient(
        self, free: Sequence[int], proofs: Mapping[str, Any], labels: Sequence[str]
    ) -> None:
        """Every allowed text that changes only free words keeps the label, against every rival."""
        rivals = [j for j in range(len(labels)) if j != self.bag.label]
        _require(
            set(proofs) == {labels[j] for j in rivals},
            "there must be a proof for every other label",
        )
        allowed = [
            list(range(len(w))) if i in set(free) else [0] for i, w in enumerate(self.bag.words)
        ]
        for rival in rivals:
            queue = [allowed]
            for node in proofs[labels[rival]]:
                self.bag.check_time()
                _require(queue, "there are more nodes than splits")
                current = queue.pop()
                _require(
                    node.keys() in ({"word"}, {"groups"}), "a node splits a word or has groups"
                )
                if "word" in node:
                    queue += reversed(self._split_word(current, node["word"]))
                else:
                    self._check_leaf(current, node["groups"], rival)
            _require(not queue, "a branch has no proof")

    def _split_word(self, allowed: Allowed, word: Any) -> list[Allowed]:
        _require(
            type(word) is int and 0 <= word < len(allowed) and len(allowed[word]) > 1,
            "a split must be of a word",
        )
        return [[*allowed[:word], [choice], *allowed[word + 1 :]] for choice in allowed[word]]

    def _check_leaf(self, allowed: Allowed, buckets: Sequence[Sequence[int]], rival: int) -> None:
        if (
            self.bag.at_most is not None
            and sum(0 not in some for some in allowed) > self.bag.at_most
        ):
            return  # no text here changes so few words
        open_words = [i for i, some in enumerate(allowed) if len(some) > 1]
        if self.trees is None:
            _require(
                len(buckets) == 1 and list(buckets[0]) == open_words,
                "a model needs one table of all open words",
            )
            self._check_table(
                allowed, open_words, self._table_margins(allowed, open_words, (), rival), rival
            )
            return
        bias = float(self.trees.bias[self.bag.label] - self.trees.bias[rival])
        trees_of_bucket: dict[int, list[int]] = {}
        for tree in range(len(self.trees.roots)):
            scope = self._scope(tree, open_words)
            buckets_that_fit = [k for k, words in enumerate(buckets) if scope <= set(words)]
            _require(buckets_that_fit, "a tree depends on words of no group")
            trees_of_bucket.setdefault(buckets_that_fit[0], []).append(tree)
        bucket_margins = {
            k: self._table_margins(allowed, buckets[k], trees, rival)
            for k, trees in trees_of_bucket.items()
        }
        if len(bucket_margins) == 1:
            ((k, margins),) = bucket_margins.items()
            self._check_table(allowed, buckets[k], margins + bias, rival)
        else:
            bound = sum(float(margins.min()) for margins in bucket_margins.values()) + bias
            _require(bound > self.tolerance, f"a bound is {bound:.3g}, not above zero")

    def _scope(self, tree: int, open_words: Sequence[int]) -> set[int]:
        """The open words that can move a feature that the tree tests."""
        if self.bag.bag.norm is not None or self.bag.bag.orders[1] > 1:
            return set(open_words)
        tested = self._tested_columns(tree)
        choices = self.bag.words
        return {
            i
            for i in open_words
            if any(c in tested for choice in choices[i] for c in choice.counts)
        }

    def _tested_columns(self, tree: int) -> set[int]:
        trees = self.trees
        assert trees is not None
        tested = set()
        queue = [int(self.pruned_node[trees.roots[tree]])]
        while queue:
            node = queue.pop()
            if trees.column[node] != LEAF:
                tested.add(int(trees.column[node]))
                queue += [
                    int(self.pruned_node[trees.left[node]]),
                    int(self.pruned_node[trees.right[node]]),
                ]
        return tested

    def _check_table(
        self, allowed: Allowed, words: Sequence[int], margins: Floats, rival: int
    ) -> None:
        """One group for all trees: its rows are texts, and those that are not clear are run."""
        unclear = np.flatnonzero(~(margins > self.tolerance))
        _require(
            len(unclear) <= MOST_UNCLEAR, f"{len(unclear)} texts do not clearly keep the label"
        )
        rows = list(product(*(allowed[word] for word in words)))
        changes = [self._change(allowed, words, rows[int(k)]) for k in unclear]
        if changes:
            _require(
                (self.run_changes(changes) > 0).all(),
                "run again, a text does not clearly keep the label",
            )

    def _change(self, allowed: Allowed, words: Sequence[int], row: Sequence[int]) -> dict[int, str]:
        chosen = [choices[0] for choices in allowed]
        for word, choice in zip(words, row, strict=True):
            chosen[word] = choice
        return {i: self.bag.words[i][choice].written for i, choice in enumerate(chosen) if choice}

    # --- rows ---

    def _table_margins(
        self, allowed: Allowed, words: Sequence[int], trees: Sequence[int], rival: int
    ) -> Floats:
        """The lead of every row; not a number where a threshold is too close, infinite where too
        much changes.
        """
        _require(
            all(type(word) is int and 0 <= word < len(allowed) for word in words),
            "a group must be of words",
        )
        _require(list(words) == sorted(set(words)), "a group must be sorted")
        count = prod(len(allowed[word]) for word in words)
        _require(count <= MOST_ROWS, f"a table of {count} texts is too large")
        margins = np.zeros(count)
        for scope, some in (
            self._by_scope(words, trees).items() if self.trees is not None else [(tuple(words), [])]
        ):
            margins += self._broadcast(
                allowed, words, scope, self._scope_margins(allowed, scope, some, rival)
            )
        if self.bag.at_most is not None:
            first = sum(some[0] != 0 for word, some in enumerate(allowed) if word not in words)
            changed = np.full(count, first)
            for word in words:
                changed += self._broadcast(
                    allowed, words, (word,), np.array([k != 0 for k in allowed[word]])
                )
            margins[changed > self.bag.at_most] = np.inf
        return margins

    def _by_scope(
        self, words: Sequence[int], trees: Sequence[int]
    ) -> dict[tuple[int, ...], list[int]]:
        """Trees that depend on the same words."""
        found: dict[tuple[int, ...], list[int]] = {}
        for tree in trees:
            found.setdefault(tuple(sorted(self._scope(tree, words))), []).append(tree)
        return found

    def _broadcast(
        self, allowed: Allowed, words: Sequence[int], scope: Sequence[int], values: Any
    ) -> Any:
        """A number for each choice of some words as one for each choice of all words."""
        sizes = [len(allowed[word]) if word in scope else 1 for word in words]
        return np.broadcast_to(
            values.reshape(sizes), [len(allowed[word]) for word in words]
        ).ravel()

    def _scope_margins(
        self, allowed: Allowed, scope: Sequence[int], trees: Sequence[int], rival: int
    ) -> Floats:
        """The lead that trees give to every choice of the words they depend on."""
        sizes = [len(allowed[word]) for word in scope]
        base = np.array([choices[0] for choices in allowed])
        parts = []
        for start in range(0, prod(sizes), CHUNK):
            self.bag.check_time()
            number = np.arange(start, min(start + CHUNK, prod(sizes)))
            chosen = np.repeat(base[None], len(number), axis=0)
            for word, places in zip(
                scope, np.unravel_index(number, sizes) if scope else (), strict=True
            ):
                chosen[:, word] = np.array(allowed[word])[places]
            parts.append(self._margins(chosen, trees, rival))
        return np.concatenate(parts)

    def _margins(self, chosen: Ints, trees: Sequence[int], rival: int) -> Floats:
        values = self._feature_values(chosen)
        if self.trees is None:
            scores = self._scores(values)
            return np.asarray(scores[:, self.bag.label] - scores[:, rival])
        margins = np.zeros(len(chosen))
        unclear = np.zeros(len(chosen), dtype=bool)
        for tree in trees:
            leaf, close = self._leaves(self.trees, tree, values)
            margins += self.trees.value[leaf, self.bag.label] - self.trees.value[leaf, rival]
            unclear |= close
        margins[unclear] = np.nan
        return margins

    def _scores(self, values: Floats) -> Floats:
        """What the model itself says of rows of features."""
        bag = self.bag.bag
        assert bag.model is not None
        wide = scipy.sparse.lil_matrix((len(values), len(bag.scale)))
        wide[:, self.columns] = values
        return bag.model(wide.tocsr())

    def _leaves(self, trees: Trees, tree: int, values: Floats) -> tuple[Ints, Bools]:
        place = self._column_index
        node = np.full(len(values), self.pruned_node[trees.roots[tree]])
        unclear = np.zeros(len(values), dtype=bool)
        active = np.arange(len(values))
        while len(active := active[trees.column[node[active]] != LEAF]):
            here = node[active]
            left, close = trees.left_of(values[active, place[trees.column[here]]], here)
            unclear[active] |= close
            node[active] = self.pruned_node[np.where(left, trees.left[here], trees.right[here])]
        return node, unclear

    @cached_property
    def _column_index(self) -> Ints:
        place = np.zeros(len(self.bag.bag.scale), dtype=np.int64)
        place[self.columns] = np.arange(len(self.columns))
        return place

    def _feature_values(self, chosen: Ints) -> Floats:
        """The features of each text, a row for each: its tokens are walked through, all texts at
        once.
        """
        bag = self.bag.bag
        number = self.token_number
        counts = np.zeros((len(chosen), len(self.columns)))
        previous = [np.full(len(chosen), len(number)) for _ in range(bag.orders[1] - 1)]  # none yet
        for i, word in enumerate(self.bag.words):
            for k in range(max(len(choice.tokens) for choice in word)):
                token = np.array([number[c.tokens[k]] if k < len(c.tokens) else -1 for c in word])[
                    chosen[:, i]
                ]
                rows = np.flatnonzero(token >= 0)
                for order, (places, signs) in self.known_runs.items():
                    at = (
                        *(earlier[rows] for earlier in reversed(previous[: order - 1])),
                        token[rows],
                    )
                    known = places[at] >= 0
                    # each row is there once
                    counts[rows[known], self._column_index[places[at][known]]] += signs[at][known]
                for older in range(len(previous) - 1, 0, -1):
                    previous[older][rows] = previous[older - 1][rows]
                if previous:
                    previous[0][rows] = token[rows]
        values: Floats = bag.scale[self.columns] * self._terms(counts)
        match bag.norm:
            case None:
                return np.asarray(values)
            case "l2":
                norm = np.sqrt((values * values).sum(1))
            case "l1":
                norm = np.abs(values).sum(1)
        return np.asarray(values / np.where(norm > 0, norm, 1.0)[:, None])

    def _terms(self, counts: Floats) -> Floats:
        match self.bag.bag.tf:
            case "count":
                return counts
            case "log":
                return np.asarray(
                    np.where(counts > 0, 1.0 + np.log(np.where(counts > 0, counts, 1.0)), 0.0)
                )
            case "once":
                return np.asarray(counts != 0, dtype=np.float64)

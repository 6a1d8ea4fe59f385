"""Checks tables of texts: each text of a table is written out as a row of features, and judged by trees or the model.

Written apart from the prover. A proof is a tree of splits, each of one word into all its choices; a leaf names groups
of words, and every decision tree must depend on open words of one group only (with a norm, or where neighbours count,
on all open words); a model that is run depends on all. The rows of a group are all choices of its words; the least sum
of each group's rows, added up, is below the lead of any text. *Rounding.* A row that comes closer to a threshold than
1e-6 of it, or whose lead is close to zero, is not trusted: it is run as a string, or the proof is rejected.
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

CLOSE = {True: 1e-10, False: 1e-8}  # leads closer to zero are run; of trees, and of a model that is run
MOST_ROWS = 2**20
MOST_RUN = 2000
MOST_GRAMS = 2**21  # runs of tokens that are looked up
PART = 2**14  # rows at a time

Allowed = list[list[int]]  # the choices of each word
Run = Callable[[Sequence[Mapping[int, str]]], Floats]  # the margins of changed texts, as the program says


def _need(condition: Any, reason: str) -> None:
    if not condition:
        raise Rejected(0, reason)


@dataclass(eq=False)
class TableCheck:
    """One text before one set of trees."""

    bag: BagCheck
    run: Run

    def __post_init__(self) -> None:
        self.trees = self.bag.bag.trees
        self.close = CLOSE[self.trees is not None] + (0.0 if self.trees is None else 2.0 * self.trees.rounding)
        self.number = {t: k for k, t in enumerate(sorted({t for w in self.bag.words for c in w for t in c.tokens}))}
        self.grams = {order: self._known(order) for order in range(1, self.bag.bag.orders[1] + 1)}
        self.columns = sorted({int(c) for places, _ in self.grams.values() for c in np.unique(places) if c >= 0})
        self.jump = np.zeros(0, dtype=np.int64) if self.trees is None else self._jumps(self.trees)

    def _known(self, order: int) -> tuple[Ints, Floats]:
        """By the numbers of so many tokens in a row, the column and sign of the feature that they are, or -1."""
        size = len(self.number)
        _need((size + 1) ** order <= MOST_GRAMS, "there are too many runs of tokens to look up")
        places, signs = np.full((size + 1,) * order, -1), np.zeros((size + 1,) * order)
        if order >= self.bag.bag.orders[0]:
            for run in product(self.number, repeat=order):
                self.bag.look()
                found = self.bag.bag.column(" ".join(run))
                if found is not None:
                    at = tuple(self.number[token] for token in run)
                    places[at], signs[at] = found
        return places, signs

    def _jumps(self, trees: Trees) -> Ints:
        """For each node the first one below it whose feature can occur here: all other features are zero."""
        absent = (trees.column != LEAF) & ~np.isin(trees.column, self.columns)
        ahead = np.where(trees.threshold >= 0.0, trees.left, trees.right)
        jump = np.where(absent, ahead, np.arange(len(absent)))
        while (jump[jump] != jump).any():
            jump = jump[jump]
        return jump

    def enough(self, free: Sequence[int], proofs: Mapping[str, Any], labels: Sequence[str]) -> None:
        """Every allowed text that changes only free words keeps the label, against every rival."""
        rivals = [j for j in range(len(labels)) if j != self.bag.label]
        _need(set(proofs) == {labels[j] for j in rivals}, "there must be a proof for every other label")
        allowed = [list(range(len(w))) if i in set(free) else [0] for i, w in enumerate(self.bag.words)]
        for rival in rivals:
            waiting = [allowed]
            for node in proofs[labels[rival]]:
                self.bag.look()
                _need(waiting, "there are more nodes than splits")
                here = waiting.pop()
                _need(node.keys() in ({"word"}, {"groups"}), "a node splits a word or has groups")
                if "word" in node:
                    waiting += reversed(self._halves(here, node["word"]))
                else:
                    self._leaf(here, node["groups"], rival)
            _need(not waiting, "a branch has no proof")

    def _halves(self, allowed: Allowed, word: Any) -> list[Allowed]:
        _need(type(word) is int and 0 <= word < len(allowed) and len(allowed[word]) > 1, "a split must be of a word")
        return [[*allowed[:word], [choice], *allowed[word + 1 :]] for choice in allowed[word]]

    def _leaf(self, allowed: Allowed, groups: Sequence[Sequence[int]], rival: int) -> None:
        if self.bag.limit is not None and sum(0 not in some for some in allowed) > self.bag.limit:
            return  # no text here changes so few words
        open_words = [i for i, some in enumerate(allowed) if len(some) > 1]
        if self.trees is None:
            _need(len(groups) == 1 and list(groups[0]) == open_words, "a model needs one table of all open words")
            self._all_stand(allowed, open_words, self._rows(allowed, open_words, (), rival), rival)
            return
        shared = float(self.trees.bias[self.bag.label] - self.trees.bias[rival])
        served: dict[int, list[int]] = {}
        for tree in range(len(self.trees.roots)):
            needed = self._depends(tree, open_words)
            fitting = [k for k, words in enumerate(groups) if needed <= set(words)]
            _need(fitting, "a tree depends on words of no group")
            served.setdefault(fitting[0], []).append(tree)
        leads = {k: self._rows(allowed, groups[k], trees, rival) for k, trees in served.items()}
        if len(leads) == 1:
            ((k, lead),) = leads.items()
            self._all_stand(allowed, groups[k], lead + shared, rival)
        else:
            bound = sum(float(lead.min()) for lead in leads.values()) + shared
            _need(bound > self.close, f"a bound is {bound:.3g}, not above zero")

    def _depends(self, tree: int, open_words: Sequence[int]) -> set[int]:
        """The open words that can move a feature that the tree tests."""
        if self.bag.bag.norm is not None or self.bag.bag.orders[1] > 1:
            return set(open_words)
        tested = self._tested(tree)
        choices = self.bag.words
        return {i for i in open_words if any(c in tested for choice in choices[i] for c in choice.counts)}

    def _tested(self, tree: int) -> set[int]:
        trees = self.trees
        assert trees is not None
        found, waiting = set(), [int(self.jump[trees.roots[tree]])]
        while waiting:
            node = waiting.pop()
            if trees.column[node] != LEAF:
                found.add(int(trees.column[node]))
                waiting += [int(self.jump[trees.left[node]]), int(self.jump[trees.right[node]])]
        return found

    def _all_stand(self, allowed: Allowed, words: Sequence[int], leads: Floats, rival: int) -> None:
        """One group for all trees: its rows are texts, and those that are not clear are run."""
        unclear = np.flatnonzero(~(leads > self.close))
        _need(len(unclear) <= MOST_RUN, f"{len(unclear)} texts do not clearly keep the label")
        rows = list(product(*(allowed[word] for word in words)))
        changes = [self._change(allowed, words, rows[int(k)]) for k in unclear]
        if changes:
            _need((self.run(changes) > 0).all(), "run again, a text does not clearly keep the label")

    def _change(self, allowed: Allowed, words: Sequence[int], row: Sequence[int]) -> dict[int, str]:
        chosen = [some[0] for some in allowed]
        for word, choice in zip(words, row, strict=True):
            chosen[word] = choice
        return {i: self.bag.words[i][choice].written for i, choice in enumerate(chosen) if choice}

    # --- rows ---

    def _rows(self, allowed: Allowed, words: Sequence[int], trees: Sequence[int], rival: int) -> Floats:
        """The lead of every row; not a number where a threshold is too close, infinite where too much changes."""
        _need(all(type(word) is int and 0 <= word < len(allowed) for word in words), "a group must be of words")
        _need(list(words) == sorted(set(words)), "a group must be sorted")
        count = prod(len(allowed[word]) for word in words)
        _need(count <= MOST_ROWS, f"a table of {count} texts is too large")
        lead = np.zeros(count)
        for own, some in self._by_words(words, trees).items() if self.trees is not None else [(tuple(words), [])]:
            lead += self._spread(allowed, words, own, self._lattice(allowed, own, some, rival))
        if self.bag.limit is not None:
            first = sum(some[0] != 0 for word, some in enumerate(allowed) if word not in words)
            changed = np.full(count, first)
            for word in words:
                changed += self._spread(allowed, words, (word,), np.array([k != 0 for k in allowed[word]]))
            lead[changed > self.bag.limit] = np.inf
        return lead

    def _by_words(self, words: Sequence[int], trees: Sequence[int]) -> dict[tuple[int, ...], list[int]]:
        """Trees that depend on the same words."""
        found: dict[tuple[int, ...], list[int]] = {}
        for tree in trees:
            found.setdefault(tuple(sorted(self._depends(tree, words))), []).append(tree)
        return found

    def _spread(self, allowed: Allowed, words: Sequence[int], own: Sequence[int], values: Any) -> Any:
        """A number for each choice of some words as one for each choice of all words."""
        sizes = [len(allowed[word]) if word in own else 1 for word in words]
        return np.broadcast_to(values.reshape(sizes), [len(allowed[word]) for word in words]).ravel()

    def _lattice(self, allowed: Allowed, own: Sequence[int], trees: Sequence[int], rival: int) -> Floats:
        """The lead that trees give to every choice of the words they depend on."""
        sizes = [len(allowed[word]) for word in own]
        base, parts = np.array([some[0] for some in allowed]), []
        for start in range(0, prod(sizes), PART):
            self.bag.look()
            number = np.arange(start, min(start + PART, prod(sizes)))
            chosen = np.repeat(base[None], len(number), axis=0)
            for word, places in zip(own, np.unravel_index(number, sizes) if own else (), strict=True):
                chosen[:, word] = np.array(allowed[word])[places]
            parts.append(self._leads(chosen, trees, rival))
        return np.concatenate(parts)

    def _leads(self, chosen: Ints, trees: Sequence[int], rival: int) -> Floats:
        values = self._values(chosen)
        if self.trees is None:
            scores = self._scores(values)
            return np.asarray(scores[:, self.bag.label] - scores[:, rival])
        lead, near = np.zeros(len(chosen)), np.zeros(len(chosen), dtype=bool)
        for tree in trees:
            leaf, close = self._walked(self.trees, tree, values)
            lead += self.trees.value[leaf, self.bag.label] - self.trees.value[leaf, rival]
            near |= close
        lead[near] = np.nan
        return lead

    def _scores(self, values: Floats) -> Floats:
        """What the model itself says of rows of features."""
        bag = self.bag.bag
        assert bag.model is not None
        wide = scipy.sparse.lil_matrix((len(values), len(bag.scale)))
        wide[:, self.columns] = values
        return bag.model(wide.tocsr())

    def _walked(self, trees: Trees, tree: int, values: Floats) -> tuple[Ints, Bools]:
        place = self._place
        node = np.full(len(values), self.jump[trees.roots[tree]])
        near, going = np.zeros(len(values), dtype=bool), np.arange(len(values))
        while len(going := going[trees.column[node[going]] != LEAF]):
            here = node[going]
            left, close = trees.left_of(values[going, place[trees.column[here]]], here)
            near[going] |= close
            node[going] = self.jump[np.where(left, trees.left[here], trees.right[here])]
        return node, near

    @cached_property
    def _place(self) -> Ints:
        place = np.zeros(len(self.bag.bag.scale), dtype=np.int64)
        place[self.columns] = np.arange(len(self.columns))
        return place

    def _values(self, chosen: Ints) -> Floats:
        """The features of each text, a row for each: its tokens are walked through, all texts at once."""
        bag, number = self.bag.bag, self.number
        counts = np.zeros((len(chosen), len(self.columns)))
        last = [np.full(len(chosen), len(number)) for _ in range(bag.orders[1] - 1)]  # none yet
        for i, word in enumerate(self.bag.words):
            for k in range(max(len(choice.tokens) for choice in word)):
                token = np.array([number[c.tokens[k]] if k < len(c.tokens) else -1 for c in word])[chosen[:, i]]
                rows = np.flatnonzero(token >= 0)
                for order, (places, signs) in self.grams.items():
                    at = (*(one[rows] for one in reversed(last[: order - 1])), token[rows])
                    met = places[at] >= 0
                    counts[rows[met], self._place[places[at][met]]] += signs[at][met]  # each row is there once
                for older in range(len(last) - 1, 0, -1):
                    last[older][rows] = last[older - 1][rows]
                if last:
                    last[0][rows] = token[rows]
        values: Floats = bag.scale[self.columns] * self._terms(counts)
        match bag.norm:
            case None:
                return np.asarray(values)
            case "l2":
                size = np.sqrt((values * values).sum(1))
            case "l1":
                size = np.abs(values).sum(1)
        return np.asarray(values / np.where(size > 0, size, 1.0)[:, None])

    def _terms(self, counts: Floats) -> Floats:
        match self.bag.bag.tf:
            case "count":
                return counts
            case "log":
                return np.asarray(np.where(counts > 0, 1.0 + np.log(np.where(counts > 0, counts, 1.0)), 0.0))
            case "once":
                return np.asarray(counts != 0, dtype=np.float64)

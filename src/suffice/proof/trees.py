"""Checks tables of trees over a bag of words: every text of a table is written out as a row and walked down the trees.

Written apart from the prover. A proof is a tree of splits, each of one word into all its choices; a leaf names groups
of words, and every decision tree must depend on open words of one group only (with a norm, on all open words). The rows
of a group are all choices of its words; the least sum of each group's rows, added up, is below the lead of any text.
*Rounding.* A row that comes closer to a threshold than 1e-6 of it is not trusted: it is run, or the proof is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from suffice.errors import Rejected
from suffice.model.network import Bools, Floats, Ints
from suffice.model.trees import LEAF, Trees
from suffice.proof.bag import BagCheck

CLOSE = 1e-10  # leads closer to zero are run
MOST_ROWS = 2**20
MOST_RUN = 2000
PART = 2**14  # rows at a time

Allowed = list[list[int]]  # the choices of each word
Run = Callable[[Sequence[Mapping[int, str]]], Floats]  # the margins of changed texts, as the program says


def _need(condition: Any, reason: str) -> None:
    if not condition:
        raise Rejected(0, reason)


@dataclass(eq=False)
class TreeCheck:
    """One text before one set of trees."""

    bag: BagCheck
    run: Run

    def __post_init__(self) -> None:
        assert self.bag.bag.trees is not None
        self.trees: Trees = self.bag.bag.trees
        self.columns = sorted({c for word in self.bag.words for choice in word for c in choice.counts} | self._paired())
        self.jump = self._jumps()

    def _paired(self) -> set[int]:
        return {column for column, _ in self.bag.paired.values()}

    def _jumps(self) -> Ints:
        """For each node the first one below it whose feature can occur here: all other features are zero."""
        trees = self.trees
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
                _need(waiting, "there are more nodes than splits")
                here = waiting.pop()
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
            _need(bound > CLOSE, f"a bound is {bound:.3g}, not above zero")

    def _depends(self, tree: int, open_words: Sequence[int]) -> set[int]:
        """The open words that can move a feature that the tree tests."""
        if self.bag.bag.norm is not None or self.bag.paired:
            return set(open_words)
        tested = self._tested(tree)
        choices = self.bag.words
        return {i for i in open_words if any(c in tested for choice in choices[i] for c in choice.counts)}

    def _tested(self, tree: int) -> set[int]:
        found, waiting = set(), [int(self.jump[self.trees.roots[tree]])]
        while waiting:
            node = waiting.pop()
            if self.trees.column[node] != LEAF:
                found.add(int(self.trees.column[node]))
                waiting += [int(self.jump[self.trees.left[node]]), int(self.jump[self.trees.right[node]])]
        return found

    def _all_stand(self, allowed: Allowed, words: Sequence[int], leads: Floats, rival: int) -> None:
        """One group for all trees: its rows are texts, and those that are not clear are run."""
        unclear = np.flatnonzero(~(leads > CLOSE))
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
        for own, some in self._by_words(words, trees).items():
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
            number = np.arange(start, min(start + PART, prod(sizes)))
            chosen = np.repeat(base[None], len(number), axis=0)
            for word, places in zip(own, np.unravel_index(number, sizes) if own else (), strict=True):
                chosen[:, word] = np.array(allowed[word])[places]
            parts.append(self._leads(chosen, trees, rival))
        return np.concatenate(parts)

    def _leads(self, chosen: Ints, trees: Sequence[int], rival: int) -> Floats:
        values = self._values(chosen)
        lead, near = np.zeros(len(chosen)), np.zeros(len(chosen), dtype=bool)
        for tree in trees:
            leaf, close = self._walked(tree, values)
            lead += self.trees.value[leaf, self.bag.label] - self.trees.value[leaf, rival]
            near |= close
        lead[near] = np.nan
        return lead

    def _walked(self, tree: int, values: Floats) -> tuple[Ints, Bools]:
        trees, place = self.trees, self._place
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
        """What the trees look at, a row for each text."""
        bag, where = self.bag.bag, {column: k for k, column in enumerate(self.columns)}
        counts = np.zeros((len(chosen), len(self.columns)))
        for i, word in enumerate(self.bag.words):
            table = np.zeros((len(word), len(self.columns)))
            for k, choice in enumerate(word):
                for column, count in choice.counts.items():
                    table[k, where[column]] = count
            counts += table[chosen[:, i]]
        if self.bag.paired:
            self._meet(chosen, counts, where)
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

    def _meet(self, chosen: Ints, counts: Floats, where: Mapping[int, int]) -> None:
        """Pairs of neighbours: the last token before each word, walked through all texts at once."""
        tokens = sorted({t for word in self.bag.words for choice in word for t in choice.tokens})
        number = {token: k for k, token in enumerate(tokens)}
        feature = np.full((len(tokens) + 1, len(tokens)), -1)
        sign = np.zeros(feature.shape)
        for (a, b), (column, direction) in self.bag.paired.items():
            feature[number[a], number[b]], sign[number[a], number[b]] = where[column], direction
        last = np.full(len(chosen), len(tokens))  # none yet
        for i, word in enumerate(self.bag.words):
            first = np.array([number[choice.tokens[0]] if choice.tokens else -1 for choice in word])[chosen[:, i]]
            end = np.array([number[choice.tokens[-1]] if choice.tokens else -1 for choice in word])[chosen[:, i]]
            stands = np.flatnonzero(first >= 0)
            met = feature[last[stands], first[stands]]
            rows = stands[met >= 0]
            np.add.at(counts, (rows, met[met >= 0]), sign[last[rows], first[rows]])
            last[stands] = end[stands]

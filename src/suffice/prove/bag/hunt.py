"""Hunt: parts of the texts, the least bounded first, are split until all of them hold or a text fails."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field, replace

import numpy as np

from suffice.model.network import Ints
from suffice.prove.bag.bound import Bound, Part
from suffice.prove.bag.case import Case, Fails, Found, Holds, Open, Stretch
from suffice.prove.bag.ranges import Ranges
from suffice.prove.verdict import Budget

MOST_SPLITS = 20_000


def decide(case: Case, budget: Budget, most_splits: int = MOST_SPLITS) -> Found:
    """Whether every allowed text has a margin above zero."""
    root = _Node(Part(case.allowed, np.full(len(case.layout.columns), np.nan)))
    waiting: list[tuple[float, int, _Node]] = [(0.0, 0, root)]
    order, splits = itertools.count(1), 0
    while waiting:
        if budget.spent:
            return Open("time is up")
        node = heapq.heappop(waiting)[-1]
        bound = Bound(case, node.part)
        found = bound.run()
        if isinstance(found, Fails):
            return found
        if found is not None:
            node.lines = found
            continue
        if not node.split_by(bound):  # a single text within the rounding of zero
            return Open("a margin is too close to zero to be decided", bound.chosen, bound.margin)
        splits += 1
        if splits >= most_splits:
            return Open("too many words had to be split")
        for branch in node.branches:
            heapq.heappush(waiting, (bound.value, next(order), branch))
    return root.proof()


@dataclass(eq=False)
class _Node:
    """A part of the texts: lines prove it, or its branches do."""

    part: Part
    kept: tuple[int, ...] = ()
    counted: tuple[int, float] | None = None
    branches: list[_Node] = field(default_factory=list)
    lines: tuple[Stretch, ...] = ()

    def proof(self) -> Holds:
        return Holds(self.lines, self.kept, self.counted, tuple(branch.proof() for branch in self.branches))

    def split_by(self, bound: Bound) -> bool:
        """Split it where its bound loses most; False where there is nothing to split."""
        part = replace(self.part, slopes=bound.slopes, toll=bound.toll)
        feature = bound.lossy()
        if feature is not None:
            self._split_counts(part, feature, bound)
            return True
        word = bound.word()
        if word is not None:
            self._split_word(part, word, bound.kept(word), bound)
        return word is not None

    def _split_word(self, part: Part, word: int, kept: Ints, bound: Bound) -> None:
        """Texts with these choices of a word, and the others."""
        self.kept = tuple(int(choice) for choice in kept)
        mine = np.flatnonzero(part.allowed & (bound.layout.slot == word))
        for some in (kept, np.setdiff1d(mine, kept)):
            allowed = part.allowed & (bound.layout.slot != word)
            allowed[some] = True
            self.branches.append(_Node(replace(part, allowed=allowed)))

    def _split_counts(self, part: Part, feature: int, bound: Bound) -> None:
        """Texts in which a feature counts no more than in the cheapest one, and the others."""
        count, found = float(bound.layout.counts(bound.chosen)[feature]), bound.features.ranges
        self.counted = feature, count
        mark = np.arange(len(found.least)) == feature
        slopes = np.where(mark, np.nan, bound.slopes)
        few = Ranges(found.least, np.where(mark, count, found.most))
        many = Ranges(np.where(mark, count + 1.0, found.least), found.most)
        self.branches += [_Node(replace(part, slopes=slopes, within=within)) for within in (few, many)]

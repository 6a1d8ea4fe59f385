"""Branch and bound over the texts of an instance: the subset with the least bound is split first.

A split is by the choices of one word, or by how often one feature counts. It ends with a proof
tree for all texts, a text that fails, or a text too close to zero to be decided.

Method: branch and bound (theory, section 10).
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field, replace

import numpy as np

from suffice import work
from suffice.model.network import Ints
from suffice.settings import RESOURCES
from suffice.verify.contract import Budget
from suffice.verify.text.norm_form.count_ranges import CountRanges
from suffice.verify.text.norm_form.instance import (
    InstanceProved,
    InstanceRefuted,
    InstanceUnknown,
    InstanceVerdict,
    NormSegment,
    TextInstance,
)
from suffice.verify.text.norm_form.segment_bound import SegmentBound, TextSubproblem


def decide_instance(
    instance: TextInstance, budget: Budget, most_splits: int = RESOURCES.most_nodes
) -> InstanceVerdict:
    """Whether every allowed text has a margin above zero."""
    root = _TextNode(
        TextSubproblem(instance.allowed, np.full(len(instance.lattice.columns), np.nan))
    )
    queue: list[tuple[float, int, _TextNode]] = [(0.0, 0, root)]
    order = itertools.count(1)
    splits = 0
    while queue:
        if budget.exhausted:
            return InstanceUnknown("time is up")
        node = heapq.heappop(queue)[-1]
        work.count("text_subproblems")
        bound = SegmentBound(instance, node.subproblem)
        found = bound.run()
        if isinstance(found, InstanceRefuted):
            return found
        if found is not None:
            node.segments = found
            continue
        if not node.branch(bound):  # a single text within the rounding of zero
            return InstanceUnknown(
                "a margin is too close to zero to be decided", bound.cheapest, bound.margin
            )
        splits += 1
        if splits >= most_splits:
            return InstanceUnknown("too many words had to be split")
        for branch in node.branches:
            heapq.heappush(queue, (bound.best_bound, next(order), branch))
    return root.proof()


@dataclass(eq=False)
class _TextNode:
    """A node of the proof tree: segments prove its texts, or its branches do."""

    subproblem: TextSubproblem
    split_choices: tuple[int, ...] = ()
    split_count: tuple[int, float] | None = None
    branches: list[_TextNode] = field(default_factory=list)
    segments: tuple[NormSegment, ...] = ()

    def proof(self) -> InstanceProved:
        return InstanceProved(
            self.segments,
            self.split_choices,
            self.split_count,
            tuple(branch.proof() for branch in self.branches),
        )

    def branch(self, bound: SegmentBound) -> bool:
        """Split it where its bound loses most; False where there is nothing to split."""
        subproblem = replace(
            self.subproblem, feature_slopes=bound.feature_slopes, multiplier=bound.multiplier
        )
        feature = bound.loosest_feature()
        if feature is not None:
            self._split_counts(subproblem, feature, bound)
            return True
        word = bound.branching_word()
        if word is not None:
            self._split_word(subproblem, word, bound.branching_choice(word), bound)
        return word is not None

    def _split_word(
        self, subproblem: TextSubproblem, word: int, split_choices: Ints, bound: SegmentBound
    ) -> None:
        """Texts with these choices of a word, and the others."""
        self.split_choices = tuple(int(choice) for choice in split_choices)
        own = np.flatnonzero(subproblem.allowed & (bound.lattice.word_of == word))
        for side in (split_choices, np.setdiff1d(own, split_choices)):
            allowed = subproblem.allowed & (bound.lattice.word_of != word)
            allowed[side] = True
            self.branches.append(_TextNode(replace(subproblem, allowed=allowed)))

    def _split_counts(self, subproblem: TextSubproblem, feature: int, bound: SegmentBound) -> None:
        """Texts in which a feature counts no more than in the cheapest one, and the others."""
        count = float(bound.lattice.counts(bound.cheapest)[feature])
        ranges = bound.features.ranges
        self.split_count = feature, count
        is_feature = np.arange(len(ranges.least)) == feature
        slopes = np.where(is_feature, np.nan, bound.feature_slopes)
        fewer = CountRanges(ranges.least, np.where(is_feature, count, ranges.most))
        more = CountRanges(np.where(is_feature, count + 1.0, ranges.least), ranges.most)
        self.branches += [
            _TextNode(replace(subproblem, feature_slopes=slopes, count_limits=count_limits))
            for count_limits in (fewer, more)
        ]

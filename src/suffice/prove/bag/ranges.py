"""Ranges: how often each feature may count, over all texts of the allowed choices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.layout import Layout


@dataclass(frozen=True, eq=False)
class Ranges:
    """Least and most counts of every feature."""

    least: Floats
    most: Floats

    @property
    def largest(self) -> Floats:
        return np.maximum(np.abs(self.least), np.abs(self.most))

    def inside(self, other: Ranges) -> Ranges:
        return Ranges(np.maximum(self.least, other.least), np.minimum(self.most, other.most))

    def grid(self) -> tuple[Floats, Bools]:
        """Counts (features, steps) from the least on, and which of them are in the range."""
        steps = int((self.most - self.least).max(initial=0.0))
        counts = self.least[:, None] + np.arange(steps + 1)
        return counts, counts <= self.most[:, None]


def ranges(layout: Layout, allowed: Bools) -> Ranges:
    """The least and most that each feature may count, however many words change."""
    if layout.chain is not None:
        return Ranges(*layout.chain.ranges(allowed))
    among = np.add.reduceat(allowed.astype(np.int64), layout.first)
    least, most = layout.held.ranges(allowed, among, len(layout.columns))
    fewer, more = _pairs(layout, allowed)
    return Ranges(least - fewer, most + more)


def few_changes(layout: Layout, reference: Ints, at_most: int) -> Ranges:
    """The least and most that each feature may count where so few words are other than the reference."""
    before = layout.counts(reference)
    if layout.chain is None:
        up = _swing(layout)
        down = -up
    else:
        down, up = layout.chain.swing(reference)
    return Ranges(before + at_most * down, before + at_most * up)


def _swing(layout: Layout) -> Floats:
    """How far one changed word moves each feature at most: by what choices hold, and by the pairs on both sides."""
    largest = np.zeros(len(layout.columns))
    table = layout.inner.tocoo()
    np.maximum.at(largest, table.col, np.abs(table.data))
    each = 2.0 * largest if (table.data < 0).any() else largest
    if not layout.pairs:
        return each
    # two are lost and two are won, which add up where hashing takes some of them off
    return each + (4.0 if (layout.pairs.sign < 0).any() else 2.0)


def _pairs(layout: Layout, allowed: Bools) -> tuple[Floats, Floats]:
    """What pairs take off and add: as many as can stand in one text, each from one word to a later one, none across
    another.
    """
    if not layout.pairs:
        return np.zeros(len(layout.columns)), np.zeros(len(layout.columns))
    live = allowed[layout.pairs.earlier] & allowed[layout.pairs.later] & _may_meet(layout, allowed)
    adds = layout.pairs.sign > 0
    return _meetings(layout, live & ~adds), _meetings(layout, live & adds)


def _may_meet(layout: Layout, allowed: Bools) -> Bools:
    """The pairs between whose words every word may vanish."""
    stays = ~np.logical_or.reduceat(allowed & layout.empty, layout.first)
    passed = np.cumsum(stays)
    earlier, later = layout.slot[layout.pairs.earlier], layout.slot[layout.pairs.later]
    return np.asarray(passed[later - 1] == passed[earlier])


def _meetings(layout: Layout, pairs: Bools) -> Floats:
    """By feature, how many of these pairs can stand in one text: always the one that ends first is taken."""
    groups = layout.pairs.by_feature
    live, far = pairs[groups.pair], layout.size
    earlier, later = (layout.slot[end[groups.pair]] for end in (layout.pairs.earlier, layout.pairs.later))
    count, end = np.zeros(len(layout.columns)), np.zeros(len(groups.start), dtype=np.int64)
    while True:
        following = np.minimum.reduceat(np.where(live & (earlier >= end[groups.group]), later, far), groups.start)
        found = following < far
        if not found.any():
            return count
        count[groups.feature] += found
        end = following

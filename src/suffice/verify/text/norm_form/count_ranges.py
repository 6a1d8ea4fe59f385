"""CountRanges: the least and most that each feature counts over the allowed texts.

Method: interval bounds of counts (theory, section 10).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.verify.text.lattice import OptionLattice


@dataclass(frozen=True, eq=False)
class CountRanges:
    """Least and most counts of every feature."""

    least: Floats
    most: Floats

    @property
    def largest_count(self) -> Floats:
        return np.maximum(np.abs(self.least), np.abs(self.most))

    def intersection(self, other: CountRanges) -> CountRanges:
        return CountRanges(np.maximum(self.least, other.least), np.minimum(self.most, other.most))

    def grid(self) -> tuple[Floats, Bools]:
        """Counts (features, steps) from the least on, and which of them are in the range."""
        steps = int((self.most - self.least).max(initial=0.0))
        counts = self.least[:, None] + np.arange(steps + 1)
        return counts, counts <= self.most[:, None]


def count_ranges(lattice: OptionLattice, allowed: Bools) -> CountRanges:
    """The least and most that each feature may count, however many words change."""
    if lattice.trellis is not None:
        return CountRanges(*lattice.trellis.count_ranges(allowed))
    choices_left = np.add.reduceat(allowed.astype(np.int64), lattice.first)
    least, most = lattice.incidence.ranges(allowed, choices_left, len(lattice.columns))
    fewer, more = _pair_ranges(lattice, allowed)
    return CountRanges(least - fewer, most + more)


def ranges_within_changes(lattice: OptionLattice, reference: Ints, at_most: int) -> CountRanges:
    """The least and most that each feature may count where so few words are other than the
    reference.
    """
    reference_counts = lattice.counts(reference)
    if lattice.trellis is None:
        up = _largest_change(lattice)
        down = -up
    else:
        down, up = lattice.trellis.change_ranges(reference)
    return CountRanges(reference_counts + at_most * down, reference_counts + at_most * up)


def _largest_change(lattice: OptionLattice) -> Floats:
    """How far one changed word moves each feature at most: by what choices hold, and by the pairs
    on both sides.
    """
    largest = np.zeros(len(lattice.columns))
    table = lattice.option_counts.tocoo()
    np.maximum.at(largest, table.col, np.abs(table.data))
    each = 2.0 * largest if (table.data < 0).any() else largest
    if not lattice.pairs:
        return each
    # two are lost and two are won, which add up where hashing takes some of them off
    return each + (4.0 if (lattice.pairs.sign < 0).any() else 2.0)


def _pair_ranges(lattice: OptionLattice, allowed: Bools) -> tuple[Floats, Floats]:
    """What pairs take off and add: as many as can stand in one text, each from one word to a later
    one, none across another.
    """
    if not lattice.pairs:
        return np.zeros(len(lattice.columns)), np.zeros(len(lattice.columns))
    live = (
        allowed[lattice.pairs.earlier]
        & allowed[lattice.pairs.later]
        & _can_be_adjacent(lattice, allowed)
    )
    positive = lattice.pairs.sign > 0
    return _most_disjoint(lattice, live & ~positive), _most_disjoint(lattice, live & positive)


def _can_be_adjacent(lattice: OptionLattice, allowed: Bools) -> Bools:
    """The pairs between whose words every word may vanish."""
    cannot_vanish = ~np.logical_or.reduceat(allowed & lattice.empty, lattice.first)
    lasting = np.cumsum(cannot_vanish)
    earlier = lattice.word_of[lattice.pairs.earlier]
    later = lattice.word_of[lattice.pairs.later]
    return np.asarray(lasting[later - 1] == lasting[earlier])


def _most_disjoint(lattice: OptionLattice, pairs: Bools) -> Floats:
    """By feature, how many of these pairs can stand in one text: always the one that ends first is
    taken.
    """
    groups = lattice.pairs.by_feature
    live = pairs[groups.pair]
    never = lattice.word_count
    earlier, later = (
        lattice.word_of[end[groups.pair]] for end in (lattice.pairs.earlier, lattice.pairs.later)
    )
    count = np.zeros(len(lattice.columns))
    end = np.zeros(len(groups.start), dtype=np.int64)
    while True:
        following = np.minimum.reduceat(
            np.where(live & (earlier >= end[groups.group]), later, never), groups.start
        )
        has_next = following < never
        if not has_next.any():
            return count
        count[groups.feature] += has_next
        end = following

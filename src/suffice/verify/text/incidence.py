"""Incidence: which sources (choices of a lattice, edges of a trellis) add to which features.

Method: interval bounds of counts (theory, sections 9 and 10).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.model.network import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Incidence:
    """Entries (source, count) in the order of word and feature.

    Those of one word and feature are a group: `group_start`, its `word` and its `feature`.
    """

    source: Ints
    count: Floats
    group_start: Ints
    word: Ints
    feature: Ints

    def ranges(self, usable: Bools, choices_left: Ints, features: int) -> tuple[Floats, Floats]:
        """The least and most that each feature may count: one live source a word, of which there
        are `among` (words,).

        Where some of them do without the feature, none counts too.
        """
        least = np.zeros(features)
        most = np.zeros(features)
        if not len(self.source):
            return least, most
        usable_entries = usable[self.source]
        usable_count = np.add.reduceat(usable_entries.astype(np.int64), self.group_start)
        always = usable_count == choices_left[self.word]
        sometimes = usable_count > 0
        high = np.maximum.reduceat(np.where(usable_entries, self.count, -np.inf), self.group_start)
        low = np.minimum.reduceat(np.where(usable_entries, self.count, np.inf), self.group_start)
        np.add.at(
            most, self.feature[sometimes], np.where(always, high, np.maximum(high, 0.0))[sometimes]
        )
        np.add.at(
            least, self.feature[sometimes], np.where(always, low, np.minimum(low, 0.0))[sometimes]
        )
        return least, most

    def extremes(self) -> tuple[Floats, Floats]:
        """The least and the most of each group; none counts too."""
        if not len(self.source):
            return np.zeros(0), np.zeros(0)
        low = np.minimum.reduceat(self.count, self.group_start)
        high = np.maximum.reduceat(self.count, self.group_start)
        return np.minimum(low, 0.0), np.maximum(high, 0.0)


def build_incidence(source: Ints, word: Ints, feature: Ints, count: Floats) -> Incidence:
    """The entries in their order, and their groups."""
    order = np.lexsort((source, feature, word))
    source = source[order]
    word = word[order]
    feature = feature[order]
    count = count[order]
    group_start = np.flatnonzero(
        (np.diff(word, prepend=-1) != 0) | (np.diff(feature, prepend=-1) != 0)
    )
    return Incidence(source, count, group_start, word[group_start], feature[group_start])

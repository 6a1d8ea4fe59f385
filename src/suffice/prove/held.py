"""Held: what the choices of a text, or the steps of a reading, add to the counts of features, word by word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.model.network import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Held:
    """Entries in the order of word and feature: whose they are, and what each adds.

    Those of one word and feature are a group: where it starts, its word and its feature.
    """

    source: Ints
    count: Floats
    start: Ints
    word: Ints
    feature: Ints

    def ranges(self, live: Bools, among: Ints, features: int) -> tuple[Floats, Floats]:
        """The least and most that each feature may count: one live source a word, of which there are `among` (words,).

        Where some of them do without the feature, none counts too.
        """
        least, most = np.zeros(features), np.zeros(features)
        if not len(self.source):
            return least, most
        here = live[self.source]
        present = np.add.reduceat(here.astype(np.int64), self.start)
        every, some = present == among[self.word], present > 0
        high = np.maximum.reduceat(np.where(here, self.count, -np.inf), self.start)
        low = np.minimum.reduceat(np.where(here, self.count, np.inf), self.start)
        np.add.at(most, self.feature[some], np.where(every, high, np.maximum(high, 0.0))[some])
        np.add.at(least, self.feature[some], np.where(every, low, np.minimum(low, 0.0))[some])
        return least, most

    def extremes(self) -> tuple[Floats, Floats]:
        """The least and the most of each group; none counts too."""
        if not len(self.source):
            return np.zeros(0), np.zeros(0)
        low, high = np.minimum.reduceat(self.count, self.start), np.maximum.reduceat(self.count, self.start)
        return np.minimum(low, 0.0), np.maximum(high, 0.0)


def held_by(source: Ints, word: Ints, feature: Ints, count: Floats) -> Held:
    """The entries in their order, and their groups."""
    order = np.lexsort((source, feature, word))
    source, word, feature, count = source[order], word[order], feature[order], count[order]
    start = np.flatnonzero((np.diff(word, prepend=-1) != 0) | (np.diff(feature, prepend=-1) != 0))
    return Held(source, count, start, word[start], feature[start])

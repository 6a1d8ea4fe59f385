"""Nearest words by Euclidean distance, remembered, and the same on any machine."""

from __future__ import annotations

import numpy as np

from suffice.errors import InputError
from suffice.model.classifier import Classifier
from suffice.model.network import Floats, Ints
from suffice.model.text import Text
from suffice.sets.regions import Names

# Nearest words are remembered for so many words, and only so few of each: 16 MB at most.
REMEMBERED, FEW = 20_000, 100


def neighbours(classifier: Classifier, text: Text, k: int) -> tuple[Floats, Names]:
    """At each position the word's own point and its k nearest words: points (length, k + 1, d) and names."""
    if classifier.reader.once:
        raise InputError(
            "For this classifier a word counts once, however often it occurs: nearest words may be words of the text. "
            "Use WordSwap or Deletion, or EpsilonBall for vectors that need not be words."
        )
    if str(classifier.meta.get("import", {}).get("from", "")).startswith("scikit-learn"):
        raise InputError(
            "This classifier comes from scikit-learn and has a weight for each word, no embedding: its nearest words "
            "would be words of equal weight, not of like meaning. Use WordSwap, Deletion or RemoveOrSwap."
        )
    table, lookup = classifier.table, classifier.lookup
    special = [lookup[classifier.pad], lookup[classifier.unknown]]
    if k > len(table) - 3:
        raise InputError(f"k = {k} is more than the {max(len(table) - 3, 0)} other words of the vocabulary.")
    nearest = {index: _remembered(classifier, index, special, k) for index in set(text.indices)}
    rows = np.array([[index, *nearest[index]] for index in text.indices], dtype=np.int64)
    return table[rows], tuple(tuple(classifier.vocabulary[j] for j in row[1:]) for row in rows)


def _remembered(classifier: Classifier, index: int, special: list[int], k: int) -> Ints:
    """The k nearest words, from memory if they are few; the memory is bounded, since a server may run for long."""
    known = classifier.nearest
    found = known.get((index, k))
    if found is None:
        found = _nearest(classifier.columns, index, special, k)
        if len(known) >= REMEMBERED:
            known.clear()
        if k <= FEW:
            known[index, k] = found
    return found


def _nearest(columns: Floats, index: int, special: list[int], k: int) -> Ints:
    """Squared distances are summed coordinate by coordinate, ties go to the lower index: the same anywhere."""
    distance = np.zeros(columns.shape[1])
    for column in columns:
        distance += (column - column[index]) ** 2
    distance[[index, *special]] = np.inf
    if k == 0:
        return np.zeros(0, dtype=np.int64)
    some = distance[:: 1 + len(distance) // (100 * k)]  # the k nearest of all are no farther than those of a sample
    near = np.flatnonzero(distance <= np.partition(some, k - 1)[k - 1])
    return near[np.argsort(distance[near], kind="stable")[:k]]

"""Nearest words by Euclidean distance, remembered, and the same on any machine."""

from __future__ import annotations

import numpy as np

from suffice.errors import InputError
from suffice.model.classifier import Classifier
from suffice.model.network import Floats, Ints
from suffice.model.text import Text
from suffice.sets.regions import Names

# Nearest words are remembered for so many words, and only so few of each: 16 MB at most.
REMEMBERED = 20_000
FEW = 100
# of the largest squared length, and for each coordinate: far more than rounding adds up to
ROUGH = 2.0**-40
TINY = 1e-250  # and than what is lost of products that are too small for doubles


def neighbours(classifier: Classifier, text: Text, k: int) -> tuple[Floats, Names]:
    """At each position the word's own point and its k nearest words: points (length, k + 1, d) and
    names.
    """
    if classifier.reader.once:
        raise InputError(
            "For this classifier a word counts once, however often it occurs: nearest words "
            "may be words of the text. "
            "Use WordSwap or Deletion, or EpsilonBall for vectors that need not be words."
        )
    if str(classifier.meta.get("import", {}).get("from", "")).startswith("scikit-learn"):
        raise InputError(
            "This classifier comes from scikit-learn and has a weight for each word, no "
            "embedding: its nearest words "
            "would be words of equal weight, not of like meaning. Use WordSwap, Deletion or "
            "RemoveOrSwap."
        )
    table = classifier.table
    lookup = classifier.lookup
    special = [lookup[classifier.pad], lookup[classifier.unknown]]
    if k > len(table) - 3:
        raise InputError(
            f"k = {k} is more than the {max(len(table) - 3, 0)} other words of the vocabulary."
        )
    nearest = {index: _remembered(classifier, index, special, k) for index in set(text.indices)}
    rows = np.array([[index, *nearest[index]] for index in text.indices], dtype=np.int64)
    names = {
        index: tuple(map(classifier.vocabulary.__getitem__, near.tolist()))
        for index, near in nearest.items()
    }
    return table[rows], tuple(names[index] for index in text.indices)


def _remembered(classifier: Classifier, index: int, special: list[int], k: int) -> Ints:
    """The k nearest words, from memory if they are few; the memory is bounded, since a server may
    run for long.
    """
    known = classifier.nearest
    found = known.get((index, k))
    if found is None:
        found = _nearest(classifier, index, special, k)
        if len(known) >= REMEMBERED:
            known.clear()
        if k <= FEW:
            known[index, k] = found
    return found


def _nearest(classifier: Classifier, index: int, special: list[int], k: int) -> Ints:
    """Squared distances are summed coordinate by coordinate, ties go to the lower index: the same
    anywhere.
    """
    if k == 0:
        return np.zeros(0, dtype=np.int64)
    near = _perhaps(classifier, index, special, k)
    columns = classifier.columns
    distance = np.zeros(len(near))
    for column in columns:
        distance += (column[near] - column[index]) ** 2
    return near[np.argsort(distance, kind="stable")[:k]]


def _perhaps(classifier: Classifier, index: int, special: list[int], k: int) -> Ints:
    """Words among which the k nearest ones are, by what a product knows of distances up to
    rounding.
    """
    columns = classifier.columns
    squares = classifier.squares
    close = 2 * columns[:, index] @ columns - squares  # the less far away, the more
    close[[index, *special]] = -np.inf
    # the k nearest of all are no farther than those of a sample
    some = close[:: 1 + len(close) // (100 * k)]
    least = np.partition(some, -k)[-k] - ROUGH * len(columns) * (squares.max() + TINY)
    return np.flatnonzero(close >= least)

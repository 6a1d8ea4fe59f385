"""OptionLattice: one text before a bag of words, with every option of every word and what it
counts.

A choice is one option of one word, a list of tokens. What a text counts is the sum of what its
choices count by themselves, and of the pairs that the last token of a choice makes with the first
token of the next one that is not empty; where features reach further, a trellis counts all of
them. That a changed text really is cut into the tokens of its pieces, one after the other, is
checked before anything is built on it.

Method: option lattice of a text (theory, section 9).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy  # its subpackages load on first use

from suffice.model.bag import Bag, Tokens, term
from suffice.model.boundaries import spaced
from suffice.model.network import Bools, Floats, Ints
from suffice.model.text import Text
from suffice.settings import RESOURCES
from suffice.verify.text.incidence import Incidence, build_incidence
from suffice.verify.text.transducer import Transducer
from suffice.verify.text.trellis import TooManyEdges, Trellis, build_trellis


class NoLattice(Exception):
    """No lattice represents the texts exactly (pieces may grow together), or it is too large: says
    which and why.
    """


@dataclass(frozen=True, eq=False)
class PairsByFeature:
    """Pairs in the order of their features: `group` is the place of each pair's feature among those
    there are.
    """

    pair: Ints
    group: Ints
    start: Ints  # by feature, where its pairs begin
    feature: Ints


@dataclass(frozen=True, eq=False)
class NeighbourPairs:
    """Features that two choices count when they are adjacent, by the later one and then by the
    earlier one.
    """

    earlier: Ints
    later: Ints
    feature: Ints
    sign: Floats
    start_of_later: list[int]  # by the later choice, where its pairs begin; one more at the end

    def __bool__(self) -> bool:
        return len(self.earlier) > 0

    @cached_property
    def by_feature(self) -> PairsByFeature:
        order = np.argsort(self.feature, kind="stable")
        feature = self.feature[order]
        new = np.diff(feature, prepend=-1) != 0
        start = np.flatnonzero(new)
        return PairsByFeature(order, np.cumsum(new) - 1, start, feature[start])


@dataclass(frozen=True, eq=False)
class OptionLattice:
    """The choices of all words in order: `first[i]` is word i unchanged, its other options follow
    it.

    Features are numbered among those that can occur here; `columns` are their places in the bag.
    """

    bag: Bag
    # per word what it may be: as it stands, then its options that make a difference
    words: tuple[tuple[str, ...], ...]
    word_of: Ints  # (choices,) the word that each choice is of
    first: Ints  # (words,)
    empty: Bools  # (choices,) no token: its neighbours become adjacent
    option_counts: scipy.sparse.csr_matrix  # (choices, features)
    pairs: NeighbourPairs  # none where features are single tokens
    columns: Ints
    trellis: Trellis | None = (
        # where features reach over words: it counts all of them, `option_counts` and `pairs` none
        None
    )

    @property
    def word_count(self) -> int:
        return len(self.first)

    @cached_property
    def offsets(self) -> Ints:
        return np.append(self.first, len(self.word_of))

    @cached_property
    def option_counts_by_feature(self) -> scipy.sparse.csr_matrix:
        """(features, choices)"""
        return self.option_counts.T.tocsr()

    @cached_property
    def incidence(self) -> Incidence:
        """The entries of `option_counts`, grouped by word and feature."""
        entries = self.option_counts.tocoo()
        return build_incidence(entries.row, self.word_of[entries.row], entries.col, entries.data)

    @cached_property
    def pair_index(self) -> Mapping[tuple[int, int], int]:
        """The index of the pair that two adjacent choices (earlier, later) make."""
        ends = zip(self.pairs.earlier.tolist(), self.pairs.later.tolist(), strict=True)
        return {meet: place for place, meet in enumerate(ends)}

    @cached_property
    def scale(self) -> Floats:
        return self.bag.scale[self.columns]

    def values(self, counts: Floats) -> Floats:
        """What counts become before the norm."""
        return np.asarray(self.scale * term(self.bag.tf, counts))

    def counts(self, chosen: Ints) -> Floats:
        """The features of a text, given the choice at each word."""
        if self.trellis is not None:
            return self.trellis.counts(chosen)
        indicator = np.zeros(len(self.word_of))
        indicator[chosen] = 1.0
        total = np.asarray(self.option_counts_by_feature @ indicator)
        if self.pairs:
            kept = chosen[~self.empty[chosen]].tolist()
            pair_places = [self.pair_index.get(meet, -1) for meet in pairwise(kept)]
            places = np.array([place for place in pair_places if place >= 0], dtype=np.int64)
            np.add.at(total, self.pairs.feature[places], self.pairs.sign[places])
        return total

    def change(self, chosen: Ints) -> tuple[tuple[int, str], ...]:
        """The choices as what a person would change: positions and the words put there."""
        moved = np.flatnonzero(chosen != self.first)
        return tuple((int(i), self.words[i][chosen[i] - self.first[i]]) for i in moved)


def build_lattice(
    bag: Bag, text: Text, options: Sequence[Sequence[str]], neighbours: bool = True
) -> OptionLattice:
    """The lattice of a text whose words may become `options` ("" is gone); NoLattice where it is
    not exact.

    Without `neighbours` the features of adjacent choices are left out: texts are to be enumerated.
    """
    pieces = [
        (word.text, *(o for o in given if o != word.text))
        for word, given in zip(text.words, options, strict=True)
    ]
    if bag.streams:
        return _trellis_lattice(bag, text, pieces)
    _require_separate(bag.separates, text, pieces)
    tokens = [[tuple(bag.tokens(piece)) if piece else () for piece in group] for group in pieces]
    kept = [_distinct_options(bag, group) for group in tokens]
    words = tuple(tuple(group[k] for k in keep) for group, keep in zip(pieces, kept, strict=True))
    token_lists = [[group[k] for k in keep] for group, keep in zip(tokens, kept, strict=True)]
    return _assembled(bag, words, token_lists, neighbours)


def _distinct_options(bag: Bag, group: Sequence[Tokens]) -> list[int]:
    """The options that the bag can tell apart: the word as it stands, and the first of
    each kind.
    """
    seen: dict[object, int] = {}
    for k, tokens in enumerate(group):
        key = tokens if bag.most > 1 else tuple(sorted(bag.features(tokens).items()))
        seen.setdefault(key, k)
    return sorted(seen.values())


def _assembled(
    bag: Bag,
    words: tuple[tuple[str, ...], ...],
    token_lists: Sequence[Sequence[Tokens]],
    neighbours: bool,
) -> OptionLattice:
    flat = [tokens for group in token_lists for tokens in group]
    most = RESOURCES.lattice_choices
    if len(flat) > most:
        raise NoLattice(f"there are {len(flat)} choices of words, more than {most}")
    word_of = np.repeat(np.arange(len(token_lists)), [len(group) for group in token_lists])
    first = np.concatenate([[0], np.cumsum([len(group) for group in token_lists])[:-1]]).astype(
        np.int64
    )
    feature_of: dict[int, int] = {}
    cells = [
        (row, feature_of.setdefault(column, len(feature_of)), count)
        for row, tokens in enumerate(flat)
        for column, count in bag.features(tokens).items()
    ]
    with_pairs = neighbours and bag.most > 1
    pairs = (
        _neighbour_pairs(bag, flat, token_lists, word_of, feature_of)
        if with_pairs
        else _sorted_pairs([], len(flat))
    )
    rows, columns, counts = (
        (np.array(part) for part in zip(*cells, strict=True)) if cells else ([], [], [])
    )
    option_counts = scipy.sparse.csr_matrix(
        (counts, (rows, columns)), shape=(len(flat), len(feature_of)), dtype=np.float64
    )
    empty = np.array([not tokens for tokens in flat])
    return OptionLattice(
        bag,
        words,
        word_of,
        first,
        empty,
        option_counts,
        pairs,
        np.array(list(feature_of), dtype=np.int64),
    )


def _neighbour_pairs(
    bag: Bag,
    flat: Sequence[Tokens],
    token_lists: Sequence[Sequence[Tokens]],
    word_of: Ints,
    feature_of: dict[int, int],
) -> NeighbourPairs:
    """The features that a choice makes with an earlier one, all words between them being able to
    vanish.
    """
    if bag.most > 2:
        raise NoLattice("features are made of three tokens or more")
    cannot_vanish = np.array([not any(tokens == () for tokens in group) for group in token_lists])
    earliest_partner = np.concatenate(
        [[0], np.maximum.accumulate(np.where(cannot_vanish, np.arange(len(token_lists)), 0))]
    )
    by_last: dict[str, list[int]] = {}
    found: list[tuple[int, int, int, float]] = []
    start = 0
    for later, tokens in enumerate(flat):
        while word_of[start] < word_of[later]:  # choices of earlier words become partners
            if flat[start]:
                by_last.setdefault(flat[start][-1], []).append(start)
            start += 1
        if not tokens:
            continue
        least = earliest_partner[word_of[later]]
        for token, earlier in by_last.items():
            place = bag.column(f"{token} {tokens[0]}")
            if place is not None:
                feature = feature_of.setdefault(place[0], len(feature_of))
                found += [(later, e, feature, place[1]) for e in earlier if word_of[e] >= least]
        if len(found) > RESOURCES.lattice_pairs:
            raise NoLattice(
                f"there are more than {RESOURCES.lattice_pairs} pairs of words that may meet"
            )
    return _sorted_pairs(found, len(flat))


def _sorted_pairs(found: list[tuple[int, int, int, float]], choices: int) -> NeighbourPairs:
    found.sort()
    later, earlier, feature = (
        np.array([row[k] for row in found], dtype=np.int64) for k in range(3)
    )
    sign = np.array([row[3] for row in found], dtype=np.float64)
    start = np.searchsorted(later, np.arange(choices + 1)).tolist()
    return NeighbourPairs(earlier, later, feature, sign, start)


# --- pieces that stay apart ---


def _require_separate(
    separates: Callable[[str], bool], text: Text, pieces: Sequence[Sequence[str]]
) -> None:
    """Look that no two pieces can become one token: between any two that may meet stands what ends
    every token.

    `rewritten` puts pieces next to each other without a space only where one of the two edges is no
    letter or digit or is of a script without spaces, or where they stand so in the original; all
    other gaps are white space of the original, or a space.
    """
    gaps = [text.source[a.end : b.start] for a, b in zip(text.words, text.words[1:], strict=False)]
    for char in {" ", *"".join(gaps)}:
        if not separates(char):
            raise NoLattice(f"the tokens of the vectorizer may hold {char!r}")
    for piece in {piece for group in pieces for piece in group if piece}:
        for edge in (piece[0], piece[-1]):
            if not _wordlike(edge) and not separates(edge):
                raise NoLattice(f"the vectorizer may join {edge!r} to what stands beside it")
        _require_no_sigma(piece)
    for gap, before, after in zip(gaps, pieces, pieces[1:], strict=False):
        if (
            not gap
            and any(_wordlike(p[-1]) for p in before if p)
            and any(_wordlike(p[0]) for p in after if p)
        ):
            raise NoLattice(
                f"{before[0]!r} and {after[0]!r} stand together and may become one token"
            )
    for run in _unspaced_runs(gaps, pieces):
        edges = {
            edge for group in run for piece in group if piece for edge in (piece[0], piece[-1])
        }
        if len(run) > 1 and any(_wordlike(edge) and not spaced(edge) for edge in edges):
            raise NoLattice(
                f"{run[0][0]!r} and what follows it may become one token: their script has no "
                "spaces"
            )


def _unspaced_runs(
    gaps: Sequence[str], pieces: Sequence[Sequence[str]]
) -> Iterator[list[Sequence[str]]]:
    """What each word may be, by words in a row that stand together without a gap."""
    run = [pieces[0]]
    for gap, group in zip(gaps, pieces[1:], strict=True):
        if gap:
            yield run
            run = []
        run.append(group)
    yield run


def _require_no_sigma(piece: str) -> None:
    if "Σ" in piece:
        raise NoLattice("a capital sigma is written in small letters by what stands beside it")


def _trellis_lattice(bag: Bag, text: Text, pieces: Sequence[Sequence[str]]) -> OptionLattice:
    """A lattice whose features reach over words: counted by a trellis."""
    words = tuple(tuple(dict.fromkeys(group)) for group in pieces)
    for stream in bag.streams:
        if stream.kind == "word":
            _require_separate(stream.separates, text, words)
            continue
        for piece in {piece for group in words for piece in group if piece}:
            _require_no_sigma(piece)
            prepared = stream.prepare(piece)
            if not prepared or prepared != prepared.strip():
                raise NoLattice(f"the vectorizer leaves nothing of {piece!r}, or a space beside it")
    try:
        trellis = build_trellis(Transducer(bag.streams, text), words)
    except TooManyEdges as reason:
        raise NoLattice(str(reason)) from reason
    sizes = [len(group) for group in words]
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    option_counts = scipy.sparse.csr_matrix((sum(sizes), len(trellis.columns)))
    empty = np.array([not piece for group in words for piece in group])
    word_of = np.repeat(np.arange(len(words)), sizes)
    return OptionLattice(
        bag,
        words,
        word_of,
        first,
        empty,
        option_counts,
        _sorted_pairs([], sum(sizes)),
        trellis.columns,
        trellis,
    )


def _wordlike(char: str) -> bool:
    return char.isalnum() or char == "_"

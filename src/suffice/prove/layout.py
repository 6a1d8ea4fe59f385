"""Layout: one text before a bag of words; what each word may become, as features that stand or fall with the choices.

A choice is one option of one word, a list of tokens. What a text counts is the sum of what its choices hold, and of the
pairs that the last token of a choice makes with the first token of the next one that is not empty. That a changed text
really is cut into the tokens of its pieces, one after the other, is looked at before anything is built on it.
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
from suffice.prove.chain import Chain, TooManySteps, chained
from suffice.prove.held import Held, held_by
from suffice.prove.reading import Reading

MOST_CHOICES, MOST_PAIRS = 12_000, 3_000_000


class NotApart(Exception):
    """The pieces of a changed text may grow together, or there are too many of them: says which and why."""


@dataclass(frozen=True, eq=False)
class PairsByFeature:
    """Pairs in the order of their features: `group` is the place of each pair's feature among those there are."""

    pair: Ints
    group: Ints
    start: Ints  # by feature, where its pairs begin
    feature: Ints


@dataclass(frozen=True, eq=False)
class Pairs:
    """Features that two choices make when they meet, in the order of the later one and then of the earlier one."""

    earlier: Ints
    later: Ints
    feature: Ints
    sign: Floats
    start: list[int]  # by the later choice, where its pairs begin; one more at the end

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
class Layout:
    """Choices in the order of the words; `first[i]` is word i as it stands, its other options follow it.

    Features are numbered among those that can occur here; `columns` are their places in the bag.
    """

    bag: Bag
    words: tuple[tuple[str, ...], ...]  # per word what it may be: as it stands, then its options that make a difference
    slot: Ints  # (choices,) the word that each choice is of
    first: Ints  # (words,)
    empty: Bools  # (choices,) no token: its neighbours meet
    inner: scipy.sparse.csr_matrix  # (choices, features)
    pairs: Pairs  # none where features are single tokens
    columns: Ints
    chain: Chain | None = None  # where features reach over words: all of them are here, none in `inner` and `pairs`

    @property
    def size(self) -> int:
        return len(self.first)

    @cached_property
    def ends(self) -> Ints:
        return np.append(self.first, len(self.slot))

    @cached_property
    def turned(self) -> scipy.sparse.csr_matrix:
        """(features, choices)"""
        return self.inner.T.tocsr()

    @cached_property
    def held(self) -> Held:
        """The entries of `inner` by word and feature."""
        table = self.inner.tocoo()
        return held_by(table.row, self.slot[table.row], table.col, table.data)

    @cached_property
    def paired(self) -> Mapping[tuple[int, int], int]:
        """The place of the pair that two choices make."""
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
        if self.chain is not None:
            return self.chain.counts(chosen)
        there = np.zeros(len(self.slot))
        there[chosen] = 1.0
        total = np.asarray(self.turned @ there)
        if self.pairs:
            kept = chosen[~self.empty[chosen]].tolist()
            met = [self.paired.get(meet, -1) for meet in pairwise(kept)]
            places = np.array([place for place in met if place >= 0], dtype=np.int64)
            np.add.at(total, self.pairs.feature[places], self.pairs.sign[places])
        return total

    def change(self, chosen: Ints) -> tuple[tuple[int, str], ...]:
        """The choices as what a person would change: positions and the words put there."""
        moved = np.flatnonzero(chosen != self.first)
        return tuple((int(i), self.words[i][chosen[i] - self.first[i]]) for i in moved)


def laid_out(bag: Bag, text: Text, options: Sequence[Sequence[str]], neighbours: bool = True) -> Layout:
    """The layout of a text whose words may become `options` ("" is gone); NotApart where that is not exact.

    Without `neighbours` the features that choices make when they meet are left out: texts are to be walked through.
    """
    pieces = [
        (word.text, *(o for o in given if o != word.text)) for word, given in zip(text.words, options, strict=True)
    ]
    if bag.streams:
        return _chained(bag, text, pieces)
    _apart(bag.separates, text, pieces)
    tokens = [[tuple(bag.tokens(piece)) if piece else () for piece in group] for group in pieces]
    kept = [_different(bag, group) for group in tokens]
    words = tuple(tuple(group[k] for k in keep) for group, keep in zip(pieces, kept, strict=True))
    lists = [[group[k] for k in keep] for group, keep in zip(tokens, kept, strict=True)]
    return _numbered(bag, words, lists, neighbours)


def _different(bag: Bag, group: Sequence[Tokens]) -> list[int]:
    """The options that the bag can tell apart: the word as it stands, and the first of each kind."""
    seen: dict[object, int] = {}
    for k, tokens in enumerate(group):
        key = tokens if bag.most > 1 else tuple(sorted(bag.features(tokens).items()))
        seen.setdefault(key, k)
    return sorted(seen.values())


def _numbered(
    bag: Bag, words: tuple[tuple[str, ...], ...], lists: Sequence[Sequence[Tokens]], neighbours: bool
) -> Layout:
    flat = [tokens for group in lists for tokens in group]
    if len(flat) > MOST_CHOICES:
        raise NotApart(f"there are {len(flat)} choices of words, more than {MOST_CHOICES}")
    slot = np.repeat(np.arange(len(lists)), [len(group) for group in lists])
    first = np.concatenate([[0], np.cumsum([len(group) for group in lists])[:-1]]).astype(np.int64)
    known: dict[int, int] = {}
    cells = [
        (row, known.setdefault(column, len(known)), count)
        for row, tokens in enumerate(flat)
        for column, count in bag.features(tokens).items()
    ]
    meet = neighbours and bag.most > 1
    pairs = _pairs(bag, flat, lists, slot, known) if meet else _ordered([], len(flat))
    rows, columns, counts = (np.array(part) for part in zip(*cells, strict=True)) if cells else ([], [], [])
    inner = scipy.sparse.csr_matrix((counts, (rows, columns)), shape=(len(flat), len(known)), dtype=np.float64)
    empty = np.array([not tokens for tokens in flat])
    return Layout(bag, words, slot, first, empty, inner, pairs, np.array(list(known), dtype=np.int64))


def _pairs(
    bag: Bag, flat: Sequence[Tokens], lists: Sequence[Sequence[Tokens]], slot: Ints, known: dict[int, int]
) -> Pairs:
    """The features that a choice makes with an earlier one, all words between them being able to vanish."""
    if bag.most > 2:
        raise NotApart("features are made of three tokens or more")
    barriers = np.array([not any(tokens == () for tokens in group) for group in lists])
    reach = np.concatenate([[0], np.maximum.accumulate(np.where(barriers, np.arange(len(lists)), 0))])
    by_last: dict[str, list[int]] = {}
    found: list[tuple[int, int, int, float]] = []
    start = 0
    for later, tokens in enumerate(flat):
        while slot[start] < slot[later]:  # choices of earlier words become partners
            if flat[start]:
                by_last.setdefault(flat[start][-1], []).append(start)
            start += 1
        if not tokens:
            continue
        least = reach[slot[later]]
        for token, earlier in by_last.items():
            place = bag.column(f"{token} {tokens[0]}")
            if place is not None:
                feature = known.setdefault(place[0], len(known))
                found += [(later, e, feature, place[1]) for e in earlier if slot[e] >= least]
        if len(found) > MOST_PAIRS:
            raise NotApart(f"there are more than {MOST_PAIRS} pairs of words that may meet")
    return _ordered(found, len(flat))


def _ordered(found: list[tuple[int, int, int, float]], choices: int) -> Pairs:
    found.sort()
    later, earlier, feature = (np.array([row[k] for row in found], dtype=np.int64) for k in range(3))
    sign = np.array([row[3] for row in found], dtype=np.float64)
    start = np.searchsorted(later, np.arange(choices + 1)).tolist()
    return Pairs(earlier, later, feature, sign, start)


# --- pieces that stay apart ---


def _apart(separates: Callable[[str], bool], text: Text, pieces: Sequence[Sequence[str]]) -> None:
    """Look that no two pieces can become one token: between any two that may meet stands what ends every token.

    `rewritten` puts pieces next to each other without a space only where one of the two edges is no letter or digit or
    is of a script without spaces, or where they stand so in the original; all other gaps are white space of the
    original, or a space.
    """
    gaps = [text.source[a.end : b.start] for a, b in zip(text.words, text.words[1:], strict=False)]
    for char in {" ", *"".join(gaps)}:
        if not separates(char):
            raise NotApart(f"the tokens of the vectorizer may hold {char!r}")
    for piece in {piece for group in pieces for piece in group if piece}:
        for edge in (piece[0], piece[-1]):
            if not _wordlike(edge) and not separates(edge):
                raise NotApart(f"the vectorizer may join {edge!r} to what stands beside it")
        _no_sigma(piece)
    for gap, before, after in zip(gaps, pieces, pieces[1:], strict=False):
        if not gap and any(_wordlike(p[-1]) for p in before if p) and any(_wordlike(p[0]) for p in after if p):
            raise NotApart(f"{before[0]!r} and {after[0]!r} stand together and may become one token")
    for run in _together(gaps, pieces):
        edges = {edge for group in run for piece in group if piece for edge in (piece[0], piece[-1])}
        if len(run) > 1 and any(_wordlike(edge) and not spaced(edge) for edge in edges):
            raise NotApart(f"{run[0][0]!r} and what follows it may become one token: their script has no spaces")


def _together(gaps: Sequence[str], pieces: Sequence[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """What each word may be, by words in a row that stand together without a gap."""
    run = [pieces[0]]
    for gap, group in zip(gaps, pieces[1:], strict=True):
        if gap:
            yield run
            run = []
        run.append(group)
    yield run


def _no_sigma(piece: str) -> None:
    if "Σ" in piece:
        raise NotApart("a capital sigma is written in small letters by what stands beside it")


def _chained(bag: Bag, text: Text, given: Sequence[Sequence[str]]) -> Layout:
    """A layout whose features reach over words."""
    words = tuple(tuple(dict.fromkeys(group)) for group in given)
    for stream in bag.streams:
        if stream.kind == "word":
            _apart(stream.separates, text, words)
            continue
        for piece in {piece for group in words for piece in group if piece}:
            _no_sigma(piece)
            made = stream.prepare(piece)
            if not made or made != made.strip():
                raise NotApart(f"the vectorizer leaves nothing of {piece!r}, or a space beside it")
    try:
        chain = chained(Reading(bag.streams, text), words)
    except TooManySteps as reason:
        raise NotApart(str(reason)) from reason
    sizes = [len(group) for group in words]
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    inner = scipy.sparse.csr_matrix((sum(sizes), len(chain.columns)))
    empty = np.array([not piece for group in words for piece in group])
    slot = np.repeat(np.arange(len(words)), sizes)
    return Layout(bag, words, slot, first, empty, inner, _ordered([], sum(sizes)), chain.columns, chain)


def _wordlike(char: str) -> bool:
    return char.isalnum() or char == "_"

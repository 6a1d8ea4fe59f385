"""Choices: a problem over finitely many words, in coordinates of which choice each word takes.

Where each word has a few choices, the first step only ever sees a few sums: what each choice of each word adds to each
unit. With one coordinate per word and choice (no choice: the word itself) these sums are the weights of a much smaller
first step. Candidates of maxima that cannot win whatever the words become are left out. What is proved of the smaller
problem by picking words, without a choice of slopes, is a proof about the original as it stands; points are told as the
vectors of their words.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from suffice.model.network import Bools, Floats, Network
from suffice.model.step import Groups, Step, compact, is_sparse
from suffice.prove.verdict import Problem, Refuted, Source, Verdict, Witness
from suffice.sets.regions import Choice

LARGE = 10**6  # weights of a first step below which the original is quick enough as it is
ROOM = 2 * 10**7  # numbers that what choices add to units may take: beyond that the original takes less memory
SHARE = 2  # times smaller that the first step must become
CODED = 48  # choices of a word whose sets fit a whole number, next to the word's place
ROUND = 2.0**-53


# --- the smaller problem ---


def by_choice(problem: Problem) -> Problem:
    """The same problem in coordinates of choices, where that makes it a good deal smaller or maxima are decided word by
    word; else the problem itself."""
    region, steps = problem.region, problem.network.steps
    if not isinstance(region, Choice) or problem.source is not None or len(steps) < 2:
        return problem
    _, choices, dimension = region.points.shape
    small = steps[0].weight.size < LARGE or SHARE * choices > dimension
    worded = len(steps) == 2 and bool(steps[0].pooled.all())
    wide = choices > CODED or len(steps[0].bias) * region.points[..., 0].size > ROOM
    return problem if wide or (small and not worded) else composed(problem)


@lru_cache(maxsize=1)  # a question is often asked more than once
def composed(problem: Problem) -> Problem:
    """The same problem in coordinates of choices."""
    region, (first, *rest) = problem.region, problem.network.steps
    assert isinstance(region, Choice)
    moves = np.where(problem.features[:, None, None], region.points - region.center[:, None], 0.0)
    added = _added(first, moves)
    base, every = first.apply(region.center.reshape(1, -1))[0], np.arange(len(first.bias))
    whole = replace(first, weight=added.reshape(len(base), -1), bias=base)
    source = Source(problem, every, added)
    large = replace(problem, network=Network((whole, *rest)), region=_coordinates(region), source=source)
    return narrowed(large, problem.features)


def narrowed(problem: Problem, free: Bools) -> Problem:
    """The problem without the candidates of maxima that cannot win while only these words move."""
    source, (first, *rest) = problem.source, problem.network.steps
    assert source is not None
    kept = np.flatnonzero(~_hopeless(first, source, free))
    if len(kept) == len(first.bias) and is_sparse(first.weight):
        return problem
    added = source.added[kept]
    step = replace(first.only(kept), weight=compact(added.reshape(len(kept), -1)))
    rest[0] = replace(rest[0], weight=rest[0].weight[:, kept])
    smaller = Source(source.problem, source.kept[kept], added)
    return replace(problem, network=Network((step, *rest)), source=smaller)


def _added(first: Step, moves: Floats) -> Floats:
    """What each choice of each word adds to each unit: (units, length, choices)."""
    length, choices, dimension = moves.shape
    if isinstance(first.weight, np.ndarray):
        rows = first.weight.reshape(-1, length, dimension).transpose(1, 0, 2)
        return np.ascontiguousarray(np.matmul(rows, moves.transpose(0, 2, 1)).transpose(1, 0, 2))
    found = np.zeros((len(first.bias), length, choices))
    for word, (units, block) in enumerate(first.by_word(length)):
        if moves[word].any():
            found[units, word] = block @ moves[word].T
    return found


def _coordinates(region: Choice) -> Choice:
    """One coordinate per choice; a choice that is the word itself is the origin."""
    length, choices, _ = region.points.shape
    points = np.repeat(np.eye(choices)[None], length, axis=0)
    points[(region.points == region.center[:, None]).all(-1)] = 0.0
    return Choice(np.zeros((length, choices)), points, region.names)


def _hopeless(first: Step, source: Source, free: Bools) -> Bools:
    """Candidates that never win, or are the same constant as one before them; the first of a maximum always stays."""
    found = np.zeros(len(first.bias), dtype=bool)
    if first.groups is None:
        return found
    groups = first.groups
    fall, rise = (side[groups.units][:, free] for side in source.reach)
    base, down, up = first.bias[groups.units], fall.sum(-1), rise.sum(-1)
    doubt = 16 * source.problem.network.inputs * ROUND * (np.abs(base) + up - down)
    least = groups.highest(base + down - doubt)[groups.group]
    still = (down == 0) & (up == 0)
    found[groups.units] = (base + up + doubt < least) | still & ~_first_of_equals(groups, still, base)
    found[groups.leaders] = False
    return found


def _first_of_equals(groups: Groups, still: Bools, base: Floats) -> Bools:
    """Of the constants of each maximum the first of the largest."""
    constants = np.where(still, base, -np.inf)
    return groups.first(still & (constants == groups.highest(constants)[groups.group]))


# --- sums of choices ---


class Sums:
    """Bounds of what a first step sums up, for sets in which each word has some of its choices left."""

    def __init__(self, source: Source, base: Floats) -> None:
        self.added, self.base = source.added, base
        self._known: dict[tuple[int, int], tuple[Floats, Floats]] = {}

    def over(self, free: Bools, allowed: Bools) -> tuple[Floats, Floats]:
        """The least and the largest sums (n, units) for free words (n, length), choices (n, length, choices)."""
        codes = (allowed & free[..., None]) @ (1 << np.arange(allowed.shape[-1], dtype=np.int64))
        pairs, place = np.unique(codes * codes.shape[1] + np.arange(codes.shape[1]), return_inverse=True)
        marks = np.zeros((len(codes), len(pairs)))
        marks[np.arange(len(codes))[:, None], place.reshape(codes.shape)] = 1.0
        ends = [self._ends(int(pair % codes.shape[1]), int(pair // codes.shape[1])) for pair in pairs]
        low, high = (np.stack(side) for side in zip(*ends, strict=True))
        return self.base + marks @ low, self.base + marks @ high

    def _ends(self, word: int, code: int) -> tuple[Floats, Floats]:
        """The least and the most that the choices of a code add to each unit; nothing where no choice is left."""
        if (word, code) not in self._known:
            mine = self.added[:, word, [bool(code >> i & 1) for i in range(self.added.shape[-1])]]
            self._known[word, code] = (mine.min(-1), mine.max(-1)) if code else (np.zeros(len(mine)),) * 2
        return self._known[word, code]


# --- what is found, told of the original ---


def told_witness(source: Source, witness: Witness) -> Witness:
    return replace(witness, point=source.lift(witness.point[None])[0])


def told_verdict(source: Source, verdict: Verdict) -> Verdict:
    return replace(verdict, witness=told_witness(source, verdict.witness)) if isinstance(verdict, Refuted) else verdict

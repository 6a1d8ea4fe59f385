"""Word by word: questions about maxima over sums of choices, decided with bounds that are sums themselves.

While every word has some of its choices left, the least and the largest sum are exact; a maximum lies between the
largest of the least sums and the largest of the largest ones, and the margin, linear in the maxima, between two more
sums. Where that does not decide, lines around the maxima may: they make the margin a sum over words, each of which has
one filling for all units, while ends take the worst for every unit. Else the word that moves most of what may still win
is decided on. Subproblems live in chunks, for which each step is a few operations on arrays; units that can no longer
win are dropped from a chunk on the way down. Where changes have to be paid for, a word is first bought or not; ends and
lines then have the best that what is left can buy.

The proof is a tree of picks whose leaves choose nothing: the lines are those that readers take around maxima when
nothing is chosen (docs/certificate.md), and these are nowhere worse than ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.inputs import Chosen
from suffice.prove.maxima import LEAN
from suffice.prove.runs import CLOSED
from suffice.prove.tree import Pick, Tree
from suffice.prove.verdict import Budget, OutOfTime, Proved, Refuted, Unknown, Verdict
from suffice.prove.windows import Windows, largest, remaining

CHUNK = 64  # subproblems worked on together
MEMORY = 10**9  # bytes that those that wait may take in all
WORTH = 0.7  # share of units that may still win below which the others are dropped
DESCENTS = 3  # first chunks in which the most doubtful subproblem is attacked


def decide_by_words(windows: Windows, free: Bools, budget: Budget) -> Verdict:
    """Do the words that are not free suffice? A tree for each rival, or a counterexample."""
    trees = []
    for rival in range(len(windows.constants)):
        found = _Proof(windows, free, rival, budget).run()
        if isinstance(found, Refuted | Unknown):
            return found
        trees.append(found)
    return Proved(tuple(trees))


# --- what may be left of a word ---


@dataclass(frozen=True, eq=False)
class _Codes:
    """The sets of fillings that halving leaves of each word, in one list.

    `members` are the fillings of each, `halves` (codes, 2) the codes that it is cut into (-1: it is one filling),
    `word` its word. The first codes are those of all fillings of each word, in order. Where words have to be paid for
    these are `open`: they are cut into all fillings, which are `paid` like all that these are cut into, and the own.
    """

    members: list[Ints]
    halves: Ints
    word: Ints
    open: Bools
    paid: Bools

    @staticmethod
    def of(fillings: Sequence[Ints], own: Ints | None) -> _Codes:
        """Of each word's fillings, in the order in which they are halved; with the own ones, where changes cost."""
        count = len(fillings)
        members, word, halves, paid = list(fillings), list(range(count)), [], [False] * count
        for code, mine in enumerate(members):  # which grows on the way
            cut = len(mine) // 2
            if own is not None and code < count:
                parts, fresh = [mine, own[[code]]], [True, False]
            else:
                parts, fresh = ([mine[:cut], mine[cut:]], [paid[code]] * 2) if cut else ([], [])
            halves.append((len(members), len(members) + 1) if parts else (-1, -1))
            members += parts
            word += [word[code]] * len(parts)
            paid += fresh
        first = (np.arange(len(members)) < count) & (own is not None)
        cuts = np.array(halves, dtype=np.int64).reshape(-1, 2)
        return _Codes(members, cuts, np.array(word, dtype=np.int64), first, np.array(paid, dtype=bool))

    def marks(self, fillings: int) -> Bools:
        """Which fillings (codes, fillings) are members."""
        found = np.zeros((len(self.members), fillings), dtype=bool)
        for code, mine in enumerate(self.members):
            found[code, mine] = True
        return found


@dataclass(frozen=True, eq=False)
class _Bargains:
    """Of each unit (units, some) the words that move it one way, most for what they cost first, how far, and for what.

    Words that do not move it are among them, if others have more.
    """

    words: Ints
    gains: Floats
    prices: Floats

    @staticmethod
    def of(gains: Floats, prices: Floats) -> _Bargains:
        """Of gains (words, units), none of them above zero."""
        some = int((gains < 0).sum(0).max(initial=0))
        words = np.argsort(gains.T / prices, axis=-1, kind="stable")[:, :some]
        return _Bargains(words, np.take_along_axis(gains.T, words, -1), prices[words])

    def least(self, buyable: Bools, left: Floats) -> Floats:
        """The least sums of gains (n, units) of words (n, words) that what is left (n,) buys, the last one in part."""
        mine = buyable[:, self.words]
        return np.asarray((_shares(mine * self.prices, self.prices, left[:, None, None]) * mine * self.gains).sum(-1))

    def take(self, live: Bools) -> _Bargains:
        return _Bargains(self.words[live], self.gains[live], self.prices[live])


def _shares(spent: Floats, prices: Floats, left: Floats) -> Floats:
    """What is bought of each word, in order (..., words), where those before it are paid for first."""
    return np.clip((left - np.cumsum(spent, axis=-1) + spent) / prices, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class _Purse:
    """Where words have to be paid for: which codes are open, what codes have spent, what words cost, and the limit.

    `falls` and `rises` say how far open words can move units; a rise is a fall of what is subtracted.
    """

    open: Bools
    spent: Floats
    prices: Floats
    limit: float
    falls: _Bargains
    rises: _Bargains

    def take(self, live: Bools) -> _Purse:
        return replace(self, falls=self.falls.take(live), rises=self.rises.take(live))


@dataclass(frozen=True, eq=False)
class _View:
    """The units that may still win in a chunk: what is left of words makes of them at least and at most.

    `low` and `high` (codes, units) are the least and the most that a code adds, `moves` (units, words) how far each
    word can move each unit, times the weight of its maximum. `signs` (2, maxima) are the weights above and below zero.
    `base` (units,) are the sums of the text itself, to which fillings add `added` (units, fillings). Codes that are
    open add nothing: what they may is in the purse.
    """

    base: Floats
    added: Floats
    low: Floats
    high: Floats
    starts: Ints
    group: Ints
    signs: Floats
    moves: Floats
    purse: _Purse | None

    @cached_property
    def bytes(self) -> int:
        return self.added.nbytes + self.low.nbytes + self.high.nbytes + self.moves.nbytes

    def take(self, live: Bools) -> _View:
        """The view with these units only, and the maxima that have some of them."""
        starts, kept = remaining(self.group[live])
        group = np.repeat(np.arange(len(starts)), np.diff([*starts, live.sum()]))
        low, high, signs = self.low[:, live], self.high[:, live], self.signs[:, kept]
        purse = None if self.purse is None else self.purse.take(live)
        return _View(self.base[live], self.added[live], low, high, starts, group, signs, self.moves[live], purse)


def _firsts(marks: Bools, group: Ints) -> tuple[Ints, Ints]:
    """The first marked unit of each row and group: rows, and units."""
    row, unit = np.nonzero(marks)
    key = row * (len(group) + 1) + group[unit]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    return row[first], unit[first]


class _Terms(NamedTuple):
    """Of lines for n subproblems: weights of units, each in the row of its subproblem, and constants (n,)."""

    row: Ints
    unit: Ints
    weight: Floats
    constant: Floats


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Subproblems: their place in the tree, what is left of their words, bounds of units, and what is settled.

    `low` and `high` (n, units) are without what may still be bought. `floor` (n, maxima) is what each maximum is at
    least, `constant` (n,) what the settled maxima add to the margin.
    """

    view: _View
    ids: Ints
    codes: Ints
    low: Floats
    high: Floats
    floor: Floats
    constant: Floats

    @cached_property
    def left(self) -> Floats:
        """What may still be spent (n,)."""
        purse = self.view.purse
        return np.full(len(self.ids), np.inf) if purse is None else purse.limit - purse.spent[self.codes].sum(-1)

    @cached_property
    def buyable(self) -> Bools:
        """The words (n, words) that may still be bought."""
        purse = self.view.purse
        if purse is None:
            return np.zeros(self.codes.shape, dtype=bool)
        return np.asarray(purse.open[self.codes] & (purse.prices <= self.left[:, None]))

    @cached_property
    def reach(self) -> tuple[Floats, Floats]:
        """The least and the largest value (n, units) of each unit."""
        purse = self.view.purse
        if purse is None or not self.buyable.any():
            return self.low, self.high
        down, up = (side.least(self.buyable, self.left) for side in (purse.falls, purse.rises))
        return self.low + down, self.high - up

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """The least and the largest value (n, maxima) of each maximum."""
        low, high = (largest(side, self.view.starts) for side in self.reach)
        return np.maximum(low, self.floor), np.maximum(high, self.floor)

    @cached_property
    def bound(self) -> Floats:
        least, most = self.ends
        return np.asarray(self.constant + least @ self.view.signs[0] + most @ self.view.signs[1])

    def lines(self) -> tuple[Floats, Floats]:
        """What fillings add (n, fillings), and constants (n,), to lines that the margin is nowhere below.

        They are those that a reader takes where nothing is chosen, or others that are lower everywhere.
        """
        view, parts = self.view, (self._below(), self._above())
        row, unit, weight = (np.concatenate(side) for side in zip(*(part[:3] for part in parts), strict=True))
        terms = scipy.sparse.coo_array((weight, (row, unit)), shape=self.low.shape).tocsr()
        constant = self.constant + sum(part[3] for part in parts)
        return np.asarray(terms @ view.added), constant + terms @ view.base

    def _below(self) -> _Terms:
        """Below each maximum its first unit that has the largest lower end, or nearly.

        A constant, where that may be a unit that was dropped.
        """
        (least, most), up, group = self.ends, self.view.signs[0], self.view.group
        enough = np.where(up > 0, least - LEAN * (most - least), np.inf)
        fixed = self.floor >= enough
        enough[fixed] = np.inf
        row, unit = _firsts(self.reach[0] >= enough[:, group], group)
        return _Terms(row, unit, up[group[unit]], np.where(fixed, self.floor, 0.0) @ up)

    def _above(self) -> _Terms:
        """Above each maximum the second largest upper end, and from there the chord of the unit with the largest."""
        (least, most), down, group = self.ends, self.view.signs[1], self.view.group
        lows, highs = self.reach
        row, unit = _firsts(highs == np.where(down < 0, most, np.inf)[:, group], group)
        rest = highs.copy()
        rest[row, unit] = -np.inf
        level, mine = np.maximum(largest(rest, self.view.starts), least), group[unit]
        low, high = lows[row, unit], highs[row, unit]
        room, width = high - level[row, mine], np.where(high > low, high - low, 1.0)
        slope = down[mine] * np.maximum(room, 0.0) / width
        return _Terms(row, unit, slope, level @ down - np.bincount(row, slope * low, len(level)))

    def take(self, index: Ints | slice) -> _Chunk:
        low, high = self.low[index], self.high[index]
        return _Chunk(self.view, self.ids[index], self.codes[index], low, high, self.floor[index], self.constant[index])

    def narrowed(self) -> _Chunk:
        """Without the units that win in none of the subproblems, if they are many."""
        least = self.ends[0]
        live = np.asarray((self.reach[1] > least[:, self.view.group]).any(0))
        if not live.size or live.mean() > WORTH:
            return self
        dropped = largest(np.where(live, -np.inf, self.reach[0]), self.view.starts)
        kept = np.zeros(least.shape[1], dtype=bool)
        kept[self.view.group[live]] = True
        constant = self.constant + least[:, ~kept] @ self.view.signs[:, ~kept].sum(0)
        low, high = self.low[:, live], self.high[:, live]
        floor = np.maximum(dropped, self.floor)[:, kept]
        return _Chunk(self.view.take(live), self.ids, self.codes, low, high, floor, constant)

    def scores(self) -> Floats:
        """How much each word (n, words) has to do with units of which it is open whether they win."""
        low, high = self.reach
        room, width = high - self.ends[0][:, self.view.group], high - low
        share = np.where(room > 0, np.minimum(room, width) / np.where(width > 0, width, 1.0), 0.0)
        return np.asarray(share @ self.view.moves)


def _bytes(waiting: Sequence[_Chunk]) -> int:
    """What chunks take, many of which share a view."""
    views = {id(chunk.view): chunk.view.bytes for chunk in waiting}
    return sum(views.values()) + sum(chunk.low.nbytes + chunk.high.nbytes for chunk in waiting)


class _Proof:
    """One question against one rival."""

    def __init__(self, windows: Windows, free: Bools, rival: int, budget: Budget) -> None:
        self.windows, self.rival, self.budget = windows, rival, budget
        self.doubt = float(windows.doubt[rival])
        self.mine = np.flatnonzero(free[windows.words])
        self.rows = np.flatnonzero(free[windows.words][windows.word])  # the fillings of free words
        self.column = np.searchsorted(self.mine, windows.word[self.rows])  # whose they are
        self.prices = windows.prices[self.mine]
        costly = bool(windows.costs[free].sum() > windows.limit)  # as readers count: with words that cannot move
        self.codes = _Codes.of(
            [self._ordered(int(word)) for word in self.mine], windows.own[self.mine] if costly else None
        )
        self.marks = self.codes.marks(len(windows.word))[:, self.rows]
        self.cut: list[int] = [-1]  # of each subproblem the code that it was cut at
        self.first: list[int] = [-1]  # and the first of its two parts, which stand side by side
        self.rounds = 0

    def run(self) -> Tree | Refuted | Unknown:
        waiting = [self._root()]
        try:
            while waiting:
                self.budget.look()
                answer, parts = self._step(waiting.pop())
                if answer is not None:
                    return answer
                waiting += parts
                if _bytes(waiting) > MEMORY:
                    return Unknown(f"undecided after {len(self.cut)} subproblems, and more would not fit into memory")
        except OutOfTime:
            return Unknown("time ran out before all words were decided on")
        return self._tree()

    def _ordered(self, word: int) -> Ints:
        """The fillings of a word, those first that lower the margin most while all units count alike."""
        windows = self.windows
        rows = np.flatnonzero(windows.word == word)
        lead = windows.added[rows] @ windows.weights[self.rival][windows.group]
        return np.asarray(rows[np.argsort(lead, kind="stable")])

    def _root(self) -> _Chunk:
        """The subproblem of all fillings."""
        windows, count = self.windows, len(self.mine)
        low, high = self._added(np.min), self._added(np.max)
        view = self._view(low, high)
        least, most = ((windows.base + side[:count].sum(0))[None] for side in (view.low, view.high))
        everything, constant = np.arange(count)[None], windows.constants[[self.rival]]
        return _Chunk(view, np.zeros(1, dtype=np.int64), everything, least, most, windows.floor[None], constant)

    def _added(self, end: Callable[..., Floats]) -> Floats:
        """The least, or the most, (codes, units) that the fillings of each code add."""
        found = [end(self.windows.added[rows], axis=0) for rows in self.codes.members]
        return np.array(found).reshape(len(found), len(self.windows.base))

    def _view(self, low: Floats, high: Floats) -> _View:
        windows, codes, count = self.windows, self.codes, len(self.mine)
        weights = windows.weights[self.rival]
        moves = (high[:count] - low[:count]).T * np.abs(weights)[windows.group][:, None]
        signs = np.stack([np.maximum(weights, 0.0), np.minimum(weights, 0.0)])
        purse = self._purse(low[:count], high[:count]) if codes.open.any() else None
        low[codes.open] = high[codes.open] = 0.0
        added = windows.added[self.rows].T.copy()
        return _View(windows.base, added, low, high, windows.starts, windows.group, signs, moves, purse)

    def _purse(self, low: Floats, high: Floats) -> _Purse:
        """What may be spent, and on what, when fillings of words add at least `low` and at most `high` to units."""
        codes, prices = self.codes, self.prices
        falls, rises = (_Bargains.of(np.minimum(gains, 0.0), prices) for gains in (low, -high))
        return _Purse(codes.open, codes.paid * prices[codes.word], prices, self.windows.limit, falls, rises)

    def _step(self, chunk: _Chunk) -> tuple[Refuted | Unknown | None, list[_Chunk]]:
        """An answer, or the parts of what is not closed."""
        self.rounds += 1
        open_ = np.flatnonzero(chunk.bound <= self.doubt)
        left = chunk.take(open_)
        left = left.take(np.flatnonzero(self._jointly(left) <= self.doubt)) if len(open_) else left
        if not len(left.ids):
            return None, []
        decided = ~self._divisible(left).any(-1)
        if decided.any() or self.rounds <= DESCENTS or not self.rounds & (self.rounds - 1):
            answer = self._tried(left.take(np.flatnonzero(decided)[:1]) if decided.any() else left)
            if answer is None and decided.any():
                return Unknown("the margin is too close to zero to be decided"), []
            if answer is not None:
                return answer, []
        if len(self.cut) > self.budget.subproblems:
            return Unknown(f"undecided after {len(self.cut)} subproblems: the best bound is {left.bound.min():.3g}"), []
        parts = self._parts(left.narrowed())
        return None, [parts.take(slice(start, start + CHUNK)) for start in range(0, len(parts.ids), CHUNK)]

    def _divisible(self, chunk: _Chunk) -> Bools:
        """The words (n, words) that can be cut."""
        codes = self.codes
        return np.asarray((codes.halves[chunk.codes, 0] >= 0) & (~codes.open[chunk.codes] | chunk.buyable))

    def _jointly(self, chunk: _Chunk) -> Floats:
        """Bounds (n,) by lines, for which a word has one filling for all units."""
        added, constant = chunk.lines()
        left = np.where(self.marks[chunk.codes[:, self.column], np.arange(len(self.column))], added, np.inf)
        first = np.searchsorted(self.column, np.arange(len(self.mine)))
        values = np.minimum.reduceat(left, first, axis=1)
        if chunk.view.purse is None:
            return np.asarray(constant + values.sum(-1))
        sure = np.where(self.codes.open[chunk.codes], 0.0, values).sum(-1)
        gains = np.where(chunk.buyable, np.minimum(values, 0.0), 0.0)
        order = np.argsort(gains / self.prices, axis=-1, kind="stable")
        shares = _shares(self.prices[order], self.prices[order], chunk.left[:, None])
        return np.asarray(constant + sure + (np.take_along_axis(gains, order, -1) * shares).sum(-1))

    def _tried(self, chunk: _Chunk) -> Refuted | None:
        """A counterexample within the most doubtful subproblem."""
        windows, codes = self.windows, chunk.codes[int(chunk.bound.argmin())]
        allowed, text = np.zeros(len(windows.word), dtype=bool), windows.own.copy()
        for word, code in zip(self.mine, codes, strict=True):
            allowed[self.codes.members[code]] = True
            text[word] = text[word] if self.codes.open[code] else self.codes.members[code][0]
        text, least = windows.lowered(text, allowed)
        witness = windows.witness(text) if least <= 0 else None
        return None if witness is None else Refuted(witness)

    def _parts(self, chunk: _Chunk) -> _Chunk:
        """Both sides of each subproblem, cut at the word that matters most: all first ones, then all second ones."""
        codes, count = self.codes, len(chunk.ids)
        scores = np.where(self._divisible(chunk), chunk.scores() * self._left[chunk.codes], -1.0)
        word, rows = scores.argmax(-1), np.arange(count)
        old = chunk.codes[rows, word]
        one, other = (self._side(chunk, word, old, codes.halves[old, side]) for side in (0, 1))
        fresh = len(self.cut) + np.arange(2 * count).reshape(count, 2).T
        for place, code, first in zip(chunk.ids.tolist(), old.tolist(), fresh[0].tolist(), strict=True):
            self.cut[place], self.first[place] = code, first
        self.cut += [-1] * 2 * count
        self.first += [-1] * 2 * count
        left, low, high = (np.concatenate(pair) for pair in zip(one, other, strict=True))
        floor, constant = np.tile(chunk.floor, (2, 1)), np.tile(chunk.constant, 2)
        return _Chunk(chunk.view, fresh.ravel(), left.astype(np.int64), low, high, floor, constant)

    @cached_property
    def _left(self) -> Floats:
        """What is left of a word in each code, as a share of how many fillings it can lose."""
        most = [len(self.codes.members[word]) - 1 for word in self.codes.word]
        return np.array([(len(some) - 1) / max(1, all_) for some, all_ in zip(self.codes.members, most, strict=True)])

    def _side(self, chunk: _Chunk, word: Ints, old: Ints, new: Ints) -> tuple[Ints, Floats, Floats]:
        codes = chunk.codes.copy()
        codes[np.arange(len(codes)), word] = new
        view = chunk.view
        return codes, chunk.low + (view.low[new] - view.low[old]), chunk.high + (view.high[new] - view.high[old])

    def _tree(self) -> Tree:
        """The proof, from its leaves up: parts come after what they are parts of."""
        trees: list[Tree] = [CLOSED] * len(self.cut)
        for place in reversed(range(len(self.cut))):
            if (code := self.cut[place]) >= 0:
                first = self.first[place]
                position = int(self.windows.words[self.mine[self.codes.word[code]]])
                trees[place] = Pick(position, self._chosen(code), (trees[first], trees[first + 1]))
        return trees[0]

    def _chosen(self, code: int) -> Chosen:
        """The choices on the first side of a cut; None where the word is bought there."""
        if self.codes.open[code]:
            return None
        fillings = self.codes.members[self.codes.halves[code, 0]]
        return tuple(sorted(choice for filling in fillings for choice in self.windows.choices[filling]))

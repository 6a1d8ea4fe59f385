"""The worst case of a bag of words: the least margin over all texts that a layout allows, proved or shown by a text.

With the norm l2 the margin N/sqrt(S) + b has the sign of N + b sqrt(S), where N and S are sums over features of
w v(c) and v(c)^2, v(c) being what a count c becomes. The square root is bounded from below by a line: by its chord
over a range of S where b > 0 (ranges are cut until it is tight), by a tangent to -sqrt(S) where b < 0. What is left is
a sum of one function h_f(c_f) per feature. A feature that may occur twice or more is bounded by a line too,
h_f(c) >= s c + min over c of (h_f(c) - s c) for any slope s, and then every choice has a price of its own and the
cheapest text is found exactly: word by word, or along a shortest path where pairs of neighbours count. Where the bound
does not decide, the texts are split in two: by how often a feature on which its line loses much counts, or by one
word's choices.

With no norm S plays no part, and with l1 h_f(c) = w v + b |v|. A text without any known feature has the margin b.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from suffice.model.bag import term
from suffice.model.network import Bools, Floats, Ints
from suffice.prove.chain import MOST_LAYERS, Chain
from suffice.prove.layout import Layout
from suffice.prove.path import cheapest_path, counted_path
from suffice.prove.verdict import Budget

SLOPES = 4  # times that the slopes of repeated features are mended
LINES = 10  # lines under the square root that are tried before words are split
COUNTED = 8  # changes that are counted on a path
LOSSY = 0.1  # of what a bound lacks: so much lost on one feature and its counts are split
REACH = 0.0999  # of all that is added up: how far a slope goes beyond its steps, a little less than a checker takes
ROUNDING = 1e-9  # of all that is added up: far more than doubles lose in sums of up to a million terms


@dataclass(frozen=True, eq=False)
class Case:
    """All texts of `allowed` choices, at most `at_most` of them other than `reference`: is w v/|v| + b above zero?

    With `exactly` only those with just so many others.
    """

    layout: Layout
    weight: Floats  # (features,)
    bias: float
    reference: Ints  # (words,) choices
    allowed: Bools  # (choices,)
    at_most: int | None
    exactly: bool = False

    def holds(self, chosen: Ints) -> bool:
        """Whether a text changes as many words as it may."""
        if self.at_most is None:
            return True
        changed = int((chosen != self.reference).sum())
        return changed == self.at_most if self.exactly else changed <= self.at_most

    @cached_property
    def scale(self) -> float:
        """How large all that is added up can be."""
        high = self.everything.most
        terms = np.abs(self.weight) * np.abs(self.layout.values(high))
        return float(terms.sum()) + abs(self.bias) * (1.0 + float(np.sqrt((self.layout.values(high) ** 2).sum())))

    @cached_property
    def size(self) -> float:
        """The same without the bias, whatever words become."""
        every = ranges(replace(self, at_most=None), np.ones(len(self.allowed), dtype=bool))
        return float((np.abs(self.weight) * np.abs(self.layout.values(every.largest))).sum())

    @cached_property
    def everything(self) -> Ranges:
        return ranges(self, self.allowed)

    @cached_property
    def tolerance(self) -> float:
        """Forms within this of zero decide nothing."""
        return ROUNDING * (self.scale + 1e-30)

    def form(self, counts: Floats) -> tuple[float, float]:
        """N + b sqrt(S), which has the margin's sign, and the margin."""
        values = self.layout.values(counts)
        total = float(self.weight @ values)
        match self.layout.bag.norm:
            case None:
                return total + self.bias, total + self.bias
            case "l1":
                size = float(np.abs(values).sum())
            case "l2":
                size = float(np.sqrt((values * values).sum()))
        if size == 0.0:
            return self.bias, self.bias
        return total + self.bias * size, total / size + self.bias


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


# --- verdicts ---


@dataclass(frozen=True, eq=False)
class Stretch:
    """A proof for the texts whose S lies between `low` and `high`: the bound with this slope of S and these slopes."""

    low: float
    high: float
    slope: float
    slopes: Floats
    toll: float | None = None  # what a change costs where a path is limited in them; None: counted exactly


@dataclass(frozen=True, eq=False)
class Holds:
    """Every allowed text has a margin above zero: a leaf with lines, or a split of texts."""

    lines: tuple[Stretch, ...] = ()
    split: tuple[int, ...] = ()  # choices of one word that the first branch keeps; the second keeps the others
    counted: tuple[int, float] | None = None  # or a feature, and how often it counts at most in the first branch
    branches: tuple[Holds, ...] = ()


@dataclass(frozen=True, eq=False)
class Fails:
    """This text has a margin at or below zero (as computed here; it is still to be run)."""

    chosen: Ints
    margin: float


@dataclass(frozen=True)
class Open:
    reason: str
    chosen: Ints | None = None
    margin: float = np.nan


Found = Holds | Fails | Open


def decide(case: Case, budget: Budget, nodes: int = 20_000) -> Found:
    """Whether every allowed text has a margin above zero."""
    return _Hunt(case, budget).run(nodes)


@dataclass(eq=False)
class _Node:
    allowed: Bools
    slopes: Floats
    toll: float | None = None
    within: Ranges | None = None  # counts of the texts that this is about
    split: tuple[int, ...] = ()
    counted: tuple[int, float] | None = None
    branches: list[_Node] = field(default_factory=list)
    lines: tuple[Stretch, ...] = ()

    def proof(self) -> Holds:
        return Holds(self.lines, self.split, self.counted, tuple(branch.proof() for branch in self.branches))


class _Hunt:
    def __init__(self, case: Case, budget: Budget) -> None:
        self.case, self.budget, self.layout = case, budget, case.layout

    def run(self, nodes: int) -> Found:
        root = _Node(self.case.allowed, self._first_slopes())
        waiting: list[tuple[float, int, _Node]] = [(0.0, 0, root)]
        order = itertools.count(1)
        while waiting:
            if self.budget.spent:
                return Open("time is up")
            _, _, node = heapq.heappop(waiting)
            bound = _Bound(self.case, node)
            found = bound.run()
            if isinstance(found, Fails):
                return found
            if found is not None:
                node.lines = found
                continue
            feature = bound.lossy()
            word = bound.branch() if feature is None else -1
            if word is None:  # a single text within the rounding of zero
                return Open("a margin is too close to zero to be decided", bound.chosen, bound.margin)
            nodes -= 1
            if nodes <= 0:
                return Open("too many words had to be split")
            parts = self._split(node, word, bound) if feature is None else self._counted(node, feature, bound)
            for part in parts:
                heapq.heappush(waiting, (bound.value, next(order), part))
        return root.proof()

    def _first_slopes(self) -> Floats:
        return np.full(len(self.layout.columns), np.nan)

    def _split(self, node: _Node, word: int, bound: _Bound) -> Iterator[_Node]:
        start, end = self.layout.ends[word], self.layout.ends[word + 1]
        mine = np.arange(start, end)[node.allowed[start:end]]
        keep = np.array([bound.chosen[word]]) if bound.keep is None else bound.keep
        node.split = tuple(int(k) for k in keep)
        for kept in (keep, np.setdiff1d(mine, keep)):
            allowed = node.allowed.copy()
            allowed[start:end] = False
            allowed[kept] = True
            child = _Node(allowed, bound.slopes, bound.toll, node.within)
            node.branches.append(child)
            yield child

    def _counted(self, node: _Node, feature: int, bound: _Bound) -> Iterator[_Node]:
        """Texts in which a feature counts no more than in the cheapest one, and the others."""
        count, found = float(self.layout.counts(bound.chosen)[feature]), bound.ranges
        node.counted = feature, count
        mark = np.arange(len(found.least)) == feature
        few = Ranges(found.least, np.where(mark, count, found.most))
        many = Ranges(np.where(mark, count + 1.0, found.least), found.most)
        for within in (few, many):
            child = _Node(node.allowed, np.where(mark, np.nan, bound.slopes), bound.toll, within)
            node.branches.append(child)
            yield child


# --- one node ---


class _Bound:
    """The bound for one node; `run` gives the lines that prove it, a text that fails, or None."""

    def __init__(self, case: Case, node: _Node) -> None:
        self.case, self.node, self.layout = case, node, case.layout
        whole = self.whole = self.ranges = ranges(case, node.allowed)
        if node.within is not None:
            self.ranges = whole.inside(node.within)
        self.split = (self.ranges.least > whole.least) | (self.ranges.most < whole.most)  # texts may count otherwise
        self.slopes = node.slopes
        self.chosen, self.margin, self.value = case.reference, np.inf, -np.inf
        self.other: Ints | None = None  # the text on the other side of a tangent
        self.keep: Ints | None = None
        self.gaps = np.zeros(len(self.layout.columns))
        self.toll = node.toll
        self._tables()

    def _tables(self) -> None:
        least, most = self.ranges.least, self.ranges.most
        self.wide = np.flatnonzero((most > least) | self.split)
        steps = int((most - least).max(initial=0.0))
        counts = least[self.wide, None] + np.arange(steps + 1)
        self.inside = counts <= most[self.wide, None]
        self.counts = counts
        scale = self.layout.scale
        values = scale[self.wide, None] * term(self.layout.bag.tf, counts)
        self.squares = values * values
        self.linear = self.case.weight[self.wide, None] * values
        fixed = scale * term(self.layout.bag.tf, least)
        still = np.setdiff1d(np.arange(len(least)), self.wide)
        self.fixed_linear = float(self.case.weight[still] @ fixed[still])
        self.fixed_squares = float((fixed[still] ** 2).sum())
        if self.layout.bag.norm == "l1":
            self.linear = self.linear + self.case.bias * np.abs(values)
            self.fixed_linear += self.case.bias * float(np.abs(fixed[still]).sum())

    @cached_property
    def span(self) -> tuple[float, float]:
        """Least and most S."""
        low = np.where(self.inside, self.squares, np.inf).min(1).sum() if len(self.wide) else 0.0
        high = np.where(self.inside, self.squares, 0.0).max(1).sum() if len(self.wide) else 0.0
        return self.fixed_squares + float(low), min(self.fixed_squares + float(high), self._room())

    def _room(self) -> float:
        """The most S, word by word: an occurrence of a feature adds no more than the most that one of them can."""
        layout, allowed, most = self.layout, self.node.allowed, np.maximum(self.ranges.most, -self.ranges.least)
        largest = most if layout.bag.tf == "count" else term(layout.bag.tf, most) ** 2
        each = layout.scale**2 * largest
        if layout.chain is not None:
            return layout.chain.largest(allowed, each) * (1.0 + 1e-12)
        alone = np.where(allowed, abs(layout.inner) @ each, 0.0)
        total = float(np.maximum.reduceat(alone, layout.first).sum())
        if layout.pairs:
            met = np.zeros(layout.size)
            live = allowed[layout.pairs.earlier] & allowed[layout.pairs.later]
            np.maximum.at(met, layout.slot[layout.pairs.later[live]], each[layout.pairs.feature[live]])
            total += float(met.sum())
        return total * (1.0 + 1e-12)

    def run(self) -> tuple[Stretch, ...] | Fails | None:
        if (self.ranges.least > self.ranges.most).any():
            return ()  # there is no such text
        if not self._open().any():
            return self._only()
        nothing = self._nothing()
        if nothing is not None:
            return nothing
        match self.layout.bag.norm:
            case None:
                return self._single(self.case.bias)
            case "l1":
                return self._single(0.0)
            case "l2" if self.case.bias >= 0:
                return self._chords()
            case "l2":
                return self._tangents()

    def _nothing(self) -> Fails | None:
        """A text without known features, where it is allowed and fails."""
        if self.layout.chain is not None:
            return self._bare(self.layout.chain)
        size = np.asarray(abs(self.layout.inner).sum(1)).ravel()
        bare = self.node.allowed & (self.layout.empty if self.layout.pairs else size == 0)
        reference = self.case.reference
        chosen = np.full(self.layout.size, -1, dtype=np.int64)
        found = np.flatnonzero(bare)
        chosen[self.layout.slot[found][::-1]] = found[::-1]
        chosen = np.where(bare[reference], reference, chosen)
        return self._failed(chosen) if (chosen >= 0).all() and self.case.holds(chosen) else None

    def _bare(self, chain: Chain) -> Fails | None:
        """The same, where features reach over words."""
        price = np.asarray(abs(chain.rows).sum(1)).ravel()[chain.row]
        cost = price + np.append(np.where(self.node.allowed, 0.0, np.inf), 0.0)[chain.choice]
        value, chosen = chain.cheapest(cost, self._moved(chain), None)
        return self._failed(chosen) if value <= 0 and self.case.holds(chosen) else None

    def _moved(self, chain: Chain) -> Bools:
        return moved_steps(self.case, chain)

    def _only(self) -> tuple[Stretch, ...] | Fails | None:
        """The only text that is left."""
        chosen = np.flatnonzero(self.node.allowed)
        if not self.case.holds(chosen):
            return ()
        failed = self._failed(chosen)
        self.chosen = chosen
        form, self.margin = self.case.form(self.layout.counts(chosen))
        return failed if failed is not None else () if form > self.case.tolerance else None

    def _failed(self, chosen: Ints) -> Fails | None:
        form, margin = self.case.form(self.layout.counts(chosen))
        return Fails(chosen, margin) if form <= 0.0 else None

    def _single(self, constant: float) -> tuple[Stretch, ...] | Fails | None:
        bound, failed = self._under(0.0, constant)
        if failed is not None:
            return failed
        return (Stretch(*self.span, 0.0, self.slopes, self.toll),) if bound > self.case.tolerance else None

    def _chords(self) -> tuple[Stretch, ...] | Fails | None:
        waiting, done, left = [self.span], [], LINES
        while waiting:
            low, high = waiting.pop()
            root_low, root_high = np.sqrt(low), np.sqrt(high)
            slope = self.case.bias / (root_low + root_high) if high > 0 else 0.0
            constant = self.case.bias * root_low - slope * low
            bound, failed = self._under(slope, constant)
            if failed is not None:
                return failed
            if bound > self.case.tolerance:
                done.append(Stretch(low, high, slope, self.slopes, self.toll))
                continue
            left -= 1
            if left <= 0 or high - low <= 1e-6 * high:
                return None
            middle = self._square(self.chosen)
            if not low + 0.1 * (high - low) < middle < high - 0.1 * (high - low):
                middle = 0.5 * (low + high)
            waiting += [(low, middle), (middle, high)]
        return tuple(done)

    def _tangents(self) -> tuple[Stretch, ...] | Fails | None:
        """-sqrt(S) >= -(S / 2t + t / 2): the best t lies where S of the cheapest text meets t squared."""
        low, high = np.sqrt(self.span[0]), np.sqrt(self.span[1])
        if high == 0.0:
            return self._single(0.0)
        at = min(max(np.sqrt(self._square(self.case.reference)), low), high) or high
        best, sides = -np.inf, {}
        for _ in range(LINES):
            slope = 0.5 * self.case.bias / at
            bound, failed = self._under(slope, 0.5 * self.case.bias * at)
            if failed is not None:
                return failed
            if bound > self.case.tolerance:
                return (Stretch(*self.span, slope, self.slopes, self.toll),)
            best = max(best, bound)
            there = np.sqrt(self._square(self.chosen))
            sides[there > at] = self.chosen
            if abs(there - at) <= 1e-9 * high:
                break
            low, high = (at, high) if there > at else (low, at)
            at = min(max(there, low + 0.1 * (high - low)), high - 0.1 * (high - low))
            if high - low <= 1e-4 * high:
                break
        self.value = best
        if len(sides) == 2:
            self.chosen, self.other = sides[True], sides[False]
        return None

    def _square(self, chosen: Ints) -> float:
        return float((self.layout.values(self.layout.counts(chosen)) ** 2).sum())

    def _under(self, slope: float, constant: float) -> tuple[float, Fails | None]:
        """The least of the form with a line of this slope in the place of the root; the best text is kept."""
        table = np.where(self.inside, self.linear + slope * self.squares, np.inf)
        constant += self.fixed_linear + slope * self.fixed_squares
        slopes, best, kept = self._start(table), -np.inf, None
        toll = _Toll(self.case, self.toll)
        for _ in range(toll.turns):
            free = table - slopes[:, None] * self.counts
            prices = np.zeros(len(self.layout.columns))
            prices[self.wide] = slopes
            value, chosen, texts = toll.cheapest(prices, self.node.allowed)
            if value == np.inf:  # more words would have to change than may
                return np.inf, None
            for text in texts:
                failed = self._failed(text)
                if failed is not None:
                    return value, failed
            bound = value + float(free.min(1).sum()) + constant
            counts = self.layout.counts(chosen)
            at = np.rint(counts[self.wide] - self.ranges.least[self.wide]).astype(np.int64)
            at = np.clip(at, 0, self.inside.sum(1) - 1)  # a text that pays the toll may change too many words
            gaps = table[np.arange(len(at)), at] - slopes * counts[self.wide] - free.min(1)
            if bound > best:
                best, kept, self.toll = bound, slopes, toll.last
                self.chosen, self.value = chosen, bound
                self.gaps = np.zeros(len(self.layout.columns))
                self.gaps[self.wide] = np.maximum(gaps, 0.0)
            settled = gaps.max(initial=0.0) <= 1e-12 * self.case.scale
            if bound > self.case.tolerance or (settled and toll.settled):
                break
            pulled = self._mended(table, slopes, at) + self._pull(counts, max(-bound, self.case.tolerance))
            slopes = self._capped(table, pulled)
        self.slopes = np.full(len(self.layout.columns), np.nan)
        self.slopes[self.wide] = slopes if kept is None else kept
        return best, None

    def _start(self, table: Floats) -> Floats:
        """Slopes from one end to the other where no line below is higher in between, else what the parent had."""
        rows, last = np.arange(len(table)), (self.inside.sum(1) - 1)
        chord = (table[rows, last] - table[:, 0]) / np.maximum(last, 1) if len(table) else np.zeros(0)
        given = self.slopes[self.wide]
        over = table - table[:, :1] - chord[:, None] * (self.counts - self.counts[:, :1])
        arched = over.min(1, initial=0.0) >= -1e-12 * self.case.scale
        return self._capped(table, np.where(np.isnan(given) | (arched & ~self.split[self.wide]), chord, given))

    def _mended(self, table: Floats, slopes: Floats, at: Ints) -> Floats:
        """Slopes that make the counts of the cheapest text cheapest for their feature too, halfway."""
        rows, last = np.arange(len(table)), self.inside.sum(1) - 1
        here = table[rows, at]
        up = np.where(at < last, table[rows, np.minimum(at + 1, last)] - here, np.inf)
        down = np.where(at > 0, here - table[rows, np.maximum(at - 1, 0)], -np.inf)
        convex = down <= up
        wanted = np.where(convex, np.clip(slopes, down, np.maximum(up, down)), slopes)
        return np.asarray(slopes + 0.6 * (wanted - slopes))

    def _pull(self, counts: Floats, lacking: float) -> Floats:
        """Changes of slopes: a text pays what is lacking for features that it counts too often or too rarely."""
        beyond = (counts - np.clip(counts, self.ranges.least, self.ranges.most))[self.wide]
        off = np.flatnonzero(beyond)
        found = np.zeros(len(beyond))
        found[off] = lacking / len(off) / beyond[off] if len(off) else 0.0
        return found

    def _capped(self, table: Floats, slopes: Floats) -> Floats:
        """Slopes of features that texts are split by, no farther beyond their steps than a checker takes them."""
        rows = np.flatnonzero(self.split[self.wide])
        if not len(rows):
            return slopes
        inside = self.inside[rows, 1:]
        steps = np.diff(np.where(self.inside, table, 0.0)[rows], axis=1)
        low = np.where(inside.any(1), np.where(inside, steps, np.inf).min(1, initial=np.inf), 0.0)
        high = np.where(inside.any(1), np.where(inside, steps, -np.inf).max(1, initial=-np.inf), 0.0)
        reach = (REACH * self.case.size / np.maximum(1.0, self.whole.largest))[self.wide[rows]]
        found = slopes.copy()
        found[rows] = np.clip(found[rows], low - reach, high + reach)
        return found

    # --- where to split ---

    def lossy(self) -> int | None:
        """A feature on which its line loses much of what the bound lacks, in the middle of its range."""
        if not self._open().any():
            return None
        counts = self.layout.counts(self.chosen)
        middle = (counts > self.ranges.least) & (counts < self.ranges.most)
        lost = np.where(middle, self.gaps, 0.0)
        feature = int(lost.argmax()) if len(lost) else 0
        return feature if len(lost) and lost[feature] > LOSSY * max(-self.value, self.case.tolerance) else None

    def branch(self) -> int | None:
        """The word whose choices are split; None where only one text is left."""
        open_words = self._open()
        if not open_words.any():
            return None
        score = np.zeros(self.layout.size)
        if self.other is not None:
            score += (self.other != self.chosen) * self._differences()
        score += self._gap_by_word()
        score = np.where(open_words, score + 1e-12, -1.0)
        word = int(score.argmax())
        if not self.node.allowed[self.chosen[word]]:  # the cheapest text of a range of S that was left behind
            self.keep = np.flatnonzero(self.node.allowed & (self.layout.slot == word))[:1]
        return word

    def _open(self) -> Bools:
        per_word = np.add.reduceat(self.node.allowed.astype(np.int64), self.layout.first)
        return np.asarray(per_word > 1)

    def _differences(self) -> Floats:
        assert self.other is not None
        if self.layout.chain is not None:
            return np.ones(self.layout.size)
        size = np.asarray(abs(self.layout.inner).sum(1)).ravel()
        return np.asarray(1e-6 + np.abs(size[self.other] - size[self.chosen]))

    def _gap_by_word(self) -> Floats:
        """The gap of repeated features, shared out to the words that could hold them."""
        score = np.zeros(self.layout.size)
        if self.gaps.max(initial=0.0) > 0:
            chain = self.layout.chain
            held = abs(self.layout.inner) @ self.gaps if chain is None else chain.by_choice(self.gaps)
            np.maximum.at(score, self.layout.slot, np.where(self.node.allowed, held, 0.0))
            gaps = self.gaps[self.layout.pairs.feature]
            for end in (self.layout.pairs.earlier, self.layout.pairs.later):
                np.maximum.at(score, self.layout.slot[end], np.where(self.node.allowed[end], gaps, 0.0))
        return score


# --- prices per choice ---


class _Toll:
    """The cheapest text for given prices. Changes are counted; on a path that may hold many, each pays a toll instead.

    The toll is raised until few pay it. A text within the limit pays at most the toll times the limit, so the least sum
    with tolls, less that, is a bound whatever the toll; where just so many words change, one below zero serves too.
    """

    def __init__(self, case: Case, last: float | None) -> None:
        self.case, self.layout, self.last = case, case.layout, last
        self.tolled = bool(case.layout.pairs) and case.at_most is not None and case.at_most > COUNTED
        self.turns = SLOPES + 4 if self.tolled else SLOPES
        self.settled = not self.tolled
        self.low, self.high, self.shift = -np.inf if case.exactly else 0.0, np.inf, 0

    def cheapest(self, prices: Floats, allowed: Bools) -> tuple[float, Ints, list[Ints]]:
        """The bound, the text it stands for, and texts within the limit that are worth a look."""
        case, layout = self.case, self.layout
        cost = layout.inner @ prices
        if layout.chain is not None:
            return self._chained(layout.chain, prices, allowed)
        if not layout.pairs:
            value, chosen = cheapest_choices(layout, cost, allowed, case.reference, case.at_most, case.exactly)
            return value, chosen, [chosen]
        if self.tolled:
            return self._tolled(cost, prices, allowed)
        if case.at_most is None:
            value, chosen = cheapest_path(layout, cost, prices, allowed)
        else:
            value, chosen = counted_path(layout, cost, prices, allowed, case.reference, case.at_most, case.exactly)
        return value, chosen, [chosen]

    def _chained(self, chain: Chain, prices: Floats, allowed: Bools) -> tuple[float, Ints, list[Ints]]:
        """Changes are counted on the way, where they may not be too many to count."""
        case, limit = self.case, self.case.at_most
        cost = chain.priced(prices, np.where(allowed, 0.0, np.inf))
        counted = limit is not None and limit <= MOST_LAYERS
        limit = limit if counted else None
        value, chosen = chain.cheapest(cost, moved_steps(case, chain), limit, case.exactly)
        if value == np.inf:
            return value, case.reference, []
        return value, chosen, [chosen] if case.holds(chosen) else []

    def _tolled(self, cost: Floats, prices: Floats, allowed: Bools) -> tuple[float, Ints, list[Ints]]:
        case, layout, limit = self.case, self.layout, self.case.at_most
        assert limit is not None
        others, gain = changing(layout, np.where(allowed, cost, np.inf), case.reference, case.exactly)
        forced, fixed = int(np.isposinf(gain).sum()), int(np.isneginf(gain).sum())
        if forced > limit or (case.exactly and limit > layout.size - fixed):
            return np.inf, case.reference, []
        toll = self._next(gain[np.isfinite(gain)], limit - forced)
        moved = case.reference[layout.slot] != np.arange(len(cost))
        value, chosen = cheapest_path(layout, cost + toll * moved, prices, allowed)
        changed = chosen != case.reference
        self._seen(toll, int(changed.sum()) - limit)
        if case.holds(chosen):
            return value - toll * limit, chosen, [chosen]
        kept = np.lexsort((-gain, ~changed))[:limit]  # changed ones first, and of these what saves most
        text = case.reference.copy()
        text[kept] = np.where(changed, chosen, others)[kept]
        return value - toll * limit, chosen, [text]

    def _seen(self, toll: float, beyond: int) -> None:
        """So many words more than may change do so at this toll."""
        self.last = toll
        self.shift += beyond
        self.settled = beyond == 0 or (toll == self.low == 0.0 and beyond < 0)
        if beyond > 0:
            self.low = max(self.low, toll)
        else:
            self.high = min(self.high, toll)

    def _next(self, gain: Floats, limit: int) -> float:
        """The toll that so many words are worth more than, neighbours apart; mended by what was seen."""
        if self.last is None or self.shift:
            ranked = np.sort(gain)[::-1]
            toll = float(ranked[min(max(limit - self.shift, 0), len(ranked) - 1)]) if len(ranked) else 0.0
        else:
            toll = self.last
        if self.low < toll < self.high or toll == self.low == 0.0:
            return toll
        if self.high == np.inf:
            return self.low + abs(self.low) + 1e-9
        return self.high - abs(self.high) - 1e-9 if self.low == -np.inf else 0.5 * (self.low + self.high)


def cheapest_text(layout: Layout, cost: Floats, prices: Floats, allowed: Bools) -> tuple[float, Ints]:
    """The least sum of choices' costs and features' prices, and the choices."""
    if layout.chain is not None:
        paid = layout.chain.priced(prices, np.where(allowed, cost, np.inf))
        return layout.chain.cheapest(paid, np.zeros(0, dtype=bool), None)
    cost = cost + layout.inner @ prices
    if layout.pairs:
        return cheapest_path(layout, cost, prices, allowed)
    return cheapest_choices(layout, cost, allowed, layout.first, None)


def cheapest_choices(
    layout: Layout, cost: Floats, allowed: Bools, reference: Ints, at_most: int | None, exactly: bool = False
) -> tuple[float, Ints]:
    """The cheapest choice at every word, at most (or exactly) so many of them other than the reference."""
    priced = np.where(allowed, cost, np.inf)
    chosen, gain = changing(layout, priced, reference, exactly)
    if at_most is not None:
        ranked = np.argsort(-gain, kind="stable")
        back = ranked[at_most:]
        chosen[back] = reference[back]
        if np.isneginf(gain[ranked[:at_most]]).any():  # so many words cannot change
            return np.inf, chosen
    return float(priced[chosen].sum()), chosen


def changing(layout: Layout, priced: Floats, reference: Ints, exactly: bool) -> tuple[Ints, Floats]:
    """The cheapest choice of each word (with `exactly`, of those that change it), and what it saves.

    That is infinite where the word has to change, and minus infinity where it cannot.
    """
    stay = priced[reference]
    if exactly:
        priced = priced.copy()
        priced[reference] = np.inf
    least = np.minimum.reduceat(priced, layout.first)
    hits = np.flatnonzero(priced == least[layout.slot])
    chosen = np.zeros(layout.size, dtype=np.int64)
    chosen[layout.slot[hits][::-1]] = hits[::-1]  # the first of equals
    return chosen, np.where(np.isinf(stay), np.inf, stay - least)


def ranges(case: Case, allowed: Bools) -> Ranges:
    """The least and most that each feature may count."""
    layout = case.layout
    if layout.chain is not None:
        return _chain_ranges(case, layout.chain, allowed)
    key, slot, feature, value, start = _groups(layout)
    live = allowed[key]
    among = np.add.reduceat(allowed.astype(np.int64), layout.first)
    most, least = np.zeros(len(layout.columns)), np.zeros(len(layout.columns))
    if len(key):
        present = np.add.reduceat(live.astype(np.int64), start)
        all_hold = present == among[slot[start]]
        high = np.maximum.reduceat(np.where(live, value, -np.inf), start)
        low = np.minimum.reduceat(np.where(live, value, np.inf), start)
        high = np.where(all_hold, high, np.maximum(high, 0.0))
        low = np.where(all_hold, low, np.minimum(low, 0.0))
        some = present > 0
        np.add.at(most, feature[start][some], high[some])
        np.add.at(least, feature[start][some], low[some])
    _pair_ranges(layout, allowed, most, least)
    if case.at_most is not None:
        _limit(case, most, least)
    return Ranges(least, most)


def _chain_ranges(case: Case, chain: Chain, allowed: Bools) -> Ranges:
    least, most = chain.ranges(allowed)
    if case.at_most is not None:
        before, (down, up) = case.layout.counts(case.reference), _swing(chain, case.reference)
        least = np.maximum(least, before + case.at_most * down)
        most = np.minimum(most, before + case.at_most * up)
    return Ranges(least, most)


def _swing(chain: Chain, reference: Ints) -> tuple[Floats, Floats]:
    cached: dict[bytes, tuple[Floats, Floats]] = chain.__dict__.setdefault("_swings", {})
    key = reference.tobytes()
    if key not in cached:
        cached[key] = chain.swing(reference)
    return cached[key]


def moved_steps(case: Case, chain: Chain) -> Bools:
    """The steps that change a word."""
    moved = np.append(case.reference[case.layout.slot] != np.arange(len(case.layout.slot)), False)
    return np.asarray(moved[chain.choice])


def _groups(layout: Layout) -> tuple[Ints, Ints, Ints, Floats, Ints]:
    """Entries of `inner` in the order of word and feature: choice, word, feature, count, and where groups start."""
    cached = layout.__dict__.get("_groups")
    if cached is None:
        table = layout.inner.tocoo()
        slot = layout.slot[table.row]
        order = np.lexsort((table.row, table.col, slot))
        row, col, value, slot = table.row[order], table.col[order], table.data[order], slot[order]
        change = np.flatnonzero((np.diff(slot) != 0) | (np.diff(col) != 0)) + 1
        start = np.concatenate([[0], change]).astype(np.int64) if len(row) else np.zeros(0, dtype=np.int64)
        cached = (row, slot, col, value, start)
        layout.__dict__["_groups"] = cached
    return cached


def _pair_ranges(layout: Layout, allowed: Bools, most: Floats, least: Floats) -> None:
    """What pairs add: as many as can stand in one text, each from one word to a later one, none across another."""
    if not layout.pairs:
        return
    live = allowed[layout.pairs.earlier] & allowed[layout.pairs.later] & _may_meet(layout, allowed)
    for positive, target in ((True, most), (False, least)):
        mine = live & ((layout.pairs.sign > 0) == positive)
        if mine.any():
            target += _meetings(layout, mine) if positive else -_meetings(layout, mine)


def _may_meet(layout: Layout, allowed: Bools) -> Bools:
    """The pairs between whose words every word may vanish."""
    stays = ~np.logical_or.reduceat(allowed & layout.empty, layout.first)
    passed = np.cumsum(stays)
    earlier, later = layout.slot[layout.pairs.earlier], layout.slot[layout.pairs.later]
    return np.asarray(passed[later - 1] == passed[earlier])


def _meetings(layout: Layout, pairs: Bools) -> Floats:
    """By feature, how many of these pairs can stand in one text: always the one that ends first is taken."""
    order, start, feature, group = _by_end(layout)
    live, far = pairs[order], layout.size
    earlier, later = layout.slot[layout.pairs.earlier[order]], layout.slot[layout.pairs.later[order]]
    count, end = np.zeros(len(layout.columns)), np.zeros(len(start), dtype=np.int64)
    while True:
        following = np.minimum.reduceat(np.where(live & (earlier >= end[group]), later, far), start)
        found = following < far
        if not found.any():
            return count
        count[feature] += found
        end = following


def _by_end(layout: Layout) -> tuple[Ints, Ints, Ints, Ints]:
    """The pairs in the order of features, where each feature starts, which it is, and the place of each pair's."""
    cached = layout.__dict__.get("_by_end")
    if cached is None:
        order = np.argsort(layout.pairs.feature, kind="stable")
        feature = layout.pairs.feature[order]
        new = np.diff(feature, prepend=-1) != 0
        start = np.flatnonzero(new)
        cached = order, start, feature[start], np.cumsum(new) - 1
        layout.__dict__["_by_end"] = cached
    return cached


def _limit(case: Case, most: Floats, least: Floats) -> None:
    """So few changed words move a feature by little: each by what choices hold, and by the pairs on both sides."""
    layout, limit = case.layout, case.at_most
    assert limit is not None
    before = layout.counts(case.reference)
    largest = np.zeros(len(before))
    table = layout.inner.tocoo()
    np.maximum.at(largest, table.col, np.abs(table.data))
    each = 2.0 * largest if (table.data < 0).any() else largest
    if layout.pairs:  # two are lost and two are won, which add up where hashing takes some of them off
        each = each + (4.0 if (layout.pairs.sign < 0).any() else 2.0)
    np.minimum(most, before + limit * each, out=most)
    np.maximum(least, before - limit * each, out=least)


def turned(case: Case) -> Case:
    """The same texts, and whether every one of them has a margin below zero."""
    return replace(case, weight=-case.weight, bias=-case.bias)

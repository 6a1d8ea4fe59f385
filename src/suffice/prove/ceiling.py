"""Ceilings: what every set of words of some cost leaves possible, at once, where neighbours count.

A ceiling is a line above the form N + b sqrt(S): a price for each feature and a constant, so that no text has a larger
form. Where b < 0, sqrt(S) = |v| is at least u v / |u| for any u; where b > 0 it is at most S / 2t + t / 2 for any t.
What a feature adds is bounded by a line in its count. A floor is a ceiling of the form with its sign turned.

With prices alone the worst text that keeps some words is a shortest path, and the words that are held cut it into parts
that do not depend on each other: from each held word to the next. So a set of words is itself a path, its parts being
shortest paths, and the set that lifts the worst text most is found exactly for every cost. If not even that one lifts
it above zero by a ceiling, no set of that cost is enough; if it does by a floor, it is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.bag import Case, Ranges, cheapest_text, turned
from suffice.prove.layout import Layout

MOST_STEPS = 1_000_000_000  # additions for all parts
MOST_LAYERS = 1_000  # different costs
SLOWEST = 0.02  # of the way to the counts of the text that is worst by a line
FIXED = (0.0, 0.0, 0.0, 1.0, 1.0, 0.6, 0.6, 0.0)  # words stand that are worth so much of the last one held


@dataclass(frozen=True, eq=False)
class Line:
    """A bound on the form of every text: `constant` and a price for each count of a feature."""

    constant: float
    prices: Floats
    slope: float  # of S, where the root is bounded by a tangent
    along: Floats  # (features,) the direction u, where it is bounded by that
    rest: Floats  # (features,) what the constant has of each


@dataclass(frozen=True, eq=False)
class Wanted:
    """Which sets are looked for: what words cost, in whole units, those that must be held and those that may not be."""

    costs: Sequence[int]
    include: Bools
    exclude: Bools


# --- lines ---


def ceiling(case: Case, counts: Floats) -> Line:
    """A line above the form, close to it at texts that count about this."""
    layout = case.layout
    near = layout.values(counts)
    size = float(np.sqrt(near @ near)) or 1.0
    slope, constant, along = 0.0, 0.0, np.zeros(len(near))
    match layout.bag.norm:
        case None:
            constant = case.bias
        case "l2" if case.bias < 0:
            along = near / size
        case "l2":
            slope, constant = 0.5 * case.bias / size, 0.5 * case.bias * size
    grid, inside = _grid(case.everything)
    table = np.where(inside, _added(case, slope, along, grid.T).T, -np.inf)
    prices = _envelope(table, grid, inside, counts)
    rest = (table - prices[:, None] * grid).max(1)
    return Line(constant + float(rest.sum()), prices, slope, along, rest)


def _added(case: Case, slope: float, along: Floats, counts: Floats) -> Floats:
    """What each feature adds, with a tangent or a direction in the place of the root."""
    values = case.layout.values(counts)
    found = (case.weight + case.bias * along) * values + slope * values * values
    return np.asarray(found + case.bias * np.abs(values) if case.layout.bag.norm == "l1" else found)


def floor(case: Case, counts: Floats) -> Line:
    """A line below the form."""
    found = ceiling(turned(case), counts)
    return Line(-found.constant, -found.prices, -found.slope, found.along, -found.rest)


def _grid(found: Ranges) -> tuple[Floats, Bools]:
    steps = int((found.most - found.least).max(initial=0.0))
    grid = found.least[:, None] + np.arange(steps + 1)
    return grid, np.asarray(grid <= found.most[:, None])


def _envelope(table: Floats, grid: Floats, inside: Bools, counts: Floats) -> Floats:
    """Slopes of lines above each row that are lowest at `counts`: the chord, or steeper or flatter on one side."""
    rows, last = np.arange(len(table)), inside.sum(1) - 1
    best: Floats = (table[rows, last] - table[:, 0]) / np.maximum(last, 1)
    lowest = (table - best[:, None] * grid).max(1) + best * counts
    curved = np.flatnonzero(last > 1)
    table, grid, counts = table[curved], grid[curved], counts[curved]
    for step in range(int(last.max(initial=0))):
        ends = last[curved] > step
        slopes = np.where(ends, np.where(ends, table[:, step + 1], 0.0) - table[:, step], best[curved])
        height = (table - slopes[:, None] * grid).max(1) + slopes * counts
        better = ends & (height < lowest[curved])
        best[curved[better]], lowest[curved[better]] = slopes[better], height[better]
    return best


# --- sets of words ---


@dataclass(frozen=True, eq=False)
class Strongest:
    """By cost, the most that a set of words lifts the worst text to, and the words."""

    values: Floats
    back: Ints
    held: Bools  # (words,) those that a set may or must hold

    @cached_property
    def first(self) -> int:
        """The least cost at which the worst text is above zero; beyond the last one where it never is."""
        above = np.flatnonzero(self.values > 0)
        return int(above[0]) if len(above) else len(self.values)

    def words(self, cost: int, costs: Sequence[int]) -> list[int]:
        found, place = [], self.back.shape[1] - 1
        while place > 0:
            before = int(self.back[cost, place])
            if place <= len(self.held) and self.held[place - 1]:
                found.append(place - 1)
                cost -= costs[place - 1]
            place = before
        return found[::-1]


def strongest(case: Case, line: Line, wanted: Wanted, most: int) -> Strongest:
    """For every cost up to `most` the set of words by which the worst text is best, by a line."""
    layout, parts = case.layout, between(case, line.prices)
    several = np.add.reduceat(case.allowed.astype(np.int64), layout.first) > 1
    held = several & ~wanted.exclude
    least = np.full((most + 1, layout.size + 2), -np.inf)
    back = np.zeros((most + 1, layout.size + 2), dtype=np.int64)
    least[0, 0], start = 0.0, 0
    for word in [*np.flatnonzero((held | ~several) & ~layout.empty[layout.first]).tolist(), layout.size]:
        ways = least[:, start : word + 1] + parts[start : word + 1, word]
        before = ways.argmax(1)
        value, cost = ways[np.arange(most + 1), before], 0
        if word < layout.size and held[word]:
            cost = min(wanted.costs[word], most + 1)
        least[cost:, word + 1], back[cost:, word + 1] = value[: most + 1 - cost], start + before[: most + 1 - cost]
        if word < layout.size and (not several[word] or wanted.include[word]):
            start = word + 1
    return Strongest(least[:, -1] + line.constant, back, held)


def between(case: Case, prices: Floats) -> Floats:
    """(words + 1, words + 1) From a word that is held to a later one: the least price of all after it up to that one.

    Row 0 is from the start, the last column to the end; -inf is from where no set needs a part to there.
    """
    layout, allowed = case.layout, case.allowed
    cost = np.asarray(layout.inner @ prices).ravel()
    paid = prices[layout.pairs.feature] * layout.pairs.sign
    value = np.full((layout.size + 1, len(layout.slot) + 1), np.inf)
    found = np.full((layout.size + 1, layout.size + 1), -np.inf)
    value[0, 0] = 0.0
    source, low = 0, 0  # the first word that a part may begin with, and the first choice that the next may follow
    for word in range(layout.size):
        start, end = int(layout.ends[word]), int(layout.ends[word + 1])
        full = start + np.flatnonzero(allowed[start:end] & ~layout.empty[start:end])
        some = int(allowed[start:end].sum())
        if len(full):
            meet = _meeting(layout, paid, low, start, end)[:, full - start]
            ways = value[source : word + 1, low : start + 1, None] + meet
            value[source : word + 1, full + 1] = ways.min(1) + cost[full]
        if not layout.empty[start]:
            found[source : word + 1, word] = value[source : word + 1, start + 1]
            value[word + 1, start + 1] = 0.0
        if len(full) == some:
            low = start + 1
            source = word + 1 if some == 1 else source
    found[source:, -1] = value[source:, low:].min(1)
    return np.where(found == np.inf, -np.inf, found)


def _meeting(layout: Layout, paid: Floats, low: int, start: int, end: int) -> Floats:
    """What the choices of a word pay for standing after each earlier one from `low` on, 0 being the start."""
    first, last = layout.pairs.start[start], layout.pairs.start[end]
    meet = np.zeros((start + 1 - low, end - start))
    earlier = layout.pairs.earlier[first:last] + 1 - low
    near = earlier >= 0
    meet[earlier[near], layout.pairs.later[first:last][near] - start] = paid[first:last][near]
    return meet


# --- one case ---


@dataclass(frozen=True, eq=False)
class Ceiling:
    """No set that costs less than `lower` is enough: the worst text that leaves `kept` as they are fails."""

    lower: int
    kept: Bools
    line: Line
    words: list[int] | None  # of the best set of that cost; None where none below the limit seems to be enough


@dataclass(frozen=True, eq=False)
class Split:
    """The same for sets with a word, and for those without it."""

    word: int
    held: Tree
    out: Tree


Tree = Ceiling | Split


class Lift:
    """Ceilings and floors of one case, each closer to the texts that were worst by those before."""

    def __init__(self, case: Case, wanted: Wanted, counts: Floats | None = None) -> None:
        self.case, self.wanted, self.layout = case, wanted, case.layout
        self.counts = self.layout.counts(self.layout.first) if counts is None else counts
        self.turn, self.step, self.lower = 0, 0.0, 0
        self.chosen, self.held = self.layout.first, np.zeros(self.layout.size, dtype=bool)
        self.seen = np.zeros(self.layout.size)  # how often each word was in the best set
        self.gaps = np.zeros(len(self.counts))  # what the last line lost on each feature

    def halves(self) -> tuple[int, Lift, Lift] | None:
        """Sets with one word, and those without it: a word that best sets differ in, or whose count costs most."""
        free = (self.seen > 0) & ~self.wanted.include
        if not free.any():
            return None
        apart = np.minimum(self.seen, self.turn - self.seen)
        lost = np.asarray(abs(self.layout.inner[self.layout.first]) @ self.gaps).ravel()
        word = int(np.where(free, apart + lost / (1.0 + lost.max()), -1.0).argmax())
        mark = np.arange(self.layout.size) == word
        held = replace(self.wanted, include=self.wanted.include | mark)
        out = replace(self.wanted, exclude=self.wanted.exclude | mark)
        return word, Lift(self.case, held, self.counts), Lift(self.case, out, self.counts)

    def above(self, below: int) -> Ceiling:
        """What sets that cost less than `below` cost at least, and the one that seems to be enough."""
        kept = self._kept()
        case = fixed(self.case, kept)
        line = ceiling(case, self.counts)
        line = replace(line, constant=line.constant + case.tolerance)
        paid, most = self._paid(case, below)
        found = strongest(case, line, self.wanted, most)
        words = found.words(found.first, self.wanted.costs) if found.first <= most else None
        if words is not None:
            self._look(case, line, found, words)
        self.lower = max(self.lower, paid + found.first)
        return Ceiling(paid + found.first, kept, line, words)

    def below(self, below: int) -> list[int] | None:
        """The cheapest set that is enough by a floor and costs less than `below`; None where there is none."""
        case = fixed(self.case, np.zeros(self.layout.size, dtype=bool))
        line = floor(case, self.layout.counts(self.chosen))
        line = replace(line, constant=line.constant - case.tolerance)
        found = strongest(case, line, self.wanted, self._paid(case, below)[1])
        return found.words(found.first, self.wanted.costs) if found.first < len(found.values) else None

    def _paid(self, case: Case, below: int) -> tuple[int, int]:
        """What included words cost that stand anyway, and the most that the others may cost."""
        stand = np.add.reduceat(case.allowed.astype(np.int64), self.layout.first) == 1
        paid = sum(self.wanted.costs[i] for i in np.flatnonzero(stand & self.wanted.include).tolist())
        return paid, max(below - 1 - paid, 0)

    def _kept(self) -> Bools:
        """Words that the next texts leave as they are: the bounds lose less where less may move."""
        share, self.turn = FIXED[self.turn % len(FIXED)], self.turn + 1
        if not share:
            return np.zeros(self.layout.size, dtype=bool)
        return settled(self.case, self.chosen, self.held, share * self.step)

    def _look(self, case: Case, line: Line, found: Strongest, words: list[int]) -> None:
        """The worst text for the best set: the next lines are to be close to it."""
        self.held = np.isin(np.arange(self.layout.size), words)
        self.seen += self.held
        self.chosen = worst_text(case, line, self.held)
        counts = self.layout.counts(self.chosen)
        self.gaps = line.rest + line.prices * counts - _added(case, line.slope, line.along, counts)
        self.step = float(found.values[found.first] - found.values[: found.first].max(initial=-np.inf))
        self.counts = self.counts + max(1.0 / self.turn, SLOWEST) * (counts - self.counts)


def fits(case: Case, costs: Sequence[int]) -> bool:
    """Whether parts are quickly priced: pairs of neighbours count, not too many choices may meet, and costs are few."""
    layout = case.layout
    if not layout.pairs or case.at_most is not None or sum(costs) > MOST_LAYERS:
        return False
    sizes = np.diff(layout.ends)
    vanish = np.logical_or.reduceat(layout.empty, layout.first)
    meeting = layout.first if vanish.any() else np.concatenate([[0], sizes[:-1]])
    return float((np.arange(layout.size) * meeting * sizes).sum()) <= MOST_STEPS


def fixed(case: Case, kept: Bools) -> Case:
    """The same texts, but these words stand; so do those that are empty and could become something."""
    layout = case.layout
    stand = kept | layout.empty[layout.first]
    allowed = case.allowed & ~stand[layout.slot]
    allowed[layout.first] = True
    return replace(case, allowed=allowed)


def worst_text(case: Case, line: Line, held: Bools) -> Ints:
    """The cheapest text by a line that keeps these words."""
    allowed = case.allowed & ~held[case.layout.slot]
    allowed[case.layout.first] = True
    return cheapest_text(case.layout, np.zeros(len(allowed)), line.prices, allowed)[1]


def settled(case: Case, chosen: Ints, held: Bools, loss: float) -> Bools:
    """Words that stand in a text although they need not, and whose change would lift its form by more than `loss`."""
    layout, found = case.layout, np.zeros(case.layout.size, dtype=bool)
    form = case.form(layout.counts(chosen))[0]
    for word in np.flatnonzero((chosen == layout.first) & ~held).tolist():
        others = range(layout.ends[word] + 1, layout.ends[word + 1])
        forms = [case.form(layout.counts(_put(chosen, word, other)))[0] for other in others]
        found[word] = min(forms, default=-np.inf) > form + loss
    return found


def _put(chosen: Ints, word: int, choice: int) -> Ints:
    found = chosen.copy()
    found[word] = choice
    return found

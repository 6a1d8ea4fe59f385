"""Gains: at most how much the form of a changed text rises with each word that is put back, whatever else is put back.

If a text fails by d, an explanation must put back words whose gains sum to d or more; so one failing text says
something about every set of words. The form is N + b sqrt(S); the root is bounded by a line (from above by its tangent
where b > 0, from below by a chord where b < 0), so all is a sum of functions of counts. A count that rises by k lifts
its function by at most k times the steepest rise from here, one that falls likewise, and where both may be, one slope
serves with what it leaves uncovered added once. Where neighbours count, a word
put back pays for the pair it ends, for the pair that it begins with what stands after it, and for the pair it parts.

Or all words pay the same for each unit of their cost: what is left of the form then is least on a shortest path, and
the price is sought at which that says most about what putting words back must cost in all. Or the prices are sought at
which a given set of words, put back, falls most short: where the cheapest way puts back a word that the set lacks, that
word was too cheap, and where it lacks one of the set's, that one was too dear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from suffice.model.bag import term
from suffice.model.network import Bools, Floats, Ints
from suffice.prove.bag import Case, Stretch, cheapest_text
from suffice.prove.layout import Layout

PRICES = 12  # that are tried
TURNS = 10  # in which prices are mended
SQUARES = (0.6, 0.85, 1.15, 1.6)  # of S, where ranges end
NEARLY = 0.9  # of what could be said


@dataclass(frozen=True, eq=False)
class Gains:
    """The form of the text, from above, and a gain for each word; words that stand have none."""

    form: float
    each: Floats
    line: Stretch  # of the bound that they come from, for the form with its sign turned


def gains(case: Case, chosen: Ints) -> Gains | None:
    """The gains of putting words of a text back to `reference`; None where a word put back would vanish."""
    layout = case.layout
    back = chosen != case.reference
    if layout.pairs and (layout.empty[case.reference] & ~layout.empty[chosen] & back).any():
        return None
    allowed = np.zeros(len(layout.slot), dtype=bool)
    allowed[chosen] = allowed[case.reference] = True
    slopes = _slopes(replace(case, at_most=None), allowed, chosen)
    if slopes is None:
        return None
    form, steep, line = slopes
    inner = layout.inner
    change = inner[case.reference] - inner[chosen]
    each = np.asarray(change @ steep).ravel()
    each = np.where(back, each, 0.0)
    if layout.pairs:
        each += _meeting(layout, case.reference, chosen, back, steep)
    return Gains(form, each, line)


@dataclass(frozen=True, eq=False)
class Fee:
    """Words put back, each at its price, must be worth so much before the text stops to fail."""

    prices: Floats
    worth: float
    lines: tuple[Stretch, ...]
    back: Bools  # the words whose putting back is cheapest for what it is worth


class Fees:
    """A failing text, and prices for putting its words back; what these say is the least over all ways to do it."""

    def __init__(self, case: Case, chosen: Ints, tight: Ints | None = None) -> None:
        """`tight` is the text where bounds should lose least: the failing text itself, or one with words put back."""
        near = chosen if tight is None else tight
        self.case, self.layout = case, case.layout
        self.back = chosen != case.reference
        self.allowed = np.zeros(len(self.layout.slot), dtype=bool)
        self.allowed[chosen] = self.allowed[case.reference] = True
        self.parts = self._parts(replace(case, at_most=None), near, tight is not None)
        self.form = self.parts[0][0] if self.parts else 0.0
        self.counts = self.layout.counts(near)

    def _parts(self, case: Case, near: Ints, cut: bool) -> list[tuple[float, Floats, Stretch]]:
        """A bound, or one for each range of S where a chord over all of them would be far from the root."""
        whole = _slopes(case, self.allowed, near)
        if whole is None:
            return []
        low, high = whole[2].low, whole[2].high
        if not cut or case.layout.bag.norm != "l2" or case.bias >= 0:
            return [whole]
        square = float((case.layout.values(case.layout.counts(near)) ** 2).sum())
        edges = [low, *(share * square for share in SQUARES if low < share * square < high), high]
        found = (_slopes(case, self.allowed, near, ends) for ends in pairwise(edges))
        return [part for part in found if part is not None]

    def at(self, prices: Floats) -> Fee:
        """What follows from a price for each word: the least over all ways to put words back."""
        paid = np.zeros(len(self.layout.slot))
        paid[self.case.reference[self.back]] = prices[self.back]
        least, back = np.inf, self.back
        for form, steep, _ in self.parts:
            value, text = cheapest_text(self.layout, paid, -steep, self.allowed)
            worth = value - form + float(steep @ self.counts)
            if worth < least:
                least, back = worth, self.back & (text == self.case.reference)
        return Fee(np.where(self.back, prices, 0.0), least, tuple(line for _, _, line in self.parts), back)

    def best(self, costs: Floats, look: Callable[[], object]) -> Fee | None:
        """The same price for each unit of cost: where the worth, over the price, is largest."""
        if self.form >= 0:
            return None
        low, high, price = 0.0, np.inf, -self.form / max(1.0, 0.1 * float(costs[self.back].sum()))
        best, most = None, 0.0
        for _ in range(PRICES):
            look()
            found = self.at(price * costs)
            if found.worth > most * price:
                best, most = found, found.worth / price
            enough = found.worth <= float(found.prices[found.back].sum())  # they make up for it
            low, high = (price, high) if enough else (low, price)
            price = 2.0 * price if high == np.inf else 0.25 * price if low == 0.0 else float(np.sqrt(low * high))
        return best

    def against(self, held: Floats, prices: Floats, target: float, look: Callable[[], object]) -> Fee | None:
        """Prices by which these words (or shares of words) fall short, `target` at the best; None where none do."""
        held, prices = np.where(self.back, held, 0.0), np.where(self.back, np.maximum(prices, 0.0), 0.0)
        best, most, last, pace = None, 0.0, -np.inf, 1.0
        for _ in range(TURNS if self.parts else 0):
            look()
            found = self.at(prices)
            short = found.worth - float(prices @ held)
            if short > most:
                best, most = found, short
            way = np.where(self.back, found.back - held, 0.0)
            size = float(way @ way)
            if size < 1e-9 or short >= NEARLY * target:
                break
            pace, last = (pace if short > last else 0.5 * pace), short
            prices = np.maximum(prices + pace * (target - short) / size * way, 0.0)
        return best


def _slopes(
    case: Case, allowed: Bools, chosen: Ints, ends: tuple[float, float] | None = None
) -> tuple[float, Floats, Stretch] | None:
    """The form from above, per feature what it adds at most with each count, and the line of the bound.

    With `ends` for the texts whose S lies between them.
    """
    grid, inside = case.ranges(allowed).grid()
    counts = case.layout.counts(chosen)
    values, here = case.layout.scale[:, None] * term(case.layout.bag.tf, grid), case.layout.values(counts)
    added = _added(case, values, here, inside, ends)
    if added is None:
        return None
    rise = np.where(inside, added.table, -np.inf) - added.here[:, None]
    gap = grid - counts[:, None]
    steep = _steep(rise, gap, inside)
    above = np.where(inside, rise - steep[:, None] * gap, 0.0).max(1)  # where a count may rise and fall
    line = Stretch(added.low, added.high, -added.slope, -steep)
    return added.form + float(np.maximum(above, 0.0).sum()), steep, line


@dataclass(frozen=True, eq=False)
class _Added:
    """The form of a text, what its counts and all others add to it, and the line in S from `low` to `high`."""

    form: float
    here: Floats
    table: Floats
    slope: float = 0.0
    low: float = 0.0
    high: float = 0.0


def _added(case: Case, values: Floats, here: Floats, inside: Bools, ends: tuple[float, float] | None) -> _Added | None:
    """What values (features, counts), and those of the text, add; None where the text has no known feature."""
    table, own, total = case.weight[:, None] * values, case.weight * here, float(case.weight @ here)
    if case.layout.bag.norm is None:
        return _Added(total + case.bias, own, table)
    if case.layout.bag.norm == "l1":
        own = own + case.bias * np.abs(here)
        return _Added(float(own.sum()), own, table + case.bias * np.abs(values))
    square = float((here * here).sum())
    if square == 0.0:
        return None
    low, high = _span(values, inside) if ends is None else ends
    slope, root = _line(case.bias, square, low, high)
    return _Added(total + case.bias * root, own + slope * here * here, table + slope * values**2, slope, low, high)


def _span(values: Floats, inside: Bools) -> tuple[float, float]:
    """The least and most S that these values add up to."""
    least, most = np.where(inside, values**2, np.inf).min(1), np.where(inside, values**2, 0.0).max(1)
    return float(least.sum()), float(most.sum())


def _steep(rise: Floats, gap: Floats, inside: Bools) -> Floats:
    """Per feature the slope of a line that is above what a count adds, or between the two where it rises and falls."""
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(inside & (gap > 0), rise / gap, -np.inf).max(1)
        down = np.where(inside & (gap < 0), rise / gap, np.inf).min(1)
    rising, falling = np.isfinite(up), np.isfinite(down)
    middle = 0.5 * (np.where(rising, up, 0.0) + np.where(falling, down, 0.0))
    both = np.where(rising & falling, middle, 0.0)
    return np.where(rising & ~falling, up, np.where(falling & ~rising, down, both))


def _line(bias: float, square: float, low: float, high: float) -> tuple[float, float]:
    """The slope in S of a line above b sqrt(S) for S from low to high, and the root that it has at S itself."""
    if bias >= 0:
        return 0.5 * bias / np.sqrt(square), float(np.sqrt(square))
    chord = 1.0 / (np.sqrt(low) + np.sqrt(high))
    return bias * chord, float(np.sqrt(low) + (square - low) * chord)


def _meeting(layout: Layout, reference: Ints, chosen: Ints, back: Ints, steep: Floats) -> Floats:
    """What pairs add to the gain of each word that is put back."""
    feature, sign = layout.pairs.feature, layout.pairs.sign
    gained = (sign * steep[feature]).tolist()
    lost = (-sign * steep[feature]).tolist()
    stand = _Standing(layout, chosen, reference, back)
    found = np.zeros(layout.size)
    for word in np.flatnonzero(back & ~layout.empty[reference]).tolist():
        new, left, right = int(reference[word]), stand.left[word], stand.right[word]
        into = max([0.0, *_priced(layout, [(old, new) for old in stand.before(word)], gained)])
        if layout.empty[chosen[word]]:
            parted = sum(_priced(layout, [(left, right)], lost))
            onward = max(0.0, parted + sum(_priced(layout, [(new, right)], gained)))
        else:
            old = int(chosen[word])
            onward = sum(max(0.0, price) for price in _priced(layout, [(left, old), (old, right)], lost))
            onward += max([0.0, *_priced(layout, [(new, right)], gained)])
        found[word] = into + onward
    return found


def _priced(layout: Layout, meets: Sequence[tuple[int, int]], prices: list[float]) -> list[float]:
    return [prices[place] for meet in meets if (place := layout.paired.get(meet)) is not None]


class _Standing:
    """Who stands beside whom in a text, and who might once words are put back."""

    def __init__(self, layout: Layout, chosen: Ints, reference: Ints, back: Ints) -> None:
        self.layout, self.chosen, self.reference, self.back = layout, chosen, reference, back
        kept = np.flatnonzero(~layout.empty[chosen])
        before = np.searchsorted(kept, np.arange(layout.size)) - 1
        after = np.searchsorted(kept, np.arange(layout.size), side="right")
        self.left_word = [int(kept[k]) if k >= 0 else -1 for k in before]
        self.left = [int(chosen[k]) if k >= 0 else -1 for k in self.left_word]
        self.right = [int(chosen[kept[k]]) if k < len(kept) else -1 for k in after]

    def before(self, word: int) -> list[int]:
        """Every choice that may stand right before this word."""
        start = self.left_word[word]
        between = [int(self.reference[k]) for k in range(start + 1, word) if self.back[k]]
        beside = [self.left[word]] if start >= 0 else []
        if start >= 0 and self.back[start]:
            beside.append(int(self.reference[start]))
        return [choice for choice in (*beside, *between) if not self.layout.empty[choice]]

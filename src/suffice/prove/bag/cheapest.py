"""Cheapest: the text that costs least, given prices of features and choices, with as many changes as may be."""

from __future__ import annotations

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.bag.case import Case
from suffice.prove.chain import MOST_LAYERS, Chain
from suffice.prove.layout import Layout
from suffice.prove.path import cheapest_path, counted_path

SLOPES = 4  # times that the slopes of repeated features are mended
COUNTED = 8  # changes that are counted on a path


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


def moved_steps(case: Case, chain: Chain) -> Bools:
    """The steps that change a word."""
    moved = np.append(case.reference[case.layout.slot] != np.arange(len(case.layout.slot)), False)
    return np.asarray(moved[chain.choice])


class Toll:
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

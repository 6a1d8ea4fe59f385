"""The cheapest text for prices of features and costs of choices, with a limit on changes.

Words alone need no state: the largest savings are exact. Neighbours need a shortest path, on which
changes are counted up to a small limit; beyond it they pay a Lagrange multiplier.

Method: Viterbi, Lagrangian relaxation of the number of changes (theory, section 9).
"""

from __future__ import annotations

import numpy as np

from suffice import work
from suffice.model.network import Bools, Floats, Ints
from suffice.verify import tolerances
from suffice.verify.text.lattice import OptionLattice
from suffice.verify.text.norm_form.instance import TextInstance
from suffice.verify.text.trellis import Trellis
from suffice.verify.text.viterbi import shortest_path, shortest_path_within


def cheapest_text(
    lattice: OptionLattice, cost: Floats, prices: Floats, allowed: Bools
) -> tuple[float, Ints]:
    """The least sum of choices' costs and features' prices, and the choices."""
    if lattice.trellis is not None:
        edge_costs = lattice.trellis.priced(prices, np.where(allowed, cost, np.inf))
        return lattice.trellis.shortest_path(edge_costs, np.zeros(0, dtype=bool), None)
    cost = cost + lattice.option_counts @ prices
    if lattice.pairs:
        return shortest_path(lattice, cost, prices, allowed)
    return cheapest_choices(lattice, cost, allowed, lattice.first, None)


def cheapest_choices(
    lattice: OptionLattice,
    cost: Floats,
    allowed: Bools,
    reference: Ints,
    at_most: int | None,
    exactly: bool = False,
) -> tuple[float, Ints]:
    """The cheapest choice at every word, at most (or exactly) so many of them other than the
    reference.
    """
    work.count("trellis_passes")
    choice_costs = np.where(allowed, cost, np.inf)
    chosen, savings = best_changes(lattice, choice_costs, reference, exactly)
    if at_most is not None:
        by_savings = np.argsort(-savings, kind="stable")
        restored = by_savings[at_most:]
        chosen[restored] = reference[restored]
        if np.isneginf(savings[by_savings[:at_most]]).any():  # so many words cannot change
            return np.inf, chosen
    return float(choice_costs[chosen].sum()), chosen


def best_changes(
    lattice: OptionLattice, choice_costs: Floats, reference: Ints, exactly: bool
) -> tuple[Ints, Floats]:
    """The cheapest choice of each word (with `exactly`, of those that change it), and what it
    saves.

    That is infinite where the word has to change, and minus infinity where it cannot.
    """
    unchanged_cost = choice_costs[reference]
    if exactly:
        choice_costs = choice_costs.copy()
        choice_costs[reference] = np.inf
    least = np.minimum.reduceat(choice_costs, lattice.first)
    hits = np.flatnonzero(choice_costs == least[lattice.word_of])
    chosen = np.zeros(lattice.word_count, dtype=np.int64)
    chosen[lattice.word_of[hits][::-1]] = hits[::-1]  # the first of equals
    return chosen, np.where(np.isinf(unchanged_cost), np.inf, unchanged_cost - least)


def changing_edges(instance: TextInstance, trellis: Trellis) -> Bools:
    """(edges,) Whether an edge of the trellis changes a word."""
    changing = np.append(
        instance.reference[instance.lattice.word_of] != np.arange(len(instance.lattice.word_of)),
        False,
    )
    return np.asarray(changing[trellis.choice])


class ChangeMultiplier:
    """The least cost of a text within the limit on changes, exactly or by a Lagrange multiplier.

    With a multiplier t >= 0 the least of cost + t changes, less t times the limit, is a lower bound
    whatever t is; where exactly so many words change, t may be negative too. t is searched by
    bisection between `low` and `high`; `converged` says that another round cannot raise the bound.
    """

    def __init__(self, instance: TextInstance, last: float | None) -> None:
        self.instance = instance
        self.lattice = instance.lattice
        self.last = last
        settings = instance.settings
        self.dualised = (
            bool(instance.lattice.pairs)
            and instance.at_most is not None
            and instance.at_most > settings.counted_changes
        )
        # slopes and the multiplier are searched together: as many rounds for each
        self.rounds = (2 if self.dualised else 1) * settings.slope_rounds
        self.converged = not self.dualised
        self.low = -np.inf if instance.exactly else 0.0
        self.high = np.inf
        self.rank_shift = 0

    def cheapest(self, prices: Floats, allowed: Bools) -> tuple[float, Ints, list[Ints]]:
        """The bound, the text it stands for, and texts within the limit that are worth a look."""
        instance = self.instance
        lattice = self.lattice
        cost = lattice.option_counts @ prices
        if lattice.trellis is not None:
            return self._on_trellis(lattice.trellis, prices, allowed)
        if not lattice.pairs:
            value, chosen = cheapest_choices(
                lattice, cost, allowed, instance.reference, instance.at_most, instance.exactly
            )
            return value, chosen, [chosen]
        if self.dualised:
            return self._dualised_minimum(cost, prices, allowed)
        if instance.at_most is None:
            value, chosen = shortest_path(lattice, cost, prices, allowed)
        else:
            value, chosen = shortest_path_within(
                lattice,
                cost,
                prices,
                allowed,
                instance.reference,
                instance.at_most,
                instance.exactly,
            )
        return value, chosen, [chosen]

    def _on_trellis(
        self, trellis: Trellis, prices: Floats, allowed: Bools
    ) -> tuple[float, Ints, list[Ints]]:
        """Changes are counted on the way, where they may not be too many to count."""
        instance = self.instance
        limit = self.instance.at_most
        cost = trellis.priced(prices, np.where(allowed, 0.0, np.inf))
        # an explicit edge takes less than a pair of neighbours: three times as many are counted
        counted = limit is not None and limit <= 3 * instance.settings.counted_changes
        limit = limit if counted else None
        value, chosen = trellis.shortest_path(
            cost, changing_edges(instance, trellis), limit, instance.exactly
        )
        if value == np.inf:
            return value, instance.reference, []
        return value, chosen, [chosen] if instance.within_limit(chosen) else []

    def _dualised_minimum(
        self, cost: Floats, prices: Floats, allowed: Bools
    ) -> tuple[float, Ints, list[Ints]]:
        instance = self.instance
        lattice = self.lattice
        limit = self.instance.at_most
        assert limit is not None
        replacements, savings = best_changes(
            lattice, np.where(allowed, cost, np.inf), instance.reference, instance.exactly
        )
        forced = int(np.isposinf(savings).sum())
        unchangeable = int(np.isneginf(savings).sum())
        if forced > limit or (instance.exactly and limit > lattice.word_count - unchangeable):
            return np.inf, instance.reference, []
        multiplier = self._next_multiplier(savings[np.isfinite(savings)], limit - forced)
        is_change = instance.reference[lattice.word_of] != np.arange(len(cost))
        value, chosen = shortest_path(lattice, cost + multiplier * is_change, prices, allowed)
        changed = chosen != instance.reference
        self._update(multiplier, int(changed.sum()) - limit)
        if instance.within_limit(chosen):
            return value - multiplier * limit, chosen, [chosen]
        # changed ones first, and of these what saves most
        selected = np.lexsort((-savings, ~changed))[:limit]
        text = instance.reference.copy()
        text[selected] = np.where(changed, chosen, replacements)[selected]
        return value - multiplier * limit, chosen, [text]

    def _update(self, multiplier: float, excess: int) -> None:
        """Record that at this multiplier `excess` words more than may change do so."""
        self.last = multiplier
        self.rank_shift += excess
        self.converged = excess == 0 or (multiplier == self.low == 0.0 and excess < 0)
        if excess > 0:
            self.low = max(self.low, multiplier)
        else:
            self.high = min(self.high, multiplier)

    def _next_multiplier(self, savings: Floats, limit: int) -> float:
        """The multiplier that just `limit` words save more than, neighbours apart; then
        bisection.
        """
        if self.last is None or self.rank_shift:
            by_savings = np.sort(savings)[::-1]
            multiplier = (
                float(by_savings[min(max(limit - self.rank_shift, 0), len(by_savings) - 1)])
                if len(by_savings)
                else 0.0
            )
        else:
            multiplier = self.last
        if self.low < multiplier < self.high or multiplier == self.low == 0.0:
            return multiplier
        if self.high == np.inf:
            return self.low + abs(self.low) + tolerances.FIRST_STEP
        return (
            self.high - abs(self.high) - tolerances.FIRST_STEP
            if self.low == -np.inf
            else 0.5 * (self.low + self.high)
        )

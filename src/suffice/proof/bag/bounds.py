"""SegmentBound: a lower bound of the norm form over a set of texts, for any slopes of a
certificate.

Every choice is priced by the slopes that the certificate names, and the cheapest text is found by a
shortest path through the words.

*Form.* The margin N/|v| + b has the sign of N + b|v| (of N + b without a norm); N and S = |v|^2 are
sums over features. *Root.* Where b >= 0, b sqrt(S) is at least its chord on each of the ranges of
S, which together cover all of S; where b < 0 it is at least b (S / 2t + t / 2) for any t > 0.
*Features.* h(c) >= s c + min of (h - s c) over all counts; s is brought between the least and the
largest step of h, which only lifts the bound: a steep s would be all rounding. Where texts are
split by counts of a feature it may go beyond, so that texts of the other side pay for what they
count. *Limit.* With a multiplier for every change, the cheapest sum less the multiplier times the
limit is a bound. *Rounding.* Sums of up to a million doubles lose less than 1e-10 of the sum of
their sizes; nothing closer to zero is accepted.

Method: lines of the norm, Lagrangian bound (theory, sections 9 and 10).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from suffice.model.network import Floats
from suffice.proof.bag.norm_form import NormForm, lost, term_of, value_of
from suffice.proof.bag.subproblems import LatticeLike, Place, TextSubproblem, need, number
from suffice.proof.bag.tolerances import MOST_COUNTED_CHANGES, ROUND_UP, SLOPE_MARGIN

START_PLACE = (-1, 0)  # the state before the first word


class SegmentBound:
    """The texts of a subproblem: the range of each feature's count, and shortest paths through the
    words.
    """

    def __init__(self, check: LatticeLike, subproblem: TextSubproblem) -> None:
        self.check = check
        self.subproblem = subproblem
        self.bag = check.bag
        self.adjacent_pairs = self._adjacent_pairs() if check.pair_features else {}
        self.least, self.most = self._count_ranges()
        self._apply_count_limits()

    def _adjacent_pairs(self) -> dict[Place, list[tuple[Place, int, float]]]:
        """For each choice the earlier ones that it may follow with a feature between them."""
        words = self.check.words
        paired = self.check.pair_features
        followers: dict[str, list[tuple[str, int, float]]] = {}
        for (a, b), (column, sign) in paired.items():
            followers.setdefault(b, []).append((a, column, sign))
        usable: dict[str, list[Place]] = {}
        adjacent: dict[Place, list[tuple[Place, int, float]]] = {}
        for i, choices in enumerate(self.subproblem.allowed):
            self.check.check_time()
            lasting = [k for k in choices if words[i][k].tokens]
            for k in lasting:
                partners = followers.get(words[i][k].tokens[0], ())
                adjacent[i, k] = [
                    (p, column, sign) for a, column, sign in partners for p in usable.get(a, ())
                ]
            if len(lasting) == len(choices):
                usable = {}
            for k in lasting:
                usable.setdefault(words[i][k].tokens[-1], []).append((i, k))
        return adjacent

    def _count_ranges(self) -> tuple[dict[int, float], dict[int, float]]:
        least: dict[int, float] = {}
        most: dict[int, float] = {}
        words = self.check.words
        for i, choices in enumerate(self.subproblem.allowed):
            for column in {column for k in choices for column in words[i][k].counts}:
                counts = [words[i][k].counts.get(column, 0.0) for k in choices]
                least[column] = least.get(column, 0.0) + min(counts)
                most[column] = most.get(column, 0.0) + max(counts)
        for (column, positive), count in self._most_disjoint().items():
            most[column] = most.get(column, 0.0) + (count if positive else 0.0)
            least[column] = least.get(column, 0.0) - (0.0 if positive else count)
        if self.subproblem.at_most is not None:
            self._limit_changes(least, most)
        return least, most

    def _apply_count_limits(self) -> None:
        """Only texts that count as the region says are meant; `whole` keeps what others
        may count.
        """
        self.full_ranges = dict(self.least), dict(self.most)
        for column, (low, high) in self.subproblem.count_limits.items():
            self.least[column] = max(self.least.get(column, 0.0), low)
            self.most[column] = min(self.most.get(column, 0.0), high)

    @property
    def infeasible(self) -> bool:
        """Whether some feature would have to count more than it can."""
        return any(
            self.least.get(c, 0.0) > self.most.get(c, 0.0) for c in {*self.least, *self.most}
        )

    def _most_disjoint(self) -> dict[tuple[int, bool], float]:
        """How often pairs of each feature and sign can stand in one text: from left to right, the
        first to end.
        """
        count: dict[tuple[int, bool], float] = {}
        end: dict[tuple[int, bool], int] = {}
        for (i, _), before in self.adjacent_pairs.items():  # in the order of words
            for (j, _), column, sign in before:
                key = column, sign > 0
                if j >= end.get(key, 0):
                    count[key] = count.get(key, 0.0) + 1.0
                    end[key] = i
        return count

    def _limit_changes(self, least: dict[int, float], most: dict[int, float]) -> None:
        """One changed word moves a feature by what a choice holds of it, and by pairs: two are
        lost, two are won.

        Where all pairs of a feature count the same way, what is won makes up for what is lost.
        """
        words = self.check.words
        limit = self.subproblem.at_most
        assert limit is not None
        tokens = [t for i, k in enumerate(self.subproblem.reference) for t in words[i][k].tokens]
        reference_counts = self.bag.features(tokens)
        taken_off = {column for column, sign in self.check.pair_features.values() if sign < 0}
        for column in {*least, *most}:
            counts_in_choices = [abs(c.counts.get(column, 0.0)) for word in words for c in word]
            signed = any(c.counts.get(column, 0.0) < 0 for word in words for c in word)
            pairs = (4.0 if column in taken_off else 2.0) if self.check.pair_features else 0.0
            largest_change = max(counts_in_choices, default=0.0) * (2.0 if signed else 1.0) + pairs
            least[column] = max(
                least.get(column, 0.0), reference_counts.get(column, 0.0) - limit * largest_change
            )
            most[column] = min(
                most.get(column, 0.0), reference_counts.get(column, 0.0) + limit * largest_change
            )

    def _counts(self, column: int) -> Floats:
        low = self.least.get(column, 0.0)
        high = self.most.get(column, 0.0)
        return np.arange(low, high + 0.5)

    def norm_range(self) -> tuple[float, float]:
        """Least and most S."""
        low = 0.0
        high = 0.0
        largest_terms: dict[int, float] = {}
        for column in {*self.least, *self.most}:
            values = [value_of(self.bag, column, count) ** 2 for count in self._counts(column)]
            low = low + min(values)
            high = high + max(values)
            top = max(abs(self.least.get(column, 0.0)), abs(self.most.get(column, 0.0)))
            largest = top if self.bag.tf == "count" else term_of(self.bag, top) ** 2
            largest_terms[column] = float(self.bag.scale[column]) ** 2 * largest
        return low, min(high, self._largest_squared_norm(largest_terms))

    def _largest_squared_norm(self, largest_terms: Mapping[int, float]) -> float:
        total = 0.0
        words = self.check.words
        for i, choices in enumerate(self.subproblem.allowed):
            total += max(
                sum(abs(n) * largest_terms[c] for c, n in words[i][k].counts.items())
                for k in choices
            )
            total += max(
                (
                    largest_terms[c]
                    for k in choices
                    for _, c, _ in self.adjacent_pairs.get((i, k), ())
                ),
                default=0.0,
            )
        return total * ROUND_UP

    def bound(
        self, form: NormForm, segment: Mapping[str, Any], slope: float, constant: float
    ) -> float:
        """The least of the form over the region, from below."""
        prices, constant, size = self.priced(form, segment["slopes"], slope, constant)
        return constant + self._shortest_path(prices, segment["toll"]) - lost(self.terms, size)

    def priced(
        self,
        form: NormForm,
        slopes: Mapping[str, Any],
        slope: float,
        constant: float,
        direction: Mapping[int, float] | None = None,
    ) -> tuple[dict[int, float], float, float]:
        """A price for each count of a feature, what is left of the form at least, and how large all
        that is can be.
        """
        given_slopes = {int(column): number(value) for column, value in slopes.items()}
        root_weights = direction or {}
        prices: dict[int, float] = {}
        size = (
            abs(constant)
            + abs(form.bias) * (1.0 + self._longest())
            + sum(map(abs, self.subproblem.choice_costs.values()))
        )
        for column in {*self.least, *self.most}:
            self.check.check_time()
            counts = self._counts(column)
            term = form.feature_term(column, slope, root_weights.get(column, 0.0))
            terms = [term(count) for count in counts]
            width = counts[-1] - counts[0]
            chord = (terms[-1] - terms[0]) / width if width else 0.0
            steps = np.diff(terms) if width > 1 else [chord]
            margin = self._slope_margin(form, column)
            price = min(
                max(given_slopes.get(column, chord), min(steps) - margin), max(steps) + margin
            )
            prices[column] = price
            constant += min(h - price * c for h, c in zip(terms, counts, strict=True))
            size += form.part_size(
                column, slope, root_weights.get(column, 0.0), max(map(abs, counts))
            )
            size += abs(price) * max(map(abs, counts))
        return (
            prices,
            constant,
            size
            + 2.0
            * self._largest_squared_norm({column: abs(price) for column, price in prices.items()}),
        )

    def _slope_margin(self, form: NormForm, column: int) -> float:
        """How far beyond its steps a slope may go: texts that do not count as the region says are
        to pay for it.
        """
        if column not in self.subproblem.count_limits:
            return 0.0
        return (
            SLOPE_MARGIN
            * form.magnitude
            / max(
                1.0,
                abs(self.full_ranges[0].get(column, 0.0)),
                abs(self.full_ranges[1].get(column, 0.0)),
            )
        )

    @cached_property
    def terms(self) -> int:
        """How many numbers are added up for a bound: one a feature and word, pairs, and the counts
        of one choice.
        """
        columns = {*self.least, *self.most}
        words = self.check.words
        counted = max((len(choice.counts) for word in words for choice in word), default=0)
        return len(columns) + 2 * len(words) + max(counted, len(columns))

    def _longest(self) -> float:
        """How long v can be at most: what the root and the lines in its place are rounded of."""
        ends = (
            (c, max(abs(self.least.get(c, 0.0)), abs(self.most.get(c, 0.0))))
            for c in {*self.least, *self.most}
        )
        return math.sqrt(sum(value_of(self.bag, column, count) ** 2 for column, count in ends))

    def _shortest_path(self, prices: Mapping[int, float], multiplier: float | None) -> float:
        words = self.check.words
        extra = self.subproblem.choice_costs
        costs = {
            (i, k): sum(n * prices[c] for c, n in words[i][k].counts.items())
            + extra.get((i, k), 0.0)
            for i, choices in enumerate(self.subproblem.allowed)
            for k in choices
        }
        subproblem = self.subproblem
        if not self.adjacent_pairs:
            return self._words_apart(costs)
        if subproblem.at_most is None:
            return float(self._viterbi(costs, prices, 1).min())
        pairs = list(zip(subproblem.reference, subproblem.allowed, strict=True))
        if sum(unchanged not in choices for unchanged, choices in pairs) > subproblem.at_most:
            return math.inf  # no text here changes so few words
        if (
            subproblem.exactly
            and sum(choices != (unchanged,) for unchanged, choices in pairs) < subproblem.at_most
        ):
            return math.inf  # or so many
        if multiplier is None:
            need(
                subproblem.at_most <= MOST_COUNTED_CHANGES,
                f"more than {MOST_COUNTED_CHANGES} changes are not counted: there must be a toll",
            )
            values = self._viterbi(costs, prices, subproblem.at_most + 1)
            return float(values[-1] if subproblem.exactly else values.min())
        clamped = number(multiplier)
        most = sum(map(abs, [*costs.values(), *prices.values()]))
        need(
            clamped >= 0 or subproblem.exactly,
            "a toll must be at least 0, where fewer words may change",
        )
        clamped = min(max(clamped, -most), most)  # a larger one is never better, and all rounding
        costs_with_multiplier = {
            (i, k): cost + (clamped if k != subproblem.reference[i] else 0.0)
            for (i, k), cost in costs.items()
        }
        least = (
            float(self._viterbi(costs_with_multiplier, prices, 1).min())
            - clamped * subproblem.at_most
        )
        return least - lost(2 * len(words), abs(clamped) * (len(words) + subproblem.at_most))

    def _words_apart(self, costs: Mapping[Place, float]) -> float:
        total = 0.0
        gains = []
        forced = 0
        subproblem = self.subproblem
        for i, choices in enumerate(subproblem.allowed):
            unchanged_cost = (
                costs[i, subproblem.reference[i]] if subproblem.reference[i] in choices else None
            )
            others = [costs[i, k] for k in choices if k != subproblem.reference[i]]
            if unchanged_cost is None:
                total += min(others)
                forced += 1
                continue
            total += unchanged_cost
            gains += [unchanged_cost - min(others)] if others else []
        limit = len(gains) if subproblem.at_most is None else subproblem.at_most - forced
        if limit < 0 or (subproblem.exactly and limit > len(gains)):
            return math.inf
        return total - sum(
            gain for gain in sorted(gains, reverse=True)[:limit] if subproblem.exactly or gain > 0
        )

    def _viterbi(
        self, costs: Mapping[Place, float], prices: Mapping[int, float], layers: int
    ) -> Floats:
        """The cheapest ways through the words; a place is the last choice that is not empty.

        With several layers by how many words change, up to so many; with one that does not matter.
        """
        words = self.check.words
        places = {START_PLACE: 0}
        values = np.full((len(costs) + 1, layers), np.inf)
        values[0, 0] = 0.0
        start = 0
        for i, choices in enumerate(self.subproblem.allowed):
            self.check.check_time()
            end = len(places)
            for k in (k for k in choices if words[i][k].tokens):
                before = values[start:end].copy()
                for p, column, sign in self.adjacent_pairs.get((i, k), ()):
                    if places[p] >= start:
                        before[places[p] - start] += prices[column] * sign
                places[i, k] = len(places)
                values[places[i, k]] = self._count_change(
                    before.min(0, initial=np.inf) + costs[i, k], i, k
                )
            removals = [k for k in choices if not words[i][k].tokens]
            if not removals:
                start = end
            else:
                (k,) = removals  # choices differ in their tokens
                values[start:end] = self._count_change(values[start:end] + costs[i, k], i, k)
                start += next(
                    (n for n, choices in enumerate(values[start:end]) if (choices < np.inf).any()),
                    end - start,
                )
        return np.asarray(values[start : len(places)].min(0, initial=np.inf))

    def _count_change(self, values: Floats, word: int, choice: int) -> Floats:
        """Ways that come to a choice: one word more has changed by then, or not."""
        if values.shape[-1] == 1 or choice == self.subproblem.reference[word]:
            return values
        return np.concatenate([np.full((*values.shape[:-1], 1), np.inf), values[..., :-1]], axis=-1)


class TrellisBound(SegmentBound):
    """The same where features reach over words: paths through the trellis."""

    def __init__(self, check: LatticeLike, subproblem: TextSubproblem) -> None:
        assert check.trellis is not None
        self.check = check
        self.subproblem = subproblem
        self.bag = check.bag
        self.trellis = check.trellis
        least, most = self.trellis.count_ranges(subproblem.allowed)
        if subproblem.at_most is not None:
            low, high = self.trellis.ranges_within_changes(subproblem.reference, subproblem.at_most)
            least = np.maximum(least, low)
            most = np.minimum(most, high)
        columns = self.trellis.columns
        self.least = dict(zip(columns, least.tolist(), strict=True))
        self.most = dict(zip(columns, most.tolist(), strict=True))
        self._apply_count_limits()

    def _largest_squared_norm(self, largest_terms: Mapping[int, float]) -> float:
        return self.trellis.largest_sum(self.subproblem.allowed, self._by_column(largest_terms)) * (
            ROUND_UP
        )

    def _by_column(self, numbers: Mapping[int, float]) -> Floats:
        return np.array([numbers[column] for column in self.trellis.columns], dtype=np.float64)

    def _shortest_path(self, prices: Mapping[int, float], multiplier: float | None) -> float:
        subproblem = self.subproblem
        fewest_changes = (
            subproblem.at_most if subproblem.exactly and subproblem.at_most is not None else 0
        )
        return self.trellis.shortest_path(
            self._by_column(prices),
            subproblem.allowed,
            subproblem.choice_costs,
            subproblem.reference,
            subproblem.at_most,
            fewest_changes,
        )

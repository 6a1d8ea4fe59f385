"""Bounds of a bag of words over regions of texts: any lines of a certificate give a valid one.

Every choice is priced by the slopes that the certificate names, and the cheapest text is found by walking through the
words.

*Form.* The margin N/|v| + b has the sign of N + b|v| (of N + b without a norm); N and S = |v|^2 are sums over features.
*Root.* Where b >= 0, b sqrt(S) is at least its chord on each of the ranges of S, which together cover all of S;
where b < 0 it is at least b (S / 2t + t / 2) for any t > 0. *Features.* h(c) >= s c + min of (h - s c) over all counts;
s is brought between the least and the largest step of h, which only lifts the bound: a steep s would be all rounding.
Where texts are split by counts of a feature it may go beyond, so that texts of the other side pay for what they count.
*Limit.* With a toll for every change, the cheapest sum less the toll times the limit is a bound. *Rounding.* A sum of n
doubles, in whatever order, is off by at most n 2^-53 of the sum of their sizes and a little more. What is added up for
a bound is counted, and so is how large it can be, and twice that is taken off; sixteen terms more stand for what is
rounded within one. So texts may be as long as they like.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from suffice.model.network import Floats
from suffice.proof.bag.forms import Form, lost, term_of, value_of
from suffice.proof.bag.regions import Laid, Place, Region, need, number

MOST_COUNTED = 64  # changes in one text
REACH = 0.1  # of all that is added up: what a feature may cost that counts as it must not
START = (-1, 0)  # the place before the first word


class Walk:
    """A region, ready to be priced: what each feature may count, and the way through the words."""

    def __init__(self, check: Laid, region: Region) -> None:
        self.check, self.region, self.bag = check, region, check.bag
        self.meets = self._meets() if check.paired else {}
        self.least, self.most = self._ranges()
        self._count()

    def _meets(self) -> dict[Place, list[tuple[Place, int, float]]]:
        """For each choice the earlier ones that it may follow with a feature between them."""
        words, paired = self.check.words, self.check.paired
        followers: dict[str, list[tuple[str, int, float]]] = {}
        for (a, b), (column, sign) in paired.items():
            followers.setdefault(b, []).append((a, column, sign))
        live: dict[str, list[Place]] = {}
        found: dict[Place, list[tuple[Place, int, float]]] = {}
        for i, some in enumerate(self.region.allowed):
            self.check.look()
            full = [k for k in some if words[i][k].tokens]
            for k in full:
                partners = followers.get(words[i][k].tokens[0], ())
                found[i, k] = [(p, column, sign) for a, column, sign in partners for p in live.get(a, ())]
            if len(full) == len(some):
                live = {}
            for k in full:
                live.setdefault(words[i][k].tokens[-1], []).append((i, k))
        return found

    def _ranges(self) -> tuple[dict[int, float], dict[int, float]]:
        least: dict[int, float] = {}
        most: dict[int, float] = {}
        words = self.check.words
        for i, some in enumerate(self.region.allowed):
            for column in {column for k in some for column in words[i][k].counts}:
                counts = [words[i][k].counts.get(column, 0.0) for k in some]
                least[column] = least.get(column, 0.0) + min(counts)
                most[column] = most.get(column, 0.0) + max(counts)
        for (column, positive), count in self._meetings().items():
            most[column] = most.get(column, 0.0) + (count if positive else 0.0)
            least[column] = least.get(column, 0.0) - (0.0 if positive else count)
        if self.region.limit is not None:
            self._limited(least, most)
        return least, most

    def _count(self) -> None:
        """Only texts that count as the region says are meant; `whole` keeps what others may count."""
        self.whole = dict(self.least), dict(self.most)
        for column, (low, high) in self.region.counts.items():
            self.least[column] = max(self.least.get(column, 0.0), low)
            self.most[column] = min(self.most.get(column, 0.0), high)

    @property
    def impossible(self) -> bool:
        """Whether some feature would have to count more than it can."""
        return any(self.least.get(c, 0.0) > self.most.get(c, 0.0) for c in {*self.least, *self.most})

    def _meetings(self) -> dict[tuple[int, bool], float]:
        """How often pairs of each feature and sign can stand in one text: from left to right, the first to end."""
        count: dict[tuple[int, bool], float] = {}
        end: dict[tuple[int, bool], int] = {}
        for (i, _), before in self.meets.items():  # in the order of words
            for (j, _), column, sign in before:
                key = column, sign > 0
                if j >= end.get(key, 0):
                    count[key], end[key] = count.get(key, 0.0) + 1.0, i
        return count

    def _limited(self, least: dict[int, float], most: dict[int, float]) -> None:
        """One changed word moves a feature by what a choice holds of it, and by pairs: two are lost, two are won.

        Where all pairs of a feature count the same way, what is won makes up for what is lost.
        """
        words, limit = self.check.words, self.region.limit
        assert limit is not None
        tokens = [t for i, k in enumerate(self.region.reference) for t in words[i][k].tokens]
        now = self.bag.features(tokens)
        taken_off = {column for column, sign in self.check.paired.values() if sign < 0}
        for column in {*least, *most}:
            held = [abs(c.counts.get(column, 0.0)) for word in words for c in word]
            signed = any(c.counts.get(column, 0.0) < 0 for word in words for c in word)
            pairs = (4.0 if column in taken_off else 2.0) if self.check.paired else 0.0
            each = max(held, default=0.0) * (2.0 if signed else 1.0) + pairs
            least[column] = max(least.get(column, 0.0), now.get(column, 0.0) - limit * each)
            most[column] = min(most.get(column, 0.0), now.get(column, 0.0) + limit * each)

    def _counts(self, column: int) -> Floats:
        low, high = self.least.get(column, 0.0), self.most.get(column, 0.0)
        return np.arange(low, high + 0.5)

    def span(self) -> tuple[float, float]:
        """Least and most S."""
        low, high = 0.0, 0.0
        each: dict[int, float] = {}
        for column in {*self.least, *self.most}:
            values = [value_of(self.bag, column, count) ** 2 for count in self._counts(column)]
            low, high = low + min(values), high + max(values)
            top = max(abs(self.least.get(column, 0.0)), abs(self.most.get(column, 0.0)))
            largest = top if self.bag.tf == "count" else term_of(self.bag, top) ** 2
            each[column] = float(self.bag.scale[column]) ** 2 * largest
        return low, min(high, self._room(each))

    def _room(self, each: Mapping[int, float]) -> float:
        total, words = 0.0, self.check.words
        for i, some in enumerate(self.region.allowed):
            total += max(sum(abs(n) * each[c] for c, n in words[i][k].counts.items()) for k in some)
            total += max((each[c] for k in some for _, c, _ in self.meets.get((i, k), ())), default=0.0)
        return total * (1.0 + 1e-12)

    def bound(self, form: Form, line: Mapping[str, Any], slope: float, constant: float) -> float:
        """The least of the form over the region, from below."""
        prices, constant, size = self.prices(form, line["slopes"], slope, constant)
        return constant + self._cheapest(prices, line["toll"]) - lost(self.terms, size)

    def prices(
        self,
        form: Form,
        slopes: Mapping[str, Any],
        slope: float,
        constant: float,
        direction: Mapping[int, float] | None = None,
    ) -> tuple[dict[int, float], float, float]:
        """A price for each count of a feature, what is left of the form at least, and how large all that is can be."""
        given, turn = {int(column): number(value) for column, value in slopes.items()}, direction or {}
        prices: dict[int, float] = {}
        size = abs(constant) + abs(form.bias) * (1.0 + self._longest()) + sum(map(abs, self.region.extra.values()))
        for column in {*self.least, *self.most}:
            self.check.look()
            counts, added = self._counts(column), form.part(column, slope, turn.get(column, 0.0))
            heights = [added(count) for count in counts]
            width = counts[-1] - counts[0]
            chord = (heights[-1] - heights[0]) / width if width else 0.0
            steps = np.diff(heights) if width > 1 else [chord]
            reach = self._reach(form, column)
            price = min(max(given.get(column, chord), min(steps) - reach), max(steps) + reach)
            prices[column] = price
            constant += min(h - price * c for h, c in zip(heights, counts, strict=True))
            size += form.part_size(column, slope, turn.get(column, 0.0), max(map(abs, counts)))
            size += abs(price) * max(map(abs, counts))
        return prices, constant, size + 2.0 * self._room({column: abs(price) for column, price in prices.items()})

    def _reach(self, form: Form, column: int) -> float:
        """How far beyond its steps a slope may go: texts that do not count as the region says are to pay for it."""
        if column not in self.region.counts:
            return 0.0
        return REACH * form.size / max(1.0, abs(self.whole[0].get(column, 0.0)), abs(self.whole[1].get(column, 0.0)))

    @cached_property
    def terms(self) -> int:
        """How many numbers are added up for a bound: one a feature and word, pairs, and the counts of one choice."""
        columns, words = {*self.least, *self.most}, self.check.words
        counted = max((len(choice.counts) for word in words for choice in word), default=0)
        return len(columns) + 2 * len(words) + max(counted, len(columns))

    def _longest(self) -> float:
        """How long v can be at most: what the root and the lines in its place are rounded of."""
        ends = ((c, max(abs(self.least.get(c, 0.0)), abs(self.most.get(c, 0.0)))) for c in {*self.least, *self.most})
        return math.sqrt(sum(value_of(self.bag, column, count) ** 2 for column, count in ends))

    def _cheapest(self, prices: Mapping[int, float], toll: float | None) -> float:
        words, extra = self.check.words, self.region.extra
        costs = {
            (i, k): sum(n * prices[c] for c, n in words[i][k].counts.items()) + extra.get((i, k), 0.0)
            for i, some in enumerate(self.region.allowed)
            for k in some
        }
        here = self.region
        if not self.meets:
            return self._one_by_one(costs)
        if here.limit is None:
            return float(self._along(costs, prices, 1).min())
        both = list(zip(here.reference, here.allowed, strict=True))
        if sum(unchanged not in some for unchanged, some in both) > here.limit:
            return math.inf  # no text here changes so few words
        if here.exactly and sum(some != (unchanged,) for unchanged, some in both) < here.limit:
            return math.inf  # or so many
        if toll is None:
            need(here.limit <= MOST_COUNTED, f"more than {MOST_COUNTED} changes are not counted: there must be a toll")
            found = self._along(costs, prices, here.limit + 1)
            return float(found[-1] if here.exactly else found.min())
        each, most = number(toll), sum(map(abs, [*costs.values(), *prices.values()]))
        need(each >= 0 or here.exactly, "a toll must be at least 0, where fewer words may change")
        each = min(max(each, -most), most)  # a larger one is never better, and all rounding
        paid = {(i, k): cost + (each if k != here.reference[i] else 0.0) for (i, k), cost in costs.items()}
        least = float(self._along(paid, prices, 1).min()) - each * here.limit
        return least - lost(2 * len(words), abs(each) * (len(words) + here.limit))

    def _one_by_one(self, costs: Mapping[Place, float]) -> float:
        total, gains, forced, here = 0.0, [], 0, self.region
        for i, some in enumerate(here.allowed):
            stay = costs[i, here.reference[i]] if here.reference[i] in some else None
            others = [costs[i, k] for k in some if k != here.reference[i]]
            if stay is None:
                total += min(others)
                forced += 1
                continue
            total += stay
            gains += [stay - min(others)] if others else []
        limit = len(gains) if here.limit is None else here.limit - forced
        if limit < 0 or (here.exactly and limit > len(gains)):
            return math.inf
        return total - sum(gain for gain in sorted(gains, reverse=True)[:limit] if here.exactly or gain > 0)

    def _along(self, costs: Mapping[Place, float], prices: Mapping[int, float], layers: int) -> Floats:
        """The cheapest ways through the words; a place is the last choice that is not empty.

        With several layers by how many words change, up to so many; with one that does not matter.
        """
        words, places = self.check.words, {START: 0}
        values = np.full((len(costs) + 1, layers), np.inf)
        values[0, 0], start = 0.0, 0
        for i, some in enumerate(self.region.allowed):
            self.check.look()
            end = len(places)
            for k in (k for k in some if words[i][k].tokens):
                before = values[start:end].copy()
                for p, column, sign in self.meets.get((i, k), ()):
                    if places[p] >= start:
                        before[places[p] - start] += prices[column] * sign
                places[i, k] = len(places)
                values[places[i, k]] = self._on(before.min(0, initial=np.inf) + costs[i, k], i, k)
            empty = [k for k in some if not words[i][k].tokens]
            if not empty:
                start = end
            else:
                (k,) = empty  # choices differ in their tokens
                values[start:end] = self._on(values[start:end] + costs[i, k], i, k)
                start += next((n for n, some in enumerate(values[start:end]) if (some < np.inf).any()), end - start)
        return np.asarray(values[start : len(places)].min(0, initial=np.inf))

    def _on(self, values: Floats, word: int, choice: int) -> Floats:
        """Ways that come to a choice: one word more has changed by then, or not."""
        if values.shape[-1] == 1 or choice == self.region.reference[word]:
            return values
        return np.concatenate([np.full((*values.shape[:-1], 1), np.inf), values[..., :-1]], axis=-1)


class Stroll(Walk):
    """A region where features reach over words."""

    def __init__(self, check: Laid, region: Region) -> None:
        assert check.ways is not None
        self.check, self.region, self.bag, self.ways = check, region, check.bag, check.ways
        least, most = self.ways.ranges(region.allowed)
        if region.limit is not None:
            low, high = self.ways.limited(region.reference, region.limit)
            least, most = np.maximum(least, low), np.minimum(most, high)
        columns = self.ways.columns
        self.least = dict(zip(columns, least.tolist(), strict=True))
        self.most = dict(zip(columns, most.tolist(), strict=True))
        self._count()

    def _room(self, each: Mapping[int, float]) -> float:
        return self.ways.largest(self.region.allowed, self._by_column(each)) * (1.0 + 1e-12)

    def _by_column(self, numbers: Mapping[int, float]) -> Floats:
        return np.array([numbers[column] for column in self.ways.columns], dtype=np.float64)

    def _cheapest(self, prices: Mapping[int, float], toll: float | None) -> float:
        here = self.region
        least = here.limit if here.exactly and here.limit is not None else 0
        return self.ways.cheapest(self._by_column(prices), here.allowed, here.extra, here.reference, here.limit, least)

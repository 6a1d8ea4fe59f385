"""The texts that a proof speaks about, and the least value of a linear form over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from .rationals import ONE, ZERO, Row, Vector, inner
from .reading import Places, fields, need, whole
from .words import Word, one_of


@dataclass(frozen=True, eq=False)
class Inputs:
    """The texts that a proof speaks about.

    A word is as in `words`; an open one only if its cost is paid from the budget, and it is one of no more than the
    count: else it has its own vector. Where words are real ones, `choices` says how many each has; else it is 0.
    """

    own: Sequence[Vector]
    words: Sequence[Word]
    choices: int
    opened: Places
    costs: Sequence[int]
    budget: int
    count: int

    def pick(self, line: Any) -> tuple[Inputs, Inputs]:
        """The two sides of a pick: what one leaves out the other has."""
        place = whole(line["pick"], 0, len(self.words))
        return self.choose(place, fields(line, "pick chosen")[1]) if len(line) > 1 else self.pay(place)

    def choose(self, place: int, chosen: Any) -> tuple[Inputs, Inputs]:
        """A word is one of the chosen, or one of its others. If all open words can be paid for together, none is."""
        free, word, listed = self, self.words[place], {whole(choice, 0, self.choices) for choice in chosen}
        if place in self.opened:
            enough = sum(self.costs[i] for i in self.opened) <= self.budget and len(self.opened) <= self.count
            need(enough, "this word is not paid for")
            free = replace(self, opened=frozenset())
        sides = [{n: v for n, v in word.points.items() if (n in listed) == side} for side in (True, False)]
        need(all(sides), "a pick must leave choices on both sides")
        return free.put(place, replace(word, points=sides[0])), free.put(place, replace(word, points=sides[1]))

    def pay(self, place: int) -> tuple[Inputs, Inputs]:
        """An open word is paid for and counted; or it stays."""
        need(self.payable(place), "only an open word that can be paid for can be picked")
        rest = replace(self, opened=self.opened - {place})
        paid = replace(rest, budget=self.budget - self.costs[place], count=self.count - 1)
        return paid, rest.put(place, one_of(self.own[place]))

    def put(self, place: int, word: Word) -> Inputs:
        return replace(self, words=[word if i == place else other for i, other in enumerate(self.words)])

    def payable(self, place: int) -> bool:
        return place in self.opened and self.costs[place] <= self.budget and self.count > 0

    def single(self) -> list[Vector] | None:
        """The input that is left, where words are real ones and just one is."""
        found: list[Vector] = []
        for place, word in enumerate(self.words):
            vectors = {self.own[place]} if place in self.opened else {*word.points.values()}
            vectors |= {*word.points.values()} if self.payable(place) else set()
            if len(vectors) > 1 or not self.choices:
                return None
            found += vectors
        return found

    def least(self, row: Row) -> Fraction:
        """A lower bound of a form: gains of open words as far as they are paid for, those of free words in any case."""
        parts: dict[int, dict[int, Fraction]] = {}
        for column, factor in row.items():
            place, at = divmod(column, len(self.own[0]))
            parts.setdefault(place + len(self.own), {})[at] = factor
        total, gains = ZERO, dict[int, Fraction]()
        for place, part in parts.items():
            least = self.words[place].least(part)
            own = inner(part, self.own[place]) if place in self.opened else least
            total += own
            if self.payable(place) and least < own:
                gains[place] = least - own
        ones = [1] * len(self.words)
        return total + max(knapsack(gains, self.costs, self.budget), knapsack(gains, ones, self.count))


def knapsack(gains: Row, costs: Sequence[int], budget: int) -> Fraction:
    """Words in order of gain per cost, the last one in part: no choice of whole words has less.

    What the budget has beyond a multiple of what all costs have in common buys nothing.
    """
    total, budget = ZERO, budget - budget % math.gcd(*costs)
    for place in sorted(gains, key=lambda i: gains[i] / costs[i]):
        total += gains[place] * min(ONE, Fraction(budget, costs[place]))
        budget -= min(budget, costs[place])
    return total

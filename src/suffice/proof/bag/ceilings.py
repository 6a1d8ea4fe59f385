"""Checks that no cheaper set of words is enough for a bag of words, by lines above its margin.

Written apart from the prover. A rival's lead over the label is at least a constant plus a price for each count (`bag`:
the root by a tangent, or |v| >= u v / |u| for any u). For each set of words that costs too little some text that keeps
them must have a lead above zero. By prices alone the largest lead is a longest path; held words cut it into parts, each
from one held word to the next, so the set that leaves the least is a path over such parts, and it is found exactly.
Several bounds are mixed: where their weighted sum is above zero, one of them is, and its text speaks against the set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.model.network import Floats
from suffice.proof.bag.bounds import START, Walk
from suffice.proof.bag.check import BagCheck
from suffice.proof.bag.forms import Form, lost
from suffice.proof.bag.regions import Region, fields, need, number

MOST_COSTS = 20_000  # different costs of sets
MOST_CELLS = 2**26  # of a table of words by costs, or by choices


@dataclass(frozen=True)
class Sets:
    """All sets of words that hold these, none of those, and cost less than `below`."""

    costs: Sequence[int]
    include: frozenset[int]
    exclude: frozenset[int]
    below: int


def none_enough(check: BagCheck, line: Mapping[str, Any], labels: Sequence[str], sets: Sets) -> None:
    """Every one of these sets leaves a text that the rival wins."""
    fields(line, "rival tree")
    need(line["rival"] in labels and labels.index(line["rival"]) != check.label, "the rival is no other label")
    need(check.limit is None and check.ways is None, "ceilings are about any number of changes, of words and pairs")
    need(0 <= sets.below <= MOST_COSTS, f"ceilings are about costs up to {MOST_COSTS}")
    rows = max(sets.below, 1 + sum(map(len, check.words)))
    need(rows * (len(check.words) + 1) <= MOST_CELLS, "the text is too long for ceilings")
    form, waiting = check.form(labels.index(line["rival"]), -1.0), [sets]
    for node in line["tree"]:
        need(waiting, "there are more nodes than splits")
        here = waiting.pop()
        if "word" in node:
            fields(node, "word")
            waiting += _halves(here, node["word"])
        else:
            fields(node, "lines")
            _leaf(check, form, here, node["lines"])
    need(not waiting, "a part of the sets has no ceiling")


def _halves(sets: Sets, word: Any) -> list[Sets]:
    """The sets without a word, and those with it, which come first."""
    need(type(word) is int and 0 <= word < len(sets.costs), "a split must be of a word")
    mark = frozenset([word])
    return [replace(sets, exclude=sets.exclude | mark), replace(sets, include=sets.include | mark)]


def _leaf(check: BagCheck, form: Form, sets: Sets, lines: Sequence[Mapping[str, Any]]) -> None:
    """The weighted sum of some bounds is above zero for every set."""
    free = _free(check)
    constant, close, mixed = 0.0, 0.0, np.zeros((len(free) + 1, len(free) + 1))
    for line in lines:
        check.look()
        weight = number(line["weight"])
        need(0 < weight <= 1, "a weight must be above 0 and at most 1")
        rest, off, parts = _bound(check, form, line, len(lines), free, sets.exclude)
        constant, close, mixed = constant + weight * rest, close + weight * off, mixed + weight * parts
    lead = constant + _least(check, mixed, free, sets)
    need(lead > close, f"a cheaper set may be enough (the bound is {lead:.3g}, not above zero)")


def _free(check: BagCheck) -> list[bool]:
    """The words that may change; one that is empty as it stands is left alone, unless no set holds it."""
    return [len(word) > 1 and bool(word[0].tokens) for word in check.words]


def _bound(
    check: BagCheck, form: Form, line: Mapping[str, Any], lines: int, free: Sequence[bool], out: frozenset[int]
) -> tuple[float, float, Floats]:
    """The lead by one line: a constant, what may be lost in rounding, and the largest sums between held words."""
    fields(line, "weight kept slope along slopes")
    kept = line["kept"]
    right = type(kept) is list and all(type(i) is int and 0 <= i < len(free) for i in kept)
    need(right and kept == sorted(set(kept)), "kept must be a list of positions, sorted, each once")
    moves = [(may or i in out) and i not in set(kept) for i, may in enumerate(free)]
    allowed = tuple(tuple(range(len(word))) if may else (0,) for may, word in zip(moves, check.words, strict=True))
    walk = Walk(check, Region(allowed, (0,) * len(allowed), None))
    along = {int(column): number(value) for column, value in line["along"].items()}
    slope, constant = form.tangent(line["slope"]) if form.bias < 0 or form.bag.norm != "l2" else (0.0, 0.0)
    prices, constant, size = walk.prices(form, line["slopes"], slope, constant, form.direction(along))
    close = form.close + lost(walk.terms + len(along) + lines, size)
    return constant, close, _Parts(walk, prices, free).parts


class _Parts:
    """The largest sums of prices between held words."""

    def __init__(self, walk: Walk, prices: Mapping[int, float], free: Sequence[bool]) -> None:
        self.walk, self.prices, self.free, self.words = walk, prices, free, walk.check.words
        self.size = len(self.words)
        self.parts = np.full((self.size + 1, self.size + 1), np.inf)  # from the start or a word, to a word or the end
        self._fill()

    def _fill(self) -> None:
        """Word by word: where one may stand last, from each word that may have been held last."""
        count = 1 + sum(map(len, self.walk.region.allowed))
        table, place = np.full((count, self.size + 1), -np.inf), {START: 0}
        table[0, 0], low, source = 0.0, 0, 0
        for i, some in enumerate(self.walk.region.allowed):
            self.walk.check.look()
            end, full = len(place), [k for k in some if self.words[i][k].tokens]
            arrived = [self._arrive(table[low:end, source : i + 1], (i, k), place, low) for k in full]
            for k, sums in zip(full, arrived, strict=True):
                place[i, k] = len(place)
                table[place[i, k], source : i + 1] = sums
                if k == 0:
                    self.parts[source : i + 1, i] = sums
                    table[place[i, k], i + 1] = 0.0
                    source = source if self.free[i] else i + 1
            if len(full) == len(some):
                low = end
        self.parts[source:, -1] = table[low : len(place), source:].max(0)
        self.parts[self.parts == -np.inf] = np.inf  # no set has such a part: nothing can be held there

    def _arrive(self, before: Floats, here: tuple[int, int], place: Mapping[Any, int], low: int) -> Floats:
        met = np.zeros(len(before))
        for earlier, column, sign in self.walk.meets.get(here, ()):
            if place[earlier] >= low:
                met[place[earlier] - low] = self.prices[column] * sign
        own = sum(n * self.prices[c] for c, n in self.words[here[0]][here[1]].counts.items())
        return np.asarray((before + met[:, None]).max(0) + own)


def _least(check: BagCheck, parts: Floats, free: Sequence[bool], sets: Sets) -> float:
    """What the sets leave at least: the worst of all costs below the limit."""
    paid = sum(sets.costs[i] for i in sets.include if not free[i])
    if paid >= sets.below or sets.include & sets.exclude:
        return math.inf  # there is no such set
    best = np.full((sets.below - paid, len(free) + 1), np.inf)
    best[0, 0], source = 0.0, 0
    for i, may in enumerate(free):
        check.look()
        if (may and i in sets.exclude) or not check.words[i][0].tokens:
            continue
        value = (best[:, source : i + 1] + parts[source : i + 1, i]).min(1)
        cost = sets.costs[i] if may else 0
        best[cost:, i + 1] = value[: max(len(value) - cost, 0)]
        if not may or i in sets.include:
            source = i + 1
    return float((best[:, source:] + parts[source:, -1]).min())


__all__ = ["Sets", "none_enough"]

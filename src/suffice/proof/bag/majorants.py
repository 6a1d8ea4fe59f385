"""Checks that no cheaper set of words suffices for a bag of words, by linear majorants of its
margin.

Written apart from the prover. A rival's lead over the label is at least a constant plus a price for
each count (the root by a tangent, or |v| >= u v / |u| for any u). For each set of words that costs
too little some text that keeps them must have a lead above zero. By prices alone the largest lead
is a longest path; held words cut it into intervals, each from one held word to the next, so the set
that leaves the least is a path over intervals, and it is found exactly. Several bounds are mixed:
where their weighted sum is above zero, one of them is, and its text refutes the set.

Method: majorants and their mixes (theory, section 8, Lemma 11).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.model.network import Floats
from suffice.proof.bag.bounds import START_PLACE, SegmentBound
from suffice.proof.bag.check import BagCheck
from suffice.proof.bag.norm_form import NormForm, lost
from suffice.proof.bag.subproblems import TextSubproblem, fields, need, number
from suffice.proof.bag.tolerances import MOST_CELLS, MOST_COSTS


@dataclass(frozen=True)
class SetConstraints:
    """All sets of words that hold these, none of those, and cost less than `below`."""

    costs: Sequence[int]
    include: frozenset[int]
    exclude: frozenset[int]
    below: int


def require_none_sufficient(
    check: BagCheck, line: Mapping[str, Any], labels: Sequence[str], sets: SetConstraints
) -> None:
    """Every one of these sets leaves a text that the rival wins."""
    fields(line, "rival tree")
    need(
        line["rival"] in labels and labels.index(line["rival"]) != check.label,
        "the rival is no other label",
    )
    need(
        check.at_most is None and check.trellis is None,
        "ceilings are about any number of changes, of words and pairs",
    )
    need(0 <= sets.below <= MOST_COSTS, f"ceilings are about costs up to {MOST_COSTS}")
    rows = max(sets.below, 1 + sum(map(len, check.words)))
    need(rows * (len(check.words) + 1) <= MOST_CELLS, "the text is too long for ceilings")
    norm_form = check.norm_form(labels.index(line["rival"]), -1.0)
    queue = [sets]
    for node in line["tree"]:
        need(queue, "there are more nodes than splits")
        sets_left = queue.pop()
        if "word" in node:
            fields(node, "word")
            queue += _split_sets(sets_left, node["word"])
        else:
            fields(node, "lines")
            _check_mix(check, norm_form, sets_left, node["lines"])
    need(not queue, "a part of the sets has no ceiling")


def _split_sets(sets: SetConstraints, word: Any) -> list[SetConstraints]:
    """The sets without a word, and those with it, which come first."""
    need(type(word) is int and 0 <= word < len(sets.costs), "a split must be of a word")
    is_word = frozenset([word])
    return [
        replace(sets, exclude=sets.exclude | is_word),
        replace(sets, include=sets.include | is_word),
    ]


def _check_mix(
    check: BagCheck, norm_form: NormForm, sets: SetConstraints, lines: Sequence[Mapping[str, Any]]
) -> None:
    """The weighted sum of some bounds is above zero for every set."""
    changeable = _changeable(check)
    constant = 0.0
    tolerance = 0.0
    intervals = np.zeros((len(changeable) + 1, len(changeable) + 1))
    for line in lines:
        check.check_time()
        weight = number(line["weight"])
        need(0 < weight <= 1, "a weight must be above 0 and at most 1")
        majorant_constant, off, majorant_intervals = _majorant(
            check, norm_form, line, len(lines), changeable, sets.exclude
        )
        constant = constant + weight * majorant_constant
        tolerance = tolerance + weight * off
        intervals = intervals + weight * majorant_intervals
    bound = constant + _least_over_sets(check, intervals, changeable, sets)
    need(
        bound > tolerance, f"a cheaper set may be enough (the bound is {bound:.3g}, not above zero)"
    )


def _changeable(check: BagCheck) -> list[bool]:
    """The words that may change; one that is empty as it stands is left alone, unless no set holds
    it.
    """
    return [len(word) > 1 and bool(word[0].tokens) for word in check.words]


def _majorant(
    check: BagCheck,
    norm_form: NormForm,
    line: Mapping[str, Any],
    lines: int,
    changeable: Sequence[bool],
    out: frozenset[int],
) -> tuple[float, float, Floats]:
    """The lead by one line: a constant, what may be lost in rounding, and the largest sums between
    held words.
    """
    fields(line, "weight kept slope along slopes")
    kept = line["kept"]
    right = type(kept) is list and all(type(i) is int and 0 <= i < len(changeable) for i in kept)
    need(right and kept == sorted(set(kept)), "kept must be a list of positions, sorted, each once")
    moves = [(may or i in out) and i not in set(kept) for i, may in enumerate(changeable)]
    allowed = tuple(
        tuple(range(len(word))) if may else (0,)
        for may, word in zip(moves, check.words, strict=True)
    )
    texts = SegmentBound(check, TextSubproblem(allowed, (0,) * len(allowed), None))
    direction = {int(column): number(value) for column, value in line["along"].items()}
    slope, constant = (
        norm_form.tangent(line["slope"])
        if norm_form.bias < 0 or norm_form.bag.norm != "l2"
        else (0.0, 0.0)
    )
    prices, constant, size = texts.priced(
        norm_form, line["slopes"], slope, constant, norm_form.direction(direction)
    )
    tolerance = norm_form.tolerance + lost(texts.terms + len(direction) + lines, size)
    return constant, tolerance, _IntervalCosts(texts, prices, changeable).intervals


class _IntervalCosts:
    """The largest sums of prices between held words."""

    def __init__(
        self, texts: SegmentBound, prices: Mapping[int, float], changeable: Sequence[bool]
    ) -> None:
        self.texts = texts
        self.prices = prices
        self.changeable = changeable
        self.words = texts.check.words
        self.word_count = len(self.words)
        # from the start or a word, to a word or the end
        self.intervals = np.full((self.word_count + 1, self.word_count + 1), np.inf)
        self._fill()

    def _fill(self) -> None:
        """Word by word: where one may stand last, from each word that may have been held last."""
        count = 1 + sum(map(len, self.texts.subproblem.allowed))
        table = np.full((count, self.word_count + 1), -np.inf)
        place = {START_PLACE: 0}
        table[0, 0] = 0.0
        low = 0
        source = 0
        for i, choices in enumerate(self.texts.subproblem.allowed):
            self.texts.check.check_time()
            end = len(place)
            lasting = [k for k in choices if self.words[i][k].tokens]
            arrived = [
                self._arrival(table[low:end, source : i + 1], (i, k), place, low) for k in lasting
            ]
            for k, sums in zip(lasting, arrived, strict=True):
                place[i, k] = len(place)
                table[place[i, k], source : i + 1] = sums
                if k == 0:
                    self.intervals[source : i + 1, i] = sums
                    table[place[i, k], i + 1] = 0.0
                    source = source if self.changeable[i] else i + 1
            if len(lasting) == len(choices):
                low = end
        self.intervals[source:, -1] = table[low : len(place), source:].max(0)
        # no set has such a part: nothing can be held there
        self.intervals[self.intervals == -np.inf] = np.inf

    def _arrival(
        self, before: Floats, choice: tuple[int, int], place: Mapping[Any, int], low: int
    ) -> Floats:
        pair_prices = np.zeros(len(before))
        for earlier, column, sign in self.texts.adjacent_pairs.get(choice, ()):
            if place[earlier] >= low:
                pair_prices[place[earlier] - low] = self.prices[column] * sign
        own_price = sum(
            n * self.prices[c] for c, n in self.words[choice[0]][choice[1]].counts.items()
        )
        return np.asarray((before + pair_prices[:, None]).max(0) + own_price)


def _least_over_sets(
    check: BagCheck, intervals: Floats, changeable: Sequence[bool], sets: SetConstraints
) -> float:
    """What the sets leave at least: the worst of all costs below the limit."""
    included_cost = sum(sets.costs[i] for i in sets.include if not changeable[i])
    if included_cost >= sets.below or sets.include & sets.exclude:
        return math.inf  # there is no such set
    best = np.full((sets.below - included_cost, len(changeable) + 1), np.inf)
    best[0, 0] = 0.0
    source = 0
    for i, may in enumerate(changeable):
        check.check_time()
        if (may and i in sets.exclude) or not check.words[i][0].tokens:
            continue
        value = (best[:, source : i + 1] + intervals[source : i + 1, i]).min(1)
        cost = sets.costs[i] if may else 0
        best[cost:, i + 1] = value[: max(len(value) - cost, 0)]
        if not may or i in sets.include:
            source = i + 1
    return float((best[:, source:] + intervals[source:, -1]).min())


__all__ = ["SetConstraints", "require_none_sufficient"]

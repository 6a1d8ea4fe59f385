"""Lagrangian cuts: linear inequalities that every sufficient set keeps, from one text that fails.

If a text fails by d, a sufficient set must put back words whose gains sum to d or more. The norm
form is N + b sqrt(S); from above the root is bounded by its tangent where b > 0, by a chord where
b < 0, so all is a sum of functions of counts. A count that rises by k lifts its function by at
most k times the steepest rise from here; one that falls, likewise; where both may be, one slope
serves, and what it leaves uncovered is added once (`word_gains`). Where neighbours count, a word
put back pays for the pair it ends, for the pair it begins, and for the pair it parts.

Or putting word i back costs a weight w_i: the least of the weights paid less what the form gains,
over all ways to put words back, is found by a shortest path and is the cut's threshold. The
weights are searched along one ray (proportional to costs), or by subgradient steps of Polyak's
length that separate a given fractional set.

Method: Lagrangian relaxation, subgradient steps (theory, section 8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from suffice.model.bag import term
from suffice.model.network import Bools, Floats, Ints
from suffice.settings import Cuts
from suffice.verify import tolerances
from suffice.verify.text.lattice import OptionLattice
from suffice.verify.text.norm_form import NormSegment, TextInstance, cheapest_text


@dataclass(frozen=True, eq=False)
class WordGains:
    """An upper bound of the text's form, and (words,) at most how much each word adds when put
    back.
    """

    form_bound: float
    by_word: Floats
    segment: NormSegment  # the line in S they come from, for the negated form


def word_gains(instance: TextInstance, chosen: Ints) -> WordGains | None:
    """The gains of putting words of a text back to `reference`; None where one put back would be
    empty.
    """
    lattice = instance.lattice
    changed = chosen != instance.reference
    if (
        lattice.pairs
        and (lattice.empty[instance.reference] & ~lattice.empty[chosen] & changed).any()
    ):
        return None
    allowed = np.zeros(len(lattice.word_of), dtype=bool)
    allowed[chosen] = allowed[instance.reference] = True
    upper = _upper_lines(replace(instance, at_most=None), allowed, chosen)
    if upper is None:
        return None
    form, slopes, segment = upper
    inner = lattice.option_counts
    restored_counts = inner[instance.reference] - inner[chosen]
    by_word = np.asarray(restored_counts @ slopes).ravel()
    by_word = np.where(changed, by_word, 0.0)
    if lattice.pairs:
        by_word += _pair_gains(lattice, instance.reference, chosen, changed, slopes)
    return WordGains(form, by_word, segment)


@dataclass(frozen=True, eq=False)
class LagrangianCut:
    """The text fails unless words with weights that sum to `threshold` or more are put back."""

    weights: Floats
    threshold: float
    segments: tuple[NormSegment, ...]
    restored: Bools  # (words,) a minimiser: the words put back where the threshold is attained


class RestorationRelaxation:
    """The Lagrangian relaxation of putting words of one failing text back: weights in, cuts out."""

    def __init__(
        self, instance: TextInstance, chosen: Ints, settings: Cuts, tight_at: Ints | None = None
    ) -> None:
        """`tight_at` is the text where bounds should lose least: the failing text itself, or one
        with words put back.
        """
        expansion = chosen if tight_at is None else tight_at
        self.instance = instance
        self.lattice = instance.lattice
        self.settings = settings
        self.changed = chosen != instance.reference
        self.allowed = np.zeros(len(self.lattice.word_of), dtype=bool)
        self.allowed[chosen] = self.allowed[instance.reference] = True
        self.bounds = self._bounds(replace(instance, at_most=None), expansion, tight_at is not None)
        self.form_bound = self.bounds[0][0] if self.bounds else 0.0
        self.counts = self.lattice.counts(expansion)

    def _bounds(
        self, instance: TextInstance, expansion: Ints, by_range: bool
    ) -> list[tuple[float, Floats, NormSegment]]:
        """A bound, or one for each range of S where a chord over all of them would be far from the
        root.
        """
        whole = _upper_lines(instance, self.allowed, expansion)
        if whole is None:
            return []
        low = whole[2].low
        high = whole[2].high
        if not by_range or instance.lattice.bag.norm != "l2" or instance.bias >= 0:
            return [whole]
        square = float((instance.lattice.values(instance.lattice.counts(expansion)) ** 2).sum())
        inner = (edge * square for edge in self.settings.range_edges)
        edges = [low, *(edge for edge in inner if low < edge < high), high]
        found = (_upper_lines(instance, self.allowed, expansion, ends) for ends in pairwise(edges))
        return [part for part in found if part is not None]

    def cut_at(self, weights: Floats) -> LagrangianCut:
        """The cut of a weight for each word: its threshold is the least over all ways to put words
        back.
        """
        choice_costs = np.zeros(len(self.lattice.word_of))
        choice_costs[self.instance.reference[self.changed]] = weights[self.changed]
        least = np.inf
        restored = self.changed
        for form, slopes, _ in self.bounds:
            value, text = cheapest_text(self.lattice, choice_costs, -slopes, self.allowed)
            threshold = value - form + float(slopes @ self.counts)
            if threshold < least:
                least = threshold
                restored = self.changed & (text == self.instance.reference)
        return LagrangianCut(
            np.where(self.changed, weights, 0.0),
            least,
            tuple(line for _, _, line in self.bounds),
            restored,
        )

    def best_uniform(self, costs: Floats, check_time: Callable[[], object]) -> LagrangianCut | None:
        """Weights proportional to costs: the multiple whose threshold, per unit of weight, is
        largest.

        A bracket of multiples is doubled or quartered until it holds the best one, and is then
        halved as a quotient. Which multiple comes first only sets where this begins.
        """
        if self.form_bound >= 0:
            return None
        low = 0.0
        high = np.inf
        multiplier = -self.form_bound / max(1.0, 0.1 * float(costs[self.changed].sum()))
        best = None
        best_ratio = 0.0
        for _ in range(self.settings.dual_rounds):
            check_time()
            cut = self.cut_at(multiplier * costs)
            if cut.threshold > best_ratio * multiplier:
                best = cut
                best_ratio = cut.threshold / multiplier
            # the words put back pay for what they gain
            restored_enough = cut.threshold <= float(cut.weights[cut.restored].sum())
            low, high = (multiplier, high) if restored_enough else (low, multiplier)
            multiplier = (
                2.0 * multiplier
                if high == np.inf
                else 0.25 * multiplier
                if low == 0.0
                else float(np.sqrt(low * high))
            )
        return best

    def separate(
        self, point: Floats, weights: Floats, target: float, check_time: Callable[[], object]
    ) -> LagrangianCut | None:
        """A cut that these words (or fractions of words) violate, by `target` at the best; None
        where none is found.
        """
        point = np.where(self.changed, point, 0.0)
        weights = np.where(self.changed, np.maximum(weights, 0.0), 0.0)
        best = None
        best_violation = 0.0
        last_violation = -np.inf
        step_scale = 1.0
        for _ in range(self.settings.dual_rounds if self.bounds else 0):
            check_time()
            cut = self.cut_at(weights)
            violation = cut.threshold - float(weights @ point)
            if violation > best_violation:
                best = cut
                best_violation = violation
            subgradient = np.where(self.changed, cut.restored - point, 0.0)
            squared_length = float(subgradient @ subgradient)
            found = violation >= self.settings.target_share * target
            if squared_length < tolerances.NO_DIRECTION or found:
                break
            # a Polyak step that does not raise the violation was too long: half of it
            step_scale = step_scale if violation > last_violation else 0.5 * step_scale
            last_violation = violation
            weights = np.maximum(
                weights + step_scale * (target - violation) / squared_length * subgradient, 0.0
            )
        return best


def _upper_lines(
    instance: TextInstance, allowed: Bools, chosen: Ints, ends: tuple[float, float] | None = None
) -> tuple[float, Floats, NormSegment] | None:
    """The form from above, per feature what it adds at most with each count, and the line of the
    bound.

    With `ends` for the texts whose S lies between them.
    """
    grid, inside = instance.count_ranges(allowed).grid()
    counts = instance.lattice.counts(chosen)
    values = instance.lattice.scale[:, None] * term(instance.lattice.bag.tf, grid)
    own_values = instance.lattice.values(counts)
    separable = _separable_form(instance, values, own_values, inside, ends)
    if separable is None:
        return None
    rise = np.where(inside, separable.terms, -np.inf) - separable.own_terms[:, None]
    gap = grid - counts[:, None]
    slopes = _majorant_slopes(rise, gap, inside)
    # where a count may rise and fall
    uncovered = np.where(inside, rise - slopes[:, None] * gap, 0.0).max(1)
    line = NormSegment(separable.low, separable.high, -separable.norm_slope, -slopes)
    return separable.form + float(np.maximum(uncovered, 0.0).sum()), slopes, line


@dataclass(frozen=True, eq=False)
class _SeparableForm:
    """The form of a text, what its counts and all others add to it, and the line in S from `low` to
    `high`.
    """

    form: float
    own_terms: Floats
    terms: Floats
    norm_slope: float = 0.0
    low: float = 0.0
    high: float = 0.0


def _separable_form(
    instance: TextInstance,
    values: Floats,
    own_values: Floats,
    inside: Bools,
    ends: tuple[float, float] | None,
) -> _SeparableForm | None:
    """What values (features, counts), and those of the text, add; None where the text has no known
    feature.
    """
    terms = instance.weight[:, None] * values
    own_terms = instance.weight * own_values
    total = float(instance.weight @ own_values)
    if instance.lattice.bag.norm is None:
        return _SeparableForm(total + instance.bias, own_terms, terms)
    if instance.lattice.bag.norm == "l1":
        own_terms = own_terms + instance.bias * np.abs(own_values)
        return _SeparableForm(
            float(own_terms.sum()), own_terms, terms + instance.bias * np.abs(values)
        )
    square = float((own_values * own_values).sum())
    if square == 0.0:
        return None
    low, high = _norm_range(values, inside) if ends is None else ends
    slope, root = _norm_line(instance.bias, square, low, high)
    return _SeparableForm(
        total + instance.bias * root,
        own_terms + slope * own_values * own_values,
        terms + slope * values**2,
        slope,
        low,
        high,
    )


def _norm_range(values: Floats, inside: Bools) -> tuple[float, float]:
    """The least and most S that these values add up to."""
    least = np.where(inside, values**2, np.inf).min(1)
    most = np.where(inside, values**2, 0.0).max(1)
    return float(least.sum()), float(most.sum())


def _majorant_slopes(rise: Floats, gap: Floats, inside: Bools) -> Floats:
    """Per feature the slope of a line that is above what a count adds, or between the two where it
    rises and falls.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(inside & (gap > 0), rise / gap, -np.inf).max(1)
        down = np.where(inside & (gap < 0), rise / gap, np.inf).min(1)
    rising = np.isfinite(up)
    falling = np.isfinite(down)
    middle = 0.5 * (np.where(rising, up, 0.0) + np.where(falling, down, 0.0))
    two_sided = np.where(rising & falling, middle, 0.0)
    return np.where(rising & ~falling, up, np.where(falling & ~rising, down, two_sided))


def _norm_line(bias: float, square: float, low: float, high: float) -> tuple[float, float]:
    """The slope in S of a line above b sqrt(S) for S from low to high, and the root that it has at
    S itself.
    """
    if bias >= 0:
        return 0.5 * bias / np.sqrt(square), float(np.sqrt(square))
    chord = 1.0 / (np.sqrt(low) + np.sqrt(high))
    return bias * chord, float(np.sqrt(low) + (square - low) * chord)


def _pair_gains(
    lattice: OptionLattice, reference: Ints, chosen: Ints, changed: Ints, slopes: Floats
) -> Floats:
    """What pairs add to the gain of each word that is put back."""
    feature = lattice.pairs.feature
    sign = lattice.pairs.sign
    gained = (sign * slopes[feature]).tolist()
    lost = (-sign * slopes[feature]).tolist()
    adjacency = _Adjacency(lattice, chosen, reference, changed)
    found = np.zeros(lattice.word_count)
    for word in np.flatnonzero(changed & ~lattice.empty[reference]).tolist():
        new = int(reference[word])
        left = adjacency.left[word]
        right = adjacency.right[word]
        ended_pair = max(
            [
                0.0,
                *_pair_prices(
                    lattice, [(old, new) for old in adjacency.predecessors(word)], gained
                ),
            ]
        )
        if lattice.empty[chosen[word]]:
            parted = sum(_pair_prices(lattice, [(left, right)], lost))
            begun_pair = max(0.0, parted + sum(_pair_prices(lattice, [(new, right)], gained)))
        else:
            old = int(chosen[word])
            begun_pair = sum(
                max(0.0, price)
                for price in _pair_prices(lattice, [(left, old), (old, right)], lost)
            )
            begun_pair += max([0.0, *_pair_prices(lattice, [(new, right)], gained)])
        found[word] = ended_pair + begun_pair
    return found


def _pair_prices(
    lattice: OptionLattice, adjacent: Sequence[tuple[int, int]], prices: list[float]
) -> list[float]:
    return [
        prices[place] for meet in adjacent if (place := lattice.pair_index.get(meet)) is not None
    ]


class _Adjacency:
    """Who stands beside whom in a text, and who might once words are put back."""

    def __init__(
        self, lattice: OptionLattice, chosen: Ints, reference: Ints, changed: Ints
    ) -> None:
        self.lattice = lattice
        self.chosen = chosen
        self.reference = reference
        self.changed = changed
        lasting = np.flatnonzero(~lattice.empty[chosen])
        before = np.searchsorted(lasting, np.arange(lattice.word_count)) - 1
        after = np.searchsorted(lasting, np.arange(lattice.word_count), side="right")
        self.left_word = [int(lasting[k]) if k >= 0 else -1 for k in before]
        self.left = [int(chosen[k]) if k >= 0 else -1 for k in self.left_word]
        self.right = [int(chosen[lasting[k]]) if k < len(lasting) else -1 for k in after]

    def predecessors(self, word: int) -> list[int]:
        """Every choice that may stand right before this word."""
        left = self.left_word[word]
        restorable = [int(self.reference[k]) for k in range(left + 1, word) if self.changed[k]]
        adjacent = [self.left[word]] if left >= 0 else []
        if left >= 0 and self.changed[left]:
            adjacent.append(int(self.reference[left]))
        return [choice for choice in (*adjacent, *restorable) if not self.lattice.empty[choice]]

"""Interval sums: leaves that picks alone have led to, where a network is maxima over sums of
choices.

While each word has some of its points left, what it adds to a unit lies between the least and the
most that one of them adds, so the unit's sum between two sums. A maximum is at least the largest of
the lower ends and at most the largest of the upper ends; a margin is at least what the maxima at
these ends make of it. Where that is not above zero, lines may be: a maximum is at least any of its
units, and at most t + s (z - l) for a unit z in [l, u], if all others are at most t, t is at least
l, and s = (u - t) / (u - l). With such lines the margin is a sum over words, each at the point that
makes it least. Leaves are worked on together: over the union of what they leave to words, a unit
whose upper end is no higher than the largest lower end of its maximum changes neither end of it on
any leaf, once that largest lower end is put in its place; nor does it reach above t, which is no
lower. Where words have to be paid for, a sum has the own points of optional words and the least, or
the most, that what is left buys (inputs.py); the union is over all their points.

*Rounding.* Ends of sums are those of `NetworkBounds.intermediate_bounds`, each widened by G·size;
the margin is a sum of products of them, its S that of network.py with |A| at every candidate, which
is more than |A| times the ends: it is lowered by G·S. So is the margin by lines, whose slopes are
at most 1 and a few u; what is added up for a line's constant is rounded up by 32 u of it. Marks are
0 and 1: a product with them is exact, and adding zeros loses nothing. What is bought is a knapsack
over differences, as in network.py.

Method: interval sums and lines over one-hot options (theory, section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from suffice.model.network import Bools, Floats, Ints
from suffice.proof.check.inputs import VariedInputs, VariedState
from suffice.proof.check.leaf import Leaf
from suffice.proof.check.network import CHUNK, NetworkBounds
from suffice.proof.check.tolerances import LINE_ROUNDING, TIE_TOLERANCE


def applies_to(network: NetworkBounds) -> bool:
    """Whether a network is of the kind that this is about."""
    groups = network.max_groups[0]
    return len(network.steps) == 2 and groups is not None and bool(groups.in_group.all())


def proved_by_intervals(
    network: NetworkBounds, inputs: VariedInputs, sign: float, leaves: Sequence[Leaf]
) -> Bools:
    """Which leaves have a sign·margin above zero by sums; none where what points add is not worked
    out.
    """
    groups = network.max_groups[0]
    states = [leaf.state for leaf in leaves if isinstance(leaf.state, VariedState)]
    contributions = inputs.contributions(network.steps[0])
    if groups is None or contributions is None or not leaves:
        return np.zeros(len(leaves), dtype=bool)
    maxima = MaximaOrder.of(groups.first_unit)
    rivals = [leaf.rival for leaf in leaves]
    intervals = _sum_intervals(network, inputs, contributions, states, maxima)
    weights = (sign * network.margins[rivals])[:, groups.first_unit[maxima.units[maxima.start]]]
    constants = sign * network.constants[rivals]
    size = network.sizes[rivals] + np.abs(weights) @ np.add.reduceat(
        network.intervals_of_step[0].magnitude[maxima.units], maxima.start
    )
    up = np.maximum(weights, 0.0)
    down = np.minimum(weights, 0.0)
    proved = np.asarray(
        network.rounded_down(constants + _margin_by_intervals(intervals, up, down), size) > 0
    )
    undecided = np.flatnonzero(~proved)
    if len(undecided) and len(intervals.units):
        values, constant = _margin_by_lines(
            network, contributions, intervals.take(undecided), up[undecided], down[undecided]
        )
        total = (
            constants[undecided]
            + constant
            + _least_values(inputs, values, [states[i] for i in undecided])
        )
        proved[undecided] = network.rounded_down(total, size[undecided]) > 0
    return proved


@dataclass(frozen=True, eq=False)
class MaximaOrder:
    """The units of a step in the order of their maxima, where each maximum starts, and by unit
    which it is.
    """

    units: Ints
    start: Ints
    maximum_of: Ints

    @staticmethod
    def of(owner: Ints) -> MaximaOrder:
        units = np.argsort(owner, kind="stable")
        start = np.flatnonzero(np.diff(owner[units], prepend=-1))
        return MaximaOrder(
            units, start, np.repeat(np.arange(len(start)), np.diff([*start, len(units)]))
        )


@dataclass(frozen=True, eq=False)
class SumIntervals:
    """Ends (n, units) of the sums that may reach a maximum on some leaf, and ends (n, maxima) of
    all maxima.

    `units` are these sums' units, `group` their maxima, whose first ones are at `first`; `floor`
    (maxima,) is the largest lower end of the others, on every leaf.
    """

    units: Ints
    maximum: Ints
    first: Ints
    lower: Floats
    upper: Floats
    maximum_lower: Floats
    maximum_upper: Floats
    rest_lower: Floats

    def take(self, leaves: Ints) -> SumIntervals:
        low, high, least, most = (
            side[leaves]
            for side in (self.lower, self.upper, self.maximum_lower, self.maximum_upper)
        )
        return SumIntervals(
            self.units, self.maximum, self.first, low, high, least, most, self.rest_lower
        )


def _sum_intervals(
    network: NetworkBounds,
    inputs: VariedInputs,
    contributions: Floats,
    states: Sequence[VariedState],
    maxima: MaximaOrder,
) -> SumIntervals:
    """Ends over states."""
    bias = network.steps[0].bias
    error = network.error_rate * (network.intervals_of_step[0].magnitude + network.magnitude_floor)
    lowest, highest = _union_range(contributions, states)
    lower = (bias + lowest - error)[maxima.units]
    upper = (bias + highest + error)[maxima.units]
    bottom = np.maximum.reduceat(lower, maxima.start)
    contends = upper > bottom[maxima.maximum_of]
    floor = np.maximum.reduceat(np.where(contends, -np.inf, lower), maxima.start)
    units = maxima.units[contends]
    group = maxima.maximum_of[contends]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    least, most = (np.repeat(bottom[None], len(states), 0) for _ in range(2))
    if not len(units):
        none = np.zeros((len(states), 0))
        return SumIntervals(units, group, first, none, none, least, most, floor)
    low, high = _interval_sums(inputs, contributions, states, units)
    low = low + (bias - error)[units]
    high = high + (bias + error)[units]
    for found, side in ((least, low), (most, high)):
        found[:, group[first]] = np.maximum(
            found[:, group[first]], np.maximum.reduceat(side, first, axis=1)
        )
    return SumIntervals(units, group, first, low, high, least, most, floor)


def _union_range(contributions: Floats, states: Sequence[VariedState]) -> tuple[Floats, Floats]:
    """The least and the most (units,) that words add over all states together."""
    allowed = np.asarray(np.stack([state.allowed for state in states]).any(0))
    rests = [points[left] for points, left in zip(contributions, allowed, strict=True)]
    return np.asarray(sum(rest.min(0) for rest in rests)), np.asarray(
        sum(rest.max(0) for rest in rests)
    )


def _interval_sums(
    inputs: VariedInputs, contributions: Floats, states: Sequence[VariedState], units: Ints
) -> tuple[Floats, Floats]:
    """The least and the most (n, units) that words add to units."""
    marks, lows, highs = _distinct_rests(
        contributions, np.stack([inputs.choices_unpaid(state) for state in states]), units
    )
    low = marks @ lows
    high = marks @ highs
    falls, rises = inputs.point_gains(contributions[:, :, units])
    chunk_size = max(1, CHUNK // falls.size)
    for first in range(0, len(states), chunk_size) if inputs.costs is not None else ():
        chunk = slice(first, first + chunk_size)
        low[chunk] += inputs.knapsack_values(falls.T[None], states[chunk])
        high[chunk] -= inputs.knapsack_values(rises.T[None], states[chunk])
    return low, high


def _distinct_rests(
    contributions: Floats, allowed: Bools, units: Ints
) -> tuple[Floats, Floats, Floats]:
    """Each different rest of a word's choices: who has it (n, rests), and the least and the most it
    adds to units.
    """
    marks = []
    lows = []
    highs = []
    for word in range(len(contributions)):
        rests, which = np.unique(allowed[:, word], axis=0, return_inverse=True)
        mine = contributions[word][:, units]
        for place, left in enumerate(rests):
            marks.append(which.ravel() == place)
            lows.append(mine[left].min(0))
            highs.append(mine[left].max(0))
    return np.stack(marks, axis=1).astype(np.float64), np.stack(lows), np.stack(highs)


def _margin_by_intervals(intervals: SumIntervals, up: Floats, down: Floats) -> Floats:
    """The least that ends make of all maxima, times their weights above zero and below
    (n, maxima).
    """
    return np.asarray(
        (up * intervals.maximum_lower).sum(-1) + (down * intervals.maximum_upper).sum(-1)
    )


# --- lines ---


def _margin_by_lines(
    network: NetworkBounds, contributions: Floats, intervals: SumIntervals, up: Floats, down: Floats
) -> tuple[Floats, Floats]:
    """What lines make of all maxima, times their weights above zero and below (n, maxima).

    Values (n, length, m) of every point of every word, and constants (n,).
    """
    below = _lower_unit(intervals)
    above = _upper_unit(intervals)
    constant = (up * np.where(below < 0, intervals.maximum_lower, 0.0)).sum(-1)
    leaf, group = np.nonzero((below >= 0) & (up > 0))
    places = [(leaf, below[leaf, group])]
    weights = [up[leaf, group]]
    leaf, group = np.nonzero((above >= 0) & (down < 0))
    unit = above[leaf, group]
    slope, shift = _upper_line(
        intervals.lower[leaf, unit],
        intervals.upper[leaf, unit],
        _threshold(intervals, above)[leaf, group],
    )
    tops = intervals.maximum_upper.copy()  # of maxima that no unit can move
    tops[leaf, group] = shift
    constant = constant + (down * tops).sum(-1)
    places.append((leaf, unit))
    weights.append(down[leaf, group] * slope)
    leaf, unit = (np.concatenate(side) for side in zip(*places, strict=True))
    rows = scipy.sparse.csr_array(
        (np.concatenate(weights), (leaf, unit)), shape=intervals.lower.shape
    )
    added = contributions[:, :, intervals.units].reshape(-1, len(intervals.units)).T
    values = np.asarray(rows @ np.ascontiguousarray(added)).reshape(-1, *contributions.shape[:2])
    return values, np.asarray(constant + rows @ network.steps[0].bias[intervals.units])


def _least_values(inputs: VariedInputs, values: Floats, states: Sequence[VariedState]) -> Floats:
    """The least (n,) of values (n, length, m) over n states."""
    return np.asarray(inputs.least_over_points(values[:, None], states)[:, 0])


def _lower_unit(intervals: SumIntervals) -> Ints:
    """Below each maximum its first unit (n, maxima) that has the largest lower end, or nearly; -1:
    that end itself.
    """
    enough = intervals.maximum_lower - TIE_TOLERANCE * (
        intervals.maximum_upper - intervals.maximum_lower
    )
    marks = intervals.lower >= enough[:, intervals.maximum]
    found = _first_marked(intervals, marks)
    return np.where(intervals.rest_lower >= enough, -1, found)


def _upper_unit(intervals: SumIntervals) -> Ints:
    """The unit (n, maxima) that has the largest upper end; -1 where none is above the rest."""
    return _first_marked(
        intervals, intervals.upper == intervals.maximum_upper[:, intervals.maximum]
    )


def _first_marked(intervals: SumIntervals, marks: Bools) -> Ints:
    """The first marked unit of each maximum (n, maxima), or -1."""
    count = len(intervals.units)
    found = np.full(intervals.maximum_lower.shape, -1)
    first = np.minimum.reduceat(np.where(marks, np.arange(count), count), intervals.first, axis=1)
    found[:, intervals.maximum[intervals.first]] = np.where(first < count, first, -1)
    return found


def _threshold(intervals: SumIntervals, above: Ints) -> Floats:
    """The largest upper end of all units but the one above (n, maxima), and no lower than the
    largest lower end.
    """
    rest = intervals.upper.copy()
    leaf, group = np.nonzero(above >= 0)
    rest[leaf, above[leaf, group]] = -np.inf
    found = intervals.maximum_lower.copy()
    mine = intervals.maximum[intervals.first]
    found[:, mine] = np.maximum(found[:, mine], np.maximum.reduceat(rest, intervals.first, axis=1))
    return found


def _upper_line(low: Floats, high: Floats, level: Floats) -> tuple[Floats, Floats]:
    """Slopes and constants of lines that are at least `level` at the lower ends and at least both
    at the upper ones.
    """
    room = np.maximum(high - level, 0.0)
    slope = np.where(high > low, room / np.where(high > low, high - low, 1.0), 0.0)
    rest = np.where(high > low, np.maximum(-slope * low, room - slope * high), room)
    return slope, level + rest + LINE_ROUNDING * (np.abs(level) + np.abs(low) + np.abs(high))

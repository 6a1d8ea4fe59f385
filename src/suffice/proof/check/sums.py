"""Sums: leaves that picks alone have led to, where a network is maxima over sums of choices and scores.

While each word has some of its points left, what it adds to a unit lies between the least and the most that one of them
adds, so the unit's sum between two sums. A maximum is at least the largest of the lower ends and at most the largest of
the upper ends; a margin is at least what the maxima at these ends make of it. Where that is not above zero, lines may
be: a maximum is at least any of its units, and at most t + s (z - l) for a unit z in [l, u], if all others are at most
t, t is at least l, and s = (u - t) / (u - l). With such lines the margin is a sum over words, each at the point that
makes it least. Leaves are worked on together: over the union of what they leave to words, a unit whose upper end is no
higher than the largest lower end of its maximum changes neither end of it on any leaf, once that largest lower end
is put in its place; nor does it reach above t, which is no lower. Where words have to be paid for, a sum has the own
points of open words and the least, or the most, that what is left buys (inputs.py); the union is over all their points.

*Rounding.* Ends of sums are those of `Net.bounds`, each widened by G·size; the margin is a sum of products of them, its
S that of network.py with |A| at every candidate, which is more than |A| times the ends: it is lowered by G·S. So is the
margin by lines, whose slopes are at most 1 and a few u; what is added up for a line's constant is rounded up by 32 u of
it. Marks are 0 and 1: a product with them is exact, and adding zeros loses nothing. What is bought is a knapsack over
differences, as in network.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from suffice.model.network import Bools, Floats, Ints
from suffice.proof.check.inputs import Ranging, Varied
from suffice.proof.check.leaf import Leaf
from suffice.proof.check.maxima import LEAN, ROUND
from suffice.proof.check.network import CHUNK, Net


def sums_tell(net: Net) -> bool:
    """Whether a network is of the kind that this is about."""
    pools = net.pools[0]
    return len(net.steps) == 2 and pools is not None and bool(pools.pooled.all())


def surely(net: Net, inputs: Varied, sign: float, leaves: Sequence[Leaf]) -> Bools:
    """Which leaves have a sign·margin above zero by sums; none where what points add is not worked out."""
    pools, states = net.pools[0], [leaf.state for leaf in leaves if isinstance(leaf.state, Ranging)]
    table = inputs.table(net.steps[0])
    if pools is None or table is None or not leaves:
        return np.zeros(len(leaves), dtype=bool)
    maxima, rivals = Maxima.of(pools.owner), [leaf.rival for leaf in leaves]
    ends = _ends(net, inputs, table, states, maxima)
    weights = (sign * net.margins[rivals])[:, pools.owner[maxima.units[maxima.start]]]
    constants = sign * net.constants[rivals]
    size = net.sizes[rivals] + np.abs(weights) @ np.add.reduceat(net.known[0].size[maxima.units], maxima.start)
    up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    sure = np.asarray(net.lowered(constants + _least_by_ends(ends, up, down), size) > 0)
    left = np.flatnonzero(~sure)
    if len(left) and len(ends.units):
        values, constant = _by_lines(net, table, ends.take(left), up[left], down[left])
        total = constants[left] + constant + _least(inputs, values, [states[i] for i in left])
        sure[left] = net.lowered(total, size[left]) > 0
    return sure


@dataclass(frozen=True, eq=False)
class Maxima:
    """The units of a step in the order of their maxima, where each maximum starts, and by unit which it is."""

    units: Ints
    start: Ints
    which: Ints

    @staticmethod
    def of(owner: Ints) -> Maxima:
        units = np.argsort(owner, kind="stable")
        start = np.flatnonzero(np.diff(owner[units], prepend=-1))
        return Maxima(units, start, np.repeat(np.arange(len(start)), np.diff([*start, len(units)])))


@dataclass(frozen=True, eq=False)
class Ends:
    """Ends (n, units) of the sums that may reach a maximum on some leaf, and ends (n, maxima) of all maxima.

    `units` are these sums' units, `group` their maxima, whose first ones are at `first`; `floor` (maxima,) is the
    largest lower end of the others, on every leaf.
    """

    units: Ints
    group: Ints
    first: Ints
    low: Floats
    high: Floats
    least: Floats
    most: Floats
    floor: Floats

    def take(self, leaves: Ints) -> Ends:
        low, high, least, most = (side[leaves] for side in (self.low, self.high, self.least, self.most))
        return Ends(self.units, self.group, self.first, low, high, least, most, self.floor)


def _ends(net: Net, inputs: Varied, table: Floats, states: Sequence[Ranging], maxima: Maxima) -> Ends:
    """Ends over states."""
    bias, wide = net.steps[0].bias, net.gamma * (net.known[0].size + net.floor)
    lowest, highest = _union(table, states)
    lower, upper = (bias + lowest - wide)[maxima.units], (bias + highest + wide)[maxima.units]
    bottom = np.maximum.reduceat(lower, maxima.start)
    may = upper > bottom[maxima.which]
    floor = np.maximum.reduceat(np.where(may, -np.inf, lower), maxima.start)
    units, group = maxima.units[may], maxima.which[may]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    least, most = (np.repeat(bottom[None], len(states), 0) for _ in range(2))
    if not len(units):
        none = np.zeros((len(states), 0))
        return Ends(units, group, first, none, none, least, most, floor)
    low, high = _sums(inputs, table, states, units)
    low, high = low + (bias - wide)[units], high + (bias + wide)[units]
    for found, side in ((least, low), (most, high)):
        found[:, group[first]] = np.maximum(found[:, group[first]], np.maximum.reduceat(side, first, axis=1))
    return Ends(units, group, first, low, high, least, most, floor)


def _union(table: Floats, states: Sequence[Ranging]) -> tuple[Floats, Floats]:
    """The least and the most (units,) that words add over all states together."""
    allowed = np.asarray(np.stack([state.allowed for state in states]).any(0))
    rests = [points[left] for points, left in zip(table, allowed, strict=True)]
    return np.asarray(sum(rest.min(0) for rest in rests)), np.asarray(sum(rest.max(0) for rest in rests))


def _sums(inputs: Varied, table: Floats, states: Sequence[Ranging], units: Ints) -> tuple[Floats, Floats]:
    """The least and the most (n, units) that words add to units."""
    marks, lows, highs = _marked(table, np.stack([inputs.unpaid(state) for state in states]), units)
    low, high = marks @ lows, marks @ highs
    falls, rises = inputs.gains(table[:, :, units])
    many = max(1, CHUNK // falls.size)
    for first in range(0, len(states), many) if inputs.costs is not None else ():
        some = slice(first, first + many)
        low[some] += inputs.bought(falls.T[None], states[some])
        high[some] -= inputs.bought(rises.T[None], states[some])
    return low, high


def _marked(table: Floats, allowed: Bools, units: Ints) -> tuple[Floats, Floats, Floats]:
    """Each different rest of a word's choices: who has it (n, rests), and the least and the most it adds to units."""
    marks, lows, highs = [], [], []
    for word in range(len(table)):
        rests, which = np.unique(allowed[:, word], axis=0, return_inverse=True)
        mine = table[word][:, units]
        for place, left in enumerate(rests):
            marks.append(which.ravel() == place)
            lows.append(mine[left].min(0))
            highs.append(mine[left].max(0))
    return np.stack(marks, axis=1).astype(np.float64), np.stack(lows), np.stack(highs)


def _least_by_ends(ends: Ends, up: Floats, down: Floats) -> Floats:
    """The least that ends make of all maxima, times their weights above zero and below (n, maxima)."""
    return np.asarray((up * ends.least).sum(-1) + (down * ends.most).sum(-1))


# --- lines ---


def _by_lines(net: Net, table: Floats, ends: Ends, up: Floats, down: Floats) -> tuple[Floats, Floats]:
    """What lines make of all maxima, times their weights above zero and below (n, maxima).

    Values (n, length, m) of every point of every word, and constants (n,).
    """
    below, above = _unit_below(ends), _unit_above(ends)
    constant = (up * np.where(below < 0, ends.least, 0.0)).sum(-1)
    leaf, group = np.nonzero((below >= 0) & (up > 0))
    places, weights = [(leaf, below[leaf, group])], [up[leaf, group]]
    leaf, group = np.nonzero((above >= 0) & (down < 0))
    unit = above[leaf, group]
    slope, shift = _chord(ends.low[leaf, unit], ends.high[leaf, unit], _level(ends, above)[leaf, group])
    tops = ends.most.copy()  # of maxima that no unit can move
    tops[leaf, group] = shift
    constant = constant + (down * tops).sum(-1)
    places.append((leaf, unit))
    weights.append(down[leaf, group] * slope)
    leaf, unit = (np.concatenate(side) for side in zip(*places, strict=True))
    rows = scipy.sparse.csr_array((np.concatenate(weights), (leaf, unit)), shape=ends.low.shape)
    added = table[:, :, ends.units].reshape(-1, len(ends.units)).T
    values = np.asarray(rows @ np.ascontiguousarray(added)).reshape(-1, *table.shape[:2])
    return values, np.asarray(constant + rows @ net.steps[0].bias[ends.units])


def _least(inputs: Varied, values: Floats, states: Sequence[Ranging]) -> Floats:
    """The least (n,) of values (n, length, m) over n states."""
    return np.asarray(inputs.least_of(values[:, None], states)[:, 0])


def _unit_below(ends: Ends) -> Ints:
    """Below each maximum its first unit (n, maxima) that has the largest lower end, or nearly; -1: that end itself."""
    enough = ends.least - LEAN * (ends.most - ends.least)
    marks = ends.low >= enough[:, ends.group]
    found = _first_marked(ends, marks)
    return np.where(ends.floor >= enough, -1, found)


def _unit_above(ends: Ends) -> Ints:
    """The unit (n, maxima) that has the largest upper end; -1 where none is above the rest."""
    return _first_marked(ends, ends.high == ends.most[:, ends.group])


def _first_marked(ends: Ends, marks: Bools) -> Ints:
    """The first marked unit of each maximum (n, maxima), or -1."""
    count = len(ends.units)
    found = np.full(ends.least.shape, -1)
    first = np.minimum.reduceat(np.where(marks, np.arange(count), count), ends.first, axis=1)
    found[:, ends.group[ends.first]] = np.where(first < count, first, -1)
    return found


def _level(ends: Ends, above: Ints) -> Floats:
    """The largest upper end of all units but the one above (n, maxima), and no lower than the largest lower end."""
    rest = ends.high.copy()
    leaf, group = np.nonzero(above >= 0)
    rest[leaf, above[leaf, group]] = -np.inf
    found = ends.least.copy()
    mine = ends.group[ends.first]
    found[:, mine] = np.maximum(found[:, mine], np.maximum.reduceat(rest, ends.first, axis=1))
    return found


def _chord(low: Floats, high: Floats, level: Floats) -> tuple[Floats, Floats]:
    """Slopes and constants of lines that are at least `level` at the lower ends and at least both at the upper ones."""
    room = np.maximum(high - level, 0.0)
    slope = np.where(high > low, room / np.where(high > low, high - low, 1.0), 0.0)
    rest = np.where(high > low, np.maximum(-slope * low, room - slope * high), room)
    return slope, level + rest + 32 * ROUND * (np.abs(level) + np.abs(low) + np.abs(high))

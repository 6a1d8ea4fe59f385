"""Sums: leaves that picks alone have led to, by intervals, where a network is maxima over sums of choices and scores.

While each word has some of its points left, what it adds to a unit lies between the least and the most that one of them
adds, so the unit's sum between two sums. A maximum is at least the largest of the lower ends and at most the largest of
the upper ends; a margin is at least what the maxima at these ends make of it. A leaf whose margin is above zero by that
needs no lines. Leaves are worked on together: over the union of what they leave to words, a unit whose upper end is no
higher than the largest lower end of its maximum changes neither end of it on any leaf, once that largest lower end
is put in its place.

*Rounding.* Ends of sums are those of `Net.bounds`, each widened by G·size; the margin is a sum of products of them, its
S that of network.py with |A| at every candidate, which is more than |A| times the ends: it is lowered by G·S. Marks are
0 and 1: a product with them is exact, and adding zeros loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.proof.check.inputs import Ranging, Varied
from suffice.proof.check.network import Leaf, Net


def surely(net: Net, inputs: Varied, sign: float, leaves: Sequence[Leaf]) -> Bools:
    """Which leaves have a sign·margin above zero by intervals of sums; none where the network is of another kind."""
    none = np.zeros(len(leaves), dtype=bool)
    pools, states = net.pools[0], [leaf.state for leaf in leaves if isinstance(leaf.state, Ranging)]
    if len(net.steps) != 2 or pools is None or not pools.pooled.all() or not leaves:
        return none
    table = inputs.table(net.steps[0])
    if table is None:
        return none
    allowed = np.stack([state.allowed for state in states])
    order = np.argsort(pools.owner, kind="stable")
    starts = np.flatnonzero(np.diff(pools.owner[order], prepend=-1))
    least, most = _ends(net, table, allowed, order, starts)
    weights = (sign * net.margins[[leaf.rival for leaf in leaves]])[:, pools.owner[order[starts]]]
    up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    rivals = [leaf.rival for leaf in leaves]
    total = sign * net.constants[rivals] + (up * least).sum(-1) + (down * most).sum(-1)
    sizes = np.add.reduceat(net.known[0].size[order], starts)
    return np.asarray(net.lowered(total, net.sizes[rivals] + np.abs(weights) @ sizes) > 0)


def _ends(net: Net, table: Floats, allowed: Bools, order: Ints, starts: Ints) -> tuple[Floats, Floats]:
    """The least and the largest value (n, maxima) of each maximum while choices (n, length, m) are left to words."""
    bias, wide = net.steps[0].bias, net.gamma * (net.known[0].size + net.floor)
    rests = [table[word, allowed[:, word].any(0)] for word in range(len(table))]
    low, high = (bias + sum(end(rest, axis=0) for rest in rests) for end in (np.min, np.max))
    owner = np.repeat(np.arange(len(starts)), np.diff([*starts, len(order)]))
    floor = np.maximum.reduceat((low - wide)[order], starts)
    live = np.flatnonzero((high + wide)[order] > floor[owner])
    units, group = order[live], owner[live]
    least, most = (np.repeat(floor[None], len(allowed), 0) for _ in range(2))
    if not len(live):
        return least, most
    first = np.flatnonzero(np.diff(group, prepend=-1))
    marks, lows, highs = _marked(table, allowed, units)
    for found, ends, widened in ((least, lows, -wide), (most, highs, wide)):
        sums = marks @ ends + (bias + widened)[units]
        found[:, group[first]] = np.maximum(found[:, group[first]], np.maximum.reduceat(sums, first, axis=1))
    return least, most


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

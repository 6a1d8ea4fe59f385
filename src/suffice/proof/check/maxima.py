"""Maxima: lines that stay below and above the largest of several sums, written for the checker alone.

Let m be the largest of z_p over a group, each z_p in [l_p, u_p]. A node of a proof tree has said of some candidates
that they win (sign +1: m = z_p) or that the largest is reached by another (-1). Those that are left are the *alive*
ones: m is the largest of them. No candidate below the largest l of the group can reach m, so it may be dropped; where
that drops all alive ones, no input is left.

*Below.* m >= every z_p, so m >= sum of w_p z_p for weights of at least zero that add up to one. They are doubles: their
sum is within 1.1 k u of one for k candidates, which costs |m| 1.1 k u <= 1.1 k u (sum of sizes).

*Above.* Let t be at least every l_p of those that are alive and not dropped. max(z_p - t, 0) is convex and so is below
any line that is above it at l_p (where it is 0) and at u_p; m <= t + the sum of these over those candidates. Lines and
sums are rounded up: by 8 (k + 8) u times all that is added up, k being the number of candidates of the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.model.network import Bools, Floats, Ints
from suffice.proof.check.reading import need

Signs: TypeAlias = NDArray[np.int8]
ROUND = 2.0**-53
LEAN = 2.0**-20  # of the way to the largest upper bound: lower bounds that close together count as equal


class Pools:
    """The groups of a step as a table of units (groups, most), of which `real` marks those that are there."""

    def __init__(self, maxima: Sequence[Ints], units: int) -> None:
        sizes = [len(group) for group in maxima]
        listed = [unit for group in maxima for unit in group.tolist()]
        need(all(sizes) and len({*listed}) == len(listed), "a maximum is over nothing, or over a unit of another")
        need(all(0 <= unit < units for unit in listed), "a maximum is over a unit that does not exist")
        most = max(sizes)
        self.real = np.arange(most) < np.array(sizes)[:, None]
        self.units = np.array(
            [[*group.tolist(), *[group[0]] * (most - len(group))] for group in maxima], dtype=np.int64
        )
        self.count = len(listed)
        self.owner = np.arange(units)  # a unit's group gives its value at its first unit
        for group in maxima:
            self.owner[group] = group[0]
        self.pooled = np.zeros(units, dtype=bool)
        self.pooled[listed] = True

    def of(self, values: Floats | Signs, missing: float) -> Floats:
        """Values by unit (..., units) as a table (..., groups, most)."""
        return np.where(self.real, values[..., self.units], missing)

    def give(self, values: Floats) -> Floats:
        """What the units of the step give when its sums are `values`: maxima at first units, 0 at the others."""
        given = np.where(self.pooled, 0.0, values)
        given[..., self.units[:, 0]] = self.of(values, -np.inf).max(-1)
        return given


@dataclass(frozen=True, eq=False)
class Around:
    """The candidates (n, groups, most) between their bounds, and which of them may reach the maximum."""

    low: Floats
    high: Floats
    live: Bools
    empty: Bools  # (n,): nobody can
    near: Floats  # (groups, most): those that move by no more count as constants


def around(pools: Pools, lower: Floats, upper: Floats, signs: Signs, near: Floats) -> Around:
    low, high, said = pools.of(lower, -np.inf), pools.of(upper, -np.inf), pools.of(signs, -1)
    alive = pools.real & np.where((said > 0).any(-1, keepdims=True), said > 0, said == 0)
    live = alive & (high >= low.max(-1, keepdims=True))
    nobody = ~live.any(-1)
    return Around(low, high, np.where(nobody[..., None], alive, live), nobody.any(-1), pools.of(near, 0.0))


def alive(pools: Pools, signs: Signs, unit: int) -> Ints:
    """The units of the group of `unit` that may still win, by the splits alone."""
    row = np.flatnonzero((pools.units == unit).any(-1))[0]
    group = pools.units[row][pools.real[row]]
    won: Ints = group[signs[group] > 0]
    return won if len(won) else np.asarray(group[signs[group] == 0])


def lines(found: Around, chosen: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Slopes below and above (n, groups, most), and constants above (n, groups); `chosen` are numbers of a leaf.

    A leaf chooses the weights of all candidates but the first, whose number says how far t is from the largest lower
    bound to the largest upper one. Where it chooses nothing, all weight goes to the first candidate with the
    largest lower bound (or nearly), and t is the second largest upper bound. With one candidate left and t at its
    lower end the line above is that candidate itself.
    """
    live = found.live
    low, high = np.where(live, found.low, -np.inf), np.where(live, found.high, -np.inf)
    floor, top = low.max(-1), high.max(-1)
    if chosen is None:
        weight = _first(low >= (floor - LEAN * np.maximum(top - floor, 0.0))[..., None] - found.near)
        level = np.maximum(_second(high), floor)
        plain = live.sum(-1) == 1
    else:
        share, weight = np.clip(chosen[..., 0], 0.0, 1.0), _weights(chosen)
        level = np.maximum(floor + share * (top - floor), floor)
        plain = (live.sum(-1) == 1) & (share == 0)
    moves = live & (high > low + found.near)
    slope, total = _above(found, level, moves)
    plain = plain & (moves.sum(-1) == 1)
    return weight, np.where(plain[..., None], live, slope), np.where(plain, 0.0, total)


def _above(found: Around, level: Floats, moves: Bools) -> tuple[Floats, Floats]:
    """Slopes and the constant of the line above, given t; those that do not move, or not beyond t, are constants."""
    reach = np.where(found.live, np.maximum(found.high - level[..., None], 0.0), 0.0)
    rises = moves & (reach > 0)
    low, high = np.where(rises, found.low, -1.0), np.where(rises, found.high, 1.0)
    slope = np.where(rises, reach / (high - low), 0.0)
    shift = np.where(rises, np.maximum(-slope * low, reach - slope * high), reach)
    size = np.abs(level) + np.where(found.live, np.abs(found.low) + np.abs(found.high), 0.0).sum(-1)
    return slope, level + shift.sum(-1) + 8 * (found.live[0].size + 8) * ROUND * size


def _weights(chosen: Floats) -> Floats:
    """The numbers of all candidates but the first, scaled down where they exceed one together; it takes the rest."""
    weight: Floats = np.clip(chosen, 0.0, 1.0)
    weight[..., 0] = 0.0
    weight = weight / np.maximum(weight.sum(-1, keepdims=True), 1.0)
    weight[..., 0] = np.maximum(1.0 - weight.sum(-1), 0.0)
    return weight


def _second(high: Floats) -> Floats:
    """The second largest of each group; the largest where there is no other."""
    return np.asarray(np.sort(high, -1)[..., -2] if high.shape[-1] > 1 else high[..., 0])


def _first(marks: Bools) -> Floats:
    return np.asarray((marks & (np.cumsum(marks, -1) == 1)) * 1.0)

"""Lines of maxima: below and above the largest of several sums; written for the checker alone.

Let m be the largest of z_p over a group, each z_p in [l_p, u_p]. A node of a proof tree has said of
some candidates that they win (sign +1: m = z_p) or that the largest is reached by another (-1).
Those that are left are *undecided*: m is the largest of them. No candidate below the largest l of
the group can reach m, so it may be dropped; where that drops all undecided ones, no input is left.

*Below.* m >= every z_p, so m >= sum of w_p z_p for weights of at least zero that add up to one.
They are doubles: their sum is within 1.1 k u of one for k candidates, which costs |m| 1.1 k u <=
1.1 k u (sum of sizes).

*Above.* Let t be at least every l_p of those that are undecided and not dropped. max(z_p - t, 0) is
convex and so is below any line that is above it at l_p (where it is 0) and at u_p; m <= t + the sum
of these over those candidates. Lines and sums are rounded up: by 8 (k + 8) u times all that is
added up, k being the number of candidates of the step.

Method: lower weights and upper lines of maxima (theory, section 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.model.network import Bools, Floats, Ints
from suffice.proof.check.limits import need
from suffice.proof.check.tolerances import MAXIMUM_ROUNDING, MAXIMUM_TERMS, TIE_TOLERANCE

Signs: TypeAlias = NDArray[np.int8]


class MaxGroups:
    """The groups of a step as a table of units (groups, most), of which `real` marks those that are
    there.
    """

    def __init__(self, maxima: Sequence[Ints], units: int) -> None:
        sizes = [len(group) for group in maxima]
        listed = [unit for group in maxima for unit in group.tolist()]
        need(
            all(sizes) and len({*listed}) == len(listed),
            "a maximum is over nothing, or over a unit of another",
        )
        need(
            all(0 <= unit < units for unit in listed),
            "a maximum is over a unit that does not exist",
        )
        most = max(sizes)
        self.present = np.arange(most) < np.array(sizes)[:, None]
        self.units = np.array(
            [[*group.tolist(), *[group[0]] * (most - len(group))] for group in maxima],
            dtype=np.int64,
        )
        self.count = len(listed)
        self.first_unit = np.arange(units)  # a unit's group gives its value at its first unit
        for group in maxima:
            self.first_unit[group] = group[0]
        self.in_group = np.zeros(units, dtype=bool)
        self.in_group[listed] = True

    def by_group(self, values: Floats | Signs, missing: float) -> Floats:
        """Values by unit (..., units) as a table (..., groups, most)."""
        return np.where(self.present, values[..., self.units], missing)

    def outputs(self, values: Floats) -> Floats:
        """What the units of the step give when its sums are `values`: maxima at first units, 0 at
        the others.
        """
        given = np.where(self.in_group, 0.0, values)
        given[..., self.units[:, 0]] = self.by_group(values, -np.inf).max(-1)
        return given


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates (n, groups, most) between their bounds, and which of them may reach the
    maximum.
    """

    lower: Floats
    upper: Floats
    contenders: Bools
    infeasible: Bools  # (n,): nobody can
    tolerance: Floats  # (groups, most): those that move by no more count as constants


def candidates_between(
    groups: MaxGroups, lower: Floats, upper: Floats, signs: Signs, tolerance: Floats
) -> Candidates:
    low = groups.by_group(lower, -np.inf)
    high = groups.by_group(upper, -np.inf)
    split_signs = groups.by_group(signs, -1)
    undecided = groups.present & np.where(
        (split_signs > 0).any(-1, keepdims=True), split_signs > 0, split_signs == 0
    )
    contenders = undecided & (high >= low.max(-1, keepdims=True))
    infeasible = ~contenders.any(-1)
    return Candidates(
        low,
        high,
        np.where(infeasible[..., None], undecided, contenders),
        infeasible.any(-1),
        groups.by_group(tolerance, 0.0),
    )


def undecided_candidates(groups: MaxGroups, signs: Signs, unit: int) -> Ints:
    """The units of the group of `unit` that may still win, by the splits alone."""
    row = np.flatnonzero((groups.units == unit).any(-1))[0]
    group = groups.units[row][groups.present[row]]
    winners: Ints = group[signs[group] > 0]
    return winners if len(winners) else np.asarray(group[signs[group] == 0])


def max_lines(candidates: Candidates, alpha: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Slopes below and above (n, groups, most), and constants above (n, groups); `chosen` are
    numbers of a leaf.

    A leaf chooses the weights of all candidates but the first, whose number says how far t is from
    the largest lower bound to the largest upper one. Where it chooses nothing, all weight goes to
    the first candidate with the largest lower bound (or nearly), and t is the second largest upper
    bound. With one candidate left and t at its lower end the line above is that candidate itself.
    """
    contenders = candidates.contenders
    low = np.where(contenders, candidates.lower, -np.inf)
    high = np.where(contenders, candidates.upper, -np.inf)
    floor = low.max(-1)
    top = high.max(-1)
    if alpha is None:
        weight = _first(
            low
            >= (floor - TIE_TOLERANCE * np.maximum(top - floor, 0.0))[..., None]
            - candidates.tolerance
        )
        level = np.maximum(_second(high), floor)
        plain = contenders.sum(-1) == 1
    else:
        share = np.clip(alpha[..., 0], 0.0, 1.0)
        weight = _weights(alpha)
        level = np.maximum(floor + share * (top - floor), floor)
        plain = (contenders.sum(-1) == 1) & (share == 0)
    moves = contenders & (high > low + candidates.tolerance)
    slope, total = _above(candidates, level, moves)
    plain = plain & (moves.sum(-1) == 1)
    return weight, np.where(plain[..., None], contenders, slope), np.where(plain, 0.0, total)


def _above(found: Candidates, level: Floats, moves: Bools) -> tuple[Floats, Floats]:
    """Slopes and the constant of the line above, given t; those that do not move, or not beyond t,
    are constants.
    """
    reach = np.where(found.contenders, np.maximum(found.upper - level[..., None], 0.0), 0.0)
    rises = moves & (reach > 0)
    low = np.where(rises, found.lower, -1.0)
    high = np.where(rises, found.upper, 1.0)
    slope = np.where(rises, reach / (high - low), 0.0)
    shift = np.where(rises, np.maximum(-slope * low, reach - slope * high), reach)
    size = np.abs(level) + np.where(
        found.contenders, np.abs(found.lower) + np.abs(found.upper), 0.0
    ).sum(-1)
    additions = found.contenders[0].size + MAXIMUM_TERMS
    return slope, level + shift.sum(-1) + additions * MAXIMUM_ROUNDING * size


def _weights(chosen: Floats) -> Floats:
    """The numbers of all candidates but the first, scaled down where they exceed one together; it
    takes the rest.
    """
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

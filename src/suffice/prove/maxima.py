"""Maxima: lines below and above the largest of several values, and what a proof may choose of them.

Let m be the largest of z_p, each in [l_p, u_p]. Below: m >= sum of share_p z_p, for shares that add up to one. Above:
for any theta that is no lower than the l_p of those that may win, z_p - theta cut off at zero lies under its chord, so
m <= theta + sum of s_p (z_p - l_p), s_p = max(u_p - theta, 0) / (u_p - l_p). Shares and theta are kept where slopes of
relus are: a candidate's share at its place, and theta, as a share of the way from the largest l_p to the largest u_p,
at the place of the first candidate, whose own share is what the others leave of one.

A proof splits on who wins: "this one" leaves one candidate, and the maximum is exact; "another" leaves the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.model.step import Groups

ROUND = 2.0**-53
LEAN = 2.0**-20  # of the way to the largest upper bound: lower bounds that close together count as equal


@dataclass(frozen=True, eq=False)
class Candidates:
    """Bounds of candidates (n, candidates), those that may still win, and what that leaves of their maxima.

    Candidates that move by no more than `near` (candidates,) count as constants.
    """

    groups: Groups
    lower: Floats
    upper: Floats
    live: Bools
    near: Floats

    @cached_property
    def low(self) -> Floats:
        """The largest lower bound (n, groups) of those that may win: theta is not below it."""
        return self.groups.highest(np.where(self.live, self.lower, -np.inf))

    @cached_property
    def high(self) -> Floats:
        return self.groups.highest(np.where(self.live, self.upper, -np.inf))

    @cached_property
    def settled(self) -> Bools:
        """The groups (n, groups) of which one candidate is left."""
        return np.asarray(self.groups.total(self.live.astype(np.int64)) == 1)


def narrowed(
    groups: Groups, lower: Floats, upper: Floats, signs: Floats | None, near: Floats
) -> tuple[Candidates, Bools]:
    """Who may win by the splits (+1: this one, -1: another) and by the bounds; and where nobody can (n, candidates)."""
    alive = np.ones(lower.shape, dtype=bool) if signs is None else signs >= 0
    if signs is not None:
        named = groups.highest(signs)[..., groups.group] > 0
        alive = np.where(named, signs > 0, alive)
    least = groups.highest(lower)[..., groups.group]  # m is at least that, whoever wins
    live = alive & (upper >= least)
    nobody = ~(groups.highest(live.astype(np.float64)) > 0)[..., groups.group]
    live = np.where(nobody, alive, live)
    return Candidates(groups, lower, upper, live, near), nobody & alive


def start(found: Candidates) -> Floats:
    """The choice (n, candidates) that every search starts from.

    All of the share goes to the candidate with the largest lower bound, theta to the second largest upper bound.
    """
    groups, live = found.groups, found.live
    lower, upper = np.where(live, found.lower, -np.inf), np.where(live, found.upper, -np.inf)
    width = found.high - found.low
    enough = found.low - LEAN * np.where(width > 0, width, 0.0)
    choice = groups.first(lower >= enough[..., groups.group] - found.near).astype(np.float64)
    top = groups.winners(upper)
    second = np.maximum(groups.highest(np.where(top, -np.inf, upper)), found.low)
    choice[..., groups.starts] = np.where(width > 0, (second - found.low) / np.where(width > 0, width, 1.0), 0.0)
    return choice


def lines(found: Candidates, choice: Floats) -> tuple[Floats, Floats, Floats]:
    """Slopes below and above (n, candidates), and the constant above (n, groups), right whatever the rounding here."""
    groups, live, settled = found.groups, found.live, found.settled
    one = settled[..., groups.group]
    below = np.where(one, live, shares(groups, choice))
    theta = np.where(settled, found.low, level(found, choice))
    room = np.where(live, np.maximum(found.upper - theta[..., groups.group], 0.0), 0.0)
    moves = found.upper - found.lower > found.near
    open_ = (room > 0) & moves
    width = np.where(open_, found.upper - found.lower, 1.0)
    above = np.where(open_, room / width, 0.0)
    # each chord must be at least 0 at its lower end and at least u - theta at its upper end
    chord = np.where(open_, np.maximum(-above * found.lower, room - above * found.upper), room)
    size = np.abs(theta) + groups.total(np.where(live, np.abs(found.lower) + np.abs(found.upper), 0.0))
    most = len(groups.units) + 8  # additions
    shift = theta + groups.total(chord) + 4 * most * ROUND * size
    plain = settled & (groups.total((live & moves).astype(np.int64)) == 1)  # the maximum is its one candidate
    return below, np.where(plain[..., groups.group], live, above), np.where(plain, 0.0, shift)


def settled(found: Candidates, choice: Floats) -> Floats:
    """A choice in which a maximum of one candidate is that candidate."""
    groups, one = found.groups, found.settled[..., found.groups.group]
    alone = np.where(groups.units == groups.leaders[groups.group], 0.0, found.live)
    return np.where(one, alone, choice)


def shares(groups: Groups, choice: Floats) -> Floats:
    """The shares that a choice means: none below zero, and together one."""
    share = np.clip(choice, 0.0, 1.0)
    share[..., groups.starts] = 0.0
    share = share / np.maximum(groups.total(share), 1.0)[..., groups.group]
    share[..., groups.starts] = np.maximum(1.0 - groups.total(share), 0.0)
    return share


def level(found: Candidates, choice: Floats) -> Floats:
    """The theta (n, groups) that a choice means."""
    way = np.clip(choice[..., found.groups.starts], 0.0, 1.0)
    return np.maximum(found.low + way * (found.high - found.low), found.low)


def slope_of_level(found: Candidates, choice: Floats, z: Floats) -> Floats:
    """How fast the line above rises (n, groups) with the choice of theta, at z (n, candidates)."""
    groups = found.groups
    rising = found.live & (found.upper > level(found, choice)[..., groups.group])
    width = np.where(rising, found.upper - found.lower, 1.0)
    along = groups.total(np.where(rising, (z - found.lower) / np.maximum(width, 1e-300), 0.0))
    return np.asarray((1.0 - along) * (found.high - found.low))

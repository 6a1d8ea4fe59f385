"""Lines below and above the maximum of several units, and what a proof may choose of them.

Let m be the largest of z_p, each in [l_p, u_p]. Below: m >= sum of w_p z_p, for lower weights w_p
>= 0 that add up to one. Above: for any threshold theta that is no lower than the l_p of the
contenders, max(z_p - theta, 0) lies under its chord, so m <= theta + sum of s_p (z_p - l_p), s_p =
max(u_p - theta, 0) / (u_p - l_p). Both are kept where slopes of relus are: a candidate's weight at
its place, and theta, as a fraction of the way from the largest l_p to the largest u_p, at the place
of the first candidate, whose own weight is what the others leave of one.

A proof splits on who wins: "this one" leaves one contender, and the maximum is exact; "another"
leaves the others.

Method: CROWN's relaxation, for maxima (theory, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.model.step import Groups
from suffice.verify.tolerances import MAXIMUM_ROUNDING, MAXIMUM_TERMS, SMALLEST, TIE_TOLERANCE


@dataclass(frozen=True, eq=False)
class Candidates:
    """Bounds of candidates (n, candidates), and the contenders: those that may still win.

    Candidates that move by no more than `tolerance` (candidates,) count as constants.
    """

    groups: Groups
    lower: Floats
    upper: Floats
    contenders: Bools
    tolerance: Floats

    @cached_property
    def largest_lower(self) -> Floats:
        """The largest lower bound (n, groups) of the contenders: theta is not below it."""
        return self.groups.highest(np.where(self.contenders, self.lower, -np.inf))

    @cached_property
    def largest_upper(self) -> Floats:
        return self.groups.highest(np.where(self.contenders, self.upper, -np.inf))

    @cached_property
    def decided(self) -> Bools:
        """The groups (n, groups) with one contender."""
        return np.asarray(self.groups.total(self.contenders.astype(np.int64)) == 1)


def contending_candidates(
    groups: Groups, lower: Floats, upper: Floats, signs: Floats | None, tolerance: Floats
) -> tuple[Candidates, Bools]:
    """The contenders by the splits (+1: this one, -1: another) and by the bounds; and where nobody
    can win (n, candidates)."""
    allowed = np.ones(lower.shape, dtype=bool) if signs is None else signs >= 0
    if signs is not None:
        winner_named = groups.highest(signs)[..., groups.group] > 0
        allowed = np.where(winner_named, signs > 0, allowed)
    # the maximum is at least that, whoever wins
    largest_lower = groups.highest(lower)[..., groups.group]
    contenders = allowed & (upper >= largest_lower)
    nobody_wins = ~(groups.highest(contenders.astype(np.float64)) > 0)[..., groups.group]
    contenders = np.where(nobody_wins, allowed, contenders)
    return Candidates(groups, lower, upper, contenders, tolerance), nobody_wins & allowed


def initial_choice(candidates: Candidates) -> Floats:
    """The choice (n, candidates) that every ascent starts from.

    All of the lower weight goes to the contender with the largest lower bound, theta to the second
    largest upper bound.
    """
    groups = candidates.groups
    contenders = candidates.contenders
    lower = np.where(contenders, candidates.lower, -np.inf)
    upper = np.where(contenders, candidates.upper, -np.inf)
    width = candidates.largest_upper - candidates.largest_lower
    nearly_largest = candidates.largest_lower - TIE_TOLERANCE * np.where(width > 0, width, 0.0)
    choice = groups.first(lower >= nearly_largest[..., groups.group] - candidates.tolerance).astype(
        np.float64
    )
    likely_winner = groups.winners(upper)
    second = np.maximum(
        groups.highest(np.where(likely_winner, -np.inf, upper)), candidates.largest_lower
    )
    choice[..., groups.starts] = np.where(
        width > 0, (second - candidates.largest_lower) / np.where(width > 0, width, 1.0), 0.0
    )
    return choice


def lines(candidates: Candidates, choice: Floats) -> tuple[Floats, Floats, Floats]:
    """Slopes below and above (n, candidates), and the intercept above (n, groups), valid whatever
    the rounding here."""
    groups = candidates.groups
    contenders = candidates.contenders
    decided = candidates.decided
    decided_each = decided[..., groups.group]
    lower_slope = np.where(decided_each, contenders, lower_weights(groups, choice))
    theta = np.where(decided, candidates.largest_lower, threshold(candidates, choice))
    excess = np.where(contenders, np.maximum(candidates.upper - theta[..., groups.group], 0.0), 0.0)
    moves = candidates.upper - candidates.lower > candidates.tolerance
    rising = (excess > 0) & moves
    width = np.where(rising, candidates.upper - candidates.lower, 1.0)
    upper_slope = np.where(rising, excess / width, 0.0)
    # each chord must be at least 0 at its lower end and at least u - theta at its upper end
    chord_intercept = np.where(
        rising,
        np.maximum(-upper_slope * candidates.lower, excess - upper_slope * candidates.upper),
        excess,
    )
    magnitude = np.abs(theta) + groups.total(
        np.where(contenders, np.abs(candidates.lower) + np.abs(candidates.upper), 0.0)
    )
    additions = len(groups.units) + MAXIMUM_TERMS
    upper_intercept = (
        theta + groups.total(chord_intercept) + additions * MAXIMUM_ROUNDING * magnitude
    )
    # the maximum is its one candidate
    is_single = decided & (groups.total((contenders & moves).astype(np.int64)) == 1)
    return (
        lower_slope,
        np.where(is_single[..., groups.group], contenders, upper_slope),
        np.where(is_single, 0.0, upper_intercept),
    )


def canonical_choice(candidates: Candidates, choice: Floats) -> Floats:
    """A choice in which a maximum of one contender is that contender."""
    groups = candidates.groups
    decided_each = candidates.decided[..., candidates.groups.group]
    single_choice = np.where(
        groups.units == groups.leaders[groups.group], 0.0, candidates.contenders
    )
    return np.where(decided_each, single_choice, choice)


def lower_weights(groups: Groups, choice: Floats) -> Floats:
    """The lower weights that a choice means: none below zero, and together one."""
    weights = np.clip(choice, 0.0, 1.0)
    weights[..., groups.starts] = 0.0
    weights = weights / np.maximum(groups.total(weights), 1.0)[..., groups.group]
    weights[..., groups.starts] = np.maximum(1.0 - groups.total(weights), 0.0)
    return weights


def threshold(candidates: Candidates, choice: Floats) -> Floats:
    """The threshold theta (n, groups) that a choice means."""
    fraction = np.clip(choice[..., candidates.groups.starts], 0.0, 1.0)
    return np.maximum(
        candidates.largest_lower + fraction * (candidates.largest_upper - candidates.largest_lower),
        candidates.largest_lower,
    )


def threshold_gradient(candidates: Candidates, choice: Floats, pre_activations: Floats) -> Floats:
    """How fast the upper line rises (n, groups) with the choice of theta, at pre-activations (n,
    candidates)."""
    groups = candidates.groups
    rising = candidates.contenders & (
        candidates.upper > threshold(candidates, choice)[..., groups.group]
    )
    width = np.where(rising, candidates.upper - candidates.lower, 1.0)
    chord_rise = groups.total(
        np.where(rising, (pre_activations - candidates.lower) / np.maximum(width, SMALLEST), 0.0)
    )
    return np.asarray((1.0 - chord_rise) * (candidates.largest_upper - candidates.largest_lower))

"""The dual variables of a backward bound, all of which a proof may choose freely.

They are lower slopes alpha of unstable relus (and the lower weights and thresholds of maxima, kept
in the same array), multipliers beta of splits, and shares of upper planes. Any finite values give a
sound bound.

Method: weak duality (theory, section 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Groups
from suffice.verify.nets.crown import max_lines
from suffice.verify.nets.crown.prepared import PreparedProblem
from suffice.verify.nets.crown.relaxation import IntermediateBounds

# lower slopes, upper slopes, upper intercepts (n, units)
RelaxationLines: TypeAlias = tuple[Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class Dual:
    """Dual variables of a batch: lower slopes alpha and split multipliers beta, both (n, units).

    `plane_shares` (n, m, k) are the shares of the upper planes of the first step, where there are
    planes.
    """

    alpha: Floats
    beta: Floats
    plane_shares: Floats | None = None

    def take(self, index: Ints | slice) -> Dual:
        return Dual(
            self.alpha[index],
            self.beta[index],
            None if self.plane_shares is None else self.plane_shares[index],
        )

    def replaced_where(self, better: Bools, new: Dual) -> Dual:
        """The new dual for the items (n,) that are better with it, this one for the others."""
        column = better[:, None]
        plane_shares = self.plane_shares
        if plane_shares is not None and new.plane_shares is not None:
            plane_shares = np.where(better[:, None, None], new.plane_shares, plane_shares)
        return Dual(
            np.where(column, new.alpha, self.alpha),
            np.where(column, new.beta, self.beta),
            plane_shares,
        )


def initial_dual(bounds: IntermediateBounds) -> Dual:
    """The dual that every ascent starts from: the relaxation's own slopes, no multipliers."""
    alpha = bounds.lower_slope if bounds.initial_alpha is None else bounds.initial_alpha
    return Dual(alpha.copy(), np.zeros_like(bounds.lower_slope))


def canonical_dual(prepared: PreparedProblem, bounds: IntermediateBounds, dual: Dual) -> Dual:
    """The dual in canonical form, as it is written down: where there is no choice, the slopes that
    were used.

    A reader with slightly other bounds may find that there is a choice, or the other way round: it
    uses what is written.
    """
    alpha = np.where(bounds.unstable, np.clip(dual.alpha, 0.0, 1.0), bounds.lower_slope)
    if prepared.curved is not None:
        alpha = np.where(prepared.curved, 0.0, alpha)
    for step_index, _, candidate_units in steps_with_maxima(prepared):
        alpha[:, candidate_units] = max_lines.canonical_choice(
            bounds.candidates(prepared, step_index), dual.alpha[:, candidate_units]
        )
    return Dual(alpha, dual.beta, dual.plane_shares)


def chosen_lines(
    prepared: PreparedProblem, bounds: IntermediateBounds, dual: Dual
) -> RelaxationLines:
    """The slopes below and above every unit, and the intercepts above, that a dual chooses."""
    lower_slope = np.where(
        bounds.unstable, np.minimum(np.maximum(dual.alpha, 0.0), 1.0), bounds.lower_slope
    )
    if prepared.pooled is None:
        return lower_slope, bounds.upper_slope, bounds.upper_intercept
    upper_slope = bounds.upper_slope.copy()
    upper_intercept = bounds.upper_intercept.copy()
    for step_index, groups, candidate_units in steps_with_maxima(prepared):
        leaders = prepared.slices[step_index].start + groups.leaders
        (
            lower_slope[:, candidate_units],
            upper_slope[:, candidate_units],
            upper_intercept[:, leaders],
        ) = max_lines.lines(bounds.candidates(prepared, step_index), dual.alpha[:, candidate_units])
    return lower_slope, upper_slope, upper_intercept


def steps_with_maxima(prepared: PreparedProblem) -> Iterator[tuple[int, Groups, Ints]]:
    """The steps with maxima: their index, their groups, and the places of the candidates among all
    units."""
    for step_index, step in enumerate(prepared.steps):
        if step.groups is not None:
            yield step_index, step.groups, prepared.slices[step_index].start + step.groups.units

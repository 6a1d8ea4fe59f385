"""The relaxation: for bounds of each hidden unit, a line below it and a line above it.

Relus get CROWN's lines (a chord above), smooth curves those of `smooth`, maxima those of
`max_lines`. Each is valid in real arithmetic whatever the rounding here.

Method: CROWN's relaxation (theory, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.model.curves import CURVES
from suffice.model.network import Bools, Floats, Ints, Step
from suffice.verify.nets.crown import max_lines, smooth
from suffice.verify.nets.crown.prepared import PreparedProblem
from suffice.verify.tolerances import CHORD_ROUNDING, TIE_RATIO, ZERO_TOLERANCE

Signs: TypeAlias = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class IntermediateBounds:
    """Intermediate bounds and the lines that they allow, for a batch of input sets: all arrays (n,
    units).

    lower <= z <= upper, and lower_slope·z <= relu(z) <= upper_slope·z + upper_intercept; `unstable`
    marks the relus whose `lower_slope` may be any slope in [0, 1]. Units without relu are given as
    [0, inf], which makes both lines the identity. A smooth curve lies above lower_slope·z +
    lower_intercept (None where there are no curves). `contenders` marks the candidates of maxima
    that may still win, and `initial_alpha` has the slopes, lower weights and thresholds that an
    ascent starts from; both are None where there are no maxima. The `upper_intercept` of a maximum
    is at its first candidate.
    """

    lower: Floats
    upper: Floats
    lower_slope: Floats
    upper_slope: Floats
    upper_intercept: Floats
    unstable: Bools
    lower_intercept: Floats | None = None
    contenders: Bools | None = None
    initial_alpha: Floats | None = None

    def take(self, index: Ints | slice) -> IntermediateBounds:
        return IntermediateBounds(
            self.lower[index],
            self.upper[index],
            self.lower_slope[index],
            self.upper_slope[index],
            self.upper_intercept[index],
            self.unstable[index],
            None if self.lower_intercept is None else self.lower_intercept[index],
            None if self.contenders is None else self.contenders[index],
            None if self.initial_alpha is None else self.initial_alpha[index],
        )

    @staticmethod
    def blank(count: int, prepared: PreparedProblem) -> IntermediateBounds:
        """Arrays to be filled in, step by step."""
        shape = (count, prepared.unit_count)
        lower, upper, lower_slope, upper_slope, upper_intercept = np.zeros((5, *shape))
        lower_intercept = None if prepared.curved is None else np.zeros(shape)
        unstable = np.zeros(shape, dtype=bool)
        has_maxima = prepared.pooled is not None
        contenders, initial_alpha = (
            (np.zeros(shape, dtype=bool), np.zeros(shape)) if has_maxima else (None, None)
        )
        return IntermediateBounds(
            lower,
            upper,
            lower_slope,
            upper_slope,
            upper_intercept,
            unstable,
            lower_intercept,
            contenders,
            initial_alpha,
        )

    def candidates(self, prepared: PreparedProblem, step_index: int) -> max_lines.Candidates:
        """The candidates of the maxima of one step, once all bounds are known."""
        if step_index not in self._candidates:
            groups = prepared.steps[step_index].groups
            assert groups is not None
            assert self.contenders is not None
            units = prepared.slices[step_index].start + groups.units
            tolerance = ZERO_TOLERANCE * prepared.magnitude[step_index][groups.units]
            lower = self.lower[:, units]
            upper = self.upper[:, units]
            contenders = self.contenders[:, units]
            self._candidates[step_index] = max_lines.Candidates(
                groups, lower, upper, contenders, tolerance
            )
        return self._candidates[step_index]

    @cached_property
    def _candidates(self) -> dict[int, max_lines.Candidates]:
        return {}

    def splittable(self, prepared: PreparedProblem) -> Bools:
        """The units (n, units) whose relaxation a split at zero would improve."""
        if prepared.curved is None:
            return self.unstable
        return self.unstable | (prepared.curved & (self.lower < 0) & (self.upper > 0))

    @property
    def infeasible(self) -> Bools:
        """Items (n,) whose splits cannot all hold: some unit's lower bound is above its upper
        bound."""
        return np.asarray((self.lower > self.upper).any(-1))


def relax_step(
    bounds: IntermediateBounds, prepared: PreparedProblem, step_index: int, signs: Signs | None
) -> None:
    """Fill in the lines around one step's units, whose bounds are known; `signs` (n, units) are its
    own splits."""
    step = prepared.steps[step_index]
    columns = prepared.slices[step_index]
    if prepared.pooled is None or not step.pooled.all():
        _relax_relus(bounds, columns, ZERO_TOLERANCE * prepared.magnitude[step_index], signs)
    _relax_curves(bounds, columns, step)
    _relax_maxima(bounds, prepared, step_index, signs)


def _relax_relus(
    bounds: IntermediateBounds, columns: slice, tolerance: Floats, signs: Signs | None
) -> None:
    """Fill in the lines around relu over [lower, upper], valid in real arithmetic whatever the
    rounding here.

    The upper line is flat where `upper` is within `tolerance` of zero or below, has slope one where
    `lower` is or above, and is the chord elsewhere. Where a unit is split, one of them is on the
    right side of zero already.
    """
    lower = bounds.lower[:, columns]
    upper = bounds.upper[:, columns]
    inactive = upper <= tolerance if signs is None else (upper <= tolerance) & (signs <= 0)
    active = ~inactive & (lower >= -tolerance)
    crossing = ~(inactive | active)
    chord_upper = np.where(crossing, upper, 1.0)
    chord_lower = np.where(crossing, lower, 0.0)
    slope = np.where(crossing, chord_upper / (chord_upper - chord_lower), active)
    # the chord must be at least 0 at `lower` and at least `upper` at `upper`
    chord_intercept = (
        np.maximum(-slope * chord_lower, chord_upper * (1 - slope)) + CHORD_ROUNDING * chord_upper
    )
    line_intercept = np.maximum(np.where(inactive, upper, -lower), 0.0)
    bounds.unstable[:, columns] = (lower < 0) & (upper > 0)
    bounds.upper_slope[:, columns] = slope
    bounds.upper_intercept[:, columns] = np.where(crossing, chord_intercept, line_intercept)
    bounds.lower_slope[:, columns] = np.where(
        crossing, chord_upper > -chord_lower * TIE_RATIO, active
    )


def _relax_curves(bounds: IntermediateBounds, columns: slice, step: Step) -> None:
    """The same for the smooth units, whose lines are not for anybody to choose."""
    for name, units in step.curves:
        hidden_units = columns.start + units
        assert bounds.lower_intercept is not None
        (
            bounds.lower_slope[:, hidden_units],
            bounds.lower_intercept[:, hidden_units],
            bounds.upper_slope[:, hidden_units],
            bounds.upper_intercept[:, hidden_units],
        ) = smooth.lines(CURVES[name], bounds.lower[:, hidden_units], bounds.upper[:, hidden_units])
        bounds.unstable[:, hidden_units] = False


def _relax_maxima(
    bounds: IntermediateBounds, prepared: PreparedProblem, step_index: int, signs: Signs | None
) -> None:
    """The same for maxima: who may win, and the lines that every ascent starts from."""
    groups = prepared.steps[step_index].groups
    columns = prepared.slices[step_index]
    if bounds.initial_alpha is not None:
        bounds.initial_alpha[:, columns] = bounds.lower_slope[:, columns]
    if groups is None:
        return
    assert bounds.contenders is not None
    assert bounds.initial_alpha is not None
    candidate_units = prepared.slices[step_index].start + groups.units
    own_signs = None if signs is None else signs[:, groups.units].astype(np.float64)
    tolerance = ZERO_TOLERANCE * prepared.magnitude[step_index][groups.units]
    candidates, nobody_wins = max_lines.contending_candidates(
        groups,
        bounds.lower[:, candidate_units],
        bounds.upper[:, candidate_units],
        own_signs,
        tolerance,
    )
    choice = max_lines.initial_choice(candidates)
    lower_slope, upper_slope, upper_intercept = max_lines.lines(candidates, choice)
    bounds.contenders[:, candidate_units] = candidates.contenders
    bounds.lower_slope[:, candidate_units] = lower_slope
    bounds.upper_slope[:, candidate_units] = upper_slope
    # as certificates hold them
    bounds.initial_alpha[:, candidate_units] = choice.astype(np.float32)
    bounds.upper_intercept[:, candidate_units] = 0.0
    bounds.unstable[:, candidate_units] = False
    bounds.upper_intercept[:, prepared.slices[step_index].start + groups.leaders] = upper_intercept
    bounds.lower[:, candidate_units] += np.where(
        nobody_wins, bounds.upper[:, candidate_units] - bounds.lower[:, candidate_units] + 1, 0.0
    )  # an empty interval: the item is infeasible

"""The lines around every hidden unit that bounds of it allow, below and above relus, curves and maxima."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.model.curves import CURVES
from suffice.model.network import Bools, Floats, Ints, Step
from suffice.prove import maxima, tangents
from suffice.prove.bounds.form import ROUND, Form

# Bounds as far below zero as above it, and those that touch zero, which whole numbers often have, get the same lines
# by every reader, however it rounds: a share of their distance, and a share of the size of what is added up.
LEAN, NEAR = 1 + 2.0**-20, 2.0**-32

Signs: TypeAlias = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Hidden:
    """For a batch of input sets, bounds of all hidden units in one row (n, units) and the lines they allow.

    relu(z) lies above low·z and below up·z + shift; `loose` marks the unstable units, whose `low` may be any
    slope in [0, 1]. Units without relu are given as [0, inf], which makes both lines the identity. A smooth curve
    lies above low·z + floor; there is no `floor` where there are no curves. `live` marks the candidates of maxima that
    may still win, and `start` has the slopes and the choice of lines to start from; there are none where there are no
    maxima. The `shift` of a maximum is at its first candidate.
    """

    lower: Floats
    upper: Floats
    low: Floats
    up: Floats
    shift: Floats
    loose: Bools
    floor: Floats | None = None
    live: Bools | None = None
    start: Floats | None = None

    def take(self, index: Ints | slice) -> Hidden:
        return Hidden(
            self.lower[index],
            self.upper[index],
            self.low[index],
            self.up[index],
            self.shift[index],
            self.loose[index],
            None if self.floor is None else self.floor[index],
            None if self.live is None else self.live[index],
            None if self.start is None else self.start[index],
        )

    @staticmethod
    def blank(count: int, form: Form) -> Hidden:
        """Arrays to be filled in, step by step."""
        shape = (count, form.units)
        lower, upper, low, up, shift = np.zeros((5, *shape))
        floor = None if form.curved is None else np.zeros(shape)
        loose, pools = np.zeros(shape, dtype=bool), form.pooled is not None
        live, start = (np.zeros(shape, dtype=bool), np.zeros(shape)) if pools else (None, None)
        return Hidden(lower, upper, low, up, shift, loose, floor, live, start)

    def candidates(self, form: Form, place: int) -> maxima.Candidates:
        """The candidates of the maxima of one step, once all bounds are known."""
        if place not in self._candidates:
            groups = form.steps[place].groups
            assert groups is not None
            assert self.live is not None
            at = form.slices[place].start + groups.units
            near = NEAR * form.size[place][groups.units]
            lower, upper, live = self.lower[:, at], self.upper[:, at], self.live[:, at]
            self._candidates[place] = maxima.Candidates(groups, lower, upper, live, near)
        return self._candidates[place]

    @cached_property
    def _candidates(self) -> dict[int, maxima.Candidates]:
        return {}

    def crossing(self, form: Form) -> Bools:
        """The units that a split at zero would tell something about."""
        if form.curved is None:
            return self.loose
        return self.loose | (form.curved & (self.lower < 0) & (self.upper > 0))

    @property
    def contradicted(self) -> Bools:
        """Items whose splits cannot all hold: some unit's lower bound is above its upper bound."""
        return np.asarray((self.lower > self.upper).any(-1))


def draw(found: Hidden, form: Form, place: int, signs: Signs | None) -> None:
    """Fill in the lines around one step's units, whose bounds are known; `signs` (n, units) are its own splits."""
    step, part = form.steps[place], form.slices[place]
    if form.pooled is None or not step.pooled.all():
        _relax(found, part, NEAR * form.size[place], signs)
    _relax_curves(found, part, step)
    _relax_maxima(found, form, place, signs)


def _relax(found: Hidden, part: slice, near: Floats, signs: Signs | None) -> None:
    """Fill in the lines around relu over [lower, upper], valid in real arithmetic whatever the rounding here.

    The line above is flat where `upper` is `near` zero, has the slope one where `lower` is, and is the chord elsewhere.
    Where a unit is split, one of them is on the right side of zero already.
    """
    lower, upper = found.lower[:, part], found.upper[:, part]
    flat = upper <= near if signs is None else (upper <= near) & (signs <= 0)
    straight = ~flat & (lower >= -near)
    bent = ~(flat | straight)
    high, deep = np.where(bent, upper, 1.0), np.where(bent, lower, 0.0)
    slope = np.where(bent, high / (high - deep), straight)
    # the chord must be at least 0 at `lower` and at least `upper` at `upper`
    chord = np.maximum(-slope * deep, high * (1 - slope)) + 8 * ROUND * high
    rise = np.maximum(np.where(flat, upper, -lower), 0.0)
    found.loose[:, part] = (lower < 0) & (upper > 0)
    found.up[:, part] = slope
    found.shift[:, part] = np.where(bent, chord, rise)
    found.low[:, part] = np.where(bent, high > -deep * LEAN, straight)


def _relax_curves(found: Hidden, part: slice, step: Step) -> None:
    """The same for the smooth units, whose lines are not for anybody to choose."""
    for name, units in step.curves:
        at = part.start + units
        assert found.floor is not None
        found.low[:, at], found.floor[:, at], found.up[:, at], found.shift[:, at] = tangents.lines(
            CURVES[name], found.lower[:, at], found.upper[:, at]
        )
        found.loose[:, at] = False


def _relax_maxima(found: Hidden, form: Form, place: int, signs: Signs | None) -> None:
    """The same for maxima: who may win, and the lines that every search starts from."""
    groups, part = form.steps[place].groups, form.slices[place]
    if found.start is not None:
        found.start[:, part] = found.low[:, part]
    if groups is None:
        return
    assert found.live is not None
    assert found.start is not None
    at = form.slices[place].start + groups.units
    mine = None if signs is None else signs[:, groups.units].astype(np.float64)
    near = NEAR * form.size[place][groups.units]
    range_, nobody = maxima.narrowed(groups, found.lower[:, at], found.upper[:, at], mine, near)
    choice = maxima.start(range_)
    low, up, shift = maxima.lines(range_, choice)
    found.live[:, at], found.low[:, at], found.up[:, at] = range_.live, low, up
    found.start[:, at] = choice.astype(np.float32)  # as certificates hold them
    found.shift[:, at], found.loose[:, at] = 0.0, False
    found.shift[:, form.slices[place].start + groups.leaders] = shift
    found.lower[:, at] += np.where(nobody, found.upper[:, at] - found.lower[:, at] + 1, 0.0)  # a contradiction

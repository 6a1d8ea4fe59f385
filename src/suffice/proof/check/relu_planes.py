"""Upper planes of units of the first step, over the input itself; why they hold is said in
network.py.

Method: upper planes (theory, section 3, Lemma 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.model.network import Floats, Ints
from suffice.proof.check.inputs import InputSet, InputState
from suffice.proof.check.layers import StepTables, rows_of
from suffice.proof.check.leaf import UpperPlanes
from suffice.proof.check.limits import Limit
from suffice.proof.check.linear_forms import LinearForms


@dataclass(frozen=True, eq=False)
class PlanesTaken:
    """Planes a·x + c above units of the first step; `magnitudes` measure their rounding, `units`
    are those replaced.
    """

    plane_rows: Floats
    constants: Floats
    magnitudes: Floats
    units: list[Ints]


class FirstStepPlanes:
    """Tilted lines above the first step; `size` (units,) is how large its sums' terms can be around
    this text.
    """

    def __init__(self, tables: StepTables, magnitude: Floats, limit: Limit) -> None:
        self.step = tables.steps[0]
        self.relu_mask = tables.relu_masks[0]
        self.max_groups = tables.max_groups[0]
        self.magnitude = magnitude
        self.limit = limit
        self.weight_ranges: dict[int, tuple[Floats, Floats]] = {}  # of maxima

    def take_planes(
        self,
        form: LinearForms,
        inputs: InputSet,
        states: Sequence[InputState],
        planes: Sequence[UpperPlanes | None],
    ) -> tuple[LinearForms, Floats]:
        """Forms over the first step without the units that take planes, and the rows (n, 1, inputs)
        of these planes.
        """
        shape = (len(states), 1)
        rows = form.rows.copy()
        constant, magnitude = (
            np.broadcast_to(side, shape).copy() for side in (form.constant, form.magnitude)
        )
        plane_rows = np.zeros((*shape, self.step.weight.shape[1]))
        for i, planes_of_leaf in enumerate(planes):
            if planes_of_leaf is None:
                continue
            self.limit.check_time()
            for taken_planes in (
                self._above_relus(planes_of_leaf, inputs, states[i]),
                self._above_maxima(planes_of_leaf, inputs, states[i]),
            ):
                negative = np.array(
                    [min(rows[i, 0, units[0]], 0.0) for units in taken_planes.units]
                )
                constant[i, 0] += negative @ taken_planes.constants
                magnitude[i, 0] += 3 * np.abs(negative) @ taken_planes.magnitudes
                plane_rows[i, 0] += negative @ taken_planes.plane_rows
                for units, taken in zip(taken_planes.units, negative, strict=True):
                    rows[i, 0, units] -= taken
        return LinearForms(rows, constant, magnitude), plane_rows

    def _above_relus(self, planes: UpperPlanes, inputs: InputSet, state: InputState) -> PlanesTaken:
        step = self.step
        is_relu = self.relu_mask[planes.units]
        units = planes.units[is_relu]
        shares = planes.shares[is_relu]
        weight = rows_of(step, units)
        plane_rows = weight * np.repeat(shares, weight.shape[1] // shares.shape[1], axis=1)
        least_off, least_on = (
            inputs.least_values(part[None], [state])[0]
            for part in (plane_rows, plane_rows - weight)
        )
        constants = np.maximum(-least_off, step.bias[units] - least_on)
        return PlanesTaken(plane_rows, constants, self.magnitude[units], list(units[:, None]))

    def _above_maxima(
        self, planes: UpperPlanes, inputs: InputSet, state: InputState
    ) -> PlanesTaken:
        """A line above a maximum is above all its units that may reach it."""
        step = self.step
        groups = self.max_groups
        size = self.magnitude
        places = [] if groups is None else np.flatnonzero(~self.relu_mask[planes.units]).tolist()
        taken = PlanesTaken(
            np.zeros((len(places), step.weight.shape[1])),
            np.zeros(len(places)),
            np.zeros(len(places)),
            [],
        )
        for n, place in enumerate(places):
            assert groups is not None
            assert planes.contenders is not None
            row = int(np.flatnonzero(groups.units[:, 0] == planes.units[place])[0])
            group = groups.units[row][groups.present[row]]
            contenders = planes.contenders[row][groups.present[row]]
            least, most = self._weight_range(row, group)
            taken.plane_rows[n] = plane_row = least + planes.shares[place] * (most - least)
            rest = inputs.least_values(
                (plane_row - rows_of(step, group[contenders]))[None], [state]
            )[0]
            taken.constants[n], taken.magnitudes[n] = (
                (step.bias[group[contenders]] - rest).max(),
                size[group].sum(),
            )
            taken.units.append(group)
        return taken

    def _weight_range(self, row: int, group: Ints) -> tuple[Floats, Floats]:
        """The least and the largest weights (inputs,) of a maximum of the first step, kept for
        other leaves.
        """
        if row not in self.weight_ranges:
            weight = rows_of(self.step, group)
            self.weight_ranges[row] = weight.min(0), weight.max(0)
        return self.weight_ranges[row]

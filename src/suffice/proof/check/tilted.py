"""Tilted: lines above units of the first step that lean on the input itself; why they hold is said in network.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.model.network import Floats, Ints
from suffice.proof.check.forms import Form
from suffice.proof.check.inputs import InputSet, State
from suffice.proof.check.layers import Layers, rows_of
from suffice.proof.check.leaf import Tilts
from suffice.proof.check.reading import Limit


@dataclass(frozen=True, eq=False)
class Above:
    """Lines a·x + c above units of the first step; `count` is what rounding is measured by, `whose` they stand for."""

    rows: Floats
    constants: Floats
    count: Floats
    whose: list[Ints]


class Tilted:
    """Tilted lines above the first step; `size` (units,) is how large its sums' terms can be around this text."""

    def __init__(self, layers: Layers, size: Floats, limit: Limit) -> None:
        self.step, self.relu, self.pools = layers.steps[0], layers.relu[0], layers.pools[0]
        self.size, self.limit = size, limit
        self.ends: dict[int, tuple[Floats, Floats]] = {}  # of maxima

    def take(
        self, form: Form, inputs: InputSet, states: Sequence[State], above: Sequence[Tilts | None]
    ) -> tuple[Form, Floats]:
        """Forms over the first step without what takes tilted lines, and the rows (n, 1, inputs) of these lines."""
        shape = (len(states), 1)
        rows = form.rows.copy()
        total, size = (np.broadcast_to(side, shape).copy() for side in (form.constant, form.size))
        tilted = np.zeros((*shape, self.step.weight.shape[1]))
        for i, tilts in enumerate(above):
            if tilts is None:
                continue
            self.limit.look()
            for found in (self._above_relus(tilts, inputs, states[i]), self._above_maxima(tilts, inputs, states[i])):
                down = np.array([min(rows[i, 0, units[0]], 0.0) for units in found.whose])
                total[i, 0] += down @ found.constants
                size[i, 0] += 3 * np.abs(down) @ found.count
                tilted[i, 0] += down @ found.rows
                for units, taken in zip(found.whose, down, strict=True):
                    rows[i, 0, units] -= taken
        return Form(rows, total, size), tilted

    def _above_relus(self, tilts: Tilts, inputs: InputSet, state: State) -> Above:
        step, here = self.step, self.relu[tilts.units]
        units, shares = tilts.units[here], tilts.shares[here]
        weight = rows_of(step, units)
        lean = weight * np.repeat(shares, weight.shape[1] // shares.shape[1], axis=1)
        off, on = (inputs.least(part[None], [state])[0] for part in (lean, lean - weight))
        constants = np.maximum(-off, step.bias[units] - on)
        return Above(lean, constants, self.size[units], list(units[:, None]))

    def _above_maxima(self, tilts: Tilts, inputs: InputSet, state: State) -> Above:
        """A line above a maximum is above all its units that may reach it."""
        step, pools, size = self.step, self.pools, self.size
        places = [] if pools is None else np.flatnonzero(~self.relu[tilts.units]).tolist()
        found = Above(np.zeros((len(places), step.weight.shape[1])), np.zeros(len(places)), np.zeros(len(places)), [])
        for n, place in enumerate(places):
            assert pools is not None
            assert tilts.live is not None
            row = int(np.flatnonzero(pools.units[:, 0] == tilts.units[place])[0])
            group, live = pools.units[row][pools.real[row]], tilts.live[row][pools.real[row]]
            least, most = self._ends(row, group)
            found.rows[n] = lean = least + tilts.shares[place] * (most - least)
            rest = inputs.least((lean - rows_of(step, group[live]))[None], [state])[0]
            found.constants[n], found.count[n] = (step.bias[group[live]] - rest).max(), size[group].sum()
            found.whose.append(group)
        return found

    def _ends(self, row: int, group: Ints) -> tuple[Floats, Floats]:
        """The least and the largest weights (inputs,) of a maximum of the first step, kept for other leaves."""
        if row not in self.ends:
            weight = rows_of(self.step, group)
            self.ends[row] = weight.min(0), weight.max(0)
        return self.ends[row]

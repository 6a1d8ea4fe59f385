"""Leaf: the end of a branch of a proof, as it was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.model.network import Bools, Floats, Ints
from suffice.proof.check.inputs import State

Signs: TypeAlias = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Tilts:
    """Units of the first step, and a share (units, inputs or words) for each number of the row of the line above.

    A relu's is of its weight; a maximum's says how far the number is from the least to the largest weight of its units.
    `live` (maxima, most) marks the units that may reach each maximum, once that is known.
    """

    units: Ints
    shares: Floats
    live: Bools | None = None


@dataclass(frozen=True, eq=False)
class Stated:
    """A relu unit's sum is at least `value` (sign 1), or at most that (-1)."""

    unit: int
    sign: int
    value: float


@dataclass(frozen=True, eq=False)
class Leaf:
    """A leaf as it was read; by unit: the `signs` of splits, `alpha` (NaN where not given), `push` = beta·sign.

    `ends` (2, units) are the bounds that were stated above it, infinite elsewhere. It shows that the margin against the
    rival is above zero, or what is `stated` itself.
    """

    line: int
    rival: int
    signs: Signs
    alpha: Floats
    push: Floats
    state: State
    ends: Floats
    above: Tilts | None = None
    stated: Stated | None = None

    @property
    def bytes(self) -> int:
        tilts = 0 if self.above is None else self.above.shares.nbytes
        return self.signs.nbytes + self.alpha.nbytes + self.push.nbytes + self.state.bytes + self.ends.nbytes + tilts

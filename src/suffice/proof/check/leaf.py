"""Leaf: the end of a branch of a proof tree, as it was read.

Method: leaves of proof trees (theory, sections 2, 3 and 13).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.model.network import Bools, Floats, Ints
from suffice.proof.check.inputs import InputState

Signs: TypeAlias = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class UpperPlanes:
    """Upper planes of units of the first step: shares (units, inputs or words) for each number of a
    plane's row.

    A relu's is of its weight; a maximum's says how far the number is from the least to the largest
    weight of its units. `contenders` (maxima, most) marks the units that may reach each maximum,
    once that is known.
    """

    units: Ints
    shares: Floats
    contenders: Bools | None = None


@dataclass(frozen=True, eq=False)
class Lemma:
    """A relu unit's sum is at least `value` (sign 1), or at most that (-1)."""

    unit: int
    sign: int
    value: float


@dataclass(frozen=True, eq=False)
class Leaf:
    """A leaf as it was read; by unit: the `signs` of splits, `alpha` (NaN where not given),
    `split_terms` = beta·sign.

    `lemma_bounds` (2, units) are the bounds stated above it, infinite elsewhere. It shows that the
    margin against the rival is above zero, or its `lemma`.
    """

    line_number: int
    rival: int
    signs: Signs
    alpha: Floats
    split_terms: Floats
    state: InputState
    lemma_bounds: Floats
    planes: UpperPlanes | None = None
    lemma: Lemma | None = None

    @property
    def bytes(self) -> int:
        planes = 0 if self.planes is None else self.planes.shares.nbytes
        return (
            self.signs.nbytes
            + self.alpha.nbytes
            + self.split_terms.nbytes
            + self.state.bytes
            + self.lemma_bounds.nbytes
            + planes
        )

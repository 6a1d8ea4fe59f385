"""Forms: linear forms over what a step receives, and the lines around its units that take them one step back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.model.network import Floats, Ints


@dataclass(frozen=True, eq=False)
class Form:
    """Rows (n or 1, r, outputs of a step), constants and sizes (n or 1, r): linear forms, and their S so far."""

    rows: Floats
    constant: Floats
    size: Floats


@dataclass(frozen=True, eq=False)
class Lines:
    """Around every unit (n, units): below·z + floor <= f(z) <= above·z + shift."""

    below: Floats
    above: Floats
    shift: Floats
    floor: Floats

    @staticmethod
    def blank(leaves: int, units: int) -> Lines:
        return Lines(*np.zeros((4, leaves, units)))

    def take(self, leaves: Ints) -> Lines:
        return Lines(self.below[leaves], self.above[leaves], self.shift[leaves], self.floor[leaves])

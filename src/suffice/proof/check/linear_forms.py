"""Linear forms over what a step receives, and the relaxation of units that carries them one step
back.

Method: backward bounds (theory, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.model.network import Floats, Ints


@dataclass(frozen=True, eq=False)
class LinearForms:
    """Rows (n or 1, r, outputs of a step), constants and magnitudes (n or 1, r): forms, and their S
    so far.
    """

    rows: Floats
    constant: Floats
    magnitude: Floats


@dataclass(frozen=True, eq=False)
class Relaxation:
    """For every unit (n, units): lower_slope z + lower_intercept <= f(z) <= upper_slope z +
    upper_intercept.
    """

    lower_slope: Floats
    upper_slope: Floats
    upper_intercept: Floats
    lower_intercept: Floats

    @staticmethod
    def blank(leaves: int, units: int) -> Relaxation:
        return Relaxation(*np.zeros((4, leaves, units)))

    def take(self, leaves: Ints) -> Relaxation:
        return Relaxation(
            self.lower_slope[leaves],
            self.upper_slope[leaves],
            self.upper_intercept[leaves],
            self.lower_intercept[leaves],
        )

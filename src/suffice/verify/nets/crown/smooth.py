"""A line below and a line above a smooth curve over an interval, for many intervals at once.

Between two points of a grid of width h a curve is at most bend·h²/8 away from its chord. So the
least value of f(z) - s z on the grid, less that much, is an intercept that is valid for slope s on
the whole interval. Of some slopes, that of the chord and zero, the one is kept whose line is
closest to the curve in the middle.

Method: CROWN's relaxation, for smooth curves (theory, section 2).
"""

from __future__ import annotations

import numpy as np

from suffice.model.curves import FUZZ, Curve
from suffice.model.network import Floats
from suffice.verify.tolerances import CURVE_CELL_RATIO, CURVE_CELLS, CURVE_SLOPE_STRIDE


def lines(curve: Curve, lower: Floats, upper: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Slope and intercept of a line below, and of one above, valid in real arithmetic whatever the
    rounding here.
    """
    z = lower[..., None] + (upper - lower)[..., None] * np.linspace(0.0, 1.0, CURVE_CELLS + 1)
    values = curve.value(z)
    magnitude = np.maximum(np.abs(lower), np.abs(upper))
    cell = (upper - lower) / CURVE_CELLS * CURVE_CELL_RATIO + FUZZ * magnitude
    # h² max|f''| / 8 between two points, and at these the errors of two values and two arguments
    curve_error = curve.bend(lower, upper) * cell**2 / 8 + FUZZ * (
        2 + 2 * magnitude + 2 * np.abs(values).max(-1)
    )
    chord = (values[..., -1] - values[..., 0]) / np.where(upper > lower, upper - lower, 1.0)
    slopes = np.concatenate([curve.slope(z[..., ::CURVE_SLOPE_STRIDE]), chord[..., None]], -1)
    range_lower, range_upper = curve.range(lower, upper)
    lower_line = [np.zeros_like(lower), range_lower]
    upper_line = [np.zeros_like(lower), range_upper]
    middle = (lower + upper) / 2
    for slope in np.moveaxis(slopes, -1, 0):
        intercepts = values - slope[..., None] * z
        # of two products and of the two arguments in them
        error = curve_error + 4 * FUZZ * np.abs(slope) * magnitude
        _improve(lower_line, slope, intercepts.min(-1) - error, middle, 1.0)
        _improve(upper_line, slope, intercepts.max(-1) + error, middle, -1.0)
    return lower_line[0], lower_line[1], upper_line[0], upper_line[1]


def _improve(
    line: list[Floats], slope: Floats, intercept: Floats, middle: Floats, sign: float
) -> None:
    """Take the new line where it is closer to the curve in the middle of the interval."""
    better = sign * (slope * middle + intercept) > sign * (line[0] * middle + line[1])
    line[0], line[1] = np.where(better, slope, line[0]), np.where(better, intercept, line[1])

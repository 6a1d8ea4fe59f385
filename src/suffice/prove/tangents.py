"""Tangents: a line below and a line above a smooth curve over an interval, for many intervals at once.

Between two points of a grid of width h a curve is at most bend·h²/8 away from its chord. So the least value of
f(z) - s z on the grid, less that much, gives an intercept that is valid for slope s on the whole interval. Of some
slopes the one is kept whose line is closest to the curve in the middle; and a flat line always does.
"""

from __future__ import annotations

import numpy as np

from suffice.model.curves import FUZZ, Curve
from suffice.model.network import Floats

GRID = 32  # cells that an interval is cut into
SLOPES = 4  # at every such point of the grid the curve's slope is tried


def lines(curve: Curve, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Slope and intercept of a line below, and of one above, valid in real arithmetic whatever the rounding here."""
    z = low[..., None] + (high - low)[..., None] * np.linspace(0.0, 1.0, GRID + 1)
    values = curve.value(z)
    reach = np.maximum(np.abs(low), np.abs(high))
    cell = (high - low) / GRID * 1.001 + FUZZ * reach
    sag = curve.bend(low, high) * cell**2 / 8 + FUZZ * (2 + 2 * reach + 2 * np.abs(values).max(-1))
    chord = (values[..., -1] - values[..., 0]) / np.where(high > low, high - low, 1.0)
    slopes = np.concatenate([curve.slope(z[..., ::SLOPES]), chord[..., None]], -1)
    least, most = curve.range(low, high)
    below, above = [np.zeros_like(low), least], [np.zeros_like(low), most]
    middle = (low + high) / 2
    for slope in np.moveaxis(slopes, -1, 0):
        gap, doubt = values - slope[..., None] * z, sag + 4 * FUZZ * np.abs(slope) * reach
        _keep(below, slope, gap.min(-1) - doubt, middle, 1.0)
        _keep(above, slope, gap.max(-1) + doubt, middle, -1.0)
    return below[0], below[1], above[0], above[1]


def _keep(line: list[Floats], slope: Floats, offset: Floats, middle: Floats, sign: float) -> None:
    """Take the new line where it is closer to the curve in the middle of the interval."""
    better = sign * (slope * middle + offset) > sign * (line[0] * middle + line[1])
    line[0], line[1] = np.where(better, slope, line[0]), np.where(better, offset, line[1])

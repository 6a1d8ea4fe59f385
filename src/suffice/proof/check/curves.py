"""Smooth activations as docs/certificate.md lists them, and lines that stay below and above each.

Written for the checker alone. What is trusted: that NumPy's and SciPy's elementary functions are
off by at most FUNCTION_ERROR (1 + |z| + |f(z)|), which is some 500 units in the last place, and the
limits of |f'| and |f''| in the table.

Method: lines of smooth curves with an error over the whole interval (theory, section 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy  # its subpackages load on first use

from suffice.model.network import Floats
from suffice.proof.check.tolerances import (
    CURVE_CELL_LOSS,
    CURVE_CELLS,
    CURVE_SLOPE_STRIDE,
    FUNCTION_ERROR,
    MINIMISER_ERROR,
)

Function: TypeAlias = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Curve:
    """A function and its slope; `slope_limit` and `curvature_limit` bound |f'| and |f''| on any
    interval.

    Where they are None, both are f at the interval's upper end (exp). f is nowhere below `minimum`;
    it is monotone, or falls up to about `minimiser` and rises from there on.
    """

    value: Function
    slope: Function
    slope_limit: float | None
    curvature_limit: float | None
    minimum: float
    minimiser: float | None = None

    def slope_limits(self, high: Floats) -> Floats:
        return (
            self._upper_values(high)
            if self.slope_limit is None
            else np.full(high.shape, self.slope_limit)
        )

    def curvature_limits(self, high: Floats) -> Floats:
        return (
            self._upper_values(high)
            if self.curvature_limit is None
            else np.full(high.shape, self.curvature_limit)
        )

    def _upper_values(self, high: Floats) -> Floats:
        return np.asarray(self.value(high) * (1 + FUNCTION_ERROR))

    def range(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Outer bounds of the values on [low, high]: those at the ends, and `minimum` where the
        minimiser may lie between.
        """
        left = self.value(low)
        right = self.value(high)
        doubt = FUNCTION_ERROR * (
            1 + np.maximum(np.abs(low) + np.abs(left), np.abs(high) + np.abs(right))
        )
        bottom = np.minimum(left, right) - doubt
        if (
            self.minimiser is not None
        ):  # a thousandth around it, as its place is rounded in the table
            inside = (low < self.minimiser + MINIMISER_ERROR) & (
                high > self.minimiser - MINIMISER_ERROR
            )
            bottom = np.where(inside, self.minimum, bottom)
        return np.maximum(bottom, self.minimum), np.maximum(left, right) + doubt


def _tanh_slope(z: Floats) -> Floats:
    return np.asarray(1 - np.tanh(z) ** 2)


def _sigmoid(z: Floats) -> Floats:
    return np.asarray(scipy.special.expit(z))


def _sigmoid_slope(z: Floats) -> Floats:
    return _sigmoid(z) * _sigmoid(-z)


def _gelu(z: Floats) -> Floats:
    return np.asarray(z * scipy.special.ndtr(z))


def _gelu_slope(z: Floats) -> Floats:
    return np.asarray(scipy.special.ndtr(z) + z * np.exp(-z * z / 2) / np.sqrt(2 * np.pi))


def _wave(z: Floats) -> Floats:
    return np.asarray(np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


def _gelu_tanh(z: Floats) -> Floats:
    return np.asarray(z * (1 + _wave(z)) / 2)


def _gelu_tanh_slope(z: Floats) -> Floats:
    wave = _wave(z)
    inner = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * z * z)
    return np.asarray((1 + wave) / 2 + z * (1 - wave * wave) * inner / 2)


def _silu(z: Floats) -> Floats:
    return np.asarray(z * _sigmoid(z))


def _silu_slope(z: Floats) -> Floats:
    share = _sigmoid(z)
    return np.asarray(share * (1 + z * (1 - share)))


def _elu(z: Floats) -> Floats:
    return np.where(z < 0, np.expm1(np.minimum(z, 0.0)), z)


def _elu_slope(z: Floats) -> Floats:
    return np.exp(np.minimum(z, 0.0))


def _softplus(z: Floats) -> Floats:
    return np.logaddexp(z, 0.0)


def _share(z: Floats) -> Floats:
    return np.where(z < 0, 1 - z, 1 / (1 + np.maximum(z, 0.0)))


def _share_slope(z: Floats) -> Floats:
    return np.asarray(-1 / (1 + np.maximum(z, 0.0)) ** 2)


CURVES = {
    "tanh": Curve(np.tanh, _tanh_slope, 1.0, 0.77, -1.0),
    "sigmoid": Curve(_sigmoid, _sigmoid_slope, 0.25, 0.0963, 0.0),
    "gelu": Curve(_gelu, _gelu_slope, 1.13, 0.798, -0.16998, -0.751),
    "gelu_tanh": Curve(_gelu_tanh, _gelu_tanh_slope, 1.13, 0.799, -0.17005, -0.752),
    "silu": Curve(_silu, _silu_slope, 1.1, 0.5, -0.27847, -1.2785),
    "elu": Curve(_elu, _elu_slope, 1.0, 1.0, -1.0),
    "softplus": Curve(_softplus, _sigmoid, 1.0, 0.25, 0.0),
    "exp": Curve(np.exp, np.exp, None, None, 0.0),
    "share": Curve(_share, _share_slope, 1.0, 2.0, 0.0),
}


def lines(curve: Curve, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """below·z + floor <= f(z) <= above·z + shift on [low, high]: the four as (below, above, shift,
    floor).

    For any slope s, g(z) = f(z) - s z bends no more than f: between grid points h apart it is
    within h² max|f''| / 8 of its chord, so its least value on the grid, less that and less what
    rounding may have done, holds everywhere. Of some slopes that one is taken which is closest at
    the middle; any would be right.
    """
    z = low[..., None] + (high - low)[..., None] * (np.arange(CURVE_CELLS + 1) / CURVE_CELLS)
    value = curve.value(z)
    far = np.maximum(np.abs(low), np.abs(high))
    chord = (value[..., -1] - value[..., 0]) / np.where(high > low, high - low, 1.0)
    slopes = np.stack(
        [0 * low, *np.moveaxis(curve.slope(z[..., ::CURVE_SLOPE_STRIDE]), -1, 0), chord]
    )
    gap = value - slopes[..., None] * z
    # the grid's points are rounded: its cells may be that much wider
    cell = (high - low) / (CURVE_CELLS - CURVE_CELL_LOSS) + FUNCTION_ERROR * far
    rounding = FUNCTION_ERROR * (
        2 + 2 * far + 2 * np.abs(value).max(-1)
    ) + 4 * FUNCTION_ERROR * far * np.abs(slopes)
    doubt = curve.curvature_limits(high) * cell**2 / 8 + rounding
    floors = gap.min(-1) - doubt
    shifts = gap.max(-1) + doubt
    floors[0], shifts[0] = curve.range(low, high)  # slope 0: the range itself
    middle = slopes * (low + high) / 2
    lower = (middle + floors).argmax(0)[None]
    upper = (middle + shifts).argmin(0)[None]
    return (
        np.take_along_axis(slopes, lower, 0)[0],
        np.take_along_axis(slopes, upper, 0)[0],
        np.take_along_axis(shifts, upper, 0)[0],
        np.take_along_axis(floors, lower, 0)[0],
    )

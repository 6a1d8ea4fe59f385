"""Curves: the smooth activations a unit may have, with what is known of their slope, bend and
range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy  # its subpackages load on first use, which keeps `import suffice` quick
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

# What a value computed here may be off by, as a share of 1 + |z| + |value|: far more than NumPy and
# SciPy are.
FUZZ = 2.0**-44


@dataclass(frozen=True)
class Curve:
    """A smooth function of one unit.

    `steep` and `bend` bound |f'| and |f''| over intervals [low, high]. The function rises, or if
    `valley` is given it falls to about there and rises from there on, and is nowhere below `least`.
    """

    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    steep: Callable[[Floats, Floats], Floats]
    bend: Callable[[Floats, Floats], Floats]
    least: float = -np.inf
    valley: float | None = None

    def range(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Outer bounds of the values over [low, high]."""
        ends = self.value(low), self.value(high)
        doubt = FUZZ * (
            1 + np.maximum(np.abs(low) + np.abs(ends[0]), np.abs(high) + np.abs(ends[1]))
        )
        bottom = np.minimum(*ends) - doubt
        if self.valley is not None:  # a hair around it, as its place is rounded
            inside = (low < self.valley + 1e-3) & (high > self.valley - 1e-3)
            bottom = np.where(inside, self.least, bottom)
        return np.maximum(bottom, self.least), np.maximum(*ends) + doubt


def _at_most(most: float) -> Callable[[Floats, Floats], Floats]:
    return lambda low, high: np.full(np.shape(low), most)


def _gelu(z: Floats) -> Floats:
    return np.asarray(z * scipy.special.ndtr(z))


def _gelu_slope(z: Floats) -> Floats:
    return np.asarray(scipy.special.ndtr(z) + z * np.exp(-z * z / 2) / np.sqrt(2 * np.pi))


def _tanh_gelu(z: Floats) -> Floats:
    return np.asarray(0.5 * z * (1 + np.tanh(_inner(z))))


def _tanh_gelu_slope(z: Floats) -> Floats:
    inner = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * z * z)
    wave = np.tanh(_inner(z))
    return np.asarray(0.5 * (1 + wave) + 0.5 * z * (1 - wave * wave) * inner)


def _inner(z: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))


def _silu(z: Floats) -> Floats:
    return np.asarray(z * scipy.special.expit(z))


def _silu_slope(z: Floats) -> Floats:
    share = scipy.special.expit(z)
    return np.asarray(share * (1 + z * (1 - share)))


def _sigmoid(z: Floats) -> Floats:
    return np.asarray(scipy.special.expit(z))


def _sigmoid_slope(z: Floats) -> Floats:
    return np.asarray(scipy.special.expit(z) * scipy.special.expit(-z))


def _exp(z: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.exp(z)


def _share(z: Floats) -> Floats:
    """1 / (1 + z), carried on as 1 - z below zero, so that it is convex everywhere."""
    return np.where(z < 0, 1 - z, 1 / (1 + np.maximum(z, 0.0)))


def _share_slope(z: Floats) -> Floats:
    return np.asarray(-1 / (1 + np.maximum(z, 0.0)) ** 2)


CURVES: Mapping[str, Curve] = {
    "tanh": Curve(np.tanh, lambda z: 1 - np.tanh(z) ** 2, _at_most(1.0), _at_most(0.77), -1.0),
    "sigmoid": Curve(_sigmoid, _sigmoid_slope, _at_most(0.25), _at_most(0.0963), 0.0),
    "gelu": Curve(_gelu, _gelu_slope, _at_most(1.13), _at_most(0.798), -0.16998, -0.751),
    "gelu_tanh": Curve(
        _tanh_gelu, _tanh_gelu_slope, _at_most(1.13), _at_most(0.799), -0.17005, -0.752
    ),
    "silu": Curve(_silu, _silu_slope, _at_most(1.1), _at_most(0.5), -0.27847, -1.2785),
    "elu": Curve(
        lambda z: np.where(z < 0, np.expm1(np.minimum(z, 0.0)), z),
        lambda z: np.exp(np.minimum(z, 0.0)),
        _at_most(1.0),
        _at_most(1.0),
        -1.0,
    ),
    "softplus": Curve(lambda z: np.logaddexp(z, 0.0), _sigmoid, _at_most(1.0), _at_most(0.25), 0.0),
    "exp": Curve(
        _exp,
        _exp,
        lambda low, high: _exp(high) * (1 + FUZZ),
        lambda low, high: _exp(high) * (1 + FUZZ),
        0.0,
    ),
    # falls all the way: the values at the ends bound it, whichever is larger
    "share": Curve(_share, _share_slope, _at_most(1.0), _at_most(2.0), 0.0),
}

"""Regions: one set of vectors per position (Box, Ball, Hull or Choice) that answers support,
membership, sampling.

All that bounds need of a region is its support function, the least value of a linear form over each
word's set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats

Names: TypeAlias = tuple[tuple[str, ...], ...]

ROUND = 2.0**-53


@dataclass(frozen=True, eq=False)
class Box:
    """Each coordinate between `lower` and `upper`."""

    center: Floats
    lower: Floats
    upper: Floats
    names: Names = ()

    def support(self, rows: Floats) -> Floats:
        """Least value of rows·v over each position's set: (..., length, dimension) to (...,
        length).
        """
        return np.asarray(np.where(rows > 0, rows * self.lower, rows * self.upper).sum(-1))

    def minimiser(self, rows: Floats) -> Floats:
        """A point of each position's set where the support is attained."""
        return np.where(rows > 0, self.lower, self.upper)

    def contains(self, points: Floats) -> Bools:
        """Whether each vector is in its position's set: (..., length, dimension) to
        (..., length).
        """
        return np.asarray(((self.lower <= points) & (points <= self.upper)).all(-1))

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        spread = rng.random((count, *self.center.shape))
        return np.clip(self.lower + spread * (self.upper - self.lower), self.lower, self.upper)

    def movable(self) -> Bools:
        """The positions whose set holds more than the word's own point."""
        return np.asarray((self.lower < self.upper).any(-1))

    @cached_property
    def spread(self) -> tuple[Floats, Floats]:
        """The displacement of the box's middle from the word, and its radius, rounded outwards."""
        middle = (self.lower / 2 + self.upper / 2) - self.center
        reach = np.maximum(self.upper - self.center - middle, middle - (self.lower - self.center))
        return middle, np.where(
            self.lower < self.upper, np.nextafter(reach * (1 + 4 * ROUND), np.inf), 0.0
        )


@dataclass(frozen=True, eq=False)
class Ball:
    """Every vector within `radius` of the word in the p-norm, p = 1, 2 or infinity."""

    center: Floats
    radius: float
    p: float

    names: Names = ()

    def support(self, rows: Floats) -> Floats:
        return np.asarray((rows * self.center).sum(-1) - self.radius * _norm(rows, _dual(self.p)))

    def minimiser(self, rows: Floats) -> Floats:
        # a hair inside, so that rounding cannot put a counterexample outside the ball
        return _moved(self.center, -self.radius * (1 - 1e-12) * _direction(rows, self.p))

    def contains(self, points: Floats) -> Bools:
        """By floats where they are sure, in exact arithmetic where they are not."""
        size = np.asarray(_norm(points - self.center, self.p))
        inside = size <= self.radius * (1 - 1e-13)
        for place in zip(*np.nonzero(~inside & (size <= self.radius * (1 + 1e-9))), strict=True):
            inside[place] = _within(
                points[place], self.center[place[-1]], Fraction(self.radius), self.p
            )
        return inside

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        noise = rng.standard_normal((count, *self.center.shape))
        if self.p == 1:
            noise *= rng.exponential(size=noise.shape)
        size = _norm(noise, self.p)[..., None]
        inside = (
            rng.random((*noise.shape[:-1], 1)) ** (1 / noise.shape[-1]) * self.radius * (1 - 1e-12)
        )
        return _moved(self.center, noise / size * inside)

    def movable(self) -> Bools:
        return np.full(len(self.center), self.radius > 0)

    @cached_property
    def spread(self) -> tuple[Floats, Floats]:
        """The same as for a box: the middle is the word, the radius the same everywhere."""
        return np.zeros_like(self.center), np.full_like(self.center, self.radius)


@dataclass(frozen=True, eq=False)
class Corners:
    """What Hull and Choice share: the least value of a linear form is at one of `points` (length,
    m, dimension).
    """

    center: Floats
    points: Floats
    names: Names = ()

    def support(self, rows: Floats) -> Floats:
        return np.asarray(self._values(rows).min(-1))

    def minimiser(self, rows: Floats) -> Floats:
        best = self._values(rows).argmin(-1)
        return np.asarray(self.points[np.arange(len(self.center)), best])

    def movable(self) -> Bools:
        return np.asarray((self.points != self.points[:, :1]).any((-1, -2)))

    def _values(self, rows: Floats) -> Floats:
        return np.asarray(np.matmul(self.points, rows[..., None])[..., 0])

    def _is_corner(self, points: Floats) -> Bools:
        return np.asarray((self.points == points[..., None, :]).all(-1).any(-1))


class Hull(Corners):
    """The convex hull of the points at each position."""

    def contains(self, points: Floats) -> Bools:
        """Exact for the corners; for a mixture, up to 1e-9 by a small linear program."""
        inside = self._is_corner(points)
        for place in zip(*np.nonzero(~inside), strict=True):
            inside[place] = _mixture(self.points[place[-1]], points[place]) is not None
        return inside

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        shares = rng.dirichlet(np.full(self.points.shape[1], 0.5), (count, len(self.center)))
        return np.asarray(np.einsum("nlm,lmd->nld", shares, self.points))


class Choice(Corners):
    """Exactly one of the finitely many points at each position; `names` are their words."""

    @cached_property
    def differs(self) -> Bools:
        """Which points (length, m) are none of those before them at their position."""
        found = np.zeros(self.points.shape[:2], dtype=bool)
        for row, points in zip(found, self.points, strict=True):
            keys = [point.tobytes() for point in points]
            row[[keys.index(key) for key in set(keys)]] = True
        return found

    def contains(self, points: Floats) -> Bools:
        return self._is_corner(points)

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        picked = rng.integers(self.points.shape[1], size=(count, len(self.center)))
        return np.asarray(self.points[np.arange(len(self.center)), picked])


Region: TypeAlias = Box | Ball | Hull | Choice


# --- norms, and membership where floats are not sure ---


def _dual(p: float) -> float:
    return {1.0: math.inf, 2.0: 2.0, math.inf: 1.0}[p]


def _norm(rows: Floats, q: float) -> Floats:
    return np.asarray(np.linalg.norm(rows, ord=q, axis=-1))


def _direction(rows: Floats, p: float) -> Floats:
    """The unit vector of the p-norm along which rows·v grows fastest."""
    if p == math.inf:
        return np.sign(rows)
    if p == 2:
        return rows / np.maximum(_norm(rows, 2), 1e-300)[..., None]
    largest = np.abs(rows).argmax(-1)[..., None]
    return np.where(np.arange(rows.shape[-1]) == largest, np.sign(rows), 0.0)


def _moved(center: Floats, by: Floats) -> Floats:
    """center + by, each coordinate rounded towards the center."""
    return np.nextafter(center + by, center)


def _within(v: Floats, x: Floats, radius: Fraction, p: float) -> bool:
    """|v - x| <= radius in exact arithmetic."""
    if not np.isfinite(v).all():
        return False
    gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(v.tolist(), x.tolist(), strict=True)]
    if p == math.inf:
        return max(gaps) <= radius
    return sum(gaps) <= radius if p == 1 else sum(g * g for g in gaps) <= radius**2


def _mixture(points: Floats, v: Floats) -> Floats | None:
    """Shares of `points` that mix to v up to 1e-9, or None."""
    from scipy.optimize import linprog  # takes long to import and is rarely needed

    if not np.isfinite(v).all():
        return None
    scale = np.abs(points).max() or 1.0
    matrix = np.vstack([points.T / scale, np.ones(len(points))])
    # least total misfit, so that a point on the border is not lost to the solver's own tolerance
    slack = np.hstack([matrix, np.eye(len(matrix)), -np.eye(len(matrix))])
    cost = np.r_[np.zeros(len(points)), np.ones(2 * len(matrix))]
    found = linprog(cost, A_eq=slack, b_eq=np.r_[v / scale, 1.0], method="highs")
    return np.asarray(found.x[: len(points)]) if found.status == 0 and found.fun <= 1e-9 else None

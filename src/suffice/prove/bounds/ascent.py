"""Better slopes, multipliers and shares, by steps along their gradients."""

from __future__ import annotations

import math

import numpy as np

from suffice.model.network import Floats
from suffice.prove import maxima
from suffice.prove.bounds.attained import forward
from suffice.prove.bounds.dual import Dual, pools
from suffice.prove.bounds.form import Form
from suffice.prove.bounds.margin import Items, Pass, margin_bound
from suffice.prove.peaks import Peaks
from suffice.prove.tilts import PACE, Drift
from suffice.prove.verdict import Budget


class Ascent:
    """Adam for one array, with values kept in float32 so that a certificate can hold them exactly."""

    def __init__(self, rate: float, most: float) -> None:
        self.rate, self.most, self.turn = rate, most, 0
        self.first: Floats | float = 0.0
        self.second: Floats | float = 0.0

    def step(self, value: Floats, gradient: Floats) -> Floats:
        """The value moved along its gradient and clipped to [0, most]."""
        self.turn += 1
        rate = self.rate * 0.97**self.turn * math.sqrt(1 - 0.99**self.turn) / (1 - 0.9**self.turn)
        self.first = 0.9 * self.first + 0.1 * gradient
        self.second = 0.99 * self.second + 0.01 * gradient * gradient
        moved = value + rate * self.first / (np.sqrt(self.second) + 1e-12)
        return np.asarray(np.minimum(np.maximum(moved, 0.0), self.most).astype(np.float32), dtype=np.float64)


def optimise(
    form: Form, batch: Items, dual: Dual, found: Pass, iterations: int, budget: Budget | None = None, pace: float = PACE
) -> tuple[Pass, Dual]:
    """Projected ascent on slopes and multipliers, from a first pass; the best dual of each item and its pass.

    `pace` is that of shares: less of it where they are good already.
    """
    best, kept = found.bound, dual
    slope, multiplier = Ascent(0.25, 1.0), Ascent(0.25, np.inf)
    shares = None if batch.tilts is None else Drift(batch.range.width, pace)
    for _ in range(iterations):
        if (best > 0).all() or (budget is not None and budget.spent):
            break
        reached = forward(form, batch, found, dual)
        z = reached.z
        gradient = np.where(batch.bounds.loose, np.maximum(found.over, 0.0) * z, 0.0)
        fade = 0.97 if isinstance(batch.tilts, Peaks) else 0.9
        alpha = _better_maxima(form, batch, found, dual, z, gradient, slope, 3 * pace * fade ** (slope.turn + 1))
        beta = dual.beta if batch.signs is None else multiplier.step(dual.beta, -batch.signs * z)
        share = dual.share
        if shares is not None and share is not None and found.tilted is not None and reached.added is not None:
            share = shares.step(share, found.tilted, reached.added)
        dual = Dual(alpha, beta, share)
        found = margin_bound(form, batch, dual)
        kept = kept.pick(found.bound > best, dual)
        best = np.maximum(best, found.bound)
    if (found.bound < best).any():
        found = margin_bound(form, batch, kept)
    return found, kept


def _better_maxima(
    form: Form, batch: Items, found: Pass, dual: Dual, z: Floats, gradient: Floats, slope: Ascent, part: float
) -> Floats:
    """The slopes moved along their gradient; of maxima, theta is, and shares move towards the winner."""
    for place, groups, at in pools(form):
        leaders = form.slices[place].start + groups.leaders
        rise = maxima.slope_of_level(batch.bounds.candidates(form, place), dual.alpha[:, at], z[:, at])
        gradient[:, leaders] = np.minimum(found.over[:, leaders], 0.0) * rise
    alpha = slope.step(dual.alpha, gradient)
    for _, groups, at in pools(form):
        share = maxima.shares(groups, dual.alpha[:, at])
        share += part * (groups.winners(z[:, at]) - share)
        others = groups.units != groups.leaders[groups.group]
        moved = np.where(found.over[:, at] > 0, share.astype(np.float32), dual.alpha[:, at])
        alpha[:, at[others]] = moved[:, others]
    return alpha

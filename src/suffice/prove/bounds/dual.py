"""What a proof may choose: slopes of lines below, multipliers of splits, shares of tilted lines above."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Groups
from suffice.prove import maxima
from suffice.prove.bounds.form import Form
from suffice.prove.bounds.lines import Hidden

Slopes: TypeAlias = tuple[Floats, Floats, Floats]  # below and above every unit (n, units), and the constants above


@dataclass(frozen=True, eq=False)
class Dual:
    """What a proof may choose: lower slopes alpha and split multipliers beta, both (n, units).

    And shares (n, m, k) of the lines above first relus, where those are tilted.
    """

    alpha: Floats
    beta: Floats
    share: Floats | None = None

    def take(self, index: Ints | slice) -> Dual:
        return Dual(self.alpha[index], self.beta[index], None if self.share is None else self.share[index])

    def pick(self, wins: Bools, new: Dual) -> Dual:
        """The new dual for the items that win, this one for the others."""
        column, share = wins[:, None], self.share
        if share is not None and new.share is not None:
            share = np.where(wins[:, None, None], new.share, share)
        return Dual(np.where(column, new.alpha, self.alpha), np.where(column, new.beta, self.beta), share)


def plain(bounds: Hidden) -> Dual:
    """The dual that every search starts from: the relaxation's own slopes, no multipliers."""
    start = bounds.low if bounds.start is None else bounds.start
    return Dual(start.copy(), np.zeros_like(bounds.low))


def settled(form: Form, bounds: Hidden, dual: Dual) -> Dual:
    """The dual as it is written down: with the slopes that were used where there was nothing to choose.

    A reader with slightly other bounds may find that there is, or the other way round: it uses what is written.
    """
    alpha = np.where(bounds.loose, np.clip(dual.alpha, 0.0, 1.0), bounds.low)
    if form.curved is not None:
        alpha = np.where(form.curved, 0.0, alpha)
    for place, _, at in pools(form):
        alpha[:, at] = maxima.settled(bounds.candidates(form, place), dual.alpha[:, at])
    return Dual(alpha, dual.beta, dual.share)


def chosen_lines(form: Form, bounds: Hidden, dual: Dual) -> Slopes:
    """The slopes below and above every unit, and the constants above, that a dual chooses."""
    low = np.where(bounds.loose, np.minimum(np.maximum(dual.alpha, 0.0), 1.0), bounds.low)
    if form.pooled is None:
        return low, bounds.up, bounds.shift
    up, shift = bounds.up.copy(), bounds.shift.copy()
    for place, groups, at in pools(form):
        leaders = form.slices[place].start + groups.leaders
        low[:, at], up[:, at], shift[:, leaders] = maxima.lines(bounds.candidates(form, place), dual.alpha[:, at])
    return low, up, shift


def pools(form: Form) -> Iterator[tuple[int, Groups, Ints]]:
    """The steps with maxima: their places, their groups, and where the candidates are among all units."""
    for place, step in enumerate(form.steps):
        if step.groups is not None:
            yield place, step.groups, form.slices[place].start + step.groups.units

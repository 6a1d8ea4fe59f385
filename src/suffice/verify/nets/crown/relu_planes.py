"""Upper planes of relus of the first step: planes over the whole input instead of chords.

relu(w·x + b) <= a·x + c for any row a, if c is the largest value that relu(w·x + b) - a·x has over
the input set: the offset of the plane. A relu is the larger of two linear forms, so c is the larger
of two largest values, which the support function of the set gives. The chord has a = slope·w. Here
every part of the input (a number, or a word) has a share of its own in [0, 1], a = share·w, and the
plane can touch the relu at many corners of the set where the chord is far off. Shares are dual
variables, like slopes.

Method: upper planes (theory, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from suffice.model.network import Floats, Ints, Step
from suffice.sets.regions import Ball, Box, Choice, Region
from suffice.settings import RESOURCES, Ascent, rest
from suffice.verify.nets.input_sets import Free, Restorations, WithinBudget, word_min_shifts
from suffice.verify.tolerances import SHARE_DENOMINATOR


class PlaneOffsets(Protocol):
    """The offsets of planes as a function of their shares, over a batch of input sets."""

    def offsets(self, shares: Floats) -> tuple[Floats, Floats]:
        """The offsets c (n, m), and what a whole share of each part adds (n, m, k) where they are
        attained."""

    @property
    def term_width(self) -> Floats:
        """How far each part of the input moves each unit (n, m, k): what steps of shares are
        measured by."""


@dataclass(frozen=True, eq=False)
class ReluPlanes:
    """Upper planes of relus: the units (m,) of the first step that may switch, and the words (w,)
    that move.

    A plane has a share for each part of the input: for each of these words, or for each of their
    numbers (`per`).
    """

    step: Step
    units: Ints
    region: Region
    words: Ints
    per: str

    @staticmethod
    def of(
        step: Step, units: Ints, inputs: Free | WithinBudget | Restorations, region: Region
    ) -> ReluPlanes | None:
        """None where there can be no planes: with words to choose or to pay for, or with too many
        shares."""
        units = units[step.relu[units]]
        if (
            not len(units)
            or isinstance(inputs, WithinBudget)
            or (isinstance(inputs, Free) and isinstance(region, Choice))
        ):
            return None
        length, dimension = region.center.shape
        words = (
            np.flatnonzero(inputs.free.any(0)) if isinstance(inputs, Free) else np.arange(length)
        )
        by_number = isinstance(inputs, Free) and isinstance(region, Box | Ball) and _is_box(region)
        per = (
            "number"
            if by_number and len(units) * len(words) * dimension <= RESOURCES.max_shares
            else "word"
        )
        return (
            ReluPlanes(step, units, region, words, per)
            if 0 < len(units) * len(words) <= RESOURCES.max_shares
            else None
        )

    @property
    def share_count(self) -> int:
        """How many shares the planes have in all."""
        return len(self.units) * self._part_count

    @property
    def _part_count(self) -> int:
        return len(self.words) * (1 if self.per == "word" else self.region.center.shape[1])

    @cached_property
    def _dense_weight(self) -> Floats:
        """The weights (m, length, d), computed once they are needed: easy questions need none."""
        weight = self.step.weight[self.units]
        dense = weight if isinstance(weight, np.ndarray) else weight.toarray()
        return np.asarray(dense).reshape(-1, *self.region.center.shape)

    @cached_property
    def word_weights(self) -> Floats:
        """The weights by word that moves: (w, m, d)."""
        return np.ascontiguousarray(self._dense_weight[:, self.words].transpose(1, 0, 2))

    @cached_property
    def bias(self) -> Floats:
        """The bias (m,) with what the other words add, which stay as they are."""
        fixed_words = np.setdiff1d(np.arange(len(self.region.center)), self.words)
        added = np.einsum(
            "mwd,wd->m", self._dense_weight[:, fixed_words], self.region.center[fixed_words]
        )
        return np.asarray(self.step.bias[self.units] + added)

    @cached_property
    def _number_weights(self) -> Floats:
        """The weights by number: (m, k)."""
        return np.ascontiguousarray(
            self.word_weights.transpose(1, 0, 2).reshape(len(self.units), -1)
        )

    def chord_shares(self, upper_slope: Floats) -> Floats:
        """The shares (n, m, k) at which planes are the chords, by their slopes among those of all
        units (n, units)."""
        return np.repeat(
            quantised_shares(upper_slope[:, self.units])[..., None], self._part_count, axis=-1
        )

    def terms_at(self, points: Floats) -> Floats:
        """What each part of points (n, length, dimension) adds to each unit: (n, m, k)."""
        moving_words = points[:, self.words]
        if self.per == "number":
            return np.asarray(self._number_weights * moving_words.reshape(len(points), 1, -1))
        return np.ascontiguousarray(
            np.matmul(self.word_weights, moving_words.transpose(1, 2, 0)).transpose(2, 1, 0)
        )

    def to_input_coefficients(self, coefficients: Floats) -> Floats:
        """Coefficients (n, m, k) of what the parts add, as rows (n, inputs) over the input."""
        found = np.zeros((len(coefficients), *self.region.center.shape))
        if self.per == "number":
            rows = np.einsum("nmk,mk->nk", coefficients, self._number_weights).reshape(
                len(coefficients), len(self.words), -1
            )
        else:
            rows = np.matmul(coefficients.transpose(2, 0, 1), self.word_weights).transpose(1, 0, 2)
        found[:, self.words] = rows
        return found.reshape(len(coefficients), -1)

    def offsets_over(self, inputs: Free | WithinBudget | Restorations) -> PlaneOffsets:
        if isinstance(inputs, Restorations):
            return ReluOffsetsOverRestorations(
                inputs,
                self.terms_at(inputs.perturbed),
                self.terms_at(inputs.restoring_shift),
                self.bias,
            )
        assert isinstance(inputs, Free)
        own_terms, (lowest, highest) = self.terms_at(self.region.center[None]), self._term_ranges
        free = np.repeat(inputs.free[:, self.words], self._part_count // len(self.words), axis=1)[
            :, None
        ]
        return ReluOffsetsOverProduct(
            own_terms + free * lowest, own_terms + free * highest, self.bias
        )

    @cached_property
    def _term_ranges(self) -> tuple[Floats, Floats]:
        """The least and the most that each part alone moves each unit: (m, k)."""
        if self.per == "word":
            rows = np.zeros((len(self.units), *self.region.center.shape))
            rows[:, self.words] = self.word_weights.transpose(1, 0, 2)
            return word_min_shifts(self.region, rows)[:, self.words], -word_min_shifts(
                self.region, -rows
            )[:, self.words]
        assert isinstance(self.region, Box | Ball)
        middle, radius = (side[self.words].ravel() for side in self.region.spread)
        moved = self._number_weights * middle
        spread = np.abs(self._number_weights) * radius
        return moved - spread, moved + spread

    def written_shares(self, shares: Floats) -> Floats:
        """The shares (k,) of a unit as a proof writes them: of every word, or of every number of
        those that move.
        """
        if self.per == "number":
            return shares
        found = np.zeros(len(self.region.center), dtype=shares.dtype)
        found[self.words] = shares
        return found


def _is_box(region: Box | Ball) -> bool:
    """Whether all numbers of a word move independently."""
    return isinstance(region, Box) or region.p == np.inf


@dataclass(frozen=True, eq=False)
class ReluOffsetsOverProduct:
    """Offsets of relu planes over a product of sets, one per part of the input.

    `least_terms` and `most_terms` (n, m, k) are the least and the most that each part adds to each
    unit.
    """

    least_terms: Floats
    most_terms: Floats
    bias: Floats

    def offsets(self, shares: Floats) -> tuple[Floats, Floats]:
        if_inactive = -np.einsum("nmk,nmk->nm", shares, self.least_terms)
        if_active = (
            self.bias + self.most_terms.sum(-1) - np.einsum("nmk,nmk->nm", shares, self.most_terms)
        )
        return np.maximum(if_active, if_inactive), np.where(
            (if_active >= if_inactive)[..., None], self.most_terms, self.least_terms
        )

    @property
    def term_width(self) -> Floats:
        return self.most_terms - self.least_terms


@dataclass(frozen=True, eq=False)
class ReluOffsetsOverRestorations:
    """Offsets of relu planes over restorations: words of an attacked text put back within a budget.

    `attacked_terms` (n, m, k) is what each word adds in the attacked text, `restoring_terms` what
    restoring it changes.
    """

    inputs: Restorations
    attacked_terms: Floats
    restoring_terms: Floats
    bias: Floats

    def offsets(self, shares: Floats) -> tuple[Floats, Floats]:
        gains_inactive = shares * self.restoring_terms
        gains_active = (shares - 1) * self.restoring_terms
        if_inactive = -(shares * self.attacked_terms).sum(-1) - self.inputs.knapsack_min(
            gains_inactive
        )
        if_active = (
            self.bias
            + ((1 - shares) * self.attacked_terms).sum(-1)
            - self.inputs.knapsack_min(gains_active)
        )
        gains = np.where((if_active >= if_inactive)[..., None], gains_active, gains_inactive)
        per_unit = self.inputs.take(np.repeat(np.arange(len(gains)), gains.shape[1]))
        taken = per_unit.knapsack_argmin(gains.reshape(-1, gains.shape[-1])).reshape(gains.shape)
        return np.maximum(
            if_active, if_inactive
        ), self.attacked_terms + taken * self.restoring_terms

    @property
    def term_width(self) -> Floats:
        return np.abs(self.restoring_terms)


@dataclass(frozen=True, eq=False)
class PlanesTaken:
    """The planes that a pass took: coefficients (n, m), at most 0, and offsets (n, m).

    `contact_terms` (n, m, k) is what a whole share of each part adds at an input where the offset
    is attained.
    """

    coefficients: Floats
    offsets: Floats
    contact_terms: Floats

    def take(self, index: Ints | slice) -> PlanesTaken:
        return PlanesTaken(self.coefficients[index], self.offsets[index], self.contact_terms[index])


class PlaneMomentum:
    """Momentum ascent on shares: up where a part adds more where the plane touches than at the
    minimiser.

    Gradients are divided by how far the part moves the unit at all, so that every share moves at
    the same rate.
    """

    def __init__(self, term_width: Floats, rate: float, settings: Ascent) -> None:
        self.momentum = np.float32(settings.share_momentum)
        self.newest = np.float32(rest(settings.share_momentum))
        self.rate_decay = np.float32(settings.rate_decay)
        self.inverse_width = (1 / np.where(term_width > 0, term_width, np.inf)).astype(np.float32)
        self.rate = np.float32(rate)
        self.velocity = np.zeros_like(self.inverse_width)

    def update(self, shares: Floats, planes_taken: PlanesTaken, plane_terms: Floats) -> Floats:
        gradient = (planes_taken.contact_terms - plane_terms).astype(
            np.float32
        ) * self.inverse_width
        gradient *= (planes_taken.coefficients < 0)[..., None]
        self.velocity = self.momentum * self.velocity + self.newest * gradient
        self.rate *= self.rate_decay
        return quantised_shares(np.clip(shares + self.rate * self.velocity, 0.0, 1.0))


def quantised_shares(shares: Floats) -> Floats:
    """Shares as certificates hold them: multiples of 1/SHARE_DENOMINATOR in float32."""
    return (np.rint(shares * SHARE_DENOMINATOR) / SHARE_DENOMINATOR).astype(np.float32)

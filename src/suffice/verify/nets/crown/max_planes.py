"""Upper planes of maxima of the first step: planes over the whole input, chosen number by number.

The largest of w_p·x + b_p is at most a·x + c for any row a, if c, the offset of the plane, is the
largest value that (w_p - a)·x + b_p has over the input set for any candidate p; the support
function of the set gives it. Such a plane can touch the maximum at many corners where a threshold
and chords, as in `max_lines`, are far off: over a box the best plane is the concave envelope of the
maximum. Each number of a lies between the least and the largest weight that a candidate has there;
how far up is a share in [0, 1], a dual variable.

Method: upper planes (theory, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.model.step import Groups
from suffice.sets.regions import Ball, Box, Region
from suffice.settings import RESOURCES
from suffice.verify.nets.crown import max_lines
from suffice.verify.nets.crown.relu_planes import quantised_shares
from suffice.verify.nets.input_sets import Free, Restorations, WithinBudget


@dataclass(frozen=True, eq=False)
class MaxPlanes:
    """Upper planes of maxima of the first step: `units` (m,) give the maxima, `candidates` (p,) are
    their units.

    `maximum` (p,) is the index of each candidate's maximum, `weights` (p, inputs) and `bias` (p,)
    are the candidates' linear forms, `tolerance` (p,) is what bounds of candidates may differ by
    from reader to reader.
    """

    units: Ints
    candidates: Ints
    maximum: Ints
    weights: Floats
    bias: Floats
    tolerance: Floats
    least_weight: Floats  # the least weight (m, inputs) that a candidate has
    weight_range: Floats  # from there to the largest (m, inputs)
    support: Ints  # the numbers (p, s) that each candidate has weights for, padded with others
    region: Region

    per = "number"

    @staticmethod
    def of(
        step: Step,
        chosen_maxima: Ints,
        tolerance: Floats,
        inputs: Free | WithinBudget | Restorations,
        region: Region,
        full_step: Step,
    ) -> MaxPlanes | None:
        """Planes for the chosen maxima; None where the parts of the input do not move
        independently, or are too many.

        Shares are measured by all candidates, those of the `full_step`, which a reader looks at.
        """
        boxes = isinstance(region, Box) or (isinstance(region, Ball) and region.p == np.inf)
        independent = isinstance(inputs, Restorations) or (isinstance(inputs, Free) and boxes)
        if step.groups is None or not len(chosen_maxima) or not independent:
            return None
        is_candidate = np.isin(step.groups.group, chosen_maxima)
        candidates = step.groups.units[is_candidate]
        maximum = np.searchsorted(chosen_maxima, step.groups.group[is_candidate])
        if (
            len(chosen_maxima) * region.center.size > RESOURCES.max_shares
            or len(candidates) * region.center.size > RESOURCES.max_dense_weights
        ):
            return None
        weights, (least_weight, largest_weight) = (
            _dense(step.weight[candidates]),
            _weight_ends(full_step, chosen_maxima),
        )
        units = step.groups.leaders[chosen_maxima]
        bias = step.bias[candidates]
        return MaxPlanes(
            units,
            candidates,
            maximum,
            weights,
            bias,
            tolerance[candidates],
            least_weight,
            largest_weight - least_weight,
            supports(weights),
            region,
        )

    def restricted(self, kept: Ints) -> MaxPlanes:
        """The same with these candidates alone, at least one of each maximum."""
        return replace(
            self,
            candidates=self.candidates[kept],
            maximum=self.maximum[kept],
            weights=self.weights[kept],
            bias=self.bias[kept],
            tolerance=self.tolerance[kept],
            support=self.support[kept],
        )

    @property
    def share_count(self) -> int:
        """How many shares the planes have in all."""
        return int(self.weight_range.size)

    @cached_property
    def groups(self) -> Groups:
        return Groups(
            np.split(np.arange(len(self.candidates)), np.flatnonzero(np.diff(self.maximum)) + 1),
            len(self.candidates),
        )

    def terms_at(self, points: Floats) -> Floats:
        """What a whole share of each number adds to the plane (n, m, inputs)."""
        return np.asarray(self.weight_range * points.reshape(len(points), 1, -1))

    def base_value(self, points: Floats) -> Floats:
        """The value of the plane (n, m), without its offset, where all shares are 0."""
        return np.asarray(points.reshape(len(points), -1) @ self.least_weight.T)

    def to_input_coefficients(self, coefficients: Floats) -> Floats:
        """Coefficients (n, m, inputs) of what shares add, as rows (n, inputs) over the input."""
        return np.asarray(np.einsum("nmk,mk->nk", coefficients, self.weight_range))

    def initial_shares(self, slopes: Floats) -> Floats:
        """The shares (n, m, inputs) of a plane that rises with its candidates at these slopes (n,
        p), or nearly."""
        plane_rows = np.stack(
            [
                np.add.reduceat(item_slopes[:, None] * self.weights, self.groups.starts)
                for item_slopes in slopes
            ]
        )
        return quantised_shares(
            np.clip(
                (plane_rows - self.least_weight)
                / np.where(self.weight_range > 0, self.weight_range, 1.0),
                0.0,
                1.0,
            )
        )

    def possible_winners(self, lower: Floats, upper: Floats, signs: Floats | None) -> Bools:
        """Candidates (n, p) between these bounds that some reader may count, however it rounds."""
        return max_lines.contending_candidates(
            self.groups, lower - self.tolerance, upper + self.tolerance, signs, self.tolerance
        )[0].contenders

    def offsets_over(
        self, inputs: Free | Restorations, contenders: Bools
    ) -> MaxOffsetsOverBox | MaxOffsetsOverRestorations:
        kept = np.flatnonzero(contenders.any(0))
        planes = self.restricted(kept)
        contenders = contenders[:, kept]
        if isinstance(inputs, Restorations):
            return MaxOffsetsOverRestorations(planes, inputs, contenders)
        assert isinstance(self.region, Box | Ball)
        middle, radius = (side * inputs.free[..., None] for side in self.region.spread)
        shape = len(inputs.free), -1
        return MaxOffsetsOverBox(
            planes, (self.region.center + middle).reshape(shape), radius.reshape(shape), contenders
        )

    def plane_rows(self, shares: Floats) -> Floats:
        """The rows a (n, m, inputs) of the planes."""
        return np.asarray(self.least_weight + shares * self.weight_range)

    def best_candidates(self, values: Floats, contenders: Bools) -> tuple[Floats, Ints]:
        """The largest of the contenders' values (n, m), and whose it is."""
        values = np.where(contenders, values, -np.inf)
        winner = self.groups.best(values)
        return np.take_along_axis(values, winner, axis=1), winner


@dataclass(frozen=True, eq=False)
class MaxOffsetsOverBox:
    """Offsets of planes of maxima over boxes: numbers move within `radius` (n, inputs)
    of `middle`.
    """

    planes: MaxPlanes
    middle: Floats
    radius: Floats
    contenders: Bools

    def offsets(self, shares: Floats) -> tuple[Floats, Floats]:
        """The offsets c (n, m), and what a whole share of each number adds where they
        are attained.
        """
        planes = self.planes
        plane_rows = self.planes.plane_rows(shares)
        largest_negated = np.einsum("nmk,nk->nm", np.abs(plane_rows), self.radius) - np.einsum(
            "nmk,nk->nm", plane_rows, self.middle
        )
        row_on_support = np.take(
            plane_rows.reshape(len(plane_rows), -1), self._support_places, axis=1
        )
        extra = np.einsum(
            "nps,nps->np",
            np.abs(self._support_weights - row_on_support) - np.abs(row_on_support),
            self._support_radius,
        )
        largest, winner = planes.best_candidates(self._middle_values + extra, self.contenders)
        direction = np.sign(planes.weights[winner] - plane_rows)
        contact_points = self.middle[:, None] + direction * self.radius[:, None]
        return largest + largest_negated, planes.weight_range * contact_points

    @property
    def term_width(self) -> Floats:
        return np.asarray(self.planes.weight_range * 2 * self.radius[:, None])

    @cached_property
    def _support_places(self) -> Ints:
        """Where the numbers that candidates see (p, s) stand in the rows of all planes."""
        return np.asarray(
            self.planes.maximum[:, None] * self.planes.weights.shape[1] + self.planes.support
        )

    @cached_property
    def _support_weights(self) -> Floats:
        return np.take_along_axis(self.planes.weights, self.planes.support, 1)

    @cached_property
    def _support_radius(self) -> Floats:
        return np.take(self.radius, self.planes.support, axis=1)

    @cached_property
    def _middle_values(self) -> Floats:
        """The values of the candidates (n, p) in the middle."""
        return np.asarray(self.middle @ self.planes.weights.T + self.planes.bias)


@dataclass(frozen=True, eq=False)
class MaxOffsetsOverRestorations:
    """Offsets of planes of maxima over restorations: words of an attacked text put back within a
    budget."""

    planes: MaxPlanes
    inputs: Restorations
    contenders: Bools

    def offsets(self, shares: Floats) -> tuple[Floats, Floats]:
        """The offsets c (n, m), and what a whole share of each number adds where they
        are attained.
        """
        planes = self.planes
        inputs = self.inputs
        count = len(shares)
        residuals = planes.plane_rows(shares)[:, planes.maximum] - planes.weights
        gains = np.einsum(
            "npld,nld->npl",
            residuals.reshape(*residuals.shape[:2], *inputs.restoring_shift.shape[1:]),
            inputs.restoring_shift,
        )
        attacked_values = planes.bias - np.einsum(
            "npk,nk->np", residuals, inputs.perturbed.reshape(count, -1)
        )
        largest, winner = planes.best_candidates(
            attacked_values - inputs.knapsack_min(gains), self.contenders
        )
        winner_gains = np.take_along_axis(gains, winner[..., None], 1)
        per_maximum = inputs.take(np.repeat(np.arange(count), winner_gains.shape[1]))
        taken = per_maximum.knapsack_argmin(
            winner_gains.reshape(-1, winner_gains.shape[-1])
        ).reshape(*winner_gains.shape, 1)
        contact_points = inputs.perturbed[:, None] + taken * inputs.restoring_shift[:, None]
        return largest, planes.weight_range * contact_points.reshape(
            count, -1, planes.weight_range.shape[1]
        )

    @property
    def term_width(self) -> Floats:
        return np.asarray(
            self.planes.weight_range
            * np.abs(self.inputs.restoring_shift).reshape(len(self.contenders), 1, -1)
        )


def _dense(weight: Any) -> Floats:
    return weight if isinstance(weight, np.ndarray) else np.asarray(weight.toarray())


def _weight_ends(step: Step, chosen_maxima: Ints) -> tuple[Floats, Floats]:
    """The least and the largest weights (m, inputs) of the candidates of some maxima."""
    weights = [_dense(step.weight[step.maxima[maximum]]) for maximum in chosen_maxima]
    return np.stack([rows.min(0) for rows in weights]), np.stack([rows.max(0) for rows in weights])


def supports(rows: Floats) -> Ints:
    """The numbers (p, s) that each row has a weight for, first ones first, padded with others where
    there are fewer."""
    nonzero = rows != 0
    return np.argsort(~nonzero, axis=1, kind="stable")[:, : max(1, int(nonzero.sum(1).max()))]

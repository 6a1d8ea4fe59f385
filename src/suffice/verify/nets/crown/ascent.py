"""Projected ascent on what a proof may choose: slopes, split multipliers and shares of planes.

Supergradients come from the minimiser of the bound, carried forward through the relaxed network
(Danskin's rule); no automatic differentiation is needed.

Method: alpha-CROWN and beta-CROWN, by projected Adam steps (theory, section 2).
"""

from __future__ import annotations

import math

import numpy as np

from suffice import work
from suffice.model.network import Floats
from suffice.settings import Ascent, rest
from suffice.verify.contract import Budget
from suffice.verify.nets.crown import max_lines
from suffice.verify.nets.crown.backward import BackwardPass, BoundBatch, backward_bound
from suffice.verify.nets.crown.dual import Dual, steps_with_maxima
from suffice.verify.nets.crown.max_planes import MaxPlanes
from suffice.verify.nets.crown.prepared import PreparedProblem
from suffice.verify.nets.crown.primal import relaxed_forward
from suffice.verify.nets.crown.relu_planes import PlaneMomentum
from suffice.verify.tolerances import EPSILON


class ProjectedAdam:
    """Adam for one array in [0, upper], kept in float32 so that a certificate can hold the values
    exactly."""

    def __init__(self, settings: Ascent, upper: float) -> None:
        self.settings = settings
        self.upper = upper
        self.iteration = 0
        self.first_moment: Floats | float = 0.0
        self.second_moment: Floats | float = 0.0

    def update(self, value: Floats, gradient: Floats) -> Floats:
        """The value after one step along its gradient, clipped to [0, upper]."""
        self.iteration += 1
        decay, square_decay = self.settings.adam_decays
        rate = (
            self.settings.rate
            * self.settings.rate_decay**self.iteration
            * math.sqrt(1 - square_decay**self.iteration)
            / (1 - decay**self.iteration)
        )
        self.first_moment = decay * self.first_moment + rest(decay) * gradient
        self.second_moment = (
            square_decay * self.second_moment + rest(square_decay) * gradient * gradient
        )
        moved = value + rate * self.first_moment / (np.sqrt(self.second_moment) + EPSILON)
        return np.asarray(
            np.minimum(np.maximum(moved, 0.0), self.upper).astype(np.float32), dtype=np.float64
        )


def dual_ascent(
    prepared: PreparedProblem,
    batch: BoundBatch,
    dual: Dual,
    backward_pass: BackwardPass,
    iterations: int,
    budget: Budget | None = None,
) -> tuple[BackwardPass, Dual]:
    """Projected ascent on the dual variables, from a first pass; the best dual of each item and its
    pass.

    `iterations` is the most backward passes; it stops earlier where all bounds are above zero or
    the budget is spent.
    """
    settings = prepared.settings.ascent
    has_max_planes = isinstance(batch.planes, MaxPlanes)
    share_rate = settings.share_rates[has_max_planes]
    weight_decay = settings.rate_decay if has_max_planes else settings.weight_rate_decay
    best_bound = backward_pass.bound
    best_dual = dual
    alpha_adam = ProjectedAdam(settings, 1.0)
    beta_adam = ProjectedAdam(settings, np.inf)
    plane_momentum = (
        None
        if batch.planes is None
        else PlaneMomentum(batch.plane_offsets.term_width, share_rate, settings)
    )
    for _ in range(iterations):
        if (best_bound > 0).all() or (budget is not None and budget.exhausted):
            break
        work.count("ascent_steps", len(best_bound))
        primal = relaxed_forward(prepared, batch, backward_pass, dual)
        pre_activations = primal.pre_activations
        gradient = np.where(
            batch.bounds.unstable,
            np.maximum(backward_pass.unit_coefficients, 0.0) * pre_activations,
            0.0,
        )
        alpha = _ascend_max_choices(
            prepared,
            batch,
            backward_pass,
            dual,
            pre_activations,
            gradient,
            alpha_adam,
            settings.weight_rate_factor * share_rate * weight_decay ** (alpha_adam.iteration + 1),
        )
        beta = (
            dual.beta
            if batch.signs is None
            else beta_adam.update(dual.beta, -batch.signs * pre_activations)
        )
        plane_shares = dual.plane_shares
        if (
            plane_momentum is not None
            and plane_shares is not None
            and backward_pass.planes_taken is not None
            and primal.plane_terms is not None
        ):
            plane_shares = plane_momentum.update(
                plane_shares, backward_pass.planes_taken, primal.plane_terms
            )
        dual = Dual(alpha, beta, plane_shares)
        backward_pass = backward_bound(prepared, batch, dual)
        best_dual = best_dual.replaced_where(backward_pass.bound > best_bound, dual)
        best_bound = np.maximum(best_bound, backward_pass.bound)
    if (backward_pass.bound < best_bound).any():
        backward_pass = backward_bound(prepared, batch, best_dual)
    return backward_pass, best_dual


def _ascend_max_choices(
    prepared: PreparedProblem,
    batch: BoundBatch,
    backward_pass: BackwardPass,
    dual: Dual,
    pre_activations: Floats,
    gradient: Floats,
    alpha_adam: ProjectedAdam,
    weight_rate: float,
) -> Floats:
    """The slopes alpha after one step; thresholds of maxima along their gradient, lower weights
    towards the winner.

    `weight_rate` is the fraction of the way to the winner at the relaxed minimiser.
    """
    for step_index, groups, candidate_units in steps_with_maxima(prepared):
        leaders = prepared.slices[step_index].start + groups.leaders
        level_gradient = max_lines.threshold_gradient(
            batch.bounds.candidates(prepared, step_index),
            dual.alpha[:, candidate_units],
            pre_activations[:, candidate_units],
        )
        gradient[:, leaders] = (
            np.minimum(backward_pass.unit_coefficients[:, leaders], 0.0) * level_gradient
        )
    alpha = alpha_adam.update(dual.alpha, gradient)
    for _, groups, candidate_units in steps_with_maxima(prepared):
        weights = max_lines.lower_weights(groups, dual.alpha[:, candidate_units])
        weights += weight_rate * (groups.winners(pre_activations[:, candidate_units]) - weights)
        not_leading = groups.units != groups.leaders[groups.group]
        moved_weights = np.where(
            backward_pass.unit_coefficients[:, candidate_units] > 0,
            weights.astype(np.float32),
            dual.alpha[:, candidate_units],
        )
        alpha[:, candidate_units[not_leading]] = moved_weights[:, not_leading]
    return alpha

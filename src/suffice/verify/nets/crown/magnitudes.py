"""Magnitudes |W| |h| + |b| of every step over all that can be asked about.

Rounding errors of backward bounds are measured by them. They come from interval arithmetic that is
widened well beyond rounding.

Method: a-priori rounding errors after Higham (theory, section 2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.model.curves import CURVES
from suffice.model.network import Floats, Step
from suffice.sets.regions import Ball, Box, Choice, Hull, Region
from suffice.verify.contract import Problem
from suffice.verify.nets.input_sets import Interval
from suffice.verify.tolerances import BALL_WIDENING, UNDERFLOW_CUSHION, WIDENING


def enclosing_box(region: Region) -> Interval:
    """The smallest box (length, dimension) around a region, a hair larger than a ball."""
    match region:
        case Box(lower=lower, upper=upper):
            return lower, upper
        case Ball(center=center, radius=radius):
            widened = radius * (1 + BALL_WIDENING)
            return center - widened, center + widened
        case Hull(points=points) | Choice(points=points):
            return points.min(1), points.max(1)


def bounding_box(problem: Problem) -> Interval:
    """The smallest box around all inputs that can be asked about: words that are no features do not
    move."""
    lower, upper = enclosing_box(problem.region)
    features = problem.features[:, None]
    return np.where(features, lower, problem.center), np.where(features, upper, problem.center)


def magnitudes(
    steps: Sequence[Step], box: Interval
) -> tuple[tuple[Floats, ...], tuple[Interval, ...], Floats]:
    """By step, magnitudes and interval bounds over `box`, widened well beyond rounding.

    And the magnitude of what the last of them gives.
    """
    lower, upper = (side.ravel() for side in box)
    step_magnitudes = []
    intervals = []
    activation_magnitude = np.maximum(np.abs(lower), np.abs(upper))
    for step in steps:
        middle = (lower + upper) / 2
        radius = (upper - lower) / 2
        product_magnitude, product_radius = step.magnified(np.stack([activation_magnitude, radius]))
        magnitude = (product_magnitude + np.abs(step.bias)) * (1 + WIDENING) + UNDERFLOW_CUSHION
        z = step.apply(middle[None])[0]
        radius_out = product_radius + magnitude * WIDENING
        lower = z - radius_out
        upper = z + radius_out
        intervals.append((lower, upper))
        output_lower, output_upper = step.range(lower, upper)
        activation_magnitude = np.maximum(np.abs(output_lower), np.abs(output_upper))
        for name, units in step.curves:
            magnitude[units] = (
                magnitude[units] * (1 + CURVES[name].steep(lower[units], upper[units]))
                + activation_magnitude[units]
                + 1
            )
        step_magnitudes.append(magnitude)
        lower = output_lower
        upper = output_upper
    return tuple(step_magnitudes), tuple(intervals), activation_magnitude

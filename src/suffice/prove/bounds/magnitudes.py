"""How large everything can get over all that can be asked about: what rounding errors are measured by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.model.curves import CURVES
from suffice.model.network import Floats, Step
from suffice.prove.inputs import Interval
from suffice.prove.verdict import Problem
from suffice.sets.regions import Ball, Box, Choice, Hull, Region

# Products of numbers up to LARGE that underflow lose less than TINY times the rounding error in all.
LARGE, TINY = 1e100, 1e-100


def outer_sides(region: Region) -> Interval:
    """The least and the largest value of every number of the input, a hair outside of a ball."""
    match region:
        case Box(lower=lower, upper=upper):
            return lower, upper
        case Ball(center=center, radius=radius):
            wide = radius * (1 + 1e-12)
            return center - wide, center + wide
        case Hull(points=points) | Choice(points=points):
            return points.min(1), points.max(1)


def bounding_box(problem: Problem) -> Interval:
    """The smallest box around everything that can be asked about: words that are no features stay where they are."""
    lower, upper = outer_sides(problem.region)
    features = problem.features[:, None]
    return np.where(features, lower, problem.center), np.where(features, upper, problem.center)


def magnitudes(steps: Sequence[Step], box: Interval) -> tuple[tuple[Floats, ...], tuple[Interval, ...], Floats]:
    """Sizes and interval bounds of every step over `box`, widened well beyond rounding."""
    lower, upper = (side.ravel() for side in box)
    sizes, reach = [], []
    top = np.maximum(np.abs(lower), np.abs(upper))
    for step in steps:
        middle, radius = (lower + upper) / 2, (upper - lower) / 2
        total, moved = step.magnified(np.stack([top, radius]))
        size = (total + np.abs(step.bias)) * (1 + 1e-9) + TINY
        z, spread = step.apply(middle[None])[0], moved + size * 1e-9
        lower, upper = z - spread, z + spread
        reach.append((lower, upper))
        least, most = step.range(lower, upper)
        top = np.maximum(np.abs(least), np.abs(most))
        for name, units in step.curves:
            size[units] = size[units] * (1 + CURVES[name].steep(lower[units], upper[units])) + top[units] + 1
        sizes.append(size)
        lower, upper = least, most
    return tuple(sizes), tuple(reach), top

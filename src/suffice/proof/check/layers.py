"""StepTables: what is the same around every text, computed once for a network.

Method: a-priori rounding errors (theory, section 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy  # its subpackages load on first use

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.proof.check import max_lines
from suffice.proof.check.curves import CURVES
from suffice.proof.check.limits import HUGE, need
from suffice.proof.check.tolerances import (
    ERROR_FACTOR,
    ERROR_FACTOR_WITH_MAXIMA,
    ERROR_TERMS,
    UNIT_ROUNDOFF,
)


class StepTables:
    """What is the same around every text: the weights by their signs, and which units have which
    activation.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.most_terms = max(sum(step.weight.shape) for step in steps)
        self.max_groups = [
            max_lines.MaxGroups(step.maxima, len(step.bias)) if step.maxima else None
            for step in steps
        ]
        self.error_rate = (
            (ERROR_FACTOR_WITH_MAXIMA if any(self.max_groups) else ERROR_FACTOR)
            * (self.most_terms + 2 * len(steps) + ERROR_TERMS)
            * UNIT_ROUNDOFF
        )
        self.signed_weights = [_signed(step) for step in steps]
        self.relu_masks = [_relu(step) for step in steps]
        self.curve_masks = [_curved(step) for step in steps]
        plain = not self.max_groups[-1] and not (self.relu_masks[-1] | self.curve_masks[-1]).any()
        need(plain, "a score has an activation")
        sizes = [len(step.bias) for step in steps[:-1]]
        self.unit_slices = [slice(sum(sizes[:k]), sum(sizes[: k + 1])) for k in range(len(sizes))]
        self.unit_count = sum(sizes)
        nonlinear_masks = [
            relu | curved for relu, curved in zip(self.relu_masks, self.curve_masks, strict=True)
        ]
        # the last step gives the scores as they are
        self.nonlinear = np.concatenate(nonlinear_masks)[: self.unit_count]
        self.is_relu = np.concatenate(self.relu_masks)[: self.unit_count]
        pooled = [
            _pooled(step, groups) for step, groups in zip(steps, self.max_groups, strict=True)
        ]
        self.in_maximum = np.concatenate(pooled)[: self.unit_count]
        need(
            not (self.nonlinear & self.in_maximum).any(),
            "a unit of a maximum has another activation",
        )

    @cached_property
    def columns(self) -> Any:
        """The first step's weights by columns, where they are sparse."""
        weight = self.steps[0].weight
        return None if isinstance(weight, np.ndarray) else scipy.sparse.csc_array(weight)


@lru_cache(maxsize=1)
def step_tables(steps: tuple[Step, ...]) -> StepTables:
    """Worked out once for many texts: the weights of a classifier cannot change."""
    return StepTables(steps)


def _signed(step: Step) -> tuple[Floats, Floats]:
    """The weights above zero and those below, each with zeros elsewhere; all within HUGE."""
    weight = step.weight
    stored = weight if isinstance(weight, np.ndarray) else weight.data
    for numbers in (stored, step.bias):
        need(
            np.isfinite(numbers).all() and (np.abs(numbers) <= HUGE).all(),
            "a weight is beyond what can be checked",
        )
    if isinstance(weight, np.ndarray):
        return np.maximum(weight, 0.0), np.minimum(weight, 0.0)
    above, below = (
        scipy.sparse.csr_array(
            (end(weight.data, 0.0), weight.indices, weight.indptr), shape=weight.shape
        )
        for end in (np.maximum, np.minimum)
    )
    return above, below


def _relu(step: Step) -> Bools:
    return np.asarray(step.relu, dtype=bool)


def _pooled(step: Step, groups: max_lines.MaxGroups | None) -> Bools:
    return np.zeros(len(step.bias), dtype=bool) if groups is None else groups.in_group


def _curved(step: Step) -> Bools:
    """The units with a smooth curve, of a kind that curves.py knows."""
    found = np.zeros(len(step.bias), dtype=bool)
    for name, units in step.curves:
        need(name in CURVES, f"the network has a curve {name!r}, which this checker does not know")
        found[units] = True
    return found


def dense(step: Step) -> Floats:
    """The weights of a step (outputs, inputs)."""
    return step.weight if isinstance(step.weight, np.ndarray) else np.asarray(step.weight.toarray())


def rows_of(step: Step, units: Ints) -> Floats:
    """The weights (units, inputs) of some units."""
    rows = step.weight[units]
    return rows if isinstance(rows, np.ndarray) else np.asarray(rows.toarray())

"""Layers: what is the same around every text, worked out once for a network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy  # its subpackages load on first use

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.proof.check import maxima
from suffice.proof.check.curves import CURVES
from suffice.proof.check.reading import HUGE, need

ROUND = 2.0**-53


class Layers:
    """What is the same around every text: the weights by their signs, and which units have which activation."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.terms = max(sum(step.weight.shape) for step in steps)
        self.pools = [maxima.Pools(step.maxima, len(step.bias)) if step.maxima else None for step in steps]
        self.gamma = (9 if any(self.pools) else 6) * (self.terms + 2 * len(steps) + 32) * ROUND
        self.signed = [_signed(step) for step in steps]
        self.relu = [_relu(step) for step in steps]
        self.curved = [_curved(step) for step in steps]
        plain = not self.pools[-1] and not (self.relu[-1] | self.curved[-1]).any()
        need(plain, "a score has an activation")
        sizes = [len(step.bias) for step in steps[:-1]]
        self.parts = [slice(sum(sizes[:k]), sum(sizes[: k + 1])) for k in range(len(sizes))]
        self.units = sum(sizes)
        bent = [relu | curved for relu, curved in zip(self.relu, self.curved, strict=True)]
        self.bent = np.concatenate(bent)[: self.units]  # the last step gives the scores as they are
        self.straight = np.concatenate(self.relu)[: self.units]
        pooled = [_pooled(step, pools) for step, pools in zip(steps, self.pools, strict=True)]
        self.pooled = np.concatenate(pooled)[: self.units]
        need(not (self.bent & self.pooled).any(), "a unit of a maximum has another activation")

    @cached_property
    def columns(self) -> Any:
        """The first step's weights by columns, where they are sparse."""
        weight = self.steps[0].weight
        return None if isinstance(weight, np.ndarray) else scipy.sparse.csc_array(weight)


@lru_cache(maxsize=1)
def layers(steps: tuple[Step, ...]) -> Layers:
    """Worked out once for many texts: the weights of a classifier cannot change."""
    return Layers(steps)


def _signed(step: Step) -> tuple[Floats, Floats]:
    """The weights above zero and those below, each with zeros elsewhere; all within HUGE."""
    weight = step.weight
    stored = weight if isinstance(weight, np.ndarray) else weight.data
    for numbers in (stored, step.bias):
        need(np.isfinite(numbers).all() and (np.abs(numbers) <= HUGE).all(), "a weight is beyond what can be checked")
    if isinstance(weight, np.ndarray):
        return np.maximum(weight, 0.0), np.minimum(weight, 0.0)
    above, below = (
        scipy.sparse.csr_array((end(weight.data, 0.0), weight.indices, weight.indptr), shape=weight.shape)
        for end in (np.maximum, np.minimum)
    )
    return above, below


def _relu(step: Step) -> Bools:
    return np.asarray(step.relu, dtype=bool)


def _pooled(step: Step, pools: maxima.Pools | None) -> Bools:
    return np.zeros(len(step.bias), dtype=bool) if pools is None else pools.pooled


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

"""Chunks of work that fit in memory, orders that depend on no last bit, and lowest numbers.

Method: the knapsack of equal costs by its lowest gains (theory, section 6).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.settings import RESOURCES
from suffice.verify.tolerances import MIN_EXPONENT, QUANTISED_BITS


def quantised(values: Floats) -> Floats:
    """Values (n, ...) rounded to nine digits of the largest of each row, so that no order hangs on
    the last bit.
    """
    size = np.abs(values).max(axis=tuple(range(1, values.ndim)), initial=0.0, keepdims=True)
    scale = np.ldexp(1.0, np.maximum(np.frexp(size)[1] - QUANTISED_BITS, MIN_EXPONENT))
    found: Floats = values / scale
    np.rint(found, out=found)
    found *= scale
    return found


def chunk_slices(count: int, item_numbers: int) -> Iterator[slice]:
    """0..count in slices whose items, of `item_numbers` numbers each, fit a chunk of work."""
    items = max(1, RESOURCES.chunk_numbers // max(1, item_numbers))
    return (slice(i, min(i + items, count)) for i in range(0, count, items))


def first_largest(values: Floats, eligible: Bools, at_least: float) -> int | None:
    """The first of the `eligible` words with the largest quantised value, if that is large
    enough."""
    ranked = np.where(eligible, quantised(values[None])[0], -np.inf)
    best = int(ranked.argmax())
    return best if eligible[best] and values[best] >= at_least else None


def sum_of_lowest(gains: Floats, count: Floats) -> Floats:
    """The sum of the `count` (n,) lowest gains (n, r, length), none of which is above zero."""
    if count.min(initial=np.inf) >= gains.shape[-1]:
        return np.asarray(gains.sum(-1))
    chosen = np.arange(gains.shape[-1]) < count[:, None, None]
    return np.asarray((np.sort(gains, axis=-1) * chosen).sum(-1))


def mask_of_lowest(gains: Floats, count: Floats) -> Floats:
    """The `count` (n,) words with the lowest gains (n, length), as ones; of equal ones the first,
    and none at zero.
    """
    order = np.argsort(gains, axis=-1, kind="stable")
    mask = np.zeros(gains.shape)
    mask[np.arange(len(gains))[:, None], order] = np.arange(gains.shape[-1]) < count[:, None]
    return mask * (gains < 0)

"""Numbers: orders that hang on no last bit, pieces of work that fit in memory, and the lowest of some."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from suffice.model.network import Bools, Floats

PIECE = 2_000_000  # numbers that a piece of work holds at once, so that memory is bounded and time looked at
STEADY = 30  # binary digits that count where numbers set an order
LEAST = -1074  # of the powers of two: below that there is only zero


def steady(values: Floats) -> Floats:
    """Values (n, ...) rounded to nine digits of the largest of each row, so that no order hangs on the last bit."""
    size = np.abs(values).max(axis=tuple(range(1, values.ndim)), initial=0.0, keepdims=True)
    scale = np.ldexp(1.0, np.maximum(np.frexp(size)[1] - STEADY, LEAST))
    found: Floats = values / scale
    np.rint(found, out=found)
    found *= scale
    return found


def pieces(count: int, each: int) -> Iterator[slice]:
    """0..count in slices whose items, `each` numbers large, fit a piece of work."""
    step = max(1, PIECE // max(1, each))
    return (slice(i, min(i + step, count)) for i in range(0, count, step))


def largest(values: Floats, among: Bools, at_least: float) -> int | None:
    """The first of the words with the largest value, if that is large enough."""
    ranked = np.where(among, steady(values[None])[0], -np.inf)
    best = int(ranked.argmax())
    return best if among[best] and values[best] >= at_least else None


def lowest_sum(gains: Floats, count: Floats) -> Floats:
    """The sum of the `count` (n,) lowest gains (n, r, length), none of which is above zero."""
    if count.min(initial=np.inf) >= gains.shape[-1]:
        return np.asarray(gains.sum(-1))
    chosen = np.arange(gains.shape[-1]) < count[:, None, None]
    return np.asarray((np.sort(gains, axis=-1) * chosen).sum(-1))


def lowest(gains: Floats, count: Floats) -> Floats:
    """The `count` (n,) words with the lowest gains (n, length), as ones; of equal ones the first, and none at zero."""
    order, taken = np.argsort(gains, axis=-1, kind="stable"), np.zeros(gains.shape)
    taken[np.arange(len(gains))[:, None], order] = np.arange(gains.shape[-1]) < count[:, None]
    return taken * (gains < 0)

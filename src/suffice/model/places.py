"""Places: windows over the flat places of a tensor, and sparse matrices that pick from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy  # its subpackages load on first use, which keeps `import suffice` quick
from numpy.typing import ArrayLike

from suffice.model.step import Floats, Ints

PerAxis: TypeAlias = int | Sequence[int]
Padding: TypeAlias = int | Sequence[int] | Sequence[tuple[int, int]]

MOST_UNITS = 2**22  # entries of one tensor
MOST_ENTRIES = 2**27  # that are not zero in the matrix of one


def affordable(size: int, most: int = MOST_UNITS) -> None:
    """A ValueError instead of an array that no network here needs."""
    if size > most:
        raise ValueError(f"it would take {size} numbers at once, and at most {most} are supported")


def entries(matrix: Any, part: Any) -> int:
    """At most so many numbers of the product are not zero."""
    if not (scipy.sparse.issparse(matrix) and scipy.sparse.issparse(part)):
        return int(matrix.shape[0] * part.shape[1])
    return int(np.diff(part.indptr)[matrix.indices].sum())


def sparse_rows(index: Ints, data: Floats, columns: int) -> Floats:
    """A sparse matrix whose row i has data[i] in the columns index[i]."""
    pointers = np.arange(0, index.size + 1, index.shape[1])
    rows: Floats = scipy.sparse.csr_array(
        (np.ravel(data), np.ravel(index), pointers), (len(index), columns)
    )
    return rows


def identity(size: int) -> Floats:
    eye: Floats = scipy.sparse.eye_array(size, format="csr")
    return eye


def places_of(shape: tuple[int, ...]) -> Ints:
    return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)


def per_axis(value: PerAxis, count: int) -> tuple[int, ...]:
    values = (value,) * count if isinstance(value, int) else tuple(value)
    if len(values) != count:
        raise ValueError(f"{value} does not have one number for each of {count} axes")
    return values


def windowed(
    shape: tuple[int, ...],
    size: PerAxis,
    stride: PerAxis | None,
    padding: Padding,
    dilation: PerAxis,
    ceil: bool,
) -> tuple[Ints, tuple[int, ...]]:
    """The windows of the axes after the first, one in each row, and the shape that they make."""
    count = len(shape) - 1
    window = per_axis(size, count)
    seen = views(shape, window, window if stride is None else stride, padding, dilation, ceil)
    affordable(seen.size, MOST_ENTRIES)
    made = seen.shape[: count + 1]
    return seen.reshape(math.prod(made), -1), made


def views(
    shape: tuple[int, ...],
    window: Sequence[int],
    stride: PerAxis,
    padding: Padding,
    dilation: PerAxis,
    ceil: bool = False,
) -> Ints:
    """(channels, *places, *window): flat places; `size` stands for padding and `size + 1` for what
    is beyond it.
    """
    count = len(shape) - 1
    size = math.prod(shape)
    steps = per_axis(stride, count)
    holes = per_axis(dilation, count)
    margins = _margins(padding, count)
    if count < 1 or len(window) != count or min((*window, *steps, *holes)) < 1:
        raise ValueError(
            "the window and its stride must be at least 1 along every axis after the channels"
        )
    padded = [length + sum(margin) for length, margin in zip(shape[1:], margins, strict=True)]
    affordable(shape[0] * math.prod(padded))
    index = np.pad(places_of(shape), [(0, 0), *margins], constant_values=size)
    reach = [(width - 1) * hole + 1 for width, hole in zip(window, holes, strict=True)]
    if ceil:
        spare = [_spare(*sizes) for sizes in zip(padded, reach, steps, margins, strict=True)]
        index = np.pad(index, [(0, 0), *((0, more) for more in spare)], constant_values=size + 1)
    seen = np.lib.stride_tricks.sliding_window_view(index, reach, tuple(range(1, count + 1)))
    return seen[(slice(None), *(slice(None, None, step) for step in (*steps, *holes)))]


def _margins(padding: Padding, count: int) -> list[tuple[int, int]]:
    sides: tuple[Any, ...] = (padding,) * count if isinstance(padding, int) else tuple(padding)
    pairs = [(side, side) if isinstance(side, int) else (side[0], side[1]) for side in sides]
    if len(pairs) != count or any(min(pair) < 0 for pair in pairs):
        raise ValueError(f"a padding of {padding} does not go with {count} axes")
    return pairs


def _spare(length: int, reach: int, step: int, margin: tuple[int, int]) -> int:
    """Cells to add at the end so that the last window fits, if it starts inside the input or its
    left padding.
    """
    more = -(-max(0, length - reach) // step)
    if more * step >= length - margin[1]:
        more -= 1
    return max(0, more * step + reach - length)


def filled(windows: Ints, size: int) -> Ints:
    """Windows in which padding is replaced by an entry that is there, which changes no maximum."""
    real = windows < size
    if not real.any(1).all():
        raise ValueError("a window lies in the padding only")
    spare = windows[np.arange(len(windows)), real.argmax(1)]
    return np.where(real, windows, spare[:, None])


def finite(values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("it holds a weight that is not a finite number")
    return array

"""Steps of a network as named arrays, as a saved folder holds them."""

from __future__ import annotations

import numpy as np
import scipy  # its subpackages load on first use, which keeps `import suffice` quick

from suffice.errors import ModelError
from suffice.model.network import Floats, Step, compact

MOST_INPUTS = 2**24  # numbers that a text may be for the network: its words times their dimensions
MOST_UNITS = 2**24  # of one step of the network


def step_tensors(place: int, step: Step) -> dict[str, Floats]:
    """One dense tensor, or the three arrays of CSR where most weights are zero (convolutions,
    pooling).
    """
    name = f"step{place}.weight"
    rows = scipy.sparse.csr_array(step.weight)
    if rows.nnz * 2 > step.weight.shape[0] * step.weight.shape[1]:
        return {name: step.dense(), f"step{place}.bias": step.bias}
    small = np.min_scalar_type(max(rows.nnz, *rows.shape))
    return {
        f"{name}.data": rows.data,
        f"{name}.indices": rows.indices.astype(small),
        f"{name}.indptr": rows.indptr.astype(small),
        f"{name}.shape": np.array(rows.shape, dtype=np.int64),
        f"step{place}.bias": step.bias,
    }


def read_step(
    tensors: dict[str, Floats],
    place: int,
    relus: list[int],
    curved: dict[str, list[int]],
    pooled: list[list[int]],
) -> Step:
    """A step as `step_tensors` wrote it, with its relus, its curves and its maxima."""
    name = f"step{place}.weight"
    bias = np.asarray(tensors[f"step{place}.bias"], dtype=np.float64)
    weight = (
        np.array(tensors[name], dtype=np.float64)
        if name in tensors
        else _read_rows(tensors, name, len(bias))
    )
    relu = np.zeros(len(bias), dtype=bool)
    relu[relus] = True
    curves = tuple(
        (name, np.array(units, dtype=np.int64)) for name, units in sorted(curved.items())
    )
    maxima = tuple(np.array(group, dtype=np.int64) for group in pooled)
    return Step(weight, bias, relu, curves, maxima)


def _read_rows(tensors: dict[str, Floats], name: str, outputs: int) -> Floats:
    """A weight in CSR, once its declared shape fits the numbers that are there: an array of that
    shape may be made.
    """
    data, indices, indptr, shape = (
        tensors[f"{name}.{part}"] for part in ("data", "indices", "indptr", "shape")
    )
    rows, columns = (int(size) for size in shape)
    if rows != outputs or not 0 < columns <= max(MOST_INPUTS, MOST_UNITS) or rows > MOST_UNITS:
        raise ModelError(f"{name} declares a shape of {(rows, columns)} for {outputs} biases.")
    parts = (data.astype(np.float64), indices.astype(np.int64), indptr.astype(np.int64))
    matrix = scipy.sparse.csr_array(parts, shape=(rows, columns))
    matrix.check_format()
    return compact(matrix)


def narrow(array: Floats) -> Floats:
    """float16 or float32 where that loses nothing, as with weights trained or rounded so."""
    if array.dtype != np.float64:
        return np.ascontiguousarray(array)
    for kind in (np.float16, np.float32):
        with np.errstate(over="ignore"):
            short = array.astype(kind)
        if np.array_equal(short, array):
            return np.ascontiguousarray(short)
    return np.ascontiguousarray(array)

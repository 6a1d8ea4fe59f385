"""Network: any supported classifier body in one normal form, affine steps with a relu mask.

Every step computes z = W h + b and h = relu(z) on the units its mask marks, z on the others. Convolution is a
W with many zeros, an average is a row of W, batch norm folds into W and b, and a maximum is
max(a, b) = a + relu(b - a). So bounds, attacks and the checker know only one kind of layer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import numpy as np
import scipy  # its subpackages load on first use, which keeps `import suffice` quick
from numpy.typing import ArrayLike, NDArray

from suffice.errors import ModelError

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]

# A matrix this empty and this large is kept sparse: below that, dense products are faster.
SPARSE_DENSITY, SPARSE_SIZE = 0.1, 250_000


@dataclass(frozen=True, eq=False)
class Step:
    """z = weight @ h + bias, then relu where `relu` is True. `weight` is a NumPy or a SciPy CSR array."""

    weight: Floats
    bias: Floats
    relu: Bools

    def apply(self, values: Floats) -> Floats:
        """The pre-activations z for a batch (n, inputs) of values h."""
        return np.asarray((self.weight @ values.T).T + self.bias)

    def activate(self, z: Floats) -> Floats:
        return np.where(self.relu & (z < 0), 0.0, z)

    def dense(self) -> Floats:
        """The weight as an ordinary array."""
        return np.asarray(self.weight.toarray()) if scipy.sparse.issparse(self.weight) else self.weight  # type: ignore[attr-defined]

    def magnitude(self) -> Floats:
        """The absolute weights, sparse where the weight is."""
        return abs(self.weight)


@dataclass(frozen=True, eq=False)
class Network:
    """Affine steps with relu masks; the last step gives one score per class."""

    steps: tuple[Step, ...]

    @property
    def inputs(self) -> int:
        return int(self.steps[0].weight.shape[1])

    @property
    def outputs(self) -> int:
        return len(self.steps[-1].bias)

    @property
    def relus(self) -> int:
        return sum(int(step.relu.sum()) for step in self.steps)

    @property
    def weights(self) -> int:
        """How many non-zero weights and biases the normal form has."""
        return sum(int(_nonzero(step.weight)) + step.bias.size for step in self.steps)

    def forward(self, inputs: Floats) -> Floats:
        """Scores (..., outputs) of inputs (..., length, dimension) or (..., length * dimension)."""
        flat, lead = self._flat(inputs)
        for step in self.steps:
            flat = step.activate(step.apply(flat))
        return flat.reshape(*lead, self.outputs)

    def _flat(self, inputs: Floats) -> tuple[Floats, tuple[int, ...]]:
        array = np.asarray(inputs, dtype=np.float64)
        flat = array.shape[-1] == self.inputs and not (array.ndim > 2 and array.shape[-2] == 1)
        axes = 1 if flat else 2  # (n, 1, inputs) are n texts of one word
        return array.reshape(-1, self.inputs), array.shape[:-axes]

    @staticmethod
    def dense(layers: Sequence[tuple[ArrayLike, ArrayLike]]) -> Network:
        """Fully connected: (weight, bias) pairs, weight (out, in) as in torch; relu between, none at the end."""
        pairs = [Dense(w, b) for w, b in layers]
        if not pairs:
            raise ModelError("A dense network needs at least one (weight, bias) pair.")
        stack: list[Layer] = [pairs[0]]
        for layer in pairs[1:]:
            stack += [Relu(), layer]
        try:
            inputs = np.shape(pairs[0].weight)[1]
        except (ValueError, IndexError) as error:
            raise ModelError("Layer 0 (Dense) needs a weight of two axes, (out, in).") from error
        return Network.build(stack, shape=(inputs,))

    @staticmethod
    def build(layers: Sequence[Layer], shape: tuple[int, ...]) -> Network:
        """Lower layers, applied in order to an input of `shape` (length, dimension), to the normal form."""
        state = _Lowering.start(shape)
        for place, layer in enumerate(layers):
            try:
                state = _lower(state, layer)
            except (ValueError, IndexError, TypeError) as error:
                raise ModelError(
                    f"Layer {place} ({type(layer).__name__}) does not fit its input of shape {state.shape}: {error}"
                ) from error
        return Network(validated([*state.steps, _step(state.matrix, state.offset, relu=False)]))


# --- the layers that build() takes ---


@dataclass(frozen=True)
class Dense:
    """y = weight @ x + bias over the flattened input; weight is (out, in)."""

    weight: ArrayLike
    bias: ArrayLike


@dataclass(frozen=True)
class Conv1d:
    """1-d convolution over a (channels, words) input; weight is (out, in, width) as in torch."""

    weight: ArrayLike
    bias: ArrayLike
    stride: int = 1
    padding: int = 0


@dataclass(frozen=True)
class Conv2d:
    """2-d convolution over a (channels, rows, columns) input; weight is (out, in, height, width)."""

    weight: ArrayLike
    bias: ArrayLike
    stride: int | tuple[int, int] = 1
    padding: int | tuple[int, int] = 0


@dataclass(frozen=True)
class MaxPool:
    """Maximum over windows of the axes after the channels; `size` None takes all of them at once."""

    size: tuple[int, ...] | None = None
    stride: tuple[int, ...] | None = None


@dataclass(frozen=True)
class AvgPool:
    """Average over windows of the axes after the channels; `size` None takes all of them at once."""

    size: tuple[int, ...] | None = None
    stride: tuple[int, ...] | None = None


@dataclass(frozen=True)
class BatchNorm:
    """Batch norm of a trained network, per channel (the first axis); folded into its neighbours."""

    mean: ArrayLike
    variance: ArrayLike
    weight: ArrayLike
    bias: ArrayLike
    eps: float = 1e-5


@dataclass(frozen=True)
class Relu:
    """max(0, x)."""


@dataclass(frozen=True)
class Mean:
    """The mean of the word embeddings: (words, dimension) to (dimension,)."""


@dataclass(frozen=True)
class Transpose:
    """(words, dimension) to (channels, words), as 1-d convolutions want it, or back."""


@dataclass(frozen=True)
class Grid:
    """(words, dimension) to (channels, rows, columns): the words laid out row by row."""

    rows: int
    columns: int


@dataclass(frozen=True)
class Flatten:
    """All axes to one, in torch's order."""


@dataclass(frozen=True)
class Dropout:
    """Nothing at all once a network is trained."""


Layer: TypeAlias = (
    Dense | Conv1d | Conv2d | MaxPool | AvgPool | BatchNorm | Relu | Mean | Transpose | Grid | Flatten | Dropout
)


# --- lowering ---


@dataclass(frozen=True, eq=False)
class _Lowering:
    """Steps emitted so far, and the current tensor as an affine map of the last step's units."""

    steps: tuple[Step, ...]
    matrix: Floats
    offset: Floats
    shape: tuple[int, ...]

    @staticmethod
    def start(shape: tuple[int, ...], steps: tuple[Step, ...] = ()) -> _Lowering:
        size = math.prod(shape)
        return _Lowering(steps, scipy.sparse.eye_array(size, format="csr"), np.zeros(size), shape)

    def map(self, matrix: Floats, shape: tuple[int, ...], offset: Floats | float = 0.0) -> _Lowering:
        """The current tensor sent through an affine map."""
        if np.ndim(offset) and np.shape(offset) != matrix.shape[:1]:  # never broadcast a bias
            raise ValueError(f"a bias of {np.shape(offset)} for {matrix.shape[0]} outputs")
        if math.prod(shape) != matrix.shape[0]:
            raise ValueError(f"{matrix.shape[0]} outputs do not make a shape of {shape}")
        return _Lowering(self.steps, matrix @ self.matrix, matrix @ self.offset + offset, shape)

    def emit(self, relu: Bools | bool) -> _Lowering:
        """Close a step here; the current tensor is then the step's units themselves."""
        step = _step(self.matrix, self.offset, relu)
        return _Lowering.start(self.shape, (*self.steps, step))


def _lower(state: _Lowering, layer: Layer) -> _Lowering:
    match layer:
        case Dense(weight, bias):
            w, b = _array(weight), _array(bias)
            return state.map(w, b.shape, b)
        case Conv1d(weight, bias, stride, padding):
            return _convolve(state, _array(weight), _array(bias), (stride,), (padding,))
        case Conv2d(weight, bias, stride, padding):
            return _convolve(state, _array(weight), _array(bias), _pair(stride), _pair(padding))
        case MaxPool(size, stride):
            return _maximum(state, *_windows(state.shape, size, stride))
        case AvgPool(size, stride):
            index, shape = _windows(state.shape, size, stride)
            return state.map(_rows(index, np.full(index.shape, 1 / index.shape[1]), state.shape), shape)
        case BatchNorm(mean, variance, weight, bias, eps):
            parts = [_array(part) for part in (mean, variance, weight, bias)]
            if any(part.shape != state.shape[:1] for part in parts) or (parts[1] + eps <= 0).any():
                raise ValueError("each channel needs a mean, a variance of at least 0, a weight and a bias")
            scale = parts[2] / np.sqrt(parts[1] + eps)
            return _per_channel(state, scale, parts[3] - parts[0] * scale)
        case Relu():
            return state.emit(True)
        case Mean():
            words, dimension = state.shape
            return state.map(scipy.sparse.csr_array(np.tile(np.eye(dimension) / words, (1, words))), (dimension,))
        case Transpose():
            return _permute(state, _index(state.shape).T)
        case Grid(rows, columns):
            words, dimension = state.shape
            return _permute(state, _index(state.shape).T.reshape(dimension, rows, columns))
        case Flatten():
            return state.map(scipy.sparse.eye_array(len(state.offset), format="csr"), (len(state.offset),))
        case Dropout():
            return state
        case _:
            assert_never(layer)


def _convolve(
    state: _Lowering, weight: Floats, bias: Floats, stride: tuple[int, ...], padding: tuple[int, ...]
) -> _Lowering:
    """Convolution as a sparse matrix: row (o, place) holds the kernel of output channel o at that place."""
    if len(stride) != weight.ndim - 2 or min(stride) < 1 or bias.shape != weight.shape[:1]:
        raise ValueError("it needs a stride of at least 1 and one bias for each output channel")
    outside = math.prod(state.shape)  # index of a padding cell; its column is dropped below
    index = np.pad(_index(state.shape), [(0, 0), *((p, p) for p in padding)], constant_values=outside)
    axes = tuple(range(1, index.ndim))
    views = np.lib.stride_tricks.sliding_window_view(index, weight.shape[2:], axes)
    views = views[(slice(None), *(slice(None, None, s) for s in stride))]
    places = views.shape[1 : 1 + len(axes)]
    columns = np.moveaxis(views, 0, len(axes)).reshape(math.prod(places), -1)  # (places, channels * kernel)
    kernel = weight.reshape(len(weight), -1)
    if kernel.shape[1] != columns.shape[1]:
        raise ValueError(f"the kernel {weight.shape} needs {weight.shape[1]} input channels")
    shape = (len(weight), *places)
    index = np.tile(columns, (len(weight), 1))
    data = np.repeat(kernel, len(columns), axis=0)
    return state.map(_rows(index, data, (outside + 1,))[:, :outside], shape, np.repeat(bias, len(columns)))


def _windows(
    shape: tuple[int, ...], size: tuple[int, ...] | None, stride: tuple[int, ...] | None
) -> tuple[Ints, tuple[int, ...]]:
    """For pooling: which units each output takes, (outputs, window), and the shape of the output."""
    window = size or shape[1:]
    step = stride or window
    if len(step) != len(window) or min((*window, *step), default=0) < 1:
        raise ValueError("the window and its stride must be at least 1 along every axis after the channels")
    axes = tuple(range(1, len(shape)))
    views = np.lib.stride_tricks.sliding_window_view(_index(shape), window, axes)
    views = views[(slice(None), *(slice(None, None, s) for s in step))]
    out = views.shape[: len(shape)]
    return views.reshape(math.prod(out), -1), out if size else (shape[0],)


def _maximum(state: _Lowering, index: Ints, shape: tuple[int, ...]) -> _Lowering:
    """max over windows by a tournament: each round keeps a and adds relu(b - a)."""
    while index.shape[1] > 1:
        pairs, count = index.shape[1] // 2, len(index)
        first, second = index[:, :pairs].ravel(), index[:, pairs : 2 * pairs].ravel()
        rest = index[:, 2 * pairs :].ravel()
        n, matches = len(state.offset), len(first)
        keep = _rows(np.concatenate([first, rest])[:, None], np.ones((matches + len(rest), 1)), (n,))
        ones = np.ones(matches)
        gain = _rows(np.stack([second, first], 1), np.stack([ones, -ones], 1), (n,))
        relu = np.arange(len(first) + keep.shape[0]) >= keep.shape[0]
        state = state.map(scipy.sparse.vstack([keep, gain], format="csr"), (len(relu),)).emit(relu)
        total = scipy.sparse.hstack(
            [scipy.sparse.eye_array(keep.shape[0]), scipy.sparse.eye_array(keep.shape[0], matches)]
        )
        state = state.map(total.tocsr(), (keep.shape[0],))
        winners = np.arange(matches).reshape(count, pairs)
        index = np.concatenate([winners, matches + np.arange(len(rest)).reshape(count, -1)], axis=1)
    return state.map(_rows(index, np.ones(index.shape), (len(state.offset),)), shape)


def _per_channel(state: _Lowering, scale: Floats, shift: Floats) -> _Lowering:
    repeats = math.prod(state.shape[1:])
    diagonal = scipy.sparse.diags_array(np.repeat(scale, repeats), format="csr")
    return state.map(diagonal, state.shape, np.repeat(shift, repeats))


def _permute(state: _Lowering, index: Ints) -> _Lowering:
    flat = index.reshape(-1, 1)
    return state.map(_rows(flat, np.ones(flat.shape), (len(flat),)), index.shape)


def _rows(index: Ints, data: Floats, shape: tuple[int, ...]) -> Floats:
    """A sparse matrix whose row i has data[i] in the columns index[i]."""
    pointers = np.arange(0, index.size + 1, index.shape[1])
    rows: Floats = scipy.sparse.csr_array((data.ravel(), index.ravel(), pointers), (len(index), math.prod(shape)))
    return rows


def _index(shape: tuple[int, ...]) -> Ints:
    return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value


def _array(values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("it holds a weight that is not a finite number")
    return array


def _nonzero(weight: Floats) -> int:
    return int(weight.count_nonzero()) if scipy.sparse.issparse(weight) else int(np.count_nonzero(weight))  # type: ignore[attr-defined]


def _step(matrix: Floats, offset: Floats, relu: Bools | bool) -> Step:
    return Step(compact(matrix), np.asarray(offset, dtype=np.float64), np.full(len(offset), False) | relu)


def compact(matrix: Floats) -> Floats:
    """Sparse where that pays, an ordinary array otherwise."""
    size = matrix.shape[0] * matrix.shape[1]
    if size >= SPARSE_SIZE and _nonzero(matrix) < SPARSE_DENSITY * size:
        rows: Floats = scipy.sparse.csr_array(matrix)
        return rows
    full = matrix.toarray() if scipy.sparse.issparse(matrix) else matrix  # type: ignore[attr-defined]
    # one memory order, so that equal weights give equal scores to the last bit
    return np.ascontiguousarray(full)


def validated(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, once their shapes fit together and every number is finite."""
    for place, step in enumerate(steps):
        if step.weight.ndim != 2 or step.bias.shape != (step.weight.shape[0],) or step.relu.shape != step.bias.shape:
            raise ModelError(f"Step {place} has a weight of {step.weight.shape} and a bias of {step.bias.shape}.")
        if place and step.weight.shape[1] != len(steps[place - 1].bias):
            raise ModelError(
                f"Step {place} takes {step.weight.shape[1]} values "
                f"but step {place - 1} gives {len(steps[place - 1].bias)}."
            )
        stored = step.weight.data if scipy.sparse.issparse(step.weight) else step.weight
        if not (np.isfinite(stored).all() and np.isfinite(step.bias).all()):
            raise ModelError(f"Step {place} holds a weight that is not a finite number.")
    if not steps or steps[-1].relu.any() or len(steps[-1].bias) < 2:
        raise ModelError("The last step must be affine and give one score for each of at least two labels.")
    return tuple(steps)

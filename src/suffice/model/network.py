"""Network: any supported classifier body in one normal form, affine steps with relus, maxima or
smooth curves.

Every step computes z = W h + b and h = relu(z) on the units its mask marks, a smooth curve of z on
some, the largest z of each group of some, z on the others. Convolution is a W with many zeros, an
average is a row of W, batch norm folds into W and b, and a maximum of two is a + relu(b - a). So
bounds, attacks and the checker know only one kind of layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import ModelError
from suffice.model import graph
from suffice.model.graph import Tensor
from suffice.model.rounds import steps
from suffice.model.step import Bools, Floats, Ints, Step, compact, frozen, nonzero, validated

__all__ = ["Bools", "Floats", "Ints", "Network", "Step", "compact", "validated"]


@dataclass(frozen=True, eq=False)
class Network:
    """Affine steps with relus, maxima and curves; the last step gives one score per class."""

    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(frozen(step) for step in self.steps))

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
    def maxima(self) -> int:
        return sum(len(step.maxima) for step in self.steps)

    @property
    def curved(self) -> bool:
        """Whether any unit has a smooth curve: then some questions have no complete answer."""
        return any(step.curves for step in self.steps)

    @property
    def weights(self) -> int:
        """How many non-zero weights and biases the normal form has."""
        return sum(int(nonzero(step.weight)) + step.bias.size for step in self.steps)

    def forward(self, inputs: Floats) -> Floats:
        """Scores (..., outputs) of inputs (..., length, dimension) or (..., length * dimension)."""
        flat, lead = self._flat(inputs)
        for step in self.steps:
            flat = step.activate(step.apply(flat))
        return flat.reshape(*lead, self.outputs)

    def forward_but(self, word: int, point: Floats, vectors: Floats) -> Floats:
        """Scores (n, outputs) of an input (length, dimension) with other vectors (n, dimension) for
        one word.

        Up to their last digits: what the other words add to the first step is worked out once.
        """
        first, *rest = self.steps
        values = first.apply(point.reshape(1, -1)) + first.by_moving(
            word, len(point), vectors - point[word]
        )
        for before, step in zip(self.steps, rest, strict=False):
            values = step.apply(before.activate(values))
        return values

    def _flat(self, inputs: Floats) -> tuple[Floats, tuple[int, ...]]:
        array = np.asarray(inputs, dtype=np.float64)
        flat = array.shape[-1] == self.inputs and not (array.ndim > 2 and array.shape[-2] == 1)
        axes = 1 if flat else 2  # (n, 1, inputs) are n texts of one word
        return array.reshape(-1, self.inputs), array.shape[:-axes]

    def relus_only(self) -> Network:
        """The same function with max(a, b) = a + relu(b - a) for every maximum, for solvers that
        know relus only.
        """
        if self.curved or not any(step.maxima for step in self.steps):
            return self
        state = graph.start((self.inputs,))
        for step in self.steps:
            state = graph.through(state, step)
        return Network.of(state)

    @staticmethod
    def dense(layers: Sequence[tuple[ArrayLike, ArrayLike]]) -> Network:
        """Fully connected: (weight, bias) pairs, weight (out, in) as in torch; relu between, none
        at the end.
        """
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
        """Lower layers, applied in order to an input of `shape` (length, dimension), to the normal
        form.
        """
        state = graph.start(shape)
        for place, layer in enumerate(layers):
            try:
                state = _lower(state, layer)
            except (ValueError, IndexError, TypeError) as error:
                raise ModelError(
                    f"Layer {place} ({type(layer).__name__}) does not fit its input of shape "
                    f"{state.shape}: {error}"
                ) from error
        return Network.of(state)

    @staticmethod
    def of(scores: Tensor) -> Network:
        """The network of a graph (suffice.model.graph) that ends in one score per class."""
        return Network(validated(steps(scores)))


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
    """2-d convolution over a (channels, rows, columns) input; weight is (out, in,
    height, width).
    """

    weight: ArrayLike
    bias: ArrayLike
    stride: int | tuple[int, int] = 1
    padding: int | tuple[int, int] = 0


@dataclass(frozen=True)
class MaxPool:
    """Maximum over windows of the axes after the channels; `size` None takes all of
    them at once.
    """

    size: tuple[int, ...] | None = None
    stride: tuple[int, ...] | None = None


@dataclass(frozen=True)
class AvgPool:
    """Average over windows of the axes after the channels; `size` None takes all of
    them at once.
    """

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
    Dense
    | Conv1d
    | Conv2d
    | MaxPool
    | AvgPool
    | BatchNorm
    | Relu
    | Mean
    | Transpose
    | Grid
    | Flatten
    | Dropout
)


# --- lowering ---


def _lower(state: Tensor, layer: Layer) -> Tensor:
    match layer:
        case Dense(weight, bias):
            return state.reshape((-1,)).linear(weight, np.asarray(bias))
        case Conv1d(weight, bias, stride, padding):
            return state.conv(weight, bias, (stride,), (padding,))
        case Conv2d(weight, bias, stride, padding):
            return state.conv(weight, bias, _pair(stride), _pair(padding))
        case MaxPool(size, stride):
            return _squeezed(state.max_pool(_window(state, size), stride), size)
        case AvgPool(size, stride):
            return _squeezed(state.average_pool(_window(state, size), stride), size)
        case BatchNorm(mean, variance, weight, bias, eps):
            return _batch_norm(state, mean, variance, weight, bias, eps)
        case Relu():
            return state.relu()
        case Mean():
            _words(state)
            return state.mean(0)
        case Transpose():
            _words(state)
            return state.permute((1, 0))
        case Grid(rows, columns):
            _words(state)
            return state.permute((1, 0)).reshape((state.shape[1], rows, columns))
        case Flatten():
            return state.reshape((-1,))
        case Dropout():
            return state
        case _:
            assert_never(layer)


def _window(state: Tensor, size: tuple[int, ...] | None) -> tuple[int, ...]:
    return state.shape[1:] if size is None else tuple(size)


def _squeezed(pooled: Tensor, size: tuple[int, ...] | None) -> Tensor:
    """Pooling over everything leaves the channels only."""
    return pooled.reshape(pooled.shape[:1]) if size is None else pooled


def _words(state: Tensor) -> None:
    if len(state.shape) != 2:
        raise ValueError("it takes (words, dimension)")


def _batch_norm(state: Tensor, *given: ArrayLike | float) -> Tensor:
    *parts, eps = (np.asarray(part, dtype=np.float64) for part in given)
    if any(part.shape != state.shape[:1] for part in parts) or (parts[1] + eps <= 0).any():
        raise ValueError("each channel needs a mean, a variance of at least 0, a weight and a bias")
    scale = parts[2] / np.sqrt(parts[1] + eps)
    return state.per_channel(scale, parts[3] - parts[0] * scale)


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value

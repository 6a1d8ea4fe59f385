"""Plain NumPy versions of Keras' layers, to compare an import with where Keras itself is not
installed.

Nothing here is shared with the import: it is written for batches, by loops over windows and
textbook formulas.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy  # its subpackages load on first use, which keeps `import suffice` quick

from suffice.importers.keras_file import Config, Layer, Model
from suffice.model.network import Floats

Values: TypeAlias = Any  # arrays


def forward(model: Model, given: Values, masked: bool = False) -> Floats:
    """The outputs (n, outputs) of a model for n inputs: rows of word numbers, or of vectors.

    Where it is `masked`, means over the words leave out those with the number 0.
    """
    values: dict[str, Values] = {model.given: given}
    for call in model.calls:
        inputs = [values[name] for name in call.inputs]
        if masked and call.layer.kind == "GlobalAveragePooling1D":
            real = (given != 0)[:, :, None]
            kept = bool(call.layer.config.get("keepdims"))
            values[call.name] = (inputs[0] * real).sum(1, keepdims=kept) / real.sum(
                1, keepdims=kept
            )
        else:
            values[call.name] = _layer(call.layer, inputs)
    answer = values[model.answer]
    return np.asarray(answer.reshape(len(answer), -1), dtype=np.float64)


def _layer(layer: Layer, inputs: Sequence[Values]) -> Values:
    """What a layer makes of its inputs; the import has refused what is not known here."""
    config = layer.config
    weights = layer.weights
    x = inputs[0]
    match layer.kind:
        case "Embedding":
            return weights[0][x.astype(int)]
        case "Dense":
            return _activated(_biased(np.tensordot(x, weights[0], axes=1), weights), config)
        case "Conv1D" | "Conv2D":
            return _activated(_biased(_convolved(x, weights[0], config), weights), config)
        case "BatchNormalization":
            return _normalised(x, weights, config)
        case "PReLU":
            return np.where(x < 0, weights[0] * x, x)
        case kind if kind in MERGES:
            return MERGES[kind](list(inputs), config)
        case kind if kind in PLAIN:
            return PLAIN[kind](x, config)
        case _:  # what only acts while a model is trained
            return x


def _activated(x: Values, config: Config) -> Values:
    match config.get("activation"):
        case {"class_name": "function", "config": str(name)} | str(name):
            return ACTIVATIONS[name](x)
        case {"class_name": kind, "config": inner}:
            return _layer(Layer((), kind, inner, ()), [x])
        case _:
            return x


ACTIVATIONS: dict[str, Callable[[Values], Values]] = {
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.minimum(np.maximum(x, 0), 6),
    "leaky_relu": lambda x: np.where(x < 0, 0.2 * x, x),
    "elu": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x),
    "selu": lambda x: 1.05070098 * np.where(x < 0, 1.67326324 * np.expm1(np.minimum(x, 0)), x),
    "gelu": lambda x: x / 2 * (1 + scipy.special.erf(x / np.sqrt(2))),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "swish": lambda x: x / (1 + np.exp(-x)),
    "softplus": lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "hard_sigmoid": lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6,
    "exponential": np.exp,
    "softmax": lambda x: (
        np.exp(x - x.max(-1, keepdims=True))
        / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)
    ),
    "log_softmax": lambda x: x - np.asarray(scipy.special.logsumexp(x, axis=-1, keepdims=True)),
}


def _biased(x: Values, weights: Sequence[Floats]) -> Values:
    return x + weights[1] if len(weights) > 1 else x


def _normalised(x: Values, weights: Sequence[Floats], config: Config) -> Values:
    axis = config.get("axis", -1)
    axis = axis[0] if isinstance(axis, list) else axis
    shape = [1] * x.ndim
    shape[axis] = -1
    rest = [weight.reshape(shape) for weight in weights]
    gamma = rest.pop(0) if config.get("scale", True) else 1.0
    beta = rest.pop(0) if config.get("center", True) else 0.0
    return (x - rest[0]) / np.sqrt(rest[1] + config["epsilon"]) * gamma + beta


def _last(x: Values, config: Config, work: Callable[[Values], Values]) -> Values:
    """Work on (n, places, channels) whatever the order is."""
    if config.get("data_format") == "channels_first":
        return np.moveaxis(work(np.moveaxis(x, 1, -1)), -1, 1)
    return work(x)


def _numbers(value: Any, count: int) -> list[int]:
    return [int(value)] * count if isinstance(value, int) else [int(one) for one in value]


def _margins(
    sizes: Sequence[int], reach: Sequence[int], steps: Sequence[int], how: str
) -> list[tuple[int, int]]:
    if how == "causal":
        return [(reach[0] - 1, 0)]
    if how == "valid":
        return [(0, 0)] * len(sizes)
    missing = [
        max((-(-n // s) - 1) * s + r - n, 0) for n, r, s in zip(sizes, reach, steps, strict=True)
    ]
    return [(m // 2, m - m // 2) for m in missing]


def _parts(
    x: Values,
    window: Sequence[int],
    config: Config,
    steps: Sequence[int],
    holes: Sequence[int],
    fill: float,
) -> Any:
    """For each place of the window what stands there in every window: (place of the window, (n,
    outputs, channels)).
    """
    reach = [(w - 1) * h + 1 for w, h in zip(window, holes, strict=True)]
    margins = _margins(x.shape[1:-1], reach, steps, config["padding"])
    wide = np.pad(x, [(0, 0), *margins, (0, 0)], constant_values=fill)
    for place in itertools.product(*(range(w) for w in window)):
        cut = [
            slice(p * h, size - r + p * h + 1, s)
            for p, h, size, r, s in zip(place, holes, wide.shape[1:-1], reach, steps, strict=True)
        ]
        yield place, wide[(slice(None), *cut)]


def _convolved(x: Values, kernel: Floats, config: Config) -> Values:
    count = kernel.ndim - 2
    steps, holes = (_numbers(config.get(name, 1), count) for name in ("strides", "dilation_rate"))
    groups = int(config.get("groups", 1))

    def work(values: Values) -> Values:
        total: Any = 0.0
        for place, part in _parts(values, kernel.shape[:-2], config, steps, holes, 0.0):
            pieces = zip(
                np.split(part, groups, axis=-1),
                np.split(kernel[place], groups, axis=-1),
                strict=True,
            )
            total = total + np.concatenate([piece @ weight for piece, weight in pieces], axis=-1)
        return np.asarray(total)

    return _last(x, config, work)


def _pooled(x: Values, config: Config, fill: float, combine: Callable[[Any], Any]) -> Values:
    window = _numbers(config["pool_size"], x.ndim - 2)
    steps = _numbers(config.get("strides") or window, x.ndim - 2)

    def work(values: Values) -> Values:
        parts = [part for _, part in _parts(values, window, config, steps, [1] * len(window), fill)]
        return np.asarray(combine(np.stack(parts)))

    return _last(x, config, work)


def _largest(x: Values, config: Config) -> Values:
    return x.max(axis=_spatial(x, config), keepdims=bool(config.get("keepdims")))


def _mean(x: Values, config: Config) -> Values:
    return x.mean(axis=_spatial(x, config), keepdims=bool(config.get("keepdims")))


def _spatial(x: Values, config: Config) -> tuple[int, ...]:
    return (
        tuple(range(2, x.ndim))
        if config.get("data_format") == "channels_first"
        else tuple(range(1, x.ndim - 1))
    )


def _most_of_windows(x: Values, config: Config) -> Values:
    return _pooled(x, config, -np.inf, lambda parts: np.max(parts, axis=0))


def _mean_of_windows(x: Values, config: Config) -> Values:
    return _pooled(x, config, np.nan, lambda parts: np.nanmean(parts, axis=0))


def _relu(x: Values, config: Config) -> Values:
    slope = float(config.get("negative_slope") or 0)
    top = config.get("max_value")
    return np.where(x < 0, slope * x, x if top is None else np.minimum(x, top))


def _leaky(x: Values, config: Config) -> Values:
    return np.where(x < 0, float(config.get("negative_slope", config.get("alpha", 0.3))) * x, x)


def _elu(x: Values, config: Config) -> Values:
    return np.where(x < 0, float(config.get("alpha", 1.0)) * np.expm1(np.minimum(x, 0)), x)


# layers without weights, of one input and of several
PLAIN: dict[str, Callable[[Values, Config], Values]] = {
    "MaxPooling1D": _most_of_windows,
    "MaxPooling2D": _most_of_windows,
    "AveragePooling1D": _mean_of_windows,
    "AveragePooling2D": _mean_of_windows,
    "GlobalMaxPooling1D": _largest,
    "GlobalMaxPooling2D": _largest,
    "GlobalAveragePooling1D": _mean,
    "GlobalAveragePooling2D": _mean,
    "Flatten": lambda x, config: x.reshape(len(x), -1),
    "Reshape": lambda x, config: x.reshape(len(x), *config["target_shape"]),
    "Permute": lambda x, config: x.transpose(0, *config["dims"]),
    "ZeroPadding1D": lambda x, config: np.pad(
        x, [(0, 0), tuple(np.broadcast_to(config["padding"], 2)), (0, 0)]
    ),
    "Activation": _activated,
    "ReLU": _relu,
    "LeakyReLU": _leaky,
    "ELU": _elu,
    "Softmax": lambda x, config: np.asarray(scipy.special.softmax(x, axis=config.get("axis", -1))),
    "Rescaling": lambda x, config: x * np.asarray(config["scale"]) + np.asarray(config["offset"]),
}
MERGES: dict[str, Callable[[list[Values], Config], Values]] = {
    "Add": lambda several, config: np.asarray(sum(several[1:], several[0])),
    "Subtract": lambda several, config: several[0] - several[1],
    "Average": lambda several, config: np.asarray(sum(several[1:], several[0]) / len(several)),
    "Maximum": lambda several, config: np.maximum.reduce(several),
    "Minimum": lambda several, config: np.minimum.reduce(several),
    "Concatenate": lambda several, config: np.concatenate(several, axis=config.get("axis", -1)),
}

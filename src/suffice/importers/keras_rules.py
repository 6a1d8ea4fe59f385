"""What Keras' layers mean, one line of a table each; a batch axis of size 1 comes first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from suffice.importers import rules
from suffice.importers.keras_file import Config, Layer
from suffice.importers.values import Codes, Value
from suffice.model import graph
from suffice.model.graph import Tensor
from suffice.model.network import Floats

Lowering: TypeAlias = Callable[[Layer, Sequence[Any]], Any]


def rule_of(layer: Layer) -> Lowering:
    if layer.is_operation and layer.kind not in OPERATIONS:
        return _unknown
    return RULES.get(layer.kind, _unknown)


def _unknown(layer: Layer, inputs: Sequence[Any]) -> Any:
    known = ", ".join(sorted(RULES))
    why = WHY.get(layer.kind.lower(), "it is not among the layers that are known here")
    raise ValueError(
        f"{why}. Can be imported: {known}; and the activations {', '.join(ACTIVATIONS)}. "
        f"{rules.ASK}"
    )


def _embedding(layer: Layer, inputs: Sequence[Any]) -> Value:
    return rules.look_up(_weights(layer, 1)[0], inputs[0])


def without_padding(layer: Layer, inputs: Sequence[Any]) -> Value:
    table = np.array(_weights(layer, 1)[0], dtype=np.float64)
    table[0] = 0.0
    return rules.look_up(table, inputs[0])


def present(layer: Layer, inputs: Sequence[Any]) -> Value:
    """How many words are there: all but the first of the vocabulary, which is padding where it is
    masked.
    """
    wide = Codes(inputs[0].places[..., None], np.asarray(inputs[0].codes) != 0)
    return rules.reduce(wide, "sum", (1,), bool(layer.config.get("keepdims")))


def added(layer: Layer, inputs: Sequence[Any]) -> Tensor:
    """What a mean over words adds up."""
    return rules.reduce(inputs[0], "sum", (1,), bool(layer.config.get("keepdims")))  # type: ignore[no-any-return]


def _dense(layer: Layer, inputs: Sequence[Any]) -> Tensor:
    kernel, bias = _kernel(layer)
    return rules.linear(inputs[0], kernel.T, bias)


def _convolution(layer: Layer, inputs: Sequence[Any]) -> Tensor:
    kernel, bias = _kernel(layer)
    config, count = layer.config, kernel.ndim - 2
    steps, holes = (_numbers(config.get(name, 1), count) for name in ("strides", "dilation_rate"))
    reach = [(size - 1) * hole + 1 for size, hole in zip(kernel.shape, holes, strict=False)]
    weight = kernel.transpose(count + 1, count, *range(count))  # (out, in, *kernel), as in PyTorch

    def change(x: Tensor) -> Tensor:
        margins = _margins(x.shape[1:], reach, steps, config["padding"])
        return x.conv(weight, bias, steps, margins, holes, int(config.get("groups", 1)))

    return _spatial(inputs[0], config, change)


def _pooling(kind: str) -> Lowering:
    def rule(layer: Layer, inputs: Sequence[Any]) -> Tensor:
        config, count = layer.config, len(inputs[0].shape) - 2
        window = _numbers(config["pool_size"], count)
        steps = _numbers(config.get("strides") or window, count)

        def change(x: Tensor) -> Tensor:
            margins = _margins(x.shape[1:], window, steps, config["padding"])
            if kind == "max":
                return x.max_pool(window, steps, margins)
            if any(before != after for before, after in margins):
                raise ValueError(
                    "its padding 'same' is longer at the end, where Keras on TensorFlow and "
                    "JAX averages the words "
                    "that are there and Keras on PyTorch repeats the last one: use padding='valid'"
                )
            return x.average_pool(window, steps, margins, count_padding=False)

        return _spatial(inputs[0], config, change)

    return rule


def _global(kind: str) -> Lowering:
    def rule(layer: Layer, inputs: Sequence[Any]) -> Tensor:
        x = inputs[0]
        first = layer.config.get("data_format") == "channels_first"
        axes = range(2, len(x.shape)) if first else range(1, len(x.shape) - 1)
        return rules.reduce(x, kind, list(axes), bool(layer.config.get("keepdims")))  # type: ignore[no-any-return]

    return rule


def _batch_norm(layer: Layer, inputs: Sequence[Any]) -> Tensor:
    config = layer.config
    x = inputs[0]
    axis = config.get("axis", -1)
    axis = axis[0] if isinstance(axis, list) else axis
    scaled = bool(config.get("scale", True))
    centred = bool(config.get("center", True))
    found = list(_weights(layer, 2 + scaled + centred))
    gamma = found.pop(0) if scaled else np.ones(x.shape[axis])
    beta = found.pop(0) if centred else np.zeros(x.shape[axis])
    factor = gamma / np.sqrt(found[1] + float(config["epsilon"]))
    return x.per_channel(factor, beta - found[0] * factor, axis % len(x.shape))  # type: ignore[no-any-return]


def _flatten(layer: Layer, inputs: Sequence[Any]) -> Value:
    if layer.config.get("data_format") == "channels_first" and len(inputs[0].shape) > 2:
        raise ValueError("it flattens channels_first, and only channels_last is known here")
    return rules.reshape(inputs[0], (1, math.prod(inputs[0].shape)))


def _reshape(layer: Layer, inputs: Sequence[Any]) -> Value:
    return rules.reshape(inputs[0], (1, *layer.config["target_shape"]))


def _permute(layer: Layer, inputs: Sequence[Any]) -> Value:
    return rules.permute(inputs[0], (0, *layer.config["dims"]))


def _zero_padding(layer: Layer, inputs: Sequence[Any]) -> Tensor:
    before, after = np.broadcast_to(layer.config["padding"], 2)
    return rules.pad(inputs[0], [(0, 0), (int(before), int(after)), (0, 0)])


def same(layer: Layer, inputs: Sequence[Any]) -> Value:
    return inputs[0]


def _folded(pair: Callable[[Any, Any], Tensor]) -> Lowering:
    def rule(layer: Layer, inputs: Sequence[Any]) -> Tensor:
        found = inputs[0]
        for other in inputs[1:]:
            found = pair(found, other)
        return found  # type: ignore[no-any-return]

    return rule


def _average(layer: Layer, inputs: Sequence[Any]) -> Tensor:
    return _folded(rules.add)(layer, inputs).scale(1 / len(inputs))  # type: ignore[no-any-return]


def _concatenate(layer: Layer, inputs: Sequence[Any]) -> Value:
    return rules.concatenate(inputs, int(layer.config.get("axis", -1)))


def _relu(layer: Layer, inputs: Sequence[Any]) -> Tensor:
    x = inputs[0]
    config = layer.config
    slope = float(config.get("negative_slope") or 0.0)
    top = config.get("max_value")
    if float(config.get("threshold") or 0.0):
        raise ValueError("its threshold is not 0, and it jumps there")
    if top is None:
        return x.leaky_relu(slope) if slope else x.relu()  # type: ignore[no-any-return]
    return (
        graph.add(x.clip(0.0, float(top)), x.clip(None, 0.0).scale(slope))
        if slope
        else x.clip(0.0, float(top))
    )


def _leaky_relu(layer: Layer, inputs: Sequence[Any]) -> Tensor:
    # Keras 2 called it alpha
    slope = layer.config.get("negative_slope", layer.config.get("alpha", 0.3))
    return inputs[0].leaky_relu(float(slope))  # type: ignore[no-any-return]


def _prelu(layer: Layer, inputs: Sequence[Any]) -> Tensor:
    return rules.prelu(inputs[0], _weights(layer, 1)[0])


def _elu(layer: Layer, inputs: Sequence[Any]) -> Tensor:
    return rules.elu(inputs[0], float(layer.config.get("alpha", 1.0)))


def _softmax(layer: Layer, inputs: Sequence[Any]) -> Tensor:
    return rules.softmax(inputs[0], int(layer.config.get("axis", -1)))


def _rescaling(layer: Layer, inputs: Sequence[Any]) -> Tensor:
    return inputs[0].scale(layer.config["scale"]).shift(layer.config["offset"])  # type: ignore[no-any-return]


def activated(layer: Layer, inputs: Sequence[Any]) -> Tensor:
    """The activation that a layer names, or that stands in it as a layer of its own."""
    given = layer.config["activation"]
    name = name_of(given)
    if name in ACTIVATIONS:
        return ACTIVATIONS[name](inputs[0])
    if isinstance(given, Mapping) and name in INNER:
        inner = Layer(layer.path, name, given["config"], ())
        return RULES[name](inner, inputs)  # type: ignore[no-any-return]
    raise ValueError(
        f"the activation {name!r} is not known here; known are {', '.join(ACTIVATIONS)}"
    )


def name_of(activation: Any) -> str:
    """relu, however Keras writes it: as a name, a function, or a layer."""
    match activation:
        case {"class_name": "function", "config": name}:
            return str(name)
        case {"class_name": name}:
            return str(name)
        case _:
            return "linear" if activation is None else str(activation)


# --- small things ---


def _weights(layer: Layer, wanted: int) -> tuple[Floats, ...]:
    if len(layer.weights) != wanted:
        raise ValueError(f"it should have {wanted} weights, but has {len(layer.weights)}")
    return layer.weights


def _kernel(layer: Layer) -> tuple[Floats, Floats | None]:
    if layer.config.get("use_bias", True):
        kernel, bias = _weights(layer, 2)
        return kernel, bias
    return _weights(layer, 1)[0], None


def _numbers(value: Any, count: int) -> list[int]:
    return [int(value)] * count if isinstance(value, int) else [int(one) for one in value]


def _margins(
    sizes: Sequence[int], reach: Sequence[int], steps: Sequence[int], how: str
) -> list[tuple[int, int]]:
    """Cells around the input: "same" gives ceil(size / step) windows, the odd cell at the end."""
    match how:
        case "valid":
            return [(0, 0)] * len(sizes)
        case "causal":
            return [(window - 1, 0) for window in reach]
        case "same":
            wanted = [
                (-(-size // step) - 1) * step for size, step in zip(sizes, steps, strict=True)
            ]
            spare = [
                max(last + window - size, 0)
                for last, window, size in zip(wanted, reach, sizes, strict=True)
            ]
            return [(cells // 2, cells - cells // 2) for cells in spare]
        case _:
            raise ValueError(f"its padding {how!r} is not known here")


def _spatial(x: Tensor, config: Config, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Do something to (channels, *places), wherever Keras has the channels."""
    inner = x.reshape(x.shape[1:])
    if config.get("data_format") == "channels_first":
        found = change(inner)
    else:
        last = len(inner.shape) - 1
        found = change(inner.permute((last, *range(last))))
        found = found.permute((*range(1, last + 1), 0))
    return found.reshape((1, *found.shape))


RULES: dict[str, Lowering] = {
    "Activation": activated,
    "ActivityRegularization": same,
    "Add": _folded(rules.add),
    "AlphaDropout": same,
    "Average": _average,
    "AveragePooling1D": _pooling("average"),
    "AveragePooling2D": _pooling("average"),
    "BatchNormalization": _batch_norm,
    "Concatenate": _concatenate,
    "Conv1D": _convolution,
    "Conv2D": _convolution,
    "Dense": _dense,
    "Dropout": same,
    "ELU": _elu,
    "Embedding": _embedding,
    "Flatten": _flatten,
    "GaussianDropout": same,
    "GaussianNoise": same,
    "GlobalAveragePooling1D": _global("mean"),
    "GlobalAveragePooling2D": _global("mean"),
    "GlobalMaxPooling1D": _global("max"),
    "GlobalMaxPooling2D": _global("max"),
    "LeakyReLU": _leaky_relu,
    "MaxPooling1D": _pooling("max"),
    "MaxPooling2D": _pooling("max"),
    "Maximum": _folded(rules.maximum),
    "Minimum": _folded(rules.minimum),
    "PReLU": _prelu,
    "Permute": _permute,
    "ReLU": _relu,
    "Rescaling": _rescaling,
    "Reshape": _reshape,
    "Softmax": _softmax,
    "SpatialDropout1D": same,
    "SpatialDropout2D": same,
    "Subtract": _folded(rules.subtract),
    "ZeroPadding1D": _zero_padding,
}
OPERATIONS = (
    "Add",
    "Maximum",
    "Minimum",
    "Subtract",
)  # these mean the same as a layer and as an operation
INNER = ("ELU", "LeakyReLU", "ReLU", "Softmax")
ENDINGS = {
    "softmax": "softmax",
    "Softmax": "softmax",
    "log_softmax": "log_softmax",
    "sigmoid": "sigmoid",
    **dict.fromkeys(("Flatten", "Reshape", "Dropout", "linear"), "shape"),
}
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "linear": lambda x: x,
    "relu": lambda x: x.relu(),
    "relu6": lambda x: x.clip(0.0, 6.0),
    "leaky_relu": lambda x: x.leaky_relu(0.2),
    "elu": lambda x: x.curve("elu"),
    "selu": lambda x: rules.elu(x, 1.6732632423543772, 1.0507009873554805),
    "gelu": lambda x: x.curve("gelu"),
    "silu": lambda x: x.curve("silu"),
    "swish": lambda x: x.curve("silu"),
    "softplus": lambda x: x.curve("softplus"),
    "tanh": lambda x: x.curve("tanh"),
    "sigmoid": lambda x: x.curve("sigmoid"),
    "hard_sigmoid": lambda x: rules.hard_sigmoid(x, 1 / 6, 0.5),
    "exponential": lambda x: x.curve("exp"),
    "softmax": lambda x: x.softmax(len(x.shape) - 1),
}
WHY = {
    **dict.fromkeys(("lstm", "gru", "simplernn", "bidirectional"), rules.RECURRENT),
    **dict.fromkeys(
        ("layernormalization", "groupnormalization", "unitnormalization"), rules.SPREAD
    ),
    **dict.fromkeys(
        ("multiply", "dot", "attention", "multiheadattention", "additiveattention"),
        rules.MULTIPLIES,
    ),
    "lambda": "it is code of your own, which a file may hide anything in",
    "textvectorization": (
        "it reads strings; take it out of the model and give its vocabulary and a tokenizer"
    ),
}

"""What PyTorch's operators mean, one line of a table each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from suffice.importers import rules
from suffice.importers.walk import Value, is_constant

Arguments: TypeAlias = Any  # an operator's arguments by the names PyTorch gives them
Lowering: TypeAlias = Callable[[Arguments], Value]


def _same(a: Arguments) -> Value:
    return a.self


def _cast(a: Arguments) -> Value:
    kind = getattr(a, "dtype", None)
    if kind is not None and not kind.is_floating_point:
        raise ValueError(f"it turns values into {kind}, which rounds them")
    return a.self


def _dropout(a: Arguments) -> Value:
    if a.train is not False:
        raise ValueError("this dropout is on in eval mode too: call it with training=self.training")
    return a.input


def _embedding(a: Arguments) -> Value:
    return rules.look_up(a.weight, a.indices)


def bag_rows(a: Arguments) -> Value:
    """The rows that an EmbeddingBag looks up, before it puts them into bags."""
    left_out = getattr(a, "padding_idx", None)
    if left_out not in (None, -1) and KINDS[a.mode] != "max":
        table = rules.floats(a.weight).copy()
        table[left_out] = 0.0  # what is left out of a sum adds nothing; of a mean, the sum is taken
        return rules.look_up(table, a.indices)
    if left_out not in (None, -1):
        raise ValueError(
            "its padding_idx leaves words out of the bag, and a maximum over those that are left is not known here: "
            "train with padding_idx=None"
        )
    return rules.look_up(a.weight, a.indices)


def bags(a: Arguments) -> Value:
    if not (is_constant(a.offsets) and a.per_sample_weights is None):
        raise ValueError("its bags or their weights depend on the text")
    starts = rules.numbers(a.offsets)
    starts = starts[:-1] if a.include_last_offset else starts
    masked = getattr(a, "padding_idx", None) not in (None, -1)
    return (rules.bags(a.indices, starts, "sum" if masked else KINDS[a.mode]),)


def _linear(a: Arguments) -> Value:
    if not (is_constant(a.weight) and is_constant(a.bias)):
        raise ValueError(rules.PRODUCT)
    return rules.linear(a.input, a.weight, a.bias)


def _addmm(a: Arguments) -> Value:
    product = rules.matmul(a.mat1, a.mat2)
    return rules.add(_times(product, a.alpha), _times(a.self, a.beta))


def _times(value: Value, factor: Any) -> Value:
    if is_constant(factor) and float(factor) == 1.0:
        return value
    return rules.floats(value) * float(factor) if is_constant(value) else value.scale(float(factor))


def _convolution(a: Arguments) -> Value:
    if not (is_constant(a.weight) and is_constant(a.bias)):
        raise ValueError(rules.PRODUCT)
    if getattr(a, "transposed", False):
        raise ValueError("a transposed convolution is not known here")
    padding = a.padding
    if padding == "same":
        padding = rules.same_padding(np.shape(a.weight)[2:], a.dilation)
    return rules.convolve(
        a.input, a.weight, a.bias, a.stride, 0 if padding == "valid" else padding, a.dilation, int(a.groups)
    )


def _max_pool(axes: int) -> Lowering:
    def rule(a: Arguments) -> Value:
        size, padding, gaps = (rules.per_axis(part, axes) for part in (a.kernel_size, a.padding, a.dilation))
        stride = rules.per_axis(a.stride, axes) if a.stride else size
        return rules.spatial(a.self, axes, lambda x: x.max_pool(size, stride, padding, gaps, a.ceil_mode))

    return rule


def _average_pool(axes: int) -> Lowering:
    def rule(a: Arguments) -> Value:
        if getattr(a, "divisor_override", None) is not None:
            raise ValueError("an average with a divisor of its own is not known here")
        size, padding = (rules.per_axis(part, axes) for part in (a.kernel_size, a.padding))
        stride = rules.per_axis(a.stride, axes) if a.stride else size
        return rules.spatial(
            a.self, axes, lambda x: x.average_pool(size, stride, padding, a.ceil_mode, a.count_include_pad)
        )

    return rule


def _adaptive_pool(axes: int, kind: str) -> Lowering:
    def rule(a: Arguments) -> Value:
        found = rules.spatial(a.self, axes, lambda x: x.adaptive_pool(rules.per_axis(a.output_size, axes), kind))
        return (found,) if kind == "max" else found

    return rule


def _first(rule: Lowering) -> Lowering:
    """PyTorch gives the places of the maxima too; nothing depends on them here."""
    return lambda a: (rule(a),)


def _batch_norm(a: Arguments) -> Value:
    if getattr(a, "training", False) or a.running_mean is None:
        raise ValueError("batch norm without running statistics depends on the other texts of a batch")
    return rules.batch_norm(a.input, a.weight, a.bias, a.running_mean, a.running_var, float(a.eps))


def _reduced(kind: str) -> Lowering:
    def rule(a: Arguments) -> Value:
        axes = getattr(a, "dim", None)
        axes = [axes] if isinstance(axes, int) else axes or None
        return rules.reduce(a.self, kind, axes, getattr(a, "keepdim", False))

    return rule


def _clamp(a: Arguments) -> Value:
    low, high = getattr(a, "min", None), getattr(a, "max", None)
    if any(bound is not None and np.size(bound) > 1 for bound in (low, high)):
        raise ValueError("it clamps to more than one pair of bounds")
    return a.self.clip(None if low is None else float(low), None if high is None else float(high))


def _add(a: Arguments) -> Value:
    return rules.add(a.self, _times(a.other, a.alpha))


def _subtract(a: Arguments) -> Value:
    return rules.subtract(a.self, _times(a.other, a.alpha))


def _divide(a: Arguments) -> Value:
    if getattr(a, "rounding_mode", None) is not None:
        raise ValueError("a division that rounds is not known here")
    return rules.divide(a.self, a.other)


def _split(a: Arguments) -> Value:
    whole = a.self.shape[a.dim]
    given = a.split_size if hasattr(a, "split_size") else a.split_sizes
    sizes = given if isinstance(given, list) else [min(given, whole - i) for i in range(0, whole, given)]
    return rules.pieces(a.self, a.dim, sizes)


def _chunk(a: Arguments) -> Value:
    whole = a.self.shape[a.dim]
    size = -(-whole // a.chunks)
    return rules.pieces(a.self, a.dim, [min(size, whole - i) for i in range(0, whole, size)])


def _unbind(a: Arguments) -> Value:
    return tuple(rules.take(a.self, a.dim, place) for place in range(a.self.shape[a.dim]))


def _index(a: Arguments) -> Value:
    """x[:, const] and the like: one constant index, the axes before it as they are."""
    chosen = [(axis, index) for axis, index in enumerate(a.indices) if index is not None]
    if len(chosen) != 1 or not is_constant(chosen[0][1]) or np.asarray(chosen[0][1]).dtype == bool:
        raise ValueError("it picks by several arrays, by a mask or by values that depend on the text")
    return rules.take(a.self, *chosen[0])


def _pad(a: Arguments) -> Value:
    if getattr(a, "mode", "constant") != "constant":
        raise ValueError(f"padding in the mode {a.mode!r} is not known here")
    pairs = [(a.pad[i], a.pad[i + 1]) for i in range(0, len(a.pad), 2)][::-1]
    widths = [(0, 0)] * (len(a.self.shape) - len(pairs)) + pairs
    return rules.pad(a.self, widths, float(getattr(a, "value", None) or 0.0))


def _repeat(a: Arguments) -> Value:
    return rules.repeat(a.self, a.repeats)


def _flip(a: Arguments) -> Value:
    return rules.arrange(a.self, lambda places: np.flip(places, tuple(a.dims)))


def _transpose(a: Arguments) -> Value:
    return rules.arrange(a.self, lambda places: np.swapaxes(places, a.dim0, a.dim1))


def _squeeze(a: Arguments) -> Value:
    axes = getattr(a, "dim", None)
    return rules.squeeze(a.self, [axes] if isinstance(axes, int) else axes)


def _unflatten(a: Arguments) -> Value:
    axis = a.dim % len(a.self.shape)
    return rules.reshape(a.self, [*a.self.shape[:axis], *a.sizes, *a.self.shape[axis + 1 :]])


def _slice(a: Arguments) -> Value:
    return rules.cut(a.self, a.dim, a.start, a.end, a.step)


def _curve(name: str) -> Lowering:
    return lambda a: a.self.curve(name)


def _gelu(a: Arguments) -> Value:
    return a.self.curve("gelu_tanh" if a.approximate == "tanh" else "gelu")


def _elu(a: Arguments) -> Value:
    return rules.elu(a.self, float(a.alpha), float(a.scale), float(a.input_scale))


def _reshaped(a: Arguments) -> Value:
    return rules.reshape(a.self, getattr(a, "shape", None) or a.size)


def _maximum(a: Arguments) -> Value:
    return rules.maximum(a.self, a.other)


def _minimum(a: Arguments) -> Value:
    return rules.minimum(a.self, a.other)


SELU = (1.6732632423543772, 1.0507009873554805)
KINDS = ("sum", "mean", "max")  # of bags, by PyTorch's numbers
RULES: dict[str, Lowering] = {
    # looking up
    "embedding": _embedding,
    # affine layers
    "linear": _linear,
    "addmm": _addmm,
    "mm": lambda a: rules.matmul(a.self, a.mat2),
    "bmm": lambda a: rules.matmul(a.self, a.mat2),
    "matmul": lambda a: rules.matmul(a.self, a.other),
    "conv1d": _convolution,
    "conv2d": _convolution,
    "convolution": _convolution,
    "batch_norm": _batch_norm,
    "_native_batch_norm_legit_no_training": _first(_batch_norm),
    "dropout": _dropout,
    "feature_dropout": _dropout,
    "alpha_dropout": _dropout,
    "native_dropout": _first(_dropout),
    # pooling and reducing
    "max_pool1d": _max_pool(1),
    "max_pool2d": _max_pool(2),
    "max_pool1d_with_indices": _first(_max_pool(1)),
    "max_pool2d_with_indices": _first(_max_pool(2)),
    "avg_pool1d": _average_pool(1),
    "avg_pool2d": _average_pool(2),
    "adaptive_max_pool1d": _adaptive_pool(1, "max"),
    "adaptive_max_pool2d": _adaptive_pool(2, "max"),
    "adaptive_avg_pool1d": _adaptive_pool(1, "average"),
    "adaptive_avg_pool2d": _adaptive_pool(2, "average"),
    "_adaptive_avg_pool2d": _adaptive_pool(2, "average"),
    "mean": _reduced("mean"),
    "sum": _reduced("sum"),
    "amax": _reduced("max"),
    "amin": _reduced("min"),
    "max.default": _reduced("max"),
    "min.default": _reduced("min"),
    "max.dim": _first(_reduced("max")),
    "min.dim": _first(_reduced("min")),
    # activations
    "relu": lambda a: a.self.relu(),
    "relu6": lambda a: a.self.clip(0.0, 6.0),
    "leaky_relu": lambda a: a.self.leaky_relu(float(a.negative_slope)),
    "prelu": lambda a: rules.prelu_channels(a.self, a.weight),
    "_prelu_kernel": lambda a: rules.prelu(a.self, a.weight),
    "hardtanh": lambda a: a.self.clip(float(a.min_val), float(a.max_val)),
    "hardsigmoid": lambda a: rules.hard_sigmoid(a.self, 1 / 6, 0.5),
    "clamp": _clamp,
    "clamp_min": _clamp,
    "clamp_max": _clamp,
    "tanh": _curve("tanh"),
    "sigmoid": _curve("sigmoid"),
    "silu": _curve("silu"),
    "exp": _curve("exp"),
    "gelu": _gelu,
    "elu": _elu,
    "celu": lambda a: rules.elu(a.self, float(a.alpha), 1.0, 1 / float(a.alpha)),
    "selu": lambda a: rules.elu(a.self, *SELU),
    "softplus": lambda a: rules.softplus(a.self, float(a.beta)),
    "softmax": lambda a: rules.softmax(a.self, a.dim),
    "_softmax": lambda a: rules.softmax(a.self, a.dim),
    "abs": lambda a: rules.absolute(a.self),
    # arithmetic
    "add": _add,
    "sub": _subtract,
    "rsub": lambda a: rules.subtract(_times(a.other, 1), _times(a.self, a.alpha)),
    "mul": lambda a: rules.multiply(a.self, a.other),
    "div": _divide,
    "neg": lambda a: rules.negative(a.self),
    "maximum": _maximum,
    "max.other": _maximum,
    "minimum": _minimum,
    "min.other": _minimum,
    # arranging
    "view": _reshaped,
    "_unsafe_view": _reshaped,
    "reshape": _reshaped,
    "flatten": lambda a: rules.flatten(a.self, a.start_dim, a.end_dim),
    "unflatten": _unflatten,
    "squeeze": _squeeze,
    "unsqueeze": lambda a: rules.unsqueeze(a.self, (a.dim,)),
    "permute": lambda a: rules.permute(a.self, a.dims),
    "transpose": _transpose,
    "t": lambda a: rules.arrange(a.self, np.transpose),
    "numpy_T": lambda a: rules.arrange(a.self, np.transpose),
    "select": lambda a: rules.take(a.self, a.dim, a.index),
    "slice": _slice,
    "index_select": lambda a: rules.take(a.self, a.dim, a.index),
    "index": _index,
    "narrow": lambda a: rules.cut(a.self, a.dim, a.start, a.start + a.length),
    "split": _split,
    "split_with_sizes": _split,
    "chunk": _chunk,
    "unbind": _unbind,
    "cat": lambda a: rules.concatenate(a.tensors, a.dim),
    "concat": lambda a: rules.concatenate(a.tensors, a.dim),
    "stack": lambda a: rules.stack(a.tensors, a.dim),
    "expand": lambda a: rules.expand(a.self, a.size),
    "repeat": _repeat,
    "flip": _flip,
    "pad": _pad,
    "constant_pad_nd": _pad,
    "getitem": lambda a: a.self[a.index],
    # nothing
    **dict.fromkeys(("clone", "contiguous", "alias", "detach", "lift_fresh_copy", "identity"), _same),
    **dict.fromkeys(("to", "_to_copy", "type_as", "float", "double"), _cast),
}
ARRANGING = {
    *("view", "_unsafe_view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "permute", "transpose", "t"),
    *("select", "slice", "index_select", "narrow", "expand", "repeat", "flip", "getitem"),
    *("clone", "contiguous", "alias", "detach", "lift_fresh_copy", "identity"),
}
TAKES_WORDS = ARRANGING | {"embedding", "split", "split_with_sizes", "chunk", "unbind"}
ELEMENTWISE = {
    *("relu", "sigmoid", "tanh", "exp", "log", "log1p", "expm1", "erf", "pow", "sqrt", "reciprocal", "abs", "neg"),
    *("add", "sub", "rsub", "mul", "div", "where", "gt", "ge", "lt", "le", "eq", "ne", "logical_not", "logical_and"),
    *(
        "logical_or",
        "bitwise_not",
        "bitwise_and",
        "bitwise_or",
        "minimum",
        "maximum",
        "clamp",
        "clamp_min",
        "clamp_max",
    ),
    *("masked_fill", "to", "_to_copy", "clone", "softplus", "silu", "elu", "leaky_relu", "remainder", "square"),
}
SHAPES = (
    "view",
    "_unsafe_view",
    "reshape",
    "flatten",
    "squeeze",
    "unsqueeze",
    "clone",
    "contiguous",
    "alias",
    "detach",
)
ENDINGS = {
    "softmax": "softmax",
    "_softmax": "softmax",
    "log_softmax": "log_softmax",
    "_log_softmax": "log_softmax",
    "sigmoid": "sigmoid",
    "log_sigmoid": "log_sigmoid",
    **dict.fromkeys(SHAPES, "shape"),
}

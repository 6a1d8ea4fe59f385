"""What PyTorch's operators mean, one line of a table each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from suffice.importers import rules
from suffice.importers.values import Codes, Value, is_constant

Arguments: TypeAlias = Any  # an operator's arguments by the names PyTorch gives them
Lowering: TypeAlias = Callable[[Arguments], Value]


def _same(given: Arguments) -> Value:
    return given.self


def _cast(given: Arguments) -> Value:
    kind = getattr(given, "dtype", None)
    if kind is not None and not kind.is_floating_point:
        raise ValueError(f"it turns values into {kind}, which rounds them")
    return given.self


def _dropout(given: Arguments) -> Value:
    if given.train is not False:
        raise ValueError("this dropout is on in eval mode too: call it with training=self.training")
    return given.input


def _embedding(given: Arguments) -> Value:
    return rules.look_up(given.weight, given.indices)


def bag_rows(given: Arguments) -> Value:
    """The rows that an EmbeddingBag looks up, before it puts them into bags; what it leaves out
    adds nothing.
    """
    if left_out(given) is None:
        return rules.look_up(given.weight, given.indices)
    if KINDS[given.mode] == "max":
        raise ValueError(
            "its padding_idx leaves words out of the bag, and a maximum over those that are "
            "left is not known here: "
            "train with padding_idx=None"
        )
    table = rules.floats(given.weight).copy()
    table[left_out(given)] = 0.0
    return rules.look_up(table, given.indices)


def bag_sizes(given: Arguments) -> Value:
    """How many words a mean divides by: those that are not left out, and at least 1."""
    words = given.indices
    if (
        rules.numbers(given.offsets)[:1] != [0]
        or len(rules.numbers(given.offsets)) - given.include_last_offset != 1
    ):
        raise ValueError("its means that leave padding out are over more than one bag")
    present = rules.reduce(
        Codes(words.places, np.asarray(words.codes) != left_out(given)), "sum", (0,), True
    )
    return replace(present, codes=np.maximum(present.codes, 1))


def left_out(given: Arguments) -> int | None:
    """The word that bags leave out."""
    place = getattr(given, "padding_idx", None)
    return None if place in (None, -1) else int(place)


def bags(given: Arguments) -> Value:
    """Sums, means or maxima over bags of rows; where words are left out, sums that are still to be
    divided.
    """
    if not (is_constant(given.offsets) and given.per_sample_weights is None):
        raise ValueError("its bags or their weights depend on the text")
    starts = rules.numbers(given.offsets)
    starts = starts[:-1] if given.include_last_offset else starts
    return rules.bags(
        given.indices, starts, "sum" if left_out(given) is not None else KINDS[given.mode]
    )


def _linear(given: Arguments) -> Value:
    if not (is_constant(given.weight) and is_constant(given.bias)):
        raise ValueError(rules.PRODUCT)
    return rules.linear(given.input, given.weight, given.bias)


def _addmm(given: Arguments) -> Value:
    product = rules.matmul(given.mat1, given.mat2)
    return rules.add(_times(product, given.alpha), _times(given.self, given.beta))


def _times(value: Value, factor: Any) -> Value:
    if is_constant(factor) and float(factor) == 1.0:
        return value
    return rules.floats(value) * float(factor) if is_constant(value) else value.scale(float(factor))


def _convolution(given: Arguments) -> Value:
    if not (is_constant(given.weight) and is_constant(given.bias)):
        raise ValueError(rules.PRODUCT)
    if getattr(given, "transposed", False):
        raise ValueError("a transposed convolution is not known here")
    padding = given.padding
    if padding == "same":
        padding = rules.same_padding(np.shape(given.weight)[2:], given.dilation)
    return rules.convolve(
        given.input,
        given.weight,
        given.bias,
        given.stride,
        0 if padding == "valid" else padding,
        given.dilation,
        int(given.groups),
    )


def _max_pool(axes: int) -> Lowering:
    def rule(given: Arguments) -> Value:
        size, padding, gaps = (
            rules.per_axis(part, axes)
            for part in (given.kernel_size, given.padding, given.dilation)
        )
        stride = rules.per_axis(given.stride, axes) if given.stride else size
        return rules.spatial(
            given.self, axes, lambda x: x.max_pool(size, stride, padding, gaps, given.ceil_mode)
        )

    return rule


def _average_pool(axes: int) -> Lowering:
    def rule(given: Arguments) -> Value:
        if getattr(given, "divisor_override", None) is not None:
            raise ValueError("an average with a divisor of its own is not known here")
        size, padding = (rules.per_axis(part, axes) for part in (given.kernel_size, given.padding))
        stride = rules.per_axis(given.stride, axes) if given.stride else size
        return rules.spatial(
            given.self,
            axes,
            lambda x: x.average_pool(
                size, stride, padding, given.ceil_mode, given.count_include_pad
            ),
        )

    return rule


def _adaptive_pool(axes: int, kind: str) -> Lowering:
    def rule(given: Arguments) -> Value:
        found = rules.spatial(
            given.self,
            axes,
            lambda x: x.adaptive_pool(rules.per_axis(given.output_size, axes), kind),
        )
        return (found,) if kind == "max" else found

    return rule


def _first(rule: Lowering) -> Lowering:
    """PyTorch gives the places of the maxima too; nothing depends on them here."""
    return lambda given: (rule(given),)


def _batch_norm(given: Arguments) -> Value:
    if getattr(given, "training", False) or given.running_mean is None:
        raise ValueError(
            "batch norm without running statistics depends on the other texts of a batch"
        )
    return rules.batch_norm(
        given.input,
        given.weight,
        given.bias,
        given.running_mean,
        given.running_var,
        float(given.eps),
    )


def _reduced(kind: str) -> Lowering:
    def rule(given: Arguments) -> Value:
        axes = getattr(given, "dim", None)
        axes = [axes] if isinstance(axes, int) else axes or None
        return rules.reduce(given.self, kind, axes, getattr(given, "keepdim", False))

    return rule


def _clamp(given: Arguments) -> Value:
    low = getattr(given, "min", None)
    high = getattr(given, "max", None)
    if any(bound is not None and np.size(bound) > 1 for bound in (low, high)):
        raise ValueError("it clamps to more than one pair of bounds")
    return given.self.clip(
        None if low is None else float(low), None if high is None else float(high)
    )


def _add(given: Arguments) -> Value:
    return rules.add(given.self, _times(given.other, given.alpha))


def _subtract(given: Arguments) -> Value:
    return rules.subtract(given.self, _times(given.other, given.alpha))


def _divide(given: Arguments) -> Value:
    if getattr(given, "rounding_mode", None) is not None:
        raise ValueError("a division that rounds is not known here")
    return rules.divide(given.self, given.other)


def _split(given: Arguments) -> Value:
    whole = given.self.shape[given.dim]
    wanted = given.split_size if hasattr(given, "split_size") else given.split_sizes
    sizes = (
        wanted
        if isinstance(wanted, list)
        else [min(wanted, whole - i) for i in range(0, whole, wanted)]
    )
    return rules.pieces(given.self, given.dim, sizes)


def _chunk(given: Arguments) -> Value:
    whole = given.self.shape[given.dim]
    size = -(-whole // given.chunks)
    return rules.pieces(
        given.self, given.dim, [min(size, whole - i) for i in range(0, whole, size)]
    )


def _unbind(given: Arguments) -> Value:
    return tuple(
        rules.take(given.self, given.dim, place) for place in range(given.self.shape[given.dim])
    )


def _index(given: Arguments) -> Value:
    """x[:, const] and the like: one constant index, the axes before it as they are."""
    chosen = [(axis, index) for axis, index in enumerate(given.indices) if index is not None]
    if len(chosen) != 1 or not is_constant(chosen[0][1]) or np.asarray(chosen[0][1]).dtype == bool:
        raise ValueError(
            "it picks by several arrays, by a mask or by values that depend on the text"
        )
    return rules.take(given.self, *chosen[0])


def _pad(given: Arguments) -> Value:
    if getattr(given, "mode", "constant") != "constant":
        raise ValueError(f"padding in the mode {given.mode!r} is not known here")
    pairs = [(given.pad[i], given.pad[i + 1]) for i in range(0, len(given.pad), 2)][::-1]
    widths = [(0, 0)] * (len(given.self.shape) - len(pairs)) + pairs
    return rules.pad(given.self, widths, float(getattr(given, "value", None) or 0.0))


def _repeat(given: Arguments) -> Value:
    return rules.repeat(given.self, given.repeats)


def _flip(given: Arguments) -> Value:
    return rules.arrange(given.self, lambda places: np.flip(places, tuple(given.dims)))


def _transpose(given: Arguments) -> Value:
    return rules.arrange(given.self, lambda places: np.swapaxes(places, given.dim0, given.dim1))


def _squeeze(given: Arguments) -> Value:
    axes = getattr(given, "dim", None)
    return rules.squeeze(given.self, [axes] if isinstance(axes, int) else axes)


def _unflatten(given: Arguments) -> Value:
    axis = given.dim % len(given.self.shape)
    return rules.reshape(
        given.self, [*given.self.shape[:axis], *given.sizes, *given.self.shape[axis + 1 :]]
    )


def _slice(given: Arguments) -> Value:
    return rules.cut(given.self, given.dim, given.start, given.end, given.step)


def _curve(name: str) -> Lowering:
    return lambda given: given.self.curve(name)


def _gelu(given: Arguments) -> Value:
    return given.self.curve("gelu_tanh" if given.approximate == "tanh" else "gelu")


def _elu(given: Arguments) -> Value:
    return rules.elu(given.self, float(given.alpha), float(given.scale), float(given.input_scale))


def _softplus(given: Arguments) -> Value:
    if float(given.threshold) < STRAIGHT:
        raise ValueError(
            f"its threshold of {float(given.threshold):g} makes it jump to a line there: "
            "leave it at 20"
        )
    return rules.softplus(given.self, float(given.beta))


def _reshaped(given: Arguments) -> Value:
    return rules.reshape(given.self, getattr(given, "shape", None) or given.size)


def _maximum(given: Arguments) -> Value:
    return rules.maximum(given.self, given.other)


def _minimum(given: Arguments) -> Value:
    return rules.minimum(given.self, given.other)


SELU = (1.6732632423543772, 1.0507009873554805)
STRAIGHT = 15.0  # from where on softplus is a line but for less than float32 can tell
KINDS = ("sum", "mean", "max")  # of bags, by PyTorch's numbers
RULES: dict[str, Lowering] = {
    # looking up
    "embedding": _embedding,
    # affine layers
    "linear": _linear,
    "addmm": _addmm,
    "mm": lambda given: rules.matmul(given.self, given.mat2),
    "bmm": lambda given: rules.matmul(given.self, given.mat2),
    "matmul": lambda given: rules.matmul(given.self, given.other),
    "einsum": lambda given: rules.einsum(given.equation, given.tensors),
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
    "relu": lambda given: given.self.relu(),
    "relu6": lambda given: given.self.clip(0.0, 6.0),
    "leaky_relu": lambda given: given.self.leaky_relu(float(given.negative_slope)),
    "prelu": lambda given: rules.prelu_channels(given.self, given.weight),
    "_prelu_kernel": lambda given: rules.prelu(given.self, given.weight),
    "hardtanh": lambda given: given.self.clip(float(given.min_val), float(given.max_val)),
    "hardsigmoid": lambda given: rules.hard_sigmoid(given.self, 1 / 6, 0.5),
    "clamp": _clamp,
    "clamp_min": _clamp,
    "clamp_max": _clamp,
    "tanh": _curve("tanh"),
    "sigmoid": _curve("sigmoid"),
    "silu": _curve("silu"),
    "exp": _curve("exp"),
    "gelu": _gelu,
    "elu": _elu,
    "celu": lambda given: rules.elu(given.self, float(given.alpha), 1.0, 1 / float(given.alpha)),
    "selu": lambda given: rules.elu(given.self, *SELU),
    "softplus": _softplus,
    "softmax": lambda given: rules.softmax(given.self, given.dim),
    "_softmax": lambda given: rules.softmax(given.self, given.dim),
    "abs": lambda given: rules.absolute(given.self),
    # arithmetic
    "add": _add,
    "sub": _subtract,
    "rsub": lambda given: rules.subtract(_times(given.other, 1), _times(given.self, given.alpha)),
    "mul": lambda given: rules.multiply(given.self, given.other),
    "div": _divide,
    "neg": lambda given: rules.negative(given.self),
    "maximum": _maximum,
    "max.other": _maximum,
    "minimum": _minimum,
    "min.other": _minimum,
    # arranging
    "view": _reshaped,
    "_unsafe_view": _reshaped,
    "reshape": _reshaped,
    "flatten": lambda given: rules.flatten(given.self, given.start_dim, given.end_dim),
    "unflatten": _unflatten,
    "squeeze": _squeeze,
    "unsqueeze": lambda given: rules.unsqueeze(given.self, (given.dim,)),
    "permute": lambda given: rules.permute(given.self, given.dims),
    "transpose": _transpose,
    "t": lambda given: rules.arrange(given.self, np.transpose),
    "numpy_T": lambda given: rules.arrange(given.self, np.transpose),
    "select": lambda given: rules.take(given.self, given.dim, given.index),
    "slice": _slice,
    "index_select": lambda given: rules.take(given.self, given.dim, given.index),
    "index": _index,
    "narrow": lambda given: rules.cut(
        given.self, given.dim, given.start, given.start + given.length
    ),
    "split": _split,
    "split_with_sizes": _split,
    "chunk": _chunk,
    "unbind": _unbind,
    "cat": lambda given: rules.concatenate(given.tensors, given.dim),
    "concat": lambda given: rules.concatenate(given.tensors, given.dim),
    "stack": lambda given: rules.stack(given.tensors, given.dim),
    "expand": lambda given: rules.expand(given.self, given.size),
    "repeat": _repeat,
    "flip": _flip,
    "pad": _pad,
    "constant_pad_nd": _pad,
    "getitem": lambda given: given.self[given.index],
    # nothing
    **dict.fromkeys(
        ("clone", "contiguous", "alias", "detach", "lift_fresh_copy", "identity"), _same
    ),
    **dict.fromkeys(("to", "_to_copy", "type_as", "float", "double"), _cast),
}
ARRANGING = {
    *(
        "view",
        "_unsafe_view",
        "reshape",
        "flatten",
        "unflatten",
        "squeeze",
        "unsqueeze",
        "permute",
        "transpose",
        "t",
    ),
    *("select", "slice", "index_select", "narrow", "expand", "repeat", "flip", "getitem"),
    *("clone", "contiguous", "alias", "detach", "lift_fresh_copy", "identity"),
}
NOTHING = {
    "to",
    "_to_copy",
    "type_as",
    "dropout",
    "feature_dropout",
    "alpha_dropout",
    "native_dropout",
}
TAKES_WORDS = (
    ARRANGING | NOTHING | {"embedding", "split", "split_with_sizes", "chunk", "unbind", "index"}
)
ROLES = {
    "div.Tensor": "divide",
    "mul.Tensor": "multiply",
    **dict.fromkeys(("sum.dim_IntList", "mean.dim"), "reduce"),
}
EQUATIONS = {
    "bmm": "bik,bkd->bid",
    "matmul": "...ik,...kd->...id",
}  # of products that are always alike
ELEMENTWISE = {
    *(
        "relu",
        "sigmoid",
        "tanh",
        "exp",
        "log",
        "log1p",
        "expm1",
        "erf",
        "pow",
        "sqrt",
        "reciprocal",
        "abs",
        "neg",
    ),
    *(
        "add",
        "sub",
        "rsub",
        "mul",
        "div",
        "where",
        "gt",
        "ge",
        "lt",
        "le",
        "eq",
        "ne",
        "logical_not",
        "logical_and",
    ),
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
    *(
        "masked_fill",
        "to",
        "_to_copy",
        "clone",
        "softplus",
        "silu",
        "elu",
        "leaky_relu",
        "remainder",
        "square",
    ),
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

"""What ONNX's operators mean, one line of a table each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from suffice.importers import rules
from suffice.importers.walk import Codes, Value, is_constant
from suffice.model.graph import Tensor

FLOATING = (1, 10, 11, 16)  # the numbers of float, float16, double and bfloat16


@dataclass(frozen=True, eq=False)
class Operator:
    """One operator with its inputs (None where one is left out) and its attributes."""

    inputs: Sequence[Value]
    attributes: Mapping[str, Any]
    opset: int
    outputs: int

    def __getitem__(self, place: int) -> Value:
        return self.inputs[place] if place < len(self.inputs) else None

    def get(self, name: str, otherwise: Any = None) -> Any:
        return self.attributes.get(name, otherwise)

    def either(self, name: str, place: int) -> Any:
        """What older opsets have as an attribute and newer ones as a constant input."""
        found = self[place] if place < len(self.inputs) else None
        found = self.get(name) if found is None else found
        if found is not None and not is_constant(found):
            raise ValueError(f"its {name} depend on the text")
        return found

    def numbers(self, name: str, place: int) -> list[int] | None:
        found = self.either(name, place)
        return None if found is None else rules.numbers(found)


Lowering: TypeAlias = Callable[[Operator], Value]


def control_flow(_: Any) -> Value:
    raise ValueError(
        "it repeats or chooses operators while it runs, and the way through the network must be fixed. (PyTorch writes "
        "EmbeddingBag as a Loop: use Embedding and mean(1) instead, or sf.from_torch.)"
    )


def _gather(a: Operator) -> Value:
    axis = int(a.get("axis", 0))
    if isinstance(a[1], Codes):
        if axis != 0 or not is_constant(a[0]):
            raise ValueError("it picks by the numbers of the words, but not from a table of vectors")
        return rules.look_up(a[0], a[1])
    if not is_constant(a[1]):
        raise ValueError("it picks by values that depend on the text")
    return rules.take(a[0], axis, a[1])


def _gather_nd(a: Operator) -> Value:
    """Entries or slices at constant places, as PyTorch writes adaptive pooling."""
    if a.get("batch_dims", 0) or not is_constant(a[1]):
        raise ValueError("it picks by values that depend on the text, or from each text of a batch on its own")
    index = tuple(np.moveaxis(np.asarray(a[1]), -1, 0))
    return rules.arrange(a[0], lambda places: places[index])


def _conv(a: Operator) -> Value:
    if not (is_constant(a[1]) and (a[2] is None or is_constant(a[2]))):
        raise ValueError(rules.PRODUCT)
    kernel = np.shape(a[1])[2:]
    stride, dilation, padding = _windows(a, kernel, a[0].shape[2:])
    return rules.convolve(a[0], a[1], a[2], stride, padding, dilation, int(a.get("group", 1)))


def _windows(
    a: Operator, kernel: Sequence[int], sizes: Sequence[int]
) -> tuple[list[int], list[int], tuple[tuple[int, int], ...]]:
    """Strides, dilations and the padding before and after each axis."""
    axes = len(kernel)
    stride, dilation = list(a.get("strides", [1] * axes)), list(a.get("dilations", [1] * axes))
    pads = list(a.get("pads", [0] * (2 * axes)))
    padding = tuple((int(pads[i]), int(pads[i + axes])) for i in range(axes))
    how = a.get("auto_pad", "NOTSET")
    if how == "VALID":
        padding = ((0, 0),) * axes
    elif how in ("SAME_UPPER", "SAME_LOWER"):
        padding = tuple(_same(*each, how) for each in zip(sizes, kernel, stride, dilation, strict=True))
    return stride, dilation, padding


def _same(size: int, kernel: int, stride: int, dilation: int, how: str) -> tuple[int, int]:
    """As much padding as gives ceil(size / stride) places; the odd cell goes to the end, or to the start."""
    total = max(0, (math.ceil(size / stride) - 1) * stride + dilation * (kernel - 1) + 1 - size)
    small, large = total // 2, total - total // 2
    return (small, large) if how == "SAME_UPPER" else (large, small)


def _max_pool(a: Operator) -> Value:
    size = list(a.get("kernel_shape"))
    stride, dilation, padding = _windows(a, size, a[0].shape[2:])
    ceil = bool(a.get("ceil_mode", 0))
    return rules.spatial(a[0], len(size), lambda x: x.max_pool(size, stride, padding, dilation, ceil))


def _average_pool(a: Operator) -> Value:
    size = list(a.get("kernel_shape"))
    stride, dilation, padding = _windows(a, size, a[0].shape[2:])
    if set(dilation) != {1}:
        raise ValueError("an average over windows with gaps is not known here")
    ceil, counted = bool(a.get("ceil_mode", 0)), bool(a.get("count_include_pad", 0))
    return rules.spatial(a[0], len(size), lambda x: x.average_pool(size, stride, padding, ceil, counted))


def _global_pool(kind: str) -> Lowering:
    return lambda a: rules.reduce(a[0], kind, range(2, len(a[0].shape)), True)


def _reduce(kind: str) -> Lowering:
    def rule(a: Operator) -> Value:
        axes = a.numbers("axes", 1)
        if not axes and a.get("noop_with_empty_axes", 0):
            return a[0]
        return rules.reduce(a[0], kind, axes or None, bool(a.get("keepdims", 1)))

    return rule


def _batch_norm(a: Operator) -> Value:
    if a.get("training_mode", 0):
        raise ValueError("batch norm in training mode depends on the other texts of a batch")
    return rules.batch_norm(a[0], a[1], a[2], a[3], a[4], float(a.get("epsilon", 1e-5)))


def _gemm(a: Operator) -> Value:
    left, right = (_turned(a[i]) if a.get(name, 0) else a[i] for i, name in enumerate(("transA", "transB")))
    product = rules.matmul(left, right)
    alpha, beta = float(a.get("alpha", 1.0)), float(a.get("beta", 1.0))
    product = product if alpha == 1.0 else product.scale(alpha)
    if a[2] is None:
        return product
    if beta == 1.0:
        return rules.add(product, a[2])
    return rules.add(product, rules.floats(a[2]) * beta if is_constant(a[2]) else a[2].scale(beta))


def _turned(x: Value) -> Value:
    return np.asarray(x).T if is_constant(x) else rules.permute(x, (1, 0))


def _reshape(a: Operator) -> Value:
    sizes = a.numbers("shape", 1) or []
    if not a.get("allowzero", 0):
        sizes = [a[0].shape[i] if size == 0 else size for i, size in enumerate(sizes)]
    return rules.reshape(a[0], sizes)


def _flatten(a: Operator) -> Value:
    axis, shape = int(a.get("axis", 1)), a[0].shape
    axis = axis + len(shape) if axis < 0 else axis
    return rules.reshape(a[0], (math.prod(shape[:axis]), math.prod(shape[axis:])))


def _transpose(a: Operator) -> Value:
    return rules.permute(a[0], a.get("perm") or range(len(a[0].shape))[::-1])


def _slice(a: Operator) -> Value:
    starts, ends = a.numbers("starts", 1) or [], a.numbers("ends", 2) or []
    axes = a.numbers("axes", 3) or list(range(len(starts)))
    steps = a.numbers("steps", 4) or [1] * len(starts)
    found = a[0]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        found = rules.cut(found, axis, start, end, step)
    return found


def _split(a: Operator) -> Value:
    axis = int(a.get("axis", 0))
    whole = a[0].shape[axis]
    size = -(-whole // a.outputs)
    sizes = a.numbers("split", 1) or [min(size, whole - i) for i in range(0, whole, size)]
    return rules.pieces(a[0], axis, sizes)


def _pad(a: Operator) -> Value:
    if a.get("mode", "constant") != "constant":
        raise ValueError(f"padding in the mode {a.get('mode')!r} is not known here")
    pads, count = a.numbers("pads", 1) or [], len(a[0].shape)
    axes = a.numbers("axes", 3) or list(range(len(pads) // 2))
    widths = [(0, 0)] * count
    for place, axis in enumerate(axes):
        widths[axis % count] = (pads[place], pads[place + len(axes)])
    fill = a.either("value", 2)
    return rules.pad(a[0], widths, 0.0 if fill is None else float(np.reshape(fill, ())))


def _clip(a: Operator) -> Value:
    low, high = a.either("min", 1), a.either("max", 2)
    return a[0].clip(*(None if bound is None else float(np.reshape(bound, ())) for bound in (low, high)))


def _softmax(a: Operator) -> Value:
    if a.opset >= 13:
        return rules.softmax(a[0], int(a.get("axis", -1)))
    shape, axis = a[0].shape, int(a.get("axis", 1))
    axis = axis + len(shape) if axis < 0 else axis
    flat = rules.reshape(a[0], (math.prod(shape[:axis]), math.prod(shape[axis:])))
    return rules.reshape(rules.softmax(flat, 1), shape)


def _cast(a: Operator) -> Value:
    if a.get("to") not in FLOATING:
        raise ValueError("it turns values into another kind than floating point, which rounds them")
    return a[0]


def _dropout(a: Operator) -> Value:
    if a[2] is not None and np.any(a[2]):
        raise ValueError("this dropout is on: export the network in eval mode")
    return a[0]


def _shape(a: Operator) -> Value:
    return np.array(a[0].shape[slice(a.get("start"), a.get("end"))], dtype=np.int64)


def _expand(a: Operator) -> Value:
    sizes = np.broadcast_shapes(a[0].shape, tuple(a.numbers("shape", 1) or ()))
    return rules.expand(a[0], sizes)


def _tile(a: Operator) -> Value:
    return rules.repeat(a[0], a.numbers("repeats", 1) or [])


def _where(a: Operator) -> Value:
    """A choice by a constant mask; anything else is refused or recognised as a curve."""
    if not is_constant(a[0]):
        raise ValueError("it chooses by values that depend on the text")
    mask = rules.floats(a[0])
    chosen = [rules.floats(x) * m if is_constant(x) else x.scale(m) for x, m in ((a[1], mask), (a[2], 1 - mask))]
    return rules.add(*chosen)


def _several(combine: Callable[[Value, Value], Value]) -> Lowering:
    def rule(a: Operator) -> Value:
        found = a[0]
        for other in a.inputs[1:]:
            constant = is_constant(found) and is_constant(other)
            found = combine(_beside(a, found), other) if constant else combine(found, other)
        return found

    return rule


def _beside(a: Operator, value: Value) -> Tensor:
    return rules.constant(next(x for x in a.inputs if isinstance(x, Tensor)), value)


def _gelu(a: Operator) -> Value:
    return a[0].curve("gelu_tanh" if a.get("approximate", "none") == "tanh" else "gelu")


def _celu(a: Operator) -> Value:
    alpha = float(a.get("alpha", 1.0))
    return a[0].scale(1 / alpha).curve("elu").scale(alpha)


def _curve(name: str) -> Lowering:
    return lambda a: a[0].curve(name)


def _identity(a: Operator) -> Value:
    return a[0]


RULES: dict[str, Lowering] = {
    # looking up
    "Gather": _gather,
    "GatherND": _gather_nd,
    # affine layers
    "MatMul": lambda a: rules.matmul(a[0], a[1]),
    "Gemm": _gemm,
    "Conv": _conv,
    "BatchNormalization": _batch_norm,
    "Dropout": _dropout,
    # pooling and reducing
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "GlobalMaxPool": _global_pool("max"),
    "GlobalAveragePool": _global_pool("mean"),
    "ReduceMean": _reduce("mean"),
    "ReduceSum": _reduce("sum"),
    "ReduceMax": _reduce("max"),
    "ReduceMin": _reduce("min"),
    # activations
    "Relu": lambda a: a[0].relu(),
    "LeakyRelu": lambda a: a[0].leaky_relu(float(a.get("alpha", 0.01))),
    "PRelu": lambda a: rules.prelu(a[0], a[1]),
    "Clip": _clip,
    "HardSigmoid": lambda a: rules.hard_sigmoid(a[0], float(a.get("alpha", 0.2)), float(a.get("beta", 0.5))),
    "Tanh": _curve("tanh"),
    "Sigmoid": _curve("sigmoid"),
    "Softplus": _curve("softplus"),
    "Exp": _curve("exp"),
    "Gelu": _gelu,
    "Elu": lambda a: rules.elu(a[0], float(a.get("alpha", 1.0))),
    "Selu": lambda a: rules.elu(
        a[0], float(a.get("alpha", 1.67326319217681884765625)), float(a.get("gamma", 1.05070102214813232421875))
    ),
    "Celu": _celu,
    "Softmax": _softmax,
    "Abs": lambda a: rules.absolute(a[0]),
    # arithmetic
    "Add": lambda a: rules.add(a[0], a[1]),
    "Sub": lambda a: rules.subtract(a[0], a[1]),
    "Mul": lambda a: rules.multiply(a[0], a[1]),
    "Div": lambda a: rules.divide(a[0], a[1]),
    "Neg": lambda a: rules.negative(a[0]),
    "Sum": _several(rules.add),
    "Max": _several(rules.maximum),
    "Min": _several(rules.minimum),
    "Where": _where,
    # arranging
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Transpose": _transpose,
    "Squeeze": lambda a: rules.squeeze(a[0], a.numbers("axes", 1)),
    "Unsqueeze": lambda a: rules.unsqueeze(a[0], a.numbers("axes", 1) or ()),
    "Concat": lambda a: rules.concatenate(a.inputs, int(a.get("axis", 0))),
    "Slice": _slice,
    "Split": _split,
    "Pad": _pad,
    "Expand": _expand,
    "Tile": _tile,
    "Shape": _shape,
    "Identity": _identity,
    "Cast": _cast,
    "CastLike": _identity,
}
TAKES_WORDS = {
    *("Gather", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Split", "Expand", "Tile"),
    *("Shape", "Identity"),
}
ELEMENTWISE = {
    *(
        "Relu",
        "LeakyRelu",
        "Sigmoid",
        "Tanh",
        "Exp",
        "Log",
        "Erf",
        "Pow",
        "Sqrt",
        "Reciprocal",
        "Abs",
        "Neg",
        "Softplus",
    ),
    *("Add", "Sub", "Mul", "Div", "Sum", "Max", "Min", "Where", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
    *("Equal", "Not", "And", "Or", "Cast", "Identity", "Elu", "Clip", "Mod"),
}
BROADCAST = {*ELEMENTWISE, "PRelu", "Xor", "BitwiseAnd"}
# What may be computed where nothing depends on the text; none gives more numbers than `_size` (onnx_program.py) says.
COMPUTED = {
    *(RULES.keys() - {"Conv", "MaxPool", "AveragePool"}),
    *BROADCAST,
    *("Constant", "ConstantOfShape", "Range", "Size", "LogSoftmax", "ReduceProd", "CumSum", "Trilu", "Ceil", "Floor"),
    *("Sign", "Round", "ArgMax", "EyeLike", "IsNaN", "NonZero", "Sin", "Cos", "ScatterND", "ScatterElements"),
    *("GatherElements", "ReduceL2", "HardSwish", "Mish", "Softsign", "InstanceNormalization"),
}
ENDINGS = {
    "Softmax": "softmax",
    "LogSoftmax": "log_softmax",
    "Sigmoid": "sigmoid",
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Cast", "Dropout"), "shape"),
}

"""What ONNX's operators mean, one line of a table each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from suffice.importers import rules
from suffice.importers.values import Codes, Value, is_constant
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


def control_flow() -> NoReturn:
    raise ValueError(
        "it repeats or chooses operators by what the text is, and the way through the network "
        "must be fixed. PyTorch "
        "writes EmbeddingBag with padding_idx so: sf.from_torch takes the module itself where "
        "it adds or averages. Any "
        "other network can be asked as a function (sf.from_function)"
    )


def _gather(operator: Operator) -> Value:
    axis = int(operator.get("axis", 0))
    if isinstance(operator[1], Codes):
        if axis != 0 or not is_constant(operator[0]):
            raise ValueError(
                "it picks by the numbers of the words, but not from a table of vectors"
            )
        return rules.look_up(operator[0], operator[1])
    if not is_constant(operator[1]):
        raise ValueError("it picks by values that depend on the text")
    return rules.take(operator[0], axis, operator[1])


def _gather_nd(operator: Operator) -> Value:
    """Entries or slices at constant places, as PyTorch writes adaptive pooling."""
    if operator.get("batch_dims", 0) or not is_constant(operator[1]):
        raise ValueError(
            "it picks by values that depend on the text, or from each text of a batch on its own"
        )
    index = tuple(np.moveaxis(np.asarray(operator[1]), -1, 0))
    return rules.arrange(operator[0], lambda places: places[index])


def _conv(operator: Operator) -> Value:
    if not (is_constant(operator[1]) and (operator[2] is None or is_constant(operator[2]))):
        raise ValueError(rules.PRODUCT)
    kernel = np.shape(operator[1])[2:]
    stride, dilation, padding = _windows(operator, kernel, operator[0].shape[2:])
    return rules.convolve(
        operator[0],
        operator[1],
        operator[2],
        stride,
        padding,
        dilation,
        int(operator.get("group", 1)),
    )


def _windows(
    operator: Operator, kernel: Sequence[int], sizes: Sequence[int]
) -> tuple[list[int], list[int], tuple[tuple[int, int], ...]]:
    """Strides, dilations and the padding before and after each axis."""
    axes = len(kernel)
    stride = list(operator.get("strides", [1] * axes))
    dilation = list(operator.get("dilations", [1] * axes))
    pads = list(operator.get("pads", [0] * (2 * axes)))
    padding = tuple((int(pads[i]), int(pads[i + axes])) for i in range(axes))
    how = operator.get("auto_pad", "NOTSET")
    if how == "VALID":
        padding = ((0, 0),) * axes
    elif how in ("SAME_UPPER", "SAME_LOWER"):
        padding = tuple(
            _same(*each, how) for each in zip(sizes, kernel, stride, dilation, strict=True)
        )
    return stride, dilation, padding


def _same(size: int, kernel: int, stride: int, dilation: int, how: str) -> tuple[int, int]:
    """As much padding as gives ceil(size / stride) places; the odd cell goes to the end, or to the
    start.
    """
    total = max(0, (math.ceil(size / stride) - 1) * stride + dilation * (kernel - 1) + 1 - size)
    small = total // 2
    large = total - total // 2
    return (small, large) if how == "SAME_UPPER" else (large, small)


def _max_pool(operator: Operator) -> Value:
    size = list(operator.get("kernel_shape"))
    stride, dilation, padding = _windows(operator, size, operator[0].shape[2:])
    ceil = bool(operator.get("ceil_mode", 0))
    return rules.spatial(
        operator[0], len(size), lambda x: x.max_pool(size, stride, padding, dilation, ceil)
    )


def _average_pool(operator: Operator) -> Value:
    size = list(operator.get("kernel_shape"))
    stride, dilation, padding = _windows(operator, size, operator[0].shape[2:])
    if set(dilation) != {1}:
        raise ValueError("an average over windows with gaps is not known here")
    ceil, counted = bool(operator.get("ceil_mode", 0)), bool(operator.get("count_include_pad", 0))
    return rules.spatial(
        operator[0], len(size), lambda x: x.average_pool(size, stride, padding, ceil, counted)
    )


def _global_pool(kind: str) -> Lowering:
    return lambda operator: rules.reduce(operator[0], kind, range(2, len(operator[0].shape)), True)


def _reduce(kind: str) -> Lowering:
    def rule(operator: Operator) -> Value:
        axes = operator.numbers("axes", 1)
        if not axes and operator.get("noop_with_empty_axes", 0):
            return operator[0]
        return rules.reduce(operator[0], kind, axes or None, bool(operator.get("keepdims", 1)))

    return rule


def _batch_norm(operator: Operator) -> Value:
    if operator.get("training_mode", 0):
        raise ValueError("batch norm in training mode depends on the other texts of a batch")
    return rules.batch_norm(
        operator[0],
        operator[1],
        operator[2],
        operator[3],
        operator[4],
        float(operator.get("epsilon", 1e-5)),
    )


def _gemm(operator: Operator) -> Value:
    left, right = (
        _turned(operator[i]) if operator.get(name, 0) else operator[i]
        for i, name in enumerate(("transA", "transB"))
    )
    product = rules.matmul(left, right)
    alpha = float(operator.get("alpha", 1.0))
    beta = float(operator.get("beta", 1.0))
    product = product if alpha == 1.0 else product.scale(alpha)
    if operator[2] is None:
        return product
    if beta == 1.0:
        return rules.add(product, operator[2])
    return rules.add(
        product,
        rules.floats(operator[2]) * beta if is_constant(operator[2]) else operator[2].scale(beta),
    )


def _turned(x: Value) -> Value:
    return np.asarray(x).T if is_constant(x) else rules.permute(x, (1, 0))


def _reshape(operator: Operator) -> Value:
    sizes = operator.numbers("shape", 1) or []
    if not operator.get("allowzero", 0):
        sizes = [operator[0].shape[i] if size == 0 else size for i, size in enumerate(sizes)]
    return rules.reshape(operator[0], sizes)


def _flatten(operator: Operator) -> Value:
    axis = int(operator.get("axis", 1))
    shape = operator[0].shape
    axis = axis + len(shape) if axis < 0 else axis
    return rules.reshape(operator[0], (math.prod(shape[:axis]), math.prod(shape[axis:])))


def _transpose(operator: Operator) -> Value:
    return rules.permute(operator[0], operator.get("perm") or range(len(operator[0].shape))[::-1])


def _slice(operator: Operator) -> Value:
    starts = operator.numbers("starts", 1) or []
    ends = operator.numbers("ends", 2) or []
    axes = operator.numbers("axes", 3) or list(range(len(starts)))
    steps = operator.numbers("steps", 4) or [1] * len(starts)
    found = operator[0]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        found = rules.cut(found, axis, start, end, step)
    return found


def _split(operator: Operator) -> Value:
    axis = int(operator.get("axis", 0))
    whole = operator[0].shape[axis]
    size = -(-whole // operator.outputs)
    sizes = operator.numbers("split", 1) or [min(size, whole - i) for i in range(0, whole, size)]
    return rules.pieces(operator[0], axis, sizes)


def _pad(operator: Operator) -> Value:
    if operator.get("mode", "constant") != "constant":
        raise ValueError(f"padding in the mode {operator.get('mode')!r} is not known here")
    pads = operator.numbers("pads", 1) or []
    count = len(operator[0].shape)
    axes = operator.numbers("axes", 3) or list(range(len(pads) // 2))
    widths = [(0, 0)] * count
    for place, axis in enumerate(axes):
        widths[axis % count] = (pads[place], pads[place + len(axes)])
    fill = operator.either("value", 2)
    return rules.pad(operator[0], widths, 0.0 if fill is None else float(np.reshape(fill, ())))


def _clip(operator: Operator) -> Value:
    low = operator.either("min", 1)
    high = operator.either("max", 2)
    return operator[0].clip(
        *(None if bound is None else float(np.reshape(bound, ())) for bound in (low, high))
    )


def _softmax(operator: Operator) -> Value:
    if operator.opset >= 13:
        return rules.softmax(operator[0], int(operator.get("axis", -1)))
    shape = operator[0].shape
    axis = int(operator.get("axis", 1))
    axis = axis + len(shape) if axis < 0 else axis
    flat = rules.reshape(operator[0], (math.prod(shape[:axis]), math.prod(shape[axis:])))
    return rules.reshape(rules.softmax(flat, 1), shape)


def _cast(operator: Operator) -> Value:
    if operator.get("to") not in FLOATING:
        raise ValueError("it turns values into another kind than floating point, which rounds them")
    return operator[0]


def _dropout(operator: Operator) -> Value:
    if operator[2] is not None and np.any(operator[2]):
        raise ValueError("this dropout is on: export the network in eval mode")
    return operator[0]


def _shape(operator: Operator) -> Value:
    return np.array(
        operator[0].shape[slice(operator.get("start"), operator.get("end"))], dtype=np.int64
    )


def _expand(operator: Operator) -> Value:
    sizes = np.broadcast_shapes(operator[0].shape, tuple(operator.numbers("shape", 1) or ()))
    return rules.expand(operator[0], sizes)


def _tile(operator: Operator) -> Value:
    return rules.repeat(operator[0], operator.numbers("repeats", 1) or [])


def _where(operator: Operator) -> Value:
    """A choice by a constant mask; anything else is refused or recognised as a curve."""
    if not is_constant(operator[0]):
        raise ValueError("it chooses by values that depend on the text")
    mask = rules.floats(operator[0])
    chosen = [
        rules.floats(x) * m if is_constant(x) else x.scale(m)
        for x, m in ((operator[1], mask), (operator[2], 1 - mask))
    ]
    return rules.add(*chosen)


def _several(combine: Callable[[Value, Value], Value]) -> Lowering:
    def rule(operator: Operator) -> Value:
        found = operator[0]
        for other in operator.inputs[1:]:
            constant = is_constant(found) and is_constant(other)
            found = combine(_beside(operator, found), other) if constant else combine(found, other)
        return found

    return rule


def _beside(operator: Operator, value: Value) -> Tensor:
    return rules.constant(next(x for x in operator.inputs if isinstance(x, Tensor)), value)


def _gelu(operator: Operator) -> Value:
    return operator[0].curve(
        "gelu_tanh" if operator.get("approximate", "none") == "tanh" else "gelu"
    )


def _celu(operator: Operator) -> Value:
    alpha = float(operator.get("alpha", 1.0))
    return operator[0].scale(1 / alpha).curve("elu").scale(alpha)


def _curve(name: str) -> Lowering:
    return lambda operator: operator[0].curve(name)


def _identity(operator: Operator) -> Value:
    return operator[0]


def _inserted(operator: Operator) -> Value:
    if operator[2] is not None:
        raise ValueError("it puts a value into the middle of a sequence, which is not known here")
    return (*operator[0], operator[1])


def _joined(operator: Operator) -> Value:
    parts = operator[0]
    axis = int(operator.get("axis", 0))
    if operator.get("new_axis", 0):
        return np.stack(parts, axis) if is_constant(parts) else rules.stack(parts, axis)
    return np.concatenate(parts, axis) if is_constant(parts) else rules.concatenate(parts, axis)


SEQUENCES: dict[str, Lowering] = {
    "SequenceEmpty": lambda operator: (),
    "SequenceInsert": _inserted,
    "ConcatFromSequence": _joined,
}
RULES: dict[str, Lowering] = {
    **SEQUENCES,
    # looking up
    "Gather": _gather,
    "GatherND": _gather_nd,
    # affine layers
    "MatMul": lambda operator: rules.matmul(operator[0], operator[1]),
    "Gemm": _gemm,
    "Einsum": lambda operator: rules.einsum(operator.get("equation"), operator.inputs),
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
    "Relu": lambda operator: operator[0].relu(),
    "LeakyRelu": lambda operator: operator[0].leaky_relu(float(operator.get("alpha", 0.01))),
    "PRelu": lambda operator: rules.prelu(operator[0], operator[1]),
    "Clip": _clip,
    "HardSigmoid": lambda operator: rules.hard_sigmoid(
        operator[0], float(operator.get("alpha", 0.2)), float(operator.get("beta", 0.5))
    ),
    "Tanh": _curve("tanh"),
    "Sigmoid": _curve("sigmoid"),
    "Softplus": _curve("softplus"),
    "Exp": _curve("exp"),
    "Gelu": _gelu,
    "Elu": lambda operator: rules.elu(operator[0], float(operator.get("alpha", 1.0))),
    "Selu": lambda operator: rules.elu(
        operator[0],
        float(operator.get("alpha", 1.67326319217681884765625)),
        float(operator.get("gamma", 1.05070102214813232421875)),
    ),
    "Celu": _celu,
    "Softmax": _softmax,
    "Abs": lambda operator: rules.absolute(operator[0]),
    # arithmetic
    "Add": lambda operator: rules.add(operator[0], operator[1]),
    "Sub": lambda operator: rules.subtract(operator[0], operator[1]),
    "Mul": lambda operator: rules.multiply(operator[0], operator[1]),
    "Div": lambda operator: rules.divide(operator[0], operator[1]),
    "Neg": lambda operator: rules.negative(operator[0]),
    "Sum": _several(rules.add),
    "Max": _several(rules.maximum),
    "Min": _several(rules.minimum),
    "Where": _where,
    # arranging
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Transpose": _transpose,
    "Squeeze": lambda operator: rules.squeeze(operator[0], operator.numbers("axes", 1)),
    "Unsqueeze": lambda operator: rules.unsqueeze(operator[0], operator.numbers("axes", 1) or ()),
    "Concat": lambda operator: rules.concatenate(operator.inputs, int(operator.get("axis", 0))),
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
    *(
        "Gather",
        "Reshape",
        "Flatten",
        "Transpose",
        "Squeeze",
        "Unsqueeze",
        "Slice",
        "Split",
        "Expand",
        "Tile",
    ),
    *("Shape", "Identity", "Cast", "CastLike", "Dropout"),
}
ROLES = {"Div": "divide", "Mul": "multiply", "ReduceSum": "reduce", "ReduceMean": "reduce"}
EQUATIONS = {"MatMul": "...ik,...kd->...id"}  # of products that are always alike
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
    *(
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Sum",
        "Max",
        "Min",
        "Where",
        "Greater",
        "GreaterOrEqual",
        "Less",
        "LessOrEqual",
    ),
    *("Equal", "Not", "And", "Or", "Cast", "Identity", "Elu", "Clip", "Mod"),
}
BROADCAST = {*ELEMENTWISE, "PRelu", "Xor", "BitwiseAnd"}
# What may be computed where nothing depends on the text; none gives more numbers than `_size`
# (onnx_program.py) says.
COMPUTED = {
    *(RULES.keys() - {"Conv", "MaxPool", "AveragePool"}),
    *BROADCAST,
    *(
        "Constant",
        "ConstantOfShape",
        "Range",
        "Size",
        "LogSoftmax",
        "ReduceProd",
        "CumSum",
        "Trilu",
        "Ceil",
        "Floor",
    ),
    *(
        "Sign",
        "Round",
        "ArgMax",
        "EyeLike",
        "IsNaN",
        "NonZero",
        "Sin",
        "Cos",
        "ScatterND",
        "ScatterElements",
    ),
    *("GatherElements", "ReduceL2", "HardSwish", "Mish", "Softsign", "InstanceNormalization"),
}
ENDINGS = {
    "Softmax": "softmax",
    "LogSoftmax": "log_softmax",
    "Sigmoid": "sigmoid",
    **dict.fromkeys(
        ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Cast", "Dropout"), "shape"
    ),
}

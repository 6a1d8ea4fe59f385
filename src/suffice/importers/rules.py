"""Rules: what PyTorch's and ONNX's operators mean for affine tensors, batch axis (of size 1)
included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.importers.masked import counted
from suffice.importers.values import Codes, Count, Lookup, Value, is_constant
from suffice.model import graph
from suffice.model.graph import Tensor
from suffice.model.network import Floats, Ints
from suffice.model.places import affordable

ASK = (
    "Whatever a network is made of, it can be asked as it is: sf.from_function(predict, "
    "labels=[...]), where predict "
    "takes a list of texts and gives a row of scores for each"
)
MULTIPLIES = (
    "it multiplies or divides two values that both depend on the text (attention and gates "
    "do), and no linear bounds "
    "are known for that here"
)
PRODUCT = f"{MULTIPLIES}. {ASK}"
KNOWN = (
    "Can be imported: Embedding, EmbeddingBag, Linear, Conv1d, Conv2d, BatchNorm, Dropout, "
    "max, average and adaptive "
    "pooling, mean, sum, max and min over axes, ReLU, LeakyReLU, PReLU, ReLU6, Hardtanh, "
    "clamp, tanh, sigmoid, GELU, "
    "SiLU, ELU, softplus, softmax, sums and differences, products with constants, "
    "concatenation and any reshaping."
)
RECURRENT = "a recurrent layer multiplies values that depend on the text, which is not bounded here"
MAX_NORM = (
    "max_norm shortens long vectors whenever they are looked up: shorten the rows of the "
    "table once, in Python, and "
    "set max_norm to None"
)
SPREAD = "it divides by a spread that depends on the text, which is not bounded here"
WHY = {
    "embedding_renorm": MAX_NORM,
    "lstm": RECURRENT,
    "gru": RECURRENT,
    "layer_norm": SPREAD,
    "layernorm": SPREAD,
    "group_norm": SPREAD,
    "instance_norm": SPREAD,
    "rms_norm": SPREAD,
    "instancenormalization": SPREAD,
    "scaled_dot_product_attention": MULTIPLIES,
}


def unknown(operator: str) -> str:
    """Why an operator is refused, and what is not."""
    name = operator.lower()
    why = next(
        (why for part, why in WHY.items() if part in name),
        "it is not among the operators that are known here",
    )
    return f"{why}. {KNOWN} {ASK}"


# --- arranging ---


def arrange(x: Value, move: Callable[[Ints], Ints]) -> Value:
    """Whatever `move` does to an array of places happens to x: reshape, slice, permute, repeat, pad
    (with -1).
    """
    if isinstance(x, Codes):
        return replace(x, places=_whole(move(x.places)))
    if isinstance(x, Lookup):
        return Lookup(_whole(move(x.entries)), x.table)
    places = np.arange(math.prod(x.shape)).reshape(x.shape)
    return x.pick(_whole(move(places)))


def _whole(places: Ints) -> Ints:
    """The places as an array of their own, unless they are a view that is far larger than what it
    shows.
    """
    affordable(places.size)
    return np.ascontiguousarray(places)


def reshape(x: Value, shape: Sequence[int]) -> Value:
    return arrange(x, lambda places: places.reshape([int(size) for size in shape]))


def flatten(x: Value, start: int = 0, end: int = -1) -> Value:
    shape = list(x.shape)
    start = start % max(len(shape), 1)
    end = end % max(len(shape), 1)
    return reshape(x, [*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]])


def squeeze(x: Value, axes: Sequence[int] | None = None) -> Value:
    """Drop the axes of size 1, all or the given ones; PyTorch lets larger ones be."""
    chosen = range(len(x.shape)) if axes is None else {axis % len(x.shape) for axis in axes}
    return reshape(x, [size for i, size in enumerate(x.shape) if not (i in chosen and size == 1)])


def unsqueeze(x: Value, axes: Sequence[int]) -> Value:
    return arrange(x, lambda places: np.expand_dims(places, tuple(int(axis) for axis in axes)))


def permute(x: Value, axes: Sequence[int]) -> Value:
    return arrange(x, lambda places: places.transpose([int(axis) for axis in axes]))


def cut(x: Value, axis: int, start: int | None, end: int | None, step: int = 1) -> Value:
    index = [slice(None)] * len(x.shape)
    index[axis] = slice(start, end, step)
    return arrange(x, lambda places: places[tuple(index)])


def take(x: Value, axis: int, index: ArrayLike) -> Value:
    affordable(np.size(index) * math.prod(x.shape) // max(1, x.shape[axis]))
    return arrange(x, lambda places: np.take(places, np.asarray(index), axis=axis))


def expand(x: Value, shape: Sequence[int]) -> Value:
    """Repeat axes of size 1; -1 keeps a size."""
    new = len(shape) - len(x.shape)
    sizes = [x.shape[i - new] if size == -1 else int(size) for i, size in enumerate(shape)]
    return arrange(x, lambda places: np.broadcast_to(places, sizes))


def repeat(x: Value, times: Sequence[int]) -> Value:
    """The whole, so many times along each axis."""
    affordable(math.prod(x.shape) * math.prod(max(0, int(count)) for count in times))
    return arrange(x, lambda places: np.tile(places, [int(count) for count in times]))


def pad(x: Tensor, widths: Sequence[tuple[int, int]], fill: float = 0.0) -> Tensor:
    """Constant cells around; a negative width cuts."""
    kept = tuple(
        slice(max(-a, 0), size - max(-b, 0)) for (a, b), size in zip(widths, x.shape, strict=True)
    )
    grown = [(max(a, 0), max(b, 0)) for a, b in widths]
    affordable(math.prod(size + a + b for size, (a, b) in zip(x.shape, grown, strict=True)))
    places = np.arange(math.prod(x.shape)).reshape(x.shape)[kept]
    padded = np.pad(places, grown, constant_values=-1)
    found = x.pick(padded)
    return found.shift(np.where(padded < 0, fill, 0.0)) if fill else found


def pieces(x: Value, axis: int, sizes: Sequence[int]) -> tuple[Value, ...]:
    ends = np.cumsum([int(size) for size in sizes])
    return tuple(
        cut(x, axis, int(end - size), int(end)) for size, end in zip(sizes, ends, strict=True)
    )


def concatenate(parts: Sequence[Value], axis: int) -> Value:
    anchor = next(part for part in parts if isinstance(part, Tensor))
    return graph.concatenate([constant(anchor, part) for part in parts], axis)


def stack(parts: Sequence[Value], axis: int) -> Value:
    anchor = next(part for part in parts if isinstance(part, Tensor))
    axis = axis % (len(anchor.shape) + 1)
    return graph.concatenate([unsqueeze(constant(anchor, part), (axis,)) for part in parts], axis)


def constant(anchor: Tensor, value: Value) -> Tensor:
    """A constant as a tensor beside `anchor`, which depends on the text."""
    if not is_constant(value):
        return value  # type: ignore[no-any-return]
    return anchor.pick(np.full(np.shape(value), -1)).shift(floats(value))


# --- arithmetic ---


def floats(value: ArrayLike) -> Floats:
    return np.asarray(value, dtype=np.float64)


def add(a: Value, b: Value) -> Tensor:
    if is_constant(b):
        return a.shift(floats(b))  # type: ignore[no-any-return]
    return b.shift(floats(a)) if is_constant(a) else graph.add(a, b)


def subtract(a: Value, b: Value) -> Tensor:
    if is_constant(b):
        return a.shift(-floats(b))  # type: ignore[no-any-return]
    return b.scale(-1.0).shift(floats(a)) if is_constant(a) else graph.subtract(a, b)


def multiply(a: Value, b: Value) -> Tensor:
    if not (is_constant(a) or is_constant(b)):
        raise ValueError(PRODUCT)
    return a.scale(floats(b)) if is_constant(b) else b.scale(floats(a))  # type: ignore[no-any-return]


def divide(a: Value, b: Value) -> Tensor:
    if not is_constant(b):
        raise ValueError(PRODUCT)
    if not floats(b).all():
        raise ValueError("it divides by zero")
    return a.scale(1 / floats(b))  # type: ignore[no-any-return]


def maximum(a: Value, b: Value) -> Tensor:
    anchor = a if isinstance(a, Tensor) else b
    return graph.maximum(constant(anchor, a), constant(anchor, b))


def minimum(a: Value, b: Value) -> Tensor:
    return maximum(negative(a), negative(b)).scale(-1.0)


def negative(x: Value) -> Value:
    return -floats(x) if is_constant(x) else x.scale(-1.0)


def absolute(x: Tensor) -> Tensor:
    return graph.add(x.relu(), x.scale(-1.0).relu())


def elu(x: Tensor, alpha: float = 1.0, scale: float = 1.0, inner: float = 1.0) -> Tensor:
    """scale * x above zero, scale * alpha * (exp(inner * x) - 1) below."""
    smooth = (x if inner == 1.0 else x.scale(inner)).curve("elu").scale(scale * alpha)
    above = scale * (1 - alpha * inner)
    return graph.add(smooth, x.relu().scale(above)) if above else smooth


def softplus(x: Tensor, beta: float = 1.0) -> Tensor:
    return x.scale(beta).curve("softplus").scale(1 / beta)


def hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Tensor:
    return x.scale(alpha).shift(beta).clip(0.0, 1.0)


def prelu(x: Tensor, slope: ArrayLike) -> Tensor:
    """x above zero, slope * x below: x + (slope - 1) * min(x, 0)."""
    below = x.scale(-1.0).relu().scale(1 - floats(slope))
    return graph.add(x, below)


def prelu_channels(x: Tensor, slope: ArrayLike) -> Tensor:
    """PReLU with one slope, or one for each channel (axis 1)."""
    slopes = floats(slope)
    if slopes.size == 1 or len(x.shape) < 2:
        return prelu(x, slopes.reshape(-1) if slopes.size > 1 else float(slopes.reshape(())))
    return prelu(x, slopes.reshape(-1, *[1] * (len(x.shape) - 2)))


def matmul(a: Value, b: Value) -> Tensor:
    """The matrix product of two values, one of which must be constant."""
    if not (is_constant(a) or is_constant(b)):
        raise ValueError(PRODUCT)
    if is_constant(b):
        return _by_matrix(a, floats(b))
    if np.ndim(a) == 1 or len(b.shape) == 1:
        raise ValueError("a product of a constant with a vector on its right is not known here")
    matrix = _plain(floats(a))
    swapped = [*range(len(b.shape) - 2), len(b.shape) - 1, len(b.shape) - 2]
    found: Tensor = permute(permute(b, swapped).matmul(matrix.T), swapped)
    return found.reshape((1,) * (np.ndim(a) - len(found.shape)) + found.shape)


def _by_matrix(x: Tensor, matrix: Floats) -> Tensor:
    if matrix.ndim == 1:
        found = x.matmul(matrix[:, None])
        return found.reshape(found.shape[:-1])
    found = x.matmul(_plain(matrix))
    missing = matrix.ndim - len(found.shape)
    return found.reshape((1,) * missing + found.shape) if missing > 0 else found


def _plain(matrix: Floats) -> Floats:
    if math.prod(matrix.shape[:-2]) != 1:
        raise ValueError(
            f"it takes a stack of matrices {matrix.shape}, and only one matrix is known here"
        )
    return matrix.reshape(matrix.shape[-2:])


def linear(x: Tensor, weight: ArrayLike, bias: ArrayLike | None = None) -> Tensor:
    return x.linear(floats(weight), None if bias is None else floats(bias))


@dataclass(frozen=True)
class Terms:
    """An einsum: the letters of each operand's axes, and all letters in order, those of the answer
    first.
    """

    given: tuple[str, ...]
    letters: str
    kept: int

    @staticmethod
    def of(equation: str, shapes: Sequence[tuple[int, ...]]) -> Terms:
        left, arrow, right = equation.replace(" ", "").partition("->")
        names = left.split(",")
        if len(names) != len(shapes):
            raise ValueError(
                f"its equation {equation!r} is about {len(names)} values, and there are "
                f"{len(shapes)}"
            )
        rest = [
            len(shape) - len(name.replace("...", ""))
            for name, shape in zip(names, shapes, strict=True)
        ]
        dots = "".join(map(chr, range(0xE000, 0xE000 + max(0, *rest))))
        given = tuple(
            n.replace("...", dots[len(dots) - r :]) for n, r in zip(names, rest, strict=True)
        )
        if any(
            len(name) != len(shape) or len(set(name)) < len(name)
            for name, shape in zip(given, shapes, strict=True)
        ):
            raise ValueError(
                f"its equation {equation!r} takes a diagonal, or does not fit its values"
            )
        every = "".join(given)
        once = dots + "".join(
            sorted(letter for letter in set(every) - set(dots) if every.count(letter) == 1)
        )
        answer = right.replace("...", dots) if arrow else once
        return Terms(given, answer + "".join(sorted(set(every) - set(answer))), len(answer))

    def aligned(self, operand: int, value: Value) -> Value:
        """An operand with an axis for every letter, of size 1 where it has none."""
        name = self.given[operand]
        order = [name.index(letter) for letter in self.letters if letter in name]
        gaps = tuple(i for i, letter in enumerate(self.letters) if letter not in name)
        if is_constant(value):
            return np.expand_dims(np.transpose(value, order), gaps)
        if not gaps and order == sorted(order):
            return value
        return arrange(value, lambda places: np.expand_dims(places.transpose(order), gaps))

    def size(self, shapes: Sequence[tuple[int, ...]]) -> int:
        """How many products there are, and so at least as many numbers in the answer."""
        pairs = zip("".join(self.given), (size for shape in shapes for size in shape), strict=True)
        return math.prod(dict(sorted(pairs, key=lambda pair: pair[1])).values())

    def added(self, product: Tensor) -> Tensor:
        """The sum over the letters that the answer does not have."""
        gone = range(self.kept, len(self.letters))
        return product.sum(tuple(gone)) if gone else product


def einsum(equation: str, values: Sequence[Value]) -> Tensor:
    """A sum of products of one value that depends on the text with constants."""
    terms = Terms.of(
        equation, [np.shape(value) if is_constant(value) else value.shape for value in values]
    )
    aligned = [terms.aligned(i, value) for i, value in enumerate(values)]
    found = aligned[0]
    for other in aligned[1:]:
        found = (
            floats(found) * floats(other)
            if is_constant(found) and is_constant(other)
            else multiply(found, other)
        )
    return terms.added(found)


# --- reducing ---


def reduce(x: Value, kind: str, axes: Sequence[int] | None, keep: bool) -> Value:
    """sum, mean, max or min over axes (None: all)."""
    if isinstance(x, Codes):
        return counted(x, kind, axes, keep)
    chosen = (
        tuple(range(len(x.shape)))
        if axes is None
        else tuple(int(axis) % len(x.shape) for axis in axes)
    )
    match kind:
        case "sum":
            return x.sum(chosen, keepdims=keep)
        case "mean":
            return x.mean(chosen, keepdims=keep)
        case "max":
            return x.max(chosen, keepdims=keep)
        case "min":
            return x.scale(-1.0).max(chosen, keepdims=keep).scale(-1.0)
        case _:
            raise ValueError(f"{kind} over axes is not known here")


# --- looking up ---


def look_up(table: ArrayLike, words: Codes) -> Lookup:
    """The vector of each word: rows of a fixed table."""
    if not (is_constant(table) and isinstance(words, Codes)) or isinstance(words, Count):
        raise ValueError(
            "it looks up something else than the word at each position, in a fixed table"
        )
    rows = floats(table)
    codes = np.asarray(words.codes)
    if rows.ndim != 2 or codes.dtype.kind not in "iu":
        raise ValueError(f"it looks up {codes.dtype} numbers in an array of shape {rows.shape}")
    if codes.max() >= len(rows) or codes.min() < -len(rows):
        raise ValueError(
            f"the table has {len(rows)} rows but the vocabulary has {len(codes)} words: give "
            "the vocabulary the "
            "network was trained with, one word for each row, padding and unknown included"
        )
    if len(rows) != len(codes) and np.array_equal(codes, np.arange(len(codes))):
        raise ValueError(
            f"the table has {len(rows)} rows but the vocabulary has {len(codes)} words: give "
            "one word for each row, "
            "padding and unknown included"
        )
    width = rows.shape[1]
    affordable(words.places.size * width)
    return Lookup(words.places[..., None] * width + np.arange(width), rows[codes])


def bags(x: Tensor, starts: Sequence[int], kind: str) -> Tensor:
    """The sum, mean or max over each bag of rows (n, d)."""
    ends = [*starts[1:], x.shape[0]]
    if any(a >= b for a, b in zip(starts, ends, strict=True)):
        raise ValueError("a bag is empty")
    found: Tensor = stack(
        [reduce(cut(x, 0, a, b), kind, (0,), False) for a, b in zip(starts, ends, strict=True)], 0
    )
    return found


# --- windows ---


def spatial(x: Tensor, axes: int, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Do something to (channels, *spatial) under a batch axis of size 1, or without one."""
    if len(x.shape) == axes + 1:
        return change(x)
    if len(x.shape) != axes + 2 or x.shape[0] != 1:
        raise ValueError(
            f"it takes a value of shape {x.shape}; one text of {axes} axes and channels was "
            "expected"
        )
    found = change(x.reshape(x.shape[1:]))
    return found.reshape((1, *found.shape))


def convolve(
    x: Tensor,
    weight: ArrayLike,
    bias: ArrayLike | None,
    stride: Sequence[int],
    padding: Any,
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    kernel = floats(weight)
    shift = None if bias is None else floats(bias)
    count = kernel.ndim - 2

    def change(inner: Tensor) -> Tensor:
        return inner.conv(
            kernel,
            shift,
            stride=per_axis(stride, count),
            padding=padding if isinstance(padding, tuple) else per_axis(padding, count),
            dilation=per_axis(dilation, count),
            groups=groups,
        )

    return spatial(x, count, change)


def same_padding(kernel: Sequence[int], dilation: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """PyTorch's padding="same": the odd cell goes to the end."""
    totals = [d * (k - 1) for k, d in zip(kernel, per_axis(dilation, len(kernel)), strict=True)]
    return tuple((total // 2, total - total // 2) for total in totals)


def per_axis(given: int | Sequence[int], count: int) -> tuple[int, ...]:
    """One number for each axis; PyTorch writes a single one for all."""
    sizes = [int(given)] if isinstance(given, int | np.integer) else [int(size) for size in given]
    return tuple(sizes * count if len(sizes) == 1 else sizes)


def batch_norm(
    x: Tensor, weight: Any, bias: Any, mean: ArrayLike, variance: ArrayLike, eps: float
) -> Tensor:
    middle = floats(mean)
    spread = floats(variance)
    scale = (1.0 if weight is None else floats(weight)) / np.sqrt(spread + eps)
    shift = (0.0 if bias is None else floats(bias)) - middle * scale
    return x.per_channel(scale, shift, axis=1)


def softmax(x: Tensor, axis: int) -> Tensor:
    return x.softmax(axis % len(x.shape))


def numbers(value: Any) -> list[int]:
    """A constant as a list of whole numbers."""
    array: NDArray[Any] = np.asarray(value)
    return [int(item) for item in array.reshape(-1)]

"""from_onnx: an ONNX file as a classifier."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.errors import MissingExtra, ModelError
from suffice.importers import rules
from suffice.importers.assemble import Given, assemble
from suffice.importers.assemble import given as given_by
from suffice.importers.walk import MOST_VALUES, Codes, Computation, Operation, Value, Values, is_constant, walk
from suffice.model.classifier import Classifier
from suffice.model.graph import Tensor, affordable
from suffice.model.network import Floats, Ints

Model: TypeAlias = Any  # onnx.ModelProto
Proto: TypeAlias = Any  # onnx.NodeProto
MOST_OPERATORS = 100_000  # once the file's own functions are written out
FLOATING = (1, 10, 11, 16)  # the numbers of float, float16, double and bfloat16


def from_onnx(
    file: Model | str | Path,
    vocabulary: Sequence[str] | Mapping[str, int],
    labels: Sequence[str],
    length: int | None = None,
    pad: str = "<PAD>",
    unknown: str = "<UNK>",
    tokenizer: Any = None,
    embedding: ArrayLike | None = None,
) -> Classifier:
    """A classifier that computes what the ONNX file says, compared with onnxruntime (or onnx's own evaluator).

    The network takes numbers of words (batch, length), places in `vocabulary`; or, where `embedding` (V, d) is given,
    vectors (batch, length, d). `length` may be left out where the file says it. A last softmax is left away, as it
    keeps the order of the scores; a single output z becomes the scores [0, z].
    """
    onnx = _onnx()
    source, model = _read(onnx, file)
    entry, answer = _ports(model)
    known = given_by(vocabulary, labels, _length(entry, length, embedding), pad, unknown, tokenizer, embedding)
    walked = walk(_program(onnx, model, entry, answer), known.length, len(known.vocabulary), known.embedding)
    packages, original = _original(onnx, model, entry, known)  # last: what it runs is known to be of a fit size
    return assemble(walked, known, original, source, packages)


def _onnx() -> Any:
    try:
        import onnx
        import onnx.reference
    except ImportError as error:
        raise MissingExtra("onnx", "onnx") from error
    return onnx


# --- what is given ---


def _read(onnx: Any, file: Model | str | Path) -> tuple[str, Model]:
    if isinstance(file, onnx.ModelProto):
        return "the ONNX model", _plain(onnx, file)
    path = Path(file)
    if not path.is_file():
        raise ModelError(f"There is no file {str(path)!r}.")
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:  # of protobuf
        raise ModelError(f"{path.name} is not an ONNX file, or damaged: {' '.join(str(error).split())}") from error
    plain = _plain(onnx, model)
    try:
        onnx.checker.check_model(model)
    except Exception as error:
        raise ModelError(f"{path.name} is not an ONNX file, or damaged: {' '.join(str(error).split())}") from error
    return path.name, plain


def _plain(onnx: Any, model: Model) -> Model:
    """The model without its functions and without what the answer does not need; no number lies outside of it."""
    for tensor in _tensors(model):
        if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
            raise ModelError(
                f"The numbers of {tensor.name or 'a constant'} lie in another file, and no other file is read: write "
                "the model into one with torch.onnx.export(..., external_data=False) or onnx.save(onnx.load(old), new)."
            )
    if model.graph.sparse_initializer or any(item.HasField("sparse_tensor") for item in _attributes(model)):
        raise ModelError("The model holds sparse tensors, which are not supported: save them as ordinary ones.")
    whole = model
    if model.functions:
        _refuse_towers(model)
        import onnx.inliner as inliner

        whole = inliner.inline_local_functions(model)
    return _pruned(onnx, whole)


def _pruned(onnx: Any, model: Model) -> Model:
    wanted, kept = {port.name for port in model.graph.output}, []
    for node in reversed(model.graph.node):
        if wanted & set(node.output):
            wanted |= set(node.input)
            wanted |= {name for item in node.attribute for graph in (item.g, *item.graphs) for name in _used(graph)}
            kept.append(node)
    found = onnx.ModelProto()
    found.CopyFrom(model)
    del found.graph.node[:]
    found.graph.node.extend(reversed(kept))
    return found


def _used(graph: Any) -> set[str]:
    """Every name that a graph inside a node may take from outside."""
    inner = (name for node in graph.node for item in node.attribute for name in _used(item.g))
    return {*(name for node in graph.node for name in node.input), *(port.name for port in graph.output), *inner}


def _refuse_towers(model: Model) -> None:
    """Functions that call functions may be many more operators than the file has, once they are written out."""
    bodies = {(function.domain, function.name): function.node for function in model.functions}
    sizes: dict[tuple[str, str], int] = {}
    for _ in range(len(bodies) + 1):
        sizes = {key: sum(sizes.get((n.domain, n.op_type), 1) for n in nodes) for key, nodes in bodies.items()}
        if sum(sizes.get((n.domain, n.op_type), 1) for n in model.graph.node) > MOST_OPERATORS:
            raise ModelError(f"The model's functions make more than {MOST_OPERATORS} operators when written out.")


def _attributes(model: Model) -> Iterator[Any]:
    """The attributes of all nodes, those of functions and of graphs inside nodes included."""
    waiting = [model.graph, *model.functions]
    while waiting:
        for node in waiting.pop().node:
            for item in node.attribute:
                yield item
                waiting += [graph for graph in (item.g, *item.graphs) if graph.node]


def _tensors(model: Model) -> Iterator[Any]:
    yield from model.graph.initializer
    for item in _attributes(model):
        for graph in (item.g, *item.graphs):
            yield from graph.initializer
        yield from (item.t, *item.tensors)


def _ports(model: Model) -> tuple[Any, str]:
    """The one input and the name of the one output."""
    held = {array.name for array in (*model.graph.initializer, *model.graph.sparse_initializer)}
    inputs = [entry for entry in model.graph.input if entry.name not in held]
    if len(inputs) != 1 or len(model.graph.output) != 1:
        names = [", ".join(port.name for port in ports) or "none" for ports in (inputs, model.graph.output)]
        raise ModelError(
            f"The file has the inputs {names[0]} and the outputs {names[1]}: one input, the words, and one output, "
            "the scores, are needed. Export it with only these; a transformer, which takes several (input_ids, "
            "attention_mask), can be asked as it is: sf.from_huggingface(file, its tokenizer, labels=...)."
        )
    return inputs[0], model.graph.output[0].name


def _length(entry: Any, given: int | None, embedding: ArrayLike | None) -> int:
    """How many words a text has: as given, or as the file says."""
    sizes = [size.dim_value or None for size in entry.type.tensor_type.shape.dim]
    wanted = 2 if embedding is None else 3
    if len(sizes) != wanted:
        takes = "(batch, length) of word numbers" if wanted == 2 else "(batch, length, d) of vectors"
        hint = " Give embedding= where the network takes vectors." if wanted == 2 and len(sizes) == 3 else ""
        raise ModelError(f"The input {entry.name} has {len(sizes)} axes, and {takes} were expected.{hint}")
    if sizes[0] not in (None, 1):
        raise ModelError(f"The file takes {sizes[0]} texts at once: export it for one text, or with a free batch axis.")
    if sizes[1] is None and given is None:
        raise ModelError("The file does not say how many words a text has: give length=.")
    if sizes[1] is not None and given not in (None, sizes[1]):
        raise ModelError(f"The file takes texts of {sizes[1]} words, not of {given}.")
    return given if given is not None else int(sizes[1] or 0)


def _original(onnx: Any, model: Model, entry: Any, given: Given) -> tuple[list[str], Callable[[Ints], Floats]]:
    """Who runs the file itself: onnxruntime where it is installed and can, else onnx's evaluator."""
    kind = onnx.helper.tensor_dtype_to_np_dtype(entry.type.tensor_type.elem_type)
    packages, run = _runner(onnx, model)

    def answers(rows: Ints) -> Floats:
        fed = rows if given.embedding is None else given.embedding[rows]
        found = [run({entry.name: row[None].astype(kind)}) for row in fed]
        return np.stack([np.asarray(answer, dtype=np.float64).reshape(-1) for answer in found])

    return packages, answers


def _runner(onnx: Any, model: Model) -> tuple[list[str], Callable[[dict[str, Any]], Any]]:
    try:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        # from memory, not by its name: so that no other file beside it is read
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return ["onnx", "onnxruntime"], lambda feeds: session.run(None, feeds)[0]
    except Exception:  # not installed, or an operator in a precision that it has no code for
        evaluator = onnx.reference.ReferenceEvaluator(model)
        return ["onnx"], lambda feeds: evaluator.run(None, feeds)[0]


# --- its operators ---


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


def _program(onnx: Any, model: Model, entry: Any, answer: str) -> Computation:
    opset = next((kind.version for kind in model.opset_import if kind.domain in ("", "ai.onnx")), 1)
    constants = {array.name: onnx.numpy_helper.to_array(array) for array in model.graph.initializer}
    nodes = [made for proto in model.graph.node for made in _nodes(onnx, proto, opset)]
    return Computation(nodes, constants, entry.name, answer)


def _nodes(onnx: Any, proto: Proto, opset: int) -> list[Operation]:
    """One node for an operator with one output; with several, one for all and one for each."""
    outputs = list(proto.output)
    whole = _node(onnx, proto, opset, outputs[0] if len(outputs) == 1 else f"{outputs[0]}:all")
    if len(outputs) == 1:
        return [whole]
    return [whole, *(_part(whole, place, name) for place, name in enumerate(outputs) if name)]


def _part(whole: Operation, place: int, name: str) -> Operation:
    def pick(values: Values) -> Value:
        return values[whole.name][place]

    return Operation(
        name,
        whole.operator,
        whole.place,
        (whole.name,),
        pick,
        pick,
        ending="shape" if place == 0 and whole.ending else "",
    )


def _node(onnx: Any, proto: Proto, opset: int, name: str) -> Operation:
    operator = proto.op_type if proto.domain in ("", "ai.onnx") else f"{proto.domain}.{proto.op_type}"
    attributes = {item.name: _attribute(onnx, item) for item in proto.attribute}
    branches = any(item.HasField("g") or item.graphs for item in proto.attribute)
    rule = _control_flow if branches else RULES.get(operator)

    def lower(values: Values) -> Value:
        if rule is None:
            raise ValueError(rules.unknown(operator))
        inputs = [values[use] if use else None for use in proto.input]
        found = rule(Operator(inputs, attributes, opset, len(proto.output)))
        return found if len(proto.output) == 1 or isinstance(found, tuple) else (found,)

    def compute(values: Values) -> Value:
        if branches:
            _control_flow(None)
        if operator.startswith("Random") or operator in ("Bernoulli", "Multinomial"):
            raise ValueError("it is random, so that the same text may get another label")
        if operator not in COMPUTED:
            raise ValueError(rules.unknown(operator))
        affordable(_size(operator, [np.asarray(values[use]) for use in proto.input if use], attributes), MOST_VALUES)
        feeds = _alike({use: np.asarray(values[use]) for use in proto.input if use})
        found = onnx.reference.ReferenceEvaluator(_alone(onnx, proto, opset)).run(None, feeds)
        return np.asarray(found[0]) if len(proto.output) == 1 else tuple(found)

    return Operation(
        name=name,
        operator=operator,
        place=proto.name or proto.output[0],
        uses=tuple(dict.fromkeys(use for use in proto.input if use)),
        lower=lower,
        compute=compute,
        elementwise=operator in ELEMENTWISE,
        takes_words=operator in TAKES_WORDS,
        ending="" if attributes.get("to", 1) not in FLOATING else ENDINGS.get(operator, ""),
        axis=int(attributes.get("axis", -1 if opset >= 13 else 1)) if "Softmax" in operator else -1,
    )


def _attribute(onnx: Any, item: Any) -> Any:
    value = onnx.helper.get_attribute_value(item)
    return value.decode() if isinstance(value, bytes) else value


def _size(operator: str, given: Sequence[NDArray[Any]], attributes: Mapping[str, Any]) -> int:
    """At most so many numbers come out of an operator on constants: known before it is run."""
    shapes = [array.shape for array in given]
    match operator, given:
        case "ConstantOfShape", [sizes]:
            return math.prod(rules.numbers(sizes))
        case "Expand", [_, sizes]:
            return math.prod(np.broadcast_shapes(shapes[0], tuple(rules.numbers(sizes))))
        case "Tile", [array, times]:
            return array.size * math.prod(rules.numbers(times))
        case "Range", [start, limit, delta]:
            return int(max(0.0, abs(float(limit) - float(start)) / abs(float(delta)))) + 1 if delta else 0
        case "Pad", [array, *more]:
            spare = sum(max(0, pad) for pad in rules.numbers(attributes.get("pads", more[0] if more else ())))
            return math.prod(size + spare for size in array.shape)
        case "Gather", [array, index]:
            return int(index.size * array.size // max(1, array.shape[int(attributes.get("axis", 0))]))
        case "GatherND", [array, index]:
            return index.size * array.size // max(1, math.prod(array.shape[: index.shape[-1]]))
        case "MatMul", [left, right]:
            lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
            return int(math.prod(lead) * math.prod(left.shape[-2:-1]) * math.prod(right.shape[-1:]))
        case "Gemm", [left, right, *_]:
            return int(max(left.shape) * max(right.shape))
        case "Concat", _:
            return sum(array.size for array in given)
        case _ if operator in BROADCAST:
            return math.prod(np.broadcast_shapes(*shapes))
        case _:
            return max((array.size for array in given), default=0)


def _alike(feeds: dict[str, Any]) -> dict[str, Any]:
    """All floating-point inputs in double precision if one is, as ONNX mixes no types."""
    if not any(value.dtype == np.float64 for value in feeds.values()):
        return feeds
    return {name: value.astype(np.float64) if value.dtype.kind == "f" else value for name, value in feeds.items()}


def _alone(onnx: Any, proto: Proto, opset: int) -> Any:
    """A model of this operator only, for the evaluator."""
    make = onnx.helper
    inputs = [
        make.make_tensor_value_info(use, onnx.TensorProto.UNDEFINED, None) for use in dict.fromkeys(proto.input) if use
    ]
    outputs = [make.make_tensor_value_info(use, onnx.TensorProto.UNDEFINED, None) for use in proto.output if use]
    alone = make.make_graph([proto], "alone", inputs, outputs)
    return make.make_model(alone, opset_imports=[make.make_opsetid("", opset)])


# --- the table ---


def _control_flow(_: Any) -> Value:
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
# What may be computed where nothing depends on the text; none gives more numbers than `_size` says.
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

"""from_torch: a PyTorch module as a classifier, by way of torch.export."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import MissingExtra, ModelError
from suffice.importers import rules
from suffice.importers.assemble import Given, assemble
from suffice.importers.assemble import given as given_by
from suffice.importers.torch_file import Loaded, only_weights, read_file
from suffice.importers.walk import MOST_VALUES, Computation, Operation, Value, Values, Walked, is_constant, walk
from suffice.model.classifier import Classifier
from suffice.model.network import Floats, Ints

Module: TypeAlias = Any
Arguments: TypeAlias = Any  # an operator's arguments by the names PyTorch gives them
Lowering: TypeAlias = Callable[[Arguments], Value]
STATE = (
    "holds weights only, and weights alone do not say what is computed with them: build the module in Python, "
    "module.load_state_dict(...), and give the module to sf.from_torch"
)
PICKLE = (
    "is a pickle, and loading a pickle runs whatever code is in it: build the module in Python and give it to "
    "sf.from_torch, or save it with torch.export.save(torch.export.export(module, (indices,)), 'model.pt2')"
)


def from_torch(
    module: Module | str | Path,
    vocabulary: Sequence[str] | Mapping[str, int],
    labels: Sequence[str],
    length: int | None = None,
    pad: str = "<PAD>",
    unknown: str = "<UNK>",
    tokenizer: Any = None,
    embedding: ArrayLike | None = None,
) -> Classifier:
    """A classifier that computes what the module computes in eval mode, compared with it on random texts.

    The module takes a LongTensor (1, length) of word numbers, places in `vocabulary`; or, where `embedding` (V, d) is
    given, vectors (1, length, d). It may be an ExportedProgram or the name of a .pt2 file, which say the length
    themselves. A last softmax is left away, as it keeps the order of the scores; a single output z becomes the scores
    [0, z].
    """
    torch = _torch()
    source, ready, said = _ready(torch, module)
    known = given_by(vocabulary, labels, said if length is None else length, pad, unknown, tokenizer, embedding)
    example = _example(torch, ready, known)
    walked = _walked(torch, _exported(torch, ready, example, source), known)
    return assemble(walked, known, _original(torch, ready, example.dtype, known), source, ["torch"])


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("torch", "torch") from error
    return torch


# --- what is given ---


def _ready(torch: Any, given: Module | str | Path) -> tuple[str, Module, int | None]:
    """What to call it, a module of our own in eval mode on the CPU, and the length if it says one."""
    if isinstance(given, str | Path):
        module, length = _read(torch, Path(given))
        return Path(given).name, module, length
    if isinstance(given, torch.export.ExportedProgram):
        return "the exported program", given.module(), _said(given)
    if not isinstance(given, torch.nn.Module):
        holds = f"A {type(given).__name__} is no torch.nn.Module"
        raise ModelError(
            f"{holds}: it {STATE}." if isinstance(given, Mapping) else f"{holds}: give one, or a .pt2 file."
        )
    if any(part.dtype in (torch.float16, torch.bfloat16) for part in given.parameters()):
        raise ModelError("The module computes in half precision, too coarse to compare with: use module.float() first.")
    return f"the {type(given).__name__} module", _copied(given), None


def _copied(module: Module) -> Module:
    try:
        return copy.deepcopy(module).cpu().eval()
    except Exception as error:  # of a module that holds a part of a computation, a lock, a file
        raise ModelError(f"The module cannot be copied, which is done to leave yours alone: {error}") from error


def _said(program: Any) -> int | None:
    """The length that a program was exported for, unless it is free."""
    names = program.graph_signature.user_inputs
    shapes = [tuple(node.meta["val"].shape) for node in program.graph.nodes if node.name in names]
    length = shapes[0][1] if shapes and len(shapes[0]) > 1 else None
    return length if isinstance(length, int) else None


def _read(torch: Any, path: Path) -> Loaded:
    """The program in a .pt2 file; every other kind is refused with what to do."""
    if not path.is_file():
        raise ModelError(f"There is no file {str(path)!r}.")
    if path.suffix != ".pt2":
        raise ModelError(f"{path.name} {STATE if only_weights(path) else PICKLE}.")
    known = {name.partition(".")[0] for name in RULES} | ELEMENTWISE
    return read_file(torch, path, known, rules.unknown)


def _example(torch: Any, module: Module, given: Given) -> Any:
    """One text: its word numbers, or its vectors in the module's precision."""
    if given.embedding is None:
        return torch.zeros((1, given.length), dtype=torch.int64)
    held = (*module.parameters(), *module.buffers())
    kinds = [part.dtype for part in held if part.dtype.is_floating_point]
    return torch.zeros((1, given.length, given.embedding.shape[1]), dtype=kinds[0] if kinds else torch.float32)


def _exported(torch: Any, module: Module, example: Any, source: str) -> Any:
    try:
        with _quiet():
            return torch.export.export(module, (example,))  # without numbers: no size is too large for this
    except Exception as error:
        line = re.search(r'raised this error:\n\s*File "([^"]+)", line (\d+), in \w+\n\s*(.*)', str(error))
        where = f" at {Path(line[1]).name} line {line[2]} ({line[3].strip()})" if line else ""
        hint = (
            "; the way through the network must not depend on the values of a text"
            if "data-dependent" in str(error)
            else f"; it was given one text of shape {tuple(example.shape)} and type {example.dtype}"
        )
        raise ModelError(f"torch.export cannot follow {source}{where}: {_first_line(error)}{hint}.") from error


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """torch.export warns and logs about its own insides; what matters is in its exceptions."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _original(torch: Any, module: Module, kind: Any, given: Given) -> Callable[[Ints], Floats]:
    """What the module itself answers, one text at a time as it was exported."""

    def answers(rows: Ints) -> Floats:
        with torch.no_grad():
            found = [_only(module(torch.as_tensor(_fed(row, given)[None]).to(kind))) for row in rows]
        return np.stack([answer.detach().numpy().reshape(-1) for answer in found])

    return answers


def _fed(row: Ints, given: Given) -> Any:
    return row if given.embedding is None else given.embedding[row]


def _only(answer: Any) -> Any:
    return (
        next(iter(answer.values()))
        if isinstance(answer, Mapping)
        else answer[0]
        if isinstance(answer, tuple | list)
        else answer
    )


# --- its operators ---


def _walked(torch: Any, exported: Any, given: Given) -> Walked:
    """Operators as the module has them; where one is unknown it may be made of others that are known."""
    first: ModelError | None = None
    decompose: list[Any]
    for decompose in ([{}], []):
        with _quiet():
            apart = exported.run_decompositions(*decompose)
        _refuse_large(apart)
        program = _program(torch, apart)
        try:
            walked = walk(program, given.length, len(given.vocabulary), given.embedding)
            return replace(walked, padding=_left_out(apart))
        except ModelError as error:
            first = first or error
    assert first is not None
    raise first


def _left_out(exported: Any) -> int | None:
    """The word that means over bags leave out, where all that is looked up goes into such a mean."""
    nodes = [node for node in exported.graph.nodes if node.op == "call_function" and "embedding" in _name(node.target)]
    given = [_named(node) for node in nodes]
    found = {one.get("padding_idx") if KINDS[one.get("mode") or 0] == "mean" else None for one in given} - {-1}
    if len(found) > 1:
        raise ModelError("A mean that leaves padding out stands beside another look at the words: that is not known.")
    return found.pop() if found else None


def _refuse_large(exported: Any) -> None:
    """What is larger than any network here would only be computed to run out of memory."""
    for node in exported.graph.nodes:
        values = node.meta.get("val") if node.op == "call_function" else None
        for value in values if isinstance(values, tuple | list) else (values,):
            size = int(value.numel()) if hasattr(value, "numel") else 0
            if size > MOST_VALUES:
                raise ModelError(f"{_place(node)}: {_name(node.target)} gives {size} numbers; at most {MOST_VALUES}.")


def _program(torch: Any, exported: Any) -> Computation:
    signature = exported.graph_signature
    if len(signature.user_inputs) != 1 or len(signature.user_outputs) != 1:
        raise ModelError(
            f"The module has {len(signature.user_inputs)} inputs and {len(signature.user_outputs)} outputs: one input, "
            "the words, and one output, the scores, are needed. Wrap it in a module that has only these."
        )
    held = {**exported.state_dict, **exported.constants}
    constants = {
        spec.arg.name: held[spec.target].detach().numpy() for spec in signature.input_specs if spec.target in held
    }
    nodes = [made for node in exported.graph.nodes if node.op == "call_function" for made in _nodes(torch, node)]
    others = [node.name for node in exported.graph.nodes if node.op == "get_attr"]
    if others:
        raise ModelError(f"The module has {others[0]}, a branch or loop, and the way through it must be fixed.")
    return Computation(nodes, constants, signature.user_inputs[0], signature.user_outputs[0])


def _nodes(torch: Any, node: Any) -> list[Operation]:
    """One node each, but EmbeddingBag is two operators: looking up and pooling."""
    name = _name(node.target)
    short = name.partition(".")[0]
    if short not in ("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"):
        return [_node(torch, node, name, RULES.get(name, RULES.get(short)))]
    rows = replace(_node(torch, node, name, _bag_rows), name=f"{node.name}:rows", takes_words=True)
    indices = node.args[1].name  # stands for its rows from here on

    def pool(values: Values) -> Value:
        return _bags(_arguments(node, {**values, indices: values[rows.name]}))

    return [rows, replace(rows, name=node.name, uses=(rows.name, *rows.uses), lower=pool, compute=pool)]


def _node(torch: Any, node: Any, name: str, rule: Lowering | None) -> Operation:
    short = name.partition(".")[0]

    def lower(values: Values) -> Value:
        if rule is None:
            raise ValueError(rules.unknown(name))
        return rule(_arguments(node, values))

    def compute(values: Values) -> Value:
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            raise ValueError("it is random, so that the same text may get another label")
        swap = lambda other: _tensors(torch, values[other.name])  # noqa: E731
        found = node.target(*torch.fx.map_arg(node.args, swap), **torch.fx.map_arg(node.kwargs, swap))
        return _arrays(torch, found)

    return Operation(
        name=node.name,
        operator=name,
        place=_place(node),
        uses=tuple(dict.fromkeys(other.name for other in node.all_input_nodes)),
        lower=lower,
        compute=compute,
        elementwise=short in ELEMENTWISE,
        takes_words=short in TAKES_WORDS,
        ending=ENDINGS.get(short, ""),
        axis=int(node.args[1]) if "softmax" in short else -1,
    )


def _name(target: Any) -> str:
    """relu.default and the like; getitem is Python's own."""
    return "getitem" if target is operator.getitem else target.__name__ if hasattr(target, "_schema") else str(target)


def _place(node: Any) -> str:
    """The module and, if known, the line that the user wrote."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path, kind = stack[-1] if stack else ("", "module")
    kind = kind if isinstance(kind, str) else kind.__name__
    own = [
        match
        for match in re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
        if f"{Path('torch', 'nn')}" not in match[0]
    ]
    line = f", {Path(own[-1][0]).name} line {own[-1][1]}" if own else ""
    return f"{path or 'the top'} ({kind.rpartition('.')[2]}{line})"


def _tensors(torch: Any, value: Value) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(_tensors(torch, part) for part in value)
    return torch.as_tensor(value)


def _arrays(torch: Any, value: Any) -> Value:
    if isinstance(value, tuple | list):
        return tuple(_arrays(torch, part) for part in value)
    return value.detach().numpy() if isinstance(value, torch.Tensor) else value


def _arguments(node: Any, values: Values) -> Arguments:
    """By name, with the values of other nodes in their place."""
    if node.target is operator.getitem:
        return SimpleNamespace(self=_swapped(node.args[0], values), index=_swapped(node.args[1], values))
    return SimpleNamespace(**{name: _swapped(part, values) for name, part in _named(node).items()})


def _named(node: Any) -> dict[str, Any]:
    """All arguments of an operator by name, those left away included."""
    schema = node.target._schema.arguments
    named = {argument.name: argument.default_value for argument in schema if argument.has_default_value()}
    return named | dict(zip((argument.name for argument in schema), node.args, strict=False)) | dict(node.kwargs)


def _swapped(part: Any, values: Values) -> Any:
    if isinstance(part, tuple | list):
        return [_swapped(inner, values) for inner in part]
    return values[part.name] if hasattr(part, "all_input_nodes") else part


# --- the table ---


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


def _bag_rows(a: Arguments) -> Value:
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


def _bags(a: Arguments) -> Value:
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

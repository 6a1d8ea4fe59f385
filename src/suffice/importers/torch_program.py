"""A program of torch.export as operators that can be walked: what each is called, where it stands,
what it takes.
"""

from __future__ import annotations

import contextlib
import io
import logging
import operator
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from suffice.errors import ModelError
from suffice.importers import rules
from suffice.importers.assemble import Given
from suffice.importers.torch_rules import (
    ELEMENTWISE,
    ENDINGS,
    EQUATIONS,
    KINDS,
    ROLES,
    RULES,
    TAKES_WORDS,
    Arguments,
    Lowering,
    bag_rows,
    bag_sizes,
    bags,
    left_out,
)
from suffice.importers.values import Value, Values
from suffice.importers.walk import MOST_VALUES, Computation, Operation, Walked, walk


def walked(torch: Any, exported: Any, given: Given) -> Walked:
    """Operators as the module has them; where one is unknown it may be made of others that are
    known.
    """
    first: ModelError | None = None
    decompose: list[Any]
    for decompose in ([{}], []):
        with quiet():
            apart = exported.run_decompositions(*decompose)
        _refuse_large(apart)
        program = _program(torch, apart)
        try:
            return walk(program, given.length, len(given.vocabulary), given.embedding)
        except ModelError as error:
            first = first or error
    assert first is not None
    raise first


def _refuse_large(exported: Any) -> None:
    """What is larger than any network here would only be computed to run out of memory."""
    for node in exported.graph.nodes:
        values = node.meta.get("val") if node.op == "call_function" else None
        for value in values if isinstance(values, tuple | list) else (values,):
            size = int(value.numel()) if hasattr(value, "numel") else 0
            if size > MOST_VALUES:
                raise ModelError(
                    f"{_place(node)}: {_name(node.target)} gives {size} numbers; at most "
                    f"{MOST_VALUES}."
                )


def _program(torch: Any, exported: Any) -> Computation:
    signature = exported.graph_signature
    if len(signature.user_inputs) != 1 or len(signature.user_outputs) != 1:
        raise ModelError(
            f"The module has {len(signature.user_inputs)} inputs and "
            f"{len(signature.user_outputs)} outputs: one input, "
            "the words, and one output, the scores, are needed. Wrap it in a module that has "
            "only these."
        )
    held = {**exported.state_dict, **exported.constants}
    constants = {
        spec.arg.name: held[spec.target].detach().numpy()
        for spec in signature.input_specs
        if spec.target in held
    }
    nodes = [
        made
        for node in exported.graph.nodes
        if node.op == "call_function"
        for made in _nodes(torch, node)
    ]
    others = [node.name for node in exported.graph.nodes if node.op == "get_attr"]
    if others:
        raise ModelError(
            f"The module has {others[0]}, a branch or loop, and the way through it must be fixed."
        )
    return Computation(nodes, constants, signature.user_inputs[0], signature.user_outputs[0])


def _nodes(torch: Any, node: Any) -> list[Operation]:
    """One node each, but EmbeddingBag is several operators: looking up, pooling, and dividing by
    how many there are.
    """
    name = _name(node.target)
    short = name.partition(".")[0]
    if short not in ("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"):
        return [_node(torch, node, name, RULES.get(name, RULES.get(short)))]
    rows = replace(_node(torch, node, name, bag_rows), name=f"{node.name}:rows", takes_words=True)
    indices = node.args[1].name  # stands for its rows from here on

    def pool(values: Values) -> Value:
        return bags(_arguments(node, {**values, indices: values[rows.name]}))

    uses = (rows.name, *(use for use in rows.uses if use != indices))
    pooled = replace(
        rows, name=f"{node.name}:pooled", uses=uses, lower=pool, compute=pool, takes_words=False
    )
    named = SimpleNamespace(**_named(node))
    made = [rows, pooled]
    if left_out(named) is not None and KINDS[named.mode] == "mean":
        sizes = replace(
            _node(torch, node, name, bag_sizes), name=f"{node.name}:sizes", takes_words=True
        )
        last = f"{node.name}:mean"
        made += [sizes, replace(pooled, name=last, uses=(pooled.name, sizes.name), role="divide")]

    def several(values: Values) -> Value:
        return (values[made[-1].name],)

    return [
        *made,
        replace(rows, name=node.name, uses=(made[-1].name,), lower=several, compute=several),
    ]


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
        found = node.target(
            *torch.fx.map_arg(node.args, swap), **torch.fx.map_arg(node.kwargs, swap)
        )
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
        role=ROLES.get(name, ""),
        equation=str(node.args[0]) if short == "einsum" else EQUATIONS.get(short, ""),
    )


def _name(target: Any) -> str:
    """relu.default and the like; getitem is Python's own."""
    return (
        "getitem"
        if target is operator.getitem
        else target.__name__
        if hasattr(target, "_schema")
        else str(target)
    )


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
        return SimpleNamespace(
            self=_swapped(node.args[0], values), index=_swapped(node.args[1], values)
        )
    return SimpleNamespace(**{name: _swapped(part, values) for name, part in _named(node).items()})


def _named(node: Any) -> dict[str, Any]:
    """All arguments of an operator by name, those left away included."""
    schema = node.target._schema.arguments
    named = {
        argument.name: argument.default_value for argument in schema if argument.has_default_value()
    }
    return (
        named
        | dict(zip((argument.name for argument in schema), node.args, strict=False))
        | dict(node.kwargs)
    )


def _swapped(part: Any, values: Values) -> Any:
    if isinstance(part, tuple | list):
        return [_swapped(inner, values) for inner in part]
    return values[part.name] if hasattr(part, "all_input_nodes") else part


@contextlib.contextmanager
def quiet() -> Iterator[None]:
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

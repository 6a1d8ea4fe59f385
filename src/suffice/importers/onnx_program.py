"""The operators of an ONNX file, as they can be walked: lowered where they see the text, else
computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.errors import ModelError
from suffice.importers import rules
from suffice.importers.onnx_rules import (
    BROADCAST,
    COMPUTED,
    ELEMENTWISE,
    ENDINGS,
    EQUATIONS,
    FLOATING,
    ROLES,
    RULES,
    SEQUENCES,
    TAKES_WORDS,
    Operator,
    control_flow,
)
from suffice.importers.values import Unavailable, Value, Values, is_constant
from suffice.importers.walk import MOST_VALUES, Computation, Operation, Run
from suffice.model.places import affordable

Proto: TypeAlias = Any  # onnx.NodeProto
MOST_TURNS = 4096  # operators in loops and branches, once they are written out
KINDS = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    10,
    11,
    12,
    13,
)  # of an input: real and whole numbers, by ONNX's own numbers


def program(onnx: Any, model: Any, entry: Any, answer: str) -> Computation:
    opset = next((kind.version for kind in model.opset_import if kind.domain in ("", "ai.onnx")), 1)
    constants = {array.name: onnx.numpy_helper.to_array(array) for array in model.graph.initializer}
    turns = Turns()
    nodes = [made for proto in model.graph.node for made in _nodes(onnx, proto, opset, turns)]
    return Computation(nodes, constants, entry.name, answer, kind_of(onnx, entry))


def kind_of(onnx: Any, entry: Any) -> type[np.generic]:
    """What the file takes at its input, so that it is fed what it declares."""
    number = entry.type.tensor_type.elem_type
    if number not in KINDS:
        raise ModelError(
            f"The input {entry.name} takes no plain numbers (kind {number}), and words are numbers."
        )
    kind: type[np.generic] = onnx.helper.tensor_dtype_to_np_dtype(number).type
    return kind


def _nodes(onnx: Any, proto: Proto, opset: int, turns: Turns) -> list[Operation]:
    """One node for an operator with one output; with several, one for all and one for each."""
    outputs = list(proto.output)
    whole = _node(
        onnx, proto, opset, turns, outputs[0] if len(outputs) == 1 else f"{outputs[0]}:all"
    )
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


def _node(onnx: Any, proto: Proto, opset: int, turns: Turns, name: str) -> Operation:
    operator = (
        proto.op_type if proto.domain in ("", "ai.onnx") else f"{proto.domain}.{proto.op_type}"
    )
    attributes = {item.name: _attribute(onnx, item) for item in proto.attribute}
    return Operation(
        name=name,
        operator=operator,
        place=proto.name or proto.output[0],
        uses=tuple(dict.fromkeys((*(use for use in proto.input if use), *sorted(captured(proto))))),
        lower=partial(_lowered, proto, opset, operator, attributes),
        compute=partial(_computed, onnx, proto, opset, operator, attributes),
        elementwise=operator in ELEMENTWISE,
        takes_words=operator in TAKES_WORDS,
        ending="" if attributes.get("to", 1) not in FLOATING else ENDINGS.get(operator, ""),
        axis=int(attributes.get("axis", -1 if opset >= 13 else 1)) if "Softmax" in operator else -1,
        role=ROLES.get(operator, ""),
        equation=attributes.get("equation", "")
        if operator == "Einsum"
        else EQUATIONS.get(operator, ""),
        inside=partial(written_out, onnx, proto, opset, turns) if _branches(proto) else None,
    )


def _lowered(
    proto: Proto, opset: int, operator: str, attributes: Mapping[str, Any], values: Values
) -> Value:
    """What an operator makes of values that depend on the text."""
    rule = RULES.get(operator)
    if rule is None:
        raise ValueError(rules.unknown(operator))
    inputs = [values[use] if use else None for use in proto.input]
    found = rule(Operator(inputs, attributes, opset, len(proto.output)))
    return found if len(proto.output) == 1 or isinstance(found, tuple) else (found,)


def _computed(
    onnx: Any,
    proto: Proto,
    opset: int,
    operator: str,
    attributes: Mapping[str, Any],
    values: Values,
) -> Value:
    """What it makes of constants, by onnx's own evaluator."""
    if operator in SEQUENCES:
        return SEQUENCES[operator](
            Operator([values[use] if use else None for use in proto.input], attributes, opset, 1)
        )
    if operator.startswith("Random") or operator in ("Bernoulli", "Multinomial"):
        raise ValueError("it is random, so that the same text may get another label")
    if operator not in COMPUTED:
        raise ValueError(rules.unknown(operator))
    given = {use: np.asarray(values[use]) for use in proto.input if use}
    affordable(_size(operator, [given[use] for use in proto.input if use], attributes), MOST_VALUES)
    found = onnx.reference.ReferenceEvaluator(_alone(onnx, proto, opset)).run(None, _alike(given))
    return np.asarray(found[0]) if len(proto.output) == 1 else tuple(found)


def _branches(proto: Proto) -> bool:
    return any(item.HasField("g") or item.graphs for item in proto.attribute)


def captured(proto: Proto) -> set[str]:
    """The names that the graphs inside an operator take from outside."""
    found: set[str] = set()
    for item in proto.attribute:
        for graph in (item.g, *item.graphs):
            used = {name for node in graph.node for name in (*node.input, *captured(node)) if name}
            used |= {port.name for port in graph.output}
            made = {name for node in graph.node for name in node.output}
            made |= {port.name for port in (*graph.input, *graph.initializer)}
            found |= used - made
    return found


# --- loops and branches whose way is the same for every text ---


@dataclass
class Turns:
    """How many operators may still be run in loops and branches."""

    left: int = MOST_TURNS

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise ValueError(f"loops make more than {MOST_TURNS} operators when written out")


def written_out(
    onnx: Any, proto: Proto, opset: int, turns: Turns, values: Values, run: Run
) -> Value:
    """What a Loop or an If gives, turn by turn, as long as no turn depends on the text."""
    graphs = {item.name: item.g for item in proto.attribute if item.HasField("g")}
    inputs = [values[use] if use else None for use in proto.input]

    def ran(name: str, given: Values) -> list[Value]:
        graph = graphs[name]
        nodes = [made for inner in graph.node for made in _nodes(onnx, inner, opset, turns)]
        turns.take(1 + len(nodes))
        held = {array.name: onnx.numpy_helper.to_array(array) for array in graph.initializer}
        found = run(nodes, {**values, **held, **given})
        return [found[port.name] for port in graph.output]

    if proto.op_type == "If":
        found = ran("then_branch" if _is_true(inputs[0]) else "else_branch", {})
    elif proto.op_type == "Loop":
        found = _looped([port.name for port in graphs["body"].input], inputs, partial(ran, "body"))
    else:
        raise ValueError(rules.unknown(proto.op_type))
    return found[0] if len(proto.output) == 1 else tuple(found)


def _looped(
    names: Sequence[str], inputs: Sequence[Value], turn: Callable[[Values], list[Value]]
) -> list[Value]:
    """What is carried from turn to turn, and then what each turn gives, side by side."""
    most, going, *carried = inputs
    if most is not None and not is_constant(most):
        control_flow()
    scans: list[list[Value]] = []
    count = 0
    while (most is None or count < int(np.reshape(most, ()))) and (
        going is None or _is_true(going)
    ):
        given = {
            names[0]: np.array(count),
            names[1]: np.array(True),
            **dict(zip(names[2:], carried, strict=True)),
        }
        going, *found = turn(given)
        carried, scanned = found[: len(carried)], found[len(carried) :]
        scans = [
            [*before, new]
            for before, new in zip(scans or [[]] * len(scanned), scanned, strict=True)
        ]
        count += 1
        if isinstance(going, Unavailable):
            raise ValueError(going.reason)
    return [*carried, *map(_beside, scans)]


def _beside(parts: Sequence[Value]) -> Value:
    refused = next((part for part in parts if isinstance(part, Unavailable)), None)
    if refused is not None:
        return refused
    return np.stack(parts) if is_constant(parts) else rules.stack(parts, 0)


def _is_true(value: Value) -> bool:
    if not is_constant(value):
        control_flow()
    return bool(np.reshape(value, ()))


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
            return (
                int(max(0.0, abs(float(limit) - float(start)) / abs(float(delta)))) + 1
                if delta
                else 0
            )
        case "Pad", [array, *more]:
            spare = sum(
                max(0, pad)
                for pad in rules.numbers(attributes.get("pads", more[0] if more else ()))
            )
            return math.prod(size + spare for size in array.shape)
        case "Gather", [array, index]:
            return int(
                index.size * array.size // max(1, array.shape[int(attributes.get("axis", 0))])
            )
        case "GatherND", [array, index]:
            return index.size * array.size // max(1, math.prod(array.shape[: index.shape[-1]]))
        case "MatMul", [left, right]:
            lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
            return int(math.prod(lead) * math.prod(left.shape[-2:-1]) * math.prod(right.shape[-1:]))
        case "Einsum", _:
            return rules.Terms.of(attributes["equation"], shapes).size(shapes)
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
    return {
        name: value.astype(np.float64) if value.dtype.kind == "f" else value
        for name, value in feeds.items()
    }


def _alone(onnx: Any, proto: Proto, opset: int) -> Any:
    """A model of this operator only, for the evaluator."""
    make = onnx.helper
    inputs = [
        make.make_tensor_value_info(use, onnx.TensorProto.UNDEFINED, None)
        for use in dict.fromkeys(proto.input)
        if use
    ]
    outputs = [
        make.make_tensor_value_info(use, onnx.TensorProto.UNDEFINED, None)
        for use in proto.output
        if use
    ]
    alone = make.make_graph([proto], "alone", inputs, outputs)
    return make.make_model(alone, opset_imports=[make.make_opsetid("", opset)])

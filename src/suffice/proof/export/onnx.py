"""ONNX: the classifier's network with the sums of its relus among the outputs, in double precision.

Inputs X are the numbers of all words, one after the other. Outputs Y are the scores of all labels,
then the sum (before the relu) of every hidden unit that has a relu, in the order of their numbers.
Over an attacked text X has instead, for each attacked word, how far it is back: 1 is its own
vector, 0 the attack's; the last Y is then their cost.

No weight is changed or worked out: the vectors of an attacked text are X·own + (1 - X)·attack, so
that nothing is rounded before another tool reads it. A maximum is a + relu(b - a), pair by pair, as
tools know relus best.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import InputError, MissingExtra
from suffice.model.network import Floats, Step
from suffice.proof.export.questions import Attacked

# old enough for the tools of the competitions
OPSET = 13
IR = 8
MOST_NUMBERS = 2**26  # weights of one file, zeros included


class Graph:
    """A chain of ONNX nodes as it grows; `numbers` are all weights that went in."""

    def __init__(self, inputs: int) -> None:
        try:
            import onnx
        except ImportError as error:
            raise MissingExtra("onnx", "onnx") from error
        self.onnx = onnx
        self.inputs = inputs
        self.outputs = 0
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.numbers: list[Floats] = []

    def affine(self, values: str, matrix: Floats, bias: Floats) -> str:
        """matrix @ values + bias."""
        return self._node("Gemm", [values, self._weight(matrix), self._weight(bias)], transB=1)

    def relu(self, values: str) -> str:
        return self._node("Relu", [values])

    def join(self, parts: Sequence[str], name: str = "") -> str:
        return (
            parts[0] if len(parts) == 1 and not name else self._node("Concat", parts, name, axis=1)
        )

    def _node(self, kind: str, inputs: Sequence[str], name: str = "", **options: int) -> str:
        name = name or f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], **options))
        return name

    def _weight(self, array: Floats) -> str:
        self.numbers.append(array)
        self.weights.append(
            self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), f"w{len(self.weights)}")
        )
        return f"w{len(self.weights) - 1}"

    def save(self, path: Path) -> None:
        """Write the network as an ONNX file."""
        helper = self.onnx.helper
        double = self.onnx.TensorProto.DOUBLE
        ends = (("X", self.inputs), ("Y", self.outputs))
        given, found = (
            [helper.make_tensor_value_info(name, double, [1, size])] for name, size in ends
        )
        graph = helper.make_graph(self.nodes, "suffice", given, found, self.weights)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR
        )
        self.onnx.checker.check_model(model)
        self.onnx.save(model, str(path))


def graph_of(steps: Sequence[Step], attacked: Attacked | None) -> Graph:
    """The network over the numbers of all words, or over how far the words of an attacked text are
    back.
    """
    _need_plain(steps)
    graph = Graph(int(steps[0].weight.shape[1]) if attacked is None else len(attacked.words))
    values = "X" if attacked is None else _restored(graph, attacked)
    order = slice(None)
    outputs: list[str] = []
    for step in steps[:-1]:
        values, order = _step(graph, step, values, order, outputs)
    scores = graph.affine(values, _dense(step := steps[-1])[:, order], step.bias)
    spent = (
        []
        if attacked is None
        else [graph.affine("X", attacked.costs[None].astype(np.float64), np.zeros(1))]
    )
    graph.join([scores, *outputs, *spent], "Y")
    graph.outputs = len(step.bias) + sum(int(one.relu.sum()) for one in steps[:-1]) + len(spent)
    return graph


def _step(graph: Graph, step: Step, values: str, order: Any, outputs: list[str]) -> tuple[str, Any]:
    """One step; units with a relu come first after it, so that none has to be picked apart, and
    maxima last.

    The order of the units is given; those of a maximum that only give 0 are left out.
    """
    parts = []
    dense = _dense(step)[:, order]
    with_relu = np.flatnonzero(step.relu)
    without = np.flatnonzero(~step.relu & ~step.pooled)
    if len(with_relu):
        outputs.append(graph.affine(values, dense[with_relu], step.bias[with_relu]))
        parts.append(graph.relu(outputs[-1]))
    if len(without):
        parts.append(graph.affine(values, dense[without], step.bias[without]))
    leaders = np.array([group[0] for group in step.maxima], dtype=np.int64)
    if len(leaders):
        units = np.concatenate(step.maxima)
        parts.append(
            _maxima(
                graph,
                graph.affine(values, dense[units], step.bias[units]),
                list(map(len, step.maxima)),
            )
        )
    return graph.join(parts), np.concatenate([with_relu, without, leaders])


def _maxima(graph: Graph, values: str, sizes: list[int]) -> str:
    """The largest of each group of values, whose sizes are given: in each round half of them are
    left.
    """
    while max(sizes) > 1:
        starts = np.cumsum([0, *sizes])
        firsts = np.concatenate(
            [np.arange(start, start + size, 2) for start, size in zip(starts, sizes, strict=False)]
        )
        rivals = np.array([i + 1 for i in firsts if i + 1 not in starts], dtype=np.int64)
        kept = np.eye(int(starts[-1]))
        gains = graph.relu(
            graph.affine(values, kept[rivals] - kept[rivals - 1], np.zeros(len(rivals)))
        )
        added = (firsts[:, None] == rivals - 1).astype(np.float64)
        values = graph.affine(
            graph.join([values, gains]),
            np.concatenate([kept[firsts], added], 1),
            np.zeros(len(firsts)),
        )
        sizes = [(size + 1) // 2 for size in sizes]
    return values


def _restored(graph: Graph, attacked: Attacked) -> str:
    """X·own + (1 - X)·attack at the attacked words, and the own vectors elsewhere."""
    words, (length, dimension) = attacked.words, attacked.center.shape
    both = np.concatenate([np.eye(len(words)), -np.eye(len(words))])
    # X and 1 - X by one matrix: Marabou 2.0 miscounts where a Concat takes the input itself
    shares = graph.affine("X", both, np.repeat([0.0, 1.0], len(words)))
    matrix = np.zeros((length, dimension, 2 * len(words)))
    matrix[words, :, np.arange(len(words))] = attacked.center[words]
    matrix[words, :, len(words) + np.arange(len(words))] = attacked.start[words]
    rest = attacked.center.copy()
    rest[words] = 0.0
    return graph.affine(shares, matrix.reshape(length * dimension, -1), rest.ravel())


def _need_plain(steps: Sequence[Step]) -> None:
    """What the tools can read, and what fits into one file."""
    if any(step.curves for step in steps):
        raise InputError(
            "This classifier has smooth curves (tanh, GELU, ...): they are not exported, as "
            "tools compute them each in "
            "their own way and the leaves hold only for lines around them."
        )
    size = sum(step.weight.shape[0] * step.weight.shape[1] for step in steps)
    if size > MOST_NUMBERS:
        raise InputError(
            f"This network has {size:,} weights in ONNX's full matrices; {MOST_NUMBERS:,} are "
            "written."
        )


def _dense(step: Step) -> Floats:
    return step.weight if isinstance(step.weight, np.ndarray) else np.asarray(step.weight.toarray())

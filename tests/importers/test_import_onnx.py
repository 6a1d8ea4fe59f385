"""from_onnx: each operator gives the scores of onnx itself; exporters' files come in; the rest is
refused by name.
"""

from __future__ import annotations

import importlib.util
import io
import os
import subprocess
import sys
import tracemalloc
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest

import suffice as sf
from suffice.errors import ModelError
from suffice.importers import rules
from suffice.importers.compare import random_rows, scores_of

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

LENGTH = 10
WIDTH = 6
WORDS = ["<PAD>", "<UNK>", *(f"w{i}" for i in range(14))]
LABELS = ["no", "yes"]
IR = 10


def array(*shape, seed=0, kind=np.float64):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(kind)


def op(kind, inputs, output="y", **attributes):
    return helper.make_node(
        kind, inputs.split(), output.split(), name=f"the {kind.lower()}", **attributes
    )


def written(
    nodes, constants, opset=18, kind=TensorProto.INT64, shape=("batch", LENGTH), answer="scores"
):
    """A file's content: the input `words`, the operators, and one output."""
    given = helper.make_tensor_value_info("words", kind, shape)
    output = helper.make_tensor_value_info(answer, TensorProto.DOUBLE, None)
    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "network", [given], [output], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR)


def around(nodes, constants=None, opset=18, kind=np.float64, size=None):
    """An embedding before the operators, which take x (1, WIDTH, LENGTH) to y, and a flat linear
    layer after them.
    """
    table = array(len(WORDS), WIDTH, kind=kind)
    start = [op("Gather", "table words", "rows"), op("Transpose", "rows", "x", perm=[0, 2, 1])]
    probe = helper.make_graph(
        [*start, *nodes],
        "probe",
        [helper.make_tensor_value_info("words", TensorProto.INT64, None)],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)],
        [
            numpy_helper.from_array(np.asarray(v), n)
            for n, v in {"table": table, **(constants or {})}.items()
        ],
    )
    probe = helper.make_model(probe, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR)
    size = (
        size
        or ReferenceEvaluator(probe)
        .run(None, {"words": np.zeros((1, LENGTH), dtype=np.int64)})[0]
        .size
    )
    end = [
        op("Flatten", "y", "flat"),
        op("MatMul", "flat weight", "product"),
        op("Add", "product bias", "scores"),
    ]
    end = [op("Reshape", "y one_row", "flat"), *end[1:]]
    held = {
        "table": table,
        "weight": array(size, 2, kind=kind),
        "bias": array(2, kind=kind),
        "one_row": np.array([1, -1]),
    }
    model = written([*start, *nodes, *end], {**held, **(constants or {})}, opset)
    model.graph.output[0].type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(
        np.dtype(kind)
    )
    return model


def imported(model, **more):
    return sf.from_onnx(model, **{"vocabulary": WORDS, "labels": LABELS, "length": LENGTH, **more})


def assert_same(model, tolerance=1e-6):
    classifier = imported(model)
    rows = random_rows(classifier, 50, seed=5)
    evaluator = ReferenceEvaluator(model)
    theirs = np.stack([evaluator.run(None, {"words": row[None]})[0].reshape(-1) for row in rows])
    assert np.abs(scores_of(classifier, rows) - theirs).max() < tolerance
    return classifier


ints = np.array
OPERATORS = {
    "identity": ([op("Identity", "x")], {}),
    "matmul": ([op("MatMul", "x w")], {"w": array(LENGTH, 3)}),
    "constant on the left": ([op("MatMul", "w x")], {"w": array(3, WIDTH)}),
    "gemm": (
        [op("Reshape", "x s", "r"), op("Gemm", "r w b", transB=1, alpha=0.5, beta=2.0)],
        {"s": ints([WIDTH, LENGTH]), "w": array(3, LENGTH), "b": array(3)},
    ),
    "gemm turned": ([op("Squeeze", "x a", "r"), op("Gemm", "r w", transA=1)], {"a": ints([0]), "w": array(WIDTH, 4)}),
    "conv": ([op("Conv", "x w b", pads=[1, 2], strides=[2], dilations=[2])], {"w": array(4, WIDTH, 3), "b": array(4)}),
    "conv groups": ([op("Conv", "x w", group=3)], {"w": array(6, 2, 2)}),
    "conv same upper": ([op("Conv", "x w", auto_pad="SAME_UPPER", strides=[2])], {"w": array(4, WIDTH, 4)}),
    "conv same lower": ([op("Conv", "x w", auto_pad="SAME_LOWER")], {"w": array(4, WIDTH, 4)}),
    "conv valid": ([op("Conv", "x w", auto_pad="VALID")], {"w": array(4, WIDTH, 4)}),
    "conv 2d": (
        [op("Unsqueeze", "x a", "r"), op("Conv", "r w", pads=[0, 1, 0, 1])],
        {"a": ints([1]), "w": array(3, 1, WIDTH, 3)},
    ),
    "max pool": ([op("MaxPool", "x", kernel_shape=[3], strides=[2], pads=[1, 0], ceil_mode=1)], {}),
    "average pool": ([op("AveragePool", "x", kernel_shape=[3], strides=[2], pads=[1, 1])], {}),
    "average pool counted": ([op("AveragePool", "x", kernel_shape=[2], pads=[1, 0], count_include_pad=1)], {}),
    "global average": ([op("GlobalAveragePool", "x")], {}),
    "reduce mean": ([op("ReduceMean", "x a", keepdims=0)], {"a": ints([2])}),
    "reduce max": ([op("ReduceMax", "x a")], {"a": ints([-1])}),
    "reduce min": ([op("ReduceMin", "x a")], {"a": ints([1])}),
    "reduce sum": ([op("ReduceSum", "x a", keepdims=0)], {"a": ints([1])}),
    "reduce all": ([op("ReduceSum", "x", keepdims=1)], {}),
    "batch norm": (
        [op("BatchNormalization", "x s b m v", epsilon=0.01)],
        {"s": array(WIDTH), "b": array(WIDTH, seed=1), "m": array(WIDTH, seed=2), "v": np.linspace(0.5, 2, WIDTH)},
    ),
    "dropout": ([op("Dropout", "x", "y mask")], {}),
    "relu": ([op("Relu", "x")], {}),
    "leaky relu": ([op("LeakyRelu", "x", alpha=0.3)], {}),
    "prelu": ([op("PRelu", "x s")], {"s": np.abs(array(WIDTH, 1))}),
    "clip": ([op("Clip", "x low high")], {"low": np.array(-0.3), "high": np.array(0.6)}),
    "clip above": ([helper.make_node("Clip", ["x", "", "high"], ["y"])], {"high": np.array(0.6)}),
    "hard sigmoid": ([op("HardSigmoid", "x", alpha=0.25, beta=0.4)], {}),
    "tanh": ([op("Tanh", "x")], {}),
    "sigmoid": ([op("Sigmoid", "x")], {}),
    "softplus": ([op("Softplus", "x")], {}),
    "exp": ([op("Exp", "x")], {}),
    "elu": ([op("Elu", "x", alpha=0.5)], {}),
    "selu": ([op("Selu", "x")], {}),
    "celu": ([op("Celu", "x", alpha=0.5)], {}),
    "softmax inside": ([op("Softmax", "x", axis=1)], {}),
    "abs": ([op("Abs", "x")], {}),
    "silu": ([op("Sigmoid", "x", "s"), op("Mul", "x s")], {}),
    "gelu by erf": (
        [
            op("Div", "x root", "d"),
            op("Erf", "d", "e"),
            op("Add", "e one", "a"),
            op("Mul", "x a", "m"),
            op("Mul", "m half"),
        ],
        {"root": np.array(2**0.5), "one": np.array(1.0), "half": np.array(0.5)},
    ),
    "gelu by tanh": (
        [
            op("Pow", "x three", "p"),
            op("Mul", "p c", "q"),
            op("Add", "x q", "r"),
            op("Mul", "r root", "s"),
            op("Tanh", "s", "t"),
            op("Add", "t one", "u"),
            op("Mul", "x half", "v"),
            op("Mul", "v u"),
        ],
        {
            "three": np.array(3.0),
            "c": np.array(0.044715),
            "root": np.array((2 / np.pi) ** 0.5),
            "one": np.array(1.0),
            "half": np.array(0.5),
        },
    ),
    "sums": ([op("Relu", "x", "r"), op("Sum", "x r b x", "s"), op("Sub", "s r")], {"b": array(WIDTH, 1)}),
    "differences": ([op("Sub", "c x", "s"), op("Neg", "s", "n"), op("Div", "n c")], {"c": np.array(4.0)}),
    "products": ([op("Mul", "c x")], {"c": array(LENGTH)}),
    "maxima": ([op("Neg", "x", "n"), op("Max", "x n c", "m"), op("Min", "m c")], {"c": array(LENGTH)}),
    "where": ([op("Where", "mask x c")], {"mask": np.arange(LENGTH) % 2 == 0, "c": np.array(0.5)}),
    "reshape with zero": ([op("Reshape", "x s")], {"s": ints([0, 3, -1])}),
    "flatten": ([op("Flatten", "x", axis=2)], {}),
    "transpose backwards": ([op("Transpose", "x")], {}),
    "squeeze all": ([op("Squeeze", "x")], {}),
    "slice": (
        [op("Slice", "x starts ends axes steps")],
        {"starts": ints([8, 1]), "ends": ints([-(2**63), 2**63 - 1]), "axes": ints([2, 1]), "steps": ints([-2, 3])},
    ),
    "split": ([op("Split", "x sizes", "a b", axis=2), op("ReduceMax", "b d", "m"), op("Sub", "a m")],
              {"sizes": ints([3, 7]), "d": ints([2])}),
    "concat": ([op("Relu", "x", "r"), op("Concat", "x r c", axis=2)], {"c": array(1, WIDTH, 2)}),
    "pad": ([op("Pad", "x p v")], {"p": ints([0, 0, 1, 0, 1, 2]), "v": np.array(0.5)}),
    "expand": ([op("ReduceMax", "x a", "r"), op("Expand", "r s")], {"a": ints([2]), "s": ints([1, WIDTH, 3])}),
    "tile": ([op("Tile", "x t")], {"t": ints([1, 2, 1])}),
    "gather of a value": ([op("Gather", "x i", axis=2)], {"i": ints([3, -1, 0])}),
    "gather of entries": ([op("GatherND", "x i")], {"i": ints([[[0, 1], [0, -1]], [[0, 5], [0, 1]]])}),
    "shapes computed": (
        [
            op("Shape", "x", "s"),
            op("Gather", "s zero", "batch", axis=0),
            op("Unsqueeze", "batch zeros", "lead"),
            op("Concat", "lead rest", "shape", axis=0),
            op("Reshape", "x shape"),
        ],
        {"zero": ints(0), "zeros": ints([0]), "rest": ints([-1, 2])},
    ),
    "cast": ([op("Cast", "x", to=TensorProto.DOUBLE)], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_an_operator_gives_the_scores_of_the_file(name):
    assert_same(around(*OPERATORS[name]))


def assert_compared_with_onnxruntime(model):
    """For what onnx's own evaluator gets wrong: the import itself compared with onnxruntime, in
    single precision.
    """
    facts = imported(model).meta["import"]
    assert "onnxruntime" in facts["versions"]
    assert facts["largest difference"] < 1e-5


def test_the_global_maximum():
    assert_compared_with_onnxruntime(
        around([op("GlobalMaxPool", "x")], kind=np.float32, size=WIDTH)
    )


@pytest.mark.parametrize("opset", [9, 11, 13, 18, 21])
def test_axes_are_read_in_every_opset(opset):
    """As attributes in older opsets, as inputs in newer ones; softmax over the rest of the axes
    before 13.
    """
    if opset < 13:
        nodes = [
            op("Unsqueeze", "x", "u", axes=[1]),
            op("ReduceSum", "u", "s", axes=[3], keepdims=0),
        ]
        nodes += [op("Softmax", "s", "p", axis=1), op("Squeeze", "p", "y", axes=[1])]
        if opset < 10:
            nodes[-1] = op("Squeeze", "p", "q", axes=[1])
            nodes += [
                op("Slice", "q", "r", starts=[1], ends=[5], axes=[1]),
                op("Clip", "r", "y", min=0.1, max=0.4),
            ]
        assert_compared_with_onnxruntime(around(nodes, opset=opset, kind=np.float32))
        return
    nodes = [op("Unsqueeze", "x a", "u"), op("ReduceSum", "u b", "s", keepdims=0)]
    nodes += [op("Softmax", "s", "p", axis=2), op("Squeeze", "p a")]
    assert_same(around(nodes, {"a": ints([1]), "b": ints([3])}, opset=opset))


def test_gelu_of_newer_opsets():
    for approximate in ("none", "tanh"):
        assert_same(around([op("Gelu", "x", approximate=approximate)], opset=20))


def test_as_tf2onnx_writes_a_text_cnn():
    """Words as floats, cast; convolution over a grid of one row; bias by Add; global maximum by
    ReduceMax.
    """
    constants = {
        "table": array(len(WORDS), 5, kind=np.float32),
        "kernel": array(4, 5, 1, 3, kind=np.float32),
        "bias": array(4, kind=np.float32),
        "dense": array(4, 2, kind=np.float32),
        "last": array(2, kind=np.float32),
        "axis": ints([2]),
    }
    nodes = [
        op("Cast", "words", "numbers", to=TensorProto.INT32),
        op("Gather", "table numbers", "rows", axis=0),
        op("Transpose", "rows", "turned", perm=[0, 2, 1]),
        op("Unsqueeze", "turned axis", "grid"),
        op("Conv", "grid kernel", "found", kernel_shape=[1, 3], auto_pad="VALID"),
        op("Squeeze", "found axis", "flat"),
        op("Transpose", "flat", "back", perm=[0, 2, 1]),
        op("Add", "back bias", "shifted"),
        op("Relu", "shifted", "active"),
        op("ReduceMax", "active", "most", axes=[1], keepdims=0),
        op("MatMul", "most dense", "product"),
        op("Add", "product last", "logits"),
        op("Softmax", "logits", "scores", axis=1),
    ]
    model = written(nodes, constants, opset=13, kind=TensorProto.FLOAT, answer="scores")
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    classifier = imported(model)
    # filters, each with the 0 of its relu
    assert sum(len(step.maxima) for step in classifier.network.steps) == 4
    assert classifier.meta["import"]["largest difference"] < 1e-5


def test_a_negative_number_counts_from_the_end_as_keras_writes_it():
    nodes = [
        op("Less", "words zero", "negative"),
        op("Add", "words many", "moved"),
        op("Where", "negative moved words", "numbers"),
        op("Gather", "table numbers", "rows"),
        op("ReduceSum", "rows axis", "scores", keepdims=0),
    ]
    constants = {"zero": ints(0), "many": ints(16), "table": array(16, 2), "axis": ints([1])}
    assert_same(written(nodes, constants))


def test_a_network_of_vectors_takes_an_embedding():
    nodes = [
        op("ReduceMax", "words axis", "most", keepdims=0),
        op("MatMul", "most weight", "scores"),
    ]
    constants = {"axis": ints([1]), "weight": array(3, 2)}
    model = written(nodes, constants, kind=TensorProto.DOUBLE, shape=("batch", LENGTH, 3))
    with pytest.raises(ModelError, match=r"has 3 axes.*Give embedding="):
        imported(model)
    table = array(len(WORDS), 3)
    classifier = imported(model, embedding=table)
    rows = random_rows(classifier, 50)
    assert (
        np.abs(scores_of(classifier, rows) - table[rows].max(1) @ constants["weight"]).max() < 1e-9
    )


# --- the length, the batch, and what goes in and out ---

SUM = [op("Gather", "table words", "rows"), op("ReduceSum", "rows axis", "scores", keepdims=0)]
HELD = {"table": array(16, 2), "axis": ints([1])}


def test_the_file_may_say_how_long_texts_are():
    assert imported(written(SUM, HELD, shape=(1, 7)), length=None).length == 7
    assert imported(written(SUM, HELD, shape=("batch", "length")), length=4).length == 4
    with pytest.raises(ModelError, match="does not say how many words"):
        imported(written(SUM, HELD, shape=("batch", "length")), length=None)
    with pytest.raises(ModelError, match="takes texts of 7 words, not of 10"):
        imported(written(SUM, HELD, shape=("batch", 7)))
    with pytest.raises(ModelError, match="takes 4 texts at once"):
        imported(written(SUM, HELD, shape=(4, LENGTH)))


def test_one_input_and_one_output_are_needed():
    model = written(SUM, HELD)
    model.graph.output.append(helper.make_tensor_value_info("rows", TensorProto.DOUBLE, None))
    with pytest.raises(ModelError, match="the inputs words and the outputs scores, rows"):
        imported(model)


@pytest.mark.parametrize("last", ["Softmax", "LogSoftmax"])
def test_a_last_softmax_is_left_away(last):
    nodes = [
        SUM[0],
        op("ReduceSum", "rows axis", "logits", keepdims=0),
        op(last, "logits", "scores", axis=1),
    ]
    classifier = imported(written(nodes, HELD))
    rows = random_rows(classifier, 50)
    assert np.abs(scores_of(classifier, rows) - HELD["table"][rows].sum(1)).max() < 1e-9


def test_a_last_sigmoid_over_one_output():
    nodes = [
        SUM[0],
        op("ReduceSum", "rows axis", "logit", keepdims=0),
        op("Sigmoid", "logit", "scores"),
    ]
    held = {"table": array(16, 1), "axis": ints([1])}
    classifier = imported(written(nodes, held))
    rows = random_rows(classifier, 50)
    assert np.abs(scores_of(classifier, rows) - [0, 1] * held["table"][rows].sum(1)).max() < 1e-9


COUNTED = [
    op("Less", "words zero", "negative"),
    op("Add", "words many", "moved"),
    op("Where", "negative moved words", "own"),
    op("Cast", "own", "numbers", to=TensorProto.INT64),
    op("Gather", "table numbers", "rows"),
    op("ReduceSum", "rows axis", "scores", keepdims=0),
]


@pytest.mark.parametrize("kind", ["INT32", "INT64", "FLOAT", "DOUBLE", "INT16", "UINT8"])
def test_the_file_is_fed_what_it_declares(kind):
    """As Keras on TensorFlow writes its files: words are int32, or float, and compared with numbers
    of that kind.
    """
    number = getattr(TensorProto, kind)
    made = helper.tensor_dtype_to_np_dtype(number)
    model = written(
        COUNTED, {**HELD, "zero": np.array(0, made), "many": np.array(16, made)}, kind=number
    )
    classifier = imported(model)
    rows = random_rows(classifier, 50)
    evaluator = ReferenceEvaluator(model)
    theirs = np.stack(
        [evaluator.run(None, {"words": row[None].astype(made)})[0][0] for row in rows]
    )
    assert np.abs(scores_of(classifier, rows) - theirs).max() < 1e-9


def test_a_kind_that_cannot_hold_the_words_or_no_number_at_all_is_refused():
    words = [*WORDS, *(f"more{i}" for i in range(120))]
    held = {
        **HELD,
        "table": array(len(words), 2),
        "zero": np.array(0, np.int8),
        "many": np.array(16, np.int8),
    }
    with pytest.raises(
        ModelError, match="takes words as int8, which cannot tell 136 of them apart"
    ):
        imported(written(COUNTED, held, kind=TensorProto.INT8), vocabulary=words)
    with pytest.raises(ModelError, match=r"takes no plain numbers \(kind 8\)"):
        imported(written(SUM, HELD, kind=TensorProto.STRING))


def test_a_vocabulary_that_does_not_fit_is_refused():
    with pytest.raises(
        ModelError, match=r"Gather at the gather .*has 16 rows but the vocabulary has 15 words"
    ):
        imported(written(SUM, HELD), vocabulary=WORDS[:-1])


# --- refusals ---

REFUSED = {
    "LSTM": ([op("Transpose", "x", "t", perm=[2, 0, 1]), op("LSTM", "t w r", hidden_size=3)],
             {"w": array(1, 12, WIDTH), "r": array(1, 12, 3)}, "recurrent layer"),
    "MatMul": ([op("Transpose", "x", "t", perm=[0, 2, 1]), op("MatMul", "t x")], {}, "both depend on .*from_function"),
    "Mul": ([op("Relu", "x", "r"), op("Mul", "r x")], {}, "both depend on the text"),
    "LayerNormalization": ([op("LayerNormalization", "x w")], {"w": array(LENGTH)}, "spread that depends on the text"),
    "Mish": ([op("Mish", "x")], {}, "not among the operators"),
    "TopK": ([op("TopK", "x k", "y i")], {"k": ints([2])}, "not among the operators"),
    "Cast": ([op("Cast", "x", "i", to=TensorProto.INT32), op("Cast", "i", to=TensorProto.DOUBLE)], {}, "rounds"),
    "Pad": ([op("Pad", "x p", mode="reflect")], {"p": ints([0, 0, 1, 0, 0, 1])}, "mode 'reflect'"),
    "Pow": ([op("Pow", "x two")], {"two": np.array(2.0)}, "not among the operators"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_bounded_is_refused_by_name_and_place(name):
    nodes, constants, reason = REFUSED[name]
    with pytest.raises(
        ModelError, match=f"^{name} at the {name.lower()} cannot be imported: .*{reason}"
    ) as refused:
        imported(around(nodes, constants, opset=18))
    assert rules.KNOWN in str(refused.value) or reason != "not among the operators"


def chosen(by):
    """One of two branches, both of which are the vectors as they are."""
    branch = helper.make_graph([op("Identity", "rows", "out")], "branch", [],
                               [helper.make_tensor_value_info("out", TensorProto.DOUBLE, None)])  # fmt: skip
    nodes = [
        SUM[0],
        op("ReduceMax", "words axis", "most", keepdims=0),
        op("Cast", "most", "some", to=TensorProto.BOOL),
    ]
    nodes += [
        op("Squeeze", "some", "any"),
        op("If", by, "chosen", then_branch=branch, else_branch=branch),
    ]
    return [*nodes, op("ReduceSum", "chosen axis", "scores", keepdims=0)]


def test_a_branch_that_depends_on_the_text_is_refused_and_one_that_does_not_is_taken():
    with pytest.raises(
        ModelError, match="If at the if cannot be imported: it repeats or chooses operators by what"
    ):
        imported(written(chosen("any"), HELD))
    assert (
        imported(written(chosen("yes"), {**HELD, "yes": np.array(True)})).digest
        == imported(written(SUM, HELD)).digest
    )


def test_random_numbers_are_refused():
    nodes = [
        *SUM[:1],
        op("ReduceSum", "rows axis", "s", keepdims=0),
        op("RandomNormal", "", "n", shape=[1, 2], dtype=11),
    ]
    nodes.append(op("Add", "s n", "scores"))
    with pytest.raises(
        ModelError, match="RandomNormal at the randomnormal cannot be imported: it is random"
    ):
        imported(written(nodes, HELD))


def test_a_wrong_import_is_refused_with_the_largest_difference(monkeypatch):
    from suffice.importers import onnx_rules as importer

    monkeypatch.setitem(importer.RULES, "LeakyRelu", lambda call: call[0].relu())
    with pytest.raises(
        ModelError, match=r"disagrees with the ONNX model: the largest difference is \d\.\d+"
    ):
        imported(around([op("LeakyRelu", "x", alpha=0.3)]))


@pytest.mark.parametrize("content", [b"", b"not a network at all"])
def test_a_damaged_file_is_refused(tmp_path, content):
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(ModelError, match=r"model.onnx is not an ONNX file, or damaged"):
        imported(tmp_path / "model.onnx")
    with pytest.raises(ModelError, match="There is no file"):
        imported(tmp_path / "none.onnx")


def test_without_onnxruntime_the_evaluator_of_onnx_is_asked(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    classifier = imported(written(SUM, HELD))
    assert set(classifier.meta["import"]["versions"]) == {"onnx"}


def test_without_onnx_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(sf.MissingExtra, match=r"extra 'onnx'"):
        imported("model.onnx")


# --- files of strangers ---


def beside(folder, data=None, name="model.onnx", **changes):
    """The file of SUM with its table in `model.onnx.data`, as PyTorch writes it; `changes` are to
    what it says.
    """
    model = written(SUM, HELD)
    for size in (1, 2):
        model.graph.output[0].type.tensor_type.shape.dim.add().dim_value = size
    held = model.graph.initializer[0]
    numbers = held.raw_data
    said = {"location": "model.onnx.data", "offset": "64", "length": str(len(numbers)), **changes}
    held.ClearField("raw_data")
    for key, value in said.items():
        if value is not None:
            held.external_data.append(onnx.StringStringEntryProto(key=key, value=value))
    held.data_location = TensorProto.EXTERNAL
    (folder / name).write_bytes(model.SerializeToString())
    (folder / "model.onnx.data").write_bytes(bytes(64) + numbers if data is None else data)
    return model


def test_numbers_beside_the_file_are_read(tmp_path):
    beside(tmp_path)
    assert imported(tmp_path / "model.onnx").digest == imported(written(SUM, HELD)).digest
    beside(tmp_path, length=None)
    assert imported(tmp_path / "model.onnx").digest == imported(written(SUM, HELD)).digest


NAMES = ("../secret", "secret", "model.onnx", "sub/model.onnx.data", "./model.onnx.data", "", "MODEL.onnx.data",
         "../{folder}/model.onnx.data", "{path}/secret", "{path}/model.onnx.data", "/etc/passwd", None)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_no_other_name_is_read(name, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    location = None if name is None else name.format(folder=folder.name, path=folder)
    beside(folder, location=location)
    for place in (folder / "secret", tmp_path / "secret"):
        place.write_bytes((folder / "model.onnx.data").read_bytes())
    with pytest.raises(
        ModelError, match=r"of other files only 'model.onnx.data' beside this one is read"
    ):
        imported(folder / "model.onnx")


def test_a_renamed_file_says_so(tmp_path):
    beside(tmp_path, name="other.onnx")
    with pytest.raises(
        ModelError, match=r"only 'other.onnx.data' .*give them their old names back"
    ):
        imported(tmp_path / "other.onnx")
    (tmp_path / "other.onnx").rename(tmp_path / "model.onnx")
    imported(tmp_path / "model.onnx")


def test_numbers_of_a_model_in_memory_are_not_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ModelError, match=r"lie in another file, which is not read: give the file's name"
    ):
        imported(beside(tmp_path))


@pytest.mark.parametrize("link", ["symbolic", "hard", "to nothing", "folder", "pipe", "none"])
def test_links_and_no_ordinary_files_are_refused(link, tmp_path):
    beside(tmp_path)
    place = tmp_path / "model.onnx.data"
    real = tmp_path / "elsewhere"
    place.rename(real)
    match link:
        case "symbolic":
            place.symlink_to(real)
        case "hard":
            place.hardlink_to(real)
        case "to nothing":
            place.symlink_to(tmp_path / "nothing")
        case "folder":
            place.mkdir()
        case "pipe":
            os.mkfifo(place)
    message = {"hard": "has a second name", "none": "cannot be read beside it"}.get(
        link, "a link or no ordinary"
    )
    with pytest.raises(ModelError, match=message):
        imported(tmp_path / "model.onnx")


SAID = {
    "a negative offset": ({"offset": "-8"}, "no place in a file"),
    "an offset beyond the file": (
        {"offset": "1000000"},
        r"end at byte 1000256 of model.onnx.data, which has 320",
    ),
    "an offset that overflows": ({"offset": str(2**64 + 64)}, "no place in a file"),
    "an offset in other digits": ({"offset": "٦٤"}, "no place in a file"),
    "an offset of a thousand digits": ({"offset": "9" * 10_000}, "no place in a file"),
    "an offset in hexadecimal": ({"offset": "0x40"}, "no place in a file"),
    "a negative length": ({"length": "-1"}, "no place in a file"),
    "a length that overflows": ({"length": str(2**63)}, "no place in a file"),
    "a length longer than the tensor": (
        {"length": "264"},
        "take 256 bytes by their shape, but 264 are declared",
    ),
    "a length shorter than the tensor": (
        {"length": "8"},
        "take 256 bytes by their shape, but 8 are declared",
    ),
    "a place of another kind": (
        {"basepath": "/etc"},
        "by location, offset, length, basepath, which is not",
    ),
}


@pytest.mark.parametrize(("changes", "message"), SAID.values(), ids=SAID.keys())
def test_what_is_said_of_the_place_is_compared_with_the_file(changes, message, tmp_path):
    beside(tmp_path, **changes)
    with pytest.raises(ModelError, match=message):
        imported(tmp_path / "model.onnx")


def test_a_file_beside_that_is_cut_off_is_refused(tmp_path):
    beside(tmp_path, data=bytes(100))
    with pytest.raises(
        ModelError, match=r"end at byte 320 of model.onnx.data, which has 100 bytes: it is cut"
    ):
        imported(tmp_path / "model.onnx")


SHAPES = {
    "huge": ([2**62, 2**62], 11, "bytes by their shape"),
    "huge, without a length": ([2**62, 2**62], 11, "end at byte"),
    "larger than the file": ([10**6, 10**6], 11, "end at byte"),
    "negative": ([-1, -32], 11, r"shape \(-1, -32\), which is not read"),
    "strings": ([16, 2], 8, "of kind 8"),
    "of an unknown kind": ([16, 2], 99, "of kind 99"),
    "of half bytes": ([16, 2], 22, "of kind 22"),
}


@pytest.mark.parametrize(("shape", "kind", "message"), SHAPES.values(), ids=SHAPES.keys())
def test_a_shape_is_compared_with_the_file_before_anything_is_made(shape, kind, message, tmp_path):
    model = beside(tmp_path, length=None if message == "end at byte" else "256")
    model.graph.initializer[0].ClearField("dims")
    model.graph.initializer[0].dims.extend(shape)
    model.graph.initializer[0].data_type = kind
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=message):
            imported(tmp_path / "model.onnx")
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("start", [64, 72, 312])
def test_numbers_that_overlap_are_refused(start, tmp_path):
    """Else many tensors that are all the same megabyte would be gigabytes."""
    model = beside(tmp_path)
    second = model.graph.initializer.add()
    second.CopyFrom(model.graph.initializer[0])
    second.name = "second"
    second.external_data[1].value = str(start)
    data = (tmp_path / "model.onnx.data").read_bytes()
    (tmp_path / "model.onnx.data").write_bytes(data + bytes(256))
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match=r"numbers of table and second overlap"):
        imported(tmp_path / "model.onnx")
    second.external_data[1].value = "320"
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    imported(tmp_path / "model.onnx")


def test_external_numbers_inside_an_operator_are_refused(tmp_path):
    constant = helper.make_node(
        "Constant", [], ["k"], value=numpy_helper.from_array(np.zeros(WIDTH), "hidden")
    )
    tensor = constant.attribute[0].t
    tensor.external_data.append(onnx.StringStringEntryProto(key="location", value="secret"))
    tensor.data_location = TensorProto.EXTERNAL
    with pytest.raises(
        ModelError, match="numbers of hidden lie in another file, which is not read"
    ):
        imported(written([*SUM, constant], HELD))


def test_the_runtime_is_given_no_name_of_a_file(tmp_path, monkeypatch):
    import onnxruntime

    seen = []
    real = onnxruntime.InferenceSession
    monkeypatch.setattr(
        onnxruntime, "InferenceSession", lambda *a, **m: seen.append(a[0]) or real(*a, **m)
    )
    model = written(SUM, HELD)
    model.graph.output[0].type.tensor_type.shape.dim.add().dim_param = "batch"
    model.graph.output[0].type.tensor_type.shape.dim.add().dim_value = 2
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    imported(tmp_path / "model.onnx")
    assert [type(given) for given in seen] == [bytes]


HUGE = 10**12
BOMBS = {
    "a constant of a shape": (
        [op("ConstantOfShape", "s", "c"), op("Add", "x c")],
        {"s": ints([HUGE, 1])},
    ),
    "a constant stretched": (
        [op("Expand", "o s", "c"), op("Add", "x c")],
        {"o": np.ones(1), "s": ints([HUGE, 1])},
    ),
    "a constant repeated": (
        [op("Tile", "o s", "c"), op("Add", "x c")],
        {"o": np.ones(9), "s": ints([HUGE])},
    ),
    "a range": (
        [op("Range", "a b d", "c"), op("Add", "x c")],
        {"a": ints(0.0), "b": ints(1e12), "d": ints(1.0)},
    ),
    "a constant padded": (
        [op("Pad", "o s", "c"), op("Add", "x c")],
        {"o": np.ones(9), "s": ints([0, HUGE])},
    ),
    "an outer product": (
        [op("MatMul", "o p", "c"), op("ReduceSum", "c", "r", keepdims=0), op("Add", "x r")],
        {"o": np.ones((100_000, 1)), "p": np.ones((1, 100_000))},
    ),
    "an outer sum": (
        [op("Add", "o p", "c"), op("ReduceSum", "c", "r", keepdims=0), op("Add", "x r")],
        {"o": np.ones((100_000, 1)), "p": np.ones((1, 100_000))},
    ),
    "rows taken again and again": (
        [op("Gather", "o i", "c"), op("ReduceSum", "c", "r", keepdims=0), op("Add", "x r")],
        {"o": np.ones((1, 100_000)), "i": np.zeros(100_000, dtype=np.int64)},
    ),
    "the text stretched": ([op("Expand", "x s")], {"s": ints([HUGE, 1, 1])}),
    "the text repeated": ([op("Tile", "x s")], {"s": ints([1, 1, HUGE])}),
    "the text padded": ([op("Pad", "x s")], {"s": ints([0, 0, 0, 0, 0, HUGE])}),
    "a convolution's padding": ([op("Conv", "x w", pads=[0, HUGE])], {"w": array(1, WIDTH, 1)}),
    "a pool's padding": (
        [op("AveragePool", "x", kernel_shape=[2], pads=[0, HUGE], count_include_pad=1)],
        {},
    ),
    "sums of all words, many times": (
        [op("ReduceSum", "x", "r", keepdims=1), op("Expand", "r s")],
        {"s": ints([1, 2048, 2048])},
    ),
    "an operator of other sizes": (
        [op("HannWindow", "n", "c"), op("Add", "x c")],
        {"n": ints(HUGE)},
    ),
}


@pytest.mark.parametrize(("nodes", "constants"), BOMBS.values(), ids=BOMBS.keys())
def test_what_would_take_all_memory_is_refused_before_it_is_made(nodes, constants):
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=r"numbers at once|are known here"):
            imported(around(nodes, constants, size=WIDTH))
        assert tracemalloc.get_traced_memory()[1] < 400 * 2**20
    finally:
        tracemalloc.stop()


def test_operators_that_the_answer_does_not_need_are_not_run():
    """onnxruntime would compute the constant when it opens the file."""
    bomb = [op("ConstantOfShape", "s", "c"), op("Add", "c c", "unused")]
    assert (
        imported(written([*bomb, *SUM], {**HELD, "s": ints([HUGE])})).digest
        == imported(written(SUM, HELD)).digest
    )


def test_sparse_tensors_are_refused():
    model = written(SUM, HELD)
    values = numpy_helper.from_array(np.ones(1), "sparse")
    places = numpy_helper.from_array(np.zeros(1, dtype=np.int64), "places")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [HUGE]))
    with pytest.raises(ModelError, match="holds sparse tensors"):
        imported(model)


def test_functions_that_call_functions_twice_each_are_refused():
    """Forty functions would be 2^40 operators when written out."""
    opset = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    functions = [
        helper.make_function(
            "own", "f0", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], opset
        )
    ]
    for number in range(1, 40):
        inner = [
            helper.make_node(f"f{number - 1}", ["a"], ["m"], domain="own"),
            helper.make_node(f"f{number - 1}", ["m"], ["b"], domain="own"),
        ]
        functions.append(helper.make_function("own", f"f{number}", ["a"], ["b"], inner, opset))
    model = around([op("Relu", "x")])
    model.graph.node[2].op_type = "f39"
    model.graph.node[2].domain = "own"
    model.functions.extend(functions)
    model.opset_import.append(helper.make_opsetid("own", 1))
    with pytest.raises(ModelError, match="more than 100000 operators when written out"):
        imported(model)


@pytest.mark.parametrize("length", [2**20 + 1, 10**12])
def test_a_length_beyond_any_text_is_refused(length):
    with pytest.raises(ModelError, match=f"A text of {length} words is too long"):
        imported(written(SUM, HELD, shape=("batch", length)), length=None)


def test_several_inputs_are_refused_with_the_way_to_ask_such_a_model():
    model = written(SUM, HELD)
    model.graph.input.append(
        helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ("batch", LENGTH))
    )
    with pytest.raises(ModelError, match=r"inputs words, attention_mask.*sf\.from_huggingface"):
        imported(model)


# --- files of real exporters ---


def exported(module, path, words, **more):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")  # the exporters' own
        torch.onnx.export(module, (words,), path, **more)


def networks():
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(2)

    class Kim(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(len(WORDS), 5, padding_idx=0)
            self.layers = nn.ModuleList(nn.Conv1d(5, 3, width) for width in (2, 3, 4))
            self.end = nn.Sequential(nn.Dropout(0.5), nn.Linear(9, 2))

        def forward(self, words):
            x = self.embedding(words).transpose(1, 2)
            found = [torch.relu(layer(x)).max(dim=2).values for layer in self.layers]
            return torch.log_softmax(self.end(torch.cat(found, 1)), dim=1)

    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(len(WORDS), 6)
            self.first = nn.Sequential(
                nn.Conv1d(6, 4, 3, padding=1), nn.BatchNorm1d(4), nn.GELU(), nn.AvgPool1d(2)
            )
            self.second = nn.Sequential(
                nn.Conv1d(4, 4, 3, padding=1), nn.SiLU(), nn.LeakyReLU(0.1), nn.ReLU6()
            )
            self.end = nn.Sequential(
                nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(4, 4), nn.ELU(), nn.Linear(4, 1)
            )

        def forward(self, words):
            x = self.first(self.embedding(words).permute(0, 2, 1))
            return torch.sigmoid(self.end(x + self.second(x).clamp(max=0.8))).squeeze(1)

    return torch, {"kim": Kim().eval(), "mixed": Mixed().eval()}


@pytest.mark.parametrize("name", ["kim", "mixed"])
@pytest.mark.parametrize("dynamo", [True, False], ids=["dynamo", "legacy"])
def test_files_of_torch_give_the_scores_of_the_module(name, dynamo, tmp_path):
    torch, modules = networks()
    words = torch.zeros(1, LENGTH, dtype=torch.long)
    more = {} if dynamo else {"opset_version": 17}
    exported(modules[name], tmp_path / "model.onnx", words, dynamo=dynamo, **more)
    classifier = imported(tmp_path / "model.onnx", length=None)
    again = sf.from_torch(modules[name], vocabulary=WORDS, labels=LABELS, length=LENGTH)
    rows = random_rows(classifier, 50, seed=9)
    assert np.abs(scores_of(classifier, rows) - scores_of(again, rows)).max() < 1e-6
    if name == "kim":
        result = sf.explain(classifier, "w1 w2 w3 w4 w5", perturbation=sf.KNNBox(k=2))
        assert result.status == "optimal"
        assert sf.check(result.certificate, classifier)


def random_network(rng):
    """A network as users write them, of parts that exporters write in many operators, with weights
    at random.
    """
    torch = pytest.importorskip("torch")
    nn = torch.nn
    width, hidden = int(rng.integers(2, 6)), int(rng.integers(2, 7))

    def there(words):
        return (words != 0).unsqueeze(-1)

    def spread(words, x):
        mask = there(words).expand(x.size()).float()
        return (x * mask).sum(1) / torch.clamp(mask.sum(1), min=1e-9)

    means = [
        lambda words, x: (x * there(words)).sum(1) / there(words).sum(1),
        lambda words, x: (
            (x * there(words).float()).sum(1) / there(words).float().sum(1).clamp(min=1)
        ),
        spread,
        lambda words, x: (
            x.masked_fill(~there(words), 0.0).sum(1)
            / (words != 0).sum(1, keepdim=True).clamp(min=1)
        ),
        lambda words, x: (
            torch.einsum("bl,bld->bd", (words != 0).float(), x)
            / (there(words).float().sum(1) + 1e-8)
        ),
        lambda words, x: (
            torch.where(there(words), x, 0.0).sum(1)
            / torch.maximum(there(words).sum(1), torch.ones(()))
        ),
    ]
    bends = [nn.ReLU, nn.LeakyReLU, nn.ReLU6, nn.Hardtanh]
    smooth = [lambda: nn.Softplus(beta=float(rng.uniform(0.5, 4))), nn.Softplus, nn.SiLU, nn.Tanh]

    class Random(nn.Module):
        def __init__(self):
            super().__init__()
            self.kind = str(rng.choice(["mask", "bag", "einsum"]))
            self.embedding = nn.Embedding(len(WORDS), width)
            self.bag = nn.EmbeddingBag(
                len(WORDS), width, mode=str(rng.choice(["mean", "sum", "max"]))
            )
            self.weight = nn.Parameter(torch.randn(width, width))
            self.mean = means[rng.integers(len(means))]
            between = rng.choice(bends if self.kind == "mask" else [*bends, *smooth])
            self.end = nn.Sequential(
                nn.Linear(width, hidden), between(), nn.Linear(hidden, int(rng.integers(1, 4)))
            )

        def forward(self, words):
            if self.kind == "bag":
                return self.end(self.bag(words))
            x = self.embedding(words)
            if self.kind == "mask":
                return self.end(self.mean(words, x))
            return self.end(
                torch.einsum("bld,dh->bhl", x, self.weight).amax(2) + torch.einsum("bld->bd", x)
            )

    torch.manual_seed(int(rng.integers(2**31)))
    return torch, Random().eval()


@pytest.mark.parametrize("dynamo", [True, False], ids=["dynamo", "legacy"])
@pytest.mark.parametrize("seed", range(14))
def test_random_networks_come_through_both_exporters(seed, dynamo, tmp_path):
    """With the numbers in a file beside, as the exporter writes them unless it is told
    otherwise.
    """
    torch, module = random_network(np.random.default_rng(seed))
    words = torch.arange(LENGTH)[None]
    exported(module, tmp_path / "model.onnx", words, dynamo=dynamo)
    with torch.no_grad():
        outputs = module(words).shape[1]
    found = imported(
        tmp_path / "model.onnx", labels=["a", "b", "c"][: max(outputs, 2)], length=None
    )
    rows = random_rows(found, 50, seed=seed)
    times = np.maximum((rows != 0).sum(1), 1)[:, None] if module.kind == "mask" else 1
    ours = scores_of(found, rows)[:, -outputs:] / times
    with torch.no_grad():
        theirs = np.stack([module(torch.as_tensor(row[None])).numpy()[0] for row in rows])
    some = (rows != 0).any(1)
    assert np.abs(ours - theirs)[some].max() < 1e-4 * max(1, np.abs(theirs[some]).max())
    session = onnxruntime.InferenceSession(
        str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"]
    )
    name = session.get_inputs()[0].name
    file = np.stack([session.run(None, {name: row[None]})[0][0] for row in rows])
    known = np.isfinite(file).all(1)  # the newer exporter takes a hair, such as 1e-8, for nothing
    assert known[some].all()
    assert np.abs(ours - file)[known].max() < 1e-4 * max(1, np.abs(file[known]).max())
    assert not ours[~known].any()


def loop(turns, body_nodes):
    """A Loop that carries a sum from turn to turn."""
    ports = [
        ("turn", TensorProto.INT64, ()),
        ("going", TensorProto.BOOL, ()),
        ("total", TensorProto.DOUBLE, None),
    ]
    given = [helper.make_tensor_value_info(*port) for port in ports]
    made = [helper.make_tensor_value_info("still", TensorProto.BOOL, ())]
    made.append(helper.make_tensor_value_info("larger", TensorProto.DOUBLE, None))
    body = helper.make_graph(body_nodes, "body", given, made)
    return helper.make_node("Loop", [turns, "yes", "zeros"], ["sum"], name="the loop", body=body)


ADDING = [
    op("Identity", "going", "still"),
    op("Gather", "rows turn", "row", axis=1),
    op("Add", "total row", "larger"),
]
LOOPED = {
    "table": array(16, 2),
    "yes": np.array(True),
    "zeros": np.zeros((1, 2)),
    "turns": ints(LENGTH),
}


def test_a_loop_whose_turns_are_fixed_is_written_out():
    nodes = [SUM[0], loop("turns", ADDING), op("Identity", "sum", "scores")]
    found = imported(written(nodes, LOOPED))
    rows = random_rows(found, 50)
    assert np.abs(scores_of(found, rows) - LOOPED["table"][rows].sum(1)).max() < 1e-9


def test_a_loop_that_ends_where_a_text_does_is_refused_with_what_to_do():
    stop = [
        op("Gather", "words turn", "word", axis=1),
        op("Equal", "word none", "end"),
        op("Not", "end", "open"),
    ]
    stop += [op("Squeeze", "open", "still"), *ADDING[1:]]
    nodes = [SUM[0], loop("turns", stop), op("Identity", "sum", "scores")]
    with pytest.raises(
        ModelError,
        match=r"Loop at the loop .*by what the text is.*sf\.from_torch.*sf\.from_function",
    ):
        imported(written(nodes, {**LOOPED, "none": ints(0)}))


@pytest.mark.parametrize("turns", [10**5, 2**62])
def test_a_loop_of_very_many_turns_is_refused(turns):
    nodes = [
        SUM[0],
        loop("turns", [op("Identity", "going", "still"), op("Identity", "total", "larger")]),
    ]
    nodes += [op("ReduceSum", "rows axis", "all", keepdims=0), op("Add", "all sum", "scores")]
    with pytest.raises(ModelError, match="loops make more than 4096 operators when written out"):
        imported(written(nodes, {**LOOPED, "axis": ints([1]), "turns": ints(turns)}))


def test_loops_in_loops_share_one_limit():
    """Three of a hundred turns each are a million."""
    inner = [op("Identity", "going", "still"), op("Add", "total total", "larger")]
    for depth in range(3):
        nodes = loop("turns", inner)
        nodes.output[0] = f"sum{depth}"
        inner = [op("Identity", "going", "still"), nodes, op("Identity", f"sum{depth}", "larger")]
    nodes = [
        SUM[0],
        inner[1],
        op("ReduceSum", "rows axis", "all", keepdims=0),
        op("Add", "all sum2", "scores"),
    ]
    with pytest.raises(ModelError, match="loops make more than 4096 operators when written out"):
        imported(written(nodes, {**LOOPED, "axis": ints([1]), "turns": ints(100)}))


EINSUMS = {
    "a matrix": ("bdl,dh->bhl", array(WIDTH, 3)),
    "a matrix on the left": ("hd,bdl->bhl", array(3, WIDTH)),
    "dots": ("...l,lh->...h", array(LENGTH, 3)),
    "no arrow": ("bdl,lk", array(LENGTH, 3)),
    "along an axis": ("bdl,d->bdl", array(WIDTH)),
    "an axis summed away": ("bdl,dk->bk", array(WIDTH, 3)),
    "an outer product": ("bdl,k->bkdl", array(2)),
    "a stack of matrices": ("bdl,dlk->bdk", array(WIDTH, LENGTH, 2)),
    "spaces": (" b d l , d h -> b h l ", array(WIDTH, 3)),
}


@pytest.mark.parametrize("name", sorted(EINSUMS))
def test_an_einsum_of_two_factors(name):
    equation, factor = EINSUMS[name]
    pair = "w x" if "left" in name else "x w"
    assert_same(around([op("Einsum", pair, equation=equation)], {"w": factor}))


def test_an_einsum_of_one_value_or_of_a_diagonal():
    assert_same(around([op("Einsum", "x", equation="bdl->bl")]))
    square = [op("Slice", "x a b c", "s"), op("Einsum", "s", equation="bdd->bd")]
    with pytest.raises(ModelError, match=r"Einsum at the einsum .*takes a diagonal"):
        imported(around(square, {"a": ints([0]), "b": ints([WIDTH]), "c": ints([2])}, size=WIDTH))


@pytest.mark.parametrize("beta", [0.1, 0.5, 2.0, 3.7])
def test_softplus_of_any_sharpness_as_torch_writes_it(beta):
    """A choice by a comparison: it is a line far above zero, where softplus is one but for
    rounding.
    """
    nodes = [
        op("Mul", "x beta", "s"),
        op("Softplus", "s", "p"),
        op("Div", "p beta", "q"),
        op("Greater", "s far", "g"),
    ]
    held = {"beta": np.array(beta), "far": np.array(20.0)}
    assert_same(around([*nodes, op("Where", "g x q")], held))
    with pytest.raises(ModelError, match="cannot be imported"):
        imported(
            around(
                [*nodes, op("Where", "g x q")], {**held, "far": np.array(3.0)}, size=WIDTH * LENGTH
            )
        )


KERAS = """
import sys, warnings
warnings.simplefilter("ignore")
import keras, numpy as np
from keras import layers
keras.utils.set_random_seed(4)
model = keras.Sequential([
    keras.Input((10,), dtype="int32"), layers.Embedding(16, 6),
    layers.Conv1D(4, 3, activation="relu", padding="same"), layers.MaxPooling1D(2),
    layers.Conv1D(4, 2, activation="gelu"), layers.GlobalMaxPooling1D(),
    layers.Dense(4, activation="silu"), layers.Dense(2, activation="softmax"),
])
rows = np.random.default_rng(0).integers(16, size=(50, 10)).astype("int32")
np.savez(sys.argv[2], rows=rows, answers=model.predict(rows, verbose=0))
model.export(sys.argv[1], format="onnx", verbose=False)
"""


def test_the_file_of_keras_gives_the_answers_of_keras(tmp_path):
    """In a process of its own, as keras chooses its backend when it is loaded."""
    if importlib.util.find_spec("keras") is None:
        pytest.skip("keras is not installed")
    model = tmp_path / "model.onnx"
    data = tmp_path / "data.npz"
    environment = {**os.environ, "KERAS_BACKEND": "torch", "KERAS_HOME": str(tmp_path)}
    command = [sys.executable, "-c", KERAS, str(model), str(data)]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    classifier = imported(model)
    held = np.load(data)
    odds = np.exp(scores_of(classifier, held["rows"].astype(np.int64)))
    assert np.abs(odds / odds.sum(1, keepdims=True) - held["answers"]).max() < 1e-5

"""suffice import: from a file to a saved classifier in one command, and one line where that cannot
be.
"""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pytest

import suffice as sf
from suffice.cli import main

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

WORDS = ["<PAD>", "<UNK>", "good", "bad", "film", "plot"]
TABLE = np.array([[0, 0], [0, 0], [2, 0], [-2, 0], [0, 1], [0.5, 1]], dtype=np.float32)


def write_onnx(path, vectors=False):
    """The sum of the words' vectors, then a relu layer of two units, then two scores."""
    shape, kind = (
        (("batch", 4, 2), TensorProto.FLOAT) if vectors else (("batch", 4), TensorProto.INT64)
    )
    given = helper.make_tensor_value_info("words", kind, shape)
    output = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ("batch", 2))
    rows = "words" if vectors else "rows"
    nodes = [
        helper.make_node("ReduceSum", [rows, "axis"], ["sum"], keepdims=0),
        helper.make_node("Relu", ["sum"], ["active"]),
        helper.make_node("Gemm", ["active", "weight"], ["scores"]),
    ]
    held = {"axis": np.array([1]), "weight": np.array([[-1, 1], [0.2, 0]], dtype=np.float32)}
    if not vectors:
        nodes.insert(0, helper.make_node("Gather", ["table", "words"], ["rows"]))
        held["table"] = TABLE
    constants = [numpy_helper.from_array(value, name) for name, value in held.items()]
    graph = helper.make_graph(nodes, "network", [given], [output], constants)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path
    )


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_onnx("model.onnx")
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return tmp_path


def run(capsys, *words):
    code = main(["import", *words])
    out, err = capsys.readouterr()
    return code, out, err


def refused(capsys, *words):
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("suffice: ")
    assert err.count("\n") == 1
    return err


ASKED = ("--labels", "no,yes", "--out", "folder")


def test_one_command_from_a_file_to_an_explanation(place, capsys):
    code, out, err = run(capsys, "model.onnx", "--vocabulary", "words.txt", *ASKED)
    assert (code, err) == (0, "")
    out = " ".join(out.split())  # lines end where the terminal does
    assert (
        "Imported model.onnx: no, yes; 4 words × 2 dimensions, 6 in the vocabulary, 2 relus." in out
    )
    assert "Compared with the original on 64 index rows (onnx " in out
    assert out.endswith("suffice explain TEXT --model folder")
    classifier = sf.load("folder")
    assert classifier.predict("a good film").label == "yes"
    assert classifier.predict("film film").label == "no"
    assert main(["explain", "good film", "--model", "folder", "--knn-box", "1"]) == 0


@pytest.mark.parametrize("content", [WORDS, {word: number for number, word in enumerate(WORDS)}])
def test_the_vocabulary_may_be_json(place, capsys, content):
    (place / "words.json").write_text(json.dumps(content), encoding="utf-8")
    assert run(capsys, "model.onnx", "--vocabulary", "words.json", *ASKED)[0] == 0
    assert sf.load("folder").vocabulary == tuple(WORDS)


def test_a_tokenizer_brings_its_words(place, capsys):
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<UNK>")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.normalizer = tokenizers.normalizers.Lowercase()
    made.save("tokenizer.json")
    assert run(capsys, "model.onnx", "--tokenizer", "tokenizer.json", *ASKED)[0] == 0
    assert sf.load("folder").read("A GOOD film").indices[:3] == (1, 2, 4)


def test_vectors_bring_their_words(place, capsys):
    write_onnx("vectors.onnx", vectors=True)
    lines = [
        f"{word} {' '.join(map(str, row))}" for word, row in zip(WORDS[2:], TABLE[2:], strict=True)
    ]
    (place / "glove.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run(capsys, "vectors.onnx", "--embedding", "glove.txt", *ASKED)[0] == 0
    classifier = sf.load("folder")
    assert classifier.predict("good film").label == "yes"
    assert "vocabulary out" in refused(
        capsys, "vectors.onnx", "--embedding", "glove.txt", "--vocabulary", "words.txt", *ASKED
    )


def test_a_file_of_torch(place, capsys):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layers = torch.nn.Sequential(
        torch.nn.Embedding(6, 2), torch.nn.Flatten(), torch.nn.Linear(8, 2)
    ).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch's own, about its own insides
        program = torch.export.export(layers, (torch.zeros(1, 4, dtype=torch.long),))
    torch.export.save(program, "model.pt2")
    code, out, _ = run(capsys, "model.pt2", "--vocabulary", "words.txt", *ASKED)
    assert code == 0
    assert "(torch " in out
    assert sf.load("folder").length == 4


# of Keras about NumPy
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_a_file_of_keras(place, capsys):
    keras = pytest.importorskip("keras")
    made = [keras.Input((4,), dtype="int32"), keras.layers.Embedding(6, 2), keras.layers.Flatten()]
    keras.Sequential([*made, keras.layers.Dense(2)]).save("model.keras")
    assert run(capsys, "model.keras", "--vocabulary", "words.txt", *ASKED)[::2] == (0, "")
    assert sf.load("folder").length == 4


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("model.pkl", "loading a pickle runs whatever code is in it.*sf.from_sklearn"),
        ("model.joblib", "sf.from_sklearn"),
        ("model.pt", "torch.export.save"),
        ("model.pth", "sf.from_torch"),
        ("model.safetensors", "weights only"),
        ("model.doc", "of no known kind"),
        ("none.onnx", "There is no file 'none.onnx'"),
        ("none.keras", "There is no file 'none.keras'"),
        (
            "cc.en.300.bin",
            "cc.en.300.bin needs no import if it is a classifier of fastText.*--model FILE.bin",
        ),
    ],
)
def test_other_files_are_refused_in_one_line(place, capsys, name, reason):
    assert re.search(reason, refused(capsys, name, "--vocabulary", "words.txt", *ASKED))
    assert not (place / "folder").exists()


def test_what_is_missing_or_wrong_is_said(place, capsys):
    assert "--vocabulary FILE" in refused(capsys, "model.onnx", *ASKED)
    given = ["model.onnx", "--vocabulary", "words.txt", "--out", "folder"]
    assert "There are 3 labels" in refused(capsys, *given, "--labels", "a,b,c")
    assert "lacks '[PAD]'" in refused(capsys, *given, "--labels", "a,b", "--pad", "[PAD]")
    assert "takes texts of 4 words, not of 9" in refused(
        capsys, *given, "--labels", "a,b", "--length", "9"
    )
    assert "none.txt" in refused(capsys, "model.onnx", "--vocabulary", "none.txt", *ASKED)
    (place / "words.txt").write_text("\n".join(WORDS[:-1]), encoding="utf-8")
    assert "6 rows but the vocabulary has 5 words" in refused(capsys, *given, "--labels", "a,b")
    (place / "words.json").write_text("3", encoding="utf-8")
    assert "must hold a list of words" in refused(
        capsys, "model.onnx", "--vocabulary", "words.json", *ASKED
    )
    (place / "words.json").write_text("{", encoding="utf-8")
    assert "is not JSON" in refused(capsys, "model.onnx", "--vocabulary", "words.json", *ASKED)
    (place / "words.txt").write_bytes(b"\xff\xfe")
    assert "is not UTF-8" in refused(capsys, *given, "--labels", "a,b")
    assert not (place / "folder").exists()

"""Models that are asked: a pipeline of spaCy, and an ONNX file with several inputs; against all
allowed texts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import suffice as sf
from suffice.errors import ModelError
from tests.blackboxes import Truth, mask

TEXT = "a gripping film that never bores us"


def agrees(clf: sf.BlackBox, perturbation: sf.Perturbation) -> None:
    result = sf.explain(clf, TEXT, perturbation=perturbation)
    truth = Truth(sf.Question(clf, TEXT, perturbation=perturbation))
    assert result.status == "optimal"
    assert mask(result.positions) in truth.cheapest
    assert sf.check(result.certificate, clf).kind == "cheapest"


# --- spaCy ---


@pytest.fixture(scope="module")
def pipeline():
    spacy = pytest.importorskip("spacy")
    from spacy.training import Example

    nlp = spacy.blank("en")
    textcat = nlp.add_pipe(
        "textcat",
        config={
            "model": {
                "@architectures": "spacy.TextCatBOW.v3",
                "exclusive_classes": True,
                "length": 1024,
                "ngram_size": 1,
                "no_output_layer": False,
            }
        },
    )
    for label in ("bad", "good"):
        textcat.add_label(label)
    told = {
        "a gripping film": "good",
        "never dull": "good",
        "it bores us": "bad",
        "dull and long": "bad",
    }
    examples = [
        Example.from_dict(
            nlp.make_doc(text),
            {"cats": {"bad": float(label == "bad"), "good": float(label == "good")}},
        )
        for text, label in told.items()
    ]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples, sgd=optimizer)
    return nlp


def test_a_spacy_pipeline_is_asked_and_says_so(pipeline) -> None:
    clf = sf.from_spacy(pipeline)
    assert list(clf.labels) == ["bad", "good"]
    own = pipeline(TEXT).cats
    assert clf.predict(TEXT).label == max(own, key=own.get)
    assert any("not laid open" in note for note in clf.notes)
    agrees(clf, sf.Deletion(at_most=2))


def test_the_digest_of_a_pipeline_does_not_change_with_use(pipeline) -> None:
    before = sf.from_spacy(pipeline).digest
    pipeline("words that it has never seen before: zyzzyva")
    assert sf.from_spacy(pipeline).digest == before


def test_pipelines_without_one_exclusive_categoriser_are_refused() -> None:
    spacy = pytest.importorskip("spacy")
    with pytest.raises(ModelError, match="one textcat is needed"):
        sf.from_spacy(spacy.blank("en"))
    several = spacy.blank("en")
    several.add_pipe("textcat_multilabel")
    with pytest.raises(ModelError, match="a yes or no of its own"):
        sf.from_spacy(several)
    with pytest.raises(ModelError, match="not a str"):
        sf.from_spacy("en_core_web_sm")


# --- ONNX with several inputs ---


@pytest.fixture(scope="module")
def tokenizer():
    pytest.importorskip("transformers")
    pytest.importorskip("tokenizers")
    from test_huggingface import wordpiece

    return wordpiece()


@pytest.fixture(scope="module")
def file(tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sum of the vectors of the tokens that the mask keeps, squared, times weights: no network
    of ours.
    """
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    table = rng.standard_normal((len(tokenizer), 6))
    weight = rng.standard_normal((6, 3))
    axes = ["batch", "length"]
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
            helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
            helper.make_node("Mul", ["rows", "wide"], ["kept"]),
            helper.make_node("ReduceSum", ["kept", "middle"], ["sum"], keepdims=0),
            helper.make_node("Mul", ["sum", "sum"], ["squared"]),
            helper.make_node("MatMul", ["squared", "weight"], ["logits"]),
        ],
        "several",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, axes)
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 3])],
        [
            numpy_helper.from_array(table.astype(np.float32), "table"),
            numpy_helper.from_array(weight.astype(np.float32), "weight"),
            numpy_helper.from_array(np.array([2]), "last"),
            numpy_helper.from_array(np.array([1]), "middle"),
        ],
    )
    path = tmp_path_factory.mktemp("onnx") / "several.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    onnx.checker.check_model(str(path))
    return path


def test_an_onnx_file_with_several_inputs_is_asked(file: Path, tokenizer) -> None:
    clf = sf.from_huggingface(file, tokenizer, labels=["a", "b", "c"])
    assert clf.mask == "[MASK]"
    assert any("onnxruntime" in note for note in clf.notes)
    agrees(clf, sf.Deletion(at_most=2))
    agrees(clf, sf.Mask())


def test_an_onnx_file_is_fed_the_kind_of_numbers_that_it_declares(
    file: Path, tokenizer, tmp_path: Path
) -> None:
    """Keras on TensorFlow declares int32 where others declare int64."""
    import onnx

    model = onnx.load(str(file))
    for entry in model.graph.input:
        entry.type.tensor_type.elem_type = onnx.TensorProto.INT32
    (tmp_path / "small.onnx").write_bytes(model.SerializeToString())
    whole = sf.from_huggingface(file, tokenizer, labels=["a", "b", "c"])
    small = sf.from_huggingface(tmp_path / "small.onnx", tokenizer, labels=["a", "b", "c"])
    assert np.array_equal(small.scores([TEXT]), whole.scores([TEXT]))


def test_of_the_files_beside_an_onnx_file_only_its_own_numbers_are_read(
    file: Path, tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """onnxruntime alone, given bytes, would look for any name in the folder that the program runs
    in.
    """
    import onnx

    monkeypatch.chdir(tmp_path)

    def asked(location: str) -> sf.BlackBox:
        more = {"save_as_external_data": True, "size_threshold": 0}
        onnx.save(onnx.load(str(file)), "model.onnx", location=location, **more)
        return sf.from_huggingface("model.onnx", tokenizer, labels=["a", "b", "c"])

    with pytest.raises(
        ModelError, match=r"lie in 'secret', and of other files only 'model\.onnx\.data'"
    ):
        asked("secret")
    found = asked("model.onnx.data")
    whole = sf.from_huggingface(file, tokenizer, labels=["a", "b", "c"])
    assert np.array_equal(found.scores([TEXT]), whole.scores([TEXT]))
    data = bytearray(Path("model.onnx.data").read_bytes())
    data[0] ^= 1
    Path("model.onnx.data").write_bytes(data)
    assert (
        sf.from_huggingface("model.onnx", tokenizer, labels=["a", "b", "c"]).digest != found.digest
    )


def test_what_an_onnx_file_lacks_is_said(file: Path, tokenizer) -> None:
    with pytest.raises(ModelError, match="neither its tokenizer nor its labels"):
        sf.from_huggingface(file, tokenizer)
    with pytest.raises(ModelError, match="attention_mask is missing"):
        sf.from_huggingface(file, lambda texts: {"input_ids": [[1]]}, labels=["a", "b", "c"])
    with pytest.raises(ModelError, match=r"sf\.from_huggingface"):
        sf.from_onnx(file, ["<PAD>", "<UNK>"], ["a", "b", "c"])


# --- Model2Vec ---


def static(activation: str):
    pytest.importorskip("model2vec")
    from model2vec import StaticModel
    from model2vec.inference import StaticModelPipeline
    from model2vec.inference.mlp import Activation, Layer, MLPHead
    from tokenizers import Tokenizer, models, pre_tokenizers

    rng = np.random.default_rng(1)
    words = {word: i for i, word in enumerate(["[UNK]", *TEXT.split(), "dull"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    model = StaticModel(rng.normal(size=(len(words), 6)).astype(np.float32), tokenizer)
    layer = Layer(
        weight=rng.normal(size=(2, 6)).astype(np.float32), bias=np.zeros(2, dtype=np.float32)
    )
    return StaticModelPipeline(
        model, MLPHead([layer], Activation(activation), np.array(["bad", "good"]))
    )


def test_a_pipeline_of_model2vec_is_asked_and_says_so() -> None:
    pipeline = static("softmax")
    clf = sf.from_sklearn(pipeline)
    assert clf.name == "Model2Vec's StaticModelPipeline"
    assert clf.notes == (
        "Asked as a function, not laid open: Model2Vec averages vectors of sub-words, and "
        "divides by the length of the "
        "mean.",
    )
    assert clf.predict(TEXT).label == pipeline.predict([TEXT])[0]
    assert sf.from_sklearn(pipeline).digest == clf.digest
    agrees(clf, sf.Deletion())


def test_a_pipeline_of_model2vec_with_several_labels_per_text_is_refused() -> None:
    with pytest.raises(
        ModelError, match="Model2Vec's StaticModelPipeline gives several labels to one text"
    ):
        sf.from_sklearn(static("sigmoid"))

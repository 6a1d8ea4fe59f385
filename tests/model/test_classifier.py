"""Classifier: predictions, the folder on disk, the digest, and folders that are damaged."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
import pickle
import re
import shutil
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from helpers import make_classifier, make_text
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import suffice as sf
from suffice.errors import InputError, ModelError
from suffice.model import step as networks
from suffice.model.classifier import Classifier, _reading_parts
from suffice.model.network import (
    AvgPool,
    Conv1d,
    Conv2d,
    Dense,
    Flatten,
    Grid,
    MaxPool,
    Mean,
    Network,
    Relu,
    Step,
    Transpose,
)
from suffice.model.saved import BUNDLED, bundled, load
from suffice.model.tokenizers import HuggingFace, Pattern

SOME = settings(max_examples=40)


def convolutional(seed: int = 0, shape: tuple[int, int] = (9, 2), more: int = 0) -> Classifier:
    """A classifier with convolution, max-pooling and more dense layers, whose first step is mostly
    zeros.
    """
    rng = np.random.default_rng(seed)
    layers = [
        Transpose(),
        Conv1d(rng.normal(size=(3, 2, 2)), rng.normal(size=3)),
        Relu(),
        MaxPool((3,), (2,)),
    ]
    for _ in range(more):
        layers += [Dense(rng.normal(size=(9, 9)), rng.normal(size=9)), Relu()]
    dense = Dense(rng.normal(size=(3, 9)), rng.normal(size=3))
    return replaced(
        make_classifier(seed, *shape, classes=3), network=Network.build([*layers, dense], shape)
    )


def on_a_grid(seed: int = 0) -> Classifier:
    rng = np.random.default_rng(seed)
    layers = [
        Grid(3, 3),
        Conv2d(rng.normal(size=(4, 2, 2, 2)), rng.normal(size=4), padding=1),
        Relu(),
    ]
    top = [
        MaxPool((2, 2)),
        AvgPool(),
        Flatten(),
        Dense(rng.normal(size=(2, 4)), rng.normal(size=2)),
    ]
    return replaced(make_classifier(seed, 9, 2), network=Network.build([*layers, *top], (9, 2)))


def averaging(seed: int = 0) -> Classifier:
    rng = np.random.default_rng(seed)
    layers = [Mean(), Dense(rng.normal(size=(6, 2)), rng.normal(size=6)), Relu()]
    top = Dense(rng.normal(size=(2, 6)), rng.normal(size=2))
    return replaced(make_classifier(seed, 9, 2), network=Network.build([*layers, top], (9, 2)))


def replaced(classifier: Classifier, **changes: Any) -> Classifier:
    return dataclasses.replace(classifier, **changes)


# --- predictions ---


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(2, 7))
@SOME
def test_a_prediction_holds_the_scores_their_softmax_and_the_lead(seed, length, classes):
    classifier = make_classifier(seed, length=length, classes=classes)
    words = make_text(seed, length)
    prediction = classifier.predict(words)
    scores = classifier.network.forward(classifier.embed(classifier.read(words)).ravel())
    assert prediction.scores == tuple(scores.tolist())
    best = prediction.scores.index(max(prediction.scores))
    assert prediction.label == f"label{best}"
    assert prediction.margin == pytest.approx(max(scores) - sorted(scores)[-2], abs=1e-12)
    assert prediction.margin >= 0
    assert math.fsum(prediction.probabilities) == pytest.approx(1, abs=1e-12)
    odds = [math.exp(score - scores[0]) for score in scores]
    np.testing.assert_allclose(prediction.probabilities, np.array(odds) / sum(odds), rtol=1e-9)


def test_scores_too_large_for_exp_still_have_probabilities():
    classifier = make_classifier(0)
    last = classifier.network.steps[-1]
    huge = Step(last.weight, np.array([2000.0, -2000.0]), last.relu)
    classifier = replaced(classifier, network=Network((*classifier.network.steps[:-1], huge)))
    assert classifier.predict("word1").probabilities == (1.0, 0.0)


def test_a_text_that_was_read_predicts_as_the_string_does(tiny):
    text = tiny.read("Word1 word2, word3")
    assert (
        tiny.predict(text)
        == tiny.predict("Word1 word2, word3")
        == tiny.predict_input(tiny.embed(text))
    )


def test_words_are_embedded_by_their_row_and_padding_and_unknown_words_by_theirs(tiny):
    rows = tiny.embed(tiny.read("word3 nowhere"))
    np.testing.assert_array_equal(rows, tiny.table[[5, 1, 0, 0]])


def test_a_classifier_prints_as_one_line(tiny):
    assert repr(tiny) == "<Classifier label0, label1: 4 words × 3, 10 in the vocabulary, 5 relus>"


def test_an_unknown_label_is_named_with_those_there_are(tiny):
    assert tiny.label_index("label1") == 1
    with pytest.raises(InputError, match="'joy' is unknown: this classifier has label0, label1"):
        tiny.label_index("joy")


def test_the_caller_may_change_the_embedding_afterwards_without_harm():
    table = np.random.default_rng(0).normal(size=(10, 3))
    classifier = replaced(make_classifier(0), embedding=table)
    before = classifier.predict("word1")
    table[:] = 0
    assert classifier.predict("word1") == before


# --- parts that do not fit ---

misfits: dict[str, tuple[dict[str, Any], str]] = {
    "too few rows": (
        {"embedding": np.zeros((3, 3))},
        "embedding has shape .* vocabulary has 10 words",
    ),
    "a flat embedding": ({"embedding": np.zeros(10)}, "embedding has shape"),
    "a NaN": ({"embedding": np.full((10, 3), math.nan)}, "not a finite number"),
    "an infinity": ({"embedding": np.full((10, 3), math.inf)}, "not a finite number"),
    "other dimensions": (
        {"embedding": np.zeros((10, 2))},
        "network takes 12 numbers, but 4 words × 2",
    ),
    "other length": ({"length": 5}, "network takes 12 numbers, but 5 words × 3"),
    "no length": ({"length": 0}, "positive whole number"),
    "a broken length": ({"length": 4.0}, "positive whole number"),
    "a word twice": ({"vocabulary": ["<PAD>", "<UNK>", *["same"] * 8]}, "a word twice"),
    "a number as word": ({"vocabulary": ["<PAD>", "<UNK>", *range(8)]}, "must be a string"),
    "a line break": ({"vocabulary": ["<PAD>", "<UNK>", "a\nb", *"cdefghi"]}, "line breaks"),
    "no padding": ({"pad": "<NONE>"}, "lacks '<NONE>'"),
    "no unknown": ({"unknown": "<NONE>"}, "lacks '<NONE>'"),
    "too few labels": ({"labels": ["only"]}, "1 different labels for 2 outputs"),
    "too many labels": ({"labels": ["a", "b", "c"]}, "3 different labels for 2 outputs"),
    "a label twice": ({"labels": ["a", "a"]}, "1 different labels for 2 outputs"),
    "a label twice among three": ({"labels": ["a", "b", "a"]}, "different labels for 2 outputs"),
    "no labels": ({"labels": [None, "a"]}, "must be a string"),
    "labels that are called alike": ({"labels": [1, "1"]}, "1 different labels for 2 outputs"),
}


@pytest.mark.parametrize(("changes", "message"), misfits.values(), ids=misfits.keys())
def test_parts_that_do_not_fit_are_refused(tiny, changes, message):
    with pytest.raises(ModelError, match=message):
        replaced(tiny, **changes)


# --- the folder ---

kinds: list[Callable[[int], Classifier]] = [make_classifier, convolutional, on_a_grid, averaging]


@pytest.mark.parametrize("make", kinds, ids=lambda make: make.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_a_saved_classifier_comes_back_bit_for_bit(make, seed, tmp_path):
    classifier = replaced(make(seed), meta={"data": "none", "accuracy": {"test": 0.5}})
    classifier.save(tmp_path / "deep" / "folder")
    again = load(tmp_path / "deep" / "folder")
    assert again.digest == classifier.digest
    assert again.meta == classifier.meta
    assert (again.labels, again.vocabulary) == (classifier.labels, classifier.vocabulary)
    assert (again.length, again.pad, again.unknown) == (
        classifier.length,
        classifier.pad,
        classifier.unknown,
    )
    np.testing.assert_array_equal(again.table, classifier.table)
    for one, other in zip(again.network.steps, classifier.network.steps, strict=True):
        np.testing.assert_array_equal(one.dense(), other.dense())
        np.testing.assert_array_equal(one.bias, other.bias)
        np.testing.assert_array_equal(one.relu, other.relu)
    for text in range(10):
        words = make_text(text, classifier.length)
        assert again.predict(words).scores == classifier.predict(words).scores


def test_a_classifier_kept_sparse_comes_back_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(networks, "SPARSE_SIZE", 0)
    monkeypatch.setattr(networks, "SPARSE_DENSITY", 0.5)
    classifier = convolutional()
    classifier.save(tmp_path)
    again = load(tmp_path)
    assert not isinstance(again.network.steps[0].weight, np.ndarray)
    assert again.digest == classifier.digest == convolutional().digest
    for text in range(10):
        words = make_text(text, classifier.length)
        assert again.predict(words).scores == classifier.predict(words).scores


@pytest.mark.parametrize("places", [np.int32, np.int64])
def test_how_places_of_sparse_weights_are_held_changes_nothing_but_memory(places, monkeypatch):
    monkeypatch.setattr(networks, "SPARSE_SIZE", 0)
    monkeypatch.setattr(networks, "SPARSE_DENSITY", 1.1)
    classifier = make_classifier(3)
    first, last = classifier.network.steps
    loose = scipy.sparse.csr_array(first.weight)
    loose.indices, loose.indptr = loose.indices.astype(places), loose.indptr.astype(places)
    network = Network((dataclasses.replace(first, weight=loose), last))
    same = dataclasses.replace(classifier, network=network)
    assert same.network.steps[0].weight.indices.dtype == np.int32
    assert same.digest == classifier.digest


def test_steps_that_are_mostly_zeros_are_stored_as_csr(tmp_path):
    convolutional().save(tmp_path)
    stored = load_file(tmp_path / "weights.safetensors")
    assert {
        f"step0.weight.{part}" for part in ("data", "indices", "indptr", "shape")
    } <= stored.keys()
    assert "step0.weight" not in stored
    assert stored["step0.weight.indices"].dtype == np.uint8


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_weights_of_short_numbers_are_stored_as_such_and_read_exactly(kind, tmp_path):
    classifier = make_classifier(0)
    short = replaced(classifier, embedding=classifier.table.astype(kind))
    short.save(tmp_path)
    stored = load_file(tmp_path / "weights.safetensors")
    assert (stored["embedding"].dtype, stored["step0.weight"].dtype) == (kind, np.float64)
    assert load(tmp_path).digest == short.digest


@pytest.mark.parametrize("value", [-0.0, 5e-324, 1e38, -(2.0**-130), 0.1])
def test_odd_numbers_survive_the_folder(value, tmp_path):
    weight = np.zeros((4, 12))
    weight[1, 2] = value
    first = Step(weight, np.array([value, 1.0, 2.0, -0.0]), np.ones(4, dtype=bool))
    last = Step(np.ones((2, 4)), np.zeros(2), np.zeros(2, dtype=bool))
    classifier = replaced(make_classifier(0), network=Network((first, last)))
    classifier.save(tmp_path)
    assert load(tmp_path).network.steps[0].dense()[1, 2] == value


def test_words_in_any_script_survive_the_folder(tmp_path):
    words = ["naïve", "日本", "שלום", "🙂", "a b", " ", "\u2028", "e\u0301"]
    classifier = replaced(
        make_classifier(0), vocabulary=["<PAD>", "<UNK>", *words], labels=["böse", "gut"]
    )
    classifier.save(tmp_path)
    assert load(tmp_path).vocabulary[2:] == tuple(words)
    assert load(str(tmp_path)).labels == ("böse", "gut")


@pytest.mark.parametrize("make", kinds, ids=lambda make: make.__name__)
def test_the_folder_can_be_read_without_suffice(make, tmp_path):
    """The format in twenty lines: anyone with safetensors and JSON can run a saved classifier."""
    classifier = make(1)
    classifier.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "classifier.json",
        "vocabulary.txt",
        "weights.safetensors",
    }
    header = json.loads((tmp_path / "classifier.json").read_text(encoding="utf-8"))
    words = (tmp_path / "vocabulary.txt").read_text(encoding="utf-8").splitlines()
    tensors = load_file(tmp_path / "weights.safetensors")

    values = tensors["embedding"][
        [words.index("word2")] + [words.index(header["pad"])] * (header["length"] - 1)
    ]
    values = values.astype(np.float64).ravel()
    for place, relu in enumerate(header["relu"]):
        name = f"step{place}.weight"
        if name in tensors:
            weight = tensors[name]
        else:
            weight = np.zeros(tensors[f"{name}.shape"])
            bounds = tensors[f"{name}.indptr"].astype(int)
            for row, (start, end) in enumerate(itertools.pairwise(bounds)):
                weight[row, tensors[f"{name}.indices"][start:end]] = tensors[f"{name}.data"][
                    start:end
                ]
        values = weight @ values + tensors[f"step{place}.bias"]
        values[relu] = np.maximum(values[relu], 0)
        for first, *others in header.get("maxima", [[]] * len(header["relu"]))[place]:
            values[first] = values[[first, *others]].max()
            values[others] = 0

    prediction = classifier.predict("word2")
    np.testing.assert_allclose(values, prediction.scores, rtol=1e-12)
    assert header["labels"][values.argmax()] == prediction.label
    assert (header["format"], header["tokenizer"], header["digest"]) == (
        2,
        "words",
        classifier.digest,
    )


# --- the digest ---


@given(st.data())
@SOME
def test_the_digest_changes_with_any_number_of_the_classifier(data):
    classifier = make_classifier(0)
    steps = [
        Step(step.weight.copy(), step.bias.copy(), step.relu.copy())
        for step in classifier.network.steps
    ]
    table = classifier.table.copy()
    arrays = [table, *(array for step in steps for array in (step.weight, step.bias))]
    array = data.draw(st.sampled_from(arrays))
    place = data.draw(st.tuples(*(st.integers(0, n - 1) for n in array.shape)))
    same = replaced(classifier, embedding=table, network=Network(tuple(steps)))
    assert same.digest == classifier.digest
    array[place] = np.nextafter(array[place], np.inf)
    changed = replaced(classifier, embedding=table, network=Network(tuple(steps)))
    assert changed.digest != classifier.digest


def without_a_relu(network: Network) -> Network:
    first = network.steps[0]
    return Network((Step(first.weight, first.bias, first.relu & False), *network.steps[1:]))


vocabulary = make_classifier(0).vocabulary
changes: dict[str, dict[str, Any]] = {
    "a word": {"vocabulary": [*vocabulary[:-1], "other"]},
    "the order of words": {"vocabulary": [*vocabulary[:2], *reversed(vocabulary[2:])]},
    "a label": {"labels": ["label0", "other"]},
    "the order of labels": {"labels": ["label1", "label0"]},
    "the padding": {"pad": "word0"},
    "the unknown word": {"unknown": "word0"},
    "padding and unknown exchanged": {"pad": "<UNK>", "unknown": "<PAD>"},
    "the length": {"length": 6, "embedding": make_classifier(0).table[:, :2]},
    "a relu": {"network": without_a_relu(make_classifier(0).network)},
}


@pytest.mark.parametrize("changed", changes.values(), ids=changes.keys())
def test_the_digest_changes_with_anything_that_affects_a_prediction(tiny, changed):
    assert replaced(tiny, **changed).digest != tiny.digest


def test_the_digest_does_not_change_with_meta(tiny):
    assert replaced(tiny, meta={"data": "other"}).digest == tiny.digest


def by_hand(classifier: Classifier) -> str:
    """The digest as the docs describe it, for a classifier of dense steps with suffice's own
    tokenizer.
    """
    sha = hashlib.sha256()

    def add(part: bytes) -> None:
        sha.update(struct.pack("<Q", len(part)) + part)

    header = {
        "format": 2,
        "length": classifier.length,
        "pad": classifier.pad,
        "unknown": classifier.unknown,
    }
    add(json.dumps({**header, "tokenizer": "words"}, sort_keys=True).encode())
    add(b"")
    add(str(len(classifier.vocabulary)).encode())
    for word in classifier.vocabulary:
        add(word.encode())
    relu = [np.flatnonzero(step.relu).tolist() for step in classifier.network.steps]
    add(json.dumps({"labels": list(classifier.labels), "relu": relu}, sort_keys=True).encode())
    steps = classifier.network.steps
    for array in (classifier.table, *(part for step in steps for part in (step.weight, step.bias))):
        add(str(array.shape).encode())
        add(struct.pack(f"<{array.size}d", *array.ravel()))
    return sha.hexdigest()


@pytest.mark.parametrize("seed", range(3))
def test_the_digest_can_be_computed_without_suffice(seed):
    classifier = make_classifier(seed)
    assert classifier.digest == by_hand(classifier)


def test_the_digest_is_of_the_weights_however_they_are_kept(monkeypatch):
    classifier = convolutional()
    monkeypatch.setattr(networks, "SPARSE_SIZE", 1)
    loose = [
        Step(scipy.sparse.csr_array(s.dense()), s.bias, s.relu, s.curves)
        for s in classifier.network.steps
    ]
    dense = [Step(s.dense(), s.bias, s.relu, s.curves) for s in classifier.network.steps]
    made = [replaced(classifier, network=Network(tuple(steps))).digest for steps in (loose, dense)]
    assert made[0] == made[1]


def test_bytes_that_move_from_one_part_to_the_next_change_the_digest():
    """A word that reads like the shape and the numbers that come after it: with joined bytes these
    were the same.
    """
    tail = "(4, 2)" + "A" * 8

    def made(words: list[str], first: float) -> Classifier:
        network = Network.dense([(np.zeros((2, 2)), np.zeros(2))])
        table = np.full((len(words) + 2, 2), first)
        return Classifier(network, table, ["<PAD>", "<UNK>", *words], ["no", "yes"], 1)

    parts = [
        list(_reading_parts(made(words, 1.0))) for words in (["a", tail], ["a\u2028" + tail, "b"])
    ]
    # header, content, count, and each word by itself
    assert all(len(part) == 3 + 4 for part in parts)
    digests = {
        made(words, 1.0).digest
        for words in (["a", tail], ["a" + tail], ["a", tail, "b"], [tail, "a"])
    }
    assert len(digests) == 4


def test_the_content_of_a_tokenizer_is_part_of_the_digest(tiny):
    patterns = [
        Pattern(),
        Pattern(lowercase=False),
        Pattern(skip=("a", "b")),
        Pattern(skip=("ab",)),
        Pattern(once=True),
    ]
    huggers = [HuggingFace('{"a": 1}'), HuggingFace('{"a": 2}')]
    made = [
        replaced(tiny, tokenizer=how).digest
        for how in (*patterns, *huggers, str.split, str.splitlines)
    ]
    assert len({*made, tiny.digest}) == len(made) + 1


# --- weights stay as they are ---


@pytest.mark.parametrize("make", kinds, ids=lambda make: make.__name__)
def test_no_number_can_be_changed_after_the_digest_is_taken(make, tmp_path):
    made = make(0)
    made.save(tmp_path)
    for classifier in (made, load(tmp_path)):
        arrays = [
            classifier.embedding,
            *(array for step in classifier.network.steps for array in arrays_of(step)),
        ]
        for array in arrays:
            assert array.base is None
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def arrays_of(step: Step) -> list[np.ndarray]:
    sparse = scipy.sparse.issparse(step.weight)
    weights = (
        [step.weight.data, step.weight.indices, step.weight.indptr] if sparse else [step.weight]
    )
    return [*weights, step.bias, step.relu, *(units for _, units in step.curves)]


def test_the_caller_may_change_his_own_weights_without_harm():
    weight = np.ones((2, 4))
    bias = np.zeros(2)
    step = Step(weight, bias, np.zeros(2, dtype=bool))
    classifier = replaced(
        make_classifier(0, length=2, dimension=2), network=Network((step,)), length=2
    )
    before = classifier.predict("word1 word2").scores
    weight[:] = 7.0
    bias[:] = 9.0
    assert classifier.predict("word1 word2").scores == before
    assert weight.flags.writeable


# --- numbers beyond the arithmetic ---


@pytest.mark.parametrize("value", [2.0**129, -(2.0**1023), 1e300])
@pytest.mark.parametrize("where", ["embedding", "weight", "bias"])
def test_numbers_beyond_the_arithmetic_are_refused_when_made_and_when_loaded(
    value, where, tmp_path
):
    def with_value(large: float) -> Classifier:
        numbers = {"embedding": 1.0, "weight": 1.0, "bias": 1.0} | {where: large}
        step = Step(
            np.full((2, 2), numbers["weight"]), np.full(2, numbers["bias"]), np.zeros(2, dtype=bool)
        )
        table = np.full((3, 2), numbers["embedding"])
        return Classifier(Network((step,)), table, ["<PAD>", "<UNK>", "a"], ["no", "yes"], 1)

    with pytest.raises(ModelError, match=r"beyond 3.4e\+38 \(2\^128\) are refused"):
        with_value(value)
    with_value(2.0**128).save(tmp_path)
    tensors = load_file(tmp_path / "weights.safetensors")
    doubles = {name: array.astype(float) for name, array in tensors.items()}
    tensors = {name: np.where(array == 2.0**128, value, array) for name, array in doubles.items()}
    save_file(tensors, tmp_path / "weights.safetensors")
    with pytest.raises(ModelError, match=r"beyond 3.4e\+38"):
        load(tmp_path)


# --- folders that ask for more than they hold ---


def test_a_sparse_weight_is_not_made_larger_than_what_is_there(tmp_path):
    """A folder of some kilobytes that declares a weight of 30,000 × 30,000 has to hold 30,000
    biases for it.
    """
    size = 30_000
    convolutional().save(tmp_path)
    tensors = load_file(tmp_path / "weights.safetensors")
    tensors |= {
        "step0.weight.indptr": np.zeros(size + 1, dtype=np.int32),
        "step0.weight.shape": np.array([size, size]),
        "step0.weight.data": np.zeros(0),
        "step0.weight.indices": np.zeros(0, dtype=np.int32),
    }
    save_file(tensors, tmp_path / "weights.safetensors")
    with pytest.raises(ModelError, match=r"step0.weight declares a shape of"):
        load(tmp_path)


def test_a_large_empty_weight_is_never_made_dense(tmp_path):
    """The bomb of 361 KB: 30,000 × 30,000 zeros in CSR with all their biases would be 6.7 GiB as an
    array.
    """
    size = 30_000
    empty = scipy.sparse.csr_array((size, size))
    steps = (
        Step(empty, np.zeros(size), np.zeros(size, dtype=bool)),
        Step(scipy.sparse.csr_array((2, size)), np.zeros(2), np.zeros(2, dtype=bool)),
    )
    made = Classifier(Network(steps), np.zeros((2, 1)), ["<PAD>", "<UNK>"], ["no", "yes"], size)
    tracemalloc.start()
    made.save(tmp_path)
    loaded = load(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert loaded.digest == made.digest
    assert peak < 100 * 2**20


@pytest.mark.parametrize("length", [2**24 + 1, 10**12])
def test_a_text_that_would_take_all_memory_is_refused(length, tmp_path):
    made = make_classifier(0, length=1)
    made.save(tmp_path)
    first = made.network.steps[0]
    tensors = load_file(tmp_path / "weights.safetensors")
    tensors.pop("step0.weight")
    tensors |= {
        "step0.weight.indptr": np.zeros(len(first.bias) + 1, dtype=np.int32),
        "step0.weight.shape": np.array([len(first.bias), length * made.dimension]),
        "step0.weight.data": np.zeros(0),
        "step0.weight.indices": np.zeros(0, dtype=np.int32),
    }
    save_file(tensors, tmp_path / "weights.safetensors")
    header(length=length)(tmp_path)
    with pytest.raises(ModelError, match=r"declares a shape of|is too large"):
        load(tmp_path)
    with pytest.raises(ModelError, match=r"is too large|but the vocabulary|The network takes"):
        replaced(made, length=length)


def test_json_that_is_nested_without_end_is_refused(tmp_path):
    make_classifier(0).save(tmp_path)
    (tmp_path / "classifier.json").write_text('{"format": ' + "[" * 100_000)
    with pytest.raises(ModelError, match="damaged"):
        load(tmp_path)


# --- a text that another classifier has read ---


@pytest.mark.parametrize(
    "other",
    [
        {"vocabulary": ["<PAD>", "<UNK>", *reversed(vocabulary[2:])]},
        {"unknown": "word0"},
        {"tokenizer": Pattern()},
        {"tokenizer": Pattern(lowercase=False)},
    ],
    ids=["words in another order", "another unknown word", "another tokenizer", "another case"],
)
def test_a_text_read_by_another_classifier_is_refused(tiny, other):
    text = tiny.read("Word1 word2 a")
    for use in (replaced(tiny, **other).predict, replaced(tiny, **other).read):
        with pytest.raises(
            InputError, match=r"was read by another classifier.*give the string itself"
        ):
            use(text)


def test_a_text_of_another_length_is_refused(tiny):
    with pytest.raises(InputError, match="was read by another classifier"):
        make_classifier(0, length=tiny.length + 1).predict(tiny.read("word1"))


def test_a_text_is_shared_by_classifiers_that_read_alike(tiny):
    text = tiny.read("word1 word2")
    twin = replaced(make_classifier(5), vocabulary=tiny.vocabulary)
    assert twin.read(text) is text
    assert pickle.loads(pickle.dumps(text)).reader == tiny.reading


@pytest.mark.parametrize("given", ["Word1 nowhere, word2", ["word1", "WORD2"]])
def test_a_text_from_a_file_is_read_again(tiny, given):
    text = tiny.read(given)
    bare = dataclasses.replace(text, reader="")
    assert tiny.read(bare).reader == tiny.reading
    lie = dataclasses.replace(bare, indices=tuple(reversed(text.indices)))
    with pytest.raises(InputError, match="was read by another classifier"):
        tiny.read(lie)


# --- what is no text ---


class Own:
    pass


NO_TEXTS = {
    "none": None,
    "nan": math.nan,
    "a number": 3,
    "a number of numpy": np.int64(3),
    "a class": Own,
    "an object": Own(),
    "bytes": b"good film",
    "a set": {"good", "film"},
    "a dict": {"good": 1},
    "a generator": (word for word in ("good", "film")),
    "an array of strings": np.array(["good film", "bad film"]),
    "an array of objects": np.array(["good", None], dtype=object),
    "a column": pd.Series(["good film", "bad film"]),
    "a list with a text": ["good film", "bad film"],
    "a tuple with a text": ("good", "bad\nfilm"),
    "a list with none": ["good", None],
    "a list with nan": ["good", math.nan],
    "a list of lists": [["good"], ["film"]],
}


@pytest.mark.parametrize("given", NO_TEXTS.values(), ids=NO_TEXTS.keys())
@pytest.mark.parametrize("use", ["read", "predict", "explain"])
def test_what_is_no_text_is_refused_in_one_sentence(tiny, given, use):
    asked = (
        getattr(tiny, use)
        if use != "explain"
        else lambda text: sf.explain(tiny, text, perturbation=sf.Deletion())
    )
    with pytest.raises(InputError) as caught:
        asked(given)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert len(sentence) < 250


@pytest.mark.parametrize(
    "given", [["good film", "bad"], ("x y",), np.array(["a b"]), pd.Series(["a b", "c"])]
)
def test_many_texts_are_sent_to_batch(tiny, given):
    with pytest.raises(InputError, match=r"sf\.batch"):
        tiny.predict(given)


def test_strings_of_numpy_are_strings(tiny):
    words = [np.str_("word1"), np.str_("word2")]
    assert tiny.predict(words) == tiny.predict(["word1", "word2"])
    assert tiny.read(np.str_("word1 word2")) == tiny.read("word1 word2")


def test_the_digest_is_the_same_on_any_machine():
    classifier = Classifier(
        network=Network.dense([([[1.0, -2.0], [0.5, 0.25]], [0.0, 1.0])]),
        embedding=[[0.0], [0.0], [1.0]],
        vocabulary=["<PAD>", "<UNK>", "word"],
        labels=["no", "yes"],
        length=2,
    )
    assert classifier.digest == "3fc004c7d6e137aaf745c7443064cc0de5a491f4d8016b5e0b17c10e6fb8ffe1"


# --- folders that are damaged ---


def cut(name: str, share: float) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: int(len(content) * share)])

    return damage


def overwrite(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def header(**entries: Any) -> Callable[[Path], None]:
    """Change entries of classifier.json; None takes one away."""

    def damage(folder: Path) -> None:
        data = json.loads((folder / "classifier.json").read_text(encoding="utf-8")) | entries
        kept = {key: value for key, value in data.items() if value is not None}
        (folder / "classifier.json").write_text(json.dumps(kept), encoding="utf-8")

    return damage


def tensor(name: str, change: Callable[[np.ndarray], np.ndarray | None]) -> Callable[[Path], None]:
    """Change one tensor of weights.safetensors; None takes it away."""

    def damage(folder: Path) -> None:
        tensors = load_file(folder / "weights.safetensors")
        new = change(tensors.pop(name).copy())
        if new is not None:
            tensors[name] = np.ascontiguousarray(new)
        save_file(tensors, folder / "weights.safetensors")

    return damage


def put(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        array.flat[1] = value
        return array

    return change


damages: dict[str, tuple[Callable[[Path], None], str]] = {
    "weights cut in half": (cut("weights.safetensors", 0.5), "damaged"),
    "weights cut at the end": (cut("weights.safetensors", 0.999), "damaged"),
    "weights emptied": (cut("weights.safetensors", 0), "damaged"),
    "weights that are text": (overwrite("weights.safetensors", b"not weights at all"), "damaged"),
    "weights gone": (remove("weights.safetensors"), "damaged"),
    "header cut in half": (cut("classifier.json", 0.5), "damaged"),
    "header emptied": (cut("classifier.json", 0), "damaged"),
    "header that is a list": (overwrite("classifier.json", b"[1, 2]"), "damaged"),
    "header that is a number": (overwrite("classifier.json", b"1"), "damaged"),
    "header in other bytes": (overwrite("classifier.json", b"\xff\xfe\x00"), "damaged"),
    "header gone": (remove("classifier.json"), "There is no model"),
    "vocabulary cut": (cut("vocabulary.txt", 0.5), "vocabulary has"),
    "vocabulary emptied": (cut("vocabulary.txt", 0), "vocabulary has"),
    "vocabulary in other bytes": (overwrite("vocabulary.txt", b"\xff\xff\xff"), "damaged"),
    "vocabulary gone": (remove("vocabulary.txt"), "damaged"),
    "an older format": (
        header(format=1),
        "format 1 is of an older version.*; this version reads format 2",
    ),
    "a later format": (header(format=3), "format 3 is unknown here; this version reads format 2"),
    "no format": (header(format=None), "damaged"),
    "no labels": (header(labels=None), "damaged"),
    "labels that are a number": (header(labels=7), "damaged"),
    "a label too many": (header(labels=["a", "b", "c", "d"]), "4 different labels for 3 outputs"),
    "an edited label": (header(labels=["x", "label1", "label2"]), "digest does not match"),
    "no digest": (header(digest=None), "digest does not match"),
    "a length in words": (header(length="nine"), "positive whole number"),
    "another length": (header(length=8), "network takes 18 numbers, but 8 words × 2"),
    "another padding": (header(pad="word1"), "digest does not match"),
    "a padding that is no word": (header(pad="none"), "lacks 'none'"),
    "no relus": (header(relu=[[], [], [], []]), "digest does not match"),
    "relus beyond the units": (header(relu=[[10**6], [], [], []]), "damaged"),
    "fewer steps": (header(relu=[[]]), "damaged|labels|digest"),
    "more steps": (header(relu=[[]] * 9), "damaged"),
    "no steps": (header(relu=[], maxima=None), "at least two labels"),
    "relus that are no list": (header(relu=3), "damaged"),
    "no maxima": (header(maxima=None), "digest does not match"),
    "other maxima": (header(maxima=[[[0, 1]], [], [], []]), "digest does not match|maximum|two"),
    "maxima beyond the units": (header(maxima=[[[0, 10**6]], [], [], []]), "damaged|units"),
    "a unit in two maxima": (header(maxima=[[[0, 1], [1, 2]], [], [], []]), "two|twice|one"),
    "a maximum over nothing": (header(maxima=[[[]], [], [], []]), "over nothing"),
    "maxima that are no list": (header(maxima=3), "damaged"),
    "NaN in the embedding": (tensor("embedding", put(math.nan)), "not a finite number"),
    "NaN in a bias": (tensor("step1.bias", put(math.nan)), "not a finite number"),
    "NaN in a dense weight": (tensor("step3.weight", put(math.nan)), "not a finite number"),
    "NaN in a sparse weight": (tensor("step0.weight.data", put(math.nan)), "not a finite number"),
    "infinity in a weight": (tensor("step3.weight", put(-math.inf)), "not a finite number"),
    "an edited embedding": (tensor("embedding", put(0.5)), "digest does not match"),
    "an edited bias": (tensor("step0.bias", put(0.5)), "digest does not match"),
    "an edited dense weight": (tensor("step3.weight", put(0.5)), "digest does not match"),
    "an edited sparse weight": (tensor("step0.weight.data", put(0.5)), "digest does not match"),
    "no embedding": (tensor("embedding", lambda array: None), "damaged"),
    "no bias": (tensor("step0.bias", lambda array: None), "damaged"),
    "no indices": (tensor("step0.weight.indices", lambda array: None), "damaged"),
    "an embedding of other dimensions": (
        tensor("embedding", lambda a: a[:, :1]),
        "network takes 18 numbers",
    ),
    "a bias of other size": (tensor("step3.bias", lambda a: a[:2]), "Step 3 has a weight"),
    "a bias that is one number": (tensor("step3.bias", lambda a: a[:1]), "Step 3 has a weight"),
    "a weight of other size": (tensor("step3.weight", lambda a: a[:, :4]), "Step 3 takes 4 values"),
    "a weight without rows": (tensor("step3.weight", lambda a: a.ravel()), "Step 3 has a weight"),
    "fewer sparse weights": (tensor("step0.weight.data", lambda a: a[:3]), "damaged"),
    "a column out of range": (tensor("step0.weight.indices", put(200)), "damaged"),
    "rows out of order": (tensor("step0.weight.indptr", put(200)), "damaged"),
    "a shape of one axis": (tensor("step0.weight.shape", lambda a: a[:1]), "damaged"),
    "a shape of other size": (tensor("step0.weight.shape", put(7)), "damaged|values"),
}


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("intact")
    convolutional(more=2).save(folder)
    assert len(load(folder).network.steps) == 4
    assert load(folder).network.steps[0].maxima
    return folder


@pytest.mark.parametrize(("damage", "message"), damages.values(), ids=damages.keys())
def test_a_damaged_folder_is_refused_in_one_sentence(damage, message, intact, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(intact, folder)
    damage(folder)
    with pytest.raises(ModelError, match=message) as caught:
        load(folder)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize("name", ["classifier.json", "vocabulary.txt", "weights.safetensors"])
def test_a_flipped_bit_is_refused_or_does_no_harm(name, intact, tmp_path):
    """Wherever it is: the folder is refused, or the classifier predicts the very same."""
    folder = tmp_path / "model"
    shutil.copytree(intact, folder)
    content = (intact / name).read_bytes()
    expected = load(intact)
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.choice(len(content), size=min(100, len(content)), replace=False):
        flipped = bytearray(content)
        flipped[place] ^= 1 << rng.integers(8)
        (folder / name).write_bytes(flipped)
        try:
            classifier = load(folder)
        except ModelError:
            refused += 1
        else:
            assert classifier.digest == expected.digest
            assert classifier.predict("word1") == expected.predict("word1")
    assert refused > 50


def test_a_missing_model_is_refused_with_the_names_there_are():
    with pytest.raises(
        ModelError, match=r"There is no model 'no-such-model': give a folder"
    ) as caught:
        load("no-such-model")
    assert all(name in str(caught.value) for name in bundled())


def test_other_peoples_files_are_refused_with_the_way_in(tmp_path):
    (tmp_path / "net.onnx").touch()
    with pytest.raises(ModelError, match=r"brought in first, by  suffice import net.onnx"):
        load(tmp_path / "net.onnx")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(
        ModelError, match=rf"a transformer is named hf:{tmp_path} on the command line"
    ):
        load(tmp_path)


@pytest.mark.parametrize("name", ["", ".", "..", "a\0b", "x" * 5000])
def test_names_that_are_no_model_are_refused(name):
    with pytest.raises(ModelError, match="There is no model"):
        load(name)


# --- the models that come with the package ---

# Sentences of our own with the label each should get; a model may miss one.
SENTENCES = {
    "sst": [
        ("a wonderful , moving and beautifully acted film", "positive"),
        ("one of the best and funniest movies of the year", "positive"),
        ("a charming and touching story", "positive"),
        ("a dull , lifeless and boring mess", "negative"),
        ("the worst movie i have seen , a complete waste of time", "negative"),
        ("stupid , tedious and badly acted", "negative"),
    ],
    "imdb": [
        (
            (
                "A wonderful film, beautifully acted and very moving. I loved it and highly "
                "recommend it."
            ),
            "positive",
        ),
        (
            (
                "Excellent story, superb cast, perfect ending. One of my favorite movies, a great "
                "classic."
            ),
            "positive",
        ),
        (
            "This is an amazing, brilliant and touching film, the best I have seen in years.",
            "positive",
        ),
        (
            "Awful. The acting is terrible, the plot is stupid and boring. A waste of time.",
            "negative",
        ),
        (
            "The worst movie ever made, horrible and dull. Avoid it, do not waste your money.",
            "negative",
        ),
        ("Poorly written, badly acted and very disappointing. It was a terrible mess.", "negative"),
    ],
    "twitter": [
        ("thank you so much , this is awesome", "positive"),
        ("good morning everyone , have a great day", "positive"),
        ("i love this song , so happy", "positive"),
        ("i am so sad and tired , i miss you", "negative"),
        ("my head hurts and i feel sick", "negative"),
        ("sorry , i hate this , it sucks", "negative"),
    ],
    "trec": [
        ("Who invented the telephone ?", "human"),
        ("Who was the first president of France ?", "human"),
        ("Where is the highest mountain in Africa ?", "location"),
        ("What city is the capital of Italy ?", "location"),
        ("How many days are there in a year ?", "number"),
        ("When did the war end ?", "number"),
    ],
}


# the models of the paper, with 5 dimensions; the others are in test_bundled_models.py
PAPER = [name for name in bundled() if "-" in name]


@pytest.mark.parametrize("name", PAPER)
def test_a_bundled_model_is_small_and_has_a_card(name):
    folder = BUNDLED / name
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_000_000
    card = (folder / "README.md").read_text(encoding="utf-8")
    classifier = load(name)
    assert name in card
    assert classifier.digest in card
    assert re.search(r"accuracy", card)
    assert "suffice train" in card
    assert classifier.dimension == 5


@pytest.mark.parametrize("name", PAPER)
def test_a_bundled_model_answers_as_a_reader_would(name):
    classifier = load(name)
    sentences = SENTENCES[name.split("-")[0]]
    assert {label for _, label in sentences} <= set(classifier.labels)
    missed = [text for text, label in sentences if classifier.predict(text).label != label]
    assert len(missed) <= 1, missed
    assert all(not classifier.read(text).cut for text, _ in sentences)

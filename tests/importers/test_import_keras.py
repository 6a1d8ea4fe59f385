"""from_keras: what Keras says of a text is what the import says, from memory and from files, with
Keras and without.
"""

from __future__ import annotations

import io
import itertools
import json
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice as sf
from suffice.cli import main
from suffice.errors import MissingExtra, ModelError
from suffice.importers import compare, keras_file, keras_forward
from suffice.importers import keras as keras_importer

pytest.importorskip("torch")  # what Keras runs on here
h5py = pytest.importorskip("h5py")
keras = pytest.importorskip("keras")
L = keras.layers

# of Keras about NumPy, inside Keras
pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept a copy:DeprecationWarning"
)

WORDS = ["<PAD>", "<UNK>", *(f"word{i}" for i in range(8))]
LENGTH = 6
WIDTH = 4


def filled(model: Any, seed: int = 0) -> Any:
    """The model with weights of every size, so that nothing is hidden by zeros and ones."""
    rng = np.random.default_rng(seed)
    for layer in model._flatten_layers(include_self=False):
        new = [rng.normal(size=w.shape) * 0.7 for w in layer.get_weights()]
        if isinstance(layer, L.BatchNormalization):
            new[-1] = np.abs(new[-1]) + 0.3  # the variance
        if new and not isinstance(layer, keras.Model):
            layer.set_weights(new)
    return model


def row(*layers: Any, labels: int = 3, last: str | None = "softmax") -> Any:
    """Input, embedding, the given layers, and a dense layer with one output per label."""
    made = [L.Input((LENGTH,), dtype="int32"), L.Embedding(len(WORDS), WIDTH), *layers]
    return filled(keras.Sequential([*made, L.Flatten(), L.Dense(labels, activation=last)]))


def imported(model: Any, labels: int = 3, **more: Any) -> sf.Classifier:
    return sf.from_keras(model, WORDS, [f"label{i}" for i in range(labels)], **more)


def saved(model: Any, path: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save(path)
    return path


def branches() -> Any:
    """Two branches, a sum, a concatenation, a layer used twice and a model inside the model."""
    words = L.Input((LENGTH,))
    vectors = L.Embedding(len(WORDS), WIDTH, name="vectors")(words)
    shared = L.Conv1D(3, 2, activation="relu", name="shared")
    one = shared(vectors)
    other = shared(L.Dense(WIDTH, activation="tanh")(vectors))
    both = L.Concatenate(axis=-1)([L.Add()([one, other]), one, L.Subtract()([one, other])])
    inner = L.Input((9,))
    head = keras.Model(
        inner, L.Dense(4)(L.Dense(5, activation=L.LeakyReLU(0.1))(inner)), name="head"
    )
    again = keras.Sequential(
        [L.Input((4,)), L.Dense(4, activation="relu"), L.BatchNormalization()], name="again"
    )
    pooled = L.GlobalMaxPooling1D()(both)
    return filled(keras.Model(words, L.Dense(1, activation="sigmoid")(again(again(head(pooled))))))


LAYERS: dict[str, Callable[[], list[Any]]] = {
    "nothing": list,
    "dense": lambda: [L.Dense(5, activation="relu"), L.Dense(3, use_bias=False)],
    "conv valid": lambda: [L.Conv1D(5, 3, activation="relu")],
    "conv same": lambda: [L.Conv1D(5, 4, padding="same")],
    "conv causal": lambda: [L.Conv1D(5, 3, padding="causal", dilation_rate=2)],
    "conv strides": lambda: [L.Conv1D(5, 3, strides=2, padding="same")],
    "conv dilation": lambda: [L.Conv1D(5, 2, dilation_rate=2, use_bias=False)],
    "conv groups": lambda: [L.Conv1D(6, 2, groups=2)],
    "conv 2d": lambda: [
        L.Reshape((3, 2, WIDTH)),
        L.Conv2D(5, (2, 2), padding="same", activation="relu"),
    ],
    "conv 2d strides": lambda: [L.Reshape((LENGTH, WIDTH, 1)), L.Conv2D(3, (3, 2), strides=(2, 1))],
    "max pool": lambda: [L.MaxPooling1D(2)],
    "max pool same": lambda: [L.MaxPooling1D(3, strides=2, padding="same")],
    "average pool": lambda: [L.AveragePooling1D(3, strides=1)],
    "average pool same": lambda: [L.AveragePooling1D(3, strides=1, padding="same")],
    "pool 2d": lambda: [
        L.Reshape((3, 2, WIDTH)),
        L.MaxPooling2D((2, 2)),
        L.AveragePooling2D((1, 1)),
    ],
    "global max": lambda: [L.GlobalMaxPooling1D()],
    "global average": lambda: [L.GlobalAveragePooling1D(keepdims=True)],
    "global 2d": lambda: [
        L.Reshape((3, 2, WIDTH)),
        L.GlobalMaxPooling2D(keepdims=True),
        L.GlobalAveragePooling2D(),
    ],
    "reshape": lambda: [L.Reshape((LENGTH * 2, -1)), L.Permute((2, 1))],
    "zero padding": lambda: [L.ZeroPadding1D((2, 1))],
    "dropout": lambda: [L.Dropout(0.5), L.SpatialDropout1D(0.5), L.GaussianNoise(1.0)],
    "batch norm": lambda: [L.BatchNormalization()],
    "batch norm, other axis": lambda: [L.BatchNormalization(axis=1, center=False)],
    "batch norm, no scale": lambda: [L.BatchNormalization(scale=False, epsilon=0.1)],
    "relu": lambda: [L.ReLU(), L.Activation("relu6")],
    "bounded relu": lambda: [L.ReLU(max_value=1.0, negative_slope=0.3)],
    "leaky": lambda: [L.LeakyReLU(0.2), L.Activation("leaky_relu")],
    "prelu": lambda: [L.PReLU()],
    "prelu, shared": lambda: [L.PReLU(shared_axes=[1])],
    "elu": lambda: [L.ELU(0.5)],
    "rescaling": lambda: [L.Rescaling(0.5, offset=1.0)],
    "softmax inside": lambda: [L.Softmax(axis=-1)],
}
SMOOTH = (
    "tanh",
    "sigmoid",
    "gelu",
    "silu",
    "elu",
    "selu",
    "softplus",
    "hard_sigmoid",
    "softmax",
    "linear",
)


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS.keys())
def test_every_layer_is_matched_and_so_is_its_plain_version(make):
    model = row(*make())
    facts = imported(model).meta["import"]
    assert facts["versions"] == {"keras": keras.__version__}
    assert facts["compared"] == "64 index rows"
    rows = np.random.default_rng(1).integers(len(WORDS), size=(20, LENGTH))
    plain = keras_forward.forward(keras_file.live_model(model), rows)
    np.testing.assert_allclose(plain, model.predict_on_batch(rows), atol=3e-6)


@pytest.mark.parametrize("name", SMOOTH)
def test_every_activation_is_matched_and_so_is_its_plain_version(name):
    model = row(L.Dense(3, activation=name), L.Activation(name))
    imported(model)
    rows = np.random.default_rng(1).integers(len(WORDS), size=(20, LENGTH))
    plain = keras_forward.forward(keras_file.live_model(model), rows)
    np.testing.assert_allclose(plain, model.predict_on_batch(rows), atol=3e-6)


@pytest.mark.parametrize("last", ["softmax", "linear", None])
def test_the_last_activation_does_not_change_the_label(last):
    model = row(labels=3, last=last)
    classifier = imported(model)
    for words in itertools.product(WORDS[2:6], repeat=2):
        numbers = [[*(WORDS.index(word) for word in words), 0, 0, 0, 0]]
        best = int(np.argmax(model.predict_on_batch(np.array(numbers))[0]))
        assert classifier.predict(list(words)).label == f"label{best}"


def test_a_single_sigmoid_gives_two_labels():
    model = row(labels=1, last="sigmoid")
    classifier = imported(model, labels=2)
    prediction = classifier.predict(["word1", "word2"])
    theirs = float(model.predict_on_batch(np.array([[3, 4, 0, 0, 0, 0]]))[0, 0])
    assert prediction.scores[0] == 0
    assert prediction.probabilities[1] == pytest.approx(theirs, abs=1e-6)


def test_branches_shared_layers_and_models_inside_are_matched():
    model = branches()
    assert imported(model, labels=2).meta["import"]["largest difference"] < 1e-4


MODELS: dict[str, Callable[[], Any]] = {
    "a row": lambda: row(
        *LAYERS["conv same"](), *LAYERS["batch norm"](), L.ReLU(), L.MaxPooling1D(2), labels=2
    ),
    "branches": branches,
    "twice the same kind": lambda: row(
        L.Dense(4), L.Dense(4, activation="relu"), L.Dense(4), labels=2
    ),
}


@pytest.mark.parametrize("ending", [".keras", ".h5"])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_a_file_says_the_same_with_keras_and_without(make, ending, tmp_path, monkeypatch):
    model = make()
    path = saved(model, tmp_path / f"model{ending}")
    live = imported(model, labels=2)
    file = imported(path, labels=2)
    assert file.digest == live.digest
    assert live.meta["import"]["versions"] == {"keras": keras.__version__}
    assert live.meta["import"]["compared with"] == "the original"
    assert "note" not in live.meta["import"]
    monkeypatch.setitem(sys.modules, "keras", None)
    alone = imported(str(path), labels=2)
    assert alone.digest == live.digest
    assert alone.meta["import"] == {**file.meta["import"]}
    assert alone.meta["import"]["versions"] == {"h5py": h5py.__version__}
    assert "a file is not opened by Keras" in alone.meta["import"]["note"]
    assert alone.meta["import"]["compared with"] == "plain NumPy versions of its layers"
    assert alone.meta["import"]["largest difference"] < 1e-9


def test_vectors_may_be_given_where_the_model_looks_nothing_up():
    table = np.random.default_rng(0).normal(size=(len(WORDS), WIDTH))
    model = filled(
        keras.Sequential(
            [L.Input((LENGTH, WIDTH)), L.Conv1D(3, 2), L.GlobalMaxPooling1D(), L.Dense(2)]
        )
    )
    classifier = imported(model, labels=2, embedding=table)
    np.testing.assert_array_equal(classifier.table, table)


def test_a_model_of_any_length_needs_one():
    model = filled(
        keras.Sequential(
            [L.Input((None,)), L.Embedding(len(WORDS), WIDTH), L.GlobalMaxPooling1D(), L.Dense(2)]
        )
    )
    with pytest.raises(ModelError, match="say with length="):
        imported(model, labels=2)
    assert imported(model, labels=2, length=9).length == 9


def test_a_trained_model_is_saved_and_explained(tmp_path):
    rng = np.random.default_rng(0)
    texts = rng.integers(2, len(WORDS), size=(200, LENGTH))
    labels = ((texts == 2) | (texts == 3)).sum(1) > ((texts == 4) | (texts == 5)).sum(1)
    model = keras.Sequential(
        [
            L.Input((LENGTH,)),
            L.Embedding(10, 3),
            L.Flatten(),
            L.Dense(6, activation="relu"),
            L.Dense(1, "sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy")
    model.fit(texts, labels.astype(float), epochs=15, verbose=0)
    classifier = sf.from_keras(saved(model, tmp_path / "m.keras"), WORDS, ["no", "yes"])
    for name in (
        "m.keras",
        "m.h5",
    ):  # how a model was trained is in its file, and is no reason not to run it
        assert (
            sf.from_keras(saved(model, tmp_path / name), WORDS, ["no", "yes"]).digest
            == classifier.digest
        )
    classifier.save(tmp_path / "folder")
    assert sf.load(tmp_path / "folder").digest == classifier.digest
    result = sf.explain(classifier, "word0 word1 word4 word0 word5", perturbation=sf.Deletion())
    assert result.status == "optimal"
    assert result.cost == cheapest_by_trying(model, [2, 3, 6, 2, 7, 0])


def cheapest_by_trying(model: Any, numbers: list[int]) -> int:
    """The least number of words that decide the label under deletion, by asking Keras about every
    text.
    """
    places = [i for i, number in enumerate(numbers) if number]
    subsets = [set(s) for n in range(len(places) + 1) for s in itertools.combinations(places, n)]
    rows = np.array(
        [[0 if i in gone else number for i, number in enumerate(numbers)] for gone in subsets]
    )
    answers = model.predict_on_batch(rows)[:, 0] > 0.5
    flips = [gone for gone, answer in zip(subsets, answers, strict=True) if answer != answers[0]]
    return min(len(kept) for kept in subsets if not any(gone.isdisjoint(kept) for gone in flips))


# --- refusals ---


def two_inputs() -> Any:
    one = L.Input((3,))
    other = L.Input((3,))
    return keras.Model([one, other], L.Dense(3)(L.Concatenate()([one, other])))


def two_outputs() -> Any:
    words = L.Input((LENGTH,))
    flat = L.Flatten()(L.Embedding(len(WORDS), 2)(words))
    return keras.Model(words, [L.Dense(3)(flat), L.Dense(2)(flat)])


def always_training() -> Any:
    words = L.Input((LENGTH,))
    flat = L.Flatten()(L.Embedding(len(WORDS), 2)(words))
    return keras.Model(words, L.Dense(3)(L.Dropout(0.5)(flat, training=True)))


def product() -> Any:
    words = L.Input((LENGTH,))
    flat = L.Flatten()(L.Embedding(len(WORDS), 2)(words))
    return keras.Model(words, L.Dense(3)(L.Multiply()([flat, flat])))


class Own(keras.Model):
    def call(self, x: Any) -> Any:
        return x

    def get_config(self) -> dict[str, Any]:
        return {"name": "own"}


def masked(*layers: Any) -> Any:
    made = [
        L.Input((LENGTH,)),
        L.Embedding(len(WORDS), WIDTH, mask_zero=True, name="vectors"),
        *layers,
    ]
    return keras.Sequential([*made, L.Flatten(), L.Dense(3)])


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "lstm": (
        lambda: row(L.LSTM(3, name="memory")),
        "LSTM at the layer memory .* recurrent .* Can be imported: Activ",
    ),
    "layer norm": (
        lambda: row(L.LayerNormalization()),
        "LayerNormalization at the layer .* spread that depends",
    ),
    "an unknown layer": (
        lambda: row(L.UnitNormalization()),
        "UnitNormalization at the layer unit_norm",
    ),
    "upsampling": (
        lambda: row(L.UpSampling1D(2)),
        "UpSampling1D at .* not among the layers .* Conv1D",
    ),
    "an activation": (
        lambda: row(L.Dense(3, activation="mish", name="odd")),
        "activation of Dense at the layer odd .* 'mish'",
    ),
    "uneven average": (
        lambda: row(L.AveragePooling1D(4, 3, padding="same")),
        "PyTorch repeats the last one",
    ),
    "threshold": (lambda: row(L.ReLU(threshold=0.5)), "threshold is not 0"),
    "product": (
        product,
        "Multiply at the layer multiply.* multiplies or divides two.*from_function",
    ),
    "two inputs": (two_inputs, "2 inputs: one, the words"),
    "two outputs": (two_outputs, "2 outputs: one, with a score for each label"),
    "training": (always_training, "called with training=True"),
    "own class": (Own, "a class of your own"),
    "mask": (
        lambda: masked(L.Dense(3), L.GlobalAveragePooling1D()),
        "vectors has mask_zero=True, so that GlobalAveragePooling1D",
    ),
    "smooth behind a mask": (
        lambda: masked(L.GlobalAveragePooling1D(), L.Dense(3, activation="tanh")),
        "exact only with activations of straight pieces",
    ),
    "labels": (lambda: row(labels=4), "3 labels, but .* 4 outputs"),
    "no model": (lambda: 3, "takes a Keras model or the name of"),
    "no file": (lambda: "nowhere.keras", r"no file 'nowhere\.keras'"),
    "half": (lambda: row(L.Dense(3, dtype="float16")), "half precision"),
    "mixed": (lambda: row(L.Dense(3, dtype="mixed_bfloat16")), "half precision"),
}


def test_means_over_the_words_that_are_present_are_exact(tmp_path):
    model = masked(L.Dropout(0.2), L.GlobalAveragePooling1D(), L.Dense(4, activation="relu"))
    found = imported(model)
    rng = np.random.default_rng(0)
    rows = rng.integers(1, len(WORDS), (40, LENGTH))
    rows[np.arange(LENGTH) >= rng.integers(1, LENGTH + 1, 40)[:, None]] = 0
    theirs = np.asarray(model.predict(rows, verbose=0), dtype=np.float64)
    ours = found.network.forward(found.table[rows]) / (rows != 0).sum(1)[:, None]
    assert np.allclose(ours, theirs, atol=1e-5)
    # 0 / 0: Keras has no answer, and here it is a tie
    nothing = np.zeros((1, LENGTH), dtype=np.int64)
    assert not np.isfinite(np.asarray(model.predict(nothing, verbose=0))).any()
    assert not found.network.forward(found.table[nothing]).any()
    again = imported(saved(model, tmp_path / "m.keras"))
    assert np.allclose(
        again.network.forward(again.table[rows]),
        found.network.forward(found.table[rows]),
        atol=1e-5,
    )


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_matched_is_refused_by_name_and_place(make, message):
    with pytest.raises(ModelError, match=message):
        imported(make())


def test_a_policy_is_told_by_its_name_not_by_numbers_beside_it():
    """Keras writes addresses of objects into a config, and any digits may be in them."""
    beside = {
        "module": "keras",
        "class_name": "DTypePolicy",
        "registered_name": None,
        "shared_object_id": 1401616816,
    }
    assert keras_importer._precision({**beside, "config": {"name": "float32"}}) == "float32"
    assert (
        keras_importer._precision({**beside, "config": {"name": "mixed_float16"}})
        == "mixed_float16"
    )
    assert keras_importer._precision("float64") == "float64"
    assert keras_importer._precision(None) == ""


def test_a_mask_that_nothing_uses_does_no_harm():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras says that the mask is lost
        imported(filled(masked(L.Conv1D(3, 2))))


def test_another_length_or_vocabulary_than_the_models_is_refused():
    with pytest.raises(ModelError, match="texts of 6 words, but length=7"):
        imported(row(), length=7)
    with pytest.raises(ModelError, match="table has 10 rows but the vocabulary has 9 words"):
        sf.from_keras(row(), WORDS[:-1], ["a", "b", "c"])


def test_the_vocabulary_of_a_text_vectorization_layer_can_be_given_as_it_is(tmp_path):
    """It begins with '' for padding and [UNK]; row 0 and row 1 stay what they are."""
    model = row()
    words = ["", "[UNK]", *WORDS[2:]]
    classifier = sf.from_keras(model, words, ["label0", "label1", "label2"])
    assert (classifier.pad, classifier.unknown) == ("<PAD>", "[UNK]")
    assert classifier.read("word3 nowhere").indices == (5, 1, 0, 0, 0, 0)
    assert (
        classifier.predict("word3 nowhere").scores
        == imported(model).predict("word3 nowhere").scores
    )
    classifier.save(tmp_path)
    assert sf.load(tmp_path).digest == classifier.digest


def test_an_operation_is_refused_unless_it_is_a_sum():
    words = L.Input((LENGTH,))
    flat = L.Flatten()(L.Embedding(len(WORDS), 2)(words))
    other = L.Dense(12)(flat)
    imported(filled(keras.Model(words, L.Dense(3)(flat + other))))
    with pytest.raises(ModelError, match="at the layer multiply"):
        imported(filled(keras.Model(words, L.Dense(3)(flat * other))))


def in_the_style_of_keras_2(path: Path) -> Path:
    """A Functional .h5 file rewritten as Keras 2 writes it: nodes as lists, batch_input_shape,
    names as bytes.
    """
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        config["class_name"] = "Model"
        for layer in config["config"]["layers"]:
            (
                layer.pop("module", None),
                layer.pop("registered_name", None),
                layer.pop("build_config", None),
            )
            if "batch_shape" in layer["config"]:
                layer["config"]["batch_input_shape"] = layer["config"].pop("batch_shape")
            layer["inbound_nodes"] = [
                [[*source, {}] for source in keras_file._sources(node, "")]
                for node in layer["inbound_nodes"]
            ]
        for end in ("input_layers", "output_layers"):
            config["config"][end] = [config["config"][end]]
        file.attrs["model_config"] = json.dumps(config)
        file.attrs["keras_version"] = np.bytes_("2.15.0")
        for group in file["model_weights"].values():
            group.attrs["weight_names"] = [
                str(name).encode() for name in group.attrs["weight_names"]
            ]
    return path


def test_nodes_names_and_shapes_as_keras_2_writes_them_are_read(tmp_path, monkeypatch):
    words = L.Input((LENGTH,))
    vectors = L.Embedding(len(WORDS), WIDTH)(words)
    both = L.Concatenate()([L.Conv1D(3, 2, activation="relu")(vectors), L.Conv1D(2, 2)(vectors)])
    model = filled(
        keras.Model(words, L.Dense(2, activation="softmax")(L.GlobalMaxPooling1D()(both)))
    )
    path = in_the_style_of_keras_2(saved(model, tmp_path / "old.h5"))
    monkeypatch.setitem(sys.modules, "keras", None)
    assert keras_file.read_model(path).version == "2.15.0"
    assert imported(path, labels=2).digest == imported(model, labels=2).digest


# --- files that are not what they seem ---


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip", b"\x89HDF\r\n\x1a\n", b"hello"])
@pytest.mark.parametrize("name", ["m.keras", "m.h5"])
def test_what_is_no_file_of_keras_is_refused(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match=r"damaged or no model|neither a \.keras nor"):
        imported(tmp_path / name)


def test_weights_alone_are_refused(tmp_path):
    row().save_weights(tmp_path / "m.weights.h5")
    with pytest.raises(ModelError, match="holds weights only: save the whole model"):
        imported(tmp_path / "m.weights.h5")


def test_a_file_that_lacks_a_part_is_refused(tmp_path):
    path = rewritten(saved(row(), tmp_path / "m.keras"), lambda parts: parts.pop("config.json"))
    with pytest.raises(ModelError, match="damaged or no model of Keras"):
        imported(path)


def test_weights_under_the_name_of_another_layer_are_refused(tmp_path):
    path = saved(row(L.Dense(WIDTH, name="one"), L.Dense(WIDTH, name="two")), tmp_path / "m.keras")

    def swap(parts: dict[str, bytes]) -> None:
        text = parts["config.json"].decode()
        parts["config.json"] = (
            text.replace('"one"', '"?"').replace('"two"', '"one"').replace('"?"', '"two"').encode()
        )

    with pytest.raises(ModelError, match="weights of the layer two are stored as those of 'one'"):
        imported(rewritten(path, swap))


@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_keras_is_never_asked_to_open_a_file(ending, tmp_path, monkeypatch):
    """It would import what the config names, and build layers of whatever size it declares."""
    path = saved(row(), tmp_path / f"m{ending}")

    def never(*given: Any, **more: Any) -> None:
        raise AssertionError("Keras opened the file")

    monkeypatch.setattr(keras.saving, "load_model", never)
    monkeypatch.setattr(keras.models, "load_model", never)
    assert imported(path).digest == imported(row()).digest


def _datasets(file: Any) -> list[str]:
    found: list[str] = []
    file.visititems(
        lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None
    )
    return found


def linked(path: Path, change: Callable[[Any], None]) -> Path:
    """A file of Keras whose HDF5 part is changed; `change` is given the folder of one dense layer's
    weights.
    """
    if path.suffix == ".h5":
        with h5py.File(path, "r+") as file:
            place = next(p for p in _datasets(file) if "dense" in p and p.endswith("/kernel"))
            change(file[place].parent)
        return path

    def inner(parts: dict[str, bytes]) -> None:
        held = io.BytesIO(parts["model.weights.h5"])
        with h5py.File(held, "r+") as file:
            change(file["layers"]["dense"]["vars"])
        parts["model.weights.h5"] = held.getvalue()

    return rewritten(path, inner)


def replaced(group: Any, make: Callable[[Any, str, Any], None]) -> None:
    name = "0" if "0" in group else next(name for name in group if "kernel" in name)
    old = group[name]
    facts = (old.shape, old.dtype)
    del group[name]
    make(group, name, facts)


def outside(secret: Path) -> dict[str, tuple[Callable[[Any, str, Any], None], str]]:
    """Ways in which a dataset may lead to another file, or to more than is there."""

    def external(group: Any, name: str, facts: Any) -> None:
        group.create_dataset(name, *facts, external=[(str(secret), 0, h5py.h5f.UNLIMITED)])

    def external_link(group: Any, name: str, facts: Any) -> None:
        with h5py.File(secret.with_suffix(".h5"), "w") as other:
            other.create_dataset("x", data=np.ones(facts[0]))
        group[name] = h5py.ExternalLink(str(secret.with_suffix(".h5")), "x")

    def soft_link(group: Any, name: str, facts: Any) -> None:
        group.create_dataset("other", data=np.ones(facts[0]))
        group[name] = h5py.SoftLink(f"{group.name}/other")

    def virtual(group: Any, name: str, facts: Any) -> None:
        with h5py.File(secret.with_suffix(".h5"), "w") as other:
            other.create_dataset("x", data=np.ones(facts[0]))
        layout = h5py.VirtualLayout(*facts)
        layout[...] = h5py.VirtualSource(str(secret.with_suffix(".h5")), "x", facts[0])
        group.create_virtual_dataset(name, layout)

    def chunked(group: Any, name: str, facts: Any) -> None:
        group.create_dataset(name, (60_000, 60_000), "f8", chunks=(1000, 1000), compression="gzip")

    def never_written(group: Any, name: str, facts: Any) -> None:
        group.create_dataset(name, (60_000, 60_000), "f8")

    def packed(group: Any, name: str, facts: Any) -> None:
        group.create_dataset(name, data=np.zeros((1000, 1000)), compression="gzip")

    def shared(group: Any, name: str, facts: Any) -> None:
        group.create_dataset(name, data=np.zeros(100_000))
        for number in range(100):
            group[f"{name}x{number}"] = group[name]

    def words(group: Any, name: str, facts: Any) -> None:
        group.create_dataset(name, data=np.array([b"a", b"b"]))

    return {
        "external storage": (external, "keeps its numbers in another file"),
        "an external link": (external_link, r"is a link to another place or file \(ExternalLink\)"),
        "a soft link": (soft_link, r"is a link to another place or file \(SoftLink\)"),
        "a virtual dataset": (virtual, "keeps its numbers in another file"),
        "an empty dataset of 30 GB": (chunked, "declares 28800000000 bytes, but 0 are stored"),
        "a dataset never written": (never_written, "declares 28800000000 bytes, but 0 are stored"),
        "zeros that are packed": (packed, "declares 8000000 bytes, but"),
        "one dataset under many names": (shared, "declare .* bytes or more, but there are"),
        "words": (words, "holds no numbers"),
    }


@pytest.mark.parametrize("kind", outside(Path("x")))
@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_a_file_that_leads_elsewhere_or_declares_more_than_it_holds_is_refused(
    kind, ending, tmp_path
):
    (tmp_path / "secret").write_bytes(np.random.default_rng(0).bytes(10_000))
    change, message = outside(tmp_path / "secret")[kind]
    path = linked(saved(row(), tmp_path / f"m{ending}"), lambda group: replaced(group, change))
    with pytest.raises(ModelError, match=message) as caught:
        imported(path)
    assert str(caught.value).startswith(f"m{ending} cannot be imported: ")


def test_a_group_that_holds_itself_does_no_harm(tmp_path):
    path = saved(row(), tmp_path / "m.h5")
    with h5py.File(path, "r+") as file:
        file["model_weights"]["loop"] = file["model_weights"]
    assert imported(path).digest == imported(row()).digest


@pytest.mark.parametrize("name", ["model.weights.h5", "config.json"])
def test_a_zip_that_unpacks_to_far_more_is_refused(name, tmp_path):
    path = saved(row(), tmp_path / "m.keras")
    with zipfile.ZipFile(path) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, data in parts.items():
            archive.writestr(part, data + b" " * (20_000_000 if part == name else 0))
    assert path.stat().st_size < 100_000
    with pytest.raises(
        ModelError, match=r"declares 20\d+ when unpacked: more than 10 times as many"
    ):
        imported(path)


def test_a_config_that_names_one_layer_many_times_reads_it_once(tmp_path):
    path = saved(row(), tmp_path / "m.h5")
    with h5py.File(path) as file:
        read = keras_file._by_name(file["model_weights"])
        layer = next(name for name in file["model_weights"] if name.startswith("dense"))
        assert read((layer,))[0] is read((layer,))[0]


def test_layers_that_blow_a_text_up_are_refused(tmp_path):
    path = saved(row(L.ZeroPadding1D(1)), tmp_path / "m.keras")

    def grow(parts: dict[str, bytes]) -> None:
        parts["config.json"] = parts["config.json"].replace(
            b'"padding": [1, 1]', b'"padding": [1, 10000000000]'
        )

    with pytest.raises(ModelError, match="numbers at once, and at most"):
        imported(rewritten(path, grow))


def test_doubling_again_and_again_is_refused(tmp_path):
    words = L.Input((LENGTH,))
    x = L.Embedding(len(WORDS), WIDTH)(words)
    for _ in range(5):
        x = L.Concatenate(axis=1)([x, x])
    model = filled(keras.Model(words, L.Dense(2)(L.GlobalMaxPooling1D()(x))))
    assert imported(model, labels=2).digest
    path = saved(model, tmp_path / "m.keras")

    def tower(parts: dict[str, bytes]) -> None:
        config = json.loads(parts["config.json"])
        layers = config["config"]["layers"]
        last = max(i for i, layer in enumerate(layers) if layer["class_name"] == "Concatenate")
        name = layers[last]["config"]["name"]
        for number in range(40):
            text = json.dumps(layers[last]).replace(layers[last - 1]["config"]["name"], name)
            new = json.loads(text)
            new["config"]["name"] = new["name"] = f"more_{number}"
            source = name if not number else f"more_{number - 1}"
            for part in new["inbound_nodes"][0]["args"][0]:
                part["config"]["keras_history"][0] = source
            layers.append(new)
        pool = next(layer for layer in layers if layer["class_name"] == "GlobalMaxPooling1D")
        pool["inbound_nodes"][0]["args"][0]["config"]["keras_history"][0] = "more_39"
        parts["config.json"] = json.dumps(config).encode()

    with pytest.raises(ModelError, match="numbers at once"):
        imported(rewritten(path, tower), labels=2)


def test_without_h5py_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    path = saved(row(), tmp_path / "m.keras")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtra, match=r"extra 'keras'"):
        imported(path)


def test_the_command_says_what_an_import_was_compared_with(tmp_path, capsys):
    path = saved(row(), tmp_path / "m.keras")
    (tmp_path / "words.txt").write_text("\n".join(WORDS), encoding="utf-8")
    given = ["import", str(path), "--vocabulary", str(tmp_path / "words.txt"), "--labels", "a,b,c"]
    assert main([*given, "--out", str(tmp_path / "one")]) == 0
    # lines break where the width of the terminal says
    shown = " ".join(capsys.readouterr().out.split())
    assert "Compared with plain NumPy versions of its layers on 64" in shown
    assert "The original was not run: a file is not opened by Keras" in shown


# --- a wrong import ---


@pytest.mark.parametrize("last", ["softmax", None])
@pytest.mark.parametrize("share", [1e-3, -1e-3, 0.1])
def test_scores_that_are_off_by_a_little_are_refused(last, share, monkeypatch):
    model = row(last=last)
    real = compare.scores_of
    imported(model)
    monkeypatch.setattr(compare, "scores_of", lambda *given: real(*given) * (1 + share))
    with pytest.raises(
        ModelError, match=r"disagrees with the Keras model: the largest difference is \d.*64 inputs"
    ):
        imported(model)


@pytest.mark.parametrize("size", [0.01, 1.0, 30.0])
def test_a_sigmoid_hides_no_difference_however_small_or_large_the_scores(size, monkeypatch):
    model = row(labels=1, last="sigmoid")
    dense = model.layers[-1]
    dense.set_weights([weight * size for weight in dense.get_weights()])
    imported(model, labels=2)
    real = compare.scores_of
    monkeypatch.setattr(compare, "scores_of", lambda *given: real(*given) * 1.002)
    with pytest.raises(ModelError, match="largest difference"):
        imported(model, labels=2)


def test_a_layer_that_keras_computes_otherwise_is_found(monkeypatch):
    model = row(L.Dense(3, activation="relu"))
    real = model.predict_on_batch
    monkeypatch.setattr(model, "predict_on_batch", lambda rows: np.roll(real(rows), 1, axis=1))
    with pytest.raises(ModelError, match="Nothing was imported"):
        imported(model)

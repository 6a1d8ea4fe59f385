"""What a Keras model is made of: its layers, their weights and which feeds which, from a file or a
live model.

Files are read with h5py only, never by Keras, which would build whatever a file declares. `.keras`
is a zip of config.json and model.weights.h5, where a layer's weights are under its kind and a
count; `.h5` holds the config as an attribute and the weights under the layer's name. Before any
number is read, every link and every size is looked at: a file may not lead to another file, nor
declare more than it holds.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from suffice.errors import MissingExtra, ModelError
from suffice.model.network import Floats

Config: TypeAlias = Mapping[str, Any]
Called: TypeAlias = "tuple[list[Call], list[str]]"
# of the layer at a path of names
Weights: TypeAlias = Callable[[tuple[str, ...]], Sequence[Floats]]
MODELS = ("Sequential", "Functional", "Model")
MOST_TIMES = 10  # how many times as large as a .keras file its parts may be once unpacked
SPARE = 2**24  # bytes beyond that, as a config of some layers packs well
MOST_NAMES = 1000  # weights of one layer, or of one model inside a model


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer: its path of names, what kind it is, its settings and its weights in
    Keras' order.
    """

    path: tuple[str, ...]
    kind: str
    config: Config
    weights: tuple[Floats, ...]
    is_operation: bool = False  # x + y and the like, which Keras writes as layers too

    @property
    def place(self) -> str:
        return "/".join(self.path)


@dataclass(frozen=True, eq=False)
class Call:
    """A layer applied to what other calls gave; a shared layer is called more than once."""

    name: str
    layer: Layer
    inputs: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Model:
    """The calls in order, and the names of what goes in and what comes out."""

    calls: tuple[Call, ...]
    given: str
    answer: str
    shape: tuple[int | None, ...]  # of one input
    version: str
    config: Config


def read_model(path: Path) -> Model:
    """The model in a .keras or .h5 file."""
    if not path.is_file():
        raise ModelError(f"There is no file {str(path)!r}.")
    try:
        return _read_zip(path) if zipfile.is_zipfile(path) else _read_h5(path)
    except (
        OSError,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        RuntimeError,
        zipfile.BadZipFile,
    ) as error:
        if isinstance(error, ModelError):
            raise ModelError(f"{path.name} cannot be imported: {error}") from error
        raise ModelError(
            f"{path.name} is damaged or no model of Keras: {type(error).__name__}: {error}."
        ) from error


def live_model(model: Any) -> Model:
    """The same of a Keras model in memory."""
    weights = dict(_live_weights(model, ()))
    return _model(json.loads(model.to_json()), lambda path: weights.get(path, ()), "")


def _live_weights(
    model: Any, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], list[Floats]]]:
    for layer in model.layers:
        here = (*path, layer.name)
        if hasattr(layer, "layers") and type(layer).__name__ in MODELS:
            yield from _live_weights(layer, here)
        else:
            yield here, [np.asarray(weight, dtype=np.float64) for weight in layer.get_weights()]


# --- files ---


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtra("keras", "h5py") from error
    return h5py


def _read_zip(path: Path) -> Model:
    h5py = _h5py()
    with zipfile.ZipFile(path) as archive:
        declared = sum(
            archive.getinfo(name).file_size
            for name in ("config.json", "metadata.json", "model.weights.h5")
        )
        if declared > MOST_TIMES * path.stat().st_size + SPARE:
            raise ModelError(
                f"{path.name} has {path.stat().st_size} bytes and declares {declared} when "
                "unpacked: more than "
                f"{MOST_TIMES} times as many are refused."
            )
        config = json.loads(archive.read("config.json"))
        version = json.loads(archive.read("metadata.json")).get("keras_version", "")
        weights = archive.read("model.weights.h5")
        with h5py.File(io.BytesIO(weights), "r") as file:
            _refuse_unplain(h5py, file, len(weights))
            return _model(config, _by_kind(file, config), str(version))


def _refuse_unplain(h5py: Any, file: Any, size: int) -> None:
    """Every link must lead to an object of the file itself, and all datasets together hold no more
    than the file.
    """
    waiting = [file]
    seen = set()
    declared = 0
    while waiting:
        group = waiting.pop()
        for name in group:
            where = f"{group.name.rstrip('/')}/{name}"
            link = group.get(name, getlink=True)
            if not isinstance(link, h5py.HardLink):
                raise ModelError(
                    f"{where} is a link to another place or file ({type(link).__name__}), "
                    "which is refused."
                )
            found = group[name]
            address = h5py.h5o.get_info(found.id).addr
            if isinstance(found, h5py.Group) and address not in seen:
                waiting.append(found)
            if isinstance(found, h5py.Dataset):
                declared += _declared(found, where)
            seen.add(address)
            if declared > size:
                raise ModelError(
                    f"Its datasets declare {declared} bytes or more, but there are {size}."
                )


def _declared(dataset: Any, where: str) -> int:
    """How many bytes a dataset takes, once they all are in the file as they are."""
    if dataset.external or dataset.is_virtual:
        raise ModelError(f"{where} keeps its numbers in another file or dataset, which is refused.")
    if dataset.shape is None or dataset.dtype.kind not in "fiub":
        raise ModelError(f"{where} holds no numbers.")
    if dataset.nbytes > dataset.id.get_storage_size():
        raise ModelError(
            f"{where} declares {dataset.nbytes} bytes, but {dataset.id.get_storage_size()} "
            "are stored: Keras does not "
            "compress weights, so that this is refused."
        )
    return int(dataset.nbytes)


class _Reading:
    """Reads each dataset once, however often a config names it."""

    def __init__(self) -> None:
        self.known: dict[str, Floats] = {}

    def __call__(self, dataset: Any) -> Floats:
        if dataset.name not in self.known:
            self.known[dataset.name] = np.asarray(dataset, dtype=np.float64)
        return self.known[dataset.name]


def _by_kind(file: Any, config: Config) -> Weights:
    """Weights under layers/<kind>_<count>/vars/<number>, where kinds are counted in the order of
    the config.
    """
    places = dict(_places(config, (), ""))

    def weights(path: tuple[str, ...]) -> list[Floats]:
        group = next((file[place] for place in places[path] if place in file), None)
        if group is None:
            return []
        found = str(group.attrs.get("name", path[-1]))  # newer files say which layer it is
        if found != path[-1]:
            raise ModelError(
                f"The weights of the layer {'/'.join(path)} are stored as those of {found!r}."
            )
        return [read(group[str(i)]) for i in range(len(group))]

    read = _Reading()
    return weights


def _places(
    config: Config, path: tuple[str, ...], above: str
) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    counts: dict[str, int] = {}
    for layer in _layers(config):
        kind = _snake(layer["class_name"])
        counts[kind] = counts.get(kind, -1) + 1
        place = kind if not counts[kind] else f"{kind}_{counts[kind]}"
        here = (*path, _name(layer))
        folders = [
            f"{above}{folder}/{place}" for folder in ("layers", "_layer_checkpoint_dependencies")
        ]
        if layer["class_name"] in MODELS:
            yield from _places(layer, here, f"{folders[0]}/")
        else:
            yield here, [f"{folder}/vars" for folder in folders]


def _snake(kind: str) -> str:
    """Keras' own way to write BatchNormalization as batch_normalization."""
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", kind))
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def _read_h5(path: Path) -> Model:
    h5py = _h5py()
    if not h5py.is_hdf5(path):
        raise ModelError(f"{path.name} is neither a .keras nor an .h5 file of Keras.")
    with h5py.File(path, "r") as file:
        _refuse_unplain(h5py, file, path.stat().st_size)
        if "model_config" not in file.attrs:
            raise ModelError(
                f"{path.name} holds weights only: save the whole model with "
                "model.save('model.keras')."
            )
        version = _text(file.attrs.get("keras_version", ""))
        return _model(
            json.loads(file.attrs["model_config"]), _by_name(file["model_weights"]), version
        )


def _by_name(folder: Any) -> Weights:
    def weights(path: tuple[str, ...]) -> list[Floats]:
        if path[0] not in folder:
            return []
        group = folder[path[0]]
        if np.prod(group.attrs.get_id("weight_names").shape) > MOST_NAMES:
            raise ModelError(f"The layer {path[0]} names more than {MOST_NAMES} weights.")
        names = [_text(name) for name in group.attrs["weight_names"]]
        if len(path) > 1:  # a model inside a model lists the weights of all its layers
            names = [name for name in names if name.split("/")[-2] == path[-1]]
        return [read(group[name]) for name in names]

    read = _Reading()
    return weights


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


# --- the config ---


def _layers(config: Config) -> list[Config]:
    inner = config["config"]
    return list(inner if isinstance(inner, list) else inner["layers"])


def _name(layer: Config) -> str:
    return str(layer["config"]["name"] if "name" in layer["config"] else layer["name"])


def _model(config: Config, weights: Weights, version: str) -> Model:
    if config["class_name"] not in MODELS:
        raise ModelError(
            f"The model is a {config['class_name']}, a class of your own: only Sequential and "
            "Functional models say "
            "what they compute. Build the same with keras.Model(inputs, outputs)."
        )
    given = "<words>"
    reader = _Reader(weights, count())
    calls, answers = reader.called(config, (given,), ())
    if len(answers) != 1:
        raise ModelError(
            f"The model has {len(answers)} outputs: one, with a score for each label, is needed."
        )
    return Model(tuple(calls), given, answers[0], _input_shape(config), version, config)


@dataclass(frozen=True, eq=False)
class _Reader:
    """Turns models, and models inside them, into calls."""

    weights: Weights
    numbers: Iterator[int]

    def called(self, config: Config, given: Sequence[str], path: tuple[str, ...]) -> Called:
        """The calls of a model that is given these values, and the names of what it gives."""
        if config["class_name"] != "Sequential":
            return _Functional(self, config, given, path).run()
        calls: list[Call] = []
        values = list(given)
        for layer in _layers(config):
            if layer["class_name"] != "InputLayer":
                made, values = self.one(layer, values, path)
                calls += made
        return calls, values

    def one(self, layer: Config, inputs: Sequence[str], path: tuple[str, ...]) -> Called:
        """A call of one layer, or all calls of a model that is used as one."""
        here = (*path, _name(layer))
        if layer["class_name"] in MODELS:
            return self.called(layer, inputs, here)
        operation = ".ops" in str(layer.get("module") or "")
        made = Layer(
            here, str(layer["class_name"]), layer["config"], tuple(self.weights(here)), operation
        )
        name = f"{next(self.numbers)} {made.place}"
        return [Call(name, made, tuple(inputs))], [name]


class _Functional:
    """Layers that name their inputs, called from the outputs back."""

    def __init__(
        self, reader: _Reader, config: Config, given: Sequence[str], path: tuple[str, ...]
    ) -> None:
        self.reader = reader
        self.path = path
        self.inner = config["config"]
        self.layers = {_name(layer): layer for layer in _layers(config)}
        entries = _ends(self.inner["input_layers"])
        if len(entries) != len(given):
            raise ModelError(f"The model has {len(entries)} inputs: one, the words, is needed.")
        self.calls: list[Call] = []
        self.known = {
            (name, node): [value] for (name, node, _), value in zip(entries, given, strict=True)
        }

    def run(self) -> Called:
        answers = [self.value(*end) for end in _ends(self.inner["output_layers"])]
        return self.calls, answers

    def value(self, name: str, node: int, index: int) -> str:
        """The name of what a layer gives at one of its calls; what it needs is called first."""
        if (name, node) not in self.known:
            layer = self.layers[name]
            inputs = [
                self.value(*source) for source in _sources(layer["inbound_nodes"][node], name)
            ]
            made, self.known[name, node] = self.reader.one(layer, inputs, self.path)
            self.calls += made
        return self.known[name, node][index]


def _ends(listed: Any) -> list[tuple[str, int, int]]:
    """[name, node, index], or a list of these."""
    ends = [listed] if listed and isinstance(listed[0], str) else list(listed)
    return [(str(end[0]), int(end[1]), int(end[2])) for end in ends]


def _sources(node: Any, name: str) -> list[tuple[str, int, int]]:
    """Where the inputs of a call come from, as Keras 3 (a dict of arguments) or Keras 2 (a list)
    writes it.
    """
    if not isinstance(node, dict):
        return _ends(node)
    if node.get("kwargs", {}).get("training"):
        raise ModelError(
            f"The layer {name!r} is called with training=True, which makes its answers random."
        )
    if any(_tensors(part) for part in node.get("kwargs", {}).values()):
        raise ModelError(f"The layer {name!r} takes an input by name: give its inputs by position.")
    plain = [part for part in node["args"] if not _tensors(part)]
    if plain:
        raise ModelError(f"The layer {name!r} is called with {plain[0]!r}, which is not supported.")
    return [source for part in node["args"] for source in _tensors(part)]


def _tensors(part: Any) -> list[tuple[str, int, int]]:
    if isinstance(part, list | tuple):
        return [source for inner in part for source in _tensors(inner)]
    if isinstance(part, dict) and part.get("class_name") == "__keras_tensor__":
        name, node, index = part["config"]["keras_history"]
        return [(str(name), int(node), int(index))]
    return []


def _input_shape(config: Config) -> tuple[int | None, ...]:
    """The shape of one input without the batch; () where the model does not say."""
    for layer in _layers(config):
        inner = layer["config"]
        shape = inner.get("batch_shape") or inner.get("batch_input_shape")
        if shape:
            return tuple(shape[1:])
        if layer["class_name"] in MODELS:
            return _input_shape(layer)
    return ()

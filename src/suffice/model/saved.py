"""Saved classifiers: those that come with the package, and folders that `Classifier.save` wrote."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load_file

from suffice.errors import ModelError
from suffice.model.classifier import FORMAT, Classifier
from suffice.model.network import Floats, Network, validated
from suffice.model.tensors import read_step
from suffice.model.tokenizers import FILE, Tokenizer, from_header, own_function

DEFAULT = "sentiment"  # the bundled model that is meant where none is named
NETWORKS = (".onnx", ".pt2", ".keras", ".h5")  # files that `suffice import` reads
PIPELINES = (".skops", ".joblib", ".pkl", ".pickle")  # files of pipelines
BUNDLED = Path(__file__).parents[1] / "models"


def load(name: str | Path, tokenizer: Any = None) -> Classifier:
    """A bundled model by name, or a saved folder; `tokenizer` where the model reads texts with your
    own function.
    """
    if not isinstance(name, str | os.PathLike):
        raise ModelError(f"Give the name of a bundled model or a saved folder, not {name!r}.")
    folder = BUNDLED / name if str(name) in bundled() else Path(name)
    if not os.path.isfile(folder / "classifier.json"):
        raise ModelError(f"There is no model {str(name)!r}: {_instead(folder)}")
    with _damage(name):
        header = json.loads((folder / "classifier.json").read_text(encoding="utf-8"))
        _refuse_format(header["format"])
        named = header["tokenizer"]
    brought = own_function(named, tokenizer)
    with _damage(name):
        words = (
            (folder / "vocabulary.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
        )
        tensors = load_file(folder / "weights.safetensors")
        file = folder / FILE
        saved = file.read_text(encoding="utf-8") if os.path.isfile(file) else None
        classifier = _assemble(header, words, tensors, from_header(named, saved, brought))
    if header.get("digest") != classifier.digest:
        raise ModelError(
            f"The model in {str(name)!r} is damaged: its digest does not match its files."
        )
    return classifier


def _instead(path: Path) -> str:
    """What to give where there is no folder of ours."""
    if path.suffix in NETWORKS and os.path.isfile(path):
        return (
            f"a network is brought in first, by  suffice import {path.name} --labels A,B --out "
            "FOLDER."
        )
    if path.suffix.lower() in PIPELINES and os.path.isfile(path):
        return (
            "give a pipeline itself to sf.from_sklearn; on the command line a .skops file is "
            "a model, too, and of a "
            "pickle  --model FILE  says how to convert it."
        )
    if os.path.isfile(path / "config.json"):
        return (
            f"a transformer is named hf:{path} on the command line, and read by "
            "sf.from_huggingface."
        )
    return f"give a folder with a classifier.json, or one of {', '.join(bundled())}."


class _Refused(Exception):
    """A folder that is whole, but not one that this version reads."""


def _refuse_format(found: Any) -> None:
    if found == FORMAT:
        return
    old = (
        "is of an older version: import or train the model again"
        if found == 1
        else "is unknown here"
    )
    raise _Refused(f"its format {found!r} {old}; this version reads format {FORMAT}.")


@contextmanager
def _damage(name: str | Path) -> Iterator[None]:
    """Whatever goes wrong while a folder is read means that it is damaged."""
    try:
        yield
    except _Refused as error:
        raise ModelError(f"The model in {str(name)!r} cannot be read: {error}") from error
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        SafetensorError,
        RecursionError,
    ) as error:
        what = str(error) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}."
        raise ModelError(f"The model in {str(name)!r} is damaged: {what}") from error


def bundled() -> tuple[str, ...]:
    """The names of the models that come with the package."""
    return tuple(sorted(path.parent.name for path in BUNDLED.glob("*/classifier.json")))


def _assemble(
    header: dict[str, Any], words: list[str], tensors: dict[str, Floats], how: Tokenizer
) -> Classifier:
    curves = header.get("curves", [{}] * len(header["relu"]))
    maxima = header.get("maxima", [[]] * len(header["relu"]))
    marks = zip(header["relu"], curves, maxima, strict=True)
    steps = [read_step(tensors, place, *mark) for place, mark in enumerate(marks)]
    return Classifier(
        network=Network(validated(steps)),
        embedding=tensors["embedding"],
        vocabulary=words,
        labels=header["labels"],
        length=header["length"],
        pad=header["pad"],
        unknown=header["unknown"],
        meta=header.get("meta", {}),
        tokenizer=how,
    )

"""suffice import: a file of another framework becomes a saved classifier."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from suffice.errors import InputError, ModelError
from suffice.importers.keras import from_keras
from suffice.importers.onnx import from_onnx
from suffice.importers.skops import PICKLES, refused_pickle
from suffice.importers.torch import PICKLE, STATE, from_torch
from suffice.importers.vectors import read_vectors
from suffice.model.classifier import Classifier
from suffice.model.tokenizers import HuggingFace

Importer: TypeAlias = Callable[..., Classifier]
FASTTEXT = (
    "needs no import if it is a classifier of fastText: name it as the model, --model "
    "FILE.bin; a pytorch_model.bin "
    "holds weights and no network"
)
REFUSED = {
    ".bin": FASTTEXT,
    ".ftz": (
        "is a quantised model of fastText: name the .bin that it was made from as the model, "
        "--model FILE.bin"
    ),
    ".skops": "is a pipeline and needs no import: name it as the model, --model FILE.skops",
    ".pt": PICKLE,
    ".pth": PICKLE,
    ".safetensors": STATE,
}


def run_import(args: argparse.Namespace) -> tuple[str, str]:
    """`suffice import`: read, compare, save; what was done, and the command to try next."""
    path = Path(args.file)
    importer = _importer(path)
    if not path.is_file():
        raise ModelError(f"There is no file {args.file!r}.")
    tokenizer = HuggingFace(_text(args.tokenizer)) if args.tokenizer else None
    words, table = _words(args, tokenizer)
    classifier = importer(
        path,
        vocabulary=words,
        labels=[label.strip() for label in args.labels.split(",")],
        length=args.length,
        pad=args.pad,
        unknown=args.unknown,
        tokenizer=tokenizer,
        embedding=table,
    )
    classifier.save(args.out)
    return summary(classifier, args.out), f"suffice explain TEXT --model {shlex.quote(args.out)}"


def _importer(path: Path) -> Importer:
    kind = path.suffix.lower()
    if kind in PICKLES:
        raise refused_pickle(path)
    if kind in REFUSED:
        raise ModelError(f"{path.name} {REFUSED[kind]}.")
    match kind:
        case ".onnx":
            return from_onnx
        case ".pt2":
            return from_torch
        case ".keras" | ".h5" | ".hdf5":
            return from_keras
        case _:
            raise ModelError(
                f"{path.name} is of no known kind: give an .onnx, .pt2, .keras or .h5 file."
            )


def _words(
    args: argparse.Namespace, tokenizer: HuggingFace | None
) -> tuple[Sequence[str] | Mapping[str, int], Any]:
    """The vocabulary and, where the network takes vectors, their table."""
    if args.embedding and args.vocabulary:
        raise InputError(
            "The words come from --embedding, in the order of its vectors: leave --vocabulary out."
        )
    if args.embedding:
        return read_vectors(args.embedding, pad=args.pad, unknown=args.unknown)
    if args.vocabulary:
        return read_vocabulary(args.vocabulary), None
    if tokenizer is not None:
        return tokenizer.vocabulary(), None
    raise InputError(
        "Say which words the network knows, in the order of their numbers: --vocabulary FILE."
    )


def read_vocabulary(file: str | Path) -> Sequence[str] | Mapping[str, int]:
    """One word per line, or JSON: a list of words, or an object that gives each word its number."""
    text = _text(file)
    if Path(file).suffix != ".json":
        return text.removesuffix("\n").split("\n")
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InputError(f"{Path(file).name} is not JSON: {error}.") from error
    if not isinstance(found, list | dict):
        raise InputError(
            f"{Path(file).name} must hold a list of words, or an object that gives each its number."
        )
    return found


def _text(file: str | Path) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{Path(file).name} is not UTF-8 text: {error}.") from error


def summary(classifier: Classifier, folder: str) -> str:
    """What came in, and what it was compared with."""
    facts = classifier.meta["import"]
    versions = " and ".join(f"{name} {version}" for name, version in facts["versions"].items())
    seen = ", ".join(f"{label} {count}" for label, count in facts["labels seen"].items())
    smooth = sum(len(units) for step in classifier.network.steps for _, units in step.curves)
    maxima = classifier.network.maxima
    lines = [
        f"Imported {facts['from']}: {', '.join(classifier.labels)}; {classifier.length} words × "
        f"{classifier.dimension} dimensions, {len(classifier.vocabulary)} in the vocabulary, "
        f"{classifier.network.relus} relus{f', {maxima} maxima' if maxima else ''}"
        f"{f', {smooth} smooth units' if smooth else ''}.",
        f"Compared with {facts['compared with']} on "
        f"{facts['compared']}{f' ({versions})' if versions else ''}: "
        f"largest difference {facts['largest difference']:.1e}, "
        f"{facts['allowed difference']:.0e} allowed. "
        f"Labels seen: {seen}.",
        *(
            []
            if facts["compared with"] == "the original"
            else [f"The original was not run: {facts['note']}."]
        ),
        f"Saved in {folder}. Look whether texts of yours get the labels they should, then try",
    ]
    return " ".join(lines)

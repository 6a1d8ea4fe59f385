"""Record: what stands beside certificates so that they can be checked again: the model, or how it
is come by.

A model is data and can be saved, or a program: then there are its name, version and digest, and the
command that checks. Of what stands in a folder nothing is run, and nothing outside of it is read: a
program that a record names is loaded by nobody but who names it again.
"""

from __future__ import annotations

import json
import platform
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from suffice.corpus.journal import write_safely
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.owners import version_of
from suffice.model.tokenizers import Custom
from suffice.version import __version__

# they stand behind the certificates of rows
FILE = "run.json"
MODEL = "used-model"
FORMAT = 1
RUN_BY = (
    "numpy",
    "scipy",
    "sklearn",
    "xgboost",
    "lightgbm",
    "torch",
    "transformers",
    "tokenizers",
    "spacy",
    "onnxruntime",
)
LARGEST = 2**20  # bytes of a record
SHOWN = 200  # characters of what a record says that are repeated


def write_record(folder: str | Path, run: str, classifier: Classifier | BlackBox) -> None:
    """The record of a run whose certificates go into this folder, and the model where it can be
    saved.
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    saved = _saved(path, classifier)
    named = classifier.meta.get("named")
    command = [
        "suffice",
        "check",
        path.name,
        *([] if saved else ["--model", named or "python:MODULE:OBJECT"]),
    ]
    record = {
        "format": FORMAT,
        "run": run,
        "model": {
            "digest": classifier.digest,
            "labels": list(classifier.labels),
            **({"name": classifier.name} if isinstance(classifier, BlackBox) else {}),
            **({"saved": saved} if saved else {}),
            **{
                name: classifier.meta[name]
                for name in ("named", "version", "import")
                if name in classifier.meta
            },
        },
        "versions": {"suffice": __version__, "python": platform.python_version(), **_packages()},
        "command": shlex.join(command),
    }
    data = json.dumps(record, indent=2, ensure_ascii=False, default=str) + "\n"
    write_safely(path / FILE, data.encode())


def _packages() -> dict[str, str | None]:
    """The versions of what models are run by, as far as it is loaded."""
    return {name: version_of(name) for name in RUN_BY if name in sys.modules}


def _saved(folder: Path, classifier: Classifier | BlackBox) -> str:
    """The name of the model in the folder; empty where it cannot be saved, or not read again
    without code.
    """
    if isinstance(classifier, BlackBox):
        return "" if classifier.keep is None else classifier.keep(folder)
    if isinstance(classifier.reader, Custom):
        return ""
    classifier.save(folder / MODEL)
    return MODEL


# --- reading ---


def records(folder: Path) -> Iterator[dict[str, Any]]:
    """What the records below a folder say of their models; what is no record is passed over."""
    for path in sorted(folder.rglob(FILE)):
        if not inside(path, folder) or path.stat().st_size > LARGEST:
            continue
        try:
            model = json.loads(path.read_bytes())["model"]
            if isinstance(model["digest"], str):
                yield model
        except (ValueError, LookupError, TypeError, RecursionError):
            continue


def models(folder: Path) -> Iterator[Path]:
    """Saved models below a folder: folders of ours, and pipelines in files of skops."""
    for path in sorted([*folder.rglob("classifier.json"), *folder.rglob("*.skops")]):
        place = path if path.suffix == ".skops" else path.parent
        if all(inside(one, folder) for one in ([place] if place.is_file() else place.iterdir())):
            yield place


def inside(path: Path, folder: Path) -> bool:
    """Whether a file really lies in the folder: what somebody sends may name or link to others of
    this machine.
    """
    return path.resolve().is_relative_to(folder.resolve()) and path.is_file()


def how_to_come_by(model: dict[str, Any], folder: Path) -> str:
    """What to do about a model that is not in its folder, by what its record says of it."""
    named, called = (_printable(model.get(name)) for name in ("named", "name"))
    if named:
        command = shlex.join(["suffice", "check", str(folder), "--model", named])
        return (
            f"which is not in the folder. By its record it is {named!r}; its code is run if you "
            f"say so:  {command}"
        )
    return (
        f"which is not in the folder{f' and is called {called!r}' if called else ''}: name it by "
        "--model."
    )


def _printable(said: Any) -> str:
    return said if isinstance(said, str) and said.isprintable() and len(said) <= SHOWN else ""

"""Named: what a command line names: a name, a folder, FILE.skops, FILE.bin, hf:FOLDER or
python:module:object.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from suffice.errors import ModelError
from suffice.importers.skops import PICKLES, from_skops, refused_pickle
from suffice.model.blackbox import BlackBox, from_function
from suffice.model.classifier import Classifier
from suffice.model.saved import load


def load_any(name: str | Path) -> Classifier | BlackBox:
    """A model or folder by its name, FILE.skops, fastText's FILE.bin, a transformer by hf:FOLDER,
    python:module:object.

    The object of a module may be a classifier, a fitted pipeline of scikit-learn, a predict
    function with an attribute `labels`, or a function without parameters that gives one of these.
    Its code is run.
    """
    found = _loaded(name)
    if not isinstance(found, BlackBox):
        return found
    return replace(found, again=(load_any, (str(name),)), meta={**found.meta, "named": str(name)})


def _loaded(name: str | Path) -> Classifier | BlackBox:
    kind, _, rest = str(name).partition(":")
    if kind == "hf" and rest:
        from suffice.importers.huggingface import from_huggingface

        return from_huggingface(rest)
    if kind == "python" and rest:
        return _classifier(_object(rest), rest)
    if str(name).endswith((".skops", *PICKLES)):
        return _pipeline(Path(name))
    if str(name).endswith((".bin", ".ftz")):
        from suffice.importers.fasttext import from_fasttext

        return from_fasttext(name)
    return load(name)


def _pipeline(path: Path) -> Classifier | BlackBox:
    """A pipeline from a file of skops; a pickle is never loaded."""
    if path.suffix != ".skops":
        raise refused_pickle(path)
    found = from_skops(path)
    return replace(found, again=(load_any, (str(path),))) if isinstance(found, BlackBox) else found


def _object(path: str) -> Any:
    module, _, attribute = path.partition(":")
    if not module or not attribute:
        raise ModelError(f"python:{path} names no object: write python:module:object.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        raise ModelError(
            f"The module {module!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ModelError(f"The module {module!r} has no {attribute!r}.")
        found = getattr(found, part)
    return found


def _classifier(found: Any, path: str, called: bool = False) -> Classifier | BlackBox:
    if isinstance(found, Classifier | BlackBox):
        return found
    if hasattr(found, "predict_proba") or hasattr(found, "decision_function"):
        from suffice.importers.sklearn import from_sklearn

        return from_sklearn(found)
    if callable(found) and hasattr(found, "labels"):
        name = getattr(found, "name", path)
        version = getattr(found, "version", None)
        return from_function(found, found.labels, name, version=version)
    if callable(found) and not called:
        try:
            made = found()
        except TypeError as error:
            raise ModelError(
                f"{path} is a function without `labels`: give it an attribute `labels`, or "
                "name a function without "
                f"parameters that gives a classifier ({error})."
            ) from error
        return _classifier(made, path, called=True)
    raise ModelError(
        f"{path} is a {type(found).__name__}, neither a classifier nor a predict function "
        "with `labels`."
    )

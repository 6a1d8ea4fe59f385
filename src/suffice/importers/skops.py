"""Files of skops: a fitted pipeline from a file that runs no code, if all in it is of types that
skops trusts.
"""

from __future__ import annotations

import shlex
import zipfile
import zlib
from pathlib import Path
from typing import Any

from suffice.errors import MissingExtra, ModelError, SufficeError
from suffice.importers.vetted import Refused, plain, refuse_unsafe
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier

FILE = "used-model.skops"  # of a pipeline that is saved beside certificates
PICKLES = (".pkl", ".pickle", ".joblib")
LOADERS = {".joblib": ("joblib", "joblib.load({!r})")}
PICKLED = ("pickle", "pickle.load(open({!r}, 'rb'))")


def refused_pickle(path: Path) -> ModelError:
    """Why a pickle is not read, and the line that makes another file of it, for those
    who trust it.
    """
    package, loader = LOADERS.get(path.suffix.lower(), PICKLED)
    made = str(path.with_suffix(".skops"))
    line = f"import {package}, skops.io; skops.io.dump({loader.format(str(path))}, {made!r})"
    shown = shlex.quote(line) if set(line) & set('"$`\\!') else f'"{line}"'
    return ModelError(
        f"{str(path)!r} is a pickle, and loading a pickle runs whatever code is in it. If you "
        "trust it, convert it "
        f"and name the .skops file as the model: python -c {shown} (or give the pipeline to "
        "sf.from_sklearn in Python)."
    )


def from_skops(path: str | Path) -> Classifier | BlackBox:
    """The pipeline of a .skops file (extra `skops`), as `from_sklearn` takes it; types not trusted
    are refused.
    """
    try:
        import skops.io
    except ImportError as error:
        raise MissingExtra("skops", "skops") from error
    path = Path(path)
    if not path.is_file():
        raise ModelError(f"There is no file {str(path)!r}.")
    try:
        data = plain(path)
        strange = skops.io.get_untrusted_types(data=data)
        found = None if strange else skops.io.loads(data)
    except Refused as error:
        raise ModelError(f"{str(path)!r} is not read: {error}.") from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(f"{str(path)!r} is no file of skops: {error}.") from error
    except Exception as error:  # whatever a strange file makes it raise
        what = f"{type(error).__name__}: {error}"
        raise ModelError(f"{str(path)!r} cannot be read as a file of skops: {what}") from error
    if strange:
        raise ModelError(
            f"{str(path)!r} holds types that are not trusted: "
            f"{', '.join(map(str, strange[:5]))}. If you trust them, "
            "load it in Python with skops.io.load(file, trusted=...) and give it to "
            "sf.from_sklearn."
        )
    from suffice.importers.sklearn import from_sklearn

    try:
        refuse_unsafe(found, len(data))
        return from_sklearn(found)
    except Refused as error:
        raise ModelError(
            f"{str(path)!r} is not taken: {error}. If you trust the file, load it in Python "
            "with skops.io.load(file) "
            "and give it to sf.from_sklearn."
        ) from error
    except SufficeError:
        raise
    except Exception as error:  # parts that do not fit together, wherever that shows first
        what = f"{type(error).__name__}: {error}"
        raise ModelError(f"The pipeline in {str(path)!r} does not work: {what}") from error


def kept(pipeline: Any, digest: str, folder: Path) -> str:
    """The name of the file in a folder that a pipeline was saved in; empty where it would not be
    read as the same.
    """
    file = folder / FILE
    try:
        import skops.io

        skops.io.dump(pipeline, file)
        same = from_skops(file).digest == digest
    except Exception:  # a function of its own, a type that is not trusted, no skops
        same = False
    if not same:
        file.unlink(missing_ok=True)
    return FILE if same else ""

"""Vetted: what is looked at before a pipeline of scikit-learn from a stranger's file is used.

skops sees to it that a file runs no code of its own. It does not see to what takes memory or time
out of proportion to the file, nor to numbers that compiled code uses as places in memory without
looking: these are looked at here.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from suffice.model.packed import MOST_TIMES, most_of
from suffice.model.patterns import why_refused

PIECE = 2**16  # bytes that are unpacked at a time
MOST_WORDS = 100  # or characters that a feature may be made of
MOST_JOBS = 64
# features of a HashingVectorizer, as scikit-learn has them; more need weights in the file
HASHED = 2**20
# how an archive and an array begin
ZIP = b"PK"
NPY = b"\x93NUMPY"
SPLIT = ("\\S+", "(?u)\\S+")

# Estimators whose predictions are NumPy's and SciPy's sums over arrays that the file holds: no code
# of their own that follows places in memory which the file names, and nothing that grows beyond
# what the file holds.
KNOWN = {
    *("Pipeline", "FeatureUnion", "GridSearchCV", "RandomizedSearchCV", "FrozenEstimator"),
    *(
        "CountVectorizer",
        "TfidfVectorizer",
        "TfidfTransformer",
        "HashingVectorizer",
        "FeatureHasher",
    ),
    *(
        "MaxAbsScaler",
        "StandardScaler",
        "Normalizer",
        "Binarizer",
        "FunctionTransformer",
        "TruncatedSVD",
    ),
    *(
        "SelectKBest",
        "SelectPercentile",
        "SelectFpr",
        "SelectFdr",
        "SelectFwe",
        "VarianceThreshold",
    ),
    *("LogisticRegression", "LogisticRegressionCV", "LinearSVC", "SGDClassifier", "Perceptron"),
    *(
        "PassiveAggressiveClassifier",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "LinearDiscriminantAnalysis",
    ),
    *(
        "MultinomialNB",
        "ComplementNB",
        "BernoulliNB",
        "GaussianNB",
        "MLPClassifier",
        "DummyClassifier",
    ),
    *(
        "CalibratedClassifierCV",
        "OneVsRestClassifier",
        "VotingClassifier",
        "LabelBinarizer",
        "LabelEncoder",
    ),
}


class Refused(Exception):
    """Why a file is not taken, as the end of a sentence."""


# --- the archive ---


def plain(path: Path) -> bytes:
    """The archive with nothing in it compressed, archives inside it too; Refused where that is too
    large.
    """
    most = most_of(path.stat().st_size)
    return _Budget(most).plain(path.read_bytes())


class _Budget:
    """How many bytes may still be unpacked."""

    def __init__(self, left: int) -> None:
        self.left = left

    def plain(self, data: bytes) -> bytes:
        made = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(made, "w") as out:
            parts = archive.infolist()
            if len({part.filename for part in parts}) != len(parts):
                raise Refused("two of its entries have the same name")
            for part in parts:
                if (
                    part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
                    or part.flag_bits & 1
                ):
                    raise Refused(
                        f"its entry {part.filename[:80]!r} is packed in a way that skops does "
                        "not use"
                    )
                out.writestr(part.filename, self._content(archive, part))
        return made.getvalue()

    def _content(self, archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bytes:
        """What an entry holds, unpacked piece by piece: what it declares may be anything."""
        if part.file_size > self.left:
            raise Refused(f"unpacked, it is more than {MOST_TIMES} times as large as it is")
        found = bytearray()
        with archive.open(part) as file:
            while piece := file.read(PIECE):
                found += piece
                self.left -= len(piece)
                if self.left < 0:
                    raise Refused(f"unpacked, it is more than {MOST_TIMES} times as large as it is")
        if found.startswith(ZIP):
            return self.plain(bytes(found))
        if found.startswith(NPY):
            _refuse_larger(bytes(found), part.filename)
        return bytes(found)


def _refuse_larger(data: bytes, name: str) -> None:
    """An array must not declare more numbers than it holds: room for all of them is made first."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, kind = read(file)
    if min(shape, default=0) < 0 or math.prod(shape) * max(1, kind.itemsize) > len(data):
        raise Refused(f"its array {name[:80]!r} declares the shape {shape}, which it does not hold")


# --- the pipeline ---


def refuse_unsafe(pipeline: Any, size: int) -> None:
    """Refused where a part of a pipeline, from a file of `size` bytes, asks for more than it
    should.
    """
    from sklearn.base import BaseEstimator

    for one in _parts(pipeline):
        if hasattr(one, "check_format"):
            one.check_format(full_check=True)  # places beyond the matrix would be written to
        if (
            hasattr(one, "toarray")
            and 8 * math.prod(one.shape) > most_of(size)
            and min(one.shape) < max(one.shape)
        ):
            raise Refused(f"it holds a sparse matrix of {one.shape[0]} x {one.shape[1]} numbers")
        if isinstance(one, BaseEstimator):
            _refuse_estimator(type(one).__name__, vars(one), size)


def _parts(whole: Any) -> Iterator[Any]:
    """All that hangs together with something, each once."""
    waiting = [whole]
    seen = dict[int, Any]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, str | bytes | int | float | type | None):
            continue
        seen[id(one)] = one
        yield one
        if isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            waiting += one
        elif isinstance(one, np.ndarray):
            waiting += one.ravel().tolist() if one.dtype.hasobject else []
        else:
            waiting += getattr(one, "__dict__", {}).values()


def _refuse_estimator(name: str, given: dict[str, Any], size: int) -> None:
    if name not in KNOWN:
        raise Refused(
            f"it holds a {name}, and only {', '.join(sorted(KNOWN))} are taken from a file"
        )
    pattern = given.get("token_pattern")
    orders = given.get("ngram_range", (1, 1))
    width = given.get("n_features", 1)
    if (
        pattern is not None or name in ("CountVectorizer", "TfidfVectorizer")
    ) and pattern not in SPLIT:
        slow = _why_slow(pattern)
        if slow:
            raise Refused(
                f"the token_pattern {str(pattern)[:80]!r} could take for ever on some text: {slow}"
            )
    right = (
        isinstance(orders, tuple | list)
        and len(orders) == 2
        and all(type(order) is int for order in orders)
    )
    if not right or not 1 <= orders[0] <= orders[1] <= MOST_WORDS:
        raise Refused(
            f"ngram_range={_short(orders)} is not two whole numbers from 1 to {MOST_WORDS}"
        )
    if name.endswith(("Hasher", "HashingVectorizer")) and not (
        type(width) is int and 1 <= width <= max(HASHED, size // 8)
    ):
        raise Refused(
            f"{name}(n_features={_short(width)}) has more features than the file has weights"
        )
    if given.get("input", "content") != "content" and name.endswith("Vectorizer"):
        raise Refused(f"{name}(input={_short(given['input'])}) opens other files")
    if given.get("memory") is not None:
        raise Refused(f"{name}(memory={_short(given['memory'])}) opens other files")
    jobs = given.get("n_jobs")
    if jobs is not None and not (type(jobs) is int and abs(jobs) <= MOST_JOBS):
        raise Refused(f"{name}(n_jobs={_short(jobs)}) asks for more than {MOST_JOBS} processes")
    if "vocabulary_" in given:
        _refuse_places(name, given["vocabulary_"])


def _refuse_places(name: str, vocabulary: Any) -> None:
    """Each word has a column of its own, and no column is beyond the last: counts are written there
    unseen.
    """
    right = isinstance(vocabulary, dict) and all(isinstance(word, str) for word in vocabulary)
    right = right and all(isinstance(place, int | np.integer) for place in vocabulary.values())
    if not right or sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise Refused(f"the vocabulary_ of the {name} does not number its words from 0 on")


def _why_slow(pattern: Any) -> str:
    if not isinstance(pattern, str):
        return "it is no string"
    try:
        return why_refused(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"it is no regular expression ({error})"


def _short(value: Any) -> str:
    return repr(value)[:60]

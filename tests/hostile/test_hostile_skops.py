"""Files of skops from strangers: nothing in them takes time or memory out of proportion to the
file.
"""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import skops.io
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import SVC

from suffice.errors import ModelError
from suffice.importers.named import load_any
from suffice.importers.vetted import Refused, refuse_unsafe
from suffice.model.patterns import why_refused
from tests.hostile.limited import limited, only_linux

TEXTS = ["good film", "bad film", "a fine plot", "dull"]
LABELS = ["yes", "no", "yes", "no"]
LOAD = (
    "import skops.io, sklearn.pipeline, suffice.importers.sklearn\nfrom suffice.importers.named "
    "import load_any"
)
ASK = "load_any(given[0]).predict('a' * 40 + ' b').label"


def fitted(*steps: Any) -> Pipeline:
    return make_pipeline(*steps).fit(TEXTS, LABELS)


def changed(read: Any, **options: Any) -> Pipeline:
    """A pipeline whose vectorizer has other options than it was fitted with, as a file may say."""
    made = fitted(read, LogisticRegression())
    for name, value in options.items():
        setattr(made[0], name, value)
    return made


def repacked(path: Path, change: Any, packing: int = zipfile.ZIP_DEFLATED) -> None:
    """A file of skops with the content of its entries changed by a function of name and content."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", packing, compresslevel=None if packing else 9) as archive:
        for name, content in parts.items():
            archive.writestr(name, change(name, content))


REFUSED = {
    "a pattern that tries all ways": (
        changed(TfidfVectorizer(), token_pattern="(a+)+$"),
        "could take for ever",
    ),
    "such a pattern in a union": (
        fitted(
            FeatureUnion([("a", CountVectorizer()), ("b", CountVectorizer())]), LogisticRegression()
        ),
        "could take for ever",
    ),
    "a pattern that is none": (
        changed(CountVectorizer(), token_pattern="(((("),
        "is no regular expression",
    ),
    "runs of words": (
        changed(CountVectorizer(), ngram_range=(1, 10**9)),
        "ngram_range=(1, 1000000000)",
    ),
    "runs of characters": (
        changed(CountVectorizer(analyzer="char"), ngram_range=(1, 10**9)),
        "ngram_range",
    ),
    "runs in words": (
        changed(TfidfVectorizer(analyzer="char_wb"), ngram_range=(1, 10**9)),
        "ngram_range",
    ),
    "texts that are files": (changed(CountVectorizer(), input="filename"), "opens other files"),
    "a column beyond the last": (
        changed(CountVectorizer(), vocabulary_={"good": 0, "film": 10**9}),
        "vocabulary_",
    ),
    "what grows": (
        fitted(CountVectorizer(), PolynomialFeatures(2), LogisticRegression()),
        "a PolynomialFeatures",
    ),
    "compiled code that trusts places": (
        fitted(CountVectorizer(), SVC()),
        "are not trusted: scipy.sparse",
    ),
    "such code without weights of its own": (fitted(CountVectorizer(), SVC()), "a SVC"),
}
vars(REFUSED["such code without weights of its own"][0][1]).update(
    support_vectors_=None, dual_coef_=None, _dual_coef_=None
)
REFUSED["such a pattern in a union"][0][0].transformer_list[1][1].token_pattern = "(a|a)*b"


@pytest.mark.parametrize("name", REFUSED)
def test_a_pipeline_that_asks_for_more_than_its_file_holds_is_refused(name, tmp_path):
    pipeline, said = REFUSED[name]
    skops.io.dump(pipeline, tmp_path / "m.skops")
    with pytest.raises(ModelError, match=f"{re.escape(said)}.*skops.io.load"):
        load_any(tmp_path / "m.skops")


@only_linux
def test_features_by_hashing_are_no_more_than_the_file_has_weights(tmp_path):
    skops.io.dump(
        changed(HashingVectorizer(n_features=64), n_features=2**31 - 1), tmp_path / "m.skops"
    )
    answer = limited(LOAD, ASK, [tmp_path / "m.skops"], megabytes=600)
    assert "n_features=2147483647" in answer


@pytest.mark.parametrize(
    "pattern", ["(a|a)*b", "(?:a|a|a)+b", "(?:ab|ab)*c", "(?:(?:a|)|)c", "(?:|)x"]
)
def test_two_ways_to_match_nothing_are_two_ways(pattern):
    """Python reads (a|a) as a(|), which tries both."""
    assert "two of its alternatives may be nothing" in why_refused(pattern)
    assert not why_refused("(?:a|b|)c")


@pytest.mark.parametrize(
    "pattern",
    [r"(?u)\b\w\w+\b", r"\w+", r"\S+", r"(?u)\S+", r"\b[a-z']+\b", r"\w+|[^\w\s]", r"(?u)\b\w+\b"],
)
def test_patterns_that_people_use_are_taken(pattern, tmp_path):
    pipeline = fitted(TfidfVectorizer(token_pattern=pattern, ngram_range=(1, 2)), MultinomialNB())
    skops.io.dump(pipeline, tmp_path / "m.skops")
    for text in TEXTS:
        assert load_any(tmp_path / "m.skops").predict(text).label == pipeline.predict([text])[0]


def test_sparse_weights_with_places_beyond_them_are_refused():
    pipeline = fitted(TfidfVectorizer(), LogisticRegression())
    pipeline[1].sparsify()
    refuse_unsafe(pipeline, 1000)
    pipeline[1].coef_.indices[0] = 10**6
    with pytest.raises(ValueError, match="indices must be < "):
        refuse_unsafe(pipeline, 1000)
    pipeline[1].coef_ = scipy.sparse.csr_matrix((1, 2**31))
    with pytest.raises(Refused, match="a sparse matrix of 1 x 2147483648 numbers"):
        refuse_unsafe(pipeline, 1000)


def npy(shape: tuple[int, ...], content: bytes = b"") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return file.getvalue() + content


def zeros(shape: tuple[int, ...]) -> bytes:
    return npy(shape, bytes(8 * int(np.prod(shape))))


def inner(content: bytes) -> bytes:
    """An archive of zeros, as sparse weights are kept."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", content)
    return file.getvalue()


BOMBS = {
    "zeros": lambda name, content: zeros((2**24,)) if name.endswith(".npy") else content,
    "a shape that is not there": lambda name, content: (
        npy((2**50,)) if name.endswith(".npy") else content
    ),
    "a larger shape": lambda name, content: (
        npy((2**28,), bytes(8)) if name.endswith(".npy") else content
    ),
    "spaces": lambda name, content: content + b" " * 2**29 if name == "schema.json" else content,
    "lists in lists": lambda name, content: b"[" * 10**6 if name == "schema.json" else content,
}


@only_linux
@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_unpacks_to_far_more_is_refused(name, tmp_path):
    path = tmp_path / "m.skops"
    skops.io.dump(fitted(TfidfVectorizer(), LogisticRegression()), path)
    repacked(path, BOMBS[name])
    assert path.stat().st_size < 2**22
    assert limited(LOAD, ASK, [path], megabytes=500).startswith("refused: ")


@only_linux
@pytest.mark.parametrize("lies", [False, True])
def test_an_archive_in_the_archive_is_unpacked_within_the_same_limit(lies, tmp_path):
    """A hundred megabytes of zeros inside another archive; and an entry that declares a hundred
    bytes of it.
    """
    path = tmp_path / "m.skops"
    pipeline = fitted(TfidfVectorizer(), LogisticRegression())
    pipeline[1].sparsify()
    skops.io.dump(pipeline, path)
    bomb = inner(zeros((2**24,)))
    repacked(path, lambda name, content: bomb if name.endswith(".npz") else content)
    if lies:
        data = path.read_bytes()
        path.write_bytes(
            data.replace((len(bomb)).to_bytes(4, "little"), (100).to_bytes(4, "little"))
        )
    assert limited(LOAD, ASK, [path], megabytes=500).startswith("refused: ")


def test_packings_that_take_memory_of_their_own_and_entries_twice_are_refused(tmp_path):
    path = tmp_path / "m.skops"
    skops.io.dump(fitted(TfidfVectorizer(), LogisticRegression()), path)
    repacked(path, lambda name, content: content, zipfile.ZIP_LZMA)
    with pytest.raises(ModelError, match="packed in a way that skops does not use"):
        load_any(path)
    skops.io.dump(fitted(TfidfVectorizer(), LogisticRegression()), path)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("schema.json", "{}")
    with pytest.raises(ModelError, match="have the same name"):
        load_any(path)


def test_parts_that_do_not_fit_together_are_one_sentence(tmp_path):
    pipeline = fitted(TfidfVectorizer(), LogisticRegression())
    pipeline[1].coef_ = pipeline[1].coef_[:, :2]
    skops.io.dump(pipeline, tmp_path / "m.skops")
    with pytest.raises(ModelError):
        load_any(tmp_path / "m.skops")

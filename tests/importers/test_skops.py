"""Files of skops: pipelines come in as they are, and nothing that is not trusted does."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import joblib
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline

import suffice as sf
from suffice.cli import main
from suffice.errors import MissingExtra, ModelError
from suffice.importers.named import load_any

GOOD = [
    "The soup was warm and the bread fresh",
    "A kind waiter brought fresh bread",
    "Loved the warm soup",
]
BAD = ["The soup was cold and the bread stale", "A rude waiter forgot us", "Hated the cold soup"]
TEXT = "The waiter was kind, but the soup was cold"


class Louder(CountVectorizer):
    """A class of one's own, which no file may bring in."""


def pickled(pipeline: Pipeline, path: Path) -> None:
    path.write_bytes(pickle.dumps(pipeline))


def fitted(vectorizer: Any, model: Any) -> Pipeline:
    return make_pipeline(vectorizer, model).fit(GOOD + BAD, ["good"] * 3 + ["bad"] * 3)


@pytest.mark.parametrize("model", [LogisticRegression(), MultinomialNB()], ids=str)
def test_a_file_answers_as_the_pipeline_that_was_saved(model, tmp_path):
    pipeline = fitted(TfidfVectorizer(), model)
    skops.io.dump(pipeline, tmp_path / "model.skops")
    found = load_any(tmp_path / "model.skops")
    given = sf.from_sklearn(pipeline)
    assert found.meta["import"]["way"] == given.meta["import"]["way"]
    for text in GOOD + BAD:
        assert found.predict(text).scores == given.predict(text).scores
    assert pickle.loads(pickle.dumps(found)).predict(TEXT).label == found.predict(TEXT).label


def test_the_command_line_takes_a_file(tmp_path, capsys):
    skops.io.dump(fitted(TfidfVectorizer(), LogisticRegression()), tmp_path / "model.skops")
    assert main(["explain", TEXT, "--model", str(tmp_path / "model.skops"), "--deletion"]) == 0
    assert "of 10 words is enough: proved" in " ".join(capsys.readouterr().out.split())


def test_types_that_are_not_trusted_are_refused_by_name(tmp_path):
    skops.io.dump(fitted(Louder(), LogisticRegression()), tmp_path / "model.skops")
    with pytest.raises(ModelError, match=r"not trusted: .*Louder"):
        load_any(tmp_path / "model.skops")
    skops.io.dump(fitted(TfidfVectorizer(), RandomForestClassifier(5)), tmp_path / "forest.skops")
    with pytest.raises(
        ModelError, match=r"not trusted: sklearn.tree"
    ):  # skops itself does not trust them
        load_any(tmp_path / "forest.skops")


def test_what_is_no_such_file_is_refused(tmp_path, monkeypatch):
    (tmp_path / "text.skops").write_text("hello")
    with zipfile.ZipFile(tmp_path / "empty.skops", "w") as archive:
        archive.writestr("schema.json", "{}")
    with pytest.raises(ModelError, match="There is no file"):
        load_any(tmp_path / "none.skops")
    with pytest.raises(ModelError, match="is no file of skops"):
        load_any(tmp_path / "text.skops")
    with pytest.raises(ModelError, match="cannot be read as a file of skops"):
        load_any(tmp_path / "empty.skops")
    monkeypatch.setattr("suffice.importers.vetted.most_of", lambda size: 1)
    with pytest.raises(ModelError, match="more than 100 times as large as it is"):
        load_any(tmp_path / "empty.skops")


@pytest.mark.parametrize("name", ["model.pkl", "model.pickle", "model.joblib"])
def test_a_pickle_is_never_loaded(name, tmp_path):
    (tmp_path / name).write_bytes(pickle.dumps(fitted(TfidfVectorizer(), LogisticRegression())))
    with pytest.raises(
        ModelError, match="is a pickle, and loading a pickle runs whatever code is in it"
    ):
        load_any(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "save"), [("model.joblib", joblib.dump), ("a model.pkl", pickled)]
)
def test_a_pickle_is_refused_with_the_line_that_converts_it(name, save, tmp_path):
    """The line is run as it stands, by a shell: the file that it makes answers as the pipeline
    does.
    """
    pipeline = fitted(TfidfVectorizer(), LogisticRegression())
    save(pipeline, tmp_path / name)
    with pytest.raises(ModelError) as caught:
        load_any(tmp_path / name)
    line = re.search(r"python -c (\".*?\")", str(caught.value))
    assert line is not None
    subprocess.run(f"{sys.executable} -c {line[1]}", shell=True, check=True)
    found = load_any((tmp_path / name).with_suffix(".skops"))
    assert found.predict(TEXT).label == pipeline.predict([TEXT])[0]


@pytest.mark.parametrize("name", ["model.joblib", "model.pkl"])
def test_a_pickle_is_refused_in_python_with_what_to_do(name, tmp_path):
    """It said that there is no such model, or that a path is no pipeline."""
    joblib.dump(fitted(TfidfVectorizer(), LogisticRegression()), tmp_path / name)
    for path in (tmp_path / name, str(tmp_path / name)):
        with pytest.raises(ModelError, match=r"is a pickle, .* python -c .*skops\.io\.dump"):
            sf.from_sklearn(path)
        with pytest.raises(
            ModelError, match=r"give a pipeline itself to sf\.from_sklearn; .*convert it"
        ):
            sf.load(path)


def test_without_the_package_the_answer_is_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(MissingExtra, match=r"extra 'skops'"):
        load_any(tmp_path / "model.skops")

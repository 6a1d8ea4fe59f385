"""Other people's tools: what they get is what the answer says."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import suffice as sf

TEXT = "The zzyzx film is warm, funny and never dull"


@pytest.fixture(scope="module")
def classifier():
    return sf.load("sentiment")


@pytest.fixture(scope="module")
def answer(classifier):
    return sf.explain(classifier, TEXT, perturbation=sf.Deletion())


def test_a_frame_has_a_row_for_each_word_and_marks_the_set(answer):
    pytest.importorskip("pandas")
    table = answer.to_frame()
    assert list(table.columns) == ["position", "word", "start", "end", "in_set", "unknown"]
    assert tuple(table[table["in_set"]]["position"]) == answer.positions
    assert [TEXT[row.start : row.end] for row in table.itertuples()] == list(table["word"])
    assert list(table[table["unknown"]]["word"]) == ["zzyzx"]
    assert (table.attrs["label"], table.attrs["status"]) == (answer.label, answer.status)


def test_without_pandas_it_is_said_what_to_install(answer, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sf.MissingExtra, match=r"extra 'pandas'"):
        answer.to_frame()


def test_shap_takes_the_fields_as_they_are(answer, classifier):
    fields = answer.to_shap()
    assert tuple(np.flatnonzero(fields["values"])) == answer.positions
    shares = sf.attribute(classifier, TEXT, perturbation=sf.Deletion())
    wanted = {item.word.position: item.share for item in shares.shares}
    assert list(shares.to_shap()["values"]) == [
        wanted.get(i, 0.0) for i in range(len(answer.text.words))
    ]
    shap = pytest.importorskip("shap")
    taken = shap.Explanation(**fields)
    assert list(taken.values) == list(fields["values"])
    assert list(taken.data) == [word.text for word in answer.text.words]


def test_metrics_of_an_audit_are_flat_numbers(classifier, tmp_path):
    texts = ["she is a kind doctor", "a film about nobody"]
    found = sf.audit(
        classifier, texts, ["she"], report=tmp_path / "r.html", perturbation=sf.Deletion()
    )
    metrics = found.to_metrics()
    assert (metrics["texts"], metrics["asked"], metrics["errors"]) == (2, found.overall.asked, 0)
    assert metrics["dependent_at_least"] == found.overall.dependent / found.overall.asked

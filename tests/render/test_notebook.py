"""Notebooks: answers show themselves, tried by really executing the tutorial."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import suffice as sf
from suffice.corpus.findings import summarise

TUTORIAL = Path(__file__).parents[2] / "examples" / "tutorial.ipynb"
HOSTILE = "<script>alert(1)</script> great film"


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The tutorial after a real kernel ran it, in a folder of its own."""
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.read(TUTORIAL, as_version=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the notebook machinery, not ours
        NotebookClient(
            notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}
        ).execute()
    return notebook, folder


def outputs(notebook, kind: str) -> list[str]:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        data[kind]
        for cell in cells
        for one in cell.outputs
        if kind in (data := one.get("data", {}))
    ]


def test_the_tutorial_runs_and_complains_of_nothing(executed):
    notebook, _ = executed
    streams = [
        one
        for cell in notebook.cells
        for one in cell.get("outputs", ())
        if one.output_type in ("error", "stream")
    ]
    assert [one.name for one in streams] == ["stdout"]
    assert "accepted" in streams[0].text or "proved" in streams[0].text.lower()


def test_its_answers_are_shown_as_html(executed):
    shown = outputs(executed[0], "text/html")
    assert len(shown) == 5
    assert all('<section class="suffice cell">' in one for one in shown)
    marked = re.findall(r"<mark[^>]*>(.*?)</mark>", shown[0])
    assert marked == ["gripping", "beautifully"]


def test_its_plots_are_shown_as_pictures(executed):
    assert len(outputs(executed[0], "image/png")) == 3


def test_it_leaves_a_report(executed):
    assert "2 of 12 words are enough" in (executed[1] / "report.html").read_text(encoding="utf-8")


def test_the_tutorial_is_kept_without_outputs():
    notebook = nbformat.read(TUTORIAL, as_version=4)
    assert not [
        cell for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")
    ]


@pytest.fixture(scope="module")
def classifier():
    return sf.load("sst-fc25")


def test_every_answer_shows_itself_and_keeps_hostile_texts_as_text(classifier):
    sets = {"perturbation": sf.Deletion()}
    answers = [
        sf.explain(classifier, HOSTILE, **sets),
        sf.contrast(classifier, HOSTILE, **sets),
        sf.bias(classifier, HOSTILE, ["film"], **sets),
        sf.attribute(classifier, HOSTILE, **sets),
        sf.profile(classifier, HOSTILE, sf.KNNBox, [5]),
        summarise([{"row": 1, "text": HOSTILE, "error": "<b>no</b>"}]),
    ]
    for answer in answers:
        shown = answer._repr_html_()
        assert "<script" not in shown
        assert "<b>" not in shown
        assert '<section class="suffice cell">' in shown


def test_two_answers_in_one_notebook_do_not_share_ids(classifier):
    one = sf.explain(classifier, HOSTILE, perturbation=sf.Deletion())._repr_html_()
    other = sf.explain(classifier, HOSTILE, perturbation=sf.KNNBox(5))._repr_html_()
    assert not set(re.findall(r' id="(\S+)"', one)) & set(re.findall(r' id="(\S+)"', other))

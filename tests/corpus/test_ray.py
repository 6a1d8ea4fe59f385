"""The same batch on a real Ray cluster of two workers, also when one of them dies."""

from __future__ import annotations

import json
import sys

import pytest
from deadly import Deadly
from helpers import explain_rows, make_classifier, make_text

import suffice as sf
from suffice.cli import main
from suffice.corpus import journal, pools
from suffice.corpus.rows import Row

pytest.importorskip("ray")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # ray warns about its own future
    pytest.mark.xdist_group("ray"),  # one cluster is enough
]


@pytest.fixture(scope="module")
def cluster():
    """One local cluster for all tests of this file."""
    ray = pools._ray()
    ray.init(**pools._cluster(2))
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def small() -> sf.Classifier:
    return make_classifier(3)


def timeless(lines: list[dict]) -> list[dict]:
    plain = json.loads(json.dumps(lines))
    for line in plain:
        line.pop("checksum", None)
        line.get("explanation", {}).pop("stats", None)
    return plain


def test_results_are_those_of_the_local_engine(cluster, small, tmp_path):
    texts = [Row(i, tuple(make_text(i)), str(i % 2)) for i in range(1, 13)] + [Row(13, "")]
    options = {"perturbation": sf.KNNBox(3), "certificates": None}
    local = explain_rows(small, texts, tmp_path / "local", **options)
    there = explain_rows(small, texts, tmp_path / "ray", engine="ray", workers=2, **options)
    assert timeless(there) == timeless(local)
    assert (tmp_path / "ray").read_bytes().count(b"\n") == 13


def test_the_death_of_a_worker_loses_nothing(cluster, small, tmp_path):
    texts = [Row(i, f"word{i % 8}") for i in range(1, 9)]
    calm = explain_rows(small, texts, tmp_path / "calm", perturbation=sf.KNNBox(3))
    once = Deadly(3, "word3", str(tmp_path / "died"))
    found = explain_rows(small, texts, tmp_path / "ray", perturbation=once, engine="ray", workers=2)
    assert (tmp_path / "died").exists()
    assert timeless(found) == timeless(calm)


def test_a_row_that_kills_every_worker_becomes_an_error_row(cluster, small, tmp_path):
    texts = [Row(i, f"word{i % 8}") for i in range(1, 7)]
    found = explain_rows(
        small, texts, tmp_path / "o", perturbation=Deadly(3, "word3"), engine="ray", workers=2
    )
    assert [line["row"] for line in found if "error" in line] == [3]


def test_the_command_runs_on_ray_and_audits_are_the_same(cluster, small, tmp_path, capsys):
    small.save(tmp_path / "model")
    (tmp_path / "t.csv").write_text("text\nword1 word2\nword3\n")
    asked = [
        "audit",
        str(tmp_path / "t.csv"),
        "--protected",
        "word1",
        "--model",
        str(tmp_path / "model"),
        "--knn-box",
        "3",
    ]
    assert main([*asked, "--report", str(tmp_path / "a.html")]) == 0
    assert (
        main([*asked, "--report", str(tmp_path / "b.html"), "--engine", "ray", "--workers", "2"])
        == 0
    )
    texts = {name: (tmp_path / f"{name}.jsonl").read_text() for name in "ab"}
    plain, there = (
        text.replace(f"{name}.certificates", "certificates") for name, text in texts.items()
    )
    # the checksums differ with the names of the certificates
    start = len(journal.sealed({})) - len("}\n")
    assert sorted(one[start:] for one in there.splitlines()) == sorted(
        one[start:] for one in plain.splitlines()
    )
    capsys.readouterr()


def test_without_ray_the_message_says_what_to_install(monkeypatch, small, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(sf.MissingExtra, match=r"extra 'ray'"):
        explain_rows(
            small, [Row(1, "word1")], tmp_path / "o", perturbation=sf.KNNBox(3), engine="ray"
        )

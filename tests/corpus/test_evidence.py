"""A folder of evidence: every certificate is checked again, and every row of results against its
own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import make_classifier

import suffice as sf
from suffice.cli import main
from suffice.corpus.audit import audit
from suffice.corpus.batch import batch
from suffice.corpus.folder_check import recheck
from suffice.errors import InputError

SWAPS = {f"word{i}": [f"word{(i + 1) % 8}", f"word{(i + 3) % 8}"] for i in range(8)}
TEXTS = ["word1 word2 word3", "word2 word0 word5", "word4 word6", "word7 word1 word2"]


@pytest.fixture(scope="module")
def classifier() -> sf.Classifier:
    return make_classifier(10, hidden=(8, 6))


@pytest.fixture(scope="module")
def made(classifier, tmp_path_factory) -> Path:
    """An audit and a batch, in one folder."""
    folder = tmp_path_factory.mktemp("evidence")
    protected = ["word1", "word2"]
    kept = folder / "audit.certificates"
    audit(
        classifier,
        TEXTS,
        protected,
        folder / "audit.jsonl",
        perturbation=sf.WordSwap(SWAPS),
        certificates=kept,
    )
    results = batch(
        classifier,
        TEXTS,
        folder / "batch.jsonl",
        perturbation=sf.KNNBox(3),
        certificates=folder / "proofs",
    )
    assert len(list(results)) == len(TEXTS)
    return folder


@pytest.fixture
def folder(made, tmp_path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "evidence"))


def altered(path: Path, number: int, **changes: object) -> None:
    """The results, with other values in one row (of a batch: in its explanation)."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    row = rows[number]
    target = (
        row["explanation"] if "explanation" in row and not changes.keys() <= row.keys() else row
    )
    target.update(changes)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_evidence_that_nobody_touched_is_accepted(folder, classifier):
    done = recheck(folder, classifier)
    assert done.failed == ()
    assert (done.certificates, done.accepted, done.rows) == (8, 8, 8)


def test_it_has_dependent_rows_and_independent_ones(folder):
    rows = [
        json.loads(line)
        for line in (folder / "audit.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert {row["status"] for row in rows} == {"dependent", "independent"}


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("audit.jsonl", {"text": "word1 word2 word4"}, "it is about another text"),
        (
            "audit.jsonl",
            {"perturbation": {"kind": "deletion"}},
            "it is about another perturbation set",
        ),
        ("audit.jsonl", {"label": "label9"}, "its row says 'label9'"),
        ("audit.jsonl", {"protected": []}, "its row is about the words at []"),
        ("audit.jsonl", {"protected": 7}, "malformed"),
        ("batch.jsonl", {"positions": [0, 1, 2, 3]}, "its row is about the words at [0, 1, 2, 3]"),
        (
            "batch.jsonl",
            {"meta": {"perturbation": {"kind": "deletion"}}},
            "it is about another perturbation set",
        ),
        ("batch.jsonl", {"cost": 0.5}, "its row says cost 0.5"),
        ("batch.jsonl", {"lower_bound": 99.0}, "its row says lower_bound 99.0"),
        ("batch.jsonl", {"proved": ["all is well"]}, "its row says that other things are proved"),
        ("batch.jsonl", {"words": []}, "its row names other words"),
        ("batch.jsonl", {"proved": None}, "its row says that other things are proved"),
        (
            "batch.jsonl",
            {"status": "infeasible"},
            "its row says 'infeasible', which a certificate of 'cheapest'",
        ),
    ],
)
def test_a_row_that_says_something_else_is_named(name, changes, reason, folder, classifier):
    altered(folder / name, 0, **changes)
    (failed,) = recheck(folder, classifier).failed
    assert (
        failed[0]
        == ("audit.certificates" if name == "audit.jsonl" else "proofs") + "/row-000001.certificate"
    )
    assert reason in failed[1]


def test_a_row_that_says_that_padding_may_change_is_named(folder, classifier):
    rows = [
        json.loads(line)
        for line in (folder / "batch.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    altered(
        folder / "batch.jsonl", 0, meta={**rows[0]["explanation"]["meta"], "padding": "feature"}
    )
    ((_, reason),) = recheck(folder, classifier).failed
    assert "other positions may change" in reason


def test_a_dependent_row_that_was_made_independent_is_named(folder, classifier):
    rows = [
        json.loads(line)
        for line in (folder / "audit.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    place = next(i for i, row in enumerate(rows) if row["status"] == "dependent")
    altered(folder / "audit.jsonl", place, status="independent")
    ((_, reason),) = recheck(folder, classifier).failed
    assert (
        reason == "its row says 'independent', which a certificate of 'infeasible' does not prove"
    )


def test_a_changed_text_that_was_made_up_is_named(folder, classifier):
    rows = [
        json.loads(line)
        for line in (folder / "audit.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    place = next(
        i for i, row in enumerate(rows) if row["status"] == "dependent" and row["witness"]["text"]
    )
    witness = rows[place]["witness"]
    for forged, reason in (
        ({**witness, "text": "word0 word0 word0"}, "is not what the change makes of the text"),
        ({**witness, "label": rows[place]["label"]}, "has the label"),
        ({**witness, "changed": []}, "is not what the change makes of the text"),
    ):
        altered(folder / "audit.jsonl", place, witness=forged)
        ((_, said),) = recheck(folder, classifier).failed
        assert reason in said


def test_nothing_outside_of_the_folder_is_read(folder, classifier, tmp_path):
    """A folder that somebody sends may name, or link to, other files of the machine, or files that
    never end.
    """
    good = (folder / "proofs" / "row-000001.certificate").read_bytes()
    (tmp_path / "outside.certificate").write_bytes(good)
    altered(folder / "batch.jsonl", 0, certificate_file="../outside.certificate")
    altered(folder / "batch.jsonl", 1, certificate_file="/dev/zero")
    (folder / "proofs" / "linked.certificate").symlink_to(tmp_path / "outside.certificate")
    os.mkfifo(folder / "proofs" / "endless.certificate")
    done = recheck(folder, classifier)
    refused = {reason for _, reason in done.failed}
    assert refused == {
        "it is not in this folder, and is not read",
        "it is no file, and is not read",
    }
    assert len(done.failed) == 3  # two names and a link are the same file outside
    (folder / "more.jsonl").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="not in this folder"):
        recheck(folder, classifier)


def test_a_proof_without_a_certificate_is_named(folder, classifier):
    altered(folder / "audit.jsonl", 0, certificate_file=None)
    ((where, reason),) = recheck(folder, classifier).failed
    assert where == "audit.jsonl, line 1"
    assert reason.endswith("and names no certificate")


def test_a_certificate_that_is_gone_or_damaged_is_named(folder, classifier):
    (folder / "proofs" / "row-000002.certificate").unlink()
    (folder / "proofs" / "row-000003.certificate").write_bytes(b"damaged")
    done = recheck(folder, classifier)
    assert [name for name, _ in done.failed] == [
        "proofs/row-000002.certificate",
        "proofs/row-000003.certificate",
    ]
    assert done.accepted == done.certificates - 2


def test_two_rows_with_one_certificate_are_both_compared(folder, classifier):
    first, *rest = (folder / "batch.jsonl").read_text(encoding="utf-8").splitlines()
    other = json.dumps({**json.loads(first), "text": "word5 word5"})
    (folder / "batch.jsonl").write_text("\n".join([other, first, *rest]) + "\n", encoding="utf-8")
    ((name, reason),) = recheck(folder, classifier).failed
    assert name == "proofs/row-000001.certificate"
    assert "another text" in reason


HIRE = """
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
texts = ["she leads well", "he leads badly", "he wrote good code", "she wrote poor code"]
clf = make_pipeline(TfidfVectorizer({}), LogisticRegression()).fit(texts, ["invite", "reject"] * 2)
"""
ROWS = ["she leads the team", "he wrote it well", "he leads", "she wrote it"]


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    paths = os.pathsep.join(path for path in sys.path if path)
    env = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "300", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", "suffice.cli", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        env=env,
    )


@pytest.fixture
def hired(tmp_path) -> Path:
    """An audit of a pipeline in the user's own module, made by another process."""
    pytest.importorskip("sklearn")
    (tmp_path / "hire.py").write_text(HIRE.format(""), encoding="utf-8")
    (tmp_path / "texts.csv").write_text("\n".join(["text", *ROWS]) + "\n", encoding="utf-8")
    done = command(*AUDIT, cwd=tmp_path)
    assert "0 errors" in done.stdout, done.stderr
    return tmp_path


MODEL = ("--model", "python:hire:clf")
AUDIT = ("audit", "texts.csv", *MODEL, "--protected", "gender", "--report", "audit.html")


def test_an_audit_of_a_pipeline_is_checked_and_resumed_by_other_processes(hired):
    done = command("check", "audit.certificates", *MODEL, cwd=hired)
    assert "4 of 4 certificates accepted" in done.stdout, done.stdout + done.stderr
    before = (hired / "audit.jsonl").read_bytes()
    again = command(*AUDIT, cwd=hired)
    assert "0 errors" in again.stdout, again.stderr
    assert (hired / "audit.jsonl").read_bytes() == before


def test_an_edited_module_is_another_program_to_an_audit_and_its_certificates(hired):
    (hired / "hire.py").write_text(HIRE.format("stop_words=['she', 'he']"), encoding="utf-8")
    assert "results of another run" in command(*AUDIT, cwd=hired).stderr
    done = command("check", "audit.certificates", *MODEL, cwd=hired)
    assert done.returncode == 1
    assert done.stdout.count("and 3 more are about the model") == 1


def test_a_pipeline_that_can_be_saved_is_checked_without_its_module(hired):
    pytest.importorskip("skops")
    (hired / "hire.py").unlink()
    done = command("check", ".", cwd=hired)
    assert "4 of 4 certificates accepted" in done.stdout, done.stdout + done.stderr


def test_a_program_that_a_folder_names_is_not_run_and_said_once(hired):
    (hired / "hire.py").write_text("raise SystemExit('it was run')", encoding="utf-8")
    (hired / "audit.certificates" / "used-model.skops").unlink(missing_ok=True)
    done = command("check", "audit.certificates", cwd=hired)
    assert done.returncode == 3
    assert done.stdout.count("which is not in the folder") == 1
    assert "suffice check audit.certificates --model python:hire:clf" in done.stdout
    assert "0 of 4 certificates accepted" in done.stdout


def test_a_folder_holds_the_name_the_version_and_the_digest_of_a_program(tmp_path):
    clf = sf.from_function(
        lambda texts: [[0.0, len(text)] for text in texts], ["no", "yes"], "length", version="3"
    )
    list(batch(clf, ["a text"], perturbation=sf.Deletion(), certificates=tmp_path / "proofs"))
    record = json.loads((tmp_path / "proofs" / "run.json").read_text(encoding="utf-8"))
    model = record["model"]
    assert (model["name"], model["version"], model["digest"]) == ("length", "3", clf.digest)
    assert record["command"] == "suffice check proofs --model python:MODULE:OBJECT"
    done = recheck(tmp_path)
    assert done.strange == (
        f"proofs/row-000001.certificate is about the model {clf.digest[:12]}, which is not in "
        "the folder and is called "
        "'length': name it by --model.",
    )
    assert recheck(tmp_path, clf).accepted == 1


def test_each_certificate_is_checked_with_its_own_model_where_a_folder_holds_several(
    folder, classifier
):
    other = make_classifier(11, hidden=(4,))
    list(batch(other, TEXTS, perturbation=sf.Deletion(), certificates=folder / "more"))
    assert str(recheck(folder)).startswith("12 of 12 certificates accepted")
    done = recheck(folder, other)
    assert done.accepted == 4
    (strange,) = done.strange
    assert "and 7 more are about the model" in strange


def test_a_record_that_somebody_wrote_reads_nothing_else_and_says_nothing_untrue(folder, tmp_path):
    kept = folder / "proofs"
    digest = json.loads((kept / "run.json").read_text(encoding="utf-8"))["model"]["digest"]
    for path in folder.rglob("used-model"):
        shutil.move(path, tmp_path / f"elsewhere-{path.parent.name}")
    (kept / "used-model").symlink_to(tmp_path / "elsewhere-proofs")
    (folder / "audit.certificates" / "run.json").write_text("[" * 100_000, encoding="utf-8")
    for named in ("python:os:abort", "../elsewhere-proofs", "x\x1b[31m", 7, ["a"]):
        (kept / "run.json").write_text(
            json.dumps({"model": {"digest": digest, "named": named}}), encoding="utf-8"
        )
        done = recheck(folder)
        assert (done.accepted, len(done.strange)) == (0, 1)
        assert done.strange[0].isprintable()
    assert recheck(folder, sf.load(tmp_path / "elsewhere-proofs")).accepted == 8


def test_the_command_counts_names_and_exits(folder, classifier, capsys):
    classifier.save(folder / "model")
    command = ["check", str(folder), "--model", str(folder / "model")]
    assert main(command) == 0
    assert "8 of 8 certificates accepted, 0 not" in capsys.readouterr().out
    altered(folder / "audit.jsonl", 0, label="label9")
    assert main(command) == 1
    assert (
        "audit.certificates/row-000001.certificate: its row says 'label9'"
        in capsys.readouterr().out
    )


def test_what_is_not_checked_in_time_has_not_failed(folder, classifier, capsys):
    classifier.save(folder / "model")
    command = ["check", str(folder), "--model", str(folder / "model")]
    assert main([*command, "--seconds", "1e-9"]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "0 of 8 certificates accepted, 8 not" in said
    assert "Of 8 nothing is known: time ran out." in said
    assert "row-000001.certificate: line 1: not checked within 1e-09 seconds" in said
    (folder / "proofs" / "row-000003.certificate").write_bytes(b"damaged")
    assert main([*command, "--seconds", "1e-9"]) == 1


@pytest.mark.parametrize(
    "option", [["--text", "word1"], ["--sample", "3"], ["--question", "q.json"], ["--exact"]]
)
def test_options_of_one_certificate_are_not_ignored_for_a_folder(
    option, folder, classifier, capsys
):
    classifier.save(folder / "model")
    assert main(["check", str(folder), "--model", str(folder / "model"), *option]) == 2
    assert "folder" in capsys.readouterr().err


def test_a_folder_without_certificates_is_refused(tmp_path, classifier):
    with pytest.raises(InputError, match="holds no certificates"):
        recheck(tmp_path, classifier)

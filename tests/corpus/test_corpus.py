"""Corpora: every row is answered once, whatever happens; audits count exactly; reports are harmless
and complete.
"""

from __future__ import annotations

import csv
import gzip
import html.parser
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from deadly import Deadly
from helpers import explain_rows, make_classifier, make_text
from rich.console import Console
from threadpoolctl import threadpool_info

import suffice as sf
from suffice.cli import main
from suffice.cli.commands import many_texts
from suffice.corpus import audit as auditing
from suffice.corpus import batch as batching
from suffice.corpus import findings, journal, pools, rows
from suffice.corpus.rows import Row, read_rows
from suffice.errors import InputError
from suffice.render import audit as report
from suffice.render import auditors

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signal")


@pytest.fixture(scope="module")
def small() -> sf.Classifier:
    return make_classifier(3)


@pytest.fixture(scope="module")
def folder(small, tmp_path_factory) -> str:
    """The small classifier as a folder, for the command line."""
    path = tmp_path_factory.mktemp("model")
    small.save(path)
    return str(path)


def write_texts(path: Path, count: int) -> list[str]:
    texts = [" ".join(make_text(seed)) for seed in range(count)]
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in texts)])
    return texts


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def timeless(line: dict) -> dict:
    """A line without how long it took, and without its checksum, which covers that."""
    plain = json.loads(json.dumps(line))
    plain.pop("checksum", None)
    plain.get("explanation", {}).pop("stats", None)
    return plain


def by_row(lines: list[dict]) -> list[dict]:
    return sorted(map(timeless, lines), key=lambda line: line["row"])


# --- reading ---


def read(tmp_path: Path, name: str, data: str | bytes) -> list[Row]:
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return list(rows.read_rows(path))


def test_csv_rows_are_numbered_from_1_and_may_have_labels_and_names(tmp_path):
    found = read(tmp_path, "a.csv", '\ufefftext,label,id\n"a, b",positive,x\n"two\nlines",,\n')
    assert found == [Row(1, "a, b", "positive", "x"), Row(2, "two\nlines", None, "")]


def test_jsonl_rows_may_be_lists_of_words_and_files_may_be_gzipped(tmp_path):
    data = '{"text": "a b", "label": 1, "id": 7}\n\n{"text": ["a", "b"]}\n'
    assert read(tmp_path, "a.jsonl.gz", gzip.compress(data.encode())) == [
        Row(1, "a b", "1", 7),
        Row(2, ("a", "b")),
    ]


@pytest.mark.parametrize(
    ("name", "data", "bad"),
    [
        ("a.csv", "text,label\none,two,three\nfine,\n", [1]),
        ("a.csv", b"text\nbroken \xff bytes\nfine\n", [1]),
        (
            "a.jsonl",
            'not json\n{"text": "fine"}\n[1]\n{"text": 3}\n{"label": "x"}\n{"text": []}\n',
            [1, 3, 4, 5, 6],
        ),
        ("a.jsonl", '{"text": "half \\ud800 a character"}\n{"text": "fine"}\n', [1]),
    ],
)
def test_a_bad_row_is_an_error_and_the_others_are_read(tmp_path, name, data, bad):
    found = read(tmp_path, name, data)
    assert [row.number for row in found if row.error] == bad
    assert "fine" in [row.text for row in found]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.txt", "text\n"),
        ("a.csv", "words\nx\n"),
        ("a.csv", ""),
        ("a.csv", "text\n"),
        ("a.csv.gz", b"\x1f\x8bno"),
    ],
)
def test_a_file_that_cannot_be_read_at_all_is_refused(tmp_path, name, data):
    with pytest.raises(sf.InputError):
        read(tmp_path, name, data)


def lines_and_errors(found: list[Row]) -> list[str]:
    return [f"{row.number} {'ERROR' if row.error else row.text}" for row in found]


STRAY = {
    "before the end of the file": '"great film,positive\n' + "plain film,negative\n" * 300,
    "before another quoted field": '"great film,positive\n'
    + "plain film,negative\n" * 300
    + '"a, b",positive\n',
    "before a quote inside a field": '"great film,positive\n'
    + "plain film,negative\n" * 300
    + 'a 5" film,positive\n',
    "before a quote that ends a field": '"great film,positive\n'
    + "plain film,negative\n" * 300
    + 'a film",positive\n',
    "before text after the closing quote": '"great" film,positive\n'
    + "plain film,negative\n" * 300,
}


@pytest.mark.parametrize("data", STRAY.values(), ids=STRAY.keys())
def test_a_stray_quote_costs_one_row_which_is_named_and_the_rest_goes_on(tmp_path, data):
    found = read(tmp_path, "a.csv", "text,label\nfirst,positive\n" + data)
    assert [row.number for row in found if row.error] == [2]
    assert "line 3" in found[1].error
    assert [row.text for row in found].count("plain film") == 300
    assert len(found) == 1 + data.count("\n")


def test_every_line_with_a_stray_quote_is_one_error_and_reading_takes_no_longer(tmp_path):
    found = read(tmp_path, "a.csv", "text,label\n" + '"never closed,positive\n' * 20_000)
    assert len(found) == 20_000
    assert all(row.error for row in found)


def test_texts_of_many_lines_with_quotes_and_commas_stay_whole(tmp_path):
    texts = [
        "one, two\nthree, four\nfive",
        'she said "no"\n\nand, well, left',
        "a\r\nb",
        "\n".join("abcdefgh"),
        '"',
        "x",
    ]
    with open(tmp_path / "a.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text", "label"], *([text, "positive"] for text in texts)])
    assert [row.text for row in rows.read_rows(tmp_path / "a.csv")] == texts


# --- texts from anywhere ---


def test_lists_columns_arrays_and_iterables_are_texts():
    pandas = pytest.importorskip("pandas")
    plain = ["a b", "c"]
    for given in (
        plain,
        tuple(plain),
        iter(plain),
        pandas.Series(plain),
        np.array(plain),
        ({"text": t} for t in plain),
    ):
        found = list(rows.texts_of(given).rows())
        assert found == [Row(1, "a b"), Row(2, "c")]
        assert {type(row.text) for row in found} == {str}


def test_what_is_no_text_among_others_is_an_error_of_its_row():
    found = list(rows.texts_of(["a", None, float("nan"), 3, b"x", ["a", "b"], [1]]).rows())
    assert lines_and_errors(found) == [
        "1 a",
        "2 ERROR",
        "3 ERROR",
        "4 ERROR",
        "5 ERROR",
        "6 ('a', 'b')",
        "7 ERROR",
    ]


def test_what_holds_no_texts_is_refused(tmp_path):
    pandas = pytest.importorskip("pandas")
    for given in (
        5,
        None,
        b"text",
        {"text": ["a"]},
        pandas.DataFrame({"text": ["a"]}),
        "a fine film",
        tmp_path,
    ):
        with pytest.raises(sf.InputError):
            rows.texts_of(given)


# --- batch in Python ---


def test_batch_gives_the_explanations_of_explain_with_their_rows_and_certificates(small):
    texts = [" ".join(make_text(seed)) for seed in range(6)]
    found = {
        result.meta["row"]: result
        for result in sf.batch(small, texts, perturbation=sf.KNNBox(3), workers=2)
    }
    for number, text in enumerate(texts, 1):
        alone = sf.explain(small, text, perturbation=sf.KNNBox(3))
        assert (found[number].positions, found[number].status) == (alone.positions, alone.status)
        assert found[number].certificate.data == alone.certificate.data


def test_batch_reads_an_iterable_only_as_far_as_it_is_listened_to(small):
    taken = []

    def texts():
        for number in itertools.count():
            taken.append(number)
            yield f"word{number % 8}"

    found = sf.batch(small, texts(), perturbation=sf.KNNBox(3))
    assert [next(found).meta["row"] for _ in range(3)] == [1, 2, 3]
    found.close()
    assert len(taken) == 3


def test_batch_resumes_and_gives_what_was_done_before_too(small, tmp_path, monkeypatch):
    texts = [f"word{i}" for i in range(5)]
    first = sf.batch(small, texts, tmp_path / "o", perturbation=sf.KNNBox(3))
    before = [next(first), next(first)]
    first.close()
    asked = []
    explain = batching.explain
    monkeypatch.setattr(
        batching, "explain", lambda clf, text, **kw: asked.append(text) or explain(clf, text, **kw)
    )
    again = list(sf.batch(small, iter(texts), tmp_path / "o", perturbation=sf.KNNBox(3)))
    assert asked == texts[2:]
    assert [result.meta["row"] for result in again] == [1, 2, 3, 4, 5]
    assert [result.positions for result in again[:2]] == [result.positions for result in before]


def test_texts_that_fail_are_counted_and_warned_about(small):
    found = sf.batch(small, ["word1", "", None, "word2"], perturbation=sf.KNNBox(3))
    with pytest.warns(UserWarning, match=r"2 of 4 texts failed \(rows 2, 3\)"):
        assert [result.meta["row"] for result in found] == [1, 4]
    assert set(found.failed) == {2, 3}
    assert list(found) == []


def test_what_is_wrong_for_every_text_is_refused_at_once(small):
    for wrong in ({"workers": 0}, {"engine": "abacus"}):
        with pytest.raises(sf.InputError):
            sf.batch(small, ["word1"], **wrong)
    with pytest.raises(sf.InputError, match="loads one"):
        sf.batch("sst-fc25", ["word1"])
    with pytest.raises(TypeError, match="colour"):
        sf.batch(small, ["word1"], colour="red")


# --- batch ---


def test_every_line_holds_what_explain_says_and_a_certificate_that_is_accepted(small, tmp_path):
    texts = write_texts(tmp_path / "t.csv", 8)
    found = explain_rows(
        small,
        tmp_path / "t.csv",
        tmp_path / "o.jsonl",
        perturbation=sf.KNNBox(3),
        certificates=tmp_path / "c",
    )
    assert [line["row"] for line in found] == list(range(1, 9))
    for text, line in zip(texts, found, strict=True):
        alone = sf.explain(small, text, perturbation=sf.KNNBox(3))
        assert (
            timeless(line)["explanation"]
            == timeless({"explanation": alone.to_dict()})["explanation"]
        )
        saved = tmp_path / line["certificate_file"]
        assert sf.check(saved, small).kind == "cheapest"


def test_bad_rows_become_error_rows_and_the_rest_goes_on(small, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"text": ""}\nnonsense\n{"text": "word1"}\n{"text": "word1", "label": '
        '"who"}\n{"text": "word2"}\n'
    )
    found = explain_rows(small, path, tmp_path / "o.jsonl", perturbation=sf.KNNBox(3))
    assert ["error" in line for line in found] == [True, True, False, True, False]
    assert "label0, label1" in found[3]["error"]


@pytest.mark.parametrize(
    ("given", "expected"), [("label1", "label1"), ("0", "label0"), ("1", "label1")]
)
def test_labels_are_names_or_numbers(small, tmp_path, given, expected):
    line = explain_rows(small, [Row(1, "word1", given)], tmp_path / "o", perturbation=sf.KNNBox(3))[
        0
    ]
    assert (line["expected"], line["correct"]) == (
        expected,
        line["explanation"]["label"] == expected,
    )


def test_an_unforeseen_failure_is_one_error_row(small, tmp_path, monkeypatch):
    def explain(classifier, text, **options):
        if text == "word1":
            raise ZeroDivisionError("a bug")
        return sf.explain(classifier, text, **options)

    monkeypatch.setattr(batching, "explain", explain)
    found = explain_rows(
        small, [Row(1, "word1"), Row(2, "word2")], tmp_path / "o", perturbation=sf.KNNBox(3)
    )
    assert found[0]["error"] == "ZeroDivisionError: a bug"
    assert "explanation" in found[1]


def test_two_workers_give_the_same_lines_as_one(small, tmp_path):
    write_texts(tmp_path / "t.csv", 24)
    one = explain_rows(small, tmp_path / "t.csv", tmp_path / "1", perturbation=sf.KNNBox(3))
    two = explain_rows(
        small, tmp_path / "t.csv", tmp_path / "2", perturbation=sf.KNNBox(3), workers=2
    )
    assert by_row(two) == by_row(one)


def blas_threads(row: Row) -> rows.Reply:
    """A task that says how many threads the worker's BLAS has."""
    return rows.Reply(
        {"row": row.number, "threads": [pool["num_threads"] for pool in threadpool_info()]}
    )


def test_a_worker_has_one_blas_thread():
    replies = list(pools.run(blas_threads, [Row(1), Row(2)], workers=2))
    assert [set(reply.line["threads"]) for reply in replies] == [{1}, {1}]


def test_a_worker_that_dies_is_replaced_and_its_row_done(small, tmp_path):
    texts = [Row(i, f"word{i % 8}") for i in range(1, 9)]
    calm = explain_rows(small, texts, tmp_path / "calm", perturbation=sf.KNNBox(3))
    once = Deadly(3, "word3", str(tmp_path / "died"))
    found = explain_rows(small, texts, tmp_path / "o", perturbation=once, workers=2)
    assert (tmp_path / "died").exists()
    assert by_row(found) == by_row(calm)


def test_a_row_that_kills_every_worker_becomes_an_error_row(small, tmp_path):
    texts = [Row(i, f"word{i % 8}") for i in range(1, 9)]
    found = explain_rows(small, texts, tmp_path / "o", perturbation=Deadly(3, "word3"), workers=2)
    assert [line["row"] for line in found if "error" in line] == [3]
    assert found[2]["error"] == "The worker died 2 times on this text."


def test_functions_that_workers_cannot_import_are_refused(small, tmp_path):
    with pytest.raises(sf.InputError, match="importable by name"):
        explain_rows(
            small,
            [Row(1, "word1")],
            tmp_path / "o",
            perturbation=sf.KNNBox(3),
            cost=lambda word: 1.0,
            workers=2,
        )


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"workers": True}, {"engine": "abacus"}])
def test_engines_and_workers_that_do_not_exist_are_refused(small, tmp_path, wrong):
    with pytest.raises(sf.InputError):
        explain_rows(small, [Row(1, "word1")], tmp_path / "o", perturbation=sf.KNNBox(3), **wrong)


# --- resuming ---


def started(folder: str, texts: Path, out: Path) -> subprocess.Popen:
    asked = [
        "batch",
        str(texts),
        "--out",
        str(out),
        "--model",
        folder,
        "--knn-box",
        "3",
        "--workers",
        "2",
    ]
    code = "import sys; from suffice.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen([sys.executable, "-c", code, *asked], stderr=subprocess.PIPE)


def wait_for(condition, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


def count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_killed_with_kill_9_twice_it_loses_nothing_and_repeats_nothing(folder, small, tmp_path):
    texts = tmp_path / "t.csv"
    out = tmp_path / "o.jsonl"
    write_texts(texts, 1200)
    before = b""
    for target in (5, 60):
        run = started(folder, texts, out)
        wait_for(
            lambda run=run, target=target: run.poll() is not None or count_lines(out) >= target
        )
        assert run.poll() is None, run.stderr.read()
        workers = children(run.pid)
        os.kill(run.pid, signal.SIGKILL)
        run.communicate()
        assert len(workers) == 2
        wait_for(lambda workers=workers: not any(map(alive, workers)))
        kept = out.read_bytes()
        assert kept.startswith(before)  # what was there stays as it was
        before = kept[: kept.rindex(b"\n") + 1]
        assert before.count(b"\n") < 1200
    with open(out, "ab") as file:
        # as if it had been killed while writing
        file.write(b'{"row": 1199, "run": "torn in the mid')
    last = started(folder, texts, out)
    _, said = last.communicate()
    assert last.returncode == 0, said
    assert out.read_bytes().startswith(before)
    assert Counter(line["row"] for line in lines_of(out)) == Counter(range(1, 1201))
    plain = explain_rows(
        small,
        texts,
        tmp_path / "plain",
        perturbation=sf.KNNBox(3),
        cost=None,
        padding="fixed",
        seconds=60.0,
        seed=0,
    )
    assert by_row(lines_of(out)) == by_row(plain)


def test_ctrl_c_stops_it_with_one_line_and_it_can_go_on(folder, tmp_path):
    texts = tmp_path / "t.csv"
    out = tmp_path / "o.jsonl"
    write_texts(texts, 6000)  # so many that it cannot be over before the signal comes
    run = started(folder, texts, out)
    wait_for(lambda: run.poll() is not None or count_lines(out) >= 3)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate()
    assert (run.returncode, said.decode()) == (
        3,
        "suffice: stopped; the same command goes on where this one was\n",
    )
    assert 3 <= len({line["row"] for line in lines_of(out)}) < 6000


@pytest.mark.parametrize("torn", [b"{", b'{"row": 3, "ru', b"\xff\xfe"])
def test_a_torn_last_line_is_dropped_and_done_again(small, tmp_path, torn):
    out = tmp_path / "o"
    texts = [Row(i, f"word{i}") for i in range(1, 4)]
    explain_rows(small, texts, out, perturbation=sf.KNNBox(3))
    whole = lines_of(out)
    kept = b"\n".join(out.read_bytes().split(b"\n")[:2]) + b"\n"
    out.write_bytes(kept + torn)
    again = explain_rows(small, texts, out, perturbation=sf.KNNBox(3))
    assert by_row(again) == by_row(whole) == by_row(lines_of(out))
    assert out.read_bytes().startswith(kept)


def edited(out: Path, old: bytes, new: bytes) -> None:
    data = out.read_bytes()
    assert data.count(old) >= 1
    out.write_bytes(data.replace(old, new, 1))


EDITS = {
    "another answer": (b'"status":"optimal"', b'"status":"unknown"'),
    "another text": (b'"text":"word1"', b'"text":"word4"'),
    "another row": (b'"row":1,', b'"row":7,'),
    "a flipped bit": (b'"positions":', b'"posituons":'),
    "a space": (b'"label":', b'"label": '),
    "another checksum": (b'{"checksum":"', b'{"checksum":"0'),
}


@pytest.mark.parametrize(("old", "new"), EDITS.values(), ids=EDITS.keys())
def test_a_journal_that_was_edited_is_noticed_and_left_as_it_is(small, tmp_path, old, new):
    out = tmp_path / "o"
    texts = [Row(i, f"word{i}") for i in range(1, 4)]
    explain_rows(small, texts, out, perturbation=sf.KNNBox(3))
    edited(out, old, new)
    before = out.read_bytes()
    with pytest.raises(sf.InputError, match=r"line 1 of .*--fresh"):
        explain_rows(small, texts, out, perturbation=sf.KNNBox(3))
    assert out.read_bytes() == before


def test_a_line_that_is_there_twice_or_for_a_text_that_is_not_is_noticed(small, tmp_path):
    out = tmp_path / "o"
    texts = [Row(i, f"word{i}") for i in range(1, 4)]
    explain_rows(small, texts, out, perturbation=sf.KNNBox(3))
    with pytest.raises(sf.InputError, match="another run"):
        explain_rows(small, texts[:2], out, perturbation=sf.KNNBox(3))
    out.write_bytes(out.read_bytes() + out.read_bytes().split(b"\n")[0] + b"\n")
    with pytest.raises(sf.InputError, match="row 1 twice"):
        explain_rows(small, texts, out, perturbation=sf.KNNBox(3))


def test_a_row_whose_damaged_line_was_deleted_is_asked_again(small, tmp_path):
    out = tmp_path / "o"
    texts = [Row(i, f"word{i}") for i in range(1, 4)]
    whole = explain_rows(small, texts, out, perturbation=sf.KNNBox(3))
    out.write_bytes(b"".join(out.read_bytes().splitlines(keepends=True)[1:]))
    assert by_row(explain_rows(small, texts, out, perturbation=sf.KNNBox(3))) == by_row(whole)


RESUME = """
import resource, sys
import suffice as sf
from suffice.corpus import batch as batching
from suffice.corpus.running import Run
classifier = sf.load(sys.argv[1])
for row in batching.explained_rows(classifier, sys.argv[2], Run(sys.argv[3]), sf.KNNBox(3)): pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory in kilobytes")
def test_resuming_keeps_places_in_memory_and_not_lines(small, folder, tmp_path):
    """100 MB of lines (a hundred thousand rows, at full length) resume in less than that beyond
    what suffice takes.
    """
    verb = batching.Explaining(small, sf.KNNBox(3))
    filler = "x" * 10_000
    used = {}
    for count in (10, 10_000):
        out = tmp_path / f"{count}.jsonl"
        texts = tmp_path / f"{count}.csv"
        with open(out, "wb") as file:
            for i in range(1, count + 1):
                line = {
                    "row": i,
                    "run": verb.run,
                    "text": f"word{i % 8}",
                    "explanation": {"filler": filler},
                }
                file.write(journal.sealed(line))
        texts.write_text("text\n" + "".join(f"word{i % 8}\n" for i in range(1, count + 1)))
        done = subprocess.run(
            [sys.executable, "-c", RESUME, folder, texts, out],
            capture_output=True,
            text=True,
            check=True,
        )
        used[count] = int(done.stdout) / 1000
    assert used[10_000] - used[10] < 50


def test_a_finished_run_does_nothing_when_started_again(small, tmp_path):
    out = tmp_path / "o"
    texts = [Row(1, "word1"), Row(2, "")]
    explain_rows(small, texts, out, perturbation=sf.KNNBox(3))
    before = out.read_bytes()
    explain_rows(small, texts, out, perturbation=sf.KNNBox(3), workers=2)
    assert out.read_bytes() == before


@pytest.mark.parametrize("change", ["model", "set", "texts", "file"])
def test_results_of_another_run_are_not_mixed_in(small, tmp_path, change):
    out = tmp_path / "o"
    texts = [Row(1, "word1")]
    classifier = small
    box = sf.KNNBox(3)
    explain_rows(classifier, texts, out, perturbation=box)
    if change == "model":
        classifier = make_classifier(4)
    elif change == "set":
        box = sf.KNNBox(2)
    elif change == "texts":
        texts = [Row(1, "word2")]
    else:
        out.write_text("something else\n")
    before = out.read_bytes()
    with pytest.raises(sf.InputError, match="--fresh"):
        explain_rows(classifier, texts, out, perturbation=box)
    assert out.read_bytes() == before
    assert len(explain_rows(classifier, texts, out, perturbation=box, fresh=True)) == 1


def test_a_function_with_other_code_is_another_question(small, tmp_path):
    names = [
        auditing.Auditing(small, sf.KNNBox(3), function).run
        for function in (str.istitle, str.isupper)
    ]
    names += [auditing.Auditing(small, sf.KNNBox(3), lambda word: word == "a").run]
    names += [auditing.Auditing(small, sf.KNNBox(3), lambda word: word == "b").run]
    assert len(set(names)) == 4


def test_two_runs_cannot_write_one_file(small, tmp_path):
    first = journal.Journal(tmp_path / "o", "run")
    with pytest.raises(sf.InputError, match="Another run is writing"):
        journal.Journal(tmp_path / "o", "run")
    first.close()
    journal.Journal(tmp_path / "o", "run").close()


def test_progress_counts_rows_and_errors(small, tmp_path):
    seen = []
    explain_rows(
        small,
        [Row(1, "word1"), Row(2, "")],
        tmp_path / "o",
        perturbation=sf.KNNBox(3),
        on_row=lambda *n: seen.append(n),
    )
    assert seen == [(0, 2, 0), (1, 2, 0), (2, 2, 1)]


def test_the_batch_command_says_which_rows_failed_and_exits_with_3(folder, tmp_path, capsys):
    (tmp_path / "t.csv").write_text('text,label\nword1,\n"word2,\nword3,\n')
    asked = [
        "batch",
        str(tmp_path / "t.csv"),
        "--out",
        str(tmp_path / "o"),
        "--model",
        folder,
        "--knn-box",
        "3",
    ]
    for _ in range(2):  # also when there is nothing left to do
        assert main(asked) == 3
        assert "1 of 3 texts failed (row 2)" in capsys.readouterr().err


def test_the_batch_command_says_what_it_did_and_draws_nothing_when_piped(folder, tmp_path, capsys):
    write_texts(tmp_path / "t.csv", 3)
    assert (
        main(
            [
                "batch",
                str(tmp_path / "t.csv"),
                "--out",
                str(tmp_path / "o"),
                "--model",
                folder,
                "--knn-box",
                "3",
            ]
        )
        == 0
    )
    said = capsys.readouterr()
    assert said.out == ""
    first, slowest, results = said.err.splitlines()
    assert first.startswith("  3 texts: 3 optimal. Median: ")
    assert slowest.startswith("  Slowest: row ")
    assert results == f"  Results: {tmp_path / 'o'}"
    assert (
        main(["batch", str(tmp_path / "none.csv"), "--out", str(tmp_path / "o"), "--model", folder])
        == 2
    )
    assert capsys.readouterr().err.count("\n") == 1


def test_the_summary_of_a_batch_is_what_the_lines_say(folder, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("text,label\nword1 word2,\n,\nword3 word1 word4,\nword2,\n")
    asked = [
        "batch",
        str(tmp_path / "t.csv"),
        "--out",
        str(tmp_path / "o"),
        "--model",
        folder,
        "--knn-box",
        "3",
    ]
    for again in ([], []):  # the same when every row was done before
        assert main([*asked, "--summary", str(tmp_path / "summary.json"), *again]) == 3
        told = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
        lines = list(journal.read_journal(tmp_path / "o"))
        answers = [line["explanation"] for line in lines if "explanation" in line]
        took = sorted((answer["stats"]["seconds"] for answer in answers), reverse=True)
        assert told["texts"] == len(lines) == 4
        assert told["statuses"] == dict(Counter(answer["status"] for answer in answers))
        assert list(told["failed"]) == ["2"]
        assert told["words"] == sorted(len(answer["words"]) for answer in answers)[1]
        assert [one["seconds"] for one in told["slowest"]] == took
        assert told["total_seconds"] == pytest.approx(sum(took))
    assert main([*asked, "--summary", str(tmp_path / "none" / "s.json")]) == 2
    capsys.readouterr()


def test_a_batch_in_python_has_the_same_summary_and_flat_metrics(small):
    run = sf.batch(small, ["word1", "", "word2 word3"], perturbation=sf.KNNBox(3))
    with pytest.warns(UserWarning, match="1 of 3 texts failed"):
        found = list(run)
    assert run.summary.statuses == dict(Counter(one.status for one in found))
    metrics = run.summary.to_metrics()
    assert (metrics["texts"], metrics["failed"]) == (3, 1)
    assert metrics["share_optimal"] == pytest.approx(
        sum(one.status == "optimal" for one in found) / 3
    )
    assert all(isinstance(value, int | float) for value in metrics.values())
    empty = sf.batch(small, [], perturbation=sf.KNNBox(3)).summary
    assert empty.to_metrics() == {"texts": 0, "failed": 0, "total_time_in_seconds": 0}


# --- audits ---

WORDS = ["word1", "word2", "word3"]


@pytest.fixture(scope="module")
def audited(tmp_path_factory) -> tuple[sf.Classifier, list[str], findings.Audit]:
    classifier = make_classifier(5)
    texts = [" ".join(make_text(seed)) for seed in range(40)]
    out = tmp_path_factory.mktemp("audit") / "a.jsonl"
    listed = [Row(i, text, str(i % 2)) for i, text in enumerate(texts, 1)]
    groups = {"one": WORDS[:1], "rest": WORDS[1:]}
    found = sf.audit(classifier, [*listed, Row(41, "")], groups, out, perturbation=sf.KNNBox(4))
    return classifier, texts, found


def test_counts_are_those_of_asking_each_text(audited):
    classifier, texts, found = audited
    asked = [sf.bias(classifier, text, WORDS, perturbation=sf.KNNBox(4)) for text in texts]
    counts = Counter("trivial" if one.trivial else one.status for one in asked)
    rate = found.overall
    assert {"dependent", "independent", "trivial"} <= set(counts)
    assert (rate.dependent, rate.independent, rate.unknown, rate.trivial) == tuple(
        counts[kind] for kind in ("dependent", "independent", "unknown", "trivial")
    )
    assert found.errors == 1
    for rate in found.by_label:
        mine = Counter(
            "trivial" if one.trivial else one.status for one in asked if one.label == rate.name
        )
        assert (rate.dependent, rate.independent, rate.trivial) == (
            mine["dependent"],
            mine["independent"],
            mine["trivial"],
        )


@pytest.mark.parametrize("kind", ["word", "group"])
def test_counts_by_word_and_by_group_are_those_of_asking_about_it_alone(audited, kind):
    classifier, texts, found = audited
    parts = (
        {word: [word] for word in WORDS}
        if kind == "word"
        else {"one": WORDS[:1], "rest": WORDS[1:]}
    )
    rates = {rate.name: rate for rate in (found.by_word if kind == "word" else found.by_group)}
    for name, words in parts.items():
        having = [text for text in texts if set(words) & set(text.split())]
        asked = [sf.bias(classifier, text, words, perturbation=sf.KNNBox(4)) for text in having]
        counts = Counter(one.status for one in asked)
        assert (rates[name].dependent, rates[name].independent) == (
            counts["dependent"],
            counts["independent"],
        )


def test_the_worst_come_first(audited):
    order = [findings.ORDER.index(findings.verdict(line)) for line in audited[2].lines]
    assert order == sorted(order)
    margins = [
        line["witness"]["margin"]
        for line in audited[2].lines
        if line.get("witness") and len(line["witness"]["changed"]) == 1
    ]
    assert margins == sorted(margins)
    assert len(margins) > 1


def test_a_share_with_undecided_texts_is_a_range():
    assert (
        str(findings.Rate("x", dependent=1, independent=2, unknown=1)) == "1 of 4 (25.0% to 50.0%)"
    )
    assert str(findings.Rate("x", dependent=1, independent=3)) == "1 of 4 (25.0%)"
    assert str(findings.Rate("x", trivial=3)) == "none"


def line(row: int, text: str, status: str, label: str = "a", question: str = "q") -> dict:
    plain = {
        "row": row,
        "text": text,
        "label": label,
        "question": question,
        "trivial": status == "trivial",
    }
    return {
        **plain,
        "status": "independent" if status == "trivial" else status,
        "by_word": [],
        "by_group": [],
    }


def test_a_comparison_says_what_got_worse_and_better_and_which_texts_are_new():
    old = [
        line(1, "x", "independent"),
        line(2, "y", "dependent"),
        line(3, "z", "trivial"),
        line(4, "gone", "unknown"),
    ]
    new = [
        line(1, "x", "dependent"),
        line(2, "y", "unknown"),
        line(3, "z", "trivial", "b"),
        line(4, "new", "trivial"),
    ]
    found = findings.compare(old, new)
    assert [(one.text, one.before, one.after, one.worse) for one in found.changed] == [
        ("x", "independent", "dependent", True),
        ("y", "dependent", "unknown", False),
        ("z", "trivial", "trivial", False),
    ]
    assert (found.same, found.added, found.gone, found.same_question) == (0, 1, 1, True)
    assert (
        "1 text got worse, 1 better, 1 only changed the label, 0 stayed; 1 text added, 1 gone"
        in str(found)
    )


def test_equal_texts_are_compared_in_order_and_another_question_is_mentioned():
    old = [line(1, "x", "independent"), line(2, "x", "dependent")]
    new = [
        line(5, "x", "independent", question="other"),
        line(6, "x", "dependent", question="other"),
    ]
    found = findings.compare(old, new)
    assert (found.changed, found.same, found.same_question) == ((), 2, False)
    assert "another question" in str(found)


# --- the audit command ---

TEXTS = (
    'text,label\n"word1 word2",label0\n"word4 <script>alert(1)</script>",label1\n"=word5 '
    'word1",label0\n"",\n'
)


@pytest.fixture
def asked(folder, tmp_path) -> list[str]:
    (tmp_path / "t.csv").write_text(TEXTS, encoding="utf-8")
    (tmp_path / "p.txt").write_text("[a]\nword1\n[b]\nword2\n", encoding="utf-8")
    files = [str(tmp_path / name) for name in ("t.csv", "p.txt", "r.html")]
    return [
        "audit",
        files[0],
        "--protected",
        files[1],
        "--report",
        files[2],
        "--model",
        folder,
        "--knn-box",
        "6",
    ]


def test_the_audit_writes_a_report_a_table_lines_and_evidence(asked, small, tmp_path, capsys):
    assert main(asked) == 3  # of a text without words nothing can be said
    said = capsys.readouterr()
    assert said.out.strip().startswith("4 texts: ")
    assert said.err == "suffice: 1 of 4 texts failed (row 4)\n"
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    links = Links(page).found
    certified = [one for one in lines_of(tmp_path / "r.jsonl") if one.get("certificate")]
    assert links == [one["certificate_file"] for one in sorted(certified, key=findings._badness)]
    for link in links:
        assert sf.check(tmp_path / link, small).kind in ("independent", "infeasible")
    with open(tmp_path / "r.csv", encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert sorted(int(row["row"]) for row in table) == [1, 2, 3, 4]
    assert "'=word5 word1" in [row["text"] for row in table]


class Links(html.parser.HTMLParser):
    """The links of a page, and its tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: Counter[str] = Counter()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.found += [value for name, value in attrs if name == "href"]


def test_the_report_is_harmless_and_needs_nothing_from_elsewhere(asked, tmp_path, capsys):
    assert main(asked) == 3
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert Links(page).tags["script"] == 1  # its own, which reading it does not need
    assert "alert(1)" not in page.partition("<script>")[2]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not any(
        outside in page for outside in ("http://", "https://", "src=", "@import", "url(")
    )


def test_hostile_ids_labels_and_words_stay_text():
    evil = '"><img src=x onerror=alert(1)>\u202e'
    bad = line(1, evil, "dependent", label=evil)
    bad |= {
        "protected": [{"position": 0, "text": evil, "start": 0, "end": len(evil)}],
        "witness": {
            "label": evil,
            "margin": -1.0,
            "real_words": True,
            "text": evil,
            "changed": [{"position": 0, "word": evil, "became": evil}],
        },
        "by_word": [{"name": evil, "status": "dependent"}],
        "by_group": [{"name": evil, "status": "dependent"}],
        "certificate_file": 'x" onclick="alert(1)',
        "expected": evil + "2",
    }
    older = [line(1, evil, "independent", label=evil)]
    page = report.page(findings.summarise([bad], older), evil, [(evil, evil)])
    assert Links(page).tags["img"] == 0
    assert "\u202e" not in page
    assert ' onclick="' not in page


def test_recheck_accepts_what_is_proved_and_counts_what_is_not(asked, tmp_path, capsys):
    main(asked)
    plain = capsys.readouterr().out
    main([*asked, "--recheck"])
    assert capsys.readouterr().out == plain
    first, second = sorted((tmp_path / "r.certificates").iterdir())[:2]
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    main([*asked, "--recheck"])
    assert "2 errors" in capsys.readouterr().out
    assert "is not the file that was written" in (tmp_path / "r.csv").read_text(encoding="utf-8")
    first.write_bytes(data)
    second.unlink()
    main([*asked, "--recheck"])
    assert "2 errors" in capsys.readouterr().out


def test_recheck_does_not_believe_a_journal_that_was_written_anew(asked, tmp_path, capsys):
    """Lines forged together with their checksums: the certificate is about another text, or says
    something else.
    """
    main(asked)
    out = tmp_path / "r.jsonl"
    lines = [journal.unsealed(raw, "") for raw in out.read_bytes().splitlines(keepends=True)]
    proved = next(one for one in lines if one.get("certificate"))
    proved["status"] = {"independent": "dependent", "dependent": "independent"}[proved["status"]]
    out.write_bytes(b"".join(map(journal.sealed, lines)))
    capsys.readouterr()
    main([*asked, "--recheck"])
    assert "2 errors" in capsys.readouterr().out


def test_audit_in_python_takes_a_list_and_writes_a_report(small, tmp_path):
    texts = ["word1 word2", "word3"]
    plain = sf.audit(small, texts, ["word1"], perturbation=sf.KNNBox(3))
    saved = sf.audit(small, texts, ["word1"], report=tmp_path / "r.html", perturbation=sf.KNNBox(3))
    assert str(saved) == str(plain)
    assert {path.name for path in tmp_path.iterdir()} == {
        "r.html",
        "r.csv",
        "r.jsonl",
        "r.certificates",
    }


def test_fail_on_gives_exit_code_1_only_when_it_happens(asked, tmp_path, capsys):
    code = main([*asked, "--fail-on", "dependent"])
    assert code == (
        1 if any(one.get("status") == "dependent" for one in lines_of(tmp_path / "r.jsonl")) else 3
    )
    assert main([*asked, "--fail-on", "error"]) == 1
    assert main([*asked, "--fail-on", "unknown"]) == 3
    capsys.readouterr()


EVEN = "the film was even"
LOUD = "loud"


def judged_by(texts: list[str]) -> list[list[float]]:
    """Of "even" two labels have the same; "loud" makes the program fail; else "she" is as good as
    "he".
    """
    if any(LOUD in text for text in texts):
        raise ValueError("too loud")
    return [[0.5, 0.5] if "even" in text else [0.2, 0.8] for text in texts]


GATES = {
    "proved": (["she won"], 0, ""),
    "proved, and one without a protected word": (["she won", "a film"], 0, ""),
    "proved, and one undecided": (["she won", f"she saw {EVEN}"], 0, ""),
    "no protected word": (
        ["a film", "a tale"],
        3,
        "nothing was proved: 2 texts without a protected word",
    ),
    "undecided": ([f"she saw {EVEN}"], 3, "nothing was proved: 1 text undecided"),
    "no counterpart": (
        ["zxqv won"],
        3,
        "nothing was proved: 1 text whose protected words could become nothing",
    ),
    "mixed, nothing proved": (
        ["a film", f"she saw {EVEN}", "zxqv won"],
        3,
        "nothing was proved: 1 text without a protected word, 1 text whose protected words "
        "could become nothing, "
        "1 text undecided",
    ),
    "all failed": ([f"she was {LOUD}"], 3, "1 of 1 texts failed (row 1); nothing was proved"),
    "one failed": (["she won", f"she was {LOUD}"], 3, "1 of 2 texts failed (row 2)"),
}


@pytest.mark.parametrize("name", GATES)
def test_an_audit_is_a_success_only_where_something_was_proved_and_no_row_failed(
    name, tmp_path, capsys, monkeypatch
):
    """With --fail-on and without, done at once or resumed; said on standard error, in the summary
    and in the report.
    """
    texts, code, lacking = GATES[name]
    (tmp_path / "t.csv").write_text("\n".join(["text", *texts, ""]), encoding="utf-8")
    judge = sf.from_function(judged_by, ["a", "b"], "judge")
    monkeypatch.setattr(many_texts, "load_any", lambda name: judge)
    asked = [
        "audit",
        str(tmp_path / "t.csv"),
        "--protected",
        "she,zxqv",
        "--report",
        str(tmp_path / "r.html"),
    ]
    for more in ([], ["--fail-on", "dependent"], ["--recheck"]):
        assert main([*asked, *more]) == code
        said = capsys.readouterr()
        assert said.err == (f"suffice: {lacking}\n" if lacking else "")
        assert lacking.capitalize() in " ".join(said.out.split())
    assert lacking[1:] in (tmp_path / "r.html").read_text(encoding="utf-8")
    found = sf.audit(judge, texts, ["she", "zxqv"])
    assert found.lacking == lacking
    assert (found.to_metrics()["proved"] > 0) == ("nothing" not in lacking)


def test_an_audit_names_what_each_word_could_become_and_what_was_not_tested(small, tmp_path):
    judge = sf.from_function(judged_by, ["a", "b"], "judge")
    texts = ["she won with zxqv", "his zxqv"]
    groups = {"one": ["she", "his"], "other": ["zxqv"]}
    found = sf.audit(judge, texts, groups, report=tmp_path / "r.html")
    assert found.could == {"she": "become 'he'", "his": "become 'her' or 'hers'", "zxqv": ""}
    assert {rate.name: (rate.independent, rate.trivial) for rate in found.by_word}["zxqv"] == (0, 2)
    assert {rate.name: (rate.independent, rate.trivial) for rate in found.by_group} == {
        "one": (2, 0),
        "other": (0, 2),
    }
    assert str(found).endswith("Not tested, without a counterpart: 'zxqv'.")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert '<td data-head="could">become &#x27;he&#x27;</td>' in page
    assert '<td data-head="could">not tested</td>' in page


@pytest.mark.parametrize(
    ("texts", "code", "lacking"),
    [
        (["a fine film"], 0, ""),
        ([EVEN], 3, "nothing was proved: 1 infeasible"),
        (["a fine film", f"a {LOUD} film"], 3, "1 of 2 texts failed (row 2)"),
        ([f"a {LOUD} film"], 3, "1 of 1 texts failed (row 1); nothing was proved: none explained"),
    ],
)
def test_a_batch_is_a_success_only_where_something_was_proved_and_no_row_failed(
    texts, code, lacking, tmp_path, capsys, monkeypatch
):
    (tmp_path / "t.csv").write_text("\n".join(["text", *texts, ""]), encoding="utf-8")
    monkeypatch.setattr(
        many_texts, "load_any", lambda name: sf.from_function(judged_by, ["a", "b"], "judge")
    )
    for _ in range(2):  # the second goes on where the first was
        assert (
            main(
                [
                    "batch",
                    str(tmp_path / "t.csv"),
                    "--out",
                    str(tmp_path / "o.jsonl"),
                    "--at-most",
                    "1",
                ]
            )
            == code
        )
        assert (f"suffice: {lacking}\n" in capsys.readouterr().err) == bool(lacking)


@pytest.mark.parametrize("column", ["text", "Text", "label", "ID"])
def test_a_column_that_is_read_and_stands_twice_is_refused(column, tmp_path):
    """Only the last was read, and the other lost."""
    (tmp_path / "t.csv").write_text(f"text,label,id,{column}\na film,b,c,d\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"has 2 columns `{column.lower()}`"):
        list(read_rows(tmp_path / "t.csv"))
    (tmp_path / "t.csv").write_text("text,label,note,note\na film,b,c,d\n", encoding="utf-8")
    assert [row.text for row in read_rows(tmp_path / "t.csv")] == ["a film"]


def test_a_key_that_is_read_and_stands_twice_makes_its_row_an_error(tmp_path):
    (tmp_path / "t.jsonl").write_text(
        '{"text": "a", "text": "b"}\n{"text": "c", "n": 1, "n": 2}\n', encoding="utf-8"
    )
    with (tmp_path / "t.jsonl").open("a", encoding="utf-8") as file:
        file.write(
            '{"text": "d", "note": {"text": 1, "text": 2}}\n{"note": {"label": 1}, "label": '
            '"e", "label": "f"}\n'
        )
    first, second, third, fourth = read_rows(tmp_path / "t.jsonl")
    assert (third.text, third.error, fourth.error) == (
        "d",
        "",
        "The line has the key `label` twice.",
    )
    assert first.error == "The line has the key `text` twice."
    assert (second.text, second.error) == ("c", "")


def test_compare_shows_what_a_new_model_changed(asked, tmp_path, capsys):
    assert main(asked) == 3
    (tmp_path / "r.jsonl").rename(tmp_path / "old.jsonl")
    make_classifier(8).save(tmp_path / "new")
    newer = [*asked, "--model", str(tmp_path / "new"), "--compare", str(tmp_path / "old.jsonl")]
    capsys.readouterr()
    assert main(newer) == 3
    assert "Since the older audit" in capsys.readouterr().out
    assert "What changed" in (tmp_path / "r.html").read_text(encoding="utf-8")
    (tmp_path / "old.jsonl").write_text("{}\n")
    assert main([*newer, "--fresh"]) == 2
    assert "not a result that suffice wrote" in capsys.readouterr().err


def test_an_audit_of_a_corpus_without_protected_words_says_so(folder, tmp_path, capsys):
    write_texts(tmp_path / "t.csv", 3)
    asked = [
        "audit",
        str(tmp_path / "t.csv"),
        "--protected",
        "nobody",
        "--report",
        str(tmp_path / "r.html"),
    ]
    assert main([*asked, "--model", folder, "--knn-box", "3", "--fail-on", "dependent"]) == 3
    assert "3 with nothing to prove" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("p.txt", "she\n# a remark\n\nhe # him\n", ["she", "he"]),
        ("p.txt", "[a]\nshe\n[b]\nhe\nhim\n", {"a": ["she"], "b": ["he", "him"]}),
        ("p.json", '["she", "he"]', ["she", "he"]),
        ("p.json", '{"a": ["she"]}', {"a": ["she"]}),
    ],
)
def test_protected_words_are_read_from_text_and_json(tmp_path, name, data, expected):
    (tmp_path / name).write_text(data)
    assert auditing.read_protected(str(tmp_path / name)) == expected


@pytest.mark.parametrize(
    ("name", "data"),
    [("p.txt", "# nothing\n"), ("p.json", "{}x"), ("p.json", '{"a": []}'), ("p.json", "[1]")],
)
def test_files_that_name_no_words_are_refused(tmp_path, name, data):
    (tmp_path / name).write_text(data)
    with pytest.raises(sf.InputError):
        auditing.read_protected(str(tmp_path / name))


# --- the bar ---


def test_on_a_terminal_the_bar_shows_rows_rate_and_time_left_and_elsewhere_nothing():
    shown = io.StringIO()
    quiet = io.StringIO()
    with auditors.bar(Console(file=shown, force_terminal=True, width=120), "explaining") as report:
        for done in range(5):
            report(done, 8, 1)
    assert re.search(
        r"explaining.*4/8.*texts/s, 1 errors.*(\d:\d\d:\d\d|-:--:--)", shown.getvalue()
    )
    with auditors.bar(Console(file=quiet), "explaining") as report:
        assert report is None
    assert quiet.getvalue() == ""


# --- files that are read stay as they are ---


@pytest.mark.parametrize(
    ("ending", "options"),
    [
        (
            ".csv",
            ["audit", "--protected", "word1", "--report", "texts.html"],
        ),  # its table would go to texts.csv
        (".jsonl", ["audit", "--protected", "word1", "--report", "texts.html", "--fresh"]),
        (".csv", ["batch", "--out", "texts.csv", "--fresh"]),
        (".csv", ["batch", "--out", "other.jsonl", "--summary", "texts.csv"]),
        (
            ".csv",
            ["audit", "--protected", "word1", "--report", "other.html", "--compare", "other.jsonl"],
        ),
    ],
)
def test_a_file_that_is_read_is_not_written_over(
    ending, options, folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    texts = Path(f"texts{ending}")
    texts.write_text(
        "text\nword1 word2\n" if ending == ".csv" else '{"text": "word1 word2"}\n', encoding="utf-8"
    )
    Path("other.jsonl").write_text("", encoding="utf-8")
    before = texts.read_bytes()
    assert main([options[0], texts.name, *options[1:], "--model", folder]) == 2
    said = capsys.readouterr().err
    beside = (
        "The table beside texts.html would be texts.csv, which is read here: name another report."
    )
    assert "is read here, and would be written over" in said or beside in said
    assert texts.read_bytes() == before


def test_an_audit_in_which_no_protected_word_occurs_says_so(small):
    """A group that is misspelt would pass for a clean audit."""
    found = sf.audit(small, ["word1 word2"], ["gendre"])
    assert str(found).startswith(
        "1 text: 0 dependent, 0 independent (proved), 0 undecided, 1 with nothing to prove"
    )
    assert str(found).endswith("Nothing was proved: 1 text without a protected word.")
    assert "Nothing was proved" not in str(
        sf.audit(small, ["word1 word2"], ["word1"], perturbation=sf.Deletion())
    )


def test_a_report_without_anything_to_prove_says_so(tmp_path):
    report = tmp_path / "report.html"
    sf.audit(sf.load("sentiment"), ["a fine film"], ["she"], report=report)
    assert "<p>No text had something to prove.</p>" in report.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("top", "said"),
    [
        ("review,label", "one of them `text`, not 'review, label'."),
        ("text;label", "one of them `text`, not 'text;label'; columns have commas between them."),
        ("", "one of them `text`."),
    ],
)
def test_a_file_without_a_column_of_texts_is_refused_with_what_it_has(top, said, tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text(f"{top}\na fine film;positive\n" if top else "", encoding="utf-8")
    with pytest.raises(sf.InputError) as caught:
        list(sf.batch(sf.load("sentiment"), path))
    assert str(caught.value).endswith(said)


def test_a_batch_says_on_the_terminal_why_texts_failed(tmp_path, capsys):
    path = tmp_path / "texts.csv"
    path.write_text('text\na fine film\n""\n', encoding="utf-8")
    assert main(["batch", str(path), "--out", str(tmp_path / "out.jsonl")]) == 3
    assert "Row 2: The text has no words: give at least one word." in " ".join(
        capsys.readouterr().err.split()
    )


@pytest.mark.parametrize(
    "how", [{"oracle": "milp"}, {"self_check": False}], ids=["a solver's word", "no checker"]
)
def test_an_audit_says_proved_of_nothing_that_no_checker_accepted(small, tmp_path, how):
    given = (
        small,
        ["word1 word2", "word3 word1"],
        ["word1"],
        tmp_path / "r.jsonl",
        tmp_path / "r.html",
    )
    found = sf.audit(*given, perturbation=sf.KNNBox(1), **how)
    assert found.overall.independent == 2
    assert "2 independent (2 of them not checked)" in str(found)
    assert "2 independent, not checked" in (tmp_path / "r.html").read_text(encoding="utf-8")
    checked = sf.audit(*given, perturbation=sf.KNNBox(1), fresh=True)
    assert "2 independent (proved)" in str(checked)
    assert "not checked" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_recheck_believes_no_verdict_whose_certificate_was_taken_out(asked, tmp_path, capsys):
    main(asked)
    out = tmp_path / "r.jsonl"
    lines = [journal.unsealed(raw, "") for raw in out.read_bytes().splitlines(keepends=True)]
    proved = [one for one in lines if one.get("certificate")]
    for one in proved:
        one["certificate"] = None
    out.write_bytes(b"".join(map(journal.sealed, lines)))
    before = capsys.readouterr().out
    main([*asked, "--recheck"])
    assert capsys.readouterr().out != before
    assert (
        (tmp_path / "r.csv").read_text(encoding="utf-8").count("it was not kept") == len(proved) > 1
    )


def closed_over(words):
    return lambda word: word in words


class Listed:
    def __init__(self, words):
        self.words = words

    def __call__(self, word):
        return word in self.words

    def holds(self, word):
        return word in self.words


OTHER_FUNCTIONS = {
    "a number": (lambda word: 2, lambda word: 3),
    "a tuple": (lambda word: word in ("a", "b"), lambda word: word in ("a",)),
    "a set": (lambda word: word in {"a", "b"}, lambda word: word in {"a"}),
    "a default": (lambda word, least=1: len(word) > least, lambda word, least=2: len(word) > least),
    "a function inside": (
        lambda word: [c for c in word if c == 1],
        lambda word: [c for c in word if c == 2],
    ),
    "what it closes over": (closed_over({"a"}), closed_over({"b"})),
    "what an object holds": (Listed(["a"]), Listed(["b"])),
    "whose method": (Listed(["a"]).holds, Listed(["b"]).holds),
    "whose built-in method": ({"a"}.__contains__, {"b"}.__contains__),
    "a pattern": (re.compile("a|b").fullmatch, re.compile("a").fullmatch),
    "a part": (partial(Listed.holds, Listed("a")), partial(Listed.holds, Listed("b"))),
}


@pytest.mark.parametrize("name", OTHER_FUNCTIONS)
def test_another_function_is_another_run(small, tmp_path, name):
    first, second = OTHER_FUNCTIONS[name]
    given = {"out": tmp_path / "r.jsonl", "perturbation": sf.KNNBox(2)}
    plain = str(sf.audit(small, ["a word1"], first, **given))
    assert str(sf.audit(small, ["a word1"], first, **given)) == plain  # the same goes on
    with pytest.raises(sf.InputError, match="results of another run"):
        sf.audit(small, ["a word1"], second, **given)


def test_a_function_has_the_same_name_in_every_process():
    program = (
        "import sys, test_corpus; from suffice.model.naming import named; "
        "print([named(one) for pair in test_corpus.OTHER_FUNCTIONS.values() for one in pair])"
    )
    found = set()
    for seed in ("1", "2"):
        env = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
        }
        found.add(
            subprocess.run(
                [sys.executable, "-c", program], env=env, capture_output=True, check=True
            ).stdout
        )
    assert len(found) == 1


def test_another_reader_of_texts_is_another_run(small, tmp_path):
    given = {"out": tmp_path / "r.jsonl", "perturbation": sf.KNNBox(2)}
    first, second = (
        replace(small, tokenizer=lambda text, least=n: text.split()[least:]) for n in (0, 1)
    )
    assert list(sf.batch(first, ["word1 word2"], **given))
    with pytest.raises(sf.InputError, match="results of another run"):
        list(sf.batch(second, ["word1 word2"], **given))

"""Many texts on the server: going through a file, stopping, going on, limits, and what can be
downloaded.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from serving import serving

import suffice as sf
from suffice.corpus.journal import read_journal
from suffice.web import corpora
from suffice.web.fields import Limits
from suffice.web.guard import Refusal

TEXTS = [
    "a gripping film",
    "a dull film",
    "she is a fine actor",
    "he is a fine actor",
    "a plain, honest story",
]


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with (
        serving("--model", "sentiment", "--workers", "2") as address,
        httpx.Client(base_url=address, timeout=60, trust_env=False) as found,
    ):
        yield found


def as_csv(texts: list[str]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([["text", "label"], *([text, "positive"] for text in texts)])
    return out.getvalue()


def put(client: httpx.Client, texts: str = as_csv(TEXTS), **question: Any) -> httpx.Response:
    asked = {
        "texts": texts,
        "name": "reviews.csv",
        "perturbation": {"kind": "deletion"},
        "seconds": 20,
        **question,
    }
    return client.post("/api/corpora", json=asked)


def run(client: httpx.Client, key: str, rows: int | None = None) -> list[dict[str, Any]]:
    """The rows of a run; with `rows`, the connection is closed after so many."""
    told: list[dict[str, Any]] = []
    with client.stream("POST", f"/api/corpora/{key}/run", json={}) as response:
        for line in response.iter_lines():
            if line.startswith("data: ") and '"pieces"' in line:
                told.append(json.loads(line[6:]))
                if len(told) == rows:
                    break
    return told


def test_every_row_is_answered_as_the_library_answers_it(client):
    key = put(client).json()["id"]
    told = {row["row"]: row for row in run(client, key)}
    assert sorted(told) == [1, 2, 3, 4, 5]
    model = sf.load("sentiment")
    for number, text in enumerate(TEXTS, 1):
        own = sf.explain(model, text, perturbation=sf.Deletion())
        assert told[number]["status"] == own.status
        assert told[number]["words"] == [word.text for word in own.words]
        assert told[number]["cost"] == own.cost
        assert "".join(piece for piece, _ in told[number]["pieces"]) == text
    assert client.get(f"/api/corpora/{key}").json()["done"] == 5


def test_a_run_that_was_left_goes_on_where_it_was(client):
    question = {"perturbation": {"kind": "deletion", "at_most": 1}}
    key = put(client, **question).json()["id"]
    first = run(client, key, rows=2)
    again = put(client, **question).json()
    assert again["id"] == key
    assert again["done"] >= 2
    rest = run(client, key)
    known = client.get(f"/api/corpora/{key}").json()["lines"]
    assert sorted(line["row"] for line in known) == [1, 2, 3, 4, 5]
    assert not {row["row"] for row in first} & {row["row"] for row in rest}
    assert run(client, key) == []


def test_another_question_of_the_same_file_is_another_corpus(client):
    assert put(client).json()["id"] != put(client, perturbation={"kind": "mask"}).json()["id"]
    assert put(client).json()["id"] != put(client, as_csv(TEXTS[:4])).json()["id"]


def test_an_audit_gives_its_report_its_table_and_its_lines(client, tmp_path):
    key = put(client, task="bias", protected=["she", "he"]).json()["id"]
    told = {row["row"]: row for row in run(client, key)}
    assert told[1]["status"] == "trivial"
    assert told[3]["words"] == ["she"]
    report = client.get(f"/api/corpora/{key}/report.html")
    assert report.headers["content-disposition"].startswith("attachment")
    assert "Audit of reviews.csv" in report.text
    rows = list(csv.DictReader(io.StringIO(client.get(f"/api/corpora/{key}/table.csv").text)))
    assert len(rows) == 5
    path = tmp_path / "lines.jsonl"
    path.write_bytes(client.get(f"/api/corpora/{key}/lines.jsonl").content)
    own = sf.audit(sf.load("sentiment"), TEXTS, ["she", "he"], perturbation=sf.Deletion())
    kept = {line["row"]: line["status"] for line in read_journal(path)}
    assert kept == {line["row"]: line["status"] for line in own.lines}


def test_a_bundled_group_names_its_words(client):
    key = put(client, task="bias", groups=["gender"]).json()["id"]
    assert {row["row"]: row for row in run(client, key)}[3]["words"] == ["she", "actor"]
    assert "By group of protected words" in client.get(f"/api/corpora/{key}/report.html").text


def test_the_table_of_explanations_cannot_be_taken_for_formulas(client):
    key = put(client, as_csv(["=1+1 is a good film"])).json()["id"]
    run(client, key)
    (row,) = csv.DictReader(io.StringIO(client.get(f"/api/corpora/{key}/table.csv").text))
    assert row["text"].startswith("'=")
    assert client.get(f"/api/corpora/{key}/report.html").status_code == 404


def test_a_broken_row_is_told_and_the_others_go_on(client):
    key = put(
        client, 'text,label\na good film,positive\n"",\none,two,three\na bad film,negative\n'
    ).json()["id"]
    told = {row["row"]: row for row in run(client, key)}
    assert [told[row]["status"] == "error" for row in sorted(told)] == [False, True, True, False]
    assert "fields" in told[3]["note"]


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({"texts": "words\na film\n"}, "texts"),
        ({"texts": ""}, "texts"),
        ({"texts": 3}, "texts"),
        ({"format": "xlsx"}, "format"),
        ({"task": "train"}, "task"),
        ({"task": "bias"}, "protected"),
        ({"task": "bias", "groups": ["nobody"]}, "groups"),
        ({"model": "/etc/passwd"}, "model"),
        ({"path": "/etc/passwd"}, "path"),
        ({"seconds": 1e9}, "seconds"),
    ],
)
def test_what_is_wrong_with_a_file_or_its_question_is_named(client, question, field):
    answer = put(client, **{"texts": as_csv(TEXTS), **question})
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field
    assert "/tmp" not in answer.text


def test_what_is_not_there_is_told(client):
    for path in ("/api/corpora/nothing", "/api/corpora/nothing/table.csv"):
        assert client.get(path).status_code == 404
    assert client.post("/api/corpora/nothing/run", json={}).status_code == 404
    assert (
        client.get(f"/api/corpora/{put(client, as_csv(['x'])).json()['id']}/table.csv").status_code
        == 404
    )


def test_a_file_that_is_too_large_is_refused(client):
    assert put(client, "text\n" + "x" * 5_000_000).status_code == 413


def test_a_server_that_ends_in_the_middle_of_a_run_says_nothing_and_leaves_nothing(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serving("--model", "sentiment", "--workers", "1") as address:
        client = httpx.Client(base_url=address, timeout=60, trust_env=False)
        key = put(client, as_csv([f"film {i} is a gripping story" for i in range(500)])).json()[
            "id"
        ]
        with client.stream("POST", f"/api/corpora/{key}/run", json={}) as response:
            next(line for line in response.iter_lines() if line.startswith("data: "))
            assert list(tmp_path.iterdir()) != []
    assert list(tmp_path.iterdir()) == []


# --- limits, without a server ---


def small(**limits: Any) -> corpora.Corpora:
    return corpora.Corpora(Limits(**limits))


def given(texts: str, **question: Any) -> dict[str, Any]:
    return {"texts": texts, "format": "csv", "name": "x.csv", "task": "explain", **question}


async def _put(kept: corpora.Corpora, *files: dict[str, Any]) -> list[corpora.Corpus]:
    return [await kept.put(file) for file in files]


def test_more_rows_than_the_limit_are_refused_and_long_texts_are_told():
    kept = small(rows=2, characters=10)
    with pytest.raises(Refusal, match="more than 2 rows"):
        asyncio.run(_put(kept, given("text\na\nb\nc\n")))
    (found,) = asyncio.run(_put(kept, given("text\na\nmuch too long for this\n")))
    assert [bool(row.error) for row in found.rows] == [False, True]
    kept.close()


def test_a_file_of_nothing_but_lines_is_refused_at_once():
    kept = small(rows=2)
    with pytest.raises(Refusal, match="more than 40 lines"):
        asyncio.run(_put(kept, given("text\n" + "\n" * 50)))
    kept.close()


def test_the_oldest_file_makes_room_unless_all_are_being_gone_through():
    kept = small(corpora=2)
    one, two, three = asyncio.run(_put(kept, *(given(f"text\n{name}\n") for name in "abc")))
    assert list(kept.kept) == [two.key, three.key]
    busy: Any = object()
    two.run = three.run = busy
    with pytest.raises(Refusal, match="stop one first"):
        asyncio.run(_put(kept, given("text\nd\n")))
    assert one.key not in kept.kept
    kept.close()

"""What was recorded holds: the same answers, the same certificates, and no more work."""

from __future__ import annotations

import pytest

from tests.recordings.questions import everything
from tests.recordings.record import machine, recorded, row

ROW, SPARE = (
    1.25,
    5,
)  # a row may take a quarter more of each count and a few besides: other machines round otherwise
SUM = 1.05  # all rows together may take a twentieth more


@pytest.fixture(scope="module")
def rows() -> dict[str, dict]:
    return {asked.name: row(asked) for asked in everything()}


def test_every_question_is_recorded(rows):
    assert list(rows) == list(recorded()["rows"])


def test_answers_are_those_that_were_recorded(rows):
    names = ("status", "positions", "cost", "lower_bound", "answers", "answer", "texts", "order")
    before = recorded()["rows"]
    changed = [
        f"{name}, {part}: {before[name].get(part)} -> {now.get(part)}"
        for name, now in rows.items()
        for part in names
        if before[name].get(part) != now.get(part)
    ]
    assert not changed


def test_certificates_are_the_same_bytes_on_the_machine_that_recorded_them(rows):
    before = recorded()
    if before["machine"] != machine():
        pytest.skip("recorded on another machine, whose arithmetic may differ in last bits")
    assert [
        name
        for name, now in rows.items()
        if before["rows"][name]["certificates"] != now["certificates"]
    ] == []


def test_no_question_takes_much_more_work_than_was_recorded(rows):
    before = recorded()["rows"]
    more = [
        f"{name}, {count}: {before[name]['work'].get(count, 0)} -> {value}"
        for name, now in rows.items()
        for count, value in now["work"].items()
        if value > ROW * before[name]["work"].get(count, 0) + SPARE
    ]
    assert not more


def test_all_questions_together_take_no_more_work_than_was_recorded(rows):
    before = recorded()["rows"]
    counts = {count for now in rows.values() for count in now["work"]}
    for count in sorted(counts):
        was = sum(before[name]["work"].get(count, 0) for name in rows)
        now = sum(found["work"].get(count, 0) for found in rows.values())
        assert now <= SUM * was + SPARE, f"{count}: {was} -> {now}"

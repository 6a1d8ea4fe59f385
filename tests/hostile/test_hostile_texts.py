"""Texts from strangers: no line, cell or archive takes memory out of proportion to its file."""

from __future__ import annotations

import gzip
import json

import pytest

from suffice.cli.reading import read_json
from suffice.corpus import rows
from suffice.corpus.rows import read_rows
from suffice.errors import InputError
from tests.hostile.limited import limited, only_linux

READ = "sum(1 for row in read_rows(given[0]))"
ROWS = "from suffice.corpus.rows import read_rows"
PIECE = 2**24
MANY = 2**31 // PIECE


def gigabytes(piece: bytes, times: int = MANY) -> bytes:
    """A gzip file of a few megabytes that unpacks to 2 GiB of these bytes, again and again."""
    return gzip.compress(piece * (PIECE // len(piece))) * times


@only_linux
@pytest.mark.parametrize(
    ("name", "start", "piece", "said"),
    [
        ("long.csv.gz", b"text\n", b"x", "Line 2 of long.csv.gz has more than"),
        ("long.jsonl.gz", b'{"text": "', b"x", "Line 1 of long.jsonl.gz has more than"),
        ("header.csv.gz", b"", b"x", "Line 1 of header.csv.gz has more than"),
        ("open.csv.gz", b'text\n"', b"a" + b" " * 1022 + b"\n", "100 times as large when unpacked"),
        ("blank.csv.gz", b"text\n", b"\n", "65537 lines without any text"),
    ],
)
def test_a_few_megabytes_that_unpack_to_two_gibibytes_are_refused(
    name, start, piece, said, tmp_path
):
    path = tmp_path / name
    path.write_bytes(gzip.compress(start) + gigabytes(piece))
    assert path.stat().st_size < 8 * 2**20
    answer = limited(ROWS, READ, [path])
    assert answer.startswith("refused: ")
    assert said in answer


@only_linux
def test_a_cell_without_an_end_takes_no_more_than_a_record_may(tmp_path):
    """A thousand lines of a megabyte each: the quote is given up long before."""
    path = tmp_path / "open.csv"
    with open(path, "w") as file:
        file.write('text\n"')
        for _ in range(400):
            file.write("x" * 2**20 + "\n")
    assert limited(ROWS, "next(read_rows(given[0])).error", [path]).startswith(
        "read: A quote that opens in line 2"
    )


def test_the_row_after_a_cell_without_an_end_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "LONGEST", 100)
    (tmp_path / "a.csv").write_text('text\n"open\n' + "a good film\n" * 20)
    first, *others = read_rows(tmp_path / "a.csv")
    assert first.error.startswith("A quote that opens in line 2 does not close well (line 10")
    assert [row.text for row in others] == ["a good film"] * 20


def test_a_question_that_unpacks_to_far_more_is_refused(tmp_path):
    path = tmp_path / "question.json.gz"
    path.write_bytes(gigabytes(b" ", 4))
    with pytest.raises(InputError, match="100 times as large when unpacked"):
        read_json(str(path), "question")
    path.write_bytes(gzip.compress(json.dumps({"a": 1}).encode())[:-4])
    with pytest.raises(InputError, match="not a whole gzip file"):
        read_json(str(path), "question")

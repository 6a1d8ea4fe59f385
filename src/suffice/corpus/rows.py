"""Rows: texts from a file, a list, a column or any iterable, and what a verb says of each."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from suffice.errors import InputError
from suffice.model import packed
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.sets.perturbations import Perturbation

READ = ("text", "label", "id")  # columns, or keys
# characters of a line, and of the lines of one CSV record together, give or take a line
LONGEST = 2**24
BLANK = 2**16  # lines in a row that hold nothing
# lines of one CSV record: a quote that stays open longer than that was not meant to be one
TALLEST = 1000
# lines: a record of so many lines, each of which could be a record, was made by a stray quote
MERGED = 5


@dataclass(frozen=True)
class Row:
    """One text of many, counted from 1; `error` says why a row cannot be used."""

    number: int
    text: str | tuple[str, ...] = ""
    label: str | None = None
    id: str | int | None = None
    error: str = ""


class Reply(NamedTuple):
    """What a verb says of a row: a line of the journal, and the certificate's bytes if there is
    one.
    """

    line: dict[str, Any]
    certificate: bytes | None = None


class RowVerb(Protocol):
    """What is asked of every row; `run` names the model and the question, so that only like results
    are mixed.
    """

    @property
    def run(self) -> str: ...

    @property
    def classifier(self) -> Classifier | BlackBox: ...

    @property
    def perturbation(self) -> Perturbation: ...

    @property
    def options(self) -> Mapping[str, Any]: ...

    def __call__(self, row: Row) -> Reply:
        """Never raises for what is wrong with a row."""


def head(verb: RowVerb, row: Row) -> dict[str, Any]:
    """How every line begins."""
    text = row.text if isinstance(row.text, str) else list(row.text)
    named = {} if row.id is None else {"id": row.id}
    return {"row": row.number, **named, "run": verb.run, "text": text, "expected": row.label}


def beginning(line: Mapping[str, Any]) -> dict[str, Any]:
    """The head of a line that is there already."""
    return {
        name: value
        for name, value in line.items()
        if name in ("row", "id", "run", "text", "expected")
    }


def failed(verb: RowVerb, row: Row, message: str) -> Reply:
    return Reply({**head(verb, row), "error": message})


def digest(data: Mapping[str, Any]) -> str:
    """A short name for settings."""
    return hashlib.sha256(
        json.dumps(data, sort_keys=True, ensure_ascii=False).encode()
    ).hexdigest()[:16]


# --- texts from anywhere ---


@dataclass(frozen=True)
class Texts:
    """Many texts: `rows` reads them one by one; `again` says whether they can be read a second
    time.
    """

    rows: Callable[[], Iterator[Row]]
    again: bool


def texts_of(given: Any) -> Texts:
    """A file's name, a list or a column of texts, or any iterable, which is read as it
    is needed.
    """
    if isinstance(given, str | Path):
        if not Path(given).is_file():
            hint = "" if Path(given).suffix else "; texts themselves go in a list"
            raise InputError(f"There is no file {str(given)!r}{hint}.")
        return Texts(partial(read_rows, given), again=True)
    if (
        isinstance(given, Mapping | bytes)
        or hasattr(given, "columns")
        or not isinstance(given, Iterable)
    ):
        raise InputError(
            f"Give a file, a list of texts or one column of a table, not {type(given).__name__}."
        )
    return Texts(partial(_from_items, given), again=hasattr(given, "__len__"))


def _from_items(given: Iterable[Any]) -> Iterator[Row]:
    for number, item in enumerate(given, start=1):
        yield (
            item
            if isinstance(item, Row)
            else _row(number, item if isinstance(item, Mapping) else {"text": item})
        )


def read_rows(path: str | Path) -> Iterator[Row]:
    """The rows of a CSV file with the columns text[,label][,id], or of a JSONL file with those
    keys, also gzipped.
    """
    name = Path(path).name
    kind = name.removesuffix(".gz").rpartition(".")[2].lower()
    if kind not in ("csv", "jsonl"):
        raise InputError(f"{name} must end in .csv or .jsonl (or these with .gz).")
    with _opened(Path(path)) as file:
        lines = _lines(file, name)
        rows = _from_csv(lines, name) if kind == "csv" else _from_jsonl(lines)
        first = next(rows, None)
        if first is None:
            raise InputError(f"{name} holds no texts.")
        yield first
        yield from rows


def _opened(path: Path) -> IO[str]:
    with open(path, "rb") as start:
        zipped = start.read(2) == packed.MAGIC
    file = packed.opened(path) if zipped else open(path, "rb")  # noqa: SIM115  (the reader closes it)
    return io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")


def _lines(file: IO[str], name: str) -> Iterator[str]:
    """The lines of a file, none of which is longer than what is read."""
    try:
        blank = 0
        for number in itertools.count(1):
            line = file.readline(LONGEST + 1)
            if len(line) > LONGEST:
                raise InputError(
                    f"Line {number} of {name} has more than {LONGEST} characters, which are "
                    "not read: split it."
                )
            if not line:
                return
            blank = 0 if len(line) > 2 or line.strip() else blank + 1
            if blank > BLANK:
                raise InputError(
                    f"Up to line {number}, {name} has {blank} lines without any text: take "
                    "them out."
                )
            yield line
    except (OSError, *packed.BROKEN) as error:
        raise InputError(f"{name} is not a readable gzip file: {error}.") from error


# --- CSV ---


@dataclass(frozen=True)
class Record:
    """One record of a CSV file: the line that it begins in, and its fields or what is wrong with
    it.
    """

    line: int
    fields: list[str]
    error: str = ""


def _from_csv(lines: Iterator[str], name: str) -> Iterator[Row]:
    found = _records(lines)
    top = next(found, Record(1, []))
    header = [field.strip().lower() for field in top.fields]
    if top.error or "text" not in header:
        raise InputError(
            f"{name} needs a first line that names its columns, one of them `text`{_instead(top)}"
        )
    if twice := twice_in(header):
        raise InputError(
            f"{name} has {header.count(twice)} columns `{twice}`: leave one, rename the others."
        )
    for number, record in enumerate(found, start=1):
        wrong = record.error or _unfit(record, header)
        yield (
            Row(number, error=wrong)
            if wrong
            else _row(number, dict(zip(header, record.fields, strict=True)))
        )


def _instead(top: Record) -> str:
    """What the first line holds instead."""
    if top.error:
        return f". {top.error}"
    found = ", ".join(top.fields)
    commas = "; columns have commas between them" if ";" in found or "\t" in found else ""
    return f", not {found[:80]!r}{commas}." if found else "."


def _unfit(record: Record, header: list[str]) -> str:
    if len(record.fields) == len(header):
        return ""
    return (
        f"The row in line {record.line} has {len(record.fields)} fields, the header has "
        f"{len(header)}."
    )


def _records(lines: Iterator[str]) -> Iterator[Record]:
    """Every record that is not blank; after a broken one the reader goes on with the very next line
    of the file.
    """
    csv.field_size_limit(LONGEST)
    waiting: deque[str] = deque()
    number = 1
    width = 0
    while True:
        taken = _Taken(itertools.chain(_popped(waiting), lines))
        record = _record(taken, number, width)
        if record is None:
            return
        if record.error:
            waiting.extendleft(reversed(taken.lines[1:]))
        number += 1 if record.error else len(taken.lines)
        width = width or len(record.fields)
        if record.fields or record.error:
            yield record


def _popped(waiting: deque[str]) -> Iterator[str]:
    while waiting:
        yield waiting.popleft()


class _Taken:
    """Lines, remembering those that were taken, of which there are only so many."""

    def __init__(self, source: Iterator[str]) -> None:
        self.source = source
        self.lines: list[str] = []
        self.left = LONGEST  # characters

    def __iter__(self) -> Iterator[str]:
        for line in self.source:
            self.lines.append(line)
            self.left -= len(line)
            yield line
            if len(self.lines) >= TALLEST or self.left < 0:
                return


def _record(taken: _Taken, number: int, width: int) -> Record | None:
    """The next record; None at the end."""
    try:
        fields = next(csv.reader(taken, strict=True), None)
    except csv.Error as error:
        last = number + len(taken.lines) - 1
        told = f"A quote that opens in line {number} does not close well (line {last}: {error})"
        return Record(
            number, [], f"{told}; the row was left out, the lines after it are read as rows."
        )
    if fields is None:
        return None
    if _merged(taken.lines, width):
        told = (
            f"A quote that opens in line {number} closes in line {number + len(taken.lines) - 1}, "
            "over whole rows"
        )
        return Record(
            number, [], f"{told}; the row was left out, the lines after it are read as rows."
        )
    return Record(number, fields)


def _merged(lines: list[str], width: int) -> bool:
    """Whether a record holds many lines that look like records themselves: with as many commas as
    the header.
    """
    return (
        width > 1 and len(lines) >= MERGED and all(line.count(",") == width - 1 for line in lines)
    )


# --- JSONL ---


def _from_jsonl(lines: Iterator[str]) -> Iterator[Row]:
    kept = (line for line in lines if line.strip())
    for number, line in enumerate(kept, start=1):
        try:
            data = json.loads(line, object_pairs_hook=_Read)
        except (ValueError, RecursionError) as error:
            yield Row(number, error=f"The line is not JSON: {error}.")
            continue
        if isinstance(data, _Read) and data.twice:
            yield Row(number, error=f"The line has the key `{data.twice}` twice.")
        elif isinstance(data, dict):
            yield _row(number, data)
        else:
            yield Row(number, error="The line is not a JSON object.")


def twice_in(names: Sequence[str]) -> str:
    """The first of the names that are read which comes twice: one of its two values would be lost;
    else nothing.
    """
    return next((name for name in READ if names.count(name) > 1), "")


class _Read(dict[str, Any]):
    """An object of a line, and the key that is read and stands in it twice, if there is one."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.twice = twice_in([name for name, _ in pairs])


def _row(number: int, data: Mapping[str, Any]) -> Row:
    text = data.get("text")
    label = data.get("label")
    given = data.get("id")
    name = given if isinstance(given, str | int) and _writable(str(given)) else None
    if isinstance(text, list | tuple) and text and all(isinstance(word, str) for word in text):
        text = tuple(text)
    if not isinstance(text, str | tuple):
        return Row(
            number,
            id=name,
            error="The row has no text: `text` must be a string or a list of words.",
        )
    if not _writable("".join(text) + str(label)):
        return Row(number, id=name, error="The text is not UTF-8.")
    return Row(number, str(text) if isinstance(text, str) else text, _label(label), name)


def _label(given: Any) -> str | None:
    return None if given in (None, "") else str(given)


def _writable(text: str) -> bool:
    """Whether it is proper Unicode: no halves of surrogates, which is also how broken bytes are
    read.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

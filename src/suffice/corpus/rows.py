"""Rows: texts from a CSV or JSONL file, and what a job says of each."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from suffice.errors import InputError

LONGEST = 2**27  # characters in one CSV field


@dataclass(frozen=True)
class Row:
    """One text of a file, counted from 1; `error` says why a row cannot be used."""

    number: int
    text: str | tuple[str, ...] = ""
    label: str | None = None
    id: str | int | None = None
    error: str = ""


class Reply(NamedTuple):
    """What a task says of a row: a line of the journal, and the certificate's bytes if there is one."""

    line: dict[str, Any]
    certificate: bytes | None = None


class Job(Protocol):
    """What is done to every row; `run` names the model and the question, so that only like results are mixed."""

    @property
    def run(self) -> str: ...

    def __call__(self, row: Row) -> Reply:
        """Never raises for what is wrong with a row."""


def head(job: Job, row: Row) -> dict[str, Any]:
    """How every line begins."""
    text = row.text if isinstance(row.text, str) else list(row.text)
    named = {} if row.id is None else {"id": row.id}
    return {"row": row.number, **named, "run": job.run, "text": text, "expected": row.label}


def failed(job: Job, row: Row, message: str) -> Reply:
    return Reply({**head(job, row), "error": message})


def digest(data: Mapping[str, Any]) -> str:
    """A short name for settings."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


# --- reading ---


def read_rows(path: str | Path) -> list[Row]:
    """The rows of a CSV file with the columns text[,label][,id], or of a JSONL file with those keys, also gzipped."""
    name, raw = Path(path).name, Path(path).read_bytes()
    try:
        data = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except (OSError, EOFError) as error:
        raise InputError(f"{name} is not a readable gzip file: {error}.") from error
    source = data.decode("utf-8-sig", errors="surrogateescape")
    kind = name.removesuffix(".gz").rpartition(".")[2].lower()
    if kind not in ("csv", "jsonl"):
        raise InputError(f"{name} must end in .csv or .jsonl (or these with .gz).")
    rows = list(_from_csv(source, name) if kind == "csv" else _from_jsonl(source))
    if not rows:
        raise InputError(f"{name} holds no texts.")
    return rows


def _from_csv(source: str, name: str) -> Iterator[Row]:
    csv.field_size_limit(LONGEST)
    try:
        lines = list(csv.reader(io.StringIO(source, newline="")))
    except csv.Error as error:
        raise InputError(f"{name} is not CSV: {error}.") from error
    header = [field.strip().lower() for field in lines[0]] if lines else []
    if "text" not in header:
        raise InputError(f"{name} needs a first line that names its columns, one of them `text`.")
    for number, fields in enumerate((line for line in lines[1:] if line), start=1):
        if len(fields) != len(header):
            yield Row(number, error=f"The row has {len(fields)} fields, the header has {len(header)}.")
        else:
            yield _row(number, dict(zip(header, fields, strict=True)))


def _from_jsonl(source: str) -> Iterator[Row]:
    kept = [line for line in source.split("\n") if line.strip()]
    for number, line in enumerate(kept, start=1):
        try:
            data = json.loads(line)
        except ValueError as error:
            yield Row(number, error=f"The line is not JSON: {error}.")
            continue
        if isinstance(data, dict):
            yield _row(number, data)
        else:
            yield Row(number, error="The line is not a JSON object.")


def _row(number: int, data: Mapping[str, Any]) -> Row:
    text, label, given = data.get("text"), data.get("label"), data.get("id")
    name = given if isinstance(given, str | int) and _writable(str(given)) else None
    if isinstance(text, list) and text and all(isinstance(word, str) for word in text):
        text = tuple(text)
    if not isinstance(text, str | tuple):
        return Row(number, id=name, error="The row has no text: `text` must be a string or a list of words.")
    if not _writable("".join(text) + str(label)):
        return Row(number, id=name, error="The text is not UTF-8.")
    return Row(number, text, None if label in (None, "") else str(label), name)


def _writable(text: str) -> bool:
    """Whether it is proper Unicode: no halves of surrogates, which is also how broken bytes are read."""
    return not any("\ud800" <= char <= "\udfff" for char in text)

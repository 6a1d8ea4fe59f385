"""Rows: texts from a CSV or JSONL file, and the journal of results that a run can be resumed from."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

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


class Task(Protocol):
    """What is done to every row; `run` names the model and the question, so that only like results are mixed."""

    @property
    def run(self) -> str: ...

    def __call__(self, row: Row) -> Reply:
        """Never raises for what is wrong with a row."""


def head(task: Task, row: Row) -> dict[str, Any]:
    """How every line begins."""
    text = row.text if isinstance(row.text, str) else list(row.text)
    named = {} if row.id is None else {"id": row.id}
    return {"row": row.number, **named, "run": task.run, "text": text, "expected": row.label}


def failed(task: Task, row: Row, message: str) -> Reply:
    return Reply({**head(task, row), "error": message})


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


# --- the journal ---


class Journal:
    """Lines that are appended as rows are done. Killed at any moment, at most the last line is torn, and is dropped."""

    def __init__(self, path: str | Path, run: str, rows: Sequence[Row], fresh: bool = False) -> None:
        self.path, self.run = Path(path), run
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file = open(self.path, "r+b" if self.path.exists() else "x+b")  # noqa: SIM115  (closed by close)
        _lock(self.file, self.path)
        if fresh:
            self.file.truncate(0)
        try:
            self.lines = self._read(rows)
        except InputError:
            self.close()
            raise

    def _read(self, rows: Sequence[Row]) -> dict[int, dict[str, Any]]:
        """The rows done already; cuts off a torn last line."""
        whole, _, torn = self.file.read().rpartition(b"\n")
        found: dict[int, dict[str, Any]] = {}
        texts = {row.number: row.text if isinstance(row.text, str) else list(row.text) for row in rows}
        for line in whole.split(b"\n") if whole else []:
            data = self._line(line)
            if data["run"] != self.run or texts.get(data["row"]) != data["text"]:
                raise InputError(
                    f"{self.path} holds results of another run (another model, question or file of texts): "
                    "name another file, or start over with --fresh."
                )
            found[data["row"]] = data
        if torn:
            self.file.truncate(len(whole) + 1 if whole else 0)
        self.file.seek(0, os.SEEK_END)
        return found

    def _line(self, line: bytes) -> dict[str, Any]:
        try:
            data = json.loads(line)
            if {"row", "run", "text"} <= data.keys():
                return dict(data)
        except (ValueError, AttributeError):
            pass
        raise InputError(f"{self.path} is not a file of results: name another file, or start over with --fresh.")

    def append(self, line: dict[str, Any]) -> None:
        """On the disk when this returns."""
        self.file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        self.lines[line["row"]] = line

    def close(self) -> None:
        self.file.close()


def read_journal(path: str | Path) -> list[dict[str, Any]]:
    """The lines of a finished run, by row."""
    try:
        lines = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").split("\n") if line]
        return sorted(lines, key=lambda line: int(line["row"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a file of results: {type(error).__name__}: {error}.") from error


def _lock(file: BinaryIO, path: Path) -> None:
    """Two runs must not write one file; the lock goes with the process, however that ends."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise InputError(f"Another run is writing to {path}: wait for it, or name another file.") from error


def write_safely(path: Path, data: bytes) -> None:
    """A file that is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    os.replace(part, path)

"""The journal: a line per row as it is done, from which a run that was stopped in any way can be
resumed.

Every line begins with a checksum over the rest of it (question and answer), so that a line that was
edited or damaged is noticed. Of the lines that are there only their places are kept in memory.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from suffice.corpus.rows import Row
from suffice.errors import InputError

OPENING = b'{"checksum":"'
DIGITS = 16
CLOSING = b'",'
START_OVER = "name another file, or start over with --fresh (fresh=True)."


class Place(NamedTuple):
    """Where the line of a row begins, which text it is about, and whether the row failed."""

    offset: int
    text: bytes
    failed: bool


class Journal:
    """Lines that are appended as rows are done. Killed at any moment, at most the last line is
    torn, and is dropped.
    """

    def __init__(self, path: str | Path, run: str, fresh: bool = False) -> None:
        self.path = Path(path)
        self.run = run
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file = open(self.path, "r+b" if self.path.exists() else "x+b")  # noqa: SIM115  (closed by close)
        _lock(self.file, self.path)
        if fresh:
            self.file.truncate(0)
        try:
            self.done = self._read()
        except InputError:
            self.close()
            raise

    def _read(self) -> dict[int, Place]:
        """The rows done already; cuts off a torn last line."""
        found: dict[int, Place] = {}
        offset = 0
        for number, raw in enumerate(self.file, start=1):
            if not raw.endswith(b"\n"):
                self.file.truncate(offset)
                break
            line = unsealed(raw, f"line {number} of {self.path}")
            if line.get("run") != self.run:
                raise self._other()
            if line["row"] in found:
                raise InputError(f"{self.path} holds row {line['row']} twice: {START_OVER}")
            found[line["row"]] = Place(offset, _text(line["text"]), "error" in line)
            offset += len(raw)
        return found

    def _other(self) -> InputError:
        return InputError(
            f"{self.path} holds results of another run (another model, question or file of "
            f"texts): {START_OVER}"
        )

    def holds(self, row: Row) -> bool:
        """Whether the row is done; refused where that was another text."""
        place = self.done.get(row.number)
        if place is not None and place.text != _text(row.text):
            raise self._other()
        return place is not None

    def all_of(self, count: int) -> None:
        """Refused where there are answers to more texts than are asked about."""
        if any(number > count for number in self.done):
            raise self._other()

    def line(self, number: int) -> dict[str, Any]:
        """The line of a row that is done."""
        self.file.seek(self.done[number].offset)
        return unsealed(self.file.readline(), f"row {number} of {self.path}")

    def append(self, line: dict[str, Any]) -> None:
        """On the disk when this returns."""
        offset = self.file.seek(0, os.SEEK_END)
        self.file.write(sealed(line))
        self.file.flush()
        os.fsync(self.file.fileno())
        self.done[line["row"]] = Place(offset, _text(line["text"]), "error" in line)

    def close(self) -> None:
        self.file.close()


def _text(text: Any) -> bytes:
    """A short name for a text."""
    plain = text if isinstance(text, str) else list(text)
    return hashlib.sha256(json.dumps(plain).encode()).digest()[:8]


# --- lines and their checksums ---


def sealed(line: dict[str, Any]) -> bytes:
    """A line of the file."""
    body = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()
    return OPENING + _checksum(body) + CLOSING + body[1:] + b"\n"


def unsealed(raw: bytes, where: str) -> dict[str, Any]:
    """What a line of the file says; refused where it is not as it was written."""
    start = len(OPENING)
    end = len(OPENING) + DIGITS
    if raw[:start] != OPENING or raw[end : end + len(CLOSING)] != CLOSING:
        raise InputError(f"{where} is not a result that suffice wrote: {START_OVER}")
    body = b"{" + raw.rstrip(b"\n")[end + len(CLOSING) :]
    if _checksum(body) != raw[start:end]:
        raise InputError(
            f"{where} was edited or damaged: delete that line to have its row asked again, or "
            f"{START_OVER}"
        )
    line: dict[str, Any] = json.loads(body)
    return line


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:DIGITS].encode()


def read_journal(path: str | Path) -> Iterator[dict[str, Any]]:
    """The lines of a finished run, in the order in which they were done."""
    with open(path, "rb") as file:
        for number, raw in enumerate(file, start=1):
            yield unsealed(raw, f"line {number} of {path}")


# --- files ---


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
        raise InputError(
            f"Another run is writing to {path}: wait for it, or name another file."
        ) from error


def write_safely(path: Path, data: bytes) -> None:
    """A file that is there whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(data)
    except FileNotFoundError:  # the first file of its folder
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data)
    os.replace(part, path)

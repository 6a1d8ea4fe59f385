"""The journal: a line per row as it is done, from which a run that was stopped in any way can be resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from suffice.corpus.rows import Row
from suffice.errors import InputError


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

"""Streams: standard output and errors that take any text, and outlast a reader who goes away."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

# our own signs where a terminal does not have them; "?" is the sign of what is undecided and stands
# for nothing else
OURS = "✓✗◐≈–␣×·“”‘’━╌"
THEIRS = "+x~=-_x-\"\"''=-"
PLAIN = dict(zip(OURS, THEIRS, strict=True)) | {"→": "->", "…": "...", "ε": "eps"}
SPINNER = range(0x2800, 0x2900)  # braille


class Lasting:
    """A stream whose reader may go away (`| head`): what follows is lost, and the command ends as
    it would have.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, words: str) -> int:
        with self._reader_may_leave():
            self._stream.write(words)
        return len(words)

    def flush(self) -> None:
        with self._reader_may_leave():
            self._stream.flush()

    @contextmanager
    def _reader_may_leave(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def lasting() -> Iterator[None]:
    """Standard output that outlasts its reader; signs that a terminal does not have are replaced by
    plain ones.
    """
    ours = sys.stdout
    for stream in (ours, sys.stderr):
        _any_text(stream, errors="suffice.plain")
    sys.stdout = lasting = Lasting(ours)
    try:
        yield
    finally:
        sys.stdout = ours
        lasting.flush()


def as_utf8(stream: Any) -> None:
    """For JSON, which is UTF-8 wherever it goes."""
    _any_text(stream, encoding="utf-8")


def _any_text(stream: Any, **settings: str) -> None:
    # a StringIO has none and takes anything
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if encoding.lower().replace("-", "") != "utf8":
        with suppress(
            AttributeError
        ):  # not every stream that took the place of the usual one can be set
            stream.reconfigure(**settings)


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(_sign, error.object[error.start : error.end])), error.end


def _sign(char: str) -> str:
    """A plain sign for one of ours; a letter of somebody's text as its number, so that no two look
    the same.
    """
    plain = "*" if ord(char) in SPINNER else PLAIN.get(char)
    return plain or char.encode("ascii", "backslashreplace").decode("ascii")


codecs.register_error("suffice.plain", _plain)

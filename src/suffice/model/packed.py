"""Packed: what compressed files unpack to, never more than fits their size: no small file fills the
memory.

A stranger's file may unpack to a thousand times its size. Texts, vectors and weights do not: what
is larger than MOST_TIMES the file and SPARE bytes is refused while it is unpacked, whatever it
declares.
"""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

from suffice.errors import InputError

# how many times as large as a compressed file its content may be, beyond SPARE bytes
MOST_TIMES = 100
SPARE = 2**24
MAGIC = b"\x1f\x8b"  # how a gzip file begins
BROKEN = (
    gzip.BadGzipFile,
    EOFError,
    zlib.error,
)  # what reading a gzip file that is none, or half of one, raises


def most_of(size: int) -> int:
    """How many bytes a compressed file of this size may unpack to."""
    return MOST_TIMES * size + SPARE


def too_large(name: str) -> InputError:
    return InputError(
        f"{name} is more than {MOST_TIMES} times as large when unpacked, which is refused."
    )


def opened(path: Path) -> BinaryIO:
    """A gzip file, unpacked as it is read; InputError once that is too much."""
    inner = gzip.open(path)  # noqa: SIM115  (closed with what is given back)
    return cast(
        BinaryIO, io.BufferedReader(_Bounded(inner, most_of(path.stat().st_size), path.name))
    )


def unpacked(path: Path) -> bytes:
    """The content of a file, unpacked where it is a gzip file; InputError where that is too much,
    or broken.
    """
    data = path.read_bytes()
    if not data.startswith(MAGIC):
        return data
    try:
        with opened(path) as file:
            return file.read()
    except BROKEN as error:
        raise InputError(f"{path.name} is not a whole gzip file: {error}.") from error


class _Bounded(io.RawIOBase):
    """What is unpacked, until it is far larger than the file."""

    def __init__(self, inner: Any, most: int, name: str) -> None:
        self.inner = inner
        self.left = most
        self.name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.inner.read(len(buffer))
        self.left -= len(data)
        if self.left < 0:
            raise too_large(self.name)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.inner.close()
        super().close()

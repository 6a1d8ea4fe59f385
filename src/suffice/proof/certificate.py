"""Certificate: the evidence for an answer as lines of plain data, and the compressed file that
holds them.

Method: certificates as lines of data (theory, section 13).
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import NotACertificate
from suffice.model.network import Floats

FORMAT = 2
MAX_TEXT, MAX_HEADER = (
    2**29,
    2**23,
)  # bytes that are unpacked at most (256 more for a line), and of the header
# bytes that a list and one more thing in it count for, beside their text
CONTAINER = 16
ITEM = 8
LEVEL = 6  # of compression: 9 takes four times as long for files that are 3 % smaller
ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, eq=False)
class Certificate:
    """Header and evidence, one mapping per line; docs/certificate.md says what each line means."""

    lines: tuple[Mapping[str, Any], ...]

    @property
    def claim(self) -> Mapping[str, Any]:
        """What the certificate is evidence for."""
        claim: Mapping[str, Any] = self.lines[0]["claim"]
        return claim

    @cached_property
    def data(self) -> bytes:
        """The file's bytes: the same lines always give the same bytes."""
        text = "".join(_line(line) for line in self.lines)
        return gzip.compress(text.encode(), LEVEL, mtime=0)

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def save(self, path: str | Path) -> None:
        Path(path).write_bytes(self.data)

    def summary(self) -> dict[str, Any]:
        """What a result's JSON says of it; the evidence itself stays in the file."""
        return {
            "format": FORMAT,
            "claim": self.claim["kind"],
            "lines": len(self.lines),
            "bytes": len(self.data),
            "sha256": self.digest,
        }

    def __repr__(self) -> str:
        return (
            f"<Certificate of {self.claim['kind']}: {len(self.lines)} lines, "
            f"{len(self.data) / 1000:.1f} KB>"
        )


def _line(line: Mapping[str, Any]) -> str:
    return ENCODER.encode(line) + "\n"


def array(values: Floats, kind: str = "f8") -> dict[str, str]:
    """An array as the format writes it: base64 of little-endian doubles or singles."""
    return {kind: base64.b64encode(np.asarray(values).astype("<" + kind).tobytes()).decode()}


def read(certificate: str | Path | bytes, longest: int, most: int = MAX_TEXT) -> Iterator[Any]:
    """The lines of a file, of which none after the header has more than `longest` bytes, nor all
    more than `most`.
    """
    try:
        with gzip.open(
            io.BytesIO(certificate) if isinstance(certificate, bytes) else certificate
        ) as file:
            limit = MAX_HEADER
            left = most
            while line := file.readline(
                limit + 1
            ):  # unpacks a little at a time: a small file cannot fill the memory
                left -= len(line) + 256 + weight_of(line)
                if len(line) > limit or left < 0:
                    raise ValueError("it is longer than what is read")
                # int refuses NaN and the infinities
                yield json.loads(
                    line.decode(), parse_constant=int, object_pairs_hook=_each_key_once
                )
                limit = longest
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise NotACertificate(
            f"The file {str(certificate)!r} cannot be read: {error.strerror}."
        ) from None
    except (
        OSError,
        EOFError,
        TypeError,
        ValueError,
        RecursionError,
        MemoryError,
        zlib.error,
    ) as error:
        raise NotACertificate(f"This is not a certificate: {str(error)[:200]}") from None


def weight_of(line: bytes) -> int:
    """Bytes that what a line holds takes beside its text, about: lists of nothing take twenty times
    their text.
    """
    return CONTAINER * (line.count(b"[") + line.count(b"{")) + ITEM * line.count(b",")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two equal keys one reader may take the first and another the last."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has a key twice")
    return found


def numbers(data: Mapping[str, str], count: int) -> Floats:
    """The `count` finite numbers that an array holds; the size is compared before anything is
    decoded.
    """
    ((kind, text),) = data.items()
    if len(text) != (count * {"f4": 4, "f8": 8}[kind] + 2) // 3 * 4:
        raise ValueError(f"an array here must hold {count} numbers")
    values = np.frombuffer(base64.b64decode(text, validate=True), "<" + kind).astype(np.float64)
    if len(values) != count or not np.isfinite(values).all():
        raise ValueError(f"an array here must hold {count} finite numbers")
    return values

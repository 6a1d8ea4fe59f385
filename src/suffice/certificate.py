"""Certificate: the evidence for an answer as lines of plain data, and the compressed file that holds them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from suffice.network import Floats

FORMAT = 1


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
        return gzip.compress(text.encode(), mtime=0)

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
        return f"<Certificate of {self.claim['kind']}: {len(self.lines)} lines, {len(self.data) / 1000:.1f} KB>"


def _line(line: Mapping[str, Any]) -> str:
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n"


def array(values: Floats, kind: str = "f8") -> dict[str, str]:
    """An array as the format writes it: base64 of little-endian doubles or singles."""
    return {kind: base64.b64encode(np.asarray(values).astype("<" + kind).tobytes()).decode()}

"""The lines of a certificate about a black box, and which of them is being read.

Method: reading untrusted data (theory, section 13).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suffice.errors import NotACertificate, Rejected
from suffice.proof.certificate import read
from suffice.proof.replay.given_question import need
from suffice.proof.replay.limits import MAX_LINE, MAX_LINES

KIND = "asked 2"  # what the first line of a certificate about a black box says


@dataclass
class Lines:
    """All lines, the header first; `number` is that of the line being read, for those who say what
    is wrong.
    """

    lines: list[Any]
    number: int = 1

    @staticmethod
    def of(certificate: Any) -> Lines:
        found = (
            certificate.lines
            if hasattr(certificate, "lines")
            else read(_source(certificate), MAX_LINE, MAX_LINES)
        )
        lines = list(found)
        kind = lines[0].get("certificate") if lines and isinstance(lines[0], Mapping) else None
        if isinstance(kind, str) and kind.startswith("asked") and kind != KIND:
            reason = (
                f"This certificate has the format {kind[:20]!r}; {KIND!r} is read here: make it "
                "again."
            )
            raise NotACertificate(reason)
        if kind != KIND:
            reason = (
                "This is not a certificate about a black box: check it with the classifier it is "
                "about."
            )
            raise NotACertificate(reason)
        return Lines(lines)

    @property
    def head(self) -> Any:
        return self.lines[0]

    def require_kinds(self, *kinds: str) -> None:
        """Every line after the header is of one of these kinds."""
        for number, line in enumerate(self.lines[1:], start=2):
            right = isinstance(line, Mapping) and len(line) == 1 and line.keys() <= set(kinds)
            if not right:
                raise Rejected(number, f"a line here is one of {', '.join(kinds)}")

    def lines_of_kind(self, name: str) -> list[tuple[int, Any]]:
        """The lines of one kind, with their numbers."""
        return [
            (number, line[name])
            for number, line in enumerate(self.lines[1:], start=2)
            if name in line
        ]

    def line_at(self, name: str, place: int = 0, count: int = 1) -> Any:
        """The line at a place among those of one kind, of which there must be so many."""
        found = self.lines_of_kind(name)
        need(len(found) == count, f"there must be {count} lines that say what was {name}")
        self.number, line = found[place]
        return line


def _source(certificate: Any) -> str | Path | bytes:
    if not isinstance(certificate, str | Path | bytes):
        raise NotACertificate(
            f"A certificate is a file, its bytes or the object, not a {type(certificate).__name__}."
        )
    return certificate

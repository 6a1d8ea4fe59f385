"""Limits: what each line is held against before it is believed, and how much a check may take.

Method: reading untrusted data (theory, section 13).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import InputError, NotChecked, Rejected
from suffice.model.network import Bools, Floats

HUGE = 2.0**800  # no number of a certificate, of a network or of a bound is larger than this
# What a bad line leads to: a thing that is not as it should be, wherever it shows first, and never
# a traceback.
MALFORMED_ERRORS = (
    *(
        Rejected,
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
    ),
    *(TypeError, ValueError, re.error),
)
EXACT_INTEGERS = 2**53  # doubles hold every whole number up to here


@dataclass(frozen=True)
class Limit:
    """How long a check may take, and the moment at which that is over."""

    seconds: float
    until: float

    @staticmethod
    def of(seconds: float) -> Limit:
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
            raise InputError(
                f"The time limit must be a positive number of seconds, not {seconds!r}."
            )
        return Limit(seconds, time.monotonic() + min(seconds, HUGE))

    def check_time(self, line: int = 0) -> None:
        """Called between any two pieces of work; line 0 is the line just read."""
        if time.monotonic() > self.until:
            raise NotChecked(
                line, f"not checked within {self.seconds:g} seconds; a longer limit may do"
            )


@dataclass(eq=False)
class LineReader:
    """The lines of a certificate as they are read, counted from 1."""

    lines: Iterator[Any]
    limit: Limit
    number: int = 0

    def take(self) -> dict[str, Any]:
        """The next line, which must be there."""
        self.limit.check_time(self.number)
        self.number += 1
        line: Any = next(self.lines, "nothing, since the proof is not complete")
        if type(line) is not dict:
            raise Rejected(0, f"here must be an object, not {str(line)[:80]}")
        return line

    def expect(self, line: dict[str, Any], what: str) -> None:
        need(self.take() == line, f"here must start {what}")

    def end(self) -> None:
        """Nothing may be left."""
        self.number += 1
        need(next(self.lines, self) is self, "nothing may follow the evidence")


def need(condition: Any, reason: str) -> None:
    """Line 0 stands for the line just read."""
    if not condition:
        raise Rejected(0, reason)


def rejection(error: Exception, number: int) -> Rejected:
    """What went wrong at a line, as a rejection that names the line; `number` is the
    one just read.
    """
    reason = getattr(error, "reason", f"malformed ({type(error).__name__}: {str(error)[:200]})")
    return Rejected(getattr(error, "line", 0) or number, reason)


def read_fields(data: Any, names: str, what: str) -> list[Any]:
    """The values of an object that has exactly these keys."""
    wanted = names.split()
    if type(data) is not dict or data.keys() != {*wanted}:
        raise Rejected(0, f"{what} must have exactly these keys: {names}")
    return [data[name] for name in wanted]


def read_integer(value: Any, low: int, high: int, what: str) -> int:
    """A JSON integer with low <= value < high; true and 1.0 are none."""
    if type(value) is not int or not low <= value < high:
        raise Rejected(0, f"{what} must be a whole number from {low} to {high - 1}")
    return value


def read_string(value: Any, what: str) -> str:
    need(type(value) is str, f"{what} must be a string")
    return str(value)


def read_positions(values: Any, allowed: Bools, what: str) -> Bools:
    """A list of positions, sorted, each once, each allowed by `within`."""
    need(type(values) is list, f"{what} must be a list of positions")
    places = [read_integer(value, 0, len(allowed), f"each of {what}") for value in values]
    right = places == sorted(set(places)) and bool(allowed[places].all())
    need(right, f"{what} must be a list of positions that are allowed here, sorted, each once")
    found = np.zeros(len(allowed), dtype=bool)
    found[places] = True
    return found


def read_table(values: Any, shape: Sequence[int], what: str, least: float = -HUGE) -> Floats:
    """Rows of JSON numbers between `least` and HUGE; whole ones must be doubles too."""
    rows, columns = shape
    right = type(values) is list and len(values) == rows
    right = right and all(type(row) is list and len(row) == columns for row in values)
    right = right and all(
        type(v) in (int, float) and least <= v <= HUGE and v == float(v)
        for row in values
        for v in row
    )
    need(right, f"{what} must be {rows} rows of {columns} numbers between {least} and {HUGE}")
    return np.array(values, dtype=np.float64).reshape(rows, columns)

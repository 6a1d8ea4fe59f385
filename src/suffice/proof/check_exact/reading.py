"""Reading what somebody wrote: lines of a certificate, and what each part of a line must be to be taken."""

from __future__ import annotations

import base64
import gzip
import io
import json
import struct
import zlib
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, TypeAlias

from .rationals import Vector, exact

Places: TypeAlias = frozenset[int]

HUGE, WHOLE = 2**800, 2**53
LONGEST, MOST = 2**24, 2**29  # bytes that are unpacked of a line, and of all of them
CODES = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U64": "Q", "U32": "I"}
CODES |= {"U16": "H", "U8": "B"}
MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error)


class Reject(Exception):
    """The certificate does not prove its claim."""


class Unreadable(Exception):
    """A file is not what it should be."""


class NotForThis(Exception):
    """A question that this checker does not answer."""


def need(condition: object, reason: str) -> None:
    if not condition:
        raise Reject(reason)


def read_lines(data: bytes) -> Iterator[Any]:
    try:
        file, left = gzip.GzipFile(fileobj=io.BytesIO(data)), MOST
        while line := file.readline(LONGEST + 1):  # a little at a time: a small file cannot fill the memory
            left -= len(line)
            if len(line) > LONGEST or left < 0:
                raise ValueError("it is longer than what is read here")
            yield json.loads(line.decode(), parse_constant=int, object_pairs_hook=each_once)
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise Unreadable(f"This is not a certificate: {str(error)[:200]}") from error


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("an object has a key twice")
    return dict(pairs)


class Evidence:
    """The lines of a certificate, taken one after the other; `number` is that of the last one."""

    def __init__(self, lines: Iterator[Any]) -> None:
        self.lines, self.number = lines, 0

    def next(self) -> Any:
        self.number += 1
        return next(self.lines, None)

    def take(self) -> Any:
        line = self.next()
        need(type(line) is dict, "here must be an object")
        return line

    def end(self) -> None:
        self.number += 1
        need(next(self.lines, self) is self, "nothing may follow the evidence")


def fields(data: Any, names: str) -> list[Any]:
    need(type(data) is dict and data.keys() == set(names.split()), f"there must be exactly these keys: {names}")
    return [data[name] for name in names.split()]


def whole(value: Any, low: int, high: int) -> int:
    right = type(value) is int and low <= value < high
    need(right, f"{str(value)[:40]} is not a whole number from {low} to {high - 1}")
    return int(value)


def strings(data: Any) -> list[str]:
    need(type(data) is list and {*map(type, data)} <= {str}, "there must be a list of words")
    return list(data)


def places(data: Any, within: Iterable[int]) -> Places:
    right = type(data) is list and {*map(type, data)} <= {int} and data == sorted({*data} & {*within})
    need(right, "positions are allowed ones, sorted, each once")
    return frozenset(data)


def number(value: Any, least: int = -HUGE) -> Fraction:
    right = type(value) in (int, float) and least <= value <= HUGE and value == float(value)
    need(right, "a number is none, or out of range")
    return Fraction(value)


def array(data: Any, count: int) -> Vector:
    ((kind, text),) = data.items()
    layout = f"<{count}{CODES[{'f4': 'F32', 'f8': 'F64'}[kind]]}"
    return exact(struct.unpack(layout, base64.b64decode(text, validate=True)))  # fractions are finite

"""Rational numbers: linear forms, and rounding to the safe side where digits would grow without end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

Row: TypeAlias = Mapping[int, Fraction]  # a linear form: coefficients by place, those that are missing are 0
Vector: TypeAlias = tuple[Fraction, ...]
Span: TypeAlias = tuple[Fraction, Fraction]  # a lower and an upper bound

ZERO, ONE = Fraction(0), Fraction(1)
DIGITS = 160  # binary digits kept of a bound or a slope, rounded to the safe side


def down(value: Fraction) -> Fraction:
    """A number with few digits at or below the value."""
    scale = Fraction(2) ** (DIGITS - value.numerator.bit_length() + value.denominator.bit_length())
    return math.floor(value * scale) / scale


def up(value: Fraction) -> Fraction:
    return -down(-value)


def root_above(value: Fraction) -> Fraction:
    """A number at or just above the square root, by a whole root of a multiple, be the value large or tiny."""
    shift = DIGITS + max(0, value.denominator.bit_length() - value.numerator.bit_length())
    return Fraction(math.isqrt(math.ceil(value * 4**shift)) + 1, 2**shift) if value else ZERO


def inner(row: Row, values: Row | Vector) -> Fraction:
    return sum((factor * values[place] for place, factor in row.items()), ZERO)


def minus(row: Row, other: Row) -> Row:
    return {column: row.get(column, ZERO) - other.get(column, ZERO) for column in {*row, *other}}


def exact(vector: Iterable[float]) -> Vector:
    return tuple(map(Fraction, vector))

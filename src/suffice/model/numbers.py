"""Numbers as people give and read them: every digit that was given, and no digit more."""

from __future__ import annotations

import math
from typing import Any

WHOLE = 2**53  # up to here doubles hold every whole number


def double(value: Any) -> float:
    """The number as a double; a whole one beyond all doubles as the infinity of its sign."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def exactly(value: float) -> str:
    """The shortest decimal that is this very number: rounded, a cost or a radius would be one that
    nobody gave.
    """
    number = float(value)
    return str(int(number)) if abs(number) < WHOLE and number.is_integer() else repr(number)

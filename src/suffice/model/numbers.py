"""Numbers as people read them: every digit that was given, and no digit more."""

from __future__ import annotations

WHOLE = 2**53  # up to here doubles hold every whole number


def exactly(value: float) -> str:
    """The shortest decimal that is this very number: rounded, a cost or a radius would be one that nobody gave."""
    number = float(value)
    return str(int(number)) if abs(number) < WHOLE and number.is_integer() else repr(number)

"""What a unit gives lies between two lines: those of a relu, and those of a maximum."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from .rationals import ONE, ZERO, Span, Vector, up

Signs: TypeAlias = Mapping[int, int]  # what splits say of units

LEAN = Fraction(1, 2**20)  # the share within which bounds count as equal


class Line(NamedTuple):
    """below·z <= f(z) <= above·z + shift."""

    below: Fraction
    above: Fraction
    shift: Fraction


SAME, NOTHING = Line(ONE, ONE, ZERO), Line(ZERO, ZERO, ZERO)


def relu_line(span: Span, sign: int) -> Line:
    """Lines around a relu: the one above holds at both ends, and a relu is convex."""
    least, most = span
    if sign < 0 or (most <= 0 and not sign):
        return NOTHING
    if sign > 0 or least >= 0:
        return SAME
    slope = up(most / (most - least))
    return Line(ONE if most > -least * (1 + LEAN) else ZERO, slope, max(-slope * least, most * (1 - slope)))


def maximum_lines(spans: Sequence[Span], live: Sequence[bool], alpha: Vector | None) -> list[Line]:
    """Of each unit of a maximum its part in the lines around it; the constant above goes with the first.

    Below: weights of at least zero that add up to one. Above: a level at or above every lower bound of those that may
    be the largest, plus lines above max(z - level, 0) for those whose upper bounds are higher.
    """
    lows, highs = zip(*itertools.compress(spans, live), strict=True)
    floor, top = max(lows), max(highs)
    if alpha is None:
        level, close = sorted([floor, *highs])[-2], floor - LEAN * max(top - floor, ZERO)
        first = next(p for p, (low, _) in enumerate(spans) if live[p] and low >= close)
        weights = [ONE if p == first else ZERO for p in range(len(spans))]
    else:
        level, rest = floor + alpha[0] * (top - floor), sum(alpha[1:], ZERO)
        weights = [max(ONE - rest, ZERO), *(share / max(rest, ONE) for share in alpha[1:])]
    slopes, shift = [ZERO] * len(spans), level
    for p, (low, high) in enumerate(spans):
        if live[p] and high > level:
            slopes[p] = up((high - level) / (high - low)) if high > low else ZERO
            shift += max(-slopes[p] * low, high - level - slopes[p] * high)
    return [Line(w, s, ZERO if p else shift) for p, (w, s) in enumerate(zip(weights, slopes, strict=True))]


def may_win(group: Sequence[int], signs: Signs) -> list[int]:
    """Of a maximum, the units that splits leave: the one that wins, or those not said to lose."""
    return [u for u in group if signs.get(u, 0) > 0] or [u for u in group if not signs.get(u, 0)]

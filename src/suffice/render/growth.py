"""Growth: how the cost rises with the sets, as a drawing of steps that claims nothing of sizes that
were not asked.

Sizes stand side by side at equal distance. Above each is its cost; between two of them, where
neither was asked, a pale field holds all that the cost can be there, because a set inside another
never costs more. Everything is placed in percent, so that the drawing takes any width and its
letters keep their size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from suffice.model.numbers import exactly
from suffice.verbs.profile import Profile

# of the drawing, in pixels
TOP = 28
BOTTOM = 176
HEIGHT = 216
LEVEL = 0.34  # half of the width of a level, in columns
STYLE = """
.suffice .growth-chart { width: 100%; display: block; overflow: visible;
  font: .8125rem var(--sans); }
.suffice .growth-chart line { stroke: var(--accent); stroke-width: 2.5; stroke-linecap: square; }
.suffice .growth-chart .low { stroke-dasharray: 5 4; stroke-width: 1.5; }
.suffice .growth-chart .ground { stroke: var(--line); stroke-width: 1; }
.suffice .growth-chart rect { fill: var(--wash); }
.suffice .growth-chart text { fill: var(--soft); text-anchor: middle; }
.suffice .growth-chart .cost { fill: var(--ink); font-weight: 650; font-size: .9375rem; }
"""


class Level(NamedTuple):
    """One size that was asked: the cost of the cheapest set known there, and what it costs at
    least.
    """

    size: float
    lower: float
    upper: float


def chart(result: Profile) -> str:
    """The drawing, as SVG."""
    rows = zip(result.steps, result.lower_bounds, result.costs, strict=True)
    levels = [Level(*row) for row in rows]
    top = max((one.upper for one in levels if math.isfinite(one.upper)), default=1.0) or 1.0
    whole = all(float(one.size).is_integer() for one in levels) and result.parameter != "eps"
    marks = "".join([*_fields(levels, top, whole), *_levels(levels, top, result.parameter)])
    told = "; ".join(f"{result.named(one.size)}: {cost_of(one)}" for one in levels)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="growth-chart" height="{HEIGHT}" '
        'role="img" '
        f'aria-label="{escape(f"Cost at each size: {told}")}">'
        f'<line class="ground" x1="0%" x2="100%" y1="{BOTTOM}" y2="{BOTTOM}"/>{marks}</svg>'
    )


def cost_of(level: Level) -> str:
    """A cost as it is known: one number, or between two."""
    if not math.isfinite(level.upper):
        return "none"
    low = exactly(level.lower)
    high = exactly(level.upper)
    return high if level.lower >= level.upper else f"{low} to {high}"


def _height(cost: float, top: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * cost / top


def _fields(levels: Sequence[Level], top: float, whole: bool) -> Iterator[str]:
    """Between two sizes: nothing where there is no size between, else all that is
    possible there.
    """
    width = 100 / len(levels)
    for place, (left, right) in enumerate(pairwise(levels)):
        if not math.isfinite(right.upper):
            continue
        start = (place + 0.5 + LEVEL) * width
        end = (place + 1.5 - LEVEL) * width
        low = _height(left.lower, top)
        high = _height(right.upper, top)
        if high == low:
            yield _line(start, end, low, low)
        elif whole and right.size - left.size == 1:
            middle = (start + end) / 2
            yield (
                _line(start, middle, low, low)
                + _line(middle, middle, low, high)
                + _line(middle, end, high, high)
            )
        else:
            yield (
                f'<rect x="{start:.2f}%" width="{end - start:.2f}%" y="{high:.1f}" '
                f'height="{low - high:.1f}"/>'
            )


def _levels(levels: Sequence[Level], top: float, parameter: str) -> Iterator[str]:
    width = 100 / len(levels)
    for place, one in enumerate(levels):
        middle, start, end = ((place + 0.5 + side) * width for side in (0, -LEVEL, LEVEL))
        name = f"ε {one.size:.3g}" if parameter == "eps" else exactly(one.size)
        yield f'<text x="{middle:.2f}%" y="{BOTTOM + 22}">{escape(name)}</text>'
        if not math.isfinite(one.upper):
            yield f'<text class="cost" x="{middle:.2f}%" y="{BOTTOM - 8}">none</text>'
            continue
        high = _height(one.upper, top)
        low = _height(one.lower, top)
        if low > high:
            yield (
                f'<rect x="{start:.2f}%" width="{end - start:.2f}%" y="{high:.1f}" '
                f'height="{low - high:.1f}"/>'
            )
            yield _line(start, end, low, low, "low")
        yield _line(start, end, high, high)
        yield (
            f'<text class="cost" x="{middle:.2f}%" '
            f'y="{high - 9:.1f}">{cost_of(one).replace(" to ", "–")}</text>'
        )


def _line(left: float, right: float, start: float, end: float, css: str = "") -> str:
    kind = f' class="{css}"' if css else ""
    return f'<line{kind} x1="{left:.2f}%" x2="{right:.2f}%" y1="{start:.1f}" y2="{end:.1f}"/>'


def caption(result: Profile) -> str:
    """What the axes are."""
    over = {
        "k": "number k of nearest words",
        "eps": "radius ε",
        "at_most": "how many words change at once",
    }
    return f"Cost of the cheapest set, by {over.get(result.parameter, result.parameter)}"


def legend(result: Profile) -> str:
    """What the pale fields mean, where there are any."""
    return (
        "Pale: not asked there, or not decided; the cost lies within."
        if "<rect" in chart(result)
        else ""
    )

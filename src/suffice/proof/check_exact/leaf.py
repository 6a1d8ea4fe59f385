"""A leaf of a proof: a lower bound of the margin, carried back unit by unit to the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from .chosen import Chosen
from .inputs import Inputs
from .model import Model
from .rationals import ZERO, Row, Span, Vector, down, minus, up
from .units import NOTHING, SAME, Line, Signs, maximum_lines, may_win, relu_line


class Leaf:
    """Bounds where splits have said `signs` of units; `reach` has those by intervals over the whole region.

    `stated` are bounds that were proved on the way here.
    """

    def __init__(
        self, model: Model, reach: Mapping[int, Span], inputs: Inputs, signs: Signs, stated: Mapping[int, Span]
    ) -> None:
        self.model, self.reach, self.inputs, self.signs, self.stated = model, reach, inputs, signs, stated
        self.spans: dict[int, Span] = {}
        self.lines: dict[int, Line] = {}
        self.push: Row = {}  # what is taken off factors of units
        self.tilted: Mapping[int, tuple[Row, Fraction]] = {}  # rows and constants of lines above relus and maxima
        self.empty = False  # whether the splits contradict the bounds
        for step in model.steps[:-1]:
            self.spans |= {unit: self.span(unit, step.start) for unit in step}
            self.empty |= any(low > high for low, high in self.spans.values())
            self.empty |= not all(self.live(model.home[unit]) for unit in step if unit in model.home)
            self.lines |= {} if self.empty else self.around(step, None)

    def span(self, unit: int, start: int) -> Span:
        """Bounds of a unit's z, by intervals and by lines of the steps before; those of a relu are cut at zero."""
        (low, high), row, bias = self.reach[unit], self.model.rows[unit], self.model.bias[unit]
        if self.empty or not (unit in self.model.relu or unit in self.model.home):
            return low, high
        low = max(low, down(self.back(row, bias, start)))
        high = min(high, -down(self.back({j: -factor for j, factor in row.items()}, -bias, start)))
        least, most = self.stated.get(unit, (low, high))
        low, high = max(low, least), min(high, most)
        sign = self.signs.get(unit, 0) if unit in self.model.relu else 0
        return max(low, ZERO) if sign > 0 else low, min(high, ZERO) if sign < 0 else high

    def live(self, group: Sequence[int]) -> list[int]:
        """Of a maximum, the units that may win and whose upper bounds are not below the largest lower bound."""
        floor = max(self.spans[unit][0] for unit in group)
        return [unit for unit in may_win(group, self.signs) if self.spans[unit][1] >= floor]

    def around(self, step: range, alpha: Vector | None) -> dict[int, Line]:
        """The lines around what a step's units give: those of the format, or those that a leaf chose."""
        found = dict.fromkeys(step, SAME)
        for unit in step:
            group = self.model.home.get(unit, [])
            if unit in self.model.relu:
                line = relu_line(self.spans[unit], self.signs.get(unit, 0))
                found[unit] = line if alpha is None else line._replace(below=alpha[unit])
            elif unit in group[:1]:
                spans, live = [self.spans[u] for u in group], self.live(group)
                shares = None if alpha is None else tuple(alpha[u] for u in group)
                found |= zip(group, maximum_lines(spans, [u in live for u in group], shares), strict=True)
        return found

    def back(self, row: Row, total: Fraction, start: int) -> Fraction:
        """A lower bound of row·h + total, h being what the units below `start` give.

        A factor above zero takes the line below, one below zero the line above; a maximum's goes to all its units.
        """
        form = dict(row)
        for unit in reversed(range(start)):
            first = self.model.home.get(unit, [unit])[0]
            factor = form.get(first, ZERO)
            line, weights, bias = self.lines[unit], self.model.rows[unit], self.model.bias[unit]
            if factor < 0 and first in self.tilted:
                line, (weights, bias) = SAME if unit == first else NOTHING, self.tilted[first]
            slope = factor * (line.above if factor < 0 else line.below) - self.push.get(unit, ZERO)
            total += min(factor, ZERO) * line.shift + slope * bias
            for column, weight in weights.items() if slope else ():
                form[column] = form.get(column, ZERO) + slope * weight
        return total + self.inputs.least({column: factor for column, factor in form.items() if column < 0})

    def tilt(self, unit: int, shares: Vector) -> tuple[Row, Fraction]:
        """A row a and a number c with f(x) <= a·x + c wherever the inputs go, f being a relu or a maximum.

        All that f is the largest of are at most that: 0 and w·x + b, or these of the units that may win.
        """
        rows, bias, least = self.model.rows, self.model.bias, self.inputs.least
        if unit in self.model.home:
            lean = between([rows[one] for one in self.model.home[unit]], shares)
            live = self.live(self.model.home[unit])
            return lean, up(max(bias[one] - least(minus(lean, rows[one])) for one in live))
        size = sum(map(len, self.inputs.own)) // len(shares)
        lean = {column: shares[column // size] * weight for column, weight in rows[unit].items()}
        return lean, up(max(-least(lean), bias[unit] - least(minus(lean, rows[unit]))))

    def holds(self, row: Row, total: Fraction, start: int, chosen: Chosen) -> bool:
        """Whether no input is left, or row·h + total is above zero by what the leaf chose, h being as for `back`."""
        if self.empty:
            return True
        for step in self.model.steps[:-1]:
            self.lines |= self.around(step, chosen.alpha)
        self.push, self.tilted = chosen.push, {unit: self.tilt(unit, mine) for unit, mine in chosen.shares.items()}
        return self.back(row, total, start) > 0


def between(rows: Sequence[Row], shares: Vector) -> Row:
    """In each column so much of the way from the least to the largest weight."""
    found = {}
    for column in {column for row in rows for column in row}:
        weights = [row.get(column, ZERO) for row in rows]
        found[column] = min(weights) + shares[column] * (max(weights) - min(weights))
    return found

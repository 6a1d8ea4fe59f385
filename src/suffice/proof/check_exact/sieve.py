"""Who may win maxima of the input where the label would be lost: choices that lines above bundles of maxima leave.

Take an input at which the margin b + Σ A_m max_m is not above zero, and who wins each maximum with A_m < 0 there. The
weighted maxima of a bundle add up to f·y + g, f and g being those of its winners, y the input as numbers between -1 and
1 that move. That is at most a·y + (g + |f - a|) for any row a. So the margin is at least what is left of its row once
all rows a are taken off, at its lowest, minus these constants. With the largest of each bundle's it is at least `base`,
and higher by all that those of the real winners fall short of them: no more than -base. And with the winners of one
bundle themselves in the place of its line, it must not be above zero either.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import add
from typing import Any, TypeAlias

from .chosen import clipped
from .inputs import Inputs
from .leaf import Leaf
from .model import Model
from .rationals import ONE, ZERO, Row, Vector
from .reading import array, fields, need, places

Choice: TypeAlias = tuple[int, ...]  # of each maximum of a bundle the unit that wins it
Part: TypeAlias = tuple[Choice, Mapping[Choice, Fraction]]  # its maxima, by first units; choices, and what they lack

MOST = 2**20  # choices
FINE = 2**64  # parts of one that shares are rounded to


@dataclass(frozen=True, eq=False)
class Left:
    """Bundles, and how much their choices may fall short in all; at first as much as they like."""

    bundles: Sequence[Part]
    room: Fraction | None

    @property
    def nobody(self) -> bool:
        return not all(choices for _, choices in self.bundles)

    def split(self, unit: int, group: Sequence[int], sign: int) -> Left:
        """Where the unit wins its maximum, or another does."""
        found = []
        for firsts, choices in self.bundles:
            place = firsts.index(group[0]) if group[0] in firsts else None
            right = {c: n for c, n in choices.items() if place is None or (c[place] == unit) == (sign > 0)}
            found.append((firsts, right))
        return replace(self, bundles=found)


@dataclass(frozen=True, eq=False)
class Scene:
    """The margin over numbers that move between -1 and 1: units as whole numbers, all multiplied by the same one.

    `own` and `rows` are what units have in the middle and by number, times what their maxima are weighted with; `level`
    and `row` are what the maxima with lines below have in all.
    """

    own: Mapping[int, int]
    rows: Mapping[int, Sequence[int]]
    level: int
    row: Sequence[int]
    radius: Mapping[int, Fraction]  # by column of the input
    scale: int

    def reach(self, choice: Choice, line: Sequence[int]) -> int:
        """g + |f - a| of a choice and a line."""
        rows: Iterable[int] = self.rows[choice[0]]
        for unit in choice[1:]:
            rows = map(int.__add__, rows, self.rows[unit])
        return sum(self.own[unit] for unit in choice) + sum(map(abs, map(int.__sub__, rows, line)))


def sieve(data: Any, model: Model, inputs: Inputs, margin: tuple[Row, Fraction], before: Left) -> Left:
    """What a stage leaves of what was left before it; the margin is a form over what the maxima give."""
    alpha, groups, words, rows = fields(data, "alpha bundles words rows")
    right = len(model.steps) == 2 and all(unit in model.home for unit in model.steps[0])
    need(right, "there is nothing but maxima of the input to sieve")
    need(movable(inputs), "there is nothing to sieve over such sets")
    scene = seen(model, inputs, *margin, clipped(alpha, model.steps[-1].start))
    bundles = [joined(parts, before.room) for parts in named(groups, before)]
    lines = read_rows(rows, words, len(bundles), scene, inputs)
    return before if before.nobody else sifted(bundles, lines, scene)


def movable(inputs: Inputs) -> bool:
    """Whether numbers of words move on their own, and no word has to be paid for."""
    return not inputs.opened and not inputs.choices and all(len(word.points) == 1 for word in inputs.words)


def everybody(model: Model, here: Leaf, row: Row) -> Left:
    """Each maximum that takes a line above for itself, with all units that may win."""
    groups = {group[0]: group for group in model.home.values() if row.get(group[0], ZERO) < 0}
    return Left([((unit,), dict.fromkeys(alone(here, group), ZERO)) for unit, group in sorted(groups.items())], None)


def alone(here: Leaf, group: Sequence[int]) -> list[Choice]:
    return [] if here.empty else [(unit,) for unit in here.live(group)]


def named(groups: Any, before: Left) -> list[list[Part]]:
    """The bundles that each new one is made of: by their places, or at first by the first units of maxima."""
    names = {firsts[0]: i for i, (firsts, _) in enumerate(before.bundles)}
    names = names if before.room is None else {i: i for i in range(len(before.bundles))}
    flat = [one for group in groups for one in group]
    need({*map(type, flat)} <= {int} and sorted(flat) == sorted(names) and all(groups), "every part must be there once")
    return [[before.bundles[names[one]] for one in group] for group in groups]


def joined(parts: Sequence[Part], room: Fraction | None) -> Part:
    """Choices of all parts that there is room for."""
    (firsts, found), *others = parts
    for more, choices in others:
        firsts += more
        found = {a + b: m + n for a, m in found.items() for b, n in choices.items() if room is None or m + n <= room}
        need(len(found) <= MOST, "more choices are left than can be looked at")
    return firsts, found


def seen(model: Model, inputs: Inputs, row: Row, constant: Fraction, alpha: Vector) -> Scene:
    """The units by the numbers that move, those of maxima with lines above one by one and the others added up."""
    spans = [span for word in inputs.words for span in word.spans()]
    middle = {n - len(spans): (low + high) / 2 for n, (low, high) in enumerate(spans)}
    radius = {n - len(spans): (high - low) / 2 for n, (low, high) in enumerate(spans) if high > low}
    own, rows, level, total = dict[int, Fraction](), dict[int, list[Fraction]](), constant, [ZERO] * len(radius)
    for group in {group[0]: group for group in model.home.values()}.values():
        weight = row.get(group[0], ZERO)
        for unit, share in zip(group, shares([alpha[unit] for unit in group]), strict=True):
            factor = abs(weight) * (share if weight > 0 else ONE)
            if factor:
                there = sum((w * middle[column] for column, w in model.rows[unit].items()), model.bias[unit])
                moves = [factor * model.rows[unit].get(column, ZERO) * most for column, most in radius.items()]
                if weight > 0:
                    level, total = level + factor * there, list(map(add, total, moves))
                else:
                    own[unit], rows[unit] = factor * there, moves
    return scaled(own, rows, level, total, radius)


def shares(alpha: Sequence[Fraction]) -> list[Fraction]:
    """Shares of at least zero that add up to one, all multiples of the same part of it; the first has what is left."""
    rest = max(sum(alpha[1:], ZERO), ONE)
    others = [Fraction(int(share / rest * FINE), FINE) for share in alpha[1:]]
    return [ONE - sum(others, ZERO), *others]


def scaled(
    own: Mapping[int, Fraction],
    rows: Mapping[int, Sequence[Fraction]],
    level: Fraction,
    row: Sequence[Fraction],
    radius: Mapping[int, Fraction],
) -> Scene:
    """As whole numbers: whatever is read as a float has a power of two below, and so have sums and products."""
    every = [level, *row, *own.values(), *itertools.chain(*rows.values())]
    # lines are floats times a radius, of no more than 2^-149 times that
    scale = max(value.denominator for value in every) * max((r.denominator for r in radius.values()), default=1) << 149
    whole_rows = {unit: [int(value * scale) for value in mine] for unit, mine in rows.items()}
    own_ = {unit: int(value * scale) for unit, value in own.items()}
    return Scene(own_, whole_rows, int(level * scale), [int(value * scale) for value in row], radius, scale)


def read_rows(data: Any, words: Any, count: int, scene: Scene, inputs: Inputs) -> list[list[int]]:
    """Of each bundle the row of its line, by the numbers that move; what is said of the others does not count."""
    size, some = len(inputs.own[0]), sorted(places(words, range(len(inputs.own))))
    columns = [(i - len(inputs.own)) * size + j for i in some for j in range(size)]
    values = array(data, count * len(columns))
    found = []
    for start in range(0, len(values), len(columns)) if columns else [0] * count:
        mine = dict(zip(columns, values[start : start + len(columns)], strict=True))
        found.append([int(mine.get(column, ZERO) * most * scene.scale) for column, most in scene.radius.items()])
    return found


def sifted(bundles: Sequence[Part], lines: Sequence[Sequence[int]], scene: Scene) -> Left:
    """Without the choices that would lift the margin above zero, and what the others fall short of the largest."""
    row = [value - sum(column) for value, column in zip(scene.row, columns_of(lines, scene), strict=True)]
    base = scene.level - sum(map(abs, row))
    reaches = [{c: scene.reach(c, line) for c in choices} for (_, choices), line in zip(bundles, lines, strict=True)]
    if not all(reaches):
        return Left(bundles, ZERO)
    tops = [max(reach.values()) for reach in reaches]
    for place, (reach, line) in enumerate(zip(reaches, lines, strict=True)):
        others = sum(tops) - tops[place]
        instead = list(map(add, row, line))
        kept = (c for c, n in reach.items() if base - others - n <= 0)
        reaches[place] = {c: reach[c] for c in kept if scene.level - others - scene.reach(c, instead) <= 0}
    highest = [max(reach.values(), default=0) for reach in reaches]
    short = [
        {c: Fraction(top - n, scene.scale) for c, n in reach.items()}
        for top, reach in zip(highest, reaches, strict=True)
    ]
    room = Fraction(sum(highest) - base, scene.scale)
    return Left([(firsts, mine) for (firsts, _), mine in zip(bundles, short, strict=True)], room)


def columns_of(lines: Sequence[Sequence[int]], scene: Scene) -> Iterator[tuple[int, ...]]:
    """The numbers of all lines, column by column."""
    return zip(*lines, strict=True) if scene.row else iter(())

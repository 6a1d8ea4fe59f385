"""What a leaf chooses, within what the format allows: whatever these numbers are, the bound holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .model import Model
from .rationals import ONE, ZERO, Row, Vector
from .reading import array, fields, need, number, places, whole
from .units import Signs


class Chosen(NamedTuple):
    """Slopes below, what is taken off factors of units, shares of lines above."""

    alpha: Vector | None
    push: Row
    shares: Mapping[int, Vector]


def read_chosen(data: Any, model: Model, signs: Signs) -> Chosen:
    alpha, beta, *above = fields(data, "alpha beta above" if "above" in data else "alpha beta")
    slopes = None if alpha is None else clipped(alpha, model.steps[-1].start)
    given = {unit: number(value, 0) for unit, value in units(beta, model)}
    push = {unit: value * signs.get(unit, 0) for unit, value in given.items() if unit in model.relu}
    return Chosen(slopes, push, read_shares(above[0], model, signs) if above else {})


def read_shares(data: Any, model: Model, signs: Signs) -> dict[int, Vector]:
    """Of open relus and maxima of the first step, for each word or for each number of the input."""
    per, *words, shares = fields(data, "per words shares" if "words" in data else "per shares")
    need(per == "number" or (per == "word" and not words), "shares are per word or per number")
    length, each = model.head["length"], len(model.table[0]) if per == "number" else 1
    some = sorted(places(words[0], range(length))) if words else range(length)
    there = [i * each + j for i in some for j in range(each)]
    found = {}
    for unit, given in units(shares, model):
        mine = dict(zip(there, clipped(given, len(there)), strict=True))
        found[unit] = tuple(mine.get(i, ZERO) for i in range(length * each))
    right = found and found.keys() <= may_tilt(model, signs, per)
    need(right, "only an open relu or a maximum of the first step can have a line above")
    return found


def may_tilt(model: Model, signs: Signs, per: str) -> set[int]:
    """The units of the first step that can have a line above of their own."""
    able = set(model.relu - signs.keys())
    able |= {group[0] for group in model.home.values()} if per == "number" else set()
    return able & {*model.steps[0]}


def units(data: Any, model: Model) -> Iterator[tuple[int, Any]]:
    """The units that an object names in decimal, and what it says of them."""
    for name, value in data.items():
        need(str(int(name)) == name, "a unit must be named by a plain number")
        yield whole(int(name), 0, model.steps[-1].start), value


def clipped(data: Any, count: int) -> Vector:
    return tuple(min(max(share, ZERO), ONE) for share in array(data, count))

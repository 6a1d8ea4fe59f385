"""Forging: a certificate with something changed anywhere in it, whatever it is about."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Lines = list[Any]
Path = tuple[Any, ...]

ALIKE = str.maketrans("aceopx", "асеорх")  # letters that look the same, of another alphabet
ODD: list[Callable[[Any], Any]] = [
    lambda value: math.nan,
    lambda value: math.inf,
    lambda value: 10**30,
    lambda value: -1,
    lambda value: True,
    lambda value: None,
    lambda value: [],
    lambda value: {},
    lambda value: float(value),
    lambda value: value + 1,
    lambda value: value - 1,
    lambda value: 2 * value,
    lambda value: value.translate(ALIKE),
    lambda value: value.upper(),
    lambda value: value + " ",
]


def forged(lines: Lines, rng: np.random.Generator) -> tuple[str, Lines]:
    """What was changed, and the lines: one is dropped, repeated or moved, or something in one of
    them is another.
    """
    made = copy.deepcopy(lines)
    if len(made) > 1 and rng.random() < 0.3:
        return _moved(made, rng)
    number = 0 if rng.random() < 0.5 else int(rng.integers(len(made)))
    paths = [path for path in _places(made[number]) if path]
    parent, key = _at(made[number], paths[int(rng.integers(len(paths)))])
    values = [_value(made[number], path) for path in paths]
    what = rng.choice([_dropped, _repeated, _swapped, _added, _odd, _odd, _odd])
    return f"line {number + 1}: {what(parent, key, values, rng)}", made


def _moved(made: Lines, rng: np.random.Generator) -> tuple[str, Lines]:
    """A line gone, twice, or in the place of another."""
    first, second = (int(i) for i in rng.integers(1, len(made), 2))
    match int(rng.integers(3)):
        case 0:
            del made[first]
            return f"without line {first + 1}", made
        case 1:
            made.insert(second, copy.deepcopy(made[first]))
            return f"line {first + 1} again at {second + 1}", made
        case _:
            made[first], made[second] = made[second], made[first]
            return f"lines {first + 1} and {second + 1} changed places", made


def _dropped(parent: Any, key: Any, values: list[Any], rng: np.random.Generator) -> str:
    del parent[key]
    return f"without {key!r}"


def _repeated(parent: Any, key: Any, values: list[Any], rng: np.random.Generator) -> str:
    if isinstance(parent, list):
        parent.insert(key, copy.deepcopy(parent[key]))
        return f"item {key} twice"
    return _odd(parent, key, values, rng)


def _swapped(parent: Any, key: Any, values: list[Any], rng: np.random.Generator) -> str:
    other = (
        list(parent)[int(rng.integers(len(parent)))]
        if isinstance(parent, dict)
        else int(rng.integers(len(parent)))
    )
    parent[key], parent[other] = parent[other], parent[key]
    return f"{key!r} and {other!r} changed places"


def _added(parent: Any, key: Any, values: list[Any], rng: np.random.Generator) -> str:
    if isinstance(parent, dict):
        parent["more"] = 1
        return f"more beside {key!r}"
    return _odd(parent, key, values, rng)


def _odd(parent: Any, key: Any, values: list[Any], rng: np.random.Generator) -> str:
    """Another value: of the same line, or one that nobody would write."""
    old = parent[key]
    try:
        parent[key] = ODD[int(rng.integers(len(ODD)))](old)
    except (AttributeError, TypeError, ValueError):
        parent[key] = copy.deepcopy(values[int(rng.integers(len(values)))])
    return f"{key!r}: {str(parent[key])[:60]!r} for {str(old)[:60]!r}"


def _places(tree: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    inside = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    for key, value in inside:
        yield from _places(value, (*path, key))


def _value(tree: Any, path: Path) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _at(tree: Any, path: Path) -> tuple[Any, Any]:
    return _value(tree, path[:-1]), path[-1]


def table_of(lines: Lines) -> Any:
    """The line of a certificate that proves by tables of trees or rows."""
    return next(line["tables"] for line in lines if "tables" in line)


def free_more(lines: Lines) -> None:
    """A word less than suffices, wherever that is said."""
    claim = lines[0]["claim"]
    table = table_of(lines)
    gone = claim["positions"].pop()
    claim["cost"] -= 1
    claim["lower"] = min(claim["lower"], claim["cost"])
    table["free"] = sorted([*table["free"], gone])
    for nodes in table["proofs"].values():
        nodes[0]["groups"] = [sorted([*nodes[0]["groups"][0], gone])]

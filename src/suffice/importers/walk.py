"""Walk: a foreign network operator by operator, from word numbers to scores, whatever framework
wrote it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.errors import ModelError
from suffice.importers import rules
from suffice.importers.masked import BESIDE, as_number, quotient, times
from suffice.importers.values import (
    Codes,
    Count,
    Entrance,
    Lookup,
    Quotient,
    Unavailable,
    Value,
    Values,
    is_constant,
)
from suffice.model import graph
from suffice.model.curves import CURVES
from suffice.model.graph import Tensor
from suffice.model.network import Floats
from suffice.model.places import affordable
from suffice.model.step import nonzero

GRID = np.concatenate([np.linspace(-100, -7, 32), np.linspace(-6, 6, 241), np.linspace(7, 100, 32)])
SMOOTH = ("tanh", "sigmoid", "gelu", "gelu_tanh", "silu", "elu", "softplus", "exp")
MOST_VALUES = 2**26  # numbers of one value that an operator gives
MOST_KEPT = 2**28  # numbers of all values of a network together
WIDEST = 1e4  # a softplus this much sharper or duller than it is by itself is looked for
REFINED = 4  # times that the sharpness of a softplus is looked at again
LONGEST = 24  # operators that a curve may be made of


Run: TypeAlias = Callable[[Sequence["Operation"], Values], Values]


@dataclass(frozen=True, eq=False)
class Operation:
    """One operator of the foreign network.

    `lower` works on values that depend on the text, `compute` on arrays. `ending` is what the
    operator does to an answer that it ends: "softmax", "log_softmax", "sigmoid" keep the order of
    the scores, "shape" their values too. `role` is "divide" or "multiply" where it does so with the
    two values that it uses, "reduce" where it adds up; with an `equation` it is a product of two
    values as einsum writes it.
    """

    name: str
    operator: str
    place: str
    uses: tuple[str, ...]
    lower: Callable[[Values], Value]
    compute: Callable[[Values], Value]
    elementwise: bool = False
    takes_words: bool = False
    ending: str = ""
    axis: int = -1
    role: str = ""
    equation: str = ""
    # with operators of its own, which `Run` takes
    inside: Callable[[Values, Run], Value] | None = None


@dataclass(frozen=True, eq=False)
class Computation:
    """The operators in order, the constants they start from, and the names of what goes in and
    comes out.

    `kind` is what numbers of words are handed in as.
    """

    nodes: Sequence[Operation]
    constants: Values
    given: str
    answer: str
    kind: type[np.generic] = np.int64


@dataclass(frozen=True, eq=False)
class Walked:
    """The scores before anything that only keeps their order, the embedding, and the names of what
    was left away.

    `by` is what means over the words that are present divide by: the scores are the original's
    times that. `still` are the columns of the embedding that only say which word it is.
    """

    scores: Tensor
    embedding: Floats
    endings: tuple[str, ...]
    by: Count | None = None
    still: tuple[int, ...] = ()


def walk(program: Computation, length: int, words: int, embedding: Floats | None = None) -> Walked:
    """The scores as a function of the embedded text; a ModelError names the first operator that is
    in the way.
    """
    if embedding is not None:
        start = _start(length, embedding.shape[1])
        entrance = Entrance()
        return _ended(
            program,
            _values(program, start.reshape((1, *start.shape)), entrance),
            embedding,
            entrance,
        )
    given = Codes(np.arange(length)[None], _numbers(words, program.kind))
    counted = Entrance()
    early = _values(program, given, counted)
    _undivided(early[program.answer], counted)
    if not counted.tables:
        _refuse(early[program.answer])
        raise ModelError("The network looks no word up: give the vectors it takes as embedding=.")
    tables = np.hstack(counted.tables)
    entrance = Entrance(counted.tables, _start(length, tables.shape[1]))
    return _ended(program, _values(program, given, entrance), tables, entrance)


def _numbers(words: int, kind: type[np.generic]) -> NDArray[Any]:
    """The number of each word, as the network takes it."""
    found = np.arange(words)
    with np.errstate(over="ignore"):
        handed: NDArray[Any] = found.astype(kind)
    if not np.array_equal(handed.astype(np.float64), found):
        raise ModelError(
            f"The network takes words as {handed.dtype}, which cannot tell {words} of them apart."
        )
    return handed


def _start(length: int, dimension: int) -> Tensor:
    try:
        return graph.start((length, dimension))
    except ValueError as error:
        raise ModelError(
            f"A text of {length} words × {dimension} dimensions is too large: {error}."
        ) from error


def _values(program: Computation, given: Value, entrance: Entrance) -> dict[str, Value]:
    return _run(_needed(program), {**program.constants, program.given: given}, entrance)


def _run(nodes: Sequence[Operation], given: Values, entrance: Entrance) -> dict[str, Value]:
    """The values that operators give, one after the other, with those that they start from."""
    values = dict(given)
    by_name = {node.name: node for node in nodes}
    kept = 0
    for node in nodes:
        values[node.name] = _value(node, values, by_name, entrance)
        kept += _size(values[node.name])
        if kept > MOST_KEPT:
            raise ModelError(
                f"The network takes more than {MOST_KEPT} numbers at once, as far as {node.place}."
            )
    return values


def _size(value: Value) -> int:
    """Numbers that are kept for a value: of a tensor, those that say what it takes from
    its units.
    """
    if isinstance(value, Tensor):
        return value.size + sum(nonzero(matrix) for _, matrix in value.parts)
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    if isinstance(value, Quotient):
        return _size(value.value)
    held: Any = value.table if isinstance(value, Lookup) else value
    return int(np.size(held))


def _needed(program: Computation) -> list[Operation]:
    """The nodes that the answer depends on, in order."""
    wanted = {program.answer}
    found = []
    for node in reversed(program.nodes):
        if node.name in wanted:
            wanted.update(node.uses)
            found.append(node)
    return found[::-1]


def _value(
    node: Operation, values: dict[str, Value], by_name: Mapping[str, Operation], entrance: Entrance
) -> Value:
    inputs = {name: values[name] for name in node.uses}
    try:
        found = _made(node, inputs, entrance)
    except Exception as error:  # whatever the shapes or the foreign package do not like
        found = Unavailable(
            f"{node.operator} at {node.place} cannot be imported: {_sentence(error)}"
        )
    if not isinstance(found, Unavailable):
        return found
    curve = _recognised(node, values, by_name, entrance)
    return found if curve is None else curve


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def _made(node: Operation, inputs: Values, entrance: Entrance) -> Value:
    """What an operator gives: computed, about each word alone, about how many there are, or
    lowered.
    """
    if node.inside is not None:
        return node.inside(inputs, partial(_run, entrance=entrance))
    if all(is_constant(value) for value in inputs.values()):
        return node.compute(inputs)
    if any(isinstance(value, Quotient) for value in inputs.values()):
        return _of_quotients(node, inputs, entrance)
    divided = _divided(node, inputs, entrance)
    if divided is not None:
        return divided
    for way in (_folded, _counted, partial(_contracted, entrance=entrance)):
        found = way(node, inputs)
        if found is not None:
            return found
    return _lowered(node, inputs, entrance)


def _lowered(node: Operation, inputs: Values, entrance: Entrance) -> Value:
    keeps = Codes | Lookup if node.takes_words else ()
    entered = {
        name: value if isinstance(value, keeps) else _entered(value, entrance)
        for name, value in inputs.items()
    }
    refused = next((value for value in entered.values() if isinstance(value, Unavailable)), None)
    return node.lower(entered) if refused is None else refused


def _entered(value: Value, entrance: Entrance) -> Value:
    """The value as a tensor, where it is one of words or of their number."""
    match value:
        case Lookup():
            return entrance.enter(value)
        case Count():
            return as_number(value, entrance)
        case Codes():
            return entrance.enter_codes(value)
        case _:
            return value


# --- words alone, and how many they are ---


def _folded(node: Operation, inputs: Values) -> Value | None:
    """A function of each word alone, such as a mask or a masked vector, is a new code or table."""
    return _fold(inputs, node.compute) if node.elementwise else None


def _fold(inputs: Values, compute: Callable[[Values], Value]) -> Value | None:
    """The same of values about the same words, or about the number of the same words; None where
    they are not.
    """
    still = {name: np.asarray(value) for name, value in inputs.items() if is_constant(value)}
    codes = {name: value for name, value in inputs.items() if isinstance(value, Codes)}
    rows = {name: value for name, value in inputs.items() if isinstance(value, Lookup)}
    if (
        not codes
        or len(still) + len(codes) + len(rows) != len(inputs)
        or any(one.size != 1 for one in still.values())
    ):
        return None
    first = next(iter(codes.values()))
    shape = _same_places([*codes.values()], [*rows.values()])
    if shape is None:
        return None
    plain: dict[str, Any] = {name: value.reshape(()) for name, value in still.items()}
    plain |= {name: word.codes[:, None] if rows else word.codes for name, word in codes.items()}
    plain |= {name: row.table for name, row in rows.items()}
    found = np.asarray(compute(plain))
    if not rows:
        return replace(first, places=np.broadcast_to(first.places, shape), codes=found)
    entries = np.broadcast_to(next(iter(rows.values())).entries, shape)
    return Lookup(entries, found.astype(np.float64))


def _same_places(codes: Sequence[Codes], rows: Sequence[Lookup]) -> tuple[int, ...] | None:
    """The shape of values that are all about the same words (or their number) at each place; else
    None.
    """
    counts = [code for code in codes if isinstance(code, Count)]
    if counts:
        whole = len(counts) == len(codes) and not rows
        same = all(np.array_equal(one.positions, counts[0].positions) for one in counts)
        if not (
            whole and same and all(np.array_equal(one.counted, counts[0].counted) for one in counts)
        ):
            return None
    values: list[Codes | Lookup] = [*codes, *rows]
    try:
        shape = np.broadcast_shapes(*(one.shape for one in values))
    except ValueError:
        return None
    affordable(math.prod(shape))
    places = [np.broadcast_to(one.places, shape) for one in values]
    entries = [np.broadcast_to(row.entries, shape) for row in rows]
    same = all(np.array_equal(place, places[0]) for place in places)
    same = same and all(row.width == rows[0].width for row in rows)
    return shape if same and all(np.array_equal(entry, entries[0]) for entry in entries) else None


def _counted(node: Operation, inputs: Values) -> Value | None:
    """A sum of codes that says how many words there are; None where it says anything else."""
    given = next((value for value in inputs.values() if isinstance(value, Codes)), None)
    if node.role != "reduce" or given is None or isinstance(given, Count):
        return None
    try:
        return node.lower(inputs)
    except ValueError:
        return None


def _contracted(node: Operation, inputs: Values, entrance: Entrance) -> Value | None:
    """A product of weights and vectors of the same words, added up: None where it is another
    product.
    """
    pair = [inputs[name] for name in node.uses]
    kinds = {type(value) for value in pair}
    if not node.equation or len(pair) != 2 or kinds != {Codes, Lookup}:
        return None
    terms = rules.Terms.of(node.equation, [value.shape for value in pair])
    aligned = {str(i): terms.aligned(i, value) for i, value in enumerate(pair)}
    product = _fold(aligned, lambda found: found["0"] * found["1"])
    if product is None:
        return None
    entered = entrance.enter(product)
    return entered if isinstance(entered, Unavailable) else terms.added(entered)


# --- means ---


def _divided(node: Operation, inputs: Values, entrance: Entrance) -> Value | None:
    """A value divided by how many words there are, or by a number that depends on that alone."""
    pair = [inputs[name] for name in node.uses]
    if node.role not in ("divide", "multiply") or len(pair) != 2:
        return None
    if node.role == "multiply" and isinstance(pair[0], Count):
        pair.reverse()
    value, by = pair
    if not isinstance(by, Count) or isinstance(value, Count) or is_constant(value):
        return None
    if node.role == "multiply":
        with np.errstate(divide="ignore"):
            by = replace(by, codes=1 / np.asarray(by.codes, dtype=np.float64))
    wide = value
    if not isinstance(value, Unavailable):
        wide = rules.expand(value, np.broadcast_shapes(value.shape, by.shape))
    return quotient(wide, by, entrance)


def _of_quotients(node: Operation, inputs: Values, entrance: Entrance) -> Value:
    """What becomes of values that are divided by a count: all that comes later is done before the
    division.
    """
    given = [value for value in inputs.values() if isinstance(value, Quotient)]
    others = [
        value
        for value in inputs.values()
        if not isinstance(value, Quotient) and not is_constant(value)
    ]
    inner = {
        name: value.value if isinstance(value, Quotient) else value
        for name, value in inputs.items()
    }
    product = node.role == "multiply" or node.equation
    refused = [value for value in others if isinstance(value, Unavailable)]
    if (
        refused
        or (others and not product)
        or not all(value.by.alike(given[0].by) for value in given)
    ):
        for value in inner.values():
            _entered(value, entrance)
        if refused:
            return refused[0]
        raise ValueError(BESIDE)
    if len(given) > 1 and product:
        raise ValueError(rules.PRODUCT)
    found = None
    if product:
        found = _contracted(node, inner, entrance) if node.equation else _folded(node, inner)
    found = _lowered(node, inner, entrance) if found is None else found
    return _over(found, given[0].by)


def _over(value: Value, by: Count) -> Value:
    if isinstance(value, tuple | list):
        return tuple(_over(part, by) for part in value)
    return value if is_constant(value) or isinstance(value, Unavailable) else Quotient(value, by)


# --- curves that the framework wrote out in small operators ---


def _recognised(
    node: Operation, values: Values, by_name: Mapping[str, Operation], entrance: Entrance
) -> Tensor | Unavailable | None:
    """A multiple of a known curve, such as x * sigmoid(x), of a value a few elementwise operators
    back.
    """
    chain = _chain(node, values, by_name)
    sources = {
        name for link in chain.values() for name in link.uses if not is_constant(values[name])
    }
    for source in sorted(sources, key=list(values).index, reverse=True):
        if isinstance(values[source], Tensor | Lookup):
            made = _curve(node.name, source, chain, values)
            if made is not None:
                name, inner, factor = made
                found = _entered(values[source], entrance)
                if not isinstance(found, Tensor):
                    return Unavailable("")
                return (found if inner == 1.0 else found.scale(inner)).curve(name).scale(factor)
    return None


def _chain(
    node: Operation, values: Values, by_name: Mapping[str, Operation]
) -> dict[str, Operation]:
    """The elementwise operators that lead to this one, at most so many; in the order of the
    program.
    """
    found: dict[str, Operation] = {}
    ahead = [node.name]
    while ahead and len(found) < LONGEST:
        link = by_name.get(ahead.pop(0))
        if link is not None and link.elementwise and link.name not in found:
            found[link.name] = link
            ahead += [name for name in link.uses if not is_constant(values[name])]
    return {name: link for name, link in by_name.items() if name in found}


def _curve(
    answer: str, source: str, chain: Mapping[str, Operation], values: Values
) -> tuple[str, float, float] | None:
    """The curve that leads from `source` to `answer` if it is one we know: its name, and two
    factors.

    The answer is the second factor times the curve of the first factor times the source.
    """
    drawn = _drawn(answer, source, chain, values, GRID)
    if drawn is None:
        return None
    for name in SMOOTH:
        shape = CURVES[name].value(GRID)
        factor = _near_half(float(drawn[-1] / shape[-1]))
        if _alike(drawn, factor, shape):
            return name, 1.0, factor
    return _wide_softplus(drawn, partial(_drawn, answer, source, chain, values))


def _wide_softplus(
    drawn: Floats, draw: Callable[[Floats], Floats | None]
) -> tuple[str, float, float] | None:
    """softplus(beta x) times a factor, for another beta than 1: told by its value at 0 and its
    slope far away.
    """
    grid = GRID
    found = drawn
    middle = float(drawn[len(GRID) // 2])
    for _ in range(REFINED):  # what is far away hangs on beta itself
        slope = float(found[-1] / grid[-1])
        if not slope * middle > 0:
            return None
        inner = _near_half(slope * math.log(2) / middle)
        if not WIDEST**-1 < inner < WIDEST:
            return None
        grid = GRID / inner
        again = draw(grid)
        if again is None:
            return None
        found = again
    factor = float(found[-1] / GRID[-1])
    return (
        ("softplus", inner, factor)
        if _alike(found, factor, CURVES["softplus"].value(GRID))
        else None
    )


def _drawn(
    answer: str, source: str, chain: Mapping[str, Operation], values: Values, grid: Floats
) -> Floats | None:
    """What the answer is where the source runs over a grid, if it hangs on nothing else and is
    finite.
    """
    on_grid: dict[str, Any] = {source: grid}
    with np.errstate(all="ignore"):
        for name, link in chain.items():
            if name != source and all(
                use in on_grid or _is_number(values[use]) for use in link.uses
            ):
                uses = {
                    use: on_grid[use] if use in on_grid else np.reshape(values[use], ())
                    for use in link.uses
                }
                try:
                    on_grid[name] = link.compute(uses)
                except Exception:  # of the foreign package: then it leads nowhere
                    continue
    drawn = np.asarray(on_grid.get(answer, np.nan), dtype=np.float64)
    return (
        None
        if drawn.shape != grid.shape or not np.isfinite(drawn).all() or answer == source
        else drawn
    )


def _near_half(factor: float) -> float:
    """A factor, or the multiple of a half that it is but for rounding."""
    return round(factor * 2) / 2 if abs(factor * 2 - round(factor * 2)) < 1e-6 else factor


def _alike(drawn: Floats, factor: float, shape: Floats) -> bool:
    return bool(
        factor
        and (
            np.abs(drawn - factor * shape) <= 1e-5 * abs(factor) * np.maximum(1, np.abs(shape))
        ).all()
    )


def _is_number(value: Value) -> bool:
    return is_constant(value) and np.size(value) == 1


# --- the end ---


def _ended(program: Computation, values: Values, embedding: Floats, entrance: Entrance) -> Walked:
    """Leave away what only keeps the order of the scores, then take them."""
    by_name = {node.name: node for node in program.nodes}
    name = program.answer
    taken = program.answer
    endings = []
    while (node := by_name.get(name)) is not None and node.uses:
        before = _undivided(values[node.uses[0]], entrance)
        name = node.uses[0]
        if node.ending not in ("", "shape") and _keeps_order(node, before):
            endings.append(node.ending)
            taken = name
            if (
                before.size == 1
            ):  # it says where the answer turns, and what comes before it does not
                break
        elif node.ending != "shape" and not _moves_one(
            node, before, _undivided(values[node.name], entrance)
        ):
            break
    by = values[taken].by if isinstance(values[taken], Quotient) else None
    scores = _undivided(values[taken], entrance)
    _refuse(scores)
    if not isinstance(scores, Tensor):
        raise ModelError(
            "The scores of the network are not computed from the vectors of the words."
        )
    if by is not None:
        factor = as_number(by, entrance)
        assert isinstance(factor, Tensor)
        scores = times(scores, factor.reshape((factor.size,)).pick(np.array(0)), entrance.held)
    return Walked(scores, embedding, tuple(reversed(endings)), by, entrance.columns())


def _undivided(value: Value, entrance: Entrance) -> Value:
    """A value as a tensor where it is one of vectors of words, a mean as the sum that
    is divided.
    """
    inner = value.value if isinstance(value, Quotient) else value
    return entrance.enter(inner) if isinstance(inner, Lookup) else inner


def _keeps_order(node: Operation, before: Value) -> bool:
    if not isinstance(before, Tensor):
        return False
    return (before.size == before.shape[node.axis] > 1) if "softmax" in node.ending else True


def _moves_one(node: Operation, before: Value, after: Value) -> bool:
    """Whether a node only moves a single number to another place."""
    both = isinstance(before, Tensor) and isinstance(after, Tensor)
    return both and node.takes_words and before.size == after.size == 1


def _refuse(value: Value) -> None:
    if isinstance(value, Unavailable) and value.reason:
        raise ModelError(value.reason)

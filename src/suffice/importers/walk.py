"""Walk: a foreign network operator by operator, from word numbers to scores, whatever framework wrote it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.errors import ModelError
from suffice.model import graph
from suffice.model.curves import CURVES
from suffice.model.graph import Tensor
from suffice.model.network import Floats, Ints
from suffice.model.step import nonzero

Value: TypeAlias = Any  # a NumPy array where nothing depends on the text, else Tensor, Codes, Lookup or Unavailable
Values: TypeAlias = Mapping[str, Value]
GRID = np.concatenate([np.linspace(-100, -7, 32), np.linspace(-6, 6, 241), np.linspace(7, 100, 32)])
SMOOTH = ("tanh", "sigmoid", "gelu", "gelu_tanh", "silu", "elu", "softplus", "exp")
MOST_VALUES = 2**26  # numbers of one value that an operator gives
MOST_KEPT = 2**28  # numbers of all values of a network together
LONGEST = 24  # operators that a curve may be made of


@dataclass(frozen=True)
class Unavailable:
    """Why a value cannot be had; it is only said if the scores need the value."""

    reason: str


@dataclass(frozen=True, eq=False)
class Codes:
    """A number for each position that depends on its word alone, such as its index: codes[w] for the word w."""

    places: Ints  # which position stands where
    codes: NDArray[Any]  # (V,)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.places.shape


@dataclass(frozen=True, eq=False)
class Lookup:
    """A row of `table` for each position: places.shape + (d,)."""

    places: Ints
    table: Floats  # (V, d)

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.places.shape, self.table.shape[1])


@dataclass(frozen=True, eq=False)
class Operation:
    """One operator of the foreign network.

    `lower` works on values that depend on the text, `compute` on arrays. `ending` is what the operator does to an
    answer that it ends: "softmax", "log_softmax", "sigmoid" keep the order of the scores, "shape" their values too.
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


@dataclass(frozen=True, eq=False)
class Computation:
    """The operators in order, the constants they start from, and the names of what goes in and comes out.

    `kind` is what numbers of words are handed in as.
    """

    nodes: Sequence[Operation]
    constants: Values
    given: str
    answer: str
    kind: type[np.generic] = np.int64


@dataclass(eq=False)
class Entrance:
    """Where vectors of words enter the network: every table that is looked up, side by side."""

    tables: list[Floats] = field(default_factory=list)
    start: Tensor | None = None

    def enter(self, lookup: Lookup) -> Tensor | Unavailable:
        """The looked-up vectors as columns of the embedded text; too early while the columns are still counted."""
        number = next((i for i, table in enumerate(self.tables) if np.array_equal(table, lookup.table)), None)
        if number is None:
            self.tables.append(lookup.table)
        if self.start is None or number is None:
            return Unavailable("")
        before, width = sum(table.shape[1] for table in self.tables[:number]), lookup.table.shape[1]
        columns = np.arange(before, before + width)
        return self.start.pick(lookup.places[..., None] * self.start.shape[1] + columns)


@dataclass(frozen=True, eq=False)
class Walked:
    """The scores before anything that only keeps their order, the embedding, and the names of what was left away.

    `padding` is the word that means over the words present leave out; the scores are those on sums then.
    """

    scores: Tensor
    embedding: Floats
    endings: tuple[str, ...]
    padding: int | None = None


def walk(program: Computation, length: int, words: int, embedding: Floats | None = None) -> Walked:
    """The scores as a function of the embedded text; a ModelError names the first operator that is in the way."""
    if embedding is not None:
        start = _start(length, embedding.shape[1])
        return _ended(program, _values(program, start.reshape((1, *start.shape)), Entrance()), embedding)
    given = Codes(np.arange(length)[None], _numbers(words, program.kind))
    counted = Entrance()
    early = _values(program, given, counted)
    if not counted.tables:
        _refuse(early[program.answer])
        raise ModelError("The network looks no word up: give the vectors it takes as embedding=.")
    tables = np.hstack(counted.tables)
    entrance = Entrance(counted.tables, _start(length, tables.shape[1]))
    return _ended(program, _values(program, given, entrance), tables)


def _numbers(words: int, kind: type[np.generic]) -> NDArray[Any]:
    """The number of each word, as the network takes it."""
    found = np.arange(words)
    with np.errstate(over="ignore"):
        handed: NDArray[Any] = found.astype(kind)
    if not np.array_equal(handed.astype(np.float64), found):
        raise ModelError(f"The network takes words as {handed.dtype}, which cannot tell {words} of them apart.")
    return handed


def _start(length: int, dimension: int) -> Tensor:
    try:
        return graph.start((length, dimension))
    except ValueError as error:
        raise ModelError(f"A text of {length} words × {dimension} dimensions is too large: {error}.") from error


def _values(program: Computation, given: Value, entrance: Entrance) -> dict[str, Value]:
    values = {**program.constants, program.given: given}
    by_name = {node.name: node for node in _needed(program)}
    kept = 0
    for node in by_name.values():
        values[node.name] = _value(node, values, by_name, entrance)
        kept += _size(values[node.name])
        if kept > MOST_KEPT:
            raise ModelError(f"The network takes more than {MOST_KEPT} numbers at once, as far as {node.place}.")
    return values


def _size(value: Value) -> int:
    """Numbers that are kept for a value: of a tensor, those that say what it takes from its units."""
    if isinstance(value, Tensor):
        return value.size + sum(nonzero(matrix) for _, matrix in value.parts)
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    held: Any = value.table if isinstance(value, Lookup) else value
    return int(np.size(held))


def _needed(program: Computation) -> list[Operation]:
    """The nodes that the answer depends on, in order."""
    wanted, found = {program.answer}, []
    for node in reversed(program.nodes):
        if node.name in wanted:
            wanted.update(node.uses)
            found.append(node)
    return found[::-1]


def _value(node: Operation, values: dict[str, Value], by_name: Mapping[str, Operation], entrance: Entrance) -> Value:
    inputs = {name: values[name] for name in node.uses}
    refused = next((value for value in inputs.values() if isinstance(value, Unavailable)), None)
    try:
        if refused is None and all(is_constant(value) for value in inputs.values()):
            return node.compute(inputs)
        folded = _folded(node, inputs)
        if folded is not None:
            return folded
        entered = {name: _entered(value, node, entrance) for name, value in inputs.items()}
        refused = next((value for value in entered.values() if isinstance(value, Unavailable)), None)
        if refused is None:
            return node.lower(entered)
    except Exception as error:  # whatever the shapes or the foreign package do not like
        refused = Unavailable(f"{node.operator} at {node.place} cannot be imported: {_sentence(error)}")
    curve = _recognised(node, values, by_name, entrance)
    return refused if curve is None else curve


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def is_constant(value: Value) -> bool:
    if isinstance(value, tuple | list):
        return all(is_constant(part) for part in value)
    return not isinstance(value, Tensor | Codes | Lookup | Unavailable)


def _entered(value: Value, node: Operation, entrance: Entrance) -> Value:
    if isinstance(value, Lookup):
        return entrance.enter(value)
    if isinstance(value, Codes) and not node.takes_words:
        column = np.asarray(value.codes, dtype=np.float64)[:, None]
        found = entrance.enter(Lookup(value.places, column))
        return found if isinstance(found, Unavailable) else found.reshape(value.shape)
    return value


def _folded(node: Operation, inputs: Values) -> Value | None:
    """A function of each word alone, such as a mask or a masked vector, is a new code or table."""
    still = {name: np.asarray(value) for name, value in inputs.items() if is_constant(value)}
    words = {name: value for name, value in inputs.items() if isinstance(value, Codes)}
    rows = {name: value for name, value in inputs.items() if isinstance(value, Lookup)}
    if not (node.elementwise and words and len(still) + len(words) + len(rows) == len(inputs)):
        return None
    if any(value.size != 1 for value in still.values()):
        return None
    places = _same_places(list(words.values()), list(rows.values()))
    if places is None:
        return None
    plain = {name: value.reshape(()) for name, value in still.items()}
    plain |= {name: word.codes[:, None] if rows else word.codes for name, word in words.items()}
    plain |= {name: row.table for name, row in rows.items()}
    found = np.asarray(node.compute(plain))
    return Lookup(places, found.astype(np.float64)) if rows else Codes(places, found)


def _same_places(words: Sequence[Codes], rows: Sequence[Lookup]) -> Ints | None:
    """The places in the text that all of these are about; None where they are about different ones."""
    places = rows[0].places if rows else words[0].places
    codes = places[..., None] if rows else places
    same = [
        *(np.array_equal(word.places, codes) for word in words),
        *(np.array_equal(row.places, places) for row in rows),
    ]
    return places if all(same) else None


# --- curves that the framework wrote out in small operators ---


def _recognised(
    node: Operation, values: Values, by_name: Mapping[str, Operation], entrance: Entrance
) -> Tensor | Unavailable | None:
    """A multiple of a known curve, such as x * sigmoid(x), of a value a few elementwise operators back."""
    chain = _chain(node, values, by_name)
    sources = {name for link in chain.values() for name in link.uses if not is_constant(values[name])}
    for source in sorted(sources, key=list(values).index, reverse=True):
        if isinstance(values[source], Tensor | Lookup):
            made = _curve(node.name, source, chain, values)
            if made is not None:
                found = _entered(values[source], node, entrance)
                return found if isinstance(found, Unavailable) else found.curve(made[0]).scale(made[1])
    return None


def _chain(node: Operation, values: Values, by_name: Mapping[str, Operation]) -> dict[str, Operation]:
    """The elementwise operators that lead to this one, at most so many; in the order of the program."""
    found: dict[str, Operation] = {}
    ahead = [node.name]
    while ahead and len(found) < LONGEST:
        link = by_name.get(ahead.pop(0))
        if link is not None and link.elementwise and link.name not in found:
            found[link.name] = link
            ahead += [name for name in link.uses if not is_constant(values[name])]
    return {name: link for name, link in by_name.items() if name in found}


def _curve(answer: str, source: str, chain: Mapping[str, Operation], values: Values) -> tuple[str, float] | None:
    """The name of the curve that leads from `source` to `answer`, and its factor, if it is one we know."""
    on_grid: dict[str, Any] = {source: GRID}
    with np.errstate(all="ignore"):
        for name, link in chain.items():
            if name != source and all(use in on_grid or _is_number(values[use]) for use in link.uses):
                uses = {use: on_grid[use] if use in on_grid else np.reshape(values[use], ()) for use in link.uses}
                on_grid[name] = link.compute(uses)
    drawn = np.asarray(on_grid.get(answer, np.nan), dtype=np.float64)
    if drawn.shape != GRID.shape or not np.isfinite(drawn).all() or answer == source:
        return None
    for name in SMOOTH:
        shape = CURVES[name].value(GRID)
        factor = float(drawn[-1] / shape[-1])
        factor = round(factor * 2) / 2 if abs(factor * 2 - round(factor * 2)) < 1e-6 else factor
        if factor and (np.abs(drawn - factor * shape) <= 1e-5 * abs(factor) * np.maximum(1, np.abs(shape))).all():
            return name, factor
    return None


def _is_number(value: Value) -> bool:
    return is_constant(value) and np.size(value) == 1


# --- the end ---


def _ended(program: Computation, values: Values, embedding: Floats) -> Walked:
    """Leave away what only keeps the order of the scores, then take them."""
    by_name = {node.name: node for node in program.nodes}
    name, taken, endings = program.answer, program.answer, []
    while (node := by_name.get(name)) is not None and node.uses:
        before = values[node.uses[0]]
        name = node.uses[0]
        if node.ending not in ("", "shape") and _keeps_order(node, before):
            endings.append(node.ending)
            taken = name
            if before.size == 1:  # it says where the answer turns, and what comes before it does not
                break
        elif node.ending != "shape" and not _moves_one(node, before, values[node.name]):
            break
    scores = values[taken]
    _refuse(scores)
    if isinstance(scores, Tensor):
        return Walked(scores, embedding, tuple(reversed(endings)))
    raise ModelError("The scores of the network are not computed from the vectors of the words.")


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

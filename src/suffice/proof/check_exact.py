"""A second checker of certificates: one file, standard library only, rational numbers, no rounding to believe in.

    python check_exact.py proof.cert model/

Written from docs/certificate.md, not from the other checker; it may be copied out and run alone, and is slow. Every
number is a fraction. Where a bound would need a root or a long quotient, a fraction on the safe side of it is taken.
The one place for doubles is the rule for nearest words, which the format defines by them. Networks with smooth curves
and black boxes are not checked by this one.

Read it from the end: `Check` walks the evidence of a claim; its leaves are decided by `Network`, over an input set
that `Inputs` describes; what words may become is in `Sets`; before that, files are read.

Exit codes: 0 the certificate proves its claim, 1 it does not, 2 the files are no certificate or no model of the formats
known here, 3 not checked by this one.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
import re
import struct
import sys
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

Row: TypeAlias = dict[int, Fraction]  # a linear form: coefficients by place, those that are missing are 0
Vector: TypeAlias = tuple[Fraction, ...]
Places: TypeAlias = frozenset[int]
Span: TypeAlias = tuple[Fraction, Fraction]  # a lower and an upper bound

HUGE, WHOLE, ZERO, ONE = 2**800, 2**53, Fraction(0), Fraction(1)
LEAN, NEAR = Fraction(1, 2**20), Fraction(1, 2**32)  # shares within which bounds count as equal, or as zero
DIGITS = 160  # binary digits kept of a bound or a slope, rounded to the safe side
MOST = 2**29  # bytes read of an unpacked certificate
CODES = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U64": "Q", "U32": "I"}
CODES |= {"U16": "H", "U8": "B"}
CHOICES, RESTORED = ("word-swap", "deletion", "mask", "removal-or-swap"), "restored"


class Reject(Exception):
    """The certificate does not prove its claim."""


class Unreadable(Exception):
    """A file is not what it should be."""


class NotForThis(Exception):
    """A question that this checker does not answer."""


def need(condition: object, reason: str) -> None:
    if not condition:
        raise Reject(reason)


def down(value: Fraction) -> Fraction:
    """A number with few digits at or below the value."""
    if not value:
        return value
    shift = DIGITS - value.numerator.bit_length() + value.denominator.bit_length()
    scale = Fraction(2) ** shift
    return Fraction(math.floor(value * scale)) / scale


def up(value: Fraction) -> Fraction:
    return -down(-value)


def root_above(value: Fraction) -> Fraction:
    """A number at or above the square root, by a whole root of a multiple."""
    scale = 4**DIGITS
    return Fraction(math.isqrt(math.ceil(value * scale)) + 1, 2**DIGITS) if value else ZERO


def inner(row: Row, values: Mapping[int, Fraction] | Sequence[Fraction]) -> Fraction:
    return sum((factor * values[place] for place, factor in row.items()), ZERO)


def clipped(slope: Fraction) -> Fraction:
    return min(max(slope, ZERO), ONE)


# --- the model folder ---


@dataclass(frozen=True, eq=False)
class Step:
    """z = rows·h + bias, then relu on some units; a group gives its largest z at its first unit, 0 at the others."""

    rows: list[Row]
    bias: Vector
    relu: Places
    groups: list[list[int]]

    @cached_property
    def home(self) -> dict[int, list[int]]:
        """Of a unit of a group: the group."""
        return {unit: group for group in self.groups for unit in group}

    def give(self, sums: list[Fraction]) -> list[Fraction]:
        values = [max(z, ZERO) if unit in self.relu else z for unit, z in enumerate(sums)]
        for group in self.groups:
            for unit in group:
                values[unit] = max(sums[other] for other in group) if unit == group[0] else ZERO
        return values


@dataclass(frozen=True, eq=False)
class Model:
    digest: str
    labels: list[str]
    length: int
    pad: str
    unknown: str
    tokenizer: Any
    words: list[str]
    table: list[tuple[float, ...]]
    steps: list[Step]

    @cached_property
    def lookup(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    @property
    def once(self) -> bool:
        return isinstance(self.tokenizer, dict) and bool(self.tokenizer.get("once"))


def load(folder: str | Path) -> Model:
    """The model of a folder, once its digest is the one that its files have."""
    path = Path(folder)
    try:
        head = json.loads((path / "classifier.json").read_text(encoding="utf-8"))
        words = (path / "vocabulary.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
        tensors = safetensors((path / "weights.safetensors").read_bytes())
        content = (path / "tokenizer.json").read_text(encoding="utf-8") if (path / "tokenizer.json").is_file() else ""
        if head["format"] != 2:
            raise Unreadable(f"The model has format {head['format']!r}; format 2 is read here.")
        if any(head.get("curves", [])):
            raise NotForThis("The network has smooth curves: not checked by this one.")
        return assembled(head, words, tensors, content)
    except (OSError, ValueError, LookupError, TypeError, struct.error) as error:
        raise Unreadable(f"This is not a model folder: {type(error).__name__}: {error}") from error


def safetensors(data: bytes) -> dict[str, tuple[tuple[int, ...], tuple[float, ...]]]:
    """Name to shape and numbers: eight bytes of length, a JSON header, then the numbers, little-endian."""
    start = 8 + int.from_bytes(data[:8], "little")
    head = json.loads(data[8:start])
    found = {}
    for name, entry in head.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            code, part = CODES[entry["dtype"]], data[start + begin : start + end]
            count = math.prod(entry["shape"])
            if len(part) != count * struct.calcsize(code):
                raise ValueError(f"{name} does not have its shape")
            found[name] = tuple(entry["shape"]), struct.unpack(f"<{count}{code}", part)
    return found


def assembled(head: Any, words: list[str], tensors: Mapping[str, Any], content: str) -> Model:
    (_, size), numbers = tensors["embedding"]
    table = [tuple(map(float, numbers[i * size : (i + 1) * size])) for i in range(len(words))]
    weights = [matrix(tensors, f"step{k}.weight") for k in range(len(head["relu"]))]
    biases = [tuple(map(float, tensors[f"step{k}.bias"][1])) for k in range(len(head["relu"]))]
    sha = hashlib.sha256()
    for part in digest_parts(head, words, content, (tensors["embedding"][0], numbers), weights, biases):
        sha.update(len(part).to_bytes(8, "little") + part)
    if sha.hexdigest() != head["digest"]:
        raise ValueError("its digest does not match its files")
    steps = []
    maxima = head.get("maxima", [[]] * len(biases))
    for (_, entries), bias, relus, groups in zip(weights, biases, head["relu"], maxima, strict=True):
        rows: list[Row] = [{} for _ in bias]
        for (row, column), weight in entries.items():
            rows[row][column] = Fraction(weight)
        listed = [*relus, *(unit for group in groups for unit in group)]
        if len({*listed}) != len(listed) or not {*listed} <= {*range(len(bias))} or not all(groups):
            raise ValueError("a unit has two activations, or is not there")
        steps.append(Step(rows, tuple(map(Fraction, bias)), frozenset(relus), groups))
    names = ("labels", "length", "pad", "unknown", "tokenizer")
    return Model(head["digest"], *(head[name] for name in names), words, table, steps)  # type: ignore[call-arg]


def matrix(tensors: Mapping[str, Any], name: str) -> tuple[tuple[int, int], dict[tuple[int, int], float]]:
    """Shape and entries that are not zero, row by row; stored as a dense tensor or as compressed rows."""
    if name in tensors:
        (rows, columns), numbers = tensors[name]
        places = ((i, j) for i in range(rows) for j in range(columns))
        return (rows, columns), {place: float(v) for place, v in zip(places, numbers, strict=True) if v}
    data, indices, indptr, shape = (tensors[f"{name}.{part}"][1] for part in ("data", "indices", "indptr", "shape"))
    entries = {}
    for row in range(shape[0]):
        for at in range(indptr[row], indptr[row + 1]):
            if data[at]:
                entries[row, indices[at]] = float(data[at])
    return (shape[0], shape[1]), dict(sorted(entries.items()))


def digest_parts(
    head: Any, words: list[str], content: str, embedding: Any, weights: Any, biases: Any
) -> Iterator[bytes]:
    """What the digest is taken over, part by part; each stands after its length."""
    tokenizer = head["tokenizer"]
    reading = {name: head[name] for name in ("format", "length", "pad", "unknown", "tokenizer")}
    yield json.dumps(reading, sort_keys=True).encode()
    yield content.encode() if isinstance(tokenizer, dict) and tokenizer.get("kind") == "hugging-face" else b""
    yield str(len(words)).encode()
    yield from (word.encode("utf-8", "surrogatepass") for word in words)
    shape = {"labels": head["labels"], "relu": [sorted(units) for units in head["relu"]]}
    if any(head.get("maxima", [])):
        shape["maxima"] = head["maxima"]
    yield json.dumps(shape, sort_keys=True).encode()
    yield from array_parts(*embedding)
    for (shape, entries), bias in zip(weights, biases, strict=True):
        size = shape[0] * shape[1]
        if size >= 250_000 and len(entries) * 10 < size:
            starts = [0] * (shape[0] + 1)
            for row, _ in entries:
                starts[row + 1] += 1
            for row in range(shape[0]):
                starts[row + 1] += starts[row]
            columns = [column for _, column in entries]
            yield from (repr(shape).encode(), b"sparse", packed("q", starts), packed("q", columns))
            yield packed("d", entries.values())
        else:
            flat = [0.0] * size
            for (row, column), weight in entries.items():
                flat[row * shape[1] + column] = weight
            yield from array_parts(shape, flat)
        yield from array_parts((len(bias),), bias)


def array_parts(shape: tuple[int, ...], numbers: Iterable[float]) -> Iterator[bytes]:
    yield repr(tuple(shape)).encode()
    yield packed("d", (float(v) + 0.0 for v in numbers))


def packed(code: str, numbers: Iterable[float]) -> bytes:
    listed = list(numbers)
    return struct.pack(f"<{len(listed)}{code}", *listed)


def pieces(model: Model, source: str) -> list[str] | None:
    """What the model's reader makes of a string; None where it is not one of those described in the format."""
    how = model.tokenizer
    if how == "words":
        return [m.group().lower() for m in re.finditer(r"\w+(?:['’\-]\w+)*|[^\w\s]", source)]
    if how.get("kind") != "pattern":
        return None
    plain = source.lower() if how["lowercase"] else source
    if how["accents"] != "keep" and not plain.isascii():
        plain = "".join(bare(char, how["accents"]) for char in plain)
    group = re.compile(how["pattern"]).groups
    found = (match.group(group) for match in re.finditer(how["pattern"], plain))
    return [word for word in found if word and word not in how["skip"]]


def bare(char: str, accents: str) -> str:
    parts = unicodedata.normalize("NFKD", char)
    if accents == "ascii":
        return parts.encode("ascii", "ignore").decode()
    return "".join(part for part in parts if not unicodedata.combining(part))


# --- lines of the certificate ---


def read_lines(data: bytes) -> Iterator[Any]:
    try:
        unpacker = zlib.decompressobj(31)
        text = unpacker.decompress(data, MOST + 1)
        if len(text) > MOST or not unpacker.eof or unpacker.unused_data:
            text = gzip.decompress(data) if len(text) <= MOST else b""
        if not text:
            raise ValueError("it is empty, or longer than what is read here")
        for line in text.decode().removesuffix("\n").split("\n"):
            yield json.loads(line, parse_constant=int, object_pairs_hook=each_once)
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise Unreadable(f"This is not a certificate: {str(error)[:200]}") from error


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("an object has a key twice")
    return dict(pairs)


def fields(data: Any, names: str) -> list[Any]:
    need(type(data) is dict and data.keys() == set(names.split()), f"there must be exactly these keys: {names}")
    return [data[name] for name in names.split()]


def whole(value: Any, low: int, high: int) -> int:
    right = type(value) is int and low <= value < high
    need(right, f"{str(value)[:40]} is not a whole number from {low} to {high - 1}")
    return int(value)


def places(values: Any, within: Places) -> Places:
    need(type(values) is list and all(type(v) is int for v in values), "there must be a list of positions")
    need(values == sorted(set(values)) and within >= set(values), "positions are allowed ones, sorted, each once")
    return frozenset(values)


def number(value: Any, least: int = -HUGE) -> Fraction:
    need(type(value) in (int, float) and -math.inf < value < math.inf, "a number is not a number")
    exact = Fraction(value)
    need(least <= exact <= HUGE and exact == Fraction(float(value)), "a number is out of range")
    return exact


def array(data: Any, count: int) -> list[Fraction]:
    need(type(data) is dict and len(data) == 1, "an array has one key")
    ((kind, text),) = data.items()
    need(kind in ("f4", "f8") and type(text) is str, "an array is f4 or f8")
    try:
        raw = base64.b64decode(text, validate=True)
        values = struct.unpack(f"<{count}{'f' if kind == 'f4' else 'd'}", raw)
    except (ValueError, struct.error) as error:
        raise Reject(f"an array must hold {count} numbers: {error}") from error
    need(all(math.isfinite(value) for value in values), "an array holds a number that is not finite")
    return [Fraction(value) for value in values]


# --- what words may become ---


@dataclass(frozen=True, eq=False)
class Sets:
    """Of each position its own vector and either points (choices or corners), a box, or a ball."""

    kind: str
    own: list[Vector]
    points: list[list[Vector]] | None
    box: list[tuple[Vector, Vector]]
    radius: Fraction
    norm: Any
    at_most: int | None

    def holds(self, place: int, vector: Vector) -> bool:
        if self.points is not None:
            return vector in self.points[place]
        gaps = [abs(a - b) for a, b in zip(vector, self.own[place], strict=True)]
        if self.kind != "epsilon-ball":
            low, high = self.box[place]
            return all(a <= v <= b for a, v, b in zip(low, vector, high, strict=True))
        if self.norm == 2:
            return sum(gap * gap for gap in gaps) <= self.radius**2
        return (max(gaps) if self.norm == "inf" else sum(gaps)) <= self.radius

    def gain(self, place: int, row: Row, left: Places) -> Fraction:
        """The least value of row·v over what is left to a word, less row·own."""
        own = self.own[place]
        if self.points is not None:
            value = inner(row, own)
            return min(inner(row, self.points[place][choice]) for choice in left) - value
        if self.kind == "epsilon-ball":
            sizes = [abs(factor) for factor in row.values()]
            if self.norm == 2:
                return -root_above(self.radius**2 * sum(size * size for size in sizes))
            return -self.radius * (max(sizes, default=ZERO) if self.norm == 1 else sum(sizes, ZERO))
        low, high = self.box[place]
        return sum((min(f * (low[j] - own[j]), f * (high[j] - own[j])) for j, f in row.items()), ZERO)


def exact(vector: Sequence[float]) -> Vector:
    return tuple(map(Fraction, vector))


def read_sets(data: Any, model: Model, tokens: list[str], features: Places) -> Sets:
    need(type(data) is dict, "the set must be an object")
    data = dict(data)
    at_most = whole(data.pop("at_most"), 1, WHOLE) if "at_most" in data else None
    kind, lookup = data.get("kind"), model.lookup
    mine = [lookup.get(token, lookup[model.unknown]) for token in tokens]
    own = [exact(model.table[i]) for i in mine]
    size, radius, norm = len(own[0]), ZERO, None
    points: list[list[Vector]] | None = None
    if kind == "epsilon-ball":
        _, eps, norm = fields(data, "kind eps p")
        need(type(norm) in (int, float, str) and norm in (1, 2, "inf"), "p must be 1, 2 or inf")
        radius = number(eps, 0)
        box = [(tuple(v - radius for v in x), tuple(v + radius for v in x)) for x in own]
    elif kind == "boxes":
        _, lower, upper = fields(data, "kind lower upper")
        for side in (lower, upper):
            right = type(side) is list and len(side) == len(own) and all(type(row) is list for row in side)
            need(right and all(len(row) == size for row in side), "boxes must have one row per position")
        box = [(tuple(map(number, a)), tuple(map(number, b))) for a, b in zip(lower, upper, strict=True)]
        inside = (
            a <= v <= b for x, (low, high) in zip(own, box, strict=True) for a, v, b in zip(low, x, high, strict=True)
        )
        need(all(inside), "a box misses the word's own vector")
    else:
        listed = (
            neighbours(kind, data, model, mine, features) if str(kind)[:3] == "knn" else choices(data, model, tokens)
        )
        most = max(map(len, listed))
        points = [[exact(model.table[i]) for i in row + row[:1] * (most - len(row))] for row in listed]
        box = [(tuple(map(min, zip(*row, strict=True))), tuple(map(max, zip(*row, strict=True)))) for row in points]
    box = [sides if i in features else (own[i], own[i]) for i, sides in enumerate(box)]
    return Sets(str(kind), own, None if kind == "knn-box" else points, box, radius, norm, at_most)


def neighbours(kind: Any, data: Any, model: Model, mine: list[int], features: Places) -> list[list[int]]:
    """Each word and its k nearest. The format defines these by doubles: a float is one in Python."""
    need(kind in ("knn-box", "knn-hull") and not model.once, "the format knows no such set here")
    k = whole(fields(data, "kind k")[1], 0, len(model.words) - 2)
    special = {model.lookup[model.pad], model.lookup[model.unknown]}

    def nearest(place: int) -> list[int]:
        home, ranked = model.table[place], list[tuple[float, int]]()
        for other, vector in enumerate(model.table):
            if other != place and other not in special:
                distance = 0.0
                for a, b in zip(vector, home, strict=True):
                    distance += (a - b) * (a - b)
                ranked.append((distance, other))
        return [other for _, other in sorted(ranked)[:k]]

    near = {place: nearest(place) for place in {mine[i] for i in features}}
    return [[place, *near[place]] if i in features else [place] for i, place in enumerate(mine)]


def choices(data: Any, model: Model, tokens: list[str]) -> list[list[int]]:
    """Each word, then what may stand in its place."""
    kind, lookup = data.get("kind"), model.lookup
    need(kind in CHOICES, "the format knows no such set")
    anywhere = [model.pad] if kind in ("deletion", "removal-or-swap") else []
    swaps: Any = {}
    if kind == "deletion":
        fields(data, "kind")
    elif kind == "mask":
        token = fields(data, "kind token")[1]
        need(token is None or type(token) is str, "the mask must be a word or null")
        anywhere = [token or model.unknown]
    else:
        swaps = fields(data, "kind swaps")[1]
        right = type(swaps) is dict and all(type(v) is list and all(type(w) is str for w in v) for v in swaps.values())
        need(right, "swaps must be lists of words")
    rows = []
    for token in tokens:
        words = dict.fromkeys([*anywhere, *swaps.get(token, swaps.get(token.lower(), []))])
        own = lookup.get(token, lookup[model.unknown])
        rows.append([own, *(substitute(model, word) for word in words if word != token)])
    if model.once:
        seen: dict[int, int] = {}
        for position, row in enumerate(rows):
            for place in set(row) - {lookup[model.pad], lookup[model.unknown]}:
                need(seen.setdefault(place, position) == position, "a word that counts once could stand twice")
    return rows


def substitute(model: Model, word: str) -> int:
    lookup, unknown = model.lookup, model.lookup[model.unknown]
    if word in lookup:
        return lookup[word]
    if not (isinstance(model.tokenizer, dict) and model.tokenizer.get("kind") == "pattern"):
        return lookup.get(word.lower(), unknown)
    made = pieces(model, word) or []
    need(len(made) <= 1, "a substitute is read as several words")
    return lookup.get(made[0], unknown) if made else unknown


# --- input sets ---


@dataclass(frozen=True, eq=False)
class State:
    """What is left to each word (None: it is fixed), which words are open, what is left of the budget and the count."""

    left: tuple[Places | None, ...]
    opened: Places
    budget: int
    count: int | None

    def put(self, place: int, left: Places | None, **rest: Any) -> State:
        return replace(self, left=(*self.left[:place], left, *self.left[place + 1 :]), **rest)


class Inputs:
    """Words leave their own vectors: free ones at will; where there are costs, as many as the budget pays for."""

    def __init__(self, sets: Sets, costs: Sequence[int] = ()) -> None:
        self.sets, self.unit = sets, math.gcd(*costs) or 1  # what is left over of a budget buys nothing
        self.costs = [cost // self.unit for cost in costs]

    def begin(self, free: Places, budget: int = 0, count: int | None = None) -> State:
        everything = frozenset(range(len(self.sets.points[0]) if self.sets.points is not None else 1))
        left = tuple(everything if i in free else None for i in range(len(self.sets.own)))
        return State(left, free if self.costs else frozenset(), budget // self.unit, count)

    def pick(self, line: Any, state: State) -> tuple[State, State]:
        """The two sides of a pick: what one leaves out the other has."""
        return self.choose(line, state) if "chosen" in line else self.pay(line, state)

    def choose(self, line: Any, state: State) -> tuple[State, State]:
        place, chosen = fields(line, "pick chosen")
        mine = state.left[whole(place, 0, len(state.left))]
        need(self.sets.kind in CHOICES and mine is not None, "there is nothing to choose from")
        if place in state.opened:  # fine if all open words can be paid for together: then none of them is open
            enough = sum(self.costs[i] for i in state.opened) <= state.budget
            need(enough and (state.count is None or len(state.opened) <= state.count), "this word is not paid for")
            state = replace(state, opened=frozenset())
        need(type(chosen) is list, "chosen must be a list")
        listed = {whole(choice, 0, len((self.sets.points or [[]])[0])) for choice in chosen}
        need(mine is not None and mine & listed and mine - listed, "a pick must leave choices on both sides")
        mine = mine or frozenset()
        return state.put(place, mine & listed), state.put(place, mine - listed)

    def pay(self, line: Any, state: State) -> tuple[State, State]:
        """An open word changes, is paid for and counted; or it stays. A restored one has no choice what to become."""
        place = whole(fields(line, "pick")[0], 0, len(state.left))
        need(place in state.opened, "only an open word can be paid for")
        rest, count = state.budget - self.costs[place], None if state.count is None else state.count - 1
        need(rest >= 0 and (count is None or count >= 0), "nothing is left to pay for this word")
        opened = state.opened - {place}
        free = frozenset([1]) if self.sets.kind == RESTORED else state.left[place]
        return state.put(place, free, opened=opened, budget=rest, count=count), state.put(place, None, opened=opened)

    def only(self, state: State) -> list[Vector] | None:
        """The input that is left, where words are real ones and just one is."""
        if self.sets.points is None or self.sets.kind not in (*CHOICES, RESTORED):
            return None
        found: list[Vector] = []
        for i, (own, points, left) in enumerate(zip(self.sets.own, self.sets.points, state.left, strict=True)):
            barred = i in state.opened and (self.costs[i] > state.budget or state.count == 0)
            vectors = {own} if left is None or barred else {points[choice] for choice in left}
            if len(vectors) > 1:
                return None
            found += vectors
        return found

    def least(self, row: Row, state: State) -> Fraction:
        """A lower bound of a form: gains of open words as far as they are paid for, those of free words in any case."""
        size = len(self.sets.own[0])
        parts: dict[int, Row] = {}
        for place, factor in row.items():
            parts.setdefault(place // size, {})[place % size] = factor
        total = sum((inner(part, self.sets.own[place]) for place, part in parts.items()), ZERO)
        gains = {i: self.sets.gain(i, part, left) for i, part in parts.items() if (left := state.left[i]) is not None}
        total += sum((gain for place, gain in gains.items() if place not in state.opened), ZERO)
        bought = {i: gains[i] for i in gains if i in state.opened and gains[i] < 0 and self.costs[i] <= state.budget}
        paid = knapsack(bought, self.costs, state.budget)
        if state.count is not None:
            paid = max(paid, knapsack(bought, [1] * len(self.costs), state.count))
        return total + paid


def restorations(sets: Sets, start: Sequence[Vector], costs: Sequence[int]) -> Inputs:
    """The start with words put back: each has its vector there (choice 0) and the text's own (choice 1)."""
    points = [list(pair) for pair in zip(start, sets.own, strict=True)]
    return Inputs(replace(sets, kind=RESTORED, own=list(start), points=points), costs)


def knapsack(gains: Mapping[int, Fraction], costs: Sequence[int], budget: int) -> Fraction:
    """Words in order of gain per cost, the last one in part."""
    total = ZERO
    for place in sorted(gains, key=lambda i: gains[i] / costs[i]):
        total += gains[place] * min(ONE, Fraction(budget, costs[place]))
        budget -= min(budget, costs[place])
    return total


# --- bounds ---


@dataclass(frozen=True)
class Line:
    """below·z <= f(z) <= above·z + shift."""

    below: Fraction
    above: Fraction
    shift: Fraction


OFF, ON = Line(ZERO, ZERO, ZERO), Line(ONE, ONE, ZERO)


def relu_line(span: Span, near: Fraction, sign: int) -> Line:
    """Lines around a relu: the one above holds at both ends, and a relu is convex."""
    least, most = span
    if sign:
        return ON if sign > 0 else OFF
    if most <= near:
        return replace(OFF, shift=max(most, ZERO))
    if least >= -near:
        return replace(ON, shift=max(-least, ZERO))
    slope = up(most / (most - least))
    below = ONE if most > -least * (1 + LEAN) else ZERO
    return Line(below, slope, max(-slope * least, most * (1 - slope)))


def maximum_lines(
    spans: Sequence[Span], counts: Sequence[bool], nears: Sequence[Fraction], chosen: Sequence[Fraction] | None
) -> list[Line]:
    """Of each candidate its part in the lines around a maximum; the constant above goes with the first.

    Below: weights of at least zero that add up to one. Above: a level at or above every lower bound of those that
    count, plus lines above max(z - level, 0) for those whose upper bounds are higher.
    """
    counted = [span for span, count in zip(spans, counts, strict=True) if count]
    floor, top = max(low for low, _ in counted), max(high for _, high in counted)
    if chosen is None:
        level, close = sorted([floor, *(high for _, high in counted)])[-2], floor - LEAN * max(top - floor, ZERO)
        first = next(p for p, (low, _) in enumerate(spans) if counts[p] and low >= close - nears[p])
        weights = [ONE if p == first else ZERO for p in range(len(spans))]
    else:
        level, rest = floor + chosen[0] * (top - floor), sum(chosen[1:], ZERO)
        weights = [max(ONE - rest, ZERO), *(share / max(rest, ONE) for share in chosen[1:])]
    slopes, shift = [ZERO] * len(spans), level
    for p, (low, high) in enumerate(spans):
        if counts[p] and high > level:
            slopes[p] = up((high - level) / (high - low)) if high - low > nears[p] else ZERO
            shift += max(-slopes[p] * low, high - level - slopes[p] * high)
    return [Line(w, s, ZERO if p else shift) for p, (w, s) in enumerate(zip(weights, slopes, strict=True))]


class Network:
    """Bounds of the network around one text."""

    def __init__(self, model: Model, sets: Sets) -> None:
        self.steps, self.starts, self.units = model.steps, list[int](), 0
        low, high = ([v for sides in sets.box for v in sides[side]] for side in (0, 1))
        self.reach: list[list[Span]] = []  # interval bounds over the whole region
        self.near: list[list[Fraction]] = []
        for step in self.steps[:-1]:
            self.starts.append(self.units)
            self.units += len(step.bias)
            reach, near = list[Span](), list[Fraction]()
            for row, bias in zip(step.rows, step.bias, strict=True):
                ends = [sorted((factor * low[j], factor * high[j])) for j, factor in row.items()]
                reach.append((sum((a for a, _ in ends), bias), sum((b for _, b in ends), bias)))
                near.append(NEAR * sum((max(-a, b) for a, b in ends), abs(bias)))
            self.reach.append(reach)
            self.near.append(near)
            low, high = (step.give([span[side] for span in reach]) for side in (0, 1))
        self.first: dict[int, tuple[State, list[Span]]] = {}

    def can_split(self, unit: int, signs: Mapping[int, int]) -> bool:
        """A relu that is not split yet, or one of several candidates that may still win."""
        k, mine = self.place(unit)
        group = self.steps[k].home.get(mine)
        if group is None:
            return mine in self.steps[k].relu and unit not in signs
        alive = self.may_win(k, group, signs)
        return mine in alive and len(alive) > 1

    def at_zero(self, unit: int) -> bool:
        """Whether a split of the unit says something of its sign: of a candidate it says who wins."""
        k, mine = self.place(unit)
        return mine not in self.steps[k].home

    def place(self, unit: int) -> tuple[int, int]:
        """Step and place in it of a unit that is counted over all steps."""
        k = max(k for k, start in enumerate(self.starts) if start <= unit)
        return k, unit - self.starts[k]

    def may_win(self, k: int, group: Sequence[int], signs: Mapping[int, int]) -> list[int]:
        """The candidates that the splits leave: the one that wins, or those of which none was said not to."""
        said = {unit: signs.get(self.starts[k] + unit, 0) for unit in group}
        return [unit for unit in group if said[unit] > 0] or [unit for unit in group if not said[unit]]

    def back(
        self, k: int, row: Row, total: Fraction, lines: list[list[Line]], push: Row, inputs: Inputs, state: State
    ) -> Fraction:
        """A lower bound of row·h + total, h being what step k receives; a maximum's factor goes to all candidates."""
        for place in reversed(range(k)):
            step, start, before = self.steps[place], self.starts[place], dict[int, Fraction]()
            extra = {u - start: b for u, b in push.items() if start <= u < start + len(step.bias)}
            leads = {unit: group[0] for unit, group in step.home.items() if group[0] in row}
            row = {u: f for u, f in row.items() if u not in step.home} | {u: row[lead] for u, lead in leads.items()}
            for unit in {*row, *extra}:
                factor, line = row.get(unit, ZERO), lines[place][unit]
                total += line.shift * factor if factor < 0 else ZERO
                factor = factor * (line.above if factor < 0 else line.below) - extra.get(unit, ZERO)
                total += factor * step.bias[unit]
                for column, weight in step.rows[unit].items():
                    before[column] = before.get(column, ZERO) + factor * weight
            row = {column: factor for column, factor in before.items() if factor}
        return total + inputs.least(row, state)

    def bounds(self, k: int, lines: list[list[Line]], inputs: Inputs, state: State) -> list[Span]:
        """Of each unit of a step; those of the first step depend on the state alone and are remembered."""
        if k == 0 and id(state) in self.first:
            return self.first[id(state)][1]
        step, found = self.steps[k], []
        for unit, (least, most) in enumerate(self.reach[k]):
            wins = most >= max((self.reach[k][other][0] for other in step.home.get(unit, ())), default=most + 1)
            if wins or (unit in step.relu and least < 0 < most):
                row, bias = step.rows[unit], step.bias[unit]
                minus = {column: -factor for column, factor in row.items()}
                least = max(least, down(self.back(k, row, bias, lines, {}, inputs, state)))
                most = min(most, -down(self.back(k, minus, -bias, lines, {}, inputs, state)))
            found.append((least, most))
        if k == 0:
            self.first[id(state)] = state, found  # the state is kept, so that its id stays its own
        return found

    def holds(self, label: int, rival: int, sign: int, leaf: Leaf, inputs: Inputs) -> bool:
        """Whether sign·margin is above zero at the one input left or by its bound, or splits contradict the bounds."""
        point = inputs.only(leaf.state)
        if point is not None:
            scores = self.scores(point)
            if sign * (scores[label] - scores[rival]) > 0:
                return True
        plain: list[list[Line]] = []
        chosen: list[list[Line]] = []
        for k, step in enumerate(self.steps[:-1]):
            spans = self.bounds(k, plain, inputs, leaf.state)
            spans = [self.cut(k, unit, span, leaf.signs) for unit, span in enumerate(spans)]
            floors = {group[0]: max(spans[unit][0] for unit in group) for group in step.groups}
            live = {
                group[0]: [u for u in self.may_win(k, group, leaf.signs) if spans[u][1] >= floors[group[0]]]
                for group in step.groups
            }
            if any(spans[unit][0] > spans[unit][1] for unit in step.relu) or not all(live.values()):
                return True
            plain.append(self.lines(k, spans, live, leaf.signs, None))
            chosen.append(plain[k] if leaf.alpha is None else self.lines(k, spans, live, leaf.signs, leaf.alpha))
        last = self.steps[-1]
        mine, other = last.rows[label], last.rows[rival]
        row = {j: sign * (mine.get(j, ZERO) - other.get(j, ZERO)) for j in {*mine, *other}}
        constant = sign * (last.bias[label] - last.bias[rival])
        return self.back(len(self.steps) - 1, row, constant, chosen, leaf.push, inputs, leaf.state) > 0

    def cut(self, k: int, unit: int, span: Span, signs: Mapping[int, int]) -> Span:
        """Bounds of a relu, cut at zero by the splits."""
        said = signs.get(self.starts[k] + unit, 0) if unit in self.steps[k].relu else 0
        return max(span[0], ZERO) if said > 0 else span[0], min(span[1], ZERO) if said < 0 else span[1]

    def lines(
        self,
        k: int,
        spans: Sequence[Span],
        live: Mapping[int, list[int]],
        signs: Mapping[int, int],
        alpha: Sequence[Fraction] | None,
    ) -> list[Line]:
        """The lines around a step's units: those of the format, or those that a leaf chose."""
        step, start, near = self.steps[k], self.starts[k], self.near[k]
        found = [ON] * len(step.bias)
        for unit in step.relu:
            line = relu_line(spans[unit], near[unit], signs.get(start + unit, 0))
            found[unit] = line if alpha is None else replace(line, below=clipped(alpha[start + unit]))
        for group in step.groups:
            shares = None if alpha is None else [clipped(alpha[start + unit]) for unit in group]
            counts = [unit in live[group[0]] for unit in group]
            around = maximum_lines([spans[u] for u in group], counts, [near[u] for u in group], shares)
            for unit, line in zip(group, around, strict=True):
                found[unit] = line
        return found

    def scores(self, vectors: Iterable[Vector]) -> list[Fraction]:
        values = [v for vector in vectors for v in vector]
        for step in self.steps:
            values = step.give([inner(row, values) + bias for row, bias in zip(step.rows, step.bias, strict=True)])
        return values


# --- the evidence ---


@dataclass(frozen=True, eq=False)
class Leaf:
    signs: dict[int, int]
    alpha: list[Fraction] | None
    push: Row
    state: State


class Check:
    """One certificate against one model."""

    def __init__(self, lines: Iterator[Any], model: Model) -> None:
        self.lines, self.model, self.number = lines, model, 0

    def run(self) -> dict[str, Any]:
        """The header, once everything after it proves its claim."""
        self.number, head = 1, next(self.lines, None)
        kind = head.get("certificate") if type(head) is dict else None
        if type(kind) is str and kind.startswith("asked"):
            raise NotForThis("The certificate is about a black box, which has to be run: not checked by this one.")
        if type(head) is not dict or type(kind) is not int or kind != 2:
            raise Unreadable("Line 1 is not the header of a certificate of format 2.")
        names = "certificate model text perturbation features label claim"
        _, digest, tokens, data, features, label, claim = fields(head, names)
        model = self.model
        need(digest == model.digest, "it is about another model")
        right = type(tokens) is list and len(tokens) == model.length and all(type(token) is str for token in tokens)
        need(right and self.as_read(tokens), "the text is not one that the model reads so")
        self.features = places(features, frozenset(range(len(tokens))))
        need(type(label) is str and label in model.labels, "there is no such label")
        self.label = model.labels.index(label)
        self.rivals = {name: j for j, name in enumerate(model.labels) if name != label}
        need(type(claim) is dict, "there must be a claim")
        self.sets = read_sets(data, model, tokens, self.features)
        self.network = Network(model, self.sets)
        self.claim(claim)
        self.number += 1
        need(next(self.lines, self) is self, "nothing may follow the evidence")
        return head

    def as_read(self, tokens: list[str]) -> bool:
        plain, lookup = {self.model.pad, self.model.unknown}, self.model.lookup
        for token in {*tokens} - plain:
            made = pieces(self.model, token)
            if made is not None and made != [token] and (len(made) == 1 or token not in lookup):
                return False
        counted = [token for token in tokens if token not in plain]
        return not self.model.once or len(counted) == len({*counted})

    def take(self) -> Any:
        self.number += 1
        line = next(self.lines, None)
        need(type(line) is dict, "here must be an object")
        return line

    # claims

    def claim(self, claim: Any) -> None:
        match claim.get("kind"):
            case "sufficient":
                self.sufficient(self.features - places(fields(claim, "kind positions")[1], self.features))
            case "independent":
                self.sufficient(places(fields(claim, "kind of")[1], self.features))
            case "refuted":
                self.refuted(self.features - places(fields(claim, "kind positions")[1], self.features))
            case "infeasible":
                self.refuted(places(fields(claim, "kind exclude")[1], self.features))
            case "cheapest":
                _, held, *priced, lower = fields(claim, "kind positions costs unit include exclude cost lower")
                need(whole(lower, 0, WHOLE) <= whole(claim["cost"], 0, WHOLE), "the costs are wrong")
                self.sets_of_words("cheapest", [held], priced, lower)
            case "all":
                _, sets, *priced = fields(claim, "kind sets costs unit include exclude cost")
                need(type(sets) is list and sets, "there must be sets")
                self.sets_of_words("all", sets, priced, whole(claim["cost"], 0, WHOLE) + 1)
            case "flip":
                self.flip(claim)
            case _:
                raise Reject("the format knows no such claim")

    def sufficient(self, free: Places) -> None:
        limit = self.sets.at_most
        inputs = Inputs(self.sets, () if limit is None else [1] * len(self.sets.own))
        state = inputs.begin(free, limit or 0)
        for name, rival in self.rivals.items():
            need(self.take() == {"prove": "sufficient", "rival": name}, f"no proof against {name!r} starts here")
            self.tree(rival, 1, inputs, state)

    def refuted(self, allowed: Places) -> None:
        self.has_label()
        self.counterexample(fields(self.take(), "point")[0], allowed)

    def sets_of_words(self, name: str, sets: list[Any], priced: Sequence[Any], below: int) -> None:
        """Sets that suffice, fit and cost as much; and no other that fits and costs less than `below` does."""
        costs, unit, include, exclude, cost = priced
        costs, include, exclude = self.costs(costs, unit), *(places(part, self.features) for part in (include, exclude))
        listed = [places(part, self.features) for part in sets]
        need(len(set(listed)) == len(listed), "a set is listed twice")
        for held in listed:
            need(whole(cost, 0, WHOLE) == sum(costs[i] for i in held), "the costs are wrong")
            need(include <= held and not exclude & held, "a set does not fit")
        for held in listed:
            self.sufficient(self.features - held)
        need(self.take() == {"prove": name}, "the word tree must start here")
        self.words(include, exclude, costs, below, listed if name == "all" else [])

    def flip(self, claim: Any) -> None:
        _, changed, towards, costs, unit, cost, lower = fields(claim, "kind positions towards costs unit cost lower")
        costs = self.costs(costs, unit)
        need(towards is None or (type(towards) is str and towards in self.rivals), "`towards` is no rival")
        aims, lower = list(self.rivals) if towards is None else [towards], whole(lower, 0, WHOLE)
        self.has_label()
        if changed is None:
            need(cost is None, "without positions there is no cost")
        else:
            where = places(changed, self.features)
            need(lower <= whole(cost, 0, WHOLE) == sum(costs[i] for i in where), "the costs are wrong")
            point = fields(self.take(), "point")[0]
            self.counterexample(point, where)
            need(point["changed"] == changed and point["rival"] in aims, "the flip is not the one that is claimed")
        if lower:
            inputs = Inputs(self.sets, costs)
            state = inputs.begin(self.features, lower - 1, self.sets.at_most)
            for name in aims:
                need(self.take() == {"prove": "flip", "rival": name}, f"no proof against {name!r} starts here")
                self.tree(self.rivals[name], 1, inputs, state)

    def costs(self, costs: Any, unit: Any) -> list[int]:
        need(type(costs) is list and len(costs) == self.model.length, "there must be one cost per position")
        counts = [whole(cost, 1, WHOLE) for cost in costs]
        need(sum(counts) < WHOLE, "the costs are too large")
        pattern = r"[0-9]{1,200}(/[0-9]{1,200})?"
        need(type(unit) is str and re.fullmatch(pattern, unit, re.ASCII), "the unit must be a fraction")
        need(all(int(part) for part in unit.split("/")), "the unit must be above zero")
        return counts

    # points

    def has_label(self) -> None:
        scores = self.network.scores(self.sets.own)
        need(scores[self.label] == max(scores), "the text's label differs")

    def counterexample(self, data: Any, allowed: Places) -> None:
        mixed = type(data) is dict and "shares" in data
        changed, given, rival = fields(data, f"changed {'shares' if mixed else 'vectors'} rival")
        vectors = self.point(changed, given, allowed, mixed)
        need(type(rival) is str and rival in self.rivals, "there is no such rival")
        scores = self.network.scores(vectors)
        need(scores[self.label] <= scores[self.rivals[rival]], "the label keeps its lead at this point")

    def point(self, changed: Any, given: Any, allowed: Places, mixed: bool) -> tuple[Vector, ...]:
        where, vectors, size = sorted(places(changed, allowed)), list(self.sets.own), len(self.sets.own[0])
        need(self.sets.at_most is None or len(where) <= self.sets.at_most, "too many words are changed")
        if not mixed:
            values = array(given, len(where) * size)
            for n, place in enumerate(where):
                vectors[place] = tuple(values[n * size : (n + 1) * size])
                need(self.sets.holds(place, vectors[place]), "a vector is not in its word's set")
            return tuple(vectors)
        need(self.sets.kind == "knn-hull" and self.sets.points is not None, "only hulls have shares")
        need(type(given) is list and len(given) == len(where), "there must be one row of shares per changed word")
        for place, row in zip(where, given, strict=True):
            corners = (self.sets.points or [])[place]
            need(type(row) is list and len(row) == len(corners), "there must be one share per corner")
            shares = [number(share, 0) for share in row]
            need(sum(shares) > 0, "shares must not all be zero")
            means = (sum((s * c[j] for s, c in zip(shares, corners, strict=True)), ZERO) for j in range(size))
            vectors[place] = tuple(mean / sum(shares) for mean in means)
        return tuple(vectors)

    # trees

    def tree(self, rival: int, sign: int, inputs: Inputs, state: State) -> None:
        """A proof tree in preorder: both sides of a node follow it."""
        waiting: list[tuple[dict[int, int], State]] = [({}, state)]
        while waiting:
            signs, state = waiting.pop()
            line = self.take()
            if "split" in line:
                unit = whole(fields(line, "split")[0], 0, self.network.units)
                need(self.network.can_split(unit, signs), "this unit cannot be split here")
                waiting += [({**signs, unit: 1}, state), ({**signs, unit: -1}, state)]
            elif "pick" in line:
                first, second = inputs.pick(line, state)
                waiting += [(signs, second), (signs, first)]
            else:
                holds = self.network.holds(self.label, rival, sign, self.leaf(line, signs, state), inputs)
                need(holds, "the bound of this leaf is not above zero")

    def leaf(self, line: Any, signs: dict[int, int], state: Any) -> Leaf:
        alpha, beta = fields(fields(line, "leaf")[0], "alpha beta")
        need(type(beta) is dict and all(re.fullmatch(r"0|[1-9][0-9]*", u, re.ASCII) for u in beta), "beta names units")
        push = {whole(int(unit), 0, self.network.units): number(value, 0) for unit, value in beta.items()}
        slopes = None if alpha is None else array(alpha, self.network.units)
        used = {unit: b * signs[unit] for unit, b in push.items() if unit in signs and self.network.at_zero(unit)}
        return Leaf(signs, slopes, used, state)

    def words(self, include: Places, exclude: Places, costs: list[int], below: int, listed: list[Places]) -> None:
        """The word tree: no set that costs less than `below` is sufficient, but those listed."""
        waiting = [(include, exclude)]
        while waiting:
            held, out = waiting.pop()
            line, opened = self.take(), self.features - held - out
            need(len(line) == 1, "a line of the word tree has one key")
            ((name, value),) = line.items()
            spent = sum(costs[i] for i in held)
            match name:
                case "word":
                    need(type(value) is int and value in opened, "only an open word can be held or out")
                    waiting += [(held, out | {value}), (held | {value}, out)]
                case "cost":
                    need(value is True and spent >= below, "the held words do not cost enough")
                case "set":
                    need(held == listed[whole(value, 0, len(listed))], "the held words are not those of this set")
                case "attack":
                    self.counterexample(value, out)
                case _:
                    start, rival, budget = fields(fields(line, "restoration")[0], "start rival budget")
                    changed, given = fields(start, "changed vectors")
                    vectors = self.point(changed, given, self.features - held, False)
                    need(whole(budget, 0, WHOLE) >= below - 1 - spent, "the budget is too low")
                    need(type(rival) is str and rival in self.rivals, "there is no such rival")
                    inputs = restorations(self.sets, vectors, costs)
                    self.tree(self.rivals[rival], -1, inputs, inputs.begin(opened, budget))


def check(certificate: str | Path | bytes | Iterable[Any], model: Model) -> dict[str, Any]:
    """The header of a certificate (a path, its bytes or its lines) that proves its claim; or Reject says why not."""
    if isinstance(certificate, str | Path):
        try:
            certificate = Path(certificate).read_bytes()
        except OSError as error:
            raise Unreadable(str(error)) from error
    lines = read_lines(certificate) if isinstance(certificate, bytes) else iter(certificate)
    one = Check(lines, model)
    try:
        return one.run()
    except Reject as error:
        raise Reject(f"line {one.number}: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise Reject(f"line {one.number}: malformed ({type(error).__name__}: {str(error)[:200]})") from error


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2:
        print(__doc__)
        return 2
    try:
        head = check(arguments[0], load(arguments[1]))
    except Reject as error:
        print(f"Rejected: {error}")
        return 1
    except Unreadable as error:
        print(error)
        return 2
    except NotForThis as error:
        print(error)
        return 3
    print(f"Proved, in rational numbers, for the model {head['model'][:16]}:")
    for name in ("text", "label", "perturbation", "features", "claim"):
        print(f"  {name}: {json.dumps(head[name], ensure_ascii=False)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A second checker of certificates: one file, standard library only, rational numbers, no rounding to believe in.

    python check_exact.py proof.cert model/

Written from docs/certificate.md, not from the other checker; it may be copied out and run alone, and is slow. Every
number is a fraction. Where a bound would need a root or a long quotient, a fraction on the safe side of it is taken.
The one place for doubles is the rule for nearest words, which the format defines by them. Networks with smooth curves
and black boxes are not checked by this one.

Why what it accepts is true, from the end of the file to its beginning: `Check` reads a claim and walks its evidence;
both sides of every cut must be there. Each leaf is decided by `Network`: a lower bound of the margin, carried back
step by step to the input with lines that are below or above what a unit gives. There `Inputs` has the least value of
a linear form over the texts that are meant, and `Sets` has what a word may become. Before that, files are read.

Exit codes: 0 the certificate proves its claim, 1 it does not, 2 the files are no certificate or no model of the formats
known here, 3 not checked by this one.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import itertools
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
Unit: TypeAlias = tuple[int, int]  # a step and a place in it
Signs: TypeAlias = Mapping[Unit, int]  # what the splits above a leaf say of units
Shares: TypeAlias = Mapping[Unit, Fraction]

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
    scale = Fraction(2) ** (DIGITS - value.numerator.bit_length() + value.denominator.bit_length())
    return math.floor(value * scale) / scale


def up(value: Fraction) -> Fraction:
    return -down(-value)


def root_above(value: Fraction) -> Fraction:
    """A number at or just above the square root, by a whole root of a multiple, be the value large or tiny."""
    shift = DIGITS + max(0, value.denominator.bit_length() - value.numerator.bit_length())
    return Fraction(math.isqrt(math.ceil(value * 4**shift)) + 1, 2**shift) if value else ZERO


def inner(row: Row, values: Sequence[Fraction]) -> Fraction:
    return sum((factor * values[place] for place, factor in row.items()), ZERO)


def exact(vector: Iterable[float]) -> Vector:
    return tuple(map(Fraction, vector))


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
            largest = max(sums[unit] for unit in group)
            for unit in group:
                values[unit] = largest if unit == group[0] else ZERO
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

    @cached_property
    def special(self) -> set[int]:
        return {self.lookup[self.pad], self.lookup[self.unknown]}

    @property
    def once(self) -> bool:
        return type(self.tokenizer) is dict and bool(self.tokenizer.get("once"))

    def place(self, word: str) -> int:
        return self.lookup.get(word, self.lookup[self.unknown])


def load(folder: str | Path) -> Model:
    """The model of a folder, once its digest is the one that its files have."""

    def text(name: str) -> str:
        return (Path(folder) / name).read_text(encoding="utf-8")

    try:
        head = json.loads(text("classifier.json"))
        if head["format"] != 2:
            raise ValueError(f"it has format {head['format']!r}; format 2 is read here")
        if any(head.get("curves", [])):
            raise NotForThis("The network has smooth curves: not checked by this one.")
        words = text("vocabulary.txt").removesuffix("\n").split("\n")
        reader = head["tokenizer"]
        own_reader = text("tokenizer.json") if type(reader) is dict and reader["kind"] == "hugging-face" else ""
        return assembled(head, own_reader, words, safetensors((Path(folder) / "weights.safetensors").read_bytes()))
    except (OSError, ValueError, LookupError, TypeError, struct.error) as error:
        raise Unreadable(f"This is not a model folder: {type(error).__name__}: {error}") from error


def assembled(head: Any, own_reader: str, words: list[str], tensors: Mapping[str, Any]) -> Model:
    count = len(head["relu"])
    weights = [matrix(tensors, f"step{k}.weight") for k in range(count)]
    biases = [tensors[f"step{k}.bias"][1] for k in range(count)]
    sha = hashlib.sha256()
    for part in digest_parts(head, own_reader, words, tensors["embedding"], weights, biases):
        sha.update(len(part).to_bytes(8, "little") + part)
    if sha.hexdigest() != head["digest"]:
        raise ValueError("its digest does not match its files")
    maxima = head.get("maxima", [[]] * count)
    steps = [one_step(*parts) for parts in zip(weights, biases, head["relu"], maxima, strict=True)]
    (_, size), numbers = tensors["embedding"]
    table = [tuple(map(float, numbers[i * size : (i + 1) * size])) for i in range(len(words))]
    named = {name: head[name] for name in ("digest", "labels", "length", "pad", "unknown", "tokenizer")}
    return Model(**named, words=words, table=table, steps=steps)


def safetensors(data: bytes) -> dict[str, tuple[tuple[int, ...], tuple[float, ...]]]:
    """Name to shape and numbers: eight bytes of length, a JSON header, then the numbers, little-endian."""
    start = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            layout = f"<{math.prod(entry['shape'])}{CODES[entry['dtype']]}"
            found[name] = tuple(entry["shape"]), struct.unpack(layout, data[start + begin : start + end])
    return found


def matrix(tensors: Mapping[str, Any], name: str) -> tuple[int, list[dict[int, float]]]:
    """How wide it is, and the entries of each row that are not zero; stored in full or as compressed rows."""
    if name in tensors:
        (_, width), numbers = tensors[name]
        starts = range(0, len(numbers), width)
        return width, [{j: float(v) for j, v in enumerate(numbers[i : i + width]) if v} for i in starts]
    data, indices, indptr, shape = (tensors[f"{name}.{part}"][1] for part in ("data", "indices", "indptr", "shape"))
    ranges = [range(begin, end) for begin, end in itertools.pairwise(indptr)]
    return shape[1], [dict(sorted((indices[at], float(data[at])) for at in mine if data[at])) for mine in ranges]


def one_step(weight: tuple[int, list[dict[int, float]]], bias: Any, relus: list[int], groups: list[list[int]]) -> Step:
    listed = [*relus, *itertools.chain(*groups)]
    if len({*listed}) != len(listed) or not {*listed} <= {*range(len(bias))} or not all(groups):
        raise ValueError("a unit has two activations, or is not there")
    rows = [{column: Fraction(factor) for column, factor in row.items()} for row in weight[1]]
    return Step(rows, exact(bias), frozenset(relus), groups)


def digest_parts(
    head: Any, own_reader: str, words: list[str], embedding: Any, weights: Any, biases: Any
) -> Iterator[bytes]:
    """What the digest is taken over, part by part; each stands after its length."""
    reading = {name: head[name] for name in ("format", "length", "pad", "unknown", "tokenizer")}
    yield json.dumps(reading, sort_keys=True).encode()
    yield own_reader.encode()
    yield str(len(words)).encode()
    yield from (word.encode("utf-8", "surrogatepass") for word in words)
    units = {"labels": head["labels"], "relu": [sorted(units) for units in head["relu"]]}
    units |= {"maxima": head["maxima"]} if any(head.get("maxima", [])) else {}
    yield json.dumps(units, sort_keys=True).encode()
    yield from array_parts(*embedding)
    for (width, rows), bias in zip(weights, biases, strict=True):
        counts, size = [len(row) for row in rows], len(rows) * width
        if size >= 250_000 and sum(counts) * 10 < size:
            yield from (
                repr((len(rows), width)).encode(),
                b"sparse",
                packed("q", itertools.accumulate(counts, initial=0)),
            )
            yield packed("q", itertools.chain(*rows))
            yield packed("d", (weight for row in rows for weight in row.values()))
        else:
            yield from array_parts((len(rows), width), (row.get(j, 0.0) for row in rows for j in range(width)))
        yield from array_parts((len(bias),), bias)


def array_parts(shape: tuple[int, ...], numbers: Iterable[float]) -> Iterator[bytes]:
    yield repr(tuple(shape)).encode()
    yield packed("d", (float(v) + 0.0 for v in numbers))


def packed(code: str, numbers: Iterable[float]) -> bytes:
    listed = list(numbers)
    return struct.pack(f"<{len(listed)}{code}", *listed)


def pieces(how: Any, source: str) -> list[str] | None:
    """What a reader makes of a string; None where it is not one of those described in the format."""
    if how == "words":
        return [m.group().lower() for m in re.finditer(r"\w+(?:['’\-]\w+)*|[^\w\s]", source)]
    if how["kind"] != "pattern":
        return None
    plain = source.lower() if how["lowercase"] else source
    if how["accents"] != "keep" and not plain.isascii():
        plain = "".join(bare(char, how["accents"]) for char in plain)
    pattern = re.compile(how["pattern"])
    found = (match.group(pattern.groups) for match in pattern.finditer(plain))
    return [word for word in found if word and word not in how["skip"]]


def bare(char: str, accents: str) -> str:
    parts = unicodedata.normalize("NFKD", char)
    if accents == "ascii":
        return parts.encode("ascii", "ignore").decode()
    return "".join(part for part in parts if not unicodedata.combining(part))


# --- lines of the certificate ---


def read_lines(data: bytes) -> Iterator[Any]:
    try:
        text = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MOST + 1)
        if not 0 < len(text) <= MOST:
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


def listed(data: Any, kind: type, count: int | None = None) -> list[Any]:
    right = type(data) is list and all(type(value) is kind for value in data)
    need(right and count in (None, len(data)), f"there must be a list of {kind.__name__}, as long as it should be")
    return list(data)


def whole(value: Any, low: int, high: int) -> int:
    right = type(value) is int and low <= value < high
    need(right, f"{str(value)[:40]} is not a whole number from {low} to {high - 1}")
    return int(value)


def places(values: Any, within: Places) -> Places:
    given = listed(values, int)
    need(given == sorted(set(given)) and within >= set(given), "positions are allowed ones, sorted, each once")
    return frozenset(given)


def number(value: Any, least: int = -HUGE) -> Fraction:
    need(type(value) in (int, float) and -math.inf < value < math.inf, "a number is not a number")
    need(least <= Fraction(value) <= HUGE and value == float(value), "a number is out of range")
    return Fraction(value)


def array(data: Any, count: int) -> Vector:
    need(type(data) is dict and len(data) == 1, "an array has one key")
    ((kind, text),) = data.items()
    need(kind in ("f4", "f8") and type(text) is str, "an array is f4 or f8")
    try:
        values = struct.unpack(f"<{count}{'f' if kind == 'f4' else 'd'}", base64.b64decode(text, validate=True))
    except (ValueError, struct.error) as error:
        raise Reject(f"an array must hold {count} numbers: {error}") from error
    need(all(math.isfinite(value) for value in values), "an array holds a number that is not finite")
    return exact(values)


# --- what words may become ---


@dataclass(frozen=True)
class Points:
    """Real words, or the corners of a hull: its least value is at a corner."""

    points: list[Vector]

    def holds(self, vector: Vector) -> bool:
        return vector in self.points

    def least(self, row: Row, left: Places) -> Fraction:
        """The least value of row·v over the points that are left."""
        return min(inner(row, self.points[choice]) for choice in left)

    @property
    def box(self) -> Box:
        sides = list(zip(*self.points, strict=True))
        return Box(tuple(map(min, sides)), tuple(map(max, sides)))


@dataclass(frozen=True)
class Box:
    low: Vector
    high: Vector

    def holds(self, vector: Vector) -> bool:
        return all(a <= v <= b for a, v, b in zip(self.low, vector, self.high, strict=True))

    def least(self, row: Row, left: Places) -> Fraction:
        return sum((factor * (self.low if factor > 0 else self.high)[j] for j, factor in row.items()), ZERO)

    @property
    def box(self) -> Box:
        return self


@dataclass(frozen=True)
class Ball:
    """All within a radius, by the sum of the differences (norm 1) or by the root of the sum of their squares (2)."""

    own: Vector
    radius: Fraction
    norm: int

    def holds(self, vector: Vector) -> bool:
        gaps = (abs(a - b) ** self.norm for a, b in zip(vector, self.own, strict=True))
        return sum(gaps) <= self.radius**self.norm

    def least(self, row: Row, left: Places) -> Fraction:
        sizes = [abs(factor) for factor in row.values()]
        largest = max(sizes, default=ZERO) if self.norm == 1 else root_above(sum((s * s for s in sizes), ZERO))
        return inner(row, self.own) - self.radius * largest

    @property
    def box(self) -> Box:
        return Box(tuple(v - self.radius for v in self.own), tuple(v + self.radius for v in self.own))


@dataclass(frozen=True, eq=False)
class Sets:
    """Of each position its own vector and what it may become; how many at once, and out of how many choices."""

    kind: str
    own: list[Vector]
    each: Sequence[Points | Box | Ball]
    at_most: int | None = None
    choices: int = 1

    def corners(self, place: int) -> list[Vector]:
        each = self.each[place]
        return each.points if isinstance(each, Points) else []


def read_sets(data: Any, model: Model, tokens: list[str], features: Places) -> Sets:
    need(type(data) is dict, "the set must be an object")
    data = dict(data)
    at_most = whole(data.pop("at_most"), 1, WHOLE) if "at_most" in data else None
    kind, own, most = data.get("kind"), [exact(model.table[model.place(token)]) for token in tokens], 1
    each: Sequence[Points | Box | Ball]
    if kind == "epsilon-ball":
        _, eps, norm = fields(data, "kind eps p")
        need(type(norm) in (int, float, str) and norm in (1, 2, "inf"), "p must be 1, 2 or inf")
        each = [Ball(vector, number(eps, 0), 1 if norm == 1 else 2) for vector in own]
        each = [ball.box for ball in each] if norm == "inf" else each
    elif kind == "boxes":
        sides = (listed(side, list, len(own)) for side in fields(data, "kind lower upper")[1:])
        each = [Box(tuple(map(number, low)), tuple(map(number, high))) for low, high in zip(*sides, strict=True)]
        need(all(box.holds(x) for box, x in zip(each, own, strict=True)), "a box misses the word's own vector")
    else:
        rows = neighbours(data, model, tokens) if kind in ("knn-box", "knn-hull") else choices(data, model, tokens)
        most = max(map(len, rows))
        each = [Points([exact(model.table[i]) for i in row + row[:1] * (most - len(row))]) for row in rows]
        each = [points.box for points in each] if kind == "knn-box" else each
    each = [one if i in features else Points([own[i]]) for i, one in enumerate(each)]
    return Sets(kind, own, each, at_most, most)


def neighbours(data: Any, model: Model, tokens: list[str]) -> list[list[int]]:
    """Each word and its k nearest. The format defines these by doubles: a float is one in Python."""
    need(not model.once, "words that count once have no neighbours")
    k = whole(fields(data, "kind k")[1], 0, len(model.words) - 2)

    def distance(first: int, second: int) -> float:
        total = 0.0
        for a, b in zip(model.table[first], model.table[second], strict=True):
            total += (a - b) * (a - b)
        return total

    words, near = [place for place in range(len(model.words)) if place not in model.special], {}
    for own in {model.place(token) for token in tokens}:
        ranked = sorted((distance(own, other), other) for other in words if other != own)
        near[own] = [own, *(other for _, other in ranked[:k])]
    return [near[model.place(token)] for token in tokens]


def choices(data: Any, model: Model, tokens: list[str]) -> list[list[int]]:
    """Each word, then what may stand in its place."""
    kind, swaps = data.get("kind"), dict[str, list[str]]()
    need(kind in CHOICES, "the format knows no such set")
    anywhere = [model.pad] if kind in ("deletion", "removal-or-swap") else []
    if kind == "mask":
        token = fields(data, "kind token")[1]
        need(token is None or type(token) is str, "the mask must be a word or null")
        anywhere = [token or model.unknown]
    elif kind == "deletion":
        fields(data, "kind")
    else:
        given = fields(data, "kind swaps")[1]
        need(type(given) is dict, "swaps must be lists of words")
        swaps = {word: listed(others, str) for word, others in given.items()}
    rows = []
    for token in tokens:
        words = dict.fromkeys([*anywhere, *swaps.get(token, swaps.get(token.lower(), []))])
        rows.append([model.place(token), *(substitute(model, word) for word in words if word != token)])
    counted = [place for row in rows for place in {*row} - model.special]
    need(not model.once or len(counted) == len({*counted}), "a word that counts once could stand twice")
    return rows


def substitute(model: Model, word: str) -> int:
    if word in model.lookup:
        return model.lookup[word]
    if type(model.tokenizer) is dict and model.tokenizer["kind"] == "pattern":
        made = pieces(model.tokenizer, word) or [model.unknown]
        need(len(made) == 1, "a substitute is read as several words")
        return model.place(made[0])
    return model.place(word.lower())


# --- input sets ---


@dataclass(frozen=True, eq=False)
class Inputs:
    """The texts that a proof speaks about: words leave their own vectors, free ones at will, open ones for a cost.

    `left` is what is left to each word (None: it is fixed); of the open words as many change as the budget pays for,
    and no more than the count.
    """

    sets: Sets
    left: tuple[Places | None, ...]
    costs: Sequence[int] = ()
    opened: Places = frozenset()
    budget: int = 0
    count: int | None = None

    def pick(self, line: Any) -> tuple[Inputs, Inputs]:
        """The two sides of a pick: what one leaves out the other has."""
        return self.choose(*fields(line, "pick chosen")) if "chosen" in line else self.pay(*fields(line, "pick"))

    def choose(self, place: Any, chosen: Any) -> tuple[Inputs, Inputs]:
        """A word is one of the chosen, or one of its others."""
        mine = self.left[whole(place, 0, len(self.left))] or frozenset()
        taken = {whole(choice, 0, self.sets.choices) for choice in listed(chosen, int)}
        need(self.sets.kind in CHOICES, "there is nothing to choose from")
        need(mine & taken and mine - taken, "a pick must leave choices on both sides")
        free = self
        if place in self.opened:  # fine if all open words can be paid for together: then none of them is open
            enough = sum(self.costs[i] for i in self.opened) <= self.budget
            need(enough and (self.count is None or len(self.opened) <= self.count), "this word is not paid for")
            free = replace(self, opened=frozenset())
        return free.put(place, mine & taken), free.put(place, mine - taken)

    def pay(self, place: Any) -> tuple[Inputs, Inputs]:
        """An open word changes, is paid for and counted; or it stays. A restored one has no choice what to become."""
        need(self.payable(whole(place, 0, len(self.left))), "only an open word that can be paid for can be picked")
        rest = replace(self, opened=self.opened - {place})
        count = None if self.count is None else self.count - 1
        paid = replace(rest, budget=self.budget - self.costs[place], count=count)
        return paid.put(place, frozenset([1]) if self.sets.kind == RESTORED else self.left[place]), rest.put(
            place, None
        )

    def put(self, place: int, left: Places | None) -> Inputs:
        return replace(self, left=(*self.left[:place], left, *self.left[place + 1 :]))

    def payable(self, place: int) -> bool:
        return place in self.opened and self.costs[place] <= self.budget and self.count != 0

    def only(self) -> list[Vector] | None:
        """The input that is left, where words are real ones and just one is."""
        if self.sets.kind not in (*CHOICES, RESTORED):
            return None
        found: list[Vector] = []
        for place, (own, left) in enumerate(zip(self.sets.own, self.left, strict=True)):
            fixed = left is None or (place in self.opened and not self.payable(place))
            vectors = {own} if fixed else {self.sets.corners(place)[choice] for choice in left or ()}
            if len(vectors) > 1:
                return None
            found += vectors
        return found

    def least(self, row: Row) -> Fraction:
        """A lower bound of a form: gains of open words as far as they are paid for, those of free words in any case."""
        size = len(self.sets.own[0])
        parts: dict[int, Row] = {}
        for column, factor in row.items():
            parts.setdefault(column // size, {})[column % size] = factor
        total, bought = ZERO, dict[int, Fraction]()
        for place, part in parts.items():
            left, value = self.left[place], inner(part, self.sets.own[place])
            gain = ZERO if left is None else self.sets.each[place].least(part, left) - value
            total += value if place in self.opened else value + gain
            if gain < 0 and self.payable(place):
                bought[place] = gain
        paid = knapsack(bought, self.costs, self.budget)
        if self.count is not None:
            paid = max(paid, knapsack(bought, [1] * len(self.costs), self.count))
        return total + paid


def varied(sets: Sets, free: Places) -> Inputs:
    everything = frozenset(range(sets.choices))
    return Inputs(sets, tuple(everything if place in free else None for place in range(len(sets.own))))


def for_costs(sets: Sets, free: Places, costs: Sequence[int], budget: int, count: int | None = None) -> Inputs:
    """The same words, open: costs count in their common divisor, as what is left over of a budget buys nothing."""
    unit = math.gcd(*costs)
    small = [cost // unit for cost in costs]
    return replace(varied(sets, free), costs=small, opened=free, budget=budget // unit, count=count)


def restorations(sets: Sets, start: list[Vector]) -> Sets:
    """The start with words put back: each has its vector there (choice 0) and the text's own (choice 1)."""
    return Sets(RESTORED, start, [Points(list(pair)) for pair in zip(start, sets.own, strict=True)], choices=2)


def knapsack(gains: Mapping[int, Fraction], costs: Sequence[int], budget: int) -> Fraction:
    """Words in order of gain per cost, the last one in part: no choice of whole words has less."""
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


@dataclass(frozen=True, eq=False)
class Leaf:
    """What it is about and what the splits above it say; the lines it chose, and what it takes off forms.

    `above` has shares that say which rows lines above relus and maxima of the first step have.
    """

    inputs: Inputs
    signs: Signs
    alpha: Shares | None
    push: Shares
    above: Mapping[int, Vector]


class Network:
    """Bounds of the network around one text."""

    def __init__(self, model: Model, sets: Sets) -> None:
        self.steps = model.steps
        self.units = [(k, unit) for k, step in enumerate(self.steps[:-1]) for unit in range(len(step.bias))]
        self.reach: list[list[Span]] = []  # interval bounds over the whole region
        self.near: list[list[Fraction]] = []
        self.first: dict[int, tuple[Inputs, list[Span]]] = {}
        boxes = [each.box for each in sets.each]
        low, high = [v for box in boxes for v in box.low], [v for box in boxes for v in box.high]
        for step in self.steps[:-1]:
            reach, near = list[Span](), list[Fraction]()
            for row, bias in zip(step.rows, step.bias, strict=True):
                ends = [sorted((factor * low[j], factor * high[j])) for j, factor in row.items()]
                reach.append((sum((a for a, _ in ends), bias), sum((b for _, b in ends), bias)))
                near.append(NEAR * sum((max(-a, b) for a, b in ends), abs(bias)))
            self.reach.append(reach)
            self.near.append(near)
            low, high = (step.give([span[side] for span in reach]) for side in (0, 1))

    def scores(self, vectors: Iterable[Vector]) -> list[Fraction]:
        values = [v for vector in vectors for v in vector]
        for step in self.steps:
            values = step.give([inner(row, values) + bias for row, bias in zip(step.rows, step.bias, strict=True)])
        return values

    def can_split(self, k: int, unit: int, signs: Signs) -> bool:
        """A relu that is not split yet, or one of several candidates that may still win."""
        group = self.steps[k].home.get(unit)
        if group is None:
            return unit in self.steps[k].relu and (k, unit) not in signs
        alive = self.may_win(k, group, signs)
        return unit in alive and len(alive) > 1

    def may_win(self, k: int, group: Sequence[int], signs: Signs) -> list[int]:
        """The candidates that the splits leave: the one that wins, or those of which none was said not to."""
        said = {unit: signs.get((k, unit), 0) for unit in group}
        return [unit for unit in group if said[unit] > 0] or [unit for unit in group if not said[unit]]

    def holds(self, label: int, rival: int, sign: int, leaf: Leaf) -> bool:
        """Whether sign·margin is above zero at the one input left or by its bound, or splits contradict the bounds."""
        point = leaf.inputs.only()
        if point is not None:
            scores = self.scores(point)
            if sign * (scores[label] - scores[rival]) > 0:
                return True
        plain: list[list[Line]] = []
        chosen: list[list[Line]] = []
        able: dict[int, list[int]] = {}  # by first units of maxima of the first step, who may reach them
        for k, step in enumerate(self.steps[:-1]):
            spans = self.bounds(k, plain, leaf.inputs)
            spans = [self.cut(k, unit, span, leaf.signs) for unit, span in enumerate(spans)]
            live = [self.may_reach(k, group, spans, leaf.signs) for group in step.groups]
            if any(spans[unit][0] > spans[unit][1] for unit in step.relu) or not all(live):
                return True
            if k == 0:
                able = {group[0]: units for group, units in zip(step.groups, live, strict=True)}
            plain.append(self.lines(k, spans, live, leaf.signs, None))
            chosen.append(plain[k] if leaf.alpha is None else self.lines(k, spans, live, leaf.signs, leaf.alpha))
        last = self.steps[-1]
        mine, other = last.rows[label], last.rows[rival]
        row = {j: sign * (mine.get(j, ZERO) - other.get(j, ZERO)) for j in {*mine, *other}}
        constant = sign * (last.bias[label] - last.bias[rival])
        above = {unit: (shares, able.get(unit, [])) for unit, shares in leaf.above.items()}
        return self.back(len(self.steps) - 1, row, constant, chosen, leaf.inputs, leaf.push, above) > 0

    def bounds(self, k: int, lines: list[list[Line]], inputs: Inputs) -> list[Span]:
        """Of each unit of a step; those of the first step depend on the inputs alone and are remembered."""
        if k == 0 and id(inputs) in self.first:
            return self.first[id(inputs)][1]
        step, found = self.steps[k], []
        for unit, (least, most) in enumerate(self.reach[k]):
            wins = most >= max((self.reach[k][other][0] for other in step.home.get(unit, ())), default=most + 1)
            near = self.near[k][unit]  # bounds that touch zero cross it for a checker that rounds
            if wins or (unit in step.relu and least < near and -near < most):
                row, bias = step.rows[unit], step.bias[unit]
                minus = {column: -factor for column, factor in row.items()}
                least = max(least, down(self.back(k, row, bias, lines, inputs)))
                most = min(most, -down(self.back(k, minus, -bias, lines, inputs)))
            found.append((least, most))
        if k == 0:
            self.first[id(inputs)] = inputs, found  # they are kept, so that their id stays their own
        return found

    def back(
        self,
        k: int,
        row: Row,
        total: Fraction,
        lines: list[list[Line]],
        inputs: Inputs,
        push: Shares | None = None,
        above: Mapping[int, tuple[Vector, list[int]]] | None = None,
    ) -> Fraction:
        """A lower bound of row·h + total, h being what step k receives.

        A factor above zero takes the line below, one below zero the line above; a maximum's goes to all candidates.
        """
        for place in reversed(range(k)):
            step, sums = self.steps[place], {unit: -b for (at, unit), b in (push or {}).items() if at == place}
            tilted = {} if place or above is None else {u: row[u] for u in above if row.get(u, ZERO) < 0}
            for lead, factor in row.items() - tilted.items():
                group = step.home.get(lead, [lead])
                for unit in group if lead == group[0] else ():
                    line = lines[place][unit]
                    total += line.shift * factor if factor < 0 else ZERO
                    sums[unit] = sums.get(unit, ZERO) + factor * (line.above if factor < 0 else line.below)
            row, passed = {}, [(factor, step.rows[unit], step.bias[unit]) for unit, factor in sums.items()]
            passed += [(factor, *self.tilted(u, *(above or {})[u], inputs)) for u, factor in tilted.items()]
            for factor, weights, constant in passed:
                total += factor * constant
                for column, weight in weights.items():
                    row[column] = row.get(column, ZERO) + factor * weight
        return total + inputs.least(row)

    def tilted(self, unit: int, shares: Vector, able: list[int], inputs: Inputs) -> tuple[Row, Fraction]:
        """A row a and a number c with f(x) <= a·x + c, f being a relu, or a maximum that `able` may reach.

        All that f is the largest of are below that, wherever the inputs go: 0 and w·x + b, or these of its units.
        """
        step = self.steps[0]
        if unit in step.home:
            lean = between([step.rows[one] for one in step.home[unit]], shares)
            return lean, up(max(step.bias[one] - inputs.least(minus(lean, step.rows[one])) for one in able))
        size = sum(len(each.box.low) for each in inputs.sets.each) // len(shares)
        lean = {column: shares[column // size] * weight for column, weight in step.rows[unit].items()}
        return lean, up(max(-inputs.least(lean), step.bias[unit] - inputs.least(minus(lean, step.rows[unit]))))

    def cut(self, k: int, unit: int, span: Span, signs: Signs) -> Span:
        """Bounds of a relu, cut at zero by the splits."""
        said = signs.get((k, unit), 0) if unit in self.steps[k].relu else 0
        return max(span[0], ZERO) if said > 0 else span[0], min(span[1], ZERO) if said < 0 else span[1]

    def may_reach(self, k: int, group: list[int], spans: Sequence[Span], signs: Signs) -> list[int]:
        """The candidates that may win and whose upper bounds are not below the largest lower bound."""
        floor = max(spans[unit][0] for unit in group)
        return [unit for unit in self.may_win(k, group, signs) if spans[unit][1] >= floor]

    def lines(self, k: int, spans: list[Span], live: list[list[int]], signs: Signs, alpha: Shares | None) -> list[Line]:
        """The lines around a step's units: those of the format, or those that a leaf chose."""
        step, near = self.steps[k], self.near[k]
        found = [ON] * len(step.bias)
        for unit in step.relu:
            line = relu_line(spans[unit], near[unit], signs.get((k, unit), 0))
            found[unit] = line if alpha is None else replace(line, below=alpha[k, unit])
        for group, alive in zip(step.groups, live, strict=True):
            shares = None if alpha is None else [alpha[k, unit] for unit in group]
            counts = [unit in alive for unit in group]
            around = maximum_lines([spans[u] for u in group], counts, [near[u] for u in group], shares)
            for unit, line in zip(group, around, strict=True):
                found[unit] = line
        return found


def minus(row: Row, other: Row) -> Row:
    return {column: row.get(column, ZERO) - other.get(column, ZERO) for column in {*row, *other}}


def between(rows: Sequence[Row], shares: Vector) -> Row:
    """In each column so much of the way from the least to the largest weight."""
    found = {}
    for column in {column for row in rows for column in row}:
        weights = [row.get(column, ZERO) for row in rows]
        found[column] = min(weights) + shares[column] * (max(weights) - min(weights))
    return found


# --- the evidence ---


def names_units(data: Any) -> bool:
    return type(data) is dict and all(re.fullmatch(r"0|[1-9][0-9]*", unit, re.ASCII) for unit in data)


class Check:
    """One certificate against one model."""

    def __init__(self, lines: Iterator[Any], model: Model) -> None:
        self.lines, self.model, self.number = lines, model, 0

    def take(self) -> Any:
        self.number += 1
        line = next(self.lines, None)
        need(type(line) is dict, "here must be an object")
        return line

    def run(self) -> dict[str, Any]:
        """The header, once everything after it proves its claim."""
        self.number, head, model = 1, next(self.lines, None), self.model
        kind = head.get("certificate") if type(head) is dict else None
        if type(kind) is str and kind.startswith("asked"):
            raise NotForThis("The certificate is about a black box, which has to be run: not checked by this one.")
        if type(head) is not dict or type(kind) is not int or kind != 2:
            raise Unreadable("Line 1 is not the header of a certificate of format 2.")
        names = "certificate model text perturbation features label claim"
        _, digest, text, data, features, label, claim = fields(head, names)
        need(digest == model.digest, "it is about another model")
        tokens = listed(text, str, model.length)
        need(self.as_read(tokens), "the text is not one that the model reads so")
        self.features = places(features, frozenset(range(len(tokens))))
        need(type(label) is str and label in model.labels, "there is no such label")
        self.label = model.labels.index(label)
        self.rivals = {name: j for j, name in enumerate(model.labels) if name != label}
        self.sets = read_sets(data, model, tokens, self.features)
        self.network = Network(model, self.sets)
        need(type(claim) is dict, "there must be a claim")
        self.claim(claim)
        self.number += 1
        need(next(self.lines, self) is self, "nothing may follow the evidence")
        return head

    def as_read(self, tokens: list[str]) -> bool:
        """Whether the model reads each word alone as that word, and no word twice where words count once."""
        real = [token for token in tokens if token not in (self.model.pad, self.model.unknown)]
        for token in {*real}:
            made = pieces(self.model.tokenizer, token)
            if made is not None and made != [token] and (len(made) == 1 or token not in self.model.lookup):
                return False
        return not self.model.once or len(real) == len({*real})

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
                need(listed(sets, list), "there must be sets")
                self.sets_of_words("all", sets, priced, whole(claim["cost"], 0, WHOLE) + 1)
            case "flip":
                self.flip(*fields(claim, "kind positions towards costs unit cost lower")[1:])
            case _:
                raise Reject("the format knows no such claim")

    def sufficient(self, free: Places) -> None:
        limit, sets = self.sets.at_most, self.sets
        inputs = varied(sets, free) if limit is None else for_costs(sets, free, [1] * len(sets.own), limit)
        self.proofs("sufficient", self.rivals, inputs)

    def proofs(self, name: str, rivals: Iterable[str], inputs: Inputs) -> None:
        for rival in rivals:
            need(self.take() == {"prove": name, "rival": rival}, f"no proof against {rival!r} starts here")
            self.tree(self.rivals[rival], 1, inputs)

    def refuted(self, allowed: Places) -> None:
        self.has_label()
        self.counterexample(fields(self.take(), "point")[0], allowed)

    def sets_of_words(self, name: str, sets: list[Any], priced: Sequence[Any], below: int) -> None:
        """Sets that suffice, fit and cost as much; and no other that fits and costs less than `below` does."""
        costs, include, exclude = self.costs(*priced[:2]), *(places(part, self.features) for part in priced[2:4])
        several = [places(part, self.features) for part in sets]
        need(len(set(several)) == len(several), "a set is listed twice")
        for held in several:
            need(whole(priced[4], 0, WHOLE) == sum(costs[i] for i in held), "the costs are wrong")
            need(include <= held and not exclude & held, "a set does not fit")
        for held in several:
            self.sufficient(self.features - held)
        need(self.take() == {"prove": name}, "the word tree must start here")
        self.words(include, exclude, costs, below, several if name == "all" else [])

    def flip(self, changed: Any, towards: Any, costs: Any, unit: Any, cost: Any, lower: Any) -> None:
        costs, lower = self.costs(costs, unit), whole(lower, 0, WHOLE)
        aims = list(self.rivals) if towards is None else [self.rival(towards)]
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
            self.proofs("flip", aims, for_costs(self.sets, self.features, costs, lower - 1, self.sets.at_most))

    def costs(self, costs: Any, unit: Any) -> list[int]:
        counts = [whole(cost, 1, WHOLE) for cost in listed(costs, int, self.model.length)]
        need(sum(counts) < WHOLE, "the costs are too large")
        fraction = r"[0-9]{1,200}(/[0-9]{1,200})?"
        need(type(unit) is str and re.fullmatch(fraction, unit, re.ASCII), "the unit must be a fraction")
        need(all(int(part) for part in unit.split("/")), "the unit must be above zero")
        return counts

    def rival(self, name: Any) -> str:
        need(type(name) is str and name in self.rivals, "there is no such rival")
        return str(name)

    # points

    def has_label(self) -> None:
        scores = self.network.scores(self.sets.own)
        need(scores[self.label] == max(scores), "the text's label differs")

    def counterexample(self, data: Any, allowed: Places) -> None:
        """A text that changes allowed words only, at which a rival is not behind the label."""
        mixed = type(data) is dict and "shares" in data
        changed, given, rival = fields(data, f"changed {'shares' if mixed else 'vectors'} rival")
        scores = self.network.scores(self.point(changed, given, allowed, mixed))
        need(scores[self.label] <= scores[self.rivals[self.rival(rival)]], "the label keeps its lead at this point")

    def point(self, changed: Any, given: Any, allowed: Places, mixed: bool) -> list[Vector]:
        where, vectors = sorted(places(changed, allowed)), list(self.sets.own)
        need(self.sets.at_most is None or len(where) <= self.sets.at_most, "too many words are changed")
        if mixed:
            need(self.sets.kind == "knn-hull", "only hulls have shares")
            for place, row in zip(where, listed(given, list, len(where)), strict=True):
                vectors[place] = mixture(self.sets.corners(place), [number(share, 0) for share in row])
            return vectors
        size = len(vectors[0])
        values = array(given, len(where) * size)
        for n, place in enumerate(where):
            vectors[place] = values[n * size : (n + 1) * size]
            need(self.sets.each[place].holds(vectors[place]), "a vector is not in its word's set")
        return vectors

    # trees

    def tree(self, rival: int, sign: int, inputs: Inputs) -> None:
        """A proof tree in preorder: both sides of a node follow it."""
        waiting: list[tuple[Signs, Inputs]] = [({}, inputs)]
        while waiting:
            signs, inputs = waiting.pop()
            line = self.take()
            if "split" in line:
                unit = self.unit(*fields(line, "split"))
                need(self.network.can_split(*unit, signs), "this unit cannot be split here")
                waiting += [({**signs, unit: 1}, inputs), ({**signs, unit: -1}, inputs)]
            elif "pick" in line:
                first, second = inputs.pick(line)
                waiting += [(signs, second), (signs, first)]
            else:
                leaf = self.leaf(line, signs, inputs)
                need(self.network.holds(self.label, rival, sign, leaf), "the bound of this leaf is not above zero")

    def unit(self, count: Any) -> Unit:
        return self.network.units[whole(count, 0, len(self.network.units))]

    def leaf(self, line: Any, signs: Signs, inputs: Inputs) -> Leaf:
        """Slopes are clipped to [0, 1]; only relus that are split take something off a form."""
        data = fields(line, "leaf")[0]
        need(type(data) is dict, "a leaf is an object")
        above = self.above(data["above"], signs, inputs) if "above" in data else {}
        alpha, beta = fields({name: value for name, value in data.items() if name != "above"}, "alpha beta")
        need(names_units(beta), "beta names units")
        push = {}
        for count, value in beta.items():
            unit, factor = self.unit(int(count)), number(value, 0)
            if unit in signs and unit[1] in self.model.steps[unit[0]].relu:
                push[unit] = factor * signs[unit]
        if alpha is None:
            return Leaf(inputs, signs, None, push, above)
        slopes = [min(max(slope, ZERO), ONE) for slope in array(alpha, len(self.network.units))]
        return Leaf(inputs, signs, dict(zip(self.network.units, slopes, strict=True)), push, above)

    def above(self, data: Any, signs: Signs, inputs: Inputs) -> dict[int, Vector]:
        """Shares, one for each word or for each number of the input, of open relus and of maxima of the first step."""
        per, shares = fields(data, "per shares")
        need(names_units(shares) and shares and len(self.model.steps) > 1, "above has shares of units")
        need(per in ("word", "number"), "shares are per word or per number")
        parts = sum(1 if per == "word" else len(each.box.low) for each in inputs.sets.each)
        found = {}
        for count, given in shares.items():
            k, unit = self.unit(int(count))
            relu = unit in self.model.steps[0].relu and (0, unit) not in signs
            first = per == "number" and self.model.steps[0].home.get(unit, [None])[0] == unit
            need(k == 0 and (relu or first), "only an open relu or a maximum of the first step can have a line above")
            found[unit] = tuple(min(max(share, ZERO), ONE) for share in array(given, parts))
        return found

    def words(self, include: Places, exclude: Places, costs: list[int], below: int, several: list[Places]) -> None:
        """The word tree: no set that costs less than `below` is sufficient, but those listed."""
        waiting = [(include, exclude)]
        while waiting:
            held, out = waiting.pop()
            line, spent = self.take(), sum(costs[i] for i in held)
            need(len(line) == 1, "a line of the word tree has one key")
            ((name, value),) = line.items()
            match name:
                case "word":
                    need(type(value) is int and value in self.features - held - out, "the word is not open")
                    waiting += [(held, out | {value}), (held | {value}, out)]
                case "cost":
                    need(value is True and spent >= below, "the held words do not cost enough")
                case "set":
                    need(held == several[whole(value, 0, len(several))], "the held words are not those of this set")
                case "attack":
                    self.counterexample(value, out)
                case "restoration":
                    self.restoration(value, held, out, costs, below - 1 - spent)
                case _:
                    raise Reject("the format knows no such line")

    def restoration(self, data: Any, held: Places, out: Places, costs: list[int], least: int) -> None:
        """An attacked text that stays flipped whichever open words are put back, as far as the budget pays."""
        start, rival, budget = fields(data, "start rival budget")
        changed, vectors = fields(start, "changed vectors")
        there = restorations(self.sets, self.point(changed, vectors, self.features - held, mixed=False))
        need(whole(budget, 0, WHOLE) >= least, "the budget is too low")
        self.tree(self.rivals[self.rival(rival)], -1, for_costs(there, self.features - held - out, costs, budget))


def mixture(corners: list[Vector], shares: list[Fraction]) -> Vector:
    need(sum(shares) > 0 and len(shares) == len(corners), "there must be one share per corner, not all of them zero")
    sums = (sum(share * v for share, v in zip(shares, side, strict=True)) for side in zip(*corners, strict=True))
    return tuple(value / sum(shares) for value in sums)


def check(certificate: bytes | Iterable[Any], model: Model) -> dict[str, Any]:
    """The header of a certificate (its bytes or its lines) that proves its claim; or Reject says why not."""
    one = Check(read_lines(certificate) if isinstance(certificate, bytes) else iter(certificate), model)
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
        head = check(Path(arguments[0]).read_bytes(), load(arguments[1]))
    except (Reject, Unreadable, NotForThis, OSError) as error:
        print(f"Rejected: {error}" if isinstance(error, Reject) else error)
        return {Reject: 1, NotForThis: 3}.get(type(error), 2)
    print(f"Proved, in rational numbers, for the model {head['model'][:16]}:")
    for name in ("text", "label", "perturbation", "features", "claim"):
        print(f"  {name}: {json.dumps(head[name], ensure_ascii=False)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A second checker of certificates: one file, standard library only, rational numbers, no rounding
to believe in.

    python check_exact.py proof.cert model/ [SECONDS]

Written from docs/certificate.md, not from the other checker; it may be copied out and run alone,
and is slow. Every number is a fraction. Where a bound would need a root or a long quotient, a
fraction on the safe side of it is taken. The one place for doubles is the rule for nearest words,
which the format defines by them. Networks with smooth curves and black boxes are not checked by
this one. What is not done after SECONDS (60 if none are given) is not checked.

Why what it accepts is true, from the end of the file to its beginning: `Check` reads a claim and
walks its evidence; both sides of every cut must be there. Each leaf is decided by `Leaf`: a lower
bound of the margin, carried back unit by unit to the input with lines that are below or above what
a unit gives. There `Inputs` has the least value of a linear form over the texts that are meant, and
`Word` has what a word may become. Where a network is nothing but maxima, `Left` has who may still
win them. Before that, files are read.

Exit codes: 0 the certificate proves its claim, 1 it does not, 2 the files are no certificate or no
model of the formats known here, 3 not checked by this one, or not within the time.

Method: checking in rational numbers (theory, section 13).
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
import time
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

# a linear form: coefficients by place, those that are missing are 0
Row: TypeAlias = Mapping[int, Fraction]
Vector: TypeAlias = tuple[Fraction, ...]
Places: TypeAlias = frozenset[int]
Span: TypeAlias = tuple[Fraction, Fraction]  # a lower and an upper bound
Signs: TypeAlias = Mapping[int, int]  # what splits say of units
Winners: TypeAlias = tuple[int, ...]  # of each maximum of a group the unit that wins it
# its maxima, by first units; choices, and what they lack
Group: TypeAlias = tuple[Winners, Mapping[Winners, Fraction]]

HUGE = 2**800
WHOLE = 2**53
ZERO = Fraction(0)
ONE = Fraction(1)
TIE = Fraction(1, 2**20)  # the share within which bounds count as equal
MAX_TUPLES, WEIGHT_DENOMINATOR = (
    2**20,
    2**64,
)  # of winners that are looked at; parts of one that shares are rounded to
DIGITS = 160  # binary digits kept of a bound or a slope, rounded to the safe side
# bytes that are unpacked of a line, and of all of them
LONGEST = 2**24
MOST = 2**29
CODES = {
    "F64": "d",
    "F32": "f",
    "F16": "e",
    "I64": "q",
    "I32": "i",
    "I16": "h",
    "I8": "b",
    "U64": "Q",
    "U32": "I",
}
CODES |= {"U16": "H", "U8": "B"}
KEYS = {
    "word-swap": "kind swaps",
    "deletion": "kind",
    "mask": "kind token",
    "removal-or-swap": "kind swaps",
}
MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error)


class Reject(Exception):
    """The certificate does not prove its claim."""


class Unreadable(Exception):
    """A file is not what it should be."""


class NotForThis(Exception):
    """A question that this checker does not answer."""


class TimeUp(Exception):
    """The check was not done in time: nothing is known of the certificate."""


@dataclass(frozen=True)
class Limit:
    """How long a check may take, and the moment at which that is over."""

    seconds: float
    until: float


FOREVER = Limit(math.inf, math.inf)
LIMIT: ContextVar[Limit] = ContextVar("LIMIT")


def look() -> None:
    """Called between any two pieces of work."""
    limit = LIMIT.get(FOREVER)
    if time.monotonic() > limit.until:
        raise TimeUp(f"not checked within {limit.seconds:g} seconds; a longer limit may do")


def need(condition: object, reason: str) -> None:
    if not condition:
        raise Reject(reason)


def down(value: Fraction) -> Fraction:
    """A number with few digits at or below the value."""
    scale = Fraction(2) ** (DIGITS - value.numerator.bit_length() + value.denominator.bit_length())
    return math.floor(value * scale) / scale


def up(value: Fraction) -> Fraction:
    return -down(-value)


def root_above(value: Fraction) -> Fraction:
    """A number at or just above the square root, by a whole root of a multiple, be the value large
    or tiny.
    """
    shift = DIGITS + max(0, value.denominator.bit_length() - value.numerator.bit_length())
    return Fraction(math.isqrt(math.ceil(value * 4**shift)) + 1, 2**shift) if value else ZERO


def inner(row: Row, values: Row | Vector) -> Fraction:
    return sum((factor * values[place] for place, factor in row.items()), ZERO)


def exact(vector: Iterable[float]) -> Vector:
    return tuple(map(Fraction, vector))


# --- the model folder ---


@dataclass(frozen=True, eq=False)
class Model:
    """Units are numbered over all steps, from 0, and the numbers of the input end at -1.

    Of a unit z = rows[unit]·h + bias[unit], h being what the step before gives. `home` has, of a
    unit of a maximum, all units of it: the first gives the largest z, the others 0.
    """

    head: dict[str, Any]
    lookup: dict[str, int]
    table: list[tuple[float, ...]]
    steps: list[range]
    rows: Sequence[Row]
    bias: Vector
    relu: Places
    home: Mapping[int, list[int]]

    def place(self, word: str) -> int:
        return self.lookup.get(word, self.lookup[self.head["unknown"]])

    def give(self, unit: int, sums: Row) -> Fraction:
        group = self.home.get(unit)
        if group is None:
            return max(sums[unit], ZERO) if unit in self.relu else sums[unit]
        return max(sums[other] for other in group) if unit == group[0] else ZERO

    def intervals(self, ends: Sequence[Span]) -> dict[int, Span]:
        """Bounds of each unit's z, from those of the input's numbers on; at a single input both are
        its value.
        """
        low, high = ({n - len(ends): end[side] for n, end in enumerate(ends)} for side in (0, 1))
        least = dict[int, Fraction]()
        most = dict[int, Fraction]()
        for step in self.steps:
            for unit in step:
                look()
                sides = [sorted((f * low[j], f * high[j])) for j, f in self.rows[unit].items()]
                least[unit] = sum((a for a, _ in sides), self.bias[unit])
                most[unit] = sum((b for _, b in sides), self.bias[unit])
            for unit in step:
                low[unit], high[unit] = self.give(unit, least), self.give(unit, most)
        return {unit: (least[unit], most[unit]) for unit in least}

    def scores(self, vectors: Iterable[Vector]) -> list[Fraction]:
        found = self.intervals([(value, value) for vector in vectors for value in vector])
        return [found[unit][0] for unit in self.steps[-1]]


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
        reader = text("tokenizer.json") if reads_by(head) == "hugging-face" else ""
        tensors = safetensors((Path(folder) / "weights.safetensors").read_bytes())
        weights = [matrix(tensors, f"step{k}.weight") for k in range(len(head["relu"]))]
        biases = [tensors[f"step{k}.bias"][1] for k in range(len(weights))]
        if digest(head, reader, words, tensors["embedding"], weights, biases) != head["digest"]:
            raise ValueError("its digest does not match its files")
        return assembled(head, words, tensors["embedding"], weights, biases)
    except (OSError, *MALFORMED) as error:
        raise Unreadable(f"This is not a model folder: {type(error).__name__}: {error}") from error


def reads_by(head: Any) -> str:
    return str(head["tokenizer"]["kind"] if type(head["tokenizer"]) is dict else head["tokenizer"])


def safetensors(data: bytes) -> dict[str, tuple[tuple[int, ...], tuple[float, ...]]]:
    """Name to shape and numbers: eight bytes of length, a JSON header, then the numbers,
    little-endian.
    """
    start = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            layout = f"<{math.prod(entry['shape'])}{CODES[entry['dtype']]}"
            found[name] = (
                tuple(entry["shape"]),
                struct.unpack(layout, data[start + begin : start + end]),
            )
    return found


def matrix(tensors: Mapping[str, Any], name: str) -> tuple[int, list[dict[int, float]]]:
    """How wide it is, and the entries of each row that are not zero; stored in full or as
    compressed rows.
    """
    if name in tensors:
        (_, width), numbers = tensors[name]
        starts = range(0, len(numbers), width)
        return width, [
            {j: float(v) for j, v in enumerate(numbers[i : i + width]) if v} for i in starts
        ]
    data, indices, indptr, shape = (
        tensors[f"{name}.{part}"][1] for part in ("data", "indices", "indptr", "shape")
    )
    ranges = [range(begin, end) for begin, end in itertools.pairwise(indptr)]
    return shape[1], [
        dict(sorted((indices[at], float(data[at])) for at in mine if data[at])) for mine in ranges
    ]


def digest(
    head: Any, reader: str, words: list[str], embedding: Any, weights: Any, biases: Any
) -> str:
    """SHA-256 over the parts that the format names, each after its length."""
    reading = {name: head[name] for name in ("format", "length", "pad", "unknown", "tokenizer")}
    units = {"labels": head["labels"], "relu": [sorted(units) for units in head["relu"]]}
    units |= {"maxima": head["maxima"]} if any(head.get("maxima", [])) else {}
    texts = [
        json.dumps(reading, sort_keys=True),
        reader,
        str(len(words)),
        *words,
        json.dumps(units, sort_keys=True),
    ]
    parts = [text.encode("utf-8", "surrogatepass") for text in texts] + array_parts(*embedding)
    for (width, rows), bias in zip(weights, biases, strict=True):
        counts = [len(row) for row in rows]
        shape = (len(rows), width)
        if math.prod(shape) >= 250_000 and sum(counts) * 10 < math.prod(shape):
            values = packed("d", (weight for row in rows for weight in row.values()))
            starts = packed("q", itertools.accumulate(counts, initial=0))
            parts += [
                repr(shape).encode(),
                b"sparse",
                starts,
                packed("q", itertools.chain(*rows)),
                values,
            ]
        else:
            parts += array_parts(shape, (row.get(j, 0.0) for row in rows for j in range(width)))
        parts += array_parts((len(bias),), bias)
    return hashlib.sha256(
        b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    ).hexdigest()


def array_parts(shape: tuple[int, ...], numbers: Iterable[float]) -> list[bytes]:
    return [repr(shape).encode(), packed("d", (float(v) + 0.0 for v in numbers))]


def packed(code: str, numbers: Iterable[float]) -> bytes:
    listed = list(numbers)
    return struct.pack(f"<{len(listed)}{code}", *listed)


def assembled(head: Any, words: list[str], embedding: Any, weights: Any, biases: Any) -> Model:
    """The same with units numbered over all steps."""
    (count, size), numbers = embedding
    sizes = [len(bias) for bias in biases]
    labels = head["labels"]
    shapes = [(len(rows), width) for width, rows in weights]
    if shapes != list(zip(sizes, [head["length"] * size, *sizes[:-1]], strict=True)):
        raise ValueError("its steps do not fit together")
    if (
        not len({*labels}) == len(labels) == sizes[-1] > 1
        or not len({*words}) == len(words) == count
    ):
        raise ValueError(
            "labels and words must be different, one for each score and for each row of the "
            "embedding"
        )
    table = [tuple(map(float, numbers[i * size : (i + 1) * size])) for i in range(len(words))]
    ends = [0, *itertools.accumulate(sizes)]
    steps = list(itertools.starmap(range, itertools.pairwise(ends)))
    befores = [-weights[0][0], *ends[:-2]]
    each = zip(weights, befores, strict=True)
    rows = [
        {j + before: Fraction(v) for j, v in row.items()}
        for (_, mine), before in each
        for row in mine
    ]
    relu = [step[unit] for step, units in zip(steps, head["relu"], strict=True) for unit in units]
    maxima = zip(steps, head.get("maxima", [[]] * len(steps)), strict=True)
    home = [[step[unit] for unit in group] for step, groups in maxima for group in groups]
    bent = [*relu, *itertools.chain(*home)]
    if len({*bent}) != len(bent) or not {*steps[-1]}.isdisjoint(bent) or not all(home):
        raise ValueError("a unit has two activations, or a score has one")
    lookup = {word: place for place, word in enumerate(words)}
    bias = exact(itertools.chain(*biases))
    return Model(
        head,
        lookup,
        table,
        steps,
        rows,
        bias,
        frozenset(relu),
        {u: group for group in home for u in group},
    )


def pieces(model: Model, source: str) -> list[str] | None:
    """What the model's reader makes of a string; None where it is not one of those described in the
    format.
    """
    how = model.head["tokenizer"]
    if how == "words":
        return [m.group().lower() for m in re.finditer(r"\w+(?:['’\-]\w+)*|[^\w\s]", source)]
    if how["kind"] != "pattern":
        return None
    plain = source.lower() if how["lowercase"] else source
    if how["accents"] != "keep":
        plain = unicodedata.normalize("NFKD", plain)
        plain = "".join(
            c
            for c in plain
            if (c.isascii() if how["accents"] == "ascii" else not unicodedata.combining(c))
        )
    pattern = re.compile(how["pattern"])
    found = (match.group(pattern.groups) for match in pattern.finditer(plain))
    return [word for word in found if word and word not in how["skip"]]


# --- lines of the certificate ---


def read_lines(data: bytes) -> Iterator[Any]:
    try:
        file = gzip.GzipFile(fileobj=io.BytesIO(data))
        left = MOST
        while line := file.readline(
            LONGEST + 1
        ):  # a little at a time: a small file cannot fill the memory
            left -= len(line)
            if len(line) > LONGEST or left < 0:
                raise ValueError("it is longer than what is read here")
            yield json.loads(line.decode(), parse_constant=int, object_pairs_hook=each_once)
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise Unreadable(f"This is not a certificate: {str(error)[:200]}") from error


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("an object has a key twice")
    return dict(pairs)


def fields(data: Any, names: str) -> list[Any]:
    need(
        type(data) is dict and data.keys() == set(names.split()),
        f"there must be exactly these keys: {names}",
    )
    return [data[name] for name in names.split()]


def whole(value: Any, low: int, high: int) -> int:
    right = type(value) is int and low <= value < high
    need(right, f"{str(value)[:40]} is not a whole number from {low} to {high - 1}")
    return int(value)


def strings(data: Any) -> list[str]:
    need(type(data) is list and {*map(type, data)} <= {str}, "there must be a list of words")
    return list(data)


def places(data: Any, within: Iterable[int]) -> Places:
    right = (
        type(data) is list and {*map(type, data)} <= {int} and data == sorted({*data} & {*within})
    )
    need(right, "positions are allowed ones, sorted, each once")
    return frozenset(data)


def number(value: Any, least: int = -HUGE) -> Fraction:
    right = type(value) in (int, float) and least <= value <= HUGE and value == float(value)
    need(right, "a number is none, or out of range")
    return Fraction(value)


def array(data: Any, count: int) -> Vector:
    ((kind, text),) = data.items()
    layout = f"<{count}{CODES[{'f4': 'F32', 'f8': 'F64'}[kind]]}"
    # fractions are finite
    return exact(struct.unpack(layout, base64.b64decode(text, validate=True)))


def clipped(data: Any, count: int) -> Vector:
    return tuple(min(max(share, ZERO), ONE) for share in array(data, count))


# --- what words may become ---


@dataclass(frozen=True, eq=False)
class Word:
    """Points; of a ball or a box one, moved by up to `reach`: its numbers together in a norm, or
    each by its own.
    """

    points: Mapping[int, Vector]
    reach: Vector
    norm: int = 0  # 0 for a box

    def holds(self, vector: Vector) -> bool:
        """Whether a vector is one of these; of a hull: whether it is a corner."""
        for point in self.points.values():
            gaps = [abs(a - b) for a, b in zip(vector, point, strict=True)]
            if self.norm and sum(gap**self.norm for gap in gaps) <= self.reach[0] ** self.norm:
                return True
            if not self.norm and all(
                gap <= most for gap, most in zip(gaps, self.reach, strict=True)
            ):
                return True
        return False

    def least(self, row: Row) -> Fraction:
        """The least value of row·v, or a little less."""
        moves = [abs(factor) * self.reach[j] for j, factor in row.items() if self.reach[j]]
        if self.norm == 2:
            moves = [root_above(sum((move * move for move in moves), ZERO))]
        most = max(moves, default=ZERO) if self.norm else sum(moves, ZERO)
        return min(inner(row, point) for point in self.points.values()) - most

    def spans(self) -> list[Span]:
        """A box around them."""
        look()
        sides = zip(zip(*self.points.values(), strict=True), self.reach, strict=True)
        return [(min(values) - most, max(values) + most) for values, most in sides]


def one_of(*points: Vector) -> Word:
    return Word(dict(enumerate(points)), (ZERO,) * len(points[0]))


def box(spans: Iterable[Sequence[Fraction]]) -> Word:
    ends = [(low, high) for low, high in spans]
    return Word({0: tuple((a + b) / 2 for a, b in ends)}, tuple((b - a) / 2 for a, b in ends))


def read_sets(data: Any, model: Model, tokens: list[str], own: list[Vector]) -> list[Word]:
    """Of each position what it may become; choice 0 is the word itself."""
    match data.get("kind"):
        case "epsilon-ball":
            _, eps, norm = fields(data, "kind eps p")
            need(type(norm) in (int, float, str) and norm in (1, 2, "inf"), "p must be 1, 2 or inf")
            return [
                Word({0: v}, (number(eps, 0),) * len(v), 0 if norm == "inf" else int(norm))
                for v in own
            ]
        case "boxes":
            low, high = (
                [map(number, row) for row in side] for side in fields(data, "kind lower upper")[1:]
            )
            words = [box(zip(*sides, strict=True)) for sides in zip(low, high, strict=True)]
            right = all(word.holds(vector) for word, vector in zip(words, own, strict=True))
            need(right, "a box misses the word's own vector")
            return words
        case "knn-box":
            return [box(one_of(*row).spans()) for row in neighbours(data, model, tokens)]
        case "knn-hull":
            return [one_of(*row) for row in neighbours(data, model, tokens)]
    rows = choices(data, model, tokens)
    most = max(map(len, rows))
    return [one_of(*row, *row[:1] * (most - len(row))) for row in rows]


def neighbours(data: Any, model: Model, tokens: list[str]) -> list[list[Vector]]:
    """Each word and its k nearest. The format defines these by doubles: a float is one
    in Python.
    """
    need(not counts_once(model), "words that count once have no neighbours")
    k = whole(fields(data, "kind k")[1], 0, len(model.table) - 2)

    def nearest(own: int) -> list[int]:
        look()
        distances = []
        last = {own, *special(model)}
        for other, vector in enumerate(model.table):
            total = 0.0
            for a, b in zip(model.table[own], vector, strict=True):
                total += (a - b) * (a - b)
            distances.append((other in last, total, other))
        return [other for _, _, other in sorted(distances)[:k]]

    near = {own: [own, *nearest(own)] for own in {*map(model.place, tokens)}}
    # each word's once
    vectors = {place: exact(model.table[place]) for place in {*itertools.chain(*near.values())}}
    return [[vectors[place] for place in near[model.place(token)]] for token in tokens]


def special(model: Model) -> set[int]:
    return {model.place(model.head["pad"]), model.place(model.head["unknown"])}


def counts_once(model: Model) -> bool:
    return type(model.head["tokenizer"]) is dict and bool(model.head["tokenizer"].get("once"))


def choices(data: Any, model: Model, tokens: list[str]) -> list[list[Vector]]:
    """Each word, then what may stand in its place."""
    kind = data["kind"]
    token = data.get("token")
    fields(data, KEYS[kind])
    need(token is None or type(token) is str, "the mask must be a word or null")
    swaps = {word: strings(others) for word, others in data.get("swaps", {}).items()}
    anywhere = {"word-swap": [], "mask": [token or model.head["unknown"]]}.get(
        kind, [model.head["pad"]]
    )
    rows = []
    for token in tokens:
        words = dict.fromkeys([*anywhere, *swaps.get(token, swaps.get(token.lower(), []))])
        rows.append(
            [model.place(token), *(substitute(model, word) for word in words if word != token)]
        )
    counted = [place for row in rows for place in {*row} - special(model)]
    need(
        not counts_once(model) or len(counted) == len({*counted}),
        "a word that counts once could stand twice",
    )
    return [[exact(model.table[place]) for place in row] for row in rows]


def substitute(model: Model, word: str) -> int:
    if word in model.lookup or reads_by(model.head) != "pattern":
        return model.lookup[word] if word in model.lookup else model.place(word.lower())
    made = pieces(model, word) or [model.head["unknown"]]
    need(len(made) == 1, "a substitute is read as several words")
    return model.place(made[0])


# --- input sets ---


@dataclass(frozen=True, eq=False)
class Inputs:
    """The texts that a proof speaks about.

    A word is as in `words`; an open one only if its cost is paid from the budget, and it is one of
    no more than the count: else it has its own vector. Where words are real ones, `choices` says
    how many each has; else it is 0.
    """

    own: Sequence[Vector]
    words: Sequence[Word]
    choices: int
    optional: Places
    costs: Sequence[int]
    budget: int
    count: int

    def pick(self, line: Any) -> tuple[Inputs, Inputs]:
        """The two sides of a pick: what one leaves out the other has."""
        place = whole(line["pick"], 0, len(self.words))
        return (
            self.choose(place, fields(line, "pick chosen")[1]) if len(line) > 1 else self.pay(place)
        )

    def choose(self, place: int, chosen: Any) -> tuple[Inputs, Inputs]:
        """A word is one of the chosen, or one of its others. If all open words can be paid for
        together, none is.
        """
        free = self
        word = self.words[place]
        listed = {whole(choice, 0, self.choices) for choice in chosen}
        if place in self.optional:
            enough = (
                sum(self.costs[i] for i in self.optional) <= self.budget
                and len(self.optional) <= self.count
            )
            need(enough, "this word is not paid for")
            free = replace(self, optional=frozenset())
        sides = [
            {n: v for n, v in word.points.items() if (n in listed) == side}
            for side in (True, False)
        ]
        need(all(sides), "a pick must leave choices on both sides")
        return free.put(place, replace(word, points=sides[0])), free.put(
            place, replace(word, points=sides[1])
        )

    def pay(self, place: int) -> tuple[Inputs, Inputs]:
        """An open word is paid for and counted; or it stays."""
        need(self.payable(place), "only an open word that can be paid for can be picked")
        rest = replace(self, optional=self.optional - {place})
        paid = replace(rest, budget=self.budget - self.costs[place], count=self.count - 1)
        return paid, rest.put(place, one_of(self.own[place]))

    def put(self, place: int, word: Word) -> Inputs:
        return replace(
            self, words=[word if i == place else other for i, other in enumerate(self.words)]
        )

    def payable(self, place: int) -> bool:
        return place in self.optional and self.costs[place] <= self.budget and self.count > 0

    def single(self) -> list[Vector] | None:
        """The input that is left, where words are real ones and just one is."""
        found: list[Vector] = []
        for place, word in enumerate(self.words):
            vectors = {self.own[place]} if place in self.optional else {*word.points.values()}
            vectors |= {*word.points.values()} if self.payable(place) else set()
            if len(vectors) > 1 or not self.choices:
                return None
            found += vectors
        return found

    def least(self, row: Row) -> Fraction:
        """A lower bound of a form: gains of open words as far as they are paid for, those of free
        words in any case.
        """
        parts: dict[int, dict[int, Fraction]] = {}
        for column, factor in row.items():
            place, at = divmod(column, len(self.own[0]))
            parts.setdefault(place + len(self.own), {})[at] = factor
        total = ZERO
        gains = dict[int, Fraction]()
        for place, part in parts.items():
            look()
            least = self.words[place].least(part)
            own = inner(part, self.own[place]) if place in self.optional else least
            total += own
            if self.payable(place) and least < own:
                gains[place] = least - own
        ones = [1] * len(self.words)
        return total + max(
            knapsack(gains, self.costs, self.budget), knapsack(gains, ones, self.count)
        )


def knapsack(gains: Row, costs: Sequence[int], budget: int) -> Fraction:
    """Words in order of gain per cost, the last one in part: no choice of whole words has less.

    What the budget has beyond a multiple of what all costs have in common buys nothing.
    """
    total = ZERO
    budget = budget - budget % math.gcd(*costs)
    for place in sorted(gains, key=lambda i: gains[i] / costs[i]):
        total += gains[place] * min(ONE, Fraction(budget, costs[place]))
        budget -= min(budget, costs[place])
    return total


# --- bounds ---


class UnitLines(NamedTuple):
    """lower_slope·z <= f(z) <= upper_slope·z + upper_intercept, z being what a unit sums up."""

    lower_slope: Fraction
    upper_slope: Fraction
    upper_intercept: Fraction


SAME = UnitLines(ONE, ONE, ZERO)
NOTHING = UnitLines(ZERO, ZERO, ZERO)


def relu_lines(span: Span, sign: int) -> UnitLines:
    """The lines around a relu: its chord holds at both ends, and a relu is convex."""
    least, most = span
    if sign < 0 or (most <= 0 and not sign):
        return NOTHING
    if sign > 0 or least >= 0:
        return SAME
    slope = up(most / (most - least))
    return UnitLines(
        ONE if most > -least * (1 + TIE) else ZERO, slope, max(-slope * least, most * (1 - slope))
    )


def max_lines(
    spans: Sequence[Span], contending: Sequence[bool], alpha: Vector | None
) -> list[UnitLines]:
    """Of each unit of a maximum its part in the lines around it; the constant above goes with the
    first.

    Below: weights of at least zero that add up to one. Above: a level at or above every lower bound
    of those that may be the largest, plus chords of max(z - level, 0) for those whose upper
    bounds are higher.
    """
    lows, highs = zip(*itertools.compress(spans, contending), strict=True)
    largest_low = max(lows)
    largest_high = max(highs)
    if alpha is None:
        level = sorted([largest_low, *highs])[-2]
        tie = largest_low - TIE * max(largest_high - largest_low, ZERO)
        first = next(p for p, (low, _) in enumerate(spans) if contending[p] and low >= tie)
        weights = [ONE if p == first else ZERO for p in range(len(spans))]
    else:
        level = largest_low + alpha[0] * (largest_high - largest_low)
        rest = sum(alpha[1:], ZERO)
        weights = [max(ONE - rest, ZERO), *(share / max(rest, ONE) for share in alpha[1:])]
    slopes = [ZERO] * len(spans)
    intercept = level
    for p, (low, high) in enumerate(spans):
        if contending[p] and high > level:
            slopes[p] = up((high - level) / (high - low)) if high > low else ZERO
            intercept += max(-slopes[p] * low, high - level - slopes[p] * high)
    return [
        UnitLines(w, s, ZERO if p else intercept)
        for p, (w, s) in enumerate(zip(weights, slopes, strict=True))
    ]


def may_win(group: Sequence[int], signs: Signs) -> list[int]:
    """Of a maximum, the units that splits leave: the one that wins, or those not said to lose."""
    return [u for u in group if signs.get(u, 0) > 0] or [u for u in group if not signs.get(u, 0)]


def difference(row: Row, other: Row) -> Row:
    return {column: row.get(column, ZERO) - other.get(column, ZERO) for column in {*row, *other}}


def plane_row(rows: Sequence[Row], shares: Vector) -> Row:
    """In each column so much of the way from the least to the largest weight."""
    found = {}
    for column in {column for row in rows for column in row}:
        weights = [row.get(column, ZERO) for row in rows]
        found[column] = min(weights) + shares[column] * (max(weights) - min(weights))
    return found


class DualChoice(NamedTuple):
    """What a leaf chooses: slopes below, multipliers of splits (beta), shares of planes."""

    alpha: Vector | None
    beta: Row
    shares: Mapping[int, Vector]


class Leaf:
    """Bounds where splits have said `signs` of units; `intervals` are bounds of all units over the
    whole region.

    `lemmas` are bounds that were proved on the way here.
    """

    def __init__(
        self,
        model: Model,
        intervals: Mapping[int, Span],
        inputs: Inputs,
        signs: Signs,
        lemmas: Mapping[int, Span],
    ) -> None:
        self.model = model
        self.intervals = intervals
        self.inputs = inputs
        self.signs = signs
        self.lemmas = lemmas
        self.spans: dict[int, Span] = {}
        self.lines: dict[int, UnitLines] = {}
        self.beta: Row = {}  # what is taken off factors of units
        self.planes: Mapping[
            int, tuple[Row, Fraction]
        ] = {}  # rows and constants of planes above relus and maxima
        self.empty = False  # whether the splits contradict the bounds
        for step in model.steps[:-1]:
            self.spans |= {unit: self.span(unit, step.start) for unit in step}
            self.empty |= any(low > high for low, high in self.spans.values())
            self.empty |= not all(
                self.contenders(model.home[unit]) for unit in step if unit in model.home
            )
            self.lines |= {} if self.empty else self.relax_step(step, None)

    def span(self, unit: int, start: int) -> Span:
        """Bounds of a unit's z, by intervals and by lines of the steps before; those of a relu are
        cut at zero.
        """
        (low, high), row, bias = self.intervals[unit], self.model.rows[unit], self.model.bias[unit]
        if self.empty or not (unit in self.model.relu or unit in self.model.home):
            return low, high
        low = max(low, down(self.backward_bound(row, bias, start)))
        high = min(
            high,
            -down(self.backward_bound({j: -factor for j, factor in row.items()}, -bias, start)),
        )
        least, most = self.lemmas.get(unit, (low, high))
        low = max(low, least)
        high = min(high, most)
        sign = self.signs.get(unit, 0) if unit in self.model.relu else 0
        return max(low, ZERO) if sign > 0 else low, min(high, ZERO) if sign < 0 else high

    def contenders(self, group: Sequence[int]) -> list[int]:
        """Of a maximum, the units that may win and whose upper bounds are not below the largest
        lower bound.
        """
        largest_low = max(self.spans[unit][0] for unit in group)
        return [unit for unit in may_win(group, self.signs) if self.spans[unit][1] >= largest_low]

    def relax_step(self, step: range, alpha: Vector | None) -> dict[int, UnitLines]:
        """The lines around what a step's units give: those of the format, or those that a leaf
        chose.
        """
        found = dict.fromkeys(step, SAME)
        for unit in step:
            group = self.model.home.get(unit, [])
            if unit in self.model.relu:
                line = relu_lines(self.spans[unit], self.signs.get(unit, 0))
                found[unit] = line if alpha is None else line._replace(lower_slope=alpha[unit])
            elif unit in group[:1]:
                spans = [self.spans[u] for u in group]
                contending = self.contenders(group)
                shares = None if alpha is None else tuple(alpha[u] for u in group)
                found |= zip(
                    group, max_lines(spans, [u in contending for u in group], shares), strict=True
                )
        return found

    def backward_bound(self, row: Row, total: Fraction, start: int) -> Fraction:
        """A lower bound of row·h + total, h being what the units below `start` give.

        A factor above zero takes the line below, one below zero the line above; a maximum's goes to
        all its units.
        """
        coefficients = dict(row)
        for unit in reversed(range(start)):
            look()
            first = self.model.home.get(unit, [unit])[0]
            factor = coefficients.get(first, ZERO)
            line = self.lines[unit]
            weights = self.model.rows[unit]
            bias = self.model.bias[unit]
            if factor < 0 and first in self.planes:
                line, (weights, bias) = SAME if unit == first else NOTHING, self.planes[first]
            slope = factor * (line.upper_slope if factor < 0 else line.lower_slope) - self.beta.get(
                unit, ZERO
            )
            total += min(factor, ZERO) * line.upper_intercept + slope * bias
            for column, weight in weights.items() if slope else ():
                coefficients[column] = coefficients.get(column, ZERO) + slope * weight
        return total + self.inputs.least(
            {column: factor for column, factor in coefficients.items() if column < 0}
        )

    def plane(self, unit: int, shares: Vector) -> tuple[Row, Fraction]:
        """A row a and a number c with f(x) <= a·x + c wherever the inputs go, f being a relu or a
        maximum.

        All that f is the largest of are at most that: 0 and w·x + b, or these of the units that may
        win.
        """
        rows = self.model.rows
        bias = self.model.bias
        least = self.inputs.least
        if unit in self.model.home:
            row = plane_row([rows[one] for one in self.model.home[unit]], shares)
            contending = self.contenders(self.model.home[unit])
            return row, up(max(bias[one] - least(difference(row, rows[one])) for one in contending))
        size = sum(map(len, self.inputs.own)) // len(shares)
        row = {column: shares[column // size] * weight for column, weight in rows[unit].items()}
        return row, up(max(-least(row), bias[unit] - least(difference(row, rows[unit]))))

    def holds(self, row: Row, total: Fraction, start: int, chosen: DualChoice) -> bool:
        """Whether no input is left, or row·h + total is above zero by what the leaf chose, h being
        as for `back`.
        """
        if self.empty:
            return True
        for step in self.model.steps[:-1]:
            self.lines |= self.relax_step(step, chosen.alpha)
        self.beta, self.planes = (
            chosen.beta,
            {unit: self.plane(unit, shares) for unit, shares in chosen.shares.items()},
        )
        return self.backward_bound(row, total, start) > 0


# --- the evidence ---


@dataclass(frozen=True, eq=False)
class TupleState:
    """Who may win maxima of the input where the label would be lost, by what planes above groups of
    maxima leave.

    Take an input at which the margin b + Σ A_m max_m is not above zero, and who wins each maximum
    with A_m < 0 there. The weighted maxima of a group add up to f·y + g, f and g being those of
    its winners, y the input as numbers between -1 and 1 that move. That is at most a·y + (g + |f -
    a|) for any row a. So the margin is at least what is left of its row once all rows a are taken
    off, at its lowest, minus these constants. With the largest of each group's it is at least
    `base`, and higher by all that those of the real winners fall short of them (their reduced
    costs): no more than -base. And with the winners of one group themselves in the place of its
    plane, it must not be above zero either.

    `gap` is how much tuples may fall short in all; at first as much as they like.
    """

    groups: Sequence[Group]
    gap: Fraction | None

    @property
    def is_empty(self) -> bool:
        return not all(choices for _, choices in self.groups)

    def split(self, unit: int, group: Sequence[int], sign: int) -> TupleState:
        """Where the unit wins its maximum, or another does."""
        found = []
        for firsts, tuples in self.groups:
            place = firsts.index(group[0]) if group[0] in firsts else None
            kept = {
                c: n for c, n in tuples.items() if place is None or (c[place] == unit) == (sign > 0)
            }
            found.append((firsts, kept))
        return replace(self, groups=found)


@dataclass(frozen=True, eq=False)
class NormalisedMargin:
    """The margin over numbers that move between -1 and 1: units as whole numbers, all multiplied by
    the same one.

    `own` and `rows` are what units have in the middle and by number, times what their maxima are
    weighted with; `level` and `row` are what the maxima with lines below have in all.
    """

    centres: Mapping[int, int]
    rows: Mapping[int, Sequence[int]]
    level: int
    residual_row: Sequence[int]
    radius: Mapping[int, Fraction]  # by column of the input
    scale: int

    def tuple_offset(self, winners: Winners, plane: Sequence[int]) -> int:
        """g + |f - a| of a choice and a line."""
        look()
        rows: Iterable[int] = self.rows[winners[0]]
        for unit in winners[1:]:
            rows = map(int.__add__, rows, self.rows[unit])
        return sum(self.centres[unit] for unit in winners) + sum(
            map(abs, map(int.__sub__, rows, plane))
        )


def fix_tuples(
    data: Any, model: Model, inputs: Inputs, margin: tuple[Row, Fraction], before: TupleState
) -> TupleState:
    """What a stage leaves of what was left before it; the margin is a form over what the maxima
    give.
    """
    alpha, groups, words, rows = fields(data, "alpha bundles words rows")
    right = len(model.steps) == 2 and all(unit in model.home for unit in model.steps[0])
    need(right, "there is nothing but maxima of the input to fix tuples of")
    need(movable(inputs), "there are no tuples to fix over such sets")
    margin_form = normalised(model, inputs, *margin, clipped(alpha, model.steps[-1].start))
    joined_groups = [join(parts, before.gap) for parts in groups_to_join(groups, before)]
    planes = read_rows(rows, words, len(joined_groups), margin_form, inputs)
    return before if before.is_empty else fixed(joined_groups, planes, margin_form)


def movable(inputs: Inputs) -> bool:
    """Whether numbers of words move on their own, and no word has to be paid for."""
    return (
        not inputs.optional
        and not inputs.choices
        and all(len(word.points) == 1 for word in inputs.words)
    )


def unfixed(model: Model, here: Leaf, row: Row) -> TupleState:
    """Each maximum that takes a plane for itself, with all units that may win."""
    groups = {group[0]: group for group in model.home.values() if row.get(group[0], ZERO) < 0}
    return TupleState(
        [
            ((unit,), dict.fromkeys(single_winners(here, group), ZERO))
            for unit, group in sorted(groups.items())
        ],
        None,
    )


def single_winners(here: Leaf, group: Sequence[int]) -> list[Winners]:
    return [] if here.empty else [(unit,) for unit in here.contenders(group)]


def groups_to_join(groups: Any, before: TupleState) -> list[list[Group]]:
    """The groups that each new one is made of: by their places, or at first by the first units of
    maxima.
    """
    names = {firsts[0]: i for i, (firsts, _) in enumerate(before.groups)}
    names = names if before.gap is None else {i: i for i in range(len(before.groups))}
    flat = [one for group in groups for one in group]
    need(
        {*map(type, flat)} <= {int} and sorted(flat) == sorted(names) and all(groups),
        "every part must be there once",
    )
    return [[before.groups[names[one]] for one in group] for group in groups]


def join(parts: Sequence[Group], gap: Fraction | None) -> Group:
    """Tuples of all parts whose reduced costs the gap allows together."""
    (firsts, found), *others = parts
    for more, tuples in others:
        look()
        firsts += more
        found = dict(itertools.islice(joinable(found, tuples, gap), MAX_TUPLES + 1))
        need(len(found) <= MAX_TUPLES, "more choices are left than can be looked at")
    return firsts, found


def joinable(
    found: Mapping[Winners, Fraction], tuples: Mapping[Winners, Fraction], gap: Fraction | None
) -> Iterator[tuple[Winners, Fraction]]:
    """Pairs whose reduced costs the gap allows, those with the least of the second first."""
    order = sorted(tuples.items(), key=lambda winners: winners[1])
    for winners, reduced_cost in found.items():
        for other, further in order:
            if gap is not None and reduced_cost + further > gap:
                break
            yield winners + other, reduced_cost + further


def normalised(
    model: Model, inputs: Inputs, row: Row, constant: Fraction, alpha: Vector
) -> NormalisedMargin:
    """The units by the numbers that move, those of maxima with planes one by one and the
    others added up.
    """
    spans = [span for word in inputs.words for span in word.spans()]
    middle = {n - len(spans): (low + high) / 2 for n, (low, high) in enumerate(spans)}
    radius = {n - len(spans): (high - low) / 2 for n, (low, high) in enumerate(spans) if high > low}
    own = dict[int, Fraction]()
    rows = dict[int, list[Fraction]]()
    level = constant
    total = [ZERO] * len(radius)
    for group in {group[0]: group for group in model.home.values()}.values():
        weight = row.get(group[0], ZERO)
        for unit, share in zip(group, lower_weights([alpha[unit] for unit in group]), strict=True):
            factor = abs(weight) * (share if weight > 0 else ONE)
            if factor:
                at_centre = sum(
                    (w * middle[column] for column, w in model.rows[unit].items()), model.bias[unit]
                )
                by_number = [
                    factor * model.rows[unit].get(column, ZERO) * most
                    for column, most in radius.items()
                ]
                if weight > 0:
                    level = level + factor * at_centre
                    total = [a + b for a, b in zip(total, by_number, strict=True)]
                else:
                    own[unit] = factor * at_centre
                    rows[unit] = by_number
    return scaled(own, rows, level, total, radius)


def lower_weights(alpha: Sequence[Fraction]) -> list[Fraction]:
    """Shares of at least zero that add up to one, all multiples of the same part of it; the first
    has what is left.
    """
    rest = max(sum(alpha[1:], ZERO), ONE)
    others = [
        Fraction(int(share / rest * WEIGHT_DENOMINATOR), WEIGHT_DENOMINATOR) for share in alpha[1:]
    ]
    return [ONE - sum(others, ZERO), *others]


def scaled(
    own: Mapping[int, Fraction],
    rows: Mapping[int, Sequence[Fraction]],
    level: Fraction,
    row: Sequence[Fraction],
    radius: Mapping[int, Fraction],
) -> NormalisedMargin:
    """As whole numbers: whatever is read as a float has a power of two below, and so have sums and
    products.
    """
    every = [level, *row, *own.values(), *itertools.chain(*rows.values())]
    # lines are floats times a radius, of no more than 2^-149 times that
    scale = (
        max(value.denominator for value in every)
        * max((r.denominator for r in radius.values()), default=1)
        << 149
    )
    whole_rows = {unit: [int(value * scale) for value in mine] for unit, mine in rows.items()}
    own_ = {unit: int(value * scale) for unit, value in own.items()}
    return NormalisedMargin(
        own_, whole_rows, int(level * scale), [int(value * scale) for value in row], radius, scale
    )


def read_rows(
    data: Any, words: Any, count: int, margin_form: NormalisedMargin, inputs: Inputs
) -> list[list[int]]:
    """Of each group the row of its plane, by the numbers that move; what is said of the others does
    not count.
    """
    size = len(inputs.own[0])
    some = sorted(places(words, range(len(inputs.own))))
    columns = [(i - len(inputs.own)) * size + j for i in some for j in range(size)]
    values = array(data, count * len(columns))
    found = []
    for start in range(0, len(values), len(columns)) if columns else [0] * count:
        mine = dict(zip(columns, values[start : start + len(columns)], strict=True))
        found.append(
            [
                int(mine.get(column, ZERO) * most * margin_form.scale)
                for column, most in margin_form.radius.items()
            ]
        )
    return found


def fixed(
    groups: Sequence[Group], planes: Sequence[Sequence[int]], margin_form: NormalisedMargin
) -> TupleState:
    """Without the tuples that would lift the margin above zero, and what the others fall short of
    the largest.
    """
    row = [
        value - sum(column)
        for value, column in zip(
            margin_form.residual_row, columns_of(planes, margin_form), strict=True
        )
    ]
    base = margin_form.level - sum(map(abs, row))
    offsets = [
        {c: margin_form.tuple_offset(c, plane) for c in tuples}
        for (_, tuples), plane in zip(groups, planes, strict=True)
    ]
    if not all(offsets):
        return TupleState(groups, ZERO)
    largest = [max(reach.values()) for reach in offsets]
    for place, (reach, plane) in enumerate(zip(offsets, planes, strict=True)):
        others = sum(largest) - largest[place]
        with_tuple = [a + b for a, b in zip(row, plane, strict=True)]
        kept = (c for c, n in reach.items() if base - others - n <= 0)
        offsets[place] = {
            c: reach[c]
            for c in kept
            if margin_form.level - others - margin_form.tuple_offset(c, with_tuple) <= 0
        }
    highest = [max(reach.values(), default=0) for reach in offsets]
    reduced_costs = [
        {c: Fraction(top - n, margin_form.scale) for c, n in reach.items()}
        for top, reach in zip(highest, offsets, strict=True)
    ]
    gap = Fraction(sum(highest) - base, margin_form.scale)
    return TupleState(
        [(firsts, mine) for (firsts, _), mine in zip(groups, reduced_costs, strict=True)], gap
    )


def columns_of(
    planes: Sequence[Sequence[int]], margin_form: NormalisedMargin
) -> Iterator[tuple[int, ...]]:
    """The numbers of all lines, column by column."""
    return zip(*planes, strict=True) if margin_form.residual_row else iter(())


@dataclass(frozen=True, eq=False)
class Node:
    """What is known on the way to a place of a tree: of the texts, of units by splits and by stated
    bounds.

    `left` is what tuple fixing has left of who may win maxima.
    """

    inputs: Inputs
    signs: Signs = field(default_factory=dict)
    stated: Mapping[int, Span] = field(default_factory=dict)
    left: TupleState | None = None


class Check:
    """One certificate against one model."""

    def __init__(self, lines: Iterator[Any], model: Model) -> None:
        self.lines = lines
        self.model = model
        self.number = 0

    def take(self) -> Any:
        look()
        self.number += 1
        line = next(self.lines, None)
        need(type(line) is dict, "here must be an object")
        return line

    def run(self) -> dict[str, Any]:
        """The header, once everything after it proves its claim."""
        self.number, head, model = 1, next(self.lines, None), self.model
        kind = head.get("certificate") if type(head) is dict else None
        if type(kind) is str and kind.startswith("asked"):
            raise NotForThis(
                "The certificate is about a black box, which has to be run: not checked by "
                "this one."
            )
        if type(head) is not dict or type(kind) is not int or kind != 2:
            raise Unreadable("Line 1 is not the header of a certificate of format 2.")
        names = "certificate model text perturbation features label claim"
        _, digest, text, data, features, label, claim = fields(head, names)
        need(digest == model.head["digest"], "it is about another model")
        tokens = strings(text)
        need(
            len(tokens) == model.head["length"] and self.are_words(tokens),
            "the text is no list of words",
        )
        self.features = places(features, range(len(tokens)))
        self.label = model.head["labels"].index(label)
        self.rivals = {name: j for j, name in enumerate(model.head["labels"]) if name != label}
        self.kind = data.get("kind")
        self.at_most = whole(data.get("at_most", len(tokens)), 1, WHOLE)
        self.limited = "at_most" in data
        data = {name: value for name, value in data.items() if name != "at_most"}
        self.own = [exact(model.table[model.place(token)]) for token in tokens]
        each = zip(self.own, read_sets(data, model, tokens, self.own), strict=True)
        self.words = [
            word if i in self.features else one_of(own) for i, (own, word) in enumerate(each)
        ]
        self.reach = model.intervals([span for word in self.words for span in word.spans()])
        self.claim(claim)
        self.number += 1
        need(next(self.lines, self) is self, "nothing may follow the evidence")
        return head

    def are_words(self, tokens: list[str]) -> bool:
        """Whether each is one that a list of words may hold, and none is there twice where words
        count once.
        """
        real = [
            token
            for token in tokens
            if token not in (self.model.head["pad"], self.model.head["unknown"])
        ]
        for token in {*real}:
            if token in self.model.lookup or (token and not any(map(str.isspace, token))):
                continue
            if (made := pieces(self.model, token)) is not None and made != [token]:
                return False
        return not counts_once(self.model) or len(real) == len({*real})

    # claims

    def claim(self, claim: Any) -> None:
        match claim.get("kind"):
            case "sufficient":
                self.sufficient(
                    self.features - places(fields(claim, "kind positions")[1], self.features)
                )
            case "independent":
                self.sufficient(places(fields(claim, "kind of")[1], self.features))
            case "refuted":
                self.refuted(
                    self.features - places(fields(claim, "kind positions")[1], self.features)
                )
            case "infeasible":
                self.refuted(places(fields(claim, "kind exclude")[1], self.features))
            case "cheapest":
                _, held, *priced, lower = fields(
                    claim, "kind positions costs unit include exclude cost lower"
                )
                need(whole(lower, 0, WHOLE) <= claim["cost"], "the costs are wrong")
                self.sets_of_words("cheapest", [held], lower, *priced)
            case "all":
                _, sets, *priced = fields(claim, "kind sets costs unit include exclude cost")
                self.sets_of_words("all", sets, claim["cost"] + 1, *priced)
            case "flip":
                self.flip(*fields(claim, "kind positions towards costs unit cost lower")[1:])
            case _:
                raise Reject("the format knows no such claim")

    def sufficient(self, free: Places) -> None:
        opened = free if self.limited else frozenset[int]()
        self.proofs(
            "sufficient", self.rivals, self.inputs(free, opened, [1] * len(self.own), self.at_most)
        )

    def inputs(self, free: Places, opened: Places, costs: list[int], budget: int) -> Inputs:
        """Texts that change free words; of those the open ones are paid for."""
        words = [word if i in free else one_of(self.own[i]) for i, word in enumerate(self.words)]
        choices = max(len(word.points) for word in self.words) if self.kind in KEYS else 0
        return Inputs(self.own, words, choices, opened, costs, budget, self.at_most)

    def proofs(self, name: str, rivals: Iterable[str], inputs: Inputs) -> None:
        for rival in rivals:
            need(
                self.take() == {"prove": name, "rival": rival},
                f"no proof against {rival!r} starts here",
            )
            self.tree(self.rivals[rival], 1, inputs)

    def refuted(self, allowed: Places) -> None:
        self.has_label()
        self.counterexample(fields(self.take(), "point")[0], allowed)

    def sets_of_words(
        self,
        name: str,
        sets: Any,
        below: int,
        costs: Any,
        unit: Any,
        include: Any,
        exclude: Any,
        cost: Any,
    ) -> None:
        """Sets that suffice, fit and cost as much; and no other that fits and costs less than
        `below` does.
        """
        costs = self.costs(costs, unit)
        several = [places(held, self.features) for held in sets]
        include = places(include, self.features)
        exclude = places(exclude, self.features)
        need(0 < len({*several}) == len(several), "there is no set, or one is listed twice")
        for held in several:
            need(include <= held and not exclude & held, "a set does not fit")
            need(whole(cost, 0, WHOLE) == sum(costs[i] for i in held), "the costs are wrong")
        for held in several:
            self.sufficient(self.features - held)
        need(self.take() == {"prove": name}, "the word tree must start here")
        self.word_tree(include, exclude, costs, below, several if name == "all" else [])

    def flip(
        self, changed: Any, towards: Any, costs: Any, unit: Any, cost: Any, lower: Any
    ) -> None:
        """A change that lifts a rival to the label, unless it is null; and none that costs less
        than `lower` does.
        """
        costs = self.costs(costs, unit)
        aims = [name for name in self.rivals if towards in (None, name)]
        need(aims and whole(lower, 0, WHOLE) >= 0, "there is no such rival")
        self.has_label()
        if changed is None:
            need(cost is None, "without positions there is no cost")
        else:
            where = places(changed, self.features)
            point = fields(self.take(), "point")[0]
            need(
                lower <= whole(cost, 0, WHOLE) == sum(costs[i] for i in where),
                "the costs are wrong",
            )
            self.counterexample(point, where)
            need(
                point["changed"] == changed and point["rival"] in aims,
                "the flip is not the one that is claimed",
            )
        if lower:
            self.proofs("flip", aims, self.inputs(self.features, self.features, costs, lower - 1))

    def costs(self, costs: Any, unit: Any) -> list[int]:
        counts = [whole(cost, 1, WHOLE) for cost in costs]
        need(
            len(counts) == len(self.words) and sum(counts) < WHOLE,
            "the costs are too many, too few or too large",
        )
        right = re.fullmatch(r"[0-9]{1,200}(/[0-9]{1,200})?", unit, re.ASCII)
        need(right and Fraction(unit) > 0, "the unit must be a fraction above zero")
        return counts

    # points

    def has_label(self) -> None:
        scores = self.model.scores(self.own)
        need(scores[self.label] == max(scores), "the text's label differs")

    def counterexample(self, data: Any, allowed: Places) -> None:
        """A text that changes allowed words only, at which a rival is not behind the label."""
        how = "shares" if "shares" in data else "vectors"
        changed, given, rival = fields(data, f"changed {how} rival")
        scores = self.model.scores(self.point(changed, given, allowed, how))
        need(
            scores[self.label] <= scores[self.rivals[rival]],
            "the label keeps its lead at this point",
        )

    def point(
        self, changed: Any, given: Any, allowed: Places, how: str = "vectors"
    ) -> list[Vector]:
        """The text with other vectors, each in its word's set: as they are, or as means of a hull's
        corners.
        """
        where = sorted(places(changed, allowed))
        vectors = list(self.own)
        size = len(self.own[0])
        need(len(where) <= self.at_most, "too many words are changed")
        need(how == "vectors" or self.kind == "knn-hull", "only hulls have shares")
        numbers = array(given, len(where) * size) if how == "vectors" else ()
        rows = (
            [numbers[n * size : (n + 1) * size] for n in range(len(where))]
            if how == "vectors"
            else given
        )
        for place, row in zip(where, rows, strict=True):
            vectors[place] = (
                row if how == "vectors" else mean(row, self.words[place].points.values())
            )
            need(
                how == "shares" or self.words[place].holds(vectors[place]),
                "a vector is not in its word's set",
            )
        return vectors

    # trees

    def tree(self, rival: int, sign: int, inputs: Inputs) -> None:
        """A proof in preorder that sign·margin is above zero: both sides of a node follow it."""
        waiting = [Node(inputs)]
        while waiting:
            node = waiting.pop()
            line = self.take()
            if "split" in line:
                waiting += self.split(line, node)
            elif "pick" in line:
                first, second = node.inputs.pick(line)
                waiting += [replace(node, inputs=second), replace(node, inputs=first)]
            elif "bound" in line:
                waiting.append(replace(node, stated=self.bound(line, node)))
            elif "sieve" in line:
                waiting.append(replace(node, left=self.tuple_fixing(line, rival, sign, node)))
            else:
                self.leaf(fields(line, "leaf")[0], rival, sign, node)

    def split(self, line: Any, node: Node) -> list[Node]:
        """A unit's sum is above zero, or below; or a unit of a maximum wins, or does not. The
        second comes first.
        """
        unit = whole(fields(line, "split")[0], 0, self.model.steps[-1].start)
        group = self.model.home.get(unit, [])
        signs = node.signs
        alive = may_win(group, signs)
        right = (unit in alive and len(alive) > 1) or (
            unit in self.model.relu and unit not in signs
        )
        need(right, "only an open relu, or one of several units that may win, can be split")
        left = [node.left and node.left.split(unit, group, side) for side in (1, -1)]
        return [
            replace(node, signs={**signs, unit: side}, left=mine)
            for side, mine in zip((1, -1), left, strict=True)
        ]

    def tuple_fixing(self, line: Any, rival: int, sign: int, node: Node) -> TupleState:
        margin = self.margin(rival, sign)
        before = node.left
        if before is None:
            before = unfixed(self.model, self.here(node), margin[0])
        return fix_tuples(fields(line, "sieve")[0], self.model, node.inputs, margin, before)

    def here(self, node: Node) -> Leaf:
        return Leaf(self.model, self.reach, node.inputs, node.signs, node.stated)

    def margin(self, rival: int, sign: int) -> tuple[Row, Fraction]:
        """sign·margin as a form over what the last hidden step gives."""
        last = self.model.steps[-1]
        mine = self.model.rows[last[self.label]]
        other = self.model.rows[last[rival]]
        row = {j: sign * (mine.get(j, ZERO) - other.get(j, ZERO)) for j in {*mine, *other}}
        return row, sign * (self.model.bias[last[self.label]] - self.model.bias[last[rival]])

    def bound(self, line: Any, node: Node) -> Mapping[int, Span]:
        """What is stated of units, with a bound of a relu's z that the leaf given here shows."""
        side = "most" if "most" in line else "least"
        place, given, data = fields(line, f"bound {side} leaf")
        unit = whole(place, 0, self.model.steps[-1].start)
        value = number(given)
        sign = -1 if side == "most" else 1
        need(unit in self.model.relu, "only the sum of a relu can be bounded")
        row = {j: sign * weight for j, weight in self.model.rows[unit].items()}
        start = next(step.start for step in self.model.steps if unit in step)
        chosen = self.chosen(data, node.signs)
        holds = self.here(node).holds(row, sign * (self.model.bias[unit] - value), start, chosen)
        need(holds, "the bound of this unit does not hold")
        low, high = node.stated.get(unit, self.reach[unit])
        return {
            **node.stated,
            unit: (max(low, value), high) if sign > 0 else (low, min(high, value)),
        }

    def chosen(self, data: Any, signs: Signs) -> DualChoice:
        alpha, beta, *above = fields(data, "alpha beta above" if "above" in data else "alpha beta")
        slopes = None if alpha is None else clipped(alpha, self.model.steps[-1].start)
        given = {unit: number(value, 0) for unit, value in self.units(beta)}
        push = {
            unit: value * signs.get(unit, 0)
            for unit, value in given.items()
            if unit in self.model.relu
        }
        return DualChoice(slopes, push, self.shares(above[0], signs) if above else {})

    def leaf(self, data: Any, rival: int, sign: int, node: Node) -> None:
        """Nobody is left, or one input, with sign·margin above zero; or the bound is, with the
        numbers given here.
        """
        chosen = self.chosen(data, node.signs)
        single = node.inputs.single()
        if node.left is not None and node.left.is_empty:
            return
        if single:
            scores = self.model.scores(single)
            if sign * (scores[self.label] - scores[rival]) > 0:
                return
        holds = self.here(node).holds(*self.margin(rival, sign), self.model.steps[-1].start, chosen)
        need(holds, "the bound of this leaf is not above zero")

    def shares(self, data: Any, signs: Signs) -> dict[int, Vector]:
        """Of open relus and maxima of the first step, for each word or for each number of the
        input.
        """
        per, *words, shares = fields(data, "per words shares" if "words" in data else "per shares")
        need(per == "number" or (per == "word" and not words), "shares are per word or per number")
        some = sorted(places(words[0], range(len(self.own)))) if words else range(len(self.own))
        each = len(self.own[0]) if per == "number" else 1
        there = [i * each + j for i in some for j in range(each)]
        found = {}
        for unit, given in self.units(shares):
            mine = dict(zip(there, clipped(given, len(there)), strict=True))
            found[unit] = tuple(mine.get(i, ZERO) for i in range(len(self.own) * each))
        able = set(self.model.relu - signs.keys())
        able |= {group[0] for group in self.model.home.values()} if per == "number" else set()
        right = found and found.keys() <= able & {*self.model.steps[0]}
        need(right, "only an open relu or a maximum of the first step can have a plane")
        return found

    def units(self, data: Any) -> Iterator[tuple[int, Any]]:
        """The units that an object names in decimal, and what it says of them."""
        for name, value in data.items():
            need(str(int(name)) == name, "a unit must be named by a plain number")
            yield whole(int(name), 0, self.model.steps[-1].start), value

    def word_tree(
        self, include: Places, exclude: Places, costs: list[int], below: int, several: list[Places]
    ) -> None:
        """No set that costs less than `below` is sufficient, but those listed."""
        waiting = [(include, exclude)]
        while waiting:
            held, out = waiting.pop()
            ((name, value),) = self.take().items()
            spent = sum(costs[i] for i in held)
            match name:
                case "word":
                    need(
                        type(value) is int and value in self.features - held - out,
                        "the word is not open",
                    )
                    waiting += [(held, out | {value}), (held | {value}, out)]
                case "cost":
                    need(value is True and spent >= below, "the held words do not cost enough")
                case "set":
                    need(
                        held == several[whole(value, 0, len(several))],
                        "the held words are not those of this set",
                    )
                case "attack":
                    self.counterexample(value, out)
                case "restoration":
                    self.restoration(value, held, out, costs, below - 1 - spent)
                case _:
                    raise Reject("the format knows no such line")

    def restoration(
        self, data: Any, held: Places, out: Places, costs: list[int], least: int
    ) -> None:
        """An attacked text that stays flipped whichever open words are put back, as far as the
        budget pays.
        """
        start, rival, budget = fields(data, "start rival budget")
        changed, vectors = fields(start, "changed vectors")
        there = self.point(changed, vectors, self.features - held)
        opened = self.features - held - out
        need(whole(budget, 0, WHOLE) >= least, "the budget is too low")
        words = [one_of(self.own[i] if i in opened else vector) for i, vector in enumerate(there)]
        self.tree(
            self.rivals[rival], -1, Inputs(there, words, 1, opened, costs, budget, len(words))
        )


def mean(given: Any, corners: Iterable[Vector]) -> Vector:
    """Corners in these shares, which are divided by their sum."""
    shares = [number(share, 0) for share in given]
    sums = [
        sum(s * v for s, v in zip(shares, side, strict=True)) for side in zip(*corners, strict=True)
    ]
    return tuple(value / sum(shares) for value in sums)


def check(certificate: bytes | Iterable[Any], model: Model, seconds: float = 60) -> dict[str, Any]:
    """The header of a certificate (its bytes or its lines) that proves its claim; or Reject says
    why not.

    What is not done after so many seconds raises TimeUp.
    """
    one = Check(
        read_lines(certificate) if isinstance(certificate, bytes) else iter(certificate), model
    )
    before = LIMIT.set(Limit(seconds, time.monotonic() + seconds))
    try:
        return one.run()
    except (Reject, TimeUp) as error:
        raise type(error)(f"line {one.number}: {error}") from None
    except MALFORMED as error:
        raise Reject(
            f"line {one.number}: malformed ({type(error).__name__}: {str(error)[:200]})"
        ) from error
    finally:
        LIMIT.reset(before)


def seconds_of(arguments: Sequence[str]) -> float:
    """The last of two or three arguments; not a number where it is none, or where there are more or
    fewer.
    """
    try:
        return float(["60", *arguments[2:]][-1]) if len(arguments) in (2, 3) else math.nan
    except ValueError:
        return math.nan


def main(arguments: Sequence[str]) -> int:
    seconds = seconds_of(arguments)
    if not seconds > 0:
        print(__doc__)
        return 2
    try:
        head = check(Path(arguments[0]).read_bytes(), load(arguments[1]), seconds)
    except (Reject, Unreadable, NotForThis, TimeUp, OSError) as error:
        print({Reject: "Rejected: ", TimeUp: "Not checked: "}.get(type(error), ""), error, sep="")
        return {Reject: 1, NotForThis: 3, TimeUp: 3}.get(type(error), 2)
    print(f"Proved, in rational numbers, for the model {head['model'][:16]}:")
    for name in ("text", "label", "perturbation", "features", "claim"):
        said = json.dumps(head[name], ensure_ascii=False)
        # halves of letters have no bytes
        print(f"  {name}: {said.encode('utf-8', 'backslashreplace').decode()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The independent checker: what a certificate (docs/certificate.md) proves, or the first line of it that fails.

It shares no code with the prover and trusts neither the file nor floating point. Why it is sound:

*Rounding.* With u = 2^-53, a sum of m products of doubles, added in any order, with or without fused operations, is off
by at most 1.01 m u Σ|a||b|, plus underflow. Each bound is worked out in doubles and then lowered by G·S, where
S adds up how large all that goes into it can be:
- Interval bounds over the whole region (every feature free), widened by G, bound the values h between the steps;
  `size` = |W| |h| + |b| bounds the terms of each pre-activation z = W h + b, so also |z|.
- A row A of doubles over the outputs of a step counts as exact. Back through relu and step it becomes A' W, A' being A
  times slopes in [0, 1], minus multipliers. The doubles computed for that change the form by at most
  (1.01 n_out + 2.01) u (|A| + |beta|)·size, and its constants A'·b and A·shift by 2.1 n_out u of the same (a shift is at
  most 1.01 size). At the input |A' W| |x| <= 1.01 (|A| + |beta|)·size once more, and a support function is off by at
  most (5.1 n_in + 17) u times that; the worst one is the knapsack, where each gain is a difference of two values.
  Adding it all up takes 2 L + 4 additions of sums below 5.1 S, L being the number of steps.
- Together that is below (5.2 n + 11 L + 45) u S, n being the most inputs plus outputs of a step. G = 6 (n + 2 L + 32) u
  is more. S starts at TINY (1 + all sizes): times G, that covers the underflows of more than 2^60 products.
  What is not finite, or beyond HUGE, proves nothing.

*Relaxation.* For z in [l, v], l < 0 < v: relu(z) >= a z if 0 <= a <= 1, and relu(z) <= s z + t if that holds at l and at
v, relu being convex; t is rounded up until it does. A split of sign g says g z >= 0, so taking off beta g z with beta >= 0
only lowers the form. Bounds of a step's units use lines of earlier steps and the splits above the leaf only.

*Cover.* A walk in preorder goes down both sides of every cut, and cuts are exhaustive: z <= 0 or z >= 0; a choice is
listed or not; a word is restored or not, held or out. Knapsacks are over words that are put back entirely, so
budgets count the costs' common divisor; where costs differ, the knapsack's dual is a bound whatever its price.

*Points* are compared with boxes, balls and corners as real numbers (balls in fractions). A margin whose sign the
intervals leave open is computed in whole numbers.
"""

from __future__ import annotations

import base64
import itertools
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from suffice.classifier import Classifier
from suffice.errors import NotACertificate, Rejected
from suffice.network import Bools, Floats, Ints, Step

ROUND, TINY, HUGE = 2.0**-53, 2.0**-800, 2.0**800
WHOLE = 2**53  # whole numbers below are exact as doubles
CHUNK, BATCH = 400_000, 1024  # numbers and leaves worked on at a time
LEANS = (1.0, 1 + 2.0**-30, 1 - 2.0**-30)  # near u = -l the prover may have rounded to the other slope

# What goes beyond these is not read: bytes packed, unpacked, in the header, in another line (and 100 for each unit and
# input); lines; numbers in the points of a region; margins computed in whole numbers, and their digits.
MAX_FILE, MAX_TEXT, MAX_HEADER, MAX_LINE = 2**26, 2**29, 2**23, 2**20
MAX_LINES, MAX_POINTS, MAX_EXACT, MAX_BITS = 2_000_000, 30_000_000, 1000, 20_000

HEADER = {"certificate", "model", "text", "perturbation", "features", "label", "claim"}
CLAIMS = {
    "sufficient": {"kind", "positions"},
    "independent": {"kind", "of"},
    "cheapest": {"kind", "positions", "costs", "unit", "include", "exclude", "cost", "lower"},
    "infeasible": {"kind", "exclude"},
    "refuted": {"kind", "positions"},
}
Line: TypeAlias = dict[str, Any]
Cut: TypeAlias = Callable[[int], None]  # enters side 0 or side 1 of a node, or leaves it (2)


class _Wrong(Exception):
    """Something on the line just read does not hold."""


@dataclass(frozen=True, repr=False)
class Checked:
    """What a certificate proves: `positions` are the words that the claim is about; costs count units of `unit`."""

    kind: str
    label: str
    positions: tuple[int, ...]
    words: tuple[str, ...]
    model: str
    perturbation: Mapping[str, Any]
    features: tuple[int, ...]
    cost: int | None = None
    lower: int | None = None
    unit: str = "1"
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()

    @property
    def optimal(self) -> bool:
        return self.kind == "cheapest" and self.cost == self.lower

    @property
    def sentence(self) -> str:
        """What is proved, and under which assumptions."""
        these = ", ".join(f"{w!r} ({i})" for w, i in zip(self.words, self.positions, strict=True)) or "none"
        limits = f" that holds {list(self.include)} and avoids {list(self.exclude)}"
        among = limits if self.include or self.exclude else ""
        less = f"and no set{among} that costs less than {self.lower} does (costs in units of {self.unit})"
        said = {
            "sufficient": f"these words suffice for the label {self.label!r}",
            "independent": f"the label {self.label!r} does not depend on these words",
            "infeasible": f"no words suffice for the label {self.label!r} without these",
            "refuted": f"these words do not suffice for the label {self.label!r}",
            "cheapest": f"these words suffice for the label {self.label!r} at a cost of {self.cost}, {less}",
        }
        data = " ".join(f"{k} {v}" for k, v in self.perturbation.items() if isinstance(v, int | float | str))
        where = f"each of {len(self.features)} words may change within its set ({data})"
        proved = f"for the classifier {self.model[:16]} in exact real arithmetic, where {where}"
        return f"Proved {proved}: {said[self.kind]}: {these}."

    def __repr__(self) -> str:
        cost = f" (cost {self.cost}, none below {self.lower})" if self.kind == "cheapest" else ""
        name = "optimal" if self.optimal else self.kind
        return f"<Checked {name}: {self.label!r}, words {' '.join(self.words) or '(none)'}{cost}>"


def check(certificate: str | Path | bytes | Any, classifier: Classifier) -> Checked:
    """What a certificate (a file, its bytes, or an object with `lines`) proves of the classifier.

    Raises Rejected, naming the first line that does not hold, or NotACertificate for what is not one at all.
    """
    tape = _Tape(certificate, classifier)
    with np.errstate(all="ignore"):
        try:
            return _Checker(tape, classifier).run()
        except _Wrong as wrong:
            tape.settle()  # a leaf that still waits may be the first line that fails
            raise Rejected(tape.number, str(wrong)) from None


# --- reading ---


class _Tape:
    """The lines one at a time, the number of the last one, and what to do before that one is blamed."""

    def __init__(self, certificate: Any, classifier: Classifier) -> None:
        units = classifier.network.inputs + sum(len(step.bias) for step in classifier.network.steps)
        given = getattr(certificate, "lines", None)
        packed = _parsed(_unpacked(_packed(certificate), MAX_LINE + 100 * units)) if given is None else given
        self.lines, self.number = iter(packed), 0
        self.settle: Callable[[], None] = lambda: None

    def take(self) -> Line:
        self.number += 1
        line = next(self.lines, "nothing, since the proof is not complete")
        if self.number > MAX_LINES:
            raise NotACertificate(f"A certificate of more than {MAX_LINES} lines is not read.")
        if not isinstance(line, dict):
            raise _Wrong(f"here must be an object, not {str(line)[:80]}")
        return line

    def walk(self, visit: Callable[[Line], Cut | None]) -> None:
        """Read a binary tree in preorder; `visit` gives the cut of an inner node, None for a leaf."""
        path: list[tuple[Cut, int]] = []
        while True:
            if (cut := visit(self.take())) is not None:
                path.append((cut, 0))
            else:
                while path and path[-1][1] == 1:
                    path.pop()[0](2)
                if not path:
                    return
                path.append((path.pop()[0], 1))
            path[-1][0](path[-1][1])


def _packed(certificate: Any) -> bytes:
    if isinstance(certificate, bytes):
        data = certificate
    else:
        try:
            with open(certificate, "rb") as file:
                data = file.read(MAX_FILE + 1)
        except (OSError, TypeError, ValueError) as error:
            raise NotACertificate(f"The certificate cannot be read: {error}.") from None
    if len(data) > MAX_FILE:
        raise NotACertificate(f"A certificate of more than {MAX_FILE} bytes is not read.")
    return data


def _unpacked(data: bytes, longest: int) -> Iterator[bytes]:
    """The lines of a gzip file, unpacked piece by piece so that a small file cannot fill the memory."""
    unzip, rest, total, limit = zlib.decompressobj(31), b"", 0, MAX_HEADER
    while not unzip.eof:
        try:
            piece = unzip.decompress(data, 2**18)
        except zlib.error as error:
            raise NotACertificate(f"The file is damaged, or is not a gzip file: {error}.") from None
        data, total = unzip.unconsumed_tail, total + len(piece)
        if not (piece or data or unzip.eof):
            raise NotACertificate("The file is cut off.")
        *lines, rest = (rest + piece).split(b"\n")
        for line in (*lines, rest):
            if len(line) > limit or total > MAX_TEXT:
                raise NotACertificate("The file unpacks to more than is read.")
            limit = limit if line is rest else longest
        yield from lines
    if unzip.unused_data:
        raise NotACertificate("Something follows the end of the file.")
    yield from (rest,) if rest else ()


def _parsed(lines: Iterator[bytes]) -> Iterator[Any]:
    for number, line in enumerate(lines, 1):
        try:  # int refuses NaN and the infinities, which are no JSON
            yield json.loads(line.decode(), parse_constant=int, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            raise NotACertificate(f"Line {number} is not JSON: {str(error)[:200]}.") from None


def _object(pairs: list[tuple[str, Any]]) -> Line:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _need(condition: Any, reason: str) -> None:
    if not condition:
        raise _Wrong(reason)


def _fields(data: Any, names: set[str], what: str) -> Line:
    _need(type(data) is dict and data.keys() == names, f"{what} must have exactly {', '.join(sorted(names))}")
    return dict(data)


def _int(value: Any, low: int, high: int, what: str) -> int:
    _need(type(value) is int and low <= value < high, f"{what} must be a whole number from {low} to {high - 1}")
    return int(value)


def _number(value: Any, what: str, least: float = -HUGE) -> float:
    right = type(value) in (int, float) and least <= value <= HUGE
    _need(right, f"{what} must be a number between {least} and {HUGE}")
    return float(value)


def _numbers(rows: Any, shape: Sequence[int], what: str, least: float = -HUGE) -> Floats:
    sizes = [len(row) if type(row) is list else -1 for row in rows] if type(rows) is list else []
    _need(sizes == [shape[1]] * shape[0], f"{what} must be {shape[0]} rows of {shape[1]} numbers")
    return np.array([[_number(v, what, least) for v in row] for row in rows], dtype=np.float64).reshape(shape)


def _array(data: Any, count: int, what: str) -> Floats:
    """An array of `count` numbers, a size that is compared before anything is decoded."""
    kind, text = next(iter(data.items())) if type(data) is dict and len(data) == 1 else ("", "")
    size = count * {"f4": 4, "f8": 8}.get(kind, 0)
    _need(kind in ("f4", "f8") and type(text) is str, f"{what} must be an array of f4 or f8")
    _need(len(text) == (size + 2) // 3 * 4, f"{what} must hold {count} numbers")
    try:
        values = np.frombuffer(base64.b64decode(text, validate=True), "<" + kind).astype(np.float64)
    except ValueError:
        raise _Wrong(f"{what} is damaged") from None
    _need(len(values) == count and np.isfinite(values).all(), f"{what} must hold {count} finite numbers")
    return values


def _mask(values: Any, within: Bools, what: str) -> Bools:
    """Sorted positions, each of which `within` marks."""
    _need(type(values) is list, f"{what} must be a list of positions")
    places = [_int(value, 0, len(within), f"each of {what}") for value in values]
    _need(all(a < b for a, b in itertools.pairwise(places)), f"{what} must be sorted, each position once")
    mask = np.isin(np.arange(len(within)), places)
    _need(not (mask & ~within).any(), f"{what} must not hold position {(mask & ~within).argmax()}")
    return mask


# --- what words may become ---


@dataclass(frozen=True, eq=False)
class _Region:
    """One set per position, between `low` and `high`; `points` are its corners or choices, where it has such."""

    kind: str
    center: Floats
    low: Floats
    high: Floats
    radius: float
    norm: float
    points: tuple[Floats, ...]

    def holds(self, place: int, vector: Floats) -> bool:
        """Whether the vector is in the word's set, as real numbers (for a hull: one of its corners)."""
        if self.points:
            return bool((self.points[place] == vector).all(-1).any())
        if self.kind == "box":
            return bool(((self.low[place] <= vector) & (vector <= self.high[place])).all())
        pairs = zip(vector.tolist(), self.center[place].tolist(), strict=True)
        gaps, radius = [abs(Fraction(a) - Fraction(b)) for a, b in pairs], Fraction(self.radius)
        if self.norm == 2:
            return sum(gap * gap for gap in gaps) <= radius * radius
        return (sum(gaps) if self.norm == 1 else max(gaps)) <= radius


def _region(data: Any, classifier: Classifier, tokens: list[str], features: Bools) -> _Region:
    own = [classifier.lookup.get(token, classifier.lookup[classifier.unknown]) for token in tokens]
    center, free, radius, norm = classifier.table[own], features[:, None], 0.0, math.inf
    kind, points = data.get("kind") if type(data) is dict else None, ()
    if kind == "epsilon-ball":
        radius = _number(_fields(data, {"kind", "eps", "p"}, "the ball")["eps"], "eps", 0.0)
        _need(type(data["p"]) in (int, str) and data["p"] in (1, 2, "inf"), "p must be 1, 2 or inf")
        low, high, norm = center - radius, center + radius, float(data["p"])
        low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    elif kind == "boxes":
        _fields(data, {"kind", "lower", "upper"}, "boxes")
        low, high = (_numbers(data[side], center.shape, side) for side in ("lower", "upper"))
        _need(((low <= center) & (center <= high)).all(), "each box must hold the word's own vector")
    else:
        rows = [_row(data, classifier, t, i) if f else [i] for t, i, f in zip(tokens, own, features, strict=True)]
        _need(len(rows) * max(map(len, rows)) * center.shape[1] <= MAX_POINTS, "the sets have too many points")
        points = tuple(classifier.table[row] for row in rows)
        low, high = np.stack([p.min(0) for p in points]), np.stack([p.max(0) for p in points])
    kind = {"boxes": "box", "knn-box": "box", "epsilon-ball": "ball", "knn-hull": "hull"}.get(kind, "choice")
    low, high = np.where(free, low, center), np.where(free, high, center)
    return _Region(kind, center, low, high, radius, norm, points if kind in ("hull", "choice") else ())


def _row(data: Any, classifier: Classifier, token: str, own: int) -> list[int]:
    """The word and what it may become, as places in the vocabulary."""
    lookup, unknown = classifier.lookup, classifier.lookup[classifier.unknown]
    match data:
        case {"kind": "knn-box" | "knn-hull", "k": k} if len(data) == 2:
            special = [own, lookup[classifier.pad], unknown]
            return [own, *_nearest(classifier.table, special, _int(k, 0, len(lookup) - 2, "k"))]
        case {"kind": "deletion"} if len(data) == 1:
            return [own, lookup[classifier.pad]]
        case {"kind": "word-swap", "swaps": dict(swaps)} if len(data) == 2:
            listed = swaps.get(token, swaps.get(token.lower(), []))
            _need(type(listed) is list and all(type(word) is str for word in listed), "swaps must list words")
            others = dict.fromkeys(word for word in listed if word != token)
            return [own, *(lookup.get(word, lookup.get(word.lower(), unknown)) for word in others)]
    raise _Wrong("the perturbation set is none that this format knows")


def _nearest(table: Floats, special: list[int], k: int) -> list[int]:
    """The k words nearest to the first of the special ones, and none of those, by the rule of the format."""
    distance = np.zeros(len(table))
    for axis in range(table.shape[1]):
        distance += (table[:, axis] - table[special[0], axis]) ** 2
    others = np.flatnonzero(~np.isin(np.arange(len(table)), special))
    if k:
        others = others[distance[others] <= np.partition(distance[others], k - 1)[k - 1]]
    return [int(i) for i in others[np.argsort(distance[others], kind="stable")][:k]]


# --- input sets: least values of linear forms ---


class _Free:
    """Free words range over boxes or balls. `state` is what cuts have left of the set: here it is never cut."""

    def __init__(self, region: _Region, free: Bools) -> None:
        sides = (region.low, region.high) if region.norm == math.inf else (region.center, region.center)
        self.low, self.high = (np.where(free[:, None], side, region.center).ravel() for side in sides)
        self.shape, self.width, self.norm = region.center.shape, region.center.size, region.norm
        self.radius, self.state = region.radius * free, None

    def least(self, rows: Floats, states: Sequence[Any]) -> Floats:
        """Least values (n, r) of rows (n or 1, r, inputs) over the sets of n states."""
        up = np.maximum(rows, 0.0)
        total = up @ self.low + (rows - up) @ self.high
        if self.norm == math.inf:
            return np.asarray(total)
        size = np.abs(rows.reshape(*rows.shape[:2], *self.shape))
        norm = size.max(-1)
        if self.norm == 2:
            norm = norm * np.sqrt(((size / np.where(norm > 0, norm, 1.0)[..., None]) ** 2).sum(-1))
        return np.asarray(total - norm @ self.radius)

    def empty(self) -> bool:
        return False

    def pick(self, line: Line) -> Cut:
        raise _Wrong("there is nothing to pick in this set")

    def between(self, *sides: Any) -> Cut:
        states = (*sides, self.state)
        return lambda side: setattr(self, "state", states[side])


class _Points(_Free):
    """Free words have corners (of a hull), or choices, some of which picks leave: `state` is (words, points)."""

    def __init__(self, region: _Region, free: Bools) -> None:
        super().__init__(region, np.zeros_like(free))
        self.words, self.choice = np.flatnonzero(free), region.kind == "choice"
        counts = np.array([len(region.points[word]) for word in self.words], dtype=np.int64)
        self.state: Any = np.arange(counts.max(initial=1)) < counts[:, None]
        self.points = np.zeros((*self.state.shape, self.shape[1]))
        self.points[self.state] = np.concatenate(
            [np.zeros((0, self.shape[1])), *(region.points[w] for w in self.words)]
        )
        self.fixed = np.where(free[:, None], 0.0, region.center).ravel()
        self.width = max(self.width, self.state.size)

    def least(self, rows: Floats, states: Sequence[Any]) -> Floats:
        shaped = rows.reshape(-1, *self.shape)[:, self.words].transpose(1, 0, 2)
        values = np.matmul(shaped, self.points.transpose(0, 2, 1)).transpose(1, 0, 2)
        values = values.reshape(*rows.shape[:2], *self.points.shape[:2])
        return np.asarray(rows @ self.fixed + np.where(np.stack(states)[:, None], values, np.inf).min(-1).sum(-1))

    def empty(self) -> bool:
        return not self.state.any(-1).all()

    def pick(self, line: Line) -> Cut:
        place = _int(_fields(line, {"pick", "chosen"}, "a pick")["pick"], 0, self.shape[0], "the word")
        _need(self.choice and place in self.words, "only a free word that has choices can be picked")
        _need(type(line["chosen"]) is list, "chosen must be a list of choices")
        listed = [_int(choice, 0, WHOLE, "a choice") for choice in line["chosen"]]
        chosen, others = np.isin(np.arange(self.state.shape[1]), listed), (self.words != place)[:, None]
        return self.between(self.state & (others | chosen), self.state & (others | ~chosen))


class _Restored(_Free):
    """A perturbed text of which open words may be put back: `state` is (text, open words, what may be spent)."""

    def __init__(self, region: _Region, costs: Ints) -> None:
        super().__init__(region, np.zeros(len(costs), dtype=bool))
        self.center, self.unit = region.center, int(np.gcd.reduce(costs))
        self.costs = costs // self.unit

    def least(self, rows: Floats, states: Sequence[Any]) -> Floats:
        start, opened, left = (np.stack(part) for part in zip(*states, strict=True))
        gains = np.einsum("nrld,nld->nrl", rows.reshape(*rows.shape[:2], *self.shape), self.center - start)
        gains = np.minimum(gains * (opened & (self.costs <= left[:, None]))[:, None], 0.0)
        total = np.matmul(rows, start.reshape(len(start), -1, 1))[..., 0]
        if (self.costs == 1).all():
            return np.asarray(total + (np.sort(gains) * (np.arange(len(self.costs)) < left[:, None, None])).sum(-1))
        ratio = gains / self.costs
        order = np.argsort(ratio)
        beyond = np.cumsum(self.costs[order], -1) > left[:, None, None]
        last = np.take_along_axis(order, beyond.argmax(-1)[..., None], -1)  # the first that is taken in part
        price = np.where(beyond.any(-1), -np.take_along_axis(ratio, last, -1)[..., 0], 0.0)
        worth = np.minimum(gains + price[..., None] * self.costs, 0.0).sum(-1)
        return np.asarray(total + worth - price * left[:, None])

    def empty(self) -> bool:
        return bool(self.state[2] < 0)

    def pick(self, line: Line) -> Cut:
        start, opened, left = self.state
        place = _int(_fields(line, {"pick"}, "a pick")["pick"], 0, len(opened), "the word")
        _need(opened[place], "only an open word can be picked")
        mark = np.arange(len(opened)) == place
        back = np.where(mark[:, None], self.center, start)
        return self.between((back, opened & ~mark, left - int(self.costs[place])), (start, opened & ~mark, left))

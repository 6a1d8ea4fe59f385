"""The independent checker: reads a certificate (docs/certificate.md) and says what it proves, or which line fails.

It shares no code with the prover and trusts neither the file nor floating point. Why it is sound:

*Rounding.* u = 2^-53. A sum of m products of floats, added in any order, with or without fused operations, is off
by at most 1.01 m u Σ|a||b|, plus what products lose below the smallest normal number. Every bound here is worked
out in doubles and lowered by G·S, where S adds up how large everything in it can be:

- Interval bounds over the whole region (every feature free), each widened by G, bound the inputs and outputs h of all
  steps; `size` = |W| |h| + |b| bounds the terms of each pre-activation z = W h + b, and so |z|.
- A row A of floats over the outputs of a step counts as exact. Going back through the relu and the step replaces it by
  floats A' W, where A' is A times slopes in [0, 1] minus multipliers. That changes the form by at most
  (1.01 n_out + 2.01) u (|A| + |beta|)·size, its constants A'·b and A·shift by another 1.02 n_out u of the same (a chord's
  shift is at most 1.01 size). At the input, |A' W| |x| <= 1.01 (|A| + |beta|)·size of the first step again, and a
  support function is off by at most (5.1 n_in + 17) u of it (the worst one is the knapsack over words of one
  dimension: values are up to three times as large, and word gains are summed twice). Adding the parts up takes
  2 L + 4 additions of partial sums below 5.1 S (L steps), so 11 L + 21 roundings.
- So all errors are below (5.2 n + 11 L + 45) u S, n being the most inputs plus outputs that a step has.
  G = 6 (n + 2 L + 32) u is more. S starts with TINY (1 + the sum of all sizes): times G that is far more than what all
  the underflows of up to 2^60 products can lose. What is not finite, or larger than HUGE, proves nothing.

*Relaxation.* Over [l, u] with l < 0 < u, relu(z) >= a z for a in [0, 1], and relu(z) <= s z + t wherever that holds at l
and at u, relu being convex; t is rounded up until it does. A split of sign g says g z >= 0, so subtracting beta g z with
beta >= 0 only lowers the form. Bounds of a step's units use only lines of earlier steps, and the signs above the leaf.

*Cover.* A walk over a tree in preorder goes through both sides of every cut, and cuts are exhaustive: z <= 0 or z >= 0,
a choice is listed or not, a word is restored or not, is in the explanation or not.

*Points* are compared with boxes, corners and balls as real numbers (balls in fractions), and a margin whose sign the
intervals leave open is computed in whole numbers. Knapsacks are over words put back entirely, so whole numbers of
the costs' common divisor; for unequal costs they are bounded by their dual, which holds for any price of the budget.
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
WHOLE = 2**53  # whole numbers below are exact as floats
CHUNK, BATCH = 400_000, 1024  # numbers and leaves worked on at a time
LEANS = (1.0, 1 + 2.0**-30, 1 - 2.0**-30)  # near u = -l the prover may have rounded to the other slope

# What goes beyond these is not read: bytes packed, unpacked, in the header, in another line (and 100 for each unit
# and input); lines; numbers in the points of a region; margins computed in whole numbers, and their digits.
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
    """What a certificate proves of the classifier it was checked with.

    `positions` are the words that the claim is about, `words` what they are. `cost` and `lower` count units of `unit`;
    no set that holds `include`, avoids `exclude` and costs less than `lower` suffices.
    """

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
        said = {
            "sufficient": f"these words suffice for the label {self.label!r}: {these}",
            "independent": f"the label {self.label!r} does not depend on these words: {these}",
            "infeasible": f"no words suffice for the label {self.label!r} without these: {these}",
            "refuted": f"these words do not suffice for the label {self.label!r}: {these}",
            "cheapest": f"these words suffice for the label {self.label!r} at a cost of {self.cost}, and no set"
            f"{limits if self.include or self.exclude else ''} that costs less than {self.lower} does"
            f" (in units of {self.unit}): {these}",
        }[self.kind]
        data = " ".join(f"{k} {v}" for k, v in self.perturbation.items() if isinstance(v, int | float | str))
        where = f"each of {len(self.features)} words may change within its set ({data})"
        return f"Proved, in exact real arithmetic, for the classifier {self.model[:16]}, where {where}: {said}."

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
            number = tape.number
            tape.settle()  # a leaf that still waits may be the first line that fails
            raise Rejected(number, str(wrong)) from None


# --- reading ---


class _Tape:
    """The lines one at a time, the number of the last one taken, and what to do before one of them is blamed."""

    def __init__(self, certificate: Any, classifier: Classifier) -> None:
        network = classifier.network
        longest = MAX_LINE + 100 * (network.inputs + sum(len(step.bias) for step in network.steps))
        given = getattr(certificate, "lines", None)
        self.lines = iter(tuple(given)) if given is not None else _parsed(_packed(certificate), longest)
        self.number = 0
        self.settle: Callable[[], None] = lambda: None

    def take(self) -> Line:
        self.number += 1
        line = next(self.lines, "nothing, though the proof is not complete")
        if not isinstance(line, dict):
            raise _Wrong(f"here must be an object, not {str(line)[:80]}")
        return line

    def walk(self, visit: Callable[[Line], Cut | None]) -> None:
        """Read a binary tree in preorder; `visit` gives the cut of a node that has two subtrees, None for a leaf."""
        path: list[tuple[Cut, int]] = []
        while True:
            found = visit(self.take())
            if found is not None:
                path.append((found, 0))
            else:
                while path and path[-1][1] == 1:
                    path.pop()[0](2)
                if not path:
                    return
                path.append((path.pop()[0], 1))
            path[-1][0](path[-1][1])


def _packed(certificate: Any) -> bytes:
    try:
        with open(certificate, "rb") if not isinstance(certificate, bytes) else io.BytesIO(certificate) as file:
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
            raise NotACertificate(f"The file is damaged or not a gzip file: {error}.") from None
        if not piece and not unzip.eof and not unzip.unconsumed_tail:
            raise NotACertificate("The file is cut off.")
        data, total = unzip.unconsumed_tail, total + len(piece)
        *lines, rest = (rest + piece).split(b"\n")
        for line in (*lines, rest):
            if len(line) > limit or total > MAX_TEXT:
                raise NotACertificate("The file unpacks to more than is read.")
            limit = limit if line is rest else longest
        yield from lines
    if unzip.unused_data:
        raise NotACertificate("Something follows the end of the file.")
    yield from (rest,) if rest else ()


def _parsed(data: bytes, longest: int) -> Iterator[Any]:
    for number, line in enumerate(_unpacked(data, longest), 1):
        if number > MAX_LINES:
            raise NotACertificate(f"A certificate of more than {MAX_LINES} lines is not read.")
        try:
            yield json.loads(line.decode(), parse_constant=_refuse, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            raise NotACertificate(f"Line {number} is not JSON: {str(error)[:200]}.") from None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _object(pairs: list[tuple[str, Any]]) -> Line:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _need(condition: bool | np.bool_, reason: str) -> None:
    if not condition:
        raise _Wrong(reason)


def _fields(data: Any, names: set[str], what: str) -> Line:
    if not isinstance(data, dict) or data.keys() != names:
        raise _Wrong(f"{what} must be an object with exactly {', '.join(sorted(names))}")
    return data


def _int(value: Any, low: int, high: int, what: str) -> int:
    _need(type(value) is int and low <= value < high, f"{what} must be a whole number from {low} to {high - 1}")
    return int(value)


def _number(value: Any, what: str, least: float = -math.inf) -> float:
    whole = type(value) is int and abs(value) <= WHOLE
    _need(whole or (type(value) is float and math.isfinite(value)), f"{what} must be a finite number")
    _need(value >= least, f"{what} must be at least {least}")
    return float(value)


def _numbers(rows: Any, shape: Sequence[int], what: str, least: float = -math.inf) -> Floats:
    sizes = [len(row) if isinstance(row, list) else -1 for row in rows] if isinstance(rows, list) else []
    _need(sizes == [shape[1]] * shape[0], f"{what} must be {shape[0]} rows of {shape[1]} numbers")
    return np.array([[_number(v, what, least) for v in row] for row in rows], dtype=np.float64).reshape(shape)


def _array(data: Any, count: int, what: str) -> Floats:
    """An array of `count` numbers; its size is compared before it is decoded."""
    kind, text = next(iter(data.items())) if isinstance(data, dict) and len(data) == 1 else ("", "")
    _need(kind in ("f4", "f8") and isinstance(text, str), f"{what} must be an array of f4 or f8")
    size = count * int(kind[1])
    _need(len(text) == (size + 2) // 3 * 4, f"{what} must hold {count} numbers")
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raise _Wrong(f"{what} is not base64") from None
    _need(len(raw) == size, f"{what} must hold {count} numbers")
    values = np.frombuffer(raw, "<" + kind).astype(np.float64)
    _need(np.isfinite(values).all(), f"{what} must hold finite numbers only")
    return values


def _mask(values: Any, within: Bools, what: str) -> Bools:
    """Sorted positions, each of which `within` marks."""
    _need(isinstance(values, list), f"{what} must be a list of positions")
    places = [_int(value, 0, len(within), f"each of {what}") for value in values]
    _need(all(a < b for a, b in itertools.pairwise(places)), f"{what} must be sorted, each position once")
    mask = np.isin(np.arange(len(within)), places)
    _need(not (mask & ~within).any(), f"{what} must not hold position {int((mask & ~within).argmax())}")
    return mask


# --- what words may become ---


@dataclass(frozen=True, eq=False)
class _Region:
    """One set per position: `low` and `high` bound them all; `points` are corners or choices, where they are finite."""

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
            return bool((self.low[place] <= vector).all() and (vector <= self.high[place]).all())
        pairs = zip(vector.tolist(), self.center[place].tolist(), strict=True)
        gaps, radius = [abs(Fraction(a) - Fraction(b)) for a, b in pairs], Fraction(self.radius)
        if self.norm == 2:
            return sum(gap * gap for gap in gaps) <= radius * radius
        return (sum(gaps) if self.norm == 1 else max(gaps)) <= radius


def _region(data: Any, classifier: Classifier, tokens: list[str], features: Bools) -> _Region:
    own = [classifier.lookup.get(token, classifier.lookup[classifier.unknown]) for token in tokens]
    center, radius, norm, points = classifier.table[own], 0.0, math.inf, ()
    kind, free = data.get("kind") if isinstance(data, dict) else None, features[:, None]
    if kind == "epsilon-ball":
        _need(data.get("p") in (1, 2, "inf") and type(data["p"]) is not bool, "p must be 1, 2 or inf")
        radius, norm = _number(_fields(data, {"kind", "eps", "p"}, "the ball")["eps"], "eps", 0.0), float(data["p"])
        low, high = np.nextafter(center - radius, -np.inf), np.nextafter(center + radius, np.inf)
    elif kind == "boxes":
        sides = _fields(data, {"kind", "lower", "upper"}, "boxes")
        low, high = (_numbers(sides[side], center.shape, "boxes") for side in ("lower", "upper"))
        _need(((low <= center) & (center <= high)).all(), "each box must hold the word's own vector")
        kind = "box"
    else:
        rows = [_row(data, kind, classifier, t, i) if f else [i] for t, i, f in zip(tokens, own, features, strict=True)]
        low, high = (np.stack([side(classifier.table[row], 0) for row in rows]) for side in (np.min, np.max))
        kind = {"knn-box": "box", "knn-hull": "hull"}.get(kind, "choice")
        if len(rows) * max(map(len, rows)) * center.shape[1] > MAX_POINTS:
            raise NotACertificate(f"A region of more than {MAX_POINTS} numbers is not read.")
        points = () if kind == "box" else tuple(classifier.table[row] for row in rows)
    low, high = np.where(free, low, center), np.where(free, high, center)
    return _Region(kind, center, low, high, radius, norm, points)


def _row(data: Any, kind: Any, classifier: Classifier, token: str, own: int) -> list[int]:
    """The word and what it may become, as places in the vocabulary."""
    lookup, unknown = classifier.lookup, classifier.lookup[classifier.unknown]
    if kind in ("knn-box", "knn-hull"):
        k = _int(_fields(data, {"kind", "k"}, "the set")["k"], 0, max(1, len(classifier.table) - 2), "k")
        return [own, *_nearest(classifier.table, own, [lookup[classifier.pad], unknown], k)]
    if kind == "deletion":
        _fields(data, {"kind"}, "deletion")
        return [own, lookup[classifier.pad]]
    _need(kind == "word-swap", "the perturbation set is none that this format knows")
    swaps = _fields(data, {"kind", "swaps"}, "word swaps")["swaps"]
    listed = swaps.get(token, swaps.get(token.lower(), [])) if isinstance(swaps, dict) else None
    _need(isinstance(listed, list) and all(type(w) is str for w in listed), "swaps must map words to lists of words")
    return [own, *(lookup.get(w, lookup.get(w.lower(), unknown)) for w in dict.fromkeys(listed) if w != token)]


def _nearest(table: Floats, word: int, special: list[int], k: int) -> list[int]:
    """By squared distances summed in order of coordinates; ties go to the word that is first in the vocabulary."""
    distance = np.zeros(len(table))
    for axis in range(table.shape[1]):
        distance += (table[:, axis] - table[word, axis]) ** 2
    usable = np.ones(len(table), dtype=bool)
    usable[[word, *special]] = False
    others = np.flatnonzero(usable)
    if k:
        others = others[distance[others] <= np.partition(distance[others], k - 1)[k - 1]]
    return [int(i) for i in others[np.argsort(distance[others], kind="stable")][:k]]


# --- input sets: least values of linear forms ---


class _Free:
    """Words that range over boxes or balls. `state` is what the cuts so far leave of a set; here nothing is cut."""

    def __init__(self, region: _Region, free: Bools) -> None:
        center, mark = region.center, free[:, None]
        round_ = region.norm < math.inf
        self.low, self.high = (center if round_ else np.where(mark, side, center) for side in (region.low, region.high))
        self.shape, self.width, self.norm = center.shape, center.size, region.norm
        self.radius = region.radius * free
        self.state: Any = None

    def least(self, rows: Floats, states: Sequence[Any]) -> Floats:
        """Least values (n, r) of rows (n or 1, r, inputs) over the sets of n states."""
        up = np.maximum(rows, 0.0)
        total = up @ self.low.ravel() + (rows - up) @ self.high.ravel()
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
        raise _Wrong("there is nothing to pick from in this set")

    def between(self, first: Any, second: Any) -> Cut:
        sides = (first, second, self.state)

        def cut(side: int) -> None:
            self.state = sides[side]

        return cut


class _Points(_Free):
    """Free words have corners (of a hull), or choices of which picks leave some: `state` (words, points)."""

    def __init__(self, region: _Region, free: Bools) -> None:
        super().__init__(region, np.zeros_like(free))
        self.words, self.choice = np.flatnonzero(free), region.kind == "choice"
        counts = np.array([len(region.points[w]) for w in self.words], dtype=np.int64)
        self.state = np.arange(counts.max(initial=1)) < counts[:, None]
        self.points = np.zeros((*self.state.shape, self.shape[1]))
        for row, word in enumerate(self.words):
            self.points[row, : counts[row]] = region.points[word]
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
        _need(isinstance(line["chosen"], list), "chosen must be a list of choices")
        listed = [_int(choice, 0, WHOLE, "a choice") for choice in line["chosen"]]
        chosen = np.isin(np.arange(self.state.shape[1]), listed)
        others = (self.words != place)[:, None]
        return self.between(self.state & (others | chosen), self.state & (others | ~chosen))


class _Restored(_Free):
    """A perturbed text of which open words may be put back: `state` (text, open words, what is left to spend)."""

    def __init__(self, region: _Region, costs: Ints) -> None:
        super().__init__(region, np.zeros(len(costs), dtype=bool))
        self.center, self.divisor = region.center, int(np.gcd.reduce(costs))
        self.costs = costs // self.divisor

    def begin(self, start: Floats, opened: Bools, budget: int) -> None:
        self.state = (start, opened, budget // self.divisor)

    def least(self, rows: Floats, states: Sequence[Any]) -> Floats:
        start, opened, left = (np.stack(part) for part in zip(*states, strict=True))
        gains = np.einsum("nrld,nld->nrl", rows.reshape(*rows.shape[:2], *self.shape), self.center - start)
        gains = np.minimum(gains * (opened & (self.costs <= left[:, None]))[:, None], 0.0)
        total = np.matmul(rows, start.reshape(len(start), -1, 1))[..., 0]
        if (self.costs == 1).all():
            return np.asarray(total + (np.sort(gains) * (np.arange(len(self.costs)) < left[:, None, None])).sum(-1))
        ratio = gains / self.costs
        order = np.argsort(ratio)
        beyond = np.cumsum(self.costs[order], -1) > left[:, None, None]  # from the first word that is not affordable
        last = np.take_along_axis(order, beyond.argmax(-1)[..., None], -1)
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

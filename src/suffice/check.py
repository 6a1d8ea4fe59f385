"""The independent checker: what a certificate (docs/certificate.md) proves, or the first line of it that fails.

It shares no code with the prover and trusts neither the file nor floating point. Why it is sound:

*Rounding.* With u = 2^-53, a sum of m products of doubles, in any order, with or without fused operations, is off by at
most 1.01 m u Σ|a||b|, plus underflow. Bounds are worked out in doubles and lowered by G·S, where S adds up how large
all that goes into them can be. Interval bounds over the whole region (every feature free), widened by G, bound the values
h between steps; `size` = |W||h| + |b| bounds the terms of each pre-activation z = W h + b, so |z| too. A row A of doubles
over a step's outputs counts as exact. Back through relu and step it becomes A'W, A' being A times slopes in [0, 1]
minus multipliers: the doubles computed for it change the form by at most (1.01 n_out + 2.01) u (|A| + |beta|)·size, and
its constants A'·b and A·shift by 2.1 n_out u of the same. At the input |A'W||x| <= 1.01 (|A| + |beta|)·size again, and a
support function is off by (5.1 n_in + 17) u times that (the knapsack, whose gains are differences, is the worst).
Adding up takes 2 L + 4 additions of sums below 5.1 S for L steps. All that is below (5.2 n + 11 L + 45) u S, n being
the most inputs plus outputs of a step; G = 6 (n + 2 L + 32) u. S starts at TINY (1 + all sizes), which times G covers
the underflows of more than 2^60 products. What is not finite, or beyond HUGE, proves nothing.

*Relaxation.* For z in [l, v], l < 0 < v: relu(z) >= a z if 0 <= a <= 1, and relu(z) <= s z + t if that holds at l and at v,
relu being convex; t is rounded up until it does. A split of sign g says g z >= 0, so taking off beta g z, beta >= 0, only
lowers the form. Bounds of a step's units use lines of earlier steps and the splits above the leaf only.

*Cover.* A walk in preorder goes down both sides of every cut, and cuts are exhaustive: z <= 0 or z >= 0; a choice is
listed or not; a word is restored or not, held or out. Knapsacks are over words put back entirely, so budgets count the
costs' common divisor; where costs differ, the knapsack's dual is a bound whatever its price.

*Points* are compared as real numbers (balls in fractions); a margin that the intervals leave open is computed in fractions.
"""

from __future__ import annotations

import base64
import io
import itertools
import json
import math
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from suffice.classifier import Classifier
from suffice.errors import NotACertificate, Rejected
from suffice.network import Bools, Floats, Ints, Step

ROUND, TINY, HUGE = 2.0**-53, 2.0**-800, 2.0**800
WHOLE = 2**53  # whole numbers below are exact as doubles
CHUNK, BATCH = 400_000, 1024  # numbers and leaves worked on at a time
LEANS = (1.0, 1 + 2.0**-30, 1 - 2.0**-30)  # near u = -l the prover may have rounded to the other slope
# What goes beyond these is not read: bytes in all, in the header, in another line (and 100 for each unit and input);
# lines; numbers in the points of a region; margins computed in fractions.
MAX_BYTES, MAX_HEADER, MAX_LINE, MAX_LINES, MAX_POINTS, MAX_EXACT = 2**29, 2**23, 2**20, 2 * 10**6, 3 * 10**7, 200
HEADER = "certificate model text perturbation features label claim"
CHEAPEST = "kind positions costs unit include exclude cost lower"
SAID = {
    "sufficient": "these words suffice for it",
    "independent": "it does not depend on these words",
    "infeasible": "no words suffice for it without these",
    "refuted": "these words do not suffice for it",
    "cheapest": "these words suffice for it at a cost of {cost}, and no set that costs less than {lower} does, "
    "if it holds {include} and avoids {exclude} (costs in units of {unit})",
}
Cut = Callable[[int], None]  # enters side 0 or side 1 of a node, or leaves it (2)


@dataclass(frozen=True, repr=False)
class Checked:
    """What a certificate proves of the words at `positions`; costs count units, and none below `lower` suffices."""

    kind: str
    label: str
    positions: tuple[int, ...]
    cost: int | None
    lower: int | None
    optimal: bool
    sentence: str

    def __repr__(self) -> str:
        cost = f", cost {self.cost}, none below {self.lower}" if self.kind == "cheapest" else ""
        return f"<Checked {'optimal' if self.optimal else self.kind}: {self.label!r}, words {self.positions}{cost}>"


def check(certificate: Any, classifier: Classifier) -> Checked:
    """What a certificate (a path, bytes, or an object with `lines`) proves of the classifier.

    Raises Rejected, naming the first line that does not hold, or NotACertificate for what is not one at all.
    """
    checker = _Checker(certificate, classifier)
    with np.errstate(all="ignore"):
        try:
            return checker.run()
        except Rejected as wrong:
            line, reason = wrong.line or checker.number, wrong.reason  # 0 is the line just read
        except NotACertificate:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            line, reason = checker.number, f"malformed ({type(error).__name__}: {str(error)[:200]})"
        checker.settle()  # a leaf that still waits may be the first line that fails
        raise Rejected(line, reason)


# --- reading ---


def _lines(certificate: Any, longest: int) -> Iterator[Any]:
    try:
        with io.BytesIO(certificate) if isinstance(certificate, bytes) else open(certificate, "rb") as file:
            for line in _unpacked(file, longest):  # int refuses NaN and the infinities, which are no JSON
                yield json.loads(line.decode(), parse_constant=int, object_pairs_hook=_object)
    except (OSError, TypeError, ValueError, RecursionError, zlib.error) as error:
        raise NotACertificate(f"This is not a certificate: {str(error)[:200]}") from None


def _unpacked(file: Any, longest: int) -> Iterator[bytes]:
    """The lines of a gzip file, unpacked piece by piece so that a small file cannot fill the memory."""
    unzip, rest, total, limit = zlib.decompressobj(31), b"", 0, MAX_HEADER
    while not unzip.eof:
        packed = unzip.unconsumed_tail or file.read(2**16)
        piece = unzip.decompress(packed, 2**18)
        if not packed and not piece and not unzip.eof:
            raise ValueError("the file is cut off")
        total += len(packed) + len(piece)
        *lines, rest = (rest + piece).split(b"\n")
        for line in (*lines, rest):
            if len(line) > limit or total > MAX_BYTES:
                raise ValueError("it unpacks to more than is read")
            limit = limit if line is rest else longest
        yield from lines
    if unzip.unused_data or file.read(1) or rest:
        raise ValueError("it does not end with a line")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _need(condition: Any, reason: str) -> None:
    if not condition:
        raise Rejected(0, reason)


def _fields(data: Any, names: str, what: str) -> list[Any]:
    """The values of an object that must have exactly these keys."""
    _need(type(data) is dict and data.keys() == set(names.split()), f"{what} must have exactly: {names}")
    return [data[name] for name in names.split()]


def _int(value: Any, low: int, high: int, what: str) -> int:
    _need(type(value) is int and low <= value < high, f"{what} must be a whole number from {low} to {high - 1}")
    return int(value)


def _mask(values: list[Any], within: Bools, what: str) -> Bools:
    """Sorted positions, each of which `within` marks."""
    places = [_int(value, 0, len(within), f"each of {what}") for value in values]
    _need(all(a < b for a, b in itertools.pairwise(places)), f"{what} must be sorted, each position once")
    _need(within[places].all(), f"{what} holds a position that is not allowed here")
    return np.isin(np.arange(len(within)), places)


def _numbers(values: list[Any], shape: Sequence[int], what: str, least: float = -HUGE) -> Floats:
    """Rows of JSON numbers."""
    _need([len(row) for row in values] == [shape[1]] * shape[0], f"{what} must be {shape[0]} rows of {shape[1]}")
    right = all(type(v) in (int, float) and least <= v <= HUGE and v == float(v) for row in values for v in row)
    _need(right, f"{what} must be numbers between {least} and {HUGE}")
    return np.array(values, dtype=np.float64).reshape(shape)


def _array(data: dict[str, str], count: int, what: str) -> Floats:
    """An array of `count` numbers, a size that is compared before anything is decoded."""
    ((kind, text),) = data.items()
    _need(len(text) == (count * {"f4": 4, "f8": 8}[kind] + 2) // 3 * 4, f"{what} must hold {count} numbers")
    values = np.frombuffer(base64.b64decode(text, validate=True), "<" + kind).astype(np.float64)
    _need(len(values) == count and np.isfinite(values).all(), f"{what} must hold {count} finite numbers")
    return values


# --- input sets: what they hold, how picks divide them, least values of linear forms ---


class _Region:
    """What each word may become, between `low` and `high`: a box, a ball, corners of a hull, or choices (`points`).

    A state is a mask (length, m): which of its points a word may have, or, for boxes and balls, whether it is free.
    """

    def __init__(self, data: Any, classifier: Classifier, tokens: list[str], features: Bools) -> None:
        own = [classifier.lookup.get(token, classifier.lookup[classifier.unknown]) for token in tokens]
        self.center, self.radius, self.norm = classifier.table[own], 0.0, math.inf
        self.points = self.center[:, None][:, :0]
        match data:
            case {"kind": "epsilon-ball", "eps": eps, "p": 1 | 2 | "inf" as p} if len(data) == 3 and p is not True:
                self.radius, self.norm = float(_numbers([[eps]], (1, 1), "eps", 0.0)[0, 0]), float(p)
                low, high = self.center - self.radius, self.center + self.radius
                low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
            case {"kind": "boxes", "lower": lower, "upper": upper} if len(data) == 3:
                low, high = (_numbers(side, self.center.shape, "boxes") for side in (lower, upper))
                _need(((low <= self.center) & (self.center <= high)).all(), "a box misses the word's own vector")
            case _:
                words = zip(tokens, own, features, strict=True)
                rows = [_row(data, classifier, token, i, bool(f)) for token, i, f in words]
                most = max(map(len, rows))
                _need(len(rows) * most * self.center.shape[1] <= MAX_POINTS, "the sets have too many points")
                points = classifier.table[[row + row[:1] * (most - len(row)) for row in rows]]
                low, high = points.min(1), points.max(1)
                self.points = points if data["kind"] != "knn-box" else self.points
        self.kind = data["kind"]
        self.low, self.high = (np.where(features[:, None], side, self.center) for side in (low, high))

    def begin(self, free: Bools) -> Bools:
        """The state in which the free words range over all of their sets."""
        return free[:, None] | (np.arange(self.points.shape[1] or 1) == 0) if self.points.size else free[:, None]

    def least(self, rows: Floats, states: Sequence[Any]) -> Floats:
        """Least values (n, r) of rows (n or 1, r, inputs) over the sets of n states."""
        if self.points.size:
            shaped = rows.reshape(-1, *self.center.shape).transpose(1, 0, 2)
            values = np.matmul(shaped, self.points.transpose(0, 2, 1)).transpose(1, 0, 2)
            values = values.reshape(*rows.shape[:2], *self.points.shape[:2])
            return np.asarray(np.where(np.stack(states)[:, None], values, np.inf).min(-1).sum(-1))
        if self.norm == math.inf:
            low, high = (np.where(states[0], side, self.center).ravel() for side in (self.low, self.high))
            return np.asarray(np.maximum(rows, 0.0) @ low + np.minimum(rows, 0.0) @ high)
        size = np.abs(rows.reshape(*rows.shape[:2], *self.center.shape))
        norm = size.max(-1)
        if self.norm == 2:
            norm = norm * np.sqrt(((size / np.where(norm > 0, norm, 1.0)[..., None]) ** 2).sum(-1))
        return np.asarray(rows @ self.center.ravel() - norm @ (self.radius * states[0][:, 0]))

    def pick(self, line: dict[str, Any], state: Any) -> tuple[Any, Any]:
        """The two states that a pick divides a state into."""
        word, chosen = _fields(line, "pick chosen", "a pick")
        _need(self.kind in ("word-swap", "deletion"), "there is nothing to pick from in this set")
        others = np.arange(len(state))[:, None] != _int(word, 0, len(state), "the picked word")
        listed = np.isin(np.arange(state.shape[1]), [_int(c, 0, state.shape[1], "a choice") for c in chosen])
        return state & (others | listed), state & (others | ~listed)

    def holds(self, place: int, vector: Floats) -> bool:
        """Whether the vector is in the word's set, as real numbers (for a hull: one of its corners)."""
        if self.points.size:
            return bool((self.points[place] == vector).all(-1).any())
        if self.kind != "epsilon-ball":
            return bool(((self.low[place] <= vector) & (vector <= self.high[place])).all())
        pairs = zip(vector.tolist(), self.center[place].tolist(), strict=True)
        gaps, power = [abs(Fraction(a) - Fraction(b)) for a, b in pairs], 2 if self.norm == 2 else 1
        return (max(gaps) if self.norm == math.inf else sum(g**power for g in gaps)) <= Fraction(self.radius) ** power


def _row(data: Any, classifier: Classifier, token: str, own: int, feature: bool) -> list[int]:
    """The word and what it may become, as places in the vocabulary."""
    lookup, pad, unknown = classifier.lookup, classifier.lookup[classifier.pad], classifier.lookup[classifier.unknown]
    match data:
        case {"kind": "knn-box" | "knn-hull", "k": k} if len(data) == 2:
            _int(k, 0, len(lookup) - 2, "k")
            return [own, *(_nearest(classifier.table, [own, pad, unknown], k) if feature else ())]
        case {"kind": "deletion"} if len(data) == 1:
            return [own, pad]
        case {"kind": "word-swap", "swaps": dict(swaps)} if len(data) == 2:
            listed = swaps.get(token, swaps.get(token.lower(), []))
            _need(type(listed) is list and all(type(word) is str for word in listed), "swaps must be lists of words")
            others = dict.fromkeys(word for word in listed if word != token)
            return [own, *(lookup.get(word, lookup.get(word.lower(), unknown)) for word in others)]
    raise Rejected(0, "the perturbation set is none that this format knows")


def _nearest(table: Floats, special: list[int], k: int) -> list[int]:
    """The k words nearest to the first of the special ones, without these, by the rule of the format."""
    distance = np.zeros(len(table))
    for axis in range(table.shape[1]):
        distance += (table[:, axis] - table[special[0], axis]) ** 2
    others = np.flatnonzero(~np.isin(np.arange(len(table)), special))
    if 0 < k < len(others):
        others = others[distance[others] <= np.partition(distance[others], k - 1)[k - 1]]
    return [int(i) for i in others[np.argsort(distance[others], kind="stable")][:k]]


class _Restored:
    """A perturbed text of which open words may be put back: a state is (text, open words, what may be spent)."""

    def __init__(self, center: Floats, costs: Ints) -> None:
        self.center, self.unit = center, int(np.gcd.reduce(costs))
        self.costs = costs // self.unit

    def least(self, rows: Floats, states: Sequence[Any]) -> Floats:
        start, opened, left = (np.stack(part) for part in zip(*states, strict=True))
        gains = np.einsum("nrld,nld->nrl", rows.reshape(*rows.shape[:2], *self.center.shape), self.center - start)
        gains = np.minimum(gains * (opened & (self.costs <= left[:, None]))[:, None], 0.0)
        total = np.matmul(rows, start.reshape(len(start), -1, 1))[..., 0]
        if (self.costs == 1).all():
            taken = np.arange(len(self.costs)) < left[:, None, None]
            return np.asarray(total + (np.sort(gains) * taken).sum(-1))
        ratio = gains / self.costs
        order = np.argsort(ratio)
        beyond = np.cumsum(self.costs[order], -1) > left[:, None, None]
        last = np.take_along_axis(order, beyond.argmax(-1)[..., None], -1)  # the first that is taken in part
        price = np.where(beyond.any(-1), -np.take_along_axis(ratio, last, -1)[..., 0], 0.0)
        worth = np.minimum(gains + price[..., None] * self.costs, 0.0).sum(-1)
        return np.asarray(total + worth - price * left[:, None])

    def pick(self, line: dict[str, Any], state: Any) -> tuple[Any, Any]:
        start, opened, left = state
        mark = np.arange(len(opened)) == _int(*_fields(line, "pick", "a pick"), 0, len(opened), "the picked word")
        rest, back = left - int(self.costs[mark][0]), np.where(mark[:, None], self.center, start)
        _need((opened & mark).any() and rest >= 0, "only an open word that can be paid for can be picked")
        return (back, opened & ~mark, rest), (start, opened & ~mark, left)


# --- bounds ---


def _intervals(steps: Sequence[Step], low: Floats, high: Floats, gamma: float) -> list[tuple[Floats, ...]]:
    """For each step how large its inputs and the terms of its sums can be, and outer bounds of the sums."""
    found: list[tuple[Floats, ...]] = []
    for step in steps:
        big, top = abs(step.weight), np.maximum(np.abs(low), np.abs(high))
        plus, minus = (step.weight + big) / 2, (step.weight - big) / 2
        size = (big @ top + np.abs(step.bias)) * (1 + 4 * gamma) + TINY
        least, most = plus @ low + minus @ high + step.bias, plus @ high + minus @ low + step.bias
        found.append((top, size, least - gamma * size, most + gamma * size))
        low, high = (np.where(step.relu, np.maximum(side, 0.0), side) for side in found[-1][2:])
    return found


def _exact(steps: Sequence[Step], values: list[Fraction]) -> list[Fraction]:
    for step in steps:
        weight, sums = step.dense(), [Fraction(b) for b in step.bias.tolist()]
        for i, j in np.argwhere(weight).tolist():
            sums[i] += Fraction(float(weight[i, j])) * values[j]
        values = [max(s, Fraction(0)) if relu else s for s, relu in zip(sums, step.relu, strict=True)]
    return values


class _Net:
    """The network around one text: how large everything can get, and backward bounds over input sets."""

    def __init__(self, steps: Sequence[Step], label: int, region: _Region) -> None:
        terms = max(sum(step.weight.shape) for step in steps)
        self.steps, self.gamma = steps[:-1], 6 * (terms + 2 * len(steps) + 32) * ROUND
        self.known = _intervals(steps, region.low.ravel(), region.high.ravel(), self.gamma)
        self.width, self.most = (
            max(terms, region.points[..., 0].size),
            max(len(step.bias) for step in steps[1:] or steps),
        )
        spread = sum(float(known[0].sum() + known[1].sum()) for known in self.known)
        _need(spread <= HUGE, "the network can overflow over this region")
        weight, bias, self.floor = steps[-1].dense(), steps[-1].bias, TINY * (1 + spread)
        self.rows, self.constants = weight[label] - weight, bias[label] - bias
        self.sizes = self.known[-1][1][label] + self.known[-1][1] + self.floor
        ends = np.cumsum([0, *(len(step.bias) for step in self.steps)]).tolist()
        self.parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
        self.relu = np.concatenate([np.zeros(0, dtype=bool), *(step.relu for step in self.steps)])

    def below(self, place: int, form: Any, inputs: Any, states: list[Any], lines: Floats, push: Any) -> Floats:
        """Lower bounds (n, r) of forms (rows over what step `place` receives, constant, size) over input sets."""
        rows, total, size = form
        for k in reversed(range(place)):
            (low, up, shift), step = lines[:, :, None, self.parts[k]], self.steps[k]
            down = np.minimum(rows, 0.0)
            total = total + (down * shift).sum(-1)
            weight, rows = np.abs(rows), (rows - down) * low + down * up
            if push is not None:
                rows, weight = rows - push[:, None, self.parts[k]], weight + np.abs(push[:, None, self.parts[k]])
            total, size = total + rows @ step.bias, size + weight @ self.known[k][1]
            rows = np.asarray(rows.reshape(-1, rows.shape[-1]) @ step.weight).reshape(*rows.shape[:2], -1)
        total = total + inputs.least(rows, states)
        return np.where(np.isfinite(total) & (size <= HUGE), total - self.gamma * size, -np.inf)

    def units(self, k: int, inputs: Any, states: list[Any], lines: Floats) -> tuple[Floats, Floats]:
        """Bounds (n, units) of a step's units from the lines of the steps before it; [0, inf] where no relu is."""
        step, (_, size, least, most) = self.steps[k], self.known[k]
        below = np.where(step.relu, [least, -most], [[0.0], [-np.inf]])[:, None].repeat(len(states), 1)
        loose = np.flatnonzero(step.relu & (least < 0) & (most > 0))
        many = max(1, CHUNK // (len(states) * self.width))
        for some in np.split(loose, range(many, len(loose), many)) if len(loose) else ():
            rows = step.weight[some] if isinstance(step.weight, np.ndarray) else step.weight[some].toarray()
            for side, sign in enumerate((1.0, -1.0)):
                form = sign * rows[None], sign * step.bias[some], size[some] + self.floor
                found = self.below(k, form, inputs, states, lines, None)
                below[side][:, some] = np.maximum(below[side][:, some], found)
        return below[0], -below[1]

    def holds(self, leaves: list[Any], inputs: Any, sign: float, lean: float) -> Bools:
        """Which leaves (line, rival, signs, alpha, push, state) have splits that contradict or a bound above zero."""
        _, rivals, signs, alpha, push, states = (list(part) for part in zip(*leaves, strict=True))
        mark, slope, lines = np.stack(signs), np.stack(alpha), np.zeros((3, len(leaves), len(self.relu)))
        holds, loose = np.zeros(len(leaves), dtype=bool), np.zeros(mark.shape, dtype=bool)
        sets = {id(state): state for state in states}  # the first step's bounds do not depend on splits
        which = [list(sets).index(id(state)) for state in states]
        for k, part in enumerate(self.parts):
            if k == 0:
                lower, upper = (side[which] for side in self.units(0, inputs, list(sets.values()), lines))
            else:
                lower, upper = self.units(k, inputs, states, lines)
            lower = np.where(mark[:, part] > 0, np.maximum(lower, 0.0), lower)
            upper = np.where(mark[:, part] < 0, np.minimum(upper, 0.0), upper)
            holds |= (lower > upper).any(-1)
            loose[:, part], on = (lower < 0) & (upper > 0), (lower >= 0) * 1.0
            deep, high = np.where(loose[:, part], lower, -1.0), np.where(loose[:, part], upper, 1.0)
            up = high / (high - deep)
            shift = np.maximum(-up * deep, high * (1 - up)) * (1 + 2.0**-50) + TINY
            lines[:, :, part] = np.where(loose[:, part], [high * lean > -deep, up, shift], [on, on, 0 * on])
        lines[0] = np.where(loose & ~np.isnan(slope), np.clip(slope, 0.0, 1.0), lines[0])
        form = [
            (sign * self.rows[rivals])[:, None],
            (sign * self.constants[rivals])[:, None],
            self.sizes[rivals][:, None],
        ]
        return holds | (self.below(len(self.steps), form, inputs, states, lines, np.stack(push))[:, 0] > 0)


# --- the proof ---


class _Checker:
    def __init__(self, certificate: Any, classifier: Classifier) -> None:
        self.classifier, self.steps, self.labels = classifier, classifier.network.steps, list(classifier.labels)
        longest = MAX_LINE + 100 * sum(sum(step.weight.shape) for step in self.steps)
        self.lines = iter(certificate.lines) if hasattr(certificate, "lines") else _lines(certificate, longest)
        self.number, self.exact, self.leaves = 0, 0, list[Any]()

    def run(self) -> Checked:
        head = self.take()
        sets, free = self._header(head)
        claim = head["claim"]
        if claim["kind"] in ("infeasible", "refuted"):
            others = [i for i in range(len(self.labels)) if i != self.label]
            text = self.region.center.astype(object)
            _need(min(self._sign(text, rival) for rival in others) >= 0, "the text has another label")
            self._counterexample(*_fields(self.take(), "point", "a counterexample"), free)
        else:
            self._sufficient(free)
        if claim["kind"] == "cheapest":
            self._cheapest(sets, *self._costs(claim, sets))
        self.settle()
        self.number += 1
        _need(next(self.lines, self) is self, "nothing may follow the evidence")
        return self._said(head, next(iter(sets.values())))

    def _said(self, head: dict[str, Any], about: Bools) -> Checked:
        claim, places = head["claim"], np.flatnonzero(about).tolist()
        data = " ".join(f"{k} {v}" for k, v in head["perturbation"].items() if isinstance(v, int | float | str))
        where = f"where each of {len(head['features'])} words may change within its set ({data})"
        words = ", ".join(f"{head['text'][i]!r} ({i})" for i in places) or "none"
        sentence = (
            f"Proved for the classifier {head['model'][:16]} in exact real arithmetic, {where}: the label is"
            f" {head['label']!r}, and {SAID[claim['kind']].format(**claim)}: {words}."
        )
        cost, lower = claim.get("cost"), claim.get("lower")
        optimal = claim["kind"] == "cheapest" and cost == lower
        return Checked(claim["kind"], head["label"], tuple(places), cost, lower, optimal, sentence)

    def take(self) -> dict[str, Any]:
        self.number += 1
        line = next(self.lines, "nothing, since the proof is not complete")
        if self.number > MAX_LINES:
            raise NotACertificate(f"A certificate of more than {MAX_LINES} lines is not read.")
        _need(type(line) is dict, f"here must be an object, not {str(line)[:80]}")
        return dict(line)

    def walk(self, visit: Callable[[dict[str, Any]], Cut | None]) -> None:
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

    def _header(self, head: dict[str, Any]) -> tuple[dict[str, Bools], Bools]:
        """The sets of words that the claim names, and the free words, once everything fits the classifier."""
        if type(head.get("certificate")) is not int or head["certificate"] != 1:
            raise NotACertificate("Line 1 is not the header of a certificate of format 1.")
        _, model, tokens, perturbation, features, label, claim = _fields(head, HEADER, "the header")
        _need(model == self.classifier.digest, "it is about another classifier")
        right = type(tokens) is list and len(tokens) == self.classifier.length and {type(t) for t in tokens} == {str}
        _need(right and label in self.labels, "text or label does not fit the classifier")
        self.label, self.features = (
            self.labels.index(label),
            _mask(features, np.ones(len(tokens), dtype=bool), "features"),
        )
        name = {"independent": "of", "infeasible": "exclude"}.get(claim["kind"], "positions")
        _fields(claim, CHEAPEST if claim["kind"] == "cheapest" else f"kind {name}", "the claim")
        _need(claim["kind"] in SAID, "the claim is none that this format knows")
        names = dict.fromkeys((name, *(("include", "exclude") if claim["kind"] == "cheapest" else ())))
        sets = {name: _mask(claim[name], self.features, name) for name in names}
        self.region = _Region(perturbation, self.classifier, tokens, self.features)
        self.net = _Net(self.steps, self.label, self.region)
        return sets, self.features & ~sets["positions"] if name == "positions" else sets[name]

    def _costs(self, claim: dict[str, Any], sets: dict[str, Bools]) -> tuple[Ints, int]:
        costs = np.array([_int(cost, 1, WHOLE // self.classifier.length, "a cost") for cost in claim["costs"]])
        cost, lower = _int(claim["cost"], 0, WHOLE, "cost"), _int(claim["lower"], 0, WHOLE, "lower")
        _need(re.fullmatch("[1-9][0-9]{0,99}(/[1-9][0-9]{0,99})?", claim["unit"]), "unit must be a positive fraction")
        _need(len(costs) == len(self.features), "there must be one cost for each position")
        _need(lower <= cost == costs[sets["positions"]].sum(), "cost must be what the words cost, and lower no more")
        held = ~(sets["include"] & ~sets["positions"]).any() and ~(sets["exclude"] & sets["positions"]).any()
        _need(held, "positions must hold all of include and none of exclude")
        return costs, lower

    def _rival(self, label: Any) -> int:
        _need(label in self.labels and label != self.labels[self.label], "the rival must be another label")
        return self.labels.index(label)

    def _sufficient(self, free: Bools) -> None:
        self.inputs, self.sign = self.region, 1.0
        for rival in [label for label in self.labels if label != self.labels[self.label]]:
            asked = _fields(self.take(), "prove rival", "the start of a proof")
            _need(asked == ["sufficient", rival], f"here must start the proof against {rival!r}")
            self._tree(rival, self.region.begin(free))

    def settle(self) -> None:
        """Check the leaves that wait; those that fail again with slopes that rounding may have turned."""
        waiting, self.leaves = self.leaves, []
        many = max(1, CHUNK // (self.net.width * self.net.most)) if waiting else 1
        for start in range(0, len(waiting), many):
            left = waiting[start : start + many]
            for lean in LEANS:
                holds = self.net.holds(left, self.inputs, self.sign, lean) if left else ()
                left = [leaf for leaf, held in zip(left, holds, strict=True) if not held]
            if left:
                raise Rejected(left[0][0], "the bound of this leaf is not above zero")

    def _tree(self, rival: str, state: Any) -> None:
        """Read a proof tree; its leaves wait to be checked together."""
        against, signs, now = self._rival(rival), np.zeros(len(self.net.relu), dtype=np.int8), [state]

        def visit(line: dict[str, Any]) -> Cut | None:
            match line:
                case {"split": int(u)} if len(line) == 1:
                    u = _int(u, 0, len(signs), "the unit")
                    _need(self.net.relu[u] and not signs[u], "only a relu that is not split yet can be split")
                    return lambda side: signs.__setitem__(u, (-1, 1, 0)[side])
                case {"pick": _}:
                    states = (*self.inputs.pick(line, now[0]), now[0])
                    return lambda side: now.__setitem__(0, states[side])
                case {"leaf": leaf} if len(line) == 1:
                    alpha, beta = _fields(leaf, "alpha beta", "a leaf")
                    slope = _array(alpha, len(signs), "alpha") if alpha is not None else np.full(len(signs), np.nan)
                    push, units = np.zeros(len(signs)), [_int(int(u), 0, len(signs), "a unit of beta") for u in beta]
                    push[units] = _numbers([list(beta.values())], (1, len(beta)), "beta", 0.0)[0] * signs[units]
                    self.leaves.append((self.number, against, signs.copy(), slope, push, now[0]))
                    if len(self.leaves) >= BATCH:
                        self.settle()
                    return None
            raise Rejected(0, "here must be a split, a pick or a leaf")

        self.walk(visit)

    def _cheapest(self, sets: dict[str, Bools], costs: Ints, lower: int) -> None:
        """Read the tree over words that shows that nothing below `lower` suffices."""
        self.settle()
        self.inputs, self.sign = _Restored(self.region.center, costs), -1.0
        held, out = sets["include"].copy(), sets["exclude"].copy()
        _need(_fields(self.take(), "prove", "the start of a proof") == ["cheapest"], "here must start the word tree")

        def visit(line: dict[str, Any]) -> Cut | None:
            opened = self.features & ~held & ~out
            match line:
                case {"word": i} if len(line) == 1:
                    _need(opened[_int(i, 0, len(opened), "the word")], "only an open word can be held or out")
                    return lambda side: (held.__setitem__(i, side == 0), out.__setitem__(i, side == 1))[0]
                case {"cost": True} if len(line) == 1:
                    _need(costs[held].sum() >= lower, "the held words cost less")
                case {"attack": point} if len(line) == 1:
                    self._counterexample(point, out)
                case {"restoration": data} if len(line) == 1:
                    start, rival, budget = _fields(data, "start rival budget", "a restoration")
                    point = self._point(*_fields(start, "changed vectors", "start"), self.features & ~held)
                    _need(_int(budget, 0, WHOLE, "budget") >= lower - 1 - costs[held].sum(), "the budget is too low")
                    self._tree(rival, (point.astype(np.float64), opened, budget // self.inputs.unit))
                case _:
                    raise Rejected(0, "here must be a word, cost, an attack or a restoration")
            return None

        self.walk(visit)

    def _point(self, changed: Any, vectors: Any, allowed: Bools) -> Any:
        """The text with the changed words' vectors, each of them in its word's set."""
        point, places = self.region.center.astype(object), np.flatnonzero(_mask(changed, allowed, "changed"))
        size = point.shape[1]
        for place, vector in zip(places, _array(vectors, size * len(places), "vectors").reshape(-1, size), strict=True):
            _need(self.region.holds(place, vector), f"the vector of word {place} is not in its set")
            point[place] = vector
        return point

    def _counterexample(self, data: Any, allowed: Bools) -> None:
        """An allowed input at which the rival's score is at least the label's."""
        if "shares" in data:
            changed, shares, rival = _fields(data, "changed shares rival", "a counterexample")
            _need(self.region.kind == "knn-hull", "only points of a hull can be given by shares")
            point, places = self.region.center.astype(object), np.flatnonzero(_mask(changed, allowed, "changed"))
            rows = _numbers(shares, (len(places), self.region.points.shape[1]), "shares", 0.0).tolist()
            for place, row in zip(places, rows, strict=True):
                weights, corners = [Fraction(share) for share in row], self.region.points[place].T.tolist()
                point[place] = [
                    sum(w * Fraction(c) for w, c in zip(weights, axis, strict=True)) / sum(weights) for axis in corners
                ]
        else:
            changed, vectors, rival = _fields(data, "changed vectors rival", "a counterexample")
            point = self._point(changed, vectors, allowed)
        _need(self._sign(point, self._rival(rival)) <= 0, "the label keeps its lead at this point")

    def _sign(self, point: Any, rival: int) -> int:
        """The sign of the margin at a point of numbers or fractions."""
        near = point.astype(np.float64).ravel()
        low, high = np.nextafter(near, -np.inf), np.nextafter(near, np.inf)
        *_, (_, _, least, most) = _intervals(self.steps, low, high, self.net.gamma)
        if least[self.label] > most[rival] or most[self.label] < least[rival]:
            return 1 if least[self.label] > most[rival] else -1
        self.exact += 1
        if self.exact > MAX_EXACT:
            raise NotACertificate(f"More than {MAX_EXACT} margins that need exact arithmetic are not computed.")
        scores = _exact(self.steps, [Fraction(value) for value in point.ravel().tolist()])
        return (scores[self.label] > scores[rival]) - (scores[self.label] < scores[rival])

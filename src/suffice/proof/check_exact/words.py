"""What words may become: the perturbation sets of the format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .model import Model
from .rationals import ZERO, Row, Span, Vector, exact, inner, root_above
from .reading import fields, need, number, strings, whole
from .tokens import counts_once, pieces, reads_by, special

KEYS = {"word-swap": "kind swaps", "deletion": "kind", "mask": "kind token", "removal-or-swap": "kind swaps"}


@dataclass(frozen=True, eq=False)
class Word:
    """Points; of a ball or a box one, moved by up to `reach`: its numbers together in a norm, or each by its own."""

    points: Mapping[int, Vector]
    reach: Vector
    norm: int = 0  # 0 for a box

    def holds(self, vector: Vector) -> bool:
        """Whether a vector is one of these; of a hull: whether it is a corner."""
        for point in self.points.values():
            gaps = [abs(a - b) for a, b in zip(vector, point, strict=True)]
            if self.norm and sum(gap**self.norm for gap in gaps) <= self.reach[0] ** self.norm:
                return True
            if not self.norm and all(gap <= most for gap, most in zip(gaps, self.reach, strict=True)):
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
            return [Word({0: v}, (number(eps, 0),) * len(v), 0 if norm == "inf" else int(norm)) for v in own]
        case "boxes":
            low, high = ([map(number, row) for row in side] for side in fields(data, "kind lower upper")[1:])
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
    """Each word and its k nearest. The format defines these by doubles: a float is one in Python."""
    need(not counts_once(model), "words that count once have no neighbours")
    k = whole(fields(data, "kind k")[1], 0, len(model.table) - 2)

    def nearest(own: int) -> list[int]:
        distances, last = [], {own, *special(model)}
        for other, vector in enumerate(model.table):
            total = 0.0
            for a, b in zip(model.table[own], vector, strict=True):
                total += (a - b) * (a - b)
            distances.append((other in last, total, other))
        return [other for _, _, other in sorted(distances)[:k]]

    near = {own: [own, *nearest(own)] for own in {*map(model.place, tokens)}}
    return [[exact(model.table[place]) for place in near[model.place(token)]] for token in tokens]


def choices(data: Any, model: Model, tokens: list[str]) -> list[list[Vector]]:
    """Each word, then what may stand in its place."""
    kind, token = data["kind"], data.get("token")
    fields(data, KEYS[kind])
    need(token is None or type(token) is str, "the mask must be a word or null")
    swaps = {word: strings(others) for word, others in data.get("swaps", {}).items()}
    anywhere = {"word-swap": [], "mask": [token or model.head["unknown"]]}.get(kind, [model.head["pad"]])
    rows = []
    for token in tokens:
        words = dict.fromkeys([*anywhere, *swaps.get(token, swaps.get(token.lower(), []))])
        rows.append([model.place(token), *(substitute(model, word) for word in words if word != token)])
    counted = [place for row in rows for place in {*row} - special(model)]
    need(not counts_once(model) or len(counted) == len({*counted}), "a word that counts once could stand twice")
    return [[exact(model.table[place]) for place in row] for row in rows]


def substitute(model: Model, word: str) -> int:
    if word in model.lookup or reads_by(model.head) != "pattern":
        return model.lookup[word] if word in model.lookup else model.place(word.lower())
    made = pieces(model, word) or [model.head["unknown"]]
    need(len(made) == 1, "a substitute is read as several words")
    return model.place(made[0])

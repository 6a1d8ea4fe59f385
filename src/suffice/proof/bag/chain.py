"""Checks bounds where features reach over words: the ways through a text, read anew, and the cheapest of them.

Written apart from the prover. A way keeps, for each stream, what of the text before may belong to a feature that goes
on; a piece adds the features of that memory with the piece, less those of the memory alone. What lies between pieces
follows the rule of `rewritten`: it is kept as the first space since the last piece, and whether words are gone since.
*Limit.* After a changed word, steps may differ from the unchanged text's until all memories have become the same again;
outside these windows every step is its own, so r changes move a count by at most r times the widest window's change.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy  # its subpackages load on first use

from suffice.errors import Rejected
from suffice.model.boundaries import spaced
from suffice.model.network import Bools, Floats, Ints
from suffice.model.streams import Stream
from suffice.model.text import Text

MOST_STEPS = 1_000_000

Memory = Any  # per stream: a string, or tokens, or tokens and the one that is not closed yet
Place = tuple[int, int]


def _need(condition: Any, reason: str) -> None:
    if not condition:
        raise Rejected(0, reason)


# --- one stream ---


def _runs(stream: Stream, symbols: Any) -> Counter[str]:
    """The runs of tokens or characters that count."""
    low, high = stream.orders
    if stream.kind in ("word", "split"):
        spans = [(i, i + n) for n in range(low, high + 1) for i in range(len(symbols) - n + 1)]
        return Counter(" ".join(symbols[a:b]) for a, b in spans)
    if stream.kind == "char":
        return Counter(symbols[i : i + n] for n in range(low, high + 1) for i in range(len(symbols) - n + 1))
    found: Counter[str] = Counter()
    for n in range(1, high + 1):
        for i in range(len(symbols) - n + 1):
            run = symbols[i : i + n]
            if " " not in run[1:-1] and (n >= low or (n > 2 and run.startswith(" ") and run.endswith(" "))):
                found[run] += 1 if run != " " else 2 if i + 1 < len(symbols) else 0  # both edges, where a word begins
    return found


def _kept(stream: Stream, symbols: Any, joint: str) -> Any:
    """The end that a known feature may go on from."""
    for size in range(min(stream.orders[1] - 1, len(symbols)), 0, -1):
        if stream.begins(joint.join(symbols[len(symbols) - size :])):
            return symbols[len(symbols) - size :]
    return symbols[len(symbols) - 1 :] if stream.kind == "char_wb" else symbols[:0]


def _start(stream: Stream) -> Memory:
    return {"word": (), "split": ((), ""), "char": "", "char_wb": ""}[stream.kind]


def _step(stream: Stream, memory: Memory, gap: str, piece: str) -> tuple[Memory, Counter[str]]:
    """The memory after a piece, and the features that it adds."""
    gap = stream.prepare(gap)  # where accents are stripped, a wide space becomes a plain one, or nothing
    spaced = bool(re.search(r"\s", gap))
    if stream.kind == "word":
        symbols = (*memory, *stream.tokens(piece))
        return _kept(stream, symbols, " "), _runs(stream, symbols) - _runs(stream, memory)
    if stream.kind == "split":
        return _split(stream, memory, spaced, stream.prepare(piece).split())
    made = re.sub(r"\s\s+", " ", gap) + re.sub(r"\s\s+", " ", stream.prepare(piece))
    if stream.kind == "char_wb":
        made = (" " if spaced or not memory else "") + " ".join(stream.prepare(piece).split())
    return _kept(stream, memory + made, ""), _runs(stream, memory + made) - _runs(stream, memory)


def _split(stream: Stream, memory: Memory, spaced: bool, parts: Sequence[str]) -> tuple[Memory, Counter[str]]:
    (closed, last), found = memory, Counter[str]()
    for number, part in enumerate(parts):
        if number or spaced:
            closed, more = _shut(stream, (closed, last))
            found, last = found + more, ""
        last += part
    return (closed, last), found


def _shut(stream: Stream, memory: Memory) -> tuple[tuple[str, ...], Counter[str]]:
    closed, last = memory
    if not last or last in stream.stop:
        return closed, Counter()
    return _kept(stream, (*closed, last), " "), _runs(stream, (*closed, last)) - _runs(stream, closed)


def _finish(stream: Stream, memory: Memory, rest: str) -> Counter[str]:
    match stream.kind:
        case "word":
            return Counter()
        case "split":
            return _shut(stream, memory)[1]
        case "char":
            return _runs(stream, memory + re.sub(r"\s\s+", " ", stream.prepare(rest))) - _runs(stream, memory)
        case "char_wb":
            return _runs(stream, memory + " ") - _runs(stream, memory)


# --- all ways ---


@dataclass(frozen=True, eq=False)
class WordSteps:
    """The steps of one word, in the order of where they lead; a column each for where from, which choice, where to."""

    source: Ints
    choice: Ints
    target: Ints
    row: Ints

    @cached_property
    def heads(self) -> Ints:
        return np.flatnonzero(np.diff(self.target, prepend=-1))


class Ways:
    """One text before streams: its words may be these pieces."""

    def __init__(
        self,
        streams: Sequence[Stream],
        text: Text,
        pieces: Sequence[Sequence[str]],
        look: Callable[[], None] = lambda: None,
    ) -> None:
        self.streams, self.text, self.pieces, self.look = streams, text, pieces, look
        self.rows: dict[tuple[tuple[int, float], ...], int] = {}
        self.cache: dict[Any, Any] = {}
        self._alike()
        self.words = self._build()
        cells = [(r, c, n) for row, r in self.rows.items() for c, n in row]
        self.columns = sorted({c for _, c, _ in cells})
        place = {c: k for k, c in enumerate(self.columns)}
        table = np.array([(r, place[c], n) for r, c, n in cells]).reshape(-1, 3)
        where = (table[:, 0].astype(np.int64), table[:, 1].astype(np.int64))
        self.table = scipy.sparse.csr_matrix((table[:, 2], where), shape=(len(self.rows), len(self.columns)))

    def _alike(self) -> None:
        """Pieces are read alike wherever they stand."""
        for piece in {piece for group in self.pieces for piece in group if piece}:
            _need("Σ" not in piece, "a capital sigma depends on what stands beside it")
            for stream in self.streams:
                made = piece if stream.kind == "word" else stream.prepare(piece)
                _need(made and made.strip() == made, f"{piece!r} leaves nothing, or a space at its edge")

    def _build(self) -> list[WordSteps]:
        gaps = self._gaps()
        states: dict[Any, int] = {(None, None, tuple(map(_start, self.streams))): 0}
        found, total = [], 0
        for word, group in enumerate(self.pieces):
            after: dict[Any, int] = {}
            steps = []
            for state, number in states.items():
                self.look()
                for k, piece in enumerate(group):
                    new, row = self._after(state, gaps[0] if state[0] is None else gaps[word], piece)
                    steps.append((after.setdefault(new, len(after)), number, k, row))
            total += len(steps)
            _need(total <= MOST_STEPS, "there are too many ways to read the text")
            found.append(_ordered(steps))
            states = after
        ends = [(0, number, 0, self._end(state, gaps[-1])) for state, number in states.items()]
        return [*found, _ordered(ends)]

    def _gaps(self) -> list[str]:
        found, last = [], 0
        for word in self.text.words:
            found.append(self.text.source[last : word.start])
            last = word.end
        return [*found, self.text.source[last:]]

    def _after(self, state: Any, gap: str, piece: str) -> tuple[Any, int]:
        """A state: whether a space must follow the last piece, the first space since a word is gone, the memories."""
        edge, pending, memories = state
        if not piece:
            return (state if edge is None else (edge, pending or gap, memories)), self._row([])
        if edge is not None and pending is not None:  # words are gone in between
            if not gap and not _letter(piece[0]):
                gap = ""
            else:
                gap = pending or gap or (" " if edge and spaced(piece[0]) else "")
        moved = [self._moved(k, memory, gap, piece) for k, memory in enumerate(memories)]
        return (spaced(piece[-1]), None, tuple(new for new, _ in moved)), self._row([more for _, more in moved])

    def _moved(self, number: int, memory: Memory, gap: str, piece: str) -> tuple[Memory, dict[int, float]]:
        key = (number, memory, gap, piece)
        if key not in self.cache:
            new, more = _step(self.streams[number], memory, gap, piece)
            self.cache[key] = new, self._placed(number, more)
        return self.cache[key]  # type: ignore[no-any-return]

    def _end(self, state: Any, rest: str) -> int:
        edge, _, memories = state
        if edge is None:
            return self._row([])
        return self._row([self._placed(k, _finish(self.streams[k], m, rest)) for k, m in enumerate(memories)])

    def _placed(self, number: int, features: Counter[str]) -> dict[int, float]:
        found: dict[int, float] = {}
        for feature, times in features.items():
            place = self.streams[number].column(feature)
            if place is not None:
                found[place[0]] = found.get(place[0], 0.0) + place[1] * times
        return found

    def _row(self, parts: Sequence[Mapping[int, float]]) -> int:
        total: dict[int, float] = {}
        for part in parts:
            for column, count in part.items():
                total[column] = total.get(column, 0.0) + count
        row = tuple(sorted((column, count) for column, count in total.items() if count))
        return self.rows.setdefault(row, len(self.rows))

    # --- what may be ---

    def live(self, allowed: Sequence[Sequence[int]]) -> list[Bools]:
        """For each word the steps that can be taken."""
        found, reach = [], np.ones(1, dtype=bool)
        for step, some in zip(self.words, (*allowed, (0,)), strict=True):
            free = reach[step.source] & np.isin(step.choice, some)
            found.append(free)
            reach = np.logical_or.reduceat(free, step.heads)
        return found

    def ranges(self, allowed: Sequence[Sequence[int]]) -> tuple[Floats, Floats]:
        """The least and most of each column."""
        least, most = np.zeros(len(self.columns)), np.zeros(len(self.columns))
        for step, free in zip(self.words, self.live(allowed), strict=True):
            low, high = self._extremes(step.row[free])
            least += low
            most += high
        return least, most

    def _extremes(self, rows: Ints) -> tuple[Floats, Floats]:
        some = self.table[np.unique(rows)]
        return some.min(0).toarray().ravel(), some.max(0).toarray().ravel()

    def limited(self, reference: tuple[int, ...], limit: int) -> tuple[Floats, Floats]:
        """The least and most of each column where at most so many words change."""
        if reference not in self.cache:
            self.cache[reference] = self._windows(reference)
        now, down, up = self.cache[reference]
        return now + limit * down, now + limit * up

    def _windows(self, reference: tuple[int, ...]) -> tuple[Floats, Floats, Floats]:
        own = self.table[self._own(reference)].toarray()
        sides = [self._extremes(step.row) for step in self.words]
        downs = np.cumsum([low - mine for (low, _), mine in zip(sides, own, strict=True)], axis=0)
        ups = np.cumsum([high - mine for (_, high), mine in zip(sides, own, strict=True)], axis=0)
        down, up = np.zeros(len(self.columns)), np.zeros(len(self.columns))
        for word in range(len(self.words)):
            end = self._together(word, reference)
            down = np.minimum(down, downs[end] - (downs[word - 1] if word else 0.0))
            up = np.maximum(up, ups[end] - (ups[word - 1] if word else 0.0))
        return own.sum(0), down, up

    def _own(self, reference: tuple[int, ...]) -> list[int]:
        found, state = [], 0
        for step, k in zip(self.words, (*reference, 0), strict=True):
            (at,) = np.flatnonzero((step.source == state) & (step.choice == k))
            found.append(int(step.row[at]))
            state = int(step.target[at])
        return found

    def _together(self, word: int, reference: tuple[int, ...]) -> int:
        """The first word after which all ways that differ up to here have met again."""
        states = np.unique(self.words[word].target)
        while len(states) > 1:
            word += 1
            step = self.words[word]
            k = reference[word] if word < len(reference) else 0
            states = np.unique(step.target[np.isin(step.source, states) & (step.choice == k)])
        return word

    # --- the cheapest way ---

    def cheapest(
        self,
        prices: Floats,
        allowed: Sequence[Sequence[int]],
        extra: Mapping[Place, float],
        reference: Sequence[int],
        limit: int | None,
        least: int = 0,
    ) -> float:
        """The least sum of the prices of what is counted, and of what choices cost, with so many changes."""
        cost = np.asarray(self.table @ prices)
        count = len(self.pieces)
        layers = 1 if limit is None else min(limit, count) + 1
        value = np.full((1, layers), np.inf)
        value[0, 0] = 0.0
        for word, step in enumerate(self.words):
            self.look()
            some = allowed[word] if word < count else (0,)
            fee = np.array([extra.get((word, k), 0.0) if k in some else np.inf for k in range(step.choice.max() + 1)])
            reached = value[step.source] + (cost[step.row] + fee[step.choice])[:, None]
            if limit is not None and word < count:
                changed = step.choice != reference[word]
                shifted = np.full_like(reached[changed], np.inf)
                shifted[:, 1:] = reached[changed][:, :-1]
                reached[changed] = shifted
            value = np.minimum.reduceat(reached, step.heads, axis=0)
        return float(value[:, least:].min(initial=np.inf))

    def largest(self, allowed: Sequence[Sequence[int]], each: Floats) -> float:
        """The most that each word can add, of a number for each count of a column."""
        value = np.asarray(abs(self.table) @ each)
        both = zip(self.words, self.live(allowed), strict=True)
        return float(sum(value[step.row[free]].max(initial=0.0) for step, free in both))


def _ordered(steps: list[tuple[int, int, int, int]]) -> WordSteps:
    target, source, choice, row = np.array(sorted(steps), dtype=np.int64).T
    return WordSteps(source, choice, target, row)


def _letter(char: str) -> bool:
    """A letter or digit, or a mark on one: what else begins a piece stays at the piece before it."""
    return char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M"

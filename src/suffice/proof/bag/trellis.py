"""Trellis: the texts of a pipeline whose features reach over words, read anew, and shortest paths.

Written apart from the prover. A state keeps, for each stream, the suffix of the text that may
belong to a feature that goes on; a piece adds the features of that suffix with the piece, less
those of the suffix alone. What lies between pieces follows the rule of `rewritten`: it is kept as
the first space since the last piece, and whether words are gone since. *Limit.* After a changed
word, edges may differ from the unchanged text's until all suffixes have become the same again;
outside these windows every edge is its own, so r changes move a count by at most r times the widest
window's change.

Method: transducer and trellis (theory, section 9).
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
from suffice.proof.bag.tolerances import MOST_EDGES

Suffix = Any  # per stream: a string, or tokens, or tokens and the one that is not closed yet
Place = tuple[int, int]


def _require(condition: Any, reason: str) -> None:
    if not condition:
        raise Rejected(0, reason)


# --- one stream ---


def _ngrams(stream: Stream, symbols: Any) -> Counter[str]:
    """The runs of tokens or characters that count."""
    low, high = stream.orders
    if stream.kind in ("word", "split"):
        spans = [(i, i + n) for n in range(low, high + 1) for i in range(len(symbols) - n + 1)]
        return Counter(" ".join(symbols[a:b]) for a, b in spans)
    if stream.kind == "char":
        return Counter(
            symbols[i : i + n] for n in range(low, high + 1) for i in range(len(symbols) - n + 1)
        )
    found: Counter[str] = Counter()
    for n in range(1, high + 1):
        for i in range(len(symbols) - n + 1):
            run = symbols[i : i + n]
            if " " not in run[1:-1] and (
                n >= low or (n > 2 and run.startswith(" ") and run.endswith(" "))
            ):
                # both edges, where a word begins
                found[run] += 1 if run != " " else 2 if i + 1 < len(symbols) else 0
    return found


def _needed_suffix(stream: Stream, symbols: Any, joint: str) -> Any:
    """The end that a known feature may go on from."""
    for size in range(min(stream.orders[1] - 1, len(symbols)), 0, -1):
        if stream.begins(joint.join(symbols[len(symbols) - size :])):
            return symbols[len(symbols) - size :]
    return symbols[len(symbols) - 1 :] if stream.kind == "char_wb" else symbols[:0]


def _initial_suffix(stream: Stream) -> Suffix:
    return {"word": (), "split": ((), ""), "char": "", "char_wb": ""}[stream.kind]


def _transition(
    stream: Stream, suffix: Suffix, gap: str, piece: str
) -> tuple[Suffix, Counter[str]]:
    """The memory after a piece, and the features that it adds."""
    # where accents are stripped, a wide space becomes a plain one, or nothing
    gap = stream.prepare(gap)
    spaced = bool(re.search(r"\s", gap))
    if stream.kind == "word":
        symbols = (*suffix, *stream.tokens(piece))
        return _needed_suffix(stream, symbols, " "), _ngrams(stream, symbols) - _ngrams(
            stream, suffix
        )
    if stream.kind == "split":
        return _extended_tokens(stream, suffix, spaced, stream.prepare(piece).split())
    made = re.sub(r"\s\s+", " ", gap) + re.sub(r"\s\s+", " ", stream.prepare(piece))
    if stream.kind == "char_wb":
        made = (" " if spaced or not suffix else "") + " ".join(stream.prepare(piece).split())
    return _needed_suffix(stream, suffix + made, ""), _ngrams(stream, suffix + made) - _ngrams(
        stream, suffix
    )


def _extended_tokens(
    stream: Stream, suffix: Suffix, spaced: bool, parts: Sequence[str]
) -> tuple[Suffix, Counter[str]]:
    (closed, last), found = suffix, Counter[str]()
    for number, part in enumerate(parts):
        if number or spaced:
            closed, more = _close_token(stream, (closed, last))
            found = found + more
            last = ""
        last += part
    return (closed, last), found


def _close_token(stream: Stream, suffix: Suffix) -> tuple[tuple[str, ...], Counter[str]]:
    closed, last = suffix
    if not last or last in stream.stop:
        return closed, Counter()
    return _needed_suffix(stream, (*closed, last), " "), _ngrams(stream, (*closed, last)) - _ngrams(
        stream, closed
    )


def _final_counts(stream: Stream, suffix: Suffix, rest: str) -> Counter[str]:
    match stream.kind:
        case "word":
            return Counter()
        case "split":
            return _close_token(stream, suffix)[1]
        case "char":
            return _ngrams(stream, suffix + re.sub(r"\s\s+", " ", stream.prepare(rest))) - _ngrams(
                stream, suffix
            )
        case "char_wb":
            return _ngrams(stream, suffix + " ") - _ngrams(stream, suffix)


# --- all ways ---


@dataclass(frozen=True, eq=False)
class Stage:
    """The edges of one word in the order of their targets: source state, choice, target state, row
    of counts.
    """

    source: Ints
    choice: Ints
    target: Ints
    row: Ints

    @cached_property
    def target_starts(self) -> Ints:
        return np.flatnonzero(np.diff(self.target, prepend=-1))


class Trellis:
    """One text before streams: its words may be these pieces."""

    def __init__(
        self,
        streams: Sequence[Stream],
        text: Text,
        pieces: Sequence[Sequence[str]],
        check_time: Callable[[], None] = lambda: None,
    ) -> None:
        self.streams = streams
        self.text = text
        self.pieces = pieces
        self.check_time = check_time
        self.rows: dict[tuple[tuple[int, float], ...], int] = {}
        self.cache: dict[Any, Any] = {}
        self._require_context_free()
        self.stages = self._build()
        cells = [(r, c, n) for row, r in self.rows.items() for c, n in row]
        self.columns = sorted({c for _, c, _ in cells})
        place = {c: k for k, c in enumerate(self.columns)}
        table = np.array([(r, place[c], n) for r, c, n in cells]).reshape(-1, 3)
        where = (table[:, 0].astype(np.int64), table[:, 1].astype(np.int64))
        self.count_table = scipy.sparse.csr_matrix(
            (table[:, 2], where), shape=(len(self.rows), len(self.columns))
        )

    def _require_context_free(self) -> None:
        """Pieces are read alike wherever they stand."""
        for piece in {piece for group in self.pieces for piece in group if piece}:
            _require("Σ" not in piece, "a capital sigma depends on what stands beside it")
            for stream in self.streams:
                made = piece if stream.kind == "word" else stream.prepare(piece)
                _require(
                    made and made.strip() == made,
                    f"{piece!r} leaves nothing, or a space at its edge",
                )

    def _build(self) -> list[Stage]:
        gaps = self._gaps()
        states: dict[Any, int] = {(None, None, tuple(map(_initial_suffix, self.streams))): 0}
        stages = []
        total = 0
        for word, group in enumerate(self.pieces):
            next_states: dict[Any, int] = {}
            edges = []
            for state, number in states.items():
                self.check_time()
                for k, piece in enumerate(group):
                    next_state, row = self._next_state(
                        state, gaps[0] if state[0] is None else gaps[word], piece
                    )
                    edges.append(
                        (next_states.setdefault(next_state, len(next_states)), number, k, row)
                    )
            total += len(edges)
            _require(total <= MOST_EDGES, "there are too many ways to read the text")
            stages.append(_ordered(edges))
            states = next_states
        final_edges = [
            (0, number, 0, self._final_row(state, gaps[-1])) for state, number in states.items()
        ]
        return [*stages, _ordered(final_edges)]

    def _gaps(self) -> list[str]:
        found = []
        last = 0
        for word in self.text.words:
            found.append(self.text.source[last : word.start])
            last = word.end
        return [*found, self.text.source[last:]]

    def _next_state(self, state: Any, gap: str, piece: str) -> tuple[Any, int]:
        """A state: whether a space must follow the last piece, the first space since a word is
        gone, the memories.
        """
        edge, pending, suffixes = state
        if not piece:
            return (state if edge is None else (edge, pending or gap, suffixes)), self._row_index(
                []
            )
        if edge is not None and pending is not None:  # words are gone in between
            if not gap and not _letter(piece[0]):
                gap = ""
            else:
                gap = pending or gap or (" " if edge and spaced(piece[0]) else "")
        extended = [self._next_suffix(k, suffix, gap, piece) for k, suffix in enumerate(suffixes)]
        return (
            spaced(piece[-1]),
            None,
            tuple(next_suffix for next_suffix, _ in extended),
        ), self._row_index([counts for _, counts in extended])

    def _next_suffix(
        self, number: int, suffix: Suffix, gap: str, piece: str
    ) -> tuple[Suffix, dict[int, float]]:
        key = (number, suffix, gap, piece)
        if key not in self.cache:
            next_suffix, counts = _transition(self.streams[number], suffix, gap, piece)
            self.cache[key] = next_suffix, self._by_column(number, counts)
        return self.cache[key]  # type: ignore[no-any-return]

    def _final_row(self, state: Any, rest: str) -> int:
        edge, _, suffixes = state
        if edge is None:
            return self._row_index([])
        return self._row_index(
            [
                self._by_column(k, _final_counts(self.streams[k], suffix, rest))
                for k, suffix in enumerate(suffixes)
            ]
        )

    def _by_column(self, number: int, features: Counter[str]) -> dict[int, float]:
        found: dict[int, float] = {}
        for feature, times in features.items():
            place = self.streams[number].column(feature)
            if place is not None:
                found[place[0]] = found.get(place[0], 0.0) + place[1] * times
        return found

    def _row_index(self, parts: Sequence[Mapping[int, float]]) -> int:
        total: dict[int, float] = {}
        for part in parts:
            for column, count in part.items():
                total[column] = total.get(column, 0.0) + count
        row = tuple(sorted((column, count) for column, count in total.items() if count))
        return self.rows.setdefault(row, len(self.rows))

    # --- what may be ---

    def usable_edges(self, allowed: Sequence[Sequence[int]]) -> list[Bools]:
        """For each word the steps that can be taken."""
        found = []
        reachable = np.ones(1, dtype=bool)
        for stage, choices in zip(self.stages, (*allowed, (0,)), strict=True):
            usable = reachable[stage.source] & np.isin(stage.choice, choices)
            found.append(usable)
            reachable = np.logical_or.reduceat(usable, stage.target_starts)
        return found

    def count_ranges(self, allowed: Sequence[Sequence[int]]) -> tuple[Floats, Floats]:
        """The least and most of each column."""
        least = np.zeros(len(self.columns))
        most = np.zeros(len(self.columns))
        for stage, usable in zip(self.stages, self.usable_edges(allowed), strict=True):
            low, high = self._extremes(stage.row[usable])
            least += low
            most += high
        return least, most

    def _extremes(self, rows: Ints) -> tuple[Floats, Floats]:
        some = self.count_table[np.unique(rows)]
        return some.min(0).toarray().ravel(), some.max(0).toarray().ravel()

    def ranges_within_changes(
        self, reference: tuple[int, ...], limit: int
    ) -> tuple[Floats, Floats]:
        """The least and most of each column where at most so many words change."""
        if reference not in self.cache:
            self.cache[reference] = self._change_ranges(reference)
        now, down, up = self.cache[reference]
        return now + limit * down, now + limit * up

    def _change_ranges(self, reference: tuple[int, ...]) -> tuple[Floats, Floats, Floats]:
        own_counts = self.count_table[self._path_rows(reference)].toarray()
        sides = [self._extremes(stage.row) for stage in self.stages]
        downs = np.cumsum(
            [low - own_row for (low, _), own_row in zip(sides, own_counts, strict=True)], axis=0
        )
        ups = np.cumsum(
            [high - own_row for (_, high), own_row in zip(sides, own_counts, strict=True)], axis=0
        )
        down = np.zeros(len(self.columns))
        up = np.zeros(len(self.columns))
        for word in range(len(self.stages)):
            end = self._last_affected(word, reference)
            down = np.minimum(down, downs[end] - (downs[word - 1] if word else 0.0))
            up = np.maximum(up, ups[end] - (ups[word - 1] if word else 0.0))
        return own_counts.sum(0), down, up

    def _path_rows(self, reference: tuple[int, ...]) -> list[int]:
        found = []
        state = 0
        for stage, k in zip(self.stages, (*reference, 0), strict=True):
            (edge,) = np.flatnonzero((stage.source == state) & (stage.choice == k))
            found.append(int(stage.row[edge]))
            state = int(stage.target[edge])
        return found

    def _last_affected(self, word: int, reference: tuple[int, ...]) -> int:
        """The first word after which all ways that differ up to here have met again."""
        states = np.unique(self.stages[word].target)
        while len(states) > 1:
            word += 1
            stage = self.stages[word]
            k = reference[word] if word < len(reference) else 0
            states = np.unique(stage.target[np.isin(stage.source, states) & (stage.choice == k)])
        return word

    # --- the cheapest way ---

    def shortest_path(
        self,
        prices: Floats,
        allowed: Sequence[Sequence[int]],
        choice_costs: Mapping[Place, float],
        reference: Sequence[int],
        limit: int | None,
        fewest_changes: int = 0,
    ) -> float:
        """The least sum of the prices of what is counted, and of what choices cost, with so many
        changes.
        """
        cost = np.asarray(self.count_table @ prices)
        count = len(self.pieces)
        layers = 1 if limit is None else min(limit, count) + 1
        value = np.full((1, layers), np.inf)
        value[0, 0] = 0.0
        for word, stage in enumerate(self.stages):
            self.check_time()
            choices = allowed[word] if word < count else (0,)
            choice_cost = np.array(
                [
                    choice_costs.get((word, k), 0.0) if k in choices else np.inf
                    for k in range(stage.choice.max() + 1)
                ]
            )
            arrivals = value[stage.source] + (cost[stage.row] + choice_cost[stage.choice])[:, None]
            if limit is not None and word < count:
                changed = stage.choice != reference[word]
                shifted = np.full_like(arrivals[changed], np.inf)
                shifted[:, 1:] = arrivals[changed][:, :-1]
                arrivals[changed] = shifted
            value = np.minimum.reduceat(arrivals, stage.target_starts, axis=0)
        return float(value[:, fewest_changes:].min(initial=np.inf))

    def largest_sum(self, allowed: Sequence[Sequence[int]], weights: Floats) -> float:
        """The most that each word can add, of a number for each count of a column."""
        value = np.asarray(abs(self.count_table) @ weights)
        both = zip(self.stages, self.usable_edges(allowed), strict=True)
        return float(sum(value[stage.row[usable]].max(initial=0.0) for stage, usable in both))


def _ordered(edges: list[tuple[int, int, int, int]]) -> Stage:
    target, source, choice, row = np.array(sorted(edges), dtype=np.int64).T
    return Stage(source, choice, target, row)


def _letter(char: str) -> bool:
    """A letter or digit, or a mark on one: what else begins a piece stays at the piece
    before it.
    """
    return char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M"

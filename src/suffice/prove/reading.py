"""Reading: a text piece by piece, as streams of symbols; what a piece adds, and the end that the next one needs.

The end is no longer than the part of a known feature that may go on. A piece is spaced as `rewritten` spaces it: a mark
that stood at a removed word stays at the one before, and two words never grow together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from suffice.model.boundaries import spaced, wordlike
from suffice.model.streams import Stream
from suffice.model.text import Text

End = tuple[str, ...] | str  # tokens (the last one open, where spaces end tokens), or characters
Row = tuple[tuple[int, float], ...]


class State(NamedTuple):
    """Where a text stands: the ends of its streams, and what lies between its last word and the next."""

    ends: tuple[End, ...]
    before: bool | None = None  # whether no word may follow the last piece without a space; None: there is none yet
    gone: bool = False  # words have been removed since
    gap: str = ""  # the first space since, where words have been removed


@dataclass(frozen=True, eq=False)
class Reading:
    """One text before streams."""

    streams: tuple[Stream, ...]
    text: Text

    @cached_property
    def start(self) -> State:
        return State(tuple(("",) if s.kind == "split" else () if s.kind == "word" else "" for s in self.streams))

    @cached_property
    def gaps(self) -> list[str]:
        """What stands before each word, and after the last one."""
        ends = [0, *(word.end for word in self.text.words)]
        starts = [*(word.start for word in self.text.words), len(self.text.source)]
        return [self.text.source[a:b] for a, b in zip(ends, starts, strict=True)]

    def after(self, state: State, word: int, piece: str) -> tuple[State, Row]:
        """The state after a word that has become `piece`, and what that adds."""
        gap = self.gaps[word]
        if not piece:
            first = state.gap or gap
            return (state if state.before is None else state._replace(gone=True, gap=first)), ()
        if state.before is None:
            gap = self.gaps[0]
        elif state.gone:
            gap = self._mended(state, gap, piece)
        ends: list[End] = []
        rows: list[Mapping[int, float]] = []
        for place, stream in enumerate(self.streams):
            end, row = self._more(place, stream, state.ends[place], gap, piece)
            ends.append(end)
            rows.append(row)
        return State(tuple(ends), spaced(piece[-1])), _added(rows)

    def _mended(self, state: State, gap: str, piece: str) -> str:
        if not gap and not wordlike(piece[0]):
            return ""
        return state.gap or gap or (" " if state.before and spaced(piece[0]) else "")

    def close(self, state: State) -> Row:
        """What the end of the text adds."""
        if state.before is None:
            return ()
        rows: list[Mapping[int, float]] = []
        for place, stream in enumerate(self.streams):
            end = state.ends[place]
            match stream.kind:
                case "word":
                    rows.append({})
                case "split":
                    rows.append(_closed(stream, end)[1])
                case "char":
                    rows.append(self._run(place, end, squeezed(stream.prepare(self.gaps[-1]))))
                case "char_wb":
                    rows.append(self._run(place, end, " "))
        return _added(rows)

    def _more(self, place: int, stream: Stream, end: End, gap: str, piece: str) -> tuple[End, Mapping[int, float]]:
        match stream.kind:
            case "word":
                assert isinstance(end, tuple)
                return _appended(stream, end, stream.tokens(piece))
            case "split":
                return self._open(stream, end, stream.prepare(gap), stream.prepare(piece))
            case "char":
                new = squeezed(stream.prepare(gap)) + squeezed(stream.prepare(piece))
            case "char_wb":
                first = not end or any(map(str.isspace, stream.prepare(gap)))
                new = (" " if first else "") + " ".join(stream.prepare(piece).split())
        assert isinstance(end, str)
        return self._short(stream, end + new), self._run(place, end, new)

    # --- characters ---

    def _run(self, place: int, end: End, new: str) -> Mapping[int, float]:
        """The known runs of characters that end in `new`."""
        assert isinstance(end, str)
        stream = self.streams[place]
        cached = self._runs[place].get((end, new))
        if cached is None:
            cached, whole, longest = {}, end + new, stream.orders[1]
            for at in range(len(end) + 1, len(whole) + 1):
                for size in range(1, min(longest, at) + 1):
                    _count(stream, whole[at - size : at], cached, at == len(whole))
            self._runs[place][end, new] = cached
        return cached

    @cached_property
    def _runs(self) -> list[dict[tuple[str, str], dict[int, float]]]:
        return [{} for _ in self.streams]

    def _short(self, stream: Stream, whole: str) -> str:
        end = whole[-(stream.orders[1] - 1) :] if stream.orders[1] > 1 else whole[:0]
        while end and not stream.begins(end):
            end = end[1:]
        if stream.kind == "char_wb" and not end:
            return whole[-1:]  # that a word has begun
        return end

    # --- tokens ---

    def _open(self, stream: Stream, end: End, gap: str, piece: str) -> tuple[End, Mapping[int, float]]:
        """Tokens between spaces: the last one may still grow, and counts once it is closed."""
        assert isinstance(end, tuple)
        first, *others = piece.split()
        *tokens, last = end
        rows: list[Mapping[int, float]] = []
        for one in (first, *others):
            if one is not first or any(map(str.isspace, gap)):
                done, row = _closed(stream, (*tokens, last))
                tokens, last = [*done], ""
                rows.append(row)
            last += one
        return (*tokens, last), dict(_added(rows))


def _closed(stream: Stream, end: End) -> tuple[tuple[str, ...], dict[int, float]]:
    """The tokens with the open one, and what it adds."""
    assert isinstance(end, tuple)
    *tokens, last = end
    if not last or last in stream.stop:
        return tuple(tokens), {}
    return _appended(stream, tokens, [last])


def _appended(stream: Stream, before: Sequence[str], new: Sequence[str]) -> tuple[tuple[str, ...], dict[int, float]]:
    """The end of the tokens, and the runs of them that end in new ones."""
    found: dict[int, float] = {}
    tokens, low, high = [*before], *stream.orders
    for token in new:
        tokens.append(token)
        for size in range(low, min(high, len(tokens)) + 1):
            place = stream.column(" ".join(tokens[-size:]))
            if place is not None:
                found[place[0]] = found.get(place[0], 0.0) + place[1]
    tokens = tokens[-(high - 1) :] if high > 1 else []
    while tokens and not stream.begins(" ".join(tokens)):
        tokens = tokens[1:]
    return tuple(tokens), found


def _count(stream: Stream, run: str, found: dict[int, float], last: bool) -> None:
    """One run of characters, the last ones or not."""
    times, whole = 1.0, len(run) >= stream.orders[0]
    if stream.kind == "char_wb":
        whole = whole or (len(run) > 2 and run[0] == run[-1] == " ")  # a word shorter than the shortest run
        whole = whole and " " not in run[1:-1]  # no further than one word and its edges
        if run == " ":
            times = 0.0 if last else 2.0  # both edges of a word are counted where it begins
    place = stream.column(run) if whole and times else None
    if place is not None:
        found[place[0]] = found.get(place[0], 0.0) + times * place[1]


def _added(rows: list[Mapping[int, float]]) -> Row:
    total: dict[int, float] = {}
    for row in rows:
        for column, count in row.items():
            total[column] = total.get(column, 0.0) + count
    return tuple(total.items())


def squeezed(text: str) -> str:
    """Two or more white spaces in a row as one, as scikit-learn does it."""
    return re.sub(r"\s\s+", " ", text)

"""Transducer: reads a text piece by piece and emits what each piece adds to the counts.

A state is the suffix of each stream (tokens or characters) that the next piece needs, no longer
than the part of a known feature that may go on, and the spacing that is still open. A piece is
spaced as `rewritten` spaces it: a mark that stood at a removed word stays at the one before, and
two words never grow together.

Method: finite-state transducer of n-gram counts (theory, section 9).
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

Suffix = tuple[str, ...] | str  # tokens (the last one open, where spaces end tokens), or characters
CountRow = tuple[tuple[int, float], ...]


class TransducerState(NamedTuple):
    """A state: the suffixes of the streams, and the spacing between the last word and the next."""

    suffixes: tuple[Suffix, ...]
    # whether no word may follow the last piece without a space; None: there is none yet
    last_spaced: bool | None = None
    words_removed: bool = False  # words have been removed since
    pending_gap: str = ""  # the first space since, where words have been removed


@dataclass(frozen=True, eq=False)
class Transducer:
    """The transducer of one text and its streams of symbols."""

    streams: tuple[Stream, ...]
    text: Text

    @cached_property
    def initial(self) -> TransducerState:
        return TransducerState(
            tuple(
                ("",) if s.kind == "split" else () if s.kind == "word" else "" for s in self.streams
            )
        )

    @cached_property
    def gaps(self) -> list[str]:
        """What stands before each word, and after the last one."""
        ends = [0, *(word.end for word in self.text.words)]
        starts = [*(word.start for word in self.text.words), len(self.text.source)]
        return [self.text.source[a:b] for a, b in zip(ends, starts, strict=True)]

    def transition(
        self, state: TransducerState, word: int, piece: str
    ) -> tuple[TransducerState, CountRow]:
        """The next state where a word has become `piece`, and the counts it adds."""
        gap = self.gaps[word]
        if not piece:
            first = state.pending_gap or gap
            return (
                state
                if state.last_spaced is None
                else state._replace(words_removed=True, pending_gap=first)
            ), ()
        if state.last_spaced is None:
            gap = self.gaps[0]
        elif state.words_removed:
            gap = self._restored_gap(state, gap, piece)
        suffixes: list[Suffix] = []
        rows: list[Mapping[int, float]] = []
        for place, stream in enumerate(self.streams):
            suffix, row = self._extended(place, stream, state.suffixes[place], gap, piece)
            suffixes.append(suffix)
            rows.append(row)
        return TransducerState(tuple(suffixes), spaced(piece[-1])), _sum_rows(rows)

    def _restored_gap(self, state: TransducerState, gap: str, piece: str) -> str:
        if not gap and not wordlike(piece[0]):
            return ""
        return state.pending_gap or gap or (" " if state.last_spaced and spaced(piece[0]) else "")

    def final_counts(self, state: TransducerState) -> CountRow:
        """What the end of the text adds."""
        if state.last_spaced is None:
            return ()
        rows: list[Mapping[int, float]] = []
        for place, stream in enumerate(self.streams):
            suffix = state.suffixes[place]
            match stream.kind:
                case "word":
                    rows.append({})
                case "split":
                    rows.append(_close_token(stream, suffix)[1])
                case "char":
                    rows.append(
                        self._character_counts(
                            place, suffix, squeezed(stream.prepare(self.gaps[-1]))
                        )
                    )
                case "char_wb":
                    rows.append(self._character_counts(place, suffix, " "))
        return _sum_rows(rows)

    def _extended(
        self, place: int, stream: Stream, suffix: Suffix, gap: str, piece: str
    ) -> tuple[Suffix, Mapping[int, float]]:
        match stream.kind:
            case "word":
                assert isinstance(suffix, tuple)
                return _append_tokens(stream, suffix, stream.tokens(piece))
            case "split":
                return self._extended_tokens(
                    stream, suffix, stream.prepare(gap), stream.prepare(piece)
                )
            case "char":
                new = squeezed(stream.prepare(gap)) + squeezed(stream.prepare(piece))
            case "char_wb":
                first = not suffix or any(map(str.isspace, stream.prepare(gap)))
                new = (" " if first else "") + " ".join(stream.prepare(piece).split())
        assert isinstance(suffix, str)
        return self._needed_suffix(stream, suffix + new), self._character_counts(place, suffix, new)

    # --- characters ---

    def _character_counts(self, place: int, suffix: Suffix, new: str) -> Mapping[int, float]:
        """The known runs of characters that end in `new`."""
        assert isinstance(suffix, str)
        stream = self.streams[place]
        cached = self._character_cache[place].get((suffix, new))
        if cached is None:
            cached = {}
            whole = suffix + new
            longest = stream.orders[1]
            for stop in range(len(suffix) + 1, len(whole) + 1):
                for size in range(1, min(longest, stop) + 1):
                    _count_characters(stream, whole[stop - size : stop], cached, stop == len(whole))
            self._character_cache[place][suffix, new] = cached
        return cached

    @cached_property
    def _character_cache(self) -> list[dict[tuple[str, str], dict[int, float]]]:
        return [{} for _ in self.streams]

    def _needed_suffix(self, stream: Stream, whole: str) -> str:
        suffix = whole[-(stream.orders[1] - 1) :] if stream.orders[1] > 1 else whole[:0]
        while suffix and not stream.begins(suffix):
            suffix = suffix[1:]
        if stream.kind == "char_wb" and not suffix:
            return whole[-1:]  # that a word has begun
        return suffix

    # --- tokens ---

    def _extended_tokens(
        self, stream: Stream, suffix: Suffix, gap: str, piece: str
    ) -> tuple[Suffix, Mapping[int, float]]:
        """Tokens between spaces: the last one may still grow, and counts once it is closed."""
        assert isinstance(suffix, tuple)
        first, *others = piece.split()
        *tokens, last = suffix
        rows: list[Mapping[int, float]] = []
        for part in (first, *others):
            if part is not first or any(map(str.isspace, gap)):
                done, row = _close_token(stream, (*tokens, last))
                tokens = [*done]
                last = ""
                rows.append(row)
            last += part
        return (*tokens, last), dict(_sum_rows(rows))


def _close_token(stream: Stream, suffix: Suffix) -> tuple[tuple[str, ...], dict[int, float]]:
    """The tokens with the open one, and what it adds."""
    assert isinstance(suffix, tuple)
    *tokens, last = suffix
    if not last or last in stream.stop:
        return tuple(tokens), {}
    return _append_tokens(stream, tokens, [last])


def _append_tokens(
    stream: Stream, before: Sequence[str], new: Sequence[str]
) -> tuple[tuple[str, ...], dict[int, float]]:
    """The end of the tokens, and the runs of them that end in new ones."""
    counts: dict[int, float] = {}
    tokens, low, high = [*before], *stream.orders
    for token in new:
        tokens.append(token)
        for size in range(low, min(high, len(tokens)) + 1):
            place = stream.column(" ".join(tokens[-size:]))
            if place is not None:
                counts[place[0]] = counts.get(place[0], 0.0) + place[1]
    tokens = tokens[-(high - 1) :] if high > 1 else []
    while tokens and not stream.begins(" ".join(tokens)):
        tokens = tokens[1:]
    return tuple(tokens), counts


def _count_characters(stream: Stream, run: str, counts: dict[int, float], last: bool) -> None:
    """One run of characters, the last ones or not."""
    times = 1.0
    whole = len(run) >= stream.orders[0]
    if stream.kind == "char_wb":
        # a word shorter than the shortest run
        whole = whole or (len(run) > 2 and run[0] == run[-1] == " ")
        whole = whole and " " not in run[1:-1]  # no further than one word and its edges
        if run == " ":
            times = 0.0 if last else 2.0  # both edges of a word are counted where it begins
    place = stream.column(run) if whole and times else None
    if place is not None:
        counts[place[0]] = counts.get(place[0], 0.0) + times * place[1]


def _sum_rows(rows: list[Mapping[int, float]]) -> CountRow:
    total: dict[int, float] = {}
    for row in rows:
        for column, count in row.items():
            total[column] = total.get(column, 0.0) + count
    return tuple(total.items())


def squeezed(text: str) -> str:
    """Two or more white spaces in a row as one, as scikit-learn does it."""
    return re.sub(r"\s\s+", " ", text)

"""Chain: all texts that the words of one text may become, as ways through the states of a reading.

A state is what the next piece needs to know of the text before it; every choice of a word leads from each state to one
of the next word's, and adds a row of counts. The last step is the end of the text. The cheapest text for prices of
features is a shortest path, with a limit on changes one for each number of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy  # its subpackages load on first use

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.held import Held, held_by
from suffice.prove.reading import Reading, Row, State

MOST_STEPS = 400_000
MOST_LAYERS = 24  # a limit on more changes than this is left out: the bound holds without it


class TooManySteps(Exception):
    """A text may be read in too many ways."""


@dataclass(frozen=True, eq=False)
class Chain:
    """Steps in the order of their word and of where they lead; the last word is the end of the text.

    States are numbered from 0 for each word. The end's choice is -1: an entry that is put behind all choices.
    """

    source: Ints
    target: Ints
    choice: Ints
    row: Ints
    start: list[int]  # where the steps of each word start, one more at the end
    rows: scipy.sparse.csr_matrix  # (rows, features)
    columns: Ints  # the features' places in the bag

    @property
    def words(self) -> int:
        return len(self.start) - 1

    @cached_property
    def leads(self) -> list[Ints]:
        """For each word where the steps of each target begin, from the word's first step on."""
        parts = [self.target[a:b] for a, b in zip(self.start, self.start[1:], strict=False)]
        return [np.flatnonzero(np.diff(part, prepend=-1)) for part in parts]

    @cached_property
    def held(self) -> Held:
        """What each step adds, by word and feature."""
        per = np.diff(self.rows.indptr)[self.row]
        step = np.repeat(np.arange(len(self.row)), per)
        within = np.arange(len(step)) - np.repeat(np.cumsum(per) - per, per)
        at = self.rows.indptr[self.row][step] + within
        word = np.searchsorted(np.array(self.start), step, side="right") - 1
        return held_by(step, word, self.rows.indices[at].astype(np.int64), self.rows.data[at])

    # --- one text ---

    def steps(self, chosen: Ints) -> list[int]:
        """The steps of a text."""
        found, state = [], 0
        for word in range(self.words):
            choice = int(chosen[word]) if word < len(chosen) else -1
            step = self._step[word, state, choice]
            found.append(step)
            state = int(self.target[step])
        return found

    @cached_property
    def _step(self) -> dict[tuple[int, int, int], int]:
        word = np.repeat(np.arange(self.words), np.diff(self.start))
        keys = zip(word.tolist(), self.source.tolist(), self.choice.tolist(), strict=True)
        return {key: step for step, key in enumerate(keys)}

    def counts(self, chosen: Ints) -> Floats:
        return np.asarray(self.rows[self.row[self.steps(chosen)]].sum(0)).ravel()

    def instead(self, chosen: Ints, cost: Floats) -> Floats:
        """By choice, what the steps of a text cost more with it in the place of the present one."""
        base = self.steps(chosen)
        found = np.zeros(int(self.choice.max(initial=0)) + 1)
        for word in range(self.words - 1):
            for choice in range(int(self.choices[word]), int(self.choices[word + 1])):
                found[choice] = self._detour(base, chosen, word, choice, cost) if choice != chosen[word] else 0.0
        return found

    def _detour(self, base: Sequence[int], chosen: Ints, word: int, choice: int, cost: Floats) -> float:
        state, total = int(self.source[base[word]]), 0.0
        for at in range(word, self.words):
            pick = choice if at == word else int(chosen[at]) if at < len(chosen) else -1
            step = self._step[at, state, pick]
            total += cost[step] - cost[base[at]]
            state = int(self.target[step])
            if state == self.target[base[at]]:
                break
        return total

    @cached_property
    def choices(self) -> Ints:
        """The first choice of each word, and one more at the end."""
        first = [int(self.choice[a:b].min()) for a, b in zip(self.start, self.start[1:-1], strict=False)]
        return np.array([*first, int(self.choice.max(initial=0)) + 1])

    # --- all texts ---

    def by_choice(self, each: Floats) -> Floats:
        """The most that a choice can add up to, of a number for each count of a feature."""
        value = np.asarray(abs(self.rows) @ each)[self.row]
        found = np.zeros(int(self.choice.max(initial=0)) + 2)
        np.maximum.at(found, self.choice, value)
        return found[:-1]

    def priced(self, prices: Floats, cost: Floats) -> Floats:
        """The cost of each step, given prices of features and costs of choices."""
        return np.asarray((self.rows @ prices)[self.row] + np.append(cost, 0.0)[self.choice])

    def cheapest(self, cost: Floats, moved: Bools, limit: int | None, exactly: bool = False) -> tuple[float, Ints]:
        """The cheapest way by the steps' costs, at most (or exactly) so many of them moved, and its choices."""
        layers = 0 if limit is None else limit
        values = [np.full((1, layers + 1), np.inf)]
        values[0][0, 0] = 0.0
        for word in range(self.words):
            part = slice(self.start[word], self.start[word + 1])
            reached = self._reached(values[-1], cost[part], part, moved if layers or limit == 0 else None)
            values.append(np.minimum.reduceat(reached, self.leads[word], axis=0))
        last = layers if exactly else int(values[-1][0].argmin())
        return float(values[-1][0, last]), self._back(values, cost, moved if limit is not None else None, last)

    def _reached(self, before: Floats, cost: Floats, part: slice, moved: Bools | None) -> Floats:
        reached = np.asarray(before[self.source[part]] + cost[:, None])
        if moved is not None:
            some = moved[part]
            reached[some, 1:] = reached[some, :-1]
            reached[some, 0] = np.inf
        return reached

    def _back(self, values: list[Floats], cost: Floats, moved: Bools | None, layer: int) -> Ints:
        chosen, state = np.zeros(self.words - 1, dtype=np.int64), 0
        for word in range(self.words - 1, -1, -1):
            a = self.start[word] + int(self.leads[word][state])
            b = int(np.searchsorted(self.target[a : self.start[word + 1]], state, side="right")) + a
            reached = self._reached(values[word], cost[a:b], slice(a, b), moved)[:, layer]
            step = a + int(reached.argmin())
            if moved is not None and moved[step]:
                layer -= 1
            if word < self.words - 1:
                chosen[word] = self.choice[step]
            state = int(self.source[step])
        return chosen

    def live(self, allowed: Bools) -> Bools:
        """The steps that texts of these choices can take."""
        free = np.append(allowed, True)[self.choice]
        reach = np.ones(1, dtype=bool)
        for word in range(self.words):
            part = slice(self.start[word], self.start[word + 1])
            free[part] &= reach[self.source[part]]
            reach = np.logical_or.reduceat(free[part], self.leads[word])
        return free

    def ranges(self, allowed: Bools) -> tuple[Floats, Floats]:
        """The least and most that each feature may count."""
        live = self.live(allowed)
        among = np.add.reduceat(live.astype(np.int64), self.start[:-1])
        return self.held.ranges(live, among, len(self.columns))

    def largest(self, allowed: Bools, each: Floats) -> float:
        """The most that a text can add up to by word, of a number for each count of a feature."""
        value = np.asarray(abs(self.rows) @ each)[self.row]
        value = np.where(self.live(allowed), value, 0.0)
        return float(np.maximum.reduceat(value, self.start[:-1]).sum())

    def swing(self, reference: Ints) -> tuple[Floats, Floats]:
        """By feature, how far down and up one changed word can move its count, wherever it is and whatever it becomes.

        After the changed word the steps may differ from those of the reference until every state leads to its own.
        """
        key = reference.tobytes()
        if key not in self._swings:
            self._swings[key] = self._swing(reference)
        return self._swings[key]

    @cached_property
    def _swings(self) -> dict[bytes, tuple[Floats, Floats]]:
        return {}

    def _swing(self, reference: Ints) -> tuple[Floats, Floats]:
        base = self.steps(reference)
        own = self.rows[self.row[base]]
        least, most = (self._by_word(side) for side in self.held.extremes())
        until, within = self._until(reference, base), np.arange(self.words)
        window = (within[None] >= within[:, None]) & (within[None] <= until[:, None])
        moved = scipy.sparse.csr_matrix(window).astype(float)
        down, up = (moved @ (least - own)).minimum(0.0).min(0), (moved @ (most - own)).maximum(0.0).max(0)
        return np.asarray(down.todense()).ravel(), np.asarray(up.todense()).ravel()

    def _by_word(self, values: Floats) -> scipy.sparse.csr_matrix:
        """A table (words, features) of a value for each word and feature that its steps add."""
        places = (self.held.word, self.held.feature)
        return scipy.sparse.csr_matrix((values, places), shape=(self.words, len(self.columns)))

    def _until(self, reference: Ints, base: Sequence[int]) -> Ints:
        """For each word the last step that a change of it can move."""
        found = np.full(self.words, self.words - 1)
        for word in range(self.words):
            part = slice(self.start[word], self.start[word + 1])
            states = np.unique(self.target[part])
            at = word
            while len(states) > 1 and at + 1 < self.words:
                at += 1
                pick = int(reference[at]) if at < len(reference) else -1
                states = np.unique([self.target[self._step[at, int(state), pick]] for state in states])
            found[word] = at
        return found


def chained(reading: Reading, pieces: Sequence[Sequence[str]]) -> Chain:
    """The chain of a text whose words may be these pieces."""
    states, steps, start = {reading.start: 0}, [], [0]
    rows: dict[Row, int] = {}
    first = 0
    for word, options in enumerate(pieces):
        after: dict[State, int] = {}
        part = []
        for state, source in states.items():
            for k, piece in enumerate(options):
                new, row = reading.after(state, word, piece)
                target = after.setdefault(new, len(after))
                part.append((target, source, first + k, rows.setdefault(row, len(rows))))
        steps += sorted(part)
        if len(steps) > MOST_STEPS:
            raise TooManySteps(f"it can be read in more than {MOST_STEPS} steps")
        start.append(len(steps))
        states, first = after, first + len(options)
    steps += [(0, source, -1, rows.setdefault(reading.close(state), len(rows))) for state, source in states.items()]
    start.append(len(steps))
    return _numbered(np.array(steps, dtype=np.int64), start, list(rows))


def _numbered(steps: Ints, start: list[int], rows: list[Row]) -> Chain:
    known: dict[int, int] = {}
    cells = [
        (place, known.setdefault(column, len(known)), count)
        for place, row in enumerate(rows)
        for column, count in row
        if count
    ]
    places, columns, counts = (np.array(part) for part in zip(*cells, strict=True)) if cells else ([], [], [])
    table = scipy.sparse.csr_matrix((counts, (places, columns)), shape=(len(rows), len(known)), dtype=np.float64)
    table.sum_duplicates()
    target, source, choice, row = steps.T
    return Chain(source, target, choice, row, start, table, np.array(list(known), dtype=np.int64))

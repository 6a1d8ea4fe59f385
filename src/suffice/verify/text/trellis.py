"""Trellis: all texts that the words of one text may become, as paths through a transducer's states.

The transducer, unrolled over the words: stage i has one edge per reachable state and option of
word i, which leads to a state of the next stage and adds a row of counts; the last stage is the
end of the text. The cheapest text for prices of features is a shortest path, with a limit on
changes one per number of changes.

Method: weighted automaton and Viterbi (theory, section 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy  # its subpackages load on first use

from suffice import work
from suffice.model.network import Bools, Floats, Ints
from suffice.settings import RESOURCES
from suffice.verify.text.incidence import Incidence, build_incidence
from suffice.verify.text.transducer import CountRow, Transducer, TransducerState


class TooManyEdges(Exception):
    """The trellis of a text would have more than `RESOURCES.trellis_edges` edges."""


@dataclass(frozen=True, eq=False)
class Trellis:
    """Edges in the order of their stage and target; the last stage is the end of the text.

    `source` and `target` are states, numbered from 0 in each stage; `choice` is the lattice's, -1
    for the end; `row` is the edge's row of counts in `rows` (rows, features).
    """

    source: Ints
    target: Ints
    choice: Ints
    row: Ints
    stage_start: list[int]  # where the edges of each stage start, one more at the end
    rows: scipy.sparse.csr_matrix  # (rows, features)
    columns: Ints  # the features' places in the bag

    @property
    def stages(self) -> int:
        return len(self.stage_start) - 1

    @cached_property
    def target_starts(self) -> list[Ints]:
        """By stage, where the edges of each target begin, counted from the stage's first edge."""
        parts = [
            self.target[a:b] for a, b in zip(self.stage_start, self.stage_start[1:], strict=False)
        ]
        return [np.flatnonzero(np.diff(part, prepend=-1)) for part in parts]

    @cached_property
    def incidence(self) -> Incidence:
        """What each edge adds, grouped by stage and feature."""
        row_sizes = np.diff(self.rows.indptr)[self.row]
        edge = np.repeat(np.arange(len(self.row)), row_sizes)
        offset = np.arange(len(edge)) - np.repeat(np.cumsum(row_sizes) - row_sizes, row_sizes)
        cell = self.rows.indptr[self.row][edge] + offset
        word = np.searchsorted(np.array(self.stage_start), edge, side="right") - 1
        return build_incidence(
            edge, word, self.rows.indices[cell].astype(np.int64), self.rows.data[cell]
        )

    # --- one text ---

    def path_edges(self, chosen: Ints) -> list[int]:
        """The edges of a text's path."""
        edges = []
        state = 0
        for word in range(self.stages):
            choice = int(chosen[word]) if word < len(chosen) else -1
            edge = self._edge_index[word, state, choice]
            edges.append(edge)
            state = int(self.target[edge])
        return edges

    @cached_property
    def _edge_index(self) -> dict[tuple[int, int, int], int]:
        word = np.repeat(np.arange(self.stages), np.diff(self.stage_start))
        keys = zip(word.tolist(), self.source.tolist(), self.choice.tolist(), strict=True)
        return {key: edge for edge, key in enumerate(keys)}

    def counts(self, chosen: Ints) -> Floats:
        return np.asarray(self.rows[self.row[self.path_edges(chosen)]].sum(0)).ravel()

    def substitution_costs(self, chosen: Ints, cost: Floats) -> Floats:
        """By choice, how much more a text costs with it in the place of the present one."""
        base_edges = self.path_edges(chosen)
        costs = np.zeros(int(self.choice.max(initial=0)) + 1)
        for word in range(self.stages - 1):
            for choice in range(int(self.first_choices[word]), int(self.first_choices[word + 1])):
                costs[choice] = (
                    self._substitution_cost(base_edges, chosen, word, choice, cost)
                    if choice != chosen[word]
                    else 0.0
                )
        return costs

    def _substitution_cost(
        self, base_edges: Sequence[int], chosen: Ints, word: int, choice: int, cost: Floats
    ) -> float:
        state = int(self.source[base_edges[word]])
        total = 0.0
        for stage in range(word, self.stages):
            pick = choice if stage == word else int(chosen[stage]) if stage < len(chosen) else -1
            edge = self._edge_index[stage, state, pick]
            total += cost[edge] - cost[base_edges[stage]]
            state = int(self.target[edge])
            if state == self.target[base_edges[stage]]:
                break
        return total

    @cached_property
    def first_choices(self) -> Ints:
        """The first choice of each word, and one more at the end."""
        first = [
            int(self.choice[a:b].min())
            for a, b in zip(self.stage_start, self.stage_start[1:-1], strict=False)
        ]
        return np.array([*first, int(self.choice.max(initial=0)) + 1])

    # --- all texts ---

    def most_by_choice(self, weights: Floats) -> Floats:
        """The most that a choice can add up to, of a number for each count of a feature."""
        value = np.asarray(abs(self.rows) @ weights)[self.row]
        most = np.zeros(int(self.choice.max(initial=0)) + 2)
        np.maximum.at(most, self.choice, value)
        return most[:-1]

    def priced(self, prices: Floats, cost: Floats) -> Floats:
        """(edges,) The cost of each edge, given prices of features and costs of choices."""
        return np.asarray((self.rows @ prices)[self.row] + np.append(cost, 0.0)[self.choice])

    def shortest_path(
        self, cost: Floats, changing: Bools, limit: int | None, exactly: bool = False
    ) -> tuple[float, Ints]:
        """The cost and choices of a shortest path with at most (or exactly) `limit`
        changing edges.
        """
        work.count("trellis_passes")
        layers = 0 if limit is None else limit
        values = [np.full((1, layers + 1), np.inf)]
        values[0][0, 0] = 0.0
        for stage_number in range(self.stages):
            stage = slice(self.stage_start[stage_number], self.stage_start[stage_number + 1])
            arrivals = self._arrivals(
                values[-1], cost[stage], stage, changing if layers or limit == 0 else None
            )
            values.append(np.minimum.reduceat(arrivals, self.target_starts[stage_number], axis=0))
        last = layers if exactly else int(values[-1][0].argmin())
        return float(values[-1][0, last]), self._backtrack(
            values, cost, changing if limit is not None else None, last
        )

    def _arrivals(
        self, before: Floats, cost: Floats, stage: slice, changing: Bools | None
    ) -> Floats:
        arrivals = np.asarray(before[self.source[stage]] + cost[:, None])
        if changing is not None:
            some = changing[stage]
            arrivals[some, 1:] = arrivals[some, :-1]
            arrivals[some, 0] = np.inf
        return arrivals

    def _backtrack(
        self, values: list[Floats], cost: Floats, changing: Bools | None, layer: int
    ) -> Ints:
        chosen = np.zeros(self.stages - 1, dtype=np.int64)
        state = 0
        for word in range(self.stages - 1, -1, -1):
            low = self.stage_start[word] + int(self.target_starts[word][state])
            high = (
                int(
                    np.searchsorted(
                        self.target[low : self.stage_start[word + 1]], state, side="right"
                    )
                )
                + low
            )
            arrivals = self._arrivals(values[word], cost[low:high], slice(low, high), changing)[
                :, layer
            ]
            edge = low + int(arrivals.argmin())
            if changing is not None and changing[edge]:
                layer -= 1
            if word < self.stages - 1:
                chosen[word] = self.choice[edge]
            state = int(self.source[edge])
        return chosen

    def usable_edges(self, allowed: Bools) -> Bools:
        """(edges,) Those on a path of allowed choices from the start."""
        usable = np.append(allowed, True)[self.choice]
        reachable = np.ones(1, dtype=bool)
        for stage_number in range(self.stages):
            stage = slice(self.stage_start[stage_number], self.stage_start[stage_number + 1])
            usable[stage] &= reachable[self.source[stage]]
            reachable = np.logical_or.reduceat(usable[stage], self.target_starts[stage_number])
        return usable

    def count_ranges(self, allowed: Bools) -> tuple[Floats, Floats]:
        """The least and most that each feature may count."""
        usable = self.usable_edges(allowed)
        choices_left = np.add.reduceat(usable.astype(np.int64), self.stage_start[:-1])
        return self.incidence.ranges(usable, choices_left, len(self.columns))

    def largest_sum(self, allowed: Bools, weights: Floats) -> float:
        """The most that a text can add up to by word, of a number for each count of a feature."""
        value = np.asarray(abs(self.rows) @ weights)[self.row]
        value = np.where(self.usable_edges(allowed), value, 0.0)
        return float(np.maximum.reduceat(value, self.stage_start[:-1]).sum())

    def change_ranges(self, reference: Ints) -> tuple[Floats, Floats]:
        """By feature, how far down and up one changed word can move its count, wherever it is and
        whatever it becomes.

        After the changed word the steps may differ from those of the reference until every state
        leads to its own.
        """
        key = reference.tobytes()
        if key not in self._change_range_cache:
            self._change_range_cache[key] = self._change_ranges(reference)
        return self._change_range_cache[key]

    @cached_property
    def _change_range_cache(self) -> dict[bytes, tuple[Floats, Floats]]:
        return {}

    def _change_ranges(self, reference: Ints) -> tuple[Floats, Floats]:
        base_edges = self.path_edges(reference)
        own_counts = self.rows[self.row[base_edges]]
        least, most = (self._by_word(side) for side in self.incidence.extremes())
        last_affected = self._last_affected(reference, base_edges)
        stages = np.arange(self.stages)
        window = (stages[None] >= stages[:, None]) & (stages[None] <= last_affected[:, None])
        window_sums = scipy.sparse.csr_matrix(window).astype(float)
        down = (window_sums @ (least - own_counts)).minimum(0.0).min(0)
        up = (window_sums @ (most - own_counts)).maximum(0.0).max(0)
        return np.asarray(down.todense()).ravel(), np.asarray(up.todense()).ravel()

    def _by_word(self, values: Floats) -> scipy.sparse.csr_matrix:
        """A table (words, features) of a value for each word and feature that its steps add."""
        places = (self.incidence.word, self.incidence.feature)
        return scipy.sparse.csr_matrix((values, places), shape=(self.stages, len(self.columns)))

    def _last_affected(self, reference: Ints, base_edges: Sequence[int]) -> Ints:
        """For each word the last step that a change of it can move."""
        last = np.full(self.stages, self.stages - 1)
        for word in range(self.stages):
            stage = slice(self.stage_start[word], self.stage_start[word + 1])
            states = np.unique(self.target[stage])
            affected = word
            while len(states) > 1 and affected + 1 < self.stages:
                affected += 1
                pick = int(reference[affected]) if affected < len(reference) else -1
                states = np.unique(
                    [self.target[self._edge_index[affected, int(state), pick]] for state in states]
                )
            last[word] = affected
        return last


def build_trellis(transducer: Transducer, pieces: Sequence[Sequence[str]]) -> Trellis:
    """The trellis of a text whose words may be these pieces."""
    states = {transducer.initial: 0}
    edges = []
    stage_start = [0]
    rows: dict[CountRow, int] = {}
    first = 0
    for word, options in enumerate(pieces):
        next_states: dict[TransducerState, int] = {}
        stage_edges = []
        for state, source in states.items():
            for k, piece in enumerate(options):
                next_state, row = transducer.transition(state, word, piece)
                target = next_states.setdefault(next_state, len(next_states))
                stage_edges.append((target, source, first + k, rows.setdefault(row, len(rows))))
        edges += sorted(stage_edges)
        if len(edges) > RESOURCES.trellis_edges:
            raise TooManyEdges(f"it can be read in more than {RESOURCES.trellis_edges} steps")
        stage_start.append(len(edges))
        states = next_states
        first = first + len(options)
    edges += [
        (0, source, -1, rows.setdefault(transducer.final_counts(state), len(rows)))
        for state, source in states.items()
    ]
    stage_start.append(len(edges))
    return _assembled(np.array(edges, dtype=np.int64), stage_start, list(rows))


def _assembled(edges: Ints, stage_start: list[int], rows: list[CountRow]) -> Trellis:
    feature_of: dict[int, int] = {}
    cells = [
        (place, feature_of.setdefault(column, len(feature_of)), count)
        for place, row in enumerate(rows)
        for column, count in row
        if count
    ]
    places, columns, counts = (
        (np.array(part) for part in zip(*cells, strict=True)) if cells else ([], [], [])
    )
    table = scipy.sparse.csr_matrix(
        (counts, (places, columns)), shape=(len(rows), len(feature_of)), dtype=np.float64
    )
    table.sum_duplicates()
    target, source, choice, row = edges.T
    return Trellis(
        source, target, choice, row, stage_start, table, np.array(list(feature_of), dtype=np.int64)
    )

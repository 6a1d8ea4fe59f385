"""Linear majorants of the norm form: what all sets of a cost leave possible, where neighbours
count.

A majorant is a line above the form N + b sqrt(S): a price for each feature and a constant. Where
b < 0, sqrt(S) = |v| is at least u v / |u| for any u; where b > 0 it is at most S / 2t + t / 2 for
any t; what a feature adds is bounded by a line in its count. A minorant is a majorant of the
negated form.

By one majorant the worst text that keeps a set of words is a shortest path, which the held words
cut into intervals that do not depend on each other. So a set is itself a path over intervals, and
a dynamic program over cost finds, for every cost, the set that lifts the worst text most. If even
that is below zero by a majorant, no set of the cost is sufficient; if it is above zero by a
minorant, it is sufficient. A set is above zero by each majorant, and so by every mix of them:
weights come from a matrix game against the sets seen so far (column generation). Where no mix
decides, the sets are split on a word.

Method: Lagrangian dual over majorants, dynamic program over cost (theory, section 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice import work
from suffice.model.network import Bools, Floats, Ints
from suffice.settings import RESOURCES, Majorants
from suffice.verify.text.norm_form import TextInstance, cheapest_text, negated
from suffice.verify.text.viterbi import transition_costs


@dataclass(frozen=True, eq=False)
class LinearMajorant:
    """constant + prices . counts, at least (or, as a minorant, at most) the form of every text."""

    constant: float
    prices: Floats
    norm_slope: float  # of S, where the root is bounded by a tangent
    direction: Floats  # (features,) the direction u, where it is bounded by that


@dataclass(frozen=True, eq=False)
class SetConstraints:
    """Which sets are sought: costs of words in whole units, words that must be held and words that
    must not.
    """

    costs: Sequence[int]
    include: Bools
    exclude: Bools


# --- lines ---


def upper_line(instance: TextInstance, counts: Floats) -> LinearMajorant:
    """A majorant of the form that is tight near texts with these counts."""
    lattice = instance.lattice
    values = lattice.values(counts)
    norm = float(np.sqrt(values @ values)) or 1.0
    norm_slope = 0.0
    constant = 0.0
    direction = np.zeros(len(values))
    match lattice.bag.norm:
        case None:
            constant = instance.bias
        case "l2" if instance.bias < 0:
            direction = values / norm
        case "l2":
            norm_slope = 0.5 * instance.bias / norm
            constant = 0.5 * instance.bias * norm
    grid, inside = instance.full_ranges.grid()
    terms = np.where(inside, _feature_terms(instance, norm_slope, direction, grid.T).T, -np.inf)
    prices = _tightest_slopes(terms, grid, inside, counts)
    constant += float((terms - prices[:, None] * grid).max(1).sum())
    return LinearMajorant(constant, prices, norm_slope, direction)


def _feature_terms(
    instance: TextInstance, norm_slope: float, direction: Floats, counts: Floats
) -> Floats:
    """What each feature adds, with a tangent or a direction in the place of the root."""
    values = instance.lattice.values(counts)
    terms = (instance.weight + instance.bias * direction) * values + norm_slope * values * values
    return np.asarray(
        terms + instance.bias * np.abs(values) if instance.lattice.bag.norm == "l1" else terms
    )


def lower_line(instance: TextInstance, counts: Floats) -> LinearMajorant:
    """A minorant of the form."""
    found = upper_line(negated(instance), counts)
    return LinearMajorant(-found.constant, -found.prices, -found.norm_slope, found.direction)


def _tightest_slopes(terms: Floats, grid: Floats, inside: Bools, counts: Floats) -> Floats:
    """Slopes of lines above each row that are lowest at `counts`: the chord, or steeper or flatter
    on one side.
    """
    rows = np.arange(len(terms))
    last = inside.sum(1) - 1
    best: Floats = (terms[rows, last] - terms[:, 0]) / np.maximum(last, 1)
    lowest = (terms - best[:, None] * grid).max(1) + best * counts
    curved = np.flatnonzero(last > 1)
    terms = terms[curved]
    grid = grid[curved]
    counts = counts[curved]
    for step in range(int(last.max(initial=0))):
        ends = last[curved] > step
        slopes = np.where(
            ends, np.where(ends, terms[:, step + 1], 0.0) - terms[:, step], best[curved]
        )
        height = (terms - slopes[:, None] * grid).max(1) + slopes * counts
        better = ends & (height < lowest[curved])
        best[curved[better]], lowest[curved[better]] = slopes[better], height[better]
    return best


# --- sets of words ---


@dataclass(frozen=True, eq=False)
class Majorant:
    """A line above the form of all texts that leave `kept` words unchanged, and its
    `interval_costs`.
    """

    kept: Bools
    line: LinearMajorant
    intervals: Floats

    def values_of(self, intervals: Ints, starts: Ints) -> Floats:
        """The least value of the line over the texts that keep each of some sets, whose intervals
        begin at `starts`.
        """
        return self.line.constant + np.add.reduceat(self.intervals.ravel()[intervals], starts)


@dataclass(frozen=True, eq=False)
class MajorantMix:
    """Majorants with weights that prove: no set that costs less than `lower` is sufficient."""

    lower: int
    weights: Floats
    majorants: tuple[Majorant, ...]

    @property
    def constant(self) -> float:
        return float(
            sum(
                w * majorant.line.constant
                for w, majorant in zip(self.weights, self.majorants, strict=True)
            )
        )

    @property
    def intervals(self) -> Floats:
        return np.asarray(
            sum(
                w * majorant.intervals
                for w, majorant in zip(self.weights, self.majorants, strict=True)
            )
        )


@dataclass(frozen=True, eq=False)
class MajorantSplit:
    """The same for the sets that hold a word, and for those that do not."""

    word: int
    held: MajorantTree
    out: MajorantTree

    @property
    def lower(self) -> int:
        return min(self.held.lower, self.out.lower)


MajorantTree = MajorantMix | MajorantSplit


@dataclass(frozen=True, eq=False)
class BestSetByCost:
    """For every cost, the set whose worst text by a majorant is best: its value, and the path to
    it.
    """

    values: Floats
    predecessor: Ints
    may_hold: Bools  # (words,) those that a set may or must hold

    @cached_property
    def first_cost(self) -> int:
        """The least cost at which the worst text is above zero; beyond the last one where it never
        is.
        """
        above = np.flatnonzero(self.values > 0)
        return int(above[0]) if len(above) else len(self.values)

    def words_at(self, cost: int, costs: Sequence[int]) -> list[int]:
        return [word for word in self.stops_at(cost, costs) if self.may_hold[word]]

    def stops_at(self, cost: int, costs: Sequence[int]) -> list[int]:
        """The words of the best set of a cost, and those between them that cannot change."""
        stops = []
        place = int(self.predecessor[cost, -1])
        while place > 0:
            stops.append(place - 1)
            before = int(self.predecessor[cost, place])
            cost -= costs[place - 1] if self.may_hold[place - 1] else 0
            place = before
        return stops[::-1]


def best_sets_by_cost(
    instance: TextInstance,
    intervals: Floats,
    constant: float,
    constraints: SetConstraints,
    most: int,
) -> BestSetByCost:
    """For every cost up to `most` the set of words by which the worst text is best, by the parts of
    a line.
    """
    lattice = instance.lattice
    changeable = movable(instance)
    may_hold = changeable & ~constraints.exclude
    best_value = np.full((most + 1, lattice.word_count + 2), -np.inf)
    predecessor = np.zeros((most + 1, lattice.word_count + 2), dtype=np.int64)
    best_value[0, 0] = 0.0
    start = 0
    for word in [
        *np.flatnonzero((may_hold | ~changeable) & ~lattice.empty[lattice.first]).tolist(),
        lattice.word_count,
    ]:
        extensions = best_value[:, start : word + 1] + intervals[start : word + 1, word]
        best_before = extensions.argmax(1)
        value = extensions[np.arange(most + 1), best_before]
        cost = 0
        if word < lattice.word_count and may_hold[word]:
            cost = min(constraints.costs[word], most + 1)
        best_value[cost:, word + 1], predecessor[cost:, word + 1] = (
            value[: most + 1 - cost],
            start + best_before[: most + 1 - cost],
        )
        if word < lattice.word_count and (not changeable[word] or constraints.include[word]):
            start = word + 1
    return BestSetByCost(best_value[:, -1] + constant, predecessor, may_hold)


def movable(instance: TextInstance) -> Bools:
    """The words that may change."""
    return np.asarray(
        np.add.reduceat(instance.allowed.astype(np.int64), instance.lattice.first) > 1
    )


def interval_costs(instance: TextInstance, prices: Floats, fixed_words: Bools) -> Floats:
    """(words + 1, words + 1) From a word that is held to a later one: the least price of all after
    it up to that one.

    Row 0 is from the start, the last column to the end. No part reaches over a word of `stand`;
    these are -inf.
    """
    lattice = instance.lattice
    allowed = instance.allowed
    cost = np.asarray(lattice.option_counts @ prices).ravel()
    pair_costs = prices[lattice.pairs.feature] * lattice.pairs.sign
    value = np.full((lattice.word_count + 1, len(lattice.word_of) + 1), np.inf)
    intervals = np.full((lattice.word_count + 1, lattice.word_count + 1), np.inf)
    value[0, 0] = 0.0
    first_source, first_live = (
        0,
        0,
    )  # the first word that a part may begin with, and the first choice that the next may follow
    for word in range(lattice.word_count):
        start = int(lattice.offsets[word])
        end = int(lattice.offsets[word + 1])
        lasting = start + np.flatnonzero(allowed[start:end] & ~lattice.empty[start:end])
        if len(lasting):
            transitions = transition_costs(lattice, pair_costs, first_live, start, end)[
                :, lasting - start
            ]
            extensions = value[first_source : word + 1, first_live : start + 1, None] + transitions
            value[first_source : word + 1, lasting + 1] = extensions.min(1) + cost[lasting]
        if not lattice.empty[start]:
            intervals[first_source : word + 1, word] = value[first_source : word + 1, start + 1]
            value[word + 1, start + 1] = 0.0
            first_source = word + 1 if fixed_words[word] else first_source
        if len(lasting) == int(allowed[start:end].sum()):
            first_live = start + 1
    intervals[first_source:, -1] = value[first_source:, first_live:].min(1)
    return np.where(np.isinf(intervals), -np.inf, intervals)


# --- one case ---


class MajorantGenerator:
    """Column generation: majorants of one instance, each tight at the worst texts of
    those before.
    """

    def __init__(
        self, instance: TextInstance, constraints: SetConstraints, settings: Majorants
    ) -> None:
        self.settings = settings
        self.lattice = instance.lattice
        self.constraints = constraints
        self.full_instance = instance
        # their changes are in no majorant
        self.initially_empty = initially_empty(instance) & ~constraints.exclude
        self.instance = with_fixed(instance, self.initially_empty)
        self.fixed_words = ~movable(self.instance)
        self.included_cost = sum(
            constraints.costs[i]
            for i in np.flatnonzero(self.fixed_words & constraints.include).tolist()
        )
        self.expansion_counts = self.lattice.counts(self.lattice.first)
        self.rounds = 0
        self.last_rise = 0.0
        self.lower = 0
        self.majorants: list[Majorant] = []
        self.last_set = np.zeros(self.lattice.word_count, dtype=bool)
        self.worst_choices = self.lattice.first
        self.seen_stops: list[list[int]] = []  # the stops of sets that seemed to be enough
        self.worst_counts: list[Floats] = []  # what the worst text of each of these counts

    def add_majorant(self, below: int) -> tuple[MajorantMix, list[int] | None]:
        """What sets that cost less than `below` cost at least, by one more majorant; the set that
        seems sufficient.
        """
        majorant = self._new_majorant(
            np.zeros(self.lattice.word_count, dtype=bool), self.expansion_counts
        )
        return self._evaluated(MajorantMix(0, np.ones(1), (majorant,)), below, cheapest=True)

    def best_mix(self, below: int) -> tuple[MajorantMix, list[int] | None]:
        """The same, by the mix of all majorants that is best against the sets that were seen, and
        the best set.
        """
        self._add_majorants()
        weights, _ = self._matrix_game()
        used = np.flatnonzero(weights > 0)
        chosen = tuple(self.majorants[k] for k in used)
        return self._evaluated(MajorantMix(0, weights[used], chosen), below, cheapest=False)

    def split(self) -> tuple[int, MajorantGenerator, MajorantGenerator] | None:
        """Sets with a word and sets without it."""
        word = self._most_harmful_empty()
        word = self._most_undecided() if word is None else word
        if word is None:
            return None
        is_word = np.arange(self.lattice.word_count) == word
        held = replace(self.constraints, include=self.constraints.include | is_word)
        out = replace(self.constraints, exclude=self.constraints.exclude | is_word)
        return word, self._restricted(held), self._restricted(out)

    def _most_harmful_empty(self) -> int | None:
        """The silent word, neither held nor left out so far, by which the worst text can fall most,
        if it can.
        """
        candidates = np.flatnonzero(self.initially_empty & ~self.constraints.include).tolist()
        forms = {
            word: min(_alternative_forms(self.full_instance, self.worst_choices, word))
            for word in candidates
        }
        word = min(forms, key=lambda candidate: forms[candidate], default=None)
        return (
            None
            if word is None or forms[word] >= _form_value(self.full_instance, self.worst_choices)
            else word
        )

    def _most_undecided(self) -> int | None:
        """A word that about half of the sets hold that were seen."""
        sets = [np.isin(np.arange(self.lattice.word_count), stops) for stops in self.seen_stops]
        frequency = np.mean(sets, axis=0) if sets else np.zeros(self.lattice.word_count)
        free = (
            ~self.fixed_words
            & ~self.constraints.include
            & ~self.constraints.exclude
            & (frequency > 0)
        )
        if not free.any():
            return None
        score = 0.5 - np.abs(frequency - 0.5)
        return int(np.where(free, score, -1.0).argmax())

    def _restricted(self, constraints: SetConstraints) -> MajorantGenerator:
        """The same majorants for fewer sets."""
        restricted = MajorantGenerator(self.full_instance, constraints, self.settings)
        must = {*np.flatnonzero(constraints.include & ~self.fixed_words).tolist()}
        restricted.majorants = list(self.majorants)
        restricted.expansion_counts = self.expansion_counts
        restricted.rounds = self.rounds
        restricted.last_set = self.last_set
        restricted.worst_choices = self.worst_choices
        restricted.last_rise = self.last_rise
        for stops, counts in zip(self.seen_stops, self.worst_counts, strict=True):
            if must <= {*stops} and not constraints.exclude[stops].any():
                restricted.seen_stops.append(stops)
                restricted.worst_counts.append(counts)
        return restricted

    def _matrix_game(self) -> tuple[Floats, Floats]:
        """Weights of ceilings against the sets that were seen, and weights of these sets against
        the ceilings.
        """
        if not self.seen_stops:
            return np.eye(len(self.majorants))[-1], np.zeros(0)
        intervals = [_interval_indices(stops, self.lattice.word_count) for stops in self.seen_stops]
        starts = np.cumsum([0, *map(len, intervals[:-1])])
        return _solve_matrix_game(
            np.array(
                [
                    majorant.values_of(np.concatenate(intervals), starts)
                    for majorant in self.majorants
                ]
            )
        )

    def _evaluated(
        self, mix: MajorantMix, below: int, cheapest: bool
    ) -> tuple[MajorantMix, list[int] | None]:
        most = max(below - 1 - self.included_cost, 0)
        costs = self.constraints.costs
        best = best_sets_by_cost(self.instance, mix.intervals, mix.constant, self.constraints, most)
        mix = replace(mix, lower=self.included_cost + best.first_cost)
        self.lower = max(self.lower, mix.lower)
        if best.first_cost > most:
            return mix, None
        cost = best.first_cost if cheapest else int(best.values.argmax())
        self.seen_stops.append(best.stops_at(cost, costs))
        words = best.words_at(cost, costs)
        self._record_worst(mix.majorants[int(mix.weights.argmax())], best, words)
        return mix, sorted({*words, *np.flatnonzero(self.constraints.include).tolist()})

    def _new_majorant(self, fixed_words: Bools, counts: Floats) -> Majorant:
        fixed_words = fixed_words | self.constraints.include | self.initially_empty
        instance = with_fixed(self.instance, fixed_words)
        line = upper_line(instance, counts)
        line = replace(line, constant=line.constant + instance.tolerance)
        work.count("majorants")
        self.majorants.append(
            Majorant(fixed_words, line, interval_costs(instance, line.prices, self.fixed_words))
        )
        return self.majorants[-1]

    def _record_worst(self, majorant: Majorant, best: BestSetByCost, words: list[int]) -> None:
        """The worst text for the best set: the next ceilings are to be close to it."""
        self.rounds += 1
        self.last_set = np.isin(np.arange(self.lattice.word_count), words)
        self.worst_choices = worst_text(
            with_fixed(self.instance, majorant.kept), majorant.line, self.last_set
        )
        self.last_rise = float(
            best.values[best.first_cost] - best.values[: best.first_cost].max(initial=-np.inf)
        )
        self.worst_counts.append(self.lattice.counts(self.worst_choices))
        self.expansion_counts = (
            self.expansion_counts + (self.worst_counts[-1] - self.expansion_counts) / self.rounds
        )

    def _add_majorants(self) -> None:
        """New majorants, tight near the worst texts: over all texts, and over those that leave
        costly words fixed.
        """
        counts = (
            np.asarray(self._matrix_game()[1] @ np.array(self.worst_counts))
            if self.seen_stops
            else self.expansion_counts
        )
        self._new_majorant(np.zeros(self.lattice.word_count, dtype=bool), counts)
        for share in self.settings.fixing_shares:
            self._new_majorant(
                costly_to_change(
                    self.instance, self.worst_choices, self.last_set, share * self.last_rise
                ),
                counts,
            )

    def cheapest_by_minorant(self, below: int) -> list[int] | None:
        """The cheapest set that is enough by a floor (with all words that are silent) and costs
        less than `below`.
        """
        line = lower_line(self.instance, self.lattice.counts(self.worst_choices))
        intervals = interval_costs(self.instance, line.prices, self.fixed_words)
        constant = line.constant - self.instance.tolerance
        best = best_sets_by_cost(
            self.instance,
            intervals,
            constant,
            self.constraints,
            max(below - 1 - self.included_cost, 0),
        )
        if best.first_cost >= len(best.values):
            return None
        return sorted(
            {
                *best.words_at(best.first_cost, self.constraints.costs),
                *np.flatnonzero(self.initially_empty).tolist(),
            }
        )


def _interval_indices(stops: Sequence[int], size: int) -> Ints:
    """Where the parts from each stop to the next are, row after row."""
    ends = np.array([0, *(word + 1 for word in stops), size + 1])
    return np.asarray(ends[:-1] * (size + 1) + ends[1:] - 1)


def _solve_matrix_game(values: Floats) -> tuple[Floats, Floats]:
    """Weights of rows by which the largest of the columns is least, and weights of columns that
    hold it there.
    """
    from scipy.optimize import linprog

    rows, columns = values.shape
    work.count("linear_programs")
    solution = linprog(
        np.append(np.zeros(rows), 1.0),
        A_ub=np.hstack([values.T, -np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None],
        b_eq=np.ones(1),
        bounds=[(0.0, None)] * rows + [(None, None)],
    )
    if solution.status != 0:
        return np.eye(rows)[-1], np.full(columns, 1.0 / max(columns, 1))
    return np.asarray(solution.x[:-1]), np.asarray(-solution.ineqlin.marginals)


def is_affordable(instance: TextInstance, costs: Sequence[int]) -> bool:
    """Whether intervals are affordable: neighbours count, not too many choices are adjacent, and
    costs are few.
    """
    lattice = instance.lattice
    if not lattice.pairs or instance.at_most is not None or sum(costs) > RESOURCES.majorant_costs:
        return False
    sizes = np.diff(lattice.offsets)
    vanish = np.logical_or.reduceat(lattice.empty, lattice.first)
    partners = lattice.first if vanish.any() else np.concatenate([[0], sizes[:-1]])
    return (
        float((np.arange(lattice.word_count) * partners * sizes).sum()) <= RESOURCES.majorant_work
    )


def initially_empty(instance: TextInstance) -> Bools:
    """The words that are empty and could become something: no part ends with one, so splits say
    whether it is held.
    """
    return np.asarray(instance.lattice.empty[instance.lattice.first] & movable(instance))


def with_fixed(instance: TextInstance, fixed_words: Bools) -> TextInstance:
    """The same texts, but these words stand."""
    allowed = instance.allowed & ~fixed_words[instance.lattice.word_of]
    allowed[instance.lattice.first] = True
    return replace(instance, allowed=allowed)


def worst_text(instance: TextInstance, line: LinearMajorant, held: Bools) -> Ints:
    """The cheapest text by a line that keeps these words."""
    allowed = instance.allowed & ~held[instance.lattice.word_of]
    allowed[instance.lattice.first] = True
    return cheapest_text(instance.lattice, np.zeros(len(allowed)), line.prices, allowed)[1]


def costly_to_change(instance: TextInstance, chosen: Ints, held: Bools, loss: float) -> Bools:
    """Words that stand in a text although they need not, and whose change would lift its form by
    more than `loss`.
    """
    costly = np.zeros(instance.lattice.word_count, dtype=bool)
    form = _form_value(instance, chosen)
    for word in np.flatnonzero((chosen == instance.lattice.first) & ~held).tolist():
        costly[word] = (
            min(_alternative_forms(instance, chosen, word), default=-np.inf) > form + loss
        )
    return costly


def _alternative_forms(instance: TextInstance, chosen: Ints, word: int) -> list[float]:
    """The forms of a text with the other choices of one word."""
    others = range(instance.lattice.offsets[word] + 1, instance.lattice.offsets[word + 1])
    return [_form_value(instance, _with_choice(chosen, word, other)) for other in others]


def _form_value(instance: TextInstance, chosen: Ints) -> float:
    return instance.form_and_margin(instance.lattice.counts(chosen))[0]


def _with_choice(chosen: Ints, word: int, choice: int) -> Ints:
    changed = chosen.copy()
    changed[word] = choice
    return changed

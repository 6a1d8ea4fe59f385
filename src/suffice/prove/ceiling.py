"""Ceilings: what every set of words of some cost leaves possible, at once, where neighbours count.

A ceiling is a line above the form N + b sqrt(S): a price for each feature and a constant, so that no text has a larger
form. Where b < 0, sqrt(S) = |v| is at least u v / |u| for any u; where b > 0 it is at most S / 2t + t / 2 for any t.
What a feature adds is bounded by a line in its count. A floor is a ceiling of the form with its sign turned.

With prices alone the worst text that keeps some words is a shortest path, and the words that are held cut it into parts
that do not depend on each other: from each held word to the next. So a set of words is itself a path, its parts being
shortest paths, and the set that lifts the worst text most is found exactly for every cost. If not even that one lifts
it above zero by a ceiling, no set of that cost is enough; if it does by a floor, it is enough. Several ceilings say
more together: a set that is enough is above zero by each, and so by every mixture of them; parts are mixed like lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.bag import Case, cheapest_text, turned
from suffice.prove.path import meeting

MOST_STEPS = 1_000_000_000  # additions for all parts
MOST_LAYERS = 1_000  # different costs
LAST = 8  # sets that are looked at for a word to split them by
FIXED = (1.0, 0.5, 0.0)  # words stand that are worth so much of the last one held


@dataclass(frozen=True, eq=False)
class Line:
    """A bound on the form of every text: `constant` and a price for each count of a feature."""

    constant: float
    prices: Floats
    slope: float  # of S, where the root is bounded by a tangent
    along: Floats  # (features,) the direction u, where it is bounded by that
    rest: Floats  # (features,) what the constant has of each


@dataclass(frozen=True, eq=False)
class Wanted:
    """Which sets are looked for: what words cost, in whole units, those that must be held and those that may not be."""

    costs: Sequence[int]
    include: Bools
    exclude: Bools


# --- lines ---


def ceiling(case: Case, counts: Floats) -> Line:
    """A line above the form, close to it at texts that count about this."""
    layout = case.layout
    near = layout.values(counts)
    size = float(np.sqrt(near @ near)) or 1.0
    slope, constant, along = 0.0, 0.0, np.zeros(len(near))
    match layout.bag.norm:
        case None:
            constant = case.bias
        case "l2" if case.bias < 0:
            along = near / size
        case "l2":
            slope, constant = 0.5 * case.bias / size, 0.5 * case.bias * size
    grid, inside = case.everything.grid()
    table = np.where(inside, _added(case, slope, along, grid.T).T, -np.inf)
    prices = _envelope(table, grid, inside, counts)
    rest = (table - prices[:, None] * grid).max(1)
    return Line(constant + float(rest.sum()), prices, slope, along, rest)


def _added(case: Case, slope: float, along: Floats, counts: Floats) -> Floats:
    """What each feature adds, with a tangent or a direction in the place of the root."""
    values = case.layout.values(counts)
    found = (case.weight + case.bias * along) * values + slope * values * values
    return np.asarray(found + case.bias * np.abs(values) if case.layout.bag.norm == "l1" else found)


def floor(case: Case, counts: Floats) -> Line:
    """A line below the form."""
    found = ceiling(turned(case), counts)
    return Line(-found.constant, -found.prices, -found.slope, found.along, -found.rest)


def _envelope(table: Floats, grid: Floats, inside: Bools, counts: Floats) -> Floats:
    """Slopes of lines above each row that are lowest at `counts`: the chord, or steeper or flatter on one side."""
    rows, last = np.arange(len(table)), inside.sum(1) - 1
    best: Floats = (table[rows, last] - table[:, 0]) / np.maximum(last, 1)
    lowest = (table - best[:, None] * grid).max(1) + best * counts
    curved = np.flatnonzero(last > 1)
    table, grid, counts = table[curved], grid[curved], counts[curved]
    for step in range(int(last.max(initial=0))):
        ends = last[curved] > step
        slopes = np.where(ends, np.where(ends, table[:, step + 1], 0.0) - table[:, step], best[curved])
        height = (table - slopes[:, None] * grid).max(1) + slopes * counts
        better = ends & (height < lowest[curved])
        best[curved[better]], lowest[curved[better]] = slopes[better], height[better]
    return best


# --- sets of words ---


@dataclass(frozen=True, eq=False)
class Ceiling:
    """A line about all texts that leave the words `kept` as they are, and the parts that it makes (`between`)."""

    kept: Bools
    line: Line
    parts: Floats

    def of(self, legs: Ints, starts: Ints) -> Floats:
        """The worst texts by the line that keep the stops of some sets, the parts of each beginning at `starts`."""
        return self.line.constant + np.add.reduceat(self.parts.ravel()[legs], starts)


@dataclass(frozen=True, eq=False)
class Mixture:
    """No set that costs less than `lower` is enough, by ceilings with these weights."""

    lower: int
    weights: Floats
    ceilings: tuple[Ceiling, ...]

    @property
    def constant(self) -> float:
        return float(sum(w * one.line.constant for w, one in zip(self.weights, self.ceilings, strict=True)))

    @property
    def parts(self) -> Floats:
        return np.asarray(sum(w * one.parts for w, one in zip(self.weights, self.ceilings, strict=True)))


@dataclass(frozen=True, eq=False)
class Split:
    """The same for the sets that hold a word, and for those that do not."""

    word: int
    held: Tree
    out: Tree

    @property
    def lower(self) -> int:
        return min(self.held.lower, self.out.lower)


Tree = Mixture | Split


@dataclass(frozen=True, eq=False)
class Strongest:
    """By cost, the most that a set of words lifts the worst text to, and the words."""

    values: Floats
    back: Ints
    held: Bools  # (words,) those that a set may or must hold

    @cached_property
    def first(self) -> int:
        """The least cost at which the worst text is above zero; beyond the last one where it never is."""
        above = np.flatnonzero(self.values > 0)
        return int(above[0]) if len(above) else len(self.values)

    def words(self, cost: int, costs: Sequence[int]) -> list[int]:
        return [word for word in self.stops(cost, costs) if self.held[word]]

    def stops(self, cost: int, costs: Sequence[int]) -> list[int]:
        """The words of the best set of a cost, and those between them that cannot change."""
        found, place = [], int(self.back[cost, -1])
        while place > 0:
            found.append(place - 1)
            before = int(self.back[cost, place])
            cost -= costs[place - 1] if self.held[place - 1] else 0
            place = before
        return found[::-1]


def strongest(case: Case, parts: Floats, constant: float, wanted: Wanted, most: int) -> Strongest:
    """For every cost up to `most` the set of words by which the worst text is best, by the parts of a line."""
    layout, several = case.layout, movable(case)
    held = several & ~wanted.exclude
    least = np.full((most + 1, layout.size + 2), -np.inf)
    back = np.zeros((most + 1, layout.size + 2), dtype=np.int64)
    least[0, 0], start = 0.0, 0
    for word in [*np.flatnonzero((held | ~several) & ~layout.empty[layout.first]).tolist(), layout.size]:
        ways = least[:, start : word + 1] + parts[start : word + 1, word]
        before = ways.argmax(1)
        value, cost = ways[np.arange(most + 1), before], 0
        if word < layout.size and held[word]:
            cost = min(wanted.costs[word], most + 1)
        least[cost:, word + 1], back[cost:, word + 1] = value[: most + 1 - cost], start + before[: most + 1 - cost]
        if word < layout.size and (not several[word] or wanted.include[word]):
            start = word + 1
    return Strongest(least[:, -1] + constant, back, held)


def movable(case: Case) -> Bools:
    """The words that may change."""
    return np.asarray(np.add.reduceat(case.allowed.astype(np.int64), case.layout.first) > 1)


def between(case: Case, prices: Floats, stand: Bools) -> Floats:
    """(words + 1, words + 1) From a word that is held to a later one: the least price of all after it up to that one.

    Row 0 is from the start, the last column to the end. No part reaches over a word of `stand`; these are -inf.
    """
    layout, allowed = case.layout, case.allowed
    cost = np.asarray(layout.inner @ prices).ravel()
    paid = prices[layout.pairs.feature] * layout.pairs.sign
    value = np.full((layout.size + 1, len(layout.slot) + 1), np.inf)
    found = np.full((layout.size + 1, layout.size + 1), np.inf)
    value[0, 0] = 0.0
    source, low = 0, 0  # the first word that a part may begin with, and the first choice that the next may follow
    for word in range(layout.size):
        start, end = int(layout.ends[word]), int(layout.ends[word + 1])
        full = start + np.flatnonzero(allowed[start:end] & ~layout.empty[start:end])
        if len(full):
            meet = meeting(layout, paid, low, start, end)[:, full - start]
            ways = value[source : word + 1, low : start + 1, None] + meet
            value[source : word + 1, full + 1] = ways.min(1) + cost[full]
        if not layout.empty[start]:
            found[source : word + 1, word] = value[source : word + 1, start + 1]
            value[word + 1, start + 1] = 0.0
            source = word + 1 if stand[word] else source
        if len(full) == int(allowed[start:end].sum()):
            low = start + 1
    found[source:, -1] = value[source:, low:].min(1)
    return np.where(np.isinf(found), -np.inf, found)


# --- one case ---


class Lift:
    """Ceilings and floors of one case, each close to texts that were worst by those before."""

    def __init__(self, case: Case, wanted: Wanted) -> None:
        self.layout, self.wanted, self.whole = case.layout, wanted, case
        self.silent = silent(case) & ~wanted.exclude  # no line is about what these may become
        self.case = fixed(case, self.silent)
        self.stand = ~movable(self.case)
        self.paid = sum(wanted.costs[i] for i in np.flatnonzero(self.stand & wanted.include).tolist())
        self.counts = self.layout.counts(self.layout.first)
        self.turn, self.step, self.lower = 0, 0.0, 0
        self.ceilings: list[Ceiling] = []
        self.held, self.chosen = np.zeros(self.layout.size, dtype=bool), self.layout.first
        self.gaps = np.zeros(len(self.counts))  # what the last line lost on each feature
        self.seen: list[list[int]] = []  # the stops of sets that seemed to be enough
        self.worst: list[Floats] = []  # what the worst text of each of these counts

    def above(self, below: int) -> tuple[Mixture, list[int] | None]:
        """What sets that cost less than `below` cost at least, by one more ceiling; the one that seems to be enough."""
        one = self._ceiling(np.zeros(self.layout.size, dtype=bool), self.counts)
        return self._judged(Mixture(0, np.ones(1), (one,)), below, cheapest=True)

    def mixed(self, below: int) -> tuple[Mixture, list[int] | None]:
        """The same, by the mixture of all ceilings that is best against the sets that were seen, and the best set."""
        self._sharpen()
        weights, _ = self._game()
        used = np.flatnonzero(weights > 0)
        chosen = tuple(self.ceilings[k] for k in used)
        return self._judged(Mixture(0, weights[used], chosen), below, cheapest=False)

    def halves(self) -> tuple[int, Lift, Lift] | None:
        """Sets with a word and sets without it."""
        word = self._loudest()
        word = self._doubtful() if word is None else word
        if word is None:
            return None
        mark = np.arange(self.layout.size) == word
        held = replace(self.wanted, include=self.wanted.include | mark)
        out = replace(self.wanted, exclude=self.wanted.exclude | mark)
        return word, self._among(held), self._among(out)

    def _loudest(self) -> int | None:
        """The silent word, neither held nor left out so far, by which the worst text can fall most, if it can."""
        here = np.flatnonzero(self.silent & ~self.wanted.include).tolist()
        forms = {word: min(_others(self.whole, self.chosen, word)) for word in here}
        word = min(forms, key=lambda one: forms[one], default=None)
        return None if word is None or forms[word] >= _form(self.whole, self.chosen) else word

    def _doubtful(self) -> int | None:
        """A word that about half of the last sets hold, or on which a line loses."""
        sets = [np.isin(np.arange(self.layout.size), stops) for stops in self.seen[-LAST:]]
        often = np.mean(sets, axis=0) if sets else np.zeros(self.layout.size)
        free = ~self.stand & ~self.wanted.include & ~self.wanted.exclude & (often > 0)
        if not free.any():
            return None
        lost = np.asarray(abs(self.layout.inner[self.layout.first]) @ self.gaps).ravel()
        score = 0.5 - np.abs(often - 0.5) + 0.1 * lost / (lost.max() + 1e-30)
        return int(np.where(free, score, -1.0).argmax())

    def _among(self, wanted: Wanted) -> Lift:
        """The same ceilings for fewer sets."""
        found = Lift(self.whole, wanted)
        must = {*np.flatnonzero(wanted.include & ~self.stand).tolist()}
        found.ceilings, found.counts, found.turn = list(self.ceilings), self.counts, self.turn
        found.held, found.chosen, found.step, found.gaps = self.held, self.chosen, self.step, self.gaps
        for stops, counts in zip(self.seen, self.worst, strict=True):
            if must <= {*stops} and not wanted.exclude[stops].any():
                found.seen.append(stops)
                found.worst.append(counts)
        return found

    def _game(self) -> tuple[Floats, Floats]:
        """Weights of ceilings against the sets that were seen, and weights of these sets against the ceilings."""
        if not self.seen:
            return np.eye(len(self.ceilings))[-1], np.zeros(0)
        legs = [_legs(stops, self.layout.size) for stops in self.seen]
        starts = np.cumsum([0, *map(len, legs[:-1])])
        return _best_mixture(np.array([one.of(np.concatenate(legs), starts) for one in self.ceilings]))

    def _judged(self, mixture: Mixture, below: int, cheapest: bool) -> tuple[Mixture, list[int] | None]:
        most, costs = max(below - 1 - self.paid, 0), self.wanted.costs
        found = strongest(self.case, mixture.parts, mixture.constant, self.wanted, most)
        mixture = replace(mixture, lower=self.paid + found.first)
        self.lower = max(self.lower, mixture.lower)
        if found.first > most:
            return mixture, None
        cost = found.first if cheapest else int(found.values.argmax())
        self.seen.append(found.stops(cost, costs))
        words = found.words(cost, costs)
        self._look(mixture.ceilings[int(mixture.weights.argmax())], found, words)
        return mixture, sorted({*words, *np.flatnonzero(self.wanted.include).tolist()})

    def _ceiling(self, kept: Bools, counts: Floats) -> Ceiling:
        kept = kept | self.wanted.include | self.silent
        case = fixed(self.case, kept)
        line = ceiling(case, counts)
        line = replace(line, constant=line.constant + case.tolerance)
        self.ceilings.append(Ceiling(kept, line, between(case, line.prices, self.stand)))
        return self.ceilings[-1]

    def _look(self, last: Ceiling, found: Strongest, words: list[int]) -> None:
        """The worst text for the best set: the next ceilings are to be close to it."""
        self.turn += 1
        self.held = np.isin(np.arange(self.layout.size), words)
        self.chosen = worst_text(fixed(self.case, last.kept), last.line, self.held)
        self.step = float(found.values[found.first] - found.values[: found.first].max(initial=-np.inf))
        self.worst.append(self.layout.counts(self.chosen))
        line = last.line
        self.gaps = line.rest + line.prices * self.worst[-1] - _added(self.case, line.slope, line.along, self.worst[-1])
        self.counts = self.counts + (self.worst[-1] - self.counts) / self.turn

    def _sharpen(self) -> None:
        """Ceilings close to the worst texts: of all texts, and of those that leave what the last would lose by."""
        counts = np.asarray(self._game()[1] @ np.array(self.worst)) if self.seen else self.counts
        self._ceiling(np.zeros(self.layout.size, dtype=bool), counts)
        for share in FIXED:
            self._ceiling(settled(self.case, self.chosen, self.held, share * self.step), counts)

    def below(self, below: int) -> list[int] | None:
        """The cheapest set that is enough by a floor (with all words that are silent) and costs less than `below`."""
        line = floor(self.case, self.layout.counts(self.chosen))
        parts, constant = between(self.case, line.prices, self.stand), line.constant - self.case.tolerance
        found = strongest(self.case, parts, constant, self.wanted, max(below - 1 - self.paid, 0))
        if found.first >= len(found.values):
            return None
        return sorted({*found.words(found.first, self.wanted.costs), *np.flatnonzero(self.silent).tolist()})


def _legs(stops: Sequence[int], size: int) -> Ints:
    """Where the parts from each stop to the next are, row after row."""
    ends = np.array([0, *(word + 1 for word in stops), size + 1])
    return np.asarray(ends[:-1] * (size + 1) + ends[1:] - 1)


def _best_mixture(values: Floats) -> tuple[Floats, Floats]:
    """Weights of rows by which the largest of the columns is least, and weights of columns that hold it there."""
    from scipy.optimize import linprog

    rows, columns = values.shape
    found = linprog(
        np.append(np.zeros(rows), 1.0),
        A_ub=np.hstack([values.T, -np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None],
        b_eq=np.ones(1),
        bounds=[(0.0, None)] * rows + [(None, None)],
    )
    if found.status != 0:
        return np.eye(rows)[-1], np.full(columns, 1.0 / max(columns, 1))
    return np.asarray(found.x[:-1]), np.asarray(-found.ineqlin.marginals)


def fits(case: Case, costs: Sequence[int]) -> bool:
    """Whether parts are quickly priced: pairs of neighbours count, not too many choices may meet, and costs are few."""
    layout = case.layout
    if not layout.pairs or case.at_most is not None or sum(costs) > MOST_LAYERS:
        return False
    sizes = np.diff(layout.ends)
    vanish = np.logical_or.reduceat(layout.empty, layout.first)
    meeting = layout.first if vanish.any() else np.concatenate([[0], sizes[:-1]])
    return float((np.arange(layout.size) * meeting * sizes).sum()) <= MOST_STEPS


def silent(case: Case) -> Bools:
    """The words that are empty and could become something: no part ends with one, so splits say whether it is held."""
    return np.asarray(case.layout.empty[case.layout.first] & movable(case))


def fixed(case: Case, kept: Bools) -> Case:
    """The same texts, but these words stand."""
    allowed = case.allowed & ~kept[case.layout.slot]
    allowed[case.layout.first] = True
    return replace(case, allowed=allowed)


def worst_text(case: Case, line: Line, held: Bools) -> Ints:
    """The cheapest text by a line that keeps these words."""
    allowed = case.allowed & ~held[case.layout.slot]
    allowed[case.layout.first] = True
    return cheapest_text(case.layout, np.zeros(len(allowed)), line.prices, allowed)[1]


def settled(case: Case, chosen: Ints, held: Bools, loss: float) -> Bools:
    """Words that stand in a text although they need not, and whose change would lift its form by more than `loss`."""
    found, form = np.zeros(case.layout.size, dtype=bool), _form(case, chosen)
    for word in np.flatnonzero((chosen == case.layout.first) & ~held).tolist():
        found[word] = min(_others(case, chosen, word), default=-np.inf) > form + loss
    return found


def _others(case: Case, chosen: Ints, word: int) -> list[float]:
    """The forms of a text with the other choices of one word."""
    others = range(case.layout.ends[word] + 1, case.layout.ends[word + 1])
    return [_form(case, _put(chosen, word, other)) for other in others]


def _form(case: Case, chosen: Ints) -> float:
    return case.form(case.layout.counts(chosen))[0]


def _put(chosen: Ints, word: int, choice: int) -> Ints:
    found = chosen.copy()
    found[word] = choice
    return found

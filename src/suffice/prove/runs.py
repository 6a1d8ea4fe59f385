"""Runs: where few inputs are left of a set, all of them are run through the network, which answers any question.

Words that are undecided take each of their vectors, as far as a budget pays for them. What the first step makes of a
word is added up, so that a run begins behind that step. The proof is a tree of picks with a leaf for every input; as
all leaves are alike, its parts are shared and only writing it down takes them one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Step
from suffice.prove.bounds import Form
from suffice.prove.inputs import Free, Freed, Restored, pieces
from suffice.prove.tree import Leaf, Pick, Tree
from suffice.prove.verdict import Budget
from suffice.sets.regions import Choice

MOST = 1024  # inputs run for one subproblem: the certificate has a line for each
WORTH = 16  # passes of bounds that a run may take as long as
SAFE = 4.0  # times the rounding error that a margin must exceed

Inputs: TypeAlias = Free | Freed | Restored
CLOSED = Leaf(None, np.zeros(0))


@dataclass(frozen=True, eq=False)
class Undecided:
    """An undecided word: the vectors it may take, with the choices that each stands for, and what a change costs.

    A word with a price stays at its first vector unless it is paid for, and takes one of the others then.
    """

    position: int
    vectors: Floats
    choices: tuple[tuple[int, ...], ...] = ()
    price: float | None = None

    @property
    def options(self) -> range:
        return range(0 if self.price is None else 1, len(self.vectors))


@dataclass(eq=False)
class Runs:
    """Every input of a set that has few."""

    form: Form
    words: tuple[Undecided, ...]
    base: Floats  # the input with every undecided word at its first vector
    budget: float = 0.0
    _rows: dict[tuple[int, float], Ints] = field(default_factory=dict)
    _trees: dict[tuple[int, float], Tree] = field(default_factory=dict)

    def margins(self, rival: int, budget: Budget) -> Floats:
        """The margin against one rival at every input."""
        problem, rows = self.form.problem, self._chosen(0, self.budget)
        first, *rest = problem.network.steps
        at = first.apply(self.base.reshape(1, -1))
        adds = [_adds(first, len(self.base), word) for word in self.words]
        found, other = np.empty(len(rows)), problem.rivals[rival]
        for some in pieces(len(rows), 2 * max(len(step.bias) for step in problem.network.steps)):
            budget.look()
            values = first.activate(at + sum(add[rows[some, i]] for i, add in enumerate(adds)))
            for step in rest:
                values = step.activate(step.apply(values))
            found[some] = values[:, problem.label] - values[:, other]
        return found

    def error(self, rival: int) -> float:
        """How far a margin in doubles can be from the real one, with room to spare."""
        return SAFE * float(self.form.off[rival])

    def points(self, places: Ints) -> Floats:
        """Some of the inputs (n, length, dimension)."""
        found = np.repeat(self.base[None], len(places), axis=0)
        for i, word in enumerate(self.words):
            found[:, word.position] = word.vectors[self._chosen(0, self.budget)[places, i]]
        return found

    @cached_property
    def tree(self) -> Tree:
        """A proof tree with a leaf for every input."""
        return self._tree(0, self.budget)

    def _tree(self, place: int, left: float) -> Tree:
        if (place, left) not in self._trees:
            self._trees[place, left] = self._grown(place, left)
        return self._trees[place, left]

    def _grown(self, place: int, left: float) -> Tree:
        if place == len(self.words):
            return CLOSED
        word = self.words[place]
        if word.price is None:
            return _choose(word, list(word.options), self._tree(place + 1, left))
        stays = self._tree(place + 1, left)
        if word.price > left:
            return stays
        bought = _choose(word, list(word.options), self._tree(place + 1, left - word.price))
        return Pick(word.position, None, (bought, stays))

    def _chosen(self, place: int, left: float) -> Ints:
        """Which vector every word from this one on has in each input: (inputs, words)."""
        if (place, left) not in self._rows:
            self._rows[place, left] = self._listed(place, left)
        return self._rows[place, left]

    def _listed(self, place: int, left: float) -> Ints:
        if place == len(self.words):
            return np.zeros((1, 0), dtype=np.int64)
        word, parts = self.words[place], []
        if word.price is not None:
            parts.append(_put(0, self._chosen(place + 1, left)))
        if word.price is None or word.price <= left:
            below = self._chosen(place + 1, left - (word.price or 0.0))
            parts += [_put(option, below) for option in word.options]
        return np.concatenate(parts)


def few(form: Form, inputs: Inputs) -> Runs | None:
    """The inputs of a single set, where they are finitely many and few enough to be run."""
    found = None if form.curved is not None else _taken_apart(form, inputs)
    return found if found is not None and _count(found.words, found.budget) <= _most(form, found.words) else None


def _most(form: Form, words: Sequence[Undecided]) -> int:
    steps = form.problem.network.steps
    each = len(words) * len(steps[0].bias) + sum(step.weight.size for step in steps[1:])
    return int(min(MOST, WORTH * form.work // max(1, each)))


def _count(words: Sequence[Undecided], budget: float) -> float:
    """How many inputs there are, as far as it matters."""
    ways: dict[float, float] = {budget: 1.0}
    for word in words:
        after: dict[float, float] = {}
        for left, many in ways.items():
            if word.price is not None:
                after[left] = after.get(left, 0.0) + many
            if word.price is None or word.price <= left:
                rest = left - (word.price or 0.0)
                after[rest] = after.get(rest, 0.0) + many * len(word.options)
        ways = after
        if sum(ways.values()) > MOST:
            break
    return sum(ways.values())


# --- sets taken apart ---


def _taken_apart(form: Form, inputs: Inputs) -> Runs | None:
    match inputs:
        case Restored():
            opened = np.flatnonzero(inputs.buyable[0] & (inputs.back[0] != 0).any(-1))
            prices, budget = inputs.cost[opened], float(inputs.budget[0])
            if _many(prices, budget):
                return None
            words = [_restored(inputs, int(i)) for i in opened]
            return Runs(form, tuple(words), inputs.start[0], budget)
        case Free() | Freed() if isinstance(inputs.region, Choice) and _surely_many(inputs.region, inputs):
            return None
        case Free() if isinstance(inputs.region, Choice):
            return _of_choices(form, inputs.region, inputs.free[0], inputs.allowed)
        case Freed() if isinstance(inputs.region, Choice) and _counted(form, inputs):
            priced = np.where(inputs.buyable[0], inputs.cost, np.inf)
            return _of_choices(form, inputs.region, inputs.free[0], inputs.allowed, priced, float(inputs.budget[0]))
        case _:
            return None


def _counted(form: Form, inputs: Freed) -> bool:
    """Whether the budget says all: a limit on how many words change that costs do not know is not counted here."""
    return inputs.uniform or form.problem.limit >= int(inputs.words.sum())


def _many(prices: Floats, budget: float) -> bool:
    """Whether there are surely too many ways to pay for some of the words: seen at once, before they are counted."""
    together = int(np.searchsorted(np.cumsum(np.sort(prices)), budget, side="right"))  # that many of the cheapest
    return together > math.log2(MOST) or ((prices == prices[:1]).all() and math.comb(len(prices), together) > MOST)


def _surely_many(region: Choice, inputs: Free | Freed) -> bool:
    """Whether the free words alone have too many ways: seen at once, before their vectors are taken apart."""
    left = region.differs if inputs.allowed is None else region.differs & inputs.allowed[0]
    return bool(math.prod(np.maximum(left[inputs.free[0]].sum(1), 1).tolist()) > MOST)


def _restored(inputs: Restored, position: int) -> Undecided:
    vectors = np.stack([inputs.start[0, position], inputs.center[position]])
    return Undecided(position, vectors, ((), ()), float(inputs.cost[position]))


def _of_choices(
    form: Form, region: Choice, free: Bools, allowed: Bools | None, prices: Floats | None = None, budget: float = 0.0
) -> Runs:
    """Free words take one of their choices; with prices, others may be paid for first."""
    base, words = region.center.copy(), []
    for i in np.flatnonzero(free if prices is None else free | np.isfinite(prices)):
        left = np.arange(region.points.shape[1]) if allowed is None else np.flatnonzero(allowed[0, i])
        vectors, choices = _distinct(region.points[i], left)
        if free[i]:
            base[i] = vectors[0]
            words.append(Undecided(int(i), vectors, choices))
        elif len(vectors) > 1 or (vectors[0] != base[i]).any():
            assert prices is not None
            stays = np.concatenate([base[i][None], vectors])
            words.append(Undecided(int(i), stays, ((), *choices), float(prices[i])))
    return Runs(form, tuple(word for word in words if len(word.vectors) > 1), base, budget)


def _distinct(points: Floats, left: Ints) -> tuple[Floats, tuple[tuple[int, ...], ...]]:
    """The different ones of the points that are left, each with the choices that are the same."""
    groups: dict[bytes, list[int]] = {}
    for choice in left.tolist():
        groups.setdefault(points[choice].tobytes(), []).append(choice)
    return points[[same[0] for same in groups.values()]], tuple(tuple(same) for same in groups.values())


# --- parts of trees and runs ---


def _choose(word: Undecided, options: list[int], below: Tree) -> Tree:
    """Picks of the word's choices, half of them at a time, until one is left; nothing to pick where it is restored."""
    if len(options) == 1:
        return below
    middle = len(options) // 2
    first, second = options[:middle], options[middle:]
    chosen = tuple(choice for option in first for choice in word.choices[option])
    return Pick(word.position, chosen, (_choose(word, first, below), _choose(word, second, below)))


def _put(option: int, below: Ints) -> Ints:
    return np.concatenate([np.full((len(below), 1), option, dtype=np.int64), below], axis=1)


def _adds(first: Step, length: int, word: Undecided) -> Floats:
    """What each vector of a word adds to the first step's sums: (vectors, units)."""
    moves = word.vectors - word.vectors[0]
    if isinstance(first.weight, np.ndarray):
        size = moves.shape[1]
        return np.asarray(moves @ first.weight[:, word.position * size : (word.position + 1) * size].T)
    units, block = first.by_word(length)[word.position]
    found = np.zeros((len(moves), len(first.bias)))
    found[:, units] = moves @ block.T
    return found

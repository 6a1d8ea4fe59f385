"""Enumeration: where few inputs of a set are left, all are run through the network.

Undecided words take each of their vectors, as far as a budget pays for them. What the first step
makes of a word is added up, so that a run begins behind that step. The proof is a tree of picks
with a leaf for every input; as all leaves are alike its subtrees are shared, and only writing it
down takes them one by one.

Method: enumeration at leaves of branch and bound (theory, section 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from suffice import work
from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Step
from suffice.sets.regions import Choice
from suffice.verify.contract import Budget
from suffice.verify.nets.crown import PreparedProblem
from suffice.verify.nets.input_sets import Free, Restorations, WithinBudget, chunk_slices
from suffice.verify.proof_tree import Leaf, Pick, Tree
from suffice.verify.tolerances import ERROR_FACTOR

InputSet: TypeAlias = Free | WithinBudget | Restorations
CLOSED_LEAF = Leaf(None, np.zeros(0))


@dataclass(frozen=True, eq=False)
class UndecidedWord:
    """An undecided word: its vectors, the region's options that each stands for, and what a change
    costs.

    A word with a cost stays at its first vector unless it is paid for, and takes one of the others
    then.
    """

    position: int
    vectors: Floats
    region_options: tuple[tuple[int, ...], ...] = ()
    cost: float | None = None

    @property
    def options(self) -> range:
        return range(0 if self.cost is None else 1, len(self.vectors))


@dataclass(eq=False)
class Enumeration:
    """All inputs of a set that has few, their margins and the proof tree over them."""

    prepared: PreparedProblem
    words: tuple[UndecidedWord, ...]
    base: Floats  # the input with every undecided word at its first vector
    budget: float = 0.0
    _cached_inputs: dict[tuple[int, float], Ints] = field(default_factory=dict)
    _cached_trees: dict[tuple[int, float], Tree] = field(default_factory=dict)

    def margins(self, rival: int, budget: Budget) -> Floats:
        """The margin against one rival at every input."""
        problem = self.prepared.problem
        rows = self._inputs_from(0, self.budget)
        work.count("enumerated_inputs", len(rows))
        first, *rest = problem.network.steps
        base_values = first.apply(self.base.reshape(1, -1))
        contributions = [_contributions(first, len(self.base), word) for word in self.words]
        found = np.empty(len(rows))
        rival_label = problem.rivals[rival]
        for chunk in chunk_slices(
            len(rows), 2 * max(len(step.bias) for step in problem.network.steps)
        ):
            budget.check_time()
            values = first.activate(
                base_values
                + sum(contribution[rows[chunk, i]] for i, contribution in enumerate(contributions))
            )
            for step in rest:
                values = step.activate(step.apply(values))
            found[chunk] = values[:, problem.label] - values[:, rival_label]
        return found

    def error(self, rival: int) -> float:
        """How far a margin in doubles can be from the real one, with a factor to spare."""
        return ERROR_FACTOR * float(self.prepared.margin_error[rival])

    def points(self, places: Ints) -> Floats:
        """Some of the inputs (n, length, dimension)."""
        found = np.repeat(self.base[None], len(places), axis=0)
        for i, word in enumerate(self.words):
            found[:, word.position] = word.vectors[self._inputs_from(0, self.budget)[places, i]]
        return found

    @cached_property
    def tree(self) -> Tree:
        """A proof tree with a leaf for every input."""
        return self._subtree(0, self.budget)

    def _subtree(self, word_index: int, budget_left: float) -> Tree:
        if (word_index, budget_left) not in self._cached_trees:
            self._cached_trees[word_index, budget_left] = self._build_tree(word_index, budget_left)
        return self._cached_trees[word_index, budget_left]

    def _build_tree(self, word_index: int, budget_left: float) -> Tree:
        if word_index == len(self.words):
            return CLOSED_LEAF
        word = self.words[word_index]
        if word.cost is None:
            return _picks(word, list(word.options), self._subtree(word_index + 1, budget_left))
        unchanged = self._subtree(word_index + 1, budget_left)
        if word.cost > budget_left:
            return unchanged
        changed = _picks(
            word, list(word.options), self._subtree(word_index + 1, budget_left - word.cost)
        )
        return Pick(word.position, None, (changed, unchanged))

    def _inputs_from(self, word_index: int, budget_left: float) -> Ints:
        """Which vector every word from this one on has in each input: (inputs, words)."""
        if (word_index, budget_left) not in self._cached_inputs:
            self._cached_inputs[word_index, budget_left] = self._list_inputs(
                word_index, budget_left
            )
        return self._cached_inputs[word_index, budget_left]

    def _list_inputs(self, word_index: int, budget_left: float) -> Ints:
        if word_index == len(self.words):
            return np.zeros((1, 0), dtype=np.int64)
        word = self.words[word_index]
        parts = []
        if word.cost is not None:
            parts.append(_prepended(0, self._inputs_from(word_index + 1, budget_left)))
        if word.cost is None or word.cost <= budget_left:
            later = self._inputs_from(word_index + 1, budget_left - (word.cost or 0.0))
            parts += [_prepended(option, later) for option in word.options]
        return np.concatenate(parts)


def enumerable(prepared: PreparedProblem, inputs: InputSet) -> Enumeration | None:
    """The enumeration of a single set, where its inputs are finitely many and few enough; else
    None."""
    found = None if prepared.curved is not None else _enumeration_of(prepared, inputs)
    if found is None:
        return None
    most = _max_inputs(prepared, found.words)
    return found if _count_inputs(found.words, found.budget, most) <= most else None


def _max_inputs(prepared: PreparedProblem, words: Sequence[UndecidedWord]) -> int:
    """How many inputs are run at the most: as many as cost what a subproblem does."""
    steps = prepared.problem.network.steps
    input_work = len(words) * len(steps[0].bias) + sum(step.weight.size for step in steps[1:])
    passes, _ = prepared.settings.branching.passes
    affordable = passes * prepared.intermediate_work // max(1, input_work)
    return int(min(prepared.settings.leaves.max_inputs, affordable))


def _count_inputs(words: Sequence[UndecidedWord], budget: float, most: int) -> float:
    """How many inputs there are, as far as it matters: whether more than `most`."""
    counts: dict[float, float] = {budget: 1.0}
    for word in words:
        next_counts: dict[float, float] = {}
        for budget_left, number in counts.items():
            if word.cost is not None:
                next_counts[budget_left] = next_counts.get(budget_left, 0.0) + number
            if word.cost is None or word.cost <= budget_left:
                budget_after = budget_left - (word.cost or 0.0)
                next_counts[budget_after] = next_counts.get(budget_after, 0.0) + number * len(
                    word.options
                )
        counts = next_counts
        if sum(counts.values()) > most:
            break
    return sum(counts.values())


# --- the inputs of a set ---


def _enumeration_of(prepared: PreparedProblem, inputs: InputSet) -> Enumeration | None:
    most = prepared.settings.leaves.max_inputs
    match inputs:
        case Restorations():
            optional = np.flatnonzero(
                inputs.affordable[0] & (inputs.restoring_shift[0] != 0).any(-1)
            )
            costs = inputs.costs[optional]
            budget = float(inputs.budget[0])
            if _surely_many_payments(costs, budget, most):
                return None
            words = [_restorable_word(inputs, int(i)) for i in optional]
            return Enumeration(prepared, tuple(words), inputs.perturbed[0], budget)
        case Free() | WithinBudget() if isinstance(inputs.region, Choice) and _surely_many_options(
            inputs.region, inputs, most
        ):
            return None
        case Free() if isinstance(inputs.region, Choice):
            return _of_options(prepared, inputs.region, inputs.free[0], inputs.allowed)
        case WithinBudget() if isinstance(inputs.region, Choice) and _budget_decides(
            prepared, inputs
        ):
            word_costs = np.where(inputs.affordable[0], inputs.costs, np.inf)
            return _of_options(
                prepared,
                inputs.region,
                inputs.free[0],
                inputs.allowed,
                word_costs,
                float(inputs.budget[0]),
            )
        case _:
            return None


def _budget_decides(prepared: PreparedProblem, inputs: WithinBudget) -> bool:
    """Whether the budget alone decides: a limit on changes that costs do not express is not counted
    here."""
    return inputs.equal_costs or prepared.problem.max_changes >= int(inputs.movable.sum())


def _surely_many_payments(costs: Floats, budget: float, most: int) -> bool:
    """Whether there are surely more than `most` ways to pay for some of the words: seen at once,
    before they are counted.
    """
    # that many of the cheapest
    affordable_at_once = int(np.searchsorted(np.cumsum(np.sort(costs)), budget, side="right"))
    return affordable_at_once > math.log2(most) or (
        (costs == costs[:1]).all() and math.comb(len(costs), affordable_at_once) > most
    )


def _surely_many_options(region: Choice, inputs: Free | WithinBudget, most: int) -> bool:
    """Whether the free words alone have more than `most` ways: seen at once, before their vectors
    are taken apart.
    """
    options_left = region.differs if inputs.allowed is None else region.differs & inputs.allowed[0]
    return bool(math.prod(np.maximum(options_left[inputs.free[0]].sum(1), 1).tolist()) > most)


def _restorable_word(inputs: Restorations, position: int) -> UndecidedWord:
    vectors = np.stack([inputs.perturbed[0, position], inputs.center[position]])
    return UndecidedWord(position, vectors, ((), ()), float(inputs.costs[position]))


def _of_options(
    prepared: PreparedProblem,
    region: Choice,
    free: Bools,
    allowed: Bools | None,
    costs: Floats | None = None,
    budget: float = 0.0,
) -> Enumeration:
    """Free words take one of their options; with costs, others may be paid for first."""
    base = region.center.copy()
    words = []
    for i in np.flatnonzero(free if costs is None else free | np.isfinite(costs)):
        options_left = (
            np.arange(region.points.shape[1]) if allowed is None else np.flatnonzero(allowed[0, i])
        )
        vectors, equal_options = _distinct_vectors(region.points[i], options_left)
        if free[i]:
            base[i] = vectors[0]
            words.append(UndecidedWord(int(i), vectors, equal_options))
        elif len(vectors) > 1 or (vectors[0] != base[i]).any():
            assert costs is not None
            with_unchanged = np.concatenate([base[i][None], vectors])
            words.append(
                UndecidedWord(int(i), with_unchanged, ((), *equal_options), float(costs[i]))
            )
    return Enumeration(
        prepared, tuple(word for word in words if len(word.vectors) > 1), base, budget
    )


def _distinct_vectors(
    points: Floats, options_left: Ints
) -> tuple[Floats, tuple[tuple[int, ...], ...]]:
    """The distinct vectors among the options that are left, each with the options equal to it."""
    groups: dict[bytes, list[int]] = {}
    for option in options_left.tolist():
        groups.setdefault(points[option].tobytes(), []).append(option)
    return points[[equal_options[0] for equal_options in groups.values()]], tuple(
        tuple(equal_options) for equal_options in groups.values()
    )


# --- subtrees, and what vectors add ---


def _picks(word: UndecidedWord, options: list[int], below: Tree) -> Tree:
    """Picks of the word's options, half of them at a time, until one is left; nothing to pick where
    it is restored."""
    if len(options) == 1:
        return below
    middle = len(options) // 2
    first = options[:middle]
    second = options[middle:]
    chosen = tuple(
        region_option for option in first for region_option in word.region_options[option]
    )
    return Pick(word.position, chosen, (_picks(word, first, below), _picks(word, second, below)))


def _prepended(option: int, later: Ints) -> Ints:
    return np.concatenate([np.full((len(later), 1), option, dtype=np.int64), later], axis=1)


def _contributions(first: Step, length: int, word: UndecidedWord) -> Floats:
    """What each vector of a word adds to the first step's sums: (vectors, units)."""
    shifts = word.vectors - word.vectors[0]
    if isinstance(first.weight, np.ndarray):
        dimension = shifts.shape[1]
        return np.asarray(
            shifts @ first.weight[:, word.position * dimension : (word.position + 1) * dimension].T
        )
    units, block = first.by_word(length)[word.position]
    found = np.zeros((len(shifts), len(first.bias)))
    found[:, units] = shifts @ block.T
    return found

"""Branch and bound on options, for margins that are maxima of sums over words.

While every word has some of its options left, the least and the largest sum are exact; a maximum
lies between the largest of the least sums and the largest of the largest ones, and the margin,
linear in the maxima, between two more sums. Where these ends do not decide, lines around the maxima
may: they make the margin a sum over words, each with one option for all units, while ends take the
worst for every unit. Else the word that moves most of what may still win is split. Subproblems live
in batches, for which each step is a few operations on arrays; units that can no longer win are
dropped from a batch on the way down. Where changes cost, a word is first paid for or left as it is;
ends and lines then take the best that the rest of the budget buys.

The proof is a tree of picks whose leaves choose nothing: the lines are those that a checker takes
around maxima when nothing is chosen (docs/certificate.md), and these are nowhere worse than ends.

Method: branch and bound on options, by interval ends and lines (theory, section 5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from suffice import work
from suffice.model.network import Bools, Floats, Ints
from suffice.settings import RESOURCES
from suffice.verify.contract import Budget, OutOfTime, Proved, Refuted, Unknown, Verdict
from suffice.verify.nets.enumeration import CLOSED_LEAF
from suffice.verify.nets.input_sets import ChosenOptions
from suffice.verify.nets.options.max_of_sums import MaxOfSums, group_maxima, groups_left
from suffice.verify.proof_tree import Pick, Tree
from suffice.verify.tolerances import TIE_TOLERANCE


def decide_by_options(max_of_sums: MaxOfSums, free: Bools, budget: Budget) -> Verdict:
    """Do the words that are not free suffice? A tree for each rival, or a counterexample."""
    trees = []
    for rival in range(len(max_of_sums.constants)):
        found = _BranchAndBound(max_of_sums, free, rival, budget).run()
        if isinstance(found, Refuted | Unknown):
            return found
        trees.append(found)
    return Proved(tuple(trees))


# --- domains: what may be left of a word ---


@dataclass(frozen=True, eq=False)
class _Domains:
    """The sets of options that halving leaves of each word, in one list; a domain is a place in it.

    `options` are those of each domain, `children` (domains, 2) the domains that it is split into
    (-1: it is one option), `word_of_domain` its word. The first domains are all options of each
    word, in order. Where changes cost, these are `optional`: they are split into all options, which
    are `paid` like all below, and the word's own.
    """

    options: list[Ints]
    children: Ints
    word_of_domain: Ints
    optional: Bools
    paid: Bools

    @staticmethod
    def of(word_options: Sequence[Ints], own_options: Ints | None) -> _Domains:
        """Of each word's options, in the order in which they are halved; with the words' own, where
        changes cost."""
        count = len(word_options)
        options = list(word_options)
        word_of_domain = list(range(count))
        children_of = []
        paid = [False] * count
        for domain, domain_options in enumerate(options):  # which grows on the way
            middle = len(domain_options) // 2
            if own_options is not None and domain < count:
                halved = [domain_options, own_options[[domain]]]
                halves_paid = [True, False]
            else:
                halved, halves_paid = (
                    ([domain_options[:middle], domain_options[middle:]], [paid[domain]] * 2)
                    if middle
                    else ([], [])
                )
            children_of.append((len(options), len(options) + 1) if halved else (-1, -1))
            options += halved
            word_of_domain += [word_of_domain[domain]] * len(halved)
            paid += halves_paid
        is_optional = (np.arange(len(options)) < count) & (own_options is not None)
        children = np.array(children_of, dtype=np.int64).reshape(-1, 2)
        return _Domains(
            options,
            children,
            np.array(word_of_domain, dtype=np.int64),
            is_optional,
            np.array(paid, dtype=bool),
        )

    def option_masks(self, count: int) -> Bools:
        """Which options each domain has: (domains, options)."""
        found = np.zeros((len(self.options), count), dtype=bool)
        for domain, domain_options in enumerate(self.options):
            found[domain, domain_options] = True
        return found


@dataclass(frozen=True, eq=False)
class _KnapsackTable:
    """For each unit, the words that move it one way, best gain for cost first: (units, words) of
    words, gains, costs.

    Rows are as long as the longest; words that do not move the unit fill them up.
    """

    words: Ints
    gains: Floats
    costs: Floats

    @staticmethod
    def of(gains: Floats, costs: Floats) -> _KnapsackTable:
        """Of gains (words, units), none of them above zero."""
        max_words = int((gains < 0).sum(0).max(initial=0))
        words = np.argsort(gains.T / costs, axis=-1, kind="stable")[:, :max_words]
        return _KnapsackTable(words, np.take_along_axis(gains.T, words, -1), costs[words])

    def knapsack_min(self, affordable: Bools, budget_left: Floats) -> Floats:
        """The fractional knapsack's value (n, units) over affordable words (n, words) with
        `budget_left` (n,)."""
        affordable_here = affordable[:, self.words]
        return np.asarray(
            (
                _fractions_taken(
                    affordable_here * self.costs, self.costs, budget_left[:, None, None]
                )
                * affordable_here
                * self.gains
            ).sum(-1)
        )

    def take(self, active: Bools) -> _KnapsackTable:
        return _KnapsackTable(self.words[active], self.gains[active], self.costs[active])


def _fractions_taken(spent: Floats, costs: Floats, budget_left: Floats) -> Floats:
    """The fraction taken of each word, in order (..., words), where those before it are paid for
    first."""
    return np.clip((budget_left - np.cumsum(spent, axis=-1) + spent) / costs, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class _BudgetState:
    """Where changes cost: which domains are optional, what domains have spent, what words cost, and
    the limit.

    `decreases` and `increases` say how far optional words can move units; increases are negated.
    """

    optional: Bools
    spent: Floats
    costs: Floats
    max_cost: float
    decreases: _KnapsackTable
    increases: _KnapsackTable

    def take(self, active: Bools) -> _BudgetState:
        return replace(
            self, decreases=self.decreases.take(active), increases=self.increases.take(active)
        )


@dataclass(frozen=True, eq=False)
class _ActiveModel:
    """The units that may still win in a batch, and the least and the most that domains add to them.

    `domain_lower` and `domain_upper` (domains, units) are these ends, `word_effects` (units, words)
    how far each word can move each unit, times the weight of its maximum. `signed_weights` (2,
    maxima) are the weights above and below zero. `base` (units,) are the sums of the text itself,
    to which options add `contributions` (units, options). Optional domains add nothing: what they
    may is in `budget`.
    """

    base: Floats
    contributions: Floats
    domain_lower: Floats
    domain_upper: Floats
    group_starts: Ints
    group_of_unit: Ints
    signed_weights: Floats
    word_effects: Floats
    budget: _BudgetState | None

    @cached_property
    def bytes(self) -> int:
        return (
            self.contributions.nbytes
            + self.domain_lower.nbytes
            + self.domain_upper.nbytes
            + self.word_effects.nbytes
        )

    def take(self, active: Bools) -> _ActiveModel:
        """The model with these units only, and the maxima that have some of them."""
        group_starts, maxima_left = groups_left(self.group_of_unit[active])
        group_of_unit = np.repeat(
            np.arange(len(group_starts)), np.diff([*group_starts, active.sum()])
        )
        domain_lower = self.domain_lower[:, active]
        domain_upper = self.domain_upper[:, active]
        signed_weights = self.signed_weights[:, maxima_left]
        budget = None if self.budget is None else self.budget.take(active)
        return _ActiveModel(
            self.base[active],
            self.contributions[active],
            domain_lower,
            domain_upper,
            group_starts,
            group_of_unit,
            signed_weights,
            self.word_effects[active],
            budget,
        )


def _first_of_groups(masks: Bools, group_of_unit: Ints) -> tuple[Ints, Ints]:
    """The first marked unit of each row and group: rows, and units."""
    row, unit = np.nonzero(masks)
    key = row * (len(group_of_unit) + 1) + group_of_unit[unit]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    return row[first], unit[first]


class _LinearTerms(NamedTuple):
    """Of lines for n subproblems: weights of units, each in the row of its subproblem, and
    constants (n,).
    """

    row: Ints
    unit: Ints
    weight: Floats
    constant: Floats


@dataclass(frozen=True, eq=False)
class _NodeBatch:
    """Subproblems: their `ids` in the tree, the `domains` (n, words) of their words, bounds of
    units.

    `lower` and `upper` (n, units) are without what may still be paid for. `floor` (n, maxima) is
    what each maximum is at least, `constant` (n,) what decided maxima add to the margin.
    """

    model: _ActiveModel
    ids: Ints
    domains: Ints
    lower: Floats
    upper: Floats
    floor: Floats
    constant: Floats

    @cached_property
    def budget_left(self) -> Floats:
        """The rest of the budget (n,), infinite where changes are free."""
        budget = self.model.budget
        return (
            np.full(len(self.ids), np.inf)
            if budget is None
            else budget.max_cost - budget.spent[self.domains].sum(-1)
        )

    @cached_property
    def affordable(self) -> Bools:
        """The words (n, words) that may still be paid for."""
        budget = self.model.budget
        if budget is None:
            return np.zeros(self.domains.shape, dtype=bool)
        return np.asarray(
            budget.optional[self.domains] & (budget.costs <= self.budget_left[:, None])
        )

    @cached_property
    def unit_bounds(self) -> tuple[Floats, Floats]:
        """The least and the largest value (n, units) of each unit."""
        budget = self.model.budget
        if budget is None or not self.affordable.any():
            return self.lower, self.upper
        max_decrease, max_increase = (
            side.knapsack_min(self.affordable, self.budget_left)
            for side in (budget.decreases, budget.increases)
        )
        return self.lower + max_decrease, self.upper - max_increase

    @cached_property
    def maximum_bounds(self) -> tuple[Floats, Floats]:
        """The least and the largest value (n, maxima) of each maximum."""
        lower, upper = (group_maxima(side, self.model.group_starts) for side in self.unit_bounds)
        return np.maximum(lower, self.floor), np.maximum(upper, self.floor)

    @cached_property
    def bound(self) -> Floats:
        lower, upper = self.maximum_bounds
        return np.asarray(
            self.constant
            + lower @ self.model.signed_weights[0]
            + upper @ self.model.signed_weights[1]
        )

    def linear_bounds(self) -> tuple[Floats, Floats]:
        """Linear lower bounds of the margin: what options add (n, options), and constants (n,).

        They are those that a checker takes where nothing is chosen, or others that are lower
        everywhere.
        """
        model = self.model
        parts = (self._lower_lines(), self._upper_lines())
        row, unit, weight = (
            np.concatenate(side) for side in zip(*(part[:3] for part in parts), strict=True)
        )
        coefficients = scipy.sparse.coo_array((weight, (row, unit)), shape=self.lower.shape).tocsr()
        constant = self.constant + sum(part[3] for part in parts)
        return np.asarray(coefficients @ model.contributions), constant + coefficients @ model.base

    def _lower_lines(self) -> _LinearTerms:
        """Below each maximum its first unit that has the largest lower end, or nearly.

        A constant, where that may be a unit that was dropped.
        """
        (lower, upper), positive_weights, group_of_unit = (
            self.maximum_bounds,
            self.model.signed_weights[0],
            self.model.group_of_unit,
        )
        near_lower = np.where(positive_weights > 0, lower - TIE_TOLERANCE * (upper - lower), np.inf)
        is_constant = self.floor >= near_lower
        near_lower[is_constant] = np.inf
        row, unit = _first_of_groups(
            self.unit_bounds[0] >= near_lower[:, group_of_unit], group_of_unit
        )
        return _LinearTerms(
            row,
            unit,
            positive_weights[group_of_unit[unit]],
            np.where(is_constant, self.floor, 0.0) @ positive_weights,
        )

    def _upper_lines(self) -> _LinearTerms:
        """Above each maximum the second largest upper end, and from there the chord of the unit
        with the largest.
        """
        (maximum_lower, maximum_upper), negative_weights, group_of_unit = (
            self.maximum_bounds,
            self.model.signed_weights[1],
            self.model.group_of_unit,
        )
        unit_lower, unit_upper = self.unit_bounds
        row, unit = _first_of_groups(
            unit_upper == np.where(negative_weights < 0, maximum_upper, np.inf)[:, group_of_unit],
            group_of_unit,
        )
        others_upper = unit_upper.copy()
        others_upper[row, unit] = -np.inf
        level = np.maximum(group_maxima(others_upper, self.model.group_starts), maximum_lower)
        maximum = group_of_unit[unit]
        lower = unit_lower[row, unit]
        upper = unit_upper[row, unit]
        height = upper - level[row, maximum]
        width = np.where(upper > lower, upper - lower, 1.0)
        slope = negative_weights[maximum] * np.maximum(height, 0.0) / width
        return _LinearTerms(
            row, unit, slope, level @ negative_weights - np.bincount(row, slope * lower, len(level))
        )

    def take(self, index: Ints | slice) -> _NodeBatch:
        lower = self.lower[index]
        upper = self.upper[index]
        return _NodeBatch(
            self.model,
            self.ids[index],
            self.domains[index],
            lower,
            upper,
            self.floor[index],
            self.constant[index],
        )

    def with_active_units(self, most: float) -> _NodeBatch:
        """Without the units that can win in none of the subproblems, if the others are at most this
        fraction.
        """
        maximum_lower = self.maximum_bounds[0]
        active = np.asarray(
            (self.unit_bounds[1] > maximum_lower[:, self.model.group_of_unit]).any(0)
        )
        if not active.size or active.mean() > most:
            return self
        dropped = group_maxima(
            np.where(active, -np.inf, self.unit_bounds[0]), self.model.group_starts
        )
        maxima_left = np.zeros(maximum_lower.shape[1], dtype=bool)
        maxima_left[self.model.group_of_unit[active]] = True
        constant = self.constant + maximum_lower[:, ~maxima_left] @ self.model.signed_weights[
            :, ~maxima_left
        ].sum(0)
        lower = self.lower[:, active]
        upper = self.upper[:, active]
        floor = np.maximum(dropped, self.floor)[:, maxima_left]
        return _NodeBatch(
            self.model.take(active), self.ids, self.domains, lower, upper, floor, constant
        )

    def word_scores(self) -> Floats:
        """Branching scores (n, words): effects on units of which it is undecided whether they
        win."""
        lower, upper = self.unit_bounds
        height = upper - self.maximum_bounds[0][:, self.model.group_of_unit]
        width = upper - lower
        contention = np.where(
            height > 0, np.minimum(height, width) / np.where(width > 0, width, 1.0), 0.0
        )
        return np.asarray(contention @ self.model.word_effects)


def _bytes_of(frontier: Sequence[_NodeBatch]) -> int:
    """The bytes of batches, many of which share a model."""
    model_bytes = {id(batch.model): batch.model.bytes for batch in frontier}
    return sum(model_bytes.values()) + sum(
        batch.lower.nbytes + batch.upper.nbytes for batch in frontier
    )


class _BranchAndBound:
    """The branch and bound of one query against one rival."""

    def __init__(self, max_of_sums: MaxOfSums, free: Bools, rival: int, budget: Budget) -> None:
        self.max_of_sums = max_of_sums
        self.settings = max_of_sums.problem.settings
        self.rival = rival
        self.budget = budget
        self.error = float(max_of_sums.error[rival])
        self.free_words = np.flatnonzero(free[max_of_sums.positions])
        # the options of free words
        self.free_options = np.flatnonzero(free[max_of_sums.positions][max_of_sums.word_of_option])
        self.word_of_free_option = np.searchsorted(
            self.free_words, max_of_sums.word_of_option[self.free_options]
        )  # whose they are
        self.costs = max_of_sums.word_costs[self.free_words]
        # as checkers count: with words that cannot move
        costly = bool(max_of_sums.costs[free].sum() > max_of_sums.max_cost)
        self.domains = _Domains.of(
            [self._ordered(int(word)) for word in self.free_words],
            max_of_sums.own_options[self.free_words] if costly else None,
        )
        self.option_masks = self.domains.option_masks(len(max_of_sums.word_of_option))[
            :, self.free_options
        ]
        self.split_domain: list[int] = [-1]  # of each subproblem the domain that it was split at
        self.first_child: list[int] = [-1]  # and the first of its two children, side by side
        self.rounds = 0

    def run(self) -> Tree | Refuted | Unknown:
        frontier = [self._root()]
        try:
            while frontier:
                self.budget.check_time()
                answer, children = self._step(frontier.pop())
                if answer is not None:
                    return answer
                frontier += children
                if _bytes_of(frontier) > RESOURCES.run_bytes:
                    return Unknown(
                        f"undecided after {len(self.split_domain)} subproblems, and more "
                        "would not fit into memory"
                    )
        except OutOfTime:
            return Unknown("time ran out before all words were decided on")
        return self._tree()

    def _ordered(self, word: int) -> Ints:
        """The options of a word, those first that lower the margin most while all units count
        alike."""
        max_of_sums = self.max_of_sums
        rows = np.flatnonzero(max_of_sums.word_of_option == word)
        margin_effects = (
            max_of_sums.contributions[rows]
            @ max_of_sums.weights[self.rival][max_of_sums.group_of_unit]
        )
        return np.asarray(rows[np.argsort(margin_effects, kind="stable")])

    def _root(self) -> _NodeBatch:
        """The batch of the root alone, which has all options."""
        max_of_sums = self.max_of_sums
        count = len(self.free_words)
        domain_lower = self._domain_ends(np.min)
        domain_upper = self._domain_ends(np.max)
        model = self._model(domain_lower, domain_upper)
        lower, upper = (
            (max_of_sums.base + side[:count].sum(0))[None]
            for side in (model.domain_lower, model.domain_upper)
        )
        all_domains = np.arange(count)[None]
        constant = max_of_sums.constants[[self.rival]]
        return _NodeBatch(
            model,
            np.zeros(1, dtype=np.int64),
            all_domains,
            lower,
            upper,
            max_of_sums.floor[None],
            constant,
        )

    def _domain_ends(self, extreme: Callable[..., Floats]) -> Floats:
        """The least, or the most, (domains, units) that the options of each domain add."""
        found = [
            extreme(self.max_of_sums.contributions[rows], axis=0) for rows in self.domains.options
        ]
        return np.array(found).reshape(len(found), len(self.max_of_sums.base))

    def _model(self, domain_lower: Floats, domain_upper: Floats) -> _ActiveModel:
        max_of_sums = self.max_of_sums
        domains = self.domains
        count = len(self.free_words)
        weights = max_of_sums.weights[self.rival]
        word_effects = (domain_upper[:count] - domain_lower[:count]).T * np.abs(weights)[
            max_of_sums.group_of_unit
        ][:, None]
        signed_weights = np.stack([np.maximum(weights, 0.0), np.minimum(weights, 0.0)])
        budget = (
            self._budget_state(domain_lower[:count], domain_upper[:count])
            if domains.optional.any()
            else None
        )
        domain_lower[domains.optional] = domain_upper[domains.optional] = 0.0
        contributions = max_of_sums.contributions[self.free_options].T.copy()
        return _ActiveModel(
            max_of_sums.base,
            contributions,
            domain_lower,
            domain_upper,
            max_of_sums.group_starts,
            max_of_sums.group_of_unit,
            signed_weights,
            word_effects,
            budget,
        )

    def _budget_state(self, lower: Floats, upper: Floats) -> _BudgetState:
        """The budget of the root, where words add at least `lower` and at most `upper` (words,
        units)."""
        domains = self.domains
        costs = self.costs
        decreases, increases = (
            _KnapsackTable.of(np.minimum(gains, 0.0), costs) for gains in (lower, -upper)
        )
        return _BudgetState(
            domains.optional,
            domains.paid * costs[domains.word_of_domain],
            costs,
            self.max_of_sums.max_cost,
            decreases,
            increases,
        )

    def _step(self, batch: _NodeBatch) -> tuple[Refuted | Unknown | None, list[_NodeBatch]]:
        """An answer, or the children of what is not closed."""
        self.rounds += 1
        work.count("option_nodes", len(batch.ids))
        unproved = np.flatnonzero(batch.bound <= self.error)
        unproved_batch = batch.take(unproved)
        unproved_batch = (
            unproved_batch.take(np.flatnonzero(self._linear_bound(unproved_batch) <= self.error))
            if len(unproved)
            else unproved_batch
        )
        if not len(unproved_batch.ids):
            return None, []
        unsplittable = ~self._splittable(unproved_batch).any(-1)
        if (
            unsplittable.any()
            or self.rounds <= self.settings.attacks.descent_rounds
            or not self.rounds & (self.rounds - 1)  # later at powers of two
        ):
            answer = self._attack(
                unproved_batch.take(np.flatnonzero(unsplittable)[:1])
                if unsplittable.any()
                else unproved_batch
            )
            if answer is None and unsplittable.any():
                return Unknown("the margin is too close to zero to be decided"), []
            if answer is not None:
                return answer, []
        if len(self.split_domain) > self.budget.subproblems:
            return Unknown(
                f"undecided after {len(self.split_domain)} subproblems: the best bound is "
                f"{unproved_batch.bound.min():.3g}"
            ), []
        children = self._split(
            unproved_batch.with_active_units(self.settings.presolve.kept_fraction)
        )
        size = RESOURCES.option_batch
        return None, [
            children.take(slice(start, start + size)) for start in range(0, len(children.ids), size)
        ]

    def _splittable(self, batch: _NodeBatch) -> Bools:
        """The words (n, words) whose domains can be split."""
        domains = self.domains
        return np.asarray(
            (domains.children[batch.domains, 0] >= 0)
            & (~domains.optional[batch.domains] | batch.affordable)
        )

    def _linear_bound(self, batch: _NodeBatch) -> Floats:
        """Bounds (n,) by lines, for which a word has one option for all units."""
        coefficients, constant = batch.linear_bounds()
        allowed_values = np.where(
            self.option_masks[
                batch.domains[:, self.word_of_free_option], np.arange(len(self.word_of_free_option))
            ],
            coefficients,
            np.inf,
        )
        first_options = np.searchsorted(self.word_of_free_option, np.arange(len(self.free_words)))
        values = np.minimum.reduceat(allowed_values, first_options, axis=1)
        if batch.model.budget is None:
            return np.asarray(constant + values.sum(-1))
        not_optional = np.where(self.domains.optional[batch.domains], 0.0, values).sum(-1)
        gains = np.where(batch.affordable, np.minimum(values, 0.0), 0.0)
        order = np.argsort(gains / self.costs, axis=-1, kind="stable")
        fractions = _fractions_taken(
            self.costs[order], self.costs[order], batch.budget_left[:, None]
        )
        return np.asarray(
            constant + not_optional + (np.take_along_axis(gains, order, -1) * fractions).sum(-1)
        )

    def _attack(self, batch: _NodeBatch) -> Refuted | None:
        """A counterexample within the subproblem with the lowest bound, if coordinate descent finds
        one."""
        max_of_sums = self.max_of_sums
        domains = batch.domains[int(batch.bound.argmin())]
        allowed = np.zeros(len(max_of_sums.word_of_option), dtype=bool)
        assignment = max_of_sums.own_options.copy()
        for word, domain in zip(self.free_words, domains, strict=True):
            allowed[self.domains.options[domain]] = True
            assignment[word] = (
                assignment[word]
                if self.domains.optional[domain]
                else self.domains.options[domain][0]
            )
        assignment, lowest = max_of_sums.coordinate_descent(assignment, allowed)
        witness = max_of_sums.witness(assignment) if lowest <= 0 else None
        return None if witness is None else Refuted(witness)

    def _split(self, batch: _NodeBatch) -> _NodeBatch:
        """The children of each subproblem, split at the word with the best score: all first ones,
        then all second ones."""
        domains = self.domains
        count = len(batch.ids)
        scores = np.where(
            self._splittable(batch),
            batch.word_scores() * self._domain_fraction[batch.domains],
            -1.0,
        )
        word = scores.argmax(-1)
        rows = np.arange(count)
        split_domains = batch.domains[rows, word]
        first_side, second_side = (
            self._child(batch, word, split_domains, domains.children[split_domains, side])
            for side in (0, 1)
        )
        child_ids = len(self.split_domain) + np.arange(2 * count).reshape(count, 2).T
        for node_id, domain, first in zip(
            batch.ids.tolist(), split_domains.tolist(), child_ids[0].tolist(), strict=True
        ):
            self.split_domain[node_id] = domain
            self.first_child[node_id] = first
        self.split_domain += [-1] * 2 * count
        self.first_child += [-1] * 2 * count
        child_domains, lower, upper = (
            np.concatenate(pair) for pair in zip(first_side, second_side, strict=True)
        )
        floor = np.tile(batch.floor, (2, 1))
        constant = np.tile(batch.constant, 2)
        return _NodeBatch(
            batch.model,
            child_ids.ravel(),
            child_domains.astype(np.int64),
            lower,
            upper,
            floor,
            constant,
        )

    @cached_property
    def _domain_fraction(self) -> Floats:
        """Of each domain, the options that it can still lose as a fraction of those that its word
        could lose."""
        removable = [len(self.domains.options[word]) - 1 for word in self.domains.word_of_domain]
        return np.array(
            [
                (len(options) - 1) / max(1, of_all)
                for options, of_all in zip(self.domains.options, removable, strict=True)
            ]
        )

    def _child(
        self, batch: _NodeBatch, word: Ints, old: Ints, new: Ints
    ) -> tuple[Ints, Floats, Floats]:
        domains = batch.domains.copy()
        domains[np.arange(len(domains)), word] = new
        model = batch.model
        return (
            domains,
            batch.lower + (model.domain_lower[new] - model.domain_lower[old]),
            batch.upper + (model.domain_upper[new] - model.domain_upper[old]),
        )

    def _tree(self) -> Tree:
        """The proof, from its leaves up: children come after their parents."""
        trees: list[Tree] = [CLOSED_LEAF] * len(self.split_domain)
        for place in reversed(range(len(self.split_domain))):
            if (domain := self.split_domain[place]) >= 0:
                first = self.first_child[place]
                position = int(
                    self.max_of_sums.positions[self.free_words[self.domains.word_of_domain[domain]]]
                )
                trees[place] = Pick(
                    position, self._options_picked(domain), (trees[first], trees[first + 1])
                )
        return trees[0]

    def _options_picked(self, domain: int) -> ChosenOptions:
        """The region's options in the first child of a split; None where the word is paid for
        there."""
        if self.domains.optional[domain]:
            return None
        options = self.domains.options[self.domains.children[domain, 0]]
        return tuple(
            sorted(
                region_option
                for option in options
                for region_option in self.max_of_sums.region_options[option]
            )
        )

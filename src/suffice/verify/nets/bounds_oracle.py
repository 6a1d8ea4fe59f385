"""Our own oracle: attacks and plain bounds in bulk, optimised slopes, then branch and bound.

Method: CROWN in batches before a complete search (theory, sections 2 and 5).
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.settings import RESOURCES
from suffice.verify.contract import (
    Budget,
    OutOfTime,
    Problem,
    Proved,
    Refuted,
    Unknown,
    Verdict,
    Witness,
)
from suffice.verify.exact import confirm
from suffice.verify.nets.attack import Attacker, pgd, pgd_applies
from suffice.verify.nets.branch import decide, decide_flips, input_sets_of
from suffice.verify.nets.crown import (
    BackwardPass,
    BoundBatch,
    IntermediateBounds,
    PreparedProblem,
    backward_bound,
    canonical_dual,
    dual_ascent,
    initial_dual,
    intermediate_bounds,
    margin_rows,
)
from suffice.verify.nets.input_sets import Free, WithinBudget, quantised
from suffice.verify.nets.options.max_of_sums import MaxOfSums, is_max_of_sums
from suffice.verify.nets.options.option_branching import decide_by_options
from suffice.verify.nets.presolve.dominated import postsolve_tree, without_dominated
from suffice.verify.nets.presolve.restrict import decide_restricted
from suffice.verify.nets.presolve.restrict import restriction_applies as suits_few
from suffice.verify.proof_tree import Leaf


class BoundsOracle:
    """Our own: attacks and linear bounds in bulk, then optimised slopes, then branch and bound."""

    name = "bounds"

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.prepared = without_dominated(PreparedProblem.of(problem))
        self.attacker = Attacker.of(self.prepared.problem)
        self.max_of_sums = (
            MaxOfSums.of(self.prepared)
            if is_max_of_sums(problem) and self.prepared.finite
            else None
        )
        self.known_flips: list[Ints] = []  # flips that further attacks start from
        self.cached_verdicts: dict[
            bytes, Verdict
        ] = {}  # the last ones by free words: all with `max_of_sums`, else flips alone
        self.cheaply_undecided: set[bytes] = set()  # free words that a cheap answer left open
        self.attacked_in_vain: set[bytes] = set()  # those that many attacks left open
        self.undecided_within: dict[bytes, int] = {}  # the limit on subproblems that left them open

    def ask(self, free: Bools, budget: Budget) -> list[Verdict]:
        """Complete answers, as far as the budget goes."""
        if self.problem.one_hot is not None:
            return self._ask_one_hot(free, self.problem.settings.attacks.starts, budget)
        undecided = Unknown("neither attacks nor plain bounds decide it")
        answers: list[Verdict] = [
            self.cached_verdicts.get(row.tobytes(), undecided) for row in free
        ]
        unseen = [i for i, row in enumerate(free) if row.tobytes() not in self.cheaply_undecided]
        for i, answer in zip(
            unseen, self.ask_cheaply(free[unseen], budget=budget) if unseen else (), strict=True
        ):
            answers[i] = answer
        left = [
            i
            for i, row in enumerate(free)
            if isinstance(answers[i], Unknown) and self._worth_deciding(row, budget)
        ]
        if left and self.prepared.finite and not budget.exhausted:
            for i, answer in zip(left, self._decide(free[left], budget), strict=True):
                answers[i] = answer
                self._remember_outcome(free[i], answer, budget)
        return answers

    def flips(self, free: Bools, seed: int = 0, budget: Budget | None = None) -> Floats:
        """Texts (n, length, dimension) that flip the label, of many attacks on one set of free
        words (length,).
        """
        problem = self.problem
        attacks = problem.settings.attacks.deep_attacks
        points = self.attacker.deep_attacks(free, attacks, seed, budget)
        margins = problem.margins(points).min(-1)
        if (margins > 0).all() and self._bounds_are_slow and pgd_applies(problem):
            best = np.argsort(quantised(margins[None])[0], kind="stable")[: max(1, attacks // 3)]
            rivals = problem.margins(points[best]).argmin(-1)
            result = pgd(problem, free[None], points[best], rivals, budget=budget)
            points = result.point
            margins = result.margin
        if (margins > 0).all():
            self.attacked_in_vain.add(free.tobytes())
        return np.asarray(points[margins <= 0])

    @property
    def _bounds_are_slow(self) -> bool:
        """Whether there are maxima over vectors, whose bounds take far longer than attacks."""
        return self.prepared.pooled is not None and self.problem.one_hot is None

    def _attack_deeply(self, free: Bools, budget: Budget) -> Refuted | None:
        """A flip by deep attacks, where bounds are slow and this set was not attacked in vain
        before."""
        if not self._bounds_are_slow or free.tobytes() in self.attacked_in_vain:
            return None
        with contextlib.suppress(OutOfTime):
            flips = self.flips(free, budget=budget)[:1]
            found = confirm(self.problem, flips, np.repeat(free[None], len(flips), axis=0))
            return next((Refuted(witness) for witness in found if witness is not None), None)
        return None

    def _remember_outcome(self, free: Bools, answer: Verdict, budget: Budget) -> None:
        """Keep what helps if the set is asked about again; proofs are left to those who ask, as
        they may be large."""
        if isinstance(answer, Refuted):
            self._remember(free, answer)
        elif isinstance(answer, Unknown) and not budget.exhausted:
            self.undecided_within[free.tobytes()] = budget.subproblems

    def _decide(self, free: Bools, budget: Budget) -> list[Verdict]:
        """Complete answers, after attacks that take less time."""
        answers: list[Verdict | None] = [self._attack_deeply(row, budget) for row in free]
        left = [i for i, answer in enumerate(answers) if answer is None]
        for i, answer in zip(
            left, self._decide_by_bounds(free[left], budget) if left else (), strict=True
        ):
            answers[i] = answer
        return [answer for answer in answers if answer is not None]

    def _decide_by_bounds(self, free: Bools, budget: Budget) -> list[Verdict]:
        """One by one where few words of a large network are free, else together."""
        if all(suits_few(self.prepared, row) for row in free):
            return [decide_restricted(self.prepared, row, budget) for row in free]
        return decide(self.prepared, free, budget)

    def _worth_deciding(self, free: Bools, budget: Budget) -> bool:
        """Whether no complete search with as many subproblems has left it open before."""
        return self.undecided_within.get(free.tobytes(), 0) < budget.subproblems

    def ask_cheaply(
        self, free: Bools, optimised: bool = False, restarts: int = 0, budget: Budget | None = None
    ) -> list[Verdict]:
        """Attacks and one backward pass, with optimised slopes if asked: Unknown is a usual answer
        here.
        """
        if self.problem.one_hot is not None:
            seconds = np.inf if budget is None else budget.seconds_left
            cheap = Budget(seconds, self.problem.settings.branching.small_round)
            return self._ask_one_hot(free, restarts, cheap)
        self.prepared.require_features(free)
        answers: list[Verdict] = [Unknown("neither attacks nor plain bounds decide it")] * len(free)
        if not self.prepared.finite:
            return [Unknown("the network can overflow over this region")] * len(free)
        _, largest = RESOURCES.batch_sizes
        batch_limit = self.prepared.batch_limit // len(self.problem.rivals)
        batch_size = max(1, min(4 * largest, batch_limit))
        try:
            for start in range(0, len(free), batch_size):
                index = np.arange(start, min(start + batch_size, len(free)))
                self._refute(answers, free, index, restarts, budget)
                self._prove(answers, free, index[_undecided(answers, index)], optimised, budget)
        except OutOfTime:
            out_of_time = Unknown("time ran out before plain bounds were known")
            return [out_of_time if isinstance(answer, Unknown) else answer for answer in answers]
        self.cheaply_undecided |= {
            row.tobytes()
            for row, answer in zip(free, answers, strict=True)
            if isinstance(answer, Unknown)
        }
        return answers

    def _ask_one_hot(self, free: Bools, restarts: int, budget: Budget) -> list[Verdict]:
        """In one-hot coordinates: attacks, then at once the complete answer, question by
        question."""
        self.prepared.require_features(free)
        if self.max_of_sums is not None:
            return [self._cached_or_asked(self.max_of_sums, row, budget) for row in free]
        answers: list[Verdict] = [Unknown("the network can overflow over this region")] * len(free)
        if self.prepared.finite:
            with contextlib.suppress(OutOfTime):
                self._refute(answers, free, np.arange(len(free)), restarts, budget)
            for i in np.flatnonzero(_undecided(answers, np.arange(len(free)))):
                answers[i] = decide(self.prepared, free[[i]], budget)[0]
        return answers

    def quick_witness(self, free: Bools) -> Witness | None:
        """A short counterexample, if one coordinate descent from the text itself finds one."""
        assert self.max_of_sums is not None
        restricted = self.max_of_sums.restricted_to(free)
        return self._shortened_witness(restricted, restricted.attack(free))

    def ask_flips(
        self, costs: Floats, limit: int, rivals: Sequence[int], budget: Budget
    ) -> Verdict:
        """Can changing words worth at most `limit` lift one of the rivals to the label? Refuted
        shows how.

        With `max_of_sums` a limit on how many words change must be one of cost too.
        """
        features = self.problem.features
        max_changes = self.problem.max_changes
        if self.max_of_sums is None:
            return decide_flips(self.prepared, features, costs, limit, rivals, budget)
        assert max_changes >= features.sum() or (costs == costs[0]).all()
        max_cost = (
            min(float(limit), float(costs[0]) * max_changes)
            if max_changes < features.sum()
            else float(limit)
        )
        restricted = self.max_of_sums.with_costs(costs, max_cost, rivals).restricted_to(features)
        assignment = restricted.attack(features, self.known_flips)
        found = (
            None
            if assignment is None
            else restricted.witness(restricted.with_changes_undone(assignment))
        )
        return decide_by_options(restricted, features, budget) if found is None else Refuted(found)

    def _cached_or_asked(self, max_of_sums: MaxOfSums, free: Bools, budget: Budget) -> Verdict:
        """The answer of before, where there is one."""
        found = self.cached_verdicts.get(free.tobytes())
        if found is None:
            found = self._ask_max_of_sums(max_of_sums, free, budget)
            if not isinstance(found, Unknown):
                self._remember(free, found)
        return found

    def _remember(self, free: Bools, answer: Verdict) -> None:
        self.cached_verdicts[free.tobytes()] = answer
        if len(self.cached_verdicts) > RESOURCES.cached_verdicts:
            del self.cached_verdicts[next(iter(self.cached_verdicts))]

    def _ask_max_of_sums(self, max_of_sums: MaxOfSums, free: Bools, budget: Budget) -> Verdict:
        """A short counterexample if attacks find one, else the complete answer."""
        restricted = max_of_sums.restricted_to(free)
        found = self._shortened_witness(restricted, restricted.attack(free, self.known_flips))
        if found is not None:
            return Refuted(found)
        answer = decide_by_options(restricted, free, budget)
        if isinstance(answer, Refuted):
            found = self._shortened_witness(restricted, restricted.options_of(answer.witness.point))
        return answer if found is None else Refuted(found)

    def _shortened_witness(self, restricted: MaxOfSums, assignment: Ints | None) -> Witness | None:
        """The counterexample that is left of a text when words are put back; further attacks start
        from it.
        """
        found = (
            None
            if assignment is None
            else restricted.witness(restricted.with_changes_undone(assignment))
        )
        if found is not None:
            self.known_flips.append(restricted.options_of(found.point))
        return found

    def _refute(
        self, answers: list[Verdict], free: Bools, index: Ints, restarts: int, budget: Budget | None
    ) -> None:
        attempt = self.attacker.attack(free[index], restarts=restarts, budget=budget)
        hits = np.flatnonzero(attempt.margin <= 0)
        found = confirm(self.problem, attempt.point[hits], free[index[hits]])
        for i, witness in zip(index[hits], found, strict=True):
            if witness is not None:
                answers[i] = Refuted(witness)

    def _prove(
        self,
        answers: list[Verdict],
        free: Bools,
        index: Ints,
        optimised: bool,
        budget: Budget | None,
    ) -> None:
        """Every rival must lose: one item per question and rival."""
        if not len(index):
            return
        inputs = input_sets_of(self.prepared, free[index])
        bounds = intermediate_bounds(self.prepared, inputs, budget=budget)
        count = len(self.problem.rivals)
        items = np.repeat(np.arange(len(index)), count)
        rivals = np.tile(np.arange(count), len(index))
        item_inputs, item_bounds = (
            (inputs, bounds) if count == 1 else (inputs.take(items), bounds.take(items))
        )
        batch = BoundBatch(item_inputs, item_bounds, margin_rows(self.prepared, rivals))
        dual = initial_dual(item_bounds)
        backward = backward_bound(self.prepared, batch, dual)
        if optimised:
            iterations = self.problem.settings.ascent.refining_iterations // 2
            backward, dual = dual_ascent(self.prepared, batch, dual, backward, iterations, budget)
        proved = (backward.bound > 0).reshape(-1, count).all(-1)
        dual = canonical_dual(self.prepared, item_bounds, dual)
        for place in np.flatnonzero(proved):
            items_of_question = range(int(place) * count, int(place + 1) * count)
            answers[index[place]] = Proved(
                tuple(
                    postsolve_tree(self.prepared, Leaf(dual.alpha[i], dual.beta[i]))
                    for i in items_of_question
                )
            )
        self._try_minimisers(
            answers, free, index[~proved], item_inputs, backward, np.repeat(~proved, count)
        )

    def _try_minimisers(
        self,
        answers: list[Verdict],
        free: Bools,
        index: Ints,
        item_inputs: Free | WithinBudget,
        backward: BackwardPass,
        unproved_items: Bools,
    ) -> None:
        """The points where the bounds are attained are good attacks: try them on the
        real network.
        """
        if not len(index):
            return
        points = item_inputs.minimiser(backward.input_coefficients)[unproved_items]
        margins = self.problem.margins(points).min(-1).reshape(len(index), -1)
        best = margins.argmin(-1) + np.arange(len(index)) * margins.shape[1]
        hits = np.flatnonzero(margins.min(-1) <= self.prepared.margin_error.max())
        for i, witness in zip(
            index[hits], confirm(self.problem, points[best[hits]], free[index[hits]]), strict=True
        ):
            if witness is not None:
                answers[i] = Refuted(witness)


def _undecided(answers: Sequence[Verdict], index: Ints) -> Bools:
    return np.array([isinstance(answers[i], Unknown) for i in index], dtype=bool)


def bounds_for(
    prepared: PreparedProblem, free: Bools, budget: Budget | None = None
) -> IntermediateBounds:
    """Intermediate bounds of a batch of free sets, for those who build on them (MILP,
    benchmarks)."""
    return intermediate_bounds(prepared, input_sets_of(prepared, free), budget=budget)

"""Oracles: the ways to answer "do the fixed words suffice?", for many sets of free words at once."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.attack import Attacker, slide, slides
from suffice.prove.bounds import Form, Hidden, Items, Pass, hidden, margin_bound, margin_rows, optimise, plain, settled
from suffice.prove.branch import decide, decide_flips, sets_of_free
from suffice.prove.exact import confirm
from suffice.prove.few import decide_few
from suffice.prove.few import suits as suits_few
from suffice.prove.inputs import Free, Freed, steady
from suffice.prove.lean import lean, told
from suffice.prove.tree import Leaf
from suffice.prove.verdict import Budget, OutOfTime, Problem, Proved, Refuted, Unknown, Verdict, Witness
from suffice.prove.windows import Windows, suits
from suffice.prove.wordwise import decide_by_words

CHEAP_STEPS = 12  # slope ascent before branching
RESTARTS = 4  # random starts of attacks on a set that is asked about completely at once
HARD = 24  # attacks on a set where lines around maxima take long to tell, and on likely explanations
SLID = 8  # of them, from which small steps go on
CHEAP_PARTS = 16  # subproblems, where a subproblem takes one pass
BULK = 1024  # questions per round of cheap answers
REMEMBERED = 64  # answers that are kept: large proofs take megabytes


class BoundsOracle:
    """Our own: attacks and linear bounds in bulk, then optimised slopes, then branch and bound."""

    name = "bounds"

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.form = lean(Form.of(problem))
        self.attacker = Attacker.of(self.form.problem)
        self.windows = Windows.of(self.form) if suits(problem) and self.form.finite else None
        self.found: list[Ints] = []  # flips that further attacks start from
        self.answered: dict[bytes, Verdict] = {}  # the last ones by free words: complete among windows, else flips
        self.looked: set[bytes] = set()  # sets of free words that a cheap look left open
        self.attacked: set[bytes] = set()  # those that many attacks left open
        self.doubted: dict[bytes, int] = {}  # those that a complete look left open, and its subproblems

    def ask(self, free: Bools, budget: Budget) -> list[Verdict]:
        """Complete answers, as far as the budget goes."""
        if self.problem.source is not None:
            return self._ask_of_choices(free, RESTARTS, budget)
        doubtful = Unknown("neither attacks nor plain bounds decide it")
        answers: list[Verdict] = [self.answered.get(row.tobytes(), doubtful) for row in free]
        fresh = [i for i, row in enumerate(free) if row.tobytes() not in self.looked]
        for i, answer in zip(fresh, self.ask_cheaply(free[fresh], budget=budget) if fresh else (), strict=True):
            answers[i] = answer
        open_ = [i for i, row in enumerate(free) if isinstance(answers[i], Unknown) and self._worth_a_look(row, budget)]
        if open_ and self.form.finite and not budget.spent:
            for i, answer in zip(open_, self._decide(free[open_], budget), strict=True):
                answers[i] = answer
                self._learn(free[i], answer, budget)
        return answers

    def flips(self, free: Bools, seed: int = 0, budget: Budget | None = None) -> Floats:
        """Texts (n, length, dimension) that flip the label, of many attacks on one set of free words (length,)."""
        problem = self.problem
        points = self.attacker.deepest(free, HARD, seed, budget)
        margins = problem.margins(points).min(-1)
        if (margins > 0).all() and self._slow and slides(problem):
            best = np.argsort(steady(margins[None])[0], kind="stable")[:SLID]
            rivals = problem.margins(points[best]).argmin(-1)
            slid = slide(problem, free[None], points[best], rivals, budget=budget)
            points, margins = slid.point, slid.margin
        if (margins > 0).all():
            self.attacked.add(free.tobytes())
        return np.asarray(points[margins <= 0])

    @property
    def _slow(self) -> bool:
        """Whether bounds are of maxima over sets of vectors: then these take far longer than attacks."""
        return self.form.pooled is not None and self.problem.source is None

    def _attacked_hard(self, free: Bools, budget: Budget) -> Refuted | None:
        """A flip, where bounds take long and nobody has attacked this set in vain."""
        if not self._slow or free.tobytes() in self.attacked:
            return None
        with contextlib.suppress(OutOfTime):
            flips = self.flips(free, budget=budget)[:1]
            found = confirm(self.problem, flips, np.repeat(free[None], len(flips), axis=0))
            return next((Refuted(witness) for witness in found if witness is not None), None)
        return None

    def _learn(self, free: Bools, answer: Verdict, budget: Budget) -> None:
        """Sets are asked about again by preferences; proofs are left to those who ask, as they may be large."""
        if isinstance(answer, Refuted):
            self._remember(free, answer)
        elif isinstance(answer, Unknown) and not budget.spent:
            self.doubted[free.tobytes()] = budget.subproblems

    def _decide(self, free: Bools, budget: Budget) -> list[Verdict]:
        """Complete answers, after attacks that take less time."""
        answers: list[Verdict | None] = [self._attacked_hard(row, budget) for row in free]
        left = [i for i, answer in enumerate(answers) if answer is None]
        for i, answer in zip(left, self._bounded(free[left], budget) if left else (), strict=True):
            answers[i] = answer
        return [answer for answer in answers if answer is not None]

    def _bounded(self, free: Bools, budget: Budget) -> list[Verdict]:
        """One by one where few words of a large network are free, else together."""
        if all(suits_few(self.form, row) for row in free):
            return [decide_few(self.form, row, budget) for row in free]
        return decide(self.form, free, budget)

    def _worth_a_look(self, free: Bools, budget: Budget) -> bool:
        """Whether no complete look with as many subproblems has left it open before."""
        return self.doubted.get(free.tobytes(), 0) < budget.subproblems

    def ask_cheaply(
        self, free: Bools, optimised: bool = False, restarts: int = 0, budget: Budget | None = None
    ) -> list[Verdict]:
        """Attacks and one backward pass, with optimised slopes if asked: Unknown is a usual answer here."""
        if self.problem.source is not None:
            return self._ask_of_choices(free, restarts, Budget(np.inf if budget is None else budget.left, CHEAP_PARTS))
        self.form.about(free)
        answers: list[Verdict] = [Unknown("neither attacks nor plain bounds decide it")] * len(free)
        if not self.form.finite:
            return [Unknown("the network can overflow over this region")] * len(free)
        bulk = max(1, min(BULK, self.form.together // len(self.problem.rivals)))
        try:
            for start in range(0, len(free), bulk):
                index = np.arange(start, min(start + bulk, len(free)))
                self._refute(answers, free, index, restarts, budget)
                self._prove(answers, free, index[_open(answers, index)], optimised, budget)
        except OutOfTime:
            late = Unknown("time ran out before plain bounds were known")
            return [late if isinstance(answer, Unknown) else answer for answer in answers]
        self.looked |= {row.tobytes() for row, answer in zip(free, answers, strict=True) if isinstance(answer, Unknown)}
        return answers

    def _ask_of_choices(self, free: Bools, restarts: int, budget: Budget) -> list[Verdict]:
        """In coordinates of choices: attacks, then at once the complete answer, question by question."""
        self.form.about(free)
        if self.windows is not None:
            return [self._remembered(self.windows, row, budget) for row in free]
        answers: list[Verdict] = [Unknown("the network can overflow over this region")] * len(free)
        if self.form.finite:
            with contextlib.suppress(OutOfTime):
                self._refute(answers, free, np.arange(len(free)), restarts, budget)
            for i in np.flatnonzero(_open(answers, np.arange(len(free)))):
                answers[i] = decide(self.form, free[[i]], budget)[0]
        return answers

    def glance(self, free: Bools) -> Witness | None:
        """A short counterexample, if one attack from the text itself finds one among windows."""
        assert self.windows is not None
        few = self.windows.within(free)
        return self._shortened(few, few.attacked(free))

    def ask_flips(self, costs: Floats, limit: int, rivals: Sequence[int], budget: Budget) -> Verdict:
        """Can changing words worth at most `limit` lift one of the rivals to the label? Refuted shows how.

        Among windows a limit on how many words change must be one of cost too.
        """
        opened, most = self.problem.features, self.problem.limit
        if self.windows is None:
            return decide_flips(self.form, opened, costs, limit, rivals, budget)
        assert most >= opened.sum() or (costs == costs[0]).all()
        worth = min(float(limit), float(costs[0]) * most) if most < opened.sum() else float(limit)
        few = self.windows.paying(costs, worth, rivals).within(opened)
        text = few.attacked(opened, self.found)
        found = None if text is None else few.witness(few.shortened(text))
        return decide_by_words(few, opened, budget) if found is None else Refuted(found)

    def _remembered(self, windows: Windows, free: Bools, budget: Budget) -> Verdict:
        """The answer of before, where there is one."""
        found = self.answered.get(free.tobytes())
        if found is None:
            found = self._ask_windows(windows, free, budget)
            if not isinstance(found, Unknown):
                self._remember(free, found)
        return found

    def _remember(self, free: Bools, answer: Verdict) -> None:
        self.answered[free.tobytes()] = answer
        if len(self.answered) > REMEMBERED:
            del self.answered[next(iter(self.answered))]

    def _ask_windows(self, windows: Windows, free: Bools, budget: Budget) -> Verdict:
        """A short counterexample if attacks find one, else the complete answer."""
        few = windows.within(free)
        found = self._shortened(few, few.attacked(free, self.found))
        if found is not None:
            return Refuted(found)
        answer = decide_by_words(few, free, budget)
        if isinstance(answer, Refuted):
            found = self._shortened(few, few.text(answer.witness.point))
        return answer if found is None else Refuted(found)

    def _shortened(self, few: Windows, text: Ints | None) -> Witness | None:
        """The counterexample that is left of a text when words are put back; further attacks start from it."""
        found = None if text is None else few.witness(few.shortened(text))
        if found is not None:
            self.found.append(few.text(found.point))
        return found

    def _refute(self, answers: list[Verdict], free: Bools, index: Ints, restarts: int, budget: Budget | None) -> None:
        attempt = self.attacker.attack(free[index], restarts=restarts, budget=budget)
        hits = np.flatnonzero(attempt.margin <= 0)
        found = confirm(self.problem, attempt.point[hits], free[index[hits]])
        for i, witness in zip(index[hits], found, strict=True):
            if witness is not None:
                answers[i] = Refuted(witness)

    def _prove(self, answers: list[Verdict], free: Bools, index: Ints, optimised: bool, budget: Budget | None) -> None:
        """Every rival must lose: one item per question and rival."""
        if not len(index):
            return
        inputs = sets_of_free(self.form, free[index])
        bounds = hidden(self.form, inputs, budget=budget)
        count = len(self.problem.rivals)
        items, rivals = np.repeat(np.arange(len(index)), count), np.tile(np.arange(count), len(index))
        wide, spread = (inputs, bounds) if count == 1 else (inputs.take(items), bounds.take(items))
        batch, dual = Items(wide, spread, margin_rows(self.form, rivals)), plain(spread)
        found = margin_bound(self.form, batch, dual)
        if optimised:
            found, dual = optimise(self.form, batch, dual, found, CHEAP_STEPS, budget)
        proved, dual = (found.bound > 0).reshape(-1, count).all(-1), settled(self.form, spread, dual)
        for place in np.flatnonzero(proved):
            mine = range(int(place) * count, int(place + 1) * count)
            answers[index[place]] = Proved(tuple(told(self.form, Leaf(dual.alpha[i], dual.beta[i])) for i in mine))
        self._try_minimisers(answers, free, index[~proved], wide, found, np.repeat(~proved, count))

    def _try_minimisers(
        self, answers: list[Verdict], free: Bools, index: Ints, wide: Free | Freed, found: Pass, items: Bools
    ) -> None:
        """The points where the bounds are attained are good attacks: try them on the real network."""
        if not len(index):
            return
        points = wide.minimiser(found.inputs)[items]
        margins = self.problem.margins(points).min(-1).reshape(len(index), -1)
        best = margins.argmin(-1) + np.arange(len(index)) * margins.shape[1]
        hits = np.flatnonzero(margins.min(-1) <= self.form.off.max())
        for i, witness in zip(index[hits], confirm(self.problem, points[best[hits]], free[index[hits]]), strict=True):
            if witness is not None:
                answers[i] = Refuted(witness)


def _open(answers: Sequence[Verdict], index: Ints) -> Bools:
    return np.array([isinstance(answers[i], Unknown) for i in index], dtype=bool)


def bounds_for(form: Form, free: Bools, budget: Budget | None = None) -> Hidden:
    """The hidden bounds of a batch of free sets, for those who build on them (MILP, benchmarks)."""
    return hidden(form, sets_of_free(form, free), budget=budget)

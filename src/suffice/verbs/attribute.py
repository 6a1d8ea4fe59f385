"""Attribution: in which share of the explanations each word stands, counted and not estimated."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Literal

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from suffice.errors import InputError
from suffice.model.classifier import Classifier
from suffice.model.network import Bools
from suffice.model.text import Word
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Proved, Refuted
from suffice.search.cost import Cost
from suffice.search.hitting import sparse_attack
from suffice.search.words import Node, Outcome, Search, optimal_sets
from suffice.sets.perturbations import Perturbation
from suffice.verbs.answers import Attribution, Share
from suffice.verbs.explanation import Explanation
from suffice.verbs.verbs import (
    Given,
    OnProgress,
    Padding,
    Question,
    Words,
    ask,
    finished,
    noted,
    searcher,
    single_threaded,
    timed,
)

LIMIT = 100


def attribute(
    classifier: Classifier,
    text: Given,
    *,
    perturbation: Perturbation,
    of: Literal["optimal", "minimal"] = "optimal",
    limit: int = LIMIT,
    cost: Cost = None,
    include: Words = (),
    exclude: Words = (),
    padding: Padding = "fixed",
    seconds: float = 60.0,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    self_check: bool = True,
) -> Attribution:
    """For each word the share of explanations that hold it.

    `of` says of which explanations: "optimal", all the cheapest ones; or "minimal", all from which no word can be left
    out, the cheapest first. At most `limit` of them are looked for; `complete` on the result says whether that was all.
    """
    if of not in ("optimal", "minimal"):
        raise InputError(f"`of` must be 'optimal' or 'minimal', not {of!r}.")
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InputError(f"The limit must be a whole number of at least 1, not {limit!r}.")
    with single_threaded():
        question = ask(classifier, text, perturbation, cost, include, exclude, padding)
        question = noted(question, method="search", oracle="bounds", seed=seed, seconds=seconds, of=of, limit=limit)
        started, budget = time.monotonic(), timed(seconds)
        source = _Optimal if of == "optimal" else _Minimal
        hunt = source(question, searcher(question, BoundsOracle(question.problem), budget, seed, on_progress))
        outcomes = list(islice(hunt.outcomes(), limit + 1))
        found = tuple(finished(question, one, started, self_check) for one in outcomes[:limit])
        more = "there are more than the limit" if len(outcomes) > limit else hunt.doubt
        necessary = _necessary(question, found, complete=not more)
    stats = {"seconds": time.monotonic() - started, **hunt.search.stats}
    return Attribution(
        of=of,
        explanations=found,
        shares=_shares(question, found),
        necessary=necessary,
        complete=not more,
        label=question.label,
        text=question.text,
        reason=more or hunt.reason,
        stats=stats,
        meta=question.meta(),
    )


class _Optimal:
    """Every cheapest explanation, by the search that found the first."""

    def __init__(self, question: Question, search: Search) -> None:
        self.search, self.doubt, self.reason = search, "", ""

    def outcomes(self) -> Iterator[Outcome]:
        first = self.search.run()
        if first.witness is not None:
            self.reason = "no explanation avoids the excluded words"
            return
        if not first.finished:
            self.doubt = first.reason or "the search did not finish"
            return
        for held, proof in optimal_sets(self.search, first.upper):
            yield replace(first, held=held, proof=proof)
        if self.search.heap or self.search.stuck:
            self.doubt = "time is up"


class _Minimal:
    """Every subset-minimal explanation, the cheapest first.

    The cheapest set that shares a word with every attack known and contains no explanation known is asked about:
    a set that suffices is minimal (a part of it would have been cheaper), and one that does not gives a new attack.
    """

    def __init__(self, question: Question, search: Search) -> None:
        self.question, self.search, self.doubt, self.reason = question, search, "", ""
        self.attacks: list[Bools] = []
        self.found: list[Bools] = []

    def outcomes(self) -> Iterator[Outcome]:
        search, budget = self.search, self.search.budget
        if isinstance(self._ask(search.problem.features & ~search.exclude), Refuted):
            self.reason = "no explanation avoids the excluded words"
            return
        rng = np.random.default_rng(search.seed)
        while (held := self._next()) is not None:
            answer = self._ask(held)
            if isinstance(answer, Proved):
                self.found.append(held)
                yield self._outcome(held, answer)
            elif isinstance(answer, Refuted):
                witness = sparse_attack(search.oracle.attacker, answer.witness, rng)
                self.attacks.append(_mask(witness.positions, len(held)))
            else:
                self.doubt = "time is up" if budget.spent else "some sets are undecided"
                return

    def _ask(self, held: Bools) -> Proved | Refuted | None:
        if self.search.budget.spent:
            return None
        answer = self.search.ask(held[None], self.search.budget.subproblems)[0]
        return answer if isinstance(answer, Proved | Refuted) else None

    def _next(self) -> Bools | None:
        """The cheapest set that hits all attacks and holds no known explanation; None when there is none."""
        search = self.search
        words = np.flatnonzero(search.problem.features)
        hits = [LinearConstraint(row[words].astype(float), lb=1.0) for row in self.attacks]
        news = [LinearConstraint(row[words].astype(float), ub=row.sum() - 1.0) for row in self.found]
        low, high = search.include[words].astype(float), (~search.exclude)[words].astype(float)
        answer = milp(
            search.costs.units[words],
            integrality=np.ones(len(words)),
            bounds=Bounds(low, high),
            constraints=[*hits, *news],
        )
        if answer.status == 2:
            return None
        if answer.status != 0:
            raise RuntimeError(f"the hitting-set program ended with status {answer.status}: {answer.message}")
        held = np.zeros(len(search.problem.features), dtype=bool)
        held[words] = answer.x > 0.5
        return held

    def _outcome(self, held: Bools, proof: Proved) -> Outcome:
        """Proved to suffice; that nothing cheaper does is not claimed of each."""
        cost = self.search.costs.of(held)
        root = Node(self.search.include, self.search.exclude, 0)
        return Outcome(held, proof, self.search.costs.of(self.search.include), cost, root, None, {}, finished=False)


def _mask(positions: tuple[int, ...], length: int) -> Bools:
    mask = np.zeros(length, dtype=bool)
    mask[list(positions)] = True
    return mask


def _shares(question: Question, found: tuple[Explanation, ...]) -> tuple[Share, ...]:
    counts = [sum(word.position in one.positions for one in found) for word in question.text.words]
    total = max(len(found), 1)
    return tuple(Share(word, n, n / total) for word, n in zip(question.text.words, counts, strict=True))


def _necessary(question: Question, found: tuple[Explanation, ...], complete: bool) -> tuple[Word, ...]:
    """Words in every explanation: by counting when all are known, else those whose change alone flips the label."""
    words = question.text.words
    if complete:
        return tuple(word for word in words if found and all(word.position in one.positions for one in found))
    alone = np.eye(len(question.text), dtype=bool)[: len(words)]
    answers = BoundsOracle(question.problem).ask_cheaply(alone)
    forced = question.include[: len(words)] | [isinstance(answer, Refuted) for answer in answers]
    return tuple(word for word, yes in zip(words, forced, strict=True) if yes)

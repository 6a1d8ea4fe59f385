"""The paper's first algorithm: implicit hitting sets with sparse attacks (method "hs").

Every explanation hits every counterexample: it shares a word with the words it changes. So take
the cheapest set that hits all counterexamples known, ask whether it suffices, and if not, add a
new counterexample, made as sparse as attacks allow because small sets rule out most.

Method: implicit hitting sets (theory, section 7).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from suffice import work
from suffice.errors import MissingExtra
from suffice.model.network import Bools
from suffice.optimise.task import Best, Task
from suffice.optimise.word_tree import Outcome, treeless_outcome
from suffice.verify import tolerances
from suffice.verify.contract import Budget, Oracle, Proved, Refuted, Witness
from suffice.verify.exact import confirm
from suffice.verify.nets.attack import Attacker


def hitting_sets(task: Task, oracle: Oracle, sparse: bool = True) -> Outcome:
    """The cheapest explanation by implicit hitting sets; without sparse attacks as a baseline in
    the benchmarks.
    """
    search = _HittingSetSearch(task, oracle, sparse)
    try:
        return search.run()
    except KeyboardInterrupt:
        return search.outcome("interrupted")


class _HittingSetSearch:
    def __init__(self, task: Task, oracle: Oracle, sparse: bool) -> None:
        self.task = task
        self.oracle = oracle
        self.sparse = sparse
        self.attacker = Attacker.of(task.problem)
        self.rng = np.random.default_rng(task.seed)
        self.stats = {"queries": 0, "nodes": 0}
        self.best: Best = None
        self.lower = task.costs.of(task.include)

    def run(self) -> Outcome:
        """Sets that hit every counterexample, the cheapest first, until one of them is enough."""
        first = self._ask(self.task.everything)
        if isinstance(first, Refuted):
            return self.outcome(witness=first.witness, finished=True)
        if not isinstance(first, Proved):
            return self.outcome(first.reason)
        self.best = (self.task.everything, first)
        weights = {
            int(w): int(self.task.costs.units[w]) for w in np.flatnonzero(self.task.everything)
        }
        hitman = _hitman(weights)
        while not self.task.budget.exhausted:
            held = self.task.include.copy()
            held[hitman.get() or []] = True
            self.lower = self.task.costs.of(held)
            self.task.report(self.lower, self.best)
            answer = self._ask(held)
            if isinstance(answer, Proved):
                self.best = (held, answer)
                return self.outcome(finished=True)
            if not isinstance(answer, Refuted):
                return self.outcome(answer.reason)
            for words in self._learn(held, answer.witness):
                # words it has not met before get their weight here
                hitman.hit(words, weights=weights)
        return self.outcome("time is up")

    def _ask(self, held: Bools) -> Any:
        self.stats["queries"] += 1
        work.count("sets_asked")
        return self.oracle.ask((self.task.problem.features & ~held)[None], self.task.budget)[0]

    def _learn(self, held: Bools, witness: Witness) -> Iterable[list[int]]:
        """The words of the counterexample that an explanation may hold, after the sparse attack."""
        self.stats["nodes"] += 1
        work.count("search_nodes")
        witnesses = [witness]
        if self.sparse:
            witnesses.append(sparse_attack(self.attacker, witness, self.rng, self.task.budget))
        allowed = self.task.everything & ~self.task.include
        for found in witnesses:
            yield [int(i) for i in found.positions if allowed[i] and not held[i]]

    def outcome(
        self, reason: str = "", witness: Witness | None = None, finished: bool = False
    ) -> Outcome:
        return treeless_outcome(
            self.task, self.best, self.lower, self.stats, reason, witness, finished
        )


def sparse_attack(
    attacker: Attacker, witness: Witness, rng: np.random.Generator, budget: Budget | None = None
) -> Witness:
    """Lower the number of changed words as long as attacks on random smaller sets succeed, and time
    allows.
    """
    best = witness
    while len(best.positions) > 1 and not (budget is not None and budget.exhausted):
        size = len(best.positions) - 1
        trials = attacker.problem.settings.hitting_sets.sparse_trials
        free = np.zeros((trials, len(attacker.problem.features)), dtype=bool)
        push = attacker.word_effects.min(0)[list(best.positions)]
        for row in free:
            keys = rng.exponential(size=len(push)) / np.maximum(-push, tolerances.TIE)
            row[np.array(best.positions)[np.argsort(keys)[:size]]] = True
        attempt = attacker.attack(free, restarts=1, seed=int(rng.integers(2**31)))
        hits = np.flatnonzero(attempt.margin <= 0)
        found = [
            w for w in confirm(attacker.problem, attempt.point[hits], free[hits]) if w is not None
        ]
        if not found:
            return best
        best = min(found, key=lambda w: len(w.positions))
    return best


def _hitman(weights: dict[int, int]) -> Any:
    try:
        from pysat.examples.hitman import Hitman
    except ImportError as error:
        raise MissingExtra("hs", "python-sat") from error
    return Hitman(solver="g4", htype="sorted", weights=weights)

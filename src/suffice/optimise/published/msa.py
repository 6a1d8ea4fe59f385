"""The paper's second algorithm: the maximum universal subset, by branch and bound (method "msa").

A set of words is universal when freeing it keeps the label. The cheapest explanation is the
complement of the dearest universal set. Words are tried in order of falling cost; after each
choice, words that cannot be freed on top of it are dropped.

Method: minimum satisfying assignments (theory, section 7).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice import work
from suffice.model.network import Bools
from suffice.optimise.task import Best, Task
from suffice.optimise.word_tree import Outcome, treeless_outcome
from suffice.verify.contract import Oracle, Proved, Refuted, Unknown, Verdict, Witness


def maximum_universal_subset(task: Task, oracle: Oracle) -> Outcome:
    """The cheapest explanation as the complement of the maximum universal subset."""
    search = _UniversalSearch(task, oracle)
    try:
        return search.run()
    except (KeyboardInterrupt, _OutOfTime) as stop:
        return search.outcome(
            "interrupted" if isinstance(stop, KeyboardInterrupt) else "time is up"
        )


class _OutOfTime(Exception):
    """Raised inside the recursion when the budget is spent."""


class _UniversalSearch:
    def __init__(self, task: Task, oracle: Oracle) -> None:
        self.task = task
        self.oracle = oracle
        self.stats = {"queries": 0, "nodes": 0}
        self.answers: dict[bytes, Verdict] = {}
        self.best: Best = None
        self.doubt = ""

    def run(self) -> Outcome:
        """The dearest set of words that can all be free; the others are the explanation."""
        first = self._ask([self.task.exclude])[0]
        if isinstance(first, Refuted):
            return self.outcome(witness=first.witness, finished=True)
        if not isinstance(first, Proved):
            return self.outcome(first.reason)
        self._improve(self.task.exclude, first)
        words = np.flatnonzero(self.task.problem.features & ~self.task.include & ~self.task.exclude)
        order = words[np.argsort(-self.task.costs.units[words], kind="stable")]
        self._extend(
            self.task.exclude, self._still_free(self.task.exclude, [int(w) for w in order])
        )
        return self.outcome(self.doubt, finished=not self.doubt)

    def _extend(self, free: Bools, candidates: list[int]) -> None:
        """Look above `bounded` for a universal set worth more than the best one; stop when none can
        be left.
        """
        self.stats["nodes"] += 1
        work.count("search_nodes")
        while candidates and self.task.costs.of(free) + self._cost(candidates) > self._best_cost():
            word = candidates[0]
            candidates = candidates[1:]
            larger = free | (np.arange(len(free)) == word)
            answer = self._ask([larger])[0]
            if isinstance(answer, Proved):
                self._improve(larger, answer)
                self._extend(larger, self._still_free(larger, candidates))

    def _best_cost(self) -> int:
        """What the best universal set is worth."""
        assert self.best is not None
        return self.task.costs.of(self.task.problem.features) - self.task.costs.of(self.best[0])

    def _cost(self, words: Sequence[int]) -> int:
        return int(self.task.costs.units[list(words)].sum())

    def _still_free(self, free: Bools, candidates: list[int]) -> list[int]:
        """Only the candidates that can still be freed on top of the bounded words."""
        rows = [free | (np.arange(len(free)) == word) for word in candidates]
        answers = self._ask(rows) if rows else []
        return [
            word
            for word, answer in zip(candidates, answers, strict=True)
            if isinstance(answer, Proved)
        ]

    def _ask(self, free: Sequence[Bools]) -> list[Verdict]:
        fresh = [row for row in free if row.tobytes() not in self.answers]
        if fresh:
            if self.task.budget.exhausted:
                raise _OutOfTime
            self.stats["queries"] += len(fresh)
            work.count("sets_asked", len(fresh))
            for row, answer in zip(
                fresh, self.oracle.ask(np.stack(fresh), self.task.budget), strict=True
            ):
                self.answers[row.tobytes()] = answer
                if isinstance(answer, Unknown):
                    self.doubt = answer.reason
        return [self.answers[row.tobytes()] for row in free]

    def _improve(self, free: Bools, proof: Proved) -> None:
        held = self.task.problem.features & ~free
        if self.best is None or self.task.costs.of(held) < self.task.costs.of(self.best[0]):
            self.best = (held, proof)
            self.task.report(self.task.costs.of(self.task.include), self.best)

    def outcome(
        self, reason: str = "", witness: Witness | None = None, finished: bool = False
    ) -> Outcome:
        proved = finished and self.best is not None
        lower = self.task.upper(self.best) if proved else self.task.costs.of(self.task.include)
        return treeless_outcome(self.task, self.best, lower, self.stats, reason, witness, finished)

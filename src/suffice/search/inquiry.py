"""Inquiry: asks whether sets of words suffice, and keeps what the answers say and the cheapest set proved so far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.model.network import Bools
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Budget, Oracle, Proved, Refuted, Unknown, Verdict, Witness
from suffice.search.known import Known
from suffice.search.task import Best, Task

FIRST = 120, 10**8  # subproblems for a first complete look at a candidate, or more: so many multiplications
PROBE = 400, 5_000  # the most of them at the end, where they are large and where they are small
PROBE_WORK = 2 * 10**9  # multiplications that such a look may take, so that a hopeless one ends in a few seconds
MORE = 4  # times as many subproblems for each round of nodes


class Inquiry:
    """One line of questions about one task. `lowest` is what whoever asks knows that no explanation costs less than."""

    def __init__(self, task: Task, oracle: BoundsOracle, complete: Oracle | None = None) -> None:
        self.task, self.oracle = task, oracle
        self.complete: Oracle = complete or oracle
        self.known = Known(task.problem)
        self.stats = {"queries": 0, "complete": 0, "nodes": 0}
        self.upper = task.upper(None)
        self.best: Best = None
        self.lowest = task.costs.of(task.include)
        self.rather = task.rather
        self.rounds = 0  # of nodes so far
        self._doubted: dict[bytes, int] = {}  # candidates that a complete look left open, and its subproblems

    def ask(self, held: Bools, effort: int) -> list[Verdict]:
        """Do these sets (n, length) suffice? `effort` 0: cheap; else complete with so many subproblems each."""
        answers: list[Verdict | None] = [self.known.says(row) for row in held]
        fresh = [i for i, answer in enumerate(answers) if answer is None]
        if fresh:
            self.stats["queries"] += len(fresh)
            for i, answer in zip(fresh, self._ask_afresh(held[fresh], effort), strict=True):
                answers[i] = answer
                self.learn(held[i], answer)
        return [answer for answer in answers if answer is not None]

    def _ask_afresh(self, held: Bools, effort: int) -> Sequence[Verdict]:
        free = self.task.problem.features & ~held
        if not effort:
            return self.oracle.ask_cheaply(free, budget=self.task.budget)
        self.stats["complete"] += len(held)
        probing = effort < self.task.budget.subproblems
        return self.complete.ask(free, Budget(self.task.budget.left, effort, promising=probing))

    def ask_optimised(self, held: Bools) -> Sequence[Verdict]:
        """Attacks and bounds with optimised slopes; what they decide is kept."""
        fresh = [i for i, row in enumerate(held) if self.known.says(row) is None]
        self.stats["queries"] += len(fresh)
        free = self.task.problem.features & ~held[fresh]
        found = self.oracle.ask_cheaply(free, optimised=True, budget=self.task.budget)
        for i, answer in zip(fresh, found, strict=True):
            self.learn(held[i], answer)
        answers = [self.known.says(row) for row in held]
        return [Unknown("bounds do not decide it") if answer is None else answer for answer in answers]

    def look_at(self, held: Bools, as_it_is: bool = False) -> Verdict:
        """Ask about a likely explanation: cheaply, then with hard attacks, then completely up to a limit that grows.

        Before that, about an equally cheap one that one would rather have, unless it is wanted as it is.
        """
        answer = self.ask(held[None], 0)[0]
        if not isinstance(answer, Unknown) or self._doubted.get(held.tobytes(), 0) >= self.probe:
            return answer
        found = self._attacked_hard(self.task.problem.features & ~held)
        if found:
            return Refuted(found[0])
        preferred = None if as_it_is else self._preferred(held)
        answer = preferred or self.ask(held[None], self.probe)[0]
        if isinstance(answer, Unknown):
            self._doubted[held.tobytes()] = self.probe
        return answer

    def _preferred(self, held: Bools) -> Proved | None:
        """The proof of a set that one would rather have and that costs the same, where there is one."""
        better = held if self.rather is None else self.rather(held)
        if (better == held).all():
            return None
        answer = self.ask(better[None], self.probe)[0]
        if isinstance(answer, Unknown) and self.oracle.form.pooled is not None:
            self.rather = None  # two hard questions for one: words are exchanged in the end
        return answer if isinstance(answer, Proved) else None

    def _attacked_hard(self, free: Bools) -> list[Witness]:
        flips = self.oracle.flips(free, self.task.seed, self.task.budget)
        return self.known.add_points(flips, np.repeat(free[None], len(flips), axis=0))

    @property
    def probe(self) -> int:
        """How many subproblems a complete look at a candidate may take: more where they are small, fewer at first."""
        (least, most), work = PROBE, self.oracle.form.effort
        most = max(least, min(most, PROBE_WORK // work))
        first = max(FIRST[0], FIRST[1] // work)
        return int(min(most, first * MORE ** (self.rounds - 1)))

    # --- what the answers say ---

    def learn(self, held: Bools, answer: Verdict) -> None:
        """Keep what an answer says of other sets, and the set itself where it is the best so far."""
        if isinstance(answer, Refuted):
            self.known.add_attack(answer.witness)
        elif isinstance(answer, Proved):
            self.known.add_proof(held, answer)
            cost = self.task.costs.of(held)
            if cost < self.upper and self._fits(held):
                self.upper, self.best = cost, (held, answer)
                self.task.report(self.lowest, self.best)

    def _fits(self, held: Bools) -> bool:
        return not ((self.task.include & ~held) | (held & self.task.exclude)).any()

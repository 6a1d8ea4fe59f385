"""OracleCache: asks whether sets of words suffice; stores every answer and the cheapest proved set.

A question that monotonicity answers from the store is not asked again.

Method: memoised monotone oracle (theory, section 7).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice import work
from suffice.model.network import Bools
from suffice.optimise.monotone_store import MonotoneStore
from suffice.optimise.task import Best, Task
from suffice.verify.contract import Budget, Oracle, Proved, Refuted, Unknown, Verdict, Witness
from suffice.verify.nets.bounds_oracle import BoundsOracle


class OracleCache:
    """The oracle of one task with its store. `lower` is a lower bound on the cost of explanations,
    set by the search.
    """

    def __init__(self, task: Task, oracle: BoundsOracle, complete: Oracle | None = None) -> None:
        self.task = task
        self.oracle = oracle
        self.complete: Oracle = complete or oracle
        self.store = MonotoneStore(task.problem)
        self.stats = {"queries": 0, "complete": 0, "nodes": 0}
        self.upper = task.upper(None)
        self.best: Best = None
        self.lower = task.costs.of(task.include)
        self.prefer = task.prefer
        self.rounds = 0  # of nodes so far
        self._undecided: dict[
            bytes, int
        ] = {}  # candidates that a complete look left open, and its subproblems

    def ask(self, held: Bools, subproblems: int) -> list[Verdict]:
        """Do these sets (n, length) suffice? `effort` 0: cheap; else complete with so many
        subproblems each.
        """
        answers: list[Verdict | None] = [self.store.verdict_of(row) for row in held]
        fresh = [i for i, answer in enumerate(answers) if answer is None]
        if fresh:
            self._count_asked(len(fresh))
            for i, answer in zip(fresh, self._ask_afresh(held[fresh], subproblems), strict=True):
                answers[i] = answer
                self.record(held[i], answer)
        return [answer for answer in answers if answer is not None]

    def _count_asked(self, sets: int) -> None:
        self.stats["queries"] += sets
        work.count("sets_asked", sets)

    def _ask_afresh(self, held: Bools, subproblems: int) -> Sequence[Verdict]:
        free = self.task.problem.features & ~held
        if not subproblems:
            return self.oracle.ask_cheaply(free, budget=self.task.budget)
        self.stats["complete"] += len(held)
        probing = subproblems < self.task.budget.subproblems
        return self.complete.ask(
            free, Budget(self.task.budget.seconds_left, subproblems, give_up_early=probing)
        )

    def ask_optimised(self, held: Bools) -> Sequence[Verdict]:
        """Attacks and bounds with optimised slopes; what they decide is kept."""
        fresh = [i for i, row in enumerate(held) if self.store.verdict_of(row) is None]
        self._count_asked(len(fresh))
        free = self.task.problem.features & ~held[fresh]
        found = self.oracle.ask_cheaply(free, optimised=True, budget=self.task.budget)
        for i, answer in zip(fresh, found, strict=True):
            self.record(held[i], answer)
        answers = [self.store.verdict_of(row) for row in held]
        return [
            Unknown("bounds do not decide it") if answer is None else answer for answer in answers
        ]

    def probe(self, held: Bools, as_it_is: bool = False) -> Verdict:
        """Ask about a likely explanation: cheaply, then by hard attacks, then completely up to a
        limit that grows.

        Unless `as_it_is`, an equally cheap preferred set is asked about before the complete
        question.
        """
        answer = self.ask(held[None], 0)[0]
        if (
            not isinstance(answer, Unknown)
            or self._undecided.get(held.tobytes(), 0) >= self.probe_limit
        ):
            return answer
        found = self._hard_attacks(self.task.problem.features & ~held)
        if found:
            return Refuted(found[0])
        preferred = None if as_it_is else self._preferred(held)
        answer = preferred or self.ask(held[None], self.probe_limit)[0]
        if isinstance(answer, Unknown):
            self._undecided[held.tobytes()] = self.probe_limit
        return answer

    def _preferred(self, held: Bools) -> Proved | None:
        """The proof of a set that one would rather have and that costs the same, where there is
        one.
        """
        better = held if self.prefer is None else self.prefer(held)
        if (better == held).all():
            return None
        answer = self.ask(better[None], self.probe_limit)[0]
        if isinstance(answer, Unknown) and self.oracle.prepared.pooled is not None:
            self.prefer = None  # two hard questions for one: words are exchanged in the end
        return answer if isinstance(answer, Proved) else None

    def _hard_attacks(self, free: Bools) -> list[Witness]:
        flips = self.oracle.flips(free, self.task.seed, self.task.budget)
        return self.store.add_points(flips, np.repeat(free[None], len(flips), axis=0))

    @property
    def probe_limit(self) -> int:
        """How many subproblems a complete look at a candidate may take: more where they are small,
        fewer at first.
        """
        settings = self.task.settings.word_tree
        work = self.oracle.prepared.subproblem_work
        first, least, most = settings.probe_subproblems
        most = max(least, min(most, settings.probe_work // work))
        first = max(first, settings.large_subproblem // work)
        return int(min(most, first * settings.probe_growth ** (self.rounds - 1)))

    # --- what the answers say ---

    def record(self, held: Bools, answer: Verdict) -> None:
        """Keep what an answer says of other sets, and the set itself where it is the
        best so far.
        """
        if isinstance(answer, Refuted):
            self.store.add_attack(answer.witness)
        elif isinstance(answer, Proved):
            self.store.add_proof(held, answer)
            cost = self.task.costs.of(held)
            if cost < self.upper and self._fits(held):
                self.upper = cost
                self.best = (held, answer)
                self.task.report(self.lower, self.best)

    def _fits(self, held: Bools) -> bool:
        return not ((self.task.include & ~held) | (held & self.task.exclude)).any()

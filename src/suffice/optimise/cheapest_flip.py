"""The cheapest set of words whose change flips the label: found by attacks, proved by bounds.

Attacks give a flip; the bounds that prove explanations then prove that no words of a lower total
cost flip the label, with the budget for changed words spent inside the propagation
(`input_sets.WithinBudget`), or find a cheaper flip.

Method: knapsack over words that leave the text (theory, section 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from suffice import work
from suffice.optimise.cost import Costs
from suffice.optimise.published.hs import sparse_attack
from suffice.optimise.task import Progress
from suffice.verify.contract import (
    Budget,
    OneHotCoordinates,
    OutOfTime,
    Problem,
    Proved,
    Refuted,
    Unknown,
    Verdict,
    Witness,
)
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.nets.presolve.one_hot import postsolve_witness

FlipStatus: TypeAlias = Literal["optimal", "found", "none", "unknown"]


@dataclass(frozen=True, eq=False)
class CheapestFlip:
    """The cheapest flip found, and the cost below which none exists (in units)."""

    status: FlipStatus
    witness: Witness | None
    lower: int
    stats: dict[str, Any]
    # that nothing cheaper than `lower` flips the label: one tree per rival aimed at
    proof: Proved | None = None
    lines: tuple[dict[str, Any], ...] = ()  # the same of a black box, as lines of a certificate
    reason: str = ""  # why it is open whether there is a flip, or a cheaper one

    def __post_init__(self) -> None:
        if self.status in ("unknown", "found") and not self.reason:
            raise ValueError("A search for a flip ends without an answer for a reason: say which.")


def cheapest_flip(
    problem: Problem,
    costs: Costs,
    oracle: BoundsOracle,
    budget: Budget,
    seed: int = 0,
    on_progress: Progress | None = None,
    rivals: Sequence[int] | None = None,
) -> CheapestFlip:
    """Lower the cost of the best flip until a proof says that nothing cheaper flips the label.

    `rivals` are the classes to flip to (indices of labels); all others when None.
    """
    rival_indices = [
        problem.rivals.index(j) for j in (problem.rivals if rivals is None else rivals)
    ]
    search = _FlipSearch(problem, costs, oracle, budget, rival_indices, on_progress)
    try:
        return search.run(seed)
    except KeyboardInterrupt:
        return search.unfinished("interrupted")
    except OutOfTime:
        return search.unfinished("time is up")


class _FlipSearch:
    def __init__(
        self,
        problem: Problem,
        costs: Costs,
        oracle: BoundsOracle,
        budget: Budget,
        rival_indices: list[int],
        on_progress: Progress | None,
    ) -> None:
        self.problem = problem
        self.costs = costs
        self.oracle = oracle
        self.budget = budget
        self.rival_indices = rival_indices
        self.on_progress = on_progress
        self.best: Witness | None = None
        self.proof: Proved | None = None
        self.upper = costs.of(problem.features) + 1
        self.lower = 0
        self.stats = {"queries": 0}

    def run(self, seed: int) -> CheapestFlip:
        """Ask whether any change cheaper than the best one known flips the label, until
        none does.
        """
        self._attack_first(seed)
        while self.upper > 0 and not self.budget.exhausted:
            answer = self._ask(self.upper - 1)
            match answer:
                case Refuted(witness=witness):
                    if not self._improve(witness):
                        return self.unfinished("a flip is no cheaper than it was to be")
                case Proved():
                    self.lower = self.upper
                    self.proof = answer
                    return self.flip("optimal" if self.best else "none")
                case Unknown(reason=reason):
                    return self.unfinished("time is up" if self.budget.exhausted else reason)
        if self.upper == 0:
            return self.flip("optimal")  # the text itself is tied: nothing has to change
        return self.unfinished("time is up")

    def _attack_first(self, seed: int) -> None:
        """A flip by attacks alone, made sparse: where the proof starts from."""
        answer = self.oracle.ask_cheaply(self.problem.features[None], budget=self.budget)[0]
        if isinstance(answer, Refuted) and self._fits(answer.witness):
            rng = np.random.default_rng(seed)
            sparse = sparse_attack(self.oracle.attacker, answer.witness, rng, self.budget)
            self._improve(sparse if self._fits(sparse) else answer.witness)

    def _fits(self, witness: Witness) -> bool:
        return self.problem.rivals.index(witness.rival) in self.rival_indices

    def _ask(self, limit: int) -> Verdict:
        self.stats["queries"] += 1
        work.count("sets_asked")
        left = Budget(self.budget.seconds_left, self.budget.subproblems)
        return self.oracle.ask_flips(self.costs.units, limit, self.rival_indices, left)

    def _improve(self, witness: Witness) -> bool:
        """Keep a flip that is cheaper than the best one; False, and nothing changes, if
        it is not.
        """
        mask = np.zeros(len(self.costs.units), dtype=bool)
        mask[list(witness.positions)] = True
        if self.costs.of(mask) >= self.upper:
            return False
        self.best, self.upper = witness, self.costs.of(mask)
        if self.on_progress is not None:
            self.on_progress(self.lower, self.upper, self.budget.elapsed, mask)
        return True

    def unfinished(self, reason: str) -> CheapestFlip:
        """What is known where it stays open whether the best flip is the cheapest, or whether there
        is one.
        """
        return self.flip("found" if self.best else "unknown", reason)

    def flip(self, status: FlipStatus, reason: str = "") -> CheapestFlip:
        return CheapestFlip(status, self.best, self.lower, self.stats, self.proof, reason=reason)


def postsolve_flip(source: OneHotCoordinates, found: CheapestFlip) -> CheapestFlip:
    """What was found of a problem in coordinates, about the problem that it stands for."""
    return (
        found
        if found.witness is None
        else replace(found, witness=postsolve_witness(source, found.witness))
    )

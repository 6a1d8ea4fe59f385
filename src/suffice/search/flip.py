"""Contrast: the cheapest set of words whose change flips the label.

Attacks give a flip; the same bounds that prove explanations then prove that no words of a lower total cost can do
it, with the budget for changed words spent inside the propagation (inputs.Freed), or find a cheaper flip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from suffice.prove.branch import decide_flips
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Budget, Problem, Proved, Refuted, Unknown, Verdict, Witness
from suffice.search.cost import Costs
from suffice.search.hitting import sparse_attack
from suffice.search.task import Progress

FlipStatus: TypeAlias = Literal["optimal", "found", "none", "unknown"]


@dataclass(frozen=True, eq=False)
class Flip:
    """The cheapest flip found, and the cost below which none exists (in units)."""

    status: FlipStatus
    witness: Witness | None
    lower: int
    stats: dict[str, Any]


def cheapest_flip(
    problem: Problem,
    costs: Costs,
    oracle: BoundsOracle,
    budget: Budget,
    seed: int = 0,
    on_progress: Progress | None = None,
    rivals: Sequence[int] | None = None,
) -> Flip:
    """Lower the cost of the best flip until a proof says that nothing cheaper flips the label.

    `rivals` are the classes to flip to (indices of labels); all others when None.
    """
    aims = [problem.rivals.index(j) for j in (problem.rivals if rivals is None else rivals)]
    hunt = _Hunt(problem, costs, oracle, budget, aims, on_progress)
    try:
        return hunt.run(seed)
    except KeyboardInterrupt:
        return hunt.flip("found" if hunt.best else "unknown")


class _Hunt:
    def __init__(
        self,
        problem: Problem,
        costs: Costs,
        oracle: BoundsOracle,
        budget: Budget,
        aims: list[int],
        on_progress: Progress | None,
    ) -> None:
        self.problem, self.costs, self.oracle, self.budget = problem, costs, oracle, budget
        self.aims, self.on_progress = aims, on_progress
        self.best: Witness | None = None
        self.upper = costs.of(problem.features) + 1
        self.lower = 0
        self.stats = {"queries": 0}

    def run(self, seed: int) -> Flip:
        self._first(seed)
        while not self.budget.spent:
            answer = self._ask(self.upper - 1)
            match answer:
                case Refuted(witness=witness):
                    self._improve(witness)
                case Proved():
                    self.lower = self.upper
                    return self.flip("optimal" if self.best else "none")
                case Unknown():
                    break
        return self.flip("found" if self.best else "unknown")

    def _first(self, seed: int) -> None:
        """A flip by attacks alone, made sparse: where the proof starts from."""
        answer = self.oracle.ask_cheaply(self.problem.features[None])[0]
        if isinstance(answer, Refuted) and self._fits(answer.witness):
            sparse = sparse_attack(self.oracle.attacker, answer.witness, np.random.default_rng(seed))
            self._improve(sparse if self._fits(sparse) else answer.witness)

    def _fits(self, witness: Witness) -> bool:
        return self.problem.rivals.index(witness.rival) in self.aims

    def _ask(self, limit: int) -> Verdict:
        self.stats["queries"] += 1
        left = Budget(self.budget.left, self.budget.subproblems)
        return decide_flips(self.oracle.form, self.problem.features, self.costs.units, limit, self.aims, left)

    def _improve(self, witness: Witness) -> None:
        self.best = witness
        mask = np.zeros(len(self.costs.units), dtype=bool)
        mask[list(witness.positions)] = True
        self.upper = self.costs.of(mask)
        if self.on_progress is not None:
            self.on_progress(self.lower, self.upper, self.budget.elapsed, mask)

    def flip(self, status: FlipStatus) -> Flip:
        return Flip(status, self.best, self.lower, self.stats)

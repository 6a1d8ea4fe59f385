"""Task: what every method that searches an explanation is given, so that they can be exchanged.

Method: optimal robust explanations (theory, section 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from suffice.model.network import Bools
from suffice.optimise.cost import Costs
from suffice.settings import Settings
from suffice.verify.contract import Budget, Problem, Proved

Progress: TypeAlias = Callable[[int, int, float, Bools], None]
Best: TypeAlias = tuple[Bools, Proved] | None


@dataclass(frozen=True, eq=False)
class Task:
    """A problem, the costs of its words, the words that must and must not be held, and how much may
    be spent.
    """

    problem: Problem
    costs: Costs
    include: Bools
    exclude: Bools
    budget: Budget
    seed: int = 0
    on_progress: Progress | None = None
    # an equally cheap set that one would rather have, if it does too
    prefer: Callable[[Bools], Bools] | None = None

    @property
    def settings(self) -> Settings:
        return self.problem.settings

    @property
    def everything(self) -> Bools:
        """All that may be held."""
        return self.problem.features & ~self.exclude

    def upper(self, best: Best) -> int:
        """The cost of the best explanation, or more than anything costs when there is none."""
        return self.costs.of(self.problem.features) + 1 if best is None else self.costs.of(best[0])

    def report(self, lower: int, best: Best) -> None:
        """Tell whoever listens how far the bounds have closed."""
        if self.on_progress is not None and best is not None:
            upper = self.upper(best)
            self.on_progress(min(lower, upper), upper, self.budget.elapsed, best[0])

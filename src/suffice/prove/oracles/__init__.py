"""The ways to answer "do the fixed words suffice?", by name: our bounds, HiGHS and Marabou."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from suffice.errors import InputError
from suffice.model.network import Bools
from suffice.prove.choices import by_choice, told_verdict
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Budget, Oracle, Problem, Source, Verdict


@dataclass(frozen=True, eq=False)
class ByChoice:
    """Our bounds in coordinates of choices; what they find is told of the original problem."""

    name = "bounds"
    source: Source
    within: BoundsOracle

    def ask(self, free: Bools, budget: Budget) -> list[Verdict]:
        return [told_verdict(self.source, answer) for answer in self.within.ask(free, budget)]


def quickest(problem: Problem) -> Oracle:
    """Our bounds, in whichever coordinates they are quickest."""
    smaller = by_choice(problem)
    found = BoundsOracle(smaller)
    return found if smaller.source is None else ByChoice(smaller.source, found)


def _lazy_milp(problem: Problem) -> Oracle:
    from suffice.prove.oracles.milp import MilpOracle

    return MilpOracle(problem)


def _lazy_marabou(problem: Problem) -> Oracle:
    from suffice.prove.oracles.marabou import MarabouOracle

    return MarabouOracle(problem)


ORACLES: Mapping[str, Callable[[Problem], Oracle]] = {
    "bounds": quickest,
    "milp": _lazy_milp,
    "marabou": _lazy_marabou,
}


def make_oracle(name: str, problem: Problem) -> Oracle:
    if not isinstance(name, str) or name not in ORACLES:
        raise InputError(f"There is no oracle {name!r}: choose {', '.join(ORACLES)}.")
    return ORACLES[name](problem)

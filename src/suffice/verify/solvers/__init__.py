"""Oracles by name: our bounds, HiGHS and Marabou, each an answer to "do these words suffice?".

Method: a complete verifier with certificates, and two solvers as second opinions (theory, section
5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from suffice.errors import InputError
from suffice.model.network import Bools
from suffice.verify.contract import Budget, OneHotCoordinates, Oracle, Problem, Verdict
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.nets.presolve.one_hot import postsolve_verdict, reduced_to_one_hot


@dataclass(frozen=True, eq=False)
class OneHotOracle:
    """Our bounds in one-hot coordinates, with postsolve of what they find."""

    name = "bounds"
    one_hot: OneHotCoordinates
    oracle: BoundsOracle

    def ask(self, free: Bools, budget: Budget) -> list[Verdict]:
        return [postsolve_verdict(self.one_hot, answer) for answer in self.oracle.ask(free, budget)]


def bounds_oracle_for(problem: Problem) -> Oracle:
    """Our bounds, in one-hot coordinates where these are quicker."""
    smaller = reduced_to_one_hot(problem)
    found = BoundsOracle(smaller)
    return found if smaller.one_hot is None else OneHotOracle(smaller.one_hot, found)


def _lazy_milp(problem: Problem) -> Oracle:
    from suffice.verify.solvers.milp import MilpOracle

    return MilpOracle(problem)


def _lazy_marabou(problem: Problem) -> Oracle:
    from suffice.verify.solvers.marabou import MarabouOracle

    return MarabouOracle(problem)


ORACLES: Mapping[str, Callable[[Problem], Oracle]] = {
    "bounds": bounds_oracle_for,
    "milp": _lazy_milp,
    "marabou": _lazy_marabou,
}


def make_oracle(name: str, problem: Problem) -> Oracle:
    if not isinstance(name, str) or name not in ORACLES:
        raise InputError(f"There is no oracle {name!r}: choose {', '.join(ORACLES)}.")
    return ORACLES[name](problem)

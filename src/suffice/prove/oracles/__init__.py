"""The ways to answer "do the fixed words suffice?", by name: our bounds, HiGHS and Marabou."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from suffice.errors import InputError
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Oracle, Problem


def _lazy_milp(problem: Problem) -> Oracle:
    from suffice.prove.oracles.milp import MilpOracle

    return MilpOracle(problem)


def _lazy_marabou(problem: Problem) -> Oracle:
    from suffice.prove.oracles.marabou import MarabouOracle

    return MarabouOracle(problem)


ORACLES: Mapping[str, Callable[[Problem], Oracle]] = {
    "bounds": BoundsOracle,
    "milp": _lazy_milp,
    "marabou": _lazy_marabou,
}


def make_oracle(name: str, problem: Problem) -> Oracle:
    if name not in ORACLES:
        raise InputError(f"There is no oracle {name!r}: choose {', '.join(ORACLES)}.")
    return ORACLES[name](problem)

"""The MILP oracle: agrees with brute force, and whatever HiGHS does wrong is Unknown."""

from __future__ import annotations

import os
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cases import NETWORKS, PERTURBATIONS, Case, complaint, flip_among, make_case, samples

from suffice.model.network import Network
from suffice.verify.contract import Budget, Proved, Refuted, Unknown, Verdict
from suffice.verify.solvers import milp
from suffice.verify.solvers.milp import MilpOracle


def ask(case: Case, seconds: float = 60.0) -> list[Verdict]:
    return MilpOracle(case.problem).ask(case.free, Budget(seconds))


def wrong(case: Case, verdicts: list[Verdict]) -> list[str]:
    rng = np.random.default_rng(0)
    known = [
        flip_among(case.problem, samples(case.problem.region, free, rng)) for free in case.free
    ]
    judged = map(complaint, [case] * len(known), case.free, verdicts, known)
    return [reason for reason in judged if reason]


@pytest.mark.parametrize("perturbation", PERTURBATIONS)
@pytest.mark.parametrize("network", NETWORKS)
def test_answers_do_not_contradict_brute_force(network: str, perturbation: str) -> None:
    case = make_case(network, perturbation, seed=3, questions=2)
    verdicts = ask(case)
    assert not wrong(case, verdicts)
    assert {verdict.by for verdict in verdicts} == {"milp"}


def scaled(case: Case, place: int, power: int) -> Case:
    steps = list(case.problem.network.steps)
    weight, bias = (np.ldexp(part, power) for part in (steps[place].dense(), steps[place].bias))
    steps[place] = replace(steps[place], weight=weight, bias=bias)
    return replace(case, problem=replace(case.problem, network=Network(tuple(steps))))


@pytest.mark.parametrize("power", [-100, 60])
@pytest.mark.parametrize("place", [0, -1])
def test_weights_of_any_size_mislead_nobody(place: int, power: int) -> None:
    """HiGHS calls 1e20 infinite and works to fixed tolerances: beside 2^60 it called programs
    infeasible.
    """
    for seed in range(6):
        case = scaled(make_case("dense-1", "boxes", seed, questions=2), place, power)
        assert not wrong(case, ask(case))


def test_two_norm_balls_are_not_its_business() -> None:
    case = make_case("dense-1", "ball-2", seed=0)
    assert all(isinstance(verdict, Unknown) for verdict in ask(case))


def test_a_text_with_nothing_free_is_decided_exactly() -> None:
    case = make_case("dense-1", "boxes", seed=0)
    verdict = MilpOracle(case.problem).ask(np.zeros_like(case.free[:1]), Budget())[0]
    assert isinstance(verdict, Proved) == bool(
        (case.problem.margins(case.problem.center[None]) > 0).all()
    )


def test_no_time_is_unknown() -> None:
    case = make_case("dense-1", "boxes", seed=0)
    assert all(
        isinstance(v, Unknown)
        for free, v in zip(case.free, ask(case, 0.0), strict=True)
        if free.any()
    )


@pytest.mark.parametrize("status", [1, 3, 4, None, 99])
def test_an_odd_status_is_unknown(status: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = SimpleNamespace(status=status, message="odd", x=None)
    monkeypatch.setattr(milp, "milp", lambda *args, **kwargs: odd)
    assert all(isinstance(v, Unknown) for v in ask(make_case("dense-1", "boxes", seed=0)))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300, 0.0])
def test_a_point_that_does_not_flip_the_label_is_unknown(
    value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pretend(objective: Any, **_: Any) -> Any:
        return SimpleNamespace(status=0, message="fine", x=np.full(len(objective), value))

    monkeypatch.setattr(milp, "milp", pretend)
    case = make_case("dense-1", "ball-inf", seed=1)
    verdicts = ask(case)
    assert not any(
        isinstance(v, Proved) for free, v in zip(case.free, verdicts, strict=True) if free.any()
    )
    assert not wrong(case, verdicts)


def test_an_exception_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: Any, **__: Any) -> Any:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(milp, "milp", explode)
    verdict = ask(make_case("dense-1", "boxes", seed=0))[0]
    assert isinstance(verdict, Unknown)
    assert "out of memory" in verdict.reason


def test_a_rival_in_doubt_does_not_become_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown counts as false, so `doubt or Proved()` would turn it into a proof."""
    monkeypatch.setattr(MilpOracle, "_against", lambda *_: Unknown("odd", "milp"))
    assert all(isinstance(v, Unknown | Refuted) for v in ask(make_case("dense-1", "boxes", seed=0)))


def test_the_standard_output_stays_clean(capfd: pytest.CaptureFixture[str]) -> None:
    with milp.silenced():
        os.write(1, b"HighsMipSolverData::transformNewIntegerFeasibleSolution")
    print("ours")
    assert capfd.readouterr().out == "ours\n"

"""The Marabou oracle: agrees with ours where it can, and whatever goes wrong in its process is
Unknown.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from cases import NETWORKS, Case, complaint, flip_among, make_case, samples

from suffice.errors import MissingExtra
from suffice.verify.contract import Budget, Proved, Refuted, Unknown, Verdict
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.solvers import marabou
from suffice.verify.solvers.marabou import MarabouOracle

needs_marabou = pytest.mark.skipif(
    importlib.util.find_spec("maraboupy") is None, reason="needs maraboupy"
)


def ask(case: Case, seconds: float = 60.0) -> list[Verdict]:
    return MarabouOracle(case.problem).ask(case.free, Budget(seconds))


@needs_marabou
@pytest.mark.parametrize("perturbation", ["boxes", "knn-hull", "ball-1"])
@pytest.mark.parametrize("network", NETWORKS)
def test_answers_do_not_contradict_ours(network: str, perturbation: str) -> None:
    case = make_case(network, perturbation, seed=5, questions=2)
    ours = BoundsOracle(case.problem).ask(case.free, Budget())
    rng = np.random.default_rng(0)
    for free, verdict, own in zip(case.free, ask(case, 5.0), ours, strict=True):
        known = flip_among(case.problem, samples(case.problem.region, free, rng))
        assert complaint(case, free, verdict, known) is None
        assert {type(verdict), type(own)} != {Proved, Refuted}
        assert verdict.by == "marabou"


@needs_marabou
@pytest.mark.parametrize("perturbation", ["word-swap", "deletion", "ball-2"])
def test_what_it_cannot_encode_is_unknown(perturbation: str) -> None:
    verdict = ask(make_case("dense-1", perturbation, seed=0))[0]
    assert isinstance(verdict, Unknown)
    assert "not given to Marabou" in verdict.reason


@needs_marabou
def test_no_time_is_unknown() -> None:
    case = make_case("dense-2", "boxes", seed=0)
    assert isinstance(ask(case, 0.0)[0], Unknown)


@needs_marabou
def test_a_crash_is_unknown_and_the_next_question_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = make_case("dense-2", "boxes", seed=0, questions=1)
    oracle = MarabouOracle(case.problem)
    say = marabou._Worker._send

    def kill_first(worker: Any, message: object) -> None:
        if isinstance(message, dict):
            monkeypatch.undo()
            worker.process.kill()
            worker.process.wait()
        say(worker, message)

    monkeypatch.setattr(marabou._Worker, "_send", kill_first)
    assert isinstance(oracle.ask(case.free, Budget())[0], Unknown)
    assert not isinstance(oracle.ask(case.free, Budget())[0], Unknown)


@needs_marabou
@pytest.mark.parametrize("status", ["TIMEOUT", "ERROR", "UNKNOWN", "QUIT_REQUESTED", "", "sat"])
def test_an_odd_answer_is_unknown(status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """ "sat" comes here with a point that keeps the label: the text itself."""
    case = make_case("dense-1", "boxes", seed=2, questions=1)
    assert (case.problem.margins(case.problem.center[None]) > 0).all()
    columns = int(case.free[0].sum()) * case.problem.center.shape[1]
    monkeypatch.setattr(
        MarabouOracle, "_solve", lambda *_: {"status": status, "values": [0.0] * columns}
    )
    assert isinstance(ask(case)[0], Unknown)


def test_without_maraboupy_the_message_is_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"extra 'marabou'"):
        MarabouOracle(make_case("dense-1", "boxes", seed=0).problem)

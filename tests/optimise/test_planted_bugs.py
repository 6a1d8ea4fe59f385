"""A few questions of the fuzzer in every run of the tests: it works, and it finds what is wrong
with the prover.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import fuzz
import numpy as np
import pytest
from fuzzing import common

import suffice as sf
from suffice.optimise import certificate_lines
from suffice.verify.nets import bounds_oracle


# tests/prove has those
@pytest.mark.parametrize("kind", [name for name in fuzz.KINDS if name != "pipelines"])
def test_a_few_random_questions_of_every_kind_are_answered_truly(kind):
    counts: Counter[str] = Counter()
    seeds = {"subsets": 2, "verbs": 16, "vectors": 2, "maxima": 2}.get(kind, 6)
    assert [said for seed in range(seeds) for said in fuzz.KINDS[kind](seed, counts)] == []
    assert counts["cases"] > 30


# --- bugs ---


def wrong(kind: str, seeds: int = 12) -> str | None:
    """The first thing that is found wrong."""
    return next((said for seed in range(seeds) for said in fuzz.KINDS[kind](seed, Counter())), None)


def without_last_rival(self: Any) -> tuple[int, ...]:
    return tuple(j for j in range(self.network.outputs) if j != self.label)[:1]


def leaves_that_are_believed(real: Callable[..., Any]) -> Callable[..., Any]:
    def found(*given: Any) -> Any:
        answer = real(*given)
        return replace(answer, bound=np.abs(answer.bound) + 1)

    return found


def dearer_flips(real: Callable[..., Any]) -> Callable[..., Any]:
    def claim(witness: Any, costs: Any, lower: int, towards: Any) -> Any:
        return real(witness, costs, lower + 1, towards)

    return claim


def points_that_are_believed(
    self: Any, answers: Any, free: Any, index: Any, wide: Any, found: Any, items: Any
) -> None:
    """Points where bounds are attained count as flips without being run."""
    points = wide.minimiser(found.input_coefficients)[items][:: max(1, len(self.problem.rivals))]
    for i, point in zip(index, points, strict=True):
        where = tuple(np.flatnonzero((point != self.problem.center).any(-1)).tolist())
        answers[i] = sf.Refuted(sf.Witness(point, where, self.problem.rivals[0], -1.0))


def dearer_answers(real: Callable[..., Any]) -> Callable[..., Any]:
    def explain(*given: Any, **named: Any) -> Any:
        found = real(*given, **named)
        return replace(found, cost=found.cost + 1)

    return explain


def limited_by_one_less(sets_of_free: Callable[..., Any]) -> Callable[..., Any]:
    def made(form: Any, free: Any) -> Any:
        problem = form.problem
        if problem.at_most is None or problem.at_most < 2:
            return sets_of_free(form, free)
        return sets_of_free(
            replace(form, problem=replace(problem, at_most=problem.at_most - 1)), free
        )

    return made


BUGS: dict[str, tuple[str, Any, str, Any]] = {
    "every bound is above zero": (
        "subsets",
        bounds_oracle,
        "backward_bound",
        leaves_that_are_believed(bounds_oracle.backward_bound),
    ),
    "one rival is enough": (
        "subsets",
        bounds_oracle.Problem,
        "rivals",
        property(without_last_rival),
    ),
    "a flip that was not run": (
        "subsets",
        bounds_oracle.BoundsOracle,
        "_try_minimisers",
        points_that_are_believed,
    ),
    "one word fewer may change": (
        "subsets",
        bounds_oracle,
        "input_sets_of",
        limited_by_one_less(bounds_oracle.input_sets_of),
    ),
    "a flip's bound is too high": (
        "verbs",
        certificate_lines,
        "flip_claim",
        dearer_flips(certificate_lines.flip_claim),
    ),
    "a cost is too high": ("verbs", sf, "explain", dearer_answers(sf.explain)),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_prover_is_found_at_once(bug, monkeypatch):
    kind, *part = BUGS[bug]
    monkeypatch.setattr(*part)
    assert wrong(kind) is not None


def test_a_checker_that_believes_everything_is_found(monkeypatch):
    monkeypatch.setattr(common, "accepts", lambda *_: True)
    assert "the exact one False" in (wrong("verbs") or "")
    monkeypatch.setattr(common, "accepts_exactly", lambda *_: True)
    assert "altered" in (wrong("verbs") or "")


def test_a_run_goes_on_where_it_stopped_and_keeps_what_it_found(tmp_path, monkeypatch):
    seen: list[int] = []

    def kind(seed: int, counts: Counter[str]) -> list[str]:
        seen.append(seed)
        counts["cases"] += 1
        return ["odd"] if seed == 2 else []

    monkeypatch.setattr(fuzz, "KINDS", dict.fromkeys(fuzz.KINDS, kind))
    ticks = iter(range(1000))
    monkeypatch.setattr(fuzz.time, "monotonic", lambda: next(ticks))
    state = tmp_path / "state.json"
    assert [fuzz.run(5, state), fuzz.run(3, state)] == [1, 0]
    assert seen == list(range(len(seen)))
    assert json.loads(state.read_text())["wrong"] == ["seed 2, subsets: odd"]

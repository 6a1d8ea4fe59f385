"""Slow-downs that are planted: each changes no answer that is proved, but the work that it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from suffice.verbs import engines
from suffice.verify.nets import attack
from suffice.verify.nets.branch import evaluate, unit_branching
from suffice.verify.nets.crown import refine_intermediate

Plant = Callable[[pytest.MonkeyPatch], None]


def rewritten(module: ModuleType, function: str, old: str, new: str) -> Plant:
    """A function of a module with something else in the place of a number in its source."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        source = inspect.getsource(getattr(module, function))
        assert source.count(old) == 1, f"{function} has no {old!r} any more: plant it elsewhere"
        made: dict[str, Any] = {}
        exec(compile(source.replace(old, new), module.__file__ or "", "exec"), vars(module), made)
        patch.setattr(module, function, made[function])

    return plant


def no_attacks(patch: pytest.MonkeyPatch) -> None:
    """Attacks stay at the text itself."""

    def stay(self: Any, free: Any, *more: Any, **given: Any) -> attack.AttackResult:
        points = np.repeat(self.problem.center[None], len(free), axis=0)
        return attack.AttackResult(np.full(len(free), np.inf), points)

    patch.setattr(attack.Attacker, "attack", stay)


def no_descent(patch: pytest.MonkeyPatch) -> None:
    """Attacks end where they start."""

    def stay(problem: Any, free: Any, start: Any, rivals: Any, *more: Any, **given: Any) -> Any:
        return attack.AttackResult(attack.margins(problem, start, rivals), start)

    patch.setattr(attack, "vertex_descent", stay)


def no_bounds_of_parents(patch: pytest.MonkeyPatch) -> None:
    """A step whose bounds a split leaves as they are is bounded again."""
    patch.setattr(unit_branching, "shared_step_bounds", lambda *_: None)


def no_known_oracle(patch: pytest.MonkeyPatch) -> None:
    """What the bounds of a problem have learnt is forgotten from one search to the next."""
    patch.setattr(engines, "oracle_for", engines.oracle_for.__wrapped__)


def no_ascent(patch: pytest.MonkeyPatch) -> None:
    """Slopes and multipliers stay as they are at first."""

    def stay(prepared: Any, batch: Any, dual: Any, backward: Any, *more: Any, **given: Any) -> Any:
        return backward, dual

    for module in (unit_branching, refine_intermediate):
        patch.setattr(module, "dual_ascent", stay)


SLOWDOWNS: dict[str, Plant] = {
    "gap weight 0": rewritten(evaluate, "_split_scores", "9 * gaps", "0 * gaps"),
    "gap added 0": rewritten(evaluate, "_split_scores", "0.1 * gaps", "0 * gaps"),
    "no attacks": no_attacks,
    "no descent": no_descent,
    "no bounds of parents": no_bounds_of_parents,
    "no known oracle": no_known_oracle,
    "no ascent": no_ascent,
}

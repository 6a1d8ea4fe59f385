"""Slow-downs that are planted: none changes what is true, each makes some questions take more work.

Where a mechanism has settings, they switch it off; else a function of it is replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from suffice.settings import DEFAULT, Settings
from suffice.verbs.question import Question
from suffice.verify.nets import attack
from suffice.verify.nets.branch import unit_branching

Plant = Callable[[pytest.MonkeyPatch], None]


def with_settings(settings: Settings) -> Plant:
    """Other settings, for every question."""
    made = Question.__init__

    def make(self: Question, *more: Any, **given: Any) -> None:
        made(self, *more, **{**given, "settings": settings})

    return lambda patch: patch.setattr(Question, "__init__", make)


def no_attacks(patch: pytest.MonkeyPatch) -> None:
    """Attacks stay at the text itself."""

    def stay(problem: Any, free: Any, *more: Any, **given: Any) -> attack.AttackResult:
        points = np.repeat(problem.center[None], len(free), axis=0)
        return attack.AttackResult(np.full(len(free), np.inf), points)

    patch.setattr(attack, "vertex_descent", stay)
    patch.setattr(attack, "pgd", stay)


def no_descent(patch: pytest.MonkeyPatch) -> None:
    """Attacks end where they start."""

    def stay(problem: Any, free: Any, start: Any, rivals: Any, *more: Any, **given: Any) -> Any:
        return attack.AttackResult(attack.margins(problem, start, rivals), start)

    patch.setattr(attack, "vertex_descent", stay)


def no_bounds_of_parents(patch: pytest.MonkeyPatch) -> None:
    """A step whose bounds a split leaves as they are is bounded again."""
    patch.setattr(unit_branching, "shared_step_bounds", lambda *_: None)


def _branching(**changed: Any) -> Plant:
    return with_settings(replace(DEFAULT, branching=replace(DEFAULT.branching, **changed)))


# By name: what is planted, and a question (or several) of `questions.py` that takes more work then.
SLOWDOWNS: dict[str, tuple[Plant, str]] = {
    "gap weight 0": (_branching(gap_weight=0.0), "mixed, boxes"),
    "gap share 0": (_branching(gap_share=0.0), "hard, "),
    "attacks stay where they are": (no_attacks, "contrast, long"),
    "attacks end where they start": (no_descent, "long, two at once"),
    "bounds are not kept": (no_bounds_of_parents, "one layer, boxes"),
    "no slope ascent": (
        with_settings(replace(DEFAULT, ascent=replace(DEFAULT.ascent, iterations=(0, 0)))),
        "two layers, boxes",
    ),
}

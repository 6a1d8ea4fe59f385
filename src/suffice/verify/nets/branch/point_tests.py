"""Point tests: which of the points where bounds are attained answer a query.

Method: exact confirmation of relaxed minimisers (theory, sections 2 and 6).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.verify.contract import Refuted
from suffice.verify.exact import confirm
from suffice.verify.nets.branch.subproblem import Answer, InputSet, PointTest, UndoneBy
from suffice.verify.nets.crown import PreparedProblem
from suffice.verify.nets.input_sets import Restorations
from suffice.verify.tolerances import ERROR_FACTOR


def flip_test(prepared: PreparedProblem, target_rivals: Sequence[int] | None = None) -> PointTest:
    """A point that a rival wins (one of the `target_rivals`), confirmed, refutes."""

    def test(sets: Sequence[InputSet], points: Floats, margins: Floats) -> list[Answer | None]:
        answers: list[Answer | None] = [None] * len(points)
        close_to_zero = ERROR_FACTOR * float(prepared.margin_error.max(initial=0.0))
        hits = np.flatnonzero(margins <= close_to_zero).tolist()
        if hits:
            movable = np.concatenate([movable_words(sets[i]) for i in hits])
            for i, witness in zip(
                hits,
                confirm(prepared.problem, points[hits], movable, target_rivals=target_rivals),
                strict=True,
            ):
                answers[i] = None if witness is None else Refuted(witness)
        return answers

    return test


def undo_test(prepared: PreparedProblem) -> PointTest:
    """A point whose margin is not below zero, with each word perturbed or restored, names an
    undoing set."""

    def test(sets: Sequence[InputSet], points: Floats, margins: Floats) -> list[Answer | None]:
        answers: list[Answer | None] = [None] * len(points)
        for i in np.flatnonzero(margins >= 0).tolist():
            inputs = sets[i]
            assert isinstance(inputs, Restorations)
            restored = (points[i] == inputs.center).all(-1)
            if (restored | (points[i] == inputs.perturbed[0]).all(-1)).all():
                answers[i] = UndoneBy(restored & prepared.problem.features)
        return answers

    return test


def movable_words(inputs: InputSet) -> Bools:
    """The words (1, length) that can move in a set."""
    assert not isinstance(inputs, Restorations)
    return inputs.movable

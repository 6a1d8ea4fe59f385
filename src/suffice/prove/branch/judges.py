"""Judges: which points, where bounds are attained, answer a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.prove.bounds import Form
from suffice.prove.branch.subproblem import Answer, InputSet, Judge, Restorable
from suffice.prove.exact import confirm
from suffice.prove.inputs import Restored
from suffice.prove.verdict import Refuted


def flips(form: Form, aims: Sequence[int] | None = None) -> Judge:
    """A point that a rival wins (one of the `aims`), confirmed, refutes."""

    def judge(sets: Sequence[InputSet], points: Floats, margins: Floats) -> list[Answer | None]:
        answers: list[Answer | None] = [None] * len(points)
        hits = np.flatnonzero(margins <= 1e-9).tolist()
        if hits:
            words = np.concatenate([words_of(sets[i]) for i in hits])
            for i, witness in zip(hits, confirm(form.problem, points[hits], words, aims=aims), strict=True):
                answers[i] = None if witness is None else Refuted(witness)
        return answers

    return judge


def undone(form: Form) -> Judge:
    """A point that the label wins, if whole words of it are restored, shows how the attack is undone."""

    def judge(sets: Sequence[InputSet], points: Floats, margins: Floats) -> list[Answer | None]:
        answers: list[Answer | None] = [None] * len(points)
        for i in np.flatnonzero(margins >= 0).tolist():
            inputs = sets[i]
            assert isinstance(inputs, Restored)
            restored = (points[i] == inputs.center).all(-1)
            if (restored | (points[i] == inputs.start[0]).all(-1)).all():
                answers[i] = Restorable(restored & form.problem.features)
        return answers

    return judge


def words_of(inputs: InputSet) -> Bools:
    """The words (1, length) that can move in a set."""
    assert not isinstance(inputs, Restored)
    return inputs.words

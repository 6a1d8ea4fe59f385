"""Prefer: when time runs out while words are exchanged, the answer so far stands."""

from __future__ import annotations

import numpy as np

from suffice.verbs.prefer import Preference
from suffice.verify.contract import Budget, OutOfTime


def test_time_that_runs_out_in_an_exchange_leaves_what_was_found(monkeypatch):
    first = np.array([True, False])
    second = np.array([False, True])
    answers = iter([(second, None, [1])])

    def exchanged(self, held, proof, words, pairs, hopeful):
        try:
            return next(answers)
        except StopIteration:
            raise OutOfTime from None

    monkeypatch.setattr(Preference, "_exchanged", exchanged)
    monkeypatch.setattr(Preference, "_mine", lambda self, held: [0, 1])
    monkeypatch.setattr(Preference, "rank", [0, 1])
    monkeypatch.setattr(Preference, "_looks", 100)
    monkeypatch.setattr(
        Preference, "_pairs", lambda self, held, words: [(word, 1 - word) for word in words]
    )
    found, proof = Preference(None, Budget(60))._walked(first, None, hopeful=False)
    assert (found == second).all()
    assert proof is None

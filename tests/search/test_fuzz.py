"""A few questions of the fuzzer in every run of the tests: it works, and it can find what is wrong."""

from __future__ import annotations

import fuzz
import pytest

import suffice as sf


@pytest.mark.parametrize("part", range(4))
def test_a_few_random_questions_are_answered_truly(part):
    assert [said for seed in range(part, 100, 4) for said in fuzz.one(seed)] == []


def test_a_planted_bug_is_found(monkeypatch):
    real = sf.explain

    def careless(*given, **named):
        found = real(*given, **named)
        object.__setattr__(found, "cost", found.cost + 1)
        return found

    monkeypatch.setattr(sf, "explain", careless)
    assert any("optimal at" in said for seed in range(8) for said in fuzz.one(seed))


def test_a_checker_that_believes_everything_is_found(monkeypatch):
    monkeypatch.setattr(fuzz, "accepts", lambda *_: True)
    assert any("the exact one False" in said for said in fuzz.one(1))
    monkeypatch.setattr(fuzz, "accepts_exactly", lambda *_: True)
    assert any("altered" in said for seed in range(4) for said in fuzz.one(seed))

"""Is robust: a verdict is plain data too, and counts as proved only when the checker has read its certificate."""

from __future__ import annotations

import json

import numpy as np
import pytest

import suffice as sf
from suffice.verbs import accepting

TEXT = "the plot is thin but the acting is superb"
KEYS = {"format", "status", "by", "reason", "witness", "proved", "certificate"}


@pytest.fixture(scope="module")
def sst():
    return sf.load("sst-fc25")


def verdicts(sst):
    """Proved, refuted and undecided, of a network and of a black box."""
    box = sf.from_function(
        lambda texts: np.array([[0.2, 0.8] if "superb" in text else [0.7, 0.3] for text in texts]),
        labels=["negative", "positive"],
        name="superb",
    )
    for judge, allowed in ((sst, sf.KNNBox(10)), (box, sf.Deletion())):
        for words in (["superb", "thin", "plot", "acting", "but", "is", "the"], []):
            yield sf.is_robust(judge, TEXT, words, perturbation=allowed)
    yield sf.is_robust(sst, TEXT, [], perturbation=sf.KNNBox(10), seconds=1e-9)


def test_every_verdict_is_plain_data_with_the_same_keys(sst):
    found = list(verdicts(sst))
    assert {type(one) for one in found} >= {sf.Proved, sf.Refuted}
    for one in found:
        data = json.loads(json.dumps(one.to_dict()))
        assert data.keys() == KEYS
        assert data["status"] == type(one).__name__.lower()
        assert bool(data["proved"]) == (data["certificate"] is not None)
        assert (data["witness"] is not None) == isinstance(one, sf.Refuted)


def test_what_the_checker_does_not_accept_is_unknown(sst, monkeypatch):
    def reject(*given, **more):
        raise sf.Rejected(3, "no")

    monkeypatch.setattr(accepting, "check", reject)
    asked = {"perturbation": sf.KNNBox(10), "positions": []}
    assert isinstance(sf.is_robust(sst, TEXT, **asked), sf.Unknown)
    unchecked = sf.is_robust(sst, TEXT, **asked, self_check=False)
    assert isinstance(unchecked, sf.Proved | sf.Refuted)
    assert unchecked.proved == ()
    mended = sf.repair(sst, TEXT, [0], perturbation=sf.KNNBox(10))
    assert mended.sufficed is None


@pytest.mark.parametrize("check", [True, False])
def test_profiles_have_radii_with_and_without_the_check(sst, monkeypatch, check):
    asked = []
    real = accepting.check
    monkeypatch.setattr(accepting, "check", lambda *given, **more: asked.append(1) or real(*given, **more))
    found = sf.profile(sst, TEXT, sf.EpsilonBall, [0.01, 0.5], self_check=check, seconds=10)
    assert bool(asked) == bool(found.proved) == check
    assert found.free_until is not None
    assert "free_until" in found.radii
    assert ("(proved)" in str(found).partition(";")[0]) == check

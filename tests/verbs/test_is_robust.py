"""Is robust: a verdict is plain data too, and counts as proved only when the checker has read its
certificate.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import suffice as sf
from suffice.verbs import accepting

TEXT = "the plot is thin but the acting is superb"
KEYS = {"format", "status", "by", "reason", "witness", "proved", "certificate", "stats"}


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


def test_every_verdict_prints_as_a_sentence_and_is_saved_as_json(sst):
    starts = {sf.Proved: "Proved: ", sf.Refuted: "Refuted: ", sf.Unknown: "Undecided: "}
    for one in verdicts(sst):
        assert re.fullmatch(starts[type(one)] + r"[^<>]+\.", str(one))
        assert json.loads(one.to_json()) == one.to_dict()


def test_a_verdict_says_what_was_accepted_and_shows_the_flip():
    clf = sf.load("sentiment")
    asked = {"text": "A gripping film about nothing", "perturbation": sf.Deletion()}
    proved, refuted = (
        sf.is_robust(clf, positions=[word], **asked) for word in ("gripping", "film")
    )
    assert str(proved) == (
        "Proved: 'gripping' suffices: 'positive' stays the label whatever the other words become."
    )
    assert str(refuted).startswith("Refuted: 'film' does not suffice")
    assert str(refuted).endswith(f": “{refuted.witness.text}” → negative.")


def test_a_verdict_that_was_not_checked_is_not_said_to_be_proved(sst):
    solved = sf.is_robust(sst, TEXT, range(1, 9), perturbation=sf.KNNBox(1), oracle="milp")
    assert isinstance(solved, sf.Proved)
    assert str(solved) == "These words suffice (by milp, not checked)."


def test_a_tie_is_said_to_be_one():
    even = sf.from_function(
        lambda texts: np.full((len(texts), 2), 0.5), labels=["no", "yes"], name="even"
    )
    found = sf.is_robust(even, TEXT, ["plot"], perturbation=sf.Deletion())
    assert re.fullmatch(
        "No words suffice: the text as it stands is a tie with (no|yes).", str(found)
    )


def test_a_change_of_many_words_is_counted_not_listed(sst):
    found = sf.is_robust(sst, TEXT, [], perturbation=sf.EpsilonBall(0.5))
    assert len(found.witness.positions) > 4
    assert f" when {len(found.witness.positions)} words change (margin -" in str(found)


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
    monkeypatch.setattr(
        accepting, "check", lambda *given, **more: asked.append(1) or real(*given, **more)
    )
    found = sf.profile(sst, TEXT, sf.EpsilonBall, [0.01, 0.5], self_check=check, seconds=10)
    assert bool(asked) == bool(found.proved) == check
    assert found.free_until is not None
    assert "free_until" in found.radii
    assert ("(proved)" in str(found).partition(";")[0]) == check

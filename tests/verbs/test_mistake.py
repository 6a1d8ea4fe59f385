"""Why wrong: which words push towards the wrong label, and the cheapest change towards the right one."""

from __future__ import annotations

import json

import pytest
from judges import Judge

import suffice as sf
from suffice.cli import main

TEXT = "it is not good , but it is not the worst film of the year either"


@pytest.fixture(scope="module")
def sst() -> sf.Classifier:
    return sf.load("sst-fc25")


def deleted(classifier: sf.Classifier, words: list[str], position: int) -> list[str]:
    return [classifier.pad if i == position else word for i, word in enumerate(words)]


def lead(classifier: sf.Classifier, words: list[str], label: str, expected: str) -> float:
    scores = dict(zip(classifier.labels, classifier.predict(words).scores, strict=True))
    return scores[label] - scores[expected]


@pytest.mark.parametrize("seed", range(16))
def test_the_change_is_the_cheapest_that_lets_the_expected_label_reach_the_wrong_one(seed):
    judge = Judge(seed, classes=2 + seed % 2)
    expected = next(label for label in judge.classifier.labels if label != judge.label)
    found = sf.explain(judge.classifier, judge.words, perturbation=judge.perturbation, expected=expected).mistake
    assert found is not None
    flips = [
        sum(a != b for a, b in zip(text, judge.words, strict=True))
        for text in judge.labels
        if lead(judge.classifier, list(text), judge.label, expected) <= 0
    ]
    if not flips:
        assert (found.status, found.flip) == ("none", None)
        assert "(proved)" in str(found)
        return
    assert (found.status, found.cost) == ("optimal", min(flips))
    assert found.winner == judge.classifier.predict(found.changed_text.split()).label
    if found.winner not in (expected, judge.label):
        assert f"though {found.winner!r} then beats both" in str(found)


@pytest.mark.parametrize("seed", range(8))
def test_a_word_pushes_towards_the_wrong_label_when_its_deletion_takes_from_the_lead(seed):
    judge = Judge(seed)
    expected = next(label for label in judge.classifier.labels if label != judge.label)
    result = sf.explain(judge.classifier, judge.words, perturbation=judge.perturbation, expected=expected)
    assert [push.word for push in result.mistake.pushes] == list(result.words)
    whole = lead(judge.classifier, judge.words, judge.label, expected)
    for push in result.mistake.pushes:
        without = lead(
            judge.classifier, deleted(judge.classifier, judge.words, push.word.position), judge.label, expected
        )
        assert push.effect == pytest.approx(whole - without)
        assert push.towards == (without < whole)


def test_it_survives_json(sst):
    result = sf.explain(sst, TEXT, perturbation=sf.KNNBox(100), expected="positive")
    again = sf.Explanation.from_json(result.to_json())
    assert again.mistake.to_dict() == result.mistake.to_dict()
    assert str(again.mistake) == str(result.mistake)


def test_without_an_expected_label_there_is_no_mistake(sst):
    assert sf.explain(sst, TEXT, perturbation=sf.KNNBox(5)).mistake is None


@pytest.mark.parametrize("label", ["negative", "nowhere"])
def test_a_label_that_the_text_has_or_that_does_not_exist_is_refused(sst, label):
    with pytest.raises(sf.InputError):
        sf.explain(sst, TEXT, perturbation=sf.KNNBox(5), expected=label)
    with pytest.raises(sf.InputError):
        sf.contrast(sst, TEXT, perturbation=sf.KNNBox(5), towards=label)


@pytest.mark.parametrize("seed", range(8))
def test_a_contrast_towards_a_label_lets_it_reach_the_present_one(seed):
    judge = Judge(seed, classes=3)
    for expected in (label for label in judge.classifier.labels if label != judge.label):
        found = sf.contrast(judge.classifier, judge.words, perturbation=judge.perturbation, towards=expected)
        if found.flip is None:
            assert found.status == "none"
            assert f"turns the label into {expected!r}" in str(found)
        else:
            assert found.flip.label == judge.classifier.predict(found.flipped_text.split()).label
            assert lead(judge.classifier, found.flipped_text.split(), judge.label, expected) <= 0


def test_the_command(capsys):
    given = [TEXT, "--model", "sst-fc25", "--knn-box", "100"]
    assert main(["explain", *given, "--why-wrong", "positive"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "'worst': pushes towards 'negative'" in out
    assert "To bring it to 'positive', the cheapest change (proved) is" in out
    assert main(["explain", *given, "--why-wrong", "positive", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mistake"]["expected"] == "positive"
    assert main(["explain", TEXT, "--why-wrong", "negative"]) == 2
    assert main(["contrast", *given, "--towards", "positive"]) == 0
    capsys.readouterr()

"""Why wrong: which words push towards the wrong label, and the cheapest change towards the right
one.
"""

from __future__ import annotations

import json
import math

import pytest
from judges import Judge
from rich.console import Console

import suffice as sf
from suffice.cli import main
from suffice.model.text import Word
from suffice.render.auditors import show_mistake
from suffice.verbs.mistake import Mistake, Push

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
    found = sf.explain(
        judge.classifier, judge.words, perturbation=judge.perturbation, expected=expected
    ).mistake
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
    result = sf.explain(
        judge.classifier, judge.words, perturbation=judge.perturbation, expected=expected
    )
    assert [push.word for push in result.mistake.pushes] == list(result.words)
    whole = lead(judge.classifier, judge.words, judge.label, expected)
    for push in result.mistake.pushes:
        without = lead(
            judge.classifier,
            deleted(judge.classifier, judge.words, push.word.position),
            judge.label,
            expected,
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
        found = sf.contrast(
            judge.classifier, judge.words, perturbation=judge.perturbation, towards=expected
        )
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


def test_a_word_that_stands_twice_is_named_with_its_place(capsys):
    text = "the worst plot , the worst cast , the worst film"
    found = sf.explain(sf.load("sst-fc25"), text, perturbation=sf.KNNBox(300), expected="positive")
    names = [push.name for push in found.mistake.pushes]
    again = [push for push in found.mistake.pushes if push.word.text == "worst"]
    assert [push.name for push in again] == [
        f"'worst' (position {push.word.position})" for push in again
    ]
    assert len(again) > 0
    assert all(name in str(found.mistake) for name in names)
    assert sf.Explanation.from_json(found.to_json()).mistake.pushes == found.mistake.pushes
    assert (
        main(
            ["explain", text, "--model", "sst-fc25", "--knn-box", "300", "--why-wrong", "positive"]
        )
        == 0
    )
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        f"{again[0].name}: pushes towards 'negative' (deleting it changes the lead over "
        "'positive' by -"
    ) in shown


def test_a_word_without_effect_pushes_neither_way(capsys):
    push = Push(Word(0, "the", 0, 3), 0.0, "'the'")
    show_mistake(
        Console(), Mistake("no", "yes", (push,), "none", math.inf, math.inf, None, None, "no")
    )
    assert "'the': pushes neither way" in capsys.readouterr().out


def test_a_change_names_words_that_stand_twice_with_their_places():
    found = sf.contrast(
        sf.load("trec-fc15"), "what is a film , what is a plot", perturbation=sf.KNNBox(20)
    )
    moved = [found.text.words[i].text for i in found.flip.positions]
    assert any(moved.count(word) < found.text.source.split().count(word) for word in moved)
    for position in found.flip.positions:
        if found.text.source.split().count(found.text.words[position].text) > 1:
            assert f"(position {position})" in found.change

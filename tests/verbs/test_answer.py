"""Answers: what those of all verbs can do, and that wrong input is refused in a sentence before any work."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import suffice as sf

TEXT = "a quiet , moving film"
VERBS: dict[str, Callable[[Any], Any]] = {
    "explain": lambda clf: sf.explain(clf, TEXT),
    "contrast": lambda clf: sf.contrast(clf, TEXT),
    "bias": lambda clf: sf.bias(clf, TEXT, ["film"]),
    "repair": lambda clf: sf.repair(clf, TEXT, ["film"], perturbation=sf.KNNBox(15)),
    "profile": lambda clf: sf.profile(clf, TEXT, sf.KNNBox, [2, 5]),
    "attribute": lambda clf: sf.attribute(clf, TEXT),
}


@pytest.fixture(scope="module")
def clf() -> sf.Classifier:
    return sf.load("sentiment")


@pytest.mark.parametrize("verb", VERBS)
def test_the_same_question_has_an_equal_answer_and_a_copy_is_equal_too(clf, verb):
    """However long it took; in a set they are one."""
    found, again = VERBS[verb](clf), VERBS[verb](clf)
    assert found == again
    assert len({found, again}) == 1
    for copied in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert copied == found


@pytest.mark.parametrize("verb", VERBS)
def test_every_answer_becomes_json_and_a_cell_of_a_notebook(clf, verb):
    found = VERBS[verb](clf)
    assert json.loads(found.to_json()) == json.loads(json.dumps(found.to_dict()))
    assert "\n" not in found.to_json(indent=None)
    assert "film" in found._repr_html_()


def test_an_explanation_is_equal_after_a_trip_through_json(clf):
    found = sf.explain(clf, TEXT)
    assert sf.Explanation.from_json(found.to_json()) == found
    assert found.details  # what was looked up since is not the answer
    assert sf.Explanation.from_json(found.to_json()) == found


def test_other_questions_and_other_answers_are_not_equal(clf):
    found = sf.explain(clf, TEXT)
    others = [
        sf.explain(clf, TEXT, perturbation=sf.Deletion()),  # with the same words as an answer
        sf.explain(clf, TEXT, perturbation=sf.RemoveOrSwap({"film": ["movie"]})),
        sf.explain(clf, TEXT, exclude=["moving"]),
        sf.bias(clf, TEXT, ["film"]),
    ]
    assert found not in others
    assert found != TEXT


def test_a_swap_of_a_word_that_is_called_like_a_part_of_an_answer_counts(clf):
    """`why` and `stats` are no part of what is compared; words of that name are."""
    one, two = (sf.explain(clf, "why stats", perturbation=sf.WordSwap({"why": [w]})) for w in ("good", "bad"))
    assert one != two


def test_sets_of_words_can_be_keys():
    assert len({sf.WordSwap({"a": ["b"]}), sf.WordSwap({"a": ["b"]}), sf.RemoveOrSwap({"a": ["b"]})}) == 2


def test_a_repair_counts_its_words(clf):
    assert repr(VERBS["repair"](clf)).startswith("<Repair optimal: 1 word given, ")


class Pipeline:
    def predict_proba(self, texts):
        raise NotImplementedError


def even(texts):
    return [[0.5, 0.5]] * len(texts)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda clf: sf.explain(TEXT, clf), "The classifier comes first, then the text: 'a quiet , moving film' is no"),
        (
            lambda clf: sf.explain("sentiment", TEXT),
            r"Give a classifier, not the name 'sentiment': sf.load\('sentiment'",
        ),
        (lambda clf: sf.explain(Pipeline(), TEXT), "sf.from_sklearn makes one of a pipeline"),
        (lambda clf: sf.explain(even, TEXT), r"sf.from_function\(predict, labels=\[...\]\) makes one"),
        (lambda clf: sf.batch(None, [TEXT]), "Give a classifier, not None: sf.load, "),
        (lambda clf: sf.load(None), "Give the name of a bundled model or a saved folder, not None"),
        (lambda clf: sf.explain(clf, TEXT, on_progress=3), "must be a function, not 3"),
        (lambda clf: sf.explain(sf.from_function(even, ["a", "b"]), TEXT, on_progress=3), "must be a function, not 3"),
        (lambda clf: sf.repair(clf, TEXT, "film"), "or a result of LIME, SHAP or Anchors, not 'film'"),
        (lambda clf: sf.is_robust(clf, TEXT, "film"), "`positions` takes a list of words or positions, not 'film'"),
        (lambda clf: sf.bias(clf, TEXT, None), "`protected` takes a list of words or positions, not None"),
        (lambda clf: sf.profile(clf, TEXT, sf.KNNBox, 5), "`steps` must be a list of at least one size"),
        (lambda clf: sf.Explanation.from_json("nonsense"), "This is not an explanation as `to_json` writes it"),
        (lambda clf: sf.Explanation.from_json("{}"), "This is not an explanation of format 1"),
        (lambda clf: sf.explain(clf, TEXT, seconds=None), r'not None: float\("inf"\) is no limit'),
        (lambda clf: sf.explain(clf, TEXT, max_queries=7), "max_queries=7 is for black boxes .* leave it out"),
        (lambda clf: list(sf.batch(clf, "texts.csv")), "There is no file 'texts.csv'.$"),
        (lambda clf: list(sf.batch(clf, TEXT)), f"There is no file '{TEXT}'; texts themselves go in a list.$"),
    ],
)
def test_wrong_input_is_refused_with_what_to_do(clf, call, said):
    with pytest.raises(sf.SufficeError, match=said):
        call(clf)


def test_numbers_that_no_double_holds_are_refused_or_as_good_as_endless(clf):
    """Python's OverflowError came of them."""
    large = 10**400
    with pytest.raises(sf.InputError, match="too large to compute with"):
        sf.profile(clf, TEXT, sf.EpsilonBall, [0.1, large])
    with pytest.raises(sf.ModelError, match="predict must give an array of numbers"):
        sf.explain(sf.from_function(lambda texts: [[large, 1]] * len(texts), ["a", "b"], name="large"), TEXT)
    found = sf.explain(clf, TEXT, perturbation=sf.Deletion(), seconds=large)
    assert found.meta["checked"]
    assert sf.check(found.certificate, clf, seconds=large).kind == "cheapest"


def test_a_radius_of_single_precision_is_a_radius(clf):
    """A warning of NumPy's came of it."""
    assert sf.EpsilonBall(np.float32(0.25)).to_dict()["eps"] == 0.25


def test_a_sentence_names_the_limit_on_changes_where_it_matters(clf):
    """Read alone, it claimed more than was proved."""
    text = "She made a brilliant and moving film about her father , but he hated it"
    kept = "suffice for the label 'positive'"
    two, one = (sf.explain(clf, text, perturbation=sf.Deletion(at_most=r), include=["moving"]) for r in (2, 1))
    assert f"{kept} while at most 2 other words change at once, and no cheaper set" in str(two)
    assert f"{kept.replace('suffice', 'suffices')} while only one other word changes at a time, and no" in str(one)
    for everything in (sf.Deletion(), sf.Deletion(at_most=40)):
        assert " while " not in str(sf.explain(clf, text, perturbation=everything))
    mended = sf.repair(clf, text, ["brilliant", "moving"], perturbation=sf.Deletion(at_most=2))
    assert str(mended) == f"The given words already {kept} while at most 2 other words change at once (proved)."


@pytest.mark.parametrize("verb", VERBS)
def test_words_that_are_cut_off_are_named_by_every_answer(clf, verb, monkeypatch):
    """In Python, too: what a classifier does not see is no part of what was proved."""
    plain = VERBS[verb](clf)
    assert "Cut off" not in str(plain)
    monkeypatch.setattr("test_answer.TEXT", f"{TEXT} {'dull ' * clf.length}never seen")
    found = VERBS[verb](clf)
    assert found.text.cut[-2:] == ("never", "seen")
    assert "Cut off, not seen at all: “" in str(found)
    data = found.to_dict()
    assert list(found.text.cut) in (data.get("cut"), *_texts_cut(data))


def _texts_cut(data: dict[str, Any]) -> list[Any]:
    inside = [data, data.get("explanation"), *data.get("explanations", ())]
    return [one["text"]["cut"] for one in inside if isinstance(one, dict) and isinstance(one.get("text"), dict)]

"""Answers: what those of all verbs can do, and that wrong input is refused in a sentence before any
work.
"""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import suffice as sf
from suffice.errors import NotChecked
from suffice.verbs.answer import Answer
from suffice.verbs.engines import run_flip_search, run_search
from suffice.verbs.mistake import Mistake
from suffice.verbs.repair import Repair

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
    found = VERBS[verb](clf)
    again = VERBS[verb](clf)
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
    one, two = (
        sf.explain(clf, "why stats", perturbation=sf.WordSwap({"why": [w]}))
        for w in ("good", "bad")
    )
    assert one != two


def test_sets_of_words_can_be_keys():
    assert (
        len({sf.WordSwap({"a": ["b"]}), sf.WordSwap({"a": ["b"]}), sf.RemoveOrSwap({"a": ["b"]})})
        == 2
    )


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
        (
            lambda clf: sf.explain(TEXT, clf),
            "The classifier comes first, then the text: 'a quiet , moving film' is no",
        ),
        (
            lambda clf: sf.explain("sentiment", TEXT),
            r"Give a classifier, not the name 'sentiment': sf.load\('sentiment'",
        ),
        (lambda clf: sf.explain(Pipeline(), TEXT), "sf.from_sklearn makes one of a pipeline"),
        (
            lambda clf: sf.explain(even, TEXT),
            r"sf.from_function\(predict, labels=\[...\]\) makes one",
        ),
        (lambda clf: sf.batch(None, [TEXT]), "Give a classifier, not None: sf.load, "),
        (lambda clf: sf.load(None), "Give the name of a bundled model or a saved folder, not None"),
        (lambda clf: sf.explain(clf, TEXT, on_progress=3), "must be a function, not 3"),
        (
            lambda clf: sf.explain(sf.from_function(even, ["a", "b"]), TEXT, on_progress=3),
            "must be a function, not 3",
        ),
        (
            lambda clf: sf.repair(clf, TEXT, "film"),
            "or a result of LIME, SHAP or Anchors, not 'film'",
        ),
        (
            lambda clf: sf.is_robust(clf, TEXT, "film"),
            "`positions` takes a list of words or positions, not 'film'",
        ),
        (
            lambda clf: sf.bias(clf, TEXT, None),
            "`protected` takes a list of words or positions, not None",
        ),
        (
            lambda clf: sf.profile(clf, TEXT, sf.KNNBox, 5),
            "`steps` must be a list of at least one size",
        ),
        (
            lambda clf: sf.Explanation.from_json("nonsense"),
            "This is not an explanation as `to_json` writes it",
        ),
        (lambda clf: sf.Explanation.from_json("{}"), "This is not an explanation of format 1"),
        (lambda clf: sf.explain(clf, TEXT, seconds=None), r'not None: float\("inf"\) is no limit'),
        (
            lambda clf: sf.explain(clf, TEXT, max_queries=7),
            "max_queries=7 is for black boxes .* leave it out",
        ),
        (lambda clf: list(sf.batch(clf, "texts.csv")), "There is no file 'texts.csv'.$"),
        (
            lambda clf: list(sf.batch(clf, TEXT)),
            f"There is no file '{TEXT}'; texts themselves go in a list.$",
        ),
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
        sf.explain(
            sf.from_function(lambda texts: [[large, 1]] * len(texts), ["a", "b"], name="large"),
            TEXT,
        )
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
    two, one = (
        sf.explain(clf, text, perturbation=sf.Deletion(at_most=r), include=["moving"])
        for r in (2, 1)
    )
    assert f"{kept} while at most 2 other words change at once, and no cheaper set" in str(two)
    assert (
        f"{kept.replace('suffice', 'suffices')} while only one other word changes at a time, and no"
        in str(one)
    )
    for everything in (sf.Deletion(), sf.Deletion(at_most=40)):
        assert " while " not in str(sf.explain(clf, text, perturbation=everything))
    mended = sf.repair(clf, text, ["brilliant", "moving"], perturbation=sf.Deletion(at_most=2))
    assert (
        str(mended)
        == f"The given words already {kept} while at most 2 other words change at once (proved)."
    )


# --- unknown, and why ---


def counted(texts):
    """More good than bad words, as far as it goes."""
    return [[text.count("bad") + 0.5, text.count("good") + text.count("fine")] for text in texts]


def opened():
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression())
    return sf.from_sklearn(
        pipeline.fit(["good fine film", "bad poor film", "good", "bad"], ["yes", "no", "yes", "no"])
    )


LISTED = ["'mr", "good", "isn't", "+3", "fine", "bad", "AWFUL", "..."]
BOXES = {
    "network": lambda: sf.load("sst-fc25"),
    "program": lambda: sf.from_function(counted, ["no", "yes"], name="counted"),
    "pipeline": opened,
}
ASKED: dict[str, Callable[..., Any]] = {
    "explain": sf.explain,
    "hs": lambda clf, text, **more: sf.explain(clf, text, method="hs", **more),
    "msa": lambda clf, text, **more: sf.explain(clf, text, method="msa", **more),
    "mistake": lambda clf, text, **more: sf.explain(clf, text, expected=other(clf, text), **more),
    "explain_all": lambda clf, text, **more: list(sf.explain_all(clf, text, **more)),
    "contrast": sf.contrast,
    "contrast towards": lambda clf, text, **more: sf.contrast(
        clf, text, towards=other(clf, text), **more
    ),
    "bias": lambda clf, text, **more: sf.bias(clf, text, ["good", "bad"], **more),
    "is_robust": lambda clf, text, **more: sf.is_robust(clf, text, ["good", "fine"], **more),
    "repair": lambda clf, text, **more: sf.repair(clf, text, ["fine"], **more),
    "profile": lambda clf, text, **more: sf.profile(
        clf, text, lambda n: sf.Deletion(at_most=n), [1, 3], **more
    ),
    "optimal": lambda clf, text, **more: sf.attribute(clf, text, **more),
    "minimal": lambda clf, text, **more: sf.attribute(clf, text, of="minimal", **more),
    "batch": lambda clf, text, **more: list(sf.batch(clf, [text], **more)),
    "audit": lambda clf, text, **more: (
        sf.audit(clf, [text], {"g": ["good", "bad"], "f": ["fine"]}, **more).lines
    ),
}


def other(clf, text):
    label = clf.predict(text).label
    return next(name for name in clf.labels if name != label)


def unknowns(found):
    """Every part of an answer that says unknown, as data, and the sentence about it."""
    match found:
        case sf.Unknown() | Answer() | Mistake():
            if isinstance(found, Repair):
                yield from unknowns(found.verdict)
            if getattr(found, "mistake", None) is not None:
                yield from unknowns(found.mistake)
            yield from (
                (part, str(found)) for part in parts(json.loads(json.dumps(found.to_dict())))
            )
        case list() | tuple():
            for one in found:
                yield from (
                    unknowns(one)
                    if isinstance(one, Answer)
                    else ((part, "") for part in parts(one))
                )


def parts(data):
    match data:
        case {"status": "unknown"} | {"complete": False}:
            yield data
    for value in (
        data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    ):
        yield from parts(value)


def rejecting(*_, **__):
    raise sf.Rejected(1, "a planted complaint")


def late(*_, **__):
    raise NotChecked(1, "a planted delay")


WAYS: dict[str, dict[str, Any]] = {
    "late": {"seconds": 1e-9},
    "few": {"max_queries": 3},
    "rejected": {},
    "unchecked": {},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("box", BOXES)
def test_no_answer_of_any_verb_is_unknown_without_its_reason(box, way, monkeypatch):
    if box == "network" and way == "few":
        pytest.skip("a network is not asked texts")
    clf = BOXES[box]()
    told = 0
    if way in ("rejected", "unchecked"):
        planted = rejecting if way == "rejected" else late
        monkeypatch.setattr("suffice.verbs.accepting.check", planted)
        monkeypatch.setattr("suffice.proof.replay.replay", planted)
    for verb, ask in ASKED.items():
        if box != "network" and verb in ("hs", "msa"):
            continue
        for text in ("good and fine , not bad", LISTED):
            for data, said in unknowns(ask(clf, text, **WAYS[way])):
                reason = data.get("reason") or data.get("meta", {}).get("reason")
                assert reason, (verb, data)
                assert not said or reason in said, (verb, said, reason)
                told += 1
    assert told


def test_no_answer_can_be_made_unknown_without_a_reason(clf):
    """What every search and every oracle hands over insists on it, and so do answers made of
    several.
    """
    question = sf.Question(clf, TEXT)
    outcome = run_search(question, question.budget, None)
    flip = run_flip_search(question, question.budget)
    for made, changed in (
        (sf.Unknown("time is up"), {"reason": ""}),
        (outcome, {"finished": False}),
        (flip, {"status": "unknown"}),
        (flip, {"status": "found"}),
        (sf.attribute(clf, TEXT), {"complete": False}),
        (sf.explain(clf, TEXT, expected="negative").mistake, {"status": "unknown"}),
    ):
        with pytest.raises(ValueError, match="for a reason"):
            replace(made, **changed)


def test_words_of_a_list_are_proved_as_they_are(clf):
    """As marks, with capitals, cut by the reader of strings: search, certificate and checkers see
    the same words.
    """
    for known in (sf.load("sst-fc25"), BOXES["program"](), BOXES["pipeline"]()):
        for perturbation in (None, sf.Deletion(), sf.Mask()):
            found = sf.explain(known, LISTED, perturbation=perturbation)
            assert found.status == "optimal"
            assert found.meta["checked"]
            question = sf.Question(known, LISTED, perturbation=perturbation)
            assert sf.check(found.certificate, known, question=question).optimal
    assert [word.text for word in found.text.words] == LISTED


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
    return [
        one["text"]["cut"]
        for one in inside
        if isinstance(one, dict) and isinstance(one.get("text"), dict)
    ]

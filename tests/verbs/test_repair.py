"""Repair: words from any explainer, whether they suffice, and their cheapest robust extension."""

from __future__ import annotations

import json
import types
from dataclasses import replace

import numpy as np
import pytest
from judges import Judge

import suffice as sf
from suffice.cli import main
from suffice.verbs import adapters
from suffice.verify.contract import Proved, Unknown

TEXT = "it is not good , but it is not the worst film of the year either"


@pytest.fixture(scope="module")
def sst() -> sf.Classifier:
    return sf.load("sst-fc25")


@pytest.mark.parametrize("seed", range(24))
def test_it_agrees_with_trying_every_text(seed):
    judge = Judge(seed, classes=2 + seed % 2)
    given = (seed % 4,)
    found = sf.repair(judge.classifier, judge.words, given, perturbation=judge.perturbation)
    supersets = [held for held in judge.explanations() if set(given) <= set(held)]
    assert found.sufficed == judge.robust(given)
    assert found.status == "optimal"
    assert set(given) <= set(found.positions)
    assert judge.robust(found.positions)
    assert len(found.positions) == min(map(len, supersets))


@pytest.mark.parametrize("seed", range(12))
def test_a_counterexample_keeps_the_given_words_and_both_certificates_are_accepted(seed):
    judge = Judge(seed)
    found = sf.repair(judge.classifier, judge.words, [0], perturbation=judge.perturbation)
    assert sf.check(found.certificate, judge.classifier).kind == "cheapest"
    kind = sf.check(found.verdict.certificate, judge.classifier).kind
    assert kind == ("sufficient" if found.sufficed else "refuted")
    if found.counterexample is not None:
        assert 0 not in found.counterexample.positions
        assert judge.classifier.predict_input(found.counterexample.point).label != judge.label


def test_it_says_in_one_sentence_what_it_found(sst):
    poor = sf.repair(sst, TEXT, ["worst"], perturbation=sf.KNNBox(100))
    assert str(poor).startswith(
        "The given words do not suffice: with all of them fixed the label can still become "
        "'positive'."
    )
    assert "is the cheapest way to make them suffice (proved)" in str(poor)
    good = sf.repair(sst, TEXT, poor.positions, perturbation=sf.KNNBox(100))
    assert good.sufficed
    assert good.added == ()
    assert "already suffice" in str(good)


def test_the_command(capsys):
    assert main(["repair", TEXT, "--words", "worst,14", "--knn-box", "100", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["given"], data["verdict"], data["explanation"]["status"]) == (
        [10, 14],
        "refuted",
        "optimal",
    )
    assert set(data["given"]) | set(data["added"]) == set(data["explanation"]["positions"])
    assert main(["repair", TEXT, "--words", "absent"]) == 2
    assert "is not in the text" in capsys.readouterr().err


# --- real explainers ---

# lime, shap, anchor and spacy warn when they are loaded or run
theirs = pytest.mark.filterwarnings("ignore")


def probabilities(classifier):
    return lambda texts: np.array(
        [classifier.predict(text or "<UNK>").probabilities for text in texts]
    )


@pytest.fixture(scope="module")
def lime_result(sst):
    lime = pytest.importorskip("lime.lime_text")
    explainer = lime.LimeTextExplainer(class_names=list(sst.labels), random_state=0)
    return explainer.explain_instance(TEXT, probabilities(sst), num_features=4, num_samples=200)


@pytest.fixture(scope="module")
def shap_result(sst):
    shap = pytest.importorskip("shap")
    explainer = shap.Explainer(
        probabilities(sst), shap.maskers.Text(r"\W+"), output_names=list(sst.labels), seed=0
    )
    return explainer([TEXT], max_evals=200, silent=True)


@pytest.fixture(scope="module")
def anchor_result(sst):
    spacy = pytest.importorskip("spacy")
    anchor = pytest.importorskip("anchor.anchor_text")
    np.random.seed(0)
    explainer = anchor.AnchorText(spacy.blank("en"), list(sst.labels), use_unk_distribution=True)

    def labels(texts):
        return np.array([sst.labels.index(sst.predict(text).label) for text in texts])

    return explainer.explain_instance(TEXT, labels, threshold=0.95)


@theirs
def test_lime_words_become_positions_and_are_repaired(sst, lime_result):
    # LIME explained `positive`
    named = {word for word, weight in lime_result.as_list(label=1) if weight < 0}
    found = sf.repair(sst, TEXT, lime_result, perturbation=sf.KNNBox(100))
    assert {sst.read(TEXT).tokens[i] for i in found.given} == named
    assert found.status == "optimal"
    assert set(found.given) <= set(found.positions)


@theirs
def test_shap_values_become_positions_and_are_repaired(sst, shap_result):
    weights = shap_result.values[0][:, list(sst.labels).index("negative")]
    named = {
        str(token).strip()
        for token, weight in zip(shap_result.data[0], weights, strict=True)
        if weight > 0
    }
    for result in (shap_result, shap_result[0]):
        found = sf.repair(sst, TEXT, result, perturbation=sf.KNNBox(100))
        assert {sst.read(TEXT).tokens[i] for i in found.given} == {
            n for n in named if n.isalpha()
        } | (named & {","})
        assert found.status == "optimal"


@theirs
def test_the_top_of_a_shap_explanation_can_be_taken(sst, shap_result):
    text = sst.read(TEXT)
    top = adapters.from_shap(shap_result, text, "negative", sst.labels, top=2)
    assert len(top) == 2
    assert text.tokens.index("worst") in top


@theirs
def test_an_anchor_becomes_positions_and_is_repaired(sst, anchor_result):
    found = sf.repair(sst, TEXT, anchor_result, perturbation=sf.KNNBox(100))
    assert [sst.read(TEXT).tokens[i] for i in found.given] == [
        str(name) for name in sorted(anchor_result.names(), key=lambda n: TEXT.index(str(n)))
    ]
    assert found.status == "optimal"


@theirs
@pytest.mark.parametrize("explainer", ["lime_result", "shap_result", "anchor_result"])
def test_the_explanation_of_another_text_is_refused(sst, explainer, request):
    with pytest.raises(sf.InputError, match="explained another text"):
        sf.repair(
            sst, "another text", request.getfixturevalue(explainer), perturbation=sf.KNNBox(5)
        )


@theirs
def test_lime_about_another_label_is_refused_where_labels_are_more_than_two(lime_result, sst):
    with pytest.raises(sf.InputError, match=r"labels=\[0\]"):
        adapters.from_lime(lime_result, sst.read(TEXT), "a", ["a", "b", "c"])


def anchor_like(names, starts, instance):
    """An object with the face of an AnchorExplanation, for tokenisations that a real one seldom
    gives.
    """
    return types.SimpleNamespace(
        type="text", exp_map={"positions": starts, "instance": instance}, names=lambda: names
    )


def test_pieces_cut_otherwise_are_matched_by_place(sst):
    text = sst.read("a well-made film , isn't it")
    pieces = [("well", 2), ("n't", 19)]
    found = adapters.from_anchor(
        anchor_like([n for n, _ in pieces], [s for _, s in pieces], text.source), text, "", []
    )
    assert [text.words[i].text for i in found] == ["well-made", "isn't"]


def test_a_named_word_that_the_classifier_never_reads_is_refused(sst):
    long = " ".join(["film"] * 25 + ["extra"])
    text = sst.read(long)
    with pytest.raises(sf.InputError, match="none of the 25 words"):
        adapters.from_anchor(anchor_like(["extra"], [long.index("extra")], long), text, "", [])


@pytest.mark.parametrize("given", ["film", 3, None, object()])
def test_what_is_neither_words_nor_an_explanation_is_refused(sst, given):
    with pytest.raises(sf.InputError, match="Give a list of words or positions"):
        sf.repair(sst, TEXT, given, perturbation=sf.KNNBox(5))


@pytest.mark.parametrize(
    ("names", "label", "expected"),
    [
        (None, "positive", (0,)),
        (None, "negative", (1,)),
        ("positive", "positive", (0,)),
        ("positive", "negative", (1,)),
        ("negative", "negative", (0,)),
        ("negative", "positive", (1,)),
    ],
)
def test_shap_values_of_one_output_are_those_of_the_named_or_the_second_label(
    sst, names, label, expected
):
    result = types.SimpleNamespace(
        data=["good ", "film"], values=np.array([1.0, -1.0]), output_names=names
    )
    assert adapters.from_shap(result, sst.read("good film"), label, sst.labels) == expected


def test_an_added_word_that_stands_twice_is_told_apart():
    found = sf.repair(
        sf.load("sentiment"),
        "It is not good, but it is not the worst film of the year either.",
        ["worst"],
    )
    assert "Adding 'not' (position 2) is the cheapest way" in str(found)


def test_real_words_are_asked_about_where_that_is_easy_for_maxima_too():
    """By bounds of boxes around the words this is undecided after thousands of subproblems."""
    asked = "the plot is thin but the acting is superb"
    found = sf.repair(sf.load("sentiment"), asked, [1, 2, 3, 6])
    assert isinstance(found.verdict, Proved)
    assert str(found) == "The given words already suffice for the label 'negative' (proved)."


def test_an_explanation_that_adds_nothing_says_that_the_given_words_suffice():
    found = sf.repair(
        sf.load("sst-fc25"), "a gorgeous film", ["gorgeous"], perturbation=sf.Deletion()
    )
    assert (found.added, found.status) == ((), "optimal")
    open_ = replace(found, verdict=Unknown("time is up"))
    assert open_.sufficed is True
    assert "undecided" not in str(open_)

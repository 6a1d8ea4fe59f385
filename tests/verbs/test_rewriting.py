"""Changed texts as evidence: only such as the classifier was run on, with marks where places
matter.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import make_classifier

import suffice as sf
from suffice.cli import main
from suffice.errors import InputError
from suffice.model.network import Network
from suffice.model.text import EMPTY, rewritten, written
from suffice.render import details
from suffice.verbs.details import Change
from suffice.verbs.rewriting import tried
from suffice.verify.contract import Witness

TEXT = "so very good, not bad"


def flips_on(*texts):
    """A classifier that gives these texts the label 'no', and all others 'yes'; none
    that is empty.
    """

    def predict(text):
        if not text:
            raise InputError("The text has no words.")
        return SimpleNamespace(label="no" if text in texts else "yes")

    return SimpleNamespace(predict=predict)


def removed(*places):
    return Witness(
        np.zeros((0, 0)), places, 0, -1.0, label="no", words=("",) * len(places), real=True
    )


@pytest.mark.parametrize(
    ("flipping", "places", "shown"),
    [
        (("so good, not bad", "so ␣ good, not bad"), (1,), "so good, not bad"),
        (("so ␣ good, not bad",), (1,), "so ␣ good, not bad"),
        (("so ␣ good, ␣ bad",), (1, 4), "so ␣ good, ␣ bad"),
        ((), (1,), None),
        (("␣ ␣ ␣␣ ␣ ␣",), (0, 1, 2, 3, 4, 5), "␣ ␣ ␣␣ ␣ ␣"),
        ((), (0, 1, 2, 3, 4, 5), None),
        (("anything",), (), None),
        (("anything",), (9,), None),
    ],
)
def test_a_text_is_shown_only_where_it_was_run_and_flips(flipping, places, shown):
    assert tried(flips_on(*flipping), written(TEXT), removed(*places)) == shown


def test_texts_that_an_answer_shows_flip_when_they_are_read_again():
    clf = sf.load("sst-cnn25")
    result = sf.explain(
        clf,
        "the story is never as funny as it thinks it is",
        perturbation=sf.Deletion(),
        seconds=20,
    )
    shown = [
        detail.flip
        for detail in result.details
        if detail.flip is not None and detail.flip.text is not None
    ]
    assert shown
    assert [clf.predict(flip.text).label for flip in shown] == [flip.label for flip in shown]


def test_what_is_said_and_shown_of_a_text_with_gaps_is_the_text_that_was_run():
    result = sf.explain(
        sf.load("sst-cnn25"),
        "a dull film with a great cast",
        perturbation=sf.Deletion(),
        seconds=20,
    )
    for text, said in (("a ␣ film with a ␣ cast", True), ("a film with a cast", False)):
        flip = Change("positive", -1.0, (1, 5), ("", ""), True, text)
        assert (
            details.counterexample(result, 1, flip).endswith("(␣: blanked, its place stays empty)")
            == said
        )
        detail = replace(result.details[1], flip=flip)
        pieces = details.about(result, detail)["flip"]["pieces"]
        shown = "".join(one["text"] if one["became"] is None else one["became"] for one in pieces)
        assert " ".join(shown.split()) == text


# --- texts that a person can type ---

FILMS = [
    "a dull film with a great cast",
    "the plot is thin but the acting is superb",
    "the story is never as funny as it thinks it is",
    "The jokes fall flat, but the cast is wonderful and the songs are great fun.",
]


def every_flip(clf, text, perturbation):
    """What the verbs say of one text as examples."""
    found = sf.explain(clf, text, perturbation=perturbation, seconds=20)
    yield from (
        (detail.flip, clf.predict(text).label)
        for detail in found.details
        if detail.flip is not None
    )
    yield sf.contrast(clf, text, perturbation=perturbation).flip, found.label
    yield sf.bias(clf, text, [0, 1, 2, 3, 4], perturbation=perturbation).witness, found.label
    yield (
        getattr(sf.is_robust(clf, text, [], perturbation=perturbation), "witness", None),
        found.label,
    )
    yield sf.repair(clf, text, [0], perturbation=perturbation).counterexample, found.label
    yield sf.explain(clf, text, perturbation=perturbation, exclude=range(5)).witness, found.label


@pytest.mark.parametrize("model", ["sentiment", "sst-cnn25", "topic"])
@pytest.mark.parametrize("perturbation", [None, sf.Deletion(), sf.Deletion(at_most=2)])
def test_what_is_called_removed_is_typed_without_it_and_flips(model, perturbation):
    clf = sf.load(model)
    seen = Counter[bool]()
    for text in FILMS:
        for flip, label in every_flip(clf, text, perturbation):
            if flip is None or "" not in flip.words:
                continue
            seen[flip.blanked] += 1
            new = dict(zip(flip.positions, flip.words, strict=True))
            typed = rewritten(clf.read(text), new)
            if not flip.blanked:
                assert flip.text == typed
                assert EMPTY not in typed
                assert clf.predict(typed).label == flip.label != label
            else:
                assert flip.text is None or EMPTY in flip.text
                assert typed == "" or clf.predict(typed).label != flip.label
    assert seen[False]
    assert not seen[True] or clf.ordered


def test_examples_that_can_be_typed_are_found_where_the_first_one_cannot(monkeypatch):
    clf = sf.load("sentiment")

    def blanked():
        found = (sf.explain(clf, text, seconds=20) for text in FILMS)
        return sum(
            one.flip is not None and one.flip.blanked for answer in found for one in answer.details
        )

    after = blanked()
    monkeypatch.setattr("suffice.verbs.why.typeable", lambda question, found, *_, **__: found)
    assert after < blanked()


def test_a_typed_example_is_one_of_the_set_and_its_certificate_holds():
    clf = sf.load("sst-cnn25")
    for text in FILMS:
        for limit in (None, 2):
            question = sf.Question(clf, text, perturbation=sf.Deletion(at_most=limit))
            found = sf.contrast(clf, text, perturbation=question.perturbation)
            if found.flip is not None:
                assert found.flip.positions == found.positions
                assert sf.check(found.certificate, clf, text=text).kind == "flip"
            verdict = sf.is_robust(clf, text, [0], perturbation=question.perturbation)
            if isinstance(verdict, sf.Refuted):
                assert 0 not in verdict.witness.positions
                assert len(verdict.witness.positions) <= (limit or len(text))
                assert sf.check(verdict.certificate, clf, text=text).kind == "refuted"


def test_a_set_that_leaves_places_empty_is_named_so_wherever_it_is_named(capsys):
    text = "a dull film with a great cast"
    for model, right, wrong in (
        ("sst-cnn25", "blanked", "removed"),
        ("topic", "removed", "blanked"),
    ):
        found = sf.explain(sf.load(model), text, perturbation=sf.Deletion())
        assert main(["explain", text, "--model", model, "--deletion"]) in (0, 3)
        shown = capsys.readouterr().out
        for said in (shown, found.to_html(), found._repr_html_()):
            assert f"may be {right}" in said
            assert f"be {wrong}" not in said
    program = sf.from_function(
        lambda texts: [[t.count("a"), 1.5] for t in texts], ["x", "y"], name="a"
    )
    assert "may be removed" in sf.explain(program, text, perturbation=sf.Deletion()).to_html()


def test_whether_places_count_is_read_off_the_first_step():
    for seed in range(3):
        clf = make_classifier(seed, length=3, dimension=2)
        first, *rest = clf.network.steps
        assert clf.ordered
        alike = replace(first, weight=np.tile(first.weight[:, :2], 3))
        assert not replace(clf, network=Network([alike, *rest])).ordered

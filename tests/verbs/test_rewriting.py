"""Changed texts as evidence: only such as the classifier was run on, with marks where places matter."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import suffice as sf
from suffice.errors import InputError
from suffice.model.text import written
from suffice.prove.verdict import Witness
from suffice.render import details
from suffice.verbs.details import Change
from suffice.verbs.rewriting import tried

TEXT = "so very good, not bad"


def flips_on(*texts):
    """A classifier that gives these texts the label 'no', and all others 'yes'; none that is empty."""

    def predict(text):
        if not text:
            raise InputError("The text has no words.")
        return SimpleNamespace(label="no" if text in texts else "yes")

    return SimpleNamespace(predict=predict)


def removed(*places):
    return Witness(np.zeros((0, 0)), places, 0, -1.0, label="no", words=("",) * len(places), real=True)


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
    result = sf.explain(clf, "the story is never as funny as it thinks it is", perturbation=sf.Deletion(), seconds=20)
    shown = [detail.flip for detail in result.details if detail.flip is not None and detail.flip.text is not None]
    assert shown
    assert [clf.predict(flip.text).label for flip in shown] == [flip.label for flip in shown]


def test_what_is_said_and_shown_of_a_text_with_gaps_is_the_text_that_was_run():
    result = sf.explain(sf.load("sst-cnn25"), "a dull film with a great cast", perturbation=sf.Deletion(), seconds=20)
    for text, said in (("a ␣ film with a ␣ cast", True), ("a film with a cast", False)):
        flip = Change("positive", -1.0, (1, 5), ("", ""), True, text)
        assert details.counterexample(result, 1, flip).endswith("(␣: removed, its place stays empty)") == said
        detail = replace(result.details[1], flip=flip)
        pieces = details.about(result, detail)["flip"]["pieces"]
        shown = "".join(one["text"] if one["became"] is None else one["became"] for one in pieces)
        assert " ".join(shown.split()) == text

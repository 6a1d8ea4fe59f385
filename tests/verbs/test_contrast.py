"""Contrast: every sentence is true of the question that was asked, towards one label or any,
decided or open.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import suffice as sf
from suffice.cli import main
from suffice.render import reports, verdicts

ROWS = {
    "good": [1.0, 0.0, 0.0],
    "plain": [0.0, 0.6, 0.8],
    "even": [0.5, 0.5, 0.1],
    "both": [0.0, 0.7, 0.7],
}
LABELS = ["a", "b", "c"]


@pytest.fixture(scope="module")
def sst():
    return sf.load("sst-fc25")


def box(name: str = "three") -> sf.BlackBox:
    """Texts of several words are read by their last; every other text is one of "good"."""
    return sf.from_function(
        lambda texts: np.array(
            [ROWS.get(text.split()[-1] if text else "", ROWS["good"]) for text in texts]
        ),
        labels=LABELS,
        name=name,
    )


def flip(to: str, towards: str | None, **more):
    return sf.contrast(
        box(), "good", perturbation=sf.WordSwap({"good": [to]}), towards=towards, **more
    )


@pytest.mark.parametrize(
    ("to", "towards", "said", "headline"),
    [
        ("plain", None, "turns 'a' into 'c'", "1 changed word flips it"),
        ("plain", "c", "turns 'a' into 'c'", "1 changed word turns it into “c”"),
        ("plain", "b", "lets 'b' reach 'a' ('c' wins then)", "1 changed word lets “b” reach it"),
        ("even", "b", "lets 'b' reach 'a' (a tie)", "1 changed word lets “b” reach it"),
        ("even", None, "lets 'b' reach 'a' (a tie)", "1 changed word flips it"),
        ("both", "b", "turns 'a' into 'b'", "1 changed word turns it into “b”"),
        ("both", "c", "turns 'a' into 'c'", "1 changed word turns it into “c”"),
    ],
)
def test_what_a_flip_does_is_said_of_the_label_that_was_asked_for(to, towards, said, headline):
    found = flip(to, towards)
    assert f"Changing 'good' {said}, and no cheaper set does (proved)" in str(found)
    assert verdicts.flip_headline(found) == headline
    assert headline in found.to_html()


def test_a_flip_to_another_label_is_no_flip_towards_the_one_asked_for():
    rows = {"good film": [1.0, 0.0, 0.0], "odd film": [0.1, 1.0, 0.0], "good cup": [0.9, 0.0, 0.1]}
    judge = sf.from_function(
        lambda texts: np.array([rows.get(t, [0.0, 0.0, 1.0]) for t in texts]),
        labels=LABELS,
        name="j",
    )
    allowed = sf.WordSwap({"good": ["odd"], "film": ["cup"]})
    any_label, towards_c = (
        sf.contrast(judge, "good film", perturbation=allowed, towards=aim) for aim in (None, "c")
    )
    assert (any_label.cost, towards_c.cost) == (1.0, 2.0)
    assert "nothing cheaper" in verdicts.flip_badge(towards_c)[2]
    # one word flips it, to “b”
    assert verdicts.flip_headline(towards_c) == "2 changed words turn it into “c”"


def test_what_is_open_names_the_aim_the_reason_and_what_is_ruled_out():
    words = ["w0", "w1", "w2", "w3"]
    swaps = {word: [f"{word}x", f"{word}y", f"{word}z"] for word in words}
    calm = sf.from_function(
        lambda texts: np.tile([1.0, 0.0, 0.0], (len(texts), 1)), labels=LABELS, name="calm"
    )
    asked = {"perturbation": sf.WordSwap(swaps), "towards": "b"}
    found = sf.contrast(calm, words, max_queries=60, **asked)
    assert found.status == "unknown"
    ruled_out = f"and none that costs less than {found.lower_bound:.0f} does (proved)"
    assert str(found) == (
        "Undecided (the limit of 60 texts is reached): no allowed change of the words was "
        "found that turns the label "
        f"into 'b', {ruled_out}."
    )
    assert any(f"costs less than {found.lower_bound:.0f}" in fact for fact in found.proved)
    assert verdicts.turned(found) == str(found)


def test_an_open_network_question_claims_nothing(sst):
    found = sf.contrast(sst, "the plot is thin", perturbation=sf.KNNBox(40), seconds=1e-9)
    assert found.status == "unknown"
    assert str(found).endswith("was found that flips the label, and none was ruled out.")


def test_a_flip_whose_cost_is_open_still_has_a_certificate(sst):
    found = sf.contrast(
        sst, "the plot is thin but the acting is superb", perturbation=sf.KNNBox(100), seconds=0.2
    )
    if found.status == "found":  # a fast machine proves it
        assert found.certificate is not None
        assert sf.check(found.certificate, sst).proved == found.proved
        assert "whether a cheaper set does is open" in str(found)
        assert not any("cheaper" in fact or "less" in fact for fact in found.proved)


def test_a_text_is_shown_as_a_flip_only_where_the_classifier_gives_the_label_that_is_named():
    """With a word removed the others move up when the text is read again: then a third label may
    win.
    """
    rng = np.random.default_rng(5)
    words = ["<PAD>", "<UNK>", *"abcdefgh"]
    shown = 0
    for _ in range(40):
        network = sf.Network.dense([(rng.standard_normal((4, 12)), rng.standard_normal(4))])
        classifier = sf.Classifier(
            network, rng.standard_normal((10, 3)), words, [*"wxyz"], 4, "<PAD>", "<UNK>"
        )
        found = sf.contrast(
            classifier, rng.choice(words[2:], 4).tolist(), perturbation=sf.Deletion()
        )
        if found.flipped_text is not None:
            shown += 1
            assert classifier.predict(found.flipped_text).label == found.flip.label
    assert shown


def test_costs_are_printed_with_every_digit_that_was_given(sst):
    text = "the plot is thin but the acting is superb"
    found = sf.contrast(sst, text, perturbation=sf.Deletion(), cost=lambda word: 1234567.5)
    assert found.flip is not None
    page = found.to_html()
    assert f"<dd>{len(found.positions) * 12345675 // 10}" in page
    assert "e+0" not in page
    assert "1234567.5" in reports._cost(replace(found, cost=1234567.5))[0][1]


def test_unchecked_answers_do_not_say_proved(sst):
    text = "the plot is thin but the acting is superb"
    allowed = sf.WordSwap({"superb": ["poor"], "thin": ["rich"]})
    for judge in (sst, box("other")):
        given = text if judge is sst else "good"
        swaps = allowed if judge is sst else sf.WordSwap({"good": ["plain"]})
        found = sf.contrast(judge, given, perturbation=swaps, self_check=False)
        assert found.status == "optimal"
        assert found.certificate is not None
        assert (found.proved, found.meta["checked"]) == ((), False)
        assert "not checked" in str(found)
        assert "proved" not in str(found) + verdicts.turned(found) + verdicts.flip_badge(found)[2]


def test_words_to_include_or_exclude_are_refused(sst, tmp_path, capsys):
    asked = sf.Question(sst, "the plot is thin", exclude=["plot"]).to_dict()
    (tmp_path / "question.json").write_text(json.dumps(asked), encoding="utf-8")
    assert (
        main(["contrast", "--question", str(tmp_path / "question.json"), "--model", "sst-fc25"])
        == 2
    )
    assert "no words to include or to exclude" in capsys.readouterr().err


def test_an_aim_on_the_command_line_counts_with_a_saved_question(tmp_path, capsys):
    model = sf.load("topic")
    text = "the team won the cup"
    (tmp_path / "question.json").write_text(
        json.dumps(sf.Question(model, text).to_dict()), encoding="utf-8"
    )
    aim = next(label for label in model.labels if label != model.predict(text).label)
    command = [
        "contrast",
        "--question",
        str(tmp_path / "question.json"),
        "--model",
        "topic",
        "--towards",
        aim,
    ]
    main([*command, "--json", "--seconds", "5"])
    assert json.loads(capsys.readouterr().out)["meta"]["towards"] == aim


def test_a_tie_as_the_text_stands_has_a_certificate():
    network = sf.Network.dense([(np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]), np.zeros(3))])
    words = ["<PAD>", "<UNK>", "good", "bad"]
    even = sf.Classifier(
        network, np.array([[0.0], [0.0], [1.0], [2.0]]), words, LABELS, 2, "<PAD>", "<UNK>"
    )
    found = sf.contrast(even, "good bad", perturbation=sf.Deletion())
    assert str(found) == "The label 'a' is a tie with 'b' as the text stands."
    assert found.proved == (
        "the text has the label 'a'",
        "another label has the score of 'a' as the text stands: a tie",
    )
    assert sf.check(found.certificate, even).optimal
    assert verdicts.flip_badge(found) == ("good", "✓", "proved: nothing cheaper does")


def test_towards_a_third_label_a_tie_is_named_and_no_line_of_a_certificate():
    """Of a text that two labels share nobody can prove that it keeps one; it said "line 1: the text
    itself ...".
    """
    rows = {"even": [0.5, 0.5, 0.0], "third": [0.2, 0.2, 0.6]}
    judge = sf.from_function(lambda texts: [rows[text] for text in texts], ["x", "y", "z"], "tie")
    swap = sf.WordSwap({"even": ["third"]})
    third, other = (
        sf.contrast(judge, "even", perturbation=swap, towards=label) for label in ("z", "y")
    )
    assert (third.status, third.flip, third.certificate) == ("unknown", None, None)
    assert str(third).startswith(
        "Undecided (the label 'x' is a tie with 'y' as the text stands): no allowed change"
    )
    assert str(other) == "The label 'x' is a tie with 'y' as the text stands."

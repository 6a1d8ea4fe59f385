"""The terminal: marked words, plain sentences, a live line; legible without colour and safe for any
text.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import suffice as sf
from suffice.model.classifier import Prediction
from suffice.render import auditors, guarantee, phrases, terminal

TEXT = "A gripping, beautifully acted film that never quite loses its nerve"


@pytest.fixture(scope="module")
def classifier():
    return sf.load("sst-fc25")


@pytest.fixture(scope="module")
def answer(classifier):
    return sf.explain(classifier, TEXT, perturbation=sf.KNNBox(120))


def printed(classifier, result, width=80, **settings) -> str:
    console = Console(file=io.StringIO(), width=width, **settings)
    terminal.show_explanation(console, result, classifier.predict(result.text))
    return console.file.getvalue()


def test_without_colour_needed_words_stand_in_brackets(classifier, answer):
    shown = printed(classifier, answer)
    assert re.findall(r"\[(.*?)\]", shown) == [word.text for word in answer.words]
    assert "\x1b" not in shown


def test_with_colour_they_are_marked_without_brackets(classifier, answer):
    shown = printed(classifier, answer, force_terminal=True, color_system="standard")
    assert "[gripping]" not in shown
    assert re.search(r"\x1b\[1;37;44m" + answer.words[0].text, shown)


def test_no_color_means_brackets_on_a_terminal_too(classifier, answer, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    shown = printed(classifier, answer, force_terminal=True)
    assert f"[{answer.words[0].text}]" in shown


def test_it_says_label_cost_and_status_in_plain_words(classifier, answer):
    shown = " ".join(printed(classifier, answer).split())
    assert "positive" in shown
    assert f"{len(answer.positions)} of {len(answer.text.words)} words" in shown
    assert "no allowed change of the others can change the label “positive”" in shown
    assert f"Cost {answer.cost:g}, the least possible" in shown
    assert "accepted by the independent checker" in shown


@pytest.mark.parametrize("status", ["optimal", "sufficient", "infeasible", "unknown"])
def test_every_status_has_its_sentence(classifier, answer, status):
    shown = printed(classifier, replace(answer, status=status))
    assert phrases.badge(replace(answer, status=status))[2] in " ".join(shown.split())


def test_an_impossible_wish_shows_its_witness(classifier):
    result = sf.explain(classifier, TEXT, perturbation=sf.KNNBox(500), exclude=range(12))
    assert result.status == "infeasible"
    shown = " ".join(printed(classifier, result).split())
    assert "✗ No set that does without the 12 excluded words is enough" in shown
    assert "Witness: negative when" in shown


def test_a_text_of_unknown_words_is_a_tie_and_not_a_label_that_stays():
    sentiment = sf.load("sentiment")
    result = sf.explain(sentiment, "zxqv blorp")
    assert (result.status, result.tied) == ("infeasible", "positive")
    shown = " ".join(printed(sentiment, result).split())
    assert (
        "No set is enough: proved impossible. “negative” is a tie with “positive” as the text "
        "stands"
    ) in shown
    assert "stays" not in shown
    assert "is a tie with 'positive' as the text stands" in str(result)
    assert "stays" not in str(sf.contrast(sentiment, "zxqv blorp"))


def even(texts):
    """A program that cannot tell: every text is a tie."""
    return [[0.5, 0.5]] * len(texts)


@pytest.mark.parametrize("asked", [True, False])
def test_every_verb_says_of_a_tie_that_it_is_one(asked):
    classifier = (
        sf.from_function(even, ["negative", "positive"], "even") if asked else sf.load("sentiment")
    )
    text = "zxqv blorp"
    removed = sf.Deletion()
    results = [
        sf.explain(classifier, text, perturbation=removed),
        sf.attribute(classifier, text, perturbation=removed),
        sf.attribute(classifier, text, perturbation=removed, of="minimal"),
        sf.repair(classifier, text, ["zxqv"], perturbation=removed),
        sf.bias(classifier, text, ["zxqv"], perturbation=removed),
        sf.contrast(classifier, text, perturbation=removed),
        sf.profile(classifier, text, lambda r: sf.Deletion(at_most=r), [1, 2]),
    ]
    for result in results:
        assert "the label 'negative' is a tie with 'positive' as the text stands" in str(
            result
        ).replace("The", "the")
        assert "exclude" not in str(result)
    assert all(item.needed is None for item in results[-1].growth)
    assert "the solver or method" not in guarantee.evidence(results[0])


STRANGE = {
    "wide": "這部電影 非常 好看 film " * 12,
    "right to left": "הסרט הזה נהדר film " * 12,
    "emoji": "great 👩‍👩‍👧‍👦 film 🎬🔥 " * 12,
    "one endless word": "a" * 700,
    "combining": "café " * 30,
}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE.keys())
@pytest.mark.parametrize("width", [40, 80])
def test_long_and_strange_texts_wrap_within_the_width(classifier, text, width):
    result = sf.explain(classifier, text, perturbation=sf.Deletion(), seconds=5)
    lines = printed(classifier, result, width).split("\n")
    assert len(lines) > 5
    assert max(map(cell_len, lines)) <= width


def test_control_and_direction_characters_cannot_play_tricks(classifier):
    text = "good \x1b[2J\x1b]0;owned\x07 film \u202egnp.exe\u202c \x00 \x9b31m"
    result = sf.explain(classifier, text, perturbation=sf.Deletion())
    shown = printed(classifier, result)
    assert not set(shown) & set("\x1b\x07\x00\x9b\u202e\u202c\r")
    assert "\ufffd" in shown


def test_every_character_of_the_text_is_printed_once_and_in_order(answer):
    assert "".join(piece.text for piece in phrases.pieces(answer.text, answer.positions)) == TEXT


def test_joiners_stay_and_marks_do_not():
    assert phrases.visible("می\u200cخواهم 👩\u200d👧\n\t") == "می\u200cخواهم 👩\u200d👧\n\t"
    assert phrases.visible("a\u200e\u2028b\ud83d") == "a\ufffd\ufffdb\ufffd"
    assert phrases.visible("one\r\ntwo\rthree") == "one\ntwo\ufffdthree"


@pytest.mark.parametrize(("options", "shown"), [([], "caf\\xe9"), (["--json"], "café")])
def test_a_terminal_that_is_not_unicode_is_no_reason_to_fail(options, shown):
    command = [
        sys.executable,
        "-m",
        "suffice.cli",
        "explain",
        "café great film",
        "--deletion",
        *options,
    ]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert shown in done.stdout.decode("utf-8")


def test_on_a_terminal_that_is_not_unicode_the_signs_of_proof_and_doubt_differ():
    """There a question mark stood for both."""
    pytest.importorskip("maraboupy")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "suffice.cli", "explain"]
    signs = {}
    for text, method in (("a great film", "search"), ("a great film", "hs"), ("qqqq", "search")):
        # which does not take sets of words
        options = ["--oracle", "marabou"] if method == "hs" else []
        done = subprocess.run(
            [*command, text, "--method", method, *options], capture_output=True, env=environment
        )
        assert done.stderr == b""
        words = done.stdout.decode("ascii")
        signs[done.returncode] = re.search(r"^  (\S) ", words, re.MULTILINE)[1]
    assert signs == {0: "+", 3: "?", 1: "x"}


# --- the live line ---


def test_the_live_line_shows_both_bounds_and_the_time():
    bounds = terminal.Bounds()
    bounds.report(0.0, 10.0, 0.1, tuple(range(10)))
    bounds.report(3.0, 5.0, 0.2, (1, 2, 3, 4, 5))
    line = bounds.line().plain
    assert "at least 3, at most 5" in line
    assert re.search(r"5 words so far, \d+\.\d s", line)
    assert line.startswith("━" * 8 + "╌" * 6 + " " * 14)


def test_on_a_terminal_a_search_draws_it_and_wipes_it_away(classifier):
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with terminal.live(console) as progress:
        result = sf.explain(classifier, TEXT, perturbation=sf.KNNBox(120), on_progress=progress)
        console.print("MARK")
    assert result.status == "optimal"
    drawn = console.file.getvalue()
    assert "at most" in drawn
    assert drawn.rstrip().endswith("\x1b[2K") or "\x1b[2K" in drawn.rpartition("at most")[2]


def test_in_a_pipe_there_is_no_live_line():
    console = Console(file=io.StringIO())
    with terminal.live(console) as progress:
        assert progress is None
    assert console.file.getvalue() == ""


def test_what_is_all_but_certain_is_not_called_certain():
    made = [Prediction("a", (0.0, 0.0), (share, 1 - share), 0.0) for share in (0.99996, 1.0, 0.848)]
    assert list(map(phrases.sure, made)) == ["over 99.9% sure", "100.0% sure", "84.8% sure"]


@pytest.mark.parametrize(
    "vectorizer", [CountVectorizer(), TfidfVectorizer()], ids=["network", "bag"]
)
def test_a_model_without_probabilities_has_a_margin_and_is_not_sure(vectorizer):
    """The softmax of an SVM's two scores is no probability of anything."""
    texts = ["good film", "fine film", "bad film", "poor film"]
    labels = ["yes", "yes", "no", "no"]
    pipeline = make_pipeline(vectorizer, LinearSVC()).fit(texts, labels)
    clf = sf.from_sklearn(pipeline)
    (margin,) = pipeline.decision_function(["a good film"])
    shown = printed(clf, sf.explain(clf, "a good film"))
    assert f"yes  ahead by a margin of {margin:.3g}" in shown
    assert "% sure" not in shown


def test_no_line_of_a_table_ends_in_spaces(classifier):
    for settings in ({}, {"force_terminal": True, "color_system": "standard"}):
        console = Console(file=io.StringIO(), width=60, **settings)
        terminal.show_words(
            console, "film", {"nearest words": ["movie", "picture"] * 20, "group": ["a"]}
        )
        auditors.show_profile(console, sf.profile(classifier, TEXT, sf.KNNBox, [5, 120]))
        lines = re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue()).split("\n")
        assert len(lines) > 8
        assert [line for line in lines if line != line.rstrip()] == []

"""Black boxes: words and changed texts, bad functions, numbers that move, files of answers,
certificates, tests.
"""

from __future__ import annotations

import copy
import json
import math
import pickle
import sqlite3
import tracemalloc
from collections import Counter
from dataclasses import replace
from enum import Enum
from itertools import product

import numpy as np
import pytest

import suffice as sf
from suffice.errors import InputError, ModelError, NotACertificate, NotChecked, Rejected
from suffice.model import answers as answers_module
from suffice.model.answers import AGAIN, BATCH, LARGE, MANY, SHORT, Answers
from suffice.model.text import Writer, rewritten, written
from suffice.proof import draws as drawing
from suffice.proof.certificate import Certificate
from suffice.proof.draws import draws
from suffice.proof.replay.given_question import all_texts, count_of
from suffice.render.guarantee import certified
from tests.blackboxes import SWAPS, WORDS, Truth, box, is_true, mask
from tests.forging import forged

LABELS = ["no", "yes"]


def rule(texts: list[str]) -> np.ndarray:
    """Good films are good, unless they are not."""
    marks = [("good" in text.lower()) - 2 * ("not" in text.lower().split()) - 0.5 for text in texts]
    return np.array([[-mark, mark] for mark in marks])


def good() -> sf.BlackBox:
    return sf.from_function(rule, LABELS, "rule")


# --- words and changed texts ---


def test_words_keep_their_case_and_place():
    text = good().read("A Good film, isn't it?")
    assert [word.text for word in text.words] == ["A", "Good", "film", ",", "isn't", "it", "?"]
    assert all(text.source[word.start : word.end] == word.text for word in text.words)
    assert good().read(["New-York", "isn't", "good..."]).source == "New-York isn't good..."
    assert [word.text for word in good().read(["it's", "good..."]).words] == ["it's", "good..."]


@pytest.mark.parametrize(
    ("source", "new", "expected"),
    [
        ("A Good film.", {1: ""}, "A film."),
        ("A Good film.", {0: ""}, "Good film."),
        ("A Good film.", {2: ""}, "A Good."),
        ("A Good film.", {3: ""}, "A Good film"),
        ("a good, film", {1: ""}, "a, film"),
        ("a good, film", {2: ""}, "a good film"),
        ("a good,film", {2: ""}, "a good film"),
        ("well (good) film", {1: ""}, "well good) film"),
        ("a  good \n film", {1: ""}, "a  film"),
        (" a good film ", {0: ""}, " good film "),
        (" a good film ", {2: ""}, " a good "),
        ("a good film", {0: "", 1: "", 2: ""}, ""),
        ("a good film", {1: "bad"}, "a bad film"),
        ("A Good film!", {1: "very bad", 3: ""}, "A very bad film"),
        ("3.5 stars", {1: ""}, "3.5"),
        ("3/5 stars", {1: ""}, "3 5 stars"),
        ("我喜欢这部电影。", {1: "", 2: ""}, "我这部电影。"),
        ("我爱NLP模型", {1: "", 3: ""}, "我NLP型"),
        ("好，看", {1: ""}, "好看"),
        ("ab，cd", {1: ""}, "ab cd"),
        ("我 喜 欢", {1: ""}, "我 欢"),
        ("ดีมาก", {1: ""}, "ดีาก"),
        ("a good film", {}, "a good film"),
    ],
)
def test_a_changed_text_is_the_original_with_spaces_mended(source, new, expected):
    assert rewritten(written(source), new) == expected


def test_what_is_left_is_never_fused_to_new_words():
    rng = np.random.default_rng(0)
    for _ in range(300):
        pieces = [
            str(rng.choice(["a", "good", ",", "(", ")", "film's", "!", " ", "  "]))
            for _ in range(8)
        ]
        source = "x" + "".join(pieces)
        text = written(source)
        out = [int(i) for i in np.flatnonzero(rng.random(len(text.words)) < 0.4)]
        kept = [word.text for word in text.words if word.position not in out]
        left = rewritten(text, dict.fromkeys(out, ""))
        assert [word.text for word in written(left).words] == kept if kept else left == ""


def test_many_changes_are_written_as_one_by_one():
    rng = np.random.default_rng(0)
    signs = ["a", "bc", "é", "e\u0301", "日", "👍", ",", ".", "(", " ", "  ", "\n", "'", "_"]
    for _ in range(400):
        text = written("x" + "".join(rng.choice(signs, size=10)))
        writer = Writer(text)
        for _ in range(6):
            places = np.flatnonzero(rng.random(len(text.words)) < 0.6).tolist()
            change = tuple((i, str(rng.choice(["", "", "new", "!"]))) for i in places)
            assert writer.write(change) == rewritten(text, dict(change))


def test_all_texts_are_written_as_one_by_one():
    rng = np.random.default_rng(1)
    signs = ["a", "bc", "e\u0301", "日", ",", ".", "(", " ", "  ", "'"]
    for _ in range(200):
        text = written("x" + "".join(rng.choice(signs, size=8)))
        count = len(text.words)
        options = [
            tuple({str(new) for new in rng.choice(["", "new", "!"], size=2)}) for _ in range(count)
        ]
        free = np.flatnonzero(rng.random(count) < 0.6).tolist()
        limit = int(rng.integers(0, len(free) + 1))
        changes = product(*((None, *options[i]) for i in free))
        news = [
            {i: new for i, new in zip(free, change, strict=True) if new is not None}
            for change in changes
        ]
        wanted = [rewritten(text, new) for new in news if len(new) <= limit]
        assert sorted(all_texts(text, options, free, limit)) == sorted(wanted)
        assert len(wanted) == count_of(options, free, limit)


def test_a_function_that_is_asked_much_gets_larger_batches_of_short_texts():
    sizes = []

    def predict(texts):
        sizes.append((len(texts), sum(map(len, texts))))
        return np.array([[0.0, 1.0]] * len(texts))

    answers = Answers(predict, ["no", "yes"], "d")
    answers.scores([f"short {i}" for i in range(MANY)])
    assert max(size for size, _ in sizes) == BATCH
    answers.scores([f"text {i}" for i in range(1000)])
    assert max(size for size, _ in sizes) == LARGE
    sizes.clear()
    answers.scores([f"long {i} " + 300 * "x" for i in range(1000)])
    assert BATCH < max(size for size, _ in sizes) < LARGE
    assert max(total for _, total in sizes) <= SHORT


def test_memory_for_answers_is_bounded_by_their_length(monkeypatch):
    monkeypatch.setattr(answers_module, "ROOM", 10_000)
    answers = Answers(lambda texts: np.array([[0.0, 1.0]] * len(texts)), ["no", "yes"], "d")
    for i in range(50):
        answers.scores([f"{i} " + 1000 * "x", f"{i} y"])
    assert 2 < len(answers.memory) < 25
    assert (answers.scores(["49 y"]) == [[0.0, 1.0]]).all()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("un cafe\u0301, noir", ["un", "cafe\u0301", ",", "noir"]),
        ("e\u0301le\u0300ve", ["e\u0301le\u0300ve"]),
        ("हिन्दी फ़िल्म अच्छी है।", ["हिन्दी", "फ़िल्म", "अच्छी", "है", "।"]),
        ("good 👩‍👩‍👧 👍🏽! ❤️", ["good", "👩‍👩‍👧", "👍🏽", "!", "❤️"]),
        ("... !", [".", ".", ".", "!"]),
    ],
)
def test_marks_belong_to_the_word_that_they_stand_on(source, words):
    text = written(source)
    assert [word.text for word in text.words] == words
    assert [source[word.start : word.end] for word in text.words] == words


def test_a_word_that_ends_in_a_mark_is_not_fused_with_the_next():
    assert rewritten(written("cafe\u0301,bar"), {1: ""}) == "cafe\u0301 bar"


# --- bad functions ---


class Unready:
    """As a tensor of torch that has a gradient: it raises RuntimeError where numbers are wanted."""

    def __init__(self, texts):
        self.texts = texts

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )


def test_a_function_may_use_its_array_again():
    kept = np.zeros((4096, 2))

    def predict(texts):
        kept[: len(texts)] = [[0.0, 1.0] if "good" in text else [1.0, 0.0] for text in texts]
        return kept[: len(texts)]

    result = sf.explain(
        sf.from_function(predict, LABELS), "a good film", perturbation=sf.Deletion()
    )
    assert [word.text for word in result.words] == ["good"]


@pytest.mark.parametrize(
    ("predict", "words"),
    [
        (lambda texts: np.zeros((len(texts), 3)), r"\(\d+, 2\), not \(\d+, 3\)"),
        (
            lambda texts: np.zeros(len(texts)),
            r"one number for each text \(0 for the first\).*'yes'.*column_stack",
        ),
        (
            lambda texts: np.full((len(texts), 1), 0.25),
            r"one number for each text \(0.25 for the first\)",
        ),
        (
            lambda texts: np.array(["yes"] * len(texts)),
            r"a label for each text \('yes' for the first\).*predict_proba",
        ),
        (lambda texts: ["perhaps"] * len(texts), "a label for each text.*predict_proba"),
        (
            lambda texts: np.ones(len(texts), dtype=np.int64),
            r"a label for each text \(1 for the first\)",
        ),
        (
            lambda texts: np.ones((len(texts), 2, 1)),
            "a row for each text and a column for each label",
        ),
        (lambda texts: [["a", "b"] for _ in texts], "array of numbers"),
        (lambda texts: np.full((len(texts), 2), 1j), "complex numbers have no order"),
        (Unready, "array of numbers.*detach"),
        (lambda texts: None, "gave None"),
        (lambda texts: np.full((len(texts), 2), np.nan), "not a finite number"),
        (lambda texts: [[0.0, np.inf]] * len(texts), "not a finite number"),
        (lambda texts: 1 / 0, "failed on .* ZeroDivisionError"),
        (lambda texts: np.random.default_rng().random((len(texts), 2)), "not deterministic"),
        (
            lambda texts: np.array([[len(texts) / 10, 0.0]] * len(texts)),
            "change by .* with the batch",
        ),
    ],
)
def test_a_bad_function_gets_one_clear_sentence(predict, words):
    with pytest.raises(ModelError, match=words) as caught:
        sf.explain(sf.from_function(predict, LABELS), "a good film", perturbation=sf.Deletion())
    assert "\n" not in str(caught.value)


class Answer(Enum):
    NO = "no"
    YES = "yes"


@pytest.mark.parametrize("labels", [{0: "no", 1: "yes"}, {"no", "yes"}, frozenset(["no", "yes"])])
def test_labels_that_have_no_order_are_refused(labels):
    """Of a dictionary the keys were taken, and the names it gives were lost."""
    with pytest.raises(ModelError, match="must be a list of strings, in the order of the scores"):
        sf.from_function(lambda texts: [[0.0, 1.0]] * len(texts), labels, "rule")


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (list(np.array(["no", "yes"])), ("no", "yes")),
        (np.array(["no", "yes"]), ("no", "yes")),
        ([0, 1], ("0", "1")),
        (np.array([0, 1]), ("0", "1")),
        ([0.0, np.float64(1.0)], ("0.0", "1.0")),
        ([False, np.True_], ("False", "True")),
        (list(Answer), ("no", "yes")),
    ],
    ids=str,
)
def test_labels_of_any_kind_are_plain_strings_in_every_answer(labels, names, tmp_path):
    """Also np.str_, which is a string but prints as np.str_('yes') and cannot be interned."""
    box = sf.from_function(rule, labels, "rule")
    assert box.labels == names
    assert {type(name) for name in box.labels} == {str}
    texts = ["she has a good film", "not good"]
    found = sf.audit(box, texts, ["good"], out=tmp_path / "a.jsonl", perturbation=sf.Deletion())
    assert found.overall.asked == 2
    result = sf.explain(box, texts[0])
    assert f"the label {names[1]!r}," in str(result)
    assert (
        sf.contrast(box, texts[0], towards=labels[0], perturbation=sf.Deletion()).flip.label
        == names[0]
    )


def test_labels_of_a_network_are_plain_strings_too(tiny):
    named = replace(tiny, labels=np.array([0, 1]))
    assert named.labels == ("0", "1")
    assert named.label_index(1) == named.label_index("1") == 1
    with pytest.raises(InputError, match="label 'True' is unknown: this classifier has 0, 1"):
        named.label_index(True)


def test_whole_numbers_for_labels_are_votes_and_no_probabilities():
    """As `to_categorical` of a label makes them; a program that knows how sure it is gives
    fractions.
    """
    box = sf.from_function(
        lambda texts: [[0, 1] if "good" in text else [1, 0] for text in texts], LABELS, "votes"
    )
    result = sf.explain(box, "a good film", perturbation=sf.Deletion())
    assert box.predict("a good film").probabilities is None
    assert "hand in its predict_proba" in " ".join(result.meta["asked"]["notes"])
    assert sf.explain(good(), "a good film").meta["asked"]["notes"] == []


def test_only_what_adds_up_to_one_is_a_probability():
    def shares(texts: list[str]) -> np.ndarray:
        return np.array([[0.25, 0.75] if "good" in text else [0.5, 0.5] for text in texts])

    box = sf.from_function(shares, LABELS, "shares")
    assert box.predict("good").probabilities == (0.25, 0.75)
    assert good().predict("good").probabilities is None
    assert (
        sf.from_function(lambda texts: 2 * shares(texts), LABELS, "twice")
        .predict("good")
        .probabilities
        is None
    )


def test_labels_and_settings_that_make_no_sense_are_refused():
    for labels in (
        ["one"],
        ["a", "a"],
        "ab",
        [1, "1"],
        [True, "True"],
        [None, 1],
        [["a"], ["b"]],
        None,
        2,
    ):
        with pytest.raises(ModelError, match=r"labels|Labels|label must"):
            sf.from_function(rule, labels)
    with pytest.raises(ModelError, match="function"):
        sf.from_function(None, LABELS)
    with pytest.raises(InputError, match="no words"):
        sf.explain(good(), "  ")
    for settings in (
        {"padding": "feature"},
        {"method": "hs"},
        {"oracle": "milp"},
        {"confidence": 1.0},
        {"confidence": 99},
        {"max_queries": 0},
        {"max_queries": 2.5},
        {"cache": 5},
    ):
        with pytest.raises(InputError):
            sf.explain(good(), "a good film", **settings)
    with pytest.raises(InputError, match="black boxes"):
        sf.explain(sf.load("sst-fc25"), "a good film", max_queries=10)


@pytest.mark.parametrize(
    "kind", [sf.KNNBox(3), sf.KNNHull(3), sf.EpsilonBall(0.1), sf.Boxes([[0.0]], [[1.0]])]
)
def test_sets_of_vectors_are_refused_with_what_to_use(kind):
    for ask in (sf.explain, sf.contrast, sf.explain_all):
        with pytest.raises(InputError, match=r"sf\.Deletion"):
            list(ask(good(), "a good film", perturbation=kind))
    with pytest.raises(InputError, match=r"sf\.Deletion"):
        sf.bias(good(), "a good film", ["good"], perturbation=kind)


def test_the_default_set_is_removal_or_a_bundled_substitute():
    result = sf.explain(good(), "a good film", max_queries=5000)
    assert result.meta["perturbation"]["kind"] == "removal-or-swap"
    assert result.status == "optimal"
    assert [word.text for word in result.words] == ["good"]


# --- numbers that move ---


def shaky(shift: float):
    """The numbers move a little with the batch, as in single precision."""
    inner = box(7, smooth=2.0).function

    def predict(texts):
        return inner(texts) + np.array([[shift * (len(texts) % 7), 0.0]])

    return predict


def test_numbers_that_move_a_little_decide_nothing_near_zero():
    text = " ".join(WORDS[:6])
    clf = sf.from_function(shaky(1e-6), LABELS)
    truth = Truth(sf.Question(box(7, smooth=2.0), text, perturbation=sf.Deletion()))
    result = sf.explain(clf, text, perturbation=sf.Deletion())
    assert 0 < clf.answers.tolerance < 1e-2
    assert result.status == "optimal"
    assert mask(result.positions) in truth.cheapest


def test_what_is_too_close_to_call_is_neither_kept_nor_a_flip():
    """Without 'film' the margin is within what the numbers move by: no answer may rest on it."""

    def predict(texts):
        sure = [[0.0, 1.0 if "film" in text else 1e-7] for text in texts]
        return np.array(sure) + 1e-7 * (len(texts) % 5)  # moves both scores, and
        # so the margin by rounding only: the second column moves more

    def moving(texts):
        rows = predict(texts)
        rows[:, 1] += 1e-6 * (len(texts) % 3)
        return rows

    clf = sf.from_function(moving, LABELS)
    result = sf.explain(clf, "one film more", perturbation=sf.Deletion())
    assert clf.answers.tolerance > 0
    assert result.status == "sufficient"  # film holds it; whether anything is needed is open
    assert [word.text for word in result.words] == ["film"]
    assert result.lower_bound == 0
    assert "too close to call" in result.meta["reason"]
    verdict = sf.is_robust(clf, "one film more", ["one"], perturbation=sf.Deletion())
    assert isinstance(verdict, sf.Unknown)
    assert sf.bias(clf, "one film more", ["film"], perturbation=sf.Deletion()).status == "unknown"
    assert sf.contrast(clf, "one film more", perturbation=sf.Deletion()).status == "unknown"
    assert isinstance(
        sf.is_robust(clf, "one film more", ["film"], perturbation=sf.Deletion()), sf.Proved
    )


def test_a_tie_is_a_flip():
    clf = sf.from_function(
        lambda texts: np.array([[1.0, 1.0 + ("good" in text)] for text in texts]), LABELS
    )
    result = sf.explain(clf, "a good film", perturbation=sf.Deletion())
    assert [word.text for word in result.words] == ["good"]
    tied = sf.explain(clf, "a film", perturbation=sf.Deletion())
    assert tied.status == "infeasible"


# --- answers on the disk ---


def test_answers_are_kept_in_a_file(tmp_path):
    calls: list[str] = []

    def predict(texts):
        calls.extend(texts)
        return rule(texts)

    def ask():
        clf = sf.from_function(predict, LABELS, "paid")
        return sf.explain(
            clf, "not a good film", perturbation=sf.Deletion(), cache=tmp_path / "answers.sqlite"
        )

    first = ask()
    paid = len(calls)
    kept = len(set(calls))
    again = ask()
    assert len(calls) == paid + kept  # so few are all asked again
    assert again.positions == first.positions
    assert first.stats["queries"] == paid
    assert again.stats["queries"] == kept
    assert "(proved: every allowed text was run)" in str(again)
    paid = len(calls)
    renamed = sf.from_function(
        predict, LABELS, "paid, version 2", cache=tmp_path / "answers.sqlite"
    )
    sf.explain(renamed, "not a good film", perturbation=sf.Deletion())
    assert len(calls) > paid + kept


LONG_TEXT = "a good film that nobody else would see twice"


def from_a_file(path, change=None, **options):
    """An answer that rests on a file which another process wrote, with the texts that are asked for
    it.
    """
    asked: list[str] = []
    if not path.exists():
        sf.explain(
            sf.from_function(rule, LABELS, "rule", version="1"),
            LONG_TEXT,
            perturbation=sf.Deletion(),
            cache=path,
        )
    if change is not None:
        with sqlite3.connect(path) as base:
            base.execute(change)
        base.close()

    def predict(texts):
        asked.extend(texts)
        return rule(texts)

    clf = sf.from_function(predict, LABELS, "rule", version="1")
    return sf.explain(clf, LONG_TEXT, perturbation=sf.Deletion(), cache=path, **options), asked


def test_an_answer_that_rests_on_a_file_says_so_and_is_not_called_proved(tmp_path):
    found, asked = from_a_file(tmp_path / "answers")
    assert found.status == "optimal"
    assert len(asked) == AGAIN == found.stats["queries"]
    assert found.proved == ()
    said = found.meta["asked"]["file"]
    assert (said["name"], said["again"]) == ("answers", AGAIN)
    assert said["texts"] > 200
    assert "proved" not in str(found)
    assert (
        f"according to the file of answers 'answers', for {said['texts']} texts; {AGAIN} "
        "others of it"
    ) in str(found)


GUARDED = ["a", "film", "that", "nobody", "else"]


def test_no_verb_calls_what_rests_on_a_file_proved(tmp_path):
    asked = [
        sf.explain,
        sf.contrast,
        sf.attribute,
        lambda *given, **more: sf.bias(*given, GUARDED, **more),
    ]
    verbs = [*asked, lambda *given, **more: sf.audit(given[0], [given[1]], GUARDED, **more)]
    for place, verb in enumerate(verbs):
        others = {word: ["x", "y"] for word in LONG_TEXT.split() if word != "good"}
        more = {"perturbation": sf.WordSwap(others, at_most=3)}
        for again in (False, True):
            clf = sf.from_function(rule, LABELS, "rule", version="1")
            said = str(verb(clf, LONG_TEXT, cache=tmp_path / f"answers {place}", **more))
            # an audit says so, and claims nothing by it
            claimed = said.replace("Nothing was proved: ", "")
            assert again == ("proved" not in claimed), said


def test_which_texts_of_a_file_are_asked_again_nobody_can_tell(tmp_path):
    first, second = (set(from_a_file(tmp_path / "answers")[1]) for _ in range(2))
    assert first != second


@pytest.mark.parametrize(
    "change",
    [
        "update answers set scores = '[-9.0, 9.0]'",
        "update answers set scores = replace(scores, '0.5', '0.5000001')",
    ],
)
def test_a_file_of_answers_that_lies_is_refused(change, tmp_path):
    with pytest.raises(
        InputError, match=r"The file of answers .* is not this program's: asked again, "
    ):
        from_a_file(tmp_path / "answers", change)


def test_one_lie_among_few_texts_is_always_found(tmp_path):
    clf = sf.from_function(rule, LABELS, "rule", version="1", cache=tmp_path / "answers")
    sf.explain(clf, "not a good film", perturbation=sf.Deletion())
    with sqlite3.connect(tmp_path / "answers") as base:
        base.execute("update answers set scores = '[-0.5, 0.5]' where text = 'not good'")
    base.close()
    again = sf.from_function(rule, LABELS, "rule", version="1", cache=tmp_path / "answers")
    with pytest.raises(InputError, match="asked again, 'not good' gets other scores"):
        sf.explain(again, "not a good film", perturbation=sf.Deletion())


@pytest.mark.parametrize(
    "ask", [sf.bias, sf.contrast, sf.is_robust, sf.attribute, sf.explain_all, sf.BlackBox.predict]
)
def test_no_way_to_ask_believes_a_file(ask, tmp_path):
    ways = {sf.bias: (["good"],), sf.is_robust: (["not"],)}
    more = {} if ask is sf.BlackBox.predict else {"perturbation": sf.Deletion()}

    def answer():
        clf = sf.from_function(rule, LABELS, "rule", version="1", cache=tmp_path / "answers")
        found = ask(clf, "not a good film", *ways.get(ask, ()), **more)
        return list(found) if ask is sf.explain_all else found

    clf = sf.from_function(rule, LABELS, "rule", version="1", cache=tmp_path / "answers")
    clf.predict("not a good film")
    answer()
    with sqlite3.connect(tmp_path / "answers") as base:
        base.execute("update answers set scores = '[-9.0, 9.0]'")
    base.close()
    with pytest.raises(InputError, match="is not this program's"):
        answer()


def test_texts_that_are_asked_again_count_within_the_limit(tmp_path):
    found, asked = from_a_file(tmp_path / "answers", max_queries=AGAIN - 1)
    assert len(asked) <= AGAIN - 1
    assert found.stats["queries"] == len(asked)
    assert found.status != "optimal"
    assert found.meta["reason"] == f"the limit of {AGAIN - 1} texts is reached"
    found, asked = from_a_file(tmp_path / "answers", max_queries=AGAIN)
    assert (found.status, len(asked)) == ("optimal", AGAIN)


def test_the_checker_believes_no_file(tmp_path):
    found, _ = from_a_file(tmp_path / "answers")
    asked: list[str] = []

    def predict(texts):
        asked.extend(texts)
        return rule(texts)

    clf = sf.from_function(predict, LABELS, "rule", version="1", cache=tmp_path / "answers")
    assert sf.check(found.certificate, clf).optimal
    assert len(set(asked)) > 200


def test_a_damaged_file_of_answers_is_not_believed(tmp_path):
    file = tmp_path / "answers.sqlite"
    clf = sf.from_function(rule, LABELS, "rule", cache=file)
    best = sf.explain(clf, "not a good film", perturbation=sf.Deletion())
    base = sqlite3.connect(file)
    base.execute("update answers set scores = '[1, 2, 3]' where rowid % 3 = 0")
    base.execute("update answers set scores = '[NaN, 2]' where rowid % 3 = 1")
    base.execute("update answers set scores = ? where rowid % 6 = 2", [f"[1, {'9' * 400}]"])
    base.execute("update answers set scores = ? where rowid % 6 = 5", ["[" * 100_000])
    base.execute("update moves set size = 'no number'")
    base.commit()
    base.close()
    again = sf.from_function(rule, LABELS, "rule", cache=file)
    assert (
        sf.explain(again, "not a good film", perturbation=sf.Deletion()).positions == best.positions
    )
    file.write_bytes(b"not a database at all" * 100)
    with pytest.raises(InputError, match="cannot be used"):
        sf.explain(good(), "a good film", perturbation=sf.Deletion(), cache=file)
    with pytest.raises(InputError, match="no folder"):
        sf.explain(
            good(), "a good film", perturbation=sf.Deletion(), cache=tmp_path / "none" / "a.sqlite"
        )


# --- certificates ---


def certificates() -> list[tuple[sf.BlackBox, Certificate]]:
    clf = box(11, 3)
    text = " ".join(WORDS[:6])
    settings = [
        {"perturbation": sf.Deletion()},
        {"perturbation": sf.RemoveOrSwap(SWAPS, at_most=2)},
    ]
    found = [sf.explain(clf, text, cost={"film": 2.0}, **one).certificate for one in settings]
    found += [sf.bias(clf, text, [i], **one).certificate for one in settings for i in (0, 4)]
    found += [
        sf.is_robust(clf, text, held, **one).certificate
        for one in settings
        for held in ([], [0, 1, 2, 3, 4])
    ]
    found += [sf.contrast(clf, text, **one).certificate for one in settings]
    found += [sf.contrast(box(2, 2, 9.0), "us", perturbation=sf.WordSwap({})).certificate]
    return [(clf, one) for one in found[:-1]] + [(box(2, 2, 9.0), found[-1])]


def spoilt(lines: list[dict]) -> list[tuple[str, list[dict]]]:
    """Each certificate with one thing changed so that it says too much, or nothing."""
    found = []

    def variant(name, change):
        copied = copy.deepcopy(lines)
        try:
            change(copied)
        except (KeyError, IndexError):
            return
        if json.dumps(copied) != json.dumps(lines):
            found.append((name, copied))

    def flips(copied):
        return [line["flip"] for line in copied if "flip" in line]

    def asked(copied):
        return next(line["asked"] for line in copied if "asked" in line)

    variant("model", lambda c: c[0].update(model="0" * 64))
    variant("label", lambda c: c[0].update(label="perhaps" if c[0]["label"] != "perhaps" else "no"))
    variant("no label", lambda c: c[0].update(label="other"))
    variant("text", lambda c: c[0].update(text=c[0]["text"] + " indeed"))
    variant("words", lambda c: c[0]["words"].pop())
    variant("mask", lambda c: c[0].update(mask="x"))
    variant("field", lambda c: c[0].update(more=1))
    variant("set", lambda c: c[0]["perturbation"].update(kind="knn-box"))
    variant("limit", lambda c: c[0]["perturbation"].update(at_most=0))
    variant("claim", lambda c: c[0]["claim"].update(kind="proved"))
    claim = lines[0]["claim"]
    if isinstance(claim.get("lower"), int):
        variant(
            "lower",
            lambda c: c[0]["claim"].update(lower=claim["lower"] + 1, cost=claim["cost"] + 1),
        )
        variant("cost", lambda c: c[0]["claim"].update(cost=claim["cost"] - 1))
    variant("costs", lambda c: c[0]["claim"]["costs"].__setitem__(0, 0))
    variant("positions", lambda c: c[0]["claim"]["positions"].append(99))
    variant("fewer words", lambda c: c[0]["claim"]["positions"].pop())
    variant(
        "exhausted",
        lambda c: (
            asked(c).update(texts=asked(c)["texts"] - 1) if any("asked" in x for x in c) else 0
        ),
    )
    variant("free", lambda c: asked(c)["free"].pop() if any("asked" in x for x in c) else 0)
    variant("flip words", lambda c: flips(c)[0]["words"].__setitem__(0, "never allowed"))
    variant("flip text", lambda c: flips(c)[0].update(text="another"))
    variant("flip less", lambda c: (flips(c)[0]["changed"].pop(), flips(c)[0]["words"].pop()))
    variant("flip label", lambda c: flips(c)[0].update(label=lines[0]["label"]))
    variant("flip margin", lambda c: flips(c)[0].update(margin=-1.0))
    variant("other line", lambda c: c.append({"note": "all is well"}))
    variant("two in a line", lambda c: c[1].update(more=1))
    variant("drawn", lambda c: c.append({"drawn": {}}))
    variant("name", lambda c: c[0].update(name=7))
    variant("ends", lambda c: c[0]["words"][0].__setitem__(0, 0.0))
    if isinstance(lines[0]["claim"].get("cost"), int):
        variant(
            "cost with a point", lambda c: c[0]["claim"].update(cost=float(c[0]["claim"]["cost"]))
        )
    variant(
        "true",
        lambda c: c[0]["claim"]["positions"].__setitem__(0, bool(c[0]["claim"]["positions"][0])),
    )
    variant("format", lambda c: c[0].update(certificate="asked 1"))
    variant("flip order", lambda c: flips(c)[0]["changed"].append(0))
    if len(lines) > 1:
        variant("no evidence", lambda c: c.__delitem__(slice(1, None)))
    return found


def test_every_certificate_is_accepted_and_every_spoilt_one_rejected(tmp_path):
    names = set()
    for clf, certificate in certificates():
        assert sf.check(certificate, clf)
        certificate.save(tmp_path / "c")
        assert sf.check(tmp_path / "c", clf)
        for name, lines in spoilt([json.loads(json.dumps(line)) for line in certificate.lines]):
            with pytest.raises((Rejected, NotACertificate)):
                print(name, sf.check(Certificate(tuple(lines)), clf))
            names.add(name)
    assert len(names) >= 20


def test_nothing_false_is_accepted_of_certificates_changed_anywhere():
    rng = np.random.default_rng(9)
    seen = Counter()
    sources = [(clf, json.loads(json.dumps(list(one.lines)))) for clf, one in certificates()]
    for number in range(1500):
        clf, lines = sources[number % len(sources)]
        what, changed = forged(lines, rng)
        try:
            sf.check(Certificate(tuple(changed)), clf)
        except (Rejected, NotACertificate):
            seen["rejected"] += 1
            continue
        seen["accepted"] += 1
        assert is_true(clf, changed[0]), what
    assert seen["rejected"] > 1000
    assert seen["accepted"] > 30  # or the truth would hardly be asked


def test_a_flip_has_the_label_that_it_names():
    """Among several labels a text that flips has one of the others: which, is said of it, and
    looked at.
    """
    clf = box(11, 3)
    found = sf.contrast(clf, " ".join(WORDS[:6]), perturbation=sf.Deletion())
    head, line, *rest = json.loads(json.dumps(list(found.certificate.lines)))
    (other,) = {*clf.labels} - {found.label, line["flip"]["label"]}
    forged = Certificate((head, {"flip": {**line["flip"], "label": other}}, *rest))
    with pytest.raises(Rejected, match="has the label"):
        sf.check(forged, clf)


def test_the_sentence_says_what_words_may_become_and_cost():
    clf = box(11, 3)
    text = " ".join(WORDS[:4])
    swaps = sf.RemoveOrSwap({WORDS[0]: ["one", "two"]}, at_most=2)
    found = sf.explain(clf, text, perturbation=swaps, cost={WORDS[1]: 2.5})
    said = sf.check(found.certificate, clf).sentence
    assert f"{WORDS[0]!r} nothing (removed) or 'one' or 'two'" in said
    assert f"{WORDS[1]!r} 2.5" in said


def test_flips_that_are_hard_to_hit_end_with_the_time():
    """A puzzle in the flips takes the checker no longer than it was given: what is not finished is
    not accepted.
    """
    rng = np.random.default_rng(3)
    count = 90
    words = [f"w{i}" for i in range(count)]
    clf = sf.from_function(
        lambda texts: [[float(len(t.split()) > count - 3), 0.5] for t in texts], ["y", "n"], "short"
    )
    honest = sf.is_robust(clf, words, [], perturbation=sf.Deletion(), self_check=False).certificate
    lines = []
    for some in {tuple(sorted(rng.choice(count, 3, replace=False).tolist())) for _ in range(260)}:
        left = " ".join(word for i, word in enumerate(words) if i not in some)
        lines.append({"flip": {"changed": [*some], "words": [""] * 3, "text": left, "label": "n"}})
    costs = {
        "costs": [1] * count,
        "unit": "1",
        "include": [],
        "exclude": [],
        "cost": count,
        "lower": 42,
    }
    claim = {"kind": "cheapest", "positions": [*range(count)], **costs}
    asked = {"asked": {"free": [], "at_most": None, "texts": 1}}
    forged = Certificate(({**honest.lines[0], "claim": claim}, *lines, asked))
    with pytest.raises(NotChecked):
        sf.check(forged, clf, seconds=0.5)


def test_a_model_that_behaves_otherwise_is_found_out():
    clf = good()
    certificate = sf.explain(clf, "not a good film", perturbation=sf.Deletion()).certificate
    other = sf.from_function(lambda texts: rule(texts) + np.array([[0.0, 3.0]]), LABELS, "rule")
    with pytest.raises(Rejected):
        sf.check(certificate, other)


def test_the_checker_asks_anew():
    calls: list[str] = []

    def predict(texts):
        calls.extend(texts)
        return rule(texts)

    clf = sf.from_function(predict, LABELS)
    result = sf.explain(clf, "this is not a good film", perturbation=sf.Deletion())
    before = len(calls)
    checked = sf.check(result.certificate, clf)
    assert len(calls) > before
    assert f"{len(calls) - before} texts were run again" in checked.sentence


def test_a_sample_says_that_it_is_one():
    clf = box(2, smooth=3.0)
    result = sf.explain(clf, " ".join(WORDS), perturbation=sf.Deletion())
    checked = sf.check(result.certificate, clf, sample=5)
    assert "sample of 5" in checked.sentence
    assert "proves nothing" in checked.sentence
    assert not checked.optimal
    with pytest.raises(InputError):
        sf.check(result.certificate, clf, sample=0)


def test_certificates_do_not_cross_between_black_boxes_and_networks():
    network = sf.load("sst-fc25")
    mine = sf.explain(good(), "a good film", perturbation=sf.Deletion()).certificate
    theirs = sf.explain(network, "a good film", perturbation=sf.Deletion()).certificate
    with pytest.raises(NotACertificate, match="about a black box"):
        sf.check(mine, network)
    with pytest.raises(NotACertificate, match="not a certificate about a black box"):
        sf.check(theirs, good())


# --- tested ---


def stubborn() -> sf.BlackBox:
    """Two words decide; far too many others do not matter."""
    return sf.from_function(
        lambda texts: np.array(
            [[0.0, 2.0 * ("good" in t) + 2.0 * ("fine" in t) - 1.0] for t in texts]
        ),
        LABELS,
        "stubborn",
    )


LONG = "good fine " + " ".join(f"word{i}" for i in range(30))


def test_what_cannot_be_exhausted_is_tested_only_on_request():
    result = sf.explain(stubborn(), LONG, perturbation=sf.Deletion(), max_queries=4000)
    assert result.status == "sufficient"
    assert result.lower_bound == 1
    assert result.tested is None
    assert result.meta["candidate"]["up_to"] >= 1
    tested = sf.explain(
        stubborn(), LONG, perturbation=sf.Deletion(), max_queries=4000, confidence=0.99
    )
    assert tested.status == "tested"
    assert tested.cost == tested.lower_bound == 1
    assert tested.tested.confidence == 0.99
    assert tested.tested.share == pytest.approx((0.01 / 2) ** (1 / tested.tested.count))
    assert tested.tested.up_to >= 1
    assert "tested on" in str(tested)
    assert "suffice for" not in str(tested)
    checked = sf.check(tested.certificate, stubborn())
    assert checked.kind == "tested"
    assert not checked.optimal
    assert sf.Explanation.from_json(tested.to_json()).tested == tested.tested


@pytest.mark.parametrize(
    "change",
    [
        {"count": 10**6},
        {"share": 0.99999},
        {"look": 3},
        {"confidence": 0.9999},
        {"lower": 2},
        {"positions": [1]},
    ],
)
def test_a_test_that_says_too_much_is_rejected(change):
    tested = sf.explain(
        stubborn(), LONG, perturbation=sf.Deletion(), max_queries=1500, confidence=0.99
    )
    lines = [json.loads(json.dumps(line)) for line in tested.certificate.lines]
    lines[0]["claim"].update(change)
    with pytest.raises(Rejected):
        sf.check(Certificate(tuple(lines)), stubborn())


def test_a_flip_that_a_test_draws_is_exact():
    """Rare flips: what a test meets is a counterexample like any other."""
    for seed in range(5):
        clf = box(seed, smooth=0.1)
        result = sf.explain(
            clf, " ".join([*WORDS, *(f"w{i}" for i in range(12))]), max_queries=900, confidence=0.9
        )
        assert result.status in ("optimal", "sufficient", "tested", "unknown")
        if result.certificate is not None:
            assert sf.check(result.certificate, clf).lower == result.lower_bound


def test_draws_are_uniform_over_the_allowed_changes():
    options = [("",), ("", "x"), (), ("y",)]
    for limit in (1, 2, 4):
        found: dict[tuple, int] = {}
        for change in draws(options, [0, 1, 3], limit, 12_000, 5):
            key = tuple(sorted(change.items()))
            found[key] = found.get(key, 0) + 1
        expected = {1: 5, 2: 10, 4: 12}[limit]
        assert len(found) == expected
        assert max(abs(count - 12_000 / expected) for count in found.values()) < 5 * np.sqrt(
            12_000 / expected
        )


def test_every_number_draws_a_change_of_its_own(monkeypatch):
    options = [("",), ("", "x"), (), ("y", "z", "")]
    free = [0, 1, 3]
    for limit, expected in ((1, 7), (2, 18)):
        numbers = iter(range(expected))
        monkeypatch.setattr(drawing, "_number", lambda below, rng, numbers=numbers: next(numbers))
        found = {tuple(change.items()) for change in draws(options, free, limit, expected, 0)}
        assert len(found) == expected
        assert max(map(len, found)) == limit
        assert all(word in options[i] for change in found for i, word in change)


# --- people and processes ---


def test_answers_speak_the_truth_about_how_they_were_found():
    result = sf.explain(good(), "a good film", perturbation=sf.Deletion())
    assert "(proved: every allowed text was run)" in str(result)
    flip = sf.contrast(good(), "a good film", perturbation=sf.Deletion())
    assert flip.flipped_text == "a film"
    assert flip.flip.text == "a film"
    assert "exact arithmetic" not in result.to_html()
    none = sf.contrast(good(), "a film", perturbation=sf.Deletion())
    assert "Certificate: 1 line," in certified(none.certificate, none.meta)
    assert "Padding after the text" not in result.to_html()


def test_a_question_can_be_saved_and_asked_again():
    question = sf.Question(
        good(), "Not a Good film", perturbation=sf.Deletion(at_most=2), max_queries=100
    )
    again = sf.Question.from_dict(json.loads(json.dumps(question.to_dict())), good())
    assert again.max_queries == 100
    assert again.to_dict() == question.to_dict()


def test_a_black_box_goes_to_another_process():
    clf = pickle.loads(pickle.dumps(good()))
    assert clf.digest == good().digest
    assert clf.predict("a good film").label == "yes"
    assert clf.predict("a good film").probabilities == pytest.approx(
        sf.from_function(rule, LABELS).predict("a good film").probabilities
    )


def test_details_show_why_a_word_is_needed():
    result = sf.explain(good(), "a good film", perturbation=sf.Deletion())
    (needed,) = [detail for detail in result.details if detail.flip is not None]
    assert needed.position == 1
    assert needed.flip.label == "no"


def test_long_texts_are_drawn_from_and_counted_in_little_memory():
    """With every word free nothing has to be counted: a table of words times changes would fill the
    memory.
    """
    options = [("x",)] * 3000
    tracemalloc.start()
    try:
        found = list(draws(options, range(3000), 3000, 3, 0))
        assert count_of(options, range(3000), 3000) == 2**3000
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    assert all(1300 < len(change) < 1700 for change in found)
    for limit in range(5):
        sizes = sum(math.comb(4, size) * 2**size for size in range(limit + 1))
        assert count_of([("x", "y")] * 4, range(4), limit) == sizes


def test_a_text_and_a_limit_that_only_a_puzzle_has_are_refused():
    clf = good()
    head = sf.explain(clf, "a good film", perturbation=sf.Deletion()).certificate.lines[0]
    many = ["so"] * 20_001
    for words, limit, reason in (
        (many, None, "more than 20000 words"),
        (many[:9000], 4500, "too large a limit"),
    ):
        text = " ".join(words)
        ends = [[3 * i, 3 * i + 2] for i in range(len(words))]
        chosen = {"kind": "deletion", **({} if limit is None else {"at_most": limit})}
        claim = {"kind": "sufficient", "positions": []}
        forged_head = {**head, "text": text, "words": ends, "perturbation": chosen, "claim": claim}
        with pytest.raises(Rejected, match=reason):
            sf.check(
                Certificate((forged_head, {"asked": {"free": [], "at_most": limit, "texts": 1}})),
                clf,
            )


def test_a_lambda_keeps_no_answers_without_a_name_of_its_own(tmp_path) -> None:
    """All lambdas are called alike: one with the same labels got the answers of another."""
    file = tmp_path / "answers.sqlite"
    sets = {"perturbation": sf.Deletion()}
    for sign in (1, -1):
        nameless = sf.from_function(
            lambda texts, sign=sign: np.array([[sign, 0.0]] * len(texts)), LABELS
        )
        with pytest.raises(InputError, match="a lambda has none of its own"):
            sf.explain(nameless, "a good film", cache=file, **sets)
        named = sf.from_function(nameless.function, LABELS, f"sign {sign}")
        assert sf.explain(named, "a good film", cache=file, **sets).label == LABELS[sign < 0]

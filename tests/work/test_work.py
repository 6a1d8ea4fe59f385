"""Work is counted: every answer says what was done for it, and no question takes more than was
recorded.
"""

from __future__ import annotations

import json
import threading

import pytest

import suffice as sf
from suffice import work
from tests.work.counts import SHARE, SPARE, counts_of, recorded, too_much, total
from tests.work.questions import drawn, fixtures, make_classifier


@pytest.fixture(scope="module")
def now() -> dict[str, dict[str, int]]:
    return counts_of(fixtures())


def test_every_question_is_recorded(now):
    assert list(now) == list(recorded())


def test_no_question_takes_more_work_than_was_recorded(now):
    assert too_much(now, recorded()) == []


def test_every_kind_of_work_is_recorded_of_some_question():
    assert {*total(recorded().values())} == {*work.NAMES}


def test_a_question_asked_again_takes_the_same_work(now):
    again = counts_of(one for one in fixtures() if "three layers" in one.name)
    assert len(again) == 4
    assert again == {name: now[name] for name in again}


# --- what the comparison finds ---


def test_a_count_above_its_tolerance_is_named():
    before = {"q": {"texts": 100}}
    most = int(SHARE * 100 + SPARE)
    assert too_much({"q": {"texts": most}}, {**before, "r": {"texts": 10**6}})[1:] == []
    assert "q, texts: 100 -> 134" in too_much({"q": {"texts": most + 1}}, before)
    assert too_much({"q": {"texts": 1}}, before) == []


def test_work_of_a_kind_that_there_was_none_of_is_named():
    assert too_much({"q": {"linear_programs": 50}}, {"q": {}})[0].startswith(
        "q, linear_programs: 0"
    )


def test_many_small_rises_are_found_together():
    before = {f"q{i}": {"subproblems": 1000} for i in range(20)}
    after = {f"q{i}": {"subproblems": 1100} for i in range(20)}
    assert too_much(after, before) == ["all together, subproblems: 20000 -> 22000"]


# --- counting ---


def test_a_count_inside_another_adds_to_both():
    with work.counted() as outer:
        work.count("texts", 2)
        with work.counted() as inner:
            work.count("texts")
            work.count("subproblems", 3)
            assert work.so_far() == {"subproblems": 3, "texts": 1}
        assert work.so_far() == {"subproblems": 3, "texts": 3}
    assert (inner, outer) == ({"texts": 1, "subproblems": 3}, {"texts": 3, "subproblems": 3})


def test_a_count_that_was_given_goes_on():
    with work.counted() as first:
        work.count("texts")
    with work.counted(first):
        work.count("texts")
    assert first == {"texts": 2}


def test_nothing_is_counted_where_no_count_is_open_or_after_an_error():
    with pytest.raises(ZeroDivisionError), work.counted() as closed:
        raise ZeroDivisionError
    work.count("texts")
    assert work.so_far() == {}
    assert closed == {}


def test_a_thread_does_not_see_the_count_of_another():
    seen = []
    with work.counted() as mine:
        other = threading.Thread(target=lambda: seen.append((work.count("texts"), work.so_far())))
        other.start()
        other.join()
    assert seen == [(None, {})]
    assert mine == {}


# --- answers ---


def test_answers_carry_their_work_and_keep_it_as_data():
    classifier = make_classifier(1, 8, 3, (24,), 2, 30)
    found = sf.explain(classifier, drawn(1, 8), perturbation=sf.KNNBox(6))
    assert found.stats["work"]["subproblems"] > 10
    assert sf.Explanation.from_json(found.to_json()).stats == found.stats
    verdict = sf.is_robust(classifier, drawn(1, 8), [0], perturbation=sf.KNNBox(6))
    assert verdict.to_dict()["stats"]["work"] == verdict.stats["work"] != {}
    assert json.loads(verdict.to_json())["stats"] == verdict.stats


def test_explanations_that_come_one_by_one_say_what_was_done_until_then():
    answers = sf.explain_all(sf.load("sst-cnn25"), "an empty , noisy mess of a film")
    with work.counted() as outer:
        first = next(answers)
        work.count("texts", 10**6)  # by others, between two answers
    rest = list(answers)
    assert len(rest) > 0
    assert sum(first.stats["work"].values()) < sum(rest[-1].stats["work"].values()) < 10**6
    assert outer == {**first.stats["work"], "texts": 10**6}


def test_texts_counted_are_those_that_the_function_was_asked():
    asked: list[str] = []

    def scores(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[0.1 * len(text.split()), 0.25] for text in texts]

    box = sf.from_function(scores, ["short", "long"], "lengths")
    question = sf.Question(box, "one two three four five")
    assert question.label == "short"
    before = len(asked)
    from suffice.verbs.explain import explained

    found = explained(question)
    assert found.stats["work"]["texts"] == len(asked) - before == found.stats["texts"]

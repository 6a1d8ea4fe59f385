"""What follows an answer about a black box: equally cheap sets, the next question, and how many
texts were asked.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import suffice as sf
from suffice.optimise.min_cost_hitting_set import bits
from suffice.verbs.engines import progress
from suffice.verbs.explain import explained
from tests.blackboxes import SWAPS, WORDS, Truth, box, rugged

SETS = [
    sf.Deletion(),
    sf.Deletion(at_most=2),
    sf.WordSwap(SWAPS),
    sf.RemoveOrSwap(SWAPS, at_most=2),
]


@pytest.mark.parametrize("perturbation", SETS, ids=repr)
def test_alternatives_are_all_cheapest_sets_where_they_say_so(
    perturbation: sf.Perturbation,
) -> None:
    complete = 0
    for seed in range(12):
        clf = box(seed, smooth=1.5)
        text = " ".join(WORDS[: 5 + seed % 4])
        result = sf.explain(clf, text, perturbation=perturbation)
        truth = Truth(sf.Question(clf, text, perturbation=perturbation))
        if result.status != "optimal":
            continue
        found = {sum(1 << i for i in held) for held in result.alternatives.sets}
        assert found <= truth.cheapest
        everywhere = set.intersection(*(set(bits(held)) for held in truth.explanations))
        if result.alternatives.complete:
            complete += 1
            assert found == truth.cheapest
        else:
            assert {word.position for word in result.alternatives.in_all} <= everywhere
    assert complete > 3


def test_nothing_more_is_asked_where_texts_may_cost_money(tmp_path) -> None:
    for limits in ({"max_queries": 300}, {"cache": tmp_path / "answers"}):
        count = [0]
        inner = rugged(3)

        def counted(texts: list[str], count: list[int] = count, inner=inner) -> np.ndarray:
            count[0] += len(texts)
            return inner(texts)

        clf = sf.from_function(counted, ["no", "yes"], f"counted {sorted(limits)}")
        result = sf.explain(clf, " ".join(WORDS[:7]), perturbation=sf.Deletion(at_most=2), **limits)
        before = count[0]
        assert result.alternatives is None or result.alternatives.count >= 1
        assert str(result)
        _ = result.further
        assert count[0] == before


def test_an_empty_answer_names_how_many_changes_flip_it() -> None:
    def three(texts: list[str]) -> np.ndarray:
        """Good as long as one of three good words is left."""
        kept = [sum(word in text.split() for word in ("fine", "good", "great")) for text in texts]
        return np.array([[0.5, float(count)] for count in kept])

    clf = sf.from_function(three, ["bad", "good"], "three")
    result = sf.explain(clf, "a fine good great film", perturbation=sf.Deletion(at_most=1))
    assert result.positions == ()
    assert str(result.further) == (
        "If up to 3 words may change at once, the label can become 'bad': some word is needed then."
    )
    assert sf.explain(
        clf, "a fine good great film", perturbation=result.further.perturbation
    ).positions


def test_an_answer_of_most_words_says_what_single_changes_need() -> None:
    def two_of_five(texts: list[str]) -> np.ndarray:
        """One word is needed always; of the others, any two that go flip it."""
        rows = []
        for text in texts:
            words = text.split()
            gone = 4 - sum(word in words for word in ("b", "c", "d", "e"))
            rows.append([0.5, float("a" in words and gone < 2)])
        return np.array(rows)

    clf = sf.from_function(two_of_five, ["no", "yes"], "two of five")
    result = sf.explain(clf, "a b c d e", perturbation=sf.Deletion())
    assert len(result.positions) == 4
    assert str(result.further) == "If only one word may change at a time, 1 of 5 words is enough."
    assert (
        len(sf.explain(clf, "a b c d e", perturbation=result.further.perturbation).positions) == 1
    )


def test_progress_counts_the_texts_that_were_asked() -> None:
    question = sf.Question(box(1), " ".join(WORDS[:6]), perturbation=sf.Deletion(at_most=2))
    assert progress(question) == ""
    result = explained(question)
    assert progress(question).startswith(f"{result.stats['texts']:,} texts asked")


def test_of_equally_cheap_sets_a_black_box_names_the_one_with_content_words() -> None:
    """Either of two words keeps the label; the stop word comes first in the text."""

    def predict(texts: list[str]) -> list[list[float]]:
        return [
            [0.1, 0.9] if {"the", "lovely"} & set(text.split()) else [0.9, 0.1] for text in texts
        ]

    clf = sf.from_function(predict, labels=["no", "yes"], name="either")
    result = sf.explain(clf, "the soup was lovely", perturbation=sf.Deletion())
    assert [word.text for word in result.words] == ["lovely"]
    assert result.alternatives.count == 2


def test_a_black_box_keeps_the_threads_that_its_owner_gave_it() -> None:
    pools = ThreadpoolController().select(user_api="blas")
    inner, seen = rugged(3), set()

    def predict(texts: list[str]) -> np.ndarray:
        seen.update(pool["num_threads"] for pool in pools.info())
        return inner(texts)

    text = " ".join(WORDS[:5])
    perturbation = sf.Deletion(at_most=2)
    verbs = [
        sf.explain,
        sf.contrast,
        partial(sf.repair, words=[WORDS[0]]),
        partial(sf.bias, protected=[WORDS[0]]),
    ]
    for threads in (1, 2):
        seen.clear()
        with pools.limit(limits=threads):
            for verb in verbs:
                verb(sf.from_function(predict, ["no", "yes"]), text, perturbation=perturbation)
        assert seen == {threads}


def test_a_question_that_is_asked_again_says_nothing_of_its_answer():
    """What an answer says of itself is no part of the question: a file that says "proved" would be
    believed.
    """
    judge = sf.from_function(
        lambda texts: [[float("good" in t), 0.5] for t in texts], ["y", "n"], "good?"
    )
    found = sf.explain(judge, "a good film", perturbation=sf.Deletion())
    again = sf.Question.from_dict(found.question, judge)
    assert again.to_dict() == found.question
    for name, value in {
        "proved": "cheapest",
        "checked": True,
        "nothing": "all is well",
        "computed": "so",
    }.items():
        with pytest.raises(sf.InputError, match=name):
            sf.Question.from_dict({**found.question, name: value}, judge)


@pytest.mark.parametrize("size", [1.0, 0.05])
@pytest.mark.parametrize("limit", [1, 7, 15, 40, 100])
def test_no_verb_asks_more_texts_than_it_may(limit: int, size: float) -> None:
    count, inner = [0], rugged(3)

    def counted(texts: list[str]) -> np.ndarray:
        """Numbers that move with the batch, so that close texts are asked once more."""
        count[0] += len(texts)
        return np.asarray(inner(texts)) * size + np.array([1e-4 * len(texts), 0.0])

    text = " ".join(WORDS[:8])
    first = WORDS[:1]
    label = sf.from_function(inner, ["no", "yes"]).predict(text).label
    verbs = {
        "explain": sf.explain,
        "why wrong": partial(sf.explain, expected="no" if label == "yes" else "yes"),
        "contrast": sf.contrast,
        "bias": partial(sf.bias, protected=first),
        "repair": partial(sf.repair, words=first),
        "attribute": sf.attribute,
        "all": lambda *given, **more: list(sf.explain_all(*given, **more)),
    }
    profile = partial(sf.profile, perturbation=lambda r: sf.Deletion(at_most=r), steps=[1, 2, 3])
    for name, verb in (verbs | {"profile": profile}).items():
        count[0] = 0
        more = {} if name == "profile" else {"perturbation": sf.Deletion(at_most=3)}
        clf = sf.from_function(counted, ["no", "yes"], name)
        assert str(verb(clf, text, max_queries=limit, **more))
        assert count[0] <= limit, name


def test_where_texts_run_out_no_set_is_counted_as_a_minimal_one() -> None:
    """The whole text was given as the one minimal explanation, and as all there are."""
    clf = box(3)
    text = " ".join(WORDS[:8])
    truth = Truth(sf.Question(clf, text, perturbation=sf.Deletion()))
    for limit in (3, 10, 30, 60, 100, 400):
        found = sf.attribute(
            box(3), text, perturbation=sf.Deletion(), of="minimal", max_queries=limit
        )
        held = {sum(1 << i for i in one.positions) for one in found.explanations}
        assert held <= truth.minimal
        assert not found.complete or held == truth.minimal
    assert found.complete


def test_explanations_that_the_checker_did_not_accept_are_not_all_there_are(monkeypatch) -> None:
    from suffice.errors import Rejected
    from suffice.verbs import answering
    from suffice.verbs.black_box import explaining

    def rejected(*given: object) -> None:
        raise Rejected(1, "planted")

    for module in (answering, explaining):
        monkeypatch.setattr(module, "accepted", rejected)
    for clf in (box(3), sf.load("sst-fc25")):
        for of in ("optimal", "minimal"):
            found = sf.attribute(clf, "a gripping film", perturbation=sf.Deletion(at_most=1), of=of)
            assert found.explanations == () or not found.complete
            assert not str(found).startswith("There ")


def test_a_tie_is_no_label_that_stays_where_no_word_may_change() -> None:
    clf = sf.from_function(lambda texts: np.full((len(texts), 2), 0.5), ["no", "yes"], "tie")
    for verb in (
        sf.explain,
        sf.contrast,
        partial(sf.bias, protected=["film"]),
        partial(sf.repair, words=["film"]),
    ):
        found = verb(clf, "a gripping film", perturbation=sf.WordSwap({}))
        assert "is a tie with 'yes' as the text stands" in str(found)
        assert "nothing" not in found.meta


def test_where_no_time_was_left_to_see_a_tie_nothing_is_said_of_the_label():
    plain = sf.load("sst-fc25")
    last = plain.network.steps[-1]
    network = replace(
        plain.network,
        steps=(
            *plain.network.steps[:-1],
            replace(last, weight=0 * last.weight, bias=0 * last.bias),
        ),
    )
    box = sf.from_function(lambda texts: np.full((len(texts), 2), 0.5), ["no", "yes"], "tie")
    for clf in (replace(plain, network=network), box):
        for verb in (sf.explain, partial(sf.repair, words=["film"])):
            found = verb(clf, "a gripping film", perturbation=sf.WordSwap({}), seconds=1e-9)
            assert found.status == "unknown"
            assert "stays" not in str(found)


FAMILIES = {
    "other words": lambda n: sf.WordSwap({"film": [f"word{n}"]}),
    "falling limit": lambda n: sf.Deletion(at_most=9 - n),
    "fewer words": lambda n: sf.RemoveOrSwap({"film": ["movie"]}) if n < 3 else sf.Deletion(),
}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_sets_that_are_not_one_inside_the_other_are_refused_for_black_boxes_too(family) -> None:
    with pytest.raises(sf.InputError, match="do not grow: that of size 2 is not inside"):
        sf.profile(box(3), "a gripping film", family, [2, 3])


def test_sets_that_stay_the_same_for_a_while_are_nested() -> None:
    lists = {2: ["movie"], 3: ["movie"], 4: ["movie", "story"]}
    found = sf.profile(
        box(3), "a gripping film", lambda n: sf.WordSwap({"film": lists[n]}), [2, 3, 4]
    )
    assert found.costs == tuple(sorted(found.costs))

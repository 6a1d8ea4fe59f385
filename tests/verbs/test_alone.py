"""What a word can do alone: exact over finite sets, by running every option; elsewhere a bound that
holds.
"""

from __future__ import annotations

import numpy as np
import pytest

import suffice as sf
from suffice.render import details
from suffice.verbs.alone import single_word_effects
from suffice.verbs.details import Alone
from suffice.verbs.question import Question

TEXT = "the jokes fall flat but the cast is great fun"
SWAPS = {"great": ["good", "awful", "superb"], "flat": ["dull"], "cast": ["crew", "actors"]}


@pytest.fixture(scope="module")
def model():
    return sf.load("sst-fc25")


def margin(question: Question, point: np.ndarray) -> float:
    return float(question.problem.margins(point[None]).min())


def test_over_finite_sets_it_is_what_running_every_option_gives(model):
    question = Question(model, TEXT, perturbation=sf.RemoveOrSwap(SWAPS))
    found = single_word_effects(question.problem)
    center = question.problem.center
    assert sorted(found) == list(range(10))
    for i, token in enumerate(question.text.tokens[:10]):
        options = [model.pad, *SWAPS.get(token, ())]
        margins = []
        for option in options:
            point = center.copy()
            point[i] = model.table[model.index_of(option)]
            margins.append(margin(question, point))
        own = margin(question, center)
        assert found[i].exact
        assert found[i].options == len(options)
        assert found[i].lowest == pytest.approx(min(own, *margins))
        assert found[i].highest == pytest.approx(max(own, *margins))


@pytest.mark.parametrize(
    "allowed", [sf.KNNBox(20), sf.KNNHull(20), sf.EpsilonBall(0.2), sf.EpsilonBall(0.2, 2)]
)
def test_over_other_sets_no_change_falls_below_the_bound(model, allowed):
    question = Question(model, TEXT, perturbation=allowed)
    found = single_word_effects(question.problem)
    rng = np.random.default_rng(0)
    center = question.problem.center
    for i in range(10):
        points = np.repeat(center[None], 200, axis=0)
        points[:, i] = question.problem.region.sample(rng, 200)[:, i]
        lowest = question.problem.margins(points).min()
        assert not found[i].exact
        assert found[i].rise is None
        assert found[i].lowest <= lowest


def test_a_word_that_cannot_change_has_none(model):
    found = single_word_effects(Question(model, TEXT, perturbation=sf.WordSwap(SWAPS)).problem)
    assert sorted(found) == [3, 6, 8]


def test_of_a_black_box_only_what_was_run_is_told_and_nothing_more_is_run():
    asked: list[str] = []

    def predict(texts):
        asked.extend(texts)
        good = np.array([text.split().count("good") - 0.5 for text in texts])
        return np.stack([-good, good], 1)

    result = sf.explain(
        sf.from_function(predict, ["bad", "fine"]), "a good film", perturbation=sf.Deletion()
    )
    before = len(asked)
    known = {detail.position: detail.alone for detail in result.details if detail.alone is not None}
    assert len(asked) == before
    assert set(known) <= {0, 1, 2}
    assert (known[1].margin, known[1].lowest) == (1.0, -1.0)


@pytest.mark.parametrize("size", [1e-9, 0.00123456, 0.1, 0.9999, 1.0, 3.14159, 99.95, 123456.0])
def test_figures_are_rounded_away_from_zero(size):
    assert size <= float(details.outward(size)) <= size * 1.0101


def test_the_sentence_says_whether_it_is_exact_or_a_bound():
    assert details.strength(None) == ""
    exact = details.strength(Alone(2.0, 0.5, 2.25, 3))
    assert exact == (
        "Changed alone, it lowers the margin (2) by at most 1.5 and raises it by at most 0.25: "
        "each of its 3 changes was run."
    )
    assert "never lowers the margin (2)" in details.strength(Alone(2.0, 2.0, 2.5, 1))
    bound = details.strength(Alone(2.0, -1.0, None, 0))
    assert (
        bound
        == "Changed alone, it lowers the margin (2) by at most 3: a bound, not the exact fall."
    )
    assert "proved" not in bound

"""Attribution: counts over all explanations, checked against trying every text."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers import make_classifier
from judges import Judge

import suffice as sf
from suffice.cli import main
from suffice.verbs.attribute import attributed
from suffice.verbs.explain import explained


@pytest.mark.parametrize("of", ["optimal", "minimal"])
@pytest.mark.parametrize("seed", range(16))
def test_it_counts_exactly_the_explanations_there_are(seed, of):
    judge = Judge(seed, classes=2 + seed % 2)
    expected = judge.optimal() if of == "optimal" else judge.minimal()
    found = sf.attribute(judge.classifier, judge.words, perturbation=judge.perturbation, of=of)
    assert found.complete
    assert sorted(one.positions for one in found.explanations) == sorted(expected)
    for item in found.shares:
        count = sum(item.word.position in held for held in expected)
        assert (item.count, item.share) == (count, count / len(expected))
    everywhere = [i for i in range(4) if all(i in held for held in expected)]
    assert [word.position for word in found.necessary] == everywhere
    somewhere = [i for i in range(4) if any(i in held for held in expected) and i not in everywhere]
    assert [word.position for word in found.some] == somewhere


@pytest.mark.parametrize("of", ["optimal", "minimal"])
@pytest.mark.parametrize("seed", range(0, 16, 3))
def test_every_explanation_counted_has_an_accepted_certificate(seed, of):
    judge = Judge(seed)
    for one in sf.attribute(
        judge.classifier, judge.words, perturbation=judge.perturbation, of=of
    ).explanations:
        kind = sf.check(one.certificate, judge.classifier).kind
        assert kind in (("cheapest", "sufficient") if of == "optimal" else ("sufficient",))


def test_costs_decide_which_explanations_are_optimal():
    judge = next(judge for judge in map(Judge, range(40)) if len(judge.optimal()) > 1)
    dear = judge.optimal()[0][0]
    found = sf.attribute(
        judge.classifier,
        judge.words,
        perturbation=judge.perturbation,
        cost={judge.words[dear]: 10.0},
    )
    assert found.complete
    assert (
        all(dear not in one.positions for one in found.explanations)
        or found.shares[dear].share == 1
    )


def test_a_limit_makes_the_count_incomplete_and_says_so():
    judge = next(judge for judge in map(Judge, range(40)) if len(judge.optimal()) > 2)
    found = sf.attribute(judge.classifier, judge.words, perturbation=judge.perturbation, limit=2)
    assert (len(found.explanations), found.complete) == (2, False)
    assert str(found).startswith(
        "At least 2 optimal explanations exist (there are more than the limit)."
    )
    assert "In all of them" not in str(found)
    assert "no word;" not in str(found)
    everyone = [i for i in range(4) if all(i in held for held in judge.explanations())]
    assert ("Every explanation holds" in str(found)) == bool(everyone)


def test_necessary_words_are_proved_so_even_when_the_count_is_incomplete():
    judge = next(
        judge for judge in map(Judge, range(200)) if len(judge.minimal()) > 1 and _alone(judge)
    )
    found = sf.attribute(
        judge.classifier, judge.words, perturbation=judge.perturbation, of="minimal", limit=1
    )
    assert not found.complete
    assert [word.position for word in found.necessary] == _alone(judge)


def _alone(judge: Judge) -> list[int]:
    """The words whose change alone flips the label."""
    return [i for i in range(4) if not judge.robust([j for j in range(4) if j != i])]


def test_an_exclusion_that_cannot_be_met_leaves_nothing_to_count():
    judge = next(judge for judge in map(Judge, range(40)) if _alone(judge))
    found = sf.attribute(
        judge.classifier,
        judge.words,
        perturbation=judge.perturbation,
        exclude=_alone(judge)[:1],
        of="minimal",
    )
    assert found.explanations == ()
    assert "no explanation avoids the excluded words" in str(found)


@pytest.mark.parametrize("wrong", [{"of": "all"}, {"limit": 0}, {"limit": True}])
def test_misuse_is_refused(tiny, wrong):
    with pytest.raises(sf.InputError):
        sf.attribute(tiny, ["word1"], perturbation=sf.KNNBox(2), **wrong)


def test_the_command(capsys, tmp_path):
    judge = next(judge for judge in map(Judge, range(40)) if len(judge.optimal()) > 2)
    judge.classifier.save(tmp_path / "model")
    swaps = tmp_path / "swaps.json"
    swaps.write_text(json.dumps(judge.perturbation.to_dict()["swaps"]))
    asked = [
        "attribute",
        " ".join(judge.words),
        "--model",
        str(tmp_path / "model"),
        "--swaps",
        str(swaps),
    ]
    assert main([*asked, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["complete"]
    assert sum(word["count"] for word in data["words"]) == sum(map(len, data["explanations"]))
    assert main([*asked, "--limit", "2"]) == 3
    assert "more than the limit" in capsys.readouterr().out


def test_minimal_sets_of_real_words_are_found_where_that_is_easy_for_maxima_too():
    """By bounds of boxes around the words some sets are undecided after thousands of
    subproblems.
    """
    found = sf.attribute(
        sf.load("sentiment"), "the plot is thin but the acting is superb", of="minimal"
    )
    assert found.complete
    assert [one.positions for one in found.explanations] == [
        (1, 2, 3, 6),
        (1, 2, 3, 8),
        (1, 3, 6, 8),
    ]


def test_a_limit_of_none_at_all_is_refused_on_the_command_line_too(capsys):
    assert main(["attribute", "a gorgeous film", "--limit", "0"]) == 2
    assert "The limit must be a whole number of at least 1, not 0." in capsys.readouterr().err


@pytest.mark.parametrize("seed", [35, 3, 8])
def test_minimal_explanations_are_minimal_however_far_costs_are_apart(seed):
    """A solver that allowed a gap of a ten thousandth added cheap words to sets that were enough
    without them.
    """
    classifier = make_classifier(seed, length=7)
    words = [f"word{(seed * 3 + i) % 8}" for i in range(7)]
    rng = np.random.default_rng(seed)
    cost = {word: float(rng.choice([1, 2, 3, 2.0**20, 2.0**20 + 1, 2.0**33])) for word in words}
    found = sf.attribute(classifier, words, perturbation=sf.Deletion(), of="minimal", cost=cost)
    assert found.complete
    for one in found.explanations:
        for word in one.positions:
            fewer = [i for i in one.positions if i != word]
            assert isinstance(
                sf.is_robust(classifier, words, fewer, perturbation=sf.Deletion()), sf.Refuted
            )


@pytest.mark.parametrize(
    "wrong", [{"limit": 2**70}, {"limit": 0}, {"oracle": {}}, {"oracle": ["bounds"]}]
)
def test_a_saved_question_with_what_no_verb_can_use_is_refused_in_a_sentence(wrong):
    judge = Judge(1)
    saved = sf.Question(judge.classifier, judge.words, perturbation=judge.perturbation).to_dict()
    question = sf.Question.from_dict({**saved, **wrong}, judge.classifier)
    with pytest.raises(sf.InputError, match=r"limit must be|There is no oracle"):
        attributed(question) if "limit" in wrong else explained(question)

"""Profile: each step is the explanation one would get alone, and the radius it names is the true
one.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from helpers import make_classifier, make_text

import suffice as sf
from suffice.cli import main
from suffice.render.cells import held
from suffice.verbs.families import parameter_of
from suffice.verbs.growth import _flippers
from suffice.verbs.profile_steps import ends_first
from suffice.verbs.why import flips
from suffice.verify.contract import Budget

TEXT = [f"word{(7 * i + 10) % 80}" for i in range(10)]
STEPS = [2, 5, 10, 20, 40]


@pytest.fixture(scope="module")
def large() -> sf.Classifier:
    return make_classifier(10, length=10, dimension=4, hidden=(12, 8), words=80)


@pytest.fixture(scope="module")
def grown(large) -> sf.Profile:
    return sf.profile(large, TEXT, sf.KNNBox, STEPS)


@pytest.mark.parametrize(
    ("family", "steps"),
    [
        (sf.KNNBox, [1, 2, 4, 6]),
        (sf.KNNHull, [1, 3, 6]),
        (sf.EpsilonBall, [0.1, 0.4, 0.8]),
        (partial(sf.EpsilonBall, p=2), [0.2, 0.9]),
    ],
)
@pytest.mark.parametrize("seed", range(6))
def test_each_step_costs_what_it_costs_alone_and_its_certificate_stands_alone(family, steps, seed):
    classifier = make_classifier(seed, classes=2 + seed % 2)
    text = make_text(seed)
    found = sf.profile(classifier, text, family, steps)
    for step, one in zip(found.steps, found.explanations, strict=True):
        alone = sf.explain(classifier, text, perturbation=family(step))
        assert (
            (one.status, one.cost) == (alone.status, alone.cost) == ("optimal", alone.lower_bound)
        )
        assert sf.check(one.certificate, classifier).kind == "cheapest"


def test_costs_never_fall_as_sets_grow(grown):
    assert list(grown.costs) == sorted(grown.costs)
    assert grown.costs[0] < grown.costs[-1]


def test_attacks_of_smaller_sets_are_used_for_larger_ones(grown):
    assert grown.stats["reused_attacks"] > 0


def test_the_order_of_steps_does_not_matter_and_each_counts_once(large, grown):
    again = sf.profile(large, TEXT, sf.KNNBox, [40, 2, 20, 5, 10, 2])
    assert again.steps == grown.steps
    assert again.costs == grown.costs


def test_both_ends_come_first_and_every_step_once():
    assert ends_first(1) == [0]
    assert ends_first(2) == [0, 1]
    assert ends_first(5) == [0, 4, 2, 1, 3]
    assert sorted(ends_first(12)) == list(range(12))


def test_the_radius_is_exact_for_whole_numbers(large, grown):
    assert grown.needed_from == grown.free_until + 1
    below = sf.is_robust(large, TEXT, [], perturbation=sf.KNNBox(grown.free_until))
    above = sf.is_robust(large, TEXT, [], perturbation=sf.KNNBox(grown.needed_from))
    assert isinstance(below, sf.Proved)
    assert isinstance(above, sf.Refuted)
    assert (
        f"No word is needed up to k = {grown.free_until} (proved); from k = {grown.needed_from} on"
        in str(grown)
    )


def test_both_radii_have_a_certificate_that_says_no_more_than_the_answer(large, grown):
    below, above = (
        sf.check(grown.radii[name], large, TEXT) for name in ("free_until", "needed_from")
    )
    assert (below.kind, below.positions) in (("sufficient", ()), ("cheapest", ()))
    assert (above.kind, above.positions) == ("refuted", ())
    for name, checked in (("free_until", below), ("needed_from", above)):
        size = getattr(grown, name)
        assert grown.radii[name].lines[0]["perturbation"] == sf.KNNBox(size).to_dict()
        assert {f"at k = {size}: {fact}" for fact in checked.proved} <= {*grown.proved}
    assert grown.to_dict()["proved"] == list(grown.proved)
    assert grown.to_dict()["certificates"].keys() == {"free_until", "needed_from"}


def test_the_radius_is_found_beyond_the_steps_when_nothing_is_needed_at_any(large, grown):
    small = sf.profile(large, TEXT, sf.KNNBox, [1, 2])
    assert small.costs == (0, 0)
    assert (small.free_until, small.needed_from) == (grown.free_until, grown.needed_from)


def test_the_radius_is_found_below_the_steps_when_something_is_needed_at_all(large, grown):
    wide = sf.profile(large, TEXT, sf.KNNBox, [10, 20])
    assert (wide.free_until, wide.needed_from) == (grown.free_until, grown.needed_from)


def test_for_balls_the_radius_is_known_within_one_in_two_hundred(large):
    found = sf.profile(large, TEXT, sf.EpsilonBall, [0.05, 0.3])
    assert 0 < found.free_until < found.needed_from <= found.free_until * 1.005
    assert isinstance(
        sf.is_robust(large, TEXT, [], perturbation=sf.EpsilonBall(found.free_until)), sf.Proved
    )
    assert isinstance(
        sf.is_robust(large, TEXT, [], perturbation=sf.EpsilonBall(found.needed_from)), sf.Refuted
    )


def test_when_the_vocabulary_ends_before_anything_is_needed_it_says_up_to_where():
    blind = sf.Network.dense([(np.zeros((2, 12)), np.array([1.0, 0.0]))])
    made = make_classifier(0)
    classifier = sf.Classifier(blind, made.embedding, made.vocabulary, made.labels, made.length)
    found = sf.profile(classifier, ["word1", "word2"], sf.KNNBox, [1, 2])
    assert (found.free_until, found.needed_from) == (4, None)  # 8 is more than the 7 other words
    assert "No word is needed up to k = 4 (proved)." in str(found)


def test_words_enter_at_the_first_step_that_holds_them(grown):
    for item in grown.growth:
        holding = [
            s
            for s, one in zip(grown.steps, grown.explanations, strict=True)
            if item.word.position in one.positions
        ]
        assert item.enters == (min(holding) if holding else None)


@pytest.mark.parametrize("seed", range(8))
def test_words_are_needed_from_where_their_change_alone_flips_the_label(seed):
    classifier = make_classifier(seed)
    text = make_text(seed)
    found = sf.profile(classifier, text, sf.KNNBox, [1, 3, 6])
    for item in found.growth:
        others = [word.position for word in found.text.words if word.position != item.word.position]
        refuted = [
            k
            for k in found.steps
            if isinstance(
                sf.is_robust(classifier, text, others, perturbation=sf.KNNBox(k)), sf.Refuted
            )
        ]
        assert item.needed == (min(refuted) if refuted else None)


def test_include_and_exclude_hold_at_every_step(large):
    found = sf.profile(large, TEXT, sf.KNNBox, [2, 5], include=[3], exclude=[4])
    assert all(3 in one.positions and 4 not in one.positions for one in found.explanations)


@pytest.mark.parametrize("steps", [[], "5", [-1], [2.5]])
def test_steps_that_make_no_sense_are_refused(large, steps):
    with pytest.raises(sf.InputError):
        sf.profile(large, TEXT, sf.KNNBox, steps)


def test_any_family_of_sets_will_do(large):
    near = {TEXT[0]: ["word1", "word2", "word3"], TEXT[1]: ["word4", "word5"]}
    found = sf.profile(
        large, TEXT, lambda n: sf.WordSwap({w: o[:n] for w, o in near.items()}), [1, 2]
    )
    assert found.parameter == "size"
    assert len(found.explanations) == 2


def test_the_command(capsys):
    asked = ["profile", "a gripping , beautifully acted film", "--model", "sst-fc25"]
    assert main([*asked, "--knn-box", "5", "--steps", "5,100", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["parameter"], data["steps"]) == ("k", [5, 100])
    assert main([*asked, "--eps", "0.3", "--norm", "2", "--steps", "0.1,0.2", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["parameter"], data["steps"]) == ("eps", [0.1, 0.2, 0.3])
    assert main([*asked, "--steps", "5,x"]) == 2
    capsys.readouterr()


def test_the_command_saves_a_plot(capsys, tmp_path):
    saved = tmp_path / "p.svg"
    assert (
        main(["profile", "a dull film", "--knn-box", "5", "--steps", "50", "--plot", str(saved)])
        == 0
    )
    assert "<svg" in saved.read_text(encoding="utf-8")
    assert main(["profile", "a dull film", "--plot", str(tmp_path / "nowhere" / "p.svg")]) == 2
    capsys.readouterr()


# --- what a profile may say ---


@pytest.mark.parametrize("seed", range(8))
def test_the_radius_is_about_the_empty_set_whatever_words_were_asked_for(seed):
    classifier = make_classifier(seed)
    text = make_text(seed)
    plain = sf.profile(classifier, text, sf.KNNBox, [1, 3, 6])
    asked = sf.profile(classifier, text, sf.KNNBox, [1, 3, 6], include=[0, 1])
    assert (asked.free_until, asked.needed_from) == (plain.free_until, plain.needed_from)
    if asked.free_until is not None:
        empty = sf.is_robust(classifier, text, [], perturbation=sf.KNNBox(asked.free_until))
        assert isinstance(empty, sf.Proved)


NOT_NESTED = {
    "other words": lambda n: sf.WordSwap({TEXT[0]: [f"word{n}"]}),
    "falling k": lambda n: sf.KNNBox(20 - n),
    "other norm": lambda n: sf.EpsilonBall(0.1 * n, 1 if n % 2 else 2),
    "other kind": lambda n: sf.KNNBox(n) if n < 3 else sf.KNNHull(n),
    "falling limit": lambda n: sf.Deletion(at_most=9 - n),
}


@pytest.mark.parametrize("family", NOT_NESTED.values(), ids=NOT_NESTED.keys())
def test_sets_that_are_not_one_inside_the_other_are_refused(large, family):
    with pytest.raises(sf.InputError, match="do not grow: that of size 2 is not inside"):
        sf.profile(large, TEXT, family, [2, 3])


@pytest.mark.parametrize(
    "family", [lambda n: sf.Deletion(), lambda n: sf.KNNBox(5)], ids=["no size", "same size"]
)
def test_a_set_that_stays_the_same_has_no_growth(large, family):
    with pytest.raises(sf.InputError, match="they are the same at 2 and at 3"):
        sf.profile(large, TEXT, family, [2, 3])


@pytest.mark.parametrize("family", [sf.Deletion, sf.WordSwap, sf.RemoveOrSwap, sf.Mask, sf.Boxes])
def test_a_kind_of_set_without_a_size_is_refused_by_name(large, family):
    with pytest.raises(sf.InputError, match=rf"^{family.__name__} has no size that could grow"):
        sf.profile(large, TEXT, family, [2, 3])


def test_a_single_set_is_not_a_family_of_sets(large):
    with pytest.raises(sf.InputError, match="what makes a set of each size"):
        sf.profile(large, TEXT, sf.KNNBox(5), [2, 3])


def test_the_limit_on_changes_at_once_is_a_size_too(large):
    questions = [sf.Deletion(at_most=r).to_dict() for r in (1, 2, 3)]
    assert parameter_of(questions) == "at_most"
    assert parameter_of([sf.KNNBox(k, at_most=2).to_dict() for k in (1, 2)]) == "k"
    assert parameter_of([sf.KNNBox(k, at_most=k).to_dict() for k in (1, 2)]) == "size"


def test_a_word_that_leaves_again_is_not_said_to_stay(large, grown):
    from suffice.render.auditors import grown as told
    from suffice.verbs.wording import named

    lines = list(told(grown))
    for item in grown.growth:
        holding = tuple(
            s
            for s, one in zip(grown.steps, grown.explanations, strict=True)
            if item.word.position in one.positions
        )
        assert item.steps == holding
        if holding and item.needed is None:
            said = f": in the explanation at k = {', '.join(map(str, holding))}"
            mine = [line for line in lines if line.endswith(said)]
            assert [named(grown.text, [item.word.position]) in line for line in mine] == [True]


def test_words_of_which_the_same_is_to_be_said_share_a_line(large):
    from suffice.render.auditors import grown as told

    found = sf.profile(large, TEXT, lambda r: sf.Deletion(at_most=r), [1, 2, 3])
    lines = list(told(found))
    kinds = {(item.steps, item.needed) for item in found.growth} - {((), None)}
    assert len(lines) == len(kinds)


def test_what_no_word_is_needed_for_is_said_once():
    text = "a quiet , moving film"
    found = sf.profile(sf.load("sentiment"), text, lambda r: sf.Deletion(at_most=r), [1, 2, 3])
    assert str(found).startswith("No word is needed up to ")
    assert str(found).count("word is needed") == 1


def test_ctrl_c_in_one_step_ends_the_others_too(large):
    stops = iter([True])

    def stop_once(*_: object) -> None:
        if next(stops, False):
            raise KeyboardInterrupt

    found = sf.profile(large, TEXT, sf.KNNBox, STEPS, on_progress=stop_once)
    reasons = [one.meta.get("reason") for one in found.explanations]
    assert reasons.count("interrupted") == 1
    assert set(reasons) == {"interrupted", "time is up"}
    assert "none shown" in [held(one) for one in found.explanations]


def test_radii_are_called_proved_only_where_the_checker_accepts(large, monkeypatch):
    from suffice.errors import Rejected
    from suffice.verbs import accepting

    def reject(*given, **more):
        raise Rejected(1, "no")

    monkeypatch.setattr(accepting, "check", reject)
    found = sf.profile(large, TEXT, sf.KNNBox, [1, 2])
    assert found.free_until is None
    assert (found.proved, found.radii) == ((), {})
    assert "proved" not in str(found)


@pytest.mark.parametrize(
    ("options", "parameter", "steps"),
    [
        (["--eps", "0.1"], "eps", [0.1, 0.2, 0.4, 0.8]),
        (["--eps", "0.3", "--steps", "0.1"], "eps", [0.1, 0.3]),
        (["--knn-box", "100"], "k", [5, 10, 15, 25, 100]),
        (["--knn-hull", "3", "--steps", "2"], "k", [2, 3]),
    ],
)
def test_a_size_named_with_its_set_is_one_of_the_steps(capsys, options, parameter, steps):
    assert main(["profile", "a dull film", "--model", "sst-fc25", *options, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["parameter"], data["steps"]) == (parameter, steps)


def test_a_cache_is_for_black_boxes(large, tmp_path):
    with pytest.raises(sf.InputError, match="cache"):
        sf.profile(large, TEXT, sf.KNNBox, [1], cache=tmp_path / "answers")


def test_at_a_tie_no_word_is_said_to_flip_the_label_alone():
    """Where time ran out before the tie was seen, words that cannot even change were
    called needed.
    """
    plain = make_classifier(3)
    last = plain.network.steps[-1]
    network = replace(
        plain.network,
        steps=(
            *plain.network.steps[:-1],
            replace(last, weight=0 * last.weight, bias=0 * last.bias),
        ),
    )
    question = sf.Question(
        replace(plain, network=network),
        ["word1", "word2"],
        perturbation=sf.WordSwap({"word1": ["word3"]}),
    )
    alone = np.eye(len(question.text), dtype=bool)
    assert _flippers(question, alone, [0, 1], Budget(5)) == []
    assert flips(question.problem, alone[:2], np.arange(2)) == {}


def test_some_word_is_needed_already_only_where_nothing_smaller_was_left_open():
    """Deleting any one word flips the label, but changes of one word at a time were not asked
    about.
    """
    clf = sf.from_function(
        lambda texts: [[float(len(text.split()) > 2), 0.5] for text in texts], ["long", "short"]
    )
    for steps, said in (
        ([2, 3], "Some word is needed at 2 changes at once; whether one is below that is open."),
        ([1, 2], "Some word is needed at 1 change at once already."),
    ):
        assert str(
            sf.profile(clf, "one two three", lambda limit: sf.Deletion(at_most=limit), steps)
        ).startswith(said)


def test_that_no_set_costs_less_than_nothing_is_not_said(grown):
    """Of an open answer about which no lower bound is known."""
    last = replace(grown.explanations[-1], status="sufficient", lower_bound=0.0)
    open_ = replace(grown, explanations=(*grown.explanations[:-1], last))
    bounded = replace(
        grown, explanations=(*grown.explanations[:-1], replace(last, lower_bound=1.0))
    )
    for said in (str(last), str(open_)):
        assert "below 0" not in said
        assert "nothing is known of cheaper sets" in said
    assert "no set below 1 can do" in str(bounded)

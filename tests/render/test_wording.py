"""What is said: every sentence, badge and price is true of the question that was asked, and of
nothing more.
"""

from __future__ import annotations

import io
import itertools
import json
import pickle
import re
from dataclasses import replace
from html import unescape
from urllib.parse import unquote

import numpy as np
import pytest
from helpers import make_classifier, make_text, use_settings
from judges import Judge
from rich.console import Console

import suffice as sf
from suffice.model.text import rewritten
from suffice.render import details, guarantee, phrases, terminal, verdicts
from suffice.sets.table import command_options
from suffice.verbs import prefer
from suffice.verbs.explain import explained
from suffice.verbs.prefer import is_low_content
from suffice.verbs.question import Question
from suffice.verbs.wording import quoted, together

TEXT = "A gripping, beautifully acted film that never quite loses its nerve"
TEXTS = [
    TEXT,
    "the jokes fall flat and the story makes no sense .",
    "my daughter loved it , I was bored to tears",
    "it is not good , but it is not the worst film of the year either",
    "a slow and rather dull film",
    "the plot is thin but the acting is superb",
]


@pytest.fixture(scope="module")
def sst():
    return sf.load("sst-fc25")


def shown(classifier: sf.Classifier, result: sf.Explanation) -> str:
    console = Console(file=io.StringIO(), width=300)
    terminal.show_explanation(console, result, classifier.predict(result.text))
    return console.file.getvalue()


def everywhere(classifier: sf.Classifier, result: sf.Explanation) -> list[str]:
    """The sentence, the terminal, the report and the notebook's card, as a person reads them."""
    pages = [
        re.sub(r"<style>.*?</style>|<[^>]*>", "", page, flags=re.DOTALL)
        for page in (result.to_html(), result._repr_html_())
    ]
    return [str(result), shown(classifier, result), *pages]


# --- what was asked is in what is said ---


def test_words_asked_for_and_left_out_are_in_every_headline_badge_and_price(sst):
    result = sf.explain(
        sst, TEXT, perturbation=sf.Deletion(), include=["film"], exclude=["beautifully"]
    )
    wish = "that holds 'film' and does without 'beautifully'"
    assert result.status == "optimal"
    assert phrases.headline(result).endswith(f"enough, in a set {wish}")
    assert phrases.badge(result)[2] == f"proved, and nothing cheaper {wish} is enough"
    assert phrases.price(result) == f"cost {result.cost:g}, the least possible of a set {wish}"
    assert f"no cheaper set {wish} does (proved)" in str(result)
    assert all(wish in " ".join(unescape(said).split()) for said in everywhere(sst, result))


def test_equally_cheap_sets_are_counted_among_those_that_were_asked_for(sst):
    """Some other set may be cheaper still: it just was not asked for."""
    text = "A gripping, beautifully acted film"
    wished = sf.explain(sst, text, perturbation=sf.KNNBox(120), include=["film"])
    assert phrases.equals(wished).startswith("For a set that holds 'film': ")
    assert not phrases.equals(sf.explain(sst, text, perturbation=sf.KNNBox(120))).startswith(
        "For a set"
    )


def test_without_a_wish_nothing_is_said_of_one(sst):
    result = sf.explain(sst, TEXT, perturbation=sf.Deletion())
    assert phrases.badge(result)[2] == "proved, and nothing cheaper is enough"
    assert "that holds" not in str(result)


def test_all_words_are_called_needed_only_where_no_wish_forced_them_in(sst):
    result = sf.explain(
        sst, "a dull film", perturbation=sf.Deletion(), include=["a", "dull", "film"]
    )
    assert "are needed" not in phrases.headline(result)


def test_a_word_that_occurs_twice_is_named_with_its_position(sst):
    result = sf.explain(sst, "a dull film and a bad film", perturbation=sf.Deletion(), include=[0])
    assert "that holds 'a' (position 0)" in str(result)
    both = sf.explain(sst, "a dull film and a bad film", perturbation=sf.Deletion(), include=["a"])
    assert "that holds 'a' does" in str(both)


def test_a_limit_on_how_many_words_change_is_in_the_meaning(sst):
    result = sf.explain(sst, TEXT, perturbation=sf.Deletion())
    limited = replace(
        result, meta={**result.meta, "perturbation": sf.Deletion(at_most=2).to_dict()}
    )
    assert "no allowed change of up to 2 of the others can change" in phrases.meaning(limited)
    assert (
        "All free words may change at once" not in dict(guarantee.scope(limited))["What may change"]
    )
    empty = replace(limited, positions=(), words=())
    assert "whatever allowed change of up to 2 of the words is made" in str(empty)
    single = replace(result, meta={**result.meta, "perturbation": sf.Deletion(at_most=1).to_dict()})
    assert "any one of the others" in phrases.meaning(single)


# --- needed, or only in this set ---


@pytest.mark.parametrize("seed", range(24))
def test_words_are_called_needed_only_where_every_explanation_holds_them(seed):
    judge = Judge(seed, classes=2 + seed % 2)
    result = sf.explain(judge.classifier, judge.words, perturbation=judge.perturbation)
    for detail in result.details:
        everyone = all(detail.position in held for held in judge.explanations())
        assert not detail.needed or everyone
        if detail.position in result.positions:
            assert details.standing(result, detail).startswith(
                "needed" if detail.needed else "in this set"
            )


def test_some_words_are_needed_and_some_are_not():
    found = [
        detail.needed
        for judge in map(Judge, range(24))
        for result in [sf.explain(judge.classifier, judge.words, perturbation=judge.perturbation)]
        for detail in result.details
        if detail.position in result.positions
    ]
    assert {True, False} == set(found)


@pytest.mark.parametrize("seed", range(24))
def test_with_an_exclusion_needed_is_about_the_sets_that_keep_to_it(seed):
    judge = Judge(seed)
    result = sf.explain(judge.classifier, judge.words, perturbation=judge.perturbation, exclude=[0])
    allowed = [held for held in judge.explanations() if 0 not in held]
    for detail in result.details:
        assert not detail.needed or all(detail.position in held for held in allowed)


# --- texts as evidence ---


@pytest.mark.parametrize(
    "perturbation", [sf.Deletion(), sf.KNNBox(60)], ids=["deletion", "knn-box"]
)
def test_a_text_is_shown_as_evidence_only_if_the_classifier_flips_on_it(sst, perturbation):
    seen = []
    for text in TEXTS:
        result = sf.explain(sst, text, perturbation=perturbation)
        seen += [
            (result.label, detail.flip.text) for detail in result.details if detail.flip is not None
        ]
        seen.append((result.label, sf.contrast(sst, text, perturbation=perturbation).flipped_text))
        seen.append(
            (
                result.label,
                sf.bias(sst, text, range(4), perturbation=perturbation).to_dict()["changed_text"],
            )
        )
    told = [(label, text) for label, text in seen if text is not None]
    assert len(told) >= 3
    assert len(told) < len(seen)  # the rewritten texts that keep their label are not shown
    assert all(sst.predict(text).label != label for label, text in told)


def test_that_several_words_move_a_little_is_said_once():
    judge = sf.load("sentiment")
    alone = sf.contrast(
        judge, "A dull film that Works The end", perturbation=sf.EpsilonBall(0.05), seconds=5
    )
    assert alone.change == "'A', 'dull', 'film', 'that', 'Works', 'The' and 'end' move a little"
    assert details.witness(alone.text, alone.flip).count("a little") == 1
    moves = [
        ("'a'", "moves a little"),
        ("'b'", "is removed"),
        ("'c'", "moves a little"),
        ("'d'", "moves towards 'e'"),
    ]
    assert together(moves) == "'b' is removed, 'd' moves towards 'e'; 'a' and 'c' move a little"
    assert together(moves[:2]) == "'a' moves a little, 'b' is removed"
    assert together([]) == ""


def test_a_word_with_a_capital_letter_does_not_move_towards_itself():
    found = sf.contrast(
        sf.load("sentiment"), "A DULL film that Works THE end", perturbation=sf.EpsilonBall(0.05)
    )
    assert {"dull", "works", "the"} <= set(found.flip.words)
    assert "towards" not in found.change + details.witness(found.text, found.flip)


@pytest.mark.parametrize("sign", ["\u200d", "\ufe0f", "\u200b", "\u00ad", "\u2060", "\u202e"])
def test_a_word_of_signs_that_nobody_sees_is_named_by_their_code_points(sign):
    judge = sf.load("sentiment")
    name = f"'U+{ord(sign):04X}'"
    text = judge.read(f"fun {sign} film")
    assert text.words[1].text == sign
    assert name in "".join(guarantee.notes(text))
    bias = sf.bias(judge, text, [1], perturbation=sf.WordSwap({sign: ["awful"]}))
    assert name in str(bias)
    result = sf.explain(judge, text, include=[1], perturbation=sf.Deletion())
    pages = [unescape(page) for page in everywhere(judge, result)]
    assert all(name in said and f"'{sign}'" not in said and "''" not in said for said in pages)


def test_joined_signs_are_named_as_they_are_written():
    assert quoted(["👩\u200d👧", "❤\ufe0f", "می\u200cخواهم", "film"]) == (
        "'👩\u200d👧', '❤\ufe0f', 'می\u200cخواهم' and 'film'"
    )


def test_where_a_word_lies_in_a_box_its_text_is_called_an_illustration(sst):
    found = [sf.contrast(sst, text, perturbation=sf.KNNBox(60)) for text in TEXTS]
    told = [result for result in found if result.flipped_text is not None]
    assert told
    assert all("as an illustration" in str(result) for result in told)
    assert all(
        "moves towards" in str(result)
        for result in found
        if result.flip and result.flipped_text is None
    )


def test_removed_words_leave_a_text_that_reads_well(sst):
    text = sst.read("A dull, slow film.")
    assert rewritten(text, {0: ""}) == "dull, slow film."
    assert rewritten(text, {1: "", 2: ""}) == "A slow film."
    assert rewritten(text, {4: "", 5: ""}) == "A dull, slow"
    assert rewritten(text, {1: "fine"}) == "A fine, slow film."
    assert rewritten(text, {}) == "A dull, slow film."


def test_padding_is_never_shown_to_people(sst):
    for text in TEXTS:
        for perturbation in (sf.Deletion(), sf.RemoveOrSwap({"film": ["movie"]})):
            result = sf.explain(sst, text, perturbation=perturbation)
            flip = sf.contrast(sst, text, perturbation=perturbation)
            bias = sf.bias(sst, text, range(6), perturbation=perturbation)
            said = [
                *everywhere(sst, result),
                str(flip),
                flip._repr_html_(),
                str(bias),
                bias._repr_html_(),
            ]
            assert not [one for one in said if "<PAD>" in one or "&lt;PAD&gt;" in one]
            assert not {"<PAD>"} & {
                option for detail in result.details for option in detail.options
            }


def test_words_stand_in_quotes(sst):
    found = sf.contrast(sst, "the plot is thin", perturbation=sf.WordSwap({"thin": ["rich"]}))
    assert str(found).startswith(
        "Changing 'thin' turns 'negative' into 'positive', and no cheaper set does ("
    )
    result = sf.explain(sst, "no sense .", perturbation=sf.Deletion(), include=["sense", "."])
    assert "'sense' and '.'." in str(result)


# --- proofs of nothing ---

NOTHING = {
    "k": (sf.KNNBox(0), "with k = 0 no word may become another"),
    "hull": (sf.KNNHull(0), "with k = 0 no word may become another"),
    "eps": (sf.EpsilonBall(0), "within a radius of 0 no word may change"),
    "swaps": (sf.WordSwap({"elsewhere": ["nowhere"]}), "no word of the text has a substitute"),
    "same": (sf.WordSwap({"film": ["film"]}), "no word of the text has a substitute"),
    "unknown": (
        sf.WordSwap({"film": ["zzyzx", "qwxq"]}),
        "no substitute is in the classifier's vocabulary",
    ),
}


@pytest.mark.parametrize(("perturbation", "why"), NOTHING.values(), ids=NOTHING.keys())
def test_a_proof_of_nothing_is_not_green_and_says_so(sst, perturbation, why):
    result = sf.explain(sst, "a gripping film", perturbation=perturbation)
    assert str(result).startswith(f"Nothing to prove: {why}")
    tone, _, said = phrases.badge(result)
    assert (tone, said) == ("warn", "no proof of anything")
    assert phrases.headline(result) == "Nothing to prove"
    assert not [one for one in everywhere(sst, result) if "No word is needed" in one]


def test_boxes_without_room_are_a_proof_of_nothing(sst):
    center = sst.embed(sst.read("a gripping film"))
    result = sf.explain(sst, "a gripping film", perturbation=sf.Boxes(center, center))
    assert str(result).startswith("Nothing to prove: no word of the text may change")


def test_substitutes_outside_the_vocabulary_are_listed(sst):
    swaps = sf.WordSwap({"film": ["movie", "zzyzx"], "gripping": ["qwxq"], "absent": ["zzz"]})
    result = sf.explain(sst, "a gripping film", perturbation=swaps)
    assert result.meta["unknown_substitutes"] == ["qwxq", "zzyzx"]
    assert all(
        "read as unknown words: qwxq, zzyzx." in said for said in everywhere(sst, result)[1:]
    )
    assert "nothing" not in result.meta


# --- who says so ---


def test_without_the_checker_nothing_is_called_proved(sst):
    result = sf.explain(sst, TEXT, perturbation=sf.Deletion(), self_check=False)
    assert result.status == "optimal"
    assert result.proved == ()
    assert "(according to the search, not checked)" in str(result)
    assert phrases.badge(result) == ("warn", "◐", "according to the search, not checked")
    assert not re.search(r"\bproved\b", str(result) + shown(sst, result))


def test_the_answer_of_a_solver_is_called_by_its_name(tiny):
    result = sf.explain(
        tiny, ["word1", "word2", "word3"], perturbation=sf.KNNBox(3), oracle="milp", method="msa"
    )
    assert result.status == "optimal"
    assert not result.meta["checked"]
    assert "according to HiGHS, not checked" in str(result)
    assert phrases.badge(result)[0] == "warn"
    assert not re.search(r"\bproved\b", str(result) + shown(tiny, result))


def test_a_method_that_proves_less_is_named_for_the_rest(tiny):
    found = [
        sf.explain(tiny, make_text(seed), perturbation=sf.KNNBox(5), method="msa")
        for seed in range(6)
    ]
    some = [result for result in found if result.positions]
    assert some
    for result in some:
        assert "suffice for" in str(result)
        assert (
            "(proved), and no cheaper set does (according to the method msa, not checked)"
            in str(result)
        )
        assert phrases.badge(result)[0] == "warn"
    for result in found:
        if not result.positions:  # nothing is cheaper than nothing
            assert phrases.badge(result) == ("good", "✓", "proved")


def test_what_the_checker_accepted_is_part_of_the_answer(sst):
    result = sf.explain(sst, TEXT, perturbation=sf.Deletion())
    assert result.proved
    assert result.to_dict()["proved"] == list(result.proved)
    assert sf.Explanation.from_json(result.to_json()).proved == result.proved
    assert str(sf.Explanation.from_json(result.to_json())) == str(result)


def test_a_contrast_is_proved_by_a_certificate_that_the_checker_accepts(sst):
    found = sf.contrast(sst, TEXT, perturbation=sf.Deletion())
    assert found.status == "optimal"
    assert sf.check(found.certificate, sst).kind == "flip"
    assert "no cheaper set does (proved)" in str(found)


def test_a_contrast_whose_certificate_is_rejected_is_not_called_proved(sst, monkeypatch):
    def reject(*given, **more):
        raise sf.Rejected(1, "no")

    monkeypatch.setattr("suffice.verbs.accepting.check", reject)
    found = sf.contrast(sst, TEXT, perturbation=sf.Deletion())
    assert (found.status, found.certificate, found.lower_bound) == ("found", None, 0)
    assert not re.search(r"\bproved\b", str(found) + found._repr_html_())


# --- asking exactly the same again ---

BOX = make_classifier(0)
ASKED = {
    "costs": {"perturbation": sf.KNNBox(5), "cost": {"word1": 2.5}},
    "position": {"perturbation": sf.KNNBox(5), "include": [0], "exclude": [2]},
    "method": {"perturbation": sf.KNNBox(5), "method": "msa", "seed": 3, "padding": "feature"},
    "boxes": {"perturbation": "boxes"},
    "swaps": {"perturbation": sf.WordSwap({"word1": ["word2"]}, at_most=3)},
    "found": {"perturbation": sf.KNNBox(5), "prefer": "found"},
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED.keys())
@pytest.mark.parametrize(
    "text", ["word1 word4 word1", ["word1", "word4", "Word1"]], ids=["string", "list"]
)
def test_the_report_holds_exactly_the_question_that_was_asked(tiny, asked, text):
    center = tiny.embed(tiny.read(text))
    given = (
        {**asked, "perturbation": sf.Boxes(center - 0.1, center + 0.1)}
        if asked["perturbation"] == "boxes"
        else asked
    )
    result = sf.explain(tiny, text, **given)
    again = sf.Explanation.from_json(result.to_json())
    link = re.search(
        r'download="question.json" href="data:application/json;charset=utf-8,([^"]*)"',
        again.to_html(),
    )
    question = Question.from_dict(json.loads(unquote(link.group(1))), tiny)
    repeated = explained(question)
    assert repeated.text.tokens == result.text.tokens
    assert question.to_dict() == result.question
    assert (repeated.status, repeated.positions, repeated.cost) == (
        result.status,
        result.positions,
        result.cost,
    )
    same = (
        "perturbation",
        "cost",
        "include",
        "exclude",
        "padding",
        "method",
        "oracle",
        "seed",
        "prefer",
    )
    assert {key: repeated.meta.get(key) for key in same} == {
        key: result.meta.get(key) for key in same
    }


# --- equals ---


@pytest.mark.parametrize("seed", range(24))
def test_alternatives_are_exactly_the_equally_cheap_sets(seed):
    judge = Judge(seed, classes=2 + seed % 2)
    result = sf.explain(judge.classifier, judge.words, perturbation=judge.perturbation)
    found = result.alternatives
    expected = judge.optimal()
    assert found.complete
    assert list(found.sets) == sorted(expected)
    assert found.count == len(expected)
    assert [word.position for word in found.in_all] == [
        i for i in range(4) if all(i in held for held in expected)
    ]
    somewhere = {i for held in expected for i in held} - {word.position for word in found.in_all}
    assert {word.position for word in found.in_some} == somewhere
    if len(expected) > 1:
        assert f"{len(expected)} sets are equally cheap" in shown(judge.classifier, result)
        assert f"{len(expected)} sets are equally cheap" in result.to_html()


def test_alternatives_survive_json_and_pickle_once_they_are_known():
    judge = next(judge for judge in map(Judge, range(40)) if len(judge.optimal()) > 1)
    result = sf.explain(judge.classifier, judge.words, perturbation=judge.perturbation)
    assert result.to_dict()["alternatives"] is None
    known = result.alternatives
    assert sf.Explanation.from_json(result.to_json()).alternatives == known
    assert pickle.loads(pickle.dumps(result)).alternatives == known


def test_more_sets_than_the_limit_are_not_called_all(monkeypatch):
    monkeypatch.setattr("suffice.verbs.alternatives.LIMIT", 2)
    judge = next(judge for judge in map(Judge, range(40)) if len(judge.optimal()) > 2)
    found = sf.explain(judge.classifier, judge.words, perturbation=judge.perturbation).alternatives
    assert not found.complete
    assert "not all were looked for" in str(found)
    forced = [i for i in range(4) if not judge.robust([j for j in range(4) if j != i])]
    assert [word.position for word in found.in_all] == forced


def test_content_words_are_preferred_among_equals(sst):
    """Two words that count the same: the one that means something is taken, wherever it stands."""
    table = np.zeros((5, 1))
    # "the" and "good"
    table[2] = 1.0
    table[3] = 1.0
    either = sf.Network.dense(
        [(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]), np.array([0.5, 0.0]))]
    )
    words = ["<PAD>", "<UNK>", "the", "good", "film"]
    classifier = sf.Classifier(either, table, words, ["negative", "positive"], 3)
    for text in (["the", "good", "film"], ["good", "film", "the"]):
        result = sf.explain(classifier, text, perturbation=sf.Deletion())
        assert [word.text for word in result.words] == ["good"]
        assert result.alternatives.count == 2
        assert result.meta["checked"]
        assert result.proved
    asked = sf.explain(
        classifier, ["the", "good", "film"], perturbation=sf.Deletion(), include=["the"]
    )
    assert [word.text for word in asked.words] == ["the"]


def test_of_two_content_words_the_one_that_says_more_by_itself_is_preferred():
    """Either is enough. A bad substitute makes the weaker word matter more here, but does not make
    it say more.
    """
    table = np.array([[0.0], [0.0], [1.0], [2.0], [-1.2]])
    either = sf.Network.dense([(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0.5, 0.0]))])
    words = ["<PAD>", "<UNK>", "warm", "lovely", "cold"]
    classifier = sf.Classifier(either, table, words, ["negative", "positive"], 2)
    for text in (["warm", "lovely"], ["lovely", "warm"]):
        result = sf.explain(classifier, text, perturbation=sf.RemoveOrSwap({"warm": ["cold"]}))
        assert [word.text for word in result.words] == ["lovely"]
        assert result.alternatives.count == 2


@pytest.mark.parametrize("seed", [22, 25, 44, 54, 77])
def test_a_stronger_word_is_preferred_where_plain_bounds_do_not_show_that_it_is_enough(
    seed, monkeypatch
):
    """Without more work the weaker word stays; with it another set is taken, enough by every text
    and no dearer.
    """
    rng = np.random.default_rng(seed)
    table = np.vstack([np.zeros((2, 4)), rng.normal(size=(7, 4))])
    inner = rng.normal(size=(8, 4))
    outer = rng.normal(size=(2, 8))
    network = sf.Network.dense([(np.tile(inner, 7), np.zeros(8)), (outer, np.zeros(2))])
    words = [f"word{i}" for i in range(7)]
    classifier = sf.Classifier(
        network, table, ["<PAD>", "<UNK>", *words], ["negative", "positive"], 7
    )
    result = sf.explain(classifier, words, perturbation=sf.Deletion())
    use_settings(monkeypatch, answers={"vain_tries": 0})
    weaker = sf.explain(classifier, words, perturbation=sf.Deletion())
    assert len(result.positions) == len(weaker.positions)
    assert result.positions != weaker.positions
    assert result.meta["checked"]
    for kept in itertools.product([True, False], repeat=7):
        text = [words[i] if kept[i] or i in result.positions else "<PAD>" for i in range(7)]
        assert classifier.predict(text).label == result.label


def test_words_that_deny_are_not_stop_words():
    assert all(is_low_content(word) for word in ("the", "It's", ",", "...", "of"))
    assert not any(
        is_low_content(word) for word in ("not", "never", "no", "n't", "good", "without", "7")
    )


def test_a_walk_looks_at_no_more_exchanges_than_are_worth_it(sst, monkeypatch):
    """In a long text they would be thousands; here the limit is two, and the answer is as cheap."""
    looked = []
    real = prefer.Preference._exchanged

    def counted(self, held, proof, words, pairs, hopeful):
        looked.append(len(pairs))
        return real(self, held, proof, words, pairs, hopeful)

    monkeypatch.setattr(prefer.Preference, "_exchanged", counted)
    whole = sf.explain(sst, TEXTS[2], perturbation=sf.KNNBox(10))
    assert max(looked) > 2
    looked.clear()
    monkeypatch.setattr(prefer.Preference, "_looks", 2)
    assert sf.explain(sst, TEXTS[2], perturbation=sf.KNNBox(10)).cost == whole.cost
    assert looked
    assert max(looked) <= 2


def test_an_unknown_preference_is_refused(tiny):
    with pytest.raises(sf.InputError, match="content, found"):
        sf.explain(tiny, ["word1"], perturbation=sf.KNNBox(2), prefer="short")


# --- why this word ---


def test_each_word_comes_with_a_text_that_the_classifier_was_run_on(sst):
    result = sf.explain(sst, TEXT, perturbation=sf.Deletion())
    (detail,) = [detail for detail in result.details if detail.position in result.positions]
    line = f"Without '{result.words[0].text}': “{detail.flip.text}” → negative"
    assert sst.predict(detail.flip.text).label == "negative"
    assert all(line in " ".join(unescape(said).split()) for said in everywhere(sst, result)[1:])


def test_where_no_text_flips_the_change_is_told_word_by_word(sst):
    for text in TEXTS:
        result = sf.explain(sst, text, perturbation=sf.Deletion())
        for detail in result.details:
            if detail.flip is not None and detail.flip.text is None:
                assert "is blanked" in details.reason(result, detail)


# --- the next question ---


def test_where_no_word_is_needed_a_larger_set_is_named_that_needs_one(sst):
    result = sf.explain(sst, TEXT, perturbation=sf.KNNBox(5))
    assert not result.positions
    larger = result.further.perturbation
    assert larger.k > 5
    assert isinstance(sf.is_robust(sst, TEXT, [], perturbation=larger), sf.Refuted)
    assert f"--knn-box {larger.k}" in " ".join(shown(sst, result).split())
    assert f"--knn-box {larger.k}" in result.to_html()


@pytest.mark.parametrize("perturbation", [sf.EpsilonBall(0.01), sf.WordSwap({"film": ["movie"]})])
def test_the_larger_set_fits_the_question(sst, perturbation):
    result = sf.explain(sst, "a gripping film", perturbation=perturbation)
    assert not result.positions
    asked = result.further.perturbation
    assert isinstance(sf.is_robust(sst, "a gripping film", [], perturbation=asked), sf.Refuted)


@pytest.mark.parametrize(
    "perturbation", [sf.KNNBox(6), sf.KNNHull(6), sf.EpsilonBall(1.5)], ids=["box", "hull", "ball"]
)
def test_where_every_word_is_needed_a_smaller_set_is_named_that_leaves_some_out(perturbation):
    asked = ((make_classifier(seed), make_text(seed)) for seed in range(60))
    found = [(one, text, sf.explain(one, text, perturbation=perturbation)) for one, text in asked]
    whole = [
        (one, text, result)
        for one, text, result in found
        if len(result.positions) == len(result.text.words) > 1
    ]
    named = [(one, text, result) for one, text, result in whole if result.further is not None]
    assert named
    for one, text, result in named:
        assert f"All {len(text)} words are needed" in phrases.headline(result)
        smaller = result.further.perturbation
        assert smaller != perturbation
        if smaller.at_most is None:
            assert len(sf.explain(one, text, perturbation=smaller).positions) < len(text)
        assert result.further.seen[1:] in shown(one, result)


def test_where_most_words_are_held_the_limit_of_one_change_at_a_time_is_named(sst):
    text = "my daughter loved it , I was bored to tears"
    result = sf.explain(sst, text, perturbation=sf.KNNBox(50))
    found = result.further
    assert 5 <= len(result.positions) < 10
    assert found.perturbation == sf.KNNBox(50, at_most=1)
    places = range(10)
    free = [
        i
        for i in places
        if sf.is_robust(sst, text, [j for j in places if j != i], perturbation=sf.KNNBox(50))
    ]
    assert (
        f"{10 - len(free)} of 10 words" if len(free) < 10 else "no word is needed"
    ) in found.seen
    assert "--knn-box 50 --at-most 1" in shown(sst, result)


def test_an_answer_that_says_enough_names_no_next_question(sst):
    assert sf.explain(sst, TEXT, perturbation=sf.Deletion()).further is None


# --- reprs ---


def test_the_repr_of_every_answer_is_one_short_line(sst):
    text = "word " * 3 + "supercalifragilisticexpialidocious " * 20
    asked = {"perturbation": sf.KNNBox(500), "seconds": 0.5}
    answers = [
        sf.explain(sst, text, expected=_other(sst, text), **asked),
        sf.contrast(sst, text, **asked),
        sf.bias(sst, text, range(20), **asked),
        sf.repair(sst, text, [0], **asked),
        sf.profile(sst, text, sf.EpsilonBall, [i / 100 for i in range(1, 25)], seconds=1),
        sf.attribute(sst, text, limit=3, **asked),
        sf.is_robust(sst, text, [0], **asked),
        sf.is_robust(sst, text, range(20), **asked),
    ]
    parts = [
        answers[0].mistake,
        answers[0].alternatives,
        answers[1].flip,
        Question(sst, text, **asked),
    ]
    for answer in (*answers, *parts):
        assert "\n" not in repr(answer)
        assert len(repr(answer)) < 200, type(answer)


def _other(classifier: sf.Classifier, text: str) -> str:
    return next(label for label in classifier.labels if label != classifier.predict(text).label)


# --- padding that counts as words, and flips towards one of several labels ---


def test_padding_in_a_set_is_not_counted_as_words_of_the_text():
    result = sf.explain(
        sf.load("sst-cnn25"),
        "the plot is thin",
        perturbation=sf.EpsilonBall(1.0),
        padding="feature",
        seconds=5,
    )
    words = len(result.words)
    padding = len(result.positions) - len(result.words)
    assert padding > 0
    for said in (str(result), phrases.headline(result)):
        assert (
            f"{words} of 4 words and {padding} positions of padding" in said
            or result.status == "unknown"
        )
        assert "All" not in said
    assert "every word stays" not in phrases.meaning(result)


def test_a_flip_towards_a_label_names_the_one_that_wins_and_the_one_that_was_asked_for():
    rows = {"good": [1.0, 0.0, 0.0], "plain": [0.0, 0.6, 0.8], "odd": [0.0, 0.9, 0.2]}

    def scores(texts):
        return np.array([rows.get(text, [1.0, 0.0, 0.0]) for text in texts])

    clf = sf.from_function(scores, labels=["a", "b", "c"], name="three")
    third = sf.contrast(clf, "good", perturbation=sf.WordSwap({"good": ["plain"]}), towards="b")
    assert "lets 'b' reach 'a' ('c' wins then), and no cheaper set does" in str(third)
    assert "lets “b” reach “a” (“c” wins then)" in verdicts.turned(third)
    first = sf.contrast(clf, "good", perturbation=sf.WordSwap({"good": ["odd"]}), towards="b")
    assert "turns 'a' into 'b', and no cheaper set does" in str(first)


# --- the one who reads it for the first time ---

SUPERB = "the plot is thin but the acting is superb"
STRANGE = sf.WordSwap({"superb": ["qwxq"]})


@pytest.mark.parametrize("perturbation", [STRANGE, sf.KNNBox(0), sf.WordSwap({"film": ["movie"]})])
def test_no_verb_calls_it_proved_that_nothing_could_happen(sst, perturbation):
    flip, shares = (
        verb(sst, SUPERB, perturbation=perturbation) for verb in (sf.contrast, sf.attribute)
    )
    guarded, mended = (
        verb(sst, SUPERB, ["superb"], perturbation=perturbation) for verb in (sf.bias, sf.repair)
    )
    assert all(str(one).startswith("Nothing to prove: ") for one in (flip, shares))
    assert (guarded.status, str(guarded).partition(":")[0]) == ("unknown", "Nothing was tested")
    assert "nothing" not in mended.meta or str(mended).startswith("Nothing to prove: ")
    assert verdicts.flip_headline(flip) == "Nothing to prove"
    assert verdicts.flip_badge(flip)[0] == verdicts.bias_badge(guarded)[0] == "warn"
    assert "proved" not in str(flip) + verdicts.turned(flip)


def test_a_black_box_whose_words_cannot_change_proves_nothing():
    box = sf.from_function(
        lambda texts: np.tile([0.9, 0.1], (len(texts), 1)), labels=["a", "b"], name="same"
    )
    result = sf.explain(box, "never late", perturbation=sf.WordSwap({"film": ["movie"]}))
    assert phrases.badge(result)[0] == "warn"
    assert phrases.headline(result) == "Nothing to prove"


def test_words_that_were_all_asked_for_are_not_said_to_be_needed(sst):
    result = sf.explain(sst, SUPERB, perturbation=sf.KNNBox(1), include=SUPERB.split())
    assert not sf.explain(sst, SUPERB, perturbation=sf.KNNBox(1)).positions
    assert "Only while" not in phrases.meaning(result)
    assert "needed" not in phrases.headline(result)


def test_what_was_asked_of_the_sets_is_in_an_attribution(sst):
    found = sf.attribute(sst, SUPERB, perturbation=sf.Deletion(), include=["the"])
    assert str(found).startswith("For a set that holds 'the': there is 1 optimal explanation")


def test_a_price_keeps_names_and_words_as_they_are_written(sst):
    result = sf.explain(
        sst, SUPERB.replace("plot", "Plot"), perturbation=sf.Deletion(), include=["Plot"]
    )
    said = " ".join(shown(sst, result).split())
    assert "Cost 3, the least possible of a set that holds 'Plot'." in said
    none = sf.explain(sst, SUPERB, perturbation=sf.Deletion(), exclude=["plot"])
    assert "There is no such set, whatever the cost. Certificate" in " ".join(
        shown(sst, none).split()
    )


def test_a_word_that_stands_twice_is_told_apart_or_named_once(sst):
    result = sf.explain(sst, SUPERB, perturbation=sf.Deletion())
    assert phrases.equals(result).endswith(
        ": 'plot' and 'thin' in all of them, 'the' (positions 0 and 5), 'is' (positions 2 and "
        "7) and 'acting' in some."
    )
    one = sf.explain(sst, SUPERB, perturbation=sf.Deletion(), include=[2])
    assert "'is' (position 2)" in str(one)


def test_one_word_suffices_and_two_suffice(sst):
    one, two = (sf.explain(sst, text, perturbation=sf.Deletion()) for text in ("terrible", SUPERB))
    assert str(one).startswith("1 of 1 words suffices")
    assert str(two).startswith("3 of 9 words suffice ")
    assert phrases.headline(one) == "The one word is needed"
    assert "'terrible' suffice:" not in " ".join(one.proved)


def test_of_a_bias_the_protected_words_are_those_that_may_change(sst):
    found = sf.bias(
        sst,
        "she gave a fine performance",
        ["she"],
        perturbation=sf.RemoveOrSwap({"fine": ["good"]}),
    )
    said = guarantee.allowed_in(found.meta, found.text)
    assert said == "A protected word may be blanked (no protected word has a substitute)."


def test_a_certificate_about_another_text_names_it_without_padding(sst):
    result = sf.explain(sst, SUPERB, perturbation=sf.Deletion())
    with pytest.raises(
        sf.Rejected, match=r"another text: 'the plot is thin but the acting is superb'$"
    ):
        sf.check(result.certificate, sst, text="the plot is thin")


def test_a_next_command_asks_for_the_same_words_or_is_left_out(sst):
    """On a command line a word stands for all its places: one place of two cannot be
    named there.
    """
    both, one = (
        sf.explain(sst, SUPERB, perturbation=sf.KNNBox(10), include=held) for held in (["the"], [0])
    )
    assert phrases.next_question(both)[1].endswith("--at-most 1 --include the")
    assert phrases.next_question(one)[0].startswith("A quick look: ")
    assert phrases.next_question(one)[1] == ""


def test_a_batch_counts_the_texts_with_nothing_to_prove(sst):
    run = sf.batch(sst, [SUPERB, "a film"], perturbation=sf.WordSwap({"film": ["movie"]}))
    assert len(list(run)) == 2
    assert run.summary.nothing == 1
    assert "(1 of them with nothing to prove)" in str(run.summary)


def even(texts: list[str]) -> list[list[float]]:
    """Positive with "good" in it; without, a tie as long as "film" is there."""
    return [
        [1.0, 2.0] if "good" in text else [1.0, 1.0] if "film" in text else [2.0, 1.0]
        for text in texts
    ]


def test_a_change_that_only_ties_is_never_said_to_win() -> None:
    judge = sf.from_function(even, ["down", "up"], "even")
    once = sf.Deletion(at_most=1)
    text = "a good film"
    kept = sf.explain(judge, text, perturbation=once)
    without = sf.explain(judge, text, perturbation=once, exclude=["good"])
    repaired = sf.repair(judge, text, [0], perturbation=once)
    for said in (str(without), phrases.meaning(without), str(repaired), shown(judge, kept)):
        assert "tie" in said
        assert not re.search(r"into|become 'down'|→ down", said)
    lost = sf.explain(judge, "a good tale", perturbation=once, exclude=["good"])
    assert (
        phrases.meaning(lost) == "Changing only the excluded words already turns “up” into “down”."
    )


@pytest.mark.parametrize("verb", [sf.explain, sf.contrast, sf.attribute])
def test_that_words_could_only_become_unknown_is_no_reason_that_the_label_stays(verb):
    """It stays, and that was proved; with other unknown words it might not."""
    found = verb(sf.load("sentiment"), "a good film", perturbation=sf.WordSwap({"good": ["zzxqy"]}))
    assert str(found) == (
        "Nothing to prove: no substitute is in the classifier's vocabulary: words could only "
        "become unknown ones, and "
        "the label 'positive' stays."
    )
    if isinstance(found, sf.Explanation):
        assert phrases.meaning(found).endswith("unknown ones, and the label stays “positive”.")


def test_a_quick_look_that_saw_a_tie_does_not_speak_of_another_label():
    """Without any word both labels have the same score."""
    found = sf.explain(
        sf.load("sentiment"), "a quiet , moving film", perturbation=sf.Deletion(at_most=2)
    )
    assert (found.positions, found.status) == ((), "optimal")
    assert (
        "may change at once, 'negative' can reach 'positive' (a tie): some word is needed"
        in found.further.seen
    )


def test_a_quick_look_at_a_black_box_that_saw_a_tie_says_so():
    def scores(texts: list[str]) -> np.ndarray:
        count = np.array([max(len(text.split()) - 2, 0) for text in texts], dtype=float)
        return np.stack([count, np.zeros(len(texts))], 1)

    box = sf.from_function(scores, labels=["long", "short"], name="length")
    found = sf.explain(box, "one two three four five six", perturbation=sf.Deletion(at_most=2))
    assert found.positions == ()
    assert "'short' can reach 'long' (a tie)" in found.further.seen


def test_a_norm_is_named_as_people_name_it():
    found = sf.explain(
        sf.load("sst-fc25"), "a gorgeous film", perturbation=sf.EpsilonBall(0.001, 2.0)
    )
    assert "in the 2-norm." in guarantee.allowed(found.meta["perturbation"])
    assert "'--norm', '2'" in str(command_options(found.meta["perturbation"]))


# --- counts and lists ---


def test_a_list_has_as_many_places_as_the_count_before_it_says(sst):
    """'2 of 6 words suffice: 'no'.' would name one."""
    result = sf.explain(sst, "bad film , bad , bad", perturbation=sf.Deletion(), include=["bad"])
    assert str(result).startswith("3 of 6 words suffice")
    assert str(result).endswith(": 'bad' (positions 0, 3 and 5).")
    twice = sf.explain(sst, "bad film , bad , bad", perturbation=sf.Deletion(), include=[0, 5])
    assert "'bad' (positions 0 and 5)" in str(twice)
    for text in TEXTS:
        found = sf.explain(sst, text)
        listed = str(found).rsplit(": ", 1)[-1] if found.positions else ""
        places = [
            int(i)
            for some in re.findall(r"positions? ([\d, and]+)", listed)
            for i in re.findall(r"\d+", some)
        ]
        single = len(re.findall(r"'[^']+'(?! \(position)", listed))
        assert len(places) + single == len(found.positions)


# --- words that are in a set because of what they could become ---


def test_a_word_that_only_a_substitute_makes_needed_says_so():
    clf = sf.load("sentiment")
    text = "a thin but great film"
    found = sf.explain(clf, text)
    (thin,) = [one for one in found.details if one.position == 1]
    assert thin.swapped
    assert (
        "Only what 'thin' may become does that: could it only be blanked, the others would be "
        "enough (proved)."
    ) in (details.reason(found, thin))
    swaps = {
        word: others
        for word, others in found.meta["perturbation"]["swaps"].items()
        if word != "thin"
    }
    others = [i for i in found.positions if i != 1]
    assert sf.is_robust(clf, text, others, perturbation=sf.RemoveOrSwap(swaps))
    assert not sf.is_robust(
        clf, text, others, perturbation=sf.RemoveOrSwap(found.meta["perturbation"]["swaps"])
    )


def judging(texts):
    """What is slender is bad, and so is what is not great; nothing is said of what is thin."""
    return [[0.5, 0.0 if "slender" in text or "great" not in text else 1.0] for text in texts]


def test_so_does_one_of_a_program_that_is_asked_unless_texts_cost_money():
    program = sf.from_function(judging, ["bad", "good"], name="judging")
    swaps = sf.RemoveOrSwap({"thin": ["slender"], "great": ["superb"]})
    found = sf.explain(program, "a thin but great film", perturbation=swaps)
    assert [word.text for word in found.words] == ["thin", "great"]
    assert [one.swapped for one in found.details] == [False, True, False, False, False]
    assert "could it only be removed, the others" in details.reason(found, found.details[1])
    paid = sf.explain(program, "a thin but great film", perturbation=swaps, max_queries=1000)
    assert not any(one.swapped for one in paid.details)


def test_nothing_is_said_where_the_same_word_would_lose_its_substitutes_elsewhere_too():
    program = sf.from_function(judging, ["bad", "good"], name="judging")
    found = sf.explain(
        program,
        "thin thin great",
        perturbation=sf.RemoveOrSwap({"thin": ["slender"]}),
        exclude=[],
        include=[],
    )
    assert all(one.swapped for one in found.details[:2]) == all(
        i in found.positions for i in (0, 1)
    )


def test_a_word_whose_going_flips_the_label_is_not_said_to_need_its_substitutes(sst):
    for text in TEXTS:
        found = sf.explain(sst, text)
        listed = found.meta["perturbation"]["swaps"]
        for one in (one for one in found.details if one.swapped):
            less = {
                word: others
                for word, others in listed.items()
                if word != found.text.tokens[one.position]
            }
            rest = [i for i in found.positions if i != one.position]
            assert sf.is_robust(sst, text, rest, perturbation=sf.RemoveOrSwap(less))

"""The table of sets: every row is on the command line, in the API's schema, in a sentence, and the
checker knows it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers import make_classifier

import suffice as sf
from suffice.cli import main
from suffice.cli.parser import build_parser
from suffice.cli.reading import perturbation
from suffice.model.tokenizers import Pattern
from suffice.sets import table
from suffice.sets.perturbations import BundledCounterparts, BundledSubstitutes, Marks
from suffice.sets.table import KINDS, Kind

CLASSIFIER = make_classifier(seed=3, length=5, dimension=2, hidden=(6,))
TEXT = ["word1", "word4", "word2", "word6"]
SWAPS = {word: [other for other in CLASSIFIER.vocabulary[2:6] if other != word] for word in TEXT}


def example(kind: Kind, **more: Any) -> sf.Deletion | sf.KNNBox:
    """One set of each kind around the same text."""
    center = CLASSIFIER.embed(CLASSIFIER.read(TEXT))
    fields = {
        "k": 2,
        "eps": 0.3,
        "p": 2.0,
        "swaps": SWAPS,
        "token": None,
        "lower": center - 0.5,
        "upper": center + 0.25,
    }
    return kind.make(**{name: fields[name] for name in kind.schema}, **more)


kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@kinds
@pytest.mark.parametrize("limit", [None, 2])
def test_a_set_comes_back_from_plain_data(kind, limit):
    made = example(kind, at_most=limit)
    data = json.loads(json.dumps(made.to_dict()))
    again = table.from_dict(data)
    assert type(again) is type(made)
    assert again.at_most == limit
    assert again.to_dict() == made.to_dict() == data


@kinds
def test_the_schema_names_exactly_the_fields(kind):
    (mine,) = [
        one for one in table.schema()["oneOf"] if one["properties"]["kind"] == {"const": kind.name}
    ]
    assert {*example(kind, at_most=1).to_dict()} == {*mine["properties"]}
    assert {*mine["required"]} <= {*example(kind).to_dict()}


@kinds
def test_a_field_too_many_or_too_few_is_refused(kind):
    data = example(kind).to_dict()
    with pytest.raises(sf.InputError):
        table.from_dict({**data, "more": 1})
    for name in [name for name in kind.schema if name not in ("token", "p")]:
        with pytest.raises(sf.InputError):
            table.from_dict({key: value for key, value in data.items() if key != name})


@pytest.mark.parametrize("wrong", [None, 3, [], {}, {"kind": "magic"}, {"kind": ["deletion"]}])
def test_what_describes_no_set_is_refused(wrong):
    with pytest.raises(sf.InputError, match="does not describe"):
        table.from_dict(wrong)


@kinds
def test_every_set_has_its_sentence_and_the_limit_is_in_it(kind):
    said = table.sentence(example(kind).to_dict())
    assert said.startswith("A free word")
    assert said.endswith(".")
    assert "{" not in said
    assert "Only one" in table.sentence(example(kind, at_most=1).to_dict())
    assert "At most 3 of the free words" in table.sentence(example(kind, at_most=3).to_dict())


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "2", 2**53, 10**30])
def test_a_limit_is_a_whole_number_of_at_least_one(wrong):
    with pytest.raises(sf.InputError, match="at_most"):
        sf.Deletion(at_most=wrong)


def test_every_option_of_the_table_makes_its_set(tmp_path):
    swaps = tmp_path / "swaps.json"
    swaps.write_text(json.dumps(SWAPS))
    values = {
        "--knn-box": ["3"],
        "--knn-hull": ["3"],
        "--eps": ["0.5"],
        "--swaps": [str(swaps)],
        "--mask": ["x"],
    }
    for kind in [kind for kind in KINDS if kind.flag is not None]:
        args = build_parser().parse_args(
            ["explain", "a", kind.flag.name, *values.get(kind.flag.name, [])]
        )
        assert type(perturbation(args)) is kind.make
    both = build_parser().parse_args(
        ["explain", "a", "--deletion", "--swaps", str(swaps), "--at-most", "2"]
    )
    assert perturbation(both).to_dict() == sf.RemoveOrSwap(SWAPS, at_most=2).to_dict()


def test_two_sets_that_do_not_go_together_are_refused(capsys):
    assert main(["explain", "a good film", "--eps", "1", "--knn-box", "3"]) == 2
    assert "do not go together" in capsys.readouterr().err


@kinds
@pytest.mark.parametrize("limit", [None, 1])
def test_the_checker_accepts_what_is_proved_over_every_set(kind, limit):
    result = sf.explain(CLASSIFIER, TEXT, perturbation=example(kind, at_most=limit))
    assert result.status == "optimal"
    assert result.meta["checked"], result.meta


def test_removal_or_swap_is_both():
    text = CLASSIFIER.read(TEXT)
    both = sf.RemoveOrSwap(SWAPS).around(CLASSIFIER, text)
    apart = [sf.Deletion().around(CLASSIFIER, text), sf.WordSwap(SWAPS).around(CLASSIFIER, text)]
    for position, names in enumerate(both.names):
        assert set(names) == {name for one in apart for name in one.names[position]}


def test_the_default_is_removal_or_a_bundled_substitute_that_the_classifier_knows():
    classifier = sf.load("sst-fc25")
    question = sf.Question(classifier, "a good film about zork")
    swaps = question.to_dict()["perturbation"]["swaps"]
    assert question.to_dict()["perturbation"]["kind"] == "removal-or-swap"
    assert "great" in swaps["good"]
    assert all(classifier.knows(other) for others in swaps.values() for other in others)
    assert (
        question.to_dict()
        == sf.Question(classifier, "a good film about zork", perturbation=None).to_dict()
    )


def test_a_question_keeps_only_the_substitutes_of_its_text():
    thesaurus = {f"word{n}": [f"other{n}"] for n in range(1000)} | SWAPS
    question = sf.Question(CLASSIFIER, TEXT, perturbation=sf.WordSwap(thesaurus))
    assert set(question.to_dict()["perturbation"]["swaps"]) <= {*TEXT}


def test_a_capital_word_is_looked_up_in_lower_case_too():
    swap = sf.WordSwap({"Good": ["fine"], "bad": ["poor", "bad"]})
    assert swap.of("good") == ("fine",)
    assert swap.of("GOOD") == ("fine",)
    assert swap.of("bad") == ("poor",)
    assert swap.of("other") == ()


def test_numbers_of_numpy_are_numbers():
    assert sf.KNNBox(np.int64(3)).to_dict() == {"kind": "knn-box", "k": 3}
    assert sf.EpsilonBall(np.float64(0.5)).to_dict() == {
        "kind": "epsilon-ball",
        "eps": 0.5,
        "p": "inf",
    }


@pytest.mark.parametrize("make", [sf.WordSwap, sf.RemoveOrSwap], ids=["WordSwap", "RemoveOrSwap"])
def test_half_a_character_is_no_word(make):
    for swaps in ({"good": ["b\ud800d"]}, {"\udfff": ["bad"]}):
        with pytest.raises(sf.InputError, match="set of substitutes holds half a character"):
            make(swaps)
    with pytest.raises(sf.InputError, match="mask holds half a character"):
        sf.Mask("\ud800")


# --- case ---

CAPITALS = "Good films and GOOD actors , a good film ; Sarah met HER son"


@pytest.mark.parametrize(
    "classifier", [sf.load("sst-fc25"), sf.from_function(len, ["no", "yes"], name="never asked")]
)
@pytest.mark.parametrize("made", [BundledSubstitutes(), BundledCounterparts()])
def test_a_bundled_substitute_takes_the_case_of_its_word_whatever_the_classifier_reads(
    classifier, made
):
    text = classifier.read(CAPITALS)
    narrowed = made.narrowed(classifier, text)
    # padding
    options = dict(zip(text.source.split(), narrowed.options(text, Marks("", "?")), strict=False))
    assert "Great" in options["Good"]
    assert "GREAT" in options["GOOD"]
    assert "great" in options["good"]
    assert all(other.isupper() or not other for other in options["GOOD"])
    if isinstance(made, BundledCounterparts):
        assert "Emma" in options["Sarah"]
        assert "HIS" in options["HER"]
    again = table.from_dict(json.loads(json.dumps(narrowed.to_dict()))).narrowed(classifier, text)
    assert again.to_dict() == narrowed.to_dict()
    assert again.options(text, Marks("", "?")) == narrowed.options(text, Marks("", "?"))


def test_substitutes_with_capitals_are_the_words_of_a_vocabulary_in_lower_case():
    classifier = sf.load("sst-fc25")
    low, high = (sf.explain(classifier, text) for text in (CAPITALS.lower(), CAPITALS))
    assert (low.status, low.positions, low.cost) == (high.status, high.positions, high.cost)
    assert high.proved
    assert high.meta.get("unknown_substitutes") is None
    assert sf.check(
        high.certificate, classifier, question=sf.Question(classifier, CAPITALS)
    ).optimal


def test_swaps_of_ones_own_are_taken_as_they_are_written():
    classifier = sf.from_function(len, ["no", "yes"], name="never asked")
    question = sf.Question(
        classifier, "Sarah MET Tom", perturbation=sf.WordSwap({"sarah": ["fatima"], "met": ["Saw"]})
    )
    assert question.asked.options == (("fatima",), ("Saw",), ())


def test_a_word_without_substitutes_does_not_take_those_of_another_spelling():
    reader = Pattern(r"\w+", lowercase=False)
    one = replace(make_classifier(1, length=2, words=3), tokenizer=reader)
    cased = replace(one, vocabulary=["<PAD>", "<UNK>", "Good", "good", "great"])
    question = sf.Question(cased, "Good good")
    assert question.perturbation.options(question.text, Marks("", "?")) == [("",), ("", "great")]
    listed = sf.Question(
        cased, "Good good", perturbation=sf.WordSwap({"Good": ["great"], "good": []})
    )
    assert listed.perturbation.options(listed.text, Marks("", "?")) == [("great",), ()]
    assert sf.explain(cased, "Good good", perturbation=listed.perturbation).status != "unknown"


def test_what_a_word_may_become_is_said_in_its_case(capsys):
    assert main(["words", "GOOD", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "GREAT" in found["bundled substitutes"]
    assert main(["words", "Sarah", "--json"]) == 0
    assert "Fatima" in json.loads(capsys.readouterr().out)["group names"]


def test_the_nearest_words_of_a_word_in_capitals_are_those_of_the_word():
    classifier = sf.load("sentiment")
    near = [
        sf.neighbours(classifier, word, perturbation=sf.KNNBox(5)) for word in ("great", "GREAT")
    ]
    assert near[0] == near[1]

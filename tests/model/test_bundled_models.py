"""The bundled models that people meet first: their size, their neighbours, and answers on sentences
of our own.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import suffice as sf
from suffice.sets.substitutes import group, substitutes

FOLDER = Path(sf.__file__).parent / "models"
NAMES = ("question", "sentiment", "topic")
FIVE_MB = 5_000_000


@cache
def model(name: str) -> sf.Classifier:
    return sf.load(name)


def nearest(classifier: sf.Classifier, word: str, count: int) -> set[str]:
    row = classifier.lookup[word]
    distance = ((classifier.table - classifier.table[row]) ** 2).sum(1)
    distance[[0, 1, row]] = np.inf
    return {classifier.vocabulary[place] for place in np.argsort(distance)[:count]}


@pytest.mark.parametrize("name", NAMES)
def test_each_folder_stays_below_five_megabytes(name: str) -> None:
    assert sum(file.stat().st_size for file in (FOLDER / name).iterdir()) < FIVE_MB


def test_the_package_packed_as_in_a_wheel_stays_below_ten_megabytes() -> None:
    files = (
        file
        for file in FOLDER.parent.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    )
    assert sum(len(zlib.compress(file.read_bytes())) for file in files) < 2 * FIVE_MB


@pytest.mark.parametrize("name", NAMES)
def test_word_vectors_are_kept_in_half_precision(name: str) -> None:
    table = model(name).table
    assert np.array_equal(table, table.astype(np.float16))


@pytest.mark.parametrize(
    ("name", "text", "label"),
    [
        ("sentiment", "A warm and funny story with wonderful actors.", "positive"),
        ("sentiment", "The plot is dull and the jokes fall flat.", "negative"),
        ("sentiment", "not good", "negative"),
        ("sentiment", "The film is not good.", "negative"),
        ("topic", "The striker scored twice in the final minutes of the match.", "Sports"),
        ("topic", "Shares fell after the company cut its forecast for the year.", "Business"),
        ("topic", "The new chip makes laptops faster and saves battery power.", "Sci/Tech"),
        ("topic", "Rebels and the army exchanged fire near the border on Monday.", "World"),
        ("question", "Who wrote the first dictionary?", "human"),
        ("question", "Where is the longest bridge?", "location"),
        ("question", "How many legs does a lobster have?", "number"),
        ("question", "What does NATO stand for?", "abbreviation"),
    ],
)
def test_plain_sentences_get_the_label_a_person_would_give(
    name: str, text: str, label: str
) -> None:
    assert model(name).predict(text).label == label


@pytest.mark.parametrize(
    ("name", "word", "near"),
    [
        ("sentiment", "good", {"great", "nice", "excellent", "fine", "better", "decent"}),
        ("sentiment", "wonderful", {"fantastic", "marvelous", "great", "excellent"}),
        ("sentiment", "boring", {"dull", "tedious", "bored", "boredom"}),
        ("topic", "stocks", {"stock", "shares", "equities", "investors"}),
        ("question", "actor", {"actress", "actors", "comedian"}),
    ],
)
def test_the_nearest_words_mean_something(name: str, word: str, near: set[str]) -> None:
    assert near & nearest(model(name), word, 10)


def test_a_removed_word_is_as_if_never_read() -> None:
    classifier = model("topic")
    words = ["what", "great", "films", "did", "the", "city", "see"]
    without = words[:1] + words[2:]
    removed = classifier.predict([words[0], classifier.pad, *words[2:]])
    assert removed.scores == pytest.approx(classifier.predict(without).scores, abs=1e-9)


@pytest.mark.parametrize("name", ["question", "sentiment"])
def test_where_order_counts_a_removed_word_leaves_its_place_empty(name: str) -> None:
    classifier = model(name)
    words = ["what", "old", "city", "is", "the", "capital"]
    removed = classifier.predict([words[0], classifier.pad, *words[2:]])
    unread = classifier.predict([words[0], classifier.unknown, *words[2:]])
    assert removed.scores == unread.scores
    assert removed.scores != classifier.predict([words[0], *words[2:]]).scores


@pytest.mark.parametrize("little", ["the", "of", "is", "a", "this", "that", "with", ",", "."])
def test_little_words_weigh_little_beside_a_word_that_judges(little: str) -> None:
    classifier = model("sentiment")
    judging = min(abs(classifier.predict(word).margin) for word in ("dull", "wonderful", "boring"))
    assert abs(classifier.predict(little).margin) < 0.2 * judging


@pytest.mark.parametrize("name", NAMES)
def test_no_word_means_no_answer(name: str) -> None:
    classifier = model(name)
    assert set(classifier.predict([classifier.pad]).scores) == {0.0}
    assert set(classifier.predict([classifier.unknown]).scores) == {0.0}


@pytest.mark.parametrize("name", NAMES)
def test_most_substitutes_of_known_words_are_known(name: str) -> None:
    known = set(model(name).vocabulary)
    swaps = [other for word, others in substitutes().items() if word in known for other in others]
    assert sum(other in known for other in swaps) > 0.9 * len(swaps)


def test_words_that_audits_exchange_are_known_to_the_sentiment_model() -> None:
    known = set(model("sentiment").vocabulary)
    assert {
        "he",
        "she",
        "woman",
        "man",
        "actress",
        "actor",
        "muslim",
        "christian",
        "young",
        "old",
    } <= known
    assert sum(word in known for word in group("gender")) == len(group("gender"))


def test_the_answer_to_a_plain_review_is_few_words_that_a_person_would_name() -> None:
    result = sf.explain(
        model("sentiment"), "the plot is dull and the jokes fall flat", perturbation=sf.Deletion()
    )
    assert result.status == "optimal"
    assert {word.text for word in result.words} <= {"dull", "flat"}
    assert result.words


@pytest.mark.parametrize("name", NAMES)
def test_the_card_says_how_good_the_model_is_and_where_it_fails(name: str) -> None:
    card = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    assert model(name).digest in card
    assert "| test |" in card
    assert "## Neighbours" in card
    assert "Wrong:" in card

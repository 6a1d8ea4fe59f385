"""The bundled substitutes and groups: what they hold, and that they can be read and edited."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

from suffice.errors import InputError
from suffice.sets import substitutes as bundled

WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


def tables() -> dict[str, bundled.Words]:
    return {
        "substitutes": bundled.substitutes(),
        **{name: bundled.group(name) for name in bundled.groups()},
    }


@pytest.mark.parametrize("name", tables())
def test_every_entry_is_a_plain_word_with_other_plain_words_each_once(name: str) -> None:
    for word, others in tables()[name].items():
        assert others
        assert word not in others
        assert len(set(others)) == len(others) <= 8
        assert all(WORD.fullmatch(each) for each in (word, *others)), word


def test_a_word_becomes_one_that_means_the_same_in_the_same_form() -> None:
    table = bundled.substitutes()
    for word, other in (
        ("good", "great"),
        ("boring", "dull"),
        ("movie", "film"),
        ("movies", "films"),
    ):
        assert other in table[word]
    for word, other in (("attempts", "tries"), ("attempted", "tried"), ("speaking", "talking")):
        assert other in table[word]


@pytest.mark.parametrize(
    ("word", "opposite"),
    [
        ("good", "bad"),
        ("happy", "unhappy"),
        ("true", "false"),
        ("likely", "unlikely"),
        ("increase", "decrease"),
    ],
)
def test_no_word_becomes_its_opposite(word: str, opposite: str) -> None:
    table = bundled.substitutes()
    assert opposite not in table.get(word, ())
    assert word not in table.get(opposite, ())


def test_words_that_hold_a_sentence_together_stay() -> None:
    assert not {"the", "of", "not", "never", "is", "and", "he", "she"} & set(bundled.substitutes())


def test_the_table_is_sorted_and_large_enough_to_be_of_use() -> None:
    words = list(bundled.substitutes())
    assert words == sorted(words)
    assert len(words) > 4_000


def test_the_licence_of_wordnet_comes_with_its_words() -> None:
    notice = (bundled.FOLDER / "NOTICE").read_text(encoding="utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in notice
    assert "provided that you agree to comply" in notice


@pytest.mark.parametrize(
    ("word", "other"),
    [("plot", "patch"), ("chip", "scrap"), ("john", "toilet"), ("fantastic", "grotesque")],
)
def test_a_sense_that_would_say_something_else_is_left_out(word: str, other: str) -> None:
    assert other not in bundled.substitutes().get(word, ())


def test_groups_are_named_and_an_unknown_one_is_refused() -> None:
    assert bundled.groups() == ("age", "gender", "names", "nationality", "religion")
    with pytest.raises(InputError, match=r"no group 'colour'.*age, gender"):
        bundled.group("colour")


@pytest.mark.parametrize("name", ["age", "gender", "religion"])
def test_exchange_goes_both_ways(name: str) -> None:
    table = bundled.group(name)
    assert all(word in table[other] for word, others in table.items() for other in others)


@pytest.mark.parametrize("name", bundled.groups())
def test_what_a_group_puts_in_is_of_the_group(name: str) -> None:
    table = bundled.group(name)
    assert set(chain.from_iterable(table.values())) <= set(table)


def test_a_table_can_be_edited_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "mine.tsv"
    file.write_text("# mine\n\nred\tblue,green\n", encoding="utf-8")
    assert dict(bundled.read(file)) == {"red": ("blue", "green")}


def test_a_table_cannot_be_changed_for_everyone() -> None:
    with pytest.raises(TypeError):
        bundled.substitutes()["good"] = ("bad",)  # type: ignore[index]


@pytest.mark.parametrize(
    ("word", "other", "cased"),
    [
        ("sarah", "fatima", "fatima"),
        ("Sarah", "fatima", "Fatima"),
        ("HER", "his", "HIS"),
        ("A", "one", "One"),  # a single capital begins a word
        ("Old", "middle-aged", "Middle-aged"),
        ("OLD", "middle-aged", "MIDDLE-AGED"),
        ("Anne-Marie", "mary-jane", "Mary-Jane"),
        ("Anne-marie", "mary-jane", "Mary-jane"),
        ("O'Neil", "fatima", "Fatima"),
        ("O'NEIL", "fatima", "FATIMA"),
        ("Élodie", "fatima", "Fatima"),
        ("eBay", "shop", "shop"),
        ("3d", "flat", "flat"),
    ],
)
def test_a_substitute_takes_the_case_of_the_word_it_replaces(
    word: str, other: str, cased: str
) -> None:
    assert bundled.in_case_of(word, other) == cased

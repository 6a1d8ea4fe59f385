"""Text: words with their place in the given string, and what they stand for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.errors import InputError
from suffice.model.text import Text, read, split

LOOKUP = {
    word: i
    for i, word in enumerate(["<PAD>", "<UNK>", "a", "film", "good", "bad", "don't", ",", "😀"])
}


def seen(given: object, length: int = 6) -> Text:
    return read(given, LOOKUP, length, "<PAD>", "<UNK>")  # type: ignore[arg-type]


# --- the tokenizer ---


@pytest.mark.parametrize(
    ("source", "tokens"),
    [
        ("A good film.", ["a", "good", "film", "."]),
        ("  spaces\tand\nlines  ", ["spaces", "and", "lines"]),
        ("don't can’t o'clock", ["don't", "can’t", "o'clock"]),
        ("'quoted' words'", ["'", "quoted", "'", "words", "'"]),
        ("state-of-the-art - well-", ["state-of-the-art", "-", "well", "-"]),
        ("rock'n'roll-ish", ["rock'n'roll-ish"]),
        ("wait...what?!", ["wait", ".", ".", ".", "what", "?", "!"]),
        ("$9.99 for 2 (two)", ["$", "9", ".", "99", "for", "2", "(", "two", ")"]),
        ("@user #tag http://x.y", ["@", "user", "#", "tag", "http", ":", "/", "/", "x", ".", "y"]),
        ("so good 😀😀!", ["so", "good", "😀", "😀", "!"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("مرحبا، يا عالم", ["مرحبا", "،", "يا", "عالم"]),
        ("ÉTÉ Straße ΣΊΣΥΦΟΣ", ["été", "straße", "σίσυφος"]),
        ("snake_case", ["snake_case"]),
        ("<PAD> <UNK>", ["<", "pad", ">", "<", "unk", ">"]),
    ],
)
def test_a_string_is_split_into_lower_case_words_and_single_marks(source, tokens):
    assert [token for token, _, _ in split(source)] == tokens


@given(st.text(max_size=40))
@settings(max_examples=300)
def test_every_token_is_found_where_its_offsets_say(source):
    """Any unicode at all: emoji, right-to-left, combining characters, lone surrogates, control
    characters.
    """
    pieces = split(source)
    for token, start, end in pieces:
        assert 0 <= start < end <= len(source)
        assert source[start:end].lower() == token
    ends = [0, *(end for _, _, end in pieces)]
    starts = [*(start for _, start, _ in pieces), len(source)]
    for end, start in zip(ends, starts, strict=True):
        assert end <= start
        assert source[end:start].strip() == ""  # nothing but white space is left out


@given(st.text(alphabet="aé'’- \n.,!İß\u0301\u200d👩🏽אב", max_size=30))
@settings(max_examples=300)
def test_text_made_of_odd_characters_can_be_read_or_is_empty(source):
    if source.strip() == "":
        with pytest.raises(InputError, match="no words"):
            seen(source)
        return
    text = seen(source)
    assert len(text) == len(text.tokens) == len(text.indices) == 6
    assert [source[w.start : w.end] for w in text.words] == [w.text for w in text.words]
    assert [w.text.lower() for w in text.words] == list(text.tokens[: len(text.words)])
    assert len(text.words) + len(text.cut) == len(split(source))


def test_a_character_whose_lower_case_is_longer_keeps_its_place():
    assert split("xİ y") == [("xi̇", 0, 2), ("y", 3, 4)]


def test_a_combining_mark_keeps_its_place():
    """It is a token of its own, so that nothing of the string is lost."""
    assert split("cafe\u0301 x") == [("cafe", 0, 4), ("\u0301", 4, 5), ("x", 6, 7)]


# --- what a classifier sees ---


def test_a_string_is_looked_up_in_lower_case_and_padded():
    text = seen("A GOOD Film")
    assert text.source == str(text) == "A GOOD Film"
    assert text.tokens == ("a", "good", "film", "<PAD>", "<PAD>", "<PAD>")
    assert text.indices == (2, 4, 3, 0, 0, 0)
    assert [(w.position, w.text, w.start, w.end) for w in text.words] == [
        (0, "A", 0, 1),
        (1, "GOOD", 2, 6),
        (2, "Film", 7, 11),
    ]
    assert text.unknown == text.cut == ()


def test_words_out_of_the_vocabulary_are_recorded_and_stand_for_unknown():
    text = seen("a splendid film , magnificent")
    assert text.unknown == (1, 4)
    assert text.indices == (2, 1, 3, 7, 1, 0)


def test_words_beyond_the_length_are_recorded_as_they_were_written():
    text = seen("a good film, a BAD Splendid film", length=3)
    assert [w.text for w in text.words] == ["a", "good", "film"]
    assert text.cut == (",", "a", "BAD", "Splendid", "film")
    assert text.unknown == ()  # what is cut off is not looked up


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_a_text_has_always_the_length_of_the_classifier(length):
    text = seen("a good film", length)
    assert len(text) == length
    assert len(text.words) == min(length, 3)


def test_a_list_of_words_is_taken_as_it_is():
    text = seen(["A", "good-film", "don't", "Straße-x!", "😀"])
    assert text.tokens[:5] == ("A", "good-film", "don't", "Straße-x!", "😀")
    assert text.source == "A good-film don't Straße-x! 😀"
    assert text.indices == (1, 1, 6, 1, 8, 0)
    assert text.unknown == (0, 1, 3)


SOLID = st.text(min_size=1, max_size=5).filter(
    lambda word: not any(char.isspace() for char in word)
)


@given(st.lists(SOLID, min_size=1, max_size=9))
def test_the_words_of_a_list_have_offsets_into_the_joined_string(words):
    text = seen(words)
    assert text.source == " ".join(words)
    assert (
        [text.source[w.start : w.end] for w in text.words]
        == words[:6]
        == [w.text for w in text.words]
    )
    assert text.cut == tuple(words[6:])


def test_a_tuple_is_a_list_of_words_too():
    assert seen(("a", "film")) == seen(["a", "film"])


def test_a_written_padding_word_is_only_padding_in_a_list():
    assert seen("<PAD>").unknown == (0, 1, 2)
    assert seen(["<PAD>", "film"]).indices[0] == 0


@pytest.mark.parametrize("empty", ["", " ", "\n\t\u3000 ", [], ()])
def test_a_text_without_words_is_refused(empty):
    with pytest.raises(InputError, match="The text has no words"):
        seen(empty)


@pytest.mark.parametrize("words", [["a", ""], ["a", 3], ["a", None], [["a"]]])
def test_a_list_that_holds_something_else_than_words_is_refused(words):
    with pytest.raises(InputError, match="must hold non-empty strings"):
        seen(words)


# --- naming positions ---

text = seen("Good film , GOOD nowhere")


@pytest.mark.parametrize(
    ("given_names", "positions"),
    [
        ((), ()),
        (["good"], (0, 3)),
        (["GOOD"], (0, 3)),
        (["Good", "film"], (0, 1, 3)),
        (["NOWHERE"], (4,)),
        ([","], (2,)),
        ([0, 4], (0, 4)),
        ([4, "good", 0, 4], (0, 3, 4)),
        ((2, "film"), (1, 2)),
        ("good", (0, 3)),
    ],
)
def test_a_word_names_all_its_occurrences_and_a_number_itself(given_names, positions):
    assert text.positions(given_names) == positions


def test_words_of_a_list_are_named_in_any_case():
    words = seen(["Good", "good", "STRASSE", "Straße"])
    assert words.positions(["gOOD"]) == (0, 1)
    assert words.positions(["straße"]) == (2, 3)


@pytest.mark.parametrize("name", ["bad", "goo", "", "good film", "<PAD>", "<UNK>"])
def test_a_word_that_is_not_in_the_text_is_refused_with_what_is_there(name):
    with pytest.raises(InputError, match="is not in the text") as caught:
        text.positions([name])
    assert repr(name) in str(caught.value)
    assert "good film , good nowhere" in str(caught.value)


@pytest.mark.parametrize("place", [-1, 5, 6, 10**9])
def test_a_position_out_of_range_is_refused_with_the_range(place):
    with pytest.raises(InputError, match=rf"Position {place} is out of range.*0 to 4"):
        text.positions([place])


def test_padding_can_be_named_only_when_it_counts():
    assert text.positions([5], known=6) == (5,)
    assert text.positions(["<pad>"], known=6) == (5,)
    with pytest.raises(InputError, match="0 to 5"):
        text.positions([6], known=6)


@pytest.mark.parametrize("item", [True, False, 1.0, math.nan, None, ("good",), b"good"])
def test_what_is_neither_a_word_nor_a_position_is_refused(item):
    with pytest.raises(InputError, match="neither a word nor a position"):
        text.positions([item])


def test_a_cut_word_cannot_be_named():
    with pytest.raises(InputError, match="'film' is not in the text"):
        seen("a good film", length=2).positions(["film"])


def test_white_space_is_inside_a_word_only_where_the_vocabulary_has_it_so():
    lookup = {**LOOKUP, "new york": len(LOOKUP)}
    assert read(["new york", "film"], lookup, 3, "<PAD>", "<UNK>").indices[0] == len(LOOKUP)
    with pytest.raises(InputError, match=r"'old york' is not one word.*sf\.batch"):
        read(["new york", "old york"], lookup, 3, "<PAD>", "<UNK>")


@pytest.mark.parametrize(
    "given_positions", [np.array([1, 3]), [np.int64(1), np.int32(3)], (np.uint8(3), 1)]
)
def test_positions_from_numpy_are_positions(given_positions):
    assert text.positions(given_positions) == (1, 3)


def test_one_position_is_a_position():
    assert text.positions(np.int64(2)) == text.positions(2) == (2,)


@pytest.mark.parametrize("given_positions", [None, math.nan, 1.0, b"good", str])
def test_what_is_no_list_of_positions_is_refused(given_positions):
    with pytest.raises(InputError, match="is no list of words or positions"):
        text.positions(given_positions)


def test_half_a_character_is_refused():
    with pytest.raises(InputError, match="surrogate"):
        read("good \ud83d film", {"<PAD>": 0, "<UNK>": 1}, 4, "<PAD>", "<UNK>")

"""read_vectors: GloVe, word2vec and gensim give the same table; a file that is damaged
says where.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import suffice as sf
from suffice.errors import InputError

KeyedVectors = pytest.importorskip("gensim.models").KeyedVectors

WORDS = ["the", "naïve", "日本", ". . .", "a\xa0b", "it's"]
TABLE = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


def keyed(words: list[str] = WORDS, table: np.ndarray = TABLE) -> Any:
    made = KeyedVectors(table.shape[1])
    made.add_vectors(words, table)
    return made


def glove(path: Path, words: list[str] = WORDS, table: np.ndarray = TABLE) -> Path:
    lines = [
        " ".join([word, *(repr(float(x)) for x in row)])
        for word, row in zip(words, table, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return path


def same(
    found: tuple[tuple[str, ...], np.ndarray],
    words: list[str],
    table: np.ndarray,
    atol: float = 0.0,
) -> None:
    assert found[0] == ("<PAD>", "<UNK>", *words)
    assert not found[1][:2].any()
    np.testing.assert_allclose(found[1][2:], table, rtol=0, atol=atol)
    assert found[1].dtype == np.float64


def test_glove(tmp_path):
    same(sf.read_vectors(glove(tmp_path / "glove.txt")), WORDS, TABLE)


def test_gensim_itself():
    same(sf.read_vectors(keyed()), WORDS, TABLE)


PLAIN = [word for word in WORDS if " " not in word]
ROWS = TABLE[[" " not in word for word in WORDS]]


@pytest.mark.parametrize("name", ["vectors.bin", "vectors.txt"])
@pytest.mark.parametrize("packed", [False, True])
def test_what_gensim_writes_in_the_format_of_word2vec(name, packed, tmp_path):
    path = tmp_path / name
    keyed(PLAIN, ROWS).save_word2vec_format(str(path), binary=name.endswith("bin"))
    if packed:
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path = tmp_path / f"{name}.gz"
    same(sf.read_vectors(str(path)), PLAIN, ROWS, atol=1e-6)


def test_the_first_words_only(tmp_path):
    keyed(PLAIN, ROWS).save_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    keyed(PLAIN, ROWS).save_word2vec_format(str(tmp_path / "v.txt"))
    for source in (
        tmp_path / "v.bin",
        tmp_path / "v.txt",
        keyed(PLAIN, ROWS),
        glove(tmp_path / "g", PLAIN, ROWS),
    ):
        same(sf.read_vectors(source, limit=2), PLAIN[:2], ROWS[:2], atol=1e-6)


def test_padding_and_unknown_of_the_file_are_kept():
    words, table = sf.read_vectors(
        keyed(["<unk>", "a"], np.ones((2, 3), np.float32)), unknown="<unk>"
    )
    assert words == ("<PAD>", "<unk>", "a")
    assert table.tolist() == [[0, 0, 0], [1, 1, 1], [1, 1, 1]]


def test_a_classifier_takes_them():
    words, table = sf.read_vectors(keyed())
    network = sf.Network.dense([(np.ones((2, 12)), np.zeros(2))])
    classifier = sf.Classifier(network, table, words, ["a", "b"], length=3)
    np.testing.assert_array_equal(classifier.embed(classifier.read(["the"]))[0], TABLE[0])


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\n\r "), min_size=1),
        min_size=1,
        unique=True,
    )
)
def test_any_word_comes_back(tmp_path_factory, words):
    table = np.arange(len(words) * 3.0).reshape(-1, 3) + 0.5
    path = glove(tmp_path_factory.getbasetemp() / "any.txt", words, table)
    same(sf.read_vectors(path), words, table)


DAMAGED = {
    "too few": ("a 1 2\nb 1\n", "line 2: a word and 2 numbers were expected"),
    "too many": ("a 1 2\nb 1 2 3\n", "line 2: a word and 2 numbers were expected"),
    "no number": ("a 1 2\nb 1 x\n", "line 2: a word and 2 numbers were expected.*'x'"),
    "no word": ("a 1 2\n1 2\n", "line 2"),
    "an empty line": ("a 1 2\n\nb 1 2\n", "line 2"),
    "twice": ("a 1 2\nb 1 2\na 3 4\n", "line 3: 'a' has a vector on line 1 already"),
    "not finite": (
        "a 1 2\nb nan 2\n",
        "line 2: the vector of 'b' holds a value that is not a finite",
    ),
    "infinite": ("a 1 2\nb inf 2\n", "line 2: the vector of 'b'"),
    "empty": ("", "no word vectors"),
    "header alone": ("2 3\n", "should hold 2 words.*holds 0"),
    "fewer than promised": ("3 2\na 1 2\nb 1 2\n", "should hold 3 words.*holds 2"),
    "more than promised": ("1 2\na 1 2\nb 1 2\n", "should hold 1 words.*holds 2"),
    "other width": ("2 3\na 1 2\nb 1 2\n", "line 2: a word and 3 numbers"),
    "a sentence": ("hello there\n", "line 1"),
}


@pytest.mark.parametrize(("content", "message"), DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_says_where(content, message, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        sf.read_vectors(path)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"a 1 2\n\xff\xfe 1 2\n")
    with pytest.raises(InputError, match="line 2"):
        sf.read_vectors(tmp_path / "v.txt")


BINARY = {
    "no counts": (b"abc", "does not begin with two numbers"),
    "ends early": (b"2 1\na \x00\x00\x80?", "word 2: there is no word"),
    "ends in numbers": (b"1 2\na \x00\x00\x80?", "word 1: the file ends before its 1 words"),
    "twice": (b"2 1\na \x00\x00\x80?a \x00\x00\x80?", "word 2: 'a' has a vector at word 1"),
    "goes on": (b"1 1\na \x00\x00\x80?bc", "goes on after its 1 words"),
    "no text": (b"1 1\n\xff\xfe \x00\x00\x80?", "word 1 is not UTF-8"),
    "not finite": (b"1 1\na \x00\x00\x80\x7f", "vector of 'a'"),
    "an endless word": (b"1 1\n" + b"a" * 9999, "there is no word"),
}


@pytest.mark.parametrize(("content", "message"), BINARY.values(), ids=BINARY.keys())
def test_a_damaged_binary_file_says_where(content, message, tmp_path):
    (tmp_path / "v.bin").write_bytes(content)
    with pytest.raises(InputError, match=message):
        sf.read_vectors(tmp_path / "v.bin")


def test_half_a_gzip_file_is_refused(tmp_path):
    whole = gzip.compress(glove(tmp_path / "g").read_bytes())
    (tmp_path / "g.gz").write_bytes(whole[:-12])
    with pytest.raises(InputError, match="not a whole gzip file"):
        sf.read_vectors(tmp_path / "g.gz")


@pytest.mark.parametrize("limit", [0, -1, 1.5, True])
def test_a_limit_is_a_positive_number(limit):
    with pytest.raises(InputError, match="positive number of words"):
        sf.read_vectors(keyed(), limit=limit)


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(InputError, match=r"no file .nowhere\.txt."):
        sf.read_vectors("nowhere.txt")


# --- files that ask for more than they hold ---


@pytest.mark.parametrize(
    "header", [b"3 1000000000000\n", b"1000000000 10000\n", b"3 999999999999999999\n"]
)
def test_counts_that_a_binary_file_declares_are_compared_with_a_limit(header, tmp_path):
    (tmp_path / "x.bin").write_bytes(header + b"the " + bytes(16))
    with pytest.raises(InputError, match=r"declares .* vectors of .* numbers: at most"):
        sf.read_vectors(tmp_path / "x.bin")


def test_a_number_too_long_to_be_a_count_is_no_count(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"9" * 2000 + b" 9\n")
    with pytest.raises(InputError, match="does not begin with two numbers"):
        sf.read_vectors(tmp_path / "x.bin")


@pytest.mark.parametrize("header", [b"3 20000\n", b"a" + b" 1" * 20_000 + b"\n"])
def test_vectors_of_too_many_dimensions_are_refused(header, tmp_path):
    (tmp_path / "x.txt").write_bytes(header)
    with pytest.raises(InputError, match="vectors of 20000 numbers; at most 16384"):
        sf.read_vectors(tmp_path / "x.txt")


def test_a_line_without_end_is_not_read_to_its_end(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"the 1 2\n" + b"a" * (2**20 + 1))
    with pytest.raises(InputError, match="line 2 is longer than 1048576 bytes"):
        sf.read_vectors(tmp_path / "x.txt")


def test_a_gzip_file_that_unpacks_to_far_more_is_refused(tmp_path):
    with gzip.open(tmp_path / "x.txt.gz", "wb") as file:
        for number in range(600):
            file.write(f"word{number}".encode() + b" 0" * 16_000 + b"\n")
    assert (tmp_path / "x.txt.gz").stat().st_size < 100_000
    with pytest.raises(InputError, match="more than 100 times as large when unpacked"):
        sf.read_vectors(tmp_path / "x.txt.gz")


def test_a_model_of_fasttext_is_called_by_its_name(tmp_path):
    (tmp_path / "cc.bin").write_bytes((793712314).to_bytes(4, "little") + bytes(100))
    with pytest.raises(InputError, match=r"cc.bin is a model of fastText.*--model FILE"):
        sf.read_vectors(tmp_path / "cc.bin")

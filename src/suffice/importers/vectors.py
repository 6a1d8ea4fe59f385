"""Vectors: word embeddings from GloVe and word2vec files and from gensim, as a vocabulary and a
table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from suffice.errors import InputError
from suffice.model import packed
from suffice.model.network import Floats

MOST_NUMBERS = 2**30  # of all vectors together; read the first words of a larger file with `limit`
MOST_DIMENSIONS = 2**14  # of one vector
LONGEST_LINE = 2**20  # bytes: a word and its numbers
FASTTEXT = (793712314).to_bytes(4, "little")  # how a model of fastText begins
# bytes: a binary file that is none must not be read to its end in search of a space
LONGEST_WORD = 4096


class Vectors(NamedTuple):
    """A row of `table` for every word of `vocabulary`, as a Classifier takes them."""

    vocabulary: tuple[str, ...]
    table: Floats


def read_vectors(
    source: Any,
    *,
    pad: str = "<PAD>",
    unknown: str = "<UNK>",
    limit: int | None = None,
    binary: bool | None = None,
) -> Vectors:
    """Word vectors from a GloVe or word2vec file (text or binary, .gz too) or from gensim's
    KeyedVectors.

    The first `limit` words are read (files begin with the frequent ones). A name ending in .bin
    means word2vec's binary format unless `binary` says otherwise. `pad` and `unknown` get zeros,
    unless the source has them.
    """
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise InputError(f"The limit must be a positive number of words, not {limit!r}.")
    if hasattr(source, "index_to_key") and hasattr(source, "vectors"):
        return _with_special(_from_gensim(source), pad, unknown, limit)
    path = Path(source)
    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r} with word vectors.")
    if binary is None:
        binary = path.name.removesuffix(".gz").endswith(".bin")
    try:
        with _opened(path) as file:
            if file.peek(4)[:4] == FASTTEXT:  # type: ignore[attr-defined]
                raise InputError(
                    f"{path.name} is a model of fastText, which makes vectors of parts of "
                    "words: it is no list of word "
                    "vectors. Write one with get_word_vector in Python; name a classifier as "
                    "the model, --model FILE."
                )
            pairs = _binary(file, path.name, limit) if binary else _text(file, path.name, limit)
            return _with_special(pairs, pad, unknown, limit)
    except packed.BROKEN as error:
        raise InputError(f"{path.name} is not a whole gzip file: {error}.") from error


def _opened(path: Path) -> BinaryIO:
    return packed.opened(path) if path.suffix == ".gz" else path.open("rb")


def _from_gensim(vectors: Any) -> Iterator[tuple[str, Floats]]:
    return zip(
        map(str, vectors.index_to_key), np.asarray(vectors.vectors, dtype=np.float64), strict=True
    )


def _with_special(
    pairs: Iterator[tuple[str, Floats]], pad: str, unknown: str, limit: int | None
) -> Vectors:
    found: dict[str, Floats] = {}
    for word, row in islice(pairs, limit):
        found[word] = row
        if len(found) * len(row) > MOST_NUMBERS:
            raise InputError(
                f"There are more than {MOST_NUMBERS} numbers in it: read the first words with "
                "`limit`."
            )
    if not found:
        raise InputError("There are no word vectors in it.")
    rows = np.stack(list(found.values()))
    if not np.isfinite(rows).all():
        bad = list(found)[int((~np.isfinite(rows).all(1)).argmax())]
        raise InputError(f"The vector of {bad!r} holds a value that is not a finite number.")
    missing = [word for word in dict.fromkeys((pad, unknown)) if word not in found]
    return Vectors((*missing, *found), np.vstack([np.zeros((len(missing), rows.shape[1])), rows]))


# --- text: a word and its numbers on each line, after word2vec's line of counts ---


def _text(file: BinaryIO, name: str, limit: int | None) -> Iterator[tuple[str, Floats]]:
    first = _line(file, f"{name}, line 1")
    header = _header(first)
    places: dict[str, int] = {}
    width = (
        header[1]
        if header
        else len(first.split(b" ")) - (2 if first.endswith((b" \n", b" \r\n")) else 1)
    )
    if width > MOST_DIMENSIONS:
        raise InputError(
            f"{name} has vectors of {width} numbers; at most {MOST_DIMENSIONS} are read."
        )
    lines = _lines(file, name) if header else _again(first, file, name)
    for number, line in lines:
        word, row = _entry(line, width, f"{name}, line {number}")
        if word in places:
            raise InputError(
                f"{name}, line {number}: {word!r} has a vector on line {places[word]} already."
            )
        places[word] = number
        yield word, row
    if header and len(places) != header[0] and (limit is None or limit > len(places)):
        raise InputError(
            f"{name} should hold {header[0]} words, as its first line says, but holds "
            f"{len(places)}."
        )


def _again(first: bytes, file: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    if first:
        yield 1, first
    yield from _lines(file, name)


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    """The lines from the second on, with their numbers."""
    number = 2
    while line := _line(file, f"{name}, line {number}"):
        yield number, line
        number += 1


def _line(file: BinaryIO, where: str) -> bytes:
    line = file.readline(LONGEST_LINE + 1)
    if len(line) > LONGEST_LINE:
        raise InputError(f"{where} is longer than {LONGEST_LINE} bytes, which no word vector is.")
    return line


def _header(line: bytes) -> tuple[int, int] | None:
    """How many words of which dimension, where the line is word2vec's first line."""
    parts = line.split()
    return (
        (int(parts[0]), int(parts[1]))
        if len(parts) == 2 and all(re.fullmatch(rb"\d{1,18}", p) for p in parts)
        else None
    )


def _entry(line: bytes, width: int, where: str) -> tuple[str, Floats]:
    """One line: only spaces part it, as a word may hold any other mark (and, in GloVe's largest
    file, spaces).
    """
    try:
        parts = line.decode().rstrip("\r\n ").split(" ")
        word = " ".join(parts[:-width])
        numbers = parts[-width:]
        row = np.array(numbers, dtype=np.float64)
    except ValueError as error:
        raise InputError(f"{where}: a word and {width} numbers were expected: {error}.") from error
    if (
        len(row) != width
        or width < 1
        or not word
        or (" " in word and _is_number(parts[-width - 1]))
    ):
        raise InputError(
            f"{where}: a word and {width} numbers were expected, as on the first line."
        )
    if not np.isfinite(row).all():
        raise InputError(
            f"{where}: the vector of {word!r} holds a value that is not a finite number."
        )
    return word, row


def _is_number(part: str) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


# --- word2vec's binary format: counts, then each word, a space and float32 numbers ---


def _binary(file: BinaryIO, name: str, limit: int | None) -> Iterator[tuple[str, Floats]]:
    header = _header(file.readline(LONGEST_WORD))
    if header is None:
        raise InputError(
            f"{name} does not begin with two numbers, as word2vec's binary files do: try "
            "binary=False."
        )
    count, width = header
    if width > MOST_DIMENSIONS or min(count, limit or count) * width > MOST_NUMBERS:
        raise InputError(
            f"{name} declares {count} vectors of {width} numbers: at most {MOST_DIMENSIONS} "
            "numbers each, and "
            f"{MOST_NUMBERS} in all, are read (the first words with `limit`)."
        )
    places: dict[str, int] = {}
    for number in range(1, count + 1):
        where = f"{name}, word {number}"
        word = _word(file, where)
        data = file.read(4 * width)
        if len(data) != 4 * width:
            raise InputError(f"{where}: the file ends before its {count} words do.")
        if word in places:
            raise InputError(f"{where}: {word!r} has a vector at word {places[word]} already.")
        places[word] = number
        yield word, np.frombuffer(data, dtype="<f4").astype(np.float64)
    if file.read(2).strip():
        raise InputError(f"{name} goes on after its {count} words.")


def _word(file: BinaryIO, where: str) -> str:
    found = bytearray()
    while (char := file.read(1)) not in (b" ", b""):
        found += char
        if len(found) > LONGEST_WORD:
            break
    try:
        word = found.decode().lstrip("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not UTF-8: is this word2vec's binary format?") from error
    if char != b" " or not word:
        raise InputError(f"{where}: there is no word where one should begin.")
    return word

"""Fitting: substitutes that leave what a text says alike, by a sentence encoder and by what people
said of words.

Each word is looked at where it stands in texts. A substitute fits where the text with it is hardly
farther from the text as it was than the text without the word at all.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import distil
import numpy as np
from numpy.typing import NDArray

FILES = ("sst2/train", "imdb/train", "agnews/train")
# places of a word that are looked at: of one file, and in all
EACH = 2
MOST = 4
BESIDE = 5  # words kept on either side of a place
SLACK = 0.04  # how much farther than the text without the word the text with a substitute may be
PHRASES = "sst2/train_phrases"
TOKEN = re.compile(r"\w+(?:['’\-]\w+)*")  # as suffice reads a text
MARK = re.compile(r"<br />")

Place = tuple[list[str], list[str]]  # the words before and behind
Vectors = Mapping[str, NDArray[np.float32]]


def rows(folder: Path, name: str) -> Iterator[dict[str, str]]:
    with gzip.open(folder / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream)


def fitting(
    found: Mapping[str, Sequence[str]], folder: Path, work: Path | None
) -> dict[str, list[str]]:
    """The substitutes that fit; words that keep none are left out."""
    said = labels(folder)
    where = places(folder, found)
    pairs = [
        (word, other)
        for word, others in found.items()
        for other in others
        if not opposed(word, other, said)
    ]
    texts = [
        text
        for word, other in pairs
        for each in ("", word, other)
        for text in put(where[word], each)
    ]
    vectors = dict(zip(texts, distil.encoded(texts, work), strict=True))
    kept: dict[str, list[str]] = defaultdict(list)
    for word, other in pairs:
        if fits(where[word], word, other, vectors):
            kept[word].append(other)
    return dict(kept)


def opposed(word: str, other: str, said: Mapping[str, str]) -> bool:
    return word in said and other in said and said[word] != said[other]


def labels(folder: Path) -> dict[str, str]:
    """What people said of single words; those labelled both ways are left out."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in rows(folder, PHRASES):
        found[row["text"].strip().lower()].add(row["label"])
    return {text: said.pop() for text, said in found.items() if " " not in text and len(said) == 1}


def places(folder: Path, words: Collection[str]) -> dict[str, list[Place]]:
    """Where each word stands first in each of the files."""
    found: dict[str, list[Place]] = {word: [] for word in words}
    for name in FILES:
        most = {word: min(MOST, len(known) + EACH) for word, known in found.items()}
        for row in rows(folder, name):
            tokens = [token.lower() for token in TOKEN.findall(MARK.sub(" ", row["text"]))]
            for i, token in enumerate(tokens):
                if token in found and len(found[token]) < most[token]:
                    found[token].append(
                        (tokens[max(0, i - BESIDE) : i], tokens[i + 1 : i + 1 + BESIDE])
                    )
    return found


def put(where: Sequence[Place], word: str) -> list[str]:
    """The text around each place with this word there, or none."""
    return [" ".join([*before, *([word] if word else []), *after]) for before, after in where]


def fits(where: Sequence[Place], word: str, other: str, vectors: Vectors) -> bool:
    own, without, instead = (put(where, each) for each in (word, "", other))
    return apart(own, instead, vectors) <= apart(own, without, vectors) + SLACK


def apart(texts: Sequence[str], others: Sequence[str], vectors: Vectors) -> float:
    """How far texts are from others, on average."""
    return sum(
        1 - float(vectors[one] @ vectors[two]) for one, two in zip(texts, others, strict=True)
    ) / max(1, len(texts))

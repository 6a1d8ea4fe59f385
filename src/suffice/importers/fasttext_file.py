"""fastText's .bin file: its settings, words, labels and two tables of vectors, every size compared
with what is there.

Little-endian: a mark and a version; twelve settings and a number of the training; how many words
and labels, then each as bytes up to a zero, how often it was seen and its kind; then the vectors
that are averaged, and the labels' rows.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suffice.errors import ModelError
from suffice.importers.vectors import FASTTEXT, LONGEST_WORD
from suffice.model.network import Floats

END = b"</s>"  # the word that ends every line
# kinds of loss
HIERARCHY = 1
SOFTMAX = 3
SUPERVISED = 3  # kind of model
VERSIONS = (11, 12)
PREFIX = "__label__"


class Settings(NamedTuple):
    """What of the settings decides how a text is read."""

    dimension: int
    runs: int  # the longest run of words that has a vector
    loss: int
    buckets: int
    shortest: int  # part of a word that has a vector
    longest: int


@dataclass(frozen=True, eq=False)
class Stored:
    """What a file holds. `words` gives each its row of `inputs`; rows of parts and runs of words
    follow.
    """

    settings: Settings
    words: dict[bytes, int]
    labels: tuple[str, ...]
    seen: tuple[int, ...]  # how often each label was
    inputs: Any  # (words + buckets, dimension) float32, in the file
    outputs: Floats  # (labels, dimension)
    data: Any  # the whole file


def read_file(path: Path) -> Stored:
    """The file, without running anything and without making more than it holds."""
    if path.suffix == ".ftz":
        raise ModelError(
            f"{path.name} is a quantised model of fastText: give the .bin file that it was "
            "made from."
        )
    if not path.is_file():
        raise ModelError(f"There is no file {str(path)!r}.")
    with path.open("rb") as file:
        if file.read(4) != FASTTEXT:
            raise ModelError(
                f"{path.name} is no model of fastText. Word vectors are read by "
                "sf.read_vectors, and weights of "
                "Hugging Face are named by their folder, hf:FOLDER."
            )
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return _stored(_Reader(data, path.name))


@dataclass
class _Reader:
    data: mmap.mmap
    name: str
    place: int = 4

    def numbers(self, layout: str) -> tuple[Any, ...]:
        size = struct.calcsize(f"<{layout}")
        self.need(size)
        found = struct.unpack_from(f"<{layout}", self.data, self.place)
        self.place += size
        return found

    def need(self, size: int) -> None:
        if not 0 <= size <= len(self.data) - self.place:
            raise self.wrong("it ends before what it declares")

    def wrong(self, what: str) -> ModelError:
        return ModelError(f"{self.name} is not a whole model of fastText: {what}.")

    def word(self) -> bytes:
        end = self.data.find(b"\0", self.place, self.place + LONGEST_WORD)
        if end < 0:
            raise self.wrong("a word has no end")
        found = self.data[self.place : end]
        self.place = end + 1
        return found

    def table(self, rows: int, columns: int, what: str) -> Any:
        """A view of numbers in the file: nothing is copied."""
        (packed,) = self.numbers("B")
        if packed:
            raise ModelError(
                f"{self.name} is a quantised model of fastText: give the .bin that it was "
                "made from."
            )
        shape = self.numbers("qq")
        if shape != (rows, columns):
            raise self.wrong(
                f"its {what} should be {rows} × {columns}, and it says {shape[0]} × {shape[1]}"
            )
        self.need(4 * rows * columns)
        found = np.frombuffer(self.data, "<f4", rows * columns, self.place).reshape(rows, columns)
        self.place += 4 * rows * columns
        if not np.isfinite(found).all():
            raise self.wrong(f"its {what} hold a number that is not finite")
        return found


def _stored(file: _Reader) -> Stored:
    settings = _settings(file)
    count, words, labels, _, pruned = file.numbers("iiiqq")
    file.need(10 * max(count, 0))  # of each word at least
    if min(words, labels) < 0 or words + labels != count:
        raise file.wrong(f"{words} words and {labels} labels do not make {count}")
    if pruned >= 0:
        raise ModelError(
            f"{file.name} is a pruned model of fastText: give the .bin that it was made from."
        )
    entries = [(file.word(), *file.numbers("qb")) for _ in range(count)]
    if [kind for _, _, kind in entries] != [0] * words + [1] * labels:
        raise file.wrong("its words do not stand before its labels")
    inputs = file.table(words + settings.buckets, settings.dimension, "vectors")
    outputs = file.table(labels, settings.dimension, "rows of labels").astype(np.float64)
    if file.place != len(file.data):
        raise file.wrong("it goes on after its end")
    return Stored(
        settings=settings,
        words={word: row for row, (word, _, _) in enumerate(entries[:words])},
        labels=tuple(
            word.decode(errors="replace").removeprefix(PREFIX) for word, _, _ in entries[words:]
        ),
        seen=tuple(seen for _, seen, _ in entries[words:]),
        inputs=inputs,
        outputs=outputs,
        data=file.data,
    )


def _settings(file: _Reader) -> Settings:
    (version,) = file.numbers("i")
    if version not in VERSIONS:
        raise ModelError(
            f"{file.name} is of version {version} of fastText's format; 11 and 12 are read."
        )
    dimension, _, _, _, _, runs, loss, kind, buckets, shortest, longest, _ = file.numbers("12i")
    file.numbers("d")
    if kind != SUPERVISED:
        raise ModelError(f"{file.name} holds vectors of words and no labels: it is no classifier.")
    if dimension < 1 or buckets < 0 or not 1 <= loss <= 4:
        raise file.wrong(f"{dimension} dimensions, {buckets} buckets and loss {loss} cannot be")
    if not buckets and (runs > 1 or longest > 0):
        raise file.wrong("parts and runs of words need buckets")
    return Settings(dimension, runs, loss, buckets, shortest, 0 if version == 11 else longest)

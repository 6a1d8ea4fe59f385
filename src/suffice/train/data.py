"""Data: labelled texts from files, split, numbered, and ready to train on."""

from __future__ import annotations

import csv
import gzip
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InputError
from suffice.model import text as texts

PAD = "<PAD>"
UNKNOWN = "<UNK>"


class Example(NamedTuple):
    """One labelled text."""

    text: str
    label: str


@dataclass(frozen=True)
class Data:
    """Rows to train on, to choose the epoch by and to report on, and more rows for the embedding
    alone.
    """

    train: Sequence[Example]
    dev: Sequence[Example]
    more: Sequence[Example] = ()
    tests: Mapping[str, Sequence[Example]] = field(default_factory=dict)
    labels: tuple[str, ...] = ()


def read_rows(path: str | Path) -> list[Example]:
    """The rows of a CSV file with the header text,label, plain or .gz."""
    opener = gzip.open if str(path).endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as stream:
            rows = _parse(csv.DictReader(stream, strict=True), str(path))
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"The file {str(path)!r} cannot be read as CSV: {error}.") from error
    if not rows:
        raise InputError(f"The file {str(path)!r} holds no rows.")
    return rows


def _parse(reader: csv.DictReader[str], path: str) -> list[Example]:
    header = list(reader.fieldnames or ())
    if not header.count("text") == header.count("label") == 1:
        raise InputError(
            f"The file {path!r} needs the header text,label; found {','.join(header)!r}."
        )
    rows = []
    for fields in reader:
        if not fields["text"] or not fields["label"] or None in fields:
            raise InputError(f"Line {reader.line_num} of {path!r} needs one text and one label.")
        rows.append(Example(fields["text"], fields["label"].strip()))
    return rows


def prepare(
    train: Sequence[Example],
    dev: Sequence[Example] = (),
    more: Sequence[Example] = (),
    tests: Mapping[str, Sequence[Example]] | None = None,
    labels: Sequence[str] = (),
    seed: int = 0,
) -> Data:
    """Name the labels, split a tenth off as dev if none is given, learn from no row seen in dev or
    test.
    """
    names = _label_names({row.label for row in train}, labels)
    named = {name: name for name in names} | (
        {str(i): name for i, name in enumerate(names)} if labels else {}
    )
    rest, chosen = (train, dev) if dev else _split(train, seed)
    held = {_key(row) for rows in (chosen, *(tests or {}).values()) for row in rows}
    kept = [row for row in rest if _key(row) not in held]
    if not kept or not chosen:
        raise InputError(
            "There are too few rows: training needs some that are in neither dev nor test."
        )
    return Data(
        train=_relabel(kept, named),
        dev=_relabel(chosen, named),
        more=_relabel((row for row in more if _key(row) not in held), named),
        tests={name: _relabel(rows, named) for name, rows in (tests or {}).items()},
        labels=names,
    )


def _label_names(found: set[str], given: Sequence[str]) -> tuple[str, ...]:
    numeric = all(label.isdecimal() for label in found)
    names = tuple(given) or tuple(sorted(found, key=int if numeric else str))
    if len(set(names)) != len(names) or len(names) < 2:
        raise InputError(f"Training needs at least two different labels; found {', '.join(names)}.")
    return names


def _split(rows: Sequence[Example], seed: int) -> tuple[list[Example], list[Example]]:
    shuffled = list(rows)
    random.Random(seed).shuffle(shuffled)
    tenth = len(rows) // 10
    return shuffled[tenth:], shuffled[:tenth]


def _key(row: Example) -> tuple[str, ...]:
    return tuple(tokens(row.text))


def _relabel(rows: Iterable[Example], named: Mapping[str, str]) -> list[Example]:
    try:
        return [Example(row.text, named[row.label]) for row in rows]
    except KeyError as error:
        expected = ", ".join(dict.fromkeys(named.values()))
        raise InputError(f"The label {error} is unknown: expected one of {expected}.") from error


def tokens(text: str) -> list[str]:
    return [token for token, _, _ in texts.split(text)]


def vocabulary(rows: Iterable[Example], most: int) -> list[str]:
    """The most frequent words that occur at least twice; a word seen once teaches only the unknown
    word.
    """
    counts = Counter(token for row in rows for token in tokens(row.text))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return [PAD, UNKNOWN, *(word for word in ranked if counts[word] > 1)][: most + 2]


def number(tokens: Sequence[str], lookup: Mapping[str, int], length: int) -> list[int]:
    """The numbers of the words, cut or padded at the end."""
    found = [lookup.get(token, lookup[UNKNOWN]) for token in tokens[:length]]
    return found + [lookup[PAD]] * (length - len(found))


def encode(rows: Sequence[Example], lookup: Mapping[str, int], length: int) -> NDArray[np.int64]:
    """Word numbers (rows, length)."""
    return np.array([number(tokens(row.text), lookup, length) for row in rows])


def pieces(rows: Iterable[Example], length: int) -> list[Example]:
    """Texts longer than the window as several, each with the label of the whole."""
    found = []
    for row in rows:
        words = tokens(row.text)
        found += [
            Example(" ".join(words[i : i + length]), row.label)
            for i in range(0, len(words), length)
        ]
    return found

"""Answers: what a predict function said, checked, counted and kept, so that nothing is asked twice.

A function is trusted with nothing: the shape and the numbers of every reply are looked at, and the
first texts are asked again alone and together, because scores of one text may move in their last
digits with the batch it is in. Nor is a file of answers, which anybody may have written: of what an
answer takes from it a random part is asked again.
"""

from __future__ import annotations

import json
import math
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from suffice.errors import InputError, ModelError
from suffice.model.labels import plain_label
from suffice.model.network import Floats

Function: TypeAlias = Callable[[list[str]], Any]  # texts to scores or probabilities, a row per text
Scores: TypeAlias = tuple[float, ...]

BATCH = 64  # texts that a function gets at a time
# once so many texts were asked, it gets up to so many at a time...
MANY = 4096
LARGE = 256
SHORT = 2**15  # ...which have no more than so many characters together
# bytes of answers kept in memory, and what each takes beside its text, about
ROOM = 4e8
EACH = 300
PROBES = 4  # texts that are asked again to see by how much the numbers move
UNSTEADY = 1e-3  # scores that move by more than this share of their size are no scores
AGAIN = 32  # texts of a file that are asked again for each answer; all, where they are no more
# Which ones nobody who writes a file may know before. No answer depends on it, but that a file that
# lies is refused.
CHANCE = secrets.SystemRandom()
SAFETY = 100.0  # margins within so many times what was seen to move decide nothing


class Answers:
    """The scores of texts, from memory, from the file, or by asking. `asked` counts texts sent to
    the function.

    `rests` are the texts of the answer being made whose scores the file has said and nobody has
    asked again, `again` counts those that were asked again for it.
    """

    def __init__(
        self, function: Function, labels: Sequence[str], digest: str, file: str | Path | None = None
    ) -> None:
        self.function = function
        self.labels = tuple(labels)
        self.digest = digest
        self.file = None if file is None else _File(file, digest, len(self.labels))
        self.memory: dict[str, Scores] = {}
        self.taken = 0  # bytes of memory, about
        self.asked = 0
        self.seconds = 0.0
        self.votes = False  # whether it said 1 for one label and 0 for the others, as whole numbers
        self.moves: float | None = None if self.file is None else self.file.moves()
        self.filed: set[str] = set()  # texts whose scores are the file's word
        self.rests: set[str] = set()
        self.looked: set[str] = set()  # of these, those of which a random part was asked again
        self.again = 0

    @property
    def rate(self) -> float:
        """Texts per second, as far as it is known."""
        return self.asked / self.seconds if self.seconds > 0 else math.inf

    @property
    def tolerance(self) -> float:
        """Margins within this decide nothing; zero for a function whose numbers were not seen to
        move.
        """
        return SAFETY * (self.moves or 0.0)

    def scores(self, texts: Sequence[str]) -> Floats:
        """The scores of texts, a row each; only those not known are asked."""
        found = self._recalled(texts)
        self.rests |= self.filed & found.keys()
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if len(missing) > 1 and self.moves is None:
            self._measure(missing)
            return self.scores(texts)
        for part in self.batches(missing):
            found.update(self._kept(part, self.ask(part)))
        return np.array([found[text] for text in texts], dtype=np.float64).reshape(
            len(texts), len(self.labels)
        )

    def missing(self, texts: Sequence[str]) -> int:
        """How many texts would have to be asked for these, with those of the file that must be
        asked again.
        """
        found = self._recalled(texts)
        count = sum(text not in found for text in set(texts))
        owed = self._owed(self.filed & found.keys())
        return owed + (count + PROBES + 1 if self.moves is None and count > 1 else count)

    # --- what a file says ---

    def begin(self) -> None:
        """Another answer is made: what it takes from the file counts from here."""
        self.rests = set()
        self.looked = set()
        self.again = 0

    @property
    def owed(self) -> int:
        """How many texts must still be asked again."""
        return self._owed(set())

    def _owed(self, more: set[str]) -> int:
        return min(AGAIN, len((self.rests | more) - self.looked))

    def settle(self) -> None:
        """Ask a random part of what the file has said again; a file that says something else is
        refused.
        """
        open_ = sorted(self.rests - self.looked)
        picked = CHANCE.sample(open_, min(AGAIN, len(open_)))
        for part in self.batches(picked):
            rows = self.ask(part)
            known = self._recalled(part)
            said = np.array([known[text] for text in part], dtype=np.float64)
            far = np.abs(rows - said).max(1) > self.tolerance
            if far.any():
                self._refuse(part[int(far.argmax())])
        self.looked |= self.rests
        self.rests -= set(picked)
        self.filed -= set(picked)
        self.again += len(picked)

    def _refuse(self, text: str) -> None:
        assert self.file is not None
        raise InputError(
            f"The file of answers {str(self.file.path)!r} is not this program's: asked again, "
            f"{_short(text)} gets "
            "other scores than it says. Leave it away, or name another file."
        )

    def ask(self, texts: Sequence[str]) -> Floats:
        """One call of the function, whatever is known already."""
        began = time.monotonic()
        try:
            given = self.function(list(texts))
        except Exception as error:
            what = f"{type(error).__name__}: {error}".strip()
            raise ModelError(f"The predict function failed on {_counted(texts)}: {what}") from error
        self.seconds += time.monotonic() - began
        self.asked += len(texts)
        rows = _checked(given, texts, self.labels)
        self.votes = self.votes or _votes(given, rows)
        return rows

    def batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Texts of about as many words together: most functions pad a batch to its longest, or
        split it by length.
        """
        ordered = sorted(texts, key=lambda text: (text.count(" "), len(text)))
        size = self._size(max(map(len, ordered), default=0))
        for start in range(0, len(ordered), size):
            yield ordered[start : start + size]

    def _size(self, longest: int) -> int:
        """Of a batch: a function that was asked very many texts is a fast one, which larger batches
        make faster.
        """
        return BATCH if self.asked < MANY else max(BATCH, min(LARGE, SHORT // max(1, longest)))

    # --- what is known ---

    def _recalled(self, texts: Sequence[str]) -> dict[str, Scores]:
        found = {text: self.memory[text] for text in texts if text in self.memory}
        if self.file is not None:
            there = self.file.read([text for text in dict.fromkeys(texts) if text not in found])
            self._remember(there)
            self.filed |= there.keys()
            found |= there
        return found

    def _kept(self, texts: Sequence[str], rows: Floats) -> dict[str, Scores]:
        found = {text: tuple(row) for text, row in zip(texts, rows.tolist(), strict=True)}
        self._remember(found)
        if self.file is not None:
            self.file.write(found)
        return found

    def _remember(self, rows: dict[str, Scores]) -> None:
        if self.taken < ROOM:
            self.memory.update(rows)
            self.taken += sum(map(len, rows)) + EACH * len(rows)

    # --- numbers that move ---

    def _measure(self, texts: Sequence[str]) -> None:
        """Ask a few texts together, alone, and once more; what differs is the measure of what
        decides nothing.
        """
        together = next(self.batches(texts))
        rows = self.ask(together)
        picked = list(range(0, len(together), max(1, len(together) // PROBES)))[:PROBES]
        alone = np.concatenate([self.ask([together[i]]) for i in picked])
        again = self.ask([together[picked[0]]])
        size = max(1.0, float(np.abs(rows).max()))
        twice = np.abs(again - alone[:1]).max()
        batched = np.abs(alone - rows[picked]).max()
        if twice > UNSTEADY * size:
            raise ModelError(
                "The predict function is not deterministic: the scores of one text differ by "
                f"{twice:.3g} when it is "
                "asked twice. Turn sampling and dropout off (model.eval())."
            )
        if batched > UNSTEADY * size:
            raise ModelError(
                f"The scores of a text change by {batched:.3g} with the batch that it is in: "
                "predict must treat every "
                "text by itself."
            )
        self.moves = 2.0 * float(max(twice, batched))
        if self.file is not None:
            self.file.set_moves(self.moves)
        self._kept(together, rows)


def _refuse_labels(given: Any, labels: Sequence[str]) -> None:
    """Refuse what `predict` of most models gives, a label for each text; and a single probability
    for each.
    """
    first = _single(given)
    if first is None:
        return
    if isinstance(first, str | int) or plain_label(first) in labels:
        raise ModelError(
            f"predict gave a label for each text ({_short(first)} for the first), not a score "
            "for each label: hand in "
            "what gives scores, such as model.predict_proba (sf.from_sklearn takes a whole "
            "pipeline)."
        )
    both = (
        f"; where that is the probability of {labels[1]!r}, np.column_stack([1 - p, p]) makes "
        "both scores of it"
    )
    raise ModelError(
        f"predict gave one number for each text ({first:.3g} for the first), and must give a "
        "score for each label"
        f"{both if len(labels) == 2 else ''}."
    )


def _single(given: Any) -> str | int | float | None:
    """What was given for the first text, where that is a single string or number; else None."""
    try:
        rows = np.asarray(given)
    except Exception:  # what is no array is refused by name later
        return None
    if rows.dtype == object or rows.ndim not in (1, 2) or not rows.size or rows.size != len(rows):
        return None
    first = rows.ravel()[0].item()
    return first if isinstance(first, str | int | float) else None


def _votes(given: Any, rows: Floats) -> bool:
    """Whether these are whole numbers (or True and False), 1 for one label and 0 for the others."""
    whole = rows.size > 0 and np.asarray(given).dtype.kind in "biu"
    return whole and bool(((rows == 0) | (rows == 1)).all() and (rows.sum(1) == 1).all())


def _checked(given: Any, texts: Sequence[str], labels: Sequence[str]) -> Floats:
    shape = (len(texts), len(labels))
    if given is None:
        raise ModelError("predict gave None: it must return an array with a row for each text.")
    _refuse_labels(given, labels)
    try:
        if np.iscomplexobj(given):
            raise TypeError("complex numbers have no order")
        rows = np.array(given, dtype=np.float64)  # a copy: the function may use its array again
    except (
        TypeError,
        ValueError,
        OverflowError,
        RuntimeError,
    ) as error:  # the last: a tensor that needs detach()
        raise ModelError(
            f"predict must give an array of numbers, not {_short(given)}: {error}"
        ) from error
    if rows.shape != shape:
        raise ModelError(
            "predict must give a row for each text and a column for each label: "
            f"{_counted(texts)} and {shape[1]} "
            f"labels make {shape}, not {rows.shape}."
        )
    bad = ~np.isfinite(rows).all(1)
    if bad.any():
        raise ModelError(
            "predict gave a score that is not a finite number for "
            f"{_short(texts[int(bad.argmax())])}."
        )
    return rows


def _counted(texts: Sequence[str]) -> str:
    return "1 text" if len(texts) == 1 else f"{len(texts)} texts"


def _short(value: Any) -> str:
    text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


TABLES = (
    "create table if not exists answers (model, text, scores, primary key (model, text))",
    "create table if not exists moves (model primary key, size real)",
)


def _schema() -> frozenset[tuple[str, str, str | None]]:
    """All that SQLite lists of a new file of answers."""
    base = sqlite3.connect(":memory:")
    for table in TABLES:
        base.execute(table)
    found = base.execute("select type, name, sql from sqlite_master").fetchall()
    base.close()
    return frozenset(found)


SCHEMA = _schema()


class _File:
    """Answers on the disk (SQLite), by the digest of the model: for functions that cost money or
    time.
    """

    def __init__(self, path: str | Path, digest: str, width: int) -> None:
        if not isinstance(path, str | Path):
            raise InputError(
                f"The file of answers is named by a string or a path, not by {_short(path)}."
            )
        self.path = Path(path)
        self.digest = digest
        self.width = width
        if not self.path.resolve().parent.is_dir():
            raise InputError(f"There is no folder to keep the answers {str(path)!r} in.")
        with self._open() as base:
            for table in TABLES:
                base.execute(table)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            base = sqlite3.connect(self.path, timeout=30)
            try:
                self._refuse_strange(base)
                with base:
                    yield base
            finally:
                base.close()
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"The file of answers {str(self.path)!r} cannot be used: {error}."
            ) from error

    def _refuse_strange(self, base: sqlite3.Connection) -> None:
        """A file may hold views, triggers and computed columns, which run for ever; ours holds two
        plain tables.

        What a file holds is read one by one and only as far as needed, as it may itself be long.
        """
        base.execute("pragma trusted_schema = off")
        found = base.execute("select type, name, sql from sqlite_master")
        for kind, name, sql in found.fetchmany(len(SCHEMA) + 1):
            if (kind, name, sql) not in SCHEMA:
                raise InputError(
                    f"The file of answers {str(self.path)!r} holds a {kind} "
                    f"{str(name)[:80]!r} that no file of answers "
                    "has: leave it away, or name another file."
                )

    def read(self, texts: Sequence[str]) -> dict[str, Scores]:
        """The scores that are kept for these texts."""
        found: dict[str, Scores] = {}
        with self._open() as base:
            for start in range(0, len(texts), 500):
                part = texts[start : start + 500]
                marks = ",".join("?" * len(part))
                query = f"select text, scores from answers where model = ? and text in ({marks})"
                rows = base.execute(query, [self.digest, *part]).fetchall()
                found.update(
                    {text: row for text, saved in rows if (row := self._row(saved)) is not None}
                )
        return found

    def _row(self, saved: Any) -> Scores | None:
        """What was saved, or None where it cannot be an answer of this model: then it is asked
        again.
        """
        try:
            row = tuple(float(value) for value in json.loads(saved))
        except (TypeError, ValueError, OverflowError, RecursionError):
            return None
        return row if len(row) == self.width and all(map(math.isfinite, row)) else None

    def write(self, rows: dict[str, Scores]) -> None:
        lines = [(self.digest, text, json.dumps(row)) for text, row in rows.items()]
        with self._open() as base:
            base.executemany("insert or replace into answers values (?, ?, ?)", lines)

    def moves(self) -> float | None:
        with self._open() as base:
            row = base.execute("select size from moves where model = ?", [self.digest]).fetchone()
        good = (
            row is not None and isinstance(row[0], float) and math.isfinite(row[0]) and row[0] >= 0
        )
        return row[0] if good else None

    def set_moves(self, size: float) -> None:
        with self._open() as base:
            base.execute("insert or replace into moves values (?, ?)", [self.digest, size])

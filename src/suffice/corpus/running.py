"""Running: the same verb on every row, each line on the disk before the next, whatever goes wrong
with a row said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from suffice.corpus import pools
from suffice.corpus.journal import Journal, write_safely
from suffice.corpus.record import write_record
from suffice.corpus.rows import Reply, Row, RowVerb, Texts, failed, texts_of
from suffice.errors import InputError, SufficeError
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.naming import named
from suffice.model.tokenizers import Custom

# rows done, rows in all where known, rows that failed
OnRow: TypeAlias = Callable[[int, int | None, int], None]


@dataclass(frozen=True)
class Run:
    """How many texts are gone through: where lines and certificates are kept, and who does the
    work.
    """

    out: str | Path | None = None
    certificates: str | Path | None = None
    workers: int = 1
    engine: str = "local"
    fresh: bool = False
    on_row: OnRow | None = None


class Done(NamedTuple):
    """A row that is done: its line, its certificate's bytes where they are at hand, and whether it
    was done before.
    """

    line: dict[str, Any]
    certificate: bytes | None
    resumed: bool


# --- one row ---


def guarded(verb: RowVerb, row: Row, answer: Callable[[Row, str | None], Reply]) -> Reply:
    """Whatever goes wrong with a row is said in its line; the other rows go on."""
    if row.error:
        return failed(verb, row, row.error)
    try:
        return answer(row, _expected(verb.classifier, row.label))
    except SufficeError as error:
        return failed(verb, row, str(error))
    except Exception as error:
        return failed(verb, row, f"{type(error).__name__}: {error}")


def _expected(classifier: Classifier | BlackBox, label: str | None) -> str | None:
    """The label by its name, or by its number as in many data sets."""
    if label is None or label in classifier.labels:
        return label
    if label.isdecimal() and int(label) < len(classifier.labels):
        return classifier.labels[int(label)]
    return classifier.labels[classifier.label_index(label)]


def settings(verb: RowVerb) -> dict[str, Any]:
    # where answers lie is no question
    kept = {name: value for name, value in verb.options.items() if name != "cache"}
    options = {name: named(value) if callable(value) else value for name, value in kept.items()}
    # a function of its own is no part of a digest but by name
    reader = getattr(verb.classifier, "reader", None)
    reading = {"reader": named(reader.function)} if isinstance(reader, Custom) else {}
    return {"perturbation": verb.perturbation.to_dict(), "options": options, **reading}


# --- all rows ---


def done_rows(verb: RowVerb, given: Any, run: Run) -> Iterator[Done]:
    """Every row as it is done, those of an earlier run first among those read so far."""
    keep(given, run.out)
    kept = (run.out, run.certificates, verb.options.get("cache"))
    if isinstance(verb.classifier, BlackBox) and any(one is not None for one in kept):
        verb.classifier.check_told("What is kept of a run")
    texts = texts_of(given)
    with (
        nullcontext()
        if run.out is None
        else closing(Journal(run.out, verb.run, run.fresh)) as journal
    ):
        if run.certificates is not None:
            write_record(run.certificates, verb.run, verb.classifier)
        progress = _Progress(run.on_row, _counted(texts, journal))
        resumed: deque[int] = deque()
        progress.report()
        for reply in pools.run(verb, _left(texts, journal, resumed), run.engine, run.workers):
            yield from progress.passed(_resumed(journal, resumed))
            line = _filed(reply, run)
            if journal is not None:
                journal.append(line)
            yield from progress.passed([Done(line, reply.certificate, False)])
        yield from progress.passed(_resumed(journal, resumed))


def keep(read: Any, *written: str | Path | None) -> None:
    """Refuse to write over a file that is read: an audit of reviews.csv must not put its table
    there.
    """
    own = Path(read).resolve() if isinstance(read, str | Path) else None
    for path in written:
        if path is not None and Path(path).resolve() == own:
            raise InputError(
                f"{path} is a file that is read here, and would be written over: name another one."
            )


def _counted(texts: Texts, journal: Journal | None) -> int | None:
    """How many texts there are, where they can be read twice; refused where the journal is about
    others.
    """
    if not texts.again:
        return None
    count = 0
    for row in texts.rows():
        count += 1
        if journal is not None:
            journal.holds(row)
    if journal is not None:
        journal.all_of(count)
    return count


def _left(texts: Texts, journal: Journal | None, resumed: deque[int]) -> Iterator[Row]:
    """The rows to be done; the numbers of the others are put aside."""
    for row in texts.rows():
        if journal is not None and journal.holds(row):
            resumed.append(row.number)
        else:
            yield row


def _resumed(journal: Journal | None, numbers: deque[int]) -> Iterator[Done]:
    while journal is not None and numbers:
        yield Done(journal.line(numbers.popleft()), None, True)


@dataclass
class _Progress:
    """Counts what passes, and tells."""

    on_row: OnRow | None
    total: int | None
    done: int = field(default=0, init=False)
    errors: int = field(default=0, init=False)

    def passed(self, rows: Any) -> Iterator[Done]:
        for row in rows:
            self.done += 1
            self.errors += "error" in row.line
            if not row.resumed:
                self.report()
            yield row

    def report(self) -> None:
        if self.on_row is not None:
            self.on_row(self.done, self.total, self.errors)


def _filed(reply: Reply, run: Run) -> dict[str, Any]:
    """The line, once its certificate is safely in its file."""
    if run.certificates is None or reply.certificate is None:
        return reply.line
    path = Path(run.certificates) / f"row-{reply.line['row']:06d}.certificate"
    write_safely(path, reply.certificate)
    beside = Path(".") if run.out is None else Path(run.out).parent
    near = path.relative_to(beside) if path.is_relative_to(beside) else path.resolve()
    return {**reply.line, "certificate_file": near.as_posix()}

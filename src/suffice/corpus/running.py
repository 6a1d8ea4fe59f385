"""Running: the same job on every row, each line on the disk before the next, whatever goes wrong with a row said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from suffice.corpus import engines
from suffice.corpus.journal import Journal, write_safely
from suffice.corpus.rows import Job, Reply, Row, digest, failed, read_rows
from suffice.errors import SufficeError
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.sets.perturbations import Perturbation

OnRow: TypeAlias = Callable[[int, int, int], None]  # rows done, rows in all, errors so far


class Asking(Job, Protocol):
    """A job that asks a verb of every row, with the same options."""

    @property
    def classifier(self) -> Classifier | BlackBox: ...

    @property
    def perturbation(self) -> Perturbation: ...

    @property
    def options(self) -> Mapping[str, Any]: ...


def guarded(job: Asking, row: Row, answer: Callable[[Row, str | None], Reply]) -> Reply:
    """Whatever goes wrong with a row is said in its line; the other rows go on."""
    if row.error:
        return failed(job, row, row.error)
    try:
        return answer(row, _expected(job.classifier, row.label))
    except SufficeError as error:
        return failed(job, row, str(error))
    except Exception as error:
        return failed(job, row, f"{type(error).__name__}: {error}")


def _expected(classifier: Classifier | BlackBox, label: str | None) -> str | None:
    """The label by its name, or by its number as in many data sets."""
    if label is None or label in classifier.labels:
        return label
    if label.isdecimal() and int(label) < len(classifier.labels):
        return classifier.labels[int(label)]
    return classifier.labels[classifier.label_index(label)]


def settings(job: Asking) -> dict[str, Any]:
    options = {name: named(value) if callable(value) else value for name, value in job.options.items()}
    return {"perturbation": job.perturbation.to_dict(), "options": options}


def named(function: Callable[..., Any]) -> str:
    """A name for a function that changes when its code does."""
    kind = getattr(function, "__module__", None) or type(function).__module__
    code = getattr(function, "__code__", None)
    plain = [] if code is None else [repr(value) for value in code.co_consts if isinstance(value, str | float)]
    body = "" if code is None else digest({"code": code.co_code.hex(), "names": [*code.co_names, *plain]})
    return f"{kind}.{getattr(function, '__qualname__', type(function).__qualname__)} {body}"


def run_all(
    job: Job,
    texts: str | Path | Sequence[Row],
    out: str | Path,
    certificates: str | Path | None,
    workers: int,
    engine: str,
    fresh: bool,
    on_row: OnRow | None,
) -> list[dict[str, Any]]:
    rows = read_rows(texts) if isinstance(texts, str | Path) else list(texts)
    journal = Journal(out, job.run, rows, fresh)
    try:
        left = [row for row in rows if row.number not in journal.lines]
        _report(on_row, journal, rows)
        for reply in engines.run(job, left, engine, workers) if left else ():
            journal.append(_filed(reply, certificates, Path(out).parent))
            _report(on_row, journal, rows)
        return [journal.lines[row.number] for row in rows]
    finally:
        journal.close()


def _filed(reply: Reply, folder: str | Path | None, beside: Path) -> dict[str, Any]:
    """The line, once its certificate is safely in its file."""
    if folder is None or reply.certificate is None:
        return reply.line
    path = Path(folder) / f"row-{reply.line['row']:06d}.certificate"
    write_safely(path, reply.certificate)
    near = path.relative_to(beside) if path.is_relative_to(beside) else path.resolve()
    return {**reply.line, "certificate_file": near.as_posix()}


def _report(on_row: OnRow | None, journal: Journal, rows: Sequence[Row]) -> None:
    if on_row is not None:
        on_row(len(journal.lines), len(rows), sum("error" in line for line in journal.lines.values()))

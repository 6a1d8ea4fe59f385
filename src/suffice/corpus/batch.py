"""Batch: an explanation of every text of many, resumable, on one machine or a cluster."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from suffice.corpus import pools
from suffice.corpus.rows import Reply, Row, digest, head
from suffice.corpus.running import Done, OnRow, Run, done_rows, guarded, settings
from suffice.corpus.summary import Summary, Tally, failures
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.proof.certificate import MAX_TEXT, Certificate, read
from suffice.sets.perturbations import BundledSubstitutes, Perturbation
from suffice.verbs.explain import explain
from suffice.verbs.explanation import Explanation
from suffice.verbs.question import check_classifier


@dataclass(frozen=True, eq=False)
class Explaining:
    """Explain a row's text."""

    classifier: Classifier | BlackBox
    perturbation: Perturbation
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def run(self) -> str:
        return digest({"task": "explain", "model": self.classifier.digest, **settings(self)})

    def __call__(self, row: Row) -> Reply:
        return guarded(self, row, self._answer)

    def _answer(self, row: Row, expected: str | None) -> Reply:
        result = explain(self.classifier, row.text, perturbation=self.perturbation, **self.options)
        correct = {} if expected is None else {"correct": result.label == expected}
        line = {**head(self, row), "expected": expected, **correct, "explanation": result.to_dict()}
        return Reply(line, None if result.certificate is None else result.certificate.data)


class Batch(Iterator[Explanation]):
    """Explanations as they are done: `meta["row"]` counts the texts from 1, `failed` says which
    failed and why, `summary` what came out so far.
    """

    def __init__(self, rows: Iterator[Done]) -> None:
        self._rows = rows
        self._tally = Tally()
        self.done = 0

    @property
    def failed(self) -> dict[int, str]:
        return self._tally.failed

    @property
    def summary(self) -> Summary:
        return self._tally.summary()

    def __next__(self) -> Explanation:
        for row in self._rows:
            self.done += 1
            self._tally.add(row.line)
            if "error" not in row.line:
                return _explanation(row)
        if self.failed and self.done:
            warnings.warn(f"{failures(self.failed, self.done)}: `failed` says why.", stacklevel=2)
            self.done = 0
        raise StopIteration

    def __repr__(self) -> str:
        return f"<Batch: {self.done} texts so far, {len(self.failed)} failed>"

    def close(self) -> None:
        """Stop; what is done is in the journal, if there is one."""
        self._rows.close()  # type: ignore[attr-defined]


def batch(
    classifier: Classifier | BlackBox,
    texts: Any,
    out: str | Path | None = None,
    *,
    perturbation: Perturbation | None = None,
    certificates: str | Path | None = None,
    workers: int = 1,
    engine: str = "local",
    fresh: bool = False,
    on_row: OnRow | None = None,
    **options: Any,
) -> Batch:
    """Explain every text, in the order in which they are done: `for result in sf.batch(clf, texts,
    workers=2): ...`

    `texts` are a list of strings, a column of a table, any iterable (read as it is needed), or the
    name of a CSV or JSONL file. `options` are those of `explain`. With `out`, every line is on the
    disk before the next begins: started again after having been stopped in any way, it goes on
    where it was. With `certificates`, each certificate becomes a file of that folder. A text that
    cannot be explained is passed over; `failed` of what this returns says why.
    """
    run = Run(out, certificates, workers, engine, fresh, on_row)
    return Batch(explained_rows(classifier, texts, run, perturbation, **options))


def explained_rows(
    classifier: Classifier | BlackBox,
    texts: Any,
    run: Run,
    perturbation: Perturbation | None = None,
    **options: Any,
) -> Iterator[Done]:
    """The lines of a batch as they are done; what is wrong for every text is refused at once."""
    check_classifier(classifier)
    pools.check(run.engine, run.workers)
    inspect.signature(explain).bind(classifier, "", **options)
    verb = Explaining(
        classifier, BundledSubstitutes() if perturbation is None else perturbation, options
    )
    return done_rows(verb, texts, run)


def _explanation(row: Done) -> Explanation:
    """What the line says, the same whoever did it and when; for a row done now, with its
    certificate.
    """
    result = Explanation.from_json(json.dumps(row.line["explanation"]))
    name = {} if "id" not in row.line else {"id": row.line["id"]}
    evidence = (
        None if row.certificate is None else Certificate(tuple(read(row.certificate, MAX_TEXT)))
    )
    return replace(
        result, certificate=evidence, meta={**result.meta, "row": row.line["row"], **name}
    )

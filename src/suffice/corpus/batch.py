"""Batch: an explanation of every text of a file, resumable, on one machine or a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from suffice.corpus.rows import Reply, Row, digest, head
from suffice.corpus.running import OnRow, guarded, run_all, settings
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.sets.perturbations import Perturbation
from suffice.verbs.explain import explain


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


def batch(
    classifier: Classifier | BlackBox,
    texts: str | Path | Sequence[Row],
    out: str | Path,
    *,
    perturbation: Perturbation,
    certificates: str | Path | None = None,
    workers: int = 1,
    engine: str = "local",
    fresh: bool = False,
    on_row: OnRow | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Explain every text of a CSV or JSONL file; one line of `out` per text, in the order in which they are done.

    Started again after having been stopped in any way, it goes on where it was. `options` are those of `explain`.
    With `certificates`, each certificate becomes a file of that folder. Gives the lines, by row.
    """
    return run_all(
        Explaining(classifier, perturbation, options), texts, out, certificates, workers, engine, fresh, on_row
    )

"""Export: the questions that a certificate's leaves answer, as ONNX and VNN-LIB, for somebody
else's tools.

`export` writes a folder: `onnx/` (the network), `vnnlib/` (one file per question), `instances.csv`
(as VNN-COMP has it) and `README.txt` (what each file asks, and the answer expected). Nothing is
proved here: the leaves are written, not checked. That they cover all cases is what `suffice.check`
checks, and what no tool that answers them sees.
"""

from __future__ import annotations

import math
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import InputError, NotACertificate
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.network import Bools
from suffice.proof.check import lines_of
from suffice.proof.check.header import read_header
from suffice.proof.check.limits import MALFORMED_ERRORS, Limit, LineReader, rejection
from suffice.proof.check.sets import read_sets
from suffice.proof.export import vnnlib
from suffice.proof.export.onnx import graph_of
from suffice.proof.export.questions import Attacked, Query, Querying, Skipped
from suffice.proof.export.readme import Weights, readme

__all__ = ["Exported", "Instance", "Skipped", "export"]

PARTS = ("onnx", "vnnlib")
SECONDS = 60  # the timeout that instances.csv gives each question


@dataclass(frozen=True)
class Instance:
    """One question: its files (below the folder), the answer expected ("sat" or "unsat") and what
    it asks.
    """

    onnx: str
    vnnlib: str
    answer: str
    about: str


@dataclass(frozen=True)
class Exported:
    """What was written, and what was not, with the reason."""

    folder: Path
    instances: tuple[Instance, ...]
    skipped: tuple[Skipped, ...]

    def __str__(self) -> str:
        unsat = sum(one.answer == "unsat" for one in self.instances)
        count = len(self.instances)
        said = f"{unsat} unsat, {len(self.instances) - unsat} sat"
        said = f"{count} question{'s' * (count != 1)} in {self.folder}: expected are {said}."
        reasons = sorted({one.reason for one in self.skipped})
        return said + (
            f" {len(self.skipped)} could not be written: {'; '.join(reasons)}." if reasons else ""
        )


def export(certificate: Any, classifier: Classifier | BlackBox, folder: str | Path) -> Exported:
    """Write the questions of a certificate (a path, bytes or an object with `lines`) to a folder
    that is new or empty.

    Rejected if it is no certificate for this classifier. Leaves that have no plain form in VNN-LIB
    are in `skipped`.
    """
    if isinstance(classifier, BlackBox):
        raise InputError(
            "A black box has no network to export: `check` runs the texts of its certificate again."
        )
    if not isinstance(classifier, Classifier):
        raise InputError(
            f"A certificate is exported with its Classifier, not {classifier!r}: use "
            "load(name) first."
        )
    # says what cannot be exported before anything is written
    graph_of(classifier.network.steps, None)
    writing = _Writing(classifier, _empty(Path(folder)))
    try:
        _walk(certificate, classifier, writing)
        return writing.finish()
    except BaseException:
        for name in PARTS:  # half of the questions would pass for all of them
            shutil.rmtree(writing.folder / name)
        raise


def _walk(certificate: Any, classifier: Classifier, writing: _Writing) -> None:
    evidence = LineReader(lines_of(certificate, classifier), Limit.of(math.inf), 1)
    try:
        with np.errstate(all="ignore"):
            header = read_header(next(evidence.lines, None), classifier)
            Querying(
                classifier,
                header,
                read_sets(header, classifier, evidence.limit),
                evidence,
                writing.tell,
            ).run()
    except NotACertificate:
        raise
    except MALFORMED_ERRORS as error:
        raise rejection(error, evidence.number) from None


def _empty(folder: Path) -> Path:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is there already: name a folder that is new or empty.")
    for name in PARTS:
        (folder / name).mkdir(parents=True)
    return folder


@dataclass(eq=False)
class _Writing:
    """The folder as it fills: a network when it is first needed, and each question as
    it is told.
    """

    classifier: Classifier
    folder: Path
    instances: list[Instance] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    networks: dict[int, tuple[Attacked | None, str]] = field(default_factory=dict)
    weights: Weights = field(default_factory=Weights)

    def tell(self, question: Query | Skipped) -> None:
        """Write one question, or note why it could not be written."""
        if isinstance(question, Skipped):
            self.skipped.append(question)
            return
        onnx = self._network(question.attacked)
        path = f"vnnlib/{question.name}.vnnlib"
        text = vnnlib.written(question, len(self.classifier.labels), self._relus)
        (self.folder / path).write_text(text, encoding="utf-8")
        self.instances.append(Instance(onnx, path, question.answer, question.about))

    @property
    def _relus(self) -> Bools:
        hidden = [step.relu for step in self.classifier.network.steps[:-1]]
        return np.concatenate([np.zeros(0, dtype=bool), *hidden])

    def _network(self, attacked: Attacked | None) -> str:
        """The network's file; an attacked text has one of its own."""
        if (
            id(attacked) not in self.networks
        ):  # the object is kept with its name, so that its id stays taken
            count = len(self.networks)
            name = "onnx/network.onnx" if attacked is None else f"onnx/attacked-{count:06d}.onnx"
            graph = graph_of(self.classifier.network.steps, attacked)
            graph.save(self.folder / name)
            self.weights = self.weights.with_those_of(graph.numbers)
            self.networks[id(attacked)] = attacked, name
        return self.networks[id(attacked)][1]

    def finish(self) -> Exported:
        """Write the lists of questions and the page that explains them."""
        done = Exported(self.folder, tuple(self.instances), tuple(self.skipped))
        if not done.instances:
            raise InputError(
                f"Nothing of this certificate can be exported: {done.skipped[0].reason}."
            )
        rows = [f"{one.onnx},{one.vnnlib},{SECONDS}\n" for one in done.instances]
        (self.folder / "instances.csv").write_text("".join(rows), encoding="utf-8", newline="")
        said = [(one.vnnlib, one.answer, one.about) for one in done.instances]
        page = readme(
            self.classifier, said, [(one.name, one.reason) for one in done.skipped], self.weights
        )
        (self.folder / "README.txt").write_text(page, encoding="utf-8")
        return done

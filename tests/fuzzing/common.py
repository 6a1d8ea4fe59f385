"""What all kinds share: odd networks, the model as the second checker reads it, and both checkers
on a certificate.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import suffice as sf
from suffice.errors import NotACertificate, Rejected
from suffice.model.network import Conv1d, Dense, MaxPool, Network, Relu, Transpose
from suffice.proof import check_exact

MEMORY = Path("/dev/shm")  # where there is one, models are written to memory
FOLDER = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)


class Wrong(Exception):
    """An answer that is not true."""


class Kind(Protocol):
    """A kind of question: what is wrong with the answers to those of a seed; `counts`
    counts them.
    """

    def __call__(self, seed: int, counts: Counter[str]) -> Iterator[str]: ...


def need(condition: object, what: str) -> None:
    if not condition:
        raise Wrong(what)


# --- networks ---


def pooled(classifier: sf.Classifier, rng: np.random.Generator, whole: bool) -> sf.Classifier:
    """The same words read by a network with maxima over time."""

    def numbers(*shape: int) -> Any:
        return rng.integers(-2, 3, shape).astype(float) if whole else rng.standard_normal(shape)

    size = classifier.table.shape[1]
    filters = int(rng.integers(1, 4))
    classes = len(classifier.labels)
    kernel = Conv1d(numbers(filters, size, 1), numbers(filters) / 2)
    middle = [Relu()] if rng.random() < 0.5 else []
    last = Dense(numbers(classes, filters), numbers(classes) / 2)
    network = Network.build(
        [Transpose(), kernel, *middle, MaxPool(), last], (classifier.length, size)
    )
    *hidden, last_ = network.steps
    idle = np.setdiff1d(np.arange(last_.weight.shape[1]), [group[0] for group in hidden[-1].maxima])
    if hidden[-1].maxima and rng.random() < 0.5:  # weights of units of a maximum that give nothing
        weight = last_.dense().copy()
        weight[:, idle] = numbers(*weight[:, idle].shape)
        network = Network((*hidden, replace(last_, weight=weight)))
    return replace(classifier, network=network)


def scaled(classifier: sf.Classifier, rng: np.random.Generator) -> sf.Classifier:
    """Weights from tiny to huge: the label is the same, rounding and overflow are not."""
    factor = 2.0 ** int(rng.choice([-300, -60, 60, 100]))
    steps = classifier.network.steps
    last = replace(steps[-1], weight=steps[-1].weight * factor, bias=steps[-1].bias * factor)
    return replace(classifier, network=replace(classifier.network, steps=(*steps[:-1], last)))


# --- both checkers ---


def exact_model(classifier: sf.Classifier) -> check_exact.Model:
    """The classifier as the second checker reads it from its folder."""
    classifier.save(FOLDER.name)
    return check_exact.load(FOLDER.name)


def accept(found: sf.Certificate | None, classifier: sf.Classifier | sf.BlackBox) -> sf.Certificate:
    if found is None:
        raise Wrong("no certificate")
    try:
        sf.check(found, classifier)
    except (Rejected, NotACertificate) as error:
        raise Wrong(f"the checker rejects: {error}") from error
    return found


def both_accept(
    found: sf.Certificate | None, classifier: sf.Classifier, model: check_exact.Model
) -> None:
    accept(found, classifier)
    exactly_accepted(found, model)


def exactly_accepted(found: sf.Certificate | None, model: check_exact.Model) -> None:
    try:
        check_exact.check(found.lines if found else (), model)
    except (check_exact.Reject, check_exact.Unreadable) as error:
        raise Wrong(f"the exact checker rejects: {error}") from error


def accepts(lines: list[Any], classifier: sf.Classifier) -> bool:
    try:
        sf.check(sf.Certificate(tuple(lines)), classifier)
    except (Rejected, NotACertificate):
        return False
    return True


def accepts_exactly(lines: list[Any], model: check_exact.Model) -> bool:
    try:
        check_exact.check(lines, model)
    except (check_exact.Reject, check_exact.Unreadable):
        return False
    return True

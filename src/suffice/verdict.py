"""Verdicts: the three answers to "do these words suffice?", and what a question is made of.

The contract of every oracle: it may always answer Unknown; it may answer Proved or Refuted only with evidence.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np

from suffice.network import Bools, Floats, Network
from suffice.perturb import Region


@dataclass(frozen=True, eq=False)
class Problem:
    """One text and one classifier, ready for any number of questions about sets of words.

    `features` marks the positions that may be perturbed and explained; the others never move. The property is
    one number per rival class: margin = score of `label` minus score of the rival, and must stay above zero.
    """

    network: Network
    region: Region
    label: int
    features: Bools

    @property
    def center(self) -> Floats:
        return self.region.center

    @property
    def rivals(self) -> tuple[int, ...]:
        return tuple(j for j in range(self.network.outputs) if j != self.label)

    def margins(self, points: Floats) -> Floats:
        """Margins (n, rivals) of points (n, length, dimension), by the plain forward pass."""
        scores = self.network.forward(points)
        return scores[..., [self.label]] - scores[..., list(self.rivals)]


@dataclass(frozen=True, eq=False)
class Witness:
    """A perturbed input that was run through the network and does not keep the label.

    `positions` are the words it changes, `words` what each of them became where the set is one of real words,
    `shares` the mixture of corners where the set is a hull and the point is not a corner.
    """

    point: Floats
    positions: tuple[int, ...]
    label: int
    margin: float
    shares: Floats | None = None


@dataclass(frozen=True, eq=False)
class Proved:
    """No allowed change of the free words changes the label. `evidence` is what the certificate is made of."""

    evidence: Any = None
    by: str = "bounds"

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Refuted:
    """`witness` changes only free words, and the label."""

    witness: Witness
    by: str = "bounds"

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True)
class Unknown:
    """Neither proved nor refuted, and why."""

    reason: str
    by: str = "bounds"

    def __bool__(self) -> bool:
        return False


Verdict: TypeAlias = Proved | Refuted | Unknown


@dataclass(frozen=True)
class Budget:
    """How much may be spent: seconds from now on, and subproblems per question."""

    seconds: float = 60.0
    subproblems: int = 200_000
    started: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started

    @property
    def left(self) -> float:
        return self.seconds - self.elapsed

    @property
    def spent(self) -> bool:
        return self.left <= 0


class Oracle(Protocol):
    """Built once for a Problem and asked many times; a question is a mask of the free positions."""

    name: str

    def ask(self, free: Bools, budget: Budget) -> Sequence[Verdict]:
        """One verdict for each row of `free` (n, length)."""


def masks(length: int, sets: Sequence[Sequence[int]]) -> Bools:
    """Boolean rows (n, length) that mark the given positions."""
    rows = np.zeros((len(sets), length), dtype=bool)
    for row, positions in zip(rows, sets, strict=True):
        row[list(positions)] = True
    return rows

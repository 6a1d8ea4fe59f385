"""Questions: each leaf and each point of a certificate as a question that another tool can answer.

The tree is walked as the checker walks it, so a file that is not a certificate is Rejected here
too; but no bound and no score is worked out. That is left to whoever answers the questions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from suffice.model.classifier import Classifier
from suffice.model.network import Bools, Floats, Ints
from suffice.proof.check.evidence import EvidenceCheck
from suffice.proof.check.header import Header
from suffice.proof.check.inputs import (
    InputSet,
    Restorations,
    RestorationState,
    VariedInputs,
    VariedState,
)
from suffice.proof.check.leaf import Leaf, Signs
from suffice.proof.check.limits import LineReader
from suffice.proof.check.points import Point, read_point
from suffice.proof.check.sets import Sets
from suffice.proof.export.boxes import NumberRange, NumberRanges, Unwritten, boxes_of, shares_of


@dataclass(frozen=True, eq=False)
class Attacked:
    """An attacked text of which words go back: the network's inputs are then how far each of
    `words` is back.
    """

    start: Floats
    center: Floats
    words: Ints
    costs: Ints


@dataclass(frozen=True, eq=False)
class Query:
    """Is there an input in one of `boxes`, on the given sides of units, at which one score is at
    most another?

    `signs` has -1 for units whose sum is at most zero, 1 for at least zero. `budget` limits what
    the restored words of an attacked text cost. `name` is the file's, `about` a sentence for
    people.
    """

    name: str
    about: str
    answer: str
    lower: int
    higher: int
    boxes: NumberRanges
    signs: Signs
    attacked: Attacked | None = None
    budget: int | None = None


@dataclass(frozen=True)
class Skipped:
    """A question that is not written, and why."""

    name: str
    reason: str


Tell: TypeAlias = Callable[[Query | Skipped], None]


class Querying(EvidenceCheck):
    """The checker's walk, but what it would work out is told as a question."""

    def __init__(
        self, classifier: Classifier, header: Header, sets: Sets, evidence: LineReader, tell: Tell
    ) -> None:
        super().__init__(classifier, header, sets, evidence)
        self.names = list(classifier.labels)
        self.tell = tell
        self._pooled = np.concatenate(
            [np.zeros(0, dtype=bool), *(s.pooled for s in classifier.network.steps[:-1])]
        )
        # the last start, and what was made of it
        self.attacked: tuple[Floats, Attacked] | None = None

    def enqueue(self, leaf: Leaf) -> None:
        """A leaf of a proof tree: no input is left at which the claim fails.

        A bound of a unit is on the way there, and no question of its own.
        """
        if leaf.lemma is not None:
            return
        inputs, sign = self.queue_context
        name = f"line-{leaf.line_number:06d}"
        lower, higher = (self.label, leaf.rival) if sign > 0 else (leaf.rival, self.label)
        try:
            if leaf.signs[self._pooled].any():
                raise Unwritten(
                    "it is about who wins a maximum, which has no plain form in VNN-LIB"
                )
            over, region = self._region(inputs, leaf)
            about = f"{over}, is {self._said(lower, higher)}? {_sides(leaf.signs)}"
            self.tell(Query(name, about, "unsat", lower, higher, signs=leaf.signs, **region))
        except Unwritten as reason:
            self.tell(Skipped(name, str(reason)))

    def skip(self, leaf: Leaf) -> None:
        """Nobody else has sieves: the question is whether an input is left."""
        self.enqueue(leaf)

    def check_queue(self) -> None:
        """Nothing is worked out here."""

    def _region(self, inputs: InputSet, leaf: Leaf) -> tuple[str, dict[str, Any]]:
        """Over which inputs, in words and as parts of a question."""
        if isinstance(inputs, VariedInputs):
            assert isinstance(leaf.state, VariedState)
            return "Over the allowed inputs that are left here", {
                "boxes": boxes_of(inputs, leaf.state)
            }
        assert isinstance(leaf.state, RestorationState)
        attacked = self._attacked(leaf.state.perturbed, inputs)
        if not len(attacked.words):
            return "At the text itself", {"boxes": (_at(self.sets.center),)}
        box, budget = shares_of(leaf.state, inputs.costs, attacked.words)
        over = "Over an attacked text of which words go back, as many as can be paid for"
        return over, {"boxes": (box,), "attacked": attacked, "budget": budget}

    def _attacked(self, start: Floats, inputs: Restorations) -> Attacked:
        """Leaves of one restoration share their network."""
        if self.attacked is None or self.attacked[0] is not start:
            words = np.flatnonzero((start != self.sets.center).any(-1))
            self.attacked = start, Attacked(start, self.sets.center, words, inputs.costs[words])
        return self.attacked[1]

    def require_label(self) -> None:
        for rival in self.rivals.values():
            about = f"At the text itself, is {self._said(rival, self.label)}?"
            self._point(f"text-{rival}", about, self.sets.center, rival, self.label)

    def check_counterexample(self, data: Any, allowed: Bools) -> Point:
        """Read a counterexample, and write the question whether the network gives it
        another label.
        """
        point = read_point(data, self.sets, allowed, "rival")
        name = f"line-{self.evidence.number:06d}"
        rival = self.rival_index(data["rival"])
        if "shares" in data:
            self.tell(
                Skipped(
                    name,
                    (
                        "the point is a mixture of a hull's corners, which decimals do not hold "
                        "exactly"
                    ),
                )
            )
        else:
            about = (
                f"At the counterexample (every X is its point), is {self._said(self.label, rival)}?"
            )
            self._point(name, about, point.vectors, self.label, rival)
        return point

    def _point(self, name: str, about: str, vectors: Floats, lower: int, higher: int) -> None:
        nothing = np.zeros(self.network.unit_count, dtype=np.int8)
        self.tell(Query(name, about, "sat", lower, higher, (_at(vectors),), nothing))

    def _said(self, lower: int, higher: int) -> str:
        return f"the score of {self.names[lower]!r} anywhere at most that of {self.names[higher]!r}"


def _at(vectors: Floats) -> NumberRange:
    return NumberRange(vectors.ravel(), vectors.ravel())


def _sides(signs: Signs) -> str:
    count = int((signs != 0).sum())
    return f"({count} hidden units are on a given side.)" if count else "(No hidden unit is split.)"

"""The contract: problems, the three answers to "do these words suffice?", and budgets.

An oracle may always answer Unknown; it may answer Proved or Refuted only with evidence. Problems in
reduced coordinates remember what they were reduced from.

Method: robust explanations over perturbation sets (theory, section 1).
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

from suffice import work
from suffice.model.network import Bools, Floats, Ints, Network
from suffice.proof.certificate import Certificate
from suffice.sets.regions import Choice, Region
from suffice.settings import DEFAULT, Settings
from suffice.verify.proof_tree import Tree

MAX_WORDS_NAMED = 4  # words of a change that a sentence names


@dataclass(frozen=True, eq=False)
class Problem:
    """One text and one classifier, ready for any number of questions about sets of words.

    `features` marks the positions that may be perturbed and explained; the others never move. The
    property is one number per rival class: margin = score of `label` minus score of the rival, and
    must stay above zero. `at_most` limits how many of the free words change at once; None: any
    number of them. `one_hot` is there where this is another problem in one-hot coordinates: points
    are run as what they decode to there. `unreduced` is there where `network` lacks dominated
    units: what counts as run is run through that.
    """

    network: Network
    region: Region
    label: int
    features: Bools
    at_most: int | None = None
    one_hot: OneHotCoordinates | None = None
    unreduced: Network | None = None
    settings: Settings = DEFAULT

    @property
    def full_network(self) -> Network:
        """The classifier's network with all of its units."""
        return self.network if self.unreduced is None else self.unreduced

    @property
    def center(self) -> Floats:
        return self.region.center

    @property
    def max_changes(self) -> int:
        """How many words may change at once: all of them where nothing limits it."""
        return len(self.features) if self.at_most is None else self.at_most

    @cached_property
    def rivals(self) -> tuple[int, ...]:
        return tuple(j for j in range(self.network.outputs) if j != self.label)

    @cached_property
    def center_sums(self) -> Floats:
        """What the first step sums up (units,) for the text itself."""
        return np.asarray(self.network.steps[0].apply(self.center.reshape(1, -1))[0])

    def margins(self, points: Floats) -> Floats:
        """Margins (n, rivals) of points (n, length, dimension), by the plain forward pass."""
        work.count("forward_points", math.prod(points.shape[:-2]))
        scores = self.network.forward(points)
        return np.asarray(scores[..., self.label, None] - scores[..., self.rivals])


@dataclass(frozen=True, eq=False)
class OneHotCoordinates:
    """The original of a one-hot problem, which units of its first step are kept, and what options
    add there.

    `contributions` (units, length, options) is the first step's weight, word by word; `kept_units`
    are places among the original's units.
    """

    original: Problem
    kept_units: Ints
    contributions: Floats

    def decode(self, points: Floats) -> Floats:
        """The vectors (n, length, dimension) of one-hot points (n, length, options), each an option
        or none."""
        region = self.original.region
        assert isinstance(region, Choice)
        chosen = region.points[np.arange(len(region.center)), points.argmax(-1)]
        return np.where(points.any(-1, keepdims=True), chosen, region.center)

    @cached_property
    def word_ranges(self) -> tuple[Floats, Floats]:
        """The least and the most that each word can add to each unit: two arrays (units,
        length)."""
        return self.contributions.min(-1), self.contributions.max(-1)


@dataclass(frozen=True, eq=False)
class Witness:
    """A perturbed input that was run through the network and does not keep the label.

    `positions` are the words it changes, `rival` the class that wins, `shares` the mixture of
    corners where the set is a hull and the point is not a corner. For people: `label` is the
    winner's name and `words` what the changed words became (an empty one was removed), real words
    where the set is one of words (`real`), else only the nearest ones. `text` is the text with
    these words, if the classifier was run on it and it does not keep the label; a black box has no
    points, only that text. `blanked` says that empty words are gaps, not gone: with the others
    moved up the text is another one, and what was run has a mark in each gap.
    """

    point: Floats
    positions: tuple[int, ...]
    rival: int
    margin: float
    shares: Floats | None = None
    label: str = ""
    words: tuple[str, ...] = ()
    real: bool = False
    text: str | None = None
    blanked: bool = False

    def __str__(self) -> str:
        verb = "becomes" if self.real else "moves towards"
        without_word = "is blanked" if self.blanked else "is removed"
        pairs = zip(self.positions, self.words, strict=True)
        changes = ", ".join(
            f"word {i} {f'{verb} {word!r}' if word else without_word}" for i, word in pairs
        )
        return f"{self.reached} when {changes or 'nothing changes'} (margin {self.margin:.3g})"

    def __repr__(self) -> str:
        count = len(self.positions)
        changed = f"{count} word{'s' * (count != 1)} changed"
        return f"<Witness {self.label or self.rival}: {changed}, margin {self.margin:.3g}>"

    @property
    def reached(self) -> str:
        """What the change leads to: the winner, or a tie with it."""
        winner = self.label or str(self.rival)
        return winner if self.margin < 0 else f"a tie with {winner}"

    @property
    def shown(self) -> str:
        """The change as people see it: the text that it makes, else what becomes of the words or
        how many they are.
        """
        if self.real and self.text is not None:
            return f"“{self.text}” → {self.reached}"
        count = len(self.positions)
        return (
            str(self)
            if count <= MAX_WORDS_NAMED
            else f"{self.reached} when {count} words change (margin {self.margin:.3g})"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "margin": self.margin,
            "positions": list(self.positions),
            "words": list(self.words),
            "real_words": self.real,
            "text": self.text,
            "blanked": self.blanked,
            "rival": self.rival,
            "shares": None if self.shares is None else self.shares.tolist(),
            "point": self.point.tolist(),
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Witness:
        shares = data["shares"]
        return Witness(
            point=np.array(data["point"], dtype=np.float64),
            positions=tuple(data["positions"]),
            rival=data["rival"],
            margin=data["margin"],
            shares=None if shares is None else np.array(shares, dtype=np.float64),
            label=data["label"],
            words=tuple(data["words"]),
            real=data["real_words"],
            text=data.get("text"),
            blanked=data.get("blanked", False),
        )


def winner(scores: Sequence[float] | Floats, label: int, rival: int | None = None) -> int:
    """Which other label is ahead of all others: the rival, where none is ahead of it."""
    others = (j for j in range(len(scores)) if j != label)
    return max(others, key=lambda j: (scores[j], j == rival))


class _JsonVerdict:
    """A verdict as plain data and as JSON."""

    def to_dict(self) -> dict[str, Any]:
        raise NotImplementedError

    def to_json(self, indent: int | None = 2) -> str:
        """`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)


@dataclass(frozen=True, eq=False)
class Proved(_JsonVerdict):
    """No allowed change of the free words changes the label.

    `evidence`, one proof tree per rival, is what the certificate is made of; a solver's mere word
    has none. `proved` is what the independent checker accepted of it, in words.
    """

    evidence: tuple[Tree, ...] | None = None
    by: str = "bounds"
    certificate: Certificate | None = None
    proved: tuple[str, ...] = ()
    # as an answer: its seconds, and what was done for it (`suffice.work`)
    stats: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        if not self.proved:
            return f"These words suffice (by {self.by}, not checked)."
        return f"Proved: {self.proved[-1]}."

    def __repr__(self) -> str:
        return f"<Proved by {self.by}{'' if self.certificate is None else ', with a certificate'}>"

    def to_dict(self) -> dict[str, Any]:
        return _verdict_data(
            "proved",
            self.by,
            certificate=self.certificate,
            proved=self.proved,
            stats=self.stats,
        )


@dataclass(frozen=True, eq=False)
class Refuted(_JsonVerdict):
    """`witness` changes only free words, and the label."""

    witness: Witness
    by: str = "bounds"
    certificate: Certificate | None = None
    proved: tuple[str, ...] = ()
    # as an answer: its seconds, and what was done for it (`suffice.work`)
    stats: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        if not self.witness.positions:
            return f"No words suffice: the text as it stands is {self.witness.reached}."
        statement = self.proved[-1] if self.proved else "these words do not suffice"
        return f"Refuted: {statement}. For example: {self.witness.shown}."

    def __repr__(self) -> str:
        return f"<Refuted by {self.by}: {self.witness!r}>"

    def to_dict(self) -> dict[str, Any]:
        return _verdict_data(
            "refuted",
            self.by,
            self.witness,
            certificate=self.certificate,
            proved=self.proved,
            stats=self.stats,
        )


@dataclass(frozen=True)
class Unknown(_JsonVerdict):
    """Neither proved nor refuted, and why."""

    reason: str
    by: str = "bounds"
    stats: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not self.reason:
            raise ValueError("A verdict is unknown for a reason: say which.")

    def __bool__(self) -> bool:
        raise TypeError(
            f"An Unknown verdict is neither true nor false ({self.reason}): "
            "look at the three cases Proved, Refuted and Unknown, with isinstance or match."
        )

    def __str__(self) -> str:
        return f"Undecided: {self.reason}."

    def to_dict(self) -> dict[str, Any]:
        return _verdict_data("unknown", self.by, reason=self.reason, stats=self.stats)


def _verdict_data(
    status: str,
    by: str,
    witness: Witness | None = None,
    reason: str = "",
    certificate: Certificate | None = None,
    proved: Sequence[str] = (),
    stats: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A verdict as plain data: the same keys for all three."""
    return {
        "format": 1,
        "status": status,
        "by": by,
        "reason": reason,
        "witness": None if witness is None else witness.to_dict(),
        "proved": list(proved),
        "certificate": None if certificate is None else certificate.summary(),
        "stats": dict(stats or {}),
    }


Verdict: TypeAlias = Proved | Refuted | Unknown


class OutOfTime(Exception):
    """Raised in the middle of a piece of work when the budget is spent; whoever asked for the work
    catches it.
    """


@dataclass(frozen=True)
class Budget:
    """How much may be spent: seconds from now on, and subproblems per question.

    With `give_up_early`, a question is given up as soon as its bounds do not promise an answer
    within its subproblems; in any case once more than `max_open` of them are open at the same time.
    With `late_planes`, upper planes of relus come later.
    """

    seconds: float = 60.0
    subproblems: int = 200_000
    # looked up now: a benchmark has another clock
    started: float = field(default_factory=lambda: time.monotonic())
    give_up_early: bool = False
    max_open: float = math.inf
    late_planes: bool = False

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started

    @property
    def seconds_left(self) -> float:
        return self.seconds - self.elapsed

    @property
    def exhausted(self) -> bool:
        return self.seconds_left <= 0

    def check_time(self) -> None:
        """Raise OutOfTime once no second is left: called between pieces of work of a fraction of a
        second."""
        if self.exhausted:
            raise OutOfTime


class Oracle(Protocol):
    """Built once for a Problem and asked many times; a question is a mask of the free positions."""

    name: str

    def ask(self, free: Bools, budget: Budget) -> Sequence[Verdict]:
        """One verdict for each row of `free` (n, length)."""

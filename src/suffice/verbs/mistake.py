"""Mistake: why a text got the wrong label, and the cheapest change that would put it right, as data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from suffice.model.text import Word
from suffice.prove.verdict import Witness


@dataclass(frozen=True, slots=True)
class Push:
    """A word that forces the label, and how: `effect` is what its deletion takes from the label's lead over the
    expected label. Above zero, the word pushes towards the label; below, against it."""

    word: Word
    effect: float

    @property
    def towards(self) -> bool:
        return self.effect > 0


@dataclass(frozen=True, eq=False)
class Mistake:
    """The expected label, the words that force the wrong one, and the cheapest change towards the expected label.

    status, cost, lower_bound and flip are those of the contrast: "optimal" (nothing cheaper does), "found", "none"
    (proved: no allowed change lets the expected label reach the wrong one) or "unknown". `winner` is the label that the
    changed text has: with more than two labels it need not be the expected one, which only beats the wrong one.
    """

    label: str
    expected: str
    pushes: tuple[Push, ...]
    status: str
    cost: float
    lower_bound: float
    flip: Witness | None
    changed_text: str
    winner: str

    def __str__(self) -> str:
        towards = ", ".join(push.word.text for push in self.pushes if push.towards) or "none"
        against = ", ".join(push.word.text for push in self.pushes if not push.towards)
        rest = f"; {against} not" if against else ""
        return f"Of these words, pushing towards {self.label!r}: {towards}{rest}. {self._change()}"

    def _change(self) -> str:
        match self.status:
            case "none":
                return f"No allowed change of any words brings it to {self.expected!r} (proved)."
            case "unknown":
                return f"Whether an allowed change brings it to {self.expected!r} is undecided."
        assert self.flip is not None
        best = "the cheapest change (proved)" if self.status == "optimal" else "a change"
        other = "" if self.winner == self.expected else f", though {self.winner!r} then beats both"
        how = "" if self.flip.real else " (each changed word stands for a vector near it)"
        return f"To bring it to {self.expected!r}, {best} is: {self.changed_text}{how}{other}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "expected": self.expected,
            "pushes": [{**asdict(push.word), "effect": push.effect, "towards": push.towards} for push in self.pushes],
            "status": self.status,
            "cost": self.cost if math.isfinite(self.cost) else None,
            "lower_bound": self.lower_bound if math.isfinite(self.lower_bound) else None,
            "flip": None if self.flip is None else self.flip.to_dict(),
            "changed_text": self.changed_text,
            "winner": self.winner,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Mistake:
        keys = ("position", "text", "start", "end")
        return Mistake(
            label=data["label"],
            expected=data["expected"],
            pushes=tuple(Push(Word(*(push[key] for key in keys)), push["effect"]) for push in data["pushes"]),
            status=data["status"],
            cost=math.inf if data["cost"] is None else data["cost"],
            lower_bound=math.inf if data["lower_bound"] is None else data["lower_bound"],
            flip=None if data["flip"] is None else Witness.from_dict(data["flip"]),
            changed_text=data["changed_text"],
            winner=data["winner"],
        )

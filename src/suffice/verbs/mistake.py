"""Mistake: why a text got the wrong label, and the cheapest change that would put it right, as
data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from suffice.model.text import Word
from suffice.verbs.wording import joined, quoted
from suffice.verify.contract import Witness


@dataclass(frozen=True, slots=True)
class Push:
    """A word that forces the label, and how: `effect` is what its deletion takes from the label's
    lead over the expected label. Above zero, the word pushes towards the label; below, against it.

    `name` is the word in quotes, with its position where the same word stands elsewhere too.
    """

    word: Word
    effect: float
    name: str

    @property
    def towards(self) -> bool:
        return self.effect > 0


@dataclass(frozen=True, eq=False)
class Mistake:
    """The expected label, the words that force the wrong one, and the cheapest change towards the
    expected label.

    status, cost, lower_bound and flip are those of the contrast: "optimal" (nothing cheaper does),
    "found", "none" (no allowed change lets the expected label reach the wrong one) or "unknown".
    `winner` is the label that the change gives: with more than two labels it need not be the
    expected one, which only beats the wrong one. `changed_text` is the changed text where the
    classifier was run on it and does not keep the label; else None.
    """

    label: str
    expected: str
    pushes: tuple[Push, ...]
    status: str
    cost: float
    lower_bound: float
    flip: Witness | None
    changed_text: str | None
    winner: str
    authority: str = "according to the search, not checked"
    change: str = ""  # word by word
    reason: str = ""  # why it is open whether the label can be reached, or more cheaply

    def __post_init__(self) -> None:
        if self.status == "unknown" and not self.reason:
            raise ValueError(
                "Whether a mistake can be put right is unknown for a reason: say which."
            )

    def __repr__(self) -> str:
        return (
            f"<Mistake {self.status}: {self.label[:40]!r} for {self.expected[:40]!r}, "
            f"{len(self.pushes)} words>"
        )

    def __str__(self) -> str:
        if not self.pushes:  # no words, or no texts left to ask about them
            return self._change()
        towards = joined(push.name for push in self.pushes if push.towards) or "none"
        against = joined(push.name for push in self.pushes if not push.towards)
        rest = f"; {against} not" if against else ""
        return f"Of these words, pushing towards {self.label!r}: {towards}{rest}. {self._change()}"

    def _change(self) -> str:
        match self.status:
            case "none":
                return (
                    f"No allowed change of any words brings it to {self.expected!r} "
                    f"({self.authority})."
                )
            case "unknown":
                return (
                    f"Whether an allowed change brings it to {self.expected!r} is undecided "
                    f"({self.reason})."
                )
        assert self.flip is not None
        best = f"the cheapest change ({self.authority})" if self.status == "optimal" else "a change"
        how = (
            ", by the nearest real words as an illustration"
            if self.changed_text and not self.flip.real
            else ""
        )
        change = f"“{self.changed_text}”" if self.changed_text else self.change
        aim, rest = self._aim(self.flip)
        return f"To {aim}, {best} is{how}: {change}{rest}."

    def _aim(self, flip: Witness) -> tuple[str, str]:
        """What the change does for the expected label, and who else is ahead then."""
        reach = f"let {self.expected!r} reach {self.label!r}"
        if self.winner != self.expected:
            return reach, f", though {self.winner!r} then beats both"
        return (
            (reach, ", a tie then") if flip.margin >= 0 else (f"bring it to {self.expected!r}", "")
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "expected": self.expected,
            "pushes": [_push_to_dict(push) for push in self.pushes],
            "status": self.status,
            "cost": self.cost if math.isfinite(self.cost) else None,
            "lower_bound": self.lower_bound if math.isfinite(self.lower_bound) else None,
            "flip": None if self.flip is None else self.flip.to_dict(),
            "changed_text": self.changed_text,
            "winner": self.winner,
            "authority": self.authority,
            "change": self.change,
            "reason": self.reason,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Mistake:
        return Mistake(
            label=data["label"],
            expected=data["expected"],
            pushes=tuple(map(_push_from_dict, data["pushes"])),
            status=data["status"],
            cost=math.inf if data["cost"] is None else data["cost"],
            lower_bound=math.inf if data["lower_bound"] is None else data["lower_bound"],
            flip=None if data["flip"] is None else Witness.from_dict(data["flip"]),
            changed_text=data["changed_text"],
            winner=data["winner"],
            authority=data["authority"],
            change=data["change"],
            reason=data.get("reason")
            or ("the file does not say why" if data["status"] == "unknown" else ""),
        )


def _push_to_dict(push: Push) -> dict[str, Any]:
    return {**asdict(push.word), "effect": push.effect, "towards": push.towards, "name": push.name}


def _push_from_dict(data: Mapping[str, Any]) -> Push:
    word = Word(*(data[key] for key in ("position", "text", "start", "end")))
    # older files have no names
    return Push(word, data["effect"], data.get("name", quoted([word.text])))

"""What an answer says beside its words: each word's options and flips, equally cheap sets, tests,
the next question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from suffice.model.text import Word
from suffice.sets.perturbations import Perturbation
from suffice.verbs.wording import listed


@dataclass(frozen=True, slots=True)
class Change:
    """A change that flips the label, for people: which positions become (or move towards) which
    words.

    An empty word was removed, or `blanked`: then its place stays, and the others do not move up.
    `text` is the text so changed, where the classifier was run on that very text and does not keep
    the label.
    """

    label: str
    margin: float
    positions: tuple[int, ...]
    words: tuple[str, ...]
    real: bool
    text: str | None = None
    blanked: bool = False


@dataclass(frozen=True, slots=True)
class Alone:
    """How far one word, changed alone, moves the margin: the label's score minus that of its
    strongest rival.

    `lowest` is what the margin can fall to: exact where each of `options` changes was run, else (0)
    a sound bound below which it does not fall. `highest` is None where only the bound is known.
    """

    margin: float
    lowest: float
    highest: float | None
    options: int

    @property
    def fall(self) -> float:
        return self.margin - self.lowest

    @property
    def rise(self) -> float | None:
        return None if self.highest is None else self.highest - self.margin

    @property
    def exact(self) -> bool:
        return self.options > 0


@dataclass(frozen=True, slots=True)
class Detail:
    """One word: what it may become (the nearest options, and how many more), and why it is in the
    set.

    `flip` is there for words of the explanation: with this word free as well, that change flips the
    label. None where no attack found one (it was not looked for further) or where the word is free.
    `needed` says that every explanation holds the word: changing it (and what was excluded) alone
    flips the label. `swapped` says that only what the word could become speaks against leaving it
    out: if it could only go, the others would be enough (proved). `alone` says how far the word,
    changed alone, moves the margin; None where it may not change or that was not looked at.
    """

    position: int
    options: tuple[str, ...] = ()
    more: int = 0
    flip: Change | None = None
    needed: bool = False
    alone: Alone | None = None
    swapped: bool = False


@dataclass(frozen=True)
class Alternatives:
    """The sets that suffice and are exactly as cheap: at most so many as were looked for,
    `complete` if that is all.

    `in_all` are the words of all of them; where they are not all known, only those that every
    explanation must hold.
    """

    sets: tuple[tuple[int, ...], ...]
    complete: bool
    in_all: tuple[Word, ...]
    in_some: tuple[Word, ...]

    @property
    def count(self) -> int:
        return len(self.sets)

    def __repr__(self) -> str:
        return (
            f"<Alternatives: {'' if self.complete else 'at least '}{self.count} equally cheap sets>"
        )

    def __str__(self) -> str:
        return self.told(listed)

    def told(self, listed: Callable[[Sequence[Word]], str]) -> str:
        """In a sentence; `listed` names some words."""
        if self.count == 1 and self.complete:
            return "No other set is as cheap."
        if self.count == 1:
            return "Whether another set is as cheap is open."
        if not self.complete:
            fixed = f" Every one holds {listed(self.in_all)}." if self.in_all else ""
            return f"At least {self.count} sets are equally cheap; not all were looked for.{fixed}"
        fixed = f"{listed(self.in_all)} in all of them" if self.in_all else "no word in all of them"
        return f"{self.count} sets are equally cheap: {fixed}, {listed(self.in_some)} in some."

    def to_dict(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "complete": self.complete,
            "sets": [list(held) for held in self.sets],
            "in_all": [asdict(word) for word in self.in_all],
            "in_some": [asdict(word) for word in self.in_some],
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Alternatives:
        return Alternatives(
            tuple(tuple(held) for held in data["sets"]),
            data["complete"],
            tuple(Word(**word) for word in data["in_all"]),
            tuple(Word(**word) for word in data["in_some"]),
        )


@dataclass(frozen=True, eq=False)
class Further:
    """The next question to ask where an answer says little: what a quick look saw, and the set to
    ask about.
    """

    seen: str
    perturbation: Perturbation

    def __str__(self) -> str:
        return self.seen

    def to_dict(self) -> dict[str, Any]:
        return {"seen": self.seen, "perturbation": self.perturbation.to_dict()}


@dataclass(frozen=True, slots=True)
class Tested:
    """What was drawn, where not every allowed text of a black box could be run.

    None of `count` texts drawn uniformly from the allowed ones flips the label: with the
    `confidence`, at least the `share` of all allowed texts keep it. All changes of up to `up_to`
    words were run, which is proof for those.
    """

    count: int
    confidence: float
    share: float
    up_to: int = 0

"""Explanation: the answer as data, with its text, label, cost and bound; JSON in and out."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from suffice.model.text import Text, Word
from suffice.proof.certificate import Certificate
from suffice.prove.verdict import Witness
from suffice.verbs.mistake import Mistake

Status: TypeAlias = Literal["optimal", "sufficient", "tested", "infeasible", "unknown"]
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Change:
    """A change that flips the label, for people: which positions become (or move towards) which words."""

    label: str
    margin: float
    positions: tuple[int, ...]
    words: tuple[str, ...]
    real: bool


@dataclass(frozen=True, slots=True)
class Detail:
    """One word: what it may become (the nearest options, and how many more), and why it is needed.

    `flip` is there for words of the explanation: with this word free as well, that change flips the label. None
    where no attack found one (it was not looked for further) or where the word is free.
    """

    position: int
    options: tuple[str, ...] = ()
    more: int = 0
    flip: Change | None = None


@dataclass(frozen=True, slots=True)
class Tested:
    """What was drawn, where not every allowed text of a black box could be run.

    None of `count` texts drawn uniformly from the allowed ones flips the label: with the `confidence`, at least the
    `share` of all allowed texts keep it. All changes of up to `up_to` words were run, which is proof for those.
    """

    count: int
    confidence: float
    share: float
    up_to: int = 0


@dataclass(frozen=True, eq=False)
class Explanation:
    """Which words suffice to decide the label, what was proved about them, and at what cost.

    status: "optimal" (sufficient, and nothing cheaper is), "sufficient" (proved robust, optimality open),
    "infeasible" (an exclude constraint cannot be met; `witness` shows why), "unknown" (nothing better than
    the whole text was proved). Of black boxes also, where a confidence is asked for, "tested": that the words hold was
    only tested (`tested` says how), while the lower bound is proved.
    """

    status: Status
    positions: tuple[int, ...]
    words: tuple[Word, ...]
    cost: float
    lower_bound: float
    label: str
    text: Text
    witness: Witness | None = None
    certificate: Certificate | None = None
    stats: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    mistake: Mistake | None = None  # with an expected label: who pushes towards the wrong one, and what puts it right
    look: Callable[[], tuple[Detail, ...]] | None = field(default=None, repr=False)
    tested: Tested | None = None

    @cached_property
    def details(self) -> tuple[Detail, ...]:
        """What is known about each word, looked up when first asked for; empty after a trip through JSON."""
        return () if self.look is None else self.look()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "look": None}

    def __str__(self) -> str:
        return sentence(self)

    def __repr__(self) -> str:
        return f"<Explanation {self.status}: {self.label} because of {[w.text for w in self.words]}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the certificate is named by its digest, its evidence is in its own file."""
        return {
            "format": FORMAT,
            "status": self.status,
            "label": self.label,
            "positions": list(self.positions),
            "words": [asdict(word) for word in self.words],
            "cost": _finite(self.cost),
            "lower_bound": _finite(self.lower_bound),
            "text": _text_to_dict(self.text),
            "witness": None if self.witness is None else self.witness.to_dict(),
            "certificate": None if self.certificate is None else self.certificate.summary(),
            "mistake": None if self.mistake is None else self.mistake.to_dict(),
            "tested": None if self.tested is None else asdict(self.tested),
            "stats": dict(self.stats),
            "meta": dict(self.meta),
        }

    def to_json(self, indent: int | None = 2) -> str:
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    @staticmethod
    def from_json(source: str) -> Explanation:
        """The explanation that `to_json` wrote, without the certificate's evidence."""
        data = json.loads(source)
        return Explanation(
            status=data["status"],
            positions=tuple(data["positions"]),
            words=tuple(Word(**word) for word in data["words"]),
            cost=math.inf if data["cost"] is None else data["cost"],
            lower_bound=math.inf if data["lower_bound"] is None else data["lower_bound"],
            label=data["label"],
            text=_text_from_dict(data["text"]),
            witness=None if data["witness"] is None else Witness.from_dict(data["witness"]),
            stats=data["stats"],
            meta=data["meta"],
            mistake=None if data.get("mistake") is None else Mistake.from_dict(data["mistake"]),
            tested=None if data.get("tested") is None else Tested(**data["tested"]),
        )

    def to_html(self) -> str:
        """A self-contained page."""
        from suffice.render.html import page

        return page(self)

    def save_html(self, path: str | Path) -> None:
        Path(path).write_text(self.to_html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        from suffice.render.html import fragment

        return fragment(self)


def sentence(result: Explanation) -> str:
    """The answer in one sentence that a non-expert understands."""
    total = len(result.text.words)
    names = ", ".join(word.text for word in result.words)
    kept = f"the label {result.label!r}"
    proved = "proved: every allowed text was run" if "asked" in result.meta else "proved"
    match result.status:
        case "optimal" if not result.positions:
            return f"No word is needed: {kept} stays whatever the allowed changes ({proved})."
        case "optimal":
            count = f"{len(result.positions)} of {total} words suffice"
            return f"{count} for {kept}, and no cheaper set does ({proved}): {names}."
        case "sufficient":
            gap = f"costs {result.cost:g}; no set below {result.lower_bound:g} can do"
            return f"{len(result.positions)} of {total} words suffice for {kept} ({proved}; {gap}): {names}."
        case "tested":
            return f"{ladder(result)} The words: {names or 'none'}."
        case "infeasible":
            flip = f"changing only them gives {_flipped(result)} instead of {result.label!r}"
            return f"No set without the excluded words suffices: {flip}."
        case "unknown":
            return f"Undecided within the limit: nothing better than the whole text was proved for {kept}."


def ladder(result: Explanation) -> str:
    """What is proved and what is only tested of a set of words, step by step."""
    tested = result.tested
    assert tested is not None
    upper = f"every change of up to {tested.up_to} of the other words (proved) and against " if tested.up_to else ""
    share = math.floor(tested.share * 1000) / 10
    how = f"tested on {tested.count} drawn at random, confidence {tested.confidence:g}"
    return (
        f"No set that costs less than {result.lower_bound:g} suffices (proved). {len(result.positions)} of "
        f"{len(result.text.words)} words, cost {result.cost:g}, hold the label {result.label!r} against {upper}"
        f"at least {share:g} % of all allowed changes ({how})."
    )


def _finite(value: float) -> float | None:
    """JSON has no infinity: the cost of what does not exist is null."""
    return value if math.isfinite(value) else None


def _flipped(result: Explanation) -> str:
    return repr(result.witness.label) if result.witness is not None else "another label"


def _text_to_dict(text: Text) -> dict[str, Any]:
    return {
        "source": text.source,
        "tokens": list(text.tokens),
        "indices": list(text.indices),
        "words": [asdict(word) for word in text.words],
        "unknown": list(text.unknown),
        "cut": list(text.cut),
    }


def _text_from_dict(data: Mapping[str, Any]) -> Text:
    def ints(values: Sequence[int]) -> tuple[int, ...]:
        return tuple(int(v) for v in values)

    return Text(
        source=data["source"],
        tokens=tuple(data["tokens"]),
        indices=ints(data["indices"]),
        words=tuple(Word(**word) for word in data["words"]),
        unknown=ints(data["unknown"]),
        cut=tuple(data["cut"]),
    )

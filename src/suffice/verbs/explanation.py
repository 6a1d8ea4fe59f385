"""Explanation: the answer as data, with its text, label, cost and bound; JSON in and out."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from suffice.errors import InputError
from suffice.model.numbers import exactly
from suffice.model.text import Text, Word
from suffice.proof.certificate import Certificate
from suffice.verbs.answer import Answer
from suffice.verbs.details import Alternatives, Detail, Further, Tested
from suffice.verbs.mistake import Mistake
from suffice.verbs.wording import (
    authority,
    change_of,
    deed_of,
    empty,
    fitting,
    limited,
    placed,
    relied,
    short,
)
from suffice.verify.contract import Witness

Status: TypeAlias = Literal["optimal", "sufficient", "tested", "infeasible", "unknown"]
FORMAT = 1
# what meta says beyond the question itself
ANSWERED = {
    "versions",
    "settings",
    "words",
    "checked",
    "proved",
    "rejected",
    "unchecked",
    "reason",
    "nothing",
    "unknown_substitutes",
    "blanks",
}
ANSWERED |= {"asked", "candidate", "computed", "not_computed"}  # of black boxes


@dataclass(frozen=True, eq=False)
class Explanation(Answer):
    """Which words suffice to decide the label, what was proved about them, and at what cost.

    status: "optimal" (sufficient, and nothing cheaper is), "sufficient" (robust, optimality open),
    "infeasible" (an exclude constraint cannot be met; `witness` shows why), "unknown" (nothing
    better than the whole text was shown; `reason` says why). Of black boxes also, where a
    confidence is asked for, "tested": that the words hold was only tested (`tested` says how),
    while the lower bound is proved. `proved` is what the independent checker accepted, in words;
    empty where it did not.
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
    # with an expected label: who pushes towards the wrong one, and what puts it right
    mistake: Mistake | None = None
    proved: tuple[str, ...] = ()
    look: Callable[[], tuple[Detail, ...]] | None = field(default=None, repr=False)
    count: Callable[[], Alternatives] | None = field(default=None, repr=False)
    ahead: Callable[[], Further | None] | None = field(default=None, repr=False)
    tested: Tested | None = None

    @cached_property
    def details(self) -> tuple[Detail, ...]:
        """What is known about each word, looked up when first asked for; empty after a trip through
        JSON.
        """
        return () if self.look is None else self.look()

    @cached_property
    def alternatives(self) -> Alternatives | None:
        """The equally cheap sets, looked for when first asked for; None where no cheapest set is
        known.
        """
        return None if self.count is None else self.count()

    @cached_property
    def further(self) -> Further | None:
        """Where the answer is empty or the whole text: the next question to ask, by a
        quick look.
        """
        return None if self.ahead is None else self.ahead()

    @property
    def reason(self) -> str:
        """Why the search ended before the answer was proved, or why that was not accepted; empty
        where neither is.
        """
        return str(self.meta.get("reason", ""))

    @property
    def tied(self) -> str | None:
        """The label that does as well as this one while nothing changes, so that no set is enough;
        None without one.
        """
        found = self.witness
        return found.label if found is not None and not found.positions else None

    @property
    def question(self) -> dict[str, Any]:
        """What was asked, as `Question.to_dict` writes it: `suffice explain --question FILE` asks
        it again.
        """
        text = self.meta.get("words", self.text.source)
        return {
            "format": FORMAT,
            "text": text,
            **{key: self.meta[key] for key in self.meta if key not in ANSWERED},
        }

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "look": None, "count": None, "ahead": None}

    def sentence(self) -> str:
        return sentence(self)

    def __repr__(self) -> str:
        return f"<Explanation {self.status}: {self.label[:60]!r} by {short(self.words)}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the certificate is named by its digest, its evidence is in its own file.

        `alternatives`, `why` (of each word of the set, the change that flips the label) and
        `further` are there once they have been looked at.
        """
        known, details, ahead = (
            self.__dict__.get(name) for name in ("alternatives", "details", "further")
        )
        return {
            "format": FORMAT,
            "status": self.status,
            "label": self.label,
            "positions": list(self.positions),
            "words": [asdict(word) for word in self.words],
            "cost": _finite(self.cost),
            "lower_bound": _finite(self.lower_bound),
            "proved": list(self.proved),
            "text": _text_to_dict(self.text),
            "witness": None if self.witness is None else self.witness.to_dict(),
            "certificate": None if self.certificate is None else self.certificate.summary(),
            "alternatives": None if known is None else known.to_dict(),
            "why": None if details is None else _flips(details),
            "further": None if ahead is None else ahead.to_dict(),
            "mistake": None if self.mistake is None else self.mistake.to_dict(),
            "tested": None if self.tested is None else asdict(self.tested),
            "stats": dict(self.stats),
            "meta": dict(self.meta),
        }

    @staticmethod
    def from_json(source: str) -> Explanation:
        """The explanation that `to_json` wrote, without the certificate's evidence."""
        data = _read(source)
        known = data.get("alternatives")
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
            meta=_meta_from_dict(data),
            mistake=None if data.get("mistake") is None else Mistake.from_dict(data["mistake"]),
            proved=tuple(data.get("proved", ())),
            count=None if known is None else lambda: Alternatives.from_dict(known),
            tested=None if data.get("tested") is None else Tested(**data["tested"]),
        )

    def to_frame(self) -> Any:
        """A pandas table with a row for each word of the text: position, word, start, end, in_set,
        unknown.

        Label, status, cost, lower bound and what is proved are in its `attrs`. (extra: pandas)
        """
        from suffice.render.frames import frame

        return frame(self)

    def to_shap(self) -> dict[str, Any]:
        """Fields for `shap.Explanation(**fields)`: 1 for a word of the set, 0 for a free one.

        For SHAP's plots and tables only: the values say which words decide, they are no
        contributions to a score and do not add up to one, so there are no base values.
        """
        from suffice.render.frames import shap_of

        return shap_of(self)

    def to_html(self) -> str:
        """A self-contained page."""
        from suffice.render.html import page

        return page(self)

    def save_html(self, path: str | Path) -> None:
        Path(path).write_text(self.to_html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        from suffice.render.html import fragment

        return fragment(self)


def _meta_from_dict(data: Mapping[str, Any]) -> dict[str, Any]:
    """What the file says of its answer; older files may not say why it is unknown."""
    unsaid = data["status"] == "unknown" and not data["meta"].get("reason")
    return {**data["meta"], **({"reason": "the file does not say why"} if unsaid else {})}


def _read(source: str) -> dict[str, Any]:
    try:
        data = json.loads(source)
    except ValueError as error:
        raise InputError(f"This is not an explanation as `to_json` writes it: {error}.") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT or "status" not in data:
        raise InputError(f"This is not an explanation of format {FORMAT} as `to_json` writes it.")
    return data


def infeasible(
    label: str,
    text: Text,
    witness: Witness | None,
    certificate: Certificate | None,
    stats: dict[str, Any],
    meta: dict[str, Any],
) -> Explanation:
    """No set is enough: the witness changes excluded words only, or nothing at all."""
    return Explanation(
        status="infeasible",
        positions=(),
        words=(),
        cost=math.inf,
        lower_bound=math.inf,
        label=label,
        text=text,
        witness=witness,
        certificate=certificate,
        stats=stats,
        meta=meta,
    )


def sentence(result: Explanation) -> str:
    """The answer in one sentence that a non-expert understands."""
    if "nothing" in result.meta:
        return empty(result.meta["nothing"], result.label)
    kept = f"the label {result.label!r}"
    meta = result.meta
    suffice = f"{counted(result)} {sufficing(result)} for {kept}{at_once(result)}"
    enough = _said(meta, authority(meta, "enough"))
    least = _said(meta, least_by(result))
    match result.status:
        case "optimal" if not result.positions:
            return (
                f"No word is needed: {kept} stays whatever {change_of(meta, 'the words')} is made "
                f"({enough})."
            )
        case "optimal":
            first = "" if enough == least else f" ({enough})"
            best = f"and no cheaper set{fitting(result.text, meta)} does ({least})"
            return f"{suffice}{first}, {best}: {placed(result.text, result.words)}."
        case "sufficient":
            gap = f"costs {exactly(result.cost)}; {known_below(result)}"
            return f"{suffice} ({enough}; {gap}): {placed(result.text, result.words)}."
        case "tested":
            return f"{ladder(result)} The words: {placed(result.text, result.words) or 'none'}."
        case "infeasible" if result.tied is not None:
            return f"No set suffices: {kept} is a tie with {result.tied!r} as the text stands."
        case "infeasible":
            return (
                f"No set{fitting(result.text, meta)} suffices: changing only them {_flip(result)}."
            )
        case "unknown":
            return (
                f"Undecided ({result.reason}): nothing better than the whole text was shown for "
                f"{kept}."
            )


def known_below(result: Explanation) -> str:
    """What is known of cheaper sets; that none costs less than nothing needs no saying."""
    if result.lower_bound <= 0:
        return "nothing is known of cheaper sets"
    return f"no set{fitting(result.text, result.meta)} below {exactly(result.lower_bound)} can do"


def at_once(result: Explanation) -> str:
    """The limit on how many other words change at once."""
    padded = result.meta.get("padding") == "feature"
    every = len(result.text) if padded else len(result.text.words)
    return limited(result.meta, every - len(result.positions))


def sufficing(result: Explanation) -> str:
    return "suffices" if len(result.positions) == 1 else "suffice"


def counted(result: Explanation) -> str:
    """How many words the set holds, and how much padding where that counts as words."""
    words = len(result.words)
    padding = len(result.positions) - len(result.words)
    more = (
        f" and {padding} {'position' if padding == 1 else 'positions'} of padding"
        if padding
        else ""
    )
    return f"{words} of {len(result.text.words)} words{more}"


def _said(meta: Mapping[str, Any], by: str) -> str:
    """Of a black box, what the word proved means."""
    if by != "proved" or "asked" not in meta:
        return by
    return (
        "proved: the worst case was computed"
        if "computed" in meta
        else "proved: every allowed text was run"
    )


def least_by(result: Explanation) -> str:
    """Who says that nothing cheaper suffices; where only what was asked for is held, nothing can be
    cheaper.
    """
    nothing_added = list(result.positions) == list(result.meta.get("include", ()))
    return authority(result.meta, "enough" if nothing_added else "cheapest")


def ladder(result: Explanation) -> str:
    """What is proved and what is only tested of a set of words, step by step."""
    tested = result.tested
    assert tested is not None
    by = authority(result.meta, "enough") if relied(result.meta) else "proved"
    upper = (
        f"every change of up to {tested.up_to} of the other words ({by}) and against "
        if tested.up_to
        else ""
    )
    share = math.floor(tested.share * 1000) / 10
    how = f"tested on {tested.count} drawn at random, confidence {exactly(tested.confidence)}"
    lower = exactly(result.lower_bound)
    below = (
        f"No set that costs less than {lower} suffices ({by}). " if result.lower_bound > 0 else ""
    )
    return (
        f"{below}{counted(result)}, cost {exactly(result.cost)}, hold the label "
        f"{result.label!r} against {upper}"
        f"at least {share:g} % of all allowed changes ({how})."
    )


def _finite(value: float) -> float | None:
    """JSON has no infinity: the cost of what does not exist is null."""
    return value if math.isfinite(value) else None


def _flip(result: Explanation) -> str:
    """What changing the excluded words does, where no set suffices without them."""
    if result.witness is None:
        return "changes the label"
    return deed_of(result.label, result.witness.label, tie=result.witness.margin >= 0)


def _flips(details: Sequence[Detail]) -> list[dict[str, Any]]:
    return [
        {"position": one.position, **asdict(one.flip)} for one in details if one.flip is not None
    ]


def _text_to_dict(text: Text) -> dict[str, Any]:
    return {
        "source": text.source,
        "tokens": list(text.tokens),
        "indices": list(text.indices),
        "words": [asdict(word) for word in text.words],
        "unknown": list(text.unknown),
        "cut": list(text.cut),
        **({"shared": list(text.shared)} if text.shared else {}),
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
        shared=ints(data.get("shared", ())),
    )

"""Answers: what the auditor's verbs give back (bias, repair, profile, attribute), as data that prints as a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from suffice.model.text import Text, Word
from suffice.proof.certificate import Certificate
from suffice.prove.verdict import Proved, Refuted, Verdict, Witness
from suffice.verbs.explanation import Explanation

Independence: TypeAlias = Literal["independent", "dependent", "unknown"]
FORMAT = 1


# --- bias ---


@dataclass(frozen=True, eq=False)
class Bias:
    """Whether the label depends on protected words.

    status: "independent" (proved: no allowed change of the protected words changes the label), "dependent"
    (`witness` changes only protected words, and the label), "unknown" (`reason` says why). `trivial` says that there
    was nothing to prove: no protected word is in the text, or none of them may change.
    """

    status: Independence
    positions: tuple[int, ...]
    words: tuple[Word, ...]
    label: str
    text: Text
    witness: Witness | None = None
    certificate: Certificate | None = None
    reason: str = ""
    trivial: bool = False
    stats: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        names, kept = listed(self.words), f"the label {self.label!r}"
        match self.status:
            case "independent" if self.trivial:
                return f"Trivially independent: {self.reason}, so {kept} cannot depend on them."
            case "independent":
                return f"Independent: no allowed change of {names} changes {kept} (proved)."
            case "dependent":
                assert self.witness is not None
                changed = [i for i in self.witness.positions if i < len(self.text.words)]
                if not self.witness.positions:
                    return f"Dependent: {kept} is a tie with {self.witness.label!r} as the text stands."
                guilty = listed([self.text.words[i] for i in changed]) or "padding"
                return f"Dependent: changing only {guilty} turns {self.label!r} into {self.witness.label!r}."
            case "unknown":
                return f"Undecided whether {kept} depends on {names}: {self.reason}."

    def _repr_html_(self) -> str:
        from suffice.render.cells import bias

        return bias(self)

    def __repr__(self) -> str:
        return f"<Bias {self.status}: {self.label} on {[word.text for word in self.words]}>"

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "status": self.status,
            "label": self.label,
            "positions": list(self.positions),
            "words": [asdict(word) for word in self.words],
            "text": self.text.source,
            "trivial": self.trivial,
            "reason": self.reason,
            "witness": None if self.witness is None else self.witness.to_dict(),
            "changed_text": None if self.witness is None else rewritten(self.text, self.witness),
            "certificate": summary(self.certificate),
            "stats": dict(self.stats),
            "meta": dict(self.meta),
        }


# --- repair ---


@dataclass(frozen=True, eq=False)
class Repair:
    """Whether given words suffice, and the cheapest set that holds them and does.

    `verdict` is about the words as given (Proved, Refuted with a counterexample, Unknown), `explanation` is their
    cheapest robust extension, `added` the positions it adds. Status, positions, words, cost, label and certificate
    are those of the explanation.
    """

    given: tuple[int, ...]
    verdict: Verdict
    explanation: Explanation

    @property
    def status(self) -> str:
        return self.explanation.status

    @property
    def positions(self) -> tuple[int, ...]:
        return self.explanation.positions

    @property
    def words(self) -> tuple[Word, ...]:
        return self.explanation.words

    @property
    def cost(self) -> float:
        return self.explanation.cost

    @property
    def lower_bound(self) -> float:
        return self.explanation.lower_bound

    @property
    def label(self) -> str:
        return self.explanation.label

    @property
    def text(self) -> Text:
        return self.explanation.text

    @property
    def certificate(self) -> Certificate | None:
        return self.explanation.certificate

    @property
    def meta(self) -> Mapping[str, Any]:
        return self.explanation.meta

    @property
    def stats(self) -> Mapping[str, Any]:
        return self.explanation.stats

    @property
    def sufficed(self) -> bool | None:
        """Whether the given words suffice as they are; None where that is undecided."""
        return {Proved: True, Refuted: False}.get(type(self.verdict))

    @property
    def counterexample(self) -> Witness | None:
        return self.verdict.witness if isinstance(self.verdict, Refuted) else None

    @property
    def added(self) -> tuple[int, ...]:
        return tuple(i for i in self.positions if i not in self.given)

    def __str__(self) -> str:
        if self.sufficed:
            return f"The given words already suffice for the label {self.label!r} (proved)."
        return f"{self._doubt()} {self._extension()}"

    def _doubt(self) -> str:
        if self.counterexample is None:
            return "Whether the given words suffice is undecided."
        flipped = self.counterexample.label
        return f"The given words do not suffice: with all of them fixed the label can still become {flipped!r}."

    def _extension(self) -> str:
        names = listed([word for word in self.words if word.position in self.added])
        match self.status:
            case "optimal":
                return f"Adding {names or 'nothing'} is the cheapest way to make them suffice (proved)."
            case "sufficient":
                gap = f"cost {self.cost:g}, at least {self.lower_bound:g} is needed"
                return f"With {names or 'nothing'} added they suffice (proved; {gap})."
            case _:
                return "No extension short of the whole text was proved to suffice."

    def __repr__(self) -> str:
        return f"<Repair {self.status}: {len(self.given)} words given, {len(self.added)} added>"

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "given": list(self.given),
            "verdict": type(self.verdict).__name__.lower(),
            "counterexample": None if self.counterexample is None else self.counterexample.to_dict(),
            "verdict_certificate": summary(getattr(self.verdict, "certificate", None)),
            "added": list(self.added),
            "explanation": self.explanation.to_dict(),
        }


# --- profile ---


@dataclass(frozen=True)
class Growth:
    """From which step on a word matters.

    `enters`: the first step whose explanation holds the word. `needed`: the first step at which every explanation
    must hold it, because changing this word alone flips the label; from there on it stays needed.
    """

    word: Word
    enters: float | None
    needed: float | None


@dataclass(frozen=True, eq=False)
class Profile:
    """How the explanation grows with the size of the perturbation sets.

    One explanation per step. No word at all is needed up to `free_until` (proved), and some word is from
    `needed_from` on (a counterexample changes every word); None where the search for that radius found none.
    """

    parameter: str  # "k" or "eps"
    steps: tuple[float, ...]
    explanations: tuple[Explanation, ...]
    growth: tuple[Growth, ...]
    free_until: float | None
    needed_from: float | None
    stats: Mapping[str, Any] = field(default_factory=dict)

    @property
    def costs(self) -> tuple[float, ...]:
        return tuple(result.cost for result in self.explanations)

    @property
    def lower_bounds(self) -> tuple[float, ...]:
        return tuple(result.lower_bound for result in self.explanations)

    @property
    def text(self) -> Text:
        return self.explanations[0].text

    @property
    def label(self) -> str:
        return self.explanations[0].label

    def __str__(self) -> str:
        return f"{self._start()} {self._end()}"

    def _start(self) -> str:
        name = self.parameter
        free, needed = self.free_until, self.needed_from
        if needed is None:
            return f"No word is needed up to {name} = {free:g} (proved)." if free is not None else "Undecided."
        if free is None:
            return f"Some word is needed at {name} = {needed:g} already."
        return f"No word is needed up to {name} = {free:g} (proved); from {name} = {needed:g} on some word is."

    def _end(self) -> str:
        last, step = self.explanations[-1], self.steps[-1]
        where = f"At {self.parameter} = {step:g}"
        if last.status == "unknown":
            return f"{where} nothing better than the whole text was proved."
        proved = "proved" if last.status == "optimal" else f"proved; none below {last.lower_bound:g} does"
        if last.status == "infeasible":
            return f"{where}, no set without the excluded words suffices."
        count = f"{len(last.positions)} of {len(self.text.words)} words suffice"
        return f"{where}, {count} ({proved}): {listed(last.words) or 'none'}."

    def _repr_html_(self) -> str:
        from suffice.render.cells import profile

        return profile(self)

    def __repr__(self) -> str:
        costs = ", ".join(f"{step:g}: {cost:g}" for step, cost in zip(self.steps, self.costs, strict=True))
        return f"<Profile over {self.parameter}: {costs}>"

    def plot(self) -> Any:
        """A matplotlib figure of the cost and its lower bound over the steps (extra: plot)."""
        from suffice.render.plots import profile

        return profile(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "parameter": self.parameter,
            "steps": list(self.steps),
            "free_until": self.free_until,
            "needed_from": self.needed_from,
            "words": [{**asdict(item.word), "enters": item.enters, "needed": item.needed} for item in self.growth],
            "explanations": [result.to_dict() for result in self.explanations],
            "stats": dict(self.stats),
        }


# --- attribution ---


@dataclass(frozen=True)
class Share:
    """In how many of the explanations a word stands."""

    word: Word
    count: int
    share: float


@dataclass(frozen=True, eq=False)
class Attribution:
    """In which share of the explanations each word stands.

    `of` says of which: "optimal" (the cheapest) or "minimal" (no word can be left out). `necessary` are the words
    that every one of them holds, `some` those that only some hold. When `complete` is False there may be more than
    those found: shares are then of the ones found, and `necessary` lists only words proved to be in every explanation.
    """

    of: Literal["optimal", "minimal"]
    explanations: tuple[Explanation, ...]
    shares: tuple[Share, ...]
    necessary: tuple[Word, ...]
    complete: bool
    label: str
    text: Text
    reason: str = ""
    stats: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def some(self) -> tuple[Word, ...]:
        fixed = {word.position for word in self.necessary}
        return tuple(item.word for item in self.shares if item.count and item.word.position not in fixed)

    def __str__(self) -> str:
        total, kind = len(self.explanations), "optimal" if self.of == "optimal" else "subset-minimal"
        if not total:
            return f"No {kind} explanation was found: {self.reason}."
        counted = f"There is 1 {kind} explanation" if total == 1 else f"There are {total} {kind} explanations"
        if not self.complete:
            counted = f"At least {total} {kind} explanations exist ({self.reason})"
        return f"{counted}. In all of them: {listed(self.necessary) or 'no word'}; in some: {self._shared()}."

    def _shared(self) -> str:
        fixed = {word.position for word in self.necessary}
        some = [item for item in self.shares if item.count and item.word.position not in fixed]
        ranked = sorted(some, key=lambda item: (-item.count, item.word.position))
        return ", ".join(f"{item.word.text} ({item.share:.0%})" for item in ranked) or "no word"

    def _repr_html_(self) -> str:
        from suffice.render.cells import attribution

        return attribution(self)

    def __repr__(self) -> str:
        return f"<Attribution over {len(self.explanations)} {self.of} explanations>"

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "of": self.of,
            "complete": self.complete,
            "reason": self.reason,
            "label": self.label,
            "text": self.text.source,
            "words": [{**asdict(item.word), "count": item.count, "share": item.share} for item in self.shares],
            "necessary": [word.position for word in self.necessary],
            "explanations": [list(result.positions) for result in self.explanations],
            "stats": dict(self.stats),
            "meta": dict(self.meta),
        }


# --- shared ---


def listed(words: Sequence[Word]) -> str:
    return ", ".join(word.text for word in words)


def summary(certificate: Certificate | None) -> dict[str, Any] | None:
    return None if certificate is None else certificate.summary()


def rewritten(text: Text, witness: Witness) -> str:
    """The text with the words that the witness changes replaced by what they became (or by the nearest real word)."""
    new, pieces, last = dict(zip(witness.positions, witness.words, strict=True)), [], 0
    for word in text.words:
        pieces += [text.source[last : word.start], new.get(word.position, text.source[word.start : word.end])]
        last = word.end
    return "".join([*pieces, text.source[last:]])

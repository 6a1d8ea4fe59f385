"""Bias: does the label depend on protected words?"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from suffice import work
from suffice.errors import InputError, NotACertificate, Rejected
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.network import Bools
from suffice.model.text import Text, Word
from suffice.optimise import certificate_lines
from suffice.optimise.published.hs import sparse_attack
from suffice.proof.certificate import Certificate
from suffice.sets.perturbations import Perturbation, for_audits
from suffice.sets.substitutes import group, groups, like_group
from suffice.settings import DEFAULT, Settings
from suffice.verbs.accepting import accepted
from suffice.verbs.answer import Answer
from suffice.verbs.answering import FORMAT, summary
from suffice.verbs.black_box import sufficiency
from suffice.verbs.engines import answering
from suffice.verbs.question import Given, Padding, Question, check_listed
from suffice.verbs.scarce import unknown_substitutes, why_only_unknown
from suffice.verbs.typed import typed_verdict
from suffice.verbs.wording import (
    SHOWN,
    authority,
    becoming,
    change_of,
    complaint,
    deed_of,
    empty,
    named,
    placed,
    short,
)
from suffice.verify.contract import Proved, Refuted, Unknown, Verdict, Witness
from suffice.verify.nets.attack import Attacker
from suffice.verify.solvers import make_oracle

Independence: TypeAlias = Literal["independent", "dependent", "unknown"]
Protected: TypeAlias = Sequence[str | int] | Callable[[str], bool] | str


@dataclass(frozen=True, eq=False)
class Bias(Answer):
    """Whether the label depends on protected words.

    status: "independent" (no allowed change of the protected words changes the label), "dependent"
    (`witness` changes only protected words, and the label), "unknown" (`reason` says why).
    `options` says what each protected word could become, by its position (not where words move as
    vectors); those of `untested` could become nothing, and nothing is known of them. `trivial` says
    that there was nothing to prove: no protected word is in the text (then the label is independent
    of them), or all are untested (then it is unknown whether it is). A label that is a tie with
    another (`tied`) while nothing changes is unknown, too.
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
    options: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    untested: tuple[Word, ...] = ()
    stats: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    proved: tuple[str, ...] = ()  # what the checker accepted, in words

    def sentence(self) -> str:
        return " ".join(filter(None, (self._verdict(), *self._could(), self._left_out())))

    def _verdict(self) -> str:
        names = placed(self.text, self.words)
        kept = f"the label {self.label!r}"
        match self.status:
            case "independent" if self.tied is not None:
                return f"Nothing to prove: {self.reason}, and {self._tie}."
            case "independent" if self.trivial:
                return empty(self.reason, self.label)
            case "independent":
                change = change_of(self.meta, named(self.text, self.tested), len(self.tested))
                return (
                    f"Independent: no {change} changes {kept} ({authority(self.meta, 'enough')})."
                )
            case "dependent":
                assert self.witness is not None
                guilty = (
                    named(
                        self.text, [i for i in self.witness.positions if i < len(self.text.words)]
                    )
                    or "padding"
                )
                deed = deed_of(self.label, self.witness.label, tie=self.witness.margin >= 0)
                return f"Dependent: changing only {guilty} {deed}."
            case "unknown" if self.trivial:
                return f"Nothing was tested: {self._idle}."
            case "unknown" if self.tied is not None:
                return f"Undecided: {self._tie}."
            case "unknown":
                return f"Undecided whether {kept} depends on {names}: {self.reason}."

    @property
    def tested(self) -> tuple[int, ...]:
        """The positions of what could become something."""
        left = {word.position for word in self.untested}
        return tuple(position for position in self.positions if position not in left)

    def _could(self) -> Iterator[str]:
        """What each protected word could become, words of which the same is to be said together."""
        alike: dict[tuple[str, ...], list[int]] = {}
        for position, others in self.options.items():
            alike.setdefault(others, []).append(position)
        said = [
            f"{named(self.text, places)} could {becoming(others)}"
            for others, places in alike.items()
            if others
        ]
        if said:
            more = (
                f"; {len(said) - SHOWN} more words have options of their own"
                if len(said) > SHOWN
                else ""
            )
            yield f"{'; '.join(said[:SHOWN])}{more}."

    def _left_out(self) -> str:
        """Which protected words were not tested."""
        if not self.untested or (self.trivial and not self.tested):
            return ""
        was = "was" if len(self.untested) == 1 else "were"
        return (
            f"{placed(self.text, self.untested)} could become nothing (no counterpart), and {was} "
            "not tested."
        )

    @property
    def _idle(self) -> str:
        """Why nothing was tested, with the words that could become nothing."""
        if len(self.untested) < len(self.positions):
            return self.reason
        return f"{placed(self.text, self.untested)} could become nothing (no counterpart)"

    @property
    def tied(self) -> str | None:
        """The label that does as well as this one while nothing changes; None without one."""
        return (
            self.witness.label if self.witness is not None and not self.witness.positions else None
        )

    @property
    def _tie(self) -> str:
        return f"the label {self.label!r} is a tie with {self.tied!r} as the text stands"

    def to_html(self) -> str:
        """A self-contained page."""
        from suffice.render.reports import bias

        return bias(self)

    def save_html(self, path: str | Path) -> None:
        Path(path).write_text(self.to_html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        from suffice.render.cells import bias

        return bias(self)

    def __repr__(self) -> str:
        return f"<Bias {self.status}: {self.label[:60]!r} on {short(self.words)}>"

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "status": self.status,
            "label": self.label,
            "positions": list(self.positions),
            "words": [asdict(word) for word in self.words],
            "text": self.text.source,
            "cut": list(self.text.cut),
            "trivial": self.trivial,
            "options": [
                {"position": i, "words": list(others)} for i, others in self.options.items()
            ],
            "untested": [word.position for word in self.untested],
            "reason": self.reason,
            "witness": None if self.witness is None else self.witness.to_dict(),
            "changed_text": None if self.witness is None else self.witness.text,
            "proved": list(self.proved),
            "certificate": summary(self.certificate),
            "stats": dict(self.stats),
            "meta": dict(self.meta),
        }


def bias(
    classifier: Classifier | BlackBox,
    text: Given,
    protected: Protected,
    *,
    perturbation: Perturbation | None = None,
    padding: Padding = "fixed",
    oracle: str = "bounds",
    seconds: float = 60.0,
    max_queries: int | None = None,
    cache: str | Path | None = None,
    self_check: bool = True,
    settings: Settings = DEFAULT,
) -> Bias:
    """Does the label depend on protected words? Independent and dependent come with proof.

    `protected` are words (every occurrence; those not in the text do not matter; New York stands
    where its two words do), positions, a function that gets each word as it is written
    (`str.istitle`, say) and answers whether it is protected, or the name of a bundled group: "age",
    "gender", "names", "nationality", "religion". Unless a set is given, a protected word may become
    its counterpart in a bundled group (*she* for *he*) or one of its bundled substitutes; that it
    is missing counts only where a set says so (`sf.Deletion()`).
    """
    plain = Question(
        classifier,
        text,
        perturbation=for_audits(perturbation),
        padding=padding,
        oracle=oracle,
        seconds=seconds,
        max_queries=max_queries,
        cache=cache,
        settings=settings,
    )
    return judged(replace(plain, exclude=guarded(plain, protected)), self_check)


def judged(question: Question, self_check: bool = True) -> Bias:
    """The answer to a question whose excluded words are the protected ones."""
    with answering(question.blackbox):
        started = time.monotonic()
        if question.blackbox is not None:
            verdict = sufficiency.independence(question)
        else:
            oracle = make_oracle(question.oracle, question.problem)
            verdict = sparser(question, oracle.ask(question.excluded[None], question.budget)[0])
            verdict = typed_verdict(question, verdict, question.excluded)
        answer = _bias(question, verdict, time.monotonic() - started)
        return checked_bias(answer, question) if self_check else answer


def sparser(question: Question, verdict: Verdict) -> Verdict:
    """A refutation by as few changed words as further attacks find: easier to read, and it points
    at the guilty.
    """
    if not isinstance(verdict, Refuted):
        return verdict
    rng = np.random.default_rng(question.seed)
    return replace(
        verdict, witness=sparse_attack(Attacker.of(question.problem), verdict.witness, rng)
    )


def guarded(question: Question, protected: Protected) -> tuple[int, ...]:
    """The protected positions: words that are not in the text are passed over, positions out of
    range are not.
    """
    text = question.text
    count = int(question.features.sum())
    if isinstance(protected, str):
        protected = list(protected_group(protected))
    if callable(protected):
        return tuple(word.position for word in text.words if protected(word.text))
    check_listed(protected, "protected")
    places = (standing(text, item) if isinstance(item, str) else (item,) for item in protected)
    return text.positions([place for some in places for place in some], count)


def protected_group(name: str) -> tuple[str, ...]:
    """The words of a bundled group."""
    if name not in groups():
        meant = like_group(name)
        raise InputError(
            "`protected` takes a list of words or positions, a function, or the name of a "
            "bundled group "
            f"({', '.join(groups())}), not the string "
            f"{name!r}{f': did you mean {meant}?' if meant else '.'}"
        )
    return tuple(group(name))


def standing(text: Text, item: str) -> tuple[int, ...]:
    """Where a protected word stands; one that is read as several words (New York) where these
    follow each other.
    """
    return _spelled(text).get(item.casefold(), ()) + (
        () if item.isalnum() else _in_a_row(text, item)
    )


@lru_cache(1)
def _spelled(text: Text) -> Mapping[str, tuple[int, ...]]:
    """The places of each word of a text, as it is written and as it is read."""
    found: dict[str, tuple[int, ...]] = {}
    for word in text.words:
        for form in {word.text.casefold(), text.tokens[word.position].casefold()}:
            found[form] = (*found.get(form, ()), word.position)
    return found


def _in_a_row(text: Text, item: str) -> tuple[int, ...]:
    """The words of the text that together are written like `item`."""
    pattern = re.compile(r"\s+".join(map(re.escape, item.split())), re.IGNORECASE)
    last = {word.end: word.position for word in text.words}
    hits = ((word.position, pattern.match(text.source, word.start)) for word in text.words)
    return tuple(
        i
        for first, hit in hits
        if hit and hit.end() in last
        for i in range(first, last[hit.end()] + 1)
    )


def _bias(question: Question, verdict: Verdict, seconds: float) -> Bias:
    witness = question.witness(verdict.witness) if isinstance(verdict, Refuted) else None
    tied = witness is not None and not witness.positions
    status, reason, certificate = (
        ("unknown", "a tie as it stands", None) if tied else _judged(question, verdict)
    )
    positions = tuple(certificate_lines.positions(question.excluded))
    idle = _nothing(question) if status == "independent" or not positions else ""
    if idle:
        status, certificate = ("unknown", None) if positions else ("independent", certificate)
    return Bias(
        status=status,
        positions=positions,
        words=tuple(question.text.words[i] for i in positions if i < len(question.text.words)),
        label=question.label,
        text=question.text,
        witness=witness,
        certificate=certificate,
        reason=idle or reason,
        trivial=bool(idle),
        options=_options(question, positions),
        untested=_untested(question),
        stats={"seconds": seconds, "work": work.so_far()},
        meta={**question.meta(), "protected": list(positions), **_strange(question)},
    )


def _nothing(question: Question) -> str:
    """Why there is nothing to prove; empty where a protected word may become something that the
    classifier knows.
    """
    if not question.excluded.any():
        return "no protected word is in the text"
    if not (question.excluded & _changeable(question)).any():
        return "none of the protected words could become anything"
    return why_only_unknown(question, unknown_substitutes(question), question.excluded)


def _changeable(question: Question) -> Bools:
    """The positions at which another word may stand (to the classifier it may be the same), or that
    may move.
    """
    found = question.others
    return question.movable if found is None else np.array([bool(words) for words in found])


def _untested(question: Question) -> tuple[Word, ...]:
    left = question.excluded & ~_changeable(question)
    return tuple(word for word in question.text.words if left[word.position])


def _options(question: Question, positions: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """What may stand at these positions, "" for nothing; empty where words move as vectors."""
    found = question.others
    return {} if found is None else {i: found[i] for i in positions}


def _strange(question: Question) -> dict[str, Any]:
    found = unknown_substitutes(question)
    return {"unknown_substitutes": found} if found else {}


def _judged(question: Question, verdict: Verdict) -> tuple[Independence, str, Certificate | None]:
    match verdict:
        case Proved():
            return "independent", "", verdict.certificate or _independent(question, verdict)
        case Refuted() if question.blackbox is not None:
            return "dependent", "", verdict.certificate
        case Refuted():
            return "dependent", "", _infeasible(question, verdict)
        case Unknown(reason=reason):
            return "unknown", reason, None


def _independent(question: Question, verdict: Proved) -> Certificate | None:
    if verdict.evidence is None:
        return None
    head = question.header(
        {"kind": "independent", "of": certificate_lines.positions(question.excluded)}
    )
    return certificate_lines.assemble(
        head, certificate_lines.sufficient(question.classifier.labels, question.problem, verdict)
    )


def _infeasible(question: Question, verdict: Refuted) -> Certificate:
    head = question.header(
        {"kind": "infeasible", "exclude": certificate_lines.positions(question.excluded)}
    )
    return certificate_lines.assemble(
        head, [certificate_lines.counterexample(question.classifier.labels, verdict.witness)]
    )


def checked_bias(answer: Bias, question: Question) -> Bias:
    """The answer, lowered to unknown if the independent checker does not accept its certificate."""
    if answer.certificate is None:
        return replace(answer, meta={**answer.meta, "checked": False})
    try:
        checked = accepted(question, answer.certificate)
    except (Rejected, NotACertificate) as error:
        lost: dict[str, Any] = {"witness": None, "certificate": None, "trivial": False}
        meta = {**answer.meta, "checked": False, **complaint(error)}
        reason = f"the checker did not accept the certificate: {error}"
        return replace(answer, status="unknown", reason=reason, meta=meta, **lost)
    return replace(
        answer, meta={**answer.meta, "checked": True, "proved": checked.kind}, proved=checked.proved
    )

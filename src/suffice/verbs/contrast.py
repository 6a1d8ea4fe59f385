"""Contrast: the cheapest set of words whose change flips the label, with the flip."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from suffice import work
from suffice.errors import InputError, NotACertificate, Rejected
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.labels import plain_label
from suffice.model.numbers import exactly
from suffice.model.text import Text, Word
from suffice.optimise import certificate_lines
from suffice.optimise.cheapest_flip import CheapestFlip, FlipStatus
from suffice.optimise.cost import Cost
from suffice.proof.certificate import Certificate
from suffice.proof.check import Checked
from suffice.sets.perturbations import Perturbation
from suffice.settings import DEFAULT, Settings
from suffice.verbs.accepting import accepted
from suffice.verbs.answer import Answer
from suffice.verbs.engines import OnProgress, answering, run_flip_search
from suffice.verbs.question import Given, Padding, Question
from suffice.verbs.scarce import caveats
from suffice.verbs.typed import typeable
from suffice.verbs.wording import (
    authority,
    change_of,
    complaint,
    empty,
    named,
    placed,
    short,
    together,
    turned_into,
)
from suffice.verify.contract import Witness

COMPUTATION_KEYS = ("computed", "not_computed")  # what a search says of its way, for people


def contrast(
    classifier: Classifier | BlackBox,
    text: Given,
    *,
    perturbation: Perturbation | None = None,
    cost: Cost = None,
    towards: str | None = None,
    padding: Padding = "fixed",
    seconds: float = 60.0,
    seed: int = 0,
    max_queries: int | None = None,
    cache: str | Path | None = None,
    on_progress: OnProgress | None = None,
    self_check: bool = True,
    settings: Settings = DEFAULT,
) -> Contrast:
    """The cheapest set of words whose change flips the label, with the flip.

    With `towards`, a flip counts only when that label reaches the present one (among more than two
    labels, a third may then beat both).
    """
    question = Question(
        classifier,
        text,
        perturbation=perturbation,
        cost=cost,
        padding=padding,
        seconds=seconds,
        seed=seed,
        max_queries=max_queries,
        cache=cache,
        settings=settings,
        more={} if towards is None else {"towards": plain_label(towards)},
    )
    return contrasted(question, on_progress, self_check)


def contrasted(
    question: Question, on_progress: OnProgress | None = None, self_check: bool = True
) -> Contrast:
    """The answer to a question."""
    if question.include or question.exclude:
        raise InputError(
            "A contrast has no words to include or to exclude: take them out of the question."
        )
    with answering(question.blackbox):
        started = time.monotonic()
        towards = question.more.get("towards")
        if question.blackbox is not None:
            from suffice.verbs.black_box import flips

            rival = None if towards is None else question.rival(towards)
            turned = flips.cheapest_flip(question, on_progress, rival)
            return contrast_of(question, turned, time.monotonic() - started, towards, self_check)
        rivals = None if towards is None else [question.rival(towards)]
        flip = run_flip_search(question, question.budget, on_progress, rivals)
        return contrast_of(question, flip, time.monotonic() - started, towards, self_check)


@dataclass(frozen=True, eq=False)
class Contrast(Answer):
    """Which words have to change to flip the label, and to what.

    status: "optimal" (nothing cheaper flips it), "found" (a flip; optimality open), "none" (no
    allowed change of any words flips the label), "unknown" (`reason` says why). `flip` shows the
    changed words: real words where the set is one of words, else only the nearest real word to each
    changed vector (`flip.real` says which).
    """

    status: FlipStatus
    positions: tuple[int, ...]
    words: tuple[Word, ...]
    cost: float
    lower_bound: float
    label: str
    text: Text
    flip: Witness | None
    certificate: Certificate | None = None
    stats: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    proved: tuple[str, ...] = ()  # what the checker accepted, in words

    @property
    def flipped_text(self) -> str | None:
        """The text with the changed words, where the classifier was run on it and gives another
        label; else None.

        Where `flip.real` is False its words are only the nearest ones to where the changed words
        moved.
        """
        return None if self.flip is None else self.flip.text

    @property
    def reason(self) -> str:
        """Why it is open whether the label flips, or whether a cheaper change does it; empty where
        it is not.
        """
        return str(self.meta.get("reason", ""))

    @property
    def authority(self) -> str:
        """Who says that nothing cheaper does."""
        return authority(self.meta, "flip")

    def __repr__(self) -> str:
        return f"<Contrast {self.status}: {self.label[:60]!r} by {short(self.words)}>"

    def sentence(self) -> str:
        if self.flip is None:
            return self._none() if self.status == "none" else self._open()
        if not self.flip.positions:
            return f"The label {self.label!r} is a tie with {self.flip.label!r} as the text stands."
        changed = placed(self.text, self.words) or "padding"
        return f"Changing {changed} {self.aim()}, and {self.least('set')}{self._shown()}"

    @property
    def won(self) -> bool:
        """Whether the flip puts the label that was asked for (or any other) ahead of all: no tie,
        no third label.
        """
        return (
            self.flip is not None
            and self.flip.margin < 0
            and self.flip.label == self.meta.get("towards", self.flip.label)
        )

    def aim(self, quoted: Callable[[str], str] = repr) -> str:
        """What the flip does: turn the label, or let another reach it where that is a tie or a
        third one wins.
        """
        assert self.flip is not None
        before = quoted(self.label)
        after = quoted(self.flip.label)
        asked = quoted(self.meta.get("towards", self.flip.label))
        if self.won:
            return f"turns {before} into {after}"
        return (
            f"lets {asked} reach {before} ({'a tie' if asked == after else f'{after} wins then'})"
        )

    def least(self, what: str) -> str:
        """What is known of cheaper changes."""
        if self.status == "optimal":
            return f"no cheaper {what} does ({self.authority})"
        if self.lower_bound <= 0:
            return f"whether a cheaper {what} does is open"
        return f"at least {exactly(self.lower_bound)} must be spent ({self.authority})"

    def does(self, quoted: Callable[[str], str] = repr) -> str:
        """What a change must do to count."""
        return (
            f"turns the label into {quoted(self.meta['towards'])}"
            if "towards" in self.meta
            else "flips the label"
        )

    def _none(self) -> str:
        if "nothing" in self.meta:
            return empty(self.meta["nothing"], self.label)
        return f"No {change_of(self.meta, 'the words')} {self.does()} ({self.authority})."

    def _open(self) -> str:
        ruled_out = "and none was ruled out"
        if self.lower_bound > 0:
            ruled_out = (
                f"and none that costs less than {exactly(self.lower_bound)} does ({self.authority})"
            )
        change = change_of(self.meta, "the words")
        return f"Undecided ({self.reason}): no {change} was found that {self.does()}, {ruled_out}."

    def _shown(self) -> str:
        """The change: as a text that the classifier was run on, else word by word."""
        assert self.flip is not None
        if self.flip.text is not None:
            how = "" if self.flip.real else ", by the nearest real words as an illustration"
            return f"{how}: “{self.flip.text}”."
        return f": {self.change}."

    @property
    def change(self) -> str:
        """What becomes of each changed word."""
        if self.flip is None:
            return ""
        flip = self.flip
        pairs = zip(self.flip.positions, self.flip.words, strict=True)
        deeds = (
            (i, turned_into(self.text.tokens[i], word, flip.real, flip.blanked))
            for i, word in pairs
        )
        return together((named(self.text, [i]), deed) for i, deed in deeds)

    def to_html(self) -> str:
        """A self-contained page."""
        from suffice.render.reports import contrast

        return contrast(self)

    def save_html(self, path: str | Path) -> None:
        Path(path).write_text(self.to_html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        from suffice.render.cells import contrast

        return contrast(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": 1,
            "status": self.status,
            "label": self.label,
            "positions": list(self.positions),
            "words": [asdict(word) for word in self.words],
            "cost": self.cost if self.flip is not None else None,
            "lower_bound": self.lower_bound if self.status != "none" else None,
            "text": self.text.source,
            "cut": list(self.text.cut),
            "flipped_text": self.flipped_text,
            "flip": None if self.flip is None else self.flip.to_dict(),
            "proved": list(self.proved),
            "certificate": None if self.certificate is None else self.certificate.summary(),
            "stats": dict(self.stats),
            "meta": dict(self.meta),
        }


def contrast_of(
    question: Question,
    flip: CheapestFlip,
    seconds: float,
    towards: str | None,
    self_check: bool = True,
) -> Contrast:
    """The answer for people, with a certificate that the checker has accepted; lowered where it has
    not.
    """
    flip = flip if question.blackbox is not None else _typed(question, flip, towards)
    certificate = _certificate(question, flip, towards)
    rejected = dict[str, str]()
    try:
        checked = (
            accepted(question, certificate) if certificate is not None and self_check else None
        )
    except (Rejected, NotACertificate) as error:
        certificate = None
        checked = None
        rejected = complaint(error)
        found: FlipStatus = "unknown" if flip.witness is None else "found"
        flip = replace(flip, status=found, lower=0, reason=rejected["reason"])
    witness = question.witness(flip.witness)
    positions = () if witness is None else witness.positions
    return Contrast(
        status=flip.status,
        positions=positions,
        words=tuple(question.text.words[i] for i in positions if i < len(question.text.words)),
        cost=math.inf if witness is None else _cost(question, positions),
        lower_bound=math.inf if flip.status == "none" else question.costs.price(flip.lower),
        label=question.label,
        text=question.text,
        flip=witness,
        certificate=certificate,
        stats={
            **{k: v for k, v in flip.stats.items() if k not in COMPUTATION_KEYS},
            "seconds": seconds,
            "work": work.so_far(),
        },
        meta={
            **question.meta(),
            **_computation_meta(flip, checked),
            **rejected,
            **_caveats(question, flip),
        },
        proved=() if checked is None else checked.proved,
    )


def _typed(question: Question, flip: CheapestFlip, towards: str | None) -> CheapestFlip:
    """The flip by the same words, but one that a person can type, where that is found."""
    found = flip.witness
    rival = None if towards is None else question.rival(towards)
    if found is None:
        return flip
    free = np.isin(np.arange(len(question.text)), found.positions)
    return replace(flip, witness=typeable(question, found, free, found.positions, rival))


def _cost(question: Question, positions: tuple[int, ...]) -> float:
    changed = np.isin(np.arange(len(question.text)), positions)
    return question.costs.price(question.costs.of(changed))


def _computation_meta(flip: CheapestFlip, checked: Checked | None) -> dict[str, Any]:
    """What is said of the way to the answer."""
    notes = {name: flip.stats[name] for name in COMPUTATION_KEYS if flip.stats.get(name)}
    notes |= {"reason": flip.reason} if flip.reason else {}
    return {
        "checked": checked is not None,
        **notes,
        **({} if checked is None else {"proved": checked.kind}),
    }


def _caveats(question: Question, flip: CheapestFlip) -> dict[str, Any]:
    tied = flip.witness is not None and not flip.witness.positions
    return caveats(question, label_stays=flip.status == "none", is_tied=tied)


def _certificate(question: Question, flip: CheapestFlip, towards: str | None) -> Certificate | None:
    if question.blackbox is not None:
        from suffice.verbs.black_box import flips

        return flips.flip_certificate(question, flip, towards)
    proof = None if flip.proof is None or flip.proof.evidence is None else flip.proof
    if proof is None and flip.witness is None:
        return None
    labels = question.classifier.labels
    problem = question.problem
    rivals = problem.rivals if towards is None else (question.rival(towards),)
    claim = certificate_lines.flip_claim(
        flip.witness, question.costs, 0 if proof is None else flip.lower, towards
    )
    evidence = certificate_lines.flip(labels, rivals, flip.witness, proof)
    return certificate_lines.assemble(question.header(claim), evidence)

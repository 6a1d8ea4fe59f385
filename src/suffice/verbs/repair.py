"""Repair: do another explainer's words suffice, and if not, which is their cheapest extension that
does?
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.numbers import exactly
from suffice.model.text import Text, Word
from suffice.optimise.cost import Cost
from suffice.proof.certificate import Certificate
from suffice.sets.perturbations import Perturbation
from suffice.settings import DEFAULT, Settings
from suffice.verbs.accepting import accepted_verdict
from suffice.verbs.adapters import words_of
from suffice.verbs.answer import Answer
from suffice.verbs.answering import FORMAT, finished, public, summary
from suffice.verbs.bias import sparser
from suffice.verbs.black_box import explaining, sufficiency
from suffice.verbs.engines import (
    OneHotEngine,
    OnProgress,
    WordTreeEngine,
    answering,
    engine_for,
    word_tree_search,
)
from suffice.verbs.explanation import Explanation, at_once, least_by
from suffice.verbs.question import Given, Padding, Question
from suffice.verbs.typed import typed_verdict
from suffice.verbs.wording import authority, can, empty, placed
from suffice.verify.contract import Proved, Refuted, Unknown, Verdict, Witness


@dataclass(frozen=True, eq=False)
class Repair(Answer):
    """Whether given words suffice, and the cheapest set that holds them and does.

    `verdict` is about the words as given (Proved, Refuted with a counterexample, Unknown),
    `explanation` is their cheapest robust extension, `added` the positions it adds. Status,
    positions, words, cost, label and certificate are those of the explanation.
    """

    given: tuple[int, ...]
    verdict: Verdict
    explanation: Explanation

    @property
    def status(self) -> str:
        return self.explanation.status

    @property
    def reason(self) -> str:
        """Why it is open which extension is the cheapest; empty where it is not."""
        return self.explanation.reason

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
    def proved(self) -> tuple[str, ...]:
        """What the checker accepted of the explanation, in words."""
        return self.explanation.proved

    @property
    def meta(self) -> Mapping[str, Any]:
        return self.explanation.meta

    @property
    def stats(self) -> Mapping[str, Any]:
        return self.explanation.stats

    @property
    def sufficed(self) -> bool | None:
        """Whether the given words suffice as they are: by their verdict, or by an explanation that
        adds none.
        """
        enough = not self.added and self.status in ("optimal", "sufficient")
        return {Proved: True, Refuted: False}.get(type(self.verdict), True if enough else None)

    @property
    def counterexample(self) -> Witness | None:
        return self.verdict.witness if isinstance(self.verdict, Refuted) else None

    @property
    def added(self) -> tuple[int, ...]:
        return tuple(i for i in self.positions if i not in self.given)

    def sentence(self) -> str:
        if "nothing" in self.meta:
            return empty(self.meta["nothing"], self.label)
        if self.explanation.tied is not None:
            return self.explanation.sentence()
        if self.sufficed:
            kept = f"the label {self.label!r}{at_once(self.explanation)}"
            return f"The given words already suffice for {kept} ({self._by})."
        return f"{self._doubt()} {self._extension()}"

    @property
    def _by(self) -> str:
        """Who says that the explanation's words, or the given ones where nothing is added, are
        enough.
        """
        return (
            "according to the search, not checked"
            if self.sufficed and self.added
            else authority(self.meta, "enough")
        )

    def _doubt(self) -> str:
        if self.counterexample is None:
            why = f" ({self.verdict.reason})" if isinstance(self.verdict, Unknown) else ""
            return f"Whether the given words suffice is undecided{why}."
        deed = can(
            self.label,
            self.counterexample.label,
            tie=self.counterexample.margin >= 0,
            still="still ",
        )
        return f"The given words do not suffice: with all of them fixed {deed}."

    def _extension(self) -> str:
        names = placed(self.text, [word for word in self.words if word.position in self.added])
        match self.status:
            case "optimal":
                by = least_by(self.explanation)
                return (
                    f"Adding {names or 'nothing'} is the cheapest way to make them suffice ({by})."
                )
            case "sufficient":
                gap = f"cost {exactly(self.cost)}, at least {exactly(self.lower_bound)} is needed"
                return f"With {names or 'nothing'} added they suffice ({self._by}; {gap})."
            case _:
                return f"No extension short of the whole text was shown to suffice ({self.reason})."

    def __repr__(self) -> str:
        given = f"{len(self.given)} {'word' if len(self.given) == 1 else 'words'}"
        return f"<Repair {self.status}: {given} given, {len(self.added)} added>"

    def _repr_html_(self) -> str:
        from suffice.render.cells import repair

        return repair(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "given": list(self.given),
            "verdict": type(self.verdict).__name__.lower(),
            "counterexample": None
            if self.counterexample is None
            else self.counterexample.to_dict(),
            "verdict_certificate": summary(getattr(self.verdict, "certificate", None)),
            "added": list(self.added),
            "proved": list(self.proved),
            "explanation": self.explanation.to_dict(),
        }


def repair(
    classifier: Classifier | BlackBox,
    text: Given,
    words: Any,
    *,
    perturbation: Perturbation | None = None,
    cost: Cost = None,
    padding: Padding = "fixed",
    seconds: float = 60.0,
    seed: int = 0,
    max_queries: int | None = None,
    cache: str | Path | None = None,
    on_progress: OnProgress | None = None,
    self_check: bool = True,
    settings: Settings = DEFAULT,
) -> Repair:
    """Do these words suffice? If not: a counterexample, and the cheapest set that holds them and
    does suffice.

    `words` are words or positions, or what LIME, SHAP or Anchors gave back (see
    `suffice.verbs.adapters`).
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
    )
    named = words_of(words, question.text, question.label, classifier.labels)
    given = question.text.positions(named, int(question.features.sum()))
    wanted = replace(question, include=given)
    if wanted.blackbox is not None:
        wanted.asked.meter = question.asked.meter  # the text itself was asked for the label
    return repaired(wanted, on_progress, self_check)


def repaired(
    question: Question, on_progress: OnProgress | None = None, self_check: bool = True
) -> Repair:
    """The answer to a question whose included words are the given ones."""
    with answering(question.blackbox):
        started = time.monotonic()
        budget = question.budget
        if question.blackbox is not None:
            answer = sufficiency.sufficiency(question)
            verdict = accepted_verdict(question, answer) if self_check else answer
            return Repair(
                question.include, verdict, explaining.explained(question, on_progress, self_check)
            )
        search = word_tree_search(question, budget, on_progress)
        verdict = search.cache.ask(question.included[None], budget.subproblems)[0]
        verdict = typed_verdict(
            question, sparser(question, verdict), question.features & ~question.included
        )
        verdict = public(question, verdict)
        verdict = accepted_verdict(question, verdict) if self_check else verdict
        match engine_for(question, budget, on_progress):
            case OneHotEngine() as found:
                outcome = found.run()
            case WordTreeEngine():
                outcome = search.run()
        explanation = finished(question, outcome, started, self_check)
    return Repair(question.include, verdict, explanation)

"""Explain all: every optimal explanation, each once, as it is found."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from suffice import work
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.network import Bools
from suffice.optimise.cost import Cost
from suffice.proof.certificate import Certificate
from suffice.sets.perturbations import Perturbation
from suffice.settings import DEFAULT, Settings
from suffice.verbs.answering import Every, every_of, every_set, finished
from suffice.verbs.black_box import explaining
from suffice.verbs.engines import OnProgress, engine_for, single_threaded
from suffice.verbs.explanation import Explanation
from suffice.verbs.question import Given, Named, Padding, Question
from suffice.verify.contract import Proved


def explain_all(
    classifier: Classifier | BlackBox,
    text: Given,
    *,
    perturbation: Perturbation | None = None,
    cost: Cost = None,
    include: Named = (),
    exclude: Named = (),
    padding: Padding = "fixed",
    seconds: float = 60.0,
    seed: int = 0,
    max_queries: int | None = None,
    cache: str | Path | None = None,
    on_progress: OnProgress | None = None,
    self_check: bool = True,
    settings: Settings = DEFAULT,
) -> Explanations:
    """Every optimal explanation, each once, as it is found. Infeasible or undecided: that one
    answer.

    When all have come, `complete` and `certificate` of what this gives say whether there are no
    others, and why.
    """
    question = Question(
        classifier,
        text,
        perturbation=perturbation,
        cost=cost,
        include=include,
        exclude=exclude,
        padding=padding,
        seconds=seconds,
        seed=seed,
        max_queries=max_queries,
        cache=cache,
        settings=settings,
    )
    return all_explained(question, on_progress, self_check)


class Explanations(Iterator[Explanation]):
    """Every optimal explanation, as it is found. In the end `complete` says whether these were all,
    `certificate` holds the evidence for it and `proved` what the checker accepted.
    """

    def __init__(
        self, question: Question, on_progress: OnProgress | None = None, self_check: bool = True
    ) -> None:
        self.complete = False
        self.certificate: Certificate | None = None
        self.proved: tuple[str, ...] = ()
        self._question = question
        self._self_check = self_check
        self._work = Counter[str]()
        self._answers = (
            self._asked(on_progress)
            if question.blackbox is not None
            else self._searched(on_progress)
        )

    def __next__(self) -> Explanation:
        with work.counted(self._work):
            return next(self._answers)

    def __repr__(self) -> str:
        return (
            "<Explanations of "
            f"{self._question.text.source[:60]!r}{', complete' if self.complete else ''}>"
        )

    def _asked(self, on_progress: OnProgress | None) -> Iterator[Explanation]:
        doubt = False
        for one in explaining.every(self._question, on_progress, self._self_check):
            match one:
                case Explanation():
                    yield one
                    doubt |= one.status not in ("optimal", "infeasible")
                case Certificate():
                    doubt |= not self._take(every_of(self._question, one, self._self_check))
                case _:
                    doubt = True
        self.complete = not doubt

    def _take(self, every: Every) -> bool:
        """Keep what shows that there are no others; False where the checker rejected it."""
        self.certificate = every.certificate
        self.proved = every.proved
        return every.certificate is not None

    def _searched(self, on_progress: OnProgress | None) -> Iterator[Explanation]:
        question = self._question
        started = time.monotonic()
        with single_threaded():
            equal = engine_for(question, question.budget, on_progress)
            outcome = equal.run()
        if outcome.witness is not None or not outcome.finished:
            yield finished(question, outcome, started, self._self_check)
            self.complete = outcome.witness is not None
            return
        sets = equal.sets(outcome.upper)
        found = list[tuple[Bools, Proved]]()
        while (one := _next(sets)) is not None:
            found.append(one)
            yield finished(
                question, replace(outcome, held=one[0], proof=one[1]), started, self._self_check
            )
        if (root := equal.tree(outcome.upper)) is not None:
            with single_threaded():
                every = every_set(question, found, root, self._self_check)
            self.complete = self._take(every)


def _next(sets: Iterator[tuple[Bools, Proved]]) -> tuple[Bools, Proved] | None:
    with single_threaded():
        return next(sets, None)


def all_explained(
    question: Question, on_progress: OnProgress | None = None, self_check: bool = True
) -> Explanations:
    """The answers to a question, one by one."""
    return Explanations(question, on_progress, self_check)

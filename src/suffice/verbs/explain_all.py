"""Explain all: every optimal explanation, each once, as it is found."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.search.cost import Cost
from suffice.search.words import optimal_sets
from suffice.sets.perturbations import Perturbation
from suffice.verbs import asked
from suffice.verbs.answering import finished
from suffice.verbs.explanation import Explanation
from suffice.verbs.question import Given, Named, Padding, Question
from suffice.verbs.running import OnProgress, searcher, single_threaded


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
) -> Iterator[Explanation]:
    """Every optimal explanation, each once, as it is found. Infeasible or undecided: that one answer."""
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
    )
    return all_explained(question, on_progress, self_check)


def all_explained(
    question: Question, on_progress: OnProgress | None = None, self_check: bool = True
) -> Iterator[Explanation]:
    """The answers to a question, one by one."""
    if question.blackbox is not None:
        yield from (one for one in asked.every(question, on_progress, self_check) if isinstance(one, Explanation))
        return
    with single_threaded():
        started = time.monotonic()
        search = searcher(question, question.budget, on_progress)
        outcome = search.run()
    if outcome.witness is not None or not outcome.finished:
        yield finished(question, outcome, started, self_check)
        return
    sets = optimal_sets(search, outcome.upper)
    while True:
        with single_threaded():
            found = next(sets, None)
        if found is None:
            return
        yield finished(question, replace(outcome, held=found[0], proof=found[1]), started, self_check)

"""Is robust: do these words suffice? Proved, Refuted with a witness, or Unknown with a reason."""

from __future__ import annotations

from pathlib import Path

from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.prove.oracles import make_oracle
from suffice.prove.verdict import Verdict
from suffice.sets.perturbations import Perturbation
from suffice.verbs import asked
from suffice.verbs.answering import public
from suffice.verbs.question import Given, Named, Padding, Question
from suffice.verbs.running import single_threaded


def is_robust(
    classifier: Classifier | BlackBox,
    text: Given,
    positions: Named,
    *,
    perturbation: Perturbation | None = None,
    padding: Padding = "fixed",
    oracle: str = "bounds",
    seconds: float = 60.0,
    max_queries: int | None = None,
    cache: str | Path | None = None,
) -> Verdict:
    """Do these words (or positions) suffice? Proved, Refuted with a witness, or Unknown with a reason."""
    question = Question(
        classifier,
        text,
        perturbation=perturbation,
        include=positions,
        padding=padding,
        oracle=oracle,
        seconds=seconds,
        max_queries=max_queries,
        cache=cache,
    )
    if question.blackbox is not None:
        return asked.sufficiency(question)
    with single_threaded():
        free = question.features & ~question.included
        answer = make_oracle(oracle, question.problem).ask(free[None], question.budget)[0]
        return public(question, answer)

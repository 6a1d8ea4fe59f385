"""Is robust: do these words suffice? Proved, Refuted with a witness, or Unknown with a reason."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from suffice import work
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.sets.perturbations import Perturbation
from suffice.settings import DEFAULT, Settings
from suffice.verbs.accepting import accepted_verdict
from suffice.verbs.answering import public
from suffice.verbs.black_box import sufficiency
from suffice.verbs.engines import answering
from suffice.verbs.question import Given, Named, Padding, Question, check_listed
from suffice.verbs.typed import typed_verdict
from suffice.verify.contract import Verdict
from suffice.verify.solvers import make_oracle


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
    self_check: bool = True,
    settings: Settings = DEFAULT,
) -> Verdict:
    """Do these words (or positions) suffice? Proved, Refuted with a witness, or Unknown with a
    reason.

    The independent checker reads the certificate before you see the verdict, unless `self_check` is
    False; what it does not accept is Unknown. A solver's word (`oracle="milp"`, `"marabou"`) has no
    certificate when it is Proved.
    """
    check_listed(positions, "positions")
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
        settings=settings,
    )
    with answering():
        started = time.monotonic()
        answer = (
            sufficiency.sufficiency(question)
            if question.blackbox is not None
            else _judged(question)
        )
        verdict = accepted_verdict(question, answer) if self_check else answer
        stats = {"seconds": time.monotonic() - started, "work": work.so_far()}
        return replace(verdict, stats=stats)


def _judged(question: Question) -> Verdict:
    free = question.features & ~question.included
    answer = make_oracle(question.oracle, question.problem).ask(free[None], question.budget)[0]
    return public(question, typed_verdict(question, answer, free))

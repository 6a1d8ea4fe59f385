"""Fuzz, the cheap kind: small classifiers, of each several texts and sets, and of each of these
every set of words.

A case is the question whether one set of words suffices: the answer is compared with all texts, its
certificate goes through both checkers. One classifier, one reading of it by the second checker and
one call of the prover serve many.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from brute import KINDS, Case, make_classifier, make_question

import suffice as sf
from fuzzing.common import Wrong, both_accept, exact_model, need, pooled, scaled
from suffice.proof import check_exact
from suffice.sets.table import from_dict
from suffice.verbs.answering import public
from suffice.verify.contract import Proved, Refuted, Verdict
from suffice.verify.solvers import make_oracle

QUESTIONS = 8  # of one classifier


def one(seed: int, counts: Counter[str]) -> Iterator[str]:
    """What is wrong with the answers about one classifier."""
    rng = np.random.default_rng([11, seed])
    classifier = some_classifier(rng)
    model = exact_model(classifier)
    for number in range(QUESTIONS):
        at_most = bool(rng.random() < 0.3)
        mask = [None, "w1"][number % 2]
        equal = bool(rng.integers(2))
        case = make_question(classifier, KINDS[number % len(KINDS)], rng, at_most, mask, equal)
        yield from every_subset(case, model, counts)


def some_classifier(rng: np.random.Generator) -> sf.Classifier:
    """Two in three tiny; one in three of whole numbers; one in six with maxima; one in six with odd
    weights.
    """
    whole = bool(rng.random() < 1 / 3)
    tiny = bool(rng.random() < 2 / 3)
    classifier = make_classifier(rng, whole, tiny)
    classifier = pooled(classifier, rng, whole) if rng.random() < 1 / 6 else classifier
    return scaled(classifier, rng) if rng.random() < 1 / 6 else classifier


def every_subset(case: Case, model: check_exact.Model, counts: Counter[str]) -> Iterator[str]:
    free = np.array(list(itertools.product([False, True], repeat=case.length)))
    truth = robust(case, free)
    question = sf.Question(
        case.classifier, list(case.tokens), perturbation=from_dict(case.data), seconds=30
    )
    oracle = make_oracle("bounds", question.problem)
    for row, true, answer in zip(free, truth, oracle.ask(free, question.budget), strict=True):
        held = tuple(np.flatnonzero(~row).tolist())
        counts["cases"] += 1
        try:
            judged(shown(question, held, answer), bool(true), case, model)
            counts["both"] += 1
        except Wrong as error:
            yield f"words {held} of {' '.join(case.tokens)} under {case.data}: {error}"


def robust(case: Case, free: Any) -> Any:
    """Of each set of free words, whether no allowed text that changes only these flips
    the label.
    """
    powers = 1 << np.arange(case.length)
    flips = np.unique(
        [sum(1 << i for i, choice in enumerate(text) if choice) for text, _ in case.all_flips]
    )
    outside = (~free).astype(int) @ powers
    return ((flips.astype(int)[:, None] & outside) != 0).all(0)


def shown(question: sf.Question, held: tuple[int, ...], answer: Verdict) -> Verdict:
    """The answer as `is_robust` gives it; what words may become is worked out once for all sets of
    words.
    """
    asked = copy(question)
    object.__setattr__(asked, "include", held)
    asked.__dict__.pop("included", None)
    return public(asked, answer)


def judged(answer: Verdict, true: bool, case: Case, model: check_exact.Model) -> None:
    need(isinstance(answer, Proved if true else Refuted), f"{answer!r}, but the truth is {true}")
    both_accept(answer.certificate, case.classifier, model)  # type: ignore[union-attr]

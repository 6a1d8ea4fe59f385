"""Bias and repair: does the label hang on protected words, and do another explainer's words suffice?"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from suffice.errors import InputError, Rejected
from suffice.model.classifier import Classifier
from suffice.model.network import Bools
from suffice.model.text import Text
from suffice.proof.certificate import Certificate
from suffice.proof.check import check
from suffice.prove.attack import Attacker
from suffice.prove.oracles import make_oracle
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Proved, Refuted, Unknown, Verdict
from suffice.search import writing as certify
from suffice.search.cost import Cost
from suffice.search.hitting import sparse_attack
from suffice.sets.perturbations import Perturbation
from suffice.verbs.adapters import words_of
from suffice.verbs.answers import Bias, Independence, Repair
from suffice.verbs.verbs import (
    Given,
    OnProgress,
    Padding,
    Question,
    ask,
    finished,
    noted,
    public,
    searcher,
    single_threaded,
    timed,
)

Protected: TypeAlias = Sequence[str | int] | Callable[[str], bool]


def bias(
    classifier: Classifier,
    text: Given,
    protected: Protected,
    *,
    perturbation: Perturbation,
    padding: Padding = "fixed",
    oracle: str = "bounds",
    seconds: float = 60.0,
    self_check: bool = True,
) -> Bias:
    """Does the label depend on protected words? Independent and dependent come with proof.

    `protected` are words (every occurrence; those not in the text do not matter), positions, or a function that gets
    each word as it is written (`str.istitle`, say) and answers whether it is protected.
    """
    with single_threaded():
        question = noted(ask(classifier, text, perturbation, None, (), (), padding), oracle=oracle, seconds=seconds)
        question = replace(question, exclude=guarded(question, protected))
        started = time.monotonic()
        verdict = make_oracle(oracle, question.problem).ask(question.exclude[None], timed(seconds))[0]
        verdict = sparser(question, verdict)
        answer = _bias(question, verdict, time.monotonic() - started)
        return checked_bias(answer, classifier) if self_check else answer


def sparser(question: Question, verdict: Verdict, seed: int = 0) -> Verdict:
    """A refutation by as few changed words as further attacks find: easier to read, and it points at the guilty."""
    if not isinstance(verdict, Refuted):
        return verdict
    rng = np.random.default_rng(seed)
    return replace(verdict, witness=sparse_attack(Attacker.of(question.problem), verdict.witness, rng))


def guarded(question: Question, protected: Protected) -> Bools:
    """The protected positions: words that are not in the text are passed over, positions out of range are not."""
    text, count = question.text, int(question.problem.features.sum())
    if isinstance(protected, str):
        raise InputError(
            f"`protected` takes a list of words or positions, or a function, not the string {protected!r}."
        )
    mask = np.zeros(len(text), dtype=bool)
    if callable(protected):
        mask[[word.position for word in text.words if protected(word.text)]] = True
        return mask
    mask[list(text.positions([item for item in protected if _present(text, item)], count))] = True
    return mask


def _present(text: Text, item: str | int) -> bool:
    """Anything that is not a word is left to `Text.positions` to judge."""
    if not isinstance(item, str):
        return True
    shown = (form for word in text.words for form in (word.text, text.tokens[word.position]))
    return item.casefold() in {form.casefold() for form in shown}


def _bias(question: Question, verdict: Verdict, seconds: float) -> Bias:
    status, reason, certificate = _judged(question, verdict)
    positions = tuple(certify.positions(question.exclude))
    trivial = status == "independent" and not (question.exclude & question.problem.region.movable()).any()
    if trivial:
        reason = "none of the protected words may change" if positions else "no protected word is in the text"
    return Bias(
        status=status,
        positions=positions,
        words=tuple(question.text.words[i] for i in positions if i < len(question.text.words)),
        label=question.label,
        text=question.text,
        witness=question.witness(verdict.witness) if isinstance(verdict, Refuted) else None,
        certificate=certificate,
        reason=reason,
        trivial=trivial,
        stats={"seconds": seconds},
        meta={**question.meta(), "protected": list(positions)},
    )


def _judged(question: Question, verdict: Verdict) -> tuple[Independence, str, Certificate | None]:
    match verdict:
        case Proved():
            return "independent", "", _independent(question, verdict)
        case Refuted():
            return "dependent", "", _infeasible(question, verdict)
        case Unknown(reason=reason):
            return "unknown", reason, None


def _independent(question: Question, verdict: Proved) -> Certificate | None:
    if verdict.evidence is None:
        return None
    head = question.header({"kind": "independent", "of": certify.positions(question.exclude)})
    return certify.assemble(head, certify.sufficient(question.classifier.labels, question.problem, verdict))


def _infeasible(question: Question, verdict: Refuted) -> Certificate:
    head = question.header({"kind": "infeasible", "exclude": certify.positions(question.exclude)})
    return certify.assemble(
        head, [certify.counterexample(question.classifier.labels, question.problem, verdict.witness)]
    )


def checked_bias(answer: Bias, classifier: Classifier) -> Bias:
    """The answer, lowered to unknown if the independent checker rejects its certificate."""
    if answer.certificate is None:
        return replace(answer, meta={**answer.meta, "checked": False})
    try:
        checked = check(answer.certificate, classifier)
    except Rejected as error:
        lost: dict[str, Any] = {"witness": None, "certificate": None, "trivial": False}
        meta = {**answer.meta, "checked": False, "rejected": str(error)}
        return replace(
            answer, status="unknown", reason=f"the checker rejected the certificate: {error}", meta=meta, **lost
        )
    return replace(answer, meta={**answer.meta, "checked": True, "proved": checked.kind})


def repair(
    classifier: Classifier,
    text: Given,
    words: Any,
    *,
    perturbation: Perturbation,
    cost: Cost = None,
    padding: Padding = "fixed",
    seconds: float = 60.0,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    self_check: bool = True,
) -> Repair:
    """Do these words suffice? If not: a counterexample, and the cheapest set that holds them and does suffice.

    `words` are words or positions, or what LIME, SHAP or Anchors gave back (see `suffice.adapters`).
    """
    with single_threaded():
        read = classifier.read(text)
        given = words_of(words, read, classifier.predict(read).label, classifier.labels)
        question = ask(classifier, read, perturbation, cost, given, (), padding)
        question = noted(question, method="search", oracle="bounds", seed=seed, seconds=seconds)
        started, budget = time.monotonic(), timed(seconds)
        asked = BoundsOracle(question.problem)
        search = searcher(question, asked, budget, seed, on_progress)
        verdict = search.ask(question.include[None], budget.subproblems)[0]
        verdict = public(question, sparser(question, verdict))
        explanation = finished(question, search.run(), started, self_check)
    return Repair(tuple(certify.positions(question.include)), verdict, explanation)

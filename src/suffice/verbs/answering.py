"""Answering: what a search or an oracle found becomes an answer with a certificate that the checker has accepted."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from suffice.errors import NotACertificate, Rejected
from suffice.model.classifier import Classifier
from suffice.model.network import Bools
from suffice.model.text import Text, Word
from suffice.proof.certificate import Certificate
from suffice.proof.check import check
from suffice.prove.verdict import Proved, Refuted, Unknown, Verdict, Witness
from suffice.search import writing
from suffice.search.words import Outcome
from suffice.verbs.explanation import Explanation, Status
from suffice.verbs.question import Question
from suffice.verbs.running import single_threaded
from suffice.verbs.why import details

FORMAT = 1


def finished(question: Question, outcome: Outcome, started: float, self_check: bool) -> Explanation:
    stats = {"seconds": time.monotonic() - started, **outcome.stats}
    with single_threaded():
        result = _explanation(question, outcome, _certificate(question, outcome), stats)
        return self_checked(result, question.classifier) if self_check else result


def _explanation(
    question: Question, outcome: Outcome, certificate: Certificate | None, stats: Mapping[str, Any]
) -> Explanation:
    held = outcome.held
    everything = question.problem.features & ~question.excluded
    shown = everything if held is None else held
    meta = question.meta() | ({"reason": outcome.reason} if outcome.reason else {})
    positions = () if outcome.witness is not None else tuple(writing.positions(shown))
    price = question.costs.price
    return Explanation(
        status=_status(outcome, everything),
        positions=positions,
        words=tuple(question.text.words[i] for i in positions if i < len(question.text.words)),
        cost=math.inf if outcome.witness is not None else price(question.costs.of(shown)),
        lower_bound=math.inf if outcome.witness is not None else price(outcome.lower),
        label=question.label,
        text=question.text,
        witness=question.witness(outcome.witness),
        certificate=certificate,
        stats=dict(stats),
        meta=meta,
        look=None if outcome.witness is not None else lambda: details(question.problem, shown, question.witness),
    )


def _status(outcome: Outcome, everything: Bools) -> Status:
    if outcome.witness is not None:
        return "infeasible"
    if outcome.held is None or outcome.proof is None:
        return "unknown"
    if outcome.finished:
        return "optimal"
    return "sufficient" if (outcome.held != everything).any() else "unknown"


def _certificate(question: Question, outcome: Outcome) -> Certificate | None:
    """The evidence as a certificate; None where an external solver's word is all there is."""
    labels, problem = question.classifier.labels, question.problem
    if outcome.witness is not None:
        head = question.header({"kind": "infeasible", "exclude": writing.positions(question.excluded)})
        return writing.assemble(head, [writing.counterexample(labels, problem, outcome.witness)])
    if outcome.held is None or outcome.proof is None or outcome.proof.evidence is None:
        return None
    proof = writing.sufficient(labels, problem, outcome.proof)
    tree = outcome.root.evidence
    if tree is None:
        head = question.header({"kind": "sufficient", "positions": writing.positions(outcome.held)})
        return writing.assemble(head, proof)
    lower = outcome.lower if outcome.finished else outcome.root.lower
    claim = writing.cheapest_claim(outcome.held, question.costs, question.included, question.excluded, lower)
    return writing.assemble(question.header(claim), proof, writing.cheapest(labels, problem, tree))


def self_checked(result: Explanation, classifier: Classifier) -> Explanation:
    """The result, lowered if the independent checker rejects its certificate: its words are a mere candidate then."""
    if result.certificate is None:
        return replace(result, meta={**result.meta, "checked": False})
    try:
        checked = check(result.certificate, classifier)
    except (Rejected, NotACertificate) as error:
        meta = {**result.meta, "checked": False, "rejected": str(error)}
        return replace(result, status="unknown", lower_bound=0.0, certificate=None, meta=meta)
    return replace(result, meta={**result.meta, "checked": True, "proved": checked.kind})


def public(question: Question, answer: Verdict) -> Verdict:
    """An oracle's verdict with names for people and a certificate where there is evidence."""
    labels, problem = question.classifier.labels, question.problem
    held = writing.positions(question.included)
    match answer:
        case Proved(evidence=evidence) if evidence is not None:
            head = question.header({"kind": "sufficient", "positions": held})
            return replace(answer, certificate=writing.assemble(head, writing.sufficient(labels, problem, answer)))
        case Refuted(witness=witness):
            head = question.header({"kind": "refuted", "positions": held})
            shown = writing.assemble(head, [writing.counterexample(labels, problem, witness)])
            named = question.witness(witness)
            assert named is not None
            return replace(answer, witness=named, certificate=shown)
        case Proved() | Unknown():
            return answer


# --- words for people ---


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

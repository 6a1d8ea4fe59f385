"""Answering: what a search or an oracle found becomes an answer with a certificate that the checker has accepted."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.errors import NotACertificate, Rejected
from suffice.model.classifier import Classifier
from suffice.model.network import Bools
from suffice.proof.certificate import Certificate
from suffice.proof.check import Checked, check
from suffice.prove.verdict import Proved, Refuted, Unknown, Verdict
from suffice.search import writing
from suffice.search.node import Node
from suffice.search.words import Outcome
from suffice.sets.regions import Choice
from suffice.verbs.alternatives import alternatives
from suffice.verbs.explanation import Explanation, Status
from suffice.verbs.further import further
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
    meta = question.meta() | ({"reason": outcome.reason} if outcome.reason else {}) | scarce(question, outcome)
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
        look=None if outcome.witness is not None else lambda: details(question, shown),
        count=(lambda: alternatives(question, outcome)) if outcome.finished and outcome.witness is None else None,
        ahead=None if outcome.witness is not None else lambda: further(question, shown),
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
        return writing.assemble(head, [writing.counterexample(labels, outcome.witness)])
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


@dataclass(frozen=True, eq=False)
class Every:
    """The certificate that some sets are all the cheapest ones, and what the checker said of it."""

    certificate: Certificate | None = None
    checked: Checked | None = None
    rejected: str = ""

    @property
    def meta(self) -> dict[str, Any]:
        said = {"rejected": self.rejected} if self.rejected else {}
        return said | ({"checked": False} if self.checked is None else {"checked": True, "proved": self.checked.kind})

    @property
    def proved(self) -> tuple[str, ...]:
        return () if self.checked is None else self.checked.proved


def every_set(question: Question, found: Sequence[tuple[Bools, Proved]], root: Node, self_check: bool = True) -> Every:
    if not found or any(proof.evidence is None for _, proof in found):
        return Every()
    claim = writing.all_claim([held for held, _ in found], question.costs, question.included, question.excluded)
    lines = writing.all_sets(question.classifier.labels, question.problem, found, root)
    certificate = writing.assemble(question.header(claim), lines)
    if not self_check:
        return Every(certificate)
    try:
        return Every(certificate, check(certificate, question.classifier))
    except (Rejected, NotACertificate) as error:
        return Every(rejected=str(error))


def self_checked(result: Explanation, classifier: Classifier) -> Explanation:
    """The result, lowered if the independent checker rejects its certificate: its words are a mere candidate then."""
    if result.certificate is None:
        return replace(result, meta={**result.meta, "checked": False})
    try:
        checked = check(result.certificate, classifier)
    except (Rejected, NotACertificate) as error:
        meta = {**result.meta, "checked": False, "rejected": str(error)}
        return replace(result, status="unknown", lower_bound=0.0, certificate=None, meta=meta, count=None)
    open_ = checked.kind == "cheapest" and result.status == "optimal" and not checked.optimal
    meta = {**result.meta, "checked": True, "proved": "sufficient" if open_ else checked.kind}
    return replace(result, meta=meta, proved=checked.proved)


def accepted(question: Question, answer: Verdict) -> tuple[Certificate, Checked] | None:
    """The certificate of an oracle's verdict and what the independent checker accepted; None where it did not."""
    certificate = getattr(public(question, answer), "certificate", None)
    if certificate is None:
        return None
    try:
        return certificate, check(certificate, question.classifier)
    except (Rejected, NotACertificate):
        return None


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
            shown = writing.assemble(head, [writing.counterexample(labels, witness)])
            named = question.witness(witness)
            assert named is not None
            return replace(answer, witness=named, certificate=shown)
        case Proved() | Unknown():
            return answer


# --- words for people ---


def summary(certificate: Certificate | None) -> dict[str, Any] | None:
    return None if certificate is None else certificate.summary()


def scarce(question: Question, outcome: Outcome) -> dict[str, Any]:
    """What makes an answer say less than it seems: nothing may change, or substitutes that the classifier ignores."""
    strange = unknown_substitutes(question)
    empty = outcome.held is not None and not outcome.held.any()
    reason = nothing(question) or (_only_unknown(question, strange) if empty else "")
    return ({"nothing": reason} if reason else {}) | ({"unknown_substitutes": strange} if strange else {})


def nothing(question: Question) -> str:
    """Why no word may change at all; empty where some word may."""
    if (question.problem.region.movable() & question.features).any():
        return ""
    match question.perturbation.to_dict():
        case {"k": 0}:
            return "with k = 0 no word may become another"
        case {"eps": 0 | 0.0}:
            return "within a radius of 0 no word may change"
        case {"swaps": {}}:
            return "no word of the text has a substitute"
        case _:
            return "no word of the text may change"


def _only_unknown(question: Question, strange: Sequence[str]) -> str:
    """Where words could only become others that the classifier does not know."""
    movable = question.problem.region.movable() & question.features
    only = question.perturbation.to_dict()["kind"] == "word-swap" and strange and not _known(question, movable)
    return "no substitute is in the classifier's vocabulary: words could only become unknown ones" if only else ""


def _known(question: Question, movable: Bools) -> bool:
    """Whether some word may become one that the classifier knows."""
    names, unknown = question.problem.region.names, question.classifier.lookup[question.classifier.unknown]
    places = (int(i) for i in np.flatnonzero(movable))
    return any(question.classifier.index_of(name) != unknown for i in places for name in names[i][1:])


def unknown_substitutes(question: Question) -> list[str]:
    """Substitutes outside the vocabulary: the classifier reads each of them as an unknown word."""
    if question.blackbox is not None or not isinstance(question.problem.region, Choice):
        return []
    classifier, region = question.classifier, question.problem.region
    unknown, own = classifier.lookup[classifier.unknown], {classifier.unknown, classifier.pad}
    names = {name for i in np.flatnonzero(question.features) for name in region.names[int(i)][1:]} - own
    return sorted(name for name in names if classifier.index_of(name) == unknown)

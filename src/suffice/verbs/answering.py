"""Answering: what a search or an oracle found becomes an answer with a certificate that the checker
has accepted.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from suffice import work
from suffice.errors import NotACertificate, Rejected
from suffice.model.network import Bools
from suffice.optimise import certificate_lines
from suffice.optimise.node import Node, provable_bound
from suffice.optimise.word_tree import Outcome
from suffice.proof.certificate import Certificate
from suffice.proof.check import Checked
from suffice.verbs.accepting import accepted
from suffice.verbs.alternatives import alternatives
from suffice.verbs.engines import single_threaded
from suffice.verbs.explanation import Explanation, Status, infeasible
from suffice.verbs.further import further
from suffice.verbs.question import Question
from suffice.verbs.scarce import caveats
from suffice.verbs.typed import typeable
from suffice.verbs.why import details
from suffice.verbs.wording import complaint
from suffice.verify.contract import Proved, Refuted, Unknown, Verdict

FORMAT = 1


def finished(question: Question, outcome: Outcome, started: float, self_check: bool) -> Explanation:
    """The answer to a search that has ended; where the checker ran out of time, without the lower
    bound.
    """
    stats = {
        "seconds": time.monotonic() - started,
        **outcome.stats,
        "work": work.so_far(),
    }
    with single_threaded():
        if outcome.witness is not None:
            outcome = replace(
                outcome, witness=typeable(question, outcome.witness, question.excluded)
            )
        result = _explanation(question, outcome, _certificate(question, outcome), stats)
        if not self_check:
            return result
        checked = self_checked(result, question)
        if outcome.finished or "unchecked" not in checked.meta:
            return checked
        alone = replace(
            outcome,
            root=Node(outcome.root.held, outcome.root.out, question.costs.of(outcome.root.held)),
        )
        return self_checked(
            _explanation(question, alone, _certificate(question, alone), stats), question
        )


def _explanation(
    question: Question, outcome: Outcome, certificate: Certificate | None, stats: Mapping[str, Any]
) -> Explanation:
    reason = {"reason": outcome.reason} if outcome.reason else {}
    meta = (
        question.meta()
        | reason
        | caveats(question, _held_nothing(outcome), is_tied=_may_tie(outcome))
    )
    if outcome.witness is not None:
        seen = question.witness(outcome.witness)
        return infeasible(question.label, question.text, seen, certificate, dict(stats), meta)
    everything = question.problem.features & ~question.excluded
    shown = everything if outcome.held is None else outcome.held
    positions = tuple(certificate_lines.positions(shown))
    return Explanation(
        status=_status(outcome, everything),
        positions=positions,
        words=tuple(question.text.words[i] for i in positions if i < len(question.text.words)),
        cost=question.costs.price(question.costs.of(shown)),
        lower_bound=question.costs.price(outcome.lower),
        label=question.label,
        text=question.text,
        certificate=certificate,
        stats=dict(stats),
        meta=meta,
        look=lambda: details(question, shown),
        count=(lambda: alternatives(question, outcome)) if outcome.finished else None,
        ahead=lambda: further(question, shown),
    )


def _status(outcome: Outcome, everything: Bools) -> Status:
    if outcome.held is None or outcome.proof is None:
        return "unknown"
    if outcome.finished:
        return "optimal"
    return "sufficient" if (outcome.held != everything).any() else "unknown"


def _certificate(question: Question, outcome: Outcome) -> Certificate | None:
    """The evidence as a certificate; None where an external solver's word is all there is."""
    labels = question.classifier.labels
    problem = question.problem
    if outcome.witness is not None:
        head = question.header(
            {"kind": "infeasible", "exclude": certificate_lines.positions(question.excluded)}
        )
        return certificate_lines.assemble(
            head, [certificate_lines.counterexample(labels, outcome.witness)]
        )
    if outcome.held is None or outcome.proof is None or outcome.proof.evidence is None:
        return None
    proof = certificate_lines.sufficient(labels, problem, outcome.proof)
    least = provable_bound(outcome.root, question.costs.of, outcome.lower)
    if least is None:
        head = question.header(
            {"kind": "sufficient", "positions": certificate_lines.positions(outcome.held)}
        )
        return certificate_lines.assemble(head, proof)
    lower, tree = least
    claim = certificate_lines.cheapest_claim(
        outcome.held, question.costs, question.included, question.excluded, lower
    )
    return certificate_lines.assemble(
        question.header(claim), proof, certificate_lines.cheapest(labels, problem, tree)
    )


@dataclass(frozen=True, eq=False)
class Every:
    """The certificate that some sets are all the cheapest ones, and what the checker said of it."""

    certificate: Certificate | None = None
    checked: Checked | None = None
    complaint: dict[str, str] = field(default_factory=dict)

    @property
    def meta(self) -> dict[str, Any]:
        said = (
            {"checked": False}
            if self.checked is None
            else {"checked": True, "proved": self.checked.kind}
        )
        return {**self.complaint, **said}

    @property
    def proved(self) -> tuple[str, ...]:
        return () if self.checked is None else self.checked.proved


def every_set(
    question: Question, found: Sequence[tuple[Bools, Proved]], root: Node, self_check: bool = True
) -> Every:
    if not found or any(proof.evidence is None for _, proof in found):
        return Every()
    claim = certificate_lines.all_claim(
        [held for held, _ in found], question.costs, question.included, question.excluded
    )
    lines = certificate_lines.all_sets(question.classifier.labels, question.problem, found, root)
    return every_of(question, certificate_lines.assemble(question.header(claim), lines), self_check)


def every_of(question: Question, certificate: Certificate, self_check: bool) -> Every:
    """The certificate and what the checker says of it, if it is asked."""
    if not self_check:
        return Every(certificate)
    try:
        return Every(certificate, accepted(question, certificate))
    except (Rejected, NotACertificate) as error:
        return Every(complaint=complaint(error))


def self_checked(result: Explanation, question: Question) -> Explanation:
    """The result, lowered if the independent checker does not accept its certificate: a mere
    candidate then.
    """
    if result.certificate is None:
        return replace(result, meta={**result.meta, "checked": False})
    try:
        checked = accepted(question, result.certificate)
    except (Rejected, NotACertificate) as error:
        meta = {**result.meta, "checked": False, **complaint(error)}
        return replace(
            result, status="unknown", lower_bound=0.0, certificate=None, meta=meta, count=None
        )
    open_ = checked.kind == "cheapest" and result.status == "optimal" and not checked.optimal
    meta = {**result.meta, "checked": True, "proved": "sufficient" if open_ else checked.kind}
    return replace(
        result, lower_bound=_least(result, question, checked), meta=meta, proved=checked.proved
    )


def _least(result: Explanation, question: Question, checked: Checked) -> float:
    """The lower bound that is said where the search was stopped: what the checker accepted, and no
    more.
    """
    if result.status in ("optimal", "infeasible") or result.meta["method"] != "search":
        return result.lower_bound
    return question.costs.price(
        question.costs.of(question.included) if checked.lower is None else checked.lower
    )


def public(question: Question, answer: Verdict) -> Verdict:
    """An oracle's verdict with names for people and a certificate where there is evidence."""
    labels = question.classifier.labels
    problem = question.problem
    held = certificate_lines.positions(question.included)
    match answer:
        case Proved(evidence=evidence) if evidence is not None:
            head = question.header({"kind": "sufficient", "positions": held})
            return replace(
                answer,
                certificate=certificate_lines.assemble(
                    head, certificate_lines.sufficient(labels, problem, answer)
                ),
            )
        case Refuted(witness=witness):
            head = question.header({"kind": "refuted", "positions": held})
            shown = certificate_lines.assemble(
                head, [certificate_lines.counterexample(labels, witness)]
            )
            named = question.witness(witness)
            assert named is not None
            return replace(answer, witness=named, certificate=shown)
        case Proved() | Unknown():
            return answer


# --- words for people ---


def summary(certificate: Certificate | None) -> dict[str, Any] | None:
    return None if certificate is None else certificate.summary()


def _may_tie(outcome: Outcome) -> bool:
    """Whether the text as it stands is a tie, or nobody has seen that it is none."""
    return not outcome.finished or (outcome.witness is not None and not outcome.witness.positions)


def _held_nothing(outcome: Outcome) -> bool:
    return outcome.held is not None and not outcome.held.any()

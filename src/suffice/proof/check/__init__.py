"""The independent checker: what a certificate (docs/certificate.md) proves, or its first line that
fails.

It shares no code with the prover and trusts neither the file nor floating point. Read it in this
order: limits.py (lines, limits), header.py (the question and the claim), sets.py (what words may
become), inputs.py (over which texts a proof speaks), curves.py, max_lines.py and layers.py (what a
network is made of), leaf.py, linear_forms.py and network.py (bounds; why rounding cannot make them
wrong), with relu_planes.py, tuple_fixing.py and interval_sums.py beside it, points.py
(counterexamples), evidence.py (trees; why they cover everything), describe.py and matches.py (words
for people, and comparison with a question).

What it trusts, and nothing else: Python's integers and fractions; NumPy's and SciPy's matrix
products to be sums of products in some order, with IEEE doubles; their smooth functions up to 2^-44
(curves.py); json, gzip and base64; and of suffice the classifier as it was loaded: its weights,
embedding, vocabulary, labels, digest and how it reads words (suffice.model), and the reader of the
file (suffice.proof.certificate).

Method: a certifying algorithm's checker (theory, section 13).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from suffice.errors import InputError, NotACertificate, NotChecked
from suffice.model.classifier import Classifier
from suffice.model.network import Bools
from suffice.model.text import Text
from suffice.proof.certificate import read
from suffice.proof.check.describe import facts, sentence
from suffice.proof.check.evidence import EvidenceCheck
from suffice.proof.check.header import All, Claim, Header, Independent, Infeasible, read_header
from suffice.proof.check.limits import MALFORMED_ERRORS, Limit, LineReader, rejection
from suffice.proof.check.matches import Cost, GivenQuestion, compare, given_question
from suffice.proof.check.sets import Sets, read_sets

__all__ = ["Checked", "check"]

# bytes of a line after the header, and 100 more for each input or output of a step
MAX_LINE = 2**20


@dataclass(frozen=True, repr=False)
class Checked:
    """What a certificate proves, of the words at `positions` (of the claim "all": those of its
    first set).

    `cost` and `lower` count units of cost, each worth `unit`; `sentence` says all of it, `proved`
    what is proved in short sentences. `sampled`: of a black box only some of the texts were run, so
    that nothing is proved.
    """

    kind: str
    label: str
    positions: tuple[int, ...]
    cost: int | None
    lower: int | None
    optimal: bool
    sentence: str
    proved: tuple[str, ...]
    sampled: bool = False
    unit: Fraction | None = None

    def __repr__(self) -> str:
        cost = "" if self.cost is None else f", cost {self.cost}"
        cost += "" if self.lower is None else f", none below {self.lower}"
        return (
            f"<Checked {'optimal' if self.optimal else self.kind}: {self.label!r}, words "
            f"{self.positions}{cost}>"
        )


def check(
    certificate: Any,
    classifier: Classifier,
    text: str | Sequence[str] | Text | None = None,
    perturbation: Any = None,
    cost: Cost | None = None,
    include: Sequence[str | int] | None = None,
    exclude: Sequence[str | int] | None = None,
    seconds: float = 60.0,
    more: Mapping[str, Any] | None = None,
) -> Checked:
    """What a certificate (a path, bytes or an object with `lines`) proves; Rejected names the first
    line that fails.

    What else is given must be what the certificate is about, or it is rejected too: the text, the
    perturbation set, the cost of words ({} for 1 each), the words (or positions) to include and
    exclude, and `more` (padding, towards). What is not checked after `seconds` is NotChecked, which
    is a kind of Rejected.
    """
    if not isinstance(classifier, Classifier):
        raise InputError(
            f"A certificate is checked with a Classifier, not {classifier!r}: use load(name) first."
        )
    limit = Limit.of(seconds)
    question = given_question(classifier, text, perturbation, cost, include, exclude, more)
    evidence = LineReader(lines_of(certificate, classifier), limit)
    with np.errstate(all="ignore"):
        return _checked(evidence, classifier, question)


def lines_of(certificate: Any, classifier: Classifier) -> Iterator[Any]:
    """The lines of a certificate, none of them longer than this classifier needs."""
    if hasattr(certificate, "lines"):
        return iter(certificate.lines)
    return read(
        certificate,
        MAX_LINE + 100 * sum(sum(step.weight.shape) for step in classifier.network.steps),
    )


def _checked(evidence: LineReader, classifier: Classifier, question: GivenQuestion) -> Checked:
    walk: EvidenceCheck | None = None
    try:
        evidence.number = 1
        header = read_header(next(evidence.lines, None), classifier)
        compare(header, question, classifier)
        sets = read_sets(header, classifier, evidence.limit)
        walk = EvidenceCheck(classifier, header, sets, evidence)
        walk.run()
        return _answer(header, sets, classifier)
    except NotChecked as error:
        raise NotChecked(error.line or evidence.number, error.reason) from None
    except NotACertificate:
        raise
    except MALFORMED_ERRORS as error:
        rejected = rejection(error, evidence.number)
    if walk is not None:
        walk.check_queue()  # a leaf that still waits may be the first line that fails
    raise rejected


def _answer(header: Header, sets: Sets, classifier: Classifier) -> Checked:
    claim = header.claim
    cost = getattr(claim, "cost", None)
    lower = getattr(claim, "lower", None)
    if isinstance(claim, All):
        lower = cost
    places = tuple(np.flatnonzero(_about(claim)).tolist())
    proved = (f"the text has the label {header.label!r}", *facts(header))
    said = sentence(header, sets, classifier)
    optimal = cost is not None and cost == lower
    costs = getattr(claim, "costs", None)
    unit = None if costs is None else costs.unit
    return Checked(header.kind, header.label, places, cost, lower, optimal, said, proved, unit=unit)


def _about(claim: Claim) -> Bools:
    """The words that a claim is about."""
    match claim:
        case Independent(of):
            return of
        case Infeasible(exclude):
            return exclude
        case All(sets):
            return sets[0]
        case _:
            return np.zeros(0, dtype=bool) if claim.positions is None else claim.positions

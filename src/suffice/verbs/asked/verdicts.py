"""Verdicts: are words of a text before a black box enough, and does the label stand without them?"""

from __future__ import annotations

import math

from suffice.errors import NotACertificate, Rejected
from suffice.proof.certificate import Certificate
from suffice.prove.asked import OutOfBudget
from suffice.prove.verdict import Proved, Refuted, Unknown, Verdict
from suffice.search.asking import Asking
from suffice.search.covers import bits, mask_of
from suffice.search.grown import Grown
from suffice.search.opened import Opened
from suffice.verbs.accepting import accepted
from suffice.verbs.asked.searching import asking
from suffice.verbs.asked.writing import Line, asked_line, flip_line, header
from suffice.verbs.question import Question


def sufficiency(question: Question) -> Verdict:
    """Are the included words enough?"""
    held = mask_of(question.include)
    enough, not_enough = ({"kind": kind, "positions": bits(held)} for kind in ("sufficient", "refuted"))
    return _verdict(question, held, enough, not_enough)


def independence(question: Question) -> Verdict:
    """Does the label stand whatever becomes of the excluded words?"""
    out = mask_of(question.exclude)
    enough, not_enough = {"kind": "independent", "of": bits(out)}, {"kind": "infeasible", "exclude": bits(out)}
    return _verdict(question, (1 << len(question.text)) - 1 & ~out, enough, not_enough)


def _verdict(question: Question, held: int, enough: Line, not_enough: Line) -> Verdict:
    """Are these words enough? The claims are what a certificate says if they are, and if not."""
    hunt = asking(question)
    computed = isinstance(hunt, Opened | Grown)
    try:
        base = hunt.asked.margins([()])
        flip = hunt.asked.flip(()) if base[0] <= 0 else hunt.decide(held)
        hunt.asked.settle()
    except OutOfBudget as spent:
        return Unknown(str(spent), by=_by(hunt))
    except KeyboardInterrupt:
        return Unknown("interrupted", by=_by(hunt))
    how = _by(hunt)
    if flip is not None:
        shown = Certificate((header(question, not_enough), flip_line(question, flip)))
        return Refuted(hunt.asked.witness(flip), how, shown if flip.change else None)
    if math.isnan(base[0]) or not hunt.known(held):
        return Unknown(hunt.closeness(), by=how)
    shown = Certificate((header(question, enough), asked_line(hunt, held)))
    return _agreed(question, shown) if computed else Proved(by=how, certificate=shown)


def _by(hunt: Asking) -> str:
    """What an answer rests on."""
    how = "computing" if isinstance(hunt, Opened | Grown) else "asking"
    return f"{how}, and a file of answers" if hunt.asked.blackbox.answers.rests else how


def _agreed(question: Question, certificate: Certificate) -> Verdict:
    """Proved, where the checker comes to the same: what was computed counts only then."""
    try:
        proved = accepted(question, certificate).proved
    except (Rejected, NotACertificate) as error:
        return Unknown(f"the checker did not accept it: {error}", by="computing")
    return Proved(by="computing", certificate=certificate, proved=proved)

"""Verdicts: are words of a text before a black box enough, and does the label stand
without them?
"""

from __future__ import annotations

import math

from suffice.errors import NotACertificate, Rejected
from suffice.optimise.cuts import CutSearch
from suffice.optimise.min_cost_hitting_set import bits, mask_of
from suffice.optimise.query_search import QuerySearch
from suffice.optimise.table_search import TableSearch
from suffice.proof.certificate import Certificate
from suffice.verbs.accepting import accepted
from suffice.verbs.black_box.evidence_lines import Line, asked_line, flip_line, header
from suffice.verbs.black_box.searching import query_search
from suffice.verbs.question import Question
from suffice.verify.contract import Proved, Refuted, Unknown, Verdict
from suffice.verify.queries import OutOfBudget


def sufficiency(question: Question) -> Verdict:
    """Are the included words enough?"""
    held = mask_of(question.include)
    enough, not_enough = (
        {"kind": kind, "positions": bits(held)} for kind in ("sufficient", "refuted")
    )
    return _verdict(question, held, enough, not_enough)


def independence(question: Question) -> Verdict:
    """Does the label stand whatever becomes of the excluded words?"""
    out = mask_of(question.exclude)
    enough = {"kind": "independent", "of": bits(out)}
    not_enough = {"kind": "infeasible", "exclude": bits(out)}
    return _verdict(question, (1 << len(question.text)) - 1 & ~out, enough, not_enough)


def _verdict(question: Question, held: int, enough: Line, not_enough: Line) -> Verdict:
    """Are these words enough? The claims are what a certificate says if they are, and if not."""
    search = query_search(question)
    computed = isinstance(search, CutSearch | TableSearch)
    try:
        own_margin = search.session.margins([()])
        flip = search.session.observed_flip(()) if own_margin[0] <= 0 else search.decide(held)
        search.session.recheck_answers()
    except OutOfBudget as spent:
        return Unknown(str(spent), by=_authority(search))
    except KeyboardInterrupt:
        return Unknown("interrupted", by=_authority(search))
    by = _authority(search)
    if flip is not None:
        certificate = Certificate((header(question, not_enough), flip_line(question, flip)))
        return Refuted(search.session.witness(flip), by, certificate if flip.change else None)
    if math.isnan(own_margin[0]) or not search.is_proved(held):
        return Unknown(search.doubt_reason(), by=by)
    certificate = Certificate((header(question, enough), asked_line(search, held)))
    return _agreed(question, certificate) if computed else Proved(by=by, certificate=certificate)


def _authority(search: QuerySearch) -> str:
    """What an answer rests on."""
    how = "computing" if isinstance(search, CutSearch | TableSearch) else "asking"
    return f"{how}, and a file of answers" if search.session.blackbox.answers.rests else how


def _agreed(question: Question, certificate: Certificate) -> Verdict:
    """Proved, where the checker comes to the same: what was computed counts only then."""
    try:
        proved = accepted(question, certificate).proved
    except (Rejected, NotACertificate) as error:
        return Unknown(f"the checker did not accept it: {error}", by="computing")
    return Proved(by="computing", certificate=certificate, proved=proved)

"""Accepting: the one way in which every verb has its certificates read by the
independent checker.
"""

from __future__ import annotations

import math
from dataclasses import replace

from suffice.errors import NotACertificate, Rejected
from suffice.proof.certificate import Certificate
from suffice.proof.check import Checked, check
from suffice.verbs.question import Question
from suffice.verify.contract import Unknown, Verdict


def accepted(question: Question, certificate: Certificate) -> Checked:
    """What the checker accepts, else Rejected; what a black box has answered before counts as run.

    A check that takes too long is no acceptance; where texts were only run there is next to nothing
    left to do. Of what a file of answers has said a random part is run again; where more than that
    rests on it nothing is proved.
    """
    if question.blackbox is not None:
        from suffice.proof.replay import (  # with all that reads proofs about pipelines
            Wanted,
            replay,
        )

        seconds = math.inf if question.blackbox.bag is None else question.checking
        checked = replay(certificate, question.asked.blackbox, Wanted(seconds=seconds, anew=False))
        question.asked.recheck_answers()
        return (
            replace(checked, kind="filed", proved=())
            if question.asked.blackbox.answers.rests
            else checked
        )
    return check(certificate, question.classifier, seconds=question.checking)


def accepted_verdict(question: Question, answer: Verdict) -> Verdict:
    """A verdict with what the checker accepted of its certificate, in words; Unknown where it did
    not accept it.

    A verdict without a certificate (a solver's word, a tie) stays as it is, and nothing of it is
    called proved.
    """
    if isinstance(answer, Unknown) or answer.certificate is None or answer.proved:
        return answer
    try:
        return replace(answer, proved=accepted(question, answer.certificate).proved)
    except (Rejected, NotACertificate) as error:
        return Unknown(f"the checker did not accept the certificate: {error}", by=answer.by)

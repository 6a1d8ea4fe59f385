"""Checking: a certificate goes to the checker of its kind: proofs about networks, or texts that are
run again.

Method: a checker for each kind of evidence (theory, section 13).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from suffice.errors import InputError
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.text import Text
from suffice.proof.check import Checked
from suffice.proof.check import check as check_network
from suffice.proof.replay import Wanted, replay

PARTS = ("text", "perturbation", "include", "exclude")  # of a question, as a person gives them


def check(
    certificate: Any,
    classifier: Classifier | BlackBox,
    text: str | Sequence[str] | Text | None = None,
    perturbation: Any = None,
    cost: Mapping[str, float] | Callable[[str], float] | None = None,
    include: Sequence[str | int] | None = None,
    exclude: Sequence[str | int] | None = None,
    seconds: float = 60.0,
    sample: int | None = None,
    question: Any = None,
) -> Checked:
    """What a certificate (a path, bytes or an object with `lines`) proves; Rejected names the first
    line that fails.

    What else is given must be what the certificate is about, or it is rejected too: the text, the
    perturbation set, the cost of words ({} for 1 each), the words (or positions) to include and
    exclude; or all of a `question` (sf.Question), which also says whether padding may change and to
    which label a flip must lead. What is not checked after `seconds` is NotChecked, which is a kind
    of Rejected. With a black box, texts are run again: all of them, or with `sample` so many, which
    proves nothing and says so.
    """
    more: Mapping[str, Any] | None = None
    if question is not None:
        if any(part is not None for part in (text, perturbation, cost, include, exclude)):
            raise InputError(
                "A question says all of it: leave text, perturbation, cost, include and "
                "exclude out."
            )
        text, perturbation, include, exclude = (getattr(question, name) for name in PARTS)
        cost = question.cost or {}
        more = {"padding": question.padding, "towards": question.more.get("towards")}
    if isinstance(classifier, BlackBox):
        wanted = Wanted(text, perturbation, cost, include, exclude, seconds, sample, more=more)
        return replay(certificate, classifier, wanted)
    if sample is not None:
        raise InputError(
            "A sample is for certificates about black boxes; others are checked in full."
        )
    return check_network(
        certificate, classifier, text, perturbation, cost, include, exclude, seconds, more
    )

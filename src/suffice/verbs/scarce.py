"""Scarce: what makes an answer say less than it seems, because hardly anything was allowed to
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice.model.network import Bools
from suffice.sets.regions import Choice
from suffice.verbs.question import Question


def caveats(question: Question, label_stays: bool, is_tied: bool = False) -> dict[str, Any]:
    """What makes an answer say less than it seems: nothing may change, or substitutes that the
    classifier ignores.

    `stays` says that the answer is that the label stays, whatever is changed; `tied`, that it is a
    tie as it stands, or may be one.
    """
    unknown = unknown_substitutes(question)
    reason = (
        ""
        if is_tied
        else why_nothing_changes(question)
        or (why_only_unknown(question, unknown) if label_stays else "")
    )
    return ({"nothing": reason} if reason else {}) | (
        {"unknown_substitutes": unknown} if unknown else {}
    )


def why_nothing_changes(question: Question) -> str:
    """Why no word may change at all; empty where some word may."""
    if (question.movable & question.features).any():
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


def why_only_unknown(question: Question, unknown: Sequence[str], among: Bools | None = None) -> str:
    """Where words (or those `among` them) could only become others that the classifier does not
    know.
    """
    movable = question.movable & (question.features if among is None else among)
    only = (
        question.perturbation.to_dict()["kind"] == "word-swap"
        and unknown
        and not _some_known(question, movable)
    )
    return (
        "no substitute is in the classifier's vocabulary: words could only become unknown ones"
        if only
        else ""
    )


def _some_known(question: Question, movable: Bools) -> bool:
    """Whether some word may become one that the classifier knows."""
    names = question.problem.region.names
    unknown = question.classifier.lookup[question.classifier.unknown]
    places = (int(i) for i in np.flatnonzero(movable))
    return any(
        question.classifier.index_of(name) != unknown for i in places for name in names[i][1:]
    )


def unknown_substitutes(question: Question) -> list[str]:
    """Substitutes outside the vocabulary: the classifier reads each of them as an unknown word."""
    if question.blackbox is not None or not isinstance(question.problem.region, Choice):
        return []
    classifier = question.classifier
    region = question.problem.region
    unknown = classifier.lookup[classifier.unknown]
    own = {classifier.unknown, classifier.pad}
    names = {
        name for i in np.flatnonzero(question.features) for name in region.names[int(i)][1:]
    } - own
    return sorted(name for name in names if classifier.index_of(name) == unknown)

"""Scarce: what makes an answer say less than it seems, because hardly anything was allowed to change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice.model.network import Bools
from suffice.sets.regions import Choice
from suffice.verbs.question import Question


def scarce(question: Question, stays: bool, tied: bool = False) -> dict[str, Any]:
    """What makes an answer say less than it seems: nothing may change, or substitutes that the classifier ignores.

    `stays` says that the answer is that the label stays, whatever is changed; `tied`, that it is a tie as it stands, or
    may be one.
    """
    strange = unknown_substitutes(question)
    reason = "" if tied else nothing(question) or (only_unknown(question, strange) if stays else "")
    return ({"nothing": reason} if reason else {}) | ({"unknown_substitutes": strange} if strange else {})


def nothing(question: Question) -> str:
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


def only_unknown(question: Question, strange: Sequence[str], among: Bools | None = None) -> str:
    """Where words (or those `among` them) could only become others that the classifier does not know."""
    movable = question.movable & (question.features if among is None else among)
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

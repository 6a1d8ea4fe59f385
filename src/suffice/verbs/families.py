"""Families of sets, made from a number: what grows with it, and whether each lies
inside the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from suffice.errors import InputError
from suffice.model.network import Floats
from suffice.model.numbers import exactly
from suffice.sets.regions import Ball, Box, Choice, Hull, Region
from suffice.sets.table import BY_NAME, KINDS
from suffice.verbs.question import Question

LIMIT = "at_most"  # what grows where the sets stay and more of the words may change at once


def check_family(perturbation: Any) -> None:
    """Refuse what makes no sets from a number: a single set, or a class of sets that
    have no size.
    """
    if not callable(perturbation):
        raise InputError(
            f"Give what makes a set of each size (sf.KNNBox, say), not {perturbation!r:.80}."
        )
    if any(perturbation is kind.make for kind in KINDS if kind.grows is None):
        name = getattr(perturbation, "__name__", "")
        raise InputError(
            f"{name} has no size that could grow: give sf.KNNBox, sf.KNNHull, sf.EpsilonBall, "
            "or a function of the "
            f"number of words that may change at once, such as lambda r: sf.Deletion(at_most=r)."
        )


def parameter_of(sets: Sequence[Mapping[str, Any]]) -> str:
    """What differs between the sets: the field that makes their kind larger, the limit on changes
    at once, or more.
    """
    kind = BY_NAME.get(sets[0].get("kind", ""))
    grows = None if kind is None else kind.grows
    differing = {
        name
        for one in sets
        for name in one.keys() | sets[0].keys()
        if one.get(name) != sets[0].get(name)
    }
    if differing == {LIMIT}:
        return LIMIT
    return grows if grows is not None and differing <= {grows} else "size"


def check_grown(questions: Sequence[Question], sizes: Sequence[float]) -> None:
    """Refuse sets of which one is the same as the next, and sets that are not nested."""
    for (small, low), (large, high) in pairwise(zip(questions, sizes, strict=True)):
        if small.perturbation.to_dict() == large.perturbation.to_dict():
            raise InputError(
                f"The sets do not grow: they are the same at {exactly(low)} and at {exactly(high)}."
            )
    check_nested(questions, sizes)


def check_nested(questions: Sequence[Question], sizes: Sequence[float]) -> None:
    """Refuse sets that do not lie each inside the next: what a step says of the next would not
    hold.
    """
    for (small, low), (large, high) in pairwise(zip(questions, sizes, strict=True)):
        if not _inside(small, large):
            raise InputError(
                f"The sets do not grow: that of size {exactly(low)} is not inside that of "
                f"size {exactly(high)}."
            )


def _inside(small: Question, large: Question) -> bool:
    limits = [
        len(one.text) if one.perturbation.at_most is None else one.perturbation.at_most
        for one in (small, large)
    ]
    if limits[0] > limits[1]:
        return False
    if small.blackbox is not None:
        pairs = zip(small.asked.options, large.asked.options, strict=True)
        return all({*few} <= {*many} for few, many in pairs)
    return _region_inside(small.problem.region, large.problem.region)


def _region_inside(small: Region, large: Region) -> bool:
    match small, large:
        case Ball(), Ball():
            return small.p == large.p and small.radius <= large.radius
        case Box(), Box():
            return bool((large.lower <= small.lower).all() and (small.upper <= large.upper).all())
        case Hull(points=few), Hull(points=many):
            return _points_inside(few, many)
        case Choice(points=few), Choice(points=many):
            return _points_inside(few, many)
        case _:
            return False


def _points_inside(small: Floats, large: Floats) -> bool:
    pairs = zip(small, large, strict=True)
    return all(
        {point.tobytes() for point in few} <= {point.tobytes() for point in many}
        for few, many in pairs
    )

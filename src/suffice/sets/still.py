"""Coordinates that only say which word it is, such as whether it is counted: no set of vectors may
move them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from suffice.errors import InputError
from suffice.model.classifier import Classifier
from suffice.model.network import Bools
from suffice.sets.regions import Ball, Box, Choice, Hull, Region

WHY = (
    "This classifier comes from a network that counts or marks words by what they are, in "
    "coordinates beside their "
    "vectors, and the question would move such a coordinate on its own, which no text does"
)


def still(classifier: Classifier) -> list[int]:
    """The places of these coordinates in the embedding, as the import found them."""
    facts = classifier.meta.get("import")
    given = facts.get("still", ()) if isinstance(facts, Mapping) else ()
    listed = given if isinstance(given, list | tuple) else ()
    return [
        place for place in listed if isinstance(place, int) and 0 <= place < classifier.dimension
    ]


def refuse_moved(classifier: Classifier, region: Region, features: Bools) -> None:
    """A set that moves one of these coordinates of a word that may change, but by putting another
    word.
    """
    places = still(classifier)
    if not places:
        return
    match region:
        case Ball(radius=radius) if radius > 0:
            raise InputError(
                f"{WHY}: use KNNBox or KNNHull, or a set of real words such as Deletion or "
                "WordSwap."
            )
        case Box(lower=lower, upper=upper):
            moved = (lower < upper)[features][:, places]
        case Hull(points=points):
            moved = (points != points[:, :1])[features][:, :, places]
        case Choice() | Ball():
            return
    if np.any(moved):
        raise InputError(
            f"{WHY}: use a set of real words such as Deletion or WordSwap, or boxes without "
            "extent in the coordinates "
            f"{', '.join(map(str, places))}."
        )

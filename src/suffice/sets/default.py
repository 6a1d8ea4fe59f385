"""The set that is meant where none is named: a word may be removed or become one of the bundled substitutes."""

from __future__ import annotations

from suffice.sets.perturbations import Perturbation, RemoveOrSwap


def default_set(at_most: int | None = None) -> Perturbation:
    return RemoveOrSwap({}, at_most=at_most)

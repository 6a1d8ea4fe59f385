"""Searching: the search that a question about a black box takes, and how it went."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from suffice.model.bag import Bag
from suffice.prove.asked import Asked, Meter
from suffice.prove.layout import Layout, NotApart, laid_out
from suffice.prove.worst import Worst
from suffice.search.asking import Asking
from suffice.search.covers import bits, mask_of
from suffice.search.grown import Grown
from suffice.search.opened import Opened
from suffice.verbs.prefer import little
from suffice.verbs.question import Question
from suffice.verbs.running import OnProgress, check_progress


def asking(
    question: Question, on_progress: OnProgress | None = None, seconds: float | None = None, spent: int = 0
) -> Asking:
    """A search with a fresh meter; what the black box has said before is known.

    Where texts are limited, what this question has asked counts, and `spent` texts of others for the same answer.
    """
    asked = question.asked
    asked.blackbox.answers.begin()
    budget = question.budget if seconds is None else replace(question.budget, seconds=seconds)
    asked.meter = Meter(budget, question.max_queries, asked.meter.total + spent)
    wanted: dict[str, Any] = {
        "costs": [int(unit) for unit in question.costs.units],
        "include": mask_of(question.include),
        "exclude": mask_of(question.exclude),
        "avoid": mask_of(little(question)),
        "confidence": question.confidence,
        "perturbation": question.perturbation.to_dict(),
        "on_progress": _reporter(question, on_progress),
    }
    layout = _layout(asked)
    if layout is None:
        return Asking(asked, **wanted)
    if layout.bag.bounded:
        return Opened(asked, **wanted, worst=Worst(asked, layout))
    found = Grown(asked, **wanted, layout=layout)
    return found if found.fits else Asking(asked, **wanted)


def _layout(asked: Asked) -> Layout | None:
    """Where the model is laid open and the words of this text stay apart, its worst case can be computed."""
    if asked.blackbox.bag is None:
        return None
    try:
        return _laid_out(asked, asked.blackbox.bag)
    except NotApart:
        return None


def _laid_out(asked: Asked, bag: Bag) -> Layout:
    return laid_out(bag, asked.text, asked.options, neighbours=bag.bounded or bag.trees is not None)


def _reporter(question: Question, on_progress: OnProgress | None) -> Callable[[int, int, float, int], None] | None:
    if on_progress is None:
        return None
    check_progress(on_progress)

    def report(lower: int, upper: int, elapsed: float, held: int) -> None:
        on_progress(question.costs.price(lower), question.costs.price(upper), elapsed, tuple(bits(held)))

    return report


# --- how it went ---


def stats(search: Asking, started: float) -> dict[str, Any]:
    """How a search that has ended went, once it has paid for what it took from a file."""
    search.asked.settle()
    asked = search.asked.meter.spent
    return {"seconds": time.monotonic() - started, "queries": asked, "nodes": len(search.flips), "texts": asked}


def way(search: Asking) -> dict[str, str]:
    """Where the worst case was computed, that it was; where a model that is laid open had to be asked, why."""
    if isinstance(search, Opened):
        return {"computed": "the worst case was computed from the weights, and every flip was run"}
    if isinstance(search, Grown):
        how = "the trees" if search.layout.bag.trees is not None else "the features of every allowed text"
        return {"computed": f"the worst case was computed from {how}, and every flip was run"}
    bag = search.asked.blackbox.bag
    if bag is None:
        return {}
    why = "the tables of its trees would be larger, or it is short"
    try:
        _laid_out(search.asked, bag)
    except NotApart as reason:
        why = str(reason)
    return {"not_computed": f"This text was asked, not computed: {why}."}


def ran(search: Asking) -> dict[str, str]:
    """Why the flips of a model that is laid open were looked for by running texts."""
    if search.asked.blackbox.bag is None:
        return {}
    why = "flips are computed of linear models where all words cost the same"
    return {"not_computed": f"Flips were looked for by running texts: {why}."}

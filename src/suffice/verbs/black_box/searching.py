"""Searching: the search that a question about a black box takes, and how it went."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from suffice import work
from suffice.model.bag import Bag
from suffice.optimise.cuts import CutSearch
from suffice.optimise.min_cost_hitting_set import bits, mask_of
from suffice.optimise.query_search import QuerySearch
from suffice.optimise.table_search import TableSearch
from suffice.verbs.engines import OnProgress, check_progress
from suffice.verbs.prefer import low_content_words
from suffice.verbs.question import Question
from suffice.verify.queries import Meter, QuerySession
from suffice.verify.text.lattice import NoLattice, OptionLattice, build_lattice
from suffice.verify.text.worst_case import WorstCase


def query_search(
    question: Question,
    on_progress: OnProgress | None = None,
    seconds: float | None = None,
    spent: int = 0,
) -> QuerySearch:
    """A search with a fresh meter; what the black box has said before is known.

    Where texts are limited, what this question has asked counts, and `spent` texts of others for
    the same answer.
    """
    session = question.asked
    session.blackbox.answers.begin()
    budget = question.budget if seconds is None else replace(question.budget, seconds=seconds)
    session.meter = Meter(budget, question.max_queries, session.meter.total + spent)
    wanted: dict[str, Any] = {
        "costs": [int(unit) for unit in question.costs.units],
        "include": mask_of(question.include),
        "exclude": mask_of(question.exclude),
        "avoid": mask_of(low_content_words(question)),
        "confidence": question.confidence,
        "perturbation": question.perturbation.to_dict(),
        "on_progress": _reporter(question, on_progress),
    }
    lattice = _lattice(session)
    if lattice is None:
        return QuerySearch(session, **wanted)
    if lattice.bag.bounded:
        return CutSearch(session, **wanted, worst_case=WorstCase(session, lattice))
    tables = TableSearch(session, **wanted, lattice=lattice)
    return tables if tables.fits else QuerySearch(session, **wanted)


def _lattice(session: QuerySession) -> OptionLattice | None:
    """Where the model is laid open and the words of this text stay apart, its worst case can be
    computed.
    """
    if session.blackbox.bag is None:
        return None
    try:
        return _built_lattice(session, session.blackbox.bag)
    except NoLattice:
        return None


def _built_lattice(session: QuerySession, bag: Bag) -> OptionLattice:
    return build_lattice(
        bag, session.text, session.options, neighbours=bag.bounded or bag.trees is not None
    )


def _reporter(
    question: Question, on_progress: OnProgress | None
) -> Callable[[int, int, float, int], None] | None:
    if on_progress is None:
        return None
    check_progress(on_progress)

    def report(lower: int, upper: int, elapsed: float, held: int) -> None:
        on_progress(
            question.costs.price(lower), question.costs.price(upper), elapsed, tuple(bits(held))
        )

    return report


# --- how it went ---


def stats(search: QuerySearch, started: float) -> dict[str, Any]:
    """How a search that has ended went, once it has paid for what it took from a file."""
    search.session.recheck_answers()
    asked = search.session.meter.spent
    return {
        "seconds": time.monotonic() - started,
        "queries": asked,
        "nodes": len(search.flips),
        "texts": asked,
        "work": work.so_far(),
    }


def computation_note(search: QuerySearch) -> dict[str, str]:
    """Where the worst case was computed, that it was; where a model that is laid open had to be
    asked, why.
    """
    if isinstance(search, CutSearch):
        return {"computed": "the worst case was computed from the weights, and every flip was run"}
    if isinstance(search, TableSearch):
        how = (
            "the trees"
            if search.lattice.bag.trees is not None
            else "the features of every allowed text"
        )
        return {"computed": f"the worst case was computed from {how}, and every flip was run"}
    bag = search.session.blackbox.bag
    if bag is None:
        return {}
    why = "the tables of its trees would be larger, or it is short"
    try:
        _built_lattice(search.session, bag)
    except NoLattice as reason:
        why = str(reason)
    return {"not_computed": f"This text was asked, not computed: {why}."}


def flip_note(search: QuerySearch) -> dict[str, str]:
    """Why the flips of a model that is laid open were looked for by running texts."""
    if search.session.blackbox.bag is None:
        return {}
    why = "flips are computed of linear models where all words cost the same"
    return {"not_computed": f"Flips were looked for by running texts: {why}."}

"""Alternatives: the sets that are exactly as cheap as the one found, counted up to a limit when
somebody asks.
"""

from __future__ import annotations

from itertools import islice

from suffice.optimise.certificate_lines import positions
from suffice.optimise.word_tree import Outcome
from suffice.settings import RESOURCES
from suffice.verbs.details import Alternatives
from suffice.verbs.engines import engine_for, single_threaded
from suffice.verbs.question import Question
from suffice.verbs.why import needed_words
from suffice.verify.contract import Budget

LIMIT = 50  # sets looked for


def alternatives(question: Question, outcome: Outcome) -> Alternatives:
    """Every set of the optimal cost, as far as the limits go."""
    assert outcome.held is not None
    if outcome.upper == question.costs.of(
        question.included
    ):  # only what was asked for: nothing else is as cheap
        return alternatives_of(question, {tuple(positions(outcome.held))})
    with single_threaded():
        first = tuple(positions(outcome.held))
        budget = Budget(min(RESOURCES.alternatives_seconds, question.seconds / 10))
        others, all_found = _others(question, outcome.upper, budget)
        found = {first, *others}
        complete = len(found) < LIMIT and all_found
        return alternatives_of(question, found, None if complete else needed_words(question))


def _others(question: Question, cost: int, budget: Budget) -> tuple[list[tuple[int, ...]], bool]:
    """Sets of that cost, and whether they are all."""
    equal = engine_for(question, budget, None)
    sets = [tuple(positions(held)) for held, _ in islice(equal.sets(cost), LIMIT)]
    return sets, equal.complete


def alternatives_of(
    question: Question, found: set[tuple[int, ...]], needed: set[int] | None = None
) -> Alternatives:
    """The sets for people; where they may not be all, with the words that every explanation must
    hold.
    """
    words = question.text.words
    complete = needed is None
    everywhere = set.intersection(*map(set, found)) if needed is None else needed
    somewhere = set.union(*map(set, found)) - everywhere
    return Alternatives(
        sets=tuple(sorted(found)),
        complete=complete,
        in_all=tuple(word for word in words if word.position in everywhere),
        in_some=tuple(word for word in words if word.position in somewhere),
    )

"""Further: the next question to ask of a black box where an answer says little, from texts that
were run.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

import numpy as np

from suffice.optimise.greedy_flip import greedy_attack
from suffice.optimise.min_cost_hitting_set import bits
from suffice.optimise.query_search import QuerySearch
from suffice.settings import RESOURCES
from suffice.verbs.details import Further
from suffice.verbs.further import DOUBLINGS, FEW_WORDS, enough_of, limited
from suffice.verbs.question import Question
from suffice.verbs.wording import can
from suffice.verify.contract import Budget
from suffice.verify.queries import Meter, OutOfBudget


def spare_meter(question: Question, search: QuerySearch) -> Meter:
    """What may be spent after the answer: as many texts again, and none where texts may
    cost money.
    """
    box = question.asked.blackbox
    paid = question.max_queries is not None or box.cache is not None
    return Meter(
        Budget(min(RESOURCES.further_seconds, question.seconds / 10)),
        0 if paid else max(search.session.meter.spent, 1),
    )


def further(question: Question, search: QuerySearch, held: int) -> Further | None:
    """More changes at once where no word is needed, fewer where most are; None where the answer
    says enough.
    """
    if search.include or search.exclude:
        return None
    total = search.everything.bit_count()
    count = held.bit_count()
    try:
        if count == 0:
            return _first_flip(question, search)
        if 2 * count >= total and count > FEW_WORDS:
            return _one_at_a_time(question, search, total, count)
    except OutOfBudget:
        pass
    return None


def _first_flip(question: Question, search: QuerySearch) -> Further | None:
    """So many changes at once that some word is needed: a flip that was run says so."""
    session, meter = search.session, spare_meter(question, search)
    if session.at_most is None:
        return None
    for limit in takewhile(
        lambda more: more <= session.movable.bit_count(),
        (session.at_most * 2**i for i in range(1, DOUBLINGS)),
    ):
        wider = replace(session, at_most=limit, meter=meter)
        flip = greedy_attack(wider, bits(session.movable))
        if flip is not None:
            size = len(flip.change)
            shown = session.witness(flip)
            deed = can(question.label, shown.label, tie=shown.margin >= 0)
            seen = f"If up to {size} words may change at once, {deed}: some word is needed then."
            return Further(seen, limited(question, size))
    return None


def _one_at_a_time(
    question: Question, search: QuerySearch, total: int, count: int
) -> Further | None:
    """Most words are held against many changes at once; against single ones those that flip alone
    are enough.
    """
    session = replace(search.session, at_most=1, meter=spare_meter(question, search))
    singles = [((i, word),) for i, words in enumerate(session.options) for word in words]
    margins = session.margins(singles)
    alone = {change[0][0] for change, margin in zip(singles, margins, strict=True) if margin <= 0}
    if len(alone) >= count or np.isnan(margins).any():
        return None
    return Further(
        f"If only one word may change at a time, {enough_of(len(alone), total)}.",
        limited(question, 1),
    )

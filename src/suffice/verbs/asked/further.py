"""Further: the next question to ask of a black box where an answer says little, from texts that were run."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

import numpy as np

from suffice.prove.asked import Meter, OutOfBudget
from suffice.prove.verdict import Budget
from suffice.search.asking import Asking
from suffice.search.covers import bits
from suffice.search.greedy import attack
from suffice.verbs.details import Further
from suffice.verbs.further import enough_of, limited
from suffice.verbs.question import Question
from suffice.verbs.wording import can

SECONDS = 2.0  # for the look; and no more than a tenth of the question's own limit
FEW = 3  # words that nobody finds too many


def spare(question: Question, search: Asking) -> Meter:
    """What may be spent after the answer: as many texts again, and none where texts may cost money."""
    box = question.asked.blackbox
    paid = question.max_queries is not None or box.cache is not None
    return Meter(Budget(min(SECONDS, question.seconds / 10)), 0 if paid else max(search.asked.meter.spent, 1))


def further(question: Question, search: Asking, held: int) -> Further | None:
    """More changes at once where no word is needed, fewer where most are; None where the answer says enough."""
    if search.include or search.exclude:
        return None
    total, count = search.everything.bit_count(), held.bit_count()
    try:
        if count == 0:
            return _first_flip(question, search)
        if 2 * count >= total and count > FEW:
            return _one_at_a_time(question, search, total, count)
    except OutOfBudget:
        pass
    return None


def _first_flip(question: Question, search: Asking) -> Further | None:
    """So many changes at once that some word is needed: a flip that was run says so."""
    asked, meter = search.asked, spare(question, search)
    if asked.at_most is None:
        return None
    for limit in takewhile(lambda more: more <= asked.movable.bit_count(), (asked.at_most * 2**i for i in range(1, 9))):
        wider = replace(asked, at_most=limit, meter=meter)
        flip = attack(wider, bits(asked.movable))
        if flip is not None:
            size, shown = len(flip.change), asked.witness(flip)
            deed = can(question.label, shown.label, tie=shown.margin >= 0)
            seen = f"If up to {size} words may change at once, {deed}: some word is needed then."
            return Further(seen, limited(question, size))
    return None


def _one_at_a_time(question: Question, search: Asking, total: int, count: int) -> Further | None:
    """Most words are held against many changes at once; against single ones those that flip alone are enough."""
    asked = replace(search.asked, at_most=1, meter=spare(question, search))
    singles = [((i, word),) for i, words in enumerate(asked.options) for word in words]
    margins = asked.margins(singles)
    alone = {change[0][0] for change, margin in zip(singles, margins, strict=True) if margin <= 0}
    if len(alone) >= count or np.isnan(margins).any():
        return None
    return Further(f"If only one word may change at a time, {enough_of(len(alone), total)}.", limited(question, 1))

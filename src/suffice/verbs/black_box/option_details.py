"""Details: what each word of a text before a black box may become, and a flip that only it stands
against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from suffice.optimise.min_cost_hitting_set import mask_of
from suffice.verbs.alone import single_word_effects_asked
from suffice.verbs.details import Change, Detail
from suffice.verbs.question import Question
from suffice.verify.queries import ObservedFlip

SHOWN = 8  # options named per word


def details(question: Question, found: Sequence[ObservedFlip], held: int) -> tuple[Detail, ...]:
    """What each word may become, and for words of the explanation a flip that only they stand
    against.
    """
    strengths = single_word_effects_asked(question.asked)
    known = (_detail(question, found, held, word.position) for word in question.text.words)
    return tuple(replace(one, alone=strengths.get(one.position)) for one in known)


def _detail(question: Question, found: Sequence[ObservedFlip], held: int, position: int) -> Detail:
    options = tuple(question.asked.options[position])
    against = [flip for flip in found if flip.mask & held == 1 << position]
    shown = min(against, key=lambda flip: len(flip.change), default=None)
    change = None if shown is None else _change(question, shown)
    alone = any(flip.mask & ~mask_of(question.exclude) == 1 << position for flip in found)
    return Detail(position, options[:SHOWN], max(0, len(options) - SHOWN), change, needed=alone)


def _change(question: Question, flip: ObservedFlip) -> Change:
    seen = question.asked.witness(flip)
    return Change(seen.label, seen.margin, seen.positions, seen.words, real=True, text=seen.text)

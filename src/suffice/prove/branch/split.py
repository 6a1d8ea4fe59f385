"""Splits: a subproblem in two at zero of a unit, or by the choices of a word."""

from __future__ import annotations

import numpy as np

from suffice.prove.bounds import Form
from suffice.prove.branch.subproblem import InputSet, Subproblem
from suffice.prove.inputs import Restored


def parts_of(form: Form, part: Subproblem, depth: int) -> list[Subproblem]:
    """Its parts, on one word or on up to `depth` relus at once; in a small round, on sure words too."""
    assert part.loss is not None
    assert part.row is not None
    relus, (rest, closing) = int(np.count_nonzero(part.loss)), follow(part, depth)
    word = part.inputs.word(part.row, any_word=not relus) if part.word is None else part.word
    if word is not None and (not relus or _by_words(form, part.inputs) or part.inputs.few(part.row, relus)):
        return [rest, *closing] if closing else list(split_word(part, word))
    fresh = _split_units(form, part, rest, min(depth, relus))
    part.loss, part.row, part.steps = None, None, ()  # its parts stand for it now
    return [*fresh, *closing]


def _by_words(form: Form, inputs: InputSet) -> bool:
    """A split at zero does not straighten a smooth curve, and a word put back settles many candidates of maxima."""
    return form.curved is not None or (form.pooled is not None and isinstance(inputs, Restored))


def _split_units(form: Form, part: Subproblem, rest: Subproblem, depth: int) -> list[Subproblem]:
    """The parts of all levels when what is left of a subproblem is split on its `depth` worst relus, one by one."""
    assert part.loss is not None
    found, level = [], [rest]
    for unit in np.argsort(-part.loss, kind="stable")[:depth].tolist():
        kept = 1 + next(place for place, units in enumerate(form.slices) if unit < units.stop)
        level = [half for above in level for half in _split_unit(above, unit, kept, above is not rest)]
        found += level
    return found


def _split_unit(part: Subproblem, unit: int, steps: int, fresh: bool) -> tuple[Subproblem, Subproblem]:
    """Its halves at zero of a unit, up to whose step bounds stay; a fresh one can be closed without them."""
    part.cut = unit
    part.halves = (_half(part), _half(part))
    for half in part.halves:
        half.over, half.steps = part if fresh else None, part.steps[:steps]
    part.halves[0].signs[unit], part.halves[1].signs[unit] = -1, 1
    return part.halves


def split_word(part: Subproblem, position: int) -> tuple[Subproblem, Subproblem]:
    """Its halves by the choices of a word."""
    assert part.row is not None
    chosen, taken, rest = part.inputs.halves(position, part.row)
    part.cut, part.halves = (position, chosen), (_half(part), _half(part))
    part.halves[0].inputs, part.halves[1].inputs = taken, rest
    for half in part.halves:
        half.steps, half.row, half.many = (), part.row, False
    return part.halves


def _half(part: Subproblem) -> Subproblem:
    half = Subproblem(part.question, part.rival, part.inputs, part.signs.copy(), part.bound, part.steps, part.dual)
    half.many, half.narrow = part.many, part.narrow
    return half


def follow(part: Subproblem, depth: int) -> tuple[Subproblem, list[Subproblem]]:
    """Take words that cannot be done without: what remains, and the subproblems without each, which soon close.

    As many as leave the round as small as `depth` relus do; none where it is large already.
    """
    closing: list[Subproblem] = []
    if depth > 1 and part.row is not None:
        for word in part.inputs.sure(part.row, -part.bound)[: 2**depth]:
            part, without = split_word(part, int(word))
            closing.append(without)
    return part, closing

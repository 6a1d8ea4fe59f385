"""Splits: a subproblem in two at zero of a unit, or by the options of a word.

Method: splits on units and words; forced words by reduced costs (theory, section 5).
"""

from __future__ import annotations

import numpy as np

from suffice.verify.nets.branch.subproblem import InputSet, Subproblem
from suffice.verify.nets.crown import PreparedProblem
from suffice.verify.nets.input_sets import Restorations


def split_subproblem(
    prepared: PreparedProblem, subproblem: Subproblem, depth: int
) -> list[Subproblem]:
    """Its children, by one word or by up to `depth` relus at once; in a small round, by forced
    words too."""
    assert subproblem.split_scores is not None
    assert subproblem.input_row is not None
    relus, (remaining, closing) = (
        int(np.count_nonzero(subproblem.split_scores)),
        take_forced_words(subproblem, depth),
    )
    word = (
        subproblem.inputs.branching_word(subproblem.input_row, any_word=not relus)
        if subproblem.branch_word is None
        else subproblem.branch_word
    )
    if word is not None and (
        not relus
        or _words_first(prepared, subproblem.inputs)
        or subproblem.inputs.prefers_word_branching(
            subproblem.input_row, relus, prepared.settings.branching
        )
    ):
        return [remaining, *closing] if closing else list(split_word(subproblem, word))
    children = _split_units(prepared, subproblem, remaining, min(depth, relus))
    subproblem.split_scores, subproblem.input_row, subproblem.step_bounds = (
        None,
        None,
        (),
    )  # its children stand for it now
    return [*children, *closing]


def _words_first(prepared: PreparedProblem, inputs: InputSet) -> bool:
    """A split at zero does not straighten a smooth curve, and a restored word decides many
    candidates of maxima."""
    return prepared.curved is not None or (
        prepared.pooled is not None and isinstance(inputs, Restorations)
    )


def _split_units(
    prepared: PreparedProblem, subproblem: Subproblem, remaining: Subproblem, depth: int
) -> list[Subproblem]:
    """The children of all levels when a subproblem is split on its `depth` worst relus, one by
    one."""
    assert subproblem.split_scores is not None
    found = []
    level = [remaining]
    for unit in np.argsort(-subproblem.split_scores, kind="stable")[:depth].tolist():
        steps_kept = 1 + next(
            place for place, units in enumerate(prepared.slices) if unit < units.stop
        )
        level = [
            child
            for parent in level
            for child in _split_unit(parent, unit, steps_kept, parent is not remaining)
        ]
        found += level
    return found


def _split_unit(
    subproblem: Subproblem, unit: int, steps_kept: int, parent_unbounded: bool
) -> tuple[Subproblem, Subproblem]:
    """Its children at zero of a unit; bounds stay up to its step. A parent not yet bounded may
    still be closed."""
    subproblem.branched_on = unit
    subproblem.children = (_child(subproblem), _child(subproblem))
    for child in subproblem.children:
        child.unbounded_parent = subproblem if parent_unbounded else None
        child.step_bounds = subproblem.step_bounds[:steps_kept]
    subproblem.children[0].signs[unit] = -1
    subproblem.children[1].signs[unit] = 1
    return subproblem.children


def split_word(subproblem: Subproblem, position: int) -> tuple[Subproblem, Subproblem]:
    """Its children by the options of a word."""
    assert subproblem.input_row is not None
    chosen, first, second = subproblem.inputs.split_on_word(position, subproblem.input_row)
    subproblem.branched_on, subproblem.children = (
        (position, chosen),
        (_child(subproblem), _child(subproblem)),
    )
    subproblem.children[0].inputs = first
    subproblem.children[1].inputs = second
    for child in subproblem.children:
        child.step_bounds = ()
        child.input_row = subproblem.input_row
        child.not_enumerable = False
    return subproblem.children


def _child(subproblem: Subproblem) -> Subproblem:
    child = Subproblem(
        subproblem.query,
        subproblem.rival,
        subproblem.inputs,
        subproblem.signs.copy(),
        subproblem.bound,
        subproblem.step_bounds,
        subproblem.dual,
    )
    child.not_enumerable = subproblem.not_enumerable
    child.refinement = subproblem.refinement
    return child


def take_forced_words(subproblem: Subproblem, depth: int) -> tuple[Subproblem, list[Subproblem]]:
    """Take forced words: what remains, and the subproblems without each, which soon close.

    As many as leave the round as small as `depth` relus do; none where it is large already.
    """
    closing: list[Subproblem] = []
    if depth > 1 and subproblem.input_row is not None:
        for word in subproblem.inputs.forced_words(subproblem.input_row, -subproblem.bound)[
            : 2**depth
        ]:
            subproblem, without = split_word(subproblem, int(word))
            closing.append(without)
    return subproblem, closing

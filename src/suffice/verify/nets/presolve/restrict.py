"""Presolve: a query in which few words of a large network move, restricted to these words.

What the other words add to the first step is worked out once and folded into the bias, and
candidates of maxima that cannot win while so few words move are left out. Magnitudes stay those of
the whole network, so that bounds are those that a checker computes; postsolve tells proofs about
all units and words, and runs flips as texts.

Method: restriction to the words that move, with postsolve (theory, section 5).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suffice.model.network import Bools, Ints, Network
from suffice.model.step import Step
from suffice.sets.regions import Box
from suffice.verify.contract import Budget, Proved, Refuted, Unknown, Verdict, Witness
from suffice.verify.exact import confirm
from suffice.verify.nets.branch import decide
from suffice.verify.nets.crown import PreparedProblem
from suffice.verify.nets.presolve.dominated import interval_over_box, without_dominated
from suffice.verify.proof_tree import Leaf, Split, Tree, TupleFixing


def restriction_applies(prepared: PreparedProblem, free: Bools) -> bool:
    """Whether so few words are free that the query is far smaller without the others."""
    problem = prepared.problem
    settings = problem.settings.presolve
    plain_boxes = (
        isinstance(problem.region, Box) and problem.at_most is None and problem.one_hot is None
    )
    first_is_pooled = bool(prepared.steps) and prepared.steps[0].groups is not None
    return bool(
        plain_boxes
        and first_is_pooled
        and prepared.steps[0].weight.size > settings.from_weights
        and settings.word_ratio * free.sum() <= len(free)
    )


def decide_restricted(prepared: PreparedProblem, free: Bools, budget: Budget) -> Verdict:
    """Do the words that are not free (length,) suffice?"""
    prepared.require_features(free)
    words = np.flatnonzero(free)
    answer = decide(
        without_dominated(restricted_to_words(prepared, words)),
        np.ones((1, len(words)), dtype=bool),
        budget,
    )[0]
    match answer:
        case Proved(evidence=trees) if trees is not None:
            return replace(
                answer, evidence=tuple(_postsolve_tree(tree, words, len(free)) for tree in trees)
            )
        case Refuted(witness=witness):
            return _postsolve_witness(prepared, free, witness)
    return answer


def restricted_to_words(prepared: PreparedProblem, words: Ints) -> PreparedProblem:
    """The prepared problem of the full network over these words alone; the others keep their
    vectors."""
    full = prepared if prepared.full is None else prepared.full
    problem = full.problem
    region = full.problem.region
    assert isinstance(region, Box)
    first_step = _first_step_over(full, words)
    restricted_sides = region.center[words], region.lower[words], region.upper[words]
    network = Network((first_step, *problem.network.steps[1:]))
    smaller = replace(
        problem,
        network=network,
        region=Box(*restricted_sides),
        features=np.ones(len(words), dtype=bool),
    )
    steps = network.steps[:-1]
    intervals = (
        interval_over_box(first_step, restricted_sides[1], restricted_sides[2], full.magnitude[0]),
        *full.interval[1:],
    )
    return replace(full, problem=smaller, steps=steps, interval=intervals)


def _first_step_over(full: PreparedProblem, words: Ints) -> Step:
    """The first step over the numbers of these words; what the others add is folded into the
    bias."""
    first, (_, dimension) = full.steps[0], full.shape
    weight = first.weight[:, (words[:, None] * dimension + np.arange(dimension)).ravel()]
    return replace(
        first,
        weight=weight,
        bias=full.problem.center_sums - weight @ full.problem.center[words].ravel(),
    )


def _postsolve_tree(tree: Tree, words: Ints, length: int) -> Tree:
    """A proof about these words as one about a text of so many."""
    match tree:
        case Split(unit, (first, second)):
            return Split(
                unit,
                (_postsolve_tree(first, words, length), _postsolve_tree(second, words, length)),
            )
        case TupleFixing(stage, rest):
            rows = np.zeros(
                (len(stage.planes), length, stage.planes.shape[-1]), dtype=stage.planes.dtype
            )
            rows[:, words] = stage.planes
            return TupleFixing(replace(stage, planes=rows), _postsolve_tree(rest, words, length))
        case Leaf(upper_planes=above):
            return (
                tree if above is None else replace(tree, upper_planes=replace(above, words=words))
            )
    raise AssertionError(
        "words that move within boxes are not picked, and where there are maxima nothing is stated"
    )


def _postsolve_witness(prepared: PreparedProblem, free: Bools, witness: Witness) -> Verdict:
    """The flip as a text in which the free words are those of a witness."""
    point = prepared.problem.center.copy()
    point[free] = witness.point
    found = confirm(prepared.problem, point[None], free[None])[0]
    return (
        Unknown("a flip of the free words alone is too close to call")
        if found is None
        else Refuted(found)
    )

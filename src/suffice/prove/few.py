"""Few: a question in which few words of a large network move, as a form over these words alone.

What the other words add to the first step is worked out once, and candidates of maxima that cannot win while so few
words move are left out. What rounding is measured by stays that of the whole network, so that bounds are those that its
reader gets; proofs are told of all units and words, and flips are run as texts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suffice.model.network import Bools, Ints, Network
from suffice.model.step import Step
from suffice.prove.bounds import Form
from suffice.prove.branch import decide
from suffice.prove.exact import confirm
from suffice.prove.lean import lean, reach_within
from suffice.prove.tree import Leaf, Sieved, Split, Tree
from suffice.prove.verdict import Budget, Proved, Refuted, Unknown, Verdict, Witness
from suffice.sets.regions import Box

LARGE = 10**6  # weights of a first step below which the whole is quick enough
PART = 4  # times as many words as move must there be


def suits(form: Form, free: Bools) -> bool:
    """Whether so few of the words are free that the question is far smaller without the others."""
    problem = form.problem
    boxes = isinstance(problem.region, Box) and problem.at_most is None and problem.source is None
    pooled = bool(form.steps) and form.steps[0].groups is not None
    return bool(boxes and pooled and form.steps[0].weight.size > LARGE and PART * free.sum() <= len(free))


def decide_few(form: Form, free: Bools, budget: Budget) -> Verdict:
    """Do the words that are not free (length,) suffice?"""
    form.about(free)
    words = np.flatnonzero(free)
    answer = decide(lean(among(form, words)), np.ones((1, len(words)), dtype=bool), budget)[0]
    match answer:
        case Proved(evidence=trees) if trees is not None:
            return replace(answer, evidence=tuple(_told(tree, words, len(free)) for tree in trees))
        case Refuted(witness=witness):
            return _lifted(form, free, witness)
    return answer


def among(form: Form, words: Ints) -> Form:
    """The form of the whole network over these words alone; the others have their own vectors."""
    whole = form if form.whole is None else form.whole
    problem, region = whole.problem, whole.problem.region
    assert isinstance(region, Box)
    first = _over(whole, words)
    sides = region.center[words], region.lower[words], region.upper[words]
    network = Network((first, *problem.network.steps[1:]))
    smaller = replace(problem, network=network, region=Box(*sides), features=np.ones(len(words), dtype=bool))
    steps, reach = network.steps[:-1], (reach_within(first, sides[1], sides[2], whole.size[0]), *whole.reach[1:])
    return replace(whole, problem=smaller, steps=steps, reach=reach)


def _over(whole: Form, words: Ints) -> Step:
    """The first step over the numbers of these words; what the others add is part of the bias."""
    first, (_, dimension) = whole.steps[0], whole.shape
    weight = first.weight[:, (words[:, None] * dimension + np.arange(dimension)).ravel()]
    return replace(first, weight=weight, bias=whole.problem.sums - weight @ whole.problem.center[words].ravel())


def _told(tree: Tree, words: Ints, length: int) -> Tree:
    """A proof about these words as one about a text of so many."""
    match tree:
        case Split(unit, (first, second)):
            return Split(unit, (_told(first, words, length), _told(second, words, length)))
        case Sieved(stage, rest):
            rows = np.zeros((len(stage.rows), length, stage.rows.shape[-1]), dtype=stage.rows.dtype)
            rows[:, words] = stage.rows
            return Sieved(replace(stage, rows=rows), _told(rest, words, length))
        case Leaf(above=above):
            return tree if above is None else replace(tree, above=replace(above, words=words))
    raise AssertionError("words that move within boxes are not picked, and where there are maxima nothing is stated")


def _lifted(form: Form, free: Bools, witness: Witness) -> Verdict:
    """The flip as a text in which the free words are those of a witness."""
    point = form.problem.center.copy()
    point[free] = witness.point
    found = confirm(form.problem, point[None], free[None])[0]
    return Unknown("a flip of the free words alone is too close to call") if found is None else Refuted(found)

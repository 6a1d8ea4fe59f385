"""Lean: the form of a problem without the candidates of maxima that never win, and its proofs told of all units.

Of the places that a maximum over time looks at, half or more often cannot win whatever the words become; bounds and
attacks need not look at them again and again. What rounding is measured by stays that of the whole network, so that
bounds are those that its reader gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from suffice.model.network import Floats, Ints, Network
from suffice.model.step import Step, compact, is_sparse
from suffice.prove.bounds import Form, tolls
from suffice.prove.inputs import Interval
from suffice.prove.tree import Leaf, Pick, Sieved, Split, Stated, Tree

FEWER = 0.75  # of the units: where more are left, another form is not worth while


def lean(form: Form) -> Form:
    """The form with the candidates that may win, and the first of each maximum; the form itself where these are all."""
    kept = [_staying(step, open_) for step, open_ in zip(form.steps, form.unsettled, strict=True)]
    if form.problem.source is not None or sum(map(len, kept)) == form.units:
        return form
    network = Network(_only(form.problem.network.steps, kept))
    *_, margin = _only([*form.steps, form.margin], kept)
    return Form(
        problem=replace(form.problem, network=network, whole=form.problem.real),
        steps=network.steps[:-1],
        margin=margin,
        size=tuple(map(np.take, form.size, kept)),
        margin_size=form.margin_size,
        reach=tuple((low[some], high[some]) for (low, high), some in zip(form.reach, kept, strict=True)),
        gamma=form.gamma,
        toll=tuple(map(tolls, form.steps, form.toll, kept)),
        whole=form,
        kept=np.concatenate([part.start + some for part, some in zip(form.slices, kept, strict=True)]),
    )


def within(form: Form, lower: Floats, upper: Floats) -> Form:
    """The form for questions whose inputs stay within a box (length, dimension), where fewer candidates may win."""
    whole = form if form.whole is None else form.whole
    if form.problem.source is not None or not form.steps or form.steps[0].groups is None:
        return form
    narrow = replace(whole, reach=(reach_within(whole.steps[0], lower, upper, whole.size[0]), *whole.reach[1:]))
    count = sum(len(_staying(step, open_)) for step, open_ in zip(narrow.steps, narrow.unsettled, strict=True))
    return lean(narrow) if count <= FEWER * form.units else form


def reach_within(first: Step, lower: Floats, upper: Floats, size: Floats) -> Interval:
    """Bounds of the first step's units over a box, widened well beyond rounding."""
    middle, radius = ((upper + side).ravel() / 2 for side in (lower, -lower))
    z, spread = first.apply(middle[None])[0], first.magnified(radius) + size * 1e-9
    return z - spread, z + spread


def _staying(step: Step, open_: Ints) -> Ints:
    """The units of a step without the candidates that are settled."""
    found = ~step.pooled
    found[open_] = True
    if step.groups is not None:
        found[step.groups.leaders] = True
    return np.flatnonzero(found)


def _only(steps: Sequence[Step], kept: Sequence[Ints]) -> tuple[Step, ...]:
    """The steps with these units of all but the last."""
    fewer = [*(_compact(step.only(some)) for step, some in zip(steps, kept, strict=False)), steps[-1]]
    inner = (replace(step, weight=step.weight[:, some]) for step, some in zip(fewer[1:], kept, strict=True))
    return (fewer[0], *inner)


def _compact(step: Step) -> Step:
    """The step with an ordinary array as its weight where a sparse one does not pay any more."""
    return replace(step, weight=compact(step.weight)) if is_sparse(step.weight) else step


def told(form: Form, tree: Tree) -> Tree:
    """A proof of a form as one about all units of the network."""
    if form.kept is None:
        return tree
    match tree:
        case Leaf():
            return _told_leaf(form, form.kept, tree)
        case Split(unit, (first, second)):
            return Split(int(form.kept[unit]), (told(form, first), told(form, second)))
        case Pick(_, _, (first, second)):
            return replace(tree, branches=(told(form, first), told(form, second)))
        case Sieved(stage, rest):
            return Sieved(replace(stage, alpha=_told_units(form, form.kept, stage.alpha)), told(form, rest))
        case Stated():
            raise AssertionError("bounds of units are stated only where there are no maxima")


def _told_leaf(form: Form, kept: Ints, leaf: Leaf) -> Leaf:
    if leaf.alpha is None or form.whole is None:  # a single input
        return leaf
    alpha, beta, above = _told_units(form, kept, leaf.alpha), _told_units(form, kept, leaf.beta), leaf.above
    if above is not None:
        above = replace(above, shares={int(kept[unit]): share for unit, share in above.shares.items()})
    return Leaf(alpha, beta, above)


def _told_units(form: Form, kept: Ints, values: Floats) -> Floats:
    """Values by unit, with zeros for the units that were left out."""
    assert form.whole is not None
    found = np.zeros(form.whole.units)
    found[kept] = values
    return found

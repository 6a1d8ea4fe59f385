"""Presolve: a prepared problem without the candidates of maxima that never win, and its postsolve.

Of the places that a maximum over time looks at, half or more often cannot win whatever the words
become. Magnitudes stay those of the whole network, so that bounds are those that a checker
computes.

Method: removal of dominated candidates, with postsolve of proofs (theory, section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from suffice.model.network import Floats, Ints, Network
from suffice.model.step import Step, compact, is_sparse
from suffice.verify.nets.crown import PreparedProblem, error_magnitudes
from suffice.verify.nets.input_sets import Interval
from suffice.verify.proof_tree import Leaf, Lemma, Pick, Split, Tree, TupleFixing
from suffice.verify.tolerances import WIDENING


def without_dominated(prepared: PreparedProblem) -> PreparedProblem:
    """The prepared problem with the candidates that may win and the first of each maximum; itself
    if these are all."""
    kept = [
        _kept_units(step, unsettled)
        for step, unsettled in zip(prepared.steps, prepared.undecided_units, strict=True)
    ]
    if prepared.problem.one_hot is not None or sum(map(len, kept)) == prepared.unit_count:
        return prepared
    network = Network(_restricted_steps(prepared.problem.network.steps, kept))
    *_, margin = _restricted_steps([*prepared.steps, prepared.margin], kept)
    return PreparedProblem(
        problem=replace(prepared.problem, network=network, unreduced=prepared.problem.full_network),
        steps=network.steps[:-1],
        margin=margin,
        magnitude=tuple(map(np.take, prepared.magnitude, kept)),
        margin_magnitude=prepared.margin_magnitude,
        interval=tuple(
            (low[units], high[units])
            for (low, high), units in zip(prepared.interval, kept, strict=True)
        ),
        gamma=prepared.gamma,
        error_magnitude=tuple(
            map(error_magnitudes, prepared.steps, prepared.error_magnitude, kept)
        ),
        full=prepared,
        kept_units=np.concatenate(
            [
                units_slice.start + units
                for units_slice, units in zip(prepared.slices, kept, strict=True)
            ]
        ),
    )


def restricted_to_box(prepared: PreparedProblem, lower: Floats, upper: Floats) -> PreparedProblem:
    """The prepared problem for inputs within a box (length, dimension), where fewer candidates may
    win."""
    full = prepared if prepared.full is None else prepared.full
    if (
        prepared.problem.one_hot is not None
        or not prepared.steps
        or prepared.steps[0].groups is None
    ):
        return prepared
    narrowed = replace(
        full,
        interval=(
            interval_over_box(full.steps[0], lower, upper, full.magnitude[0]),
            *full.interval[1:],
        ),
    )
    count = sum(
        len(_kept_units(step, unsettled))
        for step, unsettled in zip(narrowed.steps, narrowed.undecided_units, strict=True)
    )
    return (
        without_dominated(narrowed)
        if count <= prepared.settings.presolve.kept_fraction * prepared.unit_count
        else prepared
    )


def interval_over_box(
    first_step: Step, lower: Floats, upper: Floats, magnitude: Floats
) -> Interval:
    """Intervals of the first step's pre-activations over a box, widened well beyond rounding."""
    middle, radius = ((upper + side).ravel() / 2 for side in (lower, -lower))
    z = first_step.apply(middle[None])[0]
    half_width = first_step.magnified(radius) + magnitude * WIDENING
    return z - half_width, z + half_width


def _kept_units(step: Step, unsettled: Ints) -> Ints:
    """The units of a step without dominated candidates."""
    kept = ~step.pooled
    kept[unsettled] = True
    if step.groups is not None:
        kept[step.groups.leaders] = True
    return np.flatnonzero(kept)


def _restricted_steps(steps: Sequence[Step], kept: Sequence[Ints]) -> tuple[Step, ...]:
    """The steps with these units of all but the last."""
    with_kept_rows = [
        *(_compact(step.only(units)) for step, units in zip(steps, kept, strict=False)),
        steps[-1],
    ]
    with_kept_columns = (
        replace(step, weight=step.weight[:, units])
        for step, units in zip(with_kept_rows[1:], kept, strict=True)
    )
    return (with_kept_rows[0], *with_kept_columns)


def _compact(step: Step) -> Step:
    """The step with an ordinary array as its weight where a sparse one does not pay any more."""
    return replace(step, weight=compact(step.weight)) if is_sparse(step.weight) else step


def postsolve_tree(prepared: PreparedProblem, tree: Tree) -> Tree:
    """A proof about the reduced problem as one about all units of the network."""
    if prepared.kept_units is None:
        return tree
    match tree:
        case Leaf():
            return _postsolve_leaf(prepared, prepared.kept_units, tree)
        case Split(unit, (first, second)):
            return Split(
                int(prepared.kept_units[unit]),
                (postsolve_tree(prepared, first), postsolve_tree(prepared, second)),
            )
        case Pick(_, _, (first, second)):
            return replace(
                tree, branches=(postsolve_tree(prepared, first), postsolve_tree(prepared, second))
            )
        case TupleFixing(stage, rest):
            return TupleFixing(
                replace(stage, alpha=_postsolve_units(prepared, prepared.kept_units, stage.alpha)),
                postsolve_tree(prepared, rest),
            )
        case Lemma():
            raise AssertionError("bounds of units are stated only where there are no maxima")


def _postsolve_leaf(prepared: PreparedProblem, kept: Ints, leaf: Leaf) -> Leaf:
    if leaf.alpha is None or prepared.full is None:  # a single input
        return leaf
    alpha = _postsolve_units(prepared, kept, leaf.alpha)
    beta = _postsolve_units(prepared, kept, leaf.beta)
    above = leaf.upper_planes
    if above is not None:
        above = replace(
            above, shares={int(kept[unit]): share for unit, share in above.shares.items()}
        )
    return Leaf(alpha, beta, above)


def _postsolve_units(prepared: PreparedProblem, kept: Ints, values: Floats) -> Floats:
    """Values by unit, with zeros for the units that were left out."""
    assert prepared.full is not None
    found = np.zeros(prepared.full.unit_count)
    found[kept] = values
    return found

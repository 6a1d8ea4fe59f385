"""The form without candidates that never win: the same function, the bounds of the whole, and
proofs that are read.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from helpers import refused
from test_max_planes import form_of, hard_questions, inputs_of

import suffice as sf
from suffice.model.network import Network
from suffice.model.step import Groups
from suffice.verify.exact import confirm
from suffice.verify.nets.attack import margin_gradients, margins
from suffice.verify.nets.crown import (
    BoundBatch,
    backward_bound,
    enclosing_box,
    initial_dual,
    intermediate_bounds,
    margin_rows,
)
from suffice.verify.nets.input_sets import Free
from suffice.verify.nets.presolve import dominated as module
from suffice.verify.nets.presolve.dominated import (
    postsolve_tree,
    restricted_to_box,
    without_dominated,
)
from suffice.verify.proof_tree import Leaf, Pick, Split


@pytest.mark.parametrize("kind", ["box", "cube"])
def test_it_is_the_same_function_where_words_may_be(kind):
    fewer = 0
    for seed in range(8):
        form = form_of(kind, seed)
        small, (_, points) = without_dominated(form), inputs_of(form, np.random.default_rng(seed))
        fewer += form.unit_count - small.unit_count
        assert np.allclose(
            small.problem.margins(points), form.problem.margins(points), rtol=0, atol=1e-12
        )
        assert without_dominated(small) is small
    assert fewer > 20


@pytest.mark.parametrize("kind", ["box", "cube"])
def test_where_fewer_words_move_it_is_the_same_function_with_fewer_candidates(kind):
    fewer = 0
    for seed in range(8):
        form = form_of(kind, seed)
        inputs, points = inputs_of(form, np.random.default_rng(seed))
        sides = (
            np.where(inputs.free[0][:, None], side, form.problem.center)
            for side in enclosing_box(form.problem.region)
        )
        small = restricted_to_box(without_dominated(form), *sides)
        fewer += without_dominated(form).unit_count - small.unit_count
        assert np.allclose(
            small.problem.margins(points), form.problem.margins(points), rtol=0, atol=1e-12
        )
        assert small.problem.full_network is form.problem.network
        assert (small.kept_units == small.kept_units[np.argsort(small.kept_units)]).all()
    assert fewer > 10


def test_a_planted_bug_in_how_far_candidates_reach_is_found_by_the_checker(monkeypatch):
    real = module.interval_over_box

    def too_little(first, lower, upper, size):
        low, high = real(first, lower, upper, size)
        return (3 * low + high) / 4, (low + 3 * high) / 4

    monkeypatch.setattr(module, "interval_over_box", too_little)
    assert any(refused(*hard_questions(seed), sf.KNNBox(2)) for seed in range(12))


@pytest.mark.parametrize("seed", range(8))
def test_its_bounds_are_those_of_the_whole(seed):
    form = form_of("box", seed)
    rng = np.random.default_rng(seed)
    small, (inputs, points) = without_dominated(form), inputs_of(form, rng)
    bounds = [
        float(
            backward_bound(
                one,
                BoundBatch(
                    inputs, intermediate_bounds(one, inputs), margin_rows(one, np.array([0]))
                ),
                None,
            ).bound[0]
        )
        for one in (small, form)
    ]
    # far less than what is taken off
    assert abs(bounds[0] - bounds[1]) < 0.2 * form.gamma * form.margin_magnitude[0]
    assert bounds[0] <= form.problem.margins(points)[:, 0].min()
    assert small.margin_error[0] >= form.margin_error[0] * (1 - 1e-9)


def test_a_flip_is_run_through_the_whole_network():
    """Not through the one with fewer units: here another one stands in its place, in which nothing
    flips.
    """
    found = 0
    for seed in range(8):
        form = form_of("box", seed)
        problem, (_, points) = form.problem, inputs_of(form, np.random.default_rng(seed))
        last = problem.network.steps[-1]
        wins = np.where(np.arange(len(last.bias)) == problem.label, 1e6, 0.0)
        steady = Network((*problem.network.steps[:-1], replace(last, bias=wins)))
        free = np.ones((len(points), len(problem.features)), dtype=bool)
        real = [one is not None for one in confirm(problem, points, free)]
        lacking = replace(problem, network=steady, unreduced=problem.network)
        assert [one is not None for one in confirm(lacking, points, free)] == real
        assert without_dominated(form).problem.full_network is problem.network
        found += sum(real)
    assert found


def test_proofs_are_told_of_all_units():
    form = form_of("box", 3)
    small = without_dominated(form)
    bounds = intermediate_bounds(small, Free(form.problem.region, np.ones((1, 6), dtype=bool)))
    dual = initial_dual(bounds)
    leaf = Leaf(dual.alpha[0], dual.beta[0] + 1.0)
    tree = postsolve_tree(
        small, Pick(2, None, (Split(small.unit_count - 1, (leaf, leaf)), Leaf(None, np.zeros(0))))
    )
    split, alone = tree.branches
    assert split.unit == small.kept_units[-1] > small.unit_count - 1
    assert (split.branches[0].alpha[small.kept_units] == leaf.alpha).all()
    assert split.branches[1].beta.sum() == small.unit_count
    assert len(split.branches[0].alpha) == form.unit_count
    assert alone.alpha is None
    assert postsolve_tree(form, tree) is tree


def test_a_planted_bug_in_who_may_win_is_found_by_the_checker(monkeypatch):
    """Only the first of each maximum and every other candidate stay."""
    real = module._kept_units
    monkeypatch.setattr(module, "_kept_units", lambda step, open_: real(step, open_[::2]))
    assert any(refused(*hard_questions(seed), sf.KNNBox(2)) for seed in range(12))


@pytest.mark.parametrize("sizes", [(3, 3, 3), (2, 5, 5, 1), tuple(range(1, 25))])
def test_winners_are_the_first_of_the_largest(sizes):
    ends = np.cumsum((0, *sizes))
    groups = Groups([np.arange(a, b) for a, b in itertools.pairwise(ends)], int(ends[-1]))
    values = np.random.default_rng(0).integers(0, 3, (40, ends[-1])).astype(float)
    marks = groups.winners(values)
    for row, mark in zip(values, marks, strict=True):
        for a, b in itertools.pairwise(ends):
            assert np.flatnonzero(mark[a:b]).tolist() == [int(row[a:b].argmax())]


def test_gradients_through_sparse_weights_are_those_of_dense_ones():
    form = form_of("box", 1)
    rng = np.random.default_rng(1)
    problem, (_, points) = form.problem, inputs_of(form, rng)
    first, *rest = problem.network.steps
    sparse = replace(first, weight=scipy.sparse.csr_array(first.weight))
    other = replace(problem, network=Network((sparse, *rest)))
    rivals = np.zeros(len(points), dtype=np.int64)
    free = rng.random((len(points), 6)) < 0.5
    for wanted in (None, free, free[:1]):
        marks = (
            np.ones((len(points), 6), dtype=bool)
            if wanted is None
            else np.broadcast_to(wanted, (len(points), 6))
        )
        (margin, slope), (same, found) = (
            margin_gradients(problem, points, rivals),
            margin_gradients(other, points, rivals, wanted),
        )
        assert np.allclose(margin, same)
        assert np.allclose(slope[marks], found[marks])
    assert np.allclose(margins(other, points, rivals), problem.margins(points)[:, 0])

"""Climbing: climbers see the bound that is worked out, come close to the best, and prove nothing
themselves.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog
from test_max_lines import WORDS, text_cnn
from test_max_planes import TEXT, both_accept, form_of, inputs_of

import suffice as sf
from suffice.model.network import Conv1d, Dense, MaxPool, Network, Relu, Transpose
from suffice.model.step import Step
from suffice.sets.regions import Ball, Box
from suffice.settings import DEFAULT
from suffice.verify.contract import Budget, Problem
from suffice.verify.nets.attack import pgd, pgd_applies, vertex_descent
from suffice.verify.nets.crown import (
    BoundBatch,
    backward_bound,
    chosen_lines,
    initial_dual,
    intermediate_bounds,
    margin_rows,
    plane_ascent,
)
from suffice.verify.nets.crown.max_planes import MaxPlanes
from suffice.verify.nets.input_sets.chunks import quantised
from suffice.verify.tolerances import ZERO_TOLERANCE


def question_of(kind, seed):
    """A subproblem with everything in it open: the form, the items, their dual and bound, and where
    one climbs.
    """
    form = form_of(kind, seed, filters=6)
    inputs, points = inputs_of(form, np.random.default_rng(seed))
    step = form.steps[0]
    bounds = intermediate_bounds(form, inputs)
    weight = form.margin.dense()[0]
    above, below = (np.flatnonzero(sign * weight[step.groups.leaders] > 0) for sign in (-1, 1))
    peaks = MaxPlanes.of(
        step, above, ZERO_TOLERANCE * form.magnitude[0], inputs, form.problem.region, step
    )
    batch = BoundBatch(inputs, bounds, margin_rows(form, np.array([0])), None, peaks)
    slopes = chosen_lines(form, bounds, initial_dual(bounds))[1]
    dual = replace(
        initial_dual(bounds), plane_shares=peaks.initial_shares(slopes[:, peaks.candidates])
    )
    ground = plane_ascent.NormalisedRegion.of(
        form.settings, step, peaks, below, inputs.free[0], bounds.contenders[0]
    )
    return form, batch, dual, backward_bound(form, batch, dual), ground, points


@pytest.mark.parametrize("kind", ["box", "cube"])
@pytest.mark.parametrize("seed", range(6))
def test_climbers_see_the_bound_that_is_worked_out(kind, seed):
    form, batch, dual, found, ground, _ = question_of(kind, seed)
    start = plane_ascent.ascent_start(form, batch, dual, found, ground, 1e-7)
    # all of the row is theirs: there is nothing else in this network
    assert np.allclose(start.other_row, 0, atol=1e-5)
    seen = plane_ascent.PlaneAscent(ground.plane_problem, start).evaluate()
    assert np.allclose(seen.bound, found.bound, atol=1e-4)
    rng = np.random.default_rng(seed)
    other = replace(
        dual,
        plane_shares=ground.shares_of_rows(
            ground.rows_of_shares(rng.random(dual.plane_shares.shape))
        ),
    )
    there = plane_ascent.PlaneAscent(
        ground.plane_problem, replace(start, plane_rows=ground.rows_of_shares(other.plane_shares))
    )
    moved = plane_ascent.DualValue.of(
        ground.plane_problem, start, there.plane_rows, seen.lower_weights
    )
    assert np.allclose(moved.bound, backward_bound(form, batch, other).bound, atol=1e-4)


def best_of(form, ground, live):
    """The best bound that lines above and below each maximum alone can give, by a linear program.

    Of a maximum that pulls the margin down, every candidate has a part of the whole, and a point of
    its own in it.
    """
    weight, (above, below) = (
        form.margin.dense()[0],
        (ground.plane_problem.upper, ground.plane_problem.lower),
    )
    numbers = len(ground.moving)
    down = above.groups
    up = below.groups
    columns = numbers + len(up.starts) + len(above.units) * (numbers + 1)
    cost = np.zeros(columns)
    rows = []
    most = []
    equal = []
    whole = []
    cost[numbers : numbers + len(up.starts)] = weight[
        form.steps[0].groups.owner[below.units[up.starts]]
    ]
    for unit, group in enumerate(up.group):
        row = np.zeros(columns)
        row[:numbers] = below.weights[unit]
        row[numbers + group] = -1.0
        rows.append(row)
        most.append(-below.constants[unit])
    first = numbers + len(up.starts) + np.arange(len(above.units)) * (numbers + 1)
    for group in range(len(down.starts)):
        mine = np.flatnonzero((down.group == group) & live[above.units])
        row = np.zeros(columns)
        row[first[mine]] = 1.0
        equal.append(row)
        whole.append(1.0)
        for number in range(numbers):
            row = np.zeros(columns)
            row[first[mine] + 1 + number] = 1.0
            row[number] = -1.0
            equal.append(row)
            whole.append(0.0)
        for unit in mine:
            price = weight[ground.planes.units[group]]
            cost[first[unit]] = price * above.constants[unit]
            cost[first[unit] + 1 : first[unit] + 1 + numbers] = price * above.weights[unit]
            for number in range(numbers):
                for sign in (-1.0, 1.0):
                    row = np.zeros(columns)
                    row[first[unit] + 1 + number] = sign
                    row[first[unit]] = -1.0
                    rows.append(row)
                    most.append(0.0)
    lowest = [(-1, 1)] * numbers + [(None, None)] * (columns - numbers)
    solved = linprog(cost, np.array(rows), np.array(most), np.array(equal), np.array(whole), lowest)
    assert solved.status == 0
    return solved.fun + form.margin.bias[0]


@pytest.mark.parametrize("kind", ["box", "cube"])
@pytest.mark.parametrize("seed", range(6))
def test_a_climb_comes_close_to_the_best_bound_and_stays_below_every_margin(kind, seed):
    form, batch, dual, _, ground, points = question_of(kind, seed)
    # far below zero, so that the climb goes on to its end
    lowered = replace(batch, rows=replace(batch.rows, constant=batch.rows.constant - 100.0))
    start = backward_bound(form, lowered, dual)
    result = plane_ascent.ascend_planes(
        form, lowered, dual, start, ground, DEFAULT.plane_ascent.first, Budget(60)
    )
    best = best_of(form, ground, batch.bounds.contenders[0]) - 100.0
    assert start.bound[0] <= result.backward_pass.bound[0] <= best + 1e-6
    assert result.backward_pass.bound[0] >= best - 0.15 * (best - start.bound[0]) - 0.02
    assert result.backward_pass.bound[0] <= form.problem.margins(points)[:, 0].min() - 100.0
    assert (result.branching_scores >= 0).all()
    assert form.problem.region.contains(result.points).all()


def test_what_climbers_say_proves_nothing(monkeypatch, tmp_path):
    """Whatever they come back with, answers are the same, and both checkers accept them."""
    rng, used = np.random.default_rng(0), []
    run = plane_ascent.PlaneAscent.run

    def lost(self, pace, budget):
        summit = run(self, pace, budget)
        used.append(len(summit.plane_rows))
        rows = summit.plane_rows + rng.standard_normal(summit.plane_rows.shape).astype(np.float32)
        return replace(
            summit,
            plane_rows=rows,
            relaxation_gap=summit.relaxation_gap * rng.random(summit.relaxation_gap.shape),
        )

    for seed in range(6):
        classifier = text_cnn(seed, filters=6)
        plain_ = sf.explain(classifier, TEXT, perturbation=sf.KNNBox(2), seconds=60)
        with monkeypatch.context() as patched:
            patched.setattr(plane_ascent.PlaneAscent, "run", lost)
            found = sf.explain(classifier, TEXT, perturbation=sf.KNNBox(2), seconds=60)
        assert (found.status, found.cost) == (plain_.status, plain_.cost)
        both_accept(found.certificate, classifier, tmp_path)
    assert used


def mixed(seed):
    """A first step with maxima and relus side by side."""
    rng = np.random.default_rng(seed)
    relu = np.arange(20) >= 12
    pools = tuple(np.arange(12).reshape(4, 3))
    first = Step(rng.standard_normal((20, 12)), rng.standard_normal(20), relu, (), pools)
    weight = rng.standard_normal((2, 20)) * (relu | np.isin(np.arange(20), [0, 3, 6, 9]))
    network = Network((first, Step(weight, rng.standard_normal(2), np.zeros(2, dtype=bool))))
    return sf.Classifier(
        network, rng.standard_normal((9, 2)), ["<PAD>", "<UNK>", *WORDS], ["no", "yes"], 6
    )


def test_relus_beside_maxima_are_split_too(monkeypatch, tmp_path):
    used = []
    run = plane_ascent.PlaneAscent.run

    def counted(self, pace, budget):
        used.append(len(self.plane_rows))
        return run(self, pace, budget)

    for seed in range(8):
        classifier = mixed(seed)
        with monkeypatch.context() as patched:
            patched.setattr(plane_ascent.PlaneAscent, "run", counted)
            found = sf.explain(classifier, TEXT, perturbation=sf.KNNBox(3), seconds=60)
        with monkeypatch.context() as patched:
            patched.setattr(MaxPlanes, "of", lambda *_: None)
            other = sf.explain(classifier, TEXT, perturbation=sf.KNNBox(3), seconds=60)
        assert found.status == other.status == "optimal"
        assert found.cost == other.cost
        both_accept(found.certificate, classifier, tmp_path)
    assert used


def valley(region):
    """A margin of |x| - 1/2 over one number: positive at both ends, and below zero in between."""
    first = Step(
        np.array([[1.0], [-1.0]]), np.zeros(2), np.zeros(2, dtype=bool), (), (np.arange(2),)
    )
    last = Step(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([-0.5, 0.0]), np.zeros(2, dtype=bool))
    return Problem(Network((first, last)), region, 0, np.ones(1, dtype=bool))


@pytest.mark.parametrize("kind", ["box", "cube"])
def test_small_steps_find_what_no_corner_shows(kind):
    center = np.array([[1.0]])
    problem = valley(
        Box(center, center - 2.0, center) if kind == "box" else Ball(center, 2.0, np.inf)
    )
    free = np.ones((1, 1), dtype=bool)
    rivals = np.zeros(1, dtype=np.int64)
    assert pgd_applies(problem)
    assert vertex_descent(problem, free, center[None], rivals, 8).margin[0] > 0
    found = pgd(problem, free, center[None], rivals)
    assert found.margin[0] < 0
    assert problem.region.contains(found.point).all()
    assert problem.margins(found.point)[0, 0] == found.margin[0]


@pytest.mark.parametrize("power", [0, -60, -100])
def test_what_singles_cannot_hold_is_no_order_to_split_in(power):
    """A climb's losses were no numbers there, and a maximum was split on a candidate that was out
    already.
    """
    rows = [[-2, -2], [2, 1], [-2, 0], [2, -2], [2, -1], [-2, -1], [0, 0]]
    kernel = Conv1d(
        np.array(rows, dtype=float)[:, None], np.array([-0.5, -0.5, 0.5, 0.5, 0, 1, 1]), padding=1
    )
    weights = [[-1, -1, 2, 1, -2, -1, 2], [2, 2, -2, -1, -1, -1, 2], [2, 2, -1, -2, 2, 2, -1]]
    middle = Dense(np.array(weights, dtype=float), np.array([-1.0, 0.0, -1.0]))
    last = Dense(np.array([[0.0, 2, 2], [1, 1, 2], [0, 1, 2]]), np.array([-1.0, 1.0, 0.5]))
    network = Network.build([Transpose(), kernel, Relu(), MaxPool(), middle, Relu(), last], (4, 1))
    first, second, *rest = network.steps
    first = replace(first, weight=first.weight * 2.0**power, bias=first.bias * 2.0**power)
    network = replace(
        network, steps=(first, replace(second, weight=second.weight * 2.0**-power), *rest)
    )
    classifier = sf.Classifier(
        network, [[1.0], [1.0], [-1.0]], ["<PAD>", "<UNK>", "w"], ["a", "b", "c"], 4
    )
    box = sf.Boxes([[-1.0], [-1.0], [-3.0], [-1.0]], [[1.0], [-1.0], [-1.0], [1.0]])
    found = sf.explain(classifier, ["w"] * 4, perturbation=box)
    assert (found.status, found.cost, found.meta.get("rejected")) == ("optimal", 0, None)


def test_the_smallest_numbers_that_there_are_have_an_order():
    """Doubles below 2^-1022 were divided by zero."""
    values = np.array([[3.0, -1.0, 0.0, 2.0]])
    assert (quantised(values * 2.0**-1060).argsort() == quantised(values).argsort()).all()

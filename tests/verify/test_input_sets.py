"""The least value of linear forms over what a step makes of an input set, compared with every
corner of the set.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy

from suffice.model.step import Floats, Step
from suffice.sets.regions import Ball, Box
from suffice.verify.nets.input_sets import Free, Restorations, SharedRows, WithinBudget

WORDS = 3
NUMBERS = 2
UNITS = 5
ROWS = 4


def made(seed: int, sparse: bool) -> tuple[Step, Floats, Box, Any]:
    """A step, rows over its units for two sets, boxes around three words, and which words are
    marked.
    """
    rng = np.random.default_rng(seed)
    weight = rng.standard_normal((UNITS, WORDS * NUMBERS))
    center = rng.standard_normal((WORDS, NUMBERS))
    region = Box(center, center - rng.random(center.shape), center + rng.random(center.shape))
    step = Step(
        scipy.sparse.csr_array(weight) if sparse else weight,
        np.zeros(UNITS),
        np.ones(UNITS, dtype=bool),
    )
    return step, rng.standard_normal((2, ROWS, UNITS)), region, rng.random((2, WORDS)) < 0.7


def least(step: Step, rows: Floats, points: Floats) -> Floats:
    """The least value of rows (r, units) among points (m, length, dimension), run one by one."""
    return np.asarray((rows @ step.apply(points.reshape(len(points), -1)).T).min(-1))


def subsets(among: Any, most: int = WORDS) -> list[Any]:
    masks = np.array(list(itertools.product([False, True], repeat=WORDS)))
    return [mask for mask in masks if (mask <= among).all() and mask.sum() <= most]


def corners(region: Box, free: Any) -> Floats:
    sides = np.array(list(itertools.product([0.0, 1.0], repeat=WORDS * NUMBERS))).reshape(
        -1, WORDS, NUMBERS
    )
    points = np.where(sides > 0, region.upper, region.lower)
    return np.where(free[:, None], points, region.center)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_free_words_reach_just_their_corners(seed: int, sparse: bool) -> None:
    step, rows, region, free = made(seed, sparse)
    found = Free(region, free).min_through(step, rows)
    right = [least(step, row, corners(region, mark)) for row, mark in zip(rows, free, strict=True)]
    assert found == pytest.approx(np.stack(right), abs=1e-12)
    cube = Ball(region.center, 0.5, np.inf)
    boxes = Box(region.center, region.center - 0.5, region.center + 0.5)
    assert Free(cube, free).min_through(step, rows) == pytest.approx(
        Free(boxes, free).min_through(step, rows), abs=1e-12
    )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_words_go_back_as_far_as_the_budget_pays(seed: int, sparse: bool) -> None:
    step, rows, region, opened = made(seed, sparse)
    start = region.sample(np.random.default_rng(seed), 2)
    budget = np.array([1.0, 2.0])
    found = Restorations(region.center, start, opened, np.ones(WORDS), budget).min_through(
        step, rows
    )
    for item in range(2):
        back = np.stack(subsets(opened[item], int(budget[item])))
        points = np.where(back[..., None], region.center, start[item])
        assert found[item] == pytest.approx(least(step, rows[item], points), abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_words_leave_as_far_as_the_budget_pays(seed: int) -> None:
    step, rows, region, opened = made(seed, sparse=False)
    nobody = np.zeros_like(opened)
    budget = np.array([1.0, 2.0])
    found = WithinBudget(region, nobody, opened, np.ones(WORDS), budget).min_through(step, rows)
    for item in range(2):
        points = np.concatenate(
            [corners(region, mark) for mark in subsets(opened[item], int(budget[item]))]
        )
        assert found[item] == pytest.approx(least(step, rows[item], points), abs=1e-12)


@pytest.mark.parametrize("seen", [1, WORDS])
@pytest.mark.parametrize("seed", range(20))
def test_rows_that_see_few_words_are_worked_out_by_these(seed: int, seen: int) -> None:
    step, _, region, marks = made(seed, sparse=False)
    rng = np.random.default_rng(seed)
    hidden = np.stack(
        [np.isin(np.arange(WORDS), rng.permutation(WORDS)[seen:]) for _ in range(UNITS)]
    )
    weight = np.where(np.repeat(hidden, NUMBERS, axis=1), 0.0, step.weight)
    step = Step(weight, step.bias, step.relu)
    shared = SharedRows(step, np.arange(UNITS), region)
    both = np.concatenate([np.eye(UNITS), -np.eye(UNITS)])
    assert (shared.seen_words is not None) == (seen == 1)
    start = region.sample(rng, 2)
    budget = np.array([1.0, 2.0])
    nobody = np.zeros_like(marks)
    for inputs in (
        Free(region, marks),
        Restorations(region.center, start, marks, np.ones(WORDS), budget),
        Restorations(region.center, start, marks, np.array([1.0, 2.0, 1.0]), budget),
        WithinBudget(region, nobody, marks, np.ones(WORDS), budget),
    ):
        found = shared.values_at(inputs.anchor) + inputs.shared_min_shift(shared)
        assert found == pytest.approx(inputs.min_through(step, np.stack([both, both])), abs=1e-12)

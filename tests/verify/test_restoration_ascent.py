"""Lines above maxima while words of an attack are put back: above every choice, close to the best,
and checked.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from test_max_lines import text_cnn
from test_max_planes import TEXT, both_accept

import suffice as sf
from suffice.errors import Rejected
from suffice.optimise.restoration import SwapSearch
from suffice.sets.regions import Box
from suffice.settings import DEFAULT
from suffice.verify.contract import Budget, Problem, Proved
from suffice.verify.nets.branch import UndoneBy, decide_restorations
from suffice.verify.nets.branch.branch_run import BranchRun
from suffice.verify.nets.branch.loop import evaluate
from suffice.verify.nets.branch.subproblem import root_subproblem
from suffice.verify.nets.branch.unit_branching import UnitBranching
from suffice.verify.nets.crown import (
    PreparedProblem,
    intermediate_bounds,
    max_planes,
    restoration_ascent,
)
from suffice.verify.nets.crown.relu_planes import quantised_shares
from suffice.verify.nets.input_sets import Restorations
from suffice.verify.tolerances import ZERO_TOLERANCE

WORDS = 7


def attacked(seed, filters=12, dimension=2, length=WORDS):
    """An attacked text of a TextCNN, some words of which can be put back at a price."""
    rng = np.random.default_rng(seed)
    network = text_cnn(seed, words=length, filters=filters).network
    center = rng.standard_normal((length, dimension))
    region = Box(
        center, center - 2 * rng.random(center.shape), center + 2 * rng.random(center.shape)
    )
    label = int(network.forward(center[None])[0].argmax())
    problem = Problem(network, region, label, np.ones(length, dtype=bool))
    starts = region.minimiser(rng.standard_normal((60, *center.shape)))
    start = starts[[problem.margins(starts).min(-1).argmin()]]
    cost = np.ones(length) if seed % 2 else rng.choice([1.0, 2.0, 3.0], length)
    opened = rng.random((1, length)) < 0.9
    return PreparedProblem.of(problem), Restorations(
        center, start, opened, cost, np.array([float(rng.integers(2, length - 1))])
    )


def choices(inputs):
    every = np.array(list(itertools.product([False, True], repeat=WORDS)))
    fits = ~(every & ~inputs.optional[0]).any(-1) & (every @ inputs.costs <= inputs.budget[0])
    return every[fits]


def restored(inputs, words):
    return np.where(words[..., None], inputs.center, inputs.perturbed[0])


@pytest.mark.parametrize("seed", range(12))
def test_a_line_is_above_its_maximum_whatever_is_put_back(seed):
    (form, inputs), rng = attacked(seed), np.random.default_rng(seed)
    step = form.steps[0]
    bounds = intermediate_bounds(form, inputs)
    found = max_planes.MaxPlanes.of(
        step, np.arange(12), ZERO_TOLERANCE * form.magnitude[0], inputs, form.problem.region, step
    )
    live = found.possible_winners(
        bounds.lower[:, found.candidates], bounds.upper[:, found.candidates], None
    )
    share = quantised_shares(rng.random((1, 12, inputs.center.size)))
    top, touched = found.offsets_over(inputs, live).offsets(share)
    points = restored(inputs, choices(inputs))
    real = step.activate(step.apply(points.reshape(len(points), -1)))[:, found.units]
    line = (share * found.terms_at(points)).sum(-1) + found.base_value(points) + top
    assert (line >= real - 1e-9).all()
    if inputs.equal_costs:  # nothing is bought in part, so that each line touches its maximum
        assert np.allclose((line - real).min(0), 0.0, atol=1e-9)
        at = [
            np.isclose(found.terms_at(points)[:, m], touched[0, m]).all(-1).any() for m in range(12)
        ]
        assert all(at)


def test_an_attack_is_ruled_out_exactly_when_nothing_affordable_undoes_it(monkeypatch):
    climbs, proved, undone = [], 0, 0
    run = restoration_ascent.RestorationAscent.run
    monkeypatch.setattr(
        restoration_ascent.RestorationAscent,
        "run",
        lambda self, *args: climbs.append(1) or run(self, *args),
    )
    for seed in range(80):
        form, inputs = attacked(seed)
        answer = decide_restorations(form, inputs, np.array([0]), Budget())[0]
        best = form.problem.margins(restored(inputs, choices(inputs)))[:, 0].max()
        assert isinstance(answer, Proved | UndoneBy)
        assert isinstance(answer, Proved) == (best < 0)
        proved = proved + (best < 0)
        undone = undone + (best >= 0)
    assert min(proved, undone, len(climbs)) > 10


def test_climbs_stay_below_every_choice_and_gain_much():
    climbed = []
    plain = []
    for seed in range(20):
        form, inputs = attacked(seed, filters=24)
        run = BranchRun.of(form, inputs, [[0]], -1.0, lambda sets, *_: [None] * len(sets), Budget())
        root, other = (root_subproblem(0, 0, inputs, form.unit_count) for _ in "ab")
        run.queries[0].roots = [root]
        evaluate(UnitBranching(run), [root])
        best = -form.problem.margins(restored(inputs, choices(inputs)))[:, 0].max()
        assert root.bound <= best + 1e-9
        run.planes = None  # the lines of maxima that have no rows of their own
        evaluate(UnitBranching(run), [other])
        if not root.closed:
            climbed.append(best - root.bound)
            plain.append(best - other.bound)
    assert len(plain) > 5
    assert np.mean(climbed) < 0.5 * np.mean(plain)


def test_both_checkers_accept_such_proofs_and_refuse_lines_that_are_too_low(monkeypatch, tmp_path):
    used = 0
    refused = 0
    top = max_planes.MaxOffsetsOverRestorations.offsets

    def low(self, share):
        constants, touched = top(self, share)
        return constants - 0.3, touched

    for seed in range(8):
        classifier = text_cnn(seed, filters=8)
        found = sf.explain(classifier, TEXT, perturbation=sf.KNNBox(3), seconds=60)
        both_accept(found.certificate, classifier, tmp_path)
        used += restorations_above(found.certificate)
        with monkeypatch.context() as patched:
            patched.setattr(max_planes.MaxOffsetsOverRestorations, "offsets", low)
            wrong = sf.explain(
                classifier, TEXT, perturbation=sf.KNNBox(3), seconds=60, self_check=False
            )
        try:
            sf.check(wrong.certificate, classifier)
        except Rejected:
            refused += 1
    assert used
    assert refused


def restorations_above(certificate):
    """How many leaves of proofs that attacks cannot be undone have rows of their own."""
    lines = list(certificate.lines)
    starts = [i for i, line in enumerate(lines) if "restoration" in line]
    return sum("above" in line.get("leaf", {}) for line in lines[starts[0] :]) if starts else 0


def test_patient_exchanges_lose_nothing_and_what_they_find_is_affordable():
    for seed in range(120):
        form, inputs = attacked(seed, length=18, filters=30)
        problem = form.problem
        level = float(inputs.budget[0])
        margins = {}
        for patience in (0, DEFAULT.restorations.rounds):
            some = SwapSearch(problem, inputs.perturbed[0], 0, first(inputs), inputs.costs, level)
            words = some.run(inputs.optional[0], Budget(), patience)
            assert inputs.costs[words].sum() <= level
            assert not (words & ~inputs.optional[0]).any()
            margins[patience] = problem.margins(restored(inputs, words)[None])[0, 0]
            assert np.isclose(margins[patience], some.margin)
        assert (
            min(margins.values())
            >= problem.margins(restored(inputs, first(inputs))[None])[0, 0] - 1e-9
        )
        shrunk = SwapSearch(
            problem, inputs.perturbed[0], 0, inputs.optional[0], inputs.costs, level
        ).reduced()
        assert inputs.costs[shrunk.words].sum() <= level
        assert np.isclose(
            problem.margins(restored(inputs, shrunk.words)[None])[0, 0], shrunk.margin
        )


def first(inputs):
    """The first open words that the budget pays for."""
    words = np.flatnonzero(inputs.optional[0])
    found = np.zeros(len(inputs.costs), dtype=bool)
    found[words[np.cumsum(inputs.costs[words]) <= inputs.budget[0]]] = True
    return found

"""Bounds of single hidden units: they hold, both checkers accept them and refuse wrong ones, and
they save splits.
"""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
from helpers import make_classifier, make_text, refused, set_numbers

import suffice as sf
from suffice.model.network import Network
from suffice.proof import check_exact
from suffice.sets.regions import Ball, Box, Hull
from suffice.settings import DEFAULT
from suffice.verify.contract import Budget, Problem
from suffice.verify.nets.branch import decide, region_queries
from suffice.verify.nets.crown import (
    PreparedProblem,
    intermediate_bounds,
    margin_rows,
    refine_intermediate,
)
from suffice.verify.nets.input_sets import Free, Restorations

SETS = {"boxes": sf.KNNBox(3), "balls": sf.EpsilonBall(0.9, p=2), "hulls": sf.KNNHull(3)}


def problem_of(region, seed, sizes=(9, 6, 5)):
    rng = np.random.default_rng(seed)
    pairs = itertools.pairwise([region.center.size, *sizes, 2])
    layers = [
        (rng.standard_normal((n, m)) / np.sqrt(m), rng.standard_normal(n) * 0.3) for m, n in pairs
    ]
    network = Network.dense(layers)
    label = int(network.forward(region.center[None])[0].argmax())
    return Problem(network, region, label, np.ones(len(region.center), dtype=bool))


def region_of(kind, rng, words=4, dimension=3):
    center = rng.standard_normal((words, dimension))
    if kind == "box":
        return Box(center, center - rng.random(center.shape), center + rng.random(center.shape))
    if kind == "hull":
        return Hull(
            center,
            np.concatenate([center[:, None], rng.standard_normal((words, 3, dimension))], axis=1),
        )
    return Ball(center, 0.7, 2)


def sums_of(problem, points):
    """Every hidden unit's sum (n, units) at points."""
    values = points.reshape(len(points), -1)
    found = []
    for step in problem.network.steps[:-1]:
        found.append(step.apply(values))
        values = step.activate(found[-1])
    return np.concatenate(found, axis=1)


def corners_of(region, mark, rng):
    """Points of the set, many of them at its corners."""
    inside = np.where(mark[:, None], region.sample(rng, 300), region.center)
    if not isinstance(region, Box):
        return inside
    ends = np.where(rng.random((600, *region.center.shape)) < 0.5, region.lower, region.upper)
    return np.concatenate([inside, np.where(mark[:, None], ends, region.center)])


@pytest.mark.parametrize("kind", ["box", "ball", "hull", "restored"])
@pytest.mark.parametrize("seed", range(4))
def test_narrowed_bounds_hold_and_are_narrower(kind, seed):
    rng = np.random.default_rng(seed)
    region = region_of("box" if kind == "restored" else kind, rng)
    problem = problem_of(region, seed)
    mark = rng.random(4) < 0.8
    form = PreparedProblem.of(problem)
    inputs = Free(region, mark[None])
    points = corners_of(region, mark, rng)
    if kind == "restored":
        start = region.sample(rng, 1)
        inputs = Restorations(region.center, start, mark[None], np.ones(4), np.array([2.0]))
        sets = (np.arange(16)[:, None] >> np.arange(4)) % 2 * mark
        points = np.where(sets[sets.sum(1) <= 2][..., None] > 0, region.center, start)
    found = refine_intermediate.refined_bounds(
        form, inputs, margin_rows(form, np.array([0])), Budget(60)
    )
    plain = intermediate_bounds(form, inputs)
    sums = sums_of(problem, points)
    assert (sums >= found.lower).all()
    assert (sums <= found.upper).all()
    assert all(
        (proof.value - side[0, proof.unit]) * proof.sign > 0 for proof, side in sides(found, plain)
    )


def sides(found, plain):
    return [(proof, plain.lower if proof.sign > 0 else plain.upper) for proof in found.proofs]


def narrowing(monkeypatch):
    """Take every network as a wide one."""
    set_numbers(monkeypatch, DEFAULT.planes, refined_from_shares=0)


def stated(certificate):
    return [i for i, line in enumerate(certificate.lines) if "bound" in line]


def exactly(classifier, folder):
    classifier.save(folder / "model")
    return check_exact.load(folder / "model")


@pytest.mark.parametrize("name", SETS)
def test_answers_are_the_same_and_both_checkers_accept_them(name, monkeypatch, tmp_path):
    used = 0
    for seed in range(8):
        classifier = make_classifier(seed, hidden=(7, 4, 4))
        text = " ".join(make_text(seed))
        plain = sf.explain(classifier, text, perturbation=SETS[name], seconds=30)
        with monkeypatch.context() as patched:
            narrowing(patched)
            found = sf.explain(classifier, text, perturbation=SETS[name], seconds=30)
        assert (found.cost, found.lower_bound) == (plain.cost, plain.lower_bound)
        assert sf.check(found.certificate, classifier).optimal
        check_exact.check(list(found.certificate.lines), exactly(classifier, tmp_path / str(seed)))
        used += len(stated(found.certificate))
    assert used


@pytest.mark.parametrize("side", ["least", "most"])
def test_a_planted_bug_in_a_bound_is_found_by_the_checker(side, monkeypatch):
    narrowing(monkeypatch)
    real, sign = refine_intermediate.UnitBound, 1 if side == "least" else -1

    def planted(unit, mine, value, leaf):
        return real(unit, mine, value + 0.3 * sign * (mine == sign), leaf)

    monkeypatch.setattr(refine_intermediate, "UnitBound", planted)
    asked = (
        (make_classifier(seed, hidden=(7, 4, 4)), " ".join(make_text(seed))) for seed in range(12)
    )
    assert any(refused(*one, sf.KNNBox(3)) for one in asked)


def with_bound(monkeypatch):
    """A classifier, and an explanation whose certificate states a bound."""
    narrowing(monkeypatch)
    for seed in range(12):
        classifier = make_classifier(seed, hidden=(7, 4, 4))
        text = " ".join(make_text(seed))
        found = sf.explain(classifier, text, perturbation=sf.KNNBox(3), seconds=30)
        if stated(found.certificate):
            return classifier, found.certificate
    raise AssertionError("no certificate states a bound")


def spoiled(line):
    side = "least" if "least" in line else "most"
    better = 1 if side == "least" else -1
    rest = {name: value for name, value in line.items() if name != side}
    yield {**line, side: line[side] + 1e-3 * better}  # more than is shown
    yield {**line, side: 1e30 * better}
    yield {**line, side: 10**400}  # no number
    yield {**line, side: True}
    yield {**line, side: str(line[side])}
    yield rest  # no side
    yield {**line, "least": -1.0, "most": 1.0}  # two
    yield {**line, "bound": 15}  # a score's
    yield {**line, "bound": -1}
    yield {**rest, "most" if side == "least" else "least": line[side]}  # of the other side
    yield {**line, "leaf": {"alpha": None}}


def test_both_checkers_refuse_bounds_that_are_not_shown(monkeypatch, tmp_path):
    classifier, certificate = with_bound(monkeypatch)
    model = exactly(classifier, tmp_path)
    for place in stated(certificate)[:2]:
        for line in spoiled(certificate.lines[place]):
            lines = copy.deepcopy(list(certificate.lines))
            lines[place] = line
            with pytest.raises(sf.Rejected):
                sf.check(type("Lines", (), {"lines": lines})(), classifier)
            with pytest.raises(check_exact.Reject):
                check_exact.check(lines, model)


def test_a_bound_is_used_below_its_line_alone(monkeypatch):
    """A false bound that nothing else relies on is still rejected, and named by its own line."""
    classifier, certificate = with_bound(monkeypatch)
    place = stated(certificate)[0]
    false = {"bound": 0, "least": 1e6, "leaf": {"alpha": None, "beta": {}}}
    lines = [*certificate.lines[:place], false, *certificate.lines[place:]]
    with pytest.raises(sf.Rejected) as error:
        sf.check(type("Lines", (), {"lines": lines})(), classifier)
    assert error.value.line == place + 1


def test_a_wide_network_takes_far_fewer_subproblems(monkeypatch):
    spent = {}
    answers = region_queries.answer_queries

    def counted(way):
        found = answers(way)
        shares = DEFAULT.planes.refined_from_shares
        spent[shares] = spent.get(shares, 0) + sum(query.bounded for query in way.run.queries)
        return found

    monkeypatch.setattr(region_queries, "answer_queries", counted)
    rng = np.random.default_rng(1)
    region = region_of("box", rng, words=6)
    problem = problem_of(region, 1, (60, 12))
    for many in (0, 10**9):
        set_numbers(monkeypatch, DEFAULT.planes, refined_from_shares=many)
        free = np.eye(6, dtype=bool) | (np.arange(6) < 2)
        decide(PreparedProblem.of(problem), free, Budget(60, 3000))
    assert 2 * spent[0] < spent[10**9]

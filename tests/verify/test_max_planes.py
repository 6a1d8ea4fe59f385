"""Lines above maxima with rows of their own: they stay above, both checkers accept them, and they
save splits.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from helpers import refused
from test_max_lines import text_cnn

import suffice as sf
from suffice.proof import check_exact
from suffice.sets.regions import Ball, Box
from suffice.verify.contract import Budget, Problem, Proved
from suffice.verify.nets import branch
from suffice.verify.nets.branch import region_queries
from suffice.verify.nets.crown import (
    PreparedProblem,
    intermediate_bounds,
    max_planes,
)
from suffice.verify.nets.crown.relu_planes import quantised_shares
from suffice.verify.nets.input_sets import Free
from suffice.verify.tolerances import ZERO_TOLERANCE

TEXT = "w0 w3 w1 w6 w2 w5"


def form_of(kind, seed, filters=3):
    rng = np.random.default_rng(seed)
    network = text_cnn(seed, filters=filters).network
    center = rng.standard_normal((6, 2))
    region = (
        Ball(center, 0.5, np.inf)
        if kind == "cube"
        else Box(center, center - rng.random((6, 2)), center + 0.4)
    )
    label = int(network.forward(center[None])[0].argmax())
    return PreparedProblem.of(Problem(network, region, label, np.ones(6, dtype=bool)))


def inputs_of(form, rng):
    """An input set, and points of it: corners and others."""
    region = form.problem.region
    mark = rng.random((1, 6)) < 0.7
    middle, radius = region.spread
    corners = region.center + middle + radius * rng.choice([-1.0, 1.0], (300, 6, 2))
    points = np.concatenate([region.sample(rng, 300), corners])
    return Free(region, mark), np.where(mark[0][:, None], points, region.center)


@pytest.mark.parametrize("kind", ["box", "cube"])
@pytest.mark.parametrize("seed", range(6))
def test_a_line_is_above_its_maximum_whatever_the_shares(kind, seed):
    rng = np.random.default_rng(seed)
    form = form_of(kind, seed)
    inputs, points = inputs_of(form, rng)
    step = form.steps[0]
    bounds = intermediate_bounds(form, inputs)
    found = max_planes.MaxPlanes.of(
        step, np.arange(3), ZERO_TOLERANCE * form.magnitude[0], inputs, form.problem.region, step
    )
    live = found.possible_winners(
        bounds.lower[:, found.candidates], bounds.upper[:, found.candidates], None
    )
    share = quantised_shares(rng.random((1, 3, 12)))
    top, touched = found.offsets_over(inputs, live).offsets(share)
    real = step.activate(step.apply(points.reshape(len(points), -1)))[:, found.units]
    line = (share * found.terms_at(points)).sum(-1) + found.base_value(points) + top
    assert (line >= real - 1e-9).all()
    assert (line - real).min() < 1.5  # and not just anywhere above
    row = found.to_input_coefficients(np.repeat(share, len(points), 0)) + found.least_weight.sum(0)
    flat = points.reshape(len(points), -1)
    assert np.allclose(
        (row * flat).sum(-1),
        (share * found.terms_at(points)).sum((-1, -2)) + found.base_value(points).sum(-1),
    )
    assert touched.shape == share.shape


def hard_questions(seed):
    """A TextCNN and a text whose proofs need more than a pass."""
    return text_cnn(seed, filters=6), TEXT


def both_accept(certificate, classifier, folder):
    classifier.save(folder / "model")
    certificate.save(folder / "proof.cert")
    sf.check(certificate, classifier)
    check_exact.check((folder / "proof.cert").read_bytes(), check_exact.load(folder / "model"))


def leaves_above(certificate):
    return [line["leaf"]["above"] for line in certificate.lines if "above" in line.get("leaf", {})]


def test_answers_are_the_same_without_and_both_checkers_accept_them(monkeypatch, tmp_path):
    used = 0
    for seed in range(8):
        classifier, text = hard_questions(seed)
        found = sf.explain(classifier, text, perturbation=sf.KNNBox(2), seconds=30)
        with monkeypatch.context() as patched:
            patched.setattr(max_planes.MaxPlanes, "of", lambda *_: None)
            plain = sf.explain(classifier, text, perturbation=sf.KNNBox(2), seconds=30)
        assert found.status == plain.status == "optimal"
        assert (found.cost, found.lower_bound) == (plain.cost, plain.lower_bound)
        both_accept(found.certificate, classifier, tmp_path)
        used += len(leaves_above(found.certificate))
    assert used


def test_a_planted_bug_in_the_constant_above_is_found_by_the_checker(monkeypatch):
    real = max_planes.MaxOffsetsOverBox.offsets
    monkeypatch.setattr(
        max_planes.MaxOffsetsOverBox,
        "offsets",
        lambda *given: (real(*given)[0] - 0.5, real(*given)[1]),
    )
    assert any(refused(*hard_questions(seed), sf.KNNBox(2)) for seed in range(12))


def test_far_fewer_subproblems_are_needed(monkeypatch):
    """Eight words, eight filters of width 3, everything free, and the lowest corners a little above
    the boundary.
    """
    rng = np.random.default_rng(2)
    free = np.ones((1, 8), dtype=bool)
    network = text_cnn(2, words=8, filters=8, width=3).network
    center = rng.standard_normal((8, 2)) * 0.5
    label = int(network.forward(center[None])[0].argmax())
    problem = Problem(network, Box(center, center - 0.3, center + 0.3), label, free[0])
    least = problem.margins(center + rng.choice([-0.3, 0.3], (20_000, 8, 2))).min()
    *first, last = network.steps
    lifted = replace(last, bias=last.bias + (np.arange(2) == label) * (0.3 - least))
    form = PreparedProblem.of(replace(problem, network=replace(network, steps=(*first, lifted))))
    spent = []
    answers = region_queries.answer_queries

    def counted(way):
        found = answers(way)
        spent.append(sum(query.bounded for query in way.run.queries))
        return found

    monkeypatch.setattr(region_queries, "answer_queries", counted)
    assert isinstance(branch.decide(form, free, Budget(60))[0], Proved)
    monkeypatch.setattr(max_planes.MaxPlanes, "of", lambda *_: None)
    assert isinstance(branch.decide(form, free, Budget(60))[0], Proved)
    assert 3 * spent[0] < spent[1]


def spoiled(above, classifier):
    unit, share = next(iter(above["shares"].items()))
    group = next(group for group in classifier.network.steps[0].maxima if group[0] == int(unit))
    yield {**above, "shares": {str(group[1]): share}}  # not the first unit of a maximum
    yield {**above, "per": "word"}  # not by number
    yield {**above, "shares": {unit: {"f4": share["f4"][:8]}}}  # too few shares


def test_both_checkers_refuse_lines_above_that_make_no_sense(tmp_path):
    found = classifier = None
    for seed in range(8):
        classifier, text = hard_questions(seed)
        found = sf.explain(classifier, text, perturbation=sf.KNNBox(2), seconds=30)
        if leaves_above(found.certificate):
            break
    classifier.save(tmp_path / "model")
    model = check_exact.load(tmp_path / "model")
    place = next(
        i for i, line in enumerate(found.certificate.lines) if "above" in line.get("leaf", {})
    )
    for above in spoiled(found.certificate.lines[place]["leaf"]["above"], classifier):
        lines = copy.deepcopy(list(found.certificate.lines))
        lines[place]["leaf"]["above"] = above
        with pytest.raises(sf.Rejected):
            sf.check(type("Lines", (), {"lines": lines})(), classifier)
        with pytest.raises(check_exact.Reject):
            check_exact.check(lines, model)

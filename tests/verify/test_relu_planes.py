"""Tilted lines above first relus: they stay above, both checkers accept what they prove, and they
save splits.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
from helpers import make_classifier, make_text, refused, set_numbers

import suffice as sf
from suffice.model.network import Network
from suffice.proof import check_exact
from suffice.sets.regions import Ball, Box, Hull
from suffice.settings import DEFAULT
from suffice.verify.contract import Budget, Problem, Proved
from suffice.verify.nets.branch import decide, region_queries
from suffice.verify.nets.crown import PreparedProblem, relu_planes
from suffice.verify.nets.input_sets import Free, Restorations

SETS = {"boxes": sf.KNNBox(3), "balls": sf.EpsilonBall(0.6, p=2), "hulls": sf.KNNHull(3)}


def problem_of(region, seed, units=12):
    rng = np.random.default_rng(seed)
    inputs = region.center.size
    first = rng.standard_normal((units, inputs)), rng.standard_normal(units) * 0.3
    last = rng.standard_normal((2, units)), rng.standard_normal(2)
    network = Network.dense([first, last])
    label = int(network.forward(region.center[None])[0].argmax())
    return Problem(network, region, label, np.ones(len(region.center), dtype=bool))


def region_of(kind, seed, words=4, dimension=3):
    rng = np.random.default_rng(seed)
    center = rng.standard_normal((words, dimension))
    if kind == "box":
        return Box(center, center - rng.random(center.shape), center + rng.random(center.shape))
    if kind == "hull":
        return Hull(
            center,
            np.concatenate([center[:, None], rng.standard_normal((words, 3, dimension))], axis=1),
        )
    return Ball(center, 0.7, 2 if kind == "ball" else np.inf)


@pytest.mark.parametrize("kind", ["box", "cube", "ball", "hull", "restored", "costly"])
@pytest.mark.parametrize("seed", range(4))
def test_a_tilted_line_is_above_its_relu_whatever_the_shares(kind, seed):
    rng = np.random.default_rng(seed)
    back = kind in ("restored", "costly")
    region = region_of("box" if back else kind, seed)
    form = PreparedProblem.of(problem_of(region, seed))
    mark = rng.random((1, 4)) < 0.7
    inputs = Free(region, mark)
    points = np.where(mark[0][:, None], region.sample(rng, 400), region.center)
    if back:
        cost = np.arange(1.0, 5) if kind == "costly" else np.ones(4)
        start = region.sample(rng, 1)
        inputs = Restorations(region.center, start, mark, cost, np.array([2.0]))
        sets = (np.arange(16)[:, None] >> np.arange(4)) % 2 * mark
        points = np.where(sets[sets @ cost <= 2][..., None] > 0, region.center, start)
    found = relu_planes.ReluPlanes.of(form.steps[0], np.arange(12), inputs, region)
    assert found.per == ("number" if kind in ("box", "cube") else "word")
    share = relu_planes.quantised_shares(rng.random((1, 12, found.share_count // 12)))
    top, _ = found.offsets_over(inputs).offsets(share)
    added = found.terms_at(points)
    real = np.maximum(form.steps[0].apply(points.reshape(len(points), -1)), 0.0)
    line = (share * added).sum(-1) + top
    assert (line >= real - 1e-9).all()
    assert (line - real).min() < 2.0  # and not just anywhere above
    row = found.to_input_coefficients(np.repeat(share, len(points), 0))
    assert np.allclose(
        (row * points.reshape(len(points), -1)).sum(-1), (share * added).sum((-1, -2))
    )


def tilted(monkeypatch):
    """Tilt lines from the first subproblem on."""
    set_numbers(monkeypatch, DEFAULT.planes, after=0)


def both_accept(certificate, classifier, folder):
    classifier.save(folder / "model")
    certificate.save(folder / "proof.cert")
    sf.check(certificate, classifier)
    return check_exact.check(
        (folder / "proof.cert").read_bytes(), check_exact.load(folder / "model")
    )


def leaves_above(certificate):
    return [line["leaf"]["above"] for line in certificate.lines if "above" in line.get("leaf", {})]


@pytest.mark.parametrize("name", SETS)
def test_answers_are_the_same_and_both_checkers_accept_them(name, monkeypatch, tmp_path):
    used = 0
    for seed in range(5):
        classifier = make_classifier(seed, hidden=(7, 4))
        text = " ".join(make_text(seed))
        plain = sf.explain(classifier, text, perturbation=SETS[name], seconds=30)
        with monkeypatch.context() as patched:
            tilted(patched)
            found = sf.explain(classifier, text, perturbation=SETS[name], seconds=30)
        assert (found.cost, found.lower_bound) == (plain.cost, plain.lower_bound)
        both_accept(found.certificate, classifier, tmp_path)
        used += len(leaves_above(found.certificate))
    assert used


@pytest.mark.parametrize("kind", ["ReluOffsetsOverProduct", "ReluOffsetsOverRestorations"])
def test_a_planted_bug_in_the_constant_above_is_found_by_the_checker(kind, monkeypatch):
    tilted(monkeypatch)
    real = getattr(relu_planes, kind).offsets
    monkeypatch.setattr(
        getattr(relu_planes, kind),
        "offsets",
        lambda *given: (real(*given)[0] - 0.7, real(*given)[1]),
    )
    asked = (
        (make_classifier(seed, hidden=(7, 4)), " ".join(make_text(seed))) for seed in range(12)
    )
    assert any(refused(*one, sf.KNNBox(3)) for one in asked)


def test_a_wide_first_step_takes_far_fewer_subproblems(monkeypatch):
    """A dozen inputs and two dozen relus, close to the boundary, as in safeNLP."""
    spent = {}
    answers = region_queries.answer_queries

    def counted(way):
        found = answers(way)
        spent[DEFAULT.planes.after] = sum(query.bounded for query in way.run.queries)
        return found

    monkeypatch.setattr(region_queries, "answer_queries", counted)
    rng = np.random.default_rng(3)
    center = rng.standard_normal((1, 12)) * 0.3
    region = Box(center, center - 0.35, center + 0.35)
    weight = rng.standard_normal((24, 12))
    out = rng.standard_normal(24)
    hidden = weight, rng.standard_normal(24) * 0.2
    corners = center + 0.35 * ((np.arange(4096)[:, None] >> np.arange(12)) % 2 * 2 - 1)
    lowest = (np.maximum(corners @ weight.T + hidden[1], 0) @ out).min()
    network = Network.dense([hidden, (np.stack([out, 0 * out]), np.array([1.0 - lowest, 0.0]))])
    problem = Problem(network, region, 0, np.ones(1, dtype=bool))
    for hard in (0, 10**9):
        set_numbers(monkeypatch, DEFAULT.planes, after=hard)
        answer = decide(PreparedProblem.of(problem), np.ones((1, 1), dtype=bool), Budget(60))[0]
        assert isinstance(answer, Proved)
    assert 3 * spent[0] < spent[10**9]


def spoiled(above):
    unit, share = next(iter(above["shares"].items()))
    yield {**above, "shares": {}}  # no shares
    yield {"per": above["per"]}  # shares of nobody
    yield {**above, "per": "letter"}  # per something else
    yield {**above, "shares": {unit: {"f4": share["f4"][:8]}}}  # too few shares
    yield {**above, "shares": {**above["shares"], "999": share}}  # not a relu
    yield {**above, "words": [0, 0]}  # a word twice
    yield {**above, "words": [99]}  # no word
    yield {**above, "words": above["words"][:-1]}  # too many shares
    yield {**above, "per": "word"}  # of some words
    yield {**above, "shares": {"0" + unit: share}}  # not a plain number


def test_both_checkers_refuse_lines_above_that_make_no_sense(monkeypatch, tmp_path):
    tilted(monkeypatch)
    found = classifier = None
    for seed in range(5):
        classifier = make_classifier(seed, hidden=(7, 4))
        text = " ".join(make_text(seed))
        found = sf.explain(classifier, text, perturbation=sf.KNNBox(3), seconds=30)
        if leaves_above(found.certificate):
            break
    classifier.save(tmp_path / "model")
    model = check_exact.load(tmp_path / "model")
    place = next(
        i for i, line in enumerate(found.certificate.lines) if "above" in line.get("leaf", {})
    )
    for above in spoiled(found.certificate.lines[place]["leaf"]["above"]):
        lines = copy.deepcopy(list(found.certificate.lines))
        lines[place]["leaf"]["above"] = above
        with pytest.raises(sf.Rejected):
            sf.check(type("Lines", (), {"lines": lines})(), classifier)
        with pytest.raises(check_exact.Reject):
            check_exact.check(lines, model)

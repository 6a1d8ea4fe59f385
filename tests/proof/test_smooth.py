"""Smooth activations: lines that hold, answers that brute force and sampling cannot contradict,
certificates.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import suffice as sf
from suffice.model import graph
from suffice.model.classifier import Classifier
from suffice.model.curves import CURVES
from suffice.model.network import Floats, Network
from suffice.proof.certificate import Certificate
from suffice.proof.check import curves as checked
from suffice.proof.check import network
from suffice.verify.contract import Budget, Problem, Proved, Refuted, Unknown
from suffice.verify.exact import scores_with_error
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.nets.crown import (
    BoundBatch,
    PreparedProblem,
    backward_bound,
    initial_dual,
    intermediate_bounds,
    margin_rows,
)
from suffice.verify.nets.crown.smooth import lines
from suffice.verify.nets.input_sets import Free
from suffice.verify.solvers import make_oracle

WORDS = ["<PAD>", "<UNK>", *(f"w{i}" for i in range(20))]
SWAPS = {f"w{i}": [f"w{(i + 3) % 20}", f"w{(i + 7) % 20}"] for i in range(20)}
SETS = [
    sf.KNNBox(3),
    sf.KNNHull(3),
    sf.EpsilonBall(0.2),
    sf.EpsilonBall(0.3, p=2),
    sf.WordSwap(SWAPS),
    sf.Deletion(),
]
KINDS = [*(name for name in CURVES if name not in ("exp", "share")), "softmax", "mixed"]


def smooth(
    kind: str, seed: int, length: int = 5, dimension: int = 2, classes: int = 2
) -> Classifier:
    """A random classifier with one smooth layer and one of relus."""
    rng = np.random.default_rng(seed)
    x = (
        graph.start((length, dimension))
        .reshape((-1,))
        .linear(rng.normal(size=(6, length * dimension)) * 0.7)
    )
    x = x.shift(rng.normal(size=6) / 2)
    match kind:
        case "softmax":
            bent = x.reshape((2, 3)).softmax(1).reshape((-1,)).scale(5.0).shift(-1.6)
        case "mixed":
            bent = graph.concatenate([x[:3].curve("tanh"), x[3:].relu()], 0)
        case _:
            bent = x.curve(kind)
    after = bent.linear(rng.normal(size=(4, 6)) * 0.7, rng.normal(size=4) / 2)
    scores = graph.add(after.relu(), bent[:4]).linear(
        rng.normal(size=(classes, 4)), rng.normal(size=classes) / 2
    )
    labels = [f"label{i}" for i in range(classes)]
    return Classifier(Network.of(scores), rng.normal(size=(22, dimension)), WORDS, labels, length)


def text_of(seed: int, words: int) -> list[str]:
    return [WORDS[i] for i in np.random.default_rng(seed).integers(2, 22, words)]


def problem_of(classifier: Classifier, text: list[str], perturbation: sf.KNNBox) -> Problem:
    from suffice.verbs.question import Question

    return Question(classifier, text, perturbation=perturbation).problem


# --- lines ---


def escaped(made: tuple[Floats, ...], curve: str, low: Floats, high: Floats) -> int:
    """How many intervals have a point of the curve outside its two lines."""
    below, floor, above, shift = (part[:, None] for part in made)
    share = np.concatenate([np.linspace(0, 1, 1501), np.random.default_rng(0).random(500)])
    z = low[:, None] + (high - low)[:, None] * share
    value = CURVES[curve].value(z)
    return int(((value < below * z + floor) | (value > above * z + shift)).any(1).sum())


def intervals(seed: int, count: int = 600) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=count) * 4
    widths = 10.0 ** rng.uniform(-9, 1.5, count)
    return centers - widths * (rng.random(count) > 0.1), centers + widths


def provers(curve: str, low: Floats, high: Floats) -> tuple[Floats, ...]:
    return lines(CURVES[curve], low, high)


def checkers(curve: str, low: Floats, high: Floats) -> tuple[Floats, ...]:
    below, above, shift, floor = checked.lines(checked.CURVES[curve], low, high)
    return below, floor, above, shift


@pytest.mark.parametrize("make", [provers, checkers])
@pytest.mark.parametrize("curve", CURVES)
def test_lines_stay_on_their_side_of_the_curve(curve, make):
    low, high = intervals(1)
    assert escaped(make(curve, low, high), curve, low, high) == 0


@pytest.mark.parametrize("make", [provers, checkers])
@pytest.mark.parametrize("curve", ["tanh", "gelu", "exp"])
def test_lines_that_forget_the_bend_between_grid_points_would_be_found(curve, make, monkeypatch):
    flat = replace(CURVES[curve], bend=lambda low, high: np.zeros_like(low))
    monkeypatch.setitem(CURVES, curve, flat)  # type: ignore[arg-type]
    monkeypatch.setitem(checked.CURVES, curve, replace(checked.CURVES[curve], curvature_limit=0.0))
    low, high = intervals(1)
    assert escaped(make(curve, low, high), curve, low, high) > 0


@pytest.mark.parametrize("curve", CURVES)
def test_lines_are_close_over_narrow_intervals(curve):
    low = np.linspace(-3, 3, 50)
    below, floor, above, shift = lines(CURVES[curve], low, low + 0.1)
    middle = low + 0.05
    bend = CURVES[curve].bend(low, low + 0.1)
    assert (above * middle + shift - below * middle - floor <= bend * 0.1**2 + 1e-9).all()


# --- bounds ---


def inside(problem: Problem, free: np.ndarray, count: int, seed: int) -> Floats:
    """Points of the region: mixtures of its corners in random directions, or corners where words
    are listed.
    """
    rng = np.random.default_rng(seed)
    corners = [
        problem.region.minimiser(rng.standard_normal((count, *problem.center.shape)))
        for _ in range(2)
    ]
    share = rng.random((count, 1, 1)) ** 2
    mixed = (
        corners[0]
        if hasattr(problem.region, "names")
        else corners[0] * (1 - share) + corners[1] * share
    )
    return np.where(free[:, None], mixed, problem.center)


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_hold_at_sampled_points(kind):
    for seed, perturbation in enumerate(SETS):
        classifier = smooth(kind, seed, classes=3)
        problem = problem_of(classifier, text_of(seed, 5), perturbation)
        free = np.random.default_rng(seed).random((8, 5)) < 0.6
        form = PreparedProblem.of(problem)
        inputs = Free(problem.region, free)
        bounds = intermediate_bounds(form, inputs)
        for rival in range(2):
            rows = margin_rows(form, np.full(8, rival))
            found = backward_bound(
                form, BoundBatch(inputs, bounds, rows), initial_dual(bounds)
            ).bound
            for row, bound in zip(free, found, strict=True):
                points = inside(problem, row, 400, seed)
                assert bound <= problem.margins(points)[:, rival].min()


@pytest.mark.parametrize("kind", KINDS)
def test_verdicts_are_not_contradicted_and_refutations_are_real(kind):
    tally = dict.fromkeys((Proved, Refuted, Unknown), 0)
    for seed in range(12):
        classifier = smooth(kind, seed)
        problem = problem_of(classifier, text_of(seed, 5), SETS[seed % len(SETS)])
        free = np.array(list(itertools.product([False, True], repeat=5)))
        for row, answer in zip(free, BoundsOracle(problem).ask(free, Budget(20)), strict=True):
            tally[type(answer)] += 1
            margins = problem.margins(inside(problem, row, 300, seed)).min(-1)
            if isinstance(answer, Proved):
                assert margins.min() > 0
            if isinstance(answer, Refuted):
                point = answer.witness.point
                scores, error = scores_with_error(problem.network, point[None])
                assert scores[0, problem.label] - scores[0, answer.witness.rival] <= error[0].sum()
                assert problem.region.contains(point[None])[0][row].all()
                assert (point == problem.center)[~row].all()
    assert tally[Proved] > 20
    assert tally[Refuted] > 20


@pytest.mark.parametrize("name", ["milp", "marabou"])
def test_a_complete_solver_says_that_it_is_none_here(name):
    if name == "marabou":
        pytest.importorskip("maraboupy")
    problem = problem_of(smooth("tanh", 0), text_of(0, 5), sf.KNNBox(3))
    answer = make_oracle(name, problem).ask(np.ones((1, 5), dtype=bool), Budget(5))[0]
    assert isinstance(answer, Unknown)
    assert "smooth" in answer.reason


def test_the_error_of_computed_scores_covers_extended_precision():
    classifier = smooth("mixed", 3)
    points = np.random.default_rng(0).normal(size=(50, 5, 2)) * 3
    scores, error = scores_with_error(classifier.network, points)
    values = points.reshape(50, -1).astype(np.longdouble)
    for step in classifier.network.steps:
        z = values @ step.dense().T.astype(np.longdouble) + step.bias
        values = np.where(step.relu & (z < 0), 0, z)
        for _, units in step.curves:
            values[:, units] = np.tanh(z[:, units])
    assert (np.abs(scores - values) <= error).all()
    assert error.max() < 1e-9


# --- explanations ---


def cheapest(
    classifier: Classifier, text: list[str], perturbation: sf.WordSwap | sf.Deletion
) -> int:
    """By trying every set of words and, for each, every text that it allows."""
    problem = problem_of(classifier, text, perturbation)
    options = [np.unique(points, axis=0) for points in problem.region.points]  # type: ignore[union-attr]
    everything = np.array(list(itertools.product(*options)))
    flips = everything[problem.margins(everything).min(-1) <= 0]
    changed = (flips != problem.center).any(-1)
    sizes = [s.sum() for s in _subsets(len(text)) if not len(flips) or (changed & s).any(-1).all()]
    return int(min(sizes))


def _subsets(count: int) -> list[np.ndarray]:
    return [np.array(bits) for bits in itertools.product([False, True], repeat=count)]


@pytest.mark.parametrize("kind", KINDS)
def test_explanations_over_listed_words_agree_with_brute_force(kind):
    """Choices can be tried one by one, so that these answers are complete even here."""
    optimal = 0
    for seed, perturbation in itertools.product(range(4), (sf.WordSwap(SWAPS), sf.Deletion())):
        classifier = smooth(kind, seed, classes=3)
        text = text_of(seed + 50, 5)
        truth = cheapest(classifier, text, perturbation)
        result = sf.explain(classifier, text, perturbation=perturbation, seconds=30)
        assert result.lower_bound <= truth <= result.cost
        optimal += result.status == "optimal"
    assert optimal == 8


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_open_is_said_to_be_and_every_answer_is_certified(kind):
    for seed in range(5):
        classifier = smooth(kind, seed)
        text = text_of(seed, 5)
        result = sf.explain(classifier, text, perturbation=sf.KNNBox(4), seconds=10)
        assert result.status in ("optimal", "sufficient", "unknown")
        assert (result.status == "optimal") == (result.lower_bound == result.cost)
        checked = sf.check(result.certificate, classifier)
        assert set(checked.positions) == set(result.positions)
        if isinstance(
            sf.is_robust(classifier, text, result.positions, perturbation=sf.KNNBox(4)), Refuted
        ):
            raise AssertionError("an explanation that is refuted")


def test_a_gap_is_reported_where_bounds_cannot_close_it():
    found = [
        sf.explain(
            smooth("tanh", seed, 6), text_of(seed, 6), perturbation=sf.KNNBox(8), seconds=10
        ).status
        for seed in range(12)
    ]
    assert {"optimal", "sufficient"} <= set(found)


def test_a_certificate_says_nothing_of_a_network_that_flips():
    """The same evidence, handed in for a classifier whose label is weaker, is turned down."""
    refused = 0
    for seed in range(8):
        classifier = smooth("gelu", seed)
        text = text_of(seed, 5)
        result = sf.explain(classifier, text, perturbation=sf.KNNBox(3), seconds=10)
        problem = problem_of(classifier, text, sf.KNNBox(3))
        *before, last = classifier.network.steps
        bias = last.bias.copy()
        bias[problem.label] -= problem.margins(problem.center[None]).min() * 1.01
        weaker = replace(classifier, network=Network((*before, replace(last, bias=bias))))
        head = {**result.certificate.lines[0], "model": weaker.digest}
        with pytest.raises(sf.Rejected):
            sf.check(Certificate((head, *result.certificate.lines[1:])), weaker)
        refused += 1
    assert refused == 8


def test_a_smooth_classifier_is_saved_and_comes_back_the_same(tmp_path):
    classifier = smooth("mixed", 1)
    classifier.save(tmp_path / "model")
    again = sf.load(tmp_path / "model")
    assert again.digest == classifier.digest
    assert again.predict(text_of(0, 5)) == classifier.predict(text_of(0, 5))
    curved = replace(
        again, network=Network(tuple(replace(step, curves=()) for step in again.network.steps))
    )
    assert curved.digest != again.digest


def test_the_checker_knows_the_same_curves():
    z = np.concatenate([np.linspace(-30, 30, 4001), [-700.0, 700.0]])
    assert checked.CURVES.keys() == CURVES.keys()
    for name, curve in CURVES.items():
        np.testing.assert_allclose(
            checked.CURVES[name].value(z), curve.value(z), rtol=1e-12, atol=1e-13
        )
        assert (np.abs(curve.slope(z)) <= checked.CURVES[name].slope_limits(z) * (1 + 1e-12)).all()


@pytest.mark.parametrize("curve", CURVES)
def test_the_checkers_lines_are_at_least_as_close_as_the_provers(curve):
    """Otherwise a proof that only just holds would be turned down."""
    low, high = intervals(2)
    middle = (low + high) / 2
    below, floor, above, shift = provers(curve, low, high)
    closer, higher, nearer, deeper = checkers(curve, low, high)
    assert (closer * middle + higher >= below * middle + floor).all()
    assert (nearer * middle + deeper <= above * middle + shift).all()


def test_an_answer_whose_certificate_is_rejected_proves_nothing(monkeypatch):
    monkeypatch.setattr(
        network.NetworkBounds,
        "leaf_holds",
        lambda self, inputs, sign, leaves: np.zeros(len(leaves), dtype=bool),
    )
    result = sf.explain(smooth("tanh", 0), text_of(0, 5), perturbation=sf.Deletion())
    assert (result.status, result.lower_bound, result.certificate) == ("unknown", 0.0, None)
    assert "rejected" in result.meta

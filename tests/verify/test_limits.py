"""Limits of time and memory: work in pieces gives the same numbers, and time may run
out anywhere.
"""

from __future__ import annotations

import itertools
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from cases import NETWORKS, PERTURBATIONS, complaint, flip_among, make_case, samples
from helpers import make_classifier, make_text, set_numbers

import suffice as sf
from suffice.model.network import Conv1d, Dense, MaxPool, Network, Relu, Transpose
from suffice.optimise.restoration import greedy_undo
from suffice.settings import RESOURCES
from suffice.verify.contract import Budget, Problem, Unknown
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.nets.branch import input_sets_of
from suffice.verify.nets.crown import PreparedProblem, intermediate_bounds
from suffice.verify.nets.input_sets import Restorations


def sparse(problem: Problem) -> Problem:
    """The same problem with its weights stored as large, empty ones are."""
    from scipy.sparse import csr_array

    steps = tuple(replace(step, weight=csr_array(step.weight)) for step in problem.network.steps)
    return replace(problem, network=Network(steps))


@pytest.mark.parametrize("most", [None, 1])
@pytest.mark.parametrize(
    ("network", "perturbation"), list(itertools.product(NETWORKS, PERTURBATIONS))
)
def test_bounds_worked_out_in_pieces_are_the_same(
    network: str, perturbation: str, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = make_case(network, perturbation, seed=21)
    problem = replace(case.problem, at_most=most)

    def found(problem: Problem) -> list[np.ndarray]:
        form = PreparedProblem.of(problem)
        sets = input_sets_of(form, case.free, splittable=True)
        start = problem.region.minimiser(
            np.random.default_rng(0).standard_normal((4, *problem.center.shape))
        )
        back = Restorations(
            problem.center, start, case.free, np.ones(len(problem.features)), np.arange(4.0)
        )
        return [
            side
            for one in (sets, back)
            for side in (intermediate_bounds(form, one).lower, intermediate_bounds(form, one).upper)
        ]

    whole = found(problem)
    set_numbers(monkeypatch, RESOURCES, chunk_numbers=5)
    for first, second in zip(whole, found(sparse(problem)), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-9)


def test_restoring_words_of_a_sparse_network_is_the_same() -> None:
    for seed in range(20):
        problem = make_case("conv1d-maxpool", "boxes", seed).problem
        start = problem.region.minimiser(
            np.random.default_rng(seed).standard_normal((3, *problem.center.shape))
        )
        opened = np.ones((3, len(problem.features)), dtype=bool)
        rivals = np.zeros(3, dtype=int)
        cost = np.ones(len(problem.features))
        first, second = (
            greedy_undo(one, start, rivals, opened, cost) for one in (problem, sparse(problem))
        )
        assert first.order == second.order


class Clock(Budget):
    """A budget that is spent after so many looks at it."""

    looks = 0

    @property
    def seconds_left(self) -> float:
        type(self).looks -= 1
        return float(type(self).looks)


@pytest.mark.parametrize("perturbation", ["boxes", "knn-hull", "deletion", "ball-2"])
def test_time_that_runs_out_anywhere_in_an_oracle_proves_nothing_false(perturbation: str) -> None:
    late = 0
    for network, looks in itertools.product(("dense-2", "conv1d-maxpool"), range(0, 40, 3)):
        case = make_case(network, perturbation, seed=5)
        Clock.looks = looks
        verdicts = BoundsOracle(case.problem).ask(case.free, Clock())
        for free, verdict in zip(case.free, verdicts, strict=True):
            known = flip_among(
                case.problem, samples(case.problem.region, free, np.random.default_rng(0))
            )
            assert complaint(case, free, verdict, known) is None
        late += any(isinstance(verdict, Unknown) for verdict in verdicts)
    assert late


@pytest.mark.parametrize("method", ["search", "hs", "msa"])
def test_time_that_runs_out_anywhere_in_a_search_leaves_true_bounds(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier = make_classifier(3, length=5, dimension=2, hidden=(6, 4))
    text = make_text(12, length=5)
    perturbation = sf.KNNBox(4)
    seen = set()
    best = sf.explain(classifier, text, perturbation=perturbation).cost
    monkeypatch.setattr(Budget, "seconds_left", Clock.seconds_left)
    for looks in range(0, 120, 2):
        Clock.looks = looks
        monkeypatch.setattr(Budget, "looks", looks, raising=False)
        result = sf.explain(
            classifier, text, perturbation=perturbation, method=method, self_check=False
        )
        seen.add(result.status)
        assert result.lower_bound <= best <= result.cost
    assert "unknown" in seen


def test_a_proof_that_there_was_no_time_to_check_is_not_called_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    classifier = make_classifier(3, length=5, dimension=2, hidden=(6, 4))
    text = make_text(12, length=5)
    monkeypatch.setattr("suffice.verbs.question.GRACE", 0.0)
    monkeypatch.setattr("suffice.verbs.question.FINDING", 1 - 1e-12)
    question = {"perturbation": sf.KNNBox(4), "seconds": 60.0}
    explained = sf.explain(classifier, text, **question)
    turned = sf.contrast(classifier, text, **question)
    free = sf.bias(classifier, text, [0], **question)
    assert (explained.status, explained.certificate, explained.proved) == ("unknown", None, ())
    assert explained.lower_bound == 0
    assert "no time left to check" in explained.to_html()
    assert turned.status in ("found", "unknown")
    assert free.status == "unknown"
    for answer in (explained, turned, free):
        assert not answer.meta["checked"]
        assert "unchecked" in answer.meta


def test_finding_and_checking_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The times that each is given add up to the limit and one second at the most."""
    given: list[float] = []
    real, start = sf.check, Budget.__init__

    def checked(*asked: object, seconds: float) -> object:
        given.append(seconds)
        return real(*asked, seconds=seconds)

    def noted(self: Budget, seconds: float = 60.0, *rest: float, **more: float) -> None:
        given.append(seconds)
        start(self, seconds, *rest, **more)

    monkeypatch.setattr("suffice.verbs.accepting.check", checked)
    monkeypatch.setattr(Budget, "__init__", noted)
    classifier = make_classifier(3, length=5, dimension=2, hidden=(6, 4))
    text = make_text(12, length=5)
    sf.explain(classifier, text, perturbation=sf.KNNBox(4), seconds=8.0)
    assert given[-1] + max(given[:-1]) <= 9.0


def test_subproblems_that_would_not_fit_end_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    set_numbers(monkeypatch, RESOURCES, run_bytes=10_000)
    reasons = []
    for seed in range(30):
        case = make_case("dense-2", "boxes", seed)
        verdicts = BoundsOracle(case.problem).ask(case.free, Budget())
        reasons += [verdict.reason for verdict in verdicts if isinstance(verdict, Unknown)]
    assert any("would not fit into memory" in reason for reason in reasons)


def test_a_text_cnn_takes_memory_like_its_weights_and_not_like_its_full_matrix() -> None:
    """100 words × 30, 60 filters of width 3: 5,900 units over 3,000 inputs, of which three in a
    hundred count.
    """
    rng = np.random.default_rng(0)
    words = 100
    dimension = 30
    filters = 60
    network = Network.build(
        [
            Transpose(),
            Conv1d(rng.normal(size=(filters, dimension, 3)), rng.normal(size=filters)),
            Relu(),
            MaxPool(),
            Dense(rng.normal(size=(2, filters)), np.zeros(2)),
        ],
        (words, dimension),
    )
    clf = replace(make_classifier(0, words, dimension), network=network)
    full = 8 * network.steps[0].weight.shape[0] * network.inputs
    tracemalloc.start()
    try:
        for perturbation in (
            sf.KNNBox(3),
            sf.Deletion(),
        ):  # ten words may go: what waits to be looked at stays small
            text = [f"word{i % 8}" for i in range(words)]
            kept = range(10, words)
            sf.explain(clf, text, perturbation=perturbation, include=kept, seconds=1.0)
        assert tracemalloc.get_traced_memory()[1] < 2 * full
    finally:
        tracemalloc.stop()

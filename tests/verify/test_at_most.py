"""A limit on how many words change at once: oracles, explanations and flips against all texts
within the limit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import NETWORKS, PERTURBATIONS, complaint, flip_among, make_case, samples
from helpers import make_classifier, make_text

import suffice as sf
from suffice.model.network import Bools, Network
from suffice.sets.regions import Choice
from suffice.verbs.question import Question
from suffice.verify.contract import Budget, Problem, Proved, Refuted, Unknown
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.solvers.marabou import MarabouOracle
from suffice.verify.solvers.milp import MilpOracle
from tests.blackboxes import box

FINITE = ("word-swap", "deletion")


def limited(free: Bools, most: int) -> Iterator[Bools]:
    """The largest sets of free words that may change at once."""
    for words in itertools.combinations(np.flatnonzero(free), min(most, int(free.sum()))):
        yield np.isin(np.arange(len(free)), words)


def known_flip(problem: Problem, free: Bools, most: int) -> bool:
    """Whether a point that changes few enough words flips the label: all points of finite sets are
    tried.
    """
    rng = np.random.default_rng(0)
    found = (
        flip_among(problem, samples(problem.region, words, rng)) for words in limited(free, most)
    )
    return any(point is not None for point in found)


@pytest.mark.parametrize("perturbation", PERTURBATIONS)
@pytest.mark.parametrize("network", NETWORKS)
def test_answers_agree_with_all_changes_within_the_limit(network: str, perturbation: str) -> None:
    for seed in range(6):
        case = make_case(network, perturbation, 50 + seed)
        for most in range(1, len(case.problem.features)):
            problem = replace(case.problem, at_most=most)
            for free, verdict in zip(
                case.free, BoundsOracle(problem).ask(case.free, Budget(60, 2_000)), strict=True
            ):
                flip = known_flip(problem, free, most)
                assert not (flip and isinstance(verdict, Proved)), case.name
                assert complaint(case, free, verdict, None) is None
                if isinstance(verdict, Refuted):
                    assert len(verdict.witness.positions) <= most
                if perturbation in FINITE and not case.whole:
                    assert isinstance(verdict, Refuted) == flip, (case.name, verdict)


@pytest.mark.parametrize("perturbation", [kind for kind in PERTURBATIONS if kind != "ball-2"])
def test_a_program_with_counted_changes_agrees(perturbation: str) -> None:
    decided = 0
    for network, seed in itertools.product(("dense-1", "dense-2", "conv1d-maxpool"), range(3)):
        case = make_case(network, perturbation, 90 + seed, questions=2)
        problem = replace(case.problem, at_most=1)
        ours, theirs = (
            oracle(problem).ask(case.free, Budget()) for oracle in (BoundsOracle, MilpOracle)
        )
        for free, pair in zip(case.free, zip(ours, theirs, strict=True), strict=True):
            assert {type(verdict) for verdict in pair} != {Proved, Refuted}
            assert all(complaint(case, free, verdict, None) is None for verdict in pair)
            assert all(len(v.witness.positions) <= 1 for v in pair if isinstance(v, Refuted))
            decided += not isinstance(pair[1], Unknown)
    assert decided > 5


def test_marabou_is_not_asked_what_it_cannot_count() -> None:
    pytest.importorskip("maraboupy")
    case = make_case("dense-1", "boxes", seed=0)
    verdict = MarabouOracle(replace(case.problem, at_most=1)).ask(case.free[:1], Budget())[0]
    assert isinstance(verdict, Unknown)
    assert "how many words change" in verdict.reason


# --- explanations and flips ---


def swap(at_most: int | None) -> sf.WordSwap:
    return sf.WordSwap(
        {f"word{i}": [f"word{(i + 1) % 8}", f"word{(i + 3) % 8}"] for i in range(8)},
        at_most=at_most,
    )


class Truth:
    """A small classifier and a text, and every text that a finite set allows within the limit."""

    def __init__(self, seed: int, perturbation: sf.WordSwap | sf.Deletion) -> None:
        self.classifier = make_classifier(
            seed, length=5, dimension=2, hidden=(5, 3), classes=2 + seed % 2
        )
        self.text = make_text(seed, length=5)
        self.perturbation = perturbation
        self.problem = Question(self.classifier, self.text, perturbation=perturbation).problem
        region = self.problem.region
        count = len(self.text)
        assert isinstance(region, Choice)
        options = [
            region.points[i] if i < count else region.center[i : i + 1]
            for i in range(len(region.center))
        ]
        points = np.array(list(itertools.product(*options)))
        changed = (points != region.center).any(-1)
        allowed = changed.sum(-1) <= self.problem.max_changes
        flips = allowed & (self.problem.margins(points).min(-1) <= 0)
        self.flips = [set(np.flatnonzero(row).tolist()) for row in changed[flips]]

    @property
    def cheapest(self) -> int:
        """The size of the smallest set that every flip changes a word of."""
        words = range(len(self.text))
        sets = (
            set(e) for size in range(len(words) + 1) for e in itertools.combinations(words, size)
        )
        return next((len(e) for e in sets if all(e & flip for flip in self.flips)), -1)


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("kind", ["swap", "deletion"])
def test_explanations_are_the_smallest_and_their_certificates_hold(kind: str, most: int) -> None:
    for seed in range(25):
        truth = Truth(seed, swap(most) if kind == "swap" else sf.Deletion(at_most=most))
        for method in ("search", "hs", "msa"):
            result = sf.explain(
                truth.classifier, truth.text, perturbation=truth.perturbation, method=method
            )
            assert (result.status, result.cost) == ("optimal", truth.cheapest), (
                seed,
                method,
                result.meta,
            )
            assert result.meta["checked"]


@pytest.mark.parametrize("most", [1, 2])
def test_flips_are_the_cheapest_within_the_limit(most: int) -> None:
    none = 0
    for seed in range(40):
        truth = Truth(300 + seed, swap(most))
        result = sf.contrast(truth.classifier, truth.text, perturbation=truth.perturbation)
        if not truth.flips:
            assert result.status == "none"
            none += 1
        else:
            assert (result.status, result.cost) == ("optimal", min(map(len, truth.flips))), seed
    assert 0 < none < 40


def spread(drops: list[float], margin: float) -> sf.Classifier:
    """Each word of "a b c", removed, takes its drop from the margin."""
    network = Network.dense([(np.array([drops, [0.0] * 3]), np.array([margin - sum(drops), 0.0]))])
    table = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]])
    return sf.Classifier(network, table, ["<PAD>", "<UNK>", "a", "b", "c"], ["yes", "no"], 3)


def test_a_limit_on_changes_is_used_in_the_proof_where_words_cost_differently() -> None:
    """By cost alone, two cheap words would flip the label; but no two may change."""
    prices = {"a": 5.0, "b": 1.0, "c": 2.0}
    limited = sf.Deletion(at_most=1)
    dear = sf.contrast(spread([2.0, 1.0, 1.0], 1.5), "a b c", perturbation=limited, cost=prices)
    assert (dear.status, dear.positions, dear.cost, dear.lower_bound) == ("optimal", (0,), 5.0, 5.0)
    none = sf.contrast(spread([1.0, 1.0, 1.0], 1.5), "a b c", perturbation=limited, cost=prices)
    assert (none.status, none.flip) == ("none", None)
    assert dear.meta["checked"]
    assert none.meta["checked"]
    assert any("no change" in fact or "cost" in fact for fact in dear.proved), dear.proved
    assert dear.to_dict()["proved"] == list(dear.proved)


def test_the_answer_grows_with_the_limit_up_to_that_without_one() -> None:
    sets = (
        lambda r: sf.KNNBox(3, at_most=r),
        lambda r: sf.EpsilonBall(0.4, 2, at_most=r),
        lambda r: sf.Deletion(at_most=r),
    )
    grew = 0
    for seed, make in itertools.product(range(12), sets):
        classifier = make_classifier(seed, length=5, dimension=2, hidden=(5,))
        text = make_text(seed, length=5)
        costs = [sf.explain(classifier, text, perturbation=make(r)).cost for r in (1, 2, 3, 5)]
        assert costs == sorted(costs)
        assert costs[-1] == sf.explain(classifier, text, perturbation=make(None)).cost
        grew += costs[0] < costs[-1]
    assert grew > 3


@pytest.mark.parametrize("classifier", [make_classifier(3), box(3)], ids=["network", "black box"])
def test_what_is_proved_says_how_many_words_change_at_once(classifier):
    text = ["word1", "word2", "word3"]
    asked: dict[str, Any] = {"perturbation": sf.Deletion(at_most=1), "seconds": 30}
    answers = [
        sf.explain(classifier, text, **asked),
        sf.repair(classifier, text, [0], **asked),
        sf.bias(classifier, text, [0], **asked),
        sf.contrast(classifier, text, **asked),
    ]
    for answer in answers:
        label, *facts = answer.to_dict()["proved"]
        assert label.startswith("the text has the label")
        limited = [
            fact
            for fact in facts
            if "whatever" in fact or "no change" in fact or "no allowed change" in fact
        ]
        assert all("(at most 1 at once)" in fact for fact in limited), facts


def test_who_changes_is_decided_before_many_relus() -> None:
    text = "How many legs does a lobster have?"
    few = sf.EpsilonBall(0.5, at_most=2)
    problem = sf.Question(sf.load("question"), text, perturbation=few).problem
    answer = BoundsOracle(problem).ask(problem.features[None], Budget(np.inf, 100))[0]
    assert isinstance(answer, Proved)  # splitting relus first leaves it open after 400 subproblems

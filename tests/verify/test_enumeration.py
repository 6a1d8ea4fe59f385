"""Inputs that are all run: which they are, what they say, and certificates made of them, by both
checkers.
"""

from __future__ import annotations

import gzip
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import brute
import numpy as np
import pytest
from brute import KINDS
from cases import NETWORKS, make_case
from helpers import set_numbers

import suffice as sf
from suffice.optimise.certificate_lines import tree_lines
from suffice.proof import check_exact
from suffice.proof.certificate import Certificate
from suffice.proof.check import check
from suffice.sets.regions import Choice
from suffice.sets.table import from_dict
from suffice.settings import DEFAULT
from suffice.verify.contract import Budget, Proved
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.nets.branch import input_sets_of
from suffice.verify.nets.crown import PreparedProblem
from suffice.verify.nets.enumeration import enumerable
from suffice.verify.nets.input_sets import Free, Restorations, WithinBudget
from suffice.verify.proof_tree import Pick, Tree

FINITE = ("word-swap", "deletion")


def leaves(tree: Tree) -> int:
    return sum(leaves(branch) for branch in tree.branches) if isinstance(tree, Pick) else 1


def restorations(inputs: Restorations) -> list[np.ndarray]:
    """Every way to put open words back that the budget pays for."""
    words = np.flatnonzero(inputs.optional[0])
    found = []
    for size in range(len(words) + 1):
        for some in itertools.combinations(words, size):
            if inputs.costs[list(some)].sum() <= inputs.budget[0]:
                back = np.isin(np.arange(len(inputs.center)), some)
                found.append(np.where(back[:, None], inputs.center, inputs.perturbed[0]))
    return found


def different(points) -> set[bytes]:
    return {np.ascontiguousarray(point).tobytes() for point in points}


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nets this small are cheaper to bound: here everything may be run."""
    set_numbers(monkeypatch, DEFAULT.branching, passes=(10**9, 10**9))


@pytest.mark.parametrize("perturbation", FINITE)
@pytest.mark.parametrize("network", NETWORKS)
def test_all_inputs_are_run_and_no_others(network: str, perturbation: str, many: None) -> None:
    for seed in range(4):
        problem = make_case(network, perturbation, 700 + seed).problem
        form = PreparedProblem.of(problem)
        features = problem.features
        if form.curved is not None:
            continue
        for limit in (1, 2, len(features)):
            nobody = np.zeros_like(features)[None]
            cost = np.ones(len(features))
            budget = np.array([float(limit)])
            inputs = WithinBudget(problem.region, nobody, features[None], cost, budget)
            found = enumerable(form, inputs)
            if found is None:
                continue
            margins = found.margins(0, Budget())
            points = found.points(np.arange(len(margins)))
            listed = problem.region.points
            words = np.arange(len(features))
            everything = [
                np.where(features[:, None], listed[words, list(choice)], problem.center)
                for choice in itertools.product(*(range(listed.shape[1]) for _ in words))
            ]
            allowed = [p for p in everything if (p != problem.center).any(-1).sum() <= limit]
            assert different(points) == different(allowed)
            assert leaves(found.tree) == len(margins)
            assert np.allclose(
                margins, problem.margins(points)[:, 0], atol=max(1e-9, found.error(0))
            )


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("free", [1, 2, 3])
def test_inputs_are_run_just_where_they_are_few_enough(
    free: int, repeated: bool, many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Choices that are the same count once, and only those that are still allowed."""
    problem = make_case("linear", "word-swap", 700).problem
    region = problem.region
    rng = np.random.default_rng(free)
    points = np.concatenate([region.points] * 2, axis=1) if repeated else region.points
    words = np.arange(len(problem.features)) < free
    for _ in range(20):
        allowed = rng.random((1, *points.shape[:2])) < 0.5
        allowed[..., 0] = True
        inputs = Free(Choice(region.center, points), words[None], allowed)
        ways = math.prod(len(different(points[i, allowed[0, i]])) for i in range(free))
        for most in (ways - 1, ways):
            set_numbers(monkeypatch, DEFAULT.leaves, max_inputs=most)
            assert (enumerable(PreparedProblem.of(problem), inputs) is not None) == (most >= ways)


@pytest.mark.parametrize("network", NETWORKS)
def test_every_affordable_restoration_is_run(network: str, many: None) -> None:
    rng = np.random.default_rng(5)
    for seed in range(4):
        problem = make_case(network, "boxes", 800 + seed).problem
        form = PreparedProblem.of(problem)
        length = len(problem.features)
        if form.curved is not None:
            continue
        start = np.where(
            problem.features[:, None], problem.region.sample(rng, 1)[0], problem.center
        )
        cost = rng.integers(1, 4, length).astype(float)
        inputs = Restorations(
            problem.center, start[None], problem.features[None], cost, np.array([4.0])
        )
        found = enumerable(form, inputs)
        assert found is not None
        points = found.points(np.arange(len(found.margins(0, Budget()))))
        assert different(points) == different(restorations(inputs))
        assert leaves(found.tree) == len(points)


@pytest.mark.parametrize("at_most", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_checkers_accept_a_tree_of_runs_just_where_no_input_flips(
    kind: str, at_most: bool, tmp_path: Path, many: None
) -> None:
    """The tree of every set of words, whatever is true of it: both checkers come to what all texts
    say.
    """
    seen: Counter[bool] = Counter()
    for seed in range(7):
        case = brute.make_case(kind, seed, at_most)
        case.classifier.save(tmp_path / str(seed))
        second = check_exact.load(tmp_path / str(seed))
        question = sf.Question(
            case.classifier, list(case.tokens), perturbation=from_dict(case.data)
        )
        form = PreparedProblem.of(question.problem)
        for size in range(case.length):
            for held in itertools.combinations(range(case.length), size):
                free = ~np.isin(np.arange(case.length), held)
                found = enumerable(form, input_sets_of(form, free[None], splittable=True))
                assert found is not None
                head = case.header({"kind": "sufficient", "positions": list(held)})
                names = [case.classifier.labels[rival] for rival in case.rivals]
                lines = [head, *(line for name in names for line in proof(name, found.tree))]
                packed = Certificate(tuple(lines))
                holds = not case.flips({int(i) for i in np.flatnonzero(free)})
                seen[holds] += 1
                assert accepted(packed, case.classifier) == holds
                assert accepted_exactly(packed, second) == holds
    assert min(seen[True], seen[False]) > 3


def proof(rival: str, tree: Tree) -> Iterator[dict[str, Any]]:
    yield {"prove": "sufficient", "rival": rival}
    yield from tree_lines(tree)


def accepted(certificate: Certificate, classifier: sf.Classifier) -> bool:
    try:
        return bool(check(certificate, classifier))
    except sf.Rejected:
        return False


def accepted_exactly(certificate: Certificate, model: check_exact.Model) -> bool:
    try:
        check_exact.check(
            gzip.compress("".join(json.dumps(line) + "\n" for line in certificate.lines).encode()),
            model,
        )
    except check_exact.Reject:
        return False
    return True


def test_a_leaf_of_several_inputs_is_not_taken_for_a_single_one(many: None) -> None:
    """Cut one pick out of a tree of runs and put a bare leaf there: only bounds may close it, and
    here they do not.
    """
    rejected = 0
    for seed in range(40):
        case = brute.make_case("deletion", seed, at_most=False)
        question = sf.Question(case.classifier, list(case.tokens), perturbation=sf.Deletion())
        form = PreparedProblem.of(question.problem)
        free = np.ones(case.length, dtype=bool)
        found = enumerable(form, input_sets_of(form, free[None], splittable=True))
        if not case.flips(set(range(case.length))):
            continue
        head = case.header({"kind": "sufficient", "positions": []})
        bare = [
            {"prove": "sufficient", "rival": case.classifier.labels[rival]} for rival in case.rivals
        ]
        lines = [line for one in bare for line in (one, {"leaf": {"alpha": None, "beta": {}}})]
        assert found is not None
        assert not accepted(Certificate((head, *lines)), case.classifier)
        rejected += 1
    assert rejected > 5


@pytest.mark.parametrize("kind", KINDS)
def test_answers_with_runs_are_those_of_all_texts(
    kind: str, many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the bounds in bulk every sufficient set is proved by the branching, which may run
    everything.
    """
    monkeypatch.setattr(BoundsOracle, "_prove", lambda *given: None)
    for seed, at_most in itertools.product(range(8), [False, True]):
        case = brute.make_case(kind, seed, at_most)
        if seed % 3 == 0:
            continue  # whole numbers: ties may stay open
        question = sf.Question(
            case.classifier, list(case.tokens), perturbation=from_dict(case.data)
        )
        for held in range(case.length):
            free = np.arange(case.length) != held
            verdict = BoundsOracle(question.problem).ask(free[None], Budget())[0]
            assert isinstance(verdict, Proved) == (
                not case.flips({int(i) for i in np.flatnonzero(free)})
            )

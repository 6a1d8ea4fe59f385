"""Points: the sign of a margin that is all but zero, worked out by what moved words add, is that of
fractions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from helpers import use_settings
from scipy import sparse

import suffice as sf
from suffice.model.classifier import Classifier
from suffice.model.network import Network
from suffice.model.step import Step
from suffice.proof import check_exact
from suffice.proof.check import limits, network, points
from suffice.proof.check.inputs import VariedInputs
from suffice.proof.check.sets import Sets

LENGTH = 16
DIMENSION = 3
UNITS = 24
# How far the margin is from zero, about.
GAPS = [0.0, 1e-18, -1e-18, 1e-15, -1e-15, 1e-12, -1e-12, 1e-8, -1e-8, 1e-3, -1e-3]


def two_steps(rng: np.random.Generator, loose: bool) -> tuple[Step, Step]:
    """A sparse step with relus and maxima over sums of very different sizes, and one that makes two
    scores of it.
    """
    weight = rng.standard_normal((UNITS, LENGTH * DIMENSION)) * 2.0 ** rng.integers(
        -8, 9, (UNITS, LENGTH * DIMENSION)
    )
    weight = np.where(rng.random(weight.shape) < 0.4, weight, 0.0)
    relu = np.arange(UNITS) < 6
    groups = tuple(np.arange(start, start + 6) for start in (6, 12, 18))
    first = Step(
        sparse.csr_array(weight) if loose else weight,
        rng.standard_normal(UNITS),
        relu,
        maxima=groups,
    )
    return first, Step(rng.standard_normal((2, UNITS)), np.zeros(2), np.zeros(2, dtype=bool))


def around(rng: np.random.Generator) -> Sets:
    center = rng.standard_normal((LENGTH, DIMENSION))
    low = center - rng.random(center.shape)
    high = center + rng.random(center.shape)
    return Sets("boxes", center, low, high, None, 0.0, np.inf, None)


def margin(steps: tuple[Step, ...], vectors: Any) -> Fraction:
    """The first score less the second, with fractions and by the definition of a step."""
    values = [Fraction(v) for v in vectors.ravel().tolist()]
    for step in steps:
        rows = step.weight if isinstance(step.weight, np.ndarray) else step.weight.toarray()
        sums = [
            sum((Fraction(w) * v for w, v in zip(row, values, strict=True) if w), Fraction(bias))
            for row, bias in zip(rows.tolist(), step.bias.tolist(), strict=True)
        ]
        values = [
            max(z, Fraction(0)) if relu else z for z, relu in zip(sums, step.relu, strict=True)
        ]
        for group in step.maxima:
            largest = max(sums[unit] for unit in group)
            for unit in group:
                values[unit] = largest if unit == group[0] else Fraction(0)
    return values[0] - values[1]


def near_ties(seed: int, loose: bool = True) -> Iterator[tuple[tuple[Step, Step], Sets, Any, int]]:
    """Networks that are all but tied at a point with few moved words, or many: the network, sets,
    point and sign.
    """
    rng = np.random.default_rng(seed)
    (first, last), sets = two_steps(rng, loose), around(rng)
    moved = rng.permutation(LENGTH)[: (1, 2, 9)[seed % 3]]
    vectors = sets.center.copy()
    vectors[moved] = rng.uniform(sets.low, sets.high)[moved]
    there = margin((first, last), vectors)
    for gap in GAPS:
        bias = float(Fraction(gap) - there)
        exact = there + Fraction(bias)
        yield (
            (first, replace(last, bias=np.array([bias, 0.0]))),
            sets,
            vectors,
            (exact > 0) - (exact < 0),
        )


def margins(steps: tuple[Step, Step], sets: Sets) -> points.PointMargins:
    limit = limits.Limit.of(60)
    return points.PointMargins(
        network.NetworkBounds(steps, 0, sets, limit), 0, limit, VariedInputs(sets)
    )


@cache
def cases(loose: bool) -> list[Any]:
    return [case for seed in range(24) for case in near_ties(seed, loose)]


@pytest.mark.parametrize("loose", [True, False])
def test_signs_near_a_tie_are_those_of_fractions(loose):
    """Doubles alone decide what is clear, and never wrongly."""
    clear: Counter[bool] = Counter()
    for steps, sets, vectors, sign in cases(loose):
        found = margins(steps, sets)
        assert found.sign(vectors, 1) == sign
        quick = found._sign_in_doubles(vectors, 1)
        assert quick in (0, sign)
        clear[quick != 0] += 1
    assert clear[True] > 50
    assert clear[False] > 50


def test_only_moved_words_are_looked_up_where_they_are_few():
    for seed in range(9):
        steps, sets, vectors, _ = next(near_ties(seed))
        first = margins(steps, sets)._first_sums(vectors)
        assert (first is None) == (seed % 3 == 2)
        if first is not None:
            np.testing.assert_allclose(
                first, steps[0].weight @ vectors.ravel(), rtol=1e-9, atol=1e-9
            )


def wrong_signs() -> int:
    return sum(
        margins(steps, sets).sign(vectors, 1) != sign for steps, sets, vectors, sign in cases(True)
    )


def without_rounding(self: Any) -> Any:
    return np.zeros(len(self.steps[-1].bias))


def without_the_text(self: Any, vectors: Any) -> Any:
    return self.network.steps[0].weight @ (vectors - self.inputs.sets.center).ravel()


@pytest.mark.parametrize(
    ("owner", "name", "bug"),
    [
        (network.NetworkBounds, "score_errors", property(without_rounding)),
        (points.PointMargins, "_first_sums", without_the_text),
    ],
)
def test_a_bug_in_what_doubles_decide_is_found(owner, name, bug, monkeypatch):
    assert wrong_signs() == 0
    monkeypatch.setattr(owner, name, bug)
    assert wrong_signs() > 0


def test_attacks_through_sparse_weights_are_accepted_by_both_checkers(tmp_path, monkeypatch):
    """Words that flip the label alone are looked for first, so that word trees have attacks on
    them.
    """
    use_settings(monkeypatch, word_tree={"large_subproblem": 0})
    attacks = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        table = rng.standard_normal((LENGTH + 2, DIMENSION))
        vocabulary = ["<PAD>", "<UNK>", *(f"w{i}" for i in range(LENGTH))]
        first, last = two_steps(rng, True)
        lead = 5.0 - float(margin((first, last), table[[*range(2, 8), *[0] * (LENGTH - 6)]]))
        steps = first, replace(last, bias=np.array([lead, 0.0]))
        classifier = Classifier(Network(steps), table, vocabulary, ["yes", "no"], LENGTH)
        found = sf.explain(classifier, vocabulary[2:8], perturbation=sf.KNNBox(2), seconds=20)
        assert found.certificate is not None
        assert found.meta["checked"]
        attacks += sum("attack" in line for line in found.certificate.lines)
        classifier.save(tmp_path / str(seed))
        said = check_exact.check(found.certificate.data, check_exact.load(tmp_path / str(seed)))
        assert said["claim"] == found.certificate.lines[0]["claim"]
    assert attacks > 6

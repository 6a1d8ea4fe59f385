"""Maxima as units of their own: lines around them, splits on who wins, certificates, and brute
force over all sets.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction

import brute
import fuzzing.vectors
import numpy as np
import pytest
from helpers import refused

import suffice as sf
from suffice.model.network import Conv1d, Dense, MaxPool, Network, Relu, Transpose, validated
from suffice.model.step import Groups, Step
from suffice.proof import check_exact
from suffice.proof.check import max_lines as checking
from suffice.sets.regions import Box
from suffice.verify.contract import Problem
from suffice.verify.exact import exact_scores, scores_with_error
from suffice.verify.nets.crown import PreparedProblem, intermediate_bounds, max_lines
from suffice.verify.nets.input_sets import Free
from suffice.verify.nets.leaf_lp import solve_leaf_lp

WORDS = [f"w{i}" for i in range(7)]


def groups_of(rng, count):
    order = rng.permutation(count)
    cuts = np.sort(rng.choice(np.arange(1, count), size=2, replace=False))
    return tuple(np.split(order, cuts))


def text_cnn(seed, words=6, dimension=2, filters=3, width=2, relu=True, classes=2, bias=0.3):
    """A small TextCNN: one width, maximum over time."""
    rng = np.random.default_rng(seed)
    kernel = Conv1d(
        rng.standard_normal((filters, dimension, width)), rng.standard_normal(filters) * bias
    )
    last = Dense(rng.standard_normal((classes, filters)), rng.standard_normal(classes) * bias)
    layers = [Transpose(), kernel, *([Relu()] if relu else []), MaxPool(), last]
    network = Network.build(layers, (words, dimension))
    table = rng.standard_normal((len(WORDS) + 2, dimension))
    return sf.Classifier(
        network, table, ["<PAD>", "<UNK>", *WORDS], [f"label{i}" for i in range(classes)], words
    )


# --- the lines ---


@pytest.mark.parametrize("seed", range(40))
def test_lines_stay_below_and_above_the_maximum_whatever_is_chosen(seed):
    rng = np.random.default_rng(seed)
    parts = groups_of(rng, 8)
    groups = Groups(parts, 8)
    pools = checking.MaxGroups(parts, 8)
    lower = rng.standard_normal((1, 8))
    upper = lower + rng.random((1, 8)) * rng.integers(0, 3, (1, 8))
    signs = np.zeros((1, 8), dtype=np.int8)
    # there is nothing to split on alone
    several = np.concatenate([group for group in parts if len(group) > 1])
    signs[0, rng.choice(several)] = rng.choice([-1, 0, 1])
    choice = rng.standard_normal((1, 8)) * rng.choice([0.3, 3.0])
    z = lower + rng.random((400, 8)) * (upper - lower)
    z = np.concatenate([z, np.where(rng.random((400, 8)) < 0.5, lower, upper)])

    found, nobody = max_lines.contending_candidates(
        groups, *(side[:, groups.units] for side in (lower, upper, signs * 1.0)), np.zeros(8)
    )
    around = checking.candidates_between(pools, lower, upper, signs, np.zeros(8))
    written = np.zeros((1, 8))
    written[:, groups.units] = max_lines.canonical_choice(found, choice[:, groups.units])
    for k, group in enumerate(parts):
        alive = checking.undecided_candidates(pools, signs[0], int(group[0]))
        top = z[:, group].max(1)
        mine = z[z[:, alive].max(1) == top]  # those that the splits leave
        at = groups.group == k
        if nobody[:, at].any():
            assert len(mine) == 0
            continue
        real = mine[:, group].max(1)
        for given in (choice, None):
            ours = max_lines.lines(
                found, max_lines.initial_choice(found) if given is None else given[:, groups.units]
            )
            theirs = checking.max_lines(
                around, None if given is None else pools.by_group(written, 0.0)
            )
            below = mine[:, groups.units[at]] @ ours[0][0, at]
            above = mine[:, groups.units[at]] @ ours[1][0, at] + ours[2][0, k]
            size = len(group)
            assert (below <= real + 1e-12).all()
            assert (above >= real - 1e-15).all()
            assert (mine[:, group] @ theirs[0][0, k, :size] <= real + 1e-12).all()
            assert (mine[:, group] @ theirs[1][0, k, :size] + theirs[2][0, k] >= real - 1e-15).all()
            np.testing.assert_allclose(theirs[0][0, k, :size], ours[0][0, at], atol=1e-6)
            np.testing.assert_allclose(theirs[1][0, k, :size], ours[1][0, at], atol=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_the_exact_checkers_lines_are_the_same(seed):
    rng = np.random.default_rng(seed)
    parts = (rng.permutation(5),)
    lower = rng.standard_normal((1, 5))
    upper = rng.standard_normal((1, 5)) + 3
    choice = rng.random((1, 5)).astype(np.float32).astype(float)
    pools = checking.MaxGroups(parts, 5)
    around = checking.candidates_between(
        pools, lower, upper, np.zeros((1, 5), dtype=np.int8), np.zeros(5)
    )
    bounds = [
        (Fraction(a), Fraction(b))
        for a, b in zip(lower[0].tolist(), upper[0].tolist(), strict=True)
    ]
    group = parts[0].tolist()
    spans = [bounds[unit] for unit in group]
    counts = [high >= max(low for low, _ in bounds) for _, high in spans]
    for given in (None, choice):
        below, above, shift = checking.max_lines(
            around, None if given is None else pools.by_group(given, 0.0)
        )
        shares = None if given is None else tuple(Fraction(given[0, u]) for u in group)
        lines = check_exact.max_lines(spans, counts, shares)
        np.testing.assert_allclose(
            [float(line.lower_slope) for line in lines], below[0, 0], atol=1e-9
        )
        np.testing.assert_allclose(
            [float(line.upper_slope) for line in lines], above[0, 0], atol=1e-9
        )
        assert sum(line.upper_intercept for line in lines) <= Fraction(shift[0, 0])


def test_the_largest_of_a_group_is_at_its_first_unit_in_floats_and_exactly():
    rng = np.random.default_rng(0)
    parts = groups_of(rng, 8)
    weight = rng.standard_normal((8, 4))
    step = Step(weight, np.zeros(8), np.zeros(8, dtype=bool), (), parts)
    network = Network((step, Step(np.eye(8), np.zeros(8), np.zeros(8, dtype=bool))))
    x = rng.standard_normal((2, 2))
    scores = network.forward(x)
    z = weight @ x.ravel()
    for group in parts:
        assert scores[group[0]] == z[group].max()
        assert (scores[group[1:]] == 0).all()
    exact = [float(v) for v in exact_scores(network, x)]
    values, error = scores_with_error(network, x[None])
    np.testing.assert_allclose(exact, scores, atol=1e-12)
    assert (np.abs(values[0] - exact) <= error[0]).all()


# --- explanations ---


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("relu", [True, False])
def test_slopes_through_winners_alone_are_those_through_all_weights(seed, relu):
    network = text_cnn(seed, relu=relu, filters=5).network
    rng = np.random.default_rng(seed)
    first, after = network.steps
    z = first.apply(rng.standard_normal((9, network.inputs)))
    back = rng.standard_normal((9, len(after.bias)))
    np.testing.assert_allclose(
        first.inward(back, z, after), first.backward(back, z, after) @ first.weight
    )


def cheapest_by_force(classifier, text):
    """The least number of words to keep so that no removal of others changes the label: every
    removal is tried.
    """
    read = classifier.read(text)
    own = classifier.embed(read)
    pad = classifier.table[0]
    count = len(own)
    label = int(classifier.network.forward(own).argmax())
    keeps = {}
    for gone in itertools.product([False, True], repeat=count):
        scores = classifier.network.forward(np.where(np.array(gone)[:, None], pad, own))
        keeps[gone] = np.delete(scores, label).max() < scores[label]
    for size in range(count + 1):
        for held in itertools.combinations(range(count), size):
            if all(kept for gone, kept in keeps.items() if not any(gone[i] for i in held)):
                return size
    return None


@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_the_cheapest_explanation_of_a_text_cnn_is_what_brute_force_finds(seed, relu, tmp_path):
    classifier = text_cnn(seed, relu=relu, classes=2 + seed % 2)
    text = " ".join(np.random.default_rng(seed).permutation(WORDS)[:6])
    found = sf.explain(classifier, text, perturbation=sf.Deletion())
    assert found.status == "optimal"
    assert found.cost == cheapest_by_force(classifier, text)
    assert sf.check(found.certificate, classifier).optimal
    classifier.save(tmp_path / "model")
    found.certificate.save(tmp_path / "proof.cert")
    assert check_exact.main([str(tmp_path / "proof.cert"), str(tmp_path / "model")]) == 0


@pytest.mark.parametrize("seed", [(12,), (31, 6)])
def test_maxima_are_split_where_bounds_that_lose_nothing_stay_below_zero(seed, tmp_path):
    """They were given up as "too close to zero", though a linear program with whole numbers had a
    clear margin.
    """
    rng = np.random.default_rng(seed)
    classifier = fuzzing.vectors.text_cnn(rng)
    text = rng.choice([*brute.WORDS, "nowhere"], classifier.length).tolist()
    if len(seed) == 1:
        text = ["w5", "w3", "w0", "w2"]
    found = sf.explain(classifier, text, perturbation=sf.KNNBox(2))
    assert found.status == "optimal"
    asked = [
        sf.is_robust(classifier, text, list(held), perturbation=sf.KNNBox(2))
        for held in ([], found.positions)
    ]
    assert not any(isinstance(verdict, sf.Unknown) for verdict in asked)
    classifier.save(tmp_path / "model")
    found.certificate.save(tmp_path / "proof.cert")
    assert check_exact.main([str(tmp_path / "proof.cert"), str(tmp_path / "model")]) == 0


@pytest.mark.parametrize(
    "perturbation", [sf.KNNBox(2), sf.KNNHull(2), sf.EpsilonBall(0.3), sf.EpsilonBall(0.4, 2)]
)
@pytest.mark.parametrize("seed", [3, 4])
def test_certificates_over_sets_of_vectors_are_accepted_by_both_checkers(
    perturbation, seed, tmp_path
):
    classifier = text_cnn(seed, words=4)
    found = sf.explain(classifier, " ".join(WORDS[:4]), perturbation=perturbation, seconds=20)
    assert found.status == "optimal"
    classifier.save(tmp_path / "model")
    found.certificate.save(tmp_path / "proof.cert")
    assert check_exact.main([str(tmp_path / "proof.cert"), str(tmp_path / "model")]) == 0


def broken(monkeypatch, name, function):
    """Plant a bug in the prover's lines."""
    real = getattr(max_lines, name)
    monkeypatch.setattr(max_lines, name, lambda *given: function(real, *given))


BUGS = {
    "the constant above is too low": ("lines", lambda real, *a: (*real(*a)[:2], real(*a)[2] - 2.0)),
    "shares add up to two": ("lines", lambda real, *a: (2 * real(*a)[0], *real(*a)[1:])),
    "only the first candidate may win": (
        "contending_candidates",
        lambda real, groups, *a: (
            replace(
                real(groups, *a)[0],
                contenders=np.isin(np.arange(len(groups.units)), groups.starts)[None]
                | (a[0] > 1e9),
            ),
            real(groups, *a)[1],
        ),
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_in_the_lines_is_found_by_the_checker(bug, monkeypatch):
    broken(monkeypatch, *BUGS[bug])
    asked = (
        (text_cnn(seed), " ".join(np.random.default_rng(seed).permutation(WORDS)[:6]))
        for seed in range(8)
    )
    assert any(refused(*one, sf.KNNBox(3)) for one in asked)


def test_a_certificate_does_not_split_on_a_candidate_that_cannot_win_any_more():
    classifier = text_cnn(1)
    text = " ".join(WORDS[:6])
    lines = list(
        sf.explain(classifier, text, perturbation=sf.KNNBox(3), seconds=10).certificate.lines
    )
    place = next(i for i, line in enumerate(lines) if "leaf" in line)
    unit = int(classifier.network.steps[0].maxima[0][0])
    twice = [
        *lines[:place],
        {"split": unit},
        {"split": unit},
        *lines[place:],
        lines[place],
        lines[place],
    ]
    with pytest.raises(sf.Rejected, match="may still win"):
        sf.check(type("Lines", (), {"lines": twice})(), classifier)


# --- keeping them ---


def test_maxima_are_saved_and_part_of_the_digest(tmp_path):
    classifier = text_cnn(0)
    classifier.save(tmp_path / "model")
    again = sf.load(tmp_path / "model")
    assert again.digest == classifier.digest
    assert [g.tolist() for g in again.network.steps[0].maxima] == [
        g.tolist() for g in classifier.network.steps[0].maxima
    ]
    head = json.loads((tmp_path / "model" / "classifier.json").read_text())
    head["maxima"][0][0], head["maxima"][0][1] = head["maxima"][0][1], head["maxima"][0][0]
    (tmp_path / "model" / "classifier.json").write_text(json.dumps(head))
    with pytest.raises(sf.ModelError, match="digest"):
        sf.load(tmp_path / "model")


@pytest.mark.parametrize("groups", [[[0, 1], [1, 2]], [[]], [[0, 99]]])
def test_a_unit_of_two_maxima_or_of_none_is_refused(groups):
    classifier = text_cnn(0)
    first, last = classifier.network.steps
    step = Step(
        first.weight, first.bias, first.relu, (), tuple(np.array(g, dtype=np.int64) for g in groups)
    )
    with pytest.raises(sf.ModelError):
        validated((step, last))


# --- long texts ---


def test_a_leaf_over_many_inputs_is_left_open_rather_than_written_as_a_square_matrix():
    inputs = 60_000
    rng = np.random.default_rng(0)
    network = Network.dense(
        [(rng.standard_normal((2, inputs)), np.zeros(2)), (np.eye(2), np.zeros(2))]
    )
    center = np.zeros((200, 300))
    problem = Problem(network, Box(center, center - 1, center + 1), 0, np.ones(200, dtype=bool))
    form = PreparedProblem.of(problem)
    free = Free(problem.region, problem.features[None])
    signs = np.ones(2, dtype=np.int8)
    assert (
        solve_leaf_lp(form, free, intermediate_bounds(form, free, signs[None]), signs, 0) is None
    )  # 26.8 GiB if it were tried

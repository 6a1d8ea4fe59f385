"""Questions in which few words move: the same function, the bounds of the whole, answers that both
checkers read.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from helpers import refused, set_numbers
from test_max_planes import both_accept, form_of, hard_questions, leaves_above

import suffice as sf
from suffice.model.network import Network
from suffice.settings import DEFAULT
from suffice.verify.contract import Budget, Proved, Refuted, Unknown
from suffice.verify.nets.branch import decide
from suffice.verify.nets.crown import (
    BoundBatch,
    PreparedProblem,
    backward_bound,
    intermediate_bounds,
    margin_rows,
)
from suffice.verify.nets.input_sets import Free
from suffice.verify.nets.presolve import restrict
from suffice.verify.nets.presolve.dominated import without_dominated


def sparsely(form: PreparedProblem) -> PreparedProblem:
    """The same form with a sparse first step."""
    first, *rest = form.problem.network.steps
    network = Network((replace(first, weight=scipy.sparse.csr_array(first.weight)), *rest))
    return PreparedProblem.of(replace(form.problem, network=network))


def questions():
    """Forms with sparse weights or others, and one to three words of six that are free."""
    for seed in range(30):
        form = form_of("box", seed)
        words = np.sort(np.random.default_rng(seed).permutation(6)[: 1 + seed % 3])
        yield (sparsely(form) if seed % 2 else form), words


def moved(form, words, points):
    """Points of the whole text whose other words are its own."""
    found = np.repeat(form.problem.center[None], len(points), axis=0)
    found[:, words] = points
    return found


def corners(small, rng):
    low = small.problem.region.lower
    high = small.problem.region.upper
    return np.where(rng.random((300, *low.shape)) < 0.5, low, high)


def test_it_is_the_same_function_of_the_words_that_move():
    fewer = 0
    for form, words in questions():
        small = without_dominated(restrict.restricted_to_words(without_dominated(form), words))
        points = corners(small, np.random.default_rng(0))
        real = form.problem.margins(moved(form, words, points))
        assert np.allclose(small.problem.margins(points), real, rtol=0, atol=1e-12)
        fewer += without_dominated(form).unit_count - small.unit_count
    assert fewer > 20


def test_its_bounds_are_those_of_the_whole():
    for form, words in questions():
        small = without_dominated(restrict.restricted_to_words(form, words))
        marks = np.isin(np.arange(6), words)[None]
        mine = Free(small.problem.region, marks[:, words])
        theirs = Free(form.problem.region, marks)
        bounds = [
            float(
                backward_bound(
                    one,
                    BoundBatch(
                        inputs, intermediate_bounds(one, inputs), margin_rows(one, np.array([0]))
                    ),
                    None,
                ).bound[0]
            )
            for one, inputs in ((small, mine), (form, theirs))
        ]
        # far less than what is taken off
        assert abs(bounds[0] - bounds[1]) < 0.2 * form.gamma * form.margin_magnitude[0]
        points = moved(form, words, corners(small, np.random.default_rng(1)))
        assert bounds[0] <= form.problem.margins(points)[:, 0].min()


def test_answers_are_those_of_the_whole():
    seen = {Proved: 0, Refuted: 0}
    for form, words in questions():
        free = np.isin(np.arange(6), words)
        answer = restrict.decide_restricted(form, free, Budget(20))
        same = decide(form, free[None], Budget(20))[0]
        assert type(answer) is type(same)
        seen[type(answer)] += 1
        if isinstance(answer, Refuted):
            point = answer.witness.point
            assert form.problem.margins(point[None]).min() <= 0
            assert set(answer.witness.positions) <= set(words.tolist())
    assert min(seen.values()) > 1


def test_a_flip_that_the_whole_does_not_confirm_is_none(monkeypatch):
    monkeypatch.setattr(restrict, "confirm", lambda *_: [None])
    answers = [
        restrict.decide_restricted(form, np.isin(np.arange(6), words), Budget(20))
        for form, words in questions()
    ]
    assert {type(answer) for answer in answers} == {Proved, Unknown}


def always(monkeypatch):
    set_numbers(monkeypatch, DEFAULT.presolve, from_weights=-1, word_ratio=1)


def test_explanations_are_the_same_and_both_checkers_accept_them(monkeypatch, tmp_path):
    asked, used, decide = [], 0, restrict.decide_restricted
    counted = (
        "suffice.verify.nets.bounds_oracle.decide_restricted",
        lambda *given: (asked.append(given), decide(*given))[1],
    )
    for seed in range(8):
        classifier, text = hard_questions(seed)
        plain = sf.explain(classifier, text, perturbation=sf.KNNBox(2), seconds=30)
        with monkeypatch.context() as patched:
            always(patched)
            patched.setattr(*counted)
            found = sf.explain(classifier, text, perturbation=sf.KNNBox(2), seconds=30)
        assert found.status == plain.status == "optimal"
        assert (found.cost, found.lower_bound) == (plain.cost, plain.lower_bound)
        both_accept(found.certificate, classifier, tmp_path)
        used += sum("words" in above for above in leaves_above(found.certificate))
    assert asked
    assert used


def sieving(monkeypatch):
    always(monkeypatch)
    set_numbers(monkeypatch, DEFAULT.branching, small_round=1)


def test_sieves_of_few_words_are_read_by_both_checkers(monkeypatch, tmp_path):
    sieving(monkeypatch)
    used = 0
    for seed in range(8):
        classifier, text = hard_questions(seed)
        found = sf.explain(classifier, text, perturbation=sf.KNNBox(2), seconds=30)
        assert found.status == "optimal"
        both_accept(found.certificate, classifier, tmp_path)
        used += sum("sieve" in line for line in found.certificate.lines)
    assert used


BUGS = {
    "the other words count twice": (
        "_first_step_over",
        lambda whole, words: replace(REAL(whole, words), bias=whole.problem.center_sums),
    ),
    "lines are told of other words": (
        "_postsolve_tree",
        lambda tree, words, length: TOLD(tree, (words + 1) % length, length),
    ),
}
REAL = restrict._first_step_over
TOLD = restrict._postsolve_tree


@pytest.mark.parametrize("how", [always, sieving])
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found_by_the_checker(bug, how, monkeypatch):
    how(monkeypatch)
    monkeypatch.setattr(restrict, *BUGS[bug])
    assert any(refused(*hard_questions(seed), sf.KNNBox(2)) for seed in range(12))


def test_small_networks_and_sets_other_than_boxes_are_asked_as_they_are(monkeypatch):
    form = form_of("box", 0)
    free = np.arange(6) < 1
    assert not restrict.restriction_applies(form, free)
    set_numbers(monkeypatch, DEFAULT.presolve, from_weights=-1)
    assert restrict.restriction_applies(form, free)
    assert not restrict.restriction_applies(form, np.arange(6) < 3)
    assert not restrict.restriction_applies(form_of("cube", 0), free)
    assert not restrict.restriction_applies(
        PreparedProblem.of(replace(form.problem, at_most=1)), free
    )

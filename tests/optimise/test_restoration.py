"""Proofs that an attack cannot be undone, against every affordable way to put words back."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from helpers import make_classifier
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice as sf
from suffice.model.network import Bools, Floats
from suffice.optimise.cost import Costs
from suffice.optimise.restoration import Restoration, RestorationProver, SwapSearch
from suffice.verbs.question import Question
from suffice.verify.contract import Budget, Problem, Proved, Unknown
from suffice.verify.nets.branch import UndoneBy, decide, decide_restorations
from suffice.verify.nets.branch.split import take_forced_words
from suffice.verify.nets.branch.subproblem import Subproblem
from suffice.verify.nets.crown import PreparedProblem
from suffice.verify.nets.input_sets import Restorations
from suffice.verify.proof_tree import Leaf, Pick, Tree

WORDS = 7
SEEDS = st.integers(0, 2**32 - 1)
FIXED = settings(max_examples=150, derandomize=True, deadline=None)


def attacked(seed: int) -> tuple[Problem, Restorations]:
    """A random perturbed text of a small network, some words of which can be put back
    at a price.
    """
    rng = np.random.default_rng(seed)
    classifier = make_classifier(seed, length=WORDS, dimension=2, hidden=(8, 5))
    text = [f"word{i}" for i in rng.integers(8, size=WORDS)]
    problem = Question(classifier, text, perturbation=sf.EpsilonBall(3.0)).problem
    start = problem.region.minimiser(rng.standard_normal((40, *problem.center.shape)))
    start = start[[problem.margins(start).min(-1).argmin()]]
    cost = np.ones(WORDS) if rng.random() < 0.5 else rng.choice([1.0, 2.0, 3.0], WORDS)
    opened = rng.random((1, WORDS)) < 0.9
    return problem, Restorations(
        problem.center, start, opened, cost, np.array([float(rng.integers(1, 7))])
    )


def affordable(inputs: Restorations) -> Iterator[Bools]:
    for bits in itertools.product([False, True], repeat=WORDS):
        words = np.array(bits)
        if (
            not (words & ~inputs.optional[0]).any()
            and inputs.costs[words].sum() <= inputs.budget[0]
        ):
            yield words


def margin(problem: Problem, inputs: Restorations, words: Bools) -> float:
    point = np.where(words[:, None], problem.center, inputs.perturbed[0])
    return float(problem.margins(point[None])[0, 0])


def picks(tree: Tree) -> int:
    """How many decisions about words a proof makes."""
    if isinstance(tree, Leaf):
        return 0
    return isinstance(tree, Pick) + sum(picks(part) for part in tree.branches)


def test_a_restoration_is_ruled_out_exactly_when_none_helps() -> None:
    proved = undone = chosen = 0
    for seed in range(250):
        problem, inputs = attacked(seed)
        answer = decide_restorations(PreparedProblem.of(problem), inputs, np.array([0]), Budget())[
            0
        ]
        best = max(margin(problem, inputs, words) for words in affordable(inputs))
        match answer:
            case Proved(evidence=(tree,)):
                assert best < 0
                proved = proved + 1
                chosen = chosen + picks(tree)
            case UndoneBy(words):
                assert any((words == other).all() for other in affordable(inputs))
                assert margin(problem, inputs, words) >= 0
                undone += 1
    assert proved > 50
    assert undone > 50
    assert chosen > 20  # proofs that decide words are among them


@FIXED
@given(SEEDS)
def test_a_word_is_needed_where_the_least_sum_rises_without_it(seed: int) -> None:
    """The rise is that of the fractional knapsack; at equal costs the rule misses no word."""
    _, inputs = attacked(seed)
    rng = np.random.default_rng(seed)
    gains, room = rng.standard_normal(WORDS), float(rng.random())

    def least(opened: Bools) -> float:
        return float(replace(inputs, optional=opened[None]).knapsack_min(gains[None, None])[0, 0])

    def rise(word: int) -> float:
        return least(inputs.optional[0] & (np.arange(WORDS) != word)) - least(inputs.optional[0])

    needed = inputs.forced(gains, room)
    assert all(rise(word) > room - 1e-12 for word in needed)
    if inputs.equal_costs:
        assert {word for word in range(WORDS) if rise(word) > room + 1e-12} == set(needed.tolist())


@FIXED
@given(SEEDS)
def test_words_taken_at_once_leave_subproblems_that_cover_all(seed: int) -> None:
    """What `follow` splits a subproblem into are all of its affordable restorations, each in
    exactly one part.
    """
    problem, inputs = attacked(seed)
    node = Subproblem(0, 0, inputs, np.zeros(13, dtype=np.int8), -0.1)
    node.input_row = np.random.default_rng(seed).standard_normal(problem.center.shape)
    rest, closing = take_forced_words(node, 4)
    parts: list[tuple[bytes, ...]] = []
    for part in (rest, *closing):
        assert isinstance(part.inputs, Restorations)
        parts += [texts(part.inputs, words) for words in affordable(part.inputs)]
    assert sorted(parts) == sorted(texts(inputs, words) for words in affordable(inputs))


def texts(inputs: Restorations, words: Bools) -> tuple[bytes, ...]:
    point: Floats = np.where(words[:, None], inputs.center, inputs.perturbed[0])
    return tuple(row.tobytes() for row in point)


def test_a_hardened_attack_stays_allowed_and_takes_more_to_undo() -> None:
    before = []
    after = []
    for seed in range(12):
        problem, inputs = attacked(seed)
        costs = Costs(np.ones(WORDS), Fraction(1))
        prover = RestorationProver(PreparedProblem.of(problem), costs, Budget(60))
        start = inputs.perturbed[0]
        opened = inputs.optional[0]
        found = prover.strengthened_by_cost(start, opened, problem.features, np.inf, ())
        assert problem.region.contains(found).all()
        assert (found[~problem.features] == problem.center[~problem.features]).all()
        for text, kept in ((start, before), (found, after)):
            kept.append(
                prover.hardest([text], opened).undo_cost
                if problem.margins(text[None]).min() < 0
                else 0.0
            )
    assert all(a >= b for a, b in zip(after, before, strict=True))
    assert any(a > b for a, b in zip(after, before, strict=True))


def test_a_deepened_attack_stays_allowed_and_leaves_the_label_further_behind() -> None:
    before = []
    after = []
    for seed in range(12):
        problem, inputs = attacked(seed)
        prover = RestorationProver(
            PreparedProblem.of(problem), Costs(np.ones(WORDS), Fraction(1)), Budget(60)
        )
        start = inputs.perturbed[0]
        level = 2
        found = prover.strengthened_by_margin(start, inputs.optional[0], problem.features, level)
        assert problem.region.contains(found).all()
        assert (found[~problem.features] == problem.center[~problem.features]).all()
        for text, kept in ((start, before), (found, after)):
            sets = replace(
                inputs, perturbed=text[None], costs=np.ones(WORDS), budget=np.array([float(level)])
            )
            kept.append(max(margin(problem, sets, words) for words in affordable(sets)))
    assert np.mean(after) < np.mean(before) - 0.1
    assert sum(a < b for a, b in zip(after, before, strict=True)) >= 6


def test_exchanged_words_are_affordable_and_no_exchange_of_two_helps_any_more() -> None:
    """Against every affordable set: words are open, help at least as much as those before, and
    often as much as any.
    """
    best = 0
    for seed in range(200):
        problem, inputs = attacked(seed)
        sets = list(affordable(inputs))
        first = sets[int(np.random.default_rng(seed).integers(len(sets)))]
        exchange = SwapSearch(
            problem, inputs.perturbed[0], 0, first, inputs.costs, inputs.budget[0]
        )
        words = exchange.run(inputs.optional[0], Budget(60))
        before = margin(problem, inputs, first)
        assert any((words == other).all() for other in sets)
        assert words.sum() == first.sum()
        near = [other for other in sets if (words & ~other).sum() == (other & ~words).sum() == 1]
        found = margin(problem, inputs, words)
        assert found >= before
        assert np.isclose(exchange.margin, found)
        assert all(margin(problem, inputs, other) <= found + 1e-5 * abs(found) for other in near)
        best += (
            found
            >= max(margin(problem, inputs, other) for other in sets if other.sum() == words.sum())
            - 1e-9
        )
    assert best > 150


def test_what_is_said_of_an_attack_is_so_whatever_found_it() -> None:
    """Words that exchanges find undo it, and what is proved no affordable set undoes."""
    proved = undone = 0
    for seed in range(120):
        problem, inputs = attacked(seed)
        prover = RestorationProver(
            PreparedProblem.of(problem), Costs(inputs.costs, Fraction(1)), Budget(60)
        )
        opened = inputs.optional[0]
        if problem.margins(inputs.perturbed).min() >= 0:
            continue
        attack = prover.hardest([inputs.perturbed[0]], opened)
        level = int(inputs.budget[0])
        answer = prover.decide([attack], [opened], [level], plain=seed % 2 == 0)[0]
        best = max(margin(problem, inputs, words) for words in affordable(inputs))
        match answer:
            case Restoration(budget=budget):
                assert budget == level
                assert best < 0
                proved += 1
            case UndoneBy(words):
                assert any((words == other).all() for other in affordable(inputs))
                assert margin(problem, inputs, words) >= 0
                undone += 1
    assert proved > 20
    assert undone > 20


def test_an_attack_costs_no_more_to_undo_than_words_that_a_proof_came_upon() -> None:
    """Putting words back one at a time may take more of them; other words may not be open, and say
    nothing then.
    """
    cheaper = 0
    for seed in range(400):
        problem, inputs = attacked(seed)
        if problem.margins(inputs.perturbed).min() >= 0:
            continue
        prover = RestorationProver(
            PreparedProblem.of(problem), Costs(inputs.costs, Fraction(1)), Budget(60)
        )
        opened = inputs.optional[0]
        before = prover.hardest([inputs.perturbed[0]], opened)
        level = int(inputs.budget[0])
        answer = prover.decide([before], [opened], [level])[0]
        after = prover.hardest([inputs.perturbed[0]], opened)
        if isinstance(answer, UndoneBy):
            assert after.undo_cost == min(before.undo_cost, inputs.costs[answer.words].sum())
            assert margin(problem, inputs, after.undo_words) >= 0
        cheaper += after.undo_cost < before.undo_cost
    assert cheaper


def test_what_is_given_up_for_lack_of_promise_would_have_been_undecided() -> None:
    """The same answers, but that some are given up, sooner than at the limit."""
    given_up = 0
    for seed in range(60):
        problem, _ = attacked(seed)
        form = PreparedProblem.of(problem)
        free = np.ones((1, WORDS), dtype=bool) & problem.features
        whole, brief = (
            decide(form, free, Budget(60, 40, give_up_early=say))[0] for say in (False, True)
        )
        if isinstance(brief, Unknown):
            given_up += isinstance(whole, Unknown) and whole.reason != brief.reason
        else:
            assert type(brief) is type(whole)
    assert given_up


def test_a_question_with_a_crowd_of_open_parts_is_left_open_and_else_answered_alike() -> None:
    given_up = 0
    for seed in range(60):
        problem, _ = attacked(seed)
        form = PreparedProblem.of(problem)
        free = np.ones((1, WORDS), dtype=bool) & problem.features
        whole, brief = (
            decide(form, free, Budget(60, 400, max_open=most))[0] for most in (np.inf, 1)
        )
        if isinstance(brief, Unknown):
            given_up += not isinstance(whole, Unknown)
        else:
            assert type(brief) is type(whole)
    assert given_up

"""Coordinates of choices: the smaller problem is the same problem, and its answers are those of
brute force.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from fuzzing.common import accepts, accepts_exactly, exact_model
from helpers import set_numbers

import suffice as sf
from suffice.model.network import Conv1d, Dense, MaxPool, Network, Relu, Transpose
from suffice.optimise.implicit_hitting_set import ImplicitHittingSet
from suffice.proof import check_exact
from suffice.proof.certificate import array
from suffice.proof.check import inputs as checking
from suffice.proof.check import interval_sums
from suffice.settings import DEFAULT, RESOURCES
from suffice.verbs.contrast import contrasted
from suffice.verbs.explain_all import all_explained
from suffice.verbs.question import Question
from suffice.verify.contract import Budget, Proved, Refuted, Unknown
from suffice.verify.nets.branch import decide
from suffice.verify.nets.crown import PreparedProblem
from suffice.verify.nets.options import option_branching
from suffice.verify.nets.options.max_of_sums import MaxOfSums
from suffice.verify.nets.presolve import one_hot
from suffice.verify.proof_tree import Pick

WORDS = [f"w{i}" for i in range(7)]
LENGTH = 5
DIMENSION = 10


@pytest.fixture(autouse=True)
def used_everywhere(monkeypatch):
    """Small networks are searched, and checked, as large ones are."""
    set_numbers(monkeypatch, DEFAULT.presolve, from_weights=0)
    monkeypatch.setattr(checking, "LARGE_WEIGHT", 0)


def made(seed, classes=2):
    """Every other network has maxima over time, with or without a further layer; the others are
    relus.
    """
    rng = np.random.default_rng(seed)

    def weights(*shape):
        return rng.standard_normal(shape) / np.sqrt(shape[-1])

    kernel = [
        Transpose(),
        Conv1d(rng.standard_normal((4, DIMENSION, 2)) / 3, weights(4)),
        Relu(),
        MaxPool(),
    ]
    stacks = [
        [*kernel, Dense(weights(classes, 4), weights(classes) / 4)],
        [
            Dense(weights(6, LENGTH * DIMENSION), weights(6)),
            Relu(),
            Dense(weights(classes, 6), weights(classes) / 4),
        ],
        [
            *kernel,
            Dense(weights(5, 4), weights(5)),
            Relu(),
            Dense(weights(classes, 5), weights(classes) / 4),
        ],
    ]
    network = Network.build(stacks[seed % 3], (LENGTH, DIMENSION))
    table = rng.standard_normal((len(WORDS) + 2, DIMENSION))
    return sf.Classifier(
        network, table, ["<PAD>", "<UNK>", *WORDS], [f"label{i}" for i in range(classes)], LENGTH
    )


def asked(seed, at_most=None, classes=2, **more):
    rng = np.random.default_rng([seed, 7])
    swaps = {word: rng.permutation(WORDS)[: rng.integers(1, 4)].tolist() for word in WORDS}
    sets = [sf.Deletion(), sf.Mask(), sf.WordSwap(swaps), sf.RemoveOrSwap(swaps)]
    chosen = sets[seed % 4]
    perturbation = chosen if at_most is None else replace(chosen, at_most=at_most)
    return Question(
        made(seed, classes), rng.choice(WORDS, LENGTH).tolist(), perturbation=perturbation, **more
    )


def cheapest(question):
    """The cost of the cheapest set that suffices, by running every text for every set; None where
    none does.
    """
    return min((question.costs.of(row) for row in sufficient(question)), default=None)


def sufficient(question):
    """Every set that suffices, by running every text."""
    problem = question.problem
    texts = np.array(list(itertools.product(range(problem.region.points.shape[1]), repeat=LENGTH)))
    points = problem.region.points[np.arange(LENGTH), texts]
    changed = (points != problem.center).any(-1)
    flips = changed[
        (problem.margins(points).min(-1) <= 0) & (changed.sum(-1) <= problem.max_changes)
    ]
    held = np.array(list(itertools.product([False, True], repeat=LENGTH)))
    fits = ~(question.included & ~held).any(-1) & ~(held & question.excluded).any(-1)
    return held[fits & np.array([(flips & row).any(-1).all() for row in held])]


def explained(question):
    from suffice.verbs.explain import explained as answer

    return answer(question)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"cost": {0: 3, 1: 1.5, 2: 2}, "include": [1]},
        {"exclude": [0], "at_most": 2},
        {"classes": 3},
    ],
    ids=["plain", "costs", "at_most", "three"],
)
def test_the_cheapest_set_is_that_of_brute_force_and_both_checkers_accept_it(seed, more, tmp_path):
    question = asked(seed, **more)
    assert one_hot.reduced_to_one_hot(question.problem).one_hot is not None
    result = explained(question)
    expected = cheapest(question)
    if expected is None:
        assert result.status == "infeasible"
    else:
        assert (result.status, result.cost) == ("optimal", question.costs.price(expected))
    assert result.meta["checked"]
    accepted_exactly(question, result, tmp_path)


def accepted_exactly(question, result, folder):
    question.classifier.save(folder / "model")
    result.certificate.save(folder / "proof.cert")
    assert check_exact.main([str(folder / "proof.cert"), str(folder / "model")]) == 0


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize(
    "more", [{}, {"include": [1], "cost": {0: 2, 3: 2}}, {"exclude": [0], "at_most": 2}]
)
def test_all_sets_that_are_as_cheap_are_those_of_brute_force_and_both_checkers_accept_it(
    seed, more, tmp_path
):
    question = asked(seed, **more)
    enough = sufficient(question)
    if not len(enough):
        return
    least = min(map(question.costs.of, enough))
    expected = {
        tuple(np.flatnonzero(row).tolist()) for row in enough if question.costs.of(row) == least
    }
    every = all_explained(question)
    assert [one.positions for one in every if one.positions not in expected] == []
    assert every.complete
    assert every.proved
    accepted_exactly(question, every, tmp_path)
    assert set(explained(question).alternatives.sets) == expected
    assert explained(question).alternatives.complete


def test_that_some_have_several_sets_that_are_as_cheap():
    assert sum(explained(asked(seed)).alternatives.count > 1 for seed in range(24)) > 3


def test_a_set_that_is_left_out_of_all_is_noticed(monkeypatch):
    """Planted: no more than one set that is as cheap is looked at."""
    real = ImplicitHittingSet._next_hitting_set
    monkeypatch.setattr(
        ImplicitHittingSet,
        "_next_hitting_set",
        lambda self, cost, looked: None if looked else real(self, cost, looked),
    )
    wrong = [all_explained(asked(seed)) for seed in range(24)]
    found = [len(list(every)) for every in wrong]
    assert max(found) == 1
    assert sum(not every.complete for every in wrong) > 3


@pytest.mark.parametrize("seed", range(12))
def test_with_and_without_coordinates_of_choices_the_cost_is_the_same(seed, monkeypatch):
    question = asked(seed)
    there = explained(question)
    set_numbers(monkeypatch, RESOURCES, max_contributions=0)
    assert one_hot.reduced_to_one_hot(question.problem).one_hot is None
    here = explained(asked(seed))
    assert (here.status, here.cost) == (there.status, there.cost)


@pytest.mark.parametrize("seed", range(6))
def test_small_networks_are_searched_so_where_maxima_alone_come_before_the_scores(
    seed, monkeypatch
):
    """Every third one here; a table of the checker follows, and is as right as it is for large
    ones.
    """
    set_numbers(monkeypatch, DEFAULT.presolve, from_weights=10**9)
    monkeypatch.setattr(checking, "LARGE_WEIGHT", 10**9)
    question = asked(seed)
    assert (one_hot.reduced_to_one_hot(question.problem).one_hot is not None) == (seed % 3 == 0)
    result = explained(question)
    assert result.meta["checked"]
    assert (result.status, result.cost) == ("optimal", question.costs.price(cheapest(question)))


@pytest.mark.parametrize("seed", range(12))
def test_points_have_the_margins_of_the_texts_they_stand_for(seed):
    problem = asked(seed).problem
    smaller = one_hot.reduced_to_one_hot(problem)
    points = smaller.region.sample(np.random.default_rng(seed), 50)
    lifted = smaller.one_hot.decode(points)
    assert problem.region.contains(lifted).all()
    assert ((lifted != problem.center).any(-1) == (points != 0).any(-1)).all()
    np.testing.assert_allclose(smaller.margins(points), problem.margins(lifted), atol=1e-12)


@pytest.mark.parametrize("seed", [seed for seed in range(30) if seed % 3 != 1])
def test_candidates_that_are_left_out_never_win(seed):
    problem = asked(seed).problem
    rng = np.random.default_rng(seed)
    free = rng.random(LENGTH) < 0.6
    smaller = one_hot.without_dominated(one_hot.reduced_to_one_hot(problem), free)
    first = problem.network.steps[0]
    kept = smaller.one_hot.kept_units
    points = np.where(free[:, None], problem.region.sample(rng, 300), problem.center)
    sums = first.apply(points.reshape(300, -1))
    for group in first.maxima:
        stays = group[np.isin(group, kept)]
        assert group[0] in stays
        np.testing.assert_allclose(sums[:, stays].max(-1), sums[:, group].max(-1), atol=1e-12)


def test_candidates_are_left_out():
    counts = [
        len(one_hot.reduced_to_one_hot(asked(seed).problem).one_hot.kept_units)
        for seed in range(0, 30, 3)
    ]
    whole = [len(asked(seed).problem.network.steps[0].bias) for seed in range(0, 30, 3)]
    assert sum(counts) < sum(whole)


@pytest.mark.parametrize("seed", range(12))
def test_sums_are_between_their_bounds_and_reach_them(seed):
    problem = one_hot.reduced_to_one_hot(asked(seed).problem)
    rng, (first, *_) = np.random.default_rng(seed), problem.network.steps
    free = rng.random((3, LENGTH)) < 0.7
    allowed = rng.random((3, *problem.region.points.shape[:2])) < 0.6
    allowed[..., 0] |= ~allowed.any(-1)
    low, high = one_hot.OptionSums(problem.one_hot, first.bias).bounds(free, allowed)
    for row in range(3):
        options = [
            np.flatnonzero(allowed[row, i]) if free[row, i] else [None] for i in range(LENGTH)
        ]
        texts = list(itertools.product(*options))
        points = np.zeros((len(texts), *problem.center.shape))
        for place, text in enumerate(texts):
            for word, choice in enumerate(text):
                points[place, word] = 0.0 if choice is None else problem.region.points[word, choice]
        sums = first.apply(points.reshape(len(texts), -1))
        np.testing.assert_allclose(sums.min(0), low[row], atol=1e-12)
        np.testing.assert_allclose(sums.max(0), high[row], atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_proofs_have_nothing_but_words_and_leaves_without_numbers(seed):
    problem = one_hot.reduced_to_one_hot(asked(seed).problem)
    free = np.eye(LENGTH, dtype=bool) | np.eye(LENGTH, k=1, dtype=bool)
    for answer in decide(PreparedProblem.of(problem), free, Budget()):
        assert isinstance(answer, Proved | Refuted)
        waiting = [] if isinstance(answer, Refuted) else list(answer.evidence)
        while waiting:
            node = waiting.pop()
            assert isinstance(node, Pick) or (node.alpha is None and not len(node.beta))
            waiting += getattr(node, "branches", ())


# --- planted bugs ---


def rejected(question):
    """How many of the answers the checker turns down, or that are plainly wrong, over a
    few seeds.
    """
    result = explained(question)
    expected = cheapest(question)
    wrong = result.status == "optimal" and question.costs.price(expected) != result.cost
    assert not (wrong and result.meta["checked"])
    return not result.meta["checked"]


def test_a_bug_in_what_points_stand_for_is_caught(monkeypatch):
    lift = one_hot.OneHotCoordinates.decode
    monkeypatch.setattr(
        one_hot.OneHotCoordinates,
        "decode",
        lambda self, points: lift(self, np.roll(points, 1, axis=-2)),
    )
    assert any(rejected(asked(seed)) for seed in range(12))


def test_a_candidate_that_is_wrongly_left_out_is_caught(monkeypatch):
    def careless(first, source, free):
        found = (
            np.ones(len(first.bias), dtype=bool)
            if first.maxima
            else np.zeros(len(first.bias), dtype=bool)
        )
        found[first.groups.leaders if first.maxima else []] = False
        return found

    monkeypatch.setattr(one_hot, "_dominated", careless)
    assert any(rejected(asked(seed)) for seed in range(0, 36, 3))


def test_a_certificate_with_another_choice_is_rejected():
    for seed in range(12):
        question = asked(seed)
        result = explained(question)
        lines = [json.loads(json.dumps(line)) for line in result.certificate.lines]
        places = [i for i, line in enumerate(lines) if "attack" in line]
        if places:
            lines[places[0]]["attack"]["changed"] = [
                (i + 1) % LENGTH for i in lines[places[0]]["attack"]["changed"]
            ]
            lines[places[0]]["attack"]["changed"].sort()
            with pytest.raises(sf.Rejected):
                sf.check(type(result.certificate)(tuple(lines)), question.classifier)
            return
    raise AssertionError("no certificate has a counterexample")


# --- sums over words ---


def all_texts(problem):
    """Which words each text changes, and its margins."""
    every = range(problem.region.points.shape[1])
    texts = np.array(list(itertools.product(every, repeat=LENGTH)))
    points = problem.region.points[np.arange(LENGTH), texts]
    return (points != problem.center).any(-1), problem.margins(points)


@pytest.mark.parametrize("seed", [0, 3, 6, 9])
@pytest.mark.parametrize("at_most", [None, 1, 2, 3])
def test_windows_decide_every_set_of_free_words_as_all_texts_do(seed, at_most):
    problem = one_hot.reduced_to_one_hot(asked(seed, at_most).problem)
    windows = MaxOfSums.of(PreparedProblem.of(problem))
    changed, margins = all_texts(problem.one_hot.original)
    flips = (margins.min(-1) <= 0) & (changed.sum(-1) <= problem.max_changes)
    for row in itertools.product([False, True], repeat=LENGTH):
        free = np.array(row) & problem.features
        answer = option_branching.decide_by_options(windows.restricted_to(free), free, Budget())
        assert isinstance(answer, Refuted) == bool((flips & ~(changed & ~free).any(-1)).any())
        assert not isinstance(answer, Unknown)


def test_windows_that_would_not_fit_end_the_question_and_prove_nothing(monkeypatch):
    set_numbers(monkeypatch, RESOURCES, run_bytes=1)
    reasons = []
    for seed in range(0, 36, 3):
        problem = one_hot.reduced_to_one_hot(asked(seed).problem)
        windows = MaxOfSums.of(PreparedProblem.of(problem)).restricted_to(problem.features)
        answer = option_branching.decide_by_options(windows, problem.features, Budget())
        reasons += [answer.reason] if isinstance(answer, Unknown) else []
    assert any("would not fit into memory" in reason for reason in reasons)


@pytest.mark.parametrize("seed", [0, 3, 6, 9, 12, 15])
@pytest.mark.parametrize("aims", [[0], [1], [0, 1]])
def test_windows_decide_every_limit_of_cost_as_all_texts_do(seed, aims):
    problem = one_hot.reduced_to_one_hot(asked(seed, classes=3).problem)
    windows = MaxOfSums.of(PreparedProblem.of(problem))
    costs = np.array([3.0, 1.0, 2.0, 2.0, 5.0])
    changed, margins = all_texts(problem.one_hot.original)
    flips = margins[:, aims].min(-1) <= 0
    for limit in range(14):
        mine = windows.with_costs(costs, limit, aims).restricted_to(problem.features)
        answer = option_branching.decide_by_options(mine, problem.features, Budget())
        assert isinstance(answer, Refuted) == bool((flips & (changed @ costs <= limit)).any())
        assert not isinstance(answer, Unknown)
        if isinstance(answer, Refuted):
            assert costs[list(answer.witness.positions)].sum() <= limit
            assert problem.rivals.index(answer.witness.rival) in aims


@pytest.mark.parametrize("seed", [0, 3, 6, 9, 12, 15, 18, 21])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"cost": {0: 3, 1: 1.5, 2: 2}},
        {"at_most": 2},
        {"classes": 3},
        {"cost": {0: 3, 2: 2}, "at_most": 2},
    ],
    ids=["plain", "costs", "at_most", "three", "both"],
)
def test_the_cheapest_flip_is_that_of_brute_force_and_both_checkers_accept_it(seed, more, tmp_path):
    question = asked(seed, **more)
    changed, margins = all_texts(question.problem)
    fits = changed.sum(-1) <= question.problem.max_changes
    for towards, lead in {
        None: margins.min(-1),
        question.classifier.labels[question.problem.rivals[-1]]: margins[:, -1],
    }.items():
        asking = replace(question, more={} if towards is None else {"towards": towards})
        result = contrasted(asking)
        costs = [question.costs.of(row) for row in changed[fits & (lead <= 0)]]
        assert result.meta["checked"]
        assert (result.status, result.cost) == (
            ("optimal", question.costs.price(min(costs))) if costs else ("none", np.inf)
        )
        accepted_exactly(question, result, tmp_path)


def repeating(seed):
    """Two maxima over windows that repeat each other, one of them as it stands, so that units are
    tied.
    """
    rng = np.random.default_rng(seed)
    kernel = rng.standard_normal((4, DIMENSION, 2)) / 3
    layers = [
        Transpose(),
        Conv1d(kernel, rng.standard_normal(4) / 3),
        MaxPool(),
        Dense(*(rng.standard_normal(n) for n in ((2, 4), 2))),
    ]
    table = rng.standard_normal((len(WORDS) + 2, DIMENSION))
    network = Network.build(layers, (LENGTH, DIMENSION))
    classifier = sf.Classifier(network, table, ["<PAD>", "<UNK>", *WORDS], ["no", "yes"], LENGTH)
    return Question(
        classifier,
        ["w1", "w2", "w1", "w2", "w1"],
        perturbation=[sf.Deletion(), sf.Mask()][seed % 2],
    )


PRICES = np.array([3.0, 1.0, 2.0, 2.0, 4.0])


def bounds_by_lines(problem, free, limit):
    """Bounds of the margin against the first rival by lines, for all that is left of words on the
    way down.

    Words that have to be paid for have their price, the others nothing; then what is left for them.
    """
    windows = (
        MaxOfSums.of(PreparedProblem.of(problem)).with_costs(PRICES, limit, [0]).restricted_to(free)
    )
    proof = option_branching._BranchAndBound(windows, free, 0, Budget())
    proof.error = np.inf  # nothing is closed
    chunks = [proof._root()]
    while chunks:
        chunk = chunks.pop()
        open_ = proof._splittable(chunk).any(-1)
        bounds = np.maximum(chunk.bound, proof._linear_bound(chunk))
        for codes, bound, left in zip(chunk.domains, bounds, chunk.budget_left, strict=True):
            prices = np.where(proof.domains.optional[codes], proof.costs, 0.0)
            yield windows, [proof.domains.options[code] for code in codes], bound, prices, left
        if open_.any():
            chunks.append(proof._split(chunk.take(np.flatnonzero(open_)).with_active_units(0.7)))


def too_high(question, limits=(np.inf, 3)):
    """How many bounds by ends or lines are above the margin of a text."""
    problem = one_hot.reduced_to_one_hot(question.problem)
    count = 0
    for row, limit in itertools.product(itertools.product([False, True], repeat=LENGTH), limits):
        free = np.array(row) & problem.features
        for windows, members, bound, prices, left in bounds_by_lines(problem, free, limit):
            mine = np.flatnonzero(free[windows.positions])
            texts = np.array(list(itertools.product(*members)), dtype=int)
            texts = texts[(texts != windows.own_options[mine]) @ prices <= left]
            every = np.repeat(windows.own_options[None], len(texts), axis=0)
            every[:, mine] = texts
            margins = windows.margins(windows.base + windows.contributions[every].sum(1))[:, 0]
            count += bool(bound > margins.min() + 1e-12)
    return count


@pytest.mark.parametrize("seed", range(3))
def test_ends_and_lines_are_below_the_margin_of_every_text(seed):
    assert too_high(repeating(seed), (np.inf, 3, 7)) == 0
    assert too_high(asked(3 * seed), (np.inf, 3, 7)) == 0


def test_what_is_bought_for_too_little_is_caught(monkeypatch):
    shares = option_branching._fractions_taken
    monkeypatch.setattr(
        option_branching,
        "_fractions_taken",
        lambda spent, prices, left: 0.5 * shares(spent, prices, left),
    )
    assert any(too_high(asked(seed), [3]) for seed in (0, 3, 6))


@pytest.mark.parametrize("seed", range(4))
def test_where_units_are_tied_both_checkers_accept_proofs_by_lines(seed, tmp_path):
    question = repeating(seed)
    result = explained(question)
    assert result.meta["checked"]
    assert result.cost == question.costs.price(cheapest(question))
    accepted_exactly(question, result, tmp_path)


@pytest.mark.parametrize(
    ("side", "bug"),
    [
        ("_lower_lines", lambda terms: terms._replace(constant=terms.constant + 0.1)),
        ("_upper_lines", lambda terms: terms._replace(weight=0.5 * terms.weight)),
    ],
)
def test_a_line_that_is_too_high_is_caught(side, bug, monkeypatch):
    right = getattr(option_branching._NodeBatch, side)
    monkeypatch.setattr(option_branching._NodeBatch, side, lambda chunk: bug(right(chunk)))
    assert any(too_high(asked(seed)) for seed in (0, 3, 6))


def test_a_bound_of_sums_that_is_too_high_is_caught(monkeypatch):
    monkeypatch.setattr(MaxOfSums, "attack", lambda *given: None)
    monkeypatch.setattr(
        option_branching._NodeBatch, "bound", property(lambda chunk: np.ones(len(chunk.ids)))
    )
    rejected = [explained(asked(seed)).meta.get("rejected") for seed in (0, 3, 6, 9)]
    assert any(rejected)


# --- the checker's sums over words ---


def beyond(seeds, monkeypatch):
    """Of bounds that the checker takes: how many there are, and how many are above what a text
    makes of it.
    """
    seen, about = [], []
    by_ends, by_lines, least = (
        interval_sums._sum_intervals,
        interval_sums._margin_by_lines,
        interval_sums._least_values,
    )

    def lowest(net, inputs, table, state, weights):
        texts = np.array(list(itertools.product(*(np.flatnonzero(left) for left in state.allowed))))
        if inputs.costs is not None:
            bought = state.optional & (texts != 0)
            count = len(table) if state.changes_left is None else state.changes_left
            texts = texts[(bought @ inputs.costs <= state.budget_left) & (bought.sum(-1) <= count)]
        owner = net.max_groups[0].first_unit
        made = net.steps[0].bias + table[np.arange(len(table)), texts].sum(1)
        maxima = np.stack([made[:, owner == first].max(-1) for first in np.unique(owner)], axis=-1)
        return (maxima @ weights).min()

    def ended(net, inputs, table, states, maxima):
        found = by_ends(net, inputs, table, states, maxima)
        for row, state in enumerate(states):
            for one in range(found.maximum_lower.shape[1]):
                unit = np.eye(found.maximum_lower.shape[1])[one]
                seen.append(
                    found.maximum_lower[row, one] > lowest(net, inputs, table, state, unit) + 1e-9
                )
                seen.append(
                    -found.maximum_upper[row, one] > lowest(net, inputs, table, state, -unit) + 1e-9
                )
        about[:] = [net, inputs, table]
        return found

    def lined(net, table, ends, up, down):
        values, constant = by_lines(net, table, ends, up, down)
        about[3:] = [up + down, constant]
        return values, constant

    def weighed(inputs, values, states):
        found = least(inputs, values, states)
        net, _, table, weights, constant = about
        for row, state in enumerate(states):
            seen.append(
                found[row] + constant[row] > lowest(net, inputs, table, state, weights[row]) + 1e-9
            )
        return found

    monkeypatch.setattr(interval_sums, "_sum_intervals", ended)
    monkeypatch.setattr(interval_sums, "_margin_by_lines", lined)
    monkeypatch.setattr(interval_sums, "_least_values", weighed)
    monkeypatch.setattr(
        interval_sums, "_margin_by_intervals", lambda ends, up, down: np.full(len(up), -np.inf)
    )
    for seed in seeds:
        explained(asked(seed))
        explained(asked(seed, at_most=2))
        explained(repeating(seed))
        contrasted(asked(seed, cost={0: 3, 1: 1.5, 2: 2}))
        contrasted(asked(seed, cost={0: 3, 2: 2}, at_most=3))
    return len(seen), sum(seen)


def test_bounds_that_the_checker_takes_are_below_the_margin_of_every_text(monkeypatch):
    count, wrong = beyond(range(0, 36, 3), monkeypatch)
    assert count > 200
    assert wrong == 0


@pytest.mark.parametrize(
    ("name", "bug"),
    [
        ("_upper_line", lambda found: (found[0], found[1] - 0.05)),
        ("_upper_line", lambda found: (0.0 * found[0], found[1])),
        ("_threshold", lambda found: found - 0.5),
        (
            "_lower_unit",
            lambda found: np.where(found >= 0, found.max(-1, keepdims=True), found),
        ),  # another maximum's
    ],
)
def test_a_line_of_the_checker_that_is_too_high_is_caught(name, bug, monkeypatch):
    right = getattr(interval_sums, name)
    monkeypatch.setattr(interval_sums, name, lambda *given: bug(right(*given)))
    assert beyond(range(0, 18, 3), monkeypatch)[1] > 0


def test_what_the_checker_buys_for_too_little_is_caught(monkeypatch):
    right = checking.VariedInputs.knapsack_values
    monkeypatch.setattr(
        checking.VariedInputs,
        "knapsack_values",
        lambda self, gains, states: 0.5 * right(self, gains, states),
    )
    assert beyond(range(0, 18, 3), monkeypatch)[1] > 0


def test_slopes_that_a_leaf_chooses_count_though_sums_would_do_without_them():
    """Both checkers say the same of it: what is written is what is checked."""
    said = []
    for seed in range(0, 36, 3):
        question = asked(seed)
        lines = json.loads(json.dumps(list(explained(question).certificate.lines)))
        units = sum(len(step.bias) for step in question.classifier.network.steps[:-1])
        for line in (line for line in lines if "leaf" in line):
            line["leaf"]["alpha"] = array(np.random.default_rng(seed).random(units))
        model = exact_model(question.classifier)
        said.append((accepts(lines, question.classifier), accepts_exactly(lines, model)))
    assert {first == second for first, second in said} == {True}
    assert {first for first, _ in said} == {True, False}

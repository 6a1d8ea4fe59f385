"""The oracle against brute force: every layer kind, every perturbation set, and numbers that are
hard.
"""

from __future__ import annotations

import inspect
import itertools
import sys
import textwrap
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import (
    NETWORKS,
    PERTURBATIONS,
    Case,
    complaint,
    exact_margins,
    flip_among,
    interval_bounds,
    make_case,
    samples,
    shifted,
    unstable,
)
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from suffice.errors import ModelError
from suffice.model.network import Dense, Network, Relu
from suffice.sets.regions import Ball, Box, Choice, Hull, Region
from suffice.verify.contract import Budget, Problem, Proved, Refuted, Unknown, Verdict
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.nets.branch import decide, split
from suffice.verify.nets.branch.branch_run import BranchRun
from suffice.verify.nets.crown import (
    BoundBatch,
    PreparedProblem,
    backward,
    initial_dual,
    intermediate,
    intermediate_bounds,
    margin_rows,
    relaxation,
)
from suffice.verify.nets.input_sets import Free
from suffice.verify.solvers import milp
from suffice.verify.solvers.milp import MilpOracle

# of each pair of a network and a perturbation
EXAMPLES = 36
QUESTIONS = 4
FEW = 12  # relus that can switch: so few must always be decided
PATIENCE = Budget(3600.0)  # never the reason for an answer
SEEDS = st.integers(0, 2**32 - 1)
KINDS = list(itertools.product(NETWORKS, PERTURBATIONS))


def examples(count: int) -> settings:
    """The same examples in every run; a seed does not get simpler by shrinking."""
    return settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )


def ask(case: Case, subproblems: int = 20_000) -> list[Verdict]:
    return BoundsOracle(case.problem).ask(case.free, Budget(PATIENCE.seconds_left, subproblems))


def ask_blindly(case: Case, subproblems: int = 100) -> list[Verdict]:
    """Branch and bound alone, not helped by a single attack: what can be refuted must come out as
    Unknown.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BranchRun, "test_points", lambda *_: None)
        return decide(
            PreparedProblem.of(case.problem), case.free, Budget(PATIENCE.seconds_left, subproblems)
        )


def complaints(case: Case, verdicts: Sequence[Verdict]) -> list[str]:
    """All that brute force has against the answers."""
    rng = np.random.default_rng(0)
    found = []
    for free, verdict in zip(case.free, verdicts, strict=True):
        known = flip_among(case.problem, samples(case.problem.region, free, rng))
        wrong = complaint(case, free, verdict, known)
        found += [f"{case.name} free={free.astype(int)}: {wrong}"] if wrong else []
    return found


def is_a_tie(case: Case, question: int) -> bool:
    """Whether a hair more makes the answer Proved and a hair less Refuted."""
    hair = 1e-6 * float(PreparedProblem.of(case.problem).margin_magnitude.max())
    more, less = (ask(shifted(case, sign * hair))[question] for sign in (1, -1))
    return isinstance(more, Proved) and isinstance(less, Refuted)


def needless(case: Case, verdicts: Sequence[Verdict]) -> list[str]:
    """Questions left open although few relus can switch and the lowest margin is not zero."""
    loose = unstable(case.problem, case.free)
    return [
        f"{case.name} {verdict}"
        for i, verdict in enumerate(verdicts)
        if isinstance(verdict, Unknown) and loose[i] <= FEW and not is_a_tie(case, i)
    ]


@pytest.mark.parametrize(("network", "perturbation"), KINDS)
def test_branch_and_bound_without_attacks_proves_nothing_false(
    network: str, perturbation: str
) -> None:
    cases = [make_case(network, perturbation, seed) for seed in range(5)]
    assert [wrong for case in cases for wrong in complaints(case, ask_blindly(case))] == []


# --- 10,000 cases ---


def test_there_are_ten_thousand_cases() -> None:
    assert len(KINDS) * EXAMPLES * QUESTIONS >= 10_000


@pytest.mark.parametrize(("network", "perturbation"), KINDS)
def test_answers_never_contradict_brute_force(network: str, perturbation: str) -> None:
    seen: set[int] = set()

    @examples(EXAMPLES)
    @given(SEEDS)
    def check(seed: int) -> None:
        seen.add(seed)
        case = make_case(network, perturbation, seed, QUESTIONS)
        verdicts = ask(case, subproblems=500 if perturbation == "ball-2" else 20_000)
        assert not complaints(case, verdicts)
        assert perturbation == "ball-2" or not needless(case, verdicts)

    check()
    assert len(seen) >= EXAMPLES


@pytest.mark.parametrize("network", NETWORKS)
def test_two_norm_balls_are_seldom_left_open(network: str) -> None:
    cases = [make_case(network, "ball-2", seed) for seed in range(40)]
    verdicts = [v for case in cases if not case.whole for v in ask(case)]
    assert sum(isinstance(v, Unknown) for v in verdicts) <= 0.05 * len(verdicts)


@pytest.mark.parametrize(("network", "perturbation"), [k for k in KINDS if k[1] != "ball-2"])
def test_answers_agree_with_a_milp_that_has_its_own_bounds(
    network: str, perturbation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milp, "bounds_for", interval_bounds)
    for seed in range(5):
        case = make_case(network, perturbation, 10**6 + seed, questions=2)
        ours = ask(case)
        theirs = MilpOracle(case.problem).ask(case.free, PATIENCE)
        for i, pair in enumerate(zip(ours, theirs, strict=True)):
            decided = {type(verdict) for verdict in pair} - {Unknown}
            assert len(decided) == 1 or is_a_tie(case, i), (case.name, pair)


@pytest.mark.parametrize(("network", "perturbation"), KINDS)
def test_a_planted_attack_is_never_proved_away(network: str, perturbation: str) -> None:
    """The lowest sampled margin is moved to just below zero."""
    for seed in range(6):
        case = make_case(network, perturbation, 2 * 10**6 + seed, questions=1)
        points = samples(case.problem.region, case.free[0], np.random.default_rng(seed))
        lowest = float(case.problem.margins(points).min())
        planted = shifted(case, -lowest - 1e-9 * (1 + abs(lowest)))
        assert flip_among(planted.problem, points) is not None
        assert not isinstance(ask(planted)[0], Proved), case.name


# --- batches and budgets ---


@pytest.mark.parametrize(("network", "perturbation"), KINDS)
def test_a_batch_gets_the_answers_of_its_questions(network: str, perturbation: str) -> None:
    case = make_case(network, perturbation, seed=7, questions=8)
    oracle = BoundsOracle(case.problem)
    together = oracle.ask(case.free, PATIENCE)
    for free, verdict in zip(case.free, together, strict=True):
        alone = oracle.ask(free[None], PATIENCE)[0]
        assert {type(alone), type(verdict)} != {Proved, Refuted}
        assert type(alone) is type(verdict) or perturbation.startswith("ball")


@pytest.mark.parametrize("budget", [(0.0, 10**6), (-1.0, 10**6), (60.0, 0), (60.0, 1), (60.0, 3)])
@pytest.mark.parametrize("perturbation", PERTURBATIONS)
def test_a_small_budget_gives_unknown_or_a_right_answer(
    perturbation: str, budget: tuple[float, int]
) -> None:
    for network, seed in itertools.product(("dense-2", "conv1d-maxpool"), range(4)):
        case = make_case(network, perturbation, seed)
        verdicts = BoundsOracle(case.problem).ask(case.free, Budget(*budget))
        assert not complaints(case, verdicts)


def test_cheap_answers_are_right_too() -> None:
    for (network, perturbation), optimised in itertools.product(KINDS, (False, True)):
        case = make_case(network, perturbation, seed=11)
        verdicts = BoundsOracle(case.problem).ask_cheaply(case.free, optimised=optimised)
        assert not complaints(case, verdicts)


def test_a_flip_that_took_a_complete_look_is_not_looked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late = 0
    for seed in range(200):
        case = make_case("dense-2", "boxes", seed)
        oracle = BoundsOracle(case.problem)
        cheap = oracle.ask_cheaply(case.free)
        first = oracle.ask(case.free, Budget(60))
        flips = np.array([isinstance(answer, Refuted) for answer in first])
        late += sum(isinstance(answer, Unknown) for answer in itertools.compress(cheap, flips))
        with monkeypatch.context() as patched:
            patched.setattr("suffice.verify.nets.bounds_oracle.decide", None)
            again = oracle.ask(case.free[flips], Budget(60))
        assert all(isinstance(answer, Refuted) for answer in again)
    assert late


def test_where_bounds_take_long_flips_are_found_before_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many attacks and small steps answer what a few attacks leave open, over maxima; what they say
    is a flip.
    """
    monkeypatch.setattr(
        "suffice.verify.nets.bounds_oracle.decide",
        lambda form, free, _: [Unknown("left open")] * len(free),
    )
    late = 0
    for seed in range(200):
        case = make_case("conv1d-maxpool", "boxes", seed)
        oracle = BoundsOracle(case.problem)
        cheap = oracle.ask_cheaply(case.free)
        answers = oracle.ask(case.free, Budget(60))
        late += sum(
            isinstance(a, Unknown) and isinstance(b, Refuted)
            for a, b in zip(cheap, answers, strict=True)
        )
        assert complaints(case, answers) == []
    assert late


def test_no_question_no_answer() -> None:
    case = make_case("dense-1", "boxes", seed=0)
    assert ask(Case(case.name, case.problem, case.free[:0], whole=False)) == []


# --- ties and hair's breadths ---


def regions_around_one() -> dict[str, Region]:
    """One word at 1 that can move down to 0 exactly, and no further."""
    center = np.array([[1.0]])
    ends = np.array([[[1.0], [0.0], [0.5]]])
    return {
        "box": Box(center, np.array([[0.0]]), np.array([[2.0]])),
        "hull": Hull(center, ends),
        "choice": Choice(center, ends),
        **{f"ball-{p}": Ball(center, 1.0, p) for p in (1, 2, np.inf)},
    }


def bodies() -> dict[str, Callable[[float], Network]]:
    """Networks whose margin is the word plus an offset: plain, and as relu(x) - relu(-x)."""
    both = np.array([[1.0], [-1.0]])
    return {
        "linear": lambda offset: Network.dense([(both / 2, [offset, 0.0])]),
        "relu": lambda offset: Network.dense(
            [(both, [0.0, 0.0]), ([[1.0, -1.0], [0.0, 0.0]], [offset, 0.0])]
        ),
    }


@pytest.mark.parametrize("offset", [0.0, 1e-12, -1e-12, 1e-18, -1e-18, 1e-3, -1e-3])
@pytest.mark.parametrize("body", bodies())
@pytest.mark.parametrize("region", regions_around_one())
def test_a_tie_is_not_a_proof_and_a_hair_is_not_a_flip(
    region: str, body: str, offset: float
) -> None:
    problem = Problem(bodies()[body](offset), regions_around_one()[region], 0, np.array([True]))
    verdict = BoundsOracle(problem).ask(np.array([[True]]), PATIENCE)[0]
    assert not isinstance(verdict, Proved if offset <= 0 else Refuted)
    assert abs(offset) < 1e-3 or not isinstance(verdict, Unknown)


def test_a_text_that_is_tied_already_is_refuted_by_itself() -> None:
    problem = Problem(bodies()["relu"](-1.0), regions_around_one()["box"], 0, np.array([True]))
    verdict = BoundsOracle(problem).ask(np.array([[False]]), PATIENCE)[0]
    assert isinstance(verdict, Refuted)
    assert verdict.witness.positions == ()


# --- rounding ---


def uneven(rng: np.random.Generator, *shape: int) -> Any:
    """Numbers of very different sizes, so that sums cancel."""
    return rng.standard_normal(shape) * 10.0 ** rng.integers(-9, 10, shape)


def uneven_problem(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 5))
    stack = [Dense(uneven(rng, width, 4), uneven(rng, width)), Relu()] if rng.random() < 0.7 else []
    last = Dense(uneven(rng, 2, width if stack else 4), uneven(rng, 2))
    points = uneven(rng, 2, 3, 2)
    regions = (
        Box(points[:, 0], points.min(1), points.max(1)),
        Hull(points[:, 0], points),
        Ball(
            points[:, 0], float(np.abs(uneven(rng, 1))[0]), [1.0, 2.0, np.inf][int(rng.integers(3))]
        ),
        Choice(points[:, 0], points),
    )
    region = regions[int(rng.integers(4))]
    return Problem(Network.build([*stack, last], (2, 2)), region, 0, np.ones(2, dtype=bool))


def bound_holds(problem: Problem) -> bool:
    """Whether the bound of the margin is below the exact margin at its minimiser and at other
    points.
    """
    form = PreparedProblem.of(problem)
    inputs = Free(problem.region, np.ones((1, 2), dtype=bool))
    found = intermediate_bounds(form, inputs)
    passed = backward.backward_bound(
        form, BoundBatch(inputs, found, margin_rows(form, np.array([0]))), initial_dual(found)
    )
    corners = samples(problem.region, np.ones(2, dtype=bool), np.random.default_rng(0), count=4)[
        :12
    ]
    lowest = min(
        exact_margins(problem, p)[0]
        for p in [*inputs.minimiser(passed.input_coefficients), *corners]
    )
    return Fraction(float(passed.bound[0])) <= lowest


@examples(400)
@given(SEEDS)
def test_a_bound_is_below_every_exact_margin(seed: int) -> None:
    assert bound_holds(uneven_problem(seed))


@examples(200)
@given(SEEDS)
def test_hidden_bounds_hold_in_exact_arithmetic(seed: int) -> None:
    problem = uneven_problem(seed)
    form = PreparedProblem.of(problem)
    free = np.ones(2, dtype=bool)
    if not form.steps:
        return
    found = intermediate_bounds(form, Free(problem.region, free[None]))
    lower = found.lower[0, form.slices[0]]
    upper = found.upper[0, form.slices[0]]
    step = form.steps[0]
    for point in samples(problem.region, free, np.random.default_rng(0), count=4)[:12]:
        values = [Fraction(v) for v in point.ravel().tolist()]
        for unit, row in enumerate(step.dense().tolist()):
            z = sum(
                (Fraction(w) * v for w, v in zip(row, values, strict=True)),
                Fraction(step.bias[unit]),
            )
            assert Fraction(lower[unit]) <= z <= Fraction(upper[unit])


# --- numbers that break arithmetic ---


def extreme(rng: np.random.Generator, reach: int, *shape: int) -> Any:
    return rng.choice([-1.0, 1.0, 0.5, 0.0], shape) * 10.0 ** rng.integers(
        -reach, reach, shape
    ).astype(float)


@examples(600)
@given(SEEDS, st.sampled_from([307, 100, 50, 25]))
def test_extreme_numbers_never_give_a_wrong_answer(seed: int, reach: int) -> None:
    """Weights from 1e-307 to 1e307 over a finite set, against fractions."""
    rng = np.random.default_rng(seed)
    points = extreme(rng, reach, 2, 2, 1)
    layers = [(extreme(rng, reach, 2, 2), extreme(rng, reach, 2)) for _ in range(2)]
    problem = Problem(
        Network.dense(layers), Choice(points[:, 0], points), 0, np.ones(2, dtype=bool)
    )
    with np.errstate(all="ignore"):
        verdict = BoundsOracle(problem).ask(np.ones((1, 2), dtype=bool), PATIENCE)[0]
    picks = [points[[0, 1], list(pair)] for pair in itertools.product(range(2), repeat=2)]
    flip = any(exact_margins(problem, p)[0] <= 0 for p in picks)
    assert not (flip and isinstance(verdict, Proved))
    if isinstance(verdict, Refuted):
        assert exact_margins(problem, verdict.witness.point)[0] <= 0


def test_products_that_underflow_are_not_taken_for_nothing() -> None:
    """Each weight times the next is 1e-400, but the inputs reach 1e300."""
    words = 10
    weights = [(np.full((1, words), -1e-200), [0.0]), ([[-1e-200], [0.0]], [9.5e-100, 0.0])]
    region = Box(np.zeros((words, 1)), np.full((words, 1), -1e300), np.zeros((words, 1)))
    problem = Problem(Network.dense(weights), region, 0, np.ones(words, dtype=bool))
    assert exact_margins(problem, region.lower)[0] < 0
    verdict = BoundsOracle(problem).ask(np.ones((1, words), dtype=bool), PATIENCE)[0]
    assert not isinstance(verdict, Proved)


@pytest.mark.parametrize("large", [1e308, 1.7e308, 1e200])
def test_overflow_is_unknown_or_an_error(large: float) -> None:
    weights = [
        (np.full((3, 2), large), np.ones(3)),
        (np.full((2, 3), large) * [[1], [-1]], np.ones(2)),
    ]
    region = Box(np.ones((2, 1)), np.full((2, 1), 0.5), np.full((2, 1), 2.0))
    with np.errstate(all="ignore"):
        try:
            problem = Problem(Network.dense(weights), region, 0, np.ones(2, dtype=bool))
        except ModelError:
            return
        verdicts = BoundsOracle(problem).ask(np.ones((1, 2), dtype=bool), PATIENCE)
    assert isinstance(verdicts[0], Unknown)


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_a_network_with_odd_numbers_is_refused(odd: float) -> None:
    with pytest.raises(ModelError):
        Network.dense([([[1.0, odd], [0.0, 1.0]], [0.0, 0.0])])


# --- the suite can fail: planted bugs ---


BUGS: dict[str, tuple[Any, str, str, str]] = {
    "the upper chord's constant has the wrong sign": (
        relaxation,
        "_relax_relus",
        "np.where(crossing, chord_intercept",
        "np.where(crossing, -chord_intercept",
    ),
    "the upper chord is the lower line": (
        relaxation,
        "_relax_relus",
        "columns] = slope",
        "columns] = 0.5 * slope",
    ),
    "negative rows take the lower line": (
        backward,
        "_through_relaxation",
        "negative *= upper_slope[",
        "negative *= lower_slope[",
    ),
    "the bound forgets a step's bias": (
        backward,
        "backward_bound",
        "+ coefficients @ step.bias",
        "+ 0.0 * coefficients @ step.bias",
    ),
    "hidden bounds are swapped": (
        intermediate,
        "intermediate_bounds",
        "relax_step(bounds",
        "bounds.lower[:, columns], bounds.upper[:, columns] = -upper, -lower; relax_step(bounds",
    ),
    "a split closes the wrong side": (
        relaxation,
        "_relax_relus",
        "(chord_upper - chord_lower), active)",
        "(chord_upper - chord_lower), inactive)",
    ),
    "a split cuts off too much": (
        intermediate,
        "_clamped_at_splits",
        "np.maximum(lower, 0.0)",
        "np.maximum(lower, 1.0)",
    ),
    "both branches of a split are one": (
        split,
        "_split_unit",
        "signs[unit] = -1",
        "signs[unit] = 1",
    ),
    "the support function is a maximum": (Free, "min_shift", "found -=", "found +="),
    "so it is for hidden units": (
        Free,
        "min_through",
        "- np.matmul(effects",
        "+ np.matmul(effects",
    ),
    "rounding is forgotten": (backward, "backward_bound", "prepared.gamma *", "0.0 *"),
}


def plant(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str) -> None:
    """Change one line of a function, wherever the function is known."""
    function = getattr(owner, name)
    source = textwrap.dedent(inspect.getsource(function))
    assert old in source, f"{name} has changed: plant another bug"
    made: dict[str, Any] = {}
    exec(source.replace(old, new), function.__globals__, made)
    prover = [module for path, module in sys.modules.items() if path.startswith("suffice.verify.")]
    for place in (owner, *prover):
        if getattr(place, name, None) is function:
            monkeypatch.setattr(place, name, made[name])


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_caught(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [
        make_case(network, kind, seed)
        for (network, kind), seed in itertools.product(KINDS, range(4))
    ]
    uneven_problems = [uneven_problem(seed) for seed in range(60)]
    plant(monkeypatch, *BUGS[bug])
    caught = any(
        complaints(case, answer(case, subproblems=100))
        for case in cases
        for answer in (ask_blindly, ask)
    )
    assert caught or any(not bound_holds(problem) for problem in uneven_problems)

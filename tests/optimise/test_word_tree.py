"""Explanations are checked against all subsets of small texts, and the three methods against each
other.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from helpers import make_classifier, make_text, use_settings
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice as sf
from suffice.model.network import Bools, Floats
from suffice.optimise.cost import costs
from suffice.optimise.node import ByCost, Frontier, Node, provable_bound
from suffice.optimise.oracle_cache import OracleCache
from suffice.optimise.published.hs import hitting_sets
from suffice.optimise.restoration import Restoration
from suffice.optimise.word_tree import WordTreeSearch
from suffice.sets.perturbations import Perturbation
from suffice.sets.regions import Choice
from suffice.verbs.engines import task
from suffice.verbs.question import Question
from suffice.verify.contract import Unknown, Verdict
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.proof_tree import Leaf

KINDS = ("box", "hull", "inf", "one", "two", "swap", "deletion", "boxes")
METHODS = ("search", "hs", "msa")


def a_perturbation(
    kind: str, rng: np.random.Generator, classifier: sf.Classifier, text: list[str]
) -> Perturbation:
    center = classifier.embed(classifier.read(text))
    size = float(rng.uniform(0.2, 1.2))
    match kind:
        case "box":
            return sf.KNNBox(int(rng.integers(1, 6)))
        case "hull":
            return sf.KNNHull(int(rng.integers(1, 6)))
        case "inf" | "one" | "two":
            return sf.EpsilonBall(size, {"inf": np.inf, "one": 1, "two": 2}[kind])
        case "swap":
            words = [f"word{i}" for i in range(8)]
            return sf.WordSwap({word: rng.choice(words, 2).tolist() for word in words})
        case "deletion":
            return sf.Deletion()
        case _:
            return sf.Boxes(
                center - size * rng.random(center.shape), center + size * rng.random(center.shape)
            )


class Case:
    """A random question with its answer by brute force over all subsets."""

    def __init__(self, kind: str, seed: int, length: int, constrained: bool = True) -> None:
        rng = np.random.default_rng([seed, KINDS.index(kind)])
        self.classifier = make_classifier(
            seed, length=length, dimension=2, hidden=(4, 3), classes=2 + seed % 2
        )
        self.text = make_text(seed, length=length)
        self.perturbation = a_perturbation(kind, rng, self.classifier, self.text)
        count = len(self.text)
        prices = {word: float(rng.choice([0.5, 1.0, 1.5, 2.0])) for word in self.text}
        self.cost = prices if rng.random() < 0.5 else None
        roles = rng.choice(3, size=count, p=[0.8, 0.1, 0.1] if constrained else [1, 0, 0])
        self.include = [int(i) for i in np.flatnonzero(roles == 1)]
        self.exclude = [int(i) for i in np.flatnonzero(roles == 2)]
        self.question = Question(
            self.classifier,
            self.text,
            perturbation=self.perturbation,
            cost=self.cost,
            include=self.include,
            exclude=self.exclude,
        )
        self.robust = dict(robust_sets(self.question, count))

    def price(self, words: tuple[int, ...]) -> float:
        return sum(1.0 if self.cost is None else self.cost[self.text[i]] for i in words)

    @property
    def feasible(self) -> list[tuple[int, ...]]:
        wanted = set(self.include)
        barred = set(self.exclude)
        return [
            e
            for e, holds in self.robust.items()
            if holds and wanted <= set(e) and not barred & set(e)
        ]

    @property
    def best(self) -> float | None:
        return min((self.price(e) for e in self.feasible), default=None)

    def explain(self, method: str = "search", **more: object) -> sf.Explanation:
        return sf.explain(
            self.classifier,
            self.text,
            perturbation=self.perturbation,
            cost=self.cost,
            include=self.include,
            exclude=self.exclude,
            method=method,
            **more,  # type: ignore[arg-type]
        )


def robust_sets(question: Question, count: int) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Whether each subset of the words suffices: by all choices where they are finite, else by the
    MILP oracle.
    """
    subsets = [e for size in range(count + 1) for e in itertools.combinations(range(count), size)]
    for fixed in subsets:
        free = np.array([i < count and i not in fixed for i in range(len(question.text))])
        yield fixed, suffices(question, free)


def suffices(question: Question, free: Bools) -> bool:
    problem = question.problem
    region = question.problem.region
    if isinstance(region, Choice):
        options = [
            region.points[i] if free[i] else region.center[i : i + 1] for i in range(len(free))
        ]
        points = np.array(list(itertools.product(*options)))
        return bool((problem.margins(points) > 0).all())
    oracle = "bounds" if getattr(region, "p", None) == 2 else "milp"
    positions = [i for i in range(len(question.text.words)) if not free[i]]
    verdict = sf.is_robust(
        question.classifier,
        question.text,
        positions,
        perturbation=question.perturbation,
        oracle=oracle,
    )
    assert not isinstance(verdict, sf.Unknown), verdict
    return isinstance(verdict, sf.Proved)


@pytest.mark.parametrize("kind", KINDS)
def test_all_methods_find_the_brute_force_cost(kind: str) -> None:
    for seed in range(40):
        case = Case(kind, seed, length=2 + seed % 4)
        for method in METHODS:
            result = case.explain(method)
            if case.best is None:
                assert result.status == "infeasible", (kind, seed, method)
                assert result.witness is not None
                assert set(result.witness.positions) <= set(case.exclude)
            else:
                assert (result.status, result.cost) == ("optimal", case.best), (kind, seed, method)
                assert result.positions in case.feasible
                assert result.lower_bound == result.cost


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["swap", "deletion"])
def test_the_search_is_right_on_thousands_of_texts_with_real_words(kind: str) -> None:
    for seed in range(600):
        case = Case(kind, 1000 + seed, length=2 + seed % 5)
        results = [case.explain(method, self_check=False) for method in METHODS]
        wanted = ("infeasible", np.inf) if case.best is None else ("optimal", case.best)
        assert {(r.status, r.cost) for r in results} == {wanted}, seed


def test_hitting_sets_respect_the_costs_of_words_met_later() -> None:
    """Two sets of one word suffice, at different costs: PySAT must be told the cost of a word when
    it meets it.
    """
    for seed in (5025, *range(5100, 5120)):
        case = Case("hull", seed, length=4, constrained=False)
        assert {case.explain(method).cost for method in METHODS} == {case.best}


def test_hitting_sets_without_sparse_attacks_which_benchmarks_compare_with_find_the_same_cost() -> (
    None
):
    for seed in range(12):
        question = Case("box", 300 + seed, length=4, constrained=False).question
        costs_ = [
            hitting_sets(
                task(question, question.budget, None), BoundsOracle(question.problem), sparse
            ).upper
            for sparse in (True, False)
        ]
        assert costs_[0] == costs_[1]


def test_ten_words_agree_with_all_subsets() -> None:
    for seed in range(6):
        case = Case("deletion", 7000 + seed, length=10)
        for method in METHODS:
            result = case.explain(method)
            assert (result.cost if result.status == "optimal" else None) == case.best


@pytest.mark.parametrize("kind", KINDS)
def test_explain_all_yields_every_optimal_set_once(kind: str) -> None:
    for seed in range(12):
        case = Case(kind, 100 + seed, length=2 + seed % 4)
        found = list(
            sf.explain_all(
                case.classifier,
                case.text,
                perturbation=case.perturbation,
                cost=case.cost,
                include=case.include,
                exclude=case.exclude,
            )
        )
        if case.best is None:
            assert [r.status for r in found] == ["infeasible"]
            continue
        optimal = {e for e in case.feasible if case.price(e) == case.best}
        assert sorted(r.positions for r in found) == sorted(optimal), (kind, seed)
        assert all(r.status == "optimal" for r in found)


def test_explain_all_is_lazy() -> None:
    case = Case("deletion", 4, length=4, constrained=False)
    answers = sf.explain_all(case.classifier, case.text, perturbation=case.perturbation)
    assert next(answers).status == "optimal"


@pytest.mark.parametrize("kind", KINDS)
def test_contrast_is_the_cheapest_set_that_flips(kind: str) -> None:
    for seed in range(15):
        case = Case(kind, 200 + seed, length=2 + seed % 4, constrained=False)
        everything = set(range(len(case.text)))
        flips = [
            tuple(sorted(everything - set(e))) for e, holds in case.robust.items() if not holds
        ]
        result = sf.contrast(
            case.classifier, case.text, perturbation=case.perturbation, cost=case.cost
        )
        if not flips:
            assert (result.status, result.flip) == ("none", None)
            continue
        assert (result.status, result.cost) == ("optimal", min(case.price(s) for s in flips)), (
            kind,
            seed,
        )
        assert result.flip is not None
        assert case.question.problem.margins(result.flip.point[None]).min() <= 1e-9
        assert result.flip.real == (kind in ("swap", "deletion"))


def test_a_flip_by_real_words_is_a_real_text_with_another_label() -> None:
    checked = 0
    for seed in range(150):
        case = Case("swap", 300 + seed, length=4, constrained=False)
        result = sf.contrast(case.classifier, case.text, perturbation=case.perturbation)
        if result.flip is not None:
            assert case.classifier.predict(result.flipped_text.split()).label == result.flip.label
            checked += 1
    assert checked > 5


def test_costs_decide_between_sets() -> None:
    """Two equal words, either of which suffices: the cheaper one is chosen, whatever the order."""
    net = sf.Network.dense([([[-1.0, -1.0], [1.0, 1.0]], [1.0, -1.0])])
    classifier = sf.Classifier(
        net, [[0.0], [0.0], [2.0], [2.0]], ["<PAD>", "<UNK>", "a", "b"], ["no", "yes"], 2
    )
    for dear, cheap in (("a", "b"), ("b", "a")):
        result = sf.explain(
            classifier, ["a", "b"], perturbation=sf.Deletion(), cost={dear: 2, cheap: 0.5}
        )
        assert ([w.text for w in result.words], result.cost) == ([cheap], 0.5)


@given(st.integers(0, 10_000))
def test_the_cost_grows_with_k_and_with_eps(seed: int) -> None:
    classifier = make_classifier(seed, length=4, dimension=2, hidden=(4,))
    text = make_text(seed)
    by_k = [sf.explain(classifier, text, perturbation=sf.KNNBox(k)).cost for k in (1, 3, 5)]
    by_eps = [
        sf.explain(classifier, text, perturbation=sf.EpsilonBall(e)).cost for e in (0.1, 0.4, 1.0)
    ]
    assert by_k == sorted(by_k)
    assert by_eps == sorted(by_eps)


def test_progress_closes_in_from_both_sides() -> None:
    seen: list[tuple[float, float]] = []
    case = Case("box", 12, length=5, constrained=False)
    result = case.explain(on_progress=lambda lower, upper, *_: seen.append((lower, upper)))
    assert seen
    assert all(lower <= upper for lower, upper in seen)
    assert [u for _, u in seen] == sorted((u for _, u in seen), reverse=True)
    assert seen[-1][1] == result.cost


@pytest.mark.parametrize("method", METHODS)
def test_ctrl_c_gives_the_best_answer_so_far(method: str) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    case = Case("box", 12, length=5, constrained=False)
    result = case.explain(method, on_progress=interrupt)
    assert result.status in ("sufficient", "unknown")
    assert case.robust[result.positions]
    assert result.lower_bound <= (case.best or 0) <= result.cost


@pytest.mark.parametrize("kind", ["box", "swap", "hull"])
def test_the_bounds_hold_wherever_the_search_is_interrupted(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proofs are made weak so that words are split on, and the search is stopped at its n-th
    question.
    """
    use_settings(
        monkeypatch,
        restorations={"proof_subproblems": (1, 1)},
        word_tree={"attacks": 1, "node_batch": 2},
    )
    ask, left = OracleCache.ask, [0]

    def limited(self: OracleCache, held: Bools, effort: int) -> list[Verdict]:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return ask(self, held, effort)

    monkeypatch.setattr(OracleCache, "ask", limited)
    for seed in range(8):
        case = Case(kind, 400 + seed, length=5)
        for count in range(1, 12):
            left[0] = count
            result = case.explain(self_check=True)
            assert "rejected" not in result.meta
            if result.status in ("optimal", "sufficient"):
                assert case.best is not None
                assert result.lower_bound <= case.best <= result.cost, (kind, seed, count)
                assert case.robust[result.positions]


@pytest.mark.parametrize("kind", ["box", "swap", "hull"])
def test_nodes_that_a_first_look_leaves_in_doubt_are_looked_at_again(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, undecided = OracleCache.ask, []

    def hesitant(self: OracleCache, held: Bools, effort: int) -> list[Verdict]:
        if effort < self.task.budget.subproblems:
            return [Unknown("a first look")] * len(held)
        return ask(self, held, effort)

    push = Frontier.push
    monkeypatch.setattr(OracleCache, "ask", hesitant)
    monkeypatch.setattr(
        Frontier, "push", lambda self, node: (undecided.append(node.undecided), push(self, node))[1]
    )
    for seed in range(40):
        case = Case(kind, 900 + seed, length=5, constrained=False)
        result = case.explain(self_check=True)
        assert "rejected" not in result.meta
        assert (result.status, result.cost) == ("optimal", case.best)
    assert any(undecided)


def test_undecided_nodes_wait_for_all_others_of_their_bound() -> None:
    nodes = {name: a_node("...", undecided=name.isupper()) for name in "AbCde"}
    nodes["d"].lower = nodes["e"].lower = 1
    frontier = Frontier(nodes["b"])
    for node in nodes.values():
        frontier.push(node)
    taken = []
    while not frontier.empty:
        batch = frontier.take(4)
        taken.append("".join(name for name, node in nodes.items() if node in batch))
    assert taken == ["b", "AC", "de"]


@pytest.mark.parametrize("kind", ["box", "inf", "two"])
def test_attacks_made_harder_to_undo_change_no_answer(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_settings(monkeypatch, word_tree={"attacks": 2, "strengthen_from": (0, 0)})
    used = []
    harden = WordTreeSearch._strengthen_cost
    monkeypatch.setattr(
        WordTreeSearch,
        "_strengthen_cost",
        lambda self, node: (used.append(node), harden(self, node))[1],
    )
    for seed in range(10):
        case = Case(kind, 700 + seed, length=5, constrained=False)
        result = case.explain(self_check=True)
        assert "rejected" not in result.meta
        assert (result.status, result.cost) == ("optimal", case.best)
    assert used


@pytest.mark.parametrize("kind", KINDS)
def test_holding_words_that_nothing_can_do_without_changes_no_answer(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proofs are made weak so that words are split on; most times such words are looked for at the
    very first.
    """
    press, found = WordTreeSearch._fix_necessary, []
    monkeypatch.setattr(
        WordTreeSearch,
        "_fix_necessary",
        lambda self, node: (found.append(press(self, node)), found[-1])[1],
    )
    for seed in range(30):
        use_settings(
            monkeypatch,
            restorations={"proof_subproblems": (1, 1)},
            word_tree={"large_subproblem": 10**8 if seed % 3 == 0 else 0},
        )
        case = Case(kind, 1300 + seed, length=4 + seed % 2)
        result = case.explain(self_check=True)
        assert "rejected" not in result.meta
        assert result.cost == case.best if case.best is not None else result.status == "infeasible"
    assert any(found) or kind in (
        "two",
        "boxes",
    )  # in which no word of these texts flips the label alone


@pytest.mark.parametrize("method", METHODS)
def test_a_limit_too_short_to_finish_never_claims_optimality(method: str) -> None:
    case = Case("box", 12, length=5, constrained=False)
    result = case.explain(method, seconds=1e-9)
    assert result.status in ("sufficient", "unknown", "optimal")
    if result.status == "optimal":
        assert result.cost == case.best
    assert result.lower_bound <= (case.best or 0)


def without_times(source: str) -> str:
    data = json.loads(source)
    data["stats"].pop("seconds")
    return json.dumps(data, sort_keys=True)


def test_the_same_question_gives_the_same_bytes() -> None:
    case = Case("box", 21, length=5)
    first = case.explain()
    second = case.explain()
    assert without_times(first.to_json()) == without_times(second.to_json())
    assert first.certificate is not None
    assert second.certificate is not None
    assert first.certificate.data == second.certificate.data


SCRIPT = """
import suffice as sf
classifier = sf.load("sst-fc25")
text = "a quiet , moving film that is never dull"
result = sf.explain(classifier, text, perturbation=sf.KNNBox(60))
print(result.to_json())
"""


def test_thread_counts_do_not_change_the_answer() -> None:
    def run(threads: str) -> str:
        env = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        return subprocess.run(
            [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True
        ).stdout

    assert without_times(run("1")) == without_times(run("2"))


def test_json_round_trip_keeps_everything_but_the_evidence() -> None:
    for kind in ("box", "swap"):
        for seed in range(6):
            result = Case(kind, seed, length=4).explain()
            again = sf.Explanation.from_json(result.to_json())
            first = result.to_dict()
            second = again.to_dict()
            first.pop("certificate"), second.pop("certificate")
            assert first == second


def test_bad_questions_are_refused_with_a_sentence(tiny: sf.Classifier) -> None:
    box = sf.KNNBox(2)
    for wrong in (
        {"include": ["nowhere"]},
        {"exclude": [9]},
        {"include": ["word1"], "exclude": ["word1"]},
        {"include": "word1"},
        {"padding": "none"},
        {"method": "magic"},
        {"oracle": "delphi"},
        {"seconds": 0},
        {"cost": {"word1": -1}},
        {"cost": lambda word: float("nan")},
    ):
        with pytest.raises(sf.InputError):
            sf.explain(tiny, ["word1", "word2"], perturbation=box, **wrong)  # type: ignore[arg-type]


def test_padding_is_a_feature_only_on_request(tiny: sf.Classifier) -> None:
    fixed = sf.explain(tiny, ["word1"], perturbation=sf.EpsilonBall(3.0))
    feature = sf.explain(tiny, ["word1"], perturbation=sf.EpsilonBall(3.0), padding="feature")
    assert set(fixed.positions) <= {0}
    assert feature.cost >= fixed.cost
    assert feature.meta["padding"] == "feature"


# --- contrast ---


@settings(max_examples=150, derandomize=True, database=None, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 4), st.booleans(), st.booleans())
def test_contrast_ends_with_the_cheapest_flip_and_never_gets_worse(
    seed: int, length: int, whole: bool, priced: bool
) -> None:
    """Also where weights are small whole numbers, so that many texts are tied."""
    rng = np.random.default_rng(seed)

    def numbers(*shape: int) -> Floats:
        return rng.integers(-1, 2, shape).astype(float) if whole else rng.standard_normal(shape)

    layers = [(numbers(3, length * 2), numbers(3)), (numbers(2, 3), numbers(2))]
    vocabulary = ["<PAD>", "<UNK>", *(f"word{i}" for i in range(8))]
    classifier = sf.Classifier(
        sf.Network.dense(layers), numbers(10, 2), vocabulary, ["no", "yes"], length
    )
    text = [f"word{i}" for i in rng.integers(8, size=length)]
    prices = (
        {word: float(rng.integers(1, 4)) for word in text} if priced else dict.fromkeys(text, 1.0)
    )
    uppers: list[float] = []
    result = sf.contrast(
        classifier,
        text,
        perturbation=sf.Deletion(),
        cost=prices,
        seconds=1e6,
        on_progress=lambda lower, upper, *_: uppers.append(upper),
    )
    problem = Question(classifier, text, perturbation=sf.Deletion()).problem
    pad = classifier.table[0]
    best = np.inf
    for gone in itertools.product([False, True], repeat=length):
        point = np.where(np.array(gone)[:, None], pad, problem.center)
        if problem.margins(point[None]).min() <= 1e-9:
            best = min(best, sum(prices[w] for w, g in zip(text, gone, strict=True) if g))
    assert uppers == sorted(uppers, reverse=True)
    assert len(set(uppers)) == len(uppers)
    assert result.status == ("none" if best == np.inf else "optimal")
    assert result.cost == best


def test_a_tie_at_the_text_is_a_flip_that_costs_nothing() -> None:
    net = sf.Network.dense([([[0.0, 0.0], [0.0, 0.0]], [1.0, 1.0])])
    classifier = sf.Classifier(
        net, [[0.0], [0.0], [2.0], [3.0]], ["<PAD>", "<UNK>", "a", "b"], ["no", "yes"], 2
    )
    result = sf.contrast(classifier, ["a", "b"], perturbation=sf.Deletion())
    assert (result.status, result.cost, result.positions) == ("optimal", 0.0, ())


# --- costs ---


def test_costs_are_compared_exactly_as_written() -> None:
    """Three words at 0.1 cost as much as one at 0.3, and less than one that is dearer by the last
    digit.
    """
    text = make_classifier(0).read(["word1", "word2", "word3", "word4"])
    for dear, equal in ((0.3, True), (0.3000000001, False)):
        found = costs({"word1": 0.1, "word2": 0.1, "word3": 0.1, "word4": dear}, text)
        three = np.array([True, True, True, False])
        one = np.array([False, False, False, True])
        assert (found.of(three) == found.of(one)) is equal
        assert found.of(three) <= found.of(one)
        assert found.price(found.of(one)) == dear


def test_costs_that_cannot_be_added_up_exactly_are_refused_with_advice(tiny: sf.Classifier) -> None:
    for prices in ({"word1": 1 / 3, "word2": 2 / 3}, {"word1": 1e-9, "word2": 1e9}):
        with pytest.raises(sf.InputError, match="exactly"):
            sf.explain(tiny, ["word1", "word2"], perturbation=sf.KNNBox(2), cost=prices)
    rounded = {"word1": round(1 / 3, 12), "word2": round(2 / 3, 12)}
    assert (
        sf.explain(tiny, ["word1", "word2"], perturbation=sf.KNNBox(2), cost=rounded).status
        == "optimal"
    )


@pytest.mark.parametrize("cost", [[1.0, 2.0], 3, "dear", np.ones(2)])
def test_a_cost_that_is_no_mapping_is_refused_with_a_sentence(
    cost: object, tiny: sf.Classifier
) -> None:
    with pytest.raises(sf.InputError, match="mapping"):
        sf.explain(tiny, ["word1", "word2"], perturbation=sf.KNNBox(2), cost=cost)  # type: ignore[arg-type]


@pytest.mark.parametrize("price", [1e308, 10**400])
def test_costs_whose_sum_no_number_holds_are_refused(price: float, tiny: sf.Classifier) -> None:
    with pytest.raises(sf.InputError, match=r"add up to more than 1\.8e\+308"):
        sf.explain(tiny, "good bad good", cost=lambda _: price)


def test_costs_may_be_numbers_of_numpy(tiny: sf.Classifier) -> None:
    prices = {"word1": np.float64(0.1), "word2": np.int64(2)}
    found = costs(prices, tiny.read(["word1", "word2"]))
    assert [found.price(unit) for unit in found.units[:2]] == [0.1, 2.0]


def test_an_unknown_verdict_has_no_truth() -> None:
    with pytest.raises(TypeError, match="three cases"):
        bool(sf.Unknown("time is up"))


def stopped_after(allowed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search is interrupted when it begins the round after so many."""
    rounds, left = getattr(WordTreeSearch.round, "whole", WordTreeSearch.round), [allowed]

    def limited(self: WordTreeSearch) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        rounds(self)

    limited.whole = rounds  # type: ignore[attr-defined]
    monkeypatch.setattr(WordTreeSearch, "round", limited)


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_that_is_stopped_says_the_bound_that_its_certificate_proves(
    kind: str, monkeypatch
) -> None:
    """After each number of rounds: no more than what the checker accepts, and no more than the
    truth.
    """
    for case, allowed in itertools.product(
        [Case(kind, seed, length=6) for seed in range(8)], range(4)
    ):
        stopped_after(allowed, monkeypatch)
        result = case.explain()
        if result.status not in ("sufficient", "unknown") or result.certificate is None:
            continue
        checked = sf.check(result.certificate, case.classifier)
        included = case.price(tuple(case.include))
        assert result.lower_bound == (
            included if checked.lower is None else float(checked.lower * checked.unit)
        )
        assert result.lower_bound <= case.best


def ruled_out(budget: int) -> Restoration:
    return Restoration(np.zeros((3, 1)), 0, budget, Leaf(None, np.zeros(0)))


def a_node(held: str, **more: object) -> Node:
    """A node over three words, those held marked with x."""
    mask = np.array([mark == "x" for mark in held])
    return Node(mask, np.zeros(3, dtype=bool), 0, **more)  # type: ignore[arg-type]


def counted(held: Bools) -> int:
    return int(held.sum())


def test_what_open_nodes_have_proved_counts() -> None:
    """A tree proves the least of what its open nodes have, or what an inner node had before it was
    split.
    """
    closed = a_node("...", reason=ByCost())
    for inner, outer, expected in (
        (None, 2, 4),
        (None, None, 1),
        (1, None, 2),
        (1, 2, 4),
        (6, 2, 7),
    ):
        child = a_node("x..", partial=None if outer is None else ruled_out(outer))
        root = a_node(
            "...",
            partial=None if inner is None else ruled_out(inner),
            word=0,
            children=(child, closed),
        )
        found = provable_bound(root, counted, 100)
        assert found is not None
        lower, tree = found
        assert lower == expected
        leaves = [tree] if tree.children is None else list(tree.children)
        assert all(leaf.closed for leaf in leaves)
        assert (tree.children is None) == (inner is not None and inner + 1 >= expected)
        assert provable_bound(root, counted, expected - 1)[0] == expected - 1
    assert provable_bound(a_node("..."), counted, 100) is None

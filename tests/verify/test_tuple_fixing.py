"""Sieves: whoever wins at an input where the label is lost is left, and both checkers see it so."""

from __future__ import annotations

import base64
import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import refused, set_numbers
from test_max_lines import WORDS, text_cnn
from test_max_planes import both_accept

import suffice as sf
from suffice.model import step
from suffice.proof import check_exact
from suffice.proof.certificate import array
from suffice.proof.export import export
from suffice.sets.regions import Box
from suffice.settings import DEFAULT
from suffice.verify.contract import Budget, Problem, Proved, Refuted
from suffice.verify.nets.branch import decide, input_sets_of, loop, root, unit_branching
from suffice.verify.nets.branch.branch_run import BranchRun
from suffice.verify.nets.crown import PreparedProblem
from suffice.verify.nets.joint_maxpool import tuple_fixing, tuple_groups
from suffice.verify.proof_tree import Leaf, Split, TupleFixing
from suffice.verify.solvers.milp import MilpOracle

LENGTH = 7


def asked(seed, above, filters=10, classes=2):
    """Everything is free, and the lowest corner of many is so far above the boundary, or below."""
    rng = np.random.default_rng(seed)
    network = text_cnn(seed, words=LENGTH, filters=filters, width=3, classes=classes).network
    center = rng.standard_normal((LENGTH, 2)) * 0.5
    label = int(network.forward(center[None])[0].argmax())
    problem = Problem(
        network, Box(center, center - 0.35, center + 0.3), label, np.ones(LENGTH, dtype=bool)
    )
    points = _points(problem, rng)
    *first, last = network.steps
    least = problem.margins(points).min()
    lifted = replace(last, bias=last.bias + (np.arange(classes) == label) * (above - least))
    problem = replace(problem, network=replace(network, steps=(*first, lifted)))
    return PreparedProblem.of(problem), points


def _points(problem, rng):
    region = problem.region
    middle, radius = region.spread
    corners = region.center + middle + radius * rng.choice([-1.0, 1.0], (20_000, LENGTH, 2))
    return np.concatenate([corners, region.sample(rng, 2000)])


def stages(tree):
    """All stages of a proof, and how often it splits."""
    match tree:
        case TupleFixing(stage, rest):
            found, splits = stages(rest)
            return [stage, *found], splits
        case Split(_, (first, second)):
            (one, more), (two, less) = stages(first), stages(second)
            return one + two, more + less + 1
        case Leaf():
            return [], 0


@pytest.fixture(scope="module", autouse=True)
def _few_maxima():
    """Sieves for networks in which splits alone would do."""
    with pytest.MonkeyPatch.context() as patched:
        set_numbers(patched, DEFAULT.branching, small_round=1)
        yield


@pytest.fixture
def sieves(monkeypatch):
    """What each run of a sieve began with, every sieve on its way, and what it ended with."""
    seen = []
    run, first, sifted = (
        root.prove_by_fixing,
        tuple_fixing._singleton_groups,
        tuple_groups.TupleState.fixed,
    )

    def recorded(form, batch, dual, normalised, *rest):
        seen.append(
            SimpleNamespace(
                first=first(form, batch, dual, normalised),
                way=[],
                tree=None,
                normalised=normalised,
            )
        )
        seen[-1].tree = run(form, batch, dual, normalised, *rest)
        return seen[-1].tree

    def kept(self):
        left = sifted(self)
        seen[-1].way.append((self, left))
        return left

    monkeypatch.setattr(root, "prove_by_fixing", recorded)
    monkeypatch.setattr(tuple_groups.TupleState, "fixed", kept)
    return seen


# --- answers ---


@pytest.mark.parametrize("above", [0.05, 0.6, -0.02])
@pytest.mark.parametrize("seed", range(6))
def test_answers_are_those_of_a_mixed_integer_program(seed, above, sieves):
    form, _ = asked(seed, above, classes=2 + seed % 2)
    free = np.ones((1, LENGTH), dtype=bool)
    answer = decide(form, free, Budget(60))[0]
    exact = MilpOracle(form.problem).ask(free, Budget(120))[0]
    assert type(answer) is type(exact)
    assert isinstance(answer, Proved | Refuted)


def test_most_of_these_questions_take_a_sieve_and_some_a_split(sieves):
    for seed in range(8):
        decide(asked(seed, 0.6)[0], np.ones((1, LENGTH), dtype=bool), Budget(60))
    proofs = [stages(run.tree) for run in sieves if run.tree is not None]
    assert len(proofs) >= 4
    assert any(splits for _, splits in proofs)
    assert any(len(group) > 1 for found, _ in proofs for stage in found for group in stage.groups)


@pytest.mark.parametrize("seed", range(8))
def test_who_wins_where_the_label_is_lost_is_never_sifted_out(seed, sieves):
    form, points = asked(seed, -0.4)
    lost = points[form.problem.margins(points).min(-1) <= 0]
    assert len(lost)
    inputs = input_sets_of(form, np.ones((1, LENGTH), dtype=bool))
    per_node = tuple_fixing.subproblems_per_node(DEFAULT.joint_maxpool)
    budget = Budget(60, per_node // 2)  # one part, without splits
    quiet = BranchRun.of(
        form, inputs, [[0]], 1.0, lambda _, points, __: [None] * len(points), budget
    )
    loop.evaluate(unit_branching.UnitBranching(quiet), [query.roots[0] for query in quiet.queries])
    root.fix_tuples(quiet)
    (run,) = sieves
    assert run.tree is None
    above = run.normalised.plane_problem.upper
    flat = lost.reshape(len(lost), -1)
    values = np.asarray(form.steps[0].apply(flat))[:, above.units]
    who = above.groups.best(values)
    for _, left in run.way:
        for group in left.tuple_groups:
            assert {*map(tuple, who[:, list(group.maxima)].tolist())} <= {
                *map(tuple, group.winners.tolist())
            }
    assert run.way[-1][1].tuple_count < run.way[-1][0].tuple_count or len(
        run.way[-1][1].tuple_groups
    ) < len(run.first.tuple_groups)


# --- proofs ---


def cnn_and_text(seed):
    """Of such networks and texts, some need a sieve: which ones depends on attacks, and on how a
    machine rounds.
    """
    classifier = text_cnn(seed, filters=14, width=3, classes=2 + seed % 2)
    return classifier, " ".join(np.random.default_rng(seed).permutation(WORDS)[:6])


def sieving(certificate):
    return [i for i, line in enumerate(certificate.lines) if "sieve" in line]


@pytest.fixture(scope="module")
def proved():
    """A classifier and a certificate with sieves and splits, of an answer with words."""
    for seed in range(100):
        classifier, text = cnn_and_text(seed)
        found = sf.explain(classifier, text, perturbation=sf.KNNBox(2), seconds=30)
        splits = any("split" in line for line in found.certificate.lines)
        if found.positions and splits and sieving(found.certificate):
            return classifier, found
    raise AssertionError("no such question is left: make them harder")


def test_both_checkers_accept_and_the_answer_is_that_without_sieves(monkeypatch, tmp_path):
    used = 0
    for seed in range(100):
        classifier, text = cnn_and_text(seed)
        found = sf.explain(classifier, text, perturbation=sf.KNNBox(2), seconds=30)
        with monkeypatch.context() as patched:
            patched.setattr(unit_branching, "fix_tuples", lambda run: None)
            plain = sf.explain(classifier, text, perturbation=sf.KNNBox(2), seconds=30)
        assert found.status == plain.status == "optimal"
        assert (found.cost, found.lower_bound) == (plain.cost, plain.lower_bound)
        both_accept(found.certificate, classifier, tmp_path)
        used += bool(sieving(found.certificate))
        if seed >= 8 and used >= 2:
            return
    raise AssertionError("no such questions are left: make them harder")


BUGS = {
    "reaches are too low": (
        "_l1_distances",
        lambda weights, row: 0.7 * np.abs(weights - row).sum(-1),
    ),
    "lines forget their rows": ("_l1_distances", lambda weights, row: np.abs(weights).sum(-1)),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_in_the_prover_is_found_by_the_checker(bug, monkeypatch):
    monkeypatch.setattr(tuple_groups, *BUGS[bug])
    assert any(refused(*cnn_and_text(seed), sf.KNNBox(2)) for seed in range(20))


def test_choices_that_are_dropped_without_a_reason_are_found_by_the_checker(monkeypatch):
    monkeypatch.setattr(tuple_groups.TupleState, "gap", property(lambda self: 0.3 * -self.bound))
    assert any(refused(*cnn_and_text(seed), sf.KNNBox(2)) for seed in range(20))


def spoiled(stage):
    """Stages that make no sense, by what is wrong with them."""
    groups = stage["bundles"]
    yield "a part is missing", {**stage, "bundles": groups[1:]}
    yield "a part is there twice", {**stage, "bundles": [[*groups[0], *groups[0]], *groups[1:]]}
    yield "a bundle of nothing", {**stage, "bundles": [*groups, []]}
    yield "a part that is none", {**stage, "bundles": [[10**6], *groups[1:]]}
    yield (
        "parts that are no whole numbers",
        {**stage, "bundles": [[float(groups[0][0])], *groups[1:]]},
    )
    yield "bundles that are no lists", {**stage, "bundles": {"0": groups}}
    yield "too few rows", {**stage, "rows": {"f4": stage["rows"]["f4"][:8]}}
    yield "words that are none", {**stage, "words": [*stage["words"], 99]}
    yield "too few slopes", {**stage, "alpha": {"f4": stage["alpha"]["f4"][:8]}}
    yield "another key", {**stage, "more": 1}


def test_sparse_weights_are_sieved_as_others_are(monkeypatch):
    monkeypatch.setattr(step, "SPARSE_SIZE", 1)
    monkeypatch.setattr(step, "SPARSE_DENSITY", 1.0)
    for seed in range(100):
        classifier, text = cnn_and_text(seed)
        assert step.is_sparse(classifier.network.steps[0].weight)
        found = sf.explain(classifier, text, perturbation=sf.KNNBox(2), seconds=30)
        sf.check(found.certificate, classifier)
        if sieving(found.certificate):
            return
    raise AssertionError("no such question is left: make them harder")


def test_both_checkers_refuse_sieves_that_make_no_sense(proved, tmp_path):
    classifier, found = proved
    classifier.save(tmp_path / "model")
    model = check_exact.load(tmp_path / "model")
    for place in sieving(found.certificate)[:3]:
        for what, stage in spoiled(found.certificate.lines[place]["sieve"]):
            lines = copy.deepcopy(list(found.certificate.lines))
            lines[place] = {"sieve": stage}
            assert not accepts(sf.check, SimpleNamespace(lines=lines), classifier), what
            assert not accepts(check_exact.check, lines, model), what


def test_a_proof_without_one_of_its_sieves_is_no_proof(proved, tmp_path):
    classifier, found = proved
    classifier.save(tmp_path / "model")
    model = check_exact.load(tmp_path / "model")
    refusals = 0
    for place in sieving(found.certificate):
        lines = [line for i, line in enumerate(found.certificate.lines) if i != place]
        accepted = accepts(sf.check, SimpleNamespace(lines=lines), classifier)
        assert accepted == accepts(check_exact.check, lines, model)
        refusals += not accepted
    assert refusals


def accepts(check, certificate, model):
    try:
        check(certificate, model)
    except (sf.Rejected, check_exact.Reject):
        return False
    return True


@pytest.mark.parametrize("seed", range(6))
def test_no_lines_whatever_prove_what_is_false(seed, proved, tmp_path):
    """That fewer words suffice, by random lines: winners at a real flip are never dropped."""
    classifier, found = proved
    classifier.save(tmp_path / "model")
    model = check_exact.load(tmp_path / "model")
    rng = np.random.default_rng(seed)
    head, *rest = copy.deepcopy(list(found.certificate.lines))
    head["claim"] = {"kind": "sufficient", "positions": list(found.positions)[1:]}
    lines = [head, *rest[: rest.index({"prove": "cheapest"})]]
    for place in sieving(SimpleNamespace(lines=lines)):
        lines[place]["sieve"]["rows"] = shaken(lines[place]["sieve"]["rows"], rng)
    with pytest.raises(sf.Rejected, match="bound of this leaf"):
        sf.check(SimpleNamespace(lines=lines), classifier)
    with pytest.raises(check_exact.Reject, match="bound of this leaf"):
        check_exact.check(lines, model)


def shaken(rows, rng):
    """The rows as they are, changed a little, or anything."""
    values = np.frombuffer(base64.b64decode(rows["f4"]), "f4")
    noise = rng.choice([0.0, 0.1, 10.0]) * rng.standard_normal(len(values))
    return array(values * rng.choice([0.0, 1.0, 1.0]) + noise, "f4")


def test_exported_questions_do_not_miss_what_a_sieve_closes(proved, tmp_path):
    pytest.importorskip("onnx")
    classifier, found = proved
    done = export(found.certificate, classifier, tmp_path / "out")
    leaves = {
        f"line-{i + 1:06d}" for i, line in enumerate(found.certificate.lines) if "leaf" in line
    }
    told = {one.name for one in done.skipped} | {Path(one.vnnlib).stem for one in done.instances}
    assert any("sieve" in found.certificate.lines[i - 1] for i in map(_number, leaves & told))
    assert leaves <= told


def _number(name):
    """The place of a line by its name."""
    return int(name.split("-")[1]) - 1

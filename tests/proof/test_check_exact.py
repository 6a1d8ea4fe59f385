"""The second checker: rational numbers, one file, written from the document; it agrees with the
first on everything.
"""

from __future__ import annotations

import ast
import itertools
import json
import shutil
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_check as written
import test_claims as claims
from helpers import make_classifier
from test_smooth import smooth, text_of

import suffice as sf
from suffice.model.classifier import Classifier
from suffice.model.network import Conv1d, Dense, MaxPool, Network, Relu, Step, Transpose
from suffice.proof import check_exact as exact
from suffice.proof.check import check, inputs
from suffice.proof.check.sets import CHOICES
from suffice.verify.contract import Proved

MUTANTS = 1500
SEEDS = 12
FILE = Path(exact.__file__)
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A classifier as the second checker reads it from its folder."""
    known: dict[str, exact.Model] = {}

    def model(classifier: Classifier) -> exact.Model:
        if classifier.digest not in known:
            folder = tmp_path_factory.mktemp("model")
            classifier.save(folder)
            known[classifier.digest] = exact.load(folder)
        return known[classifier.digest]

    return model


def first(lines: Lines, classifier: Classifier) -> bool:
    try:
        check(written.pack(lines), classifier)
    except (sf.Rejected, sf.NotACertificate):
        return False
    return True


def second(lines: Lines, model: exact.Model) -> bool:
    try:
        exact.check(written.pack(lines), model)
    except (exact.Reject, exact.Unreadable):
        return False
    return True


def differences(
    given: Iterator[tuple[str, Classifier, Lines]], models: Any, seen: Counter[bool]
) -> Iterator[str]:
    for name, classifier, lines in given:
        answer = first(lines, classifier)
        seen[answer] += 1
        if answer != second(lines, models(classifier)):
            yield name


@cache
def other_sources(seeds: int) -> list[written.Source]:
    """Flips, all sets and the rest by the verbs: over every kind of set, with limits on changes,
    and with maxima.
    """
    return [
        source for seed in range(seeds) for kind in written.SETS for source in answers(kind, seed)
    ]


def answers(kind: str, seed: int) -> Iterator[written.Source]:
    rng = np.random.default_rng([seed, 1, *map(ord, kind)])
    classifier = written.small_classifier(rng, 3, 2, whole=seed % 2 == 0)
    classifier = classifier if seed % 3 else pooled(classifier, rng)
    text = rng.permutation(written.WORDS)[:3].tolist()
    chosen = written.small_set(kind, rng, classifier.embed(classifier.read(text)))
    chosen = replace(chosen, at_most=int(rng.integers(1, 3))) if seed % 4 < 2 else chosen
    costs = {word: float(rng.integers(1, 4)) for word in written.WORDS}
    asked: dict[str, Any] = {"perturbation": chosen, "seconds": 20}
    every = sf.explain_all(classifier, text, cost=costs, **asked)
    listed = list(every)
    found = [
        *(one.certificate for one in listed),
        every.certificate,
        sf.contrast(classifier, text, cost=costs, **asked).certificate,
        sf.contrast(classifier, text, towards=other_label(classifier, text), **asked).certificate,
        sf.bias(classifier, text, text[:1], **asked).certificate,
    ]
    for certificate in filter(None, found):
        yield written.Source(
            f"{kind} {seed}", classifier, json.loads(json.dumps(list(certificate.lines)))
        )


def pooled(classifier: Classifier, rng: np.random.Generator) -> Classifier:
    """The classifier with another network: maxima over time."""
    size = classifier.table.shape[1]
    filters = int(rng.integers(1, 4))
    kernel = Conv1d(rng.standard_normal((filters, size, 1)), rng.standard_normal(filters) / 2)
    last = Dense(
        rng.standard_normal((len(classifier.labels), filters)),
        rng.standard_normal(len(classifier.labels)),
    )
    network = Network.build(
        [Transpose(), kernel, *([Relu()] * (filters % 2)), MaxPool(), last], (3, size)
    )
    return replace(classifier, network=network)


def other_label(classifier: Classifier, text: list[str]) -> str:
    return next(label for label in classifier.labels if label != classifier.predict(text).label)


def by_claim(seeds: int) -> Iterator[tuple[str, Classifier, Lines]]:
    """Flips, all sets and cheapest sets with and without at_most, and the same with claims that are
    false.
    """
    for case in claims.cases(seeds):
        everything = set(range(case.length))
        found = claims.explanations(case)
        for held in found[:1]:
            made = {
                "cheapest": claims.cheapest_lines(case, held, case.cost(held)),
                "cheapest, too much": claims.cheapest_lines(
                    case, sorted(everything), case.cost(held) + 1
                ),
                "all": claims.all_lines(case, found),
                "all but one": claims.all_lines(case, found[1:] or [sorted(everything)]),
            }
            yield from (
                (f"{name} {case.data}", case.classifier, lines) for name, lines in made.items()
            )
        flips = sorted(
            case.flips(everything), key=lambda flip, case=case: case.cost(case.changed(flip[0]))
        )
        best = case.cost(case.changed(flips[0][0])) if flips else case.cost(everything) + 1
        yield (
            f"flip {case.data}",
            case.classifier,
            claims.flip_lines(case, flips[0] if flips else None, best),
        )
        yield (
            f"flip, too much {case.data}",
            case.classifier,
            claims.flip_lines(case, None, best + 1),
        )


def test_both_accept_every_certificate_of_the_prover(models):
    every = [*written.sources(12), *other_sources(SEEDS)]
    for source in every:
        assert first(source.lines, source.classifier)
        assert second(source.lines, models(source.classifier)), source.name
    kinds = Counter(source.lines[0]["claim"]["kind"] for source in every)
    assert kinds.keys() == {
        "sufficient",
        "independent",
        "cheapest",
        "infeasible",
        "refuted",
        "flip",
        "all",
    }
    assert sum(kinds.values()) > 300
    assert min(kinds[kind] for kind in ("flip", "all", "cheapest")) > 30
    limited = [source for source in every if "at_most" in source.lines[0]["perturbation"]]
    with_maxima = [s for s in every if any(step.maxima for step in s.classifier.network.steps)]
    assert min(len(limited), len(with_maxima)) > 50


def touching() -> Classifier:
    """Whole numbers, so that bounds of relus touch zero exactly: for doubles they cross it by a
    hair.
    """
    steps = [
        ([[0, -1, 1, -1, -1, 1], [2, -2, 1, 2, -1, 1]], [1, -0.5]),
        ([[1, 2], [2, 2]], [0, -0.5]),
        (2.0**100 * np.array([[0, 1], [0, -1], [2, 1]]), [0, 0, 2.0**100]),
    ]
    table = [[0, -1], [-1, -1], [2, 2], [-2, 0]]
    network = Network.dense(
        [(np.array(weight, dtype=float), np.array(bias, dtype=float)) for weight, bias in steps]
    )
    return Classifier(
        network, np.array(table, dtype=float), ["<PAD>", "<UNK>", "a", "b"], ["x", "y", "z"], 3
    )


def test_a_relu_that_only_one_of_them_finds_stable_gets_the_slope_that_was_chosen(models):
    perturbation = sf.WordSwap({"a": ["b"]}, at_most=2)
    answer = sf.is_robust(touching(), ["other", "a", "other"], [], perturbation=perturbation)
    assert isinstance(answer, Proved)
    lines = list(answer.certificate.lines)
    assert first(lines, touching())
    assert second(lines, models(touching()))


def test_a_relu_that_cannot_be_below_zero_is_bounded_by_lines_too(models):
    """2 relu(x) + 2 relu(y) touches zero by intervals; where both are split on, lines say that it
    is above.
    """
    steps = [
        ([[-2, 2, -2, 2, -2, -1, -2, 0], [0, -2, 1, -1, 1, -2, 0, 2]], [0.5, 1]),
        ([[-2, 0], [2, 2]], [1, 0]),
        ([[-2, -2], [1, 1], [-1, -2]], [0, 0.5, 0.5]),
    ]
    table = [[0, 1], [1, -1], [0, -2], [-1, -2], [-2, 0], [-2, -2], [1, 2], [0, 2]]
    network = Network.dense(
        [(np.array(weight, dtype=float), np.array(bias, dtype=float)) for weight, bias in steps]
    )
    words = ["<PAD>", "<UNK>", *(f"w{i}" for i in range(6))]
    classifier = Classifier(network, np.array(table, dtype=float), words, ["x", "y", "z"], 4)
    chosen = sf.RemoveOrSwap({"w1": ["w2", "w4"], "w0": ["w2"]})
    answer = sf.is_robust(classifier, ["w1", "w1", "w0", "w0"], [], perturbation=chosen)
    assert isinstance(answer, Proved)
    lines = list(answer.certificate.lines)
    assert first(lines, classifier)
    assert second(lines, models(classifier))


@pytest.mark.parametrize("seed", range(5))
def test_both_accept_proofs_over_whole_numbers_where_bounds_touch_and_tie(seed, models):
    rng = np.random.default_rng(seed)

    def numbers(*shape: int) -> Any:
        return rng.integers(-2, 3, shape).astype(float)

    layers = [(numbers(b, a), numbers(b) / 2) for a, b in itertools.pairwise([6, 3, 3, 3, 2])]
    words = ["<PAD>", "<UNK>", "a", "b", "c", "d"]
    classifier = Classifier(Network.dense(layers), numbers(6, 2), words, ["yes", "no"], 3)
    for text in itertools.product("abc", repeat=3):
        answer = sf.explain(
            classifier, list(text), perturbation=sf.WordSwap({"a": ["d", "b"], "c": ["a"]})
        )
        assert "rejected" not in answer.meta
        if answer.certificate is not None:
            assert second(list(answer.certificate.lines), models(classifier)), text


@pytest.mark.parametrize("power", [-300, -60, 60, 100])
def test_balls_of_the_2_norm_are_checked_beside_weights_of_any_size(power, models):
    """A root that is rounded up by a fixed amount would be far too large for tiny weights."""
    last = np.ldexp([[1.0, 2.0, -1.0, 0.5], [0.0, 0.0, 0.0, 0.0]], power)
    network = Network.dense([(last, np.ldexp([3.0, 0.0], power))])
    table = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.5], [0.25, 1.0]])
    classifier = Classifier(network, table, ["<PAD>", "<UNK>", "a", "b"], ["yes", "no"], 2)
    answer = sf.is_robust(classifier, ["a", "b"], [], perturbation=sf.EpsilonBall(0.5, 2))
    assert isinstance(answer, Proved)
    lines = list(answer.certificate.lines)
    assert first(lines, classifier)
    assert second(lines, models(classifier))


def test_weights_of_units_that_a_maximum_leaves_at_zero_do_not_count(models):
    """The last step takes something of every unit of a maximum, but only the first
    gives anything.
    """
    group = (np.arange(3),)
    nothing = np.zeros(3, dtype=bool)
    for first_ in (1.0, -1.0):
        steps = (
            Step(np.eye(3), np.zeros(3), nothing, (), group),
            Step(
                np.array([[first_, 5.0, -7.0], [0.0, 0.0, 0.0]]), np.array([2.5, 0.0]), nothing[:2]
            ),
        )
        table = np.array([[0.0], [0.0], [1.0], [2.0], [-1.0]])
        classifier = Classifier(
            Network(steps), table, ["<PAD>", "<UNK>", "a", "b", "c"], ["yes", "no"], 3
        )
        for text in itertools.product("abc", repeat=3):
            answer = sf.is_robust(classifier, list(text), [], perturbation=sf.EpsilonBall(0.4))
            assert isinstance(answer, Proved), text
            head, *proof = answer.certificate.lines
            for eps in (0.4, 0.6):  # the margin is 2.5 less the largest word, or more
                lines = [
                    {**head, "perturbation": {"kind": "epsilon-ball", "eps": eps, "p": "inf"}},
                    *proof,
                ]
                true = eps == 0.4 or first_ > 0 or "b" not in text
                assert (first(lines, classifier), second(lines, models(classifier))) == (
                    true,
                    true,
                ), (text, eps)


def test_both_say_the_same_of_mutants(models):
    seen: Counter[bool] = Counter()
    assert list(differences(written.mutants(5, MUTANTS, written.sources(12)), models, seen)) == []
    more = written.mutants(6, MUTANTS, other_sources(SEEDS), written.MORE_MUTATIONS)
    assert list(differences(more, models, seen)) == []
    assert min(seen.values()) > 600


def plainly(lines: Lines) -> Lines:
    """Without the lines that leaves chose: bad ones hide from the second checker what sums say."""

    def plain(line: Any) -> Any:
        leaf = line.get("leaf") if isinstance(line, dict) else None
        return {**line, "leaf": {**leaf, "alpha": None}} if isinstance(leaf, dict) else line

    return list(map(plain, lines))


def test_what_the_first_does_for_large_networks_is_the_same(models, monkeypatch):
    """What points add is worked out once, and sums decide leaves: on small networks the second one
    can follow.
    """
    monkeypatch.setattr(inputs, "LARGE_WEIGHT", 0)
    monkeypatch.setattr(inputs, "DIMENSION_FACTOR", 0)
    seen: Counter[bool] = Counter()
    every = [*written.sources(12), *other_sources(SEEDS)][::3]
    of_words = [source for source in every if source.lines[0]["perturbation"]["kind"] in CHOICES]
    given = ((source.name, source.classifier, source.lines) for source in of_words)
    assert list(differences(given, models, seen)) == []
    plain = (
        (name, model, plainly(lines))
        for name, model, lines in written.mutants(7, MUTANTS // 5, of_words)
    )
    assert list(differences(plain, models, seen)) == []
    assert list(differences(by_claim(1), models, seen)) == []
    assert min(seen.values()) > 50


def test_both_say_the_same_of_every_kind_of_claim(models):
    seen: Counter[bool] = Counter()
    assert list(differences(by_claim(4), models, seen)) == []
    assert min(seen.values()) > 50


def test_both_say_the_same_of_certificates_written_by_hand(models):
    """One value at a time becomes absurd."""
    seen: Counter[bool] = Counter()

    def changed() -> Iterator[tuple[str, Classifier, Lines]]:
        for lines, classifier in written.hand_written():
            paths = list(written.places(lines))
            for path, value in itertools.product(paths, written.HOSTILE_VALUES):
                if (path[-1], value) != (
                    "eps",
                    2**70,
                ):  # true, but beside such numbers doubles prove nothing
                    yield f"{path} {value!r}", classifier, written.put(lines, path, value)

    assert list(differences(changed(), models, seen)) == []
    assert seen[False] > 1000


@pytest.mark.parametrize("name", written.NO_CERTIFICATES)
def test_what_is_no_certificate_for_one_is_none_for_the_other_and_fills_no_memory(name, models):
    model = models(written.hat(0.1))
    tracemalloc.start()
    try:
        with pytest.raises((exact.Unreadable, exact.Reject)):
            exact.check(written.NO_CERTIFICATES[name], model)
        assert tracemalloc.get_traced_memory()[1] < 150e6
    finally:
        tracemalloc.stop()


# --- bugs in either would show ---


@pytest.mark.parametrize(
    ("place", "name", "bug"),
    [
        (exact, "down", lambda value: value + 1),
        (exact, "knapsack", lambda gains, costs, budget: Fraction(0)),
        (exact.Leaf, "holds", lambda *_: True),
        (exact.Word, "holds", lambda *_: True),
        (exact, "relu_lines", lambda *_: exact.SAME),
        (exact.Inputs, "least", lambda self, row: Fraction(1)),
        (exact.Check, "counterexample", lambda *_: None),
    ],
)
def test_a_bug_in_the_second_checker_is_a_difference(place, name, bug, models, monkeypatch):
    monkeypatch.setattr(place, name, bug)
    given = itertools.chain(written.mutants(5, MUTANTS, written.sources(12)), by_claim(6))
    assert next(differences(given, models, Counter()), None) is not None


# --- one file that stands alone ---


def test_it_uses_the_standard_library_only_and_no_floats_but_for_reading():
    tree = ast.parse(FILE.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names
    floats = [
        n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, float)
    ]
    assert {n.value for n in floats} == {0.0}  # of a matrix, and where a distance starts


@pytest.fixture
def alone(tmp_path: Path) -> Any:
    """The file copied out, run by a Python that sees nothing else."""
    shutil.copy(FILE, tmp_path / "check_exact.py")

    def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-S", "check_exact.py", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    return run


def test_copied_out_it_accepts_rejects_refuses_and_says_what_it_does_not_check(alone, tmp_path):
    source = next(s for s in written.sources(12) if s.lines[0]["claim"]["kind"] == "cheapest")
    source.classifier.save(tmp_path / "model")
    (tmp_path / "good.cert").write_bytes(written.pack(source.lines))
    (tmp_path / "bad.cert").write_bytes(written.pack(source.lines[:-1]))
    (tmp_path / "none.cert").write_bytes(b"nothing")
    accepted = alone("good.cert", "model")
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    assert '"kind": "cheapest"' in accepted.stdout
    assert alone("bad.cert", "model").returncode == 1
    assert alone("none.cert", "model").returncode == 2
    assert alone("good.cert", "nowhere").returncode == 2
    smooth("tanh", 0).save(tmp_path / "smooth")
    (tmp_path / "asked.cert").write_bytes(written.pack([{"certificate": "asked 2"}]))
    asked = alone("asked.cert", "model")
    assert (asked.returncode, "not checked by this one" in asked.stdout) == (3, True)
    curved = alone("good.cert", "smooth")
    assert (curved.returncode, "not checked by this one" in curved.stdout) == (3, True)


def test_a_folder_whose_files_were_changed_is_refused(tmp_path):
    classifier = written.both()
    classifier.save(tmp_path)
    assert exact.load(tmp_path).head["digest"] == classifier.digest
    words = (tmp_path / "vocabulary.txt").read_text(encoding="utf-8")
    (tmp_path / "vocabulary.txt").write_text(words.replace("a\n", "c\n"), encoding="utf-8")
    with pytest.raises(exact.Unreadable, match="digest"):
        exact.load(tmp_path)


@pytest.mark.parametrize(
    "changed",
    [
        {"labels": ["yes", "no", "no"]},
        {"labels": ["yes", "no"]},
        {"length": 1},
        {"length": 3},
        {"relu": [[0], [0]]},
    ],
)
def test_a_folder_that_is_no_classifier_is_refused_whatever_its_digest(changed, tmp_path):
    """Two labels of one name, or fewer than scores: a proof against each name would leave a score
    out.
    """
    network = Network.dense([([[1.0, 1.0]], [0.0]), ([[1.0], [0.0], [2.0]], [1.0, 0.0, 0.0])])
    table = np.array([[0.0], [0.0], [1.0]])
    Classifier(network, table, ["<PAD>", "<UNK>", "a"], ["yes", "no", "both"], 2).save(tmp_path)
    exact.load(tmp_path)
    head = {**json.loads((tmp_path / "classifier.json").read_text(encoding="utf-8")), **changed}
    tensors = exact.safetensors((tmp_path / "weights.safetensors").read_bytes())
    weights = [exact.matrix(tensors, f"step{k}.weight") for k in range(2)]
    biases = [tensors[f"step{k}.bias"][1] for k in range(2)]
    head["digest"] = exact.digest(
        head, "", ["<PAD>", "<UNK>", "a"], tensors["embedding"], weights, biases
    )
    (tmp_path / "classifier.json").write_text(json.dumps(head), encoding="utf-8")
    with pytest.raises(exact.Unreadable, match=r"fit together|must be different|activation"):
        exact.load(tmp_path)


@pytest.mark.parametrize("name", ["sst-fc25", "trec-fc15", "sst-cnn25"])
def test_it_reads_the_bundled_models(name):
    classifier = sf.load(name)
    folder = Path(sf.__file__).parent / "models" / name
    model = exact.load(folder)
    assert model.head["digest"] == classifier.digest
    vectors = classifier.embed(classifier.read("a gorgeous movie ."))
    scores = model.scores([exact.exact(row) for row in vectors.tolist()])
    assert np.allclose([float(score) for score in scores], classifier.network.forward(vectors))


def test_sparse_weights_have_the_same_digest_in_both(tmp_path):
    """Large and mostly zero, so that they are kept and summed up as rows of entries."""
    rng = np.random.default_rng(0)
    wide = np.where(rng.random((520, 500)) < 0.02, rng.normal(size=(520, 500)), 0.0)
    network = Network.dense(
        [(wide, rng.normal(size=520)), (rng.normal(size=(2, 520)), np.zeros(2))]
    )
    table = rng.normal(size=(4, 5))
    classifier = Classifier(network, table, ["<PAD>", "<UNK>", "a", "b"], ["yes", "no"], 100)
    classifier.save(tmp_path)
    assert not isinstance(classifier.network.steps[0].weight, np.ndarray)
    assert exact.load(tmp_path).head["digest"] == classifier.digest


def test_a_certificate_of_a_bundled_model_is_accepted_by_both():
    classifier = sf.load("trec-fc15")
    result = sf.explain(classifier, "who wrote this ?", perturbation=sf.Deletion(), seconds=20)
    assert result.status == "optimal"
    model = exact.load(Path(sf.__file__).parent / "models" / "trec-fc15")
    assert exact.check(result.certificate.data, model)["claim"]["positions"] == list(
        result.positions
    )


def test_words_are_read_as_by_the_classifier(models):
    """Capitals, several pieces, accents: whatever one refuses the other does."""
    classifier = written.both()
    for word in ("a", "A", "b c", "é", "É", "x-y", "...", "", "<UNK>", "7", "nowhere", "İ"):
        lines = written.both_lines(classifier)
        lines[0] = {**lines[0], "text": [word, "b"]}
        assert first(lines, classifier) == second(lines, models(classifier)), word


def test_rounding_is_to_the_safe_side():
    rng = np.random.default_rng(0)
    for _ in range(200):
        value = Fraction(int(rng.integers(-(10**9), 10**9)), int(rng.integers(1, 10**9))) ** 7
        assert exact.down(value) <= value <= exact.up(value)
        assert abs(exact.down(value) - value) <= abs(value) / 2**150
        assert exact.root_above(abs(value)) ** 2 >= abs(value)
    for power in (-900, -161, 0, 900):
        value = Fraction(3) * Fraction(2) ** power
        assert value <= exact.root_above(value) ** 2 <= value * (1 + Fraction(1, 2**150)), power
    assert exact.down(Fraction(0)) == exact.up(Fraction(0)) == exact.root_above(Fraction(0)) == 0


def test_smooth_networks_are_left_to_the_other(tmp_path):
    smooth("gelu", 1).save(tmp_path)
    assert (
        sf.is_robust(smooth("gelu", 1), text_of(1, 5), [0], perturbation=sf.Deletion()) is not None
    )
    with pytest.raises(exact.NotForThis):
        exact.load(tmp_path)
    assert json.loads((tmp_path / "classifier.json").read_text(encoding="utf-8"))["curves"]


def test_a_text_with_half_a_letter_is_printed(monkeypatch, tmp_path, capsys):
    head = {
        "model": "0" * 64,
        "text": ["\ud83d", "é"],
        "label": "a",
        "perturbation": {},
        "features": [0],
        "claim": {},
    }
    monkeypatch.setattr(exact, "check", lambda *_: head)
    monkeypatch.setattr(exact, "load", lambda _: None)
    (tmp_path / "proof.cert").write_bytes(b"")
    assert exact.main([str(tmp_path / "proof.cert"), str(tmp_path)]) == 0
    assert '["\\ud83d", "é"]' in capsys.readouterr().out


class Ticks:
    """A clock that goes on by one second whenever it is looked at."""

    def __init__(self) -> None:
        self.now = 0

    def monotonic(self) -> int:
        self.now += 1
        return self.now


@pytest.mark.parametrize("kind", ["boxes", "knn-hull", "word-swap"])
def test_a_time_limit_stops_the_check_anywhere_and_accepts_nothing(kind, models, monkeypatch):
    """However much of the time is given, the answer is that of a check with all of it, or none."""
    source = next(
        source
        for source in other_sources(SEEDS)
        if source.name.startswith(kind) and len(source.lines) > 2
    )
    model = models(source.classifier)
    answers = Counter[bool]()
    seconds = 1
    while not answers[True]:
        monkeypatch.setattr(exact, "time", Ticks())
        try:
            exact.check(source.lines, model, seconds)
            answers[True] += 1
        except exact.TimeUp:
            answers[False] += 1
        seconds += 1
    # not only between lines: one alone may take hours
    assert answers[False] > 2 * len(source.lines)


def test_no_limit_is_left_over_from_a_check(models, monkeypatch):
    source = other_sources(SEEDS)[0]
    with pytest.raises(exact.TimeUp):
        exact.check(source.lines, models(source.classifier), 1e-9)
    exact.look()


def test_what_is_not_checked_in_time_is_neither_accepted_nor_rejected(alone, tmp_path):
    source = other_sources(SEEDS)[0]
    source.classifier.save(tmp_path / "model")
    (tmp_path / "proof.cert").write_bytes(written.pack(source.lines))
    done = alone("proof.cert", "model", "1e-9")
    said = "Not checked: line 1: not checked within 1e-09 seconds; a longer limit may do"
    assert (done.returncode, done.stdout.strip()) == (3, said)
    seconds = {"600": 0, "inf": 0, "0": 2, "-1": 2, "nan": 2, "soon": 2}
    assert {given: alone("proof.cert", "model", given).returncode for given in seconds} == seconds
    assert alone("proof.cert", "model", "5", "6").returncode == 2


def test_words_of_a_list_are_taken_as_they_are_by_both_checkers(models):
    classifier = make_classifier(5, length=6, dimension=2, hidden=(4,))
    for words in (
        ["'mr", "isn't", "+3", "word1"],
        ["WORD1", "word2", "...", "word3"],
        ["<PAD>", "word4", "<UNK>"],
    ):
        found = sf.explain(classifier, words, perturbation=sf.Deletion())
        assert found.status == "optimal"
        lines = json.loads(json.dumps(list(found.certificate.lines)))
        assert first(lines, classifier)
        assert second(lines, models(classifier))
        for wrong in ("two words", "", " "):
            lines[0]["text"][0] = wrong
            assert not first(lines, classifier)
            assert not second(lines, models(classifier))

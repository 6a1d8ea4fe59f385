"""Exported questions: Marabou answers the written files as expected, and what is written is what
the leaves say.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cases import NETWORKS, make_case
from helpers import make_classifier, make_text

import suffice as sf
from suffice.cli import main
from suffice.errors import InputError, MissingExtra, NotACertificate, Rejected
from suffice.model.classifier import Classifier
from suffice.model.network import Floats, Network, Step
from suffice.proof.certificate import array
from suffice.proof.export import Exported, export
from suffice.proof.export.onnx import graph_of
from suffice.proof.export.questions import Attacked

pytest.importorskip("onnx")
needs_marabou = pytest.mark.skipif(
    importlib.util.find_spec("maraboupy") is None, reason="needs maraboupy"
)
REPLAY = Path(__file__).parents[1] / "marabou_replay.py"
LEAF = {"leaf": {"alpha": None, "beta": {}}}
SWAPS = {f"word{i}": [f"word{(i + 1) % 8}", f"word{(i + 3) % 8}"] for i in range(8)}
HULL = "a hull of words is no box, and VNN-LIB tools take boxes of inputs only"


# --- other readers of the files ---


def marabou(*folders: Path) -> list[dict[str, str]]:
    """What Marabou says of each question of each folder, in a process of its own."""
    command = [sys.executable, "-P", str(REPLAY), *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answers: dict[str, dict[str, str]] = {str(folder): {} for folder in folders}
    for line in done.stdout.splitlines():
        folder, vnnlib, answer = line.split("\t")
        answers[folder][vnnlib] = answer
    return list(answers.values())


def outputs(path: Path, inputs: Floats) -> Floats:
    """Y at rows of X, by onnxruntime."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(["Y"], {"X": row[None]})[0] for row in inputs])


def parsed(text: str) -> list[Any]:
    """Nested lists of an S-expression file."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", re.sub(r";.*", "", text)):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    (found,) = stack
    return found


def meets(term: Any, values: dict[str, float], slack: float = 1e-9) -> bool:
    """Whether values meet a constraint, up to rounding."""
    head, *rest = term
    if head in ("and", "or"):
        return (all if head == "and" else any)(meets(part, values, slack) for part in rest)
    left, right = (values[side] if side in values else float(side) for side in rest)
    return left <= right + slack if head == "<=" else left >= right - slack


def claims(folder: Path, vnnlib: str) -> tuple[list[Any], Any]:
    """The constraints that say where one looks, and the last one, which says what may
    not be there.
    """
    *where, last = [
        line[1]
        for line in parsed((folder / vnnlib).read_text(encoding="utf-8"))
        if line[0] == "assert"
    ]
    return where, last


def looked_at(done: Exported, network: str, rows: Floats) -> list[int]:
    """How many questions about a network look at each row of X."""
    results = outputs(done.folder / network, rows)
    counts = []
    for x, y in zip(rows, results, strict=True):
        values = {
            f"{name}_{i}": float(v) for name, row in (("X", x), ("Y", y)) for i, v in enumerate(row)
        }
        mine = [claims(done.folder, one.vnnlib)[0] for one in done.instances if one.onnx == network]
        counts.append(sum(all(meets(term, values) for term in where) for where in mine))
    return counts


# --- certificates ---


def explained(seed: int, perturbation: Any, **more: Any) -> tuple[Classifier, sf.Explanation]:
    classifier = make_classifier(seed, hidden=(8, 6))
    return classifier, sf.explain(classifier, make_text(seed), perturbation=perturbation, **more)


def handmade(
    classifier: Classifier, text: Sequence[str], perturbation: Any, claim: Any, *evidence: Any
) -> SimpleNamespace:
    """A certificate of which nobody has checked anything."""
    head = {
        "certificate": 2,
        "model": classifier.digest,
        "text": list(classifier.read(list(text)).tokens),
        "perturbation": perturbation,
        "features": list(range(len(text))),
        "label": classifier.predict(list(text)).label,
        "claim": claim,
    }
    return SimpleNamespace(lines=(head, *evidence))


def one_leaf(
    classifier: Classifier, text: Sequence[str], perturbation: Any, held: Sequence[int]
) -> SimpleNamespace:
    """That `held` suffice, with a single leaf per rival."""
    label = classifier.predict(list(text)).label
    proofs = [
        ({"prove": "sufficient", "rival": name}, LEAF)
        for name in classifier.labels
        if name != label
    ]
    claim = {"kind": "sufficient", "positions": list(held)}
    return handmade(classifier, text, perturbation, claim, *itertools.chain(*proofs))


def texts(
    classifier: Classifier, text: Sequence[str], held: Sequence[int], at_most: int
) -> Iterator[Any]:
    """Every text that the swaps allow."""
    choices = [[word] if i in held else [word, *SWAPS[word]] for i, word in enumerate(text)]
    for made in itertools.product(*choices):
        if sum(a != b for a, b in zip(made, text, strict=True)) <= at_most:
            yield classifier.read(list(made))


# --- answers ---

KINDS = {
    "a ball with splits": (4, sf.EpsilonBall(0.8)),
    "boxes of neighbours": (10, sf.KNNBox(3)),
    "removal with picks": (4, sf.Deletion()),
    "swaps": (10, sf.WordSwap(SWAPS)),
    "removal or swap": (10, sf.RemoveOrSwap(SWAPS)),
}


def exported(folder: Path) -> list[Exported]:
    """All of these, as real certificates."""
    made = [explained(*question) for question in KINDS.values()]
    return [
        export(result.certificate, classifier, folder / str(i))
        for i, (classifier, result) in enumerate(made)
    ]


@needs_marabou
def test_marabou_agrees_with_every_question_of_real_certificates(tmp_path):
    all_done = exported(tmp_path)
    for done, answers in zip(all_done, marabou(*(done.folder for done in all_done)), strict=True):
        assert not done.skipped
        assert answers == {one.vnnlib: one.answer for one in done.instances}


def test_these_certificates_have_splits_restorations_and_several_texts(tmp_path):
    found = set()
    for done in exported(tmp_path):
        for one in done.instances:
            text = (done.folder / one.vnnlib).read_text(encoding="utf-8")
            found |= {"attacked"} if "attacked" in one.onnx else set()
            found |= {"several"} if "(or" in text else set()
            found |= {"split"} if re.search(r"Y_\d+ 0\.0", text) else set()
    assert found == {"attacked", "several", "split"}


@needs_marabou
def test_points_are_sat(tmp_path):
    classifier = make_classifier(0, hidden=(8, 6))
    text = make_text(0)
    perturbation = sf.EpsilonBall(3.0)
    result = sf.explain(classifier, text, perturbation=perturbation, exclude=list(range(len(text))))
    assert result.status == "infeasible"
    done = export(result.certificate, classifier, tmp_path / "out")
    assert [one.answer for one in done.instances] == ["sat", "sat"]
    assert set(marabou(done.folder)[0].values()) == {"sat"}


@needs_marabou
def test_marabou_says_of_claims_about_real_words_what_trying_every_text_says(tmp_path):
    folders = []
    truths = []
    for seed, held, at_most in itertools.product((1, 2), ((2, 3), (0, 1, 2)), (None, 1, 2)):
        classifier = make_classifier(seed, hidden=(6,), classes=3)
        text = [f"word{(seed + 2 * i) % 8}" for i in range(4)]
        data = {"kind": "word-swap", "swaps": SWAPS} | (
            {} if at_most is None else {"at_most": at_most}
        )
        folders.append(tmp_path / str(len(folders)))
        export(one_leaf(classifier, text, data, held), classifier, folders[-1])
        label = classifier.predict(text).label
        truths.append(
            all(
                classifier.predict(t).label == label
                for t in texts(classifier, text, held, at_most or 4)
            )
        )
    assert {*truths} == {True, False}
    for true, answers in zip(truths, marabou(*folders), strict=True):
        assert {*answers.values()} <= {"sat", "unsat"}
        assert ("sat" not in answers.values()) == true


@needs_marabou
def test_a_false_claim_about_boxes_is_sat_somewhere(tmp_path):
    """The certificate of an optimal set, altered so that it claims a word less."""
    classifier, result = explained(*KINDS["boxes of neighbours"])
    assert result.status == "optimal"
    assert result.positions
    shorter = one_leaf(
        classifier, make_text(10), {"kind": "knn-box", "k": 3}, sorted(result.positions)[1:]
    )
    done = export(shorter, classifier, tmp_path / "out")
    assert "sat" in marabou(done.folder)[0].values()


def restoring(certificate: Any, **changes: Any) -> tuple[SimpleNamespace, int]:
    """The certificate with other values in its first restoration, and whether there was one."""
    lines = list(certificate.lines)
    found = 0
    for place, line in enumerate(lines):
        if "restoration" in line and not found:
            lines[place] = {"restoration": {**line["restoration"], **changes}}
            found = 1
    return SimpleNamespace(lines=tuple(lines)), found


@needs_marabou
def test_a_restoration_that_may_restore_everything_is_sat(tmp_path):
    """With all words back the text is itself, and the label leads."""
    classifier, result = explained(*KINDS["boxes of neighbours"])
    altered, found = restoring(result.certificate, budget=100)
    assert found
    done = export(altered, classifier, tmp_path / "out")
    (answers,) = marabou(done.folder)
    wrong = [one.onnx for one in done.instances if answers[one.vnnlib] != one.answer]
    assert set(wrong) == {"onnx/attacked-000001.onnx"}


@needs_marabou
def test_marabou_reads_attacked_texts_as_the_classifier_does(tmp_path):
    """Nothing may be put back, so the answer is the label of the text with some words removed."""
    folders = []
    truths = []
    for seed, changed in itertools.product((8, 30, 62), ([0], [0, 1, 2], [1, 3])):
        classifier = make_classifier(seed, hidden=(6, 5))
        text = [f"word{(seed + 3 * i) % 8}" for i in range(4)]
        label = classifier.predict(text).label
        rival = next(name for name in classifier.labels if name != label)
        costs = {"costs": [1] * 4, "unit": "1", "include": [], "exclude": [], "cost": 4, "lower": 1}
        claim = {"kind": "cheapest", "positions": [0, 1, 2, 3], **costs}
        start = {"changed": changed, "vectors": array(np.tile(classifier.table[0], len(changed)))}
        restoration = {"restoration": {"start": start, "rival": rival, "budget": 0}}
        evidence = (
            {"prove": "sufficient", "rival": rival},
            LEAF,
            {"prove": "cheapest"},
            restoration,
            LEAF,
        )
        folders.append(tmp_path / str(len(folders)))
        export(
            handmade(classifier, text, {"kind": "deletion"}, claim, *evidence),
            classifier,
            folders[-1],
        )
        removed = ["<PAD>" if i in changed else word for i, word in enumerate(text)]
        truths.append("sat" if classifier.predict(removed).label == label else "unsat")
    assert {*truths} == {"sat", "unsat"}
    assert [answers["vnnlib/line-000006.vnnlib"] for answers in marabou(*folders)] == truths


@needs_marabou
def test_a_point_that_is_no_counterexample_is_unsat(tmp_path):
    classifier = make_classifier(0, hidden=(8, 6))
    text = make_text(0)
    label = classifier.predict(text).label
    rival = next(name for name in classifier.labels if name != label)
    claim = {"kind": "refuted", "positions": []}
    point = {"changed": [], "vectors": {"f8": ""}, "rival": rival}
    certificate = handmade(classifier, text, {"kind": "deletion"}, claim, {"point": point})
    done = export(certificate, classifier, tmp_path / "out")
    assert [one.answer for one in done.instances] == ["sat", "sat"]
    assert sorted(marabou(done.folder)[0].values()) == ["sat", "unsat"]


# --- what is written ---


@pytest.mark.parametrize("kind", NETWORKS)
def test_the_network_computes_scores_and_sums_as_ours_does(kind, tmp_path):
    network = _network(kind)
    graph_of(network.steps, None).save(tmp_path / "n.onnx")
    rows = np.random.default_rng(0).normal(size=(20, network.inputs))
    assert np.allclose(
        outputs(tmp_path / "n.onnx", rows), _ours(network.steps, rows), rtol=1e-12, atol=1e-12
    )


def _network(kind: str) -> Network:
    return make_case(kind, "boxes", seed=1).problem.network


def _ours(steps: Sequence[Step], rows: Floats) -> Floats:
    """Scores, then the sums before each relu."""
    sums = []
    for step in steps[:-1]:
        z = step.apply(rows)
        sums.append(z[:, step.relu])
        rows = step.activate(z)
    return np.concatenate([steps[-1].apply(rows), *sums], -1)


def test_some_of_these_networks_have_steps_that_bend_only_some_units():
    """A maximum is a + relu(b - a): units with and without a relu side by side."""
    steps = [step for kind in NETWORKS for step in _network(kind).steps[:-1]]
    assert any(step.relu.any() and not step.relu.all() for step in steps)


def test_an_attacked_text_is_put_back_word_by_word(tmp_path):
    classifier = make_classifier(2, hidden=(5, 4))
    rng = np.random.default_rng(1)
    center, start = rng.normal(size=(2, 4, 3))
    words = np.array([0, 2, 3])
    start[1] = center[1]
    costs = np.array([2, 1, 5])
    graph_of(classifier.network.steps, Attacked(start, center, words, costs)).save(
        tmp_path / "n.onnx"
    )
    back = rng.uniform(size=(20, 3))
    back[:8] = list(itertools.product((0.0, 1.0), repeat=3))
    shares = np.zeros((20, 4, 1))
    shares[:, words, 0] = back
    ours = _ours(classifier.network.steps, (start + shares * (center - start)).reshape(20, -1))
    expected = np.concatenate([ours, (back @ costs)[:, None]], -1)
    assert np.allclose(outputs(tmp_path / "n.onnx", back), expected, rtol=1e-12, atol=1e-12)


def test_no_weight_is_rounded(tmp_path):
    import onnx

    classifier = make_classifier(5, hidden=(5,))
    graph_of(classifier.network.steps, None).save(tmp_path / "n.onnx")
    stored = {
        onnx.numpy_helper.to_array(one).tobytes()
        for one in onnx.load(tmp_path / "n.onnx").graph.initializer
    }
    assert stored == {
        array.tobytes() for step in classifier.network.steps for array in (step.weight, step.bias)
    }


@pytest.mark.parametrize("kind", ["a ball with splits", "boxes of neighbours"])
def test_questions_look_at_every_allowed_input(kind, tmp_path):
    """Otherwise "unsat" would be worth nothing: free words anywhere in their boxes, held ones as
    they are.
    """
    classifier, result = explained(*KINDS[kind])
    done = export(result.certificate, classifier, tmp_path / "out")
    center = classifier.embed(result.text)
    rng = np.random.default_rng(0)
    around = ball(center) if kind == "a ball with splits" else neighbours(classifier, center)
    free = np.arange(len(center)) < len(result.text.words)
    free[list(result.positions)] = False
    low, high = (np.where(free[:, None], side, center).ravel() for side in around)
    rows = np.concatenate([[low, high], rng.uniform(low, high, size=(60, len(low)))])
    assert min(looked_at(done, "onnx/network.onnx", rows)) >= 1
    outside = np.where(rng.random(rows.shape) < 0.5, rows + 4, rows - 4)
    assert max(looked_at(done, "onnx/network.onnx", outside)) == 0


def test_an_input_is_looked_at_by_the_leaf_to_which_its_splits_lead(tmp_path):
    """The tree is followed by the sums of the network itself: below zero the first side, above it
    the second.
    """
    classifier, result = explained(39, sf.EpsilonBall(0.8))
    done = export(result.certificate, classifier, tmp_path / "out")
    center = classifier.embed(result.text)
    rng = np.random.default_rng(0)
    free = np.arange(len(center)) < len(result.text.words)
    free[list(result.positions)] = False
    reached = set()
    for _ in range(40):
        x = (center + free[:, None] * rng.choice([-0.8, -0.4, 0.4, 0.8], size=center.shape)).ravel()
        line = leaf_of(result.certificate.lines, _ours(classifier.network.steps, x[None])[0, 2:])
        one = next(one for one in done.instances if one.vnnlib == f"vnnlib/line-{line:06d}.vnnlib")
        only = Exported(done.folder, (one,), ())
        assert looked_at(only, "onnx/network.onnx", x[None]) == [1]
        others = Exported(
            done.folder, tuple(other for other in done.instances if other is not one), ()
        )
        assert looked_at(others, "onnx/network.onnx", x[None]) == [0]
        reached.add(line)
    assert len(reached) > 3


def leaf_of(lines: Sequence[Any], sums: Floats) -> int:
    """The line (from 1) of the leaf of the first proof tree to which the sums of all hidden units
    lead.
    """
    place = 2
    while "split" in lines[place]:
        place = place + 1 if sums[lines[place]["split"]] < 0 else after(lines, place + 1)
    return place + 1


def after(lines: Sequence[Any], place: int) -> int:
    """Where the tree that begins here has ended."""
    return after(lines, after(lines, place + 1)) if "split" in lines[place] else place + 1


def ball(center: Floats) -> tuple[Floats, Floats]:
    return center - 0.8, center + 0.8


def neighbours(classifier: Classifier, center: Floats) -> tuple[Floats, Floats]:
    """The box around each word and its 3 nearest, found by sorting all distances."""
    table = classifier.table[2:]
    distances = ((table[None] - center[:, None]) ** 2).sum(-1)
    distances[distances == 0] = np.inf  # the word itself
    near = np.concatenate([center[:, None], table[np.argsort(distances)[:, :3]]], 1)
    return near.min(1), near.max(1)


@pytest.mark.parametrize("at_most", [1, 2, 4])
def test_questions_about_limited_changes_look_at_those_and_no_others(at_most, tmp_path):
    classifier = make_classifier(1, hidden=(6,))
    text = [f"word{i}" for i in range(4)]
    data = {"kind": "epsilon-ball", "eps": 0.5, "p": "inf", "at_most": at_most}
    done = export(one_leaf(classifier, text, data, [0]), classifier, tmp_path / "out")
    center = classifier.embed(classifier.read(text))
    for moved in itertools.product((0.0, 0.4), repeat=4):
        row = (center + np.array(moved)[:, None]).reshape(1, -1)
        fits = not moved[0] and sum(move > 0 for move in moved) <= at_most
        assert (looked_at(done, "onnx/network.onnx", row)[0] > 0) == fits


@pytest.mark.parametrize("at_most", [None, 1, 2])
def test_the_questions_of_a_flip_look_at_what_can_be_paid_for(at_most, tmp_path):
    classifier = make_classifier(3, hidden=(6,))
    text = [f"word{i}" for i in range(4)]
    label = classifier.predict(text).label
    rival = next(name for name in classifier.labels if name != label)
    costs = {"costs": [2, 4, 6, 2], "unit": "1", "cost": None, "lower": 7}
    claim = {"kind": "flip", "positions": None, "towards": None, **costs}
    picked = ({"prove": "flip", "rival": rival}, {"pick": 1}, LEAF, {"pick": 0}, LEAF, LEAF)
    data = {"kind": "deletion"} | ({} if at_most is None else {"at_most": at_most})
    done = export(handmade(classifier, text, data, claim, *picked), classifier, tmp_path / "out")
    words = classifier.embed(classifier.read(text))
    pad = classifier.table[0]
    for gone in itertools.product((False, True), repeat=4):
        row = np.where(np.array(gone)[:, None], pad, words).reshape(1, -1)
        price = sum(cost for cost, away in zip((2, 4, 6, 2), gone, strict=True) if away)
        fits = price < 7 and (at_most is None or sum(gone) <= at_most)
        assert (looked_at(done, "onnx/network.onnx", row)[0] > 0) == fits


def test_questions_about_restorations_look_at_every_affordable_one(tmp_path):
    classifier, result = explained(*KINDS["boxes of neighbours"])
    done = export(result.certificate, classifier, tmp_path / "out")
    starts = [line["restoration"] for line in result.certificate.lines if "restoration" in line]
    networks = sorted({one.onnx for one in done.instances if "attacked" in one.onnx})
    assert networks
    assert len(networks) == len(starts)
    for network, start in zip(networks, starts, strict=True):
        count = len(start["start"]["changed"])
        rows = np.array(
            [
                row
                for row in itertools.product((0.0, 1.0), repeat=count)
                if sum(row) <= start["budget"]
            ]
        )
        allowed = [
            claims(done.folder, one.vnnlib)[0] for one in done.instances if one.onnx == network
        ]
        openable = np.max([[_high(where, i) for i in range(count)] for where in allowed], 0)
        rows = rows[(rows <= openable).all(-1)]
        assert len(rows) > 1
        assert min(looked_at(done, network, rows)) >= 1


def _high(where: Sequence[Any], place: int) -> float:
    return min(float(term[2]) for term in where if term[:2] == ["<=", f"X_{place}"])


# --- what is not written, and errors ---


@pytest.mark.parametrize(
    ("perturbation", "reason"),
    [
        ({"kind": "knn-hull", "k": 2}, "a hull of words is no box"),
        ({"kind": "epsilon-ball", "eps": 0.5, "p": 2}, "a ball of the 2-norm is no box"),
        ({"kind": "epsilon-ball", "eps": 0.5, "p": 1}, "a ball of the 1-norm is no box"),
        ({"kind": "word-swap", "swaps": SWAPS}, "more than 64 texts are left here"),
        (
            {"kind": "knn-box", "k": 2, "at_most": 4},
            "more than 64 ways to choose the changed words are left here",
        ),
    ],
)
def test_what_has_no_plain_form_is_refused_with_its_reason(perturbation, reason, tmp_path):
    classifier = make_classifier(0, length=8)
    text = [f"word{i}" for i in range(8)]
    with pytest.raises(InputError, match=re.escape(reason)):
        export(one_leaf(classifier, text, perturbation, []), classifier, tmp_path / "out")
    assert not any((tmp_path / "out").iterdir())


def test_what_can_be_written_is_and_the_rest_is_named(tmp_path):
    classifier, result = explained(0, sf.KNNHull(2))
    done = export(result.certificate, classifier, tmp_path / "out")
    assert [one.onnx for one in done.instances] == ["onnx/attacked-000000.onnx"]
    assert [one.reason for one in done.skipped] == [
        "a hull of words is no box, and VNN-LIB tools take boxes of inputs only"
    ]
    page = (tmp_path / "out" / "README.txt").read_text(encoding="utf-8")
    assert f"{done.skipped[0].name}  a hull of words is no box" in page
    assert str(done).endswith(
        "1 could not be written: a hull of words is no box, and VNN-LIB tools take boxes of "
        "inputs only."
    )


def test_smooth_curves_are_refused(tmp_path):
    classifier = make_classifier(0)
    text = make_text(0)
    first, last = classifier.network.steps
    units = np.arange(len(first.bias))
    smooth = Network(
        (Step(first.weight, first.bias, np.zeros(len(units), dtype=bool), (("tanh", units),)), last)
    )
    other = Classifier(
        smooth, classifier.table, classifier.vocabulary, classifier.labels, classifier.length
    )
    with pytest.raises(InputError, match="smooth curves"):
        export(one_leaf(other, text, {"kind": "deletion"}, []), other, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_tree_that_misses_a_leaf_is_rejected_and_leaves_nothing_behind(tmp_path):
    classifier, result = explained(3, sf.EpsilonBall(0.8))
    cut = SimpleNamespace(lines=result.certificate.lines[:-3])
    with pytest.raises(Rejected):
        export(cut, classifier, tmp_path / "out")
    assert not any((tmp_path / "out").iterdir())


def test_other_files_and_full_folders_are_refused(tmp_path):
    classifier, result = explained(0, sf.KNNBox(3))
    with pytest.raises(NotACertificate):
        export(b"no certificate", classifier, tmp_path / "out")
    (tmp_path / "kept.txt").write_text("mine")
    with pytest.raises(InputError, match="new or empty"):
        export(result.certificate, classifier, tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["kept.txt"]


def test_without_onnx_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    classifier, result = explained(0, sf.KNNBox(3))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtra, match=r"extra 'onnx'"):
        export(result.certificate, classifier, tmp_path / "out")


def test_the_readme_says_what_single_precision_would_change(tmp_path):
    classifier, result = explained(0, sf.KNNBox(3))
    done = export(result.certificate, classifier, tmp_path / "out")
    page = (done.folder / "README.txt").read_text(encoding="utf-8")
    stated = float(re.search(r"up to (\S+) of their size", page)[1])
    weights = np.concatenate(
        [a.ravel() for s in classifier.network.steps for a in (s.weight, s.bias)]
    )
    changes = np.abs(weights.astype(np.float32) - weights) / np.abs(weights)
    assert changes.max() * 0.95 <= stated <= 2**-24 * 1.05
    for one in done.instances:
        assert f"{one.vnnlib}  {one.answer}  {one.about}" in page


def test_numbers_are_written_without_exponent_and_come_back_the_same(tmp_path):
    from suffice.proof.export.vnnlib import decimal

    for value in [
        0.0,
        1e-30,
        -1.5e-7,
        123456789.25,
        1e22,
        *np.random.default_rng(0).normal(size=200),
    ]:
        assert float(decimal(value)) == value
        assert re.fullmatch(r"-?\d+\.\d+", decimal(value))


def test_the_command_writes_prints_and_exits(tmp_path, capsys):
    classifier, result = explained(0, sf.KNNHull(2))
    classifier.save(tmp_path / "model")
    result.certificate.save(tmp_path / "c.certificate")
    command = [
        "export",
        str(tmp_path / "c.certificate"),
        "--model",
        str(tmp_path / "model"),
        "--vnnlib",
    ]
    assert main([*command, str(tmp_path / "out")]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("1 question in")
    assert "expected are 1 unsat, 0 sat. 1 could not be written" in said
    assert main([*command, str(tmp_path / "out")]) == 2
    _, other = explained(0, sf.KNNBox(3))
    other.certificate.save(tmp_path / "c.certificate")
    assert main([*command, str(tmp_path / "box")]) == 0
    rows = (tmp_path / "box" / "instances.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "onnx/network.onnx,vnnlib/line-000003.vnnlib,60"
    assert main(["export", str(tmp_path / "c.certificate"), "--vnnlib", str(tmp_path / "x")]) == 1
    assert "Rejected: line 1: it is about another classifier" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_black_box_has_nothing_to_export(tmp_path: Path) -> None:
    box = sf.from_function(lambda texts: np.zeros((len(texts), 2)), ["no", "yes"], "nothing")
    with pytest.raises(InputError, match="black box has no network"):
        export(tmp_path / "c.certificate", box, tmp_path / "out")

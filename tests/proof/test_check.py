"""The checker: what it accepts is true, whoever wrote the certificate; what is no certificate is
refused quickly.
"""

from __future__ import annotations

import ast
import base64
import copy
import gzip
import itertools
import json
import re
import sys
import tracemalloc
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import make_classifier, make_text
from scipy import sparse
from scipy.optimize import linprog, minimize

import suffice as sf
from suffice.errors import NotACertificate, Rejected, SufficeError
from suffice.model.classifier import Classifier
from suffice.model.network import Network
from suffice.proof.check import Checked, check, evidence, inputs, limits, network, points, sets
from suffice.proof.check import header as headers
from suffice.proof.check.leaf import Leaf
from suffice.sets import table
from suffice.sets.perturbations import Perturbation
from suffice.sets.regions import Ball, Box, Choice, Hull, Region
from suffice.verbs.question import Question
from suffice.verify.nets.crown import PreparedProblem, intermediate_bounds
from suffice.verify.nets.input_sets import Free
from tests.forging import forged

FOLDER = Path(sys.modules["suffice.proof.check"].__file__).parent
MUTANTS = 2400  # at least 2,000 per run
Lines = list[dict[str, Any]]


# --- writing certificates by hand ---


def array(values: Any, kind: str = "f8") -> dict[str, str]:
    return {kind: base64.b64encode(np.asarray(values, dtype="<" + kind).tobytes()).decode()}


def leaf(
    alpha: Sequence[float] | None = (), beta: dict[int, float] | None = None
) -> dict[str, Any]:
    slopes = None if alpha is None else array(alpha, "f4")
    return {"leaf": {"alpha": slopes, "beta": {str(u): b for u, b in (beta or {}).items()}}}


def header(
    classifier: Classifier, text: list[str], perturbation: Any, claim: dict[str, Any], **more: Any
) -> Any:
    return {
        "certificate": 2,
        "model": classifier.digest,
        "text": text,
        "perturbation": perturbation,
        "features": list(range(len(text))),
        "label": classifier.predict(text).label,
        "claim": claim,
        **more,
    }


def against(rival: str) -> dict[str, str]:
    return {"prove": "sufficient", "rival": rival}


def cheapest(positions: list[int], lower: int, costs: Sequence[int]) -> dict[str, Any]:
    claim = {
        "kind": "cheapest",
        "positions": positions,
        "costs": list(costs),
        "unit": "1",
        "lower": lower,
    }
    return {**claim, "include": [], "exclude": [], "cost": sum(costs[i] for i in positions)}


def pack(lines: Sequence[Any]) -> bytes:
    return gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode(), mtime=0)


def verdict(
    lines: Sequence[Any], classifier: Classifier, packed: bool = False
) -> Checked | SufficeError:
    try:
        return check(pack(lines) if packed else SimpleNamespace(lines=tuple(lines)), classifier)
    except (Rejected, NotACertificate) as error:
        return error


def rejection(lines: Sequence[Any], classifier: Classifier) -> Rejected:
    found = verdict(lines, classifier)
    assert isinstance(found, Rejected), found
    return found


# --- tiny classifiers whose margin one can read off ---


def classifier_of(network: Network, vectors: dict[str, Any], length: int) -> Classifier:
    words = {
        "<PAD>": [0.0],
        "<UNK>": [0.0],
        **{word: np.atleast_1d(v).tolist() for word, v in vectors.items()},
    }
    size = max(map(len, words.values()))
    table = [[*v, *[0.0] * (size - len(v))] for v in words.values()]
    labels = [f"label{i}" for i in range(network.outputs)]
    return Classifier(network, table, list(words), labels, length)


def hat(lift: float) -> Classifier:
    """One word x; margin = lift + relu(x + 1) - 2 relu(x) + relu(x - 1), which is lift outside [-1,
    1], more inside.
    """
    hidden = ([[1.0], [1.0], [1.0]], [1.0, 0.0, -1.0])
    return classifier_of(
        Network.dense([hidden, ([[1.0, -2.0, 1.0], [0.0, 0.0, 0.0]], [lift, 0.0])]), {"a": 0.0}, 1
    )


def needs_beta(lift: float) -> Classifier:
    """One word x; margin = lift + 2 relu(x) - relu(x + 9) + 9, which is lift + |x| for x in [-2,
    2].
    """
    hidden = ([[1.0], [1.0]], [0.0, 9.0])
    return classifier_of(
        Network.dense([hidden, ([[2.0, -1.0], [0.0, 0.0]], [lift + 9.0, 0.0])]), {"a": 0.0}, 1
    )


def both(threshold: float = 1.5, classes: int = 2) -> Classifier:
    """Two words of value 1; margin = sum - threshold: with deletion both of them are needed."""
    rows = [[1.0, 1.0], *[[0.0, 0.0]] * (classes - 1)]
    return classifier_of(
        Network.dense([(rows, [-threshold, *[0.0] * (classes - 1)])]), {"a": 1.0, "b": 1.0}, 2
    )


BALL = {"kind": "epsilon-ball", "eps": 2.0, "p": "inf"}
GONE = {"kind": "deletion"}
SUFFICIENT = {"kind": "sufficient", "positions": []}


def hat_lines(classifier: Classifier) -> Lines:
    first = leaf([0, 0, 0])
    second = leaf([1, 0, 1])
    return [
        header(classifier, ["a"], BALL, SUFFICIENT),
        against("label1"),
        {"split": 1},
        first,
        second,
    ]


def beta_lines(classifier: Classifier, low: float = 1.0, high: float = 1.0) -> Lines:
    split = [{"split": 0}, leaf([0, 0], {0: low}), leaf([1, 0], {0: high})]
    return [header(classifier, ["a"], BALL, SUFFICIENT, label="label0"), against("label1"), *split]


def both_lines(classifier: Classifier, lower: int = 2, budget: int = 1, **claim: Any) -> Lines:
    proofs = [line for rival in classifier.labels[1:] for line in (against(rival), leaf())]
    start = {"changed": [0, 1], "vectors": array([0.0, 0.0])}
    restoration = {"restoration": {"start": start, "rival": "label1", "budget": budget}}
    head = header(
        classifier, ["a", "b"], GONE, {**cheapest([0, 1], lower, [1, 1]), **claim}, label="label0"
    )
    return [head, *proofs, {"prove": "cheapest"}, restoration, leaf()]


def test_a_proof_by_splitting_is_accepted():
    found = check(SimpleNamespace(lines=hat_lines(hat(0.1))), hat(0.1))
    assert (found.kind, found.label, found.positions, found.optimal) == (
        "sufficient",
        "label0",
        (),
        False,
    )
    assert found.sentence == (
        f"For the classifier {hat(0.1).digest[:16]}, over the real numbers: the text 'a' has "
        "the label 'label0'. Its "
        "one word may become any vector within 2 of its own (norm inf). No word is needed: "
        "'label0' stays the label "
        "whatever all of them become."
    )
    assert repr(found) == "<Checked sufficient: 'label0', words ()>"


def test_the_same_proof_of_a_false_claim_is_rejected_at_its_first_leaf():
    assert rejection(hat_lines(hat(-0.1)), hat(-0.1)).line == 4


def test_without_the_split_the_bound_is_not_enough():
    for slopes in ([0, 0, 0], [1, 0, 1], [0.5, 0.5, 0.5], None):
        lines = [*hat_lines(hat(0.1))[:2], leaf(slopes)]
        assert rejection(lines, hat(0.1)).line == 3


def test_multipliers_of_splits_count():
    assert isinstance(verdict(beta_lines(needs_beta(0.1)), needs_beta(0.1)), Checked)
    assert rejection(beta_lines(needs_beta(0.1), low=0.0), needs_beta(0.1)).line == 4
    assert rejection(beta_lines(needs_beta(0.1), high=0.0), needs_beta(0.1)).line == 5
    assert rejection(beta_lines(needs_beta(-0.1)), needs_beta(-0.1)).line == 4


def leaning(slope: float, lift: float) -> Classifier:
    """One word x in [-2, 2]; margin = lift + relu(x) + slope·x."""
    hidden = ([[1.0], [1.0]], [0.0, 9.0])
    last = ([[1.0, slope], [0.0, 0.0]], [lift - 9 * slope, 0.0])
    return classifier_of(Network.dense([hidden, last]), {"a": 0.0}, 1)


@pytest.mark.parametrize(("slope", "alpha"), [(-2.0, 2.0), (1.0, -1.0)])
def test_a_slope_outside_of_0_and_1_counts_as_the_nearest_of_them(slope, alpha):
    """With alpha as given the line would cancel slope·x, and a margin that falls to lift - 2 would
    look like lift.
    """
    for lift, true in ((1.0, False), (2.1, True)):
        classifier = leaning(slope, lift)
        head = header(classifier, ["a"], BALL, SUFFICIENT, label="label0")
        found = verdict([head, against("label1"), leaf([alpha, 1.0])], classifier)
        assert isinstance(found, Checked) == true


def test_a_negative_multiplier_is_no_multiplier():
    assert rejection(beta_lines(needs_beta(0.1), low=-1.0), needs_beta(0.1)).line == 4


def test_splits_that_contradict_the_bounds_close_a_leaf():
    lines = [
        *beta_lines(needs_beta(0.1))[:2],
        {"split": 1},
        leaf([0, 0]),
        *beta_lines(needs_beta(0.1))[2:],
    ]
    # relu(x + 9) is always on: its first side is empty
    assert isinstance(verdict(lines, needs_beta(0.1)), Checked)


def test_an_optimal_set_is_accepted_with_its_cost():
    found = check(pack(both_lines(both())), both())
    assert (found.positions, found.cost, found.lower, found.optimal) == ((0, 1), 2, 2, True)
    assert repr(found) == "<Checked optimal: 'label0', words (0, 1), cost 2, none below 2>"


def test_a_lower_bound_below_the_cost_is_not_optimal():
    found = check(pack(both_lines(both(), lower=1)), both())
    assert not found.optimal
    assert found.lower == 1


@pytest.mark.parametrize(
    ("threshold", "changes", "line"),
    [
        (1.5, {"lower": 3}, 1),  # more than the cost
        (1.5, {"cost": 1, "lower": 1}, 1),  # not the sum
        (1.5, {"positions": [0], "cost": 1, "lower": 1}, 3),  # the other word flips it
        (1.5, {"exclude": [0]}, 1),
        (1.5, {"include": [0], "positions": [1], "cost": 1, "lower": 1}, 1),
        (1.5, {"costs": [1, 0], "cost": 1, "lower": 1}, 1),
        (1.5, {"costs": [1, True]}, 1),
        (1.5, {"costs": [1, 1.0]}, 1),
        (1.5, {"costs": [1]}, 1),
        (1.5, {"unit": 1}, 1),
        (1.5, {"budget": 0}, 5),  # says too little
        (1.5, {"budget": 2}, 6),  # does not hold
        (1.5, {"budget": 1.0}, 5),
        (0.5, {}, 6),  # one word is enough
        (2.5, {}, 3),  # the text does not even have the label
    ],
)
def test_a_false_claim_about_cost_is_rejected(threshold, changes, line):
    classifier = both(threshold)
    assert rejection(both_lines(classifier, **changes), classifier).line == line


def test_every_rival_has_its_proof_in_order():
    classifier = both(classes=3)
    lines = both_lines(classifier)
    assert isinstance(verdict(lines, classifier), Checked)
    assert rejection(lines[:3] + lines[5:], classifier).line == 4
    assert rejection([lines[0], *lines[3:5], *lines[1:3], *lines[5:]], classifier).line == 2


def test_restoring_in_two_cases_is_accepted():
    lines = both_lines(both())
    picked = [*lines[:-1], {"pick": 0}, leaf(), leaf()]
    assert isinstance(verdict(picked, both()), Checked)
    assert rejection(picked[:-1], both()).line == 8  # the other case is missing
    assert rejection([*picked, leaf()], both()).line == 9  # one too many


def word_tree(*nodes: dict[str, Any]) -> Lines:
    return [*both_lines(both())[:3], {"prove": "cheapest"}, *nodes]


def attack(changed: list[int], rival: str = "label1") -> dict[str, Any]:
    return {"changed": changed, "vectors": array([0.0] * len(changed)), "rival": rival}


def test_a_word_tree_of_attacks_and_costs_is_accepted():
    nodes = [
        {"word": 0},
        {"word": 1},
        {"cost": True},
        {"attack": attack([1])},
        {"attack": attack([0])},
    ]
    assert isinstance(verdict(word_tree(*nodes), both()), Checked)


@pytest.mark.parametrize(
    ("nodes", "line"),
    [
        ([{"cost": True}], 5),  # nothing is held yet
        ([{"word": 0}, {"cost": True}], 6),
        ([{"attack": attack([0])}], 5),  # word 0 is open
        ([{"word": 0}, {"attack": attack([0])}], 6),  # word 0 is held
        ([{"word": 0}, {"word": 0}], 6),
        (
            [{"word": 0}, {"word": 1}, {"cost": True}, {"attack": attack([1])}],
            9,
        ),  # word 0 out is missing
        ([{"word": 0}, {"word": 1}, {"cost": 1}], 7),
        (
            [{"word": 0}, {"word": 1}, {"cost": True}, {"attack": attack([])}],
            8,
        ),  # the text keeps its label
        ([{"word": 0}, {"word": 1}, {"cost": True}, {"attack": attack([1], "label0")}], 8),
        ([{"word": 2}], 5),
    ],
)
def test_a_word_tree_that_does_not_cover_or_does_not_hold_is_rejected(nodes, line):
    assert rejection(word_tree(*nodes), both()).line == line


def point_lines(
    classifier: Classifier, claim: dict[str, Any], point: dict[str, Any], **more: Any
) -> Lines:
    return [header(classifier, ["a", "b"], GONE, claim, **more), {"point": point}]


def test_a_counterexample_refutes_and_shows_infeasibility():
    refuted = verdict(
        point_lines(both(), {"kind": "refuted", "positions": [0]}, attack([1])), both()
    )
    assert isinstance(refuted, Checked)
    assert "does not suffice" in refuted.sentence
    infeasible = verdict(
        point_lines(both(), {"kind": "infeasible", "exclude": [1]}, attack([1])), both()
    )
    assert isinstance(infeasible, Checked)
    assert infeasible.positions == (1,)


@pytest.mark.parametrize(
    "point",
    [
        attack([0]),  # a fixed word
        {**attack([1]), "vectors": array([0.25])},  # not a choice
        {**attack([1]), "vectors": array([0.0, 0.0])},
        {**attack([1]), "vectors": array([np.nan])},
        {**attack([1]), "rival": "label0"},
        {**attack([1]), "rival": None},
        {**attack([1]), "more": 1},
        {"changed": [1], "shares": [[0.0, 1.0]], "rival": "label1"},  # not a hull
    ],
)
def test_a_counterexample_that_is_none_is_rejected(point):
    assert (
        rejection(point_lines(both(), {"kind": "refuted", "positions": [0]}, point), both()).line
        == 2
    )


def test_a_tie_at_the_text_is_a_counterexample_and_no_label_of_a_losing_class():
    tie = both(2.0)
    claim = {"kind": "refuted", "positions": [0, 1]}
    assert isinstance(verdict(point_lines(tie, claim, attack([]), label="label0"), tie), Checked)
    assert isinstance(
        verdict(point_lines(tie, claim, attack([], "label0"), label="label1"), tie), Checked
    )
    lost = point_lines(both(), claim, attack([], "label0"), label="label1")
    assert rejection(lost, both()).line == 1


def test_a_mixture_of_corners_is_taken_exactly():
    """Margin 1/3 - x over the hull of 0 and 1: the mean with weights 2 and 1 is a tie, which no
    double would be.
    """
    network = Network.dense([([[-3.0], [0.0]], [1.0, 0.0])])
    classifier = classifier_of(network, {"a": 0.0, "b": 1.0}, 1)
    hull, claim = {"kind": "knn-hull", "k": 1}, {"kind": "refuted", "positions": []}

    def lines(shares: list[float]) -> Lines:
        point = {"changed": [0], "shares": [shares], "rival": "label1"}
        return [header(classifier, ["a"], hull, claim), {"point": point}]

    assert isinstance(verdict(lines([2, 1]), classifier), Checked)
    assert isinstance(verdict(lines([2.0, 1.0 + 2**-52]), classifier), Checked)
    for wrong in (
        [2.0, 1.0 - 2**-53],
        [2 + 2**-51, 1],
        [0, 0],
        [-1, 2],
        [1],
        [1, 1, 1],
        [2**60 + 1, 2**60],
    ):
        assert rejection(lines(wrong), classifier).line == 2


@pytest.mark.parametrize(("p", "inside"), [(1, [0.5, 0.5]), (2, [0.6, 0.8]), ("inf", [1.0, 1.0])])
def test_membership_of_balls_is_exact(p, inside):
    """Numbers of which the border is exact in doubles, and one step beyond it."""
    network = Network.dense([([[-8.0, -8.0], [0.0, 0.0]], [0.5, 0.0])])
    classifier = classifier_of(network, {"a": [0.0, 0.0]}, 1)
    exact = np.array([0.75, 1.0]) / 1.25 if p == 2 else np.array(inside)
    scale = 1.25 if p == 2 else 1.0  # 3-4-5: the norm of (0.75, 1) is 1.25

    def lines(vector: Any) -> Lines:
        ball = {"kind": "epsilon-ball", "eps": scale, "p": p}
        point = {"changed": [0], "vectors": array(vector), "rival": "label1"}
        return [
            header(classifier, ["a"], ball, {"kind": "refuted", "positions": []}),
            {"point": point},
        ]

    border = np.array([0.75, 1.0]) if p == 2 else exact
    assert isinstance(verdict(lines(border), classifier), Checked)
    for axis in (0, 1):
        beyond = border.copy()
        beyond[axis] = np.nextafter(beyond[axis], 9.0)
        assert rejection(lines(beyond), classifier).line == 2


def test_a_path_bytes_and_lines_say_the_same(tmp_path):
    path = tmp_path / "proof.cert"
    path.write_bytes(pack(hat_lines(hat(0.1))))
    found = {check(given, hat(0.1)).sentence for given in (path, str(path), path.read_bytes())}
    assert found == {check(SimpleNamespace(lines=hat_lines(hat(0.1))), hat(0.1)).sentence}


def test_another_classifier_is_not_what_it_is_about():
    assert rejection(hat_lines(hat(0.1)), hat(0.1000001)).line == 1


def test_the_first_line_that_fails_is_named():
    lines = hat_lines(hat(-0.1))
    # the leaf of line 4 fails before the end is missed
    assert rejection(lines[:-1], hat(-0.1)).line == 4
    assert rejection([*lines, {"leaf": None}], hat(-0.1)).line == 4


# --- what is no certificate ---


def bomb(head: bytes, filler: bytes, times: int) -> bytes:
    """A small gzip file that unpacks to `head` and very much of `filler`."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [packer.compress(head), *(packer.compress(filler) for _ in range(times))]
    return b"".join([*parts, packer.flush()])


GOOD = pack(hat_lines(hat(0.1)))
HEAD = json.dumps(hat_lines(hat(0.1))[0]).encode()
NO_CERTIFICATES = {
    "nothing": b"",
    "text": b"hello",
    "junk": bytes(range(256)) * 4,
    "plain": b"\n".join([HEAD]),
    "cut off": GOOD[:-9],
    "cut early": GOOD[:30],
    "wrong checksum": GOOD[:-8] + bytes([GOOD[-8] ^ 1]) + GOOD[-7:],
    "junk behind": GOOD + b"junk",
    "no object": gzip.compress(b"[]\n"),
    "not JSON": gzip.compress(HEAD + b"\n{oops}\n"),
    "not UTF-8": gzip.compress(b'{"certificate": 2, "model": "\xff"}\n'),
    "deep": gzip.compress(b"[" * 1_000_000 + b"\n"),
    "deep objects": gzip.compress(b'{"claim":' * 200_000 + b"1" + b"}" * 200_000 + b"\n"),
    "NaN": gzip.compress(HEAD.replace(b"2.0", b"NaN") + b"\n"),
    "long number": gzip.compress(b'{"certificate": ' + b"1" * 100_000 + b"}\n"),
    "format 1": gzip.compress(HEAD.replace(b'"certificate": 2', b'"certificate": 1') + b"\n"),
    "format 3": gzip.compress(HEAD.replace(b'"certificate": 2', b'"certificate": 3') + b"\n"),
    "format true": gzip.compress(HEAD.replace(b'"certificate": 2', b'"certificate": true') + b"\n"),
    "a key twice": gzip.compress(
        HEAD.replace(b'"certificate": 2', b'"certificate": 2, "certificate": 2') + b"\n"
    ),
    "a key twice inside": gzip.compress(
        HEAD.replace(b'"eps": 2.0', b'"eps": 9.0, "eps": 2.0') + b"\n"
    ),
    "endless header": bomb(b'{"certificate": 2, "text": ["', b"a" * 2**20, 200),
    "endless line": bomb(HEAD + b'\n{"prove": "', b"a" * 2**20, 200),
    "empty lines": bomb(HEAD + b"\n", b"\n" * 2**20, 4),
}


@pytest.mark.parametrize("name", NO_CERTIFICATES)
def test_what_is_no_certificate_is_refused_without_filling_the_memory(name):
    tracemalloc.start()
    try:
        with pytest.raises(NotACertificate) as refusal:
            check(NO_CERTIFICATES[name], hat(0.1))
        assert tracemalloc.get_traced_memory()[1] < 150e6
    finally:
        tracemalloc.stop()
    assert len(str(refusal.value)) < 400


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "none", tmp_path, 17, None):
        with pytest.raises(NotACertificate):
            check(path, hat(0.1))


MANY = 1_000_000
FLOODS = {
    "splits": [b'{"split": 1}'],
    "leaves": [b'{"split": 1}', b'{"leaf": {"alpha": null, "beta": {}}}'],
    "objects": [b"{}"],
    "proofs": [b'{"prove": "sufficient", "rival": "label1"}'],
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_lines_is_rejected_where_it_starts_to_be_wrong(name):
    lines = [HEAD, json.dumps(against("label1")).encode(), *FLOODS[name]]
    data = bomb(b"\n".join(lines) + b"\n", FLOODS[name][-1] + b"\n", MANY // 10)
    with pytest.raises(Rejected) as refusal:
        check(data, hat(0.1))
    assert refusal.value.line <= 6


HOSTILE_VALUES = [
    None,
    True,
    -1,
    0.5,
    1e308,
    2**70,
    "x",
    [],
    [[]],
    {},
    {"f4": ""},
    {"f8": "A" * 400},
    [True],
    [0, 0],
]


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside JSON data."""
    if path:
        yield path
    items = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for key, value in items:
        yield from places(value, (*path, key))


def put(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(data)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return changed


def hand_written() -> list[tuple[Lines, Classifier]]:
    words = word_tree(
        {"word": 0}, {"word": 1}, {"cost": True}, {"attack": attack([1])}, {"attack": attack([0])}
    )
    refuted = point_lines(both(), {"kind": "refuted", "positions": [0]}, attack([1]))
    picked = [*both_lines(both())[:-1], {"pick": 0}, leaf(), leaf()]
    made = [(hat_lines(hat(0.1)), hat(0.1)), (beta_lines(needs_beta(0.1)), needs_beta(0.1))]
    return [*made, (words, both()), (refuted, both()), (picked, both())]


def test_a_value_of_a_wrong_kind_is_refused_or_leaves_something_true():
    tried = 0
    for lines, classifier in hand_written():
        assert isinstance(verdict(lines, classifier), Checked)
        for path, value in itertools.product(list(places(lines)), HOSTILE_VALUES):
            changed = put(lines, path, value)
            found = verdict(changed, classifier)
            assert isinstance(found, SufficeError) or is_true(classifier, changed), (path, value)
            tried += 1
        for path in [path for path in places(lines) if isinstance(get(lines, path), dict)]:
            if path[-1] not in ("beta", "swaps"):
                assert isinstance(
                    verdict(put(lines, (*path, "extra"), 1), classifier), SufficeError
                ), path
    assert tried > 1500


def get(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


# --- small questions whose answers brute force can check ---

WORDS = [f"w{i}" for i in range(6)]
HIDDEN = [(), (2,), (3,), (4,), (2, 2), (2, 1, 1)]


@dataclass(frozen=True, eq=False)
class Source:
    """A certificate of the prover, and the classifier it is about."""

    name: str
    classifier: Classifier
    lines: Lines


def small_classifier(
    rng: np.random.Generator, length: int, dimension: int, whole: bool
) -> Classifier:
    """Weights are normal, or small whole numbers; there are few relus, so that all patterns can be
    tried.
    """
    hidden = HIDDEN[int(rng.integers(len(HIDDEN)))]
    classes = int(rng.integers(2, 4))

    def numbers(*shape: int) -> Any:
        return rng.integers(-2, 3, shape).astype(float) if whole else rng.standard_normal(shape)

    sizes = [length * dimension, *hidden, classes]
    layers = [(numbers(b, a), numbers(b) / 2) for a, b in itertools.pairwise(sizes)]
    labels = [f"label{i}" for i in range(classes)]
    table = numbers(len(WORDS) + 2, dimension)
    return Classifier(Network.dense(layers), table, ["<PAD>", "<UNK>", *WORDS], labels, length)


def small_set(kind: str, rng: np.random.Generator, center: Any) -> Perturbation:
    eps = float(rng.choice([0.25, 0.5, 1.0]))
    match kind:
        case "boxes":
            below, above = (np.abs(rng.integers(-2, 3, center.shape)) / 2 for _ in range(2))
            return sf.Boxes(center - below, center + above)
        case "knn-box":
            return sf.KNNBox(int(rng.integers(1, 4)))
        case "knn-hull":
            return sf.KNNHull(int(rng.integers(1, 4)))
        case "ball-1" | "ball-2":
            return sf.EpsilonBall(eps, int(kind[-1]))
        case "ball-inf":
            return sf.EpsilonBall(eps)
        case "word-swap":
            return sf.WordSwap(
                {w: rng.permutation(WORDS)[: rng.integers(4)].tolist() for w in WORDS}
            )
        case _:
            return sf.Deletion()


SETS = ["boxes", "knn-box", "knn-hull", "ball-1", "ball-2", "ball-inf", "word-swap", "deletion"]


def prove(kind: str, seed: int) -> Iterator[Source]:
    """What the prover says about one small text, in every kind of claim that it can make."""
    rng = np.random.default_rng([seed, *map(ord, kind)])
    length = int(rng.integers(2, 4))
    classifier = small_classifier(
        rng, length, int(rng.integers(1, 3)), whole=bool(rng.random() < 0.3)
    )
    text = rng.permutation(WORDS)[: length - int(rng.random() < 0.3)].tolist()
    chosen = small_set(kind, rng, classifier.embed(classifier.read(text)))
    costs = None if rng.random() < 0.5 else {word: float(rng.integers(1, 4)) for word in WORDS}
    asked = {"perturbation": chosen, "padding": "feature" if rng.random() < 0.3 else "fixed"}
    barred = [0] if rng.random() < 0.5 else []
    answers = [
        sf.explain(classifier, text, cost=costs, exclude=barred, self_check=False, **asked),
        sf.is_robust(classifier, text, [len(text) - 1], **asked),
        sf.bias(classifier, text, protected=text[:1], self_check=False, **asked),
    ]
    for answer in answers:
        found = getattr(answer, "certificate", None)
        if found is not None:
            yield Source(f"{kind} {seed}", classifier, json.loads(json.dumps(list(found.lines))))


@cache
def sources(seeds: int) -> list[Source]:
    return [source for seed in range(seeds) for kind in SETS for source in prove(kind, seed)]


# --- the truth, by brute force ---


class Truth:
    """What is true of one header: every set of free words is decided by trying all choices, or all
    relu patterns.
    """

    TOLERANCE = 1e-7

    def __init__(self, classifier: Classifier, head: dict[str, Any]) -> None:
        self.classifier = classifier
        self.text = classifier.read(head["text"])
        self.region = table.from_dict(head["perturbation"]).around(classifier, self.text)
        self.label = list(classifier.labels).index(head["label"])
        self.known: dict[frozenset[int], float] = {}

    def least(self, free: frozenset[int]) -> float:
        """The least margin over what the free words may become: exact in sign for sets of words."""
        if free not in self.known:
            rivals = [j for j in range(len(self.classifier.labels)) if j != self.label]
            way = self.over_choices if isinstance(self.region, Choice) else self.over_patterns
            self.known[free] = way(free, rivals)
        return self.known[free]

    def over_choices(self, free: frozenset[int], rivals: list[int]) -> float:
        options = [
            range(self.region.points.shape[1]) if i in free else range(1)
            for i in range(len(self.text))
        ]
        picks = np.array(list(itertools.product(*options)))
        points = self.region.points[np.arange(len(self.text)), picks]
        scores = self.classifier.network.forward(points)
        margins = (scores[:, [self.label]] - scores[:, rivals]).min(-1)
        lowest = points[margins.argmin()]
        if abs(margins.min()) > 1e-9:
            return float(margins.min())
        return float(min(exact_margin(self.classifier, lowest, self.label, j) for j in rivals))

    def over_patterns(self, free: frozenset[int], rivals: list[int]) -> float:
        """For each relu pattern, the least margin over the inputs that have it; for 2-norm balls,
        good tries.
        """
        points = self.tries(free)
        scores = self.classifier.network.forward(points)
        lowest = float((scores[:, [self.label]] - scores[:, rivals]).min())
        if lowest < -self.TOLERANCE:
            return lowest  # it is refuted: how low it can get does not matter
        if isinstance(self.region, Ball) and self.region.p == 2:
            return min(lowest, self.descend(free, rivals, points, scores))
        *hidden, last = self.classifier.network.steps
        for pattern in itertools.product((0.0, 1.0), repeat=sum(len(step.bias) for step in hidden)):
            matrix, offset, rows, limits = self.linear(hidden, np.array(pattern))
            for rival in rivals:
                row = last.weight[self.label] - last.weight[rival]
                constant = last.bias[self.label] - last.bias[rival]
                value = self.program(free, row @ matrix, constant + row @ offset, rows, limits)
                lowest = min(lowest, value)
        return lowest

    def linear(self, hidden: Any, pattern: Any) -> tuple[Any, ...]:
        """Where relus are on and off as in the pattern: h = matrix·x + offset, which holds for
        rows·x <= limits.
        """
        matrix = np.eye(self.classifier.network.inputs)
        offset = np.zeros(self.classifier.network.inputs)
        rows = [np.zeros((0, len(matrix)))]
        limits = [np.zeros(0)]
        for step in hidden:
            on = pattern[: len(step.bias)]
            pattern = pattern[len(step.bias) :]
            matrix = step.weight @ matrix
            offset = step.weight @ offset + step.bias
            sign = 1 - 2 * on  # a relu that is off has sign·z <= 0, one that is on too
            rows = [*rows, sign[:, None] * matrix]
            limits = [*limits, -sign * offset]
            matrix = on[:, None] * matrix
            offset = on * offset
        return matrix, offset, np.vstack(rows), np.concatenate(limits)

    def tries(self, free: frozenset[int]) -> Any:
        rng = np.random.default_rng(0)
        aims = rng.standard_normal((64, *self.region.center.shape))
        moved = np.concatenate(
            [self.region.center[None], self.region.minimiser(aims), self.region.sample(rng, 64)]
        )
        return np.where(
            np.isin(np.arange(len(self.text)), list(free))[:, None], moved, self.region.center
        )

    def descend(self, free: frozenset[int], rivals: list[int], points: Any, scores: Any) -> float:
        """Local search from the best tries, for balls of the 2-norm."""
        mask = np.isin(np.arange(len(self.text)), list(free))[:, None]
        center, radius = self.region.center, self.region.radius

        def value(flat: Any) -> float:
            move = flat.reshape(center.shape) * mask
            size = np.maximum(np.linalg.norm(move, axis=-1, keepdims=True), 1e-300)
            scores = self.classifier.network.forward(center + move * np.minimum(1, radius / size))
            return float((scores[self.label] - scores[rivals]).min())

        best = np.argsort((scores[:, [self.label]] - scores[:, rivals]).min(-1))[:2]
        starts = [(points[i] - center).ravel() for i in best]
        return min(
            float(minimize(value, x, method="Nelder-Mead", options={"maxiter": 200}).fun)
            for x in starts
        )

    def program(
        self, free: frozenset[int], row: Any, constant: float, rows: Any, limits: Any
    ) -> float:
        """Least row·x + constant over the inputs with rows·x <= limits."""
        matrix, base, ranges, extra, bound, equal = columns(self.region, free)
        above = np.vstack([rows @ matrix, extra])
        limit = np.concatenate([limits - rows @ base, bound])
        ones = (equal, np.ones(len(equal))) if len(equal) else (None, None)
        if matrix.shape[1] == 0:
            return float(row @ base + constant) if (limit >= -1e-12).all() else np.inf
        found = linprog(row @ matrix, above, limit, *ones, bounds=ranges, method="highs")
        return float(found.fun + row @ base + constant) if found.status == 0 else np.inf

    # --- claims ---

    def sufficient(self, free: frozenset[int]) -> bool | None:
        """None when the least margin is too close to zero for brute force in doubles."""
        lowest = self.least(free)
        if not isinstance(self.region, Choice) and abs(lowest) < self.TOLERANCE:
            return None
        return lowest > 0

    def holds(self, claim: dict[str, Any], features: frozenset[int]) -> bool:
        """Whether what is claimed is true; what is too close to call counts as true."""
        match claim:
            case {"kind": "sufficient", "positions": positions}:
                return self.sufficient(features - set(positions)) is not False
            case {"kind": "independent", "of": of}:
                return self.sufficient(frozenset(of)) is not False
            case {"kind": "infeasible", "exclude": out}:
                return self.sufficient(frozenset(out)) is not True
            case {"kind": "refuted", "positions": positions}:
                return self.sufficient(features - set(positions)) is not True
        return self.cheapest(claim, features)

    def cheapest(self, claim: dict[str, Any], features: frozenset[int]) -> bool:
        held, include, exclude = (set(claim[key]) for key in ("positions", "include", "exclude"))
        fits = (
            include <= held
            and not exclude & held
            and sum(claim["costs"][i] for i in held) == claim["cost"]
        )
        if not fits or self.sufficient(features - held) is False:
            return False
        for size in range(len(features) + 1):
            for chosen in map(set, itertools.combinations(sorted(features), size)):
                allowed = include <= chosen and not exclude & chosen
                cheap = sum(claim["costs"][i] for i in chosen) < claim["lower"]
                if allowed and cheap and self.sufficient(features - chosen) is True:
                    return False
        return True


def exact_margin(classifier: Classifier, point: Any, label: int, rival: int) -> Fraction:
    values = [Fraction(v) for v in point.ravel().tolist()]
    for step in classifier.network.steps:
        rows = [[Fraction(w) for w in row] for row in step.dense().tolist()]
        terms = [sum(w * v for w, v in zip(row, values, strict=True)) for row in rows]
        sums = [total + Fraction(b) for total, b in zip(terms, step.bias.tolist(), strict=True)]
        values = [
            max(z, Fraction(0)) if relu else z for z, relu in zip(sums, step.relu, strict=True)
        ]
    return values[label] - values[rival]


def columns(region: Region, free: frozenset[int]) -> tuple[Any, ...]:
    """x = matrix·v + base with v in ranges, extra·v <= bound, equal·v = 1: the inputs as a
    polytope.
    """
    length, size = region.center.shape
    cells = [(i, j) for i in sorted(free) for j in range(size)]
    place = {cell: n for n, cell in enumerate(cells)}
    base = region.center.ravel().copy()
    unit = np.zeros((length * size, len(cells)))
    for (i, j), n in place.items():
        unit[i * size + j, n] = 1.0
    none = np.zeros((0, len(cells)))
    match region:
        case Box(lower=lower, upper=upper):
            base[[i * size + j for i, j in cells]] = 0.0
            return unit, base, [(lower[c], upper[c]) for c in cells], none, np.zeros(0), none
        case Ball(radius=radius, p=np.inf):
            return unit, base, [(-radius, radius)] * len(cells), none, np.zeros(0), none
        case Ball(radius=radius, p=1):  # positive and negative parts
            both_ways = np.hstack([unit, -unit])
            empty = np.zeros((0, 2 * len(cells)))
            sums = (
                np.array([[float(i == w) for i, _ in cells] * 2 for w in sorted(free)])
                if free
                else empty
            )
            return (
                both_ways,
                base,
                [(0, None)] * (2 * len(cells)),
                sums,
                np.full(len(free), radius),
                empty,
            )
        case Hull(points=points):
            words = sorted(free)
            count = points.shape[1]
            mix = np.zeros((length * size, len(words) * count))
            for n, i in enumerate(words):
                mix[i * size : (i + 1) * size, n * count : (n + 1) * count] = points[i].T
                base[i * size : (i + 1) * size] = 0.0
            equal = np.kron(np.eye(len(words)), np.ones(count)).reshape(len(words), mix.shape[1])
            empty = np.zeros((0, mix.shape[1]))
            return mix, base, [(0, None)] * mix.shape[1], empty, np.zeros(0), equal
    raise AssertionError(region)


TRUTHS: dict[str, Truth] = {}


def is_true(classifier: Classifier, lines: Lines) -> bool:
    """Whether the claim of an accepted certificate is true, the label of the text included."""
    head = lines[0]
    features = frozenset(head["features"])
    named = {
        i for name in ("positions", "of", "include", "exclude") for i in head["claim"].get(name, ())
    }
    if not named <= features <= set(range(classifier.length)):
        return False
    key = json.dumps(
        [classifier.digest, head["text"], head["perturbation"], head["label"]], sort_keys=True
    )
    if key not in TRUTHS:
        TRUTHS[key] = Truth(classifier, head)
    truth_of = TRUTHS[key]
    rivals = [j for j in range(len(classifier.labels)) if j != truth_of.label]
    at_text = min(
        exact_margin(classifier, truth_of.region.center, truth_of.label, j) for j in rivals
    )
    return at_text >= 0 and truth_of.holds(head["claim"], features)


# --- mutants ---

Mutation = Callable[[Lines, np.random.Generator, Classifier], Lines | None]


def lines_with(lines: Lines, key: str) -> list[int]:
    return [i for i, line in enumerate(lines) if key in line]


def pick_line(lines: Lines, key: str, rng: np.random.Generator) -> Any:
    """One line of a kind, to be changed in place, or None."""
    found = lines_with(lines, key)
    return lines[int(rng.choice(found))] if found else None


def subtree(lines: Lines, start: int) -> int:
    """Where the tree that starts at a line ends."""
    open_ = 1
    at = start
    while open_ and at < len(lines):
        line = lines[at]
        open_ += (
            1 if {"split", "pick", "word"} & line.keys() else 0 if "restoration" in line else -1
        )
        at += 1
    return at


def drop(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines:
    at = int(rng.integers(1, len(lines)))
    return lines[:at] + lines[at + 1 :]


def repeat(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines:
    at = int(rng.integers(1, len(lines)))
    return lines[: at + 1] + lines[at:]


def reorder(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines:
    a, b = (int(i) for i in rng.integers(1, len(lines), 2))
    lines[a], lines[b] = lines[b], lines[a]
    return lines


def cut_off(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines:
    return lines[: int(rng.integers(1, len(lines)))]


def flip_sides(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines | None:
    """The two subtrees of a node change places."""
    inner = [i for i, line in enumerate(lines) if {"split", "pick", "word"} & line.keys()]
    if not inner:
        return None
    at = int(rng.choice(inner)) + 1
    middle = subtree(lines, at)
    end = subtree(lines, middle)
    return lines[:at] + lines[middle:end] + lines[at:middle] + lines[end:]


def too_little(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines | None:
    """A node with two sides is replaced by one of them."""
    inner = [i for i, line in enumerate(lines) if {"split", "pick", "word"} & line.keys()]
    if not inner:
        return None
    at = int(rng.choice(inner))
    middle = subtree(lines, at + 1)
    end = subtree(lines, middle)
    kept = lines[at + 1 : middle] if rng.random() < 0.5 else lines[middle:end]
    return lines[:at] + kept + lines[end:]


def other_unit(lines: Lines, rng: np.random.Generator, classifier: Classifier) -> Lines | None:
    line = pick_line(lines, "split", rng)
    if line is None:
        return None
    line["split"] = int(rng.integers(-1, sum(len(s.bias) for s in classifier.network.steps)))
    return lines


def other_alpha(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines | None:
    line = pick_line(lines, "leaf", rng)
    if line is None or not line["leaf"]["alpha"]:
        return None
    values = np.frombuffer(base64.b64decode(line["leaf"]["alpha"]["f4"]), "<f4").copy()
    if len(values):
        values[rng.integers(len(values))] = rng.choice(
            [0, 1, 0.5, -1, 2, 1e30, -1e30, np.nan, np.inf]
        )
    line["leaf"]["alpha"] = None if rng.random() < 0.2 else array(values, rng.choice(["f4", "f8"]))
    return lines


def other_beta(lines: Lines, rng: np.random.Generator, classifier: Classifier) -> Lines | None:
    line = pick_line(lines, "leaf", rng)
    if line is None:
        return None
    beta = line["leaf"]["beta"]
    units = sum(len(s.bias) for s in classifier.network.steps[:-1])
    unit = str(int(rng.integers(-1, units + 1)))
    scale = float(rng.choice([-1, 0, 2, 1e6, 1e300, -1e300, np.nan]))
    beta[unit] = scale * beta.get(unit, 1.0)
    return lines


def other_pick(lines: Lines, rng: np.random.Generator, classifier: Classifier) -> Lines | None:
    line = pick_line(lines, "pick", rng)
    if line is None:
        return None
    if "chosen" in line and rng.random() < 0.7:
        line["chosen"] = [c for c in range(-1, 5) if rng.random() < 0.4]
    else:
        line["pick"] = int(rng.integers(classifier.length))
    return lines


def other_word(lines: Lines, rng: np.random.Generator, classifier: Classifier) -> Lines | None:
    line = pick_line(lines, "word", rng)
    if line is None:
        return None
    line["word"] = int(rng.integers(classifier.length))
    return lines


def other_budget(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines | None:
    line = pick_line(lines, "restoration", rng)
    if line is None:
        return None
    line["restoration"]["budget"] += int(rng.choice([-2, -1, 1, 2, 10**6]))
    return lines


def points_of(lines: Lines) -> list[dict[str, Any]]:
    found = [line[key] for line in lines for key in ("point", "attack") if key in line]
    return found + [line["restoration"]["start"] for line in lines if "restoration" in line]


def moved_point(lines: Lines, rng: np.random.Generator, classifier: Classifier) -> Lines | None:
    """A vector is moved, swapped for a word's own, or the positions are changed."""
    found = points_of(lines)
    if not found:
        return None
    point = found[int(rng.integers(len(found)))]
    kind = rng.integers(3)
    if "vectors" in point and kind < 2:
        values = np.frombuffer(base64.b64decode(point["vectors"]["f8"]), "<f8").copy()
        if len(values):
            at = rng.integers(len(values))
            other = [
                0.0,
                -values[at],
                values[at] * 1.5,
                values[at] + 1e-9,
                np.inf,
                classifier.table[3, 0],
            ]
            values[at] = rng.choice(other)
        point["vectors"] = array(values)
    elif "shares" in point and kind < 2:
        point["shares"] = [
            [float(rng.choice([0, 1, -1, 0.3])) for _ in row] for row in point["shares"]
        ]
    else:
        point["changed"] = sorted(
            set(rng.integers(classifier.length, size=len(point["changed"])).tolist())
        )
    return lines


def other_rival(lines: Lines, rng: np.random.Generator, classifier: Classifier) -> Lines | None:
    inner = [value for line in lines for value in line.values() if isinstance(value, dict)]
    named = [data for data in [*lines, *inner] if "rival" in data]
    if not named:
        return None
    named[int(rng.integers(len(named)))]["rival"] = str(rng.choice([*classifier.labels, "label9"]))
    return lines


def other_evidence(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines:
    at = int(rng.integers(1, len(lines)))
    choices = [
        {"cost": True},
        leaf(None),
        {"word": 0},
        {"split": 0},
        {"attack": attack([0])},
        {"prove": "cheapest"},
    ]
    lines[at] = choices[int(rng.integers(len(choices)))]
    return lines


def shorter(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines | None:
    """A word less, with its cost, or a word more."""
    claim = lines[0]["claim"]
    name = next(
        iter(
            {"positions", "of", "exclude"}
            & claim.keys() - {"exclude" if "positions" in claim else ""}
        )
    )
    given = set(claim[name])
    other = int(
        rng.choice(lines[0]["features"] if rng.random() < 0.3 or not given else sorted(given))
    )
    claim[name] = sorted(given ^ {other})
    if "costs" in claim:
        claim["cost"] = sum(claim["costs"][i] for i in claim["positions"])
        claim["lower"] = min(claim["lower"], claim["cost"])
    return lines


def dearer(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines | None:
    """A word more, and everything else as if it were needed."""
    claim = lines[0]["claim"]
    spare = sorted(
        set(lines[0]["features"]) - set(claim.get("positions", ())) - set(claim.get("exclude", ()))
    )
    if "cost" not in claim or not spare:
        return None
    word = int(rng.choice(spare))
    claim["positions"] = sorted([*claim["positions"], word])
    for name in ("cost", "lower"):
        claim[name] += claim["costs"][word]
    for i in lines_with(lines, "restoration"):
        lines[i]["restoration"]["budget"] += claim["costs"][word]
    return lines


def other_limits(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines | None:
    """Words to include or exclude come and go."""
    claim = lines[0]["claim"]
    if "include" not in claim:
        return None
    name = str(rng.choice(["include", "exclude"]))
    claim[name] = sorted(set(claim[name]) ^ {int(rng.choice(lines[0]["features"] or [0]))})
    return lines


def other_cost(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines | None:
    claim = lines[0]["claim"]
    if "cost" not in claim:
        return None
    name = str(rng.choice(["cost", "lower", "both", "costs", "scale"]))
    step = int(rng.choice([-1, 1, 2, 10**17]))
    if name in ("cost", "lower"):
        claim[name] += step
    elif name == "both":
        claim["cost"], claim["lower"] = claim["cost"] + step, claim["lower"] + step
    elif name == "costs":
        claim["costs"][int(rng.integers(len(claim["costs"])))] += step
        claim["cost"] = sum(claim["costs"][i] for i in claim["positions"])
    else:
        claim["costs"], claim["cost"] = [2 * c for c in claim["costs"]], 2 * claim["cost"]
        claim["lower"] = 2 * claim["lower"] - int(rng.integers(2))
        for i in lines_with(lines, "restoration"):
            lines[i]["restoration"]["budget"] = 2 * lines[i]["restoration"]["budget"] + int(
                rng.integers(2)
            )
    return lines


def other_label(lines: Lines, rng: np.random.Generator, classifier: Classifier) -> Lines:
    lines[0]["label"] = str(rng.choice([*classifier.labels, "label9"]))
    return lines


def other_text(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines:
    at = int(rng.integers(len(lines[0]["text"])))
    lines[0]["text"][at] = str(rng.choice([*WORDS, "nowhere", "<PAD>", "W1"]))
    if rng.random() < 0.1:
        lines[0]["text"].append("w0")
    return lines


def other_features(lines: Lines, rng: np.random.Generator, classifier: Classifier) -> Lines:
    lines[0]["features"] = sorted(
        set(lines[0]["features"]) ^ {int(rng.integers(-1, classifier.length + 1))}
    )
    return lines


def other_set(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines:
    data = lines[0]["perturbation"]
    match data["kind"]:
        case "epsilon-ball" if rng.random() < 0.7:
            data["eps"] *= float(rng.choice([0.9, 1.1, 2.0, -1.0, 1e308]))
        case "epsilon-ball":
            data["p"] = [1, 2, "inf", 3, True][int(rng.integers(5))]
        case "knn-box" | "knn-hull" if rng.random() < 0.7:
            data["k"] += int(rng.choice([-1, 1, 2, 50]))
        case "boxes" if rng.random() < 0.7:
            side = str(rng.choice(["lower", "upper"]))
            row = data[side][int(rng.integers(len(data[side])))]
            row[int(rng.integers(len(row)))] += float(rng.choice([-0.5, 0.5, 1e-9, 1e300]))
        case "word-swap" if rng.random() < 0.7:
            word = str(rng.choice(WORDS))
            data["swaps"][word] = rng.permutation([*WORDS, "W0", "nowhere"])[
                : rng.integers(5)
            ].tolist()
        case _:
            data["kind"] = str(rng.choice(["knn-box", "knn-hull", "deletion", "word-swap", "none"]))
    return lines


def other_claim(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines:
    """The same evidence for another kind of claim."""
    claim = lines[0]["claim"]
    kinds = {
        "sufficient": "positions",
        "refuted": "positions",
        "infeasible": "exclude",
        "independent": "of",
    }
    given = claim.get("positions", claim.get("of", claim.get("exclude", [])))
    kind = str(rng.choice(list(kinds)))
    lines[0]["claim"] = {"kind": kind, kinds[kind]: given}
    if claim["kind"] == "cheapest":
        return lines[: lines_with(lines, "prove")[-1]] if rng.random() < 0.5 else lines
    return lines


def other_sets(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines | None:
    """One of all the sets is left out, or another one joins them; the word tree may name another
    one.
    """
    claim = lines[0]["claim"]
    if "sets" not in claim:
        return None
    sets = claim["sets"]
    place = pick_line(lines, "set", rng)
    if rng.random() < 0.4 and place is not None:
        place["set"] = int(rng.integers(-1, len(sets) + 1))
    elif rng.random() < 0.5:
        del sets[int(rng.integers(len(sets)))]
    else:
        sets.append([i for i in lines[0]["features"] if rng.random() < 0.5])
    return lines


def other_flip(lines: Lines, rng: np.random.Generator, classifier: Classifier) -> Lines | None:
    """A flip towards another label, of other words, or of none; nothing cheaper up to
    another cost.
    """
    claim = lines[0]["claim"]
    if "towards" not in claim:
        return None
    kind = int(rng.integers(4))
    if kind == 0:
        claim["towards"] = rng.choice([None, *classifier.labels])
    elif kind == 1:
        claim["positions"] = claim["cost"] = None
        return [line for line in lines if "point" not in line]
    elif kind == 2:
        claim["lower"] += int(rng.choice([-1, 1, 2]))
    else:
        claim["positions"] = [i for i in lines[0]["features"] if rng.random() < 0.5]
        claim["cost"] = sum(claim["costs"][i] for i in claim["positions"])
    return lines


def other_limit(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines:
    """More words, or fewer, may change at once."""
    data = lines[0]["perturbation"]
    data["at_most"] = data.get("at_most", 1) + int(rng.integers(-1, 3))
    if rng.random() < 0.3:
        del data["at_most"]
    return lines


def other_digest(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines:
    lines[0]["model"] = "0" * 64
    return lines


def other_number(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines:
    """Some value somewhere becomes absurd."""
    paths = list(places(lines))
    value = HOSTILE_VALUES[int(rng.integers(len(HOSTILE_VALUES)))]
    return put(lines, paths[int(rng.integers(len(paths)))], value)  # type: ignore[no-any-return]


def same(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines:
    return lines


MUTATIONS: list[Mutation] = [
    *(
        drop,
        repeat,
        reorder,
        cut_off,
        flip_sides,
        too_little,
        other_unit,
        other_alpha,
        other_beta,
        other_pick,
    ),
    *(
        other_word,
        other_budget,
        moved_point,
        other_rival,
        other_evidence,
        shorter,
        dearer,
        other_limits,
        other_cost,
    ),
    *(
        other_label,
        other_text,
        other_features,
        other_set,
        other_claim,
        other_digest,
        other_number,
        same,
    ),
]


# for those who can tell what is true of such claims: of all sets, of flips, and with a limit on
# changes
def anywhere(lines: Lines, rng: np.random.Generator, _: Classifier) -> Lines:
    """Something else anywhere."""
    return forged(lines, rng)[1]


MORE_MUTATIONS: list[Mutation] = [*MUTATIONS, other_sets, other_flip, other_limit, *[anywhere] * 4]


def other_weight(classifier: Classifier, rng: np.random.Generator) -> Classifier:
    """The classifier with one number changed: a weight, a bias or a coordinate of a word."""
    steps = list(classifier.network.steps)
    at = int(rng.integers(len(steps) + 1))
    scale = float(rng.choice([0.0, -1.0, 1.1, 0.5]))
    if at == len(steps):
        table = classifier.table.copy()
        table[tuple(rng.integers(table.shape))] *= scale
        return replace(classifier, embedding=table)
    weight = steps[at].dense().copy()
    bias = steps[at].bias.copy()
    if rng.random() < 0.7:
        weight[tuple(rng.integers(weight.shape))] *= scale
    else:
        bias[rng.integers(len(bias))] += float(rng.normal())
    steps[at] = replace(steps[at], weight=weight, bias=bias)
    return replace(classifier, network=Network(tuple(steps)))


def mutants(
    seed: int, count: int, among: Sequence[Source], mutations: Sequence[Mutation] = MUTATIONS
) -> Iterator[tuple[str, Classifier, Lines]]:
    """Certificates changed in one or two places, for the right or for a slightly different
    classifier.
    """
    rng = np.random.default_rng(seed)
    made = 0
    while made < count:
        source = among[int(rng.integers(len(among)))]
        lines = source.lines
        names = list[str]()
        for mutation in rng.choice(mutations, int(rng.choice([1, 1, 2]))):  # type: ignore[arg-type]
            changed = mutated(mutation, lines, rng, source.classifier)
            lines, names = (
                (lines, names) if changed is None else (changed, [*names, mutation.__name__])
            )
        classifier = source.classifier
        if rng.random() < 0.15 and isinstance(lines[0], dict) and "model" in lines[0]:
            classifier = other_weight(classifier, rng)
            lines = [{**lines[0], "model": classifier.digest}, *lines[1:]]
            names = [*names, "other weight"]
        if names:
            made += 1
            yield f"{source.name}: {', '.join(names)}", classifier, lines


def mutated(
    mutation: Mutation, lines: Lines, rng: np.random.Generator, classifier: Classifier
) -> Lines | None:
    """None where there is nothing to change, be it because an earlier mutation broke it."""
    try:
        return mutation(copy.deepcopy(lines), rng, classifier) or None
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, StopIteration):
        return None


def false_claims(
    found: Iterator[tuple[str, Classifier, Lines]], seen: Counter[str]
) -> Iterator[str]:
    """The mutants that are accepted though what they state is false."""
    for number, (name, classifier, lines) in enumerate(found):
        answer = verdict(lines, classifier, packed=number % 2 == 0)
        seen[type(answer).__name__] += 1
        if isinstance(answer, Checked):
            said = (answer.kind, answer.label, list(answer.positions))
            claim = lines[0]["claim"]
            about = claim.get("positions", claim.get("of", claim.get("exclude")))
            if said != (claim["kind"], lines[0]["label"], about) or not is_true(classifier, lines):
                yield name


def test_the_sources_cover_every_set_and_every_claim():
    kinds = Counter(source.lines[0]["claim"]["kind"] for source in sources(12))
    used = {key for source in sources(12) for line in source.lines for key in line}
    assert set(kinds) == {"sufficient", "independent", "cheapest", "infeasible", "refuted"}
    assert {"split", "leaf", "pick", "word", "cost", "attack", "restoration", "point"} <= used
    assert {source.name.split()[0] for source in sources(12)} == set(SETS)


def test_every_certificate_of_the_prover_is_accepted_and_true():
    for source in sources(12):
        answer = verdict(source.lines, source.classifier, packed=True)
        assert isinstance(answer, Checked), f"{source.name}: {answer}"
        assert is_true(source.classifier, source.lines), source.name


def test_sparse_weights_are_checked_like_others():
    for source in sources(4):
        steps = tuple(
            replace(step, weight=sparse.csr_array(step.weight))
            for step in source.classifier.network.steps
        )
        same_numbers = replace(source.classifier, network=Network(steps))
        assert verdict(source.lines, same_numbers) == verdict(source.lines, source.classifier)


def test_no_mutant_that_states_something_false_is_accepted():
    seen: Counter[str] = Counter()
    assert list(false_claims(mutants(1, MUTANTS, sources(12)), seen)) == []
    assert sum(seen.values()) >= 2000
    assert seen["Rejected"] > 1000
    assert seen["Checked"] > 150  # or the truth would hardly be asked


# --- the suite can fail: a checker with a bug lets something false pass ---


def any_bound(self: Any, inputs: Any, sign: float, leaves: list[Any]) -> Any:
    return np.ones(len(leaves), dtype=bool)


def at_the_text_only(self: Any, rows: Any, states: Any) -> Any:
    return np.broadcast_to(
        rows @ self.sets.center.ravel(), (max(len(rows), len(states)), rows.shape[1])
    )


def nothing_restored(self: Any, rows: Any, states: Any) -> Any:
    return np.stack(
        [rows[min(i, len(rows) - 1)] @ state.perturbed.ravel() for i, state in enumerate(states)]
    )


def one_side_is_enough(self: Any, root: Any, visit: Any) -> None:
    """A walk that enters the first side only."""
    while sides := visit(self.evidence.take(), root):
        root = sides[0]


def any_stated(self: Any, leaf: Any) -> None:
    if leaf.lemma is None:
        ENQUEUE(self, leaf)


def without_last_rival(self: Any, *given: Any) -> None:
    INIT(self, *given)
    self.rivals = dict(list(self.rivals.items())[:1])


def any_positions(values: Any, within: Any, what: str) -> Any:
    return np.isin(np.arange(len(within)), values)


INIT = evidence.EvidenceCheck.__init__
ENQUEUE = evidence.EvidenceCheck.enqueue
BUGS = {
    "every leaf holds": [(network.NetworkBounds, "leaf_holds", any_bound)],
    "free words do not move": [(inputs.VariedInputs, "least_values", at_the_text_only)],
    "nothing is restored": [(inputs.Restorations, "least_values", nothing_restored)],
    "one side of a node is enough": [(evidence.EvidenceCheck, "read_tree", one_side_is_enough)],
    "one rival is enough": [(evidence.EvidenceCheck, "__init__", without_last_rival)],
    "a bound need not be shown": [(evidence.EvidenceCheck, "enqueue", any_stated)],
    "any vector is in the set": [(sets.Sets, "contains", lambda self, place, vector: True)],
    "any point is a counterexample": [(points.PointMargins, "sign", lambda self, point, rival: 0)],
    "any position is allowed": [
        (module, "read_positions", any_positions) for module in (headers, points)
    ],
}


def false_by_hand() -> Iterator[tuple[str, Classifier, Lines]]:
    """Certificates of false claims that lack just one thing."""
    half = classifier_of(
        Network.dense([([[1.0]], [0.0]), ([[-1.0], [0.0]], [0.1, 0.0])]), {"a": 0.0}, 1
    )
    yield (
        "x > 0 is left out",
        half,
        [header(half, ["a"], BALL, SUFFICIENT), against("label1"), {"split": 0}, leaf([0])],
    )
    bound = {"bound": 0, "most": 0.0, **leaf([0])}
    yield (
        "a unit is bounded",
        half,
        [header(half, ["a"], BALL, SUFFICIENT), against("label1"), bound, leaf([0])],
    )
    rows = [[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    third = classifier_of(Network.dense([(rows, [0.0, -0.5, 0.5])]), {"a": 1.0, "b": 1.0}, 2)
    claim = {"kind": "sufficient", "positions": [1]}
    yield (
        "a rival is left out",
        third,
        [header(third, ["a", "b"], GONE, claim), against("label1"), leaf()],
    )
    yield "a word too many", both(0.5), both_lines(both(0.5), lower=2, budget=1)
    far = {**attack([1]), "vectors": array([-100.0])}
    yield (
        "a vector out of its set",
        both(0.5),
        point_lines(both(0.5), {"kind": "refuted", "positions": [0]}, far),
    )


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_a_rule_of_the_checker_would_be_found(bug, monkeypatch):
    found = itertools.chain(false_by_hand(), mutants(1, MUTANTS, sources(12)))
    assert list(false_claims(false_by_hand(), Counter())) == []
    for part in BUGS[bug]:
        monkeypatch.setattr(*part)
    assert next(false_claims(found, Counter()), None) is not None


# --- the house rules of the checker ---


def modules() -> list[Path]:
    return sorted(FOLDER.glob("*.py"))


def test_the_checker_imports_nothing_of_the_prover():
    """Of the model only the data, and how words are read: neither its curves nor its steps'
    arithmetic.
    """
    data = (
        "errors",
        "model.text",
        "model.network",
        "model.classifier",
        "model.tokenizers",
        "proof.certificate",
    )
    allowed = {*(f"suffice.{name}" for name in data), "numpy", "scipy", *sys.stdlib_module_names}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found = {name if name.startswith("suffice") else name.split(".")[0] for name in names}
            assert {name for name in found if not name.startswith("suffice.proof.check")} <= allowed
            assert not isinstance(node, ast.ImportFrom) or node.level == 0
            assert getattr(node, "id", "") not in ("__import__", "importlib", "eval", "exec")


def test_the_checker_uses_no_arithmetic_of_the_model():
    """Of a step it takes the arrays, of a classifier its data: what they compute is worked out
    anew.
    """
    theirs = {
        "apply",
        "activate",
        "slopes",
        "dense",
        "magnified",
        "forward",
        "predict",
        "predict_input",
        "embed",
    }
    theirs |= {"index_of", "each_once", "bent"}
    for path in modules():
        used = {
            (getattr(node.value, "id", ""), node.attr)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Attribute)
        }
        assert not {
            (owner, name)
            for owner, name in used
            if name in theirs and owner in ("step", "classifier")
        }
        assert not {name for _, name in used} & (theirs - {"bent"})


@pytest.mark.parametrize("page", ["README.md", "docs/guarantees.md"])
def test_the_size_that_the_docs_state_is_todays(page):
    """Lines that are neither empty nor a comment nor part of a docstring."""
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    stated = [
        int(number.replace(",", ""))
        for number in re.findall(r"checker \(([0-9,]+) lines of code\)", text)
    ]
    assert stated, "the page does not say how large the checker is"
    assert set(stated) == {sum(code_lines(path) for path in modules())}


def code_lines(path: Path) -> int:
    source = path.read_text(encoding="utf-8")
    inner = (ast.Module, ast.ClassDef, ast.FunctionDef)
    said = [
        node.body[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, inner) and ast.get_docstring(node)
    ]
    docs = {
        line for node in said for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(source.splitlines(), 1)
    return sum(
        1
        for number, line in lines
        if number not in docs and line.strip() and not line.strip().startswith("#")
    )


def seen(
    perturbation: Any, classifier: Classifier, question: Any
) -> tuple[sets.Sets, network.NetworkBounds]:
    """What the checker makes of a question's sets and network."""
    mask = question.problem.features
    claim = headers.Sufficient(~mask & mask)
    tokens = question.text.tokens
    label = classifier.labels[question.problem.label]
    head = headers.Header("", tokens, perturbation.to_dict(), mask, label, "sufficient", claim)
    limit = limits.Limit.of(60)
    found = sets.read_sets(head, classifier, limit)
    return found, network.NetworkBounds(
        classifier.network.steps, question.problem.label, found, limit
    )


@pytest.mark.parametrize(
    "perturbation", [sf.KNNBox(3), sf.KNNHull(2), sf.EpsilonBall(0.3), sf.Deletion()]
)
def test_the_checker_and_the_prover_start_from_the_same_intervals(perturbation):
    """Where they do not, a unit can be stable for one and not for the other, and a sound proof be
    rejected.
    """
    for seed in range(6):
        classifier = make_classifier(seed, length=6, hidden=(5, 4), classes=3)
        # some padding
        question = Question(classifier, make_text(seed, 4), perturbation=perturbation)
        form = PreparedProblem.of(question.problem)
        features = question.problem.features
        assert not features.all()
        known = seen(perturbation, classifier, question)[1].intervals_of_step
        for (least, most), mine in zip(form.interval, known[:-1], strict=True):
            np.testing.assert_allclose(
                np.array([least, most]), np.array([mine.lower, mine.upper]), rtol=1e-6, atol=1e-6
            )


def test_the_checker_sees_every_contradiction_between_splits_that_the_prover_sees():
    """A leaf may be closed because its splits cannot all hold: what shows that must be visible to
    both.
    """
    found = 0
    for seed in range(40):
        classifier = make_classifier(seed, length=5, hidden=(12, 12), classes=2)
        box = sf.KNNBox(3)
        text = make_text(seed, 5)
        question = Question(classifier, text, perturbation=box)
        form = PreparedProblem.of(question.problem)
        problem = question.problem
        region, net = seen(box, classifier, question)
        marks = (
            np.random.default_rng(seed)
            .choice([-1, 0, 1], size=(100, form.unit_count))
            .astype(np.int8)
        )
        free = Free(problem.region, np.repeat(problem.features[None], len(marks), 0))
        marks[:, ~intermediate_bounds(form, free).unstable[0]] = 0  # only open units are ever split
        impossible = marks[intermediate_bounds(form, free, marks).infeasible]
        found += len(impossible)
        varied = inputs.VariedInputs(region)
        nothing = np.zeros(form.unit_count)
        state = varied.initial_state(problem.features)
        ends = np.stack([nothing - np.inf, nothing + np.inf])
        leaf = Leaf(0, problem.rivals[0], marks[0], nothing * np.nan, nothing, state, ends)
        leaves = [replace(leaf, signs=mark) for mark in impossible]
        assert not leaves or net.leaf_holds(varied, 1.0, leaves).all()
    assert found > 100

"""Certificates forged by hand: each would pass if one rule were missing, and both checkers refuse
it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_check import (
    BALL,
    GONE,
    SUFFICIENT,
    against,
    array,
    attack,
    beta_lines,
    both,
    both_lines,
    cheapest,
    classifier_of,
    hat,
    hat_lines,
    header,
    leaf,
    needs_beta,
    pack,
    point_lines,
    word_tree,
)

import suffice as sf
from suffice.model.classifier import Classifier
from suffice.model.network import Network, Step
from suffice.proof import check_exact

Forged = tuple[str, Classifier, bytes]
REFUTED = {"kind": "refuted", "positions": [0]}
FLIP = {
    "kind": "flip",
    "positions": [0, 1],
    "towards": None,
    "costs": [1, 1],
    "unit": "1",
    "cost": 2,
    "lower": 2,
}


def falls(lift: float = 0.1) -> Classifier:
    """One word x at 0; margin = lift - relu(x): lost from x = lift on."""
    return classifier_of(
        Network.dense([([[1.0]], [0.0]), ([[-1.0], [0.0]], [lift, 0.0])]), {"a": 0.0, "b": 1.0}, 1
    )


def three() -> Classifier:
    """Three labels; without the first word the third wins."""
    rows = [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    return classifier_of(Network.dense([(rows, [0.0, -1.0, 0.5])]), {"a": 1.0, "b": 1.0}, 2)


def falling(*lines: Any, **more: Any) -> list[Any]:
    return [
        header(falls(), ["a"], {**BALL, **more.pop("ball", {})}, SUFFICIENT),
        against("label1"),
        *lines,
    ]


def in_text(lines: list[Any], old: str, new: str) -> bytes:
    """The file with something in it that Python's JSON writer would not write."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    assert old in text
    return gzip.compress(text.replace(old, new).encode())


def trees() -> Iterator[tuple[str, Classifier, list[Any]]]:
    """Proofs that leave out a case, or count one twice."""
    yield "no second side", falls(), falling({"split": 0}, leaf([0]))
    yield (
        "the good side twice, the bad one never",
        falls(),
        falling({"split": 0}, {"split": 0}, leaf([0]), leaf([0])),
    )
    yield "a split on a unit of the last step", falls(), falling({"split": 1}, leaf([0]), leaf([0]))
    yield (
        "the last rival is missing",
        three(),
        [
            header(three(), ["a", "b"], GONE, {"kind": "sufficient", "positions": [1]}),
            *[against("label1"), leaf()],
        ],
    )
    yield (
        "one rival twice",
        three(),
        [
            header(three(), ["a", "b"], GONE, {"kind": "sufficient", "positions": [1]}),
            *[against("label1"), leaf(), against("label1"), leaf()],
        ],
    )
    swap = {"kind": "word-swap", "swaps": {"a": ["b"]}}
    for chosen in ([0, 1], [0, 0], [], [2], [-1]):
        lines = [
            header(falls(), ["a"], swap, SUFFICIENT),
            against("label1"),
            {"pick": 0, "chosen": chosen},
        ]
        yield (
            f"a pick of {chosen} that leaves out the bad choice",
            falls(),
            [*lines, leaf([0]), leaf([0])],
        )
    yield (
        "a pick of a word that must be paid for",
        both(0.5),
        [
            header(
                both(0.5),
                ["a", "b"],
                {**GONE, "at_most": 1},
                {"kind": "sufficient", "positions": []},
            ),
            *[against("label1"), {"pick": 0}, {"pick": 1}, leaf(), leaf(), leaf()],
        ],
    )
    yield (
        "an open word is called held and out",
        both(),
        word_tree({"word": 0}, {"cost": True}, {"cost": True}),
    )
    yield (
        "a node of the word tree is left out",
        both(),
        word_tree({"word": 0}, {"word": 1}, {"cost": True}),
    )


def numbers() -> Iterator[tuple[str, Classifier, list[Any]]]:
    """Multipliers, slopes and vectors that would help if they were believed."""
    for beta in (-1.0, -1e-300, True, "1", None, [1.0]):
        yield (
            f"a multiplier of {beta!r}",
            needs_beta(-0.1),
            beta_lines(needs_beta(-0.1), beta, beta),
        )  # type: ignore[arg-type]
    for slope in (-9.0, 9.0, 1e300, np.nan, np.inf, -np.inf):
        chosen = {"leaf": {"alpha": array([slope]), "beta": {}}}
        yield f"a slope of {slope}", falls(), falling(chosen)
    yield "too many slopes", falls(), falling(leaf([0, 0]))
    for name in ("-1", "1", "00", "+0", "0.0", " 0", "٠", "0_0"):
        yield (
            f"a multiplier of unit {name!r}",
            needs_beta(-0.1),
            [
                *beta_lines(needs_beta(-0.1))[:3],
                *[{"leaf": {"alpha": None, "beta": {name: 1.0}}}] * 2,
            ],
        )
    for value in (np.nan, np.inf, -np.inf, -100.0):
        point = {**attack([1]), "vectors": array([value])}
        yield f"a vector of {value}", both(0.5), point_lines(both(0.5), REFUTED, point)
    hull = {"kind": "knn-hull", "k": 1}
    for shares in (
        [2, -1],
        [0, 0],
        [1],
        [-1e-9, 1],
        [True, False],
        [1, 0, 1],
        [1e308, 1e308],
        ["0", "1"],
    ):
        point = {"changed": [0], "shares": [shares], "rival": "label1"}
        yield (
            f"shares {shares}",
            falls(2.0),
            [
                header(falls(2.0), ["a"], hull, {"kind": "refuted", "positions": []}),
                {"point": point},
            ],
        )


def claims() -> Iterator[tuple[str, Classifier, list[Any]]]:
    """More is claimed than the evidence shows."""
    good = both_lines(both())
    yield "another label", both(), [{**good[0], "label": "label1"}, *good[1:]]
    yield (
        "the label is its own rival",
        both(0.5),
        point_lines(both(0.5), REFUTED, attack([], "label0")),
    )
    yield (
        "another text",
        both(0.5),
        [{**both_lines(both(0.5))[0], "text": ["a", "<PAD>"]}, *both_lines(both(0.5))[1:]],
    )
    yield "a longer text", both(), [{**good[0], "text": ["a", "b", "b"]}, *good[1:]]
    yield "the same words in capitals", both(), [{**good[0], "text": ["A", "b"]}, *good[1:]]
    yield "half a character", both(), [{**good[0], "text": ["\ud800", "b"]}, *good[1:]]
    yield "features of another kind", both(), [{**good[0], "features": [False, True]}, *good[1:]]
    yield "features twice", both(), [{**good[0], "features": [0, 1, 1]}, *good[1:]]
    yield "sets that are numbers", both(), [{**good[0], "perturbation": 2}, *good[1:]]
    yield "a lower bound too high", both(0.5), both_lines(both(0.5))
    yield "a budget too low", both(0.5), both_lines(both(0.5), lower=2, budget=0)
    for budget in (-1, 1.0, True, 2**53, 10**400, None):
        yield (f"a budget of {str(budget)[:9]}"), both(), both_lines(both(), budget=budget)  # type: ignore[arg-type]
    for limit in (0, -1, True, 1.0, None, "1"):
        yield (
            f"at most {limit!r}",
            both(),
            [{**good[0], "perturbation": {**GONE, "at_most": limit}}, *good[1:]],
        )
    for cost in (0, -1, True, 1.0, 2**53, 10**400):
        claim = {**cheapest([0, 1], 2, [1, 1]), "costs": [1, cost]}
        yield f"a cost of {str(cost)[:9]}", both(), [{**good[0], "claim": claim}, *good[1:]]
    for unit in ("0", "-1", "1/0", "1e3", "١", "1/", "0x1", ""):
        yield (
            f"a unit of {unit!r}",
            both(),
            [{**good[0], "claim": {**good[0]["claim"], "unit": unit}}, *good[1:]],
        )
    flips = {"point": attack([0, 1])}
    yield (
        "a flip that costs nothing",
        both(),
        [header(both(), ["a", "b"], GONE, {**FLIP, "cost": 0, "lower": 0}), flips],
    )
    yield "no cheaper flip, unproved", both(), [header(both(), ["a", "b"], GONE, FLIP), flips]
    yield (
        "no cheaper flip, though one word does it",
        both(),
        [
            header(both(), ["a", "b"], GONE, FLIP),
            *[flips, {"prove": "flip", "rival": "label1"}, leaf()],
        ],
    )
    yield (
        "a flip of fewer words than said",
        both(),
        [header(both(), ["a", "b"], GONE, {**FLIP, "lower": 0}), {"point": attack([0])}],
    )
    every = {
        "kind": "all",
        "sets": [[0, 1], [0, 1]],
        "costs": [1, 1],
        "unit": "1",
        "include": [],
        "exclude": [],
        "cost": 2,
    }
    yield (
        "a set twice",
        both(),
        [{**good[0], "claim": every}, *good[1:3], *good[1:3], {"prove": "all"}, *good[4:]],
    )
    alone = {**every, "sets": [[0, 1]]}
    yield (
        "a set that closes a node with open words",
        both(),
        [
            {**good[0], "claim": alone},
            *good[1:3],
            {"prove": "all"},
            {"set": 0},
        ],
    )
    yield (
        "a start that changes a held word",
        both(),
        word_tree(
            {"word": 0},
            {
                "restoration": {
                    "start": {"changed": [0, 1], "vectors": array([0, 0])},
                    "rival": "label1",
                    "budget": 1,
                }
            },
            *[leaf(), {"attack": attack([0])}],
        ),
    )
    yield (
        "more words change than may",
        both(),
        [
            header(
                both(), ["a", "b"], {**GONE, "at_most": 1}, {"kind": "refuted", "positions": []}
            ),
            {"point": attack([0, 1])},
        ],
    )
    yield "a black box", both(), [{**good[0], "certificate": "asked 2"}, *good[1:]]
    yield "evidence left over", both(), [*good, leaf()]


def files() -> Iterator[Forged]:
    """What JSON and gzip let through."""
    ball = falling(leaf([0]))
    good = both_lines(both())
    for huge in (
        "1e999",
        "-1e999",
        "NaN",
        "Infinity",
        "1" + "0" * 400,
        "1" * 5000,
        "-2.0",
        '"2.0"',
        "true",
    ):
        yield f"a radius of {huge[:9]}", falls(), in_text(ball, '"eps": 2.0', f'"eps": {huge}')
    for huge in ("1e999", "NaN", "1" + "0" * 400):
        lines = beta_lines(needs_beta(-0.1), 0.5, 0.5)
        yield f"a multiplier of {huge[:9]}", needs_beta(-0.1), in_text(lines, "0.5", huge)
    yield "a radius twice", falls(), in_text(ball, '"eps": 2.0', '"eps": 2.0, "eps": 0.0')
    yield (
        "a claim twice",
        both(),
        in_text(good, '"claim":', '"claim": {"kind": "sufficient", "positions": []}, "claim":'),
    )
    yield "slopes twice", falls(), in_text(ball, '"alpha":', '"alpha": null, "alpha":')
    yield "a second file behind the first", both(), pack(good) + pack(good)
    yield "a second header", both(), pack([good[0], *good])
    yield "a whole number with a point", both(), in_text(good, '"budget": 1', '"budget": 1.0')
    yield "base64 with a space", falls(), in_text(ball, '{"f4": "', '{"f4": " ')
    yield (
        "spaces for lines",
        both(),
        gzip.compress(" ".join(json.dumps(line) for line in good).encode()),
    )


@cache
def forged() -> dict[str, Forged]:
    packed = (
        (name, model, pack(lines))
        for part in (trees, numbers, claims)
        for name, model, lines in part()
    )
    found = [*packed, *files()]
    assert len({name for name, _, _ in found}) == len(found)
    return {name: (name, model, data) for name, model, data in found}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("model")


def test_what_the_forgeries_are_made_from_is_accepted(folder):
    small = {**BALL, "eps": 0.05}
    proved = [header(falls(), ["a"], small, SUFFICIENT), against("label1"), leaf([0])]
    made = [
        (falls(), proved),
        (hat(0.1), hat_lines(hat(0.1))),
        (needs_beta(0.1), beta_lines(needs_beta(0.1))),
    ]
    for classifier, lines in [*made, (both(), both_lines(both()))]:
        classifier.save(folder)
        assert sf.check(pack(lines), classifier)
        assert check_exact.check(pack(lines), check_exact.load(folder))


@pytest.mark.parametrize("name", forged())
def test_a_forged_certificate_is_refused_by_both(name, folder):
    _, classifier, data = forged()[name]
    classifier.save(folder)
    with pytest.raises((sf.Rejected, sf.NotACertificate)):
        print(sf.check(data, classifier).sentence)
    with pytest.raises((check_exact.Reject, check_exact.Unreadable, check_exact.NotForThis)):
        print(check_exact.check(data, check_exact.load(folder)))


def test_a_maximum_gives_its_value_at_the_first_unit_that_is_listed():
    """Unit 1 of [1, 0] counts against the label, the weight of unit 0 plays no part; large, so that
    sums are tried.
    """
    units = 1000
    size = 500
    weight = np.zeros((units, 2 * size))
    last = np.zeros((2, units))
    plain = np.zeros(units, dtype=bool)
    weight[:2, 0] = 1.0
    last[0, :2] = (5.0, -5.0)
    groups = (np.array([1, 0]), *(np.array([unit]) for unit in range(2, units)))
    steps = (
        Step(weight, np.zeros(units), plain, (), groups),
        Step(last, np.array([1.0, 0.0]), plain[:2]),
    )
    table = np.zeros((4, size))
    table[0, 0] = 1.0
    classifier = Classifier(
        Network(steps), table, ["<PAD>", "<UNK>", "a", "b"], ["label0", "label1"], 2
    )
    assert classifier.predict(["<PAD>", "b"]).label == "label1"
    lines = [
        header(classifier, ["a", "b"], GONE, {"kind": "sufficient", "positions": [1]}),
        against("label1"),
    ]
    with pytest.raises(sf.Rejected):
        print(sf.check(pack([*lines, leaf(None)]), classifier).sentence)


@pytest.mark.parametrize("kind", ["relu", "maximum"])
def test_scores_have_no_activation(kind, tmp_path):
    """max(0, score) ties where score does not: bounds, which take the last step as it is, would be
    wrong.
    """
    relu = np.full(2, kind == "relu")
    groups = () if kind == "relu" else (np.array([0, 1]),)
    network = Network((Step(np.array([[1.0], [0.0]]), np.array([-1.0, -2.0]), relu, (), groups),))
    table = np.array([[0.0], [0.0], [0.5]])
    classifier = Classifier(network, table, ["<PAD>", "<UNK>", "a"], ["label0", "label1"], 1)
    claim = {"kind": "sufficient", "positions": []}
    data = pack(
        [header(classifier, ["a"], GONE, claim, label="label0"), against("label1"), leaf(None)]
    )
    with pytest.raises(sf.Rejected):
        print(sf.check(data, classifier).sentence)
    classifier.save(tmp_path)
    with pytest.raises(check_exact.Unreadable):
        check_exact.load(tmp_path)

"""Truth by enumeration: a classifier, a text and its allowed texts, every one of them tried, in
fractions.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from suffice.model.classifier import Classifier
from suffice.model.network import Network, Step

WORDS = [f"w{i}" for i in range(6)]
KINDS = ["deletion", "mask", "word-swap", "removal-or-swap"]
CLOSE = 1e-9  # of the sums: doubles that are further from zero have the right sign


# --- scores without rounding ---


@dataclass(frozen=True, eq=False)
class Whole:
    """A step in whole numbers: its weights and biases are these times 2^-power."""

    rows: list[list[int]]
    bias: list[int]
    power: int
    relu: list[bool]
    maxima: list[list[int]]


def whole_step(step: Step) -> Whole:
    rows = step.dense().tolist()
    bias = step.bias.tolist()
    power = power_of([v for row in (*rows, bias) for v in row])
    groups = [group.tolist() for group in step.maxima]
    return Whole(
        [scaled_up(row, power) for row in rows],
        scaled_up(bias, power),
        power,
        step.relu.tolist(),
        groups,
    )


def power_of(values: Sequence[float]) -> int:
    """The least power of two that makes whole numbers of all."""
    return max((v.as_integer_ratio()[1].bit_length() - 1 for v in values), default=0)


def scaled_up(values: Sequence[float], power: int) -> list[int]:
    return [
        above << power - (below.bit_length() - 1)
        for above, below in (v.as_integer_ratio() for v in values)
    ]


def exact_scores(steps: Sequence[Whole], inputs: list[float]) -> list[Fraction]:
    power = power_of(inputs)
    values = scaled_up(inputs, power)
    for step in steps:
        sums = [
            sum(w * v for w, v in zip(row, values, strict=True)) + (b << power)
            for row, b in zip(step.rows, step.bias, strict=True)
        ]
        power += step.power
        values = [max(z, 0) if relu else z for z, relu in zip(sums, step.relu, strict=True)]
        for group in step.maxima:
            for unit in group:
                values[unit] = max(sums[other] for other in group) if unit == group[0] else 0
    return [Fraction(value, 1 << power) for value in values]


def rough_scores(steps: Sequence[Step], inputs: Any) -> tuple[Any, Any]:
    """Scores (n, labels) of inputs (n, words, dimension) in doubles, and how large the sums behind
    them are.
    """
    values = inputs.reshape(len(inputs), -1)
    sizes = np.abs(values)
    for step in steps:
        weight = step.dense()
        sums = values @ weight.T + step.bias
        sizes = sizes @ np.abs(weight).T + np.abs(step.bias)
        values = np.where(step.relu, np.maximum(sums, 0), sums)
        for group in step.maxima:
            values[:, group], largest = 0, sizes[:, group].max(1)
            values[:, group[0]] = sums[:, group].max(1)
            sizes[:, group[0]] = largest
    return values, sizes


# --- small questions ---


@dataclass(frozen=True, eq=False)
class Case:
    """A classifier and a text of which each word has a few choices, the first being itself."""

    classifier: Classifier
    tokens: tuple[str, ...]
    data: dict[str, Any]
    choices: list[list[int]]  # places in the vocabulary
    costs: list[int]

    @property
    def length(self) -> int:
        return len(self.tokens)

    @property
    def at_most(self) -> int:
        return int(self.data.get("at_most", self.length))

    @cached_property
    def label(self) -> int:
        scores = [-self.margin((0,) * self.length, 0, j) for j in range(self.classes)]
        return scores.index(max(scores))

    @property
    def classes(self) -> int:
        return len(self.classifier.labels)

    @property
    def rivals(self) -> list[int]:
        return [j for j in range(self.classes) if j != self.label]

    @cached_property
    def known(self) -> dict[tuple[int, ...], list[Fraction]]:
        return {}

    def margin(self, text: Sequence[int], label: int, rival: int) -> Fraction:
        """Exactly, by adding up whole numbers."""
        key = tuple(text)
        if key not in self.known:
            rows = [self.choices[i][c] for i, c in enumerate(key)]
            self.known[key] = exact_scores(self.exact, self.classifier.table[rows].ravel().tolist())
        scores = self.known[key]
        return scores[label] - scores[rival]

    @cached_property
    def exact(self) -> list[Whole]:
        return [whole_step(step) for step in self.classifier.network.steps]

    @cached_property
    def moved(self) -> list[list[bool]]:
        """Of every choice of every word, whether its vector is another one than the word's own."""
        table = self.classifier.table
        return [[bool((table[new] != table[row[0]]).any()) for new in row] for row in self.choices]

    def changed(self, text: Sequence[int]) -> set[int]:
        """The positions with another vector."""
        return {i for i, choice in enumerate(text) if self.moved[i][choice]}

    def texts(self, free: set[int]) -> Iterator[tuple[int, ...]]:
        """All texts that change free words only, and no more than may change at once."""
        options = [range(len(row)) if i in free else range(1) for i, row in enumerate(self.choices)]
        return (
            text for text in itertools.product(*options) if len(self.changed(text)) <= self.at_most
        )

    @cached_property
    def all_flips(self) -> list[tuple[tuple[int, ...], int]]:
        """Every allowed text that lets a rival reach the label, with the rival, exactly where
        doubles are close.
        """
        texts = list(self.texts({*range(self.length)}))
        label = self.label
        rows = [[self.choices[i][c] for i, c in enumerate(text)] for text in texts]
        scores, sizes = rough_scores(self.classifier.network.steps, self.classifier.table[rows])
        margins = scores[:, [label]] - scores
        slack = CLOSE * (sizes[:, [label]] + sizes)
        lost = margins < -slack
        close = np.abs(margins) <= slack
        pairs = ((n, int(j)) for n, j in np.argwhere(lost | close) if j != label)
        return [
            (texts[n], j) for n, j in pairs if lost[n, j] or self.margin(texts[n], label, j) <= 0
        ]

    def flips(
        self, free: set[int], rivals: Sequence[int] | None = None
    ) -> list[tuple[tuple[int, ...], int]]:
        """Texts that let a rival (one of these, if given) reach the label and change free words
        only.
        """
        aims = self.rivals if rivals is None else rivals
        fixed = [i for i in range(self.length) if i not in free]
        return [
            (text, j) for text, j in self.all_flips if j in aims and not any(text[i] for i in fixed)
        ]

    def cost(self, places: Any) -> int:
        return sum(self.costs[i] for i in places)

    def header(self, claim: dict[str, Any]) -> dict[str, Any]:
        return {
            "certificate": 2,
            "model": self.classifier.digest,
            "text": list(self.tokens),
            "perturbation": self.data,
            "features": list(range(self.length)),
            "label": self.classifier.labels[self.label],
            "claim": claim,
        }

    @property
    def priced(self) -> dict[str, Any]:
        return {"costs": self.costs, "unit": "1/2"}

    def point(self, text: Sequence[int], rival: int) -> dict[str, Any]:
        where = sorted(self.changed(text))
        rows = self.classifier.table[[self.choices[i][text[i]] for i in where]]
        vectors = {"f8": base64.b64encode(rows.astype("<f8").tobytes()).decode()}
        return {"changed": where, "vectors": vectors, "rival": self.classifier.labels[rival]}


def make_case(kind: str, seed: int, at_most: bool) -> Case:
    rng = np.random.default_rng([seed, at_most, *map(ord, kind)])
    classifier = make_classifier(rng, whole=seed % 3 == 0)
    return make_question(
        classifier, kind, rng, at_most, "w1" if seed % 2 else None, equal=seed % 2 == 1
    )


def make_classifier(rng: np.random.Generator, whole: bool, tiny: bool = False) -> Classifier:
    """Two to four words; weights that are small whole numbers, so that scores tie, or others."""
    length = int(rng.integers(2, 5))
    size = int(rng.integers(1, 3))
    classes = int(rng.integers(2, 4))
    hidden = [(), (3,), (2, 2)][int(rng.integers(3))]
    if tiny:
        length = 4
        size = 1
        classes = 2
        hidden = [(), (1,), (2,), (1, 1)][int(rng.integers(4))]

    def numbers(*shape: int) -> Any:
        return rng.integers(-2, 3, shape).astype(float) if whole else rng.standard_normal(shape)

    layers = [
        (numbers(b, a), numbers(b) / 2)
        for a, b in itertools.pairwise([length * size, *hidden, classes])
    ]
    names = ["<PAD>", "<UNK>", *WORDS]
    labels = [f"label{i}" for i in range(classes)]
    return Classifier(Network.dense(layers), numbers(len(names), size), names, labels, length)


def make_question(
    classifier: Classifier,
    kind: str,
    rng: np.random.Generator,
    at_most: bool,
    mask: str | None,
    equal: bool,
) -> Case:
    """A text of the classifier, what its words may become, and what they cost."""
    length = classifier.length
    tokens = tuple(rng.choice([*WORDS, "nowhere"], length).tolist())
    once = dict.fromkeys(tokens)  # in order: the order of a set would not come again with the seed
    swaps = {
        word: rng.permutation([*WORDS, "nowhere", "<PAD>"])[: rng.integers(3)].tolist()
        for word in once
    }
    data: dict[str, Any] = {"kind": kind}
    data |= {"swaps": swaps} if "swap" in kind else {"token": mask} if kind == "mask" else {}
    data |= {"at_most": int(rng.integers(1, 3))} if at_most else {}
    costs = [1] * length if equal else (2 * rng.integers(1, 4, length)).tolist()
    return Case(
        classifier, tokens, data, [list_choices(classifier, token, data) for token in tokens], costs
    )


def list_choices(classifier: Classifier, token: str, data: dict[str, Any]) -> list[int]:
    """The rule of the format, written once more: a word of the text stands as it is, others are
    read.
    """
    words = {
        "deletion": ["<PAD>"],
        "removal-or-swap": ["<PAD>"],
        "mask": [data.get("token") or "<UNK>"],
    }
    listed = [*words.get(data["kind"], []), *data.get("swaps", {}).get(token, [])]
    once = [word for i, word in enumerate(listed) if word != token and word not in listed[:i]]
    others = [classifier.lookup.get(word, classifier.lookup.get(word.lower(), 1)) for word in once]
    return [classifier.lookup.get(token, 1), *others]


# --- what a certificate claims ---


def is_true(classifier: Classifier, head: dict[str, Any]) -> bool:
    """Whether the claim of a header over real words is true, the label of the text included."""
    tokens = tuple(head["text"])
    data = head["perturbation"]
    choices = [list_choices(classifier, token, data) for token in tokens]
    claim = head["claim"]
    features = set(head["features"])
    case = Case(classifier, tokens, data, choices, claim.get("costs", [1] * len(tokens)))
    label = classifier.labels.index(head["label"])
    stays = (0,) * len(tokens)
    if any(case.margin(stays, label, j) < 0 for j in range(case.classes)):
        return False
    case.__dict__["label"] = label  # of equal scores any may be called the label
    return _holds(case, claim, features)


def _holds(case: Case, claim: dict[str, Any], features: set[int]) -> bool:
    def enough(held: Any) -> bool:
        return not case.flips(features - {*held})

    match claim["kind"]:
        case "sufficient":
            return enough(claim["positions"])
        case "independent":
            return not case.flips({*claim["of"]})
        case "refuted":
            return not enough(claim["positions"])
        case "infeasible":
            return bool(case.flips({*claim["exclude"]}))
        case "cheapest":
            return (
                _fits(case, claim, claim["positions"])
                and enough(claim["positions"])
                and not any(
                    case.cost(held) < claim["lower"]
                    for held in _fitting(claim, features)
                    if enough(held)
                )
            )
        case "all":
            least = [
                list(held)
                for held in _fitting(claim, features)
                if case.cost(held) <= claim["cost"] and enough(held)
            ]
            return sorted(least) == sorted(claim["sets"]) and all(
                _fits(case, claim, held) for held in claim["sets"]
            )
    return _flips_so(case, claim, features)


def _fitting(claim: dict[str, Any], features: set[int]) -> Iterator[tuple[int, ...]]:
    """Every set of features with what is included and without what is excluded."""
    open_ = sorted(features - {*claim["include"], *claim["exclude"]})
    for size in range(len(open_) + 1):
        for more in itertools.combinations(open_, size):
            yield tuple(sorted({*claim["include"], *more}))


def _fits(case: Case, claim: dict[str, Any], held: list[int]) -> bool:
    right = {*claim["include"]} <= {*held} and not {*claim["exclude"]} & {*held}
    return right and case.cost(held) == claim["cost"]


def _flips_so(case: Case, claim: dict[str, Any], features: set[int]) -> bool:
    aims = None if claim["towards"] is None else [case.classifier.labels.index(claim["towards"])]
    found = [case.changed(text) for text, _ in case.flips(features, aims)]
    shown = claim["positions"]
    if shown is not None and not (
        case.cost(shown) == claim["cost"] and any(words <= {*shown} for words in found)
    ):
        return False
    return not any(case.cost(words) < claim["lower"] for words in found)

"""Truth by enumeration: a classifier, a text and its allowed texts, every one of them tried, in fractions."""

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
from suffice.model.network import Network

WORDS = [f"w{i}" for i in range(6)]
KINDS = ["deletion", "mask", "word-swap", "removal-or-swap"]


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
        """Exactly, by adding up fractions."""
        key = tuple(text)
        if key not in self.known:
            rows = [self.choices[i][c] for i, c in enumerate(key)]
            values = [Fraction(v) for v in self.classifier.table[rows].ravel().tolist()]
            for step in self.classifier.network.steps:
                pairs = zip(step.dense().tolist(), step.bias.tolist(), strict=True)
                sums = [
                    sum((Fraction(w) * v for w, v in zip(row, values, strict=True)), Fraction(b)) for row, b in pairs
                ]
                values = [max(z, Fraction(0)) if r else z for z, r in zip(sums, step.relu.tolist(), strict=True)]
            self.known[key] = values
        scores = self.known[key]
        return scores[label] - scores[rival]

    def changed(self, text: Sequence[int]) -> set[int]:
        """The positions with another vector."""
        rows = [(self.choices[i][c], self.choices[i][0]) for i, c in enumerate(text)]
        table = self.classifier.table
        return {i for i, (new, own) in enumerate(rows) if (table[new] != table[own]).any()}

    def texts(self, free: set[int]) -> Iterator[tuple[int, ...]]:
        """All texts that change free words only, and no more than may change at once."""
        options = [range(len(row)) if i in free else range(1) for i, row in enumerate(self.choices)]
        return (text for text in itertools.product(*options) if len(self.changed(text)) <= self.at_most)

    def flips(self, free: set[int], rivals: Sequence[int] | None = None) -> list[tuple[tuple[int, ...], int]]:
        """Texts that let a rival reach the label."""
        aims = self.rivals if rivals is None else rivals
        return [(text, j) for text in self.texts(free) for j in aims if self.margin(text, self.label, j) <= 0]

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
    length, size, classes = int(rng.integers(2, 5)), int(rng.integers(1, 3)), int(rng.integers(2, 4))
    hidden = [(), (3,), (2, 2)][int(rng.integers(3))]

    def numbers(*shape: int) -> Any:
        return rng.integers(-2, 3, shape).astype(float) if seed % 3 == 0 else rng.standard_normal(shape)

    layers = [(numbers(b, a), numbers(b) / 2) for a, b in itertools.pairwise([length * size, *hidden, classes])]
    names = ["<PAD>", "<UNK>", *WORDS]
    labels = [f"label{i}" for i in range(classes)]
    classifier = Classifier(Network.dense(layers), numbers(len(names), size), names, labels, length)
    tokens = tuple(rng.choice([*WORDS, "nowhere"], length).tolist())
    once = dict.fromkeys(tokens)  # in order: the order of a set would not come again with the seed
    swaps = {word: rng.permutation([*WORDS, "nowhere", "<PAD>"])[: rng.integers(3)].tolist() for word in once}
    data: dict[str, Any] = {"kind": kind}
    data |= {"swaps": swaps} if "swap" in kind else {"token": "w1" if seed % 2 else None} if kind == "mask" else {}
    data |= {"at_most": int(rng.integers(1, 3))} if at_most else {}
    costs = [1] * length if seed % 2 else (2 * rng.integers(1, 4, length)).tolist()
    return Case(classifier, tokens, data, [list_choices(classifier, token, data) for token in tokens], costs)


def list_choices(classifier: Classifier, token: str, data: dict[str, Any]) -> list[int]:
    """The rule of the format, written once more."""
    words = {"deletion": ["<PAD>"], "removal-or-swap": ["<PAD>"], "mask": [data.get("token") or "<UNK>"]}
    listed = [*words.get(data["kind"], []), *data.get("swaps", {}).get(token, [])]
    once = [word for i, word in enumerate(listed) if word != token and word not in listed[:i]]
    return [classifier.lookup.get(word, 1) for word in [token, *once]]

"""Cheap black boxes for the tests, and the truth about them by asking every allowed text for every
set of words.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

import suffice as sf
from suffice.model.text import rewritten, written
from suffice.optimise.min_cost_hitting_set import bits
from suffice.sets.table import from_dict

WORDS = ["a", "gripping", "film", "that", "never", "bores", "and", "always", "Surprises", "us"]
SWAPS = {
    "gripping": ["dull", "tense"],
    "film": ["movie"],
    "never": ["often"],
    "surprises": ["amuses", "annoys", "tires"],
}


def rugged(seed: int, classes: int = 2, smooth: float = 1.0):
    """A function with no structure to speak of: words add up, and every text has a shift of its
    own.
    """

    words: dict[str, np.ndarray] = {}
    known: dict[str, np.ndarray] = {}

    def noise(name: str) -> np.ndarray:
        return np.random.default_rng(zlib.crc32(f"{seed} {name}".encode())).normal(size=classes)

    def scores(text: str) -> np.ndarray:
        pieces = text.lower().split()
        words.update({word: smooth * noise(word) for word in pieces if word not in words})
        return noise(f"text {text}") + sum(words[word] for word in pieces)

    def predict(texts: list[str]) -> np.ndarray:
        known.update({text: scores(text) for text in texts if text not in known})
        return np.array([known[text] for text in texts])

    return predict


def box(seed: int, classes: int = 2, smooth: float = 1.0) -> sf.BlackBox:
    labels = ["no", "yes", "perhaps", "never"][:classes]
    return sf.from_function(
        rugged(seed, classes, smooth), labels, f"rugged {seed} {classes} {smooth}"
    )


@dataclass
class Truth:
    """Every allowed text of a question, and what follows."""

    question: sf.Question

    def __post_init__(self) -> None:
        asked = self.question.asked
        places = [i for i, words in enumerate(asked.options) if words]
        changes = [
            tuple(zip(some, choice, strict=True))
            for size in range(min(asked.most_changes, len(places)) + 1)
            for some in combinations(places, size)
            for choice in product(*(asked.options[i] for i in some))
        ]
        box = self.question.classifier
        rows = box.function([rewritten(self.question.text, dict(change)) for change in changes])
        own = box.function([self.question.text.source])[0]
        self.label = int(np.argmax(own))
        others = [i for i in range(rows.shape[1]) if i != self.label]
        self.by_rival = {r: rows[:, self.label] - rows[:, r] for r in others}
        margins = rows[:, self.label] - rows[:, others].max(1)
        self.masks = np.array([sum(1 << i for i, _ in change) for change in changes])
        self.flips = {
            int(mask) for mask, margin in zip(self.masks, margins, strict=True) if margin <= 0
        }
        self.units = [int(unit) for unit in self.question.costs.units]

    def flips_to(self, rival: int) -> set[int]:
        return {
            int(m)
            for m, margin in zip(self.masks, self.by_rival[rival], strict=True)
            if margin <= 0
        }

    def robust(self, held: int) -> bool:
        return all(flip & held for flip in self.flips)

    def cost(self, mask: int) -> int:
        return sum(unit for i, unit in enumerate(self.units) if mask >> i & 1)

    def price(self, mask: int) -> float:
        return self.question.costs.price(self.cost(mask))

    @property
    def sets(self) -> list[int]:
        """The sets that may be explanations."""
        wanted = sum(1 << i for i in self.question.include)
        barred = sum(1 << i for i in self.question.exclude)
        return [
            m
            for m in range(1 << len(self.question.text))
            if m & wanted == wanted and not m & barred
        ]

    @property
    def explanations(self) -> list[int]:
        return [held for held in self.sets if self.robust(held)]

    @property
    def cheapest(self) -> set[int]:
        """All cheapest explanations."""
        found = self.explanations
        least = min((self.cost(held) for held in found), default=0)
        return {held for held in found if self.cost(held) == least}

    @property
    def minimal(self) -> set[int]:
        found = set(self.explanations)
        wanted = sum(1 << i for i in self.question.include)
        return {
            held
            for held in found
            if not any(held & ~(1 << i) in found for i in bits(held & ~wanted))
        }


def mask(positions) -> int:
    return sum(1 << int(i) for i in positions)


def is_true(classifier: sf.BlackBox, head: dict[str, Any]) -> bool:
    """Whether the claim of a certificate's header is true, by running every allowed text."""
    claim = head["claim"]
    text = (
        head["text"]
        if _ends(head["text"]) == head["words"]
        else [head["text"][a:b] for a, b in head["words"]]
    )
    # larger ones are none
    limit = min(head["perturbation"].get("at_most") or len(head["words"]), len(head["words"]))
    sets = from_dict({**head["perturbation"], "at_most": max(limit, 1)})
    truth = Truth(sf.Question(classifier, text, perturbation=sets))
    if classifier.labels[truth.label] != head["label"]:
        return False
    truth.units = claim.get("costs", truth.units)
    held = mask(claim.get("positions", ()))
    everything = (1 << len(truth.units)) - 1
    match claim["kind"]:
        case "sufficient" | "refuted":
            return truth.robust(held) == (claim["kind"] == "sufficient")
        case "independent" | "infeasible":
            out = mask(claim.get("of", claim.get("exclude")))
            return truth.robust(everything & ~out) == (claim["kind"] == "independent")
        case "cheapest":
            return _cheapest(truth, claim, held, everything)
    flips = (
        truth.flips
        if claim["towards"] is None
        else truth.flips_to(classifier.labels.index(claim["towards"]))
    )
    shown = claim["cost"] is None or (held in flips and truth.cost(held) == claim["cost"])
    return shown and not any(
        claim["lower"] is None or truth.cost(flip) < claim["lower"] for flip in flips
    )


def _ends(text: str) -> list[list[int]]:
    return [[word.start, word.end] for word in written(text).words]


def _cheapest(truth: Truth, claim: dict[str, Any], held: int, everything: int) -> bool:
    include = mask(claim["include"])
    exclude = mask(claim["exclude"])
    fitting = [
        one for one in range(everything + 1) if one & include == include and not one & exclude
    ]
    cheaper = any(truth.robust(one) for one in fitting if truth.cost(one) < claim["lower"])
    return (
        held in fitting and truth.robust(held) and truth.cost(held) == claim["cost"] and not cheaper
    )

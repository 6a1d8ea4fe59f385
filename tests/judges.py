"""A naive second way for sets of real words: try every text that the swaps allow."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator

from helpers import make_classifier

import suffice as sf

OPTIONS = 3  # substitutes of each word


def swaps(words: int = 8, options: int = OPTIONS) -> dict[str, list[str]]:
    """Every word may become one of the next few."""
    return {
        f"word{i}": [f"word{(i + j) % words}" for j in range(1, options + 1)] for i in range(words)
    }


class Judge:
    """A small classifier, a text and its swaps, with the label of every text that they allow."""

    def __init__(self, seed: int, length: int = 4, classes: int = 2) -> None:
        self.classifier = make_classifier(seed, length=length, classes=classes)
        self.words = [f"word{(seed * 3 + i * 5) % 8}" for i in range(length)]
        self.perturbation = sf.WordSwap(swaps())
        self.label = self.classifier.predict(self.words).label
        choices = [[word, *swaps()[word]] for word in self.words]
        self.labels = {
            text: self.classifier.predict(list(text)).label for text in itertools.product(*choices)
        }

    def robust(self, held: Collection[int]) -> bool:
        return all(
            label == self.label
            for text, label in self.labels.items()
            if all(text[i] == self.words[i] for i in held)
        )

    def subsets(self) -> Iterator[tuple[int, ...]]:
        """The smallest first."""
        for size in range(len(self.words) + 1):
            yield from itertools.combinations(range(len(self.words)), size)

    def explanations(self) -> list[tuple[int, ...]]:
        return [held for held in self.subsets() if self.robust(held)]

    def optimal(self) -> list[tuple[int, ...]]:
        found = self.explanations()
        return [held for held in found if len(held) == len(found[0])]

    def minimal(self) -> list[tuple[int, ...]]:
        found = self.explanations()
        return [held for held in found if not any(set(other) < set(held) for other in found)]

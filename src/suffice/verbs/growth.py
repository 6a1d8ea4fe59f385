"""Growth: from which size of the sets on each word matters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.model.network import Bools
from suffice.model.text import Word
from suffice.verbs.black_box import flips
from suffice.verbs.explanation import Explanation
from suffice.verbs.question import Question
from suffice.verify.contract import Budget, Refuted
from suffice.verify.solvers import bounds_oracle_for


@dataclass(frozen=True)
class Growth:
    """From which step on a word matters.

    `steps`: those whose explanation holds the word; it may leave again. `enters` is the first of
    them. `needed`: the first step at which every explanation must hold it, because changing this
    word alone flips the label; from there on it stays needed.
    """

    word: Word
    steps: tuple[float, ...]
    needed: float | None

    @property
    def enters(self) -> float | None:
        return self.steps[0] if self.steps else None


def growth(
    questions: Sequence[Question],
    sizes: Sequence[float],
    found: Sequence[Explanation],
    budget: Budget,
) -> tuple[Growth, ...]:
    """For each word the sizes at which the explanation holds it, and from which on it must."""
    words = questions[0].text.words
    alone = np.eye(len(questions[0].text), dtype=bool)[: len(words)]
    needed: dict[int, float] = {}
    # who flips nothing at the end never does
    rest = _flippers(questions[-1], alone, list(range(len(words))), budget)
    for question, size in zip(questions, sizes, strict=True):
        for i in _flippers(question, alone, [i for i in rest if i not in needed], budget):
            needed[i] = size
    return _grown(words, sizes, found, needed)


def _flippers(question: Question, alone: Bools, words: list[int], budget: Budget) -> list[int]:
    """Those of the words whose change alone flips the label; at a tie nothing has to change, so
    none is named.
    """
    if not words:
        return []
    asked = Budget(max(budget.seconds_left, 1e-3), 1000)
    answers = bounds_oracle_for(question.problem).ask(alone[words], asked)
    flips = [isinstance(answer, Refuted) and bool(answer.witness.positions) for answer in answers]
    return [i for i, flip in zip(words, flips, strict=True) if flip]


def growth_asked(
    questions: Sequence[Question], sizes: Sequence[float], found: Sequence[Explanation]
) -> tuple[Growth, ...]:
    """From which step on each word is in the explanation, and from which on its change alone flips
    the label.
    """
    needed: dict[int, float] = {}
    last = questions[-1].asked.meter
    for question, size in reversed(list(zip(questions, sizes, strict=True))):
        question.asked.meter = last  # it has counted all texts
        needed |= dict.fromkeys(flips.flippers(question), size)
    return _grown(questions[0].text.words, sizes, found, needed)


def _grown(
    words: Sequence[Word],
    sizes: Sequence[float],
    found: Sequence[Explanation],
    needed: Mapping[int, float],
) -> tuple[Growth, ...]:
    if found[0].tied is not None:  # there are no explanations that a word could be in
        needed = {}
    # where nothing was shown the whole text stands in for an explanation
    shown = [(size, one) for size, one in zip(sizes, found, strict=True) if one.status != "unknown"]
    steps = {i: tuple(size for size, one in shown if i in one.positions) for i in range(len(words))}
    return tuple(Growth(word, steps[word.position], needed.get(word.position)) for word in words)

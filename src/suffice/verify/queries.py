"""QuerySession: one text and a classifier that can only be run; texts are written, asked and
judged.

A text is judged by its margin: the label's score less the best rival's (or less one rival's). At
zero or below it is a flip, as everywhere. What lies within the tolerance of a classifier whose
numbers move is asked again alone, and where it stays there it is doubtful: neither a flip nor kept.

Method: queries within a limit on texts and seconds (theory, section 12).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice, product

import numpy as np

from suffice import work
from suffice.model.answers import PROBES
from suffice.model.blackbox import BlackBox
from suffice.model.network import Floats
from suffice.model.text import Change, Text, Writer
from suffice.settings import DEFAULT, RESOURCES, Settings
from suffice.verify.contract import Budget, Witness, winner

NO_POINT = np.zeros((0, 0))  # a text is no point


class OutOfBudget(Exception):
    """Time or texts are spent; what was learnt until then holds."""


@dataclass(frozen=True)
class ObservedFlip:
    """A change that was run and does not keep the label: a counterexample by observation."""

    change: Change
    mask: int
    rival: int
    margin: float


@dataclass(eq=False)
class Meter:
    """Counts seconds and texts, and stops the search at their limits."""

    budget: Budget
    max_queries: int | None = None
    spent_before: int = 0  # texts that were asked for the same answer by another meter
    spent: int = 0
    seconds: float = 0.0

    def spend(self, texts: int) -> None:
        """So many more texts were asked."""
        self.spent += texts
        work.count("texts", texts)

    def check_time(self) -> None:
        if self.budget.exhausted:
            raise OutOfBudget("time is up")

    @property
    def rate(self) -> float:
        """Texts per second."""
        if not self.seconds:
            return RESOURCES.guessed_rate
        return min(self.spent / self.seconds, RESOURCES.fastest_rate)

    def remaining(self) -> float:
        """About how many texts may still be asked."""
        by_time = max(self.budget.seconds_left, 0.0) * self.rate
        return by_time if self.max_queries is None else min(by_time, self.max_queries - self.total)

    @property
    def limit(self) -> str:
        return f"the limit of {self.max_queries} texts is reached"

    @property
    def total(self) -> int:
        return self.spent_before + self.spent

    def allows(self, texts: int) -> bool:
        """Whether so many more texts are within the limit, if there is one."""
        return self.max_queries is None or self.total + texts <= self.max_queries

    def next_batch(self) -> int:
        """How many texts may be asked before the next look at the clock."""
        self.check_time()
        size = RESOURCES.fewest_texts
        if self.seconds:
            wanted = int(self.rate * RESOURCES.look_seconds)
            size = min(max(wanted, size), RESOURCES.most_texts)
        if self.max_queries is None:
            return size
        left = self.max_queries - self.total
        return min(size, left) if left > 0 else 1  # what is known already costs nothing


@dataclass(eq=False)
class QuerySession:
    """One text and one black box, for any number of questions about sets of words, which are bit
    masks.

    `options` are what each word may become, `at_most` how many may change at once; `doubtful` are
    texts whose margins are too close to zero to be judged.
    """

    blackbox: BlackBox
    text: Text
    options: tuple[tuple[str, ...], ...]
    at_most: int | None
    meter: Meter = field(default_factory=lambda: Meter(Budget()))
    settings: Settings = DEFAULT
    doubtful: set[str] = field(default_factory=set)  # texts that are too close to call

    @cached_property
    def label(self) -> int:
        """The label of the text; some changed ones are asked with it where it is not known how far
        numbers move.
        """
        answers = self.blackbox.answers
        meter = self.meter
        single_changes = (((i, word),) for i, words in enumerate(self.options) for word in words)
        most = RESOURCES.fewest_texts
        room = most if meter.max_queries is None else meter.max_queries - meter.total - PROBES - 2
        changed = [self.write(change) for change in islice(single_changes, max(0, min(room, most)))]
        before = answers.asked
        rows = answers.scores(
            [self.text.source] if answers.moves is not None else [self.text.source, *changed]
        )
        meter.spend(answers.asked - before)
        return int(rows[0].argmax())

    @cached_property
    def movable(self) -> int:
        """The words that may change at all."""
        return sum(1 << i for i, words in enumerate(self.options) if words)

    @property
    def most_changes(self) -> int:
        """How many words change at once at the most."""
        return len(self.options) if self.at_most is None else self.at_most

    # --- asking ---

    def margins(self, changes: Sequence[Change], rival: int | None = None) -> Floats:
        """The margin of each changed text; NaN where it is too close to call."""
        texts = [self.write(change) for change in changes]
        rows = self._rows(texts)
        found = self._lead_over(rows, rival)
        tolerance = self.blackbox.answers.tolerance
        for i in np.flatnonzero(np.abs(found) <= tolerance) if tolerance else ():
            again = self._lead_over(self._asked_alone(texts[i]), rival)[0]
            found[i] = again if abs(again) > tolerance else np.nan
        return found

    def _asked_alone(self, text: str) -> Floats:
        """The scores of a text that is asked once more, by itself."""
        if not self.meter.allows(1 + self.blackbox.answers.owed):
            raise OutOfBudget(self.meter.limit)
        self.meter.spend(1)
        return self.blackbox.answers.ask([text])

    def recheck_answers(self) -> None:
        """Ask a random part of what a file of answers has said again: these texts count like all
        others.
        """
        answers = self.blackbox.answers
        asked_before = answers.asked
        answers.settle()
        self.meter.spend(answers.asked - asked_before)

    def observed_flip(self, change: Change, rival: int | None = None) -> ObservedFlip:
        """A change whose margin is not above zero, with the rival that wins."""
        row = self._rows([self.write(change)])[0]
        other = winner(row, self.label) if rival is None else rival
        return ObservedFlip(
            change, sum(1 << i for i, _ in change), other, float(row[self.label] - row[other])
        )

    def write(self, change: Change) -> str:
        return self._writer.write(change)

    @cached_property
    def _writer(self) -> Writer:
        return Writer(self.text)

    def witness(self, flip: ObservedFlip) -> Witness:
        """The flip for people; where a rival was asked for, another label may still win."""
        # it was run: known, whatever the budget says
        (row,) = self.blackbox.scores([self.write(flip.change)])
        return Witness(
            point=NO_POINT,
            positions=tuple(i for i, _ in flip.change),
            rival=flip.rival,
            margin=flip.margin,
            label=self.blackbox.labels[winner(row, self.label, flip.rival)],
            words=tuple(word for _, word in flip.change),
            real=True,
            text=self.write(flip.change),
        )

    def _rows(self, texts: Sequence[str]) -> Floats:
        parts = []
        start = 0
        meter = self.meter
        answers = self.blackbox.answers
        while start < len(texts):
            part = texts[start : start + meter.next_batch()]
            asked_before = answers.asked
            start_time = time.monotonic()
            if meter.max_queries is not None and not meter.allows(answers.missing(part)):
                raise OutOfBudget(meter.limit)
            parts.append(answers.scores(part))
            meter.spend(answers.asked - asked_before)
            meter.seconds += time.monotonic() - start_time if answers.asked > asked_before else 0.0
            start += len(part)
        return np.concatenate(parts) if parts else np.zeros((0, len(self.blackbox.labels)))

    def _lead_over(self, rows: Floats, rival: int | None) -> Floats:
        others = [i for i in range(rows.shape[1]) if i != self.label] if rival is None else [rival]
        return np.asarray(rows[:, self.label] - rows[:, others].max(1))

    # --- changes ---

    def changes(self, words: Sequence[int]) -> Iterator[Change]:
        """Every way to change all of these words."""
        return product(*(self._pairs[i] for i in words))

    @cached_property
    def _pairs(self) -> list[list[tuple[int, str]]]:
        return [[(i, word) for word in words] for i, words in enumerate(self.options)]

    def sets_with(
        self, word: int, others: Sequence[int], limit: int, more_than: int = 0
    ) -> Iterator[tuple[int, ...]]:
        """The sets of more than `above` words that hold `word` and any of the others, the small
        ones first.
        """
        for size in range(more_than, min(limit - 1, len(others)) + 1):
            for combination in combinations(others, size):
                yield tuple(sorted((word, *combination)))

    def text_count(self, free: Sequence[int], limit: int | None = None) -> int:
        """How many texts there are with changes of the free words only (the unchanged one among
        them).
        """
        most = min(self.most_changes if limit is None else limit, len(free))
        ways = [1] + [0] * most
        for word in free:
            for size in range(most, 0, -1):
                ways[size] += ways[size - 1] * len(self.options[word])
        return sum(ways)

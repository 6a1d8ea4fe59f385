"""Climbing: explanations at several sizes of the sets, each with what the others know.

An attack on smaller sets is one on larger sets, and a set of words that suffices on larger sets suffices on smaller
ones; so both ends are done first and then the middles. Nothing is taken on trust: attacks are confirmed and sets proved
anew in every step, so each step's certificate stands on its own. That is for the search over words; in coordinates of
choices, where a search is quick, each step begins anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from suffice.model.network import Bools, Floats
from suffice.prove.verdict import Budget, Witness
from suffice.search.node import ByRestoration, Node
from suffice.search.words import Outcome, Search
from suffice.verbs.answering import finished
from suffice.verbs.explanation import Explanation
from suffice.verbs.question import Question
from suffice.verbs.running import ByCovering, BySearch, OnProgress, equals

STARTS = 6  # perturbed texts handed to the next step


@dataclass(eq=False)
class _Known:
    """What the finished steps know."""

    witnesses: list[Witness] = field(default_factory=list)
    starts: list[Floats] = field(default_factory=list)
    robust: dict[int, Bools] = field(default_factory=dict)  # step to the words proved to suffice there


class Climb:
    """The steps, both ends first, each with what the others know."""

    def __init__(self, questions: list[Question], on_progress: OnProgress | None, self_check: bool) -> None:
        self.questions, self.on_progress, self.self_check = questions, on_progress, self_check
        self.known = [_Known() for _ in questions]
        self.reused = 0
        self.stopped = False  # by Ctrl-C, which stops all steps

    def run(self, budget: Budget) -> tuple[Explanation, ...]:
        found: dict[int, Explanation] = {}
        for step in ends_first(len(self.questions)):
            left = 0.0 if self.stopped else budget.left
            found[step] = self._step(step, Budget(max(left, 1e-3) / (len(self.questions) - len(found) + 1)))
            self.stopped |= interrupted(found[step])
        return tuple(found[step] for step in range(len(self.questions)))

    def _step(self, step: int, budget: Budget) -> Explanation:
        question, started = self.questions[step], time.monotonic()
        match equals(question, budget, self.on_progress):
            case ByCovering() as found:  # quick enough without what others know
                return finished(question, found.run(), started, self.self_check)
            case BySearch(search):
                outcome = self._helped(step, search)
                return finished(question, outcome, started, self.self_check)

    def _helped(self, step: int, search: Search) -> Outcome:
        """What a search finds that is told what the other steps know."""
        for known in self.known[:step]:
            self.reused += search.seed_attacks(known.witnesses, known.starts)
        for known in self.known[step + 1 :]:
            for held in known.robust.values():
                search.inquiry.ask(held[None], 0)
        outcome = search.run()
        self.known[step] = _learnt(step, search, outcome.root)
        return outcome


def interrupted(result: Explanation) -> bool:
    """Whether Ctrl-C ended the search."""
    return result.meta.get("reason") == "interrupted"


def _learnt(step: int, search: Search, root: Node) -> _Known:
    best = search.inquiry.best
    robust = {} if best is None else {step: best[0]}
    sparse = sorted(search.inquiry.known.attacks, key=lambda witness: len(witness.positions))
    return _Known(sparse[:64], list(_starts(root))[:STARTS], robust)


def _starts(root: Node) -> Iterator[Floats]:
    """The perturbed texts that closed nodes of a finished search, from the root down."""
    waiting = [root]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node.reason, ByRestoration):
            yield node.reason.evidence.start
        waiting += node.children or ()


def ends_first(count: int) -> list[int]:
    """0, the last, and then the middles of what is between."""
    order, gaps = list(dict.fromkeys([0, count - 1])), [(0, count - 1)]
    while gaps:
        low, high = gaps.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    return order

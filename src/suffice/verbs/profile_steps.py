"""Climbing: explanations at several sizes of the sets, each with what the others know.

An attack on smaller sets is one on larger sets, and a set of words that suffices on larger sets
suffices on smaller ones; so both ends are done first and then the middles. Nothing is taken on
trust: attacks are confirmed and sets proved anew in every step, so each step's certificate stands
on its own. That is for the search over words; in coordinates of choices, where a search is quick,
each step begins anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from suffice.model.network import Bools, Floats
from suffice.optimise.node import ByRestoration, Node
from suffice.optimise.word_tree import Outcome, WordTreeSearch
from suffice.verbs.answering import finished
from suffice.verbs.engines import OneHotEngine, OnProgress, WordTreeEngine, engine_for
from suffice.verbs.explanation import Explanation
from suffice.verbs.question import Question
from suffice.verify.contract import Budget, Witness


@dataclass(eq=False)
class _StepFacts:
    """What the finished steps know."""

    witnesses: list[Witness] = field(default_factory=list)
    perturbed: list[Floats] = field(default_factory=list)
    # step to the words proved to suffice there
    sufficient: dict[int, Bools] = field(default_factory=dict)


class ProfileSteps:
    """The steps, both ends first, each with what the others know."""

    def __init__(
        self, questions: list[Question], on_progress: OnProgress | None, self_check: bool
    ) -> None:
        self.questions = questions
        self.on_progress = on_progress
        self.self_check = self_check
        self.facts = [_StepFacts() for _ in questions]
        self.reused = 0
        self.stopped = False  # by Ctrl-C, which stops all steps

    def run(self, budget: Budget) -> tuple[Explanation, ...]:
        found: dict[int, Explanation] = {}
        for step in ends_first(len(self.questions)):
            left = 0.0 if self.stopped else budget.seconds_left
            found[step] = self._step(
                step, Budget(max(left, 1e-3) / (len(self.questions) - len(found) + 1))
            )
            self.stopped |= interrupted(found[step])
        return tuple(found[step] for step in range(len(self.questions)))

    def _step(self, step: int, budget: Budget) -> Explanation:
        question = self.questions[step]
        started = time.monotonic()
        match engine_for(question, budget, self.on_progress):
            case OneHotEngine() as engine:  # quick enough without what others know
                return finished(question, engine.run(), started, self.self_check)
            case WordTreeEngine(search):
                outcome = self._run_with_facts(step, search)
                return finished(question, outcome, started, self.self_check)

    def _run_with_facts(self, step: int, search: WordTreeSearch) -> Outcome:
        """What a search finds that is told what the other steps know."""
        for facts_of_step in self.facts[:step]:
            self.reused += search.seed_attacks(facts_of_step.witnesses, facts_of_step.perturbed)
        for facts_of_step in self.facts[step + 1 :]:
            for held in facts_of_step.sufficient.values():
                search.cache.ask(held[None], 0)
        outcome = search.run()
        self.facts[step] = _facts_of(step, search, outcome.root)
        return outcome


def interrupted(result: Explanation) -> bool:
    """Whether Ctrl-C ended the search."""
    return result.meta.get("reason") == "interrupted"


def _facts_of(step: int, search: WordTreeSearch, root: Node) -> _StepFacts:
    best = search.cache.best
    robust = {} if best is None else {step: best[0]}
    sparse = sorted(search.cache.store.attacks, key=lambda witness: len(witness.positions))
    return _StepFacts(
        sparse,
        list(_perturbed_texts(root))[: search.settings.attacks],
        robust,
    )


def _perturbed_texts(root: Node) -> Iterator[Floats]:
    """The perturbed texts that closed nodes of a finished search, from the root down."""
    queue = [root]
    while queue:
        node = queue.pop(0)
        if isinstance(node.reason, ByRestoration):
            yield node.reason.evidence.perturbed
        queue += node.children or ()


def ends_first(count: int) -> list[int]:
    """0, the last, and then the middles of what is between."""
    order = list(dict.fromkeys([0, count - 1]))
    gaps = [(0, count - 1)]
    while gaps:
        low, high = gaps.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    return order

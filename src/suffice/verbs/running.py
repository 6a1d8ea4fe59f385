"""Running: one BLAS thread, and a question handed to the search that answers it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TypeAlias

import numpy as np
from threadpoolctl import ThreadpoolController

from suffice.errors import InputError
from suffice.model.blackbox import BlackBox
from suffice.model.network import Bools
from suffice.prove.choices import by_choice
from suffice.prove.oracles import ByChoice
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Budget, Problem, Proved, Source
from suffice.search.covering import Covering, told, told_node
from suffice.search.flip import CheapestFlip, cheapest_flip, told_flip
from suffice.search.inquiry import Inquiry
from suffice.search.node import Node
from suffice.search.task import Task
from suffice.search.words import Outcome, Search, optimal_sets
from suffice.search.writing import positions
from suffice.verbs.question import Question

OnProgress: TypeAlias = Callable[[float, float, float, tuple[int, ...]], None]


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextlib.contextmanager
def single_threaded(asked: BlackBox | None = None) -> Iterator[None]:
    """One BLAS thread: our matrices are small, and sums then come out the same on any machine.

    A black box that is only asked keeps the threads that its owner gave it: the time is its own, not ours.
    Overflow is no news either: what is not finite is looked for where it matters and is never a proof.
    """
    ours = asked is None or asked.bag is not None
    limited = _controller().limit(limits=1) if ours else contextlib.nullcontext()
    with limited, np.errstate(over="ignore", invalid="ignore"):
        yield


def progress(question: Question) -> str:
    """How many texts a black box was asked so far, and how fast; empty for other classifiers."""
    asked = question.__dict__.get("asked")  # only looked at: it is made by those who ask
    if asked is None:
        return ""
    meter = asked.meter
    speed = f", {meter.rate:,.0f} a second" if meter.seconds else ""
    return f"{meter.spent:,} texts asked{speed}"


def task(question: Question, budget: Budget, on_progress: OnProgress | None) -> Task:
    """The question as every method takes it."""
    report = reporter(question, on_progress)
    return Task(question.problem, question.costs, question.included, question.excluded, budget, question.seed, report)


@lru_cache(maxsize=1)  # a question is often asked more than once
def oracle_of(problem: Problem) -> BoundsOracle:
    """Our own bounds for a problem, with what they have learnt about it."""
    return BoundsOracle(problem)


def searcher(question: Question, budget: Budget, on_progress: OnProgress | None) -> Search:
    """The search over words, with our own bounds; complete questions in whichever coordinates they are quickest."""
    smaller = by_choice(question.problem)
    complete = None if smaller.source is None else ByChoice(smaller.source, oracle_of(smaller))
    return Search(task(question, budget, on_progress), oracle_of(question.problem), complete=complete)


def searched(
    question: Question,
    budget: Budget,
    on_progress: OnProgress | None,
    rather: Callable[[Bools], Bools] | None = None,
) -> Outcome:
    """What the search over words finds, in whichever coordinates it is quickest; `rather` names better sets."""
    match equals(question, budget, on_progress):
        case ByCovering() as found:
            return found.run()
        case BySearch():
            wanted = replace(task(question, budget, on_progress), rather=rather)
            return Search(wanted, oracle_of(question.problem)).run()


def covering(question: Question, budget: Budget, on_progress: OnProgress | None = None) -> Covering | None:
    """The search in coordinates of choices; None where there are none that are smaller."""
    problem = by_choice(question.problem)
    if problem.source is None:
        return None
    return Covering(Inquiry(replace(task(question, budget, on_progress), problem=problem), oracle_of(problem)))


@dataclass(eq=False)
class BySearch:
    """All sets of the optimal cost, by the search over words."""

    search: Search

    @property
    def stats(self) -> dict[str, int]:
        return self.search.inquiry.stats

    @property
    def budget(self) -> Budget:
        return self.search.budget

    def run(self) -> Outcome:
        return self.search.run()

    def sets(self, cost: int) -> Iterator[tuple[Bools, Proved]]:
        return optimal_sets(self.search, cost)

    @property
    def done(self) -> bool:
        return self.search.frontier.done

    def root(self, cost: int) -> Node | None:
        return self.search.root if self.done else None


@dataclass(eq=False)
class ByCovering:
    """The same in coordinates of choices."""

    covering: Covering
    source: Source

    @property
    def stats(self) -> dict[str, int]:
        return self.covering.inquiry.stats

    @property
    def budget(self) -> Budget:
        return self.covering.task.budget

    def run(self) -> Outcome:
        return told(self.source, self.covering.run())

    def sets(self, cost: int) -> Iterator[tuple[Bools, Proved]]:
        return self.covering.equals(cost)

    @property
    def done(self) -> bool:
        return self.covering.settled

    def root(self, cost: int) -> Node | None:
        found = self.covering.every(cost)
        return None if found is None else told_node(self.source, found)


def equals(question: Question, budget: Budget, on_progress: OnProgress | None) -> BySearch | ByCovering:
    """All sets of the optimal cost, in whichever coordinates it is quickest."""
    found = covering(question, budget, on_progress)
    if found is None or found.problem.source is None:
        return BySearch(searcher(question, budget, on_progress))
    return ByCovering(found, found.problem.source)


def flipped(
    question: Question, budget: Budget, on_progress: OnProgress | None = None, rivals: Sequence[int] | None = None
) -> CheapestFlip:
    """The cheapest flip, in whichever coordinates it is quickest; `rivals` are the labels it may lead to."""
    problem, units = by_choice(question.problem), question.costs.units
    counted = problem.limit >= problem.features.sum() or bool((units == units[0]).all())
    if not counted or oracle_of(problem).windows is None:
        problem = question.problem
    report = reporter(question, on_progress)
    found = cheapest_flip(problem, question.costs, oracle_of(problem), budget, question.seed, report, rivals)
    return found if problem.source is None else told_flip(problem.source, found)


def check_progress(given: OnProgress) -> None:
    if not callable(given):
        raise InputError(f"on_progress is called with what is known so far: it must be a function, not {given!r}.")


def reporter(question: Question, on_progress: OnProgress | None) -> Callable[[int, int, float, Bools], None] | None:
    """Progress as the user counts."""
    if on_progress is None:
        return None
    check_progress(on_progress)

    def report(lower: int, upper: int, elapsed: float, held: Bools) -> None:
        price = question.costs.price
        on_progress(price(lower), price(upper), elapsed, tuple(positions(held)))

    return report

"""Running: one BLAS thread, and a question handed to the search that answers it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TypeAlias

import numpy as np
from threadpoolctl import ThreadpoolController

from suffice import work
from suffice.errors import InputError
from suffice.model.blackbox import BlackBox
from suffice.model.network import Bools
from suffice.optimise.certificate_lines import positions
from suffice.optimise.cheapest_flip import CheapestFlip, cheapest_flip, postsolve_flip
from suffice.optimise.implicit_hitting_set import (
    ImplicitHittingSet,
    postsolve_outcome,
    postsolve_tree,
)
from suffice.optimise.node import Node
from suffice.optimise.oracle_cache import OracleCache
from suffice.optimise.task import Task
from suffice.optimise.word_tree import Outcome, WordTreeSearch, optimal_sets
from suffice.verbs.question import Question
from suffice.verify.contract import Budget, OneHotCoordinates, Problem, Proved
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.nets.presolve.one_hot import reduced_to_one_hot
from suffice.verify.solvers import OneHotOracle

OnProgress: TypeAlias = Callable[[float, float, float, tuple[int, ...]], None]


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextlib.contextmanager
def single_threaded(asked: BlackBox | None = None) -> Iterator[None]:
    """One BLAS thread: our matrices are small, and sums then come out the same on any machine.

    A black box that is only asked keeps the threads that its owner gave it: the time is its own,
    not ours. Overflow is no news either: what is not finite is looked for where it matters and is
    never a proof.
    """
    ours = asked is None or asked.bag is not None
    limited = _controller().limit(limits=1) if ours else contextlib.nullcontext()
    with limited, np.errstate(over="ignore", invalid="ignore"):
        yield


@contextlib.contextmanager
def answering(asked: BlackBox | None = None) -> Iterator[None]:
    """What an answer is made in: one BLAS thread, and its work is counted."""
    with work.counted(), single_threaded(asked):
        yield


def progress(question: Question) -> str:
    """How many texts a black box was asked so far, and how fast; empty for other classifiers."""
    session = question.__dict__.get("asked")  # only looked at: it is made by those who ask
    if session is None:
        return ""
    meter = session.meter
    speed = f", {meter.rate:,.0f} a second" if meter.seconds else ""
    return f"{meter.spent:,} texts asked{speed}"


def task(question: Question, budget: Budget, on_progress: OnProgress | None) -> Task:
    """The question as every method takes it."""
    report = reporter(question, on_progress)
    return Task(
        question.problem,
        question.costs,
        question.included,
        question.excluded,
        budget,
        question.seed,
        report,
    )


@lru_cache(maxsize=1)  # a question is often asked more than once
def oracle_for(problem: Problem) -> BoundsOracle:
    """Our own bounds for a problem, with what they have learnt about it."""
    return BoundsOracle(problem)


def word_tree_search(
    question: Question, budget: Budget, on_progress: OnProgress | None
) -> WordTreeSearch:
    """The search over words, with our own bounds; complete questions in whichever coordinates they
    are quickest.
    """
    one_hot = reduced_to_one_hot(question.problem)
    complete = (
        None if one_hot.one_hot is None else OneHotOracle(one_hot.one_hot, oracle_for(one_hot))
    )
    return WordTreeSearch(
        task(question, budget, on_progress), oracle_for(question.problem), complete=complete
    )


def run_search(
    question: Question,
    budget: Budget,
    on_progress: OnProgress | None,
    prefer: Callable[[Bools], Bools] | None = None,
) -> Outcome:
    """What the search over words finds, in whichever coordinates it is quickest; `rather` names
    better sets.
    """
    match engine_for(question, budget, on_progress):
        case OneHotEngine() as engine:
            return engine.run()
        case WordTreeEngine():
            wanted = replace(task(question, budget, on_progress), prefer=prefer)
            return WordTreeSearch(wanted, oracle_for(question.problem)).run()


def one_hot_search(
    question: Question, budget: Budget, on_progress: OnProgress | None = None
) -> ImplicitHittingSet | None:
    """The search in coordinates of choices; None where there are none that are smaller."""
    problem = reduced_to_one_hot(question.problem)
    if problem.one_hot is None:
        return None
    return ImplicitHittingSet(
        OracleCache(
            replace(task(question, budget, on_progress), problem=problem), oracle_for(problem)
        )
    )


@dataclass(eq=False)
class WordTreeEngine:
    """All sets of the optimal cost, by the search over words."""

    search: WordTreeSearch

    @property
    def stats(self) -> dict[str, int]:
        return self.search.cache.stats

    @property
    def budget(self) -> Budget:
        return self.search.budget

    def run(self) -> Outcome:
        return self.search.run()

    def sets(self, cost: int) -> Iterator[tuple[Bools, Proved]]:
        return optimal_sets(self.search, cost)

    @property
    def complete(self) -> bool:
        return self.search.frontier.done

    def tree(self, cost: int) -> Node | None:
        return self.search.root if self.complete else None


@dataclass(eq=False)
class OneHotEngine:
    """The same in coordinates of choices."""

    search: ImplicitHittingSet
    source: OneHotCoordinates

    @property
    def stats(self) -> dict[str, int]:
        return self.search.cache.stats

    @property
    def budget(self) -> Budget:
        return self.search.task.budget

    def run(self) -> Outcome:
        return postsolve_outcome(self.source, self.search.run())

    def sets(self, cost: int) -> Iterator[tuple[Bools, Proved]]:
        return self.search.equally_cheap(cost)

    @property
    def complete(self) -> bool:
        return self.search.complete

    def tree(self, cost: int) -> Node | None:
        found = self.search.complete_tree(cost)
        return None if found is None else postsolve_tree(self.source, found)


def engine_for(
    question: Question, budget: Budget, on_progress: OnProgress | None
) -> WordTreeEngine | OneHotEngine:
    """All sets of the optimal cost, in whichever coordinates it is quickest."""
    search = one_hot_search(question, budget, on_progress)
    if search is None or search.problem.one_hot is None:
        return WordTreeEngine(word_tree_search(question, budget, on_progress))
    return OneHotEngine(search, search.problem.one_hot)


def run_flip_search(
    question: Question,
    budget: Budget,
    on_progress: OnProgress | None = None,
    rivals: Sequence[int] | None = None,
) -> CheapestFlip:
    """The cheapest flip, in whichever coordinates it is quickest; `rivals` are the labels it may
    lead to.
    """
    problem = reduced_to_one_hot(question.problem)
    units = question.costs.units
    changes_are_counted = problem.max_changes >= problem.features.sum() or bool(
        (units == units[0]).all()
    )
    if not changes_are_counted or oracle_for(problem).max_of_sums is None:
        problem = question.problem
    report = reporter(question, on_progress)
    found = cheapest_flip(
        problem, question.costs, oracle_for(problem), budget, question.seed, report, rivals
    )
    return found if problem.one_hot is None else postsolve_flip(problem.one_hot, found)


def check_progress(given: OnProgress) -> None:
    if not callable(given):
        raise InputError(
            "on_progress is called with what is known so far: it must be a function, not "
            f"{given!r}."
        )


def reporter(
    question: Question, on_progress: OnProgress | None
) -> Callable[[int, int, float, Bools], None] | None:
    """Progress as the user counts."""
    if on_progress is None:
        return None
    check_progress(on_progress)

    def report(lower: int, upper: int, elapsed: float, held: Bools) -> None:
        price = question.costs.price
        on_progress(price(lower), price(upper), elapsed, tuple(positions(held)))

    return report

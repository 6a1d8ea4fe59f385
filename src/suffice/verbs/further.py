"""Further: the next question to ask where an answer is empty or the whole text, chosen by a quick
look.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from suffice.errors import InputError
from suffice.model.network import Bools
from suffice.model.numbers import exactly
from suffice.sets.perturbations import (
    BundledSubstitutes,
    Deletion,
    EpsilonBall,
    KNNBox,
    KNNHull,
    Mask,
    Perturbation,
    RemoveOrSwap,
    WordSwap,
)
from suffice.settings import RESOURCES
from suffice.verbs.details import Further
from suffice.verbs.engines import single_threaded
from suffice.verbs.question import Question
from suffice.verbs.wording import can
from suffice.verify.contract import Budget, Proved
from suffice.verify.exact import confirm
from suffice.verify.nets.attack import Attacker
from suffice.verify.nets.bounds_oracle import BoundsOracle

DOUBLINGS = 9  # how far sets are made larger or smaller
FIRST_NEAREST = 5  # nearest words, where the question had none
FEW_WORDS = 3  # words that nobody finds too many


def further(question: Question, held: Bools) -> Further | None:
    """A larger set where no word is needed, a smaller one where most are; None where the answer
    says enough.
    """
    total = int((question.features & ~question.excluded).sum())
    count = int(held.sum())
    budget = Budget(RESOURCES.further_seconds)
    with single_threaded():
        if count == 0:
            return _first_flip(question, budget)
        if count == total > 1:
            return _smaller(question, total, budget)
        if 2 * count >= total and count > FEW_WORDS:
            return _one_at_a_time(question, total, count)
    return None


# --- nothing is needed: which larger set would make some word matter? ---


def _first_flip(question: Question, budget: Budget) -> Further | None:
    for name, perturbation in _larger_sets(question):
        if budget.exhausted:
            return None
        deed = _flipped(question, perturbation)
        if deed is not None:
            return Further(f"{name}, {deed}: some word is needed then.", perturbation)
    return None


def _larger_sets(question: Question) -> Iterator[tuple[str, Perturbation]]:
    """Sets that hold more and more, with what each allows in words."""
    given = question.perturbation
    limit = given.at_most
    if limit is not None:
        for more in _doubled(limit, int(question.features.sum())):
            yield f"If up to {more} words may change at once", limited(question, more)
        yield "If any number of words may change at once", limited(question, None)
    match given:
        case KNNBox(k=k) | KNNHull(k=k):
            sizes = [max(k, 1) * 2**i for i in range(1, DOUBLINGS)]
            yield from (
                (f"With the {size} nearest words", replace(given, k=size)) for size in sizes
            )
        case EpsilonBall(eps=eps):
            radii = [(eps or 0.05) * 2**i for i in range(1, DOUBLINGS)]
            yield from (
                (f"Within a radius of {exactly(radius)}", replace(given, eps=radius))
                for radius in radii
            )
        case _:
            yield from _other_words(given, _removal_word(question))
            sizes = [FIRST_NEAREST * 2**i for i in range(DOUBLINGS)]
            yield from (
                (f"If words may move among their {size} nearest words", KNNBox(size))
                for size in sizes
            )


def _removal_word(question: Question) -> str:
    """What becomes of a word in whose place nothing stands."""
    return "blanked" if question.classifier.ordered else "removed"


def _other_words(given: Perturbation, gone: str) -> Iterator[tuple[str, Perturbation]]:
    """Real words that the question did not allow."""
    match given:
        case RemoveOrSwap():
            pass
        case WordSwap(swaps=swaps):
            yield f"If words may be {gone} as well", RemoveOrSwap(swaps)
            yield f"If words may be {gone} or become a bundled substitute", BundledSubstitutes()
        case Deletion() | Mask():
            yield f"If words may be {gone} or become a bundled substitute", BundledSubstitutes()


def _doubled(limit: int, most: int) -> Iterator[int]:
    while (limit := 2 * limit) < most:
        yield limit


def limited(question: Question, limit: int | None) -> Perturbation:
    """The question's set with another limit; the default set by its name, not by the words it
    allows.
    """
    given = question.perturbation
    bundled = BundledSubstitutes(at_most=given.at_most)
    if bundled.narrowed(question.classifier, question.text) == given:
        return BundledSubstitutes(at_most=limit)
    other: Perturbation = replace(given, at_most=limit)  # type: ignore[type-var]
    return other


def _flipped(question: Question, perturbation: Perturbation) -> str | None:
    """What some change can do to the label, where an attack finds one that the network confirms."""
    try:
        problem = replace(question, perturbation=perturbation).problem
    except InputError:  # the vocabulary has no more words
        return None
    free = problem.features[None]
    attempt = Attacker.of(problem).attack(free, restarts=problem.settings.answers.restarts)
    if attempt.margin[0] > 0:
        return None
    found = confirm(problem, attempt.point, free)[0]
    if found is None:
        return None
    return can(question.label, question.classifier.labels[found.rival], tie=found.margin >= 0)


# --- much is needed: which smaller set would leave some word out? ---


def _smaller(question: Question, total: int, budget: Budget) -> Further | None:
    """Every word is needed, so each flips the label alone: only smaller sets can leave one out."""
    for what, perturbation in _smaller_sets(question.perturbation, _removal_word(question)):
        spare_words = 0 if budget.exhausted else _count_spare(question, perturbation)
        if spare_words:
            each = "each " if spare_words > 1 else ""
            return Further(
                f"{what}, {spare_words} of the {total} words can {each}change alone.", perturbation
            )
    return None


def _smaller_sets(given: Perturbation, gone: str) -> Iterator[tuple[str, Perturbation]]:
    match given:
        case KNNBox(k=k) | KNNHull(k=k):
            while (k := k // 2) > 0:
                yield (
                    f"With the {k} nearest words" if k > 1 else "With the nearest word",
                    replace(given, k=k),
                )
        case EpsilonBall(eps=eps):
            for i in range(1, DOUBLINGS):
                yield f"Within a radius of {exactly(eps / 2**i)}", replace(given, eps=eps / 2**i)
        case RemoveOrSwap():
            yield f"If words may only be {gone}", Deletion(at_most=given.at_most)


def _one_at_a_time(question: Question, total: int, count: int) -> Further | None:
    """Most words are held against many changes at once; against single ones fewer may do."""
    enough = total - _count_spare(question, question.perturbation)
    if enough >= count or question.perturbation.at_most == 1:
        return None
    return Further(
        f"If only one word may change at a time, {enough_of(enough, total)}.", limited(question, 1)
    )


def enough_of(count: int, total: int) -> str:
    return (
        f"{count} of {total} words {'is' if count == 1 else 'are'} enough"
        if count
        else "no word is needed"
    )


def _count_spare(question: Question, perturbation: Perturbation) -> int:
    """How many of the words keep the label when they change alone, by plain bounds."""
    problem = replace(question, perturbation=perturbation).problem
    movable = problem.features & ~question.included & ~question.excluded
    answers = BoundsOracle(problem).ask_cheaply(np.eye(len(movable), dtype=bool)[movable])
    return sum(isinstance(answer, Proved) for answer in answers)

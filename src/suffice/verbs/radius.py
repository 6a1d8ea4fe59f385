"""Radius: the size of the sets up to which no word is needed, and the one from which on some word
is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from suffice.errors import InputError
from suffice.proof.certificate import Certificate
from suffice.verbs.accepting import accepted_verdict
from suffice.verbs.answering import public
from suffice.verbs.explanation import Explanation
from suffice.verbs.question import Question
from suffice.verbs.wording import authority
from suffice.verify.contract import Budget, Proved, Unknown
from suffice.verify.solvers import bounds_oracle_for

DOUBLINGS = 12  # how far beyond the last step the radius search looks
HALVINGS = 8  # how finely it looks between two radii that are not whole numbers


@dataclass(frozen=True, eq=False)
class End:
    """A size at which no word is needed, or some word is, and the evidence for that."""

    size: float
    certificate: Certificate | None = None
    proved: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Radius:
    """The largest size at which no word is known to be needed, and the smallest at which some word
    is.
    """

    free: End | None = None
    needed: End | None = None


At: TypeAlias = Callable[[float], Radius]


def known_radius(
    sizes: Sequence[float], found: Sequence[Explanation], question: Question
) -> Radius:
    """What the steps say already: the largest at which no word is held, the smallest at which some
    word must be.

    Where words were asked for, a step that adds nothing to them says nothing about the empty set.
    """
    base = question.costs.price(question.costs.of(question.included))
    steps = list(zip(sizes, found, strict=True))
    free = [_end(size, one) for size, one in steps if _nothing_held(one)]
    needed = [_end(size, one) for size, one in steps if one.lower_bound > base]
    return Radius(free[-1] if free else None, needed[0] if needed else None)


def _end(size: float, result: Explanation) -> End:
    return End(
        size, result.certificate if result.meta.get("checked", True) else None, result.proved
    )


def _nothing_held(result: Explanation) -> bool:
    """Whether the answer is the empty set, by what the checker accepted, unless it was not to be
    asked.
    """
    stands = "checked" not in result.meta or authority(result.meta, "enough") == "proved"
    return result.status == "optimal" and not result.positions and stands


def close_in(at: At, known: Radius, last: float, budget: Budget) -> Radius:
    """Close in on the radius: double while nothing is needed, then halve the gap; stop at the first
    doubt.
    """
    if known.free is None and known.needed is None:
        known = Radius(free=at(last).free)  # steps that hold words asked for said nothing
    for _ in range(DOUBLINGS):
        if known.needed is not None or budget.exhausted:
            break
        found = at(1 if known.free is None else known.free.size * 2 or 1)
        if found.free is None and found.needed is None:
            return known
        known = Radius(found.free or known.free, found.needed)
    while (middle := _middle(known)) is not None and not budget.exhausted:
        found = at(middle)
        if found.free is None and found.needed is None:
            break
        known = Radius(found.free or known.free, found.needed or known.needed)
    return _shown(at, known)


def _shown(at: At, known: Radius) -> Radius:
    """Where a step says that some word is needed, a change that shows it, if one is found."""
    if known.needed is None or _claims(known.needed, "refuted"):
        return known
    found = at(known.needed.size)
    return known if found.needed is None else replace(known, needed=found.needed)


def _claims(end: End, kind: str) -> bool:
    return end.certificate is not None and end.certificate.claim["kind"] == kind


def _middle(known: Radius) -> float | None:
    if known.needed is None:
        return None
    return _between(0 if known.free is None else known.free.size, known.needed.size)


def _between(low: float, high: float) -> float | None:
    """The middle of two radii; None when they are close enough (neighbours, or within one in two
    hundred).
    """
    if isinstance(low, int) and isinstance(high, int):
        return (low + high) // 2 if high - low > 1 else None
    # four digits lie well within the gap, and can be printed as they are
    return float(f"{(low + high) / 2:.4g}") if high - low > high / 2**HALVINGS else None


def decided(
    question: Callable[[float], Question], self_check: bool, budget: Budget, size: float
) -> Radius:
    """Does the empty set suffice? Only what the independent checker accepts counts, unless it is
    not to be asked.
    """
    try:
        asked = replace(question(size), include=(), exclude=())
        problem = asked.problem
    except InputError:  # more neighbours than the vocabulary has
        return Radius()
    answer = public(
        asked,
        bounds_oracle_for(problem).ask(
            problem.features[None], Budget(max(budget.seconds_left, 1e-3) / 4)
        )[0],
    )
    answer = accepted_verdict(asked, answer) if self_check else answer
    if isinstance(answer, Unknown) or answer.certificate is None:
        return Radius()
    end = End(size, answer.certificate, answer.proved)
    return Radius(free=end) if isinstance(answer, Proved) else Radius(needed=end)

"""Prefer: among equally cheap sets, one with content words rather than stop words and punctuation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from suffice.errors import InputError
from suffice.model.network import Bools
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Budget, Proved, Unknown
from suffice.search.words import Outcome
from suffice.verbs.question import Question

PREFERENCES = ("content", "found")
RESTARTS = 4  # random starts of an attack on a candidate
EFFORT = 2000  # subproblems for a candidate that attacks and plain bounds leave open

# Function words of English; those that deny (no, not, never, nor, without) carry meaning and are not among them.
FUNCTION_WORDS = """
a about above after again all also am an and any are as at be because been before being below between both but by
can could did do does doing down during each either else ever few for from further had has have having he her here
hers herself him himself his how i if in into is it its itself just may me might mine more most must my myself now
of off on once only or other our ours ourselves out over own s same shall she should so some such t than that the
their theirs them themselves then there these they this those through to too under until up upon us very was we
were what when where which while who whom whose why will with would you your yours yourself yourselves
'd 'll 'm 're 's 've i'm i've i'll i'd you're you've you'll he's she's it's we're we've they're they've that's
there's what's who's let's
"""
STOP_WORDS = frozenset(FUNCTION_WORDS.split())


def carries_little(token: str) -> bool:
    """A stop word, or nothing but punctuation."""
    word = token.lower().replace("’", "'")
    return word in STOP_WORDS or not any(char.isalnum() for char in word)


def preference(name: str) -> str:
    if name not in PREFERENCES:
        raise InputError(f"`prefer` is one of {', '.join(PREFERENCES)}, not {name!r}.")
    return name


def preferred(question: Question, outcome: Outcome, budget: Budget) -> Outcome:
    """The outcome with stop words exchanged for content words of the same cost, where that is proved to suffice.

    One word at a time and with a limit per question, so that it stays quick; the candidates are tried in the order of
    the text, so that the answer is the same every time.
    """
    wanted = question.more.get("prefer", "content") == "content" and outcome.finished and outcome.witness is None
    if not wanted or outcome.held is None or not _weak(question, outcome.held).any():
        return outcome
    oracle = BoundsOracle(question.problem)
    for word in np.flatnonzero(_weak(question, outcome.held)):
        outcome = _exchanged(question, oracle, outcome, int(word), budget)
    return outcome


def _weak(question: Question, held: Bools) -> Bools:
    """The words of a set that carry little and were not asked for."""
    weak = [carries_little(token) for token in question.text.tokens]
    return np.asarray(held & question.features & ~question.included & np.array(weak))


def _exchanged(question: Question, oracle: BoundsOracle, outcome: Outcome, word: int, budget: Budget) -> Outcome:
    """The outcome with another word in the place of one, the first that is proved to do."""
    assert outcome.held is not None
    rows = [_swap(outcome.held, word, other) for other in _instead(question, outcome.held, word)]
    if not rows:
        return outcome
    free = question.problem.features & ~np.stack(rows)
    cheap = oracle.ask_cheaply(free, restarts=RESTARTS)
    for row, known, answer in zip(rows, free, cheap, strict=True):
        verdict = oracle.ask(known[None], _limited(budget))[0] if isinstance(answer, Unknown) else answer
        if isinstance(verdict, Proved):
            return replace(outcome, held=row, proof=verdict)
    return outcome


def _limited(budget: Budget) -> Budget:
    return Budget(max(budget.left, 0.0), EFFORT)


def _instead(question: Question, held: Bools, word: int) -> Iterator[int]:
    """Content words of the same cost that could stand in a word's place."""
    units = question.costs.units
    for i in np.flatnonzero(question.features & ~held & ~question.excluded):
        if units[i] == units[word] and i < len(question.text.words) and not carries_little(question.text.tokens[i]):
            yield int(i)


def _swap(held: Bools, word: int, other: int) -> Bools:
    row = held.copy()
    row[word], row[other] = False, True
    return row

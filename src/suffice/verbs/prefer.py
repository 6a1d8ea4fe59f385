"""Prefer: among equally cheap sets, one with content words rather than stop words and punctuation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suffice.errors import InputError
from suffice.model.network import Bools
from suffice.prove.choices import by_choice
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Budget, Proved, Unknown
from suffice.search.words import Outcome
from suffice.sets.perturbations import RealWords
from suffice.verbs.question import Question
from suffice.verbs.running import oracle_of

PREFERENCES = ("content", "found")
RESTARTS = 4  # random starts of an attack on a candidate
DIGITS = 6  # of what a word takes from the lead: the last bits differ between machines
EFFORT = 2000  # subproblems for a candidate that attacks and plain bounds leave open, where a stop word would go
LESS_EFFORT = 200  # the same where a content word would go, of real words
LEAST_EFFORT = 32  # the least of either
WORK = 10**8  # multiplications that these may take, so that the search stays the larger part
IN_VAIN = 3  # such candidates left open after which no more of them are looked at

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
    """The outcome with words exchanged for better ones of the same cost, where that is proved to suffice.

    Content words are better than stop words, and of two content words the one whose change alone takes more from the
    label's lead. One word at a time, the least first, and with a limit per question, so that it stays quick; ties go
    to the order of the text, so that the answer is the same every time.
    """
    wanted = question.more.get("prefer", "content") == "content" and outcome.finished and outcome.witness is None
    if not wanted or outcome.held is None or not (outcome.held & question.features & ~question.included).any():
        return outcome
    oracle = oracle_of(by_choice(question.problem))
    rank = _ranks(question, oracle)
    hoped = _walked(question, oracle, outcome, rank, budget, hopeful=True)
    if hoped.proof is not None or hoped.held is None:
        return hoped
    verdict = oracle.ask((question.problem.features & ~hoped.held)[None], _limited(oracle, budget, EFFORT))[0]
    if isinstance(verdict, Proved):
        return replace(hoped, proof=verdict)
    return _walked(question, oracle, outcome, rank, budget, hopeful=False)


def _walked(
    question: Question, oracle: BoundsOracle, outcome: Outcome, rank: list[int], budget: Budget, hopeful: bool
) -> Outcome:
    """The outcome after every exchange; a hopeful walk proves none of them, and leaves that for the last set."""
    assert outcome.held is not None
    mine = np.flatnonzero(outcome.held & question.features & ~question.included)
    waiting = sorted(mine.tolist(), key=lambda i: -rank[i])
    while waiting and not budget.spent:
        outcome, waiting = _exchanged(question, oracle, outcome, waiting, rank, budget, hopeful)
    return outcome


def _ranks(question: Question, oracle: BoundsOracle) -> list[int]:
    """The place of each position, the best first: content before stop words, then by what it takes from the lead."""
    falls = oracle.attacker.push.min(0)
    worth = np.round(falls / (np.abs(falls).max() or 1.0), DIGITS)
    order = sorted(range(len(question.text)), key=lambda i: (carries_little(question.text.tokens[i]), worth[i], i))
    return [order.index(i) for i in range(len(order))]


def _exchanged(
    question: Question,
    oracle: BoundsOracle,
    outcome: Outcome,
    words: list[int],
    rank: list[int],
    budget: Budget,
    hopeful: bool,
) -> tuple[Outcome, list[int]]:
    """The outcome with a better word in the place of the first one that has any that does, or may do.

    Sets for all the words are asked about together; with what is exchanged come the words that are to be looked at
    again, since they now stand beside another word.
    """
    held = outcome.held
    assert held is not None
    pairs = [(word, other) for word in words for other in _instead(question, held, word, rank)]
    pairs = _promising(oracle, held, pairs, budget)
    if not pairs:
        return outcome, []
    rows = [_swap(held, word, other) for word, other in pairs]
    free = question.problem.features & ~np.stack(rows)
    cheap = oracle.ask_cheaply(free, restarts=RESTARTS, budget=budget)
    patience, real = IN_VAIN, isinstance(question.perturbation, RealWords)
    for (word, _), row, known, answer in zip(pairs, rows, free, cheap, strict=True):
        weak, verdict = carries_little(question.text.tokens[word]), answer
        hoped = hopeful and weak and isinstance(answer, Unknown)
        if isinstance(answer, Unknown) and not hoped and patience > 0 and (weak or real):
            verdict = oracle.ask(known[None], _limited(oracle, budget, EFFORT if weak else LESS_EFFORT))[0]
            patience -= isinstance(verdict, Unknown)
        if isinstance(verdict, Proved) or hoped:
            proof = verdict if isinstance(verdict, Proved) else None
            return replace(outcome, held=row, proof=proof), words[words.index(word) + 1 :]
    return outcome, []


def _promising(
    oracle: BoundsOracle, held: Bools, pairs: list[tuple[int, int]], budget: Budget
) -> list[tuple[int, int]]:
    """The exchanges that an attack on the set without the first word does not show to be too little at once."""
    if not pairs:
        return []
    problem, words = oracle.problem, sorted({word for word, _ in pairs})
    free = np.repeat((problem.features & ~held)[None], len(words), axis=0)
    free[np.arange(len(words)), words] = True
    points = oracle.attacker.attack(free, restarts=RESTARTS, budget=budget).point
    trials = points[[words.index(word) for word, _ in pairs]]
    others = [other for _, other in pairs]
    trials[np.arange(len(pairs)), others] = problem.center[others]
    flips = problem.margins(trials).min(-1) < 0
    return [pair for pair, flip in zip(pairs, flips, strict=True) if not flip]


def _limited(oracle: BoundsOracle, budget: Budget, most: int) -> Budget:
    """For one candidate: fewer subproblems where they are large, unless each takes one quick pass."""
    effort = max(LEAST_EFFORT, min(most, WORK // oracle.form.effort))
    return Budget(max(budget.left, 0.0), most if oracle.problem.source is not None else effort)


def _instead(question: Question, held: Bools, word: int, rank: list[int]) -> list[int]:
    """Better words of the same cost that could stand in a word's place, the best first."""
    units, others = question.costs.units, question.features & ~held & ~question.excluded
    found = [int(i) for i in np.flatnonzero(others) if units[i] == units[word] and rank[i] < rank[word]]
    real = [i for i in found if i < len(question.text.words) and not carries_little(question.text.tokens[i])]
    return sorted(real, key=rank.__getitem__)


def _swap(held: Bools, word: int, other: int) -> Bools:
    row = held.copy()
    row[word], row[other] = False, True
    return row

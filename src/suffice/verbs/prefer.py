"""Prefer: among equally cheap sets, one with content words rather than stop words and
punctuation.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from suffice.errors import InputError
from suffice.model.network import Bools, Floats
from suffice.optimise.word_tree import Outcome
from suffice.sets.perturbations import RealWords
from suffice.settings import Answers
from suffice.verbs.engines import oracle_for
from suffice.verbs.question import Question
from suffice.verify import tolerances
from suffice.verify.contract import Budget, OutOfTime, Proved, Unknown
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.nets.presolve.one_hot import reduced_to_one_hot

PREFERENCES = ("content", "found")

# Function words of English; those that deny (no, not, never, nor, without) carry meaning and are
# not among them.
FUNCTION_WORDS = """
a about above after again all also am an and any are as at be because been before being below
between both but by can could did do does doing down during each either else ever few for from
further had has have having he her here hers herself him himself his how i if in into is it its
itself just may me might mine more most must my myself now of off on once only or other our ours
ourselves out over own s same shall she should so some such t than that the their theirs them
themselves then there these they this those through to too under until up upon us very was we were
what when where which while who whom whose why will with would you your yours yourself yourselves 'd
'll 'm 're 's 've i'm i've i'll i'd you're you've you'll he's she's it's we're we've they're they've
that's there's what's who's let's
"""
STOP_WORDS = frozenset(FUNCTION_WORDS.split())


@lru_cache(maxsize=2**16)
def is_low_content(token: str) -> bool:
    """A stop word, or nothing but punctuation."""
    word = token.lower().replace("’", "'")
    return word in STOP_WORDS or not any(char.isalnum() for char in word)


def low_content_words(question: Question) -> list[int]:
    """The positions of words that carry little, where the question would rather do without them."""
    wanted = question.more.get("prefer", "content") == "content"
    return [word.position for word in question.text.words if wanted and is_low_content(word.text)]


def preference(name: str) -> str:
    if name not in PREFERENCES:
        raise InputError(f"`prefer` is one of {', '.join(PREFERENCES)}, not {name!r}.")
    return name


@dataclass(eq=False)
class Preference:
    """Which of equally cheap sets of words a question's answer should be.

    Content words are better than stop words, and of two content words the one that speaks more for
    the label in a text of its own (over boxes and balls: the one whose change alone takes more from
    the label's lead). Words are exchanged one at a time, the least first, and with a limit per
    question, so that it stays quick; ties go to the order of the text, so that the answer is the
    same every time.
    """

    question: Question
    budget: Budget
    # sets in which nothing is left to exchange, as far as attacks tell
    seen: set[bytes] = field(default_factory=set)

    @property
    def settings(self) -> Answers:
        return self.question.settings.answers

    @property
    def wanted(self) -> bool:
        return bool(self.question.more.get("prefer", "content") == "content")

    @cached_property
    def patience(self) -> int:
        """How many candidates of a walk may be left open."""
        return self.settings.vain_tries

    @cached_property
    def oracle(self) -> BoundsOracle:
        return oracle_for(reduced_to_one_hot(self.question.problem))

    @cached_property
    def rank(self) -> list[int]:
        """The place of each position, the best first: content before stop words, then by what it is
        worth.
        """
        found = self._worth
        tokens = self.question.text.tokens
        worth = np.round(found / (np.abs(found).max() or 1.0), tolerances.WORTH_DIGITS)
        order = sorted(range(len(tokens)), key=lambda i: (is_low_content(tokens[i]), -worth[i], i))
        return [order.index(i) for i in range(len(order))]

    @cached_property
    def _worth(self) -> Floats:
        """The lead of each word by itself, or over boxes and balls, what its change can take from
        the text's lead.
        """
        question = self.question
        if not isinstance(question.perturbation, RealWords):
            return np.asarray(-self.oracle.attacker.word_effects.min(0))
        # arrays of strings would lose what is not printed
        tokens = list(dict.fromkeys(question.text.tokens))
        lead = dict(zip(tokens, _by_themselves(question, tokens).tolist(), strict=True))
        return np.array([lead[token] for token in question.text.tokens])

    def preferred_set(self, held: Bools) -> Bools:
        """A better set of the same cost that may do as well: nobody has proved it."""
        found, _ = self._walked(held, None, hopeful=True)
        self.seen.add(found.tobytes())
        return found

    def improved(self, outcome: Outcome) -> Outcome:
        """The outcome with words exchanged for better ones of the same cost, where that is proved
        to suffice.
        """
        held = outcome.held
        open_ = outcome.witness is not None or not outcome.finished
        if (
            not self.wanted
            or open_
            or held is None
            or held.tobytes() in self.seen
            or not self._mine(held)
        ):
            return outcome
        hoped, proof = self._walked(held, outcome.proof, hopeful=True)
        if proof is not None:
            return replace(outcome, held=hoped, proof=proof)
        verdict = self.oracle.ask(
            (self.question.problem.features & ~hoped)[None],
            self._limited(self.settings.exchange_subproblems),
        )[0]
        if isinstance(verdict, Proved):
            return replace(outcome, held=hoped, proof=verdict)
        if self.oracle.prepared.pooled is not None and self.oracle.problem.one_hot is None:
            self.patience = 0  # over maxima what is left open takes long, and is left open again
        found, proof = self._walked(held, outcome.proof, hopeful=False)
        return replace(outcome, held=found, proof=proof)

    def _mine(self, held: Bools) -> list[int]:
        """The words that may be exchanged."""
        words = held & self.question.features & ~self.question.included
        return [int(word) for word in np.flatnonzero(words)]

    def _walked(
        self, held: Bools, proof: Proved | None, hopeful: bool
    ) -> tuple[Bools, Proved | None]:
        """The set after every exchange, and its proof; a hopeful walk proves none of them, so that
        it may have none.
        """
        waiting = sorted(self._mine(held), key=lambda i: -self.rank[i])
        left = self._looks
        with contextlib.suppress(OutOfTime):
            while waiting and left > 0 and not self.budget.exhausted:
                pairs = self._pairs(held, waiting)[:left]
                left -= len(pairs)
                held, proof, waiting = self._exchanged(held, proof, waiting, pairs, hopeful)
        return held, proof

    @cached_property
    def _looks(self) -> int:
        """How many exchanges a walk looks at: in a long text they would be too many for what they
        are worth.
        """
        form = self.oracle.prepared
        passes = self.settings.look_passes * sum(step.weight.size for step in form.steps)
        work = self.question.settings.word_tree.probe_work
        return int(work // (form.intermediate_work + passes))

    def _pairs(self, held: Bools, words: list[int]) -> list[tuple[int, int]]:
        """Words, and better ones that could stand in their place."""
        return [
            (word, other)
            for word in words
            for other in _instead(self.question, held, word, self.rank)
        ]

    def _exchanged(
        self,
        held: Bools,
        proof: Proved | None,
        words: list[int],
        pairs: list[tuple[int, int]],
        hopeful: bool,
    ) -> tuple[Bools, Proved | None, list[int]]:
        """The set with a better word in the place of the first one that has any that does, or may
        do.

        Sets for all the words are asked about together; with what is exchanged come the words that
        are to be looked at again, since they now stand beside another word.
        """
        question = self.question
        oracle = self.oracle
        pairs = _promising(oracle, held, pairs, self.settings.restarts, self.budget)
        if not pairs:
            return held, proof, []
        rows = [_swap(held, word, other) for word, other in pairs]
        free = question.problem.features & ~np.stack(rows)
        cheap = oracle.ask_cheaply(free, restarts=self.settings.restarts, budget=self.budget)
        patience = self.patience
        real = isinstance(question.perturbation, RealWords)
        for (word, _), row, known, answer in zip(pairs, rows, free, cheap, strict=True):
            weak = is_low_content(question.text.tokens[word])
            verdict = answer
            hoped = hopeful and weak and isinstance(answer, Unknown)
            if isinstance(answer, Unknown) and not hoped and patience > 0 and (weak or real):
                # a tenth where a content word would go: less is won
                most = self.settings.exchange_subproblems // (1 if weak else 10)
                verdict = oracle.ask(known[None], self._limited(most))[0]
                patience -= isinstance(verdict, Unknown)
            if isinstance(verdict, Proved) or hoped:
                proved = verdict if isinstance(verdict, Proved) else None
                return row, proved, words[words.index(word) + 1 :]
        return held, proof, []

    def _limited(self, most: int) -> Budget:
        """For one candidate: fewer subproblems where they are large, unless each takes one quick
        pass.
        """
        quick = self.oracle.problem.one_hot is not None
        work = self.oracle.prepared.subproblem_work
        # where lines around windows bound a subproblem, it goes twice as far
        most = most if self.oracle.max_of_sums is None else most // 2
        if not quick:
            tree = self.question.settings.word_tree
            most = min(most, max(tree.probe_subproblems[0], tree.large_subproblem // work))
        return Budget(max(self.budget.seconds_left, 0.0), most)


def _by_themselves(question: Question, tokens: list[str]) -> Floats:
    """The label's lead in texts of one word each."""
    classifier = question.classifier
    problem = question.problem
    points = np.stack([classifier.embed(classifier.read([token])) for token in tokens])
    moved = np.flatnonzero((points != points[0]).any((0, 2)))
    if len(moved) > 1:
        return np.asarray(problem.margins(points).min(-1))
    word = int(moved[0]) if len(moved) else 0
    scores = problem.network.forward_but(word, points[0], points[:, word])
    return np.asarray((scores[:, [problem.label]] - scores[:, list(problem.rivals)]).min(-1))


def _promising(
    oracle: BoundsOracle,
    held: Bools,
    pairs: list[tuple[int, int]],
    restarts: int,
    budget: Budget,
) -> list[tuple[int, int]]:
    """The exchanges that an attack on the set without the first word does not show to be too little
    at once.
    """
    if not pairs:
        return []
    problem = oracle.problem
    words = sorted({word for word, _ in pairs})
    free = np.repeat((problem.features & ~held)[None], len(words), axis=0)
    free[np.arange(len(words)), words] = True
    points = oracle.attacker.attack(free, restarts=restarts, budget=budget).point
    trials = points[[words.index(word) for word, _ in pairs]]
    others = [other for _, other in pairs]
    trials[np.arange(len(pairs)), others] = problem.center[others]
    flips = problem.margins(trials).min(-1) < 0
    return [pair for pair, flip in zip(pairs, flips, strict=True) if not flip]


def _instead(question: Question, held: Bools, word: int, rank: list[int]) -> list[int]:
    """Better words of the same cost that could stand in a word's place, the best first."""
    alike = question.costs.units == question.costs.units[word]
    others = np.flatnonzero(question.features & ~held & ~question.excluded & alike).tolist()
    found = [i for i in others if rank[i] < rank[word]]
    real = [
        i
        for i in found
        if i < len(question.text.words) and not is_low_content(question.text.tokens[i])
    ]
    return sorted(real, key=rank.__getitem__)


def _swap(held: Bools, word: int, other: int) -> Bools:
    row = held.copy()
    row[word] = False
    row[other] = True
    return row

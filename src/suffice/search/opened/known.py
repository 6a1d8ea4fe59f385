"""What is known of a bag of words: sets that are enough, texts that fail, and the rules that these teach."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.asked import Flip, OutOfBudget
from suffice.prove.bag import Open
from suffice.prove.ceiling import Tree
from suffice.prove.verdict import Budget
from suffice.prove.worst import EASY, Enough, Failing, Worst
from suffice.search.asking import Asking
from suffice.search.covers import bits, mask_of, price
from suffice.search.opened.failing import smaller
from suffice.search.opened.lessons import Lessons
from suffice.search.opened.rules import Rule

GREEDY = 16  # steps towards some explanation
LAST = 100  # splits that the last proof is worth


@dataclass(eq=False)
class Known(Asking):
    """What is wanted of a bag of words, and what is known so far: which sets are enough, and which rules hold."""

    worst: Worst = field(kw_only=True)
    rules: list[Rule] = field(default_factory=list)
    needed: list[Rule] = field(default_factory=list)  # the rules that the lower bound follows from, once that is known
    proved: list[tuple[int, Enough]] = field(default_factory=list)  # sets that are enough
    tried: set[int] = field(default_factory=set)  # sets that seemed to be enough by a line
    trimmed: int | None = None  # the best set, once no word could be left out of it
    ceiling: tuple[int, Tree] | None = None  # a rival, and the ceilings that the lower bound follows from

    @cached_property
    def lessons(self) -> Lessons:
        """Where rules come from."""
        costs = np.array(self.costs, dtype=np.float64)
        return Lessons(self.asked, self.worst, costs, self.mask(self.include), self.mask(self.exclude))

    def mask(self, held: int) -> Bools:
        """The same set of words as an array."""
        return np.array([bool(held >> i & 1) for i in range(len(self.costs))])

    def budget(self) -> Budget:
        """What is left, once the clock was looked at."""
        return self.lessons.budget()

    def closed(self) -> bool:
        """Whether the best set costs no more than the lower bound."""
        return self.best is not None and price(self.best, self.costs) <= self.lower

    @property
    def upper(self) -> int:
        assert self.best is not None
        return price(self.best, self.costs)

    # --- is it enough? ---

    def known(self, held: int) -> bool:
        return self.proof(held) is not None

    def proof(self, held: int) -> Enough | None:
        """The proof of a set, or of one inside it."""
        return next((proof for one, proof in self.proved if one & ~held & self.asked.movable == 0), None)

    def decide(self, held: int) -> Flip | None:
        """A flip that keeps these words; None where the worst case is proved, or too close to call."""
        if self.known(held):
            return None
        found = self.worst.ask(self.mask(held), self.budget(), EASY)
        if isinstance(found, Open) and found.chosen is None:
            self.trim(0.8 * self.budget().left)  # the rest may take all the time
            found = self.worst.ask(self.mask(held), self.budget())
        match found:
            case Enough():
                self.keep(held, found)
                return None
            case Failing():
                return self._failed(held, found)
            case Open(chosen=chosen) if chosen is not None:
                self._doubtful(chosen)
                return None
            case Open(reason=reason):
                raise OutOfBudget(reason)

    def keep(self, held: int, proof: Enough) -> None:
        """Remember that a set is enough; it may be the best so far."""
        self.proved.append((held, proof))
        fits = not held & self.exclude and held & self.include == self.include
        if fits and (self.best is None or price(held, self.costs) < price(self.best, self.costs)):
            self.best = held
            self.report()

    def _doubtful(self, chosen: Ints) -> None:
        change = self.worst.change(chosen)
        self.doubts.append(mask_of([i for i, _ in change]))
        self.asked.open.add(self.asked.write(change))

    def _failed(self, held: int, found: Failing) -> Flip | None:
        """The failing text made small, and run; the rules that follow from it."""
        small = smaller(self.worst, found)
        for chosen in (small, found.chosen):
            flip = self.run(chosen)
            if flip is not None:
                self._learn(held, found)
                return flip
        self._doubtful(found.chosen)
        return None

    def run(self, chosen: Ints, rival: int | None = None) -> Flip | None:
        """A text as the pipeline itself judges it: a flip or not."""
        change = self.worst.change(chosen)
        return self.asked.flip(change, rival) if self.asked.margins([change], rival)[0] <= 0 else None

    def _learn(self, held: int, found: Failing) -> None:
        """Rules that the candidate breaks."""
        mask = self.mask(held)
        if self.asked.at_most is not None and any(rule.broken(mask) for rule in self.rules):
            return  # a candidate keeps them all
        found = self.worst.sharper(found, mask) if self.lessons.neighbours else found
        made = self.lessons.rules(found, mask.astype(np.float64), bool(self.rules))
        self.rules += [rule for rule in made if rule.broken(mask)]

    # --- sets that may be enough ---

    def try_out(self, words: list[int] | None) -> None:
        """Keep a set that is cheaper than the best one, if it is enough."""
        held = mask_of(words or []) | self.include
        if words is None or held in self.tried or price(held, self.costs) >= self.upper:
            return
        self.tried.add(held)
        splits = LAST if price(held, self.costs) <= self.lower else EASY
        proof = self.worst.ask(self.mask(held), self.budget(), splits)
        if isinstance(proof, Enough):
            self.keep(held, proof)

    def greedy(self, held: int) -> None:
        """Add the words that harm most until the worst case holds, and is proved so without trouble."""
        failing: Failing | None = None
        for step in range(GREEDY):
            if self.best is not None and price(held, self.costs) >= price(self.best, self.costs):
                return
            found = self.worst.ask(self.mask(held), self.budget(), EASY)
            if isinstance(found, Enough):
                self.keep(held, found)
                return
            if isinstance(found, Failing):
                self._learn(held, found)
                failing, held = found, self._with(held, found, step)
            elif failing is None:
                return
            else:  # a few more, and the proof is easy
                for word in self._ranked(held, failing)[: 1 + len(self.costs) // 50]:
                    held |= 1 << word

    def _ranked(self, held: int, found: Failing) -> list[int]:
        """The words that may still be held, those first that harm most for what they cost."""
        _, harm = self.lessons.worse(found)
        order = np.argsort(-harm / self.lessons.costs, kind="stable").tolist()
        return [i for i in order if (self.asked.movable & ~held & ~self.exclude) >> i & 1]

    def _with(self, held: int, found: Failing, step: int) -> int:
        _, harm = self.lessons.worse(found)
        form = self.worst.form(found.rival, found.chosen)
        ranked = harm / self.lessons.costs
        for added, word in enumerate(np.argsort(-ranked).tolist()):
            if held >> word & 1 or self.exclude >> word & 1 or not self.asked.movable >> word & 1:
                continue
            held |= 1 << word
            form += harm[word]
            if form > 0 and added >= step * step:
                break
        return held

    def trim(self, until: float) -> None:
        """Leave words of the best set out where the others are enough, until so many seconds are left."""
        if self.best is None or self.best == self.trimmed:
            return
        for word in bits(self.best & ~self.include):
            held = self.best & ~(1 << word)
            found = self.worst.ask(self.mask(held), self.budget(), EASY)
            if isinstance(found, Enough):
                self.keep(held, found)
            if self.closed() or self.budget().left < until:
                return
        self.trimmed = self.best

    # --- rules ---

    def sure(self) -> list[tuple[Floats, float]]:
        """What every explanation keeps: the flips and the rules."""
        clauses = [self.clause(flip.mask) for flip in self.flips]
        return [*clauses, *((rule.weights, rule.least) for rule in self.rules)]

    def clause(self, mask: int) -> tuple[Floats, float]:
        """That one of these words is held, as a rule has it."""
        return self.mask(mask).astype(np.float64), 1.0

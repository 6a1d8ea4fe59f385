"""CutPool: the facts a search over a bag of words has: sufficient sets, failing texts, cuts.

Method: cutting planes (theory, section 8).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.optimise.cuts.cut import Cut
from suffice.optimise.cuts.separation import CutSeparator
from suffice.optimise.cuts.shrink_attack import shrink_attack
from suffice.optimise.min_cost_hitting_set import bits, mask_cost, mask_of
from suffice.optimise.query_search import QuerySearch
from suffice.settings import Cuts
from suffice.verify.contract import Budget
from suffice.verify.queries import ObservedFlip, OutOfBudget
from suffice.verify.text.majorants import MajorantTree
from suffice.verify.text.norm_form import InstanceUnknown
from suffice.verify.text.worst_case import SetProved, SetRefuted, WorstCase


@dataclass(eq=False)
class CutPool(QuerySearch):
    """A query search with computed worst cases: the sets proved sufficient and the valid cuts so
    far.
    """

    worst_case: WorstCase = field(kw_only=True)
    cuts: list[Cut] = field(default_factory=list)
    # the cuts that the lower bound follows from, once that is known
    used_cuts: list[Cut] = field(default_factory=list)
    proved: list[tuple[int, SetProved]] = field(default_factory=list)  # sets proved sufficient
    # sets that seemed sufficient by a minorant and were asked about
    tried_sets: set[int] = field(default_factory=set)
    minimal_set: int | None = None  # the best set, once no word could be deleted from it
    # a rival, and the majorants that the lower bound follows from
    majorants: tuple[int, MajorantTree] | None = None

    @property
    def settings(self) -> Cuts:
        return self.session.settings.cuts

    @cached_property
    def separator(self) -> CutSeparator:
        """What makes cuts from failing texts."""
        costs = np.array(self.costs, dtype=np.float64)
        return CutSeparator(
            self.session, self.worst_case, costs, self.mask(self.include), self.mask(self.exclude)
        )

    def mask(self, held: int) -> Bools:
        """The same set of words as an array."""
        return np.array([bool(held >> i & 1) for i in range(len(self.costs))])

    def checked_budget(self) -> Budget:
        """What is left, once the clock was looked at."""
        return self.separator.checked_budget()

    def gap_closed(self) -> bool:
        """Whether the best set costs no more than the lower bound."""
        return self.best is not None and mask_cost(self.best, self.costs) <= self.lower

    @property
    def upper(self) -> int:
        assert self.best is not None
        return mask_cost(self.best, self.costs)

    # --- is it enough? ---

    def is_proved(self, held: int) -> bool:
        return self.proof(held) is not None

    def proof(self, held: int) -> SetProved | None:
        """The proof of a set, or of one inside it."""
        return next(
            (proof for one, proof in self.proved if one & ~held & self.session.movable == 0), None
        )

    def decide(self, held: int) -> ObservedFlip | None:
        """A flip that keeps these words; None where the worst case is proved, or too
        close to call.
        """
        if self.is_proved(held):
            return None
        verdict = self.decide_quickly(held)
        if isinstance(verdict, InstanceUnknown) and verdict.chosen is None:
            self.delete_words()  # the rest may take all the time
            verdict = self.worst_case.decide_set(self.mask(held), self.checked_budget())
        match verdict:
            case SetProved():
                self.record_proof(held, verdict)
                return None
            case SetRefuted():
                return self._refuted(held, verdict)
            case InstanceUnknown(chosen=chosen) if chosen is not None:
                self._record_doubt(chosen)
                return None
            case InstanceUnknown(reason=reason):
                raise OutOfBudget(reason)

    def decide_quickly(self, held: int) -> SetProved | SetRefuted | InstanceUnknown:
        """Whether these words are enough, given up after a few splits."""
        splits = self.settings.quick_splits
        return self.worst_case.decide_set(self.mask(held), self.checked_budget(), splits)

    def record_proof(self, held: int, proof: SetProved) -> None:
        """Remember that a set is enough; it may be the best so far."""
        self.proved.append((held, proof))
        fits = not held & self.exclude and held & self.include == self.include
        if fits and (
            self.best is None or mask_cost(held, self.costs) < mask_cost(self.best, self.costs)
        ):
            self.best = held
            self.report()

    def _record_doubt(self, chosen: Ints) -> None:
        change = self.worst_case.change(chosen)
        self.doubtful_sets.append(mask_of([i for i, _ in change]))
        self.session.doubtful.add(self.session.write(change))

    def _refuted(self, held: int, refuted: SetRefuted) -> ObservedFlip | None:
        """The failing text made small, and run; the rules that follow from it."""
        shrunk = shrink_attack(self.worst_case, refuted)
        for chosen in (shrunk, refuted.chosen):
            flip = self.observed(chosen)
            if flip is not None:
                self._add_cuts(held, refuted)
                return flip
        self._record_doubt(refuted.chosen)
        return None

    def observed(self, chosen: Ints, rival: int | None = None) -> ObservedFlip | None:
        """A text as the pipeline itself judges it: a flip or not."""
        change = self.worst_case.change(chosen)
        return (
            self.session.observed_flip(change, rival)
            if self.session.margins([change], rival)[0] <= 0
            else None
        )

    def _add_cuts(self, held: int, refuted: SetRefuted) -> None:
        """Rules that the candidate breaks."""
        mask = self.mask(held)
        if self.session.at_most is not None and any(cut.is_violated(mask) for cut in self.cuts):
            return  # a candidate keeps them all
        refuted = (
            self.worst_case.with_features(refuted, mask)
            if self.separator.uses_neighbours
            else refuted
        )
        cuts = self.separator.cuts_from(refuted, mask.astype(np.float64), bool(self.cuts))
        self.cuts += [cut for cut in cuts if cut.is_violated(mask)]

    # --- sets that may be enough ---

    def try_set(self, words: list[int] | None) -> None:
        """Keep a set that is cheaper than the best one, if it is enough."""
        held = mask_of(words or []) | self.include
        if words is None or held in self.tried_sets or mask_cost(held, self.costs) >= self.upper:
            return
        self.tried_sets.add(held)
        splits = (
            self.settings.closing_splits
            if mask_cost(held, self.costs) <= self.lower
            else self.settings.quick_splits
        )
        proof = self.worst_case.decide_set(self.mask(held), self.checked_budget(), splits)
        if isinstance(proof, SetProved):
            self.record_proof(held, proof)

    def grow_sufficient(self, held: int) -> None:
        """Add the words that harm most, more of them each time, until the worst case holds and is
        quickly proved so.
        """
        last_refuted: SetRefuted | None = None
        for step in count():
            before = held
            if self.best is not None and mask_cost(held, self.costs) >= mask_cost(
                self.best, self.costs
            ):
                return
            verdict = self.decide_quickly(held)
            if isinstance(verdict, SetProved):
                self.record_proof(held, verdict)
                return
            if isinstance(verdict, SetRefuted):
                self._add_cuts(held, verdict)
                last_refuted = verdict
                held = self._with_harmful(held, verdict, step)
            elif last_refuted is None:
                return
            else:  # a few more, and the proof is easy
                held |= mask_of(self._ranked(held, last_refuted)[: step * step])
            if held == before:
                return

    def _ranked(self, held: int, refuted: SetRefuted) -> list[int]:
        """The words that may still be held, those first that harm most for what they cost."""
        _, harm = self.separator.worst_extension(refuted)
        order = np.argsort(-harm / self.separator.costs, kind="stable").tolist()
        return [i for i in order if (self.session.movable & ~held & ~self.exclude) >> i & 1]

    def _with_harmful(self, held: int, refuted: SetRefuted, step: int) -> int:
        _, harm = self.separator.worst_extension(refuted)
        form_value = self.worst_case.form_value(refuted.rival, refuted.chosen)
        ranked = harm / self.separator.costs
        for added, word in enumerate(np.argsort(-ranked).tolist()):
            if held >> word & 1 or self.exclude >> word & 1 or not self.session.movable >> word & 1:
                continue
            held |= 1 << word
            form_value += harm[word]
            if form_value > 0 and added >= step * step:
                break
        return held

    def delete_words(self) -> None:
        """Leave words of the best set out, each once, where the others are quickly shown to be
        enough.
        """
        if self.best is None or self.best == self.minimal_set:
            return
        for word in bits(self.best & ~self.include):
            held = self.best & ~(1 << word)
            verdict = self.decide_quickly(held)
            if isinstance(verdict, SetProved):
                self.record_proof(held, verdict)
            if self.gap_closed():
                return
        self.minimal_set = self.best

    # --- rules ---

    def valid_cuts(self) -> list[tuple[Floats, float]]:
        """What every explanation keeps: the flips and the rules."""
        clauses = [self.clause(flip.mask) for flip in self.flips]
        return [*clauses, *((cut.weights, cut.threshold) for cut in self.cuts)]

    def clause(self, mask: int) -> tuple[Floats, float]:
        """That one of these words is held, as a rule has it."""
        return self.mask(mask).astype(np.float64), 1.0

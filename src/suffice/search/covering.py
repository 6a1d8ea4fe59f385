"""Covering: the search in coordinates of choices, where whether words suffice is quickly told.

Every set of words that does not suffice gives a counterexample, of which as many words as possible are put back.
Explanations hold a word of every counterexample: the cheapest set that does bounds them from below, is asked about, and
is an explanation or gives another counterexample. Where such a set is hard to decide on, or after many
of them, words are freed one after the other as long as the others suffice, so that there is an answer in any case.
The proof is a tree over words that is closed by cost and by counterexamples alone.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

import numpy as np

from suffice.model.network import Bools
from suffice.prove.choices import told_witness
from suffice.prove.exact import confirm
from suffice.prove.verdict import OutOfTime, Proved, Refuted, Source, Unknown, Verdict, Witness
from suffice.search.covers import bits, cheapest_cover, covers_of, mask_of, price
from suffice.search.inquiry import Inquiry
from suffice.search.node import ByAttack, ByCost, ByProof, Node, Reason
from suffice.search.words import Outcome

EARLY = 20_000  # subproblems for a cheapest set that may suffice, before words are freed one by one
ASKED = 80  # sets that are asked about before that, too
PROBE = 250  # subproblems for a word to be freed
QUICK = 1  # for a further counterexample
FURTHER = 6  # counterexamples looked for beside each one that is found
LARGEST = 20_000  # nodes of a proof


class Covering:
    """One search; what it finds is about the problem in coordinates."""

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry, self.task, self.problem = inquiry, inquiry.task, inquiry.task.problem
        self.units = [int(unit) for unit in self.task.costs.units]
        self.include = mask_of(np.flatnonzero(self.task.include).tolist())
        self.exclude = mask_of(np.flatnonzero(~self.task.everything & ~self.task.include).tolist())
        self.lower = self.task.costs.of(self.task.include)
        self.settled = False  # whether all sets of the optimal cost were found
        self.proofs: dict[int, Proved] = {}  # those that were

    def run(self) -> Outcome:
        try:
            return self._run()
        except KeyboardInterrupt:
            return self.outcome("interrupted")
        except OutOfTime:
            return self.outcome("time is up")

    def _run(self) -> Outcome:
        match self.inquiry.ask(self.task.everything[None], self.task.budget.subproblems)[0]:
            case Refuted(witness):
                return self.outcome(witness=witness)
            case Unknown():
                what = "the exclusion can be met" if self.task.exclude.any() else "the text itself has a clear label"
                return self.outcome("time is up" if self.task.budget.spent else f"whether {what} is undecided")
        if (found := self._close(EARLY, ASKED)) is not None:
            return found
        self._free()
        return self._close(self.task.budget.subproblems) or self.outcome("some sets are undecided")

    # --- above ---

    def _free(self) -> None:
        """Free one word after the other, the most harmless first, while the others suffice."""
        harm = -self.inquiry.oracle.attacker.push.min(0) / self.task.costs.units
        held = self.task.everything
        for word in np.argsort(harm, kind="stable"):
            if held[word] and not self.task.include[word]:
                trial = held.copy()
                trial[word] = False
                if self._suffices(trial, PROBE):
                    held = trial

    def _suffices(self, held: Bools, effort: int) -> bool | None:
        """Whether words suffice."""
        answer = self._answer(held, effort)
        return None if isinstance(answer, Unknown) else isinstance(answer, Proved)

    def _answer(self, held: Bools, effort: int) -> Verdict:
        """What is found of words; a counterexample is made small and kept."""
        self.task.budget.look()
        before = len(self.inquiry.known.attacks)
        answer = self.inquiry.ask(held[None], effort)[0]
        if isinstance(answer, Refuted) and len(self.inquiry.known.attacks) > before and not self._short:
            self._smaller(answer.witness)
        return answer

    # --- below ---

    def _close(self, effort: int, sets: float = math.inf) -> Outcome | None:
        """Raise the lower bound until it meets the upper one; None after so many sets or subproblems for one."""
        while self.inquiry.stats["queries"] <= sets:
            cover = self._cover()
            self.lower = self.inquiry.lowest = min(price(cover, self.units), self.inquiry.upper)
            self.task.report(self.lower, self.inquiry.best)
            if self.lower >= self.inquiry.upper:
                return self.outcome()
            held = self._held(cover)
            enough = self._suffices(held, effort)
            if enough is None:
                return None
            if not enough:
                self._further(held)
        return None

    def _cover(self) -> int:
        look = self.task.budget.look
        found = cheapest_cover(self._flips, self.units, self.include, self.exclude, stop=look, least=self.lower)
        assert found is not None, "all that may be held suffices"
        return found

    @property
    def _flips(self) -> list[int]:
        return [mask_of(witness.positions) for witness in self.inquiry.known.attacks]

    # --- all that are as cheap ---

    def equals(self, cost: int) -> Iterator[tuple[Bools, Proved]]:
        """Every explanation of exactly the optimal `cost`, each once, as it is found; all of them if `settled` then."""
        looked, doubt = set[int](), False
        with contextlib.suppress(OutOfTime):
            while (cover := self._other(cost, looked)) is not None:
                answer = self._answer(self._held(cover), EARLY)
                if not isinstance(answer, Refuted):
                    looked.add(cover)
                    doubt |= isinstance(answer, Unknown)
                if isinstance(answer, Proved):
                    self.proofs[cover] = answer
                    yield self._held(cover), answer
            self.settled = not doubt

    def _other(self, cost: int, looked: Container[int]) -> int | None:
        """A set of that cost that all counterexamples leave possible and that was not looked at yet."""
        look = self.task.budget.look
        covers = covers_of(self._flips, self.units, cost, self.include, self.exclude, stop=look)
        return next((cover for cover in covers if cover not in looked), None)

    def _held(self, cover: int) -> Bools:
        held = np.zeros_like(self.task.include)
        held[bits(cover)] = True
        return held

    def _further(self, held: Bools) -> None:
        """Other counterexamples, each without the words of those before it."""
        for _ in range(FURTHER):
            held = held.copy()
            held[list(self.inquiry.known.attacks[-1].positions)] = True
            if not self._glance(held):
                return

    def _glance(self, held: Bools) -> bool:
        """Whether a quick look finds a counterexample that keeps these words, which is kept."""
        if not self._short:
            return self._suffices(held, QUICK) is False
        self.task.budget.look()
        found = self.inquiry.oracle.glance(self.problem.features & ~held)
        if found is not None:
            self.inquiry.known.add_attack(found)
        return found is not None

    @property
    def _short(self) -> bool:
        """Whether counterexamples are as small as putting words back makes them when they come."""
        return self.inquiry.oracle.windows is not None

    def _smaller(self, witness: Witness) -> None:
        """Put words of a counterexample back while it stays one, always the one that leaves it furthest ahead."""
        place, point = self.problem.rivals.index(witness.rival), witness.point
        while True:
            changed = np.flatnonzero((point != self.problem.center).any(-1))
            trials = np.repeat(point[None], len(changed), axis=0)
            trials[np.arange(len(changed)), changed] = 0.0
            margins = self.problem.margins(trials)[:, place]
            if not len(changed) or margins.min() >= 0:
                break
            point = trials[int(margins.argmin())]
        free = self.problem.features[None]
        self.inquiry.known.add_points(point[None], free)

    # --- what is known in the end ---

    def outcome(self, reason: str = "", witness: Witness | None = None) -> Outcome:
        """What is known when the search ends, with the tree that proves the lower bound."""
        found = self.inquiry
        held, proof = found.best if found.best is not None else (None, None)
        root = self._tree(self.lower)
        lower = self.lower if root.settled else root.lower
        reason = reason or ("" if root.settled else "the proof would be too large")
        finished = witness is not None or (found.best is not None and lower == found.upper)
        return Outcome(held, proof, lower, found.upper, root, witness, found.stats, finished, reason)

    def every(self, cost: int) -> Node | None:
        """The tree that shows that the sets of this cost that were found are all; None where there is none."""
        root = self._tree(cost + 1)
        return root if self.settled and root.settled else None

    def _tree(self, below: int) -> Node:
        """The tree that shows that nothing else costs less; its root alone, with what is sure, where there is none."""
        root = Node(self.task.include, ~self.task.everything & ~self.task.include, below)
        attacks = [(mask_of(witness.positions), witness) for witness in self.inquiry.known.attacks]
        waiting, count = [root], 0
        while waiting:
            node, count = waiting.pop(), count + 1
            if count > LARGEST or not self._grown(node, attacks, below):
                return Node(root.held, root.out, self.task.costs.of(self.task.include))
            waiting += node.children or ()
        return root

    def _grown(self, node: Node, attacks: Sequence[tuple[int, Witness]], below: int) -> bool:
        """Close a node, or split it on a word; False where no attack speaks against it."""
        held, out = (mask_of(np.flatnonzero(side).tolist()) for side in (node.held, node.out))
        if price(held, self.units) >= below:
            node.close(ByCost())
            return True
        if held in self.proofs:
            node.close(ByProof(self.proofs[held]))
            return True
        unhit = [(mask & ~out, witness) for mask, witness in attacks if not mask & held]
        if not unhit:
            return False
        left, witness = min(unhit, key=lambda pair: pair[0].bit_count())
        if not left:
            node.close(ByAttack(witness))
            return True
        node.word = max(bits(left), key=lambda word: sum(mask >> word & 1 for mask, _ in unhit))
        mark = np.arange(len(node.held)) == node.word
        node.children = (Node(node.held | mark, node.out, below), Node(node.held, node.out | mark, below))
        return True


# --- told of the original ---


def told(source: Source, outcome: Outcome) -> Outcome:
    """What a search found, about the problem that its problem stands for."""
    return replace(
        outcome,
        witness=None if outcome.witness is None else _run(source, outcome.witness),
        root=told_node(source, outcome.root),
    )


def _run(source: Source, witness: Witness) -> Witness | None:
    """A counterexample for people: its input goes through the original network, whatever its coordinates say."""
    point = told_witness(source, witness).point[None]
    return confirm(source.problem, point, source.problem.features[None])[0]


def told_node(source: Source, root: Node) -> Node:
    """A tree whose counterexamples are about the problem that the searched one stands for."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.reason is not None:
            node.reason = _told_reason(source, node.reason)
        waiting += node.children or ()
    return root


def _told_reason(source: Source, reason: Reason) -> Reason:
    match reason:
        case ByAttack(witness):
            return ByAttack(told_witness(source, witness))
        case _:
            return reason

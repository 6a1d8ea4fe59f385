"""ImplicitHittingSet: cheapest sufficient sets where the oracle is quick (one-hot options).

Every set of words that does not suffice gives a counterexample (a core), shrunk by putting words
back. Explanations hit every core: the cheapest hitting set bounds them from below, is asked about,
and is an explanation or gives another core. Where such a set is hard to decide, or after many of
them, words are deleted one after the other from a sufficient set, so that there is an answer in
any case. The proof is a word tree whose leaves are closed by cost and by counterexamples alone.

Method: implicit hitting sets (theory, section 7).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

import numpy as np

from suffice.model.network import Bools
from suffice.optimise.min_cost_hitting_set import (
    bits,
    hitting_sets_up_to,
    mask_cost,
    mask_of,
    min_cost_hitting_set,
)
from suffice.optimise.node import ByAttack, ByCost, ByProof, Node, Reason
from suffice.optimise.oracle_cache import OracleCache
from suffice.optimise.word_tree import Outcome
from suffice.settings import RESOURCES, HittingSets
from suffice.verify.contract import (
    OneHotCoordinates,
    OutOfTime,
    Proved,
    Refuted,
    Unknown,
    Verdict,
    Witness,
)
from suffice.verify.exact import confirm
from suffice.verify.nets.presolve.one_hot import postsolve_witness


class ImplicitHittingSet:
    """One search; what it finds is about the one-hot problem (postsolve translates it)."""

    def __init__(self, cache: OracleCache) -> None:
        self.cache = cache
        self.task = cache.task
        self.problem = cache.task.problem
        self.settings: HittingSets = cache.task.settings.hitting_sets
        self.units = [int(unit) for unit in self.task.costs.units]
        self.include = mask_of(np.flatnonzero(self.task.include).tolist())
        self.exclude = mask_of(np.flatnonzero(~self.task.everything & ~self.task.include).tolist())
        self.lower = self.task.costs.of(self.task.include)
        self.complete = False  # whether all sets of the optimal cost were found
        self.proofs: dict[int, Proved] = {}  # those that were

    def run(self) -> Outcome:
        try:
            return self._run()
        except KeyboardInterrupt:
            return self.outcome("interrupted")
        except OutOfTime:
            return self.outcome("time is up")

    def _run(self) -> Outcome:
        match self.cache.ask(self.task.everything[None], self.task.budget.subproblems)[0]:
            case Refuted(witness):
                return self.outcome(witness=witness)
            case Unknown():
                what = (
                    "the exclusion can be met"
                    if self.task.exclude.any()
                    else "the text itself has a clear label"
                )
                return self.outcome(
                    "time is up" if self.task.budget.exhausted else f"whether {what} is undecided"
                )
        early = self.settings
        found = self._close_gap(early.early_subproblems, early.early_queries)
        if found is not None:
            return found
        self._delete_words()
        return self._close_gap(self.task.budget.subproblems) or self.outcome(
            "some sets are undecided"
        )

    # --- above ---

    def _delete_words(self) -> None:
        """Free one word after the other, the most harmless first, while the others suffice."""
        harm = -self.cache.oracle.attacker.word_effects.min(0) / self.task.costs.units
        held = self.task.everything
        for word in np.argsort(harm, kind="stable"):
            if held[word] and not self.task.include[word]:
                trial = held.copy()
                trial[word] = False
                if self._suffices(trial, self.settings.deletion_subproblems):
                    held = trial

    def _suffices(self, held: Bools, subproblems: int) -> bool | None:
        """Whether words suffice."""
        answer = self._answer(held, subproblems)
        return None if isinstance(answer, Unknown) else isinstance(answer, Proved)

    def _answer(self, held: Bools, subproblems: int) -> Verdict:
        """What is found of words; a counterexample is made small and kept."""
        self.task.budget.check_time()
        before = len(self.cache.store.attacks)
        answer = self.cache.ask(held[None], subproblems)[0]
        if (
            isinstance(answer, Refuted)
            and len(self.cache.store.attacks) > before
            and not self._attacks_are_minimal
        ):
            self._shrink_core(answer.witness)
        return answer

    # --- below ---

    def _close_gap(self, subproblems: int, sets: float = math.inf) -> Outcome | None:
        """Raise the lower bound until it meets the upper one; None after so many sets or
        subproblems for one.
        """
        while self.cache.stats["queries"] <= sets:
            hitting_set = self._hitting_set()
            self.lower = self.cache.lower = min(
                mask_cost(hitting_set, self.units), self.cache.upper
            )
            self.task.report(self.lower, self.cache.best)
            if self.lower >= self.cache.upper:
                return self.outcome()
            held = self._as_mask(hitting_set)
            suffices = self._suffices(held, subproblems)
            if suffices is None:
                return None
            if not suffices:
                self._add_cores(held)
        return None

    def _hitting_set(self) -> int:
        check_time = self.task.budget.check_time
        found = min_cost_hitting_set(
            self._cores,
            self.units,
            self.include,
            self.exclude,
            stop=check_time,
            known_lower=self.lower,
        )
        assert found is not None, "all that may be held suffices"
        return found

    @property
    def _cores(self) -> list[int]:
        return [mask_of(witness.positions) for witness in self.cache.store.attacks]

    # --- all that are as cheap ---

    def equally_cheap(self, cost: int) -> Iterator[tuple[Bools, Proved]]:
        """Every explanation of exactly the optimal `cost`, each once, as it is found; all of them
        if `settled` then.
        """
        examined = set[int]()
        undecided = False
        with contextlib.suppress(OutOfTime):
            while (hitting_set := self._next_hitting_set(cost, examined)) is not None:
                answer = self._answer(self._as_mask(hitting_set), self.settings.early_subproblems)
                if not isinstance(answer, Refuted):
                    examined.add(hitting_set)
                    undecided |= isinstance(answer, Unknown)
                if isinstance(answer, Proved):
                    self.proofs[hitting_set] = answer
                    yield self._as_mask(hitting_set), answer
            self.complete = not undecided

    def _next_hitting_set(self, cost: int, examined: Container[int]) -> int | None:
        """A set of that cost that all counterexamples leave possible and that was not looked at
        yet.
        """
        check_time = self.task.budget.check_time
        hitting_sets = hitting_sets_up_to(
            self._cores, self.units, cost, self.include, self.exclude, stop=check_time
        )
        return next(
            (hitting_set for hitting_set in hitting_sets if hitting_set not in examined), None
        )

    def _as_mask(self, hitting_set: int) -> Bools:
        held = np.zeros_like(self.task.include)
        held[bits(hitting_set)] = True
        return held

    def _add_cores(self, held: Bools) -> None:
        """Other counterexamples, each without the words of those before it."""
        for _ in range(self.settings.more_cores):
            held = held.copy()
            held[list(self.cache.store.attacks[-1].positions)] = True
            if not self._quick_attack(held):
                return

    def _quick_attack(self, held: Bools) -> bool:
        """Whether a quick look finds a counterexample that keeps these words, which is kept."""
        if not self._attacks_are_minimal:
            return self._suffices(held, subproblems=1) is False
        self.task.budget.check_time()
        found = self.cache.oracle.quick_witness(self.problem.features & ~held)
        if found is not None:
            self.cache.store.add_attack(found)
        return found is not None

    @property
    def _attacks_are_minimal(self) -> bool:
        """Whether counterexamples are as small as putting words back makes them when they come."""
        return self.cache.oracle.max_of_sums is not None

    def _shrink_core(self, witness: Witness) -> None:
        """Put words of a counterexample back while it stays one, always the one that leaves it
        furthest ahead.
        """
        place = self.problem.rivals.index(witness.rival)
        point = witness.point
        while True:
            changed = np.flatnonzero((point != self.problem.center).any(-1))
            trials = np.repeat(point[None], len(changed), axis=0)
            trials[np.arange(len(changed)), changed] = 0.0
            margins = self.problem.margins(trials)[:, place]
            if not len(changed) or margins.min() >= 0:
                break
            point = trials[int(margins.argmin())]
        free = self.problem.features[None]
        self.cache.store.add_points(point[None], free)

    # --- what is known in the end ---

    def outcome(self, reason: str = "", witness: Witness | None = None) -> Outcome:
        """What is known when the search ends, with the tree that proves the lower bound."""
        cache = self.cache
        held, proof = cache.best if cache.best is not None else (None, None)
        root = self._tree(self.lower)
        lower = self.lower if root.resolved else root.lower
        reason = reason or ("" if root.resolved else "the proof would be too large")
        finished = witness is not None or (cache.best is not None and lower == cache.upper)
        return Outcome(
            held, proof, lower, cache.upper, root, witness, cache.stats, finished, reason
        )

    def complete_tree(self, cost: int) -> Node | None:
        """The tree that shows that the sets of this cost that were found are all; None where there
        is none.
        """
        root = self._tree(cost + 1)
        return root if self.complete and root.resolved else None

    def _tree(self, below: int) -> Node:
        """The tree that shows that nothing else costs less; its root alone, with what is sure,
        where there is none.
        """
        root = Node(self.task.include, ~self.task.everything & ~self.task.include, below)
        attacks = [(mask_of(witness.positions), witness) for witness in self.cache.store.attacks]
        queue = [root]
        count = 0
        while queue:
            node = queue.pop()
            count = count + 1
            if count > RESOURCES.most_nodes or not self._close_or_split(node, attacks, below):
                return Node(root.held, root.out, self.task.costs.of(self.task.include))
            queue += node.children or ()
        return root

    def _close_or_split(
        self, node: Node, attacks: Sequence[tuple[int, Witness]], below: int
    ) -> bool:
        """Close a node, or split it on a word; False where no attack speaks against it."""
        held, out = (mask_of(np.flatnonzero(side).tolist()) for side in (node.held, node.out))
        if mask_cost(held, self.units) >= below:
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
        is_word = np.arange(len(node.held)) == node.word
        node.children = (
            Node(node.held | is_word, node.out, below),
            Node(node.held, node.out | is_word, below),
        )
        return True


# --- postsolve ---


def postsolve_outcome(source: OneHotCoordinates, outcome: Outcome) -> Outcome:
    """What a search found, about the problem that its problem stands for."""
    return replace(
        outcome,
        witness=None if outcome.witness is None else _rerun(source, outcome.witness),
        root=postsolve_tree(source, outcome.root),
    )


def _rerun(source: OneHotCoordinates, witness: Witness) -> Witness | None:
    """A counterexample for people: its input goes through the original network, whatever its
    coordinates say.
    """
    point = postsolve_witness(source, witness).point[None]
    return confirm(source.original, point, source.original.features[None])[0]


def postsolve_tree(source: OneHotCoordinates, root: Node) -> Node:
    """A tree whose counterexamples are about the problem that the searched one stands for."""
    queue = [root]
    while queue:
        node = queue.pop()
        if node.reason is not None:
            node.reason = _postsolve_reason(source, node.reason)
        queue += node.children or ()
    return root


def _postsolve_reason(source: OneHotCoordinates, reason: Reason) -> Reason:
    match reason:
        case ByAttack(witness):
            return ByAttack(postsolve_witness(source, witness))
        case _:
            return reason

"""WordTreeSearch: the cheapest sufficient set of words, by branch and bound over words, best-first.

A node says which words are held (in every explanation below it) and which are out (in none).
Bounds come from both sides: a set proved sufficient is an upper bound, a restoration-proof attack a
lower one. A node is closed by its cost, by an attack on its out words, or by an attack that no
affordable choice of further words undoes. Complete questions, which are expensive, are asked only
of sets that would improve the answer.

Method: branch and bound, implicit hitting sets, restorations (theory, sections 6 and 7).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from suffice import work
from suffice.model.network import Bools, Floats
from suffice.optimise.deletion import (
    complete_candidate,
    free_by_attacks,
    free_many,
    free_more,
    free_singly,
    resistant_sets,
)
from suffice.optimise.node import ByAttack, ByCost, ByProof, ByRestoration, Frontier, Node
from suffice.optimise.oracle_cache import OracleCache
from suffice.optimise.restoration import Attack, Restoration, RestorationProver
from suffice.optimise.task import Best, Task
from suffice.sets.regions import Ball, Box, Hull, Region
from suffice.settings import WordTree
from suffice.verify.contract import Oracle, OutOfTime, Proved, Refuted, Unknown, Witness
from suffice.verify.nets.attack import undo_excess_changes
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.nets.branch import UndoneBy
from suffice.verify.nets.input_sets import quantised


@dataclass(eq=False)
class Outcome:
    """What a search has proved when it stops: the best set, both bounds, the tree that proves the
    lower one.
    """

    held: Bools | None
    proof: Proved | None
    lower: int
    upper: int
    root: Node
    witness: Witness | None
    stats: dict[str, int]
    finished: bool
    reason: str = ""  # why it is not finished

    def __post_init__(self) -> None:
        if not self.finished and not self.reason:
            raise ValueError("A search ends without an answer for a reason: say which.")


def treeless_outcome(
    task: Task,
    best: Best,
    lower: int,
    stats: dict[str, int],
    reason: str = "",
    witness: Witness | None = None,
    finished: bool = False,
) -> Outcome:
    """The outcome of a method that leaves no word tree: its root alone, with the bound claimed for
    it.
    """
    held, proof = best if best is not None else (None, None)
    upper = task.upper(best)
    root = Node(task.include, task.exclude, lower)
    return Outcome(held, proof, min(lower, upper), upper, root, witness, stats, finished, reason)


class WordTreeSearch:
    """One search over one problem. `run` gives an Outcome; it can be stopped by time or Ctrl-C at
    any moment.
    """

    def __init__(self, task: Task, oracle: BoundsOracle, complete: Oracle | None = None) -> None:
        self.task = task
        self.problem = task.problem
        self.costs = task.costs
        self.budget = task.budget
        self.cache = OracleCache(task, oracle, complete)
        self.prover = RestorationProver(oracle.prepared, self.costs, self.budget)
        self.frontier = Frontier(self._root(self.costs.of(task.include)))
        self.screened, self.necessary = (
            0,
            0,
        )  # open words tested for being necessary, and how many of them were
        self.main_node = self.root  # the root, or what is left of it once necessary words are held
        # sets that resist attacks, once they are computed
        self.resistant_sets: list[Bools] | None = None
        self.collect_cost: int | None = None  # the cost of which every explanation is collected
        self.collected: list[tuple[Bools, Proved]] = []

    @property
    def settings(self) -> WordTree:
        return self.task.settings.word_tree

    def _root(self, lower: int) -> Node:
        return Node(self.task.include, self.task.exclude | ~self.problem.features, lower)

    @property
    def root(self) -> Node:
        return self.frontier.root

    @property
    def lower(self) -> int:
        """No explanation costs less than this."""
        lowest = self.frontier.lower
        return self.cache.upper if lowest is None else min(self.cache.upper, lowest)

    @property
    def cost_limit(self) -> int:
        """What an explanation must cost less than to be of interest."""
        return self.cache.upper if self.collect_cost is None else self.collect_cost + 1

    def seed_attacks(self, witnesses: Sequence[Witness], starts: Sequence[Floats] = ()) -> int:
        """Attacks known from elsewhere, such as from smaller sets; those that hold here too are
        kept and counted.
        """
        before = len(self.cache.store.attacks)
        self.cache.store.add_foreign(witnesses)
        points = [point for point in starts if self._is_allowed(point)]
        self.root.attacks = (*self.root.attacks, *points)
        return len(self.cache.store.attacks) - before + len(points)

    def _is_allowed(self, point: Floats) -> bool:
        changed = (point != self.problem.center).any(-1)
        return bool(
            self.problem.region.contains(point).all() and changed.sum() <= self.problem.max_changes
        )

    # --- the loop ---

    def run(self) -> Outcome:
        try:
            return self._run()
        except KeyboardInterrupt:
            return self._outcome(finished=False, reason="interrupted")
        except OutOfTime:
            return self._outcome(finished=False, reason="time is up")

    def _run(self) -> Outcome:
        free_many(self.cache)
        witness = self._infeasible()
        if witness is not None:
            return self._outcome(finished=True, witness=witness)
        if self.cache.best is None:
            what = (
                "whether the exclusion can be met"
                if self.task.exclude.any()
                else "whether the text itself has a clear label"
            )
            return self._outcome(
                finished=False,
                reason="time is up" if self.budget.exhausted else f"{what} is undecided",
            )
        if not (self._is_large and self._fix_necessary(self.root)):
            self.frontier.push(self.root)
        if self._is_large and self.main_node.open_words.any():
            free_singly(self.cache, np.flatnonzero(self.main_node.open_words))
        while not self.frontier.empty and not self.budget.exhausted:
            self.round()
        if self.frontier.done:
            return self._outcome(finished=True)
        return self._outcome(
            False, "some sets are undecided" if self.frontier.empty else "time is up"
        )

    def _infeasible(self) -> Witness | None:
        """Fix everything that may be fixed: if even that fails, no explanation exists."""
        answer = self.cache.ask(self.task.everything[None], self.budget.subproblems)[0]
        return answer.witness if isinstance(answer, Refuted) else None

    def _outcome(self, finished: bool, reason: str = "", witness: Witness | None = None) -> Outcome:
        held, proof = self.cache.best if self.cache.best is not None else (None, None)
        lower = self.cache.upper if finished and witness is None else self.lower
        return Outcome(
            held,
            proof,
            lower,
            self.cache.upper,
            self.root,
            witness,
            self.cache.stats,
            finished,
            reason,
        )

    def round(self) -> None:
        """Take the nodes with the lowest bounds, close what can be closed, split the rest."""
        self.cache.lower = self.lower
        nodes = self.frontier.take(self.settings.node_batch)
        before = self.cache.upper
        self.cache.stats["nodes"] += len(nodes)
        work.count("search_nodes", len(nodes))
        self.cache.rounds += 1
        if self.resistant_sets:
            self._free_resistant()
        live = [
            node
            for node in self._close_by_attacks(nodes)
            if node is self.root or not self._fix_necessary(node)
        ]
        for node in self._close_by_restorations(
            self._attack_held(self._without_early_splits(live))
        ):
            self._branch(node)
        if self.cache.upper < before:
            self.frontier.drop(self._close_by_known)
        self.task.report(self.lower, self.cache.best)

    def _close_by_known(self, node: Node) -> bool:
        """By its cost, or by an attack that is known already."""
        if node.reason is None and self.costs.of(node.held) >= self.cost_limit:
            node.close(ByCost())
        elif node.reason is None:
            attack = self.cache.store.attack_inside(node.out)
            if attack is not None:
                node.close(ByAttack(attack))
        return node.reason is not None

    def _branch(self, node: Node) -> None:
        """Two children: the word held, the word out."""
        if self._fix_necessary(node):
            return
        if node.word is None:
            self.frontier.unresolved.append(node)
            return
        if node is self.main_node and node.attacks and self.collect_cost is None:
            self._improve_lower(node, self.prover.quick_subproblems)
            if node.candidate is not None and not self.resistant_sets:
                complete_candidate(self.cache, node.candidate)
            free_more(self.cache)
            self._improve_lower(node)
        self._split(node, node.word)

    def _split(self, node: Node, word: int) -> None:
        is_word = np.arange(len(node.held)) == word
        held = Node(
            node.held | is_word,
            node.out,
            max(node.lower, self.costs.of(node.held | is_word)),
            node.attacks,
        )
        out = Node(node.held, node.out | is_word, node.lower, node.attacks)
        for child in (held, out):
            child.refuted = node.refuted
            if not self._close_by_known(child):
                self.frontier.push(child)
        held.necessary_fixed = node.necessary_fixed
        node.word = word
        node.children = (
            held,
            out,
        )  # only now: until its children are on the frontier, the node stands for them
        node.attacks = ()
        node.candidate = None
        node.refuted = ()

    def _without_early_splits(self, nodes: list[Node]) -> list[Node]:
        """The nodes to be examined; none where others are split unexamined, which may raise the
        lower bound sooner.
        """
        early = [node for node in nodes if node.open_words.any() and self._splits_early]
        rest = [node for node in nodes if node not in early]
        harm = self.cache.oracle.attacker.word_effects.min(0)
        for node in early:
            self._split(
                node, int(np.where(node.open_words, quantised(harm[None])[0], np.inf).argmin())
            )
        for node in rest if early else ():
            self.frontier.push(node)
        return [] if early else rest

    @property
    def _splits_early(self) -> bool:
        """Whether nodes are split unexamined: subproblems are large, and many of the words tested
        were necessary.
        """
        return self._is_large and self.necessary >= self.settings.early_split_share * self.screened

    @property
    def _is_large(self) -> bool:
        """Whether subproblems are so large that a lower bound is wanted before better attacks."""
        return self.prover.prepared.subproblem_work > self.settings.large_subproblem

    def _fix_necessary(self, node: Node) -> bool:
        """Hold the open words that every explanation below a node contains, as shown by attacks on
        the out words.

        The rest of the node goes back to the frontier. False where no such word is found.
        """
        necessary = () if node.necessary_fixed else self._necessary_words(node)
        last = node
        node.necessary_fixed = True
        links = list[tuple[Node, int, tuple[Node, Node]]]()
        for word, attack in necessary:
            is_word = np.arange(len(node.held)) == word
            held = Node(
                last.held | is_word,
                last.out,
                max(last.lower, self.costs.of(last.held | is_word)),
                necessary_fixed=True,
            )
            links.append(
                (
                    last,
                    word,
                    (
                        held,
                        Node(last.held, last.out | is_word, last.lower, reason=ByAttack(attack)),
                    ),
                )
            )
            last = held
        if not links:
            return False
        last.attacks = node.attacks
        last.refuted = node.refuted
        self.main_node = last if node is self.main_node else self.main_node
        if not self._close_by_known(last):
            self.frontier.push(last)
        for parent, word, children in reversed(
            links
        ):  # the node last: until then it stands for what is left of it
            parent.word = word
            parent.children = children
        node.attacks = ()
        node.candidate = None
        node.refuted = ()
        return True

    def _necessary_words(self, node: Node) -> list[tuple[int, Witness]]:
        """The open words that flip the label beside the words that are out, and how."""
        known = self.cache.store
        words = np.flatnonzero(node.open_words)
        rows = np.repeat((node.out & self.problem.features)[None], len(words), axis=0)
        rows[np.arange(len(words)), words] = True
        fresh = rows[[known.attack_inside(row) is None for row in rows]]
        if len(fresh):
            attempt = self.cache.oracle.attacker.attack(
                fresh, restarts=1, seed=self.task.seed, budget=self.budget
            )
            flips = attempt.margin <= 0
            known.add_points(attempt.point[flips], fresh[flips])
        attack_of_word = [
            (int(word), known.attack_inside(row)) for word, row in zip(words, rows, strict=True)
        ]
        needed = [(word, attack) for word, attack in attack_of_word if attack is not None]
        self.screened, self.necessary = self.screened + len(words), self.necessary + len(needed)
        return needed

    # --- closing nodes ---

    def _close_by_attacks(self, nodes: list[Node]) -> list[Node]:
        """Words that may not be fixed: if they alone flip the label, nothing below is an
        explanation.
        """
        live = [node for node in nodes if not self._close_by_known(node)]
        rows = [row for node in live if (row := node.out & self.problem.features).any()]
        if rows:
            out = np.stack(rows)
            attempt = self.cache.oracle.attacker.attack(
                out, restarts=1, seed=self.task.seed, budget=self.budget
            )
            flips = attempt.margin <= 0
            self.cache.store.add_points(attempt.point[flips], out[flips])
        return [node for node in live if not self._close_by_known(node)]

    def _attack_held(self, nodes: list[Node]) -> list[Node]:
        """Attacks on all that a node does not hold; where there are none, the held words may well
        suffice.
        """
        kept = []
        for node in nodes:
            free = self.problem.features & ~node.held
            inherited = [
                np.where(free[:, None], start, self.problem.center) for start in node.attacks
            ]
            fresh = self.cache.oracle.attacker.deep_attacks(
                free, self.settings.attacks, self.task.seed, self.budget
            )
            node.attacks = self._flipping([*inherited, *fresh])
            if node.attacks or not self._decide_held(node):
                kept.append(node)
        return kept

    def _decide_held(self, node: Node) -> bool:
        """No attack was found, so decide it: an explanation, a late attack to start from, or for
        now left in doubt.
        """
        effort = (
            self.budget.subproblems
            if node.undecided
            else min(self.cache.probe_limit, self.budget.subproblems)
        )
        answer = self.cache.ask(node.held[None], effort)[0]
        match answer:
            case Proved():
                if self.collect_cost is not None:
                    self.collected.append((node.held, answer))
                node.close(ByCost() if self.collect_cost is None else ByProof(answer))
                return True
            case Refuted(witness):
                node.attacks = self._flipping([_at_hull_corners(witness, self.problem.region)])
                node.word = node.first_open
            case Unknown() if not node.undecided:
                node.undecided = True
                self.frontier.push(node)
                return True
        return False

    def _flipping(self, points: Sequence[Floats]) -> tuple[Floats, ...]:
        """Those of the perturbed texts that flip the label."""
        stacked = np.stack(points)
        return tuple(stacked[self.problem.margins(stacked).min(-1) < 0])

    def _close_by_restorations(self, nodes: list[Node]) -> list[Node]:
        """Prove that nothing affordable is left below each node, trying likely explanations on the
        way.
        """
        queue = [node for node in nodes if node.attacks]
        left = [node for node in nodes if not node.attacks]
        strengthened = list[Node]()
        rounds = self.settings.attacks
        plain_rounds = rounds // 3  # before attacks are strengthened
        for round_number in range(rounds):
            if not queue or self.budget.exhausted:
                break
            queue = [node for node in queue if not self._close_by_known(node)]
            if (
                round_number == plain_rounds
                and self.main_node in queue
                and self.collect_cost is None
            ):
                self._prepare_main_node(self.main_node)
            for node in queue:
                if round_number == plain_rounds or (
                    round_number > plain_rounds and node is self.main_node
                ):
                    self._strengthen_cost(node)
            doubtful = self._prove_restorations(queue)
            fresh = [node for node in doubtful if self._probe_candidate(node)]
            deeper = [
                node
                for node in doubtful
                if node not in (*fresh, *strengthened) and self._strengthen_margin(node)
            ]
            queue = [*fresh, *deeper]
            strengthened = [*strengthened, *deeper]
            left += [node for node in doubtful if node not in queue]
        return [node for node in (*left, *queue) if not self._close_by_known(node)]

    def _prepare_main_node(self, node: Node) -> None:
        """A lower bound where what comes now may take all the time there is; else, over maxima, a
        better upper one.
        """
        if self._is_large:
            self._improve_lower(node, self.prover.quick_subproblems)
        elif self.cache.oracle.prepared.pooled is not None and self._is_continuous:
            self._free_resistant()

    def _free_resistant(self) -> None:
        """Look at sets that attacks find hard to flip, with as many subproblems as are allowed by
        now.
        """
        if self.resistant_sets is None:
            self.resistant_sets = resistant_sets(self.cache)
        if self.collect_cost is None:
            free_by_attacks(self.cache, self.resistant_sets)

    def _strengthen_cost(self, node: Node) -> None:
        """Another attack to try, made for being hard to undo; where any text within the sets is
        one.
        """
        units, words = self.settings.strengthen_from
        large = (
            len(self.problem.network.steps[0].bias) > units or self.problem.features.sum() > words
        )
        if self._is_continuous and large:
            free = self.problem.features & ~node.held
            wanted_cost = self._affordable_cost(node) + 1
            start = self.prover.strengthened_by_cost(
                node.attacks[0],
                node.open_words,
                free,
                wanted_cost,
                node.refuted,
            )
            node.attacks = (
                *(self._flipping([start]) if self._is_allowed(start) else ()),
                *node.attacks,
            )

    def _strengthen_margin(self, node: Node) -> bool:
        """Where it is open whether an attack can be undone, try one that is further from it: True
        if that taught us.
        """
        if (
            node.candidate is not None
            or not self._is_continuous
            or self.cache.rounds > self.settings.attacks // 2
        ):
            return False
        attacks = node.attacks
        free = self.problem.features & ~node.held
        start = self.prover.strengthened_by_margin(
            attacks[0], node.open_words, free, self._affordable_cost(node)
        )
        if start is attacks[0] or not self._is_allowed(start) or not self._flipping([start]):
            return False
        node.attacks = (start,)
        progress = bool(self._prove_restorations([node])) and self._probe_candidate(node)
        node.attacks = (
            () if node.resolved else (*node.attacks, *attacks) if progress else (*attacks, start)
        )
        return progress

    @property
    def _is_continuous(self) -> bool:
        """Whether any text within the sets is an attack to be tried."""
        return self.problem.at_most is None and isinstance(self.problem.region, Box | Ball)

    def _prove_restorations(self, nodes: list[Node]) -> list[Node]:
        """Try to close nodes with the attack that is hardest to undo; those left know a set that
        may undo it.
        """
        hardest = [(node, self._hardest_attack(node)) for node in nodes]
        unaffordable = [
            (node, attack)
            for node, attack in hardest
            if attack.undo_cost > self._affordable_cost(node)
        ]
        doubtful = [
            node for node, attack in hardest if attack.undo_cost <= self._affordable_cost(node)
        ]
        if not unaffordable:
            return doubtful
        levels = [self._affordable_cost(node) for node, _ in unaffordable]
        opened = [node.open_words for node, _ in unaffordable]
        # optimised planes at the root's round alone: later words are rather split
        plain = self.cache.rounds > 1
        answers = self.prover.decide(
            [attack for _, attack in unaffordable], opened, levels, plain=plain
        )
        for (node, _), answer in zip(unaffordable, answers, strict=True):
            match answer:
                case Restoration():
                    node.close(ByRestoration(answer))
                    continue
                case UndoneBy(words):
                    node.candidate = node.held | (words & node.open_words)
                case Unknown():
                    node.candidate = None
            doubtful.append(node)
        return doubtful

    def _affordable_cost(self, node: Node) -> int:
        return self.cost_limit - 1 - self.costs.of(node.held)

    def _hardest_attack(self, node: Node) -> Attack:
        """The node's attack that takes most to undo, which comes first from now on; and the words
        that undo it.
        """
        attack = self.prover.hardest(node.attacks, node.open_words)
        node.candidate = node.held | attack.undo_words
        node.word = attack.undo_order[0] if attack.undo_order else node.first_open
        others = (*node.attacks[: attack.index], *node.attacks[attack.index + 1 :])
        node.attacks = (node.attacks[attack.index], *others)[: self.settings.attacks // 2]
        return attack

    def _improve_lower(self, node: Node, effort: int | None = None) -> None:
        """A node that cannot be closed yet: find the highest cost that its best attack does rule
        out.
        """
        attack = self._hardest_attack(node)
        held_cost = self.costs.of(node.held)
        high = int(min(attack.undo_cost, self._affordable_cost(node)))
        low, proof = self.prover.highest_excluded(
            attack, node.open_words, node.lower - held_cost, high, effort
        )
        node.partial = proof or node.partial
        node.lower = max(node.lower, held_cost + low)
        self.cache.lower = self.lower
        self.task.report(self.lower, self.cache.best)

    def _probe_candidate(self, node: Node) -> bool:
        """Ask about the set that undoes the attack; True when the answer is worth another try at
        closing.
        """
        if node.candidate is None or self.costs.of(node.candidate) >= self.cost_limit:
            return False
        before = self.cost_limit
        answer = self.cache.probe(node.candidate)
        if isinstance(answer, Refuted):
            node.refuted = (*node.refuted, node.candidate)
            cornered = _at_hull_corners(answer.witness, self.problem.region)
            mixed = np.where(node.candidate[:, None], node.attacks[0], cornered)
            mixed = np.where(
                (self.problem.features & ~node.held)[:, None], mixed, self.problem.center
            )
            node.attacks = (
                *self._flipping(list(undo_excess_changes(self.problem, mixed[None]))),
                *node.attacks,
            )
            return True
        return self.cost_limit < before


def _at_hull_corners(witness: Witness, region: Region) -> Floats:
    """The witness's point; of a mixture of a hull's corners, for each word the corner with the
    largest share.
    """
    if witness.shares is None or not isinstance(region, Hull):
        return witness.point
    corner = region.points[np.arange(len(region.center)), witness.shares.argmax(-1)]
    changed = (witness.point != region.center).any(-1)
    return np.where(changed[:, None], corner, region.center)


def optimal_sets(search: WordTreeSearch, cost: int) -> Iterator[tuple[Bools, Proved]]:
    """Every explanation of exactly the optimal `cost`, each once, as it is found; uses what
    `search` learnt.

    All were found if `search.frontier.done` in the end.
    """
    search.collect_cost, search.frontier = cost, Frontier(search._root(cost))
    search.main_node = search.root
    search.cache.prefer = None  # every set is wanted for itself
    search.frontier.push(search.root)
    while not search.frontier.empty and not search.budget.exhausted:
        with contextlib.suppress(OutOfTime):
            search.round()
        yield from search.collected
        search.collected = []

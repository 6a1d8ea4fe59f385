"""The search: the provably cheapest set of words that suffices, by branch and bound over words.

A node says which words are held (in every explanation below it) and which are out (in none). Bounds come from
both sides: a set proved sufficient is an upper bound, a restoration-proof attack a lower one. A node is closed
by its cost, by an attack on its out words, or by a restoration-proof attack that no affordable choice of further
words survives. Expensive complete questions are asked only of sets that would improve the answer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.prove.attack import within
from suffice.prove.branch import Restorable
from suffice.prove.inputs import steady
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Oracle, OutOfTime, Proved, Refuted, Unknown, Witness
from suffice.search.freeing import approach, free_by_attacks, free_many, free_more, free_singly, withstanding
from suffice.search.inquiry import Inquiry
from suffice.search.node import ByAttack, ByCost, ByProof, ByRestoration, Frontier, Node
from suffice.search.restoration import QUICK, Attack, Prover, Restoration
from suffice.search.task import Best, Task
from suffice.sets.regions import Ball, Box, Hull, Region

BATCH = 8  # nodes per round
STARTS = 6  # fresh attacks per node
KEEP = 3  # attacks handed down to the children
TRIES = 6  # attacks tried on a node before it is split
EASY = 2  # of them before one is made harder to undo (at the root, all that come)
KNOWN = 24  # sets that are no explanations that this looks at
LARGE = 10**8  # multiplications per subproblem, from which on a lower bound is wanted before better attacks
CROWD = 4  # there, nodes are split at once as long as one of so many open words turns out to be needed
MANY = 64  # units of the first step beyond which it pays: in small networks the first attacks are the better ones
LONG = 100  # or words
FIRST = 1  # rounds of nodes in which bounds are made as good as they get; then words are split rather
DEEP = 3  # rounds of nodes in which attacks are deepened where it is open whether they can be undone


@dataclass(eq=False)
class Outcome:
    """What a search knows when it stops."""

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


def settled(
    task: Task,
    best: Best,
    lower: int,
    stats: dict[str, int],
    reason: str = "",
    witness: Witness | None = None,
    finished: bool = False,
) -> Outcome:
    """The outcome of a method that leaves no tree of words behind."""
    held, proof = best if best is not None else (None, None)
    upper = task.upper(best)
    root = Node(task.include, task.exclude, lower)
    return Outcome(held, proof, min(lower, upper), upper, root, witness, stats, finished, reason)


class Search:
    """One search over one problem. `run` gives an Outcome; it can be stopped by time or Ctrl-C at any moment."""

    def __init__(self, task: Task, oracle: BoundsOracle, complete: Oracle | None = None) -> None:
        self.task, self.problem, self.costs, self.budget = task, task.problem, task.costs, task.budget
        self.inquiry = Inquiry(task, oracle, complete)
        self.prover = Prover(oracle.form, self.costs, self.budget)
        self.frontier = Frontier(self._root(self.costs.of(task.include)))
        self.looked, self.needed = 0, 0  # open words that were pressed, and those that nothing can do without
        self.whole = self.root  # or what is left of it once words are held that no explanation can do without
        self.likely: list[Bools] | None = None  # sets that attacks find hard to flip, once they are known
        self.collect: int | None = None  # the cost of which every explanation is wanted
        self.found: list[tuple[Bools, Proved]] = []

    def _root(self, lower: int) -> Node:
        return Node(self.task.include, self.task.exclude | ~self.problem.features, lower)

    @property
    def root(self) -> Node:
        return self.frontier.root

    @property
    def lower(self) -> int:
        """No explanation costs less than this."""
        lowest = self.frontier.lower
        return self.inquiry.upper if lowest is None else min(self.inquiry.upper, lowest)

    @property
    def limit(self) -> int:
        """What an explanation must cost less than to be of interest."""
        return self.inquiry.upper if self.collect is None else self.collect + 1

    def seed_attacks(self, witnesses: Sequence[Witness], starts: Sequence[Floats] = ()) -> int:
        """Attacks known from elsewhere, such as from smaller sets; those that hold here too are kept and counted."""
        before = len(self.inquiry.known.attacks)
        self.inquiry.known.add_foreign(witnesses)
        points = [point for point in starts if self._allowed(point)]
        self.root.starts = (*self.root.starts, *points)
        return len(self.inquiry.known.attacks) - before + len(points)

    def _allowed(self, point: Floats) -> bool:
        changed = (point != self.problem.center).any(-1)
        return bool(self.problem.region.contains(point).all() and changed.sum() <= self.problem.limit)

    # --- the loop ---

    def run(self) -> Outcome:
        try:
            return self._run()
        except KeyboardInterrupt:
            return self._outcome(finished=False, reason="interrupted")
        except OutOfTime:
            return self._outcome(finished=False, reason="time is up")

    def _run(self) -> Outcome:
        free_many(self.inquiry)
        witness = self._infeasible()
        if witness is not None:
            return self._outcome(finished=True, witness=witness)
        if self.inquiry.best is None:
            what = (
                "whether the exclusion can be met"
                if self.task.exclude.any()
                else "whether the text itself has a clear label"
            )
            return self._outcome(finished=False, reason="time is up" if self.budget.spent else f"{what} is undecided")
        if not (self._large and self._press(self.root)):
            self.frontier.push(self.root)
        if self._large and self.whole.open.any():
            free_singly(self.inquiry, np.flatnonzero(self.whole.open))
        while not self.frontier.empty and not self.budget.spent:
            self.round()
        if self.frontier.done:
            return self._outcome(finished=True)
        return self._outcome(False, "some sets are undecided" if self.frontier.empty else "time is up")

    def _infeasible(self) -> Witness | None:
        """Fix everything that may be fixed: if even that fails, no explanation exists."""
        answer = self.inquiry.ask(self.task.everything[None], self.budget.subproblems)[0]
        return answer.witness if isinstance(answer, Refuted) else None

    def _outcome(self, finished: bool, reason: str = "", witness: Witness | None = None) -> Outcome:
        held, proof = self.inquiry.best if self.inquiry.best is not None else (None, None)
        lower = self.inquiry.upper if finished and witness is None else self.lower
        return Outcome(held, proof, lower, self.inquiry.upper, self.root, witness, self.inquiry.stats, finished, reason)

    def round(self) -> None:
        """Take the nodes with the lowest bounds, close what can be closed, split the rest."""
        self.inquiry.lowest = self.lower
        nodes, before = self.frontier.take(BATCH), self.inquiry.upper
        self.inquiry.stats["nodes"] += len(nodes)
        self.inquiry.rounds += 1
        if self.likely:
            self._free_likely()
        live = [node for node in self._attack_out(nodes) if node is self.root or not self._press(node)]
        for node in self._rule_out(self._with_starts(self._thinned(live))):
            self._branch(node)
        if self.inquiry.upper < before:
            self.frontier.drop(self._closed_at_sight)
        self.task.report(self.lower, self.inquiry.best)

    def _closed_at_sight(self, node: Node) -> bool:
        """By its cost, or by an attack that is known already."""
        if node.reason is None and self.costs.of(node.held) >= self.limit:
            node.close(ByCost())
        elif node.reason is None:
            attack = self.inquiry.known.attack_within(node.out)
            if attack is not None:
                node.close(ByAttack(attack))
        return node.reason is not None

    def _branch(self, node: Node) -> None:
        """Two children: the word held, the word out."""
        if self._press(node):
            return
        if node.word is None:
            self.frontier.stuck.append(node)
            return
        if node is self.whole and node.starts and self.collect is None:
            self._raise(node, QUICK)
            if node.candidate is not None and not self.likely:
                approach(self.inquiry, node.candidate)
            free_more(self.inquiry)
            self._raise(node)
        self._split(node, node.word)

    def _split(self, node: Node, word: int) -> None:
        mark = np.arange(len(node.held)) == word
        held = Node(node.held | mark, node.out, max(node.lower, self.costs.of(node.held | mark)), node.starts)
        out = Node(node.held, node.out | mark, node.lower, node.starts)
        for child in (held, out):
            child.refuted = node.refuted[-KNOWN:]
            if not self._closed_at_sight(child):
                self.frontier.push(child)
        held.pressed, node.word = node.pressed, word
        node.children = (held, out)  # only now: until its children are on the frontier, the node stands for them
        node.starts, node.candidate, node.refuted = (), None, ()

    def _thinned(self, nodes: list[Node]) -> list[Node]:
        """The nodes that are worth a look; none where others are split, which may raise the lower bound sooner."""
        split = [node for node in nodes if node.open.any() and self._crowded]
        rest = [node for node in nodes if node not in split]
        harm = self.inquiry.oracle.attacker.push.min(0)
        for node in split:
            self._split(node, int(np.where(node.open, steady(harm[None])[0], np.inf).argmin()))
        for node in rest if split else ():
            self.frontier.push(node)
        return [] if split else rest

    @property
    def _crowded(self) -> bool:
        """Whether looks are dear, and words that are out leave few others open: then nodes are split without a look."""
        return self._large and CROWD * self.needed >= self.looked

    @property
    def _large(self) -> bool:
        """Whether subproblems are so large that a lower bound is wanted before better attacks."""
        return self.prover.form.effort > LARGE

    def _press(self, node: Node) -> bool:
        """Hold the words that no set below a node can do without; what is left of it waits for its turn.

        False where there are none, as far as attacks tell.
        """
        needed, last = () if node.pressed else self._needed(node), node
        node.pressed, links = True, list[tuple[Node, int, tuple[Node, Node]]]()
        for word, attack in needed:
            mark = np.arange(len(node.held)) == word
            held = Node(last.held | mark, last.out, max(last.lower, self.costs.of(last.held | mark)), pressed=True)
            links.append((last, word, (held, Node(last.held, last.out | mark, last.lower, reason=ByAttack(attack)))))
            last = held
        if not links:
            return False
        last.starts, last.refuted = node.starts, node.refuted
        self.whole = last if node is self.whole else self.whole
        if not self._closed_at_sight(last):
            self.frontier.push(last)
        for above, word, children in reversed(links):  # the node last: until then it stands for what is left of it
            above.word, above.children = word, children
        node.starts, node.candidate, node.refuted = (), None, ()
        return True

    def _needed(self, node: Node) -> list[tuple[int, Witness]]:
        """The open words that flip the label beside the words that are out, and how."""
        known, words = self.inquiry.known, np.flatnonzero(node.open)
        rows = np.repeat((node.out & self.problem.features)[None], len(words), axis=0)
        rows[np.arange(len(words)), words] = True
        fresh = rows[[known.attack_within(row) is None for row in rows]]
        if len(fresh):
            attempt = self.inquiry.oracle.attacker.attack(fresh, restarts=1, seed=self.task.seed, budget=self.budget)
            hits = attempt.margin <= 0
            known.add_points(attempt.point[hits], fresh[hits])
        found = [(int(word), known.attack_within(row)) for word, row in zip(words, rows, strict=True)]
        needed = [(word, attack) for word, attack in found if attack is not None]
        self.looked, self.needed = self.looked + len(words), self.needed + len(needed)
        return needed

    # --- closing nodes ---

    def _attack_out(self, nodes: list[Node]) -> list[Node]:
        """Words that may not be fixed: if they alone flip the label, nothing below is an explanation."""
        live = [node for node in nodes if not self._closed_at_sight(node)]
        rows = [row for node in live if (row := node.out & self.problem.features).any()]
        if rows:
            out = np.stack(rows)
            attempt = self.inquiry.oracle.attacker.attack(out, restarts=1, seed=self.task.seed, budget=self.budget)
            hits = attempt.margin <= 0
            self.inquiry.known.add_points(attempt.point[hits], out[hits])
        return [node for node in live if not self._closed_at_sight(node)]

    def _with_starts(self, nodes: list[Node]) -> list[Node]:
        """Attacks on all that a node does not hold; where there are none, the held words may well suffice."""
        kept = []
        for node in nodes:
            free = self.problem.features & ~node.held
            inherited = [np.where(free[:, None], start, self.problem.center) for start in node.starts]
            fresh = self.inquiry.oracle.attacker.deepest(free, STARTS, self.task.seed, self.budget)
            node.starts = self._flipped([*inherited, *fresh])
            if node.starts or not self._put_aside(node):
                kept.append(node)
        return kept

    def _put_aside(self, node: Node) -> bool:
        """No attack was found, so decide it: an explanation, a late attack to start from, or for now left in doubt."""
        effort = self.budget.subproblems if node.doubted else min(self.inquiry.probe, self.budget.subproblems)
        answer = self.inquiry.ask(node.held[None], effort)[0]
        match answer:
            case Proved():
                if self.collect is not None:
                    self.found.append((node.held, answer))
                node.close(ByCost() if self.collect is None else ByProof(answer))
                return True
            case Refuted(witness):
                node.starts = self._flipped([_cornered(witness, self.problem.region)])
                node.word = node.any_word
            case Unknown() if not node.doubted:
                node.doubted = True
                self.frontier.push(node)
                return True
        return False

    def _flipped(self, points: Sequence[Floats]) -> tuple[Floats, ...]:
        """Those of the perturbed texts that flip the label."""
        stacked = np.stack(points)
        return tuple(stacked[self.problem.margins(stacked).min(-1) < 0])

    def _rule_out(self, nodes: list[Node]) -> list[Node]:
        """Prove that nothing affordable is left below each node, trying likely explanations on the way."""
        waiting = [node for node in nodes if node.starts]
        left, deepened = [node for node in nodes if not node.starts], list[Node]()
        for turn in range(TRIES):
            if not waiting or self.budget.spent:
                break
            waiting = [node for node in waiting if not self._closed_at_sight(node)]
            if turn == EASY and self.whole in waiting and self.collect is None:
                self._prepare(self.whole)
            for node in waiting:
                if turn == EASY or (turn > EASY and node is self.whole):
                    self._harden(node)
            doubtful = self._prove(waiting)
            fresh = [node for node in doubtful if self._learnt_from_candidate(node)]
            deeper = [node for node in doubtful if node not in (*fresh, *deepened) and self._deepened(node)]
            waiting, deepened = [*fresh, *deeper], [*deepened, *deeper]
            left += [node for node in doubtful if node not in waiting]
        return [node for node in (*left, *waiting) if not self._closed_at_sight(node)]

    def _prepare(self, node: Node) -> None:
        """A lower bound where what comes now may take all the time there is; else, over maxima, a better upper one."""
        if self._large:
            self._raise(node, QUICK)
        elif self.inquiry.oracle.form.pooled is not None and self._between:
            self._free_likely()

    def _free_likely(self) -> None:
        """Look at sets that attacks find hard to flip, with as many subproblems as are allowed by now."""
        if self.likely is None:
            self.likely = withstanding(self.inquiry)
        if self.collect is None:
            free_by_attacks(self.inquiry, self.likely)

    def _harden(self, node: Node) -> None:
        """Another attack to try, made for being hard to undo; where any text within the sets is one."""
        large = len(self.problem.network.steps[0].bias) > MANY or self.problem.features.sum() > LONG
        if self._between and large:
            free, enough = self.problem.features & ~node.held, self._affordable(node) + 1
            start = self.prover.hardened(node.starts[0], node.open, free, enough, node.refuted[-KNOWN:])
            node.starts = (*(self._flipped([start]) if self._allowed(start) else ()), *node.starts)

    def _deepened(self, node: Node) -> bool:
        """Where it is open whether an attack can be undone, try one that is further from it: True if that taught us."""
        if node.candidate is not None or not self._between or self.inquiry.rounds > DEEP:
            return False
        before, free = node.starts, self.problem.features & ~node.held
        start = self.prover.deepened(before[0], node.open, free, self._affordable(node))
        if start is before[0] or not self._allowed(start) or not self._flipped([start]):
            return False
        node.starts = (start,)
        learnt = bool(self._prove([node])) and self._learnt_from_candidate(node)
        node.starts = () if node.settled else (*node.starts, *before) if learnt else (*before, start)
        return learnt

    @property
    def _between(self) -> bool:
        """Whether any text within the sets is an attack to be tried."""
        return self.problem.at_most is None and isinstance(self.problem.region, Box | Ball)

    def _prove(self, nodes: list[Node]) -> list[Node]:
        """Try to close nodes with the attack that is hardest to undo; those left know a set that may undo it."""
        hardest = [(node, self._hardest(node)) for node in nodes]
        strong = [(node, attack) for node, attack in hardest if attack.cost > self._affordable(node)]
        doubtful = [node for node, attack in hardest if attack.cost <= self._affordable(node)]
        if not strong:
            return doubtful
        levels, opened = [self._affordable(node) for node, _ in strong], [node.open for node, _ in strong]
        later = self.inquiry.rounds > FIRST
        answers = self.prover.decide([attack for _, attack in strong], opened, levels, plain=later)
        for (node, _), answer in zip(strong, answers, strict=True):
            match answer:
                case Restoration():
                    node.close(ByRestoration(answer))
                    continue
                case Restorable(words):
                    node.candidate = node.held | (words & node.open)
                case Unknown():
                    node.candidate = None
            doubtful.append(node)
        return doubtful

    def _affordable(self, node: Node) -> int:
        return self.limit - 1 - self.costs.of(node.held)

    def _hardest(self, node: Node) -> Attack:
        """The node's attack that takes most to undo, which comes first from now on; and the words that undo it."""
        attack = self.prover.hardest(node.starts, node.open)
        node.candidate = node.held | attack.words
        node.word = attack.order[0] if attack.order else node.any_word
        others = (*node.starts[: attack.place], *node.starts[attack.place + 1 :])
        node.starts = (node.starts[attack.place], *others)[:KEEP]
        return attack

    def _raise(self, node: Node, effort: int | None = None) -> None:
        """A node that cannot be closed yet: find the highest cost that its best attack does rule out."""
        attack, spent = self._hardest(node), self.costs.of(node.held)
        high = int(min(attack.cost, self._affordable(node)))
        low, proof = self.prover.highest(attack, node.open, node.lower - spent, high, effort)
        node.partial = proof or node.partial
        node.lower = max(node.lower, spent + low)
        self.inquiry.lowest = self.lower
        self.task.report(self.lower, self.inquiry.best)

    def _learnt_from_candidate(self, node: Node) -> bool:
        """Ask about the set that undoes the attack; True when the answer is worth another try at closing."""
        if node.candidate is None or self.costs.of(node.candidate) >= self.limit:
            return False
        before = self.limit
        answer = self.inquiry.look_at(node.candidate)
        if isinstance(answer, Refuted):
            node.refuted = (*node.refuted, node.candidate)
            cornered = _cornered(answer.witness, self.problem.region)
            mixed = np.where(node.candidate[:, None], node.starts[0], cornered)
            mixed = np.where((self.problem.features & ~node.held)[:, None], mixed, self.problem.center)
            node.starts = (*self._flipped(list(within(self.problem, mixed[None]))), *node.starts)
            return True
        return self.limit < before


def _cornered(witness: Witness, region: Region) -> Floats:
    """The witness's point; of a mixture of a hull's corners, for each word the corner with the largest share."""
    if witness.shares is None or not isinstance(region, Hull):
        return witness.point
    corner = region.points[np.arange(len(region.center)), witness.shares.argmax(-1)]
    changed = (witness.point != region.center).any(-1)
    return np.where(changed[:, None], corner, region.center)


def optimal_sets(search: Search, cost: int) -> Iterator[tuple[Bools, Proved]]:
    """Every explanation of exactly the optimal `cost`, each once, as it is found; uses what `search` learnt.

    All were found if `search.frontier.done` in the end.
    """
    search.collect, search.frontier = cost, Frontier(search._root(cost))
    search.whole = search.root
    search.inquiry.rather = None  # every set is wanted for itself
    search.frontier.push(search.root)
    while not search.frontier.empty and not search.budget.spent:
        with contextlib.suppress(OutOfTime):
            search.round()
        yield from search.found
        search.found = []

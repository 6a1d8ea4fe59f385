"""The search: the provably cheapest set of words that suffices, by branch and bound over words.

A node says which words are held (in every explanation below it) and which are out (in none). Bounds come from
both sides: a set proved sufficient is an upper bound, a restoration-proof attack a lower one. A node is closed
by its cost, by an attack on its out words, or by a restoration-proof attack that no affordable choice of further
words survives. Expensive complete questions are asked only of sets that would improve the answer.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.bounds import Batch, hidden, margin_bound, margin_rows, plain
from suffice.prove.branch import Restorable, decide_restorations
from suffice.prove.exact import confirm
from suffice.prove.inputs import Free, Restored
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Budget, Oracle, Proved, Refuted, Unknown, Verdict, Witness
from suffice.search.restoration import Restoration, stamina, strongest
from suffice.search.task import Best, Task
from suffice.sets.regions import Hull, Region

BATCH = 8  # nodes per round
STARTS = 6  # fresh attacks per node
KEEP = 3  # attacks handed down to the children
HARD = 24  # attacks on a likely explanation before it is looked at completely
TRIES = 6  # attacks tried on a node before it is split
PROBE = 5_000  # subproblems for a complete look at a candidate
EFFORT = 600  # subproblems for a proof that an attack cannot be undone


@dataclass(frozen=True)
class ByCost:
    """Closed: the held words already cost as much as a known explanation."""


@dataclass(frozen=True, eq=False)
class ByAttack:
    """Closed: changing only the out words flips the label."""

    witness: Witness


@dataclass(frozen=True, eq=False)
class ByRestoration:
    """Closed: a restoration-proof attack leaves nothing affordable."""

    evidence: Restoration


@dataclass(frozen=True, eq=False)
class ByProof:
    """Closed: the held words alone are an explanation (one of all the optimal ones)."""

    proof: Proved


Reason: TypeAlias = ByCost | ByAttack | ByRestoration | ByProof


@dataclass(eq=False)
class Node:
    """Words held, words out, a proved lower bound, and how the node was closed or split."""

    held: Bools
    out: Bools
    lower: int
    starts: tuple[Floats, ...] = ()  # perturbed texts that flip the label though the held words are fixed
    candidate: Bools | None = None  # words that undo the best of them: perhaps an explanation
    reason: Reason | None = None
    partial: Restoration | None = None  # what raised `lower`, where the node could not be closed
    word: int | None = None
    children: tuple[Node, Node] | None = None  # with the word held, with the word out

    @property
    def settled(self) -> bool:
        """Closed, or split into children that stand for it."""
        return self.reason is not None or self.children is not None

    @property
    def open(self) -> Bools:
        return ~(self.held | self.out)

    @property
    def evidence(self) -> Node | None:
        """A tree that proves a lower bound: this one if all of it is closed, else what raised its bound, else None."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.children is not None:
                waiting += node.children
            elif not isinstance(node.reason, ByCost | ByAttack | ByRestoration):
                partial = self.partial
                return None if partial is None else replace(self, children=None, reason=ByRestoration(partial))
        return self


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
    reason: str = ""


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
        self.task, self.problem, self.costs = task, task.problem, task.costs
        self.budget, self.seed = task.budget, task.seed
        self.oracle = oracle
        self.complete: Oracle = complete or oracle
        self.include, self.exclude = task.include, task.exclude
        self.attacks: list[Witness] = []
        self.changed = np.zeros((0, len(self.problem.features)), dtype=bool)
        self.proved: list[tuple[Bools, Proved]] = []
        self.stats = {"queries": 0, "complete": 0, "nodes": 0}
        self.upper = task.upper(None)
        self.collect: int | None = None  # the cost of which every explanation is wanted
        self.found: list[tuple[Bools, Proved]] = []
        self.stuck: list[Node] = []
        self.doubted: set[bytes] = set()  # candidates that the limited complete look left open
        self.best: Best = None
        self.root = Node(self.include, self.exclude | ~self.problem.features, self.costs.of(self.include))
        self.heap: list[tuple[int, int, int, Node]] = []
        self.in_hand: list[Node] = []
        self.counter = 0

    # --- asking ---

    def ask(self, held: Bools, effort: int) -> list[Verdict]:
        """Do these sets (n, length) suffice? `effort` 0: cheap; else complete with so many subproblems each."""
        answers: list[Verdict | None] = [self._recall(row) for row in held]
        fresh = [i for i, answer in enumerate(answers) if answer is None]
        if fresh:
            free = self.problem.features & ~held[fresh]
            self.stats["queries"] += len(fresh)
            if effort:
                self.stats["complete"] += len(fresh)
                budget = Budget(self.budget.left, effort)
                found: Sequence[Verdict] = self.complete.ask(free, budget)
            else:
                found = self.oracle.ask_cheaply(free)
            for i, answer in zip(fresh, found, strict=True):
                answers[i] = answer
                self._learn(held[i], answer)
        return [answer for answer in answers if answer is not None]

    def _recall(self, held: Bools) -> Verdict | None:
        """What monotonicity already says: a known attack avoids these words, or a known proof is among them."""
        for fixed, proof in self.proved:
            if not (fixed & ~held).any():
                return proof
        if len(self.changed):
            hits = ~(self.changed & held).any(-1)
            if hits.any():
                return Refuted(self.attacks[int(hits.argmax())])
        return None

    def _learn(self, held: Bools, answer: Verdict) -> None:
        if isinstance(answer, Refuted):
            self._remember(answer.witness)
        elif isinstance(answer, Proved):
            # the proof holds for this very set; supersets inherit it
            self.proved.append((held, answer))
            if not (self.include & ~held).any() and not (held & self.exclude).any():
                self._improve(held, answer)

    def _remember(self, witness: Witness) -> None:
        mask = np.zeros(self.changed.shape[1], dtype=bool)
        mask[list(witness.positions)] = True
        self.attacks.append(witness)
        self.changed = np.vstack([self.changed, mask])

    def seed_attacks(self, witnesses: Sequence[Witness], starts: Sequence[Floats] = ()) -> int:
        """Attacks known from elsewhere, such as from smaller sets; those that hold here too are kept and counted."""
        before = len(self.attacks)
        for witness in witnesses:
            shares = _widened(witness.shares, self.problem.region)
            found = confirm(self.problem, witness.point[None], self.problem.features[None], shares)[0]
            if found is not None:
                self._remember(found)
        points = [point for point in starts if self.problem.region.contains(point).all()]
        self.root.starts = (*self.root.starts, *points)
        return len(self.attacks) - before + len(points)

    def _improve(self, held: Bools, proof: Proved) -> None:
        cost = self.costs.of(held)
        if cost < self.upper:
            self.upper, self.best = cost, (held, proof)
            self._report()

    def _report(self) -> None:
        self.task.report(self.lower, self.best)

    @property
    def lower(self) -> int:
        """No explanation costs less than this."""
        if self.counter == 0:
            return self.root.lower
        open_ = [entry[0] for entry in self.heap] + [
            node.lower for node in (*self.stuck, *self.in_hand) if not node.settled
        ]
        return min([self.upper, *open_])

    @property
    def everything(self) -> Bools:
        """All words that may be fixed."""
        return np.asarray(self.problem.features & ~self.exclude)

    @property
    def limit(self) -> int:
        """What an explanation must cost less than to be of interest."""
        return self.upper if self.collect is None else self.collect + 1

    # --- the loop ---

    def run(self) -> Outcome:
        try:
            return self._run()
        except KeyboardInterrupt:
            return self._outcome(finished=False, reason="interrupted")

    def _run(self) -> Outcome:
        self._greedy()
        witness = self._infeasible()
        if witness is not None:
            return self._outcome(finished=True, witness=witness)
        if self.best is None:
            what = (
                "whether the exclusion can be met"
                if self.exclude.any()
                else "whether the text itself has a clear label"
            )
            return self._outcome(finished=False, reason=f"{what} is undecided")
        self.push(self.root)
        while self.heap and not self.budget.spent:
            self.round()
        finished = not self.heap and not self.stuck
        return self._outcome(finished, "" if finished else "time is up" if self.heap else "some sets are undecided")

    def _infeasible(self) -> Witness | None:
        """Fix everything that may be fixed: if even that fails, no explanation exists."""
        answer = self.ask(self.everything[None], self.budget.subproblems)[0]
        return answer.witness if isinstance(answer, Refuted) else None

    def _outcome(self, finished: bool, reason: str = "", witness: Witness | None = None) -> Outcome:
        held, proof = self.best if self.best is not None else (None, None)
        lower = self.upper if finished and witness is None else min(self.lower, self.upper)
        return Outcome(held, proof, lower, self.upper, self.root, witness, self.stats, finished, reason)

    def push(self, node: Node) -> None:
        self.counter += 1
        heapq.heappush(self.heap, (node.lower, -int(node.held.sum() + node.out.sum()), self.counter, node))

    def round(self) -> None:
        """Take the nodes with the lowest bounds, close what can be closed, split the rest."""
        nodes = [entry[3] for entry in heapq.nsmallest(BATCH, self.heap)]
        self.in_hand = nodes  # before they leave the heap: the lower bound must hold whenever we are interrupted
        for _ in nodes:
            heapq.heappop(self.heap)
        self.stats["nodes"] += len(nodes)
        before = self.upper
        for node in self._rule_out(self._with_starts(self._attack_out(nodes))):
            self._branch(node)
        if self.upper < before:
            self.heap = [entry for entry in self.heap if not self._closed_at_sight(entry[3])]
            heapq.heapify(self.heap)
        self._report()

    def _closed_at_sight(self, node: Node) -> bool:
        """By its cost, or by an attack that is known already."""
        if node.reason is None and self.costs.of(node.held) >= self.limit:
            node.reason = ByCost()
        elif node.reason is None and len(self.changed):
            inside = ~(self.changed & ~node.out).any(-1)
            if inside.any():
                node.reason = ByAttack(self.attacks[int(inside.argmax())])
        return node.reason is not None

    def _branch(self, node: Node) -> None:
        """Two children: the word held, the word out."""
        if node.word is None:
            self.stuck.append(node)
            return
        if node is self.root and node.starts and self.collect is None:
            self._raise(node)
        mark = np.arange(len(node.held)) == node.word
        held = Node(node.held | mark, node.out, max(node.lower, self.costs.of(node.held | mark)), node.starts)
        out = Node(node.held, node.out | mark, node.lower, node.starts)
        for child in (held, out):
            if not self._closed_at_sight(child):
                self.push(child)
        node.children = (held, out)  # last: until its children are on the heap, the node stands for them

    # --- closing nodes ---

    def _attack_out(self, nodes: list[Node]) -> list[Node]:
        """Words that may not be fixed: if they alone flip the label, nothing below is an explanation."""
        live = [node for node in nodes if not self._closed_at_sight(node)]
        rows = [node for node in live if (node.out & self.problem.features).any()]
        if rows:
            out = np.stack([node.out & self.problem.features for node in rows])
            attempt = self.oracle.attacker.attack(out, restarts=1, seed=self.seed)
            hits = attempt.margin <= 0
            for witness in confirm(self.problem, attempt.point[hits], out[hits]):
                if witness is not None:
                    self._remember(witness)
        return [node for node in live if not self._closed_at_sight(node)]

    def _with_starts(self, nodes: list[Node]) -> list[Node]:
        """Attacks on all that a node does not hold; where there are none, the held words may well suffice."""
        kept = []
        for node in nodes:
            free = self.problem.features & ~node.held
            inherited = [np.where(free[:, None], start, self.problem.center) for start in node.starts]
            fresh = strongest(self.oracle.attacker, free, STARTS, self.seed)
            node.starts = self._starts([*inherited, *fresh])
            if node.starts or not self._suffices(node):
                kept.append(node)
        return kept

    def _suffices(self, node: Node) -> bool:
        """No attack was found, so decide it completely: an explanation, or a late attack to start from."""
        answer = self.ask(node.held[None], self.budget.subproblems)[0]
        match answer:
            case Proved():
                node.reason = ByCost() if self.collect is None else ByProof(answer)
                if self.collect is not None:
                    self.found.append((node.held, answer))
                return True
            case Refuted(witness):
                node.starts = self._starts([self._cornered(witness)])
                node.word = self._any_word(node)
        return False

    def _starts(self, points: Sequence[Floats]) -> tuple[Floats, ...]:
        """Those of the perturbed texts that flip the label."""
        stacked = np.stack(points)
        return tuple(stacked[self.problem.margins(stacked).min(-1) < 0])

    def _cornered(self, witness: Witness) -> Floats:
        """The witness's point; of a mixture of a hull's corners, for each word the corner with the largest share."""
        region = self.problem.region
        if witness.shares is None or not isinstance(region, Hull):
            return witness.point
        corner = region.points[np.arange(len(region.center)), witness.shares.argmax(-1)]
        changed = (witness.point != region.center).any(-1)
        return np.where(changed[:, None], corner, region.center)

    def _rule_out(self, nodes: list[Node]) -> list[Node]:
        """Prove that nothing affordable is left below each node, trying likely explanations on the way."""
        waiting = [node for node in nodes if node.starts]
        left = [node for node in nodes if not node.starts]
        for _ in range(TRIES):
            if not waiting or self.budget.spent:
                break
            doubtful = self._prove([node for node in waiting if not self._closed_at_sight(node)])
            waiting = [node for node in doubtful if self._learnt_from_candidate(node)]
            left += [node for node in doubtful if node not in waiting]
        return [node for node in (*left, *waiting) if not self._closed_at_sight(node)]

    def _prove(self, nodes: list[Node]) -> list[Node]:
        """Try to close nodes with the attack that is hardest to undo; those left know a set that may undo it."""
        doubtful: list[tuple[Node, Floats, int]] = []
        strong: list[tuple[Node, Floats, int]] = []
        for node in nodes:
            cost, start, rival = self._hardest_to_undo(node)
            (strong if cost > self._affordable(node) else doubtful).append((node, start, rival))
        if strong:
            doubtful += self._decide(strong)
        return [node for node, _, _ in doubtful]

    def _affordable(self, node: Node) -> int:
        return self.limit - 1 - self.costs.of(node.held)

    def _hardest_to_undo(self, node: Node) -> tuple[float, Floats, int]:
        """Among the node's starts, the one that takes most to undo; remembers the words that undo it."""
        starts = np.stack(node.starts)
        rivals = np.asarray(self.problem.margins(starts).argmin(-1))
        opened = np.repeat(node.open[None], len(starts), axis=0)
        found = stamina(self.problem, starts, rivals, opened, self.costs.units)
        best = int(found.cost.argmax())
        order = found.order[best]
        node.candidate = node.held | found.words[best]
        node.word = order[0] if order else self._any_word(node)
        node.starts = (*node.starts[best : best + 1], *node.starts[:best], *node.starts[best + 1 :])[:KEEP]
        return float(found.cost[best]), starts[best], int(rivals[best])

    def _any_word(self, node: Node) -> int | None:
        return int(np.flatnonzero(node.open)[0]) if node.open.any() else None

    def _raise(self, node: Node) -> None:
        """A node that cannot be closed yet: find by bisection the highest cost that its best attack does rule out."""
        cost, start, rival = self._hardest_to_undo(node)
        spent = self.costs.of(node.held)
        low, high = node.lower - spent, int(min(cost, self._affordable(node)))
        while low < high and not self.budget.spent:
            level = (low + high) // 2
            answer = self._ask_restoration(node, start, rival, level)
            if isinstance(answer, Proved) and answer.evidence is not None:
                node.partial = Restoration(start, rival, level, answer.evidence[0])
                low = level + 1
            else:
                high = level
        node.lower = max(node.lower, spent + low)
        self._report()

    def _ask_restoration(self, node: Node, start: Floats, rival: int, level: int) -> Proved | Restorable | Unknown:
        inputs = Restored(self.problem.center, start[None], node.open[None], self.costs.units, np.array([float(level)]))
        budget = Budget(self.budget.left, EFFORT)
        return decide_restorations(self.oracle.form, inputs, np.array([rival]), budget)[0]

    def _decide(self, items: list[tuple[Node, Floats, int]]) -> list[tuple[Node, Floats, int]]:
        """Ask for proofs that these attacks cannot be undone at an affordable cost."""
        budgets = np.array([float(self._affordable(node)) for node, _, _ in items])
        inputs = Restored(
            self.problem.center,
            np.stack([start for _, start, _ in items]),
            np.stack([node.open for node, _, _ in items]),
            self.costs.units,
            budgets,
        )
        rivals = np.array([rival for _, _, rival in items])
        budget = Budget(self.budget.left, EFFORT)
        answers = decide_restorations(self.oracle.form, inputs, rivals, budget)
        doubtful = []
        for (node, start, rival), level, answer in zip(items, budgets, answers, strict=True):
            match answer:
                case Proved(evidence=(proof,)):
                    node.reason = ByRestoration(Restoration(start, rival, int(level), proof))
                case Restorable(words):
                    node.candidate = node.held | (words & node.open)
                    doubtful.append((node, start, rival))
                case _:
                    node.candidate = None
                    doubtful.append((node, start, rival))
        return doubtful

    def _learnt_from_candidate(self, node: Node) -> bool:
        """Ask about the set that undoes the attack; True when the answer is worth another try at closing."""
        if node.candidate is None or self.costs.of(node.candidate) >= self.limit:
            return False
        before = self.limit
        answer = self._look_at(node.candidate)
        if isinstance(answer, Refuted):
            mixed = np.where(node.candidate[:, None], node.starts[0], self._cornered(answer.witness))
            mixed = np.where((self.problem.features & ~node.held)[:, None], mixed, self.problem.center)
            node.starts = (*self._starts([mixed]), *node.starts)
            return True
        return self.limit < before

    def _look_at(self, held: Bools) -> Verdict:
        """Ask about a likely explanation: cheaply, then with hard attacks, then completely up to a limit, once."""
        answer = self.ask(held[None], 0)[0]
        if not isinstance(answer, Unknown) or held.tobytes() in self.doubted:
            return answer
        free = self.problem.features & ~held
        points = strongest(self.oracle.attacker, free, HARD, self.seed)
        flips = points[self.problem.margins(points).min(-1) <= 0]
        for witness in confirm(self.problem, flips, np.repeat(free[None], len(flips), axis=0)):
            if witness is not None:
                self._remember(witness)
                return Refuted(witness)
        answer = self.ask(held[None], PROBE)[0]
        if isinstance(answer, Unknown):
            self.doubted.add(held.tobytes())
        return answer

    # --- the first upper bound ---

    def _greedy(self) -> None:
        """Free words in order of least harm, as many as plain bounds allow; look again; repeat."""
        if not self.oracle.form.finite:
            return
        held, ranked = self.everything, self._harmless_first()
        for _ in range(8):
            order = ranked[held[ranked]]
            sets = np.repeat(held[None], len(order) + 1, axis=0)  # first nothing more is freed: is it enough at all?
            for i, word in enumerate(order, 1):
                sets[i:, word] = False
            answers = self.ask(sets, 0)
            last = max((i for i, answer in enumerate(answers) if isinstance(answer, Proved)), default=0)
            if last == 0:
                return
            held = sets[last]

    def _harmless_first(self) -> Ints:
        """The words that may be freed, by how little they could lower the margin per unit of cost saved."""
        inputs = Free(self.problem.region, self.problem.features[None])
        bounds = hidden(self.oracle.form, inputs.take(slice(0, 1)))
        rivals = np.arange(len(self.problem.rivals))
        wide, spread = inputs.take(np.zeros_like(rivals)), bounds.take(np.zeros_like(rivals))
        batch = Batch(wide, spread, margin_rows(self.oracle.form, rivals))
        found = margin_bound(self.oracle.form, batch, plain(spread))
        harm = -self.problem.region.support(found.inputs) + (found.inputs * self.problem.center).sum(-1)
        words = np.flatnonzero(self.everything & ~self.include)
        score = harm.max(0)[words] / self.costs.units[words]
        return words[np.argsort(score, kind="stable")]


def _widened(shares: Floats | None, region: Region) -> Floats | None:
    """Shares of a hull's corners as those of a larger hull, whose corners begin with the same ones."""
    if shares is None or not isinstance(region, Hull):
        return None
    more = region.points.shape[1] - shares.shape[1]
    return np.pad(shares, ((0, 0), (0, max(more, 0))))[None]


def optimal_sets(search: Search, cost: int) -> Iterator[tuple[Bools, Proved]]:
    """Every explanation of exactly the optimal `cost`, each once, as it is found; uses what `search` learnt."""
    search.collect = cost
    search.heap, search.stuck = [], []
    search.root = Node(search.root.held, search.root.out, cost)
    search.push(search.root)
    while search.heap and not search.budget.spent:
        search.round()
        yield from search.found
        search.found = []

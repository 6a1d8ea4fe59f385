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

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.attack import within
from suffice.prove.bounds import Batch, hidden, margin_bound, margin_rows, plain
from suffice.prove.branch import Restorable
from suffice.prove.inputs import Free, steady
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Budget, Oracle, OutOfTime, Proved, Refuted, Unknown, Verdict, Witness
from suffice.search.known import Known
from suffice.search.node import ByAttack, ByCost, ByProof, ByRestoration, Frontier, Node
from suffice.search.restoration import QUICK, Attack, Prover, Restoration, strongest
from suffice.search.task import Best, Task
from suffice.sets.regions import Ball, Box, Hull, Region

BATCH = 8  # nodes per round
STARTS = 6  # fresh attacks per node
KEEP = 3  # attacks handed down to the children
HARD = 24  # attacks on a likely explanation before it is looked at completely
TRIES = 6  # attacks tried on a node before it is split
EASY = 2  # of them before one is made harder to undo (at the root, all that come)
KNOWN = 24  # sets that are no explanations that this looks at
FIRST = 120, 10**8  # subproblems for a first complete look at a candidate, or more: so many multiplications
PROBE = 400, 5_000  # the most of them at the end, where they are large and where they are small
PROBE_WORK = 2 * 10**9  # multiplications that such a look may take, so that a hopeless one ends in a few seconds
MORE = 4  # times as many subproblems for each round of nodes


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
        self.include, self.exclude = task.include, task.exclude
        self.oracle = oracle
        self.complete: Oracle = complete or oracle
        self.known = Known(self.problem)
        self.prover = Prover(oracle.form, self.costs, self.budget)
        self.frontier = Frontier(self._root(self.costs.of(self.include)))
        self.stats = {"queries": 0, "complete": 0, "nodes": 0}
        self.upper = task.upper(None)
        self.best: Best = None
        self.collect: int | None = None  # the cost of which every explanation is wanted
        self.found: list[tuple[Bools, Proved]] = []
        self.doubted: dict[
            bytes, int
        ] = {}  # candidates that complete looks left open, and how many subproblems these had
        self.rounds = 0

    def _root(self, lower: int) -> Node:
        return Node(self.include, self.exclude | ~self.problem.features, lower)

    @property
    def root(self) -> Node:
        return self.frontier.root

    @property
    def lower(self) -> int:
        """No explanation costs less than this."""
        lowest = self.frontier.lower
        return self.upper if lowest is None else min(self.upper, lowest)

    @property
    def limit(self) -> int:
        """What an explanation must cost less than to be of interest."""
        return self.upper if self.collect is None else self.collect + 1

    # --- asking ---

    def ask(self, held: Bools, effort: int) -> list[Verdict]:
        """Do these sets (n, length) suffice? `effort` 0: cheap; else complete with so many subproblems each."""
        answers: list[Verdict | None] = [self.known.says(row) for row in held]
        fresh = [i for i, answer in enumerate(answers) if answer is None]
        if fresh:
            self.stats["queries"] += len(fresh)
            for i, answer in zip(fresh, self._ask_afresh(held[fresh], effort), strict=True):
                answers[i] = answer
                self._learn(held[i], answer)
        return [answer for answer in answers if answer is not None]

    def _ask_afresh(self, held: Bools, effort: int) -> Sequence[Verdict]:
        free = self.problem.features & ~held
        if not effort:
            return self.oracle.ask_cheaply(free, budget=self.budget)
        self.stats["complete"] += len(held)
        return self.complete.ask(free, Budget(self.budget.left, effort))

    def _learn(self, held: Bools, answer: Verdict) -> None:
        if isinstance(answer, Refuted):
            self.known.add_attack(answer.witness)
        elif isinstance(answer, Proved):
            self.known.add_proof(held, answer)
            if not (self.include & ~held).any() and not (held & self.exclude).any():
                self._improve(held, answer)

    def _improve(self, held: Bools, proof: Proved) -> None:
        cost = self.costs.of(held)
        if cost < self.upper:
            self.upper, self.best = cost, (held, proof)
            self.task.report(self.lower, self.best)

    def seed_attacks(self, witnesses: Sequence[Witness], starts: Sequence[Floats] = ()) -> int:
        """Attacks known from elsewhere, such as from smaller sets; those that hold here too are kept and counted."""
        before = len(self.known.attacks)
        self.known.add_foreign(witnesses)
        points = [point for point in starts if self._allowed(point)]
        self.root.starts = (*self.root.starts, *points)
        return len(self.known.attacks) - before + len(points)

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
        self.frontier.push(self.root)
        while not self.frontier.empty and not self.budget.spent:
            self.round()
        if self.frontier.done:
            return self._outcome(finished=True)
        return self._outcome(False, "some sets are undecided" if self.frontier.empty else "time is up")

    def _infeasible(self) -> Witness | None:
        """Fix everything that may be fixed: if even that fails, no explanation exists."""
        answer = self.ask(self.task.everything[None], self.budget.subproblems)[0]
        return answer.witness if isinstance(answer, Refuted) else None

    def _outcome(self, finished: bool, reason: str = "", witness: Witness | None = None) -> Outcome:
        held, proof = self.best if self.best is not None else (None, None)
        lower = self.upper if finished and witness is None else self.lower
        return Outcome(held, proof, lower, self.upper, self.root, witness, self.stats, finished, reason)

    def round(self) -> None:
        """Take the nodes with the lowest bounds, close what can be closed, split the rest."""
        nodes, before = self.frontier.take(BATCH), self.upper
        self.stats["nodes"] += len(nodes)
        self.rounds += 1
        for node in self._rule_out(self._with_starts(self._attack_out(nodes))):
            self._branch(node)
        if self.upper < before:
            self.frontier.drop(self._closed_at_sight)
        self.task.report(self.lower, self.best)

    def _closed_at_sight(self, node: Node) -> bool:
        """By its cost, or by an attack that is known already."""
        if node.reason is None and self.costs.of(node.held) >= self.limit:
            node.close(ByCost())
        elif node.reason is None:
            attack = self.known.attack_within(node.out)
            if attack is not None:
                node.close(ByAttack(attack))
        return node.reason is not None

    def _branch(self, node: Node) -> None:
        """Two children: the word held, the word out."""
        if node.word is None:
            self.frontier.stuck.append(node)
            return
        if node is self.root and node.starts and self.collect is None:
            self._raise(node, QUICK)
            self._approach(node)
            self._refine()
            self._raise(node)
        mark = np.arange(len(node.held)) == node.word
        held = Node(node.held | mark, node.out, max(node.lower, self.costs.of(node.held | mark)), node.starts)
        out = Node(node.held, node.out | mark, node.lower, node.starts)
        for child in (held, out):
            child.refuted = node.refuted[-KNOWN:]
            if not self._closed_at_sight(child):
                self.frontier.push(child)
        node.children = (held, out)  # only now: until its children are on the frontier, the node stands for them
        node.starts, node.candidate, node.refuted = (), None, ()

    # --- closing nodes ---

    def _attack_out(self, nodes: list[Node]) -> list[Node]:
        """Words that may not be fixed: if they alone flip the label, nothing below is an explanation."""
        live = [node for node in nodes if not self._closed_at_sight(node)]
        rows = [row for node in live if (row := node.out & self.problem.features).any()]
        if rows:
            out = np.stack(rows)
            attempt = self.oracle.attacker.attack(out, restarts=1, seed=self.seed, budget=self.budget)
            hits = attempt.margin <= 0
            self.known.add_points(attempt.point[hits], out[hits])
        return [node for node in live if not self._closed_at_sight(node)]

    def _with_starts(self, nodes: list[Node]) -> list[Node]:
        """Attacks on all that a node does not hold; where there are none, the held words may well suffice."""
        kept = []
        for node in nodes:
            free = self.problem.features & ~node.held
            inherited = [np.where(free[:, None], start, self.problem.center) for start in node.starts]
            fresh = strongest(self.oracle.attacker, free, STARTS, self.seed, self.budget)
            node.starts = self._flipped([*inherited, *fresh])
            if node.starts or not self._suffices(node):
                kept.append(node)
        return kept

    def _suffices(self, node: Node) -> bool:
        """No attack was found, so decide it completely: an explanation, or a late attack to start from."""
        answer = self.ask(node.held[None], self.budget.subproblems)[0]
        match answer:
            case Proved():
                if self.collect is not None:
                    self.found.append((node.held, answer))
                node.close(ByCost() if self.collect is None else ByProof(answer))
                return True
            case Refuted(witness):
                node.starts = self._flipped([_cornered(witness, self.problem.region)])
                node.word = node.any_word
        return False

    def _flipped(self, points: Sequence[Floats]) -> tuple[Floats, ...]:
        """Those of the perturbed texts that flip the label."""
        stacked = np.stack(points)
        return tuple(stacked[self.problem.margins(stacked).min(-1) < 0])

    def _rule_out(self, nodes: list[Node]) -> list[Node]:
        """Prove that nothing affordable is left below each node, trying likely explanations on the way."""
        waiting = [node for node in nodes if node.starts]
        left = [node for node in nodes if not node.starts]
        for turn in range(TRIES):
            if not waiting or self.budget.spent:
                break
            waiting = [node for node in waiting if not self._closed_at_sight(node)]
            for node in waiting:
                if turn == EASY or (turn > EASY and node is self.root):
                    self._harden(node)
            doubtful = self._prove(waiting)
            waiting = [node for node in doubtful if self._learnt_from_candidate(node)]
            left += [node for node in doubtful if node not in waiting]
        return [node for node in (*left, *waiting) if not self._closed_at_sight(node)]

    def _harden(self, node: Node) -> None:
        """Another attack to try, made for being hard to undo; where any text within the sets is one."""
        if self.problem.at_most is None and isinstance(self.problem.region, Box | Ball):
            free, enough = self.problem.features & ~node.held, self._affordable(node) + 1
            start = self.prover.hardened(node.starts[0], node.open, free, enough, node.refuted[-KNOWN:])
            node.starts = (*(self._flipped([start]) if self._allowed(start) else ()), *node.starts)

    def _prove(self, nodes: list[Node]) -> list[Node]:
        """Try to close nodes with the attack that is hardest to undo; those left know a set that may undo it."""
        hardest = [(node, self._hardest(node)) for node in nodes]
        strong = [(node, attack) for node, attack in hardest if attack.cost > self._affordable(node)]
        doubtful = [node for node, attack in hardest if attack.cost <= self._affordable(node)]
        if not strong:
            return doubtful
        levels, opened = [self._affordable(node) for node, _ in strong], [node.open for node, _ in strong]
        answers = self.prover.decide([attack for _, attack in strong], opened, levels)
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
        self.task.report(self.lower, self.best)

    def _learnt_from_candidate(self, node: Node) -> bool:
        """Ask about the set that undoes the attack; True when the answer is worth another try at closing."""
        if node.candidate is None or self.costs.of(node.candidate) >= self.limit:
            return False
        before = self.limit
        answer = self._look_at(node.candidate)
        if isinstance(answer, Refuted):
            node.refuted = (*node.refuted, node.candidate)
            cornered = _cornered(answer.witness, self.problem.region)
            mixed = np.where(node.candidate[:, None], node.starts[0], cornered)
            mixed = np.where((self.problem.features & ~node.held)[:, None], mixed, self.problem.center)
            node.starts = (*self._flipped(list(within(self.problem, mixed[None]))), *node.starts)
            return True
        return self.limit < before

    def _look_at(self, held: Bools) -> Verdict:
        """Ask about a likely explanation: cheaply, then with hard attacks, then completely up to a limit that grows."""
        answer = self.ask(held[None], 0)[0]
        if not isinstance(answer, Unknown) or self.doubted.get(held.tobytes(), 0) >= self._probe:
            return answer
        free = self.problem.features & ~held
        points = strongest(self.oracle.attacker, free, HARD, self.seed, self.budget)
        flips = points[self.problem.margins(points).min(-1) <= 0]
        found = self.known.add_points(flips, np.repeat(free[None], len(flips), axis=0))
        if found:
            return Refuted(found[0])
        answer = self.ask(held[None], self._probe)[0]
        if isinstance(answer, Unknown):
            self.doubted[held.tobytes()] = self._probe
        return answer

    @property
    def _probe(self) -> int:
        """How many subproblems a complete look at a candidate may take: more where they are small, fewer at first."""
        least, most = PROBE
        work = self.oracle.form.effort
        most = max(least, min(most, PROBE_WORK // work))
        first = max(FIRST[0], FIRST[1] // work)
        return int(min(most, first * MORE ** (self.rounds - 1)))

    # --- the first upper bound ---

    def _greedy(self) -> None:
        """Free words in order of least harm, as many as plain bounds allow; look again; repeat."""
        if not self.oracle.form.finite:
            return
        held, ranked = self.task.everything, self._harmless_first()
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

    def _refine(self) -> None:
        """Free more words of the best set, as many as bounds with optimised slopes allow."""
        while self.best is not None and self.lower < self.upper and not self.budget.spent:
            held = self.best[0]
            words = np.flatnonzero(held & ~self.include)
            alone = self._free_each(held, words)
            if not len(alone):
                return
            self._free_prefix(held, alone)

    def _approach(self, node: Node) -> None:
        """With how many more words is the set that undoes the best attack proved to suffice?

        Bisection, the most harmful words first.
        """
        if node.candidate is None:
            return
        order = [word for word in self._harmless_first()[::-1] if not node.candidate[word]]
        low, high = 0, len(order)  # the first `low` are not enough, as far as one can tell
        while True:
            affordable = [i for i in range(low + 1, high) if self.costs.of(self._with(node, order[:i])) < self.upper]
            if not affordable or self.budget.spent:
                return
            many = affordable[len(affordable) // 2]
            if isinstance(self._look_at(self._with(node, order[:many])), Proved):
                high = many
            else:
                low = many

    def _with(self, node: Node, words: Sequence[int]) -> Bools:
        assert node.candidate is not None
        held = node.candidate.copy()
        held[list(words)] = True
        return held

    def _free_each(self, held: Bools, words: Ints) -> Ints:
        """Those of the words that can be freed on top, each alone; the most harmless first."""
        sets = np.repeat(held[None], len(words), axis=0)
        sets[np.arange(len(words)), words] = False
        answers = self._ask_optimised(sets)
        proved = np.array([isinstance(answer, Proved) for answer in answers], dtype=bool)
        return self._harmless_first()[np.isin(self._harmless_first(), words[proved])]

    def _free_prefix(self, held: Bools, words: Ints) -> None:
        """Free as many of the words as go together, by bisection."""
        low, high = 1, len(words)  # one of them goes
        while low < high:
            many = (low + high + 1) // 2
            trial = held.copy()
            trial[words[:many]] = False
            if isinstance(self._ask_optimised(trial[None])[0], Proved):
                low = many
            else:
                high = many - 1

    def _ask_optimised(self, held: Bools) -> Sequence[Verdict]:
        """Attacks and bounds with optimised slopes; what they decide is kept."""
        fresh = [i for i, row in enumerate(held) if self.known.says(row) is None]
        self.stats["queries"] += len(fresh)
        found = self.oracle.ask_cheaply(self.problem.features & ~held[fresh], optimised=True, budget=self.budget)
        for i, answer in zip(fresh, found, strict=True):
            self._learn(held[i], answer)
        answers = [self.known.says(row) for row in held]
        return [Unknown("bounds do not decide it") if answer is None else answer for answer in answers]

    def _harmless_first(self) -> Ints:
        """The words that may be freed, by how little they could lower the margin per unit of cost saved."""
        form, rivals = self.oracle.form, np.arange(len(self.problem.rivals))
        inputs = Free(self.problem.region, self.problem.features[None])
        bounds = hidden(form, inputs, budget=self.budget)
        wide, spread = inputs.take(np.zeros_like(rivals)), bounds.take(np.zeros_like(rivals))
        found = margin_bound(form, Batch(wide, spread, margin_rows(form, rivals)), plain(spread))
        harm = -self.problem.region.support(found.inputs) + (found.inputs * self.problem.center).sum(-1)
        words = np.flatnonzero(self.task.everything & ~self.include)
        score = harm.max(0)[words] / self.costs.units[words]
        return words[np.argsort(steady(score[None])[0], kind="stable")]


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
    search.frontier.push(search.root)
    while not search.frontier.empty and not search.budget.spent:
        with contextlib.suppress(OutOfTime):
            search.round()
        yield from search.found
        search.found = []

"""The complete answer: branch and bound on relus, and on words where that is needed.

Subproblems of many questions are worked on together, the hardest of each question first. Splitting a unit
makes its relu linear on both sides, and brings lines closer to a smooth curve; the split itself enters the bound
through a multiplier. A subproblem is closed when its bound is above zero or its splits contradict each other; the
point where an open one attains its bound is tried on the real network each time. Where words are bought with a
budget, those that the bound cannot do without are decided on the way. Questions come in three kinds, told apart by
their input set: over `Free` and `Freed` words the margin must stay above zero; over `Restored` words it must stay
below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.bounds import (
    Batch,
    Dual,
    Form,
    Hidden,
    Pass,
    Signs,
    hidden,
    losses,
    margin_bound,
    margin_rows,
    optimise,
    plain,
    step_bounds,
)
from suffice.prove.exact import confirm
from suffice.prove.inputs import Free, Freed, Interval, Restored
from suffice.prove.program import leaf_program
from suffice.prove.tree import Leaf, Pick, Split, Tree
from suffice.prove.verdict import Budget, Proved, Refuted, Unknown, Verdict
from suffice.sets.regions import Choice

BATCH = 256  # subproblems per round, if they are small
WORK = 2 * 10**8  # multiplications per round: it should take a fraction of a second, as time is looked at in between
PER_QUESTION = 48  # of one question, so that a hard one does not starve the others
STUCK = 16  # subproblems at zero that a question may have before it is given up: another may hold a flip
STEPS = 4, 64  # of slope and multiplier ascent per subproblem, at least and at most
FEW = 16  # below this many subproblems in a round, each is split on several units at once


InputSet: TypeAlias = Free | Freed | Restored


@dataclass(frozen=True, eq=False)
class Restorable:
    """A set of words (a mask) that, put back, undoes the attack at an affordable cost."""

    words: Bools


@dataclass(eq=False)
class _Node:
    """A subproblem of one question and one rival, on its way to being closed or split."""

    question: int
    rival: int
    inputs: InputSet
    signs: Signs
    bound: float
    first: Interval | None = None
    dual: Dual | None = None
    loss: Floats | None = None
    rows: Floats | None = None
    cut: int | tuple[int, tuple[int, ...]] | None = None
    children: tuple[_Node, _Node] | None = None
    closed: bool = False


@dataclass(eq=False)
class _Question:
    roots: list[_Node]
    open: list[_Node] = field(default_factory=list)
    spent: int = 0
    stuck: int = 0
    answer: Verdict | Restorable | None = None


def decide(form: Form, free: Bools, budget: Budget) -> list[Verdict]:
    """Do the words that are not free suffice? A verdict for each row of `free` (n, length)."""
    form.about(free)
    inputs = _choosable(Free(form.problem.region, free), form)
    rivals = [list(range(len(form.problem.rivals)))] * len(free)
    answers = Branching(form, inputs, rivals, 1.0, budget).run()
    return [answer for answer in answers if not isinstance(answer, Restorable)]


def decide_restorations(
    form: Form, inputs: Restored, rivals: Ints, budget: Budget
) -> list[Proved | Restorable | Unknown]:
    """Does every affordable restoration leave the rival ahead? Proved, a set that does not, or Unknown."""
    form.about((inputs.start != inputs.center).any(-1))
    answers = Branching(form, inputs, [[int(j)] for j in rivals], -1.0, budget).run()
    return [answer for answer in answers if not isinstance(answer, Refuted)]


def decide_flips(
    form: Form, opened: Bools, cost: Floats, limit: float, rivals: Sequence[int], budget: Budget
) -> Verdict:
    """Can changing words worth at most `limit` lift one of the rivals to the label? Refuted shows how."""
    form.about(opened)
    nobody = np.zeros((1, len(opened)), dtype=bool)
    inputs = Freed(form.problem.region, nobody, opened[None], cost, np.array([float(limit)]))
    answer = Branching(form, inputs, [list(rivals)], 1.0, budget).run()[0]
    assert not isinstance(answer, Restorable)
    return answer


class Branching:
    """One run of branch and bound over a batch of questions."""

    def __init__(
        self,
        form: Form,
        inputs: InputSet,
        rivals: Sequence[Sequence[int]],
        sign: float,
        budget: Budget,
    ) -> None:
        self.form, self.sign, self.budget = form, sign, budget
        self.batch = max(4, min(BATCH, WORK // form.work))
        least, most = STEPS
        self.steps = min(most, max(least, 2 ** len(form.steps)))  # a deep network gains more by them than by splits
        self.questions = [
            _Question([self._root(q, j, inputs.take(slice(q, q + 1))) for j in mine]) for q, mine in enumerate(rivals)
        ]

    def _root(self, question: int, rival: int, inputs: InputSet) -> _Node:
        return _Node(question, rival, inputs, np.zeros(self.form.units, dtype=np.int8), -np.inf)

    def run(self) -> list[Verdict | Restorable]:
        if not self.form.finite:
            return [Unknown("the network can overflow over this region")] * len(self.questions)
        self._evaluate([root for question in self.questions for root in question.roots])
        while batch := self._hardest():
            self._evaluate([child for node in batch for child in self._split(node, _at_once(len(batch)))])
        return [self._verdict(question) for question in self.questions]

    def _verdict(self, question: _Question) -> Verdict | Restorable:
        if question.answer is not None:
            return question.answer
        if question.open:
            worst = min(node.bound for node in question.open)
            return Unknown(f"undecided after {question.spent} subproblems: the best bound is {worst:.3g}")
        if question.stuck:
            return Unknown(self._why_stuck)
        return Proved(tuple(_tree(root) for root in question.roots))

    @property
    def _why_stuck(self) -> str:
        if self.form.curved is not None:
            return "bounds of smooth activations leave it open, and no complete answer exists for them"
        return "the margin is too close to zero to be decided"

    def _hardest(self) -> list[_Node]:
        """The subproblems to split next: the lowest bounds of every undecided question within its budget."""
        live = [q for q in self.questions if q.answer is None and q.open and q.spent < self.budget.subproblems]
        if self.budget.spent:
            return []
        share = max(1, min(PER_QUESTION, self.batch // max(1, len(live))))
        batch: list[_Node] = []
        for question in live[: self.batch]:
            question.open.sort(key=lambda node: node.bound)
            batch += question.open[:share]
            del question.open[:share]
        return batch

    # --- bounding ---

    def _evaluate(self, nodes: Sequence[_Node]) -> None:
        """Bound, attack and close fresh subproblems; what time does not allow stays open."""
        for start in range(0, len(nodes), self.batch):
            part = [n for n in nodes[start : start + self.batch] if self.questions[n.question].answer is None]
            if self.budget.spent:
                for node in part:
                    self.questions[node.question].open.append(node)
            elif part:
                self._evaluate_batch(part)

    def _evaluate_batch(self, nodes: list[_Node]) -> None:
        """One pass closes most of them; what is left is worth more work."""
        inputs, signs = _joined(nodes), np.stack([n.signs for n in nodes])
        bounds = hidden(self.form, inputs, signs, self._first(nodes, inputs))
        rows = margin_rows(self.form, np.array([n.rival for n in nodes]), self.sign)
        batch, dual = Batch(inputs, bounds, rows, signs), _inherited(nodes, bounds)
        found = margin_bound(self.form, batch, dual)
        known = np.where(bounds.contradicted, np.inf, found.bound)
        for i, node in enumerate(nodes):
            self.questions[node.question].spent += 1
            node.bound, node.dual, node.closed = float(known[i]), dual.take(slice(i, i + 1)), bool(known[i] > 0)
        left = np.flatnonzero(known <= 0)
        if len(left):
            self._work_on([nodes[i] for i in left], batch.take(left), dual.take(left), found.take(left))

    def _work_on(self, nodes: list[_Node], batch: Batch, dual: Dual, found: Pass) -> None:
        """Better slopes and multipliers; what they leave open is attacked, and kept with what to split it on."""
        found, dual = optimise(self.form, batch, dual, found, self.steps)
        self._try(nodes, batch.inputs.minimiser(found.inputs))
        loss, bounds = losses(self.form, batch, found, dual), batch.bounds
        chord = np.where(bounds.loose, np.abs(np.minimum(found.over, 0.0)) * bounds.shift, 9 * loss)
        score = np.where(bounds.crossing(self.form), chord + 0.1 * loss + 1e-12, 0.0)
        for i, node in enumerate(nodes):
            node.bound, node.closed = float(found.bound[i]), bool(found.bound[i] > 0)
            node.dual, node.loss, node.rows = dual.take(slice(i, i + 1)), score[i], found.inputs[i]
            if not node.closed:
                self._keep(node, bounds.take(slice(i, i + 1)))

    def _first(self, nodes: list[_Node], inputs: InputSet) -> Interval | None:
        """The first step's bounds, worked out once per input set and handed down the tree."""
        if not self.form.steps:
            return None
        # siblings that differ by splits of relus share one input set
        fresh = {id(node.inputs): i for i, node in enumerate(nodes) if node.first is None}
        if fresh:
            some = inputs.take(np.array(list(fresh.values())))
            lower, upper = step_bounds(self.form, some, Hidden.blank(0, self.form), 0)
            found = {key: (lower[row : row + 1], upper[row : row + 1]) for row, key in enumerate(fresh)}
            for node in nodes:
                node.first = node.first or found[id(node.inputs)]
        known = [node.first for node in nodes if node.first is not None]
        return np.concatenate([low for low, _ in known]), np.concatenate([high for _, high in known])

    def _try(self, nodes: list[_Node], points: Floats) -> None:
        """Run the points where the bounds are attained through the real network: one may answer the question."""
        inputs, margins = _joined(nodes), self.form.problem.margins(points)
        match inputs:
            case Free() | Freed():
                hits = np.flatnonzero(margins[np.arange(len(nodes)), [node.rival for node in nodes]] <= 1e-9)
                free = inputs.free if isinstance(inputs, Free) else inputs.all_free.free
                found = confirm(self.form.problem, points[hits], free[hits])
                for i, witness in zip(hits, found, strict=True):
                    if witness is not None and self.questions[nodes[i].question].answer is None:
                        self.questions[nodes[i].question].answer = Refuted(witness)
            case Restored(center=center):
                own = margins[np.arange(len(nodes)), [node.rival for node in nodes]]
                for i in np.flatnonzero(own >= 0):
                    restored = (points[i] == center).all(-1)
                    if (restored | (points[i] == inputs.start[i]).all(-1)).all():
                        self.questions[nodes[i].question].answer = Restorable(restored & self.form.problem.features)

    # --- splitting ---

    def _keep(self, node: _Node, bounds: Hidden) -> None:
        """Put an open subproblem back, or settle it when nothing is left to split."""
        question = self.questions[node.question]
        assert node.loss is not None
        if question.answer is not None:
            return
        if node.loss.any() or _word(self.form, node) is not None:
            question.open.append(node)
        elif not self._finish(node, bounds) and question.answer is None:
            question.stuck += 1
            if question.stuck == STUCK:
                question.answer = Unknown(self._why_stuck)

    def _split(self, node: _Node, depth: int) -> list[_Node]:
        """Children of a node, on one word or on up to `depth` relus at once; in a small round, on sure words too."""
        assert node.loss is not None
        word, (rest, closing) = _word(self.form, node), _follow(self.form, node, depth)
        # a split at zero does not straighten a smooth curve: deciding on words goes further there
        if word is not None and (not node.loss.any() or _few_choices(node) or self.form.curved is not None):
            return [rest, *closing] if closing else list(_split_word(self.form, node, word))
        level = [rest]
        for unit in np.argsort(-node.loss, kind="stable")[: min(depth, np.count_nonzero(node.loss))]:
            level = [child for parent in level for child in _split_unit(parent, int(unit))]
        return [*level, *closing]

    # --- nothing left to split ---

    def _finish(self, node: _Node, bounds: Hidden) -> bool:
        """All relus are linear here: better multipliers, or a flip, settle it. False when neither does."""
        if isinstance(node.inputs, Freed):
            return self._finish_freed(node)
        if not isinstance(node.inputs, Free) or not node.inputs.free.any() or self.form.curved is not None:
            return False  # a single point that the rounding error leaves open stays open, as do smooth curves
        solved = leaf_program(self.form, node.inputs, bounds, node.signs, node.rival)
        if solved is None:
            return False
        beta, point, shares = solved
        dual = Dual(node.dual.alpha, beta)  # type: ignore[union-attr]
        rows = margin_rows(self.form, np.array([node.rival]), self.sign)
        found = margin_bound(self.form, Batch(node.inputs, bounds, rows, node.signs[None]), dual)
        if found.bound[0] > 0:
            node.dual, node.closed, node.bound = dual, True, float(found.bound[0])
            return True
        if point is None:
            return False
        mixed = None if shares is None else shares[None]
        witness = confirm(self.form.problem, point[None], node.inputs.free, mixed)[0]
        if witness is not None:
            self.questions[node.question].answer = Refuted(witness)
        return witness is not None

    def _finish_freed(self, node: _Node) -> bool:
        """Every word is decided, so it is an ordinary question about free words."""
        assert isinstance(node.inputs, Freed)
        inputs = _choosable(node.inputs.all_free.take(slice(0, 1)), self.form)
        answer = Branching(self.form, inputs, [[node.rival]], self.sign, self.budget).run()[0]
        node.closed = isinstance(answer, Proved)
        if isinstance(answer, Refuted):
            self.questions[node.question].answer = answer
        return not isinstance(answer, Unknown)


def _choosable(inputs: Free, form: Form) -> Free:
    """Every choice allowed, where the region is one of choices and a proof may branch on them."""
    if not isinstance(form.problem.region, Choice):
        return inputs
    shape = form.problem.region.points.shape[:2]
    return replace(inputs, allowed=np.ones((len(inputs), *shape), dtype=bool))


def _at_once(batch: int) -> int:
    """On how many units to split each subproblem of a round: a small batch costs as much as a larger one."""
    return max(1, int(np.log2(FEW / batch)) if batch < FEW else 1)


def _joined(nodes: list[_Node]) -> InputSet:
    first, *rest = [node.inputs for node in nodes]
    return first.join(rest)  # type: ignore[arg-type]


def _inherited(nodes: list[_Node], bounds: Hidden) -> Dual:
    """Each node's dual from its parent, or the plain one at a root."""
    base = plain(bounds)
    for i, node in enumerate(nodes):
        if node.dual is not None:
            base.alpha[i], base.beta[i] = node.dual.alpha[0], node.dual.beta[0]
    return base


def _child(node: _Node) -> _Node:
    return _Node(node.question, node.rival, node.inputs, node.signs.copy(), node.bound, node.first, node.dual)


def _split_unit(node: _Node, unit: int) -> tuple[_Node, _Node]:
    node.cut = unit
    node.children = (_child(node), _child(node))
    node.children[0].signs[unit], node.children[1].signs[unit] = -1, 1
    return node.children


def _tree(node: _Node) -> Tree:
    if node.children is None:
        assert node.closed
        assert node.dual is not None
        return Leaf(node.dual.alpha[0], node.dual.beta[0])
    branches = (_tree(node.children[0]), _tree(node.children[1]))
    match node.cut:
        case int(unit):
            return Split(unit, branches)
        case (position, chosen):
            return Pick(position, chosen, branches)
        case _:
            raise AssertionError("a node with children was split on something")


# --- splitting on words ---


def _word(form: Form, node: _Node) -> int | None:
    """The word whose choice moves the margin most, where there is still a choice to make."""
    assert node.rows is not None
    match node.inputs:
        case Free(free=free, allowed=allowed) if allowed is not None:
            values = _values(form, node.rows)
            high = np.where(allowed[0], values, -np.inf).max(-1)
            low = np.where(allowed[0], values, np.inf).min(-1)
            spread = np.where(free[0] & (allowed[0].sum(-1) > 1), high - low, -1.0)
        case Restored(open=opened, cost=cost, budget=budget) | Freed(open=opened, cost=cost, budget=budget):
            gains = node.inputs.gains(node.rows[None])[0]
            spread = np.where(opened[0] & (cost <= budget[0]) & (gains < 0), -gains, -1.0)
        case _:
            return None
    best = int(spread.argmax())
    return best if spread[best] >= 0 else None


def _values(form: Form, rows: Floats) -> Floats:
    """rows·v for every choice v of every word."""
    region = form.problem.region
    assert isinstance(region, Choice)
    return np.asarray(np.einsum("lmd,ld->lm", region.points, rows))


def _few_choices(node: _Node) -> bool:
    """Few enough combinations of words, next to the relus that are open, that trying them beats splitting relus."""
    if not isinstance(node.inputs, Free) or node.inputs.allowed is None:
        return False
    counts = node.inputs.allowed[0][node.inputs.free[0]].sum(-1)
    assert node.loss is not None
    combinations = float(np.log2(np.maximum(counts, 1)).sum())
    return combinations <= max(6.0, np.count_nonzero(node.loss) / 4)


def _follow(form: Form, node: _Node, depth: int) -> tuple[_Node, list[_Node]]:
    """Take words that cannot be done without: what remains, and the subproblems without each, which soon close.

    As many as leave the round as small as `depth` relus do; none where it is large already.
    """
    closing: list[_Node] = []
    if depth > 1 and not isinstance(node.inputs, Free) and node.rows is not None:
        for word in node.inputs.needed(node.inputs.gains(node.rows[None])[0], -node.bound)[: 2**depth]:
            node, without = _split_word(form, node, int(word))
            closing.append(without)
    return node, closing


def _split_word(form: Form, node: _Node, position: int) -> tuple[_Node, _Node]:
    """The half of the choices with the lower values against the rest; or the word restored against not."""
    node.children = (_child(node), _child(node))
    inputs = node.inputs
    mark = np.arange(form.shape[0]) == position
    sides: list[InputSet]
    if isinstance(inputs, Restored):
        node.cut = (position, ())
        back = np.where(mark[:, None], inputs.center, inputs.start)
        left = inputs.budget - inputs.cost[position]
        narrowed = replace(inputs, open=inputs.open & ~mark)
        sides = [replace(narrowed, start=back, budget=left), narrowed]
    elif isinstance(inputs, Freed):
        node.cut = (position, ())
        rest = replace(inputs, open=inputs.open & ~mark)
        sides = [replace(rest, free=inputs.free | mark, budget=inputs.budget - inputs.cost[position]), rest]
    else:
        assert inputs.allowed is not None
        assert node.rows is not None
        options = np.flatnonzero(inputs.allowed[0, position])
        order = options[np.argsort(_values(form, node.rows)[position, options], kind="stable")]
        chosen = np.isin(np.arange(inputs.allowed.shape[-1]), order[: max(1, len(order) // 2)])
        node.cut = (position, tuple(int(i) for i in np.flatnonzero(chosen)))
        sides = [replace(inputs, allowed=inputs.allowed & (~mark[:, None] | keep)[None]) for keep in (chosen, ~chosen)]
    for child, side in zip(node.children, sides, strict=True):
        child.inputs, child.first = side, None
    return node.children

"""The complete answer: branch and bound on relus, and on words where the set is of real words.

Subproblems of many questions are worked on together, the hardest of each question first. Splitting a unit
makes its relu linear on both sides; the split itself enters the bound through a multiplier. A subproblem
is closed when its bound is above zero or its splits contradict each other; the point where the bound is
attained is tried on the real network each time. When nothing is left to split, a linear program gives the
multipliers. What remains open ends as Unknown, never as Proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog

from suffice.bounds import (
    Dual,
    Form,
    Free,
    Hidden,
    Pass,
    hidden,
    margin_rows,
    optimise,
    plain,
)
from suffice.exact import confirm
from suffice.network import Bools, Floats
from suffice.perturb import Ball, Box, Choice, Hull
from suffice.verdict import Budget, Proved, Refuted, Unknown, Verdict

BATCH = 256  # subproblems per round
PER_QUESTION = 48  # of one question, so that a hard one does not starve the others
STEPS = 12  # of slope and multiplier ascent per subproblem


@dataclass(frozen=True, eq=False)
class Leaf:
    """A closed subproblem: the slopes and multipliers of each step that prove it."""

    alpha: tuple[Floats, ...]
    beta: tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class Split:
    """A relu unit taken as negative in the first branch and as positive in the second."""

    step: int
    unit: int
    branches: tuple[Tree, Tree]


@dataclass(frozen=True, eq=False)
class Pick:
    """A word whose allowed choices are `chosen` in the first branch and the rest in the second."""

    position: int
    chosen: tuple[int, ...]
    branches: tuple[Tree, Tree]


Tree = Leaf | Split | Pick


@dataclass(eq=False)
class _Node:
    """A subproblem of one question and one rival, on its way to being closed or split."""

    question: int
    rival: int
    signs: tuple[np.typing.NDArray[np.int8], ...]
    allowed: Bools | None
    bound: float
    dual: Dual | None = None
    over: tuple[Floats, ...] = ()
    loss: tuple[Floats, ...] = ()
    rows: Floats | None = None
    cut: tuple[int, int] | tuple[int, tuple[int, ...]] | None = None
    word_cut: bool = False
    children: tuple[_Node, _Node] | None = None
    closed: bool = False


@dataclass(eq=False)
class _Question:
    free: Bools
    roots: list[_Node]
    open: list[_Node] = field(default_factory=list)
    spent: int = 0
    answer: Verdict | None = None


def decide(form: Form, free: Bools, budget: Budget) -> list[Verdict]:
    """A verdict for each row of `free` (n, length), complete up to the budget."""
    return Branching(form, free, budget).run()


class Branching:
    """One run of branch and bound over a batch of questions."""

    def __init__(self, form: Form, free: Bools, budget: Budget) -> None:
        self.form, self.budget = form, budget
        rivals = range(len(form.problem.rivals))
        self.questions = [_Question(row, [self._root(q, j) for j in rivals]) for q, row in enumerate(free)]
        self.subproblems = 0

    def run(self) -> list[Verdict]:
        if not self.form.finite:
            return [Unknown("the network can overflow over this region")] * len(self.questions)
        self._evaluate([root for question in self.questions for root in question.roots])
        while batch := self._hardest():
            if self.budget.spent:
                break
            self._evaluate([child for node in batch for child in self._split(node)])
        return [self._verdict(question) for question in self.questions]

    def _root(self, question: int, rival: int) -> _Node:
        signs = tuple(np.zeros(len(step.bias), dtype=np.int8) for step in self.form.steps)
        region = self.form.problem.region
        allowed = np.ones(region.points.shape[:2], dtype=bool) if isinstance(region, Choice) else None
        return _Node(question, rival, signs, allowed, -np.inf)

    def _verdict(self, question: _Question) -> Verdict:
        if question.answer is not None:
            return question.answer
        if question.open:
            spent = "time" if self.budget.spent else f"{question.spent} subproblems"
            return Unknown(
                f"undecided after {spent}; the best bound of the margin is {question.open[0].bound:.3g}"
            )
        return Proved(tuple(_tree(root) for root in question.roots))

    def _hardest(self) -> list[_Node]:
        """The subproblems to split next: the lowest bounds of every undecided question."""
        live = [q for q in self.questions if q.answer is None and q.open]
        share = max(1, min(PER_QUESTION, BATCH // max(1, len(live))))
        batch: list[_Node] = []
        for question in live[:BATCH]:
            if question.spent >= self.budget.subproblems:
                reason = f"undecided after {question.spent} subproblems"
                question.answer = Unknown(reason)
                continue
            question.open.sort(key=lambda node: node.bound)
            batch += question.open[:share]
            del question.open[:share]
        return batch

    # --- bounding ---

    def _evaluate(self, nodes: Sequence[_Node]) -> None:
        """Bound, attack and close a batch of fresh subproblems."""
        for start in range(0, len(nodes), BATCH):
            part = [n for n in nodes[start : start + BATCH] if self.questions[n.question].answer is None]
            if part and not self.budget.spent:
                self._evaluate_batch(part)
            elif part:
                for node in part:
                    self.questions[node.question].open.append(node)

    def _evaluate_batch(self, nodes: Sequence[_Node]) -> None:
        inputs = self._inputs(nodes)
        signs = tuple(np.stack(layer) for layer in zip(*(n.signs for n in nodes), strict=True))
        bounds = hidden(self.form, inputs, signs)
        rows = margin_rows(self.form, np.array([n.rival for n in nodes]))
        found, dual = optimise(self.form, inputs, bounds, rows, self._start(nodes, bounds), signs, STEPS)
        points = inputs.minimiser(found.inputs)
        self._try(nodes, points)
        empty = _contradicted(bounds)
        losses = self._losses(bounds, found, dual, points)
        for i, node in enumerate(nodes):
            question = self.questions[node.question]
            question.spent += 1
            node.bound = np.inf if empty[i] else float(found.bound[i])
            node.dual = dual.take(slice(i, i + 1))
            node.loss = tuple(layer[i] for layer in losses)
            node.rows = found.inputs[i]
            node.closed = node.bound > 0
            if not node.closed and question.answer is None:
                self._keep_or_finish(node, bounds.take(slice(i, i + 1)))

    def _inputs(self, nodes: Sequence[_Node]) -> Free:
        free = np.stack([self.questions[n.question].free for n in nodes])
        allowed = (
            None
            if nodes[0].allowed is None
            else np.stack([n.allowed for n in nodes if n.allowed is not None])
        )
        return Free(self.form.problem.region, free, allowed)

    def _start(self, nodes: Sequence[_Node], bounds: Hidden) -> Dual:
        """Each node's inherited dual, or the plain one at a root."""
        base = plain(bounds)
        for i, node in enumerate(nodes):
            if node.dual is not None:
                for layer in range(len(base.alpha)):
                    base.alpha[layer][i], base.beta[layer][i] = (
                        node.dual.alpha[layer][0],
                        node.dual.beta[layer][0],
                    )
        return base

    def _try(self, nodes: Sequence[_Node], points: Floats) -> None:
        """Run the minimisers through the real network; a flip answers the question."""
        margins = self.form.problem.margins(points).min(-1)
        hits = np.flatnonzero(margins <= 1e-9)
        free = np.stack([self.questions[nodes[i].question].free for i in hits]) if len(hits) else None
        found = [] if free is None else confirm(self.form.problem, points[hits], free)
        for i, witness in zip(hits, found, strict=True):
            question = self.questions[nodes[i].question]
            if question.answer is None and witness is not None:
                question.answer = Refuted(witness)

    def _losses(self, bounds: Hidden, found: Pass, dual: Dual, points: Floats) -> list[Floats]:
        """How much each relaxed relu gives away at the minimiser: what splitting it could win back."""
        values = points.reshape(len(points), -1)
        losses = []
        for k, (step, relaxation) in enumerate(zip(self.form.steps, bounds.relaxations, strict=True)):
            z, over = step.apply(values), found.over[k]
            low = np.where(relaxation.loose, dual.alpha[k], relaxation.low)
            values = np.where(over > 0, low * z, relaxation.up * z + relaxation.shift)
            gap = np.abs(over * (values - step.activate(z)))
            lower, upper = bounds.bounds[k]
            area = np.abs(over) * np.minimum(-lower, np.where(np.isinf(upper), 0.0, upper))
            losses.append(np.where(relaxation.loose, gap + 0.1 * area + 1e-12, 0.0))
        return losses

    # --- splitting ---

    def _keep_or_finish(self, node: _Node, bounds: Hidden) -> None:
        question = self.questions[node.question]
        splittable = any(layer.any() for layer in node.loss) or self._word(node) is not None
        if splittable or self._finish(node, bounds):
            if not node.closed:
                question.open.append(node)
        elif question.answer is None:
            question.answer = Unknown("the margin is within the tolerance of zero and cannot be decided")

    def _split(self, node: _Node) -> tuple[_Node, _Node]:
        position = self._word(node)
        if position is not None and (self._few_words(node) or not any(layer.any() for layer in node.loss)):
            return self._split_word(node, position)
        layer = int(np.argmax([loss.max() for loss in node.loss]))
        unit = int(node.loss[layer].argmax())
        node.cut = (layer, unit)
        node.children = (self._child(node), self._child(node))
        node.children[0].signs[layer][unit], node.children[1].signs[layer][unit] = -1, 1
        return node.children

    def _child(self, node: _Node) -> _Node:
        signs = tuple(layer.copy() for layer in node.signs)
        return _Node(node.question, node.rival, signs, node.allowed, node.bound, node.dual)

    def _word(self, node: _Node) -> int | None:
        """The free word with several choices left that moves the margin most, in a Choice region."""
        if node.allowed is None or node.rows is None:
            return None
        spread = self._spread(node)
        position = int(spread.argmax())
        return position if spread[position] >= 0 else None

    def _spread(self, node: _Node) -> Floats:
        values = self._values(node)
        shut = ~(self.questions[node.question].free & (node.allowed.sum(-1) > 1))  # type: ignore[union-attr]
        high = np.where(node.allowed, values, -np.inf).max(-1)
        low = np.where(node.allowed, values, np.inf).min(-1)
        return np.where(shut, -1.0, high - low)

    def _values(self, node: _Node) -> Floats:
        region = self.form.problem.region
        assert isinstance(region, Choice)
        assert node.rows is not None
        return np.einsum("lmd,ld->lm", region.points, node.rows)

    def _few_words(self, node: _Node) -> bool:
        """Few enough combinations of words that trying them beats splitting relus."""
        counts = node.allowed[self.questions[node.question].free].sum(-1)  # type: ignore[index]
        return float(np.log2(np.maximum(counts, 1)).sum()) <= 6

    def _split_word(self, node: _Node, position: int) -> tuple[_Node, _Node]:
        """The half of the choices with the lower values against the rest."""
        assert node.allowed is not None
        options = np.flatnonzero(node.allowed[position])
        order = options[np.argsort(self._values(node)[position, options], kind="stable")]
        chosen = order[: max(1, len(order) // 2)]
        node.cut, node.word_cut = (position, tuple(int(i) for i in sorted(chosen))), True
        node.children = (self._child(node), self._child(node))
        inside = np.zeros_like(node.allowed[position])
        inside[chosen] = True
        for child, keep in zip(node.children, (inside, ~inside), strict=True):
            child.allowed = node.allowed.copy()
            child.allowed[position] &= keep
        return node.children

    # --- nothing left to split ---

    def _finish(self, node: _Node, bounds: Hidden) -> bool:
        """All relus are linear here: better multipliers, or a flip, settle it. False when neither does."""
        question = self.questions[node.question]
        solved = _leaf_program(self.form, self._inputs([node]), bounds, node)
        if solved is None:
            return False
        beta, point, shares = solved
        dual = Dual(node.dual.alpha, beta)  # type: ignore[union-attr]
        rows = margin_rows(self.form, np.array([node.rival]))
        signs = tuple(layer[None] for layer in node.signs)
        found, best = optimise(self.form, self._inputs([node]), bounds, rows, dual, signs, 0)
        if found.bound[0] > 0:
            node.dual, node.closed, node.bound = best, True, float(found.bound[0])
            return True
        if point is None:
            return False
        mixed = None if shares is None else shares[None]
        witness = confirm(self.form.problem, point[None], question.free[None], mixed)[0]
        if witness is not None:
            question.answer = Refuted(witness)
        return witness is not None


def _contradicted(bounds: Hidden) -> Bools:
    """Items whose splits cannot all hold: some unit's lower bound is above its upper bound."""
    return np.any([(lower > upper).any(-1) for lower, upper in bounds.bounds], axis=0)


def _tree(node: _Node) -> Tree:
    if node.children is None:
        assert node.closed
        assert node.dual is not None
        return Leaf(tuple(a[0] for a in node.dual.alpha), tuple(b[0] for b in node.dual.beta))
    branches = (_tree(node.children[0]), _tree(node.children[1]))
    assert node.cut is not None
    if node.word_cut:
        position, chosen = node.cut
        return Pick(position, chosen, branches)  # type: ignore[arg-type]
    layer, unit = node.cut
    return Split(layer, unit, branches)  # type: ignore[arg-type]


# --- the linear program of a subproblem whose relus are all fixed ---


def _leaf_program(
    form: Form, inputs: Free, bounds: Hidden, node: _Node
) -> tuple[tuple[Floats, ...], Floats | None, Floats | None] | None:
    """Multipliers from the dual, and the minimiser (with its shares of corners for a hull)."""
    objective, splits, owners = _linear_view(form, bounds, node)
    columns = _Columns.of(inputs)
    if columns is None:
        return None
    cost, constraint = objective[0] @ columns.matrix, -(splits[0] @ columns.matrix)
    limit = splits[1] + splits[0] @ columns.base
    rows = np.vstack([constraint, columns.extra]) if len(columns.extra) else constraint
    limits = np.concatenate([limit, columns.extra_limit])
    found = linprog(
        cost,
        A_ub=rows,
        b_ub=limits,
        A_eq=columns.equal,
        b_eq=columns.equal_to,
        bounds=columns.range,
        method="highs",
    )
    if found.status == 2:
        return _phase_one(columns, constraint, limit, owners, form), None, None
    if found.status != 0:
        return None
    beta = _spread_multipliers(np.maximum(-found.ineqlin.marginals[: len(owners)], 0.0), owners, form)
    point, shares = columns.point(found.x)
    return beta, point, shares


def _phase_one(
    columns: _Columns, constraint: Floats, limit: Floats, owners: list[tuple[int, int]], form: Form
) -> tuple[Floats, ...]:
    """The splits contradict each other: multipliers of the least violation, scaled up, prove it."""
    worst = np.hstack([constraint, -np.ones((len(constraint), 1))])
    extra = np.hstack([columns.extra, np.zeros((len(columns.extra), 1))])
    equal = None if columns.equal is None else np.hstack([columns.equal, np.zeros((len(columns.equal), 1))])
    cost = np.zeros(worst.shape[1])
    cost[-1] = 1.0
    found = linprog(
        cost,
        A_ub=np.vstack([worst, extra]),
        b_ub=np.concatenate([limit, columns.extra_limit]),
        A_eq=equal,
        b_eq=columns.equal_to,
        bounds=[*columns.range, (0, None)],
        method="highs",
    )
    weights = (
        np.zeros(len(owners)) if found.status != 0 else np.maximum(-found.ineqlin.marginals[: len(owners)], 0)
    )
    scale = (
        0.0 if found.status != 0 else min(1e6 * float(form.margin_size.max()) / max(found.fun, 1e-12), 1e12)
    )
    return _spread_multipliers(weights * scale, owners, form)


def _spread_multipliers(weights: Floats, owners: list[tuple[int, int]], form: Form) -> tuple[Floats, ...]:
    beta = tuple(np.zeros((1, len(step.bias))) for step in form.steps)
    for weight, (layer, unit) in zip(weights, owners, strict=True):
        beta[layer][0, unit] = np.float32(weight)
    return beta


def _linear_view(
    form: Form, bounds: Hidden, node: _Node
) -> tuple[tuple[Floats, float], tuple[Floats, Floats], list[tuple[int, int]]]:
    """The margin and the split units (sign · z >= 0) as linear functions of the flattened input."""
    matrix, offset = np.eye(form.problem.network.inputs), np.zeros(form.problem.network.inputs)
    rows, constants, owners = [], [], []
    for layer, step in enumerate(form.steps):
        matrix, offset = np.asarray(step.weight @ matrix), step.weight @ offset + step.bias
        for unit in np.flatnonzero(node.signs[layer]):
            sign = node.signs[layer][unit]
            rows.append(sign * matrix[unit])
            constants.append(sign * offset[unit])
            owners.append((layer, int(unit)))
        slope = bounds.relaxations[layer].low[0]
        matrix, offset = slope[:, None] * matrix, slope * offset
    weight = form.margin.dense()[node.rival]
    objective = weight @ matrix, float(weight @ offset + form.margin.bias[node.rival])
    stacked = np.array(rows).reshape(len(rows), form.problem.network.inputs)
    return objective, (stacked, np.array(constants)), owners


@dataclass(frozen=True, eq=False)
class _Columns:
    """The variables of a leaf's linear program: input = base + matrix @ variables."""

    inputs: Free
    matrix: Floats
    base: Floats
    range: list[tuple[float | None, float | None]]
    extra: Floats
    extra_limit: Floats
    equal: Floats | None = None
    equal_to: Floats | None = None

    @staticmethod
    def of(inputs: Free) -> _Columns | None:
        region, free = inputs.region, inputs.free[0]
        match region:
            case Box() | Ball(p=np.inf):
                return _Columns._box(inputs, region)
            case Ball(p=1):
                return _Columns._cross(inputs, region)
            case Hull() | Choice():
                return _Columns._mixture(inputs, region, free)
            case _:
                return None

    @staticmethod
    def _box(inputs: Free, region: Box | Ball) -> _Columns:
        free = np.repeat(inputs.free[0], region.center.shape[1])
        x = region.center.ravel()
        if isinstance(region, Box):
            low, high = region.lower.ravel() - x, region.upper.ravel() - x
        else:
            low, high = np.full(x.size, -region.radius), np.full(x.size, region.radius)
        pairs = [(float(a), float(b)) for a, b in zip(low[free], high[free], strict=True)]
        matrix = np.eye(x.size)[:, free]
        return _Columns(inputs, matrix, x, pairs, np.zeros((0, matrix.shape[1])), np.zeros(0))

    @staticmethod
    def _cross(inputs: Free, region: Ball) -> _Columns:
        """The 1-norm ball: each coordinate's rise and fall, of which a word has `radius` in all."""
        length, dimension = region.center.shape
        words = np.flatnonzero(inputs.free[0])
        half = np.eye(length * dimension)[:, np.repeat(inputs.free[0], dimension)]
        matrix = np.hstack([half, -half])
        owner = np.tile(np.repeat(np.arange(len(words)), dimension), 2)
        extra = (owner[None] == np.arange(len(words))[:, None]).astype(float)
        ranges: list[tuple[float | None, float | None]] = [(0.0, None)] * matrix.shape[1]
        return _Columns(
            inputs, matrix, region.center.ravel(), ranges, extra, np.full(len(words), region.radius)
        )

    @staticmethod
    def _mixture(inputs: Free, region: Hull | Choice, free: Bools) -> _Columns:
        """Shares of every allowed corner of every free word, summing to one per word."""
        length, most, dimension = region.points.shape
        allowed = np.broadcast_to(free[:, None], (length, most))
        if inputs.allowed is not None:
            allowed = allowed & inputs.allowed[0]
        words, corners = np.nonzero(allowed)
        matrix = np.zeros((length * dimension, len(words)))
        for column, (word, corner) in enumerate(zip(words, corners, strict=True)):
            matrix[word * dimension : (word + 1) * dimension, column] = region.points[word, corner]
        base = np.where(free[:, None], 0.0, region.center).ravel()
        equal = (words[None] == np.flatnonzero(free)[:, None]).astype(float)
        ranges: list[tuple[float | None, float | None]] = [(0.0, None)] * len(words)
        none = np.zeros((0, len(words)))
        return _Columns(inputs, matrix, base, ranges, none, np.zeros(0), equal, np.ones(len(equal)))

    def point(self, found: Floats) -> tuple[Floats | None, Floats | None]:
        """The input that the program found, pulled into the region where that is possible."""
        region = self.inputs.region
        center = region.center
        free = self.inputs.free[0][:, None]
        moved = (self.base + self.matrix @ found).reshape(center.shape)
        match region:
            case Box(lower=lower, upper=upper):
                return np.where(free, np.clip(moved, lower, upper), center), None
            case Ball():
                return np.where(free, center + (moved - center) * (1 - 1e-9), center), None
            case Hull(points=points):
                shares = np.zeros(points.shape[:2])
                shares[np.nonzero(np.broadcast_to(free, points.shape[:2]))] = np.maximum(found, 0.0)
                total = np.where(free[:, 0], shares.sum(-1), 1.0)
                mixed = np.einsum("lm,lmd->ld", shares / total[:, None], points)
                return np.where(free, mixed, center), shares
            case Choice():
                return None, None

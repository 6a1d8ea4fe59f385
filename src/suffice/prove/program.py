"""The linear program of a subproblem whose relus are all fixed: exact multipliers, or a point that flips.

Where nothing is left to split, the network is linear on the subproblem, and the ascent on multipliers would only get
close. A linear program over the free words gives the multipliers (its dual) and the minimiser. What it says
is never believed: multipliers go back into our own bound, points through the real network. A maximum of which several
candidates are left is a variable above all of them; its multipliers are the shares of the line below.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from suffice.model.network import Floats, Ints
from suffice.model.step import Step
from suffice.prove.bounds import Dual, Form, Hidden, Items, Signs, margin_bound, margin_rows, plain
from suffice.prove.inputs import Free
from suffice.sets.regions import Ball, Box, Choice, Hull

TANGENTS = 40  # rounds of tangent planes around a 2-norm ball
LARGE = 30_000_000  # numbers in a matrix of rows over the input that still fits the memory

Solved: TypeAlias = tuple[Dual, Floats | None, Floats | None]


def leaf_program(form: Form, inputs: Free, bounds: Hidden, signs: Signs, rival: int) -> Solved | None:
    """The dual of the program, and the minimiser (with its shares of corners for a hull)."""
    if form.problem.network.inputs * max(form.problem.network.inputs, form.units) > LARGE:
        return None
    match inputs.region:
        case Ball(p=2):
            return _round_program(form, inputs, bounds, signs, rival)
        case Box() | Ball(p=np.inf):
            columns = _Columns.box(inputs, inputs.region)
        case Ball():
            columns = _Columns.cross(inputs, inputs.region)
        case Hull() | Choice():
            columns = _Columns.mixture(inputs, inputs.region)
    return _solve(form, bounds, signs, rival, columns)


def _solve(form: Form, bounds: Hidden, signs: Signs, rival: int, columns: _Columns) -> Solved | None:
    from scipy.optimize import linprog  # takes long to import and is rarely needed

    if not columns.matrix.shape[1]:
        return None  # nothing is free
    view = _View.of(form, bounds, signs, rival)
    cost, constraint = view.over(columns, view.objective[None])[0], -view.over(columns, view.rows)
    limit = view.constants + view.rows[:, : len(columns.base)] @ columns.base
    found = linprog(
        cost,
        A_ub=np.vstack([constraint, view.beside(columns.extra)]),
        b_ub=np.concatenate([limit, columns.extra_limit]),
        A_eq=None if columns.equal is None else view.beside(columns.equal),
        b_eq=columns.equal_to,
        bounds=[*columns.range, *[(None, None)] * view.maxima],
        method="highs",
    )
    if found.status == 2:
        weights = _phase_one(columns, view, constraint, limit, form)
        return view.dual(form, bounds, weights), None, None
    if found.status != 0:
        return None
    moved = found.x[: columns.matrix.shape[1]]
    columns.found.append(moved)
    weights = np.maximum(-found.ineqlin.marginals[: len(limit)], 0.0)
    return view.dual(form, bounds, weights), *columns.point(moved)


def _phase_one(columns: _Columns, view: _View, constraint: Floats, limit: Floats, form: Form) -> Floats:
    """The splits contradict each other: multipliers of the least violation, scaled up, prove it."""
    from scipy.optimize import linprog

    slack = np.where(np.arange(len(constraint)) < len(view.owners), -1.0, 0.0)[:, None]
    worst = np.hstack([constraint, slack])
    extra = np.hstack([view.beside(columns.extra), np.zeros((len(columns.extra), 1))])
    equal = None
    if columns.equal is not None:
        equal = np.hstack([view.beside(columns.equal), np.zeros((len(columns.equal), 1))])
    cost = np.zeros(worst.shape[1])
    cost[-1] = 1.0
    found = linprog(
        cost,
        A_ub=np.vstack([worst, extra]),
        b_ub=np.concatenate([limit, columns.extra_limit]),
        A_eq=equal,
        b_eq=columns.equal_to,
        bounds=[*columns.range, *[(None, None)] * view.maxima, (0, None)],
        method="highs",
    )
    if found.status != 0:
        return np.zeros(len(limit))
    scale = min(1e6 * float(form.margin_size.max()) / max(found.fun, 1e-12), 1e12)
    return np.asarray(np.maximum(-found.ineqlin.marginals[: len(limit)], 0) * scale)


class _Rows:
    """What steps give as rows over y (`matrix`, `offset`), and the constraints of splits and open maxima on the way."""

    def __init__(self, inputs: int, open_maxima: list[int]) -> None:
        self.place = {leader: inputs + i for i, leader in enumerate(open_maxima)}
        self.matrix, self.offset = np.eye(inputs, inputs + len(open_maxima)), np.zeros(inputs)
        self.rows: list[Floats] = []
        self.constants: list[float] = []
        self.owners: list[int] = []
        self.above: list[Floats] = []
        self.below: list[float] = []
        self.candidates: list[int] = []

    def add(self, step: Step, part: slice, signs: Signs, slope: Floats) -> None:
        """One step further: its units have the slopes of bounds, split ones make rows."""
        sums, constants = np.asarray(step.weight @ self.matrix), step.weight @ self.offset + step.bias
        sides = np.where(step.pooled, 0, signs)
        for unit in np.flatnonzero(sides):
            self.rows.append(sides[unit] * sums[unit])
            self.constants.append(sides[unit] * constants[unit])
            self.owners.append(part.start + int(unit))
        self.matrix, self.offset = slope[:, None] * sums, slope * constants
        for group in step.maxima:
            self._settle(group)
            if part.start + int(group[0]) in self.place:
                self._open(group, part.start, sums, constants)

    def _settle(self, group: Ints) -> None:
        """The maximum stands at its first unit; the slopes of a settled one mark its winner."""
        total = self.matrix[group].sum(0), self.offset[group].sum()
        self.matrix[group], self.offset[group] = 0.0, 0.0
        self.matrix[group[0]], self.offset[group[0]] = total

    def _open(self, group: Ints, start: int, sums: Floats, constants: Floats) -> None:
        """An open maximum is a number of its own, not below any of its candidates."""
        own = np.arange(self.matrix.shape[1]) == self.place[start + int(group[0])]
        self.matrix[group[0]], self.offset[group[0]] = own, 0.0
        self.above += [own - sums[unit] for unit in group]
        self.below += [-constants[unit] for unit in group]
        self.candidates += [start + int(unit) for unit in group]


@dataclass(frozen=True, eq=False)
class _View:
    """The margin and constraints (rows·y + constants >= 0) over y, the flattened input and one number per open maximum.

    The first rows are the split units (`owners`, sign · z >= 0), the others say that a maximum is not below one of its
    candidates (`candidates`).
    """

    objective: Floats
    rows: Floats
    constants: Floats
    owners: list[int]
    candidates: list[int]
    maxima: int

    @staticmethod
    def of(form: Form, bounds: Hidden, signs: Signs, rival: int) -> _View:
        built = _Rows(form.problem.network.inputs, _open_maxima(form, bounds))
        for step, part in zip(form.steps, form.slices, strict=True):
            built.add(step, part, signs[part], bounds.low[0, part])
        objective = form.margin.dense()[rival] @ built.matrix
        rows = np.array([*built.rows, *built.above]).reshape(-1, built.matrix.shape[1])
        constants = np.array([*built.constants, *built.below])
        return _View(objective, rows, constants, built.owners, built.candidates, len(built.place))

    def over(self, columns: _Columns, rows: Floats) -> Floats:
        """Rows over y as rows over the program's variables: those of the input, then the maxima."""
        inputs = columns.matrix.shape[0]
        return np.hstack([rows[:, :inputs] @ columns.matrix, rows[:, inputs:]])

    def beside(self, rows: Floats) -> Floats:
        """Rows over the input's variables alone, with zeros for the maxima."""
        return np.hstack([rows, np.zeros((len(rows), self.maxima))])

    def dual(self, form: Form, bounds: Hidden, weights: Floats) -> Dual:
        """What the multipliers of the constraints mean for our own bound."""
        found = plain(bounds)
        for weight, unit in zip(weights[: len(self.owners)], self.owners, strict=True):
            found.beta[0, unit] = np.float32(weight)
        share = np.zeros(form.units)
        share[self.candidates] = weights[len(self.owners) :]
        for step, part in zip(form.steps, form.slices, strict=True):
            for group in step.maxima:
                at = part.start + group
                if share[at].sum() > 0:
                    found.alpha[0, at[1:]] = (share[at] / share[at].sum())[1:].astype(np.float32)
        return found


def _open_maxima(form: Form, bounds: Hidden) -> list[int]:
    """The first units of maxima of which several candidates are left."""
    found: list[int] = []
    for place, (step, part) in enumerate(zip(form.steps, form.slices, strict=True)):
        if step.groups is not None:
            several = ~bounds.candidates(form, place).settled[0]
            found += (part.start + step.groups.leaders[several]).tolist()
    return found


def _round_program(form: Form, inputs: Free, bounds: Hidden, signs: Signs, rival: int) -> Solved | None:
    """For 2-norm balls: linear programs over ever more tangent planes, until a proof or a point that flips."""
    assert isinstance(inputs.region, Ball)
    columns = _Columns.box(inputs, inputs.region)
    batch = Items(inputs, bounds, margin_rows(form, np.array([rival])), signs[None])
    solved = None
    for _ in range(TANGENTS):
        solved = _solve(form, bounds, signs, rival, columns)
        if solved is None:
            return None
        dual, point, _ = solved
        if point is None or margin_bound(form, batch, dual).bound[0] > 0:
            return solved
        if form.problem.margins(point[None]).min() <= 0:
            return solved
        columns = columns.with_tangents(inputs.region)
    return solved


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
    found: list[Floats] = field(default_factory=list)  # the solutions so far, for tangents

    def with_tangents(self, region: Ball) -> _Columns:
        """A tangent plane more for every word whose ball the last solution left."""
        dimension = region.center.shape[1]
        moved = self.found[-1].reshape(-1, dimension)
        size = np.linalg.norm(moved, axis=1)
        far = np.flatnonzero(size > region.radius * (1 + 1e-12))
        planes = np.zeros((len(far), moved.size))
        for row, word in enumerate(far):
            planes[row, word * dimension : (word + 1) * dimension] = moved[word] / size[word]
        limits = np.full(len(far), region.radius)
        return replace(
            self, extra=np.vstack([self.extra, planes]), extra_limit=np.concatenate([self.extra_limit, limits])
        )

    @staticmethod
    def box(inputs: Free, region: Box | Ball) -> _Columns:
        """A variable for each number of free words, which moves within its box."""
        free = np.repeat(inputs.free[0], region.center.shape[1])
        x = region.center.ravel()
        if isinstance(region, Box):
            low, high = region.lower.ravel() - x, region.upper.ravel() - x
        else:
            low, high = np.full(x.size, -region.radius), np.full(x.size, region.radius)
        pairs: list[tuple[float | None, float | None]] = [
            (float(a), float(b)) for a, b in zip(low[free], high[free], strict=True)
        ]
        matrix = np.eye(x.size)[:, free]
        return _Columns(inputs, matrix, x, pairs, np.zeros((0, matrix.shape[1])), np.zeros(0))

    @staticmethod
    def cross(inputs: Free, region: Ball) -> _Columns:
        """The 1-norm ball: each coordinate's rise and fall, of which a word has `radius` in all."""
        length, dimension = region.center.shape
        words = np.flatnonzero(inputs.free[0])
        half = np.eye(length * dimension)[:, np.repeat(inputs.free[0], dimension)]
        matrix = np.hstack([half, -half])
        owner = np.tile(np.repeat(np.arange(len(words)), dimension), 2)
        extra = (owner[None] == np.arange(len(words))[:, None]).astype(float)
        ranges: list[tuple[float | None, float | None]] = [(0.0, None)] * matrix.shape[1]
        return _Columns(inputs, matrix, region.center.ravel(), ranges, extra, np.full(len(words), region.radius))

    @staticmethod
    def mixture(inputs: Free, region: Hull | Choice) -> _Columns:
        """Shares of every allowed corner of every free word, summing to one per word."""
        length, most, dimension = region.points.shape
        free = inputs.free[0]
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
            case Ball(radius=radius, p=p):
                size = np.linalg.norm(moved - center, ord=p, axis=-1, keepdims=True)
                shrink = np.minimum(1.0, radius / np.maximum(size, 1e-300)) * (1 - 1e-9)
                return np.where(free, center + (moved - center) * shrink, center), None
            case Hull(points=points):
                shares = np.zeros(points.shape[:2])
                shares[np.nonzero(np.broadcast_to(free, points.shape[:2]))] = np.maximum(found, 0.0)
                total = np.where(free[:, 0], shares.sum(-1), 1.0)
                mixed = np.einsum("lm,lmd->ld", shares / total[:, None], points)
                return np.where(free, mixed, center), shares
            case Choice():
                return None, None

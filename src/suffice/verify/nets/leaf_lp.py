"""The linear program of a leaf whose relus are all fixed: exact multipliers, or a point that flips.

Where nothing is left to split the network is linear on the subproblem, and ascent on multipliers
would only come close. A linear program over the free words gives the multipliers (its dual) and the
minimiser. Its word is never taken: multipliers go back into our own bound, points through the real
network. A maximum with several candidates left is a variable above all of them; its multipliers are
the weights of the lower line.

Method: LP duality at leaves of branch and bound (theory, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from suffice import work
from suffice.model.network import Floats, Ints
from suffice.model.step import Step
from suffice.sets.regions import Ball, Box, Choice, Hull
from suffice.settings import RESOURCES
from suffice.verify.nets.crown import (
    BoundBatch,
    Dual,
    IntermediateBounds,
    PreparedProblem,
    Signs,
    backward_bound,
    initial_dual,
    margin_rows,
)
from suffice.verify.nets.input_sets import Free
from suffice.verify.tolerances import (
    BALL_PULL,
    BALL_WIDENING,
    INFEASIBLE_SCALE,
    MAX_MULTIPLIER,
    MIN_VIOLATION,
    SMALLEST,
)

LeafSolution: TypeAlias = tuple[Dual, Floats | None, Floats | None]


def solve_leaf_lp(
    prepared: PreparedProblem, inputs: Free, bounds: IntermediateBounds, signs: Signs, rival: int
) -> LeafSolution | None:
    """The program's dual, and its minimiser (for a hull with the weights of corners); None where it
    has none."""
    if (
        prepared.problem.network.inputs * max(prepared.problem.network.inputs, prepared.unit_count)
        > RESOURCES.leaf_numbers
    ):
        return None
    match inputs.region:
        case Ball(p=2):
            return _solve_over_ball(prepared, inputs, bounds, signs, rival)
        case Box() | Ball(p=np.inf):
            variables = _InputVariables.box(inputs, inputs.region)
        case Ball():
            variables = _InputVariables.l1_ball(inputs, inputs.region)
        case Hull() | Choice():
            variables = _InputVariables.mixture(inputs, inputs.region)
    return _solve_lp(prepared, bounds, signs, rival, variables)


def _solve_lp(
    prepared: PreparedProblem,
    bounds: IntermediateBounds,
    signs: Signs,
    rival: int,
    variables: _InputVariables,
) -> LeafSolution | None:
    from scipy.optimize import linprog  # takes long to import and is rarely needed

    if not variables.matrix.shape[1]:
        return None  # nothing is free
    leaf = _LinearLeaf.of(prepared, bounds, signs, rival)
    cost = leaf.over_variables(variables, leaf.objective[None])[0]
    constraint = -leaf.over_variables(variables, leaf.rows)
    right_side = leaf.constants + leaf.rows[:, : len(variables.offset)] @ variables.offset
    work.count("linear_programs")
    found = linprog(
        cost,
        A_ub=np.vstack([constraint, leaf.padded(variables.limit_rows)]),
        b_ub=np.concatenate([right_side, variables.limits]),
        A_eq=None if variables.equality_rows is None else leaf.padded(variables.equality_rows),
        b_eq=variables.equality_values,
        bounds=[*variables.variable_bounds, *[(None, None)] * leaf.maxima],
        method="highs",
    )
    if found.status == 2:
        multipliers = _infeasibility_multipliers(variables, leaf, constraint, right_side, prepared)
        return leaf.dual(prepared, bounds, multipliers), None, None
    if found.status != 0:
        return None
    values = found.x[: variables.matrix.shape[1]]
    variables.solutions.append(values)
    multipliers = np.maximum(-found.ineqlin.marginals[: len(right_side)], 0.0)
    return leaf.dual(prepared, bounds, multipliers), *variables.point(values)


def _infeasibility_multipliers(
    variables: _InputVariables,
    leaf: _LinearLeaf,
    constraint: Floats,
    right_side: Floats,
    prepared: PreparedProblem,
) -> Floats:
    """The splits contradict each other: multipliers of the least violation, scaled up, prove it."""
    from scipy.optimize import linprog

    slack = np.where(np.arange(len(constraint)) < len(leaf.split_units), -1.0, 0.0)[:, None]
    with_violation = np.hstack([constraint, slack])
    extra = np.hstack([leaf.padded(variables.limit_rows), np.zeros((len(variables.limit_rows), 1))])
    equal = None
    if variables.equality_rows is not None:
        equal = np.hstack(
            [leaf.padded(variables.equality_rows), np.zeros((len(variables.equality_rows), 1))]
        )
    cost = np.zeros(with_violation.shape[1])
    cost[-1] = 1.0
    work.count("linear_programs")
    found = linprog(
        cost,
        A_ub=np.vstack([with_violation, extra]),
        b_ub=np.concatenate([right_side, variables.limits]),
        A_eq=equal,
        b_eq=variables.equality_values,
        bounds=[*variables.variable_bounds, *[(None, None)] * leaf.maxima, (0, None)],
        method="highs",
    )
    if found.status != 0:
        return np.zeros(len(right_side))
    largest_margin = float(prepared.margin_magnitude.max())
    scale = min(INFEASIBLE_SCALE * largest_margin / max(found.fun, MIN_VIOLATION), MAX_MULTIPLIER)
    return np.asarray(np.maximum(-found.ineqlin.marginals[: len(right_side)], 0) * scale)


class _RowBuilder:
    """Steps as rows over y (`matrix`, `offset`), and the constraints of splits and undecided maxima
    on the way."""

    def __init__(self, inputs: int, open_maxima: list[int]) -> None:
        self.maximum_columns = {leader: inputs + i for i, leader in enumerate(open_maxima)}
        self.matrix = np.eye(inputs, inputs + len(open_maxima))
        self.offset = np.zeros(inputs)
        self.split_rows: list[Floats] = []
        self.split_constants: list[float] = []
        self.split_units: list[int] = []
        self.maximum_rows: list[Floats] = []
        self.maximum_constants: list[float] = []
        self.candidates: list[int] = []

    def add(self, step: Step, units_slice: slice, signs: Signs, slope: Floats) -> None:
        """One step further: its units have the slopes of bounds, split ones make rows."""
        sums = np.asarray(step.weight @ self.matrix)
        constants = step.weight @ self.offset + step.bias
        split_signs = np.where(step.pooled, 0, signs)
        for unit in np.flatnonzero(split_signs):
            self.split_rows.append(split_signs[unit] * sums[unit])
            self.split_constants.append(split_signs[unit] * constants[unit])
            self.split_units.append(units_slice.start + int(unit))
        self.matrix = slope[:, None] * sums
        self.offset = slope * constants
        for group in step.maxima:
            self._collapse_maximum(group)
            if units_slice.start + int(group[0]) in self.maximum_columns:
                self._free_maximum(group, units_slice.start, sums, constants)

    def _collapse_maximum(self, candidates: Ints) -> None:
        """The maximum stands at its first unit; the slopes of a decided one mark its winner."""
        total = self.matrix[candidates].sum(0), self.offset[candidates].sum()
        self.matrix[candidates] = 0.0
        self.offset[candidates] = 0.0
        self.matrix[candidates[0]], self.offset[candidates[0]] = total

    def _free_maximum(self, candidates: Ints, start: int, sums: Floats, constants: Floats) -> None:
        """An undecided maximum is a variable, not below any of its candidates."""
        variable_row = (
            np.arange(self.matrix.shape[1]) == self.maximum_columns[start + int(candidates[0])]
        )
        self.matrix[candidates[0]] = variable_row
        self.offset[candidates[0]] = 0.0
        self.maximum_rows += [variable_row - sums[unit] for unit in candidates]
        self.maximum_constants += [-constants[unit] for unit in candidates]
        self.candidates += [start + int(unit) for unit in candidates]


@dataclass(frozen=True, eq=False)
class _LinearLeaf:
    """The margin and constraints rows·y + constants >= 0 of a leaf over y, on which all is linear.

    y is the flattened input and one number per undecided maximum. The first rows are of split units
    (`split_units`, sign · z >= 0), the others say that a maximum is not below one of its
    `candidates`.
    """

    objective: Floats
    rows: Floats
    constants: Floats
    split_units: list[int]
    candidates: list[int]
    maxima: int

    @staticmethod
    def of(
        prepared: PreparedProblem, bounds: IntermediateBounds, signs: Signs, rival: int
    ) -> _LinearLeaf:
        builder = _RowBuilder(prepared.problem.network.inputs, _undecided_maxima(prepared, bounds))
        for step, units_slice in zip(prepared.steps, prepared.slices, strict=True):
            builder.add(step, units_slice, signs[units_slice], bounds.lower_slope[0, units_slice])
        objective = prepared.margin.dense()[rival] @ builder.matrix
        rows = np.array([*builder.split_rows, *builder.maximum_rows]).reshape(
            -1, builder.matrix.shape[1]
        )
        constants = np.array([*builder.split_constants, *builder.maximum_constants])
        return _LinearLeaf(
            objective,
            rows,
            constants,
            builder.split_units,
            builder.candidates,
            len(builder.maximum_columns),
        )

    def over_variables(self, variables: _InputVariables, rows: Floats) -> Floats:
        """Rows over y as rows over the program's variables: those of the input, then the maxima."""
        inputs = variables.matrix.shape[0]
        return np.hstack([rows[:, :inputs] @ variables.matrix, rows[:, inputs:]])

    def padded(self, rows: Floats) -> Floats:
        """Rows over the input's variables alone, with zeros for the maxima."""
        return np.hstack([rows, np.zeros((len(rows), self.maxima))])

    def dual(
        self, prepared: PreparedProblem, bounds: IntermediateBounds, multipliers: Floats
    ) -> Dual:
        """What the multipliers of the constraints mean for our own bound."""
        found = initial_dual(bounds)
        for multiplier, unit in zip(
            multipliers[: len(self.split_units)], self.split_units, strict=True
        ):
            found.beta[0, unit] = np.float32(multiplier)
        lower_weights = np.zeros(prepared.unit_count)
        lower_weights[self.candidates] = multipliers[len(self.split_units) :]
        for step, units_slice in zip(prepared.steps, prepared.slices, strict=True):
            for group in step.maxima:
                candidates = units_slice.start + group
                if lower_weights[candidates].sum() > 0:
                    found.alpha[0, candidates[1:]] = (
                        lower_weights[candidates] / lower_weights[candidates].sum()
                    )[1:].astype(np.float32)
        return found


def _undecided_maxima(prepared: PreparedProblem, bounds: IntermediateBounds) -> list[int]:
    """The first units of maxima of which several candidates are left."""
    found: list[int] = []
    for place, (step, units_slice) in enumerate(zip(prepared.steps, prepared.slices, strict=True)):
        if step.groups is not None:
            undecided = ~bounds.candidates(prepared, place).decided[0]
            found += (units_slice.start + step.groups.leaders[undecided]).tolist()
    return found


def _solve_over_ball(
    prepared: PreparedProblem, inputs: Free, bounds: IntermediateBounds, signs: Signs, rival: int
) -> LeafSolution | None:
    """For 2-norm balls: linear programs over ever more tangent planes, until a proof or a point
    that flips.
    """
    assert isinstance(inputs.region, Ball)
    variables = _InputVariables.box(inputs, inputs.region)
    batch = BoundBatch(inputs, bounds, margin_rows(prepared, np.array([rival])), signs[None])
    solution = None
    for _ in range(prepared.settings.leaves.tangent_rounds):
        solution = _solve_lp(prepared, bounds, signs, rival, variables)
        if solution is None:
            return None
        dual, point, _ = solution
        if point is None or backward_bound(prepared, batch, dual).bound[0] > 0:
            return solution
        if prepared.problem.margins(point[None]).min() <= 0:
            return solution
        variables = variables.with_tangents(inputs.region)
    return solution


@dataclass(frozen=True, eq=False)
class _InputVariables:
    """The input's variables in a leaf's linear program: input = offset + matrix @ variables.

    `limit_rows` @ variables <= `limits`, `equality_rows` @ variables = `equality_values`."""

    inputs: Free
    matrix: Floats
    offset: Floats
    variable_bounds: list[tuple[float | None, float | None]]
    limit_rows: Floats
    limits: Floats
    equality_rows: Floats | None = None
    equality_values: Floats | None = None
    solutions: list[Floats] = field(default_factory=list)  # the solutions so far, for tangents

    def with_tangents(self, region: Ball) -> _InputVariables:
        """A tangent plane more for every word whose ball the last solution left."""
        dimension = region.center.shape[1]
        displacements = self.solutions[-1].reshape(-1, dimension)
        norms = np.linalg.norm(displacements, axis=1)
        outside = np.flatnonzero(norms > region.radius * (1 + BALL_WIDENING))
        tangent_rows = np.zeros((len(outside), displacements.size))
        for row, word in enumerate(outside):
            tangent_rows[row, word * dimension : (word + 1) * dimension] = (
                displacements[word] / norms[word]
            )
        limits = np.full(len(outside), region.radius)
        return replace(
            self,
            limit_rows=np.vstack([self.limit_rows, tangent_rows]),
            limits=np.concatenate([self.limits, limits]),
        )

    @staticmethod
    def box(inputs: Free, region: Box | Ball) -> _InputVariables:
        """A variable for each number of free words, which moves within its box."""
        free = np.repeat(inputs.free[0], region.center.shape[1])
        center = region.center.ravel()
        if isinstance(region, Box):
            low = region.lower.ravel() - center
            high = region.upper.ravel() - center
        else:
            low = np.full(center.size, -region.radius)
            high = np.full(center.size, region.radius)
        variable_bounds: list[tuple[float | None, float | None]] = [
            (float(a), float(b)) for a, b in zip(low[free], high[free], strict=True)
        ]
        matrix = np.eye(center.size)[:, free]
        return _InputVariables(
            inputs, matrix, center, variable_bounds, np.zeros((0, matrix.shape[1])), np.zeros(0)
        )

    @staticmethod
    def l1_ball(inputs: Free, region: Ball) -> _InputVariables:
        """The 1-norm ball: each coordinate's rise and fall, of which a word has `radius` in all."""
        length, dimension = region.center.shape
        words = np.flatnonzero(inputs.free[0])
        positive_part = np.eye(length * dimension)[:, np.repeat(inputs.free[0], dimension)]
        matrix = np.hstack([positive_part, -positive_part])
        word_of_variable = np.tile(np.repeat(np.arange(len(words)), dimension), 2)
        limit_rows = (word_of_variable[None] == np.arange(len(words))[:, None]).astype(float)
        variable_bounds: list[tuple[float | None, float | None]] = [(0.0, None)] * matrix.shape[1]
        return _InputVariables(
            inputs,
            matrix,
            region.center.ravel(),
            variable_bounds,
            limit_rows,
            np.full(len(words), region.radius),
        )

    @staticmethod
    def mixture(inputs: Free, region: Hull | Choice) -> _InputVariables:
        """Convex weights of every allowed corner of every free word, summing to one per word."""
        length, max_corners, dimension = region.points.shape
        free = inputs.free[0]
        allowed = np.broadcast_to(free[:, None], (length, max_corners))
        if inputs.allowed is not None:
            allowed = allowed & inputs.allowed[0]
        words, corners = np.nonzero(allowed)
        matrix = np.zeros((length * dimension, len(words)))
        for column, (word, corner) in enumerate(zip(words, corners, strict=True)):
            matrix[word * dimension : (word + 1) * dimension, column] = region.points[word, corner]
        offset = np.where(free[:, None], 0.0, region.center).ravel()
        equality_rows = (words[None] == np.flatnonzero(free)[:, None]).astype(float)
        variable_bounds: list[tuple[float | None, float | None]] = [(0.0, None)] * len(words)
        no_rows = np.zeros((0, len(words)))
        return _InputVariables(
            inputs,
            matrix,
            offset,
            variable_bounds,
            no_rows,
            np.zeros(0),
            equality_rows,
            np.ones(len(equality_rows)),
        )

    def point(self, values: Floats) -> tuple[Floats | None, Floats | None]:
        """The input that the program found, pulled into the region where that is possible."""
        region = self.inputs.region
        center = region.center
        free = self.inputs.free[0][:, None]
        reached = (self.offset + self.matrix @ values).reshape(center.shape)
        match region:
            case Box(lower=lower, upper=upper):
                return np.where(free, np.clip(reached, lower, upper), center), None
            case Ball(radius=radius, p=p):
                norms = np.linalg.norm(reached - center, ord=p, axis=-1, keepdims=True)
                shrink = np.minimum(1.0, radius / np.maximum(norms, SMALLEST)) * (1 - BALL_PULL)
                return np.where(free, center + (reached - center) * shrink, center), None
            case Hull(points=points):
                shares = np.zeros(points.shape[:2])
                shares[np.nonzero(np.broadcast_to(free, points.shape[:2]))] = np.maximum(
                    values, 0.0
                )
                total = np.where(free[:, 0], shares.sum(-1), 1.0)
                mixed = np.einsum("lm,lmd->ld", shares / total[:, None], points)
                return np.where(free, mixed, center), shares
            case Choice():
                return None, None

"""A second opinion by mixed-integer programming: HiGHS, with big-M constants from our bounds.

Each rival is one program, "is there an allowed input with a margin of at most the tolerance?": an
unstable relu is a binary variable; stable ones and fixed words are substituted away. Only
intermediate bounds are shared with our own oracle, neither attacks nor splits. "Proved" means that
HiGHS found the program infeasible; it works to tolerances of about 1e-7, so that is its word and no
certificate. A point refutes only after `exact.confirm`.

Method: big-M models (theory, section 5).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from suffice import work
from suffice.model.network import Bools, Floats, Ints, Step
from suffice.sets.regions import Ball, Box, Choice, Hull, Region
from suffice.verify.contract import (
    Budget,
    OutOfTime,
    Problem,
    Proved,
    Refuted,
    Unknown,
    Verdict,
    Witness,
)
from suffice.verify.exact import confirm
from suffice.verify.nets.bounds_oracle import bounds_for
from suffice.verify.nets.crown import PreparedProblem
from suffice.verify.tolerances import (
    BALL_PULL,
    MAX_SOLVER_COEFFICIENT,
    MIN_SOLVER_SECONDS,
    SMALLEST,
    SOLVER_MARGIN,
)

NAME = "milp"


class MilpOracle:
    """Big-M encodings solved by HiGHS, for every region but 2-norm balls."""

    name = NAME

    def __init__(self, problem: Problem) -> None:
        self.problem = replace(problem, network=problem.network.relus_only())
        self.prepared = PreparedProblem.of(self.problem)

    def ask(self, free: Bools, budget: Budget) -> list[Verdict]:
        """One question after the other, as far as the budget goes."""
        return [self._answer(row, budget) for row in free]

    def _answer(self, free: Bools, budget: Budget) -> Verdict:
        region = self.problem.region
        if isinstance(region, Ball) and region.p == 2:
            return Unknown("2-norm balls are beyond a linear program", NAME)
        if self.prepared.curved is not None:
            return Unknown("smooth activations are beyond a linear program", NAME)
        if not self.prepared.finite:
            return Unknown("the network can overflow over this region", NAME)
        try:
            return self._solve(free, budget)
        except OutOfTime:
            return Unknown("no time left", NAME)
        except (ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
            return Unknown(f"HiGHS failed: {type(error).__name__}: {error}", NAME)

    def _solve(self, free: Bools, budget: Budget) -> Verdict:
        """Every rival must lose; the first reason not to know is kept while others may still
        refute.
        """
        if not free.any():
            return self._fixed(free)
        query = _MilpQuery.of(self.prepared, free, budget)
        if query.program.max_coefficient > MAX_SOLVER_COEFFICIENT:
            return Unknown("the network's numbers are too large for HiGHS", NAME)
        first_unknown: Unknown | None = None
        for rival in range(len(self.problem.rivals)):
            answer = self._against(query, rival, budget)
            if isinstance(answer, Refuted):
                return answer
            if isinstance(answer, Unknown) and first_unknown is None:
                first_unknown = answer
        return Proved(by=NAME) if first_unknown is None else first_unknown

    def _fixed(self, free: Bools) -> Verdict:
        """Nothing is free: the text itself, in exact arithmetic."""
        witness = confirm(self.problem, self.problem.center[None], free[None])[0]
        return Proved(by=NAME) if witness is None else Refuted(witness, NAME)

    def _against(self, query: _MilpQuery, rival: int, budget: Budget) -> Verdict:
        """First any input at or below the threshold; if that one does not flip the label, the
        lowest.
        """
        reason = "the lowest margin is within the tolerance of zero"
        for lowest in (False, True):
            if budget.exhausted:
                return Unknown("no time left", NAME)
            found = query.solve(rival, lowest, budget.seconds_left)
            if found.status == 2 and not lowest:
                return Proved(by=NAME)
            witness = self._confirmed(query, found.x)
            if witness is not None:
                return Refuted(witness, NAME)
            if found.status != 0:
                return Unknown(f"HiGHS stopped with status {found.status}: {found.message}", NAME)
        return Unknown(reason, NAME)

    def _confirmed(self, query: _MilpQuery, solution: Floats | None) -> Witness | None:
        if solution is None or not np.isfinite(solution).all():
            return None
        free = (
            query.free
            if query.change_variables is None
            else query.free & (solution[query.change_variables] > 0.5)
        )
        point, shares = point_of(query.region, query.free, query.inputs, solution)
        point = np.where(free[:, None], point, query.region.center)
        mixed = None if shares is None else shares[None]
        return confirm(self.problem, point[None], free[None], mixed)[0]


@contextmanager
def silenced() -> Iterator[None]:
    """HiGHS now and then prints a line of its own: keep it off the standard output."""
    sys.stdout.flush()
    saved = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(null)


# --- the program ---


@dataclass(frozen=True, eq=False)
class AffineMap:
    """Values as an affine function of the program's variables."""

    matrix: Any  # CSR (values, variables so far)
    offset: Floats

    def through(self, step: Step) -> AffineMap:
        weight = sparse.csr_array(step.weight)
        return AffineMap(weight @ self.matrix, weight @ self.offset + step.bias)

    def scaled(self) -> AffineMap:
        """The same with numbers of about 1 in each row, by powers of two: HiGHS looks at absolute
        sizes.
        """
        magnitude = np.maximum(abs(self.matrix).max(axis=1).toarray().ravel(), np.abs(self.offset))
        scale = np.ldexp(1.0, -np.frexp(np.where(magnitude > 0, magnitude, 1.0))[1])
        return AffineMap(sparse.diags_array(scale).tocsr() @ self.matrix, self.offset * scale)

    def masked(self, mask: Bools) -> AffineMap:
        """The same, with zero for the values that are not kept."""
        return AffineMap(
            sparse.diags_array(mask.astype(float)).tocsr() @ self.matrix, self.offset * mask
        )


@dataclass(eq=False)
class Program:
    """Variables with bounds, and rows low <= matrix @ variables <= high."""

    lower: Floats = field(default_factory=lambda: np.zeros(0))
    upper: Floats = field(default_factory=lambda: np.zeros(0))
    integral: Floats = field(default_factory=lambda: np.zeros(0))
    rows: list[tuple[Any, Floats, Floats]] = field(default_factory=list)

    def add(self, lower: Floats, upper: Floats, integral: bool = False) -> Any:
        """New variables; gives the CSR matrix (new, variables so far) that selects them."""
        start = len(self.lower)
        count = len(lower)
        self.lower, self.upper = np.append(self.lower, lower), np.append(self.upper, upper)
        self.integral = np.append(self.integral, np.full(count, float(integral)))
        index = (np.arange(count), start + np.arange(count))
        return sparse.csr_array((np.ones(count), index), shape=(count, start + count))

    def row(self, parts: list[Any], low: Floats | float, high: Floats | float) -> None:
        """low <= sum of the parts <= high, a part being a matrix over the variables that it knew
        of.
        """
        total = sum((self.widened(part) for part in parts[1:]), self.widened(parts[0]))
        count = total.shape[0]
        self.rows.append((total, np.broadcast_to(low, count), np.broadcast_to(high, count)))

    def widened(self, matrix: Any) -> Any:
        """The matrix with a column for every variable of today."""
        return sparse.csr_array(
            (matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], len(self.lower))
        )

    def relu(self, z: AffineMap, relu: Bools, lower: Floats, upper: Floats) -> AffineMap:
        """relu(z) where `relu` marks it, given bounds of z: a binary variable for each unstable
        unit.
        """
        unstable = np.flatnonzero(relu & (lower < 0) & (upper > 0))
        low = lower[unstable]
        high = upper[unstable]
        before = self.add(low, high)
        after = self.add(np.zeros(len(unstable)), high)
        active = self.add(np.zeros(len(unstable)), np.ones(len(unstable)), integral=True)
        self.row([before, -z.matrix[unstable]], z.offset[unstable], z.offset[unstable])
        self.row([after, -before], 0.0, np.inf)
        self.row([after, -before, -sparse.diags_array(low).tocsr() @ active], -np.inf, -low)
        self.row([after, -sparse.diags_array(high).tocsr() @ active], -np.inf, 0.0)
        linear = z.masked(~relu | (lower >= 0))
        unit_of_unstable = sparse.csr_array(
            (np.ones(len(unstable)), (unstable, np.arange(len(unstable)))),
            (len(relu), len(unstable)),
        )
        return AffineMap(
            self.widened(linear.matrix) + self.widened(unit_of_unstable @ after), linear.offset
        )

    @property
    def max_coefficient(self) -> float:
        """The largest number of the program: a bound of a variable, or a factor."""
        parts = [self.lower, self.upper, *(matrix.data for matrix, _, _ in self.rows)]
        return max(float(np.abs(part).max(initial=0.0)) for part in parts)

    def solve(self, objective: Floats, seconds: float) -> Any:
        constraints = [
            LinearConstraint(self.widened(matrix), low, high) for matrix, low, high in self.rows
        ]
        work.count("integer_programs")
        with silenced():
            return milp(
                objective,
                integrality=self.integral,
                bounds=Bounds(self.lower, self.upper),
                constraints=[c for c in constraints if c.A.shape[0]],
                options={"time_limit": max(seconds, MIN_SOLVER_SECONDS)},
            )


@dataclass(frozen=True, eq=False)
class _MilpQuery:
    """The program of one set of free words: input and margins are affine in its variables."""

    region: Region
    free: Bools
    program: Program
    inputs: AffineMap
    margin: AffineMap
    # the variables that say which words change, where their number is limited
    change_variables: slice | None

    @staticmethod
    def of(prepared: PreparedProblem, free: Bools, budget: Budget) -> _MilpQuery:
        program = Program()
        region = prepared.problem.region
        limit = prepared.problem.max_changes
        inputs = values = perturbed_input(program, region, free)
        change_variables = (
            limit_changes(program, region, free, limit) if free.sum() > limit else None
        )
        bounds = bounds_for(prepared, free[None], budget)
        for step, units_slice in zip(prepared.steps, prepared.slices, strict=True):
            lower = bounds.lower[0, units_slice]
            upper = bounds.upper[0, units_slice]
            values = program.relu(values.through(step), step.relu, lower, upper)
        return _MilpQuery(
            region,
            free,
            program,
            inputs,
            values.through(prepared.margin).scaled(),
            change_variables,
        )

    def solve(self, rival: int, lowest: bool, seconds: float) -> Any:
        """An input with margin <= threshold against `rival`: any, or the one with the lowest
        margin.
        """
        margin = self.program.widened(self.margin.matrix[[rival]])
        upper_limit = SOLVER_MARGIN - self.margin.offset[rival]
        with_limit = replace(self.program, rows=list(self.program.rows))
        with_limit.row([margin], -np.inf, upper_limit)
        return with_limit.solve(
            margin.toarray()[0] if lowest else np.zeros(margin.shape[1]), seconds
        )


def point_of(
    region: Region, free: Bools, inputs: AffineMap, solution: Floats
) -> tuple[Floats, Floats | None]:
    """The input that a solution stands for, pulled into the region; with the weights of corners for
    a hull."""
    values = solution[: inputs.matrix.shape[1]]
    if isinstance(region, Hull | Choice):
        return _mixed_point(region, free, values)
    reached = (inputs.matrix @ values + inputs.offset).reshape(region.center.shape)
    if isinstance(region, Box):
        inside = np.clip(reached, region.lower, region.upper)
    else:
        inside = region.center + _pulled_inside(region, reached - region.center)
    return np.where(free[:, None], inside, region.center), None


def _pulled_inside(ball: Ball, displacements: Floats) -> Floats:
    """Displacements pulled a hair inside a ball: HiGHS oversteps by its tolerance."""
    norms = np.linalg.norm(displacements, ord=ball.p, axis=-1, keepdims=True)
    return np.asarray(
        displacements * np.minimum(1.0, ball.radius / np.maximum(norms, SMALLEST)) * (1 - BALL_PULL)
    )


def perturbed_input(program: Program, region: Region, free: Bools) -> AffineMap:
    """The perturbed input, its fixed words substituted."""
    if isinstance(region, Hull | Choice):
        return _mixture_variables(program, region, free)
    center = region.center.ravel()
    free_numbers = np.flatnonzero(np.repeat(free, region.center.shape[1]))
    selection = sparse.csr_array(
        (np.ones(len(free_numbers)), (free_numbers, np.arange(len(free_numbers)))),
        (len(center), len(free_numbers)),
    )
    if isinstance(region, Box):
        return AffineMap(selection @ program.add(*_box_sides(region, free_numbers)), center)
    radii = np.full(len(free_numbers), region.radius)
    if region.p != 1:
        return AffineMap(selection @ program.add(-radii, radii), center)
    rise = program.add(np.zeros(len(free_numbers)), radii)
    fall = program.add(np.zeros(len(free_numbers)), radii)
    words = sparse.kron(
        sparse.eye_array(int(free.sum())), np.ones((1, region.center.shape[1])), format="csr"
    )
    program.row([words @ rise, words @ fall], -np.inf, region.radius)
    return AffineMap(selection @ (program.widened(rise) - fall), center)


def limit_changes(program: Program, region: Region, free: Bools, max_changes: int) -> slice:
    """At most so many words change: a binary variable for each, which holds its part of the input
    still where it is 0.

    To be called when the program has the input's variables only; gives the places of the new ones.
    """
    word_of_variable, unchanged = _owners(region, free)
    count = len(word_of_variable)
    low = program.lower
    high = program.upper
    change_variables = program.add(np.zeros(len(free)), np.ones(len(free)), integral=True)
    word_moves = (
        sparse.csr_array((np.ones(count), (np.arange(count), word_of_variable)), (count, len(free)))
        @ change_variables
    )
    inputs = sparse.eye_array(count, format="csr")
    program.row(
        [inputs, -sparse.diags_array(high - unchanged).tocsr() @ word_moves], -np.inf, unchanged
    )
    program.row(
        [inputs, -sparse.diags_array(low - unchanged).tocsr() @ word_moves], unchanged, np.inf
    )
    program.row(
        [sparse.csr_array(np.ones((1, len(free)))) @ change_variables], -np.inf, float(max_changes)
    )
    return slice(count, count + len(free))


def _owners(region: Region, free: Bools) -> tuple[Ints, Floats]:
    """The word of each of the input's variables, and the variable's value while the word stays as
    it is.
    """
    if isinstance(region, Hull | Choice):
        words, corners = np.nonzero(_corners(region, free))
        return words, (corners == 0).astype(np.float64)
    words = np.repeat(np.flatnonzero(free), region.center.shape[1])
    rise_and_fall = isinstance(region, Ball) and region.p == 1  # rise and fall
    owner = np.tile(words, 2) if rise_and_fall else words
    return owner, np.zeros(len(owner))


def _box_sides(region: Box, places: Ints) -> tuple[Floats, Floats]:
    center = region.center.ravel()[places]
    return region.lower.ravel()[places] - center, region.upper.ravel()[places] - center


def _mixture_variables(program: Program, region: Hull | Choice, free: Bools) -> AffineMap:
    """A weight for each corner of each free word, one in sum; integral where words must be real."""
    length, _, dimension = region.points.shape
    words, corners = np.nonzero(_corners(region, free))
    weights = program.add(
        np.zeros(len(words)), np.ones(len(words)), integral=isinstance(region, Choice)
    )
    word_of_weight = sparse.csr_array(
        (np.ones(len(words)), (words, np.arange(len(words)))), (length, len(words))
    )
    program.row([(word_of_weight @ weights)[free]], 1.0, 1.0)
    rows = (words[:, None] * dimension + np.arange(dimension)).ravel()
    columns = np.repeat(np.arange(len(words)), dimension)
    values = region.points[words, corners].ravel()
    points = sparse.csr_array((values, (rows, columns)), (length * dimension, len(words)))
    return AffineMap(points @ weights, np.where(free[:, None], 0.0, region.center).ravel())


def _corners(region: Hull | Choice, free: Bools) -> Bools:
    """The corners (length, m) that have a weight: those of free words, none of them twice."""
    same = (region.points[:, :, None] == region.points[:, None]).all(-1)
    repeated = np.tril(same, -1).any(-1)
    return np.asarray(free[:, None] & ~repeated)


def _mixed_point(
    region: Hull | Choice, free: Bools, values: Floats
) -> tuple[Floats, Floats | None]:
    weights = np.zeros(region.points.shape[:2])
    weights[_corners(region, free)] = np.maximum(values, 0.0)
    if isinstance(region, Choice):
        best = region.points[np.arange(len(free)), weights.argmax(-1)]
        return np.where(free[:, None], best, region.center), None
    weights /= np.where(free, weights.sum(-1), 1.0)[:, None]
    mixed = np.einsum("lm,lmd->ld", weights, region.points)
    return np.where(free[:, None], mixed, region.center), weights

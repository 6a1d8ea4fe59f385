"""A second opinion by mixed-integer programming: SciPy's HiGHS, with big-M constants from our hidden bounds.

Each rival is one program, "is there an allowed input with a margin of at most the tolerance?": an unstable
relu is a binary variable; stable ones and fixed words are substituted away. Only hidden bounds are shared
with our own oracle, neither attacks nor splits. "Proved" means that HiGHS found the program infeasible; it
works to tolerances of about 1e-7, so that is its word and no certificate. A point refutes only after
`exact.confirm`.
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

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.prove.bounds import Form
from suffice.prove.exact import confirm
from suffice.prove.oracles.bounds import bounds_for
from suffice.prove.verdict import Budget, OutOfTime, Problem, Proved, Refuted, Unknown, Verdict, Witness
from suffice.sets.regions import Ball, Box, Choice, Hull, Region

TOLERANCE = 1e-6  # a margin below this share of the margin's weights is too small to tell from zero
LARGEST = 1e8  # beside larger numbers (its infinity is 1e20) the solver's own tolerances mean nothing
NAME = "milp"


class MilpOracle:
    """Big-M encodings solved by HiGHS, for every region but 2-norm balls."""

    name = NAME

    def __init__(self, problem: Problem) -> None:
        self.problem = replace(problem, network=problem.network.relus_only())
        self.form = Form.of(self.problem)

    def ask(self, free: Bools, budget: Budget) -> list[Verdict]:
        """One question after the other, as far as the budget goes."""
        return [self._answer(row, budget) for row in free]

    def _answer(self, free: Bools, budget: Budget) -> Verdict:
        region = self.problem.region
        if isinstance(region, Ball) and region.p == 2:
            return Unknown("2-norm balls are beyond a linear program", NAME)
        if self.form.curved is not None:
            return Unknown("smooth activations are beyond a linear program", NAME)
        if not self.form.finite:
            return Unknown("the network can overflow over this region", NAME)
        try:
            return self._solve(free, budget)
        except OutOfTime:
            return Unknown("no time left", NAME)
        except (ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
            return Unknown(f"HiGHS failed: {type(error).__name__}: {error}", NAME)

    def _solve(self, free: Bools, budget: Budget) -> Verdict:
        """Every rival must lose; the first reason not to know is kept while others may still refute."""
        if not free.any():
            return self._fixed(free)
        query = _Query.of(self.form, free, budget)
        if query.program.largest > LARGEST:
            return Unknown("the network's numbers are too large for HiGHS", NAME)
        doubt: Unknown | None = None
        for rival in range(len(self.problem.rivals)):
            answer = self._against(query, rival, budget)
            if isinstance(answer, Refuted):
                return answer
            if isinstance(answer, Unknown) and doubt is None:
                doubt = answer
        return Proved(by=NAME) if doubt is None else doubt

    def _fixed(self, free: Bools) -> Verdict:
        """Nothing is free: the text itself, in exact arithmetic."""
        witness = confirm(self.problem, self.problem.center[None], free[None])[0]
        return Proved(by=NAME) if witness is None else Refuted(witness, NAME)

    def _against(self, query: _Query, rival: int, budget: Budget) -> Verdict:
        """First any input at or below the threshold; if that one does not flip the label, the lowest."""
        reason = "the lowest margin is within the tolerance of zero"
        for lowest in (False, True):
            if budget.spent:
                return Unknown("no time left", NAME)
            found = query.solve(rival, lowest, budget.left)
            if found.status == 2 and not lowest:
                return Proved(by=NAME)
            witness = self._confirmed(query, found.x)
            if witness is not None:
                return Refuted(witness, NAME)
            if found.status != 0:
                return Unknown(f"HiGHS stopped with status {found.status}: {found.message}", NAME)
        return Unknown(reason, NAME)

    def _confirmed(self, query: _Query, solution: Floats | None) -> Witness | None:
        if solution is None or not np.isfinite(solution).all():
            return None
        free = query.free if query.moves is None else query.free & (solution[query.moves] > 0.5)
        point, shares = point_of(query.region, query.free, query.inputs, solution)
        point = np.where(free[:, None], point, query.region.center)
        mixed = None if shares is None else shares[None]
        return confirm(self.problem, point[None], free[None], mixed)[0]


@contextmanager
def quiet() -> Iterator[None]:
    """HiGHS now and then prints a line of its own: keep it off the standard output."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


# --- the program ---


@dataclass(frozen=True, eq=False)
class Affine:
    """Values as an affine function of the program's variables."""

    matrix: Any  # CSR (values, variables so far)
    offset: Floats

    def through(self, step: Step) -> Affine:
        weight = sparse.csr_array(step.weight)
        return Affine(weight @ self.matrix, weight @ self.offset + step.bias)

    def plain(self) -> Affine:
        """The same with numbers of about 1 in each row, by powers of two: HiGHS looks at absolute sizes."""
        size = np.maximum(abs(self.matrix).max(axis=1).toarray().ravel(), np.abs(self.offset))
        scale = np.ldexp(1.0, -np.frexp(np.where(size > 0, size, 1.0))[1])
        return Affine(sparse.diags_array(scale).tocsr() @ self.matrix, self.offset * scale)

    def keep(self, kept: Bools) -> Affine:
        """The same, with zero for the values that are not kept."""
        return Affine(sparse.diags_array(kept.astype(float)).tocsr() @ self.matrix, self.offset * kept)


@dataclass(eq=False)
class Program:
    """Variables with bounds, and rows low <= matrix @ variables <= high."""

    lower: Floats = field(default_factory=lambda: np.zeros(0))
    upper: Floats = field(default_factory=lambda: np.zeros(0))
    integral: Floats = field(default_factory=lambda: np.zeros(0))
    rows: list[tuple[Any, Floats, Floats]] = field(default_factory=list)

    def add(self, lower: Floats, upper: Floats, integral: bool = False) -> Any:
        """New variables; gives the CSR matrix (new, variables so far) that selects them."""
        start, count = len(self.lower), len(lower)
        self.lower, self.upper = np.append(self.lower, lower), np.append(self.upper, upper)
        self.integral = np.append(self.integral, np.full(count, float(integral)))
        index = (np.arange(count), start + np.arange(count))
        return sparse.csr_array((np.ones(count), index), shape=(count, start + count))

    def row(self, parts: list[Any], low: Floats | float, high: Floats | float) -> None:
        """low <= sum of the parts <= high, a part being a matrix over the variables that it knew of."""
        total = sum((self.wide(part) for part in parts[1:]), self.wide(parts[0]))
        count = total.shape[0]
        self.rows.append((total, np.broadcast_to(low, count), np.broadcast_to(high, count)))

    def wide(self, matrix: Any) -> Any:
        """The matrix with a column for every variable of today."""
        return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], len(self.lower)))

    def relu(self, z: Affine, relu: Bools, lower: Floats, upper: Floats) -> Affine:
        """relu(z) where `relu` marks it, given bounds of z: a binary variable for each unstable unit."""
        loose = np.flatnonzero(relu & (lower < 0) & (upper > 0))
        low, high = lower[loose], upper[loose]
        before, after = self.add(low, high), self.add(np.zeros(len(loose)), high)
        active = self.add(np.zeros(len(loose)), np.ones(len(loose)), integral=True)
        self.row([before, -z.matrix[loose]], z.offset[loose], z.offset[loose])
        self.row([after, -before], 0.0, np.inf)
        self.row([after, -before, -sparse.diags_array(low).tocsr() @ active], -np.inf, -low)
        self.row([after, -sparse.diags_array(high).tocsr() @ active], -np.inf, 0.0)
        linear = z.keep(~relu | (lower >= 0))
        place = sparse.csr_array((np.ones(len(loose)), (loose, np.arange(len(loose)))), (len(relu), len(loose)))
        return Affine(self.wide(linear.matrix) + self.wide(place @ after), linear.offset)

    @property
    def largest(self) -> float:
        """The largest number of the program: a bound of a variable, or a factor."""
        parts = [self.lower, self.upper, *(matrix.data for matrix, _, _ in self.rows)]
        return max(float(np.abs(part).max(initial=0.0)) for part in parts)

    def solve(self, objective: Floats, seconds: float) -> Any:
        constraints = [LinearConstraint(self.wide(matrix), low, high) for matrix, low, high in self.rows]
        with quiet():
            return milp(
                objective,
                integrality=self.integral,
                bounds=Bounds(self.lower, self.upper),
                constraints=[c for c in constraints if c.A.shape[0]],
                options={"time_limit": max(seconds, 1e-3)},
            )


@dataclass(frozen=True, eq=False)
class _Query:
    """The program of one set of free words: input and margins are affine in its variables."""

    region: Region
    free: Bools
    program: Program
    inputs: Affine
    margin: Affine
    moves: slice | None  # the variables that say which words change, where their number is limited

    @staticmethod
    def of(form: Form, free: Bools, budget: Budget) -> _Query:
        program, region, limit = Program(), form.problem.region, form.problem.limit
        inputs = values = perturbed_input(program, region, free)
        moves = limit_changes(program, region, free, limit) if free.sum() > limit else None
        bounds = bounds_for(form, free[None], budget)
        for step, part in zip(form.steps, form.slices, strict=True):
            lower, upper = bounds.lower[0, part], bounds.upper[0, part]
            values = program.relu(values.through(step), step.relu, lower, upper)
        return _Query(region, free, program, inputs, values.through(form.margin).plain(), moves)

    def solve(self, rival: int, lowest: bool, seconds: float) -> Any:
        """An input with margin <= threshold against `rival`: any, or the one with the lowest margin."""
        margin = self.program.wide(self.margin.matrix[[rival]])
        limit = TOLERANCE - self.margin.offset[rival]
        asked = replace(self.program, rows=list(self.program.rows))
        asked.row([margin], -np.inf, limit)
        return asked.solve(margin.toarray()[0] if lowest else np.zeros(margin.shape[1]), seconds)


def point_of(region: Region, free: Bools, inputs: Affine, solution: Floats) -> tuple[Floats, Floats | None]:
    """The input that a solution stands for, pulled into the region; with its shares for a hull."""
    chosen = solution[: inputs.matrix.shape[1]]
    if isinstance(region, Hull | Choice):
        return _mixed(region, free, chosen)
    moved = (inputs.matrix @ chosen + inputs.offset).reshape(region.center.shape)
    if isinstance(region, Box):
        pulled = np.clip(moved, region.lower, region.upper)
    else:
        pulled = region.center + _pulled(region, moved - region.center)
    return np.where(free[:, None], pulled, region.center), None


def _pulled(ball: Ball, moved: Floats) -> Floats:
    """Displacements pulled a hair inside a ball: HiGHS oversteps by its tolerance."""
    size = np.linalg.norm(moved, ord=ball.p, axis=-1, keepdims=True)
    return np.asarray(moved * np.minimum(1.0, ball.radius / np.maximum(size, 1e-300)) * (1 - 1e-12))


def perturbed_input(program: Program, region: Region, free: Bools) -> Affine:
    """The perturbed input, its fixed words substituted."""
    if isinstance(region, Hull | Choice):
        return _mixture(program, region, free)
    center = region.center.ravel()
    places = np.flatnonzero(np.repeat(free, region.center.shape[1]))
    spread = sparse.csr_array((np.ones(len(places)), (places, np.arange(len(places)))), (len(center), len(places)))
    if isinstance(region, Box):
        return Affine(spread @ program.add(*_sides(region, places)), center)
    limit = np.full(len(places), region.radius)
    if region.p != 1:
        return Affine(spread @ program.add(-limit, limit), center)
    rise, fall = program.add(np.zeros(len(places)), limit), program.add(np.zeros(len(places)), limit)
    words = sparse.kron(sparse.eye_array(int(free.sum())), np.ones((1, region.center.shape[1])), format="csr")
    program.row([words @ rise, words @ fall], -np.inf, region.radius)
    return Affine(spread @ (program.wide(rise) - fall), center)


def limit_changes(program: Program, region: Region, free: Bools, most: int) -> slice:
    """At most so many words change: a binary variable for each, which holds its part of the input still where it is 0.

    To be called when the program has the input's variables only; gives the places of the new ones.
    """
    owner, still = _owners(region, free)
    count, low, high = len(owner), program.lower, program.upper
    moves = program.add(np.zeros(len(free)), np.ones(len(free)), integral=True)
    mine = sparse.csr_array((np.ones(count), (np.arange(count), owner)), (count, len(free))) @ moves
    inputs = sparse.eye_array(count, format="csr")
    program.row([inputs, -sparse.diags_array(high - still).tocsr() @ mine], -np.inf, still)
    program.row([inputs, -sparse.diags_array(low - still).tocsr() @ mine], still, np.inf)
    program.row([sparse.csr_array(np.ones((1, len(free)))) @ moves], -np.inf, float(most))
    return slice(count, count + len(free))


def _owners(region: Region, free: Bools) -> tuple[Ints, Floats]:
    """The word of each of the input's variables, and the variable's value while the word stays as it is."""
    if isinstance(region, Hull | Choice):
        words, corners = np.nonzero(_corners(region, free))
        return words, (corners == 0).astype(np.float64)
    words = np.repeat(np.flatnonzero(free), region.center.shape[1])
    twice = isinstance(region, Ball) and region.p == 1  # rise and fall
    owner = np.tile(words, 2) if twice else words
    return owner, np.zeros(len(owner))


def _sides(region: Box, places: Ints) -> tuple[Floats, Floats]:
    center = region.center.ravel()[places]
    return region.lower.ravel()[places] - center, region.upper.ravel()[places] - center


def _mixture(program: Program, region: Hull | Choice, free: Bools) -> Affine:
    """A share for each corner of each free word, one in sum; whole shares where words must be real."""
    length, _, dimension = region.points.shape
    words, corners = np.nonzero(_corners(region, free))
    share = program.add(np.zeros(len(words)), np.ones(len(words)), integral=isinstance(region, Choice))
    owner = sparse.csr_array((np.ones(len(words)), (words, np.arange(len(words)))), (length, len(words)))
    program.row([(owner @ share)[free]], 1.0, 1.0)
    rows = (words[:, None] * dimension + np.arange(dimension)).ravel()
    columns = np.repeat(np.arange(len(words)), dimension)
    values = region.points[words, corners].ravel()
    points = sparse.csr_array((values, (rows, columns)), (length * dimension, len(words)))
    return Affine(points @ share, np.where(free[:, None], 0.0, region.center).ravel())


def _corners(region: Hull | Choice, free: Bools) -> Bools:
    """The corners (length, m) that have a share: those of free words, none of them twice."""
    same = (region.points[:, :, None] == region.points[:, None]).all(-1)
    repeated = np.tril(same, -1).any(-1)
    return np.asarray(free[:, None] & ~repeated)


def _mixed(region: Hull | Choice, free: Bools, chosen: Floats) -> tuple[Floats, Floats | None]:
    shares = np.zeros(region.points.shape[:2])
    shares[_corners(region, free)] = np.maximum(chosen, 0.0)
    if isinstance(region, Choice):
        best = region.points[np.arange(len(free)), shares.argmax(-1)]
        return np.where(free[:, None], best, region.center), None
    shares /= np.where(free, shares.sum(-1), 1.0)[:, None]
    mixed = np.einsum("lm,lmd->ld", shares, region.points)
    return np.where(free[:, None], mixed, region.center), shares

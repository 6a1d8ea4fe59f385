"""Attacks: perturbed inputs that change the label, looked for on many sets of free words at once.

From a starting point, jump to the corner of every free word's set that a linear view of the margin prefers, and
look again; keep the lowest margin seen. Where numbers move on their own, small steps may go on from there. What an
attack returns is only a candidate until `exact.confirm` has run it through the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import is_sparse
from suffice.prove.inputs import PIECE, steady
from suffice.prove.verdict import Budget, Problem
from suffice.sets.regions import Ball, Box, Region

SLIDES = 40  # small steps of an attack
FAR, NEAR = 0.1, 0.003  # how far they go at first and in the end, as a share of what a number can move


@dataclass(frozen=True, eq=False)
class Attempt:
    """The lowest margin (n,) found for each set of free words, and the point (n, length, dimension)."""

    margin: Floats
    point: Floats

    def better(self, other: Attempt) -> Attempt:
        wins = other.margin < self.margin
        return Attempt(np.minimum(self.margin, other.margin), np.where(wins[:, None, None], other.point, self.point))


def gradients(problem: Problem, points: Floats, rivals: Ints, free: Bools | None = None) -> tuple[Floats, Floats]:
    """Margins (n,) against one rival each, and their gradients (n, length, dimension), at free words at the least."""
    first, z = problem.network.steps[0], first_sums(problem, points)
    if not is_sparse(first.weight):
        margin, slopes = _input_gradients(problem, z, rivals)
        return margin, steady(slopes.reshape(points.shape))
    margin, back = first_gradients(problem, z, rivals)
    found, wanted = np.zeros_like(points), np.broadcast_to(True if free is None else free, points.shape[:2])
    for word, (units, block) in enumerate(first.by_word(len(problem.center))):
        rows = np.flatnonzero(wanted[:, word])
        if len(rows):
            found[rows, word] = back[np.ix_(rows, units)] @ block
    return margin, steady(found)


def first_sums(problem: Problem, points: Floats) -> Floats:
    """What the first step sums up (n, units); of large sparse weights only what words that moved add is worked out."""
    first = problem.network.steps[0]
    if not is_sparse(first.weight):
        return first.apply(points.reshape(len(points), -1))
    z, moves = np.repeat(problem.sums[None], len(points), axis=0), points - problem.center
    for word, (units, block) in enumerate(first.by_word(len(problem.center))):
        rows = np.flatnonzero(moves[:, word].any(-1))
        if len(rows):
            z[np.ix_(rows, units)] += moves[rows, word] @ block.T
    return z


def first_gradients(problem: Problem, z: Floats, rivals: Ints) -> tuple[Floats, Floats]:
    """Margins (n,) from sums (n, units) of the first step on, and their gradients there (n, units)."""
    margin, back = _second_gradients(problem, z, rivals)
    first, *later = problem.network.steps
    return margin, first.backward(back, z, later[0]) if later else back


def _input_gradients(problem: Problem, z: Floats, rivals: Ints) -> tuple[Floats, Floats]:
    """The same margins, and their gradients (n, inputs) at the input."""
    margin, back = _second_gradients(problem, z, rivals)
    first, *later = problem.network.steps
    return margin, first.inward(back, z, later[0]) if later else np.asarray(back @ np.asarray(first.weight))


def _second_gradients(problem: Problem, z: Floats, rivals: Ints) -> tuple[Floats, Floats]:
    """The same margins, and their gradients where the second step sums up; where the first does if it is the last."""
    pairs, sums = list(pairwise(problem.network.steps)), [z]
    for step, after in pairs:
        sums.append(step.onward(sums[-1], after))
    scores, index, others = sums.pop(), np.arange(len(z)), np.asarray(problem.rivals)[rivals]
    back = np.zeros_like(scores)
    back[:, problem.label] = 1.0
    back[index, others] -= 1.0
    for (step, after), here in zip(reversed(pairs[1:]), reversed(sums[1:]), strict=True):
        back = step.backward(back, here, after)
    return scores[:, problem.label] - scores[index, others], back


def jump(problem: Problem, free: Bools, gradient: Floats) -> Floats:
    """The lowest point of a linear view of the margin: the best corners of the free words that may change at once."""
    corner = problem.region.minimiser(gradient)
    if problem.at_most is None:
        return np.where(free[:, :, None], corner, problem.center)
    gains = np.einsum("nld,nld->nl", gradient, corner - problem.center)
    return np.where(chosen(problem, free, gains)[:, :, None], corner, problem.center)


def chosen(problem: Problem, free: Bools, gains: Floats) -> Bools:
    """Of the free words (n, length), as many as may change at once, those with the lowest gains."""
    if problem.limit >= free.shape[1]:
        return free
    order = np.argsort(np.where(free, steady(gains), np.inf), axis=-1, kind="stable")
    return free & (np.argsort(order, axis=-1, kind="stable") < problem.limit)


def within(problem: Problem, points: Floats) -> Floats:
    """The points, with words put back where more are changed than may change at once: those that help least."""
    changed = (points != problem.center).any(-1)
    if (changed.sum(-1) <= problem.limit).all():
        return points
    rivals = problem.margins(points).argmin(-1)
    gains = np.einsum("nld,nld->nl", gradients(problem, points, rivals)[1], points - problem.center)
    return np.where(chosen(problem, changed, gains)[:, :, None], points, problem.center)


def descend(
    problem: Problem,
    free: Bools,
    start: Floats,
    rivals: Ints,
    steps: int,
    deepest: bool = False,
    budget: Budget | None = None,
) -> Attempt:
    """Corner steps from `start`, a few rounds, until every row has flipped (or all the way, for the `deepest`)."""
    point = start
    best = Attempt(np.full(len(free), np.inf), point)
    for _ in range(steps):
        if budget is not None:
            budget.look()
        margin, gradient = gradients(problem, point, rivals, free)
        best = best.better(Attempt(margin, point))
        if not deepest and (best.margin < 0).all():
            return best
        before, point = point, jump(problem, free, gradient)
        if np.array_equal(before, point):  # every row is where it wants to be
            return best
    return best.better(Attempt(margins(problem, point, rivals), point))


def slides(problem: Problem) -> bool:
    """Whether points between corners can be attacks, and numbers move on their own."""
    region = problem.region
    return problem.at_most is None and (isinstance(region, Box) or (isinstance(region, Ball) and region.p == np.inf))


def slide(
    problem: Problem, free: Bools, start: Floats, rivals: Ints, steps: int = SLIDES, budget: Budget | None = None
) -> Attempt:
    """Small steps from `start`, which get to where corners are no good: between them, until one row has flipped.

    Where the margin is a sum of relus or maxima of which many pull upwards, its lowest points are seldom corners.
    """
    low, high = (np.where(free[..., None], side, problem.center) for side in sides(problem.region))
    point, best = start, Attempt(np.full(len(start), np.inf), start)
    mean, square = np.zeros_like(start), np.zeros_like(start)
    for turn in range(1, steps + 1):
        if budget is not None:
            budget.look()
        margin, gradient = gradients(problem, point, rivals, free)
        best = best.better(Attempt(margin, point))
        if (margin < 0).any():
            return best
        gradient = gradient * (high - low)
        mean, square = 0.8 * mean + 0.2 * gradient, 0.95 * square + 0.05 * gradient**2
        way = mean / (1 - 0.8**turn) / (np.sqrt(square / (1 - 0.95**turn)) + 1e-12)
        point = np.clip(point - FAR * (NEAR / FAR) ** (turn / steps) * way * (high - low), low, high)
    return best.better(Attempt(margins(problem, point, rivals), point))


def sides(region: Region) -> tuple[Floats, Floats]:
    """The lowest and the highest value of every number, a hair inside of a ball."""
    if isinstance(region, Box):
        return region.lower, region.upper
    everywhere = np.ones_like(region.center)
    return region.minimiser(everywhere), region.minimiser(-everywhere)


def margins(problem: Problem, points: Floats, rivals: Ints) -> Floats:
    """Margins (n,) against one rival each."""
    values = first_sums(problem, points)
    for step, after in pairwise(problem.network.steps):
        values = step.onward(values, after)
    return np.asarray(values[:, problem.label] - values[np.arange(len(points)), np.asarray(problem.rivals)[rivals]])


@dataclass(frozen=True, eq=False)
class Attacker:
    """What attacks on one problem share: how far each word can push the margin against each rival."""

    problem: Problem
    margins: Floats  # (rivals,)
    push: Floats  # (rivals, length), at most 0
    corners: Floats  # (rivals, length, dimension)

    @staticmethod
    def of(problem: Problem) -> Attacker:
        rivals = np.arange(len(problem.rivals))
        points = np.broadcast_to(problem.center, (len(rivals), *problem.center.shape))
        margins, slopes = gradients(problem, points, rivals)
        push = problem.region.support(slopes) - (slopes * problem.center).sum(-1)
        return Attacker(problem, margins, np.minimum(push, 0.0), problem.region.minimiser(slopes))

    def promise(self, free: Bools) -> Ints:
        """The rivals (n, rivals) in the order in which a linear view of the margin lets them win."""
        if len(self.margins) == 1:
            return np.zeros((len(free), 1), dtype=np.int64)
        reach = self.margins + free @ self.push.T
        return np.argsort(steady(reach), axis=1, kind="stable")

    def attack(
        self, free: Bools, restarts: int = 0, steps: int = 4, seed: int = 0, budget: Budget | None = None
    ) -> Attempt:
        """The best of a first-order start and `restarts` random ones, for each row of `free`."""
        promise = self.promise(free)
        found = self._from_corner(free, promise[:, 0], steps, budget)
        rng, turn = np.random.default_rng(seed) if restarts else None, 0
        while rng is not None and turn < restarts and len(open_ := np.flatnonzero(found.margin > 0)):
            many = min(restarts - turn, max(1, PIECE // (len(open_) * self.problem.center.size)))
            rows, turns = np.tile(open_, many), np.arange(turn, turn + many).repeat(len(open_))
            rivals = promise[rows, (turns + 1) % promise.shape[1]]
            start = self._random(rng, free[rows])
            fresh = descend(self.problem, free[rows], start, rivals, steps, budget=budget)
            found.margin[open_], found.point[open_] = _lower(found, open_, _lowest(fresh, many))
            turn += many
        return found

    def deepest(self, free: Bools, restarts: int, seed: int, budget: Budget | None = None) -> Floats:
        """Several attacks (n, length, dimension) on one set of free words, as deep as they get; some may not flip."""
        problem, rows = self.problem, np.repeat(free[None], restarts, axis=0)
        promise = self.promise(free[None])[0]
        rivals = promise[np.arange(restarts) % min(3, len(promise))]
        start = jump(problem, rows, _aims(seed, (restarts, *problem.center.shape)))
        moved = chosen(problem, free[None], self.push[rivals[:1]])[0]
        start[0] = np.where(moved[:, None], self.corners[rivals[0]], problem.center)
        return descend(problem, rows, start, rivals, 8, deepest=True, budget=budget).point

    def _from_corner(self, free: Bools, rivals: Ints, steps: int, budget: Budget | None) -> Attempt:
        moved = chosen(self.problem, free, self.push[rivals])
        start = np.where(moved[:, :, None], self.corners[rivals], self.problem.center)
        return descend(self.problem, free, start, rivals, steps, budget=budget)

    def _random(self, rng: np.random.Generator, free: Bools) -> Floats:
        return jump(self.problem, free, rng.standard_normal((len(free), *self.problem.center.shape)))


@lru_cache(maxsize=8)  # the same for every question about texts of one shape
def _aims(seed: int, shape: tuple[int, ...]) -> Floats:
    """Directions in which attacks begin."""
    return np.random.default_rng(seed).standard_normal(shape)


def _lowest(found: Attempt, turns: int) -> Attempt:
    """The best of several turns at the same rows, which stand turn after turn."""
    count = len(found.margin) // turns
    best = found.margin.reshape(turns, count).argmin(0) * count + np.arange(count)
    return Attempt(found.margin[best], found.point[best])


def _lower(old: Attempt, index: Ints, new: Attempt) -> tuple[Floats, Floats]:
    merged = Attempt(old.margin[index], old.point[index]).better(new)
    return merged.margin, merged.point

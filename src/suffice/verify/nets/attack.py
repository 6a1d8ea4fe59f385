"""Attacks: perturbed inputs that change the label, sought on many sets of free words at once.

From a starting point, step to the vertex of every free word's set that the linearised margin
prefers, and linearise again; keep the lowest margin seen. Where numbers move on their own,
projected gradient steps may follow. An attack returns candidates; `exact.confirm` runs them through
the network.

Method: full Frank-Wolfe (vertex) steps, then PGD by Adam (theory, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from suffice import work
from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import is_sparse
from suffice.sets.regions import Ball, Box, Region
from suffice.settings import RESOURCES, rest
from suffice.verify.contract import Budget, Problem
from suffice.verify.nets.input_sets import quantised
from suffice.verify.tolerances import EPSILON


@dataclass(frozen=True, eq=False)
class AttackResult:
    """The lowest margin (n,) found for each set of free words, and the point (n, length,
    dimension).
    """

    margin: Floats
    point: Floats

    def better(self, other: AttackResult) -> AttackResult:
        wins = other.margin < self.margin
        return AttackResult(
            np.minimum(self.margin, other.margin),
            np.where(wins[:, None, None], other.point, self.point),
        )


def margin_gradients(
    problem: Problem, points: Floats, rivals: Ints, free: Bools | None = None
) -> tuple[Floats, Floats]:
    """Margins (n,) against one rival each, and their gradients (n, length, dimension), at free
    words at the least.
    """
    work.count("attack_points", len(points))
    first = problem.network.steps[0]
    preactivations = first_preactivations(problem, points)
    if not is_sparse(first.weight):
        margin, slopes = _gradients_at_input(problem, preactivations, rivals)
        return margin, quantised(slopes.reshape(points.shape))
    margin, at_first = gradients_at_first_step(problem, preactivations, rivals)
    found = np.zeros_like(points)
    wanted = np.broadcast_to(True if free is None else free, points.shape[:2])
    for word, (units, block) in enumerate(first.by_word(len(problem.center))):
        rows = np.flatnonzero(wanted[:, word])
        if len(rows):
            found[rows, word] = at_first[np.ix_(rows, units)] @ block
    return margin, quantised(found)


def first_preactivations(problem: Problem, points: Floats) -> Floats:
    """Pre-activations (n, units) of the first step; with sparse weights only what changed words add
    is worked out."""
    first = problem.network.steps[0]
    if not is_sparse(first.weight):
        return first.apply(points.reshape(len(points), -1))
    preactivations = np.repeat(problem.center_sums[None], len(points), axis=0)
    changes = points - problem.center
    for word, (units, block) in enumerate(first.by_word(len(problem.center))):
        rows = np.flatnonzero(changes[:, word].any(-1))
        if len(rows):
            preactivations[np.ix_(rows, units)] += changes[rows, word] @ block.T
    return preactivations


def gradients_at_first_step(
    problem: Problem, preactivations: Floats, rivals: Ints
) -> tuple[Floats, Floats]:
    """Margins (n,) from sums (n, units) of the first step on, and their gradients there
    (n, units).
    """
    margin, at_second = _gradients_at_second_step(problem, preactivations, rivals)
    first, *later = problem.network.steps
    return margin, first.backward(at_second, preactivations, later[0]) if later else at_second


def _gradients_at_input(
    problem: Problem, preactivations: Floats, rivals: Ints
) -> tuple[Floats, Floats]:
    """The same margins, and their gradients (n, inputs) at the input."""
    margin, at_second = _gradients_at_second_step(problem, preactivations, rivals)
    first, *later = problem.network.steps
    return margin, first.inward(at_second, preactivations, later[0]) if later else np.asarray(
        at_second @ np.asarray(first.weight)
    )


def _gradients_at_second_step(
    problem: Problem, preactivations: Floats, rivals: Ints
) -> tuple[Floats, Floats]:
    """The same margins, and their gradients where the second step sums up; where the first does if
    it is the last.
    """
    pairs = list(pairwise(problem.network.steps))
    values = [preactivations]
    for step, after in pairs:
        values.append(step.onward(values[-1], after))
    scores = values.pop()
    rows = np.arange(len(preactivations))
    rival_labels = np.asarray(problem.rivals)[rivals]
    gradient = np.zeros_like(scores)
    gradient[:, problem.label] = 1.0
    gradient[rows, rival_labels] -= 1.0
    for (step, after), inputs in zip(reversed(pairs[1:]), reversed(values[1:]), strict=True):
        gradient = step.backward(gradient, inputs, after)
    return scores[:, problem.label] - scores[rows, rival_labels], gradient


def vertex_step(problem: Problem, free: Bools, gradient: Floats) -> Floats:
    """A full Frank-Wolfe step: the vertex that minimises the linearised margin, with as many
    changes as may be."""
    vertex = problem.region.minimiser(gradient)
    if problem.at_most is None:
        return np.where(free[:, :, None], vertex, problem.center)
    word_effects = np.einsum("nld,nld->nl", gradient, vertex - problem.center)
    return np.where(best_changes(problem, free, word_effects)[:, :, None], vertex, problem.center)


def best_changes(problem: Problem, free: Bools, word_effects: Floats) -> Bools:
    """Of the free words (n, length), as many as may change at once, those that lower the margin
    most."""
    if problem.max_changes >= free.shape[1]:
        return free
    order = np.argsort(np.where(free, quantised(word_effects), np.inf), axis=-1, kind="stable")
    return free & (np.argsort(order, axis=-1, kind="stable") < problem.max_changes)


def undo_excess_changes(problem: Problem, points: Floats) -> Floats:
    """The points, with words put back where more are changed than may change at once: those that
    help least.
    """
    changed = (points != problem.center).any(-1)
    if (changed.sum(-1) <= problem.max_changes).all():
        return points
    rivals = problem.margins(points).argmin(-1)
    word_effects = np.einsum(
        "nld,nld->nl", margin_gradients(problem, points, rivals)[1], points - problem.center
    )
    return np.where(
        best_changes(problem, changed, word_effects)[:, :, None], points, problem.center
    )


def vertex_descent(
    problem: Problem,
    free: Bools,
    start: Floats,
    rivals: Ints,
    steps: int,
    to_the_end: bool = False,
    budget: Budget | None = None,
) -> AttackResult:
    """Vertex steps from `start`, a few rounds, until every row has flipped, or all rounds if
    `to_the_end`."""
    point = start
    best = AttackResult(np.full(len(free), np.inf), point)
    for _ in range(steps):
        if budget is not None:
            budget.check_time()
        margin, gradient = margin_gradients(problem, point, rivals, free)
        best = best.better(AttackResult(margin, point))
        if not to_the_end and (best.margin < 0).all():
            return best
        previous = point
        point = vertex_step(problem, free, gradient)
        if np.array_equal(previous, point):  # every row is where it wants to be
            return best
    return best.better(AttackResult(margins(problem, point, rivals), point))


def pgd_applies(problem: Problem) -> bool:
    """Whether numbers move on their own, so that points between vertices can be attacks."""
    region = problem.region
    return problem.at_most is None and (
        isinstance(region, Box) or (isinstance(region, Ball) and region.p == np.inf)
    )


def pgd(
    problem: Problem,
    free: Bools,
    start: Floats,
    rivals: Ints,
    steps: int | None = None,
    budget: Budget | None = None,
) -> AttackResult:
    """Projected gradient steps (Adam) from `start`, until one row has flipped: so many, or those of
    the settings.

    Where the margin is a sum of relus or maxima with positive weights, its lowest points are seldom
    vertices.
    """
    low, high = (
        np.where(free[..., None], bound, problem.center) for bound in bounding_sides(problem.region)
    )
    settings = problem.settings.attacks
    decay, square_decay = settings.pgd_decays
    first_rate, last_rate = settings.pgd_rates
    steps = settings.pgd_steps if steps is None else steps
    point = start
    best = AttackResult(np.full(len(start), np.inf), start)
    first_moment = np.zeros_like(start)
    second_moment = np.zeros_like(start)
    for step in range(1, steps + 1):
        if budget is not None:
            budget.check_time()
        margin, gradient = margin_gradients(problem, point, rivals, free)
        best = best.better(AttackResult(margin, point))
        if (margin < 0).any():
            return best
        gradient = gradient * (high - low)
        first_moment = decay * first_moment + rest(decay) * gradient
        second_moment = square_decay * second_moment + rest(square_decay) * gradient**2
        root_mean_square = np.sqrt(second_moment / (1 - square_decay**step))
        direction = first_moment / (1 - decay**step) / (root_mean_square + EPSILON)
        rate = first_rate * (last_rate / first_rate) ** (step / steps)
        point = np.clip(point - rate * direction * (high - low), low, high)
    return best.better(AttackResult(margins(problem, point, rivals), point))


def bounding_sides(region: Region) -> tuple[Floats, Floats]:
    """The lowest and the highest value of every number, a hair inside of a ball."""
    if isinstance(region, Box):
        return region.lower, region.upper
    ones = np.ones_like(region.center)
    return region.minimiser(ones), region.minimiser(-ones)


def margins(problem: Problem, points: Floats, rivals: Ints) -> Floats:
    """Margins (n,) against one rival each."""
    work.count("attack_points", len(points))
    values = first_preactivations(problem, points)
    for step, after in pairwise(problem.network.steps):
        values = step.onward(values, after)
    return np.asarray(
        values[:, problem.label]
        - values[np.arange(len(points)), np.asarray(problem.rivals)[rivals]]
    )


@dataclass(frozen=True, eq=False)
class Attacker:
    """What attacks on one problem share: margins and best vertices at the text itself, for each
    rival.

    `word_effects` (rivals, length), at most 0, is how far each word lowers the linearised
    margin."""

    problem: Problem
    margins: Floats  # (rivals,)
    word_effects: Floats  # (rivals, length), at most 0
    corners: Floats  # (rivals, length, dimension)

    @staticmethod
    def of(problem: Problem) -> Attacker:
        rivals = np.arange(len(problem.rivals))
        points = np.broadcast_to(problem.center, (len(rivals), *problem.center.shape))
        margins, slopes = margin_gradients(problem, points, rivals)
        effects = problem.region.support(slopes) - (slopes * problem.center).sum(-1)
        return Attacker(
            problem, margins, np.minimum(effects, 0.0), problem.region.minimiser(slopes)
        )

    def rivals_by_promise(self, free: Bools) -> Ints:
        """The rivals (n, rivals) by their lowest linearised margin, lowest first."""
        if len(self.margins) == 1:
            return np.zeros((len(free), 1), dtype=np.int64)
        linear_margins = self.margins + free @ self.word_effects.T
        return np.argsort(quantised(linear_margins), axis=1, kind="stable")

    def attack(
        self,
        free: Bools,
        restarts: int = 0,
        seed: int = 0,
        budget: Budget | None = None,
    ) -> AttackResult:
        """The best of a first-order start and `restarts` random ones, for each row of `free`."""
        ranked_rivals = self.rivals_by_promise(free)
        steps = self.problem.settings.attacks.vertex_steps
        found = self._from_corner(free, ranked_rivals[:, 0], steps, budget)
        rng = np.random.default_rng(seed) if restarts else None
        done = 0
        while (
            rng is not None
            and done < restarts
            and len(unflipped := np.flatnonzero(found.margin > 0))
        ):
            restarts_now = min(
                restarts - done,
                max(1, RESOURCES.chunk_numbers // (len(unflipped) * self.problem.center.size)),
            )
            rows = np.tile(unflipped, restarts_now)
            restart_index = np.arange(done, done + restarts_now).repeat(len(unflipped))
            rivals = ranked_rivals[rows, (restart_index + 1) % ranked_rivals.shape[1]]
            start = self._random(rng, free[rows])
            results = vertex_descent(self.problem, free[rows], start, rivals, steps, budget=budget)
            found.margin[unflipped], found.point[unflipped] = _merged(
                found, unflipped, _best_of_restarts(results, restarts_now)
            )
            done += restarts_now
        return found

    def deep_attacks(
        self, free: Bools, restarts: int, seed: int, budget: Budget | None = None
    ) -> Floats:
        """Several attacks (n, length, dimension) on one set of free words, each run to its end;
        some may not flip."""
        problem = self.problem
        settings = problem.settings.attacks
        rows = np.repeat(free[None], restarts, axis=0)
        ranked_rivals = self.rivals_by_promise(free[None])[0][: settings.rivals]
        rivals = ranked_rivals[np.arange(restarts) % len(ranked_rivals)]
        start = vertex_step(
            problem, rows, _random_directions(seed, (restarts, *problem.center.shape))
        )
        changed = best_changes(problem, free[None], self.word_effects[rivals[:1]])[0]
        start[0] = np.where(changed[:, None], self.corners[rivals[0]], problem.center)
        steps = 2 * settings.vertex_steps
        return vertex_descent(
            problem, rows, start, rivals, steps, to_the_end=True, budget=budget
        ).point

    def _from_corner(
        self, free: Bools, rivals: Ints, steps: int, budget: Budget | None
    ) -> AttackResult:
        changed = best_changes(self.problem, free, self.word_effects[rivals])
        start = np.where(changed[:, :, None], self.corners[rivals], self.problem.center)
        return vertex_descent(self.problem, free, start, rivals, steps, budget=budget)

    def _random(self, rng: np.random.Generator, free: Bools) -> Floats:
        return vertex_step(
            self.problem, free, rng.standard_normal((len(free), *self.problem.center.shape))
        )


@lru_cache(maxsize=RESOURCES.cached_directions)  # the same for all texts of one shape
def _random_directions(seed: int, shape: tuple[int, ...]) -> Floats:
    """Random directions in which attacks begin."""
    return np.random.default_rng(seed).standard_normal(shape)


def _best_of_restarts(found: AttackResult, restarts: int) -> AttackResult:
    """The best of several restarts for the same rows, which stand restart after restart."""
    count = len(found.margin) // restarts
    best = found.margin.reshape(restarts, count).argmin(0) * count + np.arange(count)
    return AttackResult(found.margin[best], found.point[best])


def _merged(old: AttackResult, rows: Ints, new: AttackResult) -> tuple[Floats, Floats]:
    merged = AttackResult(old.margin[rows], old.point[rows]).better(new)
    return merged.margin, merged.point

"""Restoration-proof attacks: one perturbed text that rules out every cheap explanation at once.

Take a perturbed text p that flips the label. Whoever fixes a set of words puts those words of p back to the
original. If the label stays flipped however words worth at most q are put back, then no explanation costs q or
less: each of them would leave a flipped text possible. `stamina` finds out, by trying, how much it takes to undo
an attack; branch.decide_restorations proves that nothing cheaper does, with a linear bound over the choice of
words in which the budget q is spent inside the propagation (bounds.Restored).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.attack import Attacker, descend
from suffice.prove.tree import Tree
from suffice.prove.verdict import Problem


@dataclass(frozen=True, eq=False)
class Restoration:
    """The evidence that no explanation costs `budget` or less: the text, the rival it lets win, the proof."""

    start: Floats
    rival: int
    budget: int
    proof: Tree


@dataclass(frozen=True, eq=False)
class Stamina:
    """For a batch of attacks: the cost (n,) and the words (n, length), in `order`, that undo each; inf if none do."""

    cost: Floats
    words: Bools
    order: tuple[tuple[int, ...], ...]


def strongest(attacker: Attacker, free: Bools, restarts: int, seed: int) -> Floats:
    """Several deep attacks (n, length, dimension) on one set of free words; some may not flip the label."""
    problem = attacker.problem
    rows = np.repeat(free[None], restarts, axis=0)
    rng = np.random.default_rng(seed)
    aim = rng.standard_normal((restarts, *problem.center.shape))
    corner = problem.region.minimiser(aim)
    promise = np.argsort(attacker.margins + attacker.push @ free, kind="stable")
    rivals = promise[np.arange(restarts) % min(3, len(promise))]
    corner[0] = attacker.corners[rivals[0]]
    start = np.where(free[:, None], corner, problem.center)
    return descend(problem, rows, start, rivals, 8, deepest=True).point


def stamina(problem: Problem, starts: Floats, rivals: Ints, opened: Bools, cost: Floats) -> Stamina:
    """Put words back one at a time, always the one that helps the label most for its cost, until it is back.

    Only the first step sees the words, and linearly: what restoring each of them adds there is worked out once.
    """
    first = problem.network.steps[0]
    z = first.apply(starts.reshape(len(starts), -1))
    rows = first.dense().reshape(len(first.bias), *problem.center.shape)
    adds = np.einsum("hld,nld->nlh", rows, problem.center - starts, optimize=True)
    words, total, margin = np.zeros(opened.shape, dtype=bool), np.zeros(len(starts)), _margin(problem, z, rivals)
    order: list[list[int]] = [[] for _ in starts]
    alive = np.arange(len(starts))
    while len(alive := alive[margin[alive] < 0]):
        left = opened[alive] & ~words[alive]
        total[alive[~left.any(-1)]] = np.inf
        alive, left = alive[left.any(-1)], left[left.any(-1)]
        reached = _restored(problem, z[alive], adds[alive], rivals[alive])
        best = np.where(left, (reached - margin[alive, None]) / cost, -np.inf).argmax(-1)
        words[alive, best] = True
        total[alive] += cost[best]
        z[alive] += adds[alive, best]
        margin[alive] = reached[np.arange(len(alive)), best]
        for item, word in zip(alive, best, strict=True):
            order[item].append(int(word))
    return Stamina(total, words, tuple(tuple(o) for o in order))


def _restored(problem: Problem, z: Floats, adds: Floats, rivals: Ints) -> Floats:
    """For each text and each word (n, length) the margin once that word is restored too."""
    count, length, units = adds.shape
    trial = (z[:, None] + adds).reshape(count * length, units)
    return _margin(problem, trial, np.repeat(rivals, length)).reshape(count, length)


def _margin(problem: Problem, z: Floats, rivals: Ints) -> Floats:
    """Margins (n,) against one rival each, from the first step's pre-activations on."""
    first, *rest = problem.network.steps
    values = first.activate(z)
    for step in rest:
        values = step.activate(step.apply(values))
    others = np.asarray(problem.rivals)[rivals]
    return np.asarray(values[:, problem.label] - values[np.arange(len(z)), others])

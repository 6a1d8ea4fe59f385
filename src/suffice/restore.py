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

from suffice.attack import Attacker, descend
from suffice.branch import Tree
from suffice.network import Bools, Floats, Ints
from suffice.verdict import Problem


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
    """Put words back one at a time, always the one that helps the label most for its cost, until it is back."""
    current, count = starts.copy(), len(starts)
    words, total = np.zeros(opened.shape, dtype=bool), np.zeros(count)
    order: list[list[int]] = [[] for _ in range(count)]
    alive = np.arange(count)
    while len(alive):
        margin = _margin(problem, current[alive], rivals[alive])
        alive = alive[margin < 0]
        word, margin = _best_restoration(problem, current[alive], rivals[alive], opened[alive] & ~words[alive], cost)
        total[alive[word < 0]] = np.inf
        alive, word = alive[word >= 0], word[word >= 0]
        for item, w in zip(alive, word, strict=True):
            current[item, w] = problem.center[w]
            words[item, w] = True
            total[item] += cost[w]
            order[item].append(int(w))
    return Stamina(total, words, tuple(tuple(o) for o in order))


def _best_restoration(
    problem: Problem, points: Floats, rivals: Ints, opened: Bools, cost: Floats
) -> tuple[Ints, Floats]:
    """For each text the open word whose restoration raises the margin most for its cost; -1 where none is open."""
    item, word = np.nonzero(opened)
    trial = points[item]
    trial[np.arange(len(item)), word] = problem.center[word]
    gain = np.full(opened.shape, -np.inf)
    base = _margin(problem, points, rivals)
    gain[item, word] = (_margin(problem, trial, rivals[item]) - base[item]) / cost[word]
    best = gain.argmax(-1) if len(points) else np.zeros(0, dtype=np.int64)
    return np.where(opened.any(-1), best, -1), base


def _margin(problem: Problem, points: Floats, rivals: Ints) -> Floats:
    if not len(points):
        return np.zeros(0)
    return np.asarray(problem.margins(points)[np.arange(len(points)), rivals])

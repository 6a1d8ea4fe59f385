"""The cheapest text where neighbours count: a shortest path through the choices that are not empty."""

from __future__ import annotations

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.layout import Layout


def cheapest_path(
    layout: Layout, cost: Floats, prices: Floats, allowed: Bools, reference: Ints, at_most: int | None
) -> tuple[float, Ints]:
    """The least sum of the choices' costs and of the prices of the pairs that meet, and the choices.

    A place is the last choice that is not empty (0: none yet) and how many choices differ from the reference so far.
    """
    width = 1 if at_most is None else at_most + 1
    value = np.full((len(cost) + 1, width), np.inf)
    back = np.zeros((len(cost) + 1, width), dtype=np.int64)
    value[0, 0] = 0.0
    base, moved = 0, reference[layout.slot] != np.arange(len(cost))
    for word in range(layout.size):
        end = int(layout.first[word]) + 1  # places before this word
        options = np.arange(end - 1, layout.ends[word + 1])
        options = options[allowed[options]]
        for choice in options[~layout.empty[options]].tolist():
            step = int(moved[choice]) if at_most is not None else 0
            _arrive(layout, value, back, base, end, choice, cost[choice], prices, step)
        gone = options[layout.empty[options]]
        if not len(gone):
            base = end
        elif at_most is not None and moved[gone].all():  # to vanish is a change here
            value[base:end, 1:] = value[base:end, :-1]
            value[base:end, 0] = np.inf
    tail = value[base:]
    best = int(tail.argmin())
    if not np.isfinite(tail.flat[best]):  # more choices would have to change than may
        return np.inf, reference
    place, spent = base + best // width, best % width
    return float(tail.flat[best]), _traced(layout, back, allowed, reference, moved, place, spent, at_most is not None)


def _arrive(
    layout: Layout,
    value: Floats,
    back: Ints,
    base: int,
    end: int,
    choice: int,
    cost: float,
    prices: Floats,
    step: int,
) -> None:
    before = value[base:end]
    pairs = layout.pairs.get(choice)
    if pairs is not None:
        earlier, feature, sign = pairs
        near = earlier + 1 >= base
        if near.any():
            before = before.copy()
            before[earlier[near] + 1 - base] += (prices[feature[near]] * sign[near])[:, None]
    if before.shape[1] == 1:
        at = int(before[:, 0].argmin())
        value[choice + 1, 0], back[choice + 1, 0] = before[at, 0] + cost, base + at
        return
    at_each = before.argmin(0)
    least = before[at_each, np.arange(before.shape[1])] + cost
    stop = before.shape[1] - step
    value[choice + 1, step:], back[choice + 1, step:] = least[:stop], base + at_each[:stop]


def _traced(
    layout: Layout,
    back: Ints,
    allowed: Bools,
    reference: Ints,
    moved: Bools,
    place: int,
    spent: int,
    counted: bool,
) -> Ints:
    """The choices along the path: between the places everything vanishes, unchanged where that is possible."""
    gone = _vanishing(layout, allowed, reference)
    chosen = gone.copy()
    costs = np.concatenate([[0], np.cumsum(np.where(gone >= 0, moved[gone], 0))])
    last = layout.size
    while True:
        word = int(layout.slot[place - 1]) if place else -1
        if counted:
            spent -= int(costs[last] - costs[word + 1])
        if not place:
            return chosen
        chosen[word] = place - 1
        previous = int(back[place, spent if counted else 0])
        if counted:
            spent -= int(moved[place - 1])
        place, last = previous, word


def _vanishing(layout: Layout, allowed: Bools, reference: Ints) -> Ints:
    """The empty choice of each word, the reference where it is empty itself, or -1."""
    found = np.full(layout.size, -1, dtype=np.int64)
    empty = np.flatnonzero(layout.empty & allowed)
    found[layout.slot[empty][::-1]] = empty[::-1]
    stays = layout.empty[reference] & allowed[reference]
    return np.where(stays, reference, found)

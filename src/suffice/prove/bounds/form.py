"""Forms: problems prepared for bounds."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.prove.bounds.magnitudes import LARGE, TINY, bounding_box, magnitudes
from suffice.prove.inputs import PIECE, Interval, Shared
from suffice.prove.verdict import Problem, Source

ROUND = 2.0**-53
PASSES, POOLED = 16, 128  # through the network for a subproblem, and what it takes where there are maxima
PIECE_WORK = 10**8  # multiplications between two looks at the clock


@dataclass(frozen=True, eq=False)
class Form:
    """A Problem prepared for bounds: hidden steps, margin rows, and how large everything can get.

    `size[k]` bounds |W_k| |h| + |b_k| over everything free, which is what rounding errors are measured by (at smooth
    curves times their steepness, plus their values, since lines around them have such slopes and intercepts);
    `reach[k]` bounds the pre-activations of step k over everything free; `toll[k]` is the size, with that of candidates
    that are left out of a maximum at its first one. All hold for questions about features only,
    which `about` makes sure of.
    """

    problem: Problem
    steps: tuple[Step, ...]
    margin: Step
    size: tuple[Floats, ...]
    margin_size: Floats
    reach: tuple[Interval, ...]
    gamma: float
    toll: tuple[Floats, ...]
    whole: Form | None = None  # the form with all units, where this one has only some
    kept: Ints | None = None  # and the places of its hidden units among all of them

    @staticmethod
    def of(problem: Problem) -> Form:
        if problem.source is not None:
            return _in_coordinates(problem, problem.source)
        *hidden, last = problem.network.steps
        rivals = list(problem.rivals)
        weight = last.dense()
        rows = Step(
            weight[problem.label] - weight[rivals],
            last.bias[problem.label] - last.bias[rivals],
            np.zeros(len(rivals), dtype=bool),
        )
        sizes, reach, top = magnitudes(hidden, bounding_box(problem))
        largest = np.abs(weight[problem.label]) + np.abs(weight[rivals])
        constant = np.abs(last.bias[problem.label]) + np.abs(last.bias[rivals])
        terms = max(sum(step.weight.shape) for step in problem.network.steps) + 32
        gamma = (12 if any(step.maxima for step in hidden) else 8) * terms * ROUND
        return Form(problem, tuple(hidden), rows, sizes, largest @ top + constant + TINY, reach, gamma, sizes)

    def about(self, moved: Bools) -> None:
        """Refuse a question in which words move (n, length) that are no features: bounds do not hold there."""
        if (moved & ~self.problem.features).any():
            raise ValueError("only features can be free")

    @cached_property
    def finite(self) -> bool:
        """False when the network can overflow over the region: then nothing here may be believed."""
        weights = [abs(step.weight).max() for step in (*self.steps, self.margin) if step.weight.size]
        sizes = [size.max(initial=0.0) for size in (self.margin_size, *self.size)]
        return bool(np.max([*weights, *sizes]) <= LARGE)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.problem.center.shape

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where each step's units are when all hidden units stand in one row."""
        ends = np.cumsum([0, *(len(step.bias) for step in self.steps)]).tolist()
        return tuple(slice(a, b) for a, b in itertools.pairwise(ends))

    @cached_property
    def work(self) -> int:
        """Multiplications that the bounds of all hidden units take for one input set, roughly."""
        sizes = [_stored(step) for step in self.steps]
        rows = [2 * int(step.bent.sum()) for step in self.steps]
        return 1 + sum(count * sum(sizes[:place]) for place, count in enumerate(rows))

    @cached_property
    def effort(self) -> int:
        """Multiplications that a subproblem takes, roughly: these bounds, and some passes through the network."""
        passes = POOLED if self.pooled is not None else PASSES
        return self.work + passes * sum(_stored(step) for step in self.steps)

    @cached_property
    def together(self) -> int:
        """How many input sets can be worked on at once, so that what is kept of each fits a piece of memory."""
        return max(1, PIECE // (self.units + self.problem.network.inputs))

    @cached_property
    def first(self) -> tuple[tuple[Ints, Shared], ...]:
        """The unsettled units of the first step in pieces, each with its rows over the input."""
        units = self.unsettled[0]
        widest = max(1, _stored(self.steps[0]) // max(1, len(self.steps[0].bias)))
        parts = _split(units, PIECE // (2 * widest))
        return tuple((some, Shared(self.steps[0], some, self.problem.region)) for some in parts)

    @cached_property
    def pieces(self) -> tuple[list[Ints], ...]:
        """By later step, its unsettled units in pieces, so that carrying the rows of one back is quickly done."""
        return tuple(self._pieces(place) for place in range(1, len(self.steps)))

    def _pieces(self, place: int) -> list[Ints]:
        widest = max(self.problem.network.inputs, *(len(step.bias) for step in self.steps[:place]))
        work = sum(_stored(step) for step in self.steps[:place])
        return _split(self.unsettled[place], min(PIECE // (2 * widest), PIECE_WORK // (2 * work + 1)))

    @cached_property
    def constants(self) -> tuple[Floats, ...]:
        """By step, what is added to bounds of z and of -z (2, units): the bias, less what rounding can take."""
        errors = [self.gamma * size for size in self.size]
        return tuple(np.stack([s.bias - off, -s.bias - off]) for s, off in zip(self.steps, errors, strict=True))

    @cached_property
    def tax(self) -> tuple[Floats, ...]:
        """By step, what rounding can take from a bound for each unit of a coefficient (units,)."""
        return tuple(self.gamma * toll for toll in self.toll)

    @cached_property
    def curved(self) -> Bools | None:
        """The hidden units with smooth curves (units,), if there are any."""
        found = np.concatenate([step.curved for step in self.steps]) if self.steps else np.zeros(0, dtype=bool)
        return found if found.any() else None

    @cached_property
    def unsettled(self) -> tuple[Ints, ...]:
        """At each step the units whose shape plain intervals leave open.

        The others need no better bounds. They could still show that splits contradict each other, but the checker does
        not look at them, so such a proof would be rejected.
        """
        pairs = zip(self.steps, self.reach, strict=True)
        return tuple(np.flatnonzero(_unsettled(step, low, high)) for step, (low, high) in pairs)

    @cached_property
    def outer(self) -> tuple[Interval, ...]:
        """By step, bounds of its units over everything; units that are passed on as they are count as [0, inf]."""
        pairs = zip(self.steps, self.reach, strict=True)
        return tuple((np.where(step.bent, low, 0.0), np.where(step.bent, high, np.inf)) for step, (low, high) in pairs)

    @cached_property
    def pooled(self) -> Bools | None:
        """The hidden units that are candidates of maxima (units,), if there are any."""
        found = np.concatenate([step.pooled for step in self.steps]) if self.steps else np.zeros(0, dtype=bool)
        return found if found.any() else None

    @cached_property
    def off(self) -> Floats:
        """How far a margin (rivals,) that is run in doubles can be from the real one."""
        wrong = np.zeros(self.problem.network.inputs)
        for step, size in zip(self.steps, self.toll, strict=True):
            carried = step.magnified(wrong) if wrong.any() else 0.0
            wrong = carried * (1 + self.gamma) + self.gamma * size
            for group in step.maxima:
                wrong[group[0]] = wrong[group].max()
        weight = np.abs(self.problem.network.steps[-1].dense())
        rows = weight[self.problem.label] + weight[list(self.problem.rivals)]
        return np.asarray((rows @ wrong) * (1 + self.gamma) + self.gamma * self.margin_size)

    @cached_property
    def units(self) -> int:
        """How many hidden units there are in all."""
        return sum(len(step.bias) for step in self.steps)


@lru_cache(maxsize=1)
def form_of_source(problem: Problem) -> Form:
    """The form of a problem that many smaller ones stand for, one after the other."""
    return Form.of(problem)


def _in_coordinates(problem: Problem, stands_for: Source) -> Form:
    """The form of a problem that stands for another: what rounding is measured by is that of the original.

    So bounds are those that a reader of the original network gets, within what is taken off them.
    """
    source, kept = form_of_source(stands_for.problem), stands_for.kept
    (low, high), *later = source.reach
    hidden = problem.network.steps[:-1]
    size, reach = (source.size[0][kept], *source.size[1:]), ((low[kept], high[kept]), *later)
    toll = tolls(source.steps[0], source.size[0], kept)
    taken = source.margin if len(hidden) > 1 else replace(source.margin, weight=source.margin.weight[:, kept])
    return Form(problem, hidden, taken, size, source.margin_size, reach, source.gamma, (toll, *size[1:]))


def tolls(step: Step, size: Floats, kept: Ints) -> Floats:
    """Sizes of the units that are kept, with those of candidates that are not at the first of their maximum."""
    lost = size.copy()
    lost[kept] = 0.0
    owner = np.arange(len(lost)) if step.groups is None else step.groups.owner
    return np.asarray((size + np.bincount(owner, lost, len(lost)))[kept])


def _unsettled(step: Step, low: Floats, high: Floats) -> Bools:
    """The units whose bounds matter: curves, relus that can switch, candidates that can win."""
    found = step.curved | step.relu & (low < 0) & (high > 0)
    if step.groups is not None:
        units, groups = step.groups.units, step.groups
        found[units] = high[units] >= groups.highest(low[units])[groups.group]
    return found


def _split(units: Ints, size: int) -> list[Ints]:
    step = max(1, size)
    return [units[i : i + step] for i in range(0, len(units), step)]


def _stored(step: Step) -> int:
    """How many weights a product with the step's matrix multiplies by."""
    weight = step.weight
    return int(weight.nnz) if hasattr(weight, "nnz") else int(weight.size)

"""Presolve: a problem over finitely many options per word, in one-hot coordinates.

Where each word has a few options, the first step sees only a few sums: what each option of each
word adds to each unit. With one coordinate per word and option (all zero: the word itself) these
are the weights of a much smaller first step. Candidates of maxima that cannot win whatever the
words become are left out. What is proved of the smaller problem by picking words, without a choice
of slopes, is a proof about the original as it stands; postsolve turns points into the vectors of
their options.

Method: one-hot options (theory, section 5).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from suffice.model.network import Bools, Floats, Network
from suffice.model.step import Groups, Step, compact, is_sparse
from suffice.sets.regions import Choice
from suffice.settings import RESOURCES
from suffice.verify.contract import OneHotCoordinates, Problem, Refuted, Verdict, Witness
from suffice.verify.tolerances import MAX_CODED_OPTIONS, OPTION_SUM_ROUNDING

# --- the smaller problem ---


def reduced_to_one_hot(problem: Problem) -> Problem:
    """The same problem in one-hot coordinates, where that makes it a good deal smaller or maxima
    are decided by options; else the problem itself."""
    region = problem.region
    steps = problem.network.steps
    if not isinstance(region, Choice) or problem.one_hot is not None or len(steps) < 2:
        return problem
    _, options, dimension = region.points.shape
    # the first step must be large, and no more than half as large then
    is_large = steps[0].weight.size >= problem.settings.presolve.from_weights
    shrinks = is_large and 2 * options <= dimension
    only_maxima = len(steps) == 2 and bool(steps[0].pooled.all())
    contributions = len(steps[0].bias) * region.points[..., 0].size
    too_wide = options > MAX_CODED_OPTIONS or contributions > RESOURCES.max_contributions
    return one_hot_problem(problem) if (shrinks or only_maxima) and not too_wide else problem


@lru_cache(maxsize=1)  # a question is often asked more than once
def one_hot_problem(problem: Problem) -> Problem:
    """The same problem in one-hot coordinates of options."""
    region, (first, *rest) = problem.region, problem.network.steps
    assert isinstance(region, Choice)
    option_shifts = np.where(
        problem.features[:, None, None], region.points - region.center[:, None], 0.0
    )
    contributions = _contributions(first, option_shifts)
    constants = first.apply(region.center.reshape(1, -1))[0]
    all_units = np.arange(len(first.bias))
    first_step = replace(first, weight=contributions.reshape(len(constants), -1), bias=constants)
    one_hot = OneHotCoordinates(problem, all_units, contributions)
    composed_problem = replace(
        problem,
        network=Network((first_step, *rest)),
        region=_one_hot_region(region),
        one_hot=one_hot,
    )
    return without_dominated(composed_problem, problem.features)


def without_dominated(problem: Problem, free: Bools) -> Problem:
    """The problem without the candidates of maxima that cannot win while only these words move."""
    one_hot, (first, *rest) = problem.one_hot, problem.network.steps
    assert one_hot is not None
    kept = np.flatnonzero(~_dominated(first, one_hot, free))
    if len(kept) == len(first.bias) and is_sparse(first.weight):
        return problem
    contributions = one_hot.contributions[kept]
    step = replace(first.only(kept), weight=compact(contributions.reshape(len(kept), -1)))
    rest[0] = replace(rest[0], weight=rest[0].weight[:, kept])
    one_hot_kept = OneHotCoordinates(one_hot.original, one_hot.kept_units[kept], contributions)
    return replace(problem, network=Network((step, *rest)), one_hot=one_hot_kept)


def _contributions(first: Step, option_shifts: Floats) -> Floats:
    """What each option of each word adds to each unit: (units, length, options)."""
    length, options, dimension = option_shifts.shape
    if isinstance(first.weight, np.ndarray):
        rows = first.weight.reshape(-1, length, dimension).transpose(1, 0, 2)
        return np.ascontiguousarray(
            np.matmul(rows, option_shifts.transpose(0, 2, 1)).transpose(1, 0, 2)
        )
    found = np.zeros((len(first.bias), length, options))
    for word, (units, block) in enumerate(first.by_word(length)):
        if option_shifts[word].any():
            found[units, word] = block @ option_shifts[word].T
    return found


def _one_hot_region(region: Choice) -> Choice:
    """One coordinate per option; an option that is the word itself is the origin."""
    length, options, _ = region.points.shape
    points = np.repeat(np.eye(options)[None], length, axis=0)
    points[(region.points == region.center[:, None]).all(-1)] = 0.0
    return Choice(np.zeros((length, options)), points, region.names)


def _dominated(first: Step, one_hot: OneHotCoordinates, free: Bools) -> Bools:
    """A mask (units,) of candidates that never win, or equal a constant one before them; first ones
    stay."""
    found = np.zeros(len(first.bias), dtype=bool)
    if first.groups is None:
        return found
    groups = first.groups
    decreases, increases = (side[groups.units][:, free] for side in one_hot.word_ranges)
    constants = first.bias[groups.units]
    max_decrease = decreases.sum(-1)
    max_increase = increases.sum(-1)
    error = (
        one_hot.original.network.inputs
        * OPTION_SUM_ROUNDING
        * (np.abs(constants) + max_increase - max_decrease)
    )
    lower_limit = groups.highest(constants + max_decrease - error)[groups.group]
    constant = (max_decrease == 0) & (max_increase == 0)
    found[groups.units] = (
        constants + max_increase + error < lower_limit
    ) | constant & ~_first_of_equals(groups, constant, constants)
    found[groups.leaders] = False
    return found


def _first_of_equals(groups: Groups, constant: Bools, values: Floats) -> Bools:
    """Of the constants of each maximum the first of the largest."""
    constants = np.where(constant, values, -np.inf)
    return groups.first(constant & (constants == groups.highest(constants)[groups.group]))


# --- sums of options ---


class OptionSums:
    """Exact ranges of a first step's sums, for sets in which each word has some of its options
    left."""

    def __init__(self, one_hot: OneHotCoordinates, base: Floats) -> None:
        self.contributions = one_hot.contributions
        self.base = base
        self._cache: dict[tuple[int, int], tuple[Floats, Floats]] = {}

    def bounds(self, free: Bools, allowed: Bools) -> tuple[Floats, Floats]:
        """The least and the largest sums (n, units) for free words (n, length) and allowed options
        (n, length, options)."""
        option_sets = (allowed & free[..., None]) @ (
            1 << np.arange(allowed.shape[-1], dtype=np.int64)
        )
        pairs, pair_index = np.unique(
            option_sets * option_sets.shape[1] + np.arange(option_sets.shape[1]),
            return_inverse=True,
        )
        pair_masks = np.zeros((len(option_sets), len(pairs)))
        pair_masks[np.arange(len(option_sets))[:, None], pair_index.reshape(option_sets.shape)] = (
            1.0
        )
        ranges = [
            self._word_range(int(pair % option_sets.shape[1]), int(pair // option_sets.shape[1]))
            for pair in pairs
        ]
        low, high = (np.stack(side) for side in zip(*ranges, strict=True))
        return self.base + pair_masks @ low, self.base + pair_masks @ high

    def _word_range(self, word: int, option_set: int) -> tuple[Floats, Floats]:
        """The least and the most that a word's options add to each unit (bits of `option_set`);
        zero if none is left."""
        if (word, option_set) not in self._cache:
            of_options = self.contributions[
                :, word, [bool(option_set >> i & 1) for i in range(self.contributions.shape[-1])]
            ]
            self._cache[word, option_set] = (
                (of_options.min(-1), of_options.max(-1))
                if option_set
                else (np.zeros(len(of_options)),) * 2
            )
        return self._cache[word, option_set]


# --- postsolve ---


def postsolve_witness(one_hot: OneHotCoordinates, witness: Witness) -> Witness:
    return replace(witness, point=one_hot.decode(witness.point[None])[0])


def postsolve_verdict(one_hot: OneHotCoordinates, verdict: Verdict) -> Verdict:
    return (
        replace(verdict, witness=postsolve_witness(one_hot, verdict.witness))
        if isinstance(verdict, Refuted)
        else verdict
    )

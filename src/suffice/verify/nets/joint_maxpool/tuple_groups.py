"""Groups of maxima of the first step, by their tuples: who wins each maximum of the group.

Upper planes of single maxima touch at different inputs. The weighted sum of several maxima is the
largest, over its tuples, of a linear form; one plane above all of these forms is lower than the
planes of the single maxima added up (a mini-bucket bound). A bound then is a constant, less |r|_1
of the residual row, less the offset of each group's plane: the largest offset that one of its
tuples requires. How far a tuple stays below the offset is its reduced cost. At an input where such
a tuple wins, the margin is higher by that much, so tuples whose reduced cost exceeds the gap to
zero are not those of an input at which the label is lost, and are fixed out. Fewer tuples allow
lower planes; two groups can be joined to one that keeps only pairs whose reduced costs fit the gap.

Numbers of the input move within [-1, 1]. They are single precision, and `rounding_slack` is more
than rounding can do.

Method: mini-buckets with reduced-cost fixing (theory, section 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Groups
from suffice.settings import RESOURCES, Annealing, Settings
from suffice.verify.contract import Budget
from suffice.verify.nets.crown.plane_ascent import (
    AscentStart,
    LinearPieces,
    PlaneAscent,
    PlaneProblem,
    as_single,
)
from suffice.verify.tolerances import SINGLE_ROUNDING, TUPLE_TERMS


@dataclass(frozen=True, eq=False)
class TupleGroup:
    """A group of maxima and its tuples that are left: who wins each of them.

    `winners` (n, maxima) are candidates, `weights` (n, numbers) and `constants` (n,) the weighted
    sums of their linear pieces; `plane_row` (numbers,) is the row of the group's plane, and
    `required_offsets` (n,) what each tuple requires of its offset. `joined_from` are the indices of
    the groups that it was when a proof was last written, `magnitude` bounds the sums, and
    `active_set` are the tuples that ascents looked at.
    """

    joined_from: tuple[int, ...]
    maxima: tuple[int, ...]
    winners: Ints
    weights: Floats
    constants: Floats
    plane_row: Floats
    required_offsets: Floats
    magnitude: float
    active_set: Ints

    @staticmethod
    def of(
        joined_from: tuple[int, ...],
        maxima: tuple[int, ...],
        winners: Ints,
        weights: Floats,
        constants: Floats,
        plane_row: Floats,
        magnitude: float,
    ) -> TupleGroup:
        required_offsets = constants + _l1_distances(weights, plane_row)
        return TupleGroup(
            joined_from,
            maxima,
            winners,
            weights,
            constants,
            plane_row,
            required_offsets,
            magnitude,
            np.zeros(0, dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.constants)

    def with_plane(self, plane_row: Floats) -> TupleGroup:
        """With another plane."""
        return replace(
            self,
            plane_row=plane_row,
            required_offsets=self.constants + _l1_distances(self.weights, plane_row),
        )

    @cached_property
    def offset(self) -> float:
        return float(self.required_offsets.max(initial=-np.inf))

    @cached_property
    def reduced_cost(self) -> Floats:
        """How far each tuple stays below the plane's offset (n,), at least 0."""
        return np.asarray(np.float32(self.offset) - self.required_offsets)

    def restricted(self, kept: Bools) -> TupleGroup:
        """With these tuples (n,) alone."""
        if kept.all():
            return self
        new_places = np.cumsum(kept) - 1
        return replace(
            self,
            winners=self.winners[kept],
            weights=self.weights[kept],
            constants=self.constants[kept],
            required_offsets=self.required_offsets[kept],
            active_set=new_places[self.active_set[kept[self.active_set]]],
        )

    def restricted_if_few(self, kept: Bools, fraction: float) -> TupleGroup:
        """With these tuples alone, where they are no more than a fraction: copying has a cost."""
        return self if kept.sum() > fraction * len(self) else self.restricted(kept)

    def most_binding(self, count: int) -> Ints:
        """The indices of the `count` tuples that require the largest offsets."""
        if len(self) <= count:
            return np.arange(len(self))
        return np.argpartition(-self.required_offsets, count)[:count]


def _l1_distances(weights: Floats, plane_row: Floats) -> Floats:
    """|weights - row|_1 (n,), chunk by chunk."""
    distances = as_single(np.zeros(len(weights)))
    ones = np.ones(weights.shape[1], dtype=np.float32)
    size = RESOURCES.tuple_chunk
    buffer = np.empty((min(size, len(weights)), weights.shape[1]), dtype=np.float32)
    for start in range(0, len(weights), size):
        chunk = weights[start : start + size]
        residuals = np.subtract(chunk, plane_row, out=buffer[: len(chunk)])
        distances[start : start + size] = np.abs(residuals, out=residuals) @ ones
    return distances


@dataclass(frozen=True, eq=False)
class TupleState:
    """Groups of all maxima that take planes, and logarithms of the lower weights of the others.

    `lower_coefficients` (1, maxima) are the coefficients of the others, and `other_constant` (1,)
    what else there is in the bound; `settings` are how it goes on.
    """

    settings: Settings
    tuple_groups: tuple[TupleGroup, ...]
    lower: LinearPieces
    log_weights: Floats
    lower_coefficients: Floats
    other_constant: Floats

    @cached_property
    def _weights(self) -> Floats:
        return self.lower.softmax(self.log_weights) * self.lower.per_piece(self.lower_coefficients)

    @cached_property
    def residual_row(self) -> Floats:
        """The residual row (numbers,) once the rows of all planes are taken off."""
        plane_sum = np.sum([group.plane_row for group in self.tuple_groups], axis=0)
        return np.asarray((self._weights @ self.lower.weights)[0] - plane_sum)

    @cached_property
    def level(self) -> float:
        """The bound without residual row and offsets."""
        return float(self.other_constant[0] + (self._weights @ self.lower.constants)[0])

    @cached_property
    def offset_sum(self) -> float:
        return sum(group.offset for group in self.tuple_groups)

    @cached_property
    def bound(self) -> float:
        return self.level - self.offset_sum - float(np.abs(self.residual_row).sum())

    @cached_property
    def rounding_slack(self) -> float:
        """A bound on the error of `bound` however it is rounded, here or by a reader."""
        largest_lower = self.lower.groups.highest(
            np.abs(self.lower.constants) + np.abs(self.lower.weights).sum(-1)
        )
        magnitude = abs(float(self.other_constant[0])) + float(
            self.lower_coefficients[0] @ largest_lower
        )
        plane_magnitude = sum(
            group.magnitude + float(np.abs(group.plane_row).sum()) for group in self.tuple_groups
        )
        return (
            float(self.lower.weights.shape[1] + TUPLE_TERMS)
            * SINGLE_ROUNDING
            * (magnitude + 2 * plane_magnitude)
        )

    @property
    def empty(self) -> bool:
        """Whether some group has no tuple left: no input is left at which the label is lost."""
        return not all(map(len, self.tuple_groups))

    @property
    def tuple_count(self) -> int:
        return sum(map(len, self.tuple_groups))

    @property
    def gap(self) -> float:
        """The gap between bound and zero, with slack: reduced costs beyond it are fixed out."""
        return self.rounding_slack - self.bound

    def fixed(self) -> TupleState:
        """Without the tuples whose reduced cost exceeds the gap (reduced-cost fixing)."""
        return replace(self, tuple_groups=tuple(map(self._fixed_group, self.tuple_groups)))

    def _fixed_group(self, group: TupleGroup) -> TupleGroup:
        fraction = self.settings.presolve.kept_fraction
        # NaN fixes nothing out
        kept = group.restricted_if_few(~(group.reduced_cost > self.gap), fraction)
        level = np.float32(self.level - self.offset_sum + group.offset)
        residual_row = self.residual_row + group.plane_row
        bounds = level - kept.constants - _l1_distances(kept.weights, residual_row)
        return kept.restricted_if_few(
            ~(kept.reduced_cost > self.gap) & ~(bounds > self.rounding_slack), fraction
        )

    def split(self, maximum: int, candidate: int) -> tuple[TupleState, TupleState]:
        """Where another candidate wins the maximum, and where this one does."""
        index = next(i for i, one in enumerate(self.tuple_groups) if maximum in one.maxima)
        group = self.tuple_groups[index]
        wins = group.winners[:, group.maxima.index(maximum)] == candidate
        return self._replacing(index, group.restricted(~wins)), self._replacing(
            index, group.restricted(wins)
        )

    def _replacing(self, index: int, group: TupleGroup) -> TupleState:
        return replace(
            self, tuple_groups=(*self.tuple_groups[:index], group, *self.tuple_groups[index + 1 :])
        )

    def rebased(self) -> TupleState:
        """After a proof was written of it: from now on `joined_from` counts these groups."""
        return replace(
            self,
            tuple_groups=tuple(
                replace(one, joined_from=(i,)) for i, one in enumerate(self.tuple_groups)
            ),
        )


# --- joining groups ---


@dataclass(frozen=True, eq=False)
class Join:
    """Two groups to be joined, and for each tuple of the first how many of the second fit it, by
    their reduced costs."""

    places: tuple[int, int]
    counts: Ints

    @property
    def tuple_count(self) -> int:
        return int(self.counts.sum())


def best_joins(state: TupleState, max_tuples: int, sample: int) -> list[Join]:
    """Pairs of groups, each group in one at most, that lower offsets most and have no more than
    `max_tuples` tuples.

    What a join gains is estimated by the `sample` tuples of either that require the largest
    offsets.
    """
    gains = _join_gains(state, sample)
    unjoined = set(range(len(state.tuple_groups)))
    found = list[Join]()
    for place in np.argsort(-gains, axis=None, kind="stable").tolist():
        i, j = divmod(place, len(gains))
        if i > j and i in unjoined and j in unjoined:
            join = Join(
                (i, j), _compatible_counts(state.tuple_groups[i], state.tuple_groups[j], state.gap)
            )
            if join.tuple_count <= max_tuples:
                found.append(join)
                unjoined -= {i, j}
    return found


def _compatible_counts(one: TupleGroup, other: TupleGroup, gap: float) -> Ints:
    """For each tuple, how many of the other group have a reduced cost that together with its own
    fits the gap."""
    return np.searchsorted(
        np.sort(other.reduced_cost), np.float32(gap) - one.reduced_cost, side="right"
    )


def apply_joins(state: TupleState, joins: Sequence[Join]) -> TupleState:
    """With these pairs of groups joined."""
    joined_places = {place for join in joins for place in join.places}
    others = (group for place, group in enumerate(state.tuple_groups) if place not in joined_places)
    return replace(state, tuple_groups=(*others, *(_join(state, join) for join in joins)))


def _join(state: TupleState, join: Join) -> TupleGroup:
    """The pairs of tuples of both groups that fit the gap, as one group."""
    one, other = (state.tuple_groups[place] for place in join.places)
    count = join.counts
    order = np.argsort(other.reduced_cost, kind="stable")
    first = np.repeat(np.arange(len(count)), count)
    second = order[np.arange(len(first)) - np.repeat(np.cumsum(count) - count, count)]
    return TupleGroup.of(
        joined_from=one.joined_from + other.joined_from,
        maxima=one.maxima + other.maxima,
        winners=np.concatenate([one.winners[first], other.winners[second]], axis=1),
        weights=one.weights[first] + other.weights[second],
        constants=one.constants[first] + other.constants[second],
        plane_row=one.plane_row + other.plane_row,
        magnitude=one.magnitude + other.magnitude,
    )


def _join_gains(state: TupleState, sample: int) -> Floats:
    """By how much the offsets of pairs (i, j), i > j, are lower than their offsets added up."""
    binding = [group.most_binding(sample) for group in state.tuple_groups]
    residuals = [
        group.weights[indices] - group.plane_row
        for group, indices in zip(state.tuple_groups, binding, strict=True)
    ]
    constants = [
        group.constants[indices] for group, indices in zip(state.tuple_groups, binding, strict=True)
    ]
    gains = np.full((len(residuals), len(residuals)), -np.inf)
    for i, j in _pairs(len(residuals)):
        required_offsets = (
            constants[i][:, None]
            + constants[j]
            + np.abs(residuals[i][:, None] + residuals[j]).sum(-1)
        )
        gains[i, j] = (
            state.tuple_groups[i].offset
            + state.tuple_groups[j].offset
            - float(required_offsets.max())
        )
    return gains


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in range(count) for j in range(i))


# --- better planes ---


@dataclass(frozen=True, eq=False)
class PrimalGuess:
    """A primal guess: the minimiser (1, numbers), each group's relaxation gap there, and its
    tuples' win weights."""

    minimiser: Floats
    relaxation_gap: Floats
    maxima: tuple[tuple[int, ...], ...]
    winners: tuple[Ints, ...]
    win_weights: tuple[Floats, ...]

    def branching_choice(self, group_limit: int) -> tuple[int, int] | None:
        """The maximum, of the groups with the largest gaps, and the candidate whose win weight is
        closest to half."""
        options: list[tuple[float, int, int]] = []
        for index in np.argsort(-self.relaxation_gap, kind="stable")[:group_limit].tolist():
            for column, maximum in enumerate(self.maxima[index]):
                candidates, inverse = np.unique(self.winners[index][:, column], return_inverse=True)
                win_share = np.bincount(inverse, self.win_weights[index])
                likeliest = int(win_share.argmax())
                if len(candidates) > 1:
                    options.append(
                        (
                            float(
                                self.relaxation_gap[index]
                                * win_share[likeliest]
                                * (1 - win_share[likeliest])
                            ),
                            maximum,
                            int(candidates[likeliest]),
                        )
                    )
        return max(options)[1:] if options else None


def ascend_group_planes(
    state: TupleState, annealing: Annealing, active_count: int, budget: Budget
) -> tuple[TupleState, PrimalGuess]:
    """Better planes, by smoothed ascent over the tuples of the active sets; and a primal guess.

    Where tuples outside of the active sets turn out to bind, nothing changes but that these join
    them for the next.
    """
    state = replace(
        state,
        tuple_groups=tuple(_with_active_set(group, active_count) for group in state.tuple_groups),
    )
    plane_problem = _plane_problem(state)
    result = PlaneAscent(plane_problem, _ascent_start(state)).run(annealing, budget)
    winners = tuple(group.winners[group.active_set] for group in state.tuple_groups)
    win_weights = tuple(np.split(result.win_weights[0], plane_problem.upper.groups.starts[1:]))
    guess = PrimalGuess(
        result.minimiser,
        result.relaxation_gap[0],
        tuple(group.maxima for group in state.tuple_groups),
        winners,
        win_weights,
    )
    groups = tuple(
        group.with_plane(plane_row)
        for group, plane_row in zip(state.tuple_groups, result.plane_rows[0], strict=True)
    )
    better = replace(
        state,
        tuple_groups=groups,
        log_weights=np.log(np.maximum(result.lower_weights, np.float32(annealing.min_weight))),
    )
    if better.bound > state.bound:
        return better, guess
    active_sets = [
        np.union1d(old_group.active_set, new_group.most_binding(active_count))
        for old_group, new_group in zip(state.tuple_groups, groups, strict=True)
    ]
    updated = zip(state.tuple_groups, active_sets, strict=True)
    return replace(
        state,
        tuple_groups=tuple(replace(group, active_set=active_set) for group, active_set in updated),
    ), guess


def _with_active_set(group: TupleGroup, active_count: int) -> TupleGroup:
    binding = group.most_binding(active_count)
    start_afresh = len(group.active_set) > RESOURCES.active_set_factor * active_count
    return replace(
        group, active_set=binding if start_afresh else np.union1d(group.active_set, binding)
    )


def _plane_problem(state: TupleState) -> PlaneProblem:
    """The tuples of the active sets as candidates, the groups as maxima."""
    weights = np.concatenate([group.weights[group.active_set] for group in state.tuple_groups])
    constants = np.concatenate([group.constants[group.active_set] for group in state.tuple_groups])
    ends = np.cumsum([len(group.active_set) for group in state.tuple_groups])
    tuples_by_group = np.split(np.arange(len(constants)), ends[:-1])
    return PlaneProblem.of(
        state.settings,
        LinearPieces(
            np.arange(len(constants)), Groups(tuples_by_group, len(constants)), weights, constants
        ),
        state.lower,
    )


def _ascent_start(state: TupleState) -> AscentStart:
    return AscentStart(
        plane_rows=np.stack([group.plane_row for group in state.tuple_groups])[None],
        log_weights=state.log_weights,
        contenders=np.ones(
            (1, sum(len(group.active_set) for group in state.tuple_groups)), dtype=bool
        ),
        upper_coefficients=as_single(np.ones((1, len(state.tuple_groups)))),
        lower_coefficients=state.lower_coefficients,
        other_row=np.zeros_like(state.tuple_groups[0].plane_row)[None],
        other_constant=state.other_constant,
    )

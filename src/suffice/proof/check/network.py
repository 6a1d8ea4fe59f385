"""NetworkBounds: magnitudes around a text, and lower bounds of linear forms carried backwards
(CROWN).

Method: backward bounds with a-priori rounding errors, upper planes (theory, sections 2 and 3).

*Rounding.* With u = 2^-53, a sum of m products of doubles, in any order, fused or not, is off by
1.01 m u Σ|a||b| and underflow at most. Bounds are worked out in doubles and lowered by G·S, where S
adds up how large all that goes in can be. Interval bounds over the whole region, widened by G,
bound the values h between steps; `size` = |W||h| + |b| bounds the terms of z = W h + b, so |z| too.
A row A of doubles over a step's outputs counts as exact. Back through relu and step it becomes A'W,
A' being A times slopes in [0, 1] less multipliers: the doubles for it change the form by at most
(1.01 n_out + 2.01) u (|A| + |beta|)·size, its constants A'·b and A·shift by 2.1 n_out u of the
same. At the input |A'W||x| <= 1.01 (|A| + |beta|)·size again, and a least value over an input set
is off by (5.1 n_in + 24) u times that (the worst is the knapsack: gains are differences, their
order may be off by a rounding). Adding up takes 2 L + 4 additions of sums below 5.1 S for L steps.
All that is below (5.2 n + 11 L + 52) u S, n being the most inputs plus outputs of a step; G = 6 (n
+ 2 L + 32) u. (Where A'(W x) is worked out in place of (A'W) x, W x for the points of each word is
off by 1.01 n_in u |W||x|, the sums over units and words by no more than before.) S starts at TINY
(1 + all sizes): times G, more than underflow takes from 2^60 products.

*Overflow.* Weights beyond HUGE = 2^800 are refused, as are regions over which the sizes add up to
more than HUGE: nothing is ever halved or doubled first. A bound that is not finite, or whose S is
beyond HUGE, counts as no bound (-inf).

*Relaxation.* relu(z) >= a z for any z if 0 <= a <= 1: so a leaf may choose a whatever the bounds
are. For z in [l, v], l < 0 < v: relu(z) <= s z + t if that is so at l and at v, relu being convex;
t is rounded up until it is. A split of sign g says g z >= 0, so taking off beta g z, beta >= 0,
only lowers the form. Bounds of a step's units use lines of earlier steps, the splits above the leaf
and bounds that were stated above it only; a stated bound is shown like the margin, from lines of
the steps before its unit, as a form z - v or v - z whose S has |v| besides. Lines around smooth
curves are those of curves.py; `size` grows with |f| and |f'| there.

*Maxima.* A coefficient A of a maximum goes to all its k candidates, times slopes in [0, 1]
(max_lines.py), and counts at each of them in S: |A| times all their sizes, which the constant above
is within twice of. With weights that are off by 1.1 k u and that constant, all is below (8.4 n + 11
L + 52) u S, and G = 9 (n + 2 L + 32) u where there are maxima.

*Upper planes.* For any row a of doubles, relu(w·x + b) is the larger of 0 and w·x + b, so at most
a·x + c if c is at least the larger of -(least value of a·x) and b - (least value of (a - w)·x) over
the input set. Here |a| <= |w|: both values have terms within `size`, c is off by (5.1 n_in + 26) u
times it, sums over units of A·c and of A·a by 1.01 n_out + 3 each, and the least value of the whole
form as before. Such a coefficient counts three times in S, so 3 G is taken off for it, which is
more than all of that. A maximum over w_p·x + b_p is likewise at most a·x + c if c is at least b_p -
(least value of (a - w_p)·x) for every p that may reach it; |a| is at most the largest |w_p| in each
number, so these values have terms within twice the sum of the candidates' sizes, each of which
counts three times: c is off by (10.2 n_in + 52) u times that sum, all else as before, which is
below 3 G = 27 (n + 2 L + 32) u times it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.proof.check import max_lines
from suffice.proof.check.curves import CURVES, lines
from suffice.proof.check.inputs import InputSet, InputState, VariedInputs
from suffice.proof.check.layers import dense, rows_of, step_tables
from suffice.proof.check.leaf import Leaf, Signs, UpperPlanes
from suffice.proof.check.limits import HUGE, Limit, need
from suffice.proof.check.linear_forms import LinearForms, Relaxation
from suffice.proof.check.relu_planes import FirstStepPlanes
from suffice.proof.check.sets import Sets
from suffice.proof.check.tolerances import CHORD_RATIO, TIE_RATIO, TINY, ZERO_TOLERANCE
from suffice.proof.check.tuple_fixing import MarginOverMaxima

CHUNK = 400_000  # numbers worked on at a time


@dataclass(frozen=True, eq=False)
class StepIntervals:
    """Of one step, over the whole region: the magnitude of its sums' terms, and outer bounds
    (units,) of the sums.
    """

    magnitude: Floats
    lower: Floats
    upper: Floats


class NetworkBounds:
    """Lower bounds of linear forms of the network around one text and one label."""

    def __init__(self, steps: tuple[Step, ...], label: int, sets: Sets, limit: Limit) -> None:
        self.steps = steps
        self.limit = limit
        self.step_tables = (tables := step_tables(steps))
        self.max_groups = tables.max_groups
        self.error_rate = tables.error_rate
        self.signed_weights = tables.signed_weights
        self.relu_masks = tables.relu_masks
        self.curve_masks = tables.curve_masks
        self.nonlinear = tables.nonlinear
        self.is_relu = tables.is_relu
        self.in_maximum = tables.in_maximum
        self.unit_slices = tables.unit_slices
        self.unit_count = tables.unit_count
        self.intervals_of_step = self.intervals(sets.low.ravel(), sets.high.ravel())
        total_magnitude = sum(
            float(intervals.magnitude.sum()) for intervals in self.intervals_of_step
        ) + float(np.abs([sets.low, sets.high]).sum())
        need(total_magnitude <= HUGE, "the network can overflow over this region")
        self.magnitude_floor = TINY * (1 + total_magnitude)
        last = dense(steps[-1])
        self.margins = last[label] - last
        self.constants = steps[-1].bias[label] - steps[-1].bias
        self.sizes = (
            self.intervals_of_step[-1].magnitude[label]
            + self.intervals_of_step[-1].magnitude
            + self.magnitude_floor
        )
        self.row_width = max(
            tables.most_terms, 1 if sets.points is None else sets.points[..., 0].size
        )
        self.first_step_planes = FirstStepPlanes(tables, self.intervals_of_step[0].magnitude, limit)

    def intervals(self, low: Floats, high: Floats) -> list[StepIntervals]:
        """Interval arithmetic from the input on: a weight above zero takes the same end, one below
        the other end.
        """
        found = []
        for k, step in enumerate(self.steps):
            plus, minus = self.signed_weights[k]
            largest = np.maximum(np.abs(low), np.abs(high))
            size = (plus @ largest - minus @ largest + np.abs(step.bias)) * (
                1 + 4 * self.error_rate
            ) + TINY
            least = plus @ low + minus @ high + step.bias - self.error_rate * size
            most = plus @ high + minus @ low + step.bias + self.error_rate * size
            need(
                np.isfinite([size, least, most]).all(), "the network can overflow over this region"
            )
            interval = StepIntervals(size, least, most)
            low, high = self._output_range(k, interval)
            found.append(interval)
        return found

    def _output_range(self, k: int, interval: StepIntervals) -> tuple[Floats, Floats]:
        """The least and the most that a step's units give; sizes grow where a curve does."""
        low, high = (
            np.where(self.relu_masks[k], np.maximum(side, 0.0), side)
            for side in (interval.lower, interval.upper)
        )
        for name, units in self.steps[k].curves:
            curve = CURVES[name]
            most = interval.upper[units]
            low[units], high[units] = curve.range(interval.lower[units], most)
            values = np.maximum(np.abs(low[units]), np.abs(high[units]))
            interval.magnitude[units] += (
                interval.magnitude[units] * curve.slope_limits(most) + 1 + values
            )
        groups = self.max_groups[k]
        if groups is None:
            return low, high
        least = groups.outputs(interval.lower)
        most = groups.outputs(interval.upper)
        return np.where(groups.in_group, least, low), np.where(groups.in_group, most, high)

    @cached_property
    def score_errors(self) -> Floats:
        """How far `scores_in_doubles` can be from the real ones: what comes in goes through
        |W|, and G·size adds.

        A relu and a maximum take nothing further apart. Sums have terms within `size`, give or take
        what came in; those of the first step, where they are the text's and what moved words add,
        within three times that: they are off by (3.1 n_in + 8) u times it, which is below G.
        """
        error = np.zeros(self.steps[0].weight.shape[1])
        for (plus, minus), interval, groups in zip(
            self.signed_weights, self.intervals_of_step, self.max_groups, strict=True
        ):
            error = (plus @ error - minus @ error + self.error_rate * interval.magnitude) * (
                1 + 4 * self.error_rate
            )
            error = error if groups is None else groups.outputs(error)
        return np.asarray(error)

    def scores_in_doubles(self, inputs: Floats, first: Floats | None = None) -> Floats:
        """The scores (n, outputs) of inputs (n, ...) in doubles; not for smooth curves.

        `first` (n, units) is what the first step makes of them without its bias, where that is
        known.
        """
        values = inputs.reshape(len(inputs), -1)
        for k, (step, relu, groups) in enumerate(
            zip(self.steps, self.relu_masks, self.max_groups, strict=True)
        ):
            sums = np.asarray((step.weight @ values.T).T) if k or first is None else first
            sums = sums + step.bias
            sums = sums if groups is None else groups.outputs(sums)
            values = np.where(relu, np.maximum(sums, 0.0), sums)
        return values

    def backward_bound(
        self,
        step_count: int,
        form: LinearForms,
        inputs: InputSet,
        states: Sequence[InputState],
        relaxation: Relaxation,
        split_terms: Floats | None,
        planes: Sequence[UpperPlanes | None] = (),
    ) -> Floats:
        """Lower bounds (n, r) of forms over what step `place` receives, for n states of an input
        set.

        `planes` are upper planes for one form a state.
        """
        plane_rows: Floats | float = 0.0
        for k in reversed(range(step_count)):
            self.limit.check_time()
            step = self.steps[k]
            groups = self.max_groups[k]
            if groups is not None:  # to all candidates of a maximum
                form = replace(form, rows=form.rows[..., groups.first_unit])
            if k == 0 and any(planes_of_leaf is not None for planes_of_leaf in planes):
                form, plane_rows = self.first_step_planes.take_planes(form, inputs, states, planes)
            form = self._through_relaxation(k, form, relaxation, split_terms)
            shape = form.rows.shape[:2]
            if (
                k == 0
                and not planes
                and isinstance(inputs, VariedInputs)
                and (contributions := inputs.contributions(step)) is not None
            ):
                values = (form.rows @ contributions.reshape(-1, len(step.bias)).T).reshape(
                    *shape, *contributions.shape[:2]
                )
                return self.rounded_down(
                    form.constant + inputs.least_over_points(values, states), form.magnitude
                )
            rows = form.rows.reshape(-1, len(step.bias)) @ step.weight
            form = replace(form, rows=rows.reshape(*shape, step.weight.shape[1]))
        return self.rounded_down(
            form.constant + inputs.least_values(form.rows + plane_rows, states), form.magnitude
        )

    def _through_relaxation(
        self, k: int, form: LinearForms, relaxation: Relaxation, split_terms: Floats | None
    ) -> LinearForms:
        """A form over what a step's units give as one over their sums: lines in their place, and
        the biases added.
        """
        part = self.unit_slices[k]
        weight = np.abs(form.rows)
        down = np.minimum(form.rows, 0.0)  # these take the line above, the others the line below
        up = form.rows - down
        constant = (
            form.constant + np.matmul(down, relaxation.upper_intercept[:, part, None])[..., 0]
        )
        if self.curve_masks[k].any():  # no other unit has a floor
            constant = constant + np.matmul(up, relaxation.lower_intercept[:, part, None])[..., 0]
        rows = (
            up * relaxation.lower_slope[:, None, part]
            + down * relaxation.upper_slope[:, None, part]
        )
        if (
            split_terms is not None
        ):  # beta·sign·z >= 0 for splits above the leaf: taking it off only lowers the form
            rows = rows - split_terms[:, None, part]
            weight = weight + np.abs(split_terms[:, None, part])
        return LinearForms(
            rows,
            constant + rows @ self.steps[k].bias,
            form.magnitude + weight @ self.intervals_of_step[k].magnitude,
        )

    def rounded_down(self, values: Floats, magnitude: Floats) -> Floats:
        """Bounds less what rounding can have added to them; none where they are beyond what can be
        held.
        """
        return np.where(
            np.isfinite(values) & (magnitude <= HUGE), values - self.error_rate * magnitude, -np.inf
        )

    def intermediate_bounds(
        self, k: int, inputs: InputSet, states: Sequence[InputState], relaxation: Relaxation
    ) -> tuple[Floats, Floats]:
        """Bounds (n, units) of a step's sums: intervals, and where they leave it open, backward
        bounds of z and -z.
        """
        step = self.steps[k]
        interval = self.intervals_of_step[k]
        lower, upper = (
            np.repeat(side[None], len(states), 0) for side in (interval.lower, interval.upper)
        )
        unstable = np.flatnonzero(self._unstable(k))
        if (
            k == 0
            and isinstance(inputs, VariedInputs)
            and (contributions := inputs.contributions(step)) is not None
        ):
            size = interval.magnitude[unstable] + self.magnitude_floor
            low, high = (
                side[:, unstable] + step.bias[unstable]
                for side in inputs.contribution_ranges(contributions, states)
            )
            lower[:, unstable] = np.maximum(lower[:, unstable], self.rounded_down(low, size))
            upper[:, unstable] = np.minimum(upper[:, unstable], -self.rounded_down(-high, size))
            return lower, upper
        chunk_size = max(1, CHUNK // (2 * len(states) * self.row_width))
        for first in range(0, len(unstable), chunk_size):
            self.limit.check_time()
            chunk = unstable[first : first + chunk_size]
            up, down = np.split(
                self.backward_bound(
                    k, self._both_signs(k, chunk), inputs, states, relaxation, None
                ),
                2,
                axis=1,
            )
            lower[:, chunk] = np.maximum(lower[:, chunk], up)
            upper[:, chunk] = np.minimum(upper[:, chunk], -down)
        return lower, upper

    def _both_signs(self, k: int, units: Ints) -> LinearForms:
        """The sums z of units and then -z, as forms over what their step receives."""
        rows = rows_of(self.steps[k], units)
        constant = self.steps[k].bias[units]
        size = self.intervals_of_step[k].magnitude[units] + self.magnitude_floor
        both = (
            np.concatenate(pair)[None]
            for pair in ((rows, -rows), (constant, -constant), (size, size))
        )
        return LinearForms(*both)

    def first_unit(self, unit: int) -> int:
        """The first unit of the maximum of the first step that a unit is a candidate of."""
        assert self.max_groups[0] is not None
        return int(self.max_groups[0].first_unit[unit])

    def undecided_candidates(self, signs: Signs, unit: int) -> list[int]:
        """The units that may still reach the maximum that a unit is a candidate of."""
        k = next(k for k, part in enumerate(self.unit_slices) if part.start <= unit < part.stop)
        groups = self.max_groups[k]
        part = self.unit_slices[k]
        assert groups is not None
        return [
            part.start + int(one)
            for one in max_lines.undecided_candidates(groups, signs[part], unit - part.start)
        ]

    def _unstable(self, k: int) -> Bools:
        """The units of which better bounds may tell something: relus that can switch, candidates
        that can win.
        """
        interval = self.intervals_of_step[k]
        groups = self.max_groups[k]
        unstable = self.curve_masks[k] | self.relu_masks[k] & (interval.lower < 0) & (
            interval.upper > 0
        )
        if groups is not None:
            contenders = groups.by_group(interval.upper, -np.inf) >= groups.by_group(
                interval.lower, -np.inf
            ).max(-1, keepdims=True)
            unstable[groups.units[contenders & groups.present]] = True
        return np.asarray(unstable)

    def step_index(self, leaf: Leaf) -> int:
        """The step that receives what a leaf's form is over."""
        if leaf.lemma is None:
            return len(self.unit_slices)
        return next(k for k, part in enumerate(self.unit_slices) if leaf.lemma.unit < part.stop)

    def leaf_holds(self, inputs: InputSet, sign: float, leaves: Sequence[Leaf]) -> Bools:
        """Which leaves, all of one place, hold: their splits contradict the bounds, or their form
        is above zero.
        """
        place = self.step_index(leaves[0])
        relaxation, candidates, infeasible = self._relaxed(place, inputs, leaves)
        chosen_lines = self._chosen_relaxation(
            relaxation, candidates, np.stack([leaf.alpha for leaf in leaves])
        )
        form = (
            self.margin_forms(sign, [leaf.rival for leaf in leaves])
            if place == len(self.unit_slices)
            else self.lemma_forms(leaves)
        )
        split_terms = np.where(
            self.in_maximum, 0.0, np.stack([leaf.split_terms for leaf in leaves])
        )
        states = [leaf.state for leaf in leaves]
        planes = _planes_of(leaves, candidates)
        lower = self.backward_bound(place, form, inputs, states, chosen_lines, split_terms, planes)
        return infeasible | (lower[:, 0] > 0)

    def _relaxed(
        self, place: int, inputs: InputSet, leaves: Sequence[Leaf]
    ) -> tuple[Relaxation, list[max_lines.Candidates | None], Bools]:
        """Lines that nobody chose and candidates of maxima, step by step; and which leaves
        contradict their bounds.
        """
        states = [leaf.state for leaf in leaves]
        lemma_bounds = [leaf.lemma_bounds for leaf in leaves]
        signs = np.stack([leaf.signs for leaf in leaves])
        infeasible = np.zeros(len(leaves), dtype=bool)
        relaxation = Relaxation.blank(len(leaves), self.unit_count)
        candidates: list[max_lines.Candidates | None] = []
        for k, part in enumerate(self.unit_slices[:place]):
            lower, upper = self._bounds_with_lemmas(
                k, inputs, states, signs[:, : part.start], lemma_bounds, relaxation
            )
            signs_here = np.where(self.in_maximum[part], 0, signs[:, part])
            lower = np.where(signs_here > 0, np.maximum(lower, 0.0), lower)
            upper = np.where(signs_here < 0, np.minimum(upper, 0.0), upper)
            infeasible = infeasible | (self.nonlinear[part] & (lower > upper)).any(-1)
            self._relax_units(k, lower, upper, signs_here, relaxation)
            pooled = self._relax_maxima(k, lower, upper, signs[:, part], relaxation)
            infeasible = infeasible if pooled is None else infeasible | pooled.infeasible
            candidates.append(pooled)
        return relaxation, candidates, infeasible

    def margin_over_maxima(self, inputs: InputSet, sign: float, leaf: Leaf) -> MarginOverMaxima:
        """The margin at a node of a network in which nothing but maxima of the input is between it
        and the scores.
        """
        groups = self.max_groups[0]
        need(
            len(self.unit_slices) == 1 and groups is not None and self.in_maximum.all(),
            "there is nothing to sieve",
        )
        assert groups is not None
        lower, upper = self._bounds_with_lemmas(
            0,
            inputs,
            [leaf.state],
            leaf.signs[None, :0],
            [leaf.lemma_bounds],
            Relaxation.blank(1, self.unit_count),
        )
        found = max_lines.candidates_between(
            groups,
            lower,
            upper,
            leaf.signs[None],
            ZERO_TOLERANCE * self.intervals_of_step[0].magnitude,
        )
        low = max_lines.max_lines(found, groups.by_group(leaf.alpha[None], 0.0))[0][0]
        weights = sign * self.margins[leaf.rival][groups.units[:, 0]]
        sizes = groups.by_group(self.intervals_of_step[0].magnitude, 0.0).sum(-1)
        size = float(self.sizes[leaf.rival] + np.abs(weights) * (1 + 2 * (weights < 0)) @ sizes)
        return MarginOverMaxima(
            weights,
            sign * float(self.constants[leaf.rival]),
            groups,
            found.contenders[0],
            low,
            size,
            self.error_rate,
        )

    def _relax_maxima(
        self, k: int, lower: Floats, upper: Floats, signs: Signs, relaxation: Relaxation
    ) -> max_lines.Candidates | None:
        """Write the lines of a step's maxima that nobody chose."""
        groups = self.max_groups[k]
        if groups is None:
            return None
        maxima_here = max_lines.candidates_between(
            groups, lower, upper, signs, ZERO_TOLERANCE * self.intervals_of_step[k].magnitude
        )
        self._write_max_lines(k, max_lines.max_lines(maxima_here, None), relaxation)
        return maxima_here

    def _chosen_relaxation(
        self,
        relaxation: Relaxation,
        candidates: Sequence[max_lines.Candidates | None],
        alpha: Floats,
    ) -> Relaxation:
        """The lines that leaves chose for the margin."""
        given = np.asarray(~np.isnan(alpha).any(-1))
        lower_slopes = np.where(
            self.is_relu & given[:, None], np.clip(alpha, 0.0, 1.0), relaxation.lower_slope
        )
        if not self.in_maximum.any() or not given.any():
            return replace(relaxation, lower_slope=lower_slopes)
        chosen = Relaxation(
            lower_slopes,
            relaxation.upper_slope.copy(),
            relaxation.upper_intercept.copy(),
            relaxation.lower_intercept,
        )
        for k, found in enumerate(candidates):
            groups = self.max_groups[k]
            if groups is not None and found is not None:
                numbers = groups.by_group(
                    np.where(given[:, None], alpha, 0.0)[:, self.unit_slices[k]], 0.0
                )
                default = max_lines.max_lines(found, None)
                own = max_lines.max_lines(found, numbers)
                masks = [given.reshape(-1, *[1] * (side.ndim - 1)) for side in own]
                picked = [
                    np.where(mask, mine, other)
                    for mask, mine, other in zip(masks, own, default, strict=True)
                ]
                self._write_max_lines(k, (picked[0], picked[1], picked[2]), chosen)
        return chosen

    def _write_max_lines(
        self, k: int, lines_of_maxima: tuple[Floats, Floats, Floats], relaxation: Relaxation
    ) -> None:
        groups = self.max_groups[k]
        assert groups is not None
        units = self.unit_slices[k].start + groups.units[groups.present]
        relaxation.lower_slope[:, units], relaxation.upper_slope[:, units] = (
            lines_of_maxima[0][:, groups.present],
            lines_of_maxima[1][:, groups.present],
        )
        relaxation.upper_intercept[:, units] = 0.0
        relaxation.upper_intercept[:, self.unit_slices[k].start + groups.units[:, 0]] = (
            lines_of_maxima[2]
        )

    def margin_forms(self, sign: float, rivals: list[int]) -> LinearForms:
        """The label's score less a rival's, or the opposite, as a form over what the last step
        receives.
        """
        rows = sign * self.margins[rivals]
        constants = sign * self.constants[rivals]
        return LinearForms(rows[:, None], constants[:, None], self.sizes[rivals][:, None])

    def lemma_forms(self, leaves: Sequence[Leaf]) -> LinearForms:
        """How far each unit's sum is above what is stated, or below it, as a form over what its
        step receives.
        """
        place = self.step_index(leaves[0])
        lemmas = [leaf.lemma for leaf in leaves if leaf.lemma is not None]
        units = np.array([lemma.unit for lemma in lemmas]) - self.unit_slices[place].start
        signs = np.array([lemma.sign for lemma in lemmas])
        values = np.array([lemma.value for lemma in lemmas])
        constants = signs * (self.steps[place].bias[units] - values)
        size = (
            self.intervals_of_step[place].magnitude[units] + np.abs(values) + self.magnitude_floor
        )
        rows = signs[:, None] * rows_of(self.steps[place], units)
        return LinearForms(rows[:, None], constants[:, None], size[:, None])

    def _bounds_with_lemmas(
        self,
        k: int,
        inputs: InputSet,
        states: list[InputState],
        signs_before: Signs,
        lemma_bounds: list[Floats],
        relaxation: Relaxation,
    ) -> tuple[Floats, Floats]:
        """A step's bounds, and what was stated of it.

        They depend on the state, on splits `before` it and on bounds stated: leaves that share
        these share the bounds.
        """
        keys = [
            (id(state), id(bounds_of_leaf), split.tobytes())
            for state, bounds_of_leaf, split in zip(states, lemma_bounds, signs_before, strict=True)
        ]
        distinct = {key: row for row, key in enumerate(keys)}
        rows = np.array(list(distinct.values()))
        at = {key: row for row, key in enumerate(distinct)}
        lower, upper = self.intermediate_bounds(
            k, inputs, [states[row] for row in rows], relaxation.take(rows)
        )
        least, most = np.stack([lemma_bounds[row][:, self.unit_slices[k]] for row in rows], 1)
        which = [at[key] for key in keys]
        return np.maximum(lower, least)[which], np.minimum(upper, most)[which]

    def _relax_units(
        self, k: int, lower: Floats, upper: Floats, signs_here: Signs, relaxation: Relaxation
    ) -> None:
        """Write the lines of a step's units: exact where a relu cannot switch and where nothing
        bends.
        """
        part = self.unit_slices[k]
        relu = self.relu_masks[k]
        tolerance = ZERO_TOLERANCE * self.intervals_of_step[k].magnitude
        unsplit = relu & (signs_here == 0)
        inactive = unsplit & (upper <= tolerance)
        active = unsplit & ~inactive & (lower >= -tolerance)
        unstable = unsplit & ~inactive & ~active
        low = np.where(unstable, lower, -1.0)
        high = np.where(unstable, upper, 1.0)
        chord = high / (high - low)
        # relu(z) <= chord·z + shift must hold at both ends; rounded up, so that it does
        shift = np.maximum(-chord * low, high * (1 - chord)) * CHORD_RATIO + TINY
        exact_slope = (~relu | (signs_here > 0) | active) * 1.0
        relaxation.lower_slope[:, part] = np.where(unstable, high > -low * TIE_RATIO, exact_slope)
        relaxation.upper_slope[:, part] = np.where(unstable, chord, exact_slope)
        # where a bound touches zero, relu(z) <= upper, or relu(z) <= z - lower, as far as these are
        # not zero
        touched = np.maximum(np.where(inactive, upper, np.where(active, -lower, 0.0)), 0.0)
        relaxation.upper_intercept[:, part] = np.where(unstable, shift, touched)
        for name, units in self.steps[k].curves:
            at = part.start + units
            curve_lines = lines(CURVES[name], lower[:, units], upper[:, units])
            (
                relaxation.lower_slope[:, at],
                relaxation.upper_slope[:, at],
                relaxation.upper_intercept[:, at],
                relaxation.lower_intercept[:, at],
            ) = curve_lines


def _planes_of(
    leaves: Sequence[Leaf], candidates: Sequence[max_lines.Candidates | None]
) -> Sequence[UpperPlanes | None]:
    """The upper planes of leaves, with who may reach the maxima of the first step; () where there
    are no lines.
    """
    planes = [leaf.planes for leaf in leaves]
    if all(planes_of_leaf is None for planes_of_leaf in planes):
        return ()
    if not candidates or candidates[0] is None:
        return planes
    return [
        planes_of_leaf and replace(planes_of_leaf, contenders=contenders)
        for planes_of_leaf, contenders in zip(planes, candidates[0].contenders, strict=True)
    ]

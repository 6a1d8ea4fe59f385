"""Network: how large everything can get around a text, and lower bounds of linear forms, worked out backwards.

*Rounding.* With u = 2^-53, a sum of m products of doubles, in any order, fused or not, is off by 1.01 m u Σ|a||b| and
underflow at most. Bounds are worked out in doubles and lowered by G·S, where S adds up how large all that goes in can
be. Interval bounds over the whole region, widened by G, bound the values h between steps; `size` = |W||h| + |b|
bounds the terms of z = W h + b, so |z| too. A row A of doubles over a step's outputs counts as exact. Back through
relu and step it becomes A'W, A' being A times slopes in [0, 1] less multipliers: the doubles for it change the form
by at most (1.01 n_out + 2.01) u (|A| + |beta|)·size, its constants A'·b and A·shift by 2.1 n_out u of the same. At
the input |A'W||x| <= 1.01 (|A| + |beta|)·size again, and a least value over an input set is off by (5.1 n_in + 24) u
times that (the worst is the knapsack: gains are differences, their order may be off by a rounding). Adding up takes 2
L + 4 additions of sums below 5.1 S for L steps. All that is below (5.2 n + 11 L + 52) u S, n being the most inputs
plus outputs of a step; G = 6 (n + 2 L + 32) u. (Where A'(W x) is worked out in place of (A'W) x, W x for the points of
each word is off by 1.01 n_in u |W||x|, the sums over units and words by no more than before.) S starts at TINY (1 + all
sizes): times G, more than underflow takes from 2^60 products.

*Overflow.* Weights beyond HUGE = 2^800 are refused, as are regions over which the sizes add up to more than HUGE:
nothing is ever halved or doubled first. A bound that is not finite, or whose S is beyond HUGE, counts as no bound
(-inf).

*Relaxation.* relu(z) >= a z for any z if 0 <= a <= 1: so a leaf may choose a whatever the bounds are. For z in [l, v],
l < 0 < v: relu(z) <= s z + t if that is so at l and at v, relu being convex; t is rounded up until it is. A split of
sign g says g z >= 0, so taking off beta g z, beta >= 0, only lowers the form. Bounds of a step's units use lines of
earlier steps, the splits above the leaf and bounds that were stated above it only; a stated bound is shown like the
margin, from lines of the steps before its unit, as a form z - v or v - z whose S has |v| besides. Lines around smooth
curves are those of curves.py; `size` grows with |f| and |f'| there.

*Maxima.* A coefficient A of a maximum goes to all its k candidates, times slopes in [0, 1] (maxima.py), and counts at
each of them in S: |A| times all their sizes, which the constant above is within twice of. With weights that are off by
1.1 k u and that constant, all is below (8.4 n + 11 L + 52) u S, and G = 9 (n + 2 L + 32) u where there are maxima.

*Tilted lines.* For any row a of doubles, relu(w·x + b) is the larger of 0 and w·x + b, so at most a·x + c if c is at
least the larger of -(least value of a·x) and b - (least value of (a - w)·x) over the input set. Here |a| <= |w|: both
values have terms within `size`, c is off by (5.1 n_in + 26) u times it, sums over units of A·c and of A·a by 1.01 n_out
+ 3 each, and the least value of the whole form as before. Such a coefficient counts three times in S, so 3 G is
taken off for it, which is more than all of that. A maximum over w_p·x + b_p is likewise at most a·x + c if c is at
least b_p - (least value of (a - w_p)·x) for every p that may reach it; |a| is at most the largest |w_p| in each number,
so these values have terms within twice the sum of the candidates' sizes, each of which counts three times: c is off by
(10.2 n_in + 52) u times that sum, all else as before, which is below 3 G = 27 (n + 2 L + 32) u times it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints, Step
from suffice.proof.check import maxima
from suffice.proof.check.curves import CURVES, lines
from suffice.proof.check.forms import Form, Lines
from suffice.proof.check.inputs import InputSet, State, Varied
from suffice.proof.check.layers import dense, layers, rows_of
from suffice.proof.check.leaf import Leaf, Signs, Tilts
from suffice.proof.check.reading import HUGE, Limit, need
from suffice.proof.check.sets import Sets
from suffice.proof.check.sieve import Margin
from suffice.proof.check.tilted import Tilted

TINY = 2.0**-800
# What readers that round differently must decide alike: a relu's line below is flat unless its upper bound is that much
# further from zero than the lower; bounds within that share of a sum's size of zero, or of each other, touch.
LEAN, NEAR = 1 + 2.0**-20, 2.0**-32
CHUNK = 400_000  # numbers worked on at a time


@dataclass(frozen=True, eq=False)
class Known:
    """Of one step, over the whole region: how large its sums' terms can be, and outer bounds of the sums."""

    size: Floats
    least: Floats
    most: Floats


class Net:
    """The network around one text and one label."""

    def __init__(self, steps: tuple[Step, ...], label: int, sets: Sets, limit: Limit) -> None:
        self.steps, self.limit, self.same = steps, limit, (same := layers(steps))
        self.pools, self.gamma, self.signed = same.pools, same.gamma, same.signed
        self.relu, self.curved, self.bent, self.straight = same.relu, same.curved, same.bent, same.straight
        self.pooled, self.parts, self.units = same.pooled, same.parts, same.units
        self.known = self.intervals(sets.low.ravel(), sets.high.ravel())
        spread = sum(float(known.size.sum()) for known in self.known) + float(np.abs([sets.low, sets.high]).sum())
        need(spread <= HUGE, "the network can overflow over this region")
        self.floor = TINY * (1 + spread)
        last = dense(steps[-1])
        self.margins, self.constants = last[label] - last, steps[-1].bias[label] - steps[-1].bias
        self.sizes = self.known[-1].size[label] + self.known[-1].size + self.floor
        self.width = max(same.terms, 1 if sets.points is None else sets.points[..., 0].size)
        self.tilted = Tilted(same, self.known[0].size, limit)

    def intervals(self, low: Floats, high: Floats) -> list[Known]:
        """Interval arithmetic from the input on: a weight above zero takes the same end, one below the other end."""
        found = []
        for k, step in enumerate(self.steps):
            plus, minus = self.signed[k]
            top = np.maximum(np.abs(low), np.abs(high))
            size = (plus @ top - minus @ top + np.abs(step.bias)) * (1 + 4 * self.gamma) + TINY
            least = plus @ low + minus @ high + step.bias - self.gamma * size
            most = plus @ high + minus @ low + step.bias + self.gamma * size
            need(np.isfinite([size, least, most]).all(), "the network can overflow over this region")
            known = Known(size, least, most)
            low, high = self._given(k, known)
            found.append(known)
        return found

    def _given(self, k: int, known: Known) -> tuple[Floats, Floats]:
        """The least and the most that a step's units give; sizes grow where a curve does."""
        low, high = (np.where(self.relu[k], np.maximum(side, 0.0), side) for side in (known.least, known.most))
        for name, units in self.steps[k].curves:
            curve, most = CURVES[name], known.most[units]
            low[units], high[units] = curve.range(known.least[units], most)
            values = np.maximum(np.abs(low[units]), np.abs(high[units]))
            known.size[units] += known.size[units] * curve.steepest(most) + 1 + values
        pools = self.pools[k]
        if pools is None:
            return low, high
        least, most = pools.give(known.least), pools.give(known.most)
        return np.where(pools.pooled, least, low), np.where(pools.pooled, most, high)

    @cached_property
    def off(self) -> Floats:
        """How far scores that `run` gives can be from the real ones: what comes in goes through |W|, and G·size adds.

        A relu and a maximum take nothing further apart. Sums have terms within `size`, give or take what came in; those
        of the first step, where they are the text's and what moved words add, within three times that: they are off by
        (3.1 n_in + 8) u times it, which is below G.
        """
        wrong = np.zeros(self.steps[0].weight.shape[1])
        for (plus, minus), known, pools in zip(self.signed, self.known, self.pools, strict=True):
            wrong = (plus @ wrong - minus @ wrong + self.gamma * known.size) * (1 + 4 * self.gamma)
            wrong = wrong if pools is None else pools.give(wrong)
        return np.asarray(wrong)

    def run(self, inputs: Floats, first: Floats | None = None) -> Floats:
        """The scores (n, outputs) of inputs (n, ...) in doubles; not for smooth curves.

        `first` (n, units) is what the first step makes of them without its bias, where that is known.
        """
        values = inputs.reshape(len(inputs), -1)
        for k, (step, relu, pools) in enumerate(zip(self.steps, self.relu, self.pools, strict=True)):
            sums = np.asarray((step.weight @ values.T).T) if k or first is None else first
            sums = sums + step.bias
            sums = sums if pools is None else pools.give(sums)
            values = np.where(relu, np.maximum(sums, 0.0), sums)
        return values

    def below(
        self,
        place: int,
        form: Form,
        inputs: InputSet,
        states: Sequence[State],
        around: Lines,
        push: Floats | None,
        above: Sequence[Tilts | None] = (),
    ) -> Floats:
        """Lower bounds (n, r) of forms over what step `place` receives, for n states of an input set.

        `above` has tilted lines for one form a state.
        """
        tilted: Floats | float = 0.0
        for k in reversed(range(place)):
            self.limit.look()
            step, pools = self.steps[k], self.pools[k]
            if pools is not None:  # to all candidates of a maximum
                form = replace(form, rows=form.rows[..., pools.owner])
            if k == 0 and any(tilts is not None for tilts in above):
                form, tilted = self.tilted.take(form, inputs, states, above)
            form = self._over_sums(k, form, around, push)
            shape = form.rows.shape[:2]
            if k == 0 and not above and isinstance(inputs, Varied) and (table := inputs.table(step)) is not None:
                values = (form.rows @ table.reshape(-1, len(step.bias)).T).reshape(*shape, *table.shape[:2])
                return self.lowered(form.constant + inputs.least_of(values, states), form.size)
            rows = form.rows.reshape(-1, len(step.bias)) @ step.weight
            form = replace(form, rows=rows.reshape(*shape, step.weight.shape[1]))
        return self.lowered(form.constant + inputs.least(form.rows + tilted, states), form.size)

    def _over_sums(self, k: int, form: Form, around: Lines, push: Floats | None) -> Form:
        """A form over what a step's units give as one over their sums: lines in their place, and the biases added."""
        part, weight = self.parts[k], np.abs(form.rows)
        down = np.minimum(form.rows, 0.0)  # these take the line above, the others the line below
        up = form.rows - down
        total = form.constant + np.matmul(down, around.shift[:, part, None])[..., 0]
        if self.curved[k].any():  # no other unit has a floor
            total = total + np.matmul(up, around.floor[:, part, None])[..., 0]
        rows = up * around.below[:, None, part] + down * around.above[:, None, part]
        if push is not None:  # beta·sign·z >= 0 for splits above the leaf: taking it off only lowers the form
            rows = rows - push[:, None, part]
            weight = weight + np.abs(push[:, None, part])
        return Form(rows, total + rows @ self.steps[k].bias, form.size + weight @ self.known[k].size)

    def lowered(self, total: Floats, size: Floats) -> Floats:
        """Bounds less what rounding can have added to them; none where they are beyond what can be held."""
        return np.where(np.isfinite(total) & (size <= HUGE), total - self.gamma * size, -np.inf)

    def bounds(self, k: int, inputs: InputSet, states: Sequence[State], around: Lines) -> tuple[Floats, Floats]:
        """Bounds (n, units) of a step's sums: intervals, and where they leave it open, backward bounds of z and -z."""
        step, known = self.steps[k], self.known[k]
        lower, upper = (np.repeat(side[None], len(states), 0) for side in (known.least, known.most))
        loose = np.flatnonzero(self._loose(k))
        if k == 0 and isinstance(inputs, Varied) and (table := inputs.table(step)) is not None:
            size = known.size[loose] + self.floor
            low, high = (side[:, loose] + step.bias[loose] for side in inputs.sums(table, states))
            lower[:, loose] = np.maximum(lower[:, loose], self.lowered(low, size))
            upper[:, loose] = np.minimum(upper[:, loose], -self.lowered(-high, size))
            return lower, upper
        many = max(1, CHUNK // (2 * len(states) * self.width))
        for first in range(0, len(loose), many):
            self.limit.look()
            some = loose[first : first + many]
            up, down = np.split(self.below(k, self._both_ways(k, some), inputs, states, around, None), 2, axis=1)
            lower[:, some] = np.maximum(lower[:, some], up)
            upper[:, some] = np.minimum(upper[:, some], -down)
        return lower, upper

    def _both_ways(self, k: int, units: Ints) -> Form:
        """The sums z of units and then -z, as forms over what their step receives."""
        rows, constant = rows_of(self.steps[k], units), self.steps[k].bias[units]
        size = self.known[k].size[units] + self.floor
        both = (np.concatenate(pair)[None] for pair in ((rows, -rows), (constant, -constant), (size, size)))
        return Form(*both)

    def first(self, unit: int) -> int:
        """The first unit of the maximum of the first step that a unit is a candidate of."""
        assert self.pools[0] is not None
        return int(self.pools[0].owner[unit])

    def alive(self, signs: Signs, unit: int) -> list[int]:
        """The units that may still reach the maximum that a unit is a candidate of."""
        k = next(k for k, part in enumerate(self.parts) if part.start <= unit < part.stop)
        pools, part = self.pools[k], self.parts[k]
        assert pools is not None
        return [part.start + int(one) for one in maxima.alive(pools, signs[part], unit - part.start)]

    def _loose(self, k: int) -> Bools:
        """The units of which better bounds may tell something: relus that can switch, candidates that can win."""
        known, pools = self.known[k], self.pools[k]
        loose = self.curved[k] | self.relu[k] & (known.least < 0) & (known.most > 0)
        if pools is not None:
            wins = pools.of(known.most, -np.inf) >= pools.of(known.least, -np.inf).max(-1, keepdims=True)
            loose[pools.units[wins & pools.real]] = True
        return np.asarray(loose)

    def place(self, leaf: Leaf) -> int:
        """The step that receives what a leaf's form is over."""
        if leaf.stated is None:
            return len(self.parts)
        return next(k for k, part in enumerate(self.parts) if leaf.stated.unit < part.stop)

    def holds(self, inputs: InputSet, sign: float, leaves: Sequence[Leaf]) -> Bools:
        """Which leaves, all of one place, hold: their splits contradict the bounds, or their form is above zero."""
        place = self.place(leaves[0])
        around, candidates, holds = self._around(place, inputs, leaves)
        chosen = self._chosen(around, candidates, np.stack([leaf.alpha for leaf in leaves]))
        form = self.margin(sign, [leaf.rival for leaf in leaves]) if place == len(self.parts) else self.sums(leaves)
        push = np.where(self.pooled, 0.0, np.stack([leaf.push for leaf in leaves]))
        states, above = [leaf.state for leaf in leaves], _tilts(leaves, candidates)
        found = self.below(place, form, inputs, states, chosen, push, above)
        return holds | (found[:, 0] > 0)

    def _around(
        self, place: int, inputs: InputSet, leaves: Sequence[Leaf]
    ) -> tuple[Lines, list[maxima.Around | None], Bools]:
        """Lines that nobody chose and candidates of maxima, step by step; and which leaves contradict their bounds."""
        states, ends = [leaf.state for leaf in leaves], [leaf.ends for leaf in leaves]
        signs = np.stack([leaf.signs for leaf in leaves])
        holds, around = np.zeros(len(leaves), dtype=bool), Lines.blank(len(leaves), self.units)
        candidates: list[maxima.Around | None] = []
        for k, part in enumerate(self.parts[:place]):
            lower, upper = self._step_bounds(k, inputs, states, signs[:, : part.start], ends, around)
            cut = np.where(self.pooled[part], 0, signs[:, part])
            lower = np.where(cut > 0, np.maximum(lower, 0.0), lower)
            upper = np.where(cut < 0, np.minimum(upper, 0.0), upper)
            holds = holds | (self.bent[part] & (lower > upper)).any(-1)
            self._lines(k, lower, upper, cut, around)
            pooled = self._maxima(k, lower, upper, signs[:, part], around)
            holds = holds if pooled is None else holds | pooled.empty
            candidates.append(pooled)
        return around, candidates, holds

    def over_maxima(self, inputs: InputSet, sign: float, leaf: Leaf) -> Margin:
        """The margin at a node of a network in which nothing but maxima of the input is between it and the scores."""
        pools = self.pools[0]
        need(len(self.parts) == 1 and pools is not None and self.pooled.all(), "there is nothing to sieve")
        assert pools is not None
        lower, upper = self._step_bounds(
            0, inputs, [leaf.state], leaf.signs[None, :0], [leaf.ends], Lines.blank(1, self.units)
        )
        found = maxima.around(pools, lower, upper, leaf.signs[None], NEAR * self.known[0].size)
        low = maxima.lines(found, pools.of(leaf.alpha[None], 0.0))[0][0]
        weights = sign * self.margins[leaf.rival][pools.units[:, 0]]
        sizes = pools.of(self.known[0].size, 0.0).sum(-1)
        size = float(self.sizes[leaf.rival] + np.abs(weights) * (1 + 2 * (weights < 0)) @ sizes)
        return Margin(weights, sign * float(self.constants[leaf.rival]), pools, found.live[0], low, size, self.gamma)

    def _maxima(self, k: int, lower: Floats, upper: Floats, signs: Signs, around: Lines) -> maxima.Around | None:
        """Write the lines of a step's maxima that nobody chose."""
        pools = self.pools[k]
        if pools is None:
            return None
        found = maxima.around(pools, lower, upper, signs, NEAR * self.known[k].size)
        self._write(k, maxima.lines(found, None), around)
        return found

    def _chosen(self, around: Lines, candidates: Sequence[maxima.Around | None], alpha: Floats) -> Lines:
        """The lines that leaves chose for the margin."""
        given = np.asarray(~np.isnan(alpha).any(-1))
        below = np.where(self.straight & given[:, None], np.clip(alpha, 0.0, 1.0), around.below)
        if not self.pooled.any() or not given.any():
            return replace(around, below=below)
        chosen = Lines(below, around.above.copy(), around.shift.copy(), around.floor)
        for k, found in enumerate(candidates):
            pools = self.pools[k]
            if pools is not None and found is not None:
                numbers = pools.of(np.where(given[:, None], alpha, 0.0)[:, self.parts[k]], 0.0)
                default, own = maxima.lines(found, None), maxima.lines(found, numbers)
                where = [given.reshape(-1, *[1] * (side.ndim - 1)) for side in own]
                picked = [np.where(w, mine, other) for w, mine, other in zip(where, own, default, strict=True)]
                self._write(k, (picked[0], picked[1], picked[2]), chosen)
        return chosen

    def _write(self, k: int, lines_: tuple[Floats, Floats, Floats], around: Lines) -> None:
        pools = self.pools[k]
        assert pools is not None
        at = self.parts[k].start + pools.units[pools.real]
        around.below[:, at], around.above[:, at] = lines_[0][:, pools.real], lines_[1][:, pools.real]
        around.shift[:, at] = 0.0
        around.shift[:, self.parts[k].start + pools.units[:, 0]] = lines_[2]

    def margin(self, sign: float, rivals: list[int]) -> Form:
        """The label's score less a rival's, or the opposite, as a form over what the last step receives."""
        rows, constants = sign * self.margins[rivals], sign * self.constants[rivals]
        return Form(rows[:, None], constants[:, None], self.sizes[rivals][:, None])

    def sums(self, leaves: Sequence[Leaf]) -> Form:
        """How far each unit's sum is above what is stated, or below it, as a form over what its step receives."""
        place, stated = self.place(leaves[0]), [leaf.stated for leaf in leaves if leaf.stated is not None]
        units = np.array([one.unit for one in stated]) - self.parts[place].start
        signs, values = np.array([one.sign for one in stated]), np.array([one.value for one in stated])
        constants = signs * (self.steps[place].bias[units] - values)
        size = self.known[place].size[units] + np.abs(values) + self.floor
        rows = signs[:, None] * rows_of(self.steps[place], units)
        return Form(rows[:, None], constants[:, None], size[:, None])

    def _step_bounds(
        self, k: int, inputs: InputSet, states: list[State], before: Signs, ends: list[Floats], around: Lines
    ) -> tuple[Floats, Floats]:
        """A step's bounds, and what was stated of it.

        They depend on the state, on splits `before` it and on bounds stated: leaves that share these share the bounds.
        """
        keys = [(id(state), id(end), split.tobytes()) for state, end, split in zip(states, ends, before, strict=True)]
        different = {key: row for row, key in enumerate(keys)}
        rows, at = np.array(list(different.values())), {key: row for row, key in enumerate(different)}
        lower, upper = self.bounds(k, inputs, [states[row] for row in rows], around.take(rows))
        least, most = np.stack([ends[row][:, self.parts[k]] for row in rows], 1)
        which = [at[key] for key in keys]
        return np.maximum(lower, least)[which], np.minimum(upper, most)[which]

    def _lines(self, k: int, lower: Floats, upper: Floats, cut: Signs, around: Lines) -> None:
        """Write the lines of a step's units: exact where a relu cannot switch and where nothing bends."""
        part, relu = self.parts[k], self.relu[k]
        near, still = NEAR * self.known[k].size, relu & (cut == 0)
        flat = still & (upper <= near)
        steep = still & ~flat & (lower >= -near)
        loose = still & ~flat & ~steep
        low, high = np.where(loose, lower, -1.0), np.where(loose, upper, 1.0)
        chord = high / (high - low)
        # relu(z) <= chord·z + shift must hold at both ends; rounded up, so that it does
        shift = np.maximum(-chord * low, high * (1 - chord)) * (1 + 2.0**-50) + TINY
        passed = (~relu | (cut > 0) | steep) * 1.0
        around.below[:, part] = np.where(loose, high > -low * LEAN, passed)
        around.above[:, part] = np.where(loose, chord, passed)
        # where a bound touches zero, relu(z) <= upper, or relu(z) <= z - lower, as far as these are not zero
        touched = np.maximum(np.where(flat, upper, np.where(steep, -lower, 0.0)), 0.0)
        around.shift[:, part] = np.where(loose, shift, touched)
        for name, units in self.steps[k].curves:
            at = part.start + units
            found = lines(CURVES[name], lower[:, units], upper[:, units])
            around.below[:, at], around.above[:, at], around.shift[:, at], around.floor[:, at] = found


def _tilts(leaves: Sequence[Leaf], candidates: Sequence[maxima.Around | None]) -> Sequence[Tilts | None]:
    """The tilted lines of leaves, with who may reach the maxima of the first step; () where there are no lines."""
    above = [leaf.above for leaf in leaves]
    if all(tilts is None for tilts in above):
        return ()
    if not candidates or candidates[0] is None:
        return above
    return [tilts and replace(tilts, live=live) for tilts, live in zip(above, candidates[0].live, strict=True)]

"""The independent checker: what a certificate (docs/certificate.md) proves, or the first line of it that fails.

It shares no code with the prover and trusts neither the file nor floating point. Why it is sound:

*Rounding.* With u = 2^-53, a sum of m products of doubles, in any order, fused or not, is off by 1.01 m u Σ|a||b| and
underflow at most. Bounds are worked out in doubles and lowered by G·S, where S adds up how large all that goes in can
be. Interval bounds over the whole region, widened by G, bound the values h between steps; `size` = |W||h| + |b| bounds
the terms of z = W h + b, so |z| too. A row A of doubles over a step's outputs counts as exact. Back through relu and
step it becomes A'W, A' being A times slopes in [0, 1] less multipliers: the doubles for it change the form by at most
(1.01 n_out + 2.01) u (|A| + |beta|)·size, its constants A'·b and A·shift by 2.1 n_out u of the same. At the input
|A'W||x| <= 1.01 (|A| + |beta|)·size again, and a support function is off by (5.1 n_in + 24) u times that (the worst is
the knapsack: gains are differences, their order may be off by a rounding). Adding up takes 2 L + 4 additions of sums
below 5.1 S for L steps. All that is below (5.2 n + 11 L + 52) u S, n being the most inputs plus outputs of a step;
G = 6 (n + 2 L + 32) u. S starts at TINY (1 + all sizes): times G, more than underflow takes from 2^60 products. Beyond
HUGE nothing is proved.

*Relaxation.* For z in [l, v], l < 0 < v: relu(z) >= a z if 0 <= a <= 1, and relu(z) <= s z + t if so at l and at v,
relu being convex; t is rounded up until it is. A split of sign g says g z >= 0, so taking off beta g z, beta >= 0, only
lowers the form. Bounds of a step's units use lines of earlier steps and the splits above the leaf only. Smooth curves:
between points h apart f(z) - s z is within h² max|f''| / 8 of its chord, so its least value on a grid, less that, holds
everywhere; FUZZ covers 500 units in the last place of NumPy's and SciPy's functions, `size` grows with |f| and |f'|.

*Cover.* A walk in preorder goes down both sides of every cut, and cuts are exhaustive: z <= 0 or z >= 0; a choice is
listed or not; a word is restored or not, held or out. Points are compared as real numbers, balls in fractions; a margin
that intervals leave open is computed in fractions. Words are put back entirely: budgets count costs' common divisor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from suffice.errors import NotACertificate, Rejected
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.curves import CURVES, FUZZ, Curve
from suffice.model.network import Bools, Floats, Ints, Step
from suffice.proof.certificate import numbers, read

ROUND, TINY, HUGE, WHOLE = 2.0**-53, 2.0**-800, 2.0**800, 2**53  # doubles hold whole numbers up to WHOLE
CHUNK, BATCH = 400_000, 1024  # numbers and leaves worked on at a time
EXACT = np.vectorize(Fraction, otypes=[object])  # arrays of fractions
# Not read beyond: bytes in a line (and 100 per input or output of a step), numbers in points, margins in fractions
MAX_LINE, MAX_POINTS, MAX_EXACT = 2**20, 2 * 10**7, 200
SAID = {
    "sufficient": "these words suffice for it",
    "independent": "it does not depend on these words",
    "infeasible": "no words suffice for it without these",
    "refuted": "these words do not suffice for it",
    "cheapest": "these words suffice, cost {cost} × {unit!r}; none below {lower} with {include}, without {exclude} do",
}


@dataclass(frozen=True, repr=False)
class Checked:
    """What a certificate proves of the words at `positions`; costs count units, and nothing below `lower` suffices."""

    kind: str
    label: str
    positions: tuple[int, ...]
    cost: int | None
    lower: int | None
    optimal: bool
    sentence: str

    def __repr__(self) -> str:
        cost = f", cost {self.cost}, none below {self.lower}" if self.kind == "cheapest" else ""
        return f"<Checked {'optimal' if self.optimal else self.kind}: {self.label!r}, words {self.positions}{cost}>"


def check(certificate: Any, classifier: Classifier | BlackBox) -> Checked:
    """What a certificate (a path, bytes or an object with `lines`) proves; Rejected names the first line that fails."""
    if isinstance(classifier, BlackBox):
        from suffice.proof.replay import replay  # runs the texts again; it gives back a Checked too

        return replay(certificate, classifier)
    checker = _Checker(certificate, classifier)
    with np.errstate(all="ignore"):
        try:
            return checker.run()
        except NotACertificate:
            raise
        except (Rejected, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            line = getattr(error, "line", 0) or checker.number  # 0 is the line just read
            reason = getattr(error, "reason", f"malformed ({type(error).__name__}: {str(error)[:200]})")
        checker.settle()  # a leaf that still waits may be the first line that fails
        raise Rejected(line, reason)


def _need(condition: Any, reason: str) -> None:
    if not condition:
        raise Rejected(0, reason)


def _fields(data: Any, names: str, what: str) -> list[Any]:
    _need(type(data) is dict and data.keys() == set(names.split()), f"{what} must have exactly these: {names}")
    return [data[name] for name in names.split()]


def _int(value: Any, low: int, high: int, what: str) -> int:
    _need(type(value) is int and low <= value < high, f"{what} must be a whole number from {low} to {high - 1}")
    return int(value)


def _mask(values: list[Any], within: Bools, what: str) -> Bools:
    places = [_int(value, 0, len(within), f"each of {what}") for value in values]
    right = type(values) is list and places == sorted(set(places)) and within[places].all()
    _need(right, f"{what} must be a list of positions that are allowed here, sorted, each once")
    return np.isin(np.arange(len(within)), places)


def _numbers(values: list[Any], shape: Sequence[int], what: str, least: float = -HUGE) -> Floats:
    right = all(type(v) in (int, float) and least <= v <= HUGE and v == float(v) for row in values for v in row)
    right = right and type(values) is list and [len(row) for row in values] == [shape[1]] * shape[0]
    _need(right, f"{what} must be {shape[0]} rows of {shape[1]} numbers between {least} and {HUGE}")
    return np.array(values, dtype=np.float64).reshape(shape)


class _Region:
    """What words may become; a state is a mask: which `points` a word may have, or if it is free (boxes and balls)."""

    def __init__(self, data: Any, classifier: Classifier, tokens: list[str], features: Bools) -> None:
        own = [classifier.lookup.get(token, classifier.lookup[classifier.unknown]) for token in tokens]
        self.center, self.radius, self.norm, self.kind = classifier.table[own], 0.0, np.inf, data["kind"]
        self.points = self.center[:, None, :][:, :0]
        if self.kind == "epsilon-ball":
            _, eps, p = _fields(data, "kind eps p", "a ball")
            _need(type(p) is not bool and p in (1, 2, "inf"), "p must be 1, 2 or inf")
            self.radius, self.norm = float(_numbers([[eps]], (1, 1), "eps", 0.0)[0, 0]), float(p)
            low, high = (np.nextafter(self.center + s * self.radius, s * np.inf) for s in (-1, 1))
        elif self.kind == "boxes":
            _, *sides = _fields(data, "kind lower upper", "boxes")
            low, high = (_numbers(side, self.center.shape, "boxes") for side in sides)
            _need(((low <= self.center) & (self.center <= high)).all(), "a box misses the word's own vector")
        else:
            rows = self._rows(data, classifier, tokens, own, features)
            most = max(map(len, rows))
            _need(len(rows) * most * self.center.shape[1] <= MAX_POINTS, "the sets have too many points")
            points = classifier.table[[row + row[:1] * (most - len(row)) for row in rows]]
            low, high, self.points = points.min(1), points.max(1), self.points if self.kind == "knn-box" else points
        self.low, self.high = (np.where(features[:, None], side, self.center) for side in (low, high))

    def _rows(self, data: Any, classifier: Classifier, tokens: Any, own: list[int], features: Bools) -> list[list[int]]:
        """Each word and its corners or choices, as places in the vocabulary."""
        lookup, pad, unknown = classifier.lookup, classifier.pad, classifier.lookup[classifier.unknown]
        if self.kind in ("knn-box", "knn-hull"):
            k = _int(_fields(data, "kind k", "the set")[1], 0, len(lookup) - 2, "k")
            axes = np.ascontiguousarray(classifier.table.T)
            near = {i: self._nearest(axes, [i, lookup[pad], unknown], k) for i in set(own)}
            return [[i, *near[i]] if feature else [i] for i, feature in zip(own, features, strict=True)]
        _need(self.kind == "word-swap" or data == {"kind": "deletion"}, "the format knows no such perturbation set")
        swaps = {t: [pad] for t in tokens} if self.kind == "deletion" else _fields(data, "kind swaps", "the set")[1]
        _need(all(type(v) is list and {*map(type, v)} <= {str} for v in swaps.values()), "swaps must be lists of words")
        listed = [dict.fromkeys(w for w in swaps.get(t, swaps.get(t.lower(), [])) if w != t) for t in tokens]
        places = [[classifier.index_of(w) for w in words] for words in listed]
        return classifier.each_once([[i, *others] for i, others in zip(own, places, strict=True)])

    def _nearest(self, axes: Floats, special: list[int], k: int) -> list[int]:
        """The k words nearest to the first of the special ones, without these, by the rule of the format."""
        distance, last = np.zeros(axes.shape[1]), min(k + len(special), axes.shape[1]) - 1
        for axis in axes:
            distance += (axis - axis[special[0]]) ** 2
        near = np.setdiff1d(np.flatnonzero(distance <= np.partition(distance, last)[last]), special)
        return [int(i) for i in near[np.argsort(distance[near], kind="stable")][:k]]

    def least(self, rows: Floats, states: Sequence[Any]) -> Floats:
        """Least values (n, r) of rows (n or 1, r, inputs) over the sets of n states."""
        if self.points.size:
            shaped = rows.reshape(-1, *self.center.shape).transpose(1, 0, 2)
            values = np.matmul(shaped, self.points.transpose(0, 2, 1)).transpose(1, 0, 2)
            values = values.reshape(*rows.shape[:2], *self.points.shape[:2])
            return np.asarray(np.where(np.stack(states)[:, None], values, np.inf).min(-1).sum(-1))
        if self.norm == np.inf:
            low, high = (np.where(states[0], side, self.center).ravel() for side in (self.low, self.high))
            return np.asarray(np.maximum(rows, 0.0) @ low + np.minimum(rows, 0.0) @ high)
        size = np.abs(rows.reshape(*rows.shape[:2], *self.center.shape))
        norm = size.max(-1)
        if self.norm == 2:
            norm = norm * np.sqrt(((size / np.where(norm > 0, norm, 1.0)[..., None]) ** 2).sum(-1))
        return np.asarray(rows @ self.center.ravel() - norm @ (self.radius * states[0][:, 0]))

    def pick(self, line: Any, state: Any) -> tuple[Any, Any]:
        word, chosen = _fields(line, "pick chosen", "a pick")
        _need(self.kind in ("word-swap", "deletion") and type(chosen) is list, "there must be choices to pick from")
        others = np.arange(len(state))[:, None] != _int(word, 0, len(state), "the picked word")
        listed = np.isin(np.arange(state.shape[1]), [_int(c, 0, state.shape[1], "a choice") for c in chosen])
        return state & (others | listed), state & (others | ~listed)

    def holds(self, place: int, vector: Floats) -> bool:
        """Whether the vector is in the word's set, as real numbers (for a hull: one of its corners)."""
        if self.points.size:
            return bool((self.points[place] == vector).all(-1).any())
        if self.kind != "epsilon-ball":
            return bool(((self.low[place] <= vector) & (vector <= self.high[place])).all())
        pairs = zip(vector.tolist(), self.center[place].tolist(), strict=True)
        gaps, power = [abs(Fraction(a) - Fraction(b)) for a, b in pairs], 2 if self.norm == 2 else 1
        return (max(gaps) if self.norm == np.inf else sum(g**power for g in gaps)) <= Fraction(self.radius) ** power


class _Restored:
    """A perturbed text of which open words may be put back: a state is (text, open words, what may be spent)."""

    def __init__(self, center: Floats, costs: Ints) -> None:
        self.center, self.unit = center, int(np.gcd.reduce(costs))
        self.costs = costs // self.unit

    def least(self, rows: Floats, states: Sequence[Any]) -> Floats:
        start, opened, left = (np.stack(part) for part in zip(*states, strict=True))
        gains = np.einsum("nrld,nld->nrl", rows.reshape(*rows.shape[:2], *self.center.shape), self.center - start)
        gains = np.minimum(gains * (opened & (self.costs <= left[:, None]))[:, None], 0.0)
        total = np.matmul(rows, start.reshape(len(start), -1, 1))[..., 0]
        if (self.costs == 1).all():
            return np.asarray(total + (np.sort(gains) * (np.arange(len(self.costs)) < left[:, None, None])).sum(-1))
        order = np.argsort(gains / self.costs)
        room = left[:, None, None] - np.cumsum(self.costs[order], -1) + self.costs[order]
        taken = np.clip(room / self.costs[order], 0.0, 1.0)
        return np.asarray(total + (np.take_along_axis(gains, order, -1) * taken).sum(-1))

    def pick(self, line: Any, state: Any) -> tuple[Any, Any]:
        start, opened, left = state
        mark = np.arange(len(opened)) == _int(_fields(line, "pick", "a pick")[0], 0, len(opened), "the picked word")
        rest, back = left - int(self.costs[mark][0]), np.where(mark[:, None], self.center, start)
        _need((opened & mark).any() and rest >= 0, "only an open word that can be paid for can be picked")
        return (back, opened & ~mark, rest), (start, opened & ~mark, left)


class _Net:
    """The network around one text: how large everything can get, and backward bounds over input sets."""

    def __init__(self, steps: Sequence[Step], label: int, region: _Region) -> None:
        terms = max(sum(step.weight.shape) for step in steps)
        self.steps, self.gamma = steps, 6 * (terms + 2 * len(steps) + 32) * ROUND
        self.known = self.intervals(region.low.ravel(), region.high.ravel())
        spread = sum(float(known[0].sum() + known[1].sum()) for known in self.known)
        _need(spread <= HUGE, "the network can overflow over this region")
        weight, bias, self.floor = steps[-1].dense(), steps[-1].bias, TINY * (1 + spread)
        self.rows, self.constants = weight[label] - weight, bias[label] - bias
        self.sizes = self.known[-1][1][label] + self.known[-1][1] + self.floor
        self.bent = np.concatenate([step.bent for step in steps])[: -len(bias)]
        sizes = [len(step.bias) for step in steps[:-1]]
        self.parts = [slice(sum(sizes[:k]), sum(sizes[: k + 1])) for k in range(len(sizes))]
        self.width = max(terms, region.points[..., 0].size)

    def intervals(self, low: Floats, high: Floats) -> list[tuple[Floats, ...]]:
        """For each step how large its inputs and the terms of its sums can be, and outer bounds of the sums."""
        found: list[tuple[Floats, ...]] = []
        for step in self.steps:
            big, top = abs(step.weight), np.maximum(np.abs(low), np.abs(high))
            plus, minus = (step.weight + big) / 2, (step.weight - big) / 2
            size = (big @ top + np.abs(step.bias)) * (1 + 4 * self.gamma) + TINY
            least, most = plus @ low + minus @ high + step.bias, plus @ high + minus @ low + step.bias
            least, most = least - self.gamma * size, most + self.gamma * size
            low, high = (np.where(step.relu, np.maximum(side, 0.0), side) for side in (least, most))
            for name, at in step.curves:
                low[at], high[at] = CURVES[name].range(least[at], most[at])
                size[at] += size[at] * CURVES[name].steep(least[at], most[at]) + 1 + np.abs([low[at], high[at]]).max(0)
            found.append((top, size, least, most))
        return found

    def below(self, place: int, form: Any, inputs: Any, states: list[Any], lines: Floats, push: Any) -> Floats:
        """Lower bounds (n, r) of forms (rows over what step `place` receives, constant, size) over input sets."""
        rows, total, size = form
        for k in reversed(range(place)):
            (low, up, shift, floor), step = lines[:, :, None, self.parts[k]], self.steps[k]
            down = np.minimum(rows, 0.0)
            total = total + (down * shift).sum(-1) + ((rows - down) * floor).sum(-1)
            weight, rows = np.abs(rows), (rows - down) * low + down * up
            if push is not None:
                rows, weight = rows - push[:, None, self.parts[k]], weight + np.abs(push[:, None, self.parts[k]])
            total, size = total + rows @ step.bias, size + weight @ self.known[k][1]
            rows = (rows.reshape(-1, len(step.bias)) @ step.weight).reshape(*rows.shape[:2], step.weight.shape[1])
        total = total + inputs.least(rows, states)
        return np.where(np.isfinite(total) & (size <= HUGE), total - self.gamma * size, -np.inf)

    def units(self, k: int, inputs: Any, states: list[Any], lines: Floats) -> tuple[Floats, Floats]:
        """Bounds (n, units) of a step's units from the lines of the steps before it; [0, inf] where nothing bends."""
        step, (_, size, least, most) = self.steps[k], self.known[k]
        below = np.where(step.bent, [least, -most], [[0.0], [-np.inf]])[:, None].repeat(len(states), 1)
        loose = np.flatnonzero(step.curved | step.relu & (least < 0) & (most > 0))
        many = max(1, CHUNK // (len(states) * self.width))
        for some in np.split(loose, range(many, len(loose), many)):
            rows = step.weight[some] if isinstance(step.weight, np.ndarray) else step.weight[some].toarray()
            for side, sign in zip(below, (1.0, -1.0), strict=True):
                form = sign * rows[None], sign * step.bias[some], size[some] + self.floor
                side[:, some] = np.maximum(side[:, some], self.below(k, form, inputs, states, lines, None))
        return below[0], -below[1]

    def holds(self, leaves: list[Any]) -> Bools:
        """Which leaves, all over the same inputs, have splits that contradict or a bound above zero."""
        _, (inputs, *_), (sign, *_), rivals, signs, alpha, push, states = map(list, zip(*leaves, strict=True))
        mark, slope, lines = np.stack(signs), np.stack(alpha), np.zeros((4, len(leaves), len(self.bent)))
        holds, loose = np.zeros(len(leaves), dtype=bool), np.zeros(mark.shape, dtype=bool)
        sets = {id(state): state for state in states}  # the first step's bounds do not depend on splits
        which = np.searchsorted(sorted(sets), [id(state) for state in states])
        for k, part in enumerate(self.parts):
            found = self.units(k, inputs, states if k else [sets[key] for key in sorted(sets)], lines)
            lower, upper = found if k else (side[which] for side in found)
            lower = np.where(mark[:, part] > 0, np.maximum(lower, 0.0), lower)
            upper = np.where(mark[:, part] < 0, np.minimum(upper, 0.0), upper)
            holds |= (lower > upper).any(-1)
            loose[:, part], on = self.steps[k].relu & (lower < 0) & (upper > 0), (lower >= 0) * 1.0
            deep, high = np.where(loose[:, part], lower, -1.0), np.where(loose[:, part], upper, 1.0)
            up = high / (high - deep)
            shift = np.maximum(-up * deep, high * (1 - up)) * (1 + 2.0**-50) + TINY
            lines[:3, :, part] = np.where(loose[:, part], [high > -deep, up, shift], [on, on, 0 * on])
            for name, at in self.steps[k].curves:
                lines[:, :, part.start + at] = _around(CURVES[name], lower[:, at], upper[:, at])
        lines[0] = np.where(loose & ~np.isnan(slope), np.clip(slope, 0.0, 1.0), lines[0])
        form = sign * self.rows[rivals][:, None], sign * self.constants[rivals][:, None], self.sizes[rivals][:, None]
        return holds | (self.below(len(self.parts), form, inputs, states, lines, np.stack(push))[:, 0] > 0)


def _around(curve: Curve, low: Floats, high: Floats) -> Floats:
    """Lines around a smooth curve over [low, high]: slopes below and above, intercepts above and below."""
    z = low[..., None] + (high - low)[..., None] * (np.arange(33) / 32)
    value, far = curve.value(z), np.maximum(np.abs(low), np.abs(high))
    cell, fuzz = (high - low) / 31.99 + FUZZ * far, FUZZ * (2 + 2 * far + 2 * np.abs(value).max(-1))
    chord = (value[..., -1] - value[..., 0]) / np.where(high > low, high - low, 1.0)
    slopes = np.stack([0 * low, *np.moveaxis(curve.slope(z[..., ::4]), -1, 0), chord])
    gaps, doubt = (
        value - slopes[..., None] * z,
        curve.bend(low, high) * cell**2 / 8 + fuzz + 4 * FUZZ * far * abs(slopes),
    )
    floors, shifts = gaps.min(-1) - doubt, gaps.max(-1) + doubt
    floors[0], shifts[0] = curve.range(low, high)
    one, two = ((s * (slopes * (low + high) / 2 + c)).argmax(0)[None] for s, c in ((1, floors), (-1, shifts)))
    return np.take_along_axis(np.stack([slopes, slopes, shifts, floors]), np.stack([one, two, two, one]), 1)[:, 0]


class _Checker:
    def __init__(self, certificate: Any, classifier: Classifier) -> None:
        self.classifier, self.steps, self.labels = classifier, classifier.network.steps, list(classifier.labels)
        longest = MAX_LINE + 100 * sum(sum(step.weight.shape) for step in self.steps)
        self.lines = iter(certificate.lines) if hasattr(certificate, "lines") else read(certificate, longest)
        self.number, self.exact, self.leaves = 0, 0, list[Any]()

    def run(self) -> Checked:
        """Check the header, the evidence for its claim, and that nothing follows."""
        self.number, head = 1, next(self.lines, dict[str, Any]())
        kind, about, free, costs = self._header(head)
        if kind in ("infeasible", "refuted"):
            _need(all(self._sign(self.region.center, j) >= 0 for j in self.rivals.values()), "the text's label differs")
            self._counterexample(_fields(self.take(), "point", "this line")[0], free)
        else:
            first = np.arange(self.region.points.shape[1] or 1) < bool(self.region.points.size)
            for rival in self.rivals:
                _need(self.take() == {"prove": "sufficient", "rival": rival}, f"no proof against {rival!r} starts here")
                self._tree(rival, self.region, 1.0, free[:, None] | first)  # a fixed word has its first point
        if kind == "cheapest":
            self._cheapest(*costs)
        self.settle()
        self.number += 1
        _need(next(self.lines, self) is self, "nothing may follow the evidence")
        claim, places = head["claim"], np.flatnonzero(about).tolist()
        words = ", ".join(f"{head['text'][i]!r} ({i})" for i in places) or "none"
        data = {k: v for k, v in head["perturbation"].items() if isinstance(v, int | float | str)}
        sentence = (
            f"Proved for the classifier {head['model'][:16]} in exact real arithmetic, if {len(head['features'])} words"
            f" may change within their sets ({data}): the label is {head['label']!r}, and {SAID[kind].format(**claim)}:"
            f" {words}."
        )
        cost, lower = claim.get("cost"), claim.get("lower")
        return Checked(kind, head["label"], tuple(places), cost, lower, None is not cost == lower, sentence)

    def take(self) -> Any:
        self.number, line = self.number + 1, next(self.lines, "nothing, since the proof is not complete")
        _need(type(line) is dict, f"here must be an object, not {str(line)[:80]}")
        return line

    def walk(self, visit: Callable[[Any], Any]) -> None:
        """Read a tree in preorder; `visit` gives, for an inner node, what enters its side 0 or 1, or leaves it (2)."""
        waiting, side = list[Any](), 0
        while side < 2:
            cut = visit(self.take())
            waiting += [(cut, 2), (cut, 1), (cut, 0)] if cut else []
            side = 2
            while side == 2 and waiting:
                enter, side = waiting.pop()
                enter(side)

    def _header(self, head: Any) -> tuple[str, Bools, Bools, Any]:
        """The kind of claim, the words it is about, the free words, and the costs, once all fits the classifier."""
        if type(head) is not dict or type(head.get("certificate")) is not int or head["certificate"] != 1:
            raise NotACertificate("Line 1 is not the header of a certificate of format 1.")
        names = "certificate model text perturbation features label claim"
        _, model, tokens, data, features, label, claim = _fields(head, names, "the header")
        _need(model == self.classifier.digest, "it is about another classifier")
        right = type(tokens) is list and len(tokens) == self.classifier.length and all(type(t) is str for t in tokens)
        _need(right, f"text must be {self.classifier.length} words")
        self.features, self.label = _mask(features, np.ones(len(tokens)) > 0, "features"), self.labels.index(label)
        self.rivals = {name: i for i, name in enumerate(self.labels) if name != label}
        name = {"independent": "of", "infeasible": "exclude"}.get(claim["kind"], "positions")
        more = " costs unit include exclude cost lower" if claim["kind"] == "cheapest" else ""
        kind, values = _fields(claim, f"kind {name}{more}", "the claim")[:2]
        _need(kind in SAID, "the claim is none that this format knows")
        about = _mask(values, self.features, name)
        self.region = _Region(data, self.classifier, tokens, self.features)
        self.net = _Net(self.steps, self.label, self.region)
        free = self.features & ~about if name == "positions" else about
        return kind, about, free, self._costs(claim, about) if more else ()

    def _costs(self, claim: Any, positions: Bools) -> tuple[Bools, Bools, Ints, int]:
        include, exclude = (_mask(claim[name], self.features, name) for name in ("include", "exclude"))
        costs = np.array([_int(cost, 1, WHOLE // len(positions), "a cost") for cost in claim["costs"]])
        _need(type(claim["unit"]) is str and len(costs) == len(positions), "there must be a unit and a cost per word")
        cost, lower = _int(claim["cost"], 0, WHOLE, "cost"), _int(claim["lower"], 0, WHOLE, "lower")
        right = lower <= cost == costs[positions].sum() and not (include & ~positions | exclude & positions).any()
        _need(right, "positions must cost `cost`, at least `lower`, hold all of include and none of exclude")
        return include, exclude, costs, lower

    def settle(self) -> None:
        waiting, self.leaves = self.leaves, []
        many = max(1, CHUNK // (self.net.width * max(len(step.bias) for step in self.steps[-2:]))) if waiting else 1
        for start in range(0, len(waiting), many):
            some = waiting[start : start + many]
            for leaf, held in zip(some, self.net.holds(some), strict=True):
                if not held:
                    raise Rejected(leaf[0], "the bound of this leaf is not above zero")

    def _tree(self, rival: str, inputs: Any, sign: float, state: Any) -> None:
        """Read a proof tree; its leaves wait to be checked together."""
        asked, signs, now = (inputs, sign, self.rivals[rival]), np.zeros(len(self.net.bent), dtype=np.int8), [state]

        def visit(line: Any) -> Any:
            if "split" in line:
                u = _int(_fields(line, "split", "a split")[0], 0, len(signs), "the unit")
                _need(self.net.bent[u] and not signs[u], "only a relu or curve that is not split yet can be split")
                return lambda side: signs.__setitem__(u, (-1, 1, 0)[side])
            if "pick" in line:
                states = (*inputs.pick(line, now[0]), now[0])
                return lambda side: now.__setitem__(0, states[side])
            alpha, beta = _fields(_fields(line, "leaf", "this line")[0], "alpha beta", "a leaf")
            slope = np.full(len(signs), np.nan) if alpha is None else numbers(alpha, len(signs))
            push, units = np.zeros(len(signs)), [_int(int(u), 0, len(signs), "a unit of beta") for u in beta]
            push[units] = _numbers([list(beta.values())], (1, len(beta)), "beta", 0.0)[0] * signs[units]
            self.leaves.append((self.number, *asked, signs.copy(), slope, push, now[0]))
            if len(self.leaves) >= BATCH:
                self.settle()
            return None

        self.walk(visit)

    def _cheapest(self, held: Bools, out: Bools, costs: Ints, lower: int) -> None:
        """Read the tree over words that shows that nothing below `lower` suffices."""
        self.settle()
        inputs = _Restored(self.region.center, costs)
        _need(self.take() == {"prove": "cheapest"}, "here must start the word tree")

        def visit(line: Any) -> Any:
            opened, ((name, value),) = self.features & ~held & ~out, line.items()
            if name == "word":
                _need(opened[_int(value, 0, len(opened), "the word")], "only an open word can be held or out")
                return lambda side: (held.__setitem__(value, side == 0), out.__setitem__(value, side == 1))[0]
            if name == "cost":
                _need(value is True and costs[held].sum() >= lower, "the held words must cost `lower` or more")
            elif name == "attack":
                self._counterexample(value, out)
            else:
                start, rival, budget = _fields(_fields(line, "restoration", "this line")[0], "start rival budget", name)
                point = self._point(start, self.features & ~held).astype(np.float64)
                _need(_int(budget, 0, WHOLE, "budget") >= lower - 1 - costs[held].sum(), "the budget is too low")
                self._tree(rival, inputs, -1.0, (point, opened, budget // inputs.unit))
            return None

        self.walk(visit)

    def _counterexample(self, data: Any, allowed: Bools) -> None:
        """An allowed input at which the rival's score is at least the label's."""
        point = self._point(data, allowed, "rival")
        _need(self._sign(point, self.rivals[data["rival"]]) <= 0, "the label keeps its lead at this point")

    def _point(self, data: Any, allowed: Bools, more: str = "") -> Any:
        """The text with other vectors at changed words, each in its word's set, or the exact mean of its corners."""
        kind = "shares" if "shares" in data else "vectors"
        changed, given, *_ = _fields(data, f"changed {kind} {more}", "a point")
        point, places = self.region.center.astype(object), np.flatnonzero(_mask(changed, allowed, "changed")).tolist()
        if kind == "vectors":
            point[places] = vectors = numbers(given, point[places].size).reshape(-1, point.shape[1])
            _need(all(map(self.region.holds, places, vectors)), "a vector is not in its word's set")
            return point
        _need(self.region.kind == "knn-hull", "only points of a hull can be given by shares")
        shares = EXACT(_numbers(given, (len(places), self.region.points.shape[1]), kind, 0.0))
        for place, row in zip(places, shares, strict=True):
            point[place] = row @ EXACT(self.region.points[place]) / row.sum()
        return point

    def _sign(self, point: Any, rival: int) -> int:
        """The sign of the margin at a point of doubles or fractions."""
        low, high = (np.nextafter(point.astype(np.float64).ravel(), side) for side in (-np.inf, np.inf))
        least, most = self.net.intervals(low, high)[-1][2:]
        if least[self.label] > most[rival] or most[self.label] < least[rival]:
            return 1 if least[self.label] > most[rival] else -1
        _need(not self.classifier.network.curved, "the margin at this point is too close to zero for smooth curves")
        self.exact += 1
        _need(self.exact <= MAX_EXACT, f"more than {MAX_EXACT} margins would need exact arithmetic")
        values = EXACT(point.ravel())
        for step in self.steps:
            weight, sums = step.dense(), EXACT(step.bias)
            np.add.at(sums, np.nonzero(weight)[0], EXACT(weight[np.nonzero(weight)]) * values[np.nonzero(weight)[1]])
            values = np.where(step.relu & (sums < 0), 0, sums)
        return int(values[self.label] > values[rival]) - int(values[self.label] < values[rival])

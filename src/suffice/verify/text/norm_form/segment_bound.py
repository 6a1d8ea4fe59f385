"""SegmentBound: a lower bound of the norm form over one subset of an instance's texts.

The root is replaced by lines in S (chords over ranges of S, or one tangent), repeated features by
lines in their counts; slopes and the multiplier of the limit on changes are improved for a few
rounds from those of the parent. The texts that attain a bound are tried as counterexamples.

Method: McCormick-like lines of the norm, Lagrangian bound (theory, section 10).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.verify import tolerances
from suffice.verify.text.norm_form.count_ranges import CountRanges
from suffice.verify.text.norm_form.feature_lines import FeatureLines
from suffice.verify.text.norm_form.instance import InstanceRefuted, NormSegment, TextInstance
from suffice.verify.text.norm_form.separable_minimum import ChangeMultiplier, changing_edges
from suffice.verify.text.trellis import Trellis


@dataclass(frozen=True, eq=False)
class TextSubproblem:
    """A subset of the texts: those of `allowed` choices whose counts lie in `count_limits`.

    `feature_slopes` (features,) and `multiplier` are the best of the parent, where the bound
    starts.
    """

    allowed: Bools
    feature_slopes: Floats  # NaN where there is none yet
    multiplier: float | None = None
    count_limits: CountRanges | None = None


@dataclass(frozen=True, eq=False)
class _DualPoint:
    """The dual value of slopes: the bound, its minimiser, and by feature what the line
    loses there.
    """

    bound: float
    minimiser: Ints
    counts: Floats
    line_gaps: Floats


class SegmentBound:
    """The bound for one subproblem.

    `run` returns the segments that prove it, an `InstanceRefuted`, or None where it is left open;
    then `cheapest`, `best_bound` and `line_gaps` say where to split.
    """

    def __init__(self, instance: TextInstance, subproblem: TextSubproblem) -> None:
        self.instance = instance
        self.lattice = instance.lattice
        self.settings = instance.settings
        self.allowed = subproblem.allowed
        self.features = FeatureLines(instance, subproblem.allowed, subproblem.count_limits)
        self.feature_slopes = subproblem.feature_slopes
        self.multiplier = subproblem.multiplier
        self.cheapest = instance.reference
        self.margin = np.inf
        self.best_bound = -np.inf
        self.other: Ints | None = None  # the minimiser on the other side of the best tangent
        self.line_gaps = np.zeros(len(self.lattice.columns))

    def run(self) -> tuple[NormSegment, ...] | InstanceRefuted | None:
        if self.features.infeasible:
            return ()
        if not self._open_words().any():
            return self._single_text()
        refutation = self._featureless_refutation()
        if refutation is not None:
            return refutation
        match self.lattice.bag.norm:
            case None:
                return self._without_root(self.instance.bias)
            case "l1":
                return self._without_root(0.0)
            case "l2" if self.instance.bias >= 0:
                return self._chords()
            case "l2":
                return self._tangents()

    # --- single texts ---

    def _featureless_refutation(self) -> InstanceRefuted | None:
        """A text without known features, where it is allowed and fails."""
        if self.lattice.trellis is not None:
            return self._featureless_trellis_refutation(self.lattice.trellis)
        counted = np.asarray(abs(self.lattice.option_counts).sum(1)).ravel()
        featureless = self.allowed & (self.lattice.empty if self.lattice.pairs else counted == 0)
        reference = self.instance.reference
        chosen = np.full(self.lattice.word_count, -1, dtype=np.int64)
        candidates = np.flatnonzero(featureless)
        chosen[self.lattice.word_of[candidates][::-1]] = candidates[::-1]
        chosen = np.where(featureless[reference], reference, chosen)
        return (
            self._refutation(chosen)
            if (chosen >= 0).all() and self.instance.within_limit(chosen)
            else None
        )

    def _featureless_trellis_refutation(self, trellis: Trellis) -> InstanceRefuted | None:
        """The same, where features reach over words."""
        counted = np.asarray(abs(trellis.rows).sum(1)).ravel()[trellis.row]
        cost = counted + np.append(np.where(self.allowed, 0.0, np.inf), 0.0)[trellis.choice]
        value, chosen = trellis.shortest_path(cost, changing_edges(self.instance, trellis), None)
        return (
            self._refutation(chosen) if value <= 0 and self.instance.within_limit(chosen) else None
        )

    def _single_text(self) -> tuple[NormSegment, ...] | InstanceRefuted | None:
        """The only text that is left."""
        chosen = np.flatnonzero(self.allowed)
        if not self.instance.within_limit(chosen):
            return ()
        refuted = self._refutation(chosen)
        self.cheapest = chosen
        form, self.margin = self.instance.form_and_margin(self.lattice.counts(chosen))
        return refuted if refuted is not None else () if form > self.instance.tolerance else None

    def _refutation(self, chosen: Ints) -> InstanceRefuted | None:
        form, margin = self.instance.form_and_margin(self.lattice.counts(chosen))
        return InstanceRefuted(chosen, margin) if form <= 0.0 else None

    # --- lines in the place of the root ---

    def _without_root(self, constant: float) -> tuple[NormSegment, ...] | InstanceRefuted | None:
        """No root: one line of slope zero."""
        bound, refuted = self._bound_under_line(0.0, constant)
        if refuted is not None:
            return refuted
        return (
            (self._segment(*self.features.norm_range, 0.0),)
            if bound > self.instance.tolerance
            else None
        )

    def _segment(self, low: float, high: float, slope: float) -> NormSegment:
        return NormSegment(low, high, slope, self.feature_slopes, self.multiplier)

    def _chords(self) -> tuple[NormSegment, ...] | InstanceRefuted | None:
        """Chords of the root over ranges of S, which are cut where they do not decide."""
        ranges = [self.features.norm_range]
        segments = []
        lines_left = self.settings.lines
        while ranges:
            low, high = ranges.pop()
            root_low = np.sqrt(low)
            root_high = np.sqrt(high)
            slope = self.instance.bias / (root_low + root_high) if high > 0 else 0.0
            bound, refuted = self._bound_under_line(
                slope, self.instance.bias * root_low - slope * low
            )
            if refuted is not None:
                return refuted
            if bound > self.instance.tolerance:
                segments.append(self._segment(low, high, slope))
                continue
            lines_left -= 1
            if lines_left <= 0 or high - low <= tolerances.NARROW_RANGE * high:
                return None
            middle = self._squared_norm(self.cheapest)
            margin = self.settings.bracket_margin * (high - low)
            if not low + margin < middle < high - margin:
                middle = 0.5 * (low + high)
            ranges += [(low, middle), (middle, high)]
        return tuple(segments)

    def _tangents(self) -> tuple[NormSegment, ...] | InstanceRefuted | None:
        """-sqrt(S) >= -(S / 2t + t / 2): the best t lies where S of the cheapest text meets t
        squared.
        """
        low = np.sqrt(self.features.norm_range[0])
        high = np.sqrt(self.features.norm_range[1])
        if high == 0.0:
            return self._without_root(0.0)
        tangent = min(max(np.sqrt(self._squared_norm(self.instance.reference)), low), high) or high
        best = -np.inf
        minimisers = {}
        for _ in range(self.settings.lines):
            slope = 0.5 * self.instance.bias / tangent
            bound, refuted = self._bound_under_line(slope, 0.5 * self.instance.bias * tangent)
            if refuted is not None:
                return refuted
            if bound > self.instance.tolerance:
                return (self._segment(*self.features.norm_range, slope),)
            best = max(best, bound)
            root = np.sqrt(self._squared_norm(self.cheapest))
            minimisers[root > tangent] = self.cheapest
            if abs(root - tangent) <= tolerances.NARROW_RANGE * high:
                break
            low, high = (tangent, high) if root > tangent else (low, tangent)
            margin = self.settings.bracket_margin * (high - low)
            tangent = min(max(root, low + margin), high - margin)
            if high - low <= tolerances.NARROW_RANGE * high:
                break
        self.best_bound = best
        if len(minimisers) == 2:
            self.cheapest = minimisers[True]
            self.other = minimisers[False]
        return None

    def _squared_norm(self, chosen: Ints) -> float:
        return float((self.lattice.values(self.lattice.counts(chosen)) ** 2).sum())

    # --- under one line ---

    def _bound_under_line(
        self, norm_slope: float, constant: float
    ) -> tuple[float, InstanceRefuted | None]:
        """The least of the form with a line of this slope in the place of the root; the best text
        is kept.
        """
        table = self.features.table(norm_slope)
        multiplier = ChangeMultiplier(self.instance, self.multiplier)
        constant += self.features.fixed_sum(norm_slope)
        slopes = best_slopes = self.features.first_slopes(table, self.feature_slopes)
        best = -np.inf
        for _ in range(multiplier.rounds):
            point = self._dual_point(table, slopes, multiplier, constant)
            if point is None:
                return np.inf, None
            if isinstance(point, InstanceRefuted):
                return best, point
            if point.bound > best:
                best = point.bound
                best_slopes = slopes
                self.multiplier = multiplier.last
                self._remember(point)
            exact_lines = (
                point.line_gaps.max(initial=0.0) <= tolerances.LINE_GAP * self.instance.magnitude
            )
            if point.bound > self.instance.tolerance or (exact_lines and multiplier.converged):
                break
            shortfall = max(-point.bound, self.instance.tolerance)
            slopes = self.features.next_slopes(table, slopes, point.counts, shortfall)
        self.feature_slopes = self.features.scattered(best_slopes, others=np.nan)
        return best, None

    def _dual_point(
        self, table: Floats, slopes: Floats, multiplier: ChangeMultiplier, constant: float
    ) -> _DualPoint | InstanceRefuted | None:
        """What these slopes give, or a text that fails; None where more words would have to change
        than may.
        """
        prices = self.features.scattered(slopes, others=0.0)
        value, chosen, candidates = multiplier.cheapest(prices, self.allowed)
        if value == np.inf:
            return None
        for text in candidates:
            refuted = self._refutation(text)
            if refuted is not None:
                return refuted
        remainder = table - slopes[:, None] * self.features.counts
        least = remainder.min(1)
        counts = self.lattice.counts(chosen)
        # with a multiplier the minimiser may change too many words
        index = self.features.count_index(counts)
        line_gaps = (
            table[np.arange(len(index)), index] - slopes * counts[self.features.variable] - least
        )
        return _DualPoint(value + float(least.sum()) + constant, chosen, counts, line_gaps)

    def _remember(self, point: _DualPoint) -> None:
        self.cheapest = point.minimiser
        self.best_bound = point.bound
        self.line_gaps = self.features.scattered(np.maximum(point.line_gaps, 0.0), others=0.0)

    # --- where to split ---

    def loosest_feature(self) -> int | None:
        """A feature on which its line loses much of what the bound lacks, in the middle of its
        range.
        """
        if not self._open_words().any():
            return None
        counts = self.lattice.counts(self.cheapest)
        ranges = self.features.ranges
        middle = (counts > ranges.least) & (counts < ranges.most)
        gaps = np.where(middle, self.line_gaps, 0.0)
        feature = int(gaps.argmax()) if len(gaps) else 0
        return (
            feature
            if len(gaps)
            and gaps[feature]
            > self.settings.count_split_share * max(-self.best_bound, self.instance.tolerance)
            else None
        )

    def branching_word(self) -> int | None:
        """The word whose choices are split; None where only one text is left."""
        open_words = self._open_words()
        if not open_words.any():
            return None
        score = np.zeros(self.lattice.word_count)
        if self.other is not None:
            score += (self.other != self.cheapest) * self._count_differences(self.other)
        score += self._gap_by_word()
        return int(np.where(open_words, score + tolerances.TIE, -1.0).argmax())

    def branching_choice(self, word: int) -> Ints:
        """The choice of the cheapest text; where a range of S that was left behind has that one,
        another.
        """
        if self.allowed[self.cheapest[word]]:
            return self.cheapest[[word]]
        return np.flatnonzero(self.allowed & (self.lattice.word_of == word))[:1]

    def _open_words(self) -> Bools:
        """The words with more than one choice left."""
        per_word = np.add.reduceat(self.allowed.astype(np.int64), self.lattice.first)
        return np.asarray(per_word > 1)

    def _count_differences(self, other: Ints) -> Floats:
        if self.lattice.trellis is not None:
            return np.ones(self.lattice.word_count)
        counted = np.asarray(abs(self.lattice.option_counts).sum(1)).ravel()
        return np.asarray(tolerances.TIE + np.abs(counted[other] - counted[self.cheapest]))

    def _gap_by_word(self) -> Floats:
        """The gap of repeated features, shared out to the words that could hold them."""
        score = np.zeros(self.lattice.word_count)
        if self.line_gaps.max(initial=0.0) > 0:
            trellis = self.lattice.trellis
            gap_by_choice = (
                abs(self.lattice.option_counts) @ self.line_gaps
                if trellis is None
                else trellis.most_by_choice(self.line_gaps)
            )
            np.maximum.at(score, self.lattice.word_of, np.where(self.allowed, gap_by_choice, 0.0))
            gaps = self.line_gaps[self.lattice.pairs.feature]
            for end in (self.lattice.pairs.earlier, self.lattice.pairs.later):
                np.maximum.at(
                    score, self.lattice.word_of[end], np.where(self.allowed[end], gaps, 0.0)
                )
        return score

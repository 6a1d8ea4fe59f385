"""Bound: one part of the texts, under lines in the place of the root and of repeated features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.bag.case import Case, Fails, Stretch
from suffice.prove.bag.cheapest import Toll, moved_steps
from suffice.prove.bag.features import Features
from suffice.prove.bag.ranges import Ranges
from suffice.prove.chain import Chain

LINES = 10  # lines under the square root that are tried before words are split
LOSSY = 0.1  # of what a bound lacks: so much lost on one feature and its counts are split


@dataclass(frozen=True, eq=False)
class Part:
    """The texts of `allowed` choices, `within` counts of features, and what the bound for more of them ended with."""

    allowed: Bools
    slopes: Floats  # NaN where there is none yet
    toll: float | None = None
    within: Ranges | None = None


@dataclass(frozen=True, eq=False)
class _Tried:
    """What slopes give: the bound, the cheapest text, and what lines lose on its counts, by feature."""

    bound: float
    chosen: Ints
    counts: Floats
    gaps: Floats


class Bound:
    """The bound for one part; `run` gives the lines that prove it, a text that fails, or None."""

    def __init__(self, case: Case, part: Part) -> None:
        self.case, self.layout, self.allowed = case, case.layout, part.allowed
        self.features = Features(case, part.allowed, part.within)
        self.slopes, self.toll = part.slopes, part.toll
        self.chosen, self.margin, self.value = case.reference, np.inf, -np.inf
        self.other: Ints | None = None  # the text on the other side of a tangent
        self.gaps = np.zeros(len(self.layout.columns))

    def run(self) -> tuple[Stretch, ...] | Fails | None:
        if self.features.none:
            return ()
        if not self._open().any():
            return self._only()
        nothing = self._nothing()
        if nothing is not None:
            return nothing
        match self.layout.bag.norm:
            case None:
                return self._single(self.case.bias)
            case "l1":
                return self._single(0.0)
            case "l2" if self.case.bias >= 0:
                return self._chords()
            case "l2":
                return self._tangents()

    # --- single texts ---

    def _nothing(self) -> Fails | None:
        """A text without known features, where it is allowed and fails."""
        if self.layout.chain is not None:
            return self._bare(self.layout.chain)
        size = np.asarray(abs(self.layout.inner).sum(1)).ravel()
        bare = self.allowed & (self.layout.empty if self.layout.pairs else size == 0)
        reference = self.case.reference
        chosen = np.full(self.layout.size, -1, dtype=np.int64)
        found = np.flatnonzero(bare)
        chosen[self.layout.slot[found][::-1]] = found[::-1]
        chosen = np.where(bare[reference], reference, chosen)
        return self._failed(chosen) if (chosen >= 0).all() and self.case.holds(chosen) else None

    def _bare(self, chain: Chain) -> Fails | None:
        """The same, where features reach over words."""
        price = np.asarray(abs(chain.rows).sum(1)).ravel()[chain.row]
        cost = price + np.append(np.where(self.allowed, 0.0, np.inf), 0.0)[chain.choice]
        value, chosen = chain.cheapest(cost, moved_steps(self.case, chain), None)
        return self._failed(chosen) if value <= 0 and self.case.holds(chosen) else None

    def _only(self) -> tuple[Stretch, ...] | Fails | None:
        """The only text that is left."""
        chosen = np.flatnonzero(self.allowed)
        if not self.case.holds(chosen):
            return ()
        failed = self._failed(chosen)
        self.chosen = chosen
        form, self.margin = self.case.form(self.layout.counts(chosen))
        return failed if failed is not None else () if form > self.case.tolerance else None

    def _failed(self, chosen: Ints) -> Fails | None:
        form, margin = self.case.form(self.layout.counts(chosen))
        return Fails(chosen, margin) if form <= 0.0 else None

    # --- lines in the place of the root ---

    def _single(self, constant: float) -> tuple[Stretch, ...] | Fails | None:
        """No root: one line of slope zero."""
        bound, failed = self._under(0.0, constant)
        if failed is not None:
            return failed
        return (self._stretch(*self.features.span, 0.0),) if bound > self.case.tolerance else None

    def _stretch(self, low: float, high: float, slope: float) -> Stretch:
        return Stretch(low, high, slope, self.slopes, self.toll)

    def _chords(self) -> tuple[Stretch, ...] | Fails | None:
        """Chords of the root over ranges of S, which are cut where they do not decide."""
        waiting, done, left = [self.features.span], [], LINES
        while waiting:
            low, high = waiting.pop()
            root_low, root_high = np.sqrt(low), np.sqrt(high)
            slope = self.case.bias / (root_low + root_high) if high > 0 else 0.0
            bound, failed = self._under(slope, self.case.bias * root_low - slope * low)
            if failed is not None:
                return failed
            if bound > self.case.tolerance:
                done.append(self._stretch(low, high, slope))
                continue
            left -= 1
            if left <= 0 or high - low <= 1e-6 * high:
                return None
            middle = self._square(self.chosen)
            if not low + 0.1 * (high - low) < middle < high - 0.1 * (high - low):
                middle = 0.5 * (low + high)
            waiting += [(low, middle), (middle, high)]
        return tuple(done)

    def _tangents(self) -> tuple[Stretch, ...] | Fails | None:
        """-sqrt(S) >= -(S / 2t + t / 2): the best t lies where S of the cheapest text meets t squared."""
        low, high = np.sqrt(self.features.span[0]), np.sqrt(self.features.span[1])
        if high == 0.0:
            return self._single(0.0)
        at = min(max(np.sqrt(self._square(self.case.reference)), low), high) or high
        best, sides = -np.inf, {}
        for _ in range(LINES):
            slope = 0.5 * self.case.bias / at
            bound, failed = self._under(slope, 0.5 * self.case.bias * at)
            if failed is not None:
                return failed
            if bound > self.case.tolerance:
                return (self._stretch(*self.features.span, slope),)
            best = max(best, bound)
            there = np.sqrt(self._square(self.chosen))
            sides[there > at] = self.chosen
            if abs(there - at) <= 1e-9 * high:
                break
            low, high = (at, high) if there > at else (low, at)
            at = min(max(there, low + 0.1 * (high - low)), high - 0.1 * (high - low))
            if high - low <= 1e-4 * high:
                break
        self.value = best
        if len(sides) == 2:
            self.chosen, self.other = sides[True], sides[False]
        return None

    def _square(self, chosen: Ints) -> float:
        return float((self.layout.values(self.layout.counts(chosen)) ** 2).sum())

    # --- under one line ---

    def _under(self, slope: float, constant: float) -> tuple[float, Fails | None]:
        """The least of the form with a line of this slope in the place of the root; the best text is kept."""
        table, toll = self.features.table(slope), Toll(self.case, self.toll)
        constant += self.features.still(slope)
        slopes = kept = self.features.first_slopes(table, self.slopes)
        best = -np.inf
        for _ in range(toll.turns):
            tried = self._try(table, slopes, toll, constant)
            if tried is None:
                return np.inf, None
            if isinstance(tried, Fails):
                return best, tried
            if tried.bound > best:
                best, kept, self.toll = tried.bound, slopes, toll.last
                self._keep(tried)
            settled = tried.gaps.max(initial=0.0) <= 1e-12 * self.case.scale
            if tried.bound > self.case.tolerance or (settled and toll.settled):
                break
            lacking = max(-tried.bound, self.case.tolerance)
            slopes = self.features.next_slopes(table, slopes, tried.counts, lacking)
        self.slopes = self.features.everywhere(kept, others=np.nan)
        return best, None

    def _try(self, table: Floats, slopes: Floats, toll: Toll, constant: float) -> _Tried | Fails | None:
        """What these slopes give, or a text that fails; None where more words would have to change than may."""
        prices = self.features.everywhere(slopes, others=0.0)
        value, chosen, texts = toll.cheapest(prices, self.allowed)
        if value == np.inf:
            return None
        for text in texts:
            failed = self._failed(text)
            if failed is not None:
                return failed
        free = table - slopes[:, None] * self.features.counts
        least, counts = free.min(1), self.layout.counts(chosen)
        at = self.features.places(counts)  # a text that pays the toll may change too many words
        lost = table[np.arange(len(at)), at] - slopes * counts[self.features.wide] - least
        return _Tried(value + float(least.sum()) + constant, chosen, counts, lost)

    def _keep(self, tried: _Tried) -> None:
        self.chosen, self.value = tried.chosen, tried.bound
        self.gaps = self.features.everywhere(np.maximum(tried.gaps, 0.0), others=0.0)

    # --- where to split ---

    def lossy(self) -> int | None:
        """A feature on which its line loses much of what the bound lacks, in the middle of its range."""
        if not self._open().any():
            return None
        counts, ranges = self.layout.counts(self.chosen), self.features.ranges
        middle = (counts > ranges.least) & (counts < ranges.most)
        lost = np.where(middle, self.gaps, 0.0)
        feature = int(lost.argmax()) if len(lost) else 0
        return feature if len(lost) and lost[feature] > LOSSY * max(-self.value, self.case.tolerance) else None

    def word(self) -> int | None:
        """The word whose choices are split; None where only one text is left."""
        open_words = self._open()
        if not open_words.any():
            return None
        score = np.zeros(self.layout.size)
        if self.other is not None:
            score += (self.other != self.chosen) * self._differences(self.other)
        score += self._gap_by_word()
        return int(np.where(open_words, score + 1e-12, -1.0).argmax())

    def kept(self, word: int) -> Ints:
        """The choice of the cheapest text; where a range of S that was left behind has that one, another."""
        if self.allowed[self.chosen[word]]:
            return self.chosen[[word]]
        return np.flatnonzero(self.allowed & (self.layout.slot == word))[:1]

    def _open(self) -> Bools:
        """The words with more than one choice left."""
        per_word = np.add.reduceat(self.allowed.astype(np.int64), self.layout.first)
        return np.asarray(per_word > 1)

    def _differences(self, other: Ints) -> Floats:
        if self.layout.chain is not None:
            return np.ones(self.layout.size)
        size = np.asarray(abs(self.layout.inner).sum(1)).ravel()
        return np.asarray(1e-6 + np.abs(size[other] - size[self.chosen]))

    def _gap_by_word(self) -> Floats:
        """The gap of repeated features, shared out to the words that could hold them."""
        score = np.zeros(self.layout.size)
        if self.gaps.max(initial=0.0) > 0:
            chain = self.layout.chain
            held = abs(self.layout.inner) @ self.gaps if chain is None else chain.by_choice(self.gaps)
            np.maximum.at(score, self.layout.slot, np.where(self.allowed, held, 0.0))
            gaps = self.gaps[self.layout.pairs.feature]
            for end in (self.layout.pairs.earlier, self.layout.pairs.later):
                np.maximum.at(score, self.layout.slot[end], np.where(self.allowed[end], gaps, 0.0))
        return score

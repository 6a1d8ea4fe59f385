"""Windows: texts of a network of maxima over sums of choices, as what each word adds to each sum.

In coordinates of choices each unit of the first step is a sum over the few words it sees, so that texts with another
word are tried by adding what the word adds: attacks are cheap, and counterexamples are made as short as they go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.step import Groups
from suffice.prove.bounds import NEAR, Form
from suffice.prove.exact import confirm
from suffice.prove.maxima import LEAN
from suffice.prove.verdict import Problem, Source, Witness

TRIALS = 3  # counterexamples known from elsewhere that an attack starts from
SAFE = 4  # times what readers take off for rounding that a bound must be above zero


def suits(problem: Problem) -> bool:
    """Maxima over sums of choices, then scores."""
    first, *rest = problem.network.steps
    return len(rest) == 1 and bool(first.maxima) and bool(first.pooled.all()) and problem.source is not None


@dataclass(frozen=True, eq=False)
class Windows:
    """What each way to fill each word adds to each unit, and what the maxima over the units are worth.

    A *filling* is a word with one of its different vectors; the first one of each word is its own. `added` (fillings,
    units) is what it adds, `word` its word, as a place of `words`, the positions that can move, and `choices` the
    region's choices that it stands for. `weights` (rivals, maxima) and `constants` (rivals,) make margins of maxima,
    which are at least `floor`; no margin counts that is closer to zero than `doubt` (rivals,). A text is a filling for
    each word. Changed words cost no more than `limit` in all, by `costs` (length,).
    """

    problem: Problem
    base: Floats
    starts: Ints
    floor: Floats
    weights: Floats
    constants: Floats
    doubt: Floats
    words: Ints
    added: Floats
    word: Ints
    choices: tuple[tuple[int, ...], ...]
    costs: Floats
    limit: float
    aims: tuple[int, ...] | None = None  # the only rivals, where some do not count

    @staticmethod
    def of(form: Form) -> Windows:
        """For any change of no more words than the problem's limit."""
        problem, first = form.problem, form.steps[0]
        groups, source = first.groups, problem.source
        assert groups is not None
        assert source is not None
        words = np.flatnonzero(problem.features & problem.region.movable())
        fillings = [(place, some) for place, word in enumerate(words) for some in _fillings(problem, int(word))]
        added = [source.added[groups.units, words[place], some[0]] for place, some in fillings]
        size = np.abs(form.margin.weight)[:, groups.owner] @ form.toll[0] + form.margin_size
        return Windows(
            problem=problem,
            base=first.bias[groups.units],
            starts=groups.starts,
            floor=np.full(len(groups.starts), -np.inf),
            weights=form.margin.weight[:, groups.leaders],
            constants=form.margin.bias,
            doubt=SAFE * form.gamma * size + _lean(form, groups, source),
            words=words,
            added=np.array(added).reshape(-1, len(groups.units)),
            word=np.array([place for place, _ in fillings], dtype=np.int64),
            choices=tuple(some for _, some in fillings),
            costs=np.ones(len(problem.features)),
            limit=float(problem.limit),
        )

    def paying(self, costs: Floats, limit: float, rivals: Sequence[int]) -> Windows:
        """For changes worth at most `limit`, by the costs of words (length,), that lift one of these rivals."""
        mine = list(rivals)
        return replace(
            self,
            weights=self.weights[mine],
            constants=self.constants[mine],
            doubt=self.doubt[mine],
            costs=costs.astype(np.float64),
            limit=float(limit),
            aims=tuple(mine),
        )

    def within(self, free: Bools) -> Windows:
        """Without the units that cannot win while only free words (length,) move."""
        mine = free[self.words].astype(np.float64)
        low, high = (self.base + mine @ side for side in self._ends)
        least = np.maximum(largest(low, self.starts), self.floor)
        live = high > least[self.group]
        floor = np.maximum(largest(np.where(live, -np.inf, low), self.starts), self.floor)
        starts, kept = remaining(self.group[live])
        gone = np.setdiff1d(np.arange(len(least)), kept)
        return replace(
            self,
            base=self.base[live],
            starts=starts,
            floor=floor[kept],
            weights=self.weights[:, kept],
            constants=self.constants + self.weights[:, gone] @ least[gone],
            added=self.added[:, live],
        )

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        """The least and the most that each word adds: (words, units)."""
        return np.minimum.reduceat(self.added, self.own), np.maximum.reduceat(self.added, self.own)

    @cached_property
    def prices(self) -> Floats:
        """What changing each word (words,) costs."""
        return np.asarray(self.costs[self.words])

    @cached_property
    def own(self) -> Ints:
        """The text itself: the first filling of each word."""
        return np.searchsorted(self.word, np.arange(len(self.words)))

    @cached_property
    def group(self) -> Ints:
        """The maximum of each unit."""
        return np.repeat(np.arange(len(self.starts)), np.diff([*self.starts, len(self.base)]))

    def points(self, texts: Sequence[Ints]) -> Floats:
        """Texts in coordinates: (n, length, choices)."""
        found = np.zeros((len(texts), *self.problem.center.shape))
        for place, text in enumerate(texts):
            for word in np.flatnonzero(text != self.own):
                found[place, self.words[word], self.choices[text[word]][0]] = 1.0
        return found

    def text(self, point: Floats) -> Ints:
        """The text of a point in coordinates."""
        found = self.own.copy()
        for place in np.flatnonzero(point[self.words].any(-1)):
            choice = int(point[self.words[place]].argmax())
            found[place] = next(i for i in np.flatnonzero(self.word == place) if choice in self.choices[i])
        return found

    def sums(self, text: Ints) -> Floats:
        return np.asarray(self.base + self.added[text].sum(0))

    def margins(self, sums: Floats) -> Floats:
        """The margins (n, rivals) of sums (n, units)."""
        return np.asarray(np.maximum(largest(sums, self.starts), self.floor) @ self.weights.T + self.constants)

    def lowered(self, text: Ints, allowed: Bools) -> tuple[Ints, float]:
        """The text with one word after the other changed, within allowed fillings, while the lowest margin falls."""
        rows, sums = np.flatnonzero(allowed), self.sums(text)
        word, least = self.word[rows], float(self.margins(sums[None]).min())
        trials = sums + (self.added[rows] - self.added[text[word]])  # each with one word changed
        while len(rows) and least > -self.doubt.max():
            found = np.where(self._payable(text, rows), self.margins(trials).min(-1), np.inf)
            best = int(found.argmin())
            if found[best] >= least:
                break
            moved = self.added[rows[best]] - self.added[text[word[best]]]
            least, text = float(found[best]), _with(text, int(word[best]), int(rows[best]))
            trials[word != word[best]] += moved
        return text, least

    def _payable(self, text: Ints, rows: Ints) -> Bools:
        """Which fillings can be paid for beside the changes of a text."""
        changed, word = text != self.own, self.word[rows]
        return np.asarray(changed[word] | (self.prices[word] <= self.limit - self.prices[changed].sum()))

    def shortened(self, text: Ints) -> Ints:
        """The text with words put back while a rival stays ahead, always the one that leaves it furthest ahead."""
        while len(changed := np.flatnonzero(text != self.own)):
            found = (self.margins(self.sums(text) - self.added[text[changed]]) + self.doubt).min(-1)
            best = int(found.argmin())
            if found[best] > 0:
                break
            text = _with(text, int(changed[best]), int(self.own[changed[best]]))
        return text

    def attacked(self, free: Bools, starts: Sequence[Ints] = ()) -> Ints | None:
        """A text that changes free words (length,) only and keeps no lead, if one is found."""
        mine = free[self.words]
        text, least = self.lowered(self.own, mine[self.word])
        if least <= 0 or not starts:
            return text if least <= 0 else None
        trials = np.where(mine, np.stack(starts), self.own)
        trials = trials[(trials != self.own) @ self.prices <= self.limit]
        known = self.margins(self.base + self.added[trials].sum(1)).min(-1)
        for place in np.argsort(known, kind="stable")[:TRIALS]:
            text, least = self.lowered(trials[place], mine[self.word])
            if least <= 0:
                return text
        return None

    def witness(self, text: Ints) -> Witness | None:
        """The text as a counterexample, if it really is one."""
        return confirm(self.problem, self.points([text]), self.problem.features[None], aims=self.aims)[0]


def _lean(form: Form, groups: Groups, source: Source) -> Floats:
    """What readers may lose (rivals,) because they take bounds that are close to each other as equal."""
    least, most = (groups.highest((form.steps[0].bias + side.sum(-1))[groups.units]) for side in source.reach)
    near = NEAR * groups.highest(form.size[0][groups.units])
    return np.asarray(2 * np.abs(form.margin.weight[:, groups.leaders]) @ (LEAN * (most - least) + near))


def largest(values: Floats, starts: Ints) -> Floats:
    """The largest of each group (..., groups) of values (..., units)."""
    return np.maximum.reduceat(values, starts, axis=-1) if len(starts) else values[..., :0]


def remaining(group: Ints) -> tuple[Ints, Ints]:
    """Where groups start among units that are left, whose groups these are; and which groups they are."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    return starts, group[starts]


def _fillings(problem: Problem, word: int) -> list[tuple[int, ...]]:
    """The choices of a word, those of equal vectors together, its own first."""
    source = problem.source
    assert source is not None
    points = source.problem.region.points[word]  # type: ignore[union-attr]
    same = (points[:, None] == points).all(-1).argmax(-1)
    found = [tuple(np.flatnonzero(same == first).tolist()) for first in np.unique(same)]
    own = (points == source.problem.center[word]).all(-1)
    return sorted(found, key=lambda some: not own[some[0]])


def _with(text: Ints, word: int, filling: int) -> Ints:
    found = text.copy()
    found[word] = filling
    return found

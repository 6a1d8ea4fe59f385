"""Sieving: a question over maxima of the input, decided by who may win them where the label would be lost.

Bundles of maxima (`bundles`) are sifted and joined as long as that helps; what is left is split on who wins one of
them, and both sides go on from where they are. The proof says at each step which lines it takes; who that leaves, and
that in the end nobody is left, its reader works out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.prove.bounds import Dual, Form, Items, margin_bound
from suffice.prove.bundles import Bundle, Guess, Match, Sieve, higher, joined, matches
from suffice.prove.climb import Ground, Pace, single, started, with_settled, with_shares
from suffice.prove.runs import CLOSED
from suffice.prove.tree import Sieved, Split, Stage, Tree
from suffice.prove.verdict import Budget

PAIRS, FOURS, ON = (
    Pace(100, (0.006, 0.0006), (0.03, 0.002)),
    Pace(80, (0.004, 0.0005), (0.015, 0.0015)),
    Pace(50, (0.003, 0.0005), (0.01, 0.0015)),
)
FEW, SOME, MANY = 6, 100, 200  # choices of each bundle that are looked at to join pairs, to climb, and at first
LITTLE = 1e-5  # what each candidate has below a maximum at least
JOINED = 60_000  # choices up to which bundles of four are joined further
WORST = 3  # bundles that give away most: one of their maxima is split on
CHOICES, EACH = 400_000, 1500  # that bundles may have in all, at most and for each subproblem that is allowed
PARTS = 20  # subproblems that take as long as one part
LARGEST = 100_000, 5 * 10**6  # choices that one bundle may have, and numbers that these may have in all
WORTH = 0.75  # of all choices: where no more are left, a sieve is worth a line of the proof
AGAIN = 3  # times that bundles of four are joined further, at most


def sifted(
    form: Form, batch: Items, dual: Dual, ground: Ground, budget: Budget, tried: Callable[[Floats], bool]
) -> Tree | None:
    """The proof of an item without splits, as far as the budget's subproblems go.

    `tried` says of a point, as numbers between -1 and 1, whether it answers the question: there is no proof then.
    """
    asked = Sifting(form, ground, dual.alpha, min(CHOICES, EACH * budget.subproblems), budget, tried)
    # Products of singles may flag numbers that are in no array; what is no number leads to no proof.
    with np.errstate(over="ignore", invalid="ignore"):
        return _Run(asked, 1 + budget.subproblems // PARTS).closed(_everybody(form, batch, dual, ground), first=True)


@dataclass(frozen=True, eq=False)
class Sifting:
    """What is asked: the form, where it climbs, how many choices may be looked at, and who tries points for real."""

    form: Form
    ground: Ground
    alpha: Floats
    most: int
    budget: Budget
    tried: Callable[[Floats], bool]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.form.problem.center.shape

    @property
    def largest(self) -> int:
        """How many choices one bundle may have."""
        choices, numbers = LARGEST
        return min(choices, numbers // max(1, len(self.ground.moving)))

    def stage(self, sieve: Sieve) -> Stage:
        alpha = with_shares(self.form, sieve.below, self.alpha, sieve.below.softly(sieve.logs))[0]
        rows = np.zeros((len(sieve.bundles), len(self.ground.radius)))
        moving = self.ground.moving
        rows[:, moving] = np.stack([bundle.row for bundle in sieve.bundles]) / self.ground.radius[moving]
        return Stage(alpha, tuple(bundle.parts for bundle in sieve.bundles), single(rows).reshape(-1, *self.shape))


class _Run:
    """One run: the stages of the part it is at, what the last of them left, and how many parts it may still look at.

    It is `over` once a point has answered the question, or there are too many choices to look at.
    """

    def __init__(self, sifting: Sifting, parts: int) -> None:
        self.sifting, self.parts, self.over = sifting, parts, False
        self.stages: list[Stage] = []
        self.said: Sieve | None = None
        self.guess: Guess | None = None

    def closed(self, sieve: Sieve, first: bool = False) -> Tree | None:
        """The proof of what is left, or None."""
        if sieve.empty:
            return CLOSED
        if self.parts == 0 or self.over or self.sifting.budget.spent:
            return None
        self.parts, self.stages, self.said, self.guess = self.parts - 1, [], None, None
        sieve = self._at_first(sieve) if first else self._climbed(sieve, ON, SOME, 2)
        sieve = self._joined_further(sieve)
        stages, found = self.stages, CLOSED if sieve.empty else self._split(sieve)
        for stage in reversed(stages):
            found = None if found is None else Sieved(stage, found)
        return found

    def _at_first(self, sieve: Sieve) -> Sieve:
        """In pairs, then in fours."""
        for look, near, pace, turns in ((FEW, MANY, PAIRS, 1), (SOME // 4, SOME, FOURS, 3)):
            pairs = [] if sieve.empty else matches(sieve, self.sifting.largest, look)
            self.over |= sum(pair.size for pair in pairs) > self.sifting.most
            if not pairs or self.over:
                break
            sieve = self._climbed(self._joined(sieve, pairs), pace, near, turns)
            self.over |= self._answered(sieve)
        return sieve

    def _joined_further(self, sieve: Sieve) -> Sieve:
        """Joined as long as there are so few choices that this is quick."""
        for _ in range(AGAIN):
            few = not sieve.empty and not self.over and sieve.count <= JOINED
            pairs = matches(sieve, self.sifting.largest, SOME // 4) if few else []
            if not pairs:
                break
            sieve = self._climbed(self._joined(sieve, pairs), ON, SOME, 2)
        return sieve

    def _joined(self, sieve: Sieve, pairs: Sequence[Match]) -> Sieve:
        """Joined by lines that the proof says."""
        return joined(sieve if sieve is self.said else self._say(sieve, sieve), pairs)

    def _answered(self, sieve: Sieve) -> bool:
        """Whether the point where the margin is least, as far as lines tell, answers the question."""
        return self.guess is not None and not sieve.empty and self.sifting.tried(self.guess.at)

    def _climbed(self, sieve: Sieve, pace: Pace, look: int, turns: int) -> Sieve:
        """Sifted and with better lines, in turns."""
        for _ in range(turns):
            sieve = self._sifted(sieve)
            if sieve.empty or self.sifting.budget.spent:
                return sieve
            sieve, self.guess = higher(sieve, pace, look, self.sifting.budget)
        return self._sifted(sieve)

    def _sifted(self, sieve: Sieve) -> Sieve:
        """Without choices that are out; where these are few, they stay, as the proof would be longer by all others."""
        left = sieve.sifted()
        return self._say(sieve, left) if left.empty or left.count < WORTH * sieve.count else sieve

    def _say(self, sieve: Sieve, left: Sieve) -> Sieve:
        self.stages.append(self.sifting.stage(sieve))
        self.said = left.written()
        return self.said

    def _split(self, sieve: Sieve) -> Tree | None:
        """Who wins one of the maxima, and who does not: both sides."""
        self.over |= self._answered(sieve)
        cut = None if self.guess is None or self.over else self.guess.split(WORST)
        if cut is None:
            return None
        other, this = sieve.split(*cut)
        without, within = self.closed(other), None
        if without is not None:
            within = self.closed(this)
        unit = int(self.sifting.ground.land.above.units[cut[1]])
        return None if without is None or within is None else Split(unit, (without, within))


def _everybody(form: Form, batch: Items, dual: Dual, ground: Ground) -> Sieve:
    """Every maximum that takes a line above as a bundle of its own, with the candidates that may win it."""
    land, live = ground.land, _live(form, batch, ground)
    start = started(form, batch, dual, margin_bound(form, batch, dual), ground, LITTLE)
    rows, bundles = with_settled(land, start)[0], []
    for place, some in enumerate(np.split(np.arange(len(land.above.units)), land.above.groups.starts[1:])):
        kept, push = some[live[land.above.units[some]]], start.push[0, place]
        own, mine = push * land.above.own[kept], push * land.above.rows[kept]
        size = float((np.abs(own) + np.abs(mine).sum(-1)).max(initial=0.0))
        if push > 0:
            leader = int(ground.peaks.units[place])
            name = leader if form.kept is None else int(form.kept[leader])  # as the whole network has it
            bundles.append(Bundle.of((name,), (place,), kept[:, None], mine, own, push * rows[place], size))
    return Sieve(tuple(bundles), land.below, start.logs, start.pull, single(batch.rows.constant))


def _live(form: Form, batch: Items, ground: Ground) -> Bools:
    """The units (units,) that a reader may let win, however it rounds."""
    found, members = np.zeros(form.units, dtype=bool), ground.peaks.members
    lower, upper = batch.bounds.lower[:, members], batch.bounds.upper[:, members]
    found[members] = ground.peaks.may_win(lower, upper, None)[0]
    return found

"""Asking: explanations of a classifier that can only be run.

Every explanation shares a word with every set of words whose change flips the label. So the cheapest set that hits all
flips known costs no more than any explanation: the lower bound. It is also the candidate: flips are looked for among
changes of the other words, greedily and then one by one. Where every allowed text was asked and none flips, the
candidate is proved, and it is the cheapest. All texts are asked as a growing cube: the changes of one word, of two, of
three...; each full cube proves that everything outside it is enough, which is the upper bound in the meantime.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice
from typing import Any

import numpy as np

from suffice.model.network import Floats
from suffice.model.text import Change
from suffice.proof.draws import draw_seed, draws
from suffice.prove.asked import Asked, Flip, OutOfBudget
from suffice.search.covers import bits, cheapest_cover, covers_of, price
from suffice.search.flip import FlipStatus
from suffice.search.greedy import attack, shrink

SMALL = 64  # so few texts are asked at once, without attacks
FIRST, MOST = 64, 2048  # changes asked at first and at most: few while a flip may be near, then many of equal length
SHARE = 0.998  # of the allowed texts that a test should vouch for
LEAST = 50  # texts below which a test says nothing

Progress = Callable[[int, int, float, int], None]


@dataclass(frozen=True)
class Exhausted:
    """Every text that changes only words of `free`, at most `limit` of them, was asked and keeps the label."""

    free: int
    limit: int
    texts: int

    def covers(self, free: int, size: int) -> bool:
        return free & ~self.free == 0 and size <= self.limit


@dataclass(frozen=True)
class Drawn:
    """No flip among `count` texts drawn from the allowed ones: with the confidence, at least `share` of them keep it.

    `look` counts the tests of this question; the error of look k is (1 - confidence) / 2^k, so all of them together
    err with no more than 1 - confidence.
    """

    count: int
    confidence: float
    share: float
    look: int
    seed: int


@dataclass(eq=False)
class Turning:
    """The cheapest flip found, and the cost below which there is none."""

    status: FlipStatus
    flip: Flip | None
    lower: int
    reason: str = ""
    proof: tuple[int, Any] | None = None  # computed: no change of up to so many words flips the label


@dataclass(eq=False)
class Asking:
    """What is wanted, and what is known so far."""

    asked: Asked
    costs: Sequence[int]
    include: int = 0
    exclude: int = 0
    avoid: int = 0  # words that are held only where nothing as cheap does without them
    seed: int = 0
    confidence: float | None = None
    perturbation: Any = None  # the set as plain data: draws depend on it
    on_progress: Progress | None = None
    flips: list[Flip] = field(default_factory=list)
    doubts: list[int] = field(default_factory=list)  # words of texts that are too close to call
    cubes: list[Exhausted] = field(default_factory=list)
    lower: int = 0
    best: int | None = None
    looks: int = 0
    drawn: tuple[int, Drawn] | None = None
    rung: tuple[int, int] = (0, 0)  # a candidate and the number of changes up to which it is proved

    @property
    def everything(self) -> int:
        """All that may be held."""
        return (1 << len(self.costs)) - 1 & ~self.exclude

    def free(self, held: int) -> list[int]:
        return bits(self.asked.movable & ~held)

    # --- is it enough? ---

    def decide(self, held: int) -> Flip | None:
        """A flip that keeps these words; None where every allowed text was asked. Open texts go to `doubts`."""
        free = self.free(held)
        if self.known(held):
            return None
        if self.asked.count(free) > SMALL:
            flip = attack(self.asked, free)
            if flip is not None:
                return flip
        return self.exhaust(held)

    def known(self, held: int) -> bool:
        """Whether every allowed text that keeps these words was asked and keeps the label."""
        free = self.asked.movable & ~held
        return any(cube.covers(free, self._size(free)) for cube in self.cubes)

    def _size(self, free: int) -> int:
        return min(self.asked.limit, free.bit_count())

    def exhaust(self, held: int) -> Flip | None:
        """Ask every allowed text that keeps these words, as a growing cube; the first flip ends it."""
        order = self._order(held)
        for place, word in enumerate(order):
            flip = self._grow(word, order[:place])
            if flip is not None:
                return flip
            self._prove(order[: place + 1])
        if not order:
            self._prove(order)
        return None

    def _order(self, held: int) -> list[int]:
        """Words that may not be held first, then the harmless ones: the sooner a cube says something."""
        free = self.free(held)
        singles = [(i, ((i, word),)) for i in free for word in self.asked.options[i]]
        margins = self.asked.margins([change for _, change in singles])
        worst = dict.fromkeys(free, math.inf)
        for (i, _), margin in zip(singles, margins, strict=True):
            worst[i] = min(worst[i], -math.inf if math.isnan(margin) else float(margin))
        return sorted(free, key=lambda i: (not self.exclude >> i & 1, -worst[i], i))

    def _grow(self, word: int, others: Sequence[int]) -> Flip | None:
        held, size = self.rung
        climbed = size if not held & sum(1 << i for i in (word, *others)) else 0
        sets = self.asked.adding(word, others, self.asked.limit, climbed)
        if any(cube.free >> word & 1 for cube in self.cubes):
            sets = (words for words in sets if not self._asked_before(words))
        return self._ask_all(sets)

    def _asked_before(self, words: tuple[int, ...]) -> bool:
        mask = sum(1 << i for i in words)
        return any(cube.covers(mask, len(words)) for cube in self.cubes)

    def _ask_all(self, sets: Iterable[tuple[int, ...]]) -> Flip | None:
        """Ask all changes of each set of words; the smallest flip of the first part that has one."""
        return self._ask_each(change for words in sets for change in self.asked.changes(words))

    def _ask_each(self, changes: Iterator[Change]) -> Flip | None:
        size = FIRST
        while part := list(islice(changes, size)):
            size = min(2 * size, MOST)
            margins = self.asked.margins(part)
            self._doubt(part, margins)
            flips = np.flatnonzero(margins <= 0).tolist()
            if flips:
                return shrink(self.asked, part[min(flips, key=lambda i: (len(part[i]), margins[i]))])
        return None

    def _doubt(self, changes: Sequence[Change], margins: Floats) -> None:
        for place in np.flatnonzero(np.isnan(margins)).tolist():
            self.doubts.append(sum(1 << i for i, _ in changes[place]))
            self.asked.open.add(self.asked.write(changes[place]))

    def _prove(self, free: Sequence[int]) -> None:
        """A full cube: all words outside it are enough, unless a text in it is too close to call."""
        mask = sum(1 << i for i in free)
        if any(doubt & ~mask == 0 for doubt in self.doubts):
            return
        cube = Exhausted(mask, self._size(mask), self.asked.count(free))
        self.cubes = [one for one in self.cubes if not cube.covers(one.free, one.limit)] + [cube]
        held = self.asked.movable & ~mask | self.include
        if not held & self.exclude and (self.best is None or price(held, self.costs) < price(self.best, self.costs)):
            self.best = held
            self.report()

    def report(self) -> None:
        if self.on_progress is not None:
            best = self.everything if self.best is None else self.best
            upper = price(best, self.costs)
            self.on_progress(min(self.lower, upper), upper, self.asked.meter.budget.elapsed, best)

    # --- which is cheapest? ---

    def start(self) -> None:
        """Does the text itself keep its label clearly? And which words flip it alone?"""
        base = self.asked.margins([()])
        if base[0] <= 0:
            self.flips.append(self.asked.flip(()))
        self._doubt([()], base)
        words = bits(self.asked.movable & ~self.include)
        singles = [((i, word),) for i in words for word in self.asked.options[i]]
        margins = self.asked.margins(singles)
        self._doubt(singles, margins)
        for one, margin in zip(singles, margins, strict=True):
            if margin <= 0 and not any(flip.change[:1] and flip.change[0][0] == one[0][0] for flip in self.flips):
                self.flips.append(self.asked.flip(one))
        if base[0] > 0 and not self.exclude & self.asked.movable:
            self._prove(())

    def candidate(self) -> int | None:
        """The cheapest set that hits every flip, and where that costs nothing more every open text too."""
        stop = self.asked.meter.look
        known = [flip.mask for flip in self.flips]
        found = cheapest_cover(known, self._preferring, self.include, self.exclude, stop=stop)
        if found is None:
            return None
        self.lower = max(self.lower, price(found, self.costs))
        if self.doubts:
            sure = cheapest_cover([*known, *self.doubts], self._preferring, self.include, self.exclude, stop=stop)
            return found if sure is None else sure
        return found

    @cached_property
    def _preferring(self) -> list[int]:
        """Costs; of equal ones less for fewer words to avoid, then for more options, which leave fewer texts."""
        options = [len(some) for some in self.asked.options]
        step = 1 + sum(options)
        most = step * (1 + len(options))  # more than all that is not cost can add up to
        extra = [step * (self.avoid >> i & 1) - some for i, some in enumerate(options)]
        return [cost * most + more for cost, more in zip(self.costs, extra, strict=True)]

    def cheapest(self) -> str:
        """Look for the cheapest explanation until it is proved or the budget is spent; the reason why it ended.

        Empty: finished. `best` is the cheapest set proved, `lower` what any explanation costs at least; where `flips`
        cannot be hit without excluded words, `best` stays None and there is no explanation.
        """
        try:
            self.lower = price(self.include, self.costs)
            self.start()
            return self._search()
        except OutOfBudget as spent:
            return str(spent)
        except KeyboardInterrupt:
            return "interrupted"

    def _search(self) -> str:
        while (held := self.candidate()) is not None:
            self.report()
            if self.best is not None and price(self.best, self.costs) <= self.lower:
                return ""
            flip = self._look(held)
            if flip is not None:
                self.flips.append(flip)
            elif self.known(held):
                self.best = held
                return "" if price(held, self.costs) <= self.lower else self.closeness()
            elif any(doubt & held == 0 for doubt in self.doubts) and not self._avoidable():
                return self.closeness()
        self.best = None
        return ""

    def _look(self, held: int) -> Flip | None:
        """A flip that keeps these words, looked for in the order that says most in the time there is."""
        free = self.free(held)
        if self.known(held):
            return None
        if self.asked.count(free) <= SMALL or self._affordable(free):
            return self.decide(held)
        flip = attack(self.asked, free)
        if flip is None and self.confidence is not None:
            flip = self.test(held)
        return flip or self.climb(held) or self.exhaust(held)

    def _avoidable(self) -> bool:
        sets = [*(flip.mask for flip in self.flips), *self.doubts]
        return cheapest_cover(sets, self.costs, self.include, self.exclude, stop=self.asked.meter.look) is not None

    def closeness(self) -> str:
        tolerance, count = self.asked.blackbox.answers.tolerance, len(self.asked.open)
        which = "a text is" if count == 1 else f"{count} texts are"
        how = f"margins within {tolerance:.2g}" if tolerance else "zero but for rounding"
        return f"{which} too close to call ({how})"

    def _affordable(self, free: Sequence[int]) -> bool:
        """Whether all texts fit into what is left, as far as one can tell."""
        return self.asked.count(free) <= 0.8 * self.asked.meter.left()

    # --- what cannot be exhausted ---

    def climb(self, held: int) -> Flip | None:
        """All changes of exactly one word, of two, of three..., while that takes less than half of what is left."""
        free = self.free(held)
        for size in range(1, self._size(self.asked.movable & ~held) + 1):
            more = self.asked.count(free, size) - self.asked.count(free, size - 1)
            if more > 0.5 * self.asked.meter.left():
                return None
            flip = self._ask_all(words for words in combinations(free, size) if not self._asked_before(words))
            if flip is not None:
                return flip
            if any(doubt & held == 0 and doubt.bit_count() <= size for doubt in self.doubts):
                return None
            self.rung = (held, size)
        return None

    def test(self, held: int) -> Flip | None:
        """Draw allowed texts; a flip among them is as good as any, and none is a statement about their share."""
        assert self.confidence is not None
        self.looks += 1
        error = (1.0 - self.confidence) / 2.0**self.looks
        count = math.ceil(math.log(error) / math.log(SHARE))
        count = min(count, int(self.asked.meter.left() * 0.5))
        if count < LEAST:
            return None
        box, text = self.asked.blackbox, self.asked.text
        seed = draw_seed(box.digest, text.source, self.perturbation, bits(held), self.looks)
        drawn = draws(self.asked.options, self.free(held), self.asked.limit, count, seed)
        changes = (tuple(sorted(change.items())) for change in drawn)
        before = len(self.doubts)
        flip = self._ask_each(changes)
        if flip is None and len(self.doubts) == before:
            self.drawn = held, Drawn(count, self.confidence, error ** (1.0 / count), self.looks, seed)
        return flip

    # --- all of them ---

    def all_cheapest(self) -> Iterator[int]:
        """After `cheapest` is finished: every explanation that costs as little, each once; OutOfBudget if there may be
        more."""
        seen: set[int] = set()
        total, open_ones = self.lower, 0
        while True:
            known = [flip.mask for flip in self.flips]
            look = self.asked.meter.look
            sets = covers_of(known, self.costs, total, self.include, self.exclude, look)
            held = next((one for one in sets if one not in seen), None)
            if held is None and open_ones:
                raise OutOfBudget(self.closeness())
            if held is None:
                return
            flip = self.decide(held)
            if flip is not None:
                self.flips.append(flip)
                continue
            seen.add(held)
            if self.known(held):
                yield held
            else:
                open_ones += 1

    def all_minimal(self) -> Iterator[int]:
        """Every explanation of which no word can be left out, the cheapest first."""
        found: list[int] = []
        while True:
            known = [flip.mask for flip in self.flips]
            look = self.asked.meter.look
            held = cheapest_cover(known, self.costs, self.include, self.exclude, found, look)
            if held is None:
                return
            flip = self.decide(held)
            if flip is not None:
                self.flips.append(flip)
                continue
            if not self.known(held):
                raise OutOfBudget(self.closeness())
            found.append(held)
            yield held

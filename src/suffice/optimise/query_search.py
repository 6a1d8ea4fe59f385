"""QuerySearch: explanations of a classifier that can only be run, by implicit hitting sets.

Every explanation shares a word with every set of words whose change flips the label. So the
cheapest set that hits all flips known costs no more than any explanation: the lower bound. It is
also the candidate: flips are sought among changes of the other words, greedily and then one by
one. Where every allowed text was asked and none flips, the candidate is proved, and it is the
cheapest. Texts are asked as a growing cube: the changes of one word, of two, of three; each full
cube proves that everything outside it is sufficient, which is the upper bound in the meantime.

Method: implicit hitting sets over queries, draws (theory, section 12).
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
from suffice.optimise.cheapest_flip import FlipStatus
from suffice.optimise.greedy_flip import greedy_attack, shrink_flip
from suffice.optimise.min_cost_hitting_set import (
    bits,
    hitting_sets_up_to,
    mask_cost,
    min_cost_hitting_set,
)
from suffice.proof.draws import draw_seed, draws
from suffice.settings import RESOURCES, Queries
from suffice.verify.queries import ObservedFlip, OutOfBudget, QuerySession

Progress = Callable[[int, int, float, int], None]


@dataclass(frozen=True)
class EnumeratedCube:
    """Every text that changes only words of `free`, at most `limit` of them, was asked and keeps
    the label.
    """

    free: int
    limit: int
    texts: int

    def covers(self, free: int, size: int) -> bool:
        return free & ~self.free == 0 and size <= self.limit


@dataclass(frozen=True)
class DrawTest:
    """No flip among `count` texts drawn from the allowed ones: with the confidence, at least
    `share` of them keep it.

    `look` counts the tests of this question; the error of look k is (1 - confidence) / 2^k, so all
    of them together err with no more than 1 - confidence.
    """

    count: int
    confidence: float
    share: float
    look: int
    seed: int


@dataclass(eq=False)
class FlipResult:
    """The cheapest flip found, and the cost below which there is none."""

    status: FlipStatus
    flip: ObservedFlip | None
    lower: int
    reason: str = ""
    # computed: no change of up to so many words flips the label
    proof: tuple[int, Any] | None = None


@dataclass(eq=False)
class QuerySearch:
    """One search over one session: the words to hold and not to hold, and the facts learnt so far.

    `flips` are cores, `cubes` proofs; `lower` and `best` are the two bounds.
    """

    session: QuerySession
    costs: Sequence[int]
    include: int = 0
    exclude: int = 0
    avoid: int = 0  # words that are held only where nothing as cheap does without them
    seed: int = 0
    confidence: float | None = None
    perturbation: Any = None  # the set as plain data: draws depend on it
    on_progress: Progress | None = None
    flips: list[ObservedFlip] = field(default_factory=list)
    # sets of changed words of texts that are too close to zero
    doubtful_sets: list[int] = field(default_factory=list)
    cubes: list[EnumeratedCube] = field(default_factory=list)
    lower: int = 0
    best: int | None = None
    tests: int = 0
    drawn: tuple[int, DrawTest] | None = None
    sizes_done: tuple[int, int] = (
        0,
        0,
    )  # a candidate, and the number of changes up to which all its texts keep the label

    @property
    def limits(self) -> Queries:
        return self.session.settings.queries

    @property
    def everything(self) -> int:
        """All that may be held."""
        return (1 << len(self.costs)) - 1 & ~self.exclude

    def free(self, held: int) -> list[int]:
        return bits(self.session.movable & ~held)

    # --- is it enough? ---

    def decide(self, held: int) -> ObservedFlip | None:
        """A flip that keeps these words; None where every allowed text was asked. Open texts go to
        `doubts`.
        """
        free = self.free(held)
        if self.is_proved(held):
            return None
        if self.session.text_count(free) > self.limits.few_texts:
            flip = greedy_attack(self.session, free)
            if flip is not None:
                return flip
        return self.enumerate_all(held)

    def is_proved(self, held: int) -> bool:
        """Whether every allowed text that keeps these words was asked and keeps the label."""
        free = self.session.movable & ~held
        return any(cube.covers(free, self._most_changes(free)) for cube in self.cubes)

    def _most_changes(self, free: int) -> int:
        return min(self.session.most_changes, free.bit_count())

    def enumerate_all(self, held: int) -> ObservedFlip | None:
        """Ask every allowed text that keeps these words, as a growing cube; the first
        flip ends it.
        """
        order = self._deletion_order(held)
        for place, word in enumerate(order):
            flip = self._extend_cube(word, order[:place])
            if flip is not None:
                return flip
            self._add_cube(order[: place + 1])
        if not order:
            self._add_cube(order)
        return None

    def _deletion_order(self, held: int) -> list[int]:
        """Words that may not be held first, then the harmless ones: the sooner a cube says
        something.
        """
        free = self.free(held)
        singles = [(i, ((i, word),)) for i in free for word in self.session.options[i]]
        margins = self.session.margins([change for _, change in singles])
        worst = dict.fromkeys(free, math.inf)
        for (i, _), margin in zip(singles, margins, strict=True):
            worst[i] = min(worst[i], -math.inf if math.isnan(margin) else float(margin))
        return sorted(free, key=lambda i: (not self.exclude >> i & 1, -worst[i], i))

    def _extend_cube(self, word: int, others: Sequence[int]) -> ObservedFlip | None:
        held, size = self.sizes_done
        size_done = size if not held & sum(1 << i for i in (word, *others)) else 0
        sets = self.session.sets_with(word, others, self.session.most_changes, size_done)
        if any(cube.free >> word & 1 for cube in self.cubes):
            sets = (words for words in sets if not self._was_asked(words))
        return self._ask_sets(sets)

    def _was_asked(self, words: tuple[int, ...]) -> bool:
        mask = sum(1 << i for i in words)
        return any(cube.covers(mask, len(words)) for cube in self.cubes)

    def _ask_sets(self, sets: Iterable[tuple[int, ...]]) -> ObservedFlip | None:
        """Ask all changes of each set of words; the smallest flip of the first part
        that has one.
        """
        return self._ask_changes(change for words in sets for change in self.session.changes(words))

    def _ask_changes(self, changes: Iterator[Change]) -> ObservedFlip | None:
        size = max(1, self.limits.few_texts)
        while part := list(islice(changes, size)):
            size = min(2 * size, RESOURCES.most_texts)
            margins = self.session.margins(part)
            self._record_doubts(part, margins)
            flips = np.flatnonzero(margins <= 0).tolist()
            if flips:
                return shrink_flip(
                    self.session, part[min(flips, key=lambda i: (len(part[i]), margins[i]))]
                )
        return None

    def _record_doubts(self, changes: Sequence[Change], margins: Floats) -> None:
        for place in np.flatnonzero(np.isnan(margins)).tolist():
            self.doubtful_sets.append(sum(1 << i for i, _ in changes[place]))
            self.session.doubtful.add(self.session.write(changes[place]))

    def _add_cube(self, free: Sequence[int]) -> None:
        """A full cube: all words outside it are enough, unless a text in it is too
        close to call.
        """
        mask = sum(1 << i for i in free)
        if any(doubt & ~mask == 0 for doubt in self.doubtful_sets):
            return
        cube = EnumeratedCube(mask, self._most_changes(mask), self.session.text_count(free))
        self.cubes = [one for one in self.cubes if not cube.covers(one.free, one.limit)] + [cube]
        held = self.session.movable & ~mask | self.include
        if not held & self.exclude and (
            self.best is None or mask_cost(held, self.costs) < mask_cost(self.best, self.costs)
        ):
            self.best = held
            self.report()

    def report(self) -> None:
        if self.on_progress is not None:
            best = self.everything if self.best is None else self.best
            upper = mask_cost(best, self.costs)
            self.on_progress(min(self.lower, upper), upper, self.session.meter.budget.elapsed, best)

    # --- which is cheapest? ---

    def start(self) -> None:
        """Does the text itself keep its label clearly? And which words flip it alone?"""
        base = self.session.margins([()])
        if base[0] <= 0:
            self.flips.append(self.session.observed_flip(()))
        self._record_doubts([()], base)
        words = bits(self.session.movable & ~self.include)
        singles = [((i, word),) for i in words for word in self.session.options[i]]
        margins = self.session.margins(singles)
        self._record_doubts(singles, margins)
        for change, margin in zip(singles, margins, strict=True):
            if margin <= 0 and not any(
                flip.change[:1] and flip.change[0][0] == change[0][0] for flip in self.flips
            ):
                self.flips.append(self.session.observed_flip(change))
        if base[0] > 0 and not self.exclude & self.session.movable:
            self._add_cube(())

    def master_candidate(self) -> int | None:
        """The cheapest set that hits every flip, and where that costs nothing more every open text
        too.
        """
        check_time = self.session.meter.check_time
        flip_sets = [flip.mask for flip in self.flips]
        found = min_cost_hitting_set(
            flip_sets, self._tie_broken_costs, self.include, self.exclude, stop=check_time
        )
        if found is None:
            return None
        self.lower = max(self.lower, mask_cost(found, self.costs))
        if self.doubtful_sets:
            without_doubts = min_cost_hitting_set(
                [*flip_sets, *self.doubtful_sets],
                self._tie_broken_costs,
                self.include,
                self.exclude,
                stop=check_time,
            )
            return found if without_doubts is None else without_doubts
        return found

    @cached_property
    def _tie_broken_costs(self) -> list[int]:
        """Costs; of equal ones less for fewer words to avoid, then for more options, which leave
        fewer texts.
        """
        options = [len(some) for some in self.session.options]
        step = 1 + sum(options)
        most = step * (1 + len(options))  # more than all that is not cost can add up to
        extra = [step * (self.avoid >> i & 1) - some for i, some in enumerate(options)]
        return [cost * most + more for cost, more in zip(self.costs, extra, strict=True)]

    def cheapest(self) -> str:
        """Look for the cheapest explanation until it is proved or the budget is spent; the reason
        why it ended.

        Empty: finished. `best` is the cheapest set proved, `lower` what any explanation costs at
        least; where `flips` cannot be hit without excluded words, `best` stays None and there is no
        explanation.
        """
        try:
            self.lower = mask_cost(self.include, self.costs)
            self.start()
            return self._search()
        except OutOfBudget as spent:
            return str(spent)
        except KeyboardInterrupt:
            return "interrupted"

    def _search(self) -> str:
        while (held := self.master_candidate()) is not None:
            self.report()
            if self.best is not None and mask_cost(self.best, self.costs) <= self.lower:
                return ""
            flip = self._examine(held)
            if flip is not None:
                self.flips.append(flip)
            elif self.is_proved(held):
                self.best = held
                return "" if mask_cost(held, self.costs) <= self.lower else self.doubt_reason()
            elif (
                any(doubt & held == 0 for doubt in self.doubtful_sets)
                and not self._doubts_avoidable()
            ):
                return self.doubt_reason()
        self.best = None
        return ""

    def _examine(self, held: int) -> ObservedFlip | None:
        """A flip that keeps these words, looked for in the order that says most in the time there
        is.
        """
        free = self.free(held)
        if self.is_proved(held):
            return None
        if self.session.text_count(free) <= self.limits.few_texts or self._fits_budget(free):
            return self.decide(held)
        flip = greedy_attack(self.session, free)
        if flip is None and self.confidence is not None:
            flip = self.draw_test(held)
        return flip or self.enumerate_by_size(held) or self.enumerate_all(held)

    def _doubts_avoidable(self) -> bool:
        sets = [*(flip.mask for flip in self.flips), *self.doubtful_sets]
        return (
            min_cost_hitting_set(
                sets, self.costs, self.include, self.exclude, stop=self.session.meter.check_time
            )
            is not None
        )

    def doubt_reason(self) -> str:
        tolerance = self.session.blackbox.answers.tolerance
        count = len(self.session.doubtful)
        which = "a text is" if count == 1 else f"{count} texts are"
        how = f"margins within {tolerance:.2g}" if tolerance else "zero but for rounding"
        return f"{which} too close to call ({how})"

    def _fits_budget(self, free: Sequence[int]) -> bool:
        """Whether all texts fit into what is left, as far as one can tell."""
        return (
            self.session.text_count(free)
            <= self.limits.budget_share * self.session.meter.remaining()
        )

    # --- what cannot be exhausted ---

    def enumerate_by_size(self, held: int) -> ObservedFlip | None:
        """All changes of exactly one word, of two, of three..., while that takes less than half of
        what is left.
        """
        free = self.free(held)
        for size in range(1, self._most_changes(self.session.movable & ~held) + 1):
            more = self.session.text_count(free, size) - self.session.text_count(free, size - 1)
            if more > self.limits.budget_share * self.session.meter.remaining():
                return None
            flip = self._ask_sets(
                words for words in combinations(free, size) if not self._was_asked(words)
            )
            if flip is not None:
                return flip
            if any(doubt & held == 0 and doubt.bit_count() <= size for doubt in self.doubtful_sets):
                return None
            self.sizes_done = (held, size)
        return None

    def draw_test(self, held: int) -> ObservedFlip | None:
        """Draw allowed texts; a flip among them is as good as any, and none is a statement about
        their share.
        """
        assert self.confidence is not None
        self.tests += 1
        error = (1.0 - self.confidence) / 2.0**self.tests
        count = math.ceil(math.log(error) / math.log(self.limits.wanted_share))
        count = min(count, int(self.session.meter.remaining() * self.limits.budget_share))
        if count < self.limits.few_texts:
            return None
        blackbox = self.session.blackbox
        text = self.session.text
        seed = draw_seed(blackbox.digest, text.source, self.perturbation, bits(held), self.tests)
        drawn = draws(self.session.options, self.free(held), self.session.most_changes, count, seed)
        changes = (tuple(sorted(change.items())) for change in drawn)
        before = len(self.doubtful_sets)
        flip = self._ask_changes(changes)
        if flip is None and len(self.doubtful_sets) == before:
            self.drawn = (
                held,
                DrawTest(count, self.confidence, error ** (1.0 / count), self.tests, seed),
            )
        return flip

    # --- all of them ---

    def all_cheapest(self) -> Iterator[int]:
        """After `cheapest` is finished: every explanation that costs as little, each once;
        OutOfBudget if there may be more.
        """
        seen: set[int] = set()
        cost = self.lower
        undecided = 0
        while True:
            flip_sets = [flip.mask for flip in self.flips]
            check_time = self.session.meter.check_time
            sets = hitting_sets_up_to(
                flip_sets, self.costs, cost, self.include, self.exclude, check_time
            )
            held = next((one for one in sets if one not in seen), None)
            if held is None and undecided:
                raise OutOfBudget(self.doubt_reason())
            if held is None:
                return
            flip = self.decide(held)
            if flip is not None:
                self.flips.append(flip)
                continue
            seen.add(held)
            if self.is_proved(held):
                yield held
            else:
                undecided += 1

    def all_minimal(self) -> Iterator[int]:
        """Every explanation of which no word can be left out, the cheapest first."""
        found: list[int] = []
        while True:
            flip_sets = [flip.mask for flip in self.flips]
            check_time = self.session.meter.check_time
            held = min_cost_hitting_set(
                flip_sets, self.costs, self.include, self.exclude, found, check_time
            )
            if held is None:
                return
            flip = self.decide(held)
            if flip is not None:
                self.flips.append(flip)
                continue
            if not self.is_proved(held):
                raise OutOfBudget(self.doubt_reason())
            found.append(held)
            yield held

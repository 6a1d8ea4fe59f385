"""Opened: explanations of a classifier that can be run and whose worst case can be computed (a bag of words).

The walk is that of `asking`, but a candidate is proved by its worst case instead of by running every text, and a text
that flips teaches more than one set. A rule gives each word a weight and says how much an explanation must weigh: a
failing text with what putting each word back can add to its margin (`gains`), or, where the label stays flipped
whichever q of some words are put back, q + 1 of them. The cheapest set that keeps all rules is the lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.asked import Flip, OutOfBudget
from suffice.prove.bag import Holds, Open, Stretch
from suffice.prove.ceiling import Lift, Split, Tree, Wanted, fits
from suffice.prove.gains import Fee
from suffice.prove.verdict import Budget
from suffice.prove.worst import EASY, Enough, Failing, Worst
from suffice.search.asking import Asking, Turning
from suffice.search.covers import bits, mask_of, price

GENEROUS = 0.95  # of what the label leads by: words that harm by so much together are tried in one rule
SLACK = 1e-6  # of a rule's weight: what a solver in doubles may overlook
PATIENCE = 0.2  # seconds for the next candidate, at first
GREEDY = 16  # steps towards some explanation
SHORT = 60  # words up to which candidates alone are quick
LIFTS, MIXED, SPLITS = 4, 6, 30  # ceilings one by one, mixtures of them in a row, and splits of the sets
LAST = 100  # splits that the last proof is worth
IDLE, RISE = 20, 0.02  # rounds after which shares of words are left, where the bound rises by less
RELAXED = 0.5  # of the time, at most, for rules that shares of words break
ROUNDED = (0.5, 0.35, 0.65, 0.2, 0.8)  # shares above which words are held, to see what fails
KNOWN, ENOUGH, CHANCES = 40, 5, 6  # failing texts that are looked at again, new rules that are enough, random sets


@dataclass(frozen=True, eq=False)
class Rule:
    """The weights of every explanation's words sum to `least` or more.

    Either by gains: the text `chosen` fails against the rival. Or by counting, with a proof: it fails whichever
    least - 1 of the words of weight 1 are put back.
    """

    weights: Floats
    least: float
    rival: int
    chosen: Ints
    proof: Holds | None = None
    lines: tuple[Stretch, ...] = ()
    size: float = 1.0  # what the form lacks

    def broken(self, held: Bools) -> bool:
        return float(self.weights[held].sum()) < self.least


@dataclass(eq=False)
class Opened(Asking):
    """What is wanted of a bag of words, and what is known so far."""

    worst: Worst = field(kw_only=True)
    rules: list[Rule] = field(default_factory=list)
    needed: list[Rule] = field(default_factory=list)  # the rules that the lower bound follows from, once that is known
    proved: list[tuple[int, Enough]] = field(default_factory=list)  # sets that are enough
    tried: set[int] = field(default_factory=set)  # sets that seemed to be enough by a line
    alone: dict[tuple[int, int], float] = field(default_factory=dict)  # by rival and choice, what it harms alone
    trimmed: int | None = None  # the best set, once no word could be left out of it
    ceiling: tuple[int, Tree] | None = None  # a rival, and the ceilings that the lower bound follows from

    # --- is it enough? ---

    def known(self, held: int) -> bool:
        return self.proof(held) is not None

    def proof(self, held: int) -> Enough | None:
        """The proof of a set, or of one inside it."""
        return next((proof for one, proof in self.proved if one & ~held & self.asked.movable == 0), None)

    def decide(self, held: int) -> Flip | None:
        """A flip that keeps these words; None where the worst case is proved, or too close to call."""
        if self.known(held):
            return None
        found = self.worst.ask(self.mask(held), self.budget(), EASY)
        if isinstance(found, Open) and found.chosen is None:
            self._trim(0.8 * self.budget().left)  # the rest may take all the time
            found = self.worst.ask(self.mask(held), self.budget())
        match found:
            case Enough():
                self._keep(held, found)
                return None
            case Failing():
                return self._failed(held, found)
            case Open(chosen=chosen) if chosen is not None:
                self._close(chosen)
                return None
            case Open(reason=reason):
                raise OutOfBudget(reason)

    def budget(self) -> Budget:
        self.asked.meter.look()
        return self.asked.meter.budget

    def mask(self, held: int) -> Bools:
        return np.array([bool(held >> i & 1) for i in range(len(self.costs))])

    def _keep(self, held: int, proof: Enough) -> None:
        self.proved.append((held, proof))
        fits = not held & self.exclude and held & self.include == self.include
        if fits and (self.best is None or price(held, self.costs) < price(self.best, self.costs)):
            self.best = held
            self.report()

    def _close(self, chosen: Ints) -> None:
        change = self.worst.change(chosen)
        self.doubts.append(mask_of([i for i, _ in change]))
        self.asked.open.add(self.asked.write(change))

    def _failed(self, held: int, found: Failing) -> Flip | None:
        """The failing text made small, and run; the rules that follow from it."""
        small = self.smaller(found)
        for chosen in (small, found.chosen):
            flip = self.run(chosen)
            if flip is not None:
                self._learn(held, found)
                return flip
        self._close(found.chosen)
        return None

    def run(self, chosen: Ints, rival: int | None = None) -> Flip | None:
        """A text as the pipeline itself judges it: a flip or not."""
        change = self.worst.change(chosen)
        return self.asked.flip(change, rival) if self.asked.margins([change], rival)[0] <= 0 else None

    def smaller(self, found: Failing) -> Ints:
        """Put words back as long as the text fails, the harmless ones first."""
        first, chosen = self.worst.layout.first, found.chosen
        moved = np.flatnonzero(chosen != first)
        push = self.worst.pushes(found.rival, chosen)[first[moved]]  # what putting back takes from the fall: negative
        order = moved[np.argsort(-push)]
        low, high = 0, len(order)  # how many are put back: `low` surely can be
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._still(found, order[:middle]) else (low, middle)
        back = list(order[:low])
        for word in order[low : low + 24]:
            if len(back) + 1 < len(order) and self._still(found, [*back, word]):
                back.append(word)
        return self._without(chosen, back)

    def _still(self, found: Failing, back: Ints | list[int]) -> bool:
        return self.worst.form(found.rival, self._without(found.chosen, back)) <= -self._slack(found.rival)

    def _slack(self, rival: int) -> float:
        return 2.0 * self.worst.tolerance(rival)

    def _without(self, chosen: Ints, back: Ints | list[int]) -> Ints:
        found = chosen.copy()
        where = np.asarray(back, dtype=np.int64)
        found[where] = self.worst.layout.first[where]
        return found

    # --- rules ---

    def _learn(self, held: int, found: Failing) -> None:
        """Rules that the candidate breaks."""
        mask = self.mask(held)
        if self.asked.at_most is not None and any(rule.broken(mask) for rule in self.rules):
            return  # a candidate keeps them all
        found = self.worst.sharper(found, mask) if self.neighbours else found
        self.rules += [rule for rule in self._rules(found, mask.astype(np.float64)) if rule.broken(mask)]

    def _rules(self, found: Failing, held: Floats) -> Iterator[Rule]:
        full, _ = self._worse(found)
        if self.neighbours:
            yield from self._against(found, full, held)
            yield from () if self.rules else self._paid(found.rival, full)
            return
        if self.asked.at_most is None:
            yield from self._weighed(found.rival, full)
            yield from self._weighed(found.rival, found.chosen)
        if self.asked.at_most is not None:
            yield from self._lifted(found.rival, full, np.flatnonzero(found.chosen != self.worst.layout.first))

    def _weighed(self, rival: int, chosen: Ints) -> Iterator[Rule]:
        """What putting words of a failing text back can gain, against what it lacks."""
        included = self.mask(self.include)
        start = np.where(included, self.worst.layout.first, chosen)
        found = self.worst.gains(rival, start)
        if found is not None and found.form < -self._slack(rival):
            least = -found.form - self._slack(rival)
            yield Rule(found.each / least, 1.0 - SLACK, rival, start, lines=(found.line,), size=least)

    def _paid(self, rival: int, chosen: Ints) -> Iterator[Rule]:
        """What putting words of a failing text back costs at least, where neighbours count."""
        start = np.where(self.mask(self.include), self.worst.layout.first, chosen)
        costs = np.array(self.costs, dtype=np.float64)
        for found in self.worst.fees(rival, start, costs, self.budget):
            yield from self._priced(rival, start, found)

    def _against(self, found: Failing, chosen: Ints, held: Floats) -> Iterator[Rule]:
        """What putting words back must be worth, by prices of which `held` has too little."""
        first, included = self.worst.layout.first, self.mask(self.include)
        start, text = np.where(included, first, chosen), np.where(included, first, found.chosen)
        fee = self.worst.against(found.rival, start, text, held, self.budget)
        yield from () if fee is None else self._priced(found.rival, start, fee)

    def _priced(self, rival: int, start: Ints, fee: Fee) -> Iterator[Rule]:
        size = fee.worth - self._slack(rival)
        if size > 0:
            yield Rule(fee.prices / size, 1.0 - SLACK, rival, start, lines=fee.lines, size=size)

    @property
    def neighbours(self) -> bool:
        """Whether what a word adds hangs on its neighbours, any number of which may change."""
        layout = self.worst.layout
        return self.asked.at_most is None and (bool(layout.pairs) or layout.chain is not None)

    def _worse(self, found: Failing) -> tuple[Ints, Floats]:
        """The change with every other word at its worst too, and how much each word harms."""
        layout = self.worst.layout
        push = self.worst.pushes(found.rival, found.chosen)
        best = np.maximum.reduceat(push, layout.first)
        hits = np.flatnonzero(push == best[layout.slot])
        top = np.zeros(layout.size, dtype=np.int64)
        top[layout.slot[hits][::-1]] = hits[::-1]
        moved = found.chosen != layout.first
        chosen = np.where(moved, found.chosen, np.where(best > 0, top, layout.first))
        return chosen, np.where(moved, -push[layout.first], np.maximum(best, 0.0))

    def _lifted(self, rival: int, chosen: Ints, core: Ints) -> Iterator[Rule]:
        """The words of a flip, and others of which any so many flip too: fewer than that may be left free."""
        count, harm = len(core), self._harms(rival, chosen)
        words = self._alike(rival, harm, core)
        harm[core] = np.inf  # they stay
        while int((words & ~self.mask(self.exclude)).sum()) > (back := int(words.sum()) - count) > 0:
            found = self.worst.flips_all(rival, chosen, words, count, self.budget())
            if isinstance(found, Holds):
                text = np.where(words, chosen, self.worst.layout.first)
                yield Rule(words.astype(np.float64), back + 1.0, rival, text, found)
                return
            weak = words if isinstance(found, Open) else found.chosen != self.worst.layout.first
            words[np.where(weak & words, harm, np.inf).argmin()] = False

    def _harms(self, rival: int, chosen: Ints) -> Floats:
        """By how much each word of a changed text lowers the form of the original, alone."""
        first, harm = self.worst.layout.first, np.zeros(len(chosen))
        start = self.worst.form(rival, first)
        for word in np.flatnonzero(chosen != first).tolist():
            key = rival, int(chosen[word])
            if key not in self.alone:
                text = first.copy()
                text[word] = chosen[word]
                self.alone[key] = start - self.worst.form(rival, text)
            harm[word] = self.alone[key]
        return harm

    def _alike(self, rival: int, harm: Floats, core: Ints) -> Bools:
        """The words of a flip and those that harm most, as many as seem to flip whichever so many of them change."""
        inside = np.isin(np.arange(len(harm)), core)
        order = np.argsort(-np.where(inside, np.inf, harm), kind="stable")  # the flip first
        order = order[inside[order] | ((harm > 0) & ~self.mask(self.include))[order]]
        least, size = GENEROUS * self.worst.form(rival, self.worst.layout.first), len(core)
        while size < len(order) and float(np.sort(harm[order[: size + 1]])[: len(core)].sum()) >= least:
            size += 1
        return np.isin(np.arange(len(harm)), order[:size])

    # --- which is cheapest? ---

    def start(self) -> None:
        """Does the text itself keep its label clearly, and is everything that may be held enough?"""
        base = self.asked.margins([()])
        if base[0] <= 0:
            self.flips.append(self.asked.flip(()))
        self._doubt([()], base)
        if base[0] > 0:
            flip = self.decide(self.everything)
            if flip is not None:  # of excluded words only
                self.flips.append(flip)

    def _search(self) -> str:
        """Candidates are cheapest by the rules, or nearly so while the solver is slow; each is proved or teaches."""
        patience = PATIENCE
        if self.best is not None and self.neighbours and fits(self.worst.whole(self.worst.order[0]), self.costs):
            self._lift()
        if self._closed():
            return ""
        if self.neighbours and self.asked.movable.bit_count() > SHORT:
            self._relax()
        while True:
            held = self.next_candidate(patience)
            if self.doubts and held is None:
                done = self.best is not None and price(self.best, self.costs) <= self.lower
                return "" if done else self.closeness()
            if held is None and self.best is not None:
                self.lower = price(self.best, self.costs)
            if held is None or self._closed():
                return ""
            self.report()
            patience = PATIENCE if self._news(held) else 2.0 * patience

    def _closed(self) -> bool:
        return self.best is not None and price(self.best, self.costs) <= self.lower

    def _lift(self) -> None:
        """Both bounds by lines above and below the margin: the best set of every cost, at once."""
        wanted = Wanted(self.costs, self.mask(self.include), self.mask(self.exclude))
        lifts = {rival: Lift(self.worst.whole(rival), wanted) for rival in self.worst.order}
        floors: dict[int, list[int]] = {}
        seem: list[int] = []
        for _ in range(LIFTS):
            for rival, lift in lifts.items():
                found, words = lift.above(self._upper)
                if found.lower > self.lower:
                    self.lower, self.ceiling = found.lower, (rival, found)
                self._tried(words)
                floors[rival] = lift.below(self._upper) or floors.get(rival, [])
                seem = sorted({*chain.from_iterable(floors.values())})  # enough against every rival seen so far
                self._tried(seem)
                self.budget()
                if self._closed():
                    return
        self._greedy(mask_of(seem) | self.include)  # something is to be proved before time goes into the lower bound
        self._trim(0.8 * self.budget().left)
        until = (1.0 - RELAXED) * self.budget().left if len(lifts) > 1 else 0.0  # rules are about all rivals at once
        for rival, lift in lifts.items():
            while lift.lower == self.lower and self._raised(rival, lift, until) and not self._closed():
                pass

    def _raised(self, rival: int, lift: Lift, until: float) -> bool:
        """Raise the lower bound by one, by mixtures of ceilings for parts of the sets of words."""
        below = self.lower + 1
        found = self._mixed(lift, below, [SPLITS], until)
        if found is not None:
            self.lower, self.ceiling = below, (rival, found)
            lift.lower = below
        return found is not None

    def _mixed(self, lift: Lift, below: int, left: list[int], until: float) -> Tree | None:
        """Ceilings for all sets that cost less than this; None where they are not found, or a set is enough."""
        for _ in range(MIXED):
            if self.budget().left < until:
                return None
            found, words = lift.mixed(below)
            if words is None:
                return found
            self._tried(words)
            if self._closed():
                return None
        halves = lift.halves() if left[0] > 0 else None
        if halves is None:
            return None
        left[0] -= 1
        word, with_it, without = halves
        held = self._mixed(with_it, below, left, until)
        out = None if held is None else self._mixed(without, below, left, until)
        return None if held is None or out is None else Split(word, held, out)

    @property
    def _upper(self) -> int:
        assert self.best is not None
        return price(self.best, self.costs)

    def _tried(self, words: list[int] | None) -> None:
        """Keep a set that is cheaper than the best one, if it is enough."""
        held = mask_of(words or []) | self.include
        if words is None or held in self.tried or price(held, self.costs) >= self._upper:
            return
        self.tried.add(held)
        splits = LAST if price(held, self.costs) <= self.lower else EASY
        proof = self.worst.ask(self.mask(held), self.budget(), splits)
        if isinstance(proof, Enough):
            self._keep(held, proof)

    def _relax(self) -> None:
        """Raise the lower bound by rules that shares of words break, as long as some do and there is time."""
        budget, rng = self.budget(), np.random.default_rng(self.seed)
        start, fails = budget.left, dict[tuple[int, ...], Failing]()
        self._greedy(self.include)
        shares, idle, risen = np.zeros(len(self.costs)), 0, 0.0
        while idle < IDLE and budget.left >= (1.0 - RELAXED) * start:
            found = relaxed(self.sure(), self.costs, self.include, self.exclude)
            if found is None:
                return
            shares = found
            bound = float(shares @ np.array(self.costs, dtype=np.float64))
            idle, risen = (0, bound) if bound > risen + RISE else (idle + 1, risen)
            self.lower = max(self.lower, math.ceil(bound - 1e-6 * max(1.0, bound)))
            if self._closed():
                return
            made = self._broken(shares, fails, rng)
            if not made:
                break
            self.rules += made
            self.report()
        self._greedy(mask_of(np.flatnonzero(shares > 0.5).tolist()) | self.include)
        self._trim(0.8 * budget.left)

    def _broken(self, shares: Floats, fails: dict[tuple[int, ...], Failing], rng: np.random.Generator) -> list[Rule]:
        """Rules that shares of words break: by texts that fail where shares are rounded, by known ones, by chance."""
        for cut in ROUNDED:
            made = self._failing(shares, shares > cut, fails)
            if made:
                return made
        first = self.worst.layout.first
        for found in reversed(list(fails.values())[-KNOWN:]):
            text = Failing(found.rival, np.where(shares > 0.5, first, found.chosen))
            made += self._against(text, found.chosen, shares)
            if len(made) >= ENOUGH:
                return made
        for _ in range(0 if made else CHANCES):
            made += self._failing(shares, rng.random(len(shares)) < shares, fails)
        return made

    def _failing(self, shares: Floats, words: Bools, fails: dict[tuple[int, ...], Failing]) -> list[Rule]:
        """Rules by the text that fails with these words held; where none does they are kept as enough."""
        held = mask_of(np.flatnonzero(words).tolist()) | self.include
        found = self.worst.ask(self.mask(held), self.budget(), EASY)
        if isinstance(found, Enough):
            self._keep(held, found)
        if not isinstance(found, Failing):
            return []
        found = self.worst.sharper(found, self.mask(held))
        full, _ = self._worse(found)
        fails.setdefault(tuple(full.tolist()), Failing(found.rival, full))
        return list(self._against(found, full, shares))

    def _trim(self, until: float) -> None:
        """Leave words of the best set out where the others are enough, until so many seconds are left."""
        if self.best is None or self.best == self.trimmed:
            return
        for word in bits(self.best & ~self.include):
            held = self.best & ~(1 << word)
            found = self.worst.ask(self.mask(held), self.budget(), EASY)
            if isinstance(found, Enough):
                self._keep(held, found)
            if self._closed() or self.budget().left < until:
                return
        self.trimmed = self.best

    def _news(self, held: int) -> bool:
        """Whether looking at a candidate brought anything new."""
        known = self.proof(held)
        if known is not None:
            self._keep(held, known)
            return False
        flip = self._look(held)
        if flip is not None:
            self.flips.append(flip)
        return True

    def next_candidate(self, patience: float) -> int | None:
        """A set cheaper than the best one that keeps every rule, the cheapest if that is found in time.

        None where there is none.
        """
        sure = self.sure()
        rules = [*sure, *map(self._clause, self.doubts)]
        below = None if self.best is None else price(self.best, self.costs)
        found = None
        while found is None:
            found, lower = self._solved(rules, patience, below)
            bound = self._solved(sure, patience, below)[1] if self.doubts else lower
            self.lower = max(self.lower, bound or 0)
            if lower is None:
                return None
            patience *= 2.0
        return found

    def _solved(
        self, rules: list[tuple[Floats, float]], patience: float, below: int | None
    ) -> tuple[int | None, int | None]:
        self.asked.meter.look()
        seconds = min(patience, self.asked.meter.budget.left)
        return cheapest_kept(rules, self.costs, self.include, self.exclude, seconds, below)

    def sure(self) -> list[tuple[Floats, float]]:
        """What every explanation keeps: the flips and the rules."""
        clauses = [self._clause(flip.mask) for flip in self.flips]
        return [*clauses, *((rule.weights, rule.least) for rule in self.rules)]

    def _clause(self, mask: int) -> tuple[Floats, float]:
        return self.mask(mask).astype(np.float64), 1.0

    def _look(self, held: int) -> Flip | None:
        flip = self.decide(held)
        if flip is not None and len(self.flips) % 4 == 0:  # some explanation in the meantime, and more rules
            self._greedy(held)
        return flip

    def _greedy(self, held: int) -> None:
        """Add the words that harm most until the worst case holds, and is proved so without trouble."""
        failing: Failing | None = None
        for step in range(GREEDY):
            if self.best is not None and price(held, self.costs) >= price(self.best, self.costs):
                return
            found = self.worst.ask(self.mask(held), self.budget(), EASY)
            if isinstance(found, Enough):
                self._keep(held, found)
                return
            if isinstance(found, Failing):
                self._learn(held, found)
                failing, held = found, self._with(held, found, step)
            elif failing is None:
                return
            else:  # a few more, and the proof is easy
                for word in self._ranked(held, failing)[: 1 + len(self.costs) // 50]:
                    held |= 1 << word

    def _ranked(self, held: int, found: Failing) -> list[int]:
        """The words that may still be held, those first that harm most for what they cost."""
        _, harm = self._worse(found)
        order = np.argsort(-harm / np.array(self.costs, dtype=np.float64), kind="stable").tolist()
        return [i for i in order if (self.asked.movable & ~held & ~self.exclude) >> i & 1]

    def _with(self, held: int, found: Failing, step: int) -> int:
        _, harm = self._worse(found)
        form = self.worst.form(found.rival, found.chosen)
        ranked = harm / np.array(self.costs, dtype=np.float64)
        for added, word in enumerate(np.argsort(-ranked).tolist()):
            if held >> word & 1 or self.exclude >> word & 1 or not self.asked.movable >> word & 1:
                continue
            held |= 1 << word
            form += harm[word]
            if form > 0 and added >= step * step:
                break
        return held


def fewest_changes(search: Opened, rival: int | None = None) -> Turning:
    """The flip that changes the fewest words, where all words cost the same: proved by worst cases with a limit."""
    asked, unit = search.asked, search.costs[0]
    best: Flip | None = None
    try:
        base = asked.margins([()], rival)
        if base[0] <= 0:
            return Turning("optimal", asked.flip((), rival), 0)
        limit = asked.limit
        while True:
            found = search.worst.within(limit, rival, search.budget())
            if isinstance(found, Open):
                return _turning(best, unit, found.reason)
            if isinstance(found, Enough):
                ended = Turning("none", None, 10**18) if best is None else _turning(best, unit, "")
                return replace(ended, proof=(limit, found))
            flip = next(filter(None, (search.run(text, rival) for text in (search.smaller(found), found.chosen))), None)
            if flip is None:
                return _turning(best, unit, "a text is too close to call")
            best, limit = flip, len(flip.change) - 1
            search.lower, search.best = unit, flip.mask
            search.report()
            if limit == 0:
                return _turning(best, unit, "")
    except OutOfBudget as spent:
        return _turning(best, unit, str(spent))
    except KeyboardInterrupt:
        return _turning(best, unit, "interrupted")


def _turning(best: Flip | None, unit: int, reason: str) -> Turning:
    if best is None:
        return Turning("unknown", None, unit, reason)
    cost = unit * len(best.change)
    return Turning("found", best, unit, reason) if reason else Turning("optimal", best, cost)


def relaxed(rules: list[tuple[Floats, float]], costs: Sequence[int], include: int, exclude: int) -> Floats | None:
    """The cheapest shares of words that weigh enough by every rule; None where there are none."""
    from scipy.optimize import linprog

    count, prices = len(costs), np.array(costs, dtype=np.float64)
    ends = [(float(include >> i & 1), float(not exclude >> i & 1)) for i in range(count)]
    if not rules:
        return np.array([low for low, _ in ends])
    rows, least = np.array([w for w, _ in rules]), np.array([n for _, n in rules])
    found = linprog(prices, A_ub=-rows, b_ub=-least, bounds=ends)
    return np.asarray(found.x) if found.status == 0 else None


def cheapest_kept(
    rules: list[tuple[Floats, float]],
    costs: Sequence[int],
    include: int,
    exclude: int,
    seconds: float,
    below: int | None = None,
) -> tuple[int | None, int | None]:
    """A set whose words weigh enough by every rule (the cheapest, if there is time), and what any such set costs.

    With `below`, sets that cost as much are of no interest. No set: None where none was found in time; no bound either
    where there is none.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    count = len(costs)
    low = np.array([include >> i & 1 for i in range(count)], dtype=np.float64)
    high = np.array([1 - (exclude >> i & 1) for i in range(count)], dtype=np.float64)
    if any(float((np.maximum(weights, 0.0) * high).sum()) < least for weights, least in rules):
        return None, None
    if not rules:
        return include, price(include, costs)
    prices = np.array(costs, dtype=np.float64)
    rows, least = np.array([w for w, _ in rules]), np.array([n for _, n in rules])
    limits = [LinearConstraint(rows, least, np.inf)]
    if below is not None:
        limits.append(LinearConstraint(prices[None], -np.inf, below - 0.5))
    found = milp(
        prices,
        integrality=np.ones(count),
        bounds=Bounds(low, high),
        constraints=limits,
        options={"time_limit": max(seconds, 0.02), "mip_rel_gap": 0.0},
    )
    if found.status == 2:
        return None, None
    if found.status not in (0, 1):
        raise OutOfBudget(f"the solver stopped: {found.message}")
    bound = 0.0 if found.mip_dual_bound is None or not np.isfinite(found.mip_dual_bound) else found.mip_dual_bound
    lower = math.ceil(bound - 1e-6 * max(1.0, abs(bound)))
    if found.x is None:
        return None, lower
    held = mask_of(np.flatnonzero(found.x > 0.5).tolist())
    return held, min(lower, price(held, costs))


__all__ = ["Opened", "Rule", "bits", "cheapest_kept"]

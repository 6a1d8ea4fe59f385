"""Worst: is a set of words enough for a bag of words? The worst case per rival, and every failing text is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.text import Change
from suffice.prove.asked import Asked
from suffice.prove.bag import Case, Fails, Found, Holds, Open, cheapest_text, decide, turned
from suffice.prove.bag.hunt import MOST_SPLITS
from suffice.prove.gains import Fee, Fees, Gains, gains
from suffice.prove.layout import Layout
from suffice.prove.verdict import Budget

PARTS = (0.25, 0.5)  # of what a word adds in its price, between that and the same for all
EASY = 4  # splits that a cut is worth
TRIES = 4  # texts that are looked at for a better one


@dataclass(frozen=True, eq=False)
class Enough:
    """Proved for every rival."""

    rivals: tuple[int, ...]
    proofs: tuple[Holds, ...]


@dataclass(frozen=True, eq=False)
class Failing:
    """A text that fails, in choices, with the rival it fails against."""

    rival: int
    chosen: Ints


@dataclass(eq=False)
class Worst:
    """One text before one bag, ready for any number of sets of words."""

    asked: Asked
    layout: Layout
    order: list[int] = field(default_factory=list)  # rivals, the one that won last first
    forms: dict[int, tuple[Floats, float]] = field(default_factory=dict)
    wholes: dict[int, Case] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.order = [j for j in range(len(self.layout.bag.bias)) if j != self.asked.label]

    def case(self, rival: int, held: Bools) -> Case:
        """All allowed texts that keep the words of `held`, against one rival."""
        layout = self.layout
        allowed = ~held[layout.slot]
        allowed[layout.first] = True
        return Case(layout, *self._form(rival), layout.first, allowed, self.asked.at_most)

    def _form(self, rival: int) -> tuple[Floats, float]:
        """Weights and bias of the label against a rival."""
        if rival not in self.forms:
            bag, label, columns = self.layout.bag, self.asked.label, self.layout.columns
            weight = bag.rows[label, columns] - bag.rows[rival, columns]
            self.forms[rival] = weight, float(bag.bias[label] - bag.bias[rival])
        return self.forms[rival]

    def whole(self, rival: int) -> Case:
        """All allowed texts, against one rival."""
        if rival not in self.wholes:
            self.wholes[rival] = self.case(rival, np.zeros(self.layout.size, dtype=bool))
        return self.wholes[rival]

    def tolerance(self, rival: int) -> float:
        return self.whole(rival).tolerance

    def ask(self, held: Bools, budget: Budget, splits: int = MOST_SPLITS) -> Enough | Failing | Open:
        """Whether these words are enough, rival by rival; the one that won last is asked first."""
        proofs: dict[int, Holds] = {}
        close: Open | None = None  # a text too close to call against one rival may be lost to another
        for rival in tuple(self.order):
            found = decide(self.case(rival, held), budget, splits)
            match found:
                case Fails(chosen=chosen):
                    self.order.remove(rival)
                    self.order.insert(0, rival)
                    return Failing(rival, chosen)
                case Open(chosen=None):
                    return found
                case Open():
                    close = close or found
                case Holds():
                    proofs[rival] = found
        if close is not None:
            return close
        rivals = tuple(sorted(proofs))
        return Enough(rivals, tuple(proofs[rival] for rival in rivals))

    def within(self, limit: int, rival: int | None, budget: Budget) -> Enough | Failing | Open:
        """Whether no change of so many words flips the label (to the rival)."""
        proofs: dict[int, Holds] = {}
        close: Open | None = None
        for one in tuple(self.order) if rival is None else (rival,):
            found = decide(replace(self.whole(one), at_most=limit), budget)
            match found:
                case Fails(chosen=chosen):
                    return Failing(one, chosen)
                case Open(chosen=None):
                    return found
                case Open():
                    close = close or found
                case Holds():
                    proofs[one] = found
        if close is not None:
            return close
        return Enough(tuple(proofs), tuple(proofs.values()))

    def flips_all(self, rival: int, chosen: Ints, words: Bools, count: int, budget: Budget) -> Found:
        """Whether the text fails whichever `count` of these words change (all others stand)."""
        case = turned(self.whole(rival))
        allowed = np.zeros(len(self.layout.slot), dtype=bool)
        allowed[chosen[words]] = allowed[self.layout.first] = True
        return decide(replace(case, allowed=allowed, at_most=count, exactly=True), budget, EASY)

    def gains(self, rival: int, chosen: Ints) -> Gains | None:
        if self.layout.chain is not None:
            return None
        return gains(self.whole(rival), chosen)

    def fees(self, rival: int, chosen: Ints, costs: Floats, look: Callable[[], object]) -> Iterator[Fee]:
        """Prices for words put back: the same for all, and the more the more a word adds there."""
        fees = Fees(self.whole(rival), chosen)
        best = fees.best(costs, look)
        if best is not None:
            yield best
            text = np.where(best.back, self.layout.first, chosen)
            push = self.pushes(rival, text)
            adds = np.where(best.back, push[chosen], -push[self.layout.first])
            yield from (fees.at(np.maximum(part * adds + (1.0 - part) * best.prices, 0.0)) for part in PARTS)

    def sharper(self, found: Failing, held: Bools) -> Failing:
        """Where a text fails because nothing is left of it, one that says more: with all that speaks for the rival."""
        case, layout = self.case(found.rival, held), self.layout
        if layout.counts(found.chosen).any():
            return found
        each = layout.values(np.ones(len(layout.columns)))
        best, lowest, size = found, -case.tolerance, self._size(layout.first)
        for _ in range(TRIES):
            prices = case.weight * each + (0.5 * case.bias / size * each**2 if layout.bag.norm == "l2" else 0.0)
            _, chosen = cheapest_text(layout, np.zeros(len(layout.slot)), prices, case.allowed)
            form, size = self.form(found.rival, chosen), self._size(chosen)
            if size > 0.0 and form < lowest:
                best, lowest = Failing(found.rival, chosen), form
            if size == 0.0:
                break
        return best

    def _size(self, chosen: Ints) -> float:
        return float(np.linalg.norm(self.layout.values(self.layout.counts(chosen))))

    def against(self, rival: int, chosen: Ints, text: Ints, held: Floats, look: Callable[[], object]) -> Fee | None:
        """Prices for words put back by which `held` falls short; `text` is the failing one with such words put back."""
        first, push = self.layout.first, self.pushes(rival, text)
        adds = np.where(text == first, push[chosen], -push[first])
        return Fees(self.whole(rival), chosen, text).against(held, adds, -self.form(rival, text), look)

    def form(self, rival: int, chosen: Ints) -> float:
        return self.whole(rival).form(self.layout.counts(chosen))[0]

    def pushes(self, rival: int, chosen: Ints) -> Floats:
        """About how much each choice would lower the form in the place of the present one; a guide, no bound."""
        case, layout = self.whole(rival), self.layout
        counts = layout.counts(chosen)
        values = layout.values(counts)
        size = float(np.sqrt((values * values).sum())) or 1.0
        pull = case.weight.copy()
        if layout.bag.norm == "l2":
            pull += case.bias * values / size
        elif layout.bag.norm == "l1":
            pull += case.bias
        more, less = layout.values(counts + 1.0) - values, values - layout.values(counts - 1.0)
        less = np.where(counts > 0, less, layout.values(np.ones_like(counts)))
        gained, lost = pull * more, pull * less
        if layout.chain is not None:
            return -layout.chain.instead(chosen, layout.chain.priced(0.5 * (gained + lost), np.zeros(len(layout.slot))))
        alone = np.asarray(layout.inner @ gained).ravel()
        here = np.asarray(layout.inner @ lost).ravel()[chosen]
        return np.asarray(here[layout.slot] - alone + self._meeting(chosen, gained, lost))

    def _meeting(self, chosen: Ints, gained: Floats, lost: Floats) -> Floats:
        """What the pairs with the neighbours change."""
        layout = self.layout
        push = np.zeros(len(layout.slot))
        if not layout.pairs:
            return push
        feature, sign = layout.pairs.feature, layout.pairs.sign
        gained, lost = gained[feature] * sign, lost[feature] * sign
        kept = np.flatnonzero(~layout.empty[chosen])
        before = np.searchsorted(kept, np.arange(layout.size)) - 1
        after = np.searchsorted(kept, np.arange(layout.size), side="right")
        for word in range(layout.size):
            left = int(chosen[kept[before[word]]]) if before[word] >= 0 else -1
            right = int(chosen[kept[after[word]]]) if after[word] < len(kept) else -1
            here = self._pair_sum(left, int(chosen[word]), right, lost)
            for choice in range(layout.ends[word], layout.ends[word + 1]):
                push[choice] = here - self._pair_sum(left, choice, right, gained)
        return push

    def _pair_sum(self, left: int, choice: int, right: int, prices: Floats) -> float:
        meets = [(left, right)] if self.layout.empty[choice] else [(left, choice), (choice, right)]
        places = [place for meet in meets if (place := self.layout.paired.get(meet)) is not None]
        return float(sum(prices[place] for place in places))

    def change(self, chosen: Ints) -> Change:
        return self.layout.change(chosen)

"""Lessons: the rules that failing texts teach, by what putting words back can gain, or by counting words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.asked import Asked
from suffice.prove.bag import Holds, Open
from suffice.prove.gains import Fee
from suffice.prove.verdict import Budget
from suffice.prove.worst import Failing, Worst
from suffice.search.opened.failing import slack
from suffice.search.opened.rules import Rule

GENEROUS = 0.95  # of what the label leads by: words that harm by so much together are tried in one rule
SLACK = 1e-6  # of a rule's weight: what a solver in doubles may overlook


@dataclass(frozen=True, eq=False)
class Lessons:
    """What rules are made from: worst cases, what words cost, and which are held or left free in any case."""

    asked: Asked
    worst: Worst
    costs: Floats
    include: Bools
    exclude: Bools
    alone: dict[tuple[int, int], float] = field(default_factory=dict)  # by rival and choice, what it harms alone

    def budget(self) -> Budget:
        """What is left, once the clock was looked at."""
        self.asked.meter.look()
        return self.asked.meter.budget

    def rules(self, found: Failing, held: Floats, some: bool) -> Iterator[Rule]:
        """Rules by a failing text of which `held` has too little; `some` are known already."""
        full, _ = self.worse(found)
        if self.neighbours:
            yield from self.against(found, full, held)
            yield from () if some else self._paid(found.rival, full)
            return
        if self.asked.at_most is None:
            yield from self._weighed(found.rival, full)
            yield from self._weighed(found.rival, found.chosen)
        else:
            yield from self._lifted(found.rival, full, np.flatnonzero(found.chosen != self.worst.layout.first))

    def against(self, found: Failing, chosen: Ints, held: Floats) -> Iterator[Rule]:
        """What putting words back must be worth, by prices of which `held` has too little."""
        first = self.worst.layout.first
        start, text = (np.where(self.include, first, changed) for changed in (chosen, found.chosen))
        fee = self.worst.against(found.rival, start, text, held, self.budget)
        yield from () if fee is None else self._priced(found.rival, start, fee)

    def worse(self, found: Failing) -> tuple[Ints, Floats]:
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

    @property
    def neighbours(self) -> bool:
        """Whether what a word adds hangs on its neighbours, any number of which may change."""
        layout = self.worst.layout
        return self.asked.at_most is None and (bool(layout.pairs) or layout.chain is not None)

    def _weighed(self, rival: int, chosen: Ints) -> Iterator[Rule]:
        """What putting words of a failing text back can gain, against what it lacks."""
        start = np.where(self.include, self.worst.layout.first, chosen)
        found = self.worst.gains(rival, start)
        if found is not None and found.form < -slack(self.worst, rival):
            least = -found.form - slack(self.worst, rival)
            yield Rule(found.each / least, 1.0 - SLACK, rival, start, lines=(found.line,), size=least)

    def _paid(self, rival: int, chosen: Ints) -> Iterator[Rule]:
        """What putting words of a failing text back costs at least, where neighbours count."""
        start = np.where(self.include, self.worst.layout.first, chosen)
        for found in self.worst.fees(rival, start, self.costs, self.budget):
            yield from self._priced(rival, start, found)

    def _priced(self, rival: int, start: Ints, fee: Fee) -> Iterator[Rule]:
        size = fee.worth - slack(self.worst, rival)
        if size > 0:
            yield Rule(fee.prices / size, 1.0 - SLACK, rival, start, lines=fee.lines, size=size)

    def _lifted(self, rival: int, chosen: Ints, core: Ints) -> Iterator[Rule]:
        """The words of a flip, and others of which any so many flip too: fewer than that may be left free."""
        count, harm = len(core), self._harms(rival, chosen)
        words = self._alike(rival, harm, core)
        harm[core] = np.inf  # they stay
        while int((words & ~self.exclude).sum()) > (back := int(words.sum()) - count) > 0:
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
        order = order[inside[order] | ((harm > 0) & ~self.include)[order]]
        least, size = GENEROUS * self.worst.form(rival, self.worst.layout.first), len(core)
        while size < len(order) and float(np.sort(harm[order[: size + 1]])[: len(core)].sum()) >= least:
            size += 1
        return np.isin(np.arange(len(harm)), order[:size])

"""Grown: explanations by tables of texts: of trees over a bag of words, and of models that are run on rows of features.

The walk is that of `asking`, but whole tables of texts are worked out instead of run; every flip is run, and so is
every text that is too close to work out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.model.network import Bools, Ints
from suffice.prove.asked import Flip, OutOfBudget
from suffice.prove.layout import Layout
from suffice.prove.rows import Sheet, TextTable
from suffice.prove.trees import Falls, Grove, Stands, Stuck
from suffice.prove.verdict import Budget, OutOfTime
from suffice.search.asking import SMALL, Asking
from suffice.search.covers import bits


@dataclass(eq=False)
class Grown(Asking):
    """What is wanted of tables, and what is known so far."""

    layout: Layout = field(kw_only=True)
    groves: dict[int, Grove | Sheet] = field(init=False)
    proved: list[tuple[int, dict[int, Stands]]] = field(default_factory=list)  # sets that are enough, a proof per rival

    def __post_init__(self) -> None:
        label, count = self.asked.label, len(self.asked.blackbox.labels)
        rivals, limit = [rival for rival in range(count) if rival != label], self.asked.at_most
        if self.layout.bag.trees is not None:
            self.groves = {rival: Grove(self.layout, label, rival, limit) for rival in rivals}
        else:
            rows = TextTable(self.layout)
            self.groves = {rival: Sheet(rows, label, rival, limit) for rival in rivals}

    @property
    def fits(self) -> bool:
        """Whether tables are worth while: there are not too many texts, nor so few that they are better run."""
        every, table = self.asked.count(bits(self.asked.movable)), math.prod(np.diff(self.layout.ends).tolist())
        limited = self.asked.at_most is not None and every * self._worth < table
        return every > SMALL and not limited and all(grove.fits for grove in self.groves.values())

    @property
    def _worth(self) -> int:
        """How many texts of a table are worked out while one is run, about."""
        quick = all(isinstance(grove, Grove) and grove.apart for grove in self.groves.values())
        return 200 if quick else 10

    def known(self, held: int) -> bool:
        return any(one & ~held & self.asked.movable == 0 for one, _ in self.proved) or super().known(held)

    def decide(self, held: int) -> Flip | None:
        """A flip that keeps these words; None where every allowed text keeps the label, or is too close to call."""
        if self.known(held):
            return None
        proofs = {}
        for rival, grove in self.groves.items():
            found = self._decided(grove, held)
            match found:
                case Stuck(reason=reason):
                    raise OutOfBudget(reason)
                case Falls(chosen=chosen):
                    return self._fallen(grove, chosen)
                case Stands():
                    flip = self._close(list(found.close()))
                    if flip is not None:
                        return flip
                    proofs[rival] = found
        self._keep(held, proofs)
        return None

    def _look(self, held: int) -> Flip | None:
        return self.decide(held)

    def _decided(self, grove: Grove | Sheet, held: int) -> Stands | Falls | Stuck:
        try:
            return grove.decide(self._mask(held), self.asked.meter.budget)
        except OutOfTime:
            return Stuck("time is up")

    def _mask(self, held: int) -> Bools:
        return np.array([bool(held >> i & 1) for i in range(len(self.costs))])

    def _close(self, texts: list[Ints]) -> Flip | None:
        """Texts that are too close to work out, run: the first that flips."""
        changes = [self.layout.change(text) for text in texts]
        margins = self.asked.margins(changes)
        self._doubt(changes, margins)
        flips = [change for change, margin in zip(changes, margins, strict=True) if margin <= 0]
        return self.asked.flip(flips[0]) if flips else None

    def _fallen(self, grove: Grove | Sheet, chosen: Ints) -> Flip | None:
        """A text that falls, made small as far as it can be worked out, and run."""
        for text in (self._smaller(grove, chosen), chosen):
            change = self.layout.change(text)
            margins = self.asked.margins([change])
            if margins[0] <= 0:
                return self.asked.flip(change)
            self._doubt([change], margins)
        if not np.isnan(margins[0]):
            raise OutOfBudget("what was worked out and what was run differ")
        return None

    def _smaller(self, grove: Grove | Sheet, chosen: Ints) -> Ints:
        """Put words back as long as the text falls, each time the one after which it falls furthest."""
        text, first = chosen.copy(), self.layout.first
        while len(moved := np.flatnonzero(text != first)) > 1:
            trials = np.repeat(text[None], len(moved), axis=0)
            trials[np.arange(len(moved)), moved] = first[moved]
            leads = [grove.margin(trial) for trial in trials]
            margins = [np.inf if np.isneginf(lead) else lead for lead in leads]
            best = int(np.argmin(margins))
            if margins[best] > -grove.close:
                break
            text = trials[best]
        return text

    def _keep(self, held: int, proofs: dict[int, Stands]) -> None:
        if any(doubt & held == 0 for doubt in self.doubts):
            return
        self.proved.append((held, proofs))

    def proof(self, held: int) -> dict[int, Stands]:
        """The proof of just this set, worked out again where only a smaller one was proved."""
        movable = self.asked.movable
        for one, proofs in self.proved:
            if one & movable == held & movable:
                return proofs
        found = {rival: grove.decide(self._mask(held), Budget()) for rival, grove in self.groves.items()}
        return {rival: one for rival, one in found.items() if isinstance(one, Stands)}


def written(search: Grown, held: int) -> dict[str, Any]:
    """The proof that a set of words is enough, as a line of a certificate."""
    labels = search.asked.blackbox.labels
    proofs = {labels[rival]: list(_nodes(proof)) for rival, proof in search.proof(held).items()}
    return {"tables": {"free": search.free(held), "at_most": search.asked.at_most, "proofs": proofs}}


def _nodes(proof: Stands) -> list[dict[str, Any]]:
    if proof.word is None:
        return [{"groups": [list(axes) for axes in proof.groups]}]
    return [{"word": proof.word}, *(node for branch in proof.branches for node in _nodes(branch))]

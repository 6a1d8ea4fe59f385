"""TableSearch: explanations by tables of texts, for trees over a bag and models run on feature
rows.

The search is QuerySearch's, but whole tables of texts are computed instead of run; every flip is
run, and so is every text that is too close to a threshold to be computed.

Method: enumeration by tables (theory, sections 11 and 12).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.model.network import Bools, Ints
from suffice.optimise.min_cost_hitting_set import bits
from suffice.optimise.query_search import QuerySearch
from suffice.verify.contract import Budget, OutOfTime
from suffice.verify.queries import ObservedFlip, OutOfBudget
from suffice.verify.text.lattice import OptionLattice
from suffice.verify.text.score_tables import ScoreTable, TextScores
from suffice.verify.text.tree_ensembles import TableProved, TableRefuted, TableUnknown, TreeEnsemble


@dataclass(eq=False)
class TableSearch(QuerySearch):
    """What is wanted of tables, and what is known so far."""

    lattice: OptionLattice = field(kw_only=True)
    tables: dict[int, TreeEnsemble | ScoreTable] = field(init=False)
    # sets that are enough, a proof per rival
    proved: list[tuple[int, dict[int, TableProved]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        label = self.session.label
        count = len(self.session.blackbox.labels)
        rivals = [rival for rival in range(count) if rival != label]
        limit = self.session.at_most
        if self.lattice.bag.trees is not None:
            self.tables = {
                rival: TreeEnsemble(self.lattice, label, rival, limit, settings=self.limits)
                for rival in rivals
            }
        else:
            texts = TextScores(self.lattice)
            self.tables = {rival: ScoreTable(texts, label, rival, limit) for rival in rivals}

    @property
    def fits(self) -> bool:
        """Whether tables are worth while: there are not too many texts, nor so few that they are
        better run.
        """
        every = self.session.text_count(bits(self.session.movable))
        entries = math.prod(np.diff(self.lattice.offsets).tolist())
        limited = self.session.at_most is not None and every * self._texts_per_run < entries
        return (
            every > self.limits.few_texts
            and not limited
            and all(table.fits for table in self.tables.values())
        )

    @property
    def _texts_per_run(self) -> int:
        """How many texts of a table are worked out while one is run, about."""
        quick = all(
            isinstance(table, TreeEnsemble) and table.is_local for table in self.tables.values()
        )
        return self.limits.texts_per_run * (self.limits.local_speed if quick else 1)

    def is_proved(self, held: int) -> bool:
        return any(
            one & ~held & self.session.movable == 0 for one, _ in self.proved
        ) or super().is_proved(held)

    def decide(self, held: int) -> ObservedFlip | None:
        """A flip that keeps these words; None where every allowed text keeps the label, or is too
        close to call.
        """
        if self.is_proved(held):
            return None
        proofs = {}
        for rival, table in self.tables.items():
            found = self._decide_table(table, held)
            match found:
                case TableUnknown(reason=reason):
                    raise OutOfBudget(reason)
                case TableRefuted(chosen=chosen):
                    return self._confirmed(table, chosen)
                case TableProved():
                    flip = self._run_unclear(list(found.all_unclear()))
                    if flip is not None:
                        return flip
                    proofs[rival] = found
        self._record_proof(held, proofs)
        return None

    def _examine(self, held: int) -> ObservedFlip | None:
        return self.decide(held)

    def _decide_table(
        self, table: TreeEnsemble | ScoreTable, held: int
    ) -> TableProved | TableRefuted | TableUnknown:
        try:
            return table.decide(self._mask(held), self.session.meter.budget)
        except OutOfTime:
            return TableUnknown("time is up")

    def _mask(self, held: int) -> Bools:
        return np.array([bool(held >> i & 1) for i in range(len(self.costs))])

    def _run_unclear(self, texts: list[Ints]) -> ObservedFlip | None:
        """Texts that are too close to work out, run: the first that flips."""
        changes = [self.lattice.change(text) for text in texts]
        margins = self.session.margins(changes)
        self._record_doubts(changes, margins)
        flips = [change for change, margin in zip(changes, margins, strict=True) if margin <= 0]
        return self.session.observed_flip(flips[0]) if flips else None

    def _confirmed(self, table: TreeEnsemble | ScoreTable, chosen: Ints) -> ObservedFlip | None:
        """A text that falls, made small as far as it can be worked out, and run."""
        for text in (self._shrunk(table, chosen), chosen):
            change = self.lattice.change(text)
            margins = self.session.margins([change])
            if margins[0] <= 0:
                return self.session.observed_flip(change)
            self._record_doubts([change], margins)
        if not np.isnan(margins[0]):
            raise OutOfBudget("what was worked out and what was run differ")
        return None

    def _shrunk(self, table: TreeEnsemble | ScoreTable, chosen: Ints) -> Ints:
        """Put words back as long as the text falls, each time the one after which it falls
        furthest.
        """
        text = chosen.copy()
        first = self.lattice.first
        while len(changed := np.flatnonzero(text != first)) > 1:
            trials = np.repeat(text[None], len(changed), axis=0)
            trials[np.arange(len(changed)), changed] = first[changed]
            leads = [table.margin(trial) for trial in trials]
            margins = [np.inf if np.isneginf(lead) else lead for lead in leads]
            best = int(np.argmin(margins))
            if margins[best] > -table.tolerance:
                break
            text = trials[best]
        return text

    def _record_proof(self, held: int, proofs: dict[int, TableProved]) -> None:
        if any(doubt & held == 0 for doubt in self.doubtful_sets):
            return
        self.proved.append((held, proofs))

    def proof(self, held: int) -> dict[int, TableProved]:
        """The proof of just this set, worked out again where only a smaller one was proved."""
        movable = self.session.movable
        for one, proofs in self.proved:
            if one & movable == held & movable:
                return proofs
        found = {
            rival: table.decide(self._mask(held), Budget()) for rival, table in self.tables.items()
        }
        return {rival: one for rival, one in found.items() if isinstance(one, TableProved)}


def tables_line(search: TableSearch, held: int) -> dict[str, Any]:
    """The proof that a set of words is enough, as a line of a certificate."""
    labels = search.session.blackbox.labels
    proofs = {labels[rival]: list(_nodes(proof)) for rival, proof in search.proof(held).items()}
    return {
        "tables": {"free": search.free(held), "at_most": search.session.at_most, "proofs": proofs}
    }


def _nodes(proof: TableProved) -> list[dict[str, Any]]:
    if proof.word is None:
        return [{"groups": [list(axes) for axes in proof.buckets]}]
    return [{"word": proof.word}, *(node for branch in proof.branches for node in _nodes(branch))]

"""CutSeparator: cuts that a set, or fractions of words, violate, from one text that fails.

Method: separation of Lagrangian and counting cuts (theory, section 8).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.optimise.cuts.cut import Cut
from suffice.optimise.cuts.shrink_attack import form_slack
from suffice.verify import tolerances
from suffice.verify.contract import Budget
from suffice.verify.queries import QuerySession
from suffice.verify.text.lagrangian_cuts import LagrangianCut
from suffice.verify.text.norm_form import InstanceProved, InstanceUnknown
from suffice.verify.text.worst_case import SetRefuted, WorstCase


@dataclass(frozen=True, eq=False)
class CutSeparator:
    """Separates cuts: from worst cases, costs of words, and the words held or left out
    in any case.
    """

    session: QuerySession
    worst_case: WorstCase
    costs: Floats
    include: Bools
    exclude: Bools
    # by rival and choice, how much it alone lowers the form
    single_harms: dict[tuple[int, int], float] = field(default_factory=dict)

    def checked_budget(self) -> Budget:
        """What is left, once the clock was looked at."""
        self.session.meter.check_time()
        return self.session.meter.budget

    def cuts_from(self, refuted: SetRefuted, point: Floats, have_cuts: bool) -> Iterator[Cut]:
        """Rules by a failing text of which `held` has too little; `some` are known already."""
        extension, _ = self.worst_extension(refuted)
        if self.uses_neighbours:
            yield from self.separating(refuted, extension, point)
            yield from () if have_cuts else self._proportional_cuts(refuted.rival, extension)
            return
        if self.session.at_most is None:
            yield from self._gain_cuts(refuted.rival, extension)
            yield from self._gain_cuts(refuted.rival, refuted.chosen)
        else:
            yield from self._counting_cuts(
                refuted.rival,
                extension,
                np.flatnonzero(refuted.chosen != self.worst_case.lattice.first),
            )

    def separating(self, refuted: SetRefuted, chosen: Ints, point: Floats) -> Iterator[Cut]:
        """What putting words back must be worth, by prices of which `held` has too little."""
        first = self.worst_case.lattice.first
        start, text = (
            np.where(self.include, first, changed) for changed in (chosen, refuted.chosen)
        )
        cut = self.worst_case.separating_cut(refuted.rival, start, text, point, self.checked_budget)
        yield from () if cut is None else self._scaled_cuts(refuted.rival, start, cut)

    def worst_extension(self, refuted: SetRefuted) -> tuple[Ints, Floats]:
        """The change with every other word at its worst too, and how much each word harms."""
        lattice = self.worst_case.lattice
        drops = self.worst_case.estimated_drops(refuted.rival, refuted.chosen)
        best = np.maximum.reduceat(drops, lattice.first)
        hits = np.flatnonzero(drops == best[lattice.word_of])
        best_choice = np.zeros(lattice.word_count, dtype=np.int64)
        best_choice[lattice.word_of[hits][::-1]] = hits[::-1]
        changed = refuted.chosen != lattice.first
        chosen = np.where(changed, refuted.chosen, np.where(best > 0, best_choice, lattice.first))
        return chosen, np.where(changed, -drops[lattice.first], np.maximum(best, 0.0))

    @property
    def uses_neighbours(self) -> bool:
        """Whether what a word adds hangs on its neighbours, any number of which may change."""
        lattice = self.worst_case.lattice
        return self.session.at_most is None and (bool(lattice.pairs) or lattice.trellis is not None)

    def _gain_cuts(self, rival: int, chosen: Ints) -> Iterator[Cut]:
        """What putting words of a failing text back can gain, against what it lacks."""
        start = np.where(self.include, self.worst_case.lattice.first, chosen)
        gains = self.worst_case.word_gains(rival, start)
        if gains is not None and gains.form_bound < -form_slack(self.worst_case, rival):
            deficit = -gains.form_bound - form_slack(self.worst_case, rival)
            yield Cut(
                gains.by_word / deficit,
                1.0 - tolerances.SOLVER,
                rival,
                start,
                segments=(gains.segment,),
                form_scale=deficit,
            )

    def _proportional_cuts(self, rival: int, chosen: Ints) -> Iterator[Cut]:
        """What putting words of a failing text back costs at least, where neighbours count."""
        start = np.where(self.include, self.worst_case.lattice.first, chosen)
        for cut in self.worst_case.lagrangian_cuts(rival, start, self.costs, self.checked_budget):
            yield from self._scaled_cuts(rival, start, cut)

    def _scaled_cuts(self, rival: int, start: Ints, cut: LagrangianCut) -> Iterator[Cut]:
        scale = cut.threshold - form_slack(self.worst_case, rival)
        if scale > 0:
            yield Cut(
                cut.weights / scale,
                1.0 - tolerances.SOLVER,
                rival,
                start,
                segments=cut.segments,
                form_scale=scale,
            )

    def _counting_cuts(self, rival: int, chosen: Ints, core: Ints) -> Iterator[Cut]:
        """The words of a flip, and others of which any so many flip too: fewer than that may be
        left free.
        """
        count = len(core)
        harm = self._harms(rival, chosen)
        words = self._similar_words(rival, harm, core)
        harm[core] = np.inf  # they stay
        while int((words & ~self.exclude).sum()) > (restored := int(words.sum()) - count) > 0:
            verdict = self.worst_case.flips_all(rival, chosen, words, count, self.checked_budget())
            if isinstance(verdict, InstanceProved):
                text = np.where(words, chosen, self.worst_case.lattice.first)
                yield Cut(words.astype(np.float64), restored + 1.0, rival, text, verdict)
                return
            suspects = (
                words
                if isinstance(verdict, InstanceUnknown)
                else verdict.chosen != self.worst_case.lattice.first
            )
            words[np.where(suspects & words, harm, np.inf).argmin()] = False

    def _harms(self, rival: int, chosen: Ints) -> Floats:
        """By how much each word of a changed text lowers the form of the original, alone."""
        first = self.worst_case.lattice.first
        harm = np.zeros(len(chosen))
        start = self.worst_case.form_value(rival, first)
        for word in np.flatnonzero(chosen != first).tolist():
            key = rival, int(chosen[word])
            if key not in self.single_harms:
                text = first.copy()
                text[word] = chosen[word]
                self.single_harms[key] = start - self.worst_case.form_value(rival, text)
            harm[word] = self.single_harms[key]
        return harm

    def _similar_words(self, rival: int, harm: Floats, core: Ints) -> Bools:
        """The words of a flip and those that harm most, as many as seem to flip whichever so many
        of them change.
        """
        inside = np.isin(np.arange(len(harm)), core)
        order = np.argsort(-np.where(inside, np.inf, harm), kind="stable")  # the flip first
        order = order[inside[order] | ((harm > 0) & ~self.include)[order]]
        share = self.session.settings.cuts.similar_share
        wanted = share * self.worst_case.form_value(rival, self.worst_case.lattice.first)
        size = len(core)
        while (
            size < len(order)
            and float(np.sort(harm[order[: size + 1]])[: len(core)].sum()) >= wanted
        ):
            size += 1
        return np.isin(np.arange(len(harm)), order[:size])

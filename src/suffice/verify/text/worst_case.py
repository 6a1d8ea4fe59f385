"""WorstCase: whether a set of words suffices for a bag of words, rival by rival, and cuts from
texts that fail.

Method: the norm form's bound per rival (theory, section 10), Lagrangian cuts (section 8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.model.text import Change
from suffice.settings import RESOURCES, Cuts
from suffice.verify.contract import Budget
from suffice.verify.queries import QuerySession
from suffice.verify.text.lagrangian_cuts import (
    LagrangianCut,
    RestorationRelaxation,
    WordGains,
    word_gains,
)
from suffice.verify.text.lattice import OptionLattice
from suffice.verify.text.norm_form import (
    InstanceProved,
    InstanceRefuted,
    InstanceUnknown,
    InstanceVerdict,
    TextInstance,
    cheapest_text,
    decide_instance,
    negated,
)


@dataclass(frozen=True, eq=False)
class SetProved:
    """The set suffices: a proof for every rival."""

    rivals: tuple[int, ...]
    proofs: tuple[InstanceProved, ...]


@dataclass(frozen=True, eq=False)
class SetRefuted:
    """A text that fails, as choices, and the rival it fails against."""

    rival: int
    chosen: Ints


@dataclass(eq=False)
class WorstCase:
    """The worst case of one text and one bag over any set of held words."""

    session: QuerySession
    lattice: OptionLattice
    rival_order: list[int] = field(default_factory=list)  # rivals, the one that won last first
    linear_forms: dict[int, tuple[Floats, float]] = field(default_factory=dict)
    full_instances: dict[int, TextInstance] = field(default_factory=dict)

    @property
    def settings(self) -> Cuts:
        return self.session.settings.cuts

    def __post_init__(self) -> None:
        self.rival_order = [j for j in range(len(self.lattice.bag.bias)) if j != self.session.label]

    def instance(self, rival: int, held: Bools) -> TextInstance:
        """All allowed texts that keep the words of `held`, against one rival."""
        lattice = self.lattice
        allowed = ~held[lattice.word_of]
        allowed[lattice.first] = True
        return TextInstance(
            lattice,
            *self._linear_form(rival),
            lattice.first,
            allowed,
            self.session.at_most,
            settings=self.session.settings.norm_form,
        )

    def _linear_form(self, rival: int) -> tuple[Floats, float]:
        """Weights and bias of the label against a rival."""
        if rival not in self.linear_forms:
            bag = self.lattice.bag
            label = self.session.label
            columns = self.lattice.columns
            weight = bag.rows[label, columns] - bag.rows[rival, columns]
            self.linear_forms[rival] = weight, float(bag.bias[label] - bag.bias[rival])
        return self.linear_forms[rival]

    def full_instance(self, rival: int) -> TextInstance:
        """All allowed texts, against one rival."""
        if rival not in self.full_instances:
            self.full_instances[rival] = self.instance(
                rival, np.zeros(self.lattice.word_count, dtype=bool)
            )
        return self.full_instances[rival]

    def tolerance(self, rival: int) -> float:
        return self.full_instance(rival).tolerance

    def decide_set(
        self, held: Bools, budget: Budget, splits: int = RESOURCES.most_nodes
    ) -> SetProved | SetRefuted | InstanceUnknown:
        """Whether these words are enough, rival by rival; the one that won last is asked first."""
        proofs: dict[int, InstanceProved] = {}
        # a text too close to call against one rival may be lost to another
        undecided: InstanceUnknown | None = None
        for rival in tuple(self.rival_order):
            verdict = decide_instance(self.instance(rival, held), budget, splits)
            match verdict:
                case InstanceRefuted(chosen=chosen):
                    self.rival_order.remove(rival)
                    self.rival_order.insert(0, rival)
                    return SetRefuted(rival, chosen)
                case InstanceUnknown(chosen=None):
                    return verdict
                case InstanceUnknown():
                    undecided = undecided or verdict
                case InstanceProved():
                    proofs[rival] = verdict
        if undecided is not None:
            return undecided
        rivals = tuple(sorted(proofs))
        return SetProved(rivals, tuple(proofs[rival] for rival in rivals))

    def decide_changes(
        self, limit: int, rival: int | None, budget: Budget
    ) -> SetProved | SetRefuted | InstanceUnknown:
        """Whether no change of so many words flips the label (to the rival)."""
        proofs: dict[int, InstanceProved] = {}
        undecided: InstanceUnknown | None = None
        for one in tuple(self.rival_order) if rival is None else (rival,):
            verdict = decide_instance(replace(self.full_instance(one), at_most=limit), budget)
            match verdict:
                case InstanceRefuted(chosen=chosen):
                    return SetRefuted(one, chosen)
                case InstanceUnknown(chosen=None):
                    return verdict
                case InstanceUnknown():
                    undecided = undecided or verdict
                case InstanceProved():
                    proofs[one] = verdict
        if undecided is not None:
            return undecided
        return SetProved(tuple(proofs), tuple(proofs.values()))

    def flips_all(
        self, rival: int, chosen: Ints, words: Bools, count: int, budget: Budget
    ) -> InstanceVerdict:
        """Whether the text fails whichever `count` of these words change (all others stand)."""
        instance = negated(self.full_instance(rival))
        allowed = np.zeros(len(self.lattice.word_of), dtype=bool)
        allowed[chosen[words]] = allowed[self.lattice.first] = True
        return decide_instance(
            replace(instance, allowed=allowed, at_most=count, exactly=True),
            budget,
            self.settings.quick_splits,
        )

    def word_gains(self, rival: int, chosen: Ints) -> WordGains | None:
        if self.lattice.trellis is not None:
            return None
        return word_gains(self.full_instance(rival), chosen)

    def lagrangian_cuts(
        self, rival: int, chosen: Ints, costs: Floats, check_time: Callable[[], object]
    ) -> Iterator[LagrangianCut]:
        """Cuts of one failing text: with weights proportional to costs, then blended with what each
        word adds.
        """
        relaxation = RestorationRelaxation(self.full_instance(rival), chosen, self.settings)
        best = relaxation.best_uniform(costs, check_time)
        if best is not None:
            yield best
            text = np.where(best.restored, self.lattice.first, chosen)
            drops = self.estimated_drops(rival, text)
            word_drops = np.where(best.restored, drops[chosen], -drops[self.lattice.first])
            yield from (
                relaxation.cut_at(
                    np.maximum(blend * word_drops + (1.0 - blend) * best.weights, 0.0)
                )
                for blend in self.settings.blends
            )

    def with_features(self, refuted: SetRefuted, held: Bools) -> SetRefuted:
        """Where the failing text has no known feature, one that has some and fails, if there is
        one: its cuts say more.
        """
        instance = self.instance(refuted.rival, held)
        lattice = self.lattice
        if lattice.counts(refuted.chosen).any():
            return refuted
        feature_values = lattice.values(np.ones(len(lattice.columns)))
        best = refuted
        least_form = -instance.tolerance
        norm = self._norm(lattice.first)
        for _ in range(self.settings.dual_rounds):
            prices = instance.weight * feature_values + (
                0.5 * instance.bias / norm * feature_values**2 if lattice.bag.norm == "l2" else 0.0
            )
            _, chosen = cheapest_text(
                lattice, np.zeros(len(lattice.word_of)), prices, instance.allowed
            )
            form = self.form_value(refuted.rival, chosen)
            last_norm = norm
            norm = self._norm(chosen)
            if norm > 0.0 and form < least_form:
                best = SetRefuted(refuted.rival, chosen)
                least_form = form
            if norm in (0.0, last_norm):  # no feature is left, or the next round would be the same
                break
        return best

    def _norm(self, chosen: Ints) -> float:
        return float(np.linalg.norm(self.lattice.values(self.lattice.counts(chosen))))

    def separating_cut(
        self, rival: int, chosen: Ints, text: Ints, point: Floats, check_time: Callable[[], object]
    ) -> LagrangianCut | None:
        """A cut that separates `point`, fractions of words; `text` is the failing one with such
        words put back.
        """
        first = self.lattice.first
        drops = self.estimated_drops(rival, text)
        word_drops = np.where(text == first, drops[chosen], -drops[first])
        relaxation = RestorationRelaxation(self.full_instance(rival), chosen, self.settings, text)
        return relaxation.separate(point, word_drops, -self.form_value(rival, text), check_time)

    def form_value(self, rival: int, chosen: Ints) -> float:
        return self.full_instance(rival).form_and_margin(self.lattice.counts(chosen))[0]

    def estimated_drops(self, rival: int, chosen: Ints) -> Floats:
        """About how much each choice would lower the form in the place of the present one; a guide,
        no bound.
        """
        instance = self.full_instance(rival)
        lattice = self.lattice
        counts = lattice.counts(chosen)
        values = lattice.values(counts)
        norm = float(np.sqrt((values * values).sum())) or 1.0
        gradient = instance.weight.copy()
        if lattice.bag.norm == "l2":
            gradient += instance.bias * values / norm
        elif lattice.bag.norm == "l1":
            gradient += instance.bias
        value_of_one_more = lattice.values(counts + 1.0) - values
        value_of_one_less = values - lattice.values(counts - 1.0)
        value_of_one_less = np.where(
            counts > 0, value_of_one_less, lattice.values(np.ones_like(counts))
        )
        gained = gradient * value_of_one_more
        lost = gradient * value_of_one_less
        if lattice.trellis is not None:
            return -lattice.trellis.substitution_costs(
                chosen,
                lattice.trellis.priced(0.5 * (gained + lost), np.zeros(len(lattice.word_of))),
            )
        by_choice = np.asarray(lattice.option_counts @ gained).ravel()
        here = np.asarray(lattice.option_counts @ lost).ravel()[chosen]
        return np.asarray(
            here[lattice.word_of] - by_choice + self._pair_drops(chosen, gained, lost)
        )

    def _pair_drops(self, chosen: Ints, gained: Floats, lost: Floats) -> Floats:
        """What the pairs with the neighbours change."""
        lattice = self.lattice
        drops = np.zeros(len(lattice.word_of))
        if not lattice.pairs:
            return drops
        feature = lattice.pairs.feature
        sign = lattice.pairs.sign
        gained = gained[feature] * sign
        lost = lost[feature] * sign
        lasting = np.flatnonzero(~lattice.empty[chosen])
        before = np.searchsorted(lasting, np.arange(lattice.word_count)) - 1
        after = np.searchsorted(lasting, np.arange(lattice.word_count), side="right")
        for word in range(lattice.word_count):
            left = int(chosen[lasting[before[word]]]) if before[word] >= 0 else -1
            right = int(chosen[lasting[after[word]]]) if after[word] < len(lasting) else -1
            here = self._pair_sum(left, int(chosen[word]), right, lost)
            for choice in range(lattice.offsets[word], lattice.offsets[word + 1]):
                drops[choice] = here - self._pair_sum(left, choice, right, gained)
        return drops

    def _pair_sum(self, left: int, choice: int, right: int, prices: Floats) -> float:
        adjacent = (
            [(left, right)] if self.lattice.empty[choice] else [(left, choice), (choice, right)]
        )
        places = [
            place for meet in adjacent if (place := self.lattice.pair_index.get(meet)) is not None
        ]
        return float(sum(prices[place] for place in places))

    def change(self, chosen: Ints) -> Change:
        return self.lattice.change(chosen)

"""Contrast: the cheapest set of words whose change flips the label.

The dual of an explanation: a set of words can flip the label only if it hits every explanation. So take the
cheapest set that hits all explanations known; if freeing it flips the label, it is the answer; else free
as much more as keeps the label, and what is left fixed is a new explanation to hit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from suffice.cost import Costs
from suffice.hitting import sparse_attack
from suffice.network import Bools
from suffice.oracles import BoundsOracle
from suffice.search import Progress
from suffice.text import Text, Word
from suffice.verdict import Budget, Problem, Proved, Refuted, Witness

FlipStatus: TypeAlias = Literal["optimal", "found", "none", "unknown"]


@dataclass(frozen=True, eq=False)
class Flip:
    """The cheapest flip found, and the cost below which none exists (in units)."""

    status: FlipStatus
    witness: Witness | None
    lower: int
    stats: dict[str, int]


@dataclass(frozen=True, eq=False)
class Contrast:
    """Which words have to change to flip the label, and to what.

    status: "optimal" (nothing cheaper flips it), "found" (a flip; optimality open), "none" (proved: no allowed change
    of any words flips the label), "unknown". `flip` shows the changed words: real words where the set is one
    of words, else only the nearest real word to each changed vector (`flip.real` says which).
    """

    status: FlipStatus
    positions: tuple[int, ...]
    words: tuple[Word, ...]
    cost: float
    lower_bound: float
    label: str
    text: Text
    flip: Witness | None
    stats: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def flipped_text(self) -> str:
        """The text with the changed words replaced (by the nearest real words, where `flip.real` is False)."""
        if self.flip is None:
            return self.text.source
        new, source = dict(zip(self.flip.positions, self.flip.words, strict=True)), self.text.source
        pieces, last = [], 0
        for word in self.text.words:
            pieces += [source[last : word.start], new.get(word.position, word.text)]
            last = word.end
        return "".join([*pieces, source[last:]])

    def __str__(self) -> str:
        if self.flip is None:
            proved = "No allowed change of any words flips the label (proved)."
            return proved if self.status == "none" else "Undecided: no flip was found, none was ruled out."
        words = ", ".join(word.text for word in self.words)
        best = (
            "and no cheaper set does (proved)"
            if self.status == "optimal"
            else f"at least {self.lower_bound:g} is needed"
        )
        how = "" if self.flip.real else ", the nearest real words being only an illustration"
        return f"Changing {words} turns {self.label!r} into {self.flip.label!r}, {best}: {self.flipped_text}{how}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": 1,
            "status": self.status,
            "label": self.label,
            "positions": list(self.positions),
            "words": [asdict(word) for word in self.words],
            "cost": self.cost if self.flip is not None else None,
            "lower_bound": self.lower_bound if self.status != "none" else None,
            "text": self.text.source,
            "flipped_text": self.flipped_text,
            "flip": None if self.flip is None else self.flip.to_dict(),
            "stats": dict(self.stats),
            "meta": dict(self.meta),
        }


def cheapest_flip(
    problem: Problem, costs: Costs, oracle: BoundsOracle, budget: Budget, seed: int, on_progress: Progress | None
) -> Flip:
    """Alternate between cheapest hitting sets of explanations and questions whether freeing them flips the label."""
    explanations: list[Bools] = []
    stats = {"queries": 0, "explanations": 0}
    best = _first_flip(problem, oracle, seed)
    lower = 0
    while not budget.spent:
        words = _hitting_set(explanations, problem.features, costs)
        if words is None:
            return Flip("none", None, lower, stats)
        lower = costs.of(words)
        _report(on_progress, lower, costs, best, budget)
        stats["queries"] += 1
        answer = oracle.ask(words[None], budget)[0]
        if isinstance(answer, Refuted):
            return Flip("optimal", answer.witness, lower, stats)
        if not isinstance(answer, Proved):
            break
        explanations.append(_grow(problem, oracle, costs, words, stats))
        stats["explanations"] += 1
    return Flip("found" if best else "unknown", best, lower, stats)


def _first_flip(problem: Problem, oracle: BoundsOracle, seed: int) -> Witness | None:
    """Any flip, made sparse by attacks: the answer if time runs out."""
    answer = oracle.ask_cheaply(problem.features[None])[0]
    if not isinstance(answer, Refuted):
        return None
    return sparse_attack(oracle.attacker, answer.witness, np.random.default_rng(seed))


def _report(on_progress: Progress | None, lower: int, costs: Costs, best: Witness | None, budget: Budget) -> None:
    if on_progress is not None and best is not None:
        mask = np.zeros(len(costs.units), dtype=bool)
        mask[list(best.positions)] = True
        on_progress(lower, costs.of(mask), budget.elapsed, mask)


def _grow(problem: Problem, oracle: BoundsOracle, costs: Costs, free: Bools, stats: dict[str, int]) -> Bools:
    """Free as many more words as plain bounds allow, least harmful first; the rest is an explanation."""
    while True:
        rest = np.flatnonzero(problem.features & ~free)
        harm = -oracle.attacker.push.min(0)[rest]
        order = rest[np.argsort(harm, kind="stable")]
        rows = np.repeat(free[None], len(order), axis=0)
        for i, word in enumerate(order):
            rows[i:, word] = True
        stats["queries"] += len(rows)
        answers = oracle.ask_cheaply(rows, optimised=True) if len(rows) else []
        good = [i for i, answer in enumerate(answers) if isinstance(answer, Proved)]
        if not good:
            single = [free | (np.arange(len(free)) == word) for word in order]
            answers = oracle.ask_cheaply(np.stack(single), optimised=True) if single else []
            fits = [row for row, answer in zip(single, answers, strict=True) if isinstance(answer, Proved)]
            if not fits:
                return problem.features & ~free
            free = fits[0]
        else:
            free = rows[max(good)]


def _hitting_set(sets: list[Bools], features: Bools, costs: Costs) -> Bools | None:
    """The cheapest set of words that shares one with each of `sets`; None when one of them is empty."""
    words = np.flatnonzero(features)
    if any(not row.any() for row in sets):
        return None
    chosen = np.zeros(len(features), dtype=bool)
    if sets:
        matrix = np.stack(sets)[:, words].astype(float)
        found = milp(
            costs.units[words],
            integrality=np.ones(len(words)),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, lb=np.ones(len(sets))),
        )
        if found.status != 0:
            raise RuntimeError(f"the hitting-set program ended with status {found.status}: {found.message}")
        chosen[words] = found.x > 0.5
    return chosen

"""Contrast: the cheapest set of words whose change flips the label, with the flip."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.text import Text, Word
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Witness
from suffice.search.cost import Cost
from suffice.search.flip import Flip, FlipStatus, cheapest_flip
from suffice.sets.perturbations import Perturbation
from suffice.verbs import asked
from suffice.verbs.question import Given, Padding, Question
from suffice.verbs.running import OnProgress, reporter, single_threaded


def contrast(
    classifier: Classifier | BlackBox,
    text: Given,
    *,
    perturbation: Perturbation | None = None,
    cost: Cost = None,
    towards: str | None = None,
    padding: Padding = "fixed",
    seconds: float = 60.0,
    seed: int = 0,
    max_queries: int | None = None,
    cache: str | Path | None = None,
    on_progress: OnProgress | None = None,
) -> Contrast:
    """The cheapest set of words whose change flips the label, with the flip.

    With `towards`, a flip counts only when that label reaches the present one (among more than two labels, a third may
    then beat both).
    """
    question = Question(
        classifier,
        text,
        perturbation=perturbation,
        cost=cost,
        padding=padding,
        seconds=seconds,
        seed=seed,
        max_queries=max_queries,
        cache=cache,
        more={} if towards is None else {"towards": towards},
    )
    return contrasted(question, on_progress)


def contrasted(question: Question, on_progress: OnProgress | None = None) -> Contrast:
    """The answer to a question."""
    with single_threaded():
        started, towards = time.monotonic(), question.more.get("towards")
        if question.blackbox is not None:
            rival = None if towards is None else question.rival(towards)
            return contrast_of(question, asked.cheapest_flip(question, on_progress, rival), time.monotonic() - started)
        flip = cheapest_flip(
            question.problem,
            question.costs,
            BoundsOracle(question.problem),
            question.budget,
            question.seed,
            reporter(question, on_progress),
            None if towards is None else [question.rival(towards)],
        )
        return contrast_of(question, flip, time.monotonic() - started)


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
        if self.flip.text is not None:
            return self.flip.text
        new, source = dict(zip(self.flip.positions, self.flip.words, strict=True)), self.text.source
        pieces, last = [], 0
        for word in self.text.words:
            pieces += [source[last : word.start], new.get(word.position, source[word.start : word.end])]
            last = word.end
        return "".join([*pieces, source[last:]])

    def __str__(self) -> str:
        if self.flip is None:
            aim = f"turns the label into {self.meta['towards']!r}" if "towards" in self.meta else "flips the label"
            proved = f"No allowed change of any words {aim} (proved)."
            return proved if self.status == "none" else "Undecided: no flip was found, none was ruled out."
        words = ", ".join(word.text for word in self.words)
        best = (
            "and no cheaper set does (proved)"
            if self.status == "optimal"
            else f"at least {self.lower_bound:g} is needed"
        )
        how = "" if self.flip.real else ", the nearest real words being only an illustration"
        return f"Changing {words} turns {self.label!r} into {self.flip.label!r}, {best}: {self.flipped_text}{how}"

    def _repr_html_(self) -> str:
        from suffice.render.cells import contrast

        return contrast(self)

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


def contrast_of(question: Question, flip: Flip, seconds: float) -> Contrast:
    price = question.costs.price
    witness = question.witness(flip.witness)
    positions = () if witness is None else witness.positions
    mask = np.zeros(len(question.text), dtype=bool)
    mask[list(positions)] = True
    return Contrast(
        status=flip.status,
        positions=positions,
        words=tuple(question.text.words[i] for i in positions if i < len(question.text.words)),
        cost=math.inf if witness is None else price(question.costs.of(mask)),
        lower_bound=math.inf if flip.status == "none" else price(flip.lower),
        label=question.label,
        text=question.text,
        flip=witness,
        stats={**flip.stats, "seconds": seconds},
        meta=question.meta(),
    )

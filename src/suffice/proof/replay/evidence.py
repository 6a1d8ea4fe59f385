"""Evidence that words are enough, run again or by bounds, and that no cheaper ones are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from suffice.model.blackbox import BlackBox
from suffice.model.text import rewritten
from suffice.proof.bag.ceilings import Sets, none_enough
from suffice.proof.bag.check import BagCheck
from suffice.proof.bag.rules import none_below
from suffice.proof.bag.tables import TableCheck
from suffice.proof.check.reading import Limit
from suffice.proof.draws import draw_seed, draws
from suffice.proof.replay.header import Header
from suffice.proof.replay.lines import Lines
from suffice.proof.replay.question import all_texts, count_of, need, positions_in, whole
from suffice.proof.replay.running import Running

MOST = 10**9  # texts that are run again at the most
COMPARED = 12  # changed texts on which a bag of words is compared with the program


@dataclass
class Evidence:
    """What the lines of a certificate say, held against the black box; `sampled` texts stand for all of them."""

    header: Header
    lines: Lines
    running: Running
    blackbox: BlackBox
    sample: int | None
    limit: Limit
    sampled: int = 0

    # --- enough ---

    def exhausted(self, free: Sequence[int], place: int | None = None) -> None:
        """Every allowed text that changes only free words keeps the label; `place` is that of one of several sets."""
        if self.lines.named("computed"):
            self.computed(free, self.header.at_most, place)
        elif self.lines.named("tables"):
            self._tables(free, place)
        else:
            self._asked(free, place)

    def _asked(self, free: Sequence[int], place: int | None) -> None:
        """All texts, or a sample of them, are run."""
        line = self._line("asked", "texts", "what was asked", free, self.header.at_most, place)
        text, options, limit = self.header.text, self.header.options, self.header.limit
        count = count_of(options, free, limit)
        need(whole(line["texts"]) == count, f"there are {count} allowed texts")
        if self.sample is not None and self.sample < count:
            self.sampled = count
            self.running.all_keep(self.header.written(draws(options, free, limit, self.sample, 0)))
        else:
            need(count <= MOST, f"{count} texts are more than can be run again: use a sample")
            self.running.all_keep(all_texts(text, options, free, limit))

    def computed(self, free: Sequence[int], limit: int | None, place: int | None = None) -> None:
        """The worst case of the free words, so many at once, by bounds."""
        need(self.opened.bag.bounded, "only tables are accepted of this model")
        line = self._line("computed", "proofs", "what was computed", free, limit, place)
        self.opened.enough(free, line["proofs"], list(self.header.labels), limit, self.running.rival)

    def _tables(self, free: Sequence[int], place: int | None) -> None:
        """All texts of the free words, by tables."""
        bag = self.opened.bag
        need(bag.trees is not None or bag.model is not None, "only bounds are accepted of this model")
        need(not bag.streams, "there are no tables of features that reach over words")
        line = self._line("tables", "proofs", "a line of tables", free, self.header.at_most, place)
        text, margins = self.header.text, self.running.margins
        check = TableCheck(self.opened, lambda changes: margins([rewritten(text, change) for change in changes]))
        check.enough(free, line["proofs"], list(self.header.labels))

    def drawn(self, free: Sequence[int]) -> None:
        """The texts that the seed draws keep the label, and the share follows from how many they are."""
        head, claim, line = self.header.head, self.header.claim, self.lines.said("drawn")
        held = self.header.places("positions")
        seed = draw_seed(head["model"], head["text"], head["perturbation"], held, claim["look"])
        need(line == {"free": list(free), "count": claim["count"], "seed": seed}, "other texts were drawn")
        need(type(claim["count"]) is int and 1 <= claim["count"] <= MOST, "the count must be a whole number")
        need(type(claim["look"]) is int and claim["look"] >= 1, "looks are counted from 1")
        need(type(claim["confidence"]) is float and 0 < claim["confidence"] < 1, "confidence is between 0 and 1")
        error = (1.0 - claim["confidence"]) / 2.0 ** claim["look"]
        need(0 <= claim["share"] <= error ** (1.0 / claim["count"]) + 1e-12, "the share is too large for the count")
        changes = draws(self.header.options, free, self.header.limit, claim["count"], seed)
        self.running.all_keep(self.header.written(changes))

    def _line(
        self, name: str, more: str, what: str, free: Sequence[int], limit: int | None, place: int | None
    ) -> dict[str, Any]:
        """The one line of this name, or that of one of the sets of the claim, which is about these free words."""
        line = self.lines.said(name) if place is None else self.lines.said(name, place, len(self.header.claim["sets"]))
        need(line.keys() == {"free", "at_most", more}, f"{what} has other fields")
        same = positions_in(line["free"], len(self.header.options), "free") == list(free)
        need(same, "the words that were free are others")
        need(line["at_most"] == limit, "another number of words could change")
        return line  # type: ignore[no-any-return]

    # --- nothing cheaper ---

    def ruled(self, flips: Sequence[int], costs: Sequence[int], include: int, exclude: int) -> None:
        """No set of a lower cost than `lower` hits all flips and keeps all rules."""
        labels, count = list(self.header.labels), len(costs)
        rules = [(np.array([float(flip >> i & 1) for i in range(count)]), 1.0) for flip in flips]
        for number, line in self.lines.named("rule"):
            self.lines.number = number
            need(self.opened.bag.bounded, "there are no rules of this model")
            rules.append(self.opened.rule(line, labels))
        self.lines.number = 1
        lower = self.header.claim["lower"]
        sure = none_below(rules, costs, include, exclude, lower, self.limit.look)
        need(sure >= lower, "a cheaper set may keep all rules")

    def under_ceilings(self, costs: Sequence[int], include: int, exclude: int) -> None:
        """No set of a lower cost than `lower` is enough, by ceilings alone."""
        ((number, line),) = self.lines.named("ceilings")
        self.lines.number = number
        need(self.opened.bag.bounded, "there are no ceilings of this model")
        inside, outside = (frozenset(i for i in range(len(costs)) if mask >> i & 1) for mask in (include, exclude))
        sets = Sets(costs, inside, outside, self.header.claim["lower"])
        none_enough(self.opened, line, list(self.header.labels), sets)
        self.lines.number = 1

    @cached_property
    def opened(self) -> BagCheck:
        """The bag of words that the model is laid open as, compared with the program on texts that are run."""
        bag, header = self.blackbox.bag, self.header
        need(bag is not None, "the model is not laid open: what was computed cannot be checked")
        assert bag is not None
        found = BagCheck(bag, header.text, header.options, header.at_most, header.label, self.limit.look)
        everything = header.movable()
        changes = [{}, *draws(header.options, everything, header.limit, COMPARED, 0)] if everything else [{}]
        texts = list(dict.fromkeys(rewritten(header.text, change) for change in changes))
        rows = self.running.rows(texts)
        found.agrees(texts, np.array([rows[text] for text in texts]))
        return found

"""Evidence that words suffice, run again or by bounds, and that no cheaper ones do.

Method: running again, cuts, majorants, draws (theory, sections 8 and 12).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from suffice.model.blackbox import BlackBox
from suffice.model.text import rewritten
from suffice.proof.bag.check import BagCheck
from suffice.proof.bag.cuts import proved_lower_bound
from suffice.proof.bag.majorants import SetConstraints, require_none_sufficient
from suffice.proof.bag.text_tables import TableCheck
from suffice.proof.check.limits import Limit
from suffice.proof.draws import draw_seed, draws
from suffice.proof.replay.given_question import all_texts, count_of, need, positions_in, whole
from suffice.proof.replay.header import Header
from suffice.proof.replay.limits import COMPARED_TEXTS, MOST_TEXTS, SHARE_ROUNDING
from suffice.proof.replay.lines import Lines
from suffice.proof.replay.rerun import Runner


@dataclass
class EvidenceCheck:
    """What the lines of a certificate say, held against the black box; `sampled` texts stand for
    all of them.
    """

    header: Header
    lines: Lines
    runner: Runner
    blackbox: BlackBox
    sample: int | None
    limit: Limit
    sampled: int = 0

    # --- enough ---

    def require_all_keep(self, free: Sequence[int], place: int | None = None) -> None:
        """Every allowed text that changes only free words keeps the label; `place` is that of one
        of several sets.
        """
        if self.lines.lines_of_kind("computed"):
            self.require_computed(free, self.header.at_most, place)
        elif self.lines.lines_of_kind("tables"):
            self._require_tables(free, place)
        else:
            self._run_all(free, place)

    def _run_all(self, free: Sequence[int], place: int | None) -> None:
        """All texts, or a sample of them, are run."""
        line = self._line("asked", "texts", "what was asked", free, self.header.at_most, place)
        text = self.header.text
        options = self.header.options
        limit = self.header.limit
        count = count_of(options, free, limit)
        need(whole(line["texts"]) == count, f"there are {count} allowed texts")
        if self.sample is not None and self.sample < count:
            self.sampled = count
            self.runner.all_keep(self.header.written(draws(options, free, limit, self.sample, 0)))
        else:
            need(count <= MOST_TEXTS, f"{count} texts are more than can be run again: use a sample")
            self.runner.all_keep(all_texts(text, options, free, limit))

    def require_computed(
        self, free: Sequence[int], limit: int | None, place: int | None = None
    ) -> None:
        """The worst case of the free words, so many at once, by bounds."""
        need(self.bag_check.bag.bounded, "only tables are accepted of this model")
        line = self._line("computed", "proofs", "what was computed", free, limit, place)
        self.bag_check.require_sufficient(
            free, line["proofs"], list(self.header.labels), limit, self.runner.rival
        )

    def _require_tables(self, free: Sequence[int], place: int | None) -> None:
        """All texts of the free words, by tables."""
        bag = self.bag_check.bag
        need(
            bag.trees is not None or bag.model is not None, "only bounds are accepted of this model"
        )
        need(not bag.streams, "there are no tables of features that reach over words")
        line = self._line("tables", "proofs", "a line of tables", free, self.header.at_most, place)
        text, margins = self.header.text, self.runner.margins
        check = TableCheck(
            self.bag_check, lambda changes: margins([rewritten(text, change) for change in changes])
        )
        check.require_sufficient(free, line["proofs"], list(self.header.labels))

    def require_drawn(self, free: Sequence[int]) -> None:
        """The texts that the seed draws keep the label, and the share follows from how many they
        are.
        """
        head = self.header.head
        claim = self.header.claim
        line = self.lines.line_at("drawn")
        held = self.header.places("positions")
        seed = draw_seed(head["model"], head["text"], head["perturbation"], held, claim["look"])
        need(
            line == {"free": list(free), "count": claim["count"], "seed": seed},
            "other texts were drawn",
        )
        need(
            type(claim["count"]) is int and 1 <= claim["count"] <= MOST_TEXTS,
            "the count must be a whole number",
        )
        need(type(claim["look"]) is int and claim["look"] >= 1, "looks are counted from 1")
        need(
            type(claim["confidence"]) is float and 0 < claim["confidence"] < 1,
            "confidence is between 0 and 1",
        )
        error = (1.0 - claim["confidence"]) / 2.0 ** claim["look"]
        need(
            0 <= claim["share"] <= error ** (1.0 / claim["count"]) + SHARE_ROUNDING,
            "the share is too large for the count",
        )
        changes = draws(self.header.options, free, self.header.limit, claim["count"], seed)
        self.runner.all_keep(self.header.written(changes))

    def _line(
        self,
        name: str,
        more: str,
        what: str,
        free: Sequence[int],
        limit: int | None,
        place: int | None,
    ) -> dict[str, Any]:
        """The one line of this name, or that of one of the sets of the claim, which is about these
        free words.
        """
        line = (
            self.lines.line_at(name)
            if place is None
            else self.lines.line_at(name, place, len(self.header.claim["sets"]))
        )
        need(line.keys() == {"free", "at_most", more}, f"{what} has other fields")
        same = positions_in(line["free"], len(self.header.options), "free") == list(free)
        need(same, "the words that were free are others")
        need(line["at_most"] == limit, "another number of words could change")
        return line  # type: ignore[no-any-return]

    # --- nothing cheaper ---

    def require_cuts(
        self, flips: Sequence[int], costs: Sequence[int], include: int, exclude: int
    ) -> None:
        """No set of a lower cost than `lower` hits all flips and keeps all rules."""
        labels = list(self.header.labels)
        count = len(costs)
        cuts = [(np.array([float(flip >> i & 1) for i in range(count)]), 1.0) for flip in flips]
        for number, line in self.lines.lines_of_kind("rule"):
            self.lines.number = number
            need(self.bag_check.bag.bounded, "there are no rules of this model")
            cuts.append(self.bag_check.checked_cut(line, labels))
        self.lines.number = 1
        lower = self.header.claim["lower"]
        proved = proved_lower_bound(cuts, costs, include, exclude, lower, self.limit.check_time)
        need(proved >= lower, "a cheaper set may keep all rules")

    def require_majorants(self, costs: Sequence[int], include: int, exclude: int) -> None:
        """No set of a lower cost than `lower` is enough, by ceilings alone."""
        ((number, line),) = self.lines.lines_of_kind("ceilings")
        self.lines.number = number
        need(self.bag_check.bag.bounded, "there are no ceilings of this model")
        inside, outside = (
            frozenset(i for i in range(len(costs)) if mask >> i & 1) for mask in (include, exclude)
        )
        sets = SetConstraints(costs, inside, outside, self.header.claim["lower"])
        require_none_sufficient(self.bag_check, line, list(self.header.labels), sets)
        self.lines.number = 1

    @cached_property
    def bag_check(self) -> BagCheck:
        """The bag of words that the model is laid open as, compared with the program on texts that
        are run.
        """
        bag = self.blackbox.bag
        header = self.header
        need(bag is not None, "the model is not laid open: what was computed cannot be checked")
        assert bag is not None
        found = BagCheck(
            bag, header.text, header.options, header.at_most, header.label, self.limit.check_time
        )
        everything = header.movable()
        changes = (
            [{}, *draws(header.options, everything, header.limit, COMPARED_TEXTS, 0)]
            if everything
            else [{}]
        )
        texts = list(dict.fromkeys(rewritten(header.text, change) for change in changes))
        rows = self.runner.rows(texts)
        found.require_agreement(texts, np.array([rows[text] for text in texts]))
        return found

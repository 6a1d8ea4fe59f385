"""The replay: every text of a certificate about a black box is written anew and run again.

Flips must flip; texts that were enumerated must keep the label, all of them; that no cheaper set
hits all flips is proved by branching. Whatever is too close to zero, given how far the program's
numbers move, proves nothing.

Method: running again (theory, section 12).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from suffice.errors import InputError, NotACertificate, Rejected
from suffice.model.blackbox import BlackBox
from suffice.model.network import Floats
from suffice.model.text import rewritten
from suffice.proof.check import Checked
from suffice.proof.check.header import FRACTION
from suffice.proof.check.limits import EXACT_INTEGERS, MALFORMED_ERRORS, Limit
from suffice.proof.replay.describe import Description
from suffice.proof.replay.evidence import EvidenceCheck
from suffice.proof.replay.given_question import (
    Wanted,
    cheaper_texts,
    compare,
    cost_of,
    mask_of,
    need,
    positions_in,
    whole,
)
from suffice.proof.replay.header import Header, read_header
from suffice.proof.replay.hitting import can_be_hit
from suffice.proof.replay.lines import Lines
from suffice.proof.replay.rerun import Runner

SUFFICIENCY_LINES = ("asked", "computed", "tables")  # lines that say that words are enough


def replay(certificate: Any, blackbox: BlackBox, wanted: Wanted | None = None) -> Checked:
    """What a certificate about a black box proves; Rejected names the first line that fails.

    With a sample, so many of the exhausted texts are drawn and run instead of all, and the sentence
    says so.
    """
    asked = wanted or Wanted()
    sample = asked.sample
    if sample is not None and (
        isinstance(sample, bool) or not isinstance(sample, int) or sample < 1
    ):
        raise InputError(f"A sample must be a whole number of at least 1, not {sample!r}.")
    if asked.anew and blackbox.cache is not None:
        blackbox = replace(blackbox, cache=None)  # what a file says is nothing that was run
    time_limit = Limit.of(asked.seconds)
    lines = Lines.of(certificate)
    try:
        return _replayed(lines, blackbox, asked, time_limit)
    except NotACertificate:
        raise
    except Rejected as error:
        raise type(error)(error.line or lines.number, error.reason) from None
    except MALFORMED_ERRORS as error:
        if isinstance(error, InputError):
            raise
        reason = f"malformed ({type(error).__name__}: {str(error)[:200]})"
        raise Rejected(lines.number, reason) from error


def _replayed(lines: Lines, blackbox: BlackBox, wanted: Wanted, limit: Limit) -> Checked:
    header = read_header(lines.head, blackbox)
    compare(header.head, header.text, wanted, blackbox)
    runner = Runner(blackbox, header.label, wanted.anew, limit.check_time)
    need(runner.keeps(header.text.source), "the text itself does not have the label")
    evidence = EvidenceCheck(header, lines, runner, blackbox, wanted.sample, limit)
    _ClaimCheck(header, lines, runner, evidence, limit).check_claim()
    return _checked(header, runner, evidence, blackbox.name)


@dataclass(frozen=True)
class _ClaimCheck:
    """What is claimed, and what it rests on."""

    header: Header
    lines: Lines
    runner: Runner
    evidence: EvidenceCheck
    limit: Limit

    @property
    def claim(self) -> Any:
        return self.header.claim

    def check_claim(self) -> None:
        """Rejected unless the claim follows from the lines."""
        sufficiency = self.evidence.require_all_keep
        match self.claim["kind"]:
            case "sufficient":
                self._fields("positions", *SUFFICIENCY_LINES)
                sufficiency(self.header.free(self.header.places("positions")))
            case "independent":
                self._fields("of", *SUFFICIENCY_LINES)
                sufficiency(self.header.movable(self.header.places("of")))
            case "refuted":
                self._fields("positions", "flip")
                self._require_flip(lambda flip, places: not flip & places, "positions")
            case "infeasible":
                self._fields("exclude", "flip")
                self._require_flip(lambda flip, places: flip & ~places == 0, "exclude")
            case "flip":
                self._fields("positions costs unit towards cost lower", "flip", "computed")
                self._cheapest_flip()
            case "cheapest":
                self._fields(
                    "positions costs unit include exclude cost lower",
                    "flip",
                    "rule",
                    "ceilings",
                    *SUFFICIENCY_LINES,
                )
                self._cheapest(sufficiency)
            case "all":
                self._fields("sets costs unit include exclude cost", "flip", *SUFFICIENCY_LINES)
                self._all_cheapest()
            case "tested":
                more = "count confidence share look"
                self._fields(
                    f"positions costs unit include exclude cost lower {more}",
                    "flip",
                    "rule",
                    "drawn",
                )
                self._cheapest(self.evidence.require_drawn)
            case _:
                raise Rejected(0, f"there is no claim {str(self.claim['kind'])[:40]!r}")

    def _fields(self, names: str, *kinds: str) -> None:
        """The claim has these fields, and every other line is of one of these kinds."""
        wanted = {"kind", *names.split()}
        need(
            self.claim.keys() == wanted,
            f"the claim must have exactly these: {', '.join(sorted(wanted))}",
        )
        self.lines.require_kinds(*kinds)

    def _require_flip(self, allowed: Callable[[int, int], bool], name: str) -> None:
        """The one flip changes only words that it may change, given the places that the claim
        names.
        """
        places = self.header.places(name)
        (flip,) = self._flips()
        need(allowed(flip, mask_of(places)), "the change is one of words that it may not touch")

    def _cheapest(self, enough: Callable[[Sequence[int]], None]) -> None:
        """The words are enough, and no set of a lower cost than `lower` hits all flips."""
        claim = self.claim
        held, include, exclude = (
            mask_of(self.header.places(name)) for name in ("positions", "include", "exclude")
        )
        costs = claim["costs"]
        self._require_sound_costs(costs)
        self._of_the_cost(held, include, exclude)
        need(whole(claim["lower"]) <= claim["cost"], "the lower bound is above the cost")
        flips = self._flips()
        enough(self.header.free(self.header.places("positions")))
        self.lines.number = 1
        if self.lines.lines_of_kind("ceilings"):
            self.evidence.require_majorants(costs, include, exclude)
        elif self.lines.lines_of_kind("rule") or self.lines.lines_of_kind("computed"):
            self.evidence.require_cuts(flips, costs, include, exclude)
        else:
            left = claim["lower"] - cost_of(include, costs)
            self._none_hits([flip for flip in flips if not flip & include], left, exclude)

    def _of_the_cost(self, held: int, include: int, exclude: int) -> None:
        """The words cost what is claimed, and hold what they must and nothing that they may not."""
        need(
            include & ~held == 0 and not held & exclude,
            "the words must hold those included and none excluded",
        )
        need(
            whole(self.claim["cost"]) == cost_of(held, self.claim["costs"]),
            "the cost is another one",
        )

    def _none_hits(
        self, sets: Sequence[int], below: int, exclude: int, who: str = "a cheaper set"
    ) -> None:
        """No set that costs less than this hits all of these."""
        hits = can_be_hit(sets, self.claim["costs"], exclude, below, self.limit.check_time)
        need(not hits, f"{who} hits all the flips that are given")

    def _all_cheapest(self) -> None:
        """Each set is enough and costs as much, and every other set that costs no more misses a
        flip.
        """
        costs = self.claim["costs"]
        everything = (1 << len(self.header.options)) - 1
        self._require_sound_costs(costs)
        include, exclude = (mask_of(self.header.places(name)) for name in ("include", "exclude"))
        sets = self._sets(include, exclude)
        flips = [flip for flip in self._flips() if not flip & include]
        for place, held in enumerate(sets):
            self.evidence.require_all_keep(
                [i for i in self.header.movable() if not held >> i & 1], place
            )
        self.lines.number = 1
        left = self.claim["cost"] - cost_of(include, costs)
        self._none_hits(flips, left, exclude)
        # a set that is not listed and no cheaper holds one of these
        others = [everything & ~held for held in sets]
        self._none_hits([*flips, *others], left + 1, exclude, "a set that is not listed")

    def _sets(self, include: int, exclude: int) -> list[int]:
        """The sets that are listed, each of the cost that is claimed."""
        listed = self.claim["sets"]
        need(type(listed) is list and listed, "there must be a list of sets")
        sets = [mask_of(positions_in(one, len(self.claim["costs"]), "a set")) for one in listed]
        need(len(set(sets)) == len(sets), "a set is listed twice")
        for held in sets:
            self._of_the_cost(held, include, exclude)
        return sets

    def _cheapest_flip(self) -> None:
        """The change that is given flips the label, and every change that costs less than `lower`
        keeps it.
        """
        claim = self.claim
        costs = self.claim["costs"]
        lower = self.claim["lower"]
        self._require_sound_costs(costs)
        self.runner.rival = self._rival()
        need(lower is None or whole(lower) >= 0, "the lower bound must be a whole number")
        flips = self._flips()
        if claim["cost"] is None:
            need(
                not flips and claim["positions"] == [],
                "there is a flip that the claim does not name",
            )
        else:
            named = len(flips) == 1 and flips[0] == mask_of(self.header.places("positions"))
            need(named, "the flip is another one")
            need(whole(claim["cost"]) == cost_of(flips[0], costs), "the cost is another one")
            need(lower is not None and lower <= claim["cost"], "the lower bound is above the cost")
        self.lines.number = 1
        below = sum(costs) + 1 if lower is None else lower
        free = self.header.movable()
        if self.lines.lines_of_kind("computed"):
            self._few_changes_keep(free, costs, lower)
        else:
            changes = cheaper_texts(self.header.options, free, costs, self.header.limit, below)
            self.runner.all_keep(self.header.written(changes))

    def _rival(self) -> int | None:
        """The label that flips are counted to; None: any other."""
        towards = self.claim["towards"]
        labels = self.header.labels
        need(towards is None or towards in labels, "the label to turn to is none of the model's")
        need(towards != self.header.head["label"], "the text has the label to turn to already")
        return None if towards is None else labels.index(towards)

    def _few_changes_keep(
        self, free: Sequence[int], costs: Sequence[int], lower: int | None
    ) -> None:
        """No change of so many words flips the label, and all words cost the same: so none below
        `lower` does.
        """
        limit = self.lines.line_at("computed")["at_most"]
        most = self.header.limit
        need(whole(limit) >= 0, "at_most must be a whole number")
        need(
            len(set(costs)) == 1,
            "what is said of a number of changes says nothing where costs differ",
        )
        enough = most if lower is None else min(most, (lower - 1) // costs[0])
        need(limit >= enough, f"changes of more than {limit} words may be cheaper")
        self.evidence.require_computed(free, limit)

    def _require_sound_costs(self, costs: Any) -> None:
        words = len(self.header.text.words)
        need(type(costs) is list and len(costs) == words, "there must be a cost for each word")
        need(
            all(type(cost) is int and cost >= 1 for cost in costs),
            "costs must be whole numbers of at least 1",
        )
        need(sum(costs) < EXACT_INTEGERS, "the costs add up to 2^53 or more")
        unit = self.claim["unit"]
        right = type(unit) is str and FRACTION.fullmatch(unit) and all(map(int, unit.split("/")))
        need(right, "the unit must be a fraction above zero, such as 3 or 1/20")

    # --- flips ---

    def _flips(self) -> list[int]:
        """Every flip that is given, run again."""
        given = self.lines.lines_of_kind("flip")
        found = []
        texts = []
        for number, flip in given:
            self.lines.number = number
            changed, text = self._text_of(flip)
            found.append(mask_of(changed))
            texts.append(text)
        rows = self.runner.rows(texts)
        for (number, flip), text, margin in zip(
            given, texts, self.runner.settled_margins(texts, rows), strict=True
        ):
            self.lines.number = number
            need(margin <= 0, "run again, the text keeps the label or is too close to call")
            self._named(flip["label"], rows[text])
        return found

    def _text_of(self, flip: Any) -> tuple[list[int], str]:
        """The words that a flip changes, and the text, which must be what that makes of the
        original.
        """
        options = self.header.options
        need(flip.keys() == {"changed", "words", "text", "label"}, "a flip has other fields")
        changed = positions_in(flip["changed"], len(options), "what is changed")
        need(len(changed) <= self.header.limit, "it changes more words at once than may change")
        new = dict(zip(changed, flip["words"], strict=True))
        need(
            all(word in options[i] for i, word in new.items()),
            "a word becomes what it may not become",
        )
        text = rewritten(self.header.text, new)
        need(text == flip["text"], "the text is not what the change makes of the original")
        need(flip["label"] in self.header.others, "the flip's label is none of the model's others")
        return changed, text

    def _named(self, label: str, row: Floats) -> None:
        """The label that a flip names is the one that wins when the text is run again, as far as
        that can be told.
        """
        scores = dict(zip(self.header.labels, row.tolist(), strict=True))
        best = max(self.header.others, key=lambda name: scores[name])
        ahead = scores[label] >= scores[best] - self.runner.blackbox.answers.tolerance
        need(ahead, f"run again, the text has the label {best!r}, not {label!r}")


def _checked(header: Header, runner: Runner, evidence: EvidenceCheck, program: str) -> Checked:
    """What is proved, in numbers and in words."""
    claim = header.claim
    label = header.head["label"]
    sampled = evidence.sampled
    kind = claim["kind"]
    name = {"independent": "of", "infeasible": "exclude"}.get(kind, "positions")
    optimal = kind == "cheapest" and claim["cost"] == claim["lower"] and not sampled
    bounds = (claim.get("cost"), claim.get("lower"))
    words = Description(
        header.head,
        header.text,
        header.options,
        program,
        runner.texts_run,
        sampled,
        evidence.sample,
    )
    proved = (f"the text has the label {label!r}", *words.facts())
    places = tuple(claim["sets"][0] if kind == "all" else claim[name])
    unit = Fraction(claim["unit"]) if "unit" in claim else None
    return Checked(
        kind, label, places, *bounds, optimal, words.sentence(proved), proved, bool(sampled), unit
    )

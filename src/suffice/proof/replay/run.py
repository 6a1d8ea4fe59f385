"""The run: every text of a certificate about a black box is written anew and run again.

Flips must flip; texts that were exhausted must keep the label, all of them; that no cheaper set hits all flips is
proved by branching. Whatever is too close to call, given how far the program's numbers move, proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import InputError, NotACertificate, Rejected
from suffice.model.blackbox import BlackBox
from suffice.model.network import Floats
from suffice.model.text import rewritten
from suffice.proof.bag.ceilings import Sets, none_enough
from suffice.proof.bag.check import BagCheck
from suffice.proof.bag.rules import none_below
from suffice.proof.bag.tables import TableCheck
from suffice.proof.certificate import read
from suffice.proof.check import Checked
from suffice.proof.check.header import FRACTION
from suffice.proof.check.reading import WHOLE, Limit
from suffice.proof.draws import draw_seed, draws
from suffice.proof.replay.hitting import hittable
from suffice.proof.replay.question import (
    Wanted,
    all_texts,
    cheaper,
    compare,
    cost_of,
    count_of,
    mask_of,
    need,
    options_of,
    positions_in,
    text_of,
    whole,
)
from suffice.proof.replay.said import Said

KIND = "asked 2"  # what the first line of a certificate about a black box says
HEADER = {"certificate", "model", "name", "mask", "text", "words", "perturbation", "label", "claim"}
MAX_LINE, MAX_LINES = 2**20, 2**26  # bytes of a line, and of all of them: they are held together
ENOUGH = ("asked", "computed", "tables")  # lines that say that words are enough
MOST = 10**9  # texts that are run again at the most
COMPARED = 12  # changed texts on which a bag of words is compared with the program
PART = 512  # texts written at a time
WAYS = 2**22  # words times the number of them that may change at once, at the most


def replay(certificate: Any, blackbox: BlackBox, wanted: Wanted | None = None) -> Checked:
    """What a certificate about a black box proves; Rejected names the first line that fails.

    With a sample, so many of the exhausted texts are drawn and run instead of all, and the sentence says so.
    """
    asked = wanted or Wanted()
    sample = asked.sample
    if sample is not None and (isinstance(sample, bool) or not isinstance(sample, int) or sample < 1):
        raise InputError(f"A sample must be a whole number of at least 1, not {sample!r}.")
    time_limit = Limit.of(asked.seconds)
    replayer = _Replay(_lines(certificate), blackbox, asked, time_limit)
    try:
        return replayer.run()
    except NotACertificate:
        raise
    except Rejected as error:
        raise type(error)(error.line or replayer.number, error.reason) from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = f"malformed ({type(error).__name__}: {str(error)[:200]})"
        raise Rejected(replayer.number, reason) from error


def _lines(certificate: Any) -> list[Any]:
    found = certificate.lines if hasattr(certificate, "lines") else read(_source(certificate), MAX_LINE, MAX_LINES)
    lines = list(found)
    kind = lines[0].get("certificate") if lines and isinstance(lines[0], Mapping) else None
    if isinstance(kind, str) and kind.startswith("asked") and kind != KIND:
        raise NotACertificate(f"This certificate has the format {kind[:20]!r}; {KIND!r} is read here: make it again.")
    if kind != KIND:
        raise NotACertificate("This is not a certificate about a black box: check it with the classifier it is about.")
    return lines


def _source(certificate: Any) -> str | Path | bytes:
    if not isinstance(certificate, str | Path | bytes):
        raise NotACertificate(f"A certificate is a file, its bytes or the object, not a {type(certificate).__name__}.")
    return certificate


@dataclass
class _Replay:
    lines: list[Any]
    blackbox: BlackBox
    wanted: Wanted
    time_limit: Limit
    number: int = 1
    ran: int = 0
    sampled: int = 0
    rival: int | None = None  # the label that flips are counted to; None: any other

    def run(self) -> Checked:
        head = self.lines[0]
        need(head.keys() == HEADER, f"the header must have exactly these: {', '.join(sorted(HEADER))}")
        need(head["model"] == self.blackbox.digest, "it is about another model (the digest differs)")
        need(head["mask"] == self.blackbox.mask, "the model writes a masked word in another way")
        need(type(head["name"]) is str, "the name must be a string")
        self.text = text_of(head["text"], head["words"])
        self.head, self.claim = head, head["claim"]
        self.options = options_of(head["perturbation"], self.text.tokens, self.blackbox.mask)
        limit = head["perturbation"].get("at_most")
        need(limit is None or (type(limit) is int and limit >= 1), "at_most must be a whole number of at least 1")
        self.limit = len(self.options) if limit is None else limit
        few = self.limit >= len(self.options) or self.limit * len(self.options) <= WAYS
        need(few, "too many words with too large a limit")
        need(head["label"] in self.blackbox.labels, "the label is none of the model's")
        self.label = list(self.blackbox.labels).index(head["label"])
        compare(head, self.text, self.wanted, self.blackbox)
        need(self._keeps([self.text.source]), "the text itself does not have the label")
        return self._claimed()

    def _claimed(self) -> Checked:
        claim = self.claim
        match claim["kind"]:
            case "sufficient":
                self._fields("positions", *ENOUGH)
                self._exhausted(self._free(self._places("positions")))
            case "independent":
                self._fields("of", *ENOUGH)
                self._exhausted(self._movable(self._places("of")))
            case "refuted" | "infeasible" as kind:
                name = "positions" if kind == "refuted" else "exclude"
                self._fields(name, "flip")
                places = self._places(name)
                (flip,) = self._flips()
                inside = not flip & mask_of(places) if kind == "refuted" else flip & ~mask_of(places) == 0
                need(inside, "the change is one of words that it may not touch")
            case "flip":
                self._fields("positions costs unit towards cost lower", "flip", "computed")
                self._cheapest_flip()
            case "cheapest":
                self._fields("positions costs unit include exclude cost lower", "flip", "rule", "ceilings", *ENOUGH)
                self._cheapest(self._exhausted)
            case "all":
                self._fields("sets costs unit include exclude cost", "flip", *ENOUGH)
                self._all_cheapest()
            case "tested":
                more = "count confidence share look"
                self._fields(f"positions costs unit include exclude cost lower {more}", "flip", "rule", "drawn")
                self._cheapest(self._drawn)
            case _:
                raise Rejected(0, f"there is no claim {str(claim['kind'])[:40]!r}")
        return self._checked()

    # --- claims ---

    def _cheapest(self, enough: Any) -> None:
        """The words are enough, and no set of a lower cost than `lower` hits all flips."""
        claim = self.claim
        held, include, exclude = (mask_of(self._places(name)) for name in ("positions", "include", "exclude"))
        costs = claim["costs"]
        self._sound(costs)
        need(include & ~held == 0 and not held & exclude, "the words must hold those included and none excluded")
        need(whole(claim["cost"]) == cost_of(held, costs), "the cost is another one")
        need(whole(claim["lower"]) <= claim["cost"], "the lower bound is above the cost")
        flips = self._flips()
        enough(self._free(self._places("positions")))
        self.number = 1
        if self._lines_with("ceilings"):
            self._under_ceilings(costs, include, exclude)
            return
        if self._lines_with("rule") or self._lines_with("computed"):
            self._ruled(flips, costs, include, exclude)
            return
        open_sets = [flip for flip in flips if not flip & include]
        left = claim["lower"] - cost_of(include, costs)
        hits = hittable(open_sets, costs, exclude, left, self.time_limit.look)
        need(not hits, "a cheaper set hits all the flips that are given")

    def _all_cheapest(self) -> None:
        """Each set is enough and costs as much, and every other set that costs no more misses a flip."""
        costs, everything = self.claim["costs"], (1 << len(self.options)) - 1
        self._sound(costs)
        include, exclude = (mask_of(self._places(name)) for name in ("include", "exclude"))
        sets = self._sets(include, exclude)
        flips = [flip for flip in self._flips() if not flip & include]
        for place, held in enumerate(sets):
            self._exhausted([i for i in self._movable(range(len(costs))) if not held >> i & 1], place)
        self.number = 1
        left = self.claim["cost"] - cost_of(include, costs)
        cheaper = hittable(flips, costs, exclude, left, self.time_limit.look)
        need(not cheaper, "a cheaper set hits all the flips that are given")
        others = [everything & ~held for held in sets]  # a set that is not listed and no cheaper holds one of these
        other = hittable([*flips, *others], costs, exclude, left + 1, self.time_limit.look)
        need(not other, "a set that is not listed hits all the flips that are given")

    def _sets(self, include: int, exclude: int) -> list[int]:
        """The sets that are listed, each of the cost that is claimed."""
        claim, costs = self.claim, self.claim["costs"]
        need(type(claim["sets"]) is list and claim["sets"], "there must be a list of sets")
        sets = [mask_of(positions_in(one, len(costs), "a set")) for one in claim["sets"]]
        need(len(set(sets)) == len(sets), "a set is listed twice")
        for held in sets:
            need(include & ~held == 0 and not held & exclude, "the words must hold those included and none excluded")
            need(whole(claim["cost"]) == cost_of(held, costs), "the cost is another one")
        return sets

    def _cheapest_flip(self) -> None:
        """The change that is given flips the label, and every change that costs less than `lower` keeps it."""
        claim, costs = self.claim, self.claim["costs"]
        towards, lower = claim["towards"], claim["lower"]
        self._sound(costs)
        need(towards is None or towards in self.blackbox.labels, "the label to turn to is none of the model's")
        need(towards != self.head["label"], "the text has the label to turn to already")
        self.rival = None if towards is None else list(self.blackbox.labels).index(towards)
        need(lower is None or whole(lower) >= 0, "the lower bound must be a whole number")
        flips = self._flips()
        if claim["cost"] is None:
            need(not flips and claim["positions"] == [], "there is a flip that the claim does not name")
        else:
            need(len(flips) == 1 and flips[0] == mask_of(self._places("positions")), "the flip is another one")
            need(whole(claim["cost"]) == cost_of(flips[0], costs), "the cost is another one")
            need(lower is not None and lower <= claim["cost"], "the lower bound is above the cost")
        self.number = 1
        below = sum(costs) + 1 if lower is None else lower
        free = self._movable(range(len(self.options)))
        if self._lines_with("computed"):
            self._few_keep(free, costs, lower)
            return
        self._all_keep(self._written(cheaper(self.options, free, costs, self.limit, below)))

    def _few_keep(self, free: Sequence[int], costs: Sequence[int], lower: int | None) -> None:
        """No change of so many words flips the label, and all words cost the same: so none below `lower` does."""
        limit = self._only("computed")["at_most"]
        need(whole(limit) >= 0, "at_most must be a whole number")
        need(len(set(costs)) == 1, "what is said of a number of changes says nothing where costs differ")
        enough = self.limit if lower is None else min(self.limit, (lower - 1) // costs[0])
        need(limit >= enough, f"changes of more than {limit} words may be cheaper")
        self._computed(free, limit)

    def _sound(self, costs: Any) -> None:
        need(type(costs) is list and len(costs) == len(self.text.words), "there must be a cost for each word")
        need(all(type(cost) is int and cost >= 1 for cost in costs), "costs must be whole numbers of at least 1")
        need(sum(costs) < WHOLE, "the costs add up to 2^53 or more")
        unit = self.claim["unit"]
        right = type(unit) is str and FRACTION.fullmatch(unit) and all(map(int, unit.split("/")))
        need(right, "the unit must be a fraction above zero, such as 3 or 1/20")

    def _flips(self) -> list[int]:
        """Every flip that is given, run again."""
        given, found, texts = self._lines_with("flip"), [], []
        for number, flip in given:
            self.number = number
            need(flip.keys() == {"changed", "words", "text", "label"}, "a flip has other fields")
            changed = positions_in(flip["changed"], len(self.options), "what is changed")
            need(len(changed) <= self.limit, "it changes more words at once than may change")
            new = dict(zip(changed, flip["words"], strict=True))
            need(all(word in self.options[i] for i, word in new.items()), "a word becomes what it may not become")
            text = rewritten(self.text, new)
            need(text == flip["text"], "the text is not what the change makes of the original")
            need(flip["label"] in self._others, "the flip's label is none of the model's others")
            found.append(mask_of(changed))
            texts.append(text)
        rows = self._rows(texts)
        for (number, flip), text, margin in zip(given, texts, self._judged(texts, rows), strict=True):
            self.number = number
            need(margin <= 0, "run again, the text keeps the label or is too close to call")
            self._named(flip["label"], rows[text])
        return found

    def _named(self, label: str, row: Floats) -> None:
        """The label that a flip names is the one that wins when the text is run again, as far as that can be told."""
        scores = dict(zip(self.blackbox.labels, row.tolist(), strict=True))
        best = max(self._others, key=lambda name: scores[name])
        ahead = scores[label] >= scores[best] - self.blackbox.answers.tolerance
        need(ahead, f"run again, the text has the label {best!r}, not {label!r}")

    @property
    def _others(self) -> list[str]:
        return [name for name in self.blackbox.labels if name != self.head["label"]]

    def _ruled(self, flips: Sequence[int], costs: Sequence[int], include: int, exclude: int) -> None:
        """No set of a lower cost than `lower` hits all flips and keeps all rules."""
        labels, count = list(self.blackbox.labels), len(costs)
        rules = [(np.array([float(flip >> i & 1) for i in range(count)]), 1.0) for flip in flips]
        for number, line in self._lines_with("rule"):
            self.number = number
            need(self.opened.bag.bounded, "there are no rules of this model")
            rules.append(self.opened.rule(line, labels))
        self.number = 1
        lower = self.claim["lower"]
        sure = none_below(rules, costs, include, exclude, lower, self.time_limit.look)
        need(sure >= lower, "a cheaper set may keep all rules")

    def _under_ceilings(self, costs: Sequence[int], include: int, exclude: int) -> None:
        """No set of a lower cost than `lower` is enough, by ceilings alone."""
        ((number, line),) = self._lines_with("ceilings")
        self.number = number
        need(self.opened.bag.bounded, "there are no ceilings of this model")
        inside, outside = (frozenset(i for i in range(len(costs)) if mask >> i & 1) for mask in (include, exclude))
        none_enough(self.opened, line, list(self.blackbox.labels), Sets(costs, inside, outside, self.claim["lower"]))
        self.number = 1

    @cached_property
    def opened(self) -> BagCheck:
        """The bag of words that the model is laid open as, compared with the program on texts that are run."""
        need(self.blackbox.bag is not None, "the model is not laid open: what was computed cannot be checked")
        assert self.blackbox.bag is not None
        limit = self.head["perturbation"].get("at_most")
        found = BagCheck(self.blackbox.bag, self.text, self.options, limit, self.label, self.time_limit.look)
        everything = self._movable(range(len(self.options)))
        changes = [{}, *draws(self.options, everything, self.limit, COMPARED, 0)] if everything else [{}]
        texts = list(dict.fromkeys(rewritten(self.text, change) for change in changes))
        rows = self._rows(texts)
        found.agrees(texts, np.array([rows[text] for text in texts]))
        return found

    def _lines_with(self, name: str) -> list[tuple[int, Any]]:
        return [(number, line[name]) for number, line in enumerate(self.lines[1:], start=2) if name in line]

    def _computed(self, free: Sequence[int], limit: int | None, place: int | None = None) -> None:
        """The worst case of the free words, so many at once, by bounds."""
        need(self.opened.bag.bounded, "only tables are accepted of this model")
        line = self._said("computed", place)
        need(line.keys() == {"free", "at_most", "proofs"}, "what was computed has other fields")
        need(positions_in(line["free"], len(self.options), "free") == list(free), "the words that were free are others")
        need(line["at_most"] == limit, "another number of words could change")
        self.opened.enough(free, line["proofs"], list(self.blackbox.labels), limit, self.rival)

    def _tables(self, free: Sequence[int], place: int | None) -> None:
        """All texts of the free words, by tables."""
        line = self._said("tables", place)
        need(line.keys() == {"free", "at_most", "proofs"}, "a line of tables has other fields")
        need(positions_in(line["free"], len(self.options), "free") == list(free), "the words that were free are others")
        need(line["at_most"] == self.head["perturbation"].get("at_most"), "another number of words could change")
        bag = self.opened
        check = TableCheck(bag, lambda changes: self._margins([rewritten(self.text, change) for change in changes]))
        check.enough(free, line["proofs"], list(self.blackbox.labels))

    def _exhausted(self, free: Sequence[int], place: int | None = None) -> None:
        """Every allowed text that changes only free words keeps the label; `place` is that of one of several sets."""
        if self._lines_with("computed"):
            self._computed(free, self.head["perturbation"].get("at_most"), place)
            return
        if self._lines_with("tables"):
            self._tables(free, place)
            return
        line = self._said("asked", place)
        need(line.keys() == {"free", "at_most", "texts"}, "what was asked has other fields")
        need(positions_in(line["free"], len(self.options), "free") == list(free), "the words that were free are others")
        need(line["at_most"] == self.head["perturbation"].get("at_most"), "another number of words could change")
        count = count_of(self.options, free, self.limit)
        need(whole(line["texts"]) == count, f"there are {count} allowed texts")
        if self.wanted.sample is not None and self.wanted.sample < count:
            self.sampled = count
            self._all_keep(self._written(draws(self.options, free, self.limit, self.wanted.sample, 0)))
        else:
            need(count <= MOST, f"{count} texts are more than can be run again: use a sample")
            self._all_keep(all_texts(self.text, self.options, free, self.limit))

    def _drawn(self, free: Sequence[int]) -> None:
        """The texts that the seed draws keep the label, and the share follows from how many they are."""
        claim, line = self.claim, self._only("drawn")
        held = self._places("positions")
        seed = draw_seed(self.head["model"], self.head["text"], self.head["perturbation"], held, claim["look"])
        need(line == {"free": list(free), "count": claim["count"], "seed": seed}, "other texts were drawn")
        need(type(claim["count"]) is int and 1 <= claim["count"] <= MOST, "the count must be a whole number")
        need(type(claim["look"]) is int and claim["look"] >= 1, "looks are counted from 1")
        need(type(claim["confidence"]) is float and 0 < claim["confidence"] < 1, "confidence is between 0 and 1")
        error = (1.0 - claim["confidence"]) / 2.0 ** claim["look"]
        need(0 <= claim["share"] <= error ** (1.0 / claim["count"]) + 1e-12, "the share is too large for the count")
        self._all_keep(self._written(draws(self.options, free, self.limit, claim["count"], seed)))

    def _written(self, changes: Iterator[dict[int, str]]) -> Iterator[str]:
        return (rewritten(self.text, change) for change in changes)

    def _all_keep(self, texts: Iterator[str]) -> None:
        while part := list(islice(texts, PART)):
            self.time_limit.look()
            margins = self._margins(part)
            bad = ~(margins > 0)
            if bad.any():
                text = part[int(bad.argmax())]
                raise Rejected(0, f"run again, this text does not clearly keep the label: {text[:100]!r}")

    # --- running ---

    def _keeps(self, texts: Sequence[str]) -> bool:
        return bool((self._margins(texts) > 0).all())

    def _margins(self, texts: Sequence[str]) -> Floats:
        """Margins of texts as they are run now; NaN where they are too close to call."""
        return self._judged(texts, self._rows(texts))

    def _judged(self, texts: Sequence[str], rows: Mapping[str, Floats]) -> Floats:
        if not texts:
            return np.zeros(0)
        answers = self.blackbox.answers
        margins = dict(zip(rows, self._leads(np.array(list(rows.values()))).tolist(), strict=True))
        tolerance = answers.tolerance
        for text, margin in margins.items():
            if abs(margin) <= tolerance and tolerance:
                alone = float(self._leads(answers.ask([text]))[0])
                margins[text] = alone if abs(alone) > tolerance else math.nan
        return np.array([margins[text] for text in texts])

    def _rows(self, given: Sequence[str]) -> dict[str, Floats]:
        """The scores of each text, run now; the first are run once more, to see how far numbers move."""
        answers, texts = self.blackbox.answers, list(dict.fromkeys(given))
        self.ran += len(texts)
        if not self.wanted.anew or answers.moves is None:
            known = dict(zip(texts, answers.scores(texts), strict=True))
            if not self.wanted.anew:
                return known
        found: dict[str, Floats] = {}
        for part in answers.batches(texts):
            self.time_limit.look()
            found.update(zip(part, answers.ask(part), strict=True))
        return found

    def _leads(self, rows: Floats) -> Floats:
        """By how much the label is ahead of the best other one, or of the one that flips are counted to."""
        rivals = np.delete(rows, self.label, axis=1).max(1) if self.rival is None else rows[:, self.rival]
        return np.asarray(rows[:, self.label] - rivals)

    # --- reading ---

    def _fields(self, names: str, *kinds: str) -> None:
        """The claim has these fields, and every other line is of one of these kinds."""
        wanted = {"kind", *names.split()}
        need(self.claim.keys() == wanted, f"the claim must have exactly these: {', '.join(sorted(wanted))}")
        for number, line in enumerate(self.lines[1:], start=2):
            right = isinstance(line, Mapping) and len(line) == 1 and line.keys() <= set(kinds)
            if not right:
                raise Rejected(number, f"a line here is one of {', '.join(kinds)}")

    def _places(self, name: str) -> list[int]:
        return positions_in(self.claim[name], len(self.text.words), name)

    def _free(self, held: Sequence[int]) -> list[int]:
        return self._movable([i for i in range(len(self.options)) if i not in set(held)])

    def _movable(self, places: Sequence[int]) -> list[int]:
        return [i for i in places if self.options[i]]

    def _only(self, name: str) -> Any:
        return self._said(name, None)

    def _said(self, name: str, place: int | None) -> Any:
        """The one line of this name, or that of one of the sets of the claim."""
        found, count = self._lines_with(name), 1 if place is None else len(self.claim["sets"])
        need(len(found) == count, f"there must be {count} lines that say what was {name}")
        self.number, line = found[place or 0]
        return line

    def _checked(self) -> Checked:
        claim = self.claim
        kind = claim["kind"]
        name = {"independent": "of", "infeasible": "exclude"}.get(kind, "positions")
        optimal = kind == "cheapest" and claim["cost"] == claim["lower"] and not self.sampled
        bounds = (claim.get("cost"), claim.get("lower"))
        words = Said(self.head, self.text, self.options, self.blackbox.name, self.ran, self.sampled, self.wanted.sample)
        proved = (f"the text has the label {self.head['label']!r}", *words.facts())
        places = tuple(claim["sets"][0] if kind == "all" else claim[name])
        said, some = words.sentence(proved), bool(self.sampled)
        unit = Fraction(claim["unit"]) if "unit" in claim else None
        return Checked(kind, self.head["label"], places, *bounds, optimal, said, proved, some, unit)

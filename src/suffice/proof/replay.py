"""Replay: checks a certificate about a black box by running its texts again; shares no code with the search.

The claim is about the program as it is run. Flips are run again and must flip; texts that were exhausted are written
anew from the question and run again, all of them, and must keep the label; that no cheaper set hits all flips is proved
by branching. Whatever is too close to call, given how far the program's numbers move, proves nothing.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice, product
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import InputError, NotACertificate, NotChecked, Rejected
from suffice.model.answers import batches
from suffice.model.blackbox import BlackBox
from suffice.model.network import Floats
from suffice.model.text import Text, rewritten, written
from suffice.proof.bag import BagCheck, none_below
from suffice.proof.ceilings import Sets, none_enough
from suffice.proof.certificate import read
from suffice.proof.check import Checked
from suffice.proof.check.header import FRACTION
from suffice.proof.check.reading import WHOLE
from suffice.proof.check.said import price
from suffice.proof.draws import draw_seed, draws
from suffice.proof.tables import TableCheck

KIND = "asked 2"  # what the first line of a certificate about a black box says
HEADER = {"certificate", "model", "name", "mask", "text", "words", "perturbation", "label", "claim"}
MAX_LINE, MAX_LINES = 2**20, 2**26  # bytes of a line, and of all of them: they are held together
ENOUGH = ("asked", "computed", "tables")  # lines that say that words are enough
MOST = 10**9  # texts that are run again at the most
COMPARED = 12  # changed texts on which a bag of words is compared with the program
PART = 512  # texts written at a time
WORDS, WAYS = 20_000, 2**22  # words of a text at the most, and words times the number that may change at once
SHOWN = 60  # words, sets, substitutes or costs that a sentence lists


@dataclass(frozen=True, eq=False)
class Wanted:
    """The question that a person has, and how to check; None where nothing is said about a part."""

    text: str | Sequence[str] | Text | None = None
    perturbation: Any = None
    cost: Mapping[str, float] | Callable[[str], float] | None = None
    include: Sequence[str | int] | None = None
    exclude: Sequence[str | int] | None = None
    seconds: float = math.inf
    sample: int | None = None
    anew: bool = True  # False: what the black box has answered before counts as run


def replay(certificate: Any, blackbox: BlackBox, wanted: Wanted | None = None) -> Checked:
    """What a certificate about a black box proves; Rejected names the first line that fails.

    With a sample, so many of the exhausted texts are drawn and run instead of all, and the sentence says so.
    """
    asked = wanted or Wanted()
    sample = asked.sample
    if sample is not None and (isinstance(sample, bool) or not isinstance(sample, int) or sample < 1):
        raise InputError(f"A sample must be a whole number of at least 1, not {sample!r}.")
    replayer = _Replay(_lines(certificate), blackbox, asked)
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


def _need(condition: Any, reason: str) -> None:
    if not condition:
        raise Rejected(0, reason)


@dataclass
class _Replay:
    lines: list[Any]
    blackbox: BlackBox
    wanted: Wanted
    number: int = 1
    ran: int = 0
    sampled: int = 0
    rival: int | None = None  # the label that flips are counted to; None: any other
    started: float = field(default_factory=time.monotonic)

    def run(self) -> Checked:
        head = self.lines[0]
        _need(head.keys() == HEADER, f"the header must have exactly these: {', '.join(sorted(HEADER))}")
        _need(head["model"] == self.blackbox.digest, "it is about another model (the digest differs)")
        _need(head["mask"] == self.blackbox.mask, "the model writes a masked word in another way")
        _need(type(head["name"]) is str, "the name must be a string")
        self.text = _text(head["text"], head["words"])
        self.head, self.claim = head, head["claim"]
        self.options = _options(head["perturbation"], self.text.tokens, self.blackbox.mask)
        limit = head["perturbation"].get("at_most")
        _need(limit is None or (type(limit) is int and limit >= 1), "at_most must be a whole number of at least 1")
        self.limit = len(self.options) if limit is None else limit
        few = self.limit >= len(self.options) or self.limit * len(self.options) <= WAYS
        _need(few, "too many words with too large a limit")
        _need(head["label"] in self.blackbox.labels, "the label is none of the model's")
        self.label = list(self.blackbox.labels).index(head["label"])
        _compare(head, self.text, self.wanted, self.blackbox)
        _need(self._keeps([self.text.source]), "the text itself does not have the label")
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
                inside = not flip & _mask(places) if kind == "refuted" else flip & ~_mask(places) == 0
                _need(inside, "the change is one of words that it may not touch")
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
        held, include, exclude = (_mask(self._places(name)) for name in ("positions", "include", "exclude"))
        costs = claim["costs"]
        self._sound(costs)
        _need(include & ~held == 0 and not held & exclude, "the words must hold those included and none excluded")
        _need(_whole(claim["cost"]) == _price(held, costs), "the cost is another one")
        _need(_whole(claim["lower"]) <= claim["cost"], "the lower bound is above the cost")
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
        left = claim["lower"] - _price(include, costs)
        hits = _hittable(open_sets, costs, exclude, left, self._look)
        _need(not hits, "a cheaper set hits all the flips that are given")

    def _all_cheapest(self) -> None:
        """Each set is enough and costs as much, and every other set that costs no more misses a flip."""
        costs, everything = self.claim["costs"], (1 << len(self.options)) - 1
        self._sound(costs)
        include, exclude = (_mask(self._places(name)) for name in ("include", "exclude"))
        sets = self._sets(include, exclude)
        flips = [flip for flip in self._flips() if not flip & include]
        for place, held in enumerate(sets):
            self._exhausted([i for i in self._movable(range(len(costs))) if not held >> i & 1], place)
        self.number = 1
        left = self.claim["cost"] - _price(include, costs)
        cheaper = _hittable(flips, costs, exclude, left, self._look)
        _need(not cheaper, "a cheaper set hits all the flips that are given")
        others = [everything & ~held for held in sets]  # a set that is not listed and no cheaper holds one of these
        other = _hittable([*flips, *others], costs, exclude, left + 1, self._look)
        _need(not other, "a set that is not listed hits all the flips that are given")

    def _sets(self, include: int, exclude: int) -> list[int]:
        """The sets that are listed, each of the cost that is claimed."""
        claim, costs = self.claim, self.claim["costs"]
        _need(type(claim["sets"]) is list and claim["sets"], "there must be a list of sets")
        sets = [_mask(_sorted(one, len(costs), "a set")) for one in claim["sets"]]
        _need(len(set(sets)) == len(sets), "a set is listed twice")
        for held in sets:
            _need(include & ~held == 0 and not held & exclude, "the words must hold those included and none excluded")
            _need(_whole(claim["cost"]) == _price(held, costs), "the cost is another one")
        return sets

    def _cheapest_flip(self) -> None:
        """The change that is given flips the label, and every change that costs less than `lower` keeps it."""
        claim, costs = self.claim, self.claim["costs"]
        towards, lower = claim["towards"], claim["lower"]
        self._sound(costs)
        _need(towards is None or towards in self.blackbox.labels, "the label to turn to is none of the model's")
        _need(towards != self.head["label"], "the text has the label to turn to already")
        self.rival = None if towards is None else list(self.blackbox.labels).index(towards)
        _need(lower is None or _whole(lower) >= 0, "the lower bound must be a whole number")
        flips = self._flips()
        if claim["cost"] is None:
            _need(not flips and claim["positions"] == [], "there is a flip that the claim does not name")
        else:
            _need(len(flips) == 1 and flips[0] == _mask(self._places("positions")), "the flip is another one")
            _need(_whole(claim["cost"]) == _price(flips[0], costs), "the cost is another one")
            _need(lower is not None and lower <= claim["cost"], "the lower bound is above the cost")
        self.number = 1
        below = sum(costs) + 1 if lower is None else lower
        free = self._movable(range(len(self.options)))
        if self._lines_with("computed"):
            self._few_keep(free, costs, lower)
            return
        self._all_keep(_cheaper(self.options, free, costs, self.limit, below))

    def _few_keep(self, free: Sequence[int], costs: Sequence[int], lower: int | None) -> None:
        """No change of so many words flips the label, and all words cost the same: so none below `lower` does."""
        limit = self._only("computed")["at_most"]
        _need(_whole(limit) >= 0, "at_most must be a whole number")
        _need(len(set(costs)) == 1, "what is said of a number of changes says nothing where costs differ")
        enough = self.limit if lower is None else min(self.limit, (lower - 1) // costs[0])
        _need(limit >= enough, f"changes of more than {limit} words may be cheaper")
        self._computed(free, limit)

    def _sound(self, costs: Any) -> None:
        _need(type(costs) is list and len(costs) == len(self.text.words), "there must be a cost for each word")
        _need(all(type(cost) is int and cost >= 1 for cost in costs), "costs must be whole numbers of at least 1")
        _need(sum(costs) < WHOLE, "the costs add up to 2^53 or more")
        unit = self.claim["unit"]
        right = type(unit) is str and FRACTION.fullmatch(unit) and all(map(int, unit.split("/")))
        _need(right, "the unit must be a fraction above zero, such as 3 or 1/20")

    def _flips(self) -> list[int]:
        """Every flip that is given, run again."""
        given, found, texts = self._lines_with("flip"), [], []
        for number, flip in given:
            self.number = number
            _need(flip.keys() == {"changed", "words", "text", "label"}, "a flip has other fields")
            changed = _sorted(flip["changed"], len(self.options), "what is changed")
            _need(len(changed) <= self.limit, "it changes more words at once than may change")
            new = dict(zip(changed, flip["words"], strict=True))
            _need(all(word in self.options[i] for i, word in new.items()), "a word becomes what it may not become")
            text = rewritten(self.text, new)
            _need(text == flip["text"], "the text is not what the change makes of the original")
            _need(flip["label"] in self._others, "the flip's label is none of the model's others")
            found.append(_mask(changed))
            texts.append(text)
        rows = self._rows(texts)
        for (number, flip), text, margin in zip(given, texts, self._judged(texts, rows), strict=True):
            self.number = number
            _need(margin <= 0, "run again, the text keeps the label or is too close to call")
            self._named(flip["label"], rows[text])
        return found

    def _named(self, label: str, row: Floats) -> None:
        """The label that a flip names is the one that wins when the text is run again, as far as that can be told."""
        scores = dict(zip(self.blackbox.labels, row.tolist(), strict=True))
        best = max(self._others, key=lambda name: scores[name])
        ahead = scores[label] >= scores[best] - self.blackbox.answers.tolerance
        _need(ahead, f"run again, the text has the label {best!r}, not {label!r}")

    @property
    def _others(self) -> list[str]:
        return [name for name in self.blackbox.labels if name != self.head["label"]]

    def _ruled(self, flips: Sequence[int], costs: Sequence[int], include: int, exclude: int) -> None:
        """No set of a lower cost than `lower` hits all flips and keeps all rules."""
        labels, count = list(self.blackbox.labels), len(costs)
        rules = [(np.array([float(flip >> i & 1) for i in range(count)]), 1.0) for flip in flips]
        for number, line in self._lines_with("rule"):
            self.number = number
            _need(self.opened.bag.bounded, "there are no rules of this model")
            rules.append(self.opened.rule(line, labels))
        self.number = 1
        lower = self.claim["lower"]
        _need(none_below(rules, costs, include, exclude, lower) >= lower, "a cheaper set may keep all rules")

    def _under_ceilings(self, costs: Sequence[int], include: int, exclude: int) -> None:
        """No set of a lower cost than `lower` is enough, by ceilings alone."""
        ((number, line),) = self._lines_with("ceilings")
        self.number = number
        _need(self.opened.bag.bounded, "there are no ceilings of this model")
        inside, outside = (frozenset(i for i in range(len(costs)) if mask >> i & 1) for mask in (include, exclude))
        none_enough(self.opened, line, list(self.blackbox.labels), Sets(costs, inside, outside, self.claim["lower"]))
        self.number = 1

    @cached_property
    def opened(self) -> BagCheck:
        """The bag of words that the model is laid open as, compared with the program on texts that are run."""
        _need(self.blackbox.bag is not None, "the model is not laid open: what was computed cannot be checked")
        assert self.blackbox.bag is not None
        limit = self.head["perturbation"].get("at_most")
        found = BagCheck(self.blackbox.bag, self.text, self.options, limit, self.label)
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
        _need(self.opened.bag.bounded, "only tables are accepted of this model")
        line = self._said("computed", place)
        _need(line.keys() == {"free", "at_most", "proofs"}, "what was computed has other fields")
        _need(_sorted(line["free"], len(self.options), "free") == list(free), "the words that were free are others")
        _need(line["at_most"] == limit, "another number of words could change")
        self.opened.enough(free, line["proofs"], list(self.blackbox.labels), limit, self.rival)

    def _tables(self, free: Sequence[int], place: int | None) -> None:
        """All texts of the free words, by tables."""
        line = self._said("tables", place)
        _need(line.keys() == {"free", "at_most", "proofs"}, "a line of tables has other fields")
        _need(_sorted(line["free"], len(self.options), "free") == list(free), "the words that were free are others")
        _need(line["at_most"] == self.head["perturbation"].get("at_most"), "another number of words could change")
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
        _need(line.keys() == {"free", "at_most", "texts"}, "what was asked has other fields")
        _need(_sorted(line["free"], len(self.options), "free") == list(free), "the words that were free are others")
        _need(line["at_most"] == self.head["perturbation"].get("at_most"), "another number of words could change")
        count = _count(self.options, free, self.limit)
        _need(_whole(line["texts"]) == count, f"there are {count} allowed texts")
        if self.wanted.sample is not None and self.wanted.sample < count:
            self.sampled = count
            changes: Iterator[dict[int, str]] = draws(self.options, free, self.limit, self.wanted.sample, 0)
        else:
            _need(count <= MOST, f"{count} texts are more than can be run again: use a sample")
            changes = _changes(self.options, free, self.limit)
        self._all_keep(changes)

    def _drawn(self, free: Sequence[int]) -> None:
        """The texts that the seed draws keep the label, and the share follows from how many they are."""
        claim, line = self.claim, self._only("drawn")
        held = self._places("positions")
        seed = draw_seed(self.head["model"], self.head["text"], self.head["perturbation"], held, claim["look"])
        _need(line == {"free": list(free), "count": claim["count"], "seed": seed}, "other texts were drawn")
        _need(type(claim["count"]) is int and 1 <= claim["count"] <= MOST, "the count must be a whole number")
        _need(type(claim["look"]) is int and claim["look"] >= 1, "looks are counted from 1")
        _need(type(claim["confidence"]) is float and 0 < claim["confidence"] < 1, "confidence is between 0 and 1")
        error = (1.0 - claim["confidence"]) / 2.0 ** claim["look"]
        _need(0 <= claim["share"] <= error ** (1.0 / claim["count"]) + 1e-12, "the share is too large for the count")
        self._all_keep(draws(self.options, free, self.limit, claim["count"], seed))

    def _all_keep(self, changes: Iterator[dict[int, str]]) -> None:
        while part := [rewritten(self.text, change) for change in islice(changes, PART)]:
            self._look()
            margins = self._margins(part)
            bad = ~(margins > 0)
            if bad.any():
                text = part[int(bad.argmax())]
                raise Rejected(0, f"run again, this text does not clearly keep the label: {text[:100]!r}")

    def _look(self) -> None:
        if time.monotonic() - self.started > self.wanted.seconds:
            raise NotChecked(0, f"{self.ran} texts were run again, then time was up")

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
        for part in batches(texts):
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
        _need(self.claim.keys() == wanted, f"the claim must have exactly these: {', '.join(sorted(wanted))}")
        for number, line in enumerate(self.lines[1:], start=2):
            right = isinstance(line, Mapping) and len(line) == 1 and line.keys() <= set(kinds)
            if not right:
                raise Rejected(number, f"a line here is one of {', '.join(kinds)}")

    def _places(self, name: str) -> list[int]:
        return _sorted(self.claim[name], len(self.text.words), name)

    def _free(self, held: Sequence[int]) -> list[int]:
        return self._movable([i for i in range(len(self.options)) if i not in set(held)])

    def _movable(self, places: Sequence[int]) -> list[int]:
        return [i for i in places if self.options[i]]

    def _only(self, name: str) -> Any:
        return self._said(name, None)

    def _said(self, name: str, place: int | None) -> Any:
        """The one line of this name, or that of one of the sets of the claim."""
        found, count = self._lines_with(name), 1 if place is None else len(self.claim["sets"])
        _need(len(found) == count, f"there must be {count} lines that say what was {name}")
        self.number, line = found[place or 0]
        return line

    def _checked(self) -> Checked:
        claim = self.claim
        kind = claim["kind"]
        name = {"independent": "of", "infeasible": "exclude"}.get(kind, "positions")
        optimal = kind == "cheapest" and claim["cost"] == claim["lower"] and not self.sampled
        bounds = (claim.get("cost"), claim.get("lower"))
        proved = (f"the text has the label {self.head['label']!r}", *self._facts())
        places = tuple(claim["sets"][0] if kind == "all" else claim[name])
        said, some = self._sentence(proved), bool(self.sampled)
        unit = Fraction(claim["unit"]) if "unit" in claim else None
        return Checked(kind, self.head["label"], places, *bounds, optimal, said, proved, some, unit)

    def _facts(self) -> tuple[str, ...]:
        """What is proved beyond the label, one short sentence each."""
        claim, label = self.claim, repr(self.head["label"])
        if self.sampled:
            return (
                f"of {self.sampled} allowed texts only a sample of {self.wanted.sample} was run: it proves nothing",
            )
        match claim["kind"]:
            case "sufficient":
                return (self._enough(),)
            case "independent":
                becomes = "becomes" if len(claim["of"]) == 1 else "become"
                return (f"{label} stays the label whatever {self._words('of')} {becomes}{self._at_once}",)
            case "infeasible":
                return (f"no set of words suffices that avoids {self._words('exclude')}",)
            case "refuted":
                do = "does" if len(claim["positions"]) == 1 else "do"
                return (
                    f"{self._words('positions')} {do} not suffice" if claim["positions"] else "some word is needed",
                )
            case "flip":
                return self._flip_facts()
            case "all":
                return self._all_facts()
            case "tested":
                held = f"with {self._words('positions')} kept, none of {claim['count']} texts drawn flips the label"
                return (f"{held} (tested, no proof)", *self._none_below())
        return (self._enough(), *self._none_below())

    @property
    def _at_once(self) -> str:
        """How many words change at most, where that is limited: without it the sentence would say too much."""
        limit = self.head["perturbation"].get("at_most")
        return "" if limit is None else f" (at most {limit} at once)"

    def _flip_facts(self) -> tuple[str, ...]:
        claim, label = self.claim, repr(self.head["label"])
        lifts = f"lifts {'another label' if claim['towards'] is None else repr(claim['towards'])} to {label}"
        if claim["lower"] is None:
            return (f"no allowed change of any words{self._at_once} {lifts}",)
        least = self._paid("lower")
        none = (f"no change that costs less than {least} {lifts}{self._at_once}",) if claim["lower"] else ()
        if claim["cost"] is None:
            return none
        return (f"an allowed change of {self._words('positions')} {lifts}; that costs {self._paid('cost')}", *none)

    def _all_facts(self) -> tuple[str, ...]:
        sets = self.claim["sets"]
        listed = "; ".join(self._quoted(one) for one in sets[:SHOWN]) + _more(len(sets))
        which = "this set" if len(sets) == 1 else f"each of these {len(sets)} sets"
        each = f"{which} of words suffices{self._at_once} and costs {self._paid('cost')}: {listed}"
        return each, f"no other set{self._fitting} that costs as much or less suffices"

    def _none_below(self) -> tuple[str, ...]:
        least = self._paid("lower")
        return (f"no set{self._fitting} that costs less than {least} suffices",) if self.claim["lower"] else ()

    @property
    def _fitting(self) -> str:
        """What was asked of a set."""
        parts = (("holds", "include"), ("avoids", "exclude"))
        return "".join(f" that {verb} {self._words(name)}" for verb, name in parts if self.claim[name])

    def _paid(self, name: str) -> str:
        return price(Fraction(self.claim[name]) * Fraction(self.claim["unit"]))

    def _sentence(self, proved: Sequence[str]) -> str:
        head = self.head
        program = f"{self.blackbox.name!r} ({head['model'][:16]})"  # the name in the file is what somebody wrote
        about = f"For the program {program} as it was run: {proved[0]}: {head['text']!r}."
        change = self._may_become()
        facts = " ".join(f"{fact[0].upper()}{fact[1:]}." for fact in proved[1:])
        return " ".join([f"{about} {change} {facts}", *self._costs(), f"{self.ran} texts were run again."])

    def _may_become(self) -> str:
        """What each word may become, as far as a sentence lists it."""
        ways: dict[str, None] = {}
        for token, options in zip(self.text.tokens, self.options, strict=True):
            become = [repr(word) if word else "nothing (removed)" for word in options[:SHOWN]]
            if become:
                ways[f"{token!r} {' or '.join(become)}{_more(len(options))}"] = None
        limit = self.head["perturbation"].get("at_most")
        once = "all at once" if limit is None else f"at most {limit} of them at once"
        listed = f"{'; '.join(list(ways)[:SHOWN])}{_more(len(ways))}"
        return f"Words may become: {listed}; {once}." if ways else "No word may become anything else."

    def _costs(self) -> list[str]:
        """What each word costs, where that is part of the claim."""
        if "costs" not in self.claim:
            return []
        prices = [price(count * Fraction(self.claim["unit"])) for count in self.claim["costs"]]
        if len(set(prices)) == 1:
            return [f"Each word costs {prices[0]}."]
        listed = list(dict.fromkeys(f"{token!r} {cost}" for token, cost in zip(self.text.tokens, prices, strict=True)))
        return [f"Words cost: {', '.join(listed[:SHOWN])}{_more(len(listed))}."]

    def _enough(self) -> str:
        held, stays = self.claim["positions"], f"{self.head['label']!r} stays the label whatever"
        if not held:
            return f"no word is needed: {stays} all of them become{self._at_once}"
        does = "suffices" if len(held) == 1 else "suffice"
        return f"{self._words('positions')} {does}: {stays} the other words become{self._at_once}"

    def _words(self, name: str) -> str:
        return self._quoted(self.claim[name])

    def _quoted(self, places: Sequence[int]) -> str:
        """Words in quotes; where one comes twice in the text, with its position."""
        tokens, often = self.text.tokens, Counter(self.text.tokens)
        named = [repr(tokens[i]) + (f" (position {i})" if often[tokens[i]] > 1 else "") for i in places]
        return ", ".join(named) or "no words"


# --- the question that a person has ---


def _compare(head: Mapping[str, Any], text: Text, wanted: Wanted, blackbox: BlackBox) -> None:
    """Rejected, with the part that differs, unless all that was given is what the certificate is about."""
    claim = head["claim"]
    if wanted.text is not None:
        mine = blackbox.read(wanted.text)
        same = (mine.source, mine.words) == (text.source, text.words)
        _need(same, f"it is about another text: {text.source[:200]!r}")
    if wanted.perturbation is not None:
        chosen = wanted.perturbation
        narrow = chosen.narrowed(blackbox, text) if hasattr(chosen, "narrowed") else chosen
        data = narrow if isinstance(narrow, Mapping) else narrow.to_dict()
        same = json.loads(json.dumps(dict(data))) == dict(head["perturbation"])
        _need(same, f"it is about another perturbation set: {str(head['perturbation'])[:200]}")
    if wanted.cost is not None and "costs" in claim:
        for token, units in zip(text.tokens, claim["costs"], strict=True):
            found = units * Fraction(claim["unit"])
            _need(_price_of(wanted.cost, token) == found, f"it is about other costs: there, {token!r} costs {found}")
    for name, given in (("include", wanted.include), ("exclude", wanted.exclude)):
        if given is not None:
            found = claim.get(name, [])
            _need(list(text.positions(given)) == found, f"it is about other words to {name}: there, {found}")


def _price_of(cost: Mapping[str, float] | Callable[[str], float], token: str) -> Fraction:
    value = cost(token) if callable(cost) else cost.get(token, cost.get(token.lower(), 1))
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


# --- the question, written out by the checker itself ---


def _text(source: Any, words: Any) -> Text:
    """The text with its words, which must be those that are read in it, or a list joined by spaces."""
    right = type(source) is str and type(words) is list and all(type(end) is int for word in words for end in word)
    _need(right, "the text must be a string, with the two ends of each word")
    _need(len(words) <= WORDS, f"the text has more than {WORDS} words")
    try:
        text = written(source)
        if [[word.start, word.end] for word in text.words] == words:
            return text
        listed = written([source[start:end] for start, end in words])
    except InputError as error:
        raise Rejected(0, f"the text cannot be read: {error}") from None
    same = listed.source == source and [[word.start, word.end] for word in listed.words] == words
    _need(same, "the words are not those of the text")
    return listed


def _options(data: Any, tokens: Sequence[str], mask: str) -> list[tuple[str, ...]]:
    """What each word may become, without the word itself."""
    fields = set(data) - {"kind", "at_most"}
    match data["kind"]:
        case "deletion":
            wanted, found = set(), [("",)] * len(tokens)
        case "mask":
            wanted, found = {"token"}, [(data["token"] or mask,)] * len(tokens)
        case "word-swap" | "removal-or-swap" as kind:
            gone = ("",) if kind == "removal-or-swap" else ()
            swaps = {word: _listed(others) for word, others in data["swaps"].items()}
            wanted, found = {"swaps"}, [(*gone, *swaps.get(token, ())) for token in tokens]
        case _:
            raise Rejected(0, "the set is none of words")
    _need(fields == wanted, "the set has other fields")
    _need(all(type(word) is str for words in found for word in words), "a mask must be a word")
    pairs = zip(tokens, found, strict=True)
    return [tuple(dict.fromkeys(word for word in words if word != token)) for token, words in pairs]


def _listed(words: Any) -> list[Any]:
    _need(type(words) is list and {*map(type, words)} <= {str}, "substitutes must be listed words")
    return list(words)


def _changes(options: Sequence[Sequence[str]], free: Sequence[int], limit: int) -> Iterator[dict[int, str]]:
    for size in range(min(limit, len(free)) + 1):
        for some in combinations(free, size):
            for choice in product(*(options[i] for i in some)):
                yield dict(zip(some, choice, strict=True))


def _cheaper(
    options: Sequence[Sequence[str]], free: Sequence[int], costs: Sequence[int], limit: int, below: int
) -> Iterator[dict[int, str]]:
    """Every change of words that cost less than `below` in all, one after the other."""
    waiting: list[tuple[int, dict[int, str], int]] = [(0, {}, 0)]  # the next word, what is changed, its cost
    while waiting:
        start, change, cost = waiting.pop()
        if change:
            yield change
        for place in range(start, len(free)) if len(change) < limit else ():
            word = free[place]
            if cost + costs[word] < below:
                more = [{**change, word: new} for new in options[word]]
                waiting += [(place + 1, one, cost + costs[word]) for one in more]


def _count(options: Sequence[Sequence[str]], free: Sequence[int], limit: int) -> int:
    """How many texts change no more than so many of the free words."""
    if limit >= len(free):
        return math.prod(len(options[word]) + 1 for word in free)
    ways = [1] + [0] * limit  # by the number of changes
    for word in free:
        more = [0, *(way * len(options[word]) for way in ways[:-1])]
        ways = [a + b for a, b in zip(ways, more, strict=True)]
    return sum(ways)


def _hittable(
    sets: Sequence[int], costs: Sequence[int], out: int, left: int, look: Callable[[], None] = lambda: None
) -> bool:
    """Whether words that cost less than `left` in all, none of them in `out`, hit all sets; `look` may stop it."""
    look()
    if left <= 0:
        return False
    if not sets:
        return True
    first = min(sets, key=lambda one: (one & ~out).bit_count())
    if _apart(sets, costs, out) >= left:
        return False
    for word in [i for i in range(len(costs)) if (first & ~out) >> i & 1]:
        if _hittable([one for one in sets if not one >> word & 1], costs, out, left - costs[word], look):
            return True
        out |= 1 << word
    return False


def _apart(sets: Sequence[int], costs: Sequence[int], out: int) -> int:
    """What sets that share no word cost together: each needs a word of its own."""
    total, seen = 0, 0
    for one in sorted(sets, key=lambda one: (one & ~out).bit_count()):
        inside = one & ~out
        if not inside & seen:
            total += min((cost for i, cost in enumerate(costs) if inside >> i & 1), default=10**18)
            seen |= inside
    return total


def _whole(value: Any) -> int:
    _need(type(value) is int and value >= 0, "costs and bounds are whole numbers")
    return int(value)


def _more(count: int) -> str:
    return f" and {count - SHOWN} more" if count > SHOWN else ""


def _price(mask: int, costs: Sequence[int]) -> int:
    return sum(cost for i, cost in enumerate(costs) if mask >> i & 1)


def _mask(places: Sequence[int]) -> int:
    return sum(1 << i for i in places)


def _sorted(places: Any, count: int, what: str) -> list[int]:
    right = type(places) is list and all(type(i) is int and 0 <= i < count for i in places)
    _need(right and places == sorted(set(places)), f"{what} must be a list of positions, sorted, each once")
    return list(places)

"""Profile: how the explanation grows with the size of the perturbation sets.

What one step learnt helps the others. An attack on smaller sets is one on larger sets, and a set of words that
suffices on larger sets suffices on smaller ones; so both ends are done first and then the middles. Nothing is taken on
trust: attacks are confirmed and sets proved anew in every step, so each step's certificate stands on its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from suffice.errors import InputError
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.network import Bools, Floats
from suffice.model.numbers import exactly
from suffice.model.text import Text, Word
from suffice.proof.certificate import Certificate
from suffice.prove.oracles import quickest
from suffice.prove.verdict import Budget, Proved, Refuted, Unknown, Witness
from suffice.search.cost import Cost
from suffice.search.node import ByRestoration, Node
from suffice.search.words import Outcome, Search
from suffice.sets.perturbations import Perturbation
from suffice.sets.regions import Ball, Box, Choice, Hull, Region
from suffice.sets.table import BY_NAME, KINDS
from suffice.verbs import asked
from suffice.verbs.accepting import accepted_verdict
from suffice.verbs.answering import FORMAT, finished, public
from suffice.verbs.explanation import Explanation, counted, least_by, sufficing
from suffice.verbs.question import Given, Named, Padding, Question
from suffice.verbs.running import ByCovering, BySearch, OnProgress, equals, single_threaded
from suffice.verbs.wording import authority, fitting, placed

LIMIT = "at_most"  # what grows where the sets stay and more of the words may change at once
DOUBLINGS = 12  # how far beyond the last step the radius search looks
HALVINGS = 8  # how finely it looks between two radii that are not whole numbers
STARTS = 6  # perturbed texts handed to the next step


@dataclass(frozen=True)
class Growth:
    """From which step on a word matters.

    `steps`: those whose explanation holds the word; it may leave again. `enters` is the first of them. `needed`: the
    first step at which every explanation must hold it, because changing this word alone flips the label; from there on
    it stays needed.
    """

    word: Word
    steps: tuple[float, ...]
    needed: float | None

    @property
    def enters(self) -> float | None:
        return self.steps[0] if self.steps else None


@dataclass(frozen=True, eq=False)
class Profile:
    """How the explanation grows with the size of the perturbation sets.

    One explanation per step. No word at all is needed up to `free_until`, and some word is from `needed_from` on; None
    where the search for that radius found none. Both are about the empty set, whatever words were asked for, and
    `radii` has the certificate of each ("free_until", "needed_from"), as far as the checker accepted it (or was not to
    be asked).
    """

    parameter: str  # "k", "eps" or "at_most"; "size" for other families
    steps: tuple[float, ...]
    explanations: tuple[Explanation, ...]
    growth: tuple[Growth, ...]
    free_until: float | None
    needed_from: float | None
    stats: Mapping[str, Any] = field(default_factory=dict)
    radii: Mapping[str, Certificate] = field(default_factory=dict)
    proved: tuple[str, ...] = ()  # what the checker accepted of both, in words

    @property
    def costs(self) -> tuple[float, ...]:
        return tuple(result.cost for result in self.explanations)

    @property
    def lower_bounds(self) -> tuple[float, ...]:
        return tuple(result.lower_bound for result in self.explanations)

    @property
    def text(self) -> Text:
        return self.explanations[0].text

    @property
    def label(self) -> str:
        return self.explanations[0].label

    def __str__(self) -> str:
        last = self.explanations[-1]
        return f"{self._start()} {self._end()}" if last.tied is None else str(last)

    def _start(self) -> str:
        free, needed = self.free_until, self.needed_from
        if needed is None:
            return f"No word is needed up to {self.named(free)} ({self._by})." if free is not None else "Undecided."
        if free is None:
            return f"Some word is needed at {self.named(needed)} already."
        return f"No word is needed up to {self.named(free)} ({self._by}); from {self.named(needed)} on some word is."

    @property
    def _by(self) -> str:
        """Who says up to where no word is needed."""
        return "proved" if self.proved else authority({**self.explanations[0].meta, "checked": False}, "enough")

    def named(self, size: float) -> str:
        """A size as people say it."""
        if self.parameter == LIMIT:
            return "1 change at once" if size == 1 else f"{exactly(size)} changes at once"
        return f"{self.parameter} = {exactly(size)}"

    def _end(self) -> str:
        last = self.explanations[-1]
        where, asked = f"At {self.named(self.steps[-1])}", fitting(self.text, last.meta)
        if last.status == "unknown":
            return f"{where} nothing better than the whole text was shown."
        if last.status == "infeasible":
            return f"{where}, no set{asked} suffices."
        if "nothing" in last.meta:
            return f"{where} there is nothing to prove: {last.meta['nothing']}."
        if not last.positions:
            return f"{where}, no word is needed ({authority(last.meta, 'enough')})."
        best = f"no cheaper set{asked} does; {least_by(last)}"
        open_ = f"{authority(last.meta, 'enough')}; none{asked} below {exactly(last.lower_bound)} does"
        count = f"{counted(last)} {sufficing(last)}"
        by = best if last.status == "optimal" else open_
        return f"{where}, {count} ({by}): {placed(self.text, last.words)}."

    def to_html(self) -> str:
        """A self-contained page."""
        from suffice.render.reports import profile

        return profile(self)

    def save_html(self, path: str | Path) -> None:
        Path(path).write_text(self.to_html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        from suffice.render.cells import profile

        return profile(self)

    def __repr__(self) -> str:
        costs = ", ".join(
            f"{exactly(step)}: {exactly(cost)}" for step, cost in zip(self.steps, self.costs, strict=True)
        )
        shown = costs if len(costs) <= 120 else f"{costs[:117]}..."
        return f"<Profile over {self.parameter}: {shown}>"

    def plot(self) -> Any:
        """A matplotlib figure of the cost and its lower bound over the steps (extra: plot)."""
        from suffice.render.plots import profile

        return profile(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "parameter": self.parameter,
            "steps": list(self.steps),
            "free_until": self.free_until,
            "needed_from": self.needed_from,
            "proved": list(self.proved),
            "certificates": {name: one.summary() for name, one in self.radii.items()},
            "words": [
                {**asdict(item.word), "enters": item.enters, "steps": list(item.steps), "needed": item.needed}
                for item in self.growth
            ],
            "explanations": [result.to_dict() for result in self.explanations],
            "stats": dict(self.stats),
        }


@dataclass(eq=False)
class _Known:
    """What the finished steps know."""

    witnesses: list[Witness] = field(default_factory=list)
    starts: list[Floats] = field(default_factory=list)
    robust: dict[int, Bools] = field(default_factory=dict)  # step to the words proved to suffice there


def profile(
    classifier: Classifier | BlackBox,
    text: Given,
    perturbation: Callable[[Any], Perturbation],
    steps: Sequence[float],
    *,
    cost: Cost = None,
    include: Named = (),
    exclude: Named = (),
    padding: Padding = "fixed",
    seconds: float = 60.0,
    seed: int = 0,
    max_queries: int | None = None,
    cache: str | Path | None = None,
    on_progress: OnProgress | None = None,
    self_check: bool = True,
) -> Profile:
    """The explanation at each of several sizes of the sets: `profile(clf, text, sf.KNNBox, [5, 10, 15, 25])`.

    `perturbation` makes a perturbation from a number, each inside the next: k-nearest sets, balls, lists of
    substitutes, or `lambda r: sf.Deletion(at_most=r)` where more and more words change at once. `seconds` is for all
    steps together. For k, eps and at_most the result also says up to which size no word is needed at all, and from
    which on some word is.
    """
    sizes, budget, started = _sizes(steps), Budget(seconds), time.monotonic()
    _check_family(perturbation)
    read = classifier.read(text)

    def question(size: float) -> Question:
        return Question(
            classifier,
            read,
            perturbation=perturbation(size),
            cost=cost,
            include=include,
            exclude=exclude,
            padding=padding,
            seconds=seconds,
            seed=seed,
            max_queries=max_queries,
            more={"size": size},
        )

    if isinstance(classifier, BlackBox):
        classifier = classifier if cache is None else replace(classifier, cache=cache)
        return _asked([question(size) for size in sizes], sizes, seconds, on_progress, self_check)
    with single_threaded():
        questions = [question(size) for size in sizes]
        parameter = _parameter([one.perturbation.to_dict() for one in questions])
        _check_nested(questions, sizes)
        climb = _Climb(questions, on_progress, self_check)
        found = climb.run(budget)
        radius = _known_radius(sizes, found, climb.questions[0])
        if parameter != "size":
            at = partial(_at, _within(question, parameter), self_check, budget)
            radius = _radius(at, radius, sizes[-1], budget)
        growth = _growth(climb.questions, sizes, found, budget)
    stats = {"seconds": time.monotonic() - started, "reused_attacks": climb.reused}
    return _profile(parameter, sizes, found, growth, radius, stats)


def _profile(
    parameter: str,
    sizes: tuple[float, ...],
    found: tuple[Explanation, ...],
    growth: tuple[Growth, ...],
    radius: _Radius,
    stats: Mapping[str, Any],
) -> Profile:
    ends = {"free_until": radius.free, "needed_from": radius.needed}
    known = {name: end for name, end in ends.items() if end is not None}
    return Profile(
        parameter=parameter,
        steps=sizes,
        explanations=found,
        growth=growth,
        free_until=None if radius.free is None else radius.free.size,
        needed_from=None if radius.needed is None else radius.needed.size,
        stats=stats,
        radii={name: end.certificate for name, end in known.items() if end.certificate is not None},
        proved=tuple(f"at {parameter} = {exactly(end.size)}: {fact}" for end in known.values() for fact in end.proved),
    )


def _within(question: Callable[[float], Question], parameter: str) -> Callable[[float], Question]:
    """More words than there are cannot change at once: there the search for the radius ends."""

    def asked(size: float) -> Question:
        made = question(size)
        if parameter == LIMIT and size > made.features.sum():
            raise InputError(f"The text has no {size} words.")
        return made

    return asked


# --- what grows ---


def _check_family(perturbation: Any) -> None:
    """Refuse what makes no sets from a number: a single set, or a class of sets that have no size."""
    if not callable(perturbation):
        raise InputError(f"Give what makes a set of each size (sf.KNNBox, say), not {perturbation!r:.80}.")
    if any(perturbation is kind.make for kind in KINDS if kind.grows is None):
        name = getattr(perturbation, "__name__", "")
        raise InputError(
            f"{name} has no size that could grow: give sf.KNNBox, sf.KNNHull, sf.EpsilonBall, or a function of the "
            f"number of words that may change at once, such as lambda r: sf.Deletion(at_most=r)."
        )


def _parameter(sets: Sequence[Mapping[str, Any]]) -> str:
    """What differs between the sets: the field that makes their kind larger, the limit on changes at once, or more."""
    kind = BY_NAME.get(sets[0].get("kind", ""))
    grows = None if kind is None else kind.grows
    differing = {name for one in sets for name in one.keys() | sets[0].keys() if one.get(name) != sets[0].get(name)}
    if differing == {LIMIT}:
        return LIMIT
    return grows if grows is not None and differing <= {grows} else "size"


def _check_nested(questions: Sequence[Question], sizes: Sequence[float]) -> None:
    """Refuse sets that do not grow: what a step says of the next would not hold."""
    steps = list(zip(questions, sizes, strict=True))
    for (small, low), (large, high) in pairwise(steps):
        if small.perturbation.to_dict() == large.perturbation.to_dict():
            raise InputError(f"The sets do not grow: they are the same at {exactly(low)} and at {exactly(high)}.")
        if not _inside(small, large):
            raise InputError(
                f"The sets do not grow: that of size {exactly(low)} is not inside that of size {exactly(high)}."
            )


def _inside(small: Question, large: Question) -> bool:
    limits = [len(one.text) if one.perturbation.at_most is None else one.perturbation.at_most for one in (small, large)]
    return limits[0] <= limits[1] and _region_inside(small.problem.region, large.problem.region)


def _region_inside(small: Region, large: Region) -> bool:
    match small, large:
        case Ball(), Ball():
            return small.p == large.p and small.radius <= large.radius
        case Box(), Box():
            return bool((large.lower <= small.lower).all() and (small.upper <= large.upper).all())
        case Hull(points=few), Hull(points=many):
            return _points_inside(few, many)
        case Choice(points=few), Choice(points=many):
            return _points_inside(few, many)
        case _:
            return False


def _points_inside(small: Floats, large: Floats) -> bool:
    pairs = zip(small, large, strict=True)
    return all({point.tobytes() for point in few} <= {point.tobytes() for point in many} for few, many in pairs)


def _asked(
    questions: list[Question],
    sizes: tuple[float, ...],
    seconds: float,
    on_progress: OnProgress | None,
    self_check: bool,
) -> Profile:
    """The steps for a black box, the small ones first: their flips are flips of the larger sets too."""
    budget, started = Budget(seconds), time.monotonic()
    found: list[Explanation] = []
    for step, question in enumerate(questions):
        share = max(budget.left, 1e-3) / (len(questions) - step)
        spent = 0 if step == 0 else questions[step - 1].asked.meter.total
        found.append(asked.explained(question, on_progress, self_check, share / question.seconds, spent))
    radius = _known_radius(sizes, found, questions[0])
    limits = [question.perturbation.at_most for question in questions]
    growth = _growth_asked(questions, sizes, found)
    name = "at_most" if list(sizes) == limits else "size"
    stats = {"seconds": time.monotonic() - started, "reused_attacks": 0}
    return _profile(name, sizes, tuple(found), growth, radius, stats)


def _growth_asked(
    questions: Sequence[Question], sizes: Sequence[float], found: Sequence[Explanation]
) -> tuple[Growth, ...]:
    """From which step on each word is in the explanation, and from which on its change alone flips the label."""
    needed: dict[int, float] = {}
    last = questions[-1].asked.meter
    for question, size in reversed(list(zip(questions, sizes, strict=True))):
        question.asked.meter = last  # it has counted all texts
        needed |= dict.fromkeys(asked.flippers(question), size)
    return _grown(questions[0].text.words, sizes, found, needed)


def _grown(
    words: Sequence[Word], sizes: Sequence[float], found: Sequence[Explanation], needed: Mapping[int, float]
) -> tuple[Growth, ...]:
    if found[0].tied is not None:  # there are no explanations that a word could be in
        needed = {}
    # where nothing was shown the whole text stands in for an explanation
    shown = [(size, one) for size, one in zip(sizes, found, strict=True) if one.status != "unknown"]
    steps = {i: tuple(size for size, one in shown if i in one.positions) for i in range(len(words))}
    return tuple(Growth(word, steps[word.position], needed.get(word.position)) for word in words)


def _sizes(steps: Sequence[float]) -> tuple[float, ...]:
    if isinstance(steps, str) or not len(steps):
        raise InputError("`steps` must be a list of at least one size, such as [5, 10, 15, 25].")
    return tuple(sorted(set(steps)))


class _Climb:
    """The steps, both ends first, each with what the others know."""

    def __init__(self, questions: list[Question], on_progress: OnProgress | None, self_check: bool) -> None:
        self.questions, self.on_progress, self.self_check = questions, on_progress, self_check
        self.known = [_Known() for _ in questions]
        self.reused = 0

    def run(self, budget: Budget) -> tuple[Explanation, ...]:
        found: dict[int, Explanation] = {}
        for step in _ends_first(len(self.questions)):
            share = max(budget.left, 1e-3) / (len(self.questions) - len(found) + 1)
            found[step] = self._step(step, Budget(share))
        return tuple(found[step] for step in range(len(self.questions)))

    def _step(self, step: int, budget: Budget) -> Explanation:
        question, started = self.questions[step], time.monotonic()
        match equals(question, budget, self.on_progress):
            case ByCovering() as found:  # quick enough without what others know
                return finished(question, found.run(), started, self.self_check)
            case BySearch(search):
                outcome = self._helped(step, search)
                return finished(question, outcome, started, self.self_check)

    def _helped(self, step: int, search: Search) -> Outcome:
        """What a search finds that is told what the other steps know."""
        for known in self.known[:step]:
            self.reused += search.seed_attacks(known.witnesses, known.starts)
        for known in self.known[step + 1 :]:
            for held in known.robust.values():
                search.inquiry.ask(held[None], 0)
        outcome = search.run()
        self.known[step] = _learnt(step, search, outcome.root)
        return outcome


def _learnt(step: int, search: Search, root: Node) -> _Known:
    best = search.inquiry.best
    robust = {} if best is None else {step: best[0]}
    sparse = sorted(search.inquiry.known.attacks, key=lambda witness: len(witness.positions))
    return _Known(sparse[:64], list(_starts(root))[:STARTS], robust)


def _starts(root: Node) -> Iterator[Floats]:
    """The perturbed texts that closed nodes of a finished search, from the root down."""
    waiting = [root]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node.reason, ByRestoration):
            yield node.reason.evidence.start
        waiting += node.children or ()


def _ends_first(count: int) -> list[int]:
    """0, the last, and then the middles of what is between."""
    order, gaps = list(dict.fromkeys([0, count - 1])), [(0, count - 1)]
    while gaps:
        low, high = gaps.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    return order


# --- the radius from which on something is needed ---


@dataclass(frozen=True, eq=False)
class _End:
    """A size at which no word is needed, or some word is, and the evidence for that."""

    size: float
    certificate: Certificate | None = None
    proved: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Radius:
    """The largest size at which no word is known to be needed, and the smallest at which some word is."""

    free: _End | None = None
    needed: _End | None = None


At: TypeAlias = Callable[[float], _Radius]


def _known_radius(sizes: Sequence[float], found: Sequence[Explanation], question: Question) -> _Radius:
    """What the steps say already: the largest at which no word is held, the smallest at which some word must be.

    Where words were asked for, a step that adds nothing to them says nothing about the empty set.
    """
    base, steps = question.costs.price(question.costs.of(question.included)), list(zip(sizes, found, strict=True))
    free = [_end(size, one) for size, one in steps if _nothing_held(one)]
    needed = [_end(size, one) for size, one in steps if one.lower_bound > base]
    return _Radius(free[-1] if free else None, needed[0] if needed else None)


def _end(size: float, result: Explanation) -> _End:
    return _End(size, result.certificate if result.meta.get("checked", True) else None, result.proved)


def _nothing_held(result: Explanation) -> bool:
    """Whether the answer is the empty set, by what the checker accepted, unless it was not to be asked."""
    stands = "checked" not in result.meta or authority(result.meta, "enough") == "proved"
    return result.status == "optimal" and not result.positions and stands


def _radius(at: At, known: _Radius, last: float, budget: Budget) -> _Radius:
    """Close in on the radius: double while nothing is needed, then halve the gap; stop at the first doubt."""
    if known.free is None and known.needed is None:
        known = _Radius(free=at(last).free)  # steps that hold words asked for said nothing
    for _ in range(DOUBLINGS):
        if known.needed is not None or budget.spent:
            break
        found = at(1 if known.free is None else known.free.size * 2 or 1)
        if found.free is None and found.needed is None:
            return known
        known = _Radius(found.free or known.free, found.needed)
    while (middle := _middle(known)) is not None and not budget.spent:
        found = at(middle)
        if found.free is None and found.needed is None:
            break
        known = _Radius(found.free or known.free, found.needed or known.needed)
    return _shown(at, known)


def _shown(at: At, known: _Radius) -> _Radius:
    """Where a step says that some word is needed, a change that shows it, if one is found."""
    if known.needed is None or _claims(known.needed, "refuted"):
        return known
    found = at(known.needed.size)
    return known if found.needed is None else replace(known, needed=found.needed)


def _claims(end: _End, kind: str) -> bool:
    return end.certificate is not None and end.certificate.claim["kind"] == kind


def _middle(known: _Radius) -> float | None:
    if known.needed is None:
        return None
    return _between(0 if known.free is None else known.free.size, known.needed.size)


def _between(low: float, high: float) -> float | None:
    """The middle of two radii; None when they are close enough (neighbours, or within one in two hundred)."""
    if isinstance(low, int) and isinstance(high, int):
        return (low + high) // 2 if high - low > 1 else None
    # four digits lie well within the gap, and can be printed as they are
    return float(f"{(low + high) / 2:.4g}") if high - low > high / 2**HALVINGS else None


def _at(question: Callable[[float], Question], self_check: bool, budget: Budget, size: float) -> _Radius:
    """Does the empty set suffice? Only what the independent checker accepts counts, unless it is not to be asked."""
    try:
        asked = replace(question(size), include=(), exclude=())
        problem = asked.problem
    except InputError:  # more neighbours than the vocabulary has
        return _Radius()
    answer = public(asked, quickest(problem).ask(problem.features[None], Budget(max(budget.left, 1e-3) / 4))[0])
    answer = accepted_verdict(asked, answer) if self_check else answer
    if isinstance(answer, Unknown) or answer.certificate is None:
        return _Radius()
    end = _End(size, answer.certificate, answer.proved)
    return _Radius(free=end) if isinstance(answer, Proved) else _Radius(needed=end)


# --- the words ---


def _growth(
    questions: Sequence[Question], sizes: Sequence[float], found: Sequence[Explanation], budget: Budget
) -> tuple[Growth, ...]:
    words = questions[0].text.words
    alone = np.eye(len(questions[0].text), dtype=bool)[: len(words)]
    needed: dict[int, float] = {}
    rest = _flippers(questions[-1], alone, list(range(len(words))), budget)  # who flips nothing at the end never does
    for question, size in zip(questions, sizes, strict=True):
        for i in _flippers(question, alone, [i for i in rest if i not in needed], budget):
            needed[i] = size
    return _grown(words, sizes, found, needed)


def _flippers(question: Question, alone: Bools, words: list[int], budget: Budget) -> list[int]:
    """Those of the words whose change alone flips the label."""
    if not words:
        return []
    asked = Budget(max(budget.left, 1e-3), 1000)
    answers = quickest(question.problem).ask(alone[words], asked)
    return [i for i, answer in zip(words, answers, strict=True) if isinstance(answer, Refuted)]

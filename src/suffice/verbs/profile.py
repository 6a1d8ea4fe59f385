"""Profile: how the explanation grows with the size of the perturbation sets.

What one step learnt helps the others where a search over words answers them (climbing.py). Of a
black box, texts that it still remembers are not run again, but each step looks for its flips anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from suffice import work
from suffice.errors import InputError
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.numbers import exactly
from suffice.model.text import Text
from suffice.optimise.cost import Cost
from suffice.proof.certificate import Certificate
from suffice.sets.perturbations import Perturbation
from suffice.settings import DEFAULT, Settings
from suffice.verbs.answer import Answer
from suffice.verbs.answering import FORMAT
from suffice.verbs.black_box import explaining
from suffice.verbs.engines import OnProgress, answering
from suffice.verbs.explanation import Explanation, counted, known_below, least_by, sufficing
from suffice.verbs.families import LIMIT, check_family, check_grown, check_nested, parameter_of
from suffice.verbs.growth import Growth, growth, growth_asked
from suffice.verbs.profile_steps import ProfileSteps, interrupted
from suffice.verbs.question import Given, Named, Padding, Question
from suffice.verbs.radius import Radius, close_in, decided, known_radius
from suffice.verbs.wording import authority, fitting, placed
from suffice.verify.contract import Budget


@dataclass(frozen=True, eq=False)
class Profile(Answer):
    """How the explanation grows with the size of the perturbation sets.

    One explanation per step. No word at all is needed up to `free_until`, and some word is from
    `needed_from` on; None where the search for that radius found none. Both are about the empty
    set, whatever words were asked for, and `radii` has the certificate of each ("free_until",
    "needed_from"), as far as the checker accepted it (or was not to be asked).
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

    def sentence(self) -> str:
        last = self.explanations[-1]
        if last.tied is not None:
            return last.sentence()
        return self._start() if self._said_already(last) else f"{self._start()} {self._end()}"

    def _said_already(self, last: Explanation) -> bool:
        """Whether the last step is one of those up to where no word is needed."""
        free = self.free_until is not None and self.steps[-1] <= self.free_until
        return (
            free and last.status == "optimal" and not last.positions and "nothing" not in last.meta
        )

    def _start(self) -> str:
        free = self.free_until
        needed = self.needed_from
        if needed is None:
            return (
                f"No word is needed up to {self.named(free)} ({self._by})."
                if free is not None
                else self._open()
            )
        if free is None:
            return f"Some word is needed at {self.named(needed)}{self._below(needed)}."
        return (
            f"No word is needed up to {self.named(free)} ({self._by}); from {self.named(needed)} "
            "on some word is."
        )

    def _open(self) -> str:
        """Why it is not known at which size some word is needed."""
        why = next(
            (one.reason for one in self.explanations if one.reason),
            "the words asked for leave it open",
        )
        return f"Undecided from which size on some word is needed ({why})."

    def _below(self, size: float) -> str:
        """What is said of smaller sets where it is not known that no word is needed; there may be
        none.
        """
        least = self.parameter in (LIMIT, "k") and size == 1
        return " already" if least else "; whether one is below that is open"

    @property
    def _by(self) -> str:
        """Who says up to where no word is needed."""
        return (
            "proved"
            if self.proved
            else authority({**self.explanations[0].meta, "checked": False}, "enough")
        )

    def named(self, size: float) -> str:
        """A size as people say it."""
        if self.parameter == LIMIT:
            return "1 change at once" if size == 1 else f"{exactly(size)} changes at once"
        return f"{self.parameter} = {exactly(size)}"

    def _end(self) -> str:
        last = self.explanations[-1]
        where = f"At {self.named(self.steps[-1])}"
        asked = fitting(self.text, last.meta)
        if last.status == "unknown":
            return f"{where} nothing better than the whole text was shown ({last.reason})."
        if last.status == "infeasible":
            return f"{where}, no set{asked} suffices."
        if "nothing" in last.meta:
            return f"{where} there is nothing to prove: {last.meta['nothing']}."
        if not last.positions:
            return f"{where}, no word is needed ({authority(last.meta, 'enough')})."
        best = f"no cheaper set{asked} does; {least_by(last)}"
        open_ = f"{authority(last.meta, 'enough')}; {known_below(last)}"
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
            f"{exactly(step)}: {exactly(cost)}"
            for step, cost in zip(self.steps, self.costs, strict=True)
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
                {
                    **asdict(item.word),
                    "enters": item.enters,
                    "steps": list(item.steps),
                    "needed": item.needed,
                }
                for item in self.growth
            ],
            "explanations": [result.to_dict() for result in self.explanations],
            "stats": dict(self.stats),
        }


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
    settings: Settings = DEFAULT,
) -> Profile:
    """The explanation at each of several sizes of the sets: `profile(clf, text, sf.KNNBox, [5, 10,
    15, 25])`.

    `perturbation` makes a perturbation from a number, each inside the next: k-nearest sets, balls,
    lists of substitutes, or `lambda r: sf.Deletion(at_most=r)` where more and more words change at
    once. `seconds` is for all steps together. For k, eps and at_most the result also says up to
    which size no word is needed at all, and from which on some word is.
    """
    sizes = _sizes(steps)
    budget = Budget(seconds)
    check_family(perturbation)
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
            settings=settings,
            cache=None
            if isinstance(classifier, BlackBox)
            else cache,  # all steps share that of a black box
            more={"size": size},
        )

    if isinstance(classifier, BlackBox):
        classifier = classifier if cache is None else replace(classifier, cache=cache)
        with work.counted():
            questions = [question(size) for size in sizes]
            return _asked(questions, sizes, budget, on_progress, self_check)
    with answering():
        return _climbed(question, sizes, budget, on_progress, self_check)


def _sizes(steps: Sequence[float]) -> tuple[float, ...]:
    if isinstance(steps, str) or not hasattr(steps, "__len__") or not len(steps):
        raise InputError("`steps` must be a list of at least one size, such as [5, 10, 15, 25].")
    return tuple(sorted(set(steps)))


def _climbed(
    question: Callable[[float], Question],
    sizes: tuple[float, ...],
    budget: Budget,
    on_progress: OnProgress | None,
    self_check: bool,
) -> Profile:
    """The steps, the radius as far as time is left, and the words."""
    started = time.monotonic()
    questions = [question(size) for size in sizes]
    parameter = parameter_of([one.perturbation.to_dict() for one in questions])
    check_grown(questions, sizes)
    climb = ProfileSteps(questions, on_progress, self_check)
    found = climb.run(budget)
    budget = Budget(1e-3) if climb.stopped else budget
    radius = known_radius(sizes, found, questions[0])
    if parameter != "size":
        at = partial(decided, _within(question, parameter), self_check, budget)
        radius = close_in(at, radius, sizes[-1], budget)
    grown = growth(questions, sizes, found, budget)
    stats = {"seconds": time.monotonic() - started, "reused_attacks": climb.reused}
    return _profile(parameter, sizes, found, grown, radius, stats)


def _within(question: Callable[[float], Question], parameter: str) -> Callable[[float], Question]:
    """More words than there are cannot change at once: there the search for the radius ends."""

    def asked(size: float) -> Question:
        made = question(size)
        if parameter == LIMIT and size > made.features.sum():
            raise InputError(f"The text has no {size} words.")
        return made

    return asked


def _asked(
    questions: list[Question],
    sizes: tuple[float, ...],
    budget: Budget,
    on_progress: OnProgress | None,
    self_check: bool,
) -> Profile:
    """The steps for a black box, the small ones first: their texts are among those of the larger
    ones.
    """
    started = time.monotonic()
    found = list[Explanation]()
    check_nested(questions, sizes)
    for step, question in enumerate(questions):
        left = 0.0 if any(map(interrupted, found)) else budget.seconds_left
        share = max(left, 1e-3) / (len(questions) - step)
        spent = 0 if step == 0 else questions[step - 1].asked.meter.total
        found.append(
            explaining.explained(question, on_progress, self_check, share / question.seconds, spent)
        )
    radius = known_radius(sizes, found, questions[0])
    limits = [question.perturbation.at_most for question in questions]
    grown = growth_asked(questions, sizes, found)
    name = "at_most" if list(sizes) == limits else "size"
    stats = {"seconds": time.monotonic() - started, "reused_attacks": 0}
    return _profile(name, sizes, tuple(found), grown, radius, stats)


def _profile(
    parameter: str,
    sizes: tuple[float, ...],
    found: tuple[Explanation, ...],
    growth: tuple[Growth, ...],
    radius: Radius,
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
        stats={**stats, "work": work.so_far()},
        radii={name: end.certificate for name, end in known.items() if end.certificate is not None},
        proved=tuple(
            f"at {parameter} = {exactly(end.size)}: {fact}"
            for end in known.values()
            for fact in end.proved
        ),
    )

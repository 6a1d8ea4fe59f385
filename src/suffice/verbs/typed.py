"""Typed: counterexamples that a person can type.

In a network a word that goes leaves its place empty, and the words after it do not move up; so what
the network says of such a change need not be what it says of the text without the word. Here
changes are looked for that flip the label both ways: with the places kept, as the set allows it and
the certificate has it, and with the words closed up, as anybody would type it.

The look is from the flip that is known: one word after the other becomes whatever helps most. It
may find nothing, though there is something. Its length is counted, not timed, so that the same
question has the same answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.sets.regions import Choice
from suffice.settings import RESOURCES
from suffice.verbs.question import Question
from suffice.verify.contract import Problem, Refuted, Verdict, Witness
from suffice.verify.exact import confirm


def typeable(
    question: Question,
    found: Witness,
    free: Bools,
    changed: Collection[int] = (),
    rival: int | None = None,
) -> Witness:
    """A flip by changes of free words that can be typed, where one is found; else the one that is
    known.

    The words `changed` have to change in it, and it changes no more words than may change at once.
    With a `rival`, that label has to reach the text's own.
    """
    if (
        not question.blanks
        or not isinstance(question.problem.region, Choice)
        or not found.positions
    ):
        return found
    if not _is_blanked(question, found):
        return found
    aims = None if rival is None else [question.problem.rivals.index(rival)]
    look = _Look(
        question, question.problem, question.problem.region, free, frozenset(changed), aims
    )
    for chosen in look.flips(found):
        (better,) = confirm(
            question.problem, look.points(chosen[None]), free[None], target_rivals=aims
        )
        if better is not None and not _is_blanked(question, better):
            return better
    return found


def _is_blanked(question: Question, found: Witness) -> bool:
    shown = question.witness(found)
    return shown is not None and shown.blanked


def typed_verdict(question: Question, answer: Verdict, free: Bools) -> Verdict:
    """A refutation by a text that can be typed, where one is found."""
    if not isinstance(answer, Refuted):
        return answer
    return replace(answer, witness=typeable(question, answer.witness, free))


@dataclass(eq=False)
class _Look:
    """Texts as choices (length,), a place in the region's points for each word; 0 is the word
    itself.
    """

    question: Question
    problem: Problem
    region: Choice
    free: Bools
    changed: frozenset[int]
    aims: Sequence[int] | None
    spent: int = 0

    @cached_property
    def words(self) -> list[int]:
        """The words that may change, but for padding: nobody types that."""
        count = len(self.question.text.words)
        return [int(i) for i in np.flatnonzero(self.free & self.region.movable()) if i < count]

    @cached_property
    def blank(self) -> Bools:
        """Which choices (length, choices) leave a place empty."""
        pad, (length, most) = self.question.classifier.pad, self.region.points.shape[:2]
        names = (group + ("",) * (most - len(group)) for group in self.region.names)
        found = np.array([[name == pad for name in group] for group in names])
        found[len(self.question.text.words) :] = True
        return found.reshape(length, most)

    def points(self, chosen: Ints) -> Floats:
        """What the choices (n, length) of some texts are as inputs."""
        return self.region.points[np.arange(chosen.shape[1]), chosen]

    def lead(self, chosen: Ints) -> Floats:
        """By how much the label leads (n,), as the texts stand or closed up, whichever is more."""
        points = self.points(chosen)
        gone = self.blank[np.arange(chosen.shape[1]), chosen]
        order = np.argsort(gone, axis=1, kind="stable")
        closed = np.take_along_axis(points, order[..., None], axis=1)
        self.spent += 2 * points.size
        return np.maximum(self._margin(points), self._margin(closed))

    def _margin(self, points: Floats) -> Floats:
        margins = self.problem.margins(points)
        return np.asarray(margins.min(-1) if self.aims is None else margins[:, self.aims].min(-1))

    def flips(self, found: Witness) -> Iterator[Ints]:
        """Texts that flip both ways, each from another start, with as few changes as are easily
        found.
        """
        for start in self._starts(found):
            chosen = self._climbed(start)
            if chosen is not None:
                yield self._fewer(chosen)

    def _starts(self, found: Witness) -> Iterator[Ints]:
        """The flip that is known; the same without its blanks; no word but those that
        must change.
        """
        known = np.zeros(len(self.free), dtype=np.int64)
        for place in found.positions:
            known[place] = int((self.region.points[place] == found.point[place]).all(-1).argmax())
        yield known
        yield np.where(self._blanked(known), self._least(), known)
        yield self._least()

    def _blanked(self, chosen: Ints) -> Bools:
        return np.asarray(self.blank[np.arange(len(chosen)), chosen])

    def _least(self) -> Ints:
        """Only the words that must change do, to a substitute where they have one."""
        found = np.zeros(len(self.free), dtype=np.int64)
        for place in self.changed:
            others = np.flatnonzero(~self.blank[place, 1 : len(self.region.names[place])])
            found[place] = 1 + (int(others[0]) if len(others) else 0)
        return found

    def _climbed(self, chosen: Ints) -> Ints | None:
        """Change the one word that helps most until the label is lost; None where nothing helps any
        more.
        """
        lead = float(self.lead(chosen[None])[0])
        for _ in range(self.problem.settings.answers.sparse_rounds):
            if lead < 0:
                return chosen
            trials = self._neighbours(chosen)
            work = 2 * trials.size * self.region.center.shape[1]
            if not len(trials) or self.spent + work > RESOURCES.typed_numbers:
                return None
            leads = self.lead(trials)
            best = int(leads.argmin())
            if leads[best] >= lead:
                return None
            chosen = trials[best]
            lead = float(leads[best])
        return chosen if lead < 0 else None

    def _neighbours(self, chosen: Ints) -> Ints:
        """The texts in which one word is another one, as far as so many may change at once."""
        most = self.problem.max_changes
        made = list[Ints]()
        for place in self.words:
            for choice in range(1 if place in self.changed else 0, len(self.region.names[place])):
                if choice == chosen[place] or (
                    choice and not chosen[place] and (chosen > 0).sum() >= most
                ):
                    continue
                made.append(np.where(np.arange(len(chosen)) == place, choice, chosen))
        return np.array(made, dtype=np.int64).reshape(len(made), len(chosen))

    def _fewer(self, chosen: Ints) -> Ints:
        """Put back the words that are not needed for the flip, those that matter least first."""
        back = [place for place in np.flatnonzero(chosen).tolist() if place not in self.changed]
        while back:
            trials = np.array(
                [np.where(np.arange(len(chosen)) == place, 0, chosen) for place in back]
            )
            leads = self.lead(trials)
            best = int(leads.argmin())
            if leads[best] >= 0:
                return chosen
            chosen = trials[best]
            del back[best]
        return chosen

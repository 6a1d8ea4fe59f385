"""Neighbours: what a word may become, by one set or by every set that has words to name."""

from __future__ import annotations

from collections.abc import Mapping

from suffice.errors import InputError
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.sets.perturbations import BundledSubstitutes, KNNBox, Marks, Perturbation, RealWords
from suffice.sets.regions import Choice
from suffice.sets.substitutes import group, groups, in_case_of
from suffice.verbs.question import Question

SHOWN = 10  # nearest words where no set says how many


def neighbours(
    classifier: Classifier | BlackBox, word: str, *, perturbation: Perturbation | None = None
) -> tuple[str, ...]:
    """The words that `word` may become, nearest or most usual first; by default those of the
    default set.
    """
    if not isinstance(word, str) or len(word.split()) != 1 or word.strip() != word:
        raise InputError(f"What may become something else is one word, not {word!r}.")
    question = Question(
        classifier, _as_read(classifier, word), perturbation=perturbation or BundledSubstitutes()
    )
    chosen = question.perturbation
    if isinstance(chosen, RealWords):
        options = chosen.options(question.text, Marks("", classifier.unknown))[0]
        return tuple(option for option in options if option)
    names = question.problem.region.names
    if not names:
        raise InputError(
            f"A set of kind {chosen.to_dict()['kind']!r} names no words: it allows vectors "
            "near a word's."
        )
    return names[0][1:] if isinstance(question.problem.region, Choice) else names[0]


def every_set(classifier: Classifier | BlackBox, word: str) -> Mapping[str, tuple[str, ...]]:
    """What a word may become by each kind of set that names words, and by the groups that audits
    exchange.
    """
    found = {"bundled substitutes": neighbours(classifier, word)}
    try:
        found["nearest words"] = neighbours(classifier, word, perturbation=KNNBox(SHOWN))
    except InputError:  # a classifier without embeddings, or with fewer words
        found["nearest words"] = ()
    return found | {f"group {name}": _exchanged(name, word) for name in groups()}


def _as_read(classifier: Classifier | BlackBox, word: str) -> str | list[str]:
    """The word as a text of its own; as a list of one where it would be read as several."""
    try:
        return word if len(classifier.read(word).words) == 1 else [word]
    except InputError:  # nothing that is read: a stop word, say
        return [word]


def _exchanged(name: str, word: str) -> tuple[str, ...]:
    return tuple(in_case_of(word, other) for other in group(name).get(word.lower(), ()))

"""Rewriting: a change of words as a text, shown as evidence only where the classifier was run on that very text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from suffice.errors import InputError
from suffice.model.classifier import Classifier
from suffice.model.text import Text, rewritten, with_gaps
from suffice.prove.verdict import Witness


def tried(classifier: Classifier, text: Text, witness: Witness) -> Witness:
    """The witness with the text that it makes, if the classifier, run on it, gives the witness's label.

    That is the text as a person would type it; where its words say something else once they have closed up, words are
    blanked, not removed, and a mark stands in the place of each.
    """
    typed = typed_text(text, witness)
    if typed is not None and _gives(classifier, typed, witness.label):
        return replace(witness, text=typed)
    blanked = "" in witness.words
    if typed is None or not blanked:
        return replace(witness, blanked=blanked)
    shown = rewritten(text, with_gaps(dict(zip(witness.positions, witness.words, strict=True))))
    return replace(witness, blanked=True, text=shown if _gives(classifier, shown, witness.label) else None)


def typed_text(text: Text, witness: Witness) -> str | None:
    """The text with the new words, and without those that are removed; None where no text says that."""
    if not witness.positions or max(witness.positions) >= len(text.words):
        return None
    new = dict(zip(witness.positions, witness.words, strict=True))
    return None if _torn(text, new) else rewritten(text, new)


def _torn(text: Text, new: Mapping[int, str]) -> bool:
    """Whether only some of the words change that the same characters are read as: no text says that."""
    return any((word in new) != (text.owner(word) in new) for word in text.shared)


def _gives(classifier: Classifier, text: str, label: str) -> bool:
    try:
        return classifier.predict(text).label == label
    except InputError:  # nothing is left of the text
        return False

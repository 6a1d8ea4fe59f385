"""Rewriting: a change of words as a text, shown as evidence only where the classifier was run on that very text."""

from __future__ import annotations

from collections.abc import Mapping

from suffice.errors import InputError
from suffice.model.classifier import Classifier
from suffice.model.text import Text
from suffice.prove.verdict import Witness


def rewritten(text: Text, new: Mapping[int, str]) -> str:
    """The text with some words replaced; an empty word is removed, together with the space around it."""
    shown, last = "", 0
    for word in text.words:
        between, last = text.source[last : word.start], word.end
        shown += between if shown.strip() or not between.isspace() else ""
        own = new.get(word.position, text.source[word.start : word.end])
        shown = shown.rstrip() if not own else shown + own
    return shown + text.source[last:]


def tried(classifier: Classifier, text: Text, label: str, witness: Witness) -> str | None:
    """The text that a witness makes, if the classifier, run on it, gives another label; else None."""
    if not witness.positions or max(witness.positions) >= len(text.words):
        return None
    shown = rewritten(text, dict(zip(witness.positions, witness.words, strict=True)))
    try:
        return shown if classifier.predict(shown).label != label else None
    except InputError:  # nothing is left of the text
        return None

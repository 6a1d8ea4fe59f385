"""Rewriting: a change of words as a text, shown as evidence only where the classifier was run on that very text."""

from __future__ import annotations

from suffice.errors import InputError
from suffice.model.classifier import Classifier
from suffice.model.text import Text, rewritten
from suffice.prove.verdict import Witness


def tried(classifier: Classifier, text: Text, witness: Witness) -> str | None:
    """The text that a witness makes, if the classifier, run on it, gives the witness's label; else None."""
    if not witness.positions or max(witness.positions) >= len(text.words):
        return None
    shown = rewritten(text, dict(zip(witness.positions, witness.words, strict=True)))
    try:
        return shown if classifier.predict(shown).label == witness.label else None
    except InputError:  # nothing is left of the text
        return None

"""Rewriting: a change of words as a text, shown as evidence only where the classifier was run on
that very text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from suffice.errors import InputError
from suffice.model.classifier import Classifier
from suffice.model.text import Text, rewritten, with_gaps
from suffice.verify.contract import Witness


def shown(classifier: Classifier, text: Text, witness: Witness) -> Witness:
    """The witness with its text, and whether the words that go in it are blanked: they are removed
    only where the classifier was run on the text without them, as anybody would type it, and that
    flips.
    """
    run = tried(classifier, text, witness)
    typed = (
        None
        if run is None
        else rewritten(text, dict(zip(witness.positions, witness.words, strict=True)))
    )
    return replace(witness, text=run, blanked="" in witness.words and (run is None or run != typed))


def tried(classifier: Classifier, text: Text, witness: Witness) -> str | None:
    """The text that a witness makes, if the classifier, run on it, gives the witness's label; else
    None.

    Where the words that are left say something else once they close up, a mark stands in the place
    of each that goes.
    """
    if not witness.positions or max(witness.positions) >= len(text.words):
        return None
    new = dict(zip(witness.positions, witness.words, strict=True))
    if _torn(text, new):
        return None
    made = (rewritten(text, change) for change in (new, with_gaps(new)))
    return next((one for one in made if _gives(classifier, one, witness.label)), None)


def _torn(text: Text, new: Mapping[int, str]) -> bool:
    """Whether only some of the words change that the same characters are read as: no text says
    that.
    """
    return any((word in new) != (text.owner(word) in new) for word in text.shared)


def _gives(classifier: Classifier, text: str, label: str) -> bool:
    try:
        return classifier.predict(text).label == label
    except InputError:  # nothing is left of the text
        return False

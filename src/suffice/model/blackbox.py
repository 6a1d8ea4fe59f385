"""BlackBox: a classifier that can only be run, from texts to scores, whatever is inside."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import InputError, ModelError
from suffice.model.answers import Answers, Function
from suffice.model.bag import Bag
from suffice.model.classifier import Prediction
from suffice.model.labels import Names, different, place_of, plain_labels, renamed
from suffice.model.network import Floats
from suffice.model.odds import MARGINS, shares
from suffice.model.text import WRITTEN, Text, written

MASK = "[MASK]"
VOTES = (
    "It said 1 for one label and 0 for the others, not how sure it is: if that is a model's predict, hand in its "
    "predict_proba."
)


@dataclass(frozen=True, eq=False)
class BlackBox:
    """A function from texts to scores with its labels; make one with `from_function` and its like.

    `digest` stands for the program in certificates and files of answers; `mask` is what `Mask()` puts in the place of a
    word; `notes` say what a reader should know, such as where texts are cut. `cache` is a file that keeps the answers.
    `meta["scores"]` says what scores are ("logits", "probabilities" or "margins"); without it, scores of a text that
    are not below zero and add up to 1 are its probabilities.
    """

    function: Function
    labels: Sequence[str]  # of any kind where they come in, kept as strings
    name: str
    digest: str
    mask: str = MASK
    notes: tuple[str, ...] = ()
    cache: str | Path | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    again: tuple[Callable[..., Any], tuple[Any, ...]] | None = None  # how another process makes the same one
    bag: Bag | None = None  # laid open as a bag of words: then the worst case of a text is computed, at any length

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", different(plain_labels(self.labels)))
        if not callable(self.function):
            raise ModelError(f"A black box needs a function from a list of texts to scores, not {self.function!r}.")
        if self.cache is not None and self.name.endswith("<lambda>"):
            raise InputError(
                "A file of answers knows a program by its name, and a lambda has none of its own: give it one, as in "
                "sf.from_function(predict, labels, name='my-api-v1'), and another one whenever it changes."
            )

    def __repr__(self) -> str:
        return f"<BlackBox {self.name}: {', '.join(self.labels)}>"

    def __reduce__(self) -> Any:
        if self.again is not None:
            return self.again
        given = (self.function, self.labels, self.name, self.digest, self.mask, self.notes, self.cache, self.meta)
        return BlackBox, given  # without the bag: it is asked then

    @cached_property
    def answers(self) -> Answers:
        """What it has said so far."""
        return Answers(self.function, self.labels, self.digest, self.cache)

    @property
    def told(self) -> tuple[str, ...]:
        """The notes, and what was seen while it was asked."""
        return (*self.notes, VOTES) if self.answers.votes else self.notes

    def read(self, given: str | Sequence[str] | Text) -> Text:
        """The text and where its words are; a list of words is joined by spaces."""
        if isinstance(given, Text) and given.reader == WRITTEN:
            return given
        return written(given.source if isinstance(given, Text) else given)

    def scores(self, texts: Sequence[str]) -> Floats:
        """The scores of texts, a row each; nothing is asked twice."""
        return self.answers.scores(texts)

    def predict(self, given: str | Sequence[str] | Text) -> Prediction:
        scores = self.scores([given if isinstance(given, str) else self.read(given).source])[0]
        best = int(scores.argmax())
        margin = scores[best] - np.delete(scores, best).max()
        odds = shares(scores, MARGINS if self.answers.votes else self.meta.get("scores"))
        return Prediction(self.labels[best], tuple(scores.tolist()), odds, float(margin))

    @property
    def unknown(self) -> str:
        """What stands in the place of a word that is masked."""
        return self.mask

    def knows(self, word: str) -> bool:
        """A black box is not asked what it knows: every word is a word to it."""
        return True

    def label_index(self, label: str) -> int:
        return place_of(self.labels, label)


def from_function(
    predict: Function,
    labels: Sequence[Any],
    name: str | None = None,
    *,
    mask: str = MASK,
    cache: str | Path | None = None,
) -> BlackBox:
    """Any function from a list of texts to an (n, classes) array of scores or probabilities as a classifier.

    `labels` are strings, numbers or booleans, and are called by strings: 1 is "1". `name` stands for the program in
    certificates and in files of answers: change it whenever the function changes.
    """
    called = name or str(getattr(predict, "__qualname__", type(predict).__name__))
    kept = plain_labels(labels)
    return BlackBox(predict, kept, called, named_digest(called, kept), mask=mask, cache=cache)


def under_names(blackbox: BlackBox, names: Names) -> BlackBox:
    """The same program, its labels called otherwise: to certificates and files of answers it is another one."""
    labels = renamed(blackbox.labels, names)
    digest = hashlib.sha256(json.dumps([blackbox.digest, labels]).encode()).hexdigest()
    return replace(blackbox, labels=labels, digest=digest, again=(under_names, (blackbox, names)))


def named_digest(name: str, labels: Sequence[str]) -> str:
    """SHA-256 of what the user calls the program, and of its labels."""
    return hashlib.sha256(json.dumps(["function", name, list(labels)]).encode()).hexdigest()

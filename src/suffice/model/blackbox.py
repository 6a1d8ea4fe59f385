"""BlackBox: a classifier that can only be run, from texts to scores, whatever is inside."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import InputError, ModelError
from suffice.model.answers import Answers, Function
from suffice.model.bag import Bag
from suffice.model.classifier import Prediction
from suffice.model.labels import Names, different, place_of, plain_labels, renamed
from suffice.model.naming import told
from suffice.model.network import Floats
from suffice.model.odds import MARGINS, shares
from suffice.model.text import WRITTEN, Text, written

MASK = "[MASK]"
VOTES = (
    "It said 1 for one label and 0 for the others, not how sure it is: if that is a model's "
    "predict, hand in its "
    "predict_proba."
)


@dataclass(frozen=True, eq=False)
class BlackBox:
    """A function from texts to scores with its labels; make one with `from_function` and its like.

    `digest` stands for the program in certificates and files of answers; `mask` is what `Mask()`
    puts in the place of a word; `notes` say what a reader should know, such as where texts are cut.
    `cache` is a file that keeps the answers. `meta["scores"]` says what scores are ("logits",
    "probabilities" or "margins"); without it, scores of a text that are not below zero and add up
    to 1 are its probabilities.
    """

    function: Function
    labels: Sequence[str]  # of any kind where they come in, kept as strings
    name: str
    digest: str
    mask: str = MASK
    notes: tuple[str, ...] = ()
    cache: str | Path | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    # how another process makes the same one
    again: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
    # saves it in a folder, and gives the file's name; "" where it cannot be
    keep: Callable[[Path], str] | None = None
    # what it holds that its digest does not cover: then the digest is that of this object alone
    uncovered: str = ""
    bag: Bag | None = (
        # laid open as a bag of words: then the worst case of a text is computed, at any length
        None
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", different(plain_labels(self.labels)))
        if not callable(self.function):
            raise ModelError(
                "A black box needs a function from a list of texts to scores, not "
                f"{self.function!r}."
            )
        if self.cache is not None and self.name.endswith("<lambda>"):
            raise InputError(
                "A file of answers is kept for a program with a name, and a lambda has none "
                "of its own: give it one, "
                "as in sf.from_function(predict, labels, name='my-api-v1')."
            )
        if self.cache is not None:
            self.check_told("A file of answers")

    def __repr__(self) -> str:
        return f"<BlackBox {self.name}: {', '.join(self.labels)}>"

    def __reduce__(self) -> Any:
        if self.again is not None:
            return self.again
        given = (
            self.function,
            self.labels,
            self.name,
            self.digest,
            self.mask,
            self.notes,
            self.cache,
            self.meta,
        )
        return partial(
            BlackBox, uncovered=self.uncovered
        ), given  # without the bag: it is asked then

    def check_told(self, kept: str) -> None:
        """Refuse to keep something that would not be known again."""
        if self.uncovered:
            raise InputError(
                f"{kept} would not be known again: what {self.name!r} answers may depend on "
                f"{self.uncovered}, which no "
                "digest covers. Give a version that stands for the program, as in "
                "sf.from_function(predict, labels, "
                "version='2024-05') (an attribute `version` of what a command names), and "
                "another one when it changes."
            )

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
        self.answers.settle()
        best = int(scores.argmax())
        margin = scores[best] - np.delete(scores, best).max()
        odds = shares(scores, MARGINS if self.answers.votes else self.meta.get("scores"))
        return Prediction(self.labels[best], tuple(scores.tolist()), odds, float(margin))

    @property
    def ordered(self) -> bool:
        """A black box is given the text without the words that go: they leave no empty places."""
        return False

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
    version: str | None = None,
    mask: str = MASK,
    cache: str | Path | None = None,
) -> BlackBox:
    """Any function from a list of texts to an (n, classes) array of scores or probabilities as a
    classifier.

    `labels` are strings, numbers or booleans, and are called by strings: 1 is "1". `name` is what
    it is called in answers. Its digest, by which certificates, runs and files of answers know it,
    covers its code and data and whatever these reach in your own files, and the versions of the
    packages that they use; or `version` in the place of all that: give one where answers depend on
    something else (a service, a file that is read later), and another one whenever that changes.
    Where it holds something that no digest covers (a connection, a generator) nothing is kept
    without one.
    """
    called = name or str(getattr(predict, "__qualname__", type(predict).__name__))
    kept = plain_labels(labels)
    if version is not None and not isinstance(version, str):
        raise ModelError(f"A version is a string such as '2024-05', not {version!r}.")
    made, uncovered = told(predict) if version is None else (f"version {version}", "")
    return BlackBox(
        predict,
        kept,
        called,
        hashlib.sha256(json.dumps(["function", called, list(kept), made]).encode()).hexdigest(),
        mask=mask,
        cache=cache,
        notes=not_covered(uncovered),
        meta={} if version is None else {"version": version},
        uncovered=uncovered,
    )


def not_covered(what: str) -> tuple[str, ...]:
    """What a reader should know of a program that no digest covers."""
    return (
        (f"No digest covers {what}: in another process the certificate is about another program.",)
        if what
        else ()
    )


def under_names(blackbox: BlackBox, names: Names) -> BlackBox:
    """The same program, its labels called otherwise: to certificates and files of answers it is
    another one.
    """
    labels = renamed(blackbox.labels, names)
    digest = hashlib.sha256(json.dumps([blackbox.digest, labels]).encode()).hexdigest()
    return replace(
        blackbox, labels=labels, digest=digest, again=(under_names, (blackbox, names)), keep=None
    )

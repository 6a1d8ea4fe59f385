"""Perturbation sets: what a user chooses, and the region that each makes of a classifier and a
text.

A Perturbation is an open set: any object with `around`, `narrowed`, `to_dict` and `at_most`. Every
set here takes `at_most`: no more than so many of the free words change at once (None: any number of
them).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import InputError
from suffice.model.classifier import Classifier
from suffice.model.numbers import double
from suffice.model.step import LARGEST
from suffice.model.text import Text, refuse_halves
from suffice.sets.nearest import neighbours
from suffice.sets.regions import Ball, Box, Choice, Hull, Region
from suffice.sets.substitutes import group, groups, in_case_of, substitutes

Swaps: TypeAlias = Mapping[str, Sequence[str]]
TOO_LARGE = "Boxes hold numbers that are too large to compute with: give at most 2^128."
MOST = 2**53 - 1  # words at once: the largest whole number that every reader of JSON takes as it is


class Reader(Protocol):
    """Of a classifier: whether it tells a word from others it does not know."""

    def knows(self, word: str) -> bool: ...


class Perturbation(Protocol):
    """Anything that can say what the words of a text may become."""

    @property
    def at_most(self) -> int | None:
        """How many of the free words may change at once; None where all of them may."""

    def around(self, classifier: Classifier, text: Text) -> Region:
        """The region of a text."""

    def narrowed(self, classifier: Reader, text: Text) -> Perturbation:
        """The same set with only what this text can use: a result need not carry a
        whole thesaurus.
        """

    def to_dict(self) -> dict[str, Any]:
        """The set as plain data, for results and certificates."""


@dataclass(frozen=True)
class Marks:
    """How a classifier writes a word that is removed and one that is masked."""

    removed: str
    masked: str


@runtime_checkable
class RealWords(Protocol):
    """A set of real words: each word may become one of finitely many others, or go."""

    @property
    def at_most(self) -> int | None: ...

    def options(self, text: Text, marks: Marks) -> list[tuple[str, ...]]:
        """At each position what may stand there instead, without the word itself."""


@dataclass(frozen=True)
class _Set:
    """What every set has: a name in files, and a limit on how many words change at once."""

    kind: ClassVar[str]
    at_most: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.at_most is not None and (not _whole(self.at_most) or self.at_most < 1):
            raise InputError(
                f"at_most must be a whole number of at least 1, or None, not {self.at_most!r}."
            )
        if self.at_most is not None and self.at_most > MOST:
            raise InputError(
                f"at_most = {self.at_most} is no limit for any text: give at most {MOST}, or None."
            )

    def around(self, classifier: Classifier, text: Text) -> Region:
        raise NotImplementedError

    def narrowed(self, classifier: Reader, text: Text) -> Perturbation:
        return self

    def to_dict(self) -> dict[str, Any]:
        """The set as plain data, for results and certificates; `at_most` only where there is a
        limit.
        """
        given = {item.name: _plain(getattr(self, item.name)) for item in fields(self)}
        limit = given.pop("at_most")
        return {"kind": self.kind, **given, **({} if limit is None else {"at_most": limit})}


# --- vectors ---


@dataclass(frozen=True)
class EpsilonBall(_Set):
    """Every embedding within `eps` of the word's own, in the p-norm (p = 1, 2 or inf)."""

    kind = "epsilon-ball"

    eps: float
    p: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.eps, bool) or not isinstance(
            self.eps, int | float | np.integer | np.floating
        ):
            raise InputError(f"The radius eps must be a number of at least 0, not {self.eps!r}.")
        if not 0 <= self.eps < math.inf:
            raise InputError(
                f"The radius eps must be a number of at least 0, not {_shown(self.eps)}."
            )
        if double(self.eps) > LARGEST:
            raise InputError(
                f"The radius eps = {_shown(self.eps)} is too large to compute with: give at "
                "most 2^128."
            )
        if self.p not in (1, 2, math.inf):
            raise InputError(f"The norm must be 1, 2 or inf, not {self.p!r}.")

    def around(self, classifier: Classifier, text: Text) -> Region:
        return Ball(classifier.embed(text), float(self.eps), float(self.p))


@dataclass(frozen=True)
class _Nearest(_Set):
    """What boxes and hulls of nearest words share."""

    k: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _whole(self.k) or self.k < 0:
            raise InputError(f"k must be a whole number of at least 0, not {self.k!r}.")


@dataclass(frozen=True)
class KNNBox(_Nearest):
    """The smallest box around a word and its k nearest words (Euclidean distance)."""

    kind = "knn-box"

    def around(self, classifier: Classifier, text: Text) -> Region:
        points, names = neighbours(classifier, text, int(self.k))
        return Box(classifier.embed(text), points.min(1), points.max(1), names)


@dataclass(frozen=True)
class KNNHull(_Nearest):
    """The convex hull of a word and its k nearest words (Euclidean distance)."""

    kind = "knn-hull"

    def around(self, classifier: Classifier, text: Text) -> Region:
        points, names = neighbours(classifier, text, int(self.k))
        return Hull(classifier.embed(text), points, names)


@dataclass(frozen=True, eq=False)
class Boxes(_Set):
    """An explicit box for every position: `lower` and `upper` are (length, dimension) arrays."""

    kind = "boxes"

    lower: ArrayLike
    upper: ArrayLike

    def around(self, classifier: Classifier, text: Text) -> Region:
        center = classifier.embed(text)
        try:
            lower = np.asarray(self.lower, dtype=np.float64)
            upper = np.asarray(self.upper, dtype=np.float64)
        except (ValueError, TypeError) as error:
            raise InputError(
                f"Boxes must be two arrays of numbers of shape {center.shape}."
            ) from error
        except OverflowError as error:
            raise InputError(TOO_LARGE) from error
        if lower.shape != center.shape or upper.shape != center.shape:
            raise InputError(
                f"Boxes must be two arrays of shape {center.shape}, not {lower.shape} and "
                f"{upper.shape}."
            )
        if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            raise InputError("Boxes must hold finite numbers only.")
        if max(np.abs(lower).max(initial=0.0), np.abs(upper).max(initial=0.0)) > LARGEST:
            raise InputError(TOO_LARGE)
        outside = ~((lower <= center) & (center <= upper)).all(-1)
        if outside.any():
            raise InputError(
                f"The box at position {int(outside.argmax())} does not contain the word's own "
                "point."
            )
        return Box(center, lower, upper)


# --- real words ---


@dataclass(frozen=True)
class _Words(_Set):
    """What sets of real words share: a choice of points, named by words."""

    def options(self, text: Text, marks: Marks) -> list[tuple[str, ...]]:
        raise NotImplementedError

    def around(self, classifier: Classifier, text: Text) -> Region:
        return _choices(
            classifier, text, self.options(text, Marks(classifier.pad, classifier.unknown))
        )


@dataclass(frozen=True)
class Deletion(_Words):
    """Each word, or nothing in its place (padding where a network has positions: the others do not
    move up).
    """

    kind = "deletion"

    def options(self, text: Text, marks: Marks) -> list[tuple[str, ...]]:
        return [(marks.removed,)] * len(text)


@dataclass(frozen=True)
class Mask(_Words):
    """Each word, or a mask in its place: `token`, or what the classifier uses for words it does not
    know.
    """

    kind = "mask"

    token: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.token is not None and (not isinstance(self.token, str) or not self.token.strip()):
            raise InputError(f"The mask must be a word such as '[MASK]', not {self.token!r}.")
        refuse_halves(self.token or "", "mask")

    def options(self, text: Text, marks: Marks) -> list[tuple[str, ...]]:
        return [(self.token or marks.masked,)] * len(text)


@dataclass(frozen=True)
class WordSwap(_Words):
    """Each word or one of its listed substitutes, as real words (not the space between them)."""

    kind = "word-swap"

    swaps: Swaps = field(hash=False)  # a mapping has no hash

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.swaps, Mapping):
            raise InputError(
                "Substitutes must be a mapping from a word to a list of words, not "
                f"{_shown(self.swaps)}."
            )
        for word, others in self.swaps.items():
            listed = isinstance(others, Sequence) and not isinstance(others, str)
            if not listed or not all(isinstance(other, str) for other in (word, *others)):
                raise InputError(
                    f"The substitutes of {word!r} must be a list of words, not {_shown(others)}."
                )
            if not all(map(str.strip, others)):
                raise InputError(
                    f"A substitute of {word!r} is empty: RemoveOrSwap lets words be removed "
                    "as well."
                )
            refuse_halves("".join((word, *others)), "set of substitutes")

    @cached_property
    def _lower(self) -> Swaps:
        """Texts are read in lower case: what is listed for Good and GOOD holds for good too, unless
        good has a list.
        """
        found: dict[str, list[str]] = {}
        for word, others in self.swaps.items():
            found.setdefault(word.lower(), []).extend(others)
        return found

    def of(self, token: str) -> tuple[str, ...]:
        """The substitutes of one word."""
        found = self.swaps.get(
            token, self.swaps.get(token.lower(), self._lower.get(token.lower(), ()))
        )
        return tuple(dict.fromkeys(other for other in found if other != token))

    def options(self, text: Text, marks: Marks) -> list[tuple[str, ...]]:
        found = [self.of(token) for token in text.tokens]
        for word in text.words:
            found[word.position] = _as_written(found[word.position], self.of(word.text))
        return found

    def narrowed(self, classifier: Reader, text: Text) -> Perturbation:
        return replace(self, swaps=_used(self.of, text))


@dataclass(frozen=True)
class RemoveOrSwap(WordSwap):
    """Each word, nothing in its place, or one of its listed substitutes: Deletion and WordSwap in
    one.
    """

    kind = "removal-or-swap"

    def options(self, text: Text, marks: Marks) -> list[tuple[str, ...]]:
        return [(marks.removed, *others) for others in super().options(text, marks)]


@dataclass(frozen=True)
class BundledSubstitutes(_Words):
    """Each word, nothing in its place, or one of the bundled substitutes that the classifier knows:
    the default.

    A question turns it into the `RemoveOrSwap` of its text, so that answers show what was allowed.
    """

    kind = "bundled-substitutes"

    def options(self, text: Text, marks: Marks) -> list[tuple[str, ...]]:
        return RemoveOrSwap(_used(self._of, text)).options(text, marks)

    def narrowed(self, classifier: Reader, text: Text) -> Perturbation:
        def known(word: str) -> tuple[str, ...]:
            return tuple(other for other in self._of(word) if classifier.knows(other))

        return RemoveOrSwap(_used(known, text), at_most=self.at_most)

    def _of(self, word: str) -> tuple[str, ...]:
        """The bundled substitutes of a word, in its case."""
        found = self._table.get(word.lower(), ())
        return tuple(other for one in found if (other := in_case_of(word, one)) != word)

    @property
    def _table(self) -> Swaps:
        return substitutes()


@dataclass(frozen=True)
class BundledCounterparts(BundledSubstitutes):
    """Each word, its counterparts in a bundled group (gender, say), or a bundled substitute: for
    audits.

    That a word is missing from a text says nothing of the group that it names, so that none is
    removed.
    """

    kind = "bundled-counterparts"

    def options(self, text: Text, marks: Marks) -> list[tuple[str, ...]]:
        return [others[1:] for others in super().options(text, marks)]

    def narrowed(self, classifier: Reader, text: Text) -> Perturbation:
        found = super().narrowed(classifier, text)
        assert isinstance(found, RemoveOrSwap)
        return WordSwap(found.swaps, at_most=self.at_most)

    @property
    def _table(self) -> Swaps:
        return _exchanged()


def for_audits(chosen: Perturbation | None) -> Perturbation:
    """What is meant where protected words are asked about: *she* has no synonym, but its
    counterpart is *he*.
    """
    match chosen:
        case None:
            return BundledCounterparts()
        case BundledSubstitutes(at_most=limit):
            return BundledCounterparts(at_most=limit)
        case _:
            return chosen


@cache
def _exchanged() -> Swaps:
    """The bundled substitutes, and for the words of a group their counterparts first."""
    joined: dict[str, list[str]] = {}
    for table in (*map(group, groups()), substitutes()):
        for word, others in table.items():
            joined.setdefault(word, []).extend(
                other for other in others if other not in joined[word]
            )
    return joined


def _used(of: Callable[[str], tuple[str, ...]], text: Text) -> Swaps:
    """What is listed for the words of a text: as they are read and, where only the case differs, as
    they are written.

    A word without a list is left out, unless another spelling has one, which would be taken for its
    own.
    """
    found = {token: of(token) for token in dict.fromkeys(text.tokens)}
    for word in text.words:
        read = found[text.tokens[word.position]]
        written = of(word.text)
        if _as_written(read, written) != read:
            found[word.text] = written
    listed = {word.lower() for word, others in found.items() if others}
    return {word: others for word, others in found.items() if others or word.lower() in listed}


def _as_written(read: tuple[str, ...], written: tuple[str, ...]) -> tuple[str, ...]:
    """The substitutes of a word as it is read, in the spelling that is listed for the word as it is
    written.
    """
    same = [one.lower() for one in read] == [one.lower() for one in written]
    return written if same else read


def _choices(classifier: Classifier, text: Text, options: Sequence[Sequence[str]]) -> Choice:
    """A Choice of the word itself and its options; missing options repeat the word's own point."""
    names = tuple(
        (word, *dict.fromkeys(o for o in extra if o != word))
        for word, extra in zip(text.tokens, options, strict=True)
    )
    most = max(map(len, names))
    rows = [
        [own, *(classifier.index_of(name) for name in group[1:])]
        for own, group in zip(text.indices, names, strict=True)
    ]
    padded = np.array(
        [row + row[:1] * (most - len(row)) for row in classifier.each_once(rows)], dtype=np.int64
    )
    return Choice(classifier.embed(text), classifier.table[padded], names)


def _plain(value: Any) -> Any:
    match value:
        case Mapping():
            return {word: list(others) for word, others in sorted(value.items())}
        case np.ndarray() | list() | tuple():
            return np.asarray(value).tolist()
        case float() if value == math.inf:
            return "inf"
        case np.integer() | np.floating():
            return value.item()
        case _:
            return value


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."

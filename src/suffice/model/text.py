"""Text: the words a classifier sees, and where each of them sits in the string the user gave."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, TypeAlias

from suffice.errors import InputError
from suffice.model.boundaries import segments, spaced, wordlike

# a word as the classifier knows it, its start and end in the string
Span: TypeAlias = tuple[str, int, int]
# positions in order, each with the word put there ("": removed)
Change: TypeAlias = tuple[tuple[int, str], ...]

WRITTEN = "written"  # the reader of texts that go to a classifier as whole strings
TOKEN = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]")
EMPTY = "␣"  # stands where a word was removed, for a classifier to which its place matters
HALVES = 2**15  # halves of a text that are kept, each with another change


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its position for the classifier and its place in the original string."""

    position: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Text:
    """A text as a classifier with `length` positions sees it.

    `source` is the string the user gave; `tokens` are the normalised words, padding included, that
    are looked up in the vocabulary; `words` are the real words among them. `unknown` lists
    positions of words out of the vocabulary and `cut` the words beyond the length, so that nothing
    is lost silently. `reader` says how it was read (`Classifier.reading`), so that no other
    classifier takes it for its own. `shared` lists words that have no characters of their own, as
    the one before them has these (½ may be read as 1 and 2).
    """

    source: str
    tokens: tuple[str, ...]
    indices: tuple[int, ...]
    words: tuple[Word, ...]
    unknown: tuple[int, ...]
    cut: tuple[str, ...]
    reader: str = field(default="", repr=False, compare=False)
    shared: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.tokens)

    def __str__(self) -> str:
        return self.source

    def positions(self, given: Sequence[str | int], known: int | None = None) -> tuple[int, ...]:
        """Positions that `given` names: a word stands for all its occurrences, an int for itself.

        `known` is how many positions may be named (the words, or the whole length when padding
        counts).
        """
        limit = len(self.words) if known is None else known
        if isinstance(given, str | Integral):  # one word, not its letters; one position
            given = (given,)
        if not hasattr(given, "__iter__") or isinstance(given, bytes | type):
            raise InputError(f"{_brief(given)} is no list of words or positions.")
        found: set[int] = set()
        for item in given:
            found.update(self._occurrences(item, limit))
        return tuple(sorted(found))

    def _occurrences(self, item: str | int, limit: int) -> list[int]:
        if isinstance(item, bool) or not isinstance(item, (str, Integral)):
            raise InputError(f"{item!r} is neither a word nor a position.")
        if not isinstance(item, str):
            if not 0 <= item < limit:
                raise InputError(
                    f"Position {item} is out of range: the text has positions 0 to {limit - 1}."
                )
            return [int(item)]
        wanted = item.casefold()
        hits = [
            i
            for i in range(limit)
            if wanted in (self.tokens[i].casefold(), self._shown(i).casefold())
        ]
        if not hits:
            seen = " ".join(self.tokens[: len(self.words)])
            raise InputError(
                f"The word {item!r} is not in the text as the classifier sees it: {seen}"
            )
        return hits

    def owner(self, position: int) -> int:
        """The word that has the characters of this one."""
        while position in self.shared:
            position -= 1
        return position

    def _shown(self, position: int) -> str:
        return self.words[position].text if position < len(self.words) else self.tokens[position]


def split(source: str) -> list[Span]:
    """Lower-cased words and punctuation marks, each with its start and end in `source`."""
    return [(m.group().lower(), m.start(), m.end()) for m in TOKEN.finditer(source)]


def split_list(words: Sequence[str], lookup: Container[str] = ()) -> tuple[str, list[Span]]:
    """A list of words taken as it is, and the string it makes when joined by single spaces."""
    found: list[Span] = []
    start = 0
    for word in map(_a_word, words):
        if word not in lookup and any(char.isspace() for char in word):
            raise InputError(
                f"{word[:60]!r} is not one word: a list is read as the words of one text. "
                "Give one text as a string, "
                "and many texts to sf.batch."
            )
        found.append((word, start, start + len(word)))
        start += len(word) + 1
    return " ".join(words), found


def _a_word(given: Any) -> str:
    if not isinstance(given, str) or not given:
        raise InputError(f"A list of words must hold non-empty strings; found {_brief(given)}.")
    return str(given)


def as_given(given: Any) -> str | list[str]:
    """One text: a string, or a list or tuple of words. Everything else is refused."""
    if isinstance(given, str):
        return str(given)
    if isinstance(given, list | tuple):
        return list(given)
    many = hasattr(given, "__iter__") and not isinstance(
        given, str | bytes | bytearray | Mapping | type
    )
    hint = "; many texts are for sf.batch" if many else ""
    raise InputError(f"A text is a string, or a list of words, not {_brief(given)}{hint}.")


def _brief(given: Any) -> str:
    """What was given, and its type where that is not plain to see."""
    if given is None:
        return "None"
    if isinstance(given, type):
        return f"the class {given.__name__}"
    return f"{' '.join(repr(given).split())[:60]} (of type {type(given).__name__})"


def read(
    given: str | Sequence[str],
    lookup: dict[str, int],
    length: int,
    pad: str,
    unknown: str,
    tokenize: Callable[[str], list[Span]] = split,
    once: bool = False,
    reader: str = "",
) -> Text:
    """Make a Text for a classifier: tokenise, cut or pad to `length`, look every word up.

    With `once` only the first occurrence of each word is read, as by a model of sets of words.
    """
    text = as_given(given)
    listed = None if isinstance(text, str) else split_list(text, lookup)
    source = text if isinstance(text, str) else " ".join(text)
    refuse_halves(source)
    found = tokenize(source) if listed is None else listed[1]
    found = _first_of_each(found) if once else found
    pieces = fitted(source, found) if listed is None else found
    if not pieces:
        raise InputError("The text has no words: give at least one word.")
    kept = pieces[:length]
    beyond = pieces[length:]
    tokens = tuple(token for token, _, _ in kept) + (pad,) * (length - len(kept))
    return Text(
        source=source,
        tokens=tokens,
        indices=tuple(lookup.get(token, lookup[unknown]) for token in tokens),
        words=tuple(Word(i, source[a:b] or token, a, b) for i, (token, a, b) in enumerate(kept)),
        unknown=tuple(
            i for i, (token, _, _) in enumerate(kept) if token not in lookup or token == unknown
        ),
        cut=tuple(source[a:b] or token for token, a, b in beyond),
        reader=reader,
        shared=_shared(found, kept),
    )


def _shared(found: Sequence[Span], kept: Sequence[Span]) -> tuple[int, ...]:
    """The words of which nothing is left once their characters show with the words before them."""
    pairs = enumerate(zip(found, kept, strict=False))
    return tuple(
        i for i, ((_, first, _), (_, a, b)) in pairs if i and a == b and first < kept[i - 1][2]
    )


def refuse_halves(source: str, what: str = "text") -> None:
    if any("\ud800" <= char <= "\udfff" for char in source):
        raise InputError(
            f"The {what} holds half a character (a lone surrogate), which is no text: decode "
            "it as UTF-8."
        )


def written(given: str | Sequence[str]) -> Text:
    """The words as they stand in the string (case and all), for a classifier that is given whole
    strings.
    """
    text = as_given(given)
    listed = None if isinstance(text, str) else split_list(text)
    source = text if isinstance(text, str) else " ".join(text)
    refuse_halves(source)
    found = segments(source) if listed is None else listed[1]
    if not found:
        raise InputError("The text has no words: give at least one word.")
    tokens = tuple(token for token, _, _ in found)
    words = tuple(Word(i, token, a, b) for i, (token, a, b) in enumerate(found))
    return Text(source, tokens, (), words, (), (), WRITTEN)


def rewritten(text: Text, new: Mapping[int, str]) -> str:
    """The original string with words replaced, or removed where the new word is empty, and the
    spaces mended.
    """
    begun = Begun().on(text, text.words, new)
    return begun.text + text.source[text.words[-1].end :] if begun.before else ""


def with_gaps(new: Mapping[int, str]) -> dict[int, str]:
    """New words, with a mark in the place of each that is removed."""
    return {place: word or EMPTY for place, word in new.items()}


@dataclass(frozen=True)
class Begun:
    """A text written as far as some word: its last piece that is not removed, and the
    gaps since.
    """

    text: str = ""
    before: str = ""
    gaps: tuple[str, ...] = ()

    def on(self, text: Text, words: Sequence[Word], new: Mapping[int, str]) -> Begun:
        """The same with the words that follow, each as it was or as the new one."""
        parts = [self.text]
        before = self.before
        gaps = self.gaps
        for word in words:
            if (
                word.position in text.shared
                and not {word.position, text.owner(word.position)} & new.keys()
            ):
                continue  # its characters are written
            last = text.words[word.position - 1].end if word.position else 0
            gaps = (*gaps, text.source[last : word.start])
            if piece := new.get(word.position, word.text):
                parts += [gap(gaps, before, piece), piece]
                before = piece
                gaps = ()
        return Begun("".join(parts), before, gaps)


def gap(gaps: Sequence[str], before: str, piece: str) -> str:
    """What stands between two pieces: one of the gaps that the removed words leave, and never a new
    word by fusion.
    """
    if len(gaps) == 1:
        return gaps[0]
    if not before:
        return gaps[0]
    if not gaps[-1] and not wordlike(piece[0]):
        return ""  # a comma stays at the word before it
    space = next((one for one in gaps if one), "")
    return space or (" " if spaced(before[-1]) and spaced(piece[0]) else "")


class Writer:
    """`rewritten` for very many changes of one text: each half is written once for each change of
    it.
    """

    def __init__(self, text: Text) -> None:
        self.text = text
        self.middle = len(text.words) // 2
        self.tail = text.source[text.words[-1].end :]
        self.firsts: dict[Change, Begun] = {}
        self.seconds: dict[tuple[Change, str, tuple[str, ...]], str] = {}

    def write(self, change: Change) -> str:
        """The text with a new word at each of some positions, in their order; an empty one removes
        the word.
        """
        cut = bisect_left(change, (self.middle,))
        first = self.firsts.get(change[:cut]) or self._first(change[:cut])
        key = change[cut:], first.before[-1:], first.gaps
        second = self.seconds.get(key)
        return first.text + (self._second(*key) if second is None else second)

    def _first(self, change: Change) -> Begun:
        if len(self.firsts) >= HALVES:
            self.firsts.clear()
        self.firsts[change] = Begun().on(self.text, self.text.words[: self.middle], dict(change))
        return self.firsts[change]

    def _second(self, change: Change, before: str, gaps: tuple[str, ...]) -> str:
        if len(self.seconds) >= HALVES:
            self.seconds.clear()
        begun = Begun("", before, gaps).on(self.text, self.text.words[self.middle :], dict(change))
        self.seconds[change, before, gaps] = begun.text + self.tail if begun.before else ""
        return self.seconds[change, before, gaps]


def fitted(source: str, pieces: Iterable[Span]) -> list[Span]:
    """Pieces in order, without overlap and without the spaces around them, so that every character
    shows once.

    Where a piece is nothing but spaces, these are its characters.
    """
    found = []
    last = 0
    for token, start, end in pieces:
        start = max(start, last)
        end = max(end, start)
        if inner := source[start:end].strip():
            start = source.index(inner, start)
            end = start + len(inner)
        found.append((token, start, end))
        last = end
    return found


def _first_of_each(pieces: Sequence[Span]) -> list[Span]:
    found: dict[str, Span] = {}
    for piece in pieces:
        found.setdefault(piece[0], piece)
    return list(found.values())

"""Patterns: which regular expressions read any text in reasonable time, so that one from a stranger
may be used.

Python's `re` tries one way after the other, and may try exponentially many. Here a pattern is taken
only if, wherever it stands in a text, the next character alone says how to go on (in the words of
theory: each of its alternatives is one-unambiguous). Then there is one way to try from each start,
and it can be left only at a word's end: what repeats over white space must be allowed to stop
anywhere. Whatever cannot be shown to be so is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

LONGEST = 1000  # characters of a pattern
MOST_PLACES = 500  # characters or classes in it, those of a count such as {3,} each by itself
MOST_COPIES = 16  # that a count may ask for at least
FLAGS = re.UNICODE | re.ASCII | re.MULTILINE | re.DOTALL | re.VERBOSE
BLANK = {ord("\n"), ord(" "), ord("\t")}
CATEGORIES = {"DIGIT": ("digit",), "SPACE": ("space",), "WORD": ("word", "digit")}


class Refused(Exception):
    """Why a pattern is not taken."""


@dataclass(frozen=True)
class Char:
    """A character, or all between two characters that are of one kind: "word", "digit", "space" or
    "other".
    """

    code: int
    kind: str


@dataclass(frozen=True)
class Part:
    """Some of a pattern: whether it may match nothing, and the places it may begin and end with."""

    empty: bool
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()


@dataclass
class Places:
    """The characters and classes of a pattern in order, which may follow which, and
    what repeats.
    """

    alphabet: Sequence[Char]
    ascii_only: bool
    dot_all: bool
    # of each place: the characters it takes, as bits
    masks: list[int] = field(default_factory=list)
    follow: list[set[int]] = field(default_factory=list)
    # the places inside, and the last ones
    loops: list[tuple[range, tuple[int, ...]]] = field(default_factory=list)


def why_refused(pattern: str) -> str:
    """Why a pattern may take too long, as the end of a sentence; "" where it cannot."""
    if len(pattern) > LONGEST:
        return f"it has {len(pattern)} characters, and at most {LONGEST} are taken"
    try:
        tree = parser.parse(pattern)
        if tree.state.flags & ~FLAGS:
            raise Refused(
                "its flags are not known here (use lowercase=True instead of ignoring the case)"
            )
        for alternative in _alternatives(tree):
            _check(alternative, tree.state.flags)
    except Refused as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply"
    return ""


def _alternatives(tree: Any) -> list[Any]:
    """What may match instead of each other at the top: these are tried one after the other, each
    once.
    """
    items = list(tree)
    match items:
        case [(kinds.SUBPATTERN, (_, 0, 0, inner))]:
            return _alternatives(inner)
        case [(kinds.BRANCH, (_, options))]:
            return [part for option in options for part in _alternatives(option)]
        case _:
            return [items]


def _check(items: list[Any], flags: int) -> None:
    places = Places(_alphabet(items), bool(flags & re.ASCII), bool(flags & re.DOTALL))
    whole = _sequence(items, places)
    for choices in (whole.first, *places.follow):
        _one_way(choices, places)
    blank = sum(1 << i for i, char in enumerate(places.alphabet) if char.code in BLANK)
    for inside, last in places.loops:
        if any(places.masks[place] & blank for place in inside) and not set(last) <= set(
            whole.last
        ):
            raise Refused(
                "it repeats over white space and then needs something else, so that it may "
                "search in vain"
            )


def _one_way(choices: Iterable[int], places: Places) -> None:
    seen = 0
    for place in choices:
        if seen & places.masks[place]:
            raise Refused(
                "the next character does not say how to go on with it, so that it may try many ways"
            )
        seen |= places.masks[place]


# --- the tree ---


def _sequence(items: Iterable[Any], places: Places) -> Part:
    whole = Part(True)
    for item in items:
        part = _part(item, places)
        _joined(whole.last, part.first, places)
        whole = Part(
            whole.empty and part.empty,
            whole.first + part.first if whole.empty else whole.first,
            whole.last + part.last if part.empty else part.last,
        )
    return whole


def _part(item: Any, places: Places) -> Part:
    match item:
        case (
            kinds.AT,
            kinds.AT_BOUNDARY | kinds.AT_NON_BOUNDARY,
        ):  # the start and end of a text are never near
            return Part(True)
        case (kinds.SUBPATTERN, (_, 0, 0, inner)):
            return _sequence(inner, places)
        case (kinds.BRANCH, (_, options)):
            parts = [_sequence(option, places) for option in options]
            if (
                sum(part.empty for part in parts) > 1
            ):  # (a|a) is read as a(|): twice nothing is two ways as well
                raise Refused(
                    "two of its alternatives may be nothing, so that it may try many ways"
                )
            firsts, lasts = (
                tuple(p for part in parts for p in getattr(part, end)) for end in ("first", "last")
            )
            return Part(any(part.empty for part in parts), firsts, lasts)
        case (kinds.MAX_REPEAT, (least, most, inner)):
            return _repeat(int(least), int(most), inner, places)
        case (kinds.LITERAL | kinds.NOT_LITERAL | kinds.ANY | kinds.IN, _):
            return _place(item, places)
    raise Refused(f"it holds a {str(item[0]).lower().replace('_', ' ')}, which is not known here")


def _repeat(least: int, most: int, inner: Any, places: Places) -> Part:
    """At least so many copies one after the other, then the rest as one that may come again or not
    at all.
    """
    if least > MOST_COPIES:
        raise Refused(
            f"it asks for {least} copies of something, and at most {MOST_COPIES} are taken"
        )
    whole = _sequence([(kinds.SUBPATTERN, (None, 0, 0, inner))] * least, places)
    if most == least:
        return whole
    start = len(places.masks)
    rest = _sequence(inner, places)
    if rest.empty:
        raise Refused("it repeats something that may be nothing")
    if most - least > 1:
        _joined(rest.last, rest.first, places)
        places.loops.append((range(start, len(places.masks)), rest.last))
    _joined(whole.last, rest.first, places)
    first = whole.first + rest.first if whole.empty else whole.first
    return Part(whole.empty, first, whole.last + rest.last)


def _joined(before: Iterable[int], after: Iterable[int], places: Places) -> None:
    for one in before:
        for other in after:
            if other in places.follow[one]:
                raise Refused("it repeats a repetition, so that it may try many ways")
            places.follow[one].add(other)


def _place(item: Any, places: Places) -> Part:
    if len(places.masks) >= MOST_PLACES:
        raise Refused(f"it has more than {MOST_PLACES} characters and classes")
    bits = (1 << i for i, char in enumerate(places.alphabet) if _takes(item, char, places))
    places.masks.append(sum(bits))
    places.follow.append(set())
    return Part(False, (len(places.masks) - 1,), (len(places.masks) - 1,))


# --- characters ---


def _takes(item: Any, char: Char, places: Places) -> bool:
    match item:
        case (kinds.LITERAL, code):
            return bool(char.code == code)
        case (kinds.NOT_LITERAL, code):
            return bool(char.code != code)
        case (kinds.ANY, _):
            return places.dot_all or char.code != ord("\n")
        case (kinds.RANGE, (low, high)):
            return bool(low <= char.code <= high)
        case (kinds.CATEGORY, name):
            return _is_of(str(name), char, places.ascii_only)
        case (kinds.IN, [(kinds.NEGATE, _), *listed]):
            return not any(_takes(one, char, places) for one in listed)
        case (kinds.IN, listed):
            return any(_takes(one, char, places) for one in listed)
    raise Refused(f"it holds a {str(item[0]).lower()}, which is not known here")


def _is_of(name: str, char: Char, ascii_only: bool) -> bool:
    *negated, word = name.removeprefix("CATEGORY_").split("_")
    if word not in CATEGORIES:
        raise Refused(f"it holds a {name.lower()}, which is not known here")
    known = char.kind in CATEGORIES[word] and not (
        ascii_only and (char.code > 127 or 28 <= char.code <= 31)
    )
    return known is not bool(negated)


def _alphabet(items: Any) -> list[Char]:
    """All of ASCII; beyond it the characters that the pattern names, and between two of these one
    of each kind.
    """
    edges = sorted({128, *(code for code in _edges(items) if code > 128)})
    found = [Char(code, _kind(chr(code))) for code in range(128)]
    for low, high in zip(edges, [*edges[1:], 0x110000], strict=True):
        alone = high - low == 1
        found += [
            Char(low, kind)
            for kind in ([_kind(chr(low))] if alone else ("word", "digit", "space", "other"))
        ]
    return found


def _edges(item: Any) -> Iterable[int]:
    """Where a named character or range begins, and where what comes after it does."""
    match item:
        case (kinds.LITERAL | kinds.NOT_LITERAL, code):
            yield from (code, code + 1)
        case (kinds.RANGE, (low, high)):
            yield from (low, high + 1)
        case list() | tuple() | parser.SubPattern():
            for inner in item:
                if isinstance(inner, list | tuple | parser.SubPattern):
                    yield from _edges(inner)


def _kind(char: str) -> str:
    if char.isspace():
        return "space"
    return "digit" if char.isdecimal() else "word" if char.isalnum() or char == "_" else "other"

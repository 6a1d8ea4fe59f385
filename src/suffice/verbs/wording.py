"""Wording: the few plain words that the sentences of all answers are made of, each true of the
question asked.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from suffice.errors import NotChecked
from suffice.model.text import Text, Word

SHOWN = 6  # words that were asked for, named one by one
CUT = 40  # words named that were cut off
ROOM = 80  # characters of words in a repr
LITTLE = "moves a little"  # said of a word to which no other word came near
SELECTORS = {chr(code) for code in range(0xFE00, 0xFE10)}  # how the sign before them is drawn
SOLVERS = {"milp": "HiGHS", "marabou": "Marabou"}
# which claims a certificate of each kind covers
COVERED = {
    "cheapest": ("enough", "cheapest"),
    "sufficient": ("enough",),
    "infeasible": ("infeasible",),
    "independent": ("enough",),
    "flip": ("flip",),
}


def quoted(words: Iterable[str]) -> str:
    """Words as a list that a person reads: 'a', 'b' and 'c'."""
    return joined(f"'{seen(word)}'" for word in words)


def seen(word: str) -> str:
    """A word by its name: one of signs that nobody sees (what joins emoji, say) by their code
    points.
    """
    return " ".join(f"U+{ord(char):04X}" for char in word) if all(map(_hidden, word)) else word


def _hidden(char: str) -> bool:
    return char in SELECTORS or unicodedata.category(char) in ("Cc", "Cf")


def cut_off(text: Text) -> str:
    """What of a text is longer than a classifier reads; nothing where all is read."""
    if not text.cut:
        return ""
    more = f" and {len(text.cut) - CUT} more words" if len(text.cut) > CUT else ""
    return f"Cut off, not seen at all: “{' '.join(text.cut[:CUT])}”{more}."


def listed(words: Sequence[Word]) -> str:
    return quoted(word.text for word in words)


def short(words: Sequence[Word]) -> str:
    """The words for a repr: one line, cut where it would be long."""
    names = repr([word.text for word in words])
    return names if len(names) <= ROOM else f"{names[:ROOM]}...]"


def named(text: Text, positions: Sequence[int]) -> str:
    """The words at some positions; with the position where the same word stands elsewhere too."""
    every = [word.text for word in text.words]
    chosen = [_shown(text, i) for i in positions]
    pairs = zip(positions, chosen, strict=True)
    places = (
        f" (position {i})" if every.count(name) > chosen.count(name) else "" for i, name in pairs
    )
    names = (f"'{seen(name)}'{place}" for name, place in zip(chosen, places, strict=True))
    return joined(dict.fromkeys(names))  # a word that is named in all its places is named once


def placed(text: Text, words: Iterable[Word]) -> str:
    """Words of a text as a list, each with its places where the same word stands more than once in
    the text.

    So a list has as many places as there are words: 'no' (positions 2 and 7).
    """
    every = [word.text for word in text.words]
    places = dict[str, list[int]]()
    for word in words:
        places.setdefault(word.text, []).append(word.position)
    return joined(
        f"'{seen(name)}'{_at(where) if every.count(name) > 1 else ''}"
        for name, where in places.items()
    )


def _at(places: Sequence[int]) -> str:
    return f" (position{'s' if len(places) > 1 else ''} {joined(map(str, places))})"


def joined(names: Iterable[str]) -> str:
    """Names as a list that a person reads: a, b and c."""
    *most, last = list(names) or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _shown(text: Text, position: int) -> str:
    return text.words[position].text if position < len(text.words) else f"padding {position}"


def fitting(text: Text, meta: Mapping[str, Any]) -> str:
    """What was asked of a set, to follow "nothing cheaper": nothing at all where
    nothing was asked.
    """
    include = meta.get("include", ())
    exclude = meta.get("exclude", ())
    holds = f"holds {_few(text, include, 'words asked for')}" if include else ""
    avoids = f"does without {_few(text, exclude, 'excluded words')}" if exclude else ""
    both = " and ".join(part for part in (holds, avoids) if part)
    return f" that {both}" if both else ""


def _few(text: Text, positions: Sequence[int], many: str) -> str:
    return named(text, positions) if len(positions) <= SHOWN else f"the {len(positions)} {many}"


def change_of(meta: Mapping[str, Any], which: str, count: float = math.inf) -> str:
    """The changes that are allowed: "allowed change of up to 2 of the others"; `count` is how many
    they are.
    """
    match meta.get("perturbation", {}).get("at_most"):
        case None:
            return f"allowed change of {which}"
        case limit if count <= limit:
            return f"allowed change of {which}"
        case 1:
            return f"allowed change of any one of {which}"
        case limit:
            return f"allowed change of up to {limit} of {which}"


def limited(meta: Mapping[str, Any], others: float) -> str:
    """Where it matters, how many of so many other words may change at once, at the end of what then
    holds.
    """
    match meta.get("perturbation", {}).get("at_most"):
        case None:
            return ""
        case limit if others <= limit:
            return ""
        case 1:
            return " while only one other word changes at a time"
        case limit:
            return f" while at most {limit} other words change at once"


def relied(meta: Mapping[str, Any]) -> bool:
    """Whether an answer rests on the word of a file of answers."""
    return bool(meta.get("asked", {}).get("file", {}).get("texts"))


def authority(meta: Mapping[str, Any], claim: str) -> str:
    """Who says so: "proved" only where the independent checker accepted a certificate that covers
    the claim.

    What rests on a file of answers rests on whoever wrote it, and is not proved.
    """
    if relied(meta):
        filed = meta["asked"]["file"]
        count = filed["texts"]
        return (
            f"according to the file of answers {filed['name']!r}, for {count} "
            f"{'text' if count == 1 else 'texts'}; "
            f"{filed['again']} others of it, drawn at random, were asked again"
        )
    if meta.get("checked") is True and claim in COVERED.get(meta.get("proved", ""), ()):
        return "proved"
    if "computed" in meta:
        return "according to the bound on its worst case, not checked"
    if "asked" in meta:
        return "according to the texts that were run, not checked"
    solver = SOLVERS.get(meta.get("oracle", ""))
    method = meta.get("method", "search")
    if solver is not None:
        return f"according to {solver}, not checked"
    if method != "search":
        return f"according to the method {method}, not checked"
    return "according to the search, not checked"


def becoming(others: Sequence[str]) -> str:
    """What could happen to a word, given what may stand in its place: "become 'he' or
    be removed".
    """
    words = [f"'{seen(word)}'" for word in others if word]
    more = [f"{len(words) - SHOWN} more"] if len(words) > SHOWN else []
    *most, last = [*words[:SHOWN], *more] or [""]
    become = [f"become {', '.join(most)}{' or ' if most else ''}{last}"] if words else []
    return " or ".join([*become, *(["be removed"] if "" in others else [])])


def turned_into(own: str, word: str, real: bool, blanked: bool = False) -> str:
    """What became of a word, to follow its name; where it moved, no word but its own
    may be nearer.
    """
    if not word:
        return "is blanked" if blanked else "is removed"
    if not real and word in (own, own.lower()):
        return LITTLE
    return f"becomes '{seen(word)}'" if real else f"moves towards '{seen(word)}'"


def together(moves: Iterable[tuple[str, str]]) -> str:
    """What becomes of words, given as names and deeds; where several move a little, that is said
    once, at the end.
    """
    pairs = list(moves)
    little = [name for name, deed in pairs if deed == LITTLE]
    if len(little) < 2:
        return ", ".join(f"{name} {deed}" for name, deed in pairs)
    others = ", ".join(f"{name} {deed}" for name, deed in pairs if deed != LITTLE)
    return f"{others}{'; ' if others else ''}{joined(little)} move a little"


def ends(label: str, margin: float) -> str:
    """What a change leads to, said of the winner or of the rival that catches up; a tie is no other
    label.
    """
    return label if margin < 0 else f"a tie with {label}"


def deed_of(before: str, after: str, tie: bool) -> str:
    """What a change does to the label; a tie counts against it, but turns it into no other."""
    return f"lets {after!r} reach {before!r} (a tie)" if tie else f"turns {before!r} into {after!r}"


def can(before: str, after: str, tie: bool, still: str = "") -> str:
    """The same of what a change could do."""
    return (
        f"{after!r} can {still}reach {before!r} (a tie)"
        if tie
        else f"the label can {still}become {after!r}"
    )


def empty(reason: str, label: str) -> str:
    """What is said where nothing that matters may change: why, and that the label stays (which need
    not follow).
    """
    return f"Nothing to prove: {reason}, and the label {label!r} stays."


def complaint(error: Exception) -> dict[str, str]:
    """What became of a certificate that was not accepted, for `meta`, and the reason that this is
    for an answer.
    """
    if isinstance(error, NotChecked):
        return {
            "unchecked": str(error),
            "reason": f"there was no time left to check the certificate: {error}",
        }
    return {
        "rejected": str(error),
        "reason": f"the checker did not accept the certificate: {error}",
    }

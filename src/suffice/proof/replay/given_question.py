"""The question of a certificate about a black box, written out by the checker itself, and what a
person wants of it.

Method: texts run again (theory, sections 12 and 13).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from suffice.errors import InputError, Rejected
from suffice.model.blackbox import BlackBox
from suffice.model.text import Text, gap, written
from suffice.proof.replay.limits import OPTIONS, WORDS


def need(condition: Any, reason: str) -> None:
    if not condition:
        raise Rejected(0, reason)


@dataclass(frozen=True, eq=False)
class Wanted:
    """The question that a person has, and how to check; None where nothing is said about a part."""

    text: str | Sequence[str] | Text | None = None
    perturbation: Any = None
    cost: Mapping[str, float] | Callable[[str], float] | None = None
    include: Sequence[str | int] | None = None
    exclude: Sequence[str | int] | None = None
    seconds: float = math.inf
    sample: int | None = None
    anew: bool = True  # False: what the black box has answered before counts as run
    more: Mapping[str, Any] | None = None  # what only a whole question says


def compare(head: Mapping[str, Any], text: Text, wanted: Wanted, blackbox: BlackBox) -> None:
    """Rejected, with the part that differs, unless all that was given is what the certificate is
    about.
    """
    claim = head["claim"]
    if wanted.text is not None:
        mine = blackbox.read(wanted.text)
        same = (mine.source, mine.words) == (text.source, text.words)
        need(same, f"it is about another text: {text.source[:200]!r}")
    if wanted.perturbation is not None:
        chosen = wanted.perturbation
        narrow = chosen.narrowed(blackbox, text) if hasattr(chosen, "narrowed") else chosen
        data = narrow if isinstance(narrow, Mapping) else narrow.to_dict()
        same = json.loads(json.dumps(dict(data))) == dict(head["perturbation"])
        need(same, f"it is about another perturbation set: {str(head['perturbation'])[:200]}")
    if wanted.cost is not None and "costs" in claim:
        for token, units in zip(text.tokens, claim["costs"], strict=True):
            found = units * Fraction(claim["unit"])
            need(
                _price_of(wanted.cost, token) == found,
                f"it is about other costs: there, {token!r} costs {found}",
            )
    if wanted.more is not None and claim.get("kind") == "flip":
        found = claim.get("towards")
        need(
            found == wanted.more.get("towards"),
            f"it is about another label to turn to: there, {found!r}",
        )
    for name, given in (("include", wanted.include), ("exclude", wanted.exclude)):
        if given is not None:
            kept = "of" if (name, claim.get("kind")) == ("exclude", "independent") else name
            found = claim.get(kept, [])
            need(
                list(text.positions(given)) == found,
                f"it is about other words to {name}: there, {found}",
            )


def _price_of(cost: Mapping[str, float] | Callable[[str], float], token: str) -> Fraction:
    value = cost(token) if callable(cost) else cost.get(token, cost.get(token.lower(), 1))
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


# --- the question, written out by the checker itself ---


def text_of(source: Any, words: Any) -> Text:
    """The text with its words, which must be those that are read in it, or a list
    joined by spaces.
    """
    right = (
        type(source) is str
        and type(words) is list
        and all(type(end) is int for word in words for end in word)
    )
    need(right, "the text must be a string, with the two ends of each word")
    need(len(words) <= WORDS, f"the text has more than {WORDS} words")
    try:
        text = written(source)
        if [[word.start, word.end] for word in text.words] == words:
            return text
        listed = written([source[start:end] for start, end in words])
    except InputError as error:
        raise Rejected(0, f"the text cannot be read: {error}") from None
    same = listed.source == source and [[word.start, word.end] for word in listed.words] == words
    need(same, "the words are not those of the text")
    return listed


def options_of(data: Any, tokens: Sequence[str], mask: str) -> list[tuple[str, ...]]:
    """What each word may become, without the word itself."""
    fields = set(data) - {"kind", "at_most"}
    words = dict.fromkeys(tokens)
    match data["kind"]:
        case "deletion":
            wanted = set()
            found = dict.fromkeys(words, ("",))
        case "mask":
            wanted = {"token"}
            found = dict.fromkeys(words, (data["token"] or mask,))
        case "word-swap" | "removal-or-swap" as kind:
            gone = ("",) if kind == "removal-or-swap" else ()
            swaps = {word: _listed(others) for word, others in data["swaps"].items()}
            wanted = {"swaps"}
            found = {word: (*gone, *swaps.get(word, ())) for word in words}
        case _:
            raise Rejected(0, "the set is none of words")
    need(fields == wanted, "the set has other fields")
    need(all(type(new) is str for some in found.values() for new in some), "a mask must be a word")
    count = sum(len(found[token]) for token in tokens)
    need(count <= OPTIONS, f"the words may become {count} others in all, more than {OPTIONS}")
    options = {
        word: tuple(dict.fromkeys(new for new in some if new != word))
        for word, some in found.items()
    }
    return [options[token] for token in tokens]


def _listed(words: Any) -> list[Any]:
    need(type(words) is list and {*map(type, words)} <= {str}, "substitutes must be listed words")
    return list(words)


def all_texts(
    text: Text, options: Sequence[Sequence[str]], free: Sequence[int], limit: int
) -> Iterator[str]:
    """Every text that changes no more than `limit` of the free words, written word by word:
    beginnings are shared.
    """
    pieces, tail = _pieces(text, frozenset(free)), text.source[text.words[-1].end :]
    # the next piece, what is written so far, its last piece, the gaps since, and how many words are
    # changed
    queue: list[Iterator[tuple[int, str, str, tuple[str, ...], int]]] = [iter([(0, "", "", (), 0)])]

    def after(place: int, begun: str, before: str, gaps: tuple[str, ...], changed: int) -> Any:
        """The ways to go on, one by one: there may be many, and each holds all that is written so
        far.
        """
        space, piece, word = pieces[place]
        gaps = (*gaps, space)
        for new in options[word] if word >= 0 and changed < limit else ():
            if new:
                yield place + 1, begun + gap(gaps, before, new) + new, new, (), changed + 1
            else:
                yield place + 1, begun, before, gaps, changed + 1
        yield place + 1, begun + gap(gaps, before, piece) + piece, piece, (), changed

    while queue:
        state = next(queue[-1], None)
        if state is None:
            queue.pop()
        elif state[0] == len(pieces):
            yield state[1] + tail if state[2] else ""
        else:
            queue.append(after(*state))


def _pieces(text: Text, free: frozenset[int]) -> list[tuple[str, str, int]]:
    """The gap before each piece, the piece, and the word that it is; words in a row that stay are
    one piece, of -1.
    """
    found: list[tuple[str, str, int]] = []
    last = 0
    for word in text.words:
        space = text.source[last : word.start]
        last = word.end
        if word.position in free:
            found.append((space, word.text, word.position))
        elif found and found[-1][2] < 0:
            before, piece, _ = found.pop()
            found.append((before, piece + space + word.text, -1))
        else:
            found.append((space, word.text, -1))
    return found


def cheaper_texts(
    options: Sequence[Sequence[str]],
    free: Sequence[int],
    costs: Sequence[int],
    limit: int,
    below: int,
) -> Iterator[dict[int, str]]:
    """Every change of words that cost less than `below` in all, one after the other."""

    def after(
        start: int, change: dict[int, str], cost: int
    ) -> Iterator[tuple[int, dict[int, str], int]]:
        """The next word, what is changed, its cost: one by one, as there may be many."""
        for place in range(start, len(free)) if len(change) < limit else ():
            word = free[place]
            if cost + costs[word] < below:
                for new in options[word]:
                    yield place + 1, {**change, word: new}, cost + costs[word]

    queue = [after(0, {}, 0)]
    while queue:
        state = next(queue[-1], None)
        if state is None:
            queue.pop()
        else:
            yield state[1]
            queue.append(after(*state))


def count_of(options: Sequence[Sequence[str]], free: Sequence[int], limit: int) -> int:
    """How many texts change no more than so many of the free words."""
    if limit >= len(free):
        return math.prod(len(options[word]) + 1 for word in free)
    ways = [1] + [0] * limit  # by the number of changes
    for word in free:
        more = [0, *(way * len(options[word]) for way in ways[:-1])]
        ways = [a + b for a, b in zip(ways, more, strict=True)]
    return sum(ways)


def whole(value: Any) -> int:
    need(type(value) is int and value >= 0, "costs and bounds are whole numbers")
    return int(value)


def cost_of(mask: int, costs: Sequence[int]) -> int:
    return sum(cost for i, cost in enumerate(costs) if mask >> i & 1)


def mask_of(places: Sequence[int]) -> int:
    return sum(1 << i for i in places)


def positions_in(places: Any, count: int, what: str) -> list[int]:
    right = type(places) is list and all(type(i) is int and 0 <= i < count for i in places)
    need(
        right and places == sorted(set(places)),
        f"{what} must be a list of positions, sorted, each once",
    )
    return list(places)

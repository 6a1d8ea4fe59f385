"""Phrases: the plain words that the terminal and the page share."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from suffice.explanation import Explanation
from suffice.text import Text

Role: TypeAlias = Literal["needed", "free", "cut", "between"]


class Piece(NamedTuple):
    """A stretch of the original string: a needed word, a free one, a word cut off, or what is between words."""

    text: str
    role: Role
    position: int | None = None
    unknown: bool = False


def pieces(text: Text, needed: tuple[int, ...]) -> Iterator[Piece]:
    """The original string cut at its words, every character once and in order."""
    last, held, strange = 0, set(needed), set(text.unknown)
    for word in text.words:
        yield Piece(visible(text.source[last : word.start]), "between")
        role: Role = "needed" if word.position in held else "free"
        yield Piece(visible(word.text), role, word.position, word.position in strange)
        last = word.end
    yield Piece(visible(text.source[last:]), "cut" if text.cut else "between")


def visible(source: str) -> str:
    """The string with control and bidi-control characters made visible, so that a text cannot play tricks."""
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cf") and c not in "\n\t\u200d" else c for c in source)


def allowed(perturbation: Mapping[str, Any]) -> str:
    """What a free word may become, in one sentence."""
    match dict(perturbation):
        case {"kind": "knn-box", "k": k}:
            return f"A free word may move anywhere in the smallest box around its embedding and its {k} nearest words."
        case {"kind": "knn-hull", "k": k}:
            return f"A free word may become any mixture of itself and its {k} nearest words."
        case {"kind": "epsilon-ball", "eps": eps, "p": p}:
            return f"A free word's embedding may move by at most {eps:g} in the {p}-norm."
        case {"kind": "word-swap", "swaps": swaps}:
            return f"A free word may be swapped for one of its listed substitutes ({len(swaps)} words have some)."
        case {"kind": "deletion"}:
            return "A free word may be deleted (padding in its place)."
        case {"kind": "boxes"}:
            return "A free word may move anywhere in the box given for its position."
        case _:
            return f"A free word may change as {dict(perturbation)} says."


def evidence(result: Explanation) -> str:
    """What stands behind the answer, in one sentence."""
    if "rejected" in result.meta:
        return f"The certificate was REJECTED by the checker ({result.meta['rejected']}), so nothing is claimed."
    if result.certificate is None:
        return "There is no certificate for this answer."
    size = len(result.certificate.data) / 1000
    checked = "accepted by the independent checker" if result.meta.get("checked") else "not checked yet"
    return f"Certificate: {len(result.certificate.lines)} lines, {size:.1f} KB, {checked}."


def notes(text: Text) -> list[str]:
    """What the user should know about how the classifier saw the text."""
    found = []
    if text.unknown:
        words = ", ".join(visible(text.words[i].text) for i in text.unknown)
        found.append(f"Not in the vocabulary, seen as unknown: {words}.")
    if text.cut:
        found.append(f"Cut off, not seen at all: {visible(' '.join(text.cut))}.")
    return found

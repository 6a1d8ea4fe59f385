"""Streams: vectorizers of characters, of words between spaces, of several words in a row, and
several vectorizers.

What such a vectorizer counts does not belong to single words: runs of symbols reach over their
edges. What one more piece of a text adds depends on the end of what was read before it, and on the
space between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["word", "split", "char", "char_wb"]


@dataclass(frozen=True, eq=False)
class Stream:
    """One vectorizer. Its features are runs of tokens, of characters, or of characters of one word
    and its edges.
    """

    kind: Kind
    orders: tuple[int, int]  # the shortest and longest run
    prepare: Callable[[str], str]  # small letters, accents: character by character
    tokens: Callable[[str], Sequence[str]]  # of a piece, stop words gone ("word" alone)
    # whether a character ends every token on both of its sides ("word" alone)
    separates: Callable[[str], bool]
    stop: frozenset[str]  # tokens that are left out ("split" alone)
    analyze: Callable[[str], Sequence[str]]  # a whole text, by the program itself
    # a feature's place among all streams' features, and its sign
    column: Callable[[str], tuple[int, float] | None]
    begins: Callable[[str], bool]  # whether a known feature may go on after this


def named(stream: int, feature: str) -> str:
    """A feature of one of several streams as a token of a bag."""
    return f"{stream}:{feature}"

"""Splicing: the token ids of very many texts of the same words, put together word by word where
that is the same.

A tokenizer that cuts at spaces and looks at nothing beyond them gives a word the same ids in every
text; it may have others at the start than behind a space. Which tokenizers do so is known by name,
from their own description. And whenever a word is new, the text that it comes in is tokenised as a
whole and compared: where that differs, nothing is put together from then on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

LOCAL = (
    "BertNormalizer",
    "Lowercase",
    "StripAccents",
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
)  # of characters, not of words
CUTTING = ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")  # and some others, see below
IDS = "input_ids"


class Splicer:
    """A tokenizer for many texts: calling it gives what the tokenizer gives, a list of rows by
    name.
    """

    def __init__(self, tokenizer: Any, limit: int | None) -> None:
        self.tokenizer = tokenizer
        self.limit = limit
        self.cut = {} if limit is None else {"truncation": True, "max_length": limit}
        self.before: list[int] = []  # tokens that stand before and behind every text
        self.behind: list[int] = []
        self.fill: dict[str, int] = {}  # what every token has by the other names
        self.known: dict[str, list[int]] = {}  # pieces, the space before them included
        self.local = cuts_at_spaces(tokenizer) and self._framed()

    def __call__(self, texts: Sequence[str]) -> dict[str, list[list[int]]]:
        rows = [self._spliced(text) for text in texts] if self.local else []
        left = [i for i, row in enumerate(rows) if row is None]
        whole = self.tokenizer([texts[i] for i in left], **self.cut)[IDS] if left else []
        for i, row in zip(left, whole, strict=True):
            rows[i] = row
            self._learn(texts[i], row)
        if not self.local:
            return _plain(self.tokenizer(list(texts), **self.cut))
        found = [row for row in rows if row is not None]
        return {IDS: found} | {
            name: [[value] * len(row) for row in found] for name, value in self.fill.items()
        }

    def _framed(self) -> bool:
        """Finds what stands around every text, and what the other names say of it; False where that
        may vary.
        """
        row = _plain(self.tokenizer(["a"]))
        bare = self.tokenizer(["a"], add_special_tokens=False)[IDS][0]
        ids = row.pop(IDS)[0]
        start = next((i for i in range(len(ids)) if bare and ids[i : i + len(bare)] == bare), None)
        if start is None or any(len(set(values[0])) != 1 for values in row.values()):
            return False
        self.before = ids[:start]
        self.behind = ids[start + len(bare) :]
        self.fill = {name: values[0][0] for name, values in row.items()}
        return True

    def _spliced(self, text: str) -> list[int] | None:
        """The ids from those of the pieces; None where one is not known, or the text
        must be cut.
        """
        row = self.before.copy()
        for piece in pieces(text):
            ids = self.known.get(piece)
            if ids is None:
                return None
            row += ids
        row += self.behind
        return row if self.limit is None or len(row) <= self.limit else None

    def _learn(self, text: str, row: Sequence[int]) -> None:
        """Keep the ids of new pieces, if the text is then put together as the tokenizer has it."""
        new = [piece for piece in dict.fromkeys(pieces(text)) if piece not in self.known]
        if not all(piece.split() == [piece.removeprefix(" ")] for piece in new):
            return  # other spaces than single blanks: such texts are tokenised as a whole
        for piece in new:
            self.known[piece] = self.tokenizer([piece], add_special_tokens=False)[IDS][0]
        spliced = self._spliced(text)
        self.local = self.local and (spliced is None or spliced == list(row))


def pieces(text: str) -> list[str]:
    """The text cut before every blank."""
    first, *rest = text.split(" ")
    return [first, *(" " + word for word in rest)]


def _plain(coded: Mapping[str, Any]) -> dict[str, list[list[int]]]:
    return {name: coded[name] for name in coded if name != "overflow_to_sample_mapping"}


def cuts_at_spaces(tokenizer: Any) -> bool:
    """Whether a tokenizer says of itself that it cuts at blanks and that no part of it looks across
    them.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return False
    data = json.loads(backend.to_str())
    # the later ones see single words
    first = next(_parts(data["pre_tokenizer"], "pretokenizers"), None)
    return (
        all(part["type"] in LOCAL for part in _parts(data["normalizer"], "normalizers"))
        and first is not None
        and _cutting(first)
        and not data["model"].get("dropout")  # pieces by chance
        and not any(token["rstrip"] or " " in token["content"] for token in data["added_tokens"])
    )


def _parts(data: Any, name: str) -> Iterator[Mapping[str, Any]]:
    """A step, or the steps of a sequence."""
    if data is None:
        return
    if data["type"] == "Sequence":
        for part in data[name]:
            yield from _parts(part, name)
    else:
        yield data


def _cutting(part: Mapping[str, Any]) -> bool:
    if part["type"] == "ByteLevel":
        return bool(part.get("use_regex", True))
    if part["type"] == "Metaspace":
        return bool(part.get("split", True))
    return part["type"] in CUTTING

"""How a model reads words: what it makes of a string, and which words count only once."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from .model import Model


def reads_by(head: Any) -> str:
    return str(head["tokenizer"]["kind"] if type(head["tokenizer"]) is dict else head["tokenizer"])


def special(model: Model) -> set[int]:
    return {model.place(model.head["pad"]), model.place(model.head["unknown"])}


def counts_once(model: Model) -> bool:
    return type(model.head["tokenizer"]) is dict and bool(model.head["tokenizer"].get("once"))


def pieces(model: Model, source: str) -> list[str] | None:
    """What the model's reader makes of a string; None where it is not one of those described in the format."""
    how = model.head["tokenizer"]
    if how == "words":
        return [m.group().lower() for m in re.finditer(r"\w+(?:['’\-]\w+)*|[^\w\s]", source)]
    if how["kind"] != "pattern":
        return None
    plain = source.lower() if how["lowercase"] else source
    if how["accents"] != "keep":
        plain = unicodedata.normalize("NFKD", plain)
        plain = "".join(
            c for c in plain if (c.isascii() if how["accents"] == "ascii" else not unicodedata.combining(c))
        )
    pattern = re.compile(how["pattern"])
    found = (match.group(pattern.groups) for match in pattern.finditer(plain))
    return [word for word in found if word and word not in how["skip"]]


def as_read(model: Model, tokens: list[str]) -> bool:
    """Whether the model reads each word alone as that word, and no word twice where words count once."""
    real = [token for token in tokens if token not in (model.head["pad"], model.head["unknown"])]
    for token in {*real}:
        made = pieces(model, token)
        if made is not None and made != [token] and (len(made) == 1 or token not in model.lookup):
            return False
    return not counts_once(model) or len(real) == len({*real})

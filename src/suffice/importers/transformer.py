"""Transformer: what transformers share however they are run: texts of equal length together, tokenizers as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

BATCH = 64
UNLIMITED = 10**6  # tokenizers without a limit name a huge number


def alike(lengths: Sequence[int]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        groups.setdefault(length, []).append(place)
    return [group[i : i + BATCH] for group in groups.values() for i in range(0, len(group), BATCH)]


def splitting(splitter: Any) -> str:
    """The tokenizer as text, without what calling it changes."""
    backend = getattr(splitter, "backend_tokenizer", None)
    if backend is None:
        ways = {name: way for name, way in getattr(splitter, "init_kwargs", {}).items() if isinstance(way, bool)}
        return json.dumps([type(splitter).__name__, sorted(splitter.get_vocab().items()), sorted(ways.items())])
    data = json.loads(backend.to_str())
    return json.dumps({key: data[key] for key in data if key not in ("truncation", "padding")}, sort_keys=True)

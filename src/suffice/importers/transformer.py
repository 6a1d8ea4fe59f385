"""Transformer: what transformers share however they are run: texts of equal length together,
tokenizers as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from suffice.errors import ModelError

BATCH = 64
UNLIMITED = 10**6  # tokenizers without a limit name a huge number


def alike(lengths: Sequence[int]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        groups.setdefault(length, []).append(place)
    return [group[i : i + BATCH] for group in groups.values() for i in range(0, len(group), BATCH)]


@contextmanager
def no_panic() -> Iterator[None]:
    """What packages written in Rust raise where they panic is no Exception; here it is one."""
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ModelError(f"the tokenizer fails: {' '.join(str(error).split())[:200]}") from error


def splitting(splitter: Any) -> str:
    """The tokenizer as text, without what calling it changes."""
    backend = getattr(splitter, "backend_tokenizer", None)
    if backend is None:
        ways = {
            name: way
            for name, way in getattr(splitter, "init_kwargs", {}).items()
            if isinstance(way, bool)
        }
        return json.dumps(
            [type(splitter).__name__, sorted(splitter.get_vocab().items()), sorted(ways.items())]
        )
    data = json.loads(backend.to_str())
    return json.dumps(
        {key: data[key] for key in data if key not in ("truncation", "padding")}, sort_keys=True
    )

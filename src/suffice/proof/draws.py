"""Draws: texts drawn uniformly from the allowed ones; search and checker draw the same from what a
certificate says.

Method: uniform sampling for what is only tested (theory, section 12).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Options = Sequence[Sequence[str]]


def draw_seed(model: str, text: str, perturbation: Any, held: Sequence[int], look: int) -> int:
    """Whoever knows the question, the set and the number of the look draws the same texts."""
    key = json.dumps(
        [model, text, perturbation, list(held), look], sort_keys=True, ensure_ascii=False
    )
    return int(hashlib.sha256(key.encode()).hexdigest()[:16], 16)


def draws(
    options: Options, free: Sequence[int], limit: int, count: int, seed: int
) -> Iterator[dict[int, str]]:
    """Changes drawn uniformly from all allowed ones of the free words, no change at all
    among them.
    """
    rng = np.random.default_rng(seed)
    if limit >= len(free):
        yield from _each_alone(options, free, count, rng)
        return
    ways = [[1] * (limit + 1)]  # ways[k][j]: changes of the last k words, at most j of them
    for word in reversed(free):
        last = ways[-1]
        some = len(options[word])
        ways.append([last[j] + (some * last[j - 1] if j else 0) for j in range(limit + 1)])
    for _ in range(count):
        yield dict(_numbered(options, free, ways, limit, _number(ways[-1][limit], rng)))


def _each_alone(
    options: Options, free: Sequence[int], count: int, rng: np.random.Generator
) -> Iterator[dict[int, str]]:
    """Where nothing limits how many change, every word is drawn by itself."""
    choices = np.array([len(options[word]) + 1 for word in free])
    for _ in range(count):
        picks = zip(free, rng.integers(choices).tolist(), strict=True)
        yield {word: options[word][pick - 1] for word, pick in picks if pick}


def _numbered(
    options: Options, free: Sequence[int], ways: list[list[int]], limit: int, number: int
) -> Iterator[tuple[int, str]]:
    """The change of this number: one number for a whole change, as drawing them costs most of the
    time.
    """
    for place, word in enumerate(free):
        below = ways[len(free) - place - 1]
        if number >= below[limit]:
            choice, number = divmod(number - below[limit], below[limit - 1])
            limit -= 1
            yield word, options[word][choice]


def _number(below: int, rng: np.random.Generator) -> int:
    """A whole number below a limit of any size, uniformly."""
    size = below.bit_length()
    while True:
        number = int.from_bytes(rng.bytes((size + 7) // 8), "little") >> (-size % 8)
        if number < below:
            return number

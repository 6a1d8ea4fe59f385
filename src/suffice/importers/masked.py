"""Means over the words that are present: a network on s / n, exactly, though n depends on the text.

Let s be a sum over words and n > 0 a number that depends on how many words are counted. Then
n f(s / n) and f(s / n) have the same order of scores, and where f is made of affine maps, relus and
maxima n f(s / n) is the network f on s with its biases times n.

n comes from a coordinate of the embedding that is 1 for a word that is counted and 0 for another.
Which words are counted hangs on the words, not on their vectors: no set may move this coordinate
but by putting another word (Question.problem says so). It is a whole number then, and every
function of a whole number is made of straight pieces.

Where no word is counted, s is 0. Divided by a positive number it stays 0, whatever the number is.
0 / 0 is no number, and the original has no answer: all scores are 0 then, a tie, which counts
against every label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from suffice.errors import ModelError
from suffice.importers.values import Codes, Count, Entrance, Lookup, Quotient, Unavailable, Value
from suffice.model import graph
from suffice.model.graph import Block, Tensor
from suffice.model.network import Floats, Ints
from suffice.model.places import identity

NOTE = (
    "A mean over the words that are present: scores are those of the original times what it "
    "divides by."
)
EMPTY = "Where none is present the original divides by zero: here all scores are zero then, a tie."
MOST_BENDS = 64  # of what is divided by, as a function of the number of words
SAME = 1e-6  # of the largest: what single precision may be off by
CURVED = (
    "The mean over the words that are present is exact only with activations of straight "
    "pieces such as relu, "
    "and this network has smooth ones: ask it as a function (sf.from_function), or train "
    "without the mask."
)
BESIDE = (
    "a mean over the words that are present stands beside another look at the words, and only "
    "networks that see the "
    "words through one such mean are known here"
)
NOT_POSITIVE = "it divides by a number that is not above zero for some numbers of words"


# --- how many words there are ---


def counted(codes: Codes, kind: str, axes: Sequence[int] | None, keep: bool) -> Count:
    """The sum or mean of codes over positions, each seen once, where a code is 0 or one other
    number.
    """
    chosen = (
        range(len(codes.shape)) if axes is None else {int(axis) % len(codes.shape) for axis in axes}
    )
    kept = [axis for axis in range(len(codes.shape)) if axis not in chosen]
    lead = [codes.shape[axis] for axis in kept]
    groups = np.sort(
        codes.places.transpose(*kept, *sorted(chosen)).reshape(int(np.prod(lead)), -1), axis=1
    )
    values = np.asarray(codes.codes)
    present = values != 0
    unit = values[present][:1]
    if (
        isinstance(codes, Count)
        or kind not in ("sum", "mean")
        or not len(unit)
        or (values[present] != unit).any()
    ):
        raise ValueError("it is no count of words")
    if (groups != groups[0]).any() or (np.diff(groups[0]) < 1).any():
        raise ValueError("it counts words at some places more than once")
    most = groups.shape[1]
    numbers = np.arange(most + 1) * (unit[0] if values.dtype.kind != "b" else 1)
    numbers = numbers.astype(values.dtype) if values.dtype.kind in "iu" else numbers
    shape = [
        1 if i in chosen else size for i, size in enumerate(codes.shape) if keep or i not in chosen
    ]
    found = numbers if kind == "sum" else numbers / most
    return Count(np.zeros(shape, dtype=np.int64), found, groups[0], present)


def as_number(count: Count, entrance: Entrance) -> Tensor | Unavailable:
    """The number as a tensor beside the embedded words: straight between any two
    numbers of words.
    """
    column = entrance.enter_codes(Codes(count.positions, count.counted))
    if isinstance(column, Unavailable):
        return column
    values = np.asarray(count.codes, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("it is not a number for some number of words")
    words = column.sum((0,), keepdims=True)
    slopes = np.diff(values)
    bends = np.diff(slopes)
    places = 1 + np.flatnonzero(np.abs(bends) > SAME * np.abs(values).max())
    if len(places) > MOST_BENDS:
        raise ValueError(
            f"it bends at {len(places)} numbers of words, and at most {MOST_BENDS} are known here"
        )
    found = words.scale(slopes[0]).shift(values[0])
    for place in places:
        found = graph.add(found, words.shift(-float(place)).relu().scale(bends[place - 1]))
    return found.pick(count.places)


# --- dividing ---


def quotient(value: Value, by: Count, entrance: Entrance) -> Value:
    """A value divided by a count that depends on the text."""
    entered = entrance.enter_codes(Codes(by.positions, by.counted))
    if isinstance(value, Unavailable):
        return value
    if isinstance(value, Codes):
        value = replace(value, codes=np.asarray(value.codes, dtype=np.float64))
    if isinstance(entered, Unavailable):  # too early to look at tables
        return Quotient(value, by)
    if isinstance(value, Tensor) and (value.offset.any() or value.round):
        value = _held(value, entrance)
    return Quotient(value, replace(by, codes=_divisors(by, _is_zero_without(value, by, entrance))))


def _divisors(by: Count, zero: bool) -> Floats:
    """What is divided by for each number of words; for none any positive number, or 0 for no
    answer.
    """
    found = np.array(by.codes, dtype=np.float64)
    whole = np.arange(len(found), dtype=np.float64)
    if np.allclose(found[1:], whole[1:], rtol=SAME, atol=0):
        found[1:] = whole[1:]  # but for a hair, such as 1e-8 added
    if not (np.isfinite(found[1:]).all() and (found[1:] > 0).all()):
        raise ValueError(NOT_POSITIVE)
    if zero and (found[0] == 0 or np.isnan(found[0])):
        found[0] = 0.0
    elif zero and not found[1] / 1000 <= found[0] < np.inf:  # tiny, endless, or below zero
        found[0] = found[1]
    if not zero and not 0 < found[0] < np.inf:
        raise ValueError(
            "it divides by the number of words that are present, and where there are none "
            "what padding adds is divided "
            "by zero: take at least 1, as clamp(min=1) does, or set the row of the padding to zero"
        )
    return found


def _is_zero_without(value: Value, by: Count, entrance: Entrance) -> bool:
    """Whether a value is certainly 0 in a text of which no word is counted."""
    absent = ~by.counted
    match value:
        case Codes(places, codes):
            return bool(np.isin(places, by.positions).all() and not codes[absent].any())
        case Lookup():
            return bool(np.isin(value.places, by.positions).all() and not value.table[absent].any())
        case Tensor() if not value.offset.any() and not value.round:
            assert entrance.start is not None
            seen = sum(np.abs(matrix).sum(0) for _, matrix in value.parts)
            used = np.asarray(seen).reshape(entrance.start.shape) > 0
            elsewhere = np.delete(used, by.positions, axis=0).any()
            return not (elsewhere or np.hstack(entrance.tables)[absent][:, used.any(0)].any())
        case _:
            return False


def _held(value: Tensor, entrance: Entrance) -> Tensor:
    """The same numbers as units, so that their own biases are told from those that come later."""
    block = Block(value.size, value, np.zeros(value.size, dtype=bool))
    entrance.held.add(block)
    return Tensor(((block, identity(value.size)),), np.zeros(value.size), value.shape)


def times(scores: Tensor, factor: Tensor, held: set[Block]) -> Tensor:
    """factor * f(s / factor), for scores f(s) of straight pieces; s is the input, or what blocks in
    `held` give.
    """
    new: dict[Block, Block] = {}

    def scaled(tensor: Tensor) -> Tensor:
        parts = tuple((new[block], matrix) for block, matrix in tensor.parts)
        plain = Tensor(parts, np.zeros(tensor.size), tensor.shape)
        if not tensor.offset.any():
            return plain
        biases = (
            factor.reshape(()).broadcast(tensor.shape).scale(tensor.offset.reshape(tensor.shape))
        )
        return graph.add(plain, biases)

    for block in _blocks(scores, held):
        if block.before is None or block in held:
            new[block] = block
        elif block.curve:
            raise ModelError(CURVED)
        else:
            new[block] = Block(block.size, scaled(block.before), block.relu, "", block.width)
    return scaled(scores)


def _blocks(scores: Tensor, held: set[Block]) -> list[Block]:
    """All blocks that the scores are made of since the division, each after those that it needs."""
    found: dict[Block, None] = {}
    waiting = [block for block, _ in scores.parts]
    while waiting:
        block = waiting.pop()
        if block not in found:
            found[block] = None
            if block.before is not None and block not in held:
                waiting += [need for need, _ in block.before.parts]
    return sorted(found, key=lambda block: block.round)


def divisors(by: Count, rows: Ints) -> Floats:
    """By what the scores of index rows (n, length) are larger than the original's; 0 where it has
    no answer.
    """
    there = by.counted[rows[:, by.positions]].sum(1)
    return np.asarray(by.codes[there], dtype=np.float64)

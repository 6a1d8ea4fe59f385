"""Tilts: lines above relus of the first step that rise at another rate with every word, or every number, of the input.

relu(w·x + b) <= a·x + c for any row a, if c is the largest value that relu(w·x + b) - a·x has over the input set. A
relu is the larger of two linear forms, so c is the larger of two largest values, which every set knows. The chord has
a = slope·w. Here every part of the input (a number, or a word) has a share of its own, a = share·w, and the line above
can be right at many corners of the set where the chord is far off. Shares are chosen by the proof, like slopes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from suffice.model.network import Floats, Ints, Step
from suffice.prove.inputs import Free, Freed, Restored, falls
from suffice.sets.regions import Ball, Box, Choice, Region

MOST = 80_000  # shares that a proof chooses for one subproblem
PACE = 0.2  # of shares, at most, in one step of ascent
FINE = 256  # shares are whole multiples of this part of one: certificates stay short


class Range(Protocol):
    """What the parts of the input can add to some units, over a batch of input sets."""

    def top(self, share: Floats) -> tuple[Floats, Floats]:
        """The constants c (n, m), and what each part adds (n, m, k) at the input where they are attained."""

    @property
    def width(self) -> Floats:
        """How far each part moves each unit (n, m, k)."""


@dataclass(frozen=True, eq=False)
class Tilts:
    """The units (m,) of the first step that may switch, and the words (w,) that move.

    Parts of the input are these words, or their numbers one by one (`per`).
    """

    step: Step
    units: Ints
    region: Region
    words: Ints
    per: str

    @staticmethod
    def of(step: Step, units: Ints, inputs: Free | Freed | Restored, region: Region) -> Tilts | None:
        """None where lines above cannot be tilted: with words to choose or to pay for, or too many of them."""
        units = units[step.relu[units]]
        if not len(units) or isinstance(inputs, Freed) or (isinstance(inputs, Free) and isinstance(region, Choice)):
            return None
        length, dimension = region.center.shape
        words = np.flatnonzero(inputs.free.any(0)) if isinstance(inputs, Free) else np.arange(length)
        numbers = isinstance(inputs, Free) and isinstance(region, Box | Ball) and _square(region)
        per = "number" if numbers and len(units) * len(words) * dimension <= MOST else "word"
        return Tilts(step, units, region, words, per) if 0 < len(units) * len(words) <= MOST else None

    @property
    def size(self) -> int:
        """How many shares there are."""
        return len(self.units) * self._parts

    @property
    def _parts(self) -> int:
        return len(self.words) * (1 if self.per == "word" else self.region.center.shape[1])

    @cached_property
    def _dense(self) -> Floats:
        """The weights (m, length, d), worked out once they are needed: easy questions need none."""
        weight = self.step.weight[self.units]
        dense = weight if isinstance(weight, np.ndarray) else weight.toarray()
        return np.asarray(dense).reshape(-1, *self.region.center.shape)

    @cached_property
    def rows(self) -> Floats:
        """The weights by word that moves: (w, m, d)."""
        return np.ascontiguousarray(self._dense[:, self.words].transpose(1, 0, 2))

    @cached_property
    def bias(self) -> Floats:
        """With what the other words add, which stay as they are."""
        still = np.setdiff1d(np.arange(len(self.region.center)), self.words)
        added = np.einsum("mwd,wd->m", self._dense[:, still], self.region.center[still])
        return np.asarray(self.step.bias[self.units] + added)

    @cached_property
    def _numbers(self) -> Floats:
        """The weights by number: (m, k)."""
        return np.ascontiguousarray(self.rows.transpose(1, 0, 2).reshape(len(self.units), -1))

    def chords(self, up: Floats) -> Floats:
        """The shares (n, m, k) of the chords, whose slopes are among those above all units (n, units)."""
        return np.repeat(rounded(up[:, self.units])[..., None], self._parts, axis=-1)

    def at(self, points: Floats) -> Floats:
        """What each part of points (n, length, dimension) adds to each unit: (n, m, k)."""
        moving = points[:, self.words]
        if self.per == "number":
            return np.asarray(self._numbers * moving.reshape(len(points), 1, -1))
        return np.ascontiguousarray(np.matmul(self.rows, moving.transpose(1, 2, 0)).transpose(2, 1, 0))

    def back(self, weights: Floats) -> Floats:
        """Weights (n, m, k) of what the parts add, as rows (n, inputs) over the input."""
        found = np.zeros((len(weights), *self.region.center.shape))
        if self.per == "number":
            rows = np.einsum("nmk,mk->nk", weights, self._numbers).reshape(len(weights), len(self.words), -1)
        else:
            rows = np.matmul(weights.transpose(2, 0, 1), self.rows).transpose(1, 0, 2)
        found[:, self.words] = rows
        return found.reshape(len(weights), -1)

    def range(self, inputs: Free | Freed | Restored) -> Range:
        if isinstance(inputs, Restored):
            return Returning(inputs, self.at(inputs.start), self.at(inputs.back), self.bias)
        assert isinstance(inputs, Free)
        own, (down, up) = self.at(self.region.center[None]), self._moves
        free = np.repeat(inputs.free[:, self.words], self._parts // len(self.words), axis=1)[:, None]
        return Moving(own + free * down, own + free * up, self.bias)

    @cached_property
    def _moves(self) -> tuple[Floats, Floats]:
        """How far each part alone can move each unit down and up: (m, k)."""
        if self.per == "word":
            rows = np.zeros((len(self.units), *self.region.center.shape))
            rows[:, self.words] = self.rows.transpose(1, 0, 2)
            return falls(self.region, rows)[:, self.words], -falls(self.region, -rows)[:, self.words]
        assert isinstance(self.region, Box | Ball)
        middle, radius = (side[self.words].ravel() for side in self.region.spread)
        moved, spread = self._numbers * middle, np.abs(self._numbers) * radius
        return moved - spread, moved + spread

    def written(self, share: Floats) -> Floats:
        """The shares (k,) of a unit as a proof writes them: of every word, or of every number of those that move."""
        if self.per == "number":
            return share
        found = np.zeros(len(self.region.center), dtype=share.dtype)
        found[self.words] = share
        return found


def _square(region: Box | Ball) -> bool:
    """Whether all numbers of a word move on their own."""
    return isinstance(region, Box) or region.p == np.inf


@dataclass(frozen=True, eq=False)
class Moving:
    """Parts that move independently: the least and the most that each adds (n, m, k)."""

    least: Floats
    most: Floats
    bias: Floats

    def top(self, share: Floats) -> tuple[Floats, Floats]:
        off = -np.einsum("nmk,nmk->nm", share, self.least)
        on = self.bias + self.most.sum(-1) - np.einsum("nmk,nmk->nm", share, self.most)
        return np.maximum(on, off), np.where((on >= off)[..., None], self.most, self.least)

    @property
    def width(self) -> Floats:
        return self.most - self.least


@dataclass(frozen=True, eq=False)
class Returning:
    """Words of an attacked text, as many as a budget pays for, go back: what each adds there, and what that changes."""

    inputs: Restored
    start: Floats
    back: Floats
    bias: Floats

    def top(self, share: Floats) -> tuple[Floats, Floats]:
        if_off, if_on = share * self.back, (share - 1) * self.back
        off = -(share * self.start).sum(-1) - self.inputs.least(if_off)
        on = self.bias + ((1 - share) * self.start).sum(-1) - self.inputs.least(if_on)
        gains = np.where((on >= off)[..., None], if_on, if_off)
        each = self.inputs.take(np.repeat(np.arange(len(gains)), gains.shape[1]))
        taken = each.bought(gains.reshape(-1, gains.shape[-1])).reshape(gains.shape)
        return np.maximum(on, off), self.start + taken * self.back

    @property
    def width(self) -> Floats:
        return np.abs(self.back)


@dataclass(frozen=True, eq=False)
class Tilted:
    """The tilted lines of a pass: the coefficients (n, m) that take them, constants, and where these are attained."""

    over: Floats
    top: Floats
    touched: Floats

    def take(self, index: Ints | slice) -> Tilted:
        return Tilted(self.over[index], self.top[index], self.touched[index])


class Drift:
    """Moves shares along their gradient: up where a part adds more where the line touches than at the minimiser.

    Measured by how far the part moves the unit at all, so that every share moves at the same pace.
    """

    def __init__(self, width: Floats, pace: float) -> None:
        self.scale = (1 / np.where(width > 0, width, np.inf)).astype(np.float32)
        self.pace = np.float32(pace)
        self.speed = np.zeros_like(self.scale)

    def step(self, share: Floats, tilted: Tilted, added: Floats) -> Floats:
        pull = (tilted.touched - added).astype(np.float32) * self.scale
        pull *= (tilted.over < 0)[..., None]
        self.speed = np.float32(0.8) * self.speed + np.float32(0.2) * pull
        self.pace *= np.float32(0.97)
        return rounded(np.clip(share + self.pace * self.speed, 0.0, 1.0))


def rounded(share: Floats) -> Floats:
    """Shares as certificates hold them."""
    return (np.rint(share * FINE) / FINE).astype(np.float32)

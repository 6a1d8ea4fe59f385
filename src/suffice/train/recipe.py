"""The recipe: all that decides the weights, apart from the data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from suffice.errors import InputError
from suffice.train import robust as robustly

# at least, where the recipe does not say how often to go over the data
EPOCHS = 10
STEPS = 2_500


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides the weights, apart from the data."""

    kind: str = "fc"
    length: int = 25
    dimension: int = 5
    hidden: tuple[int, ...] = (32, 16)
    filters: int = 8
    window: int = 2
    epochs: int | None = None  # by the number of rows
    seed: int = 0
    drop: float = 0.3
    noise: float = 0.3
    shift: bool = True
    words: int = 20_000
    robust: str = ""

    def __post_init__(self) -> None:
        robustly.parse(self.robust)  # refuses what it cannot read
        if self.kind not in ("fc", "cnn"):
            raise InputError(f"The kind {self.kind!r} is unknown: use fc or cnn.")
        counts = (
            self.length,
            self.dimension,
            self.filters,
            self.window,
            1 if self.epochs is None else self.epochs,
            self.words,
            *self.hidden,
        )
        if min(counts) < 1:
            raise InputError(
                "Length, dimension, hidden sizes, filters, window, epochs and words must be "
                "at least 1."
            )
        if not (0 <= self.drop < 1 and 0 <= self.noise < math.inf):
            raise InputError(
                "The share of dropped words must be in [0, 1) and the noise must not be negative."
            )
        if self.kind == "cnn" and min(self.grid) < self.window:
            rows, columns = self.grid
            raise InputError(
                f"{self.length} words make a grid of {rows}×{columns}, too small for a window of "
                f"{self.window}: choose a length such as 16, 25 or 36."
            )

    def epochs_over(self, rows: int) -> int:
        """How often to go over so many rows: more often where there are few, or next to nothing
        would be learned.
        """
        return self.epochs or max(EPOCHS, math.ceil(STEPS / steps_of(rows)))

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the most nearly square grid that the words fill."""
        rows = max(n for n in range(1, math.isqrt(self.length) + 1) if self.length % n == 0)
        return rows, self.length // rows


def batch_of(rows: int) -> int:
    """Rows per step: few where there are few, so that there are steps enough."""
    return min(256, max(32, rows // 200))


def steps_of(rows: int) -> int:
    """Steps per epoch."""
    return math.ceil(rows / batch_of(rows))

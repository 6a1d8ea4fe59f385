"""Costs of words as whole numbers of a common unit, so that sums compare exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from suffice.errors import InputError
from suffice.model.network import Bools, Floats
from suffice.model.text import Text

Cost: TypeAlias = Mapping[str, float] | Callable[[str], float] | None

# Costs that share no coarse unit are rounded to this many units for the dearest word: ties are then 1e-9 wide.
FINEST = 10**9


@dataclass(frozen=True, eq=False)
class Costs:
    """`units` (length,) are whole numbers; a set of words costs the sum of its units times `unit`."""

    units: Floats
    unit: Fraction

    def of(self, mask: Bools) -> int:
        """The cost of a set of positions, in units."""
        return int(self.units[mask].sum())

    def price(self, units: float) -> float:
        """Units as the user counts."""
        return float(Fraction(int(units)) * self.unit)

    def by_word(self, text: Text) -> dict[str, float]:
        """The price of each word of a text."""
        return {token: self.price(units) for token, units in zip(text.tokens, self.units, strict=True)}


def costs(cost: Cost, text: Text) -> Costs:
    """The cost of every position: 1 each, or what the mapping or function says of the word."""
    if cost is None:
        return Costs(np.ones(len(text)), Fraction(1))
    prices = [_price(cost, word) for word in text.tokens]
    common = math.lcm(*(p.denominator for p in prices))
    unit = Fraction(math.gcd(*(p.numerator * (common // p.denominator) for p in prices)), common)
    if max(prices) / unit > FINEST:
        unit = max(prices) / FINEST
    units = np.array([max(1, round(p / unit)) for p in prices], dtype=np.float64)
    return Costs(units, unit)


def _price(cost: Mapping[str, float] | Callable[[str], float], word: str) -> Fraction:
    value = cost(word) if callable(cost) else cost.get(word, cost.get(word.lower(), 1.0))
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise InputError(f"The cost of {word!r} must be a positive number, not {value!r}.")
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(int(value))

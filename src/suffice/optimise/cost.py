"""Costs of words as whole numbers of a common unit, so that sums compare exactly.

A cost is taken as the number that one reads: 0.1 is a tenth, not the double nearest to it. The
unit is the largest number of which all costs are multiples; nothing is rounded, so what is optimal
is optimal for the costs as given.

Method: exact rational costs (theory, section 1).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational, Real
from typing import TypeAlias

import numpy as np

from suffice.errors import InputError
from suffice.model.network import Bools, Floats
from suffice.model.text import Text

Cost: TypeAlias = Mapping[str, float] | Callable[[str], float] | None

EXACT_LIMIT = 2**53  # doubles add up whole numbers exactly below this
NO_BOUND = 10**18  # no set of words costs as much


@dataclass(frozen=True, eq=False)
class Costs:
    """`units` (length,) are whole numbers; a set of words costs the sum of its units
    times `unit`.
    """

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
        return {
            token: self.price(units) for token, units in zip(text.tokens, self.units, strict=True)
        }


def costs(cost: Cost, text: Text) -> Costs:
    """The cost of every position: 1 each, or what the mapping or function says of the word."""
    if cost is None:
        return Costs(np.ones(len(text)), Fraction(1))
    if not callable(cost) and not isinstance(cost, Mapping):
        raise InputError(
            "The cost must be a mapping from words to numbers or a function of a word, not "
            f"{cost!r:.80}."
        )
    prices = [_price(cost, word) for word in text.tokens]
    if sum(prices) > sys.float_info.max:
        raise InputError(
            f"The costs of the words of this text add up to more than {sys.float_info.max:.3g}."
        )
    unit = _common(prices)
    units = [int(price / unit) for price in prices]
    if sum(units) >= EXACT_LIMIT:
        raise InputError(_too_fine(prices, unit))
    return Costs(np.array(units, dtype=np.float64), unit)


def _price(cost: Mapping[str, float] | Callable[[str], float], word: str) -> Fraction:
    value = cost(word) if callable(cost) else cost.get(word, cost.get(word.lower(), 1.0))
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < math.inf:
        raise InputError(f"The cost of {word!r} must be a positive number, not {value!r}.")
    return Fraction(value) if isinstance(value, Rational) else Fraction(str(value))


def _common(prices: Sequence[Fraction]) -> Fraction:
    """The largest number of which all prices are multiples."""
    common = math.lcm(*(p.denominator for p in prices))
    return Fraction(math.gcd(*(p.numerator * (common // p.denominator) for p in prices)), common)


def _too_fine(prices: Sequence[Fraction], unit: Fraction) -> str:
    """What is wrong with costs whose common unit is too small, and how many decimals can be had."""
    total = sum(prices)
    decimals = math.floor(15 - math.log10(total))  # up to 10^15 units in all, well below 2^53
    advice = (
        f"round them to {decimals} decimals"
        if decimals >= 0
        else "give them as multiples of a larger number"
    )
    if any(round(p, max(decimals, 0)) <= 0 for p in prices):
        advice = "bring the cheapest and the dearest word closer together"
    return (
        f"The costs of the words of this text add up to {float(total):g} in steps of "
        f"{float(unit):.3g}; "
        f"they are compared exactly, which takes fewer than 2^53 steps: {advice}."
    )

"""Covers: cheapest sets of words that share a word with every given set (hitting sets), exactly.

Sets of words are whole numbers: bit i stands for word i. Costs are whole numbers, so nothing is rounded. The search
branches on the words of a set that is not hit yet; each branch leaves out the words of the branches before it, so every
set that could be cheapest is met once. Prices that the sets agree to pay, none paying a word more than it costs, bound
from below what is still to be paid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

Stop = Callable[[], None]  # raises when the time is up


def bits(mask: int) -> list[int]:
    """The places of the ones of a mask."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def mask_of(places: Sequence[int]) -> int:
    mask = 0
    for place in places:
        mask |= 1 << int(place)
    return mask


def price(mask: int, costs: Sequence[int]) -> int:
    return sum(costs[i] for i in bits(mask))


def smallest(sets: Sequence[int]) -> list[int]:
    """The sets without those that contain another one: what hits the smaller hits the larger."""
    kept: list[int] = []
    for one in sorted(set(sets), key=lambda mask: (mask.bit_count(), mask)):
        if not any(small & one == small for small in kept):
            kept.append(one)
    return kept


def cheapest_cover(
    sets: Sequence[int],
    costs: Sequence[int],
    include: int = 0,
    exclude: int = 0,
    apart: Sequence[int] = (),
    stop: Stop | None = None,
    least: int = 0,
) -> int | None:
    """The cheapest set that holds `include`, nothing of `exclude`, no whole set of `apart`, and hits all sets.

    None where there is no such set. Where it is known to cost at `least` so much, one that costs no more is it.
    """
    hunt = _Hunt(costs, apart, stop)
    best: int | None = None
    for found in hunt.covers(smallest([one for one in sets if not one & include]), include, exclude):
        best, hunt.below = found, price(found, costs)
        if hunt.below <= least:
            break
    return best


def covers_of(
    sets: Sequence[int],
    costs: Sequence[int],
    total: int,
    include: int = 0,
    exclude: int = 0,
    stop: Stop | None = None,
) -> Iterator[int]:
    """Every set that hits all sets and costs no more than `total`, where nothing cheaper than that does."""
    hunt = _Hunt(costs, (), stop)
    hunt.below = total + 1
    yield from hunt.covers(smallest([one for one in sets if not one & include]), include, exclude)


class _Hunt:
    def __init__(self, costs: Sequence[int], apart: Sequence[int], stop: Stop | None) -> None:
        self.costs, self.apart, self.stop = costs, apart, stop
        self.below: int | None = None  # only what costs less is of interest

    def covers(self, sets: list[int], held: int, out: int) -> Iterator[int]:
        yield from self._branch(sets, held, out, price(held, self.costs))

    def _branch(self, sets: list[int], held: int, out: int, cost: int) -> Iterator[int]:
        if self.stop is not None:
            self.stop()
        if any(one & held == one for one in self.apart) or not self._promising(sets, out, cost):
            return
        if not sets:
            yield held
            return
        chosen = min(sets, key=lambda one: (one & ~out).bit_count())
        words = bits(chosen & ~out)
        words.sort(key=lambda w: self.costs[w] / sum(one >> w & 1 for one in sets))
        for word in words:
            rest = [one for one in sets if not one >> word & 1]
            yield from self._branch(rest, held | 1 << word, out, cost + self.costs[word])
            out |= 1 << word

    def _promising(self, sets: list[int], out: int, cost: int) -> bool:
        """Whether less than the limit may do: each set offers what its cheapest word still lacks."""
        left: dict[int, int] = {}
        for one in sets:
            words = bits(one & ~out)
            if not words:
                return False
            offer = min(left.get(w, self.costs[w]) for w in words)
            for word in words:
                left[word] = left.get(word, self.costs[word]) - offer
            cost += offer
        return self.below is None or cost < self.below

"""Minimum-cost hitting sets, exactly: cheapest sets of words that meet every given set.

Sets of words are whole numbers: bit i stands for word i. Costs are whole numbers, so nothing is
rounded. The search branches on the words of a set that is not hit yet; each branch excludes the
words of the branches before it, so every set that could be cheapest is met once. A packing (prices
that sets pay, none paying a word more than it costs) bounds from below what is still to be paid.

Method: hitting sets with a packing bound (theory, section 7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from suffice import work

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


def mask_cost(mask: int, costs: Sequence[int]) -> int:
    return sum(costs[i] for i in bits(mask))


def minimal_sets(sets: Sequence[int]) -> list[int]:
    """The sets without those that contain another one: what hits the smaller hits the larger."""
    minimal: list[int] = []
    for one in sorted(set(sets), key=lambda mask: (mask.bit_count(), mask)):
        if not any(small & one == small for small in minimal):
            minimal.append(one)
    return minimal


def min_cost_hitting_set(
    sets: Sequence[int],
    costs: Sequence[int],
    include: int = 0,
    exclude: int = 0,
    forbidden_subsets: Sequence[int] = (),
    stop: Stop | None = None,
    known_lower: int = 0,
) -> int | None:
    """The cheapest set that holds `include`, nothing of `exclude`, none of `forbidden_subsets`, and
    hits all sets.

    None where there is no such set. A set that costs no more than `known_lower` is known to be the
    cheapest.
    """
    work.count("master_solves")
    search = _CoverBranching(costs, forbidden_subsets, stop)
    best: int | None = None
    for found in search.hitting_sets(
        minimal_sets([one for one in sets if not one & include]), include, exclude
    ):
        best = found
        search.cost_limit = mask_cost(found, costs)
        if search.cost_limit <= known_lower:
            break
    return best


def hitting_sets_up_to(
    sets: Sequence[int],
    costs: Sequence[int],
    cost_limit: int,
    include: int = 0,
    exclude: int = 0,
    stop: Stop | None = None,
) -> Iterator[int]:
    """Every set that hits all sets and costs no more than `total`, where nothing cheaper than that
    does.
    """
    work.count("master_solves")
    search = _CoverBranching(costs, (), stop)
    search.cost_limit = cost_limit + 1
    yield from search.hitting_sets(
        minimal_sets([one for one in sets if not one & include]), include, exclude
    )


class _CoverBranching:
    def __init__(
        self, costs: Sequence[int], forbidden_subsets: Sequence[int], stop: Stop | None
    ) -> None:
        self.costs = costs
        self.forbidden_subsets = forbidden_subsets
        self.stop = stop
        self.cost_limit: int | None = None  # only what costs less is of interest

    def hitting_sets(self, sets: list[int], held: int, out: int) -> Iterator[int]:
        yield from self._branch(sets, held, out, mask_cost(held, self.costs))

    def _branch(self, sets: list[int], held: int, out: int, cost: int) -> Iterator[int]:
        if self.stop is not None:
            self.stop()
        if any(one & held == one for one in self.forbidden_subsets) or not self._packing_allows(
            sets, out, cost
        ):
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

    def _packing_allows(self, sets: list[int], out: int, cost: int) -> bool:
        """Whether less than the limit may do: each set offers what its cheapest word
        still lacks.
        """
        unpaid: dict[int, int] = {}
        for one in sets:
            words = bits(one & ~out)
            if not words:
                return False
            offer = min(unpaid.get(w, self.costs[w]) for w in words)
            for word in words:
                unpaid[word] = unpaid.get(word, self.costs[word]) - offer
            cost += offer
        return self.cost_limit is None or cost < self.cost_limit

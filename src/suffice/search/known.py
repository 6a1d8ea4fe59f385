"""Known: the attacks and proofs that a search has met, and what they say of other sets of words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.prove.exact import confirm
from suffice.prove.verdict import Problem, Proved, Refuted, Verdict, Witness
from suffice.sets.regions import Hull, Region


class Masks:
    """Sets of words, in the order in which they came, in an array that grows."""

    def __init__(self, length: int) -> None:
        self._rows, self._count = np.zeros((16, length), dtype=bool), 0

    def add(self, mask: Bools) -> None:
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[self._count] = mask
        self._count += 1

    def within(self, words: Bools) -> int | None:
        """The first of them that has only these words."""
        if not self._count:
            return None
        beyond = self._rows[: self._count] @ ~words
        return None if beyond.all() else int(beyond.argmin())


class Known:
    """Attacks and proofs. An attack rules out every set that it avoids; a proof holds for every larger set."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.attacks: list[Witness] = []
        self.proofs: list[Proved] = []
        self._changed, self._held = (Masks(len(problem.features)) for _ in range(2))  # by attacks, by proofs

    def add_attack(self, witness: Witness) -> None:
        mask = np.zeros(len(self.problem.features), dtype=bool)
        mask[list(witness.positions)] = True
        self.attacks.append(witness)
        self._changed.add(mask)

    def add_proof(self, held: Bools, proof: Proved) -> None:
        self.proofs.append(proof)
        self._held.add(held)

    def add_points(self, points: Floats, free: Bools, shares: Floats | None = None) -> list[Witness]:
        """Those of the points (n, length, dimension) that are attacks on their free words (n, length)."""
        found = [witness for witness in confirm(self.problem, points, free, shares) if witness is not None]
        for witness in found:
            self.add_attack(witness)
        return found

    def add_foreign(self, witnesses: Sequence[Witness]) -> None:
        """Attacks from smaller sets, where they hold here too."""
        for witness in witnesses:
            shares = _widened(witness.shares, self.problem.region)
            self.add_points(witness.point[None], self.problem.features[None], shares)

    def attack_within(self, words: Bools) -> Witness | None:
        """An attack that changes only these words."""
        place = self._changed.within(words)
        return None if place is None else self.attacks[place]

    def says(self, held: Bools) -> Verdict | None:
        """Whether these words suffice, as far as monotonicity tells."""
        place = self._held.within(held)
        if place is not None:
            return self.proofs[place]
        attack = self.attack_within(~held)
        return None if attack is None else Refuted(attack)


def _widened(shares: Floats | None, region: Region) -> Floats | None:
    """Shares of a hull's corners as those of a larger hull, whose corners begin with the same ones."""
    if shares is None or not isinstance(region, Hull):
        return None
    more = region.points.shape[1] - shares.shape[1]
    return np.pad(shares, ((0, 0), (0, max(more, 0))))[None]

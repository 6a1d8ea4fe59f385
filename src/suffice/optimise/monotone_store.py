"""MonotoneStore: attacks and proofs met so far, and what they say of other sets of words.

Sufficiency is monotone: a proof holds for every superset, an attack refutes every set it avoids.

Method: monotonicity of sufficiency (theory, section 1, Lemma 1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.sets.regions import Hull, Region
from suffice.verify.contract import Problem, Proved, Refuted, Verdict, Witness
from suffice.verify.exact import confirm


class MaskList:
    """Sets of words, in the order in which they came, in an array that grows."""

    def __init__(self, length: int) -> None:
        self._rows = np.zeros((16, length), dtype=bool)
        self._count = 0

    def add(self, mask: Bools) -> None:
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[self._count] = mask
        self._count += 1

    def first_within(self, words: Bools) -> int | None:
        """The first of them that has only these words."""
        if not self._count:
            return None
        beyond = self._rows[: self._count] @ ~words
        return None if beyond.all() else int(beyond.argmin())


class MonotoneStore:
    """Attacks and proofs. An attack rules out every set that it avoids; a proof holds for every
    larger set.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.attacks: list[Witness] = []
        self.proofs: list[Proved] = []
        # by attacks, by proofs
        self._changed_masks, self._held_masks = (MaskList(len(problem.features)) for _ in range(2))

    def add_attack(self, witness: Witness) -> None:
        mask = np.zeros(len(self.problem.features), dtype=bool)
        mask[list(witness.positions)] = True
        self.attacks.append(witness)
        self._changed_masks.add(mask)

    def add_proof(self, held: Bools, proof: Proved) -> None:
        self.proofs.append(proof)
        self._held_masks.add(held)

    def add_points(
        self, points: Floats, free: Bools, shares: Floats | None = None
    ) -> list[Witness]:
        """Those of the points (n, length, dimension) that are attacks on their free words (n,
        length).
        """
        found = [
            witness
            for witness in confirm(self.problem, points, free, shares)
            if witness is not None
        ]
        for witness in found:
            self.add_attack(witness)
        return found

    def add_foreign(self, witnesses: Sequence[Witness]) -> None:
        """Attacks from smaller sets, where they hold here too."""
        for witness in witnesses:
            shares = _widened(witness.shares, self.problem.region)
            self.add_points(witness.point[None], self.problem.features[None], shares)

    def attack_inside(self, words: Bools) -> Witness | None:
        """An attack that changes only these words."""
        index = self._changed_masks.first_within(words)
        return None if index is None else self.attacks[index]

    def verdict_of(self, held: Bools) -> Verdict | None:
        """Whether these words suffice, as far as monotonicity tells."""
        index = self._held_masks.first_within(held)
        if index is not None:
            return self.proofs[index]
        attack = self.attack_inside(~held)
        return None if attack is None else Refuted(attack)


def _widened(shares: Floats | None, region: Region) -> Floats | None:
    """Shares of a hull's corners as those of a larger hull, whose corners begin with
    the same ones.
    """
    if shares is None or not isinstance(region, Hull):
        return None
    more = region.points.shape[1] - shares.shape[1]
    return np.pad(shares, ((0, 0), (0, max(more, 0))))[None]

"""Known: the attacks and proofs that a search has met, and what they say of other sets of words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.prove.exact import confirm
from suffice.prove.verdict import Problem, Proved, Refuted, Verdict, Witness
from suffice.sets.regions import Hull, Region


class Known:
    """Attacks and proofs. An attack rules out every set that it avoids; a proof holds for every larger set."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.attacks: list[Witness] = []
        self.proofs: list[tuple[Bools, Proved]] = []
        self._changed = np.zeros((0, len(problem.features)), dtype=bool)

    def add_attack(self, witness: Witness) -> None:
        mask = np.zeros(self._changed.shape[1], dtype=bool)
        mask[list(witness.positions)] = True
        self.attacks.append(witness)
        self._changed = np.vstack([self._changed, mask])

    def add_proof(self, held: Bools, proof: Proved) -> None:
        self.proofs.append((held, proof))

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
        inside = ~(self._changed & ~words).any(-1)
        return self.attacks[int(inside.argmax())] if inside.any() else None

    def says(self, held: Bools) -> Verdict | None:
        """Whether these words suffice, as far as monotonicity tells."""
        for fixed, proof in self.proofs:
            if not (fixed & ~held).any():
                return proof
        attack = self.attack_within(~held)
        return None if attack is None else Refuted(attack)


def _widened(shares: Floats | None, region: Region) -> Floats | None:
    """Shares of a hull's corners as those of a larger hull, whose corners begin with the same ones."""
    if shares is None or not isinstance(region, Hull):
        return None
    more = region.points.shape[1] - shares.shape[1]
    return np.pad(shares, ((0, 0), (0, max(more, 0))))[None]

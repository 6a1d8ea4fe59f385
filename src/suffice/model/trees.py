"""Trees: a forest, or boosted trees, over the features of a bag of words; what all trees give is
added up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.model.network import Bools, Floats, Ints

LEAF = -1
# of a threshold: closer than this the rounding of the program decides, which is not worked out here
NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class Trees:
    """All nodes in one table: a text goes left where factor * x <= threshold; leaves have the
    feature LEAF.

    `column` is a place in the bag. The scores are `bias` and the values of one leaf of each tree.
    """

    roots: Ints  # (trees,)
    column: Ints  # (nodes,)
    factor: Floats  # (nodes,)
    threshold: Floats  # (nodes,)
    left: Ints
    right: Ints
    value: Floats  # (nodes, classes); zero but at leaves
    bias: Floats  # (classes,)
    single: bool  # x is rounded to single precision before it is compared
    # x is worked out here to the last bit as by the program: a product of a count and one number
    exact: bool
    # how far the program's own sums may be from these, where it adds in single precision
    rounding: float = 0.0

    def left_of(self, x: Floats, node: Any) -> tuple[Bools, Bools]:
        """Where x goes left at a node (or at a node for each x), and where the rounding of the
        program decides that.
        """
        at = self.threshold[node]
        factor = self.factor[node]
        if self.exact:
            goes = (np.asarray(x, dtype=np.float32) if self.single else x) <= at
            return goes, np.zeros_like(goes)
        x = x if np.all(factor == 1.0) else x * factor
        room = NEAR * np.abs(at)  # none around zero, which is never rounded
        return x <= at, (x <= at + room) & (x > at - room) & (room > 0.0)

    def scores(self, values: Mapping[int, float]) -> Floats:
        """The scores of a text whose other features are all zero; not numbers where rounding
        decides.
        """
        every = np.zeros(int(self.column.max(initial=0)) + 1)
        for column, value in values.items():
            every[column : column + 1] = value  # no tree looks at columns beyond
        node = self.roots
        clear = True
        while (inner := self.column[node] != LEAF).any():
            goes, near = self.left_of(every[self.column[node]], node)
            clear = clear and not (near & inner).any()
            node = np.where(inner, np.where(goes, self.left[node], self.right[node]), node)
        return (
            np.asarray(self.bias + self.value[node].sum(0))
            if clear
            else np.full(len(self.bias), np.nan)
        )

    @property
    def tested(self) -> frozenset[int]:
        """The columns that any tree looks at."""
        return frozenset(np.unique(self.column[self.column != LEAF]).tolist())

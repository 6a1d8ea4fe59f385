"""Rounds: blocks of units become steps.

Every block gets the earliest round in which all it needs is known, and `steps` writes one step per
round, passing on whatever a later round still needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its subpackages load on first use, which keeps `import suffice` quick

from suffice.model.graph import Block, Tensor
from suffice.model.places import identity, sparse_rows
from suffice.model.step import Floats, Ints, Step, compact


def steps(scores: Tensor) -> tuple[Step, ...]:
    """The steps of the network whose outputs are `scores`."""
    last = Block(scores.size, scores, np.zeros(scores.size, dtype=bool))
    blocks = _relayed(_reachable(last))
    rounds = [
        [block for block in blocks if block.round == number] for number in range(last.round + 1)
    ]
    layout = _Layout([(block, np.arange(block.size)) for block in rounds[0]])
    found = []
    for number, made in enumerate(rounds[1:], 1):
        later = [block for block in blocks if block.round > number]
        carried = [(block, _needed(block, later)) for block in blocks if block.round < number]
        carried = [(block, units) for block, units in carried if len(units)]
        found.append(_step(made, carried, layout))
        layout = _Layout([*((block, np.arange(block.size)) for block in made), *carried])
    return tuple(found)


def _reachable(last: Block) -> list[Block]:
    """Every block that counts, each after those it needs."""
    found: dict[Block, None] = {}
    waiting = [last]
    while waiting:
        block = waiting.pop()
        needs = [need for need, _ in _parts(block) if need not in found]
        if needs:
            waiting += [block, *needs]
        else:
            found[block] = None
    return list(found)


def _parts(block: Block) -> tuple[tuple[Block, Floats], ...]:
    return () if block.before is None else block.before.parts


def _relayed(blocks: list[Block]) -> list[Block]:
    """The same, but what has to wait for a later round waits as few numbers: a sum rather than its
    terms.
    """
    new: dict[Block, Block] = {}
    made: list[Block] = []
    for block in blocks:
        if block.before is None:
            new[block] = block
            continue
        parts: list[tuple[Block, Floats]] = []
        for need, matrix in block.before.parts:
            parts.append(_relay(new[need], matrix, block.round - 1))
        relays = [need for need, _ in parts if need not in new.values()]
        before = Tensor(tuple(_summed(parts)), block.before.offset, block.before.shape)
        new[block] = Block(block.size, before, block.relu, block.curve, block.width)
        made += relays
    return [*new.values(), *made]


def _relay(block: Block, matrix: Floats, until: int) -> tuple[Block, Floats]:
    if until <= block.round or matrix.shape[0] >= len(_columns(matrix)):
        return block, matrix
    before = Tensor(((block, matrix),), np.zeros(matrix.shape[0]), (matrix.shape[0],))
    return Block(matrix.shape[0], before, np.zeros(matrix.shape[0], dtype=bool)), identity(
        matrix.shape[0]
    )


def _summed(parts: Iterable[tuple[Block, Floats]]) -> Iterable[tuple[Block, Floats]]:
    total: dict[Block, Floats] = {}
    for block, matrix in parts:
        total[block] = total[block] + matrix if block in total else matrix
    return total.items()


def _columns(matrix: Floats) -> Ints:
    """The columns that hold anything."""
    return np.unique(scipy.sparse.coo_array(matrix).nonzero()[1])


def _needed(block: Block, later: Sequence[Block]) -> Ints:
    """The units of a block that blocks of later rounds take in."""
    found = [_columns(matrix) for other in later for need, matrix in _parts(other) if need is block]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Layout:
    """Which units of which blocks a step gives, in order."""

    units: list[tuple[Block, Ints]]

    def row(self, block: Block) -> list[Floats]:
        """What a block takes in, as one matrix for each entry of the layout."""
        parts = dict(_parts(block))
        return [_chosen_columns(parts.get(own), block.size, units) for own, units in self.units]

    def passed(self, block: Block, units: Ints) -> list[Floats]:
        """Some units of a block of the layout, just as they are."""
        return [
            _ones(len(units), mine, units if own is block else None) for own, mine in self.units
        ]


def _chosen_columns(matrix: Floats | None, rows: int, units: Ints) -> Floats:
    """Some columns of a sparse matrix of so many rows; zeros where there is none."""
    if matrix is None:
        return _zeros(rows, len(units))
    found: Floats = scipy.sparse.csr_array(matrix)[:, units]
    return found


def _zeros(rows: int, columns: int) -> Floats:
    found: Floats = scipy.sparse.csr_array((rows, columns))
    return found


def _ones(rows: int, mine: Ints, units: Ints | None) -> Floats:
    """A row for each of the units, with a one where it stands among `mine`; zeros where there are
    none.
    """
    if units is None:
        return _zeros(rows, len(mine))
    return sparse_rows(np.searchsorted(mine, units)[:, None], np.ones((rows, 1)), len(mine))


def _step(made: Sequence[Block], carried: Sequence[tuple[Block, Ints]], layout: _Layout) -> Step:
    rows = [*(layout.row(block) for block in made), *(layout.passed(*pair) for pair in carried)]
    extra = sum(len(units) for _, units in carried)
    bias = [block.before.offset for block in made if block.before is not None]
    relu = [block.relu for block in made]
    starts = np.cumsum([0, *(block.size for block in made)])
    curves = [
        (b.curve, s + np.arange(b.size)) for b, s in zip(made, starts, strict=False) if b.curve
    ]
    maxima = [
        (s + np.arange(b.size)).reshape(-1, b.width)
        for b, s in zip(made, starts, strict=False)
        if b.width
    ]
    return Step(
        compact(scipy.sparse.block_array(rows, format="csr")),
        np.concatenate([*bias, np.zeros(extra)]),
        np.concatenate([*relu, np.zeros(extra, dtype=bool)]),
        tuple(_by_name(curves)),
        tuple(group for groups in maxima for group in groups),
    )


def _by_name(curves: Sequence[tuple[str, Ints]]) -> Iterable[tuple[str, Ints]]:
    """One entry per curve, so that equal networks are written alike."""
    for name in sorted({name for name, _ in curves}):
        yield name, np.concatenate([units for other, units in curves if other == name])

"""Graph: layers of any network, in any order and with any branches, lowered to the steps of the
normal form.

A Tensor is an affine function of the units computed so far. Affine layers only change that
function; relus, maxima and smooth curves make a new block of units. At the end blocks become steps
(rounds.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy  # its subpackages load on first use, which keeps `import suffice` quick
from numpy.typing import ArrayLike

from suffice.model.curves import CURVES
from suffice.model.places import (
    MOST_ENTRIES,
    Padding,
    PerAxis,
    affordable,
    entries,
    filled,
    finite,
    identity,
    per_axis,
    places_of,
    sparse_rows,
    views,
    windowed,
)
from suffice.model.step import Bools, Floats, Ints, Step

Axes: TypeAlias = int | tuple[int, ...] | None

PAIR = 2  # entries of which the maximum is written as a + relu(b - a)
MOST_SHARES = 64  # of one softmax: it takes the square of that many units


@dataclass(frozen=True, eq=False)
class Block:
    """Units that are made in one round from a tensor of earlier units; the input has round 0 and
    comes from None.

    With a `width` they are candidates of maxima, so many next to each other for each; the first
    gives the largest.
    """

    size: int
    before: Tensor | None
    relu: Bools
    curve: str = ""
    width: int = 0

    @property
    def round(self) -> int:
        return 0 if self.before is None else self.before.round + 1


@dataclass(frozen=True, eq=False)
class Tensor:
    """sum of matrix @ block over `parts`, plus `offset`, laid out in `shape` (C order)."""

    parts: tuple[tuple[Block, Floats], ...]
    offset: Floats
    shape: tuple[int, ...]
    round: int = field(init=False)  # the last one that it takes units from

    def __post_init__(self) -> None:
        object.__setattr__(self, "round", max((block.round for block, _ in self.parts), default=0))

    @property
    def size(self) -> int:
        return len(self.offset)

    @property
    def places(self) -> Ints:
        """The flat place of every entry, in the tensor's shape."""
        return places_of(self.shape)

    # --- affine maps ---

    def affine(
        self, matrix: Floats, shape: tuple[int, ...], offset: Floats | float = 0.0
    ) -> Tensor:
        """matrix @ self + offset; the matrix may be sparse."""
        if np.ndim(offset) and np.shape(offset) != matrix.shape[:1]:  # never broadcast a bias
            raise ValueError(f"a bias of {np.shape(offset)} for {matrix.shape[0]} outputs")
        if math.prod(shape) != matrix.shape[0]:
            raise ValueError(f"{matrix.shape[0]} outputs do not make a shape of {shape}")
        affordable(sum(entries(matrix, part) for _, part in self.parts), MOST_ENTRIES)
        parts = tuple((block, matrix @ part) for block, part in self.parts)
        return Tensor(parts, np.asarray(matrix @ self.offset + offset), shape)

    def pick(self, index: Ints) -> Tensor:
        """The entries at flat places `index`, in its shape; -1 gives 0."""
        flat = np.asarray(index, dtype=np.int64)
        if flat.size and not (flat.min() >= -1 and flat.max() < self.size):
            raise ValueError(f"there are {self.size} entries to pick from")
        rows = sparse_rows(
            np.where(flat < 0, self.size, flat).reshape(-1, 1),
            np.ones((flat.size, 1)),
            self.size + 1,
        )
        return self.affine(rows[:, : self.size], flat.shape)

    def reshape(self, shape: Sequence[int]) -> Tensor:
        return Tensor(self.parts, self.offset, self.places.reshape(tuple(shape)).shape)

    def permute(self, axes: Sequence[int]) -> Tensor:
        return self.pick(self.places.transpose(tuple(axes)))

    def __getitem__(self, key: Any) -> Tensor:
        return self.pick(np.asarray(self.places[key]))

    def broadcast(self, shape: tuple[int, ...]) -> Tensor:
        affordable(math.prod(shape))
        return self if shape == self.shape else self.pick(np.broadcast_to(self.places, shape))

    def scale(self, factor: ArrayLike) -> Tensor:
        """Times a constant, both broadcast."""
        array = finite(factor)
        wide = self.broadcast(np.broadcast_shapes(self.shape, array.shape))
        diagonal = scipy.sparse.diags_array(
            np.broadcast_to(array, wide.shape).ravel(), format="csr"
        )
        return wide.affine(diagonal, wide.shape)

    def shift(self, offset: ArrayLike) -> Tensor:
        """Plus a constant, both broadcast."""
        array = finite(offset)
        wide = self.broadcast(np.broadcast_shapes(self.shape, array.shape))
        return Tensor(
            wide.parts, wide.offset + np.broadcast_to(array, wide.shape).ravel(), wide.shape
        )

    def linear(self, weight: ArrayLike, bias: ArrayLike | None = None) -> Tensor:
        """weight @ x + bias over the last axis; weight is (out, in)."""
        w = finite(weight)
        if w.ndim != 2 or self.shape[-1:] != w.shape[1:]:
            raise ValueError(f"a weight of {w.shape} for a last axis of {self.shape[-1:]}")
        if bias is not None and np.shape(bias) != w.shape[:1]:
            raise ValueError(f"a bias of {np.shape(bias)} for {len(w)} outputs")
        lead = self.shape[:-1]
        affordable(math.prod(lead) * w.size, MOST_ENTRIES)
        matrix = (
            w
            if math.prod(lead) == 1
            else scipy.sparse.kron(scipy.sparse.eye_array(math.prod(lead)), w, "csr")
        )
        out = self.affine(matrix, (*lead, len(w)))
        return out if bias is None else out.shift(bias)

    def matmul(self, matrix: ArrayLike) -> Tensor:
        return self.linear(finite(matrix).T)

    def sum(self, axes: Axes = None, keepdims: bool = False) -> Tensor:
        return self._reduce(axes, keepdims, lambda windows: np.ones(windows.shape))

    def mean(self, axes: Axes = None, keepdims: bool = False) -> Tensor:
        return self._reduce(
            axes, keepdims, lambda windows: np.full(windows.shape, 1 / windows.shape[1])
        )

    def _reduce(self, axes: Axes, keepdims: bool, weights: Callable[[Ints], Floats]) -> Tensor:
        windows, shape = self._groups(axes, keepdims)
        return self.affine(sparse_rows(windows, weights(windows), self.size), shape)

    def _groups(self, axes: Axes, keepdims: bool) -> tuple[Ints, tuple[int, ...]]:
        """Which entries each output takes (outputs, group), and the shape of the output."""
        count = len(self.shape)
        chosen = range(count) if axes is None else (axes,) if isinstance(axes, int) else axes
        gone = {range(count)[axis] for axis in chosen}
        kept = [axis for axis in range(count) if axis not in gone]
        lead = [self.shape[axis] for axis in kept]
        groups = self.places.transpose(*kept, *sorted(gone)).reshape(math.prod(lead), -1)
        if not groups.size:
            raise ValueError("there is nothing to take a sum, mean or maximum of")
        return groups, tuple(
            1 if i in gone else n for i, n in enumerate(self.shape)
        ) if keepdims else tuple(lead)

    def per_channel(self, scale: ArrayLike, shift: ArrayLike, axis: int = 0) -> Tensor:
        """A factor and a constant for each place along one axis, as batch norm has them once
        trained.
        """
        wide = [1] * len(self.shape)
        wide[axis] = self.shape[axis]
        factor = finite(scale)
        offset = finite(shift)
        if factor.shape != (self.shape[axis],) or offset.shape != factor.shape:
            raise ValueError(f"{factor.shape} factors for {self.shape[axis]} channels")
        return self.scale(factor.reshape(wide)).shift(offset.reshape(wide))

    # --- windows ---

    def conv(
        self,
        weight: ArrayLike,
        bias: ArrayLike | None = None,
        stride: PerAxis = 1,
        padding: Padding = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
    ) -> Tensor:
        """Convolution of (channels, *places); weight is (out, in / groups, *kernel) as in torch."""
        kernel = finite(weight)
        offset = np.zeros(len(kernel)) if bias is None else finite(bias)
        if offset.shape != kernel.shape[:1] or kernel.ndim != len(self.shape) + 1:
            raise ValueError(
                f"a kernel of {kernel.shape} and a bias of {offset.shape} do not go with it"
            )
        if groups < 1 or len(kernel) % groups or self.shape[0] != kernel.shape[1] * groups:
            needed = f"{kernel.shape[1]} input channels in each of {groups} groups"
            raise ValueError(f"the kernel {kernel.shape} needs {needed}")
        # (channels, *places, *kernel)
        seen = views(self.shape, kernel.shape[2:], stride, padding, dilation)
        places = seen.shape[1 : len(self.shape)]
        affordable(kernel.size * math.prod(places), MOST_ENTRIES)
        rows = _kernel_rows(kernel, seen, math.prod(places), groups, self.size + 1)
        return self.affine(
            rows[:, : self.size], (len(kernel), *places), np.repeat(offset, math.prod(places))
        )

    def max_pool(
        self,
        size: PerAxis,
        stride: PerAxis | None = None,
        padding: Padding = 0,
        dilation: PerAxis = 1,
        ceil: bool = False,
    ) -> Tensor:
        """Maximum over windows of the axes after the first; padding never wins."""
        windows, shape = windowed(self.shape, size, stride, padding, dilation, ceil)
        return self._maxima(filled(windows, self.size), shape)

    def average_pool(
        self,
        size: PerAxis,
        stride: PerAxis | None = None,
        padding: Padding = 0,
        ceil: bool = False,
        count_padding: bool = True,
    ) -> Tensor:
        """Average over windows of the axes after the first; padding counts as zeros, or
        not at all.
        """
        windows, shape = windowed(self.shape, size, stride, padding, 1, ceil)
        real = windows < self.size  # beyond the padding (by `ceil`) nothing counts, as in torch
        counted = windows <= self.size if count_padding else real
        data = real / counted.sum(1, keepdims=True)
        rows = sparse_rows(np.minimum(windows, self.size), data, self.size + 1)
        return self.affine(rows[:, : self.size], shape)

    def adaptive_pool(self, size: PerAxis, kind: str) -> Tensor:
        """Torch's adaptive pooling ("max" or "average") of the axes after the first to `size`
        places each.
        """
        result = self
        wanted = per_axis(size, len(self.shape) - 1)
        for axis, many in enumerate(wanted, 1):
            result = result._adapt(axis, many, kind)
        return result

    def _adapt(self, axis: int, many: int, kind: str) -> Tensor:
        """Along one axis; averages of averages are averages, as all windows of an axis are weighted
        alike.
        """
        length = self.shape[axis]
        affordable(many * self.size)
        pieces = [
            self._slice(axis, i * length // many, -(-(i + 1) * length // many)) for i in range(many)
        ]
        pooled = [p.max(axis, True) if kind == "max" else p.mean(axis, True) for p in pieces]
        return concatenate(pooled, axis)

    def _slice(self, axis: int, start: int, stop: int) -> Tensor:
        return self[tuple([slice(None)] * axis + [slice(start, stop)])]

    # --- what makes new units ---

    def relu(self) -> Tensor:
        pooled = _under_max(self)
        if pooled is None:
            return _new(self, np.ones(self.size, dtype=bool))
        before, index = pooled  # relu of a maximum: 0 is one more candidate
        return _largest(before, np.pad(index, ((0, 0), (1, 0)), constant_values=-1), self.shape)

    def leaky_relu(self, slope: float) -> Tensor:
        return add(self.scale(slope), self.relu().scale(1 - slope))

    def clip(self, low: float | None, high: float | None) -> Tensor:
        """Between two constants, of which either may be missing."""
        if low is not None and high is not None and low > high:
            raise ValueError(f"it clips to [{low}, {high}], where nothing is")
        if low is None:
            return self if high is None else subtract(self, self.shift(-high).relu())
        above = self.shift(-low).relu().shift(low)
        return above if high is None else subtract(above, self.shift(-high).relu())

    def curve(self, name: str) -> Tensor:
        """A smooth activation of each entry."""
        if name not in CURVES:
            raise ValueError(f"there is no curve {name!r}; there are {', '.join(CURVES)}")
        return _new(self, np.zeros(self.size, dtype=bool), name)

    def softmax(self, axis: int = -1) -> Tensor:
        """1 / (1 + sum of exp(x_j - x_i) over the others j), which takes curves of one
        unit each.
        """
        groups, _ = self._groups(axis, True)
        count = groups.shape[1]
        if count > MOST_SHARES:
            raise ValueError(
                f"a softmax over {count} entries is too large: at most {MOST_SHARES} are supported"
            )
        mine, other = np.nonzero(~np.eye(count, dtype=bool))
        gaps = subtract(self.pick(groups[:, other]), self.pick(groups[:, mine]))
        if count == 2:
            shares = gaps.scale(-1.0).curve("sigmoid")
        elif count == 1:
            shares = self.pick(groups).scale(0.0).shift(1.0)
        else:
            shares = (
                gaps.curve("exp").reshape((len(groups), count, count - 1)).sum(2).curve("share")
            )
        order = np.empty(self.size, dtype=np.int64)
        order[groups.ravel()] = np.arange(self.size)
        return shares.pick(order.reshape(self.shape))

    def max(self, axes: Axes = None, keepdims: bool = False) -> Tensor:
        return self._maxima(*self._groups(axes, keepdims))

    def _maxima(self, index: Ints, shape: tuple[int, ...]) -> Tensor:
        """max over windows: a unit of its own, or of two entries a + relu(b - a), whose bounds are
        tighter.
        """
        under = _under_relu(self)
        pooled = _under_max(self)
        if (
            under is not None and index.shape[1] > 1
        ):  # max of relus = relu of max: fewer units, and tighter bounds
            return under._maxima(index, shape).relu()
        if pooled is not None and index.shape[1] > 1:  # max of maxima = max of all their candidates
            return _largest(pooled[0], pooled[1][index].reshape(len(index), -1), shape)
        return (
            _largest(self, index, shape)
            if index.shape[1] > PAIR
            else self._tournament(index, shape)
        )

    def _tournament(self, index: Ints, shape: tuple[int, ...]) -> Tensor:
        """max over windows with relus only: each round keeps a and adds relu(b - a)."""
        state = self
        while index.shape[1] > 1:
            pairs = index.shape[1] // 2
            count = len(index)
            first = index[:, :pairs].ravel()
            second = index[:, pairs : 2 * pairs].ravel()
            keep = np.concatenate([first, index[:, 2 * pairs :].ravel()])
            gain = subtract(state.pick(second), state.pick(first))
            both = concatenate([state.pick(keep), gain], 0)
            made = _new(both, np.arange(both.size) >= len(keep))
            gains = np.full(len(keep), -1)
            gains[: len(first)] = len(keep) + np.arange(len(first))
            state = add(made.pick(np.arange(len(keep))), made.pick(gains))
            winners = np.arange(len(first)).reshape(count, pairs)
            index = np.concatenate(
                [winners, len(first) + np.arange(len(keep) - len(first)).reshape(count, -1)], axis=1
            )
        return state.pick(index[:, 0].reshape(shape))


def start(shape: Sequence[int]) -> Tensor:
    """The input itself."""
    size = math.prod(shape)
    affordable(size)
    block = Block(size, None, np.zeros(size, dtype=bool))
    return Tensor(((block, identity(size)),), np.zeros(size), tuple(shape))


def add(first: Tensor, second: Tensor) -> Tensor:
    shape = np.broadcast_shapes(first.shape, second.shape)
    first = first.broadcast(shape)
    second = second.broadcast(shape)
    parts = dict(first.parts)
    for block, matrix in second.parts:
        parts[block] = parts[block] + matrix if block in parts else matrix
    return Tensor(tuple(parts.items()), first.offset + second.offset, shape)


def subtract(first: Tensor, second: Tensor) -> Tensor:
    return add(first, second.scale(-1.0))


def maximum(first: Tensor, second: Tensor) -> Tensor:
    return add(first, subtract(second, first).relu())


def concatenate(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Side by side along one axis."""
    affordable(sum(t.size for t in tensors))
    starts = np.cumsum([0, *(t.size for t in tensors)])
    index = np.concatenate([t.places + s for t, s in zip(tensors, starts, strict=False)], axis)
    blocks = dict.fromkeys(block for tensor in tensors for block, _ in tensor.parts)
    parts = [(block, _stacked([_part(tensor, block) for tensor in tensors])) for block in blocks]
    whole = Tensor(tuple(parts), np.concatenate([t.offset for t in tensors]), (int(starts[-1]),))
    return (
        whole.reshape(index.shape)
        if (index.ravel() == np.arange(index.size)).all()
        else whole.pick(index)
    )


def _part(tensor: Tensor, block: Block) -> Floats:
    found = dict(tensor.parts).get(block)
    empty: Floats = scipy.sparse.csr_array((tensor.size, block.size))
    return empty if found is None else found


def _stacked(parts: Sequence[Floats]) -> Floats:
    if len(parts) == 1:
        return parts[0]
    stacked: Floats = scipy.sparse.vstack(
        [scipy.sparse.csr_array(part) for part in parts], format="csr"
    )
    return stacked


def _under_relu(tensor: Tensor) -> Tensor | None:
    """What a tensor is the relu of, if it holds outputs of one block of relus just as they are."""
    block = _just_picked(tensor)
    if block is None or block.before is None or not block.relu.all():
        return None
    return block.before.reshape((-1,)).pick(scipy.sparse.csr_array(tensor.parts[0][1]).indices)


def _largest(before: Tensor, index: Ints, shape: tuple[int, ...]) -> Tensor:
    """The largest of the entries in each row of `index`; -1 stands for 0."""
    affordable(index.size)
    block = Block(
        index.size,
        before.reshape((-1,)).pick(index),
        np.zeros(index.size, dtype=bool),
        "",
        index.shape[1],
    )
    leaders = np.arange(0, index.size, index.shape[1])[:, None]
    return Tensor(
        ((block, sparse_rows(leaders, np.ones(leaders.shape), block.size)),),
        np.zeros(len(index)),
        shape,
    )


def _under_max(tensor: Tensor) -> tuple[Tensor, Ints] | None:
    """The candidates of each entry (entries, width), if a tensor holds maxima of one block just as
    they are.
    """
    block = _just_picked(tensor)
    if block is None or block.before is None or not block.width:
        return None
    leaders = scipy.sparse.csr_array(tensor.parts[0][1]).indices
    return block.before.reshape((-1,)), leaders[:, None] + np.arange(block.width)


def _just_picked(tensor: Tensor) -> Block | None:
    """The block of which a tensor holds outputs just as they are."""
    if len(tensor.parts) != 1 or tensor.offset.any():
        return None
    ((block, matrix),) = tensor.parts
    rows = scipy.sparse.csr_array(matrix)
    picked = (np.diff(rows.indptr) == 1).all() and (rows.data == 1).all()
    return block if picked else None


def _new(before: Tensor, relu: Bools, curve: str = "") -> Tensor:
    """A block of new units, one for each entry."""
    block = Block(before.size, before, relu, curve)
    return Tensor(((block, identity(before.size)),), np.zeros(before.size), before.shape)


def through(state: Tensor, step: Step) -> Tensor:
    """What a step without curves gives, its maxima as tournaments of relus."""
    z = state.affine(step.weight, (len(step.bias),), step.bias)
    given = _new(z, step.relu) if step.bent.any() else z
    # the last entry is 0
    parts = [given, z.pick(np.array([-1]))]
    places = np.arange(z.size)
    for group in step.maxima:
        places[group], places[group[0]] = z.size, z.size + len(parts) - 1
        parts.append(z._tournament(group[None], (1,)))
    return concatenate(parts).pick(places)


def _kernel_rows(kernel: Floats, seen: Ints, places: int, groups: int, size: int) -> Any:
    """A row (outputs · places, size) for each output at each place: the kernel, where it sees the
    input.
    """
    outputs = len(kernel) // groups
    columns = (
        seen.reshape(groups, kernel.shape[1], places, -1)
        .transpose(0, 2, 1, 3)
        .reshape(groups, 1, places, -1)
    )
    index = np.broadcast_to(columns, (groups, outputs, places, columns.shape[-1]))
    data = np.broadcast_to(kernel.reshape(groups, outputs, 1, -1), index.shape)
    return sparse_rows(index.reshape(-1, index.shape[-1]), data.reshape(-1, index.shape[-1]), size)

"""Graph: layers of any network, in any order and with any branches, lowered to the steps of the normal form.

A Tensor is an affine function of the units computed so far. Affine layers only change that function; relus, maxima
and smooth curves make a new block of units. At the end every block gets the earliest round in which all it needs is
known, and `steps` writes one step per round, passing on whatever a later round still needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy  # its subpackages load on first use, which keeps `import suffice` quick
from numpy.typing import ArrayLike

from suffice.model.curves import CURVES
from suffice.model.step import Bools, Floats, Ints, Step, compact

Axes: TypeAlias = int | tuple[int, ...] | None
PerAxis: TypeAlias = int | Sequence[int]
Padding: TypeAlias = int | Sequence[int] | Sequence[tuple[int, int]]

MOST_UNITS = 2**22  # entries of one tensor
MOST_ENTRIES = 2**27  # that are not zero in the matrix of one
PAIR = 2  # entries of which the maximum is written as a + relu(b - a)
MOST_SHARES = 64  # of one softmax: it takes the square of that many units


@dataclass(frozen=True, eq=False)
class Block:
    """Units that are made in one round from a tensor of earlier units; the input has round 0 and comes from None.

    With a `width` they are candidates of maxima, so many next to each other for each; the first gives the largest.
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
        return _index(self.shape)

    # --- affine maps ---

    def affine(self, matrix: Floats, shape: tuple[int, ...], offset: Floats | float = 0.0) -> Tensor:
        """matrix @ self + offset; the matrix may be sparse."""
        if np.ndim(offset) and np.shape(offset) != matrix.shape[:1]:  # never broadcast a bias
            raise ValueError(f"a bias of {np.shape(offset)} for {matrix.shape[0]} outputs")
        if math.prod(shape) != matrix.shape[0]:
            raise ValueError(f"{matrix.shape[0]} outputs do not make a shape of {shape}")
        affordable(sum(_entries(matrix, part) for _, part in self.parts), MOST_ENTRIES)
        parts = tuple((block, matrix @ part) for block, part in self.parts)
        return Tensor(parts, np.asarray(matrix @ self.offset + offset), shape)

    def pick(self, index: Ints) -> Tensor:
        """The entries at flat places `index`, in its shape; -1 gives 0."""
        flat = np.asarray(index, dtype=np.int64)
        if flat.size and not (flat.min() >= -1 and flat.max() < self.size):
            raise ValueError(f"there are {self.size} entries to pick from")
        rows = _rows(np.where(flat < 0, self.size, flat).reshape(-1, 1), np.ones((flat.size, 1)), self.size + 1)
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
        array = _array(factor)
        wide = self.broadcast(np.broadcast_shapes(self.shape, array.shape))
        diagonal = scipy.sparse.diags_array(np.broadcast_to(array, wide.shape).ravel(), format="csr")
        return wide.affine(diagonal, wide.shape)

    def shift(self, offset: ArrayLike) -> Tensor:
        """Plus a constant, both broadcast."""
        array = _array(offset)
        wide = self.broadcast(np.broadcast_shapes(self.shape, array.shape))
        return Tensor(wide.parts, wide.offset + np.broadcast_to(array, wide.shape).ravel(), wide.shape)

    def linear(self, weight: ArrayLike, bias: ArrayLike | None = None) -> Tensor:
        """weight @ x + bias over the last axis; weight is (out, in)."""
        w = _array(weight)
        if w.ndim != 2 or self.shape[-1:] != w.shape[1:]:
            raise ValueError(f"a weight of {w.shape} for a last axis of {self.shape[-1:]}")
        if bias is not None and np.shape(bias) != w.shape[:1]:
            raise ValueError(f"a bias of {np.shape(bias)} for {len(w)} outputs")
        lead = self.shape[:-1]
        affordable(math.prod(lead) * w.size, MOST_ENTRIES)
        matrix = w if math.prod(lead) == 1 else scipy.sparse.kron(scipy.sparse.eye_array(math.prod(lead)), w, "csr")
        out = self.affine(matrix, (*lead, len(w)))
        return out if bias is None else out.shift(bias)

    def matmul(self, matrix: ArrayLike) -> Tensor:
        return self.linear(_array(matrix).T)

    def sum(self, axes: Axes = None, keepdims: bool = False) -> Tensor:
        return self._reduce(axes, keepdims, lambda windows: np.ones(windows.shape))

    def mean(self, axes: Axes = None, keepdims: bool = False) -> Tensor:
        return self._reduce(axes, keepdims, lambda windows: np.full(windows.shape, 1 / windows.shape[1]))

    def _reduce(self, axes: Axes, keepdims: bool, weights: Callable[[Ints], Floats]) -> Tensor:
        windows, shape = self._groups(axes, keepdims)
        return self.affine(_rows(windows, weights(windows), self.size), shape)

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
        return groups, tuple(1 if i in gone else n for i, n in enumerate(self.shape)) if keepdims else tuple(lead)

    def per_channel(self, scale: ArrayLike, shift: ArrayLike, axis: int = 0) -> Tensor:
        """A factor and a constant for each place along one axis, as batch norm has them once trained."""
        wide = [1] * len(self.shape)
        wide[axis] = self.shape[axis]
        factor, offset = _array(scale), _array(shift)
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
        w = _array(weight)
        b = np.zeros(len(w)) if bias is None else _array(bias)
        if b.shape != w.shape[:1] or w.ndim != len(self.shape) + 1:
            raise ValueError(f"a kernel of {w.shape} and a bias of {b.shape} do not go with it")
        if groups < 1 or len(w) % groups or self.shape[0] != w.shape[1] * groups:
            raise ValueError(f"the kernel {w.shape} needs {w.shape[1]} input channels in each of {groups} groups")
        views = self._views(w.shape[2:], stride, padding, dilation)  # (channels, *places, *kernel)
        places = views.shape[1 : len(self.shape)]
        affordable(w.size * math.prod(places), MOST_ENTRIES)
        grouped = views.reshape(groups, w.shape[1], math.prod(places), -1).transpose(0, 2, 1, 3)
        columns = grouped.reshape(groups, math.prod(places), -1)
        kernel = w.reshape(groups, len(w) // groups, 1, -1)
        index = np.broadcast_to(columns[:, None], (groups, len(w) // groups, *columns.shape[1:]))
        data = np.broadcast_to(kernel, index.shape)
        rows = _rows(index.reshape(-1, index.shape[-1]), data.reshape(-1, index.shape[-1]), self.size + 1)
        offset = np.repeat(b, math.prod(places))
        return self.affine(rows[:, : self.size], (len(w), *places), offset)

    def max_pool(
        self,
        size: PerAxis,
        stride: PerAxis | None = None,
        padding: Padding = 0,
        dilation: PerAxis = 1,
        ceil: bool = False,
    ) -> Tensor:
        """Maximum over windows of the axes after the first; padding never wins."""
        windows, shape = self._windows(size, stride, padding, dilation, ceil)
        return self._maxima(_filled(windows, self.size), shape)

    def average_pool(
        self,
        size: PerAxis,
        stride: PerAxis | None = None,
        padding: Padding = 0,
        ceil: bool = False,
        count_padding: bool = True,
    ) -> Tensor:
        """Average over windows of the axes after the first; padding counts as zeros, or not at all."""
        windows, shape = self._windows(size, stride, padding, 1, ceil)
        real = windows < self.size  # beyond the padding (by `ceil`) nothing counts, as in torch
        counted = windows <= self.size if count_padding else real
        data = real / counted.sum(1, keepdims=True)
        rows = _rows(np.minimum(windows, self.size), data, self.size + 1)
        return self.affine(rows[:, : self.size], shape)

    def adaptive_pool(self, size: PerAxis, kind: str) -> Tensor:
        """Torch's adaptive pooling ("max" or "average") of the axes after the first to `size` places each."""
        result = self
        wanted = _per_axis(size, len(self.shape) - 1)
        for axis, many in enumerate(wanted, 1):
            result = result._adapt(axis, many, kind)
        return result

    def _adapt(self, axis: int, many: int, kind: str) -> Tensor:
        """Along one axis; averages of averages are averages, as all windows of an axis are weighted alike."""
        length = self.shape[axis]
        affordable(many * self.size)
        pieces = [self._slice(axis, i * length // many, -(-(i + 1) * length // many)) for i in range(many)]
        pooled = [p.max(axis, True) if kind == "max" else p.mean(axis, True) for p in pieces]
        return concatenate(pooled, axis)

    def _slice(self, axis: int, start: int, stop: int) -> Tensor:
        return self[tuple([slice(None)] * axis + [slice(start, stop)])]

    def _windows(
        self, size: PerAxis, stride: PerAxis | None, padding: Padding, dilation: PerAxis, ceil: bool
    ) -> tuple[Ints, tuple[int, ...]]:
        count = len(self.shape) - 1
        window = _per_axis(size, count)
        step = window if stride is None else _per_axis(stride, count)
        views = self._views(window, step, padding, dilation, ceil)
        shape = views.shape[: count + 1]
        affordable(views.size, MOST_ENTRIES)
        return views.reshape(math.prod(shape), -1), shape

    def _views(
        self, window: Sequence[int], stride: PerAxis, padding: Padding, dilation: PerAxis, ceil: bool = False
    ) -> Ints:
        """(channels, *places, *window): flat places; `size` stands for padding and `size + 1` for what is beyond it."""
        count = len(self.shape) - 1
        steps, holes, margins = _per_axis(stride, count), _per_axis(dilation, count), _margins(padding, count)
        if count < 1 or len(window) != count or min((*window, *steps, *holes)) < 1:
            raise ValueError("the window and its stride must be at least 1 along every axis after the channels")
        affordable(self.shape[0] * math.prod(n + sum(m) for n, m in zip(self.shape[1:], margins, strict=True)))
        index = np.pad(self.places, [(0, 0), *margins], constant_values=self.size)
        reach = [(w - 1) * h + 1 for w, h in zip(window, holes, strict=True)]
        if ceil:
            spare = [_spare(*sizes) for sizes in zip(index.shape[1:], reach, steps, margins, strict=True)]
            index = np.pad(index, [(0, 0), *((0, s) for s in spare)], constant_values=self.size + 1)
        views = np.lib.stride_tricks.sliding_window_view(index, reach, tuple(range(1, count + 1)))
        strided = tuple(slice(None, None, s) for s in steps)
        return views[(slice(None), *strided, *(slice(None, None, h) for h in holes))]

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
        """1 / (1 + sum of exp(x_j - x_i) over the others j), which takes curves of one unit each."""
        groups, _ = self._groups(axis, True)
        count = groups.shape[1]
        if count > MOST_SHARES:
            raise ValueError(f"a softmax over {count} entries is too large: at most {MOST_SHARES} are supported")
        mine, other = np.nonzero(~np.eye(count, dtype=bool))
        gaps = subtract(self.pick(groups[:, other]), self.pick(groups[:, mine]))
        if count == 2:
            shares = gaps.scale(-1.0).curve("sigmoid")
        elif count == 1:
            shares = self.pick(groups).scale(0.0).shift(1.0)
        else:
            shares = gaps.curve("exp").reshape((len(groups), count, count - 1)).sum(2).curve("share")
        order = np.empty(self.size, dtype=np.int64)
        order[groups.ravel()] = np.arange(self.size)
        return shares.pick(order.reshape(self.shape))

    def max(self, axes: Axes = None, keepdims: bool = False) -> Tensor:
        return self._maxima(*self._groups(axes, keepdims))

    def _maxima(self, index: Ints, shape: tuple[int, ...]) -> Tensor:
        """max over windows: a unit of its own, or of two entries a + relu(b - a), whose bounds are tighter."""
        under, pooled = _under_relu(self), _under_max(self)
        if under is not None and index.shape[1] > 1:  # max of relus = relu of max: fewer units, and tighter bounds
            return under._maxima(index, shape).relu()
        if pooled is not None and index.shape[1] > 1:  # max of maxima = max of all their candidates
            return _largest(pooled[0], pooled[1][index].reshape(len(index), -1), shape)
        return _largest(self, index, shape) if index.shape[1] > PAIR else self._tournament(index, shape)

    def _tournament(self, index: Ints, shape: tuple[int, ...]) -> Tensor:
        """max over windows with relus only: each round keeps a and adds relu(b - a)."""
        state = self
        while index.shape[1] > 1:
            pairs, count = index.shape[1] // 2, len(index)
            first, second = index[:, :pairs].ravel(), index[:, pairs : 2 * pairs].ravel()
            keep = np.concatenate([first, index[:, 2 * pairs :].ravel()])
            gain = subtract(state.pick(second), state.pick(first))
            both = concatenate([state.pick(keep), gain], 0)
            made = _new(both, np.arange(both.size) >= len(keep))
            gains = np.full(len(keep), -1)
            gains[: len(first)] = len(keep) + np.arange(len(first))
            state = add(made.pick(np.arange(len(keep))), made.pick(gains))
            winners = np.arange(len(first)).reshape(count, pairs)
            index = np.concatenate([winners, len(first) + np.arange(len(keep) - len(first)).reshape(count, -1)], axis=1)
        return state.pick(index[:, 0].reshape(shape))


def start(shape: Sequence[int]) -> Tensor:
    """The input itself."""
    size = math.prod(shape)
    affordable(size)
    block = Block(size, None, np.zeros(size, dtype=bool))
    return Tensor(((block, _eye(size)),), np.zeros(size), tuple(shape))


def add(first: Tensor, second: Tensor) -> Tensor:
    shape = np.broadcast_shapes(first.shape, second.shape)
    first, second = first.broadcast(shape), second.broadcast(shape)
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
    return whole.reshape(index.shape) if (index.ravel() == np.arange(index.size)).all() else whole.pick(index)


def _part(tensor: Tensor, block: Block) -> Floats:
    found = dict(tensor.parts).get(block)
    empty: Floats = scipy.sparse.csr_array((tensor.size, block.size))
    return empty if found is None else found


def _stacked(parts: Sequence[Floats]) -> Floats:
    if len(parts) == 1:
        return parts[0]
    stacked: Floats = scipy.sparse.vstack([scipy.sparse.csr_array(part) for part in parts], format="csr")
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
    block = Block(index.size, before.reshape((-1,)).pick(index), np.zeros(index.size, dtype=bool), "", index.shape[1])
    leaders = np.arange(0, index.size, index.shape[1])[:, None]
    return Tensor(((block, _rows(leaders, np.ones(leaders.shape), block.size)),), np.zeros(len(index)), shape)


def _under_max(tensor: Tensor) -> tuple[Tensor, Ints] | None:
    """The candidates of each entry (entries, width), if a tensor holds maxima of one block just as they are."""
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
    return Tensor(((block, _eye(before.size)),), np.zeros(before.size), before.shape)


def through(state: Tensor, step: Step) -> Tensor:
    """What a step without curves gives, its maxima as tournaments of relus."""
    z = state.affine(step.weight, (len(step.bias),), step.bias)
    given = _new(z, step.relu) if step.bent.any() else z
    parts, places = [given, z.pick(np.array([-1]))], np.arange(z.size)  # the last entry is 0
    for group in step.maxima:
        places[group], places[group[0]] = z.size, z.size + len(parts) - 1
        parts.append(z._tournament(group[None], (1,)))
    return concatenate(parts).pick(places)


# --- from blocks to steps ---


def steps(scores: Tensor) -> tuple[Step, ...]:
    """The steps of the network whose outputs are `scores`."""
    last = Block(scores.size, scores, np.zeros(scores.size, dtype=bool))
    blocks = _relayed(_reachable(last))
    rounds = [[block for block in blocks if block.round == number] for number in range(last.round + 1)]
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
    """The same, but what has to wait for a later round waits as few numbers: a sum rather than its terms."""
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
    return Block(matrix.shape[0], before, np.zeros(matrix.shape[0], dtype=bool)), _eye(matrix.shape[0])


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
        return [
            scipy.sparse.csr_array(parts[own])[:, units] if own in parts
            else scipy.sparse.csr_array((block.size, len(units)))
            for own, units in self.units
        ]  # fmt: skip

    def passed(self, block: Block, units: Ints) -> list[Floats]:
        """Some units of a block of the layout, just as they are."""
        return [
            _rows(np.searchsorted(mine, units)[:, None], np.ones((len(units), 1)), len(mine)) if own is block
            else scipy.sparse.csr_array((len(units), len(mine)))
            for own, mine in self.units
        ]  # fmt: skip


def _step(made: Sequence[Block], carried: Sequence[tuple[Block, Ints]], layout: _Layout) -> Step:
    rows = [*(layout.row(block) for block in made), *(layout.passed(*pair) for pair in carried)]
    extra = sum(len(units) for _, units in carried)
    bias = [block.before.offset for block in made if block.before is not None]
    relu = [block.relu for block in made]
    starts = np.cumsum([0, *(block.size for block in made)])
    curves = [(b.curve, s + np.arange(b.size)) for b, s in zip(made, starts, strict=False) if b.curve]
    maxima = [(s + np.arange(b.size)).reshape(-1, b.width) for b, s in zip(made, starts, strict=False) if b.width]
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


# --- small things ---


def affordable(size: int, most: int = MOST_UNITS) -> None:
    """A ValueError instead of an array that no network here needs."""
    if size > most:
        raise ValueError(f"it would take {size} numbers at once, and at most {most} are supported")


def _entries(matrix: Any, part: Any) -> int:
    """At most so many numbers of the product are not zero."""
    if not (scipy.sparse.issparse(matrix) and scipy.sparse.issparse(part)):
        return int(matrix.shape[0] * part.shape[1])
    return int(np.diff(part.indptr)[matrix.indices].sum())


def _rows(index: Ints, data: Floats, columns: int) -> Floats:
    """A sparse matrix whose row i has data[i] in the columns index[i]."""
    pointers = np.arange(0, index.size + 1, index.shape[1])
    rows: Floats = scipy.sparse.csr_array((np.ravel(data), np.ravel(index), pointers), (len(index), columns))
    return rows


def _eye(size: int) -> Floats:
    eye: Floats = scipy.sparse.eye_array(size, format="csr")
    return eye


def _index(shape: tuple[int, ...]) -> Ints:
    return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)


def _per_axis(value: PerAxis, count: int) -> tuple[int, ...]:
    values = (value,) * count if isinstance(value, int) else tuple(value)
    if len(values) != count:
        raise ValueError(f"{value} does not have one number for each of {count} axes")
    return values


def _margins(padding: Padding, count: int) -> list[tuple[int, int]]:
    sides: tuple[Any, ...] = (padding,) * count if isinstance(padding, int) else tuple(padding)
    pairs = [(side, side) if isinstance(side, int) else (side[0], side[1]) for side in sides]
    if len(pairs) != count or any(min(pair) < 0 for pair in pairs):
        raise ValueError(f"a padding of {padding} does not go with {count} axes")
    return pairs


def _spare(length: int, reach: int, step: int, margin: tuple[int, int]) -> int:
    """Cells to add at the end so that the last window fits, if it starts inside the input or its left padding."""
    more = -(-max(0, length - reach) // step)
    if more * step >= length - margin[1]:
        more -= 1
    return max(0, more * step + reach - length)


def _filled(windows: Ints, size: int) -> Ints:
    """Windows in which padding is replaced by an entry that is there, which changes no maximum."""
    real = windows < size
    if not real.any(1).all():
        raise ValueError("a window lies in the padding only")
    spare = windows[np.arange(len(windows)), real.argmax(1)]
    return np.where(real, windows, spare[:, None])


def _array(values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("it holds a weight that is not a finite number")
    return array

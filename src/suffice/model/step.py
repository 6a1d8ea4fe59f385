"""Step: one round of the normal form: an affine map, then relu, a smooth curve or nothing on each
unit, and maxima.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
import scipy  # its subpackages load on first use, which keeps `import suffice` quick
from numpy.typing import NDArray

from suffice.errors import ModelError
from suffice.model.curves import CURVES

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
Array = TypeVar("Array", Floats, Bools, Ints)

# The largest weight, bias or coordinate of a word: all of single precision, and far from where sums
# of products of them leave double precision.
LARGEST = 2.0**128
# A matrix this empty and this large is kept sparse: below that, dense products are faster.
SPARSE_DENSITY = 0.1
SPARSE_SIZE = 250_000
KEPT = 10**5  # weights whose magnitudes are kept, since they are asked for again and again
SINGLY = 4  # vectors up to which products with sparse weights are quicker one by one
RUNS = 16  # of groups of the same size, up to which each run is looked at as an array of its own


class Groups:
    """Groups of units of which only the largest value counts: its first unit gives it, the others
    give 0.
    """

    def __init__(self, maxima: Sequence[Ints], units: int) -> None:
        sizes = np.array([len(group) for group in maxima], dtype=np.int64)
        # the candidates, group by group
        self.units = np.concatenate([np.zeros(0, dtype=np.int64), *maxima])
        self.starts = np.cumsum(sizes) - sizes
        self.leaders = self.units[self.starts]
        self.group = np.repeat(np.arange(len(sizes)), sizes)  # of each candidate
        self.owner = np.arange(units)  # of each unit of the step: the first of its group, or itself
        self.owner[self.units] = self.leaders[self.group]
        self.rest = np.setdiff1d(self.units, self.leaders)

    def highest(self, values: Floats) -> Floats:
        """The largest of each group (..., groups), of values of candidates (..., candidates)."""
        return np.asarray(np.maximum.reduceat(values, self.starts, axis=-1))

    def total(self, values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, self.starts, axis=-1))

    def put(self, values: Floats, into: Floats) -> None:
        """Write one value per group where its first unit is, and zeros at its others."""
        into[..., self.rest] = 0.0
        into[..., self.leaders] = values

    def among(self, values: Floats) -> Floats:
        """The values of the candidates (..., candidates), group by group, of those of all units
        (..., units).
        """
        return (
            values
            if self._in_order and values.shape[-1] == len(self.units)
            else values[..., self.units]
        )

    @cached_property
    def _in_order(self) -> bool:
        return bool((np.diff(self.units, prepend=-1) == 1).all())

    def best(self, values: Floats) -> Ints:
        """Where the largest of each group, the first of equal ones, stands among the candidates:
        (..., groups).
        """
        if len(self._runs) > RUNS:
            return self._firsts(values == self.highest(values)[..., self.group])
        lead = values.shape[:-1]
        found = [values[..., part].reshape(*lead, -1, size).argmax(-1) for part, size in self._runs]
        return np.asarray(np.concatenate(found, axis=-1) + self.starts)

    def _firsts(self, marks: Bools) -> Ints:
        """Where the first of the marked candidates of each group stands; behind all of them where
        there is none.
        """
        order = np.where(marks, np.arange(len(self.units)), len(self.units))
        return np.asarray(np.minimum.reduceat(order, self.starts, axis=-1))

    @cached_property
    def _runs(self) -> list[tuple[slice, int]]:
        """Where neighbouring groups of the same size stand, and that size."""
        ends = np.append(self.starts, len(self.units))
        sizes = np.diff(ends)
        borders = [*np.flatnonzero(np.diff(sizes, prepend=-1)).tolist(), len(sizes)]
        return [(slice(ends[a], ends[b]), int(sizes[a])) for a, b in itertools.pairwise(borders)]

    def winners(self, values: Floats) -> Bools:
        """The candidates (..., candidates) that are the largest of their groups; of equal ones the
        first.
        """
        found = np.zeros(values.shape, dtype=bool)
        np.put_along_axis(found, self.best(values), True, axis=-1)
        return found

    def first(self, marks: Bools) -> Bools:
        """Of the marked candidates the first of each group."""
        places = np.arange(len(self.units))
        return np.asarray(marks & (places == self._firsts(marks)[..., self.group]))


@dataclass(frozen=True, eq=False)
class Step:
    """z = weight @ h + bias, then relu where `relu` is True, the named curves at their units, and
    maxima.

    `weight` is a NumPy or a SciPy CSR array; `curves` holds (name, units) pairs, units in order. Of
    each group of `maxima` the first unit gives the largest z of the group, and the others give 0.
    """

    weight: Floats
    bias: Floats
    relu: Bools
    curves: tuple[tuple[str, Ints], ...] = ()
    maxima: tuple[Ints, ...] = ()

    def apply(self, values: Floats) -> Floats:
        """The pre-activations z for a batch (n, inputs) of values h."""
        z = np.asarray((self.weight @ values.T).T)
        return np.add(z, self.bias, out=z)

    def activate(self, z: Floats) -> Floats:
        """What the units give when their sums are z."""
        values = np.zeros_like(z) if self._all_pooled else np.maximum(z, self._floor)
        for name, units in self.curves:
            values[..., units] = CURVES[name].value(z[..., units])
        if self.groups is not None:
            self.groups.put(self.groups.highest(self.groups.among(z)), values)
        return values

    def onward(self, z: Floats, after: Step) -> Floats:
        """What the next step sums up (n, units of it), up to the last digits, from sums z (n,
        units) of this one.
        """
        if not self._all_pooled or is_sparse(after.weight):
            return after.apply(self.activate(z))
        assert self.groups is not None
        return np.asarray(
            self.groups.highest(self.groups.among(z)) @ after.weight[:, self.groups.leaders].T
            + after.bias
        )

    def backward(self, back: Floats, z: Floats, after: Step) -> Floats:
        """Slopes over sums z (n, units) of this step, by those (n, units of it) over the sums of
        the next.
        """
        if not self._all_pooled or is_sparse(after.weight):
            return np.asarray(self.spread(np.asarray(back @ after.weight)) * self.slopes(z))
        assert self.groups is not None
        found = np.zeros_like(z)
        winners = self.groups.units[self.groups.best(self.groups.among(z))]
        np.put_along_axis(found, winners, back @ after.weight[:, self.groups.leaders], axis=-1)
        return found

    def inward(self, back: Floats, z: Floats, after: Step) -> Floats:
        """The same over what this step receives: of maxima, only the rows of winners
        are looked at.
        """
        if not self._all_pooled or is_sparse(after.weight) or is_sparse(self.weight):
            return np.asarray(self.backward(back, z, after) @ self.weight)
        assert self.groups is not None
        winners = self.groups.units[self.groups.best(self.groups.among(z))]
        pull = back @ after.weight[:, self.groups.leaders]
        return np.asarray(np.matmul(pull[:, None], self.weight[winners])[:, 0])

    def slopes(self, z: Floats) -> Floats | Bools:
        """The derivative of each unit's activation at z (of a maximum: 1 at its winner); 0 and 1
        are booleans.
        """
        on = ~(self.relu & (z <= 0))
        if self.groups is not None:
            on[..., self.groups.units] = self.groups.winners(self.groups.among(z))
        if not self.curves:
            return on
        slopes = on.astype(np.float64)
        for name, units in self.curves:
            slopes[..., units] = CURVES[name].slope(z[..., units])
        return slopes

    def range(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Outer bounds of the activations while z lies in [low, high]."""
        least, most = (np.where(self.relu & (side < 0), 0.0, side) for side in (low, high))
        for name, units in self.curves:
            least[..., units], most[..., units] = CURVES[name].range(
                low[..., units], high[..., units]
            )
        if self.groups is not None:
            self.groups.put(self.groups.highest(low[..., self.groups.units]), least)
            self.groups.put(self.groups.highest(high[..., self.groups.units]), most)
        return least, most

    def spread(self, rows: Floats) -> Floats:
        """Rows over what the step gives as rows over its units: a maximum's coefficient goes to all
        its candidates.
        """
        return rows if self.groups is None else rows[..., self.groups.owner]

    @cached_property
    def _floor(self) -> Floats:
        """Zero where a unit is a relu, and otherwise nothing."""
        return np.where(self.relu, 0.0, -np.inf)

    @cached_property
    def groups(self) -> Groups | None:
        return Groups(self.maxima, len(self.bias)) if self.maxima else None

    @cached_property
    def pooled(self) -> Bools:
        """The units that are candidates of a maximum."""
        mask = np.zeros(len(self.bias), dtype=bool)
        if self.groups is not None:
            mask[self.groups.units] = True
        return mask

    @cached_property
    def _all_pooled(self) -> bool:
        return bool(self.pooled.all())

    @cached_property
    def curved(self) -> Bools:
        """The units with a smooth curve."""
        mask = np.zeros(len(self.bias), dtype=bool)
        for _, units in self.curves:
            mask[units] = True
        return mask

    @cached_property
    def bent(self) -> Bools:
        """The units that are not simply passed on."""
        return self.relu | self.curved | self.pooled

    def dense(self) -> Floats:
        """The weight as an ordinary array."""
        return np.asarray(self.weight.toarray()) if is_sparse(self.weight) else self.weight  # type: ignore[attr-defined]

    def only(self, kept: Ints) -> Step:
        """The step with these units only, in order; the first of each maximum has to be
        among them.
        """
        place = np.full(len(self.bias), -1)
        place[kept] = np.arange(len(kept))
        maxima = tuple(group[group >= 0] for group in (place[group] for group in self.maxima))
        curves = tuple((name, place[units]) for name, units in self.curves)
        return Step(self.weight[kept], self.bias[kept], self.relu[kept], curves, maxima)

    def by_word(self, words: int) -> list[tuple[Ints, Floats]]:
        """Of weights over so many words: for each word the units that see it, and their weights."""
        if words not in self._by_word:
            self._by_word[words] = self._seen_by_each(words)
        return self._by_word[words]

    def _seen_by_each(self, words: int) -> list[tuple[Ints, Floats]]:
        if not is_sparse(self.weight):
            blocks = self.weight.reshape(len(self.bias), words, -1).transpose(1, 0, 2)
            return [
                (units, block[units])
                for block in blocks
                for units in [np.flatnonzero(block.any(-1))]
            ]
        columns = scipy.sparse.csc_array(self.weight)
        size = self.weight.shape[1] // words
        columns.sum_duplicates()
        return [_seen_by(columns, i * size, size) for i in range(words)]

    @cached_property
    def _by_word(self) -> dict[int, list[tuple[Ints, Floats]]]:
        return {}

    def by_moving(self, word: int, words: int, moves: Floats) -> Floats:
        """What moving one of so many words by moves (n, dimension) adds to the units:
        (n, units).
        """
        if not is_sparse(self.weight):
            return np.asarray(moves @ self.weight.reshape(len(self.bias), words, -1)[:, word].T)
        (units, block), found = self.by_word(words)[word], np.zeros((len(moves), len(self.bias)))
        found[:, units] = moves @ block.T
        return found

    def magnified(self, values: Floats) -> Floats:
        """What values (..., inputs) add up to where every weight counts by its size:
        (..., units).
        """
        parts = [self._magnitude] if self.weight.size <= KEPT else _sizes(self.weight)
        return np.concatenate([_product(part, values) for part in parts], axis=-1)

    @cached_property
    def _magnitude(self) -> Floats:
        return abs(self.weight)


def _seen_by(columns: Any, start: int, count: int) -> tuple[Ints, Floats]:
    """The units that see some neighbouring columns of a CSC array, and their weights (units,
    columns).
    """
    ends = columns.indptr[start : start + count + 1]
    rows = columns.indices[ends[0] : ends[-1]]
    seen = np.zeros(columns.shape[0], dtype=bool)
    seen[rows] = True
    units = np.flatnonzero(seen)
    weights = np.zeros((len(units), count))
    place = np.cumsum(seen) - 1
    weights[place[rows], np.repeat(np.arange(count), np.diff(ends))] = columns.data[
        ends[0] : ends[-1]
    ]
    return units, weights


def is_sparse(weight: Any) -> bool:
    """Whether a weight is one of SciPy's sparse arrays; asked so that these are loaded only where
    there are any.
    """
    return not isinstance(weight, np.ndarray) and bool(scipy.sparse.issparse(weight))


def _product(weight: Floats, values: Floats) -> Floats:
    """What weights make of values (..., inputs): singly where weights are sparse and values few,
    which is quicker.
    """
    if values.ndim == 1 or len(values) > SINGLY or not is_sparse(weight):
        return np.asarray((weight @ values.T).T)
    return np.stack([weight @ row for row in values])


def _sizes(weight: Floats) -> Iterator[Floats]:
    """The absolute weights, as many rows at a time as the processor keeps close by."""
    per = max(1, KEPT * weight.shape[0] // weight.size)
    for start in range(0, weight.shape[0], per):
        rows = slice(start, start + per)
        yield _csr_sizes(weight, rows) if is_sparse(weight) else np.abs(weight[rows])


def _csr_sizes(weight: Any, rows: slice) -> Floats:
    """Of some rows, with the columns as they are: copying these would take longer than all else."""
    ends = weight.indptr[rows.start : rows.stop + 1]
    mine = slice(ends[0], ends[-1])
    part = np.abs(weight.data[mine]), weight.indices[mine], ends - ends[0]
    found: Floats = scipy.sparse.csr_array(part, shape=(len(ends) - 1, weight.shape[1]))
    return found


def nonzero(weight: Floats) -> int:
    return int(weight.count_nonzero()) if is_sparse(weight) else int(np.count_nonzero(weight))  # type: ignore[attr-defined]


def compact(matrix: Floats) -> Floats:
    """Sparse where that pays, an ordinary array otherwise."""
    size = matrix.shape[0] * matrix.shape[1]
    if size >= SPARSE_SIZE and nonzero(matrix) < SPARSE_DENSITY * size:
        rows: Floats = scipy.sparse.csr_array(matrix)
        return rows
    full = matrix.toarray() if is_sparse(matrix) else matrix  # type: ignore[attr-defined]
    # one memory order, so that equal weights give equal scores to the last bit
    return np.ascontiguousarray(full)


def frozen(step: Step) -> Step:
    """The step with arrays of its own that cannot be written to."""
    weight = _fixed_rows(step.weight) if is_sparse(step.weight) else fixed(step.weight)
    curves = tuple((name, fixed(units)) for name, units in step.curves)
    return Step(
        weight,
        fixed(step.bias),
        fixed(step.relu),
        curves,
        tuple(fixed(group) for group in step.maxima),
    )


def fixed(array: Array) -> Array:
    """The array itself if nobody can write to it any more, otherwise a copy that nobody can."""
    if isinstance(array, np.ndarray) and array.base is None and not array.flags.writeable:
        return array
    copied = np.array(array, order="C")
    copied.setflags(write=False)
    return copied


def _fixed_rows(matrix: Floats) -> Floats:
    """CSR in its one canonical form: columns in order, none twice, no stored zeros."""
    parts = ("data", "indices", "indptr")
    if all(
        getattr(matrix, part).base is None and not getattr(matrix, part).flags.writeable
        for part in parts
    ):
        return matrix
    rows: Any = scipy.sparse.csr_array(matrix, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    # half the memory wherever they fit
    places = np.int32 if max(rows.nnz, *rows.shape) < 2**31 else np.int64
    rows.indices, rows.indptr = rows.indices.astype(places), rows.indptr.astype(places)
    for part in parts:
        setattr(rows, part, fixed(getattr(rows, part)))
    own: Floats = rows
    return own


def stored(weight: Floats) -> Floats:
    """The numbers that a weight holds, whether it is sparse or not."""
    return weight.data if is_sparse(weight) else weight  # type: ignore[return-value]


def within_reach(array: Floats) -> bool:
    """Whether every number is one that the arithmetic holds."""
    return bool((np.abs(array) <= LARGEST).all())  # NaN is not


def validated(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, once their shapes fit together and every number is finite."""
    for place, step in enumerate(steps):
        if (
            step.weight.ndim != 2
            or step.bias.shape != (step.weight.shape[0],)
            or step.relu.shape != step.bias.shape
        ):
            raise ModelError(
                f"Step {place} has a weight of {step.weight.shape} and a bias of {step.bias.shape}."
            )
        if place and step.weight.shape[1] != len(steps[place - 1].bias):
            raise ModelError(
                f"Step {place} takes {step.weight.shape[1]} values "
                f"but step {place - 1} gives {len(steps[place - 1].bias)}."
            )
        _validate_curves(place, step)
        if not (np.isfinite(stored(step.weight)).all() and np.isfinite(step.bias).all()):
            raise ModelError(f"Step {place} holds a weight that is not a finite number.")
    if not steps or steps[-1].bent.any() or len(steps[-1].bias) < 2:
        raise ModelError(
            "The last step must be affine and give one score for each of at least two labels."
        )
    return tuple(steps)


def _validate_curves(place: int, step: Step) -> None:
    taken = np.flatnonzero(step.relu).tolist()
    for group in step.maxima:
        if group.ndim != 1 or not len(group):
            raise ModelError(f"Step {place} has a maximum over nothing.")
        taken += group.tolist()
    for name, units in step.curves:
        if name not in CURVES:
            raise ModelError(
                f"Step {place} has a curve {name!r}; this version knows {', '.join(CURVES)}."
            )
        taken += units.tolist()
    if len(set(taken)) != len(taken) or not set(taken) <= set(range(len(step.bias))):
        raise ModelError(
            f"Step {place} has a unit with two activations, or one that does not exist."
        )

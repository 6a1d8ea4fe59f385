"""Small problems of every kind from a seed, and judges of an oracle's answers that share no code
with it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from suffice.model.classifier import Classifier
from suffice.model.network import (
    AvgPool,
    BatchNorm,
    Bools,
    Conv1d,
    Conv2d,
    Dense,
    Flatten,
    Floats,
    Grid,
    Layer,
    MaxPool,
    Mean,
    Network,
    Relu,
    Transpose,
)
from suffice.sets.perturbations import (
    Boxes,
    Deletion,
    EpsilonBall,
    KNNBox,
    KNNHull,
    Perturbation,
    WordSwap,
)
from suffice.sets.regions import Ball, Box, Choice, Hull, Region
from suffice.verify.contract import Budget, Problem, Proved, Refuted, Unknown, Verdict
from suffice.verify.nets.bounds_oracle import bounds_for
from suffice.verify.nets.crown import PreparedProblem

WORDS = tuple(f"w{i}" for i in range(8))
MANY = 256  # more vertices than this are sampled


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, some sets of free words to ask about, and whether its numbers are small integers
    (ties!).
    """

    name: str
    problem: Problem
    free: Bools
    whole: bool


# --- networks ---


class Maker:
    """Draws weights: of a normal distribution, or small integers."""

    def __init__(self, rng: np.random.Generator, whole: bool) -> None:
        self.rng = rng
        self.whole = whole

    def numbers(self, *shape: int) -> Floats:
        if self.whole:
            return self.rng.integers(-2, 3, shape).astype(float)
        return self.rng.standard_normal(shape)

    def dense(self, out: int, into: int) -> Dense:
        return Dense(self.numbers(out, into), self.numbers(out) / 2)

    def hidden(self) -> int:
        return int(self.rng.integers(1, 7))


# (maker, words, dimension) -> layers, their width
Stack = Callable[[Maker, int, int], tuple[list[Layer], int]]


def _linear(m: Maker, words: int, dimension: int) -> tuple[list[Layer], int]:
    return [Flatten()], words * dimension


def _dense_1(m: Maker, words: int, dimension: int) -> tuple[list[Layer], int]:
    width = m.hidden()
    return [m.dense(width, words * dimension), Relu()], width


def _dense_2(m: Maker, words: int, dimension: int) -> tuple[list[Layer], int]:
    first = m.hidden()
    second = m.hidden()
    return [m.dense(first, words * dimension), Relu(), m.dense(second, first), Relu()], second


def _conv1d(pool: Layer) -> Stack:
    def stack(m: Maker, words: int, dimension: int) -> tuple[list[Layer], int]:
        kernel = Conv1d(
            m.numbers(2, dimension, 2), m.numbers(2) / 2, padding=int(m.rng.integers(2))
        )
        return [Transpose(), kernel, Relu(), pool], 2

    return stack


def _conv2d(m: Maker, words: int, dimension: int) -> tuple[list[Layer], int]:
    kernel = Conv2d(m.numbers(2, dimension, 2, 2), m.numbers(2) / 2, padding=(0, 1))
    return [Grid(2, words // 2), kernel, Relu(), MaxPool(), Flatten()], 2


def _maxpool(m: Maker, words: int, dimension: int) -> tuple[list[Layer], int]:
    return [Transpose(), MaxPool()], dimension


def _pooled(m: Maker, words: int, dimension: int) -> tuple[list[Layer], int]:
    """Maxima after relus, with and without a zero, and relus after maxima."""
    first = m.hidden() + 2
    second = m.hidden()
    pool: list[Layer] = [Transpose(), MaxPool(), m.dense(second, first), Relu()]
    kernel = Conv1d(m.numbers(first, dimension, 1), m.numbers(first) / 2)
    return [Transpose(), kernel, *([Relu()] if m.rng.random() < 0.5 else []), *pool[1:]], second


def _mean(m: Maker, words: int, dimension: int) -> tuple[list[Layer], int]:
    width = m.hidden()
    return [Mean(), m.dense(width, dimension), Relu()], width


def _batchnorm(m: Maker, words: int, dimension: int) -> tuple[list[Layer], int]:
    width = m.hidden()
    variance = np.ones(width) if m.whole else m.rng.uniform(0.3, 2, width)
    norm = BatchNorm(m.numbers(width), variance, m.numbers(width), m.numbers(width), eps=1e-3)
    return [m.dense(width, words * dimension), norm, Relu()], width


NETWORKS: dict[str, Stack] = {
    "linear": _linear,
    "dense-1": _dense_1,
    "dense-2": _dense_2,
    "conv1d-maxpool": _conv1d(MaxPool()),
    "conv1d-avgpool": _conv1d(AvgPool()),
    "conv2d": _conv2d,
    "maxpool": _maxpool,
    "pooled-dense": _pooled,
    "mean": _mean,
    "batchnorm": _batchnorm,
}


# --- perturbations ---


def _boxes(m: Maker, center: Floats) -> Perturbation:
    below, above = (
        np.abs(m.numbers(*center.shape)) * m.rng.integers(2, size=center.shape) for _ in "ab"
    )
    return Boxes(center - below / 2, center + above / 2)


def _swaps(m: Maker, center: Floats) -> Perturbation:
    counts = m.rng.integers(3, size=len(WORDS))
    picked = {
        word: m.rng.permutation(WORDS)[:n].tolist() for word, n in zip(WORDS, counts, strict=True)
    }
    return WordSwap(picked)


def _radius(m: Maker) -> float:
    return 0.5 if m.whole else float(m.rng.uniform(0.05, 1.0))


PERTURBATIONS: dict[str, Callable[[Maker, Floats], Perturbation]] = {
    "boxes": _boxes,
    "knn-box": lambda m, center: KNNBox(int(m.rng.integers(1, 4))),
    "knn-hull": lambda m, center: KNNHull(int(m.rng.integers(1, 4))),
    "ball-inf": lambda m, center: EpsilonBall(_radius(m)),
    "ball-1": lambda m, center: EpsilonBall(_radius(m), 1),
    "ball-2": lambda m, center: EpsilonBall(_radius(m), 2),
    "word-swap": _swaps,
    "deletion": lambda m, center: Deletion(),
}


# --- cases ---


def make_case(network: str, perturbation: str, seed: int, questions: int = 4) -> Case:
    """The case of a seed: its label's bias is shifted so that some set of free words is near the
    boundary.
    """
    rng = np.random.default_rng([seed, *map(ord, network + perturbation)])
    m = Maker(rng, whole=bool(rng.random() < 0.3))
    words = int(rng.choice([2, 4]))
    dimension = int(rng.integers(1, 4))
    classes = int(rng.integers(2, 5))
    layers, width = NETWORKS[network](m, words, dimension)
    last = Dense(m.numbers(classes, width), m.numbers(classes))
    table = m.numbers(len(WORDS) + 2, dimension)
    text = rng.permutation(WORDS)[:words].tolist()
    classifier = _classifier(Network.build([*layers, last], (words, dimension)), table, words)
    read = classifier.read(text)
    region = PERTURBATIONS[perturbation](m, classifier.embed(read)).around(classifier, read)
    label = int(classifier.network.forward(region.center).argmax())
    free = _questions(rng, words, questions)
    problem = Problem(classifier.network, region, label, np.ones(words, dtype=bool))
    bias = np.array(last.bias)
    bias[label] += _shift(m, problem, free[-1])
    shifted = Network.build([*layers, Dense(last.weight, bias)], (words, dimension))
    name = f"{network} {perturbation} seed={seed}"
    return Case(name, Problem(shifted, region, label, problem.features), free, m.whole)


def _classifier(network: Network, table: Floats, words: int) -> Classifier:
    labels = [f"label{i}" for i in range(network.outputs)]
    return Classifier(network, table, ("<PAD>", "<UNK>", *WORDS), labels, words)


def _questions(rng: np.random.Generator, words: int, count: int) -> Bools:
    free = rng.random((count, words)) < rng.uniform(0.3, 1.0)
    free[0] = True
    return free


def _shift(m: Maker, problem: Problem, free: Bools) -> float:
    lowest = float(problem.margins(samples(problem.region, free, m.rng)).min())
    if m.whole:
        return -round(lowest)
    spread = float(np.ptp(problem.margins(samples(problem.region, free, m.rng)))) + 1e-3
    return -lowest + float(m.rng.normal(0.0, 0.3)) * spread


def shifted(case: Case, shift: float) -> Case:
    """The same case with `shift` added to the label's score."""
    problem = case.problem
    *inner, last = problem.network.steps
    bias = last.bias.copy()
    bias[problem.label] += shift
    network = Network((*inner, replace(last, bias=bias)))
    return replace(case, problem=replace(problem, network=network))


def unstable(problem: Problem, free: Bools) -> list[int]:
    """How many relus can switch for each set of free words, as far as our bounds can tell."""
    loose = bounds_for(PreparedProblem.of(problem), free).unstable
    return [int(row.sum()) for row in loose[: len(free)]]


# --- brute force ---


def samples(region: Region, free: Bools, rng: np.random.Generator, count: int = 64) -> Floats:
    """Points of the region that change free words only: all of a finite set, else vertices and
    others.
    """
    points = [region.center[None], *_vertices(region, free, rng)]
    if not isinstance(region, Choice):
        points.append(region.sample(rng, count))
    moved = np.concatenate([np.broadcast_to(p, (len(p), *region.center.shape)) for p in points])
    return np.where(free[:, None], moved, region.center)


def _vertices(region: Region, free: Bools, rng: np.random.Generator) -> Iterator[Floats]:
    if isinstance(region, Hull | Choice):
        options = [range(region.points.shape[1]) if f else range(1) for f in free]
        picks = _products(options, rng, all_of_them=isinstance(region, Choice))
        yield region.points[np.arange(len(free)), picks]
    elif isinstance(region, Ball):
        yield region.minimiser(rng.standard_normal((MANY, *region.center.shape)))
    else:
        places = np.repeat(free, region.center.shape[1]) & (region.lower < region.upper).ravel()
        sides = _products([range(2) if p else range(1) for p in places], rng, all_of_them=False)
        yield np.where(sides.reshape(-1, *region.center.shape) == 1, region.upper, region.lower)


def _products(options: Sequence[range], rng: np.random.Generator, all_of_them: bool) -> Floats:
    """All combinations, or MANY random ones where they are more."""
    if all_of_them or np.prod([float(len(o)) for o in options]) <= MANY:
        return np.array(list(itertools.product(*options)))
    return np.stack([rng.integers(len(o), size=MANY) for o in options], axis=1)


def exact_margins(problem: Problem, point: Floats) -> list[Fraction]:
    """Margins of one input, in fractions."""
    values = [Fraction(v) for v in point.ravel().tolist()]
    for step in problem.network.steps:
        sums = [
            sum((Fraction(w) * v for w, v in zip(row, values, strict=True) if w), Fraction(b))
            for row, b in zip(step.dense().tolist(), step.bias.tolist(), strict=True)
        ]
        values = [max(s, Fraction(0)) if r else s for s, r in zip(sums, step.relu, strict=True)]
        for group in step.maxima:
            largest = max(sums[unit] for unit in group)
            for unit in group:
                values[unit] = largest if unit == group[0] else Fraction(0)
    return [values[problem.label] - values[j] for j in problem.rivals]


def flips(problem: Problem, point: Floats) -> bool:
    """Whether some rival reaches the label: by floats where they are clear, else in fractions."""
    lowest = float(problem.margins(point[None]).min())
    return lowest <= 0 if abs(lowest) > 1e-6 else min(exact_margins(problem, point)) <= 0


def flip_among(problem: Problem, points: Floats) -> Floats | None:
    """The lowest of the points, if it flips the label."""
    lowest = points[problem.margins(points).min(-1).argmin()]
    return lowest if flips(problem, lowest) else None


# --- judging answers ---


def complaint(case: Case, free: Bools, verdict: Verdict, known: Floats | None) -> str | None:
    """What is wrong with an answer, if anything; `known` is a point that flips the label, if one is
    known.
    """
    match verdict:
        case Refuted(witness=witness):
            return _witness_complaint(case.problem, free, witness.point, witness.shares)
        case Proved() if known is not None:
            return "proved, but a sampled point flips the label"
        case Proved() | Unknown():
            return None


def _witness_complaint(
    problem: Problem, free: Bools, point: Floats, shares: Floats | None
) -> str | None:
    if not inside(problem.region, point, shares)[free].all():
        return "the witness is outside the region"
    if (point != problem.center)[~free].any():
        return "the witness changes a fixed word"
    return None if flips(problem, point) else "the witness keeps the label"


def inside(region: Region, point: Floats, shares: Floats | None = None) -> Bools:
    """Which words of a point are in their sets, in exact arithmetic but for mixtures."""
    match region:
        case Box(lower=lower, upper=upper):
            return np.asarray(((lower <= point) & (point <= upper)).all(-1))
        case Ball(center=center, radius=radius, p=p):
            gaps = [
                [Fraction(v) - Fraction(x) for v, x in zip(*pair, strict=True)]
                for pair in _pairs(point, center)
            ]
            return np.array(
                [_norm(gap, p) <= Fraction(radius) ** (2 if p == 2 else 1) for gap in gaps]
            )
        case Choice(points=points) | Hull(points=points) if shares is None:
            return np.asarray((points == point[:, None]).all(-1).any(-1))
        case Hull(points=points):
            weights = shares / shares.sum(-1, keepdims=True).clip(1e-300)  # type: ignore[union-attr]
            close = np.abs(np.einsum("lm,lmd->ld", weights, points) - point).max(-1) <= 1e-9
            return np.asarray(close & (weights >= 0).all(-1))
    raise AssertionError(region)


def _pairs(point: Floats, center: Floats) -> Iterator[tuple[list[float], list[float]]]:
    return zip(point.tolist(), center.tolist(), strict=True)


def _norm(gap: list[Fraction], p: float) -> Fraction:
    """The norm, squared for p = 2."""
    if p == 2:
        return sum((g * g for g in gap), Fraction(0))
    return sum(map(abs, gap), Fraction(0)) if p == 1 else max(map(abs, gap))


# --- hidden bounds for a MILP that owes nothing to ours ---


def interval_bounds(
    form: PreparedProblem, free: Bools, budget: Budget | None = None
) -> SimpleNamespace:
    """Plain interval arithmetic, in the shape of `bounds_for` for one set of free words."""
    lower, upper = (
        np.where(free[0][:, None], side, form.problem.center).ravel()
        for side in _box(form.problem.region)
    )
    bounds = [(np.zeros(0), np.zeros(0))]
    for step in form.steps:
        weight = step.dense()
        up = np.maximum(weight, 0)
        down = np.minimum(weight, 0)
        below = up @ lower + down @ upper + step.bias
        above = up @ upper + down @ lower + step.bias
        bounds.append((below - 1e-9, above + 1e-9))
        lower, upper = (step.activate(side) for side in bounds[-1])
    rows = (np.concatenate(side)[None] for side in zip(*bounds, strict=True))
    return SimpleNamespace(**dict(zip(("lower", "upper"), rows, strict=True)))


def _box(region: Region) -> tuple[Floats, Floats]:
    match region:
        case Box(lower=lower, upper=upper):
            return lower, upper
        case Ball(center=center, radius=radius):
            return center - radius, center + radius
        case Hull(points=points) | Choice(points=points):
            return points.min(1), points.max(1)

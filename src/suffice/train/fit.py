"""Train small classifiers that can be explained with proof: fc and cnn, the embedding learned with
the task.

Four things make a network with its own weights for every position learn from little text. The
embedding starts from a bag of words, learned first, and from other texts too where they are given;
every text is set at a random place of the window; words are hidden at random behind <UNK>; and
embedded points are shaken. With `robust` the worst case over boxes around the words is learned as
well (see robust.py). The weights kept are a moving average, after the epoch that is best on dev. No
text of dev or test is trained on.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.errors import MissingExtra
from suffice.model.classifier import Classifier
from suffice.model.network import Conv2d, Dense, Flatten, Grid, Layer, Network, Relu
from suffice.train import robust as robustly
from suffice.train.data import PAD, UNKNOWN, Data, Example, encode, pieces, vocabulary
from suffice.train.recipe import Recipe, batch_of, steps_of

Tensor: TypeAlias = Any  # torch is optional, so its types are not known here
OnEpoch: TypeAlias = Callable[[float], None]

RATE = 3e-3
DECAY = 1e-4
INERTIA = 0.998
BAG_EPOCHS = 2
BAG_RATE = 1e-2


@dataclass(frozen=True)
class Trained:
    """The classifier, and its accuracy on train, dev and each test file."""

    classifier: Classifier
    accuracies: Mapping[str, float]


# --- training ---


def train(data: Data, recipe: Recipe, on_epoch: OnEpoch | None = None) -> Trained:
    """Train by `recipe`; `on_epoch` hears the accuracy on dev after every epoch, BAG_EPOCHS of them
    first.
    """
    torch = needs_torch()
    tell = on_epoch or (lambda accuracy: None)
    words = vocabulary([*data.train, *data.more], recipe.words)
    lookup = {word: index for index, word in enumerate(words)}
    with _deterministic(torch, recipe.seed):
        start = 0.3 * torch.randn(len(words), recipe.dimension)
        start[lookup[PAD]] = 0.0
        rows, dev, whole = (
            _tensors(torch, part, data.labels, lookup, recipe.length)
            for part in (data.train, data.dev, pieces([*data.train, *data.more], recipe.length))
        )
        bag = _bag(torch, start, len(data.labels), recipe)
        bag = _fit(torch, bag, whole, dev, recipe, BAG_EPOCHS, BAG_RATE, tell)
        model = _model(torch, bag.table.detach(), len(data.labels), recipe)
        model = _fit(torch, model, rows, dev, recipe, recipe.epochs_over(len(rows[0])), RATE, tell)
    classifier = Classifier(
        network=_network(model, recipe),
        embedding=_numpy(model.table),
        vocabulary=words,
        labels=data.labels,
        length=recipe.length,
        pad=PAD,
        unknown=UNKNOWN,
    )
    return _measured(classifier, data, recipe)


def needs_torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("train", "torch") from error
    return torch


@contextmanager
def _deterministic(torch: Any, seed: int) -> Iterator[None]:
    """One thread, deterministic algorithms and a seeded generator; all as before afterwards."""
    threads = torch.get_num_threads()
    strict = torch.are_deterministic_algorithms_enabled()
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            torch.set_num_threads(1)
            torch.use_deterministic_algorithms(True)
            yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict)


def _tensors(
    torch: Any,
    rows: Sequence[Example],
    labels: Sequence[str],
    lookup: Mapping[str, int],
    length: int,
) -> tuple[Tensor, Tensor]:
    classes = torch.tensor([labels.index(row.label) for row in rows])
    return torch.from_numpy(encode(rows, lookup, length)), classes


@dataclass
class _Model:
    """The embedding table, how a body wants the embedded words arranged, and that body."""

    table: Tensor
    arrange: Callable[[Tensor], Tensor]
    body: Any

    def parameters(self) -> list[Tensor]:
        return [self.table, *self.body.parameters()]

    def scores(self, numbers: Tensor, noise: float = 0.0) -> Tensor:
        """The outputs for word numbers (n, length), the embedded words shaken by `noise`; padding
        is zero.
        """
        points = self.table[numbers]
        if noise:
            points = points + noise * points.new_empty(points.shape).normal_()
        return self.body(self.arrange(points * (numbers > 0).unsqueeze(-1)))

    def accuracy(self, torch: Any, numbers: Tensor, classes: Tensor) -> float:
        with torch.no_grad():
            return float((self.scores(numbers).argmax(1) == classes).double().mean())


def _bag(torch: Any, table: Tensor, classes: int, recipe: Recipe) -> _Model:
    """A linear model of the sum of the words."""
    body = torch.nn.Linear(recipe.dimension, classes)
    return _Model(
        table.requires_grad_(), lambda points: points.sum(1) / math.sqrt(recipe.length), body
    )


def _model(torch: Any, table: Tensor, classes: int, recipe: Recipe) -> _Model:
    """The network that will be kept."""
    body = torch.nn.Sequential(*_layers(torch.nn, classes, recipe))
    if recipe.kind == "fc":
        return _Model(table.requires_grad_(), lambda points: points.flatten(1), body)
    shape = (recipe.dimension, *recipe.grid)
    return _Model(
        table.requires_grad_(), lambda points: points.transpose(1, 2).unflatten(2, shape[1:]), body
    )


def _layers(nn: Any, classes: int, recipe: Recipe) -> list[Any]:
    """Torch layers: for cnn a convolution over the grid first, then dense layers with relus
    between.
    """
    stack: list[Any] = []
    width = recipe.length * recipe.dimension
    if recipe.kind == "cnn":
        stack = [
            nn.Conv2d(recipe.dimension, recipe.filters, recipe.window),
            nn.ReLU(),
            nn.Flatten(),
        ]
        width = recipe.filters * math.prod(side - recipe.window + 1 for side in recipe.grid)
    for size in recipe.hidden:
        stack += [nn.Linear(width, size), nn.ReLU()]
        width = size
    return [*stack, nn.Linear(width, classes)]


def _fit(
    torch: Any,
    model: _Model,
    train: tuple[Tensor, Tensor],
    dev: tuple[Tensor, Tensor],
    recipe: Recipe,
    epochs: int,
    rate: float,
    on_epoch: OnEpoch,
) -> _Model:
    """Train all epochs; the averaged model after the epoch that is best on dev."""
    average = copy.deepcopy(model)
    best = average
    reached = -1.0
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=DECAY)
    paces = _paces(rate, epochs * steps_of(len(train[0])))
    robust = (
        robustly.parse(recipe.robust) if isinstance(model.body, torch.nn.Sequential) else None
    )  # not the bag
    for epoch in range(1, epochs + 1):
        _epoch(torch, optimizer, model, average, train, recipe, paces, robust)
        accuracy = average.accuracy(torch, *dev)
        early = robust is not None and epoch < epochs and not robustly.settled(epoch / epochs)
        if accuracy > reached and not early:
            best = copy.deepcopy(average)
            reached = accuracy
        on_epoch(accuracy)
    return best


class _Pace(NamedTuple):
    """The rate of a step, the average's inertia, and how far training has come."""

    rate: float
    inertia: float
    progress: float


def _paces(rate: float, steps: int) -> Iterator[_Pace]:
    """For every step its pace: the rate goes up within a tenth of the steps and then
    down to zero.
    """
    warm = min(200, steps // 10 + 1)
    for step in range(steps):
        slower = rate * min(1, (step + 1) / warm) * (1 - step / steps)
        yield _Pace(slower, min(INERTIA, (step + 1) / (step + 10)), step / steps)


def _epoch(
    torch: Any,
    optimizer: Any,
    model: _Model,
    average: _Model,
    train: tuple[Tensor, Tensor],
    recipe: Recipe,
    paces: Iterator[_Pace],
    robust: robustly.Robust | None,
) -> None:
    """Once over the training rows in random order, the average following."""
    numbers, classes = train
    boxes = None if robust is None else robustly.spread(torch, model.table, robust)
    for rows in torch.randperm(len(numbers)).split(batch_of(len(numbers))):
        pace = next(paces)
        optimizer.param_groups[0]["lr"] = pace.rate
        seen = _hide(torch, numbers[rows], recipe.drop)
        seen = _shift(torch, seen) if recipe.shift else seen
        loss = torch.nn.functional.cross_entropy(model.scores(seen, recipe.noise), classes[rows])
        if robust is not None and boxes is not None:
            scale = robustly.ramp(pace.progress)
            worst = robustly.worst_loss(torch, model, seen, classes[rows], boxes, scale)
            loss = torch.lerp(loss, worst, robust.share * scale)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        _follow(torch, average, model, pace.inertia)


def _hide(torch: Any, numbers: Tensor, share: float) -> Tensor:
    """Some words at random become the unknown word."""
    hidden = (torch.rand(numbers.shape) < share) & (numbers > 0)
    return torch.where(hidden, torch.ones_like(numbers), numbers)


def _shift(torch: Any, numbers: Tensor) -> Tensor:
    """Each text at a random place of the window, padding before and after it."""
    room = (numbers == 0).sum(1)
    start = (torch.rand(len(numbers)) * (room + 1)).long()
    source = torch.arange(numbers.shape[1]) - start.unsqueeze(1)
    return torch.where(
        source >= 0, numbers.gather(1, source.clamp(min=0)), torch.zeros_like(numbers)
    )


def _follow(torch: Any, average: _Model, model: _Model, inertia: float) -> None:
    """Move the average a little towards the model."""
    with torch.no_grad():
        for mean, value in zip(average.parameters(), model.parameters(), strict=True):
            mean.lerp_(value, 1 - inertia)


# --- from torch to a classifier ---


def _numpy(tensor: Tensor) -> NDArray[np.float64]:
    return np.asarray(tensor.detach().numpy(), dtype=np.float64)


def _network(model: _Model, recipe: Recipe) -> Network:
    layers: list[Layer] = [Grid(*recipe.grid)] if recipe.kind == "cnn" else [Flatten()]
    for layer in model.body:
        match type(layer).__name__:
            case "Conv2d":
                layers.append(Conv2d(_numpy(layer.weight), _numpy(layer.bias)))
            case "Linear":
                layers.append(Dense(_numpy(layer.weight), _numpy(layer.bias)))
            case "ReLU":
                layers.append(Relu())
            case "Flatten":
                layers.append(Flatten())
    return Network.build(layers, shape=(recipe.length, recipe.dimension))


def _measured(classifier: Classifier, data: Data, recipe: Recipe) -> Trained:
    """Accuracies of the classifier itself, in float64, not of the torch model; noted in
    its meta.
    """
    parts = {"train": data.train, "dev": data.dev, **data.tests}
    accuracies = {name: accuracy(classifier, rows) for name, rows in parts.items()}
    meta = {
        "recipe": asdict(recipe),
        "rows": {name: len(rows) for name, rows in parts.items()},
        "accuracy": {name: round(value, 4) for name, value in accuracies.items()},
    }
    return Trained(_with_meta(classifier, meta), accuracies)


def _with_meta(classifier: Classifier, meta: Mapping[str, Any]) -> Classifier:
    noted = copy.copy(classifier)
    object.__setattr__(noted, "meta", meta)
    return noted


def accuracy(classifier: Classifier, rows: Sequence[Example]) -> float:
    """The share of rows whose label the classifier predicts."""
    hits = 0
    for start in range(0, len(rows), 2048):
        part = rows[start : start + 2048]
        numbers = encode(part, classifier.lookup, classifier.length)
        winners = classifier.network.forward(classifier.table[numbers]).argmax(axis=-1)
        hits += sum(classifier.labels[w] == row.label for w, row in zip(winners, part, strict=True))
    return hits / len(rows)

"""Train small classifiers that can be explained with proof: fc and cnn, the embedding learned with the task.

Four things make a network with its own weights for every position learn from little text. The embedding
starts from a bag of words, learned first, and from other texts too where they are given; every text is set at
a random place of the window; words are hidden at random behind <UNK>; and embedded points are shaken. With
`robust` the worst case over boxes around the words is learned as well (see robust.py). The
weights kept are a moving average, after the epoch that is best on dev. No text of dev or test is trained on.
"""

from __future__ import annotations

import argparse
import copy
import csv
import gzip
import math
import random
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

from suffice.errors import InputError, MissingExtra
from suffice.model import text as texts
from suffice.model.classifier import Classifier
from suffice.model.network import Conv2d, Dense, Flatten, Grid, Layer, Network, Relu
from suffice.train import robust as robustly

Tensor: TypeAlias = Any  # torch is optional, so its types are not known here
OnEpoch: TypeAlias = Callable[[float], None]

PAD, UNKNOWN = "<PAD>", "<UNK>"
RATE, DECAY, INERTIA = 3e-3, 1e-4, 0.998
BAG_EPOCHS, BAG_RATE = 2, 1e-2
EPOCHS, STEPS = 10, 2_500  # at least, where the recipe does not say how often to go over the data


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides the weights, apart from the data."""

    kind: str = "fc"
    length: int = 25
    dimension: int = 5
    hidden: tuple[int, ...] = (32, 16)
    filters: int = 8
    window: int = 2
    epochs: int | None = None  # by the number of rows
    seed: int = 0
    drop: float = 0.3
    noise: float = 0.3
    shift: bool = True
    words: int = 20_000
    robust: str = ""

    def __post_init__(self) -> None:
        robustly.parse(self.robust)  # refuses what it cannot read
        if self.kind not in ("fc", "cnn"):
            raise InputError(f"The kind {self.kind!r} is unknown: use fc or cnn.")
        counts = (
            self.length,
            self.dimension,
            self.filters,
            self.window,
            1 if self.epochs is None else self.epochs,
            self.words,
            *self.hidden,
        )
        if min(counts) < 1:
            raise InputError("Length, dimension, hidden sizes, filters, window, epochs and words must be at least 1.")
        if not (0 <= self.drop < 1 and 0 <= self.noise < math.inf):
            raise InputError("The share of dropped words must be in [0, 1) and the noise must not be negative.")
        if self.kind == "cnn" and min(self.grid) < self.window:
            rows, columns = self.grid
            raise InputError(
                f"{self.length} words make a grid of {rows}×{columns}, too small for a window of "
                f"{self.window}: choose a length such as 16, 25 or 36."
            )

    def epochs_over(self, rows: int) -> int:
        """How often to go over so many rows: more often where there are few, or next to nothing would be learned."""
        return self.epochs or max(EPOCHS, math.ceil(STEPS / _steps(rows)))

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the most nearly square grid that the words fill."""
        rows = max(n for n in range(1, math.isqrt(self.length) + 1) if self.length % n == 0)
        return rows, self.length // rows


class Row(NamedTuple):
    """One labelled text."""

    text: str
    label: str


@dataclass(frozen=True)
class Data:
    """Rows to train on, to choose the epoch by and to report on, and more rows for the embedding alone."""

    train: Sequence[Row]
    dev: Sequence[Row]
    more: Sequence[Row] = ()
    tests: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trained:
    """The classifier, and its accuracy on train, dev and each test file."""

    classifier: Classifier
    accuracies: Mapping[str, float]


# --- data ---


def read_rows(path: str | Path) -> list[Row]:
    """The rows of a CSV file with the header text,label, plain or .gz."""
    opener = gzip.open if str(path).endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as stream:
            rows = _parse(csv.DictReader(stream, strict=True), str(path))
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"The file {str(path)!r} cannot be read as CSV: {error}.") from error
    if not rows:
        raise InputError(f"The file {str(path)!r} holds no rows.")
    return rows


def _parse(reader: csv.DictReader[str], path: str) -> list[Row]:
    if not {"text", "label"} <= set(reader.fieldnames or ()):
        raise InputError(f"The file {path!r} needs the header text,label; found {','.join(reader.fieldnames or ())!r}.")
    rows = []
    for fields in reader:
        if not fields["text"] or not fields["label"] or None in fields:
            raise InputError(f"Line {reader.line_num} of {path!r} needs one text and one label.")
        rows.append(Row(fields["text"], fields["label"].strip()))
    return rows


def prepare(
    train: Sequence[Row],
    dev: Sequence[Row] = (),
    more: Sequence[Row] = (),
    tests: Mapping[str, Sequence[Row]] | None = None,
    labels: Sequence[str] = (),
    seed: int = 0,
) -> Data:
    """Name the labels, split a tenth off as dev if none is given, learn from no row seen in dev or test."""
    names = _label_names({row.label for row in train}, labels)
    named = {name: name for name in names} | ({str(i): name for i, name in enumerate(names)} if labels else {})
    rest, chosen = (train, dev) if dev else _split(train, seed)
    held = {_key(row) for rows in (chosen, *(tests or {}).values()) for row in rows}
    kept = [row for row in rest if _key(row) not in held]
    if not kept or not chosen:
        raise InputError("There are too few rows: training needs some that are in neither dev nor test.")
    return Data(
        train=_relabel(kept, named),
        dev=_relabel(chosen, named),
        more=_relabel((row for row in more if _key(row) not in held), named),
        tests={name: _relabel(rows, named) for name, rows in (tests or {}).items()},
        labels=names,
    )


def _label_names(found: set[str], given: Sequence[str]) -> tuple[str, ...]:
    numeric = all(label.isdecimal() for label in found)
    names = tuple(given) or tuple(sorted(found, key=int if numeric else str))
    if len(set(names)) != len(names) or len(names) < 2:
        raise InputError(f"Training needs at least two different labels; found {', '.join(names)}.")
    return names


def _split(rows: Sequence[Row], seed: int) -> tuple[list[Row], list[Row]]:
    shuffled = list(rows)
    random.Random(seed).shuffle(shuffled)
    tenth = len(rows) // 10
    return shuffled[tenth:], shuffled[:tenth]


def _key(row: Row) -> tuple[str, ...]:
    return tuple(_tokens(row.text))


def _relabel(rows: Iterable[Row], named: Mapping[str, str]) -> list[Row]:
    try:
        return [Row(row.text, named[row.label]) for row in rows]
    except KeyError as error:
        expected = ", ".join(dict.fromkeys(named.values()))
        raise InputError(f"The label {error} is unknown: expected one of {expected}.") from error


def _tokens(text: str) -> list[str]:
    return [token for token, _, _ in texts.split(text)]


def _vocabulary(rows: Iterable[Row], most: int) -> list[str]:
    """The most frequent words that occur at least twice; a word seen once teaches only the unknown word."""
    counts = Counter(token for row in rows for token in _tokens(row.text))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return [PAD, UNKNOWN, *(word for word in ranked if counts[word] > 1)][: most + 2]


def _number(tokens: Sequence[str], lookup: Mapping[str, int], length: int) -> list[int]:
    """The numbers of the words, cut or padded at the end."""
    found = [lookup.get(token, lookup[UNKNOWN]) for token in tokens[:length]]
    return found + [lookup[PAD]] * (length - len(found))


def _encode(rows: Sequence[Row], lookup: Mapping[str, int], length: int) -> NDArray[np.int64]:
    """Word numbers (rows, length)."""
    return np.array([_number(_tokens(row.text), lookup, length) for row in rows])


def _pieces(rows: Iterable[Row], length: int) -> list[Row]:
    """Texts longer than the window as several, each with the label of the whole."""
    found = []
    for row in rows:
        tokens = _tokens(row.text)
        found += [Row(" ".join(tokens[i : i + length]), row.label) for i in range(0, len(tokens), length)]
    return found


# --- training ---


def train(data: Data, recipe: Recipe, on_epoch: OnEpoch | None = None) -> Trained:
    """Train by `recipe`; `on_epoch` hears the accuracy on dev after every epoch, BAG_EPOCHS of them first."""
    torch, tell = _torch(), on_epoch or (lambda accuracy: None)
    words = _vocabulary([*data.train, *data.more], recipe.words)
    lookup = {word: index for index, word in enumerate(words)}
    with _deterministic(torch, recipe.seed):
        start = 0.3 * torch.randn(len(words), recipe.dimension)
        start[lookup[PAD]] = 0.0
        rows, dev, whole = (
            _tensors(torch, part, data.labels, lookup, recipe.length)
            for part in (data.train, data.dev, _pieces([*data.train, *data.more], recipe.length))
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


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("train", "torch") from error
    return torch


@contextmanager
def _deterministic(torch: Any, seed: int) -> Iterator[None]:
    """One thread, deterministic algorithms and a seeded generator; all as before afterwards."""
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
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
    torch: Any, rows: Sequence[Row], labels: Sequence[str], lookup: Mapping[str, int], length: int
) -> tuple[Tensor, Tensor]:
    classes = torch.tensor([labels.index(row.label) for row in rows])
    return torch.from_numpy(_encode(rows, lookup, length)), classes


@dataclass
class _Model:
    """The embedding table, how a body wants the embedded words arranged, and that body."""

    table: Tensor
    arrange: Callable[[Tensor], Tensor]
    body: Any

    def parameters(self) -> list[Tensor]:
        return [self.table, *self.body.parameters()]

    def scores(self, numbers: Tensor, noise: float = 0.0) -> Tensor:
        """The outputs for word numbers (n, length), the embedded words shaken by `noise`; padding is zero."""
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
    return _Model(table.requires_grad_(), lambda points: points.sum(1) / math.sqrt(recipe.length), body)


def _model(torch: Any, table: Tensor, classes: int, recipe: Recipe) -> _Model:
    """The network that will be kept."""
    body = torch.nn.Sequential(*_layers(torch.nn, classes, recipe))
    if recipe.kind == "fc":
        return _Model(table.requires_grad_(), lambda points: points.flatten(1), body)
    shape = (recipe.dimension, *recipe.grid)
    return _Model(table.requires_grad_(), lambda points: points.transpose(1, 2).unflatten(2, shape[1:]), body)


def _layers(nn: Any, classes: int, recipe: Recipe) -> list[Any]:
    """Torch layers: for cnn a convolution over the grid first, then dense layers with relus between."""
    stack: list[Any] = []
    width = recipe.length * recipe.dimension
    if recipe.kind == "cnn":
        stack = [nn.Conv2d(recipe.dimension, recipe.filters, recipe.window), nn.ReLU(), nn.Flatten()]
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
    best, reached = average, -1.0
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=DECAY)
    paces = _paces(rate, epochs * _steps(len(train[0])))
    robust = robustly.parse(recipe.robust) if isinstance(model.body, torch.nn.Sequential) else None  # not the bag
    for epoch in range(1, epochs + 1):
        _epoch(torch, optimizer, model, average, train, recipe, paces, robust)
        accuracy = average.accuracy(torch, *dev)
        early = robust is not None and epoch < epochs and not robustly.settled(epoch / epochs)
        if accuracy > reached and not early:
            best, reached = copy.deepcopy(average), accuracy
        on_epoch(accuracy)
    return best


def _batch(rows: int) -> int:
    """Rows per step: few where there are few, so that there are steps enough."""
    return min(256, max(32, rows // 200))


def _steps(rows: int) -> int:
    """Steps per epoch."""
    return math.ceil(rows / _batch(rows))


class _Pace(NamedTuple):
    """The rate of a step, the average's inertia, and how far training has come."""

    rate: float
    inertia: float
    progress: float


def _paces(rate: float, steps: int) -> Iterator[_Pace]:
    """For every step its pace: the rate goes up within a tenth of the steps and then down to zero."""
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
    for rows in torch.randperm(len(numbers)).split(_batch(len(numbers))):
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
    return torch.where(source >= 0, numbers.gather(1, source.clamp(min=0)), torch.zeros_like(numbers))


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
    """Accuracies of the classifier itself, in float64, not of the torch model; noted in its meta."""
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


def accuracy(classifier: Classifier, rows: Sequence[Row]) -> float:
    """The share of rows whose label the classifier predicts."""
    hits = 0
    for start in range(0, len(rows), 2048):
        part = rows[start : start + 2048]
        numbers = _encode(part, classifier.lookup, classifier.length)
        winners = classifier.network.forward(classifier.table[numbers]).argmax(axis=-1)
        hits += sum(classifier.labels[w] == row.label for w, row in zip(winners, part, strict=True))
    return hits / len(rows)


# --- the command ---


def add_train_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `suffice train`."""
    plain = Recipe()
    add = parser.add_argument
    add(
        "data",
        nargs="+",
        metavar="DATA.csv",
        help="training rows (text,label; .csv or .csv.gz); a file given twice counts twice",
    )
    add("--out", required=True, metavar="FOLDER", help="where the classifier is saved")
    add(
        "--kind",
        choices=("fc", "cnn"),
        default=plain.kind,
        help="fully connected, or a convolution over a grid of words",
    )
    add("--length", type=int, default=plain.length, help="words the classifier sees (default %(default)s)")
    add("--dimension", type=int, default=plain.dimension, help="size of the embedding (default %(default)s)")
    add("--hidden", type=_sizes, default=plain.hidden, metavar="N,N", help="hidden sizes (default 32,16)")
    add("--filters", type=int, default=plain.filters, help="cnn: filters (default %(default)s)")
    add("--window", type=int, default=plain.window, help="cnn: side of a filter (default %(default)s)")
    add("--epochs", type=int, help=f"times over the data (default {EPOCHS}, more where rows are few)")
    add(
        "--seed",
        type=int,
        default=plain.seed,
        help="the same seed gives the same weights (default %(default)s)",
    )
    add(
        "--drop",
        type=float,
        default=plain.drop,
        help="share of words hidden in training (default %(default)s)",
    )
    add(
        "--noise",
        type=float,
        default=plain.noise,
        help="how much embeddings are shaken (default %(default)s)",
    )
    add("--no-shift", dest="shift", action="store_false", help="texts always start at the first position")
    add("--words", type=int, default=plain.words, help="most words in the vocabulary (default %(default)s)")
    add(
        "--robust",
        default=plain.robust,
        metavar="EPS|knn:K[:SHARE]",
        help="also learn the worst case over boxes of radius EPS around the words, or around the K nearest words, as "
        f"this share of the loss (default {robustly.SHARE:g}): explanations get shorter, with a large share at some "
        "accuracy",
    )
    add("--more", metavar="FILE", help="more rows with these labels, of which only the words are learned")
    add("--dev", metavar="FILE", help="rows to choose the epoch by (default: a tenth of DATA)")
    add(
        "--test",
        action="append",
        default=[],
        metavar="FILE",
        help="rows to report accuracy on; may be repeated",
    )
    add("--labels", metavar="A,B", help="names of the labels 0, 1, ... (default: as in the file)")


def run_train(args: argparse.Namespace) -> int:
    """`suffice train`: read, train under a progress bar, save, print the accuracies."""
    recipe = Recipe(**{name: getattr(args, name) for name in Recipe.__slots__})
    _torch()  # a missing extra is said before the files are read
    data = prepare(
        [row for path in args.data for row in read_rows(path)],
        read_rows(args.dev) if args.dev else (),
        read_rows(args.more) if args.more else (),
        {_stem(path): read_rows(path) for path in args.test},
        args.labels.split(",") if args.labels else (),
        recipe.seed,
    )
    trained = _with_bar(data, recipe)
    trained.classifier.save(args.out)
    card = Path(args.out) / "README.md"
    if not card.exists():
        card.write_text(model_card(trained, recipe, args), encoding="utf-8", newline="\n")
    print("  ".join(f"{name} {value:.4f}" for name, value in trained.accuracies.items()))
    return 0


def _with_bar(data: Data, recipe: Recipe) -> Trained:
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("training", total=BAG_EPOCHS + recipe.epochs_over(len(data.train)))
        return train(data, recipe, lambda dev: progress.update(bar, advance=1, description=f"training, dev {dev:.3f}"))


def _sizes(given: str) -> tuple[int, ...]:
    return tuple(int(size) for size in given.split(",") if size)


def _stem(path: str) -> str:
    return Path(path).name.split(".")[0]


def _command(args: argparse.Namespace) -> str:
    """The command that gives the same weights again: every option that is not the default."""
    parser = argparse.ArgumentParser()
    add_train_arguments(parser)
    parts = ["suffice", "train", *args.data]
    for name, value in vars(args).items():
        if name in Recipe.__slots__ and value != parser.get_default(name):
            parts += _option(name, value)
    for name in ("more", "dev", "labels"):
        parts += [f"--{name}", getattr(args, name)] if getattr(args, name) else []
    for path in args.test:
        parts += ["--test", path]
    return shlex.join([*parts, "--out", args.out])


def _option(name: str, value: Any) -> list[str]:
    if name == "shift":
        return ["--no-shift"]
    return [f"--{name}", ",".join(map(str, value)) if name == "hidden" else str(value)]


def shape(classifier: Classifier, recipe: Recipe) -> str:
    """The layers in short, such as 125-32-16-2."""
    sizes = "-".join(str(size) for size in (*recipe.hidden, len(classifier.labels)))
    if recipe.kind == "fc":
        return f"{classifier.network.inputs}-{sizes}"
    rows, columns = recipe.grid
    return f"{rows}×{columns} grid, {recipe.filters} filters {recipe.window}×{recipe.window}, dense {sizes}"


def weights(classifier: Classifier, recipe: Recipe) -> int:
    """Weights and biases that were trained, the embedding not counted."""
    shared = recipe.filters * (recipe.dimension * recipe.window**2 + 1)
    steps = classifier.network.steps[recipe.kind == "cnn" :]
    return sum(step.dense().size + step.bias.size for step in steps) + (shared if recipe.kind == "cnn" else 0)


def model_card(trained: Trained, recipe: Recipe, args: argparse.Namespace) -> str:
    """README.md of a trained folder: what it is, how good, and how to make it again."""
    classifier = trained.classifier
    counts = classifier.meta["rows"]
    return CARD.format(
        name=Path(args.out).name,
        kind=recipe.kind,
        labels=", ".join(classifier.labels),
        length=recipe.length,
        layers=shape(classifier, recipe),
        weights=weights(classifier, recipe),
        relus=classifier.network.relus,
        dimension=recipe.dimension,
        words=len(classifier.vocabulary),
        digest=classifier.digest,
        rows="\n".join(f"| {n} | {counts[n]:,} | {value:.4f} |" for n, value in trained.accuracies.items()),
        command=_command(args),
    )


CARD = """\
# {name}

A classifier (kind {kind}) of texts into {labels}, by their first {length} words.

- Layers: {layers}; {weights:,} weights (embedding not counted), {relus} relus.
- Embedding: {dimension} dimensions, {words:,} words, learned with the task.
- Digest: `{digest}`

| rows | count | accuracy |
| --- | --- | --- |
{rows}

The epoch was chosen on dev. Training rows with the same words as a dev or test row were left out.

## Made by

```
{command}
```
"""

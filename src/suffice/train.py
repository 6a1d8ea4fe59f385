"""Train small classifiers whose explanations can be proved: fc and cnn, with the embedding learned on the way.

Three things make a network with one weight per position learn from little text: every text is set at a random
place of the window, words are hidden at random behind <UNK>, and the embedded points are shaken. The weights
kept are a moving average, taken after the epoch that is best on the dev rows. Test rows are never trained on.
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

from suffice import text as texts
from suffice.classifier import Classifier
from suffice.errors import InputError, MissingExtra
from suffice.network import Conv2d, Dense, Flatten, Grid, Layer, Network, Relu

Tensor: TypeAlias = Any  # torch is optional, so its types are not known here
OnEpoch: TypeAlias = Callable[[int, float], None]

PAD, UNKNOWN = "<PAD>", "<UNK>"
BATCH, RATE, WARM_UP, DECAY, AVERAGE = 256, 3e-3, 200, 1e-4, 0.998


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides the weights, apart from the data."""

    kind: str = "fc"
    length: int = 25
    dimension: int = 5
    hidden: tuple[int, ...] = (32, 16)
    filters: int = 8
    window: int = 2
    epochs: int = 10
    seed: int = 0
    drop: float = 0.3
    noise: float = 0.3
    words: int = 20_000

    def __post_init__(self) -> None:
        if self.kind not in ("fc", "cnn"):
            raise InputError(f"The kind {self.kind!r} is unknown: use fc or cnn.")
        counts = (
            self.length,
            self.dimension,
            self.filters,
            self.window,
            self.epochs,
            self.words,
            *self.hidden,
        )
        if min(counts) < 1:
            raise InputError(
                "Length, dimension, hidden sizes, filters, window, epochs and words must be at least 1."
            )
        if not (0 <= self.drop < 1 and 0 <= self.noise < math.inf):
            raise InputError(
                "The share of dropped words must be in [0, 1) and the noise must not be negative."
            )
        if self.kind == "cnn" and min(self.grid) < self.window:
            rows, columns = self.grid
            raise InputError(
                f"{self.length} words make a grid of {rows}×{columns}, too small for a window of {self.window}: "
                "choose a length such as 16, 25 or 36."
            )

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
    """Rows to train on, to choose the epoch by, and to report on; `labels` in the order of the outputs."""

    train: Sequence[Row]
    dev: Sequence[Row]
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
        raise InputError(
            f"The file {path!r} needs the header text,label; found {','.join(reader.fieldnames or ())!r}."
        )
    rows = []
    for fields in reader:
        if not fields["text"] or not fields["label"] or None in fields:
            raise InputError(f"Line {reader.line_num} of {path!r} needs one text and one label.")
        rows.append(Row(fields["text"], fields["label"].strip()))
    return rows


def prepare(
    train: Sequence[Row],
    dev: Sequence[Row] = (),
    tests: Mapping[str, Sequence[Row]] | None = None,
    labels: Sequence[str] = (),
    seed: int = 0,
) -> Data:
    """Name the labels, split a tenth off as dev where none is given, drop training rows seen in dev or test."""
    every = [*train, *dev, *(row for rows in (tests or {}).values() for row in rows)]
    names = _label_names({row.label for row in train}, labels)
    named = {name: name for name in names} | (
        {str(i): name for i, name in enumerate(names)} if labels else {}
    )
    for row in every:
        if row.label not in named:
            raise InputError(
                f"The label {row.label!r} of {row.text[:40]!r} is unknown: expected {', '.join(names)}."
            )
    rest, chosen = (train, dev) if dev else _split(train, seed)
    held = {_key(row) for rows in (chosen, *(tests or {}).values()) for row in rows}
    kept = [row for row in rest if _key(row) not in held]
    if not kept or not chosen:
        raise InputError(
            "There are too few rows: training needs at least one that is in neither dev nor test."
        )
    return Data(
        train=_relabel(kept, named),
        dev=_relabel(chosen, named),
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
    return [Row(row.text, named[row.label]) for row in rows]


def _tokens(text: str) -> list[str]:
    return [token for token, _, _ in texts.split(text)]


def _vocabulary(rows: Iterable[Row], most: int) -> list[str]:
    """The most frequent words that occur at least twice; a word seen once teaches only the unknown word."""
    counts = Counter(token for row in rows for token in _tokens(row.text))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return [PAD, UNKNOWN, *(word for word in ranked if counts[word] > 1)][: most + 2]


def _encode(rows: Sequence[Row], lookup: Mapping[str, int], length: int) -> NDArray[np.int64]:
    """Word numbers (rows, length), cut or padded at the end."""
    table = np.full((len(rows), length), lookup[PAD])
    for numbers, row in zip(table, rows, strict=True):
        found = [lookup.get(token, lookup[UNKNOWN]) for token in _tokens(row.text)[:length]]
        numbers[: len(found)] = found
    return table


# --- training ---


def train(data: Data, recipe: Recipe, on_epoch: OnEpoch | None = None) -> Trained:
    """Train by `recipe`; `on_epoch` hears of every finished epoch and its accuracy on dev."""
    torch = _torch()
    words = _vocabulary(data.train, recipe.words)
    lookup = {word: index for index, word in enumerate(words)}
    with _deterministic(torch, recipe.seed):
        model = _Model.start(torch, len(words), len(data.labels), recipe)
        batches = [
            _tensors(torch, rows, data.labels, lookup, recipe.length) for rows in (data.train, data.dev)
        ]
        best = _fit(torch, model, *batches, recipe, on_epoch or (lambda epoch, accuracy: None))
    classifier = Classifier(
        network=_network(best, recipe),
        embedding=_numpy(best.table),
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
    """The embedding table, whose padding row stays zero, and the layers above it."""

    table: Tensor
    body: Any
    recipe: Recipe

    @staticmethod
    def start(torch: Any, words: int, classes: int, recipe: Recipe) -> _Model:
        table = 0.3 * torch.randn(words, recipe.dimension)
        table[0] = 0
        return _Model(
            table.requires_grad_(), torch.nn.Sequential(*_layers(torch.nn, classes, recipe)), recipe
        )

    def parameters(self) -> list[Tensor]:
        return [self.table, *self.body.parameters()]

    def scores(self, numbers: Tensor, noise: float = 0.0) -> Tensor:
        """The outputs for word numbers (n, length), the embedded words shaken by `noise`."""
        points = self.table[numbers]
        if noise:
            points = points + noise * points.new_empty(points.shape).normal_()
        points = points * (numbers > 0).unsqueeze(-1)
        if self.recipe.kind == "fc":
            return self.body(points.flatten(1))
        return self.body(points.transpose(1, 2).reshape(len(points), -1, *self.recipe.grid))

    def accuracy(self, torch: Any, numbers: Tensor, classes: Tensor) -> float:
        with torch.no_grad():
            return float((self.scores(numbers).argmax(1) == classes).double().mean())


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
    on_epoch: OnEpoch,
) -> _Model:
    """Train all epochs; the averaged model of the epoch that is best on dev."""
    numbers, classes = train
    average = copy.deepcopy(model)
    best, reached = average, -1.0
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=DECAY)
    steps, step = recipe.epochs * math.ceil(len(numbers) / BATCH), 0
    for epoch in range(recipe.epochs):
        for rows in torch.randperm(len(numbers)).split(BATCH):
            optimizer.param_groups[0]["lr"] = RATE * min(1, (step + 1) / WARM_UP) * (1 - step / steps)
            seen = _shift(torch, _hide(torch, numbers[rows], recipe.drop))
            _descend(torch, optimizer, model.scores(seen, recipe.noise), classes[rows])
            step += 1
            _follow(torch, average, model, min(AVERAGE, (step + 1) / (step + 10)))
        accuracy = average.accuracy(torch, *dev)
        if accuracy > reached:
            best, reached = copy.deepcopy(average), accuracy
        on_epoch(epoch + 1, accuracy)
    return best


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


def _descend(torch: Any, optimizer: Any, scores: Tensor, classes: Tensor) -> None:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(scores, classes).backward()
    optimizer.step()


def _follow(torch: Any, average: _Model, model: _Model, keep: float) -> None:
    """Move the average a little towards the model."""
    with torch.no_grad():
        for mean, value in zip(average.parameters(), model.parameters(), strict=True):
            mean.lerp_(value, 1 - keep)


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
    add("--epochs", type=int, default=plain.epochs, help="times over the data (default %(default)s)")
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
    add("--words", type=int, default=plain.words, help="most words in the vocabulary (default %(default)s)")
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
        bar = progress.add_task("training", total=recipe.epochs)

        def show(epoch: int, accuracy: float) -> None:
            progress.update(bar, completed=epoch, description=f"training, dev {accuracy:.3f}")

        return train(data, recipe, show)


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
            parts += [f"--{name}", ",".join(map(str, value)) if name == "hidden" else str(value)]
    for name in ("dev", "labels"):
        parts += [f"--{name}", getattr(args, name)] if getattr(args, name) else []
    for path in args.test:
        parts += ["--test", path]
    return shlex.join([*parts, "--out", args.out])


def shape(classifier: Classifier, recipe: Recipe) -> str:
    """The layers in short, such as 125-32-16-2."""
    sizes = "-".join(str(size) for size in (*recipe.hidden, len(classifier.labels)))
    if recipe.kind == "fc":
        return f"{classifier.network.inputs}-{sizes}"
    rows, columns = recipe.grid
    return f"{rows}×{columns} grid, {recipe.filters} filters {recipe.window}×{recipe.window}, dense {sizes}"


def _weights(classifier: Classifier, recipe: Recipe) -> int:
    """Weights and biases that were trained, the embedding not counted."""
    shared = recipe.filters * (recipe.dimension * recipe.window**2 + 1)
    steps = classifier.network.steps[recipe.kind == "cnn" :]
    return sum(step.dense().size + step.bias.size for step in steps) + (shared if recipe.kind == "cnn" else 0)


def model_card(trained: Trained, recipe: Recipe, args: argparse.Namespace) -> str:
    """README.md of a trained folder: what it is, how good, on what data, and how to make it again."""
    classifier, rows = trained.classifier, trained.classifier.meta["rows"]
    lines = [f"| {name} | {rows[name]:,} | {value:.4f} |" for name, value in trained.accuracies.items()]
    return "\n".join(
        [
            f"# {Path(args.out).name}",
            "",
            f"A {recipe.kind} classifier of texts into {', '.join(classifier.labels)}, by the first {recipe.length} words.",
            "",
            f"- Layers: {shape(classifier, recipe)}; {_weights(classifier, recipe):,} weights, {classifier.network.relus} relus.",
            f"- Embedding: {recipe.dimension} dimensions, {len(classifier.vocabulary):,} words, learned with the task.",
            f"- Digest: `{classifier.digest}`",
            "",
            "| rows | count | accuracy |",
            "| --- | --- | --- |",
            *lines,
            "",
            "The epoch was chosen on dev. Training rows whose words are those of a dev or test row were left out.",
            "",
            "## Made by",
            "",
            "```",
            _command(args),
            "```",
            "",
        ]
    )

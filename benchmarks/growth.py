"""Growth: what an explanation costs as one size grows and the others stay, on networks that are
trained here.

    python benchmarks/growth.py /path/to/data [--rows words width ...] [--texts 3] [--seconds 30]
    [--out table.md]

The data folder has sst2/ and imdb/ with train.csv.gz and test.csv.gz (`text,label`). Each row
trains one small network with a fixed seed (a minute or less), explains test texts of at least half
its length, and checks every certificate. Every answer is told on the standard error as it comes
(cost / lower bound). Times are processor seconds of `sf.explain` with its certificate, without the
check, and so is the limit, a quarter of which is kept for the check. `--rows` chooses families;
without it all of them are measured, which takes a quarter of an hour with the default texts and
seconds. Widths: "n and 16" is what trained networks of the bundled kind look like with a wider
first layer; "2 layers of n" is far harder. "reviews" is learnt by `suffice train` from all reviews,
not from 8,000 without any regularisation as the other rows, and asked about texts that fill it.
"dropout" are TextCNNs that learn for ten epochs with half of the maxima left out at random, as
Kim's did (right on some 76 % of the test sentences; the others, of two epochs, on 62 to 68 %).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import re
import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import suffice as sf
from suffice.model.network import Conv1d, Dense, MaxPool, Network, Relu, Transpose
from suffice.sets.perturbations import BundledSubstitutes

WORDS = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]")
VOCABULARY = 5000


@dataclass(frozen=True)
class Shape:
    """A network: fully connected with `hidden` layers, or with `filters` each of the widths 3, 4
    and 5.
    """

    data: str = "sst2"
    length: int = 25
    dimension: int = 5
    hidden: tuple[int, ...] = (32, 16)
    filters: int = 0


@dataclass(frozen=True)
class Row:
    name: str
    shape: Shape
    perturbation: Any = None  # the nearest three words
    model: str | None = None  # a bundled one of this shape, instead of one that is trained here
    learnt: bool = False  # as `suffice train` does it
    dropped: bool = False  # half of the maxima at random while training, as Kim did it
    least: int = 0  # words of each text, where half of the length is not enough


FAMILIES: dict[str, list[Row]] = {
    "words": [Row(f"{n} words", Shape("imdb", n)) for n in (25, 50, 100, 200, 400)],
    "reviews": [Row("400 words, suffice train", Shape("imdb", 400), learnt=True, least=400)],
    "dimension": [Row(f"{n} dimensions", Shape(dimension=n)) for n in (5, 25, 100)],
    "layers": [Row(f"{n} hidden layers", Shape(hidden=(16,) * n)) for n in (1, 2, 3, 5)],
    "width": [Row(f"layers of {n} and 16", Shape(hidden=(n, 16))) for n in (64, 128, 256, 512)],
    "widths": [Row(f"2 layers of {n}", Shape(hidden=(n, n))) for n in (16, 64, 128, 256, 512)],
    "filters": [Row(f"3 × {n} filters", Shape(filters=n)) for n in (8, 16, 32, 100)],
    "filters10": [
        Row(f"3 × {n} filters, k = 10", Shape(filters=n), sf.KNNBox(10)) for n in (8, 16, 32)
    ],
    "dropout": [
        Row(f"3 × {n} filters, dropout, k = {k}", Shape(filters=n), sf.KNNBox(k), dropped=True)
        for k in (3, 10)
        for n in (8, 16, 32)
    ],
    "kim": [
        Row(
            f"3 × 100 filters, 56 words × {n}, {what}",
            Shape(length=56, dimension=n, filters=100),
            perturbation,
        )
        for n, what, perturbation in (
            (100, "removed", sf.Deletion()),
            (100, "removed or swapped", BundledSubstitutes()),
            (300, "removed", sf.Deletion()),
            (300, "removed or swapped", BundledSubstitutes()),
            (100, "k = 3", sf.KNNBox(3)),
        )
    ],
    "balls": [
        Row(
            f"imdb-fc100, ε = {size:g}",
            Shape("imdb", 100, hidden=(16, 8)),
            sf.EpsilonBall(size),
            "imdb-fc100",
        )
        for size in (0.05, 0.1)
    ],
    "long": [Row("200 words × 50, 1M weights", Shape("imdb", 200, 50, (100, 20)))],
}


def main() -> None:
    args = parse()
    # the limit as well, so that a busy machine does not cut answers short
    time.monotonic = time.process_time
    lines = [
        "| grows | texts | optimal | median s | max s | largest gap | words | check s | MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for family in args.rows:
        for row in FAMILIES[family]:
            lines.append(measured(row, args))
            print(lines[-1], flush=True)
    if args.out:
        Path(args.out).write_text("\n".join(lines) + "\n", encoding="utf-8")


def measured(row: Row, args: argparse.Namespace) -> str:
    classifier = _classifier(row, Path(args.data))
    times = []
    checks = []
    gaps = []
    costs = []
    for text in texts(Path(args.data), row.shape, args.texts, row.least):
        started = time.process_time()
        found = sf.explain(
            classifier,
            text,
            perturbation=row.perturbation or sf.KNNBox(3),
            seconds=args.seconds,
            self_check=False,
        )
        times.append(time.process_time() - started)
        print(
            f"{row.name}: {found.cost:g} / {found.lower_bound:g}, {times[-1]:.2f} s",
            file=sys.stderr,
            flush=True,
        )
        gaps.append(found.cost - found.lower_bound)
        costs.append(found.cost)
        started = time.process_time()
        if found.certificate is not None:
            sf.check(found.certificate, classifier, seconds=600)
        checks.append(time.process_time() - started)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cells = [
        row.name, str(len(times)), str(sum(gap == 0 for gap in gaps)),
        f"{statistics.median(times):.2f}", f"{max(times):.2f}", f"{max(gaps):g}",
        f"{statistics.mean(costs):.1f}", f"{statistics.median(checks):.2f}",
        f"{memory:.0f}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


# --- networks, trained here ---


def _classifier(row: Row, data: Path) -> sf.Classifier:
    if row.model is not None:
        return sf.load(row.model)
    return learnt(row.shape, data) if row.learnt else trained(row.shape, data, row.dropped)


def learnt(shape: Shape, data: Path) -> sf.Classifier:
    """What `suffice train --epochs 3` makes of all training texts that are not test texts too."""
    from suffice.train.data import prepare, read_rows
    from suffice.train.fit import train
    from suffice.train.recipe import Recipe

    rows, tests = (read_rows(data / shape.data / f"{name}.csv.gz") for name in ("train", "test"))
    recipe = Recipe(length=shape.length, dimension=shape.dimension, hidden=shape.hidden, epochs=3)
    found = train(prepare(rows, tests={"test": tests}, labels=("negative", "positive")), recipe)
    print(f"right on {found.accuracies['test']:.1%} of the test texts", file=sys.stderr, flush=True)
    return found.classifier


def trained(shape: Shape, data: Path, dropped: bool = False) -> sf.Classifier:
    """The same network each time: seeds are fixed, and torch works with one thread."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    rows = [(pieces(text), label) for text, label in read(data / shape.data / "train.csv.gz", 8000)]
    counts = Counter(word for words, _ in rows for word in words)
    vocabulary = ["<PAD>", "<UNK>", *(word for word, _ in counts.most_common(VOCABULARY))]
    lookup = {word: i for i, word in enumerate(vocabulary)}
    index = torch.tensor(
        [padded([lookup.get(word, 1) for word in words], shape.length) for words, _ in rows]
    )
    labels = torch.tensor([label for _, label in rows])
    embedding = torch.nn.Embedding(len(vocabulary), shape.dimension)
    torch.nn.init.normal_(embedding.weight, std=0.3)
    layers = torch.nn.ModuleList(_layers(torch, shape))
    optimiser = torch.optim.Adam(
        [*embedding.parameters(), *layers.parameters()], lr=2e-3 if shape.filters else 5e-3
    )
    for _ in range(10 if dropped else 2 if shape.filters else 4):
        for batch in torch.randperm(len(rows)).split(64):
            scores = _scores(torch, shape, layers, embedding(index[batch]), 0.5 if dropped else 0.0)
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(scores, labels[batch]).backward()
            optimiser.step()
    table = embedding.weight.detach().numpy().astype(float)
    return sf.Classifier(
        _network(shape, layers), table, vocabulary, ["negative", "positive"], shape.length
    )


def _layers(torch: Any, shape: Shape) -> list[Any]:
    if shape.filters:
        kernels = [torch.nn.Conv1d(shape.dimension, shape.filters, width) for width in (3, 4, 5)]
        return [*kernels, torch.nn.Linear(3 * shape.filters, 2)]
    sizes = [shape.length * shape.dimension, *shape.hidden, 2]
    return [torch.nn.Linear(a, b) for a, b in itertools.pairwise(sizes)]


def _scores(torch: Any, shape: Shape, layers: Any, vectors: Any, drop: float = 0.0) -> Any:
    *inner, last = layers
    if shape.filters:
        turned = vectors.transpose(1, 2)
        pooled = torch.cat([torch.relu(kernel(turned)).amax(2) for kernel in inner], 1)
        return last(torch.nn.functional.dropout(pooled, drop))
    values = vectors.flatten(1)
    for layer in inner:
        values = torch.relu(layer(values))
    return last(values)


def _network(shape: Shape, layers: Any) -> Network:
    pairs = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in layers]
    if not shape.filters:
        return Network.dense(pairs)
    from suffice.model import graph
    from suffice.model.network import _lower

    start = graph.start((shape.length, shape.dimension))
    pooled = []
    for weight, bias in pairs[:-1]:
        state = start
        for layer in (Transpose(), Conv1d(weight, bias), Relu(), MaxPool()):
            state = _lower(state, layer)
        pooled.append(state)
    return Network.of(_lower(graph.concatenate(pooled), Dense(*pairs[-1])))


# --- texts ---


def read(path: Path, count: int) -> Iterator[tuple[str, int]]:
    with gzip.open(path, "rt", encoding="utf8", newline="") as file:
        for entry in csv.DictReader(file):
            if count == 0:
                return
            count -= 1
            yield entry["text"].replace("<br />", " "), int(entry["label"])


def pieces(text: str) -> list[str]:
    return [word.lower() for word in WORDS.findall(text)]


def padded(index: list[int], length: int) -> list[int]:
    return (index + [0] * length)[:length]


def texts(data: Path, shape: Shape, count: int, least: int = 0) -> Iterator[str]:
    """Test texts of at least half the length (of a third for 50 words and more of SST, where few
    are longer).
    """
    least = least or (
        shape.length // 2 if shape.length < 50 or shape.data != "sst2" else shape.length // 3
    )
    for text, _ in read(data / shape.data / "test.csv.gz", 4000):
        if count and len(pieces(text)) >= least:
            count -= 1
            yield text


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("--rows", nargs="*", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--texts", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--out")
    return parser.parse_args()


if __name__ == "__main__":
    main()

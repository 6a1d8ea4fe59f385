"""The plan: which models, texts, sets and limits a run uses, full or small, and where
its data is.
"""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import suffice as sf
from suffice.train.recipe import Recipe

NOISE = Recipe().noise  # how much ordinary training shakes the embedded words
DEPTH = 3  # layers with weights of an ordinary model, the embedding not counted


@dataclass(frozen=True)
class Source:
    """The files of a data set, below the data folder, and the options of `suffice train` that go
    with it.
    """

    train: tuple[str, ...]
    test: str
    labels: str
    dev: str = ""
    epochs: int = 6
    shift: bool = True


SOURCES = {
    "sst": Source(
        ("sst2/train.csv.gz", "sst2/train.csv.gz", "sst2/train_phrases.csv.gz"),
        "sst2/test.csv.gz",
        "negative,positive",
        "sst2/dev.csv.gz",
    ),
    "twitter": Source(("twitter/train.csv.gz",), "twitter/test.csv.gz", "negative,positive"),
    "imdb": Source(("imdb/train.csv.gz",), "imdb/test.csv.gz", "negative,positive", epochs=8),
    "trec": Source(
        ("trec6/train.csv.gz",),
        "trec6/test.csv.gz",
        "abbreviation,entity,description,human,location,number",
        epochs=60,
        shift=False,
    ),
}


class Training(NamedTuple):
    """A way of training: what `suffice train` is given as --robust and as --noise."""

    robust: str = ""
    noise: float = NOISE

    @property
    def name(self) -> str:
        parts = [self.robust] if self.robust else []
        parts += [f"noise {self.noise:g}"] if self.noise != NOISE else []
        return ", ".join(parts) or "ordinary"


@dataclass(frozen=True)
class Model:
    """A classifier that the run trains; its name says all that is not the default."""

    data: str
    kind: str = "fc"
    length: int = 25
    layers: int = DEPTH
    robust: str = ""
    noise: float = NOISE
    seed: int = 1

    @property
    def name(self) -> str:
        parts = [f"{self.data}-{self.kind}{self.length}"]
        parts += [f"{self.layers}layers"] if self.layers != DEPTH else []
        parts += [self.robust.replace(":", "", 1).replace(":", "-")] if self.robust else []
        parts += [f"noise{self.noise:g}"] if self.noise != NOISE else []
        parts += [f"seed{self.seed}"] if self.seed != 1 else []
        return "-".join(parts)

    @property
    def hidden(self) -> tuple[int, ...]:
        """Hidden sizes, so that there are `layers` layers with weights in all and at most 18,000
        weights.
        """
        first = (32, 16) if self.length < 100 else (16, 8)
        return (
            (*first, *(first[1:] * (self.layers - DEPTH)))
            if self.kind == "fc"
            else (16,) * (self.layers - 2)
        )

    @property
    def window(self) -> int:
        return 2 if self.length < 25 else 3


@dataclass(frozen=True)
class Plan:
    """All sizes of a run."""

    data: Path
    out: Path
    small: bool = False
    sets: tuple[str, ...] = ("sst", "twitter", "imdb")
    lengths: tuple[int, ...] = (10, 25, 50, 100)
    depths: tuple[int, ...] = (3, 4, 5, 6)
    epochs: int = 0  # 0: as the data set says
    words: int = 30_000
    eps: tuple[float, ...] = (0.01, 0.05, 0.1)
    ks: tuple[int, ...] = (8, 10, 15, 25, 30)
    texts: int = 40
    seconds: float = 10.0
    slow_texts: int = 16  # for the published algorithms
    slow_seconds: float = 8.0
    sparse_texts: int = 3
    sparse_seconds: float = 120.0
    growth_eps: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
    explainer_texts: int = 40
    explainer_samples: int = 500
    explainer_seconds: float = 20.0  # for one anchor
    bias_texts: int = 50
    example_k: int = 100  # for our own sentences: short ones, which few nearest words do not shake
    robust: tuple[Training, ...] = (
        Training(),
        Training(noise=0.6),
        Training(noise=0.9),
        Training("knn:10"),
        Training("knn:2", 0.6),
        Training("knn:10:0.05", 0.6),
        Training("knn:10", 0.6),
        Training("knn:10:0.5", 0.6),
        Training("knn:20:0.5", 0.6),
    )
    robust_data: tuple[str, ...] = ("sst", "trec")
    robust_seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    robust_texts: int = 50

    @property
    def mid(self) -> int:
        """The input length of most experiments."""
        return 25 if 25 in self.lengths else self.lengths[0]

    @property
    def pairs(self) -> list[Model]:
        """FC and CNN of the middle length for every data set."""
        return [Model(data, kind, self.mid) for data in self.sets for kind in ("fc", "cnn")]


def small(data: Path, out: Path) -> Plan:
    """A run of a minute that touches every item."""
    return Plan(
        data,
        out,
        small=True,
        sets=("sst", "twitter"),
        lengths=(9, 12),
        depths=(3, 4),
        epochs=8,
        words=2_000,
        eps=(0.05,),
        ks=(2,),
        texts=2,
        seconds=1.0,
        slow_texts=1,
        slow_seconds=1.0,
        sparse_texts=1,
        sparse_seconds=1.0,
        growth_eps=(0.05, 0.2),
        explainer_texts=1,
        explainer_samples=50,
        explainer_seconds=2.0,
        bias_texts=2,
        example_k=3,
        robust=(Training(), Training("knn:2:0.5")),
        robust_data=("sst",),
        robust_seeds=(1,),
        robust_texts=2,
    )


# --- texts ---


@cache
def samples(data: Path, name: str) -> tuple[str, ...]:
    """The texts of the paper for a data set; where it has none, the first texts of the
    test file.
    """
    path = data / "samples" / f"{name}.txt"
    if not path.exists():
        return tuple(text for text, _ in tests(data, name)[:40])
    with path.open(encoding="utf-8", newline="\n") as stream:
        return tuple(line.strip() for line in stream if line.strip())


@cache
def gold(data: Path, name: str) -> dict[int, str]:
    """The right labels of the samples that have one, by place."""
    path = data / "samples" / "labels.csv"
    labels = SOURCES[name].labels.split(",")
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["set"] == name and row["label"]]
    return {int(row["line"]) - 1: labels[int(row["label"])] for row in rows}


@cache
def tests(data: Path, name: str) -> tuple[tuple[str, str], ...]:
    """Texts and labels of the test file."""
    with gzip.open(data / SOURCES[name].test, "rt", encoding="utf-8", newline="") as stream:
        return tuple((row["text"], row["label"]) for row in csv.DictReader(stream))


@cache
def synonyms(data: Path) -> dict[str, list[str]]:
    with gzip.open(
        data / "synonyms" / "counterfitted_neighbors.json.gz", "rt", encoding="utf-8"
    ) as stream:
        return dict(json.load(stream))


@cache
def classifier(out: Path, name: str) -> sf.Classifier:
    """A trained model; each process loads it once."""
    return sf.load(out / "models" / name)

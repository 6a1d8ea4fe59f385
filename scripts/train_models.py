"""Train the bundled models sentiment, topic and question: word vectors that mean something, and few
units.

    python scripts/train_models.py DATA --out src/suffice/models [--only sentiment] [--work FOLDER]

DATA holds the folders sst2, imdb, agnews and trec6 with CSV files (text,label). Word vectors are
distilled from a sentence encoder (distil.py) and stay near it while the task is learned; a teacher
made of the same encoder (teacher.py) says what it thinks of each text, also of texts without a
label. Padding, removed and unknown words are zero and there is no bias, so that a text without
words is a tie. Training is on one thread and seeded.
"""

from __future__ import annotations

import argparse
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import distil
import model_card
import numpy as np
import teacher
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy, dropout, embedding, one_hot, pad

import suffice as sf
from suffice.model.step import Step, compact
from suffice.model.text import split
from suffice.sets.substitutes import group, groups, substitutes
from suffice.train.data import read_rows as read_examples

PAD = "<PAD>"
UNKNOWN = "<UNK>"
LISTS = Path(__file__).with_name("words")
# the moving average takes in every fifth step
EVERY = 5
INERTIA = 0.97
# how substitutes draw each other near
ROUNDS = 5
PULL = 2.0
SUBSTITUTES = 8  # of a word, at most, that learning puts in its place
SAME = 1e-3  # how far scores in single and in double precision may be apart
COUNTED = ("sst2/train", "imdb/train", "agnews/train", "trec6/train")
GRID = 2**-7  # word vectors are rounded to multiples of this, which half precision holds
LEAST_WORDS = 4  # of a sentence without a label, and of a text whose words are left out
MOST_LEFT_OUT = 0.8
MOST_SPARED = 0.7  # of the little words of a text that is to do without them
ENDS = frozenset(".!?")
NEGATIONS = ("not {}", "is not {}", "isn't {}")

Row = tuple[list[str], int]
NONE = -1  # the class of a text that nobody labelled
# word numbers (n, length), and classes (n,) or shares of them (n, classes)
Rows = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Lessons:
    """What a teacher learns, and what it is asked."""

    files: tuple[str, ...]
    rows: int = 0  # of the files after the first, drawn at random
    epochs: int = 1
    trust: float = 0.7  # the weight of its answer beside a label
    variants: int = 0  # copies of each text of the first file with words left out
    sentences: int = 0  # out of the texts `more` of the recipe
    vectors: float = 0.0  # the weight of its own vectors of words beside those of the encoder


@dataclass(frozen=True)
class Recipe:
    """All that decides a model's weights, apart from the data."""

    name: str
    labels: tuple[str, ...]
    length: int
    train: tuple[str, ...]
    test: str
    dev: str = ""  # a tenth of the training rows where none is named
    more: tuple[str, ...] = ()  # rows for a first round, cut into pieces of `length`
    negated: bool = False  # also learn that "not good" is negative
    neutral: bool = False  # also learn that a word without a row of its own says nothing by itself
    # words that hold a sentence together, and punctuation
    silent: tuple[str, ...] = "silent.txt"
    hush: tuple[float, ...] = (0.0,)  # what is left of the words of each of those lists
    dimension: int = 32
    hidden: int = 16
    filters: int = 0  # over each of `widths` neighbouring words
    widths: tuple[int, ...] = (2,)
    # of each filter the largest value in the text counts, not the sum of its relus
    largest: bool = False
    places: int = 0  # the first words, which also count by their place
    words: int = 24_000
    first: int = 1  # epochs of the first round, which also sees `more`
    epochs: int = 3
    runs: int = 1  # in other orders and from the same start, of which the weights are averaged
    smooth: float = 0.0  # the share of each label that all classes get alike
    batch: int = 64
    rate: float = 3e-3
    drop: float = 0.3  # the share of words removed, on average
    spare: float = 0.0  # the share of texts that go without most of the words in the lists `silent`
    closed: float = 0.0  # the share of texts in which removed words leave no gap
    blind: float = 0.0  # the share of what filters find that is left out
    noise: float = 0.3
    near: float = 2e-4  # keeps each word near its distilled vector
    bend: float = 1e-4  # keeps the shared map of all vectors near where it began
    quiet: float = 0.0  # keeps the scores of single words small unless they are needed
    strict: float = 1.0  # how much more so for the words in the lists `silent`
    swap: float = 0.0  # the share of words exchanged for a substitute
    kin: float = 0.0  # keeps the scores of a single word near those of its substitutes
    lessons: Lessons | None = None
    seed: int = 0


RECIPES = {
    "sentiment": Recipe(
        "sentiment",
        ("negative", "positive"),
        40,
        ("sst2/train", "sst2/train", "sst2/train_phrases"),
        "sst2/test",
        dev="sst2/dev",
        more=("imdb/train",),
        negated=True,
        neutral=True,
        silent=("silent.txt", "quiet.txt"),
        hush=(0.35, 1.0),
        dimension=40,
        hidden=0,
        filters=24,
        widths=(2, 3, 4),
        largest=True,
        epochs=2,
        batch=256,
        drop=0.2,
        spare=0.5,
        closed=0.5,
        blind=0.3,
        noise=0.15,
        near=1e-2,
        bend=1e-3,
        quiet=0.003,
        strict=40.0,
        swap=0.1,
        kin=0.01,
        lessons=Lessons(
            ("sst2/train", "sst2/train_phrases"), 40_000, variants=2, sentences=30_000, vectors=0.7
        ),
    ),
    "topic": Recipe(
        "topic",
        ("World", "Sports", "Business", "Sci/Tech"),
        64,
        ("agnews/train",),
        "agnews/test",
        dimension=64,
        hidden=32,
        epochs=8,
        runs=3,
        smooth=0.1,
        batch=128,
        noise=0.2,
        near=2e-3,
        bend=1e-3,
        quiet=0.003,
    ),
    "question": Recipe(
        "question",
        ("abbreviation", "entity", "description", "human", "location", "number"),
        24,
        ("trec6/train",),
        "trec6/test",
        silent=(),
        hush=(),
        dimension=40,
        hidden=0,
        filters=32,
        widths=(3,),
        places=4,
        epochs=12,
        batch=128,
        rate=4e-3,
        drop=0.1,
        noise=0.4,
        near=2e-3,
        bend=1e-3,
    ),
}


@dataclass(frozen=True)
class Data:
    """Rows as word numbers (n, length); those to learn from with shares of the classes, others with
    classes.
    """

    first: Rows
    train: Rows
    labelled: Rows
    dev: Rows | None
    test: Rows
    vocabulary: list[str]
    counts: Mapping[str, int] = field(repr=False)
    # the teacher's vectors of the words (n, 0 or more), scaled by their weight
    told: NDArray[np.float32]


# --- data ---


def tokens(text: str) -> list[str]:
    return [token for token, _, _ in split(text)]


@cache
def read_rows(folder: Path, name: str) -> list[Row]:
    return [(tokens(row.text), int(row.label)) for row in read_examples(folder / f"{name}.csv.gz")]


def as_people_write(row: Row) -> Row:
    """The words of the treebank joined again: did n't is didn't, it ' s is it's."""
    text = re.sub(r" (n't)\b", r"\1", " ".join(row[0]))
    return tokens(re.sub(r"(\w) (['’]) (s|re|ve|ll|d|m)\b", r"\1\2\3", text)), row[1]


def pieces(rows: Iterable[Row], length: int) -> list[Row]:
    """Long texts as several, each with the label of the whole."""
    cut = ((without_marks(words), label) for words, label in rows)
    return [
        (words[start : start + length], label)
        for words, label in cut
        for start in range(0, len(words), length)
    ]


def without_marks(words: Sequence[str]) -> list[str]:
    """A text of a web page without its marks."""
    return [word for word in words if word not in ("br", "<", ">", "/")]


def sentences(rows: Iterable[Row], length: int) -> Iterator[Row]:
    """The sentences of long texts, without labels."""
    for marked, _ in rows:
        start = 0
        words = without_marks(marked)
        for end in (*(place for place, word in enumerate(words) if word in ENDS), len(words)):
            if LEAST_WORDS <= end + 1 - start <= length:
                yield words[start : end + 1], NONE
            start = end + 1


def variants(rows: Sequence[Row], copies: int, chance: random.Random) -> list[Row]:
    """Copies of texts with words left out, without labels."""
    found = []
    for words, _ in [row for row in rows if len(row[0]) >= LEAST_WORDS for _ in range(copies)]:
        share = chance.uniform(0.1, MOST_LEFT_OUT)
        found.append(([word for word in words if chance.random() > share], NONE))
    return [row for row in found if row[0]]


def negated(rows: Iterable[Row]) -> list[Row]:
    """Each word that is a positive row by itself, negated and negative."""
    single = sorted(
        {words[0] for words, label in rows if label == 1 and len(words) == 1 and words[0].isalpha()}
    )
    return [(tokens(pattern.format(word)), 0) for word in single for pattern in NEGATIONS]


def neutral(rows: Iterable[Row]) -> list[Row]:
    """Each word without a row of its own, by itself and without a label: people saw every word of
    the treebank, and those that they found neither positive nor negative were left out.
    """
    rows = list(rows)
    single = {words[0] for words, _ in rows if len(words) == 1}
    return [
        ([word], NONE) for word in sorted({word for words, _ in rows for word in words} - single)
    ]


def read_data(folder: Path, recipe: Recipe, work: Path | None) -> Data:
    rows = [row for name in recipe.train for row in read_rows(folder, name)]
    test = read_rows(folder, recipe.test)
    if recipe.dev:
        dev = read_rows(folder, recipe.dev)
    else:
        random.Random(recipe.seed).shuffle(rows)
        dev = rows[: len(rows) // 10]
        rows = rows[len(rows) // 10 :]
    held = {tuple(words) for words, _ in (*dev, *test)}
    rows = [row for row in rows if row[0] and tuple(row[0]) not in held]
    asked = unlabelled(folder, recipe, held)
    taught = cache(lambda: taught_by(folder, recipe, held))
    kept = work / recipe.name if work else None
    answers = answered(folder, recipe, asked, taught, kept)
    if recipe.neutral:
        asked += neutral(rows)
    if recipe.negated:
        rows += negated(rows) + [
            as_people_write(row) for row in rows if "n't" in row[0] or "s" in row[0]
        ]
    counts = Counter(
        word for name in COUNTED for words, _ in read_rows(folder, name) for word in words
    )
    words = vocabulary(rows, counts, recipe.words)
    number = {word: place for place, word in enumerate(words)}
    more = pieces((row for name in recipe.more for row in read_rows(folder, name)), recipe.length)
    parts = (more + rows + asked, rows + asked)
    first, train = (
        (numbered(part, number, recipe.length)[0], shares(part, answers, recipe)) for part in parts
    )
    tables = (numbered(part, number, recipe.length) for part in (rows, dev, test))
    return Data(first, train, *tables, words, counts, told(words[2:], recipe, taught, kept))


def unlabelled(folder: Path, recipe: Recipe, held: Set[tuple[str, ...]]) -> list[Row]:
    """Texts for the teacher alone to label: rows with words left out, and sentences of
    other texts.
    """
    if recipe.lessons is None:
        return []
    chance = random.Random(recipe.seed)
    rows = [row for row in read_rows(folder, recipe.lessons.files[0]) if tuple(row[0]) not in held]
    found = [
        row for name in recipe.more for row in sentences(read_rows(folder, name), recipe.length)
    ]
    chosen = chance.sample(found, min(len(found), recipe.lessons.sentences))
    return variants(rows, recipe.lessons.variants, chance) + chosen


def lesson(
    folder: Path, lessons: Lessons, held: Set[tuple[str, ...]], seed: int
) -> list[tuple[str, int]]:
    """The texts and classes that a teacher learns from: all of the first file, some of
    the others.
    """
    first, *rest = (
        [(row.text.strip(), int(row.label)) for row in read_examples(folder / f"{name}.csv.gz")]
        for name in lessons.files
    )
    others = [row for file in rest for row in file if len(row[0].split()) > 1]
    first, others = (
        [row for row in part if tuple(tokens(row[0])) not in held] for part in (first, others)
    )
    random.Random(seed).shuffle(others)
    return first + others[: lessons.rows]


def taught_by(folder: Path, recipe: Recipe, held: Set[tuple[str, ...]]) -> teacher.Teacher:
    assert recipe.lessons is not None
    known, labels = zip(*lesson(folder, recipe.lessons, held, recipe.seed), strict=True)
    return teacher.learned(known, labels, len(recipe.labels), recipe.lessons.epochs, recipe.seed)


def answered(
    folder: Path,
    recipe: Recipe,
    asked: Sequence[Row],
    taught: Callable[[], teacher.Teacher],
    work: Path | None,
) -> Mapping[str, NDArray[np.float32]]:
    """What the teacher says of texts without a label, and of those of its first file."""
    if recipe.lessons is None:
        return {}
    texts = [" ".join(words) for words, _ in (*read_rows(folder, recipe.lessons.files[0]), *asked)]
    return teacher.answers(texts, taught, work)


def told(
    words: Sequence[str], recipe: Recipe, taught: Callable[[], teacher.Teacher], work: Path | None
) -> NDArray[np.float32]:
    """The teacher's vectors of words, by their weight; of no dimensions where the recipe asks for
    none.
    """
    if recipe.lessons is None or not recipe.lessons.vectors:
        return np.zeros((len(words), 0), np.float32)
    return teacher.vectors(words, taught, work) * np.float32(recipe.lessons.vectors)


def shares(
    rows: Sequence[Row], answers: Mapping[str, NDArray[np.float32]], recipe: Recipe
) -> Tensor:
    """Shares of the classes (n, classes): the label's and the teacher's, that of the one there is,
    or equal ones.
    """
    trust = recipe.lessons.trust if recipe.lessons else 0.0
    count = len(recipe.labels)
    own = np.vstack([softened(torch.eye(count), recipe).numpy(), np.full(count, 1 / count)]).astype(
        np.float32
    )
    found = np.zeros((len(rows), count), np.float32)
    for place, (words, label) in enumerate(rows):
        answer = answers.get(" ".join(words), own[label])
        found[place] = answer if label == NONE else trust * answer + (1 - trust) * own[label]
    return torch.from_numpy(found)


def softened(labels: Tensor, recipe: Recipe) -> Tensor:
    """Labels (n, classes) of which all classes get a share: a network that need not be sure learns
    more from little.
    """
    return labels * (1 - recipe.smooth) + recipe.smooth / len(recipe.labels)


def vocabulary(rows: Sequence[Row], counts: Mapping[str, int], most: int) -> list[str]:
    """The words of the task seen twice, those that may take their place or that audits exchange,
    then frequent ones.
    """
    own = Counter(word for words, _ in rows for word in words)
    seen = [word for word in sorted(own, key=lambda word: (-own[word], word)) if own[word] > 1]
    swaps = sorted({other for word in seen for other in substitutes().get(word, ())})
    usual = sorted(counts, key=lambda word: (-counts[word], word))
    protected = [word for name in groups() for word in group(name)]
    return [PAD, UNKNOWN, *list(dict.fromkeys([*seen, *swaps, *protected, *usual]))[:most]]


def numbered(rows: Sequence[Row], number: Mapping[str, int], length: int) -> Rows:
    table = np.zeros((len(rows), length), np.int64)
    for place, (words, _) in enumerate(rows):
        found = [number.get(word, 1) for word in words[:length]]
        table[place, : len(found)] = found
    return torch.from_numpy(table), torch.tensor([label for _, label in rows])


# --- the model ---


class Model(torch.nn.Module):
    """Scores of a sum of word vectors: linear, plus relus of the sum, plus filters over
    neighbouring words.
    """

    def __init__(
        self,
        start: NDArray[np.float32],
        directions: NDArray[np.float32],
        heard: NDArray[np.float32],
        little: NDArray[np.bool_],
        others: NDArray[np.int64],
        recipe: Recipe,
    ) -> None:
        super().__init__()
        size = recipe.dimension
        classes = len(recipe.labels)
        self.recipe, self.scale = recipe, 1 / math.sqrt(recipe.length)
        self.start, self.heard, self.others = (
            torch.from_numpy(start),
            torch.from_numpy(heard),
            torch.from_numpy(others),
        )
        self.map = torch.from_numpy(directions)
        self.little = torch.from_numpy(little)
        self.weight = torch.where(self.little, recipe.strict, 1.0)
        self.shift = torch.nn.Parameter(torch.zeros(len(start), size))
        self.bend = torch.nn.Parameter(torch.zeros_like(self.map))
        self.direct = torch.nn.Linear(size, classes, bias=False)
        self.inner = torch.nn.Linear(size, recipe.hidden, bias=False)
        self.outer = torch.nn.Linear(recipe.hidden, classes, bias=False)
        self.filter = torch.nn.ModuleList(
            torch.nn.Linear(size * width, recipe.filters, bias=False) for width in recipe.widths
        )
        self.filtered = torch.nn.Linear(recipe.filters * len(recipe.widths), classes, bias=False)
        if recipe.places:
            self.early = torch.nn.Linear(size * recipe.places, recipe.hidden + classes, bias=False)
            torch.nn.init.zeros_(self.early.weight)

    def vectors(self, numbers: Tensor) -> Tensor:
        moved = self.start[numbers] @ (self.map + self.bend) + embedding(numbers, self.shift)
        return moved * self.heard[numbers]

    def scores(self, points: Tensor, blind: float = 0.0) -> Tensor:
        """Scores (n, classes) of embedded words (n, length, dimension), a share of the filters left
        out.
        """
        recipe = self.recipe
        total = points.sum(1) * self.scale
        inner = self.inner(total)
        found = self.direct(total)
        if recipe.places:
            early = self.early(points[:, : recipe.places].flatten(1)) * self.scale
            inner = inner + early[:, : recipe.hidden]
            found = found + early[:, recipe.hidden :]
        found = found + self.outer(torch.relu(inner))
        if recipe.filters:
            seen = self.patterns(points)
            found = found + self.filtered(dropout(seen, blind) if blind else seen)
        return found

    def patterns(self, points: Tensor) -> Tensor:
        """What the filters (n, filters of all widths) find in the text."""
        found = []
        for filter_, width in zip(self.filter, self.recipe.widths, strict=True):
            around = pad(points, (0, 0, width - 1, width - 1)) if self.recipe.largest else points
            each = torch.relu(filter_(around.unfold(1, width, 1).transpose(2, 3).flatten(2)))
            found.append(each.amax(1) if self.recipe.largest else each.sum(1) * self.scale)
        return torch.cat(found, 1)

    def penalty(self, numbers: Tensor, share: Tensor, points: Tensor) -> Tensor:
        recipe = self.recipe
        far = recipe.near * ((embedding(numbers, self.shift) ** 2).sum(1) * share).sum()
        bent = recipe.bend * (self.bend**2).sum()
        loud = self.single(points)
        found = (
            far
            + bent
            + recipe.quiet * (loud.abs().sum(1) * self.weight[numbers] * share).sum() / self.scale
        )
        if recipe.kin:
            other = self.others[numbers, torch.randint(self.others.shape[1], numbers.shape)]
            apart = (loud - self.single(self.vectors(other))).abs().sum(1)
            found = found + recipe.kin * (apart * share).sum() / self.scale
        return found

    def single(self, points: Tensor) -> Tensor:
        """Scores (n, classes) of texts of one word each, as far as they do not depend
        on its place.
        """
        total = points * self.scale
        found = self.direct(total) + self.outer(torch.relu(self.inner(total)))
        return (
            found + self.filtered(self.patterns(points[:, None])) if self.recipe.largest else found
        )

    @torch.no_grad()
    def accuracy(self, numbers: Tensor, classes: Tensor) -> float:
        parts = zip(numbers.split(500), classes.split(500), strict=True)
        return sum(
            int((self.scores(self.vectors(x)).argmax(1) == y).sum()) for x, y in parts
        ) / len(classes)


def loss_of(model: Model, numbers: Tensor, wanted: Tensor) -> Tensor:
    """The loss of a batch, words removed or exchanged for substitutes and vectors
    shaken at random.
    """
    recipe = model.recipe
    share = 2 * recipe.drop * torch.rand(len(numbers), 1)
    longest = int((numbers > 0).sum(1).max())
    numbers = numbers[:, : max(recipe.places, longest + max(recipe.widths) - 1)]
    numbers = numbers * (torch.rand(numbers.shape) >= share)
    if recipe.spare:
        poor = torch.rand(len(numbers), 1) < recipe.spare
        numbers = numbers * ~(
            poor & model.little[numbers] & (torch.rand(numbers.shape) < MOST_SPARED)
        )
    if recipe.closed:
        numbers = torch.where(
            torch.rand(len(numbers), 1) < recipe.closed, without_gaps(numbers), numbers
        )
    if recipe.swap:
        other = model.others[numbers, torch.randint(model.others.shape[1], numbers.shape)]
        numbers = torch.where(torch.rand(numbers.shape) < recipe.swap, other, numbers)
    each, place, times = numbers.unique(return_inverse=True, return_counts=True)
    times = times * (each > 0)
    points = model.vectors(each)
    words = embedding(place, points)
    words = words + recipe.noise * torch.randn_like(words) * model.heard[numbers]
    return cross_entropy(model.scores(words, recipe.blind), wanted) + model.penalty(
        each, times / times.sum(), points
    )


def without_gaps(numbers: Tensor) -> Tensor:
    """The words of each text moved up to where others were removed."""
    return numbers.gather(1, (numbers == 0).byte().argsort(dim=1, stable=True))


def fit(model: Model, rows: Rows, dev: Rows | None, epochs: int, rate: float) -> None:
    """Train, and keep the moving average of the weights: after the epoch that is best on dev, or
    after the last.
    """
    numbers, classes = rows
    size = model.recipe.batch
    steps = epochs * (len(classes) // size)
    done = 0
    optimiser = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    mean = copied(model)
    best: tuple[float, dict[str, Tensor]] = (-1.0, mean)
    for epoch in range(epochs):
        for batch in torch.randperm(len(classes)).split(size)[: len(classes) // size]:
            for part in optimiser.param_groups:
                part["lr"] = rate * max(0.05, 1 - done / steps)
            optimiser.zero_grad()
            loss_of(model, numbers[batch], classes[batch]).backward()
            optimiser.step()
            done += 1
            if done % EVERY == 0:
                inertia = min(INERTIA, done / (done + 10 * EVERY))
                for name, value in model.state_dict().items():
                    mean[name].lerp_(value, 1 - inertia)
        now = copied(model)
        model.load_state_dict(mean)
        reached = model.accuracy(*dev) if dev else float(epoch)
        print(
            f"  epoch {epoch + 1} of {epochs}" + (f": dev {reached:.4f}" if dev else ""), flush=True
        )
        if reached > best[0]:
            best = (reached, {name: value.clone() for name, value in mean.items()})
        model.load_state_dict(now)
    model.load_state_dict(best[1])


def drawn_together(vectors: NDArray[np.float32], words: Sequence[str]) -> NDArray[np.float32]:
    """Each word moved towards the middle of its substitutes (retrofitting): alone, an encoder
    misjudges some words.
    """
    place = {word: number for number, word in enumerate(words)}
    found = vectors.copy()
    for _ in range(ROUNDS):
        for word, others in substitutes().items():
            near = [place[other] for other in others if other in place]
            if near and word in place:
                found[place[word]] = (vectors[place[word]] + PULL * found[near].mean(0)) / (
                    1 + PULL
                )
    return found


def begun(data: Data, recipe: Recipe, work: Path | None) -> Model:
    """A model before it has learned: the distilled vectors, some of them silent."""
    torch.manual_seed(recipe.seed)
    words = data.vocabulary
    kept = work / "vectors.npz" if work else None
    known = np.hstack([distil.encoded(words[2:], kept), data.told])
    found, directions = distil.reduced(known, words[2:], data.counts, recipe.dimension)
    start = np.vstack([np.zeros((2, found.shape[1]), np.float32), drawn_together(found, words[2:])])
    heard = np.ones((len(words), 1), np.float32)
    little = np.zeros(len(words), bool)
    for name, hush in zip(recipe.silent, recipe.hush, strict=True):
        listed = np.isin(words, (LISTS / name).read_text(encoding="utf-8").split())
        heard[listed & ~little] = hush
        little |= listed
    heard[:2] = 0
    return Model(start, directions, heard, little, exchanges(words), recipe)


def exchanges(words: Sequence[str]) -> NDArray[np.int64]:
    """For each word the numbers of its substitutes, again and again; its own where it has none."""
    place = {word: number for number, word in enumerate(words)}
    found = np.tile(np.arange(len(words))[:, None], (1, SUBSTITUTES))
    for word, others in substitutes().items():
        near = [place[other] for other in others if other in place]
        if near and word in place:
            found[place[word]] = np.resize(near, SUBSTITUTES)
    return found


def learn(data: Data, recipe: Recipe, work: Path | None) -> Model:
    model = begun(data, recipe, work)
    if recipe.more:
        fit(model, data.first, data.dev, recipe.first, recipe.rate)
    start = copied(model)
    found = []
    for run in range(recipe.runs):
        model.load_state_dict(start)
        if run:
            torch.manual_seed(recipe.seed + run)
        fit(
            model,
            data.train,
            data.dev,
            recipe.epochs,
            recipe.rate / 2 if recipe.more else recipe.rate,
        )
        found.append(copied(model))
    model.load_state_dict(
        {name: torch.stack([one[name] for one in found]).mean(0) for name in start}
    )
    return model


def copied(model: Model) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def on_all(data: Data, recipe: Recipe) -> Data:
    """The data with the dev rows among those to learn from, for the last run, when nothing is left
    to choose.
    """
    assert data.dev is not None
    numbers, classes = data.dev
    more = numbers, softened(one_hot(classes, len(recipe.labels)).float(), recipe)
    first, rows = (
        tuple(map(torch.cat, zip(part, more, strict=True))) for part in (data.first, data.train)
    )
    return replace(data, first=first, train=rows, dev=None)


# --- the classifier ---


@torch.no_grad()
def classifier(model: Model, data: Data, meta: Mapping[str, Any]) -> sf.Classifier:
    """The model in the normal form: one step with relus and the direct scores beside them, one that
    adds up.
    """
    recipe = model.recipe
    classes = len(model.recipe.labels)
    both = np.vstack([plain(model.inner.weight), plain(model.direct.weight)])
    shared = model.scale * np.tile(both, recipe.length)
    if recipe.places:
        shared[:, : recipe.places * recipe.dimension] += model.scale * plain(model.early.weight)
    local, outer, maxima = windows(model) if recipe.filters else ([], np.zeros((classes, 0)), [])
    weight = np.array([*local, *shared])
    top = np.hstack([outer, plain(model.outer.weight), np.eye(classes)])
    relu = np.arange(len(weight)) < len(weight) - classes
    if maxima:
        relu[: len(local)] = False
        maxima += [np.array([unit]) for unit in range(len(weight) - classes, len(weight))]
    steps = (
        Step(compact(single(weight)), np.zeros(len(weight)), relu, maxima=tuple(maxima)),
        Step(single(top), np.zeros(classes), np.zeros(classes, dtype=bool)),
    )
    return sf.Classifier(
        network=sf.Network(steps),
        embedding=on_grid(plain(model.vectors(torch.arange(len(data.vocabulary))))),
        vocabulary=data.vocabulary,
        labels=recipe.labels,
        length=recipe.length,
        pad=PAD,
        unknown=UNKNOWN,
        meta=meta,
    )


@torch.no_grad()
def compare(model: Model, made: sf.Classifier, numbers: Tensor) -> None:
    """Stop where the normal form does not give the scores of the model that was trained."""
    points = model.vectors(numbers)
    found = made.network.forward(plain(points).reshape(len(numbers), -1))
    apart = np.abs(found - plain(model.scores(points))).max()
    if apart > SAME:
        raise SystemExit(
            f"The scores of the classifier and of the trained model differ by {apart:.2g}."
        )


def accuracy(made: sf.Classifier, numbers: Tensor, classes: Tensor) -> float:
    """Of the classifier as it is saved, with its rounded vectors."""
    parts = zip(numbers.split(500), classes.split(500), strict=True)
    right = (
        made.network.forward(made.table[x.numpy()].reshape(len(x), -1)).argmax(-1) == y.numpy()
        for x, y in parts
    )
    return sum(int(found.sum()) for found in right) / len(classes)


def windows(
    model: Model,
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64], list[NDArray[np.int64]]]:
    """A row for every filter at every place, what each adds to the scores, and those of which the
    largest counts.

    Where the largest counts, windows reach over both ends of the text, and the last one, behind it,
    is zero.
    """
    recipe = model.recipe
    rows = []
    outer = []
    maxima = []
    for kind, width in enumerate(recipe.widths):
        places = (
            range(1 - width, recipe.length + 1)
            if recipe.largest
            else range(recipe.length - width + 1)
        )
        units = len(rows) + np.arange(len(places) * recipe.filters).reshape(
            len(places), recipe.filters
        )
        rows += [
            row
            for place in places
            for row in placed(plain(model.filter[kind].weight), place, width, recipe)
        ]
        top = plain(model.filtered.weight)[:, kind * recipe.filters : (kind + 1) * recipe.filters]
        if recipe.largest:
            outer.append(np.pad(top, ((0, 0), (0, units.size - recipe.filters))))
            maxima += list(units.T.copy())
        else:
            outer.append(np.tile(model.scale * top, len(places)))
    return rows, np.hstack(outer), maxima


def placed(
    filters: NDArray[np.float64], place: int, width: int, recipe: Recipe
) -> Iterator[NDArray[np.float64]]:
    """The filters over the words from a place on, as far as these are in the text, as rows over all
    words.
    """
    for weight in filters:
        row = np.zeros((recipe.length + 2 * width, recipe.dimension))
        row[place + width : place + 2 * width] = weight.reshape(width, recipe.dimension)
        yield row[width:-width].ravel()


def plain(weight: Tensor) -> NDArray[np.float64]:
    return weight.double().numpy()


def single(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounded to float32, which is how they are kept in the file."""
    return values.astype(np.float32).astype(np.float64)


def on_grid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounded so that half precision holds them and a wheel packs them small."""
    rounded = np.round(values / GRID) * GRID
    if not np.array_equal(rounded, rounded.astype(np.float16)):
        raise SystemExit(
            f"A word vector holds {np.abs(values).max():.3g}, which is too large for half "
            "precision."
        )
    return rounded + 0.0  # no -0.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("src/suffice/models"))
    parser.add_argument("--only", choices=RECIPES, action="append")
    parser.add_argument(
        "--work",
        type=Path,
        help="a folder that keeps vectors, teachers and answers for the next run",
    )
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name in args.only or RECIPES:
        print(name, flush=True)
        recipe = RECIPES[name]
        data = read_data(args.data, recipe, args.work)
        dev = learn(data, recipe, args.work).accuracy(*data.dev)
        model = learn(on_all(data, recipe), recipe, args.work)
        made = classifier(model, data, {})
        reached = {
            "train": accuracy(made, *data.labelled),
            "dev": dev,
            "test": accuracy(made, *data.test),
        }
        rows = {"train": len(data.labelled[1]), "dev": len(data.dev[1]), "test": len(data.test[1])}
        made = replace(made, meta={"accuracy": reached, "rows": rows})
        compare(model, made, data.dev[0][:300])
        made.save(args.out / name)
        card = model_card.card(name, recipe, made, reached, rows)
        (args.out / name / "README.md").write_text(card, encoding="utf-8", newline="\n")
        print(f"  {reached}", flush=True)


if __name__ == "__main__":
    main()

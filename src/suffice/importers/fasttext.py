"""fastText: a classifier from its .bin file, read here: laid open where it adds up words, else
asked as a function.

A text is cut at white space; the vectors of its words, of the parts of its words and of its runs of
words, as far as the model has them, and of the end of the line are averaged, and every label has a
row of weights and no bias. So the order of the scores is that of a plain sum, and with whole words
only the sum is a network.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from suffice.importers.compare import compared, random_texts
from suffice.importers.fasttext_file import END, HIERARCHY, PREFIX, SOFTMAX, Stored, read_file
from suffice.importers.kinds import NotLowered
from suffice.model import graph
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.network import Floats, Network
from suffice.model.odds import LOGITS, MARGINS
from suffice.model.tokenizers import Pattern

LENGTH = 512  # words of a text where the model is laid open
# what fastText cuts at, and nothing else: other white space is part of a word
SPACE = r" \n\r\t\v\f\0"
WORD = re.compile(rf"[^{SPACE}]+".encode())
PAD = "<PAD>"
UNKNOWN = "<UNK>"
NOTE = (
    "fastText averages: scores are its own times the number of words known, with the end of the "
    "line"
)
# of fastText
HASH = 2166136261
PRIME = 16777619
PAIR = 116049371
BITS = 2**32
MANY = 2**64


def from_fasttext(path: str | Path) -> Classifier | BlackBox:
    """A supervised model of fastText, from its .bin file. No code is run, and fastText is not
    needed.

    Trained on whole words it becomes a network, whose texts are cut after 512 words. With parts of
    words (maxn), runs of words (wordNgrams) or a hierarchical softmax it is asked. `meta["import"]`
    says which way it took.
    """
    stored = read_file(Path(path))
    function = Averaged(stored)
    try:
        return _laid_open(stored, function)
    except NotLowered as why:
        return _asked(stored, function, Path(path), str(why))


def _asked(stored: Stored, function: Averaged, path: Path, why: str) -> BlackBox:
    sha = hashlib.sha256(json.dumps(["fastText", list(stored.labels)]).encode())
    sha.update(stored.data)
    return BlackBox(
        function=function,
        labels=stored.labels,
        name=path.name,
        digest=sha.hexdigest(),
        notes=(f"Asked as a function, not laid open as a network: {why}.",),
        meta={
            "import": {"from": "fastText", "way": "asked as a function", "why": why},
            "scores": LOGITS if stored.settings.loss in (HIERARCHY, SOFTMAX) else MARGINS,
        },
        again=(from_fasttext, (str(path),)),
    )


# --- laid open ---


def _laid_open(stored: Stored, function: Averaged) -> Classifier:
    """The sum over whole words as a network; the end of the line is always there, so it
    is a bias.
    """
    words = _whole_words(stored)
    rows = stored.inputs[list(words.values())].astype(np.float64)
    end = stored.words.get(END)
    bias = (
        np.zeros(len(stored.labels))
        if end is None
        else stored.outputs @ stored.inputs[end].astype(np.float64)
    )
    few = len(stored.labels) <= stored.settings.dimension
    table = rows @ stored.outputs.T if few else rows
    total = graph.start((LENGTH, table.shape[1])).sum(0)
    classifier = Classifier(
        network=Network.of(total.shift(bias) if few else total.linear(stored.outputs, bias)),
        embedding=np.concatenate([np.zeros((2, table.shape[1])), table]),
        vocabulary=[PAD, UNKNOWN, *words],
        labels=list(stored.labels),
        length=LENGTH,
        pad=PAD,
        unknown=UNKNOWN,
        meta={"scores": MARGINS},
        tokenizer=Pattern(f"[^{SPACE}]+", lowercase=False),
    )
    texts = random_texts(classifier)
    return compared(
        classifier,
        function.sums,
        texts,
        source="fastText",
        against="the file's own mean",
        note=NOTE,
    )


def _whole_words(stored: Stored) -> dict[str, int]:
    """The words that can stand in a text, with their rows; NotLowered says why words are not all
    there is.
    """
    settings = stored.settings
    if settings.longest > 0:
        raise NotLowered("it has vectors of parts of words (maxn), so that every word is known")
    if settings.runs > 1:
        raise NotLowered("it has vectors of runs of words (wordNgrams)")
    if settings.loss == HIERARCHY:
        raise NotLowered("its labels stand in a tree (loss hs)")
    found = {
        word.decode(errors="ignore"): row
        for word, row in stored.words.items()
        if word != END and _text(word)
    }
    if not found or {PAD, UNKNOWN} & found.keys():
        raise NotLowered(f"it has no words, or some that are written {PAD} or {UNKNOWN}")
    return found


def _text(word: bytes) -> bool:
    """Whether a text can hold it: bytes that are no UTF-8 cannot stand in one."""
    try:
        return bool(word.decode())
    except UnicodeDecodeError:
        return False


# --- asked ---


class Averaged:
    """fastText's own computation, in double precision: texts to a score for each label."""

    def __init__(self, stored: Stored) -> None:
        self.stored = stored
        self.settings = stored.settings
        self.tree = _tree(stored.seen) if stored.settings.loss == HIERARCHY else []
        self.sum_of = lru_cache(100_000)(self._sum_of)

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Logits, or the logarithms of probabilities where the labels stand in a tree."""
        means = np.array([total / max(count, 1) for total, count in map(self._total, texts)])
        return self._branches(means) if self.tree else np.asarray(means @ self.stored.outputs.T)

    def sums(self, texts: Sequence[str]) -> Floats:
        """Logits times the number of vectors that were averaged."""
        return np.array([total @ self.stored.outputs.T for total, _ in map(self._total, texts)])

    def _total(self, text: str) -> tuple[Floats, int]:
        """The sum of all vectors of a text, and how many they are."""
        total = np.zeros(self.settings.dimension)
        count = 0
        hashes = []
        for token in (*WORD.findall(text.encode()), END):
            known = self.stored.words.get(token)
            if known is not None or not token.startswith(
                PREFIX.encode()
            ):  # a label in a text is no word
                part, size, number = self.sum_of(token)
                total = total + part
                count = count + size
                hashes.append(number)
            if token == END:
                break
        rows = [self._bucket(number) for number in _runs(hashes, self.settings.runs)]
        return (
            total + self.stored.inputs[rows].sum(0, dtype=np.float64) if rows else total
        ), count + len(rows)

    def _sum_of(self, token: bytes) -> tuple[Floats, int, int]:
        """The vectors of one word and its parts added up, how many, and its hash."""
        row = self.stored.words.get(token)
        parts = (
            ()
            if token == END
            else _parts(b"<" + token + b">", self.settings.shortest, self.settings.longest)
        )
        rows = [*([] if row is None else [row]), *(self._bucket(hashed(part)) for part in parts)]
        return self.stored.inputs[rows].sum(0, dtype=np.float64), len(rows), hashed(token)

    def _bucket(self, number: int) -> int:
        return len(self.stored.words) + number % self.settings.buckets

    def _branches(self, means: Floats) -> Floats:
        """Every label's probability is the product over the turns on the way to it."""
        values = means @ self.stored.outputs.T
        right = -np.logaddexp(0.0, -values)
        left = -np.logaddexp(0.0, values)
        ways = [
            sum(right[:, node] if turn else left[:, node] for node, turn in way)
            for way in self.tree
        ]
        return np.stack(ways, axis=1)


def hashed(data: bytes) -> int:
    """FNV-1a as fastText computes it: bytes from 128 on count as negative."""
    number = HASH
    for byte in data:
        number = (number ^ (byte if byte < 128 else byte + BITS - 256)) * PRIME % BITS
    return number


def _parts(word: bytes, shortest: int, longest: int) -> Iterator[bytes]:
    """Runs of characters, `<` and `>` being the edges of the word; an edge alone is none."""
    starts = [i for i, byte in enumerate(word) if byte & 0xC0 != 0x80] + [len(word)]
    for first in range(len(starts) - 1):
        for size in range(1, min(longest, len(starts) - 1 - first) + 1):
            alone = size == 1 and (first == 0 or first + size == len(starts) - 1)
            if size >= shortest and not alone:
                yield word[starts[first] : starts[first + size]]


def _runs(hashes: Sequence[int], longest: int) -> Iterator[int]:
    """A number for every run of two words and more."""
    signed = [number - BITS if number >= BITS // 2 else number for number in hashes]
    for first in range(len(signed)):
        number = signed[first] % MANY
        for place in range(first + 1, min(first + longest, len(signed))):
            number = (number * PAIR + signed[place]) % MANY
            yield number


def _tree(seen: Sequence[int]) -> list[list[tuple[int, bool]]]:
    """For every label its turns in fastText's tree: the number of the node, and whether to the
    right.
    """
    count = len(seen)
    weights = [*seen, *[10**15] * (count - 1)]
    above: dict[int, tuple[int, bool]] = {}
    leaf = count - 1
    node = count
    for place in range(count, 2 * count - 1):
        weights[place] = 0
        picked = []
        for _ in range(2):
            if leaf >= 0 and (node >= place or weights[leaf] < weights[node]):
                picked.append(leaf)
                leaf -= 1
            else:
                picked.append(node)
                node += 1
        weights[place] = sum(weights[one] for one in picked)
        above |= {
            one: (place - count, turn) for one, turn in zip(picked, (False, True), strict=True)
        }
    return [list(_way(label, above, count)) for label in range(count)]


def _way(place: int, above: dict[int, tuple[int, bool]], count: int) -> Iterator[tuple[int, bool]]:
    while place in above:
        node, turn = above[place]
        yield node, turn
        place = node + count

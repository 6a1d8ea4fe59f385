"""Classifier: labels, vocabulary, embedding and network together; predict, save and load."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy  # its subpackages load on first use, which keeps `import suffice` quick
from numpy.typing import ArrayLike
from safetensors.numpy import save_file

from suffice.errors import InputError, ModelError
from suffice.model import text as texts
from suffice.model.labels import place_of, plain_labels
from suffice.model.network import Floats, Ints, Network, compact
from suffice.model.odds import LOGITS, shares
from suffice.model.step import LARGEST, fixed, is_sparse, stored, within_reach
from suffice.model.tensors import MOST_INPUTS, narrow, step_tensors
from suffice.model.text import Text
from suffice.model.tokenizers import FILE, HuggingFace, Pattern, Tokenizer, as_tokenizer

FORMAT = 2
READING = (
    "format",
    "length",
    "pad",
    "unknown",
    "tokenizer",
)  # of the header: what decides how a text is read


@dataclass(frozen=True, slots=True)
class Prediction:
    """The winning label, the raw scores, the probabilities (None of a model that gives none), and
    the margin: the lead over the best rival.
    """

    label: str
    scores: tuple[float, ...]
    probabilities: tuple[float, ...] | None
    margin: float


@dataclass(frozen=True, eq=False)
class Classifier:
    """A text classifier: words are looked up, embedded and sent through the network.

    `embedding` is (V, d) for the V words of `vocabulary`; texts are cut or padded to `length`.
    `meta` is for people (data, accuracy, origin) and does not affect a prediction, so it is not
    part of the digest. `tokenizer` makes words of a string: "words" (the default), a function of
    the string, or a Hugging Face `tokenizers.Tokenizer`. Probabilities are the softmax of the
    scores, unless `meta["scores"]` says that these are "margins".
    """

    network: Network
    embedding: ArrayLike
    vocabulary: Sequence[str]
    labels: Sequence[str]  # of any kind where they come in, kept as strings
    length: int
    pad: str = "<PAD>"
    unknown: str = "<UNK>"
    meta: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: Any = "words"

    def __post_init__(self) -> None:
        object.__setattr__(self, "embedding", fixed(np.asarray(self.embedding, dtype=np.float64)))
        object.__setattr__(self, "vocabulary", tuple(self.vocabulary))
        object.__setattr__(self, "labels", plain_labels(self.labels))
        object.__setattr__(self, "tokenizer", as_tokenizer(self.tokenizer))
        _validate(self)

    def __repr__(self) -> str:
        maxima = f", {self.network.maxima} maxima" if self.network.maxima else ""
        return (
            f"<Classifier {', '.join(self.labels)}: {self.length} words × {self.dimension}, "
            f"{len(self.vocabulary)} in the vocabulary, {self.network.relus} relus{maxima}>"
        )

    @property
    def table(self) -> Floats:
        """The embedding as an array of float64."""
        return self.embedding  # type: ignore[return-value]

    @cached_property
    def columns(self) -> Floats:
        """The embedding's coordinates one after the other (d, V), for distances to all words at
        once.
        """
        return np.ascontiguousarray(self.table.T)

    @cached_property
    def squares(self) -> Floats:
        """The squared length of every word's vector."""
        return np.asarray((self.columns**2).sum(0))

    @cached_property
    def nearest(self) -> dict[tuple[int, int], Ints]:
        """What is known of nearest words, by word and k: texts share most of their words."""
        return {}

    @property
    def dimension(self) -> int:
        return int(self.table.shape[1])

    @property
    def reader(self) -> Tokenizer:
        """The tokenizer as one of the kinds that suffice knows."""
        return self.tokenizer  # type: ignore[no-any-return]

    @cached_property
    def lookup(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.vocabulary)}

    @property
    def digest(self) -> str:
        """SHA-256 over everything that affects a prediction: what is read from a text, then every
        number.
        """
        return self._digests[1]

    @property
    def reading(self) -> str:
        """SHA-256 over everything that affects how a text is read: words, length, and the
        tokenizer's content.
        """
        return self._digests[0]

    @cached_property
    def _digests(self) -> tuple[str, str]:
        """Of what affects reading, then of all: each part after its length, so that no two
        classifiers are alike.
        """
        sha = hashlib.sha256()
        found = []
        for parts in (_reading_parts(self), _network_parts(self)):
            for part in parts:
                sha.update(len(part).to_bytes(8, "little"))
                sha.update(part)
            found.append(sha.hexdigest())
        return found[0], found[1]

    def read(self, given: str | Sequence[str] | Text) -> Text:
        """The text as this classifier sees it."""
        if isinstance(given, Text):
            return self._own(given)
        how = self.reader
        return texts.read(
            given, self.lookup, self.length, self.pad, self.unknown, how, how.once, self.reading
        )

    def _own(self, text: Text) -> Text:
        """A text that was read before, once it is known that it was read in this way; one from a
        file is read again.
        """
        if text.reader == self.reading:
            return text
        if not text.reader:
            again = (
                self.read(given) for given in (text.source, list(text.tokens[: len(text.words)]))
            )
            found = next(
                (own for own in again if (own.tokens, own.indices) == (text.tokens, text.indices)),
                None,
            )
            if found is not None:
                return found
        raise InputError(
            f"The text {text.source[:60]!r} was read by another classifier, which may see "
            "other words in it: give the "
            "string itself."
        )

    @cached_property
    def ordered(self) -> bool:
        """Whether the place of a word may count: then padding in its place is not the text without
        it.
        """
        first = self.network.steps[0].weight
        size = self.dimension
        mine = first[:, :size]
        others = (first[:, at : at + size] for at in range(size, self.length * size, size))
        return any((mine != other).sum() for other in others)

    def embed(self, text: Text) -> Floats:
        """The (length, dimension) input of a text."""
        return self.table[list(text.indices)]

    def predict(self, given: str | Sequence[str] | Text) -> Prediction:
        return self.predict_input(self.embed(self.read(given)))

    def predict_input(self, point: Floats) -> Prediction:
        """The prediction for an embedded (length, dimension) input, such as a perturbed one."""
        scores = self.network.forward(np.ravel(point))
        best = int(scores.argmax())
        margin = scores[best] - np.delete(scores, best).max()
        odds = shares(scores, self.meta.get("scores", LOGITS))
        return Prediction(self.labels[best], tuple(scores.tolist()), odds, float(margin))

    def knows(self, word: str) -> bool:
        """Whether a word in a text would be read as itself."""
        return self.index_of(word) != self.lookup[self.unknown]

    def index_of(self, word: str) -> int:
        """The row of a word that a substitute names, as the classifier would read it in a text."""
        unknown = self.lookup[self.unknown]
        if word in self.lookup or not isinstance(self.reader, Pattern):
            return self.lookup.get(word, self.lookup.get(word.lower(), unknown))
        tokens = [token for token, _, _ in self.reader(word)]
        if len(tokens) > 1:
            raise InputError(
                f"The substitute {word!r} is read as {len(tokens)} words, but takes the place "
                "of one."
            )
        return self.lookup.get(tokens[0], unknown) if tokens else unknown

    def each_once(self, rows: list[list[int]]) -> list[list[int]]:
        """The words that may stand at each position, refused where one that counts once could stand
        at two.

        A model of sets of words counts a word once, however often it occurs; the network, which
        adds up positions, would count it twice.
        """
        silent = {self.lookup[self.pad], self.lookup[self.unknown]}
        seen: dict[int, int] = {}
        for position, row in enumerate(rows if self.reader.once else ()):
            for index in set(row) - silent:
                if seen.setdefault(index, position) != position:
                    raise InputError(
                        "For this classifier a word counts once, however often it occurs, but "
                        f"{self.vocabulary[index]!r} could stand at positions {seen[index]} "
                        f"and {position}: "
                        "leave it out of one's substitutes."
                    )
        return rows

    def label_index(self, label: str) -> int:
        return place_of(self.labels, label)

    def save(self, folder: str | Path) -> None:
        """Write classifier.json, vocabulary.txt, weights.safetensors (and a tokenizer.json) into
        `folder`.
        """
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        header = {**_header(self), "digest": self.digest, "meta": dict(self.meta)}
        (path / "classifier.json").write_text(
            json.dumps(header, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        (path / "vocabulary.txt").write_text(
            "\n".join(self.vocabulary) + "\n", encoding="utf-8", newline="\n"
        )
        if isinstance(self.reader, HuggingFace):
            (path / FILE).write_text(self.reader.json, encoding="utf-8", newline="\n")
        tensors = {"embedding": self.table}
        for place, step in enumerate(self.network.steps):
            tensors |= step_tensors(place, step)
        save_file(
            {name: narrow(array) for name, array in tensors.items()}, path / "weights.safetensors"
        )


def _header(classifier: Classifier) -> dict[str, Any]:
    header: dict[str, Any] = {
        "format": FORMAT,
        "labels": list(classifier.labels),
        "length": classifier.length,
        "pad": classifier.pad,
        "unknown": classifier.unknown,
        "tokenizer": classifier.reader.header(),
        "relu": [np.flatnonzero(step.relu).tolist() for step in classifier.network.steps],
    }
    curves = [
        {name: units.tolist() for name, units in step.curves} for step in classifier.network.steps
    ]
    maxima = [[group.tolist() for group in step.maxima] for step in classifier.network.steps]
    more: dict[str, list[Any]] = {"curves": curves, "maxima": maxima}
    return {**header, **{name: units for name, units in more.items() if any(units)}}


def _reading_parts(classifier: Classifier) -> Iterator[bytes]:
    """What a reader of texts is, each part as bytes."""
    header = {name: value for name, value in _header(classifier).items() if name in READING}
    yield json.dumps(header, sort_keys=True).encode()
    yield getattr(classifier.reader, "content", "").encode()
    yield str(len(classifier.vocabulary)).encode()
    for word in classifier.vocabulary:
        yield word.encode("utf-8", "surrogatepass")


def _network_parts(classifier: Classifier) -> Iterator[Any]:
    """What is computed from a text, each part as bytes: shapes stand before numbers."""
    header = {name: value for name, value in _header(classifier).items() if name not in READING}
    yield json.dumps(header, sort_keys=True).encode()
    yield from _array_parts(classifier.table)
    for step in classifier.network.steps:
        yield from _array_parts(compact(step.weight))
        yield from _array_parts(step.bias)


def _array_parts(array: Any) -> Iterator[Any]:
    """An array in its one form as bytes: sparse where `compact` says, little-endian, without -0.0,
    which CSR lacks.
    """
    yield repr(tuple(map(int, array.shape))).encode()
    if is_sparse(array):
        rows = array
        if not (array.format == "csr" and array.has_canonical_format and array.data.all()):
            rows = scipy.sparse.csr_array(array, copy=True)
            rows.sum_duplicates()
            rows.eliminate_zeros()
        yield b"sparse"
        yield from (
            np.ascontiguousarray(part, dtype="<i8").view(np.uint8)
            for part in (rows.indptr, rows.indices)
        )
        array = rows.data
    yield (np.ascontiguousarray(array, dtype="<f8").ravel() + 0.0).view(np.uint8)


def _validate(classifier: Classifier) -> None:
    _validate_numbers(classifier)
    _validate_names(classifier)
    _validate_fit(classifier)


def _validate_numbers(classifier: Classifier) -> None:
    """A row for each word, and no number that the arithmetic of proofs cannot hold."""
    table = classifier.table
    words = classifier.vocabulary
    if table.ndim != 2 or len(table) != len(words):
        raise ModelError(
            f"The embedding has shape {table.shape} but the vocabulary has {len(words)} words."
        )
    if not np.isfinite(table).all():
        raise ModelError("The embedding holds a value that is not a finite number.")
    for what, numbers in _numbers(classifier):
        if not within_reach(numbers):
            raise ModelError(
                f"{what} holds {_beyond(numbers):.3g}: numbers beyond {LARGEST:.3g} (2^128) "
                "are refused, as sums of "
                "their products are more than the arithmetic of proofs holds."
            )


def _validate_names(classifier: Classifier) -> None:
    """Words are strings, each is there once, and so are those for padding and for unknown words."""
    words = classifier.vocabulary
    if not all(isinstance(word, str) and "\n" not in word and "\r" not in word for word in words):
        raise ModelError("Every word of the vocabulary must be a string without line breaks.")
    if len(set(words)) != len(words):
        raise ModelError("The vocabulary holds a word twice.")
    for role in (classifier.pad, classifier.unknown):
        if role not in classifier.lookup:
            raise ModelError(
                f"The vocabulary lacks {role!r}, which the classifier uses for padding or "
                "unknown words."
            )


def _validate_fit(classifier: Classifier) -> None:
    """The network takes as many numbers as a text has, and gives a score for each label."""
    length = classifier.length
    size = classifier.table.shape[1]
    network = classifier.network
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise ModelError(f"The length must be a positive whole number, not {length!r}.")
    if length * size > MOST_INPUTS:
        raise ModelError(
            f"A text of {length} words × {size} dimensions is too large: at most "
            f"{MOST_INPUTS} numbers are supported."
        )
    if network.inputs != length * size:
        raise ModelError(
            f"The network takes {network.inputs} numbers, but {length} words × {size} "
            f"dimensions give {length * size}."
        )
    if len(classifier.labels) != network.outputs or len(set(classifier.labels)) != len(
        classifier.labels
    ):
        raise ModelError(
            f"There are {len(set(classifier.labels))} different labels for {network.outputs} "
            "outputs."
        )


def _numbers(classifier: Classifier) -> Iterator[tuple[str, Floats]]:
    yield "The embedding", classifier.table
    for place, step in enumerate(classifier.network.steps):
        yield f"The weight of step {place}", stored(step.weight)
        yield f"The bias of step {place}", step.bias


def _beyond(numbers: Floats) -> float:
    return float(numbers.ravel()[int(np.abs(numbers).argmax())])

"""Assemble: a walked network with its vocabulary and labels becomes a classifier, compared with the
original.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # its subpackages load on first use, which keeps `import suffice` quick
from numpy.typing import ArrayLike

from suffice.errors import ModelError
from suffice.importers.compare import FAINT, compared, odds, random_rows, scores_of
from suffice.importers.masked import EMPTY, NOTE, divisors
from suffice.importers.values import Count
from suffice.importers.walk import Walked
from suffice.model import graph
from suffice.model.classifier import Classifier
from suffice.model.graph import Tensor
from suffice.model.network import Floats, Ints, Network
from suffice.model.odds import MARGINS

MOST_WORDS = 2**20  # of a text
KERAS_UNKNOWN = "[UNK]"  # what TextVectorization calls unknown words


@dataclass(frozen=True, eq=False)
class Given:
    """What a file does not say: the words, the labels, how long texts are, and how they
    are read.
    """

    vocabulary: Sequence[str]
    labels: Sequence[str]
    length: int
    pad: str
    unknown: str
    tokenizer: Any = None
    embedding: Floats | None = None


def given(
    vocabulary: Sequence[str] | Mapping[str, int],
    labels: Sequence[Any],
    length: int | None,
    pad: str,
    unknown: str,
    tokenizer: Any,
    embedding: ArrayLike | None,
) -> Given:
    """The same, once it is known to be usable: a mapping of words to their numbers
    becomes a list.
    """
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise ModelError(
            f"The length must be a positive whole number, not {length!r}: say how many words "
            "a text has."
        )
    if length > MOST_WORDS:
        raise ModelError(
            f"A text of {length} words is too long: at most {MOST_WORDS} are supported."
        )
    if isinstance(vocabulary, str) or isinstance(labels, str):
        raise ModelError("The vocabulary and the labels must be lists of strings, not one string.")
    table = None if embedding is None else np.asarray(embedding, dtype=np.float64)
    if table is not None and table.ndim != 2:
        raise ModelError(
            f"The embedding must have a row for every word; its shape is {table.shape}."
        )
    words = in_order(vocabulary)
    if (
        "" in words and pad not in words
    ):  # as TextVectorization of Keras writes padding: no word of a text is empty
        words[words.index("")] = pad
    if unknown not in words and KERAS_UNKNOWN in words:
        unknown = KERAS_UNKNOWN
    return Given(words, list(labels), length, pad, unknown, tokenizer, table)


def in_order(vocabulary: Sequence[str] | Mapping[str, int]) -> list[str]:
    """Words by their numbers, which must run from 0 without a gap."""
    if not isinstance(vocabulary, Mapping):
        return list(vocabulary)
    words = sorted(vocabulary, key=lambda word: vocabulary[word])
    if [vocabulary[word] for word in words] != list(range(len(words))):
        raise ModelError(
            "The numbers of the vocabulary's words must be 0, 1, 2, ... without gaps or repeats."
        )
    return words


def assemble(
    walked: Walked,
    given: Given,
    original: Callable[[Ints], ArrayLike],
    source: str,
    packages: Sequence[str],
    against: str = "the original",
    note: str = "",
) -> Classifier:
    """The classifier of a walked network; `original` answers index rows (n, length) with (n,
    outputs).
    """
    single = walked.scores.size == 1
    classifier = _built(walked, given, source)
    ending = walked.endings[-1] if walked.endings else ""
    if single and not ending:
        _refuse_share(classifier, source)
    rows = random_rows(classifier)
    times = np.ones(len(rows)) if walked.by is None else divisors(walked.by, rows)
    if not times.all():
        _refuse_answer(original, rows[times == 0], source)
    rows, times = rows[times > 0], times[times > 0]

    def seen(answers: Floats) -> Floats:
        """An answer as scores, as far as it tells them."""
        return odds(answers, ending) if ending else answers

    found = compared(
        classifier,
        lambda rows: seen(np.asarray(original(rows), dtype=np.float64)),
        rows,
        source=source,
        packages=packages,
        view=lambda found: seen(_ended((found / times[:, None])[:, int(single) :], walked.endings)),
        floor=FAINT if ending else 0.0,
        against=against,
        note=" ".join(part for part in (note, *_notes(walked.by)) if part),
    )
    facts = found.meta["import"]
    return replace(
        found,
        meta={
            **found.meta,
            "import": {**facts, **({"still": walked.still} if walked.still else {})},
        },
    )


def _notes(by: Count | None) -> tuple[str, ...]:
    if by is None:
        return ()
    return (NOTE,) if np.asarray(by.codes)[0] else (NOTE, EMPTY)


def _refuse_answer(original: Callable[[Ints], ArrayLike], rows: Ints, source: str) -> None:
    """Where the original divides by zero it must have no answer, as the classifier has none."""
    with np.errstate(all="ignore"):
        found = np.asarray(original(rows), dtype=np.float64)
    if np.isfinite(found).any():
        raise ModelError(
            f"{source} answers a text of which no word is counted, and it is not known here "
            "how: please report this "
            "with the model, and ask it as a function meanwhile (sf.from_function)."
        )


def _built(walked: Walked, given: Given, source: str) -> Classifier:
    """The classifier, with a score for each label."""
    single = walked.scores.size == 1
    scores = two_scores(walked.scores) if single else walked.scores
    if len(given.labels) != scores.size:
        means = (
            "one output, the score of the second of two labels"
            if single
            else f"{scores.size} outputs"
        )
        raise ModelError(
            f"There are {len(given.labels)} labels, but {source} has {means}: give "
            f"{scores.size} labels."
        )
    if walked.by is not None:
        _is_left_out(walked.by, given)
    return Classifier(
        network=Network.of(scores),
        embedding=walked.embedding,
        vocabulary=given.vocabulary,
        labels=given.labels,
        length=given.length,
        pad=given.pad,
        unknown=given.unknown,
        meta={} if _softmax_tells(walked, single) else {"scores": MARGINS},
        **({} if given.tokenizer is None else {"tokenizer": given.tokenizer}),
    )


def _softmax_tells(walked: Walked, single: bool) -> bool:
    """Whether the softmax of our scores is what the original says: not of scores times the number
    of words.
    """
    apart = walked.endings and walked.endings[-1].endswith("sigmoid") and not single
    return walked.by is None and not apart


def _is_left_out(by: Count, given: Given) -> None:
    """What means leave out is the padding, or more than that; if not, another padding was meant."""
    words = [
        word for word, counted in zip(given.vocabulary, by.counted, strict=True) if not counted
    ]
    if words and given.pad not in words:
        raise ModelError(
            f"Its means leave out {words[0]!r}, and count {given.pad!r}, the padding, as a "
            f"word: give pad={words[0]!r}."
        )


def _refuse_share(classifier: Classifier, source: str) -> None:
    """A single output is taken as a score that turns at 0; one that seems a probability turns at
    1/2.
    """
    found = scores_of(classifier, random_rows(classifier))[:, 1]
    if (found >= 0).all() and (found <= 1).all():
        raise ModelError(
            f"The one output of {source} lies between 0 and 1 on all texts that were tried, "
            "as a probability does, but "
            "no sigmoid makes it, so it is not known where the label turns: let the network "
            "give the score before it "
            "becomes a probability, or one output for each label."
        )


def two_scores(logit: Tensor) -> Tensor:
    """[0, z]: a single output z says the second label where it is above zero."""
    flat = logit.reshape((1,))
    return graph.concatenate([flat.scale(0.0), flat], 0)


def _ended(scores: Floats, endings: Sequence[str]) -> Floats:
    """Our scores through what was left away at the end, to compare them with the
    original's answer.
    """
    for ending in endings:
        match ending:
            case "softmax":
                scores = scipy.special.softmax(scores, axis=1)
            case "log_softmax":
                scores = scipy.special.log_softmax(scores, axis=1)
            case "sigmoid":
                scores = scipy.special.expit(scores)
            case "log_sigmoid":
                scores = -np.logaddexp(0.0, -scores)
            case _:
                raise AssertionError(ending)
    return scores

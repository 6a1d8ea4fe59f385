"""Compare: an imported classifier and its original answer the same inputs side by side; a
difference is refused.
"""

from __future__ import annotations

import importlib.metadata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import InputError, ModelError
from suffice.model.classifier import Classifier
from suffice.model.network import Floats, Ints

# of the usual size of a score: far above float32's rounding, far below any mistake
TOLERANCE = 1e-4
LEAST = 50  # inputs
TEXTS = 64  # random texts, or rows of them
# Float32 probabilities say their log-odds to about 1e-6 only: scores smaller than this are compared
# to that.
FAINT = 0.01
# log-odds beyond these are lost in float32
LOW = -60.0
HIGH = 6.9


def compared(
    classifier: Classifier,
    original: Callable[[Any], ArrayLike],
    inputs: Sequence[Any] | Ints,
    *,
    source: str,
    packages: Sequence[str] = (),
    view: Callable[[Floats], Floats] | None = None,
    floor: float = 0.0,
    against: str = "the original",
    note: str = "",
) -> Classifier:
    """The classifier with what was compared in meta["import"]; a ModelError where it and the
    original disagree.

    `inputs` are texts, or index rows (n, length) into the vocabulary. `original` gives the
    original's answers to all of them, one row per input; `view` turns our scores (n, labels) into
    what it gives. A difference is measured against the usual size of an answer, or `floor` if that
    is larger. `source` and `packages` say what was compared, for people; `against` says so where it
    was not the original itself, and `note` why.
    """
    if len(inputs) < LEAST:
        raise ModelError(f"An import is compared on at least {LEAST} inputs, not on {len(inputs)}.")
    scores = scores_of(classifier, inputs)
    with np.errstate(all="ignore"):
        ours = np.asarray(scores if view is None else view(scores), dtype=np.float64)
        theirs = np.asarray(original(inputs), dtype=np.float64)
    gap = difference(ours, theirs, source, floor)
    if not gap <= TOLERANCE:
        raise ModelError(_refusal(classifier, inputs, ours, theirs, gap, source))
    wins = Counter(classifier.labels[i] for i in scores.argmax(1))
    facts = {
        "from": source,
        "compared with": against,
        "compared": f"{len(inputs)} {'index rows' if isinstance(inputs, np.ndarray) else 'texts'}",
        "largest difference": gap,
        "allowed difference": TOLERANCE,
        "labels seen": {label: wins[label] for label in classifier.labels if wins[label]},
        "versions": {name: importlib.metadata.version(name) for name in packages},
    }
    return replace(
        classifier,
        meta={**classifier.meta, "import": {**facts, **({"note": note} if note else {})}},
    )


def scores_of(classifier: Classifier, inputs: Sequence[Any] | Ints) -> Floats:
    """Our scores (n, labels) for texts or for index rows."""
    if isinstance(inputs, np.ndarray):
        return classifier.network.forward(classifier.table[inputs])
    return classifier.network.forward(
        np.stack([classifier.embed(classifier.read(text)) for text in inputs])
    )


def difference(ours: Floats, theirs: Floats, source: str, floor: float = 0.0) -> float:
    """The largest difference, in units of the usual size of an answer, or of an answer that is
    larger than usual.

    Infinite where either is not a number.
    """
    if ours.shape != theirs.shape:
        raise ModelError(
            f"{source} gives answers of shape {theirs.shape}, the import gives {ours.shape}."
        )
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        return float("inf")
    sizes = np.abs(theirs).max(1)
    # one large answer must not hide the others
    usual = float(np.median(sizes)) or float(sizes.max()) or 1.0
    return float((np.abs(ours - theirs).max(1) / np.maximum(sizes, max(usual, floor))).max())


def odds(answers: ArrayLike, ending: str) -> Floats:
    """What probabilities (or their logarithms) say of the scores before a softmax or sigmoid.

    Probabilities themselves would be a blunt measure: near a half, and near 0 and 1, scores may
    differ by much and the probabilities by next to nothing.
    """
    given = np.asarray(answers, dtype=np.float64)
    match ending:
        case "softmax" | "log_softmax":
            logs = np.maximum(np.log(given) if ending == "softmax" else given, LOW)
            return np.asarray(logs - logs.mean(1, keepdims=True))
        case "sigmoid" | "log_sigmoid":
            logs = np.log(given) if ending == "sigmoid" else given
            return np.clip(logs - np.log(-np.expm1(logs)), LOW, HIGH)
        case _:
            raise AssertionError(ending)


def random_rows(classifier: Classifier, count: int = TEXTS, seed: int = 0) -> Ints:
    """Index rows (count, length): texts of every length with words from the whole vocabulary, then
    padding.

    Two thirds are padded after their last word as real texts are; the others hold any index
    anywhere. Unknown words and repeats occur; the first row is all padding, the second all unknown.
    """
    rng = np.random.default_rng(seed)
    rows = rng.integers(len(classifier.vocabulary), size=(count, classifier.length))
    rows[rng.random(rows.shape) < 0.1] = classifier.lookup[classifier.unknown]
    ends = rng.integers(1, classifier.length + 1, size=count)
    ends[2::3] = classifier.length
    rows[np.arange(classifier.length) >= ends[:, None]] = classifier.lookup[classifier.pad]
    rows[0], rows[1] = classifier.lookup[classifier.pad], classifier.lookup[classifier.unknown]
    return np.asarray(rows, dtype=np.int64)


def random_texts(classifier: Classifier, extra: Sequence[str] = ()) -> list[str]:
    """Texts that fit: words of the vocabulary and some `extra` ones, repeats, unknown words,
    capitals, punctuation.
    """
    rng = np.random.default_rng(0)
    special = {classifier.pad, classifier.unknown}
    words = [word for word in classifier.vocabulary if word not in special] or ["word"]
    words += extra[: max(1, len(words) // 10)]
    sizes = rng.integers(1, classifier.length + 1, size=8 * TEXTS)
    made = (_random_text(rng, words, int(size)) for size in sizes)
    return list(islice((text for text in made if _fits(classifier, text)), TEXTS))


def _random_text(rng: np.random.Generator, words: Sequence[str], size: int) -> str:
    # so that words repeat
    few = [words[i] for i in rng.integers(len(words), size=max(1, size // 2))]
    pools = [few if rng.random() < 0.5 else words for _ in range(size)]
    return " ".join(_dressed(rng, pool[int(rng.integers(len(pool)))]) for pool in pools)


def _fits(classifier: Classifier, text: str) -> bool:
    """Whether there is a word to read, and none beyond the length: marks may count as words."""
    try:
        return not classifier.read(text).cut
    except InputError:
        return False


def _dressed(rng: np.random.Generator, word: str) -> str:
    """A word as it may stand in a text: as it is, with a capital, beside marks, or misspelt beyond
    knowing.
    """
    forms = [
        word,
        word,
        word,
        word.capitalize(),
        word.upper(),
        f"{word},",
        f"({word})!",
        f"{word}é",
        f"qx{word}zq",
    ]
    return forms[int(rng.integers(len(forms)))]


def _refusal(
    classifier: Classifier,
    inputs: Sequence[Any] | Ints,
    ours: Floats,
    theirs: Floats,
    gap: float,
    source: str,
) -> str:
    """Which input differs most, and by how much."""
    apart = np.abs(ours - theirs).max(1)
    worst = int(np.where(np.isfinite(apart), apart, np.inf).argmax())
    given = inputs[worst]
    shown = given if isinstance(given, str) else " ".join(classifier.vocabulary[i] for i in given)
    return (
        f"The import disagrees with {source}: the largest difference is {gap:.3g} of the "
        "usual answer, more than "
        f"{TOLERANCE:g}, over {len(inputs)} inputs. For {shown!r} the original gives "
        f"{_brief(theirs[worst])} "
        f"and the import {_brief(ours[worst])}. Nothing was imported; please report this with "
        "the model."
    )


def _brief(row: Floats) -> str:
    return "[" + ", ".join(f"{value:.6g}" for value in row[:6]) + (", …]" if len(row) > 6 else "]")

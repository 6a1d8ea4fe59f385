"""The questions whose work is held: every engine and every verb, each within a second or two, few
of them trivial. Classifiers are bundled, or made here from fixed seeds.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "proof"))
import blackboxes
from helpers import make_classifier
from test_smooth import SWAPS, smooth, text_of

import suffice as sf
from suffice.importers.sklearn_asked import opened
from suffice.model.network import Conv1d, Dense, MaxPool, Network, Relu, Transpose

ENDLESS = 600.0  # seconds: no question is cut short by a clock
WORDS = [f"word{i}" for i in range(30)]


@dataclass(frozen=True)
class Fixture:
    """A question with its name; `answer` asks it anew, of a classifier that is made anew."""

    name: str
    answer: Callable[[], Any]


def fixtures() -> Iterator[Fixture]:
    """All of them, in a fixed order."""
    yield from of_dense_networks()
    yield from of_maxima()
    yield from of_smooth_networks()
    yield from of_words()
    yield from of_pipelines()
    yield from of_functions()


def fixture(
    name: str,
    verb: Callable[..., Any],
    make: Callable[[], Any],
    text: str | list[str],
    *more: Any,
    **given: Any,
) -> Fixture:
    """A verb, asked of what `make` makes: nothing that one question learnt helps another."""

    def answer() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = verb(make(), text, *more, seconds=ENDLESS, **given)
            return list(found)[-1] if isinstance(found, Iterator) else found

    return Fixture(f"{verb.__name__}, {name}", answer)


def drawn(seed: int, length: int) -> list[str]:
    """A text of random words."""
    return [WORDS[i] for i in np.random.default_rng([seed, length]).integers(30, size=length)]


# --- networks over vectors ---


def of_dense_networks() -> Iterator[Fixture]:
    one, two, three, wide, long = (
        partial(make_classifier, 1, length, 3, hidden, classes, 30)
        for length, hidden, classes in (
            (8, (24,), 2),
            (6, (20, 12), 2),
            (5, (12, 12, 8), 3),
            (6, (96, 16), 2),
            (24, (12,), 2),
        )
    )
    yield fixture("one layer, boxes", sf.explain, one, drawn(1, 8), perturbation=sf.KNNBox(6))
    for classes in (2, 3):
        hard = partial(make_classifier, 33, 8, 3, (24,), classes, 30)
        boxes = sf.KNNBox(5)
        yield fixture(f"hard, {classes}", sf.explain, hard, drawn(33, 8), perturbation=boxes)
    yield fixture("two layers, boxes", sf.explain, two, drawn(1, 6), perturbation=sf.KNNBox(6))
    three_words = drawn(1, 5)
    sets = {
        "boxes": sf.KNNBox(3),
        "hulls": sf.KNNHull(3),
        "ball": sf.EpsilonBall(0.3),
        "round ball": sf.EpsilonBall(0.5, p=2),
    }
    for kind, wanted in sets.items():
        yield fixture(f"three layers, {kind}", sf.explain, three, three_words, perturbation=wanted)
    yield fixture("wide, boxes", sf.explain, wide, drawn(1, 6), perturbation=sf.KNNBox(6))
    yield fixture("wide, ball", sf.explain, wide, drawn(1, 6), perturbation=sf.EpsilonBall(0.3))
    yield fixture("long, boxes", sf.explain, long, drawn(1, 24), perturbation=sf.KNNBox(6))
    yield fixture("long, hulls", sf.explain, long, drawn(1, 24), perturbation=sf.KNNHull(3))
    two_at_once = sf.KNNBox(6, at_most=2)
    yield fixture("long, two at once", sf.explain, long, drawn(1, 24), perturbation=two_at_once)
    yield fixture("long, boxes", sf.contrast, long, drawn(1, 24), perturbation=sf.KNNBox(3))
    yield fixture("two layers", sf.profile, two, drawn(1, 6), sf.KNNBox, [2, 4, 6])
    yield fixture("one layer", sf.explain_all, one, drawn(1, 8), perturbation=sf.KNNBox(6))
    for method in ("hs", "msa"):
        few = partial(make_classifier, 1, 5, 2, (6,), 2, 30)
        boxes = sf.KNNBox(4)
        yield fixture(method, sf.explain, few, drawn(1, 5), perturbation=boxes, method=method)
    yield fixture("milp", sf.is_robust, few, drawn(1, 5), [1], perturbation=boxes, oracle="milp")
    yield fixture("one layer", sf.repair, one, drawn(1, 8), [0, 3], perturbation=sf.KNNBox(6))
    yield fixture("wide", sf.is_robust, wide, drawn(1, 6), [0, 2, 4], perturbation=sf.KNNBox(4))
    bundled = partial(sf.load, "trec-fc15")
    rivers = "how many rivers cross the old town ?"
    yield fixture("trec-fc15, boxes", sf.explain, bundled, rivers, perturbation=sf.KNNBox(10))


def text_cnn(seed: int, length: int, filters: int, width: int, size: int = 3) -> sf.Classifier:
    """A random TextCNN: one width of filters, relu, the maximum over places, scores."""
    rng = np.random.default_rng([7, seed])
    kernel = Conv1d(rng.standard_normal((filters, size, width)), 0.3 * rng.standard_normal(filters))
    last = Dense(rng.standard_normal((2, filters)), 0.3 * rng.standard_normal(2))
    layers = [Transpose(), kernel, Relu(), MaxPool(), last]
    table = rng.standard_normal((len(WORDS) + 2, size))
    return sf.Classifier(
        Network.build(layers, (length, size)),
        table,
        ["<PAD>", "<UNK>", *WORDS],
        ["label0", "label1"],
        length,
    )


def of_maxima() -> Iterator[Fixture]:
    small, middle, many = (
        partial(text_cnn, 1, length, filters, width)
        for length, filters, width in ((6, 16, 2), (8, 24, 3), (6, 40, 2))
    )
    yield fixture("few maxima", sf.explain, small, drawn(1, 6), perturbation=sf.KNNBox(4))
    yield fixture("maxima", sf.explain, middle, drawn(1, 8), perturbation=sf.KNNBox(4))
    yield fixture("many maxima", sf.explain, many, drawn(1, 6), perturbation=sf.KNNBox(4))
    yield fixture("maxima, ball", sf.explain, many, drawn(1, 6), perturbation=sf.EpsilonBall(0.2))
    yield fixture("maxima", sf.contrast, middle, drawn(1, 8), perturbation=sf.KNNBox(2))
    harder = partial(text_cnn, 0, 8, 24, 3)
    yield fixture("maxima, splits", sf.explain, harder, drawn(0, 8), perturbation=sf.KNNBox(4))
    bundled = partial(sf.load, "sst-cnn25")
    mess = "an empty , noisy mess of a film"
    yield fixture("sst-cnn25, boxes", sf.explain, bundled, mess, perturbation=sf.KNNBox(10))


def of_smooth_networks() -> Iterator[Fixture]:
    text = text_of(1, 8)
    for kind in ("tanh", "gelu", "mixed", "softmax"):
        make = partial(smooth, kind, 1, length=8)
        yield fixture(f"{kind}, swaps", sf.explain, make, text, perturbation=sf.WordSwap(SWAPS))
    make = partial(smooth, "gelu", 1, length=8)
    yield fixture("gelu, boxes", sf.explain, make, text, perturbation=sf.KNNBox(2))
    make = partial(smooth, "mixed", 1, length=8)
    yield fixture("mixed, boxes", sf.explain, make, text, perturbation=sf.KNNBox(2))


# --- networks over words ---


def of_words() -> Iterator[Fixture]:
    sentiment, topic, question = (
        partial(sf.load, name) for name in ("sentiment", "topic", "question")
    )
    mixed = (
        "a dull and overlong start , but what follows is a wonderful , moving and often very funny "
        "film"
    )
    final = "the team won the final after extra time while shares fell and the bank cut its outlook"
    bridge = "where is the tallest bridge that a french company ever built in japan ?"
    yield fixture("sentiment", sf.explain, sentiment, mixed)
    yield fixture("sentiment, deletion", sf.explain, sentiment, mixed, perturbation=sf.Deletion())
    two = sf.Deletion(at_most=2)
    yield fixture("sentiment, two deletions", sf.explain, sentiment, mixed, perturbation=two)
    yield fixture("sentiment", sf.contrast, sentiment, mixed)
    yield fixture("sentiment, minimal", sf.attribute, sentiment, mixed, of="minimal", limit=3)
    yield fixture("sentiment", sf.bias, sentiment, mixed, ["film", "funny", "start"])
    yield fixture("topic", sf.explain, topic, final)
    yield fixture("topic", sf.attribute, topic, final)
    yield fixture("question", sf.repair, question, bridge, [0, 1])
    long = partial(make_classifier, 2, 24, 3, (12,), 2, 30)
    swaps = {word: WORDS[i % 7 : i % 7 + 3] for i, word in enumerate(WORDS)}
    yield fixture("long, swaps", sf.explain, long, drawn(2, 24), perturbation=sf.WordSwap(swaps))
    cnn = partial(text_cnn, 3, 16, 32, 3)
    yield fixture("maxima, swaps", sf.explain, cnn, drawn(3, 16), perturbation=sf.WordSwap(swaps))


# --- pipelines and functions ---

MANY_WORDS = [f"word{i}" for i in range(200)]


@cache
def fitted(
    read: type, orders: tuple[int, int], model: str, words: int, length: int
) -> tuple[Any, list[str]]:
    """A pipeline over random texts in which few words are frequent, and these texts, those first
    about whose label it is least sure. The label hangs on words and, where orders say so, on pairs.
    """
    rng = np.random.default_rng([11, 0])
    share = 1 / np.arange(1, words + 1) ** 0.9
    drawn = rng.choice(words, size=(600, length), p=share / share.sum())
    weight = rng.normal(size=words)
    pairs = rng.normal(size=(words, words)) * (orders[1] > 1)
    lead = weight[drawn].sum(1) + pairs[drawn[:, :-1], drawn[:, 1:]].sum(1)
    texts = [" ".join(MANY_WORDS[i] for i in row) for row in drawn]
    pipeline = make_pipeline(read(ngram_range=orders), MODELS[model]())
    pipeline.fit(texts, (lead > np.median(lead)).astype(int))
    sure = np.abs(pipeline.predict_proba(texts)[:, 0] - 0.5)
    return pipeline, [texts[i] for i in np.argsort(sure, kind="stable")]


MODELS: dict[str, Callable[[], Any]] = {
    "linear": partial(LogisticRegression, C=30.0, solver="liblinear"),
    "forest": partial(RandomForestClassifier, 30, max_depth=6, random_state=0),
    "boosting": partial(GradientBoostingClassifier, n_estimators=60, max_depth=3, random_state=0),
}


def asked_of(
    name: str, verb: Callable[..., Any], of: tuple[Any, ...], place: int, *more: Any, **given: Any
) -> Fixture:
    """A verb about one of the texts that a pipeline was fitted to; `cut` leaves its first words."""
    cut = given.pop("cut", 1000)

    def asked(_: Any, __: Any, *more: Any, **given: Any) -> Any:
        pipeline, texts = fitted(*of)
        return verb(opened(pipeline), " ".join(texts[place].split()[:cut]), *more, **given)

    asked.__name__ = verb.__name__
    return fixture(name, asked, lambda: None, [], *more, **given)


def of_pipelines() -> Iterator[Fixture]:
    words = TfidfVectorizer, (1, 1), "linear", 200, 70
    pairs = TfidfVectorizer, (1, 2), "linear", 200, 50
    counts = CountVectorizer, (1, 2), "linear", 200, 50
    swaps = {word: MANY_WORDS[7 * i % 120 : 7 * i % 120 + 2] for i, word in enumerate(MANY_WORDS)}
    gone = sf.Deletion()
    six = sf.Deletion(at_most=6)
    either = sf.RemoveOrSwap(swaps)
    some = sf.RemoveOrSwap(swaps, at_most=6)
    for name, of, place, limited in (
        ("words", words, 200, 200),
        ("pairs", pairs, 300, 200),
        ("counts", counts, 20, 20),
    ):
        yield asked_of(f"{name}, deletion", sf.explain, of, place, perturbation=gone)
        yield asked_of(f"{name}, six deletions", sf.explain, of, limited, perturbation=six)
        yield asked_of(f"{name}, either", sf.explain, of, place, perturbation=either, cut=30)
        yield asked_of(f"{name}, six of these", sf.explain, of, limited, perturbation=some, cut=30)
    yield asked_of("words", sf.contrast, words, 500, perturbation=gone)
    yield asked_of("pairs", sf.contrast, pairs, 500, perturbation=some)
    yield asked_of("pairs", sf.attribute, pairs, 200, perturbation=gone, cut=14)
    yield asked_of("pairs", sf.bias, pairs, 200, list(range(0, 30, 2)), perturbation=either, cut=30)
    for model in ("forest", "boosting"):
        trees = CountVectorizer, (1, 1), model, 60, 14
        yield asked_of(model, sf.explain, trees, 200, perturbation=gone)
        yield asked_of(model, sf.explain_all, trees, 30, perturbation=sf.Deletion(at_most=3))
        yield asked_of(model, sf.repair, trees, 200, [1], perturbation=gone)


def of_functions() -> Iterator[Fixture]:
    text = "a gripping film that never bores and always surprises us"
    swaps = sf.WordSwap(blackboxes.SWAPS)
    for seed in (1, 2):
        make = partial(blackboxes.box, seed)
        yield fixture(f"function {seed}, deletion", sf.explain, make, text)
        yield fixture(f"function {seed}, swaps", sf.explain, make, text, perturbation=swaps)
    make = partial(blackboxes.box, 3)
    three = sf.Deletion(at_most=3)
    yield fixture("function 3", sf.contrast, make, text, perturbation=three)
    yield fixture("function 3", sf.attribute, make, text, perturbation=three)
    yield fixture("function 3", sf.profile, make, text, _deletions, [1, 2])


def _deletions(most: int) -> sf.Deletion:
    return sf.Deletion(at_most=most)

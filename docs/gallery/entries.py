"""The worked answers of the gallery: each function asks one question; its body is shown, and what it gives is printed.

Every function begins with a sentence, sets `clf`, and returns it with the answer. All texts are our own.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import own_models as own

import suffice as sf

NURSE = "She was a nurse for thirty years, and her book about it is honest and moving."
DINNER = (
    "The food was cold and the music too loud, but the staff were kind and the cake was wonderful."
)
HALVES = "a slow start , but the second half is funny , warm and full of surprises"
CAFE = "the waiter was rude , but we had warm soup and fresh bread"
PARCEL = "The parcel came late, the cup was broken, and you never wrote back."
FILM = (
    "I went in expecting very little and came out smiling. The story takes its time, the songs are simple, and the two "
    "leads clearly enjoy each other. There is one dull stretch in the middle, with too much talk about money, and the "
    "villain is never frightening. But the last half hour is a joy, funny and tender and beautifully shot."
)
TEXTS = {
    "NURSE": NURSE,
    "DINNER": DINNER,
    "HALVES": HALVES,
    "CAFE": CAFE,
    "PARCEL": PARCEL,
    "FILM": FILM,
}


@dataclass(frozen=True)
class Entry:
    """One worked answer: its page, its title, what must be installed, and the function that asks."""

    page: str
    title: str
    needs: tuple[str, ...]
    ask: Callable[[], tuple[Any, Any]]

    @property
    def name(self) -> str:
        return self.ask.__name__.replace("_", "-")

    @property
    def says(self) -> str:
        return inspect.getdoc(self.ask) or ""

    @property
    def code(self) -> str:
        """The body of the function as a reader would type it."""
        source = textwrap.dedent(inspect.getsource(self.ask))
        (function,) = ast.parse(source).body
        assert isinstance(function, ast.FunctionDef)
        lines = source.splitlines()[function.body[1].lineno - 1 :]
        body = textwrap.dedent("\n".join(lines)).replace("return clf, ", "answer = ")
        used = [f'{name} = "{text}"\n' for name, text in TEXTS.items() if name in body]
        return "".join(used) + body


ENTRIES: list[Entry] = []


def worked(
    page: str, title: str, *needs: str
) -> Callable[[Callable[[], tuple[Any, Any]]], Callable[..., Any]]:
    """Put a function into the gallery."""

    def added(ask: Callable[[], tuple[Any, Any]]) -> Callable[..., Any]:
        ENTRIES.append(Entry(page, title, needs, ask))
        return ask

    return added


# --- bundled models, the default set ---


@worked("bundled", "Which words make this review negative?")
def review() -> tuple[Any, Any]:
    """The default question of the default model: a free word may be removed or become one of its substitutes."""
    clf = sf.load("sentiment")
    return clf, sf.explain(clf, DINNER)


@worked("bundled", "Why is this filed under sports?")
def topic() -> tuple[Any, Any]:
    """Four topics; the label must beat each of the other three."""
    clf = sf.load("topic")
    return clf, sf.explain(
        clf, "The club signed a new goalkeeper after the final, and fans danced in the streets."
    )


@worked("bundled", "What tells that a question asks for a person?")
def question() -> tuple[Any, Any]:
    """Six kinds of questions, and the word that gives it away."""
    clf = sf.load("question")
    return clf, sf.explain(clf, "Who wrote the first book about the stars?")


@worked("bundled", "A long review, as in the paper")
def long_review() -> tuple[Any, Any]:
    """A text of 70 words, on the longest network of the paper's kind."""
    clf = sf.load("imdb-fc100")
    return clf, sf.explain(clf, FILM)


@worked("bundled", "A convolution over short messages")
def message() -> tuple[Any, Any]:
    """A small convolutional network; words may be removed."""
    clf = sf.load("twitter-cnn25")
    return clf, sf.explain(
        clf,
        "missed the bus again and now it is raining , worst monday ever",
        perturbation=sf.Deletion(),
    )


@worked("bundled", "The small network for questions")
def place() -> tuple[Any, Any]:
    """The paper's network for kinds of questions, over boxes around the nearest words."""
    clf = sf.load("trec-fc15")
    return clf, sf.explain(
        clf, "where can i find the oldest lighthouse in the north ?", perturbation=sf.KNNBox(10)
    )


@worked("bundled", "Padding may change too")
def padding() -> tuple[Any, Any]:
    """As in the paper: what fills the text up counts as words that may move and that may be needed."""
    clf = sf.load("sst-cnn25")
    return clf, sf.explain(
        clf,
        "the plot is thin but the acting is superb",
        perturbation=sf.KNNBox(5),
        padding="feature",
    )


# --- what may change ---


@worked("sets", "Words may be removed: Deletion")
def deletion() -> tuple[Any, Any]:
    """Any number of the free words may go."""
    clf = sf.load("sentiment")
    return clf, sf.explain(clf, NURSE, perturbation=sf.Deletion())


@worked("sets", "No more than two at once: at_most")
def at_most() -> tuple[Any, Any]:
    """The words that must stay so that no change of up to two of the others flips the label."""
    clf = sf.load("sentiment")
    return clf, sf.explain(
        clf, DINNER, perturbation=sf.RemoveOrSwap({"kind": ["rude", "nice"]}, at_most=2)
    )


@worked("sets", "Words may be masked: Mask")
def mask() -> tuple[Any, Any]:
    """A masked word is one that the classifier does not know."""
    clf = sf.load("sentiment")
    return clf, sf.explain(clf, NURSE, perturbation=sf.Mask())


@worked("sets", "A list of substitutes: WordSwap")
def word_swap() -> tuple[Any, Any]:
    """Only listed words may change, and only into these."""
    clf = sf.load("sentiment")
    swaps = {
        "cold": ["warm", "hot"],
        "loud": ["soft"],
        "kind": ["rude"],
        "wonderful": ["dry", "small"],
    }
    return clf, sf.explain(clf, DINNER, perturbation=sf.WordSwap(swaps))


@worked("sets", "Removed or swapped: RemoveOrSwap")
def remove_or_swap() -> tuple[Any, Any]:
    """Every free word may go, and some may become another."""
    clf = sf.load("topic")
    swaps = {"bank": ["river", "club"], "prices": ["scores", "costs"]}
    text = "The central bank raised interest rates as prices of food and fuel climbed."
    return clf, sf.explain(clf, text, perturbation=sf.RemoveOrSwap(swaps))


@worked("sets", "A box around the nearest words: KNNBox")
def knn_box() -> tuple[Any, Any]:
    """A free word may be anywhere in the smallest box that holds its 15 nearest words: a region, not a list."""
    clf = sf.load("sst-fc25")
    return clf, sf.explain(clf, HALVES, perturbation=sf.KNNBox(15))


@worked("sets", "The hull of the nearest words: KNNHull")
def knn_hull() -> tuple[Any, Any]:
    """Mixtures of the nearest words only: a smaller region, so never more words."""
    clf = sf.load("sst-fc25")
    return clf, sf.explain(clf, HALVES, perturbation=sf.KNNHull(15))


@worked("sets", "A distance in every coordinate: EpsilonBall")
def epsilon_ball() -> tuple[Any, Any]:
    """Each coordinate of a free word's vector may move by 0.4."""
    clf = sf.load("sst-fc25")
    return clf, sf.explain(clf, HALVES, perturbation=sf.EpsilonBall(0.4))


@worked("sets", "A Euclidean distance: EpsilonBall with p = 2")
def epsilon_ball_2() -> tuple[Any, Any]:
    """A ball instead of a box, and no more than three words at once."""
    clf = sf.load("sst-fc25")
    return clf, sf.explain(clf, HALVES, perturbation=sf.EpsilonBall(0.8, p=2, at_most=3))


@worked("sets", "Boxes of your own: Boxes")
def boxes() -> tuple[Any, Any]:
    """One box per position, here wider for the words of the second half."""
    clf = sf.load("sst-fc25")
    points = clf.table[list(clf.read(HALVES).indices)]
    width = np.where(np.arange(clf.length) < 5, 0.2, 0.6)[:, None]
    return clf, sf.explain(clf, HALVES, perturbation=sf.Boxes(points - width, points + width))


# --- what can be asked ---


@worked("verbs", "Which other sets are as cheap? (alternatives)")
def alternatives() -> tuple[Any, Any]:
    """Equally cheap sets are counted, with the words in all of them and in some (`answer.alternatives`)."""
    clf = sf.load("sentiment")
    return clf, sf.explain(clf, "a kind , funny , clever and lovely film")


@worked("verbs", "All of them, one by one (explain_all)")
def every_set() -> tuple[Any, Any]:
    """Each optimal set once, and a certificate that there are no others."""
    clf = sf.load("sentiment")
    return clf, sf.explain_all(clf, "a kind , funny , clever and lovely film")


@worked("verbs", "The smallest change that flips it (contrast)")
def contrast() -> tuple[Any, Any]:
    """Removed words, and the text that is left; the classifier was run on it."""
    clf = sf.load("sentiment")
    return clf, sf.contrast(clf, NURSE, perturbation=sf.Deletion())


@worked("verbs", "Towards a label (contrast with towards)")
def towards() -> tuple[Any, Any]:
    """The cheapest change with which business comes before sports."""
    clf = sf.load("topic")
    text = "The club signed a new goalkeeper after the final, and fans danced in the streets."
    swaps = {
        "club": ["company"],
        "goalkeeper": ["manager"],
        "final": ["quarter"],
        "fans": ["investors"],
    }
    return clf, sf.contrast(clf, text, perturbation=sf.WordSwap(swaps), towards="Business")


@worked("verbs", "Does it hang on she or he? (bias)")
def bias() -> tuple[Any, Any]:
    """Only the protected words may change, into each other."""
    clf = sf.load("sentiment")
    swaps = {"she": ["he"], "her": ["his"]}
    return clf, sf.bias(clf, NURSE, ["she", "her"], perturbation=sf.WordSwap(swaps))


@worked("verbs", "A decision that does: bias with a witness")
def bias_witness() -> tuple[Any, Any]:
    """Where the label depends on the words, the answer is a text on which the classifier says something else."""
    clf = sf.load("topic")
    text = "The new coach from Norway opened a shop."
    return clf, sf.bias(clf, text, ["coach", "shop"], perturbation=sf.Deletion())


@worked("verbs", "Are somebody else's words enough? (repair)")
def repair() -> tuple[Any, Any]:
    """The words of another explainer, say: whether they suffice, and the cheapest set with them that does."""
    clf = sf.load("sentiment")
    return clf, sf.repair(clf, DINNER, ["cold"])


@worked("verbs", "How it grows with the region (profile)")
def growth() -> tuple[Any, Any]:
    """The same text, with more and more of the nearest words in the box."""
    clf = sf.load("sst-fc25")
    return clf, sf.profile(clf, HALVES, sf.KNNBox, [2, 5, 10, 25])


@worked("verbs", "How it grows with the number of changes (profile over at_most)")
def growth_at_most() -> tuple[Any, Any]:
    """One change at a time, then two, then three."""
    clf = sf.load("sentiment")
    return clf, sf.profile(clf, NURSE, lambda limit: sf.Deletion(at_most=limit), [1, 2, 3])


@worked("verbs", "How often is each word needed? (attribute)")
def attribution() -> tuple[Any, Any]:
    """The share of all cheapest sets in which each word stands."""
    clf = sf.load("sentiment")
    return clf, sf.attribute(clf, "a kind , funny , clever and lovely film")


@worked("verbs", "With a word and without another: include and exclude")
def constrained() -> tuple[Any, Any]:
    """The cheapest set that holds 'staff' and does without 'wonderful'; or the reason why there is none."""
    clf = sf.load("sentiment")
    return clf, sf.explain(clf, DINNER, include=["staff"], exclude=["wonderful"])


@worked("verbs", "Words that cost more than others (cost)")
def costs() -> tuple[Any, Any]:
    """A set is cheapest by cost, not by count: here short words are dear."""
    clf = sf.load("sentiment")
    return clf, sf.explain(clf, NURSE, cost=lambda word: 3 if len(word) < 5 else 1)


@worked("verbs", "Why is it wrong? (expected)")
def mistake() -> tuple[Any, Any]:
    """Which words push towards the label that should not be, and what would put it right."""
    clf = sf.load("sentiment")
    return clf, sf.explain(
        clf,
        "I would not have missed it for the world",
        expected="positive",
        perturbation=sf.Deletion(),
    )


# --- models of your own ---


@worked("own", "PyTorch: a TextCNN", "torch")
def torch_textcnn() -> tuple[Any, Any]:
    """Taken apart by `torch.export` and compared with the original; then regions can be asked about."""
    clf = own.textcnn()
    return clf, sf.explain(clf, CAFE, perturbation=sf.KNNBox(3))


@worked("own", "PyTorch: the smallest change", "torch")
def torch_flip() -> tuple[Any, Any]:
    """The same network, and a list of substitutes."""
    clf = own.textcnn()
    return clf, sf.contrast(
        clf, CAFE, perturbation=sf.WordSwap({"warm": ["cold"], "fresh": ["stale"]})
    )


@worked("own", "Keras", "keras", "torch")
def keras_network() -> tuple[Any, Any]:
    """A model in memory, or a `.keras` file."""
    clf = own.keras_network()
    return clf, sf.explain(clf, CAFE, perturbation=sf.Deletion())


@worked("own", "ONNX", "onnx")
def onnx_file() -> tuple[Any, Any]:
    """A file that any framework can write."""
    clf = sf.from_onnx(own.onnx_file("cafe.onnx"), own.vocabulary(), own.LABELS)
    return clf, sf.explain(clf, CAFE, perturbation=sf.EpsilonBall(0.3))


@worked("own", "scikit-learn: TF-IDF and logistic regression", "sklearn")
def sklearn_logistic() -> tuple[Any, Any]:
    """Laid open as a bag of words: the worst case is computed, no text needs to be run."""
    clf = own.logistic()
    return clf, sf.explain(
        clf, CAFE, perturbation=sf.RemoveOrSwap({"warm": ["cold"], "rude": ["kind"]})
    )


@worked("own", "scikit-learn: a random forest", "sklearn")
def sklearn_forest() -> tuple[Any, Any]:
    """Asked as a function: every text with up to two words removed that matters was run."""
    clf = own.forest()
    return clf, sf.explain(clf, CAFE, perturbation=sf.Deletion(at_most=2))


@worked("own", "A transformer", "torch", "transformers", "tokenizers")
def transformer() -> tuple[Any, Any]:
    """Asked as it is; words are words of the text, not pieces of them."""
    clf = own.transformer()
    return clf, sf.explain(clf, CAFE, perturbation=sf.Deletion(at_most=2))


@worked("own", "A transformer, and its own mask", "torch", "transformers", "tokenizers")
def transformer_mask() -> tuple[Any, Any]:
    """`Mask()` puts the tokenizer's mask in the place of a word."""
    clf = own.transformer()
    return clf, sf.explain(clf, "what a kind cook", perturbation=sf.Mask())


@worked("own", "A transformer: bias", "torch", "transformers", "tokenizers")
def transformer_bias() -> tuple[Any, Any]:
    """Does the label hang on who it was?"""
    clf = own.transformer()
    return clf, sf.bias(clf, CAFE, ["waiter"], perturbation=sf.WordSwap({"waiter": ["cook"]}))


@worked("own", "Any function")
def function() -> tuple[Any, Any]:
    """A program that counts three words, as a model behind an API would be asked."""
    clf = own.function()
    return clf, sf.explain(clf, PARCEL, perturbation=sf.Deletion(at_most=2))


@worked("own", "Any function: tested, not proved")
def tested() -> tuple[Any, Any]:
    """Where not every text can be run, a sample may be drawn if you ask for it; that is never called a proof."""
    clf = own.function()
    return clf, sf.explain(
        clf, PARCEL, perturbation=sf.Deletion(), max_queries=3000, confidence=0.99
    )

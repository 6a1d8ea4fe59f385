"""The questions that are recorded: every verb, every kind of classifier, every kind of set, all of
them quick.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import blackboxes
import brute
import pipelines
from fuzzing.vectors import text_cnn

import suffice as sf
from suffice.importers.kinds import NotLowered
from suffice.importers.sklearn_asked import opened
from suffice.sets.table import from_dict

SENTENCES = {
    "sst-fc25": [
        "a warm and witty tale that never drags",
        "the plot is thin but the cast saves it",
    ],
    "sst-cnn25": ["an empty , noisy mess of a film", "quiet , sad and oddly beautiful"],
    "twitter-cnn25": ["i love this sunny morning so much", "missed the bus again , so tired"],
    "trec-fc15": ["how many rivers cross the old town ?", "who wrote the first book about bees ?"],
    "sentiment": [
        "a dull start , but a wonderful and moving end",
        "nobody laughed at these stale jokes",
    ],
    "topic": [
        "the team won the final after extra time",
        "shares fell as the bank cut its forecast",
    ],
    "question": ["where is the tallest bridge ?", "what does the word mean ?"],
}
ENDLESS = 600.0  # seconds: no recorded question is cut short by a clock


@dataclass(frozen=True)
class Asked:
    """A question with its name; `answer` asks it, and `texts` are those that a function has been
    asked by then.
    """

    name: str
    answer: Callable[[], Any]
    texts: list[str] | None = None


def everything() -> Iterator[Asked]:
    """All of them, in a fixed order."""
    yield from of_bundled_models()
    yield from of_small_networks()
    yield from of_many_maxima()
    yield from of_pipelines()
    yield from of_functions()


# --- networks ---


@cache
def bundled(name: str) -> sf.Classifier:
    return sf.load(name)


def of_bundled_models() -> Iterator[Asked]:
    """Vectors in sets, and the words of each bundled model."""
    for name, (first, second) in SENTENCES.items():
        pooled = "cnn" in name or name in ("sentiment", "topic", "question")
        sets = {
            "box": sf.KNNBox(3 if pooled else 10),
            "hull": sf.KNNHull(2 if pooled else 4),
            "ball": sf.EpsilonBall(0.02 if pooled else 0.1),
            "two at once": sf.KNNBox(5, at_most=2),
        }
        for kind, wanted in sets.items():
            yield _explained(f"{name}, {kind}", bundled, name, first, perturbation=wanted)
        yield _explained(f"{name}, words", bundled, name, second)
        yield from _verbs(name, bundled, name, second)


def _explained(name: str, make: Callable[..., Any], what: Any, text: Any, **given: Any) -> Asked:
    return Asked(f"explain, {name}", lambda: sf.explain(make(what), text, seconds=ENDLESS, **given))


def _verbs(
    name: str, make: Callable[..., Any], what: Any, text: Any, removal: bool = True, **given: Any
) -> Iterator[Asked]:
    """The other verbs about one text; `removal` where a set must be named."""
    wanted = {"perturbation": sf.Deletion(at_most=3)} if removal else {}
    more: dict[str, Any] = {"seconds": ENDLESS, **wanted, **given}
    words = text.split() if isinstance(text, str) else list(text)
    half = list(range(0, len(words), 2))
    yield Asked(f"explain_all, {name}", lambda: list(sf.explain_all(make(what), text, **more)))
    yield Asked(f"contrast, {name}", lambda: sf.contrast(make(what), text, **more))
    yield Asked(f"is_robust, {name}", lambda: sf.is_robust(make(what), text, half, **more))
    yield Asked(f"repair, {name}", lambda: sf.repair(make(what), text, half[:2], **more))
    yield Asked(f"bias, {name}", lambda: sf.bias(make(what), text, words[:2], **more))
    yield Asked(f"attribute, {name}", lambda: sf.attribute(make(what), text, **more))


def of_small_networks() -> Iterator[Asked]:
    """Random networks over real words, with costs, and limits on how many change."""
    for seed in range(24):
        kind = ("word-swap", "deletion", "mask", "removal-or-swap")[seed % 4]
        case = brute.make_case(kind, seed, at_most=seed % 3 == 0)
        prices = dict(zip(case.tokens, map(float, case.costs), strict=True))
        given: dict[str, Any] = {"perturbation": from_dict(case.data), "seconds": ENDLESS}
        method = ("search", "search", "hs", "msa")[seed // 4 % 4]
        yield Asked(
            f"explain by {method}, network {seed}",
            _asker(sf.explain, case, cost=prices, method=method, **given),
        )
        verb = (sf.contrast, sf.explain_all, sf.profile)[seed % 3]
        if verb is sf.profile:
            sizes = [sf.KNNBox, [1, 2, 3]]
            yield Asked(
                f"profile, network {seed}", _asker(sf.profile, case, *sizes, seconds=ENDLESS)
            )
        else:
            yield Asked(
                f"{verb.__name__}, network {seed}", _asker(verb, case, cost=prices, **given)
            )


def _asker(
    verb: Callable[..., Any], case: brute.Case, *more: Any, **given: Any
) -> Callable[[], Any]:
    def answer() -> Any:
        found = verb(case.classifier, list(case.tokens), *more, **given)
        return list(found) if verb is sf.explain_all else found

    return answer


def of_many_maxima() -> Iterator[Asked]:
    """Random TextCNNs over boxes and balls."""
    for seed in range(12):
        rng = np.random.default_rng([31, seed])
        classifier = text_cnn(rng)
        text = rng.choice([*brute.WORDS, "nowhere"], classifier.length).tolist()
        for wanted in (sf.KNNBox(2), sf.EpsilonBall(0.3)):
            yield _explained(
                f"maxima {seed} {wanted}", lambda made: made, classifier, text, perturbation=wanted
            )


# --- pipelines and functions ---


def of_pipelines() -> Iterator[Asked]:
    """Pipelines that are laid open, of every kind that random ones come in."""
    for kind, make in pipelines.kinds().items():
        for seed in range(8):
            rng = np.random.default_rng([37, seed])
            np.random.seed(seed)  # scikit-learn's own, where a step draws
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    box = opened(make(rng))
            except NotLowered:
                continue
            assert box is not None
            text, wanted, _, _ = pipelines.question(rng, glued=kind.endswith("streams"))
            yield _explained(f"{kind} {seed}", lambda made: made, box, text, perturbation=wanted)
            if seed < 3:
                yield from _verbs(f"{kind} {seed}", lambda made: made, box, text)


def of_functions() -> Iterator[Asked]:
    """Functions that are only run; the texts they are asked are recorded, too."""
    for seed in range(16):
        rng = np.random.default_rng([41, seed])
        words = [
            str(word)
            for word in rng.choice(blackboxes.WORDS, int(rng.integers(4, 9)), replace=False)
        ]
        wanted = (
            sf.Deletion(),
            sf.Deletion(at_most=2),
            sf.WordSwap(blackboxes.SWAPS),
            sf.RemoveOrSwap(blackboxes.SWAPS, at_most=2),
        )[seed % 4]
        kinds = ["explain", "explain_all", "contrast", "is_robust", "repair", "bias", "attribute"]
        for kind in kinds if seed < 4 else ["explain", kinds[seed % len(kinds)]]:
            yield _of_function(kind, seed, words, wanted)


def _of_function(kind: str, seed: int, words: list[str], wanted: Any) -> Asked:
    texts: list[str] = []
    inner = blackboxes.rugged(seed, 2 + seed % 2)

    def scores(batch: list[str]) -> np.ndarray:
        texts.extend(batch)
        return inner(batch)

    box = sf.from_function(scores, ["no", "yes", "perhaps"][: 2 + seed % 2], f"recorded {seed}")
    text = " ".join(words)
    if kind == "explain":
        asked = _explained(f"function {seed}", lambda made: made, box, text, perturbation=wanted)
        return Asked(asked.name, asked.answer, texts)
    found = next(
        asked
        for asked in _verbs(
            f"function {seed}", lambda made: made, box, text, False, perturbation=wanted
        )
        if asked.name.startswith(f"{kind},")
    )
    return Asked(found.name, found.answer, texts)

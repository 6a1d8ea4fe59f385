"""Fuzz of sets of vectors, of many maxima and of smooth curves: every set of words of small
questions.

Over balls, boxes and hulls a case is one set of words: what is proved no corner or sample may
contradict (of a linear network the corners decide), what is refuted has a point that both checkers
run in fractions, and HiGHS is asked about one set of each question. Smooth networks are asked about
real words, where all texts can be tried; only the first checker reads their certificates.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "proof"))
from brute import WORDS
from cases import flip_among, samples
from helpers import changed_settings
from test_smooth import KINDS, SWAPS, smooth, text_of

import suffice as sf
from fuzzing.common import Wrong, accept, both_accept, exact_model, need
from fuzzing.subsets import shown, some_classifier
from suffice.model.network import Conv1d, Dense, Floats, MaxPool, Network, Relu, Transpose
from suffice.settings import DEFAULT
from suffice.verify.contract import Proved, Refuted, Unknown, Verdict
from suffice.verify.solvers import make_oracle

QUESTIONS = 4  # of one classifier
FEW_PARTS = 20_000  # subproblems for each part of a sieve
CLEAR = 1e-6  # smooth scores closer than this are no truth


Sets = Callable[[np.random.Generator, sf.Classifier, list[str]], Any]


def one(seed: int, counts: Counter[str]) -> Iterator[str]:
    rng = np.random.default_rng([13, seed])
    yield from questions(some_classifier(rng), some_set, rng, counts)


def maxima(seed: int, counts: Counter[str]) -> Iterator[str]:
    """TextCNNs over boxes, for every other seed with short sieves although there are so
    few maxima.
    """
    rng = np.random.default_rng([29, seed])
    few_nodes = 2 * FEW_PARTS * DEFAULT.joint_maxpool.tuples_per_subproblem
    short = changed_settings(
        branching={"small_round": 1}, joint_maxpool={"joined_up_to": few_nodes}
    )
    yield from questions(text_cnn(rng), some_box, rng, counts, short if seed % 2 else DEFAULT)


def questions(
    classifier: sf.Classifier,
    sets: Sets,
    rng: np.random.Generator,
    counts: Counter[str],
    settings: sf.Settings = DEFAULT,
) -> Iterator[str]:
    model = exact_model(classifier)
    for _ in range(QUESTIONS):
        text = rng.choice([*WORDS, "nowhere"], classifier.length).tolist()
        asked = sf.Question(
            classifier,
            text,
            perturbation=sets(rng, classifier, text),
            seconds=30,
            settings=settings,
        )
        for said in every_subset(asked, rng, model, counts):
            yield f"{' '.join(text)} under {asked.perturbation.to_dict()}: {said}"


def text_cnn(rng: np.random.Generator) -> sf.Classifier:
    filters, width, classes, length = (
        int(rng.integers(*ends)) for ends in ((8, 17), (2, 4), (2, 4), (4, 6))
    )
    kernel = Conv1d(rng.standard_normal((filters, 2, width)), rng.standard_normal(filters) * 0.3)
    last = Dense(rng.standard_normal((classes, filters)), rng.standard_normal(classes) * 0.3)
    network = Network.build(
        [Transpose(), kernel, *([Relu()] * int(rng.integers(2))), MaxPool(), last], (length, 2)
    )
    table = rng.standard_normal((len(WORDS) + 2, 2))
    return sf.Classifier(
        network, table, ["<PAD>", "<UNK>", *WORDS], [f"label{i}" for i in range(classes)], length
    )


def some_box(rng: np.random.Generator, classifier: sf.Classifier, text: list[str]) -> Any:
    return [sf.KNNBox(int(rng.integers(1, 4))), sf.EpsilonBall(float(rng.uniform(0.1, 0.8)))][
        int(rng.integers(2))
    ]


def some_set(rng: np.random.Generator, classifier: sf.Classifier, text: list[str]) -> Any:
    center = classifier.embed(classifier.read(text))
    below, above = (
        np.abs(rng.standard_normal(center.shape)) * rng.integers(2, size=center.shape) for _ in "ab"
    )
    radius = [0.5, 0.0, float(rng.uniform(0.05, 1))][int(rng.integers(3))]
    k = int(rng.integers(1, 4))
    sets = [*(sf.EpsilonBall(radius, p) for p in (1, 2, np.inf)), sf.KNNBox(k), sf.KNNHull(k)]
    chosen = [*sets, sf.Boxes(center - below, center + above)][int(rng.integers(6))]
    return replace(chosen, at_most=int(rng.integers(1, 3))) if rng.random() < 0.25 else chosen


def every_subset(
    asked: sf.Question, rng: np.random.Generator, model: Any, counts: Counter[str]
) -> Iterator[str]:
    problem = asked.problem
    free = np.array(list(itertools.product([False, True], repeat=len(problem.features))))
    answers = make_oracle("bounds", problem).ask(free, asked.budget)
    second = int(rng.integers(len(free)))
    others = {second: make_oracle("milp", problem).ask(free[[second]], asked.budget)[0]}
    for number, (row, answer) in enumerate(zip(free, answers, strict=True)):
        held = tuple(np.flatnonzero(~row).tolist())
        counts["undecided" if isinstance(answer, Unknown) else "cases"] += 1
        try:
            known = flip_among(problem, allowed(asked, row, rng))
            judged(answer, known, others.get(number))
            if not isinstance(answer, Unknown):
                certificate = shown(asked, held, answer).certificate  # type: ignore[union-attr]
                both_accept(certificate, asked.classifier, model)
                counts["both"] += 1
                counts["sieves"] += any("sieve" in line for line in certificate.lines)
        except Wrong as error:
            yield f"words {held}: {error}"


def allowed(asked: sf.Question, free: Any, rng: np.random.Generator) -> Floats:
    """Points that change free words only, and no more than may change at once."""
    limit = asked.problem.max_changes
    places = np.flatnonzero(free)
    some = list(itertools.combinations(places, min(limit, len(places))))
    chosen = [some[i] for i in rng.permutation(len(some))[:3]]
    masks = [np.isin(np.arange(len(free)), list(part)) for part in chosen]
    return np.concatenate([samples(asked.problem.region, mask, rng) for mask in masks])


def judged(answer: Verdict, known: Floats | None, other: Verdict | None) -> None:
    need(not isinstance(answer, Proved) or known is None, "proved, but a point flips the label")
    both = {type(answer), type(other)}
    need(both != {Proved, Refuted}, f"{answer!r}, but HiGHS says {other!r}")


# --- smooth curves ---


def curved(seed: int, counts: Counter[str]) -> Iterator[str]:
    rng = np.random.default_rng([17, seed])
    kind = KINDS[int(rng.integers(len(KINDS)))]
    classifier = smooth(kind, int(rng.integers(10**6)), length=3, classes=int(rng.integers(2, 4)))
    for _ in range(2):
        text = text_of(int(rng.integers(10**6)), 3)
        chosen = [sf.Deletion(), sf.WordSwap(SWAPS), sf.Mask()][int(rng.integers(3))]
        for said in every_smooth(
            sf.Question(classifier, text, perturbation=chosen, seconds=30), counts
        ):
            yield f"{kind}, {' '.join(text)} under {chosen.to_dict()['kind']}: {said}"


def every_smooth(asked: sf.Question, counts: Counter[str]) -> Iterator[str]:
    # type: ignore[union-attr]
    problem = asked.problem
    points = asked.problem.region.points
    texts = np.array(list(itertools.product(range(points.shape[1]), repeat=len(points))))
    margins = problem.margins(points[np.arange(len(points)), texts]).min(-1)
    if np.abs(margins).min() < CLEAR:
        return
    free = np.array(list(itertools.product([False, True], repeat=len(points))))
    for row, answer in zip(
        free, make_oracle("bounds", problem).ask(free, asked.budget), strict=True
    ):
        true = bool((margins[(texts[:, ~row] == 0).all(1)] > 0).all())
        counts["cases"] += 1
        try:
            need(
                isinstance(answer, Proved if true else Refuted),
                f"{answer!r}, but the truth is {true}",
            )
            held = tuple(np.flatnonzero(~row).tolist())
            accept(shown(asked, held, answer).certificate, asked.classifier)  # type: ignore[union-attr]
        except Wrong as error:
            yield f"words {np.flatnonzero(~row)}: {error}"

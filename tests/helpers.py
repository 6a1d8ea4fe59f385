"""Small classifiers for tests, made from a seed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import suffice as sf
from suffice.corpus.batch import explained_rows
from suffice.corpus.running import Run
from suffice.model.classifier import Classifier
from suffice.model.network import Network
from suffice.sets.perturbations import Perturbation
from suffice.settings import DEFAULT, Settings
from suffice.verbs.question import Question

MADE = Question.__init__


def make_classifier(
    seed: int,
    length: int = 4,
    dimension: int = 3,
    hidden: Sequence[int] = (5,),
    classes: int = 2,
    words: int = 8,
) -> Classifier:
    """A dense Classifier with random weights.

    Its vocabulary is <PAD>, <UNK> and `words` words word0, word1, ...; its labels are label0,
    label1, ...
    """
    rng = np.random.default_rng(seed)
    sizes = [length * dimension, *hidden, classes]
    layers = [
        (rng.normal(size=(n, m)) / np.sqrt(m), rng.normal(size=n))
        for m, n in itertools.pairwise(sizes)
    ]
    return Classifier(
        network=Network.dense(layers),
        embedding=rng.normal(size=(words + 2, dimension)),
        vocabulary=["<PAD>", "<UNK>", *(f"word{i}" for i in range(words))],
        labels=[f"label{i}" for i in range(classes)],
        length=length,
    )


def make_text(seed: int, length: int = 4, words: int = 8, unknown: float = 0.1) -> list[str]:
    """A random text for such a classifier: at most `length` words, some of them out of the
    vocabulary.
    """
    rng = np.random.default_rng(seed)
    picked = rng.integers(words, size=rng.integers(1, length + 1))
    return ["nowhere" if rng.random() < unknown else f"word{i}" for i in picked]


def explain_rows(
    classifier, texts, out=None, perturbation=None, certificates=None, **more
) -> list[dict]:
    """The lines of a batch, by row."""
    names = ("workers", "engine", "fresh", "on_row")
    run = Run(out, certificates, **{name: more.pop(name) for name in names if name in more})
    done = explained_rows(classifier, texts, run, perturbation, **more)
    return sorted((row.line for row in done), key=lambda line: line["row"])


def set_numbers(patched: pytest.MonkeyPatch, group: Any, **values: Any) -> None:
    """Give settings or resources that questions use by default other numbers, while a test runs."""
    for name, value in values.items():
        assert name in vars(group), name
        patched.setitem(vars(group), name, value)


def refused(classifier: Classifier, text: str, perturbation: Perturbation) -> bool:
    """Whether the checker rejects what the prover claims of a text: for provers with a bug planted
    in them.
    """
    found = sf.explain(classifier, text, perturbation=perturbation, seconds=5, self_check=False)
    try:
        if found.certificate is not None:
            sf.check(found.certificate, classifier)
    except sf.Rejected:
        return True
    return False


def changed_settings(**groups: dict[str, Any]) -> Settings:
    """The usual settings but for some numbers, by group: branching={"small_round": 1}."""
    return replace(
        DEFAULT, **{name: replace(getattr(DEFAULT, name), **new) for name, new in groups.items()}
    )


def use_settings(patch: pytest.MonkeyPatch, **groups: dict[str, Any]) -> None:
    """From now on every question has these settings instead of the usual ones."""
    settings = changed_settings(**groups)

    def make(self: Question, *more: Any, **given: Any) -> None:
        MADE(self, *more, **{**given, "settings": settings})

    patch.setattr(Question, "__init__", make)

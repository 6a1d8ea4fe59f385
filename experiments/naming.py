"""Item 5: does a decision depend on the names of people, films and places in the text?"""

from __future__ import annotations

import gzip
import itertools
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import suffice as sf
from experiments import asking
from experiments.explainers import ks
from experiments.plan import SOURCES, Plan, classifier, synonyms, tests
from experiments.store import Job, Settings

REVIEWS = 8_000  # that the list of names is made from
WORD = re.compile(r"[A-Za-z]+|[.!?:;\"()<>]")


def jobs(plan: Plan) -> list[Job]:
    return [
        Job(
            "naming",
            {"model": model.name, "k": k, "texts": plan.bias_texts, "seconds": plan.seconds},
        )
        for model in plan.pairs
        for k in ks(plan)
    ]


@cache
def names(data: Path) -> frozenset[str]:
    """Words that reviews nearly always write with a capital inside sentences and that have no
    synonyms.

    They stand in for a list of names, which the data sets lack; nationalities and titles are among
    them.
    """
    capital = Counter[str]()
    total = Counter[str]()
    with gzip.open(data / SOURCES["imdb"].train[0], "rt", encoding="utf-8", newline="") as stream:
        for _, line in zip(range(REVIEWS), stream, strict=False):
            found = WORD.findall(line)
            for before, word in itertools.pairwise(found):
                if before.isalpha() and before != "br" and word.isalpha() and not word.isupper():
                    total[word.lower()] += 1
                    capital[word.lower()] += word[0].isupper()
    ordinary = {word for word, others in synonyms(data).items() if others}
    return frozenset(
        word
        for word, n in total.items()
        if n >= 4 and capital[word] >= 0.95 * n and len(word) > 2 and word not in ordinary
    )


def named_tests(plan: Plan, model: sf.Classifier, data: str, count: int) -> list[str]:
    """Test texts in which the model reads a name that it knows."""
    listed = names(plan.data)
    known = {word for word in listed if word in model.lookup}
    found = (text for text, _ in tests(plan.data, data) if known & set(model.read(text).tokens))
    return [text for text, _ in zip(found, range(count), strict=False)]


def run(plan: Plan, settings: Settings) -> dict[str, Any]:
    model = classifier(plan.out, settings["model"])
    texts = named_tests(plan, model, settings["model"].split("-")[0], settings["texts"])
    listed = names(plan.data)
    asked = sf.KNNBox(settings["k"])
    found = [
        sf.bias(
            model,
            text,
            lambda word: word.lower() in listed,
            perturbation=asked,
            seconds=settings["seconds"],
        )
        for text in texts
    ]
    return {
        "seed": asking.SEED,
        "command": f"suffice audit TEXTS.csv --protected NAMES --knn-box {settings['k']}",
        "names": len(listed),
        "status": [answer.status for answer in found],
        "protected": [len(answer.positions) for answer in found],
        "check": [
            answer.meta.get("proved", "rejected" if "rejected" in answer.meta else "none")
            for answer in found
        ],
    }

"""Fuzz by the verbs: random small questions, compared with trying all texts in fractions; then
altered certificates.

A case is one question with one verb, whose certificate both checkers read. Of the certificates of a
question some are altered: both checkers must say the same of each, and accept it only if what it
claims is true.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "proof"))
from brute import KINDS, is_true, make_case
from test_check import MORE_MUTATIONS, Source, mutants

import suffice as sf
from fuzzing import common
from fuzzing.common import Wrong, exact_model, exactly_accepted, need, pooled, scaled
from suffice.proof import check_exact
from suffice.sets.table import from_dict

ALTERED = 16  # certificates of a question


class Question:
    """One case with random words to include and exclude, odd weights and odd limits."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([7, seed])
        case = make_case(KINDS[seed % len(KINDS)], seed, bool(rng.integers(2)))
        classifier = case.classifier
        classifier = pooled(classifier, rng, seed % 3 == 0) if rng.random() < 0.4 else classifier
        classifier = scaled(classifier, rng) if rng.random() < 0.3 else classifier
        self.seed, self.case = seed, replace(case, classifier=classifier)
        roles = rng.choice(3, self.case.length, p=[0.7, 0.15, 0.15])
        self.include = [int(i) for i in np.flatnonzero(roles == 1)]
        self.exclude = [int(i) for i in np.flatnonzero(roles == 2)]
        self.seconds = float(rng.choice([30.0, 30.0, 30.0, 0.002]))
        self.method = str(rng.choice(["search", "search", "hs", "msa"]))
        # tiny costs beside large ones, sums exact
        units = 2.0 ** rng.choice([0, 0, -12, 20], self.case.length)
        units = units if rng.random() < 0.3 else np.ones(self.case.length)
        self.prices = dict(zip(self.case.tokens, (self.case.costs * units).tolist(), strict=True))
        self.common = {"perturbation": from_dict(self.case.data), "seconds": self.seconds}
        self.certificates: list[sf.Certificate] = []

    @property
    def hurried(self) -> bool:
        """Whether an answer may stay undecided."""
        return self.seconds < 1

    @cached_property
    def model(self) -> check_exact.Model:
        return exact_model(self.case.classifier)

    def price(self, words: tuple[int, ...]) -> float:
        return float(sum(self.prices[self.case.tokens[i]] for i in words))

    def robust(self, words: tuple[int, ...]) -> bool:
        return not self.case.flips({*range(self.case.length)} - {*words})

    @cached_property
    def explanations(self) -> list[tuple[int, ...]]:
        """All robust sets that hold the words asked for, by enumeration."""
        sizes = range(self.case.length + 1)
        every = (
            words
            for size in sizes
            for words in itertools.combinations(range(self.case.length), size)
        )
        fitting = (w for w in every if {*self.include} <= {*w} and not {*self.exclude} & {*w})
        return [words for words in fitting if self.robust(words)]


# --- one check per verb ---


def both_checkers(found: sf.Certificate | None, asked: Question) -> None:
    """What the first checker accepted (each verb asks it), the second accepts too, as a file."""
    if found is not None:
        asked.certificates.append(found)
        exactly_accepted(
            replace(found, lines=tuple(check_exact.read_lines(found.data))), asked.model
        )


def explain(asked: Question) -> None:
    found = sf.explain(
        asked.case.classifier,
        list(asked.case.tokens),
        cost=asked.prices,
        include=asked.include,
        exclude=asked.exclude,
        method=asked.method,
        **asked.common,
    )
    best = min(map(asked.price, asked.explanations), default=None)
    need(
        "rejected" not in found.meta,
        f"the checker rejected a certificate: {found.meta.get('rejected')}",
    )
    both_checkers(found.certificate, asked)
    match found.status:
        case "optimal":
            need(
                best is not None and found.cost == best,
                f"optimal at {found.cost}, the truth is {best}",
            )
            need(asked.robust(found.positions), "optimal, but not robust")
        case "sufficient":
            need(asked.robust(found.positions), "sufficient, but not robust")
            need(
                best is not None and found.lower_bound <= best <= found.cost,
                "bounds that miss the truth",
            )
        case "infeasible":
            need(best is None, "infeasible, but there is an explanation")
        case "unknown":
            need(asked.hurried, "undecided with time left")
            need(best is None or found.lower_bound <= best, "a lower bound above the truth")


def explain_all(asked: Question) -> None:
    words = {"include": asked.include, "exclude": asked.exclude}
    every = sf.explain_all(
        asked.case.classifier, list(asked.case.tokens), cost=asked.prices, **words, **asked.common
    )
    found = list(every)
    if any(one.status != "optimal" for one in found):
        need(asked.hurried or found[0].status == "infeasible", "undecided with time left")
        return
    best = min(map(asked.price, asked.explanations))
    truth = {words for words in asked.explanations if asked.price(words) == best}
    seen = {one.positions for one in found}
    need(seen <= truth, f"not optimal: {seen - truth}")
    need(not every.complete or seen == truth, f"called complete, but missed: {truth - seen}")
    need(asked.hurried or every.complete, "not complete with time left")
    need(
        not every.complete or every.certificate is not None,
        "complete, but the certificate was rejected",
    )
    both_checkers(every.certificate, asked)


def contrast(asked: Question) -> None:
    found = sf.contrast(
        asked.case.classifier, list(asked.case.tokens), cost=asked.prices, **asked.common
    )
    flips = asked.case.all_flips
    best = min((asked.price(tuple(asked.case.changed(text))) for text, _ in flips), default=None)
    need(
        "rejected" not in found.meta,
        f"the checker rejected a certificate: {found.meta.get('rejected')}",
    )
    both_checkers(found.certificate, asked)
    match found.status:
        case "optimal":
            need(
                best is not None and found.cost == best,
                f"a flip for {found.cost}, the truth is {best}",
            )
        case "none":
            need(best is None, "no flip, but there is one")
        case "found":
            need(
                best is not None and found.lower_bound <= best <= found.cost,
                "bounds that miss the truth",
            )
            need(asked.hurried, "undecided with time left")
        case "unknown":
            need(asked.hurried, "undecided with time left")


def bias(asked: Question) -> None:
    found = sf.bias(asked.case.classifier, list(asked.case.tokens), asked.exclude, **asked.common)
    both_checkers(found.certificate, asked)
    flips = asked.case.flips(set(asked.exclude))
    depends = any(asked.case.changed(text) for text, _ in flips)
    need(
        found.tied is None or bool(asked.case.flips(set())),
        "said to be a tie as it stands, and is none",
    )
    need(
        "rejected" not in found.meta,
        f"the checker rejected a certificate: {found.meta.get('rejected')}",
    )
    match found.status:
        case "independent":
            need(not depends, "independent, but a change of these words flips the label")
        case "dependent":
            need(depends, "dependent, but no change of these words flips the label")
        case "unknown":
            need(
                not (found.trivial and depends),
                "nothing to test, but a change of these words flips the label",
            )
            need(
                asked.hurried or found.trivial or found.tied is not None, "undecided with time left"
            )


VERBS = {check.__name__: check for check in (explain, explain_all, contrast, bias)}


# --- altered certificates ---


def altered(asked: Question) -> Iterator[str]:
    """Certificates of the answers with something changed in them: what is wrong with what the
    checkers say of each.
    """
    among = [
        Source("", asked.case.classifier, json.loads(json.dumps(list(c.lines))))
        for c in asked.certificates
    ]
    made = mutants(asked.seed, ALTERED, among, MORE_MUTATIONS) if among else ()
    for number, (name, classifier, lines) in enumerate(made):
        model = asked.model if classifier is asked.case.classifier else exact_model(classifier)
        first = common.accepts(lines, classifier)
        second = common.accepts_exactly(lines, model)
        if first != second:
            yield (
                f"altered {number} ({name}): the first checker says {first}, the exact one {second}"
            )
        elif first and not is_true(classifier, lines[0]):
            yield f"altered {number} ({name}): accepted, but false"


# --- all of it ---


def one(seed: int, counts: Counter[str]) -> Iterator[str]:
    """What is wrong with the answers to one question."""
    asked = Question(seed)
    for name, check in VERBS.items():
        counts["cases"] += 1
        try:
            check(asked)
        except Wrong as error:
            yield f"{name}: {error}"
        except Exception as error:
            yield f"{name}: {type(error).__name__}: {error}"
    counts["both"] += len(asked.certificates)
    counts["altered"] += ALTERED if asked.certificates else 0
    yield from altered(asked)

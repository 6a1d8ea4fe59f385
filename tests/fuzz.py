"""Fuzz: random small questions of every kind, answered by the verbs, the checkers and by trying all texts in fractions.

    make fuzz SECONDS=600        (or: python tests/fuzz.py --seconds 600 --state fuzz.json)

Goes on where it stopped (the state file holds the next seed). Whatever disagrees is printed with the seed that makes it
again, appended to the state file, and the exit code is 1. A case is one question with one verb, whose certificate both
checkers read, or one altered certificate: both must say the same of it, and accept it only if what it claims is true.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "proof"))
from brute import KINDS, Case, is_true, make_case
from test_check import MORE_MUTATIONS, Source, mutants

import suffice as sf
from suffice.errors import NotACertificate, Rejected
from suffice.model.network import Conv1d, Dense, MaxPool, Network, Relu, Transpose
from suffice.proof import check_exact
from suffice.sets.table import from_dict

ALTERED = 16  # certificates of a question


class Wrong(Exception):
    """An answer that is not true."""


def need(condition: object, what: str) -> None:
    if not condition:
        raise Wrong(what)


class Question:
    """One case with random words to include and exclude, odd weights and odd limits."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([7, seed])
        case = make_case(KINDS[seed % len(KINDS)], seed, bool(rng.integers(2)))
        case = pooled(case, rng, seed % 3 == 0) if rng.random() < 0.25 else case
        self.seed, self.case = seed, scaled(case, rng) if rng.random() < 0.3 else case
        roles = rng.choice(3, self.case.length, p=[0.7, 0.15, 0.15])
        self.include = [int(i) for i in np.flatnonzero(roles == 1)]
        self.exclude = [int(i) for i in np.flatnonzero(roles == 2)]
        self.seconds = float(rng.choice([30.0, 30.0, 30.0, 0.002]))
        self.method = str(rng.choice(["search", "search", "hs", "msa"]))
        self.prices = dict(zip(self.case.tokens, self.case.costs, strict=True))
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
        every = (words for size in sizes for words in itertools.combinations(range(self.case.length), size))
        fitting = (w for w in every if {*self.include} <= {*w} and not {*self.exclude} & {*w})
        return [words for words in fitting if self.robust(words)]


def pooled(case: Case, rng: np.random.Generator, whole: bool) -> Case:
    """The same question to a network with maxima over time."""

    def numbers(*shape: int) -> Any:
        return rng.integers(-2, 3, shape).astype(float) if whole else rng.standard_normal(shape)

    size, filters = case.classifier.table.shape[1], int(rng.integers(1, 4))
    kernel = Conv1d(numbers(filters, size, 1), numbers(filters) / 2)
    middle = [Relu()] if rng.random() < 0.5 else []
    last = Dense(numbers(case.classes, filters), numbers(case.classes) / 2)
    network = Network.build([Transpose(), kernel, *middle, MaxPool(), last], (case.length, size))
    *hidden, last_ = network.steps
    idle = np.setdiff1d(np.arange(last_.weight.shape[1]), [group[0] for group in hidden[-1].maxima])
    if hidden[-1].maxima and rng.random() < 0.5:  # weights of units of a maximum that give nothing
        weight = last_.dense().copy()
        weight[:, idle] = numbers(*weight[:, idle].shape)
        network = Network((*hidden, replace(last_, weight=weight)))
    return replace(case, classifier=replace(case.classifier, network=network))


def scaled(case: Case, rng: np.random.Generator) -> Case:
    """Weights from tiny to huge: the label is the same, rounding and overflow are not."""
    factor = 2.0 ** int(rng.choice([-300, -60, 60, 100]))
    steps = case.classifier.network.steps
    last = replace(steps[-1], weight=steps[-1].weight * factor, bias=steps[-1].bias * factor)
    network = replace(case.classifier.network, steps=(*steps[:-1], last))
    return replace(case, classifier=replace(case.classifier, network=network))


MEMORY = Path("/dev/shm")  # where there is one, models are written to memory
FOLDER = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)


def exact_model(classifier: sf.Classifier) -> check_exact.Model:
    """The classifier as the second checker reads it from its folder."""
    classifier.save(FOLDER.name)
    return check_exact.load(FOLDER.name)


# --- one check per verb ---


def both_checkers(found: sf.Certificate | None, asked: Question) -> None:
    """What the first checker accepted, the second, in fractions, accepts too."""
    if found is None:
        return
    asked.certificates.append(found)
    try:
        check_exact.check(found.data, asked.model)
    except check_exact.Reject as error:
        raise Wrong(f"the exact checker rejects: {error}") from error


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
    need("rejected" not in found.meta, f"the checker rejected a certificate: {found.meta.get('rejected')}")
    both_checkers(found.certificate, asked)
    match found.status:
        case "optimal":
            need(best is not None and found.cost == best, f"optimal at {found.cost}, the truth is {best}")
            need(asked.robust(found.positions), "optimal, but not robust")
        case "sufficient":
            need(asked.robust(found.positions), "sufficient, but not robust")
            need(best is not None and found.lower_bound <= best <= found.cost, "bounds that miss the truth")
        case "infeasible":
            need(best is None, "infeasible, but there is an explanation")
        case "unknown":
            need(asked.hurried, "undecided with time left")
            need(best is None or found.lower_bound <= best, "a lower bound above the truth")


def explain_all(asked: Question) -> None:
    words = {"include": asked.include, "exclude": asked.exclude}
    every = sf.explain_all(asked.case.classifier, list(asked.case.tokens), cost=asked.prices, **words, **asked.common)
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
    need(not every.complete or every.certificate is not None, "complete, but the certificate was rejected")
    both_checkers(every.certificate, asked)


def contrast(asked: Question) -> None:
    found = sf.contrast(asked.case.classifier, list(asked.case.tokens), cost=asked.prices, **asked.common)
    flips = asked.case.all_flips
    best = min((asked.price(tuple(asked.case.changed(text))) for text, _ in flips), default=None)
    need("rejected" not in found.meta, f"the checker rejected a certificate: {found.meta.get('rejected')}")
    both_checkers(found.certificate, asked)
    match found.status:
        case "optimal":
            need(best is not None and found.cost == best, f"a flip for {found.cost}, the truth is {best}")
        case "none":
            need(best is None, "no flip, but there is one")
        case "found":
            need(best is not None and found.lower_bound <= best <= found.cost, "bounds that miss the truth")
            need(asked.hurried, "undecided with time left")
        case "unknown":
            need(asked.hurried, "undecided with time left")


def bias(asked: Question) -> None:
    found = sf.bias(asked.case.classifier, list(asked.case.tokens), asked.exclude, **asked.common)
    both_checkers(found.certificate, asked)
    depends = bool(asked.case.flips(set(asked.exclude)))
    need("rejected" not in found.meta, f"the checker rejected a certificate: {found.meta.get('rejected')}")
    match found.status:
        case "independent":
            need(not depends, "independent, but a change of these words flips the label")
        case "dependent":
            need(depends, "dependent, but no change of these words flips the label")
        case "unknown":
            need(asked.hurried, "undecided with time left")


VERBS = {check.__name__: check for check in (explain, explain_all, contrast, bias)}


# --- altered certificates ---


def altered(asked: Question) -> Iterator[str]:
    """Certificates of the answers with something changed in them: what is wrong with what the checkers say of each."""
    among = [Source("", asked.case.classifier, json.loads(json.dumps(list(c.lines)))) for c in asked.certificates]
    made = mutants(asked.seed, ALTERED, among, MORE_MUTATIONS) if among else ()
    for number, (name, classifier, lines) in enumerate(made):
        model = asked.model if classifier is asked.case.classifier else exact_model(classifier)
        first, second = accepts(lines, classifier), accepts_exactly(lines, model)
        if first != second:
            yield f"altered {number} ({name}): the first checker says {first}, the exact one {second}"
        elif first and not is_true(classifier, lines[0]):
            yield f"altered {number} ({name}): accepted, but false"


def accepts(lines: list[Any], classifier: sf.Classifier) -> bool:
    try:
        sf.check(sf.Certificate(tuple(lines)), classifier)
    except (Rejected, NotACertificate):
        return False
    return True


def accepts_exactly(lines: list[Any], model: check_exact.Model) -> bool:
    try:
        check_exact.check(lines, model)
    except (check_exact.Reject, check_exact.Unreadable):
        return False
    return True


# --- all of it ---


def one(seed: int, counts: Counter[str] | None = None) -> list[str]:
    """What is wrong with the answers to one question."""
    asked, wrong, counts = Question(seed), list[str](), Counter() if counts is None else counts
    for name, check in VERBS.items():
        counts["answers"] += 1
        try:
            check(asked)
        except Wrong as error:
            wrong.append(f"seed {seed}, {name}: {error}")
        except Exception as error:
            wrong.append(f"seed {seed}, {name}: {type(error).__name__}: {error}")
    try:
        wrong += [f"seed {seed}, {what}" for what in altered(asked)]
    except Exception as error:
        wrong.append(f"seed {seed}, altered: {type(error).__name__}: {error}")
    counts["altered"] += ALTERED if asked.certificates else 0
    return wrong


def run(seconds: float, state: Path) -> int:
    known = json.loads(state.read_text()) if state.exists() else {"next": 0, "answers": 0, "altered": 0, "wrong": []}
    started, fresh, counts = time.monotonic(), 0, Counter(answers=known["answers"], altered=known["altered"])
    while time.monotonic() - started < seconds:
        wrong = one(known["next"], counts)
        print(*wrong, sep="\n", end="\n" if wrong else "", flush=True)
        fresh += len(wrong)
        known = {"next": known["next"] + 1, **counts, "wrong": known["wrong"] + wrong}
        if wrong or known["next"] % 100 == 0:
            state.write_text(json.dumps(known, indent=1))
    state.write_text(json.dumps(known, indent=1))
    taken = time.monotonic() - started
    cases = f"{counts['answers']} answers and {counts['altered']} altered certificates"
    print(f"{taken:.0f} s, {fresh} wrong; {cases} in all, {len(known['wrong'])} wrong")
    return 1 if fresh else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--state", type=Path, default=Path("fuzz.json"))
    parser.add_argument("--seed", type=int, help="only this question again")
    args = parser.parse_args()
    if args.seed is not None:
        print(*one(args.seed), sep="\n")
    else:
        raise SystemExit(run(args.seconds, args.state))

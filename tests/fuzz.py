"""Fuzz: random small questions of every kind, answered by the verbs, the checkers and by trying all texts in fractions.

    make fuzz SECONDS=600        (or: python tests/fuzz.py --seconds 600 --state fuzz.json)

Goes on where it stopped (the state file holds the next seed). Whatever disagrees is printed with the seed that makes it
again, appended to the state file, and the exit code is 1. A case is one question with one verb.
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
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from brute import KINDS, Case, make_case

import suffice as sf
from suffice.errors import Rejected
from suffice.proof import check_exact
from suffice.sets.table import from_dict


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
        self.case = scaled(case, rng) if rng.random() < 0.3 else case
        roles = rng.choice(3, self.case.length, p=[0.7, 0.15, 0.15])
        self.include = [int(i) for i in np.flatnonzero(roles == 1)]
        self.exclude = [int(i) for i in np.flatnonzero(roles == 2)]
        self.seconds = float(rng.choice([30.0, 30.0, 30.0, 0.002]))
        self.method = str(rng.choice(["search", "search", "hs", "msa"]))
        self.prices = dict(zip(self.case.tokens, self.case.costs, strict=True))
        self.common = {
            "perturbation": from_dict(self.case.data),
            "seconds": self.seconds,
        }

    @property
    def open_ended(self) -> bool:
        """Whether a flip may stay undecided: there is too little time."""
        return self.seconds < 1

    def price(self, words: tuple[int, ...]) -> float:
        return float(sum(self.prices[self.case.tokens[i]] for i in words))

    def robust(self, words: tuple[int, ...]) -> bool:
        return not self.case.flips({*range(self.case.length)} - {*words})

    def explanations(self, free: bool = False) -> Iterator[tuple[int, ...]]:
        """All robust sets, by enumeration; without the words asked for where `free`."""
        for size in range(self.case.length + 1):
            for words in itertools.combinations(range(self.case.length), size):
                wanted = free or (set(self.include) <= set(words) and not set(self.exclude) & set(words))
                if wanted and self.robust(words):
                    yield words


def scaled(case: Case, rng: np.random.Generator) -> Case:
    """Weights from tiny to huge: the label is the same, rounding and overflow are not."""
    factor = 2.0 ** int(rng.choice([-300, -60, 60, 100]))
    steps = case.classifier.network.steps
    last = replace(steps[-1], weight=steps[-1].weight * factor, bias=steps[-1].bias * factor)
    network = replace(case.classifier.network, steps=(*steps[:-1], last))
    return replace(case, classifier=replace(case.classifier, network=network))


# --- one check per verb ---


def both_checkers(found: sf.Certificate | None, classifier: sf.Classifier) -> None:
    """What the first checker accepted, the second, in fractions, accepts too."""
    if found is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        classifier.save(folder)
        try:
            check_exact.check(found.data, check_exact.load(folder))
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
    best = min((asked.price(words) for words in asked.explanations()), default=None)
    need("rejected" not in found.meta, f"the checker rejected a certificate: {found.meta.get('rejected')}")
    both_checkers(found.certificate, asked.case.classifier)
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
            need(asked.seconds < 1, "undecided with time left")
            need(best is None or found.lower_bound <= best, "a lower bound above the truth")


def explain_all(asked: Question) -> None:
    words = {"include": asked.include, "exclude": asked.exclude}
    every = sf.explain_all(asked.case.classifier, list(asked.case.tokens), cost=asked.prices, **words, **asked.common)
    found = list(every)
    if any(one.status != "optimal" for one in found):
        need(asked.seconds < 1 or found[0].status == "infeasible", "undecided with time left")
        return
    all_sets = list(asked.explanations())
    best = min(map(asked.price, all_sets))
    truth = {words for words in all_sets if asked.price(words) == best}
    seen = {one.positions for one in found}
    need(seen <= truth, f"not optimal: {seen - truth}")
    need(not every.complete or seen == truth, f"called complete, but missed: {truth - seen}")
    need(asked.seconds < 1 or every.complete, "not complete with time left")
    need(not every.complete or every.certificate is not None, "complete, but the certificate was rejected")
    both_checkers(every.certificate, asked.case.classifier)


def contrast(asked: Question) -> None:
    found = sf.contrast(asked.case.classifier, list(asked.case.tokens), cost=asked.prices, **asked.common)
    flips = asked.case.flips({*range(asked.case.length)})
    best = min((asked.price(tuple(asked.case.changed(text))) for text, _ in flips), default=None)
    both_checkers(found.certificate, asked.case.classifier)
    match found.status:
        case "optimal":
            need(best is not None and found.cost == best, f"a flip for {found.cost}, the truth is {best}")
        case "none":
            need(best is None, "no flip, but there is one")
        case "found":
            need(best is not None and found.lower_bound <= best <= found.cost, "bounds that miss the truth")
            need(asked.open_ended, "undecided with time left")
        case "unknown":
            need(asked.open_ended, "undecided with time left")


def bias(asked: Question) -> None:
    found = sf.bias(asked.case.classifier, list(asked.case.tokens), asked.exclude, **asked.common)
    both_checkers(found.certificate, asked.case.classifier)
    depends = bool(asked.case.flips(set(asked.exclude)))
    need("rejected" not in found.meta, f"the checker rejected a certificate: {found.meta.get('rejected')}")
    match found.status:
        case "independent":
            need(not depends, "independent, but a change of these words flips the label")
        case "dependent":
            need(depends, "dependent, but no change of these words flips the label")
        case "unknown":
            need(asked.seconds < 1, "undecided with time left")


def mutated(asked: Question) -> None:
    """A certificate with one number changed: refused, or what it claims is true all the same."""
    found = sf.explain(asked.case.classifier, list(asked.case.tokens), cost=asked.prices, **asked.common)
    if found.certificate is None or "lower" not in found.certificate.claim:
        return
    head, *rest = found.certificate.lines
    claim = {**head["claim"], "lower": head["claim"]["lower"] + 1}
    try:
        sf.check(sf.Certificate(({**head, "claim": claim}, *rest)), asked.case.classifier)
    except Rejected:
        return
    best = min(asked.case.cost(words) for words in asked.explanations(free=True))
    need(claim["lower"] <= best, "a forged lower bound was accepted")


VERBS = {check.__name__: check for check in (explain, explain_all, contrast, bias, mutated)}


def one(seed: int) -> list[str]:
    """What is wrong with the answers to one question."""
    asked, wrong = Question(seed), []
    for name, check in VERBS.items():
        try:
            check(asked)
        except Wrong as error:
            wrong.append(f"seed {seed}, {name}: {error}")
        except Exception as error:
            wrong.append(f"seed {seed}, {name}: {type(error).__name__}: {error}")
    return wrong


def run(seconds: float, state: Path) -> int:
    known = json.loads(state.read_text()) if state.exists() else {"next": 0, "cases": 0, "wrong": []}
    started, counts = time.monotonic(), Counter[str]()
    while time.monotonic() - started < seconds:
        wrong = one(known["next"])
        print(*wrong, sep="\n", end="\n" if wrong else "", flush=True)
        known["wrong"] += wrong
        known["next"] += 1
        known["cases"] += len(VERBS)
        counts["cases"] += len(VERBS)
        counts["wrong"] += len(wrong)
    state.write_text(json.dumps(known, indent=1))
    taken = time.monotonic() - started
    print(f"{counts['cases']} cases in {taken:.0f} s, {counts['wrong']} wrong; {known['cases']} cases in all")
    return 1 if counts["wrong"] else 0


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

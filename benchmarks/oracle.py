"""The oracle's claims, measured: the queries a greedy descent asks, put to ours, to HiGHS and to Marabou."""

from __future__ import annotations

import argparse
import csv
import gzip
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from suffice.classifier import Classifier, bundled, load
from suffice.errors import SufficeError
from suffice.network import Bools
from suffice.oracles import BoundsOracle, make_oracle
from suffice.perturb import KNNBox
from suffice.verdict import Budget, Problem, Proved, Refuted, Unknown, Verdict

MODELS = {"sst-fc25": "sst2/test", "sst-cnn25": "sst2/test", "imdb-fc100": "imdb/test"}


@dataclass(frozen=True, eq=False)
class Query:
    model: str
    k: int
    row: int
    problem: Problem
    free: Bools
    near: bool  # attacks and plain bounds both fail

    def __str__(self) -> str:
        fixed = np.flatnonzero(self.problem.features & ~self.free).tolist()
        return f"{self.model} k={self.k} row={self.row} fixed={fixed}"


def read_texts(data: Path, name: str) -> list[str]:
    with gzip.open(data / f"{name}.csv.gz", "rt", encoding="utf8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


def make_problem(classifier: Classifier, source: str, k: int) -> Problem:
    text = classifier.read(source)
    label = classifier.label_index(classifier.predict(text).label)
    features = np.arange(len(text)) < len(text.words)
    return Problem(classifier.network, KNNBox(k).around(classifier, text), label, features)


def descent(problem: Problem, seconds: float) -> Iterator[tuple[Bools, bool]]:
    """Free the words one by one, the least harmful first, and keep free what is proved: (question, near)."""
    oracle = BoundsOracle(problem)
    free = np.zeros(len(problem.features), dtype=bool)
    harm = oracle.attacker.push.min(0)
    for word in sorted(np.flatnonzero(problem.features), key=lambda i: -harm[i]):
        asked = free.copy()
        asked[word] = True
        cheap = oracle.ask_cheaply(asked[None])[0]
        yield asked, isinstance(cheap, Unknown)
        if isinstance(cheap, Refuted):
            continue
        if cheap or oracle.ask(asked[None], Budget(seconds))[0]:
            free = asked


def collect(model: str, texts: list[str], ks: tuple[int, ...], near: int, most: int = 60) -> list[Query]:
    """Queries of descents on text after text until `near` of them are near the boundary; two easy ones each."""
    classifier = load(model)
    easy, hard = [], []
    for row, source in enumerate(texts[:most]):
        for k in ks:
            problem = make_problem(classifier, source, k)
            for free, close in descent(problem, 5.0):
                (hard if close else easy).append(Query(model, k, row, problem, free, close))
        if len(hard) >= near:
            break
    hard = hard[:near]
    step = max(1, len(easy) // max(1, 2 * len(hard)))
    return hard + easy[::step][: 2 * len(hard)]


@dataclass(frozen=True)
class Answer:
    verdict: Verdict
    seconds: float


def put(name: str, queries: list[Query], limit: float) -> list[Answer]:
    """Each query on its own to one oracle; building the oracle is part of the first question's time."""
    made: dict[int, object] = {}
    answers = []
    for query in queries:
        start = time.perf_counter()
        if id(query.problem) not in made:
            made[id(query.problem)] = make_oracle(name, query.problem)
        verdict = made[id(query.problem)].ask(query.free[None], Budget(limit))[0]
        answers.append(Answer(verdict, time.perf_counter() - start))
    return answers


def summary(answers: list[Answer]) -> str:
    seconds = np.array([a.seconds for a in answers])
    decided = np.mean([not isinstance(a.verdict, Unknown) for a in answers])
    return f"decided {decided:.1%} median {np.median(seconds):.4f} p95 {np.quantile(seconds, .95):.3f} max {seconds.max():.2f} total {seconds.sum():.2f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared/data")
    parser.add_argument("--near", type=int, default=40)
    parser.add_argument("--models", default="sst-fc25")
    parser.add_argument("--oracles", default="bounds,milp")
    parser.add_argument("--seconds", type=float, default=30)
    args = parser.parse_args()
    with threadpool_limits(1):
        for model in args.models.split(","):
            if model not in bundled():
                continue
            start = time.perf_counter()
            queries = collect(model, read_texts(args.data, MODELS[model]), (10, 25), args.near)
            print(f"## {model}: {len(queries)} queries, {sum(q.near for q in queries)} near, collected in {time.perf_counter() - start:.1f}s", flush=True)
            told = {}
            for name in args.oracles.split(","):
                told[name] = put(name, queries, args.seconds)
                for near in (True, False):
                    print(f"{name} {'near' if near else 'easy'}: {summary([a for a, q in zip(told[name], queries) if q.near == near])}", flush=True)
            first, second = (told[n] for n in args.oracles.split(",")[:2])
            for q, a, b in zip(queries, first, second):
                kinds = {type(a.verdict), type(b.verdict)}
                if kinds == {Proved, Refuted}:
                    print("DISAGREE", q)
            print("slowest of ours:")
            for i in np.argsort([-a.seconds for a in first])[:15]:
                print(f"{first[i].seconds:.2f}s {type(first[i].verdict).__name__} milp {second[i].seconds:.2f}s {type(second[i].verdict).__name__} {queries[i]}")


if __name__ == "__main__":
    main()

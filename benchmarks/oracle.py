"""Benchmark of the oracle: the questions of a greedy descent, put to ours, to HiGHS and to Marabou
in one run.

    python benchmarks/oracle.py --data ../shared/data --out oracle.md
    python benchmarks/oracle.py --quick
    python benchmarks/oracle.py --parts bulk ablation --models sst-fc25

A descent frees the words of a real test text one by one, the least harmful first, and keeps free
what is proved. Its questions are "near" where attacks and plain bounds both fail, else "easy".
Every oracle gets the same questions one at a time, on one thread; "batch" puts all questions of a
text to ours at once.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from suffice.model.classifier import Classifier
from suffice.model.network import Bools, Floats
from suffice.model.saved import bundled, load
from suffice.sets.perturbations import KNNBox
from suffice.settings import DEFAULT
from suffice.verify.contract import Budget, Problem, Proved, Refuted, Unknown, Verdict
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.nets.crown import ascent
from suffice.verify.solvers import make_oracle

TEXTS = {"sst-fc25": "sst2/test", "sst-cnn25": "sst2/test", "imdb-fc100": "imdb/test"}
KS = (10, 25)
PARTS = ("questions", "bulk", "ablation", "scale")


@dataclass(frozen=True, eq=False)
class Question:
    model: str
    k: int
    row: int
    problem: Problem
    free: Bools
    near: bool

    def __str__(self) -> str:
        fixed, free = (
            np.flatnonzero(self.problem.features & m).tolist() for m in (~self.free, self.free)
        )
        words = f"fixed={fixed}" if len(fixed) < len(free) else f"free={free}"
        return f"{self.model} k={self.k} row={self.row} {words}"


@dataclass(frozen=True)
class Answer:
    verdict: Verdict
    seconds: float

    @property
    def decided(self) -> bool:
        return not isinstance(self.verdict, Unknown)


def main() -> None:
    args = parse()
    report = Report(args.out)
    with threadpool_limits(1):
        if {"questions", "ablation"} & set(args.parts):
            questions = [q for model in args.models for q in collect(model, args)]
            if "questions" in args.parts:
                compare(questions, args, report)
            if "ablation" in args.parts:
                ablation([q for q in questions if q.near], args, report)
        if "bulk" in args.parts:
            bulk(args, report)
        if "scale" in args.parts:
            scale(args, report)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared/data"
    )
    parser.add_argument("--models", nargs="+", default=list(TEXTS))
    parser.add_argument("--oracles", nargs="+", default=["bounds", "milp", "marabou"])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument(
        "--near", type=int, default=40, help="near questions per model; easy ones are twice as many"
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="limit per question")
    parser.add_argument(
        "--large",
        type=Path,
        default=Path(tempfile.gettempdir()) / "suffice-large",
        help="where the large model is kept",
    )
    parser.add_argument("--large-texts", type=int, default=2)
    parser.add_argument("--out", type=Path, help="write the tables here, too")
    parser.add_argument(
        "--quick", action="store_true", help="a minute: one model, few questions, no large model"
    )
    args = parser.parse_args()
    if args.quick:
        args.models, args.near, args.seconds, args.parts = ["sst-fc25"], 8, 10.0, list(PARTS[:3])
    args.models = [model for model in args.models if model in bundled()]
    return args


class Report:
    """Lines that are printed as they come and kept in a file."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.lines = path, list[str]()

    def say(self, *lines: str) -> None:
        self.lines += lines
        print(*lines, sep="\n", flush=True)
        if self.path is not None:
            self.path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")

    def table(self, title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        body = [
            "| " + " | ".join(map(str, row)) + " |" for row in (head, ["---"] * len(head), *rows)
        ]
        self.say("", f"### {title}", "", *body)


# --- questions ---


def read_texts(data: Path, name: str) -> list[str]:
    with gzip.open(data / f"{name}.csv.gz", "rt", encoding="utf8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


def make_problem(classifier: Classifier, source: str, k: int) -> Problem:
    text = classifier.read(source)
    label = classifier.label_index(classifier.predict(text).label)
    features = np.arange(len(text)) < len(text.words)
    return Problem(classifier.network, KNNBox(k).around(classifier, text), label, features)


def collect(model: str, args: argparse.Namespace) -> list[Question]:
    """Descents on text after text until enough questions are near; then two easy ones for each of
    those.
    """
    classifier = load(model)
    texts = read_texts(args.data, TEXTS[model])
    easy: list[Question] = []
    near: list[Question] = []
    for row, source in enumerate(texts[:400]):
        for k in KS:
            problem = make_problem(classifier, source, k)
            for free, close in descent(problem):
                (near if close else easy).append(Question(model, k, row, problem, free, close))
        if len(near) >= args.near:
            break
    return [*spread(near, args.near), *spread(easy, 2 * min(args.near, len(near)))]


def spread(items: Sequence[Any], count: int) -> list[Any]:
    """At most `count` of the items, evenly."""
    return [items[i] for i in np.linspace(0, len(items) - 1, min(count, len(items))).astype(int)]


def descent(problem: Problem, seconds: float = 5.0) -> Iterator[tuple[Bools, bool]]:
    """The questions of freeing words one by one, and whether each is near the boundary."""
    oracle = BoundsOracle(problem)
    free = np.zeros(len(problem.features), dtype=bool)
    harm = oracle.attacker.word_effects.min(0)
    for word in sorted(np.flatnonzero(problem.features), key=lambda i: -harm[i]):
        asked = free.copy()
        asked[word] = True
        cheap = oracle.ask_cheaply(asked[None])[0]
        yield asked, isinstance(cheap, Unknown)
        if cheap or (isinstance(cheap, Unknown) and oracle.ask(asked[None], Budget(seconds))[0]):
            free = asked


def put(
    names: Sequence[str], questions: Sequence[Question], seconds: float
) -> dict[str, list[Answer]]:
    """Each question on its own to one oracle after the other, so that a busy machine is unfair to
    none.
    """
    told: dict[str, list[Answer]] = {name: [] for name in names}
    made: dict[str, Any] = {}
    last: Problem | None = None
    for question in questions:
        if question.problem is not last:
            last = question.problem
            made = {name: started(name, question.problem) for name in names}
        for name, oracle in made.items():
            start = time.perf_counter()
            verdict = oracle.ask(question.free[None], Budget(seconds))[0]
            told[name].append(Answer(verdict, time.perf_counter() - start))
    return told


def started(name: str, problem: Problem) -> Any:
    """An oracle that has answered a question, so that Marabou's process runs."""
    oracle = make_oracle(name, problem)
    oracle.ask(one_word(problem)[None], Budget(10.0))
    return oracle


def one_word(problem: Problem) -> Bools:
    """The mask of the first word."""
    return np.asarray(np.arange(len(problem.features)) == 0)


def put_in_batches(questions: Sequence[Question], seconds: float) -> float:
    """Seconds for all questions, those of one text at once."""
    total = 0.0
    for problem in {id(q.problem): q.problem for q in questions}.values():
        oracle = BoundsOracle(problem)
        free = np.stack([q.free for q in questions if q.problem is problem])
        start = time.perf_counter()
        oracle.ask(free, Budget(seconds * len(free)))
        total += time.perf_counter() - start
    return total


def compare(questions: Sequence[Question], args: argparse.Namespace, report: Report) -> None:
    told = put(args.oracles, questions, args.seconds)
    for model in [*args.models, "all"]:
        for near in (True, False):
            mine = [
                i for i, q in enumerate(questions) if model in (q.model, "all") and q.near == near
            ]
            if mine:
                _comparison(model, near, mine, questions, told, args, report)
    _disagreements(questions, told, report)
    _slowest(questions, told, report)


def _comparison(
    model: str,
    near: bool,
    mine: Sequence[int],
    questions: Sequence[Question],
    told: dict[str, list[Answer]],
    args: argparse.Namespace,
    report: Report,
) -> None:
    base = sum(told["bounds"][i].seconds for i in mine) if "bounds" in told else float("nan")
    rows = [[name, *_statistics([told[name][i] for i in mine], base)] for name in told]
    together = put_in_batches([questions[i] for i in mine], args.seconds)
    rows.append(["bounds, in batches", "", "", "", "", f"{together:.2f}", f"{together / base:.2f}"])
    head = ["oracle", "decided", "median ms", "95 % ms", "max s", "total s", "× ours"]
    report.table(f"{model}: {len(mine)} {'near' if near else 'easy'} questions", head, rows)


def _statistics(answers: Sequence[Answer], base: float) -> list[str]:
    seconds = np.array([answer.seconds for answer in answers])
    share = float(np.mean([answer.decided for answer in answers]))
    middle = np.median(seconds) * 1e3
    high = np.quantile(seconds, 0.95) * 1e3
    total = seconds.sum()
    return [
        f"{share:.1%}",
        f"{middle:.1f}",
        f"{high:.0f}",
        f"{seconds.max():.2f}",
        f"{total:.2f}",
        f"{total / base:.1f}",
    ]


def _disagreements(
    questions: Sequence[Question], told: dict[str, list[Answer]], report: Report
) -> None:
    found = []
    for i, question in enumerate(questions):
        kinds = {name: type(answers[i].verdict) for name, answers in told.items()}
        if {Proved, Refuted} <= set(kinds.values()):
            found.append(
                f"- {question}: {', '.join(f'{n} {k.__name__}' for n, k in kinds.items())}"
            )
    report.say("", f"Disagreements: {len(found)} of {len(questions)}.", *found)


def _slowest(questions: Sequence[Question], told: dict[str, list[Answer]], report: Report) -> None:
    times = np.array([answer.seconds for answer in told["bounds"]])
    head = ["question", *told]
    rows = []
    for i in np.argsort(-times)[:10]:
        cells = [f"{type(a[i].verdict).__name__} {a[i].seconds:.2f} s" for a in told.values()]
        rows.append([str(questions[i]), *cells])
    report.table("The slowest for ours", head, rows)


# --- cheap answers in bulk ---


def bulk(args: argparse.Namespace, report: Report, count: int = 4096) -> None:
    """Random sets of free words, of every size, through attacks and plain bounds."""
    rng = np.random.default_rng(0)
    rows = []
    for model in args.models:
        classifier = load(model)
        texts = read_texts(args.data, TEXTS[model])
        for k in KS:
            problems = [make_problem(classifier, source, k) for source in texts[:8]]
            timed = [_bulk_of_one(problem, rng, count) for problem in problems]
            seconds = np.median([s for s, _ in timed])
            decided = np.mean([d for _, d in timed])
            rows.append(
                [model, k, f"{seconds:.3f}", f"{seconds / count * 1e6:.1f}", f"{decided:.1%}"]
            )
    head = ["model", "k", "seconds (median of 8 texts)", "µs per question", "decided"]
    report.table(f"{count} random sets, cheap answers in bulk", head, rows)


def _bulk_of_one(problem: Problem, rng: np.random.Generator, count: int) -> tuple[float, float]:
    free = (rng.random((count, len(problem.features))) < rng.random((count, 1))) & problem.features
    oracle = BoundsOracle(problem)
    start = time.perf_counter()
    answers = oracle.ask_cheaply(free)
    return time.perf_counter() - start, float(
        np.mean([not isinstance(a, Unknown) for a in answers])
    )


# --- what each part brings ---


class _SlopesOnly(ascent.ProjectedAdam):
    """Leaves multipliers, which have no upper limit, as they are."""

    def update(self, value: Floats, gradient: Floats) -> Floats:
        return super().update(value, gradient) if self.upper < np.inf else value


def _nothing(*_: Any) -> None:
    return None


def _with(group: Any, **values: Any) -> AbstractContextManager[Any]:
    """Other numbers in a group of the settings that questions have."""
    return patch.dict(vars(group), values)


WITHOUT: dict[str, AbstractContextManager[Any]] = {
    "all of it": nullcontext(),
    "no optimised slopes before branching": _with(DEFAULT.ascent, refining_iterations=0),
    "no slopes or multipliers while branching": _with(DEFAULT.ascent, iterations=(0, 0)),
    "no multipliers": patch.object(ascent, "ProjectedAdam", _SlopesOnly),
    "no attacks first": patch.object(BoundsOracle, "_refute", _nothing),
    "one unit per split": _with(DEFAULT.branching, small_round=1),
    "one subproblem per round": _with(DEFAULT.branching, max_per_query=1),
}


def ablation(questions: Sequence[Question], args: argparse.Namespace, report: Report) -> None:
    rows = []
    for name, change in WITHOUT.items():
        with change:
            answers = put(["bounds"], questions, args.seconds)["bounds"]
        base = float(rows[0][5]) if rows else sum(a.seconds for a in answers)
        rows.append([name, *_statistics(answers, base)])
    head = ["ours with", "decided", "median ms", "95 % ms", "max s", "total s", "× all"]
    report.table(f"What each part brings: {len(questions)} near questions", head, rows)


# --- a million weights ---


def scale(args: argparse.Namespace, report: Report) -> None:
    """200 words × 50 dimensions, trained on IMDB: what is decided in 10 seconds per question."""
    classifier = _large(args)
    texts = [
        t
        for t in read_texts(args.data, "imdb/test")
        if len(classifier.read(t).words) == classifier.length
    ]
    questions = []
    for k in KS:
        for row, source in enumerate(texts[: args.large_texts]):
            problem = make_problem(classifier, source, k)
            asked = list(descent(problem, seconds=0.0))
            for close in (True, False):
                mine = [free for free, near in asked if near == close]
                questions += [
                    Question("large", k, row, problem, free, close) for free in spread(mine, 4)
                ]
    told = put(args.oracles, questions, 10.0)
    report.say("", f"Large: {classifier!r}, {classifier.network.weights:,} weights.")
    for near in (True, False):
        mine = [i for i, q in enumerate(questions) if q.near == near]
        if mine:
            _comparison("large", near, mine, questions, told, args, report)
    _disagreements(questions, told, report)
    _slowest(questions, told, report)


def _large(args: argparse.Namespace) -> Classifier:
    if (args.large / "classifier.json").is_file():
        return load(args.large)
    from suffice.train.data import prepare, read_rows
    from suffice.train.fit import train
    from suffice.train.recipe import Recipe

    data = prepare(read_rows(args.data / "imdb/train.csv.gz"), labels=["negative", "positive"])
    recipe = Recipe(length=200, dimension=50, hidden=(100, 20), epochs=4)
    trained = train(data, recipe)
    print({name: f"{share:.3f}" for name, share in trained.accuracies.items()}, flush=True)
    trained.classifier.save(args.large)
    return load(args.large)


if __name__ == "__main__":
    main()

"""The checker's claims, measured: it accepts the certificates of real texts, they are small, and
checking is quick.

    python benchmarks/check.py [--data ../shared/data] [--texts 5] [--seconds 10] [--out check.md]

For every bundled model and every perturbation set, `--texts` texts of the model's own test set are
explained without the self-check and the certificates checked from their bytes: 5 models × 9 sets ×
5 texts are 225. Times are CPU seconds of one thread, so that a busy machine does not matter; a
ratio is checking time to search time of one text. Prints a Markdown table. No text is kept.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import suffice as sf
from suffice.model.saved import bundled
from suffice.sets.perturbations import Perturbation

DATA = {"sst": "sst2", "imdb": "imdb", "trec": "trec6", "twitter": "twitter"}
SUBSTITUTES = 8  # per word: the nearest synonyms


@dataclass(frozen=True)
class Run:
    """One text: what became of its certificate."""

    model: str
    kind: str
    status: str
    claim: str  # empty where there is no certificate
    accepted: bool
    bytes: int
    search: float
    check: float
    reason: str = ""


def texts(data: Path, model: str, count: int) -> list[str]:
    """Texts spread over the model's test set."""
    with gzip.open(
        data / DATA[model.split("-")[0]] / "test.csv.gz", "rt", encoding="utf8", newline=""
    ) as file:
        rows = [row["text"] for row in csv.DictReader(file)]
    return rows[:: max(1, len(rows) // count)][:count]


def synonyms(data: Path) -> dict[str, list[str]]:
    with gzip.open(
        data / "synonyms" / "counterfitted_neighbors.json.gz", "rt", encoding="utf8"
    ) as file:
        found = json.load(file)
    return {
        word: [str(pair[0] if isinstance(pair, list) else pair) for pair in near]
        for word, near in found.items()
    }


def sets(swaps: dict[str, list[str]]) -> dict[str, Callable[[sf.Text], Perturbation]]:
    """The perturbation sets; swaps only for the words of the text, as they would go into a
    certificate.
    """
    return {
        "k-NN box, k = 10": lambda _: sf.KNNBox(10),
        "k-NN box, k = 25": lambda _: sf.KNNBox(25),
        "k-NN hull, k = 25": lambda _: sf.KNNHull(25),
        "ball, p = inf, ε = 0.2": lambda _: sf.EpsilonBall(0.2),
        "ball, p = 2, ε = 0.4": lambda _: sf.EpsilonBall(0.4, 2),
        "ball, p = 1, ε = 0.5": lambda _: sf.EpsilonBall(0.5, 1),
        "word swaps": lambda text: sf.WordSwap(
            {w: swaps[w][:SUBSTITUTES] for w in sorted({*text.tokens} & {*swaps})}
        ),
        "deletion": lambda _: sf.Deletion(),
        "removal or swap": lambda text: sf.RemoveOrSwap(
            {w: swaps[w][:4] for w in sorted({*text.tokens} & {*swaps})}
        ),
    }


def clocked(action: Callable[[], object]) -> tuple[object, float]:
    started = time.process_time()
    try:
        found: object = action()
    except sf.SufficeError as error:
        found = error
    return found, time.process_time() - started


def run(
    classifier: sf.Classifier,
    model: str,
    kind: str,
    source: str,
    chosen: Perturbation,
    seconds: float,
) -> Run:
    result, search = clocked(
        lambda: sf.explain(
            classifier, source, perturbation=chosen, seconds=seconds, self_check=False
        )
    )
    if not isinstance(result, sf.Explanation) or result.certificate is None:
        return Run(
            model, kind, getattr(result, "status", "error"), "", False, 0, search, 0.0, str(result)
        )
    data = result.certificate.data
    found, check = clocked(lambda: sf.check(data, classifier))
    accepted = not isinstance(found, sf.SufficeError)
    claim = result.certificate.claim["kind"]
    return Run(
        model,
        kind,
        result.status,
        claim,
        accepted,
        len(data),
        search,
        check,
        "" if accepted else str(found),
    )


def runs(data: Path, models: Sequence[str], count: int, seconds: float) -> Iterator[Run]:
    kinds = sets(synonyms(data))
    for model in models:
        classifier = sf.load(model)
        _ = classifier.digest, classifier.lookup  # worked out once per model
        for (kind, make), source in itertools.product(kinds.items(), texts(data, model, count)):
            yield run(classifier, model, kind, source, make(classifier.read(source)), seconds)


def row(name: str, found: Sequence[Run]) -> str:
    """One line of the table."""
    made = [r for r in found if r.claim]
    if not made:
        return f"| {name} | {len(found)} | 0 | | | | | | |"
    ratios = [r.check / r.search for r in made]
    optimal = sum(r.status == "optimal" for r in found)
    sizes = [r.bytes / 1000 for r in made]
    return (
        f"| {name} | {len(found)} | {len(made)} | {optimal} | "
        f"{np.mean([r.accepted for r in made]):.1%} "
        f"| {np.median(sizes):.1f} / {max(sizes):.0f} | "
        f"{1000 * np.median([r.search for r in made]):.0f} "
        f"| {1000 * np.median([r.check for r in made]):.0f} | {np.median(ratios):.2f} |"
    )


def table(found: Sequence[Run]) -> str:
    head = (
        "| | texts | certificates | optimal | accepted | KB, median / max | search, ms | check, "
        "ms | ratio |"
    )
    models, kinds = (
        dict.fromkeys(names) for names in ([r.model for r in found], [r.kind for r in found])
    )
    lines = [head, "|---|---|---|---|---|---|---|---|---|"]
    lines += [row(f"`{name}`", [r for r in found if r.model == name]) for name in models]
    lines += [row(name, [r for r in found if r.kind == name]) for name in kinds]
    rejected = [
        f"REJECTED {r.model}, {r.kind}, {r.claim}: {r.reason}"
        for r in found
        if r.claim and not r.accepted
    ]
    return "\n".join([*lines, row("**all**", found), *([""] if rejected else []), *rejected])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--models", default=",".join(bundled()))
    parser.add_argument("--texts", type=int, default=5, help="of each model and perturbation set")
    parser.add_argument("--seconds", type=float, default=10.0, help="for the search of one text")
    parser.add_argument("--out", type=Path, help="write the table here too")
    args = parser.parse_args()
    with threadpool_limits(1):
        found = table(list(runs(args.data, args.models.split(","), args.texts, args.seconds)))
    print(found)
    if args.out:
        args.out.write_text(found + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

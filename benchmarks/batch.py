"""Throughput of `suffice batch`: a whole test set with certificates, by 1 and by 2 workers.

    python benchmarks/batch.py /path/to/sst2/test.csv.gz [--limit N] [--workers 1 2]

Prints texts per second and the speed-up for each number of workers, and whether all gave the same
results. Times include the start of the workers, the proofs, the independent checker and the writing
of every certificate. CPU seconds are those of all processes together: on a busy machine they say
more than the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import suffice as sf
from suffice.corpus.batch import explained_rows
from suffice.corpus.rows import Row, read_rows
from suffice.corpus.running import Run


def run(
    classifier: sf.Classifier, rows: list[Row], k: int, workers: int, seconds: float
) -> dict[str, Any]:
    """One run in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        before = cpu()
        how = Run(Path(folder) / "results.jsonl", Path(folder) / "certificates", workers)
        done = explained_rows(classifier, rows, how, sf.KNNBox(k), seconds=seconds)
        lines = sorted((row.line for row in done), key=lambda line: line["row"])
        elapsed = time.perf_counter() - started
        size = sum(path.stat().st_size for path in (Path(folder) / "certificates").iterdir())
    return {
        "workers": workers,
        "seconds": elapsed,
        "cpu": cpu() - before,
        "bytes": size,
        "lines": lines,
    }


def cpu() -> float:
    """CPU seconds of this process and of the children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def facts(found: dict[str, Any]) -> dict[str, Any]:
    """What is worth keeping of a run."""
    answers = [line["explanation"] for line in found["lines"] if "error" not in line]
    times = sorted(answer["stats"]["seconds"] for answer in answers)
    return {
        "workers": found["workers"],
        "texts": len(found["lines"]),
        "seconds": round(found["seconds"], 2),
        "cpu_seconds": round(found["cpu"], 2),
        "texts_per_second": round(len(found["lines"]) / found["seconds"], 2),
        "statuses": dict(Counter(answer["status"] for answer in answers)),
        "errors": len(found["lines"]) - len(answers),
        "checked": sum(bool(answer["meta"].get("checked")) for answer in answers),
        "empty": sum(not answer["positions"] for answer in answers),
        "certificate_megabytes": round(found["bytes"] / 1e6, 2),
        "search_seconds": {"median": round(times[len(times) // 2], 4), "max": round(times[-1], 2)},
    }


def timeless(line: dict[str, Any]) -> str:
    plain = json.loads(json.dumps(line))
    plain.get("explanation", {}).pop("stats", None)
    return json.dumps(plain, sort_keys=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts")
    parser.add_argument("--model", default="sst-fc25")
    parser.add_argument("--k", type=int, default=15)
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit per text")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    rows = list(read_rows(args.texts))[: args.limit]
    classifier = sf.load(args.model)
    runs = [run(classifier, rows, args.k, workers, args.seconds) for workers in args.workers]
    report = [facts(found) for found in runs]
    for one in report:
        one["speed_up"] = round(report[0]["seconds"] / one["seconds"], 2)
    same = len({tuple(map(timeless, found["lines"])) for found in runs}) == 1
    load = [round(value, 1) for value in os.getloadavg()]
    print(
        json.dumps(
            {"model": args.model, "k": args.k, "runs": report, "same_results": same, "load": load},
            indent=2,
        )
    )


if __name__ == "__main__":
    main()

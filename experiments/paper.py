"""The command: train what is needed, compute what is missing, write the report.

    python -m experiments.paper --data ../shared/data
    python -m experiments.paper --small                  # every item in about a minute
    python -m experiments.paper --only boxes balls       # these items (and the models they need)

A killed run resumes where it was: finished rows are in OUT/rows and are not computed again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments import balls, beyond, boxes, examples, explainers, growth, naming, report, training
from experiments.plan import Plan, small
from experiments.store import Job, Settings, Store

ITEMS: dict[
    str, ModuleType
] = {  # in the order in which they are computed; every one needs the models of the first
    "training": training,
    "balls": balls,
    "boxes": boxes,
    "examples": examples,
    "beyond": beyond,
    "explainers": explainers,
    "naming": naming,
    "growth": growth,
}


def main(given: list[str] | None = None) -> int:
    args = parse(given)
    plan = (small if args.small else Plan)(Path(args.data), Path(args.out))
    done = compute(plan, args.only or list(ITEMS), args.workers)
    path = Path(
        args.report or (plan.out / "RESULTS.md" if args.small else "experiments/RESULTS.md")
    )
    report.write(plan, Store(plan.out / "rows"), path)
    print(f"{done} rows computed; the report is {path}", file=sys.stderr)
    return 0


def compute(plan: Plan, items: list[str], workers: int) -> int:
    """Every row that is missing, models first (all, or those that the items need); how many that
    were.
    """
    store = Store(plan.out / "rows")
    started = time.monotonic()
    count = 0
    wanted = {item: ITEMS[item].jobs(plan) for item in items}
    for item, jobs in {"training": needed(plan, wanted), **wanted}.items():
        missing = [job for job in jobs if not store.has(job)]
        for place, (job, result) in enumerate(results(plan, missing, workers), 1):
            store.add(job, result)
            count += 1
            taken = time.monotonic() - started
            print(
                f"{taken:6.0f} s  {item} {place}/{len(missing)}  {job.key}",
                file=sys.stderr,
                flush=True,
            )
    return count


def needed(plan: Plan, wanted: dict[str, list[Job]]) -> list[Job]:
    """The models that the jobs ask about."""
    names = {
        job.settings.get("model", job.settings.get("every"))
        for jobs in wanted.values()
        for job in jobs
    }
    return [training.job(plan, model) for model in training.models(plan) if model.name in names]


def results(plan: Plan, jobs: list[Job], workers: int) -> Iterator[tuple[Job, dict[str, Any]]]:
    """The jobs with their results, as they come."""
    if workers < 1:
        yield from ((job, work(plan, job)) for job in jobs)
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(work, plan, job): job for job in jobs}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


def work(plan: Plan, job: Job) -> dict[str, Any]:
    run: Callable[[Plan, Settings], dict[str, Any]] = ITEMS[job.item].run
    return run(plan, job.settings)


def parse(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--data", default="../shared/data", help="the folder of the data sets (default %(default)s)"
    )
    parser.add_argument(
        "--out", default="experiments/out", help="rows, models, examples (default %(default)s)"
    )
    parser.add_argument(
        "--only", nargs="+", choices=ITEMS, metavar="ITEM", help=f"some of: {', '.join(ITEMS)}"
    )
    parser.add_argument("--small", action="store_true", help="few texts, tiny models")
    parser.add_argument(
        "--report", help="the report (default experiments/RESULTS.md; OUT/RESULTS.md with --small)"
    )
    parser.add_argument(
        "--workers", type=int, default=2, help="processes; 0: this one (default %(default)s)"
    )
    return parser.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())

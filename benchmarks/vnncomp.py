"""safeNLP, the language questions of VNN-COMP 2024: two relu networks 30-128-2 over sentence
embeddings.

    python benchmarks/vnncomp.py /path/to/safenlp.npz [--seconds 20] [--limit N] [--every K]

Each instance asks whether some point of a box lets class 1 reach class 0. Prints how many were
decided, how many of these disagree with the published answers (alpha-beta-CROWN's), and the times
(of the processor, as is the limit); then a line per undecided instance.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from typing import Any

import numpy as np

import suffice as sf
from suffice.sets.regions import Box
from suffice.verbs.engines import single_threaded
from suffice.verify.contract import Budget, Problem, Proved, Refuted
from suffice.verify.nets.bounds_oracle import BoundsOracle


def network(data: Any, which: int) -> sf.Network:
    layers = []
    while f"net{which}_W{len(layers)}" in data:
        place = len(layers)
        layers.append(
            (data[f"net{which}_W{place}"].astype(float), data[f"net{which}_b{place}"].astype(float))
        )
    return sf.Network.dense(layers)


def problem(data: Any, nets: dict[int, sf.Network], index: int) -> Problem:
    """The box as one word of 30 dimensions; C and d say which class must stay ahead."""
    rows = np.atleast_2d(data["C"][index])
    constant = np.atleast_1d(data["d"][index])
    if rows.shape != (1, 2) or sorted(rows[0]) != [-1, 1] or constant.any():
        raise SystemExit(f"instance {index} asks something else: {rows} {constant}")
    label = int(rows[0].argmax())
    lower = data["lower"][index].astype(float)[None]
    upper = data["upper"][index].astype(float)[None]
    region = Box(np.clip((lower + upper) / 2, lower, upper), lower, upper)
    return Problem(nets[int(data["which"][index])], region, label, np.ones(1, dtype=bool))


def main() -> None:
    args = arguments()
    # the limit as well, so that a busy machine does not cut answers short
    time.monotonic = time.process_time
    data = np.load(args.data, allow_pickle=False)
    nets = {int(which): network(data, int(which)) for which in np.unique(data["which"])}
    said = Counter[str]()
    times = []
    wrong = []
    undecided = []
    for index in range(0, len(data["which"]), args.every)[: args.limit]:
        started = time.process_time()
        with single_threaded():
            answer = BoundsOracle(problem(data, nets, index)).ask(
                np.ones((1, 1), dtype=bool), Budget(args.seconds)
            )[0]
        times.append(time.process_time() - started)
        verdict = {Proved: "unsat", Refuted: "sat"}.get(type(answer), "unknown")
        said[verdict] += 1
        if verdict == "unknown":
            undecided.append((index, times[-1]))
        elif verdict != str(data["published"][index]):
            wrong.append(index)
    print(
        f"{len(times)} instances, {args.seconds:g} s each: {dict(said)}, {len(wrong)} against "
        "the published answers"
    )
    print(
        f"CPU seconds: median {statistics.median(times):.4f}, mean "
        f"{statistics.mean(times):.3f}, most {max(times):.1f}"
    )
    print(
        *(f"against the published answer: {index}" for index in wrong),
        sep="\n",
        end="\n" if wrong else "",
    )
    for index, seconds in undecided:
        print(f"undecided: {index} after {seconds:.1f} s (published: {data['published'][index]})")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", help="safenlp.npz")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--every", type=int, default=1, help="only every K-th instance")
    return parser.parse_args()


if __name__ == "__main__":
    main()

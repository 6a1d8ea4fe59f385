"""Fuzz: random small questions of every kind, answered by suffice, by the checkers and by
enumeration.

    make fuzz SECONDS=600        (or: python tests/fuzz.py --seconds 600 --state fuzz.json)

Goes on where it stopped (the state file holds the next seed). Whatever disagrees is printed with
the seed that makes it again, kept in the state file, and the exit code is 1. The kinds take turns
as SHARES says; what a case is, each says for itself.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
from fuzzing import asked, subsets, vectors, verbs
from fuzzing.common import Kind

from suffice.proof.check import inputs

KINDS: dict[str, Kind] = {
    "subsets": subsets.one,
    "verbs": verbs.one,
    "vectors": vectors.one,
    "maxima": vectors.maxima,
    "smooth": vectors.curved,
    "black boxes": asked.one,
    "pipelines": asked.pipelines,
}
SHARES = {
    "subsets": 31,
    "verbs": 4,
    "vectors": 2,
    "maxima": 1,
    "smooth": 1,
    "black boxes": 1,
    "pipelines": 1,
}
TURNS = [name for name, share in SHARES.items() for _ in range(share)]
SAVED = 50  # seeds
LARGE = (
    inputs.LARGE_WEIGHT,
    inputs.DIMENSION_FACTOR,
)  # from when on the checker works differently; for every other round of seeds at once


def one(seed: int, counts: dict[str, Counter[str]] | None = None) -> list[str]:
    """What is wrong with the answers of one seed."""
    kind = TURNS[seed % len(TURNS)]
    mine = Counter[str]() if counts is None else counts.setdefault(kind, Counter())
    began = time.process_time()
    wrong = list[str]()
    at_once = kind in ("subsets", "vectors") and seed // len(TURNS) % 2
    inputs.LARGE_WEIGHT, inputs.DIMENSION_FACTOR = (0, 0) if at_once else LARGE
    try:
        wrong += [f"seed {seed}, {kind}: {said}" for said in KINDS[kind](seed, mine)]
    except Exception as error:
        wrong.append(f"seed {seed}, {kind}: {type(error).__name__}: {error}")
    mine["wrong"] += len(wrong)
    mine["milliseconds"] += round(1000 * (time.process_time() - began))
    return wrong


def run(seconds: float, state: Path) -> int:
    known: dict[str, Any] = {"next": 0, "kinds": {}, "wrong": []}
    known |= json.loads(state.read_text()) if state.exists() else {}
    counts = {name: Counter(numbers) for name, numbers in known["kinds"].items()}
    started = time.monotonic()
    fresh = list[str]()
    seed = int(known["next"])
    while time.monotonic() - started < seconds:
        wrong = one(seed, counts)
        print(*wrong, sep="\n", end="\n" if wrong else "", flush=True)
        fresh += wrong
        seed += 1
        if wrong or seed % SAVED == 0:
            save(state, seed, counts, known["wrong"] + fresh)
    save(state, seed, counts, known["wrong"] + fresh)
    report(counts)
    return 1 if fresh else 0


def save(state: Path, seed: int, counts: dict[str, Counter[str]], wrong: list[str]) -> None:
    state.write_text(json.dumps({"next": seed, "kinds": counts, "wrong": wrong}, indent=1))


def report(counts: dict[str, Counter[str]]) -> None:
    print(
        f"{'kind':12}{'cases':>10}{'both':>10}{'altered':>10}{'CPU s':>10}{'per s':>8}{'wrong':>7}"
    )
    for name, mine in [*counts.items(), ("all", sum(counts.values(), Counter[str]()))]:
        taken = mine["milliseconds"] / 1000
        rate = (mine["cases"] + mine["altered"]) / max(taken, 0.001)
        print(
            f"{name:12}{mine['cases']:10}{mine['both']:10}{mine['altered']:10}{taken:10.0f}{rate:8.0f}{mine['wrong']:7}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--state", type=Path, default=Path("fuzz.json"))
    parser.add_argument("--seed", type=int, help="only this seed again")
    args = parser.parse_args()
    if args.seed is not None:
        print(*one(args.seed), sep="\n")
    else:
        raise SystemExit(run(args.seconds, args.state))

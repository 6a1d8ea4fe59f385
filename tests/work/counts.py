"""The work that the questions of `questions.py` take, and the work that was recorded of them.

    python -m tests.work.counts            # what takes more or less than recorded; the exit code is
                                           # 1 if anything takes more than is allowed
    python -m tests.work.counts --write    # the counts of today: the commit says why they moved

A count may be a quarter and a few more than was recorded, as other machines round otherwise; all
questions together a twentieth. What takes less is only told: write it down.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.work.questions import Fixture, fixtures

RECORDED = Path(__file__).with_name("counts.json")
# one count of one question
SHARE = 1.25
SPARE = 8
SUM_SHARE = 1.05  # one count over all questions

Counts = Mapping[str, Mapping[str, int]]  # by question, by what is counted


def counts_of(asked: Iterable[Fixture]) -> dict[str, dict[str, int]]:
    """The work of each question."""
    return {one.name: dict(one.answer().stats["work"]) for one in asked}


def recorded() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def too_much(now: Counts, before: Counts) -> list[str]:
    """What takes more work than is allowed, in words: of the questions that are in `now`."""
    return [*_of_one(now, before), *_of_all(now, before)]


def _of_one(now: Counts, before: Counts) -> list[str]:
    return [
        f"{question}, {name}: {before[question].get(name, 0)} -> {value}"
        for question, counts in now.items()
        for name, value in counts.items()
        if value > SHARE * before[question].get(name, 0) + SPARE
    ]


def _of_all(now: Counts, before: Counts) -> list[str]:
    after = total(now.values())
    was = total(before[question] for question in now)
    spare = SPARE * len(now) ** 0.5
    return [
        f"all together, {name}: {was[name]} -> {after[name]}"
        for name in sorted(after)
        if after[name] > SUM_SHARE * was[name] + spare
    ]


def total(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for one in counts:
        found.update(one)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help="record the counts of today")
    parser.add_argument("--only", default="", help="questions whose name holds this")
    parser.add_argument("--seconds", action="store_true", help="say how long each took")
    args = parser.parse_args()
    now: dict[str, dict[str, int]] = {}
    for one in fixtures():
        if args.only in one.name:
            started = time.process_time()
            now |= counts_of([one])
            if args.seconds:
                print(f"{time.process_time() - started:6.2f}  {one.name}  {now[one.name]}")
    if args.write:
        lines = (f"{json.dumps(name)}: {json.dumps(row)}" for name, row in now.items())
        RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        print(f"{len(now)} questions recorded")
        return 0
    before = recorded()
    for question, counts in now.items():
        for name in sorted({*counts, *before[question]}):
            if counts.get(name, 0) != before[question].get(name, 0):
                was = before[question].get(name, 0)
                print(f"{question}, {name}: {was} -> {counts.get(name, 0)}")
    found = too_much(now, before)
    print(f"{len(now)} questions, {len(found)} counts are more than is allowed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

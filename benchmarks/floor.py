"""The floor: processor seconds of a typical explanation, of `import suffice`, and of `suffice
explain` from the shell.

    python benchmarks/floor.py --data ../shared/data

It uses public names only, so that it measures an older version too, side by side:

    PYTHONPATH=/path/to/older/src python benchmarks/floor.py --data ../shared/data

Explanations have their certificate and its check, with the defaults; the classifier is loaded anew
for each of three rounds, of which the best counts. What the shell starts is started three times
too, once the bytecode is there.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import suffice as sf

CASES = (("sst-fc25", 10), ("sst-fc25", 15), ("sst-cnn25", 15))
COMMANDS = {
    "import numpy": ["-c", "import numpy"],
    "import suffice": ["-c", "import suffice"],
    "suffice explain": [
        "-m",
        "suffice.cli",
        "explain",
        "This film is a wonderful, moving and funny piece of work",
    ],
}
ROUNDS = 3


def explaining(model: str, k: int, texts: list[str]) -> float:
    """Processor seconds for all texts, the best of three rounds."""
    return min(_round(model, k, texts) for _ in range(ROUNDS))


def _round(model: str, k: int, texts: list[str]) -> float:
    classifier = sf.load(model)
    near = sf.KNNBox(k)
    sf.explain(classifier, "unmeasured", perturbation=near)
    started = time.process_time()
    for text in texts:
        sf.explain(classifier, text, perturbation=near)
    return time.process_time() - started


def starting(arguments: list[str], bytecode: str) -> float:
    """Processor seconds of a new process, the best of three, once its bytecode is there."""
    return min([_started(arguments, bytecode) for _ in range(ROUNDS + 1)][1:])


def _started(arguments: list[str], bytecode: str) -> float:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = _children()
    subprocess.run(
        [sys.executable, *arguments],
        env={**kept, "PYTHONPYCACHEPREFIX": bytecode},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read(data: str, count: int) -> list[str]:
    with gzip.open(Path(data) / "sst2" / "test.csv.gz", "rt", encoding="utf8", newline="") as file:
        return [row["text"] for row in itertools.islice(csv.DictReader(file), count)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--texts", type=int, default=25)
    args = parser.parse_args()
    texts = read(args.data, args.texts)
    print("| what | CPU s |\n|---|---|")
    for model, k in CASES:
        print(
            f"| {len(texts)} texts, {model}, k = {k} | {explaining(model, k, texts):.2f} |",
            flush=True,
        )
    with tempfile.TemporaryDirectory() as bytecode:
        for name, arguments in COMMANDS.items():
            print(f"| `{name}` | {starting(arguments, bytecode):.3f} |", flush=True)


if __name__ == "__main__":
    main()

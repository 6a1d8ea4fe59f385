"""The process in which Marabou answers exported folders: a line "FOLDER PATH ANSWER" for each row
of instances.csv.

Nothing of suffice is in it: the files are read as any other tool would read them.
"""

from __future__ import annotations

import csv
import os
import sys
import warnings
from pathlib import Path


def replay(folders: list[Path]) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Marabou's own chatter
    warnings.simplefilter("ignore")
    from maraboupy import Marabou

    for folder in folders:
        rows = csv.reader((folder / "instances.csv").read_text(encoding="utf-8").splitlines())
        for onnx, vnnlib, seconds in rows:
            options = Marabou.createOptions(verbosity=0, timeoutInSeconds=int(seconds))
            network = Marabou.read_onnx(str(folder / onnx))
            found = network.solve(
                verbose=False, options=options, propertyFilename=str(folder / vnnlib)
            )
            print(folder, vnnlib, found[0], sep="\t", file=answers, flush=True)


if __name__ == "__main__":
    replay([Path(name) for name in sys.argv[1:]])

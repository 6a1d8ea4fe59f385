"""Writes constraints.txt: the version of every package of the developer's environment, for
everybody the same.

`python scripts/lock.py` (or `make lock`) installs the open ranges of pyproject.toml into an
environment of its own, only torch as it is pinned today, and writes down what came. Run the tests
before you keep it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "constraints.txt"
HEAD = """\
# The version of every package that the tests run with (`make lock` writes this file). pip takes
# from it what it needs.
# torch is pinned also while it is written, because an open range pulls gigabytes of GPU packages.
"""


def pinned(frozen: str) -> str:
    """The lines of `pip freeze` without local versions, sorted by name; nothing that
    names a place.
    """
    lines = [
        line.partition("+")[0]
        for line in frozen.splitlines()
        if re.fullmatch(r"[\w.-]+==[\w.!+-]+", line)
    ]
    return "".join(f"{line}\n" for line in sorted(lines, key=str.lower))


def main() -> None:
    folder = ROOT / "build" / "lock"
    venv.create(folder, clear=True, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    (torch,) = re.findall(r"^torch==.*$", TARGET.read_text(encoding="utf-8"), re.MULTILINE)
    subprocess.run([python, "-m", "pip", "install", "--quiet", torch, f"{ROOT}[dev]"], check=True)
    freeze = [python, "-m", "pip", "freeze", "--exclude", "suffice"]
    frozen = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
    TARGET.write_text(HEAD + pinned(frozen), encoding="utf-8")


if __name__ == "__main__":
    main()

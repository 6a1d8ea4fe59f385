"""The README: its first output is what `make demo` prints today, and its commands run.

`python tests/test_readme.py` writes today's output into it; look at the difference before you keep
it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "README.md"
BLOCK = re.compile(r"(\$ make demo[^\n]*\n)(.*?)(```)", re.S)


def printed() -> str:
    """What the demo prints, through a pipe of the usual width."""
    sentence = re.search(r"^DEMO \?= (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert sentence is not None
    command = [sys.executable, "-m", "suffice.cli", "explain", sentence[1]]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "110"},
        encoding="utf-8",
    )
    lines = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
    return "\n".join(lines)


def words_of(text: str) -> str:
    """The words alone: the time, how large the certificate is, and where lines break, is not what
    the page promises.
    """
    sized = re.sub(r"\d+ lines, \d+(\.\d+)? KB", "0 lines, 0 KB", " ".join(text.split()))
    return re.sub(r" \d+\.\d\d s\.", " 0 s.", sized)


def commands() -> list[str]:
    """The commands of the page that ask something of a bundled model."""
    found = re.findall(
        r"^\$ (suffice (?:explain|contrast|bias|repair|words|models)\b.*)$",
        PAGE.read_text("utf-8"),
        re.M,
    )
    return [
        line.split("   ")[0].split("&&")[0].partition("  #")[0].strip()
        for line in found
        if "…" not in line
    ]


def test_the_first_output_is_what_the_demo_prints():
    shown = BLOCK.search(PAGE.read_text(encoding="utf-8"))
    assert shown is not None
    assert words_of(shown[2]) == words_of(printed()), "run python tests/test_readme.py"
    assert "[" in shown[2]  # an answer that marks words


@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_page_runs(command, tmp_path):
    words = shlex.split(command)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "suffice.cli", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        encoding="utf-8",
    )
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.strip()


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda m: f"{m[1]}{printed()}\n{m[3]}", text), encoding="utf-8")

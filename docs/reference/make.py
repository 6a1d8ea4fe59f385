"""Writes the command-line reference from the parser: `python docs/reference/make.py`; a test says when it is stale."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ["COLUMNS"] = "100"  # the width of the help texts, whatever the terminal

from suffice.cli.parser import build_parser

TARGET = Path(__file__).with_name("cli.md")
INTRO = """# The command line

Made from the parser by `python docs/reference/make.py`. `--json` prints exactly the answer's `to_dict()` on standard
output and nothing else.

| exit code | means |
|---|---|
| 0 | the question was answered with proof |
| 1 | answered in the negative: infeasible, dependent, certificate rejected |
| 2 | bad input or misuse, with one line on standard error |
| 3 | undecided within the limit |
"""


def page() -> str:
    """The help of every command, as it is printed."""
    parser = build_parser()
    (commands,) = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    parts = [
        f"## suffice {name}\n\n```text\n{command.format_help().rstrip()}\n```\n"
        for name, command in commands.choices.items()
    ]
    return "\n".join([INTRO, *parts])


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")

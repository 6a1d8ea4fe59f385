"""The walk of a command: the modules of suffice that a run enters, in the order of first entry.

`python tests/docs/walks.py explain TEXT …` runs the command and writes the walk to standard error,
a JSON list of paths such as "verify/nets/attack" (a package is its folder).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import FrameType

import suffice
from suffice.cli import main

ROOT = str(Path(suffice.__file__).parent) + os.sep


def walk_of(argv: list[str]) -> tuple[list[str], int]:
    """The modules in which a function is called, and the exit code of the command."""
    entered: dict[str, None] = {}

    def note(frame: FrameType, event: str, _arg: object) -> None:
        path = frame.f_code.co_filename
        if event != "call" or path in entered or not path.startswith(ROOT) or _loading(frame):
            return
        entered[path] = None

    sys.setprofile(note)
    try:
        code = main(argv)
    finally:
        sys.setprofile(None)
    return [_module(path) for path in entered], code


def _loading(frame: FrameType | None) -> bool:
    """Whether a call is part of loading a module, which is no step of a walk."""
    while frame is not None:
        if "importlib._bootstrap" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _module(path: str) -> str:
    name = Path(path.removeprefix(ROOT)).with_suffix("").as_posix()
    return name.removesuffix("__init__").rstrip("/")


if __name__ == "__main__":
    found, status = walk_of(sys.argv[1:])
    print(json.dumps(found), file=sys.stderr)
    raise SystemExit(status)

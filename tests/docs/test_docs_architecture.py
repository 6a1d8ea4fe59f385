"""docs/architecture.md: its walks are those that traced runs take, its map names every module."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import suffice

ROOT = Path(__file__).parents[2]
SOURCE = Path(suffice.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

# The rule that the page states: modules of these folders are named one by one.
ONE_BY_ONE = ("verify", "optimise", "proof", "verbs")
NEEDS = {"A pipeline laid open": "sklearn"}


def walks(page: str) -> dict[str, tuple[str, list[str]]]:
    """The command of each walk, and what the first column of its table names, in order."""
    chapter = page.partition("## Four walks\n")[2].partition("\n## ")[0]
    found = {}
    for section in chapter.split("\n### ")[1:]:
        command = re.search(r"^\$ (suffice .*)$", section, re.M)
        rows = re.findall(r"^\| (`.*?) \| .* \|$", section, re.M)
        assert command is not None
        named = [name for row in rows for name in re.findall(r"`([a-z_/]+)`", row)]
        found[section.partition(":")[0].partition("\n")[0]] = (command[1], named)
    return found


def as_the_page_names(modules: list[str]) -> list[str]:
    """Modules in the order of first entry, by the page's rule."""
    named: dict[str, None] = {}
    for module in modules:
        folder = module.partition("/")[0]
        if folder in ONE_BY_ONE:
            named[module] = None
        elif (SOURCE / folder).is_dir() and folder:
            named[f"{folder}/"] = None
    return list(named)


def traced(command: str, folder: Path) -> list[str]:
    """The modules that a run of a command enters, in a process of its own."""
    program = re.search(r"```python\n(.*?)```", PAGE, re.S)
    assert program is not None
    (folder / "mine.py").write_text(program[1], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("walks.py"), *shlex.split(command)[1:]],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE.parent), str(folder)])},
    )
    assert done.returncode == 0, done.stderr
    return as_the_page_names(json.loads(done.stderr.splitlines()[-1]))


WALKS = walks(PAGE)


def test_there_are_four_walks_and_the_first_is_of_the_default_command():
    assert len(WALKS) == 4
    (command, _), *_ = WALKS.values()
    assert len(shlex.split(command)) == 3  # suffice explain TEXT, and nothing else


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_names_the_modules_that_a_traced_run_enters_in_the_order_of_first_entry(
    title, tmp_path
):
    if title in NEEDS:
        pytest.importorskip(NEEDS[title])
    command, named = WALKS[title]
    assert named == traced(command, tmp_path)


def test_the_map_names_every_module_of_the_large_folders():
    chapter = PAGE.partition("## Inside the large folders\n")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `([a-z_/]+)/` \| (.*) \|$", chapter, re.M))
    inside: dict[str, set[str]] = {}
    for large in ("verify", "optimise"):
        for path in (SOURCE / large).rglob("[a-z]*.py"):
            folder = path.parent.relative_to(SOURCE).as_posix()
            inside.setdefault(folder, set()).add(path.stem)
    assert {folder: set(re.findall(r"`([a-z_]+)`", row)) for folder, row in rows.items()} == inside

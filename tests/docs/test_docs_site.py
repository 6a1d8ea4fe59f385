"""The documentation site builds strictly, and its reference of the command line is made from
today's parser.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import suffice
from suffice.cli.parser import build_parser
from suffice.model.saved import bundled as suffice_models
from suffice.sets.table import KINDS

ROOT = Path(__file__).parents[2]


def test_the_command_line_reference_is_not_stale():
    made = runpy.run_path(str(ROOT / "docs" / "reference" / "make.py"))
    assert made["TARGET"].read_text(encoding="utf-8") == made["page"](), (
        "run python docs/reference/make.py"
    )


def test_every_public_name_is_in_the_python_reference():
    text = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    errors = {
        "InputError",
        "MissingExtra",
        "ModelError",
        "NotACertificate",
        "NotChecked",
        "Rejected",
        "SufficeError",
    }
    simple = {"Text", "Word", "__version__"}
    missing = [
        name
        for name in suffice.__all__
        if name not in errors | simple and f"::: suffice.{name}\n" not in text
    ]
    assert missing == []


def test_every_command_of_the_gate_page_and_of_the_hooks_is_one_that_the_parser_takes():
    yaml = pytest.importorskip("yaml")
    page = (ROOT / "docs" / "tasks" / "gate.md").read_text(encoding="utf-8")
    action, hooks = (
        yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    )
    run = [
        step["run"]
        for step in action["jobs"]["audit"]["steps"]
        if "suffice audit" in step.get("run", "")
    ]
    entries = {
        hook["id"]: hook["entry"]
        for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    }
    named = [[*entries[hook["id"]].split(), *hook["args"]] for hook in hooks["repos"][0]["hooks"]]
    assert {hook["id"] for hook in hooks["repos"][0]["hooks"]} == set(entries)
    for command in [*map(shlex.split, run), *named]:
        build_parser().parse_args(command[1:])  # SystemExit where it is not


def test_the_site_builds_with_no_link_that_leads_nowhere_and_a_gallery_of_answers_that_are_checked(
    tmp_path,
):
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(tmp_path / "site"),
    ]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert built.returncode == 0, built.stderr[-2000:]
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "fonts.googleapis" not in page
    answers = json.loads((ROOT / "build" / "gallery" / "answers.json").read_text(encoding="utf-8"))
    assert {answer["name"] for answer in answers} == {
        entry.name for entry in _entries() if not _missing(entry)
    }
    for answer in answers:
        files = tmp_path / "site" / "gallery"
        assert "<html" in (files / f"{answer['name']}.html").read_text(encoding="utf-8")
        if answer["claimed"]:
            assert answer["checked"], answer
            assert (files / f"{answer['name']}.cert").stat().st_size > 0


def test_the_gallery_is_about_every_verb_every_set_and_every_kind_of_model():
    code = "\n".join(entry.code for entry in _entries())
    verbs = {"explain", "explain_all", "contrast", "bias", "repair", "profile", "attribute"}
    sets = {kind.make.__name__ for kind in KINDS} - {
        "BundledSubstitutes",
        "BundledCounterparts",
    }  # meant where none is named
    bundled = {f'load("{name}")' for name in suffice_models()}
    kinds = {
        "own.textcnn",
        "own.keras_network",
        "own.onnx_file",
        "own.logistic",
        "own.forest",
        "own.transformer",
    }
    more = {"own.function", "confidence=", "at_most=", "include=", "expected=", "towards="}
    wanted = (
        {f"sf.{name}(" for name in verbs} | {f"sf.{name}" for name in sets} | bundled | kinds | more
    )
    assert [name for name in sorted(wanted) if name not in code] == []
    assert len(_entries()) >= 30
    names = [entry.name for entry in _entries()]
    assert len(set(names)) == len(names)


def _entries():
    return _gallery()["ENTRIES"]


def _missing(entry):
    return [name for name in entry.needs if importlib.util.find_spec(name) is None]


@cache
def _gallery():
    sys.path.insert(0, str(ROOT / "docs" / "gallery"))
    try:
        return vars(importlib.import_module("entries"))
    finally:
        sys.path.pop(0)

"""The documentation site builds strictly, and its reference of the command line is made from today's parser."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import suffice

ROOT = Path(__file__).parents[2]


def test_the_command_line_reference_is_not_stale():
    made = runpy.run_path(str(ROOT / "docs" / "reference" / "make.py"))
    assert made["TARGET"].read_text(encoding="utf-8") == made["page"](), "run python docs/reference/make.py"


def test_every_public_name_is_in_the_python_reference():
    text = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    errors = {"InputError", "MissingExtra", "ModelError", "NotACertificate", "NotChecked", "Rejected", "SufficeError"}
    simple = {"Text", "Word", "__version__"}
    missing = [name for name in suffice.__all__ if name not in errors | simple and f"::: suffice.{name}\n" not in text]
    assert missing == []


def test_the_site_builds_with_no_link_that_leads_nowhere(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert built.returncode == 0, built.stderr[-2000:]
    assert (tmp_path / "site" / "index.html").exists()
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "fonts.googleapis" not in page

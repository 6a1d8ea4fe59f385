"""The release: the lock covers what the tests need, versions agree, and the source archive holds
docs and licences.
"""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from suffice.version import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "constraints.txt").read_text(encoding="utf-8")


def pins() -> dict[str, str]:
    lines = [line for line in LOCK.splitlines() if not line.startswith("#")]
    return {
        canonicalize_name(name): version
        for name, _, version in (line.partition("==") for line in lines)
    }


def required(extra: str) -> set[Requirement]:
    """What an extra asks for, with the extras that it names."""
    found: set[Requirement] = set()
    for one in map(Requirement, PROJECT["optional-dependencies"][extra]):
        found |= (
            set().union(*(required(name) for name in one.extras))
            if one.name == "suffice"
            else {one}
        )
    return found


def test_everything_that_a_developer_installs_is_pinned_to_a_version_that_is_allowed():
    wanted = {*map(Requirement, PROJECT["dependencies"]), *required("dev")}
    assert [str(one) for one in wanted if canonicalize_name(one.name) not in pins()] == []
    wrong = [
        f"{one}, not {pins()[canonicalize_name(one.name)]}" for one in wanted if not _fits(one)
    ]
    assert wrong == []


def _fits(one: Requirement) -> bool:
    return one.specifier.contains(pins()[canonicalize_name(one.name)], prereleases=True)


def test_the_lock_names_versions_and_no_place():
    rest = [line for line in LOCK.splitlines() if not re.fullmatch(r"#.*|[\w.-]+==[\w.!-]+", line)]
    assert rest == []


def test_the_lock_is_written_without_local_versions_and_places():
    pinned = runpy.run_path(str(ROOT / "scripts" / "lock.py"))["pinned"]
    frozen = (
        "torch==2.13.0+cpu\nalpha @ file:///somewhere/alpha\n-e /home/me/suffice\nBeta==1.0.dev2\n"
    )
    assert pinned(frozen) == "Beta==1.0.dev2\ntorch==2.13.0\n"


def test_versions_agree():
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_pythons_that_are_tested_are_those_that_are_promised():
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    tested = re.search(
        r"^PYTHONS \?= (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert tested is not None
    assert tested[1].split() == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"


def test_a_source_archive_holds_the_documentation_and_the_licences(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    pytest.importorskip("hatchling")
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    wanted = {
        "LICENSE",
        "docs/index.md",
        "docs/gallery/make.py",
        "src/suffice/models/substitutes/NOTICE",
        "mkdocs.yml",
    }
    assert wanted - names == set()
    assert [name for name in names if name.startswith((".venv", "build/", "experiments/out"))] == []

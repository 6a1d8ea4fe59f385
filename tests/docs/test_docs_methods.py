"""Every module of the core names its method in its docstring, and where the theory tells of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import suffice

SOURCE = Path(suffice.__file__).parent
SECTIONS = range(1, 14)
CORE = sorted(
    path
    for folder in ("verify", "optimise", "proof")
    for path in (SOURCE / folder).rglob("*.py")
    if path.name != "__init__.py" and "export" not in path.parts
)


@pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_of_the_core_names_its_method_and_the_section_of_the_theory(path):
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    method = re.search(r"^Method: (.+?\(theory,\s+sections?\s+[^)]*\))", said, re.M | re.S)
    assert method, said
    named = re.sub(r"Lemmas? [\d, and]+", "", method[1].rpartition("(theory")[2])
    numbers = [int(number) for number in re.findall(r"\d+", named)]
    assert numbers
    assert set(numbers) <= set(SECTIONS)

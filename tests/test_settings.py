"""Each number of sf.Settings says what it is, in which unit, and who chose it; and each is used."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import suffice.settings

SOURCE = Path(suffice.settings.__file__)
NAMES = {"Resources", *(type(group).__name__ for group in vars(suffice.settings.DEFAULT).values())}
GROUPS = {
    node.name: node
    for node in ast.parse(SOURCE.read_text(encoding="utf-8")).body
    if isinstance(node, ast.ClassDef) and node.name in NAMES
}
USES = {
    node.attr
    for path in SOURCE.parent.rglob("*.py")
    if path != SOURCE
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.Attribute)
}


@pytest.mark.parametrize("group", GROUPS)
def test_below_each_number_stands_what_it_is_and_its_unit(group):
    body = GROUPS[group].body
    for field, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign):
            assert isinstance(field.target, ast.Name)
            assert isinstance(below, ast.Expr), field.target.id
            told = ast.literal_eval(below.value).strip()
            assert told.endswith("]"), field.target.id
            assert group == "Resources" or ";" in told[told.rindex("[") :], field.target.id


@pytest.mark.parametrize("group", GROUPS)
def test_each_number_is_read_somewhere(group):
    fields = {
        node.target.id
        for node in GROUPS[group].body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert fields
    assert fields <= USES

"""Settings: every tuned number is named, explained, read and part of the digest; none stands
nameless in the verifier of networks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import suffice
from suffice import settings
from suffice.settings import DEFAULT, RESOURCES, Settings

SOURCE = Path(suffice.__file__).parent
NETS = sorted((SOURCE / "verify" / "nets").rglob("*.py"))
GROUPS = {field.name: getattr(DEFAULT, field.name) for field in fields(Settings)}
FIELDS = [(name, field.name) for name, group in GROUPS.items() for field in fields(group)]
CLASSES = sorted({type(group).__name__ for group in GROUPS.values()} | {"Resources"})

# Numbers that may stand anywhere: none, one, two, half, and the other direction.
PLAIN = {0, 1, 2, 0.5}
# Other numbers inside functions of verify/nets, each with the reason that it is no setting.
REASONED = {
    "numpy's axes and shapes": {
        ("input_sets/moves.py", 4),
        ("input_sets/restorations.py", 3),
        ("crown/relaxation.py", 5),
    },
    "the first three fields of a tuple, and the fourth": {("options/option_branching.py", 3)},
    "h² max|f''| / 8, and four roundings of a product and its arguments": {
        ("crown/smooth.py", 8),
        ("crown/smooth.py", 4),
    },
    "parts of a number of the settings, as its docstring says": {
        ("joint_maxpool/tuple_fixing.py", 4),
        ("joint_maxpool/tuple_fixing.py", 16),
        ("bounds_oracle.py", 3),
        ("bounds_oracle.py", 4),
    },
}


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def literals(node: ast.AST) -> Iterator[int | float]:
    """Every number that stands in a node, but for the plain ones."""
    for inner in ast.walk(node):
        number = inner.value if isinstance(inner, ast.Constant) else None
        if type(number) in (int, float) and number not in PLAIN:
            yield number


def functions(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            yield node


def constants(tree: ast.Module) -> list[str]:
    """The lines outside of functions that set something to a number, in a module or a class."""
    bodies = [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    return [
        ast.unparse(node)
        for body in bodies
        for node in body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and [*literals(node.value)]
    ]


def groups_of(tree: ast.Module) -> Iterator[tuple[ast.ClassDef, list[ast.stmt]]]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name in CLASSES:
            yield node, node.body


def unexplained(tree: ast.Module) -> list[str]:
    """The fields of groups that no docstring follows, or one without unit and row in brackets."""
    found = []
    for group, body in groups_of(tree):
        for field, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                said = after.value if isinstance(after, ast.Expr) else None
                text = said.value if isinstance(said, ast.Constant) else ""
                what, bracket, unit = str(text).strip().rpartition("[")
                if not (what.strip() and bracket and unit[:-1].strip() and unit.endswith("]")):
                    found.append(f"{group.name}.{field.target.id}")
    return found


def altered(value: Any) -> Any:
    """Another value of the same kind."""
    if is_dataclass(value):
        first = fields(value)[0].name
        return replace(value, **{first: altered(getattr(value, first))})  # type: ignore[type-var]
    if isinstance(value, tuple):
        return (*value[:-1], altered(value[-1]))
    return not value if isinstance(value, bool) else value + 1


def attributes(tree: ast.AST) -> set[str]:
    """The names that are read of something."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }


def test_every_field_says_what_it_trades_with_unit_and_row():
    assert unexplained(tree_of(Path(settings.__file__))) == []
    for name, group in GROUPS.items():
        assert type(group).__doc__, name


def test_a_field_without_its_words_is_found():
    source = f'class {CLASSES[0]}:\n    a: int = 1\n    b: int = 2\n    """So. [bits]"""\n'
    more = '    c: int = 3\n    """No unit."""\n    d: int = 4\n    """[bits]"""\n'
    assert [name.rpartition(".")[2] for name in unexplained(ast.parse(source + more))] == [*"acd"]


def test_every_field_is_read():
    paths = [path for path in SOURCE.rglob("*.py") if path != Path(settings.__file__)]
    read = set[str]().union(*(attributes(tree_of(path)) for path in paths))
    assert [f"{group}.{name}" for group, name in FIELDS if name not in read] == []
    assert [field.name for field in fields(RESOURCES) if field.name not in read] == []


@pytest.mark.parametrize(("group", "name"), FIELDS)
def test_the_digest_names_every_number(group, name):
    old = getattr(DEFAULT, group)
    new = replace(old, **{name: altered(getattr(old, name))})
    assert replace(DEFAULT, **{group: new}).digest != DEFAULT.digest


def test_the_digest_is_that_of_equal_numbers():
    assert Settings().digest == DEFAULT.digest


@pytest.mark.parametrize("path", NETS, ids=lambda path: str(path.relative_to(NETS[0].parent)))
def test_no_number_of_the_verifier_is_nameless(path):
    name = path.relative_to(SOURCE / "verify" / "nets").as_posix()
    allowed = {number for known in REASONED.values() for place, number in known if place == name}
    tree = tree_of(path)
    assert constants(tree) == []
    assert {number for node in functions(tree) for number in literals(node)} == allowed


def test_a_nameless_number_is_found():
    tree = ast.parse("A = 1\nB: int = 3\nclass C:\n    d = 0.97\ndef f(x):\n    return 9 * x\n")
    assert constants(tree) == ["B: int = 3", "d = 0.97"]
    assert {number for node in functions(tree) for number in literals(node)} == {9}


@pytest.mark.parametrize(
    "wrong",
    [
        {"branching": settings.Branching(gap_weight=-1.0)},
        {"branching": settings.Branching(gap_weight=float("nan"))},
        {"branching": settings.Branching(small_round=2.5)},  # type: ignore[arg-type]
        {"branching": settings.Attacks()},
        {"ascent": settings.Ascent(iterations=(1, 2, 3))},  # type: ignore[arg-type]
        {
            "plane_ascent": settings.PlaneAscent(
                first=settings.Annealing(10, (1.0, -1.0), (1.0, 1.0))
            )
        },
    ],
    ids=str,
)
def test_numbers_that_make_no_sense_are_refused_by_name(wrong):
    (group,) = wrong
    with pytest.raises(suffice.InputError, match=rf"settings\.{group}"):
        Settings(**wrong)

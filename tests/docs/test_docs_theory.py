"""The page on theory is complete, and the format's keys have the names that the field
has for them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import suffice
from suffice.model.curves import CURVES

SOURCE = Path(suffice.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"
THEORY = (DOCS / "theory.md").read_text(encoding="utf-8")
FORMAT, _, NAMES = (
    (DOCS / "certificate.md")
    .read_text(encoding="utf-8")
    .partition("## What the field calls these keys")
)
SECTIONS = 13
REFERENCES = 25


def test_the_sections_of_the_theory_are_numbered_in_order_and_each_names_its_code():
    titles = re.findall(r"^## (\d+)\. ", THEORY, re.M)
    assert titles == [str(number) for number in range(1, SECTIONS + 1)]
    sections = re.split(r"^## ", THEORY, flags=re.M)[
        1:SECTIONS
    ]  # the last one is about the checkers as a whole
    assert [text.split("\n")[0] for text in sections if "\nCode: `" not in text] == []


def named_code(page: str) -> set[str]:
    """What a page names in backticks: paths with a slash inside, and modules with a dot behind a
    folder of the source.
    """
    text = (DOCS / page).read_text(encoding="utf-8")
    paths = set(re.findall(r"`([a-z_]+/[a-z_/]+(?:\.py)?)`", text))
    folders = "|".join(path.name for path in SOURCE.iterdir() if path.is_dir())
    dotted = set(re.findall(rf"`((?:{folders})(?:\.\w+)+)`", text))
    return paths | {name.replace(".", "/") for name in dotted}


def is_there(name: str) -> bool:
    """Whether a path is below the source or the repository, or ends in a name that its module
    defines.
    """
    for root in (SOURCE, DOCS.parent):
        path = root / name.rstrip("/")
        if path.exists() or path.with_suffix(".py").exists():
            return True
        module = path.parent.with_suffix(".py")
        if module.exists() and re.search(rf"^(class|def) {path.name}\b", module.read_text(), re.M):
            return True
    return False


@pytest.mark.parametrize(("page", "least"), [("theory.md", 30), ("architecture.md", 100)])
def test_every_module_that_a_page_names_is_there(page, least):
    names = named_code(page)
    assert len(names) >= least
    assert sorted(name for name in names if not is_there(name)) == []


def test_every_reference_is_cited_and_every_citation_has_its_reference():
    text, _, listed = THEORY.partition("## References")
    numbers = [int(number) for number in re.findall(r"^(\d+)\. \S", listed, re.M)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= REFERENCES
    cited = {
        int(number) for one in re.findall(r"\[(?!0)([\d, ]+)\]", text) for number in one.split(",")
    }
    assert cited == set(numbers)


def test_a_reference_says_what_was_taken_from_it():
    _, _, listed = THEORY.partition("## References")
    bare = [
        line
        for line in re.findall(r"^\d+\. .*$", listed, re.M)
        if not re.search(r"\* [^.]*\d{4}\. \w.*\.$", line)
    ]
    assert bare == []


def test_every_lemma_has_a_proof_and_they_are_numbered_in_order():
    lemmas = [int(number) for number in re.findall(r"^\*\*Lemma (\d+) \(", THEORY, re.M)]
    assert lemmas == list(range(1, len(lemmas) + 1))
    told = re.split(r"^\*\*Lemma \d+ ", THEORY, flags=re.M)[1:]
    unproved = [
        number for number, text in zip(lemmas, told, strict=True) if "\nProof. " not in text
    ]
    assert unproved == [3]  # Higham's


def test_every_key_of_the_format_has_a_row_with_the_name_that_the_field_has_for_it():
    objects = re.findall(r"`(\{[^`]*\})`", FORMAT)
    keys = {key for one in objects for key in re.findall(r'(?<!: )(?<!\| )"(\w+)"', one)}
    keys |= set(re.findall(r"^\| `(\w+)` \|", FORMAT, re.M))
    keys -= {*CURVES, "u"}  # names of curves, and a unit that stands for any
    assert len(keys) > 80
    assert sorted(keys - set(re.findall(r"`(\w+)`", NAMES))) == []

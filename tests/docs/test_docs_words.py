"""Pages speak the field's words: those of our own that were renamed stand beside keys only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "benchmarks").glob("*.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name != "certificate.md"),
]
# Names that modules and mechanisms had before they got the field's; scripts/rename has the list.
RENAMED = (
    r"tilt\w*|siev\w*|sift\w*|peaks?|ceilings?|bundles?|purse|tolls?|grove|stamina|bargains?"
    r"|lessons|summit|climb(?:s|ing)?|coordinates of choices|rows above maxima"
)
# A key of certificates, or a name of the code, is no word of the page.
QUOTED = re.compile(r"```.*?```|`[^`]*`", re.S)


def renamed_words(page: str) -> list[str]:
    return re.findall(rf"\b(?:{RENAMED})\b", QUOTED.sub("", page), re.I)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_has_no_word_that_was_renamed(path):
    assert renamed_words(path.read_text(encoding="utf-8")) == []


def test_a_renamed_word_is_seen_and_a_key_is_not():
    assert renamed_words("Sieves are tilted; `sieve` is a key.") == ["Sieves", "tilted"]

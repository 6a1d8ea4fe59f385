"""benchmarks/RESULTS.md: a page that an outsider reads, and the numbers that other pages cite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")

MOST_WORDS = 4500
DATE = re.compile(r"\b\d{1,2} (?:November|December) 20\d\d\b")


def tables(page: str) -> Iterator[tuple[str, str]]:
    """Each table with what stands above it in its section."""
    for section in re.split(r"^## ", page, flags=re.M):
        for match in re.finditer(r"(?:^\|.*\n)+", section, re.M):
            yield match[0], section[: match.start()]


def rows(page: str) -> list[list[str]]:
    """The cells of all tables of a page, without the marks of code and bold."""
    found = re.findall(r"^\|(.*)\|$", page, re.M)
    return [[cell.strip().strip("*`") for cell in row.split("|")] for row in found]


TABLES = list(tables(PAGE))


def test_the_page_is_short_enough_to_be_read():
    assert len(PAGE.split()) <= MOST_WORDS


@pytest.mark.parametrize(("table", "above"), TABLES, ids=[t.partition("\n")[0] for t, _ in TABLES])
def test_every_table_has_a_command_above_it_and_its_day_right_above(table, above):
    commands = re.findall(r"^```console\n((?:\$ .*\n)+)```$", above, re.M)
    assert commands, table
    for block in commands:
        for script in re.findall(r"python (\S+\.py)", block):
            assert (ROOT / script).exists(), script
    assert DATE.search(above.rstrip().rpartition("\n\n")[2]), table


def test_the_readme_s_table_of_times_is_what_was_measured():
    section = README.partition("## How fast")[2].partition("\n## ")[0]
    cited = rows(section)[2:]
    measured = {
        (row[0], row[1]): (row[2], row[3], row[4])
        for row in rows(PAGE)
        if len(row) == 7 and row[1].startswith("k = ")
    }
    assert len(cited) >= 6
    for where, optimal, median, most in cited:
        model, k = where.replace("`", "").split(", ")
        values = (optimal, median.removesuffix(" s"), most.removesuffix(" s"))
        assert measured[model, k] == values, where


def test_the_readme_s_comparison_is_what_was_measured():
    cited = {row[0]: row[1:] for row in rows(README)}
    measured = {row[0]: row[1:] for row in rows(PAGE) if len(row) == 5}
    theirs = [measured[name] for name in ("LIME", "SHAP", "Anchors")]
    assert cited["its words refuted: a change of the others flips the label"][1:] == [
        row[2] for row in theirs
    ]
    assert cited["processor seconds per sentence, median, same run"] == [
        measured["suffice"][3],
        *(row[3] for row in theirs),
    ]
    agreement = [measured["suffice"][0], *(row[0] for row in theirs)]
    assert cited["agreement with people's labels of words (−1 to 1)"] == [
        f"{float(value):+.2f}" for value in agreement
    ]
    asked = {row[0]: row for row in rows(PAGE)}
    removal = next(
        row for row in rows(PAGE) if row[0] == "minilm, removal †" and row[1].startswith("2")
    )
    assert cited["texts asked of a transformer (MiniLM), median"] == [
        f"{removal[5]} (at most 2 changes)",
        *(f"{int(asked[f'minilm, {name}'][2]):,}" for name in ("lime", "shap", "anchors")),
    ]


def test_what_the_readme_says_of_black_boxes_and_pipelines_was_measured():
    said = " ".join(README.split())
    found = {(row[0], row[1]): row for row in rows(PAGE)}
    two_layer = found["two-layer, removal", "2"]
    assert two_layer[2] == "100 of 100"
    assert f"with {two_layer[5]} and {found['minilm, removal †', '2'][5]} texts" in said
    any_number = found["two-layer, removal", "all"][2]
    assert f"{any_number.split()[0]} of the 100 within 20 s" in said
    agnews = [row for row in rows(PAGE) if re.fullmatch(r"agnews, words( and pairs)?, all", row[0])]
    proved = [int(count) for row in agnews for count in row[1].split(", ")]
    medians = [float(value) for row in agnews for value in row[3].split(", ")]
    total = f"{sum(proved)} of {20 * len(proved)} proved"
    assert f"{total}, medians of {min(medians)} to {max(medians)} s" in said


def test_the_notes_of_the_page_exist():
    links = re.findall(r"\]\((\.\./docs/notes/[a-z]+\.md)", PAGE)
    assert links
    assert [link for link in links if not (ROOT / "benchmarks" / link).resolve().exists()] == []
